//! Compares types that derive `Payload` with the same types with `payload!`.

use graphmap_runtime::{Decoder, Encoder, Payload};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;

/// Returns the bytes of a value. Checks that they decode to the value, and that no prefix decodes.
#[track_caller]
fn bytes_of<T: Payload + PartialEq + Debug>(value: &T) -> Vec<u8> {
    let bytes = Encoder::to_vec(value);
    assert_eq!(value.size(), bytes.len());
    assert_eq!(Decoder::from_slice::<T>(&bytes).as_ref(), Ok(value));
    for end in 0..bytes.len() {
        assert!(Decoder::from_slice::<T>(&bytes[..end]).is_err());
    }
    bytes
}

/// Declares types in `derived` with the derive, and in `listed` with these lines of `payload!`.
macro_rules! twice {
    ({ $($item:item)* } { $($lines:tt)* }) => {
        mod derived {
            use super::*;
            $(#[derive(Debug, PartialEq, Payload)] $item)*
        }
        mod listed {
            use super::*;
            $(#[derive(Debug, PartialEq)] $item)*
            $($lines)*
        }
    };
}

twice! {
    {
        /// Fields with attributes and visibilities.
        pub(crate) struct Strip {
            /// Start of the strip.
            #[allow(unused)]
            pub first: u32,
            pub(in super) rest: BTreeMap<String, Vec<u16>>,
            pub(super) r#in: std::ops::Range<u8>,
        }
        pub(crate) struct Unit;
        pub(crate) struct NoFields {}
        pub(crate) struct NoMembers();
        pub(crate) struct Pair<A, B>(pub A, pub(crate) Vec<B>);
        pub(crate) enum Tree<T> {
            Leaf,
            Node(Box<Tree<T>>, T, Box<Self>),
            Named { name: String, to: u8, from: (), tag: [bool; 2] },
        }
    }
    {
        graphmap_runtime::payload!(Strip { first, rest, r#in });
        graphmap_runtime::payload!(Unit);
        graphmap_runtime::payload!(NoFields {});
        graphmap_runtime::payload!(NoMembers());
        graphmap_runtime::payload!(Pair<A, B>(left, right));
        graphmap_runtime::payload!(enum Tree<T> {
            Leaf,
            Node(left, here, right),
            Named { name, to, from, tag },
        });
    }
}

#[test]
fn the_bytes_are_those_of_the_macro() {
    macro_rules! same {
        ($($value:tt)*) => {{
            let derived = { use derived::*; bytes_of(&$($value)*) };
            let listed = { use listed::*; bytes_of(&$($value)*) };
            assert_eq!(derived, listed);
            derived.len()
        }};
    }
    let strip = same!(Strip {
        first: 7,
        rest: BTreeMap::from([("a".to_owned(), vec![1, 2, 3]), (String::new(), vec![])]),
        r#in: 1..9,
    });
    assert!(strip > 4 + 6 + 2);
    assert_eq!(same!(Unit), 1);
    assert_eq!(same!(NoFields {}), 1);
    assert_eq!(same!(NoMembers()), 1);
    assert_eq!(same!(Pair(3u8, vec![true, false])), 1 + 1 + 2);
    assert_eq!(same!(Tree::<u16>::Leaf), 1);
    let leaf = same!(Tree::Node(Box::new(Tree::Leaf), 5u16, Box::new(Tree::Leaf)));
    assert_eq!(leaf, 1 + 1 + 2 + 1);
    let named = same!(Tree::<u16>::Named {
        name: "to".into(),
        to: 1,
        from: (),
        tag: [true, false]
    });
    assert_eq!(named, 1 + 3 + 1 + 2);
}

#[test]
fn parameters_keep_their_bounds() {
    #[derive(Debug, PartialEq, Payload)]
    struct Grid<T: Copy + Into<f64> = f32, const W: usize = 2, U = Vec<Vec<u8>>>
    where
        U: IntoIterator<Item = Vec<u8>>,
        [T; W]: Debug,
    {
        rows: Vec<[T; W]>,
        rest: U,
        call: PhantomData<fn(T, u8) -> Vec<T>>,
    }
    let grid: Grid = Grid {
        rows: vec![[0.5, 1.5]],
        rest: vec![vec![1]],
        call: PhantomData,
    };
    assert_eq!(bytes_of(&grid).len(), 1 + 8 + 1 + 1 + 1);

    #[derive(Debug, PartialEq, Payload)]
    struct Tuple<F, T>(F, T)
    where
        F: Into<u64>;
    bytes_of(&Tuple(1u8, "a".to_owned()));

    #[derive(Debug, PartialEq, Payload)]
    enum Either<#[allow(unused)] L: PartialOrd<u8>, R>
    where
        R: Clone,
    {
        Left(L),
        Right { value: R },
    }
    bytes_of(&Either::<_, u8>::Left(1u8));
    bytes_of(&Either::<u8, _>::Right { value: 'a' });

    #[derive(Debug, PartialEq, Payload)]
    struct Qualified(
        <Vec<u8> as IntoIterator>::Item,
        <u8 as std::ops::Add<u8>>::Output,
    );
    assert_eq!(bytes_of(&Qualified(1, 2)), [1, 2]);
}

#[test]
fn variants_are_numbered_in_order() {
    #[derive(Debug, PartialEq, Payload)]
    #[repr(u8)]
    enum Colour {
        Red = 1 << 3,
        Green = if 1 < 2 { 77 } else { 78 },
        #[allow(unused)]
        Blue,
    }
    assert_eq!(bytes_of(&Colour::Red), [0]);
    assert_eq!(bytes_of(&Colour::Green), [1]);
    assert_eq!(bytes_of(&Colour::Blue), [2]);
    assert!(Decoder::from_slice::<Colour>(&[3]).is_err());
}

/// Commas between angle brackets do not separate variants, and operators are not brackets.
#[test]
fn a_discriminant_may_have_commas_in_angle_brackets() {
    const fn sum<const A: isize, const B: isize, const C: isize>() -> isize {
        A + B + C
    }
    trait Of<A, B> {
        const VALUE: isize;
    }
    impl Of<u8, Vec<u8>> for u8 {
        const VALUE: isize = 20;
    }
    impl Of<u8, u8> for fn(u8) -> u8 {
        const VALUE: isize = 30;
    }
    type First<A, B> = <(A, B) as Pair>::First;
    trait Pair {
        type First;
    }
    impl<A, B> Pair for (A, B) {
        type First = A;
    }
    const BLUE: isize = 3;
    #[derive(Debug, Clone, Copy, PartialEq, Payload)]
    enum Colour {
        Red = sum::<1, BLUE, { 1 << 2 }>(),
        Green = 1 + <u8 as Of<u8, Vec<u8>>>::VALUE,
        Blue = <fn(u8) -> u8 as Of<u8, u8>>::VALUE,
        Cast = 40_u8 as First<isize, u8>,
        Shifted = 1 << 9 | 1 << BLUE,
        Compared = if BLUE < 9 && BLUE <= 4 && 9 >> 1 > BLUE {
            77
        } else {
            78
        },
        Last,
    }
    let all = [
        Colour::Red,
        Colour::Green,
        Colour::Blue,
        Colour::Cast,
        Colour::Shifted,
        Colour::Compared,
        Colour::Last,
    ];
    assert_eq!(
        all.map(|colour| colour as isize),
        [8, 21, 30, 40, 520, 77, 78]
    );
    assert_eq!(
        all.map(|colour| bytes_of(&colour)[0]),
        [0, 1, 2, 3, 4, 5, 6]
    );
}

/// A list of these variants for `payload!` would exceed the recursion limit of macros.
#[test]
fn an_enum_may_have_hundreds_of_variants() {
    macro_rules! declare {
        ($($name:ident)*) => {{
            #[derive(Debug, PartialEq, Payload)]
            enum Many { $($name(u8)),* }
            [$(Many::$name(1)),*]
        }};
    }
    let all = declare! {
        V0 V1 V2 V3 V4 V5 V6 V7 V8 V9 V10 V11 V12 V13 V14 V15 V16 V17 V18 V19 V20 V21 V22 V23
        V24 V25 V26 V27 V28 V29 V30 V31 V32 V33 V34 V35 V36 V37 V38 V39 V40 V41 V42 V43 V44 V45
        V46 V47 V48 V49 V50 V51 V52 V53 V54 V55 V56 V57 V58 V59 V60 V61 V62 V63 V64 V65 V66 V67
        V68 V69 V70 V71 V72 V73 V74 V75 V76 V77 V78 V79 V80 V81 V82 V83 V84 V85 V86 V87 V88 V89
        V90 V91 V92 V93 V94 V95 V96 V97 V98 V99 V100 V101 V102 V103 V104 V105 V106 V107 V108
        V109 V110 V111 V112 V113 V114 V115 V116 V117 V118 V119 V120 V121 V122 V123 V124 V125
        V126 V127 V128 V129 V130 V131 V132 V133 V134 V135 V136 V137 V138 V139 V140 V141 V142
        V143 V144 V145 V146 V147 V148 V149 V150 V151 V152 V153 V154 V155 V156 V157 V158 V159
        V160 V161 V162 V163 V164 V165 V166 V167 V168 V169 V170 V171 V172 V173 V174 V175 V176
        V177 V178 V179 V180 V181 V182 V183 V184 V185 V186 V187 V188 V189 V190 V191 V192 V193
        V194 V195 V196 V197 V198 V199
    };
    for (number, one) in all.iter().enumerate() {
        let length = if number < 128 { 1 } else { 2 };
        assert_eq!(bytes_of(one).len(), length + 1);
    }
}

/// Names of the prelude and of the runtime have other meanings here.
mod shadowed {
    #![allow(non_camel_case_types, non_upper_case_globals, unused)]

    pub(crate) struct Result;
    pub(crate) struct Option;
    pub(crate) struct Ok;
    pub(crate) struct Err;
    pub(crate) struct Encoder;
    pub(crate) struct Decoder;
    pub(crate) struct Payload;
    pub(crate) struct usize;
    pub(crate) trait Sized {}
    pub(crate) const value: u8 = 9;
    pub(crate) mod core {}
    pub(crate) mod std {}
    pub(crate) mod graphmap_runtime {}
    macro_rules! payload {
        ($($any:tt)*) => {
            compile_error!("another macro")
        };
    }
    macro_rules! stringify {
        ($($any:tt)*) => {
            compile_error!("another macro")
        };
    }

    #[derive(Debug, PartialEq, ::graphmap_runtime::Payload)]
    pub(crate) struct Point {
        pub(crate) value: u8,
        pub(crate) to: u8,
    }

    #[derive(Debug, PartialEq, ::graphmap_runtime::Payload)]
    pub(crate) enum Answer {
        Ok { to: u8 },
        Err(Point),
    }
}

#[test]
fn names_of_the_users_may_be_any() {
    use shadowed::{Answer, Point};
    let point = Point { value: 1, to: 2 };
    assert_eq!(bytes_of(&point), [1, 2]);
    assert_eq!(bytes_of(&Answer::Ok { to: 3 }), [0, 3]);
    assert_eq!(bytes_of(&Answer::Err(point)), [1, 1, 2]);
}

/// A macro passes fragments in groups without delimiters.
#[test]
fn a_macro_may_declare_the_type() {
    macro_rules! declare {
        ($vis:vis $name:ident $inner:vis $field:ident $ty:ty, $bound:path) => {
            #[derive(Debug, PartialEq, Payload)]
            $vis struct $name<T: $bound> {
                $inner $field: $ty,
                pub all: Vec<$ty>,
                other: T,
            }
            mod tuple {
                use graphmap_runtime::Payload;
                #[derive(Debug, PartialEq, Payload)]
                $vis struct $name(pub(super) $ty, $inner $ty, pub (u8, $ty), pub (crate) $ty);
            }
        };
    }
    declare!(pub(crate) Seen pub(crate) number (u8, u8), Copy);
    bytes_of(&Seen {
        number: (1, 2),
        all: vec![(3, 4)],
        other: 5u8,
    });
    let tuple = tuple::Seen((1, 2), (3, 4), (5, (6, 7)), (8, 9));
    assert_eq!(bytes_of(&tuple), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

/// An empty `$vis` passes nothing, or an empty group.
mod of_a_macro {
    use graphmap_runtime::Payload;

    macro_rules! declare {
        ($vis:vis $name:ident $inner:vis $ty:ty) => {
            #[derive(Debug, PartialEq, Payload)]
            $vis struct $name($inner $ty, $inner Vec<$ty>);
        };
    }
    declare!(Hidden u8);

    #[test]
    fn visibility_may_be_empty() {
        assert_eq!(super::bytes_of(&Hidden(1, vec![2])), [1, 1, 2]);
    }
}
