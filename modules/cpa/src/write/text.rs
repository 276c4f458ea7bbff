//! Text of structures, initializations and function mappings.

use super::constructs::OF_FUNCTION;
use super::links::{End, Link, Links, PortOf};
use super::refused::{Ranges, Unique, affine};
use super::tree::{Composition, Tree};
use graphmap_kpn::arguments::Value;
use graphmap_kpn::declared::Direction;
use graphmap_kpn::names::Symbol;
use graphmap_kpn::network::{DEFAULT_CAPACITY, Kind, Network};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Returns a network as a text. `links` has the links of each composition of `tree`.
pub(super) fn text(network: &Network, tree: &Tree, links: &[Links], containers: &str) -> String {
    let mut kinds = Unique::default();
    for kind in network.kinds.values() {
        kinds.name(network.name(kind.name));
    }
    let mut numbers: FxHashMap<Symbol, usize> = FxHashMap::default();
    for (number, composition) in tree.compositions.iter().enumerate() {
        kinds.name(network.name(composition.kind));
        numbers.insert(composition.kind, number);
    }
    let mut writing = Writing {
        network,
        links,
        numbers,
        ranges: Ranges::default(),
        // Process of a composition without parts.
        unused: kinds.name("Unused"),
    };
    let (inner, top): (Vec<_>, Vec<_>) = tree
        .compositions
        .iter()
        .enumerate()
        .partition(|(_, composition)| !composition.is_top);
    let mut top: Vec<(usize, &Composition)> = top;
    top.sort_by_key(|(_, composition)| composition.instances.first().copied());
    let all = inner.into_iter().chain(top);
    let texts: Vec<String> = all
        .map(|(number, composition)| writing.composition(composition, &links[number]))
        .collect();
    let mut structures = structures(network);
    if tree
        .compositions
        .iter()
        .any(|composition| composition.parts.is_empty())
    {
        let unused = format!("{} = inports <> outports <> ()\n", writing.unused);
        structures[0].processes += &unused;
    }
    let mut out = String::new();
    for (index, structure) in structures.iter().enumerate() {
        let names: Vec<&str> = structure.values.iter().map(|(name, _)| *name).collect();
        let _ = writeln!(
            out,
            "structure {} ({}) {{",
            structure.name,
            names.join(", ")
        );
        out += &structure.processes;
        if index == 0 {
            for (name, first, last) in &writing.ranges.list {
                let _ = writeln!(out, "{name} = [{first}..{last}]");
            }
            texts.iter().for_each(|text| out += text);
        }
        out += "}\n";
        if !structure.values.is_empty() {
            let _ = writeln!(out, "initialize {} {{", structure.name);
            for (name, value) in &structure.values {
                let _ = writeln!(out, "{name} = {}", literal(value));
            }
            out += "}\n";
        }
    }
    out += containers;
    out += &functions(network);
    out += &glue(network);
    out
}

fn literal(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("\"{text}\""),
        // The least number has no negative.
        Value::Integer(number) if *number == i128::from(i64::MIN) => format!("{} - 1", number + 1),
        value => value.to_string(),
    }
}

/// Processes that have a value for each of their parameters.
struct Structure<'n> {
    name: String,
    processes: String,
    values: Vec<(&'n str, &'n Value)>,
}

/// Returns the structures. Parameters with the same name and different values are in different
/// structures.
fn structures(network: &Network) -> Vec<Structure<'_>> {
    let mut names = Unique::default();
    let mut all: Vec<Structure<'_>> = vec![Structure {
        name: names.name(&network.name),
        processes: String::new(),
        values: Vec::new(),
    }];
    for (id, kind) in network.kinds.iter() {
        let parameters = network
            .parameters
            .get(&id)
            .into_iter()
            .flat_map(|all| &**all);
        let first = kind.members.first();
        let arguments = first.and_then(|process| network.arguments.get(process));
        let values: Vec<(&str, &Value)> = parameters
            .map(|parameter| &*parameter.name)
            .zip(arguments.into_iter().flatten())
            .collect();
        let fits = |structure: &Structure<'_>| {
            let differs = |(name, value): &(&str, &Value)| {
                structure
                    .values
                    .iter()
                    .any(|known| known.0 == *name && known.1 != *value)
            };
            !values.iter().any(differs)
        };
        let index = all.iter().position(fits).unwrap_or_else(|| {
            all.push(Structure {
                name: names.name(&network.name),
                processes: String::new(),
                values: Vec::new(),
            });
            all.len() - 1
        });
        let structure = &mut all[index];
        structure.processes += &process(network, kind, &values);
        for value in values {
            if !structure.values.contains(&value) {
                structure.values.push(value);
            }
        }
    }
    all
}

fn process(network: &Network, kind: &Kind, values: &[(&str, &Value)]) -> String {
    let ports = |direction: Direction| {
        let ports = kind.ports.iter().filter(|port| port.direction == direction);
        let names: Vec<&str> = ports.map(|port| network.name(port.name)).collect();
        names.join(", ")
    };
    let (inputs, outputs) = (ports(Direction::Input), ports(Direction::Output));
    let parameters: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    format!(
        "{} = inports <{inputs}> outports <{outputs}> ({})\n",
        network.name(kind.name),
        parameters.join(", ")
    )
}

fn functions(network: &Network) -> String {
    let mut out = String::new();
    for kind in network.kinds.values() {
        let first = kind.members.first();
        let list = first.and_then(|first| network.attributes.processes.get(*first));
        let texts: FxHashMap<&str, &str> = network.attribute_texts(list).collect();
        if let [Some(function), Some(header)] = OF_FUNCTION.map(|name| texts.get(name)) {
            let name = network.name(kind.name);
            let _ = writeln!(out, "{name} = {{ \"{header}\", \"{function}\" }}");
        }
    }
    match out.is_empty() {
        true => out,
        false => format!("functionmapping {{\n{out}}}\n"),
    }
}

/// Returns the glue functions and environment variables of a network.
fn glue(network: &Network) -> String {
    let mut out = String::new();
    for glue in &network.glue {
        let (stage, header, function) = (glue.stage.name(), &glue.header, &glue.function);
        out.push_str("gluemapping {\n");
        if let Some((variable, value)) = &glue.condition {
            let _ = writeln!(out, "genvcondition = {{ \"{variable}\", \"{value}\" }}");
        }
        let _ = writeln!(out, "{stage} = {{ \"{header}\", \"{function}\" }}\n}}");
    }
    if !out.is_empty() {
        out = format!("glue {{\n{out}}}\n");
    }
    if !network.environment.is_empty() {
        out.push_str("genv {\n");
        for (name, value) in &network.environment {
            let _ = writeln!(out, "{name} = \"{value}\"");
        }
        out.push_str("}\n");
    }
    out
}

struct Writing<'a> {
    network: &'a Network,
    links: &'a [Links],
    /// Index of the composition of each kind.
    numbers: FxHashMap<Symbol, usize>,
    ranges: Ranges,
    unused: String,
}

/// A link, or a part of an intermediate port.
struct Row {
    from: Side,
    to: Side,
    /// Tag and capacity.
    properties: String,
    begins: bool,
    is_bundle: [bool; 2],
}

/// A port, and the number of its instance if there may be several.
#[derive(PartialEq)]
struct Side {
    port: String,
    index: Option<u32>,
}

impl Row {
    /// Returns the steps from the numbers at both ends to the numbers of the next link, if a loop
    /// can have both.
    fn steps(&self, next: &Row) -> Option<[i64; 2]> {
        let is_alike = self.from.port == next.from.port
            && self.to.port == next.to.port
            && self.properties == next.properties;
        let plain = self.is_bundle == [false; 2] && next.is_bundle == [false; 2];
        let step =
            |a: &Side, b: &Side| i64::from(b.index.unwrap_or(0)) - i64::from(a.index.unwrap_or(0));
        let steps = [step(&self.from, &next.from), step(&self.to, &next.to)];
        (is_alike && plain && !next.begins).then_some(steps)
    }
}

impl Side {
    /// Returns the port with its number in a loop that changes the number by `step` for each value
    /// of the variable, which begins with `start`.
    fn text(&self, step: i64, start: i64) -> String {
        match self.index {
            None => self.port.clone(),
            Some(index) => {
                let index = affine(step, i64::from(index) - step * start);
                format!("{}[{index}]", self.port)
            }
        }
    }
}

impl Writing<'_> {
    fn composition(&mut self, composition: &Composition, links: &Links) -> String {
        let mut parts: Vec<String> = Vec::new();
        for part in &composition.parts {
            let name = self.network.name(part.kind);
            parts.push(match part.count {
                1 => name.to_owned(),
                count => format!("{name}[{count}]"),
            });
        }
        if parts.is_empty() {
            parts.push(format!("{}[0]", self.unused));
        }
        let mut rows: Vec<Row> = Vec::new();
        for link in &links.links {
            rows.push(self.row(composition, link));
        }
        for exposed in &links.exposed {
            for end in &exposed.ends {
                let outer = Side {
                    port: exposed.name.clone(),
                    index: None,
                };
                let inner = self.side(composition, *end);
                let (from, to) = match exposed.is_output {
                    true => (inner, outer),
                    false => (outer, inner),
                };
                rows.push(Row {
                    from,
                    to,
                    properties: String::new(),
                    begins: false,
                    is_bundle: [false; 2],
                });
            }
        }
        let sign = if composition.is_top { "||" } else { "||-" };
        let name = self.network.name(composition.kind);
        let mut out = format!("{sign} {name} = ( {} )", parts.join(" || "));
        if !rows.is_empty() {
            let _ = write!(out, "\n/ ( {} )", self.rows(&rows).join(",\n"));
        }
        if !links.exposed.is_empty() {
            let names: Vec<&str> = links.exposed.iter().map(|exposed| &*exposed.name).collect();
            let _ = write!(out, "\n@ ({})", names.join(", "));
        }
        out + "\n"
    }

    fn row(&self, composition: &Composition, link: &Link) -> Row {
        let mut properties = String::new();
        if let Some(tag) = link.tag {
            let _ = write!(properties, " tag {tag}");
        }
        if link.capacity != DEFAULT_CAPACITY || link.is_controlled {
            let _ = write!(properties, " buffersize {}", link.capacity);
        }
        Row {
            from: self.side(composition, link.from),
            to: self.side(composition, link.to),
            properties,
            begins: link.begins,
            is_bundle: link.is_bundle,
        }
    }

    fn side(&self, composition: &Composition, end: End) -> Side {
        let part = composition.parts[end.part as usize];
        let port = match end.port {
            PortOf::Process(port) => self.network.name(port),
            PortOf::Composition(port) => {
                let inner = self.numbers[&part.kind];
                &self.links[inner].exposed[port as usize].name
            }
        };
        Side {
            port: format!("{}.{port}", self.network.name(part.kind)),
            index: (part.count != 1).then_some(end.index),
        }
    }

    /// Writes links. A loop has the longest sequence of links with equal steps.
    fn rows(&mut self, rows: &[Row]) -> Vec<String> {
        let mut out = Vec::new();
        let mut at = 0;
        while let Some(row) = rows.get(at) {
            let steps = rows.get(at + 1).and_then(|next| row.steps(next));
            let follows = |pair: &&[Row]| pair[0].steps(&pair[1]) == steps;
            let rest = match steps {
                None => 0,
                Some(_) => rows[at..].windows(2).take_while(follows).count(),
            };
            out.push(match row.is_bundle {
                [false, false] => self.one_or_loop(row, steps.unwrap_or([0; 2]), rest as i64),
                is_bundle => self.bundle(row, is_bundle),
            });
            at += rest + 1;
        }
        out
    }

    fn one_or_loop(&mut self, row: &Row, steps: [i64; 2], rest: i64) -> String {
        let Row {
            from,
            to,
            properties,
            ..
        } = row;
        if rest == 0 {
            return format!("{} -> {}{properties}", from.text(0, 0), to.text(0, 0));
        }
        // The variable is a number at one end if possible.
        let start = match (steps, from.index, to.index) {
            ([1, _], Some(index), _) | ([_, 1], _, Some(index)) => i64::from(index),
            _ => 0,
        };
        let range = self.ranges.name(start, start + rest);
        let (from, to) = (from.text(steps[0], start), to.text(steps[1], start));
        format!("for i in {range} {{ {from} -> {to}{properties} }}")
    }

    /// Writes a link as a loop of one round: a port without the variable is a bundle.
    fn bundle(&mut self, row: &Row, is_bundle: [bool; 2]) -> String {
        let range = self.ranges.name(0, 0);
        let text = |side: &Side, is_bundle: bool| match (is_bundle, side.index) {
            (true, _) => side.text(0, 0),
            (false, Some(_)) => side.text(1, 0),
            (false, None) => format!("{}[i]", side.port),
        };
        let (from, to) = (text(&row.from, is_bundle[0]), text(&row.to, is_bundle[1]));
        format!("for i in {range} {{ {from} -> {to}{} }}", row.properties)
    }
}
