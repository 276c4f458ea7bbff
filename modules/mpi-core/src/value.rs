//! Types of messages.

use graphmap_executor::payload::Payload;

/// Type of a message: a value that can also be sent to another OS process. Every [`Payload`] that
/// is `Send` and `'static` implements it.
pub trait Value: Payload + Send + 'static {}

impl<T: Payload + Send + 'static> Value for T {}
