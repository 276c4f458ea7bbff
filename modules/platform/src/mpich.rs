//! The hostfile of MPICH's launcher (hydra).
//!
//! One host a line, `name` or `name:slots`; `#` starts a comment. The order of lines is the order
//! of ranks, and a host may come up again: `a:2`, `b:1`, `a:1` puts ranks 0, 1 and 3 on `a`. What
//! follows a name may be `user=NAME` or `binding=...`.
//!
//! Hydra itself (4.0.2) reads numbers carelessly: `a:2x` is 2, `a:x` and `a:0` crash it. Here all
//! three are errors.

use crate::build::Build;
use crate::codes;
use crate::dialect::{Dialect, foreign};
use crate::keys::MPICH;
use crate::model::Platform;
use crate::text::Word;
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::Source;
use std::fmt::Write;

/// Reads an MPICH hostfile.
///
/// `None` means that there was at least one error; all of them are in `out`.
pub fn read(source: &Source, out: &mut Diagnostics) -> Option<Platform> {
    read_colon(source, Dialect::Mpich, MPICH, out)
}

/// Writes an MPICH hostfile: the slots in rank order, runs of one host as `name:count`.
pub fn print(platform: &Platform) -> String {
    let mut text = String::new();
    for run in platform.order() {
        let name = &platform[run.host].name;
        writeln!(text, "{name}:{}", run.count).expect("a String takes all");
    }
    text
}

/// Reads `name:slots key=value` lines, the form MPICH and Intel MPI share.
pub(crate) fn read_colon(
    source: &Source,
    dialect: Dialect,
    keys: &[&str],
    out: &mut Diagnostics,
) -> Option<Platform> {
    let mut build = Build::new(dialect);
    let mut counted_before = false;
    for line in Word::all(source).lines() {
        let mut words = line.words();
        let Some(first) = words.next() else { continue };
        let mut user = None;
        for word in words {
            match word.cut('=') {
                Some((key, value)) if keys.contains(&key.text) => {
                    user = Some(value).filter(|_| key.text == "user").or(user);
                }
                _ => unexpected(&mut build, first, word, keys),
            }
        }
        let telling = foreign(first, true).filter(|f| f.dialect != Dialect::Mpich);
        if let Some(telling) = telling {
            build.foreign(first, &telling, None);
            continue;
        }
        let (name, count) = first.cut(':').map_or((first, None), |(n, c)| (n, Some(c)));
        let counted = count.is_some();
        let count = match count {
            Some(word) if word.text.contains(':') => {
                // Reported as a name: an IPv6 address is what this usually is.
                first.host_name(&mut build.report);
                continue;
            }
            Some(word) => word.count("slots", &mut build.report),
            None => Some(1),
        };
        let name = name.host_name(&mut build.report);
        let (Some(name), Some(count)) = (name, count) else {
            continue;
        };
        let before = build.last();
        let again =
            before.filter(|run| counted && counted_before && build.known(name) == Some(run.host));
        let host = build.add(name, count, first.span());
        if let Some(before) = again {
            let sum = before.count + count;
            let what = format!("host `{name}` is given twice in a row");
            build.report.push(
                Diagnostic::warning(codes::DUPLICATE_HOST, what)
                    .at(first.span(), format!("the two add up to {sum} slots"))
                    .also(before.span, "given here")
                    .help("take one of the lines out, or write one with the sum"),
            );
        }
        if let (Some(host), Some(user)) = (host, user) {
            build.hosts[host.index()].user = Some(user.text.to_string());
        }
        counted_before = counted;
    }
    build.finish(source, out)
}

fn unexpected(build: &mut Build, first: Word, word: Word, keys: &[&str]) {
    if let Some(telling) = foreign(word, false).filter(|f| f.dialect != build.dialect) {
        let value = word.cut('=').map_or("N", |(_, value)| value.text);
        let slots = word.text.starts_with("slots");
        let instead = slots.then(|| format!("{}:{value}", first.shown()));
        return build.foreign(word, &telling, instead);
    }
    let what = format!("`{}` means nothing after a host", word.shown());
    let key = word.cut('=').map_or(word, |(key, _)| key).text;
    let error = Diagnostic::error(codes::UNKNOWN_WORD, what).at(word.span(), "");
    build.report.push(match nearest(key, keys.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}=`?")),
        None => error.help("one host a line; `#` starts a comment"),
    });
}
