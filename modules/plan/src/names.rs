//! Names in rules, and diagnostics for names without a match in the network.

use crate::codes;
use crate::language::NameKind;
use crate::pattern::Pattern;
use graphmap_kpn::declared;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::network::{Module, Network};
use std::collections::BTreeSet;

/// Largest number of names that a diagnostic lists.
const MOST_LISTED: usize = 8;
/// Largest number of names that are compared for a hint, which does not justify a search through a
/// million.
const MOST_COMPARED: usize = 10_000;

/// Returns true if the pattern matches the name or the kind of a module. The name `cluster_farm`
/// also matches as `farm`, because the prefix is only for Graphviz.
pub(crate) fn is_called(network: &Network, module: &Module, called: &Pattern) -> bool {
    let (name, kind) = (network.name(module.name), network.name(module.kind));
    called.matches(name) || called.matches(kind) || called.matches(without_cluster(name))
}

/// Returns a module's name without the prefix `cluster` or `cluster_`, which Graphviz requires. The
/// case of the prefix is ignored. A name without the prefix is returned unchanged.
fn without_cluster(name: &str) -> &str {
    match declared::without_cluster(name) {
        Some(rest) => rest.strip_prefix('_').unwrap_or(rest),
        None => name,
    }
}

/// Returns the error ([`codes::NOBODY`]) for a name that matches nothing, with a hint at similar
/// names. `of` says what the name should be. If no name is similar, the hint lists up to
/// [`MOST_LISTED`] of the existing names.
pub(crate) fn no_match(network: &Network, of: NameKind, name: &Pattern) -> Diagnostic {
    let kinds = || network.kinds.values().map(|k| network.name(k.name));
    let modules = || network.modules.values();
    let (word, mut known): (_, Vec<&str>) = match of {
        NameKind::Process => {
            let ids = network.processes.ids();
            ("process", ids.map(|p| network.process_name(p)).collect())
        }
        NameKind::Kind => ("kind of process", kinds().collect()),
        NameKind::Module => {
            let names = modules().flat_map(|m| {
                let name = without_cluster(network.name(m.name));
                [network.name(m.kind), name]
            });
            ("module", names.collect())
        }
    };
    let message = match name.is_open() {
        true => format!("no {word} matches `{}`", name.text),
        false => format!("there is no {word} `{}`", name.text),
    };
    let mut diagnostic = Diagnostic::error(codes::NOBODY, message).at(name.span, "");
    if of == NameKind::Process {
        let kind = kinds().any(|kind| name.matches(kind)).then_some("kind");
        let module = modules().any(|m| is_called(network, m, name));
        for word in kind.into_iter().chain(module.then_some("module")) {
            diagnostic = diagnostic.help(format!(
                "for the {word} of this name, write `{word}:{}`",
                name.text
            ));
        }
    }
    if !diagnostic.help.is_empty() {
        return diagnostic;
    }
    let mut seen = BTreeSet::new();
    known.retain(|name| seen.insert(*name));
    if let Some(said) = numbered(&name.text, &known) {
        diagnostic = diagnostic.help(said);
        let (base, _) = parts(&name.text).unwrap_or_default();
        let all = match of {
            NameKind::Process => kinds().any(|kind| kind == base).then_some("kind"),
            NameKind::Kind => None,
            NameKind::Module => known.contains(&base).then_some("module"),
        };
        return match all {
            Some(word) => diagnostic.help(format!("for all of them, write `{word}:{base}`")),
            None => diagnostic,
        };
    }
    let compared = &known[..known.len().min(MOST_COMPARED)];
    if name.has_foreign_signs() {
        diagnostic = diagnostic
            .help("use `*` for any characters and `?` for one; other characters match themselves");
    }
    if let Some((shorter, found)) = matching(name, compared) {
        return diagnostic.help(format!("did you mean `{shorter}`, as in `{found}`?"));
    }
    if let Some(near) = nearest(&name.text, compared.iter().copied()) {
        return diagnostic.help(format!("did you mean `{near}`?"));
    }
    let more = if known.len() > MOST_LISTED {
        " ..."
    } else {
        ""
    };
    known.truncate(MOST_LISTED);
    match known.is_empty() {
        true => diagnostic.help(format!("the network has no {word}")),
        false => diagnostic.help(format!("use one of: {}{more}", known.join(", "))),
    }
}

/// Returns a shorter pattern that matches a known name, and the first such name.
///
/// The stem of `name` is its text before the first special character. The pattern is the longest
/// beginning of the stem with which a known name begins, and `*`. The result is `None` if that
/// beginning is at most half of the stem, if `name` has no special character or is in quotes, or if
/// `known` is empty.
fn matching<'a>(name: &Pattern, known: &[&'a str]) -> Option<(String, &'a str)> {
    let stem = name.stem()?;
    let common = |other: &&str| {
        let pairs = stem.char_indices().zip(other.chars());
        pairs
            .take_while(|((_, a), b)| a == b)
            .last()
            .map_or(0, |((at, a), _)| at + a.len_utf8())
    };
    // Of several equally good names, this selects the first.
    let found = known.iter().rev().max_by_key(|other| common(other))?;
    let kept = common(found);
    (kept * 2 > stem.len()).then(|| (format!("{}*", &stem[..kept]), *found))
}

/// Splits a name that ends in a number, as names of instances do, into its base and the number. A
/// `_` before the number is not part of the base. Returns `None` if there is no number that fits
/// into 64 bits, or if the base is empty.
fn parts(name: &str) -> Option<(&str, u64)> {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[base.len()..].parse().ok()?;
    let base = base.strip_suffix('_').unwrap_or(base);
    (!base.is_empty()).then_some((base, number))
}

/// Returns a hint at names with the same base, for a name whose number does not exist. Returns
/// `None` if the name does not end in a number, or if no known name has the same base.
fn numbered(name: &str, known: &[&str]) -> Option<String> {
    let (base, wanted) = parts(name)?;
    let mut alike: Vec<(u64, &str)> = known
        .iter()
        .filter_map(|&other| {
            let (of, number) = parts(other)?;
            (of == base).then_some((number, other))
        })
        .collect();
    alike.sort_unstable();
    if let Some((_, same)) = alike.iter().find(|(number, _)| *number == wanted) {
        return Some(format!("did you mean `{same}`?"));
    }
    let ((first, low), (last, high)) = (alike.first()?, alike.last()?);
    if alike.len() > 2 && last - first == alike.len() as u64 - 1 {
        return Some(format!("use one of `{low}` to `{high}`"));
    }
    let names = alike.iter().take(MOST_LISTED);
    let names: Vec<String> = names.map(|(_, name)| format!("`{name}`")).collect();
    let more = match alike.len() > MOST_LISTED {
        true => " ...",
        false => "",
    };
    Some(match alike.len() {
        1 => format!("did you mean {}?", names[0]),
        _ => format!("use one of {}{more}", names.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::{matching, numbered};
    use crate::pattern::Pattern;
    use graphmap_kpn::source::Span;

    #[test]
    fn unmatched_pattern_suggests_a_matching_one() {
        let known = ["manager", "worker1", "worker2", "wörk"];
        for (text, literal, said) in [
            ("workers*", false, Some(("worker*", "worker1"))),
            ("worker1?*", false, Some(("worker1*", "worker1"))),
            ("work[12]", false, Some(("work*", "worker1"))),
            ("wöx*", false, Some(("wö*", "wörk"))),
            ("wrk*", false, None),
            ("*x", false, None),
            ("workers", false, None),
            ("workers*", true, None),
        ] {
            let text = text.to_owned();
            let pattern = Pattern {
                text,
                literal,
                span: Span::NONE,
            };
            let found = matching(&pattern, &known);
            let found = found
                .as_ref()
                .map(|(shorter, other)| (shorter.as_str(), *other));
            assert_eq!(found, said, "{}", pattern.text);
        }
    }

    #[test]
    fn unknown_number_suggests_existing_numbers() {
        let farms = ["farm", "farm1", "farm2", "farm3"];
        let many: Vec<String> = (0..40).map(|i| format!("w{}", i * 2)).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for (name, known, said) in [
            ("farm_2", &farms[..], Some("did you mean `farm2`?")),
            ("farm7", &farms, Some("use one of `farm1` to `farm3`")),
            (
                "farm_2",
                &["farm_1", "farm_3"],
                Some("use one of `farm_1`, `farm_3`"),
            ),
            ("farm9", &["farm1"], Some("did you mean `farm1`?")),
            (
                "w1",
                &many,
                Some("use one of `w0`, `w2`, `w4`, `w6`, `w8`, `w10`, `w12`, `w14` ..."),
            ),
            ("frm1", &farms, None),
            ("farm", &farms, None),
            ("7", &["8"], None),
            ("farm99999999999999999999999", &farms, None),
        ] {
            assert_eq!(numbered(name, known).as_deref(), said, "{name}");
        }
    }
}
