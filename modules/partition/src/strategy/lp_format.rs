//! Integer programs in the LP format of CPLEX, which `cbc` and `glpsol` read.
//!
//! Format: <https://lpsolve.sourceforge.net/5.5/CPLEX-format.htm>

use std::collections::HashMap;
use std::fmt::Write as _;

use good_lp::{Constraint, Expression, IntoAffineExpression, ProblemVariables, Variable};

/// Column after which lines are broken, because solvers read them into buffers of a fixed size.
const LINE: usize = 200;

/// Returns a name in the LP file for each variable.
pub(super) fn names(variables: &ProblemVariables) -> HashMap<Variable, String> {
    let variables = variables.iter_variables_with_def().enumerate();
    variables
        .map(|(index, (variable, _))| (variable, format!("v{index}")))
        .collect()
}

/// Returns the text of the program that minimizes `objective` under `rules`. The program must have
/// at least one variable. Panics if `names` lacks a variable.
pub(super) fn write(
    variables: &ProblemVariables,
    names: &HashMap<Variable, String>,
    objective: &Expression,
    rules: &[Constraint],
) -> String {
    let mut out = String::from("Minimize\n obj:");
    sum(&mut out, objective, names);
    out.push_str("\nSubject To\n");
    for (index, rule) in rules.iter().enumerate() {
        let _ = write!(out, " c{index}:");
        sum(&mut out, rule.expression(), names);
        let relation = if rule.is_equality() { "=" } else { "<=" };
        // `- 0.0` would be written as `-0`.
        let bound = 0.0 - rule.expression().constant();
        let _ = writeln!(out, " {relation} {bound}");
    }
    out.push_str("Bounds\n");
    let mut integers = String::new();
    for (variable, definition) in variables.iter_variables_with_def() {
        let name = &names[&variable];
        let (min, max) = (definition.get_min(), definition.get_max());
        let _ = writeln!(out, " {min} <= {name} <= {max}");
        if definition.is_integer() {
            let _ = writeln!(integers, " {name}");
        }
    }
    if !integers.is_empty() {
        out += &format!("Generals\n{integers}");
    }
    out.push_str("End\n");
    out
}

/// Appends the linear terms of an expression to `out`. A line may end before a sign. An empty sum
/// becomes the first name times 0.
fn sum(out: &mut String, expression: &Expression, names: &HashMap<Variable, String>) {
    let mut terms: Vec<(f64, &str)> = expression
        .linear_coefficients()
        .map(|(variable, factor)| (factor, &*names[&variable]))
        .collect();
    if terms.is_empty() {
        // The format does not allow empty sums.
        terms.extend(names.values().min().map(|name| (0.0, &**name)));
    }
    let mut start = out.len();
    for (factor, name) in terms {
        if out.len() - start > LINE {
            out.push('\n');
            start = out.len();
        }
        let _ = write!(out, " {factor:+} {name}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use good_lp::variable;

    #[test]
    fn a_program_is_written_in_the_format() {
        let mut variables = ProblemVariables::new();
        let a = variables.add(variable().binary());
        let b = variables.add(variable().min(0.0).max(1.5));
        let objective = 2.0 * a - 0.5 * b;
        let rules = [
            (a + b).leq(1.0),
            Expression::from(a).eq(1.0),
            (a - b).geq(0.0),
        ];
        let names = names(&variables);
        let text = write(&variables, &names, &objective, &rules);
        for line in [
            " c1: +1 v0 = 1",
            " 0 <= v0 <= 1",
            " 0 <= v1 <= 1.5",
            "Generals\n v0\nEnd",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        let first = text.lines().nth(1).unwrap();
        assert!(
            first.contains("+2 v0") && first.contains("-0.5 v1"),
            "{text}"
        );
        let third = text.lines().find(|line| line.starts_with(" c2:")).unwrap();
        assert!(third.contains("-1 v0") && third.ends_with("<= 0"), "{text}");
    }

    #[test]
    fn an_empty_sum_has_a_term_and_long_sums_several_lines() {
        let mut variables = ProblemVariables::new();
        let all = variables.add_vector(variable().binary(), 500);
        let sum: Expression = all.iter().sum();
        let names = names(&variables);
        let empty = Expression::from(0.0);
        let text = write(&variables, &names, &empty, &[sum.leq(3.0)]);
        assert!(text.starts_with("Minimize\n obj: +0 v0\n"), "{text}");
        assert!(text.lines().all(|line| line.len() < LINE + 50));
        assert!(
            all.iter()
                .all(|v| text.contains(&format!("+1 {}", names[v])))
        );
    }
}
