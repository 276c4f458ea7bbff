//! Assigns the hosts of this run to a mapping from a file.

use crate::cli::check::plural;
use crate::cli::exit::Exit;
use crate::cli::session::{Outcome, Session};
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::mapping::Mapping;
use graphmap_platform::Platform;
use std::collections::BTreeMap;
use std::path::Path;

/// Assigns hosts to OS processes if the mapping names none: the slots in the order of the hosts,
/// repeated if there are too few. Hosts that the mapping names must be hosts of this run. Warns of
/// hosts with more OS processes than slots.
///
/// # Errors
/// Reports each host of the mapping that is not a host of this run, and OS processes without a host
/// if others have one. Returns [`Exit::Usage`] in these cases.
pub(super) fn onto(
    session: &mut Session<'_>,
    path: &Path,
    mapping: &mut Mapping,
    platform: &Platform,
) -> Outcome<()> {
    if mapping
        .bindings
        .values()
        .all(|binding| binding.host.is_none())
    {
        let slots = platform.order().iter().flat_map(|run| {
            let name = &platform[run.host].name;
            std::iter::repeat_n(name, run.count as usize)
        });
        for (binding, host) in mapping.bindings.values_mut().zip(slots.cycle()) {
            binding.host = Some(host.clone());
        }
    }
    let mut used: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (os_process, binding) in mapping.bindings.values().enumerate() {
        let host = binding.host.as_deref().unwrap_or_default();
        used.entry(host).or_default().push(os_process);
    }
    let path = path.display();
    let mut is_missing = false;
    for (host, os_processes) in used {
        let first = os_processes[0];
        match platform.host(host) {
            None => {
                is_missing = true;
                let what = match host {
                    "" => {
                        format!("OS process {first} has no host in `{path}`, but others have one")
                    }
                    _ => format!(
                        "`{path}` maps OS process {first} to `{host}`, which is not one of the hosts of this run"
                    ),
                };
                let names = platform.hosts().iter().take(8).map(|host| &*host.name);
                let names = names.collect::<Vec<_>>().join(", ");
                let more = if platform.hosts().len() > 8 {
                    ", ..."
                } else {
                    ""
                };
                session.report(
                    Diagnostic::error(codes::HOSTS_MISSING, what)
                        .with_note(format!("the hosts of this run are {names}{more}"))
                        .help(
                            "map again with these `--hosts`, or run with the hosts of the mapping",
                        ),
                );
            }
            Some(there) if os_processes.len() > there.slots as usize => {
                let here = plural(os_processes.len(), "OS process");
                let slots = plural(there.slots as usize, "slot");
                let what = format!("`{path}` maps {here} to `{host}`, which has {slots}");
                session.report(
                    Diagnostic::warning(codes::HOSTS_MISSING, what).help(
                        "map again onto these hosts, so that OS processes do not share cores",
                    ),
                );
            }
            Some(_) => {}
        }
    }
    match is_missing {
        true => Err(Exit::Usage),
        false => Ok(()),
    }
}
