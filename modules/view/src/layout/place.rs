//! Positions of scopes, inside out, and of their elements in the picture, outside in.

use super::nesting::{Item, Nesting};
use super::plan::{Course, Plan};
use super::scope::{Columns, Laid, Port, STUB, Scope};
use super::sizes::{self, Padding};
use super::wraps::Wraps;
use super::{layered, matrix};
use crate::colour::{Colour, STYLES};
use crate::drawing::{Drawing, Form, Frame, Label, Path, Shape as Drawn, Tip};
use crate::geometry::{Point, Rect, Side, Size};
use crate::picture::{Edge, Picture, Shape};
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Space around the picture.
const MARGIN: f64 = 16.0;
/// Half the height of a loop.
const LOOP: f64 = 6.0;

/// Returns the positions of all elements of a picture.
pub(super) fn place(picture: &Picture, nesting: &Nesting, mut plan: Plan, wraps: Wraps) -> Drawing {
    let mut laid: Vec<Laid> = vec![Laid::default(); nesting.items.len()];
    let mut frames: Vec<Outline> = vec![Outline::default(); picture.groups.len()];
    // Children follow their parent. The whole picture comes last.
    for scope in (0..nesting.root()).rev().chain([nesting.root()]) {
        align(picture, nesting, &mut plan, &mut laid, &mut frames, scope);
        lay_out(
            picture, nesting, &mut plan, &mut laid, &frames, scope, wraps,
        );
        if scope < frames.len() {
            frames[scope] = outline(picture, &plan.scopes[scope], &laid[scope], scope, [0.0; 2]);
        }
    }
    Placing {
        picture,
        nesting,
        plan: &plan,
        laid: &laid,
        frames: &frames,
        origins: vec![Point::default(); nesting.items.len()],
        outlines: vec![Rect::default(); picture.groups.len()],
    }
    .drawing()
}

/// Aligns the columns of the items of a scope, if each is a row of a matrix with as many columns.
fn align(
    picture: &Picture,
    nesting: &Nesting,
    plan: &mut Plan,
    laid: &mut [Laid],
    frames: &mut [Outline],
    scope: usize,
) {
    if nesting.shape(picture, scope) != (Shape::Matrix { columns: 1 }) {
        return;
    }
    let row = |item: &Item| match *item {
        Item::Group(group) => {
            let count = nesting.items[group].len();
            let shape = nesting.shape(picture, group);
            let is_row = matches!(shape, Shape::Matrix { columns } if columns >= count);
            is_row.then_some((group, count))
        }
        Item::Node(_) => None,
    };
    let rows: Option<Vec<(usize, usize)>> = nesting.items[scope].iter().map(row).collect();
    let Some(rows) = rows else {
        return;
    };
    let count = rows.first().map_or(0, |(_, count)| *count);
    if rows.len() < 2 || count == 0 || rows.iter().any(|(_, other)| *other != count) {
        return;
    }
    let mut least = Columns {
        middles: vec![0.0; count],
        width: 0.0,
    };
    let mut rest = 0.0_f64;
    let mut sides = [0.0_f64; 2];
    for &(group, _) in &rows {
        let positions = laid[group].items.iter().zip(&plan.scopes[group].items);
        let middles = positions.map(|(at, size)| at.x + size.width / 2.0);
        let mut last = 0.0;
        for (known, middle) in least.middles.iter_mut().zip(middles) {
            *known = known.max(middle);
            last = middle;
        }
        rest = rest.max(laid[group].size.width - last);
        let Padding { left, right, .. } = frames[group].padding;
        sides = [sides[0].max(left), sides[1].max(right)];
    }
    least.width = least.middles[count - 1] + rest;
    for (group, _) in rows {
        plan.scopes[group].least = least.clone();
        laid[group] = matrix::layout(&plan.scopes[group], count);
        frames[group] = outline(picture, &plan.scopes[group], &laid[group], group, sides);
    }
}

/// Size of the frame of a group, and the space between it and its contents.
#[derive(Clone, Copy, Debug, Default)]
struct Outline {
    size: Size,
    padding: Padding,
}

/// Returns the outline of a group whose contents have positions, with the least spaces at the left
/// and at the right.
fn outline(
    picture: &Picture,
    scope: &Scope,
    laid: &Laid,
    index: usize,
    [left, right]: [f64; 2],
) -> Outline {
    let group = &picture.groups[index];
    let mut padding = Padding::default();
    let mut name = 0.0;
    if group.framed {
        padding = match picture.downwards {
            false => Padding::of_frame(),
            true => Padding::of_frame().transposed(),
        };
        name = sizes::of_name(&sizes::name(&group.label));
        // Lines that cross the upper side of the frame are at the right of the name.
        let upper = match (picture.downwards, picture.reversed) {
            (false, _) => Side::Top,
            (true, false) => Side::Left,
            (true, true) => Side::Right,
        };
        let above = scope.ports.iter().zip(&laid.ports);
        let above = above.filter(|(port, _)| port.item.is_none() && port.side == upper);
        let from_edge = above.map(|(_, at)| match (picture.downwards, picture.reversed) {
            (true, _) => at.y,
            (false, false) => at.x,
            (false, true) => laid.size.width - at.x,
        });
        let first = from_edge.fold(f64::INFINITY, f64::min);
        if first.is_finite() {
            let room = match picture.downwards {
                false => &mut padding.left,
                true => &mut padding.top,
            };
            *room = room.max(name - first);
        }
        if picture.reversed {
            padding = padding.mirrored();
        }
    }
    padding.left = padding.left.max(left);
    padding.right = padding.right.max(right);
    let size = Size::new(
        laid.size.width + padding.left + padding.right,
        laid.size.height + padding.top + padding.bottom,
    );
    let size = match picture.downwards {
        true => Size::new(size.width, size.height.max(name)),
        false => Size::new(size.width.max(name), size.height),
    };
    Outline { size, padding }
}

/// Lays out a scope whose inner scopes have positions.
fn lay_out(
    picture: &Picture,
    nesting: &Nesting,
    plan: &mut Plan,
    laid: &mut [Laid],
    frames: &[Outline],
    scope: usize,
    wraps: Wraps,
) {
    let turned = |size: Size| match picture.downwards {
        true => size.transposed(),
        false => size,
    };
    let mut of_item: Vec<Vec<Port>> = vec![Vec::new(); nesting.items[scope].len()];
    for number in 0..plan.scopes[scope].ports.len() {
        let port = &mut plan.scopes[scope].ports[number];
        port.label = turned(port.label);
        let Some(item) = port.item else {
            continue;
        };
        if let Item::Group(group) = nesting.items[scope][item] {
            let inner = plan.inner[&(scope, number)];
            let padding = frames[group].padding;
            let at = laid[group].ports[inner];
            port.offset = Some(match port.side {
                Side::Left | Side::Right => at.y + padding.top,
                Side::Top | Side::Bottom => at.x + padding.left,
            });
        } else {
            of_item[item].push(*port);
        }
    }
    let items = nesting.items[scope].iter().zip(&of_item);
    let items = items.map(|(item, ports)| match *item {
        Item::Group(group) => frames[group].size,
        Item::Node(node) => sizes::of_box(&picture.nodes[node], ports, picture.downwards),
    });
    let items: Vec<Size> = items.collect();
    let contents: &mut Scope = &mut plan.scopes[scope];
    contents.items = items;
    laid[scope] = match nesting.shape(picture, scope) {
        Shape::Layered => layered::layout(contents, wraps.least(scope == nesting.root())),
        Shape::Matrix { columns } => matrix::layout(contents, columns),
    };
}

struct Placing<'p> {
    picture: &'p Picture,
    nesting: &'p Nesting,
    plan: &'p Plan,
    laid: &'p [Laid],
    frames: &'p [Outline],
    /// Upper left corner of the contents of each scope.
    origins: Vec<Point>,
    outlines: Vec<Rect>,
}

impl Placing<'_> {
    fn drawing(mut self) -> Drawing {
        let picture = self.picture;
        let mut drawing = Drawing {
            title: picture.title.clone(),
            notes: picture
                .notes
                .iter()
                .chain(&self.plan.notes)
                .cloned()
                .collect(),
            ..Drawing::default()
        };
        let mut boxes = vec![Rect::default(); picture.nodes.len()];
        self.origins[self.nesting.root()] = Point::new(MARGIN, MARGIN);
        for scope in std::iter::once(self.nesting.root()).chain(0..self.nesting.root()) {
            let origin = self.origins[scope];
            let sizes = &self.plan.scopes[scope].items;
            let positions = self.laid[scope].items.iter().zip(sizes);
            for (item, (at, size)) in self.nesting.items[scope].iter().zip(positions) {
                let rect = Rect::new(origin + *at, *size);
                match *item {
                    Item::Node(node) => boxes[node] = rect,
                    Item::Group(group) => {
                        let padding = self.frames[group].padding;
                        self.outlines[group] = rect;
                        self.origins[group] = rect.at + Point::new(padding.left, padding.top);
                    }
                }
            }
        }
        for (group, rect) in picture.groups.iter().zip(&self.outlines) {
            if group.framed {
                drawing.frames.push(Frame {
                    rect: *rect,
                    label: sizes::name(&group.label),
                    title: group.title.clone(),
                    name: group.name.clone(),
                    color: group.color.clone(),
                });
            }
        }
        for (node, rect) in picture.nodes.iter().zip(boxes) {
            drawing.boxes.push(Drawn {
                rect,
                label: sizes::lines(node),
                title: node.title.clone(),
                name: node.name.clone(),
                kind: match node.form {
                    Form::Junction => String::new(),
                    _ => node.kind.clone(),
                },
                form: node.form,
                color: node.color.clone(),
                outline: node.outline.clone(),
            });
        }
        for (edge, course) in picture.edges.iter().zip(&self.plan.courses) {
            self.edge(edge, course, &mut drawing);
        }
        self.labels(&mut drawing);
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for node in picture
            .nodes
            .iter()
            .filter(|node| node.form != Form::Junction)
            .filter(|node| node.color.as_deref().and_then(Colour::parsed).is_none())
        {
            *kinds.entry(&node.kind).or_default() += node.processes;
        }
        let mut legend: Vec<(&str, usize)> = kinds.into_iter().collect();
        let count = legend.len();
        if count > STYLES {
            legend.sort_by_key(|&(_, processes)| Reverse(processes));
            legend.truncate(STYLES);
            legend.sort();
            drawing.notes.push(format!(
                "The legend has the {STYLES} most frequent of {count} kinds. Boxes of other kinds are grey."
            ));
        }
        if count > 1 {
            drawing.legend = legend.iter().map(|(kind, _)| (*kind).to_owned()).collect();
        }
        let size = self.laid[self.nesting.root()].size;
        drawing.size = Size::new(size.width + 2.0 * MARGIN, size.height + 2.0 * MARGIN);
        if picture.reversed {
            mirror(&mut drawing);
        }
        match picture.downwards {
            true => transposed(drawing),
            false => drawing,
        }
    }

    /// Returns the position of a port in the picture.
    fn port(&self, (scope, port): (usize, usize)) -> Point {
        self.origins[scope] + self.laid[scope].ports[port]
    }

    fn path(&self, edge: &Edge, points: Vec<Point>, curved: bool) -> Path {
        let name = |node: Option<usize>| {
            node.map_or("NULL".to_owned(), |node| {
                self.picture.nodes[node].name.clone()
            })
        };
        Path {
            points,
            curved,
            end: Tip::Arrow,
            two_way: edge.two_way,
            title: edge.title.clone(),
            ends: [name(edge.from.node), name(edge.to.node)],
            dashed: edge.controlled,
            width: edge.width,
            color: edge.color.clone(),
        }
    }

    fn edge(&self, edge: &Edge, course: &Course, drawing: &mut Drawing) {
        match course {
            Course::Lines(lines) => {
                let mut points: Vec<Point> = Vec::new();
                let mut curved = false;
                for &(scope, line) in lines {
                    let origin = self.origins[scope];
                    let of_line = self.laid[scope].lines[line].iter();
                    points.extend(of_line.map(|point| origin + *point));
                    curved |= self.nesting.shape(self.picture, scope) == Shape::Layered;
                }
                drawing
                    .lines
                    .push(self.path(edge, straight(points), curved));
            }
            Course::Loop(scope, port) => {
                let at = self.port((*scope, *port));
                // Both ends are on the side of the box.
                let contents = &self.plan.scopes[*scope];
                let (mut above, mut below) = (LOOP, LOOP);
                if let Some(item) = contents.ports[*port].item {
                    let top = self.origins[*scope].y + self.laid[*scope].items[item].y;
                    above = above.min(at.y - top);
                    below = below.min(top + contents.items[item].height - at.y);
                }
                let away = 16.0;
                let points = [(0.0, -above), (away, -above), (away, below), (0.0, below)];
                let points = points.map(|(x, y)| at + Point::new(x, y)).to_vec();
                drawing.lines.push(self.path(edge, points, false));
            }
            Course::Stubs { from, to } => {
                for (end, at) in [(true, from), (false, to)] {
                    let Some(at) = *at else {
                        continue;
                    };
                    let point = self.port(at);
                    let side = self.plan.scopes[at.0].ports[at.1].side;
                    let outside = match side {
                        Side::Left => Point::new(-STUB, 0.0),
                        Side::Right => Point::new(STUB, 0.0),
                        Side::Top => Point::new(0.0, -STUB),
                        Side::Bottom => Point::new(0.0, STUB),
                    };
                    let points = match end {
                        true => vec![point, point + outside],
                        false => vec![point + outside, point],
                    };
                    let mut path = self.path(edge, points, false);
                    if end && !edge.is_cut() {
                        path.end = Tip::Dot;
                    }
                    drawing.lines.push(path);
                }
            }
        }
    }

    fn labels(&self, drawing: &mut Drawing) {
        for (scope, texts) in self.plan.texts.iter().enumerate() {
            let lines = &self.plan.scopes[scope].lines;
            let joined: FxHashSet<usize> = lines.iter().flat_map(|l| [l.from, l.to]).collect();
            for (port, text) in texts
                .iter()
                .enumerate()
                .filter(|(_, text)| !text.is_empty())
            {
                let size = self.plan.scopes[scope].ports[port].label;
                let at = self.origins[scope] + self.laid[scope].labels[port];
                let mut rect = Rect::new(at, size);
                let of = &self.plan.scopes[scope].ports[port];
                if !of.stub && !joined.contains(&port) {
                    // The label is right of the loop.
                    let text = match self.picture.downwards {
                        true => sizes::of_label(text).transposed(),
                        false => sizes::of_label(text),
                    };
                    let down = (size.height - text.height) / 2.0;
                    let corner = Point::new(size.width - text.width, down);
                    rect = Rect::new(at + corner, text);
                }
                drawing.labels.push(Label {
                    rect,
                    text: text.clone(),
                });
            }
        }
    }
}

/// Removes points that are equal to the one before, or between two others on a straight line.
fn straight(points: Vec<Point>) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::with_capacity(points.len());
    for point in points {
        let is_near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        if let Some(last) = kept.last()
            && is_near(last.x, point.x)
            && is_near(last.y, point.y)
        {
            continue;
        }
        if let [.., a, b] = kept[..] {
            let level = is_near(a.y, b.y) && is_near(b.y, point.y);
            let upright = is_near(a.x, b.x) && is_near(b.x, point.x);
            if level || upright {
                kept.pop();
            }
        }
        kept.push(point);
    }
    kept
}

/// Exchanges left and right.
fn mirror(drawing: &mut Drawing) {
    let width = drawing.size.width;
    let frames = drawing.frames.iter_mut().map(|frame| &mut frame.rect);
    let boxes = drawing.boxes.iter_mut().map(|shape| &mut shape.rect);
    let labels = drawing.labels.iter_mut().map(|label| &mut label.rect);
    for rect in frames.chain(boxes).chain(labels) {
        rect.at.x = width - rect.right();
    }
    for point in drawing.lines.iter_mut().flat_map(|line| &mut line.points) {
        point.x = width - point.x;
    }
}

/// Exchanges the axes.
fn transposed(mut drawing: Drawing) -> Drawing {
    drawing.size = drawing.size.transposed();
    for frame in &mut drawing.frames {
        frame.rect = frame.rect.transposed();
    }
    for shape in &mut drawing.boxes {
        shape.rect = shape.rect.transposed();
    }
    for line in &mut drawing.lines {
        for point in &mut line.points {
            *point = point.transposed();
        }
    }
    for label in &mut drawing.labels {
        label.rect = label.rect.transposed();
    }
    drawing
}
