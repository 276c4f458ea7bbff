//! Sizes: named whole numbers of a graph, such as `n=8, half=n/2`.
//!
//! The graph and its clusters define sizes. An expression in a cluster uses the sizes of the
//! cluster and of everything around it; the innermost definition of a name counts. Definitions may
//! be in any order. A caller of the front end may replace sizes of the graph ([`Given`]).

use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::{Error, Expression, Why, is_name};
use crate::nearest::nearest;
use crate::source::Span;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

/// Values that replace the sizes of a graph, as by `-D NAME=VALUE`, and the number of OS processes.
///
/// A name may also be a path: `-D list.n=8` replaces the size `n` of the graph that the node `list`
/// includes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    values: BTreeMap<String, i64>,
    /// Beginning of the names of the graph's sizes after `-D`: `list.` in a graph that the node
    /// `list` includes.
    prefix: String,
    os_processes: Option<u32>,
}

impl Given {
    /// Sets the value of a size. Returns the previous value.
    pub fn set(&mut self, name: impl Into<String>, value: i64) -> Option<i64> {
        self.values.insert(name.into(), value)
    }

    /// Sets the value of a size that has no value.
    pub fn set_default(&mut self, name: impl Into<String>, value: i64) {
        self.values.entry(name.into()).or_insert(value);
    }

    /// Sets the number of OS processes, from which numbers of instances may follow
    /// (`replicas="+"`). By default it is unknown.
    pub fn set_os_processes(&mut self, os_processes: Option<u32>) {
        self.os_processes = os_processes;
    }

    /// Returns the number of OS processes, or `None` if it is unknown.
    pub fn os_processes(&self) -> Option<u32> {
        self.os_processes
    }

    /// Returns all names and values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.values.iter().map(|(name, value)| (&**name, *value))
    }

    /// Returns the values for the graph that the node `node` includes: those whose names begin with
    /// `node.`, without this beginning.
    pub fn of_included(&self, node: &str) -> Given {
        let inside = |(name, value): (&String, &i64)| {
            let rest = name.strip_prefix(node)?.strip_prefix('.')?;
            Some((rest.to_owned(), *value))
        };
        Given {
            values: self.values.iter().filter_map(inside).collect(),
            prefix: format!("{}{node}.", self.prefix),
            os_processes: self.os_processes,
        }
    }
}

impl<S: Into<String>> FromIterator<(S, i64)> for Given {
    fn from_iter<I: IntoIterator<Item = (S, i64)>>(values: I) -> Given {
        let values = values.into_iter().map(|(name, value)| (name.into(), value));
        Given {
            values: values.collect(),
            ..Given::default()
        }
    }
}

/// Parses `NAME=VALUE`, as after `-D`. VALUE is an expression without names. Before the name of the
/// size there may be a path: any names of nodes.
///
/// # Errors
/// Returns what is expected or why the value does not exist.
pub fn given(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("expected NAME=VALUE, such as n=8")?;
    let name = name.trim();
    let (path, size) = name.rsplit_once('.').unwrap_or((".", name));
    if path.is_empty() || !is_name(size) {
        return Err(format!("`{name}` is not the name of a size"));
    }
    let parsed = Expression::parse(value);
    if let Ok(expression) = &parsed
        && let Some((other, _)) = expression.names().first()
    {
        return Err(format!("expected a whole number, but `{other}` is a name"));
    }
    let value = parsed.and_then(|expression| expression.value(&[]));
    Ok((
        name.to_owned(),
        value.map_err(|error| error.why.to_string())?,
    ))
}

/// A text in the source that contains expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The text with its quotes.
    pub span: Span,
    /// Position of the first byte inside the quotes, if the text contains no escapes. Only then are
    /// positions inside the text known.
    pub inside: Option<u32>,
}

impl Place {
    /// A text that is in no source.
    pub const NONE: Place = Place {
        span: Span::NONE,
        inside: None,
    };

    /// Returns a part of the text.
    pub fn at_part(self, part: &Range<usize>) -> Place {
        Place {
            span: self.part(part),
            inside: self.inside.map(|inside| inside + part.start as u32),
        }
    }

    /// Returns the position of a part of the text, or of the whole text if the part is not known.
    pub fn part(self, part: &Range<usize>) -> Span {
        self.inside.map_or(self.span, |inside| {
            Span::new(inside + part.start as u32, inside + part.end as u32)
        })
    }
}

/// One definition of a list such as `n=8, half=n/2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition<'t> {
    /// Name of the size.
    pub name: &'t str,
    /// The expression. Empty if it is missing, which was reported.
    pub text: &'t str,
    /// Bytes of the list that the definition occupies.
    pub at: Range<usize>,
    /// Bytes of the list that the expression occupies.
    pub text_at: Range<usize>,
}

/// Parses a list of definitions, separated by commas. An empty entry at the end is ignored. Reports
/// entries that are not of the form `NAME=EXPRESSION` (`G0230`). The expressions are not parsed.
pub fn definitions<'t>(
    list: &'t str,
    place: Place,
    report: &mut dyn FnMut(Diagnostic),
) -> Vec<Definition<'t>> {
    let mut found = Vec::new();
    for entry in entries(list) {
        let text = &list[entry.clone()];
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let (name, begin) = (name.trim_end(), entry.end - value.trim_start().len());
        if !is_name(name) || value.trim().is_empty() {
            report(
                Diagnostic::error(
                    codes::BAD_EXPRESSION,
                    format!("`{text}` does not define a size"),
                )
                .at(place.part(&entry), "expected NAME=EXPRESSION")
                .help("separate definitions by commas: `sizes=\"n=8, half=n/2\"`"),
            );
        }
        if !is_name(name) {
            continue;
        }
        found.push(Definition {
            name,
            text: &list[begin..entry.end],
            text_at: begin..entry.end,
            at: entry,
        });
    }
    found
}

/// Returns the error for a size that is defined at two positions of one list or graph.
pub fn defined_twice(name: &str, first: Span, second: Span) -> Diagnostic {
    let message = format!("the size `{name}` is defined twice");
    Diagnostic::error(codes::BAD_DEFINITION, message)
        .at(second, "second definition")
        .also(first, "first definition")
        .help("remove one of the two")
}

/// Returns the bytes of the entries of a list that is separated by commas, without the spaces
/// around them. An empty entry at the end is ignored.
pub fn entries(list: &str) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let mut start = 0;
    for entry in list.split(',') {
        let spaces = entry.len() - entry.trim_start().len();
        let begin = start + spaces;
        all.push(begin..begin + entry.trim().len());
        start += entry.len() + 1;
    }
    if all.last().is_some_and(Range::is_empty) {
        all.pop();
    }
    all
}

/// A definition and its value, if it is known.
struct Size {
    name: String,
    text: String,
    place: Place,
    at: Span,
    scope: usize,
    value: Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Unknown,
    /// The value is being computed. Another use of it is circular.
    Open,
    Known(i64),
    /// The definition has an error, which was reported.
    Wrong,
}

/// The sizes of a graph and of its clusters.
#[derive(Default)]
pub struct Sizes {
    given: Given,
    /// Given names that the graph uses.
    used: RefCell<Vec<String>>,
    /// The scope around each scope. Scope 0 is the graph, around which there is none.
    parents: Vec<usize>,
    sizes: Vec<Size>,
    by_name: FxHashMap<(usize, String), usize>,
}

impl Sizes {
    /// Creates the sizes of a graph, which is scope 0, without definitions.
    pub fn new(given: Given) -> Sizes {
        Sizes {
            given,
            parents: vec![0],
            ..Sizes::default()
        }
    }

    /// Adds a scope, and returns its number: 1, 2, 3 ..
    ///
    /// # Panics
    /// Panics if the scope `parent` does not exist.
    pub fn add_scope(&mut self, parent: usize) -> usize {
        assert!(parent < self.parents.len(), "the parent comes first");
        self.parents.push(parent);
        self.parents.len() - 1
    }

    /// Adds the definitions of a list such as `n=8, half=n/2` to a scope.
    pub fn define(
        &mut self,
        scope: usize,
        list: &str,
        place: Place,
        diagnostics: &mut Diagnostics,
    ) {
        for definition in definitions(list, place, &mut |error| diagnostics.push(error)) {
            let at = place.part(&definition.at);
            let name = definition.name.to_owned();
            if let Some(&other) = self.by_name.get(&(scope, name.clone())) {
                diagnostics.push(defined_twice(&name, self.sizes[other].at, at));
                continue;
            }
            self.by_name.insert((scope, name.clone()), self.sizes.len());
            self.sizes.push(Size {
                name,
                text: definition.text.to_owned(),
                place: place.at_part(&definition.text_at),
                at,
                scope,
                value: match definition.text {
                    "" => Value::Wrong,
                    _ => Value::Unknown,
                },
            });
        }
    }

    /// Computes the values of all definitions, and reports their errors.
    pub fn settle(&mut self, diagnostics: &mut Diagnostics) {
        for size in 0..self.sizes.len() {
            self.settle_one(size, diagnostics);
        }
    }

    /// Computes the value of a definition after the definitions that it uses.
    ///
    /// Uses an explicit stack, because a chain of definitions may be long.
    fn settle_one(&mut self, size: usize, diagnostics: &mut Diagnostics) {
        let mut stack = vec![size];
        while let Some(&size) = stack.last() {
            if matches!(self.sizes[size].value, Value::Known(_) | Value::Wrong) {
                stack.pop();
                continue;
            }
            if let Some(value) = self.replacement(size) {
                self.sizes[size].value = Value::Known(value);
                continue;
            }
            self.sizes[size].value = Value::Open;
            let Size {
                text, place, scope, ..
            } = &self.sizes[size];
            let (place, scope) = (*place, *scope);
            let expression = match Expression::parse(text) {
                Ok(expression) => expression,
                Err(error) => {
                    let text = text.clone();
                    diagnostics.push(no_value(&text, place, &error));
                    self.sizes[size].value = Value::Wrong;
                    continue;
                }
            };
            let uses = expression.names().iter().map(|(name, at)| {
                let found = self.find(scope, name);
                (found, at.clone())
            });
            let next = uses
                .filter_map(|(found, at)| Some((found?, at)))
                .find(|(found, _)| {
                    matches!(self.sizes[*found].value, Value::Unknown | Value::Open)
                });
            if let Some((found, at)) = next {
                if self.sizes[found].value == Value::Unknown {
                    stack.push(found);
                    continue;
                }
                let from = stack.iter().position(|s| *s == found).unwrap_or(0);
                diagnostics.push(self.circular(&stack[from..], place.part(&at)));
                for &of_circle in &stack[from..] {
                    self.sizes[of_circle].value = Value::Wrong;
                }
                continue;
            }
            let text = text.clone();
            self.sizes[size].value = match self.value(scope, &text, place, &expression, &[]) {
                Ok(Some(value)) => Value::Known(value),
                Ok(None) => Value::Wrong,
                Err(error) => {
                    diagnostics.push(*error);
                    Value::Wrong
                }
            };
        }
    }

    /// Returns the given value of a size of the graph, or `None` if none is given.
    fn replacement(&self, size: usize) -> Option<i64> {
        let Size { name, scope, .. } = &self.sizes[size];
        if *scope != 0 {
            return None;
        }
        self.given_value(name)
    }

    fn given_value(&self, name: &str) -> Option<i64> {
        let value = *self.given.values.get(name)?;
        let mut used = self.used.borrow_mut();
        if !used.iter().any(|known| known == name) {
            used.push(name.to_owned());
        }
        Some(value)
    }

    fn circular(&self, circle: &[usize], at: Span) -> Diagnostic {
        let names: Vec<String> = circle
            .iter()
            .chain(circle.first())
            .map(|size| format!("`{}`", self.sizes[*size].name))
            .collect();
        let message = format!("circular definition of sizes: {}", names.join(" uses "));
        let last = circle.last().map(|size| self.sizes[*size].at);
        let mut diagnostic = Diagnostic::error(codes::BAD_DEFINITION, message).at(at, "");
        for &size in circle {
            let definition = self.sizes[size].at;
            if Some(definition) != last {
                let text = format!("`{}` is defined here", self.sizes[size].name);
                diagnostic = diagnostic.also(definition, text);
            }
        }
        diagnostic.help("define one of them without the others")
    }

    /// Returns the innermost definition of a name that holds in a scope.
    fn find(&self, scope: usize, name: &str) -> Option<usize> {
        if self.by_name.is_empty() {
            return None;
        }
        let mut scope = scope;
        loop {
            if let Some(&found) = self.by_name.get(&(scope, name.to_owned())) {
                return Some(found);
            }
            if scope == 0 {
                return None;
            }
            scope = self.parents[scope];
        }
    }

    /// Returns the values of the names of an expression in a scope. The names in `bound` have the
    /// values there. Returns `None` if the definition of one of them has an error.
    ///
    /// # Errors
    /// Returns an error for a name without definition (`G0231`).
    pub fn values(
        &self,
        scope: usize,
        expression: &Expression,
        place: Place,
        bound: &[(&str, i64)],
    ) -> Result<Option<Vec<i64>>, Box<Diagnostic>> {
        let mut values = Vec::with_capacity(expression.names().len());
        for (name, at) in expression.names() {
            let known = bound.iter().find(|(known, _)| known == name);
            let value = match (known, self.find(scope, name)) {
                (Some((_, value)), _) => *value,
                (None, Some(found)) => match self.sizes[found].value {
                    Value::Known(value) => value,
                    _ => return Ok(None),
                },
                (None, None) => match self.given_value(name) {
                    Some(value) => value,
                    None => return Err(Box::new(self.undefined(scope, name, place.part(at)))),
                },
            };
            values.push(value);
        }
        Ok(Some(values))
    }

    fn undefined(&self, scope: usize, name: &str, at: Span) -> Diagnostic {
        let mut known: Vec<&str> = Vec::new();
        let mut around = scope;
        loop {
            let here = self.sizes.iter().filter(|size| size.scope == around);
            known.extend(here.map(|size| &*size.name));
            if around == 0 {
                break;
            }
            // A graph without definitions has no scopes.
            around = self.parents.get(around).copied().unwrap_or(0);
        }
        let message = format!("the size `{name}` is not defined");
        let mut diagnostic = Diagnostic::error(codes::UNDEFINED_SIZE, message).at(at, "");
        if let Some(near) = nearest(name, known.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        let prefix = &self.given.prefix;
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
        let quote = if prefix.chars().all(is_plain) {
            ""
        } else {
            "'"
        };
        let node = match prefix.is_empty() {
            true => "",
            false => " or at the node that includes it",
        };
        diagnostic.help(format!(
            "define it in the graph{node}, `sizes=\"{name}=8\"`, or for this run, \
             `-D {quote}{prefix}{name}=8{quote}`"
        ))
    }

    /// Returns the value of a parsed expression in a scope, like [`evaluate`](Self::evaluate).
    ///
    /// # Errors
    /// Returns an error if the expression has no value (`G0230`), or for a name without definition
    /// (`G0231`). `text` is the text of the expression.
    pub fn value(
        &self,
        scope: usize,
        text: &str,
        place: Place,
        expression: &Expression,
        bound: &[(&str, i64)],
    ) -> Result<Option<i64>, Box<Diagnostic>> {
        let Some(values) = self.values(scope, expression, place, bound)? else {
            return Ok(None);
        };
        match expression.value(&values) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(Box::new(no_value(text, place, &error))),
        }
    }

    /// Returns the value of an expression in a scope. The names in `bound` have the values there.
    /// Returns `None` if the definition of a size that it uses has an error, which was reported.
    ///
    /// # Errors
    /// Returns an error if the text is not an expression or has no value (`G0230`), or for a name
    /// without definition (`G0231`).
    pub fn evaluate(
        &self,
        scope: usize,
        text: &str,
        place: Place,
        bound: &[(&str, i64)],
    ) -> Result<Option<i64>, Box<Diagnostic>> {
        match Expression::parse(text) {
            Ok(expression) => self.value(scope, text, place, &expression, bound),
            Err(error) => Err(Box::new(no_value(text, place, &error))),
        }
    }

    /// Returns the number of OS processes of the run, or `None` if it is unknown.
    pub fn os_processes(&self) -> Option<u32> {
        self.given.os_processes
    }

    /// Returns true if a name has a definition that holds in a scope, or a given value.
    pub fn is_defined(&self, scope: usize, name: &str) -> bool {
        self.find(scope, name).is_some() || self.given.values.contains_key(name)
    }

    /// Returns the sizes that the graph defines, and the given ones that it only uses.
    pub fn into_names(self) -> Vec<String> {
        let sizes = self.sizes.into_iter().filter(|size| size.scope == 0);
        let mut names: Vec<String> = sizes.map(|size| size.name).collect();
        names.extend(self.used.into_inner());
        names.sort();
        names.dedup();
        names
    }
}

/// Returns the diagnostic for an error in an expression.
pub fn no_value(text: &str, place: Place, error: &Error) -> Diagnostic {
    let message = match error.why {
        Why::Expected(_) if text.trim().is_empty() => "an expression is missing".to_owned(),
        Why::Expected(_) => format!("`{text}` is not an expression"),
        _ => format!("`{text}` has no value"),
    };
    let mut diagnostic = Diagnostic::error(codes::BAD_EXPRESSION, message)
        .at(place.part(&error.at), error.why.to_string());
    if let Why::Inexact { .. } = error.why {
        diagnostic =
            diagnostic.help("correct a size, or subtract the remainder: `(a - a % b) / b`");
    }
    diagnostic
}
