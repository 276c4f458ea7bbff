//! Text from files reaches a terminal only as text, never as a control sequence.

use crate::common::Test;

/// Characters that would set a colour, move the cursor, ring the bell, rename the window, begin a
/// sequence in C1, and reverse the text.
const HOSTILE: &str = "\u{1b}[31mx\u{1b}]0;pwn\u{7}y\u{8}\u{9b}2Jz\u{85}\u{202e}evil\u{2066}\u{7f}";

/// Returns whether a terminal shows the text without any other effect.
fn is_harmless(text: &str) -> bool {
    let odd = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    !text.contains(odd)
}

/// Removes the colours that the command itself uses.
fn uncoloured(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !(c.is_ascii_digit() || c == ';'));
        let colour = end.filter(|end| part[*end..].starts_with('m'));
        plain += colour.map_or("\u{1b}", |end| &part[end + 1..]);
    }
    plain
}

fn drawing(file: &str) -> Test {
    let h = HOSTILE;
    let sound = format!(
        "digraph \"g{h}\" {{\n  subgraph \"cluster_{h}\" {{ module=\"m{h}\"; \"a{h}\"; }}\n  \
         \"a{h}\" -> \"b{h}\" [type=u8, src=\"p{h}\"];\n}}\n"
    );
    let broken = format!(
        "digraph \"g{h}\" {{\n  \"un{h}k\" [\"{h}\"=1, kind=\"{h}\", load=\"{h}\"];\n  \
         \"a{h}\" -> \"b{h}\" [bundle=\"{h}\", type=\"{h}\", lod=\"{h}\"];\n  {h}\n}}\n"
    );
    Test::new()
        .file(file, sound)
        .file("broken.dot", broken)
        .file("hosts", format!("n1\nn2{h}\n"))
        .file("good-hosts", "n1\nn2\n")
        .file("rules", format!("pin {h} = {h}\nbogus {h}\n"))
        .file("bad.json", format!("{{\"{h}\": \"{h}\"}}"))
        .file("sk/families.toml", format!("[\"{h}\"]\nabout = \"{h}\"\n"))
        .file("fine/families.toml", "[go]\nabout = \"Go\"\n")
        .file("fine/go/explicit.hbs", format!("{h}{{{{{h}}}}}"))
        .file("told/graphmap.toml", format!("\"{h}\" = \"{h}\"\n"))
        .file("told/a.dot", "digraph a { a -> b; }")
}

#[test]
fn no_verb_lets_a_name_govern_the_terminal() {
    let file = "pair\u{1b}[31m\u{9b}1m\u{202e}.dot";
    for colour in ["never", "always"] {
        for args in [
            "check FILE",
            "check broken.dot",
            "check told/a.dot",
            "check broken.dot --message-format json",
            "check FILE missing.dot",
            "check bad.json",
            "check FILE --weights bad.json",
            "view FILE",
            "view FILE --json",
            "view FILE --detail kinds",
            "view FILE --detail nodes",
            "view FILE -o text.txt",
            "partition FILE -n 2",
            "partition FILE -n 2 --json",
            "partition FILE -n 2 --hosts hosts",
            "partition FILE --hosts good-hosts",
            "partition FILE -n 2 --rules rules",
            "partition FILE -n 2 --previous bad.json",
            "partition FILE --hosts good-hosts -o out",
            "FILE --emit json=OUT",
            "FILE --emit wiring=OUT --timings",
            "FILE --emit wiring=FILE",
            "FILE --emit wiring=FILE --check",
            "FILE --emit nothing=OUT",
            "FILE --emit go=OUT --skeletons fine",
            "FILE --emit go=OUT --skeletons sk",
            "fmt FILE",
            "fmt broken.dot",
            "new PROJECT --from FILE",
            "run FILE --no-build",
            "run FILE --mapping bad.json",
            "passes --skeletons sk",
            "explain OUT",
            "OUT",
            "check FILE --OUT",
            "check --hosts OUT",
            "expand FILE -o out.dot",
        ] {
            let out = "out\u{1b}[31m\u{9b}1m\u{202e}";
            let args = args.replace("FILE", file).replace("OUT", out);
            let args = args.replace("PROJECT", &format!("project{}", "\u{9b}"));
            let test = drawing(file);
            let done = test.args(&format!("--color {colour} {args}")).run();
            for (stream, said) in [("stdout", done.stdout()), ("stderr", done.stderr())] {
                let said = match colour {
                    "always" => uncoloured(&said),
                    _ => said,
                };
                assert!(is_harmless(&said), "{args:?}: {stream}: {said:?}");
            }
            assert!(
                !done.stdout().is_empty()
                    || !done.stderr().is_empty()
                    || args.starts_with("expand"),
                "{args}: it says nothing"
            );
        }
    }
}

#[test]
fn a_valid_network_of_hostile_names_is_printed_in_full() {
    let test = drawing("pair.dot").args("view pair.dot");
    let shown = test.run().status(0).stdout();
    assert!(
        shown.contains("g\\u{1b}[31mx\\u{1b}]0;pwn\\u{7}y\\u{8}\\u{9b}2Jz\\u{85}\\u{202e}evil"),
        "{shown}"
    );
    assert!(is_harmless(&shown));
    let test = test.args("partition pair.dot -n 2");
    let table = test.run().status(0).stdout();
    assert!(table.contains("\\u{1b}[31mx"), "{table}");
    // A line break in a name does not break the line of a table.
    let test = Test::new()
        .file("lines.dot", "digraph g { \"a\u{1}\n  0  fake\" -> b; }")
        .args("partition lines.dot -n 2");
    let table = test.run().status(0).stdout();
    assert!(!table.contains("\n  0  fake"), "{table}");
}

/// Checks that data is unchanged in a pipe, and escaped on a terminal. JSON is the same text in
/// both, and remains valid.
#[test]
fn data_governs_no_terminal_either() {
    for (args, json) in [
        ("expand pair.dot", false),
        ("expand pair.dot --json", true),
        ("fmt -", false),
        ("pair.dot --emit json=-", true),
        ("pair.dot --emit model=-", true),
        ("pair.dot -n 2 --emit mapping=-", true),
        ("pair.dot -n 2 --emit mapped=-", false),
        ("pair.dot --emit svg=-", false),
        ("view pair.dot", false),
        ("view pair.dot --json", true),
        ("partition pair.dot -n 2 --json", true),
    ] {
        let test = drawing("pair.dot").args(args);
        let drawn = test.read("pair.dot");
        let test = test.stdin(drawn);
        let piped = test.run().status(0).stdout();
        let shown = test.shown_on_terminal();
        assert!(is_harmless(&shown.replace('\t', "")), "{args}: {shown:?}");
        assert!(
            shown.contains("1b") || args.contains("svg"),
            "{args}: {shown}"
        );
        if json {
            assert_eq!(shown, piped, "{args}");
            serde_json::from_str::<serde_json::Value>(&piped).unwrap();
        } else if args.starts_with("expand") || args.starts_with("fmt") {
            assert!(piped.contains(HOSTILE), "{args}: {piped:?}");
            assert_eq!(
                shown.replace("\\u{1b}", "\u{1b}").matches('\u{1b}').count(),
                piped.matches('\u{1b}').count(),
                "{args}"
            );
        }
    }
    // Text without control characters is the same in both.
    let test = Test::new()
        .file(
            "plain.dot",
            "digraph plain {\n    \"\u{e9}\" -> b;\t// \u{5d0}\n}\n",
        )
        .args("expand plain.dot");
    assert_eq!(test.shown_on_terminal(), test.run().status(0).stdout());
}
