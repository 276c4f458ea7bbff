//! MPI jobs on hosts that a test makes itself (`graphmap_testing::Hosts`).

use graphmap_testing::{Hosts, Need, build_cheaply, prepare_launcher, skip};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns standard output and standard error.
pub(crate) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Returns whether this machine can build for an MPI.
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

/// Returns the folder in which tests build programs for an MPI. All tests share it, so that
/// unchanged parts are not built again. The gate and the tests of `modules/mpi` build there, too.
pub(crate) fn built_for(mpi: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("networks-{mpi}"))
}

/// Sets the variables that a launcher needs to exceed the slots, as any user, over TCP.
pub(crate) fn prepare(command: &mut Command) -> &mut Command {
    prepare_launcher(command, Path::new(env!("CARGO_TARGET_TMPDIR"))).env("UCX_TLS", "tcp")
}

/// Returns the command on the first host.
pub(crate) fn on_first(hosts: &Hosts) -> Command {
    let mut command = hosts.on_first(env!("CARGO_BIN_EXE_graphmap"));
    build_cheaply(&mut command).env("GRAPHMAP_DATA", super::data());
    command
}
