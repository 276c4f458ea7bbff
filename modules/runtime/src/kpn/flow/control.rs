//! What the ends of a flow-controlled channel tell each other, and how.

use std::task::{Context, Poll};

use crate::kpn::ports::{Empty, Input, Output, TryWriteError};

/// What a flow-controlled channel is, as one of its ends knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// This end is not open, or nobody is yet at the other side.
    New,
    /// Tokens flow.
    Open,
    /// The last reader has asked for the end; until the writer closes, tokens flow.
    Closing,
    /// No more tokens, for ever.
    Closed,
}

/// What the ends of a flow-controlled channel tell each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    /// This end is open. `alone`: there is no other at this side, and the one at the other is all
    /// that it has. `asked`: it would like to leave, or has said so before.
    Open { alone: bool, asked: bool },
    /// A reader would like to leave.
    Ask,
    /// A writer has closed, after so many tokens since it opened.
    Close { after: u64 },
    /// A reader has left, which gets so many tokens since it opened.
    Left { after: u64 },
    /// All tokens of a writer that has closed are read: it may open anew.
    Done,
}

graphmap_executor::payload!(enum Control {
    Open { alone, asked },
    Ask,
    Close { after },
    Left { after },
    Done,
});

/// How many controls are on their way at the most: of what opens, asks and closes once.
pub(crate) const CONTROLS: u32 = 4;

/// How far an end is that has no others beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Session {
    /// Has never been open: the first read or write opens it.
    Fresh,
    /// Has told that it is open, and not heard so of the other side.
    Opening,
    Open,
    /// Was open.
    Left,
    Closed,
}

/// The two channels of controls of an end.
#[derive(Debug)]
pub(super) struct ControlLine {
    pub(super) tells: Output<Control>,
    pub(super) hears: Input<Control>,
}

impl ControlLine {
    pub(super) fn new(tells: Output<Control>, hears: Input<Control>) -> Self {
        ControlLine { tells, hears }
    }

    pub(super) const fn unconnected() -> Self {
        ControlLine {
            tells: Output::unconnected(),
            hears: Input::unconnected(),
        }
    }

    /// Tells the other end, if it is there.
    pub(super) fn tell(&mut self, control: Control) {
        tell(&mut self.tells, control);
    }

    /// What is heard next; `None`: the other end has gone.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Control>> {
        self.hears.poll_read(context)
    }

    /// As [`ControlLine::poll`], of what is there.
    pub(super) fn try_hear(&mut self) -> Result<Option<Control>, Empty> {
        self.hears.try_read()
    }
}

/// Tells the end of one member, if it is there.
///
/// # Panics
/// If there is no room, which [`CONTROLS`] says cannot be: a control that is lost would leave an end waiting for ever.
pub(super) fn tell(tells: &mut Output<Control>, control: Control) {
    let told = tells.try_write(control);
    assert!(
        !matches!(told, Err(TryWriteError::Full(_))),
        "internal error: too many control tokens: {control:?}"
    );
}

/// The one of a bundle that is asked for.
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
