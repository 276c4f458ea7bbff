//! Invalid input of a mapping, one mistake at a time. The tests check the message and its stream,
//! the exit code, and that no file is written.

use crate::common::{Done, Test, gone};
use graphmap_testing::{Need, skip};

/// Farm with four workers.
const FARM: &str = "digraph farm {
    source -> worker [bundle=scatter, traffic=4];
    worker -> sink [bundle=gather, traffic=2];
    worker [replicas=4, load=3];
}
";

fn farm() -> Test {
    Test::new().file("farm.dot", FARM)
}

/// Maps the farm with these options, and writes into `plan`.
fn partition(test: Test, options: &str) -> Done {
    let test = test.args(&format!("partition farm.dot --quiet -o plan {options}"));
    let done = test.run();
    let written = test.files().iter().any(|f| f.starts_with("plan"));
    let sound = done.output.status.code() == Some(0);
    assert_eq!(written, sound, "{options}: {}", done.stderr());
    assert_eq!(done.stdout().is_empty(), !sound, "{options}");
    done.stderr_lacks("panicked")
}

fn refused(test: Test, options: &str, status: i32) -> Done {
    partition(test, options).status(status).stdout_is("")
}

#[test]
fn a_hostfile_of_another_format_is_an_error() {
    let open = farm().file("hosts", "node1 slots=2\n");
    refused(open, "--hosts hosts --hosts-format mpich", 1).stderr_is(
        "error[G0411]: `slots=` belongs in an Open MPI hostfile, but this text is read as an MPICH hostfile
 --> hosts:1:7
  |
1 | node1 slots=2
  |       ^^^^^^^
  |
  = help: in an MPICH hostfile, write `node1:2`
  = help: if the whole file is an Open MPI hostfile, use `--hosts-format openmpi`

graphmap: 1 error
",
    );
    let mpich = farm().file("hosts", "node1:2\n");
    let done = refused(mpich, "--hosts hosts --hosts-format openmpi", 1);
    done.stderr_has("error[G0411]")
        .stderr_has("hosts:1:1")
        .stderr_has("node1 slots=2");
    let unknown = farm().file("hosts", "node1:2\n");
    refused(unknown, "--hosts hosts --hosts-format mpihc", 2).stderr_has("did you mean `mpich`?");
    // A mixture of formats is reported at the line that does not fit.
    let mixed = farm().file("hosts", "node1:2\nnode2 slots=2\n");
    refused(mixed, "--hosts hosts", 1).stderr_has("hosts:2:7");
    let picture = farm().file("hosts", [0x89, b'P', b'N', b'G', 0xff, 0]);
    refused(picture, "--hosts hosts", 2).stderr_has("error[G0002]");
    refused(farm(), "--hosts hosts", 2)
        .stderr_has("error[G0001]")
        .stderr_has("names=node1,node2 slots=4");
    refused(farm().file("hosts", "# none\n"), "--hosts hosts", 1).stderr_has("error[G0410]");
}

#[test]
fn a_host_given_twice() {
    // Open MPI refuses it. MPICH adds the slots, which is a warning.
    let open = farm().file("hosts", "a slots=2\nb slots=2\na slots=2\n");
    refused(open, "--hosts hosts", 1)
        .stderr_has("error[G0412]: host `a` has `slots=` on two lines")
        .stderr_has("hosts:3:3");
    let mpich = farm().file("hosts", "a:1\na:1\n");
    partition(mpich, "--hosts hosts").status(0).stderr_is(
        "warning[G0412]: host `a` is named on two consecutive lines
 --> hosts:2:1
  |
1 | a:1
  | --- first named here
2 | a:1
  | ^^^ together, the lines give 2 slots
  |
  = help: remove one of the lines, or write one line with the sum

graphmap: 1 warning
",
    );
    // The order of lines is the order of ranks, so this repetition is intended.
    let dealt = farm().file("hosts", "a:1\nb:1\na:1\n");
    partition(dealt, "--hosts hosts --imbalance 50")
        .status(0)
        .stderr_is("");
}

#[test]
fn a_host_without_slots() {
    refused(farm().file("hosts", "a:2\nb:0\n"), "--hosts hosts", 1)
        .stderr_has("error[G0413]")
        .stderr_has("hosts:2:3");
    // Open MPI does not use such a host.
    refused(farm().file("hosts", "a slots=0\n"), "--hosts hosts", 1)
        .stderr_has("error[G0410]: no host of `hosts` has a slot")
        .stderr_has("hosts:1:1");
    refused(farm(), "--hosts hosts=0", 1)
        .stderr_has("error[G0413]")
        .stderr_has("--hosts:1:7");
    refused(farm(), "-n 0", 2);
}

#[test]
fn more_pins_than_slots() {
    // Four processes must be apart on a host with two slots.
    let hosts = || farm().file("hosts", "x:2\ny:4\n");
    let said = "error[G0456]: there is no feasible mapping: more processes must be kept apart than \
                there are OS processes for them";
    refused(hosts(), "--hosts hosts --pin worker*=x --apart worker*", 4)
        .stderr_has(said)
        .stderr_has(" ::: --apart:1:1")
        .stderr_has("`worker1`, `worker2`, `worker3` and `worker4` must be apart");
    refused(hosts(), "--hosts hosts --pin worker1=7", 1)
        .stderr_has("error[G0452]: there is no OS process 7")
        .stderr_has(" --> --pin:1:9");
    refused(hosts(), "--hosts hosts --pin worker1=z", 1)
        .stderr_has("error[G0451]: there is no host `z`")
        .stderr_has("use one of the hosts: x, y");
    // A host that runs none of the requested OS processes.
    refused(hosts(), "--hosts hosts -n 2 --pin worker1=y", 1)
        .stderr_has("error[G0451]: host `y` runs none of the 2 OS processes");
    partition(farm(), "-n 2 --pin worker1=x")
        .status(0)
        .stderr_has("warning[G0453]");
    let few = farm().file("hosts", "x:2\ny:1\n");
    partition(few, "--hosts hosts -n 5")
        .status(0)
        .stderr_has("warning[G0454]");
}

#[test]
fn invalid_weights_are_errors() {
    for weight in ["-1", "NaN", "inf", "1e400", "1,5", "0x10", ""] {
        for (attribute, column) in [("load", 27), ("traffic", 27), ("mem", 26)] {
            if (attribute, weight) == ("traffic", "") {
                continue; // an empty value resets a default
            }
            let of = match attribute {
                "traffic" => format!("a -> b [{attribute}=\"{weight}\"]"),
                _ => format!("a -> b; a [{attribute}=\"{weight}\"]"),
            };
            let test = farm().file("farm.dot", format!("digraph {{ {of} }}"));
            let shown = match weight {
                "" => "an empty text".to_owned(),
                weight => format!("`{weight}`"),
            };
            let said = format!("error[G0206]: {shown} is not a value of `{attribute}`");
            refused(test, "-n 2", 1)
                .stderr_has(&said)
                .stderr_has(&format!("farm.dot:1:{}\n", column));
        }
    }
}

#[test]
fn weights_that_are_too_large_or_too_small_to_count() {
    let graph =
        |weights: &str| farm().file("farm.dot", format!("digraph g {{ a -> b {weights} }}"));
    for weights in [
        r#"[traffic="1e308"]; a [load="1e308"]; b [load="1e308"]"#,
        r#"[traffic="1e-320"]; a [load="1e-320"]; b [load=0]"#,
    ] {
        partition(graph(weights), "-n 2 --imbalance 200")
            .status(0)
            .stderr_is("");
    }
    refused(graph(r#"; b [mem="1e308"]"#), "-n 2", 1)
        .stderr_has("error[G0458]: the memory of all processes is 1e308 bytes")
        .stderr_has("farm.dot:1:18")
        .stderr_has("`b` needs the most");
    let json = r#"{"graphmap": 1, "processes": [{"name": "a", "load": -1}], "channels": []}"#;
    let test = Test::new()
        .file("net.json", json)
        .args("partition net.json -n 1");
    test.run()
        .status(1)
        .stderr_has("net.json:1:")
        .stderr_lacks("panicked");
}

#[test]
fn a_mapping_of_another_graph() {
    let made = farm().args("farm.dot -n 2 --emit mapping.json");
    made.run().status(0);
    let mapping = made.read("mapping.json");
    let other = Test::new()
        .file("farm.dot", "digraph others { p -> q -> worker1 }")
        .file("mapping.json", &mapping);
    let test = other.args("farm.dot --mapping mapping.json --emit svg=x.svg");
    let said = test.run().status(1).stdout_is("");
    assert_eq!(test.files(), ["farm.dot", "mapping.json"]);
    said.stderr_has("error[G0436]: this mapping is for another network")
        .stderr_has("mapping.json:4:")
        .stderr_has("made for `farm`, hash ")
        .stderr_has("the network is `others`, hash ")
        .stderr_has("the mapping lacks 2 processes of the network, such as `p`");
    // The same processes with other channels: the mapping is used, with a warning.
    let changed = FARM.replace(
        "worker -> sink [bundle=gather",
        "worker -> sink [bundle=select, src=x",
    );
    let test = Test::new()
        .file("farm.dot", changed)
        .file("mapping.json", &mapping);
    let test = test.args("farm.dot --mapping mapping.json --emit svg=x.svg");
    test.run()
        .status(0)
        .stderr_has("warning[G0436]: the network has changed since this mapping was made");
    for (text, code) in [
        ("{", "G0434"),
        ("{}", "G0434"),
        (r#"{"format": "graphmap-mapping", "version": 9}"#, "G0008"),
    ] {
        let test = farm().file("mapping.json", text);
        let done = test
            .args("farm.dot --mapping mapping.json --emit svg=x.svg")
            .run();
        done.status(1)
            .stderr_has(code)
            .stderr_has("mapping.json:1:");
    }
}

#[test]
fn a_solver_that_is_not_there() {
    // The solver is checked even if the mapping needs none.
    for (solver, said) in [
        ("./cbc", "`./cbc` cannot be started"),
        (
            "farm.dot",
            "`farm.dot` is not a known solver; the known solvers are cbc and glpsol",
        ),
        ("/", "is not a known solver"),
    ] {
        for n in [1, 2] {
            refused(
                farm(),
                &format!("-n {n} --strategy ilp --solver {solver}"),
                5,
            )
            .stderr_has("error[G0459]: the solver failed: ")
            .stderr_has(said);
        }
    }
    refused(farm(), "-n 2 --solver cbc", 2)
        .stderr_has("the strategy `auto` does not use `--solver`");
    refused(farm(), "-n 2 --strategy ipl", 2).stderr_has("did you mean `ilp`?");
}

const ANSWER: &str = r#"#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = solution ] && answer=$2; shift; done
"#;

#[test]
fn a_solver_that_dies_or_writes_nonsense() {
    for (script, said) in [
        (
            "#!/bin/sh\necho out of luck >&2\nexit 3\n",
            "ended with exit status: 3; its last output: out of luck",
        ),
        ("#!/bin/sh\nkill -9 $$\n", "ended with signal: 9"),
        ("#!/bin/sh\nexit 0\n", "wrote no answer"),
        ("ANSWER\necho what a day > \"$answer\"\n", "cannot be read"),
        (
            "ANSWER\nhead -c 4000 /dev/urandom > \"$answer\"\n",
            "cannot be read",
        ),
        ("ANSWER\n: > \"$answer\"\n", "cannot be read"),
        (
            "ANSWER\nprintf 'Optimal - 1\\n\\n' > \"$answer\"\n",
            "cannot be read",
        ),
        (
            "ANSWER\nprintf 'Optimal - 1\\n' > \"$answer\"\n",
            "its answer omits processes",
        ),
        (
            "ANSWER\nprintf 'Infeasible - 1\\n' > \"$answer\"\n",
            "it reports that no mapping exists, but one exists",
        ),
        // All processes in the first OS process, which exceeds the balance limit.
        (
            "ANSWER\nprintf 'Optimal - 1\\n 0 v0 1 0\\n 1 v2 1 0\\n 2 v4 1 0\\n 3 v6 1 0\\n 4 v8 1 0\\n 5 v10 1 0\\n' > \"$answer\"\n",
            "its answer breaks the rules",
        ),
    ] {
        let script = script.replace("ANSWER\n", ANSWER);
        let test = farm().executable("cbc", &script);
        refused(test, "-n 2 --strategy ilp --solver bin/cbc --time 20s", 5)
            .stderr_has("error[G0459]: the solver failed: ")
            .stderr_has(said);
    }
}

/// Checks that the existence of a solver is read from the file system. A solver is started once, to
/// solve.
#[test]
fn a_solver_is_started_to_solve_and_for_nothing_else() {
    let script = "#!/bin/sh\necho started >> starts\nexit 3\n";
    let test = farm().executable("cbc", script);
    let test = test.args("partition farm.dot -n 1 --strategy ilp --solver bin/cbc");
    test.run().status(0);
    assert!(!test.files().contains(&"starts".to_owned()));
    let test = test.args("partition farm.dot -n 2 --strategy ilp --solver bin/cbc");
    test.run().status(5);
    assert_eq!(test.read("starts"), "started\n");
}

#[test]
fn a_solver_that_hangs_is_stopped_and_what_was_found_before_is_used() {
    let test = farm().executable("cbc", "#!/bin/sh\nexec sleep 600\n");
    partition(test, "-n 2 --strategy ilp --solver bin/cbc --time 300ms")
        .status(0)
        .stdout_has("strategy ilp")
        .stderr_has(
            "warning[G0463]: the solver ran out of time; the best mapping found before it started is used",
        );
}

/// Checks that each end of the command also ends the solver and its child processes, long before
/// the time limit.
#[test]
fn a_solver_ends_with_us() {
    for signal in ["TERM", "INT", "KILL", "HUP"] {
        let script = "#!/bin/sh\nsleep 1000 & echo $! > other\n\
                      echo $$ > number; mv number started; wait\n";
        let test = farm().executable("cbc", script);
        let test = test.args("partition farm.dot -n 2 --strategy ilp --solver bin/cbc --time 900s");
        let mut run = test.start();
        run.wait_for(&test.folder().join("started"));
        assert_eq!(run.end_by(signal).code(), None, "{signal}");
        for file in ["started", "other"] {
            assert!(gone(&test.read(file)), "{signal}: {file}");
        }
        assert_eq!(test.read("said-out"), "");
    }
}

#[test]
fn real_solvers_find_the_best() {
    let best = partition(farm(), "-n 2 --strategy auto").status(0);
    let cost = |done: &Done| {
        let text = done.stdout();
        let line = text
            .lines()
            .find(|l| l.contains("cost (traffic times distance)"));
        let own = line.unwrap().split_whitespace().nth(4);
        own.unwrap().parse::<f64>().unwrap()
    };
    let best = cost(&best);
    let own = partition(farm(), "-n 2 --strategy ilp")
        .status(0)
        .stderr_is("");
    assert_eq!(cost(&own), best);
    for (solver, need) in [("cbc", Need::Cbc), ("glpsol", Need::Glpk)] {
        let there = std::process::Command::new(solver).arg("-exit").output();
        if let Err(error) = there {
            skip(need, format!("{solver} does not start: {error}"));
            continue;
        }
        let options = format!("-n 2 --strategy ilp --solver {solver}");
        let own = partition(farm(), &options).status(0).stderr_is("");
        assert_eq!(cost(&own), best, "{solver}");
    }
}

#[test]
fn what_is_infeasible_is_proved() {
    // Four processes of 12 bytes each exceed 40 bytes.
    let heavy = || farm().file("farm.dot", FARM.replace("load=3", "mem=12"));
    refused(heavy(), "-n 2 --memory 0-1=20", 4).stderr_is(
        "error[G0456]: there is no feasible mapping: the processes that must be in 2 OS processes need more memory than is available there
  = note: the conflict involves the memory of OS processes 0-1
  = help: remove a constraint, or use more or larger hosts

graphmap: 1 error
",
    );
    // The sum fits, but the pieces do not. Only a search finds this.
    refused(heavy(), "-n 3 --memory 0-2=23", 4)
        .stderr_has(
            "error[G0456]: there is no feasible mapping: the processes do not fit into the memory",
        )
        .stderr_has("the conflict involves the memory of OS processes 0-2");
    refused(heavy(), "-n 4 --memory 0-3=11", 4)
        .stderr_has("needs more memory than is available in any allowed OS process")
        .stderr_has("farm.dot:2:15");
    let pinned = "-n 2 --strict-balance --apart source,sink --pin worker*=0";
    refused(farm(), pinned, 4)
        .stderr_has("the load that must be in OS process 0 exceeds the balance limit")
        .stderr_has("`worker1`, `worker2` and `worker3` must be in OS process 0")
        .stderr_lacks("--apart");
    let held = "-n 2 --strict-balance --apart source,sink --hold worker*=4@0";
    refused(farm(), held, 4)
        .stderr_has("these constraints and the balance limit cannot all be satisfied")
        .stderr_has(" --> --hold:1:1")
        .stderr_has("the conflict involves the balance limit of OS processes 0-1")
        .stderr_lacks("--apart");
    // Of the load of 10, the even share is 5, and 20% more is 6. A process of load 9 cannot be
    // split.
    let uneven = farm().file("farm.dot", "digraph { a -> b; a [load=9] }");
    refused(uneven, "-n 2 --strict-balance --imbalance 20", 4)
        .stderr_has("heavier than the balance limit of every OS process")
        .stderr_has("farm.dot:1:11");
    // One process cannot be in each of two OS processes.
    refused(farm(), "-n 2 --hold kind:source=1-", 4).stderr_is(
        "error[G0456]: there is no feasible mapping: 1 process is too few for at least 1 in each of 2 OS processes
 --> --hold:1:1
  |
1 | kind:source=1-
  | ^^^^^^^^^^^^^^ at least 1 of `source` must be in each OS process
  |
  = help: remove a constraint, or use more or larger hosts

graphmap: 1 error
",
    );
}

#[test]
fn threads_must_be_from_1_to_1024() {
    for wrong in ["0", "1025", "-1", "all"] {
        let said = format!("'{wrong}' for '--threads <N>'");
        refused(farm(), &format!("-n 2 --time 20ms --threads={wrong}"), 2).stderr_has(&said);
    }
    for sound in [
        "--threads 3",
        "--time 20ms --threads 1",
        "--time 20ms --threads 5",
    ] {
        partition(farm(), &format!("-n 2 {sound}"))
            .status(0)
            .stderr_is("");
    }
}

/// Returns a pipeline. `yesterday.json` maps it onto two hosts with one slot each.
fn yesterday() -> Test {
    let text = "digraph line { a -> b [traffic=9]; b -> c [traffic=1]; c -> d [traffic=9] }";
    let hosts = "x:1\ny:1\n";
    let test = Test::new().file("farm.dot", text).file("hosts", hosts);
    let test = test.args("farm.dot --hosts hosts --emit mapping=yesterday.json");
    test.run().status(0);
    test
}

const TODAY: &str = "--hosts hosts --previous yesterday.json";

#[test]
fn a_mapping_that_is_still_the_best_stays() {
    partition(yesterday(), TODAY)
        .status(0)
        .stderr_is("")
        .stdout_has(
            "
since the previous mapping: 0 moved, 4 stay, 0 new
  gain   0 (without moves the cost is 63310, and the largest load 100.0% of its share; now the cost is 63310)
  price  0 for the moves
",
        );
}

#[test]
fn moves_are_reported_with_their_gain() {
    // Measurements: now most of the traffic is between `b` and `c`.
    let profile = r#"{"processes": [{"name": "a", "load": 1}, {"name": "b", "load": 1},
        {"name": "c", "load": 1}, {"name": "d", "load": 1}], "channels": [
        {"from": "a", "src": "out", "to": "b", "dst": "in", "messages": 1, "bytes": 100},
        {"from": "b", "src": "out", "to": "c", "dst": "in", "messages": 1, "bytes": 9000},
        {"from": "c", "src": "out", "to": "d", "dst": "in", "messages": 1, "bytes": 100}]}"#;
    let test = || yesterday().file("profile.json", profile);
    let options = format!("{TODAY} --weights profile.json");
    let done = partition(test(), &format!("{options} --json"))
        .status(0)
        .stderr_is("");
    let value: serde_json::Value = serde_json::from_str(&done.stdout()).unwrap();
    let since = &value["since"];
    assert_eq!(since["moves"].as_array().unwrap().len(), 2);
    let (gain, price) = (
        since["gain"].as_f64().unwrap(),
        since["price"].as_f64().unwrap(),
    );
    assert!(gain > price && price > 0.0, "{since}");
    assert_eq!(
        since["staying"].as_f64().unwrap() - since["now"].as_f64().unwrap(),
        gain
    );
    // Two processes swap: from 0 to 1, and from 1 to 0.
    let text = partition(test(), &options).status(0).stdout();
    assert!(
        text.contains("since the previous mapping: 2 moved, 2 stay, 0 new"),
        "{text}"
    );
    assert!(
        text.contains("  OS process 0 -> 1\n") && text.contains("  OS process 1 -> 0\n"),
        "{text}"
    );
    // Moving costs too much.
    partition(test(), &format!("{options} --migration 1e9"))
        .status(0)
        .stdout_has("since the previous mapping: 0 moved, 4 stay, 0 new");
}

#[test]
fn processes_and_hosts_come_and_go() {
    let grown = "digraph line { a -> b [traffic=9]; b -> c [traffic=1]; c -> e [traffic=9] }";
    let test = yesterday().file("farm.dot", grown);
    partition(test, TODAY)
        .status(0)
        .stdout_has("0 moved, 3 stay, 1 new");
    // The hosts are in another order, and no process moves.
    let turned = yesterday().file("hosts", "y:1\nx:1\n");
    partition(turned, TODAY)
        .status(0)
        .stdout_has("0 moved, 4 stay, 0 new");
    let replaced = yesterday().file("hosts", "x:1\nz:1\n");
    partition(replaced, TODAY)
        .status(0)
        .stdout_has("0 moved, 2 stay, 2 new");
}

#[test]
fn a_previous_mapping_of_another_graph() {
    let other = yesterday().file("farm.dot", "digraph others { p -> q }");
    refused(other, TODAY, 2)
        .stderr_has("error[G0460]: the previous mapping is for another network")
        .stderr_has("yesterday.json:1:1")
        .stderr_has("made for `line`, hash ")
        .stderr_has("the network is `others`, hash ");
    refused(farm(), "-n 2 --previous none.json", 2).stderr_has("error[G0001]");
    refused(farm().file("p.json", "[]"), "-n 2 --previous p.json", 1).stderr_has("error[G0434]");
    refused(farm(), "-n 2 --migration 3", 2).stderr_has("--previous");
    let nan = yesterday();
    refused(nan, &format!("{TODAY} --migration NaN"), 2).stderr_has("a number of at least 0");
}

#[test]
fn a_balance_bound_that_cannot_be_kept_is_raised() {
    let heavy = farm().file("farm.dot", "digraph { a -> b; a [load=9] }");
    partition(heavy, "-n 2").status(0).stderr_is(
        "warning[G0457]: no mapping keeps the balance limit of 3%: the fullest OS process is 80% above its even share
 --> farm.dot:1:11
  |
1 | digraph { a -> b; a [load=9] }
  |           ^ its load is 9, but the balance limit is 5.00
  |
  = note: it occupies one OS process; the others share the remaining load, at most 1.00 each
  = help: use fewer OS processes, or divide its work among several processes

graphmap: 1 warning
",
    );
    let pinned = partition(farm(), "-n 2 --pin worker*=0").status(0);
    pinned
        .stderr_has("warning[G0457]: no mapping keeps the balance limit of 3%: the fullest OS process is 71.4% above")
        .stderr_has("because of constraints or memory, OS process 0 may have a load of up to ")
        .stderr_has("remove a constraint");
}

/// Reproduces an error: the note said that only one OS process may have a load above 3.
#[test]
fn several_heavy_processes_are_named() {
    let chain = "digraph { a -> b -> c -> d -> e -> f -> h; b [load=100]; e [load=90]; }";
    let heavy = farm().file("farm.dot", chain);
    partition(heavy, "-n 4").status(0).stderr_has(
        "= note: `b` and `e` occupy one OS process each; the others share the remaining load, at most 3.00 each",
    );
    let chain = "digraph { h -> x -> y -> p -> q -> r; h [load=100]; x [load=20]; y [load=20]; \
                 p [load=6]; q [load=6]; r [load=7]; }";
    let heavy = farm().file("farm.dot", chain);
    let args = "-n 5 --pin h=0,1 --pin x=0,1 --pin y=0,1";
    partition(heavy, args).status(0).stderr_has(
        "= note: it occupies one OS process; OS process 0 may have a load of up to 41.00, and the others at most 7.00 each",
    );
}

/// Reproduces an error: all 36 blocks were in one OS process, the heavy process was in another, and
/// 14 were empty.
#[test]
fn one_heavy_process_leaves_the_others_in_balance() {
    let graph =
        "digraph stencil { c [load=650]; b [replicas=36, load=10]; b -> c [bundle=gather]; }";
    let test = Test::new().file("farm.dot", graph);
    let done = test.args("partition farm.dot -n 16 --json").run().status(0);
    let plan: serde_json::Value = serde_json::from_str(&done.stdout()).unwrap();
    let loads = plan["os_processes"].as_array().unwrap().iter();
    let mut loads: Vec<f64> = loads.map(|o| o["load"].as_f64().unwrap()).collect();
    loads.sort_by(f64::total_cmp);
    assert_eq!(loads[14], 30.0, "{loads:?}");
    assert!(loads[15] <= 669.5, "{loads:?}");
    done.stderr_has("its load is 650, but the balance limit is 72.00")
        .stderr_has("at most 30.00 each");
}

#[test]
fn rules_of_graph_file_and_command_line_are_shown_where_they_are_written() {
    let graph = FARM.replace("[replicas=4", "[replicas=4, osprocess=0");
    let rules =
        "# of the house\n\napart kind:source, kind:sink\ntogether source, worker2   # near\n";
    let test = farm().file("farm.dot", graph).file("house.rules", rules);
    refused(test, "-n 2 --rules house.rules --pin source=1", 4).stderr_is(
        "error[G0456]: there is no feasible mapping: no OS process satisfies all pins of process `source` and of the processes kept together with it
 --> farm.dot:4:25
  |
4 |     worker [replicas=4, osprocess=0, load=3];
  |                         ^^^^^^^^^^^ `worker2` must be in OS process 0
  |
 ::: house.rules:4:1
  |
4 | together source, worker2   # near
  | ------------------------ `source` and `worker2` must be together
  |
 ::: --pin:1:1
  |
1 | source=1
  | -------- `source` must be in OS process 1
  |
  = help: remove one of these constraints

graphmap: 1 error
",
    );
    let wrong = farm().file("house.rules", "pin worker1=0\npni worker2=1\n");
    refused(wrong, "-n 2 --rules house.rules --apart =", 2)
        .stderr_has("error[G0461]: there is no rule `pni`")
        .stderr_has("house.rules:2:1")
        .stderr_has("did you mean `pin`?")
        .stderr_has(" --> --apart:1:1")
        .stderr_has("graphmap: 2 errors");
    let wrong = farm().file("house.rules", "pin worker1=0\npni worker2=1\n");
    refused(wrong, "-n 2 --rules house.rules", 1);
    refused(farm(), "-n 2 --rules none", 2).stderr_has("error[G0001]");
    let test = farm().file("m.json", "{}");
    let done = test
        .args("farm.dot --mapping m.json --pin worker1=0 --emit svg=x.svg")
        .run();
    done.status(2)
        .stderr_has("error[G0011]: `--mapping` names a mapping");
}

#[test]
fn a_plan_says_what_is_empty_and_why_more_than_its_share_is_allowed() {
    let farm = "digraph farm { a -> w [bundle=share]; w [replicas=4]; w -> b [bundle=select]; }";
    // Three pairs in three OS processes have cost 0, so the fourth is empty.
    let test = Test::new()
        .file("farm.dot", farm)
        .file("pairs.dot", "digraph { a -> b; c -> d; e -> f }")
        .args("partition pairs.dot --hosts hosts=2:cores=2");
    test.run()
        .status(0)
        .stdout_has(" is empty: this mapping costs less; `--hold '*=1-'` puts a process into each")
        .stdout_has(" has load 2; an even share is 1.50; loads cannot be split, so 2 is allowed\n")
        .stdout_has("\n  within all limits                       yes ");
    // With `--hold`, no OS process is empty. An even mapping needs no note.
    let test = test.args("partition farm.dot --hosts hosts=2:cores=2 --hold *=1-");
    let done = test.run().status(0).stdout_has("an even share is 1.50");
    assert!(!done.stdout().contains("empty"));
    let test = test.args("partition farm.dot -n 3");
    let done = test.run().status(0);
    assert!(!done.stdout().contains("note:"), "{}", done.stdout());
    // The balance limit of `--imbalance` is not attributed to loads that cannot be split.
    let test = test.args("partition farm.dot -n 3 --imbalance 200");
    test.run()
        .status(0)
        .stdout_has(" are empty: this mapping costs less")
        .stdout_has("has load 6; an even share is 2; `--imbalance` allows 6");
    let test = test.args("partition farm.dot -n 3 --imbalance 200 --json");
    let done = test.run().status(0);
    let plan: serde_json::Value = serde_json::from_str(&done.stdout()).unwrap();
    assert_eq!(plan["os_processes"][0]["allowed"], 6.0);
}

/// Reproduces an error: `--hold '*=1-'` was advised although pins or groups leave too few
/// processes.
#[test]
fn filling_empty_os_processes_is_advised_only_where_a_mapping_does_that() {
    let advice = "`--hold '*=1-'` puts a process into each";
    let none = "empty: no mapping was found that obeys the rules and puts a process into each\n";
    for (rules, advised) in [
        ("--imbalance 200", true),
        ("--imbalance 200 --pin w1=0", true),
        ("--pin w*=0", false),
        ("--pin *=1-2", false),
        ("--imbalance 200 --together w* --together a,b", false),
        ("--imbalance 200 --hold w*=0@0-1 --pin a=0", true),
        ("--hold w*=0@0-1 --pin a=0 --pin b=0", false),
    ] {
        let farm = "digraph { a -> w [bundle=share]; w [replicas=4]; w -> b [bundle=select]; }";
        let test = Test::new().file("farm.dot", farm);
        let partition = format!("partition farm.dot -n 4 {rules}");
        let done = test.args(&partition).run().status(0);
        let said = done.stdout();
        assert_eq!(said.contains(advice), advised, "{rules}: {said}");
        assert_eq!(said.contains(none), !advised, "{rules}: {said}");
        let test = Test::new().file("farm.dot", farm);
        let held = test.args(&format!("{partition} --hold *=1-")).run();
        held.status(if advised { 0 } else { 4 });
    }
}

#[test]
fn a_plan_of_one_os_process_says_so_where_none_was_asked_for() {
    let test = Test::new().file("g.dot", "digraph g { a -> b }");
    let note =
        "\nnote: all processes are in one OS process; set the number with `-n` or `--hosts`\n";
    let test = test.args("partition g.dot");
    test.run().status(0).stdout_has(note);
    let test = test.args("partition g.dot -n 1");
    assert!(!test.run().status(0).stdout().contains("note:"));
}

#[test]
fn no_traffic_is_not_less_than_none() {
    let hosts = "digraph g { a [host=host1]; b [host=host2]; c [host=host2]; b -> c }";
    let test = Test::new().file("g.dot", hosts);
    let test = test.args("partition g.dot --hosts hosts=2:cores=1");
    let done = test.run().status(0);
    assert!(!done.stdout().contains("-0"), "{}", done.stdout());
}

/// Reproduces two errors: a heavy process after a group was named as another one, and only one
/// process of a heavy group was named.
#[test]
fn too_heavy_processes_are_named_with_their_rule() {
    let group = "subgraph cluster_m { graph [colocate=true]; a; b; c }";
    let drawing = format!("digraph {{ {group} a -> b -> c -> z; z [load=100]; z -> y }}");
    let test = Test::new().file("z.dot", drawing);
    let test = test.args("partition z.dot -n 3 --strict-balance");
    test.run()
        .status(4)
        .stdout_is("")
        .stderr_has("one process is heavier than the balance limit of every OS process")
        .stderr_has("^ `z`\n")
        .stderr_has("use a larger `--imbalance`, use fewer OS processes");
    let group = group.replace("a; b; c", "node [load=10]; a; b; c");
    let drawing = format!("digraph {{ x; {group} a -> b -> c -> z; z -> x }}");
    let test = test.file("z.dot", drawing);
    let test = test.args("partition z.dot -n 3 --strict-balance");
    test.run()
        .status(4)
        .stdout_is("")
        .stderr_has("processes that must be together are heavier")
        .stderr_has("^ `a`, `b` and `c` must be together\n");
    let test = test.args("partition z.dot -n 3");
    test.run()
        .status(0)
        .stderr_has("`a`, `b` and `c` must be together; their load is 30.00")
        .stderr_has("the other OS processes may have a load of at most 1.00 each");
    // The group is named even if one of its processes is too heavy alone.
    let group = "subgraph cluster_m { graph [colocate=true]; a [load=10]; c; e; d [load=4] }";
    let drawing = format!("digraph {{ {group} f; g; h; a -> c -> e -> d -> f -> g -> h }}");
    let test = test.file("z.dot", drawing);
    let test = test.args("partition z.dot -n 3");
    test.run()
        .status(0)
        .stderr_has("`a`, `c`, `e` and `d` must be together; their load is 16.00");
}
