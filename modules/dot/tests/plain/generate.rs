//! Random graphs that use the whole language.

use proptest::collection::vec;
use proptest::prelude::*;

/// Generates a name in one of its spellings. There are few names, so that they occur repeatedly.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[abcd]".prop_map(|n| n),
        2 => "\"[abcd]\"".prop_map(|n| n),
        1 => Just("\"a b\"".to_owned()),
        1 => Just("\"a\" + \"b\"".to_owned()),
        1 => Just("\"q\\\"\\\\ \\n\"".to_owned()),
        1 => Just("\"ab\\\ncd\"".to_owned()),
        1 => Just("-1.5".to_owned()),
        1 => Just(".5".to_owned()),
        1 => Just("\u{e9}_7".to_owned()),
        1 => Just("\"node\"".to_owned()),
        1 => Just("\"\"".to_owned()),
    ]
}

/// Generates strings joined by `+`, with everything that may surround them. No piece contains an
/// unescaped line end, because Graphviz 2.43 loses those behind a `+`.
fn joined() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\"a\""),
        Just("\"\\n\""),
        Just("\"b\\\nc\""),
        Just("\"\""),
    ];
    let around = prop_oneof![4 => Just(""), 2 => Just(" "), 3 => space()];
    vec((piece, around.clone(), around), 2..4).prop_map(|pieces| {
        let last = pieces.len() - 1;
        let each = pieces.iter().enumerate();
        each.map(|(i, (piece, before, after))| match i == last {
            true => (*piece).to_owned(),
            false => format!("{piece}{before}+{after}"),
        })
        .collect()
    })
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![3 => name(), 1 => joined(), 1 => Just("<b<i>x</i>>".to_owned()), 1 => Just("<b\n\n c>".to_owned())]
}

fn name_or_html() -> impl Strategy<Value = String> {
    prop_oneof![3 => name(), 1 => Just("<b<i>x</i>>".to_owned())]
}

fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        8 => Just(" "),
        1 => Just("\n"),
        1 => Just(" /* c -> d */ "),
        1 => Just(" // e [\n"),
        1 => Just("\n# f {\n"),
        1 => Just("\t\r\n"),
        1 => Just("\n\n\n"),
        1 => Just(" /* two\n  lines */ "),
        1 => Just("/* c -> d */\n\n"),
    ]
}

fn list() -> impl Strategy<Value = String> {
    let separator = prop_oneof![Just(","), Just(";"), Just(" ")];
    let names = prop_oneof![Just("x"), Just("y"), Just("\"z\""), Just("key")];
    let gap = || prop_oneof![6 => Just(""), 1 => space()];
    // Edges of strict graphs differ by their keys. Graphviz 2.43 compares keys that are joined, or
    // HTML over several lines, in its own way, so keys are plain here.
    let named = names.prop_flat_map(|name| match name {
        "key" => (Just(name), name_or_html().boxed()),
        _ => (Just(name), value().boxed()),
    });
    let attribute = (gap(), named, gap(), separator, gap());
    let attribute = attribute.prop_map(|(a, (n, v), b, s, c)| format!("{n}{a}={v}{b}{s}{c}"));
    (gap(), vec(attribute, 0..4), any::<bool>()).prop_map(|(gap, all, twice)| {
        let list = format!("[{gap}{}]", all.concat());
        match twice {
            true => format!("{list}{gap}[y=2{gap}]"),
            false => list,
        }
    })
}

fn node() -> impl Strategy<Value = String> {
    let port = prop_oneof![
        5 => Just(String::new()),
        1 => name().prop_map(|p| format!(":{p}")),
        1 => name().prop_map(|p| format!(":{p}:se")),
    ];
    (name(), port).prop_map(|(name, port)| format!("{name}{port}"))
}

fn operand(inner: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = String> {
    let header = prop_oneof![
        Just("subgraph"),
        Just("subgraph s"),
        Just("subgraph cluster_1"),
        Just(""),
    ];
    prop_oneof![
        4 => node(),
        1 => vec(node(), 2..4).prop_map(|all| all.join(", ")),
        2 => (header, vec(inner, 0..4)).prop_map(|(h, all)| format!("{h} {{ {} }}", all.concat())),
    ]
}

/// Generates statements, with `@` for the edge operator.
fn statement() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        name().prop_map(|n| format!("{n};\n")),
        (name(), value()).prop_map(|(n, v)| format!("{n} = {v}\n")),
        (
            prop_oneof![Just("node"), Just("EDGE"), Just("Graph")],
            list()
        )
            .prop_map(|(k, l)| format!("{k} {l};\n"))
            .prop_filter("a list must follow", |s| s.contains('[')),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let end = prop_oneof![Just(";"), Just("\n"), Just(" ")];
        (
            vec(operand(inner), 1..4),
            space(),
            list(),
            any::<bool>(),
            end,
        )
            .prop_map(|(operands, space, list, listed, end)| {
                let list = if listed { list } else { String::new() };
                format!(
                    "{}{space}{list}{end}",
                    operands.join(&format!("{space}@{space}"))
                )
            })
    })
}

/// Generates a graph.
pub(crate) fn graph() -> impl Strategy<Value = String> {
    let head = prop_oneof![
        3 => Just(("digraph", "->")),
        1 => Just(("graph", "--")),
        1 => Just(("strict digraph g", "->")),
        1 => Just(("STRICT Graph \"h\"", "--")),
    ];
    (head, vec(statement(), 0..8)).prop_map(|((head, operator), statements)| {
        // `@` occurs only as edge operator.
        let mut body = statements.concat().replace('@', operator);
        if head.starts_with(['s', 'S']) {
            // For a second edge with a key, the result of Graphviz depends on the scope: at the
            // root its attributes are ignored, and in a subgraph it is another edge. graphmap does
            // not merge edges, so only the model of these tests would have to follow that. Graphs
            // may not be strict (G0202), and `fmt` keeps statements unchanged.
            body = body.replace("key=", "kex=");
        }
        format!("{head} {{\n{body}}}\n")
    })
}

/// Generates a text with a few bytes changed, removed or inserted.
pub(crate) fn mutated(text: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(""),
        Just(";"),
        Just("]"),
        Just("["),
        Just("{"),
        Just("}"),
        Just("\""),
        Just("<"),
        Just(">"),
        Just("="),
        Just("->"),
        Just("--"),
        Just("+"),
        Just(","),
        Just(":"),
        Just("a"),
        Just("5"),
        Just("."),
        Just("-"),
        Just("/*"),
        Just("node"),
        Just("\\"),
        Just("\n"),
    ];
    (
        text,
        vec((any::<prop::sample::Index>(), 0..3_usize, piece), 1..4),
    )
        .prop_map(|(text, changes)| {
            let mut chars: Vec<char> = text.chars().collect();
            for (index, taken, put) in changes {
                let at = index.index(chars.len() + 1);
                let end = (at + taken).min(chars.len());
                chars.splice(at..end, put.chars());
            }
            chars.into_iter().collect()
        })
}
