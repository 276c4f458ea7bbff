//! Finds state that the ranks of an MPI program in Rust would share if they were coroutines of one
//! OS process.
//!
//! Over MPI, each rank is an OS process with its own statics. As coroutines, ranks share the
//! statics of their OS process, the thread-locals of their thread, and per-process state such as
//! the environment, the current folder and the exit. Unnoticed sharing gives wrong results, so
//! this crate reports all shared state that can change, with its position.
//!
//! Privatization of globals removes such state: each rank gets a value that holds the former
//! globals. (S. Negara and others, *Automatic MPI to AMPI program transformation using Photran*,
//! 2010.) As in that work, constants need no change. State that may be harmless is reported too.
//!
//! A [`Project`] is read from the output of `cargo metadata`. [`check`] checks the files of one of
//! its packages.

mod attributes;
pub mod codes;
mod depth;
mod diagnostics;
mod facts;
mod foreign;
mod guards;
mod holds;
mod judge;
mod known_macros;
mod names;
mod packages;
mod reach;
mod read;
mod report;
mod shape;
mod tree;
mod visitor;

pub use packages::{NoRanks, Package, Project};
pub use report::{PROTOCOL, report};

use facts::{At, Facts};
use graphmap_kpn::diagnostic::{Code, Diagnostic, Diagnostics};
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::source::{Source, SourceMap, Span};
use read::NotRead;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use tree::Tree;

/// Results of the check of one package, as counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Files that were checked.
    pub files: usize,
    /// Mutable statics ([`codes::SHARED_STATIC`]).
    pub statics: usize,
    /// Thread-locals ([`codes::SHARED_THREAD_LOCAL`]).
    pub thread_locals: usize,
    /// Statics that are initialized at their first use ([`codes::MADE_ONCE`]).
    pub made_once: usize,
    /// Uses of functions that affect the whole OS process ([`codes::PROCESS_WIDE`]).
    pub process_wide: usize,
    /// Calls that block all ranks of a thread ([`codes::HOLDS_THREAD`]).
    pub held_up: usize,
    /// Locks that are held across waits ([`codes::LOCK_ACROSS_WAIT`]).
    pub locks: usize,
    /// Places where code of another language is declared or built ([`codes::OTHER_LANGUAGE`]).
    pub other_languages: usize,
    /// Inclusions of generated files, which were not checked ([`codes::GENERATED`]).
    pub generated: usize,
    /// Statics that may be mutable ([`codes::NOT_JUDGED`]).
    pub not_judged: usize,
    /// Macro calls that were not checked ([`codes::UNSEEN_MACROS`]).
    pub macros: usize,
    /// Files that could not be read ([`codes::NO_SOURCE`]).
    pub unread: usize,
}

impl Counts {
    fn count(&mut self, code: Code) {
        match code {
            codes::SHARED_STATIC => self.statics += 1,
            codes::SHARED_THREAD_LOCAL => self.thread_locals += 1,
            codes::MADE_ONCE => self.made_once += 1,
            codes::PROCESS_WIDE => self.process_wide += 1,
            codes::NOT_JUDGED => self.not_judged += 1,
            codes::HOLDS_THREAD => self.held_up += 1,
            codes::LOCK_ACROSS_WAIT => self.locks += 1,
            codes::OTHER_LANGUAGE => self.other_languages += 1,
            codes::GENERATED => self.generated += 1,
            codes::NO_SOURCE => self.unread += 1,
            _ => {}
        }
    }
}

/// Checks all files of a package for state that ranks share, and returns the counts.
///
/// Checks the files that the `mod` declarations of the package's crates lead to, and the build
/// script for code of other languages. Test code is checked only in the project's own packages.
/// Diagnostics are added to `found`, and the files to `sources`. `shown` returns the name of a file
/// in diagnostics. A file that cannot be read, or is not valid Rust, is reported as an error in
/// `found`, and the other files are still checked.
pub fn check(
    package: &Package,
    shown: &dyn Fn(&Path) -> String,
    sources: &mut SourceMap,
    found: &mut Diagnostics,
) -> Counts {
    let mut counts = Counts::default();
    let mut files = Vec::new();
    let mut tree = Tree::default();
    // `tree` is a stack: the last root added is read first.
    package
        .roots
        .iter()
        .rev()
        .for_each(|root| tree.add_root(root));
    while let Some((path, wanted)) = tree.next() {
        match file(
            &path,
            &shown(&path),
            (package.own, wanted.included),
            sources,
        ) {
            Ok((facts, source)) => {
                tree.add_modules(&path, &wanted, &facts, |at| span(&source, at));
                files.push((facts, source));
            }
            Err(wrong) => {
                counts.count(wrong.code);
                let placed = wrong.primary.is_some();
                found.push(match placed {
                    true => *wrong,
                    false => wrong.at(wanted.declared, "declared here"),
                });
            }
        }
    }
    counts.files = files.len();
    if let Some(script) = &package.build_script {
        counts.files += 1;
        let name = shown(script);
        match file(script, &name, (package.own, false), sources) {
            Ok((facts, source)) => {
                let first = facts.builds.first();
                let diagnostic =
                    first.map(|at| diagnostics::of_build(&package.name, span(&source, at)));
                diagnostic
                    .iter()
                    .for_each(|diagnostic| counts.count(diagnostic.code));
                diagnostic
                    .into_iter()
                    .for_each(|diagnostic| found.push(diagnostic));
            }
            Err(wrong) => {
                counts.count(wrong.code);
                found.push(*wrong);
            }
        }
    }
    let waiters: BTreeSet<_> = files.iter().flat_map(|(facts, _)| &facts.waiters).collect();
    let types = judge::Types::of(files.iter().flat_map(|(facts, _)| &facts.definitions));
    let mut unseen: Vec<(&str, Span)> = Vec::new();
    for (facts, source) in &files {
        let span = |at: &At| span(source, at);
        let statics = facts.statics.iter();
        let statics = statics.filter_map(|one| diagnostics::of_static(one, &types, span(&one.at)));
        let makers = facts
            .makers
            .iter()
            .map(|(name, at)| diagnostics::of_maker(name.as_deref(), span(at)));
        let calls = facts.calls.iter();
        let calls = calls.filter(|call| call.of.is_none_or(|of| waiters.contains(&of)));
        let calls = calls.map(|call| diagnostics::of_call(call, span(&call.at)));
        let held = facts.held.iter();
        let held = held.map(|one| diagnostics::of_held(one, span(&one.lock), span(&one.wait)));
        let foreign = facts.foreign.iter();
        let foreign = foreign.map(|(names, at)| diagnostics::of_foreign(names, span(at)));
        let generated = facts.generated.iter();
        let generated = generated.map(|at| diagnostics::of_generated(span(at)));
        let shared = statics.chain(makers).chain(calls);
        for diagnostic in shared.chain(held).chain(foreign).chain(generated) {
            counts.count(diagnostic.code);
            found.push(diagnostic);
        }
        unseen.extend(facts.unseen.iter().map(|(name, at)| (&**name, span(at))));
    }
    counts.macros = unseen.len();
    if let Some((_, first)) = unseen.first() {
        let mut names: Vec<String> = unseen.iter().map(|(name, _)| (*name).to_owned()).collect();
        names.sort();
        names.dedup();
        found.push(diagnostics::of_unseen(
            &package.name,
            &names,
            unseen.len(),
            *first,
        ));
    }
    counts
}

/// Reads and parses one file, and adds it to `sources` with the name `shown`. Returns its facts and
/// the added source. Test code counts if `tests` is true. `included` is true for a file that is
/// `include!`d.
///
/// # Errors
/// A diagnostic with [`codes::NO_SOURCE`] if the file cannot be read, is not a regular file, or is
/// not valid Rust.
fn file(
    path: &Path,
    shown: &str,
    (tests, included): (bool, bool),
    sources: &mut SourceMap,
) -> Result<(Facts, Arc<Source>), Box<Diagnostic>> {
    let wrong = |why: &dyn std::fmt::Display| {
        let message = format!("cannot check `{shown}`: {why}");
        Diagnostic::error(codes::NO_SOURCE, message)
    };
    // Reading a pipe or a device may block forever.
    let there = std::fs::metadata(path).ok();
    if there.is_some_and(|there| !there.is_file() && !there.is_dir()) {
        return Err(Box::new(wrong(&"it is a pipe, a socket or a device")));
    }
    let text = input::text(path, Limit::SOURCE).map_err(|why| wrong(&why))?;
    let source = sources.add(shown, text).map_err(|why| wrong(&why))?;
    let facts = read::read(source.text(), tests, included).map_err(|why| match &why {
        NotRead::NotRust(said, at) => wrong(&why).at(span(&source, &(*at..*at)), said),
        _ => wrong(&why),
    });
    Ok((facts?, source))
}

fn span(source: &Source, at: &At) -> Span {
    // A source is shorter than 4 GiB.
    let offset = |at: usize| source.base() + at as u32;
    Span::new(offset(at.start), offset(at.end))
}
