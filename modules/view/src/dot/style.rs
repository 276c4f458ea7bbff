//! What both graph files of a mapped network share: colours, frames and texts.

use crate::shown::{number, ranges};
use crate::{Host, OsProcess};
use std::fmt::Write;

/// Line by which graphmap recognises the file before it overwrites it.
pub(super) const MARK: &str = "graph [compound=true];";
/// Colours of channels between OS processes, from the palette of Okabe and Ito. The second is darker,
/// so that it has contrast on [`TINTS`].
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
