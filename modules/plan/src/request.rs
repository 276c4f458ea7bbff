//! The request for a plan.

use crate::language::Rule;
use crate::previous::Previous;
use graphmap_kpn::mapper::Mapper;
use graphmap_kpn::source::SourceMap;
use graphmap_partition::{Objective, Options};

/// Input of the mapping besides the network and the platform.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Number of OS processes. By default, one for each slot of the platform. There are never more
    /// OS processes than processes.
    pub os_processes: Option<usize>,
    /// True if launchers know the names of the hosts. False for a machine that `-n` describes.
    pub named_hosts: bool,
    /// Options of the search.
    pub options: Options,
    /// Quantity to minimize.
    pub objective: Objective,
    /// Tolerance of the balance limit, from 0 to 1000. 0.03 is 3%.
    pub imbalance: f64,
    /// Influence of modules on the mapping.
    pub modules: Modules,
    /// Rules in addition to the constraints of the graph.
    pub rules: &'a [Rule],
    /// Texts that contain the rules, so that diagnostics can show them. The texts of the network
    /// come first, and the texts of the rules follow. By default, there are only texts of the
    /// network.
    pub texts: Option<&'a SourceMap>,
    /// The mapping in use. The new mapping stays close to it.
    pub previous: Option<&'a Previous>,
    /// Mapper that finds the mapping, instead of the strategy of `options`. The mapping is checked,
    /// its cost and a bound are computed, and it never counts as proved to be optimal.
    pub mapper: Option<&'a (dyn Mapper + Sync)>,
    /// Mappers whose mappings are compared with the plan. Their mappings need not keep the rules.
    pub compared: &'a [&'a (dyn Mapper + Sync)],
}

impl Request<'_> {
    /// Returns true if the mapping is already known, so that no search is needed.
    pub(crate) fn has_mapping(&self) -> bool {
        self.mapper.is_some_and(Mapper::is_given)
    }
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
            mapper: None,
            compared: &[],
        }
    }
}

/// Influence of modules on the mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Modules {
    /// Modules have no influence.
    #[default]
    Ignore,
    /// The processes of an innermost module attract each other, as if channels with this traffic
    /// joined them.
    Prefer(f64),
    /// The processes of an innermost module stay in one OS process.
    Atom,
}
