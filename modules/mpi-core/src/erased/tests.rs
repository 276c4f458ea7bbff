//! Values are returned unchanged, directly or after encoding.

use std::sync::Arc;

use super::*;

/// Counts its instances.
struct Counted {
    _counted: Arc<()>,
    words: [u64; 4],
}

impl Payload for Counted {
    fn size(&self) -> usize {
        32
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        self.words.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Counted {
            _counted: Arc::default(),
            words: <[u64; 4]>::decode(from)?,
        })
    }
}

fn opened<T: Payload + 'static>(erased: Erased) -> T {
    erased.open().unwrap_or_else(|_| panic!("not opened"))
}

/// Values of all sizes and alignments are returned, and are dropped once.
#[test]
fn values_of_any_size_are_returned_and_dropped_once() {
    let counted = Arc::new(());
    assert_eq!(opened::<u8>(Erased::one(7u8)), 7);
    assert_eq!(opened::<[u64; 3]>(Erased::one([1u64; 3])), [1; 3]);
    assert_eq!(opened::<[u64; 9]>(Erased::one([1u64; 9])), [1; 9]);
    opened::<()>(Erased::one(()));
    let one = || Counted {
        _counted: Arc::clone(&counted),
        words: [0; 4],
    };
    drop(Erased::one(one()));
    drop(Erased::many(vec![one(), one()]));
    let kept: Counted = opened(Erased::one(one()));
    assert_eq!(Arc::strong_count(&counted), 2);
    drop(kept);
    assert_eq!(Arc::strong_count(&counted), 1);
    assert_eq!(
        Erased::error(Error::NotReady).into_error(),
        Some(Error::NotReady)
    );
}

#[test]
fn open_as_another_type_returns_the_value() {
    let erased = Erased::many(vec![1u16, 2, 3]);
    assert_eq!(
        (erased.count(), erased.type_name()),
        (3, Ok("alloc::vec::Vec<u16>"))
    );
    let Err(Unopened::Other(erased)) = erased.open::<Vec<i16>>() else {
        panic!("opened as another type");
    };
    assert_eq!(opened::<Vec<u16>>(erased), [1, 2, 3]);
}

/// Encoded values can be opened as their own type only.
#[test]
fn encoded_values_open_only_as_their_type() {
    let sent = Erased::many(vec![1u16, 2, 3]);
    let bytes = sent.to_bytes(Vec::new());
    let come = || Erased::wire(bytes.clone()).unwrap();
    assert_eq!(
        (come().count(), come().type_name()),
        (3, Err(number::<Vec<u16>>()))
    );
    assert_eq!(opened::<Vec<u16>>(come()), [1, 2, 3]);
    assert!(matches!(come().open::<Vec<i16>>(), Err(Unopened::Other(_))));
    for end in 0..bytes.len() {
        match Erased::wire(bytes[..end].to_vec()) {
            None => assert!(end < HEAD),
            Some(cut) => {
                let cut = cut.open::<Vec<u16>>();
                assert!(matches!(cut, Err(Unopened::Unreadable(_))));
            }
        }
    }
}

#[test]
fn remote_values_keep_their_location() {
    let remote = RemoteValue {
        scheduler: 3,
        entry: 7,
        count: 5,
        asked: false,
    };
    let erased = Erased::remote(remote);
    assert_eq!((erased.as_remote(), erased.count()), (Some(remote), 5));
    assert_eq!(Erased::one(7u8).as_remote(), None);
}
