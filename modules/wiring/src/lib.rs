//! Wiring: from a verified network to the code that runs it.
//!
//! [`context::Model`] is the network as tables that grow with its kinds and classes of channels, not
//! with its processes; a skeleton (a Handlebars template, [`skeleton`]) turns it into code. [`family`] tells what
//! families of skeletons there are. What a Cargo project needs around wiring is made by [`project`], and
//! one of ranks, which has no wiring, by [`ranks_project`].

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
mod unlisted;

#[cfg(test)]
mod testing;

pub use graphmap_kpn::identifier;
