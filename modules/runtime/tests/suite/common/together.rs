//! A broadcast to readers, several of which are in one OS process.
#![allow(clippy::print_stdout)]

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{BOTH, Both};
use graphmap_runtime as rt;
use rt::{Broadcast, Channels, DecodeError, Decoder, Encoder, Names, Network, Payload, Stopped};

/// Number of tokens that have been encoded in this OS process.
static ENCODED: AtomicUsize = AtomicUsize::new(0);
const TOKENS: u64 = 50;

#[derive(Clone, PartialEq, Debug)]
struct Token(u64, Vec<u32>);

impl Token {
    /// Creates a token. Every tenth one is large.
    fn new(number: u64) -> Self {
        let len = if number % 10 == 9 { 50_000 } else { 3 };
        Token(number, vec![number as u32; len])
    }
}

impl Payload for Token {
    fn size(&self) -> usize {
        self.0.size() + self.1.size()
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        ENCODED.fetch_add(1, Ordering::SeqCst);
        self.0.encode(to);
        self.1.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Token(u64::decode(from)?, Vec::decode(from)?))
    }
}

/// Returns the number of tokens that a reader takes before it leaves.
fn limit(index: u64) -> u64 {
    match index {
        0 | 3 => 7,
        5 | 6 => 13,
        _ => TOKENS,
    }
}

/// Returns a network of a writer (rank 0) and eight readers.
pub fn network() -> Network {
    let mut net = Network::new("together", "together.dot");
    let write = |p: Both<Token>| async move {
        let mut all = Broadcast::from(p.outs);
        for number in 0..TOKENS {
            all.write(Token::new(number)).await?;
        }
        println!("encoded {}", ENCODED.load(Ordering::SeqCst));
        Ok::<(), Stopped>(())
    };
    let read = |mut p: Both<Token>| async move {
        let index = rt::me().index as u64;
        for number in 0..limit(index) {
            assert_eq!(p.ins[0].read().await, Some(Token::new(number)), "{index}");
        }
        if limit(index) == TOKENS {
            assert!(p.ins[0].read().await.is_none());
        }
        println!("end {index}");
    };
    let w = net.kind("writer", Names::Listed(&["w"]), "0", BOTH, write);
    let r = net.kind("reader", Names::Numbered("r", "0+1*8"), "1+1*8", BOTH, read);
    net.payload(rt::format_of!(Token));
    net.channels::<Token>(Channels {
        capacity: 3,
        from_slot: "0+1*8",
        ..Channels::new((w, 1), (r, 0), "0+0*8", "0+1*8")
    });
    net
}
