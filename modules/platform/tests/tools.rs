//! Compares the readers with Slurm's `scontrol` and hwloc's `lstopo`. If a tool is missing, the
//! test reports that and passes.
mod common;
use common::try_read;
use graphmap_platform::{HostsFormat, hwloc, nodelist};
use graphmap_testing::{Need, skip};
use std::process::Command;

/// Runs a program. Returns `None`, and prints the reason, if it is not installed.
fn run(need: Need, command: &mut Command) -> Option<(bool, String)> {
    match command.output() {
        Ok(output) => Some((
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into(),
        )),
        Err(wrong) => {
            let program = command.get_program().display();
            skip(need, format!("{program} does not start: {wrong}"));
            None
        }
    }
}

#[test]
fn scontrol_expands_node_lists_alike() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("slurm.conf");
    std::fs::write(
        &conf,
        "ClusterName=x\nSlurmctldHost=localhost\nNodeName=localhost\n",
    )
    .unwrap();
    let ask = |list: &str| {
        let mut scontrol = Command::new("scontrol");
        let asked = scontrol
            .env("SLURM_CONF", &conf)
            .args(["show", "hostnames", list]);
        run(Need::SlurmCommands, asked)
    };
    let lists = [
        "node[01-16,20]",
        "r[1-2]n[1-3]",
        "n[8-12,008-010]",
        "a,,b",
        "n[01-3]",
        "n[007-0010]",
        "a-b,c.d",
        "n[1-2][3-4]",
        "n[3-1]",
        "n[]",
        "n[1,,2]",
        "n[a-b]",
        "n[[1]]",
        "a b",
        ",a,",
        "n[5],m[5-5]",
    ];
    for list in lists {
        let Some((accepted, answer)) = ask(list) else {
            return;
        };
        let (platform, found) = try_read(Some(HostsFormat::Slurm), list);
        // `scontrol` prints "Invalid hostlist" but exits with success.
        assert_eq!(
            platform.is_some(),
            accepted && !answer.is_empty(),
            "{list}: {found:?}"
        );
        if let Some(platform) = platform {
            let names: Vec<_> = platform.hosts().iter().map(|h| h.name.as_str()).collect();
            assert_eq!(names, answer.lines().collect::<Vec<_>>(), "{list}");
        }
    }
    // `scontrol` reads the printed list.
    let names = [
        "n1", "n2", "n9", "n10", "n010", "n011", "x", "gpu1-ib", "gpu2-ib", "10.0.0.1", "10.0.0.2",
    ];
    let (_, answer) = ask(&nodelist::print(names)).expect("it ran before");
    assert_eq!(answer.lines().collect::<Vec<_>>(), names);
}

/// Synthetic topologies of `lstopo`: the description, then the numbers of sockets, cache groups and
/// cores, and of hardware threads per core.
const MADE: [(&str, [usize; 4]); 8] = [
    ("pack:2 numa:1 l3:2 core:3 pu:2", [2, 4, 12, 2]),
    ("pack:2 l3:2 core:4 pu:2", [2, 4, 16, 2]),
    // The outermost cache below the package determines the cache group.
    ("pack:2 l3:2 l2:2 core:2 pu:1", [2, 4, 16, 1]),
    ("pack:2 l2:4 l1d:1 core:2 pu:4", [2, 8, 16, 4]),
    // Without a cache, each core is a group of its own.
    ("pack:4 core:2 pu:1", [4, 8, 8, 1]),
    // Groups and NUMA nodes between or outside packages are ignored.
    ("group:2 pack:2 numa:2 l3:1 core:2 pu:1", [4, 8, 16, 1]),
    ("numa:2 pack:1 l3:1 core:5 pu:1", [2, 2, 10, 1]),
    // A machine with hardware threads only.
    ("pu:6", [1, 6, 6, 1]),
];

#[test]
fn hwloc_round_trips_through_lstopo() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (description, expected)) in MADE.into_iter().enumerate() {
        let file = folder.path().join(format!("made{number}.xml"));
        let mut lstopo = Command::new("lstopo-no-graphics");
        let made = lstopo.args(["-i", description]).arg(&file);
        let Some((accepted, _)) = run(Need::Hwloc, made) else {
            return;
        };
        assert!(accepted, "lstopo refuses {description}");
        // A synthetic topology has no host name.
        let text = std::fs::read_to_string(&file).unwrap();
        let (platform, found) = try_read(None, &text);
        let nameless = matches!(&*found, [one] if one.starts_with("G0448 warning"));
        assert!(nameless, "{description}: {found:?}");
        let platform = platform.unwrap();
        let host = &platform.hosts()[0];
        let [sockets, caches, cores, threads] = expected;
        let found: usize = host.sockets.iter().map(|s| s.caches.len()).sum();
        assert_eq!(
            [host.sockets.len(), found, host.core_count()],
            [sockets, caches, cores],
            "{description}"
        );
        let all = || host.cores().map(|(_, _, core)| core);
        assert!(
            all().all(|core| core.cpus.len() == threads),
            "{description}"
        );
        let mut cpus: Vec<u32> = all().flat_map(|core| core.cpus.clone()).collect();
        cpus.sort_unstable();
        assert!(
            cpus.into_iter().eq(0..(cores * threads) as u32),
            "{description}"
        );
        assert!(host.memory.is_some(), "{description}");

        // `lstopo` reads the printed host and finds the same objects.
        let ours = folder.path().join("ours.xml");
        std::fs::write(&ours, hwloc::print(host)).unwrap();
        for (object, count) in [("core", cores), ("pu", cores * threads)] {
            let mut lstopo = Command::new("lstopo-no-graphics");
            lstopo.arg("-i").arg(&ours);
            let count_them = lstopo.args(["--only", object, "--of", "console"]);
            let (accepted, answer) = run(Need::Hwloc, count_them).expect("it ran before");
            assert!(
                accepted,
                "lstopo refuses what hwloc::print wrote of {description}"
            );
            let lines = answer.lines().filter(|l| !l.trim().is_empty());
            assert_eq!(lines.count(), count, "{description}: {answer}");
        }
    }
}
