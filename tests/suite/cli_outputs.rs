//! Output files without `--emit`: `graphmap graph.dot outfile.c`.

use crate::common::Test;

const PAIR: &str = "digraph pair { a -> b; }";

fn pair() -> Test {
    Test::new().file("pair.dot", PAIR)
}

#[test]
fn outputs_are_written_as_by_emit() {
    let test = pair().args("pair.dot --emit expected.c --emit expected.rs");
    test.run().status(0);
    let by_emit = [test.read("expected.c"), test.read("expected.rs")];
    for line in [
        "pair.dot out.c out.rs",
        "emit pair.dot out.c out.rs",
        "pair.dot out.c -e out.rs",
    ] {
        let test = pair().args(line);
        test.run().status(0);
        // The wiring does not contain the name of its file.
        assert_eq!([test.read("out.c"), test.read("out.rs")], by_emit, "{line}");
        test.run().status(0).stdout_is("");
        let check = test.args(&format!("{line} --check"));
        check.run().status(0);
    }
}

#[test]
fn outputs_select_emitters_and_may_name_them() {
    let test = pair().args("pair.dot -n 2 configfile json=net.json -o plan");
    test.run().status(0);
    assert!(test.read("plan/configfile").contains("-n 2"));
    assert!(test.read("plan/net.json").starts_with("{\"graphmap\":1"));
    pair()
        .args("pair.dot json=-")
        .run()
        .status(0)
        .stdout_has("{\"graphmap\":1");
}

#[test]
fn errors_are_those_of_emit() {
    for (output, message) in [
        (
            "pair.xyz",
            "error[G0006]: no emitter writes files such as `pair.xyz`",
        ),
        ("jsn=-", "error[G0006]: unknown emitter `jsn`"),
        ("json", "error[G0011]: `--emit json` names no file"),
    ] {
        let by_emit = pair()
            .args(&format!("pair.dot --emit {output}"))
            .run()
            .status(2);
        let done = pair().args(&format!("pair.dot {output}")).run().status(2);
        assert_eq!(done.stderr(), by_emit.stderr());
        assert!(done.stderr().starts_with(message), "{}", done.stderr());
    }
}

#[test]
fn a_second_graph_is_an_error_and_is_not_overwritten() {
    const OTHER: &str = "digraph other { c -> d; }";
    let test = pair().file("other.dot", OTHER).args("pair.dot other.dot");
    test.run().status(2).stdout_is("").stderr_is(
        "error[G0011]: `other.dot` is a second graph file, and an emitter reads one\n  \
         = help: `graphmap check pair.dot other.dot` checks both graphs\n\n\
         graphmap: 1 error\n",
    );
    assert_eq!(test.read("other.dot"), OTHER);
    // Nothing is written for the other outputs either.
    let test = test.args("pair.dot out.c other.gv");
    test.run()
        .status(2)
        .stderr_has("= help: `graphmap expand pair.dot -o other.gv` writes the expanded graph");
    assert_eq!(test.files(), ["other.dot", "pair.dot"]);
    // The same file is a second graph as well.
    let test = test.args("pair.dot ./pair.dot");
    test.run().status(2).stderr_has("is a second graph file");
    assert_eq!(test.read("pair.dot"), PAIR);
}

#[test]
fn a_network_in_json_is_overwritten_by_emit_only() {
    let test = pair().args("pair.dot net.json");
    test.run().status(0);
    let text = test.read("net.json");
    test.run()
        .status(2)
        .stderr_has("error[G0011]: `net.json` is a second graph file")
        .stderr_has("= help: `graphmap pair.dot --emit net.json` overwrites this file");
    assert_eq!(test.read("net.json"), text);
    test.args("pair.dot --emit net.json").run().status(0);
}

#[test]
fn a_misspelt_verb_behind_the_file_is_reported() {
    pair().args("pair.dot chekc").run().status(2).stderr_is(
        "error[G0006]: no emitter writes files such as `chekc`\n  \
             = help: did you mean `graphmap check pair.dot`?\n\n\
             graphmap: 1 error\n",
    );
    pair()
        .args("chekc pair.dot out.c")
        .run()
        .status(2)
        .stderr_has("error[G0011]: unknown verb `chekc`");
    // A verb before the file has no outputs.
    pair()
        .args("expand pair.dot out.c")
        .run()
        .status(2)
        .stderr_has("unexpected argument 'out.c'");
}

#[test]
fn the_default_graph_is_not_used_for_outputs() {
    let test = pair().args("out.c");
    test.run().status(2);
    assert_eq!(test.files(), ["pair.dot"]);
}
