//! Explains compiler messages about a project by the graph.
//!
//! A message about `src/processes/KIND.rs` or `src/wiring.rs` concerns a kind, and often one port.
//! A missing function or type, or a function that does not fit its kind, is reported in terms of
//! the graph, at a position that the user can fix. A type that the compiler rejects in generated
//! code is reported at the `type=` that names it.

use crate::codes;
use crate::context::{Model, PortModel};
use crate::identifier::words_of;
use crate::structure::Structure;
use crate::unlisted::unlisted;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics, Label};
use graphmap_kpn::names::Symbol;
use graphmap_kpn::network::{Kind, Network};
use graphmap_kpn::source::Span;
use std::ops::Range;
use std::path::Path;

pub use crate::pointed::Pointed;

/// Path of the modules of the functions in the wiring.
const FUNCTIONS: &str = "crate::processes::";

/// Returns the function that the wiring passes to the runtime at a position: the first one that the
/// text names at or after the byte offset `at`. An error at this position is an error of the
/// function, which the user must fix.
///
/// Returns `None` if `at` is neither at a path `crate::processes::..` nor after `= net.` in its
/// line. Also returns `None` if no function follows, or if the position is not in the text.
pub fn handed_function(wiring: &str, at: usize) -> Option<&str> {
    let (before, from_here) = (wiring.get(..at)?, wiring.get(at..)?);
    let line = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
    if !(line.contains("= net.") || from_here.starts_with(FUNCTIONS)) {
        return None;
    }
    let (_, path) = from_here.split_once(FUNCTIONS)?;
    words_of(path).next()
}

/// Returns the range of bytes of a function's declaration in the text of its file, or `None` if
/// there is no declaration. It extends from `pub` or, without it, from `fn` to the body or the end
/// of the line. A declaration after `//` in its line is ignored.
pub fn declaration(text: &str, function: &str) -> Option<Range<usize>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '#';
    for (at, _) in text.match_indices("fn ") {
        let (before, name) = (&text[..at], text[at + 3..].trim_start());
        let declared = name.strip_prefix(function);
        let Some(rest) = declared.filter(|rest| !rest.starts_with(is_part)) else {
            continue;
        };
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        if before.ends_with(is_part) || before[line..].contains("//") {
            continue;
        }
        let start = line + before[line..].find("pub").unwrap_or(at - line);
        let start_of_rest = text.len() - rest.len();
        let end = rest.find(['{', '\n']).unwrap_or(rest.len());
        return Some(start..start_of_rest + rest[..end].trim_end().len());
    }
    None
}

/// Maximum number of ports that are shown with a message.
const MOST_PORTS: usize = 4;

/// Explains the compiler's messages about the project of one network.
pub struct Explainer<'a> {
    network: &'a Network,
    /// `None` if wiring cannot be made from the network.
    model: Option<Model>,
}

impl<'a> Explainer<'a> {
    /// Creates an explainer for the project whose wiring was made from `network`. If no wiring can
    /// be made from `network`, the explainer returns all messages unchanged.
    pub fn new(network: &'a Network) -> Explainer<'a> {
        let structure = Structure::of(network);
        let model = Model::new(network, structure, &mut Diagnostics::new()).ok();
        Explainer { network, model }
    }

    /// Returns the diagnostic with the parts of the graph that a compiler message concerns.
    /// Replaces the message, the code and the help if the graph explains the error better. Returns
    /// it unchanged if the graph has no part in it, or if no wiring can be made from the network.
    ///
    /// `diagnostic` contains the message, which ends with the compiler's code if it has one (`no
    /// field .. (E0609)`). `file` and `at` are its position.
    pub fn explain(&self, diagnostic: Diagnostic, file: &Path, at: &Pointed<'_>) -> Diagnostic {
        let Some(model) = &self.model else {
            return diagnostic;
        };
        let pointed = at.words();
        let stem = file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or("");
        let folder = file.parent().unwrap_or(Path::new(""));
        let (text, number) = with_number(&diagnostic.message);
        // The trait `Payload` always exists, so this message is about the derive.
        if text.contains("find derive macro `Payload`")
            || text.contains("find `Payload` in `graphmap_runtime`")
        {
            let mut derive = diagnostic;
            derive.help = vec![
                "add `features = [\"derive\"]` to `graphmap-runtime` in Cargo.toml".to_owned(),
            ];
            return derive;
        }
        if folder.ends_with("src/processes") && stem != "mod" {
            let Some(kind) = model.kinds.iter().position(|kind| kind.function == stem) else {
                return diagnostic;
            };
            if let Some(missing) = self.missing_type(model, &diagnostic) {
                return missing;
            }
            if let Some(misfit) = self.misfit(model, kind, &diagnostic, pointed) {
                return misfit;
            }
            let diagnostic = awaited(diagnostic, pointed);
            return self.with_ports(model, kind, diagnostic, at);
        }
        if pointed.contains("payload!")
            && let Some(unlisted) = unlisted(&diagnostic, text, number, at)
        {
            return unlisted;
        }
        if !(file.ends_with("src/wiring.rs") || file.ends_with("src/processes/mod.rs")) {
            return diagnostic;
        }
        if let Some(missing) = self.missing_type(model, &diagnostic) {
            return missing;
        }
        // A function, or its file, is missing or private.
        let quoted: Vec<&str> = quoted(text).collect();
        if matches!(number, "E0425" | "E0432" | "E0433" | "E0583" | "E0603")
            && let Some(at) = model
                .kinds
                .iter()
                .position(|kind| quoted.contains(&&*kind.function))
        {
            let kind = &model.kinds[at];
            let what = match number {
                "E0603" => "is not `pub`",
                _ => "is missing",
            };
            let message = format!("the function of the kind `{}` {what}", kind.name);
            let (function, ports) = (&kind.function, &kind.type_name);
            let help = format!(
                "add `pub async fn {function}(ports: {ports})` to src/processes/{function}.rs"
            );
            let position = Some((self.kind(at).span, "a process of the kind".to_owned()));
            return rephrased(
                diagnostic,
                (codes::FUNCTION_MISSING, message),
                position,
                help,
            );
        }
        if file.ends_with("src/wiring.rs")
            && let Some(refused) = self.refused_type(model, &diagnostic, at)
        {
            return refused;
        }
        // Other messages that name a kind, such as a function with other parameters than its ports.
        let named = [pointed, text].into_iter().find_map(|text| {
            words_of(text).find_map(|word| {
                let mut kinds = model.kinds.iter();
                kinds.position(|kind| kind.type_name == word || kind.function == word)
            })
        });
        // The compiler can point at the parenthesis before the function that does not fit.
        let named = named.or_else(|| {
            let handed = handed_function(at.text, at.range.start)?;
            let mut kinds = model.kinds.iter();
            kinds.position(|kind| kind.function == handed)
        });
        match named {
            Some(kind) => self.with_ports(model, kind, diagnostic, at),
            None => diagnostic,
        }
    }

    /// Reports a type that the compiler rejects in the wiring. The position is where the graph
    /// names the type, or requires a trait that the type lacks. The type is the longest type of a
    /// port that the code at the position contains. Without one, it is the type that the message
    /// quotes. Returns `None` if there is no such type, or if the graph has no position for it.
    fn refused_type(
        &self,
        model: &Model,
        diagnostic: &Diagnostic,
        at: &Pointed<'_>,
    ) -> Option<Diagnostic> {
        let (text, number) = with_number(&diagnostic.message);
        let types = model.kinds.iter().zip(self.network.kinds.values());
        let types = types.flat_map(|(shown, kind)| shown.ports.iter().zip(&kind.ports));
        let bound = quoted(text).next().and_then(|bound| bound.split_once(": "));
        // The compiler shortens paths.
        let is_bound = |rust: &str| bound.is_some_and(|(ty, _)| short(ty) == short(rust));
        let types = types.map(|(shown, port)| (shown.rust_type.as_str(), port.ty));
        let types: Vec<_> = types.filter(|(rust, _)| !rust.is_empty()).collect();
        // A longer type can contain shorter ones.
        let pointed = types.iter().filter(|(rust, _)| at.is_in(rust));
        let pointed = pointed.max_by_key(|(rust, _)| rust.len());
        let (rust, ty) = *pointed.or_else(|| types.iter().find(|(rust, _)| is_bound(rust)))?;
        let name = ty.map_or(crate::payload::UNTYPED, |ty| self.network.name(ty));
        let (position, message, help) = match (number, bound) {
            ("E0412" | "E0425" | "E0432" | "E0433", _) => (
                None,
                format!("the type `{name}` does not exist"),
                "use a type of Rust, of a crate in Cargo.toml, or of the project, such as `u64` or \
                 `crate::shapes::Edge`",
            ),
            (_, Some((_, "Default" | "std::default::Default"))) => (
                self.filled(ty),
                format!(
                    "`{name}` does not implement `Default`, which creates the `initial=` tokens"
                ),
                "derive or implement `Default` for it, or remove `initial=`",
            ),
            _ => (
                None,
                format!("the wiring does not compile with the type `{name}`"),
                "change `type=`, or the definition of the type",
            ),
        };
        let stated = ty.and_then(|ty| self.network.types.get(&ty)).copied();
        let position = position.or(stated.map(|span| (span, "used here".to_owned())));
        let position =
            position.or_else(|| self.port_of_type(model, rust.trim_start_matches("types::")));
        Some(rephrased(
            diagnostic.clone(),
            (diagnostic.code, message),
            Some(position?),
            help.to_owned(),
        ))
    }

    /// Returns the position of the first channel that has the type `ty` and initial tokens, and a
    /// label for it. Returns `None` if there is no such channel.
    fn filled(&self, ty: Option<Symbol>) -> Option<(Span, String)> {
        let mut channels = self.network.channels.values();
        let channel = channels
            .find(|channel| channel.ty == ty && self.network.terms[channel.terms].initial > 0)?;
        Some((channel.span, "this channel has `initial=`".to_owned()))
    }

    /// Reports a type of the project that `types.rs` does not define, with the line that defines
    /// it. The report is the same for each use of the type. Returns `None` for all other messages.
    fn missing_type(&self, model: &Model, diagnostic: &Diagnostic) -> Option<Diagnostic> {
        let (text, number) = with_number(&diagnostic.message);
        if !matches!(number, "E0412" | "E0425" | "E0432" | "E0433") {
            return None;
        }
        let mut quoted = quoted(text);
        let what = quoted.next()?;
        let name = match what.strip_prefix("crate::types::") {
            Some(name) => name,
            None => quoted
                .find(|module| module.ends_with("types"))
                .and(Some(what))?,
        };
        let ty = model.types.iter().find(|ty| ty.name == name)?;
        let position = self.port_of_type(model, name);
        let help = format!(
            "add `{}` to src/types.rs, or your own definition",
            ty.stub()
        );
        let message = format!("src/types.rs does not define the type `{name}`");
        let mut reported = rephrased(
            diagnostic.clone(),
            (codes::TYPE_MISSING, message),
            position,
            help,
        );
        // The positions in the wiring do not help the user.
        reported.secondary.clear();
        Some(reported)
    }

    /// Reports a function that does not fit its kind, at the function. `kind` is the index of the
    /// kind, `pointed` the code at the position of the message. Returns `None` if `pointed` does
    /// not declare the function, and for messages about other errors.
    fn misfit(
        &self,
        model: &Model,
        kind: usize,
        diagnostic: &Diagnostic,
        pointed: &str,
    ) -> Option<Diagnostic> {
        let shown = &model.kinds[kind];
        declaration(pointed, &shown.function)?;
        let (text, number) = with_number(&diagnostic.message);
        let function = format!("the function of the kind `{}`", shown.name);
        let bound = quoted(text).next().and_then(|bound| bound.split_once(": "));
        let (what, ends) = match bound {
            _ if text.ends_with("is not a future") => (format!("{function} is not `async`"), false),
            Some((ty, "Outcome" | "Outcome<_>")) => (format!("{function} returns `{ty}`"), true),
            Some((ty, "std::error::Error")) if implements_outcome(diagnostic) => (
                format!("{function} returns the error `{ty}`, which does not implement `Error`"),
                true,
            ),
            Some((_, "Ports")) => (
                format!("{function} has other parameters than its ports"),
                false,
            ),
            _ if matches!(number, "E0593" | "E0631") => (
                format!("{function} has other parameters than its ports"),
                false,
            ),
            _ => return None,
        };
        let mut reported = diagnostic.clone();
        let original = std::mem::replace(&mut reported.message, what);
        reported.code = codes::FUNCTION_MISFIT;
        reported.help = vec![format!(
            "declare it as `pub async fn {}(ports: {})`",
            shown.function, shown.type_name
        )];
        if ends {
            let either = "return nothing, or `Result<(), E>`, whose error ends the run";
            reported.help = vec![either.to_owned()];
        }
        reported.notes = vec![format!("message of the compiler: {original}")];
        if let Some(primary) = &mut reported.primary {
            primary.text = String::new();
        }
        reported.secondary.clear();
        let label = "a process of the kind".to_owned();
        Some(reported.also(self.kind(kind).span, label))
    }

    fn kind(&self, index: usize) -> &Kind {
        // The kinds of the model are the kinds of the network in the same order.
        &self.network.kinds.values().as_slice()[index]
    }

    /// Adds the port that a message or its line names. If the message names the struct of the
    /// ports, adds its first four ports. Otherwise, or if the struct has no ports, adds a process
    /// of the kind. `index` is the index of the kind in the model.
    fn with_ports(
        &self,
        model: &Model,
        index: usize,
        diagnostic: Diagnostic,
        at: &Pointed<'_>,
    ) -> Diagnostic {
        let message = diagnostic.message.clone();
        let (shown, kind) = (&model.kinds[index], self.kind(index));
        let label = |port: usize| {
            let port = &shown.ports[port];
            let (name, ty) = (&port.name, &port.rust_type);
            let carries = match ty.is_empty() {
                true => String::new(),
                false => format!(", which carries `{}`", ty.trim_start_matches("types::")),
            };
            format!("the port `{name}` of `{}`{carries}", shown.name)
        };
        let of_field = |word: &str| shown.ports.iter().position(|port| port.field == word);
        let named = quoted(&message).find_map(of_field).or_else(|| {
            let (lines, _) = at.lines();
            let parts = lines.split('.').skip(1);
            parts
                .filter_map(|part| words_of(part).next())
                .find_map(of_field)
        });
        if let Some(port) = named {
            return diagnostic.also(kind.ports[port].span, label(port));
        }
        let of_struct = |word: &str| word.rsplit("::").next() == Some(&*shown.type_name);
        let all = match quoted(&message).any(of_struct) {
            true => shown.ports.len().min(MOST_PORTS),
            false => 0,
        };
        if all == 0 {
            return diagnostic.also(kind.span, "a process of the kind");
        }
        (0..all).fold(diagnostic, |diagnostic, port| {
            diagnostic.also(kind.ports[port].span, label(port))
        })
    }

    /// Returns the position of the first port whose tokens contain the project's type `ty`, and a
    /// label for it. Returns `None` if there is no such port.
    fn port_of_type(&self, model: &Model, ty: &str) -> Option<(Span, String)> {
        model.kinds.iter().enumerate().find_map(|(index, shown)| {
            let of_type = |port: &PortModel| {
                port.rust_type.contains("types::")
                    && words_of(&port.rust_type).any(|word| word == ty)
            };
            let port = shown.ports.iter().position(of_type)?;
            let label = format!("the port `{}` of `{}`", shown.ports[port].name, shown.name);
            Some((self.kind(index).ports[port].span, label))
        })
    }
}

/// Returns true if a note of the message says that a bound is required to implement `Outcome`. This
/// is the bound on the return type of a function.
fn implements_outcome(diagnostic: &Diagnostic) -> bool {
    let mut notes = diagnostic.notes.iter();
    notes.any(|note| note.contains("to implement `Outcome"))
}

/// Returns a type without the paths of its names: `Vec<Task>` for `Vec<types::Task>`.
fn short(ty: &str) -> String {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut short = String::new();
    for piece in ty.split("::") {
        let kept = short.trim_end_matches(part).len();
        short.truncate(kept);
        short += piece;
    }
    short
}

/// Replaces the help if the message shows a common error, such as a missing `.await` or feature.
/// Otherwise returns the diagnostic unchanged. `pointed` is the code at its position.
fn awaited(mut diagnostic: Diagnostic, pointed: &str) -> Diagnostic {
    let labels = diagnostic.primary.iter().chain(&diagnostic.secondary);
    let labels = labels.map(|label| &label.text);
    let texts = labels.chain(&diagnostic.notes).chain([&diagnostic.message]);
    let texts: Vec<&String> = texts.collect();
    let about = |what: &str| texts.iter().any(|text| text.contains(what));
    // If another name follows in the quotes, `mpi` exists and that name does not. The runtime is
    // often imported as `rt`.
    let without_ranks = about("import `graphmap_runtime::mpi`")
        || ["graphmap_runtime", "rt"]
            .iter()
            .any(|rt| about(&format!("find `mpi` in `{rt}`")));
    let help = if without_ranks && (about("(E0432)") || about("(E0433)")) {
        "add `features = [\"mpi\"]` to `graphmap-runtime` in Cargo.toml: ranks need the feature \
         `mpi`"
            .to_owned()
    } else if about("(E0425)") && about("in module `glue`") {
        "write the function in `src/glue.rs`, such as `pub fn begin() {}`".to_owned()
    } else if about("(unused_must_use)") {
        // The compiler itself advises to ignore the value.
        if about("a write does nothing") {
            "await it: `.write(..).await`".to_owned()
        } else if about("a read does nothing") {
            "await it: `.read().await`".to_owned()
        } else if about("awaited") || about("`.await`") {
            "add `.await`".to_owned()
        } else if about("`Result`") && pointed.contains(".write(") {
            "a write fails after its reader has left: add `?` to end the process then, or `let _ \
             =` to ignore it"
                .to_owned()
        } else {
            return diagnostic;
        }
    } else if about("`select!` cannot wait for") {
        // `select!` reads the port itself.
        "name the port itself, without a read or a write: `token = p.in_ => ..`".to_owned()
    } else if about("Read<") {
        "await the read: `.read().await`".to_owned()
    } else if about("Write<") {
        "await the write: `.write(..).await`".to_owned()
    } else if about("for struct `Me`") && about("field, not a method") {
        format!("remove the parentheses: `me().{pointed}` is a field")
    } else {
        return diagnostic;
    };
    diagnostic.help = vec![help];
    diagnostic
}

/// Returns a diagnostic in terms of the graph. Replaces the code, the message and the help, and
/// keeps only the compiler's message as a note. `position` becomes the primary label, and the
/// position in the code becomes the only secondary one. Without `position`, the labels do not
/// change.
fn rephrased(
    mut diagnostic: Diagnostic,
    (code, message): (graphmap_kpn::diagnostic::Code, String),
    position: Option<(Span, String)>,
    help: String,
) -> Diagnostic {
    let original = std::mem::replace(&mut diagnostic.message, message);
    diagnostic.code = code;
    // Discards the compiler's help, which is to change generated code.
    diagnostic.help = vec![help];
    diagnostic.notes = vec![format!("message of the compiler: {original}")];
    if let Some((span, text)) = position.filter(|(span, _)| !span.is_none()) {
        let code = diagnostic.primary.replace(Label { span, text });
        diagnostic.secondary = code.into_iter().collect();
    }
    diagnostic
}

/// Splits a message into its text and the compiler's error code at its end, without parentheses.
/// The code is empty if the message does not end with one, such as `(E0609)`. The name of a lint
/// is not a code.
fn with_number(message: &str) -> (&str, &str) {
    let parts = message.rsplit_once(" (").and_then(|(text, number)| {
        let number = number.strip_suffix(')')?;
        number.starts_with('E').then_some((text, number))
    });
    parts.unwrap_or((message, ""))
}

/// Yields the parts of a message between backquotes, in order.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
