//! Nodes that are not processes: module ports and included graphs.

use super::constraint::Constraints;
use super::explicit::{Explicit, List};
use super::keys::Key;
use super::reading::{BUNDLE, ENVIRONMENT, INCLUDED, PORT, Reading, node_id, place};
use super::value;
use crate::codes;
use crate::events::Attribute;
use graphmap_kpn::declared::{ConstraintTarget, Direction, IncludeDecl, ModulePortDecl};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::expression::is_name;
use graphmap_kpn::names::Symbol;
use graphmap_kpn::sizes::{defined_twice, definitions, entries};
use graphmap_kpn::source::Span;
use hashbrown::{HashMap, HashSet};

/// Attributes of a node that may be a module port or an included graph.
#[derive(Default)]
struct Draft {
    direction: Option<(Direction, Span)>,
    name: Option<(Symbol, Span)>,
    file: Option<(String, Span)>,
    sizes: Vec<(String, i64, Span)>,
    kinds: Vec<(Symbol, Symbol, Span)>,
    /// First attribute that only included graphs have.
    of_included: Option<Attribute>,
    /// Constraints that only modules have.
    of_module: List,
}

/// The module ports and included graphs of a file.
#[derive(Default)]
pub(super) struct SpecialNodes {
    drafts: HashMap<u32, Draft>,
}

impl SpecialNodes {
    /// Adds an attribute to the draft of a node. Reports an invalid value.
    pub(super) fn key(
        &mut self,
        reading: &mut Reading<'_>,
        number: u32,
        key: Key,
        attribute: &Attribute,
    ) {
        let draft = self.drafts.entry(number).or_default();
        let span = attribute.span();
        match key {
            Key::Port => {
                if let Some(direction) = reading.read(attribute, value::direction) {
                    draft.direction = Some((direction, span));
                    reading.flags[number as usize] |= PORT;
                }
            }
            Key::PortName => {
                draft.name = reading
                    .symbol(attribute)
                    .map(|name| (name, span))
                    .or(draft.name);
            }
            Key::Use => {
                let file = reading.read(attribute, |v| value::name(v).map(str::to_owned));
                if let Some(file) = file {
                    draft.file = Some((file, attribute.value.span));
                    reading.flags[number as usize] |= INCLUDED;
                }
            }
            Key::Sizes => {
                draft.of_included.get_or_insert(*attribute);
                reading.sizes_of_included(attribute, &mut draft.sizes);
            }
            Key::Kinds => {
                draft.of_included.get_or_insert(*attribute);
                reading.kinds_of_included(attribute, &mut draft.kinds);
            }
            _ => {
                draft.of_included.get_or_insert(*attribute);
                draft.of_module.push((key, *attribute));
            }
        }
    }

    /// Declares the module ports and included graphs. Reports attributes that do not fit to them.
    /// `explicit` has the attributes of all nodes. Adds constraints on included graphs to
    /// `constraints`.
    pub(super) fn finish(
        self,
        reading: &mut Reading<'_>,
        explicit: &Explicit,
        constraints: &mut Constraints,
    ) {
        if self.drafts.is_empty() {
            return;
        }
        let mut of_process = of_processes(reading, explicit);
        let mut drafts: Vec<(u32, Draft)> = self.drafts.into_iter().collect();
        drafts.sort_unstable_by_key(|(number, _)| *number);
        let mut names = HashSet::new();
        for (number, draft) in drafts {
            if reading.flags[number as usize] & ENVIRONMENT != 0 {
                continue;
            }
            let node = node_id(number);
            let name = reading.out.nodes[node].name;
            match (draft.direction, draft.file) {
                (None, None) => reading.plain_node(draft.name, draft.of_included),
                (Some((_, span)), Some((_, file))) => {
                    let message = "a node is a module port or includes a graph, not both";
                    let error = Diagnostic::error(codes::MISPLACED_ATTRIBUTE, message);
                    reading
                        .report
                        .push(error.at(file, "").also(span, "a module port"));
                }
                (Some((direction, span)), None) => {
                    if let Some(attribute) = of_process.remove(&number).or(draft.of_included) {
                        reading.of_module_port(&attribute, span);
                    } else if reading.flags[number as usize] & BUNDLE != 0 {
                        let message = "a module port cannot be a bundle";
                        reading.report.push(
                            Diagnostic::error(codes::MISPLACED_ATTRIBUTE, message)
                                .at(span, "")
                                .help("set `bundle=` on the edges of the port"),
                        );
                    }
                    // Defaults of processes.
                    let declared = &mut reading.out.nodes[node];
                    (declared.replicas, declared.process) = (None, None);
                    let (name, at) = draft.name.unwrap_or((name, span));
                    let module = reading.out.nodes[node].module;
                    if !names.insert((module, name)) {
                        let text = reading.out.names.name(name);
                        let message =
                            format!("two module ports of one module have the name `{text}`");
                        let error = Diagnostic::error(codes::CONTRADICTION, message);
                        reading
                            .report
                            .push(error.at(at, "").help("set `name=` on one of them"));
                    }
                    reading.out.ports.push(ModulePortDecl {
                        node,
                        direction,
                        name,
                        span,
                    });
                }
                (None, Some((file, span))) => {
                    if let Some((_, at)) = draft.name {
                        reading.plain_node(Some((name, at)), None);
                    }
                    if let Some(attribute) = of_process.remove(&number) {
                        let text = reading.text.value(attribute.name);
                        let message = format!("`{text}` is not allowed on an included graph");
                        reading.report.push(
                            Diagnostic::error(codes::MISPLACED_ATTRIBUTE, message)
                                .at(attribute.name.span, "allowed on a process")
                                .also(span, "the included graph"),
                        );
                    }
                    for (key, attribute) in draft.of_module {
                        let target = ConstraintTarget::Node(node);
                        constraints.add(reading, target, key, &attribute);
                    }
                    reading.out.includes.push(IncludeDecl {
                        node,
                        file,
                        sizes: draft.sizes,
                        kinds: draft.kinds,
                        span,
                    });
                }
            }
        }
    }
}

/// Returns the first explicit attribute of each module port and each included graph that only
/// processes have.
fn of_processes(reading: &Reading<'_>, explicit: &Explicit) -> HashMap<u32, Attribute> {
    let mut found = HashMap::new();
    for (number, attribute) in explicit.attributes() {
        let flags = reading.flags[number as usize];
        if flags & (PORT | INCLUDED) == 0 {
            continue;
        }
        let Some(key) = Key::of(&reading.text.value(attribute.name)) else {
            continue;
        };
        let of_module = matches!(
            key,
            Key::Replicas
                | Key::Host
                | Key::OsProcess
                | Key::Colocate
                | Key::Separate
                | Key::Program
        ) || key.is_of_module();
        let fits = key.is_of_special_node() || (flags & INCLUDED != 0 && of_module);
        if !fits && key != Key::Bundle {
            found.entry(number).or_insert(attribute);
        }
    }
    found
}

impl Reading<'_> {
    /// Reports attributes of module ports and of included graphs on a process.
    fn plain_node(&mut self, name: Option<(Symbol, Span)>, of_included: Option<Attribute>) {
        if let Some((_, span)) = name {
            self.report.push(
                Diagnostic::error(
                    codes::MISPLACED_ATTRIBUTE,
                    "`name` is not allowed on a process",
                )
                .at(span, "allowed on a module port")
                .help("add `port=in` or `port=out`, or use `label=` for the name in the picture"),
            );
        }
        if let Some(attribute) = of_included {
            let name = self.text.value(attribute.name);
            let message = format!("`{name}` is not allowed on a process");
            let error = Diagnostic::error(codes::MISPLACED_ATTRIBUTE, message);
            let span = attribute.name.span;
            self.report.push(match Key::of(&name) {
                Some(key) if key.is_of_module() => {
                    error.at(span, "allowed on a cluster or an included graph")
                }
                _ => error
                    .at(span, "allowed on an included graph")
                    .help("name the file of the graph: `use=\"farm.dot\"`"),
            });
        }
    }

    pub(super) fn of_module_port(&mut self, attribute: &Attribute, port: Span) {
        let name = self.text.value(attribute.name);
        let message = format!("`{name}` is not allowed on a module port");
        self.report.push(
            Diagnostic::error(codes::MISPLACED_ATTRIBUTE, message)
                .at(attribute.name.span, "allowed on a process")
                .also(port, "a module port is not a process")
                .help("set the attribute on the processes, on the edges or on the cluster"),
        );
    }

    /// Adds the values of `sizes=` on an included graph. Reports errors.
    fn sizes_of_included(&mut self, attribute: &Attribute, sizes: &mut Vec<(String, i64, Span)>) {
        let list = self.text.value(attribute.value).into_owned();
        let place = place(attribute);
        let all = definitions(&list, place, &mut |error| self.report.push(error));
        for definition in all.iter().filter(|one| !one.text.is_empty()) {
            let (name, at) = (definition.name, place.part(&definition.at));
            if let Some((.., first)) = sizes.iter().find(|(known, ..)| known == name) {
                self.report.push(defined_twice(name, *first, at));
                continue;
            }
            let text_place = place.at_part(&definition.text_at);
            self.evaluated += 1;
            let scope = self.scope as usize;
            match self.sizes.evaluate(scope, definition.text, text_place, &[]) {
                Ok(Some(value)) => sizes.push((name.to_owned(), value, at)),
                Ok(None) => {}
                Err(error) => self.report.push(*error),
            }
        }
    }

    /// Adds the pairs of `kinds=` on an included graph. Reports errors.
    fn kinds_of_included(
        &mut self,
        attribute: &Attribute,
        kinds: &mut Vec<(Symbol, Symbol, Span)>,
    ) {
        let list = self.text.value(attribute.value).into_owned();
        for entry in entries(&list) {
            let at = place(attribute).part(&entry);
            let pair = list[entry.clone()].split_once('=');
            let pair = pair.map(|(old, new)| (old.trim(), new.trim()));
            match pair.filter(|(old, new)| is_name(old) && !new.is_empty()) {
                Some((old, new)) => {
                    let names = &mut self.out.names;
                    let (symbol, new) = (names.intern(old), names.intern(new));
                    match kinds.iter().find(|(known, ..)| *known == symbol) {
                        None => kinds.push((symbol, new, at)),
                        Some(&(.., first)) => {
                            let message = format!("the kind `{old}` is renamed twice");
                            self.contradict(message, first, at);
                        }
                    }
                }
                None => {
                    let message = format!("`{}` does not rename a kind", &list[entry.clone()]);
                    self.report.push(
                        Diagnostic::error(codes::BAD_VALUE, message)
                            .at(at, "expected OLD=NEW")
                            .help("separate pairs by commas: `kinds=\"worker=render, sink=show\"`"),
                    );
                }
            }
        }
    }
}
