//! Shared by the programs of this benchmark: the Go and C programs to compare with, and networks of
//! ranks.

use std::path::{Path, PathBuf};
use std::process::Command;

use graphmap_runtime::mpi::{self, Communicator};
use graphmap_runtime::{Names, Network};

/// Builds the Go program beside the program `here`, and returns its path.
///
/// # Errors
///
/// Returns a message if `go` cannot be run or the build fails.
pub fn go(here: &Path) -> Result<PathBuf, String> {
    let program = here.with_file_name("bench-go");
    let mut command = Command::new("go");
    command.args(["build", "-o"]).arg(&program);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("go/main.go"));
    match command.output() {
        Err(error) => Err(format!("`go` cannot be run: {error}")),
        Ok(output) if !output.status.success() => Err(format!(
            "go build failed: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
        Ok(_) => Ok(program),
    }
}

/// Returns the command that starts a C program of `mpi/` in `count` OS processes of an MPI. Returns
/// `None` if that MPI does not exist or the build fails. The program is built beside the program
/// `here`.
pub fn mpiexec(here: &Path, mpi: &str, count: &str, program: &str) -> Option<Command> {
    let built = here.with_file_name(format!("{program}-{mpi}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("mpi/{program}.c"));
    if !built.exists() {
        let mut command = Command::new(format!("mpicc.{mpi}"));
        command.arg("-O2").arg("-o").args([&built, &source]);
        let output = command.output().ok()?;
        output.status.success().then_some(())?;
    }
    let mut command = Command::new(format!("mpiexec.{mpi}"));
    // Open MPI requires these variables if the user is root.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
    command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.args(["-n", count]).arg(built);
    Some(command)
}

/// Returns a network of `count` ranks, each of which calls `rank` with its world.
pub fn ranks<E, F>(
    count: usize,
    rank: impl Fn(Communicator) -> F + Clone + Send + Sync + 'static,
) -> Network
where
    E: From<mpi::Error> + Into<Box<dyn std::error::Error>> + 'static,
    F: Future<Output = Result<(), E>> + 'static,
{
    let mut net = Network::new("ranks", "ranks.dot");
    let all = format!("0+1*{count}");
    let process = move |(): ()| {
        let rank = rank.clone();
        async move { rank(mpi::world()?).await }
    };
    net.kind("rank", Names::Numbered("rank", &all), &all, &[], process);
    net
}
