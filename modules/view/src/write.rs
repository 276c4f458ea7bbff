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
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display, Write};

/// Space around the picture.
const MARGIN: f64 = 16.0;
/// Distance between the title, the picture, the legend, and the notes.
const GAP: f64 = 14.0;
/// Distance between lines of text, relative to the size of the letters.
const LEADING: f64 = 1.25;
/// Height of the middle of letters above the baseline, relative to their size.
const MIDDLE: f64 = 0.36;
/// Bold letters are at most so much wider.
const BOLD: f64 = 1.1;
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

/// Returns the SVG document of a drawing. Texts that are wider than their space are shortened; then
/// the whole is in the `<title>` of the element. Numbers that are not finite count as 0. Linear in
/// the size of the drawing, apart from sorting the names of kinds.
#[must_use]
pub fn to_svg(drawing: &Drawing) -> String {
    let mut out = String::new();
    Writer::new(drawing)
        .document(&mut out)
        .expect("a String takes all that is written");
    out
}

/// Which attributes are not those of the group.
struct Fill<'a> {
    class: Cow<'a, str>,
    colour: Colour,
    ink: Option<Colour>,
    pattern: Option<&'static str>,
}

struct Writer<'a> {
    drawing: &'a Drawing,
    /// Style of each kind.
    styles: BTreeMap<&'a str, usize>,
    /// Position of the drawing in the picture.
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
        let title = shortened(&title, text::TITLE * BOLD, size.width.max(WIDEST_TITLE));
        let note = drawing
            .notes
            .iter()
            .map(|note| width(&visible(note), text::LABEL));
        let mut inner = size
            .width
            .max(width(&title, text::TITLE * BOLD))
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
            "</g>\n<g class=\"edges\" fill=\"none\" color=\"{line}\" stroke=\"currentColor\">"
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
            writeln!(
                out,
                "<text class=\"title\" x=\"{}\" y=\"{}\" font-size=\"{}\" font-weight=\"bold\" fill=\"{text}\">{}</text>",
                Number(MARGIN),
                Number(MARGIN + text::TITLE * 0.8),
                text::TITLE,
                Content(&self.title)
            )?;
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
                writeln!(
                    out,
                    "<text x=\"{}\" y=\"{}\">{}</text>",
                    Number(MARGIN),
                    Number(y),
                    Content(note)
                )?;
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
            write!(
                out,
                "<text x=\"{}\" y=\"{}\" fill=\"{}\" stroke=\"none\"{}>{}</text>",
                Number(rect.at.x + 8.0),
                Number(rect.at.y + 4.0 + text::BOX),
                LIGHT.faint,
                Fitted(&short, text::BOX),
                Content(&short)
            )?;
        }
        writeln!(out, "</g>")
    }

    fn edge(&self, out: &mut String, path: &Path, downwards: bool) -> fmt::Result {
        let stroke = path.color.as_deref().and_then(Colour::parsed);
        let [mut class, mut colour] = [String::new(), String::new()];
        if path.dashed {
            class.push_str(" controlled");
        }
        if let Some(stroke) = stroke {
            class.push_str(" user");
            colour = format!(" color=\"{stroke}\"");
        } else if path.dashed {
            colour = format!(" color=\"{}\"", LIGHT.controlled);
        }
        let thick = finite(path.width).clamp(0.5, 8.0);
        let course = Course::new(path, self.at, downwards, thick);
        let [from, to] = &path.ends;
        write!(
            out,
            "<path class=\"edge{class}\" data-from=\"{}\" data-to=\"{}\" d=\"{}\"{colour}",
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
                "<path class=\"tip{class}\" d=\"{}\"{colour} fill=\"currentColor\" stroke=\"none\"/>",
                course.arrow
            )?;
        }
        for ring in course.rings {
            writeln!(
                out,
                "<circle class=\"environment{class}\" cx=\"{}\" cy=\"{}\" r=\"{}\"{colour}/>",
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
        let lines: Vec<String> = shape.label.iter().map(|line| visible(line)).collect();
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
            write!(
                out,
                "<text x=\"{}\" y=\"{}\"{ink}{}>{}</text>",
                Number(centre.x),
                Number(y),
                Fitted(&short, text::BOX),
                Content(&short)
            )?;
        }
        writeln!(out, "</g>")
    }

    /// Returns the fill of a box: the user's, or that of the kind.
    fn fill(&self, kind: &str, user: Option<&str>) -> Fill<'static> {
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

    fn filled(&self, out: &mut String, rect: Rect, fill: &Fill<'_>) -> fmt::Result {
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
        writeln!(out, "<g class=\"legend\" fill=\"{}\">", LIGHT.text)?;
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
            writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" font-size=\"{}\">{}</text></g>",
                Number(x + SAMPLE.width + 6.0),
                Number(y + SAMPLE.height / 2.0 + text::LABEL * MIDDLE),
                text::LABEL,
                Content(&short)
            )?;
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
        let boxes: HashMap<&str, &Rect> = self
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

/// Axis to which a curve is parallel at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    Horizontal,
    Vertical,
}

/// Direction and shape of a piece of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Piece {
    /// Straight, with its direction.
    Straight(Point),
    /// A curve, with its axes at both ends.
    Curve(Axis, Axis),
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
        let (&[first, second, ..], &[.., before, last]) = (&points[..], &points[..]) else {
            // Nothing but a point, which is kept for its attributes.
            let Point { x, y } = points.first().copied().unwrap_or(at);
            course.line = format!("M{} {}", Number(x), Number(y));
            return course;
        };
        let mut pieces = pieces(&points, path.curved, downwards);
        // A straight line does not change its direction when its ends are moved.
        let end = pieces[pieces.len() - 1].end(before, last);
        let start = pieces[0].start(first, second);
        let room = |a: Point, b: Point, piece: &Piece| match piece {
            Piece::Straight(_) => distance(a, b),
            Piece::Curve(..) => (b.x - a.x).abs().min((b.y - a.y).abs()) / 2.0,
        };
        let ring = 2.0 * RING;
        let count = points.len();
        if path.ends[0] == "NULL" && room(first, second, &pieces[0]) > 2.0 * ring {
            course.rings.push(first + scaled(start, RING));
            points[0] = first + scaled(start, ring);
        }
        let room = room(points[count - 2], last, &pieces[pieces.len() - 1]);
        match path.end {
            Tip::Arrow => {
                let length = (5.0 + 2.0 * thick).min(room);
                let half = length * 0.4;
                let base = last - scaled(end, length);
                let across = scaled(Point::new(-end.y, end.x), half);
                course.arrow = format!(
                    "M{} {} L{} L{}",
                    Number(last.x),
                    Number(last.y),
                    At(base + across),
                    At(base - across)
                );
                // The line ends inside of the arrow, so that its corners do not stand out.
                points[count - 1] = last - scaled(end, length * 0.8);
            }
            Tip::Dot => {
                course.rings.push(last - scaled(end, RING.min(room / 2.0)));
                points[count - 1] = last - scaled(end, ring.min(room));
            }
        }
        course.line = outline(&points, &mut pieces);
        course
    }
}

impl Piece {
    /// Returns the direction at the start of a piece from `a` to `b`.
    fn start(self, a: Point, b: Point) -> Point {
        match self {
            Piece::Straight(way) => way,
            Piece::Curve(axis, _) => axis.way(a, b),
        }
    }

    /// Returns the direction at the end of a piece from `a` to `b`.
    fn end(self, a: Point, b: Point) -> Point {
        match self {
            Piece::Straight(way) => way,
            Piece::Curve(_, axis) => axis.way(a, b),
        }
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

    /// Returns the part of a vector on this axis.
    fn part(self, vector: Point) -> Point {
        match self {
            Axis::Horizontal => Point::new(vector.x, 0.0),
            Axis::Vertical => Point::new(0.0, vector.y),
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
            return Piece::Straight(scaled(b - a, 1.0 / distance(a, b)));
        }
        let before = i.checked_sub(1).and_then(|i| axes[i]);
        let after = axes.get(i + 1).copied().flatten();
        Piece::Curve(
            before.or(after).unwrap_or(main),
            after.or(before).unwrap_or(main),
        )
    };
    points.windows(2).enumerate().map(piece).collect()
}

/// Returns the text of a path through these points, with rounded corners between straight pieces.
fn outline(points: &[Point], pieces: &mut [Piece]) -> String {
    let mut line = format!("M{}", At(points[0]));
    for (i, piece) in pieces.iter().enumerate() {
        let (a, b) = (points[i], points[i + 1]);
        match (piece, pieces.get(i + 1)) {
            (Piece::Straight(way), Some(Piece::Straight(next))) => {
                let after = distance(b, points[i + 2]);
                let radius = BEND.min(distance(a, b) / 2.0).min(after / 2.0);
                let (start, end) = (b - scaled(*way, radius), b + scaled(*next, radius));
                let _ = write!(line, " L{} Q{} {}", At(start), At(b), At(end));
            }
            (Piece::Straight(_), _) => {
                let _ = write!(line, " L{}", At(b));
            }
            (Piece::Curve(start, end), _) => {
                let half = scaled(b - a, 0.5);
                let (first, second) = (a + start.part(half), b - end.part(half));
                let _ = write!(line, " C{} {} {}", At(first), At(second), At(b));
            }
        }
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

fn patterns(out: &mut String, needed: bool) -> fmt::Result {
    if !needed {
        return Ok(());
    }
    let opacity = f64::from(PATTERN_OPACITY) / 100.0;
    writeln!(
        out,
        "<defs><pattern id=\"graphmap-stripes\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path d=\"M-1 1 L1 -1 M0 6 L6 0 M5 7 L7 5\" stroke=\"#000\" stroke-opacity=\"{opacity}\" stroke-width=\"1.4\"/></pattern><pattern id=\"graphmap-dots\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><circle cx=\"2.5\" cy=\"2.5\" r=\"1\" fill=\"#000\" fill-opacity=\"{opacity}\"/></pattern></defs>"
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
.graphmap .edge:hover{{stroke-width:4px}}
@media screen and (prefers-color-scheme:dark){{
.graphmap .background{{fill:{background}}}
.graphmap .frames{{fill:{frame};stroke:{border}}}
.graphmap .edges{{color:{line}}}
.graphmap .controlled:not(.user){{color:{controlled}}}
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

/// Attributes that fit a text into its computed width with any font. Texts with characters whose
/// width is only estimated have none.
struct Fitted<'a>(&'a str, f64);

impl Display for Fitted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.bytes().all(|b| (b' '..=b'~').contains(&b)) {
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
            '\n' => f.write_char(c),
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

/// Writes a character as XML. Those that XML cannot represent become U+FFFD.
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
