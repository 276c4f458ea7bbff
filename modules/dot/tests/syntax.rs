//! Events and syntax errors of the parser.

use graphmap_dot::events::{Attribute, Events, Header, NodeRef, Target};
use graphmap_dot::parser::parse;
use graphmap_dot::token::{Id, Text};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::{SourceMap, Span};
use std::fmt::Write;

/// Writes the events in order.
struct Trace<'a> {
    text: Text<'a>,
    out: String,
}

impl Trace<'_> {
    fn id(&self, id: Option<Id>) -> String {
        id.map_or("-".to_owned(), |id| self.text.value(id).into_owned())
    }

    fn list(&self, list: &[Attribute]) -> String {
        let mut out = String::new();
        for a in list {
            let (name, value) = (self.text.value(a.name), self.text.value(a.value));
            let _ = write!(out, " {name}={value}");
        }
        out
    }

    fn say(&mut self, what: String) {
        self.out.push_str(&what);
        self.out.push('|');
    }
}

impl Events for Trace<'_> {
    fn open_graph(&mut self, header: &Header) {
        let strict = if header.strict.is_some() {
            "strict "
        } else {
            ""
        };
        let name = self.id(header.name);
        self.say(format!(
            "{strict}{} {name}",
            if header.directed { "di" } else { "un" }
        ));
    }
    fn close_graph(&mut self, _: Span) {
        self.say("end".into());
    }
    fn open_subgraph(&mut self, name: Option<Id>, _: Span) {
        self.say(format!("sub {}", self.id(name)));
    }
    fn close_subgraph(&mut self, _: Span) {
        self.say("bus".into());
    }
    fn defaults(&mut self, target: Target, attributes: &[Attribute], _: Span) {
        self.say(format!("{target:?}{}", self.list(attributes)));
    }
    fn assign(&mut self, attribute: &Attribute) {
        self.say(format!("set{}", self.list(&[*attribute])));
    }
    fn node(&mut self, node: &NodeRef) {
        let (port, compass) = (self.id(node.port), self.id(node.compass));
        self.say(format!("{}:{port}:{compass}", self.id(Some(node.name))));
    }
    fn end_operand(&mut self) {
        self.say(".".into());
    }
    fn end_chain(&mut self, operands: u32, attributes: &[Attribute], span: Span) {
        let all = self.text.raw(span).to_owned();
        self.say(format!("{operands}{} ({all})", self.list(attributes)));
    }
    fn abandon_chain(&mut self) {
        self.say("??".into());
    }
}

fn trace(text: &str) -> (String, Vec<String>) {
    let mut sources = SourceMap::new();
    // Another text comes first, so that spans do not begin at 0.
    sources.add("other", "xyz").unwrap();
    let source = sources.add("t.dot", text).unwrap();
    let mut trace = Trace {
        text: Text::new(source.text(), source.base()),
        out: String::new(),
    };
    let mut diagnostics = Diagnostics::new();
    parse(&source, &mut trace, &mut diagnostics);
    let diagnostics = diagnostics.iter().map(|d| {
        let place = d.primary.as_ref().expect("a syntax error has a place").span;
        let location = sources.location(place).unwrap();
        format!(
            "{}:{} {} {}",
            location.line,
            location.column,
            d.code,
            sources.text(place)
        )
    });
    (trace.out, diagnostics.collect())
}

#[test]
fn statements_come_as_events() {
    let cases = [
        ("strict graph{}", "strict un -|end|"),
        ("digraph \"a\" + \"b\" {c=d;}", "di ab|set c=d|end|"),
        (
            "digraph{a, b:p -> c:q:n [x=1 y=2; z=<h>][]; d}",
            "di -|a:-:-|b:p:-|.|c:q:n|.|2 x=1 y=2 z=h (a, b:p -> c:q:n [x=1 y=2; z=<h>][])\
             |d:-:-|.|1 (d)|end|",
        ),
        (
            "digraph{ subgraph s {a} -> {b -> c} -> d [k=v] }",
            "di -|sub s|a:-:-|.|1 (a)|bus|sub -|b:-:-|.|c:-:-|.|2 (b -> c)|bus|d:-:-|.\
             |3 k=v (subgraph s {a} -> {b -> c} -> d [k=v])|end|",
        ),
        (
            "DIGRAPH{ Node [a=b] edge x = [c=d] graph[e=f,] }",
            "di -|Node a=b|Edge c=d|Graph e=f|end|",
        ),
        (
            "graph a{b--c}graph d{}",
            "un a|b:-:-|.|c:-:-|.|2 (b--c)|end|un d|end|",
        ),
        ("", ""),
        ("# only a comment", ""),
        ("\u{feff}digraph{}", "di -|end|"),
    ];
    for (text, expected) in cases {
        assert_eq!(trace(text), (expected.to_owned(), vec![]), "{text}");
    }
}

#[test]
fn syntax_errors_have_their_positions() {
    let cases: &[(&str, &[&str])] = &[
        ("digraph{a;;b}", &["1:11 G0116 ;"]),
        ("digraph{a->b} junk", &["1:15 G0111 junk"]),
        ("digrap{a}", &["1:1 G0110 digrap"]),
        ("graph{a->b}", &["1:8 G0109 ->"]),
        ("digraph{a--b--c}", &["1:10 G0109 --", "1:13 G0109 --"]),
        (
            "digraph{a [bold]; b [x=]}",
            &["1:12 G0108 bold", "1:22 G0108 x"],
        ),
        ("digraph{a [x=1\n b -> c }", &["1:11 G0107 ["]),
        ("digraph{a [x=1\n b; c -> d }", &["1:11 G0107 ["]),
        ("digraph{a [x=1\n", &["1:11 G0107 [", "1:8 G0106 {"]),
        ("digraph{a -> {b; c }", &["1:8 G0106 {"]),
        ("digraph{a.b -> c-d}", &["1:10 G0102 ."]),
        ("digraph{a.b -> c\n c-d}", &["1:10 G0102 .", "2:3 G0102 -"]),
        ("digraph{a [label=\"x];\n b }", &["1:18 G0103 \"x];"]),
        ("digraph{a [label=<x<b>];\n b }", &["1:18 G0104 <x<b>];"]),
        ("digraph{a /* b }", &["1:11 G0105 /*"]),
        ("digraph{node -> a}", &["1:9 G0114 node"]),
        ("digraph{a -> graph}", &["1:14 G0114 graph"]),
        ("digraph{a -> }", &["1:14 G0101 }"]),
        (
            "digraph{a ] b\n c -> -> d\n e [x==1] }",
            &["1:11 G0101 ]", "2:7 G0101 ->", "3:7 G0101 ="],
        ),
        // After a broken statement the parser continues normally.
        ("digraph{a -> ;\n x=y\n b -> c }", &["1:14 G0101 ;"]),
        (
            "digraph{a -> b c -> ;\n x=y; a,, b\n z=1 }",
            &["1:21 G0101 ;", "2:9 G0101 ,"],
        ),
        ("digraph{2a}", &["1:9 G0112 2a"]),
        ("digraph{a:b:c:d}", &["1:14 G0101 :"]),
        ("digraph{subgraph s; a}", &["1:19 G0101 ;"]),
        ("digraph{\"a\" + b}", &["1:15 G0101 b"]),
        ("digraph{a [x:1, y=2]}", &["1:13 G0101 :"]),
    ];
    for (text, expected) in cases {
        assert_eq!(trace(text).1, *expected, "{text}");
    }
}

#[test]
fn a_flood_of_errors_is_cut_off() {
    let text = format!("digraph {{\n{}", "a ] b\n".repeat(100_000));
    assert_eq!(trace(&text).1.len(), 32);
}
