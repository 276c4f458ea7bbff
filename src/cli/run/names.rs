//! Checks that the hosts of a run have addresses. Launchers report a missing address late, in many
//! lines, or never.

use super::copy::{AT_A_TIME, is_here, this_host};
use crate::cli::exit::Exit;
use crate::cli::progress::Progress;
use crate::cli::session::{Outcome, Session};
use crate::cli::supervisor::{self, Bound};
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::mapping::Mapping;
use graphmap_kpn::source::Span;
use graphmap_platform::Platform;
use std::collections::BTreeSet;
use std::io;
use std::net::ToSocketAddrs;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Launchers that call ssh for each host by default.
const BY_SSH: [&str; 3] = ["mpich", "openmpi", "intel"];
/// Variables by which the user, or the system that allocated the hosts, selects another way.
const OTHERWISE: [&str; 12] = [
    "HYDRA_LAUNCHER",
    "HYDRA_LAUNCHER_EXEC",
    "I_MPI_HYDRA_BOOTSTRAP",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC",
    "OMPI_MCA_plm",
    "OMPI_MCA_plm_rsh_agent",
    "PRTE_MCA_plm",
    "PRTE_MCA_plm_ssh_agent",
    "SLURM_JOB_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "PE_HOSTFILE",
];
/// Maximum number of hosts that are reported. The others are counted.
const MAX_REPORTED: usize = 8;

/// Reports all hosts of a mapping for which ssh would find no address, with the positions of their
/// names. Does nothing if the launcher does not use ssh, as far as it and the environment show.
/// Blocks until the look-ups end.
///
/// # Errors
/// Returns [`Exit::Usage`] if a host has no address.
pub(super) fn check(
    session: &mut Session<'_>,
    mapping: &Mapping,
    platform: &Platform,
    launcher: &str,
    agent: Option<&str>,
) -> Outcome<()> {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if agent.is_some() || !BY_SSH.contains(&launcher) || OTHERWISE.iter().any(is_set) {
        return Ok(());
    }
    let here = this_host();
    let names = mapping.bindings.values();
    let names = names.filter_map(|binding| binding.host.as_deref());
    let names: BTreeSet<&str> = names.filter(|name| !is_here(name, &here)).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let progress = Progress::start(session, "looking up hosts", None, None);
    let (next, unknown) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(names.len()) {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(why) = unreachable(name) {
                        let mut unknown = unknown.lock().unwrap_or_else(|error| error.into_inner());
                        unknown.push((*name, why));
                    }
                }
            });
        }
    });
    drop(progress);
    let unknown = unknown.into_inner();
    let mut unknown = unknown.unwrap_or_else(|error| error.into_inner());
    if unknown.is_empty() {
        return Ok(());
    }
    let span = |name: &str| platform.host(name).map_or(Span::NONE, |host| host.span);
    unknown.sort_by_key(|(name, _)| (span(name).start, *name));
    let more = unknown.len().saturating_sub(MAX_REPORTED);
    for (at, (name, why)) in unknown.iter().take(MAX_REPORTED).enumerate() {
        let what = format!("the host `{name}` has no address: {why}");
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_HOST, what);
        if span(name) != Span::NONE {
            diagnostic = diagnostic.at(span(name), "named here");
        }
        if at == 0 {
            diagnostic = diagnostic
                .help(format!("correct the name, or add it to `/etc/hosts` or `~/.ssh/config`, so that `ssh {name} true` works"))
                .help("or use another program instead of ssh with `--set agent=PROGRAM`");
        }
        if more > 0 && at + 1 == MAX_REPORTED {
            diagnostic = diagnostic.with_note(format!("{more} more hosts have no address"));
        }
        session.report(diagnostic);
    }
    Err(Exit::Usage)
}

/// Returns the reason why ssh cannot find a host. `None` if it can.
fn unreachable(name: &str) -> Option<String> {
    let why = no_address(name)?;
    // The configuration of ssh may give the host another name or another route.
    match configured(name) {
        // If ssh cannot be run, the lookup decides.
        Err(_) => Some(why),
        Ok(Way::Other) => None,
        Ok(Way::Direct(own)) if own != name => no_address(&own).map(|_| why),
        Ok(Way::Direct(_)) => Some(why),
    }
}

fn no_address(name: &str) -> Option<String> {
    match (name, 0).to_socket_addrs() {
        Ok(mut found) => match found.next() {
            Some(_) => None,
            None => Some("the lookup found none".to_owned()),
        },
        Err(error) => {
            let text = error.to_string();
            let own = text.strip_prefix("failed to lookup address information: ");
            Some(own.unwrap_or(&text).to_owned())
        }
    }
}

/// Route of ssh to a host.
enum Way {
    /// A direct connection to a host of this name.
    Direct(String),
    /// Through another host or another program.
    Other,
}

/// Returns the route in the configuration of ssh. `ssh -G` prints it without a connection. If that
/// prints no route, it is a direct one to `name`. Returns an error if ssh cannot be run.
fn configured(name: &str) -> io::Result<Way> {
    let mut command = supervisor::command("ssh".as_ref(), Bound::Program)?;
    command.args(["-G", name]).stdin(Stdio::null());
    let output = command.stderr(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = |what: &str| {
        let mut words = text.lines().filter_map(|line| line.split_once(' '));
        words.find_map(|(word, rest)| (word == what && rest != "none").then(|| rest.to_owned()))
    };
    if said("proxyjump").or_else(|| said("proxycommand")).is_some() {
        return Ok(Way::Other);
    }
    Ok(Way::Direct(
        said("hostname").unwrap_or_else(|| name.to_owned()),
    ))
}
