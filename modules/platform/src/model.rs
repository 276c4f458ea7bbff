//! The platform: hosts and what is in them.

use crate::distance::Distances;
use graphmap_kpn::arena::Id;
use graphmap_kpn::hardware::Access;
use graphmap_kpn::source::Span;
use rustc_hash::FxHashMap;
use std::ops::Index;

graphmap_kpn::define_id!(
    /// A host of a [`Platform`], which gives it: `platform[host]`.
    pub HostId,
    "h"
);

/// Most hosts a platform can have.
pub const MAX_HOSTS: usize = 1 << 20;
/// Most slots, and most cores, a platform can have.
pub const MAX_CORES: usize = 1 << 22;

/// A core.
#[derive(Clone, Debug, PartialEq)]
pub struct Core {
    /// The operating system's numbers of its hardware threads, in order; binding uses the first.
    pub cpus: Vec<u32>,
    /// How fast it is beside the other cores of its host; 1 is normal.
    pub speed: f64,
}

/// Cores that share their last cache. Where caches are not known, each core is a group of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CacheGroup {
    /// At least one.
    pub cores: Vec<Core>,
}

/// A socket (a package, a processor chip).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Socket {
    /// At least one.
    pub caches: Vec<CacheGroup>,
}

/// A host.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Its name as launchers take it.
    pub name: String,
    /// Where it is first named.
    pub span: Span,
    /// How a launcher reaches it and binds on it, where the file says so.
    pub access: Access,
    /// The group of hosts (behind one switch) it is in; a platform numbers its groups from 0 in
    /// the order in which they come up.
    pub group: u32,
    /// How many OS processes it takes; at least one.
    pub slots: u32,
    /// The most it can be made to take, when the file sets a limit.
    pub max_slots: Option<u32>,
    /// How fast it is beside other hosts; 1 is normal.
    pub speed: f64,
    /// Its memory in bytes, if known.
    pub memory: Option<u64>,
    /// What is in it; empty when only its slots are known.
    pub sockets: Vec<Socket>,
}

impl Host {
    /// A host of which only the name and the slots are known.
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

    /// Its cores, socket by socket and cache by cache, each with its socket and the number of its
    /// cache group, counted through the host.
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

    /// How many cores are known.
    pub fn core_count(&self) -> usize {
        self.sockets
            .iter()
            .flat_map(|s| &s.caches)
            .map(|c| c.cores.len())
            .sum()
    }
}

/// Slots of one host that follow each other in rank order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The host.
    pub host: HostId,
    /// How many slots.
    pub count: u32,
    /// The line that says so.
    pub span: Span,
}

/// Why hosts do not make a platform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlatform {
    /// No host at all.
    #[error("a platform needs at least one host")]
    Empty,
    /// A host without slots, or with a name or speed that is none.
    #[error("host `{0}` {1}")]
    BadHost(String, &'static str),
    /// Two hosts of one name.
    #[error("host `{0}` occurs twice")]
    Twice(String),
    /// The order of slots does not use each host's slots exactly once.
    #[error("the order of slots lists {1} slots of host `{0}`, which has {2}")]
    Order(String, u64, u32),
    /// Over [`MAX_HOSTS`] or [`MAX_CORES`].
    #[error("a platform has at most {MAX_HOSTS} hosts, {MAX_CORES} slots and {MAX_CORES} cores")]
    TooLarge,
}

/// Where OS processes can run.
///
/// Always holds at least one host, each with a name of its own (of letters, digits, `-`, `.` and
/// `_`, so that it can be written into any file unquoted), at least one slot and a speed above zero.
/// A user, interface or binding can be written unquoted as well.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    hosts: Vec<Host>,
    order: Vec<Run>,
    distances: Distances,
}

impl Platform {
    /// A platform whose slots are used host by host.
    ///
    /// # Errors
    /// What [`BadPlatform`] lists.
    pub fn new(hosts: Vec<Host>) -> Result<Platform, BadPlatform> {
        let runs = hosts.iter().enumerate().map(|(i, h)| Run {
            host: HostId::from_index(i),
            count: h.slots,
            span: h.span,
        });
        let order = runs.collect();
        Platform::with_order(hosts, order)
    }

    /// A platform whose slots are used in the order given (a host may come up several times).
    ///
    /// # Errors
    /// What [`BadPlatform`] lists.
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

    /// The same platform with other distances.
    pub fn with_distances(mut self, distances: Distances) -> Platform {
        self.distances = distances;
        self
    }

    /// The same platform where each host whose inside is not known is built like `node`: its
    /// sockets, caches and cores, and, where not known either, its memory. Slots stay.
    pub fn with_node(mut self, node: &Host) -> Result<Platform, BadPlatform> {
        for host in self.hosts.iter_mut().filter(|h| h.sockets.is_empty()) {
            host.sockets = node.sockets.clone();
            host.memory = host.memory.or(node.memory);
        }
        let distances = self.distances;
        Platform::with_order(self.hosts, self.order).map(|p| p.with_distances(distances))
    }

    /// This platform and another: the other's hosts and slots follow, its groups of hosts are
    /// further groups if it has more than one. Distances stay.
    ///
    /// # Errors
    /// [`BadPlatform::Twice`] when a host is in both.
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

    /// The hosts, in the order they were first named.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The same with their ids.
    pub fn host_ids(&self) -> impl ExactSizeIterator<Item = HostId> + use<> {
        (0..self.hosts.len()).map(HostId::from_index)
    }

    /// The slots in rank order, as runs of slots of one host.
    pub fn order(&self) -> &[Run] {
        &self.order
    }

    /// What a message costs over each class of distance.
    pub fn distances(&self) -> &Distances {
        &self.distances
    }

    /// How many slots all hosts have together.
    pub fn slot_count(&self) -> usize {
        self.hosts.iter().map(|h| h.slots as usize).sum()
    }

    /// How many groups of hosts there are.
    pub fn groups(&self) -> u32 {
        self.hosts.iter().map(|h| h.group + 1).max().unwrap_or(0)
    }

    /// The host of a name.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|h| h.name == name)
    }

    /// The same without places in source texts, for comparing.
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
    } else if crate::access::odd(&host.access).is_some() {
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
    fn a_platform_that_is_none_is_refused() {
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
