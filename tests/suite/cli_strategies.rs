//! Strategies that are executables: the worked example, their input, and invalid answers.

use crate::cli_plugins::python;
use crate::common::{Done, NET, Test, gone};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

const CHAIN: &str = include_str!("../plugins/graphmap-map-chain");

/// A chain of five modules, whose tasks take 5, 9, 13, 2 and 4 ms.
const FARM: &str = "digraph chain {
    subgraph cluster_1 { x_est=5;  buffer1; work1 }
    subgraph cluster_2 { x_est=9;  buffer2; work2 }
    subgraph cluster_3 { x_est=13; buffer3; work3 }
    subgraph cluster_4 { x_est=2;  buffer4; work4 }
    subgraph cluster_5 { x_est=4;  buffer5; work5 }
    manager -> buffer1 -> work1 -> buffer2 -> work2 -> buffer3 -> work3;
    work3 -> buffer4 -> work4 -> buffer5 -> work5 -> NULL;
}
";

fn farm() -> Test {
    Test::new()
        .file("farm.dot", FARM)
        .executable("graphmap-map-chain", CHAIN)
}

/// Returns a test of a network of two processes with a strategy that is a shell script.
fn strategy(script: &str) -> Test {
    Test::new()
        .file("net.json", NET)
        .executable("graphmap-map-odd", &format!("#!/bin/sh\n{script}\n"))
        .args("partition net.json -n 2 --strategy odd")
}

/// Returns a test with a strategy that replies with a mapping.
fn mapping(mapping: &str) -> Test {
    strategy(&format!(
        "cat > asked; echo '{{\"protocol\": 1, \"mapping\": {mapping}}}'"
    ))
}

fn plan(run: &Done) -> Value {
    serde_json::from_str(&run.stdout()).unwrap()
}

/// Returns the names of the processes of each OS process in a `mapping.json`.
fn members(test: &Test, path: &str) -> Vec<Vec<String>> {
    let mapping: Value = serde_json::from_str(&test.read(path)).unwrap();
    let mut members = vec![Vec::new(); mapping["os_processes"].as_array().unwrap().len()];
    for process in mapping["processes"].as_array().unwrap() {
        let o = process["os_process"].as_u64().unwrap() as usize;
        members[o].push(process["name"].as_str().unwrap().to_owned());
    }
    members
}

/// Checks the OS process of each module, and that the processes of a module stay together. `words`
/// are further arguments.
#[track_caller]
fn chain_is(words: &[&str], modules: [usize; 5]) {
    let all = ["partition", "farm.dot", "--strategy", "chain", "-o", "plan"];
    let test = farm().words(&[&all[..], words].concat());
    test.run().status(0);
    let members = members(&test, "plan/mapping.json");
    let found = (1..=5).map(|module| {
        let [buffer, work] = ["buffer", "work"].map(|kind| {
            let name = format!("{kind}{module}");
            let is_in = |names: &Vec<String>| names.contains(&name);
            members.iter().position(is_in).unwrap()
        });
        assert_eq!(buffer, work, "{module}");
        work
    });
    assert_eq!(found.collect::<Vec<_>>(), modules, "{words:?}");
    assert!(members[0].contains(&"manager".to_owned()));
}

/// Derives the mappings by hand from the formula: a module is stacked on its neighbour while the
/// work there takes less than 12.6 ms, times the distance to the next OS process in units of the
/// distance between hosts.
#[test]
fn modules_are_stacked_or_go_to_the_next_machine() {
    if !python() {
        return;
    }
    // 5 < 12.6, so 2 is stacked. 5 + 9 = 14 and 13 are enough for a message to the next host.
    let equal = "names=n1,n2,n3 slots=1";
    chain_is(&["--hosts", equal], [0, 0, 1, 2, 2]);
    // On a host that is twice as fast, 14 ms take 7 ms, and 27 ms take 13.5 ms.
    let faster = "names=n1,n2,n3 slots=1 speed=2,1,1";
    chain_is(&["--hosts", faster], [0, 0, 0, 1, 1]);
    // Within a host a message costs a twentieth, so 12.6 / 20 = 0.63 ms are enough. From OS process
    // 1 the next one is on the other host: 9 < 12.6, but 9 + 13 = 22 are enough.
    let cores = "hosts=2:cores=2 distance=100:5";
    chain_is(&["--hosts", cores], [0, 1, 1, 2, 3]);
    // With a limit of 3 ms, 5 and 9 are enough. The last host takes the rest.
    chain_is(&["--hosts", equal, "--set", "least=3"], [0, 1, 2, 2, 2]);
    // All together take 33 ms.
    chain_is(&["--hosts", equal, "--set", "least=34"], [0; 5]);
}

#[test]
fn the_plan_of_a_strategy_has_its_costs_and_is_not_proved() {
    if !python() {
        return;
    }
    // Two messages between hosts, and eight within OS processes: 2 * 62,500 + 8 * 45.
    let words = ["partition", "farm.dot", "--strategy", "chain", "--hosts"];
    let test = farm().words(&[&words[..], &["names=n1,n2,n3 slots=1"]].concat());
    test.run()
        .status(0)
        .stdout_has("chain: 11 processes in 3 OS processes on 3 hosts, strategy chain\n")
        .stdout_has("                                        chain   stack  round-robin\n")
        .stdout_has("  cost (traffic times distance)        125360  187815       625000\n")
        .stdout_has("  within all limits                        no     yes          yes\n")
        .stdout_has("\nbound: no mapping within all limits costs less than 125360 (gap 0.0%)\n");
    // The same hosts as a default of the project.
    let file = "strategy = \"chain\"\nhosts = \"names=n1,n2,n3 slots=1\"\n";
    let run = farm()
        .file("graphmap.toml", file)
        .args("partition farm.dot --json")
        .run()
        .status(0);
    let plan = plan(&run);
    assert_eq!(
        (&plan["strategy"], &plan["cost"], &plan["proved"]),
        (&json!("chain"), &json!(125_360.0), &json!(false))
    );
}

/// Checks that the book shows the plug-in that is tested here.
#[test]
fn the_strategy_of_the_book_is_the_tested_one() {
    let start = CHAIN.find("import json").unwrap();
    let shown = format!("```python\n{}```\n", &CHAIN[start..]);
    assert!(include_str!("../../docs/src/plugins.md").contains(&shown));
}

/// Runs the plug-in without graphmap, because its request is the interface.
#[test]
fn the_user_attribute_of_a_module_is_used() {
    if !python() {
        return;
    }
    let test = farm();
    let process = |name: &str, module: usize| json!({"name": name, "module": module, "load": 100});
    let request = json!({
        "protocol": 1, "action": "map", "name": "chain", "options": {},
        "platform": {
            "hosts": [{"name": "a", "speed": 1.0, "group": 0}, {"name": "b", "speed": 1.0, "group": 1}],
            "distances": {"host": 5.0, "group": 10.0, "platform": 20.0},
        },
        "task": {"os_processes": 2, "bindings": [{"host": "a", "cores": []}, {"host": "b", "cores": []}]},
        "network": {
            "modules": [
                {"name": "one", "attributes": {"x_est": "12.5"}},
                {"name": "inside", "parent": 0, "attributes": {"x_est": "99"}},
                {"name": "two", "attributes": {"color": "red"}},
                {"name": "three"},
            ],
            "processes": [
                process("p", 1),
                {"name": "q", "module": 2, "load": 100, "attributes": {"x_est": "12.7"}},
                process("r", 3),
                {"name": "s", "load": 1},
            ],
        },
    });
    let mut child = Command::new(test.folder().join("bin/graphmap-map-chain"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(request.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    // A message to another group costs twice as much: 12.5 < 25.2, and 12.5 + 12.7 = 25.2.
    let modules = json!({"one": 0, "two": 0, "three": 1});
    let expected = json!({"modules": modules, "processes": {"s": 0}});
    assert_eq!(reply["mapping"], expected);
}

#[test]
fn the_request_of_a_strategy_contains_its_task() {
    let mut test = mapping(r#"{"os_process": [1, 0]}"#);
    let words = "partition net.json -n 2 --strategy odd --set depth=3 --pin a=1 --hold *=1-";
    let rest = "--memory 0=1K --seed 9 --time 1.5s --objective remote-channels --imbalance 0";
    test = test.args(&format!("{words} {rest} -o plan"));
    test.run().status(0);
    let asked: Value = serde_json::from_str(&test.read("asked")).unwrap();
    assert_eq!(
        (&asked["action"], &asked["name"], &asked["options"]),
        (&json!("map"), &json!("odd"), &json!({"depth": "3"}))
    );
    assert_eq!(asked["platform"]["hosts"][0]["slots"], 2);
    assert_eq!(asked["network"]["name"], "pair");
    let place = json!({"host": "localhost", "cores": []});
    let expected = json!({
        "os_processes": 2,
        "bindings": [place, place],
        "objective": "remote-channels",
        "limits": [1.0, 1.0],
        "rules": [
            {"rule": "pin", "processes": [0], "os_processes": [1]},
            {"rule": "hold", "processes": [0, 1], "places": [[0], [1]], "least": 1},
            {"rule": "memory", "os_processes": [0], "bytes": 1024},
        ],
        "seed": 9,
        "time": 1.5,
    });
    assert_eq!(asked["task"], expected);
    assert_eq!(members(&test, "plan/mapping.json"), [["b"], ["a"]]);
    // The old mapping, and a new process.
    let net = NET.replace(r#"{"name": "a"}"#, r#"{"name": "new"}, {"name": "a"}"#);
    test = mapping(r#"{"processes": {"new": 0, "a": 1, "b": 0}}"#)
        .file("old.json", test.read("plan/mapping.json"))
        .file("net.json", net)
        .args("partition net.json -n 2 --strategy odd --previous old.json");
    test.run()
        .status(0)
        .stdout_has("since the previous mapping: 0 moved, 2 stay, 1 new\n");
    let asked: Value = serde_json::from_str(&test.read("asked")).unwrap();
    assert_eq!(asked["task"]["previous"], json!([null, 1, 0]));
}

#[test]
fn an_answer_that_is_not_a_mapping_is_an_error() {
    for (reply, message) in [
        (
            r#"{"os_process": [0]}"#,
            "the strategy `odd` returns a list of OS processes of length 1 instead of 2",
        ),
        (
            r#"{"os_process": [0, 2]}"#,
            "the strategy `odd` puts process `b` into OS process 2, which does not exist",
        ),
        (
            r#"{"processes": {"a": 0}}"#,
            "the strategy `odd` gives no OS process to process `b`",
        ),
        (
            r#"{"processes": {"a": 0, "b": 0, "a": 1}}"#,
            "the strategy `odd` maps process `a` twice",
        ),
        (
            r#"{"processes": {"a": 0, "b": 0, "c": 1}}"#,
            "the strategy `odd` maps process `c`, which the network does not have",
        ),
        (
            r#"{"modules": {"m": 0}}"#,
            "the strategy `odd` maps module `m`, which the network does not have",
        ),
        (
            "{}",
            "the strategy `odd` gives no OS process to process `a`",
        ),
    ] {
        let test = mapping(reply).args("partition net.json -n 2 --strategy odd -o plan");
        test.run()
            .status(5)
            .stdout_is("")
            .stderr_has(&format!("error[G0512]: {message}\n"))
            .stderr_has("= help: ");
        assert!(!test.folder().join("plan").exists(), "{reply}");
    }
    mapping(r#"{"os_process": [0, 1], "bindings": [{"host": "localhost"}, {"host": "n2"}]}"#)
        .run()
        .status(5)
        .stderr_has(
            "error[G0514]: the strategy `odd` binds OS process 1 to host `n2`, which does not exist\n",
        );
}

#[test]
fn an_answer_that_is_not_a_reply_is_an_error() {
    for script in [
        "echo hello",
        "true",
        r#"echo '{"protocol": 1}'"#,
        r#"echo '{"protocol": 1, "mapping": {"os_process": [0, -1]}}'"#,
        r#"echo '{"protocol": 1, "mapping": {"os_process": [0, 4294967296]}}'"#,
        r#"echo '{"protocol": 1, "mapping": {"os_process": {"a": 0}}}'"#,
        r#"echo '{"protocol": 1, "mapping": {"os_processes": [0, 1]}}'"#,
        r#"echo '{"protocol": 1, "mapping": {"os_process": [0, 1], "modules": {"m": 0}}}'"#,
        r#"echo '{"protocol": 1, "mapping": {"os_process": [0, 1]}, "files": [{"content": ""}]}'"#,
        r#"echo '{"protocol": 1, "mapping": {"os_process": [0, 1], "bindings": [{"cores": []}]}}'"#,
        "head -c 300000 /dev/zero",
        "yes",
    ] {
        strategy(script)
            .run()
            .status(5)
            .stderr_has("error[G0504]: the reply of `")
            .stderr_has("graphmap-map-odd` is invalid: ")
            .stderr_lacks("panicked");
    }
    let other = [
        ("pass", "check net.json --pass odd"),
        ("emit", "net.json --emit odd=x"),
    ];
    for (kind, args) in other {
        let reply = r#"{"protocol": 1, "mapping": {"os_process": [0, 1]}}"#;
        strategy("")
            .executable(
                &format!("graphmap-{kind}-odd"),
                &format!("#!/bin/sh\necho '{reply}'\n"),
            )
            .args(args)
            .run()
            .status(5)
            .stderr_has("it contains a `mapping`, which only a strategy returns\n");
    }
    strategy(r#"echo '{"protocol": 2}'"#)
        .run()
        .status(5)
        .stderr_has("error[G0008]");
}

#[test]
fn a_strategy_that_fails_is_an_error() {
    strategy("echo no idea >&2; exit 3")
        .run()
        .status(5)
        .stderr_has("error[G0503]")
        .stderr_has("graphmap-map-odd` exited with status 3\n")
        .stderr_has("no idea\n");
    strategy("kill -SEGV $$")
        .run()
        .status(5)
        .stderr_has("graphmap-map-odd` was killed by signal 11\n");
    Test::new()
        .file("net.json", NET)
        .executable("graphmap-map-odd", "#!/no/such/interpreter\n")
        .args("partition net.json -n 2 --strategy odd")
        .run()
        .status(5)
        .stderr_has("error[G0501]");
    let diagnostic = r#"{"severity": "error", "message": "too small", "span": [0, 0, 1]}"#;
    strategy(&format!(
        "echo '{{\"protocol\": 1, \"diagnostics\": [{diagnostic}]}}'"
    ))
    .run()
    .status(5)
    .stderr_has("error[G0507]: odd: too small\n --> net.json:1:1\n");
    let test = strategy("sleep 1000 & echo $! > child; sleep 1000")
        .args("partition net.json -n 2 --strategy odd --plugin-timeout 0.3");
    test.run().status(5).stderr_has("error[G0502]");
    assert!(gone(&test.read("child")));
}

#[test]
fn a_warning_of_a_strategy_is_shown() {
    let diagnostic = r#"{"severity": "warning", "message": "a guess"}"#;
    let reply = r#""mapping": {"os_process": [0, 1]}"#;
    strategy(&format!(
        "echo '{{\"protocol\": 1, {reply}, \"diagnostics\": [{diagnostic}]}}'"
    ))
    .run()
    .status(0)
    .stdout_has("strategy odd\n")
    .stderr_is("warning[G0507]: odd: a guess\n\ngraphmap: 1 warning\n");
}

#[test]
fn a_strategy_ends_with_us() {
    let test = strategy("echo $$ > number; mv number started; exec sleep 1000");
    let mut run = test.start();
    run.wait_for(&test.folder().join("started"));
    assert_eq!(run.end_by("INT").code(), Some(130));
    assert!(test.read("said-err").contains("was interrupted"));
    assert!(gone(&test.read("started")));
}

#[test]
fn a_mapping_that_breaks_rules_is_refused() {
    let mut test = mapping(r#"{"os_process": [0, 1]}"#);
    test = test.args("partition net.json -n 2 --strategy odd --pin b=0 --together a,b -o plan");
    test.run().status(5).stdout_is("").stderr_is(
        "\
error[G0513]: the mapping of the strategy `odd` breaks 2 rules
 --> --pin:1:1
  |
1 | b=0
  | ^^^ `b` must be in OS process 0
  |
 ::: --together:1:1
  |
1 | a,b
  | --- `a` and `b` must be together
  |
  = help: correct the strategy, change the rule, or use `--strategy auto`

graphmap: 1 error
",
    );
    assert!(!test.folder().join("plan").exists());
    // The balance limit is not a rule, unless it is strict.
    test = mapping(r#"{"os_process": [0, 0]}"#).args("partition net.json -n 2 --strategy odd");
    test.run()
        .status(0)
        .stdout_has("note: OS process 1 is empty: the strategy puts nothing there\n")
        .stdout_has("the limit is 1, but the strategy odd ignores it\n");
    test = test.args("partition net.json -n 2 --strategy odd --strict-balance");
    test.run()
        .status(5)
        .stderr_has("error[G0513]")
        .stderr_has("= note: the mapping exceeds the balance limit of OS process 0\n");
}

#[test]
fn the_chosen_hosts_are_written() {
    let bindings = r#"[{"host": "n2"}, {"host": "n1", "cores": [1]}]"#;
    let reply = format!(r#"{{"os_process": [0, 1], "bindings": {bindings}}}"#);
    let hosts = "names=n1,n2 slots=2";
    let words = ["partition", "net.json", "--strategy", "odd", "-n", "2"];
    let words = [&words[..], &["-o", "plan", "--hosts", hosts]].concat();
    let test = mapping(&reply).words(&words);
    test.run().status(0);
    let written: Value = serde_json::from_str(&test.read("plan/mapping.json")).unwrap();
    let expected = json!([{"host": "n2", "cores": []}, {"host": "n1", "cores": [1]}]);
    assert_eq!(written["os_processes"], expected);
    assert!(test.read("plan/hostfile").ends_with("\nn2:1\nn1:1\n"));
}

#[test]
fn a_strategy_maps_for_other_verbs() {
    let test = mapping(r#"{"os_process": [1, 0]}"#)
        .args("net.json -n 2 --strategy odd --set depth=3 --emit mapping.json");
    test.run().status(0);
    assert_eq!(members(&test, "mapping.json"), [["b"], ["a"]]);
}

#[test]
fn an_unknown_strategy_is_an_error() {
    farm()
        .args("partition farm.dot -n 2 --strategy chian")
        .run()
        .status(2)
        .stderr_is(
            "\
error[G0450]: there is no strategy `chian`
  = help: did you mean `chain`?
  = help: an executable `graphmap-map-chian` on PATH is also a strategy for networks

graphmap: 1 error
",
        );
    // Graphs without names have no network for the request.
    farm()
        .file("mesh.graph", "2 1\n2\n1\n")
        .args("partition mesh.graph -n 2 --strategy chain")
        .run()
        .status(2)
        .stderr_has("error[G0450]: there is no strategy `chain`\n");
}

#[test]
fn a_built_in_strategy_takes_precedence() {
    Test::new()
        .file("net.json", NET)
        .executable("graphmap-map-stack", "#!/bin/sh\nexit 1\n")
        .args("partition net.json -n 2 --strategy stack")
        .run()
        .status(0);
}

#[test]
fn strategies_are_listed() {
    farm()
        .args("passes")
        .run()
        .status(0)
        .stdout_has("Strategies:\n  auto ")
        .stdout_has("  chain              external: ");
}
