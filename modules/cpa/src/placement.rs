//! Containers and boxes of all files.

use crate::architecture::{Architecture, like, undefined};
use crate::syntax::{BoxesDecl, Container, Expr, File, Name, Range};
use graphmap_kpn::containers::{Boxes, evaluate};
use graphmap_kpn::diagnostic::{Diagnostics, Severity};

/// Returns the boxes of all files, in the order of the files. Reports errors.
pub(crate) fn boxes(
    architecture: &Architecture<'_>,
    files: &[File],
    diagnostics: &mut Diagnostics,
) -> Vec<Boxes> {
    let all = || files.iter().flat_map(|file| &file.containers);
    let containers: Vec<Container> = all().flat_map(|own| &own.containers).cloned().collect();
    let mut names = Names {
        architecture,
        containers: &containers,
        diagnostics,
    };
    let before = names.diagnostics.count(Severity::Error);
    for container in &containers {
        names.container(container);
    }
    for boxes in all().flat_map(|own| &own.boxes) {
        names.boxes(&boxes.declared);
    }
    if diagnostics.count(Severity::Error) > before {
        return Vec::new();
    }
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

/// Checks the names in containers and boxes.
struct Names<'a, 'f> {
    architecture: &'a Architecture<'f>,
    containers: &'a [Container],
    diagnostics: &'a mut Diagnostics,
}

impl Names<'_, '_> {
    fn container(&mut self, container: &Container) {
        for item in &container.items {
            self.prefix(&item.prefix);
            match item.count {
                Some(_) => {
                    self.architecture.process(&item.name, self.diagnostics);
                }
                None => self.is_container(&item.name),
            }
        }
    }

    fn boxes(&mut self, boxes: &BoxesDecl) {
        self.prefix(&boxes.prefix);
        self.is_container(&boxes.name);
    }

    fn is_container(&mut self, name: &Name) {
        let mut known = self.containers.iter().map(|own| &*own.name.text);
        if known.clone().any(|known| known == name.text) {
            return;
        }
        let error = undefined("container", name);
        let is_kind = self.architecture.find(&name.text).is_some();
        self.diagnostics.push(match (is_kind, known.next()) {
            (true, _) => error.help(format!("for a process, write a number: `{}[*]`", name.text)),
            (false, None) => error.help(format!(
                "define it: `containerspec {} = <Process[*]>`",
                name.text
            )),
            (false, Some(first)) => like(error, &name.text, std::iter::once(first).chain(known)),
        });
    }

    /// Checks that each name is a composition, or one of its instances: its name with a number.
    fn prefix(&mut self, prefix: &[Name]) {
        let names = self.architecture.compositions.iter();
        let names = names.map(|of| &*of.declaration.name.text);
        for name in prefix {
            let is_of = |of: &str| {
                let number = name.text.strip_prefix(of);
                number.is_some_and(|n| n.chars().all(|c| c.is_ascii_digit()))
            };
            if !names.clone().any(is_of) {
                let error = undefined("composition", name);
                self.diagnostics
                    .push(like(error, &name.text, names.clone()));
            }
        }
    }
}
