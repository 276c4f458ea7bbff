//! Expressions, compared with a computation on integers of any size.

use graphmap_kpn::expression::{Expression, Why};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use proptest::prelude::*;
use std::fmt;

/// An expression as a tree.
#[derive(Clone, Debug)]
enum Tree {
    Number(u64),
    /// Index of a name.
    Name(usize),
    Negative(Box<Tree>),
    Binary(char, Box<Tree>, Box<Tree>),
}

const NAMES: [&str; 3] = ["n", "half_2", "größe"];

impl fmt::Display for Tree {
    /// Writes each part in parentheses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Number(number) => write!(f, "{number}"),
            Tree::Name(index) => f.write_str(NAMES[*index]),
            Tree::Negative(tree) => write!(f, "-({tree})"),
            Tree::Binary(operator, left, right) => write!(f, "({left}) {operator}({right})"),
        }
    }
}

/// The reason why a tree has no value, without the numbers of an inexact quotient.
#[derive(Debug, PartialEq)]
enum Failure {
    TooLarge,
    DivisionByZero,
    Inexact,
    NegativeExponent,
}

impl Tree {
    fn value(&self, names: &[i64]) -> Result<BigInt, Failure> {
        let value = match self {
            Tree::Number(number) => BigInt::from(*number),
            Tree::Name(index) => BigInt::from(names[*index]),
            Tree::Negative(tree) => -tree.value(names)?,
            Tree::Binary(operator, left, right) => {
                binary(*operator, &left.value(names)?, &right.value(names)?)?
            }
        };
        match value.to_i64() {
            Some(_) => Ok(value),
            None => Err(Failure::TooLarge),
        }
    }
}

fn binary(operator: char, left: &BigInt, right: &BigInt) -> Result<BigInt, Failure> {
    Ok(match operator {
        '+' => left + right,
        '-' => left - right,
        '*' => left * right,
        '/' | '%' if right.is_zero() => return Err(Failure::DivisionByZero),
        '%' => left % right,
        '/' if (left % right).is_zero() => left / right,
        '/' => return Err(Failure::Inexact),
        _ if right.is_negative() => return Err(Failure::NegativeExponent),
        _ if left.magnitude() <= &1u32.into() => {
            let even = (right % 2u32).is_zero();
            match (right.is_zero(), left.is_negative() && even) {
                (true, _) | (_, true) => BigInt::from(1),
                _ => left.clone(),
            }
        }
        _ => match right.to_u32().filter(|exponent| *exponent < 64) {
            Some(exponent) => left.pow(exponent),
            None => return Err(Failure::TooLarge),
        },
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    let number = prop_oneof![
        0..=9u64,
        any::<u64>(),
        Just(i64::MAX as u64),
        Just(i64::MAX as u64 + 1)
    ];
    let leaf = prop_oneof![
        number.prop_map(Tree::Number),
        (0..NAMES.len()).prop_map(Tree::Name)
    ];
    leaf.prop_recursive(6, 40, 2, |inner| {
        let operator = proptest::sample::select(vec!['+', '-', '*', '/', '%', '^']);
        let binary = (operator, inner.clone(), inner.clone());
        prop_oneof![
            inner.prop_map(|tree| Tree::Negative(Box::new(tree))),
            binary.prop_map(|(o, left, right)| Tree::Binary(o, Box::new(left), Box::new(right))),
        ]
    })
}

fn evaluated(text: &str, names: &[i64]) -> Result<i64, Failure> {
    let expression = Expression::parse(text);
    let value = expression.and_then(|expression| {
        let values: Vec<i64> = (expression.names().iter())
            .map(|(name, _)| {
                let index = NAMES.iter().position(|known| known == name);
                names[index.expect("a known name")]
            })
            .collect();
        expression.value(&values)
    });
    value.map_err(|error| match error.why {
        Why::TooLarge => Failure::TooLarge,
        Why::DivisionByZero => Failure::DivisionByZero,
        Why::Inexact { .. } => Failure::Inexact,
        Why::NegativeExponent => Failure::NegativeExponent,
        why => panic!("{text}: {why}"),
    })
}

proptest! {
    /// A number that does not fit into 64 bits is reported before any other error.
    #[test]
    fn values_agree_with_big_integers(tree in tree(), names in any::<[i64; 3]>()) {
        let text = tree.to_string();
        let expected = tree.value(&names).map(|value| value.to_i64().expect("it fits"));
        let found = evaluated(&text, &names);
        if found != Err(Failure::TooLarge) || !has_large_number(&tree) {
            prop_assert_eq!(found, expected, "{}", text);
        }
    }

    #[test]
    fn no_text_panics(text in "[-+*/%^() a-c0-9_.,]{0,40}") {
        if let Ok(expression) = Expression::parse(&text) {
            let _ = expression.value(&vec![2; expression.names().len()]);
        }
    }
}

fn has_large_number(tree: &Tree) -> bool {
    match tree {
        Tree::Number(number) => i64::try_from(*number).is_err(),
        Tree::Name(_) => false,
        Tree::Negative(tree) => has_large_number(tree),
        Tree::Binary(_, left, right) => has_large_number(left) || has_large_number(right),
    }
}
