//! What a random program is that its seed says, and the books of a run of it.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use super::token::Token;
use super::{Random, mix, size, ways};

/// How the processes of a program go on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Plan {
    /// No cycles; each reads and writes as it likes, and leaves when it likes.
    Free,
    /// Each reads and writes every port once a round; channels that go back hold tokens.
    Rounds,
    /// One shares tasks among workers, the last selects their results.
    Farm,
}

#[derive(Debug, Clone, Copy)]
pub struct Edge {
    pub from: u64,
    pub to: u64,
    pub capacity: u32,
    pub initial: u32,
}

/// A program: all that its seed says, and the books of one run of it.
#[derive(Debug)]
pub struct Program {
    pub seed: u64,
    pub plan: Plan,
    pub processes: u64,
    pub steps: u64,
    pub edges: Vec<Edge>,
    /// Whether each future is awaited until it is ready, and nothing is done beside.
    pub plain: bool,
    /// Whether wakers are kept and woken by others.
    pub spurious: bool,
    /// Whether there is one scheduler.
    pub alone: bool,
    pub books: Option<Books>,
}

/// What is known of a run whose processes share memory.
#[derive(Debug, Default)]
pub struct Books {
    pub alive: Arc<AtomicI64>,
    /// Writes that were done, by channel.
    pub written: Vec<AtomicU64>,
    pub wakers: Mutex<Vec<Waker>>,
}

/// The program of a seed.
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
    /// Awaits a future in some way; `None` if it was dropped before it was ready, which `may_leave`
    /// allows.
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

    /// With books: for processes that share memory.
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

    /// The value of a token that is there at the start.
    pub fn initial(&self, channel: usize, number: u64) -> u64 {
        mix(self.seed ^ channel as u64, number)
    }

    pub fn edges<'a>(
        &'a self,
        mine: impl Fn(&Edge) -> bool + 'a,
    ) -> impl Iterator<Item = usize> + 'a {
        (0..self.edges.len()).filter(move |&channel| mine(&self.edges[channel]))
    }

    /// What must hold after a run.
    pub fn close(&self) {
        if let Some(books) = &self.books {
            // Those that are woken late find nobody.
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
