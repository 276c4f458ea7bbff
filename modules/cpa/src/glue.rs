//! Glue functions and environment variables of all files.

use crate::architecture::{defined_twice, like};
use crate::codes;
use crate::syntax::{File, Name};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::Span;
use rustc_hash::FxHashMap;

/// Glue functions, each with what a project does in its place.
const FUNCTIONS: [(&str, &str); 8] = [
    (
        "maininit",
        "call it in `main` of the project, before the network runs",
    ),
    (
        "maincleanup",
        "call it in `main` of the project, after the network has run",
    ),
    ("mapinit", "map with rules, or with a strategy of your own"),
    (
        "mapfinalize",
        "map with rules, or with a strategy of your own",
    ),
    ("getparams", "call it in the functions of the processes"),
    ("freeparams", "call it in the functions of the processes"),
    ("permutecommunicator", "use `--permute kind:NAME=ORDER`"),
    ("permutecommunicators", "use `--permute kind:NAME=ORDER`"),
];

/// Warns of glue functions, which are in C and are not called. Reports unknown ones.
pub(crate) fn report(files: &[File], diagnostics: &mut Diagnostics) {
    for (name, _) in files.iter().flat_map(|file| &file.glue).flatten() {
        if name.text == "genvcondition" {
            continue;
        }
        let known = FUNCTIONS.iter().find(|(known, _)| *known == name.text);
        diagnostics.push(match known {
            Some((_, advice)) => {
                let message = format!("graphmap does not call the glue function `{}`", name.text);
                Diagnostic::warning(codes::GLUE, message)
                    .at(name.span, "")
                    .help(*advice)
            }
            None => {
                let message = format!("there is no glue function `{}`", name.text);
                let names = FUNCTIONS.iter().map(|(known, _)| *known);
                let error = Diagnostic::error(codes::GLUE, message).at(name.span, "");
                like(error, &name.text, names)
            }
        });
    }
}

/// Returns the environment variables of all files. Reports names with two values.
pub(crate) fn environment(files: &[File], diagnostics: &mut Diagnostics) -> Vec<(String, String)> {
    let mut spans: FxHashMap<&str, Span> = FxHashMap::default();
    let mut all = Vec::new();
    for (name, value) in files.iter().flat_map(|file| &file.environment) {
        let Name { text, span } = name;
        match spans.insert(text, *span) {
            Some(other) => diagnostics.push(defined_twice("environment variable", name, other)),
            None => all.push((text.clone(), value.text.clone())),
        }
    }
    all
}
