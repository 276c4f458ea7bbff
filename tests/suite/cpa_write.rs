//! `graphmap expand --to cpa`: networks in the notation of (CM)2PI.

use crate::common::Test;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn listings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("modules/cpa/tests/listings")
}

/// Returns a network as JSON without what DOT does not have: boxes, the names and the order of
/// modules. Each process has the kinds of the modules around it instead. Positions are absent, too,
/// and the order of the ports of the environment among the channels.
fn model(json: &str) -> Value {
    let mut all: Value = serde_json::from_str(json).unwrap();
    let map = all.as_object_mut().unwrap();
    let modules = map.remove("modules").unwrap();
    map.remove("sources");
    // DOT does not have these.
    for absent in ["boxes", "environment", "glue"] {
        map.remove(absent);
    }
    for list in map.values_mut().filter_map(Value::as_array_mut) {
        for one in list {
            one.as_object_mut().unwrap().remove("span");
        }
    }
    for process in map["processes"].as_array_mut().unwrap() {
        let mut around = Vec::new();
        let mut next = process["module"].as_u64();
        while let Some(module) = next {
            around.push(modules[module as usize]["kind"].clone());
            next = modules[module as usize]["parent"].as_u64();
        }
        process["module"] = Value::Array(around);
    }
    let channels = map["channels"].as_array_mut().unwrap();
    let is_free = |channel: &Value| channel["from"].is_null() || channel["to"].is_null();
    channels.sort_by_key(|one| (is_free(one), is_free(one).then(|| one.to_string())));
    all
}

#[test]
fn listings_come_back_through_dot() {
    for name in [
        "farm",
        "figure-3.1",
        "figure-4.2",
        "hello",
        "linkedlistx2",
        "prime",
    ] {
        let path = listings().join(format!("{name}.cpa"));
        let path = path.to_str().unwrap();
        let mut test = Test::new();
        let mut expand = |words: &[&str]| {
            let all = [&["expand"], words].concat();
            test = std::mem::replace(&mut test, Test::new().args("")).words(&all);
            test.run().status(0).stdout()
        };
        let first = expand(&[path, "--json"]);
        expand(&[path, "-o", "a.dot"]);
        let drawn = expand(&["a.dot", "--json"]);
        assert_eq!(model(&first), model(&drawn), "{name}");
        expand(&["a.dot", "-o", "a.cpa"]);
        let again = expand(&["a.cpa", "--json"]);
        assert_eq!(model(&first), model(&again), "{name}");
    }
}

const LISTS: &str = "\
digraph lists {
    subgraph cluster_List {
        subgraph cluster_Chain {
            replicas=2;
            \"List.Chain.Item\" [kind=Item, replicas=5];
        }
        \"List.Sink\" [kind=Sink];
    }
    \"List.Chain.Item\" -> \"List.Sink\" [src=all, bundle=select, flow=credits, tag=4];
    \"List.Chain.Item\" -> \"List.Chain.Item\" [src=next, dst=prev, step=1, beyond=NULL, capacity=3];
}
";

#[test]
fn drawings_with_full_names_become_structures() {
    let text = "\
structure lists () {
    Item = inports <prev> outports <all, next> ()
    Sink = inports <in> outports <> ()
    R = [0..3]
    R2 = [0..4]
    R3 = [0..1]
    ||- Chain = (Item[5])
        / (for i in R { Item.next[i] -> Item.prev[i+1] buffersize 3 },
            for i in R2 { Item.all[i] -> all })
        @ (all)
    || List = (Chain[2] || Sink)
        / (for i in R3 { Chain.all[i] -> Sink.in tag 4 buffersize 1 })
}
";
    let mut test = Test::new().file("a.dot", LISTS);
    test = test.args("expand a.dot --to cpa");
    test.run().status(0).stdout_is(text);
    test = test.args("a.dot --emit b.cpa --emit cpa=c.txt -n 1");
    test.run().status(0);
    assert_eq!([test.read("b.cpa"), test.read("c.txt")], [text, text]);
}

#[test]
fn constructs_that_the_notation_lacks_are_reported_together() {
    let graph = "\
digraph g {
    skeleton=ranks; attributes=colour;
    subgraph cluster_A {
        \"A.P\" [kind=P, load=2, colour=red, params=\"n: u8\", args=\"3\"];
        b [kind=Q, host=here];
    }
    c [kind=Q];
    \"A.P\" -> b [type=u64, initial=1, capacity=2, bundle=broadcast];
    \"A.P\" -> c;
}
";
    let test = Test::new()
        .file("a.dot", graph)
        .args("expand a.dot --to cpa");
    let mut done = test.run().status(2).stdout_is("");
    for (message, position) in [
        ("no skeletons", "2:14"),
        ("no loads of processes", "4:9"),
        ("no attributes `colour`", "4:9"),
        ("no parameters of the type `u8`", "4:9"),
        ("no constraints on the mapping", "5:20"),
        ("the process `c` is in no module", "7:5"),
        ("no types of channels", "8:5"),
        ("no initial tokens", "8:5"),
        ("no `broadcast` bundles", "8:5"),
    ] {
        let all = done.stderr();
        let mut lines = all.lines().skip_while(|line| !line.contains(message));
        let (first, second) = (lines.next(), lines.next());
        assert!(
            first.is_some_and(|line| line.starts_with("error[G0911]: ")),
            "{message}: {all}"
        );
        let position = format!(" --> a.dot:{position}");
        assert!(
            second.is_some_and(|line| line == position),
            "{message}: {second:?}"
        );
        done = done.status(2);
    }
}

#[test]
fn other_names_are_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("graphs/sieve.dot");
    let test = Test::new().words(&["expand", path.to_str().unwrap(), "--to", "cpa"]);
    test.run()
        .status(2)
        .stdout_is("")
        .stderr_has("is in no module");
    let graph = "digraph g { subgraph cluster_A { P; Q; } P -> Q; }";
    let test = Test::new()
        .file("a.dot", graph)
        .args("expand a.dot --to cpa");
    test.run()
        .status(2)
        .stderr_has("the name of the process `P` would be `A.P`");
}

#[test]
fn flow_control_that_does_not_follow_is_refused() {
    let graph = LISTS.replace("flow=credits", "capacity=2");
    let test = Test::new()
        .file("a.dot", graph)
        .args("expand a.dot --to cpa");
    let message = "the channels at the port `all` of the kind `Item` would have the flow control \
                   `credits`";
    test.run()
        .status(2)
        .stderr_has(message)
        .stderr_has("a.dot:9:5");
}
