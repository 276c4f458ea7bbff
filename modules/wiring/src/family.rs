//! Families of skeletons: their names, the files that they write, and the features that their
//! targets lack.
//!
//! A family is a folder of skeletons and an entry of `families.toml`. Built-in families and the
//! families of a user's folder have the same description.

use crate::codes;
use crate::skeleton::{BuiltIn, unreadable};
use graphmap_kpn::declared::BundleKind;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::source::{SourceMap, Span};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// Name of the file that describes the families of its folder.
pub const MANIFEST: &str = "families.toml";
/// The family for the wiring of Cargo projects.
pub const RUST: &str = "rust";
/// The family for programs of ranks, which have no wiring.
pub const MPI: &str = "mpi";
/// Folders of skeletons that are not families. They contain the files of Cargo projects.
pub(crate) const PROJECTS: [&str; 2] = ["project", "ranks"];

/// A family of skeletons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name, which is also the name of its folder.
    pub name: String,
    /// Its description, one line.
    pub about: String,
    /// Its name for `--emit`.
    pub emitter: String,
    /// Extension of the files for which this family is selected if no emitter is named.
    pub extension: Option<String>,
    /// Features that its target does not support.
    pub lacks: Vec<Unsupported>,
    /// Attributes of channels that its wiring ignores.
    pub ignores: Vec<Ignored>,
    /// MPI rank of the first process, if each process is an OS process. The ranks of the other
    /// processes follow in order. `None` if an OS process can run many processes.
    pub first_rank: Option<u32>,
    /// Program that a project of the family is built as, relative to the project's folder.
    pub program: Option<String>,
    /// Files of a new project. Empty if the family has no projects.
    pub project: Vec<ProjectFile>,
    /// Position of its entry.
    pub span: Span,
}

/// Attribute of a channel that wiring may ignore. This is a warning only, because the network runs
/// without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ignored {
    /// MPI tags.
    Tag,
    /// Capacity in tokens.
    Capacity,
}

/// Feature of a graph that a target may not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unsupported {
    /// Select bundles.
    Select,
    /// Gather bundles.
    Gather,
    /// Reduce bundles.
    Reduce,
    /// Broadcast bundles.
    Broadcast,
    /// Scatter bundles.
    Scatter,
    /// Switch bundles.
    Switch,
    /// Share bundles.
    Share,
    /// Channels with initial tokens.
    Initial,
    /// Flow-controlled channels.
    Flow,
    /// Channels from a process to itself.
    Loop,
    /// Arguments of processes.
    Arguments,
    /// Arguments of the types `i128` and `u128`.
    I128,
    /// Glue functions.
    Glue,
}

impl Unsupported {
    /// Returns the kind of bundle that this feature is, or `None` if it is not a bundle.
    pub fn bundle(self) -> Option<BundleKind> {
        match self {
            Unsupported::Select => Some(BundleKind::Select),
            Unsupported::Gather => Some(BundleKind::Gather),
            Unsupported::Reduce => Some(BundleKind::Reduce),
            Unsupported::Broadcast => Some(BundleKind::Broadcast),
            Unsupported::Scatter => Some(BundleKind::Scatter),
            Unsupported::Switch => Some(BundleKind::Switch),
            Unsupported::Share => Some(BundleKind::Share),
            Unsupported::Initial
            | Unsupported::Flow
            | Unsupported::Loop
            | Unsupported::Arguments
            | Unsupported::I128
            | Unsupported::Glue => None,
        }
    }
}

/// A file of a project.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectFile {
    /// Its path in the project, as a template.
    pub path: String,
    /// Name of the skeleton without its family. `None` stands for the wiring of the network.
    pub skeleton: Option<String>,
    /// Elements of the network that each have a file of their own.
    pub each: Option<Each>,
    /// Whether the file belongs to the user after it was created.
    #[serde(default)]
    pub once: bool,
}

/// Elements of a network that can each have a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Each {
    /// One file for each kind.
    Kind,
}

/// An entry of `families.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    about: String,
    emitter: Option<String>,
    extension: Option<String>,
    #[serde(default)]
    lacks: Vec<Unsupported>,
    #[serde(default)]
    ignores: Vec<Ignored>,
    first_rank: Option<u32>,
    program: Option<String>,
    #[serde(default)]
    project: Vec<ProjectFile>,
}

/// Returns the built-in families, sorted by name.
///
/// # Panics
/// If `families.toml` of the built-in families is invalid. A test parses graphmap's file.
pub fn built_in(built_in: &BuiltIn) -> Vec<Family> {
    parse(built_in.families).unwrap_or_else(|(what, _)| panic!("{MANIFEST}: {what}"))
}

/// Returns the families of a user's folder, sorted by name. The result is empty if the folder has
/// no `families.toml`.
///
/// `elsewhere` reports a conflict with an emitter that this crate does not know, see [`taken`]. If
/// there are errors, the text of the file is added to `sources`, so that they have positions.
///
/// # Errors
/// Returns an error if the folder or the file cannot be read, if the file cannot be parsed, or if a
/// name is invalid. Also returns an error if the name is in use (a built-in family, `mpi`,
/// `project` or `ranks`), if two families have the same emitter, or if `elsewhere` returns one.
///
/// # Panics
/// Panics if `families.toml` of the built-in families is invalid.
pub fn of_folder(
    folder: &Path,
    built_in: &BuiltIn,
    sources: &mut SourceMap,
    elsewhere: impl Fn(&Family) -> Option<Diagnostic>,
) -> Result<Vec<Family>, Diagnostics> {
    let path = folder.join(MANIFEST);
    let text = match input::text(&path, Limit::SOURCE) {
        Ok(text) => text,
        Err(why) if why.is_missing() && folder.is_dir() => return Ok(Vec::new()),
        Err(why) => return Err(Diagnostics::from(unreadable(&path, &why))),
    };
    let name = path.display().to_string();
    let (mut diagnostics, families) =
        match parse(&text) {
            Ok(families) => (check(&families, built_in), families),
            Err((what, position)) => {
                let message = format!("cannot read the families in {name}: {what}");
                let position = Span::new(position.start as u32, position.end as u32);
                let diagnostic = Diagnostic::error(codes::BAD_FAMILIES, message)
                .at(position, "error here")
                .help("write each family as a table `[name]`; see the chapter on skeletons in the \
                       book");
                (vec![diagnostic], Vec::new())
            }
        };
    diagnostics.extend(families.iter().filter_map(elsewhere));
    if diagnostics.is_empty() {
        return Ok(families);
    }
    let base = sources.add(name, text).map_or(0, |source| source.base());
    let mut placed = Diagnostics::new();
    for mut diagnostic in diagnostics {
        if let Some(label) = &mut diagnostic.primary {
            label.span = Span::new(label.span.start + base, label.span.end + base);
        }
        placed.push(diagnostic);
    }
    Err(placed)
}

/// Parses a `families.toml`, and returns its families, sorted by name. An error has a message and
/// its byte range in the text.
fn parse(text: &str) -> Result<Vec<Family>, (String, Range<usize>)> {
    let entries: BTreeMap<Spanned<String>, Entry> = toml::from_str(text).map_err(|error| {
        let position = error.span().unwrap_or(0..0);
        (error.message().to_owned(), position)
    })?;
    let families = entries.into_iter().map(|(name, entry)| {
        let position = name.span();
        let name = name.into_inner();
        Family {
            emitter: entry.emitter.unwrap_or_else(|| name.clone()),
            name,
            about: entry.about,
            extension: entry.extension,
            lacks: entry.lacks,
            ignores: entry.ignores,
            first_rank: entry.first_rank,
            program: entry.program,
            project: entry.project,
            span: Span::new(position.start as u32, position.end as u32),
        }
    });
    Ok(families.collect())
}

/// Returns the errors in the families of a user's folder: invalid names, names that are in use, and
/// emitters that two of them share. Panics if the built-in `families.toml` is invalid.
fn check(families: &[Family], built_in: &BuiltIn) -> Vec<Diagnostic> {
    let built_in = self::built_in(built_in);
    let mut diagnostics = Vec::new();
    for (i, family) in families.iter().enumerate() {
        let Family { name, emitter, .. } = family;
        if let Some(bad) = [name, emitter].into_iter().find(|word| !is_name(word)) {
            let message = format!("`{bad}` is not a valid name for a family or an emitter");
            diagnostics.push(
                Diagnostic::error(codes::BAD_FAMILIES, message)
                    .at(family.span, "this family")
                    .help("use letters, digits, `-` and `_`"),
            );
        }
        if name == MPI
            || PROJECTS.contains(&&**name)
            || built_in.iter().any(|other| other.name == *name)
        {
            let message = format!("the family name `{name}` is already used");
            diagnostics.push(taken(message, family).help(format!(
                "choose another name; to change the built-in family, a folder `{name}` without an \
                 entry is enough"
            )));
        }
        if let Some(other) = families[..i].iter().find(|f| f.emitter == *emitter) {
            let other = &other.name;
            let message = format!("`{emitter}` is already the emitter of the family `{other}`");
            let help = "choose another name for `--emit`, with `emitter = NAME`";
            diagnostics.push(taken(message, family).help(help));
        }
    }
    diagnostics
}

/// Returns the error that a name of a family is already in use.
pub fn taken(message: String, family: &Family) -> Diagnostic {
    Diagnostic::error(codes::FAMILY_TAKEN, message).at(family.span, "this family")
}

fn is_name(word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !word.is_empty() && word.chars().all(part) && !word.starts_with(['-', '_'])
}
