//! The platform of a network, as passes and emitters see it. Independent of the format it was read
//! from.
//!
//! The command fills it from `--hosts` and `-n`, and the mapping is based on it. As JSON it is the
//! field `platform` of a request to a plug-in (crate `graphmap-plugin`).

use serde::Serialize;

/// Hosts, the order in which their slots are used, and the costs of messages between them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hardware {
    /// Number of OS processes (`-n`). `None` means one for each slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_processes: Option<u32>,
    /// Hosts, in the order in which they are first named. Not empty.
    pub hosts: Vec<Host>,
    /// Slots, in the order of OS processes, as runs of slots of one host. A host may have several
    /// runs.
    pub order: Vec<Slots>,
    /// Cost of a message, depending on the smallest unit that contains both its ends.
    pub distances: Distances,
}

/// A machine with sockets and cores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    /// Name, as launchers accept it.
    pub name: String,
    /// Number of OS processes that the host runs, at least 1.
    pub slots: u32,
    /// Largest number of OS processes that the host may be made to run, if there is a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_slots: Option<u32>,
    /// Speed relative to other hosts, where 1 is normal.
    pub speed: f64,
    /// Memory in bytes, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Group of hosts behind one switch, from 0.
    pub group: u32,
    /// Cores, ordered by socket and cache. Empty if only the number of slots is known.
    pub cores: Vec<Core>,
    /// Access by launchers.
    #[serde(flatten)]
    pub access: Access,
}

/// How a launcher reaches a host and binds OS processes on it. Fields that the host description
/// does not state are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Access {
    /// User to log in as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Port of the SSH server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Name of the network interface to use (`ifhn` of Intel MPI).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Binding in the syntax of the Hydra launcher (`binding=`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
}

impl Access {
    /// Returns the name and the value of each field that is not `None`, in the order of the fields.
    pub fn said(&self) -> Vec<(&'static str, String)> {
        // No `..`, so that a new field must be added here.
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

    /// Returns the host as an argument of `ssh`: `user@host`, or the name alone.
    pub fn login(&self, host: &str) -> String {
        match &self.user {
            Some(user) => format!("{user}@{host}"),
            None => host.to_owned(),
        }
    }
}

/// A core of a processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Core {
    /// Socket, numbered within the host from 0.
    pub socket: u32,
    /// Group of cores that share the last level of cache, numbered within the host from 0.
    pub cache: u32,
    /// Numbers that the operating system gives to the hardware threads. Binding uses the first.
    pub cpus: Vec<u32>,
    /// Speed relative to the other cores of the host, where 1 is normal.
    pub speed: f64,
}

/// Consecutive slots of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Slots {
    /// Index of the host.
    pub host: u32,
    /// Number of slots, at least 1.
    pub slots: u32,
}

/// Cost of a message, depending on the smallest unit that contains both its ends.
///
/// Only ratios matter. A larger unit never costs less than a smaller one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distances {
    /// Same OS process.
    pub os_process: f64,
    /// Same last level of cache.
    pub cache: f64,
    /// Same socket.
    pub socket: f64,
    /// Same host.
    pub host: f64,
    /// Same group of hosts.
    pub group: f64,
    /// Different groups of hosts.
    pub platform: f64,
}
