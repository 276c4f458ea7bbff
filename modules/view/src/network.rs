//! Picture of a network as SVG, without Graphviz. Processes are boxes coloured by kind, and modules
//! are frames around them. Channels are arrows, dashed if they are flow-controlled.

use crate::Colour;
use crate::layers::{Layout, Size, layout};
use crate::picture::{Node, Picture};
use crate::svg::{escaped, text};
use std::fmt::Write;

/// Approximate width of a letter, and minimum width of a box.
const LETTER: f64 = 7.2;
const LEAST: f64 = 44.0;
const HEIGHT: f64 = 28.0;
/// Diameter of a node for the environment.
const POINT: f64 = 9.0;
/// Space around the contents of a group, and height of the name above them.
const MARGIN: f64 = 16.0;
const NAME: f64 = 18.0;
/// Height of the title of the picture.
const TOP: f64 = 40.0;
/// Maximum number of edges with labels. More labels would hide each other.
const MOST_LABELS: usize = 40;
/// Maximum number of letters of a label.
const LONGEST: usize = 32;

/// Returns the SVG document of a picture. Labels of nodes longer than 32 letters are shortened. If
/// there are more than 40 edges, none has a label.
///
/// # Panics
/// Panics if an index in the picture is out of range.
pub fn draw(picture: &Picture) -> String {
    let mut out = String::new();
    draw_to(&mut out, picture).expect("a String takes all that is written");
    out
}

/// Contents of a group, or of the whole picture (the last scope).
#[derive(Default)]
struct Scope {
    /// Items are the groups, followed by the nodes.
    groups: Vec<usize>,
    nodes: Vec<usize>,
    /// Edges between items of this scope, and the indices of these edges in the picture.
    edges: Vec<(usize, usize)>,
    which: Vec<usize>,
    layout: Layout,
}

/// Positions of all elements.
struct Plan {
    groups: Vec<Frame>,
    nodes: Vec<Frame>,
    /// Points on each edge, and whether it leads to the left.
    ways: Vec<(Vec<(f64, f64)>, bool)>,
    size: Size,
}

#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    x: f64,
    y: f64,
    size: Size,
}

fn label(node: &Node) -> String {
    let mut letters = node.label.chars();
    let mut label: String = letters.by_ref().take(LONGEST).collect();
    if letters.next().is_some() {
        label.push('…');
    }
    label
}

fn node_size(node: &Node) -> Size {
    if node.kind.is_none() {
        return Size {
            width: POINT,
            height: POINT,
        };
    }
    Size {
        width: (label(node).chars().count() as f64 * LETTER + 18.0).max(LEAST),
        height: HEIGHT,
    }
}

/// Returns the positions of all elements. Lays out each scope separately, the inner ones first.
/// Then puts inner scopes into outer ones. The parent of a group must precede it.
fn plan(picture: &Picture) -> Plan {
    let root = picture.groups.len();
    let mut scopes: Vec<Scope> = (0..=root).map(|_| Scope::default()).collect();
    // Index of each group and node among the items of its scope.
    let mut group_item = vec![0; root];
    let mut node_item = vec![0; picture.nodes.len()];
    let mut depth = vec![0usize; root];
    for (i, group) in picture.groups.iter().enumerate() {
        let scope = &mut scopes[group.parent.unwrap_or(root)];
        group_item[i] = scope.groups.len();
        scope.groups.push(i);
        depth[i] = group.parent.map_or(1, |parent| depth[parent] + 1);
    }
    for (i, node) in picture.nodes.iter().enumerate() {
        let scope = &mut scopes[node.group.unwrap_or(root)];
        node_item[i] = scope.groups.len() + scope.nodes.len();
        scope.nodes.push(i);
    }
    for (which, edge) in picture.edges.iter().enumerate() {
        // Finds the innermost scope that contains both ends, and the items there that contain the
        // ends.
        let mut ends = [edge.from, edge.to].map(|n| (picture.nodes[n].group, node_item[n]));
        while ends[0].0 != ends[1].0 {
            let deep = ends.map(|(group, _)| group.map_or(0, |g| depth[g]));
            let up = usize::from(deep[1] > deep[0]);
            let Some(group) = ends[up].0 else {
                break;
            };
            ends[up] = (picture.groups[group].parent, group_item[group]);
        }
        let scope = &mut scopes[ends[0].0.unwrap_or(root)];
        scope.edges.push((ends[0].1, ends[1].1));
        scope.which.push(which);
    }
    let mut sizes = vec![Size::default(); root];
    // A parent precedes its children.
    for i in (0..root).rev() {
        lay_out(&mut scopes[i], picture, &sizes);
        let Size { width, height } = scopes[i].layout.size;
        let name = picture.groups[i].label.chars().count() as f64 * LETTER;
        sizes[i] = Size {
            width: width.max(name) + 2.0 * MARGIN,
            height: height + 2.0 * MARGIN + NAME,
        };
    }
    lay_out(&mut scopes[root], picture, &sizes);
    let mut plan = Plan {
        groups: vec![Frame::default(); root],
        nodes: vec![Frame::default(); picture.nodes.len()],
        ways: vec![(Vec::new(), false); picture.edges.len()],
        size: scopes[root].layout.size,
    };
    place(&mut plan, &scopes[root], (MARGIN, TOP), picture, &sizes);
    for (i, scope) in scopes[..root].iter().enumerate() {
        let Frame { x, y, .. } = plan.groups[i];
        let inside = (x + MARGIN, y + MARGIN + NAME);
        place(&mut plan, scope, inside, picture, &sizes);
    }
    plan
}

fn lay_out(scope: &mut Scope, picture: &Picture, sizes: &[Size]) {
    let groups = scope.groups.iter().map(|&group| sizes[group]);
    let nodes = scope.nodes.iter().map(|&n| node_size(&picture.nodes[n]));
    let items: Vec<Size> = groups.chain(nodes).collect();
    scope.layout = layout(&items, &scope.edges);
}

fn place(plan: &mut Plan, scope: &Scope, (x, y): (f64, f64), picture: &Picture, sizes: &[Size]) {
    let mut positions = scope
        .layout
        .positions
        .iter()
        .map(|place| (x + place.0, y + place.1));
    for (&group, (x, y)) in scope.groups.iter().zip(positions.by_ref()) {
        let size = sizes[group];
        plan.groups[group] = Frame { x, y, size };
    }
    for (&node, (x, y)) in scope.nodes.iter().zip(positions) {
        let size = node_size(&picture.nodes[node]);
        plan.nodes[node] = Frame { x, y, size };
    }
    let ways = scope.layout.ways.iter().zip(&scope.layout.back);
    for (&which, (way, &back)) in scope.which.iter().zip(ways) {
        let way = way.iter().map(|point| (x + point.0, y + point.1));
        plan.ways[which] = (way.collect(), back);
    }
}

fn draw_to(out: &mut String, picture: &Picture) -> std::fmt::Result {
    let plan = plan(picture);
    let width = (plan.size.width + 2.0 * MARGIN).max(160.0);
    let height = plan.size.height + TOP + MARGIN;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">"
    )?;
    writeln!(
        out,
        "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#555\"/></marker></defs>"
    )?;
    writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>")?;
    text(out, MARGIN, 24.0, "font-size=\"16\"", &picture.name)?;
    for (frame, group) in plan.groups.iter().zip(&picture.groups) {
        rectangle(
            out,
            frame,
            8.0,
            "fill=\"#000\" fill-opacity=\"0.035\" stroke=\"#999\"",
        )?;
        if !group.title.is_empty() {
            write!(out, "<title>{}</title>", escaped(&group.title))?;
        }
        out.push_str("</rect>\n");
        let (x, y) = (frame.x + 10.0, frame.y + NAME);
        text(
            out,
            x,
            y,
            "font-weight=\"bold\" fill=\"#444\"",
            &group.label,
        )?;
    }
    let labelled = picture.edges.len() <= MOST_LABELS;
    let mut labels = Vec::new();
    for (edge, (way, back)) in picture.edges.iter().zip(&plan.ways) {
        let (from, to) = (&plan.nodes[edge.from], &plan.nodes[edge.to]);
        let (path, middle) = if edge.from == edge.to {
            round(from)
        } else {
            curve(from, way, to, *back)
        };
        writeln!(
            out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"#555\"{} marker-end=\"url(#tip)\"><title>{}</title></path>",
            if edge.controlled {
                " stroke-dasharray=\"6 3\""
            } else {
                ""
            },
            escaped(&edge.title)
        )?;
        if labelled && !edge.label.is_empty() {
            let off = if *back { 10.0 } else { -3.0 };
            labels.push(((middle.0, middle.1 + off), &edge.label));
        }
    }
    for (frame, node) in plan.nodes.iter().zip(&picture.nodes) {
        draw_node(out, frame, node)?;
    }
    for ((x, y), label) in labels {
        let style = "font-size=\"10\" fill=\"#555\" text-anchor=\"middle\"";
        text(out, x, y, style, label)?;
    }
    writeln!(out, "</svg>")
}

fn rectangle(out: &mut String, frame: &Frame, round: f64, style: &str) -> std::fmt::Result {
    let Frame { x, y, size } = frame;
    write!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{round}\" {style}>",
        size.width, size.height
    )
}

fn draw_node(out: &mut String, frame: &Frame, node: &Node) -> std::fmt::Result {
    let title = escaped(&node.title);
    let Some(kind) = node.kind else {
        rectangle(out, frame, POINT / 2.0, "fill=\"#333\"")?;
        return writeln!(out, "<title>{title}</title></rect>");
    };
    if node.many {
        // A second box behind the first.
        let behind = Frame {
            x: frame.x + 4.0,
            y: frame.y - 4.0,
            ..*frame
        };
        let style = format!("fill=\"{}\" stroke=\"#444\"", Colour::of(kind));
        rectangle(out, &behind, 5.0, &style)?;
        out.push_str("</rect>\n");
    }
    let style = format!("fill=\"{}\" stroke=\"#444\"", Colour::of(kind));
    rectangle(out, frame, 5.0, &style)?;
    writeln!(out, "<title>{title}</title></rect>")?;
    let (x, y) = (
        frame.x + frame.size.width / 2.0,
        frame.y + HEIGHT / 2.0 + 4.0,
    );
    text(out, x, y, "text-anchor=\"middle\"", &label(node))
}

/// Returns a curve from box to box through the points `way`, as the data of an SVG path, and the
/// position of its label near its middle. `back` is true if the curve leads to the left.
fn curve(from: &Frame, way: &[(f64, f64)], to: &Frame, back: bool) -> (String, (f64, f64)) {
    // Edges in opposite directions are separate lines.
    let side = |frame: &Frame, right: bool| {
        let x = frame.x + if right { frame.size.width } else { 0.0 };
        let off = (frame.size.height / 6.0).min(5.0) * if back { 1.0 } else { -1.0 };
        (x, frame.y + frame.size.height / 2.0 + off)
    };
    let start = side(from, !back);
    let end = side(to, back);
    let mut points = vec![start];
    points.extend_from_slice(way);
    points.push(end);
    let mut path = format!("M{:.1} {:.1}", start.0, start.1);
    for pair in points.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let bend = (b.0 - a.0) / 2.0;
        let _ = write!(
            path,
            " C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
            a.0 + bend,
            a.1,
            b.0 - bend,
            b.1,
            b.0,
            b.1
        );
    }
    let half = points.len() / 2;
    let (a, b) = (points[half - 1], points[half]);
    (path, ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0))
}

/// Returns a curve above a box from the box to itself, as the data of an SVG path, and the position
/// of its label.
fn round(frame: &Frame) -> (String, (f64, f64)) {
    let (x, y) = (frame.x + frame.size.width / 2.0, frame.y);
    let path = format!(
        "M{:.1} {y:.1} C{:.1} {:.1} {:.1} {:.1} {:.1} {y:.1}",
        x + 10.0,
        x + 18.0,
        y - 18.0,
        x - 18.0,
        y - 18.0,
        x - 10.0
    );
    (path, (x, y - 14.0))
}
