//! Compositions without their structure: the processes in each, and the channels between them.
//!
//! The processes of a composition are its *leaves*: one for each process of the text, with a number
//! of instances. A link to an intermediate port of an inner composition ends at the ports of leaves
//! that the inner composition has linked to it. So the result has channels between ports of
//! processes only.

use crate::architecture::{Architecture, Formula, PartId, defined_twice, like};
use crate::codes;
use crate::syntax::{Composition, Expr, Link, Name, Port};
use graphmap_kpn::codes::TOO_MANY_REPLICAS;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::Span;
use rustc_hash::FxHashMap;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;

/// Limit on the processes, the channels, and the parts of all compositions.
const LIMIT: u64 = 1 << 28;
/// Limit on the leaves of all compositions. A part of a composition is many leaves.
const MOST_LEAVES: usize = 1 << 24;

/// A composition without its structure.
#[derive(Debug, Default)]
pub(crate) struct Flat<'f> {
    /// The parts, in order.
    pub(crate) parts: Vec<FlatPart<'f>>,
    /// Process and number of instances of each leaf, in the order of the parts.
    pub(crate) leaves: Vec<(usize, u32)>,
    /// Channels whose links are in this composition.
    pub(crate) channels: Vec<Channel>,
    /// Intermediate ports, by name.
    exposed: FxHashMap<&'f str, Exposed>,
    /// True if a link has an error, so that intermediate ports may be missing.
    is_wrong: bool,
}

#[derive(Debug)]
pub(crate) struct FlatPart<'f> {
    pub(crate) id: PartId,
    pub(crate) count: u32,
    pub(crate) name: &'f Name,
    /// Number of the first leaf of the part.
    leaf: u32,
}

/// An intermediate port.
#[derive(Debug)]
struct Exposed {
    /// True if channels leave the composition here.
    is_output: bool,
    /// True if a channel to the outside is one channel for each of several ends, for some values of
    /// the variables.
    fans: bool,
    ends: Vec<(End, Properties)>,
}

/// Port of one instance of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct End {
    pub(crate) leaf: u32,
    /// Number of the instance in one instance of the composition, from 0.
    pub(crate) index: u32,
    /// Number among the input ports or the output ports of the process.
    pub(crate) port: u32,
    /// True if several channels are at the port, for some values of the variables.
    pub(crate) is_shared: bool,
}

/// Properties of a channel that a link states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Properties {
    pub(crate) tag: Option<i32>,
    pub(crate) buffer_size: Option<NonZeroU32>,
}

/// A channel inside each instance of a composition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channel {
    pub(crate) from: End,
    pub(crate) to: End,
    pub(crate) properties: Properties,
    pub(crate) span: Span,
}

/// Returns all compositions without their structure, by number. Those with errors may be empty.
pub(crate) fn flatten<'f>(
    architecture: &mut Architecture<'f>,
    diagnostics: &mut Diagnostics,
) -> Vec<Flat<'f>> {
    let order = order(architecture, diagnostics);
    let mut flats: Vec<Flat<'f>> = Vec::new();
    flats.resize_with(architecture.compositions.len(), Flat::default);
    let mut leaves = 0;
    for composition in order {
        let of = architecture.compositions[composition];
        let mut flattening = Flattening {
            composition: of.declaration,
            structure: of.structure,
            flats: &flats,
            architecture,
            diagnostics,
            flat: Flat::default(),
            seen: FxHashMap::default(),
        };
        flattening.parts();
        let flat = &flattening.flat;
        leaves += flat.leaves.len();
        let processes: u64 = flat.leaves.iter().map(|(_, count)| u64::from(*count)).sum();
        if processes > LIMIT || leaves > MOST_LEAVES {
            let name = &of.declaration.name;
            let message = format!("the composition `{}` has too many processes", name.text);
            diagnostics.push(
                Diagnostic::error(TOO_MANY_REPLICAS, message)
                    .at(name.span, format!("the limit is {LIMIT}"))
                    .help("correct the numbers of instances"),
            );
            return Vec::new();
        }
        flattening.links();
        flats[composition] = flattening.flat;
    }
    flats
}

/// Returns the numbers of the compositions, inner ones first. Reports compositions that contain
/// themselves, and leaves them out.
pub(crate) fn order(architecture: &Architecture<'_>, diagnostics: &mut Diagnostics) -> Vec<usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut order = Vec::new();
    let mut states = vec![State::New; architecture.compositions.len()];
    for first in 0..states.len() {
        // Each entry is a composition and the number of its next part.
        let mut stack = vec![(first, 0)];
        if states[first] == State::Done {
            continue;
        }
        while let Some((composition, part)) = stack.pop() {
            states[composition] = State::Open;
            let declaration = architecture.compositions[composition].declaration;
            let Some(next) = declaration.parts.get(part) else {
                states[composition] = State::Done;
                order.push(composition);
                continue;
            };
            stack.push((composition, part + 1));
            let Some(PartId::Composition(inner)) = architecture.find(&next.name.text) else {
                continue;
            };
            match states[inner] {
                State::Done => {}
                State::New => stack.push((inner, 0)),
                State::Open => {
                    let message = format!("the composition `{}` contains itself", next.name.text);
                    let own = architecture.compositions[inner].declaration.name.span;
                    diagnostics.push(
                        Diagnostic::error(codes::CIRCULAR, message)
                            .at(next.name.span, "")
                            .also(own, "its declaration")
                            .help("remove it from one of the two compositions"),
                    );
                }
            }
        }
    }
    order
}

struct Flattening<'a, 'f> {
    composition: &'f Composition,
    structure: usize,
    architecture: &'a mut Architecture<'f>,
    flats: &'a [Flat<'f>],
    diagnostics: &'a mut Diagnostics,
    flat: Flat<'f>,
    /// Indices of the channels of this composition. Equal ones are one channel.
    seen: FxHashMap<(End, End, Option<i32>), usize>,
}

/// A port of a link.
struct Side<'f> {
    target: Target<'f>,
    /// The number of the instance, if the part is not an intermediate port.
    index: Option<Formula<'f>>,
    /// True if a loop repeats the link, and the port is the same in all rounds.
    is_constant: bool,
    span: Span,
}

#[derive(Clone, Copy)]
enum Target<'f> {
    /// Index of the part, and number of the port.
    Process(usize, u32),
    /// Index of the part, number of the composition, and intermediate port.
    Inner(usize, usize, &'f str),
    /// Intermediate port of the composition that has the link.
    Own(&'f str),
}

impl<'f> Flattening<'_, 'f> {
    fn parts(&mut self) {
        for part in &self.composition.parts {
            let Some(id) = self.architecture.part(&part.name, self.diagnostics) else {
                continue;
            };
            let same = |other: &&FlatPart<'_>| other.name.text == part.name.text;
            if let Some(other) = self.flat.parts.iter().find(same) {
                let error = defined_twice("part", &part.name, other.name.span);
                let help = format!("write `{}[2]` for two instances", part.name.text);
                self.diagnostics.push(error.help(help));
                continue;
            }
            let count = part.count.as_ref();
            let count = self
                .architecture
                .multiplicity(self.structure, count, self.diagnostics);
            let count = count.unwrap_or(1);
            let leaf = self.flat.leaves.len() as u32;
            match id {
                PartId::Process(process) => self.flat.leaves.push((process, count)),
                PartId::Composition(inner) => {
                    let leaves = self.flats[inner].leaves.iter();
                    let times = |(process, n): &(usize, u32)| (*process, n.saturating_mul(count));
                    self.flat.leaves.extend(leaves.map(times));
                }
            }
            self.flat.parts.push(FlatPart {
                id,
                count,
                name: &part.name,
                leaf,
            });
        }
    }

    fn links(&mut self) {
        for links in &self.composition.links {
            let mut range = 0..=0;
            if let Some((_, name)) = &links.range {
                let ranges = &self.architecture.structures[self.structure].ranges;
                let found = self
                    .architecture
                    .range(self.structure, name, ranges, self.diagnostics);
                let Some(found) = found else {
                    self.flat.is_wrong = true;
                    continue;
                };
                range = found;
            }
            let variable = links.range.as_ref().map(|(variable, _)| &*variable.text);
            for link in &links.links {
                let linked = self.link(link, variable, range.clone());
                self.flat.is_wrong |= linked.is_none();
            }
        }
        for port in &self.composition.exposed {
            if !self.flat.is_wrong && !self.flat.exposed.contains_key(&*port.text) {
                let message = format!("no link leads to the intermediate port `{}`", port.text);
                self.diagnostics.push(
                    Diagnostic::error(codes::BAD_LINK, message)
                        .at(port.span, "")
                        .help("link it to a port of the composition, or remove it from `@`"),
                );
            }
        }
    }

    fn bad(&mut self, message: impl Into<String>, span: Span, help: impl Into<String>) {
        let error = Diagnostic::error(codes::BAD_LINK, message).at(span, "");
        self.diagnostics.push(error.help(help));
    }

    /// Adds the channels of a link. Returns `None` after an error, which was reported.
    fn link(
        &mut self,
        link: &'f Link,
        variable: Option<&str>,
        range: RangeInclusive<i64>,
    ) -> Option<()> {
        let from = self.side(&link.from, variable, true);
        let to = self.side(&link.to, variable, false);
        let terms = self.terms(link, variable);
        let (mut from, mut to, mut terms) = (from?, to?, terms?);
        if let (Target::Own(_), Target::Own(_)) = (from.target, to.target) {
            let message = "a link joins two intermediate ports of one composition";
            self.bad(message, link.span, "link each of them to a port of a part");
            return None;
        }
        let fans = (self.fans(&from), self.fans(&to));
        for (side, is_output, fans) in [(&from, false, fans.1), (&to, true, fans.0)] {
            let Target::Own(name) = side.target else {
                continue;
            };
            let exposed = self.flat.exposed.entry(name).or_insert(Exposed {
                is_output,
                fans: false,
                ends: Vec::new(),
            });
            exposed.fans |= side.is_constant || fans;
            if exposed.is_output != is_output {
                let message = format!("channels enter and leave at the intermediate port `{name}`");
                self.bad(message, side.span, "use a port for each direction");
                return None;
            }
        }
        let shared = (from.is_constant || fans.1, to.is_constant || fans.0);
        for round in range {
            let from_ends = self.ends(&mut from, round, shared.0)?;
            let to_ends = self.ends(&mut to, round, shared.1)?;
            let properties = self.properties(&mut terms, round)?;
            match (from.target, to.target) {
                (Target::Own(name), _) => self.expose(name, &to_ends, properties, link.span)?,
                (_, Target::Own(name)) => self.expose(name, &from_ends, properties, link.span)?,
                _ => self.join(&from_ends, &to_ends, properties, link.span)?,
            }
        }
        Some(())
    }

    fn expose(
        &mut self,
        port: &'f str,
        ends: &[(End, Properties)],
        properties: Properties,
        span: Span,
    ) -> Option<()> {
        for (end, own) in ends {
            let properties = self.united(*own, properties, span)?;
            let exposed = self
                .flat
                .exposed
                .get_mut(port)
                .expect("the port was added before");
            exposed.ends.push((*end, properties));
            exposed.fans |= exposed.ends.len() > 1;
        }
        Some(())
    }

    fn join(
        &mut self,
        from: &[(End, Properties)],
        to: &[(End, Properties)],
        properties: Properties,
        span: Span,
    ) -> Option<()> {
        for (from, of_from) in from {
            for (to, of_to) in to {
                let properties = self.united(properties, *of_from, span)?;
                let properties = self.united(properties, *of_to, span)?;
                let made = self.flat.channels.len();
                let at = *self
                    .seen
                    .entry((*from, *to, properties.tag))
                    .or_insert(made);
                if at < made {
                    let known = self.flat.channels[at].properties;
                    self.flat.channels[at].properties = self.united(known, properties, span)?;
                    continue;
                }
                if self.seen.len() as u64 > LIMIT {
                    self.diagnostics.push(
                        Diagnostic::error(TOO_MANY_REPLICAS, "the network has too many channels")
                            .at(span, format!("the limit is {LIMIT}"))
                            .help("correct the range of the loop"),
                    );
                    return None;
                }
                self.flat.channels.push(Channel {
                    from: *from,
                    to: *to,
                    properties,
                    span,
                });
            }
        }
        Some(())
    }

    /// Returns the properties of two links of one channel.
    fn united(&mut self, a: Properties, b: Properties, span: Span) -> Option<Properties> {
        let differ = |a: Option<i64>, b: Option<i64>| a.is_some() && b.is_some() && a != b;
        let size = |properties: Properties| properties.buffer_size.map(|n| i64::from(n.get()));
        let tags = (a.tag.map(i64::from), b.tag.map(i64::from));
        let what = match () {
            () if differ(tags.0, tags.1) => "tag",
            () if differ(size(a), size(b)) => "buffersize",
            () => {
                return Some(Properties {
                    tag: a.tag.or(b.tag),
                    buffer_size: a.buffer_size.or(b.buffer_size),
                });
            }
        };
        let message = format!("two links of one channel have different values of `{what}`");
        self.bad(
            message,
            span,
            format!("write `{what}` at one of the links only"),
        );
        None
    }

    /// Returns the expressions of `tag` and `buffersize` of a link, or `None` after an error.
    fn terms(
        &mut self,
        link: &'f Link,
        variable: Option<&str>,
    ) -> Option<[Option<Formula<'f>>; 2]> {
        let mut formula = |expr: &'f Option<Expr>| match expr {
            None => Some(None),
            Some(expr) => {
                let structure = self.structure;
                let formula =
                    self.architecture
                        .formula(structure, expr, variable, self.diagnostics);
                formula.map(Some)
            }
        };
        let (tag, size) = (formula(&link.tag), formula(&link.buffer_size));
        Some([tag?, size?])
    }

    /// Returns the properties in a round of the loop, or `None` after an error.
    fn properties(
        &mut self,
        [tag, size]: &mut [Option<Formula<'f>>; 2],
        round: i64,
    ) -> Option<Properties> {
        let mut value = |formula: &mut Option<Formula<'f>>, least: i64| {
            let Some(formula) = formula else {
                return Some(None);
            };
            let value = formula.value(round, self.diagnostics)?;
            match i32::try_from(value).ok().filter(|_| value >= least) {
                Some(value) => Some(Some(value)),
                None => {
                    let expr = formula.expr;
                    let message = format!("`{}` is {value}", expr.text);
                    let most = i32::MAX;
                    self.diagnostics
                        .push(Diagnostic::error(codes::OUT_OF_RANGE, message).at(
                            expr.place.span,
                            format!("expected a number from {least} to {most}"),
                        ));
                    None
                }
            }
        };
        let (tag, size) = (value(tag, 0), value(size, 1));
        Some(Properties {
            tag: tag?,
            buffer_size: size?.and_then(|size| NonZeroU32::new(size.unsigned_abs())),
        })
    }

    fn exposed(&self, composition: usize, port: &str) -> Option<&Exposed> {
        self.flats[composition].exposed.get(port)
    }

    fn fans(&self, side: &Side<'f>) -> bool {
        match side.target {
            Target::Inner(_, inner, port) => self.exposed(inner, port).is_some_and(|e| e.fans),
            Target::Process(..) | Target::Own(_) => false,
        }
    }

    /// Returns the parts that have a port in a direction.
    fn parts_with(&self, port: &'f str, is_output: bool) -> impl Iterator<Item = Target<'f>> {
        let of_part = move |(index, part): (usize, &FlatPart<'f>)| match part.id {
            PartId::Process(process) => {
                let declared = self.architecture.processes[process].declaration;
                let ports = if is_output {
                    &declared.outputs
                } else {
                    &declared.inputs
                };
                let port = ports.iter().position(|name| name.text == port)?;
                Some(Target::Process(index, port as u32))
            }
            PartId::Composition(inner) => {
                let exposed = self.exposed(inner, port)?;
                (exposed.is_output == is_output).then_some(Target::Inner(index, inner, port))
            }
        };
        self.flat.parts.iter().enumerate().filter_map(of_part)
    }

    /// Resolves a port of a link. Returns `None` after an error, which was reported.
    fn side(&mut self, port: &'f Port, variable: Option<&str>, is_from: bool) -> Option<Side<'f>> {
        let name: &'f str = &port.name.text;
        let index = match &port.index {
            Some(expr) => {
                let structure = self.structure;
                Some(
                    self.architecture
                        .formula(structure, expr, variable, self.diagnostics)?,
                )
            }
            None => None,
        };
        let is_own = self.composition.exposed.iter().any(|own| own.text == name);
        let mut found: Vec<Target<'f>> = match &port.part {
            Some(part) => {
                let parts = &self.flat.parts;
                let Some(of) = parts.iter().position(|own| own.name.text == part.text) else {
                    let listed = &self.composition.parts;
                    if listed.iter().any(|own| own.name.text == part.text) {
                        // It is not defined, which was reported.
                        return None;
                    }
                    let names = parts.iter().map(|part| &*part.name.text);
                    let composition = &self.composition.name.text;
                    let message = format!("`{composition}` has no part `{}`", part.text);
                    let error = Diagnostic::error(codes::UNDEFINED, message).at(part.span, "");
                    self.diagnostics.push(like(error, &part.text, names));
                    return None;
                };
                let is_of = |target: &Target<'_>| match target {
                    Target::Process(part, _) | Target::Inner(part, ..) => *part == of,
                    Target::Own(_) => false,
                };
                self.parts_with(name, is_from).filter(is_of).collect()
            }
            None if is_own => vec![Target::Own(name)],
            None => self.parts_with(name, is_from).collect(),
        };
        if found.len() != 1 {
            self.not_one_port(port, &found, is_from);
            return None;
        }
        let target = found.swap_remove(0);
        if let Target::Process(part, _) | Target::Inner(part, ..) = target {
            let FlatPart { count, name, .. } = &self.flat.parts[part];
            if index.is_none() && *count != 1 {
                let message = format!("`{}` has {count} instances", name.text);
                let text = &port.name.text;
                let help = format!("name an instance, from 0: `{text}[0]`, or use a loop");
                self.bad(message, port.span, help);
                return None;
            }
        } else if let Some(index) = &index {
            let span = index.expr.place.span;
            self.bad(
                "an intermediate port has no instances",
                span,
                "remove the index, or name the part before the port",
            );
            return None;
        }
        let varies = index.as_ref().is_some_and(Formula::varies);
        Some(Side {
            target,
            is_constant: variable.is_some() && !varies,
            index,
            span: port.span,
        })
    }

    /// Reports that no part or several parts have a port.
    fn not_one_port(&mut self, port: &'f Port, found: &[Target<'f>], is_from: bool) {
        let name: &'f str = &port.name.text;
        let (direction, other) = if is_from {
            ("output", "an input")
        } else {
            ("input", "an output")
        };
        let of = |target: &Target<'_>| match target {
            Target::Process(part, _) | Target::Inner(part, ..) => {
                format!("`{}.{name}`", self.flat.parts[*part].name.text)
            }
            Target::Own(_) => format!("`{name}`"),
        };
        if !found.is_empty() {
            let all: Vec<String> = found.iter().map(of).collect();
            let message = format!("several parts have an {direction} port `{name}`");
            self.bad(
                message,
                port.span,
                format!("name the part: {}", all.join(" or ")),
            );
            return;
        }
        // An error of a part was reported. Without it, the port may exist.
        let may_have = |own: &&FlatPart<'_>| match own.id {
            PartId::Composition(inner) => {
                let declared = self.architecture.compositions[inner].declaration;
                self.flats[inner].is_wrong
                    && declared.exposed.iter().any(|exposed| exposed.text == name)
                    && port
                        .part
                        .as_ref()
                        .is_none_or(|part| part.text == own.name.text)
            }
            PartId::Process(_) => false,
        };
        let lacks_parts = self.flat.parts.len() < self.composition.parts.len();
        if (lacks_parts && port.part.is_none()) || self.flat.parts.iter().any(|own| may_have(&own))
        {
            return;
        }
        let in_part = |target: &Target<'_>| match target {
            Target::Process(part, _) | Target::Inner(part, ..) => {
                let own = &self.flat.parts[*part].name.text;
                port.part.as_ref().is_none_or(|part| part.text == *own)
            }
            Target::Own(_) => false,
        };
        let message = match self.parts_with(name, !is_from).find(in_part) {
            Some(wrong) => format!("{} is {other} port", of(&wrong)),
            None => match &port.part {
                Some(part) => format!("`{}` has no {direction} port `{name}`", part.text),
                None => format!("no part has an {direction} port `{name}`"),
            },
        };
        let known: Vec<&str> = self.known_ports(port.part.as_ref(), is_from);
        let error = Diagnostic::error(codes::BAD_LINK, message).at(port.span, "");
        self.diagnostics.push(like(error, name, known.into_iter()));
    }

    /// Returns the names of the ports of a part, or of all parts, in a direction.
    fn known_ports(&self, part: Option<&Name>, is_output: bool) -> Vec<&'f str> {
        let mut names = Vec::new();
        for own in &self.flat.parts {
            if part.is_some_and(|part| part.text != own.name.text) {
                continue;
            }
            match own.id {
                PartId::Process(process) => {
                    let declared = self.architecture.processes[process].declaration;
                    let ports = if is_output {
                        &declared.outputs
                    } else {
                        &declared.inputs
                    };
                    names.extend(ports.iter().map(|port| &*port.text));
                }
                PartId::Composition(inner) => {
                    let exposed = self.flats[inner].exposed.iter();
                    let exposed = exposed.filter(|(_, port)| port.is_output == is_output);
                    names.extend(exposed.map(|(name, _)| *name));
                }
            }
        }
        names
    }

    /// Returns the ends of a side in a round of the loop, or `None` after an error.
    fn ends(
        &mut self,
        side: &mut Side<'f>,
        round: i64,
        is_shared: bool,
    ) -> Option<Vec<(End, Properties)>> {
        let (Target::Process(part, _) | Target::Inner(part, ..)) = side.target else {
            return Some(Vec::new());
        };
        let FlatPart {
            count, leaf, name, ..
        } = &self.flat.parts[part];
        let (count, leaf) = (*count, *leaf);
        let mut instance = 0;
        if let Some(index) = &mut side.index {
            let value = index.value(round, self.diagnostics)?;
            match u32::try_from(value).ok().filter(|value| *value < count) {
                Some(value) => instance = value,
                None => {
                    let text = &index.expr.text;
                    let message = match count {
                        0 => format!("`{}` has no instances", name.text),
                        _ => {
                            let is = match text.parse::<i64>() {
                                Ok(number) if value == number => "does not exist".to_owned(),
                                _ => format!("is {value}"),
                            };
                            let (name, last) = (&name.text, count - 1);
                            format!("`{text}` {is}: the instances of `{name}` are 0 to {last}")
                        }
                    };
                    self.diagnostics.push(
                        Diagnostic::error(codes::OUT_OF_RANGE, message)
                            .at(index.expr.place.span, "")
                            .help("correct the index or the range of the loop"),
                    );
                    return None;
                }
            }
        }
        match side.target {
            Target::Process(_, port) => {
                let end = End {
                    leaf,
                    index: instance,
                    port,
                    is_shared,
                };
                Some(vec![(end, Properties::default())])
            }
            Target::Inner(_, inner, port) => {
                let flat = &self.flats[inner];
                let outer = |(end, properties): &(End, Properties)| {
                    let inside = flat.leaves[end.leaf as usize].1;
                    let end = End {
                        leaf: leaf + end.leaf,
                        index: instance * inside + end.index,
                        port: end.port,
                        is_shared: end.is_shared || is_shared,
                    };
                    (end, *properties)
                };
                let exposed = self.exposed(inner, port)?;
                Some(exposed.ends.iter().map(outer).collect())
            }
            Target::Own(_) => Some(Vec::new()),
        }
    }
}
