//! Finalization of MPI, also for a library that hangs in it.
//!
//! MPICH 4.0.2 over the TCP of UCX 1.13 (Debian 12) hangs in `MPI_Finalize` in about every second
//! run on three or more hosts, and occasionally on one. Plain C programs that only call a barrier
//! hang, too. An OS process polls for answers of others, while these wait in a barrier of the
//! launcher and do not poll. No message is lost by then, because all have been received.
//!
//! So with MPICH 4 no OS process calls `MPI_Finalize`. Each one notifies the launcher over its
//! protocol (PMI 1) that it has finished, and ends. Doing this only after a timeout of
//! `MPI_Finalize` would not work: if the call is merely slow, both would write to the launcher at
//! once.

use crate::calls;
use crate::world::World;

/// Ends MPI. Every OS process must call it. Blocks, because `MPI_Finalize` or the launcher may wait
/// for the other OS processes. An exit of this OS process is then not an error any more.
pub(crate) fn end(world: &mut World) {
    calls::over();
    match replaced() {
        true => world.leave_open(),
        false => world.end(),
    }
}

/// Notifies the launcher that this OS process has finished, if the library must not finalize MPI:
/// MPICH 4 under a launcher of MPICH. Blocks until the launcher answers.
///
/// Returns true if it did. The result is the same in all OS processes of a job.
fn replaced() -> bool {
    // MPICH 4 may use UCX.
    let hangs = calls::library().starts_with("MPICH Version: 4.");
    let Some(fd) = calls::launcher().filter(|_| hangs) else {
        return false;
    };
    calls::ask_launcher(fd, "cmd=finalize\n");
    true
}
