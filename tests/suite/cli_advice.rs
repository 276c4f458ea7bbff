//! Advice that can be followed, errors that are reported early, and the formatting of diagnostics.

use crate::common::{NET, Test};
use std::path::Path;

const CHAIN: &str = "digraph g { a -> b; b -> c; a [osprocess=5] }";

#[test]
fn an_os_process_that_is_not_there_is_advised_only_where_it_can_be() {
    let more = "= help: use `-n 6` or more, or another number\n";
    let none = "= help: use a number up to 2; there are never more OS processes than processes\n";
    let long = CHAIN.replace("b -> c;", "b -> c -> d -> e -> f;");
    for (drawing, args, help) in [
        (CHAIN, "-n 2", none),
        (CHAIN, "-n 6", none),
        (CHAIN, "-n 100", none),
        (&long, "-n 2", more),
        (&long, "", more),
    ] {
        let done = Test::new()
            .file("g.dot", drawing)
            .args(&format!("partition g.dot {args}"))
            .run()
            .status(1);
        done.stderr_has("error[G0452]: there is no OS process 5")
            .stderr_has(help);
    }
    // The advice helps.
    let test = Test::new()
        .file("g.dot", &long)
        .args("partition g.dot -n 6");
    test.run().status(0);
    let hosts = |args: &str| {
        let test = Test::new().file("g.dot", "digraph g { a -> b; b -> c; }");
        let test = test.file("hosts", "x:2\ny:2\nz:2\n");
        test.args(&format!("partition g.dot --hosts hosts {args}"))
    };
    hosts("-n 2 --pin a=y")
        .run()
        .status(1)
        .stderr_has("= help: use `-n 3` or more, or list this host earlier\n");
    hosts("-n 3 --pin a=y").run().status(0);
    hosts("-n 3 --pin a=z")
        .run()
        .status(1)
        .stderr_has("= help: list this host earlier\n");
}

#[test]
fn an_unknown_number_lists_the_existing_numbers() {
    let repeated =
        "digraph g { subgraph cluster_farm { module=farm; replicas=3; a -> b [type=u8]; } }";
    let named = "digraph g { subgraph cluster_farm_1 { module=farm; a -> b; } \
                 subgraph cluster_farm_3 { module=farm; c -> d; } }";
    for (drawing, pin, help) in [
        (repeated, "module:farm_2=1", "did you mean `farm2`?"),
        (repeated, "module:farm7=1", "use one of `farm1` to `farm3`"),
        (
            repeated,
            "module:farm7=1",
            "for all of them, write `module:farm`",
        ),
        (repeated, "a9=1", "use one of `a1` to `a3`"),
        (repeated, "a9=1", "for all of them, write `kind:a`"),
        (named, "module:farm_2=1", "use one of `farm_1`, `farm_3`"),
        (named, "module:frm_1=1", "did you mean `farm_1`?"),
    ] {
        Test::new()
            .file("g.dot", drawing)
            .args(&format!("partition g.dot -n 2 --pin {pin}"))
            .run()
            .status(1)
            .stderr_has("error[G0462]")
            .stderr_has(&format!("= help: {help}\n"));
    }
}

/// Checks that a long line is cut around the marked part. The position refers to the whole line,
/// and is printed once.
#[test]
fn a_long_line_is_shown_at_its_place() {
    // The attribute begins 26 columns after `before`. At most 240 columns are shown before a
    // position.
    let lengths = [
        (100, 250),
        (213, 0),
        (214, 0),
        (215, 250),
        (216, 0),
        (240, 240),
        (1000, 1000),
    ];
    for (before, after) in lengths {
        let (before, after) = ("x".repeat(before), "y".repeat(after));
        let drawing = format!("digraph g {{ /*{before}*/ a -> b [load=1]; /*{after}*/ }}\n");
        let column = drawing.find("load").unwrap() + 1;
        for colour in ["never", "always"] {
            let done = Test::new()
                .file("g.dot", &drawing)
                .args(&format!("check g.dot --color {colour}"))
                .run()
                .status(1);
            let said = done.stderr();
            assert!(!said.contains(":::") && !said.contains('\u{1}'), "{said}");
            assert_eq!(said.matches("g.dot:").count(), 1, "{said}");
            let place = format!("g.dot:1:{column}");
            let (_, behind) = said.split_once(&place).unwrap_or_else(|| panic!("{said}"));
            assert!(behind.starts_with(['\n', '\u{1b}']), "{said}");
        }
    }
    // Two positions on one line, far apart.
    let (left, right) = ("x".repeat(300), "y".repeat(5000));
    let drawing = format!("digraph g {{ /*{left}*/ a -> b; /*{right}*/ a -> c; }}\n");
    let column = |edge: &str| drawing.find(edge).unwrap() + 1;
    let (first, second) = (column("a -> b"), column("a -> c"));
    Test::new()
        .file("g.dot", &drawing)
        .args("check g.dot")
        .run()
        .status(1)
        .stderr_has(&format!(" --> g.dot:1:{second}\n  |\n1 | ..."))
        .stderr_has(&format!("\n  |\n ::: g.dot:1:{first}\n  |\n1 | ..."));
}

#[test]
fn missing_files_are_reported_together() {
    let mut test = Test::new()
        .file("net.json", NET)
        .file("broken.dot", "digraph { a -> }");
    for (args, files, status) in [
        (
            "partition net.json -n 2 --weights no.w --rules no.r --previous no.p --hosts no.h",
            &["no.w", "no.r", "no.p", "no.h"][..],
            2,
        ),
        (
            "run net.json --mapping no.m --weights no.w",
            &["no.m", "no.w"],
            2,
        ),
        (
            "net.json --emit json=- --weights no.w --rules no.r",
            &["no.w", "no.r"],
            2,
        ),
        (
            "partition broken.dot --weights no.w --rules no.r",
            &["no.w", "no.r"],
            1,
        ),
        ("check no.dot --weights no.w", &["no.dot", "no.w"], 2),
    ] {
        test = test.args(args);
        let done = test.run().status(status);
        let said = done.stderr();
        for file in files {
            let named = [
                format!("`{file}` cannot be read"),
                format!("the file `{file}` does not exist"),
            ];
            let times = named
                .iter()
                .map(|named| said.matches(named.as_str()).count());
            assert_eq!(times.sum::<usize>(), 1, "{args}: {file}: {said}");
        }
        let errors = files.len() + usize::from(status == 1);
        done.stderr_has(&format!("graphmap: {errors} errors\n"))
            .stdout_is("");
    }
}

#[test]
fn a_missing_skeleton_is_reported_before_it_is_needed() {
    let drawing = |skeleton: &str| {
        let text = format!("digraph g {{ skeleton={skeleton}; a -> b; }}");
        Test::new()
            .file("g.dot", text)
            .file("mine/rust/ring.hbs", "// ring\n")
            .file("mine/families.toml", "[go]\nabout = \"Go\"\n")
            .file("mine/go/star.hbs", "// star\n")
    };
    let missing = "warning[G0603]: unknown skeleton `ring` in the family `rust`\n --> g.dot:1:22\n";
    drawing("ring")
        .args("check g.dot")
        .run()
        .status(0)
        .stderr_has(missing);
    drawing("ring")
        .args("check g.dot --deny warnings")
        .run()
        .status(1);
    drawing("explicit")
        .args("check g.dot --deny warnings")
        .run()
        .status(0);
    drawing("grid")
        .args("check g.dot")
        .run()
        .status(0)
        .stderr_has("warning[G0606]: the network is not a grid\n --> g.dot:1:22\n");
    for skeleton in ["ring", "star"] {
        let test = drawing(skeleton).args("check g.dot --skeletons mine");
        test.run().status(0).stderr_lacks("warning");
        // `graphmap.toml` has the same effect as the option.
        let test = test.file("graphmap.toml", "skeletons = \"mine\"\n");
        test.args("check g.dot")
            .run()
            .status(0)
            .stderr_lacks("warning");
    }
    drawing("main")
        .args("check g.dot")
        .run()
        .status(0)
        .stderr_has("warning[G0603]");
}

#[test]
fn a_misspelt_verb_is_found_behind_options() {
    for args in [
        "--message-format=json chekc",
        "--message-format json chekc",
        "--message-format json -q chekc net.json",
    ] {
        let done = Test::new().file("net.json", NET).args(args).run().status(2);
        let said = done.stderr();
        let lines: Vec<serde_json::Value> = said
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0]["message"], "unknown verb `chekc`", "{said}");
        assert_eq!(
            lines[0]["help"][0], "did you mean `graphmap check`?",
            "{said}"
        );
    }
}

#[test]
fn a_project_with_a_long_name_is_refused_before_it_is_begun() {
    for (length, ends) in [(150, 0), (151, 2), (300, 2), (5000, 2)] {
        let name = "n".repeat(length);
        let test = Test::new().words(&["new", &name]);
        let done = test.run().status(ends);
        if ends == 0 {
            continue;
        }
        done.stderr_has(
            "error[G0619]: the name of the project `nnnnnnnnnnnnnnnnnnnn...` is too long",
        )
        .stderr_has(&format!("{length} bytes; the limit is 150"));
        assert_eq!(test.files(), [""; 0]);
    }
}

#[test]
fn a_number_below_nothing_is_a_wrong_value() {
    for (args, said) in [
        (
            "run net.json --trace t --trace-events -1",
            "'-1' for '--trace-events <N>'",
        ),
        (
            "run net.json --shuffle -1",
            "'-1' for '--shuffle <SEED>': expected a whole number from 0 to",
        ),
        (
            "run net.json --memory -1G",
            "'-1G' for '--memory <SIZE>': expected a number of bytes",
        ),
        (
            "check net.json --limit -1",
            "'-1' for '--limit <N>': expected a whole number of at least 0",
        ),
        (
            "check net.json --plugin-timeout -1",
            "'-1' for '--plugin-timeout <SECONDS>': expected a number",
        ),
        (
            "partition net.json --threads -1",
            "'-1' for '--threads <N>'",
        ),
        (
            "partition net.json --imbalance -3%",
            "'-3%' for '--imbalance <PERCENT>': expected a number",
        ),
    ] {
        Test::new()
            .file("net.json", NET)
            .args(args)
            .run()
            .status(2)
            .stderr_has(&format!("error: invalid value {said}"));
    }
}

#[test]
fn fmt_uses_the_only_graph_file() {
    let test = Test::new()
        .file("net.dot", "digraph { a->b }")
        .args("fmt --check");
    test.run()
        .status(3)
        .stderr_has("graphmap: using net.dot, the only graph file here\n");
    let test = test.args("fmt");
    test.run()
        .status(0)
        .stderr_has("graphmap: formatted net.dot\n");
    assert_eq!(test.read("net.dot"), "digraph {\n    a -> b;\n}\n");
    let test = test.file("other.dot", "digraph { a->b }");
    test.run()
        .status(2)
        .stderr_has("error[G0011]: no graph file is named");
    let test = test.file("graphmap.toml", "file = \"other.dot\"\n");
    test.run()
        .status(0)
        .stderr_has("graphmap: formatted other.dot\n");
}

/// Checks that our own graphs are formatted. `a3.dot` is not, because it keeps the spelling of the
/// thesis.
#[test]
fn our_graphs_are_laid_out() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("graphs");
    let mut test = Test::new();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_some_and(|ending| ending == "dot") && name != "a3.dot" {
            test = test.file(&name, std::fs::read(&path).unwrap());
            names.push(name);
        }
    }
    assert!(names.len() > 5, "{names:?}");
    test.args(&format!("fmt --check {}", names.join(" ")))
        .run()
        .status(0)
        .stderr_is("");
}

/// Checks that `-n` must equal the number of OS processes of `--mapping`.
#[test]
fn n_must_agree_with_the_mapping() {
    let drawing =
        "digraph agree { allow=\"G0614\"; a -> b [type=u8]; b -> c [type=u8]; c -> d [type=u8]; }";
    let test = Test::new()
        .file("agree.dot", drawing)
        .args("new agree --from agree.dot --quiet");
    test.run().status(0);
    let test = test.args("partition agree.dot -n 3 -o plan --quiet");
    test.run().status(0);
    // Binds to cores of this host, as `--hosts local` does.
    let plan = test.read("plan/mapping.json");
    let plan = plan.replace("\"cores\": []", "\"cores\": [0]");
    let mut test = test.file("m3.json", plan);
    for (asked, link) in [(4, "--link shm"), (2, ""), (4, "--link threads")] {
        test = test.args(&format!(
            "run agree.dot --dev -n {asked} --mapping m3.json {link}"
        ));
        test.run()
            .status(2)
            .stdout_is("")
            .stderr_has(&format!(
                "error[G0011]: `-n {asked}` and `--mapping m3.json` disagree\n"
            ))
            .stderr_has("= note: the mapping has 3 OS processes\n")
            .stderr_has("= help: omit `-n` to use the number of the mapping\n")
            .stderr_lacks("GRAPHMAP_");
    }
    // An equal number is accepted. With a mapping, the environment variable has no effect.
    let program = "pub async fn a(_: crate::wiring::A) { println!(\"{}\", std::env::var(\"GRAPHMAP_OS_PROCESSES\").unwrap()); }\n";
    test = test.file("agree/src/processes/a.rs", program);
    test = test.args("run agree.dot --dev -n 3 --mapping m3.json --link shm --no-pin");
    test.run()
        .status(0)
        .stdout_is("3\n")
        .stderr_is("graphmap: building agree\n");
    test = test
        .args("run agree.dot --dev --mapping m3.json --link shm")
        .env("GRAPHMAP_OS_PROCESSES", "7");
    test.run().status(0).stdout_is("3\n").stderr_is("");
    // The last OS process may be empty.
    let empty = test
        .read("m3.json")
        .replace("\"os_process\": 2", "\"os_process\": 1");
    test = test.file("m3.json", empty);
    test.run().status(0).stdout_is("3\n").stderr_is("");
}
