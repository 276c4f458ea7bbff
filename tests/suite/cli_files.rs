//! Written files: all or none, and only files that change.

use crate::common::{NET, Test};
use std::fs;

fn net() -> Test {
    Test::new().file("net.json", NET)
}

#[test]
fn files_are_written_and_left_alone_when_they_are_the_same() {
    let test = net().args("net.json --emit json=out/a.json --emit b.json -n 2");
    test.run()
        .status(0)
        .stderr_is("graphmap: wrote b.json\ngraphmap: wrote out/a.json\n");
    let a = test.folder().join("out/a.json");
    let before = fs::metadata(&a).unwrap().modified().unwrap();
    test.run()
        .status(0)
        .stderr_is("graphmap: unchanged b.json\ngraphmap: unchanged out/a.json\n");
    assert_eq!(fs::metadata(&a).unwrap().modified().unwrap(), before);
    fs::write(test.folder().join("b.json"), "{\"graphmap\": 0}").unwrap();
    test.run()
        .status(0)
        .stderr_has("updated b.json")
        .stderr_has("unchanged out/a.json");
    assert_eq!(test.files(), ["b.json", "net.json", "out/a.json"]);
}

#[test]
fn check_writes_nothing() {
    let test = net().args("net.json --emit out/a.json --check");
    test.run()
        .status(3)
        .stderr_has("error[G0012]: `out/a.json` does not exist");
    assert_eq!(test.files(), ["net.json"]);
    let test = test.args("net.json --emit out/a.json");
    test.run().status(0);
    let test = test.args("net.json --emit out/a.json --check");
    test.run().status(0).stderr_is("");
    let test = test.args("net.json --emit out/a.json -n 2 --check");
    test.run()
        .status(3)
        .stderr_has("`out/a.json` is out of date");
}

#[test]
fn a_dash_is_no_folder() {
    net()
        .args("net.json --emit wiring.rs -o -")
        .run()
        .status(2)
        .stdout_is("")
        .stderr_has("`-o` must be a folder, not standard output")
        .stderr_has("--emit KIND=-");
}

#[test]
fn standard_output_holds_data_alone() {
    let done = net()
        .args("net.json --emit json=- --timings")
        .run()
        .status(0);
    let value: serde_json::Value = serde_json::from_str(&done.stdout()).unwrap();
    assert_eq!(value["processes"][1]["name"], "b");
    assert_eq!(value["mapping"]["os_process"], serde_json::json!([0, 0]));
    done.stderr_has("  total\n");
    for detail in ["nodes", "processes"] {
        let view = format!("view net.json --svg --timings --detail {detail}");
        net().args(&view).run().status(0).stderr_has("  draw\n");
    }
    net()
        .args("expand net.json --json")
        .run()
        .status(0)
        .stdout_has(r#""graphmap":1"#)
        .stderr_is("");
}

#[test]
fn what_was_written_is_read_again_to_the_same() {
    let first = net()
        .args("expand net.json --json")
        .run()
        .status(0)
        .stdout();
    let again = Test::new()
        .file("net.json", &first)
        .args("expand net.json --json")
        .run()
        .status(0);
    let strip = |text: &str| {
        let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
        for list in ["processes", "channels", "modules"] {
            for element in value[list].as_array_mut().unwrap() {
                element.as_object_mut().unwrap().remove("span");
            }
        }
        value
    };
    assert_eq!(strip(&again.stdout()), strip(&first));
}

#[test]
fn what_cannot_be_written_changes_nothing() {
    // If a folder has the path of the second file, the first file is not written either.
    let test = net();
    fs::create_dir(test.folder().join("b.json")).unwrap();
    let test = test.args("net.json --emit a.json --emit b.json");
    test.run()
        .status(2)
        .stderr_has("error[G0005]: `b.json` cannot be written");
    assert_eq!(test.files(), ["net.json"]);
    // If a file has the path of a folder, no other folder is created.
    let test = net().args("net.json --emit new/a.json --emit net.json/x.json");
    test.run().status(2).stderr_has("error[G0005]");
    assert_eq!(test.files(), ["net.json"]);
    assert!(!test.folder().join("new").exists());
}

#[test]
fn no_file_is_written_if_one_folder_is_not_writable() {
    let test = net().args("net.json --emit /proc/nowhere/a.json --emit a.json");
    test.run()
        .status(2)
        .stderr_has("error[G0005]: `/proc/nowhere/a.json` cannot be written");
    assert_eq!(test.files(), ["net.json"]);
}

#[test]
fn a_full_disk() {
    let test = net().args("net.json --emit json=/dev/full");
    test.run()
        .status(2)
        .stderr_has("error[G0005]")
        .stderr_has("No space left");
    let test = net().args("net.json --emit json=/dev/null");
    test.run().status(0);
    assert!(fs::metadata("/dev/null").is_ok_and(|m| !m.is_file()));
}

#[test]
fn a_link_stays_a_link_and_a_mode_a_mode() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let test = net()
        .file("real/a.json", "{\"graphmap\": 0}")
        .args("net.json --emit a.json");
    let real = test.folder().join("real/a.json");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real/a.json", test.folder().join("a.json")).unwrap();
    test.run().status(0);
    assert!(test.folder().join("a.json").is_symlink());
    assert!(test.read("real/a.json").contains("\"graphmap\":1"));
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let binary = env!("CARGO_BIN_EXE_graphmap");
    let script = format!("({binary} completions bash; echo $? >&2) | head -n 1 > /dev/null");
    let output = std::process::Command::new("bash")
        .args(["-c", &script])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "0\n");
}

#[test]
fn emitters_that_are_not_there() {
    net()
        .args("net.json --emit jsn=x")
        .run()
        .status(2)
        .stderr_has("error[G0006]: unknown emitter `jsn`")
        .stderr_has("did you mean `json`?");
    net()
        .args("net.json --emit x.unknown")
        .run()
        .status(2)
        .stderr_has("error[G0006]");
    net()
        .args("net.json --emit json")
        .run()
        .status(2)
        .stderr_has("`--emit json` names no file");
    // Launch files have default names, in the folder of `-o` or in the current folder.
    for (kind, file) in [
        ("hostfile", "hostfile"),
        ("mpiexec", "mpiexec.sh"),
        ("fgmpi", "fgmpi.c"),
        ("mapping", "mapping.json"),
    ] {
        for (option, folder) in [("", ""), (" -o run", "run/")] {
            let test = net().file("hosts", "x:2\n");
            let program = match kind {
                "mpiexec" => " --set program=./p",
                _ => "",
            };
            let args = format!("net.json -n 2 --hosts hosts{program} --emit {kind}{option}");
            let test = test.args(&args);
            test.run().status(0);
            assert!(!test.read(&format!("{folder}{file}")).is_empty(), "{args}");
        }
    }
    net()
        .args("net.json --emit json=")
        .run()
        .status(2)
        .stderr_has("`--emit json=` names no file");
    net()
        .args("net.json --emit a.json --emit json=a.json")
        .run()
        .status(2)
        .stderr_has("twice");
}

const UNTIDY: &str = "digraph g{ // a comment\n a->b [PIout=x]}";
const TIDY: &str = "digraph g { // a comment\n    a -> b [src=x];\n}\n";

#[test]
fn graphs_are_laid_out_in_place() {
    let test = Test::new().file("a.dot", UNTIDY).file("b.dot", TIDY);
    let test = test.args("fmt a.dot b.dot --check");
    test.run()
        .status(3)
        .stderr_has("error[G0012]: `a.dot` is out of date")
        .stderr_lacks("b.dot");
    assert_eq!(test.read("a.dot"), UNTIDY);
    let test = test.args("fmt a.dot b.dot");
    test.run()
        .status(0)
        .stderr_is("graphmap: formatted a.dot\n");
    assert_eq!(
        (test.read("a.dot"), test.read("b.dot")),
        (TIDY.into(), TIDY.into())
    );
    let test = test.args("fmt a.dot b.dot --check");
    test.run().status(0).stderr_is("");
}

#[test]
fn graphs_that_cannot_be_laid_out_stay() {
    let test = Test::new()
        .file("bad.dot", "digraph { a -> ")
        .file("good.dot", UNTIDY)
        .file("latin.dot", b"digraph { \"\xe9\" }")
        .file("net.json", NET)
        .args("fmt bad.dot good.dot latin.dot");
    test.run()
        .status(1)
        .stderr_has("bad.dot:1")
        .stderr_has("byte 11 is not UTF-8");
    assert_eq!(test.read("good.dot"), TIDY);
    assert_eq!(test.read("bad.dot"), "digraph { a -> ");
    let test = test.args("fmt net.json");
    test.run()
        .status(2)
        .stderr_has("`fmt` does not support json");
    let test = test.args("fmt nowhere.dot");
    test.run().status(2).stderr_has("error[G0001]");
}

#[test]
fn standard_input_is_laid_out_on_standard_output() {
    let untidy = Test::new().stdin(UNTIDY).args("fmt -");
    untidy.run().status(0).stdout_is(TIDY).stderr_is("");
    untidy.args("fmt - --check").run().status(3).stdout_is("");
    let tidy = Test::new().stdin(TIDY).args("fmt - --check");
    tidy.run().status(0).stdout_is("").stderr_is("");
}

#[test]
fn an_expanded_graph_keeps_what_is_said_of_modules_and_kinds() {
    let graph = r#"digraph g {
        subgraph cluster_a { replicas=2; whole=true; worker [hold="1-"]; worker -> sink }
        subgraph cluster_b { prefer=2.5; p -> q }
    }"#;
    let test = Test::new().file("g.dot", graph).args("expand g.dot");
    let once = test.run().status(0);
    let once = once
        .stdout_has("        whole=true;\n")
        .stdout_has("        prefer=2.5;\n");
    let once = once.stdout_has(r#"worker2 [hold="1-"];"#).stdout();
    assert_eq!(once.matches("whole=true").count(), 2);
    let again = Test::new().file("g.dot", &once).args("expand g.dot").run();
    again.status(0).stdout_is(&once);
}

#[test]
fn an_expanded_graph_is_read_to_the_same_network() {
    let graph = r#"digraph "every thing" {
        late -> NULL [src=never];
        subgraph cluster_farm {
            module=farm; replicas=2; host=node1;
            manager [load=2.5 colocate="a b"];
            subgraph cluster_inner { module=inner; worker [replicas=3 mem=1000000]; }
            manager -> worker [type="Vec<u8>" bundle=scatter at=all tag=7 traffic=0.5];
            worker -> manager [at=all bundle=gather dst=results capacity=4];
        }
        NULL -> manager [dst="odd port"];
        "node" [kind=late];
        "node" -> late [initial=1]; late -> "node" [src=out];
        "node" -> NULL [src=never];
    }"#;
    let network = |text: &str| {
        let test = Test::new().file("g.dot", text).args("expand g.dot --json");
        let mut value: serde_json::Value =
            serde_json::from_str(&test.run().status(0).stdout()).unwrap();
        for list in ["processes", "channels", "modules", "constraints"] {
            for element in value[list].as_array_mut().unwrap() {
                element.as_object_mut().unwrap().remove("span");
            }
        }
        // The order of modules may differ, but a parent always comes before its children.
        let modules = value["modules"].as_array().unwrap().clone();
        let name = |index: &serde_json::Value| match index.as_u64() {
            Some(index) => modules[index as usize]["name"].clone(),
            None => serde_json::Value::Null,
        };
        for (list, field) in [("processes", "module"), ("modules", "parent")] {
            for element in value[list].as_array_mut().unwrap() {
                element[field] = name(&element[field]);
            }
        }
        let by_name = |module: &serde_json::Value| module["name"].as_str().unwrap().to_owned();
        value["modules"]
            .as_array_mut()
            .unwrap()
            .sort_by_key(by_name);
        // The order of constraints may differ, too.
        let said = value["constraints"].as_array_mut().unwrap();
        said.sort_by_key(ToString::to_string);
        value
    };
    let expanded = Test::new()
        .file("g.dot", graph)
        .args("expand g.dot")
        .run()
        .status(0)
        .stdout();
    assert_eq!(network(&expanded), network(graph), "{expanded}");
    assert_eq!(expanded.matches("host=node1").count(), 2, "{expanded}");
    assert_eq!(
        expanded.matches(r#"colocate="a b"#).count(),
        2,
        "{expanded}"
    );
}

#[test]
fn deep_modules_are_no_danger() {
    let depth = 20_000;
    let open: String = (0..depth)
        .map(|i| format!("subgraph cluster_{i} {{ "))
        .collect();
    let graph = format!("digraph deep {{ {open} a; {} a -> b; }}", "}".repeat(depth));
    let test = Test::new().file("deep.dot", graph);
    let test = test.args("expand deep.dot");
    test.run().status(0).stdout_has("a -> b;");
    let test = test.args("view deep.dot");
    test.run().status(0);
    let test = test.args("fmt deep.dot");
    test.run().status(0);
}

#[test]
fn a_disk_that_fills_up_in_the_middle() {
    let graph = "digraph big { a [replicas=2000]; a -> a [step=1 wrap=true initial=1]; }";
    let test = Test::new()
        .file("g.dot", graph)
        .file("small.svg", "<svg />");
    // A limit on file sizes stands in for the full disk. SIGXFSZ is ignored, because a full disk
    // sends no signal.
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec {} g.dot --emit svg=small.svg --emit json=deep/big.json",
        env!("CARGO_BIN_EXE_graphmap")
    );
    let output = std::process::Command::new("bash")
        .args(["-c", &script])
        .current_dir(test.folder())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("error[G0005]: `deep/big.json` cannot be written"),
        "{said}"
    );
    assert_eq!(test.files(), ["g.dot", "small.svg"]);
    assert_eq!(test.read("small.svg"), "<svg />");
    assert!(!test.folder().join("deep").exists());
}

#[test]
fn a_project_remembers_its_skeletons() {
    let mut test = Test::new()
        .file("mine/rust/_head.hbs", "//! Mine: {{graph.name}}\n")
        .file("deep/pair.dot", "digraph pair { a -> b; }")
        .args("new deep/pair --from deep/pair.dot --skeletons mine");
    test.run().status(0);
    assert!(
        test.read("deep/pair/Cargo.toml")
            .contains("\nskeletons = \"../../mine\"\n")
    );
    test = test.file("deep/pair.dot", "digraph twins { a -> b; }");
    // Without Cargo, the run ends after it has generated the files.
    test = test.env("CARGO", "/nonexistent").args("run deep/pair.dot");
    test.run().status(2).stderr_has("error[G0702]");
    assert!(
        test.read("deep/pair/src/wiring.rs")
            .starts_with("//! Mine: twins\n")
    );
    test = test.args("run deep/pair.dot --skeletons nowhere");
    test.run().status(5).stderr_has("error[G0604]");
    // A missing skeleton is an error in its project, too.
    fs::remove_dir_all(test.folder().join("mine")).unwrap();
    test = test.args("run deep/pair.dot");
    test.run()
        .status(5)
        .stderr_has("error[G0604]")
        .stderr_has("mine");
}

#[test]
fn families_that_are_not_there() {
    let test = || {
        Test::new()
            .file("g.dot", "digraph g { a -> b; }")
            .file("mine/go/explicit.hbs", "")
    };
    test()
        .args("g.dot --skeletons mine --emit go=x.go")
        .run()
        .status(2)
        .stderr_has("error[G0006]: unknown emitter `go`")
        .stderr_has("add an entry to `mine/families.toml` to make it an emitter");
    test()
        .args("new g --from g.dot --family ruts")
        .run()
        .status(2)
        .stderr_has("did you mean `rust`?")
        .stderr_has("the families are mpi, pilot, rust;");
    test()
        .args("new g --from g.dot --family pilot --member")
        .run()
        .status(2)
        .stderr_has("are for projects in Rust");
    // Existing files may be the user's own.
    let own = Test::new()
        .file("g.dot", "digraph g { a -> b; }")
        .file("g/wiring.c", "mine")
        .args("new g --from g.dot --family pilot");
    own.run()
        .status(2)
        .stderr_has("`g` already contains a project")
        .stderr_has("--update");
    assert_eq!(own.files(), ["g.dot", "g/wiring.c"]);
    assert_eq!(own.read("g/wiring.c"), "mine");
    let own = own.args("new g --from g.dot --family pilot --update");
    own.run().status(0).stderr_has("updated g/wiring.c");
    // A folder in place of the manifest.
    let test = test().file("mine/families.toml/x", "");
    let test = test.args("passes --skeletons mine");
    test.run().status(5).stderr_has("error[G0604]");
}

#[test]
fn a_partial_is_no_skeleton() {
    let test = Test::new()
        .file("g.dot", "digraph g { skeleton=\"_head\"; a -> b; }")
        .args("g.dot --emit wiring=w.rs");
    test.run()
        .status(5)
        .stderr_has("error[G0603]: unknown skeleton `_head` in the family `rust`")
        .stderr_has(" --> g.dot:1:")
        .stderr_has("is a partial, because its name begins with `_`");
    assert_eq!(test.files(), ["g.dot"]);
}

#[test]
fn a_name_too_long_for_a_file_is_reported_in_the_graph() {
    let long = "k".repeat(300);
    let drawing = format!("digraph g {{\n    a [kind={long}];\n    a -> b;\n}}\n");
    let mut test = Test::new().file("g.dot", drawing);
    for args in ["new p --from g.dot", "new p --from g.dot --family pilot"] {
        test = test.args(args);
        test.run()
            .status(5)
            .stderr_has("error[G0619]: the name of the kind `kkkkkkkkkkkkkkkkkkkk...` is too long")
            .stderr_has(" --> g.dot:2:5")
            .stderr_has("`kind=NAME`");
        assert_eq!(test.files(), ["g.dot"], "{args}");
    }
    let test = test.args("g.dot --emit wiring.rs");
    test.run().status(0);
}

#[test]
fn an_emitter_that_the_name_of_a_file_does_not_say_is_told() {
    let mut test = net();
    for (args, said) in [
        (
            "net.json --emit mpi.c",
            "graphmap: writing mpi.c with the emitter `pilot`: C wiring code for Pilot",
        ),
        ("net.json --emit pilot.c", "graphmap: wrote pilot.c\n"),
        ("net.json --emit w.rs", "graphmap: wrote w.rs\n"),
        ("net.json --emit pilot=other.c", "graphmap: wrote other.c\n"),
    ] {
        test = test.args(args);
        let done = test.run().status(0);
        assert!(done.stderr().starts_with(said), "{args}: {}", done.stderr());
    }
}

/// Checks that both Cargo and graphmap can read the manifest, for any name.
#[test]
fn a_project_may_be_called_anything() {
    for name in [
        "a\u{1b}b",
        "c\nd",
        "e\"f\\g",
        "h\u{202e}i",
        &"j".repeat(140),
    ] {
        let test = Test::new().words(&["new", name]);
        test.run().status(0);
        let graph = format!("{name}/{name}.dot");
        let test = test.words(&["run", &graph, "--no-build"]);
        test.run().status(0);
    }
}
