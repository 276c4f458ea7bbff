//! Widths of texts, so that pictures do not depend on the fonts of a machine.
//!
//! The widths are those of Helvetica, from the font metrics that Adobe published ("Adobe Core 35
//! AFM Files"). Arial, Arimo, Liberation Sans and Nimbus Sans have the same widths.

/// Names of fonts with these widths, for `font-family`.
pub(crate) const FONTS: &str =
    "Helvetica, Arial, Arimo, 'Liberation Sans', 'Nimbus Sans', sans-serif";

/// Size of the letters of boxes and frames, in units of the picture.
pub(crate) const BOX: f64 = 12.0;
/// Size of the letters of labels of lines.
pub(crate) const LABEL: f64 = 10.0;
/// Size of the letters of the title.
pub(crate) const TITLE: f64 = 16.0;

/// Widths of the characters U+0020 to U+007E, in thousandths of the size.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// Returns the width of a text whose letters have this size. Bold letters are at most a tenth
/// wider. Characters that Helvetica's metrics do not have count as wide as the widest of their
/// script: East Asian characters and symbols as a square, others as `m`.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(thousandths).sum::<f64>() * size / 1000.0
}

/// Returns whether [`width`] is the width in Helvetica, and not an estimate.
pub(crate) fn is_exact(text: &str) -> bool {
    let exact = |c| matches!(c, ' '..='~' | '\u{b7}' | '\u{d7}' | '\u{2026}');
    text.chars().all(exact)
}

/// Returns whether a character changes the direction of the text after it.
pub(crate) fn redirects(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn thousandths(c: char) -> f64 {
    let code = c as u32;
    match c {
        ' '..='~' => f64::from(WIDTHS[code as usize - 32]),
        '\u{d7}' => 584.0,
        '\u{b7}' => 278.0,
        '\u{a1}'..='\u{2ff}' => 722.0,
        '\u{300}'..='\u{36f}' => 0.0,
        '\u{370}'..='\u{10ff}' => 833.0,
        _ => 1000.0,
    }
}

/// Returns the text, or its beginning and an ellipsis if it is wider than `most`.
pub(crate) fn shortened(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut left = most - width("\u{2026}", size);
    let fits = |c: &char| {
        left -= thousandths(*c) * size / 1000.0;
        left >= 0.0
    };
    let mut short: String = text.chars().take_while(fits).collect();
    short.push('\u{2026}');
    short
}

#[cfg(test)]
mod tests {
    use super::{is_exact, shortened, width};

    #[test]
    fn widths_are_those_of_helvetica() {
        assert!((width("Worker 12", 10.0) - 46.12).abs() < 1e-9);
        assert_eq!(width("", 12.0), 0.0);
        assert_eq!(width("\u{4e2d}", 12.0), 12.0);
        assert!(is_exact("Vec<u8> \u{d7}2") && is_exact("work\u{2026}"));
        assert!(!is_exact("\u{4e2d}") && !is_exact("caf\u{e9}"));
    }

    #[test]
    fn a_long_text_is_shortened_to_the_width() {
        assert_eq!(shortened("worker", 10.0, 100.0), "worker");
        let short = shortened("workers of the first farm", 10.0, 60.0);
        assert!(
            short.ends_with('\u{2026}') && width(&short, 10.0) <= 60.0,
            "{short}"
        );
        assert_eq!(shortened("worker", 10.0, 0.0), "\u{2026}");
    }
}
