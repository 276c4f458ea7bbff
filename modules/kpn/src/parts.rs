//! Checks that the parts of declarations fit together, because [`crate::expand`] and
//! [`crate::resolve`] follow their ids.
//!
//! The front ends of graphmap make no such errors, but other front ends may.

use crate::arena::Id;
use crate::attributes::{AttributesId, too_many_names};
use crate::codes;
use crate::declared::{ConstraintTarget, Declared, EndDecl};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::limited::LimitedDiagnostics;
use crate::names::Symbol;
use crate::source::Span;

/// Checks that each id, symbol and index refers to an existing element, and that a module follows
/// its parent. The time is linear.
///
/// # Errors
/// Returns an error (`G0318`) for each violation, at most 10. A note of the last one states the
/// number of the others. Also returns an error for too many names of attributes (`G0243`).
pub(crate) fn check(declared: &Declared) -> Result<(), Diagnostics> {
    let mut check = Check {
        declared,
        limited: LimitedDiagnostics::default(),
    };
    check.modules();
    check.nodes();
    check.channels();
    check.constraints();
    check.ports();
    check.attributes();
    check.arguments();
    let mut found = Diagnostics::new();
    check.limited.add_to(&mut found);
    if found.is_empty() && declared.attributes.lists.has_too_many(&declared.names) {
        found.push(too_many_names());
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(found),
    }
}

struct Check<'d> {
    declared: &'d Declared,
    limited: LimitedDiagnostics,
}

impl Check<'_> {
    fn wrong(&mut self, span: Span, message: impl FnOnce() -> String) {
        self.limited.push(|| {
            Diagnostic::error(codes::BROKEN_NETWORK, message())
                .at(span, "")
                .help("check the front end or the program that declared this network")
        });
    }

    fn arguments(&mut self) {
        for (i, arguments) in self.declared.arguments.iter().enumerate() {
            if arguments.node.index() >= self.declared.nodes.len() {
                self.wrong(arguments.list.span, || {
                    format!("the arguments {i} belong to a node that does not exist")
                });
            }
        }
    }

    #[inline]
    fn is_name(&self, symbol: Symbol) -> bool {
        symbol.index() < self.declared.names.len()
    }

    fn nameless(&mut self, span: Span, what: &str, index: usize) {
        self.wrong(span, || {
            format!("{what} {index} has a name that is not in the table of names")
        });
    }

    fn modules(&mut self) {
        for (id, module) in self.declared.modules.iter() {
            if !self.is_name(module.name) || !self.is_name(module.kind) {
                self.nameless(module.span, "module", id.index());
            }
            if module.parent.is_some_and(|p| p.index() >= id.index()) {
                self.wrong(module.span, || {
                    let id = id.index();
                    format!("module {id} does not come after its parent")
                });
            }
        }
    }

    fn nodes(&mut self) {
        let modules = self.declared.modules.len();
        for (id, node) in self.declared.nodes.iter() {
            let named = self.is_name(node.name) && self.is_name(node.kind);
            let mut others = [node.process, node.port_prefix].into_iter().flatten();
            if !named || others.any(|name| !self.is_name(name)) {
                self.nameless(node.span, "node", id.index());
            }
            if node.module.is_some_and(|m| m.index() >= modules) {
                self.wrong(node.span, || {
                    format!("node {} is in a module that does not exist", id.index())
                });
            }
        }
    }

    fn channels(&mut self) {
        let declared = self.declared;
        let (nodes, modules) = (declared.nodes.len(), declared.modules.len());
        let there = |end: EndDecl| end.node.is_none_or(|n| n.index() < nodes);
        for (index, channel) in declared.channels.iter().enumerate() {
            if !there(channel.from) || !there(channel.to) {
                self.wrong(channel.span, || {
                    format!("channel {index} ends at a node that does not exist")
                });
            }
            if channel.within.is_some_and(|m| m.index() >= modules) {
                self.wrong(channel.span, || {
                    format!("channel {index} is declared in a module that does not exist")
                });
            }
            let ports = [channel.from, channel.to];
            let mut ports = ports.iter().filter(|e| e.node.is_some()).map(|e| e.port);
            if !ports.all(|p| self.is_name(p)) || channel.ty.is_some_and(|t| !self.is_name(t)) {
                self.wrong(channel.span, || {
                    format!(
                        "channel {index} has a port or a type that is not in the table of names"
                    )
                });
            }
            if channel.extra.is_some() && declared.extra(channel).is_none() {
                self.wrong(channel.span, || {
                    format!("channel {index} refers to an extra that does not exist")
                });
            }
        }
        for extra in &declared.extras {
            if extra.bundle_name.is_some_and(|name| !self.is_name(name)) {
                self.wrong(extra.span, || {
                    "a bundle has a name that is not in the table of names".to_owned()
                });
            }
        }
    }

    fn attributes(&mut self) {
        let Declared {
            modules,
            nodes,
            extras,
            attributes,
            ..
        } = self.declared;
        let lists = &attributes.lists;
        let is_list = |list: Option<AttributesId>| list.is_none_or(|l| l.index() < lists.len());
        let fit = lists.fit(&self.declared.names)
            && is_list(attributes.graph)
            && attributes.modules.fit(lists, modules.len())
            && attributes.nodes.fit(lists, nodes.len())
            && extras.iter().all(|extra| is_list(extra.attributes));
        if !fit {
            self.wrong(Span::NONE, || {
                "an attribute belongs to an element that does not exist, or has a name that is not \
                 in the table of names"
                    .to_owned()
            });
        }
    }

    fn ports(&mut self) {
        let declared = self.declared;
        let nodes = declared.nodes.len();
        for port in &declared.ports {
            if port.node.index() >= nodes || !self.is_name(port.name) {
                self.wrong(port.span, || {
                    "a module port has a node or a name that does not exist".to_owned()
                });
            }
        }
        if !declared.ports.is_sorted_by_key(|port| port.node) {
            self.wrong(Span::NONE, || {
                "the module ports are not in the order of their nodes".to_owned()
            });
        }
        for include in &declared.includes {
            self.wrong(include.span, || {
                format!("the included graph `{}` was not read", include.file)
            });
        }
        for extra in &declared.extras {
            let Some(list) = extra.pairs else {
                continue;
            };
            let end = u64::from(list.first) + u64::from(list.count);
            if end > declared.pairs.len() as u64 {
                self.wrong(extra.span, || {
                    "a channel refers to pairs of instances that do not exist".to_owned()
                });
            }
        }
    }

    fn constraints(&mut self) {
        let declared = self.declared;
        for constraint in &declared.constraints {
            let there = match constraint.target {
                ConstraintTarget::Node(node) => node.index() < declared.nodes.len(),
                ConstraintTarget::Module(module) => module.index() < declared.modules.len(),
            };
            if !there {
                self.wrong(constraint.span, || {
                    "a constraint names a node or a module that does not exist".to_owned()
                });
            }
        }
    }
}
