//! Random programs as their seeds determine them, and the counters of a run.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use super::token::Token;
use super::{Random, mix, size, ways};

/// Behaviour of the processes of a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Plan {
    /// No cycles. Each process reads, writes and leaves at random.
    Free,
    /// Each process reads and writes every port once per round. Backward channels have initial
    /// tokens.
    Rounds,
    /// The first process shares tasks among workers, and the last one selects their results.
    Farm,
}

#[derive(Debug, Clone, Copy)]
pub struct Edge {
    pub from: u64,
    pub to: u64,
    pub capacity: u32,
    pub initial: u32,
}

/// A program as its seed determines it, and the counters of one run of it.
#[derive(Debug)]
pub struct Program {
    pub seed: u64,
    pub plan: Plan,
    pub processes: u64,
    pub steps: u64,
    pub edges: Vec<Edge>,
    /// Whether each future is awaited until it is ready, and nothing is done in between.
    pub plain: bool,
    /// Whether processes exchange their wakers and wake each other.
    pub spurious: bool,
    /// Whether there is one scheduler.
    pub alone: bool,
    pub books: Option<Books>,
}

/// Counters of a run whose processes share memory.
#[derive(Debug, Default)]
pub struct Books {
    pub alive: Arc<AtomicI64>,
    /// Number of completed writes, by channel.
    pub written: Vec<AtomicU64>,
    pub wakers: Mutex<Vec<Waker>>,
}

/// Returns the program of a seed.
pub fn program(seed: u64) -> Program {
    let mut random = Random(seed);
    let plan = [Plan::Free, Plan::Free, Plan::Rounds, Plan::Farm][random.below(4) as usize];
    let processes = 2 + u64::from(plan == Plan::Farm) + random.below(size(7, 3));
    let mut edges = Vec::new();
    let capacity = |random: &mut Random| 1 + random.below(4) as u32 * random.below(2) as u32;
    match plan {
        Plan::Farm => {
            for worker in 1..processes - 1 {
                for (from, to) in [(0, worker), (worker, processes - 1)] {
                    let capacity = capacity(&mut random);
                    edges.push(Edge {
                        from,
                        to,
                        capacity,
                        initial: 0,
                    });
                }
            }
        }
        Plan::Free | Plan::Rounds => {
            for _ in 0..processes + random.below(2 * processes) {
                let (mut from, mut to) = (random.below(processes), random.below(processes));
                let mut initial = random.below(2) as u32 * random.below(3) as u32;
                if plan == Plan::Free {
                    if from == to {
                        continue;
                    }
                    (from, to) = (from.min(to), from.max(to));
                } else if from >= to {
                    initial += 1;
                }
                let capacity = capacity(&mut random).max(initial);
                edges.push(Edge {
                    from,
                    to,
                    capacity,
                    initial,
                });
            }
        }
    }
    Program {
        seed,
        plan,
        processes,
        steps: 1 + random.below(size(40, 6)),
        edges,
        plain: random.below(4) == 0,
        spurious: random.below(2) == 0,
        alone: false,
        books: None,
    }
}

impl Program {
    /// Awaits a future in some way. Returns `None` if it was dropped before it was ready, which
    /// happens only with `may_leave`.
    pub async fn attempt<F: Future>(
        &self,
        future: F,
        how: &mut Random,
        may_leave: bool,
    ) -> Option<F::Output> {
        match self.plain {
            true => Some(future.await),
            false => ways::attempt(future, how, may_leave).await,
        }
    }

    /// Adds counters, which only processes that share memory can use.
    pub fn accounted(mut self) -> Self {
        self.books = Some(Books {
            written: self.edges.iter().map(|_| AtomicU64::new(0)).collect(),
            ..Books::default()
        });
        self
    }

    pub fn token(&self, number: u64, value: u64) -> Token {
        Token::new(number, value, self.books.as_ref().map(|books| &books.alive))
    }

    /// Returns the value of an initial token.
    pub fn initial(&self, channel: usize, number: u64) -> u64 {
        mix(self.seed ^ channel as u64, number)
    }

    pub fn edges<'a>(
        &'a self,
        mine: impl Fn(&Edge) -> bool + 'a,
    ) -> impl Iterator<Item = usize> + 'a {
        (0..self.edges.len()).filter(move |&channel| mine(&self.edges[channel]))
    }

    /// Checks the counters after a run.
    pub fn close(&self) {
        if let Some(books) = &self.books {
            // Late wake-ups have no effect.
            for (n, waker) in books.wakers.lock().unwrap().drain(..).enumerate() {
                if n % 2 == 0 {
                    waker.wake();
                }
            }
            let left = books.alive.load(Ordering::SeqCst);
            assert_eq!(left, 0, "tokens that are still there: {self:?}");
        }
    }
}
