//! Maps a verified network onto a platform, and describes the result in terms of the graph.
//!
//! The crate translates the model into the numbers of the engine ([`graphmap_partition::solve`])
//! and back. OS processes become blocks in the tree of hosts, sockets and caches. Constraints of
//! the graph become constraints of the engine. Each keeps the position where it was written, so
//! that a conflict can be reported there. Graphs without names are mapped by [`plan_bare`].

// docs.rs shows which feature an item requires.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod bare;
mod boxes;
pub mod codes;
mod even;
mod failure;
mod language;
mod names;
mod pattern;
mod permute;
mod placement;
mod plan;
mod previous;
mod programs;
mod proposal;
mod raised;
mod request;
mod rules;
mod translate;

pub use bare::{BarePlan, BareRequest, Judged, plan_bare};
pub use boxes::os_processes as os_processes_of_boxes;
pub use even::strategy as even_strategy;
pub use failure::strategy;
pub use language::{RULES, Rule, rule, rules as read_rules};
pub use permute::Permutation;
pub use plan::{Level, MOST_IMBALANCE, Other, Plan, check, plan};
pub use previous::{Move, Previous, Since};
pub use request::{Modules, Request};
pub use translate::Rounded;
