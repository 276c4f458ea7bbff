//! Multilevel methods: clusters are mapped first, and vertices later.

pub(crate) mod bisect;
pub(crate) mod coarsen;
pub(crate) mod line;
pub(crate) mod passes;
