//! What can be sent.

use graphmap_executor::payload::Payload;

/// What a message may be: a value that can also leave its OS process. All [`Payload`]s that threads may hand to each
/// other are.
pub trait Value: Payload + Send + 'static {}

impl<T: Payload + Send + 'static> Value for T {}
