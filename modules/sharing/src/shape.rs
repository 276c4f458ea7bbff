//! Converts types to [`Shape`]s.

use crate::facts::Shape;
use crate::names::{self, Names, ScopeId};
use syn::{GenericArgument, PathArguments, Type};

/// Maximum nesting of a type that is examined.
const DEEPEST: usize = 64;

/// Returns the structure of a type, whose names are resolved in a scope. Parts that nest too
/// deeply, trait objects, types of macros and unknown forms are opaque.
pub(crate) fn of(ty: &Type, names: &Names, scope_id: ScopeId) -> Shape {
    at(ty, (names, scope_id), DEEPEST)
}

fn at(ty: &Type, names: (&Names, ScopeId), depth: usize) -> Shape {
    let Some(depth) = depth.checked_sub(1) else {
        return Shape::Opaque("a deeply nested type");
    };
    let within = |ty: &Type| at(ty, names, depth);
    match ty {
        Type::Array(array) => Shape::Parts(vec![within(&array.elem)]),
        Type::Slice(slice) => Shape::Parts(vec![within(&slice.elem)]),
        Type::Reference(reference) if reference.mutability.is_none() => {
            Shape::Parts(vec![within(&reference.elem)])
        }
        // A shared reference to a `&mut` does not permit writes.
        Type::Reference(reference) => Shape::Parts(vec![within(&reference.elem)]),
        Type::Tuple(tuple) => Shape::Parts(tuple.elems.iter().map(within).collect()),
        Type::Paren(inner) => within(&inner.elem),
        Type::Group(inner) => within(&inner.elem),
        Type::BareFn(_) | Type::Never(_) => Shape::Parts(Vec::new()),
        Type::Ptr(_) => Shape::Pointer,
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else {
                return Shape::Opaque("an unnamed type");
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
            if path.qself.is_some() {
                return Shape::Named(names::name(&last.ident), arguments);
            }
            let parts = path.path.segments.iter().map(|s| names::name(&s.ident));
            named(&parts.collect::<Vec<_>>(), arguments, names)
        }
        Type::TraitObject(_) => Shape::Opaque("a trait object"),
        Type::Macro(_) => Shape::Opaque("the type of a macro"),
        _ => Shape::Opaque("an unknown form of type"),
    }
}

/// Returns the structure of a type from its path and type arguments. If the path is ambiguous, the
/// result contains each type that it may stand for.
fn named(path: &[String], arguments: Vec<Shape>, (names, scope_id): (&Names, ScopeId)) -> Shape {
    let known = names.meant(scope_id, path).into_iter().filter_map(|path| {
        let (last, is_rusts) = (path.last()?.clone(), names::is_rusts(&path));
        Some(match is_rusts {
            true => Shape::Rusts(last, arguments.clone()),
            false => Shape::Named(last, arguments.clone()),
        })
    });
    let globs = names.by_globs(scope_id, path).into_iter();
    let globs = globs.filter(|path| names::is_rusts(path));
    let perhaps =
        globs.filter_map(|path| Some(Shape::PerhapsRusts(path.last()?.clone(), arguments.clone())));
    let mut shapes: Vec<Shape> = known.chain(perhaps).collect();
    match shapes.len() {
        1 => shapes.remove(0),
        _ => Shape::Parts(shapes),
    }
}
