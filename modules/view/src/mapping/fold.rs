//! Groups of OS processes that one box shows. From [`FOLDED`] OS processes on, OS processes that
//! are alike share a box, and hosts that are alike share a frame.

use super::place::Places;
use crate::Scene;
use std::collections::BTreeMap;

/// Number of OS processes from which on a picture is folded.
pub(crate) const FOLDED: usize = 50;
/// Maximum number of boxes of a folded picture, if there is a coarser way to fold.
const MOST_BOXES: usize = 24;

/// Boxes and frames of hosts, and what they stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// Indices of the hosts that share a frame, by frame.
    pub(crate) hosts: Vec<Vec<usize>>,
    /// Numbers of the OS processes that share a box, by box. Ascending.
    pub(crate) boxes: Vec<Vec<usize>>,
    /// Frame of the host of each box.
    pub(crate) frame: Vec<usize>,
    /// Whether OS processes are folded.
    pub(crate) folded: bool,
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
    /// Otherwise the finest of these ways with at most 24 boxes is taken:
    ///
    /// 1. Hosts with equal hardware and equal OS processes share a frame, and in it OS processes
    ///    with equal numbers of each kind and of cores share a box.
    /// 2. Hosts with equal hardware share a frame, and in it the same OS processes share a box.
    /// 3. The OS processes of a frame with the same kinds share a box.
    /// 4. All OS processes of a frame share a box.
    /// 5. All OS processes share a box.
    pub(crate) fn of(scene: &Scene, places: &Places<'_>, kinds: &[Kinds]) -> Groups {
        let count = scene.os_processes.len();
        if count < FOLDED {
            return Groups {
                hosts: (0..scene.hosts.len()).map(|h| vec![h]).collect(),
                boxes: (0..count).map(|o| vec![o]).collect(),
                frame: places.of.iter().map(|p| p.host).collect(),
                folded: false,
            };
        }
        let exact = numbered((0..count).map(|o| (&kinds[o], scene.os_processes[o].cores.len())));
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
        let all = vec![0; count.max(scene.hosts.len())];
        let ways = [
            (&contents, &exact),
            (&hardware, &exact),
            (&hardware, &of_kinds),
            (&hardware, &all),
            (&all, &all),
        ];
        let folded = ways.map(|(hosts, boxes)| folded(places, hosts, boxes));
        let [.., coarsest] = &folded;
        let fits = folded.iter().find(|g| g.boxes.len() <= MOST_BOXES);
        fits.unwrap_or(coarsest).clone()
    }
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

/// Returns the groups of OS processes by class of the host and class of the OS process.
fn folded(places: &Places<'_>, host_class: &[usize], class: &[usize]) -> Groups {
    let mut groups = Groups {
        folded: true,
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
