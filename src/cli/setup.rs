//! `graphmap setup`: the link of a project to the sources of the runtime.

use super::exit::Exit;
use super::run::project::link;
use super::session::{Outcome, Session};
use super::{paths, vendor};
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_wiring::project::Project;
use std::path::PathBuf;

/// Link a project to the sources of the runtime, so that `cargo build` finds them
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap setup                       the project in this folder
  git clone URL farm && graphmap setup farm && cargo build --manifest-path farm/Cargo.toml

The link `.graphmap` is not part of the repository of a project. `graphmap run` makes it, too. All projects
share one copy of the sources, in $GRAPHMAP_DATA [default: ~/.local/share/graphmap].")]
pub(crate) struct SetupArgs {
    /// Folder of the project
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
}

pub(crate) fn run(args: &SetupArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let folder = paths::shown(&args.folder);
    match Project::open(&args.folder) {
        Ok(Some(project)) => {
            link(session, &project)?;
            if project.copied {
                vendor::sources(session, &project)?;
            }
            let state = match (&project.sources, project.copied) {
                (Some(_), false) => "is linked to the sources of the runtime",
                (Some(_), true) => "contains the sources of the runtime",
                (None, _) => "has no dependency on a runtime in `.graphmap`",
            };
            session.print(&format!("graphmap: {folder} {state}\n"));
            Ok(Exit::Ok)
        }
        Ok(None) => {
            let message = format!("`{folder}` is not the folder of a project that graphmap made");
            let error = Diagnostic::error(codes::USAGE, message)
                .help("name the folder with its Cargo.toml");
            session.fail(Exit::Usage, error)
        }
        Err(failed) => {
            session.report_all(failed);
            Err(Exit::Usage)
        }
    }
}
