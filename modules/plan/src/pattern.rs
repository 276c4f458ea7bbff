//! Names that may contain `*` and `?`.

use graphmap_kpn::source::Span;

/// A name, or a pattern of names: `*` matches any characters, `?` matches one. In double quotes,
/// both match only themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    /// True if the name is in quotes.
    pub(crate) literal: bool,
    pub(crate) span: Span,
}

/// Special characters of shell patterns and regular expressions, which match themselves here.
const FOREIGN: [char; 10] = ['[', ']', '{', '}', '(', ')', '^', '$', '|', '\\'];

impl Pattern {
    /// Returns true if the text contains `*` or `?` and is not in quotes.
    pub(crate) fn is_open(&self) -> bool {
        !self.literal && self.text.contains(['*', '?'])
    }

    /// Returns true if the text looks like a pattern of another language: it is not in quotes and
    /// contains a special character of shell patterns or regular expressions other than `*` and
    /// `?`.
    pub(crate) fn has_foreign_signs(&self) -> bool {
        !self.literal && self.text.contains(FOREIGN)
    }

    /// Returns the text before the first special character, here or in other languages. Returns
    /// `None` if there is no such character, or if the name is in quotes.
    pub(crate) fn stem(&self) -> Option<&str> {
        let sign = |c: char| c == '*' || c == '?' || FOREIGN.contains(&c);
        let end = self.text.find(sign).filter(|_| !self.literal)?;
        Some(&self.text[..end])
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        match self.is_open() {
            true => glob(&self.text, name),
            false => self.text == name,
        }
    }
}

/// Returns true if the pattern matches the whole name. `*` matches any number of characters, also
/// none. `?` matches one character, and any other character matches itself.
///
/// The search returns to the last star only, so the time is at most the product of both lengths.
fn glob(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    let mut retry = None;
    loop {
        let (mut after, mut rest) = (pattern.clone(), name.clone());
        match (after.next(), rest.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                retry = Some((after.clone(), name.clone()));
                pattern = after;
            }
            (Some(sign), Some(c)) if sign == '?' || sign == c => (pattern, name) = (after, rest),
            _ => {
                // The last star matches one more character.
                let Some((after, taken)) = &mut retry else {
                    return false;
                };
                if taken.next().is_none() {
                    return false;
                }
                (pattern, name) = (after.clone(), taken.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pattern(text: &str) -> Pattern {
        Pattern {
            text: text.to_owned(),
            literal: false,
            span: Span::NONE,
        }
    }

    /// Matches by definition, in exponential time.
    fn naive(pattern: &[char], name: &[char]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some(('*', rest)) => (0..=name.len()).any(|n| naive(rest, &name[n..])),
            Some(('?', rest)) => !name.is_empty() && naive(rest, &name[1..]),
            Some((c, rest)) => name.first() == Some(c) && naive(rest, &name[1..]),
        }
    }

    proptest! {
        #[test]
        fn glob_agrees_with_its_definition(p in "[ab*?é]{0,8}", name in "[abé*]{0,10}") {
            let (ps, ns): (Vec<char>, Vec<char>) = (p.chars().collect(), name.chars().collect());
            prop_assert_eq!(pattern(&p).matches(&name), naive(&ps, &ns));
        }
    }

    #[test]
    fn wildcards_in_quotes_are_literal() {
        let quoted = Pattern {
            literal: true,
            ..pattern("a*")
        };
        assert!(quoted.matches("a*") && !quoted.matches("ab"));
        assert!(pattern("work*r?").matches("worker7"));
    }
}
