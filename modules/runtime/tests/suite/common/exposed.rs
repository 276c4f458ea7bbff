//! Large tokens that stay in the memory of their writer until they have been read there.
#![allow(clippy::print_stdout)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::{BOTH, Both};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Stopped};

/// Number of tokens that have been dropped in this OS process.
static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// A token with slices of many sizes.
struct Token {
    number: u64,
    rows: Vec<Vec<f64>>,
    name: String,
    grid: Box<[[u32; 3]]>,
}

rt::payload!(Token {
    number,
    rows,
    name,
    grid
});

impl Drop for Token {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

impl Token {
    fn new(number: u64) -> Self {
        let n = number as usize;
        let lens = [0, 1, 8191, 8192, 8193, 30_000 + n];
        let rows = lens.map(|len| vec![number as f64; len]);
        Token {
            number,
            rows: rows.into(),
            name: "\u{df}".repeat(32_766 + n % 4),
            grid: vec![[number as u32; 3]; n * 100].into(),
        }
    }

    /// Returns a small token. All of it has been sent when the poll of its writer ends.
    fn small(number: u64) -> Self {
        Token {
            number,
            rows: Vec::new(),
            name: String::new(),
            grid: Box::default(),
        }
    }

    fn check(&self, number: u64) {
        let right = Token::new(number);
        assert_eq!((self.number, &self.rows), (number, &right.rows));
        assert!(self.name == right.name && self.grid == right.grid);
    }
}

/// Returns a network of a writer, and a reader that answers. The reader is kept from reading for a
/// while.
pub fn network() -> Network {
    let mut net = Network::new("exposed", "exposed.dot");
    let file = || std::env::var("GRAPHMAP_TEST_FILE").expect("a file");
    let write = move |mut p: Both<Token>| async move {
        for number in 0..2 {
            p.outs[0].write(Token::new(number)).await?;
            p.ins[0].read().await.ok_or(Stopped)?;
        }
        let before = DROPPED.load(Ordering::SeqCst);
        p.outs[0].write(Token::new(2)).await?;
        let kept = DROPPED.load(Ordering::SeqCst) == before;
        println!("{}", if kept { "kept" } else { "copied" });
        std::fs::write(file(), "").expect("a file");
        for number in 3..20 {
            p.ins[0].read().await.ok_or(Stopped)?;
            p.outs[0].write(Token::new(number)).await?;
        }
        p.ins[0].read().await.ok_or(Stopped)?;
        // Twenty tokens and twenty answers. Over MPI, an answer may arrive before the send of the
        // last token is known to be complete.
        for _ in 0..10_000 {
            if DROPPED.load(Ordering::SeqCst) == 40 {
                break;
            }
            rt::yield_now().await;
            thread::sleep(Duration::from_millis(1));
        }
        println!("dropped {} of 40", DROPPED.load(Ordering::SeqCst));
        Ok::<(), Stopped>(())
    };
    let read = move |mut p: Both<Token>| async move {
        let mut number = 0;
        while let Some(token) = p.ins[0].read().await {
            token.check(number);
            if p.outs[0].write(Token::small(number)).await.is_err() {
                break;
            }
            number += 1;
            // The answer is sent before the next poll.
            rt::yield_now().await;
            while number == 2 && !std::fs::exists(file()).is_ok_and(|there| there) {
                thread::sleep(Duration::from_millis(1));
            }
        }
        println!("read {number}");
    };
    let a = net.kind("writer", Names::Listed(&["alice"]), "0", BOTH, write);
    let b = net.kind("reader", Names::Listed(&["bob"]), "1", BOTH, read);
    net.payload(rt::format_of!(Token));
    for (from, to) in [(a, b), (b, a)] {
        net.channels::<Token>(Channels::new((from, 1), (to, 0), "0", "0"));
    }
    net
}

/// Returns a network whose reader leaves early, so that some tokens are never read.
pub fn unread() -> Network {
    let mut net = Network::new("unread", "unread.dot");
    let write = |mut p: Both<Token>| async move {
        let mut number = 0;
        while p.outs[0].write(Token::new(number)).await.is_ok() {
            number += 1;
        }
        println!("stopped");
    };
    let read = |mut p: Both<Token>| async move {
        for number in 0..10 {
            p.ins[0].read().await.expect("a token").check(number);
        }
    };
    let a = net.kind("writer", Names::Listed(&["alice"]), "0", BOTH, write);
    let b = net.kind("reader", Names::Listed(&["bob"]), "1", BOTH, read);
    net.payload(rt::format_of!(Token));
    net.channels::<Token>(Channels {
        capacity: 8,
        ..Channels::new((a, 1), (b, 0), "0", "0")
    });
    net
}

/// Returns a network of large tokens that panic when they are dropped. The writer drops a token
/// when it has been read.
pub fn fragile() -> Network {
    struct Fragile(Vec<f64>);
    rt::payload!(Fragile(values));
    impl Drop for Fragile {
        fn drop(&mut self) {
            // By the 50th token, it is known that slices can stay in the memory of their writer.
            assert!(self.0.len() < 100_050, "it is fragile");
        }
    }
    let mut net = Network::new("fragile", "fragile.dot");
    let write = |mut p: Both<Fragile>| async move {
        for number in 0..100 {
            p.outs[0]
                .write(Fragile(vec![0.5; 100_000 + number]))
                .await?;
            thread::sleep(Duration::from_millis(5));
        }
        Ok::<(), Stopped>(())
    };
    let read = |mut p: Both<Fragile>| async move {
        while let Some(token) = p.ins[0].read().await {
            std::mem::forget(token);
        }
    };
    let a = net.kind("writer", Names::Listed(&["alice"]), "0", BOTH, write);
    let b = net.kind("reader", Names::Listed(&["bob"]), "1", BOTH, read);
    net.payload(rt::format_of!(Fragile));
    net.channels::<Fragile>(Channels::new((a, 1), (b, 0), "0", "0"));
    net
}
