//! Types of tokens that nothing in a project lays out as bytes, where tokens of theirs go between OS processes.
//!
//! Only the compiler knows what is implemented. What is found here is found before it is asked: a type that the project defines,
//! while nowhere in its sources `payload!` names it or `Payload` is implemented for it by name.

use crate::codes;
use crate::identifier::words_of;
use crate::layout::{TYPES, WIRING};
use crate::payload::{self, UNTYPED};
use crate::project::Project;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::network::{Network, ProcessId};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Warns of each type of a project's own without a format of bytes of which tokens go from one OS process to another: at the
/// first channel that takes them there.
pub fn missing(
    project: &Project,
    network: &Network,
    os_process_of: impl Fn(ProcessId) -> usize,
) -> Diagnostics {
    let mut seen = HashSet::new();
    let mut crossing = BTreeMap::new();
    for (id, channel) in network.channels.iter() {
        let ends = (
            os_process_of(network.writer(id)),
            os_process_of(network.reader(id)),
        );
        if ends.0 == ends.1 || !seen.insert(channel.ty) {
            continue;
        }
        let ty = channel.ty.map_or(UNTYPED, |ty| network.name(ty));
        for own in payload::parse(ty)
            .map(|payload| payload.own)
            .unwrap_or_default()
        {
            crossing.entry(own).or_insert((channel.span, ends));
        }
    }
    let mut found = Diagnostics::new();
    if crossing.is_empty() {
        return found;
    }
    let types = project.root.join(TYPES);
    let Ok(defined) = input::text(&types, Limit::SOURCE) else {
        return found;
    };
    let mut sources = Vec::new();
    read_sources(
        &project.root.join("src"),
        &project.root.join(WIRING),
        &mut sources,
    );
    for (name, (span, (from, to))) in crossing {
        if !defines(&defined, &name) || sources.iter().any(|text| lays_out(text, &name)) {
            continue;
        }
        let message = format!(
            "nothing says how `{name}` is laid out as bytes, and its tokens go from OS process {from} to {to}"
        );
        found.push(
            Diagnostic::warning(codes::NO_FORMAT, message)
                .at(span, "in this channel, the first of them")
                .help(format!(
                    "write `graphmap_runtime::payload!({name} {{ its, fields }});` beside the type in {}",
                    types.display()
                )),
        );
    }
    found
}

/// The Rust files below a folder; of what cannot be read the compiler tells.
fn read_sources(folder: &Path, except: &Path, sources: &mut Vec<String>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    for path in paths {
        if path.is_dir() && !path.is_symlink() {
            read_sources(&path, except, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") && path != except {
            sources.extend(input::text(&path, Limit::SOURCE));
        }
    }
}

/// Whether a text defines a type that has no format but one of its own.
fn defines(text: &str, name: &str) -> bool {
    let mut before = "";
    words_of(text).any(|word| {
        let defines = word == name && matches!(before, "struct" | "enum" | "union");
        before = word;
        defines
    })
}

/// Whether a text names a type in `payload!`, or implements `Payload` for it.
fn lays_out(text: &str, name: &str) -> bool {
    let in_macro = text.split("payload!").skip(1).any(|rest| {
        let mut words = words_of(rest).skip_while(|word| *word == "enum");
        words.next() == Some(name)
    });
    let implemented = text.split("Payload").skip(1).any(|rest| {
        let rest = rest.trim_start().strip_prefix("for ");
        let rest = rest.map_or("", str::trim_start);
        let path = rest.split(|c: char| !(c.is_alphanumeric() || "_:".contains(c)));
        path.take(1)
            .any(|path| path.rsplit("::").next() == Some(name))
    });
    in_macro || implemented
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_found_by_name() {
        for (text, name, found) in [
            ("graphmap_runtime::payload!(Item);", "Item", true),
            ("rt::payload! { Item { a, b } }", "Item", true),
            ("payload!(enum Item { A, B(x) });", "Item", true),
            ("payload!(Strip<T> { rows });", "Strip", true),
            ("impl rt::Payload for crate::types::Item {", "Item", true),
            (
                "impl<T: Payload> Payload for Strip<T>\nwhere",
                "Strip",
                true,
            ),
            ("impl<T> rt::Payload\n    for Strip<T>", "Strip", true),
            ("payload!(Items);", "Item", false),
            ("impl Payload for Items {", "Item", false),
            ("struct Item;", "Item", false),
        ] {
            assert_eq!(lays_out(text, name), found, "{text}");
        }
    }

    #[test]
    fn what_is_an_alias_or_comes_from_elsewhere_is_not_defined() {
        assert!(defines("pub struct Item {", "Item") && defines("enum  Item<T> {", "Item"));
        for text in [
            "pub type Item = u64;",
            "pub use other::Item;",
            "struct Items;",
        ] {
            assert!(!defines(text, "Item"), "{text}");
        }
    }
}
