//! Reads files from outside of graphmap with bounded memory.
//!
//! A path may lead to a pipe without an end, to `/dev/zero`, or to a picture of ten gigabytes. Each
//! kind of file has a limit, and larger files are rejected before they are in memory. Reads block
//! until the writer of a pipe writes. The command ensures that a signal then ends the process.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

/// Largest size of files of some kind, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Limit for a regular file, whose length is known before it is read.
    pub file: u64,
    /// Limit for other files (pipe, device, standard input), which may have no end.
    pub stream: u64,
}

impl Limit {
    /// For graph files, and files that grow with them: mappings and weights. Positions in texts
    /// have 32 bits.
    pub const NETWORK: Limit = Limit {
        file: u32::MAX as u64 - 1,
        stream: 256 << 20,
    };
    /// For host descriptions, and rules of a mapping.
    pub const SETTINGS: Limit = Limit {
        file: 64 << 20,
        stream: 64 << 20,
    };
    /// For skeletons, manifests, and source files of a project.
    pub const SOURCE: Limit = Limit {
        file: 4 << 20,
        stream: 4 << 20,
    };
}

/// The reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The operating system reported an error.
    #[error("{0}")]
    System(#[from] io::Error),
    /// The file is larger than its [`Limit`]. Contains the limit in bytes.
    #[error("it is larger than {}", Size(*.0))]
    TooLarge(u64),
    /// The file has no known length, is larger than its [`Limit::stream`], and could be larger as a
    /// regular file.
    #[error(
        "it is not a regular file and has more than {}; save it as a file, which may have {}",
        Size(.0.stream),
        Size(.0.file)
    )]
    Endless(Limit),
    /// The file starts with a byte order mark of UTF-16 or of little-endian UTF-32.
    #[error("it is UTF-16; save it as UTF-8")]
    Utf16,
    /// The file has a zero byte at this offset, like pictures, archives and programs.
    #[error("it is not text: byte {0} is zero")]
    Zero(usize),
    /// The file is not UTF-8 from this byte on.
    #[error("it is not UTF-8 text: byte {0} is invalid")]
    NotUtf8(usize),
}

impl Unreadable {
    /// Returns true if the file does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Unreadable::System(error) if error.kind() == io::ErrorKind::NotFound)
    }

    /// Returns true if the file is larger than its [`Limit`].
    pub fn is_too_large(&self) -> bool {
        matches!(self, Unreadable::TooLarge(_) | Unreadable::Endless(_))
    }

    /// Returns true if the content could be read, but is not text.
    pub fn is_not_text(&self) -> bool {
        matches!(
            self,
            Unreadable::Utf16 | Unreadable::Zero(_) | Unreadable::NotUtf8(_)
        )
    }
}

/// Displays a number of bytes in MiB or GiB.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Limits of 32 bits are one or two bytes below a round number.
        match self.0.saturating_add(2) {
            n if n >= 1 << 30 => write!(f, "{} GiB", n >> 30),
            n => write!(f, "{} MiB", n >> 20),
        }
    }
}

/// Reads the bytes of a file. Blocks until the end of the file or the limit.
///
/// If the length of the file is unknown (not a regular file, or a length of 0 as in `/proc`), the
/// function stops after the first block that contains a zero byte, because the content is not text.
/// It returns the bytes read so far.
///
/// # Errors
/// Returns [`Unreadable::TooLarge`] if a file of known length exceeds [`Limit::file`]. If a file of
/// unknown length exceeds [`Limit::stream`], returns [`Unreadable::Endless`] if `Limit::file` is
/// larger, and otherwise `TooLarge`. Returns [`Unreadable::System`] if the file cannot be opened or
/// read, or does not fit into memory.
///
/// # Panics
/// May panic on overflow if [`Limit::file`] is `u64::MAX`.
pub fn bytes(path: &Path, limit: Limit) -> Result<Vec<u8>, Unreadable> {
    open(&File::open(path)?, limit)
}

/// Reads the bytes of an open file from its current position to the end, like [`bytes`].
///
/// # Errors
/// Returns the same errors as [`bytes`]. The length of the whole file is compared with the limit.
///
/// # Panics
/// May panic on overflow if [`Limit::file`] is `u64::MAX`.
pub fn open(file: &File, limit: Limit) -> Result<Vec<u8>, Unreadable> {
    let found = file.metadata()?;
    match has_length(&found) {
        true => known(file, found.len(), limit),
        false => unknown(file, limit),
    }
}

/// Reads the text of a file, like [`bytes`] and [`decode`]. Blocks until the end of the file or the
/// limit.
///
/// # Errors
/// Returns the same errors as [`bytes`] and [`decode`].
///
/// # Panics
/// May panic on overflow if [`Limit::file`] is `u64::MAX`.
pub fn text(path: &Path, limit: Limit) -> Result<String, Unreadable> {
    decode(bytes(path, limit)?)
}

/// Converts bytes of UTF-8 into text without zero bytes. A byte order mark of UTF-8 is kept.
///
/// # Errors
/// Returns [`Unreadable::Utf16`] for a byte order mark of UTF-16, [`Unreadable::Zero`] if a byte is
/// zero, or otherwise [`Unreadable::NotUtf8`] if the bytes are not UTF-8.
pub fn decode(bytes: Vec<u8>) -> Result<String, Unreadable> {
    if bytes.starts_with(b"\xFE\xFF") || bytes.starts_with(b"\xFF\xFE") {
        return Err(Unreadable::Utf16);
    }
    if let Some(at) = bytes.iter().position(|b| *b == 0) {
        return Err(Unreadable::Zero(at));
    }
    let not_utf8 = |error: std::string::FromUtf8Error| {
        let at = error.utf8_error().valid_up_to();
        Unreadable::NotUtf8(at)
    };
    String::from_utf8(bytes).map_err(not_utf8)
}

/// Returns true if the length is known: the file is regular and not empty. Files of `/proc` are
/// regular files that report a length of zero.
fn has_length(found: &Metadata) -> bool {
    found.is_file() && found.len() > 0
}

fn known(mut file: &File, length: u64, limit: Limit) -> Result<Vec<u8>, Unreadable> {
    let mut bytes = Vec::new();
    if length <= limit.file {
        // One byte more than the length, because the file may grow while it is read.
        bytes
            .try_reserve_exact(length as usize + 1)
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        file.by_ref().take(limit.file + 1).read_to_end(&mut bytes)?;
    }
    match length > limit.file || bytes.len() as u64 > limit.file {
        true => Err(Unreadable::TooLarge(limit.file)),
        false => Ok(bytes),
    }
}

fn unknown(mut file: &File, limit: Limit) -> Result<Vec<u8>, Unreadable> {
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        let read = file.by_ref().take(BLOCK).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit.stream {
            return Err(match limit.file > limit.stream {
                true => Unreadable::Endless(limit),
                false => Unreadable::TooLarge(limit.stream),
            });
        }
        if read == 0 || bytes[before..].contains(&0) {
            return Ok(bytes);
        }
    }
}

/// Number of bytes of a stream that are read before they are checked.
const BLOCK: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    const SMALL: Limit = Limit { file: 8, stream: 8 };

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        for (content, whole) in [(&b"12345678"[..], true), (b"123456789", false), (b"", true)] {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), content).unwrap();
            let read = bytes(file.path(), SMALL);
            match whole {
                true => assert_eq!(read.unwrap(), content),
                false => assert!(matches!(read, Err(Unreadable::TooLarge(8)))),
            }
        }
    }

    #[test]
    fn endless_files_are_read_to_the_first_zero() {
        let zeros = bytes(Path::new("/dev/zero"), Limit::NETWORK).unwrap();
        assert_eq!(zeros.len() as u64, BLOCK);
        let read = text(Path::new("/dev/zero"), Limit::SETTINGS);
        assert!(matches!(read, Err(Unreadable::Zero(0))));
        assert!(bytes(Path::new("/dev/null"), SMALL).unwrap().is_empty());
    }

    #[test]
    fn limits_are_displayed_as_round_numbers() {
        let endless = Unreadable::Endless(Limit::NETWORK).to_string();
        let expected = "it is not a regular file and has more than 256 MiB; \
                        save it as a file, which may have 4 GiB";
        assert_eq!(endless, expected);
        let large = Unreadable::TooLarge(Limit::SOURCE.file).to_string();
        assert_eq!(large, "it is larger than 4 MiB");
    }

    #[test]
    fn text_is_utf_8_without_zeros() {
        assert_eq!(decode(b"a\xC3\xA9".to_vec()).unwrap(), "a\u{e9}");
        assert!(matches!(decode(b"ab\0".to_vec()), Err(Unreadable::Zero(2))));
        assert!(matches!(
            decode(b"a\xE9".to_vec()),
            Err(Unreadable::NotUtf8(1))
        ));
    }
}
