//! A second opinion: the crate `dot-parser`, over the same graphs.
//!
//! It is licensed under the GPL and so never a part of the product; and it reads a part of the
//! language differently. Every difference has a cause in [`CAUSES`], each of which must occur.

use graphmap_dot::decode::decode;
use graphmap_dot::lexer::Lexer;
use graphmap_dot::token::{Id, Shape, Text, TokenKind};
use graphmap_kpn::source::Span;
use plain::{Plain, corpus, say};
use std::collections::{BTreeMap, BTreeSet};

mod plain;

/// What it does with each feature of the language, as the name of the cause in the table.
const CAUSES: &[(&str, &str)] = &[
    ("nested HTML", "refuses an HTML string with a tag in it"),
    (
        "# line",
        "refuses a line that begins with `#` but the first",
    ),
    ("empty list", "refuses `[]`"),
    (
        "non-ASCII name",
        "refuses a bare name with other letters than a to z",
    ),
    ("keyword case", "refuses `Digraph` and `NODE`"),
    ("joined strings", "refuses `\"a\" + \"b\"`"),
    ("node list", "refuses `a, b -> c`"),
    (
        "backslash at the end",
        "takes the quote in `\"a\\\\\"` for escaped",
    ),
    (
        "port",
        "cuts a port whose name begins like a compass point: the rest is a new node",
    ),
    ("quoted and bare", "takes `\"a\"` and `a` for two nodes"),
    ("no graph", "refuses a file without a graph"),
];

/// The features of a text that it is known to read differently.
fn features(text: &str) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let mut lexer = Lexer::new(text);
    let (mut last, mut depth) = (None, 0_u32);
    let (mut quoted, mut bare) = (BTreeSet::new(), BTreeSet::new());
    let mut graphs = 0;
    loop {
        let token = lexer.next_token();
        let raw = &text[token.start as usize..token.end as usize];
        let keyword = raw.chars().any(|c| c.is_ascii_uppercase());
        let feature = match token.kind {
            TokenKind::End => break,
            TokenKind::Html if raw[1..].contains('<') || raw == "<>" => "nested HTML",
            TokenKind::Name if !raw.is_ascii() => "non-ASCII name",
            TokenKind::Plus => "joined strings",
            TokenKind::CloseBracket if last == Some(TokenKind::OpenBracket) => "empty list",
            TokenKind::Comma if depth == 0 => "node list",
            TokenKind::Colon if depth == 0 => "port",
            TokenKind::Quoted { .. } if raw.ends_with("\\\\\"") => "backslash at the end",
            TokenKind::Digraph
            | TokenKind::Graph
            | TokenKind::Node
            | TokenKind::Edge
            | TokenKind::Strict
            | TokenKind::Subgraph
                if keyword =>
            {
                "keyword case"
            }
            _ => "",
        };
        found.insert(feature);
        match token.kind {
            TokenKind::OpenBracket => depth += 1,
            TokenKind::CloseBracket => depth = depth.saturating_sub(1),
            TokenKind::OpenBrace => graphs += 1,
            TokenKind::Name | TokenKind::Number => {
                bare.insert(raw);
            }
            TokenKind::Quoted { .. } => {
                quoted.insert(&raw[1..raw.len() - 1]);
            }
            _ => {}
        }
        last = Some(token.kind);
    }
    found.remove("");
    if bare.intersection(&quoted).next().is_some() {
        found.insert("quoted and bare");
    }
    if text.lines().any(|l| l.starts_with('#')) {
        found.insert("# line");
    }
    if graphs == 0 {
        found.insert("no graph");
    }
    found
}

/// The meaning of a name that it left as it was written.
fn name(raw: &str) -> String {
    let shape = match raw.bytes().next() {
        Some(b'"') => Shape::Composed,
        Some(b'<') => Shape::Html,
        _ => Shape::Name,
    };
    let span = Span::new(0, raw.len() as u32);
    Text::new(raw, 0).value(Id { span, shape }).into_owned()
}

type Outline = (BTreeSet<String>, BTreeSet<(String, String)>);

fn theirs(text: &str) -> Option<Vec<Outline>> {
    let graphs = dot_parser::ast::Graphs::try_from(text).ok()?;
    let outline = |graph| {
        let graph = dot_parser::canonical::Graph::from(graph);
        let nodes = graph.nodes.set.keys().map(|n| name(n)).collect();
        let edges = graph.edges.set.iter();
        (nodes, edges.map(|e| (name(&e.from), name(&e.to))).collect())
    };
    Some(graphs.graphs.into_iter().map(outline).collect())
}

fn outline(graph: &Plain) -> Outline {
    let nodes = graph.nodes.iter().map(|n| n.0.clone()).collect();
    let edges = graph.edges.iter().map(|e| (e.0.clone(), e.1.clone()));
    (nodes, edges.collect())
}

/// The edges of an undirected graph have no order.
fn undirected(outline: &Outline) -> Outline {
    let edges = outline.1.iter().cloned();
    let sorted = edges.map(|(a, b)| if a <= b { (a, b) } else { (b, a) });
    (outline.0.clone(), sorted.collect())
}

/// It needs exponential time on nested subgraphs, and seconds on large files.
fn is_too_much(text: &str) -> bool {
    let (mut depth, mut deepest) = (0_i32, 0);
    for b in text.bytes() {
        depth += i32::from(b == b'{') - i32::from(b == b'}');
        deepest = deepest.max(depth);
    }
    text.len() > 20_000 || deepest > 6
}

#[test]
fn differences_to_dot_parser_have_known_causes() {
    let files = match corpus::files() {
        Ok(files) => files,
        Err(why) => {
            say(&format!("SKIPPED: {why}"));
            return;
        }
    };
    let (mut same, mut counts) = (0, BTreeMap::new());
    let mut unexplained = Vec::new();
    for path in &files {
        let bytes = std::fs::read(path).expect("a file of the corpus");
        let Ok((text, _)) = decode(bytes) else {
            continue;
        };
        let (ours, findings) = plain::read(&text);
        if findings.has_errors() || is_too_much(&text) {
            continue;
        }
        let theirs = theirs(&text);
        let agree = theirs.as_ref().is_some_and(|theirs| {
            theirs.len() == ours.len()
                && ours.iter().zip(theirs).all(|(a, b)| {
                    let directed = a.directed;
                    let a = outline(a);
                    a == *b || (!directed && undirected(&a) == undirected(b))
                })
        });
        if agree {
            same += 1;
            continue;
        }
        let features = features(&text);
        let verb = if theirs.is_none() {
            "refuses"
        } else {
            "misreads"
        };
        if features.is_empty() {
            unexplained.push(format!("{verb} {}", path.display()));
        }
        for feature in features {
            *counts.entry(feature).or_insert(0) += 1;
        }
    }
    for (cause, what) in CAUSES {
        let count = counts.get(cause).copied().unwrap_or(0);
        say(&format!("dot-parser {what}: {count} files"));
    }
    say(&format!("dot-parser agrees on {same} files"));
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
    assert!(same > 300);
}

#[test]
fn each_cause_of_a_difference_is_one() {
    let cases = [
        ("nested HTML", "digraph{a [label=<<b>x</b>>]}"),
        ("# line", "digraph{\n# x\na}"),
        ("empty list", "digraph{a []}"),
        ("non-ASCII name", "digraph{\u{e9}}"),
        ("keyword case", "Digraph{a}"),
        ("joined strings", "digraph{\"a\" + \"b\"}"),
        ("node list", "digraph{a, b -> c}"),
        ("backslash at the end", "digraph{\"a\\\\\" -> b}"),
        ("port", "digraph{a:north -> b}"),
        ("quoted and bare", "digraph{\"a\" -> a}"),
        ("no graph", "// nothing"),
    ];
    assert_eq!(
        cases.map(|c| c.0).to_vec(),
        CAUSES.iter().map(|c| c.0).collect::<Vec<_>>()
    );
    for (cause, text) in cases {
        let (ours, findings) = plain::read(text);
        assert!(!findings.has_errors(), "{text}");
        assert_eq!(
            features(text).into_iter().collect::<Vec<_>>(),
            [cause],
            "{text}"
        );
        let ours: Vec<Outline> = ours.iter().map(outline).collect();
        let raw = theirs_raw(text);
        assert_ne!(raw, Some(ours), "{cause} is no difference any more");
    }
    // And what it accepts and Graphviz does not.
    let text = "digraph{a -- b}";
    assert!(plain::read(text).1.has_errors() && theirs(text).is_some());
}

/// As [`theirs`], with names as it has them.
fn theirs_raw(text: &str) -> Option<Vec<Outline>> {
    let graphs = dot_parser::ast::Graphs::try_from(text).ok()?;
    let outline = |graph| {
        let graph = dot_parser::canonical::Graph::from(graph);
        let nodes = graph.nodes.set.keys().cloned().collect();
        let edges = graph.edges.set.iter();
        (
            nodes,
            edges.map(|e| (e.from.clone(), e.to.clone())).collect(),
        )
    };
    Some(graphs.graphs.into_iter().map(outline).collect())
}
