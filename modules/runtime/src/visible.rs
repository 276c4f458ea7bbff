//! Text for a terminal. Names come from a graph file and may contain any character.

/// Escapes the characters that a terminal would interpret and not show: control characters, also
/// those beyond ASCII, and characters that change the direction of text. Newlines and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let odd = c.is_control() && c != '\n' && c != '\t'
            || matches!(
                c,
                '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            );
        match odd {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn control_characters_are_escaped() {
        let raw = "a\u{1b}[31m\u{7}\u{8}\u{9b}\u{202e}\u{7f}\n\tb\u{e9}";
        let shown = "a\\u{1b}[31m\\u{7}\\u{8}\\u{9b}\\u{202e}\\u{7f}\n\tb\u{e9}";
        assert_eq!(visible(raw), shown);
    }
}
