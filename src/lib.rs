//! Checks, maps and wires parallel programs that are drawn as graphs.
//!
//! Each stage is a function with types of its own, so that the compiler does not accept a program
//! that skips a stage:
//!
//! ```
//! # fn main() -> Result<(), graphmap::Error> {
//! # std::env::set_current_dir(env!("CARGO_MANIFEST_DIR")).unwrap();
//! let network = graphmap::check(graphmap::read("graphs/farm.dot")?)?;
//! let platform = graphmap::platform("hosts=2:cores=2")?;
//! let plan = graphmap::map(&network, &platform, &graphmap::Request::default())?;
//! assert!(plan.proved && plan.hosts.len() == 2);
//! let files = graphmap::emit(&plan.mapped, "target/doc-example/mapping.json")?;
//! graphmap::write(&files)?;
//! # Ok(())
//! # }
//! ```
//!
//! An [`Error`] contains all diagnostics of a stage. It displays at most 50 of them, with their
//! positions and the lines of text around them. Diagnostics that do not stop a stage are returned
//! with its result ([`Diagnosed`]):
//!
//! ```
//! # fn main() -> Result<(), graphmap::Error> {
//! let registry = graphmap::Registry::new();
//! let drawing = registry.read_text("dot", "two.dot", "digraph { a -> b [load=4]; }");
//! let error = drawing.unwrap_err();
//! assert!(error.to_string().contains("two.dot:1:19"));
//! assert!(error.to_string().contains("use `traffic=` for the cost of a channel"));
//! # Ok(())
//! # }
//! ```
//!
//! A network does not have to come from a file: a [`Builder`] makes one in Rust. Your own front
//! ends, passes and emitters go into a [`Registry`], whose methods are the same stages. With the
//! feature `cli`, which is on by default, a [`Tool`] is the command for a registry. Without it, no
//! code of the command line is linked. A build script therefore uses
//! `graphmap = { version = "0.1", default-features = false }`.
//!
//! # In a build script
//!
//! The repository contains no generated code if `build.rs` contains
//!
//! ```no_run
//! use std::{env, path::PathBuf};
//!
//! fn main() -> Result<(), graphmap::Error> {
//!     println!("cargo::rerun-if-changed=farm.dot");
//!     let network = graphmap::check(graphmap::read("farm.dot")?)?;
//!     let wiring = PathBuf::from(env::var_os("OUT_DIR").unwrap()).join("wiring.rs");
//!     graphmap::write(&*graphmap::emit(&graphmap::collocate(network), wiring)?)?;
//!     Ok(())
//! }
//! ```
//!
//! and `src/main.rs` contains `mod wiring { include!(concat!(env!("OUT_DIR"), "/wiring.rs")); }`.

// docs.rs shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!("graphmap runs on Linux on x86-64 and aarch64 only");

mod builder;
#[cfg(feature = "cli")]
mod cli;
pub mod codes;
mod cpa;
mod emitters;
mod error_pages;
mod flow;
mod front_end;
mod identity;
mod include;
mod levels;
mod library_networks;
#[cfg(feature = "petgraph")]
pub mod petgraph;
mod picture;
mod program;
mod registry;
mod render;
mod report;
mod search;
mod skeletons;
#[cfg(feature = "cli")]
mod tool;
mod visible;
mod weights;
mod write;

pub use builder::{Builder, ChannelBuilder, End, Module, Node};
pub use flow::{Options, check, collocate, emit, map, platform, read, read_platform, rules, write};
pub use front_end::FrontEnd;
pub use graphmap_dot::write::to_dot;
pub use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
pub use graphmap_kpn::emit::{EmitContext, Emitter, Files};
pub use graphmap_kpn::mapping::{Mapped, Mapping};
pub use graphmap_kpn::network::Verified;
pub use graphmap_kpn::pass::{Pass, PassContext};
pub use graphmap_kpn::sizes::Given;
pub use graphmap_plan::{Plan, Request};
pub use graphmap_platform::Platform;
pub use picture::to_svg;
pub use program::{Run, run};
pub use registry::Registry;
pub use report::{Diagnosed, Error, Report};
pub use search::ReadOptions;
#[cfg(feature = "cli")]
pub use tool::Tool;
pub use write::Fate;

/// Runs the examples of the book's chapter as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/src/library.md")]
mod book {}

/// Model that front ends, passes and emitters work on.
pub use graphmap_kpn as kpn;
/// Engine that searches for mappings: the options of a search ([`Request::options`]), its objective
/// ([`Request::objective`]), and its progress and cancellation ([`partition::Watch`]).
pub use graphmap_partition as partition;
/// Computes a plan from a verified network: the request, and the result with its quality.
pub use graphmap_plan as plan;

/// Runs the examples of CONTRIBUTING.md as tests.
#[cfg(doctest)]
#[doc = include_str!("../CONTRIBUTING.md")]
struct Contributing;
