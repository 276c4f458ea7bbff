//! Reads attributes that determine the file of a module, and whether it is compiled.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr};

/// Returns whether an attribute is `#[cfg(test)]` or `#[test]`. Other conditions that contain
/// `test` do not count.
pub(crate) fn is_test(attribute: &Attribute) -> bool {
    let of_cfg = || match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        _ => false,
    };
    attribute.path().is_ident("test") || of_cfg()
}

pub(crate) fn is_condition(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr")
}

/// Returns the paths in `#[cfg_attr(.., path = "..")]`, in their order. The list is empty for other
/// attributes, and if the attribute cannot be parsed.
pub(crate) fn conditional_paths(attribute: &Attribute) -> Vec<String> {
    let parse = Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
    let all = match attribute.path().is_ident("cfg_attr") {
        true => attribute.parse_args_with(parse).unwrap_or_default(),
        false => Punctuated::new(),
    };
    all.iter().filter_map(path_of).collect()
}

/// Returns the path in `#[path = ".."]`, or `None` for other attributes.
pub(crate) fn explicit_path(attribute: &Attribute) -> Option<String> {
    path_of(&attribute.meta)
}

fn path_of(meta: &syn::Meta) -> Option<String> {
    value_of(meta, "path")
}

/// Returns the text in `name = "text"`. Returns `None` for another name, another form, or a value
/// that is not a string literal.
pub(crate) fn value_of(meta: &syn::Meta, name: &str) -> Option<String> {
    match meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident(name) => match &pair.value {
            Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(text),
                ..
            }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}
