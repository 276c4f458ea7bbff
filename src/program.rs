//! The program of a network: updates its project, builds it, and runs it with a mapping.

mod build;
mod cargo;
mod compiler;
mod passed_mapping;
mod passed_tables;
mod run;
mod sources;
mod supervise;
mod temporary_file;

#[cfg(feature = "cli")]
pub(crate) use build::{Build, Failed};
#[cfg(feature = "cli")]
pub(crate) use cargo::not_there as cargo_not_there;
#[cfg(feature = "cli")]
pub(crate) use passed_mapping::PassedMapping;
#[cfg(feature = "cli")]
pub(crate) use passed_tables::PassedTables;
#[cfg(feature = "cli")]
pub(crate) use run::no_project;
pub use run::{Run, run};
#[cfg(feature = "cli")]
pub(crate) use sources::{data_folder, link, make_link, unpacked};
#[cfg(feature = "cli")]
pub(crate) use supervise::Supervise;
