//! Checks that each file reads back as the launch for which it was written. Hostfiles are read by
//! the readers of `graphmap-platform`. Other files are read by a few functions below, which share
//! no code with the writers.

use graphmap_binding::{HostFacts, Launch, OsProcess, codes, intel, mpich, openmpi, slurm};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::hardware::Access;
use graphmap_kpn::source::SourceMap;
use graphmap_platform::{HostsFormat, Platform, read};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn launches() -> impl Strategy<Value = Launch> {
    let host = prop::sample::select(vec!["a", "node1", "node10", "10.0.0.2", "gpu-1.x", "_b"]);
    let cores = prop_oneof![
        Just(Vec::new()),
        prop::collection::btree_set(0u32..300, 1..6).prop_map(|set| set.into_iter().collect()),
        any::<u32>().prop_map(|core| vec![core]),
    ];
    let program = prop_oneof![Just(None), Just(Some("./worker".to_string()))];
    let one = (host, cores, program, 0u32..4);
    let one = one.prop_map(|(host, cores, program, processes)| OsProcess {
        host: Some(host.to_string()),
        cores,
        program,
        processes,
    });
    let all = prop::collection::vec(one, 1..14);
    let args = prop::collection::vec("[a-z./=:,-]{1,6}", 0..3);
    (all, args).prop_map(|(os_processes, mut args)| {
        args.retain(|arg| arg != ":");
        Launch {
            network: "farm".into(),
            strategy: "any".into(),
            program: "./farm".into(),
            args,
            environment: Vec::new(),
            agent: None,
            label: false,
            facts: facts(&os_processes),
            os_processes,
        }
    })
}

/// Returns facts about hosts. Hosts with longer names have more facts.
fn facts(os_processes: &[OsProcess]) -> BTreeMap<String, HostFacts> {
    let hosts = os_processes.iter().filter_map(|p| p.host.clone());
    let facts = |host: String| {
        let access = Access {
            user: (host.len() > 1).then(|| "bob".to_owned()),
            port: (host.len() > 2).then_some(2222),
            ..Access::default()
        };
        let max_slots = Some(99);
        (host, HostFacts { access, max_slots })
    };
    hosts.map(facts).collect()
}

/// Returns true if the hosts of a text have the known users, and the known ports if `port` is true.
fn matches_access(platform: &Platform, launch: &Launch, port: bool) -> bool {
    platform.hosts().iter().all(|host| {
        let known = &launch.facts[&host.name].access;
        host.access.user == known.user && host.access.port == known.port.filter(|_| port)
    })
}

fn hosts(format: HostsFormat, text: &str) -> Platform {
    let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
    let source = sources.add("hosts", text).unwrap();
    let platform = read(&source, Some(format), &mut out);
    platform.unwrap_or_else(|| panic!("{out:?} in {text}"))
}

/// Returns the host of each slot, in rank order.
fn ranks(platform: &Platform) -> Vec<&str> {
    let places = platform.slots();
    let name = |host| platform[host].name.as_str();
    places.iter().map(|place| name(place.host)).collect()
}

fn expected_hosts(launch: &Launch) -> Vec<&str> {
    let hosts = launch.os_processes.iter();
    hosts.map(|p| p.host.as_deref().unwrap()).collect()
}

/// Parses a list of numbers such as `0-3,8`.
fn numbers(list: &str) -> Vec<u32> {
    let range = |piece: &str| {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        first.parse::<u32>().unwrap()..=last.parse().unwrap()
    };
    list.split(',').flat_map(range).collect()
}

/// Returns the OS processes of a file with sections. `count`, `host` and `set` are the options for
/// the number of OS processes, the host and variables.
fn sections(text: &str, count: &str, host: &str, set: &str, launch: &Launch) -> Vec<OsProcess> {
    let mut all = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ').peekable();
        let mut p = OsProcess::default();
        let mut n = 0;
        let next = |words: &mut std::iter::Peekable<_>| -> &str { words.next().unwrap() };
        while words.peek().is_some_and(|word| word.starts_with('-')) {
            let (option, value) = (next(&mut words), next(&mut words));
            if option == count {
                n = value.parse().unwrap();
            } else if option == host {
                let (name, room) = value.split_once(':').unwrap_or((value, ""));
                let hosts = launch.os_processes.iter().map(|p| p.host.as_deref());
                let all = hosts.filter(|host| *host == Some(name)).count();
                assert!(room.is_empty() || room == all.to_string(), "{line}");
                p.host = Some(name.to_string());
            } else {
                assert_eq!(option, set, "{line}");
                let (name, value) = match value.split_once('=') {
                    Some(both) => both,
                    None => (value, next(&mut words)),
                };
                match name {
                    "GRAPHMAP_PROCESSES" => p.processes = value.parse().unwrap(),
                    _ => assert_eq!((name, value), ("I_MPI_PIN", "off")),
                }
            }
        }
        if words.next_if_eq(&"taskset").is_some() {
            assert_eq!(next(&mut words), "-c");
            p.cores = numbers(next(&mut words));
        }
        let program = next(&mut words);
        p.program = (program != launch.program).then(|| program.to_string());
        assert!(words.eq(launch.args.iter().map(String::as_str)), "{line}");
        all.extend(std::iter::repeat_n(p, n));
    }
    all
}

proptest! {
    #[test]
    fn mpich_files(launch in launches()) {
        let platform = hosts(HostsFormat::Mpich, &mpich::hostfile(&launch).unwrap());
        prop_assert_eq!(ranks(&platform), expected_hosts(&launch));
        prop_assert!(matches_access(&platform, &launch, false));
        let mut read = sections(&mpich::configfile(&launch, &mut Diagnostics::new()).unwrap(), "-n", "", "-env", &launch);
        for (p, written) in read.iter_mut().zip(&launch.os_processes) {
            p.host.clone_from(&written.host);
        }
        prop_assert_eq!(read, launch.os_processes);
    }

    #[test]
    fn intel_files(launch in launches()) {
        let platform = hosts(HostsFormat::Intel, &intel::machinefile(&launch).unwrap());
        prop_assert_eq!(ranks(&platform), expected_hosts(&launch));
        prop_assert!(matches_access(&platform, &launch, false));
        let text = intel::configfile(&launch, &mut Diagnostics::new()).unwrap().replace("-host bob@", "-host ");
        prop_assert_eq!(sections(&text, "-n", "-host", "-env", &launch), launch.os_processes);
    }

    #[test]
    fn open_mpi_files(launch in launches()) {
        let platform = hosts(HostsFormat::OpenMpi, &openmpi::hostfile(&launch).unwrap());
        for host in platform.hosts() {
            let here = expected_hosts(&launch).iter().filter(|name| **name == host.name).count();
            prop_assert_eq!(host.slots as usize, here);
        }
        prop_assert_eq!(platform.slot_count(), launch.os_processes.len());
        prop_assert!(matches_access(&platform, &launch, true));
        prop_assert!(platform.hosts().iter().all(|host| host.max_slots == Some(99)));
        let text = openmpi::appfile(&launch, &mut Diagnostics::new()).unwrap();
        prop_assert_eq!(sections(&text, "-np", "-host", "-x", &launch), &launch.os_processes[..]);
        prop_assert!(text.lines().all(|line| line.starts_with("-np ")), "{text}");

        let mut out = Diagnostics::new();
        let text = openmpi::rankfile(&launch, &mut out).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        prop_assert_eq!(lines.len(), launch.os_processes.len());
        for (rank, (line, p)) in lines.iter().zip(&launch.os_processes).enumerate() {
            let (host, cores) = line.split_once(" slot=").unwrap();
            let host = host.strip_prefix(&format!("rank {rank}=")).unwrap();
            prop_assert_eq!(Some(host), p.host.as_deref());
            prop_assert!(p.cores.is_empty() || numbers(cores) == p.cores, "{line}");
        }
        // There may be another warning for a core with several ranks.
        let unbound = out.iter().any(|warning| warning.code == codes::ASSUMED_CORES);
        prop_assert_eq!(!unbound, launch.bound());
    }

    #[test]
    fn slurm_files(launch in launches()) {
        let text = slurm::hostfile(&launch).unwrap();
        prop_assert_eq!(text.lines().collect::<Vec<_>>(), expected_hosts(&launch));
        let mut processes = Vec::new();
        for line in slurm::multi_prog(&launch, &mut Diagnostics::new()).unwrap().lines().filter(|l| !l.starts_with('#')) {
            let mut words = line.split(' ');
            let ranks = numbers(words.next().unwrap());
            prop_assert_eq!(ranks[0] as usize, processes.len(), "{}", line);
            prop_assert_eq!(words.next(), Some("env"));
            let count = words.next().and_then(|w| w.strip_prefix("GRAPHMAP_PROCESSES="));
            let count = count.unwrap().parse::<u32>().unwrap();
            let program = words.next().unwrap();
            processes.extend(ranks.iter().map(|_| (program.to_string(), count)));
            prop_assert!(words.eq(launch.args.iter().map(String::as_str)), "{}", line);
        }
        let all = launch.os_processes.iter();
        let all = all.map(|p| (launch.program_of(p).to_string(), p.processes));
        prop_assert_eq!(processes, all.collect::<Vec<_>>());
    }
}
