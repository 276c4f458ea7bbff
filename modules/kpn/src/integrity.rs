//! Integrity: the parts of a network fit together, so that each id refers to an existing element.
//!
//! [`crate::resolve`] creates networks with integrity, but passes may violate it. Violations are
//! reported as `G0318` (parts that do not fit together) and `G0319` (invalid numbers). Further
//! checks are then skipped, because they follow ids. The conditions are:
//!
//! - Each id and each symbol is in range.
//! - The ports of a process are contiguous, in the order of processes. Ports and the elements that
//!   they are joined to agree: a channel leads from an output to an input, each of its ends is at
//!   one port, and bundles and their channels agree.
//! - Each process is a member of its kind once, in the order of ranks, and of no other kind. A
//!   module follows its parent.
//! - Names are unique among processes, among kinds, among the ports of a process, and among the
//!   modules in a module. A process is not named `NULL`. Names of hosts and groups in constraints
//!   are not empty.
//! - Loads, memory, traffic and preferences are finite and at least 0. A capacity is at least 1,
//!   and a tag at least 0. The minimum of `hold` does not exceed its maximum.
//! - A constraint applies to existing processes, each once, in the order of ranks. A constraint of
//!   a module applies to the processes in the module. `whole` and `prefer` are constraints of
//!   modules.
//! - Attributes that are not interpreted belong to existing elements.
//!
//! Spans are not checked, because [`crate::source::SourceMap`] clamps them. The ports of kinds are
//! not checked, because [`crate::infer`] replaces them.
//!
//! The time is linear, because vectors of stamps are used instead of sets.

use crate::arena::{Arena, Id};
use crate::attributes::AttributesId;
use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::limited::LimitedDiagnostics;
use crate::names::Symbol;
use crate::network::{Network, NetworkAttributes};
use crate::source::Span;

mod joins;
mod members;
mod numbers;
#[cfg(test)]
mod tests;

/// Returns the violations of integrity of a network, all of which are errors. The result is empty
/// if there are none. At most 10 are listed for each code. A note states the number of the others.
pub fn check(network: &Network) -> Diagnostics {
    let mut check = Check {
        network,
        parts: LimitedDiagnostics::default(),
        numbers: LimitedDiagnostics::default(),
    };
    check.modules();
    check.kinds();
    check.processes();
    check.constraints();
    check.constraint_numbers();
    check.attributes();
    check.arguments();
    let mut found = Diagnostics::new();
    check.parts.add_to(&mut found);
    check.numbers.add_to(&mut found);
    found
}

struct Check<'n> {
    network: &'n Network,
    parts: LimitedDiagnostics,
    numbers: LimitedDiagnostics,
}

impl Check<'_> {
    /// Reports parts that do not fit together (`G0318`). Calls `message` only if the diagnostic is
    /// listed.
    fn part(&mut self, span: Span, message: impl FnOnce(&Network) -> String) {
        self.parts.push(|| {
            Diagnostic::error(codes::BROKEN_NETWORK, message(self.network))
                .at(span, "")
                .help("check the pass or the program that made this network")
        });
    }

    /// Reports an invalid number (`G0319`). Calls `message` only if the diagnostic is listed.
    fn number(&mut self, span: Span, message: impl FnOnce(&Network) -> String) {
        self.numbers
            .push(|| Diagnostic::error(codes::BAD_NUMBER, message(self.network)).at(span, ""));
    }

    /// Reports processes whose arguments do not fit the parameters of their kind.
    fn arguments(&mut self) {
        let network = self.network;
        if network.parameters.is_empty() && network.arguments.is_empty() {
            return;
        }
        for (id, process) in network.processes.iter() {
            let parameters = network.parameters.get(&process.kind);
            let parameters = parameters.map_or(&[][..], |parameters| parameters);
            let arguments = network.arguments.get(&id);
            let arguments = arguments.map_or(&[][..], |arguments| arguments);
            let fits = parameters.len() == arguments.len()
                && parameters.iter().zip(arguments).all(|(p, a)| p.accepts(a));
            if !fits {
                self.part(process.span, |network| {
                    let name = shown(network, process.name);
                    format!("the arguments of `{name}` do not fit the parameters of its kind")
                });
            }
        }
    }

    #[inline]
    fn is_name(&self, symbol: Symbol) -> bool {
        symbol.index() < self.network.names.len()
    }

    fn attributes(&mut self) {
        let n = self.network;
        let NetworkAttributes {
            lists,
            graph,
            modules,
            processes,
            channels,
            closed,
        } = &n.attributes;
        let is_list = |list: &AttributesId| list.index() < lists.len();
        let fit = lists.fit(&n.names)
            && graph.as_ref().is_none_or(is_list)
            && modules.fit(lists, n.modules.len())
            && processes.fit(lists, n.processes.len())
            && channels.fit(lists, n.channels.len())
            && closed.fit(lists, n.closed.len());
        if !fit {
            self.part(Span::NONE, |_| {
                "an attribute belongs to an element that does not exist, or has a name that is not \
                 in the network's table of names"
                    .to_owned()
            });
        }
    }

    fn nameless(&mut self, span: Span, what: &str) {
        self.part(span, |_| {
            format!("{what} has a name that is not in the network's table of names")
        });
    }
}

/// Returns a name for a message, or `?` if the symbol is out of range.
fn shown(network: &Network, symbol: Symbol) -> &str {
    if symbol.index() < network.names.len() {
        network.name(symbol)
    } else {
        "?"
    }
}

/// Returns true if an id is in the range of the arena.
fn is_in<I: Id, T>(arena: &Arena<I, T>, id: I) -> bool {
    id.index() < arena.len()
}
