//! Writes a network in the notation, for `graphmap expand --to cpa`.
//!
//! `constructs` reports everything that the notation does not have. `tree` finds the compositions:
//! one for each kind of modules. `links` finds the links of each composition and its intermediate
//! ports, `boxes` the containers, and `text` writes them all. At last the text is read again, and
//! `same` compares the network that it gives with the first one. So a text is never wrong.

mod boxes;
mod constructs;
mod links;
mod refused;
mod same;
mod text;
mod tree;

use crate::format::format;
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostics, Severity};
use graphmap_kpn::network::Verified;
use graphmap_kpn::pipeline::check;
use graphmap_kpn::source::{Source, SourceMap, Span};
use links::Detail;
use refused::Refused;
use std::sync::Arc;
use tree::Tree;

/// Reads a text without included files.
pub(crate) type Read<'a> =
    &'a dyn Fn(&Arc<Source>, &mut SourceMap) -> Result<Declared, Diagnostics>;

/// Returns a network in the notation. `read` reads it again.
///
/// # Errors
/// Returns an error for each construct of the network that the notation does not have.
pub(crate) fn write(network: &Verified, read: Read<'_>) -> Result<String, Diagnostics> {
    let mut refused = Refused::default();
    constructs::check(network, &mut refused);
    let tree = Tree::of(network, &mut refused);
    let containers = boxes::containers(network, &mut refused);
    refused.result()?;
    let mut first = None;
    for detail in [Detail::Short, Detail::Ordered, Detail::Each] {
        let mut refused = Refused::default();
        let links = links::links(network, &tree, detail, &mut refused);
        if refused.is_empty() {
            let text = text::text(network, &tree, &links, &containers);
            if let Some(text) = read_again(&text, network, read, &mut refused) {
                return Ok(text);
            }
        }
        first.get_or_insert(refused);
    }
    first.unwrap_or_default().result()?;
    Ok(String::new())
}

/// Returns a text in its canonical layout, if it gives the network. Reports the differences.
fn read_again(
    text: &str,
    network: &Verified,
    read: Read<'_>,
    refused: &mut Refused,
) -> Option<String> {
    let mut sources = SourceMap::new();
    let source = sources.add("network.cpa", text.to_owned());
    let read = match source {
        Err(_) => {
            refused.construct("texts of more than 4 GiB", Span::NONE);
            return None;
        }
        Ok(source) => {
            let declared = read(&source, &mut sources);
            let read = declared.and_then(|declared| check(declared, &mut Vec::new()));
            read.and_then(|(read, _)| Ok((read, format(&source)?)))
        }
    };
    match read {
        Ok((read, formatted)) => {
            same::compare(network, &read, refused);
            refused.is_empty().then_some(formatted)
        }
        Err(found) => {
            for error in found.iter().filter(|one| one.severity == Severity::Error) {
                let message = format!("the text would have an error: {}", error.message);
                refused.report(
                    message,
                    Span::NONE,
                    "write the network as JSON: `--to json`",
                );
            }
            None
        }
    }
}
