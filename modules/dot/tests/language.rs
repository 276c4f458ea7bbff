//! Declarations and diagnostics of graphs in the graph language.

use graphmap_dot::language::{load, load_picture};
use graphmap_kpn::declared::{Declared, EndDecl};
use graphmap_kpn::diagnostic::{Diagnostics, Severity};
use graphmap_kpn::source::SourceMap;
use std::fmt::Write;
use std::path::Path;

mod filetest;

fn read(text: &str) -> (Option<Declared>, Diagnostics, SourceMap) {
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let declared = load(
        &mut sources,
        "t.dot",
        text.as_bytes().to_vec(),
        &mut diagnostics,
    );
    (declared, diagnostics, sources)
}

/// Returns a declaration in short: modules, nodes, channels, constraints.
fn show(declared: &Declared) -> String {
    let name = |s| declared.name(s);
    let mut out = String::new();
    for module in declared.modules.values() {
        let parent = module.parent.map_or("", |p| name(declared.modules[p].name));
        let _ = writeln!(
            out,
            "module {} {} in={parent} {:?}",
            name(module.name),
            name(module.kind),
            module.replicas
        );
    }
    for node in declared.nodes.values() {
        let module = node.module.map_or("", |m| name(declared.modules[m].name));
        let process = node.process.map_or("", name);
        let _ = writeln!(
            out,
            "node {} {} face={process} in={module} {:?} load={} mem={}",
            name(node.name),
            name(node.kind),
            node.replicas,
            node.load,
            node.mem
        );
    }
    let end = |end: EndDecl| match end.node {
        Some(node) => format!("{}.{}", name(declared.nodes[node].name), name(end.port)),
        None => "NULL".to_owned(),
    };
    for channel in &declared.channels {
        let _ = write!(out, "{} -> {}", end(channel.from), end(channel.to));
        if let Some(ty) = channel.ty {
            let _ = write!(out, " type={}", name(ty));
        }
        if let Some(capacity) = channel.capacity {
            let _ = write!(out, " capacity={capacity}");
        }
        if channel.initial != 0 {
            let _ = write!(out, " initial={}", channel.initial);
        }
        if channel.traffic != 1.0 {
            let _ = write!(out, " traffic={}", channel.traffic);
        }
        if let Some(flow) = declared.extra(channel).and_then(|extra| extra.flow) {
            let _ = write!(out, " flow={}", flow.name());
        }
        if let Some(extra) = declared.extra(channel) {
            let bundle = extra.bundle.map(|b| b.name());
            let of = extra.bundle_name.map(name);
            let _ = write!(
                out,
                " [{:?} {bundle:?} {of:?} {:?} {:?} {:?} {}]",
                extra.tag, extra.from_at, extra.to_at, extra.step, extra.wrap
            );
        }
        out.push('\n');
    }
    for constraint in &declared.constraints {
        let _ = writeln!(out, "{:?} {:?}", constraint.target, constraint.constraint);
    }
    out
}

#[track_caller]
fn shown(text: &str) -> String {
    let (declared, diagnostics, _) = read(text);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    show(&declared.expect("no findings"))
}

fn printed_farm(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/graphs")
        .join(file);
    std::fs::read_to_string(path).expect("the farm")
}

#[test]
fn the_printed_farm_loads_once_its_bundle_is_renamed() {
    let shown = shown(&printed_farm("farm_mended.dot"));
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], "module cluster_1 thefarm in= None");
    let nodes: Vec<&str> = lines
        .iter()
        .filter(|l| l.starts_with("node"))
        .copied()
        .collect();
    assert_eq!(nodes.len(), 2 + 15, "{shown}");
    assert_eq!(
        nodes[0],
        "node managerPut manager face=manager in= None load=1 mem=0"
    );
    assert_eq!(
        nodes[2],
        "node inTask1 inTask face= in=cluster_1 None load=1 mem=0"
    );
    // Ten at the top level, four in each cluster, and two in each bundle.
    let channels = lines.iter().filter(|l| l.contains(" -> ")).count();
    assert_eq!(channels, 10 + 3 * (4 + 2), "{shown}");
    for expected in [
        "managerGet.out -> NULL",
        "NULL -> managerPut.in",
        "inTask3.outlocal -> doTask3.in",
        "outTask3.outreq -> inTask3.inreq [None Some(\"select\") Some(\"inTaskBundle3\") None None [] false]",
        "doTask3.outreq -> inTask3.inreq [None Some(\"select\") Some(\"inTaskBundle3\") None None [] false]",
    ] {
        assert!(lines.contains(&expected), "{expected}\n{shown}");
    }
}

#[test]
fn the_printed_farm_declares_a_bundle_twice() {
    let (declared, diagnostics, sources) = read(&printed_farm("farm_as_printed.dot"));
    assert!(declared.is_none());
    assert_eq!(diagnostics.len(), 1, "{diagnostics:#?}");
    let diagnostic = diagnostics.iter().next().unwrap();
    assert_eq!(diagnostic.code, graphmap_dot::codes::BUNDLE_TWICE);
    assert_eq!(
        diagnostic.message,
        "the bundle `inTaskBundle1` is declared twice"
    );
    let place = |span| sources.location(span).unwrap().to_string();
    let primary = diagnostic.primary.as_ref().unwrap();
    assert_eq!(place(primary.span), "t.dot:44:3");
    assert_eq!(sources.text(primary.span), "inTaskBundle1");
    assert_eq!(place(diagnostic.secondary[0].span), "t.dot:16:3");
    assert_eq!(
        diagnostic.help,
        ["rename the second bundle, for example to `inTaskBundle3`"]
    );
}

#[test]
fn both_spellings_declare_the_same() {
    let thesis = "digraph { subgraph cluster_1 { PIname=m; p [PIproc=q]; a -> p [PIout=x, PIin=y];
        b [PIbundlein1=a, PIin1=r, PIbundleout1=p, PIout1=s, PIbundleout2=c]; c } }";
    let ours = "digraph { subgraph cluster_1 { module=m; p [process=q]; a -> p [src=x, dst=y];
        b [dst1=\"a:r\", src1=\"p:s\", src2=c]; c } }";
    assert_eq!(shown(thesis), shown(ours));
}

#[test]
fn channels_say_all_they_can() {
    let text = "digraph {
        edge [type=Task, capacity=4]; node [load=2.5];
        a -> b [capacity=16, initial=1, tag=5, traffic=\"2kB\"];
        a:x -> b:y:n; a:n -> b:se;
        a -> b -> NULL [at=\"last,first\", step=\"1,0\", wrap=true, type=T2];
        c [load=1, mem=\"1KiB\", kind=q, host=h1, osprocess=3, colocate=g, separate=s, replicas=7];
        { node [host=h3] d [host=h4] }
        { edge [bundle=broadcast] a:z -> {b c} } }";
    assert_eq!(
        shown(text),
        "node a a face= in= None load=2.5 mem=0
node b b face= in= None load=2.5 mem=0
node c q face= in= Some(7) load=1 mem=1024
node d d face= in= None load=2.5 mem=0
a.out -> b.in type=Task capacity=16 initial=1 traffic=2000 [Some(5) None None None None [] false]
a.x -> b.y type=Task capacity=4
a.out -> b.in type=Task capacity=4
a.out -> b.in type=T2 capacity=4 [None None None Some(Last) Some(First) [1, 0] true]
b.out -> NULL type=T2 capacity=4 [None None None Some(Last) Some(First) [1, 0] true]
a.z -> b.in type=Task capacity=4 [None Some(\"broadcast\") None None None [] false]
a.z -> c.in type=Task capacity=4 [None Some(\"broadcast\") None None None [] false]
Node(n2) Host(\"h1\")
Node(n2) OsProcess(3)
Node(n2) Colocate(\"g\")
Node(n2) Separate(\"s\")
Node(n3) Host(\"h4\")
"
    );
}

#[test]
fn constraints_are_read() {
    let text = "digraph { a [hold=4]; b [hold=\"1-4\"]; c [hold=\"1-\"]; d [hold=\"-4\"];
        subgraph cluster_m { whole=true; prefer=2.5; e } subgraph cluster_n { whole=no; f } }";
    let said = shown(text);
    let constraints: Vec<&str> = said.lines().filter(|l| l.contains('(')).collect();
    assert_eq!(
        constraints,
        [
            "Node(n0) Hold { least: 4, most: 4 }",
            "Node(n1) Hold { least: 1, most: 4 }",
            "Node(n2) Hold { least: 1, most: 4294967295 }",
            "Node(n3) Hold { least: 0, most: 4 }",
            "Module(m0) Whole",
            "Module(m0) Prefer(2.5)",
        ]
    );
    for wrong in ["", "-", "x", "4-1", "1-4-5", "-1-", "99999999999"] {
        let (_, found, _) = read(&format!("digraph {{ a [hold=\"{wrong}\"] }}"));
        assert!(found.has_errors(), "{wrong}");
    }
}

#[test]
fn modules_nest_and_take_their_nodes() {
    let text = "digraph { a1 -> b; subgraph cluster_out { module=outer; replicas=3; host=h
            subgraph cluster_row2 { replicas=4; {rank=same; a1 c} }
            subgraph x { cluster=true; d } subgraph { cluster=yes; module=k; e } a1 } }";
    assert_eq!(
        shown(text),
        "module cluster_out outer in= Some(3)
module cluster_row2 row in=cluster_out Some(4)
module x x in=cluster_out None
module cluster4 k in=cluster_out None
node a1 a face= in=cluster_row2 None load=1 mem=0
node b b face= in= None load=1 mem=0
node c c face= in=cluster_row2 None load=1 mem=0
node d d face= in=x None load=1 mem=0
node e e face= in=cluster4 None load=1 mem=0
a1.out -> b.in
Module(m0) Host(\"h\")
"
    );
}

#[test]
fn modules_may_differ_from_the_clusters_of_the_picture() {
    let text = "digraph { subgraph row { cluster=false; module=line; host=h; a; b }
            subgraph cluster_p { label=\"left\"; module=\"\"; color=red; a; subgraph cluster_in { c } }
            subgraph { cluster=true; module=\"\"; b }
            subgraph plain { cluster=false; d } }";
    assert_eq!(
        shown(text),
        "module cluster_row line in= None
module cluster_in in in= None
node a a face= in=cluster_row None load=1 mem=0
node b b face= in=cluster_row None load=1 mem=0
node c c face= in=cluster_in None load=1 mem=0
node d d face= in= None load=1 mem=0
Module(m0) Host(\"h\")
"
    );
    for (wrong, code) in [
        // After a node, or after an attribute of the module.
        ("subgraph cluster_p { a; module=\"\" }", 206),
        ("subgraph cluster_p { host=h; module=\"\"; a }", 206),
        ("subgraph row { cluster=false; a; module=line }", 207),
        ("subgraph row { module=\"\"; a }", 207),
        // A frame has no processes of its own.
        ("subgraph cluster_p { module=\"\"; host=h; a }", 207),
        ("subgraph cluster_p { module=\"\"; x_owner=me; a }", 207),
        ("subgraph cluster_p { module=\"\"; module=line; a }", 207),
        ("subgraph cluster_p { cluster=false; a }", 206),
    ] {
        let (_, found, _) = read(&format!("digraph {{ {wrong} }}"));
        let codes: Vec<_> = found.iter().map(|d| d.code.0).collect();
        assert!(codes.contains(&code), "{wrong}: {codes:?}");
    }
}

#[test]
fn bundles_can_be_drawn() {
    let drawn = "digraph { w1 -> s [src=r, type=T]; w2 -> s; s -> m [dst=q, capacity=3];
        s [bundle=gather, shape=point, tag=2] }";
    assert_eq!(
        shown(drawn),
        "node w1 w face= in= None load=1 mem=0
node w2 w face= in= None load=1 mem=0
node m m face= in= None load=1 mem=0
w1.r -> m.q type=T capacity=3 [Some(2) Some(\"gather\") Some(\"s\") None None [] false]
w2.out -> m.q capacity=3 [Some(2) Some(\"gather\") Some(\"s\") None None [] false]
"
    );
}

#[test]
fn a_switch_is_written_as_edges_or_as_a_node_in_both_spellings() {
    // Without the nodes, which appear in another order, and without the name of the bundle.
    let channels = |text: &str| -> Vec<String> {
        let shown = shown(text).replace("Some(\"pick\")", "None");
        let channels = shown.lines().filter(|line| line.contains(" -> "));
        channels.map(str::to_owned).collect()
    };
    let edges = channels("digraph { s -> {c1 c2} [src=r, dst=a, bundle=switch] }");
    assert_eq!(edges.len(), 2);
    assert!(edges[0].starts_with("s.r -> c1.a [None Some(\"switch\") None"));
    let nodes = "digraph { s c1 c2 pick";
    for node in [
        "[bundle=switch, src1=\"s:r\", dst1=\"c1:a\", dst2=\"c2:a\"] }",
        "[bundle=switch, PIbundleout1=s, PIout1=r, PIbundlein1=c1, PIin1=a, \
          PIbundlein2=c2, PIin2=a] }",
    ] {
        assert_eq!(channels(&format!("{nodes} {node}")), edges, "{node}");
    }
}

#[test]
fn flow_control_is_said_of_edges_or_of_a_bundles_node_in_both_spellings() {
    let channels = |text: &str| -> Vec<String> {
        let shown = shown(text);
        let channels = shown.lines().filter(|line| line.contains(" -> "));
        let short = |line: &str| line.split(" [").next().unwrap_or(line).to_owned();
        channels.map(short).collect()
    };
    let all = [
        "s.r -> c1.a flow=round-robin",
        "s.r -> c2.a flow=round-robin",
    ];
    for text in [
        "s -> {c1 c2} [src=r, dst=a, bundle=share, flow=\"round-robin\"]",
        "edge [flow=\"round-robin\"]; s -> c1 [src=r, dst=a, bundle=share]; s -> c2 [src=r, dst=a]",
        "s c1 c2; d [bundle=share, flow=\"round-robin\", src1=\"s:r\", dst1=\"c1:a\", dst2=\"c2:a\"]",
        "s c1 c2; d [bundle=share, flow=\"round-robin\", PIbundleout1=s, PIout1=r, PIbundlein1=c1, \
          PIin1=a, PIbundlein2=c2, PIin2=a]",
        "s -> d [src=r]; d [bundle=share]; d -> c1 [dst=a, flow=\"round-robin\"]; \
          d -> c2 [dst=a, flow=\"round-robin\"]",
        "s -> d [src=r, flow=\"round-robin\"]; d [bundle=share]; d -> {c1 c2} [dst=a]",
    ] {
        assert_eq!(channels(&format!("digraph {{ {text} }}")), all, "{text}");
    }
    // Different values on the two edges of a channel of the node.
    let (_, diagnostics, _) =
        read("digraph { s -> d [flow=credits]; d [bundle=share]; d -> c [flow=\"round-robin\"] }");
    assert!(
        diagnostics.iter().any(|f| f.message.contains("`flow=`")),
        "{diagnostics:#?}"
    );
}

#[test]
fn a_node_may_be_named_with_a_colon() {
    let text = "digraph { \"a:b\" -> c; d [src1=\"a:b\", dst1=\"c:p\"] }";
    assert!(shown(text).contains("a:b.out -> c.p"), "{}", shown(text));
}

#[test]
fn the_name_is_that_of_the_graph_or_of_the_file() {
    assert_eq!(read("digraph farm {a}").0.unwrap().name, "farm");
    assert_eq!(read("digraph {a}").0.unwrap().name, "t");
}

#[test]
fn the_number_of_diagnostics_is_limited() {
    let mut text = "digraph { edge [capacity=x]\n".to_owned();
    for i in 0..10_000 {
        let _ = writeln!(text, "a{i} -> b [foo=1, capcity=2, tag=-{i}];");
    }
    text.push('}');
    let (_, diagnostics, _) = read(&text);
    assert!(diagnostics.len() < 60, "{}", diagnostics.len());
    let unknown: Vec<_> = diagnostics
        .iter()
        .filter(|f| f.severity == Severity::Warning)
        .collect();
    assert_eq!(unknown.len(), 2);
    for diagnostic in unknown {
        assert_eq!(diagnostic.notes.last().unwrap(), "it occurs 10000 times");
    }
}

#[test]
fn an_empty_value_of_an_edge_takes_back_the_default() {
    let edge = |defaults: &str, own: &str| {
        let text = format!("digraph {{ edge [{defaults}]; a -> b [src=x, dst=y, {own}] }}");
        // Unusual attributes have a position even if all of them are unset again.
        shown(&text).replace(" [None None None None None [] false]", "")
    };
    let unset = edge("", "");
    for (name, value) in [
        ("traffic", "7"),
        ("tag", "5"),
        ("capacity", "4"),
        ("initial", "2"),
        ("flow", "credits"),
        ("bundle", "select"),
    ] {
        let emptied = edge(&format!("{name}={value}"), &format!("{name}=\"\""));
        assert_eq!(emptied, unset, "{name}");
        assert_ne!(edge(&format!("{name}={value}"), ""), unset, "{name}");
    }
}

#[test]
fn graphviz_names_ports_in_attributes_too() {
    let channel = |edge: &str| {
        let (declared, diagnostics, _) = read(&format!("digraph {{ {edge} }}"));
        assert!(diagnostics.is_empty(), "{edge}: {diagnostics:#?}");
        let declared = declared.expect("no findings");
        let channel = &declared.channels[0];
        let name = |symbol| declared.name(symbol).to_owned();
        (name(channel.from.port), name(channel.to.port))
    };
    let named = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    for (edge, ports) in [
        ("a -> b [tailport=x, headport=y]", named("x", "y")),
        ("a -> b [tailport=\"x:ne\", headport=n]", named("x", "in")),
        ("edge [tailport=s, headport=y]; a -> b", named("out", "y")),
        (
            "edge [tailport=o, headport=i]; a -> b [tailport=x, headport=y]",
            named("x", "y"),
        ),
        (
            "edge [tailport=o, headport=i]; a -> b [tailport=\"\", headport=n]",
            named("out", "in"),
        ),
        // For layout alone, as a field of a record.
        (
            "a -> b [src=x, tailport=f1, headport=f2, dst=y]",
            named("x", "y"),
        ),
        ("a:x -> b:y [tailport=x, headport=w]", named("x", "y")),
    ] {
        assert_eq!(channel(edge), ports, "{edge}");
    }
}

#[test]
fn binary_files_are_refused_and_latin1_is_read() {
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    assert!(
        load(
            &mut sources,
            "x.png",
            b"\x89PNG\0".to_vec(),
            &mut diagnostics
        )
        .is_none()
    );
    assert_eq!(
        diagnostics.iter().next().unwrap().code,
        graphmap_dot::codes::NOT_TEXT
    );
    let mut diagnostics = Diagnostics::new();
    let declared = load(
        &mut sources,
        "l.dot",
        b"digraph{\xe9 -> b}".to_vec(),
        &mut diagnostics,
    );
    assert_eq!(declared.unwrap().nodes.len(), 2);
    assert_eq!(diagnostics.count(Severity::Note), 1);
}

#[test]
fn files_have_the_diagnostics_they_name() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let paths = filetest::run(&folder, |sources, name, bytes| {
        let mut diagnostics = Diagnostics::new();
        let declared = load(sources, name, bytes, &mut diagnostics);
        assert_eq!(declared.is_none(), diagnostics.has_errors());
        diagnostics
    });
    assert!(paths.len() >= 10);
}

/// Returns the first diagnostic, with the text at its position and its help, in one line.
fn first(text: &str) -> String {
    let (_, diagnostics, _) = read(text);
    let one = diagnostics.iter().next().expect("a finding");
    let place = one.primary.as_ref().map_or("", |label| label.text.as_str());
    format!("{}: {place}: {}", one.message, one.help.join("; "))
}

#[test]
fn near_and_foreign_names_are_warnings_that_suggest_the_right_one() {
    for (text, hints) in [
        (
            "a [cost=3]; a -> b",
            &["did you mean `load`?", "`load=`", "--allow G0204"][..],
        ),
        ("a [weight=3]; a -> b", &["did you mean `load`?"]),
        ("a -> b [cost=3]", &["did you mean `traffic`?"]),
        ("a [memory=3]; a -> b", &["did you mean `mem`?"]),
        ("a -> b [ctype=x]", &["did you mean `type`?"]),
        ("a -> b [shape=box]", &["allowed on a node"]),
        (
            "a [ordering=out]; a -> b; subgraph cluster_x { root=x; shape=y; c }",
            &["allowed on a node"],
        ),
        ("a [type=filter]; a -> b", &["`kind=`"]),
        ("a => b", &["write `->`"]),
        ("a --> b", &["write `->`"]),
        (
            "a <- b",
            &["an edge begins at its writer", "reverse the edge"],
        ),
    ] {
        let reported = first(&format!("digraph {{ {text} }}"));
        for hint in hints {
            assert!(reported.contains(hint), "{text}: {reported}");
        }
    }
    for text in ["a --> b", "a => b", "a <- b", "a <-> b; c -> d"] {
        let (_, diagnostics, _) = read(&format!("digraph {{ {text} }}"));
        assert_eq!(diagnostics.len(), 1, "{text}: {diagnostics:#?}");
    }
}

#[test]
fn clusters_begin_with_the_word_in_any_case() {
    for name in [
        "cluster_farm",
        "Cluster_farm",
        "CLUSTERfarm",
        "cLuStEr_farm2",
    ] {
        let text = format!("digraph {{ subgraph {name} {{ a; b; a -> b }} c; b -> c }}");
        let shown = shown(&text);
        let module = shown.lines().next().unwrap();
        assert_eq!(module, format!("module {name} farm in= None"), "{shown}");
        assert!(
            shown.contains(&format!("node b b face= in={name}")),
            "{shown}"
        );
    }
    assert!(!shown("digraph { subgraph Clusta { a } a -> b }").contains("module"));
}

#[test]
fn an_explicit_cost_of_one_node_wins_over_defaults_of_the_others() {
    let text = "digraph { node [load=5, mem=7]; x [process=p, load=2]; y [process=p]; \
                z [process=p, mem=1]; x -> w -> y; w -> z [src=o]; w [process=w, load=1] }";
    let declared = read(text).0.unwrap();
    let costs: Vec<(f64, f64)> = declared.nodes.values().map(|n| (n.load, n.mem)).collect();
    assert_eq!(costs, [(2.0, 1.0), (2.0, 1.0), (2.0, 1.0), (1.0, 7.0)]);
}

/// Returns the declarations of a text for a picture, and the number of warnings.
fn drawn(text: &str) -> (Declared, usize) {
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let bytes = text.as_bytes().to_vec();
    let declared = load_picture(
        &graphmap_kpn::sizes::Given::default(),
        &mut sources,
        "t.dot",
        bytes,
        &mut diagnostics,
    );
    let declared = declared.unwrap_or_else(|| panic!("{text}: {diagnostics:#?}"));
    assert_eq!(
        diagnostics.count(Severity::Error),
        0,
        "{text}: {diagnostics:#?}"
    );
    (declared, diagnostics.count(Severity::Warning))
}

#[test]
fn a_picture_is_made_of_all_that_graphviz_draws() {
    for (text, nodes, channels, warnings) in [
        ("strict digraph { a -> b; a -> b }", 2, 2, 1),
        ("graph { a -- b -- c }", 3, 2, 1),
        ("digraph { a [type=filter]; a -> b }", 2, 1, 1),
        (
            "digraph { subgraph cluster_1 { a } subgraph cluster_2 { a -> b } }",
            2,
            1,
            1,
        ),
        (
            "digraph { a -> cluster_f; subgraph cluster_f { b -> c } }",
            4,
            2,
            1,
        ),
        ("digraph { a -> f; subgraph cluster_f { b -> c } }", 4, 2, 1),
        ("digraph { a -> b [capacity=many] }", 2, 1, 1),
        ("digraph { a -> b } digraph { c -> d }", 2, 1, 1),
        // Bundles that cannot be joined stay nodes with edges, as they are drawn.
        (
            "digraph { d [bundle=share, src1=nobody]; a -> d; d -> b; d -> c }",
            4,
            3,
            1,
        ),
        (
            "digraph { d [bundle=select]; e [bundle=share]; a -> d -> e -> b }",
            4,
            3,
            1,
        ),
        (
            "digraph { d [src1=a, dst1=b, dst2=c]; a; b; c; d -> b [dst=x] }",
            4,
            1,
            1,
        ),
        (
            "digraph { d [bundle=select]; a -> d; d -> b; d -> c }",
            4,
            3,
            1,
        ),
    ] {
        let (declared, reported) = drawn(text);
        let found = (declared.nodes.len(), declared.channels.len(), reported);
        assert_eq!(found, (nodes, channels, warnings), "{text}");
        let (network, diagnostics, _) = read(text);
        assert!(network.is_none() && diagnostics.has_errors(), "{text}");
    }
    // Text that Graphviz cannot read has no picture.
    let (mut sources, mut diagnostics) = (SourceMap::new(), Diagnostics::new());
    let text = b"digraph { a -- b }".to_vec();
    assert!(
        load_picture(
            &graphmap_kpn::sizes::Given::default(),
            &mut sources,
            "t.dot",
            text,
            &mut diagnostics
        )
        .is_none()
    );
}

#[test]
fn formats_of_other_programs_are_named() {
    for (text, name) in [
        (
            "<?xml version=\"1.0\"?>\n<graphml><graph/></graphml>",
            "GraphML",
        ),
        (
            "<?xml version=\"1.0\"?>\n<graphml>\n<graph a=\"<\">",
            "GraphML",
        ),
        ("graph [\n  node [ id 1 ]\n]", "GML"),
        ("p edge 3 2\ne 1 2\n", "DIMACS"),
        ("%%MatrixMarket matrix coordinate\n3 3 2\n", "Matrix Market"),
        ("graph TD\n  a --> b", "Mermaid"),
    ] {
        let (_, diagnostics, _) = read(text);
        let messages: Vec<_> = diagnostics.iter().map(|f| &f.message).collect();
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].contains(name), "{messages:?}");
    }
    assert!(
        read("graph TD { a }")
            .1
            .iter()
            .all(|f| !f.message.contains("Mermaid"))
    );
}
