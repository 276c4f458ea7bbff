//! Projects: a Cargo package around generated wiring.
//!
//! | file | owner |
//! |---|---|
//! | `Cargo.toml`, `README.md`, `.gitignore` | the user's, written once |
//! | `src/main.rs`, `src/types.rs` | the user's, written once |
//! | `src/processes/KIND.rs` | the user's, written once for each kind |
//! | `src/wiring.rs`, `src/processes/mod.rs` | generated again when the graph changes |
//! | `.graphmap` | the [sources](bundled) of the runtime: a link or a copy |
//! | `Cargo.lock` | Cargo; initially has entries for the dependencies of the runtime |
//!
//! A project names its graph by `[package.metadata.graphmap] graph = "..."` in its `Cargo.toml`. If
//! its wiring uses a user's folder of skeletons, `skeletons = "..."` there names the folder.

use crate::bundled;
use crate::codes;
use crate::context::Model;
use crate::doubts::{self, Doubt};
use crate::emitters::render;
use crate::family::{MPI, RUST};
use crate::layout::{FITTING, FUNCTIONS, GLUE, TYPES, WIRING, function_file, types_file};
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

/// Folder that contained a copy of the sources in projects of earlier versions of graphmap, which
/// did not use links.
const OLD_FOLDER: &str = "vendor/";

/// Lock file of a project.
const LOCK: &str = "Cargo.lock";

/// Graph file of a project of ranks that does not name one.
pub const RANKS_GRAPH: &str = "ranks.dot";

/// Source of the runtime in a new project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// A link to its sources at this path, relative to the project. The path is `.graphmap`, or is
    /// in the folder of a workspace.
    Linked(String),
    /// A copy of its sources in the project.
    Copied,
    /// A folder of the runtime at this path, relative to the project.
    Path(String),
}

impl Runtime {
    /// Returns the path of the bundled package `name`, relative to the project. For
    /// [`Runtime::Path`], the packages other than the runtime are in folders next to the runtime.
    pub(crate) fn package(&self, name: &str) -> String {
        match self {
            Runtime::Linked(folder) => format!("{folder}/{name}"),
            Runtime::Copied => format!("{}/{name}", bundled::FOLDER),
            // The other packages are in folders next to the runtime, as in graphmap's own
            // repository.
            Runtime::Path(path) if name == bundled::RUNTIME => path.clone(),
            Runtime::Path(path) => {
                format!(
                    "{path}/../{}",
                    name.strip_prefix("graphmap-").unwrap_or(name)
                )
            }
        }
    }

    /// Returns the version that a dependency on a bundled package states, or `None` for
    /// [`Runtime::Path`].
    pub(crate) fn requirement(&self) -> Option<&'static str> {
        (!matches!(self, Runtime::Path(_))).then_some(bundled::REQUIREMENT)
    }
}

/// Properties of a new project.
#[derive(Clone, Debug)]
pub struct NewProject<'a> {
    /// Its name. Characters that Cargo does not accept are replaced.
    pub name: &'a str,
    /// Path of its graph, relative to the project.
    pub graph_path: &'a str,
    /// Text of the graph, if it is to be copied to `graph_path`.
    pub graph_text: Option<&'a str>,
    /// Source of the runtime.
    pub runtime: Runtime,
    /// Whether `mpiexec` can start it as several OS processes of one run.
    pub mpi: bool,
    /// The user's folder of skeletons, relative to the project.
    pub skeletons: Option<&'a str>,
    /// Whether it is a workspace of its own. Otherwise it is a member of the workspace around it.
    pub alone: bool,
}

/// Returns all files of a new project, by their path in its folder, without writing them. Adds
/// warnings to `diagnostics`.
///
/// # Errors
/// As for [`render`]. Also returns an error for each kind whose name is too long for a file, or if
/// a skeleton of the project cannot be rendered.
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

/// Adds the files that depend on the graph to `files`: the wiring, and stubs of the user's files,
/// which are written only if they do not exist. `root` is the folder of the project, `types` the
/// file of its types. Returns the model of the wiring.
///
/// # Errors
/// As for [`create`].
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
    if let Some(glue) = &model.glue {
        let data = json!({ "graph": model.graph, "functions": glue.functions });
        files.once(root.join(GLUE), skeletons.render("project/glue", &data)?);
    }
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

/// Maximum length in bytes of a name that is used as a file name. File systems allow 255, and a
/// temporary file next to the file has a longer name.
const LONGEST_NAME: usize = 200;

/// Maximum length in bytes of the name of a project. Built files have longer names, because Cargo
/// appends numbers.
const LONGEST_PROJECT: usize = 150;

/// Returns an error if the name of a project is longer than 150 bytes, and otherwise `None`.
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

/// Checks that files can be named after the kinds.
///
/// # Errors
/// Returns an error for each kind whose function has a name longer than 200 bytes.
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

/// Returns true if a project needs the bundled package `package`. Only a project of ranks (`ranks`)
/// needs the packages of the API of rsmpi. Only one with the link over MPI (`link`) needs that
/// link. All projects need the other packages, such as the runtime.
fn is_needed(package: &str, ranks: bool, link: bool) -> bool {
    match package {
        bundled::MPI | bundled::MPI_DERIVE | bundled::FIBER => ranks,
        bundled::LINK => link,
        _ => true,
    }
}

/// Adds copies of the bundled packages that a project needs to `files`, in the folder `.graphmap`
/// of the project `root`. `ranks` and `link` select the packages, as for [`is_needed`].
pub(crate) fn copy_sources(root: &Path, ranks: bool, link: bool, files: &mut Files) {
    for (path, text) in bundled::files() {
        let package = path.split('/').next().unwrap_or_default();
        if is_needed(package, ranks, link) {
            files.generated(root.join(bundled::FOLDER).join(path), text);
        }
    }
}

/// Adds the lock file of the project `root` to `files`, with entries for the packages that the
/// bundled sources depend on. `ranks` and `link` select the sources, as for [`is_needed`]. `lock`
/// is the text of the lock file. Adds nothing if [`locked::completed`] returns `None`.
///
/// `lock` is empty if the file does not exist or cannot be read. The added file is then written
/// only if no file exists.
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

/// Returns a name that Cargo accepts for a package. Replaces all characters except ASCII letters,
/// digits, `_` and `-` by `-`, and removes `-` at both ends. Adds `network-` in front of a name
/// that does not begin with a letter. Adds `-network` to a keyword of Rust, and to a reserved name
/// such as `std` or `graphmap-runtime`. An empty name becomes `network`.
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

/// Changes to a project after a change of its graph.
#[derive(Debug)]
pub struct Regenerated {
    /// Generated files, and stubs for new kinds.
    pub files: Files,
    /// Possible errors in the user's own files.
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
    /// The manifest that contains the dependency on the runtime: its own, or the one of a workspace
    /// above it.
    pub manifest: PathBuf,
    /// Folder [`bundled::FOLDER`] of the runtime's sources, if it uses one.
    pub sources: Option<PathBuf>,
    /// Whether that folder is a copy of the sources.
    pub copied: bool,
    /// Whether it uses a copy of the sources in `vendor/`, which graphmap no longer maintains.
    pub outdated: bool,
    /// Version of the runtime that it requires.
    pub requirement: Option<String>,
    /// Whether it is a workspace of its own, so that its lock file is in its folder.
    pub alone: bool,
    /// Folder of the runtime, if it uses neither `sources` nor `vendor/`.
    pub runtime: Option<PathBuf>,
    /// Whether `mpiexec` can start it as several OS processes of one run.
    pub mpi: bool,
    /// Whether its program consists of ranks, which have no wiring.
    pub ranks: bool,
    /// Whether its manifest replaces `mpi-sys`, through which the link over MPI calls MPI.
    pub patches_mpi_sys: bool,
    /// The user's folder of skeletons that its wiring is made with.
    pub skeletons: Option<PathBuf>,
}

impl Project {
    /// Returns the project of a graph file, or `None` if it has none. The folder of the project is
    /// next to the graph and has the same name (`farm/` for `farm.dot`), or it is the folder that
    /// contains the graph. The `Cargo.toml` in the folder must name this graph, which must exist.
    ///
    /// # Errors
    /// Returns an error if one of these `Cargo.toml` exists but cannot be read or parsed.
    pub fn find(graph: &Path) -> Result<Option<Project>, Diagnostics> {
        let folder = match graph.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        // Without `./`, as the user would write it.
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

    /// Returns the project in a folder. Returns `None` if there is no `Cargo.toml`, or if it is not
    /// the manifest of a graphmap project. A project of ranks need not name its graph, which is
    /// then `ranks.dot`.
    ///
    /// # Errors
    /// Returns an error if the `Cargo.toml` exists but cannot be read or parsed.
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
        let graph = graph.or(ranks.then_some(RANKS_GRAPH));
        let name = package.and_then(|p| p.get("name")?.as_str());
        let (Some(graph), Some(name)) = (graph, name) else {
            return Ok(None);
        };
        let dependency = |name: &str| manifest.get("dependencies").and_then(|d| d.get(name));
        let patch = |name: &str| manifest.get("patch")?.get("crates-io")?.get(name);
        // A project of ranks depends on `mpi` instead of the runtime. Both packages are in the same
        // folder.
        let patched = || patch(bundled::MPI).and_then(|mpi| mpi.get("path")?.as_str());
        let inherited = inherited_dependencies(root, &manifest);
        // Paths are relative to the manifest that contains them.
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

    /// Returns true if graphmap maintains a file, so that the user should not change it. Such files
    /// are the wiring, the list of functions, and the sources of the runtime. Returns false for a
    /// file that does not exist.
    pub fn is_generated(&self, file: &Path) -> bool {
        let inside = |folder: &PathBuf| match (folder.canonicalize(), file.canonicalize()) {
            (Ok(folder), Ok(file)) => file.starts_with(folder),
            _ => false,
        };
        let generated = [WIRING, FUNCTIONS].map(|name| self.root.join(name));
        generated.iter().any(|own| same_file(own, file))
            || self.sources.iter().chain(&self.runtime).any(inside)
    }

    /// Returns the sources for a project that contains a copy of them, by their paths. It is not
    /// checked whether the project contains one.
    pub fn sources_to_copy(&self) -> Files {
        let mut files = Files::new();
        copy_sources(&self.root, self.ranks, self.mpi, &mut files);
        files
    }

    /// Returns the lock file with entries for the packages that the runtime depends on. Reads the
    /// present lock file. A lock file that cannot be read is not changed, and Cargo reports it.
    ///
    /// Returns no file if the lock file has one of these packages already, because Cargo maintains
    /// the others then. Also returns no file if the project is not a workspace of its own, or if
    /// both [`Project::sources`] and [`Project::runtime`] are `None`.
    pub fn lock(&self) -> Files {
        let mut files = Files::new();
        let has_runtime = self.sources.is_some() || self.runtime.is_some();
        if self.alone && has_runtime {
            let lock = input::text(&self.root.join(LOCK), Limit::SOURCE).unwrap_or_default();
            complete_lock(&self.root, &lock, self.ranks, self.mpi, &mut files);
        }
        files
    }

    /// Returns true if a file is the project's wiring. Returns false if it does not exist.
    pub fn is_wiring(&self, file: &Path) -> bool {
        same_file(&self.root.join(WIRING), file)
    }

    /// Returns the file of a function, by the function's identifier.
    pub fn function_file(&self, function: &str) -> PathBuf {
        function_file(&self.root, function)
    }

    /// Returns the generated files for the current graph, stubs for new kinds, and possible errors
    /// in the user's own files. [`crate::rustc`] explains compiler messages about these files by
    /// the graph. Adds warnings to `diagnostics`. Reads files of the project, but does not write
    /// them.
    ///
    /// The files include the completed lock file, and the sources if the project has a copy of
    /// them. They also include the present wiring as the file [`Project::fitting`], if a function
    /// may be outdated and that file does not exist. A project of ranks has no wiring, so that only
    /// its lock file and copied sources are returned.
    ///
    /// # Errors
    /// As for [`create`].
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
        let outdated = |doubt: &Doubt| doubt.if_rejected.code == codes::FUNCTION_OUTDATED;
        if fitting.is_none() && doubts.iter().any(outdated) {
            // Keeps the old wiring, so that an outdated function is reported until the user has
            // fixed it.
            files.generated(self.fitting(), wiring);
        }
        Ok(Regenerated { files, doubts })
    }

    /// Returns the file with the wiring that the functions were last known to fit. The file exists
    /// while a function may not fit the current wiring. The caller must delete it when all
    /// functions fit.
    pub fn fitting(&self) -> PathBuf {
        self.root.join(FITTING)
    }
}

/// Returns the first dependency on the runtime that has a `path`, in any table of a manifest and
/// under any name. Returns `None` if there is none.
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

/// Returns the folder of the workspace above a project, and the dependencies that its members can
/// inherit. `root` is the folder of the project, `manifest` its manifest. Returns `None` if the
/// project is a workspace of its own or is in none, or if the workspace states no such
/// dependencies.
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

/// Returns the nearest folder above `folder` that contains the manifest of a workspace, and the
/// manifest. `folder` itself is not searched. The result is an absolute path. Returns `None` if
/// there is none, or if `folder` cannot be made absolute. Manifests that cannot be read are
/// skipped.
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

/// Returns the path without its last name, if the rest ends with the folder of the bundled sources,
/// `.graphmap`. Otherwise returns `None`.
fn linked_at(path: &str) -> Option<&str> {
    let (folder, _) = path.rsplit_once('/')?;
    (Path::new(folder).file_name()? == bundled::FOLDER).then_some(folder)
}

/// Returns true if the folder of the sources is a copy of them. Returns false for a link, and for a
/// folder without the manifest of the runtime.
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
