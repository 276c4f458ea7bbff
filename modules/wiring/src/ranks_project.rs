//! Projects of ranks: a Cargo package with a program for the API of rsmpi, without a graph file.
//!
//! | file | owner |
//! |---|---|
//! | `Cargo.toml`, `README.md`, `.gitignore` | the user's, written once |
//! | `src/main.rs`, `src/ring.rs` | the user's, written once |
//! | `.graphmap` | the [sources](bundled) of `modules/mpi`: a link or a copy |
//! | `Cargo.lock` | Cargo; initially has entries for the dependencies of the sources |

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

/// Returns all files of a new project of ranks, by their path in its folder. Characters of `name`
/// that Cargo does not accept are replaced. The project uses the package `mpi` of the bundled
/// sources, which `runtime` locates. With `link`, `mpiexec` can start it as several OS processes of
/// one run.
///
/// # Errors
/// Returns an error if a skeleton cannot be rendered.
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

/// Kind of all processes that `mpi::network` creates. Their names consist of the kind and the rank.
const KIND: &str = "main";

/// Returns a graph of `ranks` processes for a project without a graph file. It has the processes
/// that `mpi::network` creates, and no channels, because the messages between ranks are unknown.
pub fn without_graph(ranks: u32) -> Declared {
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
            port_prefix: None,
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

/// Returns the value of `GRAPHMAP_PLACED` that the program computes for a number of ranks, which
/// does not depend on a graph file.
///
/// # Panics
/// Panics if `ranks` is 0, because a network has at least one process.
pub fn placed(ranks: u32) -> String {
    let checked = pipeline::check(without_graph(ranks), &mut Vec::new());
    let (network, _) = checked.expect("ranks have names of their own, and no channels");
    processes_hash(&network)
}
