//! Programs that are the test's own file: its test `program`, which is left out unless it is asked for, runs the case
//! that a variable names.

use std::process::{Command, ExitCode, Output, Stdio};

use graphmap_runtime::Exit;

/// The variable that names the case.
pub const CASE: &str = "GRAPHMAP_TEST_CASE";

/// What makes a test's file a program.
pub const PROGRAM: [&str; 4] = ["--exact", "program", "--ignored", "--nocapture"];

/// The variables of a case in OS processes that share memory.
pub fn variables(case: &str, os_processes: usize) -> [(&'static str, String); 3] {
    [
        (CASE, case.to_string()),
        ("GRAPHMAP_LINK", "shm".to_string()),
        ("GRAPHMAP_OS_PROCESSES", os_processes.to_string()),
    ]
}

/// The command that runs a case in OS processes that share memory.
pub fn command(case: &str, os_processes: usize, more: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(PROGRAM)
        .envs(variables(case, os_processes))
        .envs(more.iter().copied());
    command
}

/// Starts the program of a case and waits for its end, which has to come. A program under the address sanitizer leaks
/// nothing.
pub fn start(case: &str, os_processes: usize, variables: &[(&str, &str)]) -> (String, String) {
    let mut command = command(case, os_processes, variables);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let Output { stdout, stderr, .. } = child.spawn().unwrap().wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(stdout), text(stderr));
    assert!(!stderr.contains("LeakSanitizer"), "{case}: {stderr}");
    (stdout, stderr)
}

/// What the program of a case prints at its end.
pub fn code(exit: Exit) -> String {
    format!("code {:?}", ExitCode::from(exit))
}
