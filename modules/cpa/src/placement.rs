//! Containers and boxes of all files.

use crate::architecture::{Architecture, like, undefined};
use crate::syntax::{BoxesDecl, Container, Expr, File, Range};
use graphmap_kpn::containers::{Boxes, evaluate};
use graphmap_kpn::diagnostic::Diagnostics;

/// Returns the boxes of all files, in the order of the files. Reports errors.
pub(crate) fn boxes(
    architecture: &Architecture<'_>,
    files: &[File],
    diagnostics: &mut Diagnostics,
) -> Vec<Boxes> {
    let all = || files.iter().flat_map(|file| &file.containers);
    let containers: Vec<Container> = all().flat_map(|own| &own.containers).cloned().collect();
    let ranges: Vec<&Range> = all().flat_map(|own| &own.ranges).collect();
    let mut declared = Vec::new();
    for boxes in all().flat_map(|own| &own.boxes) {
        let mut range = None;
        if let Some((variable, name)) = &boxes.range {
            let Some(found) = ranges.iter().find(|range| range.name.text == name.text) else {
                let names = ranges.iter().map(|range| &*range.name.text);
                diagnostics.push(like(undefined("range", name), &name.text, names));
                continue;
            };
            let first = architecture.value_anywhere(&found.first, &[]);
            let last = architecture.value_anywhere(&found.last, &[]);
            match (first, last) {
                (Ok(first), Ok(last)) => range = Some((variable.clone(), first, last)),
                (Err(error), _) | (_, Err(error)) => {
                    diagnostics.push(*error);
                    continue;
                }
            }
        }
        declared.push(BoxesDecl {
            range,
            ..boxes.declared.clone()
        });
    }
    let values = |expr: &Expr, bound: Option<(&str, i64)>| {
        let bound: Vec<(&str, i64)> = bound.into_iter().collect();
        architecture.value_anywhere(expr, &bound)
    };
    evaluate(&containers, &declared, &values, diagnostics)
}
