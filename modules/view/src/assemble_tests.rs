//! Tests of the contents of pictures.

use crate::contents::{Edge, Picture, Shape};
use crate::drawing::Form;
use graphmap_dot::language::load;
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::network::Network;
use graphmap_kpn::source::SourceMap;
use graphmap_kpn::{expand::expand, resolve::resolve};

fn declared(text: &str) -> Declared {
    let mut found = Diagnostics::new();
    let text = text.as_bytes().to_vec();
    let declared = load(&mut SourceMap::new(), "test.dot", text, &mut found);
    declared.unwrap_or_else(|| panic!("{found:#?}"))
}

fn network(text: &str) -> Network {
    resolve(expand(declared(text)).unwrap().0).unwrap().0
}

/// Returns a line for each group and node.
fn outline(picture: &Picture) -> Vec<String> {
    let within = |group: Option<usize>| group.map_or("-".to_owned(), |group| group.to_string());
    let groups = picture.groups.iter().enumerate().map(|(i, group)| {
        let shape = match group.shape {
            Shape::Layered => String::new(),
            Shape::Matrix { columns } => format!(" /{columns}"),
        };
        let name = match group.framed {
            true => &group.label,
            false => "family",
        };
        let (parent, position) = (within(group.parent), group.position);
        format!("{i}: {parent}.{position} {name}{shape}")
    });
    let nodes = picture.nodes.iter().map(|node| {
        let (group, position) = (within(node.group), node.position);
        format!("{group}.{position} {}", node.label.replace('\n', "|"))
    });
    groups.chain(nodes).collect()
}

/// Returns a line for each edge.
fn edges(picture: &Picture) -> Vec<String> {
    let end = |end: &crate::contents::End| match end.node {
        Some(node) => format!("{}.{}", picture.nodes[node].name, end.port),
        None => "NULL".to_owned(),
    };
    let line = |edge: &Edge| {
        let wraps = if edge.wraps { " wraps" } else { "" };
        let label = &edge.label;
        format!("{} {}: {label}{wraps}", end(&edge.from), end(&edge.to))
    };
    picture.edges.iter().map(line).collect()
}

#[test]
fn all_networks() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    for dir in ["skeletons/networks", "graphs"].map(|d| format!("{dir}{d}")) {
        let mut all: Vec<_> = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).collect();
        all.sort();
        for path in all.into_iter().filter(|p| p.extension().is_some_and(|e| e == "dot")) {
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            println!("=== {path:?}");
            let mut found = Diagnostics::new();
            let Some(declared) = load(&mut SourceMap::new(), "test.dot", text.into_bytes(), &mut found) else {
                println!("unread {found:?}");
                continue;
            };
            println!("graph {:#?}", outline(&Picture::of_graph(&declared)));
            let Ok((expanded, _)) = expand(declared) else { println!("not expanded"); continue };
            let Ok((network, _)) = resolve(expanded) else { println!("not resolved"); continue };
            let picture = Picture::of_processes(&network);
            println!("processes {:#?}\n{:#?}", outline(&picture), edges(&picture));
            let picture = Picture::folded(&network, 1);
            println!("folded {:#?}\n{:#?}", outline(&picture), edges(&picture));
        }
    }
    let _ = Form::One;
}
