//! Programs that are the test's own file: its test `program`, which is left out unless it is asked for, runs the case
//! that a variable names.
#![allow(clippy::print_stdout)]

use std::ops::{Deref, DerefMut};
use std::process::{Child, Command, ExitCode, Output, Stdio};

use graphmap_runtime::{self as rt, Exit, Network};

/// The variable that names the case.
pub const CASE: &str = "GRAPHMAP_TEST_CASE";

/// The variables of a case in OS processes that share memory.
pub fn variables(case: &str, os_processes: usize) -> [(&'static str, String); 3] {
    [
        (CASE, case.to_string()),
        ("GRAPHMAP_LINK", "shm".to_string()),
        ("GRAPHMAP_OS_PROCESSES", os_processes.to_string()),
    ]
}

/// A program that runs. A test that ends before the program, as by a failure, kills it.
pub struct Running(Child);

impl Running {
    pub fn start(command: &mut Command) -> Running {
        Running(command.spawn().unwrap())
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A test's file as a program: the file is named as `module_path!()` names it there.
pub struct Itself(pub &'static str);

impl Itself {
    /// What makes this binary the program of that file.
    pub fn arguments(&self) -> [String; 4] {
        let (_, inside) = self.0.split_once("::").expect("a module of a crate");
        let program = format!("{inside}::program");
        ["--exact", &program, "--ignored", "--nocapture"].map(str::to_string)
    }

    /// The command that runs it. Whatever is asked of the tests, its panics are told without a backtrace, unless a test
    /// asks for one: to find the names in a program this large takes a second where others are at work.
    pub fn program(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(self.arguments()).env("RUST_BACKTRACE", "0");
        command
    }

    /// The command that runs a case in OS processes that share memory.
    pub fn command(&self, case: &str, os_processes: usize, more: &[(&str, &str)]) -> Command {
        let mut command = self.program();
        command
            .envs(variables(case, os_processes))
            .envs(more.iter().copied());
        command
    }

    /// Starts the program of a case and waits for its end, which has to come. A program under the address sanitizer leaks
    /// nothing.
    pub fn start(
        &self,
        case: &str,
        os_processes: usize,
        variables: &[(&str, &str)],
    ) -> (String, String) {
        let mut command = self.command(case, os_processes, variables);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let Output { stdout, stderr, .. } = child.spawn().unwrap().wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(stdout), text(stderr));
        assert!(!stderr.contains("LeakSanitizer"), "{case}: {stderr}");
        (stdout, stderr)
    }
}

/// The program of a case: the network of that name and number, in a test's file that is asked to be one.
pub fn run(network: fn(&str, u64) -> Network) {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    let (name, number) = case.split_once(':').unwrap_or((&case, "0"));
    let number: u64 = number.parse().unwrap();
    let code = rt::main(|| network(name, number));
    println!("code {code:?}");
}

/// What each process has become, of what the program of a case has printed, wherever in a line it says so.
pub fn ends(out: &str) -> Vec<&str> {
    let ends = out
        .lines()
        .filter_map(|line| Some(&line[line.find("end ")?..]));
    let mut ends: Vec<&str> = ends.collect();
    ends.sort_unstable();
    ends
}

/// What the program of a case prints at its end.
pub fn code(exit: Exit) -> String {
    format!("code {:?}", ExitCode::from(exit))
}
