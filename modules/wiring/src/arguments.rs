//! Arguments of the processes of a kind, in compact form.

use crate::identifier::{Case, Identifiers, Language};
use graphmap_kpn::arguments::Value;
use graphmap_kpn::network::{KindId, Network};
use serde::Serialize;
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

#[cfg(test)]
mod tests {
    use super::*;

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
