//! The ways to find a mapping, by name, in one list.

use crate::budget::Budget;
use crate::error::Error;
use crate::instance::Instance;
use crate::random::Random;

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

type Run = fn(&mut Context<'_>) -> Result<Found, Error>;

/// A strategy as users see it.
#[derive(Clone, Copy, Debug)]
pub struct Strategy {
    /// Its name.
    pub name: &'static str,
    /// One line of explanation.
    pub about: &'static str,
    /// What it is.
    pub kind: Kind,
    run: Run,
}

/// What a strategy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A plain rule, whose mapping is shown as it is: what others are compared with.
    Rule,
    /// Another engine, which may break the balance bound.
    Engine,
    /// An integer program, which a solver works on while there is time.
    Program,
    /// One pass of our own search.
    Pass,
    /// Our own search, while there is time or are steps.
    Portfolio,
}

impl Kind {
    /// Whether it is our own search: one that begins from what plain rules give, finds nothing worse,
    /// and can be watched and ended.
    #[must_use]
    pub fn is_own_search(self) -> bool {
        matches!(self, Self::Pass | Self::Portfolio)
    }

    /// Whether what it gives keeps the balance bound and has a lower bound worth looking for.
    pub(crate) fn is_bounded(self) -> bool {
        self == Self::Program || self.is_own_search()
    }
}

const STRATEGIES: &[Strategy] = &[
    Strategy {
        name: "auto",
        about: "portfolio: exact search, multilevel, annealing on traffic times distance",
        kind: Kind::Portfolio,
        run: auto::run,
    },
    Strategy {
        name: "fast",
        about: "one multilevel pass with refinement, for very large networks",
        kind: Kind::Pass,
        run: auto::run_fast,
    },
    Strategy {
        name: "stack",
        about: "neighbours in source order fill one block after the other",
        kind: Kind::Rule,
        run: stack::run,
    },
    Strategy {
        name: "round-robin",
        about: "processes are dealt to the blocks in turn",
        kind: Kind::Rule,
        run: round_robin::run,
    },
    Strategy {
        name: "ilp",
        about: "integer program, for small networks: proves the optimum given time",
        kind: Kind::Program,
        run: ilp::run,
    },
    #[cfg(feature = "metis")]
    Strategy {
        name: "metis",
        about: "METIS, best of k-way and recursive",
        kind: Kind::Engine,
        run: metis::run,
    },
    #[cfg(feature = "metis")]
    Strategy {
        name: "metis-kway",
        about: "METIS k-way",
        kind: Kind::Engine,
        run: metis::run_kway,
    },
    #[cfg(feature = "metis")]
    Strategy {
        name: "metis-recursive",
        about: "METIS recursive bisection",
        kind: Kind::Engine,
        run: metis::run_recursive,
    },
];

/// Strategies that can be compiled in and were not, each with the feature that does it.
const LEFT_OUT: &[(&str, &str)] = &[
    #[cfg(not(feature = "metis"))]
    ("metis", "metis"),
    #[cfg(not(feature = "metis"))]
    ("metis-kway", "metis"),
    #[cfg(not(feature = "metis"))]
    ("metis-recursive", "metis"),
];

/// All strategies that are compiled in.
#[must_use]
pub fn strategies() -> &'static [Strategy] {
    STRATEGIES
}

pub(crate) fn by_name(name: &str) -> Result<&'static Strategy, Error> {
    if let Some(&(name, feature)) = LEFT_OUT.iter().find(|(known, _)| *known == name) {
        return Err(Error::LeftOut { name, feature });
    }
    let found = STRATEGIES.iter().find(|s| s.name == name);
    found.ok_or_else(|| Error::UnknownStrategy {
        name: name.to_owned(),
        known: STRATEGIES.iter().map(|s| s.name).collect(),
    })
}

impl Strategy {
    pub(crate) fn run(&self, context: &mut Context<'_>) -> Result<Found, Error> {
        (self.run)(context)
    }
}
