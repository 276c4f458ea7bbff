//! `for=`: channels between instances that formulas select.

use super::reading::{Reading, place};
use super::value::is_keyword;
use crate::codes;
use crate::events::Attribute;
use graphmap_kpn::codes::TOO_MANY_REPLICAS;
use graphmap_kpn::declared::{InstancePair, ListedPairs};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::expression::{Expression, is_name};
use graphmap_kpn::sizes::{Place, entries, no_value};
use graphmap_kpn::source::Span;
use std::ops::Range;

/// Limit on the rounds of all loops of a file. Without a limit, a short file could stand for
/// billions of channels.
const MOST_ROUNDS: u64 = 1 << 24;

/// An expression, the values of its names, and which of these are variables of loops.
struct Formula {
    text: String,
    place: Place,
    expression: Expression,
    values: Vec<i64>,
    /// Index in `values`, and number of the loop.
    variables: Vec<(usize, usize)>,
}

impl Formula {
    /// Returns the value for the current values of the loops.
    fn value(&mut self, current: &[i64]) -> Result<i64, Box<Diagnostic>> {
        for &(index, of) in &self.variables {
            self.values[index] = current[of];
        }
        let value = self.expression.value(&self.values);
        value.map_err(|error| Box::new(no_value(&self.text, self.place, &error)))
    }

    fn uses(&self, variable: usize) -> bool {
        self.variables.iter().any(|(_, of)| *of == variable)
    }
}

/// A loop of `for=`: the range of a variable, which may depend on the variables before it.
struct Loop {
    name: String,
    low: Formula,
    high: Formula,
}

/// The loops and the formulas of a statement.
struct Loops {
    loops: Vec<Loop>,
    /// Formulas of the writer and of the reader.
    ends: [Formula; 2],
    pairs: Vec<InstancePair>,
    /// Remainder of [`MOST_ROUNDS`].
    budget: u64,
    span: Span,
}

impl Loops {
    /// Adds the pairs of the loops from number `current.len()` on, for the current values of the
    /// loops before.
    fn run(&mut self, current: &mut Vec<i64>) -> Result<(), Box<Diagnostic>> {
        let depth = current.len();
        let Some(inner) = self.loops.get_mut(depth) else {
            let [from, to] = &mut self.ends;
            let clamped = |value: i64| value.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
            let pair = (clamped(from.value(current)?), clamped(to.value(current)?));
            self.pairs.push(pair);
            return Ok(());
        };
        let (low, high) = (inner.low.value(current)?, inner.high.value(current)?);
        let rounds = (i128::from(high) - i128::from(low) + 1).max(0);
        match u64::try_from(rounds)
            .ok()
            .and_then(|n| self.budget.checked_sub(n))
        {
            Some(rest) => self.budget = rest,
            None => {
                let message = format!("the loops of `for=` have more than {MOST_ROUNDS} rounds");
                return Err(Box::new(
                    Diagnostic::error(TOO_MANY_REPLICAS, message)
                        .at(self.span, format!("from {low} to {high}"))
                        .help("check the range and the sizes that it uses"),
                ));
            }
        }
        for value in low..=high {
            current.push(value);
            self.run(current)?;
            current.pop();
        }
        Ok(())
    }
}

impl Reading<'_> {
    /// Computes the instances that a statement with `for=` joins. Returns `None`, after a report,
    /// if a part of it is malformed or has no value.
    pub(super) fn pairs(
        &mut self,
        loops: &Attribute,
        at: Option<&Attribute>,
    ) -> Option<ListedPairs> {
        self.evaluated += 1;
        let span = loops.span();
        let Some(at) = at else {
            let error = Diagnostic::error(codes::BAD_LOOP, "`for=` without `at=`");
            self.report.push(error.at(span, "").help(
                "set `at=` to the instances that each channel joins: `for=\"i=1..N/2\", at=\"2*i, i\"`",
            ));
            return None;
        };
        let loops = self.loops(loops)?;
        let names: Vec<&str> = loops.iter().map(|l| &*l.name).collect();
        let text = self.text.value(at.value).into_owned();
        let place = place(at);
        let ends = match &entries(&text)[..] {
            [both] => [both.clone(), both.clone()],
            [from, to] => [from.clone(), to.clone()],
            _ => {
                let message = format!("`{text}` does not select a writer and a reader");
                self.report.push(
                    Diagnostic::error(codes::BAD_LOOP, message)
                        .at(place.span, "expected one or two expressions")
                        .help("separate the two by a comma: `at=\"2*i, i\"`"),
                );
                return None;
            }
        };
        let is_word = |end: &&Range<usize>| {
            let word = &text[Range::clone(end)];
            is_keyword(word) && !names.contains(&word) && !self.is_size(word)
        };
        if let Some(end) = ends.iter().find(is_word) {
            let message = format!("`{}` in `at=` with `for=`", &text[end.clone()]);
            self.report.push(
                Diagnostic::error(codes::BAD_LOOP, message)
                    .at(place.part(end), "expected an expression")
                    .help("write the number of the instance: `at=\"1, i\"`"),
            );
            return None;
        }
        let ends = ends.map(|end| self.formula(&text, end, place, &names));
        let [Some(from), Some(to)] = ends else {
            return None;
        };
        let several_writers = (0..loops.len()).any(|variable| !to.uses(variable));
        let mut all = Loops {
            loops,
            ends: [from, to],
            pairs: std::mem::take(&mut self.out.pairs),
            budget: MOST_ROUNDS - self.rounds,
            span,
        };
        let first = all.pairs.len();
        let result = all.run(&mut Vec::new());
        self.out.pairs = all.pairs;
        self.rounds = MOST_ROUNDS - all.budget;
        if let Err(error) = result {
            self.report.push(*error);
            return None;
        }
        Some(ListedPairs {
            first: first as u32,
            count: (self.out.pairs.len() - first) as u32,
            several_writers: several_writers.then_some(true),
        })
    }

    /// Parses the loops of `for=`. Returns `None`, after a report, if one of them is malformed.
    fn loops(&mut self, attribute: &Attribute) -> Option<Vec<Loop>> {
        let text = self.text.value(attribute.value).into_owned();
        let place = place(attribute);
        let mut loops: Vec<Loop> = Vec::new();
        for entry in entries(&text) {
            let parts = text[entry.clone()]
                .split_once('=')
                .and_then(|(name, range)| {
                    let (low, high) = range.split_once("..")?;
                    let begin = entry.start + name.len() + 1;
                    let middle = begin + low.len();
                    Some((
                        name.trim(),
                        begin..middle,
                        middle + 2..middle + 2 + high.len(),
                    ))
                });
            let Some((name, low, high)) = parts.filter(|(name, ..)| is_name(name)) else {
                let message = format!("`{}` is not a loop", &text[entry.clone()]);
                self.report.push(
                    Diagnostic::error(codes::BAD_LOOP, message)
                        .at(place.part(&entry), "expected NAME=FIRST..LAST")
                        .help("separate loops by commas: `for=\"i=1..4, j=i..4\"`"),
                );
                return None;
            };
            let earlier: Vec<&str> = loops.iter().map(|l| &*l.name).collect();
            if earlier.contains(&name) {
                let message = format!("two loops have the variable `{name}`");
                let error = Diagnostic::error(codes::BAD_LOOP, message);
                self.report
                    .push(error.at(place.part(&entry), "").help("rename one of them"));
                return None;
            }
            let low = self.formula(&text, low, place, &earlier);
            let high = self.formula(&text, high, place, &earlier);
            loops.push(Loop {
                name: name.to_owned(),
                low: low?,
                high: high?,
            });
        }
        Some(loops)
    }

    /// Parses a part of a text. `variables` are the names of the loops around it. Returns `None`
    /// if the part is not an expression or uses a size without a value. Reports it, unless the
    /// definition of the size was reported.
    fn formula(
        &mut self,
        text: &str,
        part: Range<usize>,
        place: Place,
        variables: &[&str],
    ) -> Option<Formula> {
        let place = place.at_part(&part);
        let text = &text[part];
        let expression = match Expression::parse(text) {
            Ok(expression) => expression,
            Err(error) => {
                self.report.push(no_value(text, place, &error));
                return None;
            }
        };
        let bound: Vec<(&str, i64)> = variables.iter().map(|name| (*name, 0)).collect();
        let scope = self.scope as usize;
        let values = match self.sizes.values(scope, &expression, place, &bound) {
            Ok(values) => values?,
            Err(error) => {
                self.report.push(*error);
                return None;
            }
        };
        let names = expression.names().iter().enumerate();
        let variables = names
            .filter_map(|(index, (name, _))| {
                let of = variables.iter().position(|variable| variable == name)?;
                Some((index, of))
            })
            .collect();
        Some(Formula {
            text: text.to_owned(),
            place,
            expression,
            values,
            variables,
        })
    }
}
