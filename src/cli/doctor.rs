//! `graphmap doctor`: which of the tools that graphmap works with are there; of a project of ranks, what these share.

use super::doctor_project::{self, ProjectArgs};
use super::exit::Exit;
use super::session::{Outcome, Session};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Say which of the tools that graphmap works with are installed, or what ranks of a program would share
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Without PROJECT: only cargo and rustc are needed, and only to run a network; all else is optional.
Ends with 0 when what is needed is there, with 2 when it is not.

With PROJECT, a folder with a Cargo.toml (or that file) of a program that uses `mpi`: as coroutines its
ranks share the statics of their OS process, the thread-locals of their thread, and what concerns the
whole OS process, and a rank that blocks keeps its thread from others. All of it is reported with its
place, as warnings (G0801 to G0805, G0809 to G0812), in the project and in its dependencies that use
`mpi`. It needs the tool `graphmap-doctor` on PATH (`cargo install --path modules/sharing` in
graphmap's sources). Ends with 0 when all was looked into, whatever was
found; with 1 when a source could not be read, or where `--deny` makes errors of warnings; with 2 when
there is no such project.

Examples:
  graphmap doctor
  graphmap doctor halo                       what would the ranks of halo/ share?
  graphmap doctor . --deny warnings          for a gate: nothing
  graphmap doctor . --message-format json    findings for programs")]
pub(crate) struct DoctorArgs {
    /// Folder of a Cargo project whose program uses `mpi`, or its Cargo.toml
    #[arg(value_name = "PROJECT")]
    project: Option<PathBuf>,
    #[command(flatten)]
    ranks: ProjectArgs,
}

struct Wanted {
    name: &'static str,
    /// Programs that would do, with the arguments that make them tell their version.
    programs: &'static [(&'static str, &'static [&'static str])],
    needed: bool,
    what_for: &'static str,
}

const WANTED: &[Wanted] = &[
    Wanted {
        name: "cargo",
        programs: &[("cargo", &["--version"])],
        needed: true,
        what_for: "`graphmap run` builds the program of a network with it (https://rustup.rs)",
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
        what_for: "lays out your code in a new project; generated code needs no help",
    },
    Wanted {
        name: "Graphviz",
        programs: &[("dot", &["-V"])],
        needed: false,
        what_for: "draws graphs: `dot -Tsvg farm.dot`, and those that `--emit mapped` writes",
    },
    Wanted {
        name: "MPICH",
        programs: &[
            ("mpiexec.mpich", &["--version"]),
            ("mpiexec.hydra", &["--version"]),
        ],
        needed: false,
        what_for: "launches a network on several hosts with the hostfiles that graphmap writes",
    },
    Wanted {
        name: "Open MPI",
        programs: &[
            ("mpiexec.openmpi", &["--version"]),
            ("ompi_info", &["--version"]),
        ],
        needed: false,
        what_for: "launches a network on several hosts with the hostfiles that graphmap writes",
    },
    Wanted {
        name: "Slurm",
        programs: &[("srun", &["--version"])],
        needed: false,
        what_for: "launches a network on the hosts of a cluster",
    },
];

pub(crate) fn run(args: &DoctorArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    match &args.project {
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
                "MISSING, and needed".to_owned()
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

/// The line in which a program tells its version, if it can be run.
fn version(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    // Graphviz tells its version on standard error.
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
