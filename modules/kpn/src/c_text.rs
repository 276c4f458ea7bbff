//! Texts as string literals of C.

use std::fmt::Write;

/// Adds a byte to the inside of a string literal, as an escape if it needs one.
pub fn escape(byte: u8, literal: &mut String) {
    match byte {
        b'"' | b'\\' => literal.extend(['\\', char::from(byte)]),
        // `??` can begin a trigraph.
        b'?' => literal.push_str("\\?"),
        b' '..=b'~' => literal.push(char::from(byte)),
        // Three digits, so that a digit may follow. Writing to a string cannot fail.
        _ => drop(write!(literal, "\\{byte:03o}")),
    }
}

/// Returns a string literal of the bytes of a text, on one line.
pub fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    text.bytes().for_each(|byte| escape(byte, &mut literal));
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::literal;

    #[test]
    fn bytes_that_c_could_interpret_are_escaped() {
        for (text, expected) in [
            ("it's a%d", "\"it's a%d\""),
            ("\"\\", r#""\"\\""#),
            ("??/\n1", r#""\?\?/\0121""#),
            ("\u{e9}\u{202e}7", r#""\303\251\342\200\2567""#),
            ("\u{7f}", r#""\177""#),
        ] {
            assert_eq!(literal(text), expected);
        }
    }
}
