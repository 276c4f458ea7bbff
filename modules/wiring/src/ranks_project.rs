//! Projects of ranks: a Cargo package whose program is written for rsmpi, and has no drawing.
//!
//! | file | whose |
//! |---|---|
//! | `Cargo.toml`, `src/main.rs`, `src/ring.rs`, `README.md`, `.gitignore` | the user's, written once |
//! | `.graphmap` | the [sources](bundled) of `modules/mpi`: a link or a copy |
//! | `Cargo.lock` | Cargo's; with entries for what these depend on from the start |

use crate::bundled;
use crate::project::{Runtime, complete_lock, copy_sources, package_name};
use crate::skeleton::Skeletons;
use graphmap_kpn::declared::{Declared, NodeDecl};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::Files;
use graphmap_kpn::pipeline;
use graphmap_kpn::placed::processes_hash;
use graphmap_kpn::source::Span;
use serde_json::json;
use std::path::Path;

/// All files of a new project of this name, by their path in its folder; its `mpi` comes from where
/// the `runtime` comes from. With the link over MPI, `mpiexec` may start it as several OS processes
/// of one run.
///
/// # Errors
/// A skeleton of the user's that fails.
pub fn create(
    name: &str,
    runtime: &Runtime,
    link: bool,
    skeletons: &Skeletons,
) -> Result<Files, Diagnostics> {
    let mut files = Files::new();
    if *runtime == Runtime::Copied {
        copy_sources(Path::new(""), true, link, &mut files);
    }
    complete_lock(Path::new(""), "", true, link, &mut files);
    let data = json!({
        "package": package_name(name),
        "mpi_path": runtime.package(bundled::MPI),
        "link_path": link.then(|| runtime.package(bundled::LINK)),
        "requirement": runtime.requirement(),
        "linked": matches!(runtime, Runtime::Linked(_)),
    });
    for (path, skeleton) in [
        ("Cargo.toml", "ranks/cargo"),
        ("src/main.rs", "ranks/main"),
        ("src/ring.rs", "ranks/ring"),
        ("README.md", "ranks/readme"),
        (".gitignore", "project/gitignore"),
    ] {
        files.once(path, skeletons.render(skeleton, &data)?);
    }
    Ok(files)
}

/// The kind of all processes that `mpi::network` makes; their names are this and their rank.
const KIND: &str = "main";

/// So many ranks that nobody has drawn: what `mpi::network` makes, with nothing known of what they send each other.
pub fn undrawn(ranks: u32) -> Declared {
    let mut declared = Declared {
        name: "ranks".to_owned(),
        ..Declared::default()
    };
    let kind = declared.names.intern(KIND);
    for rank in 0..ranks {
        let name = declared.names.intern(&format!("{KIND}{rank}"));
        declared.nodes.push(NodeDecl {
            name,
            process: None,
            kind,
            module: None,
            replicas: None,
            load: 1.0,
            mem: 0.0,
            span: Span::NONE,
        });
    }
    declared
}

/// What the program of so many ranks works out for `GRAPHMAP_PLACED`, whatever a drawing calls them.
///
/// # Panics
/// Never: ranks that nobody has drawn are as they should be.
pub fn placed(ranks: u32) -> String {
    let checked = pipeline::check(undrawn(ranks), &mut Vec::new());
    let (network, _) = checked.expect("ranks have names of their own, and no channels");
    processes_hash(&network)
}
