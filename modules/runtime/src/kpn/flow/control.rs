//! Control tokens, which the ends of a flow-controlled channel exchange.

use std::task::{Context, Poll};

use crate::kpn::ports::{Empty, Input, Output, TryWriteError};

/// State of a flow-controlled channel, as one of its ends knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// This end is not open, or no end of the other side is open yet.
    New,
    /// Both sides are open. Tokens flow.
    Open,
    /// The last reader has asked for the end. Tokens flow until the writer closes.
    Closing,
    /// No more tokens will flow. This state is final.
    Closed,
}

/// Control token from one end of a flow-controlled channel to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    /// This end is open. `alone`: it is the only one on its side, and is joined to only one end of
    /// the other side. `asked`: it asks for the end, or has asked before.
    Open { alone: bool, asked: bool },
    /// A reader asks to leave.
    Ask,
    /// A writer has closed, after this number of tokens since it opened.
    Close { after: u64 },
    /// A reader has left. It gets this number of tokens since it opened.
    Left { after: u64 },
    /// All tokens of a writer that has closed are read, so it may open again.
    Done,
}

graphmap_executor::payload!(enum Control {
    Open { alone, asked },
    Ask,
    Close { after },
    Left { after },
    Done,
});

/// Maximum number of unread control tokens in one channel. An end opens, asks and closes at most
/// once before it needs an answer.
pub(crate) const CONTROLS: u32 = 4;

/// Progress of an end, regardless of others on the same side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Session {
    /// Never opened. The first read or write opens it.
    Fresh,
    /// It has reported that it is open. The other side has not.
    Opening,
    Open,
    /// It was open, and has left.
    Left,
    Closed,
}

/// The two channels of an end for control tokens.
#[derive(Debug)]
pub(super) struct ControlChannels {
    pub(super) output: Output<Control>,
    pub(super) input: Input<Control>,
}

impl ControlChannels {
    pub(super) fn new(output: Output<Control>, input: Input<Control>) -> Self {
        ControlChannels { output, input }
    }

    pub(super) const fn unconnected() -> Self {
        ControlChannels {
            output: Output::unconnected(),
            input: Input::unconnected(),
        }
    }

    /// Sends a control token to the other end. Drops it if that end does not exist any more. Panics
    /// as [`send_control`] does.
    pub(super) fn send(&mut self, control: Control) {
        send_control(&mut self.output, control);
    }

    /// Polls for the next control token. `None` means that the other end was dropped, or that the
    /// channel is unconnected.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Control>> {
        self.input.poll_read(context)
    }

    /// Returns the next control token, as [`ControlChannels::poll`] does, if it has arrived.
    ///
    /// # Errors
    /// Returns [`Empty`] if none has arrived.
    pub(super) fn try_receive(&mut self) -> Result<Option<Control>, Empty> {
        self.input.try_read()
    }
}

/// Sends a control token to the end of one member. Drops it if that end does not exist any more.
///
/// # Panics
/// Panics if there is no space, which [`CONTROLS`] rules out. A lost control token could block an
/// end forever.
pub(super) fn send_control(output: &mut Output<Control>, control: Control) {
    let sent = output.try_write(control);
    assert!(
        !matches!(sent, Err(TryWriteError::Full(_))),
        "internal error: too many control tokens: {control:?}"
    );
}

/// Returns a member of a bundle. `bundle` is the name of the kind of bundle, for the message.
///
/// # Panics
/// Panics if the member does not exist.
#[track_caller]
pub(super) fn member_of<'a, M>(members: &'a [M], member: usize, bundle: &str) -> &'a M {
    let count = members.len();
    match members.get(member) {
        Some(one) => one,
        None => {
            panic!("{bundle}: member {member} does not exist: there are {count}, numbered from 0")
        }
    }
}
