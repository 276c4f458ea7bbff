//! Nodes that are not processes: module ports and included graphs.

use super::explicit::Explicit;
use super::keys::Key;
use super::reading::{BUNDLE, ENVIRONMENT, INCLUDED, PORT, Reading, node_id, place};
use super::value;
use crate::codes;
use crate::events::Attribute;
use graphmap_kpn::declared::{Direction, IncludeDecl, ModulePortDecl};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::expression::is_name;
use graphmap_kpn::names::Symbol;
use graphmap_kpn::sizes::{Given, definitions, entries};
use graphmap_kpn::source::Span;
use hashbrown::{HashMap, HashSet};

/// Attributes of a node that may be a module port or an included graph.
#[derive(Default)]
struct Draft {
    direction: Option<(Direction, Span)>,
    name: Option<(Symbol, Span)>,
    file: Option<(String, Span)>,
    sizes: Given,
    kinds: Vec<(Symbol, Symbol)>,
    /// First attribute that only included graphs have.
    of_included: Option<Attribute>,
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
            _ => {}
        }
    }

    /// Declares the module ports and included graphs. Reports attributes that do not fit to them.
    /// `explicit` has the attributes of all nodes.
    pub(super) fn finish(self, reading: &mut Reading<'_>, explicit: &Explicit) {
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
        );
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
            self.report.push(
                error
                    .at(attribute.name.span, "allowed on an included graph")
                    .help("name the file of the graph: `use=\"farm.dot\"`"),
            );
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
    fn sizes_of_included(&mut self, attribute: &Attribute, sizes: &mut Given) {
        let list = self.text.value(attribute.value).into_owned();
        let place = place(attribute);
        let all = match definitions(&list) {
            Ok(all) => all,
            Err(at) => {
                let message = format!("`{}` does not define a size", &list[at.clone()]);
                self.report.push(
                    Diagnostic::error(codes::BAD_VALUE, message)
                        .at(place.part(&at), "expected NAME=EXPRESSION")
                        .help("separate definitions by commas: `sizes=\"n=8, half=n/2\"`"),
                );
                return;
            }
        };
        for definition in all {
            let text_place = place.at_part(&definition.text_at);
            self.evaluated += 1;
            let scope = self.scope as usize;
            match self.sizes.evaluate(scope, definition.text, text_place, &[]) {
                Ok(Some(value)) => {
                    if sizes.set(definition.name, value).is_some() {
                        let name = definition.name;
                        let message = format!("the size `{name}` is defined twice");
                        let error = Diagnostic::error(codes::CONTRADICTION, message);
                        let at = place.part(&definition.at);
                        self.report
                            .push(error.at(at, "").help("remove one of the two"));
                    }
                }
                Ok(None) => {}
                Err(error) => self.report.push(*error),
            }
        }
    }

    /// Adds the pairs of `kinds=` on an included graph. Reports errors.
    fn kinds_of_included(&mut self, attribute: &Attribute, kinds: &mut Vec<(Symbol, Symbol)>) {
        let list = self.text.value(attribute.value).into_owned();
        for entry in entries(&list) {
            let pair = list[entry.clone()].split_once('=');
            let pair = pair.map(|(old, new)| (old.trim(), new.trim()));
            match pair.filter(|(old, new)| is_name(old) && !new.is_empty()) {
                Some((old, new)) => {
                    let names = &mut self.out.names;
                    kinds.push((names.intern(old), names.intern(new)));
                }
                None => {
                    let message = format!("`{}` does not rename a kind", &list[entry.clone()]);
                    self.report.push(
                        Diagnostic::error(codes::BAD_VALUE, message)
                            .at(place(attribute).part(&entry), "expected OLD=NEW")
                            .help("separate pairs by commas: `kinds=\"worker=render, sink=show\"`"),
                    );
                }
            }
        }
    }
}
