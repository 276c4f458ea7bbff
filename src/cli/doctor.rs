//! `graphmap doctor`: reports which tools are installed, and the state that ranks of a project
//! would share.

use super::c_programs;
use super::doctor_project::{self, ProjectArgs};
use super::exit::Exit;
use super::session::{Outcome, Session};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// List the tools that graphmap works with, or report the state that ranks of a program would share
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Without PROJECT, the command lists tools. Only cargo and rustc are required, and only to run a network.
Exits with status 0 if they are installed, and with 2 if not.

PROJECT is a folder with the Cargo.toml of a program that uses `mpi`, or that file. Ranks that run as
coroutines share the statics of their OS process, the thread-locals of their thread, and the state of the
OS process itself. A rank that blocks also stops the other ranks of its thread. The command reports such
code as warnings (G0801 to G0805, G0809 to G0812). It checks the project and its dependencies that use
`mpi`. It needs the tool `graphmap-doctor` on PATH (`cargo install --path modules/sharing` in graphmap's
sources).
Exits with status 0 if all sources were checked, even with warnings. The status is 1 if a source cannot be
read or `--deny` made a warning an error, and 2 if there is no such project.

Examples:
  graphmap doctor
  graphmap doctor halo                       report the state that the ranks of halo/ would share
  graphmap doctor . --deny warnings          fail if there is any
  graphmap doctor . --message-format json    write diagnostics as JSON")]
pub(crate) struct DoctorArgs {
    /// Cargo project with a program that uses the crate `mpi`: its folder or Cargo.toml. The
    /// command reports the state that the ranks would share [default: list the installed tools]
    #[arg(value_name = "PROJECT")]
    project: Option<PathBuf>,
    #[command(flatten)]
    ranks: ProjectArgs,
}

struct Wanted {
    name: &'static str,
    /// Programs of which one is enough, with the arguments that print the version.
    programs: &'static [(&'static str, &'static [&'static str])],
    needed: bool,
    what_for: &'static str,
}

const WANTED: &[Wanted] = &[
    Wanted {
        name: "cargo",
        programs: &[("cargo", &["--version"])],
        needed: true,
        what_for: "builds the programs of networks for `graphmap run` (https://rustup.rs)",
    },
    Wanted {
        name: "rustc",
        programs: &[("rustc", &["--version"])],
        needed: true,
        what_for: "comes with cargo",
    },
    Wanted {
        name: "rustfmt",
        programs: &[("rustfmt", &["--version"])],
        needed: false,
        what_for: "formats your code in a new project; generated code is already formatted",
    },
    Wanted {
        name: "Graphviz",
        programs: &[("dot", &["-V"])],
        needed: false,
        what_for: "draws graphs: `dot -Tsvg farm.dot`, also the output of `--emit mapped`",
    },
    Wanted {
        name: "MPICH",
        programs: &[
            ("mpiexec.mpich", &["--version"]),
            ("mpiexec.hydra", &["--version"]),
        ],
        needed: false,
        what_for: "starts a program on several hosts, with hostfiles that graphmap writes",
    },
    Wanted {
        name: "Open MPI",
        programs: &[
            ("mpiexec.openmpi", &["--version"]),
            ("ompi_info", &["--version"]),
        ],
        needed: false,
        what_for: "starts a program on several hosts, with hostfiles that graphmap writes",
    },
    Wanted {
        name: "Slurm",
        programs: &[("srun", &["--version"])],
        needed: false,
        what_for: "starts a program on the hosts of a cluster",
    },
];

pub(crate) fn run(args: &DoctorArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    match &args.project {
        Some(program) if c_programs::is_program(program) => c_programs::examine(program, session),
        Some(project) => doctor_project::run(project, &args.ranks, session),
        None => tools(session),
    }
}

fn tools(session: &mut Session<'_>) -> Outcome<Exit> {
    let mut exit = Exit::Ok;
    let mut text = format!("graphmap {}\n", env!("CARGO_PKG_VERSION"));
    for wanted in WANTED {
        let found = wanted
            .programs
            .iter()
            .find_map(|(p, args)| version(p, args));
        let state = match (&found, wanted.needed) {
            (Some(version), _) => version.clone(),
            (None, true) => {
                exit = Exit::Usage;
                "MISSING (required)".to_owned()
            }
            (None, false) => "not found (optional)".to_owned(),
        };
        text += &format!(
            "{:<9} {state}\n{:<9} {}\n",
            wanted.name, "", wanted.what_for
        );
    }
    session.show(&text)?;
    Ok(exit)
}

/// Returns the first line with a digit that a program prints when run with `args`, or `found` if
/// there is none. Standard output is searched before standard error, and the exit status does not
/// matter. Returns `None` if the program cannot be run. Blocks until the program ends.
fn version(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    // Graphviz prints its version on standard error.
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let text = out + &String::from_utf8_lossy(&output.stderr);
    let has_digit = |line: &&str| line.chars().any(|c| c.is_ascii_digit());
    Some(
        text.lines()
            .find(has_digit)
            .unwrap_or("found")
            .trim()
            .to_owned(),
    )
}
