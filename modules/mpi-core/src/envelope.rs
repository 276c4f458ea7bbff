//! Envelopes of messages: communicator, source and tag. They decide which receive gets a message.

use std::hash::{BuildHasherDefault, Hasher};

/// The source that a receive accepts: a rank, or [`ANY_SOURCE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Any rank of the communicator.
    Any,
    /// This rank.
    Rank(usize),
}

/// The tag that a receive accepts: a number, or [`ANY_TAG`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagOf {
    /// Any tag.
    Any,
    /// This tag.
    Tag(i32),
}

/// Accepts messages from any rank of the communicator (`MPI_ANY_SOURCE`).
pub const ANY_SOURCE: Source = Source::Any;
/// Accepts messages with any tag (`MPI_ANY_TAG`).
pub const ANY_TAG: TagOf = TagOf::Any;

impl From<usize> for Source {
    fn from(rank: usize) -> Self {
        Source::Rank(rank)
    }
}

impl From<i32> for Source {
    /// Converts a rank. A negative number becomes a rank that no communicator has.
    fn from(rank: i32) -> Self {
        Source::Rank(rank as isize as usize)
    }
}

impl From<i32> for TagOf {
    fn from(tag: i32) -> Self {
        TagOf::Tag(tag)
    }
}

/// Source, tag and size of a message that was received or probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Rank of the sender.
    pub source: usize,
    /// Tag of the message.
    pub tag: i32,
    /// Number of elements: the length of a slice, the number of bytes of [`Packed`](super::Packed),
    /// or 1 for another single value. A vector that was sent by [`send`](super::Communicator::send)
    /// is a single value.
    pub count: usize,
}

const ANY: u32 = u32::MAX;

/// The envelope of a message: its communicator, sender and tag. For a receive: the messages that it
/// accepts. A source or a tag with all bits set accepts any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Envelope {
    /// Number of the communicator, and of its message space.
    pub(super) context: u32,
    pub(super) source: u32,
    pub(super) tag: u32,
}

/// Position of the number of the [message space](super::Communicator::apart) in a context. The bits
/// below are the number of the communicator.
const SPACE: u32 = 30;
/// Number of message spaces of a communicator.
pub(super) const SPACES: u32 = 1 << (u32::BITS - SPACE);
/// Limit of the numbers of communicators.
pub(super) const NUMBERS: u32 = 1 << SPACE;

/// Returns the context of a message space of a communicator. The space must be less than
/// [`SPACES`].
pub(super) fn context(number: u32, space: u32) -> u32 {
    number | space << SPACE
}

impl Envelope {
    /// Returns the number of the communicator.
    pub(super) fn number(self) -> u32 {
        self.context & (NUMBERS - 1)
    }

    pub(super) fn new(context: u32, source: Option<u32>, tag: Option<i32>) -> Self {
        Envelope {
            context,
            source: source.unwrap_or(ANY),
            tag: tag.map_or(ANY, i32::cast_unsigned),
        }
    }

    /// Returns true if a receive with this envelope accepts a message with the envelope `message`.
    #[inline(always)]
    pub(super) fn takes(self, message: Envelope) -> bool {
        self.context == message.context
            && (self.source == message.source || self.source == ANY)
            && (self.tag == message.tag || self.tag == ANY)
    }

    /// Returns true if the envelope of a receive has both a source and a tag.
    pub(super) fn is_exact(self) -> bool {
        self.source != ANY && self.tag != ANY
    }

    /// Returns the four envelopes of receives that accept a message with this envelope: the exact
    /// one, and those with any source, any tag, or both.
    pub(super) fn takers(self) -> [Envelope; 4] {
        let any_source = Envelope {
            source: ANY,
            ..self
        };
        let any_tag = |of| Envelope { tag: ANY, ..of };
        [self, any_source, any_tag(self), any_tag(any_source)]
    }

    /// Returns the sender and the tag of a message. The envelope must not be one of a receive.
    #[inline(always)]
    pub(super) fn of_message(self) -> (usize, i32) {
        (self.source as usize, self.tag.cast_signed())
    }

    pub(super) fn source(self) -> Option<u32> {
        (self.source != ANY).then_some(self.source)
    }

    pub(super) fn tag(self) -> Option<i32> {
        (self.tag != ANY).then_some(self.tag.cast_signed())
    }
}

/// Hasher that mixes the three words of an envelope by multiplication (M. Dietzfelbinger and
/// others, "A reliable randomized algorithm for the closest-pair problem", J. Algorithms 25, 1997,
/// section 2). It need not resist crafted collisions, because only the program itself chooses the
/// words.
#[derive(Default)]
pub(super) struct Mixer(u64);

pub(super) type Mixing = BuildHasherDefault<Mixer>;

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
