//! Ports for edges that name none, and kinds for processes that say none.

use graphmap::kpn::declared::{BundleKind, Direction, kind_of_name};
use std::collections::{HashMap, HashSet};

/// An edge as it is read.
#[derive(Clone)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) traffic: Option<f64>,
    pub(super) capacity: Option<u32>,
    pub(super) initial: Option<u32>,
    pub(super) tag: Option<i32>,
    pub(super) ty: Option<String>,
    pub(super) src: Option<String>,
    pub(super) dst: Option<String>,
    pub(super) bundle: Option<BundleKind>,
}

impl Edge {
    fn is_bundled(&self, at: Direction) -> bool {
        self.bundle.is_some_and(|bundle| bundle.direction() == at)
    }

    /// The process and the port at one of its ends.
    fn end(&mut self, at: Direction) -> (usize, &mut Option<String>) {
        match at {
            Direction::Output => (self.from, &mut self.src),
            Direction::Input => (self.to, &mut self.dst),
        }
    }
}

/// What is known of the kind of a process.
pub(super) enum Kind<'a> {
    /// Its name.
    Said(&'a str),
    /// That the name of the process tells it.
    OfName,
    /// Nothing: the node is a number, say, or a tuple.
    None,
}

/// What processes are called whose kind nobody knows.
const UNKNOWN: &str = "process";

/// Names the ports of all edges; gives the kind of each process.
pub(super) fn shape<'a>(
    processes: impl Iterator<Item = (&'a str, Kind<'a>)>,
    edges: &mut [Edge],
) -> Vec<String> {
    let processes: Vec<_> = processes.collect();
    for (at, word) in [(Direction::Output, "out"), (Direction::Input, "in")] {
        name_ports(processes.len(), edges, at, word);
    }
    let mut ports = vec![Ports::default(); processes.len()];
    for edge in edges {
        let (from, src) = edge.end(Direction::Output);
        ports[from].outputs.extend(src.clone());
        let (to, dst) = edge.end(Direction::Input);
        ports[to].inputs.extend(dst.clone());
    }
    ports.iter_mut().for_each(Ports::settle);
    // Of each name of a kind that is not said: the ports of its first process, and whether all others'
    // are the same.
    let mut alike: HashMap<&str, (&Ports, bool)> = HashMap::new();
    let base = |(name, kind): &(&'a str, Kind<'a>)| match kind {
        Kind::Said(_) => None,
        Kind::OfName if !is_number(name) => Some(kind_of_name(name)),
        Kind::OfName | Kind::None => Some(UNKNOWN),
    };
    for (process, ports) in processes.iter().zip(&ports) {
        if let Some(base) = base(process) {
            let (first, same) = alike.entry(base).or_insert((ports, true));
            *same &= *first == ports;
        }
    }
    let kinds =
        processes
            .iter()
            .zip(&ports)
            .map(|(process, ports)| match (base(process), &process.1) {
                (_, Kind::Said(kind)) => (*kind).to_owned(),
                (Some(base), _) if alike[base].1 => base.to_owned(),
                (base, _) => format!(
                    "{}_in{}_out{}",
                    base.unwrap_or(UNKNOWN),
                    ports.inputs.len(),
                    ports.outputs.len()
                ),
            });
    kinds.collect()
}

fn is_number(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_digit())
}

/// Ports of a process, sorted, each once.
#[derive(Clone, Default, PartialEq)]
struct Ports {
    inputs: Vec<String>,
    outputs: Vec<String>,
}

impl Ports {
    fn settle(&mut self) {
        for names in [&mut self.inputs, &mut self.outputs] {
            names.sort_unstable();
            names.dedup();
        }
    }
}

/// Names the ports at one end of all edges: members of a bundle share one, the only other edge of a process has
/// the same name, several are numbered.
fn name_ports(processes: usize, edges: &mut [Edge], at: Direction, word: &str) {
    let mut unnamed = vec![0_u32; processes];
    let mut shared: HashSet<usize> = HashSet::new();
    for edge in edges.iter_mut() {
        let bundled = edge.is_bundled(at);
        match edge.end(at) {
            (process, None) if bundled => {
                shared.insert(process);
            }
            (process, None) => unnamed[process] += 1,
            (process, Some(name)) if name == word => {
                shared.insert(process);
            }
            (_, Some(_)) => {}
        }
    }
    let mut next = vec![0_u32; processes];
    for edge in edges {
        let bundled = edge.is_bundled(at);
        let (process, port) = edge.end(at);
        if port.is_none() {
            let one = unnamed[process] == 1 && !shared.contains(&process);
            *port = Some(match bundled || one {
                true => word.to_owned(),
                false => {
                    next[process] += 1;
                    format!("{word}{}", next[process])
                }
            });
        }
    }
}
