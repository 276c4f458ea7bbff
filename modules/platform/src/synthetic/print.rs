//! Writes the synthetic format.

use crate::distance::{Class, Distances};
use crate::model::{CacheGroup, Platform, Socket};
use crate::nodelist;
use crate::text::print_repeated;
use std::fmt::Write;

/// Version of the format that [`print()`] writes, and the newest that [`read`](super::read)
/// accepts.
pub const VERSION: u32 = 1;

/// Writes a platform in the synthetic format.
///
/// The format cannot express limits of slots, access to hosts, numbers of hardware threads and
/// speeds of single cores. It keeps the order of slots and groups only if they do not interleave.
/// If the sockets of one host are unknown, the sockets of all hosts are omitted. The same applies
/// to memory.
pub fn print(platform: &Platform) -> String {
    let hosts = platform.hosts();
    let mut in_group = vec![0u32; platform.groups() as usize];
    hosts.iter().for_each(|h| in_group[h.group as usize] += 1);
    let sockets: Vec<&Socket> = hosts.iter().flat_map(|h| &h.sockets).collect();
    let caches: Vec<&CacheGroup> = sockets.iter().flat_map(|s| &s.caches).collect();
    let apart = caches.iter().all(|c| c.cores.len() == 1);
    let known = hosts.iter().all(|h| !h.sockets.is_empty());
    let count = |n: &u32| n.to_string();
    let mut levels = Vec::new();
    let mut level = |name: &str, list: Vec<u32>| {
        levels.push(format!("{name}={}", print_repeated(&list, count)));
    };
    if in_group.len() > 1 {
        level("groups", vec![in_group.len() as u32]);
    }
    level("hosts", in_group);
    if known {
        level(
            "sockets",
            hosts.iter().map(|h| h.sockets.len() as u32).collect(),
        );
        let groups: Vec<u32> = sockets.iter().map(|s| s.caches.len() as u32).collect();
        match apart {
            true => level("cores", groups),
            false => {
                level("caches", groups);
                level(
                    "cores",
                    caches.iter().map(|c| c.cores.len() as u32).collect(),
                );
            }
        }
    }
    let mut text = levels.join(":");
    let mut option = |name: &str, value: String| {
        write!(text, " {name}={value}").expect("a String takes all");
    };
    option(
        "names",
        nodelist::print(hosts.iter().map(|h| h.name.as_str())),
    );
    let slots: Vec<u32> = hosts.iter().map(|h| h.slots).collect();
    option("slots", print_repeated(&slots, count));
    let speeds: Vec<f64> = hosts.iter().map(|h| h.speed).collect();
    if speeds.iter().any(|s| *s != 1.0) {
        option("speed", print_repeated(&speeds, f64::to_string));
    }
    let memory: Option<Vec<u64>> = hosts.iter().map(|h| h.memory).collect();
    if let Some(memory) = memory {
        option("memory", print_repeated(&memory, u64::to_string));
    }
    print_distances(platform, known, apart, &mut option);
    option("graphmap", VERSION.to_string());
    text.push('\n');
    text
}

fn print_distances(
    platform: &Platform,
    known: bool,
    apart: bool,
    option: &mut impl FnMut(&str, String),
) {
    let distances = platform.distances();
    let own = distances.get(Class::Collocated);
    let measured = Distances::MEASURED.as_array();
    if distances.as_array()[1..] == measured[1..] {
        if own != measured[0] {
            option("collocated", own.to_string());
        }
        return;
    }
    let named = [
        (platform.groups() > 1, Class::Apart),
        (true, Class::Group),
        (known, Class::Host),
        (known && !apart, Class::Socket),
        (known, if apart { Class::Socket } else { Class::Cache }),
    ];
    let named = named.iter().filter(|(named, _)| *named);
    let values: Vec<String> = named
        .map(|(_, class)| distances.get(*class).to_string())
        .collect();
    option("distance", values.join(":"));
    option("collocated", own.to_string());
}
