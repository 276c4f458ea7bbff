//! Tests that `mapping.json` reads back, and that invalid mappings and mappings for other networks
//! are reported.

mod common;
use common::{mapped, network, show};
use graphmap_binding::mapping_json::{self, Document, SCHEMA, network_hash};
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::mapping::{Mapping, OsProcessId};
use graphmap_kpn::network::Network;
use graphmap_kpn::source::{Source, SourceMap};
use graphmap_testing::Schema;
use proptest::prelude::*;
use std::fmt::Write;
use std::sync::Arc;

const CHAIN: &str = "digraph chain { a -> b; b -> c; }";

fn source(text: &str) -> (SourceMap, Arc<Source>) {
    let mut sources = SourceMap::new();
    let source = sources.add("mapping.json", text).unwrap();
    (sources, source)
}

/// Returns the document and its diagnostics with positions: `G0434 error 2:4 the message`.
fn read(text: &str) -> (Option<Document>, Vec<String>) {
    let (sources, source) = source(text);
    let mut out = Diagnostics::new();
    let document = mapping_json::read(&source, &mut out);
    let line = |d: &graphmap_kpn::diagnostic::Diagnostic| {
        let place = d.primary.as_ref().and_then(|l| sources.location(l.span));
        let place = place.map_or("-".to_string(), |l| format!("{}:{}", l.line, l.column));
        format!("{} {} {place} {}", d.code, d.severity, d.message)
    };
    (document, out.iter().map(line).collect())
}

fn fit(text: &str, network: &Network) -> (Option<Mapping>, Diagnostics) {
    let (_, source) = source(text);
    let mut out = Diagnostics::new();
    let document =
        mapping_json::read(&source, &mut out).unwrap_or_else(|| panic!("{:?}", show(&out)));
    let mapping = document.fit(network, &source, &mut out);
    (mapping, out)
}

fn written() -> String {
    mapping_json::write(&mapped(
        CHAIN,
        &[1, 0, 1],
        &[(Some("h1"), &[0, 2]), (None, &[])],
    ))
}

#[test]
fn text_of_a_small_mapping() {
    let hash = network_hash(&network(CHAIN));
    let expected = format!(
        r#"{{
  "format": "graphmap-mapping",
  "version": 1,
  "network": {{"name": "chain", "hash": "{hash}"}},
  "strategy": "test",
  "os_processes": [
    {{"host": "h1", "cores": [0, 2]}},
    {{"host": null, "cores": []}}
  ],
  "processes": [
    {{"name": "a", "os_process": 1}},
    {{"name": "b", "os_process": 0}},
    {{"name": "c", "os_process": 1}}
  ]
}}
"#
    );
    assert_eq!(written(), expected);
    // The hash must not change, because a later version must read files of this one.
    assert_eq!(hash, "a6bf6f74f0041e03");
}

#[test]
fn it_reads_back() {
    let (mapping, out) = fit(&written(), &network(CHAIN));
    let mapping = mapping.unwrap();
    assert_eq!(show(&out), Vec::<String>::new());
    assert_eq!(
        (mapping.numbers().collect(), mapping.strategy.as_str()),
        (vec![1, 0, 1], "file")
    );
    let first = &mapping.bindings[OsProcessId::from_index(0)];
    assert_eq!(
        (first.host.as_deref(), &first.cores),
        (Some("h1"), &vec![0, 2])
    );
}

#[test]
fn processes_are_found_by_name() {
    // The same processes in another order with another load: ranks change, and a warning is
    // reported.
    let moved = network("digraph chain { b [load=9]; b -> c; a -> b; }");
    let (mapping, out) = fit(&written(), &moved);
    assert!(mapping.unwrap().numbers().eq([0, 1, 1]));
    assert_eq!(
        show(&out),
        ["G0436 warning the network has changed since this mapping was made"]
    );
    let heavier = network("digraph chain { a -> b [traffic=7]; b -> c; }");
    assert!(
        fit(&written(), &heavier).1.is_empty(),
        "weights are not part of the hash"
    );
}

#[test]
fn a_mapping_for_another_network() {
    let other = network("digraph ring { a -> b; b -> cc; cc -> d; }");
    let (mapping, out) = fit(&written(), &other);
    assert!(mapping.is_none());
    let found = out.iter().next().unwrap();
    assert_eq!(
        show(&out),
        ["G0436 error this mapping is for another network"]
    );
    assert_eq!(
        found.primary.as_ref().unwrap().text,
        format!("made for `chain`, hash {}", network_hash(&network(CHAIN)))
    );
    assert_eq!(
        found.notes[1..],
        [
            "the mapping lacks 2 processes of the network, such as `cc`",
            "the mapping has 1 process that the network lacks"
        ]
    );
    // The diagnostic hints at a renamed process.
    let text = written().replace("\"c\"", "\"manager\"");
    let renamed = network("digraph chain { a -> b; b -> manger; }");
    let (_, out) = fit(&text, &renamed);
    assert_eq!(
        out.iter().next().unwrap().notes[2],
        "the mapping has a process `manager`"
    );
    // An incremental mapping starts from the known processes.
    let (document, _) = read(&written());
    let known = document.unwrap().by_name(&other);
    let known = known.iter().map(|o| o.map(OsProcessId::index));
    assert!(known.eq([Some(1), Some(0), None, None]));
}

#[test]
fn invalid_mappings_are_refused() {
    let one = |text: &str| read(text).1.join("\n");
    assert_eq!(
        one(""),
        "G0434 error 1:1 this is not a mapping: it is not a JSON object"
    );
    assert_eq!(
        one("[1]"),
        "G0434 error 1:1 this is not a mapping: it is not a JSON object"
    );
    assert_eq!(
        one("{\"a\": 1}"),
        "G0434 error 1:1 this is not a mapping: `format` is missing"
    );
    assert_eq!(
        one("{\"format\": \"x\"}"),
        "G0434 error 1:1 this is a file of the format \"x\", not a mapping"
    );
    let edit = |from: &str, to: &str| {
        let text = written();
        assert!(text.contains(from), "{from}");
        one(&text.replacen(from, to, 1))
    };
    assert_eq!(
        edit("\"version\": 1", "\"version\": 2"),
        "G0008 error 1:1 the mapping is in version 2 of its format"
    );
    assert_eq!(
        edit("\"version\": 1", "\"v\": 1"),
        "G0008 error 1:1 the mapping does not state the version of its format"
    );
    assert_eq!(
        edit("  \"strategy\"", "  \"stratgy\""),
        "G0434 error 5:11 this is not a valid mapping"
    );
    assert_eq!(
        edit("[0, 2]", "[0, -2]"),
        "G0434 error 7:34 this is not a valid mapping"
    );
    for host in [".", "..", "-h", "a b", "", &"h".repeat(300)] {
        assert_eq!(
            edit("\"h1\"", &format!("\"{host}\"")),
            format!("G0434 error 7:14 {host:?} cannot be the name of a host")
        );
    }
    assert_eq!(
        edit("\"os_process\": 0", "\"os_process\": 7"),
        "G0434 error 12:14 process `b` is in OS process 7, which does not exist"
    );
    assert_eq!(
        edit("\"name\": \"b\"", "\"name\": \"a\""),
        "G0434 error 11:14 process `a` occurs twice in this mapping"
    );
    let cut = &written()[..150];
    assert!(one(cut).starts_with("G0434 error"), "{}", one(cut));
}

#[test]
fn the_schema_names_the_fields_that_are_written() {
    let mut schema = Schema::new(SCHEMA);
    let bindings: [(Option<&str>, &[u32]); 2] = [(Some("h1"), &[0, 2]), (None, &[])];
    let graph = "digraph { a -> b; b [program=\"./b\"]; }";
    let with_programs = mapping_json::write(&mapped(graph, &[0, 1], &bindings));
    for text in [written(), with_programs] {
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(schema.check(&value), Ok(()));
    }
    assert_eq!(schema.unused(), Vec::<String>::new());
}

fn edit() -> impl Strategy<Value = String> {
    let telling = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        ":",
        ",",
        "\\",
        "\\ud800",
        "\0",
        "null",
        "true",
        "-1",
        "0.5",
        "1e400",
        "4294967296",
        "99999999999999999999",
        "\"os_process\": 0,",
        "\u{1F600}",
        "\u{feff}",
        "\n",
    ];
    prop_oneof![
        prop::sample::select(telling.to_vec()).prop_map(str::to_string),
        "[ -~\u{e9}]{0,3}",
        Just("[".repeat(100_000)),
    ]
}

#[test]
fn large_mappings_are_read_in_linear_time() {
    let n = 50_000;
    let mut dot = String::from("digraph chain { s0 -> s1 [src=out, dst=in];");
    for i in 1..n - 1 {
        write!(dot, "s{i} -> s{} [src=out, dst=in];", i + 1).unwrap();
    }
    write!(dot, "NULL -> s0 [dst=in]; s{} -> NULL [src=out]; }}", n - 1).unwrap();
    let os_process: Vec<u32> = (0..n).collect();
    let places = vec![(Some("h1"), &[0][..]); n as usize];
    let made = mapped(&dot, &os_process, &places);
    let text = mapping_json::write(&made);
    let (mapping, out) = fit(&text, made.network());
    assert_eq!(
        (mapping.unwrap().numbers().collect(), out.len()),
        (os_process, 0)
    );
    // The mapping contains no process of the network.
    let (_, out) = fit(&text, &network(CHAIN));
    assert_eq!(
        show(&out),
        ["G0436 error this mapping is for another network"]
    );
}

proptest! {
    #[test]
    fn any_mapping_reads_back(
        os_process in prop::collection::vec(0u32..5, 3),
        hosts in prop::collection::vec(prop::option::of("[a-zA-Z0-9_][-a-zA-Z0-9_.]{0,12}"), 5),
        cores in prop::collection::vec(any::<u32>(), 0..4),
    ) {
        let places: Vec<(Option<&str>, &[u32])> = hosts.iter().map(|h| (h.as_deref(), cores.as_slice())).collect();
        let made = mapped(CHAIN, &os_process, &places);
        let (again, out) = fit(&mapping_json::write(&made), made.network());
        let again = again.unwrap();
        prop_assert!(out.is_empty());
        prop_assert!(again.numbers().eq(os_process));
        prop_assert_eq!(&again.bindings, &made.mapping().bindings);
    }

    #[test]
    fn no_text_makes_the_reader_panic(
        written in prop_oneof![9 => Just(written()), 1 => "\\PC{0,80}|[\\x00-\\x7f]{0,80}"],
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, edit()), 1..4),
    ) {
        let mut text: Vec<char> = written.chars().collect();
        for (at, cut, insert) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, insert.chars());
        }
        let text: String = text.into_iter().collect();
        let (document, found) = read(&text);
        prop_assert_eq!(document.is_none(), !found.is_empty());
        if document.is_some() {
            fit(&text, &network(CHAIN));
        }
    }
}
