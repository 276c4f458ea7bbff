//! Tests of the layout of matrices.

use super::{layout, sides};
use crate::geometry::{Point, Rect, Side, Size};
use crate::layout::scope::{CLEARANCE, LANE, Laid, Line, Port, STUB, Scope};
use proptest::prelude::*;

const EPS: f64 = 1e-6;

fn port(item: Option<usize>, side: Side) -> Port {
    Port {
        item,
        side,
        offset: None,
        label: Size::default(),
        stub: false,
    }
}

/// Adds a port and returns its index.
fn add(scope: &mut Scope, item: impl Into<Option<usize>>, side: Side) -> usize {
    scope.ports.push(port(item.into(), side));
    scope.ports.len() - 1
}

/// Adds a line between two new ports on the sides that the layout proposes.
fn join(scope: &mut Scope, columns: usize, from: usize, to: usize) {
    let [a, b] = sides(columns, scope.items.len(), from, to);
    let from = add(scope, from, a);
    let to = add(scope, to, b);
    scope.lines.push(Line { from, to });
}

fn boxes(items: usize) -> Scope {
    Scope {
        items: vec![Size::new(80.0, 30.0); items],
        ..Scope::default()
    }
}

fn rect(a: Point, b: Point) -> Rect {
    let at = Point::new(a.x.min(b.x), a.y.min(b.y));
    Rect::new(at, Size::new((a.x - b.x).abs(), (a.y - b.y).abs()))
}

fn overlap(a: &Rect, b: &Rect) -> bool {
    a.at.x + EPS < b.right()
        && b.at.x + EPS < a.right()
        && a.at.y + EPS < b.bottom()
        && b.at.y + EPS < a.bottom()
}

/// Returns true if a segment enters the inside of a rectangle (by Liang and Barsky).
fn enters(segment: &[Point], rect: &Rect) -> bool {
    let (a, d) = (segment[0], segment[1] - segment[0]);
    let (mut from, mut to) = (0.0_f64, 1.0_f64);
    for (p, q) in [
        (-d.x, a.x - rect.at.x - EPS),
        (d.x, rect.right() - EPS - a.x),
        (-d.y, a.y - rect.at.y - EPS),
        (d.y, rect.bottom() - EPS - a.y),
    ] {
        if p == 0.0 {
            if q < 0.0 {
                return false;
            }
        } else if p < 0.0 {
            from = from.max(q / p);
        } else {
            to = to.min(q / p);
        }
    }
    from < to
}

/// Returns true if two segments have a stretch in common.
fn share(a: &[Point], b: &[Point]) -> bool {
    let stretch =
        |a: &[Point], b: &[Point], along: fn(&Point) -> f64, across: fn(&Point) -> f64| {
            let flat = a
                .iter()
                .chain(b)
                .all(|p| (across(p) - across(&a[0])).abs() < EPS);
            let low = |s: &[Point]| along(&s[0]).min(along(&s[1]));
            let high = |s: &[Point]| along(&s[0]).max(along(&s[1]));
            flat && low(a).max(low(b)) + EPS < high(a).min(high(b))
        };
    stretch(a, b, |p| p.x, |p| p.y) || stretch(a, b, |p| p.y, |p| p.x)
}

fn check(scope: &Scope, laid: &Laid) -> Result<(), String> {
    let item = |i: usize| Rect::new(laid.items[i], scope.items[i]);
    let whole = Rect::new(Point::default(), laid.size);
    let ensure = |condition: bool, what: String| if condition { Ok(()) } else { Err(what) };
    let inside = |r: &Rect| {
        r.at.x >= -EPS
            && r.at.y >= -EPS
            && r.right() <= whole.right() + EPS
            && r.bottom() <= whole.bottom() + EPS
    };
    let lined = |port: usize| scope.lines.iter().any(|l| l.from == port || l.to == port);
    let mut boxes: Vec<(String, Rect)> = Vec::new();
    for i in 0..scope.items.len() {
        boxes.push((format!("item {i}"), item(i)));
    }
    for (i, port) in scope.ports.iter().enumerate() {
        let at = laid.ports[i];
        let around = port.item.map_or(whole, item);
        let (across, along, start, end) = match port.side {
            Side::Left => (at.x - around.at.x, at.y, around.at.y, around.bottom()),
            Side::Right => (at.x - around.right(), at.y, around.at.y, around.bottom()),
            Side::Top => (at.y - around.at.y, at.x, around.at.x, around.right()),
            Side::Bottom => (at.y - around.bottom(), at.x, around.at.x, around.right()),
        };
        ensure(across.abs() < EPS, format!("port {i} is not on its side"))?;
        ensure(
            start - EPS <= along && along <= end + EPS,
            format!("port {i} is not within its side"),
        )?;
        if let (Some(offset), Some(_)) = (port.offset, port.item) {
            ensure(
                (along - start - offset).abs() < EPS,
                format!("port {i} moved"),
            )?;
        }
        if port.item.is_some() && (port.label.width > 0.0 || port.label.height > 0.0) {
            boxes.push((format!("label {i}"), Rect::new(laid.labels[i], port.label)));
        }
        if port.stub && !lined(i) {
            let end = match port.side {
                Side::Left => Point::new(at.x - STUB, at.y),
                Side::Right => Point::new(at.x + STUB, at.y),
                Side::Top => Point::new(at.x, at.y - STUB),
                Side::Bottom => Point::new(at.x, at.y + STUB),
            };
            boxes.push((format!("stub {i}"), rect(at, end)));
        }
    }
    for (i, (name, a)) in boxes.iter().enumerate() {
        ensure(inside(a), format!("{name} is outside"))?;
        for (other, b) in &boxes[..i] {
            ensure(!overlap(a, b), format!("{name} over {other}"))?;
        }
    }
    let segments: Vec<(usize, &[Point])> = (0..scope.lines.len())
        .flat_map(|l| laid.lines[l].windows(2).map(move |s| (l, s)))
        .collect();
    for (l, line) in scope.lines.iter().enumerate() {
        let points = &laid.lines[l];
        ensure(
            points.first() == Some(&laid.ports[line.from])
                && points.last() == Some(&laid.ports[line.to]),
            format!(
                "line {l} does not end at its ports: {points:?} {:?}",
                laid.ports
            ),
        )?;
    }
    for (i, &(l, a)) in segments.iter().enumerate() {
        ensure(inside(&rect(a[0], a[1])), format!("line {l} is outside"))?;
        for (name, rect) in &boxes {
            ensure(!enters(a, rect), format!("line {l} through {name}"))?;
            if name.starts_with("stub") {
                let end = Point::new(rect.right(), rect.bottom());
                ensure(!share(a, &[rect.at, end]), format!("line {l} over {name}"))?;
            }
        }
        for &(k, b) in &segments[..i] {
            let (x, y) = (scope.lines[l], scope.lines[k]);
            let common = [x.from, x.to].iter().any(|p| [y.from, y.to].contains(p));
            ensure(
                common || !share(a, b),
                format!("lines {l} and {k} share a stretch: {a:?} {b:?}"),
            )?;
        }
    }
    Ok(())
}

/// Returns true if all consecutive points are on a horizontal or vertical line.
fn orthogonal(points: &[Point]) -> bool {
    points
        .windows(2)
        .all(|s| s[0].x == s[1].x || s[0].y == s[1].y)
}

fn crossings(laid: &Laid) -> usize {
    let segments: Vec<(usize, [Point; 2])> = (0..laid.lines.len())
        .flat_map(|l| laid.lines[l].windows(2).map(move |s| (l, [s[0], s[1]])))
        .collect();
    let mut places: Vec<(u64, u64)> = Vec::new();
    for &(l, a) in segments.iter().filter(|(_, s)| s[0].y == s[1].y) {
        for &(k, b) in segments.iter().filter(|(_, s)| s[0].x == s[1].x) {
            let (h, v) = (rect(a[0], a[1]), rect(b[0], b[1]));
            if l != k
                && h.at.x + EPS < v.at.x
                && v.at.x + EPS < h.right()
                && v.at.y + EPS < h.at.y
                && h.at.y + EPS < v.bottom()
            {
                places.push((v.at.x.to_bits(), h.at.y.to_bits()));
            }
        }
    }
    places.sort_unstable();
    places.dedup();
    places.len()
}

#[test]
fn sides_face_the_neighbour() {
    assert_eq!(sides(4, 12, 1, 2), [Side::Right, Side::Left]);
    assert_eq!(sides(4, 12, 2, 1), [Side::Left, Side::Right]);
    assert_eq!(sides(4, 12, 1, 5), [Side::Bottom, Side::Top]);
    assert_eq!(sides(4, 12, 5, 1), [Side::Top, Side::Bottom]);
    assert_eq!(sides(4, 12, 3, 4), [Side::Right, Side::Left]);
    assert_eq!(sides(4, 12, 4, 3), [Side::Right, Side::Left]);
    assert_eq!(sides(4, 12, 5, 0), [Side::Left, Side::Right]);
    assert_eq!(sides(4, 12, 1, 4), [Side::Left, Side::Right]);
    assert_eq!(sides(4, 12, 0, 5), [Side::Right, Side::Left]);
    assert_eq!(sides(4, 12, 8, 1), [Side::Right, Side::Left]);
    // Around the end of a short last row.
    assert_eq!(sides(4, 10, 7, 9), [Side::Bottom, Side::Right]);
    assert_eq!(sides(4, 10, 9, 7), [Side::Right, Side::Bottom]);
    assert_eq!(sides(4, 10, 7, 8), [Side::Right, Side::Left]);
    assert_eq!(sides(0, 0, 0, 0), [Side::Right, Side::Left]);
    assert_eq!(
        sides(usize::MAX, 2, usize::MAX, 1),
        [Side::Right, Side::Left]
    );
}

#[test]
fn a_mesh_has_straight_lines_only() {
    let mut scope = boxes(12);
    for i in 0..12 {
        if i % 4 < 3 {
            join(&mut scope, 4, i, i + 1);
            join(&mut scope, 4, i + 1, i);
        }
        if i < 8 {
            join(&mut scope, 4, i, i + 4);
        }
    }
    let laid = layout(&scope, 4);
    check(&scope, &laid).unwrap();
    assert!(
        laid.lines
            .iter()
            .all(|line| line.len() == 2 && orthogonal(line))
    );
    assert_eq!(laid.items[0], Point::new(0.0, 0.0));
    assert_eq!(laid.items[5], Point::new(104.0, 54.0));
    assert_eq!(
        laid.size,
        Size::new(4.0 * 80.0 + 3.0 * 24.0, 3.0 * 30.0 + 2.0 * 24.0)
    );
}

#[test]
fn a_ring_in_two_rows_has_no_crossings() {
    let mut scope = boxes(10);
    for i in 0..10 {
        join(&mut scope, 5, i, (i + 1) % 10);
    }
    let laid = layout(&scope, 5);
    check(&scope, &laid).unwrap();
    assert!(laid.lines.iter().all(|line| orthogonal(line)));
    assert_eq!(crossings(&laid), 0);
    let bends: Vec<usize> = laid.lines.iter().map(Vec::len).collect();
    assert_eq!(bends, [2, 2, 2, 2, 6, 2, 2, 2, 2, 6]);
}

#[test]
fn a_block_has_one_trunk_for_scatter_and_one_for_gather() {
    let mut scope = boxes(12);
    let scatter = add(&mut scope, None, Side::Left);
    let gather = add(&mut scope, None, Side::Right);
    for i in 0..12 {
        let to = add(&mut scope, i, Side::Left);
        let from = add(&mut scope, i, Side::Right);
        scope.lines.push(Line { from: scatter, to });
        scope.lines.push(Line { from, to: gather });
    }
    let laid = layout(&scope, 3);
    check(&scope, &laid).unwrap();
    assert!(laid.lines.iter().all(|line| orthogonal(line)));
    assert_eq!(crossings(&laid), 0);
    // One vertical line at the border, and a horizontal line for each row.
    for lines in [0, 1].map(|first| laid.lines.iter().skip(first).step_by(2)) {
        let segments = || lines.clone().flat_map(|line| line.windows(2));
        let tall = |s: &&[Point]| (s[0].y - s[1].y).abs() > 30.0;
        let mut trunks: Vec<f64> = segments().filter(tall).map(|s| s[0].x).collect();
        trunks.dedup();
        assert_eq!(trunks.len(), 1);
        let wide = |s: &&[Point]| (s[0].x - s[1].x).abs() > 80.0;
        let mut rows: Vec<u64> = segments().filter(wide).map(|s| s[0].y.to_bits()).collect();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), 4);
    }
    assert_eq!(laid.ports[scatter].x, 0.0);
    assert_eq!(laid.ports[gather].x, laid.size.width);
}

#[test]
fn diagonal_neighbours_are_joined_across_the_gap() {
    let mut scope = boxes(4);
    join(&mut scope, 2, 0, 3);
    join(&mut scope, 2, 0, 1);
    let laid = layout(&scope, 2);
    check(&scope, &laid).unwrap();
    assert!(!orthogonal(&laid.lines[0]));
    assert_eq!(laid.lines[0].len(), 4);
}

#[test]
fn fixed_ports_that_differ_are_joined_by_a_step() {
    let mut scope = boxes(2);
    join(&mut scope, 2, 0, 1);
    scope.ports[0].offset = Some(10.0);
    scope.ports[1].offset = Some(20.0);
    let laid = layout(&scope, 2);
    check(&scope, &laid).unwrap();
    assert_eq!(laid.lines[0].len(), 4);
    scope.ports[1].offset = None;
    assert_eq!(layout(&scope, 2).lines[0].len(), 2);
}

#[test]
fn an_empty_scope_has_no_size() {
    assert_eq!(layout(&Scope::default(), 3).size, Size::default());
    let mut scope = Scope::default();
    let from = add(&mut scope, None, Side::Left);
    let to = add(&mut scope, None, Side::Right);
    scope.lines.push(Line { from, to });
    check(&scope, &layout(&scope, 0)).unwrap();
}

#[test]
fn parallel_lanes_are_apart() {
    let mut scope = boxes(2);
    for _ in 0..3 {
        join(&mut scope, 2, 0, 1);
    }
    let laid = layout(&scope, 2);
    let mut at: Vec<f64> = laid.lines.iter().map(|line| line[0].y).collect();
    at.sort_by(f64::total_cmp);
    assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= LANE));
    assert!(laid.items[1].x >= 80.0 + CLEARANCE);
}

prop_compose! {
    /// A size of a label, often zero.
    fn label_size()(some in any::<bool>(), width in 1..60_u8, height in 5..14_u8) -> Size {
        if some { Size::new(width.into(), height.into()) } else { Size::default() }
    }
}

fn any_side() -> impl Strategy<Value = Side> {
    prop_oneof![
        Just(Side::Left),
        Just(Side::Right),
        Just(Side::Top),
        Just(Side::Bottom)
    ]
}

prop_compose! {
    /// A scope and a number of columns. Fixed ports on a side are at different places. Some frames
    /// have ports that are not fixed.
    fn any_scope()(items in 0..14_usize, columns in 0..7_usize, most in 1..40_usize)(
        items in prop::collection::vec((10..120_u8, 10..60_u8, prop::bool::weighted(0.3)), items),
        columns in Just(columns),
        ports in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::bool::weighted(0.1), any_side(), label_size(), any::<bool>()),
            1..=most,
        ),
        lines in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            0..=most,
        ),
        neighbours in prop::collection::vec((any::<prop::sample::Index>(), 0..8_u8, label_size()), 0..20),
    ) -> (Scope, usize) {
        let mut scope = Scope {
            items: items.iter().map(|&(w, h, _)| Size::new(w.into(), h.into())).collect(),
            ..Scope::default()
        };
        for (item, border, side, label, stub) in ports {
            let item = (!border && !items.is_empty()).then(|| item.index(items.len()));
            scope.ports.push(Port { label, stub, ..port(item, side) });
        }
        let free = scope.ports.len();
        for (from, to) in lines {
            scope.lines.push(Line { from: from.index(free), to: to.index(free) });
        }
        for (item, direction, label) in neighbours {
            if items.is_empty() {
                continue;
            }
            let width = columns.max(1) as isize;
            let from = item.index(items.len());
            let steps = [1, -1, width, -width, width + 1, -width - 1, width - 1, 1 - width];
            let Some(to) = from.checked_add_signed(steps[usize::from(direction)]) else {
                continue;
            };
            if to < items.len() {
                join(&mut scope, columns, from, to);
                let first = scope.ports.len() - 2;
                scope.ports[first].label = label;
            }
        }
        for (i, &(width, height, frame)) in items.iter().enumerate() {
            if frame {
                for side in [Side::Left, Side::Right, Side::Top, Side::Bottom] {
                    let on = |p: &&mut Port| p.item == Some(i) && p.side == side;
                    let count = scope.ports.iter_mut().filter(on).count();
                    let length = if matches!(side, Side::Left | Side::Right) { height } else { width };
                    for (k, port) in scope.ports.iter_mut().filter(on).enumerate() {
                        let place = (k * 7 + 3) % count.max(1);
                        let place = if count % 7 == 0 { k } else { place };
                        if i % 2 == 0 && k % 3 == 2 {
                            continue;
                        }
                        port.offset = Some(f64::from(length) * (place + 1) as f64 / (count + 1) as f64);
                    }
                }
            }
        }
        for i in 0..scope.ports.len() {
            let lined = scope.lines.iter().any(|l| l.from == i || l.to == i);
            scope.ports[i].stub &= !lined && scope.ports[i].item.is_some();
        }
        (scope, columns)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_layout_keeps_the_guarantees((scope, columns) in any_scope()) {
        let laid = layout(&scope, columns);
        prop_assert_eq!(check(&scope, &laid), Ok(()));
    }

    #[test]
    fn lines_are_orthogonal_except_between_diagonal_neighbours((scope, columns) in any_scope()) {
        let laid = layout(&scope, columns);
        for (line, points) in scope.lines.iter().zip(&laid.lines) {
            let width = columns.clamp(1, scope.items.len().max(1));
            let at = [line.from, line.to].map(|p| scope.ports[p].item.map(|i| (i / width, i % width)));
            let diagonal = matches!(
                at,
                [Some((r1, c1)), Some((r2, c2))] if r1.abs_diff(r2) == 1 && c1.abs_diff(c2) == 1
            );
            prop_assert!(diagonal || orthogonal(points));
        }
    }

    #[test]
    fn a_layout_is_reproducible((scope, columns) in any_scope()) {
        let (a, b) = (layout(&scope, columns), layout(&scope, columns));
        prop_assert_eq!(a.lines, b.lines);
        prop_assert_eq!(a.labels, b.labels);
    }
}
