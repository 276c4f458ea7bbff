//! How frames lie in a message.
//!
//! | message | bytes |
//! |---|---|
//! | packed | agreement (8), then for each frame its length, kind, number, extra (4 each) and what it carries |
//! | whole | what one frame carries, then its kind, number, extra (4 each) and the agreement (8) |
//!
//! Of a whole frame the header comes last, so that what it carries can be sent from where it lies, and be
//! handed on where it came to. Numbers are in the order of the machine, as payloads are: all OS processes
//! are the same program, which the agreement says.

use graphmap_runtime::between::Header;

/// Of packed frames.
pub(crate) const PACKED: i32 = 1;
/// Of one whole frame.
pub(crate) const WHOLE: i32 = 2;
/// Of the last message to somebody.
pub(crate) const BYE: i32 = 3;

/// Of what comes before the slices of a message, as of one whole frame.
pub(crate) const HEAD: i32 = 4;
/// Of a slice, with the logarithm of its elements' alignment added.
pub(crate) const SLICE: i32 = 5;

/// What has to be equal for all OS processes; 0 before it is known.
pub(crate) const AGREEMENT: usize = 8;
const HEADER: usize = 16;
const TRAILER: usize = 12 + AGREEMENT;

/// What cannot be a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

/// Most messages need no more room.
const ROOM: usize = 256;

/// A message without a frame.
pub(crate) fn packed(agreement: u64) -> Vec<u8> {
    let mut message = Vec::with_capacity(ROOM);
    message.extend_from_slice(&agreement.to_ne_bytes());
    message
}

/// Adds a frame, of which what it carries is in pieces.
pub(crate) fn pack(message: &mut Vec<u8>, header: Header, pieces: &[&[u8]]) {
    let len = pieces.iter().map(|piece| piece.len()).sum::<usize>();
    message.reserve(HEADER + len);
    let len = u32::try_from(len).expect("a message is shorter");
    for word in [len, header.kind, header.number, header.extra] {
        message.extend_from_slice(&word.to_ne_bytes());
    }
    for piece in pieces {
        message.extend_from_slice(piece);
    }
}

/// Makes what a frame carries a message of its own.
pub(crate) fn whole(agreement: u64, header: Header, mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.reserve_exact(TRAILER);
    for word in [header.kind, header.number, header.extra] {
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    bytes.extend_from_slice(&agreement.to_ne_bytes());
    bytes
}

/// Takes a message of one frame apart: agreement, header, and what it carries.
pub(crate) fn unwhole(mut bytes: Vec<u8>) -> Result<(u64, Header, Vec<u8>), Garbled> {
    let len = bytes.len().checked_sub(TRAILER).ok_or(Garbled)?;
    let (_, trailer) = bytes.split_at(len);
    let header = Header {
        kind: word(trailer, 0)?,
        number: word(trailer, 4)?,
        extra: word(trailer, 8)?,
    };
    let agreement = long(trailer, 12)?;
    bytes.truncate(len);
    Ok((agreement, header, bytes))
}

fn word(bytes: &[u8], at: usize) -> Result<u32, Garbled> {
    let four = bytes.get(at..at + 4).ok_or(Garbled)?;
    Ok(u32::from_ne_bytes(four.try_into().map_err(|_| Garbled)?))
}

pub(crate) fn long(bytes: &[u8], at: usize) -> Result<u64, Garbled> {
    let eight = bytes.get(at..at + 8).ok_or(Garbled)?;
    Ok(u64::from_ne_bytes(eight.try_into().map_err(|_| Garbled)?))
}

/// The frames of a packed message, one after the other.
pub(crate) struct Frames {
    bytes: Vec<u8>,
    at: usize,
}

impl Frames {
    pub(crate) fn new(bytes: Vec<u8>) -> Frames {
        Frames {
            bytes,
            at: AGREEMENT,
        }
    }

    pub(crate) fn agreement(&self) -> Result<u64, Garbled> {
        long(&self.bytes, 0)
    }

    pub(crate) fn next(&mut self) -> Result<Option<(Header, &[u8])>, Garbled> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let len = word(&self.bytes, self.at)? as usize;
        let header = Header {
            kind: word(&self.bytes, self.at + 4)?,
            number: word(&self.bytes, self.at + 8)?,
            extra: word(&self.bytes, self.at + 12)?,
        };
        let from = self.at + HEADER;
        let bytes = self.bytes.get(from..from + len).ok_or(Garbled)?;
        self.at = from + len;
        Ok(Some((header, bytes)))
    }

    /// Whether there is none any more.
    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// From the beginning again.
    pub(crate) fn rewind(&mut self) {
        self.at = AGREEMENT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(kind: u32) -> Header {
        Header {
            kind,
            number: kind + 1,
            extra: kind + 2,
        }
    }

    #[test]
    fn frames_come_out_as_they_went_in() {
        let mut message = packed(77);
        let all: Vec<Vec<u8>> = (0..20).map(|n| vec![n as u8; n * n]).collect();
        for (n, bytes) in all.iter().enumerate() {
            let (one, two) = bytes.split_at(n);
            pack(&mut message, header(n as u32), &[one, &[], two]);
        }
        let mut frames = Frames::new(message);
        assert_eq!(frames.agreement(), Ok(77));
        for _ in 0..2 {
            for (n, bytes) in all.iter().enumerate() {
                assert_eq!(frames.next(), Ok(Some((header(n as u32), &bytes[..]))));
            }
            assert_eq!(frames.next(), Ok(None));
            frames.rewind();
        }
    }

    #[test]
    fn a_whole_frame_comes_out_as_it_went_in() {
        for len in [0, 1, 100_000] {
            let message = whole(5, header(9), vec![3; len]);
            assert_eq!(unwhole(message), Ok((5, header(9), vec![3; len])));
        }
    }

    #[test]
    fn what_is_cut_off_is_an_error_and_no_panic() {
        let mut message = packed(1);
        pack(&mut message, header(1), &[&[1; 40]]);
        for len in 0..message.len() {
            let mut frames = Frames::new(message[..len].to_vec());
            if len < AGREEMENT {
                assert_eq!(frames.agreement(), Err(Garbled));
            }
            let expected = if len == AGREEMENT {
                Ok(None)
            } else {
                Err(Garbled)
            };
            assert_eq!(frames.next(), expected, "{len}");
        }
        assert_eq!(unwhole(vec![0; TRAILER - 1]), Err(Garbled));
    }
}
