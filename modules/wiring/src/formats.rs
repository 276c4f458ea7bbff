//! Types of tokens that nothing in a project lays out as bytes, where tokens of theirs go between OS processes.
//!
//! Only the compiler knows what is implemented. What is found here is found before it is asked, by name, and told where it
//! is certain: a type that the project defines, while nothing in its sources lays it out.

use crate::codes;
use crate::definitions::Definitions;
use crate::layout::types_file;
use crate::lexer::{Token, tokens};
use crate::payload::{self, UNTYPED};
use crate::project::Project;
use crate::sources::Sources;
use graphmap_kpn::controls;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::network::{Network, ProcessId};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

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
        for name in laid_out_by_the_project(ty) {
            crossing.entry(name).or_insert((channel.span, ends));
        }
    }
    let mut found = Diagnostics::new();
    if crossing.is_empty() {
        return found;
    }
    let types = types_file(&project.root);
    let wanted = crossing.keys().cloned().collect();
    let Some(definitions) = read(&project.root.join("src"), &types, &wanted) else {
        return found;
    };
    let shown = types.display().to_string();
    let shown = controls::escaped(&shown, |_| false);
    for (name, (span, (from, to))) in crossing {
        if !definitions.lacks_format(&name) {
            continue;
        }
        let message = format!(
            "nothing says how `{name}` is laid out as bytes, and its tokens go from OS process {from} to {to}"
        );
        found.push(
            Diagnostic::warning(codes::NO_FORMAT, message)
                .at(span, "in this channel, the first of them")
                .help(format!(
                    "write `graphmap_runtime::payload!({name} {{ its, fields }});` beside the type in {shown}"
                )),
        );
    }
    found
}

/// What the sources below a folder say of these names. `None` where that is not certain.
fn read<'w>(folder: &Path, types: &Path, wanted: &'w HashSet<String>) -> Option<Definitions<'w>> {
    let mut definitions = Definitions::new(wanted);
    let mut sources = Sources::new();
    sources.file(types, &mut |text| definitions.read(text, true))?;
    sources.folder(folder, &mut |text| definitions.read(text, false))?;
    Some(definitions)
}

/// The names of a project's own types that have to be laid out for tokens of a type to be. Of those within another's type
/// nobody knows: it need not ask for a format of theirs.
fn laid_out_by_the_project(ty: &str) -> Vec<String> {
    let Ok(payload) = payload::parse(ty) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    // For each `<` that is open, whether what is within has to be laid out, too.
    let mut within = Vec::new();
    let mut tokens = tokens(&payload.rust).peekable();
    while let Some(token) = tokens.next() {
        match token {
            Token::Word(word) => path.push(word),
            Token::Sign('<') => {
                let inner = within.last() != Some(&false) && asks_for_formats(&path);
                within.push(inner);
            }
            Token::Sign('>') => drop(within.pop()),
            _ => {}
        }
        if token == Token::Sign(':') || tokens.peek() == Some(&Token::Sign(':')) {
            continue;
        }
        if let (["types", name] | ["crate", "types", name], Token::Word(_)) = (&path[..], token)
            && within.last() != Some(&false)
        {
            names.push((*name).to_owned());
        }
        if tokens.peek() != Some(&Token::Sign('<')) {
            path.clear();
        }
    }
    names
}

/// Whether a generic type, by its path, is laid out as what it holds is.
fn asks_for_formats(path: &[&str]) -> bool {
    match path {
        [_] => true,
        ["std" | "core" | "alloc", .., last] => *last != "PhantomData",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_the_project_are_found_in_others() {
        for (ty, names) in [
            ("u64", &[][..]),
            ("Item", &["Item"]),
            ("crate::types::Item", &["Item"]),
            ("crate :: types :: Item", &["Item"]),
            ("crate::types::Strip<Item>", &["Strip"]),
            ("crate::types::inner::Item", &[]),
            ("crate::other::Item", &[]),
            ("other::types::Item", &[]),
            ("Vec<(u8, Item, [Other; 3])>", &["Item", "Other"]),
            (
                "Result<Box<Item>, Option<crate::types::Other>>",
                &["Item", "Other"],
            ),
            (
                "std::collections::BTreeMap<Item, Vec<Other>>",
                &["Item", "Other"],
            ),
            ("std::marker::PhantomData<Item>", &[]),
            ("other::Pair<Item, Vec<Item>>", &[]),
            ("(other::Pair<Vec<Item>, u8>, Other)", &["Other"]),
            ("no type", &[]),
        ] {
            assert_eq!(laid_out_by_the_project(ty), names, "{ty}");
        }
    }
}
