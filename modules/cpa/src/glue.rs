//! Glue functions and environment variables of all files.

use crate::architecture::{defined_twice, like};
use crate::codes;
use crate::syntax::{File, Name, Pair};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::glue::{GlueFunction, Stage};
use graphmap_kpn::source::Span;
use rustc_hash::FxHashMap;

/// Name of the condition of a glue mapping.
const CONDITION: &str = "genvcondition";
/// Names of the function that permutes communicators.
const PERMUTE: [&str; 2] = ["permutecommunicator", "permutecommunicators"];

/// Returns the glue functions of all files. Reports unknown names, and warns of functions that
/// graphmap does not call.
pub(crate) fn functions(files: &[File], diagnostics: &mut Diagnostics) -> Vec<GlueFunction> {
    let mut all = Vec::new();
    for mapping in files.iter().flat_map(|file| &file.glue) {
        let pair = |pair: &Pair| (pair.first.text.clone(), pair.second.text.clone());
        let conditions = mapping.iter().filter(|(name, _)| name.text == CONDITION);
        let condition = conditions.map(|(_, values)| pair(values)).next();
        for (name, values) in mapping.iter().filter(|(name, _)| name.text != CONDITION) {
            let stage = Stage::ALL
                .into_iter()
                .find(|stage| stage.name() == name.text);
            if let Some(stage) = stage {
                let (header, function) = pair(values);
                all.push(GlueFunction {
                    stage,
                    function,
                    header,
                    condition: condition.clone(),
                });
                continue;
            }
            diagnostics.push(if PERMUTE.contains(&&*name.text) {
                let message = format!("graphmap does not call the glue function `{}`", name.text);
                Diagnostic::warning(codes::GLUE, message)
                    .at(name.span, "")
                    .help("exchange the places of processes by `--permute kind:NAME=ORDER`")
            } else {
                let message = format!("there is no glue function `{}`", name.text);
                let names = Stage::ALL.into_iter().map(Stage::name);
                let error = Diagnostic::error(codes::GLUE, message).at(name.span, "");
                like(error, &name.text, names)
            });
        }
    }
    all
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
