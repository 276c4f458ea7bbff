//! Settings for launchers of MPI programs in tests.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Sets up a launcher to start programs as any user and to use TCP, without input. Returns the
/// command.
///
/// It does not permit oversubscription, because plans name all slots that they need. Each job of
/// Open MPI 4 gets a separate session folder in `within`. Otherwise, two launchers that start at
/// the same time may both create the one in `/tmp`, and one of them fails ("File exists", in
/// `session_dir.c`).
///
/// # Panics
/// If the session folder cannot be created.
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
