//! Types of the tokens on the channels.

/// A token of the source. Every 4,096th is large.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Token {
    pub number: u64,
    pub more: Vec<u8>,
}

impl Token {
    pub fn new(number: u64) -> Token {
        let length = if number.is_multiple_of(4096) {
            100_000
        } else {
            0
        };
        let more = vec![number as u8; length];
        Token { number, more }
    }

    /// Returns true if the token is as the source made it.
    pub fn is_whole(&self) -> bool {
        let made = Token::new(self.number);
        self.more == made.more
    }
}

/// Returns the worker to which a token goes.
pub fn worker(number: u64, workers: usize) -> usize {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % workers
}
