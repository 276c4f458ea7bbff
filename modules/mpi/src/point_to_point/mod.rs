//! Point-to-point communication: messages from one rank to another.

mod destination;
mod message;
mod receive_future;
mod send_receive;
pub(crate) mod source;

pub use crate::status::Status;
pub use destination::Destination;
pub use message::{MatchedReceiveVec, Message};
pub use receive_future::ReceiveFuture;
pub use send_receive::{
    send_receive, send_receive_into, send_receive_into_with_tags, send_receive_replace_into,
    send_receive_replace_into_with_tags, send_receive_with_tags,
};
pub use source::Source;

/// The traits of this module.
pub mod traits {
    pub use super::{Destination, MatchedReceiveVec, Source};
}
