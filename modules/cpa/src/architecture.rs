//! Names and values of all files that are read together.

use crate::codes;
use crate::syntax::{Composition, Count, Expr, File, Name, Process, Range, Structure, Value};
use graphmap_kpn::codes::UNDEFINED_SIZE;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::expression::Expression;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::sizes::{Given, Place, Sizes, no_value};
use graphmap_kpn::source::{SourceMap, Span};
use rustc_hash::FxHashMap;

/// Limit on the numbers of the loops of all files together.
const MOST_ROUNDS: u64 = 1 << 28;

/// Values of variables that are `*` or `+`, by structure and name.
pub(crate) type Wild<'f> = FxHashMap<(usize, &'f str), u32>;

/// A declaration and the number of its structure.
pub(crate) struct Of<'f, T> {
    pub(crate) structure: usize,
    pub(crate) declaration: &'f T,
}

impl<T> Clone for Of<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Of<'_, T> {}

/// All structures, with the values of their variables.
pub(crate) struct Architecture<'f> {
    pub(crate) structures: Vec<&'f Structure>,
    pub(crate) processes: Vec<Of<'f, Process>>,
    pub(crate) compositions: Vec<Of<'f, Composition>>,
    /// Number of each process and composition.
    names: FxHashMap<&'f str, PartId>,
    sizes: Vec<Sizes>,
    texts: Vec<FxHashMap<&'f str, &'f Name>>,
    /// Structure, name and smallest value of each variable that is `*` or `+` and not given.
    pub(crate) fitting: Vec<(usize, &'f Name, u32)>,
    rounds: u64,
}

/// Number of a process or a composition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartId {
    Process(usize),
    Composition(usize),
}

/// Value of a parameter.
pub(crate) enum Argument<'f> {
    Number(i64),
    Text(&'f str),
}

impl<'f> Architecture<'f> {
    /// Collects the declarations of the files, and computes the values of the variables. `given`
    /// replaces values. A variable that is `*` or `+` has the value in `wild`, or the smallest one.
    pub(crate) fn of(
        files: &'f [File],
        sources: &SourceMap,
        given: &Given,
        wild: &Wild<'f>,
        diagnostics: &mut Diagnostics,
    ) -> Architecture<'f> {
        let structures: Vec<&Structure> = files.iter().flat_map(|file| &file.structures).collect();
        let mut all = Architecture {
            processes: Vec::new(),
            compositions: Vec::new(),
            names: FxHashMap::default(),
            sizes: structures
                .iter()
                .map(|_| Sizes::new(given.clone()))
                .collect(),
            texts: structures.iter().map(|_| FxHashMap::default()).collect(),
            fitting: Vec::new(),
            structures,
            rounds: 0,
        };
        all.declare(diagnostics);
        all.initialize(files, sources, wild, given, diagnostics);
        all
    }

    fn declare(&mut self, diagnostics: &mut Diagnostics) {
        let mut spans: FxHashMap<&str, Span> = FxHashMap::default();
        let mut twice = |name: &'f Name, what: &str, diagnostics: &mut Diagnostics| {
            let other = spans.insert(&name.text, name.span);
            if let Some(other) = other {
                diagnostics.push(defined_twice(what, name, other));
            }
            other.is_none()
        };
        let mut structures: FxHashMap<&str, Span> = FxHashMap::default();
        for (structure, declared) in self.structures.iter().enumerate() {
            let name = &declared.name;
            if let Some(other) = structures.insert(&name.text, name.span) {
                diagnostics.push(defined_twice("structure", name, other));
            }
            for process in &declared.processes {
                if twice(&process.name, "process or composition", diagnostics) {
                    let id = PartId::Process(self.processes.len());
                    self.names.insert(&process.name.text, id);
                    self.processes.push(Of {
                        structure,
                        declaration: process,
                    });
                }
                let ports = process.inputs.iter().chain(&process.outputs);
                each_once(ports, "port", diagnostics);
            }
            for composition in &declared.compositions {
                if twice(&composition.name, "process or composition", diagnostics) {
                    let id = PartId::Composition(self.compositions.len());
                    self.names.insert(&composition.name.text, id);
                    self.compositions.push(Of {
                        structure,
                        declaration: composition,
                    });
                }
                each_once(composition.exposed.iter(), "port", diagnostics);
            }
            each_once(declared.variables.iter(), "variable", diagnostics);
            each_once(
                declared.ranges.iter().map(|r| &r.name),
                "range",
                diagnostics,
            );
        }
    }

    fn initialize(
        &mut self,
        files: &'f [File],
        sources: &SourceMap,
        wild: &Wild<'f>,
        given: &Given,
        diagnostics: &mut Diagnostics,
    ) {
        let mut known: Vec<FxHashMap<&str, Span>> = vec![FxHashMap::default(); self.sizes.len()];
        for initialization in files.iter().flat_map(|file| &file.initializations) {
            let name = &initialization.structure;
            let found = self
                .structures
                .iter()
                .position(|s| s.name.text == name.text);
            let Some(structure) = found else {
                let names = self.structures.iter().map(|s| &*s.name.text);
                let error = undefined("structure", name);
                diagnostics.push(like(error, &name.text, names));
                continue;
            };
            for (name, value) in &initialization.values {
                if let Some(other) = known[structure].insert(&name.text, name.span) {
                    diagnostics.push(defined_twice("variable", name, other));
                    continue;
                }
                match value {
                    Value::Text(text) => {
                        if given.iter().any(|(given, _)| given == name.text) {
                            let name = &name.text;
                            let message =
                                format!("`-D {name}` is a number, but `{name}` is a text");
                            diagnostics.push(
                                Diagnostic::error(codes::NOT_A_NUMBER, message)
                                    .at(text.span, "")
                                    .help(format!(
                                        "set the argument of a process: `-A Process.{name}=TEXT`"
                                    )),
                            );
                        }
                        self.texts[structure].insert(&name.text, text);
                    }
                    Value::Count(Count::Expr(value)) => {
                        let span = name.span.to(value.place.span);
                        let place = Place {
                            span,
                            inside: Some(span.start),
                        };
                        let list = sources.text(span);
                        self.sizes[structure].define(0, list, place, diagnostics);
                    }
                    Value::Count(count) => {
                        let least = u32::from(*count == Count::Some);
                        if given.iter().all(|(given, _)| given != name.text) {
                            self.fitting.push((structure, name, least));
                        }
                        let value = wild.get(&(structure, &*name.text)).unwrap_or(&least);
                        let list = format!("{}={value}", name.text);
                        let place = Place {
                            span: name.span,
                            inside: None,
                        };
                        self.sizes[structure].define(0, &list, place, diagnostics);
                    }
                }
            }
        }
        for (structure, declared) in self.structures.iter().enumerate() {
            self.sizes[structure].settle(diagnostics);
            let missing = declared.variables.iter().filter(|variable| {
                let given = self.sizes[structure].evaluate(0, &variable.text, Place::NONE, &[]);
                !known[structure].contains_key(&*variable.text) && given.is_err()
            });
            let missing: Vec<&Name> = missing.collect();
            if let Some(first) = missing.first() {
                let names: Vec<String> = missing
                    .iter()
                    .map(|name| format!("`{}`", name.text))
                    .collect();
                let plural = if names.len() == 1 {
                    "has no value"
                } else {
                    "have no value"
                };
                let name = &declared.name.text;
                let message = format!("{} of the structure `{name}` {plural}", names.join(", "));
                diagnostics.push(
                    Diagnostic::error(codes::NOT_INITIALIZED, message)
                        .at(first.span, "")
                        .help(format!(
                            "add `initialize {name} {{ {} = 8 }}` or `-D {}=8`",
                            first.text, first.text
                        )),
                );
            }
            // A definition without a value is wrong, so that its uses are not reported too.
            for name in missing {
                let list = format!("{}=", name.text);
                let reported = &mut Diagnostics::new();
                self.sizes[structure].define(0, &list, Place::NONE, reported);
            }
        }
    }

    /// Returns the process or composition with a name, or `None` if there is none.
    pub(crate) fn find(&self, name: &str) -> Option<PartId> {
        self.names.get(name).copied()
    }

    /// Returns the process or composition with a name. Reports an error if there is none.
    pub(crate) fn part(&self, name: &Name, diagnostics: &mut Diagnostics) -> Option<PartId> {
        let found = self.find(&name.text);
        if found.is_none() {
            let error = undefined("process or composition", name);
            diagnostics.push(like(error, &name.text, self.names.keys().copied()));
        }
        found
    }

    /// Returns the process with a name. Reports an error if there is none.
    pub(crate) fn process(&self, name: &Name, diagnostics: &mut Diagnostics) -> Option<usize> {
        if let Some(PartId::Process(process)) = self.find(&name.text) {
            return Some(process);
        }
        let names = self.processes.iter().map(|of| &*of.declaration.name.text);
        diagnostics.push(like(undefined("process", name), &name.text, names));
        None
    }

    /// Returns the value of an expression of a structure. Reports an error if there is none.
    pub(crate) fn number(
        &self,
        structure: usize,
        expr: &Expr,
        bound: &[(&str, i64)],
        diagnostics: &mut Diagnostics,
    ) -> Option<i64> {
        match self.sizes[structure].evaluate(0, &expr.text, expr.place, bound) {
            Ok(value) => value,
            Err(error) => {
                diagnostics.push(self.of_structure(structure, *error));
                None
            }
        }
    }

    /// Replaces the advice for an undefined size by that for this notation.
    fn of_structure(&self, structure: usize, mut error: Diagnostic) -> Diagnostic {
        if error.code == UNDEFINED_SIZE {
            error.help.pop();
            let name = &self.structures[structure].name.text;
            let is_used = |text: &&&str| error.message.contains(&format!("`{text}`"));
            error = match self.texts[structure].keys().find(is_used) {
                Some(text) => {
                    error.code = codes::NOT_A_NUMBER;
                    error.message = format!("`{text}` is a text, and not a number");
                    error.help(format!(
                        "write a number in `initialize {name} {{ }}`, without quotes"
                    ))
                }
                None => error.help(format!("define it in `initialize {name} {{ }}`")),
            };
        }
        error
    }

    /// Returns the multiplicity of a part: a number from 0, by default 1.
    pub(crate) fn multiplicity(
        &self,
        structure: usize,
        count: Option<&Expr>,
        diagnostics: &mut Diagnostics,
    ) -> Option<u32> {
        let Some(count) = count else {
            return Some(1);
        };
        let value = self.number(structure, count, &[], diagnostics)?;
        let number = u32::try_from(value).ok();
        if number.is_none() {
            let message = format!(
                "`{}` is {value}, which is not a number of instances",
                count.text
            );
            diagnostics.push(
                Diagnostic::error(codes::OUT_OF_RANGE, message)
                    .at(count.place.span, "")
                    .help("a number of instances is a whole number from 0 to 4294967295"),
            );
        }
        number
    }

    /// Returns the numbers of a range of a structure.
    pub(crate) fn range(
        &mut self,
        structure: usize,
        name: &Name,
        ranges: &'f [Range],
        diagnostics: &mut Diagnostics,
    ) -> Option<std::ops::RangeInclusive<i64>> {
        let Some(range) = ranges.iter().find(|range| range.name.text == name.text) else {
            let names = ranges.iter().map(|range| &*range.name.text);
            let error = undefined("range", name);
            diagnostics.push(like(error, &name.text, names));
            return None;
        };
        let first = self.number(structure, &range.first, &[], diagnostics);
        let last = self.number(structure, &range.last, &[], diagnostics);
        let (first, last) = (first?, last?);
        let rounds = last.saturating_sub(first).saturating_add(1).max(0);
        self.rounds = self.rounds.saturating_add(rounds as u64);
        if self.rounds > MOST_ROUNDS {
            let message = format!("the loops have more than {MOST_ROUNDS} rounds");
            diagnostics.push(
                Diagnostic::error(codes::OUT_OF_RANGE, message)
                    .at(range.name.span, "")
                    .help("correct the ends of the range"),
            );
            return None;
        }
        Some(first..=last)
    }

    /// Returns an expression of a structure that is evaluated in the rounds of a loop.
    pub(crate) fn formula<'e>(
        &self,
        structure: usize,
        expr: &'e Expr,
        variable: Option<&str>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Formula<'e>> {
        let bound: Vec<(&str, i64)> = variable.iter().map(|name| (*name, 0)).collect();
        let sizes = &self.sizes[structure];
        let parsed = match Expression::parse(&expr.text) {
            Ok(parsed) => parsed,
            Err(error) => {
                diagnostics.push(no_value(&expr.text, expr.place, &error));
                return None;
            }
        };
        match sizes.values(0, &parsed, expr.place, &bound) {
            Ok(values) => Some(Formula {
                variable: (parsed.names().iter()).position(|(name, _)| Some(&**name) == variable),
                values: values?,
                expression: parsed,
                expr,
            }),
            Err(error) => {
                diagnostics.push(self.of_structure(structure, *error));
                None
            }
        }
    }

    /// Returns the value of a parameter.
    pub(crate) fn argument(
        &self,
        structure: usize,
        name: &Name,
        diagnostics: &mut Diagnostics,
    ) -> Option<Argument<'f>> {
        if let Some(text) = self.texts[structure].get(&*name.text) {
            return Some(Argument::Text(&text.text));
        }
        let expr = Expr {
            text: name.text.clone(),
            place: Place {
                span: name.span,
                inside: Some(name.span.start),
            },
        };
        let value = self.number(structure, &expr, &[], diagnostics)?;
        Some(Argument::Number(value))
    }

    /// Returns the value of an expression that is in no structure. Its names are variables of any
    /// structure that has them all.
    ///
    /// # Errors
    /// Returns the error of the last structure if none has a value.
    pub(crate) fn value_anywhere(
        &self,
        expr: &Expr,
        bound: &[(&str, i64)],
    ) -> Result<i64, Box<Diagnostic>> {
        let mut error = None;
        for sizes in &self.sizes {
            match sizes.evaluate(0, &expr.text, expr.place, bound) {
                Ok(value) => return Ok(value.unwrap_or(0)),
                Err(found) => error = Some(found),
            }
        }
        let sizes = Sizes::new(Given::default());
        let mut error = match error {
            Some(error) => error,
            None => match sizes.evaluate(0, &expr.text, expr.place, bound) {
                Ok(value) => return Ok(value.unwrap_or(0)),
                Err(error) => error,
            },
        };
        if error.code == UNDEFINED_SIZE {
            error.help = vec!["define it in `initialize` of one of the structures".to_owned()];
        }
        Err(error)
    }

    /// Returns the names of all variables, for given values.
    pub(crate) fn into_names(self) -> Vec<String> {
        let mut names: Vec<String> = self.sizes.into_iter().flat_map(Sizes::into_names).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// An expression with the values of its names. One of them may be the variable of a loop.
pub(crate) struct Formula<'e> {
    expression: Expression,
    values: Vec<i64>,
    /// Index of the variable of the loop in `values`.
    variable: Option<usize>,
    pub(crate) expr: &'e Expr,
}

impl Formula<'_> {
    /// Returns true if the value depends on the variable of the loop.
    pub(crate) fn varies(&self) -> bool {
        self.variable.is_some()
    }

    /// Returns the value for a value of the variable. Reports an error if there is none.
    pub(crate) fn value(&mut self, variable: i64, diagnostics: &mut Diagnostics) -> Option<i64> {
        if let Some(at) = self.variable {
            self.values[at] = variable;
        }
        match self.expression.value(&self.values) {
            Ok(value) => Some(value),
            Err(error) => {
                diagnostics.push(no_value(&self.expr.text, self.expr.place, &error));
                None
            }
        }
    }
}

pub(crate) fn defined_twice(what: &str, name: &Name, other: Span) -> Diagnostic {
    let message = format!("the {what} `{}` is defined twice", name.text);
    Diagnostic::error(codes::DEFINED_TWICE, message)
        .at(name.span, "second definition")
        .also(other, "first definition")
        .help("rename or remove one of the two")
}

fn each_once<'f>(names: impl Iterator<Item = &'f Name>, what: &str, diagnostics: &mut Diagnostics) {
    let mut spans: FxHashMap<&str, Span> = FxHashMap::default();
    for name in names {
        if let Some(other) = spans.insert(&name.text, name.span) {
            diagnostics.push(defined_twice(what, name, other));
        }
    }
}

pub(crate) fn undefined(what: &str, name: &Name) -> Diagnostic {
    let message = format!("the {what} `{}` is not defined", name.text);
    Diagnostic::error(codes::UNDEFINED, message).at(name.span, "")
}

/// Adds the most similar of some names as advice, or all of them if they are few.
pub(crate) fn like<'n>(
    error: Diagnostic,
    name: &str,
    names: impl Iterator<Item = &'n str> + Clone,
) -> Diagnostic {
    if let Some(near) = nearest(name, names.clone()) {
        return error.help(format!("did you mean `{near}`?"));
    }
    let mut all: Vec<String> = names.take(9).map(|name| format!("`{name}`")).collect();
    all.sort();
    match all.len() {
        1..=8 => error.help(format!("defined are {}", all.join(", "))),
        _ => error,
    }
}
