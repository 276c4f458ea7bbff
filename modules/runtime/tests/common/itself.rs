//! Programs that are the test's own file: its test `program`, which is left out unless it is asked for, runs the case
//! that a variable names.

use std::process::Command;

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
