//! Sequences of integers in a compact form: the tables of a network.
//!
//! # Grammar
//!
//! ```text
//! sequence = { term }                      terms are separated by white space
//! term     = start { loop }
//! loop     = ("+" | "-") step "*" count    the innermost loop comes first
//! ```
//!
//! | text | numbers |
//! |---|---|
//! | `7` | 7 |
//! | `2+5*3` | 2 7 12 |
//! | `10-1*4` | 10 9 8 7 |
//! | `4+0*3` | 4 4 4 |
//! | `0+0*2+1*3` | 0 0 1 1 2 2 |
//! | `0+1*3+10*2` | 0 1 2 10 11 12 |
//! | `0+1*3 9 4` | 0 1 2 9 4 |
//!
//! All numbers are below 2^32, and a sequence has fewer than 2^32 numbers. A term has at most 8
//! loops. A count may be 0, and the term then has no numbers. Random access computes
//! the n-th number in time logarithmic in the number of terms. The memory is proportional to the
//! length of the text.

use std::fmt;

/// Largest number of loops in a term.
const LOOPS: usize = 8;

/// A parsed sequence.
///
/// ```
/// use graphmap_runtime::Sequence;
///
/// let sequence: Sequence = "0+1*3+10*2 99".parse().unwrap();
/// assert_eq!(sequence.len(), 7);
/// assert_eq!(sequence.get(4), Some(11));
/// assert_eq!(sequence.iter().collect::<Vec<_>>(), [0, 1, 2, 10, 11, 12, 99]);
/// assert!("0+1*".parse::<Sequence>().is_err());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sequence {
    terms: Vec<Term>,
    loops: Vec<Loop>,
    len: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    /// Length of the sequence before the term.
    before: u32,
    start: u32,
    /// Index of the first loop. The loops of the term are `loops[first..next term's first]`.
    first: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Loop {
    step: i64,
    count: u32,
}

/// A syntax error in a sequence, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceError {
    /// Byte offset in the text, from 0.
    pub at: usize,
    /// Description of the error.
    pub message: &'static str,
}

impl fmt::Display for SequenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.at, self.message)
    }
}

impl std::error::Error for SequenceError {}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn error<T>(&self, message: &'static str) -> Result<T, SequenceError> {
        Err(SequenceError {
            at: self.at,
            message,
        })
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Reads a decimal number, and stops after its last digit.
    ///
    /// # Errors
    /// Returns an error if no digit comes next, or if the number is 2^32 or more.
    fn number(&mut self) -> Result<u32, SequenceError> {
        let mut value: Option<u32> = None;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            let next = value.unwrap_or(0).checked_mul(10);
            let Some(next) = next.and_then(|v| v.checked_add(u32::from(digit - b'0'))) else {
                return self.error("number out of range: expected less than 2^32");
            };
            value = Some(next);
            self.at += 1;
        }
        value.map_or_else(|| self.error("expected a number"), Ok)
    }
}

impl std::str::FromStr for Sequence {
    type Err = SequenceError;

    /// Parses a sequence. An empty or blank text is an empty sequence.
    ///
    /// # Errors
    /// Returns an error if the text does not follow the grammar, if a number is not below 2^32, if
    /// the sequence would have 2^32 numbers or more, or if a term has more than 8 loops.
    fn from_str(text: &str) -> Result<Self, SequenceError> {
        let mut sequence = Sequence::default();
        let mut reader = Reader {
            text: text.as_bytes(),
            at: 0,
        };
        loop {
            while reader.peek().is_some_and(|c| c.is_ascii_whitespace()) {
                reader.at += 1;
            }
            if reader.peek().is_none() {
                return Ok(sequence);
            }
            sequence.term(&mut reader)?;
        }
    }
}

impl Sequence {
    fn term(&mut self, reader: &mut Reader<'_>) -> Result<(), SequenceError> {
        let (begin, first) = (reader.at, self.loops.len());
        let start = reader.number()?;
        let (mut low, mut high, mut len) = (i64::from(start), i64::from(start), 1u32);
        while let Some(sign) = reader.peek().filter(|&c| c == b'+' || c == b'-') {
            reader.at += 1;
            let step = i64::from(reader.number()?) * if sign == b'-' { -1 } else { 1 };
            if reader.peek() != Some(b'*') {
                return reader.error("expected `*` and a count");
            }
            reader.at += 1;
            let count = reader.number()?;
            // Both bounds are below 2^32 here, and the reach is below 2^64, so i128 does not
            // overflow. The check below ensures that the new bounds are below 2^32.
            let reach = i128::from(step) * i128::from(count.max(1) - 1);
            let (least, most) = (
                i128::from(low) + reach.min(0),
                i128::from(high) + reach.max(0),
            );
            if count > 0 && (least < 0 || most > i128::from(u32::MAX)) {
                return reader.error("the loop leaves the range from 0 to 2^32 - 1");
            }
            if count > 0 {
                (low, high) = (least as i64, most as i64);
            }
            let Some(longer) = len.checked_mul(count) else {
                return reader.error("the sequence has 2^32 numbers or more");
            };
            len = longer;
            if self.loops.len() - first == LOOPS {
                return reader.error("the term has more than 8 loops");
            }
            self.loops.push(Loop { step, count });
        }
        if reader.peek().is_some_and(|c| !c.is_ascii_whitespace()) {
            return reader.error("expected a term such as `start+step*count`");
        }
        let Some(after) = self.len.checked_add(len) else {
            reader.at = begin;
            return reader.error("the sequence has 2^32 numbers or more");
        };
        if len == 0 {
            self.loops.truncate(first);
        } else {
            self.terms.push(Term {
                before: self.len,
                start,
                first: first as u32,
            });
            self.len = after;
        }
        Ok(())
    }

    /// Returns the length of the sequence.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if the sequence is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the n-th number, from 0, or `None` if `n` is out of range. Takes time logarithmic in
    /// the number of terms.
    pub fn get(&self, n: usize) -> Option<u32> {
        let n = u32::try_from(n).ok().filter(|&n| n < self.len)?;
        let at = self.term_of(n);
        let term = &self.terms[at];
        Some(value(term.start, self.loops_of(at), n - term.before))
    }

    /// Returns the index of the term that contains the n-th number. `n` counts from 0, and must be
    /// below the length of the sequence.
    fn term_of(&self, n: u32) -> usize {
        self.terms.partition_point(|term| term.before <= n) - 1
    }

    /// Returns the index, from 0, of the first occurrence of a number, or `None` if the sequence
    /// does not contain it. Searches the terms in order. Takes constant time for a term without
    /// loops or with one loop whose step is not 0. Takes linear time in its length for any other
    /// term.
    pub fn position(&self, number: u32) -> Option<usize> {
        let plain = |term: &Term, loops: &[Loop]| match loops {
            [] => (term.start == number).then_some(0),
            [one] if one.step != 0 => {
                let away = i64::from(number) - i64::from(term.start);
                let at = away / one.step;
                (away % one.step == 0 && (0..i64::from(one.count)).contains(&at)).then_some(at)
            }
            loops => {
                let count = loops.iter().map(|l| i64::from(l.count)).product();
                (0..count).find(|&n| value(term.start, loops, n as u32) == number)
            }
        };
        self.terms.iter().enumerate().find_map(|(at, term)| {
            plain(term, self.loops_of(at)).map(|n| term.before as usize + n as usize)
        })
    }

    /// Returns the indices, from 0, of all occurrences of a number, in ascending order. Takes time
    /// roughly proportional to the number of terms and results, because loops that cannot contain
    /// the number are skipped as a whole.
    pub fn positions(&self, number: u32) -> Vec<usize> {
        let mut found = Vec::new();
        for (at, term) in self.terms.iter().enumerate() {
            let rest = i64::from(number) - i64::from(term.start);
            places(self.loops_of(at), rest, term.before as usize, &mut found);
        }
        found
    }

    fn loops_of(&self, term: usize) -> &[Loop] {
        let end = self
            .terms
            .get(term + 1)
            .map_or(self.loops.len(), |next| next.first as usize);
        &self.loops[self.terms[term].first as usize..end]
    }

    /// Returns an iterator over the numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        Numbers {
            sequence: self,
            at: 0,
            next: 0,
            step: 0,
            left: 0,
        }
    }
}

/// Iterator over a sequence. It proceeds by runs of an innermost loop, so that most numbers cost
/// one addition.
struct Numbers<'a> {
    sequence: &'a Sequence,
    /// Index of the first number after the run.
    at: u32,
    next: i64,
    step: i64,
    /// Numbers that remain in the run.
    left: u32,
}

impl Numbers<'_> {
    #[inline(never)]
    fn run(&mut self) -> Option<()> {
        let sequence = self.sequence;
        if self.at == sequence.len {
            return None;
        }
        let term = sequence.term_of(self.at);
        let loops = sequence.loops_of(term);
        let term = &sequence.terms[term];
        self.next = i64::from(value(term.start, loops, self.at - term.before));
        (self.step, self.left) = loops.first().map_or((0, 1), |l| (l.step, l.count));
        self.at += self.left;
        Some(())
    }
}

impl Iterator for Numbers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.left == 0 {
            self.run()?;
        }
        self.left -= 1;
        // The parser has checked the range.
        let number = self.next as u32;
        self.next += self.step;
        Some(number)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.sequence.len() - self.at as usize + self.left as usize;
        (left, Some(left))
    }
}

/// Appends to `found` the indices of the combinations of iterations at which the steps of the loops
/// add up to `sum`, in ascending order. The innermost loop comes first, and varies fastest.
/// `before` is added to each index.
fn places(loops: &[Loop], sum: i64, before: usize, found: &mut Vec<usize>) {
    let Some((outer, inner)) = loops.split_last() else {
        found.extend((sum == 0).then_some(before));
        return;
    };
    let reach = |one: &Loop| one.step * (i64::from(one.count) - 1);
    let least: i64 = inner.iter().map(|one| reach(one).min(0)).sum();
    let most: i64 = inner.iter().map(|one| reach(one).max(0)).sum();
    let size: usize = inner.iter().map(|one| one.count as usize).product();
    // First and last iteration of the outer loop for which the inner loops can produce the rest.
    let last = i64::from(outer.count) - 1;
    let (first, last) = match outer.step {
        0 if (least..=most).contains(&sum) => (0, last),
        0 => return,
        step => {
            let (low, high) = match step > 0 {
                true => (sum - most, sum - least),
                false => (least - sum, most - sum),
            };
            let size = step.abs();
            (
                (low + size - 1).div_euclid(size).max(0),
                high.div_euclid(size).min(last),
            )
        }
    };
    for round in first..=last {
        let before = before + round as usize * size;
        places(inner, sum - round * outer.step, before, found);
    }
}

fn value(start: u32, loops: &[Loop], mut n: u32) -> u32 {
    let mut value = i64::from(start);
    for round in loops {
        value += round.step * i64::from(n % round.count);
        n /= round.count;
    }
    // The parser has checked the range.
    value as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<u32> {
        text.parse::<Sequence>().unwrap().iter().collect()
    }

    #[test]
    fn the_table_of_the_grammar() {
        assert_eq!(numbers(""), []);
        assert_eq!(numbers(" 7\n"), [7]);
        assert_eq!(numbers("2+5*3"), [2, 7, 12]);
        assert_eq!(numbers("10-1*4"), [10, 9, 8, 7]);
        assert_eq!(numbers("4+0*3"), [4, 4, 4]);
        assert_eq!(numbers("0+0*2+1*3"), [0, 0, 1, 1, 2, 2]);
        assert_eq!(numbers("0+1*3+10*2"), [0, 1, 2, 10, 11, 12]);
        assert_eq!(numbers("0+1*3 9 4"), [0, 1, 2, 9, 4]);
        assert_eq!(numbers("5+1*0 3 8-1*0"), [3]);
        assert_eq!(
            numbers("4294967295 4294967295-4294967295*2"),
            [u32::MAX, u32::MAX, 0]
        );
    }

    /// Compares with a linear scan.
    #[test]
    fn places_of_numbers() {
        for text in [
            "",
            "7",
            "4+0*3 4 1+1*9",
            "2+5*3 10-1*4",
            "0+1*3+10*2",
            "0+0*2+1*3+0*4",
            "9-2*4+1*3-1*2",
            "9+1*4-1*6+2*3-3*2",
            "5-0*3+2*2",
        ] {
            let sequence: Sequence = text.parse().unwrap();
            let all = numbers(text);
            for number in 0..20 {
                let places = (0..all.len()).filter(|&at| all[at] == number);
                assert_eq!(
                    sequence.positions(number),
                    places.collect::<Vec<_>>(),
                    "{number} in {text}"
                );
            }
        }
        let grid: Sequence = "0+1*1000+1000*1000".parse().unwrap();
        assert_eq!(grid.positions(123_456), [123_456]);
    }

    #[test]
    fn errors_say_where() {
        for (text, at) in [
            ("x", 0),
            ("1 +2*3", 2),
            ("1+", 2),
            ("1+2", 3),
            ("1+2*", 4),
            ("1+2*3x", 5),
            ("3-1*5", 5),
            ("4294967296", 9),
            ("0+1*4294967295 1+0*2", 15),
            ("0+0*65536+0*65536", 17),
            ("0+0*1+0*1+0*1+0*1+0*1+0*1+0*1+0*1+0*1", 37),
            ("1,2", 1),
            ("é", 0),
        ] {
            assert_eq!(text.parse::<Sequence>().unwrap_err().at, at, "{text}");
        }
    }

    #[test]
    fn printed_sequences_are_read_back() {
        // Checks every term of one or two small loops against nested loops.
        for start in [20u32, 31] {
            for (a, n) in [(0i64, 1u32), (1, 4), (-2, 5), (3, 0)] {
                for (b, m) in [(0i64, 3u32), (7, 2), (-1, 4)] {
                    let mut naive = Vec::new();
                    for j in 0..m {
                        for i in 0..n {
                            naive.push(
                                (i64::from(start) + a * i64::from(i) + b * i64::from(j)) as u32,
                            );
                        }
                    }
                    assert_eq!(numbers(&format!("{start}{a:+}*{n}{b:+}*{m}")), naive);
                }
            }
        }
    }
}
