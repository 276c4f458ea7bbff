//! Tokens whose writers can see whether they were read or dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

use super::mix;
use graphmap_runtime::{DecodeError, Decoder, Encoder, Payload};

/// Values of [`Token::fate`].
const UNDER_WAY: u8 = 0;
const READ: u8 = 1;
pub const DROPPED: u8 = 2;

/// A token whose writer can see its fate.
pub struct Token {
    /// Number in its channel, from 0. In a farm, in which a share chooses the channel, the number
    /// among all tokens.
    number: u64,
    value: u64,
    /// For some tokens, more bytes than are copied into shared memory.
    more: Vec<u8>,
    pub fate: Arc<AtomicU8>,
    /// Number of tokens in this run.
    alive: Option<Arc<AtomicI64>>,
}

impl Token {
    pub fn new(number: u64, value: u64, alive: Option<&Arc<AtomicI64>>) -> Self {
        if let Some(alive) = alive {
            alive.fetch_add(1, Ordering::SeqCst);
        }
        let more = match mix(number, value) % 128 {
            0 => vec![value as u8; 100_000],
            _ => Vec::new(),
        };
        Token {
            number,
            value,
            more,
            fate: Arc::default(),
            alive: alive.cloned(),
        }
    }

    /// Marks the token as read. Returns its number and value.
    pub fn open(self) -> (u64, u64) {
        let before = self.fate.swap(READ, Ordering::SeqCst);
        assert_eq!(before, UNDER_WAY, "token {} was read before", self.number);
        assert!(self.more.iter().all(|&byte| byte == self.value as u8));
        (self.number, self.value)
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        let fate = &self.fate;
        let _ = fate.compare_exchange(UNDER_WAY, DROPPED, Ordering::SeqCst, Ordering::SeqCst);
        if let Some(alive) = &self.alive {
            alive.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Payload for Token {
    fn size(&self) -> usize {
        16 + self.more.size()
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        self.number.encode(to);
        self.value.encode(to);
        self.more.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let mut token = Token::new(u64::decode(from)?, u64::decode(from)?, None);
        token.more = Vec::decode(from)?;
        Ok(token)
    }
}
