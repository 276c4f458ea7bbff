//! `#[derive(Equivalence)]`: composes the datatype of a struct from the datatypes of its fields.
//!
//! The derive macro of rsmpi describes the fields and computes the size of the struct from them.
//! This size is wrong for a struct that is packed or aligned to more than its fields, so MPI would
//! access elements of an array at wrong addresses. The code generated here names the types, and
//! `mpi` takes their sizes and field offsets from the compiler.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Field, Index, LitStr, Member, Path, Token, Type};

/// Derives the datatype of a struct: the datatype of each field, at the offset of the field.
///
/// A field may have any type that implements `Equivalence`, or be an array or tuple of such types.
/// The struct must not have generic parameters, because it has one datatype. Enums, unions, structs
/// with parameters, fields of other types and fields with an attribute `mpi` are compile errors.
/// `#[mpi(crate = "path::to::mpi")]` on the struct names the crate if it is not `::mpi`. Another
/// setting in that attribute, or two such settings, are a compile error.
#[proc_macro_derive(Equivalence, attributes(mpi))]
pub fn equivalence(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    let derived = derive(&input);
    derived.unwrap_or_else(Error::into_compile_error).into()
}

fn derive(input: &DeriveInput) -> Result<TokenStream, Error> {
    let Data::Struct(data) = &input.data else {
        let message = "`Equivalence` can be derived only for structs: a datatype cannot record the \
                       variant of an enum";
        return Err(Error::new_spanned(&input.ident, message));
    };
    if !input.generics.params.is_empty() {
        let message = "`Equivalence` cannot be derived for a struct with parameters, because it \
                       has one datatype";
        return Err(Error::new_spanned(&input.generics, message));
    }
    let mpi = mpi_path(&input.attrs)?;
    let mut wrong: Option<Error> = None;
    let fields: Vec<TokenStream> = (data.fields.iter().enumerate())
        .filter_map(|(at, field)| {
            let member = match &field.ident {
                Some(name) => Member::Named(name.clone()),
                None => Member::Unnamed(Index::from(at)),
            };
            let ty = &field.ty;
            match field_datatype(&mpi, field) {
                // Checks that the field has the described type, because another macro may have
                // changed the field since this one read it.
                Ok(of) => Some(quote!({
                    // SAFETY: the closure is never called. It only has to compile, which it does if
                    // the types are equal.
                    let _ = |of: *const Self| -> *const #ty { unsafe { &raw const (*of).#member } };
                    (::core::mem::offset_of!(Self, #member), #of)
                })),
                Err(error) => {
                    match &mut wrong {
                        Some(wrong) => wrong.combine(error),
                        None => wrong = Some(error),
                    }
                    None
                }
            }
        })
        .collect();
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    let name = &input.ident;
    let text = name.to_string();
    Ok(quote! {
        // SAFETY: the datatype describes each field by its own datatype at its own offset. Its
        // extent is the size of the struct.
        #[automatically_derived]
        #[allow(deprecated, unused_braces, unused_parens)]
        unsafe impl #mpi::datatype::Equivalence for #name {
            type Out = #mpi::datatype::DatatypeRef<'static>;

            fn equivalent_datatype() -> Self::Out {
                static __EQUIVALENT_DATATYPE: #mpi::internal::Derived = #mpi::internal::Derived::new();
                __EQUIVALENT_DATATYPE.get(#text, || #mpi::internal::struct_datatype::<Self>(&[#(#fields),*]))
            }
        }
    })
}

/// Returns an expression for the datatype of a field. `mpi` is the path of the crate `mpi`.
///
/// # Errors
/// Fails if the field has an attribute `mpi`, and as [`datatype`].
fn field_datatype(mpi: &Path, field: &Field) -> Result<TokenStream, Error> {
    match field.attrs.iter().find(|a| a.path().is_ident("mpi")) {
        Some(attribute) => {
            let message = "the attribute `mpi` is for structs, not for fields";
            Err(Error::new_spanned(attribute, message))
        }
        None => datatype(mpi, &field.ty),
    }
}

/// Returns an expression for the datatype of a type. `mpi` is the path of the crate `mpi`.
///
/// # Errors
/// Fails if the type, or a part of it, is not a path, an array or a tuple. Parentheses are ignored.
/// Only the first such part is reported. That a path implements `Equivalence` is checked later, by
/// the compiler.
fn datatype(mpi: &Path, of: &Type) -> Result<TokenStream, Error> {
    match of {
        Type::Path(_) => Ok(quote!(#mpi::internal::type_datatype::<#of>())),
        Type::Array(array) => {
            let of = datatype(mpi, &array.elem)?;
            // The length comes from the type, because an expression might have another value at run
            // time.
            Ok(quote!(#mpi::internal::array_datatype(::core::marker::PhantomData::<#array>, #of)))
        }
        Type::Tuple(tuple) => {
            let fields: Result<Vec<TokenStream>, Error> = (tuple.elems.iter().enumerate())
                .map(|(at, element)| {
                    let (at, element) = (Index::from(at), datatype(mpi, element)?);
                    Ok(quote!((::core::mem::offset_of!(#tuple, #at), #element)))
                })
                .collect();
            let fields = fields?;
            Ok(quote!(#mpi::internal::struct_datatype::<#tuple>(&[#(#fields),*])))
        }
        // Macros pass `$field:ty` as a group.
        Type::Group(group) => datatype(mpi, &group.elem),
        Type::Paren(paren) => datatype(mpi, &paren.elem),
        _ => {
            let of = of.to_token_stream();
            let message = format!(
                "`{of}` has no datatype: a field must have a type that implements `Equivalence`, \
                 or be an array or tuple of such types"
            );
            Err(Error::new(of.span(), message))
        }
    }
}

/// Returns the path of the `mpi` crate, from `#[mpi(crate = "...")]` if present. The default is
/// `::mpi`.
///
/// # Errors
/// Fails if an attribute `mpi` is not a list of settings `crate = "path"`, or if `crate` is given
/// twice, also in two attributes.
fn mpi_path(attributes: &[Attribute]) -> Result<Path, Error> {
    let mut found: Option<Path> = None;
    for attribute in attributes.iter().filter(|a| a.path().is_ident("mpi")) {
        let settings =
            attribute.parse_args_with(Punctuated::<Setting, Token![,]>::parse_terminated)?;
        for Setting(path) in settings {
            if found.replace(path).is_some() {
                let message = "`crate` is given twice";
                return Err(Error::new_spanned(attribute, message));
            }
        }
    }
    Ok(found.unwrap_or_else(|| syn::parse_quote!(::mpi)))
}

/// A setting `crate = "path"`.
struct Setting(Path);

impl syn::parse::Parse for Setting {
    fn parse(input: syn::parse::ParseStream<'_>) -> Result<Self, Error> {
        if !input.peek(Token![crate]) {
            return Err(input.error("expected `crate = \"path::to::mpi\"`"));
        }
        input.parse::<Token![crate]>()?;
        input.parse::<Token![=]>()?;
        let path: LitStr = input.parse()?;
        Ok(Setting(path.parse_with(Path::parse_mod_style)?))
    }
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    /// Returns the messages of the errors for a struct, in source order.
    fn errors_of(input: &DeriveInput) -> Vec<String> {
        let errors = derive(input).expect_err("it is wrong").into_iter();
        errors.map(|error| error.to_string()).collect()
    }

    #[test]
    fn types_without_datatype_are_errors() {
        let structs = "`Equivalence` can be derived only for structs: a datatype cannot record the \
                       variant of an enum";
        assert_eq!(
            errors_of(&parse_quote!(
                enum Which {
                    This,
                }
            )),
            [structs]
        );
        assert_eq!(
            errors_of(&parse_quote!(union Which { this: u8 })),
            [structs]
        );
        let plain = "`Equivalence` cannot be derived for a struct with parameters, because it has \
                     one datatype";
        assert_eq!(
            errors_of(&parse_quote!(
                struct Of<T>(T);
            )),
            [plain]
        );
        assert_eq!(
            errors_of(&parse_quote!(
                struct Of<'a>(u8, Also<'a>);
            )),
            [plain]
        );
        let of = |what| {
            format!(
                "`{what}` has no datatype: a field must have a type that implements `Equivalence`, \
                 or be an array or tuple of such types"
            )
        };
        let all: DeriveInput = parse_quote! {
            struct All { a: &'static str, b: u8, c: [*const u8; 3], d: (u8, fn(u8)) }
        };
        let skipped: DeriveInput = parse_quote!(
            struct Part {
                #[mpi(skip)]
                a: u8,
            }
        );
        let nothing = "the attribute `mpi` is for structs, not for fields";
        assert_eq!(errors_of(&skipped), [nothing]);
        assert_eq!(
            errors_of(&all),
            [of("& 'static str"), of("* const u8"), of("fn (u8)")]
        );
    }

    #[test]
    fn invalid_crate_paths_are_errors() {
        let twice: DeriveInput = parse_quote! {
            #[mpi(crate = "a")] #[mpi(crate = "b::mpi")] struct Word(u8);
        };
        assert_eq!(errors_of(&twice), ["`crate` is given twice"]);
        let other: DeriveInput = parse_quote!(
            #[mpi(path = "a")]
            struct Word(u8);
        );
        assert_eq!(errors_of(&other), ["expected `crate = \"path::to::mpi\"`"]);
        let no_path: DeriveInput = parse_quote!(
            #[mpi(crate = "a b")]
            struct Word(u8);
        );
        assert_eq!(errors_of(&no_path).len(), 1);
    }
}
