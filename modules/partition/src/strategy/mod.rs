//! The ways to find a mapping: values with a name and properties, those of this crate in one list.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::error::Error;
use crate::problem::Problem;

pub(crate) use context::{Context, Found};
pub(crate) use other::Other;
pub use other::SearchLimits;
pub use outside::Launch;

pub(crate) mod auto;
mod context;
mod ilp;
mod inside;
mod lp_format;
pub(crate) mod metis;
mod operators;
pub(crate) mod other;
mod outside;
mod parallel;
mod round_robin;
pub(crate) mod rounds;
mod small;
mod stack;
mod start;
mod team;

/// A way to find a mapping, with all that there is to know of it. Those of this crate have names
/// ([`Strategy::named`], [`strategies`]); others are made of a function ([`Strategy::new`]).
#[derive(Clone)]
pub struct Strategy {
    /// Its name.
    pub name: Cow<'static, str>,
    /// One line of explanation.
    pub about: Cow<'static, str>,
    /// What it is.
    pub kind: Kind,
    /// Whether plans of others are compared with what it gives.
    pub compared: bool,
    pub(crate) run: Run,
}

/// What is done for a mapping.
#[derive(Clone)]
pub(crate) enum Run {
    /// By the engine, on what it makes of a problem.
    Engine(fn(&mut Context<'_>) -> Result<Found, Error>),
    /// By somebody else, on the problem as it was given.
    Other(Arc<Other>),
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

impl Strategy {
    /// A strategy of one's own: `run` gives the block of each vertex. It is judged as all others are:
    /// where it breaks a rule another mapping is packed by size, and it is told so. The balance bound it
    /// may break ([`Kind::Engine`]). An error that it gives is told in its name; an [`Error::Infeasible`] is taken as
    /// what it found, not as a proof.
    ///
    /// It is called on the thread of whoever maps: nobody ends it when its time is over, and a panic in it is the
    /// caller's.
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
            run: Run::Other(Arc::new(run)),
        }
    }

    /// The strategy of this crate that has this name.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownStrategy`], and [`Error::LeftOut`] where it is not compiled in.
    pub fn named(name: &str) -> Result<Self, Error> {
        if let Some(name) = LEFT_OUT.iter().find(|known| **known == name) {
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
    /// `auto`.
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

/// Strategies that the feature `metis` compiles in, where it is left out.
const LEFT_OUT: &[&str] = match cfg!(feature = "metis") {
    true => &[],
    false => &["metis", "metis-kway", "metis-recursive"],
};

/// The strategies of this crate, those that are compiled in.
pub fn strategies() -> impl Iterator<Item = &'static Strategy> + Clone {
    STRATEGIES.iter()
}
