//! Flow-controlled channels: both ends open before tokens flow, the writer closes, the reader asks.
//!
//! After R. K. S. Chung, "(CM)2PI: Compose-Map-Configure MPI" (University of British Columbia 2014),
//! section 3.2.4: a channel is *new*, *open*, *closing* when its last reader has
//! asked for the end, and *closed* for ever when its last writer has closed. Of many readers or many
//! writers each may leave but the last, and come back as long as the channel is open.
//!
//! | ends | joins | a call |
//! |---|---|---|
//! | [`FlowOutput`] | one writer | writes one token |
//! | [`FlowInput`] | one reader | reads one token |
//! | [`FlowShare`] | one writer, many readers | writes one token to one reader that is open |
//! | [`FlowSelect`] | many writers, one reader | reads one token, from whichever writer has one |
//!
//! Each is made of ordinary channels: one for the tokens, and for each direction one on which the
//! ends tell each other what they do ([`Control`]). So nothing else of a run has to know of them. The
//! end that many share decides who is in; where there is one at each side, the writer does. Tokens
//! and controls are not ordered among each other, so a control that comes behind tokens
//! says behind how many. What is told needs an answer before it can be told again, which bounds what
//! is on its way: to tell never waits.

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
