//! Advice never leads to the next error: the help of a diagnostic is followed, and the result is
//! checked again.
//!
//! The tests follow advice that can be followed mechanically: an attribute with its value, an edge,
//! a misspelt name, a command, an option. They skip help that names a placeholder (`FILE`).

use crate::common::{NET, Test};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Diagnostic in the form of `--message-format json`.
#[derive(Debug)]
struct Found {
    code: String,
    message: String,
    is_error: bool,
    help: Vec<String>,
    /// Byte range of its position.
    place: Option<(usize, usize)>,
}

fn found(stderr: &str) -> Vec<Found> {
    let mut all = Vec::new();
    for line in stderr.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if value["type"] != "diagnostic" || value["severity"] == "note" {
            continue;
        }
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let byte = |name: &str| Some(value["primary"][name].as_u64()? as usize);
        all.push(Found {
            code: text(&value["code"]),
            message: text(&value["message"]),
            is_error: value["severity"] == "error",
            help: value["help"].as_array().unwrap().iter().map(text).collect(),
            place: byte("start").zip(byte("end")),
        });
    }
    all
}

fn check(drawing: &str) -> Vec<Found> {
    let test = Test::new().file("g.dot", drawing);
    let test = test.args("check g.dot --limit 1000 --message-format json");
    found(&test.run().stderr())
}

/// Returns each text in backticks, with the text before it.
fn quoted(help: &str) -> Vec<(&str, &str)> {
    let mut parts = help.split('`');
    let mut quoted = Vec::new();
    while let (Some(before), Some(text)) = (parts.next(), parts.next()) {
        quoted.push((before, text));
    }
    quoted
}

/// Returns whether a word is a placeholder, such as `FILE`.
fn is_placeholder(word: &str) -> bool {
    let letters = word.trim_matches(|c: char| !c.is_alphanumeric());
    letters.len() > 1 && letters.chars().all(|c| c.is_ascii_uppercase()) && letters != "NULL"
}

/// Splits an attribute such as `bundle=scatter` into its name and value.
fn attribute(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase());
    let is_value = !value.is_empty() && !value.contains("..") && !is_placeholder(value);
    // An edge or a node alone cannot have these attributes.
    let others = [
        "cluster", "process", "replicas", "kind", "sizes", "port", "closed",
    ];
    let of_others = others.contains(&name);
    (is_name && is_value && !of_others).then_some((name, value))
}

/// Returns the graph with attributes added to the statement at a position.
fn with_attributes(drawing: &str, (start, end): (usize, usize), all: &[(&str, &str)]) -> String {
    let statement = drawing[..start]
        .rfind([';', '{', '\n'])
        .map_or(0, |at| at + 1);
    let opened = drawing[statement..start]
        .rfind('[')
        .map(|at| statement + at);
    let opened = opened.or_else(|| {
        let stop = drawing[end..]
            .find([';', '\n'])
            .map_or(drawing.len(), |at| end + at);
        drawing[end..stop].find('[').map(|at| end + at)
    });
    let said: Vec<String> = all
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let said = said.join(", ");
    let Some(open) = opened else {
        let stop = drawing[end..]
            .find([';', '\n', '}'])
            .map_or(drawing.len(), |at| end + at);
        return format!("{} [{said}]{}", &drawing[..stop], &drawing[stop..]);
    };
    let close = open + drawing[open..].find(']').unwrap();
    // Removes the existing attributes that have these names.
    let others = drawing[open + 1..close].split(',').filter(|one| {
        let name = one.split('=').next().unwrap().trim();
        all.iter().all(|(said, _)| *said != name)
    });
    let others: Vec<&str> = others.collect();
    let list = [&[said.as_str()], &others[..]].concat().join(", ");
    format!("{}[{list}{}", &drawing[..open], &drawing[close..])
}

/// Returns each help of a diagnostic that can be followed in the graph, with the changed graph.
fn followed(drawing: &str, found: &Found) -> Vec<(String, String)> {
    let Some((start, end)) = found.place else {
        return Vec::new();
    };
    let mut ways = Vec::new();
    for help in &found.help {
        // The rest of this advice needs a decision of the reader.
        if help.contains("join the others") {
            continue;
        }
        let quoted = quoted(help);
        if let [("replace ", one), (" by ", other), ..] = quoted[..] {
            ways.push((help.clone(), drawing.replace(one, other)));
            continue;
        }
        if let [(before, name)] = quoted[..]
            && (before.starts_with("did you mean ") && help.ends_with("`?"))
        {
            ways.push((
                help.clone(),
                format!("{}{name}{}", &drawing[..start], &drawing[end..]),
            ));
            continue;
        }
        let edges = quoted.iter().filter(|(_, text)| {
            let is_edge = text.starts_with("NULL -> ") || text.contains(" -> NULL");
            is_edge && text.ends_with(';')
        });
        let edges: Vec<&str> = edges.map(|(_, edge)| *edge).collect();
        if !edges.is_empty() {
            let last = drawing.rfind('}').unwrap();
            let (before, after) = drawing.split_at(last);
            ways.push((
                help.clone(),
                format!("{before}{}\n{after}", edges.join("\n")),
            ));
            continue;
        }
        // Statements about the whole graph go first.
        let of_graph = quoted.iter().find_map(|(_, text)| match text {
            text if text.starts_with("edge [") => Some(text.to_string()),
            text if text.starts_with("allow=") => Some(format!("{text};")),
            _ => None,
        });
        if let Some(statement) = of_graph {
            let first = drawing.find('{').unwrap() + 1;
            let (before, after) = drawing.split_at(first);
            ways.push((help.clone(), format!("{before}\n{statement}\n{after}")));
            continue;
        }
        let mut groups: Vec<Vec<(&str, &str)>> = Vec::new();
        for (before, text) in &quoted {
            let Some(attribute) = attribute(text) else {
                continue;
            };
            match groups.last_mut() {
                Some(group) if *before == " with " => group.push(attribute),
                _ => groups.push(vec![attribute]),
            }
        }
        for group in groups {
            let way = format!("{help} ({group:?})");
            ways.push((way, with_attributes(drawing, (start, end), &group)));
        }
    }
    ways
}

/// Graphs whose diagnostics give advice that can be followed, in addition to those of the error
/// pages.
const DRAWINGS: &[&str] = &[
    // Chains with open ends: both, only the first, only the last.
    "digraph g { subgraph cluster_c { replicas=4; c; c -> c [step=1]; } }",
    "digraph g { c [replicas=4]; c -> c [step=1]; }",
    "digraph g { c [replicas=4]; c -> c [step=-1]; }",
    "digraph g { c [replicas=4]; c -> c [step=1]; c -> sink [at=last]; }",
    "digraph g { c [replicas=4]; c -> c [step=1]; source -> c [at=first]; }",
    "digraph g { c [replicas=5]; c -> c [step=2]; c -> sink [at=5]; }",
    "digraph g { subgraph cluster_m { replicas=2; c [replicas=3]; c -> c [step=1]; c -> NULL [at=3]; } }",
    "digraph g { subgraph cluster_r { replicas=3; c [replicas=3]; c -> c [step=\"1,0\", src=s, dst=n]; c -> c [step=1, src=e, dst=w]; } }",
    "digraph g { subgraph cluster_r { replicas=3; a -> b [step=1]; } }",
    // A misspelt process, a missing port.
    "digraph g { s -> worker1 [bundle=scatter]; s -> worker2; worker1 -> t; wroker2 -> t; }",
    "digraph g { a1 -> b; a2 -> c; a2 -> d [src=more]; }",
    "digraph g { \"a 1\" -> b; \"a 2\" -> c [src=\"an other\"]; \"a 1\" -> d [src=\"an other\"]; \"a 2\" -> NULL [src=x]; }",
    // Bundles.
    "digraph g { a -> {b c} [bundle=gather]; }",
    "digraph g { a -> b; a -> c; }",
    "digraph g { a -> b; a -> c [bundle=select]; }",
    "digraph g { a [replicas=3]; b [replicas=3]; a -> b; }",
    "digraph g { a [replicas=3]; b [replicas=2]; a -> b; }",
    "digraph g { a [replicas=3]; b [replicas=2]; a -> b [at=each]; }",
    "digraph g { a -> b [bundle=scater]; a -> c; }",
    // Names and values of attributes.
    "digraph g { a -> b [capcity=4]; }",
    "digraph g { a -> b [tpye=u8]; }",
    "digraph g { a -> b [initial=3]; b -> a [src=x, dst=y]; }",
    "digraph g { a -> b [initial=3, capacity=2]; b -> a [src=x, dst=y]; }",
    // Types of other languages.
    "digraph g { a -> b [type=int]; b -> c [type=string]; c -> d [type=float]; }",
    "digraph g { a -> b [type=\"std::vector<std::pair<int, int>>\"]; b -> c [type=\"unsigned char\"]; }",
    "digraph g { a -> b [capacity=2, type=\"Vec<double>\", initial=1]; b -> a [src=x, dst=y]; }",
];

/// Returns the graphs in this file, on the error pages and in `tests/checks`.
fn drawings() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut drawings: Vec<String> = DRAWINGS.iter().map(|&text| text.to_owned()).collect();
    for (folder, ending) in [("docs/src/errors", "md"), ("tests/checks", "dot")] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|end| end != ending) {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            if ending == "dot" {
                drawings.push(text);
                continue;
            }
            let examples = text.split("```dot,fails\n").skip(1);
            let examples = examples.map(|rest| rest.split("```").next().unwrap().to_owned());
            drawings.extend(examples);
        }
    }
    drawings
}

#[test]
fn advice_about_a_graph_leads_to_no_other_error() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for drawing in drawings() {
        let before = check(&drawing);
        let known = |one: &Found| {
            before
                .iter()
                .any(|other| (&other.code, &other.message) == (&one.code, &one.message))
        };
        for found in &before {
            for (advice, changed) in followed(&drawing, found) {
                count += 1;
                let after = check(&changed);
                let is_new = |one: &&Found| one.is_error && !known(one);
                let is_same =
                    |one: &Found| (&one.code, &one.message) == (&found.code, &found.message);
                // The same diagnostic may remain at another position.
                let same = |all: &[Found]| all.iter().filter(|one| is_same(one)).count();
                if let Some(new) = after.iter().find(is_new) {
                    wrong.push(format!(
                        "{} advises: {advice}\nwhich leads to {} {}\n{changed}",
                        found.code, new.code, new.message
                    ));
                } else if advice.contains("`allow=") && after.iter().any(|one| one.is_error) {
                    // `allow=` takes effect only if the graph has no error.
                } else if same(&after) >= same(&before) {
                    let code = &found.code;
                    wrong.push(format!(
                        "{code} advises: {advice}\nwhich changes nothing\n{changed}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count >= 60, "only {count} could be followed");
}

const DRAWING: &str = "digraph net { a -> b [type=u64]; }\n";
const PROFILE: &str = r#"{"processes":[{"rank":0,"name":"main0","load":1},{"rank":1,"name":"main1","load":2}],
"communicators":[{"name":"world","calls":0}],
"pairs":[{"communicator":0,"from":0,"to":1,"messages":3,"bytes":24}]}"#;

/// Commands that succeed first, the folder to run in, the command that fails, and how many pieces
/// of its advice can be followed.
const COMMANDS: &[(&[&str], &str, &str, usize)] = &[
    (&[], "", "run net.dot", 1),
    (&[], "", "net.dot", 2),
    (&["new net --from net.dot"], "", "net.dot", 2),
    (&["new net --from net.dot"], "", "new net --from net.dot", 1),
    (
        &["new net --from net.dot"],
        "",
        "new net --from net.dot --update",
        1,
    ),
    (
        &["new net --from net.dot"],
        "",
        "new net --family mpi --update",
        1,
    ),
    (&["new net --from net.dot"], "", "run net", 1),
    (&["new net --from net.dot"], "", "run net/Cargo.toml", 1),
    (&["new ranks --family mpi"], "", "new ranks", 1),
    (
        &["new ranks --family mpi"],
        "",
        "new ranks --family rust --update",
        1,
    ),
    (
        &["new ranks --family mpi"],
        "",
        "new ranks --from net.dot --update",
        1,
    ),
    (
        &["new ranks --family mpi", "import p.json -o ranks/ranks.dot"],
        "ranks",
        "run ranks.dot -- 9",
        1,
    ),
    (&[], "", "view net.dot -o net.ps", 1),
    (&[], "", "chekc net.dot", 1),
    (&[], "", "net.dot --emit json", 1),
    (&[], "", "net.dot --emit json=", 1),
    (&[], "", "check g.graph", 1),
    (&[], "", "explain 1099", 1),
    (&[], "", "explain gibberish", 1),
    (&[], "", "partition five.dot -n 2", 1),
];

fn prepared(before: &[&str], within: &str) -> Test {
    let mut test = Test::new()
        .file("net.dot", DRAWING)
        .file("pair.json", NET)
        .file("p.json", PROFILE)
        .file("g.graph", "3 2\n2\n1 3\n2\n")
        .file(
            "five.dot",
            "digraph g { a -> b -> c -> d -> e -> f; a [osprocess=5] }",
        );
    for command in before {
        test = test.args(&format!("{command} --quiet"));
        test.run().status(0);
    }
    test.within(within)
}

/// Returns the command that a piece of advice names, if it can be run unchanged.
fn command(text: &str, failed: &str) -> Option<String> {
    let is_whole = |text: &str| !text.split(' ').any(is_placeholder);
    if let Some(option) = text.strip_prefix("-n ") {
        let (before, _) = failed.split_once("-n ")?;
        return Some(format!("{before}-n {option}"));
    }
    if text.starts_with("--emit ") && is_whole(text) {
        let (before, _) = failed.split_once("--emit ")?;
        return Some(format!("{before}{text}"));
    }
    let command = text.strip_prefix("graphmap ")?;
    // Omits the program that the output is piped to.
    let command = command.split(" | ").next()?;
    is_whole(command).then(|| match command.starts_with("run ") {
        // The compiler is irrelevant here.
        true => format!("{command} --no-build"),
        false => command.to_owned(),
    })
}

#[test]
fn commands_that_are_advised_succeed() {
    for (before, within, failed, count) in COMMANDS {
        let test = prepared(before, within).args(&format!("--message-format json {failed}"));
        let done = test.run();
        assert!(!done.output.status.success(), "`{failed}` succeeds");
        let all = found(&done.stderr());
        let help: Vec<&String> = all.iter().flat_map(|one| &one.help).collect();
        let advised = help.iter().flat_map(|help| quoted(help));
        let advised: Vec<String> = advised
            .filter_map(|(_, text)| command(text, failed))
            .collect();
        assert_eq!(
            advised.len(),
            *count,
            "`{failed}` advises {advised:?}: {help:?}"
        );
        for command in advised {
            let mut test = prepared(before, within);
            if command == "check" {
                // Without a file name, `check` needs a folder with exactly one graph file.
                fs::remove_file(test.folder().join("five.dot")).unwrap();
            }
            test = test.args(&command);
            let done = test.run();
            assert!(
                done.output.status.success() && !done.stderr().contains("error"),
                "`{failed}` advises `{command}`: {}",
                done.stderr()
            );
        }
    }
}
