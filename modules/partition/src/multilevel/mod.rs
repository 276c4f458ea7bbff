//! From coarse to fine: clusters first, vertices later.

pub(crate) mod bisect;
pub(crate) mod coarsen;
pub(crate) mod initial;
pub(crate) mod line;
mod passes;
pub(crate) mod sub;
pub(crate) mod view;
