//! Types of the tokens on the channels.

use serde::{Deserialize, Serialize};

/// The answer of the server to a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The number is smaller.
    Smaller,
    /// The number is larger.
    Larger,
    /// The guess is right.
    Right,
}
// Between OS processes, an answer travels as the JSON that serde writes.
graphmap_runtime::payload!(Answer by serde_json::to_vec, serde_json::from_slice);
