//! Projects of ranks: a Cargo package whose program is written for rsmpi, and has no drawing.
//!
//! | file | whose |
//! |---|---|
//! | `Cargo.toml`, `src/main.rs`, `src/ring.rs`, `README.md`, `.gitignore` | the user's, written once |
//! | `vendor/mpi/` and what it stands on | generated: the source of `modules/mpi`, which takes the place of rsmpi |

use crate::project::{self, package_name, vendor, vendor_runtime};
use crate::skeleton::Skeletons;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::Files;
use serde_json::json;
use std::path::Path;

include!(concat!(env!("OUT_DIR"), "/vendored_stack.rs"));
include!(concat!(env!("OUT_DIR"), "/vendored_mpi.rs"));

const VENDOR_MPI: &str = "vendor/mpi";
const VENDOR_STACK: &str = "vendor/graphmap-stack";

/// All files of a new project of this name, by their path in its folder; its `mpi` is a copy, or, as its `runtime`, in a folder seen from
/// the project's.
///
/// # Errors
/// A skeleton of the user's that fails.
pub fn create(
    name: &str,
    runtime: &project::Runtime,
    skeletons: &Skeletons,
) -> Result<Files, Diagnostics> {
    let mut files = Files::new();
    let mpi_path = match runtime {
        project::Runtime::Vendored => {
            let root = Path::new("");
            vendor_runtime(root, &mut files);
            vendor(root, VENDOR_STACK, VENDORED_STACK, &mut files);
            vendor(root, VENDOR_MPI, VENDORED_MPI, &mut files);
            VENDOR_MPI.to_owned()
        }
        // It is beside the runtime.
        project::Runtime::Path(path) => format!("{path}/../mpi"),
    };
    let data = json!({ "package": package_name(name), "mpi_path": mpi_path });
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
