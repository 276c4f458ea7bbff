//! The hostfile of Open MPI.
//!
//! Each line names one host: `name slots=N max_slots=M`. Blanks around `=` are allowed. `#` and
//! `//` start a comment, and `/* ... */` is one. `user@name` or `username=` gives the user, and
//! `port=` the port of ssh. **Open MPI ignores the order of lines**: a rankfile assigns ranks to
//! hosts.
//!
//! Slots are counted as in 4.1 and 5.0. The first line of a host gives `slots=` or, without it,
//! `max_slots=`. If it has neither, Open MPI uses the number of cores, which is unknown here, so
//! one slot is assumed. Each further line adds one slot and must not have `slots=`. A host with
//! `slots=0` is not used.

use crate::access::Key;
use crate::build::Build;
use crate::codes;
use crate::hosts_format::{HostsFormat, foreign};
use crate::keys::{MAX_SLOTS, NEAR, PORT, SLOTS, USER};
use crate::model::Platform;
use crate::text::Word;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::{Source, Span};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Content of the lines of one host.
struct Lines {
    /// Position of the first line.
    first: Span,
    /// Position of `slots=`.
    slots: Option<Span>,
    /// Maximum number of slots, and its position.
    most: Option<(u32, Span)>,
    /// True if the number of slots is assumed.
    assumed: bool,
}

/// Lines of a file by the name of the host.
type Named<'a> = FxHashMap<&'a str, Lines>;

/// Reads an Open MPI hostfile.
///
/// Returns `None` if there was at least one error. Adds the diagnostics to `out`: the first 50, and
/// a note with the number of the others. A result can come with warnings.
pub fn read(source: &Source, out: &mut Diagnostics) -> Option<Platform> {
    let mut build = Build::new(HostsFormat::OpenMpi);
    let mut named = Named::default();
    let (lines, unclosed) = Word::all(source).open_mpi_lines();
    for line in lines {
        read_line(line, &mut build, &mut named);
    }
    if let Some(open) = unclosed {
        let error = Diagnostic::error(codes::BRACKETS, "a comment is not closed");
        let error = error.at(open.span(), "the rest of the file is part of it");
        build
            .report
            .push(error.help("end it with `*/`, or start each line with `#`"));
    }
    limits(&mut build, &named);
    assumed(&mut build, &named);
    if build.hosts.is_empty() && !named.is_empty() && !build.report.failed() {
        let what = format!("no host of `{}` has a slot", source.name());
        let at = named
            .values()
            .map(|lines| lines.first)
            .min_by_key(|span| span.start);
        let error = Diagnostic::error(codes::NO_HOST, what).at(at.unwrap_or(Span::NONE), "");
        build
            .report
            .push(error.help("give at least one host a slot; a host with `slots=0` is not used"));
    }
    build.finish(source, out)
}

/// Sets the maximum number of slots of each host for which a line gives one. Reports an error for a
/// maximum below the number of slots. Panics if a host is not in `named`.
fn limits(build: &mut Build, named: &Named) {
    for at in 0..build.hosts.len() {
        let host = &mut build.hosts[at];
        let Some((most, span)) = named[host.name.as_str()].most else {
            continue;
        };
        host.max_slots = Some(most);
        if most < host.slots {
            let what = format!(
                "the number of slots of host `{}` is {}, but its limit is {most}",
                host.name, host.slots
            );
            let error = Diagnostic::error(codes::MAX_SLOTS, what).at(host.span, "");
            let error = error.also(span, "the limit is given here");
            build
                .report
                .push(error.help("raise `max_slots=`, or lower `slots=`"));
        }
    }
}

/// Warns once about all hosts whose number of slots is not given. Does nothing if there are none.
/// Panics if a host is not in `named`.
fn assumed(build: &mut Build, named: &Named) {
    let assumed = |host: &&crate::Host| named[host.name.as_str()].assumed;
    let hosts: Vec<&crate::Host> = build.hosts.iter().filter(assumed).collect();
    let Some(first) = hosts.first() else {
        return;
    };
    let (name, span) = (first.name.clone(), first.span);
    let what = match hosts.len() {
        1 => format!("the number of slots of host `{name}` is not given; one is assumed"),
        n => format!("the number of slots of {n} hosts is not given; one each is assumed"),
    };
    let warning = Diagnostic::warning(codes::ASSUMED_SLOTS, what)
        .at(span, "")
        .with_note("Open MPI uses the number of cores, which it counts on the host at the start")
        .help(format!("write `{name} slots=N`"));
    build.report.push(warning);
}

fn read_line<'a>(line: Word<'a>, build: &mut Build<'a>, named: &mut Named<'a>) {
    let parts = parts(line);
    let Some((&first, mut rest)) = parts.split_first() else {
        return;
    };
    let key = first.cut('=').map_or("", |(key, _)| key.text);
    if SLOTS.contains(&key) || MAX_SLOTS.contains(&key) || USER.contains(&key) || key == PORT {
        let what = format!("`{key}=` has no host before it");
        let error = Diagnostic::error(codes::UNKNOWN_WORD, what).at(first.span(), "");
        let help = "name the host first, on the same line; a comment `/* */` ends a line";
        build.report.push(error.help(help));
        return;
    }
    let foreign_word = foreign(first, true).filter(|f| f.format != HostsFormat::OpenMpi);
    if let Some(foreign_word) = foreign_word {
        let mpich = foreign_word.format == HostsFormat::Mpich;
        let instead = first.cut(':').filter(|_| mpich);
        let instead = instead.map(|(n, c)| format!("{} slots={}", n.shown(), c.shown()));
        return build.foreign(first, &foreign_word, instead);
    }
    let (user, name) = first
        .cut('@')
        .map_or((None, first), |(user, name)| (Some(user), name));
    let mut properties: Vec<(Key, Word)> = user.map(|user| (Key::User, user)).into_iter().collect();
    let mut slots: Option<(u32, Span)> = None;
    let mut most: Option<(u32, Span)> = None;
    let mut bad = false;
    while let Some((&key, after)) = rest.split_first() {
        rest = after;
        if key.text == "=" {
            unknown(build, key, "has no key before it");
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
            let number = key.text.bytes().all(|b| b.is_ascii_digit());
            match (known, number) {
                (true, _) => unknown(build, key, "has no value"),
                (false, true) if key.start == parts[1].start => {
                    let what = format!("`{}` has no meaning after a host", key.shown());
                    let help = format!("write `{} slots={}`", first.shown(), key.shown());
                    let error = Diagnostic::error(codes::UNKNOWN_WORD, what).at(key.span(), "");
                    build.report.push(error.help(help));
                    return;
                }
                _ => unknown(build, key, "has no meaning here"),
            }
            bad = true;
            continue;
        };
        let limit = MAX_SLOTS.contains(&key.text);
        if limit || SLOTS.contains(&key.text) {
            let Some(n) = value.count_or_zero("slots", &mut build.report) else {
                bad = true;
                continue;
            };
            let place = key.span().to(value.span());
            let before = match limit {
                true => most.replace((n, place)),
                false => slots.replace((n, place)),
            };
            if let Some((_, before)) = before {
                let what = format!("`{}=` is given twice on a line", key.shown());
                let error = Diagnostic::error(codes::DUPLICATE_HOST, what).at(place, "");
                let error = error.also(before, "first given here");
                build.report.push(error.help("remove one of them"));
                bad = true;
            }
        } else if USER.contains(&key.text) {
            properties.push((Key::User, value));
        } else if key.text == PORT {
            properties.push((Key::Port, value));
        } else {
            match foreign(key, false) {
                Some(foreign_word) if foreign_word.format != HostsFormat::OpenMpi => {
                    build.foreign(key, &foreign_word, None)
                }
                _ => unknown(build, key, "is not a key of Open MPI"),
            }
            bad = true;
        }
    }
    let host = name;
    let Some(name) = name.host_name(&mut build.report).filter(|_| !bad) else {
        return;
    };
    for (key, value) in properties {
        build.set_access(host, key, value);
    }
    let at = host.span();
    let lines = match named.get_mut(name) {
        None => {
            let count = slots.or(most).map_or(1, |(n, _)| n);
            let lines = Lines {
                first: at,
                slots: slots.map(|(_, span)| span),
                most,
                assumed: slots.or(most).is_none(),
            };
            named.insert(name, lines);
            if count > 0 {
                build.add(name, count, at);
            }
            return;
        }
        Some(lines) => lines,
    };
    if let Some((_, place)) = slots {
        let (what, earlier) = match lines.slots {
            Some(earlier) => (format!("host `{name}` has `slots=` on two lines"), earlier),
            None => {
                let what = format!("host `{name}` has `slots=` after a line without it");
                (what, lines.first)
            }
        };
        build.report.push(
            Diagnostic::error(codes::DUPLICATE_HOST, what)
                .at(place, "")
                .also(earlier, "first given here")
                .help("write one line with `slots=N`; each further line without it adds a slot"),
        );
        return;
    }
    // Open MPI counts a further line as one more slot.
    lines.assumed = false;
    lines.most = most.or(lines.most);
    build.add(name, 1, at);
}

/// Splits a line into words. Each `=` is a separate word, except in the first word, which is not
/// split.
fn parts<'a>(line: Word<'a>) -> Vec<Word<'a>> {
    let mut parts = Vec::new();
    for (i, word) in line.words().enumerate() {
        let mut rest = word;
        // The first word keeps its `=`. A host name has none, and `hosts=4` identifies another
        // format.
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
    let error = Diagnostic::error(codes::UNKNOWN_WORD, format!("`{}` {what}", word.shown()));
    let error = error.at(word.span(), "");
    let other = NEAR.iter().find(|(near, _)| *near == word.text);
    let keys = SLOTS.iter().chain(MAX_SLOTS).chain(USER);
    // MPICH has the key `user`.
    let user = (word.text == "user").then_some("username");
    let near = other.map(|(_, right)| *right).or(user);
    let near = near.or_else(|| nearest(word.text, keys.copied().chain([PORT])));
    build.report.push(match near {
        Some(near) if near != word.text => error.help(format!("did you mean `{near}=`?")),
        _ => error.help("write a line as `name slots=N max_slots=M`"),
    });
}

/// Writes an Open MPI hostfile: one line per host, in the order of their first mention. A line
/// contains the user, the slots, the maximum number of slots and the port. The format has no order
/// of slots, no interfaces, bindings, speeds, memory and cores.
pub fn print(platform: &Platform) -> String {
    let mut text = String::new();
    for host in platform.hosts() {
        let user = host
            .access
            .user
            .as_ref()
            .map_or(String::new(), |u| format!("{u}@"));
        let most = host
            .max_slots
            .map_or(String::new(), |m| format!(" max_slots={m}"));
        let port = host
            .access
            .port
            .map_or(String::new(), |p| format!(" port={p}"));
        writeln!(text, "{user}{} slots={}{most}{port}", host.name, host.slots)
            .expect("a String takes all");
    }
    text
}
