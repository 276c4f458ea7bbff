//! Projects: a Cargo package around generated wiring.
//!
//! | file | whose |
//! |---|---|
//! | `Cargo.toml`, `README.md`, `.gitignore` | the user's, written once |
//! | `src/main.rs`, `src/types.rs` | the user's, written once |
//! | `src/processes/KIND.rs` | the user's, written once for each kind |
//! | `src/wiring.rs`, `src/processes/mod.rs` | generated, written again when the graph changes |
//! | `.graphmap` | the [sources](bundled) of the runtime: a link or a copy |
//! | `Cargo.lock` | Cargo's; with entries for what the runtime depends on from the start |
//!
//! A project knows its graph by `[package.metadata.graphmap] graph = "..."` in its `Cargo.toml`, and
//! by `skeletons = "..."` there the user's folder of skeletons, where its wiring is made with one.

use crate::bundled;
use crate::codes;
use crate::context::Model;
use crate::doubts::{self, Doubt};
use crate::emitters::render;
use crate::family::{MPI, RUST};
use crate::layout::{FITTING, FUNCTIONS, TYPES, WIRING, function_file, types_file};
use crate::locked;
use crate::signature;
use crate::skeleton::Skeletons;
use graphmap_kpn::declared::Direction;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::Files;
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::network::Network;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The folder that had a copy of the sources in projects of graphmap before they were linked.
const OLD_FOLDER: &str = "vendor/";

/// The lock file of a project.
const LOCK: &str = "Cargo.lock";

/// Where a drawing of ranks is, in a project that does not say it.
pub const RANKS_DRAWN: &str = "ranks.dot";

/// Where a new project gets the runtime from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// From a link to its sources at this path, relative to the project: `.graphmap`, or in the
    /// folder of a workspace.
    Linked(String),
    /// From a copy of its sources in the project.
    Copied,
    /// From this folder, relative to the project.
    Path(String),
}

impl Runtime {
    /// Returns the path of a package of ours, relative to the project.
    pub(crate) fn package(&self, name: &str) -> String {
        match self {
            Runtime::Linked(folder) => format!("{folder}/{name}"),
            Runtime::Copied => format!("{}/{name}", bundled::FOLDER),
            // The others are beside the runtime, as in graphmap's own repository.
            Runtime::Path(path) if name == bundled::RUNTIME => path.clone(),
            Runtime::Path(path) => {
                format!(
                    "{path}/../{}",
                    name.strip_prefix("graphmap-").unwrap_or(name)
                )
            }
        }
    }

    /// Returns the version that a dependency on a package of ours states, if it states one.
    pub(crate) fn requirement(&self) -> Option<&'static str> {
        (!matches!(self, Runtime::Path(_))).then_some(bundled::REQUIREMENT)
    }
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
    if new.runtime == Runtime::Copied {
        copy_sources(Path::new(""), false, new.mpi, &mut files);
    }
    let link_path = new.runtime.package(bundled::LINK);
    let data = json!({
        "model": model,
        "package": package_name(new.name),
        "graph_path": new.graph_path,
        "runtime_path": new.runtime.package(bundled::RUNTIME),
        "requirement": new.runtime.requirement(),
        "linked": matches!(new.runtime, Runtime::Linked(_)),
        "link_path": new.mpi.then_some(link_path),
        "main": if new.mpi { "graphmap_link_mpi" } else { "graphmap_runtime" },
        "alone": new.alone,
        "skeletons": new.skeletons,
    });
    for (path, skeleton) in [
        ("Cargo.toml", "project/cargo"),
        ("README.md", "project/readme"),
        ("src/main.rs", "project/main"),
        (".gitignore", "project/gitignore"),
    ] {
        files.once(path, skeletons.render(skeleton, &data)?);
    }
    if new.alone {
        complete_lock(Path::new(""), "", false, new.mpi, &mut files);
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
            "the name of the project `{start}...` is too long for its files: {length} bytes; the \
             limit is {LONGEST_PROJECT}"
        );
        Diagnostic::error(codes::NAME_TOO_LONG, message).help("give its folder a shorter name")
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
                "the name of the kind `{start}...` is too long for its file: {length} bytes; the \
                 limit is {LONGEST_NAME}"
            );
            found.push(
                Diagnostic::error(codes::NAME_TOO_LONG, message)
                    .at(kind.span, "the first process of the kind")
                    .help("give it a shorter name with `kind=NAME`"),
            );
        }
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(found),
    }
}

/// Whether a project needs a package of ours: the runtime, for a project of `ranks` the API of
/// rsmpi, and the `link` over MPI.
fn is_needed(package: &str, ranks: bool, link: bool) -> bool {
    match package {
        bundled::MPI | bundled::MPI_DERIVE | bundled::FIBER => ranks,
        bundled::LINK => link,
        _ => true,
    }
}

/// Copies the sources that a project needs.
pub(crate) fn copy_sources(root: &Path, ranks: bool, link: bool, files: &mut Files) {
    for (path, text) in bundled::files() {
        let package = path.split('/').next().unwrap_or_default();
        if is_needed(package, ranks, link) {
            files.generated(root.join(bundled::FOLDER).join(path), text);
        }
    }
}

/// Adds the lock file of a project with the entries that it lacks. `lock` is its text, empty if
/// there is no file or it cannot be read: a file that is there then stays as it is.
pub(crate) fn complete_lock(root: &Path, lock: &str, ranks: bool, link: bool, files: &mut Files) {
    let needed = bundled::PACKAGES.into_iter();
    let needed = needed.filter(|package| is_needed(package, ranks, link));
    let dependencies: Vec<String> = needed.flat_map(bundled::dependencies).collect();
    if let Some(text) = locked::completed(lock, &dependencies) {
        match lock {
            "" => files.once(root.join(LOCK), text),
            _ => files.generated(root.join(LOCK), text),
        }
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
        "graphmap-derive",
        "graphmap-executor",
        "graphmap-fiber",
        "graphmap-link-mpi",
        "graphmap-mpi-core",
        "graphmap-mpi-derive",
        "graphmap-rankmap",
        "graphmap-runtime",
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
    /// The manifest with its dependency on the runtime: its own, or that of a workspace above it.
    pub manifest: PathBuf,
    /// Where its sources of the runtime are, in a folder [`bundled::FOLDER`].
    pub sources: Option<PathBuf>,
    /// Whether it has a copy of the sources there.
    pub copied: bool,
    /// Whether it has a copy of the sources in `vendor/`, where graphmap no longer maintains it.
    pub outdated: bool,
    /// The version of the runtime that it requires.
    pub requirement: Option<String>,
    /// Whether it is a workspace of its own, so that its lock file is in its folder.
    pub alone: bool,
    /// The folder of the runtime, if that is another one.
    pub runtime: Option<PathBuf>,
    /// Whether `mpiexec` may start it as several OS processes of one run.
    pub mpi: bool,
    /// Whether its program is one of ranks, which has no wiring.
    pub ranks: bool,
    /// Whether something else stands in the place of `mpi-sys`, by which the link over MPI calls MPI.
    pub patches_mpi_sys: bool,
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
                    .help("fix it, or move it away and make the project again with `graphmap new`"),
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
        let patch = |name: &str| manifest.get("patch")?.get("crates-io")?.get(name);
        // A project of ranks has the runtime below its `mpi`.
        let patched = || patch(bundled::MPI).and_then(|mpi| mpi.get("path")?.as_str());
        let inherited = inherited_dependencies(root, &manifest);
        // Paths are relative to the manifest that has them.
        let (runtime, base) = match (runtime_dependency(&manifest), &inherited) {
            (None, Some((folder, dependencies))) => {
                (runtime_dependency(dependencies), folder.as_path())
            }
            (runtime, _) => (runtime, root),
        };
        let path = runtime.and_then(|runtime| runtime.get("path")?.as_str());
        let main = path.or_else(patched);
        let sources = main.and_then(linked_at).map(|folder| base.join(folder));
        let requirement = runtime.and_then(|runtime| runtime.get("version")?.as_str());
        Ok(Some(Project {
            root: root.to_owned(),
            manifest: base.join("Cargo.toml"),
            graph: root.join(graph),
            package: name.to_owned(),
            copied: sources.as_deref().is_some_and(is_copy),
            sources,
            outdated: main.is_some_and(is_old),
            alone: manifest.contains_key("workspace"),
            requirement: requirement.map(str::to_owned),
            runtime: path
                .filter(|path| linked_at(path).is_none() && !is_old(path))
                .map(|path| base.join(path)),
            mpi: dependency("graphmap-link-mpi").is_some(),
            ranks,
            patches_mpi_sys: patch("mpi-sys").is_some(),
            skeletons: skeletons.map(|folder| root.join(folder)),
        }))
    }

    /// Whether graphmap maintains this file, so that the user should not change it: the wiring, the
    /// list of functions, and the source of the runtime, wherever that is.
    pub fn is_generated(&self, file: &Path) -> bool {
        let inside = |folder: &PathBuf| match (folder.canonicalize(), file.canonicalize()) {
            (Ok(folder), Ok(file)) => file.starts_with(folder),
            _ => false,
        };
        let generated = [WIRING, FUNCTIONS].map(|name| self.root.join(name));
        generated.iter().any(|own| same_file(own, file))
            || self.sources.iter().chain(&self.runtime).any(inside)
    }

    /// Returns the sources that a project with a copy of them contains.
    pub fn sources_to_copy(&self) -> Files {
        let mut files = Files::new();
        copy_sources(&self.root, self.ranks, self.mpi, &mut files);
        files
    }

    /// Returns the lock file if it lacks packages that the runtime depends on. The lock file of a
    /// workspace above the project is left to Cargo, which also reports one that cannot be read.
    pub fn lock(&self) -> Files {
        let mut files = Files::new();
        let has_runtime = self.sources.is_some() || self.runtime.is_some();
        if self.alone && has_runtime {
            let lock = input::text(&self.root.join(LOCK), Limit::SOURCE).unwrap_or_default();
            complete_lock(&self.root, &lock, self.ranks, self.mpi, &mut files);
        }
        files
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
        let mut files = self.lock();
        if self.copied {
            files.append(self.sources_to_copy());
        }
        if self.ranks {
            let doubts = Vec::new();
            return Ok(Regenerated { files, doubts });
        }
        let types = types_file(&self.root);
        let places = (&*self.root, &*types);
        let model = generate(network, skeletons, places, &mut files, diagnostics)?;
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

/// Returns the dependency on the runtime, wherever it is in a manifest and whatever it is called.
fn runtime_dependency(table: &toml::Table) -> Option<&toml::Table> {
    table.iter().find_map(|(key, value)| {
        let value = value.as_table()?;
        let package = value.get("package").and_then(|name| name.as_str());
        match package.unwrap_or(key) == bundled::RUNTIME && value.contains_key("path") {
            true => Some(value),
            false => runtime_dependency(value),
        }
    })
}

/// Returns the dependencies that members of the workspace above a project can inherit, and the
/// folder of the workspace. `None` if the project is a workspace of its own, or in none.
fn inherited_dependencies(root: &Path, manifest: &toml::Table) -> Option<(PathBuf, toml::Table)> {
    if manifest.contains_key("workspace") {
        return None;
    }
    let (folder, workspace) = workspace_above(root)?;
    let dependencies = workspace
        .get("workspace")?
        .get("dependencies")?
        .as_table()?;
    Some((folder, dependencies.clone()))
}

/// Returns the nearest folder above another that has the manifest of a workspace, and the manifest.
/// The folder is an absolute path.
pub fn workspace_above(folder: &Path) -> Option<(PathBuf, toml::Table)> {
    let absolute = std::path::absolute(folder).ok()?;
    let workspace = |folder: &Path| {
        let text = input::text(&folder.join("Cargo.toml"), Limit::SOURCE).ok()?;
        let manifest: toml::Table = text.parse().ok()?;
        manifest.contains_key("workspace").then_some(manifest)
    };
    let mut above = absolute.ancestors().skip(1);
    above.find_map(|folder| Some((folder.to_owned(), workspace(folder)?)))
}

fn is_old(path: &str) -> bool {
    path.trim_start_matches("./").starts_with(OLD_FOLDER)
}

/// Returns the part of a path that leads to the folder of our sources, if it leads into one.
fn linked_at(path: &str) -> Option<&str> {
    let (folder, _) = path.rsplit_once('/')?;
    (Path::new(folder).file_name()? == bundled::FOLDER).then_some(folder)
}

/// Whether the folder of the sources is a copy of them, not a link to one.
fn is_copy(sources: &Path) -> bool {
    let is_folder = sources.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_folder && sources.join(bundled::RUNTIME).join("Cargo.toml").is_file()
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
