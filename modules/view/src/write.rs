//! Writes a [`Drawing`] as SVG, with title, legend and notes.
//!
//! The elements are in groups of the classes `frames`, `edges`, `nodes`, `labels` and `legend`. Each
//! has a class, data attributes and a `<title>`, so that style sheets and scripts can use it.
//! Presentation attributes give the colours of a light background, because many programs ignore
//! parts of CSS. A style sheet inside of the picture replaces them on a dark background. Any text
//! yields a well-formed document, and injects nothing.

use crate::colour::{
    Colour, DARK, FILLS, INK, LIGHT, NO_KIND, OUTLINE, PATTERN_OPACITY, Scheme, styles,
};
use crate::drawing::{Drawing, Form, Frame, Label, Path, Shape, Tip};
use crate::geometry::{Point, Rect, Size};
use crate::text::{self, shortened, width};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};

/// Space around the picture.
const MARGIN: f64 = 16.0;
/// Distance between the title, the picture, the legend, and the notes.
const GAP: f64 = 14.0;
/// Distance between lines of text, relative to the size of the letters.
const LEADING: f64 = 1.25;
/// Height of the middle of letters above the baseline, relative to their size.
const MIDDLE: f64 = 0.36;
/// Size of letters that are as wide as the bold letters of the title.
const TITLE: f64 = text::TITLE * 1.06;
/// Width to which the title and the notes may widen the picture.
const WIDEST_TITLE: f64 = 640.0;
const WIDEST_NOTE: f64 = 360.0;
/// Number of kinds from which and up to which there is a legend.
const LEGEND: std::ops::RangeInclusive<usize> = 2..=24;
/// Size of a sample in the legend, and the maximum width of the name beside it.
const SAMPLE: Size = Size::new(22.0, 14.0);
const WIDEST_KIND: f64 = 160.0;
/// Distance between a box and the box behind it.
const BEHIND: f64 = 3.0;
/// Radius of corners of lines.
const BEND: f64 = 6.0;
/// Radius of the ring that stands for the environment.
const RING: f64 = 3.0;
/// Largest coordinate. Larger ones are written as this.
const LIMIT: f64 = 1e7;

/// Returns a [`Drawing`] as an SVG document. Texts that are wider than their space are shortened, and
/// then the `<title>` of the element has the whole text. Numbers that are not finite count as 0.
/// Linear in the number of elements, apart from sorting the names of kinds.
#[must_use]
pub fn to_svg(drawing: &Drawing) -> String {
    let mut out = String::new();
    Writer::new(drawing)
        .document(&mut out)
        .expect("a String takes all that is written");
    out
}

/// How a box is filled.
struct Fill {
    /// Classes, each after a space.
    class: Cow<'static, str>,
    colour: Colour,
    /// Colour of its text, if it is not [`INK`].
    ink: Option<Colour>,
    pattern: Option<&'static str>,
}

struct Writer<'a> {
    drawing: &'a Drawing,
    /// Style of each kind.
    styles: BTreeMap<&'a str, usize>,
    /// Position of its origin in the picture.
    at: Point,
    title: String,
    notes: Vec<String>,
    legend: Legend,
    size: Size,
}

/// Columns of the legend.
#[derive(Default)]
struct Legend {
    columns: usize,
    column: f64,
    height: f64,
}

impl<'a> Writer<'a> {
    fn new(drawing: &'a Drawing) -> Writer<'a> {
        let kinds = drawing.boxes.iter().map(|shape| shape.kind.as_str());
        let kinds = kinds.chain(drawing.legend.iter().map(String::as_str));
        let styles = styles(kinds.filter(|kind| !kind.is_empty()));
        let size = Size::new(finite(drawing.size.width), finite(drawing.size.height));
        let title = visible(&drawing.title);
        let title = shortened(&title, TITLE, size.width.max(WIDEST_TITLE));
        let note = drawing
            .notes
            .iter()
            .map(|note| width(&visible(note), text::LABEL));
        let mut inner = size
            .width
            .max(width(&title, TITLE))
            .max(note.fold(0.0, f64::max).min(WIDEST_NOTE));
        let legend = Legend::new(&drawing.legend, &mut inner);
        let notes: Vec<String> = drawing
            .notes
            .iter()
            .flat_map(|note| wrapped(&visible(note), text::LABEL, inner))
            .collect();
        let top = if title.is_empty() {
            0.0
        } else {
            text::TITLE + GAP
        };
        let below = |height: f64| if height > 0.0 { GAP + height } else { 0.0 };
        let notes_height = notes.len() as f64 * text::LABEL * LEADING;
        let height = top + size.height + below(legend.height) + below(notes_height);
        Writer {
            drawing,
            styles,
            at: Point::new(MARGIN, MARGIN + top),
            title,
            notes,
            legend,
            size: Size::new(
                (inner + 2.0 * MARGIN).ceil(),
                (height + 2.0 * MARGIN).ceil(),
            ),
        }
    }

    fn document(&self, out: &mut String) -> fmt::Result {
        let Size { width, height } = self.size;
        let (w, h) = (Number(width), Number(height));
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graphmap\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" font-family=\"{}\" font-size=\"{}\">",
            text::FONTS,
            text::BOX
        )?;
        if !self.drawing.title.is_empty() {
            writeln!(out, "<title>{}</title>", Content(&self.drawing.title))?;
        }
        writeln!(out, "<style>{}</style>", Sheet)?;
        patterns(out, self.styles.values().any(|style| *style >= FILLS.len()))?;
        let Scheme {
            background,
            frame,
            border,
            line,
            text,
            faint,
            ..
        } = LIGHT;
        writeln!(
            out,
            "<rect class=\"background\" width=\"{w}\" height=\"{h}\" fill=\"{background}\"/>"
        )?;
        writeln!(
            out,
            "<g class=\"frames\" fill=\"{frame}\" stroke=\"{border}\">"
        )?;
        for frame in &self.drawing.frames {
            self.frame(out, frame)?;
        }
        writeln!(
            out,
            "</g>\n<g class=\"edges\" fill=\"none\" stroke=\"{line}\">"
        )?;
        let downwards = self.downwards();
        for path in &self.drawing.lines {
            self.edge(out, path, downwards)?;
        }
        writeln!(
            out,
            "</g>\n<g class=\"nodes\" fill=\"{INK}\" text-anchor=\"middle\">"
        )?;
        for shape in &self.drawing.boxes {
            self.node(out, shape)?;
        }
        writeln!(
            out,
            "</g>\n<g class=\"labels\" fill=\"{text}\" font-size=\"{}\" text-anchor=\"middle\">",
            text::LABEL
        )?;
        for label in &self.drawing.labels {
            self.label(out, label)?;
        }
        writeln!(out, "</g>")?;
        if !self.title.is_empty() {
            write!(
                out,
                "<g class=\"title\" font-size=\"{}\" font-weight=\"bold\" fill=\"{text}\">",
                text::TITLE
            )?;
            let at = Point::new(MARGIN, MARGIN + text::TITLE * 0.8);
            words(out, at, "", &self.title, TITLE)?;
            writeln!(out, "</g>")?;
        }
        let mut y = self.at.y + finite(self.drawing.size.height);
        if self.legend.columns > 0 {
            self.legend(out, y + GAP)?;
            y += GAP + self.legend.height;
        }
        if !self.notes.is_empty() {
            writeln!(
                out,
                "<g class=\"notes\" fill=\"{faint}\" font-size=\"{}\">",
                text::LABEL
            )?;
            for (i, note) in self.notes.iter().enumerate() {
                let y = y + GAP + text::LABEL * (i as f64 * LEADING + 0.8);
                words(out, Point::new(MARGIN, y), "", note, text::LABEL)?;
                writeln!(out)?;
            }
            writeln!(out, "</g>")?;
        }
        writeln!(out, "</svg>")
    }

    fn frame(&self, out: &mut String, frame: &Frame) -> fmt::Result {
        let rect = self.moved(frame.rect);
        let label = visible(&frame.label);
        let short = shortened(&label, text::BOX, rect.size.width - 16.0);
        let stroke = frame.color.as_deref().and_then(Colour::parsed);
        write!(
            out,
            "<g class=\"module\" data-name=\"{}\">",
            Value(&frame.name)
        )?;
        title(out, &[&frame.title, &frame.label, &frame.name])?;
        write!(out, "<rect{} rx=\"6\"", Place(rect))?;
        if let Some(stroke) = stroke {
            write!(out, " stroke=\"{stroke}\" stroke-width=\"1.5\"")?;
        }
        write!(out, "/>")?;
        if !short.is_empty() {
            let at = Point::new(rect.at.x + 8.0, rect.at.y + 4.0 + text::BOX);
            let attributes = format!(" fill=\"{}\" stroke=\"none\"", LIGHT.faint);
            words(out, at, &attributes, &short, text::BOX)?;
        }
        writeln!(out, "</g>")
    }

    fn edge(&self, out: &mut String, path: &Path, downwards: bool) -> fmt::Result {
        let user = path.color.as_deref().and_then(Colour::parsed);
        let class = match (path.dashed, user) {
            (false, None) => "",
            (true, None) => " controlled",
            (false, Some(_)) => " user",
            (true, Some(_)) => " controlled user",
        };
        let colour = user.or(path.dashed.then_some(LIGHT.controlled));
        let stroke = colour.map_or(String::new(), |colour| format!(" stroke=\"{colour}\""));
        let thick = finite(path.width).clamp(0.5, 8.0);
        let course = Course::new(path, self.at, downwards, thick);
        let [from, to] = &path.ends;
        write!(
            out,
            "<path class=\"edge{class}\" data-from=\"{}\" data-to=\"{}\" d=\"{}\"{stroke}",
            Value(from),
            Value(to),
            course.line
        )?;
        if Number(thick) != Number(1.0) {
            write!(out, " stroke-width=\"{}\"", Number(thick))?;
        }
        if path.dashed {
            write!(out, " stroke-dasharray=\"{} 4\"", Number(4.0 + thick))?;
        }
        write!(out, ">")?;
        title(out, &[&path.title, &format!("{from} \u{2192} {to}")])?;
        writeln!(out, "</path>")?;
        if !course.arrow.is_empty() {
            writeln!(
                out,
                "<path class=\"tip{class}\" d=\"{}\" fill=\"{}\" stroke=\"none\"/>",
                course.arrow,
                colour.unwrap_or(LIGHT.line)
            )?;
        }
        for ring in course.rings {
            writeln!(
                out,
                "<circle class=\"environment{class}\" cx=\"{}\" cy=\"{}\" r=\"{}\"{stroke}/>",
                Number(ring.x),
                Number(ring.y),
                Number(RING)
            )?;
        }
        Ok(())
    }

    fn node(&self, out: &mut String, shape: &Shape) -> fmt::Result {
        let rect = self.moved(shape.rect);
        let form = match shape.form {
            Form::One => "one",
            Form::Many => "many",
            Form::Dots => "dots",
        };
        let fill = self.fill(&shape.kind, shape.color.as_deref());
        write!(
            out,
            "<g class=\"node {form}{}\" data-name=\"{}\" data-kind=\"{}\">",
            fill.class,
            Value(&shape.name),
            Value(&shape.kind)
        )?;
        title(out, &[&shape.title, &shape.label.join("\n"), &shape.name])?;
        let mut inside = rect;
        match shape.form {
            Form::One => self.filled(out, rect, &fill)?,
            Form::Many => {
                let behind = BEHIND
                    .min(rect.size.width / 2.0)
                    .min(rect.size.height / 2.0);
                let size = Size::new(rect.size.width - behind, rect.size.height - behind);
                let back = Rect::new(rect.at + Point::new(behind, 0.0), size);
                inside = Rect::new(rect.at + Point::new(0.0, behind), size);
                self.filled(out, back, &fill)?;
                self.filled(out, inside, &fill)?;
            }
            Form::Dots => {}
        }
        let ink = match (shape.form, fill.ink) {
            (Form::Dots, _) => Some(LIGHT.faint),
            (_, ink) => ink,
        };
        let ink = ink.map_or(String::new(), |ink| format!(" fill=\"{ink}\""));
        // Few fonts have U+22EF. A label of nothing else is drawn.
        let lines = shape.label.iter().map(|line| visible(line));
        let lines: Vec<String> = match shape.form {
            Form::Dots => lines
                .filter(|line| line != "\u{22ef}")
                .map(|line| line.replace('\u{22ef}', "\u{b7}\u{b7}\u{b7}"))
                .collect(),
            _ => lines.collect(),
        };
        let lines: Vec<&String> = lines.iter().filter(|line| !line.is_empty()).collect();
        let fit = (inside.size.height / text::BOX).floor().max(1.0);
        let count = (lines.len() as f64).min(fit);
        let leading = (text::BOX * LEADING).min(inside.size.height / count.max(1.0));
        let centre = inside.centre();
        if lines.is_empty() && shape.form == Form::Dots {
            for i in [-1.0, 0.0, 1.0] {
                let x = centre.x + 6.0 * i;
                let (x, y) = (Number(x), Number(centre.y));
                write!(out, "<circle cx=\"{x}\" cy=\"{y}\" r=\"1.8\"{ink}/>")?;
            }
        }
        for (i, line) in lines.into_iter().take(count as usize).enumerate() {
            let short = shortened(line, text::BOX, inside.size.width - 4.0);
            let y = centre.y + (i as f64 - (count - 1.0) / 2.0) * leading + text::BOX * MIDDLE;
            words(out, Point::new(centre.x, y), &ink, &short, text::BOX)?;
        }
        writeln!(out, "</g>")
    }

    /// Returns the fill of a box: the user's, or the fill of its kind.
    fn fill(&self, kind: &str, user: Option<&str>) -> Fill {
        if let Some(colour) = user.and_then(Colour::parsed) {
            let dark = colour.contrast(DARK.background) < 3.0;
            return Fill {
                class: if dark { " user dark" } else { " user" }.into(),
                colour,
                ink: Some(colour.ink()),
                pattern: None,
            };
        }
        let Some(style) = self.styles.get(kind) else {
            return Fill {
                class: "".into(),
                colour: NO_KIND,
                ink: None,
                pattern: None,
            };
        };
        Fill {
            class: format!(" kind-{style}").into(),
            colour: FILLS[style % FILLS.len()],
            ink: None,
            pattern: [None, Some("stripes"), Some("dots")][style / FILLS.len() % 3],
        }
    }

    fn filled(&self, out: &mut String, rect: Rect, fill: &Fill) -> fmt::Result {
        let place = Place(rect);
        write!(
            out,
            "<rect{place} rx=\"4\" fill=\"{}\" stroke=\"{OUTLINE}\"/>",
            fill.colour
        )?;
        if let Some(pattern) = fill.pattern {
            write!(
                out,
                "<rect class=\"pattern\"{place} rx=\"4\" fill=\"url(#graphmap-{pattern})\"/>"
            )?;
        }
        Ok(())
    }

    fn label(&self, out: &mut String, label: &Label) -> fmt::Result {
        let rect = self.moved(label.rect);
        let whole = visible(&label.text);
        // The space was computed from this width, perhaps rounded down.
        let short = shortened(&whole, text::LABEL, rect.size.width + 0.1);
        let centre = rect.centre();
        write!(
            out,
            "<text class=\"label\" x=\"{}\" y=\"{}\"{}>",
            Number(centre.x),
            Number(centre.y + text::LABEL * MIDDLE),
            Fitted(&short, text::LABEL)
        )?;
        if short != whole {
            title(out, &[&label.text])?;
        }
        writeln!(out, "{}</text>", Content(&short))
    }

    fn legend(&self, out: &mut String, top: f64) -> fmt::Result {
        writeln!(
            out,
            "<g class=\"legend\" fill=\"{}\" font-size=\"{}\">",
            LIGHT.text,
            text::LABEL
        )?;
        for (i, kind) in self.drawing.legend.iter().enumerate() {
            let x = MARGIN + (i % self.legend.columns) as f64 * self.legend.column;
            let y = top + (i / self.legend.columns) as f64 * Legend::ROW;
            let fill = self.fill(kind, None);
            let short = shortened(&visible(kind), text::LABEL, WIDEST_KIND);
            write!(
                out,
                "<g class=\"kind{}\" data-kind=\"{}\">",
                fill.class,
                Value(kind)
            )?;
            title(out, &[kind])?;
            self.filled(out, Rect::new(Point::new(x, y), SAMPLE), &fill)?;
            let at = Point::new(
                x + SAMPLE.width + 6.0,
                y + SAMPLE.height / 2.0 + text::LABEL * MIDDLE,
            );
            words(out, at, "", &short, text::LABEL)?;
            writeln!(out, "</g>")?;
        }
        writeln!(out, "</g>")
    }

    fn moved(&self, rect: Rect) -> Rect {
        let Rect { at, size } = rect;
        Rect::new(
            Point::new(finite(at.x), finite(at.y)) + self.at,
            Size::new(finite(size.width).max(0.0), finite(size.height).max(0.0)),
        )
    }

    /// Returns whether most curves leave their box through its top or bottom. Decides the direction
    /// of curves without straight pieces.
    fn downwards(&self) -> bool {
        let boxes: FxHashMap<&str, &Rect> = self
            .drawing
            .boxes
            .iter()
            .map(|shape| (shape.name.as_str(), &shape.rect))
            .collect();
        let curved = self.drawing.lines.iter().filter(|path| path.curved);
        let ends = curved.filter_map(|path| {
            let rect = boxes.get(path.ends[0].as_str())?;
            let Point { x, y } = *path.points.first()?;
            let beside = (x - rect.at.x).abs().min((x - rect.right()).abs());
            let below = (y - rect.at.y).abs().min((y - rect.bottom()).abs());
            Some(if below < beside { 1 } else { -1 })
        });
        ends.sum::<i64>() > 0
    }
}

impl Legend {
    /// Height of a row.
    const ROW: f64 = SAMPLE.height + 6.0;

    /// Returns the columns that fit, at least one. Widens the picture if it is narrower.
    fn new(kinds: &[String], inner: &mut f64) -> Legend {
        if !LEGEND.contains(&kinds.len()) {
            return Legend::default();
        }
        let widths = kinds.iter().map(|kind| width(&visible(kind), text::LABEL));
        let widest = widths.fold(0.0, f64::max).min(WIDEST_KIND);
        let entry = SAMPLE.width + 6.0 + widest;
        let column = entry + 18.0;
        *inner = inner.max(entry);
        let columns = (((*inner + 18.0) / column).floor() as usize).clamp(1, kinds.len());
        Legend {
            columns,
            column,
            height: kinds.len().div_ceil(columns) as f64 * Legend::ROW,
        }
    }
}

/// A line as texts of SVG paths, with positions in the picture.
#[derive(Debug, Default)]
struct Course {
    line: String,
    /// The arrow at the end. Empty without an arrow.
    arrow: String,
    /// Centres of the rings that stand for the environment.
    rings: Vec<Point>,
}

/// A part of a line between two points.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Directions at its start and end, as vectors of length 1. They are equal if it is straight.
    start: Point,
    end: Point,
    curve: bool,
}

#[derive(Clone, Copy)]
enum Axis {
    Horizontal,
    Vertical,
}

impl Course {
    fn new(path: &Path, at: Point, downwards: bool, thick: f64) -> Course {
        let mut course = Course::default();
        let mut points: Vec<Point> = Vec::with_capacity(path.points.len());
        for point in &path.points {
            let point = Point::new(finite(point.x), finite(point.y)) + at;
            match points[..] {
                [.., last] if distance(last, point) < 0.05 => {}
                [.., a, b] if same_way(a, b, point) => {
                    *points.last_mut().expect("it has two points") = point;
                }
                _ => points.push(point),
            }
        }
        let mut pieces = pieces(&points, path.curved, downwards);
        let (Some(&first), Some(&last)) = (pieces.first(), pieces.last()) else {
            // Only a point, which is kept for the attributes of the line.
            course.line = format!("M{}", At(points.first().copied().unwrap_or(at)));
            return course;
        };
        // The directions of pieces remain, because ends are moved along them.
        let room = first.room(points[0], points[1], first.start);
        if path.ends[0] == "NULL" && room > 4.0 * RING {
            course.rings.push(points[0] + scaled(first.start, RING));
            points[0] = points[0] + scaled(first.start, 2.0 * RING);
        }
        let count = points.len();
        let (tip, way) = (points[count - 1], last.end);
        let room = last.room(points[count - 2], tip, way);
        match path.end {
            Tip::Arrow => {
                let length = (5.0 + 2.0 * thick).min(room);
                let base = tip - scaled(way, length);
                let across = scaled(Point::new(-way.y, way.x), length * 0.4);
                course.arrow =
                    format!("M{} L{} L{}", At(tip), At(base + across), At(base - across));
                // The line ends inside of the arrow, where both have the same width.
                let end = tip - scaled(way, (1.25 * thick).min(length));
                if last.curve {
                    points[count - 1] = base;
                    points.push(end);
                    pieces.push(Piece {
                        start: way,
                        end: way,
                        curve: false,
                    });
                } else {
                    points[count - 1] = end;
                }
            }
            Tip::Dot => {
                course.rings.push(tip - scaled(way, RING.min(room)));
                points[count - 1] = tip - scaled(way, (2.0 * RING).min(room));
            }
        }
        course.line = outline(&points, &pieces);
        course
    }
}

impl Piece {
    /// Returns how far an end can be moved along a direction of the piece from `a` to `b`.
    fn room(self, a: Point, b: Point, way: Point) -> f64 {
        let length = along(b - a, way);
        if self.curve { length / 2.0 } else { length }
    }
}

impl Axis {
    /// Returns the direction from `a` to `b` on this axis, as a vector of length 1.
    fn way(self, a: Point, b: Point) -> Point {
        match self {
            Axis::Horizontal => Point::new((b.x - a.x).signum(), 0.0),
            Axis::Vertical => Point::new(0.0, (b.y - a.y).signum()),
        }
    }
}

/// Returns the axis of the piece between two points, unless it is oblique.
fn axis(a: Point, b: Point) -> Option<Axis> {
    if (a.y - b.y).abs() < 0.05 {
        Some(Axis::Horizontal)
    } else if (a.x - b.x).abs() < 0.05 {
        Some(Axis::Vertical)
    } else {
        None
    }
}

fn pieces(points: &[Point], curved: bool, downwards: bool) -> Vec<Piece> {
    let axes: Vec<Option<Axis>> = points.windows(2).map(|p| axis(p[0], p[1])).collect();
    let main = if downwards {
        Axis::Vertical
    } else {
        Axis::Horizontal
    };
    let piece = |(i, ends): (usize, &[Point])| {
        let (a, b) = (ends[0], ends[1]);
        if axes[i].is_some() || !curved {
            let way = scaled(b - a, 1.0 / distance(a, b));
            return Piece {
                start: way,
                end: way,
                curve: false,
            };
        }
        let before = i.checked_sub(1).and_then(|i| axes[i]);
        let after = axes.get(i + 1).copied().flatten();
        Piece {
            start: before.or(after).unwrap_or(main).way(a, b),
            end: after.or(before).unwrap_or(main).way(a, b),
            curve: true,
        }
    };
    points.windows(2).enumerate().map(piece).collect()
}

/// Returns the text of a path through these points, with rounded corners between straight pieces.
fn outline(points: &[Point], pieces: &[Piece]) -> String {
    let mut line = format!("M{}", At(points[0]));
    for (i, piece) in pieces.iter().enumerate() {
        let (a, b) = (points[i], points[i + 1]);
        let result = match pieces.get(i + 1) {
            _ if piece.curve => {
                let first = a + scaled(piece.start, along(b - a, piece.start) / 2.0);
                let second = b - scaled(piece.end, along(b - a, piece.end) / 2.0);
                write!(line, " C{} {} {}", At(first), At(second), At(b))
            }
            Some(next) if !next.curve => {
                let room = distance(a, b).min(distance(b, points[i + 2]));
                let radius = BEND.min(room / 2.0);
                let start = b - scaled(piece.start, radius);
                let end = b + scaled(next.start, radius);
                write!(line, " L{} Q{} {}", At(start), At(b), At(end))
            }
            _ => write!(line, " L{}", At(b)),
        };
        result.expect("a String takes all that is written");
    }
    line
}

/// Returns whether `b` is on a straight way from `a` to `c`, parallel to an axis.
fn same_way(a: Point, b: Point, c: Point) -> bool {
    let (first, second) = (b - a, c - b);
    match axis(a, b) {
        Some(Axis::Horizontal) => (c.y - a.y).abs() < 0.05 && first.x * second.x > 0.0,
        Some(Axis::Vertical) => (c.x - a.x).abs() < 0.05 && first.y * second.y > 0.0,
        None => false,
    }
}

/// Returns the length of the part of a vector in a direction of length 1.
fn along(vector: Point, way: Point) -> f64 {
    vector.x * way.x + vector.y * way.y
}

fn distance(a: Point, b: Point) -> f64 {
    (b.x - a.x).hypot(b.y - a.y)
}

fn scaled(vector: Point, factor: f64) -> Point {
    Point::new(vector.x * factor, vector.y * factor)
}

fn finite(number: f64) -> f64 {
    if number.is_finite() {
        number.clamp(-LIMIT, LIMIT)
    } else {
        0.0
    }
}

/// Writes the first text that is not empty as `<title>`.
fn title(out: &mut String, texts: &[&str]) -> fmt::Result {
    match texts.iter().find(|text| !text.is_empty()) {
        Some(text) => write!(out, "<title>{}</title>", Content(text)),
        None => Ok(()),
    }
}

/// Writes a text that begins at a position, or is centred there if the group says so.
fn words(out: &mut String, at: Point, attributes: &str, text: &str, size: f64) -> fmt::Result {
    write!(
        out,
        "<text x=\"{}\" y=\"{}\"{attributes}{}>{}</text>",
        Number(at.x),
        Number(at.y),
        Fitted(text, size),
        Content(text)
    )
}

fn patterns(out: &mut String, needed: bool) -> fmt::Result {
    if !needed {
        return Ok(());
    }
    let opacity = f64::from(PATTERN_OPACITY) / 100.0;
    writeln!(
        out,
        "<defs><pattern id=\"graphmap-stripes\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path d=\"M-1 1 L1 -1 M0 6 L6 0 M5 7 L7 5\" stroke=\"#000\" stroke-opacity=\"{opacity}\" stroke-width=\"1.2\"/></pattern><pattern id=\"graphmap-dots\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><circle cx=\"2.5\" cy=\"2.5\" r=\"0.9\" fill=\"#000\" fill-opacity=\"{opacity}\"/></pattern></defs>"
    )
}

/// Returns a text as it is shown: without line breaks, and without long sequences of combining
/// characters, which would cover other texts.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut combining = 0;
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        for c in word.chars() {
            combining = match c {
                '\u{300}'..='\u{36f}' => combining + 1,
                _ => 0,
            };
            if combining <= 3 {
                shown.push(c);
            }
        }
    }
    shown
}

/// Returns the lines of a text that is wrapped at spaces. Words that are too wide are shortened.
fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut left = 0.0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let word = shortened(word, size, most);
        let needed = width(&word, size) + width(" ", size);
        match lines.last_mut() {
            Some(line) if needed <= left => {
                line.push(' ');
                line.push_str(&word);
                left -= needed;
            }
            _ => {
                left = most - width(&word, size);
                lines.push(word);
            }
        }
    }
    lines
}

/// Rules for the screen: halos, and the colours on a dark background.
struct Sheet;

impl Display for Sheet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scheme {
            background,
            frame,
            border,
            line,
            controlled,
            text,
            faint,
        } = DARK;
        let light = LIGHT.background;
        // Renderers without `paint-order` would cover the letters with the halo. They also do not
        // know `@supports`.
        write!(
            f,
            "
@supports (paint-order:stroke){{.graphmap .label{{paint-order:stroke;stroke:{light};stroke-width:3px;stroke-linejoin:round}}}}
@media screen and (prefers-color-scheme:dark){{
.graphmap .background{{fill:{background}}}
.graphmap .frames{{fill:{frame};stroke:{border}}}
.graphmap .edges{{stroke:{line}}}
.graphmap .tip:not(.user){{fill:{line}}}
.graphmap .controlled:not(.user,.tip){{stroke:{controlled}}}
.graphmap .tip.controlled:not(.user){{fill:{controlled}}}
.graphmap .dark rect{{stroke:{border}}}
.graphmap .labels,.graphmap .legend,.graphmap .title{{fill:{text}}}
.graphmap .label{{stroke:{background}}}
.graphmap .module text,.graphmap .dots text,.graphmap .dots circle,.graphmap .notes{{fill:{faint}}}
}}
"
        )
    }
}

/// A number with at most one decimal.
#[derive(Clone, Copy, PartialEq)]
struct Number(f64);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Adding 0 turns -0 into 0.
        let rounded = (finite(self.0) * 10.0).round() / 10.0 + 0.0;
        write!(f, "{rounded}")
    }
}

/// A position in a path.
struct At(Point);

impl Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Number(self.0.x), Number(self.0.y))
    }
}

/// Attributes of a rectangle.
#[derive(Clone, Copy)]
struct Place(Rect);

impl Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rect { at, size } = self.0;
        let [x, y] = [at.x, at.y].map(Number);
        let [width, height] = [size.width, size.height].map(Number);
        write!(
            f,
            " x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\""
        )
    }
}

/// Attributes that fit a text into its computed width, so that fonts with wider letters do not move
/// it over other things. Texts with characters whose width is only estimated have none.
struct Fitted<'a>(&'a str, f64);

impl Display for Fitted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !text::is_exact(self.0) {
            return Ok(());
        }
        write!(
            f,
            " textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"",
            Number(width(self.0, self.1))
        )
    }
}

/// A text as the content of an element.
struct Content<'a>(&'a str);

impl Display for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '\n' | '\t' => f.write_char(c),
            c if redirects(c) => f.write_char('\u{fffd}'),
            c => escape(f, c),
        })
    }
}

/// A text as the value of an attribute in double quotes. A parser reads the same text, apart from
/// characters that XML cannot represent.
struct Value<'a>(&'a str);

impl Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            c if matches!(c, '\t' | '\n' | '\r') || redirects(c) => {
                write!(f, "&#{};", u32::from(c))
            }
            c => escape(f, c),
        })
    }
}

/// Returns whether a character changes the direction of the text after it.
fn redirects(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Writes a character as XML. It becomes U+FFFD if XML cannot represent it.
fn escape(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    match c {
        '&' => f.write_str("&amp;"),
        '<' => f.write_str("&lt;"),
        '>' => f.write_str("&gt;"),
        '"' => f.write_str("&quot;"),
        '\'' => f.write_str("&#39;"),
        '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}'),
        c if c.is_control() => f.write_char('\u{fffd}'),
        c => f.write_char(c),
    }
}
