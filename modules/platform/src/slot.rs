//! The slots of a platform as plain data for partitioners.

use crate::distance::Class;
use crate::model::{HostId, Platform};
use graphmap_kpn::arena::Id;
use rustc_hash::FxHashMap;

/// One slot of a host, which can run one OS process.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// The host.
    pub host: HostId,
    /// Index of the slot in its host.
    pub slot: u32,
    /// Number of the hardware thread to bind to in the operating system, if cores are known.
    pub cpu: Option<u32>,
    /// Index of the core in its host, if cores are known.
    pub core: Option<u32>,
    /// Speed of the host times speed of the core, divided by the number of slots on the core.
    pub speed: f64,
    /// Share of the host's memory in bytes, if known.
    pub memory: Option<u64>,
    /// Ids of its cache group, socket, host and group of hosts.
    ///
    /// Ids are unique in the platform. The paths of two slots differ up to some level and agree
    /// from there on. If the cores of a host are unknown, each of its slots has its own cache group
    /// and socket.
    pub path: [u32; 4],
}

impl Slot {
    /// Returns the class of distance between two slots, which must be of one platform.
    ///
    /// The class between a slot and itself is [`Class::Cache`], because a slot does not know
    /// whether two processes are collocated.
    pub fn class(&self, other: &Slot) -> Class {
        let level = self.path.iter().zip(&other.path).position(|(a, b)| a == b);
        level.map_or(Class::Apart, |level| Class::ALL[level + 1])
    }
}

/// Slots as a tree with the outermost groups at the root, as partitioners expect them.
#[derive(Clone, Debug, PartialEq)]
pub enum TopologyTree {
    /// Index of a slot in the slice from which the tree was created.
    Slot(u32),
    /// At least two members with the same class of distance between them.
    Group {
        /// Class of distance between slots of different members.
        class: Class,
        /// Members, in the order of their first slots.
        members: Vec<TopologyTree>,
    },
}

impl TopologyTree {
    /// Groups slots by their paths. A group of one member is replaced by that member. All slots
    /// must be of one platform.
    ///
    /// Returns `None` if there are no slots.
    pub fn of(slots: &[Slot]) -> Option<TopologyTree> {
        // From the inside out: trees with the same id at a level are joined into one tree.
        let mut trees: Vec<(u32, TopologyTree)> = (0..slots.len() as u32)
            .map(|i| (i, TopologyTree::Slot(i)))
            .collect();
        for level in 0..=4 {
            let mut index = FxHashMap::default();
            let mut joined: Vec<(u32, Vec<TopologyTree>)> = Vec::new();
            for (first, tree) in trees {
                // The level outside the groups of hosts is the platform.
                let id = slots[first as usize].path.get(level).copied().unwrap_or(0);
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

    /// Returns the indices of the slots in the order of the tree.
    pub fn leaves(&self) -> Vec<u32> {
        match self {
            TopologyTree::Slot(slot) => vec![*slot],
            // The recursion is bounded, because a tree has at most six levels.
            TopologyTree::Group { members, .. } => {
                members.iter().flat_map(TopologyTree::leaves).collect()
            }
        }
    }
}

impl Platform {
    /// Returns all slots, in the order of OS processes. On a host with `c` known cores, slot `i`
    /// uses core `i mod c`.
    ///
    /// A partitioner needs no other data: the paths and the [`distances`](Platform::distances) give
    /// the hierarchy, and speed and memory give the capacities.
    pub fn slots(&self) -> Vec<Slot> {
        let mut next = vec![0u32; self.hosts().len()];
        let mut slots = Vec::with_capacity(self.slot_count());
        let tables = self.core_tables();
        for run in self.order() {
            let next = &mut next[run.host.index()];
            for _ in 0..run.count {
                slots.push(self.slot(&tables, run.host, *next));
                *next += 1;
            }
        }
        slots
    }

    /// Returns `n` slots, in the order of OS processes. If the platform has fewer, the order
    /// repeats from the first slot, as in MPICH.
    ///
    /// Hosts are overcommitted if `n` is larger than [`slot_count`](Platform::slot_count). The
    /// repeated slots are copies, whose speed and memory are not divided.
    pub fn slots_for(&self, n: usize) -> Vec<Slot> {
        let mut slots = self.slots();
        let all = slots.len();
        slots.truncate(n);
        while slots.len() < n {
            slots.push(slots[slots.len() - all].clone());
        }
        slots
    }

    /// Returns a slot for each entry of a list: a host, and the index of a core of that host.
    ///
    /// An entry with a core gets a slot on it. An entry without one gets the next slot of its host
    /// in the order of [`slots`](Platform::slots), and again the first after the last. Entries with
    /// a core do not count for that.
    ///
    /// # Panics
    /// Panics if a host is not in this platform, or if a core does not exist.
    pub fn slots_at(&self, places: &[(HostId, Option<u32>)]) -> Vec<Slot> {
        let mut next = vec![0u32; self.hosts().len()];
        let tables = self.core_tables();
        let slot = |&(id, core): &(HostId, Option<u32>)| {
            let (h, host) = (id.index(), &self[id]);
            let number = core.unwrap_or_else(|| {
                next[h] += 1;
                (next[h] - 1) % host.slots
            });
            self.slot(&tables, id, number)
        };
        places.iter().map(slot).collect()
    }

    fn slot(&self, tables: &[Cores], id: HostId, number: u32) -> Slot {
        let (h, host) = (id.index(), &self[id]);
        let mut slot = Slot {
            host: id,
            slot: number,
            cpu: None,
            core: None,
            speed: host.speed,
            memory: host.memory.map(|m| m / u64::from(host.slots)),
            path: [0, 0, h as u32, host.group],
        };
        tables[h].fill(&mut slot, host.slots);
        slot
    }

    /// Returns the class of distance between two hosts. It is [`Class::Host`] if they are equal.
    ///
    /// # Panics
    /// Panics if one of two different hosts is not in this platform.
    pub fn host_class(&self, a: HostId, b: HostId) -> Class {
        match () {
            () if a == b => Class::Host,
            () if self[a].group == self[b].group => Class::Group,
            () => Class::Apart,
        }
    }

    fn core_tables(&self) -> Vec<Cores> {
        // Ids of cache groups and sockets are counted through all hosts. A host without known cores
        // uses one id per slot.
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

/// The cores of one host, as socket, cache group, hardware thread and speed.
struct Cores {
    first_cache: u32,
    first_socket: u32,
    cores: Vec<(u32, u32, Option<u32>, f64)>,
}

impl Cores {
    fn fill(&self, slot: &mut Slot, slots: u32) {
        let count = self.cores.len() as u32;
        if count == 0 {
            slot.path[0] = self.first_cache + slot.slot;
            slot.path[1] = self.first_socket + slot.slot;
            return;
        }
        let core = slot.slot % count;
        let (socket, cache, cpu, speed) = self.cores[core as usize];
        slot.path[0] = self.first_cache + cache;
        slot.path[1] = self.first_socket + socket;
        (slot.core, slot.cpu) = (Some(core), cpu);
        // A core beyond the slots of its host is used only if it is named.
        let sharing = slots / count + u32::from(core < slots % count);
        slot.speed *= speed / f64::from(sharing.max(1));
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
    fn slots_know_how_far_apart_they_are() {
        let mut far = Host::new("c", 1);
        far.group = 1;
        let hosts = vec![host("a", 8, 2, 2, 2), host("b", 1, 1, 1, 1), far];
        let slots = Platform::new(hosts).unwrap().slots();
        let class = |a: usize, b: usize| slots[a].class(&slots[b]);
        assert_eq!(class(0, 1), Class::Cache);
        assert_eq!(class(0, 2), Class::Socket);
        assert_eq!(class(0, 4), Class::Host);
        assert_eq!(class(0, 8), Class::Group);
        assert_eq!(class(9, 8), Class::Apart);
        assert_eq!(slots[7].cpu, Some(7));
    }

    #[test]
    fn slots_without_known_cores_are_only_on_one_host() {
        let platform = Platform::new(vec![Host::new("a", 2), Host::new("b", 2)]).unwrap();
        let slots = platform.slots();
        assert_eq!(slots[0].class(&slots[1]), Class::Host);
        assert_eq!(slots[0].class(&slots[2]), Class::Group);
        assert_eq!(platform.slots_for(5)[4], slots[0]);
        assert_eq!(platform.slots_for(1).len(), 1);
    }

    #[test]
    fn slots_nest() {
        let run = |host, count| Run {
            host: HostId::from_index(host),
            count,
            span: Span::NONE,
        };
        let hosts = vec![host("a", 3, 1, 2, 2), Host::new("b", 2)];
        let order = vec![run(0, 2), run(1, 2), run(0, 1)];
        let slots = Platform::with_order(hosts, order).unwrap().slots();
        let group = |class, members| TopologyTree::Group { class, members };
        let leaf = TopologyTree::Slot;
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
        let tree = TopologyTree::of(&slots).unwrap();
        assert_eq!(tree, expected);
        assert_eq!(tree.leaves(), [0, 1, 4, 2, 3]);
        assert_eq!(TopologyTree::of(&[]), None);
        assert_eq!(TopologyTree::of(&slots[..1]), Some(leaf(0)));
    }

    #[test]
    fn slots_beyond_the_cores_share_them() {
        let mut a = host("a", 3, 1, 1, 2);
        (a.speed, a.memory) = (2.0, Some(300));
        let slots = Platform::new(vec![a]).unwrap().slots();
        let speeds: Vec<_> = slots.iter().map(|p| p.speed).collect();
        assert_eq!(speeds, [1.0, 2.0, 1.0]);
        assert_eq!(slots[2].core, Some(0));
        assert_eq!(slots[1].memory, Some(100));
    }

    #[test]
    fn slots_are_at_the_given_hosts_and_cores() {
        let platform = Platform::new(vec![host("a", 2, 2, 1, 2), Host::new("b", 1)]).unwrap();
        let [a, b] = [0, 1].map(HostId::from_index);
        let places = [(b, None), (a, None), (a, Some(3)), (a, None), (a, None)];
        let slots = platform.slots_at(&places);
        let usual = platform.slots();
        let expected = [&usual[2], &usual[0], &slots[2], &usual[1], &usual[0]];
        assert!(slots.iter().eq(expected));
        assert_eq!((slots[2].cpu, slots[2].core), (Some(3), Some(3)));
        assert_eq!(slots[2].class(&slots[1]), Class::Host);
        assert_eq!(slots[2].speed, 1.0);
    }

    #[test]
    fn a_host_that_comes_again_goes_on_with_its_slots() {
        let run = |host, count| Run {
            host: HostId::from_index(host),
            count,
            span: Span::NONE,
        };
        let hosts = vec![host("a", 3, 1, 1, 4), Host::new("b", 1)];
        let order = vec![run(0, 2), run(1, 1), run(0, 1)];
        let slots = Platform::with_order(hosts, order).unwrap().slots();
        let seen: Vec<_> = slots.iter().map(|p| (p.host.index(), p.slot)).collect();
        assert_eq!(seen, [(0, 0), (0, 1), (1, 0), (0, 2)]);
    }
}
