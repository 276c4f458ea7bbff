//! Parameters of kinds and arguments of processes: `params="seed: u64"`, `args="6+i"`.
//!
//! A front end declares formulas ([`ArgumentList`]). [`crate::expand`] computes their values for
//! each instance, and [`crate::resolve`] gives them to processes and checks that all processes of a
//! kind have the same parameters.

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::expression::{Expression, is_name};
use crate::sizes::{Place, entries, no_value};
use crate::source::Span;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Name of the variable in arguments that is the number of the instance, from 1.
pub const INSTANCE: &str = "i";

/// Type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterType {
    /// An integer type of Rust: its name, least and greatest value.
    Integer(&'static str, i128, i128),
    /// `f32` or `f64`.
    Float(&'static str),
    /// `bool`.
    Bool,
    /// `String`.
    Text,
}

const TYPES: [ParameterType; 16] = {
    use ParameterType::{Bool, Float, Integer, Text};
    [
        Integer("u8", 0, u8::MAX as i128),
        Integer("u16", 0, u16::MAX as i128),
        Integer("u32", 0, u32::MAX as i128),
        Integer("u64", 0, u64::MAX as i128),
        Integer("u128", 0, i128::MAX),
        Integer("usize", 0, u64::MAX as i128),
        Integer("i8", i8::MIN as i128, i8::MAX as i128),
        Integer("i16", i16::MIN as i128, i16::MAX as i128),
        Integer("i32", i32::MIN as i128, i32::MAX as i128),
        Integer("i64", i64::MIN as i128, i64::MAX as i128),
        Integer("i128", i128::MIN, i128::MAX),
        Integer("isize", i64::MIN as i128, i64::MAX as i128),
        Float("f32"),
        Float("f64"),
        Bool,
        Text,
    ]
};

impl ParameterType {
    /// Returns the name of the type in Rust.
    pub fn name(self) -> &'static str {
        match self {
            ParameterType::Integer(name, ..) | ParameterType::Float(name) => name,
            ParameterType::Bool => "bool",
            ParameterType::Text => "String",
        }
    }

    /// Returns the type with a name, or `None` if the name is unknown.
    pub fn from_name(name: &str) -> Option<ParameterType> {
        TYPES.into_iter().find(|ty| ty.name() == name)
    }

    /// Returns a value as one of this type. An integer is also a number with a fraction. Returns
    /// `None` if the value does not fit.
    fn accept(self, value: &Value) -> Option<Value> {
        match (self, value) {
            (ParameterType::Integer(_, least, most), Value::Integer(number)) => {
                (least..=most).contains(number).then(|| value.clone())
            }
            (ParameterType::Float(name), Value::Integer(number)) => {
                ParameterType::Float(name).accept(&Value::Float(*number as f64))
            }
            (ParameterType::Float(name), Value::Float(number)) => {
                let fits = number.is_finite() && (name == "f64" || (*number as f32).is_finite());
                fits.then(|| value.clone())
            }
            (ParameterType::Bool, Value::Bool(_)) => Some(value.clone()),
            // NUL would end the text in C.
            (ParameterType::Text, Value::Text(text)) => {
                (!text.contains('\0')).then(|| value.clone())
            }
            _ => None,
        }
    }

    /// Returns the expected values, for diagnostics.
    fn expected(self) -> String {
        match self {
            // The values of `u128` above those of `i128` are not supported.
            ParameterType::Integer("u128", ..) => {
                "expected a whole number of the type u128, from 0 to 2^127 - 1, which graphmap reads"
                    .to_owned()
            }
            ParameterType::Integer(name, least, most) => {
                format!("expected a whole number of the type {name}, from {least} to {most}")
            }
            ParameterType::Float(name) => format!("expected a number of the type {name}"),
            ParameterType::Bool => "expected true or false".to_owned(),
            ParameterType::Text => "expected a text in single quotes, without NUL".to_owned(),
        }
    }
}

/// Value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Integer(i128),
    /// A number with a fraction, finite.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A text.
    Text(String),
}

/// Writes the value as in `args=`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(number) => number.fmt(f),
            // With a point, because it is a number with a fraction when it is read again.
            Value::Float(number) => write!(f, "{number:?}"),
            Value::Bool(value) => value.fmt(f),
            Value::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
        }
    }
}

impl Value {
    /// Returns the value as a plain text, which `FromStr` of its type in Rust reads.
    pub fn plain(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// A parameter of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name: a letter or `_`, then letters, digits and `_`.
    pub name: String,
    /// Its type.
    pub ty: ParameterType,
}

impl Parameter {
    /// Returns true if the value has the type of the parameter.
    pub fn accepts(&self, value: &Value) -> bool {
        self.ty.accept(value).as_ref() == Some(value)
    }
}

/// Writes the parameter as in `params=`.
impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.ty.name())
    }
}

/// Parameters and arguments of a node.
#[derive(Clone, Debug)]
pub struct ArgumentList {
    /// Parameters of its kind.
    pub parameters: Arc<[Parameter]>,
    /// Arguments, in the order of the parameters. [`crate::expand`] checks their number and types.
    pub arguments: Vec<Argument>,
    /// Position of the parameters.
    pub parameters_span: Span,
    /// Position of the arguments, or of the parameters if there are no arguments.
    pub span: Span,
}

/// Values that replace arguments, as by `-A worker.seed=7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenArgument {
    /// Name of a process or of a kind.
    pub of: String,
    /// Name of the parameter.
    pub parameter: String,
    /// The value, without the quotes of a text.
    pub value: String,
}

/// Parses `NAME.PARAMETER=VALUE`, as after `-A`.
///
/// # Errors
/// Returns the expected form.
pub fn given(text: &str) -> Result<GivenArgument, String> {
    let expected = || "expected NAME.PARAMETER=VALUE, such as worker.seed=7".to_owned();
    let (path, value) = text.split_once('=').ok_or_else(expected)?;
    let (of, parameter) = path.trim().rsplit_once('.').ok_or_else(expected)?;
    if of.is_empty() || !is_name(parameter) {
        return Err(expected());
    }
    Ok(GivenArgument {
        of: of.to_owned(),
        parameter: parameter.to_owned(),
        value: value.to_owned(),
    })
}

/// An argument: a value, or an expression that may depend on the instance.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A value.
    Value(Value),
    /// An expression.
    Formula(Box<Formula>),
}

/// An expression in which the sizes are known.
#[derive(Clone, Debug)]
pub struct Formula {
    /// The text.
    pub text: String,
    /// Its position.
    pub place: Place,
    /// The parsed text.
    pub expression: Expression,
    /// Value of each name of the expression. The value of [`INSTANCE`] is replaced.
    pub values: Vec<i64>,
}

impl Argument {
    /// Returns the value for an instance, counted from 1.
    fn value(&self, instance: i64) -> Result<Value, Box<Diagnostic>> {
        let formula = match self {
            Argument::Value(value) => return Ok(value.clone()),
            Argument::Formula(formula) => formula,
        };
        let names = formula.expression.names().iter().zip(&formula.values);
        let values: Vec<i64> = names
            .map(|((name, _), value)| if name == INSTANCE { instance } else { *value })
            .collect();
        match formula.expression.value(&values) {
            Ok(value) => Ok(Value::Integer(value.into())),
            Err(error) => Err(Box::new(no_value(&formula.text, formula.place, &error))),
        }
    }

    fn place(&self) -> Option<Place> {
        match self {
            Argument::Value(_) => None,
            Argument::Formula(formula) => Some(formula.place),
        }
    }
}

impl ArgumentList {
    /// Replaces each position by the result of `f`. A position inside a formula becomes the
    /// position of the whole formula.
    pub(crate) fn map_spans(&mut self, f: &impl Fn(Span) -> Span) {
        self.parameters_span = f(self.parameters_span);
        self.span = f(self.span);
        for argument in &mut self.arguments {
            if let Argument::Formula(formula) = argument {
                formula.place = Place {
                    span: f(formula.place.span),
                    inside: None,
                };
            }
        }
    }

    /// Returns the values for an instance, counted from 1.
    ///
    /// # Errors
    /// Returns an error if there are too few or too many arguments (`G0244`), if a value does not
    /// have the type of its parameter (`G0245`), or if an expression has no value (`G0230`).
    pub fn values(&self, instance: i64) -> Result<Vec<Value>, Box<Diagnostic>> {
        let (given, expected) = (self.arguments.len(), self.parameters.len());
        if given != expected {
            let plural = |n: usize, one: &str| match n {
                1 => format!("1 {one}"),
                n => format!("{n} {one}s"),
            };
            let message = format!(
                "{} for {}",
                plural(given, "argument"),
                plural(expected, "parameter")
            );
            let list: Vec<String> = self.parameters.iter().map(|p| p.to_string()).collect();
            let list = list.join(", ");
            let mut error = Diagnostic::error(codes::ARGUMENTS_MISMATCH, message).at(self.span, "");
            if self.parameters_span != self.span {
                error = error.also(self.parameters_span, "the parameters");
            }
            return Err(Box::new(match list.is_empty() {
                true => error.help("declare the parameters: `params=\"seed: u64\"`"),
                false => error.help(format!("set `args=` to a value for each of: {list}")),
            }));
        }
        let both = self.parameters.iter().zip(&self.arguments);
        both.map(|(parameter, argument)| {
            let value = argument.value(instance)?;
            parameter.ty.accept(&value).ok_or_else(|| {
                let at = argument.place().map_or(self.span, |place| place.span);
                Box::new(misfit(parameter, &value, at))
            })
        })
        .collect()
    }
}

fn misfit(parameter: &Parameter, value: &Value, at: Span) -> Diagnostic {
    let name = &parameter.name;
    let message = format!("{value} is not a value of the parameter `{name}`");
    Diagnostic::error(codes::BAD_ARGUMENT, message).at(at, parameter.ty.expected())
}

/// Parses a list of parameters, such as `seed: u64, name: String`.
///
/// # Errors
/// Returns an error for an entry that is not of this form, for an unknown type, and for two
/// parameters with one name (`G0245`).
pub fn parameters(list: &str, place: Place) -> Result<Arc<[Parameter]>, Box<Diagnostic>> {
    let mut all: Vec<Parameter> = Vec::new();
    for entry in entries(list) {
        let text = &list[entry.clone()];
        let wrong = |message: String| {
            Diagnostic::error(codes::BAD_ARGUMENT, message).at(place.part(&entry), "")
        };
        let parts = text
            .split_once(':')
            .map(|(name, ty)| (name.trim(), ty.trim()));
        let Some((name, ty)) = parts.filter(|(name, _)| is_name(name)) else {
            let error = wrong(format!("`{text}` does not declare a parameter"));
            return Err(Box::new(error.help(
                "write a name and a type: `params=\"seed: u64, name: String\"`",
            )));
        };
        let Some(ty) = ParameterType::from_name(ty) else {
            let names: Vec<&str> = TYPES.iter().map(|ty| ty.name()).collect();
            let error = wrong(format!("unknown type `{ty}` of the parameter `{name}`"));
            return Err(Box::new(
                error.help(format!("use one of {}", names.join(", "))),
            ));
        };
        if all.iter().any(|other| other.name == name) {
            let error = wrong(format!("two parameters have the name `{name}`"));
            return Err(Box::new(error.help("rename one of them")));
        }
        all.push(Parameter {
            name: name.to_owned(),
            ty,
        });
    }
    Ok(all.into())
}

/// An argument that is not parsed further: a value, or the text of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// A value.
    Value(Value),
    /// An expression, by its bytes in the list.
    Expression(Range<usize>),
}

/// Splits a list of arguments at commas outside of texts. A text is in single quotes, and `''` in
/// it is one quote. An entry that is neither a text, nor a number, nor `true` or `false`, is an
/// expression.
///
/// # Errors
/// Returns the bytes of a text that does not end, or that is not followed by a comma.
pub fn arguments(list: &str) -> Result<Vec<Parsed>, Range<usize>> {
    let mut all = Vec::new();
    let mut at = 0;
    loop {
        at += list[at..].len() - list[at..].trim_start().len();
        if at == list.len() {
            return Ok(all);
        }
        let mut end;
        if list[at..].starts_with('\'') {
            let mut text = String::new();
            end = at + 1;
            loop {
                let Some(quote) = list[end..].find('\'') else {
                    return Err(at..list.len());
                };
                text.push_str(&list[end..end + quote]);
                end += quote + 1;
                if !list[end..].starts_with('\'') {
                    break;
                }
                text.push('\'');
                end += 1;
            }
            all.push(Parsed::Value(Value::Text(text)));
            let rest = list[end..].trim_start();
            if !rest.is_empty() && !rest.starts_with(',') {
                return Err(at..list.len());
            }
            end = list.len() - rest.len();
        } else {
            end = list[at..].find(',').map_or(list.len(), |comma| at + comma);
            let text = list[at..end].trim_end();
            all.push(match plain(text) {
                Some(value) => Parsed::Value(value),
                None => Parsed::Expression(at..at + text.len()),
            });
        }
        match list[end..].starts_with(',') {
            true => at = end + 1,
            false => return Ok(all),
        }
    }
}

/// Returns a number, or `true` or `false`. Returns `None` for any other text.
fn plain(text: &str) -> Option<Value> {
    if let Ok(value) = text.parse() {
        return Some(Value::Bool(value));
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if let Ok(number) = text.parse() {
        return Some(Value::Integer(number));
    }
    text.parse()
        .ok()
        .filter(|n: &f64| n.is_finite())
        .map(Value::Float)
}

/// Returns the value of a text for a parameter, as after `-A`. The text of a `String` may have
/// quotes.
///
/// # Errors
/// Returns an error if it does not have the type of the parameter (`G0245`).
pub(crate) fn given_value(parameter: &Parameter, text: &str) -> Result<Value, Box<Diagnostic>> {
    let value = match (parameter.ty, plain(text.trim())) {
        (ParameterType::Text, _) | (_, None) => Value::Text(text.to_owned()),
        (_, Some(value)) => value,
    };
    let accepted = parameter.ty.accept(&value);
    accepted.ok_or_else(|| {
        Box::new(misfit(parameter, &value, Span::NONE).help(parameter.ty.expected()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_arguments_are_split() {
        let expected = vec![
            Parsed::Expression(0..3),
            Parsed::Value(Value::Text("it's, a".into())),
            Parsed::Value(Value::Integer(-7)),
            Parsed::Value(Value::Float(0.5)),
            Parsed::Value(Value::Bool(true)),
            Parsed::Value(Value::Text(String::new())),
        ];
        assert_eq!(arguments("6+i, 'it''s, a' ,-7, 0.5,true, ''"), Ok(expected));
        assert_eq!(arguments(" "), Ok(vec![]));
        assert_eq!(arguments("1, 'a"), Err(3..5));
        assert_eq!(arguments("'a' b"), Err(0..5));
    }

    #[test]
    fn values_are_read_as_they_are_written() {
        for value in [
            Value::Integer(-3),
            Value::Integer(i128::from(u64::MAX)),
            Value::Float(1.0),
            Value::Float(1e300),
            Value::Bool(false),
            Value::Text("a'b, \"c\"".into()),
        ] {
            let text = value.to_string();
            assert_eq!(arguments(&text), Ok(vec![Parsed::Value(value)]), "{text}");
        }
    }

    #[test]
    fn values_must_fit_their_type() {
        let ty = |name: &str| ParameterType::from_name(name).unwrap();
        let accepts = |name: &str, value: Value| ty(name).accept(&value).is_some();
        assert!(accepts("u8", Value::Integer(255)) && !accepts("u8", Value::Integer(256)));
        assert!(!accepts("u64", Value::Integer(-1)) && accepts("i8", Value::Integer(-128)));
        assert!(accepts("f32", Value::Integer(3)) && !accepts("f32", Value::Float(1e300)));
        assert!(!accepts("u8", Value::Float(1.0)) && !accepts("bool", Value::Integer(1)));
        assert!(ParameterType::from_name("str").is_none());
    }
}
