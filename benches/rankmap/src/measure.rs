//! Times of look-ups.

use crate::contestants::{Contestant, build};
use bench_common::Random;
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Costs of a contestant for one communicator. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    pub bytes: f64,
    /// Time to build, per member.
    pub build: f64,
    pub select_in_order: f64,
    pub select: f64,
    pub rank_in_order: f64,
    pub rank: f64,
    /// Time of an iteration, per member.
    pub iterate: f64,
}

/// Maximum duration of a round of look-ups, in microseconds.
static ROUND: AtomicU64 = AtomicU64::new(6000);

/// Shortens the rounds, for runs over many communicators.
pub fn hurry() {
    ROUND.store(500, Ordering::Relaxed);
}

/// Returns the time of a call if each call waits for the result of the one before. This is the
/// latency of a look-up, while [`time`] lets the processor overlap look-ups. Only the lowest bit of
/// a query changes.
fn time_waiting(queries: &[u32], ask: impl Fn(u32) -> u32) -> f64 {
    let before = Cell::new(0);
    time(queries, |query| {
        before.set(ask(query ^ (before.get() & 1)));
        before.get()
    })
}

/// Returns the time of SELECT if each call waits for the one before.
pub fn select_waiting<C: Contestant + ?Sized>(one: &C, queries: &Queries) -> f64 {
    time_waiting(&queries.random, |rank| one.select(rank).unwrap_or(0))
}

/// Returns the time of a call: the minimum over three rounds.
fn time(queries: &[u32], ask: impl Fn(u32) -> u32) -> f64 {
    let round = Duration::from_micros(ROUND.load(Ordering::Relaxed));
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let (mut asked, mut sum, start) = (0, 0_u32, Instant::now());
        for some in queries.chunks(256) {
            for query in some {
                sum = sum.wrapping_add(ask(*query));
            }
            asked += some.len();
            if start.elapsed() > round {
                break;
            }
        }
        black_box(sum);
        best = best.min(start.elapsed().as_nanos() as f64 / asked as f64);
    }
    best
}

pub struct Queries {
    pub in_order: Vec<u32>,
    pub random: Vec<u32>,
    pub members_in_order: Vec<u32>,
    pub members: Vec<u32>,
}

impl Queries {
    pub fn new(len: u64, at: impl Fn(u32) -> u32) -> Self {
        const MANY: u64 = 1 << 18;
        let mut random = Random(99);
        let in_order: Vec<u32> = (0..len.min(MANY)).map(|k| k as u32).collect();
        let random: Vec<u32> = (0..MANY).map(|_| random.below(len) as u32).collect();
        Queries {
            members_in_order: in_order.iter().map(|rank| at(*rank)).collect(),
            members: random.iter().map(|rank| at(*rank)).collect(),
            in_order,
            random,
        }
    }
}

pub fn look_ups<C: Contestant + ?Sized>(one: &C, queries: &Queries) -> Costs {
    let select = |queries: &[u32]| match one.selects() {
        true => time(queries, |rank| one.select(rank).unwrap_or(0)),
        false => f64::NAN,
    };
    let rank = |queries: &[u32]| match one.ranks() {
        true => time(queries, |world| one.rank(world).unwrap_or(0)),
        false => f64::NAN,
    };
    Costs {
        bytes: one.bytes() as f64,
        build: f64::NAN,
        select_in_order: select(&queries.in_order),
        select: select(&queries.random),
        rank_in_order: rank(&queries.members_in_order),
        rank: rank(&queries.members),
        iterate: f64::NAN,
    }
}

/// Returns all costs of a contestant for some ranks and the form that it chose, or `None` if it
/// cannot represent them.
pub fn measure(name: &str, ranks: &[u32], queries: &Queries) -> Option<(Costs, String)> {
    let start = Instant::now();
    let one = build(name, ranks)?;
    let build = start.elapsed().as_nanos() as f64 / ranks.len() as f64;
    for k in (0..ranks.len()).step_by(1 + ranks.len() / 50) {
        assert!(
            !one.selects() || one.select(k as u32) == Some(ranks[k]),
            "{name}"
        );
        assert!(
            !one.ranks() || one.rank(ranks[k]) == Some(k as u32),
            "{name}"
        );
    }
    let mut costs = look_ups(&*one, queries);
    costs.build = build;
    let start = Instant::now();
    // Skipped in long runs, because iteration over bitmaps without a directory takes longest.
    let hurried = ROUND.load(Ordering::Relaxed) < 6000;
    if let Some(sum) = Some(()).filter(|()| !hurried).and_then(|()| one.sum()) {
        black_box(sum);
        costs.iterate = start.elapsed().as_nanos() as f64 / ranks.len() as f64;
    }
    Some((costs, one.form()))
}
