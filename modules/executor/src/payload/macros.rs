//! Payloads of the user's types.

/// The [`Format`](crate::Format) of a type, if it is a [`Payload`](crate::Payload): for code that is
/// generated before that is known. The type has to be written out: of a type parameter it is `None`.
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

/// Makes a struct or enum of yours a [`Payload`](crate::Payload): its name and all its fields or
/// variants, each as it would stand in a pattern.
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
/// A type that another library can already write down, such as one that has serde's derives, needs no fields listed: `by`
/// names the functions of a format. The first makes bytes of a reference, the second a value of a slice; each gives a
/// `Result`. What cannot be written down ends the process that sends it as a panic does.
///
/// ```
/// # fn to_text(seconds: &Seconds) -> Result<String, String> { Ok(seconds.0.to_string()) }
/// # fn from_text(bytes: &[u8]) -> Result<Seconds, String> {
/// #     let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
/// #     text.parse().map(Seconds).map_err(|error| format!("{text}: {error}"))
/// # }
/// use graphmap_runtime::{Decoder, Encoder};
///
/// // With `#[derive(serde::Serialize, serde::Deserialize)]`: `by postcard::to_allocvec, postcard::from_bytes`, or those of
/// // serde_json, rmp_serde and so on.
/// #[derive(Debug, PartialEq)]
/// struct Seconds(u8);
/// graphmap_runtime::payload!(Seconds by to_text, from_text);
///
/// let bytes = Encoder::to_vec(&Seconds(77));
/// assert_eq!(Decoder::from_slice(&bytes), Ok(Seconds(77)));
/// assert!(Decoder::from_slice::<Seconds>(&bytes[..2]).is_err());
/// ```
///
/// A field or variant that is left out is an error of the compiler, and so is one whose type is no
/// payload:
///
/// ```compile_fail
/// struct Task { rows: u32, name: String }
/// graphmap_runtime::payload!(Task { rows });
/// ```
#[macro_export]
macro_rules! payload {
    (enum $name:ident $(<$($of:ident),+ $(,)?>)? { $($variants:tt)* }) => {
        $crate::payload!(@variants [$name [$($($of)+)?]] [] 0usize; $($variants)* ,);
    };
    ($name:ident $(<$($of:ident),+ $(,)?>)? { $($field:ident),* $(,)? }) => {
        $crate::payload!(@struct [$name [$($($of)+)?]] ($name { $($field),* }) $($field)*);
    };
    ($name:ident $(<$($of:ident),+ $(,)?>)? ( $($field:ident),* $(,)? )) => {
        $crate::payload!(@struct [$name [$($($of)+)?]] ($name ( $($field),* )) $($field)*);
    };
    ($name:ident $(<$($of:ident),+ $(,)?>)?) => {
        $crate::payload!(@struct [$name [$($($of)+)?]] ($name));
    };

    ($name:ident $(<$($of:ty),+ $(,)?>)? by $write:expr, $read:expr $(,)?) => {
        impl $crate::Payload for $name $(<$($of),+>)? {
            fn size(&self) -> usize {
                let length = match $write(self) {
                    ::core::result::Result::Ok(bytes) => {
                        ::core::convert::AsRef::<[u8]>::as_ref(&bytes).len()
                    }
                    // To encode it tells why.
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
                        ::core::panic!("a {} cannot be written down: {error}", ::core::stringify!($name))
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

    (@struct [$name:ident [$($of:ident)*]] ($($whole:tt)*) $($field:ident)*) => {
        impl<$($of: $crate::Payload),*> $crate::Payload for $name<$($of),*> {
            fn size(&self) -> usize {
                let $($whole)* = self;
                // A struct without bytes would have none to be counted by.
                1usize.max(0usize $(+ $crate::Payload::size($field))*)
            }
            fn encode<'payload>(&'payload self, to: &mut $crate::Encoder<'payload>) {
                let $($whole)* = self;
                $($crate::Payload::encode($field, to);)*
                if 0usize $(+ $crate::Payload::size($field))* == 0 {
                    to.copy(&[0]);
                }
            }
            fn decode(
                from: &mut $crate::Decoder<'_>,
            ) -> ::core::result::Result<Self, $crate::DecodeError> {
                let before = from.remaining();
                $(let $field = $crate::Payload::decode(from)?;)*
                if before == from.remaining() && from.take::<1>()? != [0] {
                    return ::core::result::Result::Err(from.error(::core::stringify!($name)));
                }
                ::core::result::Result::Ok($($whole)*)
            }
        }
    };

    // One variant after the other, with its number: what it looks like, and its fields.
    (@variants $type:tt [$($done:tt)*] $tag:expr; $(,)?) => {
        $crate::payload!(@enum $type $($done)*);
    };
    (@variants [$name:ident $of:tt] [$($done:tt)*] $tag:expr;
        $variant:ident { $($field:ident),* $(,)? }, $($rest:tt)*) => {
        $crate::payload!(@variants [$name $of]
            [$($done)* { [$tag] [$name::$variant { $($field),* }] $($field)* }]
            $tag + 1; $($rest)*);
    };
    (@variants [$name:ident $of:tt] [$($done:tt)*] $tag:expr;
        $variant:ident ( $($field:ident),* $(,)? ), $($rest:tt)*) => {
        $crate::payload!(@variants [$name $of]
            [$($done)* { [$tag] [$name::$variant ( $($field),* )] $($field)* }]
            $tag + 1; $($rest)*);
    };
    (@variants [$name:ident $of:tt] [$($done:tt)*] $tag:expr; $variant:ident, $($rest:tt)*) => {
        $crate::payload!(@variants [$name $of]
            [$($done)* { [$tag] [$name::$variant] }]
            $tag + 1; $($rest)*);
    };
    (@enum [$name:ident [$($of:ident)*]]
        $({ [$tag:expr] [$($whole:tt)*] $($field:ident)* })*) => {
        impl<$($of: $crate::Payload),*> $crate::Payload for $name<$($of),*> {
            fn size(&self) -> usize {
                match self {
                    $($($whole)* => {
                        $crate::Encoder::size_of_length($tag) $(+ $crate::Payload::size($field))*
                    })*
                }
            }
            fn encode<'payload>(&'payload self, to: &mut $crate::Encoder<'payload>) {
                match self {
                    $($($whole)* => {
                        to.length($tag);
                        $($crate::Payload::encode($field, to);)*
                    })*
                }
            }
            fn decode(
                from: &mut $crate::Decoder<'_>,
            ) -> ::core::result::Result<Self, $crate::DecodeError> {
                let tag = from.length()?;
                $(if tag == $tag {
                    $(let $field = $crate::Payload::decode(from)?;)*
                    return ::core::result::Result::Ok($($whole)*);
                })*
                ::core::result::Result::Err(from.error(::core::concat!(
                    "a variant of ", ::core::stringify!($name)
                )))
            }
        }
    };
}
