//! Sizes of boxes, frames and labels.

use super::layered::least_height;
use super::scope::{LANE, Port};
use crate::drawing::Form;
use crate::geometry::{Side, Size};
use crate::picture::Node;
use crate::text::{self, BOX, LABEL};

/// Largest width of a label, of a box or of a line.
const WIDEST: f64 = 240.0;
/// Space around the contents of a frame.
const MARGIN: f64 = 14.0;
/// Height of the name of a frame.
const NAME: f64 = 18.0;
/// Least size of a bar.
const JUNCTION: Size = Size::new(5.0, 24.0);
/// Space around the text of a box.
const PAD: Size = Size::new(9.0, 7.0);
/// Size of the room for the loop of an item to itself, without its label.
const LOOP: Size = Size::new(24.0, 22.0);

/// Returns the lines of the text of a box, shortened to the largest width.
pub(super) fn lines(node: &Node) -> Vec<String> {
    let lines = node.label.lines().take(4);
    lines
        .map(|line| text::shortened(line, BOX, WIDEST))
        .collect()
}

/// Returns the size of a box with ports on its sides, before the axes are exchanged for a picture
/// from top to bottom.
pub(super) fn of_box(node: &Node, ports: &[Port], downwards: bool) -> Size {
    let lines = lines(node);
    let widths = lines.iter().map(|line| text::width(line, BOX));
    let width = widths.fold(0.0, f64::max) + 2.0 * PAD.width;
    let height = lines.len().max(1) as f64 * BOX * 1.2 + 2.0 * PAD.height;
    let least = match node.form {
        Form::Dots => Size::new(30.0, 20.0),
        Form::One | Form::Many => Size::new(44.0, 28.0),
        Form::Junction => JUNCTION,
    };
    let text = match node.form {
        Form::Junction => least,
        _ => Size::new(width.max(least.width), height.max(least.height)),
    };
    let text = if downwards { text.transposed() } else { text };
    let on = |side: Side| -> Vec<Size> {
        let of_side = ports.iter().filter(|port| port.side == side);
        of_side.map(|port| port.label).collect()
    };
    let upright = [Side::Left, Side::Right].map(|side| least_height(&on(side)));
    let across = [Side::Top, Side::Bottom].map(|side| (on(side).len() + 1) as f64 * LANE);
    Size::new(
        across.into_iter().fold(text.width, f64::max),
        upright.into_iter().fold(text.height, f64::max),
    )
}

/// Returns the text of a label, shortened to the largest width.
pub(super) fn label(text: &str) -> String {
    text::shortened(text.lines().next().unwrap_or_default(), LABEL, WIDEST)
}

/// Returns the size of the label of a line.
pub(super) fn of_label(text: &str) -> Size {
    match text {
        "" => Size::default(),
        _ => Size::new(text::width(text, LABEL) + 4.0, LABEL + 3.0),
    }
}

/// Returns the room beside an item for a loop with a label behind it, before the axes are exchanged
/// for a picture from top to bottom.
pub(super) fn of_loop(label: &str, downwards: bool) -> Size {
    let label = of_label(label);
    match downwards {
        false => Size::new(LOOP.width + label.width, LOOP.height.max(label.height)),
        true => Size::new(LOOP.height.max(label.width), LOOP.width + label.height),
    }
}

/// Space between the border of a scope and its frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Padding {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Padding {
    /// Returns the space in the frame of a module.
    pub(super) const fn of_frame() -> Padding {
        Padding {
            left: MARGIN,
            right: MARGIN,
            top: MARGIN + NAME,
            bottom: MARGIN,
        }
    }

    /// Exchanges left and right.
    pub(super) const fn mirrored(self) -> Padding {
        Padding {
            left: self.right,
            right: self.left,
            ..self
        }
    }

    /// Exchanges the axes.
    pub(super) const fn transposed(self) -> Padding {
        Padding {
            left: self.top,
            right: self.bottom,
            top: self.left,
            bottom: self.right,
        }
    }
}

/// Returns the name of a frame, shortened to the largest width.
pub(super) fn name(text: &str) -> String {
    text::shortened(text, BOX, WIDEST)
}

/// Returns the least width of a frame with a name.
pub(super) fn of_name(name: &str) -> f64 {
    // Bold letters are wider.
    1.1 * text::width(name, BOX) + 2.0 * MARGIN
}
