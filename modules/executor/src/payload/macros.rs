//! Payloads of user types.

/// Returns the [`Format`](crate::Format) of a type if it is a [`Payload`](crate::Payload).
///
/// Generated code calls it before it is known whether the type is a payload. The type must be a
/// concrete one: for a type parameter the macro returns `None`.
///
/// ```
/// use graphmap_runtime::format_of;
/// struct Opaque;
/// assert!(format_of!(Vec<f64>).is_some());
/// assert!(format_of!(Opaque).is_none());
/// ```
#[macro_export]
macro_rules! format_of {
    ($type:ty) => {{
        #[allow(unused_imports, reason = "which of the two depends on the type")]
        use $crate::{Known as _, Unknown as _};
        (&$crate::Probe::<$type>::new()).format()
    }};
}

/// Returns a function that makes the `Default` value of a type, if the type implements `Default`.
///
/// Generated code calls it before it is known whether the type does. The type must be a concrete
/// one: for a type parameter the macro returns `None`.
///
/// ```
/// use graphmap_runtime::default_of;
/// struct Opaque;
/// assert_eq!(default_of!(u64).map(|make| make()), Some(0));
/// assert!(default_of!(Opaque).is_none());
/// ```
#[macro_export]
macro_rules! default_of {
    ($type:ty) => {{
        #[allow(unused_imports, reason = "which of the two depends on the type")]
        use $crate::{Defaulted as _, Undefaulted as _};
        (&$crate::Probe::<$type>::new()).default_maker()
    }};
}

/// Implements [`Payload`](crate::Payload) for a struct or an enum of yours, from a list of its
/// fields or variants, each as in a pattern.
///
/// `#[derive(Payload)]` of `graphmap-runtime` reads the list from the type. This macro is for
/// programs without the feature `derive`, and for formats of other libraries (below).
///
/// ```
/// use graphmap_runtime::payload;
///
/// #[derive(Debug, PartialEq)]
/// struct Task { rows: std::ops::Range<u32>, name: String }
/// payload!(Task { rows, name });
///
/// struct Request;
/// payload!(Request);
///
/// struct Pair<T>(T, T);
/// payload!(Pair<T>(left, right));
///
/// #[derive(Debug, PartialEq)]
/// enum Answer { No, Found(Task), At { x: f64, y: f64 } }
/// payload!(enum Answer { No, Found(task), At { x, y } });
///
/// use graphmap_runtime::{Decoder, Encoder};
/// for answer in [Answer::No, Answer::At { x: 1.0, y: 2.0 }] {
///     assert_eq!(Decoder::from_slice(&Encoder::to_vec(&answer)), Ok(answer));
/// }
/// ```
///
/// A type that another library can already encode, such as one with serde's derives, needs no list
/// of fields: `by` names the functions of a format. The first function encodes a reference into
/// bytes, and the second decodes a slice into a value. Both return a `Result`. If encoding fails,
/// the process that sends the value panics.
///
/// ```
/// # fn to_text(seconds: &Seconds) -> Result<String, String> { Ok(seconds.0.to_string()) }
/// # fn from_text(bytes: &[u8]) -> Result<Seconds, String> {
/// #     let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
/// #     text.parse().map(Seconds).map_err(|error| format!("{text}: {error}"))
/// # }
/// use graphmap_runtime::{Decoder, Encoder};
///
/// // With `#[derive(serde::Serialize, serde::Deserialize)]`: `by postcard::to_allocvec,
/// // postcard::from_bytes`, or those of serde_json, rmp_serde and so on.
/// #[derive(Debug, PartialEq)]
/// struct Seconds(u8);
/// graphmap_runtime::payload!(Seconds by to_text, from_text);
///
/// let bytes = Encoder::to_vec(&Seconds(77));
/// assert_eq!(Decoder::from_slice(&bytes), Ok(Seconds(77)));
/// assert!(Decoder::from_slice::<Seconds>(&bytes[..2]).is_err());
/// ```
///
/// A missing field or variant is a compile error, and so is a field whose type is not a payload:
///
/// ```compile_fail
/// struct Task { rows: u32, name: String }
/// graphmap_runtime::payload!(Task { rows });
/// ```
#[macro_export]
macro_rules! payload {
    (enum $name:ident $(<$($of:ident),+ $(,)?>)? { $($variants:tt)* }) => {
        $crate::payload!(@variants [$name [$($($of: $crate::Payload),+)?] [$($($of),+)?] []] [] 0usize;
            $($variants)* ,);
    };
    ($name:ident $(<$($of:ident),+ $(,)?>)? { $($field:ident),* $(,)? }) => {
        $crate::payload!(@struct [$name [$($($of: $crate::Payload),+)?] [$($($of),+)?] []]
            [$name { $($field),* }] $($field: _),*);
    };
    ($name:ident $(<$($of:ident),+ $(,)?>)? ( $($field:ident),* $(,)? )) => {
        $crate::payload!(@struct [$name [$($($of: $crate::Payload),+)?] [$($($of),+)?] []]
            [$name ( $($field),* )] $($field: _),*);
    };
    ($name:ident $(<$($of:ident),+ $(,)?>)?) => {
        $crate::payload!(@struct [$name [$($($of: $crate::Payload),+)?] [$($($of),+)?] []] [$name]);
    };

    ($name:ident $(<$($of:ty),+ $(,)?>)? by $write:expr, $read:expr $(,)?) => {
        impl $crate::Payload for $name $(<$($of),+>)? {
            fn size(&self) -> usize {
                let length = match $write(self) {
                    ::core::result::Result::Ok(bytes) => {
                        ::core::convert::AsRef::<[u8]>::as_ref(&bytes).len()
                    }
                    // `encode` reports the reason.
                    ::core::result::Result::Err(_) => 0,
                };
                $crate::Encoder::size_of_length(length) + length
            }
            fn encode<'payload>(&'payload self, to: &mut $crate::Encoder<'payload>) {
                match $write(self) {
                    ::core::result::Result::Ok(bytes) => {
                        let bytes: &[u8] = ::core::convert::AsRef::as_ref(&bytes);
                        to.length(bytes.len());
                        to.copy(bytes);
                    }
                    ::core::result::Result::Err(error) => {
                        ::core::panic!("cannot encode a {}: {error}", ::core::stringify!($name))
                    }
                }
            }
            fn decode(
                from: &mut $crate::Decoder<'_>,
            ) -> ::core::result::Result<Self, $crate::DecodeError> {
                let length = from.length()?;
                let bytes = from.bytes(length)?;
                $read(bytes).map_err(|error| {
                    from.error(::std::format!("a {} ({error})", ::core::stringify!($name)))
                })
            }
        }
    };

    // `#[derive(Payload)]` also calls this arm and `@enum`, with the types of the fields in place
    // of `_`. The compiler then reports a type that is not a payload once, at the type. The head
    // consists of the name, the parameters, the arguments and the `where` clause. After it come
    // tokens that are both a pattern and an expression, and the names that they bind.
    (@struct [$name:ident [$($parameters:tt)*] [$($arguments:tt)*] [$($where:tt)*]]
        [$($whole:tt)*] $($field:ident: $type:ty),* $(,)?) => {
        impl<$($parameters)*> $crate::Payload for $name<$($arguments)*> $($where)* {
            fn size(&self) -> ::core::primitive::usize {
                let $($whole)* = self;
                // A struct without bytes takes one, so that values can be counted by their bytes.
                1usize.max(0usize $(+ <$type as $crate::Payload>::size($field))*)
            }
            fn encode<'payload>(&'payload self, to: &mut $crate::Encoder<'payload>) {
                let $($whole)* = self;
                $(<$type as $crate::Payload>::encode($field, to);)*
                if 0usize $(+ <$type as $crate::Payload>::size($field))* == 0 {
                    to.copy(&[0]);
                }
            }
            fn decode(
                from: &mut $crate::Decoder<'_>,
            ) -> ::core::result::Result<Self, $crate::DecodeError> {
                let before = from.remaining();
                $(let $field = <$type as $crate::Payload>::decode(from)?;)*
                if before == from.remaining() && from.take::<1>()? != [0] {
                    return ::core::result::Result::Err(from.error(::core::stringify!($name)));
                }
                ::core::result::Result::Ok($($whole)*)
            }
        }
    };

    // Takes one variant after the other, and appends its number, its pattern and its fields.
    (@variants $head:tt [$($done:tt)*] $tag:expr; $(,)?) => {
        $crate::payload!(@enum $head $($done)*);
    };
    (@variants [$name:ident $($head:tt)*] [$($done:tt)*] $tag:expr;
        $variant:ident { $($field:ident),* $(,)? }, $($rest:tt)*) => {
        $crate::payload!(@variants [$name $($head)*]
            [$($done)* { [$tag] [$name::$variant { $($field),* }] $($field: _),* }]
            $tag + 1; $($rest)*);
    };
    (@variants [$name:ident $($head:tt)*] [$($done:tt)*] $tag:expr;
        $variant:ident ( $($field:ident),* $(,)? ), $($rest:tt)*) => {
        $crate::payload!(@variants [$name $($head)*]
            [$($done)* { [$tag] [$name::$variant ( $($field),* )] $($field: _),* }]
            $tag + 1; $($rest)*);
    };
    (@variants [$name:ident $($head:tt)*] [$($done:tt)*] $tag:expr;
        $variant:ident, $($rest:tt)*) => {
        $crate::payload!(@variants [$name $($head)*]
            [$($done)* { [$tag] [$name::$variant] }]
            $tag + 1; $($rest)*);
    };
    (@enum [$name:ident [$($parameters:tt)*] [$($arguments:tt)*] [$($where:tt)*]]
        $({ [$tag:expr] [$($whole:tt)*] $($field:ident: $type:ty),* $(,)? })*) => {
        impl<$($parameters)*> $crate::Payload for $name<$($arguments)*> $($where)* {
            fn size(&self) -> ::core::primitive::usize {
                match self {
                    $($($whole)* => {
                        $crate::Encoder::size_of_length($tag)
                            $(+ <$type as $crate::Payload>::size($field))*
                    })*
                }
            }
            fn encode<'payload>(&'payload self, to: &mut $crate::Encoder<'payload>) {
                match self {
                    $($($whole)* => {
                        to.length($tag);
                        $(<$type as $crate::Payload>::encode($field, to);)*
                    })*
                }
            }
            fn decode(
                from: &mut $crate::Decoder<'_>,
            ) -> ::core::result::Result<Self, $crate::DecodeError> {
                let tag = from.length()?;
                $(if tag == $tag {
                    $(let $field = <$type as $crate::Payload>::decode(from)?;)*
                    return ::core::result::Result::Ok($($whole)*);
                })*
                ::core::result::Result::Err(from.error(::core::concat!(
                    "a variant of ", ::core::stringify!($name)
                )))
            }
        }
    };
}
