//! Frames that the schedulers of a run exchange about messages between their ranks. They are sent
//! as values within an OS process, and as bytes between OS processes.
//!
//! Small messages are *eager*: they are sent at once, as far as the receiver has granted credit.
//! All other messages are announced by a *request to send* and stay with their sender. When a
//! receive has matched, the receiver replies *clear to send*.

use super::envelope::Envelope;
use super::erased::{Erased, Wanted};
use graphmap_executor::exec::upper_layer::FIRST_UPPER_KIND;
use graphmap_executor::link::between::Header;

/// A frame from one scheduler to another.
pub(super) enum Frame {
    /// A message with its value.
    Eager {
        /// The receiving rank.
        member: u32,
        envelope: Envelope,
        /// Credit that the message takes, in bytes.
        cost: u32,
        value: Erased,
    },
    /// Announces a message that stays with its sender.
    RequestToSend {
        member: u32,
        envelope: Envelope,
        /// Entry of the message at the sender.
        entry: u32,
        /// Number of elements of the message.
        count: u64,
        /// True for a ready send, which needs a posted receive.
        ready: bool,
    },
    /// A receive has matched the message of an entry.
    ClearToSend { entry: u32 },
    /// The value of the message of an entry.
    Data { entry: u32, value: Erased },
    /// No receive was posted for the ready send of an entry.
    Refused { entry: u32 },
    /// Returns credit for this number of bytes.
    Credit { bytes: u32 },
    /// The name of the type with this number.
    TypeName { number: u64, name: String },
    /// Data of a collective call of a communicator.
    Collective { context: u32, bytes: Vec<u8> },
    /// An access to the memory that a rank exposes in a window.
    Access {
        context: u32,
        member: u32,
        /// Entry of the rank that waits for the answer. [`NONE`](super::entry::NONE) if no rank
        /// waits.
        entry: u32,
        value: Erased,
    },
    /// The answer to an access.
    Accessed { entry: u32, value: Erased },
}

const EAGER: u32 = FIRST_UPPER_KIND;
const REQUEST_TO_SEND: u32 = FIRST_UPPER_KIND + 1;
const CLEAR_TO_SEND: u32 = FIRST_UPPER_KIND + 2;
const DATA: u32 = FIRST_UPPER_KIND + 3;
const REFUSED: u32 = FIRST_UPPER_KIND + 4;
const CREDIT: u32 = FIRST_UPPER_KIND + 5;
const TYPE_NAME: u32 = FIRST_UPPER_KIND + 6;
const COLLECTIVE: u32 = FIRST_UPPER_KIND + 7;
const ACCESS: u32 = FIRST_UPPER_KIND + 8;
const ACCESSED: u32 = FIRST_UPPER_KIND + 9;

/// The destination of the value in a frame.
pub(super) enum ValueDestination {
    /// The receive at this rank that accepts this envelope.
    Message(u32, Envelope),
    /// The entry that asked for the value of this entry of the sender.
    Asked(u32),
    None,
}

/// Encoded size of an envelope, in bytes.
const ENVELOPE: usize = 12;

/// Returns the credit in bytes that a message of `size` bytes takes. The credit includes 128 bytes
/// for the entry. It is at most `u32::MAX`.
pub(super) fn cost(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX).saturating_add(128)
}

fn words<const N: usize>(bytes: &[u8]) -> Option<[u32; N]> {
    let (words, _) = bytes.as_chunks();
    let words: &[[u8; 4]; N] = words.first_chunk()?;
    Some(words.map(u32::from_ne_bytes))
}

fn put(bytes: &mut Vec<u8>, words: &[u32]) {
    words
        .iter()
        .for_each(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
}

fn envelope_to(bytes: &mut Vec<u8>, envelope: Envelope) {
    put(bytes, &[envelope.context, envelope.source, envelope.tag]);
}

fn envelope_of([context, source, tag]: [u32; 3]) -> Envelope {
    Envelope {
        context,
        source,
        tag,
    }
}

impl Frame {
    /// Encodes the frame for a link. `bytes` must be an empty buffer, which is filled and returned
    /// with the header. The encoding of a value is user code.
    pub(super) fn to_bytes(&self, mut bytes: Vec<u8>) -> (Header, Vec<u8>) {
        let (kind, number, extra) = match self {
            Frame::Eager {
                member,
                envelope,
                value,
                ..
            } => {
                envelope_to(&mut bytes, *envelope);
                bytes = value.to_bytes(bytes);
                (EAGER, *member, 0)
            }
            Frame::RequestToSend {
                member,
                envelope,
                entry,
                count,
                ready,
            } => {
                envelope_to(&mut bytes, *envelope);
                put(&mut bytes, &[*entry, *count as u32, (*count >> 32) as u32]);
                (REQUEST_TO_SEND, *member, u32::from(*ready))
            }
            Frame::ClearToSend { entry } => (CLEAR_TO_SEND, *entry, 0),
            Frame::Data { entry, value } => {
                bytes = value.to_bytes(bytes);
                (DATA, *entry, 0)
            }
            Frame::Refused { entry } => (REFUSED, *entry, 0),
            Frame::Credit { bytes } => (CREDIT, *bytes, 0),
            Frame::TypeName { number, name } => {
                bytes.extend_from_slice(&number.to_ne_bytes());
                bytes.extend_from_slice(name.as_bytes());
                (TYPE_NAME, 0, 0)
            }
            Frame::Collective {
                context,
                bytes: of_round,
            } => {
                bytes.clone_from(of_round);
                (COLLECTIVE, *context, 0)
            }
            Frame::Access {
                context,
                member,
                entry,
                value,
            } => {
                put(&mut bytes, &[*context, *entry]);
                bytes = value.to_bytes(bytes);
                (ACCESS, *member, 0)
            }
            Frame::Accessed { entry, value } => {
                bytes = value.to_bytes(bytes);
                (ACCESSED, *entry, 0)
            }
        };
        let header = Header {
            kind,
            number,
            extra,
        };
        (header, bytes)
    }

    /// Returns the destination of the value in a frame that arrived on a link. It is
    /// [`ValueDestination::None`] for frames without a value of a message, and for frames that are
    /// too short.
    pub(super) fn value_destination(header: Header, bytes: &[u8]) -> ValueDestination {
        match (header.kind, words(bytes)) {
            (EAGER, Some(envelope)) => {
                ValueDestination::Message(header.number, envelope_of(envelope))
            }
            (DATA, _) => ValueDestination::Asked(header.number),
            _ => ValueDestination::None,
        }
    }

    /// Decodes a frame that arrived on a link. If the value of a message has the type `wanted`, it
    /// is decoded at once, which runs user code. Returns `None` if the bytes are not a frame: the
    /// kind is unknown, or the bytes are too few.
    pub(super) fn from_bytes(
        header: Header,
        bytes: &[u8],
        wanted: Option<Wanted>,
    ) -> Option<Frame> {
        let number = header.number;
        Some(match header.kind {
            EAGER => {
                let envelope = envelope_of(words(bytes)?);
                let bytes = &bytes[ENVELOPE..];
                Frame::Eager {
                    member: number,
                    envelope,
                    cost: cost(bytes.len()),
                    value: Erased::from_frame(bytes, wanted)?,
                }
            }
            REQUEST_TO_SEND => {
                let [context, source, tag, entry, low, high] = words(bytes)?;
                Frame::RequestToSend {
                    member: number,
                    envelope: envelope_of([context, source, tag]),
                    entry,
                    count: u64::from(high) << 32 | u64::from(low),
                    ready: header.extra != 0,
                }
            }
            CLEAR_TO_SEND => Frame::ClearToSend { entry: number },
            DATA => Frame::Data {
                entry: number,
                value: Erased::from_frame(bytes, wanted)?,
            },
            REFUSED => Frame::Refused { entry: number },
            CREDIT => Frame::Credit { bytes: number },
            TYPE_NAME => {
                let (number, name) = bytes.split_first_chunk()?;
                Frame::TypeName {
                    number: u64::from_ne_bytes(*number),
                    name: String::from_utf8_lossy(name).into_owned(),
                }
            }
            COLLECTIVE => Frame::Collective {
                context: number,
                bytes: bytes.to_vec(),
            },
            ACCESS => {
                let [context, entry] = words(bytes)?;
                Frame::Access {
                    context,
                    member: number,
                    entry,
                    value: Erased::wire(bytes[8..].to_vec())?,
                }
            }
            ACCESSED => Frame::Accessed {
                entry: number,
                value: Erased::wire(bytes.to_vec())?,
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of any length and kind decode to a frame or to `None`, without a panic.
    #[test]
    fn forged_frames_do_not_panic() {
        let bytes: Vec<u8> = (0..64).collect();
        for kind in [0, 63]
            .into_iter()
            .chain(FIRST_UPPER_KIND..FIRST_UPPER_KIND + 12)
        {
            for len in 0..bytes.len() {
                let header = Header {
                    kind,
                    number: u32::MAX,
                    extra: 1,
                };
                let frame = Frame::from_bytes(header, &bytes[..len], None);
                assert!(frame.is_none() || (FIRST_UPPER_KIND..=ACCESSED).contains(&kind));
            }
        }
    }

    #[test]
    fn frames_round_trip() {
        let envelope = Envelope::new(7, Some(3), Some(9));
        let message = Frame::Eager {
            member: 5,
            envelope,
            cost: 0,
            value: Erased::one("text".to_string()),
        };
        let (header, bytes) = message.to_bytes(Vec::new());
        match Frame::from_bytes(header, &bytes, None) {
            Some(Frame::Eager {
                member: 5,
                envelope: of,
                value,
                ..
            }) => {
                assert_eq!(of, envelope);
                assert!(matches!(value.open::<String>(), Ok(text) if text == "text"));
            }
            _ => panic!("not the message"),
        }
        let request = Frame::RequestToSend {
            member: 5,
            envelope,
            entry: 77,
            count: 1 << 33,
            ready: true,
        };
        let (header, bytes) = request.to_bytes(Vec::new());
        let back = Frame::from_bytes(header, &bytes, None);
        assert!(matches!(
            back,
            Some(Frame::RequestToSend { member: 5, entry: 77, count, ready: true, .. }) if count == 1 << 33
        ));
    }
}
