//! Jobs of an MPI on hosts that a test makes itself (`graphmap_testing::Hosts`).

use graphmap_testing::{Need, skip};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Standard output and standard error.
pub(crate) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Whether this machine can build for an MPI.
pub(crate) fn is_there(mpi: &str, need: Need) -> bool {
    let compiler = format!("mpicc.{mpi}");
    match Command::new(&compiler).arg("--version").output() {
        Ok(_) => true,
        Err(error) => {
            skip(need, format!("{compiler} does not start: {error}"));
            false
        }
    }
}

/// Where tests build programs for an MPI: all of them, and what is the same the next time is not built again. The gate and the
/// tests of `modules/mpi` build there, too.
pub(crate) fn built_for(mpi: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("networks-{mpi}"))
}

/// What launchers need to start more than there is room for, as whoever, over TCP.
pub(crate) fn prepare(command: &mut Command) -> &mut Command {
    for name in [
        "OMPI_ALLOW_RUN_AS_ROOT",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
        "OMPI_MCA_rmaps_base_oversubscribe",
    ] {
        command.env(name, "1");
    }
    let command = command.env("OMPI_MCA_orte_tmpdir_base", session());
    let command = command.env("OMPI_MCA_btl", "tcp,self");
    command.env("UCX_TLS", "tcp").stdin(Stdio::null())
}

/// A folder for what Open MPI 4 keeps of a job: two launchers that begin at once may both be about to make the one in `/tmp`, and one of them
/// then fails, as it is there ("File exists", in `session_dir.c`).
fn session() -> PathBuf {
    static JOBS: AtomicU32 = AtomicU32::new(0);
    let (test, job) = (std::process::id(), JOBS.fetch_add(1, Ordering::Relaxed));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sessions/{test}-{job}"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
