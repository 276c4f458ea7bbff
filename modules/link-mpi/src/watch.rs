//! Threads that end this OS process if neither MPI nor its launcher would end the job.
//!
//! The launcher has a daemon on each host, which starts and ends the OS processes there. If the
//! daemon is killed, `mpiexec` of MPICH 4.0.2 waits for it indefinitely, and its OS processes
//! continue. So an OS process ends when its daemon has ended, and MPI reports to the others that it
//! is unreachable.
//!
//! If a host no longer answers, for example because a cable was pulled, MPI waits for a quarter of
//! an hour or indefinitely. The kernels know earlier. They acknowledge TCP segments even while the
//! OS processes compute, and send keepalive probes on an idle connection. So a thread checks each
//! TCP connection of this OS process to another host of the job. It measures the time since the
//! last acknowledgement. MPI over a network other than TCP has no connections and is not checked.

use std::fs;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use graphmap_runtime::Exit;
use graphmap_runtime::between::Doorbell;

use crate::bell::Bell;
use crate::sockets::{self, Connection};
use crate::{calls, launchers};

/// Variable with the time limit for an answer of another host, in seconds.
const VARIABLE: &str = "GRAPHMAP_UNREACHABLE";

/// Interval between checks of the launcher.
const OFTEN: Duration = Duration::from_millis(500);
/// Time for OS process 0 to report the failure and to end the launcher, before other OS processes
/// end by themselves.
const GRACE: Duration = Duration::from_secs(1);

/// Number of unanswered probes in a row after which a host is unreachable. One or two probes may be
/// lost. Without a probe, silence is not a sign of failure: if no data is sent, none is
/// acknowledged.
const ASKED: u32 = 3;

/// Largest number of addresses of a host that are exchanged.
const MOST: usize = 16;
/// Size in bytes of the addresses of a host: four for each, padded with zeros.
pub(crate) const ADDRESSES: usize = 4 * MOST;

/// Returns the IPv4 addresses of this host, four bytes each, for the other OS processes. Loopback
/// addresses are omitted, and there are at most [`MOST`]. The rest of the [`ADDRESSES`] bytes is 0,
/// which are all of them without `/proc/net/fib_trie`.
pub(crate) fn local_addresses() -> Vec<u8> {
    let table = fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let mut bytes: Vec<u8> = addresses(&table)
        .iter()
        .flat_map(Ipv4Addr::octets)
        .collect();
    bytes.resize(ADDRESSES, 0);
    bytes
}

/// Returns the different local addresses in the kernel's routing table (`/proc/net/fib_trie`), at
/// most [`MOST`]. Loopback addresses are omitted.
fn addresses(table: &str) -> Vec<Ipv4Addr> {
    let mut found = Vec::new();
    let mut last = None;
    for line in table.lines() {
        let line = line.trim();
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address.parse::<Ipv4Addr>().ok();
        } else if line == "/32 host LOCAL"
            && let Some(address) = last
            && !address.is_loopback()
            && !found.contains(&address)
        {
            found.push(address);
        }
    }
    found.truncate(MOST);
    found
}

/// Returns the addresses that this host does not have, each once with its host, sorted by address.
/// `hosts` and `gathered` contain the host and the addresses of each OS process. `me` is this OS
/// process. Panics if it does not exist.
fn others(hosts: &[String], gathered: &[u8], me: usize) -> Vec<(IpAddr, String)> {
    let each = gathered.as_chunks::<ADDRESSES>().0;
    let each: Vec<_> = each
        .iter()
        .map(|gathered| gathered.as_chunks::<4>().0)
        .collect();
    let mut others = Vec::new();
    for (addresses, host) in each.iter().zip(hosts) {
        let others_only = |address: &&[u8; 4]| **address != [0; 4] && !each[me].contains(address);
        let addresses = addresses.iter().filter(others_only);
        others.extend(addresses.map(|&address| (IpAddr::from(address), host.clone())));
    }
    others.sort();
    others.dedup_by(|a, b| a.0 == b.0);
    others
}

/// Spawns a thread that watches the launcher of this OS process until the program ends. When the
/// launcher has ended, the thread sets the result to the reason and rings `bell`. It ends this OS
/// process with [`Exit::Lost`] after [`GRACE`]. Text that is printed here without a launcher is
/// lost, so another OS process must report the reason. If there is no launcher at the start, or if
/// the thread cannot be started, the result is never set. `here` is the name of this host.
pub(crate) fn launcher(here: &str, bell: &Arc<Bell>) -> Arc<OnceLock<String>> {
    let gone: Arc<OnceLock<String>> = Arc::default();
    if let Some((id, name)) = launchers::nearest() {
        let (reason, bell, here) = (Arc::clone(&gone), Arc::clone(bell), here.to_string());
        watch("launcher", OFTEN, move || {
            if launchers::nearest().is_some_and(|(now, _)| now == id) {
                return;
            }
            reason.get_or_init(|| {
                format!(
                    "the MPI launcher on {here} has ended: {name}, process {id}, was killed or has \
                     failed"
                )
            });
            bell.ring();
            // The thread that calls MPI may be busy.
            thread::sleep(GRACE);
            calls::leave(Exit::Lost as u8);
        });
    }
    gone
}

/// Spawns a thread that ends this OS process and its launchers when another of `hosts` has not
/// answered for `limit`. It checks every eighth of `limit`. It prints the reason, and the exit code
/// is [`Exit::Lost`].
///
/// `hosts` and `gathered` contain the host and the addresses of each OS process. `me` is this OS
/// process. Without addresses of other hosts, there are no checks. Panics if `me` does not exist.
pub(crate) fn others_than(me: usize, hosts: &[String], gathered: &[u8], limit: Duration) {
    let others = others(hosts, gathered, me);
    if others.is_empty() {
        return;
    }
    let here = hosts[me].clone();
    watch("hosts", limit / 8, move || {
        let Some(host) = silent(&others, limit) else {
            return;
        };
        if me > 0 {
            thread::sleep(GRACE);
        }
        calls::over();
        let _ = writeln!(
            std::io::stderr(),
            "error: {host} has not answered {here} for {} s: the connection is broken, or the host \
             is down ({VARIABLE} sets this time limit)",
            limit.as_secs()
        );
        launchers::end();
        calls::leave(Exit::Lost as u8);
    });
}

/// Calls `check` on a new thread named `name` until the program ends, and sleeps for `every` before
/// each call. If the thread cannot be started, there are no checks.
fn watch(name: &str, every: Duration, mut check: impl FnMut() + Send + 'static) {
    let watch = move || {
        loop {
            thread::sleep(every);
            check();
        }
    };
    let _ = thread::Builder::new().name(name.into()).spawn(watch);
}

/// Returns a host that has not acknowledged any data for `limit`, although at least [`ASKED`]
/// probes or retransmissions are unanswered. Returns `None` if there is none.
///
/// Makes the kernel probe the connections to `others`, which must be sorted by address, until it
/// finds such a host.
fn silent(others: &[(IpAddr, String)], limit: Duration) -> Option<String> {
    for connection in sockets::all() {
        let Connection {
            to,
            silence,
            unanswered,
            ..
        } = connection;
        let Ok(at) = others.binary_search_by(|(address, _)| address.cmp(&to)) else {
            continue;
        };
        // The call fails for a connection that was closed in the meantime.
        let _ = connection.keep_alive(limit / 4);
        if silence >= limit && unanswered >= ASKED {
            return Some(others[at].1.clone());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn silence_without_probes_is_not_a_failure() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _to = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _from = listener.accept().unwrap();
        let limit = Duration::from_millis(20);
        thread::sleep(2 * limit);
        let others = [(IpAddr::from([127, 0, 0, 1]), "a".to_string())];
        assert_eq!(silent(&others, limit), None);
    }

    const TABLE: &str = "Main:\n  +-- 0.0.0.0/0 3 0 4\n     |-- 10.77.0.0\n        /24 link UNICAST\n     \
        |-- 10.77.0.2\n        /32 host LOCAL\n     |-- 10.77.0.255\n        /32 link BROADCAST\n     \
        |-- 127.0.0.1\n        /32 host LOCAL\nLocal:\n     |-- 10.77.0.2\n        /32 host LOCAL\n     \
        |-- 172.17.0.1\n        /32 host LOCAL\n";

    #[test]
    fn a_host_has_the_addresses_that_its_kernel_calls_local() {
        let two = [Ipv4Addr::new(10, 77, 0, 2), Ipv4Addr::new(172, 17, 0, 1)];
        assert_eq!(addresses(TABLE), two);
        assert!(addresses("").is_empty());
        assert!(addresses("     |-- x\n  /32 host LOCAL\n/32 host LOCAL").is_empty());
    }

    #[test]
    fn addresses_that_every_host_has_lead_to_no_other() {
        let encode = |addresses: &[[u8; 4]]| {
            let mut bytes = addresses.concat();
            bytes.resize(ADDRESSES, 0);
            bytes
        };
        let bridge = [172, 17, 0, 1];
        let gathered = [
            encode(&[[10, 0, 0, 1], bridge]),
            encode(&[bridge, [10, 0, 0, 2]]),
        ]
        .concat();
        let hosts = ["a".to_string(), "b".to_string()];
        let b = (IpAddr::from([10, 0, 0, 2]), "b".to_string());
        assert_eq!(others(&hosts, &gathered, 0), [b]);
        assert!(others(&hosts[..1], &gathered[..ADDRESSES], 0).is_empty());
    }
}
