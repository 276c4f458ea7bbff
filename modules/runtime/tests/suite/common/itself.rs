//! Programs that are the test binary itself. Its ignored test `program` runs the case that an
//! environment variable names.
#![allow(clippy::print_stdout)]

use std::ops::{Deref, DerefMut};
use std::process::{Child, Command, ExitCode, Output, Stdio};

use graphmap_runtime::{self as rt, Exit, Network};

/// Environment variable that names the case.
pub const CASE: &str = "GRAPHMAP_TEST_CASE";

/// Returns the environment variables that run a case in OS processes that share memory.
pub fn variables(case: &str, os_processes: usize) -> [(&'static str, String); 3] {
    [
        (CASE, case.to_string()),
        ("GRAPHMAP_LINK", "shm".to_string()),
        ("GRAPHMAP_OS_PROCESSES", os_processes.to_string()),
    ]
}

/// A running program. It is killed if the test ends first, for example because the test failed.
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

/// A test file as a program. The file is named as `module_path!()` names it there.
pub struct Itself(pub &'static str);

impl Itself {
    /// Returns the arguments that make this binary the program of that file.
    pub fn arguments(&self) -> [String; 4] {
        let (_, inside) = self.0.split_once("::").expect("a module of a crate");
        let program = format!("{inside}::program");
        ["--exact", &program, "--ignored", "--nocapture"].map(str::to_string)
    }

    /// Returns the command that runs the program. Its panics have no backtrace unless a test asks
    /// for one, because finding the names in a program of this size takes a second while other
    /// tests run.
    pub fn program(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(self.arguments()).env("RUST_BACKTRACE", "0");
        command
    }

    /// Returns the command that runs a case in OS processes that share memory.
    pub fn command(&self, case: &str, os_processes: usize, more: &[(&str, &str)]) -> Command {
        let mut command = self.program();
        command
            .envs(variables(case, os_processes))
            .envs(more.iter().copied());
        command
    }

    /// Runs the program of a case, and waits for its end. Returns its standard output and standard
    /// error.
    ///
    /// # Panics
    ///
    /// If the address sanitizer reports a leak.
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

/// Runs the network of the case that the environment names, if it names one.
pub fn run(network: fn(&str, u64) -> Network) {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    let (name, number) = case.split_once(':').unwrap_or((&case, "0"));
    let number: u64 = number.parse().unwrap();
    let code = rt::main(|| network(name, number));
    println!("code {code:?}");
}

/// Returns the final states of processes in the output of a program, sorted. They may begin
/// anywhere in a line.
pub fn ends(out: &str) -> Vec<&str> {
    let ends = out
        .lines()
        .filter_map(|line| Some(&line[line.find("end ")?..]));
    let mut ends: Vec<&str> = ends.collect();
    ends.sort_unstable();
    ends
}

/// Returns the line that the program of a case prints at its end.
pub fn code(exit: Exit) -> String {
    format!("code {:?}", ExitCode::from(exit))
}
