//! What a network is to run on, as passes and emitters are told it: plain facts, in no need of whoever read them.
//!
//! The command fills it from what `--hosts` and `-n` say; it is what the mapping goes by. As JSON it is the
//! field `platform` of a plug-in's request (crate `graphmap-plugin`).

use serde::Serialize;

/// Hosts, the order in which their slots are used, and what a message costs between them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hardware {
    /// How many OS processes there are to be (`-n`); `None`: one for each slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_processes: Option<u32>,
    /// The hosts, in the order in which they are first named; at least one.
    pub hosts: Vec<Host>,
    /// The slots in the order of OS processes, as runs of slots of one host; a host may come up again.
    pub order: Vec<Slots>,
    /// What a message costs, by what its two ends have in common.
    pub distances: Distances,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    /// Its name, as launchers take it.
    pub name: String,
    /// How many OS processes it takes; at least one.
    pub slots: u32,
    /// The most it can be made to take, where that is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_slots: Option<u32>,
    /// How fast it is beside other hosts; 1 is normal.
    pub speed: f64,
    /// Its memory in bytes, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The group of hosts (behind one switch) that it is in, from 0.
    pub group: u32,
    /// Its cores, socket by socket and cache by cache; empty where only its slots are known.
    pub cores: Vec<Core>,
    /// How a launcher reaches it and binds on it.
    #[serde(flatten)]
    pub access: Access,
}

/// How a launcher reaches a host and binds OS processes on it, as far as the description says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Access {
    /// The user to log in as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The port of its ssh server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The name of the network interface to use (`ifhn` of Intel MPI).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// The binding in the words of the hydra launcher (`binding=`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
}

impl Access {
    /// Returns each thing that is said: its name and its value.
    pub fn said(&self) -> Vec<(&'static str, String)> {
        // Without `..`: a new field has to be named here.
        let Access {
            user,
            port,
            interface,
            binding,
        } = self;
        let all = [
            ("user", user.clone()),
            ("port", port.map(|port| port.to_string())),
            ("interface", interface.clone()),
            ("binding", binding.clone()),
        ];
        let said = all.into_iter();
        said.filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    /// Returns the host as `ssh` takes it: `user@host`, or the name alone.
    pub fn login(&self, host: &str) -> String {
        match &self.user {
            Some(user) => format!("{user}@{host}"),
            None => host.to_owned(),
        }
    }
}

/// A core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Core {
    /// The socket it is on, counted through the host from 0.
    pub socket: u32,
    /// The group of cores that share their last cache, counted through the host from 0.
    pub cache: u32,
    /// The operating system's numbers of its hardware threads; binding uses the first.
    pub cpus: Vec<u32>,
    /// How fast it is beside the other cores of its host; 1 is normal.
    pub speed: f64,
}

/// Slots of one host that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Slots {
    /// Index of the host.
    pub host: u32,
    /// How many slots; at least one.
    pub slots: u32,
}

/// What a message costs whose two ends share the place named and nothing closer; only ratios matter.
/// What is further apart never costs less.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distances {
    /// One OS process.
    pub os_process: f64,
    /// The last cache of their cores.
    pub cache: f64,
    /// A socket.
    pub socket: f64,
    /// A host.
    pub host: f64,
    /// A group of hosts.
    pub group: f64,
    /// The platform.
    pub platform: f64,
}
