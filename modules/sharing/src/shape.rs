//! Types as [`Shape`]s.

use crate::facts::Shape;
use crate::names::{self, Names};
use syn::{GenericArgument, PathArguments, Type};

/// A type that nests more than this is not looked into further.
const DEEPEST: usize = 64;

/// What a type is made of.
pub(crate) fn of(ty: &Type, names: &Names) -> Shape {
    at(ty, names, DEEPEST)
}

fn at(ty: &Type, names: &Names, depth: usize) -> Shape {
    let Some(depth) = depth.checked_sub(1) else {
        return Shape::Opaque("a type that nests deeply");
    };
    let within = |ty: &Type| at(ty, names, depth);
    match ty {
        Type::Array(array) => Shape::Parts(vec![within(&array.elem)]),
        Type::Slice(slice) => Shape::Parts(vec![within(&slice.elem)]),
        Type::Reference(reference) if reference.mutability.is_none() => {
            Shape::Parts(vec![within(&reference.elem)])
        }
        // Through a shared reference to it nothing is written.
        Type::Reference(reference) => Shape::Parts(vec![within(&reference.elem)]),
        Type::Tuple(tuple) => Shape::Parts(tuple.elems.iter().map(within).collect()),
        Type::Paren(inner) => within(&inner.elem),
        Type::Group(inner) => within(&inner.elem),
        Type::BareFn(_) | Type::Never(_) => Shape::Parts(Vec::new()),
        Type::Ptr(_) => Shape::Pointer,
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else {
                return Shape::Opaque("a type without a name");
            };
            let arguments = match &last.arguments {
                PathArguments::AngleBracketed(arguments) => {
                    let types = arguments.args.iter().filter_map(|argument| match argument {
                        GenericArgument::Type(ty) => Some(within(ty)),
                        _ => None,
                    });
                    types.collect()
                }
                _ => Vec::new(),
            };
            let name = names::name(&last.ident);
            let name = match path.path.segments.len() {
                1 => names.original(&name).to_owned(),
                _ => name,
            };
            Shape::Named(name, arguments)
        }
        Type::TraitObject(_) => Shape::Opaque("a trait object"),
        Type::Macro(_) => Shape::Opaque("a macro's type"),
        _ => Shape::Opaque("a type of a new kind"),
    }
}
