//! The ways to find a mapping, by name, in one list.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::instance::Instance;
use crate::random::Random;
use crate::watch::Watch;

pub use outside::Launch;

pub(crate) mod auto;
mod ilp;
mod inside;
pub(crate) mod metis;
mod outside;
mod round_robin;
pub(crate) mod rounds;
mod small;
mod stack;
mod start;
mod team;
mod ways;

/// What a strategy has to work with.
pub(crate) struct Context<'a> {
    pub(crate) inst: &'a Instance,
    pub(crate) budget: Budget,
    pub(crate) random: Random,
    /// Mappings that are known, in vertices of the instance: a search finds nothing worse.
    pub(crate) starts: Vec<Vec<u32>>,
    /// Share of the budget after which a search that has found nothing feasible ends.
    pub(crate) patience: f64,
    pub(crate) solver: Option<&'a std::path::Path>,
    pub(crate) launch: Option<Launch>,
    pub(crate) log: Vec<String>,
    /// What a user should know: that the strategy did not do what its name says.
    pub(crate) remarks: Vec<String>,
}

/// What a strategy found.
pub(crate) struct Found {
    pub(crate) block: Vec<u32>,
    /// Lower bound on the search cost of every feasible mapping that the strategy proved itself.
    pub(crate) bound: Option<i64>,
    /// The structure of the network has been looked at for a proof.
    pub(crate) examined: bool,
}

impl From<Vec<u32>> for Found {
    fn from(block: Vec<u32>) -> Self {
        Self {
            block,
            bound: None,
            examined: false,
        }
    }
}

/// Nanoseconds of a step of annealing, about.
const STEP: u128 = 12;

/// Share of a time limit in which it is settled, at the end, what bounds a search has to keep: what that
/// takes does not grow with the time.
const SETTLED: f64 = 0.25;

/// How long a strategy may search: until a time, or for a number of steps (proposed moves).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) start: Instant,
    pub(crate) time: Option<Duration>,
    pub(crate) steps: u64,
    /// Threads to search on where there is a time.
    pub(crate) threads: NonZeroUsize,
    pub(crate) watch: Option<&'static Watch>,
}

impl Budget {
    pub(crate) fn stop_at(&self) -> Option<Instant> {
        self.time.map(|t| self.start + t)
    }

    /// Until when to look whether anything keeps all bounds: for a share of the time, and while the
    /// search has hardly begun.
    pub(crate) fn settled_by(&self, share: f64) -> Option<Instant> {
        self.time
            .map(|t| (Instant::now() + t.mul_f64(share)).max(self.start + t.mul_f64(SETTLED)))
    }

    /// All of it in steps, about.
    pub(crate) fn in_steps(&self) -> u64 {
        let steps = |t: Duration| u64::try_from(t.as_nanos() / STEP).unwrap_or(u64::MAX);
        self.time.map_or(self.steps, steps)
    }

    /// Whether somebody has had enough.
    pub(crate) fn ended(&self) -> bool {
        self.watch.is_some_and(Watch::enough)
    }

    /// Whether all the time is used, or somebody has had enough; never where only steps count.
    pub(crate) fn is_over(&self) -> bool {
        self.used() >= 1.0
    }

    /// Share of the time used; 0 when only steps count.
    pub(crate) fn used(&self) -> f64 {
        if self.ended() {
            return 1.0;
        }
        self.time.map_or(0.0, |t| {
            self.start.elapsed().as_secs_f64() / t.as_secs_f64().max(1e-9)
        })
    }
}

type Run = fn(&mut Context<'_>) -> Result<Found, Error>;

/// A strategy as users see it.
#[derive(Clone, Copy, Debug)]
pub struct Strategy {
    /// Its name.
    pub name: &'static str,
    /// One line of explanation.
    pub about: &'static str,
    run: Run,
}

const STRATEGIES: &[Strategy] = &[
    Strategy {
        name: "auto",
        about: "portfolio: exact search, multilevel, annealing on traffic times distance",
        run: auto::run,
    },
    Strategy {
        name: "fast",
        about: "one multilevel pass with refinement, for very large networks",
        run: auto::run_fast,
    },
    Strategy {
        name: "stack",
        about: "neighbours in source order fill one block after the other",
        run: stack::run,
    },
    Strategy {
        name: "round-robin",
        about: "processes are dealt to the blocks in turn",
        run: round_robin::run,
    },
    Strategy {
        name: "ilp",
        about: "integer program, for small networks: proves the optimum given time",
        run: ilp::run,
    },
    Strategy {
        name: "metis",
        about: "METIS, best of k-way and recursive",
        run: metis::run,
    },
    Strategy {
        name: "metis-kway",
        about: "METIS k-way",
        run: metis::run_kway,
    },
    Strategy {
        name: "metis-recursive",
        about: "METIS recursive bisection",
        run: metis::run_recursive,
    },
];

/// Whether a mapping keeps every rule of the instance, the load bounds included.
pub(crate) fn keeps(inst: &Instance, block: &[u32]) -> bool {
    let (k, d) = (inst.k(), inst.dims());
    let shared = &inst.shared;
    let mut load = vec![0; k * d];
    for (v, &b) in block.iter().enumerate() {
        for (i, s) in inst.size_of(v as u32).iter().enumerate() {
            load[shared.at(b as usize, i)] += s;
        }
    }
    let clash = |v: usize| inst.clashes(v as u32, block[v], block) > 0;
    (0..k * d).all(|i| {
        load[i] <= shared.upper[i] && (shared.lower.is_empty() || load[i] >= shared.lower[i])
    }) && (0..inst.len()).all(|v| inst.may_lie(v as u32, block[v]) && !clash(v))
}

/// All strategies.
#[must_use]
pub fn strategies() -> &'static [Strategy] {
    STRATEGIES
}

pub(crate) fn names() -> Vec<&'static str> {
    STRATEGIES.iter().map(|s| s.name).collect()
}

pub(crate) fn by_name(name: &str) -> Result<&'static Strategy, Error> {
    let found = STRATEGIES.iter().find(|s| s.name == name);
    found.ok_or_else(|| Error::UnknownStrategy(name.to_owned()))
}

impl Strategy {
    pub(crate) fn run(&self, context: &mut Context<'_>) -> Result<Found, Error> {
        (self.run)(context)
    }
}
