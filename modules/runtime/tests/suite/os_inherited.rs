//! State that an OS process inherits or sets before the run. Signal handlers must stay as they are,
//! and OS processes must end together with the first one, even if `exec` made the kernel forget the
//! parent death signal.
//!
//! The program of these tests is this file, as in `os_processes.rs`.
#![cfg(not(miri))]
#![allow(clippy::print_stdout)]

use std::ffi::{c_int, c_ulong, c_void};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::parent_id;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::common::cases::network;
use crate::common::itself::{CASE, Itself, Running};
use graphmap_runtime as rt;

/// This file as a program.
const ITSELF: Itself = Itself(module_path!());

/// Variable that names the action of the program before the run.
const BEFORE: &str = "GRAPHMAP_TEST_BEFORE";

unsafe extern "C" {
    fn prctl(option: c_int, argument: c_ulong) -> c_int;
    fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int;
}

const PR_SET_PDEATHSIG: c_int = 1;
const SIGCHLD: c_int = 17;
const SIGXFSZ: c_int = 25;
const SA_SIGINFO: c_int = 4;
const SA_ONSTACK: c_int = 0x0800_0000;

/// Same layout as `struct sigaction` of the C library on 64-bit machines, with unused space at the
/// end.
#[repr(C)]
struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    rest: [usize; 4],
}

impl Action {
    const NONE: Action = Action {
        handler: 0,
        mask: [0; 16],
        flags: 0,
        rest: [0; 4],
    };

    /// Returns the handler, the mask and the flags of a signal. The kernel uses only the first word
    /// of the mask.
    fn of(signal: c_int) -> (usize, u64, c_int) {
        let mut action = Action::NONE;
        // SAFETY: `action` is valid for writes and larger than the C library's `struct sigaction`.
        // The new action may be null.
        let done = unsafe { sigaction(signal, std::ptr::null(), &raw mut action) };
        assert_eq!(done, 0);
        (action.handler, action.mask[0], action.flags)
    }
}

extern "C" fn told(_signal: c_int, about: *mut c_void, _context: *mut c_void) {
    assert!(!about.is_null());
}

/// Clears the parent death signal on the first thread, before any other code runs. The kernel does
/// the same at `exec` of a file that has capabilities.
extern "C" fn forget() {
    if matches!(std::env::var(BEFORE).as_deref(), Ok("forgets" | "orphan")) {
        // SAFETY: `PR_SET_PDEATHSIG` takes an integer, and accesses no memory.
        unsafe { prctl(PR_SET_PDEATHSIG, 0) };
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = forget;

#[test]
#[ignore = "run by `handlers_stay_as_they_were` and the others"]
fn program() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    let is_copy = std::env::var_os("GRAPHMAP_OS_PROCESS").is_some();
    let signals = [SIGCHLD, SIGXFSZ];
    match std::env::var(BEFORE).as_deref() {
        Ok("handlers") => {
            for signal in signals {
                let action = Action {
                    handler: told as *const () as usize,
                    flags: SA_SIGINFO | SA_ONSTACK,
                    ..Action::NONE
                };
                // SAFETY: the handler has the signature that `SA_SIGINFO` requires, and `action` is
                // valid for reads.
                let done = unsafe { sigaction(signal, &raw const action, std::ptr::null_mut()) };
                assert_eq!(done, 0);
            }
        }
        Ok("orphan") if is_copy => {
            let parent = parent_id();
            println!("pid {}", std::process::id());
            while parent_id() == parent {
                thread::sleep(Duration::from_millis(1));
            }
        }
        _ => {}
    }
    let before = signals.map(Action::of);
    let code = rt::main(|| network(&case, 0));
    let same = signals.map(Action::of) == before;
    println!(
        "code {code:?}, handlers {}",
        if same { "same" } else { "changed" }
    );
}

fn start(case: &str, before: &str) -> Running {
    let mut command = ITSELF.command(case, 2, &[(BEFORE, before)]);
    Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
}

/// Reads output until `count` OS processes have printed their ids, and returns the ids.
fn ids(out: &mut impl BufRead, count: usize) -> Vec<u32> {
    let lines = out.lines().map(Result::unwrap);
    let ids = lines.filter_map(|line| line[line.find("pid ")? + 4..].parse().ok());
    ids.take(count).collect()
}

/// Returns true if the OS process exists and is not a zombie.
fn lives(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Checks that a handler with `SA_SIGINFO` and `SA_ONSTACK` is unchanged after the run.
#[test]
fn handlers_stay_as_they_were() {
    let mut child = start("stop", "handlers");
    let (mut out, mut err) = (String::new(), String::new());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    stdout.unwrap().read_to_string(&mut out).unwrap();
    stderr.unwrap().read_to_string(&mut err).unwrap();
    assert!(out.contains("handlers same"), "{out}{err}");
}

#[test]
fn a_copy_that_forgets_its_parent_ends_with_it() {
    let mut child = start("forever", "forgets");
    let ids = ids(&mut BufReader::new(child.stdout.take().unwrap()), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    while ids.iter().any(|&id| lives(id)) {
        thread::sleep(Duration::from_millis(5));
    }
}

/// Checks that a copy without its parent ends with an error. It must not run the whole network
/// alone.
#[test]
fn a_copy_without_its_parent_ends_with_an_error() {
    let mut child = start("stop", "orphan");
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let ids = ids(&mut out, 1);
    child.kill().unwrap();
    let (mut printed, mut err) = (String::new(), String::new());
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    out.read_to_string(&mut printed).unwrap();
    child.wait().unwrap();
    assert_eq!(ids.len(), 1, "{err}");
    assert!(
        err.contains("OS process 1: OS process 0, which started it, has ended"),
        "{err}"
    );
    let code = std::process::ExitCode::from(rt::Exit::Lost);
    assert!(
        printed.contains(&format!("code {code:?}")),
        "{printed}{err}"
    );
}
