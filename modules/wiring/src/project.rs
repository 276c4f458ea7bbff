//! Projects: a Cargo package around generated wiring.
//!
//! | file | whose |
//! |---|---|
//! | `Cargo.toml`, `src/main.rs`, `src/types.rs`, `.gitignore` | the user's, written once |
//! | `src/processes/KIND.rs` | the user's, written once for each kind |
//! | `src/wiring.rs`, `src/processes/mod.rs` | generated, written anew when the graph changes |
//! | `vendor/graphmap-runtime/`, `vendor/graphmap-rankmap/` | generated: the source of the runtime, which comes from the binary |
//! | `vendor/graphmap-link-mpi/` | the same of the link over MPI, where the project asks for it |
//!
//! A project knows its graph by `[package.metadata.graphmap] graph = "..."` in its `Cargo.toml`, and
//! by `skeletons = "..."` there the user's folder of skeletons, where its wiring is made with one.

use crate::codes;
use crate::context::Model;
use crate::doubts::{self, Doubt};
use crate::emitters::render;
use crate::family::{MPI, RUST};
use crate::layout::{FITTING, FUNCTIONS, TYPES, WIRING, function_file, types_file};
use crate::signature;
use crate::skeleton::Skeletons;
use graphmap_kpn::declared::Direction;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::Files;
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::network::Network;
use serde_json::json;
use std::path::{Path, PathBuf};

include!(concat!(env!("OUT_DIR"), "/vendored.rs"));
include!(concat!(env!("OUT_DIR"), "/vendored_rankmap.rs"));
include!(concat!(env!("OUT_DIR"), "/vendored_link.rs"));

/// The runtime's folder in a project that takes it along.
const VENDOR: &str = "vendor/graphmap-runtime";
/// That of the rank maps, on which the runtime stands.
const VENDOR_RANKMAP: &str = "vendor/graphmap-rankmap";
/// That of the link over MPI.
pub(crate) const VENDOR_LINK: &str = "vendor/graphmap-link-mpi";
/// What takes the place of rsmpi in a project of ranks, and what that stands on.
pub(crate) const VENDOR_MPI: &str = "vendor/mpi";
pub(crate) const VENDOR_STACK: &str = "vendor/graphmap-stack";
pub(crate) const VENDOR_MPI_DERIVE: &str = "vendor/graphmap-mpi-derive";

/// Where a drawing of ranks is, in a project that does not say it.
pub const RANKS_DRAWN: &str = "ranks.dot";

/// Where a new project gets the runtime from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// Its source is copied into the project, which then builds anywhere.
    Vendored,
    /// From this folder, as seen from the project's.
    Path(String),
}

/// What a new project is to be like.
#[derive(Clone, Debug)]
pub struct NewProject<'a> {
    /// Its name; what Cargo does not take is made to fit.
    pub name: &'a str,
    /// Where its graph is, as seen from the project's folder.
    pub graph_path: &'a str,
    /// Text of the graph, where it is to be copied to `graph_path`.
    pub graph_text: Option<&'a str>,
    /// Where the runtime comes from.
    pub runtime: Runtime,
    /// Whether `mpiexec` may start it as several OS processes of one run.
    pub mpi: bool,
    /// The user's folder of skeletons, as seen from the project's.
    pub skeletons: Option<&'a str>,
    /// Whether it is a workspace of its own; else it is a member of one that it lies in.
    pub alone: bool,
}

/// All files of a new project, by their path in its folder.
///
/// # Errors
/// Those of [`render`].
pub fn create(
    network: &Network,
    skeletons: &Skeletons,
    new: &NewProject<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<Files, Diagnostics> {
    let mut files = Files::new();
    let no_root = (Path::new(""), Path::new(TYPES));
    let model = generate(network, skeletons, no_root, &mut files, diagnostics)?;
    let (runtime_path, link_path) = match &new.runtime {
        Runtime::Vendored => {
            vendor_runtime(Path::new(""), &mut files);
            if new.mpi {
                vendor_link(Path::new(""), &mut files);
            }
            (VENDOR.to_owned(), VENDOR_LINK.to_owned())
        }
        // The link is beside the runtime.
        Runtime::Path(path) => (path.clone(), format!("{path}/../link-mpi")),
    };
    let data = json!({
        "model": model,
        "package": package_name(new.name),
        "graph_path": new.graph_path,
        "runtime_path": runtime_path,
        "link_path": new.mpi.then_some(link_path),
        "main": if new.mpi { "graphmap_link_mpi" } else { "graphmap_runtime" },
        "alone": new.alone,
        "skeletons": new.skeletons,
    });
    for (path, skeleton) in [
        ("Cargo.toml", "project/cargo"),
        ("src/main.rs", "project/main"),
        (".gitignore", "project/gitignore"),
    ] {
        files.once(path, skeletons.render(skeleton, &data)?);
    }
    if let Some(text) = new.graph_text {
        files.once(new.graph_path, text);
    }
    Ok(files)
}

/// The files that depend on the graph: wiring, and the user's where there is none yet; in a project's folder, with the
/// file of its types.
fn generate(
    network: &Network,
    skeletons: &Skeletons,
    (root, types): (&Path, &Path),
    files: &mut Files,
    diagnostics: &mut Diagnostics,
) -> Result<Model, Diagnostics> {
    let (wiring, model) = render(network, skeletons, RUST, diagnostics)?;
    fit_files(network, &model)?;
    let data = json!({ "model": model });
    files.generated(root.join(WIRING), wiring);
    let processes = skeletons.render("project/processes", &data)?;
    files.generated(root.join(FUNCTIONS), processes);
    files.once(types, skeletons.render("project/types", &data)?);
    for kind in &model.kinds {
        let reads = kind
            .ports
            .iter()
            .any(|port| port.direction == Direction::Input);
        let data = json!({ "graph": model.graph, "kind": kind, "reads": reads });
        let stub = skeletons.render("project/process", &data)?;
        files.once(function_file(root, &kind.function), stub);
    }
    Ok(model)
}

/// The most bytes of a name that a file is named after: file systems take 255, and what is written
/// beside a file before it takes its place has a longer name.
const LONGEST_NAME: usize = 200;

/// The most bytes of a project's name: the files that are built have it, with numbers behind it.
const LONGEST_PROJECT: usize = 150;

/// What is wrong with the name of a project, if anything is.
pub fn name_too_long(name: &str) -> Option<Diagnostic> {
    let length = name.len();
    (length > LONGEST_PROJECT).then(|| {
        let start: String = name.chars().take(20).collect();
        let message = format!(
            "the name of the project `{start}...` is too long for its files: {length} bytes, where \
             {LONGEST_PROJECT} may be"
        );
        Diagnostic::error(codes::NAME_TOO_LONG, message).help("give its folder a shorter one")
    })
}

/// Whether files can be named after the kinds.
///
/// # Errors
/// Each kind whose name is too long.
pub(crate) fn fit_files(network: &Network, model: &Model) -> Result<(), Diagnostics> {
    let mut found = Diagnostics::new();
    for (now, kind) in model.kinds.iter().zip(network.kinds.values()) {
        let length = now.function.len();
        if length > LONGEST_NAME {
            let start: String = now.name.chars().take(20).collect();
            let message = format!(
                "the name of the kind `{start}...` is too long for its file: {length} bytes, where \
                 {LONGEST_NAME} may be"
            );
            found.push(
                Diagnostic::error(codes::NAME_TOO_LONG, message)
                    .at(kind.span, "its first process")
                    .help("give it a shorter one: `kind=NAME`"),
            );
        }
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(found),
    }
}

/// The runtime, and what it stands on.
pub(crate) fn vendor_runtime(root: &Path, files: &mut Files) {
    vendor(root, VENDOR, VENDORED, files);
    vendor(root, VENDOR_RANKMAP, VENDORED_RANKMAP, files);
}

/// The link over MPI.
pub(crate) fn vendor_link(root: &Path, files: &mut Files) {
    vendor(root, VENDOR_LINK, VENDORED_LINK, files);
}

pub(crate) fn vendor(root: &Path, folder: &str, sources: &[(&str, &str)], files: &mut Files) {
    for (path, text) in sources {
        files.generated(root.join(folder).join(path), *text);
    }
}

/// A name that Cargo takes for a package.
pub(crate) fn package_name(name: &str) -> String {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut package: String = name
        .chars()
        .map(|c| if part(c) { c } else { '-' })
        .collect();
    package = package.trim_matches('-').to_owned();
    if !package.starts_with(|c: char| c.is_ascii_alphabetic()) {
        package.insert_str(0, "network-");
        package = package.trim_end_matches('-').to_owned();
    }
    let taken = [
        "alloc",
        "core",
        "graphmap-link-mpi",
        "graphmap-mpi-derive",
        "graphmap-rankmap",
        "graphmap-runtime",
        "graphmap-stack",
        "mpi",
        "proc_macro",
        "std",
        "test",
    ];
    let keyword = crate::identifier::is_keyword(&package, crate::identifier::Language::Rust);
    if keyword || taken.contains(&package.as_str()) {
        package.push_str("-network");
    }
    package
}

/// What a project is given when its graph has changed.
#[derive(Debug)]
pub struct Regenerated {
    /// Generated files, and stubs for what is new.
    pub files: Files,
    /// What may no longer fit in the user's own files.
    pub doubts: Vec<Doubt>,
}

/// A project on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its folder.
    pub root: PathBuf,
    /// Its graph.
    pub graph: PathBuf,
    /// Name of its package, and of the program that Cargo builds.
    pub package: String,
    /// Whether it takes the runtime along.
    pub vendored: bool,
    /// The folder of the runtime, where it does not.
    pub runtime: Option<PathBuf>,
    /// Whether `mpiexec` may start it as several OS processes of one run.
    pub mpi: bool,
    /// Whether its program is one of ranks, which has no wiring.
    pub ranks: bool,
    /// Whether something else stands in the place of `mpi-sys`, by which the link over MPI calls MPI.
    pub patches_mpi_sys: bool,
    /// Whether it takes the link over MPI along.
    pub vendored_link: bool,
    /// The user's folder of skeletons that its wiring is made with.
    pub skeletons: Option<PathBuf>,
}

impl Project {
    /// The project of a graph file: the folder beside it with its name (`farm/` of `farm.dot`), or
    /// the folder it lies in, where the `Cargo.toml` there says that this is its graph.
    ///
    /// # Errors
    /// When there is such a `Cargo.toml` but it cannot be read.
    pub fn find(graph: &Path) -> Result<Option<Project>, Diagnostics> {
        let folder = match graph.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        // As the user would write it: without `./`.
        let beside = graph.with_extension("");
        for root in [beside, folder.to_owned()] {
            if let Some(project) = Project::open(&root)?
                && same_file(&project.graph, graph)
            {
                return Ok(Some(project));
            }
        }
        Ok(None)
    }

    /// The project in a folder; `None` where there is no `Cargo.toml`, or one that names no graph and is of no ranks, whose graph
    /// is `ranks.dot` unless it says otherwise.
    ///
    /// # Errors
    /// When the `Cargo.toml` cannot be read.
    pub fn open(root: &Path) -> Result<Option<Project>, Diagnostics> {
        let path = root.join("Cargo.toml");
        if !path.is_file() {
            return Ok(None);
        }
        let wrong = |why: &dyn std::fmt::Display| {
            let message = format!("{} cannot be read: {why}", path.display());
            Diagnostics::from(
                Diagnostic::error(codes::NOT_A_PROJECT, message)
                    .help("mend it, or move it away and make the project anew with `graphmap new`"),
            )
        };
        let text = input::text(&path, Limit::SOURCE).map_err(|why| wrong(&why))?;
        let manifest: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| wrong(&error.message()))?;
        let package = manifest.get("package");
        let ours = package.and_then(|p| p.get("metadata")?.get("graphmap"));
        let graph = ours.and_then(|ours| ours.get("graph")?.as_str());
        let skeletons = ours.and_then(|ours| ours.get("skeletons")?.as_str());
        let ranks = ours.and_then(|ours| ours.get("family")?.as_str()) == Some(MPI);
        let graph = graph.or(ranks.then_some(RANKS_DRAWN));
        let name = package.and_then(|p| p.get("name")?.as_str());
        let (Some(graph), Some(name)) = (graph, name) else {
            return Ok(None);
        };
        let dependency = |name: &str| manifest.get("dependencies").and_then(|d| d.get(name));
        let path = |name: &str| dependency(name).and_then(|d| d.get("path")?.as_str());
        Ok(Some(Project {
            root: root.to_owned(),
            graph: root.join(graph),
            package: name.to_owned(),
            vendored: path("graphmap-runtime") == Some(VENDOR),
            runtime: path("graphmap-runtime")
                .filter(|path| *path != VENDOR)
                .map(|path| root.join(path)),
            mpi: dependency("graphmap-link-mpi").is_some(),
            ranks,
            patches_mpi_sys: manifest
                .get("patch")
                .and_then(|patch| patch.get("crates-io")?.get("mpi-sys"))
                .is_some(),
            vendored_link: path("graphmap-link-mpi") == Some(VENDOR_LINK),
            skeletons: skeletons.map(|folder| root.join(folder)),
        }))
    }

    /// Whether graphmap writes this file of the project anew, so that the user cannot mend it: the
    /// wiring, the list of functions, the runtime's source. The runtime in a folder of its own counts, too.
    pub fn is_generated(&self, file: &Path) -> bool {
        let inside =
            |folder: &str| match (self.root.join(folder).canonicalize(), file.canonicalize()) {
                (Ok(folder), Ok(file)) => file.starts_with(folder),
                _ => false,
            };
        let generated = [WIRING, FUNCTIONS].map(|name| self.root.join(name));
        let vendored = [
            VENDOR,
            VENDOR_RANKMAP,
            VENDOR_LINK,
            VENDOR_MPI,
            VENDOR_MPI_DERIVE,
            VENDOR_STACK,
        ];
        let runtime = || {
            let (runtime, file) = (self.runtime.as_ref()?.canonicalize(), file.canonicalize());
            Some(file.ok()?.starts_with(runtime.ok()?))
        };
        generated.iter().any(|own| same_file(own, file))
            || vendored.into_iter().any(inside)
            || runtime().unwrap_or(false)
    }

    /// Whether a file is the project's wiring.
    pub fn is_wiring(&self, file: &Path) -> bool {
        same_file(&self.root.join(WIRING), file)
    }

    /// The file of a function, by the function's identifier.
    pub fn function_file(&self, function: &str) -> PathBuf {
        function_file(&self.root, function)
    }

    /// The generated files for the graph as it is now, and a stub for what is new; with them, what
    /// may no longer fit in the user's own files. [`crate::rustc`] leads what the compiler says of
    /// those back to the graph.
    ///
    /// # Errors
    /// Those of [`render`].
    pub fn regenerate(
        &self,
        network: &Network,
        skeletons: &Skeletons,
        diagnostics: &mut Diagnostics,
    ) -> Result<Regenerated, Diagnostics> {
        let mut files = Files::new();
        if self.ranks {
            let doubts = Vec::new();
            return Ok(Regenerated { files, doubts });
        }
        let types = types_file(&self.root);
        let places = (&*self.root, &*types);
        let model = generate(network, skeletons, places, &mut files, diagnostics)?;
        if self.vendored {
            vendor_runtime(&self.root, &mut files);
        }
        if self.vendored_link {
            vendor_link(&self.root, &mut files);
        }
        let wiring = input::text(&self.root.join(WIRING), Limit::NETWORK).unwrap_or_default();
        let fitting = input::text(&self.fitting(), Limit::NETWORK).ok();
        let before = signature::read(fitting.as_deref().unwrap_or(&wiring));
        let doubts = doubts::compare(&self.root, network, &model, &before, &files, diagnostics);
        let outdated = |doubt: &Doubt| doubt.finding.code == codes::FUNCTION_OUTDATED;
        if fitting.is_none() && doubts.iter().any(outdated) {
            // What is true of a function stays to be told until it is mended.
            files.generated(self.fitting(), wiring);
        }
        Ok(Regenerated { files, doubts })
    }

    /// The file with the wiring that the functions were last known to fit: it is there as long as one
    /// may not fit that of now, and to be deleted when all do.
    pub fn fitting(&self) -> PathBuf {
        self.root.join(FITTING)
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::package_name;

    #[test]
    fn a_package_has_a_name_that_cargo_takes() {
        for (name, package) in [
            ("farm", "farm"),
            ("my farm", "my-farm"),
            ("2d", "network-2d"),
            ("", "network"),
            ("\u{e9}", "network"),
            ("test", "test-network"),
            ("match", "match-network"),
        ] {
            assert_eq!(package_name(name), package);
        }
    }
}
