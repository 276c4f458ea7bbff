//! Hosts of the job that do not answer any more, as when a cable is pulled.
//!
//! MPI may wait for them for a quarter of an hour, or for ever. The kernels know better: they acknowledge what comes over
//! TCP whatever the OS processes do, so a long computation is not taken for death, and asked to keep a connection alive they
//! send something on it also when nobody else does. So a thread looks, at each TCP connection of this OS process that
//! leads to another host of the job, for how long nothing has been acknowledged. Whoever opened the connection: MPI
//! over another network than TCP has none, and then nothing is found.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::Duration;

use crate::finding::{Finding, Gone, Loss};
use crate::sockets::{self, Tcp};

/// The variable that says how long a host may not answer, in seconds.
const VARIABLE: &str = "GRAPHMAP_UNREACHABLE";

/// So many questions in a row that nobody answers. One or two may be lost on the way; and where nobody was asked, as before the first look
/// at a connection, or while only the other side sends over it, nothing is acknowledged for long, and all is well.
const ASKED: u32 = 3;

/// Most addresses of a host that are told to others.
const MOST: usize = 16;
/// What an OS process tells of its host: addresses of four bytes, then zeros.
pub(crate) const TOLD: usize = 4 * MOST;

/// The addresses of this host, for the others.
pub(crate) fn told() -> Vec<u8> {
    let table = fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let mut bytes: Vec<u8> = addresses(&table)
        .iter()
        .flat_map(Ipv4Addr::octets)
        .collect();
    bytes.resize(TOLD, 0);
    bytes
}

/// The addresses of its own in the kernel's table of routes, as many as are told.
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

/// The addresses of each OS process's host that this one's has not, of what each told; none where none is such.
pub(crate) fn addresses_elsewhere(told: &[u8], me: usize) -> Vec<Option<Vec<IpAddr>>> {
    let of = |told: &[u8; TOLD]| -> Vec<IpAddr> {
        let addresses = told.as_chunks::<4>().0.iter();
        let addresses = addresses.filter(|&&bytes| bytes != [0; 4]);
        addresses.map(|&bytes| IpAddr::from(bytes)).collect()
    };
    let each: Vec<Vec<IpAddr>> = told.as_chunks::<TOLD>().0.iter().map(of).collect();
    let elsewhere = |addresses: &Vec<IpAddr>| {
        let mut addresses = addresses.clone();
        addresses.retain(|address| !each[me].contains(address));
        (!addresses.is_empty()).then_some(addresses)
    };
    each.iter().map(elsewhere).collect()
}

/// The hosts that have addresses which this one has not: of all `hosts`, what each told.
fn others(hosts: &[String], told: &[u8], me: usize) -> Vec<(IpAddr, String)> {
    let mut others = Vec::new();
    for (theirs, host) in addresses_elsewhere(told, me).into_iter().zip(hosts) {
        let theirs = theirs.into_iter().flatten();
        others.extend(theirs.map(|address| (address, host.clone())));
    }
    others.sort();
    others.dedup_by(|a, b| a.0 == b.0);
    others
}

/// Looks, as long as the program runs, whether the other hosts answer.
pub(crate) fn watch(hosts: &[String], told: &[u8], me: usize, limit: Duration, found: &Finding) {
    let others = others(hosts, told, me);
    if others.is_empty() {
        return;
    }
    let (found, here) = (found.clone(), hosts[me].clone());
    let look = move || loop {
        thread::sleep(limit / 8);
        let Some(host) = silent(&others, limit) else {
            continue;
        };
        let why = format!(
            "{host} has not answered {here} for {} s: the network between them is cut, or the host is down \
             ({VARIABLE} says how long to wait)",
            limit.as_secs()
        );
        return found.tell(Loss {
            why,
            of: Gone::Host,
        });
    };
    // Without a thread, it is as MPI has it.
    let _ = thread::Builder::new()
        .name("unreachable".into())
        .spawn(look);
}

/// A host that has not acknowledged anything for so long, though it was asked.
fn silent(others: &[(IpAddr, String)], limit: Duration) -> Option<String> {
    for (fd, socket) in sockets::all() {
        let Tcp::Connected {
            to,
            silence,
            unanswered,
        } = socket
        else {
            continue;
        };
        let Ok(at) = others.binary_search_by(|(address, _)| address.cmp(&to)) else {
            continue;
        };
        sockets::keep_alive(fd, limit / 4);
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
    fn who_was_not_asked_owes_no_answer() {
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
        let tell = |addresses: &[[u8; 4]]| {
            let mut bytes = addresses.concat();
            bytes.resize(TOLD, 0);
            bytes
        };
        let bridge = [172, 17, 0, 1];
        let told = [
            tell(&[[10, 0, 0, 1], bridge]),
            tell(&[bridge, [10, 0, 0, 2]]),
        ]
        .concat();
        let hosts = ["a".to_string(), "b".to_string()];
        let b = (IpAddr::from([10, 0, 0, 2]), "b".to_string());
        assert_eq!(others(&hosts, &told, 0), [b]);
        assert!(others(&hosts[..1], &told[..TOLD], 0).is_empty());
    }
}
