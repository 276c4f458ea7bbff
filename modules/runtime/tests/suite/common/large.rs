//! Large tokens whose values their writers keep until they have been sent or read.
#![allow(clippy::print_stdout)]

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use super::{BOTH, Both, Random, mix};
use graphmap_runtime as rt;
use rt::{
    Broadcast, Channels, DecodeError, Decoder, Encoder, Input, Local, Names, Network, Output,
    Payload, Stopped,
};

/// Returns the network of a case. Most cases have a number as their parameter.
pub fn network(name: &str, number: u64) -> Network {
    match name {
        "of all shapes" => random(number),
        "inconstant" => inconstant(),
        "ends" => ends(false),
        "ends in a nested run" => ends(true),
        "dropped" => dropped(),
        "late" => late(number),
        "cut" => unreadable(number),
        other => panic!("no case {other}"),
    }
}

/// Returns a network of a writer in OS process 0, a reader in 1, and a channel in each direction.
fn pair<
    T: Send + 'static,
    W: Future<Output = Result<(), Stopped>> + 'static,
    R: Future<Output = ()> + 'static,
>(
    write: impl Fn(Both<T>) -> W + Clone + Send + Sync + 'static,
    read: impl Fn(Both<T>) -> R + Clone + Send + Sync + 'static,
    capacity: u32,
    format: Option<rt::Format<T>>,
) -> Network {
    let mut net = Network::new("pair", "pair.dot");
    let a = net.kind("writer", Names::Listed(&["alice"]), "0", BOTH, write);
    let b = net.kind("reader", Names::Listed(&["bob"]), "1", BOTH, read);
    net.payload(format);
    for (from, to) in [(a, b), (b, a)] {
        net.channels::<T>(Channels {
            capacity,
            ..Channels::new((from, 1), (to, 0), "0", "0")
        });
    }
    net
}

/// Returns a network whose reader waits for the last token first. The tokens before it have `bytes`
/// bytes each. Their channel grows only when no process can continue.
fn late(bytes: u64) -> Network {
    let mut net = Network::new("late", "late.dot");
    let write = move |mut p: Both<Vec<u8>>| async move {
        for number in 0..20 {
            p.outs[0].write(vec![number; bytes as usize]).await?;
        }
        p.outs[1].write(Vec::new()).await
    };
    let read = move |mut p: Both<Vec<u8>>| async move {
        assert_eq!(p.ins[1].read().await, Some(Vec::new()));
        let mut number = 0;
        while let Some(token) = p.ins[0].read().await {
            assert!(token.len() as u64 == bytes && token.iter().all(|&byte| byte == number));
            number += 1;
        }
        println!("read {number}");
    };
    let a = net.kind("writer", Names::Listed(&["alice"]), "0", BOTH, write);
    let b = net.kind("reader", Names::Listed(&["bob"]), "1", BOTH, read);
    net.payload(rt::format_of!(Vec<u8>));
    for _ in 0..2 {
        net.channels::<Vec<u8>>(Channels::new((a, 1), (b, 0), "0", "0"));
    }
    net
}

/// Output of the encoder of an [`Inconstant`] token at its first, second and later calls. Each
/// entry has the lengths of the slices, and the number of bytes that are copied in one piece.
const TOLD: [[(&[usize], usize); 3]; 6] = [
    [(&[100_000], 0), (&[], 1), (&[], 2)],
    [(&[100_000], 0), (&[5000], 1), (&[], 3)],
    [(&[100_000], 0), (&[4096, 300_000, 4095], 2), (&[7], 7)],
    [(&[100_000], 0), (&[70_000], 40_000), (&[], 5)],
    [(&[100_000], 0), (&[4096], 61_000), (&[80_000], 0)],
    [(&[100_000], 0), (&[], 0), (&[], 0)],
];

/// A token whose encoder gives different output at each call.
struct Inconstant {
    which: usize,
    calls: Cell<usize>,
    bytes: Vec<u8>,
    read: Vec<usize>,
}

impl Payload for Inconstant {
    fn size(&self) -> usize {
        3
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        let calls = self.calls.replace(self.calls.get() + 1);
        let (slices, copied) = TOLD[self.which][calls.min(2)];
        to.length(self.which);
        to.length(copied);
        for _ in 0..copied {
            to.copy(&[9]);
        }
        to.length(slices.len());
        for &len in slices {
            to.length(len);
            to.bytes(&self.bytes[..len]);
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let which = from.length()?;
        let copied = from.length()?;
        assert!(from.bytes(copied)?.iter().all(|&byte| byte == 9));
        let mut read = vec![copied];
        for _ in 0..from.length()? {
            let slice = Vec::<u8>::decode(from)?;
            assert!(slice.iter().enumerate().all(|(at, &byte)| byte == at as u8));
            read.push(slice.len());
        }
        let (calls, bytes) = Default::default();
        Ok(Inconstant {
            which,
            calls,
            bytes,
            read,
        })
    }
}

fn inconstant() -> Network {
    let write = |mut p: Both<Inconstant>| async move {
        for round in 0..4 {
            for which in 0..TOLD.len() {
                let token = Inconstant {
                    which,
                    calls: Cell::new(0),
                    bytes: (0..300_000).map(|at| at as u8).collect(),
                    read: vec![round],
                };
                p.outs[0].write(token).await?;
            }
        }
        Ok(())
    };
    let read = |mut p: Both<Inconstant>| async move {
        for _ in 0..4 {
            for (which, told) in TOLD.iter().enumerate() {
                let token = p.ins[0].read().await.expect("a token");
                let some = told.map(|(slices, copied)| {
                    std::iter::once(copied)
                        .chain(slices.iter().copied())
                        .collect::<Vec<_>>()
                });
                assert_eq!(token.which, which);
                assert!(some.contains(&token.read), "{:?}", token.read);
            }
        }
        println!("read all");
    };
    pair(write, read, 2, rt::format_of!(Inconstant))
}

type WhenDropped = Box<dyn FnOnce()>;

thread_local! {
    /// Actions that this thread runs when tokens are dropped.
    static LATER: RefCell<Vec<Option<WhenDropped>>> = const { RefCell::new(Vec::new()) };
}

/// A token that runs an action when its original is dropped. Decoded tokens have no action.
struct Doing {
    words: Vec<u16>,
    at: Option<usize>,
}

impl Doing {
    fn new(words: Vec<u16>, when_dropped: impl FnOnce() + 'static) -> Self {
        LATER.with_borrow_mut(|later| {
            later.push(Some(Box::new(when_dropped)));
            let at = Some(later.len() - 1);
            Doing { words, at }
        })
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        let Some(at) = self.at else { return };
        let when_dropped = LATER.with_borrow_mut(|later| later[at].take());
        when_dropped.expect("the thread that has made it")();
    }
}

impl Payload for Doing {
    fn size(&self) -> usize {
        self.words.size()
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        self.words.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let words = Vec::decode(from)?;
        Ok(Doing { words, at: None })
    }
}

/// Returns a network whose writer waits for the end of a channel. A token that has been written
/// holds the other end. The wait is in the same run, or in a nested one.
fn ends(nested: bool) -> Network {
    let write = move |mut p: Both<Doing>| async move {
        for size in [1_500_000, 50_000, 32 << 10, 1_500_000, 1_500_000] {
            let mut local = Local::new();
            let (end, mut other): (Output<u8>, Input<u8>) = local.channel(1);
            let token = Doing::new(vec![7; size], move || drop(end));
            p.outs[0].write(token).await?;
            if nested {
                local.spawn(async move { assert_eq!(other.read().await, None) });
                local.run(&rt::Options::new()).expect("nobody is blocked");
            } else {
                assert_eq!(other.read().await, None);
            }
        }
        println!("all have ended");
        Ok(())
    };
    let read = |mut p: Both<Doing>| async move {
        loop {
            // Blocks the scheduler, so that the token is not read earlier.
            std::thread::sleep(Duration::from_millis(50));
            let Some(token) = p.ins[0].read().await else {
                break;
            };
            assert!(token.words.iter().all(|&word| word == 7));
        }
    };
    pair(write, read, 1, rt::format_of!(Doing))
}

/// Runs a network, and writes its result.
fn run_and_write(mut to: Output<u64>) {
    let mut local = Local::new();
    let (mut out, mut input) = local.channel::<u64>(1);
    let sum = Rc::new(Cell::new(0));
    let summed = Rc::clone(&sum);
    local.spawn(async move {
        for n in 0..10 {
            out.write(n).await?;
        }
        Ok::<(), Stopped>(())
    });
    local.spawn(async move {
        while let Some(n) = input.read().await {
            summed.set(summed.get() + n);
        }
    });
    local.run(&rt::Options::new()).expect("a good end");
    assert!(to.try_write(sum.get()).is_ok());
}

fn dropped() -> Network {
    let write = |mut p: Both<Doing>| async move {
        let mut all = Vec::new();
        for size in [200_000, 40_000, 32 << 10, 500_000, 50_000, 1_000_000] {
            let mut local = Local::new();
            let (to, from) = local.channel(1);
            all.push(from);
            let token = Doing::new(vec![size as u16; size], move || run_and_write(to));
            p.outs[0].write(token).await?;
        }
        for mut from in all {
            assert_eq!(from.read().await, Some(45));
            assert_eq!(from.read().await, None);
        }
        println!("all have run");
        Ok(())
    };
    let read = |mut p: Both<Doing>| async move {
        while let Some(token) = p.ins[0].read().await {
            let first = token.words[0];
            assert!(token.words.iter().all(|&word| word == first));
        }
    };
    pair(write, read, 3, rt::format_of!(Doing))
}

/// Returns a network of large tokens, one of which cannot be decoded. After the first slice, its
/// decoder returns an error (0) or panics (1), or it leaves the last slice unread (2).
fn unreadable(number: u64) -> Network {
    #[derive(Clone)]
    struct Token(Vec<u64>, u64, Vec<u8>);
    impl Payload for Token {
        fn size(&self) -> usize {
            0
        }

        fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
            self.0.encode(to);
            self.1.encode(to);
            self.2.encode(to);
        }

        fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
            let first = Vec::decode(from)?;
            match u64::decode(from)? {
                20 => Err(from.error("a better token")),
                21 => panic!("not again"),
                22 => Ok(Token(first, 22, Vec::new())),
                number => Ok(Token(first, number, Vec::decode(from)?)),
            }
        }
    }
    let write = move |mut p: Both<Token>| async move {
        for _ in 0..5 {
            p.outs[0]
                .write(Token(vec![1; 20_000], 1, vec![2; 100_000]))
                .await?;
        }
        p.outs[0]
            .write(Token(vec![1; 20_000], 20 + number, vec![2; 300_000]))
            .await?;
        for _ in 0..5 {
            p.outs[0]
                .write(Token(vec![1; 20_000], 1, vec![2; 100_000]))
                .await?;
        }
        Ok(())
    };
    let read = |mut p: Both<Token>| async move { while p.ins[0].read().await.is_some() {} };
    pair(write, read, 2, rt::format_of!(Token))
}

/// Bodies of tokens of all shapes.
#[derive(Clone, PartialEq, Debug)]
enum Body {
    Bytes(Vec<u8>),
    Words(Vec<u128>),
    Text(String, Box<str>),
    Boxed(Box<[f32]>, std::sync::Arc<[u16]>),
    Nested(Vec<Vec<u32>>),
    Deep(Vec<Vec<Vec<i64>>>),
    Arrays(Vec<[u64; 3]>, Box<[u128; 500]>),
    Nothing(Vec<()>, Vec<u8>),
    Queue(VecDeque<Vec<u8>>),
    Map(BTreeMap<u32, String>, Vec<Option<Vec<u64>>>),
}

rt::payload!(
    enum Body {
        Bytes(bytes),
        Words(words),
        Text(one, two),
        Boxed(one, two),
        Nested(rows),
        Deep(rows),
        Arrays(one, two),
        Nothing(nothing, bytes),
        Queue(queue),
        Map(map, more),
    }
);

#[derive(Clone, PartialEq, Debug)]
struct Token {
    seed: u64,
    body: Body,
}

rt::payload!(Token { seed, body });

/// Returns a random length in bytes. A third of them are below 300, and the others are close to a
/// size at which the transport changes.
fn len(random: &mut Random) -> usize {
    const ABOUT: [usize; 8] = [
        1 << 10,
        4 << 10,
        32 << 10,
        (64 << 10) - 16,
        64 << 10,
        128 << 10,
        256 << 10,
        300_000,
    ];
    match random.below(3) {
        0 => random.below(300) as usize,
        _ => ABOUT[random.below(8) as usize] - 24 + random.below(48) as usize,
    }
}

fn many(random: &mut Random, most: u64) -> usize {
    match random.below(8) {
        0 => most as usize,
        _ => random.below(12) as usize,
    }
}

impl Token {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let r = &mut random;
        let number = |at: usize| seed.wrapping_mul(at as u64 + 1).rotate_left(7);
        let bytes = |len: usize| (0..len).map(|at| number(at) as u8).collect::<Vec<_>>();
        let body = match r.below(10) {
            0 => Body::Bytes(bytes(len(r))),
            1 => Body::Words(
                (0..len(r) / 16)
                    .map(|at| u128::from(number(at)) << 60)
                    .collect(),
            ),
            2 => Body::Text("\u{df}".repeat(len(r) / 2), "x".repeat(len(r)).into()),
            3 => Body::Boxed(
                (0..len(r) / 4).map(|at| at as f32).collect(),
                (0..len(r) / 2).map(|at| number(at) as u16).collect(),
            ),
            4 => {
                let (count, each) = (many(r, 1500), len(r).min(5000) / 4);
                let mut rows = vec![(0..each).map(|at| number(at) as u32).collect(); count];
                rows.push(
                    (0..len(r) / 4)
                        .map(|at| number(at) as u32)
                        .collect::<Vec<_>>(),
                );
                Body::Nested(rows)
            }
            5 => {
                let row = |r: &mut Random| (0..len(r) / 8).map(|at| number(at) as i64).collect();
                let rows = (0..r.below(4)).map(|_| (0..r.below(4)).map(|_| row(r)).collect());
                Body::Deep(rows.collect())
            }
            6 => Body::Arrays(
                (0..len(r) / 24).map(|at| [number(at); 3]).collect(),
                Box::new([u128::from(seed); 500]),
            ),
            7 => Body::Nothing(vec![(); many(r, 40_000)], bytes(len(r))),
            8 => Body::Queue((0..many(r, 900)).map(|_| bytes(len(r).min(5000))).collect()),
            _ => Body::Map(
                (0..many(r, 3000))
                    .map(|at| (at as u32, "key".repeat(at % 9)))
                    .collect(),
                (0..r.below(5))
                    .map(|at| (at % 2 == 0).then(|| vec![number(at as usize); len(r) / 8]))
                    .collect(),
            ),
        };
        Token { seed, body }
    }

    /// Checks that the token is as its seed determines. Returns the seed.
    fn check(self) -> u64 {
        let seed = self.seed;
        assert!(self == Token::new(seed), "a token of {seed}");
        seed
    }
}

/// Returns a random network of tokens of all shapes. Some processes write the same token to all
/// their channels, and some leave before the others.
fn random(seed: u64) -> Network {
    let mut net = Network::new("random", "random.dot");
    let mut random = Random(seed);
    let processes = 2 + random.below(5);
    let all = format!("0+1*{processes}");
    let rounds = 2 + random.below(5);
    let process = move |mut p: Both<Token>| async move {
        let rank = rt::me().rank;
        let mut random = Random(mix(seed, rank as u64));
        let mut state = rank as u64;
        let rounds = rounds - random.below(2) * random.below(rounds);
        let mut together = None;
        if random.below(2) == 0 {
            together = Some(Broadcast::from(std::mem::take(&mut p.outs)));
        }
        let writes = together.as_ref().map_or(p.outs.len(), |_| 1);
        let mut order: Vec<usize> = (0..p.ins.len() + writes).collect();
        for _ in 0..rounds {
            random.shuffle(&mut order);
            for &port in &order {
                if let Some(input) = p.ins.get_mut(port) {
                    let read = input.read().await.map(Token::check);
                    state = mix(state, read.unwrap_or(1));
                    continue;
                }
                let token = Token::new(state);
                // The reader may have left.
                let _: Result<(), Stopped> = match &mut together {
                    Some(all) => all.write(token).await,
                    None => p.outs[port - p.ins.len()].write(token).await,
                };
            }
        }
        println!("end {rank} {state:016x}");
    };
    let kind = net.kind("p", Names::Numbered("p", &all), &all, BOTH, process);
    net.payload(rt::format_of!(Token));
    for _ in 0..processes + random.below(2 * processes) {
        let (from, to) = (random.below(processes), random.below(processes));
        let initial = u32::from(from >= to) + random.below(2) as u32;
        let capacity = (1 + random.below(3) as u32).max(initial);
        let (from, to) = (from.to_string(), to.to_string());
        let channels = Channels {
            capacity,
            ..Channels::new((kind, 1), (kind, 0), &from, &to)
        };
        net.channels_filled::<Token>(channels, initial, |_, token| Token::new(token as u64));
    }
    net
}
