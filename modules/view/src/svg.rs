//! Picture of a mapping as SVG, without Graphviz. Hosts are frames, and OS processes are boxes in
//! them with their kinds and load. The width of arcs shows traffic between OS processes.

use crate::shown::{detail, number, ranges};
use crate::{Colour, Detail, Scene, count};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::mapping::Mapped;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Emitter of `*.svg`.
pub struct Svg;

impl Emitter for Svg {
    fn name(&self) -> &str {
        "svg"
    }

    fn about(&self) -> &str {
        "a picture of the mapping: hosts, OS processes, their kinds, load and traffic"
    }

    fn options(&self) -> Option<&[&str]> {
        Some(&["detail"])
    }

    fn accepts(&self, path: &Path) -> bool {
        path.extension().is_some_and(|e| e == "svg")
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        // Boxes always list kinds. The option is checked only for its errors.
        detail(context, mapped)?;
        let scene = Scene::of(mapped, Detail::Kinds);
        files.generated(context.path, draw(&mapped.network().name, &scene));
        Ok(())
    }
}

const BOX_WIDTH: f64 = 190.0;
const LINE: f64 = 16.0;
const GAP: f64 = 28.0;
/// Maximum number of lines with kinds in a box. One more line counts the remaining kinds.
const MOST_LINES: usize = 8;
/// Maximum number of arcs. The widest are drawn, because more would hide the boxes.
const MOST_ARCS: usize = 400;

/// Returns the SVG document for a scene. `name` is the title. The scene should have
/// [`Detail::Kinds`], because a box lists at most nine of its nodes. At most 400 arcs are drawn.
///
/// # Panics
/// Panics if an index in the scene is out of range.
pub fn draw(name: &str, scene: &Scene) -> String {
    let mut out = String::new();
    draw_to(&mut out, name, scene).expect("a String takes all that is written");
    out
}

struct Frame {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// Places boxes in rows, host by host. The picture is about as wide as it is high. Returns the
/// frames of the hosts and of the OS processes, and the width and the height of the picture.
fn layout(scene: &Scene) -> (Vec<Frame>, Vec<Frame>, f64, f64) {
    let most = scene
        .os_processes
        .iter()
        .map(|o| o.nodes.len().min(MOST_LINES + 1))
        .max();
    let height = LINE * (most.unwrap_or(0) as f64 + 2.0) + 18.0;
    let mut boxes: Vec<Frame> = scene
        .os_processes
        .iter()
        .map(|_| Frame {
            x: 0.0,
            y: 0.0,
            width: BOX_WIDTH,
            height,
        })
        .collect();
    let mut hosts = Vec::new();
    let total: usize = scene.os_processes.len();
    let per_row = ((total as f64 * height / BOX_WIDTH).sqrt().ceil() as usize).clamp(1, 64);
    let (mut x, mut y, mut row, mut width) = (GAP, 64.0, 0.0f64, 0.0f64);
    for host in &scene.hosts {
        let columns = host.os_processes.len().min(per_row).max(1);
        let rows = host.os_processes.len().div_ceil(columns).max(1);
        let frame_width = columns as f64 * (BOX_WIDTH + GAP) + GAP;
        let frame_height = rows as f64 * (height + GAP) + GAP + LINE;
        if x > GAP && x + frame_width > per_row as f64 * (BOX_WIDTH + GAP) + 3.0 * GAP {
            (x, y, row) = (GAP, y + row + GAP, 0.0);
        }
        for (i, &o) in host.os_processes.iter().enumerate() {
            boxes[o].x = x + GAP + (i % columns) as f64 * (BOX_WIDTH + GAP);
            boxes[o].y = y + GAP + LINE + (i / columns) as f64 * (height + GAP);
        }
        hosts.push(Frame {
            x,
            y,
            width: frame_width,
            height: frame_height,
        });
        x += frame_width + GAP;
        width = width.max(x);
        row = row.max(frame_height);
    }
    (hosts, boxes, width.max(320.0), y + row + GAP)
}

fn draw_to(out: &mut String, name: &str, scene: &Scene) -> std::fmt::Result {
    let (hosts, boxes, width, height) = layout(scene);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">"
    )?;
    writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>")?;
    let cut = scene.cut();
    let processes: usize = scene.os_processes.iter().map(|o| o.processes).sum();
    let crossing: f64 = cut.values().sum();
    text(out, GAP, 30.0, "font-size=\"18\"", name)?;
    let summary = format!(
        "{} in {}, traffic between OS processes {}",
        count(processes, "process"),
        count(scene.os_processes.len(), "OS process"),
        number(crossing)
    );
    text(out, GAP, 48.0, "fill=\"#555\"", &summary)?;
    for (frame, host) in hosts.iter().zip(&scene.hosts) {
        let Frame {
            x,
            y,
            width,
            height,
        } = frame;
        writeln!(
            out,
            "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\" fill=\"#f7f7f7\" stroke=\"#999\" stroke-dasharray=\"5 4\"/>"
        )?;
        let label = if host.name.is_empty() {
            "any host"
        } else {
            &host.name
        };
        text(out, x + 10.0, y + 20.0, "font-weight=\"bold\"", label)?;
    }
    arcs(out, &boxes, &cut)?;
    let largest = scene
        .os_processes
        .iter()
        .map(|o| o.load)
        .fold(0.0, f64::max);
    for (o, frame) in boxes.iter().enumerate() {
        os_process(out, scene, o, frame, largest)?;
    }
    writeln!(out, "</svg>")
}

fn os_process(
    out: &mut String,
    scene: &Scene,
    o: usize,
    frame: &Frame,
    largest: f64,
) -> std::fmt::Result {
    let Frame {
        x,
        y,
        width,
        height,
    } = *frame;
    let os_process = &scene.os_processes[o];
    writeln!(
        out,
        "<g><rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"5\" fill=\"{}\" fill-opacity=\"0.93\" stroke=\"#444\"/>",
        Colour::of(o)
    )?;
    let cores = match &os_process.cores[..] {
        [] => String::new(),
        [core] => format!(", core {core}"),
        cores => format!(", cores {}", ranges(cores)),
    };
    text(
        out,
        x + 8.0,
        y + LINE,
        "font-weight=\"bold\"",
        &format!("OS process {o}{cores}"),
    )?;
    let shown = if os_process.nodes.len() > MOST_LINES + 1 {
        MOST_LINES
    } else {
        os_process.nodes.len()
    };
    for (line, &n) in os_process.nodes[..shown].iter().enumerate() {
        let node = &scene.nodes[n];
        let label = match node.processes {
            1 => node.label.clone(),
            many => format!("{} ×{many}", node.label),
        };
        text(out, x + 8.0, y + LINE * (line as f64 + 2.0), "", &label)?;
    }
    if shown < os_process.nodes.len() {
        let rest = format!("and {} more", os_process.nodes.len() - shown);
        text(
            out,
            x + 8.0,
            y + LINE * (shown as f64 + 2.0),
            "fill=\"#555\"",
            &rest,
        )?;
    }
    // The load as a bar. The OS process with the largest load has a bar of full width.
    let share = if largest > 0.0 {
        os_process.load / largest
    } else {
        0.0
    };
    let (bar, bottom) = ((width - 16.0) * share, y + height - 12.0);
    writeln!(
        out,
        "<rect x=\"{:.0}\" y=\"{bottom:.0}\" width=\"{bar:.1}\" height=\"6\" fill=\"#333\"/>",
        x + 8.0
    )?;
    writeln!(
        out,
        "<title>{}, load {}</title></g>",
        count(os_process.processes, "process"),
        number(os_process.load)
    )
}

fn arcs(
    out: &mut String,
    boxes: &[Frame],
    cut: &BTreeMap<(usize, usize), f64>,
) -> std::fmt::Result {
    let largest = cut.values().copied().fold(0.0, f64::max);
    let mut widest: Vec<_> = cut.iter().collect();
    widest.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
    for (&(from, to), &traffic) in widest.into_iter().take(MOST_ARCS) {
        let centre = |f: &Frame| (f.x + f.width / 2.0, f.y + f.height / 2.0);
        let ((x1, y1), (x2, y2)) = (centre(&boxes[from]), centre(&boxes[to]));
        // Arcs bend to their left, so that opposite directions are separate arcs.
        let (mx, my) = (
            (x1 + x2) / 2.0 + (y2 - y1) * 0.18,
            (y1 + y2) / 2.0 - (x2 - x1) * 0.18,
        );
        let width = 1.0
            + 6.0
                * if largest > 0.0 {
                    traffic / largest
                } else {
                    0.0
                };
        writeln!(
            out,
            "<path d=\"M{x1:.0} {y1:.0} Q{mx:.0} {my:.0} {x2:.0} {y2:.0}\" fill=\"none\" stroke=\"#c0392b\" stroke-opacity=\"0.55\" stroke-width=\"{width:.1}\"><title>{from} to {to}: traffic {}</title></path>",
            number(traffic)
        )?;
    }
    Ok(())
}

/// Writes a text at a position, which is rounded to whole numbers. `style` has attributes in XML,
/// and `content` is escaped. Returns an error only if writing to `out` fails, which a String never
/// does.
pub(crate) fn text(
    out: &mut String,
    x: f64,
    y: f64,
    style: &str,
    content: &str,
) -> std::fmt::Result {
    let space = if style.is_empty() { "" } else { " " };
    writeln!(
        out,
        "<text x=\"{x:.0}\" y=\"{y:.0}\"{space}{style}>{}</text>",
        escaped(content)
    )
}

/// Escapes a text for the content of an XML element. Control characters, also newlines and tabs,
/// become U+FFFD. Quotes are not escaped.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // XML 1.0 cannot represent other control characters.
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{escaped, ranges};

    #[test]
    fn text_is_escaped_and_cores_are_summed_up() {
        assert_eq!(escaped("a<b> & \u{1}c"), "a&lt;b&gt; &amp; \u{fffd}c");
        assert_eq!(ranges(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(ranges(&[]), "");
    }
}
