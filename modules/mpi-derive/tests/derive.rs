//! Structs that derive `Equivalence`, which a rank sends to itself.

use mpi::datatype::DynBuffer;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

/// The library under another path.
mod reexported {
    pub(crate) mod mpi {
        pub(crate) use ::mpi::*;
    }
}

/// Runs a single rank, and returns the error of the run as text.
fn alone(rank: impl Fn(SimpleCommunicator) + Send + Sync + 'static) -> Result<(), String> {
    let ended = mpi::run(1, move || {
        let universe = mpi::initialize().unwrap();
        rank(universe.world());
    });
    ended.map(drop).map_err(|error| error.to_string())
}

#[derive(Debug, Clone, Copy, PartialEq, Equivalence)]
#[repr(C, packed)]
struct Packed(u32, u8);

#[derive(Debug, Clone, Copy, PartialEq, Equivalence)]
#[repr(align(32))]
struct Aligned {
    flag: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Equivalence)]
struct Mixed {
    small: u8,
    pairs: [(u8, u64); 3],
    #[allow(clippy::type_complexity)]
    nested: ((u8, [Aligned; 2]), u16),
    packed: [Packed; 5],
    none: [Packed; 0],
    grid: [[f32; 2]; 3],
    one: Aligned,
}

#[derive(Debug, Clone, Copy, PartialEq, Equivalence)]
#[mpi(crate = "crate::reexported::mpi")]
struct Nothing;

macro_rules! record {
    ($name:ident { $($field:ident: $of:ty),* }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Equivalence)]
        struct $name { $($field: $of),* }
    };
}
record!(Made {
    at: usize,
    of: [Packed; 2]
});

fn mixed(seed: u8) -> Mixed {
    let aligned = |of: u8| Aligned {
        flag: of.is_multiple_of(2),
    };
    Mixed {
        small: seed,
        pairs: std::array::from_fn(|at| (seed + at as u8, 1000 * u64::from(seed) + at as u64)),
        nested: (
            (seed, [aligned(seed), aligned(seed + 1)]),
            u16::from(seed) << 4,
        ),
        packed: std::array::from_fn(|at| Packed(u32::from(seed) << 20 | at as u32, at as u8)),
        none: [],
        grid: [[f32::from(seed); 2]; 3],
        one: aligned(seed),
    }
}

/// Sends structs whose size differs from the sum of their fields.
#[test]
fn values_arrays_and_slices_of_structs_are_what_was_sent() {
    alone(|world| {
        let me = world.this_process();
        me.send(&mixed(7));
        assert_eq!(me.receive::<Mixed>().0, mixed(7));
        let many: Vec<Mixed> = (0..9).map(mixed).collect();
        me.send(&many);
        assert_eq!(me.receive_vec::<Mixed>().0, many);
        let packed: Vec<Packed> = (0..9).map(|at| Packed(at << 9, at as u8)).collect();
        me.send(&packed);
        assert_eq!(me.receive_vec::<Packed>().0, packed);
        let aligned = [Aligned { flag: true }, Aligned { flag: false }];
        me.send(&aligned);
        let mut got = [Aligned { flag: false }; 2];
        me.receive_into(&mut got);
        assert_eq!(got, aligned);
        let made = Made {
            at: 3,
            of: [Packed(1, 2); 2],
        };
        me.send(&made);
        assert_eq!(me.receive::<Made>().0, made);
        me.send(&[Nothing; 3]);
        assert_eq!(
            me.receive_vec::<Nothing>()
                .1
                .count(Nothing::equivalent_datatype()),
            0
        );
        assert_eq!(
            DynBuffer::new(&packed[..]).downcast::<Packed>(),
            Some(&packed[..])
        );
    })
    .unwrap();
}

/// Sends bytes that are not valid values to an array.
#[test]
fn invalid_bool_bytes_are_errors() {
    let told = alone(|world| {
        let me = world.this_process();
        me.send(&[1_u8, 2]);
        let _ = me.receive_into(&mut [Aligned { flag: false }; 2]);
    })
    .unwrap_err();
    assert!(told.contains("bool"), "{told}");
}

/// Returns NaN for zeros. The sign of NaN may differ between compile time and run time, so `length`
/// is 1 in a type and may be 65 in a program.
#[inline(never)]
const fn no_number(x: f64, y: f64) -> f64 {
    x / y
}

const fn length() -> usize {
    ((no_number(0.0, 0.0).to_bits() >> 63) as usize) * 64 + 1
}

#[derive(Debug, Clone, Copy, PartialEq, Equivalence)]
struct Odd([u8; length()]);

const DERIVED: usize = 2;

/// Lengths in all syntactic forms.
#[derive(Debug, Clone, Copy, PartialEq, Equivalence)]
#[allow(unused_parens)]
struct Lengths(
    [u8; DERIVED],
    [u8; if DERIVED > 1 { 1 } else { 2 }],
    [u8; (3)],
    [u8; [1, 2][1]],
);

#[test]
fn array_length_is_taken_from_the_type() {
    alone(|world| {
        let me = world.this_process();
        let odd = Odd([1; length()]);
        me.send(&odd);
        let (got, status) = me.receive::<Odd>();
        assert_eq!((got, status.count(u8::equivalent_datatype())), (odd, 1));
        let lengths = Lengths([1, 2], [3], [4, 5, 6], [7, 8]);
        me.send(&lengths);
        assert_eq!(me.receive::<Lengths>().0, lengths);
    })
    .unwrap();
}

/// Type whose datatype is smaller than the type. `Equivalence` allows that if only one value is
/// sent at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(8))]
struct Short(u32);

// SAFETY: the datatype describes all bytes except padding.
unsafe impl Equivalence for Short {
    type Out = <u32 as Equivalence>::Out;

    fn equivalent_datatype() -> Self::Out {
        u32::equivalent_datatype()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Equivalence)]
struct Shorts([Short; 2]);

#[test]
fn array_of_elements_with_another_extent_panics() {
    let told = alone(|world| world.this_process().send(&Shorts([Short(1); 2]))).unwrap_err();
    assert!(
        told.contains("Short has 8 bytes, but the extent of its datatype is 4"),
        "{told}"
    );
}
