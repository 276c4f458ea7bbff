//! The platform: hosts, sockets, groups of cores, and cores.

use crate::distance::Distances;
use graphmap_kpn::arena::Id;
use graphmap_kpn::hardware::Access;
use graphmap_kpn::source::Span;
use rustc_hash::FxHashMap;
use std::ops::Index;

graphmap_kpn::define_id!(
    /// Id of a host of a [`Platform`]. `platform[host]` is the host.
    pub HostId,
    "h"
);

/// Maximum number of hosts of a platform.
pub const MAX_HOSTS: usize = 1 << 20;
/// Maximum number of slots of a platform, and of its cores.
pub const MAX_CORES: usize = 1 << 22;

/// A core.
#[derive(Clone, Debug, PartialEq)]
pub struct Core {
    /// Numbers of its hardware threads in the operating system, in order. Binding uses the first.
    pub cpus: Vec<u32>,
    /// Speed relative to the other cores of its host. 1 is normal.
    pub speed: f64,
}

/// Cores that share their last cache. If the caches are unknown, each core is a group of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CacheGroup {
    /// The cores, at least one.
    pub cores: Vec<Core>,
}

/// A socket (a package, a processor chip).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Socket {
    /// The groups of cores, at least one.
    pub caches: Vec<CacheGroup>,
}

/// A host.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Name, as launchers accept it.
    pub name: String,
    /// Position of the first mention.
    pub span: Span,
    /// Means by which a launcher reaches the host and binds on it, as far as the file gives them.
    pub access: Access,
    /// Group of hosts (behind one switch) that contains the host. A platform numbers its groups
    /// from 0, in the order of their first hosts.
    pub group: u32,
    /// Number of OS processes for which the host has space, at least one.
    pub slots: u32,
    /// Maximum to which the number of slots can be raised, if the file sets one.
    pub max_slots: Option<u32>,
    /// Speed relative to other hosts. 1 is normal.
    pub speed: f64,
    /// Memory in bytes, if known.
    pub memory: Option<u64>,
    /// The sockets. Empty if only the slots are known.
    pub sockets: Vec<Socket>,
}

impl Host {
    /// Creates a host of which only the name and the number of slots are known.
    pub fn new(name: impl Into<String>, slots: u32) -> Host {
        Host {
            name: name.into(),
            span: Span::NONE,
            access: Access::default(),
            group: 0,
            slots,
            max_slots: None,
            speed: 1.0,
            memory: None,
            sockets: Vec::new(),
        }
    }

    /// Returns the cores in the order of sockets and cache groups.
    ///
    /// An item is the index of the socket, the index of the cache group in the host, and the core.
    pub fn cores(&self) -> impl Iterator<Item = (u32, u32, &Core)> {
        let groups = self.sockets.iter().enumerate();
        groups
            .flat_map(|(socket, s)| s.caches.iter().map(move |cache| (socket, cache)))
            .enumerate()
            .flat_map(|(group, (socket, cache))| {
                let place = (socket as u32, group as u32);
                cache.cores.iter().map(move |core| (place.0, place.1, core))
            })
    }

    /// Returns the number of known cores.
    pub fn core_count(&self) -> usize {
        self.sockets
            .iter()
            .flat_map(|s| &s.caches)
            .map(|c| c.cores.len())
            .sum()
    }
}

/// Slots of one host that are consecutive in the order of OS processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The host.
    pub host: HostId,
    /// Number of slots.
    pub count: u32,
    /// Position of the line that gives the slots.
    pub span: Span,
}

/// Reason why hosts do not form a platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlatform {
    /// There is no host.
    #[error("a platform needs at least one host")]
    Empty,
    /// The name, slots, speed, access or sockets of a host are invalid.
    #[error("host `{0}` {1}")]
    BadHost(String, &'static str),
    /// Two hosts have the same name.
    #[error("host `{0}` occurs twice")]
    Twice(String),
    /// The order of slots does not use each slot of a host exactly once.
    #[error("the order of slots lists {1} slots of host `{0}`, which has {2}")]
    Order(String, u64, u32),
    /// The platform exceeds [`MAX_HOSTS`] or [`MAX_CORES`].
    #[error("a platform has at most {MAX_HOSTS} hosts, {MAX_CORES} slots and {MAX_CORES} cores")]
    TooLarge,
}

/// Hosts and slots on which OS processes can run.
///
/// A platform has at least one host. Each host has a unique name, at least one slot and a positive
/// speed. A name consists of ASCII letters, digits, `-`, `.` and `_`, so that any file can contain
/// it without quotes. Users, interfaces and bindings need no quotes either.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    hosts: Vec<Host>,
    order: Vec<Run>,
    distances: Distances,
}

impl Platform {
    /// Creates a platform that uses its slots host by host. The distances are
    /// [`Distances::MEASURED`].
    ///
    /// # Errors
    /// [`BadPlatform::Empty`] and [`BadPlatform::TooLarge`]. Otherwise [`BadPlatform::BadHost`] or
    /// [`BadPlatform::Twice`] for the first host to which one of them applies.
    pub fn new(hosts: Vec<Host>) -> Result<Platform, BadPlatform> {
        let runs = hosts.iter().enumerate().map(|(i, h)| Run {
            host: HostId::from_index(i),
            count: h.slots,
            span: h.span,
        });
        let order = runs.collect();
        Platform::with_order(hosts, order)
    }

    /// Creates a platform that uses its slots in the given order, in which a host may occur more
    /// than once. The distances are [`Distances::MEASURED`].
    ///
    /// Numbers the groups of hosts from 0, in the order of their first hosts. Joins consecutive
    /// runs of one host, and drops runs without slots.
    ///
    /// # Errors
    /// Errors of [`new`](Platform::new). Otherwise [`BadPlatform::Order`] for the first host of
    /// which `order` has more or fewer slots than the host, or for a run of a host that does not
    /// exist.
    pub fn with_order(mut hosts: Vec<Host>, mut order: Vec<Run>) -> Result<Platform, BadPlatform> {
        if hosts.is_empty() {
            return Err(BadPlatform::Empty);
        }
        let slots: u64 = hosts.iter().map(|h| u64::from(h.slots)).sum();
        let cores: usize = hosts.iter().map(Host::core_count).sum();
        if hosts.len() > MAX_HOSTS || slots > MAX_CORES as u64 || cores > MAX_CORES {
            return Err(BadPlatform::TooLarge);
        }
        let mut seen = FxHashMap::default();
        for host in &hosts {
            check_host(host)?;
            if seen.insert(host.name.as_str(), ()).is_some() {
                return Err(BadPlatform::Twice(host.name.clone()));
            }
        }
        let mut used = vec![0u64; hosts.len()];
        for run in &order {
            if let Some(used) = used.get_mut(run.host.index()) {
                *used += u64::from(run.count);
            }
        }
        for (host, &used) in hosts.iter().zip(&used) {
            if used != u64::from(host.slots) {
                return Err(BadPlatform::Order(host.name.clone(), used, host.slots));
            }
        }
        if let Some(run) = order.iter().find(|r| r.host.index() >= hosts.len()) {
            let name = format!("number {}", run.host.index());
            return Err(BadPlatform::Order(name, u64::from(run.count), 0));
        }
        order.retain(|run| run.count > 0);
        order.dedup_by(|run, before| {
            let same = run.host == before.host;
            before.count += if same { run.count } else { 0 };
            same
        });
        let mut groups = FxHashMap::default();
        for host in &mut hosts {
            let next = groups.len() as u32;
            host.group = *groups.entry(host.group).or_insert(next);
        }
        Ok(Platform {
            hosts,
            order,
            distances: Distances::MEASURED,
        })
    }

    /// Replaces the distances.
    pub fn with_distances(mut self, distances: Distances) -> Platform {
        self.distances = distances;
        self
    }

    /// Gives each host without sockets the sockets of `node`, and its memory if unknown. The slots
    /// do not change.
    ///
    /// # Errors
    /// [`BadPlatform::TooLarge`] if there are too many cores. [`BadPlatform::BadHost`] if a socket
    /// of `node` has no cores or a core without a positive speed. Does not fail if all hosts have
    /// sockets.
    pub fn with_node(mut self, node: &Host) -> Result<Platform, BadPlatform> {
        for host in self.hosts.iter_mut().filter(|h| h.sockets.is_empty()) {
            host.sockets = node.sockets.clone();
            host.memory = host.memory.or(node.memory);
        }
        let distances = self.distances;
        Platform::with_order(self.hosts, self.order).map(|p| p.with_distances(distances))
    }

    /// Appends the hosts and slots of another platform.
    ///
    /// If `other` has more than one group of hosts, its groups become additional groups. Otherwise
    /// its hosts join the first group. The distances of `self` are kept.
    ///
    /// # Errors
    /// Returns [`BadPlatform::Twice`] if a host is in both platforms, and [`BadPlatform::TooLarge`]
    /// if the result exceeds a limit.
    pub fn join(mut self, other: Platform) -> Result<Platform, BadPlatform> {
        let offset = self.hosts.len();
        let groups = match other.groups() {
            0 | 1 => 0,
            _ => self.groups(),
        };
        self.hosts.extend(other.hosts.into_iter().map(|mut host| {
            host.group = host.group.saturating_add(groups);
            host
        }));
        self.order.extend(other.order.into_iter().map(|run| Run {
            host: HostId::from_index(run.host.index() + offset),
            ..run
        }));
        let distances = self.distances;
        Platform::with_order(self.hosts, self.order).map(|p| p.with_distances(distances))
    }

    /// Returns the hosts in the order of their first mention.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Returns the ids of the hosts, in the same order as [`hosts`](Platform::hosts).
    pub fn host_ids(&self) -> impl ExactSizeIterator<Item = HostId> + use<> {
        (0..self.hosts.len()).map(HostId::from_index)
    }

    /// Returns the slots in the order of OS processes, as runs of slots of one host.
    pub fn order(&self) -> &[Run] {
        &self.order
    }

    /// Returns the cost of a message for each class of distance.
    pub fn distances(&self) -> &Distances {
        &self.distances
    }

    /// Returns the number of slots of all hosts.
    pub fn slot_count(&self) -> usize {
        self.hosts.iter().map(|h| h.slots as usize).sum()
    }

    /// Returns the number of groups of hosts.
    pub fn groups(&self) -> u32 {
        self.hosts.iter().map(|h| h.group + 1).max().unwrap_or(0)
    }

    /// Returns the host called `name`, or `None` if there is none. Takes time linear in the number
    /// of hosts.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|h| h.name == name)
    }

    /// Removes the positions in source texts, so that platforms can be compared.
    pub fn without_spans(mut self) -> Platform {
        self.hosts.iter_mut().for_each(|h| h.span = Span::NONE);
        self.order.iter_mut().for_each(|r| r.span = Span::NONE);
        self
    }
}

impl Index<HostId> for Platform {
    type Output = Host;

    fn index(&self, host: HostId) -> &Host {
        &self.hosts[host.index()]
    }
}

fn check_host(host: &Host) -> Result<(), BadPlatform> {
    let speed = |s: f64| s.is_finite() && s > 0.0;
    let empty = |s: &Socket| s.caches.is_empty() || s.caches.iter().any(|c| c.cores.is_empty());
    let name_fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let wrong = if host.name.is_empty() || !host.name.chars().all(name_fits) {
        "has a name that launchers do not accept"
    } else if host.slots == 0 {
        "has no slots"
    } else if host.max_slots.is_some_and(|max| max < host.slots) {
        "has more slots than its maximum"
    } else if !speed(host.speed) || host.cores().any(|(_, _, c)| !speed(c.speed)) {
        "has a speed that is not positive"
    } else if crate::access::invalid_key(&host.access).is_some() {
        "has a user, port, interface or binding that launchers do not accept"
    } else if host.sockets.iter().any(empty) {
        "has a socket or cache group without cores"
    } else {
        return Ok(());
    };
    Err(BadPlatform::BadHost(host.name.clone(), wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_platform_is_an_error() {
        let host = |name: &str, slots| Host::new(name, slots);
        assert_eq!(Platform::new(vec![]), Err(BadPlatform::Empty));
        let twice = Platform::new(vec![host("a", 1), host("a", 2)]);
        assert_eq!(twice, Err(BadPlatform::Twice("a".into())));
        assert!(Platform::new(vec![host("a", 0)]).is_err());
        assert_eq!(
            Platform::new(vec![host("a", u32::MAX), host("b", u32::MAX)]),
            Err(BadPlatform::TooLarge)
        );
        let mut slow = host("a", 1);
        slow.speed = 0.0;
        assert!(Platform::new(vec![slow]).is_err());
        let span = Span::NONE;
        let order = vec![
            Run {
                host: HostId::from_index(0),
                count: 1,
                span,
            },
            Run {
                host: HostId::from_index(7),
                count: 1,
                span,
            },
        ];
        assert!(Platform::with_order(vec![host("a", 1)], order).is_err());
    }

    #[test]
    fn platforms_join() {
        let a = Platform::new(vec![Host::new("a", 2)]).unwrap();
        let mut far = Host::new("c", 1);
        far.group = 1;
        let b = Platform::new(vec![Host::new("b", 1), far]).unwrap();
        let both = a.clone().join(b).unwrap();
        let groups: Vec<_> = both.hosts().iter().map(|h| h.group).collect();
        assert_eq!((both.slot_count(), groups), (4, vec![0, 1, 2]));
        assert_eq!(a.clone().join(a), Err(BadPlatform::Twice("a".into())));
    }
}
