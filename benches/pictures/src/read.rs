//! Reads pictures: those of graphmap, by the classes of their elements, those of Graphviz, and
//! pictures without classes, by the attributes that graphmap gave to boxes and frames before it
//! wrote classes.

use crate::geometry::{Point, Rect, curve};
use crate::picture::{Edge, Label, Picture, Shape};
use crate::text;
use roxmltree::{Document, Node, ParsingOptions};
use std::str::FromStr;
use svgtypes::{SimplePathSegment, SimplifyingPathParser, Transform};

/// Classes of groups that are boxes: of networks and of Graphviz, and of mappings.
const BOXES: [&str; 2] = ["node", "os-process"];
/// Classes of groups that are frames: of networks, of mappings, and of Graphviz.
const FRAMES: [&str; 3] = ["module", "frame", "cluster"];
/// Classes of lines, or of groups of a line, its tip and its label.
const EDGES: [&str; 2] = ["edge", "arc"];
/// Classes of texts at lines. Numbers are on their lines.
const LABELS: [&str; 2] = ["label", "number"];

/// Reads an SVG.
///
/// # Errors
/// Returns an error if it is not XML.
pub fn read(svg: &str) -> Result<Picture, String> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(svg, options).map_err(|why| why.to_string())?;
    let root = document.root_element();
    let numbers = |text: &str| -> Vec<f64> {
        let words = text.split([' ', ',']).filter(|word| !word.is_empty());
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let view = root.attribute("viewBox").map(numbers);
    let mut reader = Reader {
        picture: Picture::default(),
        plain: !root.descendants().any(|node| node.has_attribute("class")),
    };
    if let Some([left, top, width, height]) = view.as_deref() {
        reader.picture.view = Some(Rect::new(*left, *top, *width, *height));
    }
    let context = Context {
        transform: Transform::default(),
        size: 16.0,
        anchor: "start",
        bold: false,
        part: Part::None,
    };
    reader.element(root, &context);
    if reader.plain {
        reader.assign();
    }
    Ok(reader.picture)
}

/// The part of the picture to which an element belongs.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    None,
    Box(usize),
    Frame(usize),
    /// A group of Graphviz: a line, its tip and its label.
    Edge(usize),
    /// A legend or a matrix, whose samples are neither boxes nor lines.
    Aside,
}

#[derive(Clone, Copy)]
struct Context<'a> {
    transform: Transform,
    size: f64,
    anchor: &'a str,
    bold: bool,
    part: Part,
}

struct Reader {
    picture: Picture,
    plain: bool,
}

fn has_class(node: Node<'_, '_>, names: &[&str]) -> bool {
    let classes = node.attribute("class").unwrap_or_default();
    classes
        .split_whitespace()
        .any(|class| names.contains(&class))
}

fn number(node: Node<'_, '_>, name: &str) -> Option<f64> {
    let text = node.attribute(name)?.trim();
    text.trim_end_matches("px").parse().ok()
}

fn title<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    let title = node
        .children()
        .find(|child| child.tag_name().name() == "title")?;
    title.text()
}

fn name(node: Node<'_, '_>) -> String {
    let data = ["data-name", "data-os-process"];
    let data = data.into_iter().find_map(|name| node.attribute(name));
    let name = data.or_else(|| title(node));
    name.unwrap_or_default().trim().to_owned()
}

fn map(t: &Transform, p: Point) -> Point {
    Point::new(t.a * p.x + t.c * p.y + t.e, t.b * p.x + t.d * p.y + t.f)
}

impl Reader {
    fn element(&mut self, node: Node<'_, '_>, outer: &Context<'_>) {
        let mut context = *outer;
        if let Some(text) = node.attribute("transform") {
            let inner = Transform::from_str(text).unwrap_or_default();
            context.transform = product(&outer.transform, &inner);
        }
        context.size = number(node, "font-size").unwrap_or(outer.size);
        context.anchor = node.attribute("text-anchor").unwrap_or(outer.anchor);
        if let Some(weight) = node.attribute("font-weight") {
            context.bold = weight == "bold" || weight.parse::<f64>().is_ok_and(|w| w >= 600.0);
        }
        match node.tag_name().name() {
            "svg" | "a" => self.children(node, &context),
            "g" => {
                if context.part == Part::Aside || has_class(node, &["legend", "matrix"]) {
                    context.part = Part::Aside;
                } else if has_class(node, &BOXES) {
                    context.part = Part::Box(self.picture.boxes.len());
                    self.picture.boxes.push(Shape {
                        dots: has_class(node, &["dots"]),
                        ..shape(name(node))
                    });
                } else if has_class(node, &FRAMES) {
                    context.part = Part::Frame(self.picture.frames.len());
                    self.picture.frames.push(shape(name(node)));
                } else if has_class(node, &EDGES) {
                    context.part = Part::Edge(self.picture.edges.len());
                }
                self.children(node, &context);
            }
            "rect" => {
                let size = (number(node, "width"), number(node, "height"));
                let (Some(width), Some(height)) = size else {
                    return;
                };
                let (x, y) = (number(node, "x"), number(node, "y"));
                let rect = Rect::new(x.unwrap_or(0.0), y.unwrap_or(0.0), width, height);
                self.outline(node, rect, &context);
            }
            "circle" | "ellipse" => {
                let radius = number(node, "r");
                let (Some(rx), Some(ry)) =
                    (radius.or(number(node, "rx")), radius.or(number(node, "ry")))
                else {
                    return;
                };
                let (x, y) = (number(node, "cx"), number(node, "cy"));
                let (left, top) = (x.unwrap_or(0.0) - rx, y.unwrap_or(0.0) - ry);
                self.outline(node, Rect::new(left, top, 2.0 * rx, 2.0 * ry), &context);
            }
            "polygon" => {
                let text = node.attribute("points").unwrap_or_default();
                let numbers: Vec<f64> = text
                    .split([' ', ','])
                    .filter_map(|word| word.parse().ok())
                    .collect();
                let points = numbers.chunks_exact(2).map(|p| Point::new(p[0], p[1]));
                match context.part {
                    Part::Box(_) | Part::Frame(_) => {
                        self.outline(node, Rect::around(points), &context);
                    }
                    Part::Edge(edge) if edge + 1 == self.picture.edges.len() => {
                        self.tip(points.map(|p| map(&context.transform, p)));
                    }
                    Part::Edge(_) | Part::None | Part::Aside => {}
                }
            }
            "path" => self.path(node, &context),
            "text" => self.text(node, &context),
            _ => {}
        }
    }

    fn children(&mut self, node: Node<'_, '_>, context: &Context<'_>) {
        for child in node.children().filter(Node::is_element) {
            self.element(child, context);
        }
    }

    fn outline(&mut self, node: Node<'_, '_>, rect: Rect, context: &Context<'_>) {
        let rect = Rect::around(rect.corners().map(|p| map(&context.transform, p)));
        match context.part {
            Part::Box(at) => {
                let shape = &mut self.picture.boxes[at];
                shape.rect = shape.rect.union(&rect);
            }
            Part::Frame(at) => {
                let shape = &mut self.picture.frames[at];
                shape.rect = shape.rect.union(&rect);
            }
            Part::None if has_class(node, &BOXES) => {
                self.picture.boxes.push(Shape {
                    rect,
                    ..shape(name(node))
                });
            }
            Part::None if self.plain => {
                let Some(radius) = node.attribute("rx") else {
                    return;
                };
                let shape = Shape {
                    rect,
                    ..shape(name(node))
                };
                let boxes = &mut self.picture.boxes;
                match (radius, boxes.last_mut()) {
                    ("8", _) => self.picture.frames.push(shape),
                    // The box of several processes, before a second one.
                    (_, Some(behind)) if is_shifted(&behind.rect, &rect) => {
                        behind.rect = behind.rect.union(&rect);
                    }
                    _ => boxes.push(shape),
                }
            }
            Part::None | Part::Aside | Part::Edge(_) => {}
        }
    }

    fn path(&mut self, node: Node<'_, '_>, context: &Context<'_>) {
        if context.part == Part::Aside {
            return;
        }
        if has_class(node, &["tip"]) {
            return self.tip(points(node, &context.transform).into_iter());
        }
        let is_edge = has_class(node, &EDGES) || self.plain;
        let group = node
            .parent()
            .filter(|_| matches!(context.part, Part::Edge(_)));
        if !is_edge && group.is_none() {
            if matches!(context.part, Part::Box(_)) {
                let rect = Rect::around(points(node, &context.transform));
                if !rect.is_empty() {
                    self.outline(
                        node,
                        rect,
                        &Context {
                            transform: Transform::default(),
                            ..*context
                        },
                    );
                }
            }
            return;
        }
        let points = points(node, &context.transform);
        if points.len() < 2 {
            return;
        }
        let data = |node: Node<'_, '_>| {
            let ends = [node.attribute("data-from")?, node.attribute("data-to")?];
            Some(ends.map(str::to_owned))
        };
        let written = data(node).or_else(|| data(group?));
        let touches = written.is_some() || self.plain;
        let ends = written.or_else(|| {
            let (from, to) = title(group?)?.split_once("->")?;
            // Graphviz appends ports.
            let node = |end: &str| end.split(':').next().unwrap_or_default().to_owned();
            Some([node(from), node(to)])
        });
        self.picture.edges.push(Edge {
            points,
            ends,
            touches,
        });
    }

    /// Lengthens the last edge to the end of its arrow, which has these corners. It is the first
    /// corner, or in a picture of Graphviz the foremost in the direction in which the edge ends.
    fn tip(&mut self, mut corners: impl Iterator<Item = Point>) {
        let Some(edge) = self.picture.edges.last_mut() else {
            return;
        };
        let [.., before, end] = edge.points[..] else {
            return;
        };
        let ahead = |p: &Point| (*p - end).dot(end - before);
        let tip = match edge.touches {
            true => corners.next(),
            false => corners.max_by(|a, b| ahead(a).total_cmp(&ahead(b))),
        };
        edge.points.extend(tip.filter(|&tip| tip != end));
    }

    fn text(&mut self, node: Node<'_, '_>, context: &Context<'_>) {
        let fitted = number(node, "textLength");
        let mut at = Point::new(
            number(node, "x").unwrap_or(0.0),
            number(node, "y").unwrap_or(0.0),
        );
        let start = at;
        let mut rect = Rect::EMPTY;
        let mut text = String::new();
        let mut line = |at: Point, words: &str| {
            let words = words.trim();
            if words.is_empty() {
                return;
            }
            text += words;
            let bold = if context.bold { 1.1 } else { 1.0 };
            let width = fitted.unwrap_or_else(|| text::width(words, context.size) * bold);
            let left = at.x
                - match context.anchor {
                    "middle" => width / 2.0,
                    "end" => width,
                    _ => 0.0,
                };
            // From the tops of capitals to the ends of descenders.
            let top = at.y - 0.72 * context.size;
            rect = rect.union(&Rect::new(left, top, width, 0.93 * context.size));
        };
        for child in node.children() {
            if child.is_text() {
                line(at, child.text().unwrap_or_default());
            } else if child.tag_name().name() == "tspan" {
                let down =
                    child
                        .attribute("dy")
                        .map_or(0.0, |down| match down.strip_suffix("em") {
                            Some(em) => em.parse::<f64>().unwrap_or(0.0) * context.size,
                            None => down.parse().unwrap_or(0.0),
                        });
                at = Point::new(
                    number(child, "x").unwrap_or(start.x),
                    number(child, "y").unwrap_or(at.y + down),
                );
                line(at, child.text().unwrap_or_default());
            }
        }
        if rect.is_empty() {
            return;
        }
        let rect = Rect::around(rect.corners().map(|p| map(&context.transform, p)));
        let is_label = has_class(node, &LABELS);
        match context.part {
            Part::Box(at) if !is_label => {
                let shape = &mut self.picture.boxes[at];
                if shape.texts.is_empty() {
                    shape.label = text;
                }
                shape.texts.push(rect);
            }
            Part::Frame(at) if !is_label => {
                self.picture.frames[at].texts.push(rect);
                self.label(rect, text, None);
            }
            Part::Edge(own) => self.label(rect, text, Some(own)),
            Part::Aside => self.picture.texts.push(rect),
            _ if is_label => {
                let own = has_class(node, &["number"]).then(|| self.nearest(rect.centre()));
                self.label(rect, text, own.flatten());
            }
            _ if self.plain && context.size < 12.0 => self.label(rect, text, None),
            _ => self.picture.texts.push(rect),
        }
    }

    fn label(&mut self, rect: Rect, text: String, own: Option<usize>) {
        self.picture.labels.push(Label { rect, text, own });
    }

    /// Returns the edge that is nearest to a point.
    fn nearest(&self, p: Point) -> Option<usize> {
        let distance = |edge: &Edge| {
            let pairs = edge.points.windows(2);
            let distances = pairs.map(|pair| p.distance_to(pair[0], pair[1]));
            distances.fold(f64::INFINITY, f64::min)
        };
        let edges = self.picture.edges.iter().enumerate();
        let edges = edges.map(|(at, edge)| (distance(edge), at));
        let nearest = edges.min_by(|(a, _), (b, _)| a.total_cmp(b));
        nearest.map(|(_, at)| at)
    }

    /// Assigns the texts of a picture without classes to boxes, frames and edges, by their
    /// positions.
    fn assign(&mut self) {
        let picture = &mut self.picture;
        for rect in std::mem::take(&mut picture.texts) {
            let inside = |shape: &&mut Shape| shape.rect.contains(rect.centre());
            // Texts are written after their boxes.
            if let Some(shape) = picture.boxes.iter_mut().rev().find(inside) {
                shape.texts.push(rect);
            } else if let Some(frame) = picture.frames.iter_mut().rev().find(inside) {
                frame.texts.push(rect);
                picture.labels.push(Label {
                    rect,
                    text: String::new(),
                    own: None,
                });
            } else {
                picture.texts.push(rect);
            }
        }
        // A label was written four pixels above the middle of its line.
        let mut middles: Vec<(Point, usize)> = Vec::new();
        for (at, edge) in picture.edges.iter().enumerate() {
            let (first, last) = (edge.points[0], edge.points[edge.points.len() - 1]);
            middles.push(((first + last) * 0.5, at));
        }
        middles.sort_by(|(a, _), (b, _)| a.x.total_cmp(&b.x));
        for label in &mut picture.labels {
            let place = Point::new(label.rect.centre().x, label.rect.top + 0.72 * 10.0 + 4.0);
            let begin = middles.partition_point(|(p, _)| p.x < place.x - 1.0);
            let mut near = middles[begin..]
                .iter()
                .take_while(|(p, _)| p.x <= place.x + 1.0);
            let own = near.find(|(p, _)| (p.y - place.y).abs() <= 1.0);
            label.own = own.map(|&(_, edge)| edge);
        }
    }
}

/// Returns true if both have the same size, and differ by four pixels in both coordinates.
fn is_shifted(one: &Rect, two: &Rect) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() < 0.2;
    near(one.left, two.left + 4.0)
        && near(one.top, two.top - 4.0)
        && near(one.width(), two.width())
        && near(one.height(), two.height())
}

fn shape(name: String) -> Shape {
    Shape {
        rect: Rect::EMPTY,
        name,
        texts: Vec::new(),
        label: String::new(),
        dots: false,
    }
}

/// Returns the transform that applies `inner` and then `outer`.
fn product(outer: &Transform, inner: &Transform) -> Transform {
    Transform {
        a: outer.a * inner.a + outer.c * inner.b,
        b: outer.b * inner.a + outer.d * inner.b,
        c: outer.a * inner.c + outer.c * inner.d,
        d: outer.b * inner.c + outer.d * inner.d,
        e: outer.a * inner.e + outer.c * inner.f + outer.e,
        f: outer.b * inner.e + outer.d * inner.f + outer.f,
    }
}

/// Returns a path in small straight pieces. Only the first subpath counts.
fn points(node: Node<'_, '_>, transform: &Transform) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    let text = node.attribute("d").unwrap_or_default();
    for segment in SimplifyingPathParser::from(text) {
        let Ok(segment) = segment else { break };
        let at = |x, y| map(transform, Point::new(x, y));
        let last = points.last().copied();
        match (segment, last) {
            (SimplePathSegment::MoveTo { x, y }, None) => points.push(at(x, y)),
            (SimplePathSegment::LineTo { x, y }, Some(last)) => {
                let next = at(x, y);
                if next != last {
                    points.push(next);
                }
            }
            (
                SimplePathSegment::CurveTo {
                    x1,
                    y1,
                    x2,
                    y2,
                    x,
                    y,
                },
                Some(last),
            ) => {
                curve(&mut points, [last, at(x1, y1), at(x2, y2), at(x, y)]);
            }
            (SimplePathSegment::Quadratic { x1, y1, x, y }, Some(last)) => {
                let (middle, end) = (at(x1, y1), at(x, y));
                let third = |p: Point| p + (middle - p) * (2.0 / 3.0);
                curve(&mut points, [last, third(last), third(end), end]);
            }
            _ => break,
        }
    }
    points
}
