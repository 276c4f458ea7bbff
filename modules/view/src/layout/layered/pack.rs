//! Arrangement of the parts of a scope, and of the ports on its border.

use super::graph::{Part, Ports};
use crate::geometry::{Point, Side, Size};
use crate::layout::scope::{CLEARANCE, LANE, Laid, Scope};

/// Distance between parts.
const BETWEEN: f64 = 2.0 * CLEARANCE;
/// Wished ratio of width to height.
const RATIO: f64 = 1.5;

/// Moves the parts from their own coordinates to their places in the scope. The part with ports on
/// the border has a row of its own. The others, the largest first, fill rows below it.
pub(super) fn pack(scope: &Scope, ports: &Ports, parts: &[Part], sizes: &[Size], laid: &mut Laid) {
    // Lanes of the ports on the upper and lower border, at the left and at the right.
    let mut margins = [0.0; 2];
    let mut lane = vec![0.0; scope.ports.len()];
    for (i, port) in scope.ports.iter().enumerate() {
        if port.item.is_none() && matches!(port.side, Side::Top | Side::Bottom) {
            let margin = &mut margins[usize::from(ports.hand[i] == Side::Left)];
            *margin += LANE;
            lane[i] = *margin;
        }
    }
    let area: f64 = sizes
        .iter()
        .map(|s| (s.width + BETWEEN) * (s.height + BETWEEN))
        .sum();
    let most = sizes
        .iter()
        .map(|s| s.width)
        .fold((area * RATIO).sqrt(), f64::max);
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&p| {
        (
            parts[p].borders.is_empty(),
            std::cmp::Reverse(parts[p].items.len()),
        )
    });
    let (mut x, mut y, mut row) = (0.0, 0.0, 0.0_f64);
    let mut width = 0.0_f64;
    let mut places = vec![Point::default(); parts.len()];
    for (i, &part) in order.iter().enumerate() {
        let size = sizes[part];
        let alone = i > 0 && !parts[order[i - 1]].borders.is_empty();
        if i > 0 && (alone || x + size.width > most) {
            y += row + BETWEEN;
            (x, row) = (0.0, 0.0);
        }
        places[part] = Point::new(margins[0] + x, y);
        x += size.width + BETWEEN;
        row = row.max(size.height);
        width = width.max(x - BETWEEN);
    }
    laid.size = Size::new(margins[0] + width + margins[1], y + row);
    for (part, &place) in parts.iter().zip(&places) {
        for &item in &part.items {
            laid.items[item] = laid.items[item] + place;
            for &port in &ports.of[item] {
                laid.ports[port] = laid.ports[port] + place;
                laid.labels[port] = laid.labels[port] + place;
            }
        }
        for &line in &part.lines {
            for point in &mut laid.lines[line] {
                *point = *point + place;
            }
        }
        for &port in &part.borders {
            let at = laid.ports[port] + place;
            let right = ports.hand[port] == Side::Left;
            let lane = if right {
                laid.size.width - margins[1] + lane[port]
            } else {
                margins[0] - lane[port]
            };
            laid.ports[port] = match scope.ports[port].side {
                Side::Left => Point::new(0.0, at.y),
                Side::Right => Point::new(laid.size.width, at.y),
                Side::Top => Point::new(lane, 0.0),
                Side::Bottom => Point::new(lane, laid.size.height),
            };
        }
        for &line in &part.lines {
            let ends = scope.lines[line];
            let points = &mut laid.lines[line];
            if scope.ports[ends.to].item.is_none() {
                extend(points, laid.ports[ends.to], scope.ports[ends.to].side);
            }
            if scope.ports[ends.from].item.is_none() {
                points.reverse();
                extend(points, laid.ports[ends.from], scope.ports[ends.from].side);
                points.reverse();
            }
        }
    }
}

/// Extends a line from the border of its part to a port on the border of the scope.
fn extend(points: &mut Vec<Point>, port: Point, side: Side) {
    if let Some(&last) = points.last() {
        if matches!(side, Side::Top | Side::Bottom) {
            points.push(Point::new(port.x, last.y));
        }
        points.push(port);
        points.dedup();
    }
}
