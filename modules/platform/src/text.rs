//! Words with their positions, and the numbers and names that they contain.

use crate::codes;
use crate::model::MAX_CORES;
use crate::report::Report;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::size;
use graphmap_kpn::source::{Source, Span};
use std::net::Ipv6Addr;

/// Maximum length of a name in the DNS.
pub(crate) const MAX_NAME: usize = 253;

/// A piece of a source text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    /// Offset of the first byte in the source map.
    pub(crate) start: u32,
}

impl<'a> Word<'a> {
    /// Returns the whole text of a source, without a byte order mark.
    pub(crate) fn all(source: &'a Source) -> Word<'a> {
        let text = source.text();
        let whole = Word {
            text,
            start: source.base(),
        };
        whole.from(text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len())
    }

    pub(crate) fn span(self) -> Span {
        Span::new(self.start, self.start + self.text.len() as u32)
    }

    /// Returns the text from byte `at` on. Panics if `at` is beyond the end or inside a character.
    pub(crate) fn from(self, at: usize) -> Word<'a> {
        Word {
            text: &self.text[at..],
            start: self.start + at as u32,
        }
    }

    /// Returns the text before byte `at`. Panics if `at` is beyond the end or inside a character.
    pub(crate) fn to(self, at: usize) -> Word<'a> {
        Word {
            text: &self.text[..at],
            start: self.start,
        }
    }

    /// Returns the text before and after the first `mark`, or `None` if there is no `mark`. The
    /// `mark` is in neither text.
    pub(crate) fn cut(self, mark: char) -> Option<(Word<'a>, Word<'a>)> {
        let at = self.text.find(mark)?;
        Some((self.to(at), self.from(at + mark.len_utf8())))
    }

    /// Returns the pieces between `mark`s, without the `mark`s. A piece can be empty, and a text
    /// without `mark` is one piece.
    pub(crate) fn pieces(self, mark: char) -> impl Iterator<Item = Word<'a>> {
        let mut rest = Some(self);
        std::iter::from_fn(move || {
            let word = rest?;
            let (piece, after) = word.cut(mark).map_or((word, None), |(a, b)| (a, Some(b)));
            rest = after;
            Some(piece)
        })
    }

    /// Returns the words of the text, in order. White space, including line breaks, separates
    /// words.
    pub(crate) fn words(self) -> impl Iterator<Item = Word<'a>> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let skip = rest.text.find(|c: char| !c.is_whitespace())?;
            let word = rest.from(skip);
            let end = word.text.find(char::is_whitespace);
            let end = end.unwrap_or(word.text.len());
            rest = word.from(end);
            Some(word.to(end))
        })
    }

    /// Returns the lines of the text, each up to a `#`. Omits lines that are then blank. Lines can
    /// begin and end with white space.
    pub(crate) fn lines(self) -> impl Iterator<Item = Word<'a>> {
        let bare = |line: Word<'a>| line.cut('#').map_or(line, |(before, _)| before);
        let lines = self.pieces('\n').map(bare);
        lines.filter(|line| !line.text.trim().is_empty())
    }

    /// Returns the lines of an Open MPI hostfile that are not blank, without comments, and the
    /// first `/*` that is not closed, if any. The text after it is not read.
    ///
    /// A comment is `#` or `//` up to the end of the line, or `/* ... */`. As in Open MPI 4 and 5,
    /// the last form ends the line in which it starts.
    pub(crate) fn open_mpi_lines(self) -> (Vec<Word<'a>>, Option<Word<'a>>) {
        let (mut lines, mut rest) = (Vec::new(), self);
        let mut add = |line: Word<'a>| {
            if !line.text.trim().is_empty() {
                lines.push(line);
            }
        };
        let mut at = 0;
        while let Some(found) = rest.text[at..].find(['\n', '#', '/']) {
            let end = at + found;
            let tail = rest.from(end);
            let next = if tail.text.starts_with('\n') {
                Some(1)
            } else if tail.text.starts_with('#') || tail.text.starts_with("//") {
                Some(tail.text.find('\n').map_or(tail.text.len(), |n| n + 1))
            } else if tail.text.starts_with("/*") {
                match tail.text[2..].find("*/") {
                    Some(close) => Some(close + 4),
                    None => {
                        add(rest.to(end));
                        return (lines, Some(tail.to(2)));
                    }
                }
            } else {
                None
            };
            match next {
                Some(skip) => {
                    add(rest.to(end));
                    (rest, at) = (tail.from(skip), 0);
                }
                None => at = end + 1,
            }
        }
        add(rest);
        (lines, None)
    }

    /// Parses a count of at least one. Reports an error and returns `None` if the text is not a
    /// number of decimal digits, is zero, or exceeds 32 bits. `of` names the counted objects.
    pub(crate) fn count(self, of: &str, report: &mut Report) -> Option<u32> {
        let value = self.count_or_zero(of, report)?;
        if value == 0 {
            let what = format!("the number of {of} is zero");
            let help = "give at least one, or omit this entry";
            report.push(
                Diagnostic::error(codes::ZERO, what)
                    .at(self.span(), "")
                    .help(help),
            );
            return None;
        }
        Some(value)
    }

    /// Parses a count that may be zero. Reports an error and returns `None` if the text is not a
    /// number of decimal digits or exceeds 32 bits. `of` names the counted objects.
    pub(crate) fn count_or_zero(self, of: &str, report: &mut Report) -> Option<u32> {
        let value = self.whole(&format!("number of {of}"), report)?;
        u32::try_from(value).ok().or_else(|| {
            self.too_large(&format!("number of {of}"), u64::from(u32::MAX), report);
            None
        })
    }

    /// Parses an integer of at least 0. Reports an error and returns `None` if the text does not
    /// consist of decimal digits or exceeds 64 bits. `of` names the number.
    pub(crate) fn whole(self, of: &str, report: &mut Report) -> Option<u64> {
        if self.text.is_empty() || !self.text.bytes().all(|b| b.is_ascii_digit()) {
            self.not_a_number(of, report);
            return None;
        }
        let value = self.text.parse().ok();
        if value.is_none() {
            self.too_large(of, u64::MAX, report);
        }
        value
    }

    /// Parses a finite decimal number, such as `0.5` or `1e3`, that is positive or, if `zero` is
    /// true, at least 0. Reports an error and returns `None` for any other text. `of` names the
    /// number.
    pub(crate) fn real(self, of: &str, zero: bool, report: &mut Report) -> Option<f64> {
        let plain = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-');
        let value = self.text.parse::<f64>().ok();
        let value = value.filter(|v| self.text.bytes().all(plain) && v.is_finite() && *v >= 0.0);
        match value {
            Some(0.0) if !zero => {
                let what = format!("the {of} is zero");
                report.push(Diagnostic::error(codes::ZERO, what).at(self.span(), ""));
                None
            }
            Some(value) => Some(value),
            None => {
                self.not_a_number(of, report);
                None
            }
        }
    }

    /// Parses a number of bytes. A unit such as `K`, `GiB` or `MB` may follow. Reports an error and
    /// returns `None` if the text is not such a number, or if the result exceeds 64 bits. `of`
    /// names the number.
    pub(crate) fn bytes(self, of: &str, report: &mut Report) -> Option<u64> {
        let (number, unit) = size::split(self.text);
        let value = self.to(number.len()).whole(of, report)?;
        let bytes = value.checked_mul(unit);
        if bytes.is_none() {
            self.too_large(of, u64::MAX, report);
        }
        bytes
    }

    /// Returns the text if launchers accept it as the name of a host. Otherwise reports an error,
    /// and returns `None`. A name has 1 to [`MAX_NAME`] ASCII letters, digits, `-`, `.` and `_`,
    /// and does not start with `-` or `.`.
    pub(crate) fn host_name(self, report: &mut Report) -> Option<&'a str> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        let Some(wrong) = self.text.find(|c| !fits(c)) else {
            if self.text.len() > MAX_NAME {
                self.too_long(report);
                return None;
            }
            if self.text.is_empty() || self.text.starts_with(['-', '.']) {
                let what = format!("`{}` cannot be the name of a host", self.shown());
                let help = "a name starts with a letter, a digit or `_`";
                let found = Diagnostic::error(codes::BAD_NAME, what);
                report.push(found.at(self.span(), "").help(help));
                return None;
            }
            return Some(self.text);
        };
        let character = self.text[wrong..].chars().next().unwrap_or(' ');
        let what = format!("`{}` cannot be the name of a host", self.shown());
        let at = self.from(wrong).to(character.len_utf8()).span();
        report.push(
            Diagnostic::error(codes::BAD_NAME, what)
                .at(at, format!("{character:?} is not allowed in a name"))
                .help(self.help_for_name()),
        );
        None
    }

    /// Returns the help text for a word that is not the name of a host.
    fn help_for_name(self) -> &'static str {
        let text = self.text;
        let list = text.contains([',', '[', ']']);
        match () {
            () if is_address(text) => {
                "give the host a name in /etc/hosts; IPv6 addresses are not accepted"
            }
            () if text.starts_with("//") || text.starts_with("/*") => {
                "start a comment with `#`; only Open MPI accepts `//` and `/*`"
            }
            () if text.contains('$') => {
                "write the name itself; variables in a file are not expanded"
            }
            () if text.starts_with('^') => {
                "remove the line; `^` excludes a host only in lists of Open MPI"
            }
            () if text.starts_with('+') => {
                "write the name of the host; `+n0` and `+e` are only for Open MPI's option `-host`"
            }
            () if list && text.contains(':') => {
                "write one host per line, such as `node1:4`; for a list with slots, write \
                 `names=node[1-4] slots=4`"
            }
            () if text.contains(':') => "write one host per line, such as `node1:4`",
            () if list => {
                "write one host per line; for a file of lists, use `--hosts-format slurm`"
            }
            () if text.contains('/') => {
                "write the name of a host, not a path; to read another file, use `--hosts PATH`"
            }
            () if text.starts_with('(') => {
                "write the names of the hosts; a batch system wrote this in place of a list"
            }
            () => "use only letters, digits, `-`, `.` and `_`",
        }
    }

    /// Reports that the word is, or expands to, a name longer than a host name can be.
    pub(crate) fn too_long(self, report: &mut Report) {
        let what = format!("`{}` is too long for the name of a host", self.shown());
        report.push(
            Diagnostic::error(codes::BAD_NAME, what)
                .at(self.span(), "")
                .with_note(format!("a name has at most {MAX_NAME} characters")),
        );
    }

    /// Returns the text for messages, escaped and shortened to 60 characters before the escapes.
    /// Appends `...` if it was longer.
    pub(crate) fn shown(self) -> String {
        let mut shown = String::new();
        for c in self.text.chars().take(60) {
            match c {
                // Quotes need no escape between the backquotes of a message.
                '"' | '\'' | '\\' => shown.push(c),
                _ => shown.extend(c.escape_debug()),
            }
        }
        if self.text.chars().nth(60).is_some() {
            shown.push_str("...");
        }
        shown
    }

    fn not_a_number(self, of: &str, report: &mut Report) {
        let what = match self.text {
            "" => format!("the {of} is missing"),
            _ => format!("`{}` is not a valid {of}", self.shown()),
        };
        let found = Diagnostic::error(codes::NOT_A_NUMBER, what).at(self.span(), "");
        report.push(found);
    }

    fn too_large(self, of: &str, most: u64, report: &mut Report) {
        let what = format!("`{}` is too large for the {of}", self.shown());
        let found = Diagnostic::error(codes::TOO_LARGE, what);
        report.push(
            found
                .at(self.span(), "")
                .with_note(format!("the maximum is {most}")),
        );
    }
}

/// Returns true if a word is an IPv6 address. Brackets, a user and a port are allowed. The port is
/// allowed only after brackets.
pub(crate) fn is_address(word: &str) -> bool {
    let word = word.split_once('@').map_or(word, |(_, host)| host);
    let inside = word
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .map_or(word, |(inside, _)| inside);
    let address = inside.split('%').next().unwrap_or(inside);
    address.parse::<Ipv6Addr>().is_ok()
}

/// Reads a list such as `2(x3),1`, in which `(xK)` repeats the item before it K times. `item` reads
/// an item or reports an error, and `of` names the items in messages.
///
/// Reports errors and returns `None` if an item or a number of repetitions is wrong, or if the list
/// has more than [`MAX_CORES`] items. Repetitions are at least 1. An empty text is one empty item.
pub(crate) fn repeated<'a, T: Clone>(
    list: Word<'a>,
    of: &str,
    report: &mut Report,
    mut item: impl FnMut(Word<'a>, &mut Report) -> Option<T>,
) -> Option<Vec<T>> {
    let mut all: Vec<T> = Vec::new();
    let mut good = true;
    for piece in list.pieces(',') {
        let (value, times) = match piece.text.find("(x") {
            Some(at) => match piece.text.strip_suffix(')') {
                Some(closed) => (piece.to(at), Some(piece.to(closed.len()).from(at + 2))),
                None => {
                    report.push(
                        Diagnostic::error(codes::BRACKETS, "a `(x` is not closed")
                            .at(piece.from(at).span(), "`)` is missing at the end"),
                    );
                    good = false;
                    continue;
                }
            },
            None => (piece, None),
        };
        let value = item(value, report);
        let times = times.map_or(Some(1), |t| t.count("repetitions", report));
        let (Some(value), Some(times)) = (value, times) else {
            good = false;
            continue;
        };
        if all.len() + times as usize > MAX_CORES {
            let what = format!("the list has more than {} {of}", MAX_CORES);
            let found = Diagnostic::error(codes::TOO_LARGE, what);
            report.push(found.at(piece.span(), "exceeds the limit here"));
            return None;
        }
        all.resize(all.len() + times as usize, value);
    }
    good.then_some(all)
}

/// Writes a list that [`repeated`] reads. If all items are equal, only one is written, without
/// their number. An empty list gives an empty text.
pub(crate) fn print_repeated<T: PartialEq>(list: &[T], show: impl Fn(&T) -> String) -> String {
    let runs: Vec<&[T]> = list.chunk_by(|a, b| a == b).collect();
    if let [only] = runs[..] {
        return only.first().map(&show).unwrap_or_default();
    }
    let piece = |run: &&[T]| match run.len() {
        1 => show(&run[0]),
        times => format!("{}(x{times})", show(&run[0])),
    };
    runs.iter().map(piece).collect::<Vec<_>>().join(",")
}
