//! What can be wrong with a call.

use std::borrow::Cow;
use std::fmt;

use super::envelope::Source;
use graphmap_executor::place::Place;

/// Why a call has not done what it was to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The call was not made in a process of a run.
    NoProcess,
    /// The run is over.
    Over,
    /// There is no such rank in the communicator.
    Rank {
        /// The rank that was asked for.
        rank: usize,
        /// How many ranks there are.
        size: usize,
    },
    /// A tag is at least 0.
    Tag(i32),
    /// The message is of another type than was asked for. It has been received, and is lost.
    Type {
        /// The type of what was sent.
        sent: Cow<'static, str>,
        /// The type that was asked for.
        asked: Cow<'static, str>,
    },
    /// The message has come from another OS process, and its bytes are not those of a value: what a
    /// hand-written [`Payload`](graphmap_executor::Payload) encodes is not what it decodes. It has
    /// been received, and is lost.
    Unreadable(String),
    /// The message has more elements than there is room for. As many as there is room for have been
    /// received.
    Truncated {
        /// How many elements were sent.
        sent: usize,
        /// For how many there is room.
        room: usize,
    },
    /// A ready send has found no receive that waits for it. The message was not sent.
    NotReady,
    /// The request was completed or cancelled before.
    Inactive,
    /// The persistent request was started before, and its outcome has not been told.
    Active,
    /// The ranks of a communicator have not made the same collective call, or not with the same
    /// root, type or count. Each of them is told so that has not gone on before.
    Mismatch(Box<Mismatch>),
    /// A collective call needs another number of values: one for each rank, or one of the root.
    Count {
        /// How many there are.
        given: usize,
        /// How many there should be.
        wanted: usize,
    },
    /// A group names a rank twice, or ranks that the other one does not have.
    Group(Cow<'static, str>),
    /// A grid or a graph that cannot be, or not with these ranks.
    Topology(Cow<'static, str>),
    /// An access to the memory of a rank that is not as it can be, in words.
    Window(Cow<'static, str>),
    /// A call as the rank of a thread by who is none, or a thread that cannot be started, in words.
    Thread(Cow<'static, str>),
    /// There have been more than 2^32 - 1 communicators in this run, or endpoints.
    TooMany,
    /// A communicator would have more ranks than MPI can count, which is `i32::MAX`, or than there
    /// is memory for.
    TooManyRanks {
        /// How many were asked for.
        ranks: u64,
    },
}

/// Two calls of ranks of a communicator that do not go together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The rank in the communicator that came first, its call and the place of that.
    pub first: (usize, String, Place),
    /// The rank whose call does not fit.
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

    /// A rank that the communicator does not have.
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
