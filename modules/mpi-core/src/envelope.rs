//! What messages are matched by: the communicator, the rank that sends, and the tag.

use std::hash::{BuildHasherDefault, Hasher};

/// Whom a receive takes messages from: a rank, or [`ANY_SOURCE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Any rank of the communicator.
    Any,
    /// This one.
    Rank(usize),
}

/// Which tags a receive takes: one, or [`ANY_TAG`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagOf {
    /// Any.
    Any,
    /// This one.
    Tag(i32),
}

/// A receive takes messages of any rank of the communicator.
pub const ANY_SOURCE: Source = Source::Any;
/// A receive takes messages of any tag.
pub const ANY_TAG: TagOf = TagOf::Any;

impl From<usize> for Source {
    fn from(rank: usize) -> Self {
        Source::Rank(rank)
    }
}

impl From<i32> for Source {
    /// A number below 0 is that of no rank.
    fn from(rank: i32) -> Self {
        Source::Rank(rank as isize as usize)
    }
}

impl From<i32> for TagOf {
    fn from(tag: i32) -> Self {
        TagOf::Tag(tag)
    }
}

/// What is told of a message that was received or found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The rank that has sent it.
    pub source: usize,
    /// Its tag.
    pub tag: i32,
    /// How many elements it has: those of a slice; one, if a value was sent.
    pub count: usize,
}

const ANY: u32 = u32::MAX;

/// Of a message: who has sent it and its tag. Of a receive: which messages it takes, where all bits of a field stand
/// for any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Envelope {
    pub(super) context: u32,
    pub(super) source: u32,
    pub(super) tag: u32,
}

impl Envelope {
    pub(super) fn new(context: u32, source: Option<u32>, tag: Option<i32>) -> Self {
        Envelope {
            context,
            source: source.unwrap_or(ANY),
            tag: tag.map_or(ANY, i32::cast_unsigned),
        }
    }

    /// Whether a receive with this envelope takes a message with that one.
    #[inline(always)]
    pub(super) fn takes(self, message: Envelope) -> bool {
        self.context == message.context
            && (self.source == message.source || self.source == ANY)
            && (self.tag == message.tag || self.tag == ANY)
    }

    /// Whether it takes messages of one rank and tag only.
    pub(super) fn is_exact(self) -> bool {
        self.source != ANY && self.tag != ANY
    }

    /// The four envelopes of receives that take a message with this one.
    pub(super) fn takers(self) -> [Envelope; 4] {
        let any_source = Envelope {
            source: ANY,
            ..self
        };
        let any_tag = |of| Envelope { tag: ANY, ..of };
        [self, any_source, any_tag(self), any_tag(any_source)]
    }

    /// The rank that has sent a message, and its tag.
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

/// Mixes the three words of an envelope by multiplication (M. Dietzfelbinger and others, "A reliable randomized
/// algorithm for the closest-pair problem", J. Algorithms 25, 1997, section 2): they are no one's to choose but the
/// program's own.
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
