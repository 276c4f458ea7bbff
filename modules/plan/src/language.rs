//! Rules of the command line and of rules files, and their syntax.
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
//! permute WHAT=ORDER         exchanges the places of processes of one kind in the same modules
//! container NAME=ITEMS       what an OS process of this name may hold
//! boxes BOXES                the OS processes, each with the limits of a container
//!
//! WHAT     process {"," process}, each NAME, kind:NAME or module:NAME
//! WHERE    place {"," place}, each HOST, host:HOST, or N or N-M for OS processes
//! COUNT    N, N-M, N- (at least) or -M (at most)
//! PRICE    traffic over distance 1, or `mem`: as much as the process has of it
//! ORDER    random:SEED, stride:STEP, or FILE with numbers from 0
//! ITEMS    item {"," item} ["/" NUMBER], each PATH "[" (NUMBER | "*" | "+") "]", or a container
//! BOXES    box {"," box}, each [PATH ":"] NAME ["*" NUMBER],
//!          or "for" NAME "in" NUMBER ".." NUMBER "{" [PATH ":"] NAME "}"
//! PATH     names of modules and a kind, with dots between them
//! NUMBER   an expression, in which the name of a loop may stand
//! ```
//!
//! `*` in names stands for any characters, `?` for one. Names with other special characters must be
//! in double quotes. White space is allowed between all parts of a rule. A file has one rule per
//! line, and `#` starts a comment.

use crate::codes;
use crate::pattern::Pattern;
use crate::permute::Permutation;
use graphmap_kpn::containers::{BoxesDecl, Container, Count, Expr, Item, Name};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::size;
use graphmap_kpn::sizes::Place;
use graphmap_kpn::source::{Source, Span};

/// First words of rules. Each is also the name of an option of the command.
pub const RULES: [&str; 11] = [
    "pin",
    "together",
    "apart",
    "hold",
    "whole",
    "prefer",
    "memory",
    "move",
    "permute",
    "container",
    "boxes",
];

/// A rule and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub(crate) kind: RuleKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RuleKind {
    Pin(Vec<Term>, Vec<OsProcessSet>),
    Together(Vec<Term>),
    /// Places follow. If there are none, the rule holds for each OS process.
    Apart(Vec<Term>, Vec<OsProcessSet>),
    /// Minimum, maximum, and places. If there are no places, the rule holds for each OS process.
    Hold(Vec<Term>, u32, u32, Vec<OsProcessSet>),
    Whole(Vec<Pattern>),
    Prefer(Vec<Pattern>, f64),
    /// Limit in bytes.
    Memory(Vec<OsProcessSet>, u64),
    Move(Vec<Term>, Price),
    Permute(Vec<Term>, Order),
    Container(Container),
    Boxes(Vec<BoxesDecl>),
}

/// Cost of moving a process over distance 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Price {
    /// An amount of traffic.
    Traffic(f64),
    /// The `mem=` of the process, because all of it moves with the process.
    Mem,
}

/// The order of a permutation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    Known(Permutation),
    /// Path of a file that contains the numbers.
    File(String, Span),
}

impl Rule {
    /// Replaces the path of a file with numbers by its numbers, which `read` returns. Does nothing
    /// for other rules.
    ///
    /// # Errors
    /// Returns the error of `read`.
    pub fn read_file<E>(
        &mut self,
        read: impl FnOnce(&str, Span) -> Result<Vec<u32>, E>,
    ) -> Result<(), E> {
        if let RuleKind::Permute(_, order) = &mut self.kind
            && let Order::File(path, span) = order
        {
            *order = Order::Known(Permutation::List(read(path, *span)?));
        }
        Ok(())
    }
}

/// Type of the element that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Process,
    Kind,
    Module,
}

/// A set of processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) of: NameKind,
    pub(crate) name: Pattern,
}

/// A set of OS processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OsProcessSet {
    /// OS processes on the hosts with a matching name.
    Host(Pattern),
    /// OS processes from one number to another, both inclusive.
    OsProcess(u32, u32, Span),
}

/// Reads one rule. `word` is one of [`RULES`], and `source` contains the rest of the rule. The span
/// of the rule is the text of `source` without white space around it.
///
/// # Errors
/// [`codes::BAD_RULE`] for a syntax error, with its position in `source`. Also if `word` is not one
/// of [`RULES`], or if text follows the rule.
pub fn rule(word: &str, source: &Source) -> Result<Rule, Box<Diagnostic>> {
    Reader::new(source.text(), source.base()).rule(word)
}

/// Reads a list of places from `text`, which is at `span` of a source. Each place gets this span.
///
/// # Errors
/// [`codes::BAD_RULE`] at `span` if the text is not a list of places, also for a descending range
/// or a number of more than 32 bits.
pub(crate) fn places(text: &str, span: Span) -> Result<Vec<OsProcessSet>, Box<Diagnostic>> {
    let help = "write hosts or OS processes, such as `node*` or `0-3`; `*` means all hosts";
    let mut reader = Reader::new(text, 0);
    let places = reader.places().ok();
    let Some(mut places) = places.filter(|_| reader.rest().trim_start().is_empty()) else {
        return Err(bad(span, "", help));
    };
    for place in &mut places {
        match place {
            OsProcessSet::Host(name) => name.span = span,
            OsProcessSet::OsProcess(_, _, own) => *own = span,
        }
    }
    Ok(places)
}

/// Reads a file of rules, one per line, and returns the valid ones in the order of the lines. Skips
/// blank lines and comments. For each line that is not valid, adds an error ([`codes::BAD_RULE`])
/// to `out`.
pub fn rules(source: &Source, out: &mut Diagnostics) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut base = source.base();
    for line in source.text().split('\n') {
        let mut reader = Reader::new(&line[..comment(line)], base);
        reader.blank();
        if !reader.rest().is_empty() {
            let word = reader.take(|c| !c.is_ascii_alphabetic());
            match reader.rule(word) {
                Ok(rule) => rules.push(rule),
                Err(wrong) => out.push(*wrong),
            }
        }
        base += line.len() as u32 + 1;
    }
    rules
}

/// Returns the byte index at which the comment of a line starts, or the length of the line if it
/// has none. A `#` in double quotes does not start a comment. A quote that is not closed extends to
/// the end of the line.
fn comment(line: &str) -> usize {
    let mut quoted = false;
    let start = line.char_indices().find(|&(_, c)| {
        quoted ^= c == '"';
        c == '#' && !quoted
    });
    start.map_or(line.len(), |(at, _)| at)
}

/// A diagnostic, boxed because it is large and the result is usually not an error.
type BoxedDiagnostic = Box<Diagnostic>;

struct Reader<'a> {
    text: &'a str,
    base: u32,
    at: usize,
    /// Help text that shows the syntax of the rule.
    help: &'static str,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, base: u32) -> Reader<'a> {
        let (at, help) = (0, "");
        Reader {
            text,
            base,
            at,
            help,
        }
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

    /// Skips white space. If `sign` is the next character, also consumes it and returns true.
    /// Otherwise returns false.
    fn sign(&mut self, sign: char) -> bool {
        self.blank();
        let there = self.rest().starts_with(sign);
        self.at += if there { sign.len_utf8() } else { 0 };
        there
    }

    /// Consumes and returns the text before the first character for which `ends` is true. Without
    /// such a character, this is the rest of the text.
    fn take(&mut self, ends: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let text = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += text.len();
        text
    }

    /// Consumes the rest of the text. Returns it without white space around it, and its position.
    /// If only white space is left, both are empty.
    fn last(&mut self) -> (&'a str, Span) {
        self.blank();
        let start = self.at;
        self.at = self.text.trim_end().len().max(start);
        (&self.text[start..self.at], self.span(start))
    }

    /// Skips white space, and consumes one character. Returns the error ([`codes::BAD_RULE`]) at
    /// that character, or with an empty position if the text has ended. `label` is the text at the
    /// position.
    fn error_here(&mut self, label: &str) -> BoxedDiagnostic {
        self.blank();
        let start = self.at;
        self.at += self.rest().chars().next().map_or(0, char::len_utf8);
        bad(self.span(start), label, self.help)
    }

    /// Reads the rest of a rule whose first word is `word`. If `word` is part of the text, the
    /// caller has already consumed it. The span of the rule is the whole text without white space
    /// around it.
    ///
    /// Returns an error ([`codes::BAD_RULE`]) if `word` is not one of [`RULES`], for a syntax
    /// error, or if text follows the rule.
    fn rule(mut self, word: &str) -> Result<Rule, BoxedDiagnostic> {
        self.help = match word {
            "pin" => "write the rule as `pin WHAT=WHERE`, such as `worker*=node1` or `manager=0`",
            "together" => "write the rule as `together WHAT`, such as `source,sink`",
            "apart" => {
                "write the rule as `apart WHAT`, such as `kind:worker`, or `apart WHAT@WHERE`, such as \
                 `kind:worker@*` for all hosts"
            }
            "hold" => {
                "write the rule as `hold WHAT=COUNT`, such as `kind:worker=1-4`, `worker*=-4` or `disk*=1@0-3`"
            }
            "whole" => "write the rule as `whole MODULES`, such as `farm*`",
            "prefer" => "write the rule as `prefer MODULES=TRAFFIC`, such as `farm*=100`",
            "memory" => "write the rule as `memory WHERE=SIZE`, such as `node*=64G`",
            "move" => "write the rule as `move WHAT=PRICE`, such as `kind:table=1000` or `*=mem`",
            "permute" => {
                "write the rule as `permute WHAT=ORDER`, such as `kind:worker=random:6`, `kind:worker=stride:3` or `kind:worker=order.txt`"
            }
            "container" => {
                "write the rule as `container NAME=ITEMS`, such as `container node = worker[*], disk[1] / 10`"
            }
            "boxes" => {
                "write the rule as `boxes BOXES`, such as `boxes first, node*6` or `boxes for i in 1..8 { node }`"
            }
            _ => "start the rule with a word such as `pin`",
        };
        let kind = match word {
            "pin" => RuleKind::Pin(self.terms()?, self.equals(Self::places)?),
            "together" => RuleKind::Together(self.terms()?),
            "apart" => RuleKind::Apart(self.terms()?, self.at_places()?),
            "hold" => {
                let what = self.terms()?;
                let (least, most) = self.equals(Self::count)?;
                RuleKind::Hold(what, least, most, self.at_places()?)
            }
            "whole" => RuleKind::Whole(self.modules()?),
            "prefer" => RuleKind::Prefer(self.modules()?, self.equals(Self::traffic)?),
            "memory" => RuleKind::Memory(self.places()?, self.equals(Self::bytes)?),
            "move" => RuleKind::Move(self.terms()?, self.equals(Self::price)?),
            "permute" => RuleKind::Permute(self.terms()?, self.equals(Self::order)?),
            "container" => RuleKind::Container(self.container()?),
            "boxes" => RuleKind::Boxes(self.list(Self::boxes)?),
            "" => return Err(self.error_here("")),
            other => {
                let start = self.at - other.len().min(self.at);
                let message = format!("there is no rule `{other}`");
                let diagnostic =
                    Diagnostic::error(codes::BAD_RULE, message).at(self.span(start), "");
                return Err(Box::new(match nearest(other, RULES) {
                    Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                    None => diagnostic.help(format!("use one of: {}", RULES.join(", "))),
                }));
            }
        };
        let (more, span) = self.last();
        if !more.is_empty() {
            let help =
                "separate names by commas; put names with special characters in double quotes";
            return Err(bad(span, "unexpected text after the rule", help));
        }
        self.at = 0;
        let (_, span) = self.last();
        Ok(Rule { kind, span })
    }

    /// Reads `=` and the value after it, for which it calls `value`. Returns an error if there is
    /// no `=`, or the error of `value`.
    fn equals<T>(
        &mut self,
        value: fn(&mut Self) -> Result<T, BoxedDiagnostic>,
    ) -> Result<T, BoxedDiagnostic> {
        match self.sign('=') {
            true => value(self),
            false => Err(self.error_here("expected `=`")),
        }
    }

    /// Reads `@` and the places after it, or returns an empty list if there is no `@`. Returns the
    /// error of an invalid place.
    fn at_places(&mut self) -> Result<Vec<OsProcessSet>, BoxedDiagnostic> {
        match self.sign('@') {
            true => self.places(),
            false => Ok(Vec::new()),
        }
    }

    /// Reads a list of at least one element, with commas between the elements. Calls `one` for each
    /// element, and returns its first error.
    fn list<T>(
        &mut self,
        one: impl Fn(&mut Self) -> Result<T, BoxedDiagnostic>,
    ) -> Result<Vec<T>, BoxedDiagnostic> {
        let mut list = Vec::new();
        loop {
            list.push(one(self)?);
            if !self.sign(',') {
                return Ok(list);
            }
        }
    }

    fn terms(&mut self) -> Result<Vec<Term>, BoxedDiagnostic> {
        let words = [
            ("kind", NameKind::Kind),
            ("module", NameKind::Module),
            ("process", NameKind::Process),
        ];
        self.list(|reader| {
            let of = reader.prefix(&words).unwrap_or(NameKind::Process);
            let name = reader.name()?;
            Ok(Term { of, name })
        })
    }

    fn modules(&mut self) -> Result<Vec<Pattern>, BoxedDiagnostic> {
        self.list(|reader| {
            reader.prefix(&[("module", ())]);
            reader.name()
        })
    }

    fn places(&mut self) -> Result<Vec<OsProcessSet>, BoxedDiagnostic> {
        self.list(|reader| {
            let host = reader.prefix(&[("host", ())]).is_some();
            let name = reader.name()?;
            let (text, span, help) = (&*name.text, name.span, reader.help);
            let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            if host || name.literal || !digits(first) || !digits(last) {
                return Ok(OsProcessSet::Host(name));
            }
            let large = |_| bad(span, "this number is too large", help);
            let number = |t: &str| t.parse::<u32>().map_err(large);
            match (number(first)?, number(last)?) {
                (first, last) if first > last => Err(bad(span, "this range is empty", help)),
                (first, last) => Ok(OsProcessSet::OsProcess(first, last, span)),
            }
        })
    }

    /// Consumes one of `words` and the colon after it, and returns the value of the word. Returns
    /// `None`, and consumes only white space, if none of `words` with a colon is next. White space
    /// before the colon is allowed.
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

    /// Reads a name. It is either in double quotes, or it extends to white space, to one of `=`,
    /// `,`, `@`, `:` and `"`, or to the end.
    ///
    /// Returns an error if a quote is not closed, or if a name without quotes is empty.
    fn name(&mut self) -> Result<Pattern, BoxedDiagnostic> {
        self.blank();
        let start = self.at;
        let literal = self.sign('"');
        let text = match literal {
            true => self.take(|c| c == '"'),
            false => self.take(|c| c.is_whitespace() || "=,@:\"".contains(c)),
        };
        if literal && !self.sign('"') {
            return Err(bad(self.span(start), "this quote is not closed", self.help));
        }
        if !literal && text.is_empty() {
            return Err(self.error_here("expected a name"));
        }
        Ok(Pattern {
            text: text.to_owned(),
            literal,
            span: self.span(start),
        })
    }

    /// Reads the order of a permutation. Anything but `random:` and `stride:` is a path.
    fn order(&mut self) -> Result<Order, BoxedDiagnostic> {
        let (text, span) = self.last();
        if text.is_empty() {
            return Err(bad(span, "expected an order", self.help));
        }
        let number = |digits: &str| {
            let number = digits.trim().parse::<u64>();
            number.map_err(|_| bad(span, "expected a whole number", self.help))
        };
        Ok(match text.split_once(':') {
            Some(("random", seed)) => Order::Known(Permutation::Random(number(seed)?)),
            Some(("stride", step)) => match number(step)? {
                0 => return Err(bad(span, "expected a number from 1", self.help)),
                step => Order::Known(Permutation::Stride(step)),
            },
            _ => Order::File(text.to_owned(), span),
        })
    }

    fn container(&mut self) -> Result<Container, BoxedDiagnostic> {
        let name = self.word()?;
        if !self.sign('=') {
            return Err(self.error_here("expected `=`"));
        }
        let items = self.list(|reader| {
            let (prefix, name) = reader.path()?;
            let count = match reader.sign('[') {
                true => Some(reader.contents()?),
                false => None,
            };
            Ok(Item {
                prefix,
                name,
                count,
            })
        })?;
        let most = match self.sign('/') {
            true => Some(self.expression(&[])?),
            false => None,
        };
        Ok(Container { name, items, most })
    }

    /// Reads a number of processes, and the bracket after it.
    fn contents(&mut self) -> Result<Count, BoxedDiagnostic> {
        let count = match () {
            () if self.sign('*') => Count::Any,
            () if self.sign('+') => Count::Some,
            () => Count::Expr(self.expression(&["]"])?),
        };
        match self.sign(']') {
            true => Ok(count),
            false => Err(self.error_here("expected `]`")),
        }
    }

    fn boxes(&mut self) -> Result<BoxesDecl, BoxedDiagnostic> {
        let start = self.at;
        let first = self.word()?;
        if first.text != "for" || self.sign(':') || self.sign('*') || self.sign(',') {
            self.at = start;
            return self.boxes_of_one();
        }
        let variable = self.word()?;
        let start = self.at;
        if self.word()?.text != "in" {
            self.at = start;
            return Err(self.error_here("expected `in`"));
        }
        let first = self.literal(&["..", "{"])?;
        if !(self.sign('.') && self.sign('.')) {
            return Err(self.error_here("expected `..`"));
        }
        let last = self.literal(&["{"])?;
        if !self.sign('{') {
            return Err(self.error_here("expected `{`"));
        }
        let boxes = self.boxes_of_one()?;
        match self.sign('}') {
            true => Ok(BoxesDecl {
                range: Some((variable, first, last)),
                ..boxes
            }),
            false => Err(self.error_here("expected `}`")),
        }
    }

    fn boxes_of_one(&mut self) -> Result<BoxesDecl, BoxedDiagnostic> {
        let (mut prefix, mut name) = self.path()?;
        if self.sign(':') {
            prefix.push(name);
            name = self.word()?;
        }
        let count = match self.sign('*') {
            true => Some(self.expression(&[",", "}"])?),
            false => None,
        };
        Ok(BoxesDecl {
            prefix,
            name,
            count,
            range: None,
        })
    }

    /// Reads names with dots between them. Returns the last one separately.
    fn path(&mut self) -> Result<(Vec<Name>, Name), BoxedDiagnostic> {
        let mut prefix = Vec::new();
        let mut name = self.word()?;
        while self.sign('.') {
            prefix.push(std::mem::replace(&mut name, self.word()?));
        }
        Ok((prefix, name))
    }

    /// Reads a name of letters, digits, `_` and `-`, or a name in double quotes.
    fn word(&mut self) -> Result<Name, BoxedDiagnostic> {
        self.blank();
        if self.rest().starts_with('"') {
            let Pattern { text, span, .. } = self.name()?;
            return Ok(Name { text, span });
        }
        let start = self.at;
        let text = self.take(|c| !(c.is_alphanumeric() || c == '_' || c == '-'));
        if text.is_empty() {
            return Err(self.error_here("expected a name"));
        }
        Ok(Name {
            text: text.to_owned(),
            span: self.span(start),
        })
    }

    /// Reads an expression that ends before one of `ends`, or at the end of the text.
    fn expression(&mut self, ends: &[&str]) -> Result<Expr, BoxedDiagnostic> {
        self.blank();
        let start = self.at;
        let rest = self.rest();
        let length = ends.iter().filter_map(|end| rest.find(end)).min();
        let length = length.unwrap_or(rest.len());
        let text = rest[..length].trim_end();
        if text.is_empty() {
            return Err(self.error_here("expected a number"));
        }
        self.at += text.len();
        let span = self.span(start);
        Ok(Expr {
            text: text.to_owned(),
            place: Place {
                span,
                inside: Some(span.start),
            },
        })
    }

    /// Reads an expression without names, and returns its value.
    fn literal(&mut self, ends: &[&str]) -> Result<i64, BoxedDiagnostic> {
        let expr = self.expression(ends)?;
        let sizes = graphmap_kpn::sizes::Sizes::default();
        let value = sizes.evaluate(0, &expr.text, expr.place, &[])?;
        Ok(value.expect("a graph without sizes has no wrong definitions"))
    }

    /// Reads a number (`2`) or a range (`2-4`, `2-` or `-4`), and returns its minimum and maximum,
    /// which are equal for a number. A missing minimum is 0, and a missing maximum is the largest
    /// `u32`.
    ///
    /// Returns an error if there is no number, if a number is too large, or if the minimum is
    /// larger than the maximum.
    fn count(&mut self) -> Result<(u32, u32), BoxedDiagnostic> {
        self.blank();
        let start = self.at;
        let least = self.number()?;
        let range = self.sign('-');
        let most = if range { self.number()? } else { least };
        if least.or(most).is_none() {
            return Err(self.error_here("expected a number"));
        }
        let (least, most) = (least.unwrap_or(0), most.unwrap_or(u32::MAX));
        if least > most {
            let label = "the minimum is larger than the maximum";
            return Err(bad(self.span(start), label, self.help));
        }
        Ok((least, most))
    }

    fn number(&mut self) -> Result<Option<u32>, BoxedDiagnostic> {
        self.blank();
        let start = self.at;
        let text = self.take(|c| !c.is_ascii_digit());
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) if text.is_empty() => Ok(None),
            Err(_) => Err(bad(self.span(start), "this number is too large", "")),
        }
    }

    fn price(&mut self) -> Result<Price, BoxedDiagnostic> {
        let start = self.at;
        if self.last().0 == "mem" {
            return Ok(Price::Mem);
        }
        self.at = start;
        self.traffic().map(Price::Traffic)
    }

    fn traffic(&mut self) -> Result<f64, BoxedDiagnostic> {
        let (text, span) = self.last();
        match text.parse::<f64>() {
            Ok(traffic) if traffic >= 0.0 && traffic.is_finite() => Ok(traffic),
            _ => Err(bad(span, "expected a number of at least 0", self.help)),
        }
    }

    fn bytes(&mut self) -> Result<u64, BoxedDiagnostic> {
        let (text, span) = self.last();
        let (number, unit) = size::split(text);
        let number = number.parse::<u64>().ok();
        let bytes = number.and_then(|n| n.checked_mul(unit));
        let label = "expected a number of bytes, such as 4096, 64G or 2GiB";
        bytes.ok_or_else(|| bad(span, label, self.help))
    }
}

fn bad(span: Span, label: &str, help: &str) -> BoxedDiagnostic {
    let diagnostic = Diagnostic::error(codes::BAD_RULE, "syntax error in a rule");
    let diagnostic = diagnostic.at(span, label);
    Box::new(match help {
        "" => diagnostic,
        _ => diagnostic.help(help),
    })
}

#[cfg(test)]
mod tests;
