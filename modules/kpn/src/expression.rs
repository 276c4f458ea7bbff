//! Expressions of whole numbers: `numsieve - 2`, `2 * (K + 1)`.
//!
//! The grammar, with the usual precedence. All operators but `^` are applied from left to right:
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = sign { ("*" | "/" | "%") sign }
//! sign    = "-" sign | power
//! power   = atom [ "^" sign ]
//! atom    = number | name | "(" sum ")"
//! ```
//!
//! Numbers have 64 bits. A division must be exact, and `%` has the sign of the dividend. A name
//! begins with a letter or `_`, and contains letters, digits and `_`.

use std::ops::Range;

/// Limit on the nesting of parentheses, signs and powers.
const DEPTH: u32 = 64;

/// An error in an expression, or the reason why it has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Bytes of the text to which the reason applies. Empty at the end of the text.
    pub at: Range<usize>,
    /// The reason.
    pub why: Why,
}

/// The reason of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The text does not continue with one of these.
    Expected(&'static str),
    /// More than 64 signs, powers and parentheses are nested.
    TooDeep,
    /// A value does not fit into 64 bits.
    TooLarge,
    /// The divisor is 0.
    DivisionByZero,
    /// The quotient is not a whole number.
    Inexact {
        /// Value on the left of `/`.
        dividend: i64,
        /// Value on the right of `/`.
        divisor: i64,
    },
    /// The exponent of `^` is negative.
    NegativeExponent,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Why::Expected(what) => write!(f, "expected {what}"),
            Why::TooDeep => write!(f, "more than {DEPTH} nested signs, powers and parentheses"),
            Why::TooLarge => f.write_str("the value does not fit into 64 bits"),
            Why::DivisionByZero => f.write_str("division by zero"),
            Why::Inexact { dividend, divisor } => {
                write!(f, "{dividend} / {divisor} is not a whole number")
            }
            Why::NegativeExponent => f.write_str("the exponent is negative"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Number(i64),
    /// Index in the list of names.
    Name(usize),
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    /// The steps in postfix order, each with the bytes of the subexpression that it completes.
    steps: Vec<(Step, Range<usize>)>,
    names: Vec<(String, Range<usize>)>,
}

/// Returns true for a name that an expression can contain.
pub fn is_name(text: &str) -> bool {
    text.starts_with(begins_name) && text.chars().all(continues_name)
}

fn begins_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// Returns [`Why::Expected`] or [`Why::TooDeep`], or [`Why::TooLarge`] for a number of more
    /// than 64 bits.
    pub fn parse(text: &str) -> Result<Expression, Error> {
        let mut parser = Parser {
            text,
            position: 0,
            depth: 0,
            out: Expression {
                steps: Vec::new(),
                names: Vec::new(),
            },
        };
        parser.sum()?;
        match parser.rest().is_empty() {
            true => Ok(parser.out),
            false => Err(parser.expected("an operator or the end")),
        }
    }

    /// Returns the different names, with the position of the first occurrence of each.
    pub fn names(&self) -> &[(String, Range<usize>)] {
        &self.names
    }

    /// Returns the value. `values` has the value of each of [`names`](Self::names), in their order.
    ///
    /// # Errors
    /// Returns an error if a value does not fit into 64 bits, a division is not exact, a divisor
    /// is 0, or an exponent is negative.
    ///
    /// # Panics
    /// Panics if `values` is shorter than the list of names.
    pub fn value(&self, values: &[i64]) -> Result<i64, Error> {
        let mut stack: Vec<i64> = Vec::with_capacity(8);
        for (step, at) in &self.steps {
            let value = match *step {
                Step::Number(number) => Ok(number),
                Step::Name(index) => Ok(values[index]),
                Step::Negate => {
                    let operand = stack.pop().expect("a step precedes it");
                    operand.checked_neg().ok_or(Why::TooLarge)
                }
                step => {
                    let right = stack.pop().expect("two steps precede it");
                    let left = stack.pop().expect("two steps precede it");
                    apply(step, left, right)
                }
            };
            stack.push(value.map_err(|why| Error {
                at: at.clone(),
                why,
            })?);
        }
        Ok(stack.pop().expect("an expression has a step"))
    }
}

/// Applies an operator with two operands.
fn apply(operator: Step, left: i64, right: i64) -> Result<i64, Why> {
    let value = match operator {
        Step::Add => left.checked_add(right),
        Step::Subtract => left.checked_sub(right),
        Step::Multiply => left.checked_mul(right),
        Step::Divide | Step::Remainder if right == 0 => return Err(Why::DivisionByZero),
        // `i64::MIN % -1` overflows. Its value is 0.
        Step::Remainder => Some(left.checked_rem(right).unwrap_or(0)),
        Step::Divide => match left.checked_rem(right).unwrap_or(0) {
            0 => left.checked_div(right),
            _ => {
                return Err(Why::Inexact {
                    dividend: left,
                    divisor: right,
                });
            }
        },
        _ => return power(left, right),
    };
    value.ok_or(Why::TooLarge)
}

fn power(base: i64, exponent: i64) -> Result<i64, Why> {
    match (base, exponent) {
        (_, ..0) => Err(Why::NegativeExponent),
        (_, 0) => Ok(1),
        (0 | 1, _) => Ok(base),
        (-1, _) => Ok(if exponent % 2 == 0 { 1 } else { -1 }),
        _ => {
            let exponent = u32::try_from(exponent).ok();
            exponent
                .and_then(|e| base.checked_pow(e))
                .ok_or(Why::TooLarge)
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    /// Bytes read so far.
    position: usize,
    depth: u32,
    out: Expression,
}

impl<'a> Parser<'a> {
    /// Skips spaces and returns the text after them.
    fn rest(&mut self) -> &'a str {
        let rest = self.text[self.position..].trim_start();
        self.position = self.text.len() - rest.len();
        rest
    }

    /// Skips spaces and returns the position after them.
    fn start(&mut self) -> usize {
        self.rest();
        self.position
    }

    /// Skips `operator` and returns true, if it is next.
    fn skip(&mut self, operator: char) -> bool {
        let found = self.rest().starts_with(operator);
        if found {
            self.position += operator.len_utf8();
        }
        found
    }

    /// Returns the error for the word, operator or end at the current position.
    fn expected(&mut self, what: &'static str) -> Error {
        let rest = self.rest();
        let word = rest.find(|c| !continues_name(c)).unwrap_or(rest.len());
        let first = rest.chars().next().map_or(0, char::len_utf8);
        Error {
            at: self.position..self.position + word.max(first),
            why: Why::Expected(what),
        }
    }

    /// Adds a step that completes the subexpression from `start` to the current position.
    fn push(&mut self, step: Step, start: usize) {
        self.out.steps.push((step, start..self.position));
    }

    fn sum(&mut self) -> Result<(), Error> {
        let start = self.start();
        self.product()?;
        loop {
            let step = if self.skip('+') {
                Step::Add
            } else if self.skip('-') {
                Step::Subtract
            } else {
                return Ok(());
            };
            self.product()?;
            self.push(step, start);
        }
    }

    fn product(&mut self) -> Result<(), Error> {
        let start = self.start();
        self.sign()?;
        loop {
            let step = if self.skip('*') {
                Step::Multiply
            } else if self.skip('/') {
                Step::Divide
            } else if self.skip('%') {
                Step::Remainder
            } else {
                return Ok(());
            };
            self.sign()?;
            self.push(step, start);
        }
    }

    fn sign(&mut self) -> Result<(), Error> {
        let start = self.start();
        if !self.skip('-') {
            return self.power();
        }
        self.nested(start, Self::sign)?;
        self.push(Step::Negate, start);
        Ok(())
    }

    fn power(&mut self) -> Result<(), Error> {
        let start = self.start();
        self.atom()?;
        if self.skip('^') {
            self.nested(start, Self::sign)?;
            self.push(Step::Power, start);
        }
        Ok(())
    }

    fn atom(&mut self) -> Result<(), Error> {
        let start = self.start();
        if self.skip('(') {
            self.nested(start, Self::sum)?;
            return match self.skip(')') {
                true => Ok(()),
                false => Err(self.expected("an operator or `)`")),
            };
        }
        let rest = self.rest();
        let word = rest.find(|c| !continues_name(c)).unwrap_or(rest.len());
        let word = &rest[..word];
        if is_name(word) {
            self.position += word.len();
            let names = &mut self.out.names;
            let known = names.iter().position(|(name, _)| name == word);
            let index = known.unwrap_or_else(|| {
                names.push((word.to_owned(), start..start + word.len()));
                names.len() - 1
            });
            self.push(Step::Name(index), start);
            return Ok(());
        }
        // `2N` is not a product.
        if word.is_empty() || !word.bytes().all(|b| b.is_ascii_digit()) {
            return Err(self.expected("a number, a name or `(`"));
        }
        self.position += word.len();
        match word.parse() {
            Ok(number) => {
                self.push(Step::Number(number), start);
                Ok(())
            }
            Err(_) => Err(Error {
                at: start..self.position,
                why: Why::TooLarge,
            }),
        }
    }

    /// Parses a part one level deeper.
    fn nested(
        &mut self,
        start: usize,
        part: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.depth == DEPTH {
            return Err(Error {
                at: start..self.position,
                why: Why::TooDeep,
            });
        }
        self.depth += 1;
        let result = part(self);
        self.depth -= 1;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<i64, Error> {
        let expression = Expression::parse(text)?;
        let values: Vec<i64> = (expression.names().iter())
            .map(|(name, _)| name.len() as i64)
            .collect();
        expression.value(&values)
    }

    #[test]
    fn operators_have_the_usual_precedence() {
        for (text, expected) in [
            ("7", 7),
            (" 1 + 2*3 ", 7),
            ("(1+2)*3", 9),
            ("10-2-3", 5),
            ("24/2/3", 4),
            ("-2^2", -4),
            ("2^-(-3)", 8),
            ("2^3^2", 512),
            ("--3", 3),
            ("-7 % 3", -1),
            ("abc + d_*2", 7),
            ("0^0", 1),
            ("(-1)^9223372036854775807", -1),
            ("größe", 7),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn errors_have_positions() {
        let cases = [
            ("", 0..0, Why::Expected("a number, a name or `(`")),
            ("1 +", 3..3, Why::Expected("a number, a name or `(`")),
            ("2i+1", 0..2, Why::Expected("a number, a name or `(`")),
            ("(1", 2..2, Why::Expected("an operator or `)`")),
            ("1 2", 2..3, Why::Expected("an operator or the end")),
            ("a ≤ b", 2..5, Why::Expected("an operator or the end")),
            ("99999999999999999999", 0..20, Why::TooLarge),
            ("1 + 2^63", 4..8, Why::TooLarge),
            ("3 + 4/(1-1)", 4..11, Why::DivisionByZero),
            ("1 + 2^(0-1)", 4..11, Why::NegativeExponent),
        ];
        for (text, at, why) in cases {
            assert_eq!(value(text), Err(Error { at, why }), "{text}");
        }
        let why = Why::Inexact {
            dividend: 7,
            divisor: 2,
        };
        assert_eq!(value("1 + 7/2").unwrap_err().why, why);
        assert_eq!(why.to_string(), "7 / 2 is not a whole number");
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let deep = |n| format!("{}1{}", "(".repeat(n), ")".repeat(n));
        assert_eq!(value(&deep(64)), Ok(1));
        assert_eq!(value(&deep(65)).unwrap_err().why, Why::TooDeep);
        assert_eq!(value(&"-".repeat(100_000)).unwrap_err().why, Why::TooDeep);
    }

    #[test]
    fn names_are_listed_once() {
        let expression = Expression::parse("b + a*b").unwrap();
        let names = [("b".to_owned(), 0..1), ("a".to_owned(), 4..5)];
        assert_eq!(expression.names(), names);
        assert_eq!(expression.value(&[5, 3]), Ok(20));
    }
}
