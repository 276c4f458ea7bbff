//! What travels over the channels.

use serde::{Deserialize, Serialize};

/// What the server says of a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The number is smaller.
    Smaller,
    /// The number is larger.
    Larger,
    /// That is it.
    Right,
}
// Between OS processes it goes as serde writes it down.
graphmap_runtime::payload!(Answer by serde_json::to_vec, serde_json::from_slice);
