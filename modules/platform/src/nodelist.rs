//! Slurm's node lists: `node[01-16,20],gpu[1-2]-ib`.
//!
//! Commas or white space separate names. In a name, `[...]` stands for each of its numbers and
//! ranges. Several brackets stand for all combinations, and the last one varies fastest. If the
//! first number of a range has leading zeros, all its numbers have that width. Text after a bracket
//! (`-ib`) is accepted too, although `scontrol show hostnames` (22.05) rejects it.

use crate::build::Build;
use crate::codes;
use crate::hosts_format::{HostsFormat, foreign};
use crate::model::{MAX_HOSTS, Platform};
use crate::report::Report;
use crate::text::{MAX_NAME, Word};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::{Source, Span};

/// Reads a node list as a platform with one slot per host. `#` starts a comment. A host that is
/// named twice is an error.
///
/// Returns `None` if there was at least one error. Adds the diagnostics to `out`: the first 50, and
/// a note with the number of the others. A result can come with warnings.
pub fn read(source: &Source, out: &mut Diagnostics) -> Option<Platform> {
    let mut names = Vec::new();
    let mut build = Build::new(HostsFormat::Slurm);
    for line in Word::all(source).lines() {
        let foreign_word = line.words().enumerate().find_map(|(i, word)| {
            let found = foreign(word, i == 0).filter(|f| f.format != HostsFormat::Slurm)?;
            Some((word, found))
        });
        match foreign_word {
            Some((word, foreign_word)) => build.foreign(word, &foreign_word, None),
            None => line.words().for_each(|word| {
                number_as_host(word, &mut build.report);
                expand_word(word, &mut names, &mut build.report);
            }),
        }
    }
    unique(&names, &mut build.report);
    if !build.report.failed() {
        for (name, span) in &names {
            build.add(name, 1, *span);
        }
    }
    build.finish(source, out)
}

/// Warns of a word such as `node1,4`, in which only a number follows the only comma. Some
/// schedulers write it for four slots of a host. Here it names two hosts.
fn number_as_host(word: Word, report: &mut Report) {
    let digits = |w: Word| !w.text.is_empty() && w.text.bytes().all(|b| b.is_ascii_digit());
    let Some((host, number)) = word.cut(',').filter(|(h, n)| !digits(*h) && digits(*n)) else {
        return;
    };
    let (host, n) = (host.shown(), number.shown());
    report.push(
        Diagnostic::warning(
            codes::BAD_NAME,
            format!("`{n}` is read as the name of a host"),
        )
        .at(number.span(), "")
        .help(format!("for {n} slots, write `{host}:{n}`")),
    );
}

/// Returns the hosts that a node list names, in order, each with its position. A host that is named
/// twice is an error. A list without names gives an empty result. A `#` does not start a comment.
///
/// Returns `None` if there was at least one error. Adds the diagnostics to `out`: the first 50, and
/// a note with the number of the others. A result can come with warnings.
pub fn expand(source: &Source, out: &mut Diagnostics) -> Option<Vec<(String, Span)>> {
    let mut report = Report::default();
    let names = expand_all(Word::all(source), &mut report);
    let failed = report.failed();
    report.finish(None, out);
    names.filter(|_| !failed)
}

/// Returns the hosts of a list in order, each with its position. Reports an error for each invalid
/// name or bracket, and for each host that is named again. Returns `None` if `report` contains an
/// error, also an earlier one.
pub(crate) fn expand_all(list: Word, report: &mut Report) -> Option<Vec<(String, Span)>> {
    let mut names = Vec::new();
    list.words()
        .for_each(|word| expand_word(word, &mut names, report));
    unique(&names, report);
    (!report.failed()).then_some(names)
}

fn unique(names: &[(String, Span)], report: &mut Report) {
    let mut seen = rustc_hash::FxHashMap::default();
    for (name, span) in names {
        if let Some(before) = seen.insert(name.as_str(), *span) {
            let what = format!("host `{name}` is named twice");
            let error = Diagnostic::error(codes::DUPLICATE_HOST, what).at(*span, "");
            let error = if before == *span {
                error
            } else {
                error.also(before, "first named here")
            };
            report.push(error.help("name each host once"));
        }
    }
}

/// Appends the hosts of one word, which is a list with commas, to `names`. Empty entries are
/// skipped. For brackets that do not match, reports an error and skips the rest of the word.
fn expand_word(word: Word, names: &mut Vec<(String, Span)>, report: &mut Report) {
    let mut rest = word;
    loop {
        // A comma inside a bracket does not end an entry.
        let (mut open, mut end) = (None, rest.text.len());
        for (i, b) in rest.text.bytes().enumerate() {
            match b {
                b'[' if open.is_some() => {
                    return unbalanced(rest.from(i).to(1), "a `[` is inside another", report);
                }
                b'[' => open = Some(i),
                b']' if open.is_none() => {
                    return unbalanced(rest.from(i).to(1), "a `]` has no `[` before it", report);
                }
                b']' => open = None,
                b',' if open.is_none() => {
                    end = i;
                    break;
                }
                _ => {}
            }
        }
        if let Some(open) = open {
            return unbalanced(rest.from(open).to(1), "a `[` is not closed", report);
        }
        let entry = rest.to(end);
        if !entry.text.is_empty() {
            expand_entry(entry, names, report);
        }
        if end == rest.text.len() {
            return;
        }
        rest = rest.from(end + 1);
    }
}

fn unbalanced(at: Word, what: &str, report: &mut Report) {
    let error = Diagnostic::error(codes::BRACKETS, what);
    report.push(
        error
            .at(at.span(), "")
            .help("write a list as `name[1-4,7]`"),
    );
}

/// Appends the hosts of one entry, whose brackets must be balanced and not nested, to `names`. If
/// the entry is invalid, a name is too long, or there are too many hosts, reports an error and
/// appends nothing. Panics if a bracket is not closed.
fn expand_entry(entry: Word, names: &mut Vec<(String, Span)>, report: &mut Report) {
    let mut made = vec![String::new()];
    let mut rest = entry;
    while let Some((before, after)) = rest.cut('[') {
        let (inside, after) = after.cut(']').expect("the brackets are balanced");
        if !before.text.is_empty() && !name_part(before, report) {
            return;
        }
        let Some(numbers) = ranges(inside, report) else {
            return;
        };
        if made.len().saturating_mul(numbers.len()) + names.len() > MAX_HOSTS {
            return too_many(entry, report);
        }
        // Length of the longest name so far. The check avoids quadratic time for thousands of
        // brackets.
        let length = made.last().map_or(0, String::len) + before.text.len();
        if length > MAX_NAME {
            return entry.too_long(report);
        }
        let longer = |name: &String| -> Vec<String> {
            numbers
                .iter()
                .map(|n| format!("{name}{}{n}", before.text))
                .collect()
        };
        made = made.iter().flat_map(longer).collect();
        rest = after;
    }
    let plain = rest.text.len() == entry.text.len();
    if plain || entry.text.starts_with(['-', '.']) {
        // This also rejects an entry with brackets whose first character no name can start with.
        let start = entry.text.find('[').unwrap_or(entry.text.len());
        if entry.to(start).host_name(report).is_none() {
            return;
        }
    } else if !name_part(rest, report) {
        return;
    }
    if names.len() + made.len() > MAX_HOSTS {
        return too_many(entry, report);
    }
    if made.last().map_or(0, String::len) + rest.text.len() > MAX_NAME {
        return entry.too_long(report);
    }
    let whole = made
        .into_iter()
        .map(|name| (name + rest.text, entry.span()));
    names.extend(whole);
}

/// Returns true if a text beside a bracket can be part of a name, as an empty text can. Otherwise
/// reports an error and returns false.
fn name_part(part: Word, report: &mut Report) -> bool {
    part.text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
        || part.host_name(report).is_some()
}

fn too_many(entry: Word, report: &mut Report) {
    let error = Diagnostic::error(codes::TOO_LARGE, "this list names too many hosts");
    report.push(
        error
            .at(entry.span(), "")
            .with_note(format!("the limit is {MAX_HOSTS} hosts")),
    );
}

/// Returns the numbers of a bracket in its order, as they appear in names. The first number of a
/// range determines their width.
///
/// Reports an error and returns `None` in these cases: the text is not a list of numbers and
/// ascending ranges, a number exceeds 32 bits or is written with more than 20 digits, or there are
/// too many hosts.
fn ranges(inside: Word, report: &mut Report) -> Option<Vec<String>> {
    let mut numbers = Vec::new();
    for piece in inside.pieces(',') {
        let wrong = |what: &str| {
            let what = format!("`{}` {what}", piece.shown());
            let error = Diagnostic::error(codes::BAD_RANGE, what).at(piece.span(), "");
            error.help("write numbers and ascending ranges, such as `[1-4,7]`")
        };
        let (first, last) = piece.cut('-').unwrap_or((piece, piece));
        let digits = |w: Word| !w.text.is_empty() && w.text.bytes().all(|b| b.is_ascii_digit());
        let address = |c: char| c.is_ascii_hexdigit() || ":.%".contains(c);
        if piece.text.contains(':') && piece.text.chars().all(address) {
            // An IPv6 address in brackets, which is reported as a bad name.
            piece.host_name(report);
            return None;
        }
        if !digits(first) || !digits(last) {
            report.push(wrong("is not a number or a range of numbers"));
            return None;
        }
        let value = |w: Word| w.text.parse::<u32>().ok();
        let (Some(low), Some(high)) = (value(first), value(last)) else {
            report.push(wrong("contains a number that is too large"));
            return None;
        };
        if high < low {
            report.push(wrong("is a descending range"));
            return None;
        }
        if (high - low) as usize >= MAX_HOSTS || numbers.len() + (high - low) as usize >= MAX_HOSTS
        {
            report.push(wrong("names too many hosts"));
            return None;
        }
        // This also bounds the cost of a number with a very large width.
        let width = first.text.len();
        if width > 20 {
            report.push(wrong("has too many digits"));
            return None;
        }
        numbers.extend((low..=high).map(|n| format!("{n:0width$}")));
    }
    Some(numbers)
}

/// Writes names as a node list, in order.
///
/// Consecutive names that differ only in a number at their end share a bracket, if the numbers have
/// the same width. From the list, `scontrol show hostnames` returns the original names. Names are
/// not checked.
pub fn print<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut open: Option<Entry> = None;
    for name in names {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (stem, number) = name.split_at(name.len() - digits.min(9));
        let value = number.parse::<u32>().ok();
        if let (Some(value), Some((before, width, ranges))) = (value, &mut open) {
            // All numbers of a bracket are written with the same width, so a number of another
            // width needs an entry of its own.
            let fits = number.len() == *width;
            if *before == stem && fits {
                match ranges.last_mut() {
                    Some((_, last)) if *last + 1 == value => *last = value,
                    _ => ranges.push((value, value)),
                }
                continue;
            }
        }
        close(&mut text, open.take());
        match value {
            Some(value) => open = Some((stem, number.len(), vec![(value, value)])),
            None => push_entry(&mut text, name),
        }
    }
    close(&mut text, open);
    text
}

fn push_entry(text: &mut String, entry: &str) {
    if !text.is_empty() {
        text.push(',');
    }
    text.push_str(entry);
}

/// An entry that is being written: the name without its number, the width of the number, and the
/// ranges.
type Entry<'a> = (&'a str, usize, Vec<(u32, u32)>);

fn close(text: &mut String, open: Option<Entry>) {
    let Some((stem, width, ranges)) = open else {
        return;
    };
    if let [(first, last)] = ranges[..]
        && first == last
    {
        return push_entry(text, &format!("{stem}{first:0width$}"));
    }
    let range = |&(first, last): &(u32, u32)| match first == last {
        true => format!("{first:0width$}"),
        false => format!("{first:0width$}-{last:0width$}"),
    };
    let ranges: Vec<_> = ranges.iter().map(range).collect();
    push_entry(text, &format!("{stem}[{}]", ranges.join(",")));
}
