//! Compares the parser with the crate `dot-parser`, on the same graphs.
//!
//! That crate has the GPL as its license, so it must not become a part of the product. It reads a
//! part of the language differently. Each difference has a cause in [`CAUSES`], with an example. If
//! the causes are removed from a graph (see [`Common`]), both must agree.

use graphmap_dot::decode::decode;
use graphmap_dot::lexer::Lexer;
use graphmap_dot::token::{Id, Shape, Text, TokenKind};
use graphmap_kpn::source::Span;
use graphmap_testing::print_line;
use plain::{Plain, corpus};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

mod plain;

/// Features of the language that the crate treats differently, and its behaviour.
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

/// Returns the features of a text that the crate is known to read differently.
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

/// Returns the value of a name that the crate keeps as written.
fn name(raw: &str) -> String {
    let shape = match raw.bytes().next() {
        Some(b'"') => Shape::Composed,
        Some(b'<') => Shape::Html,
        _ => Shape::Name,
    };
    let span = Span::new(0, raw.len() as u32);
    Text::new(raw, 0).value(Id { span, shape }).into_owned()
}

/// A graph in the part of the language on which both agree. Names become `n0`, `n1` and so on, one
/// for each value. Attributes and ports are removed, and lists of nodes become subgraphs.
#[derive(Default)]
struct Common {
    names: BTreeMap<String, usize>,
    text: String,
}

impl Common {
    fn of(text: &str) -> Common {
        let mut lexer = Lexer::new(text);
        let mut tokens = Vec::new();
        loop {
            let token = lexer.next_token();
            if token.kind == TokenKind::End {
                break;
            }
            tokens.push((token.kind, token.start as usize..token.end as usize));
        }
        let mut common = Common::default();
        let mut rest = &tokens[..];
        let mut listed = false;
        while let [(kind, range), after @ ..] = rest {
            let next = after.first().map(|token| token.0);
            let word = match kind {
                TokenKind::OpenBracket => {
                    let end = rest.iter().position(|t| t.0 == TokenKind::CloseBracket);
                    rest = &rest[end.expect("a list that ends") + 1..];
                    continue;
                }
                TokenKind::Colon => {
                    rest = &after[id_length(after)..];
                    continue;
                }
                _ if id_length(rest) > 0 => {
                    let length = id_length(rest);
                    let raw = &text[range.start..rest[length - 1].1.end];
                    rest = &rest[length..];
                    if rest.first().is_some_and(|t| t.0 == TokenKind::Equals) {
                        rest = &rest[1 + id_length(&rest[1..])..];
                        continue;
                    }
                    while rest.first().is_some_and(|t| t.0 == TokenKind::Colon) {
                        rest = &rest[1 + id_length(&rest[1..])..];
                    }
                    let more = rest.first().is_some_and(|t| t.0 == TokenKind::Comma);
                    if more && !listed {
                        common.text.push_str("{ ");
                    }
                    let number = common.number(name(raw));
                    common.text.push_str(&format!("n{number} "));
                    if listed && !more {
                        common.text.push_str("} ");
                    }
                    listed = more;
                    rest = &rest[usize::from(more)..];
                    continue;
                }
                TokenKind::Graph | TokenKind::Node | TokenKind::Edge
                    if next == Some(TokenKind::OpenBracket) =>
                {
                    ""
                }
                // A semicolon could become an empty statement, which the crate refuses. No
                // statement needs one.
                TokenKind::Semicolon => "",
                _ => &text[range.clone()].to_ascii_lowercase(),
            };
            common.text.push_str(word);
            common.text.push(' ');
            rest = after;
        }
        common
    }

    /// Returns the number of a name.
    fn number(&mut self, name: String) -> usize {
        let next = self.names.len();
        *self.names.entry(name).or_insert(next)
    }

    /// Returns an outline with numbers instead of names.
    fn rename(&self, (nodes, edges): &Outline) -> Outline {
        let new = |name: &String| match self.names.get(name) {
            Some(number) => format!("n{number}"),
            None => panic!("`{name}` is no name of the graph"),
        };
        let edges = edges.iter().map(|(a, b)| (new(a), new(b)));
        (nodes.iter().map(new).collect(), edges.collect())
    }
}

/// Returns the number of tokens of the first name, which may be joined strings, or 0 if there is
/// none.
fn id_length(tokens: &[(TokenKind, Range<usize>)]) -> usize {
    let id = |at: usize| {
        let name = |kind| matches!(kind, TokenKind::Name | TokenKind::Number | TokenKind::Html);
        let quoted = |kind| matches!(kind, TokenKind::Quoted { .. });
        let kind = tokens.get(at).map(|token| token.0);
        kind.is_some_and(|kind| name(kind) || quoted(kind))
    };
    if !id(0) {
        return 0;
    }
    let mut length = 1;
    while tokens.get(length).is_some_and(|t| t.0 == TokenKind::Plus) && id(length + 1) {
        length += 2;
    }
    length
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

/// Sorts the ends of edges, which have no order in an undirected graph.
fn undirected(outline: &Outline) -> Outline {
    let edges = outline.1.iter().cloned();
    let sorted = edges.map(|(a, b)| if a <= b { (a, b) } else { (b, a) });
    (outline.0.clone(), sorted.collect())
}

/// Returns true for texts on which the crate takes too long: exponential time for nested subgraphs,
/// and seconds for large files.
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
    let Some(files) = corpus::files() else {
        return;
    };
    let (mut same, mut too_much, mut counts) = (0, 0, BTreeMap::new());
    let mut wrong = Vec::new();
    for path in &files {
        let bytes = std::fs::read(path).expect("a file of the corpus");
        let Ok((text, _)) = decode(bytes) else {
            continue;
        };
        let (ours, diagnostics) = plain::read(&text);
        if diagnostics.has_errors() {
            continue;
        }
        if is_too_much(&text) {
            too_much += 1;
            continue;
        }
        let theirs = theirs(&text);
        if theirs.as_ref().is_some_and(|t| agree(&ours, t, outline)) {
            same += 1;
            continue;
        }
        let verb = match theirs {
            None => "refuses",
            Some(_) => "misreads",
        };
        let features = features(&text);
        if features.is_empty() {
            wrong.push(format!("{verb} {}", path.display()));
        }
        for feature in features {
            *counts.entry(feature).or_insert(0) += 1;
        }
        // A feature excuses only its own difference.
        let common = Common::of(&text);
        let rename = |graph: &Plain| common.rename(&outline(graph));
        let fixed = match common.text.trim() {
            "" => Some(Vec::new()),
            text => self::theirs(text),
        };
        if !fixed.is_some_and(|theirs| agree(&ours, &theirs, rename)) {
            wrong.push(format!(
                "{verb} {} also without its features:\n{:.300}",
                path.display(),
                common.text
            ));
        }
    }
    for (cause, what) in CAUSES {
        let count = counts.get(cause).copied().unwrap_or(0);
        print_line(&format!("dot-parser {what}: {count} files"));
    }
    print_line(&format!(
        "dot-parser agrees on {same} files as they are; {too_much} are too much for it"
    ));
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    assert!(same > 300, "{same}");
    assert!(too_much * 10 < files.len(), "{too_much}");
}

/// Returns true if both read the same graphs.
fn agree(ours: &[Plain], theirs: &[Outline], outline: impl Fn(&Plain) -> Outline) -> bool {
    let alike = |(ours, theirs): (&Plain, &Outline)| {
        let found = outline(ours);
        found == *theirs || (!ours.directed && undirected(&found) == undirected(theirs))
    };
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(alike)
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
        let (ours, diagnostics) = plain::read(text);
        assert!(!diagnostics.has_errors(), "{text}");
        assert_eq!(
            features(text).into_iter().collect::<Vec<_>>(),
            [cause],
            "{text}"
        );
        let ours: Vec<Outline> = ours.iter().map(outline).collect();
        let raw = theirs_raw(text);
        assert_ne!(raw, Some(ours), "{cause} is no difference any more");
    }
    // The crate also accepts text that Graphviz refuses.
    let text = "digraph{a -- b}";
    assert!(plain::read(text).1.has_errors() && theirs(text).is_some());
}

/// Like [`theirs`], with names as the crate has them.
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
