//! Pictures of networks without a mapping: their contents, and whether they are valid files.

use graphmap_dot::language::load;
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::network::Verified;
use graphmap_kpn::source::SourceMap;
use graphmap_kpn::{expand::expand, infer::infer, resolve::resolve, verify::verify};
use graphmap_view::draw;
use graphmap_view::picture::{Edge, Picture};
use std::collections::BTreeMap;

const FARM: &str = r#"digraph "a <farm> & more" {
    put -> work [type=Task, bundle=share]; work -> get [src=result, type="Vec<u8>"];
    back -> put; get -> back;
    subgraph cluster_row { module=row; replicas=3;
        work -> more [type=Task]; more -> work [dst=again, type=Task];
        work -> work [src=self, dst=self_in, type=u8, initial=1];
        more -> work [src=next, dst=next_in, step=1, beyond=NULL];
    }
}"#;

fn declared(text: &str) -> Declared {
    let mut found = Diagnostics::new();
    let text = text.as_bytes().to_vec();
    let declared = load(&mut SourceMap::new(), "farm.dot", text, &mut found);
    declared.unwrap_or_else(|| panic!("{found:#?}"))
}

fn network(text: &str) -> Verified {
    let network = resolve(expand(declared(text)).unwrap().0).unwrap().0;
    infer(network)
        .and_then(verify)
        .unwrap_or_else(|d| panic!("{d:#?}"))
        .0
}

/// Returns the texts of a picture. Checks that it is well-formed and that all texts are inside it.
fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let root = document.root_element();
    let number = |node: roxmltree::Node<'_, '_>, name: &str| {
        node.attribute(name).and_then(|v| v.parse::<f64>().ok())
    };
    let (width, height) = (
        number(root, "width").unwrap(),
        number(root, "height").unwrap(),
    );
    for shape in document.descendants().filter(|n| n.has_tag_name("rect")) {
        let Some(x) = number(shape, "x") else {
            continue;
        };
        let y = number(shape, "y").unwrap();
        assert!(
            x >= 0.0 && x + number(shape, "width").unwrap() <= width,
            "{svg}"
        );
        assert!(
            y >= 0.0 && y + number(shape, "height").unwrap() <= height,
            "{svg}"
        );
    }
    let texts = document.descendants().filter(|n| n.has_tag_name("text"));
    texts.filter_map(|n| n.text().map(str::to_owned)).collect()
}

#[test]
fn the_picture_of_the_graph_shows_replicas_as_one_node() {
    let picture = Picture::of_graph(&declared(FARM));
    let labels: Vec<&str> = picture.nodes.iter().map(|n| n.label.as_str()).collect();
    assert_eq!(labels, ["put", "work", "get", "back", "more"]);
    assert_eq!(picture.groups.len(), 1);
    let texts = texts(&draw(&picture));
    for wanted in [
        "a <farm> & more",
        "put",
        "work",
        "row ×3",
        "Task",
        "Vec<u8>",
    ] {
        assert!(
            texts.iter().any(|text| text == wanted),
            "{wanted}: {texts:?}"
        );
    }
}

#[test]
fn processes_kinds_and_the_environment() {
    let network = network(FARM);
    let picture = Picture::of_processes(&network);
    assert_eq!(picture.nodes.len(), network.processes.len());
    // The output of the last row, and the input of the first.
    let ends = |edge: &Edge| edge.from.node.is_none() || edge.to.node.is_none();
    assert_eq!(picture.edges.iter().filter(|edge| ends(edge)).count(), 2);
    let joined: usize = picture.edges.iter().map(|edge| edge.channels).sum();
    assert_eq!(joined, network.channels.len() + 2);
    let written = texts(&draw(&picture));
    assert_eq!(written.iter().filter(|text| *text == "row").count(), 3);
    let kinds = Picture::of_kinds(&network);
    let labels: Vec<&str> = kinds.nodes.iter().map(|n| n.label.as_str()).collect();
    assert_eq!(labels, ["put", "work ×3", "more ×3", "get", "back"]);
    assert!(texts(&draw(&kinds)).contains(&"more ×3".to_owned()));
    let text = picture.text();
    assert!(
        text.contains("put -> work1, work2, work3: Task\n"),
        "{text}"
    );
    assert!(text.contains("more3 -> NULL\n"), "{text}");
    assert!(text.contains("NULL -> work1\n"), "{text}");
}

#[test]
fn nothing_to_show_and_much_to_show() {
    assert_eq!(texts(&draw(&Picture::default())), Vec::<String>::new());
    let deep = 3000;
    let nest: String = (0..deep)
        .map(|i| format!("subgraph cluster_{i} {{ module=m{i};"))
        .collect();
    let text = format!("digraph {{ a -> b; {nest} b; {} }}", "}".repeat(deep));
    let deep = draw(&Picture::of_graph(&declared(&text)));
    assert!(deep.ends_with("</svg>\n"));
    let wide: String = (0..20_000)
        .map(|i| format!("a{i} -> b{};", i * 7 % 20_000))
        .collect();
    let picture = Picture::of_graph(&declared(&format!("digraph {{ {wide} }}")));
    assert_eq!(picture.nodes.len(), 40_000);
    assert!(draw(&picture).ends_with("</svg>\n"));
}

#[test]
fn flow_controlled_channels_are_dashed_and_say_so() {
    let text = r#"digraph desk {
        node [function=f]; edge [type=Order];
        clerks [replicas=3];
        clerks -> desk [src=orders, dst=orders, flow=credits];
        desk -> log [src=done, dst=done];
    }"#;
    let (declared, network) = (declared(text), network(text));
    for picture in [
        Picture::of_graph(&declared),
        Picture::of_kinds(&network),
        Picture::of_processes(&network),
    ] {
        for edge in &picture.edges {
            let to = edge.to.node.expect("a reader");
            let is_log = picture.nodes[to].label == "log";
            assert_eq!(edge.controlled, !is_log, "{edge:?}");
            assert_eq!(edge.title.contains("flow=credits"), !is_log, "{edge:?}");
        }
        let controlled = picture.edges.iter().filter(|edge| edge.controlled).count();
        assert!(controlled > 0);
        let svg = draw(&picture);
        let dashed = svg.matches("stroke-dasharray=").count();
        assert_eq!(dashed, controlled, "{svg}");
    }
}

/// Checks that a colour stands for one kind, however many kinds there are.
#[test]
fn kinds_beyond_the_legend_are_the_least_frequent_and_grey() {
    let mut text = "digraph {\n".to_owned();
    for kind in 0..30 {
        // Kinds 6 to 29 have two processes, the others one.
        for process in 0..=usize::from(kind >= 6) {
            text += &format!("p{kind}_{process} [kind=k{kind}]; NULL -> p{kind}_{process};\n");
        }
    }
    let svg = draw(&Picture::of_processes(&network(&(text + "}"))));
    let document = roxmltree::Document::parse(&svg).unwrap();
    let with_class = |class: &'static str| {
        let is = move |node: &roxmltree::Node<'_, '_>| {
            let classes = node.attribute("class").unwrap_or_default();
            classes.split(' ').any(|c| c == class)
        };
        document.descendants().filter(is)
    };
    let look = |node: roxmltree::Node<'_, '_>| -> Vec<String> {
        let rects = node.children().filter(|n| n.has_tag_name("rect"));
        rects
            .map(|n| n.attribute("fill").unwrap().to_owned())
            .collect()
    };
    let samples: BTreeMap<Vec<String>, &str> = with_class("kind")
        .map(|node| (look(node), node.attribute("data-kind").unwrap()))
        .collect();
    assert_eq!(samples.len(), 24);
    for node in with_class("node") {
        let kind = node.attribute("data-kind").unwrap();
        let number: usize = kind[1..].parse().unwrap();
        let expected = (number >= 6).then_some(kind);
        assert_eq!(samples.get(&look(node)).copied(), expected, "{kind}");
    }
    assert!(svg.contains("The legend has the 24 most frequent of 30 kinds."));
}
