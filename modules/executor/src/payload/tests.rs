use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::time::Duration;

use super::encoder::LARGE;
use super::remote::{Fetched, RemoteMemory, RemoteSlice, Remotely};
use super::{DecodeError, Decoder, Encoder, Format, Payload};

/// The memory of another OS process, whose addresses begin at 1000.
struct TestMemory<'a>(&'a [u8]);

impl RemoteMemory for TestMemory<'_> {
    fn read(&self, address: u64, to: &mut [MaybeUninit<u8>]) -> Result<(), String> {
        let start = address.checked_sub(1000).ok_or("too low")? as usize;
        let there = start
            .checked_add(to.len())
            .and_then(|end| self.0.get(start..end));
        let there = there.ok_or("not there")?;
        to.iter_mut()
            .zip(there)
            .for_each(|(to, byte)| _ = to.write(*byte));
        Ok(())
    }
}

/// Decodes a value of which the bytes in these ranges are in the remote memory, and the others
/// here. Returns an error as the decoder does.
fn decode_remote<T: Payload>(bytes: &[u8], ranges: &[Range<usize>]) -> Result<T, DecodeError> {
    let (mut here, mut slices, mut end) = (Vec::new(), Vec::new(), 0);
    for range in ranges {
        slices.push(RemoteSlice {
            gap: range.start - end,
            address: 1000 + range.start as u64,
            len: range.len(),
            align: 1,
        });
        here.extend_from_slice(&bytes[end..range.start]);
        end = range.end;
    }
    here.extend_from_slice(&bytes[end..]);
    from_slices(&here, &slices, bytes)
}

fn from_slices<T: Payload>(
    here: &[u8],
    slices: &[RemoteSlice],
    there: &[u8],
) -> Result<T, DecodeError> {
    let remotely = Remotely {
        slices,
        memory: &TestMemory(there),
        fetched: &Fetched::default(),
    };
    Decoder::of_remote(here, remotely, Format::new())
}

/// Asserts that a value is the same for all positions of its bytes, and that fewer or more bytes
/// are an error.
#[track_caller]
fn assert_same_from_remote<T: Payload + PartialEq + Debug>(value: &T, bytes: &[u8]) {
    let cuts: Vec<_> = (0..=bytes.len())
        .step_by(bytes.len().div_ceil(12).max(1))
        .collect();
    for (i, &from) in cuts.iter().enumerate() {
        for (j, &to) in cuts.iter().enumerate().skip(i) {
            for third in cuts.iter().skip(j) {
                let ranges = [from..to, to..*third];
                assert_eq!(
                    decode_remote(bytes, &ranges).as_ref(),
                    Ok(value),
                    "{ranges:?}"
                );
                let ranges = [from..to, *third..bytes.len()];
                assert_eq!(
                    decode_remote(bytes, &ranges).as_ref(),
                    Ok(value),
                    "{ranges:?}"
                );
                let fewer = &bytes[..bytes.len().saturating_sub(1)];
                if *third < bytes.len() {
                    let ranges = [from..to, to..*third];
                    assert!(decode_remote::<T>(fewer, &ranges).is_err());
                }
            }
        }
    }
}

#[test]
fn large_slices_stay_where_they_are() {
    let small = vec![1u8; LARGE - 1];
    let format = Format::<(Vec<u8>, Vec<f64>, String)>::new();
    let value = (small.clone(), vec![0.5; LARGE], "a".repeat(LARGE));
    assert!(format.gather(&value, vec![1], true).is_err());
    let (here, slices) = format.slices(&value, LARGE);
    assert_eq!(slices.len(), 2);
    assert_eq!(here.len(), LARGE - 1 + 3 + 3 + 3);
    assert_eq!((slices[0].copied, slices[0].align), (LARGE - 1 + 3 + 3, 8));
    assert!(std::ptr::eq(slices[1].bytes, value.2.as_bytes()));
    assert_eq!(slices[1].align, 1);
    assert_eq!(
        format.bytes_into(&value, Vec::new()),
        Encoder::to_vec(&value)
    );

    let small = (small, vec![], String::new());
    let gather = format.gather(&value, vec![1], false).unwrap();
    assert_eq!(gather.into_vec(), Encoder::to_vec(&value));
    let gather = format.gather(&small, vec![1], true).unwrap();
    assert_eq!(
        gather.with_pieces(|pieces| pieces.concat()),
        Encoder::to_vec(&small)
    );
    assert!(format.slices(&small, LARGE).1.is_empty());
}

#[test]
fn forged_slices_are_errors() {
    let there = [7; 64];
    let slice = |gap, address, len| RemoteSlice {
        gap,
        address,
        len,
        align: 1,
    };
    let read = |here: &[u8], slices: &[RemoteSlice]| -> Result<Vec<u8>, _> {
        from_slices(here, slices, &there)
    };
    assert_eq!(read(&[64], &[slice(1, 1000, 64)]), Ok(vec![7; 64]));
    assert_eq!(
        read(&[64], &[slice(0, 1000, 0), slice(1, 1000, 64)]),
        Ok(vec![7; 64])
    );
    for (here, slices) in [
        (&[64][..], &[slice(1, 1001, 64)][..]),
        (&[64], &[slice(1, 0, 64)]),
        (&[64], &[slice(1, u64::MAX, 64)]),
        (&[64], &[slice(9, 1000, 64)]),
        (&[64], &[slice(1, 1000, 65)]),
        (&[64], &[slice(1, 1000, 64), slice(0, 1000, 1)]),
        (
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            &[slice(10, 1000, usize::MAX), slice(0, 1000, usize::MAX)],
        ),
        (
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
            &[slice(9, 1000, usize::MAX / 2)],
        ),
    ] {
        assert!(read(here, slices).is_err(), "{slices:?}");
    }
    let many: Result<Vec<u64>, _> = from_slices(
        &[0xff, 0xff, 0xff, 0x7f],
        &[slice(4, 1000, usize::MAX)],
        &there,
    );
    assert!(many.is_err());
    let text: Result<String, _> = from_slices(&[64], &[slice(1, 1000, 64)], &[0xc0; 64]);
    assert!(text.is_err());
    let all: Result<Vec<Option<u8>>, _> = from_slices(
        &[0xff, 0xff, 0xff, 0x7f],
        &[slice(4, 1000, usize::MAX)],
        &there,
    );
    assert!(all.is_err());
}

/// Asserts that a value decodes to itself, every cut is an error, and no wrong byte causes a panic.
#[track_caller]
fn round<T: Payload + PartialEq + Debug>(value: T, size: usize) {
    let bytes = Encoder::to_vec(&value);
    assert_eq!((bytes.len(), value.size()), (size, size), "{value:?}");
    assert!(T::SIZE.is_none_or(|all| all == size));
    assert_eq!(Decoder::from_slice::<T>(&bytes).as_ref(), Ok(&value));
    assert_same_from_remote(&value, &bytes);
    for cut in 0..size {
        assert!(
            Decoder::from_slice::<T>(&bytes[..cut]).is_err(),
            "{value:?} cut to {cut}"
        );
    }
    let more = [&bytes[..], &[0]].concat();
    assert!(
        Decoder::from_slice::<T>(&more).is_err(),
        "{value:?} and one byte"
    );
    for at in 0..size {
        for wrong in [0, 1, 2, 0x7f, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] = wrong;
            if let Ok(other) = Decoder::from_slice::<T>(&bytes) {
                assert_eq!(Encoder::to_vec(&other).len(), other.size());
            }
        }
    }
}

#[derive(Debug, PartialEq, Clone)]
struct Strip {
    rows: Range<u32>,
    pixels: Vec<u8>,
}
crate::payload!(Strip { rows, pixels });

#[derive(Debug, PartialEq, Clone)]
struct Request;
crate::payload!(Request);

#[derive(Debug, PartialEq, Clone)]
struct Empty {
    nothing: (),
    to: Request2,
}
#[derive(Debug, PartialEq, Clone)]
struct Request2();
crate::payload!(Request2());
crate::payload!(Empty { nothing, to });

#[derive(Debug, PartialEq, Clone)]
enum Tree<T> {
    Leaf,
    Node(Box<Tree<T>>, T, Box<Tree<T>>),
    Named { name: String },
}
crate::payload!(enum Tree<T> { Leaf, Node(left, here, right), Named { name } });

#[test]
#[cfg_attr(
    miri,
    ignore = "it takes many minutes there; `hostile_bytes` goes the same ways"
)]
fn values_come_back_and_bad_bytes_do_not() {
    round(7u64, 8);
    round(-1i128, 16);
    round(f64::MIN_POSITIVE, 8);
    round((), 0);
    round((true, 'ß', 3u16), 7);
    round(std::num::NonZero::<u16>::MAX, 2);
    round([1.5f32; 3], 12);
    round([(), ()], 2);
    round(["a".to_string(), String::new()], 3);
    round(vec![1u32; 200], 2 + 800);
    round(vec![(); 5], 1 + 5);
    round(vec![vec![1u8], vec![]], 4);
    round(Some(Box::new(3u8)), 2);
    round(None::<u64>, 1);
    round(Ok::<u8, String>(1), 2);
    round(Err::<u8, String>("no".into()), 4);
    round(String::from("größer"), 9);
    round(VecDeque::from([1u8, 2]), 3);
    round(VecDeque::from([(), ()]), 3);
    round(BTreeMap::from([(1u8, 2u8), (2, 3)]), 5);
    round(BTreeMap::from([((), ())]), 2);
    round(HashSet::<u16>::from([4, 5]), 5);
    round(Duration::new(1, 999_999_999), 12);
    round(3usize..9, 16);
    round(
        Strip {
            rows: 1..4,
            pixels: vec![1; 130],
        },
        8 + 2 + 130,
    );
    round(Request, 1);
    round(vec![Request, Request], 3);
    round(
        Empty {
            nothing: (),
            to: Request2(),
        },
        1,
    );
    let leaf = || Box::new(Tree::Leaf);
    round(
        Tree::Node(leaf(), 5u8, Box::new(Tree::Named { name: "x".into() })),
        1 + 1 + 1 + 3,
    );
}

#[test]
fn announced_lengths_allocate_no_memory() {
    // The size of the address space as a number of elements, for vectors of vectors, of units, and
    // of pages.
    let mut length = vec![0xff; 9];
    length.push(0x01);
    let page = |bytes: &[u8]| Decoder::from_slice::<Vec<[u64; 512]>>(bytes).is_err();
    assert!(page(&length));
    assert!(Decoder::from_slice::<Vec<()>>(&length).is_err());
    assert!(Decoder::from_slice::<Vec<String>>(&length).is_err());
    assert!(Decoder::from_slice::<String>(&length).is_err());
    assert!(Decoder::from_slice::<HashSet<u8>>(&length).is_err());
}

#[test]
fn not_too_deep() {
    #[derive(Debug)]
    struct Chain(Option<Box<Chain>>);
    crate::payload!(Chain(next));
    let deep = vec![1; 1_000_000];
    let error = Decoder::from_slice::<Chain>(&deep).unwrap_err();
    assert!(error.to_string().contains("levels"), "{error}");
    let mut fine = vec![1; 20];
    fine.push(0);
    let mut chain = Decoder::from_slice::<Chain>(&fine).unwrap();
    let mut length = 0;
    while let Some(next) = chain.0.take() {
        chain = *next;
        length += 1;
    }
    assert_eq!(length, 20);
}

#[test]
fn errors_say_where() {
    let error: DecodeError = Decoder::from_slice::<(u8, bool)>(&[1, 2]).unwrap_err();
    assert_eq!(error.to_string(), "expected a bool at byte 2 of 2");
    let error = Decoder::from_slice::<u32>(&[1, 2]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected 4 bytes, of which 2 are present at byte 0 of 2"
    );
}

#[test]
fn types_with_a_format() {
    struct Opaque;
    assert!(crate::format_of!(Opaque).is_none());
    assert!(crate::format_of!(Vec<Opaque>).is_none());
    let format = crate::format_of!(Vec<Strip>).unwrap();
    assert_eq!((format.size)(&vec![]), 1);
}

/// Random changes of valid bytes are an error or a value, but never a panic. A value that was read
/// stays the same if it is encoded and decoded again.
#[test]
fn hostile_bytes() {
    type Mixed = (Vec<Option<String>>, BTreeMap<u8, Vec<u16>>, Tree<bool>);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % below
    };
    let leaf = || Box::new(Tree::Leaf);
    let good: Mixed = (
        vec![Some("one".into()), None],
        BTreeMap::from([(1, vec![1, 2]), (9, vec![])]),
        Tree::Node(leaf(), true, leaf()),
    );
    let good = Encoder::to_vec(&good);
    let (mut read, runs) = (0, if cfg!(miri) { 100 } else { 20_000 });
    for _ in 0..runs {
        let mut bytes = good.clone();
        for _ in 0..=random(3) {
            let at = random(bytes.len() as u64) as usize;
            match random(3) {
                0 => bytes[at] = random(256) as u8,
                1 => bytes.insert(at, random(4) as u8),
                _ => drop(bytes.remove(at)),
            }
        }
        if let Ok(value) = Decoder::from_slice::<Mixed>(&bytes) {
            read += 1;
            let again = Encoder::to_vec(&value);
            assert_eq!(again.len(), value.size());
            assert_eq!(Decoder::from_slice::<Mixed>(&again), Ok(value));
        }
    }
    assert!(
        read > runs / 200,
        "only {read} of them are values: too few to tell"
    );
}

#[test]
fn gathered_bytes_equal_copied_bytes() {
    type Rows = Vec<(u8, Vec<u16>, String)>;
    let format = Format::<Rows>::new();
    // Miri takes a thousand times as long.
    let seeds = if cfg!(miri) { 8 } else { 300_usize };
    for seed in 0..seeds {
        // Lengths around the limit for gathering, and more slices than are gathered.
        let row = |at: usize| {
            let len = |n: usize| [0, 1, 511, 512, 513, 1023, 1024, 5000][n % 8];
            let numbers = (0..len(seed + at)).map(|n| (n * seed) as u16).collect();
            (at as u8, numbers, "x".repeat(len(seed / 8 + 3 * at)))
        };
        let value: Rows = (0..seed % 7).map(row).collect();
        let gather = format.gather(&value, vec![1, 2, 3], seed % 2 == 0).unwrap();
        let gathered = gather.with_pieces(|pieces| pieces.concat());
        assert_eq!(gathered, Encoder::to_vec(&value), "{seed}");
        let back: Rows = Decoder::from_slice(&gathered).unwrap();
        assert!(back == value);
        assert_eq!(gather.into_vec(), gathered);
    }
    let page = vec![7u8; 8192];
    let format = Format::<Vec<u8>>::new();
    let gather = format.gather(&page, Vec::new(), true).unwrap();
    gather.with_pieces(|pieces| {
        assert_eq!(pieces.len(), 3);
        assert!(std::ptr::eq(pieces[1], &*page));
    });
    assert_eq!(gather.into_buffer().len(), 2);
}
