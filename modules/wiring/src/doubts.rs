//! Finds the user's own files that may not fit a changed graph.

use crate::changes::Change;
use crate::codes;
use crate::context::{KindModel, Model};
use crate::identifier::words_of;
use crate::layout;
use crate::signature::Signature;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::Files;
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::network::{Kind, Network};
use std::path::{Path, PathBuf};

/// A possible error in a file of the user. Only the compiler can decide: a function can accept a
/// port with a changed type.
#[derive(Clone, Debug)]
pub struct Doubt {
    /// Warning to report if the compiler rejects the file.
    pub if_rejected: Diagnostic,
    /// Warning to report if the compiler is not run.
    pub if_unchecked: Diagnostic,
    /// The file.
    pub file: PathBuf,
    /// Whether to report it even if the compiler accepts the file. A function that does not name a
    /// new port compiles and ignores the port.
    pub certain: bool,
}

/// Reports stubs and files without a kind, and returns possible errors in other files of the user.
/// `before` has the signatures that the functions were last known to fit. `files` are the files
/// that are being written.
pub(crate) fn compare(
    root: &Path,
    network: &Network,
    model: &Model,
    before: &[Signature],
    files: &Files,
    diagnostics: &mut Diagnostics,
) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let mut stubs = Vec::new();
    for (now, kind) in model.kinds.iter().zip(network.kinds.values()) {
        let file = layout::function_file(root, &now.function);
        // A file that does not exist is in `files` as a stub.
        let stub = files.get(&file).map(|file| &*file.content);
        let text = input::text(&file, Limit::SOURCE).unwrap_or_default();
        if !file.exists() || Some(text.as_bytes()) == stub {
            stubs.push((now, kind, file));
            continue;
        }
        let names = |field: &str| words_of(&text).any(|word| word == field);
        if let Some(old) = before.iter().find(|old| old.kind == now.name) {
            doubts.extend(old.changes(now).iter().map(|change| {
                let certain = match change {
                    Change::New(port) => !names(&now.ports[*port].field),
                    Change::Gone(_) | Change::Changed(..) => false,
                };
                let warning = |certain| outdated(now, kind, change, &file, certain);
                Doubt {
                    if_rejected: warning(true),
                    if_unchecked: warning(certain),
                    file: file.clone(),
                    certain,
                }
            }));
        }
    }
    diagnostics.extend(stub_functions(&stubs));
    diagnostics.extend(functions_without_kind(root, model, &stubs));
    missing_types(root, network, model, &mut doubts);
    doubts
}

/// Returns one warning for all Rust files in the folder of the functions whose name is not the
/// function of a kind, or `None` if there are no such files or the folder of the functions cannot
/// be read.
fn functions_without_kind(
    root: &Path,
    model: &Model,
    stubs: &[(&KindModel, &Kind, PathBuf)],
) -> Option<Diagnostic> {
    let folder = root.join("src/processes");
    let entries = std::fs::read_dir(&folder).ok()?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| {
        let rust = path.extension().is_some_and(|extension| extension == "rs");
        let stem = stem(path);
        rust && stem != "mod" && model.kinds.iter().all(|kind| kind.function != stem)
    });
    paths.sort();
    let shown = listed(paths.iter().map(|path| path.display().to_string()));
    let message = match paths.len() {
        0 => return None,
        1 => format!("{shown} is not part of the program: no kind has this name"),
        _ => format!("{shown} are not part of the program: no kinds have these names"),
    };
    let mut diagnostic = Diagnostic::warning(codes::FUNCTION_WITHOUT_KIND, message)
        .help("delete the file if you do not need it, or move it out of the folder");
    // One kind was removed and one was added, so it may have been renamed.
    if let ([_], [(new, _, file)]) = (&paths[..], stubs) {
        return Some(diagnostic.help(format!(
            "if the kind was renamed to `{}`, move the file to {}, replacing the stub, and rename \
             its function to `{}` and the type of its ports to `{}`",
            new.name,
            file.display(),
            new.function,
            new.type_name
        )));
    }
    for path in paths.iter().take(MOST_LISTED) {
        let names = model.kinds.iter().map(|kind| kind.function.as_str());
        if let Some(near) = graphmap_kpn::nearest::nearest(stem(path), names) {
            let name = stem(path);
            diagnostic = diagnostic.help(format!("did you rename `{name}` to `{near}`?"));
        }
    }
    Some(diagnostic)
}

fn missing_types(root: &Path, network: &Network, model: &Model, doubts: &mut Vec<Doubt>) {
    let path = layout::types_file(root);
    let Ok(text) = input::text(&path, Limit::SOURCE) else {
        return;
    };
    for ty in &model.types {
        if words_of(&text).any(|word| word == ty.name) {
            continue;
        }
        let of = |name: &str| crate::payload::parse(name).is_ok_and(|p| p.own.contains(&ty.name));
        let port = network.kinds.values().flat_map(|kind| &kind.ports);
        let mut ports = port.filter(|port| match port.ty {
            Some(symbol) => of(network.name(symbol)),
            None => ty.untyped,
        });
        let span = ports
            .next()
            .map_or(graphmap_kpn::source::Span::NONE, |port| port.span);
        let warning = |what: &str| {
            let message = format!("{} does not {what} the type `{}`", path.display(), ty.name);
            Diagnostic::warning(codes::TYPE_MISSING, message)
                .at(span, "tokens of this type pass here")
                .help(format!("add `{}`, or your own definition", ty.stub()))
        };
        doubts.push(Doubt {
            if_rejected: warning("define"),
            // A glob import can define the type.
            if_unchecked: warning("name"),
            file: path.clone(),
            certain: false,
        });
    }
}

/// Maximum number of names in a list.
const MOST_LISTED: usize = 8;

/// Returns `a`, `a and b`, or `a, b and c`. Names after the eighth are only counted: `a, b, .. and
/// 7 more`. Without names, the text is empty.
fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(MOST_LISTED);
    let mut names: Vec<String> = names.take(MOST_LISTED).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    match names.pop() {
        Some(last) if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        last => last.unwrap_or_default(),
    }
}

fn stem(path: &Path) -> &str {
    path.file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or("mod")
}

/// Returns one warning for all functions that are still stubs, because a program of stubs produces
/// no results. Returns `None` if there are none.
fn stub_functions(stubs: &[(&KindModel, &Kind, PathBuf)]) -> Option<Diagnostic> {
    let (_, first, _) = stubs.first()?;
    let names = listed(stubs.iter().map(|(kind, ..)| format!("`{}`", kind.name)));
    let message = match stubs.len() {
        1 => format!("the function of the kind {names} is a stub"),
        _ => format!("the functions of the kinds {names} are stubs"),
    };
    let files = listed(stubs.iter().map(|(_, _, file)| file.display().to_string()));
    let mut diagnostic = Diagnostic::warning(codes::STUBS, message)
        .at(first.span, "the first process of the kind")
        .with_note("a stub reads all tokens and writes none")
        .help(format!("write the function in {files}"));
    for (_, kind, _) in stubs.iter().take(MOST_LISTED).skip(1) {
        diagnostic = diagnostic.also(kind.span, "a process of another kind");
    }
    Some(diagnostic)
}

fn outdated(
    now: &KindModel,
    kind: &Kind,
    change: &Change,
    file: &Path,
    certain: bool,
) -> Diagnostic {
    let function = &now.function;
    let fits = match certain {
        true => "does not match",
        false => "may not match",
    };
    let diagnostic = |what: String, span, label: &str| {
        let message = format!("the function `{function}` {fits} its kind: {what}");
        Diagnostic::warning(codes::FUNCTION_OUTDATED, message)
            .at(span, label)
            .help(format!("change {}", file.display()))
    };
    match change {
        Change::New(port) => {
            let (new, span) = (&now.ports[*port], kind.ports[*port].span);
            let what = format!(
                "the port `{}` was added (`{}` of `{}`, field `{}`)",
                new.name, new.word, new.rust_type, new.field
            );
            diagnostic(what, span, "used here")
        }
        Change::Gone(old) => {
            let what = format!("the port `{}` was removed", old.name);
            let mut gone = diagnostic(what, kind.span, "a process of the kind");
            let names = now.ports.iter().map(|port| port.name.as_str());
            if let Some(near) = graphmap_kpn::nearest::nearest(&old.name, names) {
                gone = gone.help(format!("did you rename it to `{near}`?"));
            }
            gone
        }
        Change::Changed(port, old) => {
            let (new, span) = (&now.ports[*port], kind.ports[*port].span);
            let mut what = Vec::new();
            if old.word != new.word {
                what.push(format!("changed from `{}` to `{}`", old.word, new.word));
            }
            if old.rust_type != new.rust_type {
                what.push(format!(
                    "changed its type from `{}` to `{}`",
                    old.rust_type, new.rust_type
                ));
            }
            let what = format!("the port `{}` {}", new.name, what.join(", "));
            diagnostic(what, span, "used here")
        }
    }
}
