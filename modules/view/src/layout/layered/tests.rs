//! Guarantees of the layered layout on random scopes, and small exact cases.

use super::{layout, least_height};
use crate::geometry::{Point, Rect, Side, Size};
use crate::layout::scope::{CLEARANCE, LANE, Laid, Line, Port, STUB, Scope};
use proptest::prelude::*;

fn overlap(a: Rect, b: Rect) -> bool {
    let most = 1e-6;
    a.at.x + most < b.right()
        && b.at.x + most < a.right()
        && a.at.y + most < b.bottom()
        && b.at.y + most < a.bottom()
}

/// Returns the points of a line as it is drawn: curves are horizontal at both ends.
fn drawn(points: &[Point]) -> Vec<Point> {
    let mut result = Vec::new();
    for pair in points.windows(2) {
        let steps = if pair[0].x == pair[1].x || pair[0].y == pair[1].y {
            1
        } else {
            16
        };
        for i in 0..steps {
            let t = f64::from(i) / f64::from(steps);
            let s = t * t * (3.0 - 2.0 * t);
            let d = pair[1] - pair[0];
            // A cubic curve whose control points are in the middle of the gap.
            let x = 1.5 * t * (1.0 - t) * (1.0 - t) + 1.5 * t * t * (1.0 - t) + t * t * t;
            result.push(Point::new(pair[0].x + x * d.x, pair[0].y + s * d.y));
        }
    }
    result.extend(points.last());
    result
}

/// Returns true if a segment has a point inside of a rectangle (Liang and Barsky).
fn enters(a: Point, b: Point, rect: Rect) -> bool {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for (from, step, least, most) in [
        (a.x, b.x - a.x, rect.at.x + 1e-6, rect.right() - 1e-6),
        (a.y, b.y - a.y, rect.at.y + 1e-6, rect.bottom() - 1e-6),
    ] {
        if step == 0.0 {
            if from <= least || from >= most {
                return false;
            }
        } else {
            let (t, u) = ((least - from) / step, (most - from) / step);
            low = low.max(t.min(u));
            high = high.min(t.max(u));
        }
    }
    low < high
}

/// Returns the first guarantee that a layout breaks.
fn broken(scope: &Scope, laid: &Laid) -> Option<String> {
    let boxes: Vec<Rect> = scope
        .items
        .iter()
        .zip(&laid.items)
        .map(|(&size, &at)| Rect::new(at, size))
        .collect();
    let mut labels = Vec::new();
    let mut stubs = Vec::new();
    for (i, port) in scope.ports.iter().enumerate() {
        let at = laid.ports[i];
        if port.stub {
            let step = if port.side == Side::Right {
                STUB
            } else {
                -STUB
            };
            stubs.push((i, [at, Point::new(at.x + step, at.y)]));
        }
        if port.item.is_some() && port.label.width > 0.0 && port.label.height > 0.0 {
            labels.push((i, Rect::new(laid.labels[i], port.label)));
        }
        let (rect, offset) = match port.item {
            Some(item) => (boxes[item], port.offset),
            None => (Rect::new(Point::default(), laid.size), None),
        };
        let (across, along, length) = match port.side {
            Side::Left => (at.x - rect.at.x, at.y - rect.at.y, rect.size.height),
            Side::Right => (at.x - rect.right(), at.y - rect.at.y, rect.size.height),
            Side::Top => (at.y - rect.at.y, at.x - rect.at.x, rect.size.width),
            Side::Bottom => (at.y - rect.bottom(), at.x - rect.at.x, rect.size.width),
        };
        if across.abs() > 1e-6 || along < -1e-6 || along > length + 1e-6 {
            return Some(format!("port {i} is not on its side"));
        }
        if offset.is_some_and(|o| (o - along).abs() > 1e-6) {
            return Some(format!("port {i} is not at its offset"));
        }
    }
    let whole = Rect::new(
        Point::new(-1e-6, -1e-6),
        Size::new(laid.size.width + 2e-6, laid.size.height + 2e-6),
    );
    let inside = |p: Point| {
        p.x >= whole.at.x && p.x <= whole.right() && p.y >= whole.at.y && p.y <= whole.bottom()
    };
    for (i, &a) in boxes.iter().enumerate() {
        if !inside(a.at) || !inside(Point::new(a.right(), a.bottom())) {
            return Some(format!("item {i} is outside"));
        }
        for (j, &b) in boxes.iter().enumerate().take(i) {
            if overlap(a, b) {
                return Some(format!("item {i} is over item {j}"));
            }
        }
        for &(p, label) in &labels {
            if overlap(a, label) {
                return Some(format!("label {p} is over item {i}"));
            }
        }
        for &(p, [from, to]) in &stubs {
            if enters(from, to, a) {
                return Some(format!("stub {p} passes item {i}"));
            }
        }
    }
    for (i, &(p, a)) in labels.iter().enumerate() {
        if !inside(a.at) || !inside(Point::new(a.right(), a.bottom())) {
            return Some(format!("label {p} is outside"));
        }
        for &(q, b) in &labels[..i] {
            if overlap(a, b) {
                return Some(format!("label {p} is over label {q}"));
            }
        }
        for &(q, [from, to]) in &stubs {
            if enters(from, to, a) {
                return Some(format!("stub {q} passes label {p}"));
            }
        }
    }
    for (i, line) in scope.lines.iter().enumerate() {
        let points = &laid.lines[i];
        if points.first() != Some(&laid.ports[line.from])
            || points.last() != Some(&laid.ports[line.to])
        {
            return Some(format!("line {i} does not join its ports"));
        }
        for pair in drawn(points).windows(2) {
            if !inside(pair[0]) || !inside(pair[1]) {
                return Some(format!("line {i} is outside"));
            }
            for (j, &rect) in boxes.iter().enumerate() {
                if enters(pair[0], pair[1], rect) {
                    return Some(format!("line {i} passes item {j}"));
                }
            }
            for &(p, rect) in &labels {
                if enters(pair[0], pair[1], rect) {
                    return Some(format!("line {i} passes label {p}"));
                }
            }
        }
    }
    None
}

/// A port that is drawn at random: item, side, fixed, label, stub.
type Drawn = (usize, usize, f64, bool, bool);

/// Builds a scope in which items are high enough for their labels.
fn build(items: &[(f64, f64)], ports: &[Drawn], lines: &[(usize, usize)], sides: usize) -> Scope {
    let mut scope = Scope {
        items: items.iter().map(|&(w, h)| Size::new(w, h)).collect(),
        ..Scope::default()
    };
    let joined: Vec<usize> = lines
        .iter()
        .flat_map(|&(a, b)| [a % ports.len(), b % ports.len()])
        .collect();
    for (i, &(item, side, offset, label, stub)) in ports.iter().enumerate() {
        let item = Some(item).filter(|&i| i < items.len());
        let side = [Side::Left, Side::Right, Side::Top, Side::Bottom][side % sides];
        let vertical = matches!(side, Side::Top | Side::Bottom);
        scope.ports.push(Port {
            item,
            side,
            // Every third item is a frame, whose ports are fixed.
            offset: item.filter(|i| i % 3 == 0).map(|_| offset),
            label: if label && item.is_some() {
                Size::new(30.0, 11.0)
            } else {
                Size::default()
            },
            stub: stub && item.is_some_and(|i| i % 3 != 0) && !vertical && !joined.contains(&i),
        });
    }
    for item in 0..items.len() {
        for side in [Side::Left, Side::Right] {
            let at = |p: &&Port| p.item == Some(item) && p.side == side;
            let labels: Vec<Size> = scope.ports.iter().filter(at).map(|p| p.label).collect();
            let size = &mut scope.items[item];
            size.height = size.height.max(least_height(&labels));
        }
    }
    let mut next = vec![0.0; items.len() * 4];
    for port in &mut scope.ports {
        if let (Some(item), Some(offset)) = (port.item, port.offset) {
            let size = scope.items[item];
            let (side, length) = match port.side {
                Side::Left => (0, size.height),
                Side::Right => (1, size.height),
                Side::Top => (2, size.width),
                Side::Bottom => (3, size.width),
            };
            let next = &mut next[item * 4 + side];
            port.offset = Some(*next + offset * (length - *next));
            *next = port.offset.unwrap_or(length);
        }
    }
    for &(a, b) in lines {
        let (from, to) = (a % ports.len(), b % ports.len());
        if from != to {
            scope.lines.push(Line { from, to });
        }
    }
    scope
}

fn ports() -> impl Strategy<Value = Vec<Drawn>> {
    let port = (
        0..34_usize,
        0..4_usize,
        0.0..1.0,
        any::<bool>(),
        any::<bool>(),
    );
    prop::collection::vec(port, 2..90)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_overlaps(
        items in prop::collection::vec((10.0..90.0, 10.0..60.0), 1..30),
        ports in ports(),
        lines in prop::collection::vec((0..90_usize, 0..90_usize), 0..70),
        sides in prop_oneof![Just(2_usize), Just(4)],
        least in prop_oneof![Just(2_usize), Just(13)],
    ) {
        let scope = build(&items, &ports, &lines, sides);
        let laid = layout(&scope, least);
        prop_assert_eq!(broken(&scope, &laid), None);
    }

    #[test]
    fn nothing_overlaps_with_forward_lines(
        items in prop::collection::vec((10.0..90.0, 10.0..60.0), 2..30),
        lines in prop::collection::vec((0..30_usize, 0..30_usize, any::<bool>()), 0..60),
    ) {
        let scope = forward(&items, &lines);
        let laid = layout(&scope, usize::MAX);
        prop_assert_eq!(broken(&scope, &laid), None);
        for line in &scope.lines {
            prop_assert!(laid.ports[line.from].x < laid.ports[line.to].x);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_overlaps_in_long_scopes(
        items in prop::collection::vec((10.0..90.0, 10.0..60.0), 4..60),
        lines in prop::collection::vec((0..60_usize, 1..60_usize, 0..9_usize), 0..12),
        labels in any::<u64>(),
        borders in prop::collection::vec((0..60_usize, 0..4_usize, any::<bool>()), 0..8),
    ) {
        let scope = chain(&items, &lines, labels, &borders);
        let laid = layout(&scope, 2);
        prop_assert_eq!(broken(&scope, &laid), None);
        prop_assert!(laid.size.width <= 4.0 * laid.size.height.max(320.0));
    }
}

/// Builds a chain with more lines: from an item to another at a distance, and, for some, between
/// any sides. Some lines share the port of their writer, and some lead to a port on the border.
fn chain(
    items: &[(f64, f64)],
    lines: &[(usize, usize, usize)],
    labels: u64,
    borders: &[(usize, usize, bool)],
) -> Scope {
    let count = items.len();
    let mut scope = Scope {
        items: items
            .iter()
            .map(|&(w, h)| Size::new(w, h + 300.0))
            .collect(),
        ..Scope::default()
    };
    let mut port = |item: Option<usize>, side| {
        let number = scope.ports.len();
        let has_label = item.is_some() && labels >> (number % 64) & 1 == 1;
        scope.ports.push(Port {
            item,
            side,
            offset: None,
            label: if has_label {
                Size::new(30.0, 11.0)
            } else {
                Size::default()
            },
            stub: false,
        });
        number
    };
    let mut wires = Vec::new();
    let mut outputs = Vec::new();
    for item in 0..count {
        outputs.push(port(Some(item), Side::Right));
        let input = port(Some(item), Side::Left);
        if item > 0 {
            wires.push((outputs[item - 1], input));
        }
    }
    for &(from, distance, how) in lines {
        let (from, to) = (from % count, (from + distance) % count);
        let sides = [Side::Left, Side::Right];
        let (a, b) = match how {
            0..3 => (outputs[from], port(Some(to), sides[0])),
            3..5 => (port(Some(from), sides[0]), port(Some(to), sides[1])),
            _ => (
                port(Some(from), sides[how % 2]),
                port(Some(to), sides[how / 2 % 2]),
            ),
        };
        wires.push((a, b));
    }
    for &(item, side, shares) in borders {
        let side = [Side::Left, Side::Right, Side::Top, Side::Bottom][side];
        let border = port(None, side);
        let of_item = match side {
            Side::Left | Side::Top => Side::Left,
            Side::Right | Side::Bottom => Side::Right,
        };
        for item in [item, item / 2].into_iter().take(1 + usize::from(shares)) {
            let end = port(Some(item % count), of_item);
            match of_item {
                Side::Left => wires.push((border, end)),
                _ => wires.push((end, border)),
            }
        }
    }
    let lines = wires.into_iter().filter(|(from, to)| from != to);
    scope.lines = lines.map(|(from, to)| Line { from, to }).collect();
    scope
}

/// Builds a scope whose lines lead from items to items with larger indices. Some ports have several
/// lines.
fn forward(items: &[(f64, f64)], lines: &[(usize, usize, bool)]) -> Scope {
    let mut scope = Scope {
        items: items
            .iter()
            .map(|&(w, h)| Size::new(w, h + 120.0))
            .collect(),
        ..Scope::default()
    };
    let mut shared = vec![None; items.len()];
    let port = |item, side| Port {
        item: Some(item),
        side,
        offset: None,
        label: Size::default(),
        stub: false,
    };
    for &(a, b, share) in lines {
        let (a, b) = (a % items.len(), b % items.len());
        if a == b {
            continue;
        }
        let (a, b) = (a.min(b), a.max(b));
        let from = if share { shared[a] } else { None };
        let from = from.unwrap_or(scope.ports.len());
        if from == scope.ports.len() {
            scope.ports.push(port(a, Side::Right));
        }
        if share {
            shared[a] = Some(from);
        }
        let to = scope.ports.len();
        scope.ports.push(port(b, Side::Left));
        scope.lines.push(Line { from, to });
    }
    scope
}

#[test]
fn an_empty_scope_has_no_size() {
    assert_eq!(layout(&Scope::default(), 13).size, Size::default());
}

#[test]
fn a_chain_is_straight() {
    let lines = [(0, 1, false), (1, 2, false)];
    let scope = forward(&[(40.0, 20.0), (40.0, 50.0), (40.0, 20.0)], &lines);
    let laid = layout(&scope, 13);
    for points in &laid.lines {
        assert!(points.iter().all(|p| (p.y - points[0].y).abs() < 1e-9));
    }
}

#[test]
fn a_scatter_to_far_readers_is_a_trunk() {
    // Items 1 and 2 lead to 3, 4 and 5, which also read from item 0.
    let mut lines = vec![(0, 1, false), (1, 2, false)];
    for reader in 3..6 {
        lines.push((2, reader, false));
        lines.push((0, reader, true));
    }
    let scope = forward(&[(40.0, 20.0); 6], &lines);
    let laid = layout(&scope, 13);
    let trunk: Vec<&Vec<Point>> = [3, 5, 7].iter().map(|&l| &laid.lines[l]).collect();
    let shared = trunk[0].len() - 2;
    assert!(shared >= 4);
    assert!(trunk.iter().all(|t| t[..shared] == trunk[0][..shared]));
}

#[test]
fn least_height_has_room_for_labels() {
    assert!(least_height(&[]) <= CLEARANCE);
    assert!(least_height(&[Size::default(); 4]) >= 4.0 * LANE);
    assert!(least_height(&[Size::new(20.0, 12.0); 2]) >= 24.0);
}
