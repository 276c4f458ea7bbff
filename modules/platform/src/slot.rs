//! The slots of a platform as plain numbers, for whoever places OS processes.

use crate::distance::Class;
use crate::model::Platform;
use rustc_hash::FxHashMap;

/// Where one OS process can stand: one slot of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Index of the host.
    pub host: u32,
    /// Which slot of its host it is, from 0.
    pub slot: u32,
    /// The operating system's number of the hardware thread to bind to, when cores are known.
    pub cpu: Option<u32>,
    /// Index of the core in its host, when cores are known.
    pub core: Option<u32>,
    /// Relative speed: that of the host times that of the core, divided by the slots on the core.
    pub speed: f64,
    /// Its share of the host's memory in bytes, if known.
    pub memory: Option<u64>,
    /// Ids, unique in the platform, of what it stands in: cache group, socket, host, group of
    /// hosts. Two places differ up to the level where they are apart and agree from there on; a
    /// level that is not known has an id for each place.
    pub path: [u32; 4],
}

impl Place {
    /// The class of distance between two places of one platform. A place and itself are
    /// [`Class::Cache`] apart: whether two processes share an OS process is not the place's to say.
    pub fn class(&self, other: &Place) -> Class {
        let level = self.path.iter().zip(&other.path).position(|(a, b)| a == b);
        level.map_or(Class::Apart, |level| Class::ALL[level + 1])
    }
}

/// Places as a tree, outermost groups first: the form partitioners take.
#[derive(Clone, Debug, PartialEq)]
pub enum TopologyTree {
    /// Index of a place in the slice the tree was made from.
    Place(u32),
    /// At least two members that are a class of distance apart.
    Group {
        /// The class between places of different members.
        class: Class,
        /// The members, each in the order of its first place.
        members: Vec<TopologyTree>,
    },
}

impl TopologyTree {
    /// Groups places by what they stand in. Groups of one member are left out. `None` for no place.
    pub fn of(places: &[Place]) -> Option<TopologyTree> {
        // Joined from the inside out: at each level the trees with one id of it become one tree.
        let mut trees: Vec<(u32, TopologyTree)> = (0..places.len() as u32)
            .map(|i| (i, TopologyTree::Place(i)))
            .collect();
        for level in 0..=4 {
            let mut index = FxHashMap::default();
            let mut joined: Vec<(u32, Vec<TopologyTree>)> = Vec::new();
            for (first, tree) in trees {
                // Beyond the groups of hosts there is only the platform.
                let id = places[first as usize].path.get(level).copied().unwrap_or(0);
                let slot = *index.entry(id).or_insert(joined.len());
                if slot == joined.len() {
                    joined.push((first, Vec::new()));
                }
                joined[slot].1.push(tree);
            }
            let class = Class::ALL[level + 1];
            let close = |(first, mut members): (u32, Vec<TopologyTree>)| match members.len() {
                1 => (first, members.remove(0)),
                _ => (first, TopologyTree::Group { class, members }),
            };
            trees = joined.into_iter().map(close).collect();
        }
        trees.pop().map(|(_, tree)| tree)
    }

    /// The indices of its places, in the order of the tree.
    pub fn leaves(&self) -> Vec<u32> {
        match self {
            TopologyTree::Place(place) => vec![*place],
            // Six levels at most: recursion is bounded.
            TopologyTree::Group { members, .. } => {
                members.iter().flat_map(TopologyTree::leaves).collect()
            }
        }
    }
}

impl Platform {
    /// All slots in rank order. On a host with `c` known cores, slot `i` stands on core `i mod c`.
    ///
    /// This is all a partitioner needs: the hierarchy as `path`s with
    /// [`distances`](Platform::distances) for the levels, speed and memory for the capacities.
    pub fn places(&self) -> Vec<Place> {
        let mut next = vec![0u32; self.hosts().len()];
        let mut places = Vec::with_capacity(self.slots());
        let tables = self.core_tables();
        for run in self.order() {
            let (h, host) = (run.host as usize, &self.hosts()[run.host as usize]);
            for _ in 0..run.count {
                let slot = next[h];
                next[h] += 1;
                places.push(Place {
                    host: run.host,
                    slot,
                    cpu: None,
                    core: None,
                    speed: host.speed,
                    memory: host.memory.map(|m| m / u64::from(host.slots)),
                    path: [0, 0, run.host, host.group],
                });
                let place = places.last_mut().expect("just pushed");
                tables[h].fill(place, host.slots);
            }
        }
        places
    }

    /// `n` places in rank order, starting again from the first slot when there are fewer, as MPICH
    /// does: compare `n` with [`slots`](Platform::slots) to know whether hosts are overcommitted.
    pub fn places_for(&self, n: usize) -> Vec<Place> {
        let mut places = self.places();
        let slots = places.len();
        places.truncate(n);
        while places.len() < n {
            places.push(places[places.len() - slots].clone());
        }
        places
    }

    /// The class of distance between two hosts.
    pub fn host_class(&self, a: u32, b: u32) -> Class {
        let group = |h: u32| self.hosts()[h as usize].group;
        match () {
            () if a == b => Class::Host,
            () if group(a) == group(b) => Class::Group,
            () => Class::Apart,
        }
    }

    fn core_tables(&self) -> Vec<Cores> {
        // Ids of cache groups and of sockets are counted through all hosts. A host without known
        // cores takes one id a slot.
        let (mut caches, mut sockets) = (0u32, 0u32);
        let mut tables = Vec::with_capacity(self.hosts().len());
        for host in self.hosts() {
            let mut table = Cores {
                first_cache: caches,
                first_socket: sockets,
                cores: Vec::with_capacity(host.core_count()),
            };
            for (socket, cache, core) in host.cores() {
                let cpu = core.cpus.first().copied();
                table.cores.push((socket, cache, cpu, core.speed));
            }
            match table.cores.last() {
                Some(last) => {
                    caches += last.1 + 1;
                    sockets += last.0 + 1;
                }
                None => {
                    caches += host.slots;
                    sockets += host.slots;
                }
            }
            tables.push(table);
        }
        tables
    }
}

/// The cores of one host: socket, cache group, hardware thread, speed.
struct Cores {
    first_cache: u32,
    first_socket: u32,
    cores: Vec<(u32, u32, Option<u32>, f64)>,
}

impl Cores {
    fn fill(&self, place: &mut Place, slots: u32) {
        let count = self.cores.len() as u32;
        if count == 0 {
            place.path[0] = self.first_cache + place.slot;
            place.path[1] = self.first_socket + place.slot;
            return;
        }
        let core = place.slot % count;
        let (socket, cache, cpu, speed) = self.cores[core as usize];
        place.path[0] = self.first_cache + cache;
        place.path[1] = self.first_socket + socket;
        (place.core, place.cpu) = (Some(core), cpu);
        let sharing = slots / count + u32::from(core < slots % count);
        place.speed *= speed / f64::from(sharing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CacheGroup, Core, Host, Run, Socket};
    use graphmap_kpn::source::Span;

    fn host(name: &str, slots: u32, sockets: u32, caches: u32, cores: u32) -> Host {
        let mut next = 0..;
        let mut core = || Core {
            cpus: next.next().into_iter().collect(),
            speed: 1.0,
        };
        let mut host = Host::new(name, slots);
        for _ in 0..sockets {
            let mut socket = Socket::default();
            for _ in 0..caches {
                let cores = (0..cores).map(|_| core()).collect();
                socket.caches.push(CacheGroup { cores });
            }
            host.sockets.push(socket);
        }
        host
    }

    #[test]
    fn places_know_how_far_apart_they_are() {
        let mut far = Host::new("c", 1);
        far.group = 1;
        let hosts = vec![host("a", 8, 2, 2, 2), host("b", 1, 1, 1, 1), far];
        let places = Platform::new(hosts).unwrap().places();
        let class = |a: usize, b: usize| places[a].class(&places[b]);
        assert_eq!(class(0, 1), Class::Cache);
        assert_eq!(class(0, 2), Class::Socket);
        assert_eq!(class(0, 4), Class::Host);
        assert_eq!(class(0, 8), Class::Group);
        assert_eq!(class(9, 8), Class::Apart);
        assert_eq!(places[7].cpu, Some(7));
    }

    #[test]
    fn slots_without_known_cores_are_only_on_one_host() {
        let platform = Platform::new(vec![Host::new("a", 2), Host::new("b", 2)]).unwrap();
        let places = platform.places();
        assert_eq!(places[0].class(&places[1]), Class::Host);
        assert_eq!(places[0].class(&places[2]), Class::Group);
        assert_eq!(platform.places_for(5)[4], places[0]);
        assert_eq!(platform.places_for(1).len(), 1);
    }

    #[test]
    fn places_nest() {
        let run = |host, count| Run {
            host,
            count,
            span: Span::NONE,
        };
        let hosts = vec![host("a", 3, 1, 2, 2), Host::new("b", 2)];
        let order = vec![run(0, 2), run(1, 2), run(0, 1)];
        let places = Platform::with_order(hosts, order).unwrap().places();
        let group = |class, members| TopologyTree::Group { class, members };
        let leaf = TopologyTree::Place;
        let expected = group(
            Class::Group,
            vec![
                group(
                    Class::Socket,
                    vec![group(Class::Cache, vec![leaf(0), leaf(1)]), leaf(4)],
                ),
                group(Class::Host, vec![leaf(2), leaf(3)]),
            ],
        );
        let tree = TopologyTree::of(&places).unwrap();
        assert_eq!(tree, expected);
        assert_eq!(tree.leaves(), [0, 1, 4, 2, 3]);
        assert_eq!(TopologyTree::of(&[]), None);
        assert_eq!(TopologyTree::of(&places[..1]), Some(leaf(0)));
    }

    #[test]
    fn slots_beyond_the_cores_share_them() {
        let mut a = host("a", 3, 1, 1, 2);
        (a.speed, a.memory) = (2.0, Some(300));
        let places = Platform::new(vec![a]).unwrap().places();
        let speeds: Vec<_> = places.iter().map(|p| p.speed).collect();
        assert_eq!(speeds, [1.0, 2.0, 1.0]);
        assert_eq!(places[2].core, Some(0));
        assert_eq!(places[1].memory, Some(100));
    }

    #[test]
    fn a_host_that_comes_again_goes_on_with_its_slots() {
        let run = |host, count| Run {
            host,
            count,
            span: Span::NONE,
        };
        let hosts = vec![host("a", 3, 1, 1, 4), Host::new("b", 1)];
        let order = vec![run(0, 2), run(1, 1), run(0, 1)];
        let places = Platform::with_order(hosts, order).unwrap().places();
        let seen: Vec<_> = places.iter().map(|p| (p.host, p.slot)).collect();
        assert_eq!(seen, [(0, 0), (0, 1), (1, 0), (0, 2)]);
    }
}
