//! The hostfile of Open MPI.
//!
//! One host a line: `name slots=N max_slots=M`, blanks around `=` allowed; `#` starts a comment;
//! `user@name` says who to log in as. A host without `slots=` has a slot for each line that names
//! it; a line with `slots=` must be the host's only one (Open MPI 4.1 refuses the file otherwise).
//! **The order of lines means nothing to Open MPI**: which rank runs where is said by a rankfile.

use crate::build::Build;
use crate::codes;
use crate::dialect::{Dialect, foreign};
use crate::keys::{MAX_SLOTS, OTHER, SLOTS};
use crate::model::Platform;
use crate::text::Word;
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::{Source, Span};
use std::fmt::Write;

/// Reads an Open MPI hostfile.
///
/// `None` means that there was at least one error; all of them are in `out`.
pub fn read(source: &Source, out: &mut Diagnostics) -> Option<Platform> {
    let mut build = Build::new(Dialect::OpenMpi);
    // For each host the place of its `slots=`, and whether a line without it named the host.
    let mut given: Vec<(Option<Span>, bool)> = Vec::new();
    for line in Word::all(source).lines() {
        read_line(line, &mut build, &mut given);
    }
    for (i, (slots, _)) in given.iter().enumerate() {
        let host = &build.hosts[i];
        let limit = host.max_slots.filter(|&max| max < host.slots);
        if let Some(max) = limit {
            let what = format!(
                "host `{}` has {} slots and at most {max}",
                host.name, host.slots
            );
            let error = Diagnostic::error(codes::MAX_SLOTS, what).at(host.span, "");
            build
                .report
                .push(error.help("`max_slots=` is at least `slots=`"));
        } else if slots.is_none() && host.slots == 1 {
            let what = format!(
                "the slots of host `{}` are not given: one is assumed",
                host.name
            );
            build.report.push(
                Diagnostic::note(codes::ASSUMED_SLOTS, what)
                    .at(host.span, "")
                    .with_note("Open MPI counts the host's cores when it starts there")
                    .help(format!("write `{} slots=N`", host.name)),
            );
        }
    }
    build.finish(source, out)
}

fn read_line<'a>(line: Word<'a>, build: &mut Build<'a>, given: &mut Vec<(Option<Span>, bool)>) {
    let parts = parts(line);
    let Some((&first, mut rest)) = parts.split_first() else {
        return;
    };
    let telling = foreign(first, true).filter(|f| f.dialect != Dialect::OpenMpi);
    if let Some(telling) = telling {
        let mpich = telling.dialect == Dialect::Mpich;
        let instead = first.cut(':').filter(|_| mpich);
        let instead = instead.map(|(n, c)| format!("{} slots={}", n.shown(), c.shown()));
        return build.foreign(first, &telling, instead);
    }
    let (user, name) = first
        .cut('@')
        .map_or((None, first), |(u, n)| (Some(u.text), n));
    let (mut slots, mut most, mut user, mut bad) = (None, None, user, false);
    while let Some((&key, after)) = rest.split_first() {
        rest = after;
        if key.text == "=" {
            unknown(build, key, "an `=` without a key before it");
            bad = true;
            continue;
        }
        let value = match after {
            [equals, value, after @ ..] if equals.text == "=" => {
                rest = after;
                Some(*value)
            }
            [equals] if equals.text == "=" => {
                rest = &[];
                None
            }
            _ => None,
        };
        let Some(value) = value.filter(|v| v.text != "=") else {
            let known = SLOTS.contains(&key.text) || MAX_SLOTS.contains(&key.text);
            let what = if known {
                "a key without a value"
            } else {
                "a word that means nothing here"
            };
            unknown(build, key, what);
            bad = true;
            continue;
        };
        if SLOTS.contains(&key.text) {
            slots = value
                .count("slots", &mut build.report)
                .map(|n| (n, key.to(key.text.len()).span().to(value.span())));
            bad |= slots.is_none();
        } else if MAX_SLOTS.contains(&key.text) {
            most = value.count("slots", &mut build.report);
            bad |= most.is_none();
        } else if OTHER.contains(&key.text) {
            user = (key.text != "port").then_some(value.text).or(user);
        } else {
            match foreign(key, false) {
                Some(telling) if telling.dialect != Dialect::OpenMpi => {
                    build.foreign(key, &telling, None)
                }
                _ => unknown(build, key, "a key Open MPI does not know"),
            }
            bad = true;
        }
    }
    let Some(name) = name.host_name(&mut build.report).filter(|_| !bad) else {
        return;
    };
    if let Some(before) = build.known(name) {
        let (counted, bare) = given[before.index()];
        if slots.is_some() || counted.is_some() {
            let what = match bare || slots.is_none() {
                true => format!("host `{name}` is given both with and without `slots=`"),
                false => format!("host `{name}` is given `slots=` twice"),
            };
            let at = slots.map_or(first.span(), |(_, span)| span);
            let earlier = counted.unwrap_or(build.hosts[before.index()].span);
            build.report.push(
                Diagnostic::error(codes::DUPLICATE_HOST, what)
                    .at(at, "")
                    .also(earlier, "given here before")
                    .help("one line with `slots=N`, or a line without it for each slot"),
            );
            return;
        }
    }
    let Some(host) = build.add(name, slots.map_or(1, |(n, _)| n), first.span()) else {
        return;
    };
    if host.index() == given.len() {
        given.push((None, false));
    }
    match slots {
        Some((_, span)) => given[host.index()].0 = Some(span),
        None => given[host.index()].1 = true,
    }
    let host = &mut build.hosts[host.index()];
    host.max_slots = most.or(host.max_slots);
    host.user = user.map(str::to_string).or(host.user.take());
}

/// The words of a line, where each `=` is a word of its own.
fn parts<'a>(line: Word<'a>) -> Vec<Word<'a>> {
    let mut parts = Vec::new();
    for (i, word) in line.words().enumerate() {
        let mut rest = word;
        // The `=` of a first word is left in it: no host has one, and `hosts=4` is told apart so.
        while let Some(at) = rest.text.find('=').filter(|_| i > 0) {
            parts.extend([rest.to(at)].into_iter().filter(|w| !w.text.is_empty()));
            parts.push(rest.from(at).to(1));
            rest = rest.from(at + 1);
        }
        parts.extend([rest].into_iter().filter(|w| !w.text.is_empty()));
    }
    parts
}

fn unknown(build: &mut Build, word: Word, what: &str) {
    let error = Diagnostic::error(codes::UNKNOWN_WORD, format!("`{}` is {what}", word.shown()));
    let error = error.at(word.span(), "");
    let near = nearest(word.text, SLOTS.iter().chain(MAX_SLOTS).copied());
    build.report.push(match near {
        Some(near) if near != word.text => error.help(format!("did you mean `{near}=`?")),
        _ => error.help("a line is `name slots=N max_slots=M`"),
    });
}

/// Writes an Open MPI hostfile: one line a host, in the order hosts were first named.
pub fn print(platform: &Platform) -> String {
    let mut text = String::new();
    for host in platform.hosts() {
        let user = host
            .user
            .as_ref()
            .map_or(String::new(), |u| format!("{u}@"));
        let most = host
            .max_slots
            .map_or(String::new(), |m| format!(" max_slots={m}"));
        writeln!(text, "{user}{} slots={}{most}", host.name, host.slots)
            .expect("a String takes all");
    }
    text
}
