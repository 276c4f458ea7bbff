//! Writes a [`Drawing`] as SVG, with title, legend and notes.
//!
//! The elements are in groups of the classes `frames`, `edges`, `nodes`, `labels` and `legend`.
//! Each has a class, data attributes and a `<title>`, so that style sheets and scripts can use it.
//! Presentation attributes give the colours of a light background, because many programs ignore
//! parts of CSS. A style sheet inside of the picture replaces them on a dark background. Any text
//! yields a well-formed document, and injects nothing.

use crate::colour::{
    Colour, DARK, FILLS, INK, LIGHT, NO_KIND, OUTLINE, PATTERN_OPACITY, STYLES, Scheme, styles,
};
use crate::drawing::{Drawing, Form, Frame, Label, Path, Shape};
use crate::geometry::{Point, Rect, Size};
use crate::text::{self, shortened, width};
use course::{Course, RING};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};
use xml::{Content, Number, Value, finite, visible, wrapped};

mod course;
mod xml;

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
const LEGEND: std::ops::RangeInclusive<usize> = 2..=STYLES;
/// Size of a sample in the legend, and the maximum width of the name beside it.
const SAMPLE: Size = Size::new(22.0, 14.0);
const WIDEST_KIND: f64 = 160.0;
/// Distance between a box and the box behind it.
const BEHIND: f64 = 3.0;

/// Returns a [`Drawing`] as an SVG document. Texts that are wider than their space are shortened,
/// and then the `<title>` of the element has the whole text. Numbers that are not finite count
/// as 0. Linear in the number of elements, apart from sorting the names of kinds.
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
    /// Colour of the user for the outline.
    outline: Option<Colour>,
    /// Colour of its text, if it is not [`INK`].
    ink: Option<Colour>,
    pattern: Option<&'static str>,
}

struct Writer<'a> {
    drawing: &'a Drawing,
    /// Style of each kind.
    styles: BTreeMap<&'a str, usize>,
    /// Position of the origin of its coordinates in the picture.
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
        // A colour stands for one kind: with a legend, kinds that are not in it have no colour.
        let kinds: Vec<&str> = match &drawing.legend[..] {
            [] => drawing.boxes.iter().map(|shape| &shape.kind[..]).collect(),
            legend => legend.iter().map(|kind| &kind[..]).collect(),
        };
        let styles = styles(kinds.into_iter().filter(|kind| !kind.is_empty()));
        let Size {
            width: wide,
            height,
        } = drawing.size;
        let size = Size::new(finite(wide).max(0.0), finite(height).max(0.0));
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
        let mut y = self.at.y + finite(self.drawing.size.height).max(0.0);
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
        let class = stroke.map_or("", dark);
        write!(
            out,
            "<g class=\"module{class}\" data-name=\"{}\">",
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
        let class = format!(
            "{}{}{}",
            if path.dashed { " controlled" } else { "" },
            if user.is_some() { " user" } else { "" },
            user.map_or("", dark)
        );
        let colour = user.or(path.dashed.then_some(LIGHT.controlled));
        // Used by the style sheet on a dark background.
        let lighter = user.filter(|colour| !dark(*colour).is_empty());
        let lighter = lighter.map_or(String::new(), |colour| {
            format!(" style=\"--light:{}\"", colour.lightened(DARK.frame))
        });
        let stroke = colour.map_or(String::new(), |colour| format!(" stroke=\"{colour}\""));
        let thick = finite(path.width).clamp(0.5, 8.0);
        let course = Course::new(path, self.at, downwards, thick);
        let [from, to] = &path.ends;
        write!(
            out,
            "<path class=\"edge{class}\" data-from=\"{}\" data-to=\"{}\" d=\"{}\"{stroke}{lighter}",
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
                "<path class=\"tip{class}\" d=\"{}\" fill=\"{}\" stroke=\"none\"{lighter}/>",
                course.arrow,
                colour.unwrap_or(LIGHT.line)
            )?;
        }
        for ring in course.rings {
            writeln!(
                out,
                "<circle class=\"environment{class}\" cx=\"{}\" cy=\"{}\" r=\"{}\"{stroke}{lighter}/>",
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
            Form::Junction => "junction",
        };
        let outline = shape.outline.as_deref().and_then(Colour::parsed);
        let fill = Fill {
            outline,
            ..self.fill(&shape.kind, shape.color.as_deref())
        };
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
            Form::Dots => {
                let (width, height) = (Number(rect.size.width), Number(rect.size.height));
                let (x, y) = (Number(rect.at.x), Number(rect.at.y));
                write!(
                    out,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"5\" \
                     fill=\"none\" stroke=\"{}\" stroke-dasharray=\"2 4\"/>",
                    LIGHT.faint
                )?;
            }
            Form::Junction => {
                let (width, height) = (Number(rect.size.width), Number(rect.size.height));
                let (x, y) = (Number(rect.at.x), Number(rect.at.y));
                write!(
                    out,
                    "<rect class=\"bar\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
                     rx=\"2\" fill=\"{}\" stroke=\"none\"/>",
                    LIGHT.line
                )?;
            }
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
            return Fill {
                class: format!(" user{}", dark(colour)).into(),
                colour,
                outline: None,
                ink: Some(colour.ink()),
                pattern: None,
            };
        }
        let Some(style) = self.styles.get(kind) else {
            return Fill {
                class: "".into(),
                colour: NO_KIND,
                outline: None,
                ink: None,
                pattern: None,
            };
        };
        Fill {
            class: format!(" kind-{style}").into(),
            colour: FILLS[style % FILLS.len()],
            outline: None,
            ink: None,
            pattern: [None, Some("stripes"), Some("dots")][style / FILLS.len() % 3],
        }
    }

    fn filled(&self, out: &mut String, rect: Rect, fill: &Fill) -> fmt::Result {
        let place = Place(rect);
        write!(
            out,
            "<rect{place} rx=\"4\" fill=\"{}\" stroke=\"{}\"",
            fill.colour,
            fill.outline.unwrap_or(OUTLINE)
        )?;
        if fill.outline.is_some() {
            write!(out, " stroke-width=\"2\"")?;
        }
        write!(out, "/>")?;
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

/// Returns the class of an element with a colour that has little contrast on a dark background.
fn dark(colour: Colour) -> &'static str {
    match colour.contrast(DARK.frame) < 3.0 {
        true => " dark",
        false => "",
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
.graphmap .tip:not(.user),.graphmap .bar{{fill:{line}}}
.graphmap .controlled:not(.user,.tip){{stroke:{controlled}}}
.graphmap .tip.controlled:not(.user){{fill:{controlled}}}
.graphmap .dark rect{{stroke:{border}}}
.graphmap .edge.dark,.graphmap .environment.dark{{stroke:var(--light,{line})}}
.graphmap .tip.dark{{fill:var(--light,{line})}}
.graphmap .labels,.graphmap .legend,.graphmap .title{{fill:{text}}}
.graphmap .label{{stroke:{background}}}
.graphmap .module text,.graphmap .dots text,.graphmap .dots circle,.graphmap .notes{{fill:{faint}}}
}}
"
        )
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
