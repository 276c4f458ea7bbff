//! Ending MPI where its library cannot.
//!
//! MPICH 4.0.2 over the TCP of UCX 1.13 (Debian 12) hangs in `MPI_Finalize` about every second time from three hosts on, of
//! plain C programs too that do nothing but a barrier, and now and then on one: an OS process waits, looking again and again, for
//! others to answer, which wait in a barrier of the launcher and do not look. Nothing is lost by then: all messages have
//! been received. So nobody calls it: each says to the launcher, in the words of its protocol (PMI 1),
//! that it is through, and ends. To call it and to say so in its place where it takes long would have two speak to the launcher at
//! once, when it was only slow.

use crate::calls;
use crate::world::World;

/// Ends MPI, in every OS process.
pub(crate) fn end(world: &mut World) {
    calls::over();
    match replaced() {
        true => world.leave_open(),
        false => world.end(),
    }
}

/// Says to the launcher that this OS process is through with MPI, where the library must not be asked to end it: whether it
/// was said. All OS processes of a job come to the same answer.
fn replaced() -> bool {
    // MPICH 4 may be over UCX.
    let hangs = calls::library().starts_with("MPICH Version: 4.");
    let Some(fd) = calls::launcher().filter(|_| hangs) else {
        return false;
    };
    calls::ask_launcher(fd, "cmd=finalize\n");
    true
}
