//! Datatypes compared with a simple model: the list of the bytes of an element, in packing order.

use std::mem::offset_of;

use mpi::collective::{UserOperation, reduce_local_into};
use mpi::datatype::{
    DatatypeRef, DynBuffer, DynBufferMut, MutView, UncommittedUserDatatype, UserDatatype, View,
    address_of,
};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use mpi::{Address, Count};
use proptest::prelude::*;

/// Constructor of a datatype.
#[derive(Debug, Clone)]
enum Made {
    Byte,
    Word,
    Contiguous(Count, Box<Made>),
    Vector(Count, Count, Count, Box<Made>),
    Hvector(Count, Count, Address, Box<Made>),
    Indexed(Vec<(Count, Count)>, Box<Made>),
    Hindexed(Vec<(Count, Address)>, Box<Made>),
    IndexedBlock(Count, Vec<Count>, Box<Made>),
    HindexedBlock(Count, Vec<Address>, Box<Made>),
    Structured(Vec<(Count, Address, Made)>),
}

/// Model of an element: its bytes in order, its bounds, and its alignment.
#[derive(Debug, Clone)]
struct Model {
    bytes: Vec<isize>,
    lower: isize,
    upper: isize,
    align: isize,
}

impl Model {
    fn plain(size: isize) -> Model {
        Model {
            bytes: (0..size).collect(),
            lower: 0,
            upper: size,
            align: size,
        }
    }

    fn extent(&self) -> isize {
        self.upper - self.lower
    }

    /// Returns the model of blocks of elements at displacements in bytes.
    fn blocks(blocks: &[(isize, Count, Model)], rounded: bool) -> Model {
        let blocks: Vec<_> = blocks.iter().filter(|block| block.1 > 0).collect();
        let mut bytes = Vec::new();
        let (mut lower, mut upper, mut align) = (isize::MAX, isize::MIN, 1);
        for (at, count, of) in &blocks {
            for element in 0..*count as isize {
                let from = at + element * of.extent();
                bytes.extend(of.bytes.iter().map(|byte| from + byte));
                lower = lower.min(from + of.lower);
                upper = upper.max(from + of.upper);
            }
            align = align.max(of.align);
        }
        if blocks.is_empty() {
            (lower, upper) = (0, 0);
        }
        if rounded {
            let extent: isize = upper - lower;
            upper = lower + (extent + align - 1) / align * align;
        }
        Model {
            bytes,
            lower,
            upper,
            align,
        }
    }
}

impl Made {
    fn model(&self) -> Model {
        let same = |places: Vec<(isize, Count)>, of: &Made| {
            let of = of.model();
            let blocks: Vec<_> = places
                .into_iter()
                .map(|(at, count)| (at, count, of.clone()))
                .collect();
            Model::blocks(&blocks, false)
        };
        let extent = |of: &Made| of.model().extent();
        match self {
            Made::Byte => Model::plain(1),
            Made::Word => Model::plain(4),
            Made::Contiguous(count, of) => same(vec![(0, *count)], of),
            Made::Vector(count, length, stride, of) => {
                let apart = *stride as isize * extent(of);
                same(
                    (0..*count as isize)
                        .map(|at| (at * apart, *length))
                        .collect(),
                    of,
                )
            }
            Made::Hvector(count, length, stride, of) => same(
                (0..*count as isize)
                    .map(|at| (at * stride, *length))
                    .collect(),
                of,
            ),
            Made::Indexed(blocks, of) => {
                let extent = extent(of);
                let places = blocks
                    .iter()
                    .map(|(count, at)| (*at as isize * extent, *count));
                same(places.collect(), of)
            }
            Made::Hindexed(blocks, of) => {
                same(blocks.iter().map(|(count, at)| (*at, *count)).collect(), of)
            }
            Made::IndexedBlock(count, places, of) => {
                let extent = extent(of);
                let places = places.iter().map(|at| (*at as isize * extent, *count));
                same(places.collect(), of)
            }
            Made::HindexedBlock(count, places, of) => {
                same(places.iter().map(|at| (*at, *count)).collect(), of)
            }
            Made::Structured(fields) => {
                let fields: Vec<_> = fields
                    .iter()
                    .map(|(count, at, of)| (*at, *count, of.model()))
                    .collect();
                Model::blocks(&fields, true)
            }
        }
    }

    fn datatype(&self) -> UncommittedUserDatatype {
        match self {
            Made::Byte => UncommittedUserDatatype::contiguous(1, &u8::equivalent_datatype()),
            Made::Word => UncommittedUserDatatype::contiguous(1, &u32::equivalent_datatype()),
            Made::Contiguous(count, of) => {
                UncommittedUserDatatype::contiguous(*count, &of.datatype())
            }
            Made::Vector(count, length, stride, of) => {
                UncommittedUserDatatype::vector(*count, *length, *stride, &of.datatype())
            }
            Made::Hvector(count, length, stride, of) => {
                let of = of.datatype();
                UncommittedUserDatatype::heterogeneous_vector(*count, *length, *stride, &of)
            }
            Made::Indexed(blocks, of) => {
                let (lengths, places): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                UncommittedUserDatatype::indexed(&lengths, &places, &of.datatype())
            }
            Made::Hindexed(blocks, of) => {
                let (lengths, places): (Vec<_>, Vec<_>) = blocks.iter().copied().unzip();
                UncommittedUserDatatype::heterogeneous_indexed(&lengths, &places, &of.datatype())
            }
            Made::IndexedBlock(count, places, of) => {
                UncommittedUserDatatype::indexed_block(*count, places, &of.datatype())
            }
            Made::HindexedBlock(count, places, of) => {
                let of = of.datatype();
                UncommittedUserDatatype::heterogeneous_indexed_block(*count, places, &of)
            }
            Made::Structured(fields) => {
                let lengths: Vec<Count> = fields.iter().map(|field| field.0).collect();
                let places: Vec<Address> = fields.iter().map(|field| field.1).collect();
                let types: Vec<_> = fields.iter().map(|field| field.2.datatype()).collect();
                UncommittedUserDatatype::structured(&lengths, &places, &types)
            }
        }
    }
}

fn made() -> impl Strategy<Value = Made> {
    let leaf = prop_oneof![Just(Made::Byte), Just(Made::Word)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let of = inner.clone().prop_map(Box::new);
        let small = 0..4_i32;
        // Displacements may decrease, but not below the beginning of the buffer.
        prop_oneof![
            (small.clone(), of.clone()).prop_map(|(a, of)| Made::Contiguous(a, of)),
            (small.clone(), 0..3_i32, 0..4_i32, of.clone())
                .prop_map(|(a, b, c, of)| Made::Vector(a, b, c, of)),
            (small.clone(), 0..3_i32, 0..9_isize, of.clone())
                .prop_map(|(a, b, c, of)| Made::Hvector(a, b, c, of)),
            (
                prop::collection::vec((0..3_i32, 0..5_i32), 0..4),
                of.clone()
            )
                .prop_map(|(blocks, of)| Made::Indexed(blocks, of)),
            (
                prop::collection::vec((0..3_i32, 0..17_isize), 0..4),
                of.clone()
            )
                .prop_map(|(blocks, of)| Made::Hindexed(blocks, of)),
            (0..3_i32, prop::collection::vec(0..5_i32, 0..4), of.clone())
                .prop_map(|(count, places, of)| Made::IndexedBlock(count, places, of)),
            (0..3_i32, prop::collection::vec(0..17_isize, 0..4), of)
                .prop_map(|(count, places, of)| Made::HindexedBlock(count, places, of)),
            prop::collection::vec((0..3_i32, 0..17_isize, inner), 0..4).prop_map(Made::Structured),
        ]
    })
}

fn alone(f: impl Fn(SimpleCommunicator) + Send + Sync + 'static) {
    let ended = mpi::run(1, move || {
        let universe = mpi::initialize().unwrap();
        f(universe.world());
    });
    if let Err(error) = ended {
        panic!("{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn pack_and_unpack_match_the_model(made in made(), count in 0..4_i32) {
        let model = made.model();
        let element = |at: i32| at as isize * model.extent();
        let places: Vec<isize> = (0..count)
            .flat_map(|at| model.bytes.iter().map(move |byte| element(at) + byte))
            .collect();
        let end = places.iter().max().map_or(0, |last| last + 1) as usize;
        alone(move |world| {
            let datatype = made.datatype().commit();
            let memory: Vec<u8> = (0..end.max(1)).map(|at| (at * 7 + 3) as u8).collect();
            // SAFETY: `memory` contains all bytes of the elements.
            let view = unsafe { View::with_count_and_datatype(&memory[..], count, &datatype) };
            let packed = world.pack(&view);
            let expected: Vec<u8> = places.iter().map(|&at| memory[at as usize]).collect();
            assert_eq!(packed, expected);
            assert_eq!(world.pack_size(count, &datatype) as usize, expected.len());
            let numbers: Vec<u8> = (0..packed.len()).map(|at| at as u8).collect();
            let mut unpacked = memory.clone();
            let mut wanted = memory.clone();
            for (&at, &number) in places.iter().zip(&numbers) {
                wanted[at as usize] = number;
            }
            // SAFETY: as above, for `unpacked`.
            unsafe {
                let mut view = MutView::with_count_and_datatype(&mut unpacked[..], count, &datatype);
                let end = world.unpack_into(&numbers, &mut view, 0);
                assert_eq!(end as usize, numbers.len());
            }
            assert_eq!(unpacked, wanted);
            // A message that ends within an element fills the part that it contains.
            let half = &numbers[..numbers.len() / 2];
            let mut partly = memory.clone();
            world.this_process().send(half);
            // SAFETY: as above, for `partly`.
            let mut view = unsafe { MutView::with_count_and_datatype(&mut partly[..], count, &datatype) };
            world.this_process().receive_into(&mut view);
            let mut wanted = memory.clone();
            for (&at, &number) in places.iter().zip(half) {
                wanted[at as usize] = number;
            }
            assert_eq!(partly, wanted);
        });
    }
}

#[test]
fn equal_constructions_give_the_same_type() {
    let made = || UserDatatype::vector(3, 2, 4, &u16::equivalent_datatype());
    let (one, other) = (made(), made());
    assert!(one.as_raw() == other.as_raw());
    assert!(one.clone().as_raw() == one.dup().as_raw());
    let different = UserDatatype::vector(3, 2, 5, &u16::equivalent_datatype());
    assert!(one.as_raw() != different.as_raw());
    assert!(i32::equivalent_datatype().as_raw() != u32::equivalent_datatype().as_raw());
}

#[test]
fn buffers_of_types_known_at_run_time() {
    let mut numbers = [1_i32, 2, 3];
    let mut buffer = DynBufferMut::new(&mut numbers);
    assert!(buffer.is::<i32>() && !buffer.is::<u32>());
    assert_eq!(buffer.reborrow().downcast::<i32>().unwrap(), [1, 2, 3]);
    assert!(buffer.reborrow_mut().downcast::<f32>().is_none());
    buffer.reborrow_mut().downcast::<i32>().unwrap()[1] = 7;
    assert_eq!((buffer.len(), buffer.is_empty()), (3, false));
    assert_eq!(buffer.downgrade().downcast::<i32>().unwrap(), [1, 7, 3]);
    assert!(DynBuffer::new::<u8>(&[]).is_empty());
    assert_eq!(address_of(&numbers[1]) - address_of(&numbers[0]), 4);
}

#[test]
fn invalid_datatypes_panic() {
    let byte = u8::equivalent_datatype;
    let wrong: [&dyn Fn() -> UserDatatype; 4] = [
        &|| UserDatatype::contiguous(-1, &byte()),
        &|| UserDatatype::indexed(&[1], &[0, 1], &byte()),
        &|| UserDatatype::heterogeneous_vector(3, 1, Address::MAX, &byte()),
        &|| {
            let large = UserDatatype::contiguous(Count::MAX, &u64::equivalent_datatype());
            UserDatatype::contiguous(Count::MAX, &large)
        },
    ];
    for wrong in wrong {
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(wrong));
        assert!(told.is_err());
    }
}

/// Makes the same layout by different constructors, which gives the same type.
#[test]
fn blocks_at_equal_distances_are_a_vector() {
    let word = u16::equivalent_datatype;
    let vector = UserDatatype::vector(3, 2, 4, &word());
    let indexed = UserDatatype::indexed(&[2, 2, 2], &[0, 4, 8], &word());
    let blocks = UserDatatype::heterogeneous_indexed_block(2, &[0, 8, 16], &word());
    assert!(vector.as_raw() == indexed.as_raw() && vector.as_raw() == blocks.as_raw());
    let in_a_row = UserDatatype::vector(3, 2, 2, &word());
    assert!(in_a_row.as_raw() == UserDatatype::contiguous(6, &word()).as_raw());
    let split = UserDatatype::indexed(&[2, 2, 2], &[0, 4, 9], &word());
    assert!(vector.as_raw() != split.as_raw());
}

/// Calls each constructor with the largest arguments that its types allow. It must return a type,
/// at once and in little memory, or panic because the type is too large.
#[test]
fn the_largest_arguments_make_a_type_or_are_refused() {
    const MOST: Count = Count::MAX;
    const FAR: Address = Address::MAX;
    let (byte, long) = (u8::equivalent_datatype, u64::equivalent_datatype);
    type Make<'a> = &'a dyn Fn() -> UserDatatype;
    let fit: [Make<'_>; 9] = [
        &|| UserDatatype::vector(MOST, 1, 2, &long()),
        &|| UserDatatype::vector(MOST, 1, -2, &long()),
        &|| UserDatatype::vector(MOST, 1, Count::MIN, &byte()),
        &|| UserDatatype::vector(MOST, MOST, 0, &byte()),
        &|| UserDatatype::vector(MOST, MOST, MOST, &byte()),
        &|| UserDatatype::heterogeneous_vector(MOST, 1, 1 << 31, &long()),
        &|| UserDatatype::indexed(&[MOST, MOST], &[MOST, Count::MIN], &long()),
        &|| UserDatatype::heterogeneous_indexed(&[1, 1], &[0, FAR - 1], &byte()),
        &|| UserDatatype::contiguous(MOST, &UserDatatype::contiguous(0, &long())),
    ];
    for (number, make) in fit.into_iter().enumerate() {
        assert!(make().as_raw() == make().as_raw(), "{number}");
    }
    let wrong: [Make<'_>; 10] = [
        &|| UserDatatype::vector(MOST, MOST, MOST, &long()),
        &|| UserDatatype::vector(MOST, MOST, 0, &long()),
        &|| UserDatatype::vector(2, 1, MOST, &UserDatatype::vector(MOST, 1, MOST, &byte())),
        &|| UserDatatype::heterogeneous_vector(MOST, 1, FAR, &byte()),
        &|| UserDatatype::heterogeneous_vector(2, 1, Address::MIN, &byte()),
        &|| UserDatatype::heterogeneous_vector(2, 2, FAR, &byte()),
        &|| UserDatatype::heterogeneous_indexed(&[1, 1], &[FAR, -2], &byte()),
        &|| UserDatatype::heterogeneous_indexed_block(1, &[FAR], &byte()),
        &|| UserDatatype::structured(&[1, 1], &[FAR - 8, -9], &[long(), long()]),
        &|| UserDatatype::indexed(&[1], &[MOST], &UserDatatype::vector(2, 1, MOST, &vast())),
    ];
    fn vast() -> UserDatatype {
        UserDatatype::vector(2, 1, MOST, &u64::equivalent_datatype())
    }
    for (number, make) in wrong.into_iter().enumerate() {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(make));
        let panic = panic.map(|_| ()).expect_err(&number.to_string());
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or(panic.downcast_ref::<&str>().copied()).unwrap_or("");
        assert!(
            said.contains("exceeds the address space"),
            "{number}: {said}"
        );
    }
}

/// Makes an element of very many bytes, all of which are one byte of memory.
#[test]
fn a_message_that_is_larger_than_memory_is_refused() {
    alone(|world| {
        let row = UserDatatype::vector(Count::MAX, 1, 0, &u8::equivalent_datatype());
        let all = UserDatatype::vector(Count::MAX, 1, 0, &row);
        let byte = 7_u8;
        // SAFETY: the element refers to `byte` only.
        let view = unsafe { View::with_count_and_datatype(&byte, 1, &all) };
        assert!(panics(|| world.this_process().send(&view)));
        assert!(panics(|| world.pack(&view)));
    });
}

#[test]
fn packing_from_and_to_a_position() {
    alone(|world| {
        let mut bytes = [0_u8; 9];
        let position = world.pack_into(&[1_u16, 2], &mut bytes, 1);
        let position = world.pack_into(&3_u32, &mut bytes, position);
        assert_eq!(position, 9);
        let (mut shorts, mut word) = ([0_u16; 2], 0_u32);
        // SAFETY: every bit pattern is a valid integer.
        unsafe {
            let position = world.unpack_into(&bytes, &mut shorts, 1);
            world.unpack_into(&bytes, &mut word, position);
        }
        assert_eq!((shorts, word), ([1, 2], 3));
        for position in [-1, 8, Count::MAX] {
            let beyond = std::panic::catch_unwind(|| {
                let universe_bytes = &mut [0_u8; 9];
                SimpleCommunicator::world().pack_into(&1_u32, universe_bytes, position)
            });
            assert!(beyond.is_err());
        }
    });
}

/// Implements `Equivalence` as rsmpi's derive does: by the fields, regardless of the size of the
/// struct.
macro_rules! of_its_fields {
    ($name:ident: $($field:tt: $count:literal $of:ty),*) => {
        // SAFETY: the datatype describes all fields. Its extent may differ from the size of the
        // type, which the crate has to detect.
        unsafe impl Equivalence for $name {
            type Out = DatatypeRef<'static>;

            fn equivalent_datatype() -> Self::Out {
                let datatype = UserDatatype::structured::<DatatypeRef<'_>>(
                    &[$($count),*],
                    &[$(offset_of!($name, $field) as Address),*],
                    &[$(<$of>::equivalent_datatype()),*],
                );
                // SAFETY: the handle stays valid, because layouts are never freed.
                unsafe { DatatypeRef::from_raw(datatype.as_raw()) }
            }
        }
    };
}

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, packed)]
struct Packed(u32, u8);
of_its_fields!(Packed: 0: 1 u32, 1: 1 u8);

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(16))]
struct Aligned(u32);
of_its_fields!(Aligned: 0: 1 u32);

#[derive(Debug, Clone, Copy, PartialEq)]
struct Several([Packed; 4]);
of_its_fields!(Several: 0: 4 Packed);

/// Eight numbers. `Line` has the same field in a whole cache line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Plain([u64; 8]);
of_its_fields!(Plain: 0: 8 u64);

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
struct Line([u64; 8]);
of_its_fields!(Line: 0: 8 u64);

fn panics<R>(f: impl FnOnce() -> R) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err()
}

/// Sends arrays of values whose size differs from the extent of their datatype. This is refused,
/// because other bytes than those of the elements would be read and written.
#[test]
fn values_with_another_extent_are_sent_one_by_one() {
    alone(|world| {
        let me = world.this_process();
        me.send(&Packed(1, 2));
        assert!(me.receive::<Packed>().0 == Packed(1, 2));
        me.send(&Aligned(3));
        assert_eq!(me.receive::<Aligned>().0, Aligned(3));
        assert!(panics(|| me.send(&[Packed(1, 2); 8])));
        assert!(panics(|| me.send(&vec![Aligned(3); 8])));
        assert!(panics(|| DynBuffer::new(&[Aligned(3)])));
        let several = Several([Packed(1, 2); 4]);
        assert!(panics(|| me.send(&several)));
        me.send(&[1_u32, 2]);
        assert!(panics(|| me.receive_vec::<Aligned>()));
        me.send(&[0_u8; 20]);
        assert!(panics(|| me.receive::<Several>()));
    });
}

/// Downcasts buffers to types with the same datatype, but a larger alignment or size. This is
/// refused.
#[test]
fn a_buffer_is_not_taken_for_one_that_is_aligned_to_more() {
    #[repr(C, align(64))]
    struct Beside(u64, [Plain; 2]);
    let mut beside = Beside(0, [Plain([1; 8]); 2]);
    let buffer = DynBuffer::new(&beside.1);
    assert!(buffer.is::<Line>() && buffer.downcast::<Line>().is_none());
    assert_eq!(buffer.downcast::<Plain>().unwrap().len(), 2);
    let mut buffer = DynBufferMut::new(&mut beside.1);
    assert!(buffer.reborrow_mut().downcast::<Line>().is_none());
    assert!(buffer.downcast::<Plain>().is_some());
    // With a larger size, a slice would reach beyond the buffer.
    struct Word(u32);
    of_its_fields!(Word: 0: 1 u32);
    let words = [const { Word(1) }; 8];
    assert_eq!(words[7].0, 1);
    assert!(DynBuffer::new(&words).downcast::<Aligned>().is_none());
    let lines = [Line([2; 8]), Line([3; 8])];
    let mut sum = [Line([5; 8]); 2];
    let add = UserOperation::commutative(|from, to| {
        let (from, to) = (
            from.downcast::<Line>().unwrap(),
            to.downcast::<Line>().unwrap(),
        );
        for (from, to) in from.iter().zip(to) {
            to.0[7] += from.0[7];
        }
    });
    reduce_local_into(&lines[..], &mut sum[..], &add);
    assert_eq!((sum[0].0[7], sum[1].0[7], sum[1].0[6]), (7, 8, 5));
}
