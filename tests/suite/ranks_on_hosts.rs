//! A project of ranks on several hosts, with the commands that a user types. It is created, built,
//! and started by `graphmap run --hosts`. Each rank runs where blocks by slots, or a mapping of the
//! messages between ranks, placed it.

use crate::common::hosts::{built_for, is_there, on_first, prepare, said};
use graphmap_testing::{Hosts, Need};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Program in which each rank prints its host, and exchanges messages with the rank that is half of
/// all ranks further on.
const PAIRS: &str = "\
use mpi::collective::SystemOperation;
use mpi::point_to_point::send_receive;
use mpi::traits::*;

pub fn run<C: Communicator>(world: &C) {
    let (rank, size) = (world.rank(), world.size());
    let here = std::fs::read_to_string(\"/proc/sys/kernel/hostname\").unwrap();
    println!(\"rank {rank} of {size} is on {}\", here.trim());
    let other = world.process_at_rank((rank + size / 2) % size);
    let mut sum = 0;
    for round in 0..200 {
        let (come, _): (i64, _) = send_receive(&(i64::from(rank) * round), &other, &other);
        sum += come;
    }
    let mut total = 0i64;
    world.all_reduce_into(&sum, &mut total, SystemOperation::sum());
    if rank == 0 {
        println!(\"total {total}\");
    }
}
";

/// Project of ranks in a permanent folder, so that unchanged parts are not built again.
struct Ring {
    folder: PathBuf,
    mpi: &'static str,
    hosts: Hosts,
    _of_hosts: tempfile::TempDir,
}

impl Ring {
    fn new(mpi: &'static str, need: Need) -> Option<Ring> {
        if !is_there(mpi, need) {
            return None;
        }
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = target.join(format!("ranks-on-hosts-{mpi}"));
        let project = folder.join("ring");
        let built = project.join(format!("target/mpi-{mpi}"));
        fs::create_dir_all(built.parent().unwrap()).unwrap();
        let shared = built_for(mpi);
        fs::create_dir_all(&shared).unwrap();
        if !built.exists() {
            std::os::unix::fs::symlink(&shared, &built).unwrap();
        }
        for left in ["Cargo.toml", "src/main.rs", "ranks.dot"] {
            let _ = fs::remove_file(project.join(left));
        }
        let of_hosts = tempfile::tempdir().unwrap();
        let hosts = Hosts::with_own(of_hosts.path(), 3, Some(&shared))?;
        let ring = Ring {
            folder,
            mpi,
            hosts,
            _of_hosts: of_hosts,
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let runtime = root.join("modules/runtime").display().to_string();
        let new = [
            "new",
            "ring",
            "--family",
            "mpi",
            "--link",
            "mpi",
            "--runtime",
        ];
        let mut made = crate::common::graphmap();
        made.current_dir(&ring.folder).args(new).arg(runtime);
        let made = made.output().unwrap();
        assert!(made.status.success(), "{}", said(&made));
        let lock = root.join("modules/link-mpi/Cargo.lock");
        fs::copy(lock, project.join("Cargo.lock")).unwrap();
        fs::write(project.join("src/ring.rs"), PAIRS).unwrap();
        let hostfile = "h1 slots=2\nh2 slots=1\nh3 slots=1\n";
        fs::write(ring.folder.join("hostfile"), hostfile).unwrap();
        Some(ring)
    }

    fn graphmap(&self, args: &str) -> Output {
        let mut command = crate::common::graphmap();
        let command = command.current_dir(&self.folder);
        command.args(args.split(' ')).output().unwrap()
    }

    /// Runs `graphmap run` on the first host.
    fn run(&self, args: &str, more: &[&str]) -> Output {
        let mut command = on_first(&self.hosts);
        prepare(&mut command).current_dir(&self.folder);
        let agent = format!("agent={}", self.hosts.agent().display());
        let launcher = format!("launcher={}", self.mpi);
        command.arg("run").args(args.split(' ')).arg("--dev");
        command.args(["--set", &agent, "--set", &launcher]);
        command.args(more).output().unwrap()
    }

    /// Returns the host of each rank of a successful run, by rank.
    fn places(&self, args: &str, more: &[&str], ranks: usize) -> Vec<String> {
        let output = self.run(args, more);
        let text = said(&output);
        assert!(output.status.success(), "{args} {more:?}: {text}");
        let of = format!(" of {ranks} is on ");
        let mut places = BTreeMap::new();
        for line in text.lines() {
            // Launchers may put the output of several ranks on one line.
            if let Some((rank, host)) = line.strip_prefix("rank ").and_then(|l| l.split_once(&of)) {
                places.insert(rank.parse::<usize>().unwrap(), host.to_owned());
            }
        }
        let sum: usize = (0..ranks).map(|rank| rank * (200 * 199 / 2)).sum();
        assert!(text.contains(&format!("total {sum}\n")), "{text}");
        assert!(places.keys().copied().eq(0..ranks), "{text}");
        places.into_values().collect()
    }
}

fn run_everywhere(mpi: &'static str, need: Need) {
    let Some(ring) = Ring::new(mpi, need) else {
        return;
    };
    let shown = ring.run("ring --hosts hostfile --dry-run --no-build", &["--", "8"]);
    let text = said(&shown);
    assert!(shown.status.success(), "{text}");
    let script = "ring/target/graphmap/hosts/mpiexec.sh";
    assert!(text.contains(&format!("sh {script}\n")), "{text}");
    assert!(ring.folder.join(script).is_file());

    // Builds outside of the hosts, because Cargo may not be able to get packages on a host.
    let set = format!("launcher={mpi}");
    let build = format!("run ring --hosts hostfile --dev --no-run --set {set}");
    let built = ring.graphmap(&build);
    assert!(built.status.success(), "{}", said(&built));

    // In blocks by slots. The program is copied to hosts that lack it.
    let profile = ["--copy", "--profile", "profile.json", "--", "8"];
    let _ = fs::remove_file(ring.folder.join("profile.json"));
    let blocks = ring.places("ring --hosts hostfile", &profile, 8);
    assert_eq!(blocks, ["h1", "h1", "h1", "h1", "h2", "h2", "h3", "h3"]);
    // Without a number, there is a rank for each slot. The path may be that of the manifest.
    let slots = ring.places("ring/Cargo.toml --hosts hostfile", &[], 4);
    assert_eq!(slots, ["h1", "h1", "h2", "h3"]);
    let dealt = ring.places(
        "ring --hosts hostfile --strategy round-robin",
        &["--", "8"],
        8,
    );
    assert_eq!(dealt, ["h1", "h1", "h2", "h3", "h1", "h1", "h2", "h3"]);

    // By the messages between ranks: both ranks of a pair are on one host.
    for line in [
        "import profile.json --load equal -o ring/ranks.dot",
        "partition ring/ranks.dot --hosts hostfile -o plan --quiet",
    ] {
        let output = ring.graphmap(line);
        assert!(output.status.success(), "{}", said(&output));
    }
    let text = fs::read_to_string(ring.folder.join("plan/mapping.json")).unwrap();
    let mapping: serde_json::Value = serde_json::from_str(&text).unwrap();
    let planned = mapping["processes"].as_array().unwrap().iter();
    let planned: Vec<&str> = planned
        .map(|process| process["os_process"].as_u64().unwrap() as usize)
        .map(|one| mapping["os_processes"][one]["host"].as_str().unwrap())
        .collect();
    assert!((0..4).all(|rank| planned[rank] == planned[rank + 4]));
    for (args, more) in [
        ("ring/ranks.dot --hosts hostfile", &[][..]),
        (
            "ring/ranks.dot --hosts hostfile --mapping plan/mapping.json",
            &[],
        ),
        ("ring --hosts hostfile --mapping plan/mapping.json", &[]),
    ] {
        let before = ring.hosts.sent();
        let placed = ring.places(args, more, 8);
        let is_together = (0..4).all(|rank| placed[rank] == placed[rank + 4]);
        assert!(is_together, "{args}: {placed:?}");
        if args.contains("--mapping") {
            assert_eq!(placed, planned, "{args}");
        }
        assert!(ring.hosts.sent() > before, "nothing went over the wire");
    }
    // The files that `partition` wrote start the same number.
    let mut command = ring.hosts.on_first("sh");
    prepare(&mut command).current_dir(&ring.folder);
    let program = ring
        .folder
        .join(format!("ring/target/mpi-{mpi}/debug/ring"));
    let set = [
        format!("program={}", program.display()),
        format!("launcher={mpi}"),
    ];
    let mut again = crate::common::graphmap();
    again
        .current_dir(&ring.folder)
        .args(["partition", "ring/ranks.dot", "--hosts", "hostfile"]);
    again
        .args(["-o", "plan"])
        .args(set.iter().flat_map(|set| ["--set", set]));
    let again = again.output().unwrap();
    assert!(again.status.success(), "{}", said(&again));
    command.arg("plan/mpiexec.sh").args(ring.hosts.options(mpi));
    let output = command.output().unwrap();
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("rank 7 of 8 is on h"), "{text}");
}

#[test]
fn over_mpich() {
    run_everywhere("mpich", Need::Mpich);
}

#[test]
fn over_open_mpi() {
    run_everywhere("openmpi", Need::OpenMpi);
}
