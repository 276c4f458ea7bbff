//! What the compiler says of a project, as findings that point into its graph.
//!
//! Cargo is run with `--message-format=json`; the places in `src/processes/KIND.rs` and
//! `src/wiring.rs` are led back to the kind, and where a port or a type is named, to that.

use crate::codes;
use crate::context::{Model, PortModel};
use crate::project::Project;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::network::{Kind, Network};
use graphmap_kpn::source::Span;
use serde::Deserialize;

#[derive(Deserialize)]
struct CargoLine {
    reason: String,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    message: String,
    level: String,
    code: Option<MessageCode>,
    #[serde(default)]
    spans: Vec<MessageSpan>,
    rendered: Option<String>,
}

#[derive(Deserialize)]
struct MessageCode {
    code: String,
}

#[derive(Deserialize)]
struct MessageSpan {
    file_name: String,
    line_start: usize,
    column_start: usize,
    is_primary: bool,
}

/// Where in a project a message points.
enum Place {
    Function(usize),
    Wiring(Option<usize>),
    Elsewhere,
}

/// The findings of a build, from the lines that `cargo build --message-format=json` wrote to its
/// standard output; lines that are no messages of the compiler are passed over. `model` is what the
/// project's wiring was made from.
pub fn diagnose(project: &Project, network: &Network, model: &Model, lines: &str) -> Diagnostics {
    let wiring = std::fs::read_to_string(project.root.join("src/wiring.rs")).unwrap_or_default();
    let mut findings = Diagnostics::new();
    for line in lines.lines().filter(|line| line.starts_with('{')) {
        let Ok(CargoLine { reason, message }) = serde_json::from_str(line) else {
            continue;
        };
        if let (true, Some(message)) = (reason == "compiler-message", message) {
            let finding = finding(project, network, model, &wiring, message);
            // What is missing is missed at every use.
            let told = |one: &Diagnostic| {
                let same =
                    |other: &Diagnostic| other.code == one.code && other.message == one.message;
                one.code != codes::COMPILER && findings.iter().any(same)
            };
            findings.extend(finding.filter(|one| !told(one)));
        }
    }
    findings
}

fn finding(
    project: &Project,
    network: &Network,
    model: &Model,
    wiring: &str,
    message: Message,
) -> Option<Diagnostic> {
    let error = message.level.starts_with("error");
    if !error && message.level != "warning" {
        return None;
    }
    let span = message.spans.iter().find(|span| span.is_primary);
    if span.is_none() && (!error || message.message.starts_with("aborting due to")) {
        // The count at the end.
        return None;
    }
    let place = span.map_or(Place::Elsewhere, |span| place(model, wiring, span));
    let number = message.code.as_ref().map_or("", |code| code.code.as_str());
    let known = match &place {
        Place::Wiring(Some(kind)) => in_wiring(project, network, model, *kind, number, &message),
        _ => missing_file(network, model, number, &message),
    };
    if let Some(finding) = known {
        return Some(finding);
    }
    let what = match number {
        "" => message.message.clone(),
        number => format!("{} ({number})", message.message),
    };
    let (what, graph) = match place {
        Place::Function(kind) => {
            let name = &model.kinds[kind].name;
            (format!("in the function of `{name}`: {what}"), Some(kind))
        }
        Place::Wiring(kind) => (format!("in the wiring: {what}"), kind),
        Place::Elsewhere => (what, None),
    };
    let mut finding = match error {
        true => Diagnostic::error(codes::COMPILER, what),
        false => Diagnostic::warning(codes::COMPILER, what),
    };
    if let Some(kind) = graph {
        let (span, label) = port_or_kind(network, model, kind, &message.message);
        finding = finding.at(span, label);
    }
    if let Some(span) = span {
        let place = format!(
            "{}:{}:{}",
            span.file_name, span.line_start, span.column_start
        );
        finding = finding.help(format!("see {place}"));
    }
    Some(match message.rendered {
        Some(rendered) => finding.with_note(rendered.trim_end().to_owned()),
        None => finding,
    })
}

/// Which kind a place in generated or user's code belongs to.
fn place(model: &Model, wiring: &str, span: &MessageSpan) -> Place {
    let path = span.file_name.replace('\\', "/");
    if let Some((_, file)) = path.rsplit_once("src/processes/") {
        let stem = file.strip_suffix(".rs").unwrap_or(file);
        let kind = model.kinds.iter().position(|kind| kind.function == stem);
        return kind.map_or(Place::Elsewhere, Place::Function);
    }
    if path != "src/wiring.rs" && !path.ends_with("/src/wiring.rs") {
        return Place::Elsewhere;
    }
    // The nearest line above that names a kind by its type or function.
    let above: Vec<&str> = wiring.lines().take(span.line_start).collect();
    let found = above.iter().rev().find_map(|line| {
        words(line).find_map(|word| {
            let mut kinds = model.kinds.iter();
            kinds.position(|kind| kind.type_name == word || kind.function == word)
        })
    });
    Place::Wiring(found)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
}

/// The words that the compiler quotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The port that a message names, else the kind.
fn port_or_kind(network: &Network, model: &Model, kind: usize, message: &str) -> (Span, String) {
    let (model, kind) = (&model.kinds[kind], kind_of(network, kind));
    let named = quoted(message).find_map(|word| {
        let port = model.ports.iter().position(|port| port.field == word)?;
        Some((
            kind.ports[port].span,
            format!("the port `{}`", model.ports[port].name),
        ))
    });
    named.unwrap_or_else(|| (kind.span, format!("the kind `{}`", model.name)))
}

/// The first port whose tokens are of a type of the project's.
fn port_of_type(network: &Network, model: &Model, ty: &str) -> Option<(Span, String)> {
    model
        .kinds
        .iter()
        .zip(network.kinds.values())
        .find_map(|(shown, kind)| {
            let of_type = |port: &PortModel| {
                port.rust_type.contains("types::") && words(&port.rust_type).any(|word| word == ty)
            };
            let port = shown.ports.iter().position(of_type)?;
            let label = format!("the port `{}` of `{}`", shown.ports[port].name, shown.name);
            Some((kind.ports[port].span, label))
        })
}

fn kind_of(network: &Network, index: usize) -> &Kind {
    // Kinds of the model are those of the network, in its order.
    &network.kinds.values().as_slice()[index]
}

/// What is missing in the user's files shows in the wiring, which names it.
fn in_wiring(
    project: &Project,
    network: &Network,
    model: &Model,
    kind: usize,
    number: &str,
    message: &Message,
) -> Option<Diagnostic> {
    let words: Vec<&str> = quoted(&message.message).collect();
    if matches!(number, "E0412" | "E0425" | "E0433")
        && let Some(ty) = model
            .types
            .iter()
            .find(|ty| words.contains(&ty.name.as_str()))
        && message.message.contains("type")
    {
        let text = format!("src/types.rs does not define the type `{}`", ty.name);
        let (span, label) = port_of_type(network, model, &ty.name)
            .unwrap_or_else(|| port_or_kind(network, model, kind, ""));
        return Some(
            Diagnostic::error(codes::TYPE_MISSING, text)
                .at(span, label)
                .help(format!(
                    "define it in {}",
                    project.root.join("src/types.rs").display()
                )),
        );
    }
    // An import that is missing, or a function that is there but private.
    let function = matches!(number, "E0425" | "E0432" | "E0433" | "E0603").then(|| {
        let mut kinds = model.kinds.iter();
        kinds.position(|kind| words.contains(&kind.function.as_str()))
    })??;
    Some(missing_function(
        network,
        model,
        function,
        number == "E0603",
    ))
}

/// A file of functions that is not there.
fn missing_file(
    network: &Network,
    model: &Model,
    number: &str,
    message: &Message,
) -> Option<Diagnostic> {
    let module = (number == "E0583").then(|| quoted(&message.message).next())??;
    let kind = model
        .kinds
        .iter()
        .position(|kind| kind.function == module)?;
    Some(missing_function(network, model, kind, false))
}

fn missing_function(network: &Network, model: &Model, kind: usize, private: bool) -> Diagnostic {
    let (span, kind) = (kind_of(network, kind).span, &model.kinds[kind]);
    let (name, function, ports) = (&kind.name, &kind.function, &kind.type_name);
    let what = if private {
        "cannot be seen: it is not `pub`"
    } else {
        "is missing"
    };
    let message = format!("the function of the kind `{name}` {what}");
    Diagnostic::error(codes::FUNCTION_MISSING, message)
        .at(span, "a process that runs it")
        .help(format!(
            "src/processes/{function}.rs needs `pub async fn {function}(ports: {ports})`"
        ))
}
