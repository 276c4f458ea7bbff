//! Sizes, formulas for instances, module ports and included graphs: from text to channels.

use graphmap_dot::language::load_with;
use graphmap_kpn::compose::{Included, Origin, compose};
use graphmap_kpn::declared::{Constraint, ConstraintTarget, Declared};
use graphmap_kpn::diagnostic::{Diagnostics, Severity};
use graphmap_kpn::expand::expand;
use graphmap_kpn::resolve::resolve;
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::SourceMap;
use std::collections::HashMap;

/// Reads a graph with values for its sizes. Included files are in `files`. Returns the
/// expanded declarations, or the codes of all diagnostics if there are errors.
fn expanded(text: &str, given: &Given, files: &[(&str, &str)]) -> Result<Declared, Vec<String>> {
    let mut sources = SourceMap::new();
    let mut found = Diagnostics::new();
    let codes = |found: &Diagnostics| -> Vec<String> {
        let errors = found.iter().filter(|d| d.severity == Severity::Error);
        errors
            .map(|d| format!("{} {}", d.code, d.message))
            .collect()
    };
    let declared = load_with(given, &mut sources, "t.dot", text.into(), &mut found);
    let Some(declared) = declared else {
        return Err(codes(&found));
    };
    let files: HashMap<&str, &str> = files.iter().copied().collect();
    let origin = |path: &str| Origin {
        path: path.to_owned(),
        identity: path.to_owned(),
    };
    let composed = compose(
        declared,
        origin("t.dot"),
        given,
        &mut |request, found| {
            let text = files.get(request.file).expect("the test has this file");
            let bytes = text.as_bytes().to_vec();
            let declared = load_with(request.sizes, &mut sources, request.file, bytes, found)?;
            let origin = origin(request.file);
            Some(Included { origin, declared })
        },
        &mut found,
    );
    if found.has_errors() {
        return Err(codes(&found));
    }
    match expand(composed) {
        Ok((declared, _)) => Ok(declared),
        Err(found) => Err(codes(&found)),
    }
}

/// Returns the channels of a graph in order, as `writer.port -> reader.port`.
fn channels(declared: &Declared) -> Vec<String> {
    let channels = declared.channels.iter().map(|channel| {
        let end = |end: graphmap_kpn::declared::EndDecl| match end.node {
            Some(node) => {
                let node = declared.name(declared.nodes[node].name);
                match declared.name(end.port) {
                    "in" | "out" => node.to_owned(),
                    port => format!("{node}.{port}"),
                }
            }
            None => "NULL".to_owned(),
        };
        let capacity = match channel.capacity {
            Some(capacity) => format!(" [{capacity}]"),
            None => String::new(),
        };
        format!("{} -> {}{capacity}", end(channel.from), end(channel.to))
    });
    channels.collect()
}

fn of(text: &str) -> Vec<String> {
    channels(&expanded(text, &Given::default(), &[]).unwrap())
}

fn errors(text: &str) -> Vec<String> {
    expanded(text, &Given::default(), &[]).unwrap_err()
}

#[test]
fn expressions_stand_for_numbers_everywhere() {
    let text = r#"digraph {
        sizes="n=3, m=n-1";
        a -> b [bundle=scatter, capacity="2*m", tag="n", initial="m", traffic="n^2"];
        b [replicas="n", load="n+1", mem="n", hold="1..n"];
        a [osprocess="m-2"];
        c -> d [at="n, 1", capacity="n"];
        c [replicas="n+1"]; d [replicas="m"];
        c -> NULL [at="1"]; c -> NULL [at=2]; c -> NULL [at="n+1"]; NULL -> d [at="m"];
    }"#;
    let declared = expanded(text, &Given::default(), &[]).unwrap();
    let all = channels(&declared);
    assert_eq!(all[0..3], ["a -> b1 [4]", "a -> b2 [4]", "a -> b3 [4]"]);
    assert_eq!(all[3], "c3 -> d1 [3]");
    let first = &declared.channels[0];
    let extra = declared.extra(first).unwrap();
    assert_eq!((extra.tag, first.initial, first.traffic), (Some(3), 2, 9.0));
    assert_eq!(declared.nodes.values().nth(1).unwrap().load, 4.0);
    assert_eq!(declared.sizes, ["m", "n"]);
}

#[test]
fn the_innermost_definition_of_a_size_counts() {
    let text = r#"digraph {
        subgraph cluster_a { x [replicas="n"]; sizes="n=2"; }
        subgraph cluster_b { y [replicas="n"]; }
        y -> NULL; x -> NULL;
        sizes="n=3";
    }"#;
    assert_eq!(of(text).len(), 5);
    let given: Given = [("n", 4)].into_iter().collect();
    let declared = expanded(text, &given, &[]).unwrap();
    assert_eq!(channels(&declared).len(), 6);
}

#[test]
fn a_given_size_needs_no_definition() {
    let text = r#"digraph { a -> b [bundle=scatter]; b [replicas="k"]; }"#;
    let given: Given = [("k", 2)].into_iter().collect();
    let declared = expanded(text, &given, &[]).unwrap();
    assert_eq!(channels(&declared), ["a -> b1", "a -> b2"]);
    assert_eq!(declared.sizes, ["k"]);
    assert_eq!(
        errors(r#"digraph { sizes="m=1"; b [replicas="k"]; }"#),
        ["G0231 the size `k` is not defined"]
    );
}

#[test]
fn errors_of_definitions_are_reported_together_and_once() {
    let text = r#"digraph {
        sizes="a=b, b=c+a, c=1, d=7/2, e=d, f=1, f=2, g=(1";
        x [replicas="a"]; y [replicas="e"]; z [replicas="c-2"];
    }"#;
    assert_eq!(
        errors(text),
        [
            "G0232 circular definition of sizes: `a` uses `b` uses `a`",
            "G0230 `7/2` has no value",
            "G0232 the size `f` is defined twice",
            "G0230 `(1` is not an expression",
            "G0206 `c-2 = -1` is not a value of `replicas`",
        ]
    );
}

#[test]
fn a_long_chain_of_definitions_has_a_value() {
    let definitions = (1..20_000).rev().map(|i| format!("s{i}=s{}+1, ", i - 1));
    let list = definitions.collect::<String>() + "s0=1";
    let text = format!("digraph {{ sizes=\"{list}\"; a [replicas=\"s19999/10000\"]; }}");
    let declared = expanded(&text, &Given::default(), &[]).unwrap();
    assert_eq!(declared.nodes.len(), 2);
}

#[test]
fn formulas_select_the_instances() {
    let text = r#"digraph {
        sizes="n=6";
        a [replicas="n"]; b [replicas="n/2"];
        a -> b [for="i=1..n/2", at="2*i, i"];
        a -> NULL [for="i=1..n/2", at="2*i-1"];
    }"#;
    assert_eq!(
        of(text),
        [
            "a2 -> b1",
            "a4 -> b2",
            "a6 -> b3",
            "a1 -> NULL",
            "a3 -> NULL",
            "a5 -> NULL"
        ]
    );
}

#[test]
fn inner_loops_use_the_outer_variables() {
    let text = r#"digraph {
        a [replicas=3]; b [replicas=3];
        a -> b [for="i=1..3, j=i..3", at="i, j", bundle="switch,gather"];
    }"#;
    let expected = [
        "a1 -> b1", "a1 -> b2", "a1 -> b3", "a2 -> b2", "a2 -> b3", "a3 -> b3",
    ];
    assert_eq!(of(text), expected);
}

#[test]
fn formulas_are_repeated_with_the_cluster_around_them() {
    let text = r#"digraph {
        subgraph cluster_m {
            replicas=2;
            c [replicas=3];
            c -> c [for="i=1..3", at="i, i+1", beyond=NULL];
            NULL -> c [at=first];
        }
    }"#;
    assert_eq!(
        of(text)[..6],
        [
            "c1_1 -> c1_2",
            "c1_2 -> c1_3",
            "c1_3 -> NULL",
            "c2_1 -> c2_2",
            "c2_2 -> c2_3",
            "c2_3 -> NULL"
        ]
    );
    // Outside of the cluster, the number counts through all instances.
    let text = r#"digraph {
        subgraph cluster_m { replicas=2; c [replicas=3]; }
        c -> c [for="i=1..3", at="i, i+3"];
    }"#;
    assert_eq!(of(text), ["c1_1 -> c2_1", "c1_2 -> c2_2", "c1_3 -> c2_3"]);
}

#[test]
fn errors_of_loops_have_codes() {
    let cases = [
        ("for=\"i=1..3\"", "G0238 `for=` without `at=`"),
        ("for=\"i=1\", at=\"i\"", "G0238 `i=1` is not a loop"),
        (
            "for=\"i=1..2, i=1..2\", at=\"i\"",
            "G0238 two loops have the variable `i`",
        ),
        (
            "for=\"i=1..9\", at=\"i\"",
            "G0253 `at=` has the value 5, but `a` has 4 instances",
        ),
        (
            "for=\"i=1..3\", at=\"i, i, i\"",
            "G0238 `i, i, i` does not select a writer and a reader",
        ),
        (
            "for=\"i=1..10^18\", at=\"i\"",
            "G0250 the loops of `for=` have more than 16777216 rounds",
        ),
        ("for=\"i=1..3\", at=\"i/2\"", "G0230 `i/2` has no value"),
        (
            "for=\"i=1..k\", at=\"i\"",
            "G0231 the size `k` is not defined",
        ),
        (
            "for=\"i=1..2\", at=\"first, i\"",
            "G0238 `first` in `at=` with `for=`",
        ),
        (
            "for=\"i=1..2\", at=\"i+2^32, i\"",
            "G0253 `at=` has the value 2147483647 or more, but `a` has 4 instances",
        ),
        (
            "for=\"i=1..3\", at=\"i\", step=1",
            "G0238 `for=` and `step=` or `wrap=` contradict each other",
        ),
    ];
    for (attributes, expected) in cases {
        let text = format!("digraph {{ a [replicas=4]; a -> b [{attributes}]; }}");
        assert_eq!(errors(&text), [expected], "{attributes}");
    }
}

#[test]
fn channels_at_a_module_port_are_one() {
    let text = r#"digraph {
        start -> receive [capacity=7];
        subgraph cluster_c {
            receive [port=in]; send [port=out];
            element [replicas=3];
            receive -> element [dst=prev, at=first];
            element -> element [src=next, dst=prev, step=1];
            element -> send [src=next, at=last];
        }
        send -> end;
    }"#;
    assert_eq!(
        of(text),
        [
            "start -> element1.prev [7]",
            "element1.next -> element2.prev",
            "element2.next -> element3.prev",
            "element3.next -> end"
        ]
    );
}

#[test]
fn ports_of_repeated_and_nested_modules_are_joined_by_instance() {
    let text = r#"digraph {
        source -> outer [bundle=scatter];
        subgraph cluster_o {
            replicas=2; outer [port=in]; back [port=out];
            outer -> inner [bundle=scatter];
            subgraph cluster_i {
                replicas=2; closed=true; inner [port=in]; result [port=out];
                inner -> x -> result;
            }
            result -> back;
        }
        back -> sink;
    }"#;
    assert_eq!(
        of(text),
        [
            "source -> x1_1",
            "source -> x1_2",
            "source -> x2_1",
            "source -> x2_2",
            "x1_1 -> sink",
            "x1_2 -> sink",
            "x2_1 -> sink",
            "x2_2 -> sink"
        ]
    );
}

#[test]
fn channels_pass_from_port_to_port_and_to_the_environment() {
    let text = r#"digraph {
        subgraph cluster_a { in_a [port=in]; out_a [port=out]; in_a -> out_a; x -> y; }
        subgraph cluster_b { in_b [port=in]; in_b -> z; }
        NULL -> q [port_of=none];
        p -> in_a; out_a -> in_b; q -> NULL;
        subgraph cluster_c { in_c [port=in]; in_c -> NULL; }
        r -> in_c;
    }"#
    .replace(" [port_of=none]", "");
    let all = of(&text);
    assert!(all.contains(&"p -> z".to_owned()), "{all:?}");
    assert!(all.contains(&"r -> NULL".to_owned()), "{all:?}");
}

#[test]
fn a_circle_of_ports_is_an_error() {
    for text in [
        "subgraph cluster_m { p [port=in]; q [port=out]; p -> q; } a -> p; q -> p; q -> b;",
        "subgraph cluster_m { p [port=in]; q [port=out]; p -> q; } q -> p;",
        "subgraph cluster_m { replicas=3; p [port=in]; q [port=out]; p -> q; q -> p [step=1, wrap=true]; }",
    ] {
        let found = errors(&format!("digraph {{ {text} }}"));
        assert_eq!(found.len(), 1, "{text} {found:?}");
        assert!(found[0].starts_with("G0233 the module ports"), "{found:?}");
    }
    // A path through many ports multiplies.
    let mut text = "digraph { a -> p0;".to_owned();
    for i in 0..40 {
        let next = i + 1;
        text += &format!(
            "subgraph cluster_{i} {{ p{i} [port=in]; q{i} [port=out]; r{i} [port=out]; \
             p{i} -> q{i}; p{i} -> r{i}; }} q{i} -> p{next}; r{i} -> p{next};"
        );
    }
    text += "subgraph cluster_e { p40 [port=in]; p40 -> NULL; } }";
    let found = errors(&text.replace("a -> p0", "NULL -> p0"));
    assert_eq!(
        found,
        ["G0250 channels pass through module ports more than 16777216 times"]
    );
}

#[test]
fn ports_do_not_depend_on_the_sizes_of_loops() {
    let ends = |n: i64| {
        let text = r#"digraph {
            a [replicas=n]; c; d;
            a -> c [for="i=1..n", at="i"];
            d -> a [for="i=1..n", at="i", bundle=scatter];
        }"#;
        let given: Given = [("n", n)].into_iter().collect();
        let declared = expanded(text, &given, &[]).unwrap();
        let extra = |channel| declared.extra(channel).cloned().unwrap_or_default();
        let flags = declared
            .channels
            .iter()
            .map(|c| (extra(c).lone, extra(c).vacant));
        (channels(&declared), flags.collect::<Vec<_>>())
    };
    let (none, flags) = ends(0);
    assert_eq!(none, ["NULL -> c", "d -> NULL"]);
    assert!(flags.iter().all(|(_, vacant)| *vacant));
    let (one, flags) = ends(1);
    assert_eq!(one, ["a1 -> c", "d -> a1"]);
    assert!(flags[0].0);
}

#[test]
fn an_undefined_size_in_a_cluster_is_an_error() {
    assert_eq!(
        errors("digraph { subgraph cluster_x { a -> b [capacity=\"n*2\"]; } }"),
        ["G0231 the size `n` is not defined"]
    );
    assert_eq!(
        errors("digraph { sizes=\"n=2\"; w [hold=\"1-n\"]; w -> NULL; }"),
        ["G0206 `1-n = -1` is not a value of `hold`"]
    );
}

#[test]
fn the_order_at_a_bundle_is_that_of_the_outer_edges() {
    let text = r#"digraph {
        subgraph cluster_a { out_a [port=out]; x -> out_a; }
        subgraph cluster_b { out_b [port=out]; y -> out_b; }
        out_b -> sink [bundle=gather];
        out_a -> sink [bundle=gather];
    }"#;
    assert_eq!(of(text), ["y -> sink", "x -> sink"]);
}

#[test]
fn misuse_of_ports_is_reported_with_codes() {
    let codes = |text: &str| -> Vec<String> {
        let all = errors(text);
        all.iter().map(|error| error[..5].to_owned()).collect()
    };
    let cluster = |inside: &str, outside: &str| {
        format!("digraph {{ subgraph cluster_c {{ {inside} }} {outside} }}")
    };
    let cases = [
        ("p [port=in]; p -> x;", "", "G0234"),
        ("p [port=in]; x;", "a -> p;", "G0234"),
        ("p [port=in]; p -> x; x -> p;", "a -> p;", "G0233"),
        ("p [port=in]; p -> x;", "p -> a; a -> p;", "G0233"),
        ("p [port=in]; p -> x;", "a -> p [dst=q];", "G0233"),
        ("p [port=in, load=2]; p -> x;", "a -> p;", "G0205"),
        ("p [port=in, replicas=2]; p -> x;", "a -> p;", "G0205"),
        ("p [port=up]; p -> x;", "a -> p;", "G0206"),
        ("closed=true; x;", "a -> x;", "G0235"),
        (
            "p [port=in]; p -> x [type=u8];",
            "a -> p [type=u16];",
            "G0236",
        ),
        ("x [name=y];", "a -> x;", "G0205"),
        ("x [sizes=\"n=1\"];", "a -> x;", "G0205"),
        (
            "p [port=in]; q [port=in, name=p]; {p q} -> x;",
            "a -> {p q} [bundle=scatter];",
            "G0219",
        ),
    ];
    for (inside, outside, code) in cases {
        assert_eq!(
            codes(&cluster(inside, outside)),
            [code],
            "{inside} {outside}"
        );
    }
}

const LIST: &str = r#"digraph linkedlist {
    sizes="n=2, kinds=1";
    out [port=out]; in [port=in];
    in -> item [at=first]; item [replicas="n"]; item -> item [step=1]; item -> out [at=last];
    Manager [colocate=m]; Manager -> item [bundle=scatter, dst=control];
    subgraph cluster_log { log; } Manager -> log [src=log];
}"#;

#[test]
fn included_graphs_become_modules_with_their_own_sizes() {
    let text = r#"digraph {
        a -> L1 -> L2 -> b;
        L1 [use="list.dot", sizes="n=1+2"];
        L2 [use="list.dot", kinds="Manager=boss"];
    }"#;
    let given: Given = [("L2.n", 1)].into_iter().collect();
    let declared = expanded(text, &given, &[("list.dot", LIST)]).unwrap();
    let all = channels(&declared);
    assert_eq!(
        all[..3],
        ["a -> L1.item1", "L1.item3 -> L2.item1", "L2.item1 -> b"]
    );
    assert_eq!(all.len(), 3 + (2 + 3 + 1) + (1 + 1));
    let kinds: Vec<&str> = (declared.nodes.values())
        .map(|node| declared.name(node.kind))
        .filter(|kind| *kind == "Manager" || *kind == "boss")
        .collect();
    assert_eq!(kinds, ["Manager", "boss"]);
    // Ranks: the processes of a graph stand at its node.
    let names: Vec<&str> = (declared.nodes.values())
        .map(|node| declared.name(node.name))
        .collect();
    assert_eq!(names[..2], ["a", "L1.item1"]);
    assert_eq!(names.last(), Some(&"b"));
    assert_eq!(declared.sizes, ["L1.kinds", "L1.n", "L2.kinds", "L2.n"]);
    let modules: Vec<&str> = (declared.modules.values())
        .map(|module| declared.name(module.name))
        .collect();
    assert_eq!(
        modules,
        ["cluster_L1", "cluster_log", "cluster_L2", "cluster_log"]
    );
}

#[test]
fn an_included_graph_is_repeated_with_its_node() {
    let text = r#"digraph {
        a -> L [bundle=scatter]; L -> b;
        L [use="list.dot", replicas=2, sizes="n=1", host=h];
    }"#;
    let declared = expanded(text, &Given::default(), &[("list.dot", LIST)]).unwrap();
    assert_eq!(
        channels(&declared)[..4],
        [
            "a -> L.item1_1",
            "a -> L.item2_1",
            "L.item1_1 -> b",
            "L.item2_1 -> b"
        ]
    );
}

#[test]
fn errors_of_included_graphs_have_codes() {
    let files = [
        ("list.dot", LIST),
        ("self.dot", "digraph { A [use=\"self.dot\"]; }"),
    ];
    let cases = [
        (
            "a -> L [dst=input]; L -> b; L [use=\"list.dot\"];",
            "G0240 the included graph has no module port `input`",
        ),
        (
            "a -> L [dst=out]; L -> b; L [use=\"list.dot\"];",
            "G0240 channels leave the included graph at `out`, they do not enter it",
        ),
        (
            "a -> L -> b; L [use=\"list.dot\", sizes=\"m=1\"];",
            "G0231 `list.dot` has no size `m`",
        ),
        (
            "a -> L -> b; L [use=\"list.dot\", kinds=\"boss=Manager\"];",
            "G0239 `list.dot` has no kind `boss`",
        ),
        ("L [use=\"self.dot\"];", "G0239 `self.dot` includes itself"),
        (
            "\"L.log\" -> b; a -> L -> b; L [use=\"list.dot\"];",
            "G0256 two nodes are named `L.log` after `list.dot` is included",
        ),
        (
            "a -> L -> b; L [use=\"list.dot\", load=2];",
            "G0205 `load` is not allowed on an included graph",
        ),
        (
            "a -> L -> b; L [use=\"list.dot\", kinds=\"log=a, log=b\"];",
            "G0219 the kind `log` is renamed twice",
        ),
        (
            "a -> L -> b; L [use=\"list.dot\", sizes=\"n=1, n=1\"];",
            "G0232 the size `n` is defined twice",
        ),
        (
            "a -> L -> b; L [use=\"list.dot\", sizes=\"n\"];",
            "G0230 `n` does not define a size",
        ),
        (
            "a -> L -> b; L [use=\"list.dot\"]; b [whole=true];",
            "G0205 `whole` is not allowed on a process",
        ),
        (
            "L [use=\"list.dot\", port=in];",
            "G0205 a node is a module port or includes a graph, not both",
        ),
    ];
    for (text, expected) in cases {
        let text = format!("digraph {{ {text} }}");
        let found = expanded(&text, &Given::default(), &files).unwrap_err();
        assert_eq!(found, [expected], "{text}");
    }
}

#[test]
fn an_included_graph_has_attributes_and_constraints_of_a_module() {
    let text = r#"digraph {
        x_owner=me; L [use="list.dot", whole=true, prefer=3, x_owner=you];
    }"#;
    let files = [(
        "list.dot",
        "digraph { x_owner=it; x_est=3; rankdir=LR; a; }",
    )];
    let declared = expanded(text, &Given::default(), &files).unwrap();
    let module = declared.modules.ids().next().unwrap();
    let list = declared.attributes.modules.get(module);
    let list = declared.attributes.lists.list(list).iter();
    let list = list.map(|(name, value)| [declared.name(*name), declared.name(*value)]);
    assert_eq!(
        list.collect::<Vec<_>>(),
        [["x_est", "3"], ["x_owner", "you"]]
    );
    let constraints = declared.constraints.iter();
    let constraints = constraints.map(|one| (one.target, one.constraint.clone()));
    assert_eq!(
        constraints.collect::<Vec<_>>(),
        [Constraint::Whole, Constraint::Prefer(3.0)]
            .map(|one| (ConstraintTarget::Module(module), one))
    );
}

#[test]
fn a_word_for_a_number_is_a_size() {
    let cases = [
        ("a -> b [capacity=n];", "G0231 the size `n` is not defined"),
        ("a [replicas=m];", "G0231 the size `m` is not defined"),
        ("a [load=nan];", "G0206 `nan` is not a value of `load`"),
        (
            "a [replicas=2]; a -> b [at=frist];",
            "G0206 `frist` is not a value of `at`",
        ),
        (
            "sizes=\",n=3,m\"; a -> b [capacity=n, initial=m];",
            "G0230 `` does not define a size|G0230 `m` does not define a size",
        ),
        (
            "a [hold=\"5..2\"];",
            "G0206 `5..2` is not a value of `hold`",
        ),
        (
            "a [params=\"x: f64\", args=nan];",
            "G0245 `nan` is not a finite number",
        ),
        (
            "subgraph cluster_a { replicas=65536; subgraph cluster_b { replicas=65536; \
             subgraph cluster_c { replicas=65536; subgraph cluster_d { replicas=65536; a } } } }",
            "G0250 the expanded graph has more than 10^19 processes, channels or modules; \
             the limit is 268435456",
        ),
        (
            "attributes=\"b c, est\";",
            "G0206 `b c` is not the name of an attribute",
        ),
    ];
    for (text, expected) in cases {
        let text = format!("digraph {{ {text} }}");
        assert_eq!(errors(&text).join("|"), expected, "{text}");
    }
    let sizes = [
        "\"si\" + \"zes\"",
        "\"siz\\\nes\"",
        "\"siz\\\r\nes\"",
        "<sizes>",
    ];
    for name in sizes {
        let text =
            format!("digraph {{ {name}=\"nan=3\"; a -> b [capacity=nan]; b [hold=\"1..4\"]; }}");
        assert_eq!(of(&text), ["a -> b [3]"], "{text}");
    }
}

#[test]
fn the_number_of_instances_follows_from_the_os_processes() {
    let text = r#"digraph {
        manager [replicas="+", hold=1];
        boss [kind=worker]; boss -> NULL;
        worker [replicas="*", hold="2-4"];
        subgraph cluster_m { replicas="+"; x [hold=6]; subgraph cluster_i { replicas=2; y [kind=x]; } }
    }"#;
    let mut given = Given::default();
    let count = |given: &Given| -> Vec<usize> {
        let declared = expanded(text, given, &[]).unwrap();
        let named = |prefix: &str| {
            let names = declared.nodes.values().map(|node| declared.name(node.name));
            names.filter(|name| name.starts_with(prefix)).count()
        };
        ["manager", "worker", "x", "y"].map(named).to_vec()
    };
    assert_eq!(count(&given), [1, 0, 1, 2]);
    given.set_os_processes(Some(5));
    assert_eq!(count(&given), [5, 5 * 4 - 1, 30 / 3, 30 / 3 * 2]);
    let codes = |text: &str, n| {
        let mut given = Given::default();
        given.set_os_processes(Some(n));
        expanded(text, &given, &[]).unwrap_err()
    };
    assert_eq!(
        codes("digraph { a [replicas=\"+\"]; }", 3),
        ["G0247 nothing limits the number of instances"]
    );
    let full = "digraph { a [replicas=\"+\", hold=1]; b [kind=a, replicas=3]; a -> b [at=all, bundle=switch]; }";
    assert_eq!(
        codes(full, 3),
        ["G0247 3 OS processes hold 3 processes of the kind, and no instance fits"]
    );
}

/// Returns the ports of a kind in a network, as `process.port`. Included files are in `files`.
fn ports_of(text: &str, kind: &str, files: &[(&str, &str)]) -> Vec<String> {
    let declared = expanded(text, &Given::default(), files).unwrap();
    let (network, _) = resolve(declared).unwrap();
    let all = network.ports.values().map(|port| (port.process, port.name));
    let all = all.filter(|(process, _)| network.kind_name(*process) == kind);
    all.map(|(process, name)| format!("{}.{}", network.process_name(process), network.name(name)))
        .collect()
}

#[test]
fn ports_of_a_split_process_are_named_as_in_its_declaration() {
    let nodes = "put [process=M]; get [process=M]; put -> w -> get;";
    let graph = format!("digraph m {{ {nodes} }}");
    let files = [("m.dot", &*graph)];
    assert_eq!(ports_of(&graph, "M", &[]), ["M.put.out", "M.get.in"]);
    let text = "digraph { c [use=\"m.dot\"]; d [use=\"m.dot\", replicas=2]; }";
    let expected = ["c.M", "d.M1", "d.M2"].map(|m| [format!("{m}.put.out"), format!("{m}.get.in")]);
    assert_eq!(ports_of(text, "M", &files), expected.concat());
    let text = format!("digraph {{ subgraph cluster_x {{ replicas=2; {nodes} }} }}");
    let expected = ["M1.put.out", "M1.get.in", "M2.put.out", "M2.get.in"];
    assert_eq!(ports_of(&text, "M", &[]), expected);
    // The numbers of instances do not matter, also if the names in the source end with one.
    for (one, other, prefixes) in [
        ("p1", "p2", ["p1", "p2"]),
        ("M1", "M2", ["M1", "M2"]),
        ("MPut1", "M_get", ["put1", "get"]),
    ] {
        let text = format!(
            "digraph {{ subgraph cluster_x {{ replicas=2;
            {one} [process=M]; {other} [process=M]; {one} -> w -> {other}; }} }}"
        );
        let [first, second] = prefixes;
        let expected =
            ["M1", "M2"].map(|m| [format!("{m}.{first}.out"), format!("{m}.{second}.in")]);
        assert_eq!(
            ports_of(&text, "M", &[]),
            expected.concat(),
            "{one} {other}"
        );
    }
}

#[test]
fn at_counts_the_instances_inside_the_cluster_of_an_edge_at_the_environment() {
    let chain = "stage [replicas=3]; NULL -> stage [at=first]; stage -> NULL [at=3];";
    let text = format!("digraph {{ subgraph cluster_m {{ replicas=2; {chain} }} }}");
    let expected = [
        "NULL -> stage1_1",
        "NULL -> stage2_1",
        "stage1_3 -> NULL",
        "stage2_3 -> NULL",
    ];
    assert_eq!(of(&text), expected);
    let included = format!("digraph {{ {chain} }}");
    let text = "digraph { c [use=\"m.dot\", replicas=2]; }";
    let declared = expanded(text, &Given::default(), &[("m.dot", &included)]).unwrap();
    let named = expected.map(|channel| channel.replace("stage", "c.stage"));
    assert_eq!(channels(&declared), named);
    // Outside of the cluster, the number counts through all instances.
    let text = "digraph { subgraph cluster_m { replicas=2; stage [replicas=3]; }
        NULL -> stage [at=first]; stage -> NULL [at=6]; }";
    assert_eq!(of(text), ["NULL -> stage1_1", "stage2_3 -> NULL"]);
    // An outer cluster is repeated, too.
    let text = "digraph { subgraph cluster_o { replicas=2;
        subgraph cluster_m { replicas=2; x [replicas=2]; } NULL -> x [at=last]; } }";
    assert_eq!(of(text), ["NULL -> x1_2_2", "NULL -> x2_2_2"]);
    // A bundle's edge at the environment counts.
    let text = "digraph { subgraph cluster_m { replicas=2; x [replicas=2]; b [bundle=select];
        NULL -> b; } b -> x [at=last]; }";
    assert_eq!(of(text), ["NULL -> x1_2", "NULL -> x2_2"]);
}

#[test]
fn steps_to_the_environment_are_errors_inside_of_a_cluster_too() {
    let text = "digraph { subgraph cluster_m { replicas=2; x; NULL -> x [step=1]; } }";
    let message = "G0252 `step=` joins `NULL` and `x`, which share no repeated module";
    assert_eq!(errors(text), [message]);
    let text = "digraph { subgraph cluster_m { replicas=2; x [replicas=2]; NULL -> x [at=4]; } }";
    assert_eq!(
        errors(text),
        ["G0253 `at=4` is out of range: `x` has 2 instances"]
    );
}

#[test]
fn an_edge_of_the_environment_crosses_the_border_of_a_closed_cluster() {
    let cluster = |inside: &str, outside: &str| {
        format!("digraph {{ subgraph cluster_m {{ closed=true; w; {inside} }} {outside} }}")
    };
    let reached = ["G0235 a channel reaches `w` in the closed module `cluster_m`"];
    assert_eq!(errors(&cluster("", "NULL -> w;")), reached);
    assert_eq!(errors(&cluster("", "w -> NULL;")), reached);
    assert_eq!(
        errors(&cluster("", "{ NULL } -> b; b [bundle=select]; b -> w;")),
        reached
    );
    assert_eq!(of(&cluster("NULL -> w;", "")), ["NULL -> w"]);
    assert_eq!(
        of(&cluster("subgraph cluster_i { w -> NULL; }", "")),
        ["w -> NULL"]
    );
    assert_eq!(
        of(&cluster("p [port=in]; p -> w;", "NULL -> p;")),
        ["NULL -> w"]
    );
    assert_eq!(
        of(&cluster("b [bundle=select]; NULL -> b; b -> w;", "")),
        ["NULL -> w"]
    );
    // An included graph is inside the cluster that contains its node.
    let text = "digraph { subgraph cluster_m { closed=true; c [use=\"m.dot\"]; } }";
    let files = [("m.dot", "digraph { NULL -> w; }")];
    let declared = expanded(text, &Given::default(), &files).unwrap();
    assert_eq!(channels(&declared), ["NULL -> c.w"]);
}

#[test]
fn stated_defaults_contradict_other_values_at_a_port() {
    let text = |inside: &str, outside: &str| {
        format!(
            "digraph {{ subgraph cluster_m {{ p [port=in]; p -> w [{inside}]; }} a -> p [{outside}]; }}"
        )
    };
    for (name, default) in [("traffic", 1), ("initial", 0)] {
        let (one, other) = (format!("{name}={default}"), format!("{name}=5"));
        let message = format!("G0236 `{name}=` differs on the two sides of a module port");
        assert_eq!(errors(&text(&one, &other)), [&*message]);
        assert_eq!(errors(&text(&other, &one)), [&*message]);
        assert_eq!(of(&text(&one, &one)), ["a -> w"]);
    }
    let declared = expanded(&text("traffic=1", "initial=3"), &Given::default(), &[]).unwrap();
    let channel = &declared.channels[0];
    assert_eq!((channel.initial, channel.traffic), (3, 1.0));
    let declared = expanded(&text("", "traffic=2, initial=3"), &Given::default(), &[]).unwrap();
    let channel = &declared.channels[0];
    assert_eq!((channel.initial, channel.traffic), (3, 2.0));
}

/// Returns the groups of the nodes of a graph, as `node group`. Included files are in `files`.
fn groups(text: &str, files: &[(&str, &str)]) -> Vec<String> {
    let declared = expanded(text, &Given::default(), files).unwrap();
    let constraints = declared.constraints.iter().map(|one| {
        let (Constraint::Colocate(group) | Constraint::Separate(group)) = &one.constraint else {
            panic!("{:?}", one.constraint);
        };
        let ConstraintTarget::Node(node) = one.target else {
            panic!("{:?}", one.target);
        };
        format!("{} {group}", declared.name(declared.nodes[node].name))
    });
    constraints.collect()
}

#[test]
fn groups_of_instances_are_groups_of_their_own() {
    let text = "digraph { subgraph cluster_m { replicas=2; w [colocate=z]; v [colocate=z]; }
        a [colocate=z1]; }";
    assert_eq!(
        groups(text, &[]),
        ["w1 z1_2", "w2 z2", "v1 z1_2", "v2 z2", "a z1"]
    );
    let text = "digraph { a [colocate=\"m.z\"]; b [separate=\"m.s@*\"]; m [use=\"m.dot\"]; }";
    let file = "digraph { w [colocate=z]; v [colocate=z]; x [separate=\"s@*\"]; }";
    assert_eq!(
        groups(text, &[("m.dot", file)]),
        ["a m.z", "b m.s@*", "m.w m_2.z", "m.v m_2.z", "m.x m_2.s@*"]
    );
}
