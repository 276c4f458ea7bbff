//! Generates the code that runs a verified network.
//!
//! [`context::Model`] describes a network as tables. Their size depends on the number of kinds and
//! of classes of channels, not on the number of processes. A skeleton (a Handlebars template, see
//! [`skeleton`]) renders the tables as code, and [`family`] lists the families of skeletons.
//! [`project`] creates the Cargo project around the wiring. [`ranks_project`] creates projects of
//! ranks, which have no wiring.

pub mod arguments;
pub mod attributes;
mod budget;
pub mod bundled;
mod changes;
mod classes;
pub mod codes;
pub mod context;
pub mod doubts;
pub mod emitters;
pub mod family;
mod foreign;
pub mod glue;
mod helpers;
mod layout;
mod lexer;
mod locked;
pub mod module_classes;
pub mod names;
pub mod payload;
mod pointed;
mod positions;
pub mod project;
pub mod ranks_project;
pub mod rustc;
pub mod sequence;
mod signature;
pub mod skeleton;
pub mod structure;
pub mod tables;
mod unlisted;

#[cfg(test)]
mod testing;

pub use graphmap_kpn::identifier;
