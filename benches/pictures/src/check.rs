//! Counts the flaws of a picture.
//!
//! Deviations of up to a pixel do not count. Each search is by a grid, so the time grows with the
//! lengths of the edges and with the number of flaws.

use crate::geometry::{Point, Rect};
use crate::grid::Grid;
use crate::picture::{Edge, Picture, Shape};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::hash_map::Entry;

/// Deviation that does not count, in pixels.
const TOLERANCE: f64 = 1.0;
/// Most distance of the end of an edge from its box. Tips of Graphviz's edges are longer.
const REACH: f64 = 2.0;
/// Most distance of an end from the label that names the box of this end.
const REACH_OF_LABELS: f64 = 8.0;
/// Crossings nearer than this to each other are at one place.
const PLACE: f64 = 0.75;
/// Most distance of the end of an edge from dots that stand for boxes.
const REACH_OF_DOTS: f64 = 40.0;
/// Numbers of crossings and of compared pairs of pieces after which the search ends, so that no
/// picture takes minutes.
const MOST_CROSSINGS: usize = 2_000_000;
const MOST_COMPARED: usize = 2_000_000_000;
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
    /// their own and has no port in common with it.
    pub labels: usize,
    /// Places where two edges cross. A trunk counts as one edge.
    pub crossings: usize,
    /// Pairs of edges without a common end that are partly drawn over each other.
    pub overlaps: usize,
    /// Boxes and frames that are narrower than a text in them.
    pub wide: usize,
    /// Ends of edges that are at no box or frame, except those in the environment, and those beside
    /// a label with the text of the box at which the edge ends.
    pub loose: usize,
    /// Elements outside of the `viewBox`.
    pub outside: usize,
    /// True if there are more crossings and overlaps than were counted.
    pub more: bool,
    /// Width divided by height.
    pub ratio: f64,
}

/// A straight piece of an edge.
struct Segment {
    a: Point,
    b: Point,
    edge: u32,
    /// Length of the edge before it.
    before: f64,
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
    let meetings = checker.meetings();
    Counts {
        boxes: picture.boxes.len(),
        edges: picture.edges.len(),
        over: checker.over(),
        through: checker.through(),
        labels: checker.labels(),
        crossings: meetings.crossings,
        overlaps: meetings.overlaps,
        more: meetings.more,
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
    ways: Vec<Way<'a>>,
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
        let ways: Vec<Way<'_>> = picture.edges.iter().map(Way::new).collect();
        let segments = segments(picture, &ends, &ways);
        let mut lines = Grid::new(area, segments.len());
        for (at, segment) in segments.iter().enumerate() {
            lines.add_segment(at, segment.a, segment.b);
        }
        Checker {
            picture,
            area,
            ends,
            ways,
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
        let mut pairs = HashSet::default();
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
        let mut pairs = HashSet::default();
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
                    let own = labels[at].own.is_some_and(|own| {
                        let (a, b) = (
                            &self.ends[own].ports,
                            &self.ends[segment.edge as usize].ports,
                        );
                        own == segment.edge as usize || a[0] == b[0] || a[1] == b[1]
                    });
                    hit |= !own && rect.meets_segment(segment.a, segment.b);
                });
            }
            hit
        };
        let rects = labels.iter().map(|label| label.rect.grown(-TOLERANCE));
        rects.enumerate().filter(collides).count()
    }

    /// Counts crossings and overlaps.
    fn meetings(&self) -> Meetings {
        let mut places = Places::default();
        let mut overlaps = HashSet::default();
        let mut compared = 0;
        let mut more = false;
        for (cell, here) in self.lines.cells() {
            compared += here.len() * here.len() / 2;
            more = compared > MOST_COMPARED || places.crossings() > MOST_CROSSINGS;
            if more {
                break;
            }
            for (i, &one) in here.iter().enumerate() {
                let s = &self.segments[one as usize];
                for &two in &here[i + 1..] {
                    let t = &self.segments[two as usize];
                    if s.edge == t.edge {
                        continue;
                    }
                    if overlap(s, t) > OVERLAP && !self.related(s.edge, t.edge) {
                        overlaps.insert((s.edge.min(t.edge), s.edge.max(t.edge)));
                    }
                    let Some(at) = crossing(s, t) else { continue };
                    if self.lines.cell_of(at) == cell && !self.is_joint(s, t, at) {
                        places.add(at, [s.edge, t.edge], &self.ends);
                    }
                }
            }
        }
        Meetings {
            crossings: places.count(),
            overlaps: overlaps.len(),
            more,
        }
    }

    /// Returns true if two edges meet at a point because of a common end: the point is at a common
    /// box, or on a common trunk.
    fn is_joint(&self, s: &Segment, t: &Segment, at: Point) -> bool {
        let [a, b] = [s, t].map(|segment| &self.ends[segment.edge as usize]);
        let at_box = |&box_: &usize| {
            let rect = self.picture.boxes[box_].rect.grown(REACH + TOLERANCE);
            rect.contains(at) && b.boxes.binary_search(&box_).is_ok()
        };
        if a.boxes.iter().any(at_box) {
            return true;
        }
        let [p, q] = [s, t].map(|segment| &self.ways[segment.edge as usize]);
        let [x, y] = [s, t].map(|segment| segment.before + segment.a.distance(at));
        // Two edges are one trunk up to here if they are equally long and at the same places.
        let same = |place: &dyn Fn(f64) -> [Point; 2], [x, y]: [f64; 2]| {
            (x - y).abs() <= 2.0 * TOLERANCE
                && (1..8).all(|part| {
                    let [one, two] = place(x * f64::from(part) / 8.0);
                    one.distance(two) <= TOLERANCE
                })
        };
        let (to_p, to_q) = (p.length(), q.length());
        a.ports[0] == b.ports[0] && same(&|after| [p.at(after), q.at(after)], [x, y])
            || a.ports[1] == b.ports[1]
                && same(
                    &|before| [p.at(to_p - before), q.at(to_q - before)],
                    [to_p - x, to_q - y],
                )
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
    let mut named: HashMap<&str, Vec<usize>> = HashMap::default();
    for (at, shape) in picture.boxes.iter().chain(&picture.frames).enumerate() {
        if !shape.name.is_empty() {
            named.entry(&shape.name).or_default().push(at);
        }
    }
    let area = extent(picture).unwrap_or(Rect::EMPTY);
    let mut labels = Grid::new(area, picture.labels.len());
    for (at, label) in picture.labels.iter().enumerate() {
        labels.add(at, &label.rect);
    }
    // Wraps of a torus are two stubs. Each has the name of its other end.
    let is_labelled = |p: Point, name: &str| {
        let around = Rect::around([p]).grown(REACH_OF_LABELS);
        let mut found = false;
        labels.near(&around, |at| {
            let label = &picture.labels[at];
            let shapes = named.get(name).into_iter().flatten();
            let mut boxes = shapes.filter_map(|&at| picture.boxes.get(at));
            let mut is_named = || boxes.any(|shape| is_same(&label.text, &shape.label));
            found |=
                label.rect.meets(&around) && (leads_elsewhere(&label.text, name) || is_named());
        });
        found
    };
    let mut ports: HashMap<(usize, i64, i64), u32> = HashMap::default();
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
            let near = |by: f64| Rect::around([p]).grown(by);
            shapes.near(&near(REACH_OF_DOTS), |at| {
                let shape = picture
                    .boxes
                    .get(at)
                    .unwrap_or_else(|| &picture.frames[at - boxes]);
                let reach = if shape.dots { REACH_OF_DOTS } else { REACH };
                if shape.rect.meets(&near(reach)) {
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
            let is_stub = name.is_some_and(|name| name == "NULL" || is_labelled(p, name));
            loose += usize::from(!attached && !is_stub);
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

/// Returns true for the text at a channel to a process in another module of the same frame, such as
/// `to worker of next farm`. The name of the process begins with that of its kind.
fn leads_elsewhere(text: &str, name: &str) -> bool {
    let words: Vec<&str> = text.split(' ').collect();
    words.windows(3).any(|words| {
        ["to", "from"].contains(&words[0]) && name.starts_with(words[1]) && words[2] == "of"
    })
}

/// Returns true if two texts are the same, up to the ellipsis of one that was shortened.
fn is_same(one: &str, other: &str) -> bool {
    let (a, b) = (one.strip_suffix('\u{2026}'), other.strip_suffix('\u{2026}'));
    match (a, b) {
        (None, None) => one == other,
        (Some(a), None) => other.starts_with(a),
        (None, Some(b)) => one.starts_with(b),
        (Some(a), Some(b)) => a.starts_with(b) || b.starts_with(a),
    }
}

/// Returns the pieces of all edges. A piece that edges from one port share is returned once.
fn segments(picture: &Picture, ends: &[Ends], ways: &[Way<'_>]) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut known = HashSet::default();
    for (edge, Edge { points, .. }) in picture.edges.iter().enumerate() {
        for (at, pair) in points.windows(2).enumerate() {
            let (a, b) = (pair[0], pair[1]);
            if a == b {
                continue;
            }
            let bits = [a.x, a.y, b.x, b.y].map(f64::to_bits);
            let [from, to] = ends[edge].ports;
            let new = [known.insert((from, bits)), known.insert((to, bits))];
            if new == [true, true] {
                segments.push(Segment {
                    a,
                    b,
                    edge: edge as u32,
                    before: ways[edge].distances[at],
                });
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
    let u = s.b - s.a;
    let square = u.dot(u);
    let most = TOLERANCE * TOLERANCE / 4.0 * square;
    let is_away = |p: Point| u.cross(p - s.a).powi(2) > most;
    if is_away(t.a) || is_away(t.b) {
        return 0.0;
    }
    let length = square.sqrt();
    let along = |p: Point| u.dot(p - s.a) / length;
    let (from, to) = (along(t.a), along(t.b));
    from.max(to).min(length) - from.min(to).max(0.0)
}

/// An edge by the distance from its start.
struct Way<'a> {
    points: &'a [Point],
    /// Distance of each point from the start, along the edge.
    distances: Vec<f64>,
}

impl<'a> Way<'a> {
    fn new(edge: &'a Edge) -> Way<'a> {
        let mut distances = vec![0.0];
        let mut sum = 0.0;
        for pair in edge.points.windows(2) {
            sum += pair[0].distance(pair[1]);
            distances.push(sum);
        }
        Way {
            points: &edge.points,
            distances,
        }
    }

    fn length(&self) -> f64 {
        self.distances[self.distances.len() - 1]
    }

    /// Returns the point at a distance from the start.
    fn at(&self, distance: f64) -> Point {
        let next = self.distances.partition_point(|d| *d < distance);
        let next = next.clamp(1, self.points.len() - 1);
        let (a, b) = (self.points[next - 1], self.points[next]);
        let length = self.distances[next] - self.distances[next - 1];
        let part = (distance - self.distances[next - 1]) / length.max(1e-9);
        a + (b - a) * part.clamp(0.0, 1.0)
    }
}

struct Meetings {
    crossings: usize,
    overlaps: usize,
    more: bool,
}

/// Crossings by place.
#[derive(Default)]
struct Places {
    /// Places by the cells of a grid.
    cells: HashMap<(i64, i64), Vec<u32>>,
    places: Vec<Point>,
    /// Pairs of edges that cross at a place, with the parity of their crossings. An edge that only
    /// touches has an even number.
    pairs: HashMap<(u32, [u32; 2]), bool>,
    /// The same pairs, with ports in place of edges, in all combinations. Crossings with a common
    /// combination are of the same trunks.
    trunks: HashSet<(u32, [u64; 2])>,
}

impl Places {
    /// Adds a crossing, unless it is one of trunks whose crossing at this place is known.
    fn add(&mut self, at: Point, mut pair: [u32; 2], ends: &[Ends]) {
        pair.sort_unstable();
        let place = self.place(at);
        let entry = match self.pairs.entry((place, pair)) {
            Entry::Occupied(mut known) => {
                let odd = known.get_mut();
                *odd = !*odd;
                return;
            }
            Entry::Vacant(entry) => entry,
        };
        // Ids of an edge: itself, and its ports.
        let ids = |edge: u32| {
            let [from, to] = ends[edge as usize]
                .ports
                .map(|port| u64::from(port) + (1 << 32));
            [u64::from(edge), from, to]
        };
        let mut known = false;
        for one in ids(pair[0]) {
            for two in ids(pair[1]) {
                let new = self.trunks.insert((place, [one.min(two), one.max(two)]));
                known |= !new;
            }
        }
        entry.insert(!known);
    }

    /// Returns the place of a point: a known one nearby, or a new one.
    fn place(&mut self, at: Point) -> u32 {
        const CELL: f64 = 8.0 * PLACE;
        let cell = |x: f64| (x / CELL).floor() as i64;
        for x in cell(at.x - PLACE)..=cell(at.x + PLACE) {
            for y in cell(at.y - PLACE)..=cell(at.y + PLACE) {
                let known = self.cells.get(&(x, y)).into_iter().flatten();
                let near = |place: &&u32| self.places[**place as usize].distance(at) <= PLACE;
                if let Some(&place) = known.into_iter().find(near) {
                    return place;
                }
            }
        }
        let place = self.places.len() as u32;
        self.places.push(at);
        self.cells
            .entry((cell(at.x), cell(at.y)))
            .or_default()
            .push(place);
        place
    }

    /// Returns an upper bound of the number of crossings.
    fn crossings(&self) -> usize {
        self.pairs.len()
    }

    fn count(&self) -> usize {
        self.pairs.values().filter(|odd| **odd).count()
    }
}
