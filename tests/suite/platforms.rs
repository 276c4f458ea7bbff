//! Irregular machines in every kind of description, from the hostfile to the mapping: three hosts
//! with 12 cores and one with 64.

use crate::common::Test;
use graphmap_testing::{Need, skip};
use serde_json::Value;
use std::collections::BTreeMap;

const CHAIN: &str = "digraph chain {
    a -> s [at=first]; s [replicas=1230]; s -> s [step=1]; s -> NULL [at=last]; NULL [shape=point];
}";
const HOSTS: [(&str, usize); 4] = [("n1", 12), ("n2", 12), ("n3", 12), ("big", 64)];

/// Maps the chain onto hosts. Returns the loads of the OS processes of each host.
fn partition(test: Test, hosts: &str) -> BTreeMap<String, Vec<f64>> {
    let test = test.file("chain.dot", CHAIN);
    let line = format!("partition chain.dot --strategy fast --json -o out {hosts}");
    let done = test.args(&line);
    let plan: Value = serde_json::from_str(&done.run().status(0).stdout()).unwrap();
    let mut loads: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for p in plan["os_processes"].as_array().unwrap() {
        let host = p["host"].as_str().unwrap().to_owned();
        loads
            .entry(host)
            .or_default()
            .push(p["load"].as_f64().unwrap());
    }
    // The mapping has the same hosts, and the launcher reads them in the order of ranks.
    let mapping: Value = serde_json::from_str(&done.read("out/mapping.json")).unwrap();
    let places = mapping["os_processes"].as_array().unwrap();
    let names: Vec<&str> = places.iter().map(|p| p["host"].as_str().unwrap()).collect();
    let mut ranks = Vec::new();
    let hostfile = done.read("out/hostfile");
    for line in hostfile.lines().filter(|line| !line.starts_with('#')) {
        let (name, count) = line.split_once(':').unwrap();
        ranks.extend(std::iter::repeat_n(name, count.parse().unwrap()));
    }
    assert_eq!(ranks, names);
    loads
}

/// Checks that each host has an OS process for each of its slots, and that no load exceeds its
/// share, rounded up, by more than 3%.
fn fills(loads: &BTreeMap<String, Vec<f64>>, share: fn(&str) -> f64) {
    assert_eq!(loads.len(), HOSTS.len());
    for (host, slots) in HOSTS {
        assert_eq!(loads[host].len(), slots, "{host}");
        for load in &loads[host] {
            assert!(*load <= 1.03 * share(host).ceil(), "{host}: {load}");
        }
    }
    assert_eq!(loads.values().flatten().sum::<f64>(), 1231.0);
}

#[test]
fn an_irregular_machine_in_every_dialect() {
    let lines = |line: fn(&str, usize) -> String| -> String {
        HOSTS
            .iter()
            .map(|(name, slots)| line(name, *slots) + "\n")
            .collect()
    };
    let even = |test: Test, hosts: &str| fills(&partition(test, hosts), |_| 12.31);
    let mpich = lines(|name, slots| format!("{name}:{slots}"));
    even(Test::new().file("hosts", mpich), "--hosts hosts");
    let openmpi = lines(|name, slots| format!("{name} slots={slots} max_slots=64"));
    even(Test::new().file("hosts", openmpi), "--hosts hosts");
    let intel = lines(|name, slots| format!("{name}:{slots} ifhn={name}-ib"));
    let dialect = "--hosts hosts --hosts-format intel";
    even(Test::new().file("hosts", intel), dialect);
    let synthetic = "hosts=4:cores=12(x3),64\nnames=n[1-3],big\n";
    even(Test::new().file("hosts", synthetic), "--hosts hosts");
    let job = Test::new()
        .env("SLURM_JOB_NODELIST", "n[1-3],big")
        .env("SLURM_TASKS_PER_NODE", "12(x3),64");
    even(job, "--hosts slurm");
}

#[test]
fn a_host_that_is_twice_as_fast_gets_twice_as_much() {
    let fast = "hosts=4:cores=12(x3),64 names=n[1-3],big speed=1(x3),2\n";
    let loads = partition(Test::new().file("hosts", fast), "--hosts hosts");
    // 1,231 processes over 36 slots of speed 1 and 64 of speed 2.
    fills(&loads, |host| if host == "big" { 15.01 } else { 7.51 });
}

#[test]
fn a_host_as_lstopo_describes_it() {
    let test = Test::new().file("chain.dot", CHAIN);
    let lstopo = std::process::Command::new("lstopo-no-graphics")
        .args(["-i", "pack:2 l3:2 core:4 pu:2", "--of", "xml", "host.xml"])
        .current_dir(test.folder())
        .output();
    match lstopo {
        Ok(done) => assert!(done.status.success(), "{done:?}"),
        Err(error) => {
            skip(
                Need::Hwloc,
                format!("lstopo-no-graphics does not start: {error}"),
            );
            return;
        }
    }
    let test = test.args("partition chain.dot --strategy fast --hosts host.xml -o out --json");
    test.run().status(0);
    let mapping: Value = serde_json::from_str(&test.read("out/mapping.json")).unwrap();
    let places = mapping["os_processes"].as_array().unwrap();
    let mut cores: Vec<u64> = places
        .iter()
        .map(|p| p["cores"][0].as_u64().unwrap())
        .collect();
    cores.sort_unstable();
    // Sixteen cores with two consecutive hardware threads each. Each OS process is bound to the
    // first of them.
    assert!(cores.into_iter().eq((0..32).step_by(2)));
    // The script binds them: last rank, processes, cores.
    let script = test.read("out/mpiexec.sh");
    assert!(script.contains(":30; do "), "{script}");
}
