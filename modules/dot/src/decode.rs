//! Conversion of the bytes of a file to text.
//!
//! DOT files are UTF-8, or Latin-1 if they set `charset=latin1`. Graphviz compares names by their
//! bytes, so the encoding matters only for display. This module decides without parsing the graph:
//! valid UTF-8 is read as UTF-8, anything else as Latin-1, in which every byte is a character. A
//! byte order mark is removed.

use std::fmt;

/// Encoding of a file, as [`decode`] recognised it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As UTF-8.
    Utf8,
    /// Latin-1, because the bytes are not UTF-8. Contains the offset of the first invalid byte.
    Latin1(usize),
}

/// Reason for which [`decode`] does not accept a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotText {
    /// A byte order mark of UTF-16 or of little-endian UTF-32.
    Utf16,
    /// A NUL byte, at this offset.
    Nul(usize),
}

impl fmt::Display for NotText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotText::Utf16 => f.write_str("the file is UTF-16; save it as UTF-8"),
            NotText::Nul(at) => write!(f, "the file is binary: byte {at} is zero"),
        }
    }
}

impl std::error::Error for NotText {}

/// Decodes the bytes of a DOT file, and returns the text with its encoding.
///
/// Valid UTF-8 is read as UTF-8, without its byte order mark. All other bytes are read as Latin-1.
///
/// # Errors
/// Returns [`NotText::Utf16`] for a byte order mark of UTF-16 or of little-endian UTF-32. Returns
/// [`NotText::Nul`] for other files with zero bytes, which are pictures, archives or programs.
pub fn decode(bytes: Vec<u8>) -> Result<(String, Encoding), NotText> {
    if bytes.starts_with(b"\xFE\xFF") || bytes.starts_with(b"\xFF\xFE") {
        return Err(NotText::Utf16);
    }
    // The minimum of a block is computed many bytes at a time.
    let least = |block: &[u8]| block.iter().copied().fold(u8::MAX, u8::min);
    if bytes.chunks(1 << 12).any(|block| least(block) == 0) {
        let at = bytes.iter().position(|b| *b == 0).unwrap_or(0);
        return Err(NotText::Nul(at));
    }
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            if text.starts_with('\u{FEFF}') {
                text.drain(..'\u{FEFF}'.len_utf8());
            }
            Ok((text, Encoding::Utf8))
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let text = error.as_bytes().iter().map(|b| char::from(*b)).collect();
            Ok((text, Encoding::Latin1(at)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf8_latin1_and_neither() {
        let ok = |bytes: &[u8]| decode(bytes.to_vec()).unwrap();
        assert_eq!(ok(b"a\xC3\xA9"), ("a\u{e9}".to_owned(), Encoding::Utf8));
        assert_eq!(ok(b"a\xE9"), ("a\u{e9}".to_owned(), Encoding::Latin1(1)));
        assert_eq!(ok(b"\xEF\xBB\xBFa"), ("a".to_owned(), Encoding::Utf8));
        assert_eq!(decode(b"\xFF\xFEd\0".to_vec()), Err(NotText::Utf16));
        assert_eq!(decode(b"d\0".to_vec()), Err(NotText::Nul(1)));
    }
}
