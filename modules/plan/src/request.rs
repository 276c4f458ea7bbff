//! What is asked of a plan.

use crate::language::Rule;
use crate::previous::Previous;
use graphmap_kpn::source::SourceMap;
use graphmap_partition::{Objective, Options};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// How many OS processes; by default one for each slot of the platform.
    pub os_processes: Option<usize>,
    /// Whether the hosts have names that a launcher knows; `false` for a machine made up from `-n`.
    pub named_hosts: bool,
    /// How to search.
    pub options: Options,
    /// What to minimise.
    pub objective: Objective,
    /// Balance bound, 0.03 for 3%.
    pub imbalance: f64,
    /// What modules mean to the mapping.
    pub modules: Modules,
    /// Rules beside those of the graph.
    pub rules: &'a [Rule],
    /// The texts that the rules stand in, for whoever shows what is wrong with them: those of the network and, after
    /// them, their own. By default there are those of the network alone.
    pub texts: Option<&'a SourceMap>,
    /// The mapping in use, to stay near to.
    pub previous: Option<&'a Previous>,
}

impl Default for Request<'_> {
    fn default() -> Self {
        Request {
            os_processes: None,
            named_hosts: true,
            options: Options::default(),
            objective: Objective::Cost,
            imbalance: 0.03,
            modules: Modules::Ignore,
            rules: &[],
            texts: None,
            previous: None,
        }
    }
}

/// What modules mean to the mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Modules {
    /// Nothing: their channels speak for themselves.
    #[default]
    Ignore,
    /// The processes of an innermost module are rather kept together, as if joined by channels of
    /// this traffic.
    Prefer(f64),
    /// The processes of an innermost module stay in one OS process.
    Atom,
}
