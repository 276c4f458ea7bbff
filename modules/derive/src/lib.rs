//! `#[derive(Payload)]`, which `graphmap_runtime` re-exports with its feature `derive`.
//!
//! The derive reads the fields of a type and passes them to `graphmap_runtime::payload!`, which
//! generates the implementation. So the encoding is defined once. The crate has no dependencies,
//! because each new project compiles it.

mod item;

use item::{Error, Fields, Item};
use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Implements `graphmap_runtime::Payload` for a struct or an enum whose fields are payloads.
///
/// The bytes of a value are the bytes of its fields in order. In an enum, the number of the variant
/// precedes them. Type parameters must be payloads, too.
///
/// A union, a type with a lifetime, and an enum without variants are compile errors.
///
/// ```
/// use graphmap_runtime::{Decoder, Encoder, Payload};
///
/// #[derive(Debug, PartialEq, Payload)]
/// struct Task {
///     rows: std::ops::Range<u32>,
///     name: String,
/// }
///
/// #[derive(Debug, PartialEq, Payload)]
/// enum Answer<T> {
///     No,
///     Found(Task, T),
///     At { x: f64, y: f64 },
/// }
///
/// for answer in [Answer::No, Answer::Found(Task { rows: 1..3, name: "a".into() }, 7u8)] {
///     assert_eq!(Decoder::from_slice(&Encoder::to_vec(&answer)), Ok(answer));
/// }
/// ```
///
/// The expansion names the runtime `::graphmap_runtime`. In a crate that renames this dependency,
/// use `payload!`.
#[proc_macro_derive(Payload)]
pub fn payload(input: TokenStream) -> TokenStream {
    item::parse(input).map_or_else(error, implementation)
}

/// Returns the call of `payload!` that implements `Payload` for a type.
fn implementation(item: Item) -> TokenStream {
    let head = group(Delimiter::Bracket, head(&item));
    let mut call = text(if item.is_enum { "@enum" } else { "@struct" });
    call.extend([head]);
    for (number, variant) in item.variants.iter().enumerate() {
        let mut whole = text("Self");
        if item.is_enum {
            whole.extend(text("::"));
            whole.extend([TokenTree::from(variant.name.clone())]);
        }
        let (bindings, fields) = bound(&variant.fields);
        whole.extend(bindings);
        let whole = group(Delimiter::Bracket, whole);
        if item.is_enum {
            let number = TokenTree::from(Literal::usize_suffixed(number));
            let number = group(Delimiter::Bracket, number.into());
            let parts = [number, whole].into_iter().chain(fields);
            call.extend([group(Delimiter::Brace, parts.collect())]);
        } else {
            call.extend([whole]);
            call.extend(fields);
        }
    }
    let mut output = text("::graphmap_runtime::payload!");
    output.extend([group(Delimiter::Brace, call)]);
    output
}

/// Returns the name of a type and three groups in brackets: its parameters with their bounds, its
/// arguments, and its `where` clause. Type parameters get the bound `Payload` in addition to their
/// own.
fn head(item: &Item) -> TokenStream {
    let (mut declared, mut arguments) = (TokenStream::new(), TokenStream::new());
    for parameter in &item.parameters {
        declared.extend(parameter.before.clone());
        if parameter.is_type {
            declared.extend(text(": ::graphmap_runtime::Payload +"));
        }
        declared.extend(parameter.after.clone());
        declared.extend(text(","));
        arguments.extend([TokenTree::from(parameter.name.clone()), punct(',')]);
    }
    let clause = item.clause.iter().cloned().collect();
    let parts = [declared, arguments, clause];
    let parts = parts.map(|part| group(Delimiter::Bracket, part));
    let name = TokenTree::from(item.name.clone());
    [name].into_iter().chain(parts).collect()
}

/// Returns the part of a pattern that binds the fields of a variant, and the bound names with the
/// types of the fields. For a unit variant, the part is `None` and no names are bound.
fn bound(fields: &Fields) -> (Option<TokenTree>, TokenStream) {
    let (mut pattern, mut typed) = (TokenStream::new(), TokenStream::new());
    let mut bind = |number: usize, at: Span, ty: &[TokenTree]| {
        // Not the name of the field, because a constant of the user may have that name.
        let binding = Ident::new(
            &format!("__field{number}"),
            Span::mixed_site().located_at(at),
        );
        let binding = TokenTree::from(binding);
        typed.extend([binding.clone(), punct(':')]);
        typed.extend(ty.iter().cloned());
        typed.extend([punct(',')]);
        [binding, punct(',')]
    };
    let delimiter = match fields {
        Fields::Unit => return (None, typed),
        Fields::Tuple(types) => {
            for (number, ty) in types.iter().enumerate() {
                let at = ty.first().map_or(Span::call_site(), TokenTree::span);
                pattern.extend(bind(number, at, ty));
            }
            Delimiter::Parenthesis
        }
        Fields::Named(fields) => {
            for (number, (name, ty)) in fields.iter().enumerate() {
                pattern.extend([TokenTree::from(name.clone()), punct(':')]);
                pattern.extend(bind(number, name.span(), ty));
            }
            Delimiter::Brace
        }
    };
    (Some(group(delimiter, pattern)), typed)
}

/// Returns a `compile_error!` with the message of an error, at the position of the error.
fn error(error: Error) -> TokenStream {
    let message = TokenTree::from(Literal::string(&error.message));
    let mut output = text("::core::compile_error!");
    output.extend([group(Delimiter::Brace, message.into())]);
    // The compiler underlines from the first token to the last.
    let (first, last) = error.at;
    let mut at = first;
    let located = output.into_iter().map(|mut token| {
        token.set_span(at);
        at = last;
        token
    });
    located.collect()
}

fn text(text: &str) -> TokenStream {
    text.parse().expect("tokens")
}

fn group(delimiter: Delimiter, content: TokenStream) -> TokenTree {
    Group::new(delimiter, content).into()
}

fn punct(sign: char) -> TokenTree {
    Punct::new(sign, Spacing::Alone).into()
}
