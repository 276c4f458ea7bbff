//! Groups of OS processes that one box shows. From [`FOLDED`] OS processes on, OS processes that
//! are alike or neighbours share a box. Hosts share a frame only if there are too many of them.

use super::place::Places;
use super::traffic::Traffic;
use crate::Scene;
use crate::shown::total;
use std::collections::BTreeMap;

/// Number of OS processes from which on a picture is folded.
pub(crate) const FOLDED: usize = 50;
/// Maximum number of boxes of a folded picture.
const MOST_BOXES: usize = 24;
/// Number of boxes from which on traffic within hosts may be hidden.
const ENOUGH: usize = 8;
/// Maximum share of the traffic that boxes of OS processes that are alike hide. Otherwise
/// neighbours share a box, so that arcs show the traffic.
const MOST_HIDDEN: f64 = 0.5;

/// Boxes and frames of hosts, and what they stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// Indices of the hosts that share a frame, by frame.
    pub(crate) hosts: Vec<Vec<usize>>,
    /// Numbers of the OS processes that share a box, by box. Ascending.
    pub(crate) boxes: Vec<Vec<usize>>,
    /// Frame of the host of each box.
    pub(crate) frame: Vec<usize>,
    /// The rule for the OS processes of a box, as text. `None` if each has a box of its own.
    pub(crate) rule: Option<&'static str>,
}

/// Number of processes of each kind, by the number of the kind in [`kinds`].
pub(crate) type Kinds = Vec<(usize, usize)>;

/// Returns the names of the kinds in the order of their first nodes, and for each OS process the
/// kinds of its processes with their numbers.
pub(crate) fn kinds(scene: &Scene) -> (Vec<&str>, Vec<Kinds>) {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut names = Vec::new();
    let mut of: Vec<BTreeMap<usize, usize>> = vec![BTreeMap::new(); scene.os_processes.len()];
    for node in &scene.nodes {
        let kind = *numbers.entry(&node.kind).or_insert(names.len());
        if kind == names.len() {
            names.push(node.kind.as_str());
        }
        *of[node.os_process].entry(kind).or_default() += node.processes;
    }
    (names, of.into_iter().map(Vec::from_iter).collect())
}

impl Groups {
    /// Returns the groups of a scene. Below [`FOLDED`] OS processes, each has a box of its own.
    /// Otherwise the first of these ways that has at most 24 boxes is taken. If OS processes share
    /// a box because they are alike, it must show enough of the traffic.
    ///
    /// 1. OS processes of a host share a box if they have equal numbers of each kind and of cores,
    ///    and equal loads.
    /// 2. OS processes of a host share a box if they have the same kinds.
    /// 3. OS processes of a host with neighbouring numbers share a box, or all if there are more
    ///    than 12 hosts.
    /// 4. Hosts with equal hardware and equal OS processes share a frame, and in it OS processes
    ///    share a box as in 1.
    /// 5. Hosts with equal hardware share a frame, and in it OS processes share a box as in 1.
    /// 6. Hosts with equal hardware share a frame, and in it OS processes share a box as in 2.
    /// 7. All OS processes of neighbouring hosts share a box.
    pub(crate) fn of(
        scene: &Scene,
        places: &Places<'_>,
        kinds: &[Kinds],
        traffic: &Traffic,
    ) -> Groups {
        let count = scene.os_processes.len();
        if count < FOLDED {
            return Groups {
                hosts: (0..scene.hosts.len()).map(|h| vec![h]).collect(),
                boxes: (0..count).map(|o| vec![o]).collect(),
                frame: places.of.iter().map(|p| p.host).collect(),
                rule: None,
            };
        }
        let exact = numbered((0..count).map(|o| {
            let os_process = &scene.os_processes[o];
            (&kinds[o], os_process.cores.len(), os_process.load.to_bits())
        }));
        let of_kinds = numbered(
            kinds
                .iter()
                .map(|k| Vec::from_iter(k.iter().map(|&(k, _)| k))),
        );
        let hardware = numbered(places.hosts.iter().enumerate().map(|(h, host)| {
            let shape = host.map(|h| {
                let cores = h.cores.iter();
                let cores: Vec<_> = cores
                    .map(|c| (c.socket, c.cache, c.cpus.len(), c.speed.to_bits()))
                    .collect();
                (cores, h.slots, h.speed.to_bits())
            });
            (scene.hosts[h].name.is_empty(), shape)
        }));
        let contents = numbered(scene.hosts.iter().enumerate().map(|(h, host)| {
            let mut inside: Vec<usize> = host.os_processes.iter().map(|&o| exact[o]).collect();
            inside.sort_unstable();
            (hardware[h], inside)
        }));
        let all = vec![0; count];
        let own = Vec::from_iter(0..scene.hosts.len());
        let each = scene.hosts.len().div_ceil(MOST_BOXES);
        let neighbours: Vec<usize> = own.iter().map(|h| h / each).collect();
        let (near, near_rule) = runs(scene, count);
        // The last value is whether OS processes share a box because they are alike.
        let ways: [(&[usize], &[usize], &'static str, bool); 7] = [
            (&own, &exact, "by host, kinds and load", true),
            (&own, &of_kinds, "by host and kinds", true),
            (&own, &near, near_rule, false),
            (
                &contents,
                &exact,
                "by hosts that are alike, kinds and load",
                true,
            ),
            (&hardware, &exact, "by hardware, kinds and load", true),
            (&hardware, &of_kinds, "by hardware and kinds", true),
            (&neighbours, &all, "by neighbouring hosts", false),
        ];
        let fold = |(hosts, boxes, rule, alike)| (folded(places, (hosts, boxes), rule), alike);
        let fits = |(groups, alike): &(Groups, bool)| {
            groups.boxes.len() <= MOST_BOXES && (!alike || groups.shows_enough(places, traffic))
        };
        // The last way always fits.
        let mut found = ways.into_iter().map(fold).filter(fits);
        found.next().map(|(groups, _)| groups).unwrap_or_default()
    }

    /// Returns whether at most a share of [`MOST_HIDDEN`] of the traffic is between OS processes of
    /// a box. If there are several hosts and at least [`ENOUGH`] boxes, only the traffic between
    /// hosts counts.
    fn shows_enough(&self, places: &Places<'_>, traffic: &Traffic) -> bool {
        let mut box_of = vec![0; places.of.len()];
        for (b, group) in self.boxes.iter().enumerate() {
            group.iter().for_each(|&o| box_of[o] = b);
        }
        let several = places.hosts.len() > 1 && self.boxes.len() >= ENOUGH;
        let host = |o: usize| places.of[o].host;
        let counted = |(from, to): (usize, usize)| !several || host(from) != host(to);
        let sums = || traffic.between.iter().filter(|(ends, _)| counted(**ends));
        let inside = sums().filter(|((from, to), _)| box_of[*from] == box_of[*to]);
        let hidden = total(inside.map(|(_, sum)| sum.traffic));
        hidden <= MOST_HIDDEN * total(sums().map(|(_, sum)| sum.traffic))
    }
}

/// Returns for each OS process the number of its box if neighbours on a host share a box, and each
/// host has an equal number of boxes. Also returns the rule as text.
fn runs(scene: &Scene, count: usize) -> (Vec<usize>, &'static str) {
    let each = (MOST_BOXES / scene.hosts.len().max(1)).max(1);
    let mut run = vec![0; count];
    for host in &scene.hosts {
        for (i, &o) in host.os_processes.iter().enumerate() {
            run[o] = i * each / host.os_processes.len();
        }
    }
    let rule = match each {
        1 => "by host",
        _ => "by host and neighbouring numbers",
    };
    (run, rule)
}

/// Returns for each item the number of its value, in the order of first appearance.
fn numbered<T: Ord>(items: impl Iterator<Item = T>) -> Vec<usize> {
    let mut known = BTreeMap::new();
    items
        .map(|item| {
            let next = known.len();
            *known.entry(item).or_insert(next)
        })
        .collect()
}

/// Returns the groups of OS processes by class of the host and class of the OS process. Classes of
/// hosts must be numbered in the order of the hosts.
fn folded(
    places: &Places<'_>,
    (host_class, class): (&[usize], &[usize]),
    rule: &'static str,
) -> Groups {
    let mut groups = Groups {
        rule: Some(rule),
        ..Groups::default()
    };
    let hosts = &host_class[..places.hosts.len()];
    for (h, &class) in hosts.iter().enumerate() {
        if class == groups.hosts.len() {
            groups.hosts.push(Vec::new());
        }
        groups.hosts[class].push(h);
    }
    let os_processes = places.of.iter().zip(class);
    let keys = numbered(os_processes.map(|(place, &class)| (hosts[place.host], class)));
    for (o, &key) in keys.iter().enumerate() {
        if key == groups.boxes.len() {
            groups.boxes.push(Vec::new());
            groups.frame.push(hosts[places.of[o].host]);
        }
        groups.boxes[key].push(o);
    }
    groups
}
