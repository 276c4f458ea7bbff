//! Layout of frames in a message.
//!
//! A message consists of an agreement (8 bytes), the offset of the announcement or 0 (8), and
//! frames. Each frame consists of its length, kind, number and extra (4 each), and its contents.
//! The announcement comes last. It describes a frame that is too large to be packed. The contents
//! of that frame are the next messages from the same sender. The announcement consists of its
//! header (kind, number, extra: 4 each), the form of the contents (4), and their description:
//!
//! | form | description | following messages |
//! |---|---|---|
//! | 0 | number of bytes (8) | one message |
//! | 1 | the head of a message in slices | one message for each slice |
//!
//! So the receiver knows the next messages and can post memory for them before they arrive. Numbers
//! are in native byte order, as in payloads. The agreement ensures that all OS processes run the
//! same program.

use graphmap_runtime::between::Header;

/// Tag of messages of frames.
pub(crate) const PACKED: i32 = 1;
/// Tag of announced messages.
pub(crate) const ANNOUNCED: i32 = 2;

/// Size in bytes of the agreement, which must be equal in all OS processes. The agreement is 0
/// before it is known.
const AGREEMENT: usize = 8;
/// Size in bytes of the part before the frames.
const START: usize = AGREEMENT + 8;
/// Size in bytes of the header of a frame, and of an announcement.
const HEADER: usize = 16;
const WHOLE: u32 = 0;
const SLICED: u32 = 1;

/// Largest size in bytes of a message of frames. Receives have no more room.
pub(crate) const LONGEST: usize = 128 << 10;

/// Error for bytes that are not a valid message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidMessage;

/// Initial capacity in bytes, which is enough for most messages.
const ROOM: usize = 256;

/// Returns a message with an agreement, and without frames and announcement.
pub(crate) fn packed(agreement: u64) -> Vec<u8> {
    let mut message = Vec::with_capacity(ROOM);
    message.extend_from_slice(&agreement.to_ne_bytes());
    message.extend_from_slice(&[0; START - AGREEMENT]);
    message
}

/// Returns true if the message has room for a frame with `len` bytes of contents, or for an
/// announcement whose description has `len` bytes. Headers are included.
pub(crate) fn has_room(message: &[u8], len: usize) -> bool {
    message.len() + HEADER + len <= LONGEST
}

fn put(message: &mut Vec<u8>, words: [u32; 4]) {
    for word in words {
        message.extend_from_slice(&word.to_ne_bytes());
    }
}

/// Appends a frame whose contents are the concatenated pieces. There must be [room](has_room) for
/// it.
pub(crate) fn pack(message: &mut Vec<u8>, header: Header, pieces: &[&[u8]]) {
    let len = pieces.iter().map(|piece| piece.len()).sum::<usize>();
    message.reserve(HEADER + len);
    let len = u32::try_from(len).expect("a message is shorter");
    put(message, [len, header.kind, header.number, header.extra]);
    for piece in pieces {
        message.extend_from_slice(piece);
    }
}

/// Contents of an announced frame.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Announced<'a> {
    /// Number of bytes, which follow as one message.
    Whole(usize),
    /// Head of a message in slices. Each slice follows as a message.
    Sliced(&'a [u8]),
}

/// Appends an announcement to a message from [`packed`], which must then be sent without further
/// frames. There must be [room](has_room) for it. Panics if the message is shorter than one from
/// `packed`.
pub(crate) fn announce(message: &mut Vec<u8>, header: Header, announced: Announced<'_>) {
    let at = message.len() as u64;
    message[AGREEMENT..START].copy_from_slice(&at.to_ne_bytes());
    let kind = match announced {
        Announced::Whole(_) => WHOLE,
        Announced::Sliced(_) => SLICED,
    };
    put(message, [header.kind, header.number, header.extra, kind]);
    match announced {
        Announced::Whole(len) => message.extend_from_slice(&(len as u64).to_ne_bytes()),
        Announced::Sliced(head) => message.extend_from_slice(head),
    }
}

fn word(bytes: &[u8], at: usize) -> Result<u32, InvalidMessage> {
    let four = bytes.get(at..at + 4).ok_or(InvalidMessage)?;
    Ok(u32::from_ne_bytes(
        four.try_into().map_err(|_| InvalidMessage)?,
    ))
}

/// Returns the number in the eight bytes at offset `at`.
///
/// # Errors
/// Returns [`InvalidMessage`] if there are fewer bytes.
pub(crate) fn long(bytes: &[u8], at: usize) -> Result<u64, InvalidMessage> {
    let eight = bytes.get(at..at + 8).ok_or(InvalidMessage)?;
    Ok(u64::from_ne_bytes(
        eight.try_into().map_err(|_| InvalidMessage)?,
    ))
}

/// Iterator over the frames of a message.
pub(crate) struct Frames {
    bytes: Vec<u8>,
    at: usize,
    /// Offset of the end of the frames.
    end: usize,
}

impl Frames {
    /// Creates the iterator over the frames of a message.
    ///
    /// # Errors
    /// Returns [`InvalidMessage`] if the message is too short, or if the offset of its announcement
    /// is outside of it. The frames are not checked.
    pub(crate) fn new(bytes: Vec<u8>) -> Result<Frames, InvalidMessage> {
        let end = match long(&bytes, AGREEMENT)? {
            0 => bytes.len(),
            at => usize::try_from(at).map_err(|_| InvalidMessage)?,
        };
        match (START..=bytes.len()).contains(&end) {
            true => Ok(Frames {
                bytes,
                at: START,
                end,
            }),
            false => Err(InvalidMessage),
        }
    }

    /// Returns the agreement of the sender, which is 0 if the sender did not know it yet.
    ///
    /// # Errors
    /// Returns [`InvalidMessage`] if the message is too short.
    pub(crate) fn agreement(&self) -> Result<u64, InvalidMessage> {
        long(&self.bytes, 0)
    }

    /// Returns the announcement of the message, or `None` if it has none.
    ///
    /// # Errors
    /// Returns [`InvalidMessage`] if the announcement is too short, or if its form is unknown.
    pub(crate) fn announced(&self) -> Result<Option<(Header, Announced<'_>)>, InvalidMessage> {
        if self.end == self.bytes.len() {
            return Ok(None);
        }
        let header = Header {
            kind: word(&self.bytes, self.end)?,
            number: word(&self.bytes, self.end + 4)?,
            extra: word(&self.bytes, self.end + 8)?,
        };
        let from = self.end + HEADER;
        let announced = match word(&self.bytes, self.end + 12)? {
            WHOLE => {
                let len = long(&self.bytes, from)?;
                Announced::Whole(usize::try_from(len).map_err(|_| InvalidMessage)?)
            }
            SLICED => Announced::Sliced(self.bytes.get(from..).ok_or(InvalidMessage)?),
            _ => return Err(InvalidMessage),
        };
        Ok(Some((header, announced)))
    }

    /// Returns the header and the contents of the next frame, and advances to the one after it.
    /// Returns `None` if no frame is left.
    ///
    /// # Errors
    /// Returns [`InvalidMessage`] if the frame does not end within the message and before its
    /// announcement.
    pub(crate) fn next(&mut self) -> Result<Option<(Header, &[u8])>, InvalidMessage> {
        if self.at == self.end {
            return Ok(None);
        }
        let frames = self.bytes.get(..self.end).ok_or(InvalidMessage)?;
        let len = word(frames, self.at)? as usize;
        let header = Header {
            kind: word(frames, self.at + 4)?,
            number: word(frames, self.at + 8)?,
            extra: word(frames, self.at + 12)?,
        };
        let from = self.at + HEADER;
        let bytes = frames.get(from..from + len).ok_or(InvalidMessage)?;
        self.at = from + len;
        Ok(Some((header, bytes)))
    }

    /// Returns true if no frame is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// Restarts at the first frame, so that [`Frames::next`] returns all frames again.
    pub(crate) fn rewind(&mut self) {
        self.at = START;
    }

    /// Returns the memory of the message.
    pub(crate) fn into_memory(self) -> Vec<u8> {
        self.bytes
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
        for announced in [
            None,
            Some(Announced::Whole(7)),
            Some(Announced::Sliced(&[1, 2])),
        ] {
            let mut message = message.clone();
            if let Some(announced) = announced {
                announce(&mut message, header(9), announced);
            }
            let mut frames = Frames::new(message).expect("a message");
            assert_eq!(frames.agreement(), Ok(77));
            let announced = announced.map(|announced| (header(9), announced));
            assert_eq!(frames.announced(), Ok(announced));
            for _ in 0..2 {
                for (n, bytes) in all.iter().enumerate() {
                    assert_eq!(frames.next(), Ok(Some((header(n as u32), &bytes[..]))));
                }
                assert_eq!(frames.next(), Ok(None));
                frames.rewind();
            }
        }
    }

    #[test]
    fn has_room_agrees_with_pack() {
        let mut message = packed(1);
        let len = LONGEST - START - HEADER;
        assert!(has_room(&message, len) && !has_room(&message, len + 1));
        pack(&mut message, header(1), &[&vec![0; len]]);
        assert_eq!(message.len(), LONGEST);
    }

    #[test]
    fn truncated_messages_are_errors() {
        let mut message = packed(1);
        pack(&mut message, header(1), &[&[1; 40]]);
        for len in 0..message.len() {
            let frames = Frames::new(message[..len].to_vec());
            if len < START {
                assert!(frames.is_err(), "{len}");
                continue;
            }
            let expected = if len == START {
                Ok(None)
            } else {
                Err(InvalidMessage)
            };
            assert_eq!(frames.expect("a message").next(), expected, "{len}");
        }
        let frames = message.len();
        announce(&mut message, header(1), Announced::Whole(3));
        for len in START..message.len() {
            match Frames::new(message[..len].to_vec()) {
                Ok(frames) => {
                    let announced = frames.announced();
                    assert_eq!(
                        announced,
                        if len == frames.end {
                            Ok(None)
                        } else {
                            Err(InvalidMessage)
                        }
                    );
                }
                Err(InvalidMessage) => assert!(len < frames, "{len}"),
            }
        }
    }

    /// Replaces random bytes of valid messages.
    #[test]
    fn forged_messages_are_errors() {
        let mut state = 88_172_645_463_325_252_u64;
        // xorshift64 of G. Marsaglia.
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as usize % below
        };
        for _ in 0..20_000 {
            let mut message = packed(1);
            for _ in 0..random(4) {
                pack(&mut message, header(1), &[&vec![2; random(40)]]);
            }
            let head = vec![3; random(64)];
            match random(3) {
                0 => announce(
                    &mut message,
                    header(1),
                    Announced::Whole(random(usize::MAX)),
                ),
                1 => announce(&mut message, header(1), Announced::Sliced(&head)),
                _ => {}
            }
            for _ in 0..random(5) {
                let at = random(message.len());
                let end = message.len().min(at + 1 + random(8));
                message[at..end].fill([0, 255, random(256) as u8][random(3)]);
            }
            message.truncate(message.len() - random(8) / 7 * random(message.len()));
            let len = message.len();
            let Ok(mut frames) = Frames::new(message) else {
                continue;
            };
            let _agreement = frames.agreement();
            if let Ok(Some((_, Announced::Sliced(head)))) = frames.announced() {
                assert!(head.len() <= len);
            }
            let mut seen = START;
            while let Ok(Some((_, bytes))) = frames.next() {
                seen += HEADER + bytes.len();
                assert!(seen <= len);
            }
        }
    }
}
