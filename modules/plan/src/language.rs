//! Rules as a user writes them on the command line or in a file, and their syntax.
//!
//! ```text
//! pin WHAT=WHERE             what may lie where
//! together WHAT              all in one OS process
//! apart WHAT[@WHERE]         no two of them in one OS process, or on one host
//! hold WHAT=COUNT[@WHERE]    how many of them each OS process holds, or each host
//! whole MODULES              each of these modules in one OS process
//! prefer MODULES=TRAFFIC     the same, if it is worth it
//! memory WHERE=SIZE          what each host, or OS process, can hold
//! move WHAT=PRICE            what it costs to move these out of a mapping in use
//!
//! WHAT     process {"," process}, each NAME, kind:NAME or module:NAME
//! WHERE    place {"," place}, each HOST, host:HOST, or N or N-M for OS processes
//! COUNT    N, N-M, N- (at least) or -M (at most)
//! PRICE    traffic over distance 1, or `mem`: as much as the process has of it
//! ```
//!
//! `*` and `?` in names stand for any characters; names with other signs go in double quotes. White
//! space is free around all signs. In a file there is one rule a line, and `#` starts a comment.

use crate::codes;
use crate::pattern::Pattern;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::size;
use graphmap_kpn::source::{Source, Span};

/// The words that rules start with, each also the name of an option of the command.
pub const RULES: [&str; 8] = [
    "pin", "together", "apart", "hold", "whole", "prefer", "memory", "move",
];

/// One rule, and where it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub(crate) said: Said,
    pub(crate) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    Pin(Vec<Term>, Vec<Where>),
    Together(Vec<Term>),
    /// And where: each OS process when empty.
    Apart(Vec<Term>, Vec<Where>),
    /// Least, most, and where: each OS process when empty.
    Hold(Vec<Term>, u32, u32, Vec<Where>),
    Whole(Vec<Pattern>),
    Prefer(Vec<Pattern>, f64),
    /// Bytes.
    Memory(Vec<Where>, u64),
    Move(Vec<Term>, Price),
}

/// What it costs to move a process over distance 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Price {
    /// So much traffic.
    Traffic(f64),
    /// Its `mem=`, all of which goes with it.
    Mem,
}

/// What a name is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Process,
    Kind,
    Module,
}

/// Some processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) of: Of,
    pub(crate) name: Pattern,
}

/// Some OS processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// Those on the hosts of this name.
    Host(Pattern),
    /// From one number to another.
    OsProcess(u32, u32, Span),
}

/// Reads one rule: `word` is one of [`RULES`], the text is all that follows it.
///
/// # Errors
/// [`codes::BAD_RULE`] with the place in the text.
pub fn rule(word: &str, source: &Source) -> Result<Rule, Box<Diagnostic>> {
    let text = source.text();
    Reader::new(text, source.base()).rule(word, whole(text, source.base()))
}

/// Reads places that stand in a text at a span.
pub(crate) fn places(text: &str, span: Span) -> Result<Vec<Where>, Box<Diagnostic>> {
    let help = "hosts or OS processes are wanted, such as `node*` or `0-3`; `*` is all hosts";
    let mut reader = Reader::new(text, 0);
    let mut places = reader.places(help).map_err(|_| bad(span, "", help))?;
    reader.blank();
    if !reader.rest().is_empty() {
        return Err(bad(span, "", help));
    }
    for place in &mut places {
        match place {
            Where::Host(name) => name.span = span,
            Where::OsProcess(_, _, own) => *own = span,
        }
    }
    Ok(places)
}

/// Reads a file of rules, one a line. What cannot be understood is left out, with an error in `out`.
pub fn rules(source: &Source, out: &mut Diagnostics) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut base = source.base();
    for line in source.text().split('\n') {
        let text = &line[..comment(line)];
        let mut reader = Reader::new(text, base);
        reader.blank();
        if !reader.rest().is_empty() {
            let start = reader.at;
            let length = reader.rest().find(|c: char| !c.is_ascii_alphabetic());
            reader.at += length.unwrap_or(reader.rest().len());
            let word = &text[start..reader.at];
            let span = whole(text, base);
            match reader.rule(word, span) {
                Ok(rule) => rules.push(rule),
                Err(wrong) => out.push(*wrong),
            }
        }
        base += line.len() as u32 + 1;
    }
    rules
}

/// Where the comment of a line starts; a `#` in quotes is none.
fn comment(line: &str) -> usize {
    let mut quoted = false;
    let start = line.char_indices().find(|&(_, c)| {
        quoted ^= c == '"';
        c == '#' && !quoted
    });
    start.map_or(line.len(), |(at, _)| at)
}

/// A text without the white space around it.
fn whole(text: &str, base: u32) -> Span {
    let start = text.len() - text.trim_start().len();
    let end = text.trim_end().len().max(start);
    Span::new(base + start as u32, base + end as u32)
}

/// A finding; large, so kept away from the good case.
type Wrong = Box<Diagnostic>;

struct Reader<'a> {
    text: &'a str,
    base: u32,
    at: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, base: u32) -> Reader<'a> {
        Reader { text, base, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blank(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn span(&self, start: usize) -> Span {
        Span::new(self.base + start as u32, self.base + self.at as u32)
    }

    /// Takes a sign if it is the next.
    fn sign(&mut self, sign: char) -> bool {
        self.blank();
        let there = self.rest().starts_with(sign);
        self.at += if there { sign.len_utf8() } else { 0 };
        there
    }

    fn need(&mut self, sign: char, help: &str) -> Result<(), Wrong> {
        if self.sign(sign) {
            return Ok(());
        }
        Err(self.wrong(&format!("`{sign}` is expected here"), help))
    }

    /// A finding at the next character.
    fn wrong(&mut self, label: &str, help: &str) -> Wrong {
        self.blank();
        let start = self.at;
        self.at += self.rest().chars().next().map_or(0, char::len_utf8);
        bad(self.span(start), label, help)
    }

    fn rule(mut self, word: &str, span: Span) -> Result<Rule, Wrong> {
        let said = match word {
            "pin" => {
                let help = "the rule is `pin WHAT=WHERE`, such as `worker*=node1` or `manager=0`";
                let what = self.terms(help)?;
                self.need('=', help)?;
                Said::Pin(what, self.places(help)?)
            }
            "together" => {
                Said::Together(self.terms("the rule is `together WHAT`, such as `source,sink`")?)
            }
            "apart" => {
                let help = "the rule is `apart WHAT`, such as `kind:worker`, or `apart WHAT@WHERE`, such as `kind:worker@*` for all hosts";
                let what = self.terms(help)?;
                Said::Apart(what, self.at_places(help)?)
            }
            "hold" => self.hold()?,
            "whole" => Said::Whole(self.modules("the rule is `whole MODULES`, such as `farm*`")?),
            "prefer" => {
                let help = "the rule is `prefer MODULES=TRAFFIC`, such as `farm*=100`";
                let modules = self.modules(help)?;
                self.need('=', help)?;
                Said::Prefer(modules, self.traffic(help)?)
            }
            "memory" => {
                let help = "the rule is `memory WHERE=SIZE`, such as `node*=64G`";
                let places = self.places(help)?;
                self.need('=', help)?;
                Said::Memory(places, self.bytes(help)?)
            }
            "move" => {
                let help = "the rule is `move WHAT=PRICE`, such as `kind:table=1000` or `*=mem`";
                let what = self.terms(help)?;
                self.need('=', help)?;
                self.blank();
                let price = match self.rest().trim_end() {
                    "mem" => {
                        self.last();
                        Price::Mem
                    }
                    _ => Price::Traffic(self.traffic(help)?),
                };
                Said::Move(what, price)
            }
            other => {
                let start = self.at - other.len().min(self.at);
                if other.is_empty() {
                    return Err(self.wrong("", "a rule starts with a word such as `pin`"));
                }
                let message = format!("there is no rule `{other}`");
                let finding = Diagnostic::error(codes::BAD_RULE, message).at(self.span(start), "");
                return Err(Box::new(match nearest(other, RULES) {
                    Some(near) => finding.help(format!("did you mean `{near}`?")),
                    None => finding.help(format!("there are: {}", RULES.join(", "))),
                }));
            }
        };
        self.blank();
        if !self.rest().is_empty() {
            let start = self.at;
            self.at = self.text.trim_end().len();
            let help = "join several names by commas; put names with other signs in double quotes";
            return Err(bad(self.span(start), "nothing more is expected here", help));
        }
        Ok(Rule { said, span })
    }

    fn hold(&mut self) -> Result<Said, Wrong> {
        let help = "the rule is `hold WHAT=COUNT`, such as `kind:worker=1-4`, `worker*=-4` or `disk*=1@0-3`";
        let what = self.terms(help)?;
        self.need('=', help)?;
        self.blank();
        let start = self.at;
        let least = self.number()?;
        let range = self.sign('-');
        let most = if range { self.number()? } else { least };
        let (least, most) = match (least, most) {
            (None, None) => return Err(self.wrong("a number is expected here", help)),
            (least, most) => (least.unwrap_or(0), most.unwrap_or(u32::MAX)),
        };
        if least > most {
            let label = "the least is above the most";
            return Err(bad(self.span(start), label, help));
        }
        Ok(Said::Hold(what, least, most, self.at_places(help)?))
    }

    /// Where a rule holds, if that is said.
    fn at_places(&mut self, help: &str) -> Result<Vec<Where>, Wrong> {
        match self.sign('@') {
            true => self.places(help),
            false => Ok(Vec::new()),
        }
    }

    /// What stands between commas.
    fn list<T>(&mut self, one: impl Fn(&mut Self) -> Result<T, Wrong>) -> Result<Vec<T>, Wrong> {
        let mut list = Vec::new();
        loop {
            list.push(one(self)?);
            if !self.sign(',') {
                return Ok(list);
            }
        }
    }

    fn terms(&mut self, help: &str) -> Result<Vec<Term>, Wrong> {
        let words = [
            ("kind", Of::Kind),
            ("module", Of::Module),
            ("process", Of::Process),
        ];
        self.list(|reader| {
            let of = reader.prefix(&words).unwrap_or(Of::Process);
            let name = reader.name(help)?;
            Ok(Term { of, name })
        })
    }

    fn modules(&mut self, help: &str) -> Result<Vec<Pattern>, Wrong> {
        self.list(|reader| {
            let _: Option<()> = reader.prefix(&[("module", ())]);
            reader.name(help)
        })
    }

    fn places(&mut self, help: &str) -> Result<Vec<Where>, Wrong> {
        self.list(|reader| {
            let host = reader.prefix(&[("host", ())]).is_some();
            reader.blank();
            let start = reader.at;
            let name = reader.name(help)?;
            let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
            let whole = (&*name.text, &*name.text);
            let (first, last) = name.text.split_once('-').unwrap_or(whole);
            if host || name.literal || !digits(first) || !digits(last) {
                return Ok(Where::Host(name));
            }
            let span = reader.span(start);
            let large = |_| bad(span, "this number is too large", help);
            let number = |t: &str| t.parse::<u32>().map_err(large);
            match (number(first)?, number(last)?) {
                (first, last) if first > last => Err(bad(span, "this range is empty", help)),
                (first, last) => Ok(Where::OsProcess(first, last, span)),
            }
        })
    }

    /// What stands before a colon, if it is one of these words.
    fn prefix<T: Copy>(&mut self, words: &[(&str, T)]) -> Option<T> {
        self.blank();
        for (word, value) in words {
            let after = self.rest().strip_prefix(word).map(str::trim_start);
            if let Some(rest) = after.and_then(|r| r.strip_prefix(':')) {
                self.at = self.text.len() - rest.len();
                return Some(*value);
            }
        }
        None
    }

    /// A name up to the next sign, or in quotes.
    fn name(&mut self, help: &str) -> Result<Pattern, Wrong> {
        self.blank();
        let start = self.at;
        if self.sign('"') {
            let Some(end) = self.rest().find('"') else {
                self.at = self.text.len();
                return Err(bad(self.span(start), "this quote does not end", help));
            };
            let text = self.rest()[..end].to_owned();
            self.at += end + 1;
            let span = self.span(start);
            let literal = true;
            return Ok(Pattern {
                text,
                literal,
                span,
            });
        }
        let sign = |c: char| c.is_whitespace() || "=,@:\"".contains(c);
        self.at += self.rest().find(sign).unwrap_or(self.rest().len());
        if self.at == start {
            return Err(self.wrong("a name is expected here", help));
        }
        Ok(Pattern {
            text: self.text[start..self.at].to_owned(),
            literal: false,
            span: self.span(start),
        })
    }

    fn number(&mut self) -> Result<Option<u32>, Wrong> {
        self.blank();
        let start = self.at;
        let digits = self.rest().find(|c: char| !c.is_ascii_digit());
        self.at += digits.unwrap_or(self.rest().len());
        let text = &self.text[start..self.at];
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) if text.is_empty() => Ok(None),
            Err(_) => Err(bad(self.span(start), "this number is too large", "")),
        }
    }

    /// What is left of the text, and where it is.
    fn last(&mut self) -> (&'a str, Span) {
        self.blank();
        let start = self.at;
        self.at = self.text.trim_end().len().max(start);
        (&self.text[start..self.at], self.span(start))
    }

    fn traffic(&mut self, help: &str) -> Result<f64, Wrong> {
        let (text, span) = self.last();
        match text.parse::<f64>() {
            Ok(traffic) if traffic >= 0.0 && traffic.is_finite() => Ok(traffic),
            _ => Err(bad(span, "a number of at least 0 is expected here", help)),
        }
    }

    fn bytes(&mut self, help: &str) -> Result<u64, Wrong> {
        let (text, span) = self.last();
        let (number, unit) = size::split(text);
        let bytes = number.parse::<u64>().ok();
        let bytes = bytes.and_then(|n| n.checked_mul(unit));
        bytes.ok_or_else(|| {
            let label = "bytes are expected here, such as 4096, 64G or 2GiB";
            bad(span, label, help)
        })
    }
}

fn bad(span: Span, label: &str, help: &str) -> Wrong {
    let finding = Diagnostic::error(codes::BAD_RULE, "this rule cannot be understood");
    let finding = finding.at(span, label);
    Box::new(match help {
        "" => finding,
        _ => finding.help(help),
    })
}

#[cfg(test)]
mod tests;
