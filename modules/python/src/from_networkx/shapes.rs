//! Edges as read, and names for their unnamed ports.

use graphmap::kpn::declared::{BundleKind, Direction};
use std::collections::{HashMap, HashSet};

/// An edge as read from NetworkX.
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
    /// Attributes that are kept and not interpreted.
    pub(super) kept: Vec<(String, String)>,
}

/// Both ends of an edge, with the default names of ports there.
const ENDS: [(Direction, &str); 2] = [(Direction::Output, "out"), (Direction::Input, "in")];

impl Edge {
    /// Returns the bundle of which the edge is a member at the end `at`. Returns `None` if it is a
    /// member of no bundle, or of a bundle at the other end.
    pub(super) fn bundle_at(&self, at: Direction) -> Option<BundleKind> {
        self.bundle.filter(|bundle| bundle.direction() == at)
    }

    /// Returns the process and the port name at one end: the writer for an output, the reader for
    /// an input. The name is `None` if it is not given.
    fn end(&mut self, at: Direction) -> (usize, &mut Option<String>) {
        match at {
            Direction::Output => (self.from, &mut self.src),
            Direction::Input => (self.to, &mut self.dst),
        }
    }
}

/// Names the unnamed ports of all edges. The name is `out` for the writer and `in` for the reader
/// if the process has no other unnamed port in that direction, and does not use this name
/// explicitly. Otherwise a number from 1 is appended. Numbered names that the process uses
/// explicitly are skipped.
///
/// The members of the bundles of a process in a direction share one port. It has no number unless
/// the process uses the name in the other direction. Panics if an edge names a process that is not
/// below `processes`.
pub(super) fn name_ports(processes: usize, edges: &mut [Edge]) {
    let mut said = Said::default();
    for edge in edges.iter_mut() {
        for (at, _) in ENDS {
            if let (process, Some(name)) = edge.end(at) {
                said.0.insert((process, at, name.clone()));
            }
        }
    }
    for (at, word) in ENDS {
        name_at(processes, edges, at, word, &said);
    }
}

/// Explicit port names, by process and direction.
#[derive(Default)]
struct Said(HashSet<(usize, Direction, String)>);

impl Said {
    fn says(&self, process: usize, at: Direction, name: &str) -> bool {
        self.0.contains(&(process, at, name.to_owned()))
    }

    fn is_free(&self, process: usize, name: &str) -> bool {
        ENDS.iter().all(|(at, _)| !self.says(process, *at, name))
    }
}

fn name_at(processes: usize, edges: &mut [Edge], at: Direction, word: &str, said: &Said) {
    let other = match at {
        Direction::Input => Direction::Output,
        Direction::Output => Direction::Input,
    };
    let mut unnamed = vec![0_u32; processes];
    // Port name of the bundles of a process.
    let mut bundled: HashMap<usize, String> = HashMap::new();
    let mut next = vec![0_u32; processes];
    let mut numbered = |process: usize| loop {
        next[process] += 1;
        let name = format!("{word}{}", next[process]);
        if said.is_free(process, &name) {
            return name;
        }
    };
    for edge in edges.iter_mut() {
        let bundle = edge.bundle_at(at);
        match (edge.end(at), bundle) {
            ((process, None), Some(_)) => {
                // An explicit name in the other direction is another port.
                bundled
                    .entry(process)
                    .or_insert_with(|| match said.says(process, other, word) {
                        true => numbered(process),
                        false => word.to_owned(),
                    });
            }
            ((process, None), None) => unnamed[process] += 1,
            ((_, Some(_)), _) => {}
        }
    }
    for edge in edges {
        let bundle = edge.bundle_at(at);
        let (process, port) = edge.end(at);
        if port.is_some() {
            continue;
        }
        let shared = bundled.get(&process);
        *port = Some(match shared.filter(|_| bundle.is_some()) {
            Some(name) => name.clone(),
            None if unnamed[process] == 1 && shared.is_none() && said.is_free(process, word) => {
                word.to_owned()
            }
            None => numbered(process),
        });
    }
}
