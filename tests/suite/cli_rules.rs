//! Rules over whole hosts, and contradictions that are found without a search, as users meet them.

use crate::common::{Done, LONGEST, Started, Test};

/// Returns a graph with three replicas between a source and a sink, and two hosts with two slots
/// and one with four.
fn replicas(attributes: &str) -> Test {
    let graph = format!(
        "digraph g {{
    source -> replica [bundle=scatter];
    replica -> sink [bundle=gather];
    replica [replicas=3, {attributes}];
}}
"
    );
    let hosts = "node1 slots=2\nnode2 slots=2\nbig slots=4\n";
    Test::new().file("g.dot", graph).file("hosts", hosts)
}

fn partition(test: Test, options: &str) -> Done {
    test.args(&format!("partition g.dot --quiet --hosts hosts {options}"))
        .run()
}

/// Returns the sorted hosts of the processes of a kind, from the mapping.
fn hosts_of(test: Test, options: &str, kind: &str) -> Vec<String> {
    let test = test.args(&format!(
        "g.dot --hosts hosts {options} --imbalance 1000 --emit mapping=m.json"
    ));
    test.run().status(0);
    let mapping: serde_json::Value = serde_json::from_str(&test.read("m.json")).unwrap();
    let places = mapping["os_processes"].as_array().unwrap();
    let processes = mapping["processes"].as_array().unwrap();
    let of_kind = processes
        .iter()
        .filter(|p| p["name"].as_str().unwrap().starts_with(kind));
    let mut hosts: Vec<String> = of_kind
        .map(|p| {
            let place = &places[p["os_process"].as_u64().unwrap() as usize];
            place["host"].as_str().unwrap().to_owned()
        })
        .collect();
    hosts.sort();
    hosts
}

#[test]
fn replicas_on_different_hosts() {
    let test = || replicas("load=1");
    let all = ["big", "node1", "node2"];
    assert_eq!(hosts_of(test(), "--apart replica*@*", "replica"), all);
    let in_graph = || replicas("separate=\"copies@*\"");
    assert_eq!(hosts_of(in_graph(), "", "replica"), all);
    // The limit of one process applies to these two hosts only.
    let some = hosts_of(
        test(),
        "--apart replica*@node* --pin replica*=node*,big",
        "r",
    );
    for node in ["node1", "node2"] {
        assert!(some.iter().filter(|h| *h == node).count() <= 1, "{some:?}");
    }
    partition(test(), "--apart replica*@node* --pin replica*=node*")
        .status(4)
        .stderr_has("more processes must be kept apart than there are places for them")
        .stderr_has(
            "no two of `replica1`, `replica2` and `replica3` may be on one of `node1`, `node2`",
        )
        .stderr_has(" --> --pin:1:1");
    partition(test(), "--apart replica*@nodes")
        .status(1)
        .stderr_has("error[G0451]: there is no host `nodes`")
        .stderr_has("--apart:1:10");
    partition(replicas("separate=\"copies@nodes\""), "")
        .status(1)
        .stderr_has("there is no host `nodes`")
        .stderr_has("g.dot:4:");
}

#[test]
fn hold_limits_processes_per_host() {
    let held = hosts_of(
        replicas("load=1"),
        "--hold replica*=-1@node* --hold replica*=-1@big",
        "replica",
    );
    assert_eq!(held, ["big", "node1", "node2"]);
    let held = hosts_of(replicas("load=1"), "--hold replica*=3@big", "replica");
    assert_eq!(held, ["big", "big", "big"]);
    partition(
        replicas("load=1"),
        "--hold replica*=-1@node1,node2 --pin replica*=node*",
    )
    .status(4)
    .stderr_has(
        "at most 1 of `replica1`, `replica2` and `replica3` may be on each of `node1`, `node2`",
    );
    // At least two of three must be on `big`, but two are pinned elsewhere.
    partition(
        replicas("load=1"),
        "--hold replica*=2-@big --pin replica1,replica2=node1",
    )
    .status(4)
    .stderr_has("fewer processes can be in OS process 4 than are required there")
    .stderr_has("at least 2 of `replica1`, `replica2` and `replica3` must be in OS process 4")
    .stderr_has("`replica1` and `replica2` must be on `node1`");
}

#[test]
fn the_memory_of_a_host_is_for_all_on_it() {
    // Divided evenly, `node1` has 6 bytes for each OS process, which is too little for any replica.
    let of = |options| hosts_of(replicas("mem=10"), options, "replica");
    assert_eq!(
        of("--memory node1=12 --memory big=0 --memory node2=20"),
        ["node1", "node2", "node2"]
    );
    let full = "--memory node*=12 --memory big=5";
    partition(replicas("mem=10"), full)
        .status(4)
        .stderr_has("error[G0456]: there is no feasible mapping")
        .stderr_has("`big` has 5 bytes of memory");
    partition(replicas("mem=10"), "--memory node1=25 --pin replica*=node1")
        .status(4)
        .stderr_has(
            "the processes that must be in 2 OS processes need more memory than is available there",
        )
        .stderr_has("`replica1`, `replica2` and `replica3` must be on `node1`")
        .stderr_has("`node1` has 25 bytes of memory");
    // The memory of the platform has no line to point at.
    let test = replicas("mem=10").args("partition g.dot -q --hosts hosts=2:cores=2 memory=14");
    test.run().status(2);
    let test = replicas("mem=10").file("two", "hosts=2:cores=2 memory=14");
    test.args("partition g.dot --quiet --hosts two")
        .run()
        .status(4)
        .stderr_has("`host1` has 14 bytes of memory");
}

#[test]
fn contradictions_of_many_are_seen_without_a_search() {
    let many = |replicas: u32| {
        let graph = format!(
            "digraph g {{ a -> w [bundle=scatter]; w -> b [bundle=gather]; w [replicas={replicas}, mem=1] }}"
        );
        Test::new()
            .file("g.dot", graph)
            .file("hosts", "x slots=4\ny slots=4\n")
    };
    for (options, said) in [
        (
            "--pin w*=x --memory x=10K",
            "the processes that must be in 4 OS processes need more memory than is available there",
        ),
        (
            "--pin w*=0-1 --memory 0-1=9K",
            "the processes that must be in 2 OS processes need more memory than is available there",
        ),
        (
            "--pin w*=x --hold w*=-9@x",
            "more processes must be in 4 OS processes than are allowed there",
        ),
        (
            "--pin w*=0 --strict-balance",
            "the load that must be in OS process 0 exceeds the balance limit",
        ),
        (
            "--apart w*@*",
            "more processes must be kept apart than there are places",
        ),
        (
            "--together w1,w2 --hold w1,w2=-1",
            "are more than any allowed OS process may hold",
        ),
        (
            "--pin w*=x --pin w*=y",
            "no OS process satisfies all pins of process",
        ),
    ] {
        partition(many(20_000), options)
            .status(4)
            .stdout_is("")
            .stderr_has("error[G0456]: there is no feasible mapping: ")
            .stderr_has(said);
    }
    // If only the balance limit is in the way, it is raised, and the warning says that this is
    // unavoidable.
    partition(many(1_000), "--pin w*=0-1")
        .status(0)
        .stderr_has("warning[G0457]: no mapping keeps the balance limit of 3%");
}

#[test]
fn some_processes_are_dearer_to_move_than_others() {
    let line = |weights: [u32; 3], more: &str| {
        let [x, y, z] = weights;
        format!(
            "digraph line {{ a -> b [traffic={x}]; b -> c [traffic={y}]; c -> d [traffic={z}]; {more} }}"
        )
    };
    let yesterday = |more: &str| {
        let hosts = "x:1\ny:1\n";
        let test = Test::new()
            .file("g.dot", line([9, 1, 9], ""))
            .file("hosts", hosts);
        let test = test.args("g.dot --hosts hosts --emit mapping=yesterday.json");
        test.run().status(0);
        test.file("g.dot", line([1, 20, 1], more))
    };
    // Either `b` and `d` swap, or `a` and `c`.
    let moved = |more: &str, options: &str| {
        let options = format!("--json --previous yesterday.json {options}");
        let text = partition(yesterday(more), &options).status(0).stdout();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let moves = value["since"]["moves"].as_array().unwrap().clone();
        let name = |m: &serde_json::Value| m["process"].as_str().unwrap().to_owned();
        moves.iter().map(name).collect::<Vec<String>>().join(" ")
    };
    assert_eq!(moved("", "--move b=5"), "a c");
    assert_eq!(moved("", "--move c,a=5"), "b d");
    assert_eq!(moved("", "--move *=1000"), "");
    assert_eq!(moved("", "--migration 1000 --move b,d=0"), "b d");
    // The last rule applies. With `mem`, processes with memory are expensive to move.
    assert_eq!(moved("a [mem=9]; c [mem=9]", "--move *=mem"), "b d");
    assert_eq!(moved("b [mem=9]; d [mem=9]", "--move *=mem"), "a c");
    assert_eq!(
        moved(
            "b [mem=1000000000000000]; a [mem=1000000000000000]",
            "--move *=mem"
        ),
        ""
    );
    partition(yesterday(""), "--previous yesterday.json --move e=3")
        .status(1)
        .stderr_has("there is no process `e`")
        .stderr_has("--move:1:1");
    partition(yesterday(""), "--previous yesterday.json --move a=much")
        .status(2)
        .stderr_has("expected a number of at least 0")
        .stderr_has("--move:1:3");
    partition(yesterday(""), "--move a=5")
        .status(2)
        .stderr_has("--previous <PATH>");
}

/// Starts a search of one hour on three threads. Returns when they and `others` more threads exist.
fn searching(test: &Test, args: &str, others: usize) -> Started {
    use std::time::{Duration, Instant};
    let mut command = crate::common::graphmap();
    command
        .current_dir(test.folder())
        .args(args.split(' '))
        .args(["-n", "16", "--time", "60min", "--threads", "3"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = Started::of(&mut command);
    let start = Instant::now();
    loop {
        let threads = std::fs::read_dir(format!("/proc/{}/task", child.id()));
        if threads.is_ok_and(|threads| threads.count() == 3 + others) {
            return child;
        }
        let late = start.elapsed() > LONGEST;
        if late || child.try_wait().unwrap().is_some() {
            let _ = child.kill();
            panic!("no search began: {:?}", child.output());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Interrupts a command, and returns its output and exit status.
fn interrupted(child: Started) -> std::process::Output {
    child.signal("INT");
    child.output()
}

#[test]
fn an_interrupted_search_gives_its_best_mapping() {
    use std::os::unix::process::ExitStatusExt;
    let ring: String = (0..300)
        .map(|i| {
            let (near, far) = ((i + 1) % 300, (i * 7 + 3) % 300);
            format!("p{i} -> p{near} [src=a, dst=b]; p{i} -> p{far} [src=c{i}, dst=d{i}]; p{i} [kind=k{i}]; ")
        })
        .collect();
    let test = Test::new().file("g.dot", format!("digraph g {{ {ring} }}"));
    // One more thread waits for the interrupt.
    let done = interrupted(searching(&test, "partition g.dot -o plan", 1));
    let (said, shown) = (
        String::from_utf8_lossy(&done.stderr),
        String::from_utf8_lossy(&done.stdout),
    );
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(
        said.contains("warning[G0463]: the search was interrupted; the best mapping found so far"),
        "{said}"
    );
    assert!(
        shown.contains("g: 300 processes in 16 OS processes"),
        "{shown}"
    );
    assert!(test.files().contains(&"plan/mapping.json".to_owned()));
    // Other verbs end by the interrupt, and write no file.
    let done = interrupted(searching(&test, "g.dot --emit svg=x.svg", 0));
    assert_eq!(done.status.signal(), Some(2), "{done:?}");
    assert!(!test.files().contains(&"x.svg".to_owned()));
}

#[test]
fn all_errors_are_reported_at_once() {
    let test = replicas("load=1").file("r.rules", "pin srouce = node1\ntogther sink\npin sink=9\n");
    partition(
        test,
        "--rules r.rules --hold replica*=3-2 --memory none=4 --pin nobody=0",
    )
    .status(2)
    .stderr_has("there is no process `srouce`")
    .stderr_has("there is no rule `togther`")
    .stderr_has("there is no OS process 9")
    .stderr_has("the minimum is larger than the maximum")
    .stderr_has("there is no host `none`")
    .stderr_has("there is no process `nobody`")
    .stderr_has("graphmap: 6 errors");
}

#[test]
fn options_are_refused_before_any_search() {
    let refused = |options: &str, status: i32, said: &str| {
        // A search of an hour would be noticed.
        let test = replicas("load=1").file("file", "");
        partition(test, &format!("--time 60min {options}"))
            .status(status)
            .stderr_has(said);
    };
    refused("-o file", 2, "`file` is a file, not a folder");
    refused("-o d --set launcher=mipch", 5, "did you mean `mpich`?");
    refused("-n -1", 2, "expected a whole number from 1 to 4294967295");
    refused("-n 0", 2, "expected a whole number from 1 to 4294967295");
    refused("--imbalance -5", 2, "expected a number from 0 to 100000");
    refused("--imbalance 1e9", 2, "expected a number from 0 to 100000");
}

#[test]
fn sizes_have_the_units_of_the_graph() {
    let mapped = |memory: &str| {
        let test = replicas("mem=\"2GiB\"");
        partition(test, &format!("--pin replica*=big --memory big={memory}"))
    };
    for enough in ["6G", "6GiB", "6442450944", "7GB"] {
        mapped(enough).status(0);
    }
    mapped("6GB").status(4).stderr_has("of memory");
    mapped("6Q")
        .status(2)
        .stderr_has("such as 4096, 64G or 2GiB");
}

#[test]
fn a_module_may_be_called_without_the_word_that_graphviz_wants() {
    let drawing = "digraph g { subgraph cluster_farm_2 { a; b; } subgraph clusterother { c; } \
                   a -> b -> c -> d; }";
    let mut test = Test::new().file("g.dot", drawing);
    for module in ["farm_2", "cluster_farm_2", "farm_*"] {
        test = test.args(&format!(
            "partition g.dot -n 4 --imbalance 1000 --pin module:{module}=2-3 --json"
        ));
        let json = test.run().status(0).stdout();
        let plan: serde_json::Value = serde_json::from_str(&json).unwrap();
        let load = |o: usize| plan["os_processes"][o]["load"].as_f64().unwrap();
        assert!((2..4).map(load).sum::<f64>() >= 2.0, "{module}: {json}");
    }
    let test = test.args("partition g.dot -n 2 --whole other");
    test.run().status(0);
    let test = test.args("partition g.dot -n 2 --whole farm_3");
    test.run().stderr_has("there is no module `farm_3`");
}
