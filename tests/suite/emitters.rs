//! Properties of all emitters: treatment of hosts, names of kinds in C, options that are read, and
//! attributes of a graph that have no effect.

use crate::common::Test;
use graphmap::Registry;
use std::collections::BTreeSet;

/// Emitters whose files are not for launching. None of their files says how a host is reached.
const NO_LAUNCH: &[&str] = &[
    "mapped",
    "svg",
    "model",
    "tables",
    "wiring",
    "pilot",
    "graphml",
    "cpa",
    "node-link",
    "json",
];

#[test]
fn every_emitter_is_in_the_table_of_what_becomes_of_hosts() {
    // The table is `modules/binding/tests/host_fields.rs`, which tests each emitter of that crate.
    let registry = Registry::new();
    let launch = graphmap_binding::emitters();
    let launch: Vec<&str> = launch.iter().map(|emitter| emitter.name()).collect();
    for emitter in registry.emitters() {
        let name = emitter.name();
        let is_known = launch.contains(&name) != NO_LAUNCH.contains(&name);
        assert!(
            is_known,
            "say here or in that table what `{name}` makes of hosts"
        );
    }
}

/// Returns a test with a single graph file.
fn with(graph: &str, args: &str) -> Test {
    Test::new().file("g.dot", graph).args(args)
}

const PAIR: &str = "digraph g { a -> b; }";

#[test]
fn kinds_have_the_same_names_in_all_code_in_c() {
    let graph = "digraph g { \"a-b\" -> a_b -> strlen -> \"a b\" -> main; }";
    let text = |emit: &str| {
        let done = with(graph, &format!("g.dot --emit {emit}=-")).run();
        done.status(0).stdout()
    };
    let (fgmpi, pilot) = (text("fgmpi"), text("pilot"));
    let functions = |text: &str| -> BTreeSet<String> {
        let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let ours = words.filter(|word| word.ends_with("_process"));
        ours.map(str::to_owned).collect()
    };
    let expected = [
        "a_b_2_process",
        "a_b_3_process",
        "a_b_process",
        "main_2_process",
        "strlen_process",
    ];
    let expected: BTreeSet<String> = expected.map(str::to_owned).into();
    assert_eq!(functions(&fgmpi), expected, "{fgmpi}");
    assert_eq!(functions(&pilot), expected, "{pilot}");
    let first = "int a_b_process(int argc, char **argv); /* a-b */";
    assert!(fgmpi.contains(first), "{fgmpi}");
}

#[test]
fn unknown_options_are_refused_whatever_is_asked_for() {
    let registry = Registry::new();
    let mut lines: Vec<String> = registry
        .emitters()
        .map(|emitter| format!("g.dot --emit {}=out --set launcer=openmpi", emitter.name()))
        .collect();
    for verb in ["check", "expand", "partition", "view"] {
        lines.push(format!("{verb} g.dot --set launcer=openmpi"));
    }
    for line in lines {
        let test = with(PAIR, &line);
        test.run()
            .status(2)
            .stderr_has("error[G0444]: unknown option `launcer`")
            .stderr_has("did you mean `--set launcher=`?");
        assert_eq!(test.files(), ["g.dot"], "{line}");
    }
}

#[test]
fn options_that_something_else_reads_are_a_warning() {
    with(PAIR, "g.dot --emit model.json --set launcher=openmpi")
        .run()
        .status(0)
        .stderr_has(
            "warning[G0444]: none of the requested passes and emitters reads the option `launcher`",
        )
        .stderr_has("the emitters that read it are `mpiexec`");
    // Variables may have any name.
    let line = "g.dot --emit launch.sh --set launcher=openmpi --set env.ANY=1 --set program=x";
    with(PAIR, line).run().status(0).stderr_lacks("G0444");
}

#[test]
fn tags_and_capacities_that_wiring_does_not_heed_are_a_warning() {
    let graph = "digraph g { a -> b [type=f64, capacity=16, tag=3]; b -> c [type=f64, tag=4]; }";
    let of = |emit: &str| {
        with(graph, &format!("g.dot --emit {emit}=out"))
            .run()
            .status(0)
    };
    of("pilot")
        .stderr_has("warning[G0446]: the emitter `pilot` ignores `tag=`")
        .stderr_has("1 other channel has the attribute")
        .stderr_has("warning[G0446]: the emitter `pilot` ignores `capacity=`")
        .stderr_has("g.dot:1:13");
    of("model").stderr_lacks("G0446");
}

#[test]
fn wiring_and_tables_have_tags() {
    let graph = "digraph g { a -> b [type=f64, tag=0]; b -> c [type=f64]; \
        c -> d [type=f64, tag=4, flow=credits]; }";
    let test = with(graph, "g.dot --emit w.rs --emit w.tables");
    test.run().status(0).stderr_lacks("G0446");
    let wiring = test.read("w.rs");
    let tags = wiring.lines().filter(|line| line.contains("tag"));
    assert_eq!(
        tags.collect::<Vec<_>>(),
        ["    net.tag(0);", "    net.tag(4);"]
    );
    let tables = test.read("w.tables");
    let tags = tables.lines().filter(|line| line.starts_with("tag"));
    assert_eq!(tags.collect::<Vec<_>>(), ["tag 0;", "tag 4;"]);
}

#[test]
fn the_mapping_function_is_written_once() {
    let test = with(PAIR, "g.dot --emit mpiexec=go.sh --set launcher=fgmpi");
    test.run().status(0);
    assert_eq!(test.files(), ["fgmpi.c", "g.dot", "go.sh"]);
    let line = "g.dot --emit mpiexec=go.sh --emit fgmpi=map.c --set launcher=fgmpi";
    let test = with(PAIR, line);
    test.run().status(0);
    assert_eq!(test.files(), ["g.dot", "go.sh", "map.c"]);
}

#[test]
fn assumed_slots_and_lost_ports_are_shown() {
    let hosts = "bob@node1 slots=1 port=2222\nnode2\n";
    let of = |args: &str| with(PAIR, args).file("h", hosts).run().status(0);
    of("partition g.dot --hosts h")
        .stderr_has("warning[G0427]: the number of slots of host `node2` is not given")
        .stderr_has("h:2:1");
    of("g.dot --hosts h --emit hostfile=-")
        .stderr_has("warning[G0427]")
        .stderr_has("warning[G0445]: the ssh port of host `node1` cannot be written to")
        .stdout_has("node1:1 user=bob\nnode2:1\n");
    of("g.dot --hosts h --emit openmpi-hostfile=-")
        .stderr_lacks("G0445")
        .stdout_has("bob@node1 slots=1 port=2222\n");
}

#[test]
fn files_in_utf_16_are_named_as_such() {
    let wide = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    for line in ["partition g.dot --hosts h", "partition g.graph -n 2"] {
        with(PAIR, line)
            .file("h", wide("node1:2\n"))
            .file("g.graph", wide("2 1\n2\n1\n"))
            .run()
            .status(2)
            .stderr_has("it is UTF-16; save it as UTF-8");
    }
}
