//! Questions about a status.
