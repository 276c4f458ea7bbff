//! Methods to find a mapping: values with a name and properties, and the list of those in this
//! crate.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::problem::Problem;

pub(crate) use context::{Context, Found};
pub use external::Launch;
pub use user_strategy::SearchLimits;
pub(crate) use user_strategy::UserStrategy;

pub(crate) mod auto;
mod context;
mod external;
mod ilp;
mod inside;
mod lp_format;
pub(crate) mod metis;
mod operators;
mod parallel;
mod round_robin;
pub(crate) mod rounds;
mod small;
mod stack;
mod start;
mod team;
pub(crate) mod user_strategy;

/// A method to find a mapping, with its properties. The strategies of this crate have names
/// ([`Strategy::named`], [`strategies`]). Other strategies are created from a function
/// ([`Strategy::new`]).
#[derive(Clone)]
pub struct Strategy {
    /// Name of the strategy.
    pub name: Cow<'static, str>,
    /// Description in one line.
    pub about: Cow<'static, str>,
    /// Class of the strategy.
    pub kind: Kind,
    /// Whether the mappings of other strategies are compared with the mapping of this one.
    pub compared: bool,
    pub(crate) run: Run,
}

/// Function that computes the mapping.
#[derive(Clone)]
pub(crate) enum Run {
    /// A strategy of this crate, which works on an [`Instance`](crate::instance::Instance).
    Engine(fn(&mut Context<'_>) -> Result<Found, Error>),
    /// A strategy of a library user, which works on the [`Problem`].
    User(Arc<UserStrategy>),
}

/// Class of a strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A simple rule. Its mapping is used unchanged, for comparison with others.
    Rule,
    /// Another engine, whose mapping may exceed the balance bound.
    Engine,
    /// An integer program, which a solver works on until the time limit.
    Program,
    /// One pass of this crate's own search.
    Pass,
    /// This crate's own search, until the limit of time or steps.
    Portfolio,
}

impl Kind {
    /// Returns true for this crate's own search ([`Pass`](Self::Pass) and
    /// [`Portfolio`](Self::Portfolio)).
    ///
    /// The search starts from the mappings of the simple rules. Its result is never worse than
    /// those of them that are feasible. A [`Watch`](crate::Watch) can observe and end the search.
    #[must_use]
    pub fn is_own_search(self) -> bool {
        matches!(self, Self::Pass | Self::Portfolio)
    }

    /// Returns true if the strategy respects the balance bound, and a lower bound is computed for
    /// its mapping.
    pub(crate) fn is_bounded(self) -> bool {
        self == Self::Program || self.is_own_search()
    }
}

impl Strategy {
    /// Creates a strategy from a function, which returns the block of each vertex.
    ///
    /// The mapping is evaluated like any other. If it breaks a rule, another mapping is packed by
    /// size and the solution has a warning. The mapping may exceed the balance bound
    /// ([`Kind::Engine`]). An error that the function returns becomes an [`Error::Strategy`] with
    /// the name of the strategy. The same applies if the function returns a wrong number of
    /// vertices, or a block that does not exist. An [`Error::Infeasible`] of the function stays
    /// one, but it does not count as a proof.
    ///
    /// The function runs on the thread that calls [`solve`](crate::solve()). It is not interrupted
    /// when its time is over, and a panic in it reaches the caller.
    ///
    /// ```
    /// use graphmap_partition::{Graph, Machine, Options, Problem, Strategy, solve};
    ///
    /// let reversed = Strategy::new("reversed", "the last vertex first", |problem, _| {
    ///     let (n, k) = (problem.graph.vertices(), problem.machine.len());
    ///     Ok((0..n).map(|v| ((n - 1 - v) * k / n) as u32).collect())
    /// });
    /// let graph = Graph::new(vec![1; 4], &[])?;
    /// let machine = Machine::regular(&[(2, 1)])?;
    /// let options = Options { strategy: reversed, ..Options::default() };
    /// let found = solve(&Problem::new(&graph, &machine), &options)?;
    /// assert_eq!(found.block_of, [1, 1, 0, 0]);
    /// # Ok::<(), graphmap_partition::Error>(())
    /// ```
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        about: impl Into<Cow<'static, str>>,
        run: impl Fn(&Problem<'_>, &SearchLimits) -> Result<Vec<u32>, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            kind: Kind::Engine,
            compared: false,
            run: Run::User(Arc::new(run)),
        }
    }

    /// Returns the strategy of this crate with this name. Names are case-sensitive.
    ///
    /// # Errors
    ///
    /// Returns [`Error::LeftOut`] if the strategy is not compiled in, and
    /// [`Error::UnknownStrategy`] if there is no strategy with this name.
    pub fn named(name: &str) -> Result<Self, Error> {
        if let Some(name) = NOT_COMPILED_IN.iter().find(|known| **known == name) {
            let feature = "metis";
            return Err(Error::LeftOut { name, feature });
        }
        let found = strategies().find(|s| s.name == name);
        found.cloned().ok_or_else(|| Error::UnknownStrategy {
            name: name.to_owned(),
            known: strategies().map(|s| &*s.name).collect(),
        })
    }

    const fn of(
        name: &'static str,
        about: &'static str,
        (kind, compared): (Kind, bool),
        run: fn(&mut Context<'_>) -> Result<Found, Error>,
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            about: Cow::Borrowed(about),
            kind,
            compared,
            run: Run::Engine(run),
        }
    }
}

impl Default for Strategy {
    /// Returns the strategy `auto`.
    fn default() -> Self {
        AUTO
    }
}

impl fmt::Debug for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Strategy");
        shown.field("name", &self.name).field("kind", &self.kind);
        shown.finish_non_exhaustive()
    }
}

const AUTO: Strategy = Strategy::of(
    "auto",
    "portfolio: exact search, multilevel, annealing on traffic times distance",
    (Kind::Portfolio, false),
    auto::run,
);
pub(crate) const FAST: Strategy = Strategy::of(
    "fast",
    "one multilevel pass with refinement, for very large networks",
    (Kind::Pass, false),
    auto::run_fast,
);
static STRATEGIES: &[Strategy] = &[
    AUTO,
    FAST,
    Strategy::of(
        "stack",
        "fills one block after the other, in source order",
        (Kind::Rule, true),
        stack::run,
    ),
    Strategy::of(
        "round-robin",
        "distributes the processes to the blocks in turn",
        (Kind::Rule, true),
        round_robin::run,
    ),
    Strategy::of(
        "ilp",
        "integer program, for small networks; proves the optimum if given enough time",
        (Kind::Program, false),
        ilp::run,
    ),
    #[cfg(feature = "metis")]
    Strategy::of(
        "metis",
        "METIS, best of k-way and recursive",
        (Kind::Engine, true),
        metis::run,
    ),
    #[cfg(feature = "metis")]
    Strategy::of(
        "metis-kway",
        "METIS k-way",
        (Kind::Engine, false),
        metis::run_kway,
    ),
    #[cfg(feature = "metis")]
    Strategy::of(
        "metis-recursive",
        "METIS recursive bisection",
        (Kind::Engine, false),
        metis::run_recursive,
    ),
];

/// Names of the strategies that the feature `metis` would add, if it is disabled.
const NOT_COMPILED_IN: &[&str] = match cfg!(feature = "metis") {
    true => &[],
    false => &["metis", "metis-kway", "metis-recursive"],
};

/// Returns the strategies of this crate that are compiled in.
pub fn strategies() -> impl Iterator<Item = &'static Strategy> + Clone {
    STRATEGIES.iter()
}
