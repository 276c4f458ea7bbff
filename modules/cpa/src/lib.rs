//! The notation of (CM)2PI: a process network in four specifications.
//!
//! A *structure* declares processes with their ports, and compositions of processes. An
//! *initialization* gives values to its variables, *containers* say which processes an OS process
//! may hold, and a *function mapping* names the function of each process. Source of the notation:
//! R. K. S. Chung, "(CM)2PI: Compose-Map-Configure MPI", MSc thesis, University of British
//! Columbia, 2014, appendix A.
//!
//! [`read`] parses a file and the files that it includes (`parser`), computes the values of the
//! variables (`architecture`, `fit`), finds the channels between the ports of processes
//! (`flatten`), and declares modules, processes and channels (`declare`) and boxes (`placement`).
//! [`format()`] lays a text out, and [`write()`] writes a network.

mod architecture;
pub mod codes;
mod declare;
mod fit;
mod flatten;
mod format;
mod glue;
mod lexer;
mod parser;
mod placement;
mod syntax;
mod write;

pub use format::format;

use architecture::Architecture;
use graphmap_kpn::codes::ISOLATED_PROCESS;
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::level::{Level, LevelDecl};
use graphmap_kpn::network::Verified;
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::{Source, SourceMap, Span};
use std::sync::Arc;

/// Reads an included file: the path after `include` and its position. Returns `None` if the file
/// was read before.
pub type Include<'a> =
    &'a mut dyn FnMut(&str, Span, &mut SourceMap) -> Result<Option<Arc<Source>>, Diagnostics>;

/// Returns the declarations in a file and in the files that it includes. The values in `given`
/// replace values of variables.
///
/// # Errors
/// Returns all errors in the texts.
pub fn read(
    source: &Arc<Source>,
    given: &Given,
    include: Include<'_>,
    sources: &mut SourceMap,
) -> Result<(Declared, Diagnostics), Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let mut files = Vec::new();
    let mut next = vec![Arc::clone(source)];
    while let Some(source) = next.pop() {
        let tokens = lexer::tokens(&source, &mut diagnostics);
        let file = parser::parse(&source, &tokens, &mut diagnostics);
        for path in &file.includes {
            match include(&path.text, path.span, sources) {
                Ok(included) => next.extend(included),
                Err(errors) => diagnostics.append(errors),
            }
        }
        files.push(file);
    }
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let wild = fit::fit(&files, sources, given, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let mut architecture = Architecture::of(&files, sources, given, &wild, &mut diagnostics);
    let flats = flatten::flatten(&mut architecture, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    if architecture
        .compositions
        .iter()
        .all(|of| of.declaration.is_intermediate)
    {
        let end = Span::new(source.base(), source.base());
        diagnostics.push(
            Diagnostic::error(codes::NOTHING_TO_RUN, "no composition is instantiated")
                .at(end, "")
                .help("compose the processes in a composition that begins with `||`"),
        );
        return Err(diagnostics);
    }
    let mut declared = declare::declare(&architecture, &flats, &files, &mut diagnostics);
    let mut counts = declared.nodes.values().map(|node| node.replicas);
    if !diagnostics.has_errors() && counts.all(|count| count == Some(0)) {
        let instantiated = architecture.compositions.iter();
        let mut instantiated = instantiated.map(|of| of.declaration);
        let first = instantiated.find(|composition| !composition.is_intermediate);
        let at = first.map_or(Span::NONE, |composition| composition.name.span);
        diagnostics.push(
            Diagnostic::error(codes::NOTHING_TO_RUN, "no composition has a process")
                .at(at, "")
                .help("correct the numbers of instances"),
        );
    }
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    declared.glue = glue::functions(&files, &mut diagnostics);
    declared.environment = glue::environment(&files, &mut diagnostics);
    declared.boxes = placement::boxes(&architecture, &files, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    declared.name = architecture.structures[0].name.text.clone();
    declared.sizes = architecture.into_names();
    // Ports that no link names may stay unjoined.
    declared.levels.push(LevelDecl {
        level: Level::Allow,
        code: ISOLATED_PROCESS.to_string(),
        span: Span::NONE,
    });
    declared.sources = sources.clone();
    Ok((declared, diagnostics))
}

/// Returns a network in the notation of (CM)2PI. Reading it gives the same network.
///
/// The names of modules, the positions, and the order of the channels at different ports are not
/// kept. The names of modules follow from their kinds.
///
/// # Errors
/// Returns an error for each construct of the network that the notation does not have.
pub fn write(network: &Verified) -> Result<String, Diagnostics> {
    write::write(network, &|source, sources| {
        let mut none = |_: &str, _, _: &mut SourceMap| Ok(None);
        let (declared, _) = read(source, &Given::default(), &mut none, sources)?;
        Ok(declared)
    })
}
