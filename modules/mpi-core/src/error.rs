//! Errors of calls.

use std::borrow::Cow;
use std::fmt;

use super::envelope::Source;
use graphmap_executor::place::Place;

/// The reason why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The caller is not a process of a run.
    NoProcess,
    /// The run has ended.
    Over,
    /// The communicator does not have this rank.
    Rank {
        /// The requested rank. A negative number `n` is stored as `n as usize`.
        rank: usize,
        /// Number of ranks of the communicator.
        size: usize,
    },
    /// The tag is negative.
    Tag(i32),
    /// The message has another type than the receive. The message has been received and is lost.
    Type {
        /// Type of the value that was sent.
        sent: Cow<'static, str>,
        /// Type that the receive asked for.
        asked: Cow<'static, str>,
    },
    /// The message is from another OS process, and its bytes cannot be decoded: a hand-written
    /// [`Payload`](graphmap_executor::Payload) does not decode the bytes that it encodes. The
    /// message has been received and is lost.
    Unreadable(String),
    /// The message has more elements than the buffer. The buffer has been filled with the first
    /// elements.
    Truncated {
        /// Number of elements that were sent.
        sent: usize,
        /// Number of elements that the buffer can hold.
        room: usize,
    },
    /// A ready send did not match a posted receive. The message was not sent.
    NotReady,
    /// The request has already been completed or cancelled, or the persistent request has not been
    /// started. Also returned by a collective call that is more than 65,535 calls ahead of the
    /// other ranks.
    Inactive,
    /// The persistent request has been started, and its result has not been taken yet.
    Active,
    /// The ranks of a communicator made different collective calls, or the same call with another
    /// root or type. Every rank that has not completed its call gets this error.
    Mismatch(Box<Mismatch>),
    /// The number of values of a collective call is wrong. Some calls need one value for each rank,
    /// others one value of the root.
    Count {
        /// Number of values given.
        given: usize,
        /// Number of values needed.
        wanted: usize,
    },
    /// A group is invalid for the call: for example it names a rank twice, or has a rank that the
    /// communicator does not have, or ranks passed groups that do not fit each other. The text
    /// describes the error.
    Group(Cow<'static, str>),
    /// A grid or a graph that is invalid, or that does not fit these ranks. The text describes the
    /// error.
    Topology(Cow<'static, str>),
    /// An invalid access to the memory of a rank, or another invalid call of a window. The text
    /// describes it.
    Window(Cow<'static, str>),
    /// A call that needs the rank of a thread was made by another caller, or a thread could not be
    /// started. The text describes it.
    Thread(Cow<'static, str>),
    /// No number is left for a communicator or an endpoint. A run has fewer than 2^32 numbers of
    /// each, and its schedulers share them. The numbers of communicators are not reused.
    TooMany,
    /// A communicator would have more ranks than MPI can count (`i32::MAX`), or than fit in memory.
    TooManyRanks {
        /// Number of ranks requested.
        ranks: u64,
    },
}

/// Two collective calls in one communicator that do not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The rank that called first, its call, and the source position of the call.
    pub first: (usize, String, Place),
    /// The rank whose call does not match, its call, and the source position of the call.
    pub second: (usize, String, Place),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoProcess => f.write_str(
                "the caller is not a rank: only processes of a run are, and threads with an \
                 endpoint (`Communicator::into_thread`)",
            ),
            Error::Over => f.write_str("the run has ended"),
            Error::Rank { rank, size } => {
                write!(
                    f,
                    "rank {} does not exist: the communicator has {size} ranks",
                    *rank as isize
                )
            }
            Error::Tag(tag) => write!(f, "invalid tag {tag}: expected 0 or more"),
            Error::Type { sent, asked } => {
                write!(f, "a message of type `{sent}` was received as `{asked}`")
            }
            Error::Unreadable(why) => write!(f, "cannot read a message: {why}"),
            Error::Truncated { sent, room } => {
                write!(
                    f,
                    "a message of {sent} elements was received into a buffer of {room}"
                )
            }
            Error::NotReady => f.write_str("ready send without a posted receive"),
            Error::Inactive => f.write_str("the request has already been completed or cancelled"),
            Error::Active => f.write_str("the persistent request is active"),
            Error::Mismatch(mismatch) => mismatch.fmt(f),
            Error::Count { given, wanted } => {
                write!(f, "collective call with {given} values: expected {wanted}")
            }
            Error::Group(what)
            | Error::Topology(what)
            | Error::Window(what)
            | Error::Thread(what) => f.write_str(what),
            Error::TooMany => {
                f.write_str("too many communicators or endpoints: the limit of a run is 2^32 - 1")
            }
            Error::TooManyRanks { ranks } => write!(
                f,
                "too many ranks for a communicator: {ranks}; the limit is {}, or the available \
                 memory",
                i32::MAX
            ),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, second) = (&self.first, &self.second);
        write!(
            f,
            "collective calls do not match: rank {} called {} ({}), rank {} called {} ({})",
            first.0, first.1, first.2, second.0, second.1, second.2
        )
    }
}

impl std::error::Error for Error {}

graphmap_executor::payload!(Mismatch { first, second });
graphmap_executor::payload!(
    enum Error {
        NoProcess,
        Over,
        Rank { rank, size },
        Tag(tag),
        Type { sent, asked },
        Unreadable(why),
        Truncated { sent, room },
        NotReady,
        Inactive,
        Active,
        Mismatch(mismatch),
        Count { given, wanted },
        Group(what),
        Topology(what),
        Window(what),
        Thread(what),
        TooMany,
        TooManyRanks { ranks },
    }
);

impl Error {
    pub(super) const fn group(what: &'static str) -> Self {
        Error::Group(Cow::Borrowed(what))
    }

    pub(super) const fn topology(what: &'static str) -> Self {
        Error::Topology(Cow::Borrowed(what))
    }

    pub(super) const fn window(what: &'static str) -> Self {
        Error::Window(Cow::Borrowed(what))
    }

    pub(super) const fn thread(what: &'static str) -> Self {
        Error::Thread(Cow::Borrowed(what))
    }

    /// Returns the error for a source that a communicator of `size` ranks does not have.
    /// [`Source::Any`] is stored as `usize::MAX`.
    pub(super) fn rank(source: Source, size: u32) -> Self {
        let rank = match source {
            Source::Any => usize::MAX,
            Source::Rank(rank) => rank,
        };
        Error::Rank {
            rank,
            size: size as usize,
        }
    }
}
