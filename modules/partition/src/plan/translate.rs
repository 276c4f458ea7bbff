//! The model's words in the engine's numbers.

use super::{Modules, Request, codes};
use crate::{Block, Channel, Constraint, Error, Graph, Machine, Tree, scale};
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::Constraint as Said;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapping::Place as OsPlace;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::network::{ProcessId, Verified};
use graphmap_kpn::source::Span;
use graphmap_platform::{Class, Place, Platform};

/// Traffic times distance must stay far below what a `u64` takes; see [`crate::Problem::check`].
const LARGEST_COST: f64 = (1u64 << 58) as f64;

/// The network's weights as integers.
pub(super) struct Weights {
    pub(super) graph: Graph,
    /// Engine's units of traffic in one of the graph's.
    pub(super) traffic: f64,
    /// Engine's units of distance in one of the platform's.
    pub(super) distance: f64,
}

impl Weights {
    pub(super) fn of(network: &Verified, platform: &Platform) -> Result<Weights, Error> {
        let distances = platform.distances().as_array();
        let distance = distance_factor(&distances);
        let diameter = distances[distances.len() - 1] * distance;
        let loads: Vec<f64> = network.processes.values().map(|p| p.load).collect();
        let said: Vec<f64> = network.channels.values().map(|c| c.traffic).collect();
        let (mut units, mut factor) = scale(&said)?;
        let total: f64 = units.iter().map(|&u| u as f64).sum();
        if total * diameter.max(1.0) > LARGEST_COST {
            let shrink = LARGEST_COST / (total * diameter);
            factor *= shrink;
            // Traffic that there is stays there, however little of the whole.
            for (unit, said) in units.iter_mut().zip(&said) {
                *unit = if *said > 0.0 {
                    ((said * factor) as u64).max(1)
                } else {
                    0
                };
            }
        }
        let channels: Vec<Channel> = network
            .channels
            .ids()
            .zip(&units)
            .map(|(id, &traffic)| Channel {
                from: network.writer(id).index() as u32,
                to: network.reader(id).index() as u32,
                traffic,
            })
            .collect();
        let mut graph = Graph::new(scale(&loads)?.0, &channels)?;
        if network.processes.values().any(|p| p.mem > 0.0) {
            let memory = network
                .processes
                .values()
                .map(|p| p.mem.ceil() as u64)
                .collect();
            graph = graph.with_memory(memory)?;
        }
        Ok(Weights {
            graph,
            traffic: factor,
            distance,
        })
    }

    /// A cost of the engine in the user's units.
    pub(super) fn cost(&self, cost: u64) -> f64 {
        cost as f64 / self.traffic / self.distance
    }
}

/// Whole distances stay; others get three digits more than the smallest of them needs.
fn distance_factor(distances: &[f64; 6]) -> f64 {
    let largest = distances[distances.len() - 1];
    if distances.iter().all(|d| d.fract() == 0.0) && largest < 1e9 {
        return 1.0;
    }
    let smallest = distances
        .iter()
        .copied()
        .filter(|&d| d > 0.0)
        .fold(largest, f64::min);
    (1000.0 / smallest).min(1e9 / largest)
}

/// OS processes as blocks of the engine's machine.
pub(super) struct Targets {
    pub(super) machine: Machine,
    /// The OS process of each block: blocks are numbered along the tree, OS processes in the order
    /// of the hostfile.
    pub(super) place_of: Vec<u32>,
    places: Vec<Place>,
}

impl Targets {
    pub(super) fn of(platform: &Platform, n: usize, weights: &Weights) -> Result<Targets, Error> {
        let places = platform.places_for(n);
        let mut place_of: Vec<u32> = (0..places.len() as u32).collect();
        let path = |p: u32| {
            let [cache, socket, host, group] = places[p as usize].path;
            [group, host, socket, cache]
        };
        place_of.sort_by_key(|&p| path(p));
        // Overcommitted places share their speed: the hostfile is gone through again and again.
        let slots = platform.slots();
        let uses = |p: u32| (n - p as usize % slots).div_ceil(slots) as f64;
        let speeds: Vec<f64> = place_of
            .iter()
            .map(|&p| places[p as usize].speed / uses(p))
            .collect();
        let slowest = speeds.iter().copied().fold(f64::INFINITY, f64::min);
        let even = speeds.iter().all(|&s| s == slowest);
        let blocks: Vec<Block> = place_of
            .iter()
            .zip(&speeds)
            .map(|(&p, &speed)| Block {
                // Two digits of a ratio are more than anybody knows of a machine.
                speed: if even {
                    1
                } else {
                    (speed / slowest * 100.0).round() as u32
                },
                memory: places[p as usize].memory,
                slots: None,
            })
            .collect();
        let distances = platform.distances().as_array();
        let distance = |class: Class| (distances[class as usize] * weights.distance).round() as u32;
        let paths: Vec<[u32; 4]> = place_of.iter().map(|&p| path(p)).collect();
        let levels = [
            Class::Apart,
            Class::Group,
            Class::Host,
            Class::Socket,
            Class::Cache,
        ];
        let tree = tree(&blocks, &paths, 0, &levels.map(distance));
        let machine = Machine::new(&tree, distance(Class::Collocated))?;
        Ok(Targets {
            machine,
            place_of,
            places,
        })
    }

    /// The blocks on a host.
    fn on_host(&self, host: u32) -> Vec<u32> {
        let here = |b: &u32| self.places[self.place_of[*b as usize] as usize].host == host;
        (0..self.place_of.len() as u32).filter(here).collect()
    }

    fn block_of(&self, os_process: u32) -> Option<u32> {
        self.place_of
            .iter()
            .position(|&p| p == os_process)
            .map(|b| b as u32)
    }

    pub(super) fn name(&self, block: u32) -> String {
        format!("OS process {}", self.place_of[block as usize])
    }

    /// The place of each OS process.
    pub(super) fn places(&self, platform: &Platform, named: bool) -> Vec<OsPlace> {
        let place = |p: &Place| OsPlace {
            host: named.then(|| platform.hosts()[p.host as usize].name.clone()),
            cores: p.cpu.into_iter().collect(),
        };
        self.places.iter().map(place).collect()
    }

    /// Names of the hosts that are used, in the order of their first OS process.
    pub(super) fn hosts(&self, platform: &Platform) -> Vec<String> {
        let mut seen = vec![false; platform.hosts().len()];
        let first = self
            .places
            .iter()
            .filter(|p| !std::mem::replace(&mut seen[p.host as usize], true));
        first
            .map(|p| platform.hosts()[p.host as usize].name.clone())
            .collect()
    }
}

/// Groups neighbours with the same id at each level; at most five levels deep.
fn tree(blocks: &[Block], paths: &[[u32; 4]], level: usize, distance: &[u32; 5]) -> Tree {
    let members = if level == 4 {
        blocks.iter().copied().map(Tree::Block).collect()
    } else {
        let mut members = Vec::new();
        let mut start = 0;
        for end in 1..=paths.len() {
            if end == paths.len() || paths[end][level] != paths[start][level] {
                members.push(tree(
                    &blocks[start..end],
                    &paths[start..end],
                    level + 1,
                    distance,
                ));
                start = end;
            }
        }
        members
    };
    match <[Tree; 1]>::try_from(members) {
        Ok([only]) => only,
        Err(members) => Tree::Group {
            distance: distance[level],
            members,
        },
    }
}

/// The constraints of graph and request, each with the place where it is written.
pub(super) struct Rules {
    pub(super) constraints: Vec<Constraint>,
    pub(super) spans: Vec<Span>,
}

impl Rules {
    pub(super) fn of(
        network: &Verified,
        platform: &Platform,
        request: &Request<'_>,
        targets: &Targets,
        weights: &Weights,
        found: &mut Diagnostics,
    ) -> Rules {
        let mut rules = Rules {
            constraints: Vec::new(),
            spans: Vec::new(),
        };
        let mut groups: Vec<(&Said, Vec<u32>, Span)> = Vec::new();
        for constraint in &network.constraints {
            let said = &constraint.declared;
            let vertices = constraint.processes.iter().map(|p| p.index() as u32);
            match &said.constraint {
                Said::Host(name) => {
                    if let Some(blocks) = host(name, platform, request, targets, said.span, found) {
                        rules.pin(vertices, &blocks, said.span);
                    }
                }
                Said::OsProcess(o) => match targets.block_of(*o) {
                    Some(block) => rules.pin(vertices, &[block], said.span),
                    None => found.push(no_os_process(*o, targets.place_of.len(), said.span)),
                },
                group @ (Said::Colocate(_) | Said::Separate(_)) => {
                    match groups.iter_mut().find(|(known, ..)| *known == group) {
                        Some((_, members, _)) => members.extend(vertices),
                        None => groups.push((group, vertices.collect(), said.span)),
                    }
                }
            }
        }
        for (said, mut vertices, span) in groups {
            vertices.sort_unstable();
            vertices.dedup();
            if vertices.len() > 1 {
                let constraint = match said {
                    Said::Separate(_) => Constraint::Apart { vertices },
                    _ => Constraint::Together { vertices },
                };
                rules.push(constraint, span);
            }
        }
        rules.modules(network, request.modules, weights);
        rules
    }

    fn push(&mut self, constraint: Constraint, span: Span) {
        self.constraints.push(constraint);
        self.spans.push(span);
    }

    fn pin(&mut self, vertices: impl Iterator<Item = u32>, blocks: &[u32], span: Span) {
        for vertex in vertices {
            self.push(
                Constraint::Pin {
                    vertex,
                    blocks: blocks.to_vec(),
                },
                span,
            );
        }
    }

    fn modules(&mut self, network: &Verified, modules: Modules, weights: &Weights) {
        if modules == Modules::Ignore {
            return;
        }
        let mut inside: Vec<Vec<u32>> = vec![Vec::new(); network.modules.len()];
        for (id, process) in network.processes.iter() {
            if let Some(module) = process.module {
                inside[module.index()].push(ProcessId::index(id) as u32);
            }
        }
        for (vertices, module) in inside.into_iter().zip(network.modules.values()) {
            if vertices.len() < 2 {
                continue;
            }
            let constraint = match modules {
                Modules::Prefer(traffic) => {
                    let weight = (traffic * weights.traffic).round().max(0.0) as u64;
                    Constraint::Prefer { vertices, weight }
                }
                Modules::Atom | Modules::Ignore => Constraint::Together { vertices },
            };
            self.push(constraint, module.span);
        }
    }
}

fn host(
    name: &str,
    platform: &Platform,
    request: &Request<'_>,
    targets: &Targets,
    span: Span,
    found: &mut Diagnostics,
) -> Option<Vec<u32>> {
    if !request.named_hosts {
        found.push(
            Diagnostic::warning(
                codes::HOST_IGNORED,
                format!("`host={name}` has no effect: there are no hosts to choose from"),
            )
            .at(span, "")
            .help("name the hosts with `--hosts`"),
        );
        return None;
    }
    let Some(index) = platform.hosts().iter().position(|h| h.name == name) else {
        let names = platform.hosts().iter().map(|h| h.name.as_str());
        let finding = Diagnostic::error(codes::UNKNOWN_HOST, format!("there is no host `{name}`"))
            .at(span, "");
        found.push(match nearest(name, names.clone()) {
            Some(near) => finding.help(format!("did you mean `{near}`?")),
            None => finding.help(format!(
                "the hosts are: {}",
                names.take(8).collect::<Vec<_>>().join(", ")
            )),
        });
        return None;
    };
    let blocks = targets.on_host(index as u32);
    if blocks.is_empty() {
        found.push(
            Diagnostic::error(codes::UNKNOWN_HOST, format!("host `{name}` has none of the {} OS processes", targets.place_of.len()))
                .at(span, "")
                .help("OS processes take the slots in the order of the hostfile: say a larger `-n`, or list this host sooner"),
        );
        return None;
    }
    Some(blocks)
}

fn no_os_process(o: u32, count: usize, span: Span) -> Diagnostic {
    Diagnostic::error(codes::NO_OS_PROCESS, format!("there is no OS process {o}"))
        .at(span, format!("they are numbered from 0 to {}", count - 1))
        .help(format!(
            "say `-n {}` or more, or another `osprocess=`",
            u64::from(o) + 1
        ))
}
