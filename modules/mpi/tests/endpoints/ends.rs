//! How endpoints end where nobody waits for them, or the run is over.
