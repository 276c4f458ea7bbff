//! Places of OS processes in the hardware, as far as it is known, and classes of distance.

use crate::Scene;
use graphmap_kpn::hardware::{self, Hardware};
use rustc_hash::FxHashMap;

/// Relation between two OS processes, closest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    /// On cores that share their last cache.
    Cache,
    /// On one socket.
    Socket,
    /// On one host.
    Host,
    /// On different hosts of one group.
    Group,
    /// On hosts of different groups.
    Apart,
    /// The launcher chooses the host of at least one of them.
    Unknown,
}

impl Class {
    /// Returns the name of the class for the legend.
    pub(crate) fn about(self) -> &'static str {
        match self {
            Class::Cache => "same cache",
            Class::Socket => "same socket",
            Class::Host => "same host",
            Class::Group => "other host",
            Class::Apart => "other group of hosts",
            Class::Unknown => "hosts chosen by the launcher",
        }
    }

    /// Returns the name of the class for `class` and `data-class`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Class::Cache => "cache",
            Class::Socket => "socket",
            Class::Host => "host",
            Class::Group => "group",
            Class::Apart => "apart",
            Class::Unknown => "unknown",
        }
    }
}

/// Place of an OS process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// Index of the host in the scene.
    pub(crate) host: usize,
    /// Number of the socket that contains all its cores.
    pub(crate) socket: Option<u32>,
    /// Number of the cache that all its cores share.
    pub(crate) cache: Option<u32>,
    /// Speed of its host and its core. OS processes that are bound to the same core divide it.
    pub(crate) speed: f64,
}

/// Places of all OS processes.
pub(crate) struct Places<'a> {
    /// Places by the number of the OS process.
    pub(crate) of: Vec<Place>,
    /// Description of each host of the scene, if it is known.
    pub(crate) hosts: Vec<Option<&'a hardware::Host>>,
    /// Whether the launcher chooses the host, by host of the scene.
    open: Vec<bool>,
}

impl<'a> Places<'a> {
    /// Returns the places. A binding to cores that the hardware does not have is ignored.
    ///
    /// # Panics
    /// Panics if an index in the scene is out of range.
    pub(crate) fn of(scene: &Scene, hardware: Option<&'a Hardware>) -> Places<'a> {
        let known: FxHashMap<&str, &hardware::Host> = hardware
            .into_iter()
            .flat_map(|h| &h.hosts)
            .map(|h| (h.name.as_str(), h))
            .collect();
        let find = |h: &crate::Host| known.get(h.name.as_str()).copied();
        let hosts: Vec<_> = scene.hosts.iter().map(find).collect();
        let unplaced = Place {
            speed: 1.0,
            ..Place::default()
        };
        let mut of = vec![unplaced; scene.os_processes.len()];
        for (h, host) in scene.hosts.iter().enumerate() {
            for &o in &host.os_processes {
                of[o].host = h;
            }
            if let Some(description) = hosts[h] {
                place(&mut of, scene, host, description);
            }
        }
        let open = scene.hosts.iter().map(|h| h.name.is_empty()).collect();
        Places { of, hosts, open }
    }

    /// Returns the class of distance between two OS processes.
    pub(crate) fn class(&self, a: usize, b: usize) -> Class {
        let (a, b) = (&self.of[a], &self.of[b]);
        let same = |a: Option<u32>, b: Option<u32>| a.is_some() && a == b;
        if self.open[a.host] || self.open[b.host] {
            Class::Unknown
        } else if a.host == b.host {
            match () {
                () if same(a.cache, b.cache) => Class::Cache,
                () if same(a.socket, b.socket) => Class::Socket,
                () => Class::Host,
            }
        } else {
            match (self.hosts[a.host], self.hosts[b.host]) {
                (Some(a), Some(b)) if a.group != b.group => Class::Apart,
                _ => Class::Group,
            }
        }
    }
}

fn place(of: &mut [Place], scene: &Scene, host: &crate::Host, description: &hardware::Host) {
    let mut core_of: FxHashMap<u32, usize> = FxHashMap::default();
    for (c, core) in description.cores.iter().enumerate() {
        core_of.extend(core.cpus.iter().map(|&cpu| (cpu, c)));
    }
    let mut sharing = vec![0u32; description.cores.len()];
    let first = |o: usize| {
        let bound = &scene.os_processes[o].cores;
        bound.first().and_then(|cpu| core_of.get(cpu)).copied()
    };
    for &o in &host.os_processes {
        if let Some(core) = first(o) {
            sharing[core] += 1;
        }
    }
    for &o in &host.os_processes {
        of[o].speed = description.speed;
        if let Some(core) = first(o) {
            of[o].speed *= description.cores[core].speed / f64::from(sharing[core]);
        }
        let bound = &scene.os_processes[o].cores;
        let cores: Option<Vec<&hardware::Core>> = bound
            .iter()
            .map(|cpu| core_of.get(cpu).map(|&c| &description.cores[c]))
            .collect();
        let Some([first, rest @ ..]) = cores.as_deref() else {
            continue;
        };
        let all = |same: fn(&hardware::Core) -> u32| {
            let one = rest.iter().all(|core| same(core) == same(first));
            one.then(|| same(first))
        };
        of[o].socket = all(|core| core.socket);
        of[o].cache = all(|core| core.cache);
    }
}
