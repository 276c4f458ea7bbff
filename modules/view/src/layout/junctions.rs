//! Complete connections: an edge from each of several ports to each of several other ports. They
//! are drawn as one trunk with a bar: each writer has a line to the bar, and each reader a line
//! from it.

use super::nesting::Nesting;
use crate::drawing::Form;
use crate::picture::{Edge, End, Node, Picture, Shape};
use rustc_hash::FxHashMap;

/// Least number of edges that a bar replaces, in relation to the lines at the bar.
const SAVED: usize = 2;

/// Returns the contents with a bar instead of the edges of each complete connection. The edges must
/// be equal, apart from their ends, and belong to one layered scope. Takes nearly linear time.
pub(super) fn joined(mut picture: Picture) -> Picture {
    let mut replaced = vec![false; picture.edges.len()];
    let mut lines: Vec<Edge> = Vec::new();
    let mut bars: Vec<Node> = Vec::new();
    for (group, edges) in connections(&picture) {
        let number = bars.len() + 1;
        let bar = |port: &str| End {
            node: Some(picture.nodes.len() + number - 1),
            port: port.to_owned(),
        };
        let first = &picture.edges[edges[0]];
        // The edges are ordered by the writer.
        let all = || edges.iter().map(|&edge| &picture.edges[edge]);
        let readers: Vec<&End> = all()
            .take_while(|edge| edge.from == first.from)
            .map(|edge| &edge.to)
            .collect();
        let writers: Vec<&End> = all()
            .step_by(readers.len())
            .map(|edge| &edge.from)
            .collect();
        let title =
            |side: &str, others: usize| format!("{}, {side} each of {others} ports", first.title);
        lines.extend(writers.iter().map(|&from| Edge {
            from: from.clone(),
            to: bar("in"),
            channels: first.channels * readers.len(),
            title: title("to", readers.len()),
            ..first.clone()
        }));
        lines.extend(readers.iter().map(|&to| Edge {
            from: bar("out"),
            to: to.clone(),
            label: String::new(),
            channels: first.channels * writers.len(),
            title: title("from", writers.len()),
            ..first.clone()
        }));
        let name = format!("bar {number}");
        bars.push(Node {
            label: String::new(),
            kind: name.clone(),
            name,
            group,
            position: usize::MAX,
            form: Form::Junction,
            processes: 0,
            title: format!(
                "{} writers, each with channels to each of {} readers",
                writers.len(),
                readers.len()
            ),
            color: None,
            outline: None,
        });
        for edge in edges {
            replaced[edge] = true;
        }
    }
    if bars.is_empty() {
        return picture;
    }
    let mut is_replaced = replaced.into_iter();
    picture.edges.retain(|_| is_replaced.next() != Some(true));
    picture.edges.append(&mut lines);
    picture.nodes.append(&mut bars);
    let note = "A bar joins each of its writers to each of its readers.";
    picture.notes.push(note.to_owned());
    picture
}

/// Returns the complete connections: the group around each, and its edges, ordered by the writer.
fn connections(picture: &Picture) -> Vec<(Option<usize>, Vec<usize>)> {
    let nesting = Nesting::of(picture);
    let mut numbers: FxHashMap<(&End, bool), usize> = FxHashMap::default();
    let mut ports = Vec::with_capacity(picture.edges.len());
    // Edges of each port.
    let mut of_port: Vec<Vec<usize>> = Vec::new();
    for (index, edge) in picture.edges.iter().enumerate() {
        let number = [(&edge.from, true), (&edge.to, false)].map(|end| {
            let number = *numbers.entry(end).or_insert(of_port.len());
            of_port.resize_with(of_port.len().max(number + 1), Vec::new);
            of_port[number].push(index);
            number
        });
        ports.push(number);
    }
    // Writers by their readers.
    let mut known: FxHashMap<Vec<usize>, usize> = FxHashMap::default();
    let mut writers: Vec<Vec<usize>> = Vec::new();
    for (port, edges) in of_port.iter().enumerate() {
        if edges.len() < 2 || ports[edges[0]][0] != port {
            continue;
        }
        let mut readers: Vec<usize> = edges.iter().map(|&edge| ports[edge][1]).collect();
        readers.sort_unstable();
        let class = *known.entry(readers).or_insert(writers.len());
        writers.resize_with(writers.len().max(class + 1), Vec::new);
        writers[class].push(port);
    }
    let alike = |one: &Edge, other: &Edge| {
        let kind = |edge: &Edge| {
            let width = edge.width.to_bits();
            (
                edge.channels,
                edge.controlled,
                edge.initial,
                edge.two_way,
                width,
            )
        };
        kind(one) == kind(other)
            && (&one.label, &one.title, &one.color) == (&other.label, &other.title, &other.color)
    };
    let scope = |edge: &Edge| match (edge.from.node, edge.to.node) {
        (Some(from), Some(to)) if from != to && !edge.is_cut() => Some(nesting.way(from, to).top.0),
        _ => None,
    };
    let connection = |writers: Vec<usize>| {
        let readers = of_port[writers[0]].len();
        let edges: Vec<usize> = writers
            .iter()
            .flat_map(|&port| of_port[port].iter().copied())
            .collect();
        let first = &picture.edges[edges[0]];
        let around = scope(first)?;
        let is_part = |&edge: &usize| {
            let other = &picture.edges[edge];
            of_port[ports[edge][1]].len() == writers.len()
                && alike(first, other)
                && scope(other) == Some(around)
        };
        let is_complete = edges.len() > SAVED * (writers.len() + readers)
            && nesting.shape(picture, around) == Shape::Layered
            && edges.iter().all(is_part);
        is_complete.then(|| ((around < picture.groups.len()).then_some(around), edges))
    };
    writers.into_iter().filter_map(connection).collect()
}

#[cfg(test)]
mod tests {
    use super::joined;
    use crate::drawing::Form;
    use crate::picture::{Edge, End, Node, Picture};

    fn picture(writers: usize, readers: usize) -> Picture {
        let node = |i: usize| Node {
            name: format!("n{i}"),
            label: String::new(),
            kind: String::new(),
            group: None,
            position: i,
            form: Form::One,
            processes: 1,
            title: String::new(),
            color: None,
            outline: None,
        };
        let edge = |from: usize, to: usize| {
            let end = |node: usize| End {
                node: Some(node),
                port: "p".to_owned(),
            };
            Edge {
                from: end(from),
                to: end(writers + to),
                label: "u8".to_owned(),
                ty: "u8".to_owned(),
                channels: 1,
                title: "t".to_owned(),
                controlled: false,
                initial: false,
                wraps: false,
                elsewhere: None,
                two_way: false,
                width: 1.0,
                color: None,
            }
        };
        Picture {
            nodes: (0..writers + readers).map(node).collect(),
            edges: (0..writers)
                .flat_map(|from| (0..readers).map(move |to| edge(from, to)))
                .collect(),
            ..Picture::default()
        }
    }

    #[test]
    fn a_complete_connection_becomes_a_bar() {
        let picture = joined(picture(6, 4));
        assert_eq!(picture.nodes.len(), 11);
        assert_eq!(picture.nodes[10].form, Form::Junction);
        let ends = |edge: &Edge| (edge.from.node.unwrap(), edge.to.node.unwrap());
        let edges: Vec<(usize, usize)> = picture.edges.iter().map(ends).collect();
        let to = (0..6).map(|writer| (writer, 10));
        let from = (6..10).map(|reader| (10, reader));
        assert_eq!(edges, to.chain(from).collect::<Vec<_>>());
        assert_eq!(picture.edges[0].channels, 4);
        assert_eq!(picture.edges[6].channels, 6);
        assert_eq!(picture.notes.len(), 1);
    }

    #[test]
    fn incomplete_and_small_connections_stay() {
        for (writers, readers, changed) in [(4, 2, None), (6, 4, Some(7)), (6, 4, Some(23))] {
            let mut before = picture(writers, readers);
            if let Some(changed) = changed {
                before.edges[changed].label.clear();
            }
            assert_eq!(joined(before.clone()), before);
            if let Some(changed) = changed {
                before.edges.remove(changed);
                assert_eq!(joined(before.clone()), before);
            }
        }
    }
}
