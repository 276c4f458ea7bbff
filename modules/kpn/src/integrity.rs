//! Integrity: that a network is what [`crate::network`] says of its parts, so that whoever follows an
//! id finds what it names.
//!
//! [`crate::resolve`] makes networks that are so; passes may leave anything behind. What is not so
//! is told as `G0318` (parts that do not fit together) and `G0319` (numbers that mean nothing), and
//! nothing else is looked at then: other checks follow ids. In particular:
//!
//! - each id and each symbol is in range;
//! - ports lie side by side by process, and each is joined to what is joined to it: a channel goes
//!   from an output to an input, each end is at one port, and bundles and their channels agree;
//! - each process is a member of its kind once, in the order of ranks, and of no other; a module
//!   comes after the one it lies in;
//! - names are unique where they are addresses: of processes, of kinds, of the ports of a process, of
//!   the modules in a module;
//! - loads, memory, traffic and preferences are finite and at least 0, a capacity is at least 1, a
//!   tag at least 0;
//! - a constraint speaks of processes that are there, each once, in the order of ranks; one of a
//!   module, of those in it.
//!
//! Spans are not looked at: [`crate::source::SourceMap`] shows nothing for one that lies nowhere.
//! Nor are the ports of kinds, which [`crate::infer`] makes anew.
//!
//! The cost is linear: a row of stamps takes the place of each set.

use crate::arena::{Arena, Id};
use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::names::Symbol;
use crate::network::Network;
use crate::source::Span;
use crate::told::Told;

mod joins;
mod members;
mod numbers;
#[cfg(test)]
mod tests;

/// What is wrong with the parts of a network; empty if nothing is.
pub fn check(network: &Network) -> Diagnostics {
    let mut check = Check {
        network,
        parts: Told::default(),
        numbers: Told::default(),
    };
    check.modules();
    check.kinds();
    check.processes();
    check.constraints();
    check.constraint_numbers();
    let mut found = Diagnostics::new();
    check.parts.add_to(&mut found);
    check.numbers.add_to(&mut found);
    found
}

struct Check<'n> {
    network: &'n Network,
    parts: Told,
    numbers: Told,
}

impl Check<'_> {
    /// Two parts do not fit together.
    fn part(&mut self, span: Span, message: impl FnOnce(&Network) -> String) {
        self.parts.tell(|| {
            Diagnostic::error(codes::BROKEN_NETWORK, message(self.network))
                .at(span, "")
                .help("check the pass or the program that made this network")
        });
    }

    /// A number means nothing.
    fn number(&mut self, span: Span, message: impl FnOnce(&Network) -> String) {
        self.numbers
            .tell(|| Diagnostic::error(codes::BAD_NUMBER, message(self.network)).at(span, ""));
    }

    #[inline]
    fn is_name(&self, symbol: Symbol) -> bool {
        symbol.index() < self.network.names.len()
    }

    fn nameless(&mut self, span: Span, what: &str) {
        self.part(span, |_| {
            format!("{what} has a name that is not in the network's table of names")
        });
    }
}

/// A name to show.
fn shown(network: &Network, symbol: Symbol) -> &str {
    if symbol.index() < network.names.len() {
        network.name(symbol)
    } else {
        "?"
    }
}

/// Whether an id is that of an element.
fn is_in<I: Id, T>(arena: &Arena<I, T>, id: I) -> bool {
    id.index() < arena.len()
}
