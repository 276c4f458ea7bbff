//! Maps processes onto OS processes and OS processes onto hosts.
//!
//! A [`Graph`] of vertices with loads and channels with traffic is mapped onto the blocks of a
//! [`Machine`], a tree of hosts, sockets and cores with distances. [`solve`] minimises the sum of
//! traffic times distance under a balance bound and [`Constraint`]s; [`evaluate`] judges any
//! mapping from the definition alone.
//!
//! ```
//! use graphmap_partition::{Channel, Graph, Machine, Options, Problem, solve};
//!
//! // A pipeline of four on two hosts of two cores.
//! let channels = [(0, 1, 9), (1, 2, 1), (2, 3, 9)];
//! let channels = channels.map(|(from, to, traffic)| Channel { from, to, traffic });
//! let graph = Graph::new(vec![1; 4], &channels)?;
//! let machine = Machine::regular(&[(2, 1), (2, 10)])?;
//! let found = solve(&Problem::new(&graph, &machine), &Options::default())?;
//! assert_eq!(found.evaluation.cost, 9 + 10 + 9);
//! # Ok::<(), graphmap_partition::Error>(())
//! ```

// docs.rs says which feature an item comes with.
#![cfg_attr(docsrs, feature(doc_cfg))]

// Tests of what is private share the random problems of those that see what is public.
#[cfg(test)]
extern crate self as graphmap_partition;

mod aside;
mod bound;
mod budget;
mod clusters;
mod constraints;
mod csr;
mod delta_debugging;
mod diagnose;
mod draft;
mod error;
mod evaluate;
mod exact;
mod explain;
mod feasibility;
mod graph;
mod instance;
mod large;
mod machine;
mod multilevel;
mod pack;
mod pigeonhole;
mod problem;
mod proof;
mod quota;
mod random;
mod refine;
mod scale;
mod shares;
mod solve;
mod strategy;
mod tuning;
mod union;
mod watch;

pub use error::{Conflict, Error, Part};
pub use evaluate::{Evaluation, evaluate};
pub use graph::{Channel, Graph, LARGEST_TOTAL};
pub use machine::{Block, Machine, Tree};
pub use problem::{Constraint, Migration, Objective, Problem};
pub use scale::{Scale, decimals_of, scale};
pub use solve::{Limits, Options, Solution, evaluate_strategy, is_packable, solve};
pub use strategy::metis::metis_takes;
pub use strategy::{Kind, Launch, SearchLimits, Strategy, strategies};
pub use watch::Watch;
