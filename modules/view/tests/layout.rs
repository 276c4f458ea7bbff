//! Positions of pictures: nothing is drawn over something else.

use graphmap_view::drawing::{Drawing, Form, Frame};
use graphmap_view::geometry::{Point, Rect, Size};
use graphmap_view::layout::layout;
use graphmap_view::picture::{Edge, End, Group, Node, Picture, Shape};
use proptest::prelude::*;

/// Distance up to which rectangles may overlap, because of rounding.
const ROUNDING: f64 = 1e-3;

fn overlap(a: &Rect, b: &Rect) -> bool {
    a.at.x + ROUNDING < b.right()
        && b.at.x + ROUNDING < a.right()
        && a.at.y + ROUNDING < b.bottom()
        && b.at.y + ROUNDING < a.bottom()
}

fn within(inner: &Rect, outer: &Rect) -> bool {
    inner.at.x + ROUNDING >= outer.at.x
        && inner.at.y + ROUNDING >= outer.at.y
        && inner.right() <= outer.right() + ROUNDING
        && inner.bottom() <= outer.bottom() + ROUNDING
}

/// Returns the smallest rectangle around a piece of a line.
fn around(a: Point, b: Point) -> Rect {
    let at = Point::new(a.x.min(b.x), a.y.min(b.y));
    let size = Size::new((a.x - b.x).abs(), (a.y - b.y).abs());
    Rect::new(at, size)
}

/// Returns true if a point is on the border of a rectangle.
fn is_on_border(point: Point, rect: &Rect) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() < 0.01;
    let x = near(point.x, rect.at.x) || near(point.x, rect.right());
    let y = near(point.y, rect.at.y) || near(point.y, rect.bottom());
    within(&Rect::new(point, Default::default()), rect) && (x || y)
}

fn check(picture: &Picture, drawing: &Drawing) {
    let whole = Rect::new(Point::default(), drawing.size);
    for (i, a) in drawing.boxes.iter().enumerate() {
        assert!(within(&a.rect, &whole), "{a:?}");
        for b in &drawing.boxes[i + 1..] {
            assert!(!overlap(&a.rect, &b.rect), "{a:?} {b:?}");
        }
        for frame in &drawing.frames {
            let inside = within(&a.rect, &frame.rect);
            assert!(inside || !overlap(&a.rect, &frame.rect), "{a:?} {frame:?}");
        }
    }
    for (i, a) in drawing.frames.iter().enumerate() {
        for b in &drawing.frames[i + 1..] {
            let nested = within(&a.rect, &b.rect) || within(&b.rect, &a.rect);
            assert!(nested || !overlap(&a.rect, &b.rect), "{a:?} {b:?}");
        }
    }
    for (i, label) in drawing.labels.iter().enumerate() {
        for shape in &drawing.boxes {
            assert!(!overlap(&label.rect, &shape.rect), "{label:?} {shape:?}");
        }
        for other in &drawing.labels[i + 1..] {
            assert!(!overlap(&label.rect, &other.rect), "{label:?} {other:?}");
        }
    }
    // The names of all modules are at least this large.
    let name = |frame: &Frame| {
        let at = frame.rect.at + Point::new(8.0, 6.0);
        Rect::new(at, Size::new(45.0, 10.0))
    };
    let names: Vec<Rect> = drawing.frames.iter().map(name).collect();
    for line in &drawing.lines {
        assert!(line.points.len() > 1, "{line:?}");
        for piece in line.points.windows(2) {
            let piece = around(piece[0], piece[1]);
            assert!(within(&piece, &whole), "{line:?}");
            for shape in &drawing.boxes {
                assert!(!overlap(&piece, &shape.rect), "{line:?} {shape:?}");
            }
            // The rectangle around a curve says nothing.
            let is_straight = piece.size.width < ROUNDING || piece.size.height < ROUNDING;
            for label in drawing.labels.iter().filter(|_| is_straight) {
                assert!(!overlap(&piece, &label.rect), "{line:?} {label:?}");
            }
            for name in names.iter().filter(|_| is_straight) {
                assert!(!overlap(&piece, name), "{line:?} {name:?}");
            }
        }
        let ends = [line.points[0], line.points[line.points.len() - 1]];
        for (name, point) in line.ends.iter().zip(ends) {
            let known = drawing.boxes.iter().find(|shape| shape.name == *name);
            // The other end of a stub is free.
            let is_stub = line.points.len() == 2;
            assert!(
                is_stub || known.is_some_and(|shape| is_on_border(point, &shape.rect)),
                "{line:?}"
            );
        }
    }
    let ends = |edge: &Edge| {
        let count = usize::from(edge.from.node.is_some()) + usize::from(edge.to.node.is_some());
        match edge.wraps && edge.from.node != edge.to.node || count < 2 {
            true => count,
            false => 1,
        }
    };
    // A request and its reply are one line.
    let most: usize = picture.edges.iter().map(ends).sum();
    assert!(
        drawing.lines.len() <= most,
        "{} {most}",
        drawing.lines.len()
    );
}

fn pictures() -> impl Strategy<Value = Picture> {
    let groups = prop::collection::vec((0_usize..6, any::<bool>(), 0_usize..5), 0..6);
    let nodes = prop::collection::vec((0_usize..7, 0_usize..3, 0_usize..20), 1..16);
    let edges = prop::collection::vec(
        (
            (0_usize..18, 0_usize..18),
            (0_usize..3, 0_usize..3),
            (0_usize..8, any::<bool>(), any::<bool>()),
        ),
        0..24,
    );
    let directions = any::<[bool; 2]>();
    (groups, nodes, edges, directions).prop_map(|(groups, nodes, edges, [downwards, reversed])| {
        let mut picture = Picture {
            downwards,
            reversed,
            ..Picture::default()
        };
        for (index, (parent, framed, columns)) in groups.iter().enumerate() {
            picture.groups.push(Group {
                name: format!("g{index}"),
                label: format!("module {}", index % 2),
                parent: (parent % (index + 1)).checked_sub(1),
                position: 2 * index,
                framed: *framed,
                shape: match columns {
                    0 => Shape::Layered,
                    _ => Shape::Matrix { columns: *columns },
                },
                title: String::new(),
                color: None,
            });
        }
        for (index, (group, kind, length)) in nodes.iter().enumerate() {
            picture.nodes.push(Node {
                name: format!("n{index}"),
                label: "x".repeat(*length),
                kind: format!("k{kind}"),
                group: (group % (groups.len() + 1)).checked_sub(1),
                position: 2 * index + 1,
                form: [Form::One, Form::Many, Form::Dots][length % 3],
                processes: 1,
                title: String::new(),
                color: None,
                outline: None,
            });
        }
        for ((from, to), ports, (length, initial, wraps)) in edges {
            // A port has one direction.
            let end = |node: usize, port: String| End {
                node: (node % (nodes.len() + 2)).checked_sub(2),
                port,
            };
            let ports = (format!("out{}", ports.0), format!("in{}", ports.1));
            let (from, to) = (end(from, ports.0), end(to, ports.1));
            if from.node.is_none() && to.node.is_none() {
                continue;
            }
            picture.edges.push(Edge {
                wraps: wraps && length == 7 && from.node != to.node,
                elsewhere: None,
                from,
                to,
                label: "T".repeat(length),
                ty: String::new(),
                channels: 1,
                title: String::new(),
                controlled: false,
                initial,
                two_way: false,
                width: 1.2,
                color: None,
            });
        }
        picture
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_is_drawn_over_a_box_or_a_label(picture in pictures()) {
        check(&picture, &layout(&picture));
    }
}
