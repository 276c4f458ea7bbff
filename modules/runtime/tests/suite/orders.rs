//! Random orders of reads, writes, cancels, drops, wake-ups and moves of ports, also between nested
//! runs.
//!
//! No token may be lost, duplicated or delivered out of order, and no run may hang. Under the
//! address sanitizer, no freed memory may be used. Because any order may occur, a run may also end
//! blocked. Programs that must complete are in `random.rs`.
//!
//! `GRAPHMAP_FUZZ_RUNS=100000 cargo test --release -p graphmap-runtime --test suite orders::`
//! searches for longer. A failure prints its seed, and `GRAPHMAP_FUZZ_SEED` starts there.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr)] // the seed of a failure

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use crate::common::{Random, forget, seeds};
use graphmap_runtime as rt;
use rt::{Input, Local, Options, Output, RunError, Select, Share, Stopped};

/// A token that may contain a port, and acts when it is dropped.
struct Token {
    channel: usize,
    number: u64,
    inside: Option<Port>,
    alive: Rc<Cell<i64>>,
}

impl Drop for Token {
    fn drop(&mut self) {
        self.alive.set(self.alive.get() - 1);
        if self.number % 7 == 3 {
            // Drops a port within this drop. The port inside the token may then move to the world.
            drop(WORLD.with_borrow_mut(|world| world.ports.pop()));
        }
        if let Some(port) = self.inside.take()
            && self.number.is_multiple_of(2)
        {
            WORLD.with_borrow_mut(|world| world.ports.push(port));
        }
    }
}

enum Port {
    In(usize, Input<Token>),
    Out(usize, Output<Token>),
}

impl Port {
    fn channel(&self) -> usize {
        match self {
            Port::In(channel, _) | Port::Out(channel, _) => *channel,
        }
    }
}

/// State of a channel.
#[derive(Default)]
struct Known {
    next: u64,
    /// Numbers of the tokens whose writes have completed, and of those that were read.
    written: BTreeSet<u64>,
    read: BTreeSet<u64>,
}

#[derive(Default)]
struct World {
    ports: Vec<Port>,
    known: Vec<Known>,
    wakers: Vec<Waker>,
    alive: Rc<Cell<i64>>,
    leaks: bool,
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::default();
}

fn with<R>(f: impl FnOnce(&mut World) -> R) -> R {
    WORLD.with_borrow_mut(f)
}

fn was_read(token: &Token) {
    with(|world| {
        let known = &mut world.known[token.channel];
        let (last, number) = (known.read.last().copied(), token.number);
        assert!(last < Some(number), "{number} after {last:?}");
        known.read.insert(number);
        let lost: Vec<_> = known.written.range(..number).collect();
        let lost: Vec<_> = lost.iter().filter(|n| !known.read.contains(n)).collect();
        assert!(lost.is_empty(), "lost before {number}: {lost:?}");
    });
}

fn was_written(channel: usize, number: u64) {
    with(|world| {
        let known = &mut world.known[channel];
        known.written.insert(number);
        let passed = known.read.last() > Some(&number) && !known.read.contains(&number);
        assert!(!passed, "{number} was written and passed by");
    });
}

/// A waker of another library, which acts when it is woken.
struct Foreign {
    what: u64,
    woken: AtomicBool,
}

impl Wake for Foreign {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        match self.what % 4 {
            0 => drop(with(|world| world.ports.pop())),
            1 => {
                if let Some(waker) = with(|world| world.wakers.pop()) {
                    waker.wake();
                }
            }
            2 => drop(with(|world| world.wakers.pop())),
            _ => {}
        }
    }
}

/// Polls a future a few times at most, with the waker of the process or another. Then drops or,
/// rarely, forgets it.
///
/// Returns the result of the future if it completed.
async fn patiently<T>(
    future: impl Future<Output = T>,
    random: &mut Random,
    patient: bool,
) -> Option<T> {
    let mut future = Some(Box::pin(future));
    let mut left = random.below(4) + 1;
    let foreign = Arc::new(Foreign {
        what: random.next(),
        woken: AtomicBool::new(false),
    });
    let other = random.below(3) == 0;
    let waker = Waker::from(Arc::clone(&foreign));
    let result = poll_fn(|context| {
        let pinned: Pin<&mut _> = future.as_mut().unwrap().as_mut();
        let polled = match other {
            true => pinned.poll(&mut Context::from_waker(&waker)),
            false => pinned.poll(context),
        };
        if let Poll::Ready(result) = polled {
            return Poll::Ready(Some(result));
        }
        if patient && !other {
            return Poll::Pending;
        }
        left -= 1;
        if left == 0 {
            return Poll::Ready(None);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    if result.is_none() && random.below(8) == 0 && !cfg!(miri) {
        with(|world| world.leaks = true);
        forget(future.take());
    }
    result
}

fn token(channel: usize, inside: Option<Port>) -> Token {
    with(|world| {
        let known = &mut world.known[channel];
        known.next += 1;
        world.alive.set(world.alive.get() + 1);
        Token {
            channel,
            number: known.next,
            inside,
            alive: Rc::clone(&world.alive),
        }
    })
}

async fn write(channel: usize, output: &mut Output<Token>, random: &mut Random, patient: bool) {
    let inside = match random.below(6) {
        // Only a port of a later channel. Otherwise, tokens and channels could form a reference
        // cycle, and would never be freed.
        0 => with(|world| world.ports.pop_if(|port| port.channel() > channel)),
        _ => None,
    };
    let token = token(channel, inside);
    let number = token.number;
    if let Some(Ok(())) = patiently(output.write(token), random, patient).await {
        was_written(channel, number);
    }
}

async fn read(input: &mut Input<Token>, random: &mut Random, patient: bool) {
    if let Some(Some(token)) = patiently(input.read(), random, patient).await {
        was_read(&token);
    }
}

/// Runs a process that makes `steps` random steps.
async fn act(seed: u64, steps: u64, depth: u32, patient: bool) {
    let mut random = Random(seed);
    let mut ports: Vec<Port> = Vec::new();
    for _ in 0..steps {
        match random.below(16) {
            0 => ports.extend(with(|world| world.ports.pop())),
            1 if !ports.is_empty() => {
                let at = random.below(ports.len() as u64) as usize;
                let port = ports.swap_remove(at);
                with(|world| world.ports.push(port));
            }
            2 if random.below(4) == 0 => drop(ports.pop()),
            3 => rt::yield_now().await,
            4 if !patient => {
                let waker = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
                with(|world| world.wakers.push(waker));
            }
            5 => {
                if let Some(waker) = with(|world| world.wakers.pop()) {
                    waker.wake();
                }
            }
            6 => drop(with(|world| world.wakers.pop())),
            7 if depth > 0 && random.below(6) == 0 => {
                let mut inner = Local::new();
                channels(&mut inner, &mut random);
                for _ in 0..random.below(4) {
                    inner.spawn(act(random.next(), steps / 2, depth - 1, patient));
                }
                finish(inner.run(&Options::new()));
            }
            8 => {
                let (inputs, others): (Vec<_>, Vec<_>) = ports
                    .drain(..)
                    .partition(|port| matches!(port, Port::In(..)));
                ports = others;
                let inputs = inputs.into_iter().filter_map(|port| match port {
                    Port::In(_, input) => Some(input),
                    Port::Out(..) => None,
                });
                let mut select = Select::from(inputs.collect::<Vec<_>>());
                for _ in 0..random.below(5) {
                    if let Some(Some((_, token))) =
                        patiently(select.read(), &mut random, patient).await
                    {
                        was_read(&token);
                    }
                }
            }
            9 if random.below(3) == 0 => {
                let outputs = ports.iter().position(|port| matches!(port, Port::Out(..)));
                let Some(Port::Out(channel, output)) = outputs.map(|at| ports.swap_remove(at))
                else {
                    continue;
                };
                let token = token(channel, None);
                let number = token.number;
                let mut share = Share::from(vec![output]);
                if let Some(Ok(_)) = patiently(share.write(token), &mut random, patient).await {
                    was_written(channel, number);
                }
            }
            10 => {
                if let Some(Port::Out(_, output)) = ports.last_mut() {
                    patiently(output.stopped(), &mut random, false).await;
                }
            }
            _ => {
                let Some(at) = (random.below(3) as usize).checked_sub(3 - ports.len().min(3))
                else {
                    continue;
                };
                match &mut ports[at] {
                    Port::In(_, input) => read(input, &mut random, patient).await,
                    Port::Out(channel, output) => {
                        write(*channel, output, &mut random, patient).await
                    }
                }
            }
        }
    }
}

fn channels(net: &mut Local, random: &mut Random) {
    for _ in 0..random.below(5) {
        let (output, input) = net.channel(random.below(4) as u32 + 1);
        with(|world| {
            let channel = world.known.len();
            world.known.push(Known::default());
            world.ports.push(Port::In(channel, input));
            world.ports.push(Port::Out(channel, output));
            random.shuffle(&mut world.ports);
        });
    }
}

fn finish(outcome: Result<rt::Report, RunError>) {
    match outcome {
        // A process that waits for a token may wait forever.
        Ok(_) | Err(RunError::Blocked(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

fn one(seed: u64) {
    let mut random = Random(seed);
    WORLD.set(World::default());
    let patient = random.below(2) == 0;
    let mut net = Local::new();
    channels(&mut net, &mut random);
    for _ in 0..random.below(6) + 1 {
        net.spawn(act(random.next(), random.below(60), 2, patient));
    }
    let options = match random.below(2) {
        0 => Options::new(),
        _ => Options::new().shuffle(random.next()),
    };
    finish(net.run(&options));
    // Drops the remaining wakers and ports outside of any run.
    let world = WORLD.take();
    drop(world.wakers);
    drop(world.ports);
    let (alive, leaks) = (world.alive.get(), world.leaks);
    // The destructors of tokens may have added ports again.
    while let Some(port) = with(|world| world.ports.pop()) {
        drop(port);
    }
    assert!(
        alive >= 0 && (leaks || world.alive.get() == 0),
        "{} tokens leaked",
        world.alive.get()
    );
}

#[test]
fn random_orders() {
    for seed in seeds(1000, 20) {
        let run = AssertUnwindSafe(|| one(seed));
        if let Err(panic) = catch_unwind(run) {
            eprintln!("GRAPHMAP_FUZZ_SEED={seed}");
            resume_unwind(panic);
        }
    }
}

/// Checks that writes return `Stopped` after the reader was dropped, so that the writer ends.
#[test]
fn stopped_is_stopped() {
    let mut net = Local::new();
    let (mut out, input) = net.channel::<u64>(1);
    net.spawn(async move { drop(input) });
    net.spawn(async move {
        while out.write(1).await.is_ok() {}
        assert_eq!(out.write(2).await, Err(Stopped));
    });
    net.run(&Options::new()).unwrap();
}
