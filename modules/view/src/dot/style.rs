//! What both graph files of a mapped network share: colours, frames and texts.

use crate::labels::shown_label;
use crate::shown::{number, ranges};
use crate::{Colour, Host, OsProcess};
use graphmap_dot::language::is_html;
use graphmap_dot::write::word;
use std::fmt::Write;

/// Line by which graphmap recognises the file before it overwrites it.
pub(super) const MARK: &str = "graph [compound=true];";
/// Colours of channels between OS processes, from the palette of Okabe and Ito. The second is
/// darker, so that it has contrast on [`TINTS`].
pub(super) const ON_ONE_HOST: &str = "#0072b2";
pub(super) const BETWEEN_HOSTS: &str = "#b84f00";
/// Colour of frames.
pub(super) const OUTLINE: &str = "#555555";
/// Fills of OS processes: the scheme "light" of Paul Tol, each mixed with as much white. The first
/// three are not similar to the colours of channels.
pub(super) const TINTS: [&str; 8] = [
    "#f6eec3", "#d5e5a8", "#ffd4dd", "#ccefff", "#a1dccc", "#f6c3b2", "#d4d488", "#eeeeee",
];

/// Returns the text of an OS process: its number, cores and load.
fn os_process_label(number_of_it: usize, os_process: &OsProcess) -> String {
    let cores = match &os_process.cores[..] {
        [] => String::new(),
        [core] => format!(", core {core}"),
        cores => format!(", cores {}", ranges(cores)),
    };
    let load = number(os_process.load);
    format!("OS process {number_of_it}{cores}\nload {load}")
}

/// Opens the frame of a host.
pub(super) fn open_host(out: &mut String, number_of_it: usize, host: &Host) {
    let label = match &host.name[..] {
        "" => "any host".to_owned(),
        name => format!("host {name}"),
    };
    let _ = writeln!(
        out,
        "    subgraph cluster_host_{number_of_it} {{ module=\"\";"
    );
    let _ = writeln!(
        out,
        "        label={}; style=dashed; pencolor=\"{OUTLINE}\";",
        quoted(&label)
    );
}

/// Opens the frame of an OS process.
pub(super) fn open_os_process(out: &mut String, number_of_it: usize, os_process: &OsProcess) {
    let _ = writeln!(
        out,
        "        subgraph cluster_os_{number_of_it} {{ module=\"\";"
    );
    let _ = writeln!(
        out,
        "            label={}; style=solid; bgcolor=\"{}\"; pencolor=\"{OUTLINE}\";",
        quoted(&os_process_label(number_of_it, os_process)),
        TINTS[number_of_it % TINTS.len()]
    );
}

/// Returns a label of the user as DOT, or `None` if it shows nothing. Of a label in HTML, only the
/// text is left, because Graphviz fails with elements and entities that it does not know.
pub(super) fn own_label(label: &str) -> Option<String> {
    if !is_html(label) {
        return Some(word(label));
    }
    let text = shown_label(label, "", "");
    (!text.is_empty()).then(|| quoted(&text))
}

/// Returns a colour of the user as DOT, or colours separated by colons. Returns `None` if any of
/// them is not known, because Graphviz warns of it.
pub(super) fn own_color(color: &str) -> Option<String> {
    let colors = color.split(':').map(Colour::parsed);
    let colors: Option<Vec<String>> = colors.map(|c| Some(c?.to_string())).collect();
    colors.map(|colors| quoted(&colors.join(":")))
}

/// Returns those styles of the user that Graphviz knows, as DOT. Returns `None` if there are none.
pub(super) fn own_style(style: &str, of_edge: bool) -> Option<String> {
    const STYLES: [&str; 6] = ["solid", "dashed", "dotted", "bold", "invis", "filled"];
    let known = |style: &&str| STYLES.contains(style) || (!of_edge && *style == "rounded");
    let styles: Vec<&str> = style.split(',').map(str::trim).filter(known).collect();
    (!styles.is_empty()).then(|| quoted(&styles.join(",")))
}

/// Returns a text as a label of Graphviz that shows it.
pub(super) fn quoted(text: &str) -> String {
    // Graphviz interprets a backslash before any character except a quote (`\N` is the node's
    // name).
    let text = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::{BETWEEN_HOSTS, ON_ONE_HOST, OUTLINE, TINTS};
    use crate::colour::Colour;
    use crate::vision::check_that_all_differ;

    /// The tints may look alike, because each frame has its number.
    #[test]
    fn channels_have_contrast_and_differ_for_colour_blind_readers() {
        let colour = |text| Colour::parsed(text).unwrap();
        let strokes = [ON_ONE_HOST, BETWEEN_HOSTS, OUTLINE, "#000"].map(colour);
        check_that_all_differ(&strokes, 30.0);
        for tint in TINTS.map(colour) {
            for stroke in strokes {
                assert!(stroke.contrast(tint) >= 3.0, "{stroke} on {tint}");
            }
            assert!(colour("#000").contrast(tint) >= 4.5);
        }
    }
}
