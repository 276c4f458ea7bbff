//! Errors about constructs that the notation does not have, and names.

use crate::codes::NOT_EXPRESSIBLE;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// Errors, each once for a position.
#[derive(Default)]
pub(super) struct Refused {
    found: Diagnostics,
    known: FxHashSet<(Span, String)>,
}

impl Refused {
    /// Reports a construct, given in the plural, at its position.
    pub(super) fn construct(&mut self, what: &str, span: Span) {
        let message = format!("the notation of (CM)2PI has no {what}");
        self.report(
            message,
            span,
            "remove it, or write the network as JSON: `--to json`",
        );
    }

    /// Reports any error.
    pub(super) fn report(&mut self, message: String, span: Span, help: &str) {
        if self.known.insert((span, message.clone())) {
            let error = Diagnostic::error(NOT_EXPRESSIBLE, message);
            self.found.push(error.at(span, "").help(help));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the errors, if there are any.
    pub(super) fn result(self) -> Result<(), Diagnostics> {
        match self.found.is_empty() {
            true => Ok(()),
            false => Err(self.found),
        }
    }
}

/// Returns true for a name of the notation. After `include` comes a path.
pub(super) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    let begins = (characters.next()).is_some_and(|c| c.is_alphabetic() || c == '_');
    begins && characters.all(|c| c.is_alphanumeric() || c == '_') && text != "include"
}

/// Returns true for a text that the notation can have in quotes. It has no escapes.
pub(super) fn is_text(text: &str) -> bool {
    !text.contains(['"', '\n'])
}

/// Names, each given once.
#[derive(Default)]
pub(super) struct Unique {
    taken: FxHashSet<String>,
    numbers: FxHashMap<String, u32>,
}

impl Unique {
    /// Returns the name, with a number if it was given before.
    pub(super) fn name(&mut self, base: &str) -> String {
        let number = self.numbers.entry(base.to_owned()).or_default();
        loop {
            *number += 1;
            let name = match number {
                1 => base.to_owned(),
                _ => format!("{base}_{number}"),
            };
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Ranges of loops, each with one name.
#[derive(Default)]
pub(super) struct Ranges {
    names: FxHashMap<(i64, i64), String>,
    /// Name, first and last value.
    pub(super) list: Vec<(String, i64, i64)>,
}

impl Ranges {
    /// Returns the name of a range.
    pub(super) fn name(&mut self, first: i64, last: i64) -> String {
        let list = &mut self.list;
        let name = self.names.entry((first, last)).or_insert_with(|| {
            let name = match list.len() {
                0 => "R".to_owned(),
                known => format!("R{}", known + 1),
            };
            list.push((name.clone(), first, last));
            name
        });
        name.clone()
    }
}

/// Returns `factor * i + constant` as an expression.
pub(super) fn affine(factor: i64, constant: i64) -> String {
    let variable = match factor {
        0 => return constant.to_string(),
        1 => "i".to_owned(),
        -1 => return format!("{constant}-i"),
        _ if factor < 0 => return format!("{constant}-{}*i", -factor),
        _ => format!("{factor}*i"),
    };
    match constant {
        0 => variable,
        _ => format!("{variable}{constant:+}"),
    }
}
