//! Kinds of processes without the attribute `kind`. Processes of a kind run one function, so their
//! ports must be equal.

use super::shapes::Edge;
use graphmap::kpn::declared::{BundleKind, Direction, kind_of_name};
use std::collections::{HashMap, HashSet};

/// Source of the kind of a process.
#[derive(Clone, Copy)]
pub(super) enum Kind<'a> {
    /// The attribute `kind`.
    Explicit(&'a str),
    /// The name of the process, without the number at its end.
    FromName,
    /// No source: the node is a number or a tuple, for example.
    None,
}

/// Base name of kinds without a source.
const UNKNOWN: &str = "process";

/// Returns the kind of each process. All edges must have port names.
///
/// A process with the attribute `kind` has that kind. Processes whose names imply the same kind are
/// of that kind if their ports are compatible, also with the ports of processes that have it as an
/// attribute. Otherwise, each distinct set of ports is a separate kind, which is named by its
/// numbers of inputs and outputs. Panics if an edge names a process that does not exist.
pub(super) fn kinds<'a>(
    processes: impl Iterator<Item = (&'a str, Kind<'a>)>,
    edges: &[Edge],
) -> Vec<String> {
    let processes: Vec<_> = processes.collect();
    let ports = ports(processes.len(), edges);
    let base = |(name, kind): (&'a str, Kind<'a>)| match kind {
        Kind::Explicit(kind) => kind,
        Kind::FromName if !is_number(name) => kind_of_name(name),
        Kind::FromName | Kind::None => UNKNOWN,
    };
    let is_said = |kind: Kind<'_>| matches!(kind, Kind::Explicit(_));
    // Ports of each kind. Kinds from names and from attributes are separate, because the second do
    // not depend on names.
    let mut alike: HashMap<&str, Option<Ports<'_>>> = HashMap::new();
    let mut said: HashMap<&str, Option<Ports<'_>>> = HashMap::new();
    for (process, ports) in processes.iter().zip(&ports) {
        let of = match is_said(process.1) {
            true => &mut said,
            false => &mut alike,
        };
        let known = of
            .entry(base(*process))
            .or_insert_with(|| Some(ports.clone()));
        *known = known.take().and_then(|known| known.joined(ports));
    }
    for (kind, known) in &mut alike {
        if let Some(said) = said.get(kind) {
            let both = known.as_ref().zip(said.as_ref());
            *known = both.and_then(|(known, said)| known.clone().joined(said));
        }
    }
    let mut names = Names::of(said.keys().map(|kind| (*kind).to_owned()));
    let mut sorts: HashMap<(&str, &Ports<'_>), String> = HashMap::new();
    let kinds = processes.iter().zip(&ports).map(|(process, ports)| {
        let base = base(*process);
        if is_said(process.1) || alike[base].is_some() {
            return base.to_owned();
        }
        let sort = sorts.entry((base, ports));
        let name = sort.or_insert_with(|| names.unique(ports.counted(base)));
        name.clone()
    });
    kinds.collect()
}

fn is_number(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_digit())
}

/// Unique names of kinds.
struct Names {
    known: HashSet<String>,
    /// Number of requests for each name.
    wanted: HashMap<String, u32>,
}

impl Names {
    fn of(known: impl Iterator<Item = String>) -> Names {
        Names {
            known: known.collect(),
            wanted: HashMap::new(),
        }
    }

    /// Returns the name, with `_2`, `_3` and so on at its end if the name is in use. The result is
    /// then in use.
    fn unique(&mut self, name: String) -> String {
        let times = self.wanted.entry(name.clone()).or_insert(0);
        loop {
            *times += 1;
            let new = match *times {
                1 => name.clone(),
                n => format!("{name}_{n}"),
            };
            if self.known.insert(new.clone()) {
                return new;
            }
        }
    }
}

/// The ports of a process, sorted, each once.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Ports<'a>(Vec<Port<'a>>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Port<'a> {
    at: Direction,
    name: &'a str,
    bundle: Option<BundleKind>,
    ty: Option<&'a str>,
}

impl Port<'_> {
    /// Merges the attributes of a port from two edges: takes the bundle and the type of `other` if
    /// `self` has none, also for ports that are not compatible. Returns true if direction and name
    /// are equal, and bundles and types are equal or one is missing.
    fn join(&mut self, other: &Self) -> bool {
        let same = (self.at, self.name) == (other.at, other.name);
        let bundle = self.bundle.is_none() || other.bundle.is_none_or(|b| Some(b) == self.bundle);
        let ty = self.ty.is_none() || other.ty.is_none_or(|ty| Some(ty) == self.ty);
        self.bundle = self.bundle.or(other.bundle);
        self.ty = self.ty.or(other.ty);
        same && bundle && ty
    }
}

impl Ports<'_> {
    /// Merges the ports of two processes, which are sorted. Returns `None` if one kind cannot have
    /// both: their numbers, directions or names differ, or the bundles or types of two ports do.
    fn joined(mut self, other: &Self) -> Option<Self> {
        let same = self.0.len() == other.0.len();
        let mut pairs = self.0.iter_mut().zip(&other.0);
        (same && pairs.all(|(one, other)| one.join(other))).then_some(self)
    }

    fn counted(&self, base: &str) -> String {
        let inputs = self.0.iter().filter(|port| port.at == Direction::Input);
        let inputs = inputs.count();
        format!("{base}_in{inputs}_out{}", self.0.len() - inputs)
    }
}

/// Returns the ports of each process: outputs first, then inputs, each sorted by name and once.
/// `edges` refer to processes by their index. Panics if an index is not below `processes`.
fn ports(processes: usize, edges: &[Edge]) -> Vec<Ports<'_>> {
    let mut all = vec![Ports::default(); processes];
    for edge in edges {
        let ends = [
            (edge.from, Direction::Output, &edge.src),
            (edge.to, Direction::Input, &edge.dst),
        ];
        for (process, at, name) in ends {
            all[process].0.push(Port {
                at,
                name: name.as_deref().unwrap_or_default(),
                bundle: edge.bundle_at(at),
                ty: edge.ty.as_deref(),
            });
        }
    }
    for Ports(ports) in &mut all {
        ports.sort_by_key(|port| (port.at == Direction::Input, port.name));
        // Contradictions between members of a bundle are reported by the check of the network.
        ports.dedup_by(|port, kept| {
            let one = (port.at, port.name) == (kept.at, kept.name);
            if one {
                kept.join(port);
            }
            one
        });
    }
    all
}
