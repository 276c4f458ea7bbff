//! Containers: the processes that OS processes may hold.
//!
//! A *container* lists kinds with numbers, and other containers. *Boxes* are OS processes, each
//! with the limits of a container. Both are those of R. K. S. Chung, "(CM)2PI:
//! Compose-Map-Configure MPI", MSc thesis, University of British Columbia, 2014, sections 3.1.1.3
//! and 4.1.

use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::nearest::nearest;
use crate::sizes::Place;
use crate::source::Span;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Limit on the number of OS processes of all boxes, and on the limits of all containers.
const MOST: usize = 1 << 20;

/// A name and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Its position.
    pub span: Span,
}

/// An expression, which is parsed when it is evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expr {
    /// The text.
    pub text: String,
    /// Its position.
    pub place: Place,
}

/// A number of processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// This number.
    Expr(Expr),
    /// `*`: any number.
    Any,
    /// `+`: at least one.
    Some,
}

/// A container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its name.
    pub name: Name,
    /// Its contents.
    pub items: Vec<Item>,
    /// Limit on the number of all processes.
    pub most: Option<Expr>,
}

/// A kind with a number, or a container, inside of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Modules around the processes, outermost first.
    pub prefix: Vec<Name>,
    /// Name of the kind or container.
    pub name: Name,
    /// The number, or `None` for a container.
    pub count: Option<Count>,
}

/// OS processes with the limits of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxesDecl {
    /// Modules around the processes, outermost first.
    pub prefix: Vec<Name>,
    /// Name of the container.
    pub name: Name,
    /// Number of OS processes, 1 if `None`.
    pub count: Option<Expr>,
    /// Variable of a loop, with its first and last value. Each value has boxes of its own.
    pub range: Option<(Name, i64, i64)>,
}

/// OS processes with equal limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boxes {
    /// Number of OS processes.
    pub count: u32,
    /// The limits. A process that no limit names may not be there.
    pub limits: Vec<Limit>,
    /// Name of the container.
    #[serde(default)]
    pub name: String,
    /// Position of the boxes.
    #[serde(skip, default = "nowhere")]
    pub span: Span,
}

/// Limit on the number of some processes in an OS process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The processes.
    pub of: Vec<KindPath>,
    /// Least number.
    #[serde(default)]
    pub least: u32,
    /// Largest number.
    #[serde(default = "any", skip_serializing_if = "is_any")]
    pub most: u32,
    /// Position of the number.
    #[serde(skip, default = "nowhere")]
    pub span: Span,
}

fn nowhere() -> Span {
    Span::NONE
}

fn any() -> u32 {
    u32::MAX
}

fn is_any(most: &u32) -> bool {
    *most == u32::MAX
}

/// The processes of a kind that are inside of modules.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindPath {
    /// Names or kinds of modules around the processes, outermost first. Other modules may be around
    /// and between them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<String>,
    /// The kind.
    pub kind: String,
}

/// Computes the values of expressions. Gets the expression, and the variable of a loop with its
/// value.
pub type Values<'a> = &'a dyn Fn(&Expr, Option<(&str, i64)>) -> Result<i64, Box<Diagnostic>>;

/// Returns the boxes of declarations, in order. Reports errors.
pub fn evaluate(
    containers: &[Container],
    boxes: &[BoxesDecl],
    values: Values<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Boxes> {
    let mut by_name: FxHashMap<&str, &Container> = FxHashMap::default();
    for container in containers {
        let name = &container.name;
        if let Some(other) = by_name.insert(&name.text, container) {
            diagnostics.push(
                error(format!("the container `{}` is defined twice", name.text))
                    .at(name.span, "second definition")
                    .also(other.name.span, "first definition")
                    .help("rename or remove one of the two"),
            );
        }
    }
    let mut evaluation = Evaluation {
        by_name,
        values,
        limits: 0,
        os_processes: 0,
    };
    let mut all = Vec::new();
    for declared in boxes {
        let rounds = match &declared.range {
            None => 0..=0,
            Some((_, first, last)) => *first..=*last,
        };
        for round in rounds {
            let bound = declared
                .range
                .as_ref()
                .map(|(name, ..)| (&*name.text, round));
            match evaluation.boxes(declared, bound) {
                Ok(boxes) => all.push(boxes),
                Err(error) => {
                    diagnostics.push(*error);
                    if evaluation.os_processes > MOST {
                        return all;
                    }
                    break;
                }
            }
        }
    }
    all
}

type Fallible<T> = Result<T, Box<Diagnostic>>;

struct Evaluation<'a> {
    by_name: FxHashMap<&'a str, &'a Container>,
    values: Values<'a>,
    limits: usize,
    os_processes: usize,
}

impl<'a> Evaluation<'a> {
    fn boxes(&mut self, declared: &BoxesDecl, bound: Option<(&str, i64)>) -> Fallible<Boxes> {
        let name = &declared.name;
        let count = match &declared.count {
            Some(count) => self.number(count, bound)?,
            None => 1,
        };
        // Boxes of no OS process count too, because a loop may have many.
        self.os_processes = self.os_processes.saturating_add(count.max(1) as usize);
        if self.os_processes > MOST {
            let message = format!("the boxes are more than {MOST} OS processes");
            return Err(Box::new(error(message).at(name.span, "")));
        }
        let mut contents = Contents::default();
        self.contents(name, &declared.prefix, bound, &mut contents)?;
        let Contents { kinds, mut limits } = contents;
        for (of, (least, most, span)) in kinds {
            limits.push(Limit {
                of: vec![of],
                least,
                most,
                span,
            });
        }
        Ok(Boxes {
            count,
            limits,
            name: name.text.clone(),
            span: name.span,
        })
    }

    /// Adds the contents of a container, and of the containers inside of it.
    fn contents(
        &mut self,
        name: &Name,
        prefix: &[Name],
        bound: Option<(&str, i64)>,
        out: &mut Contents,
    ) -> Fallible<()> {
        // Each entry is a container, its next item, and the kinds in it so far.
        let mut stack: Vec<(&'a Container, usize, Vec<KindPath>)> =
            vec![(self.container(name)?, 0, Vec::new())];
        while let Some((container, next, mut kinds)) = stack.pop() {
            let Some(item) = container.items.get(next) else {
                if let Some((.., around)) = stack.last_mut() {
                    around.extend(kinds.iter().cloned());
                }
                if let Some(most) = &container.most {
                    kinds.dedup();
                    out.limits.push(Limit {
                        of: kinds,
                        least: 0,
                        most: self.number(most, bound)?,
                        span: most.place.span,
                    });
                }
                continue;
            };
            self.limits += 1;
            if self.limits > MOST {
                let message = format!("the containers of the boxes have more than {MOST} entries");
                return Err(Box::new(error(message).at(item.name.span, "")));
            }
            let Some(count) = &item.count else {
                let inner = self.container(&item.name)?;
                let own = std::ptr::eq(container, inner);
                if own
                    || stack
                        .iter()
                        .any(|(around, ..)| std::ptr::eq(*around, inner))
                {
                    let message = format!("the container `{}` contains itself", inner.name.text);
                    let error = error(message).at(item.name.span, "");
                    return Err(Box::new(
                        error.help("remove it from one of the two containers"),
                    ));
                }
                stack.push((container, next + 1, kinds));
                stack.push((inner, 0, Vec::new()));
                continue;
            };
            let (least, most) = match count {
                Count::Any => (0, u32::MAX),
                Count::Some => (1, u32::MAX),
                Count::Expr(expr) => {
                    let number = self.number(expr, bound)?;
                    (number, number)
                }
            };
            let modules = prefix.iter().chain(&item.prefix);
            let of = KindPath {
                modules: modules.map(|module| module.text.clone()).collect(),
                kind: item.name.text.clone(),
            };
            kinds.push(of.clone());
            stack.push((container, next + 1, kinds));
            out.add(of, least, most, item.name.span);
        }
        Ok(())
    }

    fn container(&self, name: &Name) -> Fallible<&'a Container> {
        let found = self.by_name.get(&*name.text).copied();
        found.ok_or_else(|| {
            let message = format!("the container `{}` is not defined", name.text);
            let error = error(message).at(name.span, "");
            Box::new(match nearest(&name.text, self.by_name.keys().copied()) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(format!("for a kind, write a number: `{}[*]`", name.text)),
            })
        })
    }

    fn number(&self, expr: &Expr, bound: Option<(&str, i64)>) -> Fallible<u32> {
        let value = (self.values)(expr, bound)?;
        u32::try_from(value).map_err(|_| {
            let message = format!(
                "`{}` is {value}, which is not a number of processes",
                expr.text
            );
            let error = error(message).at(expr.place.span, "");
            Box::new(error.help("write a whole number from 0 to 4294967295"))
        })
    }
}

/// The merged contents of containers.
#[derive(Default)]
struct Contents {
    /// Least and largest number of the processes of each kind.
    kinds: Vec<(KindPath, (u32, u32, Span))>,
    /// Limits on the processes of several kinds.
    limits: Vec<Limit>,
}

impl Contents {
    /// Adds the numbers of a kind to those that it has.
    fn add(&mut self, of: KindPath, least: u32, most: u32, span: Span) {
        if let Some((_, known)) = self.kinds.iter_mut().find(|(known, _)| *known == of) {
            known.0 = known.0.saturating_add(least);
            known.1 = known.1.saturating_add(most);
        } else {
            self.kinds.push((of, (least, most, span)));
        }
    }
}

fn error(message: String) -> Diagnostic {
    Diagnostic::error(codes::BAD_CONTAINER, message)
}
