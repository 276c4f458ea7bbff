//! `graphmap view`: tables, JSON and pictures.

use crate::common::Test;

const GRAPH: &str = "\
digraph squares {
    numbers -> square [type=u64, bundle=share];
    square [replicas=3];
    square -> sum [type=u64];
}
";

fn squares(args: &str) -> Test {
    Test::new().file("g.dot", GRAPH).args(args)
}

#[test]
fn sums_have_the_digits_that_were_written() {
    let graph = "digraph g { a [replicas=9, load=0.1]; b; a -> b [traffic=0.04]; }";
    let test = Test::new().file("g.dot", graph).args("view g.dot");
    test.run()
        .status(0)
        .stdout_has("kind a x 9, load 0.9\n")
        .stdout_has("a -> b: 9 channels, traffic 0.36\n");
    let test = test.args("view g.dot --json");
    test.run().status(0).stdout_has("\"traffic\": 0.36");
}

#[test]
fn a_table_and_where_each_process_leads() {
    squares("view g.dot")
        .run()
        .status(0)
        .stderr_is("")
        .stdout_is(
            "\
squares: 5 processes, 6 channels, 2 bundles; not deterministic

kind numbers x 1, load 1
  writes out: u64 (share)

kind square x 3, load 3
  reads in: u64
  writes out: u64

kind sum x 1, load 1
  reads in: u64 (select)

numbers -> square: 3 channels, traffic 3
square -> sum: 3 channels, traffic 3

numbers -> square1, square2, square3: u64
square1 -> sum: u64
square2 -> sum: u64
square3 -> sum: u64
",
        );
    let many = GRAPH.replace("=3", "=100");
    let test = Test::new().file("g.dot", many);
    let test = test.args("view g.dot");
    let done = test.run().status(0);
    assert!(!done.stdout().contains("square7"), "{}", done.stdout());
    let mut test = test.args("view g.dot --detail processes");
    test.run().status(0).stdout_has("square100 -> sum: u64\n");
    // `drawing` is the old name.
    for detail in ["nodes", "drawing"] {
        test = test.args(&format!("view g.dot --detail {detail}"));
        test.run()
            .status(0)
            .stdout_is("numbers -> square ×100: u64\nsquare ×100 -> sum: u64\n");
    }
}

#[test]
fn a_picture_goes_by_the_name_of_the_file_or_by_option() {
    let test = squares("view g.dot -o deep/g.svg");
    test.run()
        .status(0)
        .stdout_is("")
        .stderr_is("graphmap: wrote deep/g.svg\n");
    let picture = test.read("deep/g.svg");
    assert!(
        picture.starts_with("<svg ") && picture.contains(">square3<"),
        "{picture}"
    );
    let test = test.args("view g.dot --svg");
    test.run().status(0).stdout_is(&picture).stderr_is("");
    let test = test.args("view g.dot --svg --detail nodes");
    test.run().status(0).stdout_has(">square ×3<");
    let test = test.args("view g.dot --svg --detail kinds");
    test.run().status(0).stdout_has(">square ×3<");
    let test = test.args("view g.dot -o g.json");
    test.run().status(0);
    let value: serde_json::Value = serde_json::from_str(&test.read("g.json")).unwrap();
    assert_eq!(value["kinds"][1]["count"], 3);
    // Too many processes to show one by one, except on request.
    let many = GRAPH.replace("=3", "=500");
    let test = Test::new().file("g.dot", many).args("view g.dot --svg");
    test.run()
        .status(0)
        .stdout_has(">square2<")
        .stdout_has(">··· 497 more<")
        .stdout_has("6 boxes stand for 502 processes.");
    let test = test.args("view g.dot --svg --detail kinds");
    test.run().status(0).stdout_has(">square ×500<");
    let test = test.args("view g.dot --svg --detail processes");
    test.run().status(0).stdout_has(">square500<");
}

#[test]
fn what_cannot_be_shown() {
    squares("view g.dot -o g.gif")
        .run()
        .status(2)
        .stderr_has("`view` does not write files like `g.gif`")
        .stderr_has("graphmap expand g.dot | dot -Tgif -o g.gif");
    squares("view g.dot -o drawn.dot")
        .run()
        .status(2)
        .stderr_has("`graphmap expand g.dot > drawn.dot` writes a graph")
        .stderr_lacks("dot -Tpng");
    squares("view g.dot --svg --json").run().status(2);
    squares("view g.dot --detail procesess")
        .run()
        .status(2)
        .stderr_has("processes");
    // `--detail nodes` shows a graph whose network is not valid. Other pictures are refused.
    let unsound = GRAPH.replace(", bundle=share", "");
    let test = Test::new().file("g.dot", unsound).args("view g.dot --svg");
    test.run()
        .status(1)
        .stdout_is("")
        .stderr_has("error[G0305]");
    let test = test.args("view g.dot --svg --detail nodes");
    test.run().status(0).stdout_has("</svg>");
    let test = Test::new()
        .file("g.dot", "digraph g { a -> ")
        .args("view g.dot --svg --detail nodes");
    test.run().status(1).stdout_is("");
}

/// Checks the warning if a picture of a network and one of a mapping have the same name. The file is
/// written anyway.
#[test]
fn a_picture_of_something_else_is_replaced_with_a_warning() {
    let (view, emit) = ("view g.dot -o g.svg", "g.dot --emit g.svg");
    let warning = |old, new| {
        format!("warning[G0022]: `g.svg` was a picture of {old}, and becomes a picture of {new}\n")
    };
    let mut test = squares(view);
    for (args, said) in [
        (view, None),
        (view, None),
        (emit, Some(warning("the network", "the mapping"))),
        (emit, None),
        (view, Some(warning("the mapping", "the network"))),
    ] {
        test = test.args(args);
        let done = test.run().status(0);
        match said {
            Some(said) => done.stderr_has(&said),
            None => done.stderr_lacks("G0022"),
        };
        let mapping = test.read("g.svg").contains("class=\"graphmap-mapping\"");
        assert_eq!(mapping, args == emit);
    }
    // `--deny warnings` keeps the file.
    let old = test.read("g.svg");
    let test = test.args("g.dot --emit g.svg --deny warnings");
    test.run().status(1).stderr_has("error[G0022]");
    assert_eq!(test.read("g.svg"), old);
}

/// Checks the pictures that the tool `graphmap-render` converts, with scripts in its place.
#[test]
fn pictures_as_png_and_pdf_are_those_of_the_tool() {
    let tool = "#!/bin/sh\necho \"%PDF-1.7 $*\"\ncat\n";
    let test = squares("view g.dot --svg");
    let svg = test.run().status(0).stdout().to_owned();
    let mut test = test.executable("graphmap-render", tool);
    for (args, format) in [
        ("view g.dot -o g.pdf", "pdf"),
        ("view g.dot -o g.png", "png"),
        ("view g.dot -o g.pdf --detail processes", "pdf"),
        ("view g.dot -o g.PNG", "PNG"),
    ] {
        test = test.args(args);
        test.run().status(0).stdout_is("");
        let written = test.read(&format!("g.{format}"));
        let format = format.to_lowercase();
        assert_eq!(written, format!("%PDF-1.7 - -o - --format {format}\n{svg}"));
    }
    for (script, status, text) in [
        (
            "echo no font >&2; exit 2",
            2,
            "its output:\n          no font\n",
        ),
        ("exit 5", 5, "failed (exit status: 5)"),
    ] {
        let test = squares("view g.dot -o g.png");
        let test = test.executable("graphmap-render", &format!("#!/bin/sh\n{script}\n"));
        let done = test.run().status(status);
        done.stderr_has("error[G0021]").stderr_has(text);
        assert_eq!(test.files(), ["bin/graphmap-render", "g.dot"]);
    }
    // A file by others is kept.
    let test = test.file("notes.pdf", "notes\n");
    let test = test.args("view g.dot -o notes.pdf");
    test.run().status(2);
    let test = test.executable("graphmap-render", "#!/bin/sh\necho font >&2\necho x\n");
    let test = test.args("view g.dot -o other.png");
    test.run().status(0).stderr_has("warning[G0021]");
    assert_eq!(test.read("other.png"), "x\n");
    let without = squares("view g.dot -o g.png").env("PATH", "/nowhere");
    without
        .run()
        .status(2)
        .stderr_has("error[G0021]: a picture as PNG needs the tool `graphmap-render`")
        .stderr_has("`cargo install --path modules/render`");
}

/// Checks that a process whose input depends on time makes a network non-deterministic, for each
/// form of channels. The table, its JSON and the note agree.
#[test]
fn dependence_on_time_is_reported_in_all_forms() {
    for (edges, notes) in [
        ("a -> b [type=u64];", 0),
        ("a -> b [bundle=gather]; c -> b;", 0),
        ("a -> b; c -> b;", 1),
        ("a -> b [flow=credits];", 1),
        ("a -> b, c [flow=credits, bundle=share];", 1),
        ("{ a; c } -> b [flow=credits];", 1),
        ("a -> b [flow=credits]; c -> d [flow=credits];", 2),
    ] {
        let test = Test::new().file("g.dot", format!("digraph g {{ {edges} }}"));
        let test = test.args("check g.dot --allow warnings");
        let done = test.run().status(0);
        assert_eq!(
            done.stderr().matches("note[G0314]").count(),
            notes,
            "{edges}"
        );
        let (text, json) = match notes {
            0 => ("; deterministic, unless a reader ends early\n", "true"),
            _ => ("; not deterministic\n", "false"),
        };
        let test = test.args("view g.dot");
        test.run().status(0).stdout_has(text);
        let test = test.args("view g.dot --json");
        let json = format!("\"deterministic\": {json}");
        test.run().status(0).stdout_has(&json);
    }
}
