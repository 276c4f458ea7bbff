//! Reports of runs that have failed, in terms of the program: names of functions of MPI, and source
//! lines of their calls.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

use graphmap_runtime::{Exit, Place, RunError};

use crate::rank::Call;

/// A call in which a rank was blocked when the run ended.
#[derive(Debug, Clone, Copy)]
struct Blocked {
    call: Call,
    /// Address at which the program of the rank is loaded.
    base: usize,
}

static BLOCKED: Mutex<BTreeMap<usize, Blocked>> = Mutex::new(BTreeMap::new());

/// Exit status of the first rank that has failed with one.
static STATUS: AtomicI32 = AtomicI32::new(0);

/// Records the call of a rank whose run ends.
pub(crate) fn record(rank: usize, call: Call, base: usize) {
    let mut blocked = BLOCKED.lock().unwrap_or_else(PoisonError::into_inner);
    blocked.insert(rank, Blocked { call, base });
}

/// Records that a rank has failed with an exit status. Later ones are ignored.
pub(crate) fn record_status(status: c_int) {
    // Another rank may have been first.
    let _ = STATUS.compare_exchange(0, status, Ordering::Relaxed, Ordering::Relaxed);
}

/// Returns the exit status of the first rank that has failed with one, unless it would be 0.
pub(crate) fn status() -> Option<u8> {
    // The system keeps the low byte, too.
    match STATUS.load(Ordering::Relaxed) as u8 {
        0 => None,
        status => Some(status),
    }
}

/// Replaces the positions in a report of a deadlock, which are in this library, by the positions of
/// the calls in the program.
pub(crate) fn explain(error: &mut RunError, program: &Path) {
    let RunError::Blocked(block) = error else {
        return;
    };
    let blocked = BLOCKED.lock().unwrap_or_else(PoisonError::into_inner);
    for process in block.cycle.iter_mut().chain(&mut block.others) {
        let Some(&Blocked { call, base }) = blocked.get(&process.rank) else {
            continue;
        };
        let place = place(program, call.address.wrapping_sub(base));
        for wait in &mut process.waits {
            if let Some(text) = &mut wait.call {
                *text = format!("{}: {text}", call.name);
                wait.place = Some(place.clone());
            }
        }
    }
}

/// Returns the source position of the call that returns to an address of the program.
fn place(program: &Path, address: usize) -> Place {
    // The call is before the address to which it returns.
    position(program, address.wrapping_sub(1)).1
}

/// Returns the function and the source position of an address of the program: by the tool
/// `addr2line`, or else the address itself. Blocks until the tool ends.
pub(crate) fn position(program: &Path, address: usize) -> (Option<String>, Place) {
    let output = Command::new("addr2line")
        .args(["-f", "-C", "-e"])
        .arg(program)
        .arg(format!("{address:#x}"))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let text = text.unwrap_or_default();
    let mut lines = text.lines();
    let function = lines.next().filter(|name| *name != "??");
    let position = lines.next().unwrap_or_default();
    // A position may have a discriminator behind it.
    let (position, _) = position.split_once(" (").unwrap_or((position, ""));
    let known = position.rsplit_once(':').and_then(|(file, line)| {
        let line = line.parse().ok().filter(|_| file != "??")?;
        let file = RunError::shown(Path::new(file)).display().to_string();
        Some((file, line))
    });
    let (file, line) = known.unwrap_or_else(|| (format!("{}+{address:#x}", program.display()), 0));
    let column = 0;
    (function.map(String::from), Place { file, line, column })
}

/// Ends the OS process if a launcher of another MPI has started it several times, because each copy
/// would run alone.
pub(crate) fn require_one_copy() {
    if let Err(variable) = graphmap_runtime::started_once() {
        eprintln!(
            "error: a launcher has started this program several times ({variable}), and each copy \
             would run alone\n  = help: start it once: `graphmap mpiexec -n RANKS PROGRAM`"
        );
        std::process::exit(Exit::Usage as i32)
    }
}

/// Removes the positions in this library from a description of the state of a run.
pub(crate) fn without_positions(state: &str) -> String {
    let line = |line: &str| match line.rsplit_once(": src/") {
        Some((rest, place)) if place.contains(".rs:") => rest.to_string(),
        _ => line.to_string(),
    };
    let lines: Vec<String> = state.lines().map(line).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_name_no_positions_of_the_library() {
        let state = "scheduler 0: 1 ready, 1 waiting\n  main1 (rank 1) waits in receive (world, \
                     from rank 0, tag 0): src/point_to_point.rs:240:51";
        let expected = "scheduler 0: 1 ready, 1 waiting\n  main1 (rank 1) waits in receive (world, \
                        from rank 0, tag 0)";
        assert_eq!(without_positions(state), expected);
    }
}
