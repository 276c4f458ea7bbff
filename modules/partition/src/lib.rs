//! Maps processes onto OS processes and OS processes onto hosts.
//!
//! A [`Graph`] has vertices with loads, and channels with traffic. A [`Machine`] is a tree of
//! hosts, sockets and cores with distances; its leaves are the blocks. [`solve`] maps vertices onto
//! blocks. It minimises the sum of traffic times distance within a balance limit and
//! [`Constraint`]s. [`evaluate`] computes the cost of any mapping, and the rules that it breaks,
//! from their definitions.
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

// docs.rs shows the feature that an item requires.
#![cfg_attr(docsrs, feature(doc_cfg))]

// Unit tests include the problem generator in `tests/common`, which uses the crate by its name.
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
