//! What the compiler says of a project, led back to the graph.
//!
//! A message about `src/processes/KIND.rs` or `src/wiring.rs` has to do with a kind, often with one
//! port; where it says that a function or a type is missing, it is told in the words of the graph.

use crate::codes;
use crate::context::{Model, PortModel};
use crate::structure::Structure;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics, Label};
use graphmap_kpn::network::{Kind, Network};
use graphmap_kpn::source::Span;
use std::path::Path;

/// Explains the compiler's messages about the project of one network.
pub struct Explainer<'a> {
    network: &'a Network,
    /// `None` where wiring could not have been made in the first place.
    model: Option<Model>,
}

impl<'a> Explainer<'a> {
    /// For the project whose wiring was made from this network.
    pub fn new(network: &'a Network) -> Explainer<'a> {
        let structure = Structure::of(network);
        let model = Model::new(network, structure, &mut Diagnostics::new()).ok();
        Explainer { network, model }
    }

    /// Adds to a finding what the graph has to do with it. `diagnostic` has the compiler's message,
    /// with its code at the end where it has one (`no field .. (E0609)`); `file` is where it points,
    /// `pointed` what stands there.
    pub fn explain(&self, diagnostic: Diagnostic, file: &Path, pointed: &str) -> Diagnostic {
        let Some(model) = &self.model else {
            return diagnostic;
        };
        let stem = file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or("");
        let folder = file.parent().unwrap_or(Path::new(""));
        let (text, number) = with_number(&diagnostic.message);
        if folder.ends_with("src/processes") && stem != "mod" {
            let Some(kind) = model.kinds.iter().position(|kind| kind.function == stem) else {
                return diagnostic;
            };
            let (span, label) = self.port_or_kind(model, kind, text);
            return diagnostic.also(span, label);
        }
        if !(file.ends_with("src/wiring.rs") || file.ends_with("src/processes/mod.rs")) {
            return diagnostic;
        }
        // A type that is gone, a function or its file that is missing, or one that is private.
        let quoted: Vec<&str> = quoted(text).collect();
        if matches!(number, "E0412" | "E0425" | "E0433")
            && text.contains("type")
            && let Some(ty) = model.types.iter().find(|ty| quoted.contains(&&*ty.name))
        {
            let place = self.port_of_type(model, &ty.name);
            let help = "define it in src/types.rs, which is yours".to_owned();
            let message = format!("src/types.rs does not define the type `{}`", ty.name);
            return retold(diagnostic, (codes::TYPE_MISSING, message), place, help);
        }
        if matches!(number, "E0425" | "E0432" | "E0433" | "E0583" | "E0603")
            && let Some(at) = model
                .kinds
                .iter()
                .position(|kind| quoted.contains(&&*kind.function))
        {
            let kind = &model.kinds[at];
            let what = match number {
                "E0603" => "cannot be seen: it is not `pub`",
                _ => "is missing",
            };
            let message = format!("the function of the kind `{}` {what}", kind.name);
            let (function, ports) = (&kind.function, &kind.type_name);
            let help = format!(
                "src/processes/{function}.rs needs `pub async fn {function}(ports: {ports})`"
            );
            let place = Some((self.kind(at).span, "a process that runs it".to_owned()));
            return retold(diagnostic, (codes::FUNCTION_MISSING, message), place, help);
        }
        // Anything else that names a kind: a function that takes something else than its ports.
        let named = [pointed, text].into_iter().find_map(|text| {
            words(text).find_map(|word| {
                let mut kinds = model.kinds.iter();
                kinds.position(|kind| kind.type_name == word || kind.function == word)
            })
        });
        match named {
            Some(kind) => {
                let (span, label) = self.port_or_kind(model, kind, text);
                diagnostic.also(span, label)
            }
            None => diagnostic,
        }
    }

    fn kind(&self, index: usize) -> &Kind {
        // Kinds of the model are those of the network, in its order.
        &self.network.kinds.values().as_slice()[index]
    }

    /// The port that a message names, else the kind.
    fn port_or_kind(&self, model: &Model, index: usize, message: &str) -> (Span, String) {
        let (shown, kind) = (&model.kinds[index], self.kind(index));
        let named = quoted(message).find_map(|word| {
            let port = shown.ports.iter().position(|port| port.field == word)?;
            let label = format!("the port `{}` of `{}`", shown.ports[port].name, shown.name);
            Some((kind.ports[port].span, label))
        });
        named.unwrap_or_else(|| {
            let label = format!("the ports of `{}` are what is drawn here", shown.name);
            (kind.span, label)
        })
    }

    /// The first port whose tokens are of a type of the project's.
    fn port_of_type(&self, model: &Model, ty: &str) -> Option<(Span, String)> {
        model.kinds.iter().enumerate().find_map(|(index, shown)| {
            let of_type = |port: &PortModel| {
                port.rust_type.contains("types::") && words(&port.rust_type).any(|word| word == ty)
            };
            let port = shown.ports.iter().position(of_type)?;
            let label = format!("the port `{}` of `{}`", shown.ports[port].name, shown.name);
            Some((self.kind(index).ports[port].span, label))
        })
    }
}

/// A finding in other words, about the graph first and the code second.
fn retold(
    mut diagnostic: Diagnostic,
    (code, message): (graphmap_kpn::diagnostic::Code, String),
    place: Option<(Span, String)>,
    help: String,
) -> Diagnostic {
    let said = std::mem::replace(&mut diagnostic.message, message);
    diagnostic.code = code;
    // What the compiler suggests is to change generated code.
    diagnostic.help = vec![help];
    diagnostic.notes = vec![format!("the compiler says: {said}")];
    if let Some((span, text)) = place.filter(|(span, _)| !span.is_none()) {
        let code = diagnostic.primary.replace(Label { span, text });
        diagnostic.secondary = code.into_iter().collect();
    }
    diagnostic
}

/// A message and the compiler's code at its end.
fn with_number(message: &str) -> (&str, &str) {
    let parts = message.rsplit_once(" (").and_then(|(text, number)| {
        let number = number.strip_suffix(')')?;
        number.starts_with('E').then_some((text, number))
    });
    parts.unwrap_or((message, ""))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
}

/// The words that the compiler quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
