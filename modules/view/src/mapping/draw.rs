//! The picture as SVG.

use super::block::{self, CORE, LINE, MARGIN, SWATCH, SWATCH_GAP};
use super::contents::{Arc, Block, Contents, Frame, Level, channels};
use super::labels::labels;
use super::layout::Laid;
use super::legend::{Entry, Sign, drawn, full_bar, legend};
use super::matrix::{self, Matrix};
use super::numbers::{LETTERS, numbers};
use super::style::{self, CELLS, ON_CELLS, OUTLINE, QUIET, TEXT};
use crate::Scene;
use crate::colour::FILLS;
use crate::count;
use crate::geometry::{Point, Rect, Size};
use crate::shown::{compact, escaped, exact, number, ranges, total};
use crate::text::{FONTS, TITLE, shortened, width};
use std::cmp::Ordering;
use std::fmt::Write;

/// Ratio of width to height that the layout prefers.
pub(crate) const RATIO: f64 = 1.4;
/// Space around all parts of the picture.
const EDGE: f64 = 16.0;
/// Space between two parts.
const BETWEEN: f64 = 28.0;
/// Height of the title and the summary.
const TOP: f64 = 62.0;
/// Maximum width of the title.
const MOST_TITLE: f64 = 600.0;
/// Least width of a picture.
const LEAST: f64 = 360.0;
/// Maximum ratio of the sides of a picture.
const MOST_RATIO: f64 = 3.9;
/// Height of the scale of the matrix.
const SCALE: f64 = 28.0;
/// Height of the heading of the matrix.
const HEADING: f64 = 22.0;
/// Width of the sign of a line of the legend.
const SIGN: f64 = 34.0;
/// Radius of the corners of arcs.
const CORNER: f64 = 5.0;

/// Positions of the parts of the picture.
struct Parts {
    matrix: Point,
    legend: Point,
    size: Size,
}

/// Places the matrix and the legend on the right of the frames or below them. The picture is at
/// least as wide as its summary.
fn parts(laid: &Laid<'_>, matrix: Option<&Matrix>, legend: &[Entry], summary: &str) -> Parts {
    let frames = laid.size;
    let matrix = matrix.map(matrix_size).unwrap_or_default();
    let lines = legend.iter().map(|e| SIGN + width(&e.text, block::LETTERS));
    let legend = Size::new(
        lines.fold(0.0, f64::max),
        legend.len() as f64 * (LINE + 3.0),
    );
    let stacked = Size::new(
        matrix.width.max(legend.width),
        matrix.height + BETWEEN + legend.height,
    );
    let abreast = Size::new(
        matrix.width + BETWEEN + legend.width,
        matrix.height.max(legend.height),
    );
    let right = frames.width + BETWEEN;
    let below = frames.height + BETWEEN;
    let sum = |size: Size| Size::new(right + size.width, frames.height.max(size.height));
    let under = |size: Size| Size::new(frames.width.max(size.width), below + size.height);
    let ways = [
        (Point::new(right, 0.0), false, sum(stacked)),
        (Point::new(right, 0.0), true, sum(abreast)),
        (Point::new(0.0, below), false, under(stacked)),
        (Point::new(0.0, below), true, under(abreast)),
    ];
    let cost = |size: Size| {
        let ratio = (size.width / size.height / RATIO).max(1e-9);
        size.width * size.height * ratio.max(1.0 / ratio)
    };
    let mut best = ways[0];
    for way in ways {
        if cost(way.2) < cost(best.2) {
            best = way;
        }
    }
    let (at, abreast, size) = best;
    let origin = Point::new(EDGE, TOP);
    let next = match abreast {
        true if matrix.width > 0.0 => Point::new(matrix.width + BETWEEN, 0.0),
        false if matrix.height > 0.0 => Point::new(0.0, matrix.height + BETWEEN),
        _ => Point::default(),
    };
    let widest = size.width.max(width(summary, block::LETTERS).ceil());
    let width = (widest + 2.0 * EDGE).max(LEAST);
    let height = size.height + TOP + EDGE;
    Parts {
        matrix: origin + at,
        legend: origin + at + next,
        size: Size::new(
            width.max(height / MOST_RATIO),
            height.max(width / MOST_RATIO),
        ),
    }
}

/// Returns the size of the picture.
pub(crate) fn size(
    laid: &Laid<'_>,
    matrix: Option<&Matrix>,
    legend: &[Entry],
    summary: &str,
) -> Size {
    parts(laid, matrix, legend, summary).size
}

fn matrix_size(matrix: &Matrix) -> Size {
    let size = matrix.size();
    let heading = width(&matrix.heading, block::LETTERS) * 1.1;
    Size::new(size.width.max(heading), size.height + HEADING + SCALE)
}

/// Returns the SVG document.
pub(crate) fn draw(
    name: &str,
    scene: &Scene,
    contents: &Contents,
    laid: &Laid<'_>,
    matrix: Option<&Matrix>,
) -> String {
    let mut out = Svg(String::new());
    let heads: Vec<Rect> = laid
        .frames
        .iter()
        .zip(&laid.labels)
        .map(|((rect, frame), &x)| {
            let size = Size::new(block::WIDTH, block::head(frame));
            Rect::new(Point::new(x, rect.at.y), size)
        })
        .collect();
    let shown = &contents.arcs[..drawn(contents)];
    let widest = shown.first().map_or(0.0, |arc| arc.sum.traffic);
    let equal = shown.iter().all(|arc| arc.sum.traffic == widest);
    let texts = numbers(contents);
    let placed = labels(laid, &heads, &texts);
    let legend = legend(scene, contents, placed.iter().flatten().count());
    let summary = summary(scene, contents);
    let parts = parts(laid, matrix, &legend, &summary);
    let Size { width, height } = parts.size;
    let head = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graphmap-mapping\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"{FONTS}\" font-size=\"{}\">",
        block::LETTERS
    );
    out.line(&head);
    out.line(&format!("<title>{}</title>", escaped(name)));
    out.line(&format!("<style>{}</style>", style::sheet()));
    out.line("<rect class=\"background\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>");
    let title = shortened(name, TITLE, MOST_TITLE.min(width - 2.0 * EDGE));
    let style = format!("font-size=\"{TITLE}\" fill=\"{TEXT}\"");
    out.text(EDGE, 28.0, "title", &style, &title);
    out.text(EDGE, 46.0, "quiet", &format!("fill=\"{QUIET}\""), &summary);
    out.open(&format!(
        "class=\"frames\" transform=\"translate({EDGE} {TOP})\""
    ));
    for ((rect, frame), head) in laid.frames.iter().zip(&heads) {
        out.frame(rect, frame, head);
    }
    let full = full_bar(contents);
    for (block, rect) in contents.blocks.iter().zip(&laid.blocks) {
        out.block(block, rect, full);
    }
    // Arcs with equal traffic are of medium width.
    let scale = if equal { 2.0 * widest } else { widest };
    // The largest arcs are drawn last.
    for (arc, points) in shown.iter().zip(&laid.arcs).rev() {
        out.arc(arc, points, &contents.blocks, scale);
    }
    for ((arc, text), rect) in shown.iter().zip(&texts).zip(placed) {
        if let Some(rect) = rect {
            out.number(arc, text, &rect);
        }
    }
    out.close();
    if let Some(matrix) = matrix {
        out.matrix(matrix, parts.matrix);
    }
    out.legend(&legend, parts.legend);
    out.line("</svg>");
    out.0
}

/// Returns the text below the title.
pub(crate) fn summary(scene: &Scene, contents: &Contents) -> String {
    let processes: usize = scene.os_processes.iter().map(|o| o.processes).sum();
    let between = total(contents.classes.values().map(|s| s.traffic));
    let used = scene.hosts.len();
    let hosts = match (&scene.hosts[..], contents.hosts) {
        ([host], _) if host.name.is_empty() => String::new(),
        (_, Some(all)) if used < all => format!(" on {used} of {all} hosts"),
        ([_], _) => " on 1 host".to_owned(),
        _ => format!(" on {used} hosts"),
    };
    format!(
        "{} in {}{hosts}, traffic between OS processes {} of {}",
        count(processes, "process"),
        count(scene.os_processes.len(), "OS process"),
        number(between),
        number(total([between, contents.within.traffic].into_iter()))
    )
}

/// Returns the width of the line of an arc.
fn stroke(traffic: f64, widest: f64) -> f64 {
    let share = (traffic / widest).clamp(0.0, 1.0);
    if widest > 0.0 { 1.0 + 1.6 * share } else { 1.0 }
}

/// A text that grows.
struct Svg(String);

impl Svg {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn open(&mut self, attributes: &str) {
        self.line(&format!("<g {attributes}>"));
    }

    fn close(&mut self) {
        self.line("</g>");
    }

    fn title(&mut self, title: &str) {
        self.line(&format!("<title>{}</title>", lines(title)));
    }

    fn text(&mut self, x: f64, y: f64, class: &str, style: &str, text: &str) {
        let text = escaped(text);
        let line =
            format!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" {style}>{text}</text>");
        self.line(&line);
    }

    fn rect(&mut self, rect: &Rect, class: &str, style: &str) {
        let Rect { at, size } = rect;
        let line = format!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" {style}/>",
            at.x, at.y, size.width, size.height
        );
        self.line(&line);
    }

    fn frame(&mut self, rect: &Rect, frame: &Frame, head: &Rect) {
        let (class, fill) = match frame.level {
            Level::Host => ("host", "#f6f7f8"),
            Level::Socket => ("socket", "#eceff2"),
            Level::Cache => ("cache", "#e1e6ea"),
        };
        let host = escaped(&frame.host);
        self.open(&format!("class=\"frame {class}\" data-host=\"{host}\""));
        self.title(&frame.title);
        let style = format!("rx=\"6\" fill=\"{fill}\" stroke=\"{OUTLINE}\"");
        self.rect(rect, "outline", &style);
        let mut y = head.at.y + LINE;
        let label = shortened(&frame.label, block::LETTERS, block::WIDTH / 1.1);
        let style = format!("font-weight=\"bold\" fill=\"{TEXT}\"");
        self.text(head.at.x, y, "name", &style, &label);
        if !frame.note.is_empty() {
            y += LINE;
            let note = shortened(&frame.note, block::LETTERS, block::WIDTH);
            self.text(head.at.x, y, "quiet", &format!("fill=\"{QUIET}\""), &note);
        }
        y += 5.0;
        for (i, core) in frame.cores.iter().enumerate() {
            let (x, down) = block::core(i);
            let users: Vec<u32> = core.os_processes.iter().map(|&o| o as u32).collect();
            let (class, fill, ink) = match users[..] {
                [] => ("core free", "#fff", QUIET),
                _ => ("core used", "#5b6470", "#fff"),
            };
            let os_processes = ranges(&users);
            self.open(&format!(
                "class=\"{class}\" data-core=\"{}\" data-os-process=\"{os_processes}\"",
                core.cpu
            ));
            self.title(&match users[..] {
                [] => format!("core {}: free", core.cpu),
                [o] => format!("core {}: OS process {o}", core.cpu),
                _ => format!("core {}: OS processes {os_processes}", core.cpu),
            });
            let at = Point::new(head.at.x + x, y + down);
            let size = Size::new(CORE.0 - 2.0, CORE.1 - 2.0);
            let style =
                format!("rx=\"2\" fill=\"{fill}\" stroke=\"{OUTLINE}\" stroke-width=\"0.6\"");
            self.rect(&Rect::new(at, size), "square", &style);
            let style = format!("font-size=\"8\" text-anchor=\"middle\" fill=\"{ink}\"");
            let middle = at + Point::new(size.width / 2.0, size.height - 2.5);
            let number = shortened(&core.cpu.to_string(), 8.0, size.width);
            self.text(middle.x, middle.y, "cpu", &style, &number);
            self.close();
        }
        self.close();
    }

    fn block(&mut self, block: &Block, rect: &Rect, full: f64) {
        let numbers: Vec<u32> = block.os_processes.iter().map(|&o| o as u32).collect();
        self.open(&format!(
            "class=\"os-process\" data-os-process=\"{}\" data-host=\"{}\" data-load=\"{}\"",
            ranges(&numbers),
            escaped(&block.host),
            exact(block.load)
        ));
        self.title(&block.title());
        let style = format!("rx=\"4\" fill=\"#fff\" stroke=\"{OUTLINE}\"");
        if numbers.len() > 1 {
            // A second box behind the first, inside of its place.
            let mut behind = *rect;
            behind.at = behind.at + Point::new(3.0, 3.0);
            behind.size = Size::new(behind.size.width - 3.0, behind.size.height - 3.0);
            self.rect(&behind, "behind", &style);
            let front = Rect::new(
                rect.at,
                Size::new(rect.size.width - 3.0, rect.size.height - 3.0),
            );
            self.rect(&front, "outline", &style);
        } else {
            self.rect(rect, "outline", &style);
        }
        let (left, right) = (rect.at.x + MARGIN, rect.right() - MARGIN);
        let mut y = rect.at.y + LINE;
        let style = format!("font-weight=\"bold\" fill=\"{TEXT}\"");
        self.text(left, y, "name", &style, &block.heading);
        let used = width(&block.heading, block::LETTERS) * 1.1 + 8.0;
        let detail = shortened(&block.detail, block::LETTERS, right - left - used);
        let quiet = format!("text-anchor=\"end\" fill=\"{QUIET}\"");
        self.text(right, y, "quiet", &quiet, &detail);
        for line in block::entries(block) {
            y += LINE;
            for entry in line {
                let mut x = rect.at.x + entry.x;
                let style = format!("fill=\"{TEXT}\"");
                if let Some(kind) = entry.kind {
                    let at = Point::new(x, y - SWATCH);
                    let square = Rect::new(at, Size::new(SWATCH, SWATCH));
                    let fill = FILLS[kind % FILLS.len()];
                    let style =
                        format!("fill=\"{fill}\" stroke=\"{OUTLINE}\" stroke-width=\"0.6\"");
                    self.rect(&square, "swatch", &style);
                    x += SWATCH + SWATCH_GAP;
                }
                self.text(x, y, "kind", &style, &entry.text);
            }
        }
        y += LINE;
        let at = Point::new(left, y - 7.0);
        self.bar(at, 52.0, block.share, full);
        let room = right - left - 60.0;
        let load = shortened(&block.load_text, block::LETTERS, room);
        self.text(
            left + 60.0,
            y,
            "load-text",
            &format!("fill=\"{TEXT}\""),
            &load,
        );
        for line in block::traffic(block) {
            y += LINE;
            self.text(left, y, "quiet", &format!("fill=\"{QUIET}\""), &line);
        }
        self.close();
    }

    /// Draws a load as a bar on a scale that ends at `full`, with a mark at the fair load.
    fn bar(&mut self, at: Point, wide: f64, share: Option<f64>, full: f64) {
        let scale = Rect::new(at, Size::new(wide, 6.0));
        self.rect(&scale, "scale", "fill=\"#dfe3e8\"");
        let length = share.map_or(0.0, |share| wide * (share / full).clamp(0.0, 1.0));
        let load = Rect::new(at, Size::new(length, 6.0));
        self.rect(&load, "load", "fill=\"#333\"");
        let x = at.x + wide / full;
        self.line(&format!(
            "<path class=\"fair\" d=\"M{x:.1} {:.1}V{:.1}\" stroke=\"#333\"/>",
            at.y - 2.0,
            at.y + 8.0
        ));
    }

    fn arc(&mut self, arc: &Arc, points: &[Point], blocks: &[Block], widest: f64) {
        let [from, to] = [arc.from, arc.to].map(|b| &blocks[b]);
        // The first OS process identifies the box.
        let first = |b: &Block| {
            b.os_processes
                .first()
                .map_or(String::new(), usize::to_string)
        };
        let class = arc.class.name();
        self.open(&format!(
            "class=\"arc arc-{class}\" data-from=\"{}\" data-to=\"{}\" data-traffic=\"{}\" data-channels=\"{}\" data-class=\"{class}\"",
            first(from), first(to), exact(arc.sum.traffic), arc.sum.channels
        ));
        self.title(&format!(
            "{} to {}: traffic {} in {}, {}",
            from.heading,
            to.heading,
            number(arc.sum.traffic),
            channels(arc.sum.channels),
            arc.class.about()
        ));
        self.arrow(
            points,
            style::arc(arc.class),
            stroke(arc.sum.traffic, widest),
        );
        self.close();
    }

    /// Draws a line with rounded corners and an arrowhead. Its last segment is horizontal.
    fn arrow(&mut self, points: &[Point], colour: &str, wide: f64) {
        let ([first, ..], [.., before, end]) = (points, points) else {
            return;
        };
        let toward = if end.x >= before.x { 1.0 } else { -1.0 };
        let (long, half) = (7.0, 2.4 + wide / 2.0);
        let mut d = format!("M{:.1} {:.1}", first.x, first.y);
        for three in points.windows(3) {
            let (a, b, c) = (three[0], three[1], three[2]);
            let [start, stop] = [a, c].map(|other| near(b, other));
            let _ = write!(
                d,
                "L{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}",
                start.x, start.y, b.x, b.y, stop.x, stop.y
            );
        }
        let neck = end.x - toward * (long - 1.0);
        let _ = write!(d, "L{neck:.1} {:.1}", end.y);
        self.line(&format!(
            "<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{wide:.1}\"/>"
        ));
        let back = end.x - toward * long;
        self.line(&format!(
            "<polygon points=\"{:.1},{:.1} {back:.1},{:.1} {back:.1},{:.1}\" fill=\"{colour}\"/>",
            end.x,
            end.y,
            end.y - half,
            end.y + half
        ));
    }

    /// Draws the traffic of an arc on a plate, which hides the lines behind it.
    fn number(&mut self, arc: &Arc, text: &str, rect: &Rect) {
        self.open(&format!("class=\"number arc-{}\"", arc.class.name()));
        let style = format!(
            "rx=\"3\" fill=\"#fff\" stroke=\"{}\" stroke-width=\"0.6\"",
            style::arc(arc.class)
        );
        self.rect(rect, "plate", &style);
        let small = LETTERS;
        let style = format!("font-size=\"{small}\" text-anchor=\"middle\" fill=\"{TEXT}\"");
        let at = rect.centre();
        self.text(at.x, at.y + small / 3.0, "number", &style, text);
        self.close();
    }

    fn matrix(&mut self, matrix: &Matrix, at: Point) {
        let Point { x, y } = at;
        self.open(&format!(
            "class=\"matrix\" transform=\"translate({x:.1} {y:.1})\""
        ));
        let bold = format!("font-weight=\"bold\" fill=\"{TEXT}\"");
        self.text(0.0, LINE, "name", &bold, &matrix.heading);
        let (left, top) = (matrix.names, HEADING + matrix.top());
        let Size { width, height } = matrix.cell;
        let small = matrix::LETTERS;
        for (i, row) in matrix.rows.iter().enumerate() {
            let across = top + (i as f64 + 0.5) * height + small / 3.0;
            let style = format!("font-size=\"{small}\" text-anchor=\"end\" fill=\"{TEXT}\"");
            self.text(left - 4.0, across, "row", &style, &row.name);
            let down = left + (i as f64 + 0.5) * width;
            if matrix.upright {
                let (down, over) = (down + small / 3.0, top - 4.0);
                let style = format!(
                    "font-size=\"{small}\" fill=\"{TEXT}\" transform=\"rotate(-90 {down:.1} {over:.1})\""
                );
                self.text(down, over, "column", &style, &row.name);
            } else {
                let style = format!("font-size=\"{small}\" text-anchor=\"middle\" fill=\"{TEXT}\"");
                self.text(down, top - 4.0, "column", &style, &row.name);
            }
        }
        for (&(from, to), sum) in &matrix.cells {
            let at = Point::new(left + to as f64 * width, top + from as f64 * height);
            let inside = matrix.within && from == to;
            let step = matrix.step(sum.traffic);
            let (class, fill, ink) = match inside {
                true => ("within".to_owned(), "#dddddd", TEXT),
                false => (step.to_string(), CELLS[step], ON_CELLS[step]),
            };
            let (writer, reader) = (&matrix.rows[from].title, &matrix.rows[to].title);
            self.open(&format!(
                "class=\"cell cell-{class}\" data-from=\"{}\" data-to=\"{}\" data-traffic=\"{}\" data-channels=\"{}\"",
                escaped(writer),
                escaped(reader),
                exact(sum.traffic),
                sum.channels
            ));
            self.title(&format!(
                "{writer} to {reader}: traffic {} in {}",
                number(sum.traffic),
                channels(sum.channels)
            ));
            self.rect(
                &Rect::new(at, matrix.cell),
                "value",
                &format!("fill=\"{fill}\""),
            );
            if matrix.numbered {
                let style = format!("font-size=\"{small}\" text-anchor=\"middle\" fill=\"{ink}\"");
                let middle = Point::new(at.x + width / 2.0, at.y + height / 2.0 + small / 3.0);
                self.text(middle.x, middle.y, "value", &style, &compact(sum.traffic));
            }
            self.close();
        }
        let count = matrix.rows.len();
        let (right, bottom) = (left + count as f64 * width, top + count as f64 * height);
        let mut lines = String::new();
        for i in 0..=count {
            let (x, y) = (left + i as f64 * width, top + i as f64 * height);
            let _ = write!(
                lines,
                "M{left:.1} {y:.1}H{right:.1}M{x:.1} {top:.1}V{bottom:.1}"
            );
        }
        let thin = |d: &str, wide: f64| {
            format!(
                "<path class=\"grid\" d=\"{d}\" stroke=\"{OUTLINE}\" stroke-width=\"{wide}\" fill=\"none\"/>"
            )
        };
        self.line(&thin(&lines, 0.25));
        // Lines between hosts, unless each row is a host.
        let mut bounds = String::new();
        for (i, (name, first)) in matrix.hosts.iter().enumerate() {
            let (x, y) = (left + *first as f64 * width, top + *first as f64 * height);
            if matrix.hosts.len() < count {
                let _ = write!(
                    bounds,
                    "M{left:.1} {y:.1}H{right:.1}M{x:.1} {top:.1}V{bottom:.1}"
                );
            }
            let next = matrix.hosts.get(i + 1).map_or(count, |(_, next)| *next);
            let middle = top + (first + next) as f64 / 2.0 * height + small / 3.0;
            let style = format!("font-size=\"{small}\" fill=\"{QUIET}\"");
            self.text(right + 6.0, middle, "quiet", &style, name);
        }
        self.line(&thin(&bounds, 1.2));
        let frame = format!("M{left:.1} {top:.1}H{right:.1}V{bottom:.1}H{left:.1}Z");
        self.line(&thin(&frame, 1.0));
        self.scale(matrix, left, bottom + 10.0);
        self.close();
    }

    /// Draws the colours of cells with the least and the largest traffic.
    fn scale(&mut self, matrix: &Matrix, left: f64, top: f64) {
        let (least, most) = matrix.scale;
        let small = matrix::LETTERS;
        let style = format!("font-size=\"{small}\" fill=\"{TEXT}\"");
        let mut x = left;
        let steps = match least.total_cmp(&most) {
            Ordering::Less => 0..CELLS.len(),
            Ordering::Equal => matrix.step(most)..matrix.step(most) + 1,
            Ordering::Greater => 0..0,
        };
        let mut text = String::new();
        if steps.len() > 1 {
            let least = compact(least);
            self.text(x, top + 10.0, "least", &style, &least);
            x += width(&least, small) + 5.0;
            text = format!("{} (logarithmic), ", compact(most));
        } else if steps.len() == 1 {
            text = format!("{}, ", compact(most));
        }
        for step in steps {
            let rect = Rect::new(Point::new(x, top), Size::new(16.0, 12.0));
            self.open(&format!("class=\"cell-{step}\""));
            self.rect(&rect, "value", &format!("fill=\"{}\"", CELLS[step]));
            self.close();
            x += 16.0;
        }
        text += match matrix.within {
            true => "grey: inside an OS process",
            false => "without traffic inside OS processes",
        };
        let x = if x > left { x + 5.0 } else { x };
        self.text(x, top + 10.0, "most", &style, &text);
    }

    fn legend(&mut self, legend: &[Entry], at: Point) {
        let Point { x, y } = at;
        self.open(&format!(
            "class=\"legend\" transform=\"translate({x:.1} {y:.1})\""
        ));
        for (i, entry) in legend.iter().enumerate() {
            let y = (i as f64 + 1.0) * (LINE + 3.0);
            let middle = y - 4.0;
            match entry.sign {
                Sign::None => {}
                Sign::Arc(class, traffic) => {
                    let class_name = class.name();
                    self.open(&format!(
                        "class=\"class arc-{class_name}\" data-class=\"{class_name}\" data-traffic=\"{}\"",
                        exact(traffic)
                    ));
                    let points = [Point::new(0.0, middle), Point::new(SIGN - 8.0, middle)];
                    self.arrow(&points, style::arc(class), 2.0);
                    self.close();
                }
                Sign::Bar => {
                    self.open("class=\"os-process\"");
                    self.bar(Point::new(0.0, middle - 3.0), SIGN - 8.0, Some(1.0), 1.25);
                    self.close();
                }
                Sign::Core => {
                    self.open("class=\"frame\"");
                    self.open("class=\"core used\"");
                    let at = Point::new(0.0, middle - 5.0);
                    let rect = Rect::new(at, Size::new(CORE.0 - 2.0, CORE.1 - 2.0));
                    self.rect(&rect, "square", "rx=\"2\" fill=\"#5b6470\"");
                    self.close();
                    self.close();
                }
            }
            self.text(SIGN, y, "entry", &format!("fill=\"{TEXT}\""), &entry.text);
        }
        self.close();
    }
}

/// Returns the point on the line from a corner to another point at which the rounding begins.
fn near(corner: Point, other: Point) -> Point {
    let off = other - corner;
    let length = off.x.hypot(off.y);
    let share = if length > 0.0 {
        (CORNER / length).min(0.5)
    } else {
        0.0
    };
    Point::new(corner.x + off.x * share, corner.y + off.y * share)
}

/// Escapes a text line by line, because `escaped` replaces the ends of lines.
fn lines(text: &str) -> String {
    text.split('\n').map(escaped).collect::<Vec<_>>().join("\n")
}
