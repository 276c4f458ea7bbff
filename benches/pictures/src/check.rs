//! Counts the flaws of a picture.
//!
//! Deviations of up to a pixel do not count. Each search is by a grid, so the time grows with the
//! lengths of the edges and with the number of flaws.

use crate::geometry::{Point, Rect};
use crate::grid::Grid;
use crate::picture::{Edge, Picture, Shape};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Deviation that does not count, in pixels.
const TOLERANCE: f64 = 1.0;
/// Most distance of the end of an edge from its box. Tips of Graphviz's edges are longer.
const REACH: f64 = 2.0;
/// Crossings nearer than this to each other are at one place.
const PLACE: f64 = 0.75;
/// Least length in which edges that are drawn over each other count.
const OVERLAP: f64 = 3.0;

/// Numbers of flaws.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub boxes: usize,
    pub edges: usize,
    /// Pairs of boxes, or of a box and the border of a frame, or of frames, that overlap.
    pub over: usize,
    /// Pairs of an edge and a box or frame that it runs through, its own ends excluded.
    pub through: usize,
    /// Labels over a box, the border of a frame, a text, another label, or an edge that is not
    /// their own.
    pub labels: usize,
    /// Places where two edges cross. A trunk counts as one edge.
    pub crossings: usize,
    /// Pairs of edges without a common end that are partly drawn over each other.
    pub overlaps: usize,
    /// Boxes and frames that are narrower than a text in them.
    pub wide: usize,
    /// Ends of edges that are at no box or frame, except those in the environment.
    pub loose: usize,
    /// Elements outside of the `viewBox`.
    pub outside: usize,
    /// Width divided by height.
    pub ratio: f64,
}

/// A straight piece of an edge.
struct Segment {
    a: Point,
    b: Point,
    edge: u32,
}

/// What is known of the ends of an edge.
struct Ends {
    /// Boxes at both ends, and frames around or at them, in ascending order.
    boxes: Vec<usize>,
    frames: Vec<usize>,
    /// Ids of the points where it begins and ends. Edges with the same id share a port.
    ports: [u32; 2],
    loose: usize,
}

/// Counts the flaws of a picture.
pub fn check(picture: &Picture) -> Counts {
    let checker = Checker::new(picture);
    let view = picture.view.unwrap_or(checker.area);
    Counts {
        boxes: picture.boxes.len(),
        edges: picture.edges.len(),
        over: checker.over(),
        through: checker.through(),
        labels: checker.labels(),
        crossings: checker.crossings(),
        overlaps: checker.overlaps(),
        wide: checker.wide(),
        loose: checker.ends.iter().map(|ends| ends.loose).sum(),
        outside: checker.outside(&view.grown(TOLERANCE)),
        ratio: view.width() / view.height().max(1.0),
    }
}

struct Checker<'a> {
    picture: &'a Picture,
    area: Rect,
    ends: Vec<Ends>,
    segments: Vec<Segment>,
    /// The segments.
    lines: Grid,
    /// The boxes, and then the frames.
    shapes: Grid,
}

impl<'a> Checker<'a> {
    fn new(picture: &'a Picture) -> Checker<'a> {
        let area = extent(picture).unwrap_or(Rect::EMPTY);
        let count = picture.boxes.len() + picture.frames.len();
        let mut shapes = Grid::new(area, count);
        for (at, shape) in picture.boxes.iter().chain(&picture.frames).enumerate() {
            shapes.add(at, &shape.rect);
        }
        let ends = ends(picture, &shapes);
        let segments = segments(picture, &ends);
        let mut lines = Grid::new(area, segments.len());
        for (at, segment) in segments.iter().enumerate() {
            lines.add_segment(at, segment.a, segment.b);
        }
        Checker {
            picture,
            area,
            ends,
            segments,
            lines,
            shapes,
        }
    }

    fn shape(&self, at: usize) -> &Shape {
        let boxes = &self.picture.boxes;
        boxes
            .get(at)
            .unwrap_or_else(|| &self.picture.frames[at - boxes.len()])
    }

    fn over(&self) -> usize {
        let boxes = self.picture.boxes.len();
        let mut pairs = HashSet::new();
        for (one, shape) in self
            .picture
            .boxes
            .iter()
            .chain(&self.picture.frames)
            .enumerate()
        {
            let rect = shape.rect.grown(-TOLERANCE);
            self.shapes.near(&rect, |other| {
                let there = &self.shape(other).rect;
                // A shape may be inside of a frame.
                let nested = other >= boxes && there.grown(TOLERANCE).encloses(&shape.rect)
                    || one >= boxes && shape.rect.grown(TOLERANCE).encloses(there);
                if other != one && !nested && rect.meets(there) {
                    pairs.insert((one.min(other), one.max(other)));
                }
            });
        }
        pairs.len()
    }

    fn through(&self) -> usize {
        let boxes = self.picture.boxes.len();
        let mut pairs = HashSet::new();
        for segment in &self.segments {
            let ends = &self.ends[segment.edge as usize];
            self.shapes
                .near(&Rect::around([segment.a, segment.b]), |at| {
                    let own = match at.checked_sub(boxes) {
                        Some(frame) => ends.frames.binary_search(&frame).is_ok(),
                        None => ends.boxes.binary_search(&at).is_ok(),
                    };
                    let rect = self.shape(at).rect.grown(-TOLERANCE);
                    if !own && rect.meets_segment(segment.a, segment.b) {
                        pairs.insert((segment.edge, at));
                    }
                });
        }
        pairs.len()
    }

    fn labels(&self) -> usize {
        let labels = &self.picture.labels;
        let mut grid = Grid::new(self.area, labels.len());
        for (at, label) in labels.iter().enumerate() {
            grid.add(at, &label.rect);
        }
        let mut texts = Grid::new(self.area, self.picture.texts.len());
        for (at, rect) in self.picture.texts.iter().enumerate() {
            texts.add(at, rect);
        }
        let boxes = self.picture.boxes.len();
        let collides = |&(at, rect): &(usize, Rect)| {
            let mut hit = false;
            grid.near(&rect, |other| {
                hit |= other != at && rect.meets(&labels[other].rect.grown(-TOLERANCE));
            });
            texts.near(&rect, |text| hit |= rect.meets(&self.picture.texts[text]));
            self.shapes.near(&rect, |shape| {
                let there = &self.shape(shape).rect;
                hit |= rect.meets(there) && !(shape >= boxes && there.encloses(&rect));
            });
            if !hit {
                self.lines.near(&rect, |segment| {
                    let segment = &self.segments[segment];
                    let own = labels[at].own == Some(segment.edge as usize);
                    hit |= !own && rect.meets_segment(segment.a, segment.b);
                });
            }
            hit
        };
        let rects = labels.iter().map(|label| label.rect.grown(-TOLERANCE));
        rects.enumerate().filter(collides).count()
    }

    fn crossings(&self) -> usize {
        let mut places = Places::default();
        for (cell, here) in self.lines.cells() {
            for (i, &one) in here.iter().enumerate() {
                let s = &self.segments[one as usize];
                for &two in &here[i + 1..] {
                    let t = &self.segments[two as usize];
                    if s.edge == t.edge {
                        continue;
                    }
                    let Some(at) = crossing(s, t) else { continue };
                    if self.lines.cell_of(at) != cell || self.is_joint(s.edge, t.edge, at) {
                        continue;
                    }
                    let ports = |edge: u32| self.ends[edge as usize].ports;
                    places.add(at, [s.edge, t.edge], ports);
                }
            }
        }
        places.count()
    }

    /// Returns true if two edges meet at a point because of a common end: the point is at a common
    /// box, or on a common trunk.
    fn is_joint(&self, one: u32, two: u32, at: Point) -> bool {
        let (a, b) = (&self.ends[one as usize], &self.ends[two as usize]);
        let shared = |&&box_: &&usize| b.boxes.binary_search(&box_).is_ok();
        let mut shared = a.boxes.iter().filter(shared);
        if shared.any(|&box_| {
            self.picture.boxes[box_]
                .rect
                .grown(REACH + TOLERANCE)
                .contains(at)
        }) {
            return true;
        }
        let points = |edge: u32| &self.picture.edges[edge as usize].points;
        let (p, q) = (points(one), points(two));
        a.ports[0] == b.ports[0] && same_way(p.iter(), q.iter(), at)
            || a.ports[1] == b.ports[1] && same_way(p.iter().rev(), q.iter().rev(), at)
    }

    fn overlaps(&self) -> usize {
        let mut pairs = HashSet::new();
        for (_, here) in self.lines.cells() {
            for (i, &one) in here.iter().enumerate() {
                let s = &self.segments[one as usize];
                for &two in &here[i + 1..] {
                    let t = &self.segments[two as usize];
                    if s.edge != t.edge && overlap(s, t) > OVERLAP && !self.related(s.edge, t.edge)
                    {
                        pairs.insert((s.edge.min(t.edge), s.edge.max(t.edge)));
                    }
                }
            }
        }
        pairs.len()
    }

    /// Returns true if two edges have a common box or port.
    fn related(&self, one: u32, two: u32) -> bool {
        let (a, b) = (&self.ends[one as usize], &self.ends[two as usize]);
        a.ports[0] == b.ports[0]
            || a.ports[1] == b.ports[1]
            || a.boxes
                .iter()
                .any(|box_| b.boxes.binary_search(box_).is_ok())
    }

    fn wide(&self) -> usize {
        let shapes = self.picture.boxes.iter().chain(&self.picture.frames);
        let wide = shapes.filter(|shape| {
            let room = shape.rect.width() + TOLERANCE;
            shape.texts.iter().any(|text| text.width() > room)
        });
        wide.count()
    }

    fn outside(&self, view: &Rect) -> usize {
        let shapes = self.picture.boxes.iter().chain(&self.picture.frames);
        let texts = shapes
            .clone()
            .flat_map(|shape| &shape.texts)
            .chain(&self.picture.texts);
        let rects = shapes.map(|shape| &shape.rect).chain(texts);
        let rects = rects.chain(self.picture.labels.iter().map(|label| &label.rect));
        let edges = self.picture.edges.iter();
        let edges = edges.filter(|edge| !edge.points.iter().all(|&p| view.contains(p)));
        rects.filter(|rect| !view.encloses(rect)).count() + edges.count()
    }
}

fn extent(picture: &Picture) -> Option<Rect> {
    let shapes = picture.boxes.iter().chain(&picture.frames);
    let rects = shapes.map(|shape| shape.rect);
    let rects = rects.chain(picture.labels.iter().map(|label| label.rect));
    let lines = picture
        .edges
        .iter()
        .map(|edge| Rect::around(edge.points.iter().copied()));
    rects.chain(lines).reduce(|one, other| one.union(&other))
}

/// Returns the ends of each edge: by the names in the picture, and by what is at its ends.
fn ends(picture: &Picture, shapes: &Grid) -> Vec<Ends> {
    let boxes = picture.boxes.len();
    let mut named: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, shape) in picture.boxes.iter().chain(&picture.frames).enumerate() {
        if !shape.name.is_empty() {
            named.entry(&shape.name).or_default().push(at);
        }
    }
    let mut ports: HashMap<(usize, i64, i64), u32> = HashMap::new();
    let mut port = |end: usize, p: Point| {
        let next = ports.len() as u32;
        *ports
            .entry((end, p.x.round() as i64, p.y.round() as i64))
            .or_insert(next)
    };
    let of_edge = |edge: &Edge| {
        let points = [edge.points[0], edge.points[edge.points.len() - 1]];
        let mut found = Vec::new();
        let mut loose = 0;
        for (end, p) in points.into_iter().enumerate() {
            let name = edge.ends.as_ref().map(|ends| ends[end].as_str());
            found.extend(name.and_then(|name| named.get(name)).into_iter().flatten());
            let before = found.len();
            let near = Rect::around([p]).grown(REACH);
            shapes.near(&near, |at| {
                let shape = picture
                    .boxes
                    .get(at)
                    .unwrap_or_else(|| &picture.frames[at - boxes]);
                if shape.rect.meets(&near) {
                    found.push(at);
                }
            });
            // A frame around an edge is not its end.
            let at_border = |&at: &usize| {
                at.checked_sub(boxes).is_none_or(|frame| {
                    let rect = &picture.frames[frame].rect;
                    !rect.grown(-REACH).contains(p) || name == Some(&picture.frames[frame].name)
                })
            };
            let attached = !edge.touches || found[before..].iter().any(at_border);
            loose += usize::from(name != Some("NULL") && !attached);
        }
        found.sort_unstable();
        found.dedup();
        let frames = found.split_off(found.partition_point(|&at| at < boxes));
        Ends {
            boxes: found,
            frames: frames.into_iter().map(|at| at - boxes).collect(),
            ports: [port(0, points[0]), port(1, points[1])],
            loose,
        }
    };
    picture.edges.iter().map(of_edge).collect()
}

/// Returns the pieces of all edges. A piece that edges from one port share is returned once.
fn segments(picture: &Picture, ends: &[Ends]) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut known = HashSet::new();
    for (edge, Edge { points, .. }) in picture.edges.iter().enumerate() {
        for pair in points.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            if a == b {
                continue;
            }
            let bits = [a.x, a.y, b.x, b.y].map(f64::to_bits);
            let [from, to] = ends[edge].ports;
            let new = [known.insert((from, bits)), known.insert((to, bits))];
            if new == [true, true] {
                let edge = edge as u32;
                segments.push(Segment { a, b, edge });
            }
        }
    }
    segments
}

/// Returns the point where two segments cross.
///
/// A point on the other line counts as left of it. Thus an edge that crosses at a joint of its
/// segments crosses once, and an edge that only touches crosses twice or not at all.
fn crossing(s: &Segment, t: &Segment) -> Option<Point> {
    let (u, v) = (s.b - s.a, t.b - t.a);
    let left = |way: Point, from: Point, p: Point| way.cross(p - from) >= 0.0;
    let crosses = left(u, s.a, t.a) != left(u, s.a, t.b) && left(v, t.a, s.a) != left(v, t.a, s.b);
    let area = u.cross(v);
    if !crosses || area == 0.0 {
        return None;
    }
    let part = ((t.a - s.a).cross(v) / area).clamp(0.0, 1.0);
    Some(s.a + u * part)
}

/// Returns the length in which two segments are drawn over each other.
fn overlap(s: &Segment, t: &Segment) -> f64 {
    let (u, length) = (s.b - s.a, s.a.distance(s.b));
    let away = |p: Point| u.cross(p - s.a).abs() / length;
    if away(t.a) > TOLERANCE / 2.0 || away(t.b) > TOLERANCE / 2.0 {
        return 0.0;
    }
    let along = |p: Point| u.dot(p - s.a) / length;
    let (from, to) = (along(t.a), along(t.b));
    from.max(to).min(length) - from.min(to).max(0.0)
}

/// Returns true if two lines that begin at one point are the same up to the point `at`: they have
/// the same length up to there, and no point of either is more than a pixel from the other.
fn same_way<'a>(
    one: impl Iterator<Item = &'a Point>,
    two: impl Iterator<Item = &'a Point>,
    at: Point,
) -> bool {
    let (one, two) = (until(one, at), until(two, at));
    let near = |p: &Point, line: &[Point]| {
        line.windows(2)
            .any(|pair| distance(*p, pair[0], pair[1]) <= TOLERANCE)
    };
    one.iter().all(|p| near(p, &two)) && two.iter().all(|p| near(p, &one))
}

/// Returns the points of a line up to the first place that is within a pixel of `at`.
fn until<'a>(line: impl Iterator<Item = &'a Point>, at: Point) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for &p in line {
        if let Some(&last) = points.last()
            && distance(at, last, p) <= TOLERANCE
        {
            break;
        }
        points.push(p);
    }
    points.push(at);
    points
}

/// Returns the distance of a point from a segment.
fn distance(p: Point, a: Point, b: Point) -> f64 {
    let way = b - a;
    let square = way.dot(way);
    let part = if square > 0.0 {
        (way.dot(p - a) / square).clamp(0.0, 1.0)
    } else {
        0.0
    };
    p.distance(a + way * part)
}

/// Crossings by place.
#[derive(Default)]
struct Places {
    /// Places by cells of a grid.
    cells: HashMap<(i64, i64), Vec<usize>>,
    places: Vec<Place>,
}

struct Place {
    at: Point,
    /// Pairs of edges that cross here, with the parity of their crossings. An edge that only
    /// touches has an even number.
    pairs: BTreeMap<[u32; 2], bool>,
}

impl Places {
    /// Adds a crossing, unless it is one of a trunk that is already known.
    fn add(&mut self, at: Point, mut pair: [u32; 2], ports: impl Fn(u32) -> [u32; 2]) {
        pair.sort_unstable();
        let (x, y) = ((at.x / PLACE).floor() as i64, (at.y / PLACE).floor() as i64);
        let around = (x - 1..=x + 1).flat_map(|x| (y - 1..=y + 1).map(move |y| (x, y)));
        let known = around
            .filter_map(|cell| self.cells.get(&cell))
            .flatten()
            .copied();
        let mut known = known.filter(|&place| self.places[place].at.distance(at) <= PLACE);
        let place = known.next().unwrap_or_else(|| {
            self.places.push(Place {
                at,
                pairs: BTreeMap::new(),
            });
            let place = self.places.len() - 1;
            self.cells.entry((x, y)).or_default().push(place);
            place
        });
        let pairs = &mut self.places[place].pairs;
        if let Some(odd) = pairs.get_mut(&pair) {
            *odd = !*odd;
            return;
        }
        let trunk = |one: u32, two: u32| {
            let (a, b) = (ports(one), ports(two));
            one == two || a[0] == b[0] || a[1] == b[1]
        };
        let same = |&[a, b]: &[u32; 2]| {
            trunk(a, pair[0]) && trunk(b, pair[1]) || trunk(a, pair[1]) && trunk(b, pair[0])
        };
        if !pairs.keys().any(same) {
            pairs.insert(pair, true);
        }
    }

    fn count(&self) -> usize {
        let pairs = self.places.iter().flat_map(|place| place.pairs.values());
        pairs.filter(|&&odd| odd).count()
    }
}
