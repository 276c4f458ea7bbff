//! Functions that are exported and fail with their own names.
