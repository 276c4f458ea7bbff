//! Facts about hosts beyond their names, and warnings about facts that a launch file cannot
//! contain.

use crate::codes;
use crate::os_process::OsProcess;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::hardware::{Access, Hardware};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Facts about a host beyond its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// How a launcher reaches the host, and binds OS processes on it.
    pub access: Access,
    /// Largest number of OS processes that the host accepts.
    pub max_slots: Option<u32>,
}

/// Returns the facts of those hosts of a platform that have any, by the name of the host. Without a
/// platform, the result is empty.
pub(crate) fn of(platform: Option<&Hardware>) -> BTreeMap<String, HostFacts> {
    let hosts = platform.map_or(&[][..], |platform| &platform.hosts);
    let facts = hosts.iter().map(|host| {
        let facts = HostFacts {
            access: host.access.clone(),
            max_slots: host.max_slots,
        };
        (host.name.clone(), facts)
    });
    facts
        .filter(|(_, facts)| *facts != HostFacts::default())
        .collect()
}

/// Warns (`G0445`) of users, ports, interfaces and bindings of hosts that a file does not contain.
/// There is at most one warning for each of these four. It names the first host with the fact, and
/// counts the others in a note. A repeated host counts once.
///
/// `file` describes the file in messages. `access_facts` lists the facts that the file contains:
/// `user`, `port`, `interface`, `binding`.
pub(crate) fn check<'h>(
    hosts: impl Iterator<Item = &'h str>,
    facts: &BTreeMap<String, HostFacts>,
    file: &str,
    access_facts: &[&str],
    out: &mut Diagnostics,
) {
    if facts.is_empty() {
        return;
    }
    let mut seen: FxHashMap<&str, ()> = FxHashMap::default();
    // The kind of fact, the first host with such a fact, and the number of other hosts.
    let mut lost: Vec<(&str, &str, u32)> = Vec::new();
    for host in hosts {
        let Some(facts) = facts.get(host).filter(|_| seen.insert(host, ()).is_none()) else {
            continue;
        };
        for (name, _) in facts.access.said() {
            match lost.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, _, others)) => *others += 1,
                None if access_facts.contains(&name) => {}
                None => lost.push((name, host, 0)),
            }
        }
    }
    for (name, host, others) in lost {
        let name = match name {
            "user" => "ssh user",
            "port" => "ssh port",
            "interface" => "network interface",
            name => name,
        };
        let what = format!("the {name} of host `{host}` cannot be written to {file}");
        let mut warning = Diagnostic::warning(codes::ACCESS_LOST, what);
        match others {
            0 => {}
            1 => warning = warning.with_note(format!("the {name} of 1 more host is missing too")),
            n => {
                warning =
                    warning.with_note(format!("the {name}s of {n} more hosts are missing too"))
            }
        }
        out.push(match name {
            "ssh user" => warning.help(format!(
                "set it for ssh: `User` of `Host {host}` in `~/.ssh/config`"
            )),
            "ssh port" => warning.help(format!(
                "set it for ssh: `Port` of `Host {host}` in `~/.ssh/config`"
            )),
            "network interface" => warning.help(
                "give it to the launcher: `-iface NAME` (MPICH, Intel MPI), or \
                 `--mca btl_tcp_if_include NAME` (Open MPI)",
            ),
            _ => warning
                .help("describe the cores of the hosts, so that OS processes are bound to them"),
        });
    }
}

/// Warns (`G0440`) of hosts on which more OS processes start than their `max_slots`. Adds at most
/// one warning, which names the first of these hosts in alphabetical order and counts the others.
pub(crate) fn check_limits(
    os_processes: &[OsProcess],
    facts: &BTreeMap<String, HostFacts>,
    out: &mut Diagnostics,
) {
    let mut started: BTreeMap<&str, u32> = BTreeMap::new();
    for host in os_processes.iter().filter_map(|p| p.host.as_deref()) {
        *started.entry(host).or_insert(0) += 1;
    }
    let over: Vec<(&str, u32, u32)> = started
        .into_iter()
        .filter_map(|(host, n)| {
            let most = facts.get(host)?.max_slots?;
            (n > most).then_some((host, n, most))
        })
        .collect();
    let Some((host, n, most)) = over.first() else {
        return;
    };
    let what = format!("{n} OS processes start on `{host}`, but its limit is {most}");
    let mut warning = Diagnostic::warning(codes::BEYOND_SLOTS, what);
    if over.len() > 1 {
        let others = over.len() - 1;
        let note = match others {
            1 => "1 more host exceeds its limit".to_owned(),
            _ => format!("{others} more hosts exceed their limits"),
        };
        warning = warning.with_note(note);
    }
    out.push(warning.help("use fewer OS processes, name more hosts, or raise `max_slots=`"));
}
