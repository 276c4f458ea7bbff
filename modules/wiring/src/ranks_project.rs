//! Projects of ranks: a Cargo package whose program is written for rsmpi, and has no drawing.
//!
//! | file | whose |
//! |---|---|
//! | `Cargo.toml`, `src/main.rs`, `src/ring.rs`, `README.md`, `.gitignore` | the user's, written once |
//! | `vendor/mpi/` and what it stands on | generated: the source of `modules/mpi`, which takes the place of rsmpi |
//! | `vendor/graphmap-link-mpi/` | the same of the link over MPI, where the project asks for it |

use crate::project::{
    self, VENDOR_LINK, VENDOR_MPI, VENDOR_MPI_DERIVE, VENDOR_STACK, package_name, vendor,
    vendor_link, vendor_runtime,
};
use crate::skeleton::Skeletons;
use graphmap_kpn::declared::{Declared, NodeDecl};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::Files;
use graphmap_kpn::pipeline;
use graphmap_kpn::placed::processes_hash;
use graphmap_kpn::source::Span;
use serde_json::json;
use std::path::Path;

include!(concat!(env!("OUT_DIR"), "/vendored_stack.rs"));
include!(concat!(env!("OUT_DIR"), "/vendored_mpi_derive.rs"));
include!(concat!(env!("OUT_DIR"), "/vendored_mpi.rs"));

/// All files of a new project of this name, by their path in its folder; its `mpi` is a copy, or, as its `runtime`, in a folder seen from
/// the project's. With the link over MPI, `mpiexec` may start it as several OS processes of one run.
///
/// # Errors
/// A skeleton of the user's that fails.
pub fn create(
    name: &str,
    runtime: &project::Runtime,
    link: bool,
    skeletons: &Skeletons,
) -> Result<Files, Diagnostics> {
    let mut files = Files::new();
    let (mpi_path, link_path) = match runtime {
        project::Runtime::Vendored => {
            let root = Path::new("");
            vendor_runtime(root, &mut files);
            vendor(root, VENDOR_STACK, VENDORED_STACK, &mut files);
            vendor(root, VENDOR_MPI_DERIVE, VENDORED_MPI_DERIVE, &mut files);
            vendor(root, VENDOR_MPI, VENDORED_MPI, &mut files);
            if link {
                vendor_link(root, &mut files);
            }
            (VENDOR_MPI.to_owned(), VENDOR_LINK.to_owned())
        }
        // Both are beside the runtime.
        project::Runtime::Path(path) => (format!("{path}/../mpi"), format!("{path}/../link-mpi")),
    };
    let data = json!({
        "package": package_name(name),
        "mpi_path": mpi_path,
        "link_path": link.then_some(link_path),
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
