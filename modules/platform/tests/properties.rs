//! In each format, a reader accepts the printed text and returns the same platform. No text causes
//! a panic.

mod common;
use common::{good, try_read};
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use graphmap_platform::{
    CacheGroup, Core, Distances, Host, HostId, HostsFormat, Platform, Run, Socket, hwloc, intel,
    mpich, nodelist, openmpi, read, slurm, synthetic,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Returns names that share stems and differ in width, dots and dashes.
fn names() -> impl Strategy<Value = Vec<String>> {
    let stem = prop::sample::select(vec!["n", "node", "gpu-", "r1n", "a.b", "_x", "10."]);
    let number = prop_oneof![
        Just(String::new()),
        (0u32..20).prop_map(|n| n.to_string()),
        (0u32..20).prop_map(|n| format!("{n:03}")),
        Just("4294967296123".to_string()),
        (0u32..3).prop_map(|n| format!("{n}-ib")),
    ];
    let name = (stem, number).prop_map(|(s, n)| format!("{s}{n}"));
    prop::collection::vec(name, 1..12).prop_map(|all| {
        let mut seen = BTreeSet::new();
        all.into_iter().filter(|n| seen.insert(n.clone())).collect()
    })
}

fn span() -> graphmap_kpn::source::Span {
    graphmap_kpn::source::Span::NONE
}

/// Returns hosts with slots only, in any order of slots.
fn flat() -> impl Strategy<Value = Platform> {
    let runs = prop::collection::vec((any::<prop::sample::Index>(), 1u32..5), 0..12);
    (names(), runs).prop_map(|(names, runs)| {
        // The first run of a host determines its index, because hosts are numbered by first
        // mention.
        let all = (0..names.len()).map(|i| (i, 1));
        let extra = runs.iter().map(|(i, count)| (i.index(names.len()), *count));
        let order: Vec<_> = all.chain(extra).collect();
        let slots = |i| order.iter().filter(|(h, _)| *h == i).map(|(_, c)| c).sum();
        let hosts = names
            .iter()
            .enumerate()
            .map(|(i, n)| Host::new(n, slots(i)))
            .collect();
        let run = |&(host, count): &(usize, u32)| Run {
            host: HostId::from_index(host),
            count,
            span: span(),
        };
        Platform::with_order(hosts, order.iter().map(run).collect()).expect("a platform")
    })
}

/// Returns sockets with cache groups of several cores, or of one core each.
fn sockets() -> impl Strategy<Value = Vec<Socket>> {
    let counts = prop::collection::vec(prop::collection::vec(1u32..4, 1..4), 1..3);
    (counts, any::<bool>()).prop_map(|(counts, apart)| {
        let mut cpu = 0;
        let mut group = |cores: u32| {
            let numbers = cpu..cpu + if apart { 1 } else { cores };
            cpu = numbers.end;
            CacheGroup {
                cores: numbers
                    .map(|n| Core {
                        cpus: vec![n],
                        speed: 1.0,
                    })
                    .collect(),
            }
        };
        let mut socket = |counts: &Vec<u32>| Socket {
            caches: counts.iter().map(|&c| group(c)).collect(),
        };
        counts.iter().map(&mut socket).collect()
    })
}

/// Returns hosts with known sockets, groups, speeds, memory and distances.
fn deep() -> impl Strategy<Value = Platform> {
    let memory = prop::option::of(1u64..1 << 40);
    let host = (
        sockets(),
        1u32..20,
        0u32..2,
        prop::sample::select(vec![1.0, 0.5, 2.25]),
    );
    let hosts = prop::collection::vec(host, 12);
    let steps = prop::array::uniform6(0u32..100);
    (names(), hosts, memory, steps, any::<bool>()).prop_map(
        |(names, inside, memory, steps, measured)| {
            let mut group = 0;
            let made = names
                .iter()
                .zip(inside)
                .map(|(name, (sockets, slots, step, speed))| {
                    let mut host = Host::new(name, slots);
                    group += step;
                    (host.sockets, host.group, host.speed, host.memory) =
                        (sockets, group, speed, memory);
                    host
                });
            let platform = Platform::new(made.collect()).expect("a platform");
            if measured {
                return platform;
            }
            let mut sum = 0.0;
            let mut values = steps.map(|s| {
                sum += f64::from(s) / 4.0;
                sum
            });
            // The format cannot express the distance of a missing level, so it is the next inner
            // one.
            let apart = platform.hosts().iter().all(|h| {
                h.sockets
                    .iter()
                    .flat_map(|s| &s.caches)
                    .all(|c| c.cores.len() == 1)
            });
            if apart {
                values[1] = values[2];
            }
            if platform.groups() == 1 {
                values[5] = values[4];
            }
            platform.with_distances(Distances::new(values).expect("they grow"))
        },
    )
}

proptest! {
    #[test]
    fn mpich_and_intel(platform in flat(), said in prop::collection::vec(0u8..4, 12)) {
        let mut hosts = platform.hosts().to_vec();
        for (host, said) in hosts.iter_mut().zip(said) {
            host.access.user = (said & 1 == 1).then(|| "me".to_string());
            host.access.binding = (said & 2 == 2).then(|| "user:0,1".to_string());
        }
        let platform = Platform::with_order(hosts, platform.order().to_vec()).unwrap();
        let text = mpich::print(&platform);
        prop_assert_eq!(&good(Some(HostsFormat::Mpich), &text), &platform);
        prop_assert_eq!(&good(None, &text), &platform);
        prop_assert_eq!(&good(Some(HostsFormat::Intel), &intel::print(&platform)), &platform);
    }

    #[test]
    fn open_mpi(platform in flat(), limits in prop::collection::vec(prop::option::of(0u32..9), 12)) {
        let mut hosts = platform.hosts().to_vec();
        for (host, limit) in hosts.iter_mut().zip(limits) {
            host.max_slots = limit.map(|l| host.slots + l);
            host.access.user = limit.filter(|l| *l > 4).map(|_| "me".to_string());
            host.access.port = limit.filter(|l| *l > 6).map(|l| 2000 + l as u16);
        }
        let platform = Platform::new(hosts).unwrap();
        prop_assert_eq!(&good(None, &openmpi::print(&platform)), &platform);
    }

    #[test]
    fn slurm_lists(platform in flat()) {
        let names: Vec<&str> = platform.hosts().iter().map(|h| h.name.as_str()).collect();
        let again = good(Some(HostsFormat::Slurm), &nodelist::print(names.iter().copied()));
        let again: Vec<&str> = again.hosts().iter().map(|h| h.name.as_str()).collect();
        prop_assert_eq!(again, names);
    }

    #[test]
    fn slurm_environment(platform in flat()) {
        let platform = Platform::new(platform.hosts().to_vec()).unwrap();
        let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
        let again = slurm::read(&slurm::print(&platform), &mut sources, &mut out);
        prop_assert_eq!(again.map(Platform::without_spans), Some(platform));
    }

    #[test]
    fn synthetic_form(platform in deep()) {
        prop_assert_eq!(&good(None, &synthetic::print(&platform)), &platform);
    }

    #[test]
    fn synthetic_form_of_flat_hosts(platform in flat()) {
        let platform = Platform::new(platform.hosts().to_vec()).unwrap();
        prop_assert_eq!(&good(None, &synthetic::print(&platform)), &platform);
    }

    #[test]
    fn hwloc_xml(
        sockets in sockets(),
        threads in 1u32..3,
        memory in prop::option::of(1u64..1 << 50),
        kinds in any::<bool>(),
    ) {
        let mut host = Host::new("n1", 1);
        (host.sockets, host.memory) = (sockets, memory);
        let cores = host.core_count() as u32;
        host.slots = cores;
        for core in host.sockets.iter_mut().flat_map(|s| &mut s.caches).flat_map(|c| &mut c.cores) {
            let first = core.cpus[0];
            core.cpus = (0..threads).map(|t| first + t * cores).collect();
            core.speed = if kinds && first % 2 == 1 { 0.375 } else { 1.0 };
        }
        let platform = Platform::new(vec![host]).unwrap();
        prop_assert_eq!(&good(None, &hwloc::print(&platform.hosts()[0])), &platform);
    }

    #[test]
    fn no_text_makes_a_reader_panic(
        flat in flat(),
        deep in deep(),
        which in 0usize..6,
        any in "\\PC{0,80}|[\\x00-\\x7f]{0,80}",
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..3, edit()), 1..6),
    ) {
        let names = flat.hosts().iter().map(|h| h.name.as_str());
        let mut text: Vec<char> = match which {
            0 => mpich::print(&flat),
            1 => openmpi::print(&flat),
            2 => nodelist::print(names),
            3 => synthetic::print(&deep),
            4 => hwloc::print(&deep.hosts()[0]),
            _ => any,
        }.chars().collect();
        for (at, cut, insert) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, insert.chars());
        }
        let text: String = text.into_iter().collect();
        try_read(None, &text);
        for format in HostsFormat::ALL {
            let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
            sources.add("before", "another text").unwrap();
            let source = sources.add("hosts", text.as_str()).unwrap();
            read(&source, Some(format), &mut out);
            for label in out.iter().flat_map(|d| d.primary.iter().chain(&d.secondary)) {
                let (found, range) = sources.range(label.span).expect("a place in the text");
                prop_assert_eq!(found.name(), "hosts");
                prop_assert!(found.text().get(range).is_some(), "{:?} splits a character", label);
            }
        }
        let variables = ["SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_MEM_PER_NODE"];
        let variables = variables.map(|v| (v.to_string(), text.clone())).into();
        slurm::read(&variables, &mut SourceMap::new(), &mut Diagnostics::new());
    }
}

fn edit() -> impl Strategy<Value = String> {
    let telling = vec![
        ":",
        "=",
        "[",
        "]",
        ",",
        "-",
        "(x",
        ")",
        "#",
        " ",
        "\n",
        "\t",
        "<",
        ">",
        "/>",
        "\"",
        "&",
        "@",
        "slots",
        "hosts=",
        "cores=2",
        "distance=1",
        "names=",
        "0",
        "4294967296",
        "99999999999999999999999",
        "-1",
        "1e400",
        "\u{e9}",
        "\u{1F600}",
        "\0",
        "\r",
        "\u{feff}",
        "::",
        "[1-99999]",
        "[1-999999999999]",
        "(x16777216)",
        "slots=0",
        "1:",
        "=:",
        "<topology version=\"2.0\">",
    ];
    prop_oneof![
        prop::sample::select(telling).prop_map(str::to_string),
        any::<char>().prop_map(String::from),
    ]
}
