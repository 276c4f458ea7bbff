//! From a verified network and a platform to a mapping, and all that a user wants to know of it.
//!
//! Translates the model into the plain numbers of the engine ([`graphmap_partition::solve`]) and back:
//! OS processes become blocks in the tree of hosts, sockets and caches; constraints of the graph
//! become constraints of the engine, each with the place where it was written, so that a conflict
//! can be shown there. A graph without names goes another way ([`plan_bare`]).

// docs.rs says which feature an item comes with.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod bare;
pub mod codes;
mod failure;
mod language;
mod names;
mod pattern;
mod plan;
mod previous;
mod raised;
mod request;
mod rules;
mod spots;
mod translate;

pub use bare::{BarePlan, BareRequest, Judged, plan_bare};
pub use failure::strategy;
pub use language::{RULES, Rule, rule, rules as read_rules};
pub use plan::{Other, Plan, check, plan};
pub use previous::{Move, Previous, Since};
pub use request::{Modules, Request};
pub use translate::Rounded;
