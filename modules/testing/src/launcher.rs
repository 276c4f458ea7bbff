//! What launchers of MPIs need in tests.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Lets a launcher start programs as any user, over TCP. It is not told to start more than there is room for: plans name all slots
/// that they need. What Open MPI 4 keeps of the job has a folder of its own in
/// `within`: two launchers that begin at once may both be about to make the one in `/tmp`, and one of them then fails, as it is there
/// ("File exists", in `session_dir.c`).
///
/// # Panics
/// If that folder cannot be made.
pub fn prepare_launcher<'a>(command: &'a mut Command, within: &Path) -> &'a mut Command {
    static JOBS: AtomicU32 = AtomicU32::new(0);
    let (test, job) = (std::process::id(), JOBS.fetch_add(1, Ordering::Relaxed));
    let session = within.join(format!("sessions/{test}-{job}"));
    fs::create_dir_all(&session).expect("a folder for a job");
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
        command.env(name, "1");
    }
    command
        .env("OMPI_MCA_orte_tmpdir_base", session)
        .env("OMPI_MCA_btl", "tcp,self")
        .stdin(Stdio::null())
}
