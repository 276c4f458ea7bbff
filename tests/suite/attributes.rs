//! Attributes of the user: they pass through all commands.

use crate::common::Test;
use graphmap_testing::{Need, skip};

const FARM: &str = "\
digraph farm {
    attributes=\"est, bytes\";
    x_owner=\"image group\";
    label=\"A farm\";
    node [est=4];
    edge [bytes=64];
    subgraph cluster_pool {
        x_rack=left;
        worker [replicas=2, est=30, color=red];
    }
    source -> worker [bundle=scatter, bytes=4096, label=<<b>work</b>>];
    worker -> sink [bundle=gather];
}
";

/// The result of `expand`.
const EXPANDED: &str = "\
digraph farm {
    graphmap=1;
    attributes=\"bytes, est\";
    x_owner=\"image group\";
    worker1;
    worker2;
    source;
    sink;
    source [est=\"4\"];
    sink [est=\"4\"];
    subgraph cluster_pool {
        module=pool;
        x_rack=left;
        worker1 [est=\"30\" color=red];
        worker2 [est=\"30\" color=red];
    }
    source -> worker1 [bundle=scatter bytes=\"4096\" label=<<b>work</b>>];
    source -> worker2 [bundle=scatter bytes=\"4096\" label=<<b>work</b>>];
    worker1 -> sink [bundle=gather bytes=\"64\"];
    worker2 -> sink [bundle=gather bytes=\"64\"];
    label=\"A farm\";
}
";

fn farm(args: &str) -> Test {
    Test::new().file("farm.dot", FARM).args(args)
}

#[test]
fn expand_and_fmt_keep_attributes() {
    farm("expand farm.dot").run().status(0).stdout_is(EXPANDED);
    let again = Test::new().file("e.dot", EXPANDED).args("expand e.dot");
    again.run().status(0).stderr_is("").stdout_is(EXPANDED);
    let test = farm("fmt farm.dot");
    test.run().status(0);
    assert_eq!(test.read("farm.dot"), FARM);
}

#[test]
fn json_has_attributes_both_ways() {
    let test = farm("farm.dot --emit json=net.json");
    test.run().status(0);
    let text = test.read("net.json");
    for part in [
        r#""attributes":{"label":"A farm","x_owner":"image group"}"#,
        r#""attributes":{"x_rack":"left"}"#,
        r#""attributes":{"color":"red","est":"30"}"#,
        r#""attributes":{"bytes":"4096","label":"<<b>work</b>>"}"#,
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    test.args("expand net.json")
        .run()
        .status(0)
        .stdout_is(EXPANDED);
}

#[test]
fn a_pass_reads_and_changes_attributes() {
    if std::process::Command::new("python3")
        .arg("-V")
        .output()
        .is_err()
    {
        return skip(Need::Python, "python3 does not start");
    }
    let script = "\
#!/usr/bin/env python3
import json, sys
request = json.load(sys.stdin)
network = request['network']
for process in network['processes']:
    estimate = process.get('attributes', {}).pop('est', '0')
    process['load'] = int(estimate)
    process.setdefault('attributes', {})['x_seen'] = 'yes'
del network['attributes']['label']
json.dump({'protocol': 1, 'network': network}, sys.stdout)
";
    farm("expand farm.dot --pass loads")
        .executable("graphmap-pass-loads", script)
        .run()
        .status(0)
        .stderr_is("")
        .stdout_has("    attributes=bytes;\n    x_owner=\"image group\";\n")
        .stdout_has("source [load=4 x_seen=yes];")
        .stdout_has("worker2 [load=30 x_seen=yes color=red];");
}

#[test]
fn pictures_show_attributes_of_the_user_as_titles() {
    let picture = farm("view farm.dot --svg --detail nodes").run();
    let picture = picture.status(0).stdout();
    for title in [
        "<title>kind worker, est=30</title>",
        "<title>x_rack=left</title>",
        "<title>out to in, bytes=4096</title>",
    ] {
        assert!(picture.contains(title), "{title}\n{picture}");
    }
    let picture = farm("view farm.dot --svg --detail processes").run();
    let picture = picture.status(0).stdout();
    assert!(
        picture.contains("<title>kind worker, load 1, est=30</title>"),
        "{picture}"
    );
    let plain = "digraph { a [label=x]; a -> b; }";
    let test = Test::new()
        .file("g.dot", plain)
        .args("check g.dot --deny warnings");
    test.run().status(0).stderr_lacks("warning");
}

#[test]
fn a_misspelt_name_is_reported() {
    let graph = "digraph { attributes=\"est\"; a [ets=4]; a -> b; }";
    let test = Test::new().file("g.dot", graph).args("check g.dot");
    test.run()
        .status(0)
        .stderr_has("warning[G0204]: unknown attribute `ets` on a node")
        .stderr_has("did you mean `est`?");
    let graph = "digraph { a [quality=4]; a -> b; }";
    let test = Test::new().file("g.dot", graph).args("check g.dot");
    test.run()
        .status(0)
        .stderr_has("warning[G0203]: unknown attribute `quality` on a node")
        .stderr_has("help: for an attribute of your own, use the name `x_quality`");
}
