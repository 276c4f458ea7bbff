//! Formats and their versions.
//!
//! `tests/formats` contains one file of each current format and version, with every field of the
//! version. Files may be added there, but never changed, because users have such files. The meaning
//! of each must stay the same.

use crate::common::Test;
use graphmap_kpn::json::{self, SCHEMA};
use graphmap_testing::Schema;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the text of a file in `tests/formats`.
fn today(name: &str) -> String {
    fs::read_to_string(root().join("tests/formats").join(name)).unwrap()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

/// Returns a test with all files of `tests/formats`, except the TOML files.
fn with_all() -> Test {
    let mut test = Test::new();
    for entry in fs::read_dir(root().join("tests/formats")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // Tests of the configuration write it as `graphmap.toml`, because each command would read
        // it.
        if !name.ends_with(".toml") {
            test = test.file(&name, today(&name));
        }
    }
    test
}

/// Returns the network that a command writes to standard output as JSON.
#[track_caller]
fn network(test: Test, args: &str) -> Value {
    parsed(&test.args(args).run().status(0).stdout())
}

/// Checks that a value has all fields of an older one. It may have more.
fn has(new: &Value, old: &Value, path: &str) {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            for (name, old) in old {
                let path = format!("{path}.{name}");
                has(
                    new.get(name).unwrap_or_else(|| panic!("no {path}")),
                    old,
                    &path,
                );
            }
        }
        (Value::Array(new), Value::Array(old)) => {
            assert_eq!(new.len(), old.len(), "{path}");
            for (i, (new, old)) in new.iter().zip(old).enumerate() {
                has(new, old, &format!("{path}[{i}]"));
            }
        }
        (Value::Number(new), Value::Number(old)) => {
            assert_eq!(new.as_f64(), old.as_f64(), "{path}")
        }
        _ => assert_eq!(new, old, "{path}"),
    }
}

/// Removes the positions of the elements, which depend on the file that the network was read from.
/// Splits a constraint on several processes into one for each.
fn without_places(mut network: Value) -> Value {
    let object = network.as_object_mut().unwrap();
    object.remove("sources");
    for list in ["modules", "processes", "channels", "constraints"] {
        for element in object[list].as_array_mut().unwrap() {
            element.as_object_mut().unwrap().remove("span");
        }
    }
    let mut constraints = Vec::new();
    for constraint in object["constraints"].as_array().unwrap() {
        match constraint["processes"].as_array() {
            None => constraints.push(constraint.clone()),
            Some(names) => constraints.extend(names.iter().map(|name| {
                let mut one = constraint.clone();
                one["processes"] = json!([name]);
                one
            })),
        }
    }
    object["constraints"] = constraints.into();
    network
}

#[test]
fn a_drawing_and_a_mapping_of_today_are_read_to_the_network_of_today() {
    let args = "drawing-1.dot --mapping mapping-1.json --emit json=-";
    let new = network(with_all(), args);
    has(&new, &parsed(&today("network-1.json")), "network");
    // Attributes without a field in the network.
    let declared = graphmap::read(root().join("tests/formats/drawing-1.dot")).unwrap();
    let levels = declared.value.levels.iter();
    let levels: Vec<_> = levels.map(|l| (l.level.name(), l.code.as_str())).collect();
    assert_eq!(
        levels,
        [("allow", "G0314"), ("warn", "G0317"), ("deny", "G0315")]
    );
}

#[test]
fn attributes_of_the_user_are_read_to_themselves() {
    let old = parsed(&today("network-1-attributes.json"));
    let drawn = network(with_all(), "drawing-1-attributes.dot --emit json=-");
    has(&drawn, &old, "network");
    let again = network(with_all(), "network-1-attributes.json --emit json=-");
    has(&without_places(again), &without_places(old), "network");
}

#[test]
fn a_written_graph_states_its_version() {
    let done = with_all().args("expand drawing-thesis.dot").run().status(0);
    let text = done.stdout();
    assert!(
        text.starts_with("digraph thesis {\n    graphmap=1;\n"),
        "{text}"
    );
}

#[test]
fn a_network_of_today_is_read_to_itself() {
    let args = "network-1.json --mapping mapping-1.json --emit json=-";
    let new = without_places(network(with_all(), args));
    let old = without_places(parsed(&today("network-1.json")));
    has(&new, &old, "network");
}

#[test]
fn arguments_of_today_are_read() {
    let old = parsed(&today("network-1-arguments.json"));
    let args = "arguments-1.dot --emit json=-";
    has(&network(with_all(), args), &old, "network");
    let args = "network-1-arguments.json --emit json=-";
    let new = without_places(network(with_all(), args));
    has(&new, &without_places(old), "network");
}

#[test]
fn networks_of_today_in_formats_of_other_programs_are_read() {
    let of = |args: &str| {
        let mut network = without_places(network(with_all(), args));
        // The order of constraints has no meaning.
        let constraints = network["constraints"].as_array_mut().unwrap();
        constraints.sort_by_key(|constraint| constraint.to_string());
        network
    };
    let drawing = of("expand drawing-1.dot --json");
    assert_eq!(of("expand network-1.graphml --json"), drawing);
    assert_eq!(of("expand network-1-node-link.json --json"), drawing);
}

#[test]
fn a_drawing_in_the_spellings_of_the_thesis_means_the_same() {
    let modern = "digraph thesis {
        manager;
        subgraph cluster0 { module=pool; worker1; worker2; }
        manager -> worker1 [src=\"put.work\", dst=task, bundle=scatter];
        manager -> worker2 [src=\"put.work\", dst=task, bundle=scatter];
        worker1 -> manager [src=done, dst=\"get.results\", bundle=select];
        worker2 -> manager [src=done, dst=\"get.results\", bundle=select];
    }";
    let of = |args| without_places(network(with_all().file("modern.dot", modern), args));
    let mut thesis = of("expand drawing-thesis.dot --json");
    for channel in thesis["channels"].as_array_mut().unwrap() {
        // A bundle that is declared as a node has a name.
        channel.as_object_mut().unwrap().remove("bundle_name");
    }
    assert_eq!(thesis, of("expand modern.dot --json"));
}

#[test]
fn a_profile_of_today_has_its_weights_and_its_ranks() {
    let network = network(
        with_all(),
        "expand drawing-thesis.dot --json --weights profile-1.json",
    );
    let of = |list: &str, field: &str| -> Vec<f64> {
        let list = network[list].as_array().unwrap().iter();
        list.map(|element| element[field].as_f64().unwrap())
            .collect()
    };
    assert_eq!(of("processes", "load"), [0.25, 1.5, 2.0]);
    assert_eq!(of("channels", "traffic"), [24.0, 40.0, 700.0, 900.0]);
    let args = "check drawing-thesis.dot --weights profile-1.json";
    let done = with_all().args(args).run().status(0);
    done.stderr_has("note[G0017]: `profile-1.json`: the traffic of type `farm::types::Task`");
    let done = with_all().args("import profile-1.json").run().status(0);
    done.stdout_has("// \"world\": 12 collective calls")
        .stdout_has("\"worker2\" [load=\"2\"];")
        .stdout_has("\"manager\" -> \"worker2\" [traffic=96, label=\"12 messages, 96 bytes\"];")
        .stdout_has("\"worker2\" -> \"manager\" [traffic=908, ");
}

/// Parallel channels between the same ports have the same key in a profile. They get equal parts.
#[test]
fn parallel_channels_share_the_measured_traffic() {
    let edge = "a -> b [src=o, dst=i, bundle=scatter];";
    let channel = r#"{"from": "a", "src": "o", "to": "b", "dst": "i", "messages": 3, "bytes": 10}"#;
    let profile = format!(r#"{{"processes": [], "channels": [{channel}, {channel}]}}"#);
    let test = Test::new()
        .file("g.dot", format!("digraph g {{ {edge} {edge} }}"))
        .file("profile.json", profile)
        .args("expand g.dot --json --weights profile.json --quiet");
    let network = parsed(&test.run().status(0).stdout());
    for channel in network["channels"].as_array().unwrap() {
        assert_eq!(channel["traffic"], 10.0);
    }
}

/// Pass that saves its request and sends an empty reply.
const KEEP: &str = "#!/bin/sh\ncat > request.json\necho '{\"protocol\": 1}'\n";

#[test]
fn a_platform_of_today_is_what_a_plug_in_of_today_is_handed() {
    let test = with_all()
        .executable("graphmap-pass-dump", KEEP)
        .args("drawing-thesis.dot --hosts platform-1.txt --pass dump --set depth=3 --emit x.svg");
    test.run().status(0);
    let new = parsed(&test.read("request.json"));
    has(&new, &parsed(&today("request-1.json")), "request");
}

#[test]
fn a_task_of_today_is_what_a_strategy_of_today_is_handed() {
    let script = "#!/bin/sh\ncat > request.json\ncat reply-map-1.json\n";
    let test = with_all().executable("graphmap-map-today", script);
    let rules = "pin manager = node1\napart worker1, worker2 @ *\nhold kind:worker = 1 @ 0-1\n\
        together manager, worker1\nprefer pool = 2.5\nmemory 0 = 1G\n";
    let hosts = "names=node1,node2 slots=1 memory=64G";
    let args = "partition drawing-thesis.dot --strategy today --set depth=3 --rules today.rules \
        --seed 5 --time 1s -n 2 --previous mapping-old.json --hosts";
    let words: Vec<&str> = args.split_whitespace().chain([hosts]).collect();
    let old = r#"{"format": "graphmap-mapping", "version": 1, "network": {"name": "thesis", "hash": ""},
        "strategy": "auto", "os_processes": [{"host": "node2"}, {"host": "node1"}],
        "processes": [{"name": "manager", "os_process": 1}, {"name": "worker2", "os_process": 0}]}"#;
    let test = test
        .file("today.rules", rules)
        .file("mapping-old.json", old);
    let test = test.words(&words);
    test.run().status(0).stdout_has("strategy today\n");
    let new = parsed(&test.read("request.json"));
    has(&new, &parsed(&today("request-map-1.json")), "request");
}

#[test]
fn replies_of_today_are_understood() {
    let replying = |kind: &str, file: &str| {
        let script = format!("#!/bin/sh\ncat > request.json\ncat {file}\n");
        with_all().executable(&format!("graphmap-{kind}-today"), &script)
    };
    let test = replying("pass", "reply-pass-1.json");
    let test = test.args("expand drawing-thesis.dot --json --pass today");
    let done = test.run().status(0);
    let network = without_places(parsed(&done.stdout()));
    assert_eq!(
        network["processes"],
        json!([
            {"name": "manager", "kind": "manager", "load": 4.0, "mem": 0.0},
            {"name": "worker1", "kind": "worker", "load": 2.0, "mem": 0.0},
            {"name": "worker2", "kind": "worker", "load": 2.0, "mem": 0.0},
        ])
    );
    let channel = |to: &str| {
        json!({"from": ["manager", "work"], "to": [to, "in"], "bundle": "scatter", "capacity": 8,
            "traffic": 1.0})
    };
    let expected = json!([channel("worker1"), channel("worker2")]);
    assert_eq!(network["channels"], expected);
    done.stderr_has(
        "warning[G0507]: today: the load is a guess\n --> drawing-thesis.dot:3:5\n  |\n",
    )
    .stderr_has("^^^^^^^^^^ of this\n")
    .stderr_has("= note: it is 4\n")
    .stderr_has("= help: measure it\n");
    let test = replying("emit", "reply-emit-1.json");
    let test = test.args("drawing-thesis.dot --emit today=out/main");
    test.run().status(0);
    assert_eq!(test.read("out/main"), "main\n");
    assert_eq!(test.read("out/more/run.sh"), "#!/bin/sh\n");
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(test.folder().join("out/more/run.sh")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o111, 0o111);
}

#[test]
fn a_graphmap_toml_of_today_is_taken() {
    // `src/cli/config.rs` tests the values of the keys.
    let test = with_all().file("graphmap.toml", today("graphmap-1.toml"));
    test.args("fmt --check")
        .run()
        .status(3)
        .stderr_has("graphmap: using drawing-1.dot, from graphmap.toml");
}

/// Checks that a file without a version has the meaning of version 1, in each format that permits
/// this.
#[test]
fn files_without_a_version_are_of_version_1() {
    let without = |file: &str, version: &str| {
        let text = today(file);
        assert_eq!(text.matches(version).count(), 1, "{file}");
        // The replacement keeps all positions.
        with_all().file(file, text.replace(version, &" ".repeat(version.len())))
    };
    let args = "expand drawing-1.dot --json";
    let drawing = without("drawing-1.dot", "graphmap=1;");
    assert_eq!(network(drawing, args), network(with_all(), args));
    let args = "expand drawing-thesis.dot --json --weights profile-1.json";
    let profile = without("profile-1.json", "\"graphmap\":1,");
    assert_eq!(network(profile, args), network(with_all(), args));
    let args = "drawing-thesis.dot --hosts platform-1.txt --emit mapping.json";
    let mapping = |test: Test| {
        let test = test.args(args);
        test.run().status(0);
        test.read("mapping.json")
    };
    let platform = without("platform-1.txt", "graphmap=1");
    assert_eq!(mapping(platform), mapping(with_all()));
    let toml = without("drawing-1.dot", "graphmap=1;");
    let text = today("graphmap-1.toml").replace("graphmap = 1\n", "");
    let toml = toml.file("graphmap.toml", text);
    toml.args("fmt --check")
        .run()
        .status(3)
        .stderr_has("graphmap: using drawing-1.dot, from graphmap.toml");
}

#[test]
fn a_profile_that_states_two_versions_is_refused() {
    let text = today("profile-1.json").replace("\"graphmap\":1", "\"graphmap\":2,\"graphmap\":1");
    let test = with_all().file("profile-1.json", text);
    let done = test.args("check drawing-thesis.dot --weights profile-1.json");
    done.run()
        .status(5)
        .stderr_has("duplicate field `graphmap`");
}

#[test]
fn a_graph_of_a_newer_version_is_not_formatted() {
    for version in ["graphmap=2;", "graph [graphmap=2];"] {
        let text = today("drawing-thesis.dot").replacen('{', &format!("{{ {version}"), 1);
        let test = with_all()
            .file("newer.dot", text.clone())
            .args("fmt newer.dot");
        test.run()
            .status(1)
            .stderr_has("error[G0008]: the graph is in version 2 of its format");
        assert_eq!(test.read("newer.dot"), text);
    }
}

#[test]
fn a_profile_whose_version_is_not_a_number_is_refused() {
    for wrong in ["\"1\"", "-1", "1.5", "[1]"] {
        let text =
            today("profile-1.json").replace("\"graphmap\":1", &format!("\"graphmap\":{wrong}"));
        let test = with_all().file("profile-1.json", text);
        let done = test.args("check drawing-thesis.dot --weights profile-1.json");
        done.run()
            .status(5)
            .stderr_has("error[G0013]: `graphmap` of the profile `profile-1.json` is ")
            .stderr_has("which is not a version")
            .stderr_has("use version 1: `\"graphmap\": 1`");
    }
}

/// Checks that a newer version is refused in each format, at its position, without other
/// diagnostics.
#[test]
fn newer_versions_are_refused() {
    let newer = |name: &str, version: &str, two: &str, more: &str| {
        let text = today(name);
        assert_eq!(text.matches(version).count(), 1, "{name}");
        // Adds an element of version 2 that version 1 does not know.
        text.replace(version, &format!("{two}{more}"))
    };
    let cases = [
        (
            newer(
                "drawing-1.dot",
                "graphmap=1;",
                "graphmap=2;",
                " skeletn=a; a [load=often];",
            ),
            "drawing-1.dot",
            "check drawing-1.dot",
            1,
            "the graph is in version 2 of its format\n --> drawing-1.dot:3:5\n",
        ),
        (
            newer(
                "network-1.json",
                "\"graphmap\": 1,",
                "\"graphmap\": 2,",
                " \"x\": 1,",
            ),
            "network-1.json",
            "check network-1.json",
            1,
            "the network is in version 2 of its format\n --> network-1.json:1:1\n",
        ),
        (
            newer(
                "mapping-1.json",
                "\"version\": 1,",
                "\"version\": 2,",
                " \"x\": 1,",
            ),
            "mapping-1.json",
            "drawing-1.dot --mapping mapping-1.json --emit x.svg",
            1,
            "the mapping is in version 2 of its format\n --> mapping-1.json:1:1\n",
        ),
        (
            newer(
                "profile-1.json",
                "\"graphmap\":1,",
                "\"graphmap\":2,",
                " \"processes\": 7,",
            ),
            "profile-1.json",
            "check drawing-thesis.dot --weights profile-1.json",
            5,
            "the profile `profile-1.json` is in version 2 of its format\n",
        ),
        (
            newer(
                "profile-1.json",
                "\"graphmap\":1,",
                "\"graphmap\":2,",
                " \"pairs\": 7,",
            ),
            "profile-1.json",
            "import profile-1.json",
            1,
            "the profile `profile-1.json` is in version 2 of its format\n",
        ),
        (
            newer("platform-1.txt", "graphmap=1", "graphmap=2", " racks=3"),
            "platform-1.txt",
            "drawing-thesis.dot --hosts platform-1.txt --emit x.svg",
            1,
            "the platform is in version 2 of its format\n --> platform-1.txt:2:10\n",
        ),
        (
            newer(
                "graphmap-1.toml",
                "graphmap = 1",
                "graphmap = 2",
                "\nrocket = 1",
            ),
            "graphmap.toml",
            "check drawing-1.dot",
            1,
            "graphmap.toml is in version 2 of its format\n --> graphmap.toml:2:12\n",
        ),
        (
            newer(
                "reply-pass-1.json",
                "\"protocol\": 1,",
                "\"protocol\": 2,",
                " \"x\": 1,",
            ),
            "reply-pass-1.json",
            "check drawing-thesis.dot --pass today",
            5,
            "graphmap-pass-today` is in version 2 of its format\n",
        ),
    ];
    for (text, file, args, status, message) in cases {
        let script = "#!/bin/sh\ncat > request.json\ncat reply-pass-1.json\n";
        let test = with_all().executable("graphmap-pass-today", script);
        let done = test.file(file, text).args(args).run().status(status);
        let help = "= help: update graphmap: this one reads versions up to 1\n";
        let done = done
            .stderr_has("error[G0008]: ")
            .stderr_has(message)
            .stderr_has(help);
        let stderr = done.stderr();
        let others = stderr.lines().filter(|line| {
            let found = line.starts_with("error[") || line.starts_with("warning[");
            found && !line.starts_with("error[G0008]: ")
        });
        assert_eq!(others.collect::<Vec<_>>(), Vec::<&str>::new(), "{args}");
        assert_eq!(stderr.matches("error[").count(), 1, "{args}: {stderr}");
    }
}

/// Checks that `view` refuses a newer version, because the picture could be wrong.
#[test]
fn a_newer_graph_is_not_viewed() {
    let test = Test::new().file("g.dot", "digraph { a -> b; graphmap=2; }");
    test.args("view g.dot -o g.svg")
        .run()
        .status(1)
        .stderr_has("error[G0008]");
}

#[test]
fn what_is_not_a_version_is_refused_as_any_other_value() {
    let test = Test::new().file("g.dot", "digraph { graphmap=new; a -> b [type=u64]; }");
    test.args("check g.dot")
        .run()
        .status(1)
        .stderr_has("error[G0206]");
    let test = Test::new().file("g.dot", "digraph { node [graphmap=1]; a -> b [type=u64]; }");
    test.args("check g.dot")
        .run()
        .status(1)
        .stderr_has("error[G0205]");
    let test = Test::new().file("g.dot", "digraph { graphmap=0; a -> b [type=u64]; }");
    let done = test.args("check g.dot").run().status(1);
    done.stderr_has("error[G0008]")
        .stderr_has("= help: state version 1: `graphmap=1`");
    let test = Test::new()
        .file("g.dot", "digraph { a -> b [type=u64]; }")
        .file("graphmap.toml", "graphmap = \"1\"\n");
    test.args("check g.dot")
        .run()
        .status(1)
        .stderr_has("error[G0015]");
    let test = Test::new().file("g.dot", "digraph { a -> b [type=u64]; }");
    let args = "g.dot --hosts graphmap=x --emit x.svg";
    test.args(args).run().status(1).stderr_has("error[G0414]");
}

#[test]
fn the_notation_of_cm2pi_is_read() {
    let found = network(with_all(), "expand cm2pi.cpa --json");
    let numbers = |name: &str| found[name].as_array().unwrap().len();
    assert_eq!(numbers("processes"), 1 + 4 + 1 + 2 * 4);
    assert_eq!(numbers("boxes"), 5);
    with_all().args("partition cm2pi.cpa").run().status(0);
}

/// Returns the graph files of a folder.
fn drawings(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|p| p.extension().is_some_and(|e| e == "dot" || e == "cpa"))
        .collect();
    paths.sort();
    paths
}

#[test]
fn networks_are_valid_by_the_schema() {
    let mut schema = Schema::new(SCHEMA);
    let (mut valid, mut faulty) = (0, 0);
    for path in ["graphs", "tests/checks", "tests/formats"]
        .map(drawings)
        .concat()
    {
        // Most graph files in `checks` are not valid networks.
        let declared = graphmap::read(&path).ok();
        let Some(network) = declared.and_then(|declared| graphmap::check(declared).ok()) else {
            assert!(
                path.parent().unwrap().ends_with("checks"),
                "{}",
                path.display()
            );
            faulty += 1;
            continue;
        };
        let text = json::write(&network.value, None);
        assert_eq!(schema.check(&parsed(&text)), Ok(()), "{}", path.display());
        let mapped = graphmap::collocate(network.value);
        let text = json::write(mapped.network(), Some(mapped.mapping()));
        assert_eq!(schema.check(&parsed(&text)), Ok(()), "{}", path.display());
        valid += 1;
    }
    assert!(valid >= 12 && faulty > 0, "{valid} valid, {faulty} faulty");
    assert_eq!(schema.check(&parsed(&today("network-1.json"))), Ok(()));
    // The schema has no property that is never written.
    assert_eq!(schema.unused(), Vec::<String>::new());
}

/// Checks that the schema refuses the texts that the reader refuses for their structure, and
/// accepts all others.
#[test]
fn the_schema_and_the_reader_agree() {
    let element = |list: &str, element: &str| {
        let mut network = json!({
            "graphmap": 1,
            "modules": [{"name": "m"}],
            "processes": [{"name": "a"}, {"name": "b"}],
        });
        network[list] = json!([parsed(element)]);
        network.to_string()
    };
    let cases = [
        (true, r#"{"graphmap": 1}"#.to_owned()),
        (false, r#"{"graphmap": 2}"#.to_owned()),
        (false, r#"{"processes": []}"#.to_owned()),
        (false, r#"{"graphmap": 1, "proceses": []}"#.to_owned()),
        (false, element("processes", "{}")),
        (false, element("processes", r#"{"name": "a", "lod": 1}"#)),
        (false, element("processes", r#"{"name": "a", "load": -1}"#)),
        (
            true,
            element("processes", r#"{"name": "a", "load": 0.5, "mem": 1e6}"#),
        ),
        (false, element("modules", r#"{"name": "a", "parent": -1}"#)),
        (
            true,
            element("channels", r#"{"from": "a", "to": ["b", "in"]}"#),
        ),
        (
            true,
            element("channels", r#"{"from": null, "to": "b", "tag": -1}"#),
        ),
        (false, element("channels", r#"{"from": "a"}"#)),
        (false, element("channels", r#"{"from": "a", "to": ["b"]}"#)),
        (
            false,
            element("channels", r#"{"from": "a", "to": ["b", "in", "x"]}"#),
        ),
        (
            false,
            element("channels", r#"{"from": "a", "to": "b", "capacity": 0}"#),
        ),
        (
            false,
            element(
                "channels",
                r#"{"from": "a", "to": "b", "capacity": 4294967296}"#,
            ),
        ),
        (
            false,
            element("channels", r#"{"from": "a", "to": "b", "flow": "credit"}"#),
        ),
        (
            false,
            element("channels", r#"{"from": "a", "to": "b", "bundle": "all"}"#),
        ),
        (
            false,
            element(
                "channels",
                r#"{"from": "a", "to": "b", "bundle_name": "x"}"#,
            ),
        ),
        (
            true,
            element("constraints", r#"{"processes": ["a"], "hold": [1, 2]}"#),
        ),
        (
            false,
            element("constraints", r#"{"processes": ["a"], "hold": [1]}"#),
        ),
        (false, element("constraints", r#"{"processes": ["a"]}"#)),
        (
            false,
            element(
                "constraints",
                r#"{"processes": ["a"], "host": "x", "osprocess": 1}"#,
            ),
        ),
        (
            true,
            element("constraints", r#"{"module": 0, "whole": true}"#),
        ),
        (
            false,
            element("constraints", r#"{"module": 0, "whole": false}"#),
        ),
        (
            false,
            element("constraints", r#"{"module": 0, "host": "x"}"#),
        ),
        (
            false,
            element("constraints", r#"{"processes": ["a"], "prefer": 1}"#),
        ),
    ];
    let mut schema = Schema::new(SCHEMA);
    for (good, text) in cases {
        assert_eq!(
            schema.check(&parsed(&text)).is_ok(),
            good,
            "the schema: {text}"
        );
        let read = graphmap::Registry::new().read_text("json", "net.json", text.clone());
        assert_eq!(read.is_ok(), good, "the reader: {text}");
    }
}

#[test]
fn the_book_lists_the_newest_versions() {
    let page = include_str!("../../docs/src/formats.md");
    for (format, newest) in [
        ("graph file", graphmap_dot::language::VERSION),
        ("network as JSON", json::VERSION),
        ("`mapping.json`", graphmap_binding::mapping_json::VERSION),
        ("synthetic platform", graphmap_platform::synthetic::VERSION),
        ("tables of a program", graphmap_wiring::tables::VERSION),
        ("request and reply of a plug-in", graphmap_plugin::PROTOCOL),
    ] {
        let mut rows = page
            .lines()
            .map(|line| line.split(" | ").collect::<Vec<_>>());
        let row = rows.find(|row| row[0] == format!("| {format}"));
        let row = row.unwrap_or_else(|| panic!("no {format}"));
        assert_eq!(row[3], newest.to_string(), "{format}");
    }
}

#[test]
fn programs_of_version_1_stay_readable() {
    let args = "programs-1.dot --mapping mapping-programs-1.json appfile=-";
    let done = with_all()
        .args(args)
        .run()
        .status(0)
        .stderr_lacks("warning");
    done.stdout_is("-np 1 -x GRAPHMAP_PROCESSES=1 ./boss\n-np 2 -x GRAPHMAP_PROCESSES=1 ./work\n");
}
