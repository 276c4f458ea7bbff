//! Flow-controlled channels: both ends open before tokens flow, the writer closes, and the reader
//! asks for the end.
//!
//! The states follow R. K. S. Chung, "(CM)2PI: Compose-Map-Configure MPI" (University of British
//! Columbia 2014), section 3.2.4. A channel is *new*, then *open*. It is *closing* when its last
//! reader has asked for the end, and *closed* when its last writer has closed, which is final. If
//! one side has many ends, each but the last may leave, and may return while the channel is open.
//!
//! | ends | joins | a call |
//! |---|---|---|
//! | [`FlowOutput`] | one writer | writes one token |
//! | [`FlowInput`] | one reader | reads one token |
//! | [`FlowShare`] | one writer, many readers | writes one token to one reader that is open |
//! | [`FlowSelect`] | many writers, one reader | reads one token from any writer that has one |
//!
//! Each is made of ordinary channels: one for the tokens, and one in each direction for control
//! tokens ([`Control`]). The rest of a run therefore needs no support for them. If one side has
//! many ends, the single end of the other side decides which of them are open. If each side has one
//! end, the writer decides.
//!
//! Tokens and control tokens are not ordered relative to each other. A control token that follows
//! tokens therefore contains their number. Each control token needs an answer before it can be sent
//! again. This bounds the number of control tokens in a channel, so that sending one never waits.

mod closing;
mod control;
mod input;
mod output;
mod select;
mod share;
mod waiting;

pub use closing::Closing;
pub use control::State;
pub(crate) use control::{CONTROLS, Control};
pub use input::FlowInput;
pub use output::FlowOutput;
pub use select::FlowSelect;
pub use share::FlowShare;
