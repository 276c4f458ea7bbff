//! Families of skeletons: what is written with them, under which name, and what their target lacks.
//!
//! A family is a folder of skeletons and an entry of `families.toml`; those that are built in are
//! described in the same way as those of a user's folder.

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

/// Describes the families of a folder, and stands in it.
pub const MANIFEST: &str = "families.toml";
/// The family of the wiring of Cargo projects.
pub const RUST: &str = "rust";
/// The family of programs of ranks, which have no wiring.
pub const MPI: &str = "mpi";
/// Folders of skeletons that are no families: the files of Cargo projects.
pub(crate) const PROJECTS: [&str; 2] = ["project", "ranks"];

/// A family of skeletons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name, which is the name of its folder.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// What `--emit` calls it.
    pub emitter: String,
    /// The ending of files that it writes without being named.
    pub extension: Option<String>,
    /// What its target cannot express.
    pub lacks: Vec<Unsupported>,
    /// What graphs can say of channels and its wiring does not heed.
    pub ignores: Vec<Ignored>,
    /// The rank of MPI that its first process has, where each process is an OS process, of which the ranks follow those
    /// of the network; `None` where OS processes hold many.
    pub first_rank: Option<u32>,
    /// The program that a project of it is built as, in the project's folder.
    pub program: Option<String>,
    /// The files of a new project; none where it has no projects.
    pub project: Vec<ProjectFile>,
    /// Where its entry begins.
    pub span: Span,
}

/// Something that a graph says of a channel and that wiring may not heed: a warning, because the
/// network runs all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ignored {
    /// MPI tags.
    Tag,
    /// How many tokens a channel holds.
    Capacity,
}

/// Something that a graph can ask for and a target may not have.
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
    /// Channels that begin with tokens.
    Initial,
    /// Flow-controlled channels.
    Flow,
    /// Channels from a process to itself.
    Loop,
}

impl Unsupported {
    /// The kind of bundle that it is, if it is one.
    pub fn bundle(self) -> Option<BundleKind> {
        match self {
            Unsupported::Select => Some(BundleKind::Select),
            Unsupported::Gather => Some(BundleKind::Gather),
            Unsupported::Reduce => Some(BundleKind::Reduce),
            Unsupported::Broadcast => Some(BundleKind::Broadcast),
            Unsupported::Scatter => Some(BundleKind::Scatter),
            Unsupported::Switch => Some(BundleKind::Switch),
            Unsupported::Share => Some(BundleKind::Share),
            Unsupported::Initial | Unsupported::Flow | Unsupported::Loop => None,
        }
    }
}

/// A file of a project.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectFile {
    /// Its path in the project, a template.
    pub path: String,
    /// The skeleton, without its family; the wiring of the network where there is none.
    pub skeleton: Option<String>,
    /// Whether there is one for each kind.
    pub each: Option<Each>,
    /// Whether it is the user's once it is there.
    #[serde(default)]
    pub once: bool,
}

/// What a project has several files for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Each {
    /// The kinds of processes.
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

/// Returns the built-in families, by name.
///
/// # Panics
/// When their description cannot be parsed. A test parses the one of graphmap.
pub fn built_in(built_in: &BuiltIn) -> Vec<Family> {
    parse(built_in.families).unwrap_or_else(|(what, _)| panic!("{MANIFEST}: {what}"))
}

/// The families that a user's folder adds, by name; none where it has no `families.toml`.
/// The text of that file is added to `sources` where there is something to say of it. `elsewhere`
/// gives what a family has in common with emitters that this crate does not know, by [`taken`].
///
/// # Errors
/// A folder or a manifest that cannot be read, a name that is no name or belongs to a family that
/// is built in, an emitter of two families.
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
    let (mut findings, families) =
        match parse(&text) {
            Ok(families) => (check(&families, built_in), families),
            Err((what, place)) => {
                let message = format!("cannot read the families in {name}: {what}");
                let place = Span::new(place.start as u32, place.end as u32);
                let finding = Diagnostic::error(codes::BAD_FAMILIES, message)
                .at(place, "error here")
                .help("write each family as a table `[name]`; see the chapter on skeletons in the \
                       book");
                (vec![finding], Vec::new())
            }
        };
    findings.extend(families.iter().filter_map(elsewhere));
    if findings.is_empty() {
        return Ok(families);
    }
    let base = sources.add(name, text).map_or(0, |source| source.base());
    let mut placed = Diagnostics::new();
    for mut finding in findings {
        if let Some(label) = &mut finding.primary {
            label.span = Span::new(label.span.start + base, label.span.end + base);
        }
        placed.push(finding);
    }
    Err(placed)
}

/// Reads a manifest; the error comes with its place in the text.
fn parse(text: &str) -> Result<Vec<Family>, (String, Range<usize>)> {
    let entries: BTreeMap<Spanned<String>, Entry> = toml::from_str(text).map_err(|error| {
        let place = error.span().unwrap_or(0..0);
        (error.message().to_owned(), place)
    })?;
    let families = entries.into_iter().map(|(name, entry)| {
        let place = name.span();
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
            span: Span::new(place.start as u32, place.end as u32),
        }
    });
    Ok(families.collect())
}

/// What is wrong with the families of a user's folder.
fn check(families: &[Family], built_in: &BuiltIn) -> Vec<Diagnostic> {
    let built_in = self::built_in(built_in);
    let mut findings = Vec::new();
    for (i, family) in families.iter().enumerate() {
        let Family { name, emitter, .. } = family;
        if let Some(bad) = [name, emitter].into_iter().find(|word| !is_name(word)) {
            let message = format!("`{bad}` is not a valid name for a family or an emitter");
            findings.push(
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
            findings.push(taken(message, family).help(format!(
                "choose another name; to change the built-in family, a folder `{name}` without an \
                 entry is enough"
            )));
        }
        if let Some(other) = families[..i].iter().find(|f| f.emitter == *emitter) {
            let other = &other.name;
            let message = format!("`{emitter}` is already the emitter of the family `{other}`");
            let help = "choose another name for `--emit`, with `emitter = NAME`";
            findings.push(taken(message, family).help(help));
        }
    }
    findings
}

/// The finding that a name of a family is somebody else's.
pub fn taken(message: String, family: &Family) -> Diagnostic {
    Diagnostic::error(codes::FAMILY_TAKEN, message).at(family.span, "this family")
}

fn is_name(word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !word.is_empty() && word.chars().all(part) && !word.starts_with(['-', '_'])
}
