//! The hostfile of MPICH's launcher, hydra.
//!
//! Each line names one host as `name` or `name:slots`. `#` starts a comment. The order of lines is
//! the order of OS processes, and a host may occur again: `a:2`, `b:1`, `a:1` puts OS processes 0,
//! 1 and 3 on `a`. `user=NAME` or `binding=...` may follow a name. `bob@a:2` names the user as
//! well.
//!
//! Hydra itself (4.0.2) does not check numbers: it reads `a:2x` as 2, and `a:x` and `a:0` crash it.
//! This reader reports an error for all three.

use crate::access::Key;
use crate::build::Build;
use crate::codes;
use crate::hosts_format::{HostsFormat, foreign};
use crate::keys::MPICH;
use crate::model::{Host, Platform};
use crate::text::Word;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::Source;
use std::fmt::Write;

/// Reads an MPICH hostfile.
///
/// Returns `None` if there was at least one error. Adds the diagnostics to `out`: the first 50, and
/// a note with the number of the others. A result can come with warnings.
pub fn read(source: &Source, out: &mut Diagnostics) -> Option<Platform> {
    read_colon(source, HostsFormat::Mpich, MPICH, out)
}

/// Writes an MPICH hostfile: the slots in the order of OS processes, each run of one host as
/// `name:count`. The user and the binding of the host follow. The format has no ports, interfaces,
/// speeds, memory and cores.
pub fn print(platform: &Platform) -> String {
    print_colon(platform, |host| {
        let user = host.access.user.as_ref();
        let user = user.map_or(String::new(), |user| format!(" user={user}"));
        let binding = host.access.binding.as_ref();
        let binding = binding.map_or(String::new(), |binding| format!(" binding={binding}"));
        user + &binding
    })
}

/// Writes one line `name:slots` for each run of slots of one host, in the order of OS processes.
/// `more` returns the text after the number of slots.
pub(crate) fn print_colon(platform: &Platform, more: impl Fn(&Host) -> String) -> String {
    let mut text = String::new();
    for run in platform.order() {
        let host = &platform[run.host];
        writeln!(text, "{}:{}{}", host.name, run.count, more(host)).expect("a String takes all");
    }
    text
}

/// Reads lines of the form `name:slots key=value`, which MPICH and Intel MPI share. `keys` are the
/// keys that `format` allows.
///
/// Returns `None` if there was at least one error. Adds the diagnostics to `out`: the first 50, and
/// a note with the number of the others.
pub(crate) fn read_colon(
    source: &Source,
    format: HostsFormat,
    keys: &[&str],
    out: &mut Diagnostics,
) -> Option<Platform> {
    let mut build = Build::new(format);
    let mut counted_before = false;
    for line in Word::all(source).lines() {
        let mut words = line.words();
        let Some(first) = words.next() else { continue };
        let foreign_word = foreign(first, true).filter(|f| f.format != HostsFormat::Mpich);
        if let Some(foreign_word) = foreign_word {
            build.foreign(first, &foreign_word, None);
            continue;
        }
        let mut properties = Vec::new();
        let mut bare = false;
        for (at, word) in words.enumerate() {
            match word.cut('=') {
                Some((key, value)) if keys.contains(&key.text) => {
                    let key = match key.text {
                        "user" => Key::User,
                        "binding" => Key::Binding,
                        _ => Key::Interface,
                    };
                    properties.push((key, value));
                }
                _ if at == 0 && word.text.bytes().all(|b| b.is_ascii_digit()) => {
                    bare_number(&mut build, first, word);
                    bare = true;
                    // A number here is part of another format (PE_HOSTFILE of SGE), and so is the
                    // rest of the line.
                    break;
                }
                _ => unexpected(&mut build, first, word, keys),
            }
        }
        let (user, named) = match first.cut('@') {
            Some((user, named)) => (Some(user), named),
            None => (None, first),
        };
        let (name, count) = named.cut(':').map_or((named, None), |(n, c)| (n, Some(c)));
        let counted = count.is_some();
        let count = match count {
            Some(word) if word.text.contains(':') => {
                // Reported as a bad name, because this is usually an IPv6 address.
                named.host_name(&mut build.report);
                continue;
            }
            // Already reported at the number after it.
            Some(word) if word.text.is_empty() && bare => None,
            Some(word) => word.count("slots", &mut build.report),
            None => Some(1),
        };
        let host = name;
        // For a list with a number after it, the help text is about both.
        let checked = if name.text.contains(['[', ',']) {
            named
        } else {
            name
        };
        let name = checked.host_name(&mut build.report);
        let (Some(name), Some(count)) = (name, count) else {
            continue;
        };
        let user = user.map(|user| (Key::User, user));
        for (key, value) in user.into_iter().chain(properties) {
            build.set_access(host, key, value);
        }
        let before = build.last();
        let again = before
            .filter(|run| counted && counted_before && build.host_named(name) == Some(run.host));
        build.add(name, count, named.span());
        if let Some(before) = again {
            let sum = before.count + count;
            let what = format!("host `{name}` is named on two consecutive lines");
            build.report.push(
                Diagnostic::warning(codes::DUPLICATE_HOST, what)
                    .at(
                        first.span(),
                        format!("together, the lines give {sum} slots"),
                    )
                    .also(before.span, "first named here")
                    .help("remove one of the lines, or write one line with the sum"),
            );
        }
        counted_before = counted;
    }
    build.finish(source, out)
}

fn bare_number(build: &mut Build, first: Word, number: Word) {
    let what = format!("`{}` has no meaning after a host", number.shown());
    let error = Diagnostic::error(codes::UNKNOWN_WORD, what).at(number.span(), "");
    let (name, before) = first.cut(':').map_or((first, ""), |(n, c)| (n, c.text));
    let (name, n) = (name.shown(), number.shown());
    build.report.push(match before {
        "" => error.help(format!(
            "for {n} slots, write `{name}:{n}` or `{name} slots={n}`, in one format on all lines"
        )),
        _ => error.help(format!(
            "remove it; `{}` already gives the number of slots",
            first.shown()
        )),
    });
}

fn unexpected(build: &mut Build, first: Word, word: Word, keys: &[&str]) {
    if let Some(foreign_word) = foreign(word, false).filter(|f| f.format != build.format) {
        let value = word.cut('=').map_or("N", |(_, value)| value.text);
        let slots = word.text.starts_with("slots=");
        let name = first.cut(':').map_or(first, |(name, _)| name);
        let instead = slots.then(|| format!("{}:{value}", name.shown()));
        return build.foreign(word, &foreign_word, instead);
    }
    let what = format!("`{}` has no meaning after a host", word.shown());
    let key = word.cut('=').map_or(word, |(key, _)| key).text;
    let error = Diagnostic::error(codes::UNKNOWN_WORD, what).at(word.span(), "");
    build.report.push(match nearest(key, keys.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}=`?")),
        None => error.help("write one host per line; start a comment with `#`"),
    });
}
