//! From coarse to fine: clusters first, vertices later.

pub(crate) mod bisect;
pub(crate) mod coarsen;
pub(crate) mod line;
pub(crate) mod passes;
