//! Improvement of a mapping by moves and swaps. All of them use the full cost on the machine.

pub(crate) mod anneal;
pub(crate) mod bottleneck;
pub(crate) mod combine;
pub(crate) mod exchange;
pub(crate) mod pair;
pub(crate) mod rebalance;
pub(crate) mod region;
pub(crate) mod state;
