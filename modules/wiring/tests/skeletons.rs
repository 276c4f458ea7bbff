//! Wiring code from skeletons.

#[path = "../../../src/skeletons.rs"]
mod built_in;
#[path = "../src/testing.rs"]
mod testing;

use built_in::BUILT_IN;
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::glue::{GlueFunction, Stage};
use graphmap_kpn::infer::infer;
use graphmap_kpn::network::{Network, Verified};
use graphmap_kpn::verify::verify;
use graphmap_wiring::attributes::AttributeModel;
use graphmap_wiring::context::Model;
use graphmap_wiring::emitters::render;
use graphmap_wiring::sequence::{decode, encode};
use graphmap_wiring::skeleton::Skeletons;
use graphmap_wiring::structure::Structure;
use std::path::Path;
use testing::{Graph, chain, farm, grid, pool, tree};

fn wiring(graph: Graph) -> String {
    let mut notes = Diagnostics::new();
    let network = graph.network();
    let (code, _) = render(
        &network,
        &Skeletons::built_in(&BUILT_IN),
        "rust",
        &mut notes,
    )
    .unwrap_or_else(|diagnostics| panic!("{diagnostics:#?}"));
    code
}

#[test]
fn size_grows_with_kinds_and_not_with_processes() {
    for (small, large) in [
        (farm(10), farm(400)),
        (chain(10), chain(2000)),
        (pool(10), pool(1000)),
        (grid(5, 6), grid(50, 40)),
        (tree(15, 2), tree(1023, 2)),
    ] {
        let (small, large) = (wiring(small), wiring(large));
        // Only the lines of channels with irregular declarations may grow.
        assert!(
            large.len() < 2 * small.len(),
            "{} {}",
            small.len(),
            large.len()
        );
    }
}

/// Creates a folder of skeletons with these files, and compiles them.
fn users(name: &str, files: &[(&str, &[u8])]) -> Result<Skeletons, Diagnostics> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("skeletons")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    for (path, content) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    Skeletons::with_folder(&BUILT_IN, &folder)
}

fn rendered(skeletons: &Skeletons, family: &str, graph: Graph) -> Result<String, String> {
    let mut notes = Diagnostics::new();
    match render(&graph.network(), skeletons, family, &mut notes) {
        Ok((code, _)) => Ok(code),
        Err(diagnostics) => Err(messages(&diagnostics)),
    }
}

fn messages(diagnostics: &Diagnostics) -> String {
    let line = |f: &graphmap_kpn::diagnostic::Diagnostic| {
        format!("{} {} {:?} {:?}\n", f.code, f.message, f.help, f.notes)
    };
    diagnostics.iter().map(line).collect()
}

#[test]
fn a_users_folder_replaces_and_adds() {
    let files: &[(&str, &[u8])] = &[
        ("rust/_head.hbs", b"// mine: {{graph.name}}\n"),
        (
            "rust/ring.hbs",
            b"ring of {{#each kinds}}{{name}} {{/each}}{{> py/_part}}",
        ),
        ("py/_part.hbs", b"{{structure.name}}"),
        (
            "py/explicit.hbs",
            b"{{> py/_part}} <&> {{string graph.name}}",
        ),
    ];
    let skeletons = users("adds", files).unwrap();
    assert!(
        rendered(&skeletons, "rust", chain(3))
            .unwrap()
            .starts_with("// mine: sieve\n")
    );
    let mut ring = chain(3);
    ring.skeleton("ring");
    assert_eq!(
        rendered(&skeletons, "rust", ring).unwrap(),
        "ring of source filter sink chain"
    );
    assert_eq!(
        rendered(&skeletons, "py", farm(2)).unwrap(),
        "chain <&> \"farm\""
    );
}

#[test]
fn a_missing_skeleton_or_structure_is_reported_with_alternatives() {
    let skeletons = Skeletons::built_in(&BUILT_IN);
    let wanted = |name: &str, family: &str| {
        let mut graph = chain(3);
        graph.skeleton(name);
        rendered(&skeletons, family, graph).unwrap_err()
    };
    let missing = wanted("cain", "rust");
    assert!(missing.starts_with("G0603 unknown skeleton `cain` in the family `rust`"));
    assert!(missing.contains("did you mean `chain`?"), "{missing}");
    assert!(
        missing.contains("`chain`, `explicit`, `farm`, `grid`, `tree`"),
        "{missing}"
    );
    assert!(wanted("chain", "rost").contains("did you mean the family `rust`?"));
    let no_grid = wanted("grid", "rust");
    assert!(
        no_grid.starts_with("G0606 the network is not a grid"),
        "{no_grid}"
    );
    let bad_type = {
        let mut graph = chain(3);
        graph.channel("sink.more", "source.more").ty("Vec<");
        rendered(&skeletons, "rust", graph).unwrap_err()
    };
    assert!(
        bad_type.starts_with("G0601 `Vec<` is not a payload type"),
        "{bad_type}"
    );
}

#[test]
fn a_failing_template_is_reported_with_line_and_column() {
    let failing = |name: &str, text: &[u8]| match users(name, &[("rust/chain.hbs", text)]) {
        Ok(skeletons) => rendered(&skeletons, "rust", chain(3)).unwrap_err(),
        Err(diagnostics) => messages(&diagnostics),
    };
    let unknown = failing("unknown", b"line\n  {{graph.nmae}}\n");
    assert!(
        unknown.starts_with("G0605") && unknown.contains("rust/chain.hbs:2:"),
        "{unknown}"
    );
    let open = failing("open", b"a\n{{#each kinds}}\n");
    assert!(
        open.starts_with("G0604") && open.contains("line "),
        "{open}"
    );
    let circle = failing("circle", b"{{> rust/chain}}");
    assert!(
        circle.contains("cycle: rust/chain -> rust/chain"),
        "{circle}"
    );
    let deep = failing("deep", "{{#if a}}".repeat(5000).as_bytes());
    assert!(deep.contains("nested more than"), "{deep}");
    let brackets = failing(
        "brackets",
        format!("{{{{a {}}}}}", "(".repeat(5000)).as_bytes(),
    );
    assert!(brackets.contains("nested more than"), "{brackets}");
    for open in ["[", "{\"a\":"] {
        let literal = failing(
            "literal",
            format!("{{{{eq {}}}}}", open.repeat(5000)).as_bytes(),
        );
        assert!(literal.contains("nested more than"), "{literal}");
    }
    let bytes = failing("bytes", b"\xff\xfe");
    assert!(bytes.starts_with("G0604"), "{bytes}");
    let partial = failing("partial", b"{{> rust/nothing}}");
    assert!(partial.starts_with("G0605"), "{partial}");
    assert!(Skeletons::with_folder(&BUILT_IN, Path::new("no/such/folder")).is_err());
}

/// The table in the book must contain exactly the fields of the model.
#[test]
fn the_book_lists_all_fields_of_the_model() {
    let mut notes = Diagnostics::new();
    let mut graph = grid(2, 3);
    for row in 0..2 {
        graph.module(&format!("cluster_{row}"), "row", |g| {
            g.node(&format!("cell{}_1", row + 1));
        });
    }
    for row in 1..3 {
        for column in 1..4 {
            let cell = format!("cell{row}_{column}");
            graph.arguments(&cell, "text: String", &format!("'{cell}'"));
        }
    }
    let mut network = graph.network().into_network();
    let glue = |stage: Stage| GlueFunction {
        stage,
        function: stage.name().to_owned(),
        header: String::new(),
        condition: Some(("NAME".to_owned(), "value".to_owned())),
    };
    network.glue = Stage::ALL.map(glue).to_vec();
    let network = with_attributes(network);
    let model = Model::new(&network, Structure::of(&network), &mut notes).unwrap();
    let mut fields = std::collections::BTreeSet::new();
    paths(&serde_json::to_value(&model).unwrap(), "", &mut fields);
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/skeletons.md");
    let book = std::fs::read_to_string(book).unwrap();
    let section = book.split("## Data of a skeleton").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let described: std::collections::BTreeSet<String> = rows
        .map(|row| row.split('`').next().unwrap().to_owned())
        .collect();
    assert_eq!(described, fields);
}

/// Gives an attribute to the graph, the second module, all processes but the first, and all
/// channels.
fn with_attributes(mut network: Network) -> Verified {
    let Network {
        names,
        attributes,
        processes,
        channels,
        ..
    } = &mut network;
    let mut name = |text: &str| names.intern(text);
    let pairs = vec![(name("x_est"), name("4")), (name("label"), name("A"))];
    let list = attributes.lists.add(names, pairs);
    attributes.graph = list;
    attributes.modules.set(Id::from_index(1), list);
    for process in processes.ids().skip(1) {
        attributes.processes.set(process, list);
    }
    for channel in channels.ids() {
        attributes.channels.set(channel, list);
    }
    verify(infer(network).unwrap()).unwrap().0
}

#[test]
fn attributes_of_the_user_are_in_the_model() {
    let mut graph = grid(2, 3);
    for row in 0..2 {
        graph.module(&format!("cluster_{row}"), "row", |g| {
            g.node(&format!("cell{}_1", row + 1));
        });
    }
    let network = with_attributes(graph.network().into_network());
    let structure = Structure::of(&network);
    let model = Model::new(&network, structure, &mut Diagnostics::new()).unwrap();
    let one = |which: &[u32]| AttributeModel {
        name: "x_est".to_owned(),
        values: vec!["4".to_owned()],
        which: encode(which),
    };
    assert_eq!(model.graph.attributes, [one(&[1])]);
    assert_eq!(model.modules[0].attributes, [one(&[0, 1])]);
    let mut first = vec![1; model.kinds[0].count];
    first[0] = 0;
    assert_eq!(model.kinds[0].attributes, [one(&first)]);
    for class in &model.channels {
        assert_eq!(class.attributes, [one(&vec![1; class.count])]);
    }
}

fn paths(value: &serde_json::Value, path: &str, into: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                paths(value, &format!("{path}{dot}{name}"), into);
            }
        }
        serde_json::Value::Array(items) => {
            for item in items {
                paths(item, &format!("{path}[]"), into);
            }
            if items.is_empty() {
                into.insert(format!("{path}[]"));
            }
        }
        _ => drop(into.insert(path.to_owned())),
    }
}

/// Random modules in modules, of two kinds. The model must have each process in the same module as
/// the network.
#[test]
fn modules_are_those_of_the_graph() {
    fn inside(graph: &mut Graph, draw: &mut u64, depth: usize) {
        for part in 0..3 {
            // An LCG (Knuth). The choice of modules does not matter.
            *draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (what, kind) = (*draw >> 33 & 3, *draw >> 35 & 1);
            let name = format!("{}{depth}x{}", ["a", "b"][kind as usize], *draw >> 40);
            match what {
                0 => drop(graph.node(&name)),
                _ if depth == 4 => {}
                _ => graph.module(
                    &format!("cluster_{part}"),
                    ["row", "half"][kind as usize],
                    |graph| {
                        graph.node(&format!("{name}y"));
                        inside(graph, draw, depth + 1);
                    },
                ),
            }
        }
    }
    for seed in 1..30 {
        let mut graph = Graph::new("nested");
        graph.node("first");
        inside(&mut graph, &mut (seed << 20), 0);
        let network = graph.network();
        let model = Model::new(&network, Structure::of(&network), &mut Diagnostics::new()).unwrap();
        // Name, kind, and number of the parent of each module.
        let mut listed = Vec::new();
        for class in &model.modules {
            let before = listed.len();
            let within = decode(&class.within).unwrap();
            assert_eq!(within.len(), class.count);
            for (name, within) in names(&class.names, class.count).into_iter().zip(within) {
                assert!(within as usize <= before);
                listed.push((name, class.kind.clone(), within));
            }
        }
        assert_eq!(listed.len(), network.modules.len());
        for (kind, model) in network.kinds.values().zip(&model.kinds) {
            let numbers = decode(&model.modules).unwrap();
            let is_in_one = |&process: &_| network.processes[process].module.is_some();
            assert_eq!(numbers.is_empty(), !kind.members.iter().any(is_in_one));
            let numbers = numbers.into_iter().chain(std::iter::repeat(0));
            for (&process, number) in kind.members.iter().zip(numbers) {
                let (mut number, mut module) = (number, network.processes[process].module);
                while let Some(around) = module {
                    let (name, kind, within) = &listed[number as usize - 1];
                    let around = &network.modules[around];
                    assert_eq!(
                        (&**name, &**kind),
                        (network.name(around.name), network.name(around.kind))
                    );
                    (number, module) = (*within, around.parent);
                }
                assert_eq!(number, 0);
            }
        }
    }
}

/// Returns the names of processes in the model.
fn names(names: &graphmap_wiring::names::NamesModel, count: usize) -> Vec<String> {
    if names.parts.is_empty() {
        return names.list.clone();
    }
    let numbers = |text: &str| decode(text).unwrap();
    let which = numbers(&names.which);
    let mut made: Vec<String> = match names.bases.is_empty() {
        true => vec![String::new(); count],
        false => which
            .iter()
            .map(|&which| names.bases[which as usize].clone())
            .collect(),
    };
    for part in &names.parts {
        for (name, number) in made.iter_mut().zip(numbers(&part.numbers)) {
            *name += &format!("{}{number}", part.text);
        }
    }
    made
}

#[test]
fn names_that_begin_differently_are_no_list() {
    let sizes = [5, 5000].map(|n| {
        let mut graph = Graph::new("mixed");
        for i in 1..=n {
            graph
                .kind(&format!("left{i}"), "worker")
                .kind(&format!("right{i}"), "worker");
        }
        wiring(graph).len()
    });
    assert!(sizes[1] < sizes[0] + 200, "{sizes:?}");
}

proptest::proptest! {
    #[test]
    fn names_are_those_of_the_graph(
        made in proptest::collection::vec(("(a|b|c_|)", "[0-9]{1,2}", "(|_1|x2|y)"), 1..12)
    ) {
        let mut graph = Graph::new("named");
        let mut all: Vec<String> = made.into_iter().map(|(a, b, c)| a + &b + &c).collect();
        all.sort();
        all.dedup();
        for name in &all {
            graph.kind(name, "same");
        }
        let network = graph.network();
        let mut notes = Diagnostics::new();
        let model = Model::new(&network, Structure::of(&network), &mut notes).unwrap();
        proptest::prop_assert_eq!(names(&model.kinds[0].names, all.len()), all);
    }

    #[test]
    fn the_runtime_reads_what_is_encoded(values in proptest::collection::vec(0u32..5, 0..80)) {
        let read: graphmap_runtime::Sequence = encode(&values).parse().unwrap();
        proptest::prop_assert_eq!(read.iter().collect::<Vec<_>>(), values);
    }
}

#[test]
fn rendering_has_an_end() {
    // Each partial includes the next one four times, and writes nothing.
    let include = |next: &str| format!("{{{{> x/_{next}}}}}").repeat(4).into_bytes();
    let names: Vec<String> = (0..13).map(|i| i.to_string()).collect();
    let mut files: Vec<(String, Vec<u8>)> = vec![("x/explicit.hbs".into(), include("0"))];
    for (name, next) in names.iter().zip(&names[1..]) {
        files.push((format!("x/_{name}.hbs"), include(next)));
    }
    files.push(("x/_12.hbs".into(), Vec::new()));
    let text = "x".repeat(1 << 20);
    let lines = "{{> y/_text}}\n".repeat(300);
    // Each partial passes the next one twice the data that it received.
    let hand = |next: &str| format!("{{{{> z/_{next} a=this b=this}}}}").into_bytes();
    files.push(("z/explicit.hbs".into(), hand("0")));
    let names: Vec<String> = (0..60).map(|i| i.to_string()).collect();
    for (name, next) in names.iter().zip(&names[1..]) {
        files.push((format!("z/_{name}.hbs"), hand(next)));
    }
    files.push(("z/_59.hbs".into(), Vec::new()));
    let join = "{{#with (join this this)}}".repeat(90) + &"{{/with}}".repeat(90);
    let join = "{{#with graph.name}}".to_owned() + &join + "{{/with}}";
    for (name, text) in [
        ("y/_text.hbs", &text),
        ("y/explicit.hbs", &lines),
        ("v/explicit.hbs", &join),
    ] {
        files.push((name.to_owned(), text.clone().into_bytes()));
    }
    let files: Vec<(&str, &[u8])> = files.iter().map(|(n, t)| (n.as_str(), &t[..])).collect();
    let skeletons = users("endless", &files).unwrap();
    for (family, file, said) in [
        ("x", "x/_", "too many steps"),
        ("y", "y/_text.hbs", "larger than 256 MiB"),
        (
            "z",
            "z/_",
            "a partial is given more data than the model has",
        ),
        ("v", "v/explicit.hbs", "too many steps"),
    ] {
        let error = rendered(&skeletons, family, chain(2)).unwrap_err();
        assert!(
            error.starts_with("G0605") && error.contains(said),
            "{family}: {error}"
        );
        assert!(error.contains(file), "{family}: {error}");
    }
}

#[test]
fn a_partial_takes_no_block() {
    let block: &[(&str, &[u8])] = &[
        ("x/explicit.hbs", b"{{#> x/_a}}{{/x/_a}}"),
        ("x/_a.hbs", b"{{> @partial-block}}"),
    ];
    let error = messages(&users("block", block).err().unwrap());
    assert!(error.contains("a partial cannot take a block"), "{error}");
}

#[test]
fn margins_are_bounded() {
    let wide: &[(&str, &[u8])] = &[(
        "x/explicit.hbs",
        b"{{string \"a\" 99999999999999}}{{#layout indent=99999999999999 open=\"(\" close=\")\"}}\na\n{{/layout}}\n",
    )];
    let text = rendered(&users("wide", wide).unwrap(), "x", chain(2)).unwrap();
    assert!(text.len() < 1000, "{text}");
}
