//! Tables of a network as a text, which a program reads in place of the tables in its wiring.
//!
//! The wiring of a program has tables for the sizes in the graph. A run with other sizes passes
//! these tables. They have the same contents as the wiring, so their size does not depend on the
//! number of processes, except for listed names. The runtime reads them
//! (`modules/runtime/src/kpn/tables.rs`), and the book lists their statements (`runtime.md`).

use crate::codes;
use crate::context::{ClassModel, Model};
use crate::emitters::structure_of;
use crate::names::NamesModel;
use crate::skeleton::Skeletons;
use crate::structure::Structure;
use graphmap_kpn::declared::Direction;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::network::{Kind, KindPort, Network};
use rustc_hash::FxHashMap;
use std::fmt::Write;
use std::path::Path;

/// Version of the format.
pub const VERSION: u32 = 1;

/// Emitter `tables`: the tables that a program reads. Accepts paths that end with `.tables`.
#[derive(Clone, Copy, Debug, Default)]
pub struct TablesEmitter;

impl Emitter for TablesEmitter {
    fn name(&self) -> &str {
        "tables"
    }

    fn about(&self) -> &str {
        "tables of processes and channels, which a program reads in place of its own"
    }

    fn options(&self) -> Option<&[&str]> {
        Some(&[])
    }

    fn accepts(&self, path: &Path) -> bool {
        path.extension().is_some_and(|e| e == "tables")
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let network = mapped.network();
        let model = Model::new(network, Structure::of(network), context.diagnostics)?;
        files.generated(context.path, text(&model));
        Ok(())
    }
}

/// Returns the tables of `network` for the program of `built`, which is the network of the same
/// graph with the sizes that the graph states. `skeletons` are the ones of the program.
///
/// # Errors
/// Returns an error for each kind and port of `network` that the program does not have.
/// Also returns an error for each payload type that is not a Rust type, and if the graph names a
/// skeleton that does not exist.
pub fn tables(
    network: &Network,
    built: &Network,
    skeletons: &Skeletons,
) -> Result<String, Diagnostics> {
    let structure = structure_of(built, skeletons)?;
    let sizes = structure.sizes_in(network);
    let structure = Structure { sizes, ..structure };
    // The wiring of the program has the same warnings.
    let model = Model::new(network, structure, &mut Diagnostics::new())?;
    let missing = missing(network, built);
    match missing.is_empty() {
        true => Ok(text(&model)),
        false => Err(missing),
    }
}

/// Returns an error for each kind of `network`, and for each port of such a kind, that the program
/// of `built` does not have, and for each port that only the program has. A channel has the type of
/// its ports.
fn missing(network: &Network, built: &Network) -> Diagnostics {
    let mut found = Diagnostics::new();
    let kinds: FxHashMap<&str, &Kind> = built
        .kinds
        .values()
        .map(|kind| (built.name(kind.name), kind))
        .collect();
    for kind in network.kinds.values() {
        let name = network.name(kind.name);
        let Some(known) = kinds.get(name) else {
            let process = &network.processes[kind.members[0]];
            let message = format!("the program has no code for the kind `{name}`");
            found.push(
                Diagnostic::error(codes::KIND_NOT_BUILT, message)
                    .at(
                        process.span,
                        "a process of this kind exists with the given sizes",
                    )
                    .with_note("the sizes in the graph make no process of this kind")
                    .help(
                        "set sizes in the graph that make at least one, and build the program \
                         with `graphmap run GRAPH --no-run`",
                    ),
            );
            continue;
        };
        // A port without channels has no type.
        let same = |port: &KindPort, own: &KindPort| {
            network.name(port.name) == built.name(own.name)
                && port.direction == own.direction
                && port.bundle == own.bundle
                && port.flow == own.flow
                && (port.ty.is_none()
                    || port.ty.map(|ty| network.name(ty)) == own.ty.map(|ty| built.name(ty)))
        };
        for port in &kind.ports {
            if !known.ports.iter().any(|own| same(port, own)) {
                found.push(misfit(
                    network,
                    name,
                    port,
                    "the program has another port or none",
                ));
            }
        }
        for own in &known.ports {
            let is_there = kind.ports.iter().any(|port| same(port, own));
            let named = built.name(own.name);
            let other = kind.ports.iter().any(|p| network.name(p.name) == named);
            // A bundle may be empty.
            if !is_there && !other && own.bundle.is_none() {
                let message =
                    format!("the kind `{name}` has no port `{named}` with the given sizes");
                let process = &network.processes[kind.members[0]];
                found.push(rebuild(
                    Diagnostic::error(codes::PORT_NOT_BUILT, message)
                        .at(process.span, "the program reads or writes that port here"),
                ));
            }
        }
    }
    found
}

fn misfit(network: &Network, kind: &str, port: &KindPort, why: &str) -> Diagnostic {
    let name = network.name(port.name);
    let way = match port.direction {
        Direction::Input => "input",
        Direction::Output => "output",
    };
    let what = port.bundle.map_or(way, |bundle| bundle.name());
    let message = format!("with the given sizes, `{name}` of the kind `{kind}` is a new {what}");
    rebuild(Diagnostic::error(codes::PORT_NOT_BUILT, message).at(port.span, why))
}

fn rebuild(diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.help(
        "set these sizes in the graph, and build the program with `graphmap run GRAPH --no-run`",
    )
}

/// Returns the tables of a model as a text.
fn text(model: &Model) -> String {
    let mut text = format!("graphmap-tables {VERSION};\n");
    let mut put = |keyword: &str, words: &[&str]| {
        text.push_str(keyword);
        for word in words {
            text.push(' ');
            put_word(&mut text, word);
        }
        text.push_str(";\n");
    };
    put("network", &[&model.graph.name, &model.graph.file]);
    for size in &model.structure.sizes {
        put("size", &[size.name, &size.value.to_string()]);
    }
    for kind in &model.kinds {
        put("kind", &[&kind.name, &kind.ranks]);
        put_names(&mut put, &kind.names);
        put("place", &[&kind.lines, &kind.columns]);
        for parameter in &kind.parameters {
            let value = match parameter.form {
                "listed" => None,
                _ => Some(&*parameter.value),
            };
            let list = parameter.list.iter().map(String::as_str);
            let words = [&*parameter.name, parameter.form].into_iter();
            let words: Vec<&str> = words.chain(value).chain(list).collect();
            put("argument", &words);
        }
        if !kind.modules.is_empty() {
            put("inside", &[&kind.modules]);
        }
    }
    for class in &model.modules {
        put("modules", &[&class.kind, &class.within]);
        put_names(&mut put, &class.names);
    }
    for class in &model.channels {
        let ClassModel { from, to, .. } = class;
        put(
            "channels",
            &[
                &from.kind_name,
                &from.port_name,
                &to.kind_name,
                &to.port_name,
                &class.rust_type,
                &class.capacity.to_string(),
                &class.initial.to_string(),
                if class.flow.is_some() {
                    "flow"
                } else {
                    "plain"
                },
                &from.index,
                &to.index,
                &from.slot,
                &to.slot,
                &class.line,
                &class.column,
            ],
        );
        if let Some(tag) = class.tag {
            put("tag", &[&tag.to_string()]);
        }
    }
    text
}

fn put_names(put: &mut impl FnMut(&str, &[&str]), names: &NamesModel) {
    let count = names.bases.len().to_string();
    let parts = names
        .parts
        .iter()
        .flat_map(|part| [&*part.text, &*part.numbers]);
    let bases = names.bases.iter().map(String::as_str);
    let words: Vec<&str> = if !names.bases.is_empty() {
        let first = ["mixed", &count].into_iter().chain(bases);
        first.chain([&*names.which]).chain(parts).collect()
    } else if !names.parts.is_empty() {
        ["pattern"].into_iter().chain(parts).collect()
    } else {
        let list = names.list.iter().map(String::as_str);
        ["listed"].into_iter().chain(list).collect()
    };
    put("names", &words);
}

/// Adds a word, in quotation marks if it is empty or has characters other than letters, digits and
/// `+*-_.:`.
fn put_word(text: &mut String, word: &str) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "+*-_.:".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return text.push_str(word);
    }
    text.push('"');
    for c in word.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(text, "\\u{{{:x}}}", c as u32);
            }
            c => text.push(c),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{chain, farm};

    fn of(network: &Network) -> String {
        let model = Model::new(network, Structure::of(network), &mut Diagnostics::new());
        text(&model.unwrap())
    }

    #[test]
    fn words_are_quoted_if_necessary() {
        for (word, written) in [
            ("0+1*4", "0+1*4"),
            ("types::Task", "types::Task"),
            ("", "\"\""),
            ("0 1", "\"0 1\""),
            ("a\"b\\\n", "\"a\\\"b\\\\\\u{a}\""),
        ] {
            let mut text = String::new();
            put_word(&mut text, word);
            assert_eq!(text, written);
        }
    }

    #[test]
    fn the_length_does_not_depend_on_the_number_of_processes() {
        let [small, large] = [10, 10_000].map(|n| of(&chain(n).network()));
        assert!(large.len() < small.len() + 60, "{large}");
        assert!(of(&farm(5_000).network()).len() < 3_000);
    }

    #[test]
    fn a_network_fits_its_own_program() {
        let (small, large) = (farm(3).network(), farm(30).network());
        assert!(missing(&large, &small).is_empty());
        assert!(missing(&small, &large).is_empty());
        assert_eq!(missing(&chain(3).network(), &small).into_iter().count(), 3);
    }
}
