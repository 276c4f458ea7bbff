//! The local machine, as Linux describes it under `/sys` and `/proc`.
//!
//! The platform contains the hardware threads that are online and that this OS process may use
//! (`Cpus_allowed_list`). So a job that is confined to some cores sees only these. Cores of a
//! package that share their last cache are a cache group. The host has one slot per core. If the
//! cores are of several kinds, their speeds are their capacities (`cpu_capacity`) relative to the
//! fastest core.

use crate::codes;
use crate::model::{CacheGroup, Core, Host, MAX_CORES, Platform, Socket};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use std::collections::BTreeMap;
use std::path::Path;

/// Reads the machine whose file system is at `root`, which is `/` except in tests.
///
/// Facts that Linux does not provide are omitted. If Linux lists no caches, each core is a cache
/// group. Without a host name, the name is `localhost`.
///
/// Returns `None`, with an error ([`codes::LOCAL`]) in `out`, in three cases: the list of hardware
/// threads that are online cannot be read or is invalid, this OS process may use none of them, or
/// the name of the machine is not valid for a host.
pub fn read(root: &Path, out: &mut Diagnostics) -> Option<Platform> {
    let cpu = root.join("sys/devices/system/cpu");
    let list = match std::fs::read_to_string(cpu.join("online")) {
        Ok(list) => list,
        Err(wrong) => {
            let what = format!("`{}` cannot be read: {wrong}", cpu.join("online").display());
            out.push(unreadable(what));
            return None;
        }
    };
    let Some(online) = numbers(&list) else {
        let what = format!(
            "`{}` is not a list of numbers",
            cpu.join("online").display()
        );
        out.push(unreadable(what));
        return None;
    };
    let allowed = text(&root.join("proc/self/status")).and_then(|s| {
        s.lines()
            .find_map(|l| numbers(l.strip_prefix("Cpus_allowed_list:")?))
    });
    let may = |n: &u32| {
        allowed
            .as_ref()
            .is_none_or(|all| all.binary_search(n).is_ok())
    };
    // The keys are the package id, the first hardware thread of the last cache, and the first
    // hardware thread of the core.
    let mut packages: BTreeMap<u64, BTreeMap<u32, BTreeMap<u32, Core>>> = BTreeMap::new();
    for number in online.iter().copied().filter(may) {
        let dir = cpu.join(format!("cpu{number}"));
        let package = text(&dir.join("topology/physical_package_id"));
        // Some virtual machines report -1. All cores are then in one package.
        let package = package.and_then(|s| s.parse().ok()).unwrap_or(0);
        let siblings = text(&dir.join("topology/thread_siblings_list"));
        let core = siblings
            .and_then(|s| numbers(&s)?.first().copied())
            .unwrap_or(number);
        let group = last_cache(&dir.join("cache")).unwrap_or(core);
        let cores = packages
            .entry(package)
            .or_default()
            .entry(group)
            .or_default();
        let capacity = text(&dir.join("cpu_capacity")).and_then(|s| s.parse::<f64>().ok());
        let core = cores.entry(core).or_insert(Core {
            cpus: Vec::new(),
            // A capacity, which `relative_speeds` converts into a ratio.
            speed: capacity
                .filter(|c| c.is_finite() && *c > 0.0)
                .unwrap_or(0.0),
        });
        core.cpus.push(number);
    }
    relative_speeds(
        packages
            .values_mut()
            .flat_map(|package| package.values_mut()),
    );
    let name = text(&root.join("proc/sys/kernel/hostname")).filter(|n| !n.is_empty());
    let mut host = Host::new(name.unwrap_or_else(|| "localhost".to_string()), 1);
    host.memory = text(&root.join("proc/meminfo")).and_then(|s| memory(&s));
    let group = |cores: BTreeMap<u32, Core>| CacheGroup {
        cores: cores.into_values().collect(),
    };
    let socket = |groups: BTreeMap<u32, _>| Socket {
        caches: groups.into_values().map(group).collect(),
    };
    host.sockets = packages.into_values().map(socket).collect();
    if host.sockets.is_empty() {
        out.push(unreadable(
            "graphmap may not use any hardware thread of this machine".to_string(),
        ));
        return None;
    }
    host.slots = host.core_count() as u32;
    match Platform::new(vec![host]) {
        Ok(platform) => Some(platform),
        Err(wrong) => {
            out.push(unreadable(wrong.to_string()));
            None
        }
    }
}

/// Replaces the capacity in the field `speed` of each core by the speed relative to the fastest
/// core. A capacity of 0 is unknown. If any capacity is unknown, the speed of all cores becomes 1.
fn relative_speeds<'c>(groups: impl Iterator<Item = &'c mut BTreeMap<u32, Core>>) {
    let mut cores: Vec<&mut Core> = groups.flat_map(|group| group.values_mut()).collect();
    let most = cores.iter().map(|core| core.speed).fold(0.0, f64::max);
    let known = cores.iter().all(|core| core.speed > 0.0);
    for core in &mut cores {
        core.speed = if known { core.speed / most } else { 1.0 };
    }
}

fn unreadable(what: String) -> Diagnostic {
    let error = Diagnostic::error(codes::LOCAL, what);
    error.help("describe the machine by `hosts=1:cores=8`, or by a file of `lstopo --of xml`")
}

fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path)
        .ok()
        .map(|s| s.trim().to_string())
}

/// Returns the lowest hardware thread that shares the outermost cache of a hardware thread. `dir`
/// is the folder `cache` of that thread. Returns `None` if it lists no cache whose hardware threads
/// are known.
fn last_cache(dir: &Path) -> Option<u32> {
    let mut last: Option<(u32, u32)> = None;
    // A thread has a handful of caches. The bound limits the time that an unusual file system
    // costs.
    for index in 0..32 {
        let cache = dir.join(format!("index{index}"));
        let Some(level) = text(&cache.join("level")).and_then(|s| s.parse::<u32>().ok()) else {
            break;
        };
        if text(&cache.join("type")).is_some_and(|t| t == "Instruction") {
            continue;
        }
        let shared =
            text(&cache.join("shared_cpu_list")).and_then(|s| numbers(&s)?.first().copied());
        if let Some(first) = shared
            && last.is_none_or(|(deepest, _)| level > deepest)
        {
            last = Some((level, first));
        }
    }
    last.map(|(_, first)| first)
}

/// Parses a list of numbers as Linux writes it, such as `0-3,8`. Returns the numbers ascending and
/// each once. Returns `None` if the text is not such a list, is empty, contains a descending range,
/// or lists more than [`MAX_CORES`] numbers.
fn numbers(list: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for piece in list.trim().split(',') {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if last < first || (last - first) as usize + all.len() >= MAX_CORES {
            return None;
        }
        all.extend(first..=last);
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// Returns the bytes of memory from the line `MemTotal:  123 kB`. Returns `None` if there is no
/// such line, if it has another form, or if the number of bytes exceeds 64 bits.
fn memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}
