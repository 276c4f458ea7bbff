//! Arguments of the processes of a kind, in compact form.

use crate::identifier::{Case, Identifiers, Language};
use graphmap_kpn::arguments::{ParameterType, Value};
use graphmap_kpn::c_text;
use graphmap_kpn::network::{KindId, Network};
use serde::Serialize;
use serde_json::Value as Json;
use std::fmt::Write;

/// A parameter of a kind, and its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParameterModel {
    /// Its name.
    pub name: String,
    /// Its identifier as a Rust field.
    pub field: String,
    /// Its type in Rust.
    pub rust_type: &'static str,
    /// Its identifier in C.
    pub c: String,
    /// Its type in C. Empty for integers of 128 bits, which C lacks.
    pub c_type: &'static str,
    /// `same` if all processes have one value, `runs` for other integers, and `listed` otherwise.
    pub form: &'static str,
    /// The value, for `same`. The values as runs of whole numbers such as `7+2*3`, for `runs`.
    /// Empty for `listed`.
    pub value: String,
    /// The values, for `listed`.
    pub list: Vec<String>,
}

/// Returns the parameters of a kind with the arguments of its processes.
pub(crate) fn parameters(network: &Network, id: KindId) -> Vec<ParameterModel> {
    let Some(parameters) = network.parameters.get(&id) else {
        return Vec::new();
    };
    let mut fields = Identifiers::new(Language::Rust, &[]);
    let mut c_fields = Identifiers::new(Language::C, &[]);
    let members = &network.kinds[id].members;
    let one = |(at, parameter): (usize, &graphmap_kpn::arguments::Parameter)| {
        // Verification has checked that each process has all arguments.
        let values = members
            .iter()
            .map(|process| &network.arguments[process][at]);
        let values: Vec<&Value> = values.collect();
        let mut model = ParameterModel {
            name: parameter.name.clone(),
            field: fields.take(&parameter.name, Case::Snake).0,
            rust_type: parameter.ty.name(),
            c: c_fields.take(&parameter.name, Case::Kept).0,
            c_type: c_type(parameter.ty),
            form: "listed",
            value: String::new(),
            list: Vec::new(),
        };
        let numbers: Option<Vec<i128>> = values.iter().map(|value| integer(value)).collect();
        if let [first, rest @ ..] = &*values
            && rest.iter().all(|value| value == first)
        {
            (model.form, model.value) = ("same", first.plain());
        } else if let Some(numbers) = numbers {
            (model.form, model.value) = ("runs", runs(&numbers));
        } else {
            model.list = values.iter().map(|value| value.plain()).collect();
        }
        model
    };
    parameters.iter().enumerate().map(one).collect()
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Integer(number) => Some(*number),
        _ => None,
    }
}

/// Returns numbers as runs of equal steps: `7+2*3` is 7, 9, 11.
fn runs(numbers: &[i128]) -> String {
    let mut text = String::new();
    let mut rest = numbers;
    while let [first, after @ ..] = rest {
        let step = after.first().and_then(|second| second.checked_sub(*first));
        let pairs = rest.windows(2);
        let length = 1 + pairs
            .take_while(|pair| step.is_some() && pair[1].checked_sub(pair[0]) == step)
            .count();
        let space = if text.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let (run, length) = match step {
            Some(step) if length > 2 => (format!("{first}+{step}*{length}"), length),
            _ => (first.to_string(), 1),
        };
        let _ = write!(text, "{space}{run}");
        rest = &rest[length..];
    }
    text
}

/// Maximum number of values that [`c_values`] returns.
const MOST: usize = 10_000_000;

/// Returns the type in C of a parameter, or an empty text if C has no such type.
pub(crate) fn c_type(ty: ParameterType) -> &'static str {
    match ty.name() {
        "u8" => "uint8_t",
        "u16" => "uint16_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        "i8" => "int8_t",
        "i16" => "int16_t",
        "i32" => "int32_t",
        "i64" => "int64_t",
        "isize" => "ptrdiff_t",
        "f32" => "float",
        "f64" => "double",
        "bool" => "bool",
        "String" => "const char *",
        _ => "",
    }
}

/// Returns the values of a [`ParameterModel`] as constants of C: one for the form `same`, otherwise
/// one for each process. Returns `None` if C has no such type, if the fields are malformed, or if
/// there are more than ten million values.
pub(crate) fn c_values(parameter: &Json) -> Option<Vec<String>> {
    let field = |name: &str| parameter.get(name)?.as_str();
    let ty = ParameterType::from_name(field("rust_type")?)?;
    match field("form")? {
        "same" => Some(vec![c_constant(ty, field("value")?)?]),
        "runs" => {
            let numbers = numbers(field("value")?)?.into_iter();
            numbers.map(|n| c_constant(ty, &n.to_string())).collect()
        }
        "listed" => {
            let list = parameter.get("list")?.as_array()?.iter();
            list.map(|value| c_constant(ty, value.as_str()?)).collect()
        }
        _ => None,
    }
}

fn c_constant(ty: ParameterType, text: &str) -> Option<String> {
    match ty {
        _ if c_type(ty).is_empty() => None,
        ParameterType::Text => Some(c_text::literal(text)),
        ParameterType::Bool => Some(text.parse::<bool>().ok()?.to_string()),
        ParameterType::Float(name) => {
            // Like the values, with a point or an exponent.
            let number: f64 = text.parse().ok().filter(|n: &f64| n.is_finite())?;
            let suffix = if name == "f32" { "f" } else { "" };
            Some(format!("{number:?}{suffix}"))
        }
        ParameterType::Integer(..) => {
            let number: i128 = text.parse().ok()?;
            Some(match i64::try_from(number) {
                // C has no negative constants, and this one without its sign is too large.
                Ok(i64::MIN) => format!("(-{} - 1)", i64::MAX),
                Ok(number) => number.to_string(),
                Err(_) => format!("{}u", u64::try_from(number).ok()?),
            })
        }
    }
}

/// Returns the numbers of a text of [`runs`].
fn numbers(text: &str) -> Option<Vec<i128>> {
    let mut numbers = Vec::new();
    for run in text.split(' ').filter(|run| !run.is_empty()) {
        let (first, steps) = run.split_once('+').unwrap_or((run, "0*1"));
        let (step, count) = steps.split_once('*')?;
        let (mut number, step): (i128, i128) = (first.parse().ok()?, step.parse().ok()?);
        let count: usize = count.parse().ok()?;
        if count > MOST - numbers.len() {
            return None;
        }
        for at in 0..count {
            if at > 0 {
                number = number.checked_add(step)?;
            }
            numbers.push(number);
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_read_as_they_are_written(all in prop::collection::vec(-3i128..4, 0..40)) {
            prop_assert_eq!(numbers(&runs(&all)), Some(all));
        }
    }

    #[test]
    fn malformed_runs_have_no_numbers() {
        for text in [
            "x",
            "1+",
            "1+1",
            "1+1*-1",
            "1+1*10000001",
            "1+0*9000000 1+0*9000000",
        ] {
            assert_eq!(numbers(text), None, "{text}");
        }
        let most = i128::MAX;
        assert_eq!(numbers(&format!("{most}+1*1")), Some(vec![most]));
        assert_eq!(numbers(&format!("{most}+1*2")), None);
    }

    #[test]
    fn values_are_constants_of_c() {
        for (ty, value, constant) in [
            (
                "i64",
                "-9223372036854775808",
                Some("(-9223372036854775807 - 1)"),
            ),
            ("isize", "-1", Some("-1")),
            ("u64", "18446744073709551615", Some("18446744073709551615u")),
            ("f64", "1e16", Some("1e16")),
            ("f64", "-0.0", Some("-0.0")),
            ("f32", "0.1", Some("0.1f")),
            ("f64", "inf", None),
            ("bool", "true", Some("true")),
            ("String", "a\"\n", Some("\"a\\\"\\012\"")),
            ("u128", "1", None),
            ("int", "1", None),
            ("u8", "1;", None),
        ] {
            let parameter = serde_json::json!({"rust_type": ty, "form": "same", "value": value});
            let expected = constant.map(|constant| vec![constant.to_owned()]);
            assert_eq!(c_values(&parameter), expected, "{ty} {value}");
        }
        assert_eq!(c_values(&serde_json::json!(1)), None);
    }

    #[test]
    fn numbers_are_written_as_runs() {
        for (numbers, text) in [
            (&[7, 9, 11, 1][..], "7+2*3 1"),
            (&[1, 2], "1 2"),
            (&[5, 5, 5, 4, 3], "5+0*3 4 3"),
            (&[-1, -2, -3], "-1+-1*3"),
            (&[], ""),
        ] {
            assert_eq!(runs(numbers), text);
        }
    }
}
