//! Sizes of boxes and of the labels of frames, and the lines of text in a box.

use super::contents::{Block, Frame};
use super::place::Class;
use crate::shown::compact;
use crate::text::{shortened, width};

/// Width of all boxes.
pub(crate) const WIDTH: f64 = 196.0;
/// Distance between two lines of text.
pub(crate) const LINE: f64 = 14.0;
/// Size of the letters in boxes.
pub(crate) const LETTERS: f64 = 11.0;
/// Space between the border of a box and its text.
pub(crate) const MARGIN: f64 = 8.0;
/// Size of the square in the colour of a kind, and the space after it.
pub(crate) const SWATCH: f64 = 8.0;
pub(crate) const SWATCH_GAP: f64 = 4.0;
/// Width and height of a core.
pub(crate) const CORE: (f64, f64) = (19.0, 13.0);
/// Number of cores in a row.
const CORES: usize = 10;
/// Maximum number of lines with kinds.
const MOST_LINES: usize = 3;
const BETWEEN: f64 = 10.0;

/// A kind in a box.
pub(crate) struct Entry {
    /// Style of the kind. `None` for a text without a square.
    pub(crate) kind: Option<usize>,
    /// Left side, relative to the box.
    pub(crate) x: f64,
    pub(crate) text: String,
}

/// Returns the lines with the kinds of a box. The last line counts the kinds that do not fit.
pub(crate) fn entries(block: &Block) -> Vec<Vec<Entry>> {
    let inside = WIDTH - 2.0 * MARGIN;
    let mut lines: Vec<Vec<Entry>> = vec![Vec::new()];
    let mut x = 0.0;
    if block.kinds.is_empty() {
        push(&mut lines, None, x, "no processes".to_owned());
    }
    for (i, (kind, text)) in block.kinds.iter().enumerate() {
        let left = block.kinds.len() - i;
        let rest = format!("and {left} more");
        // The last line has room for the count, unless this is the last kind.
        let room = |lines: usize| match lines == MOST_LINES && left > 1 {
            true => inside - BETWEEN - width(&rest, LETTERS),
            false => inside,
        };
        let sign = SWATCH + SWATCH_GAP;
        if x > 0.0 && x + sign + width(text, LETTERS) > room(lines.len()) {
            if lines.len() == MOST_LINES {
                push(&mut lines, None, x, rest);
                return lines;
            }
            lines.push(Vec::new());
            x = 0.0;
        }
        let text = shortened(text, LETTERS, room(lines.len()) - x - sign);
        let wide = sign + width(&text, LETTERS);
        push(&mut lines, Some(*kind), x, text);
        x += wide + BETWEEN;
    }
    lines
}

fn push(lines: &mut [Vec<Entry>], kind: Option<usize>, x: f64, text: String) {
    if let Some(line) = lines.last_mut() {
        let x = MARGIN + x;
        line.push(Entry { kind, x, text });
    }
}

/// Returns the lines with the traffic of a box: with other boxes, and between its OS processes by
/// class.
pub(crate) fn traffic(block: &Block) -> Vec<String> {
    let (read, written) = (block.read.traffic, block.written.traffic);
    let others = format!("in {} \u{b7} out {}", compact(read), compact(written));
    let among = block.among.iter();
    let among = among.map(|(class, sum)| {
        let traffic = compact(sum.traffic);
        let text = match class {
            Class::Unknown => format!("between them {traffic}"),
            _ => format!("between them {traffic}: {}", class.about()),
        };
        shortened(&text, LETTERS, WIDTH - 2.0 * MARGIN)
    });
    std::iter::once(others).chain(among).collect()
}

/// Returns the least height of a box.
pub(crate) fn height(block: &Block) -> f64 {
    let lines = 2 + entries(block).len() + traffic(block).len();
    lines as f64 * LINE + MARGIN
}

/// Returns the height of the label of a frame and its cores.
pub(crate) fn head(frame: &Frame) -> f64 {
    let note = if frame.note.is_empty() { 0.0 } else { LINE };
    let rows = frame.cores.len().div_ceil(CORES) as f64;
    let cores = if rows > 0.0 { rows * CORE.1 + 5.0 } else { 0.0 };
    LINE + 4.0 + note + cores
}

/// Returns the position of a core in the rows of a frame.
pub(crate) fn core(index: usize) -> (f64, f64) {
    (
        (index % CORES) as f64 * CORE.0,
        (index / CORES) as f64 * CORE.1,
    )
}
