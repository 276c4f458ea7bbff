//! Selects the packages that run as ranks: the project's own, and its dependencies that use `mpi`.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

/// Name of the package that programs of ranks use: rsmpi, or a replacement for it.
const MPI: &str = "mpi";

/// Packages of a Cargo project that run as ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// The project's own packages that use `mpi`, and after them the dependencies that do.
    pub packages: Vec<Package>,
    /// Dependencies that do not use `mpi`: name and version, sorted.
    pub others: Vec<String>,
}

/// A package that runs as ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Name of the package.
    pub name: String,
    /// Version of the package.
    pub version: String,
    /// Whether it belongs to the project. If not, it is a dependency.
    pub own: bool,
    /// Root file of each crate.
    pub roots: Vec<PathBuf>,
    /// Build script, if there is one.
    pub build_script: Option<PathBuf>,
}

/// Reasons why a project has no ranks to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRanks {
    /// The output of `cargo metadata` cannot be read.
    Unreadable(String),
    /// No package of the project uses `mpi`. The value has the names of its packages.
    WithoutMpi(Vec<String>),
}

impl fmt::Display for NoRanks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoRanks::Unreadable(why) => {
                write!(f, "cannot read the output of `cargo metadata`: {why}")
            }
            NoRanks::WithoutMpi(names) => {
                write!(
                    f,
                    "no package of the project uses `{MPI}`: `{}`",
                    names.join("`, `")
                )
            }
        }
    }
}

impl std::error::Error for NoRanks {}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Described>,
    workspace_members: Vec<String>,
    resolve: Option<Resolve>,
}

#[derive(Deserialize)]
struct Described {
    id: String,
    name: String,
    version: String,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
    root: Option<String>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

impl Dependency {
    /// Returns whether the dependency is linked into a program that runs. `own` is true for a
    /// dependency of one of the project's own packages: their dev-dependencies count, because their
    /// tests run too. Build dependencies never count.
    fn is_linked(&self, own: bool) -> bool {
        let linked = |kind: &Kind| match kind.kind.as_deref() {
            None => true,
            Some("dev") => own,
            Some(_) => false,
        };
        self.dep_kinds.iter().any(linked)
    }
}

impl Project {
    /// Reads a project from the output of `cargo metadata --format-version 1`.
    ///
    /// # Errors
    /// Returns [`NoRanks::Unreadable`] if `json` is not such output or lacks the dependency graph,
    /// and [`NoRanks::WithoutMpi`] if no package of the project uses `mpi`.
    pub fn from_metadata(json: &[u8]) -> Result<Project, NoRanks> {
        let unreadable = |why: &dyn fmt::Display| NoRanks::Unreadable(why.to_string());
        let metadata: Metadata = serde_json::from_slice(json).map_err(|why| unreadable(&why))?;
        let no_graph = || unreadable(&"the dependency graph is missing");
        let resolve = metadata.resolve.ok_or_else(no_graph)?;
        let packages: BTreeMap<&str, &Described> =
            metadata.packages.iter().map(|p| (&*p.id, p)).collect();
        let nodes: BTreeMap<&str, &Node> = resolve.nodes.iter().map(|n| (&*n.id, n)).collect();
        let is_mpi = |id: &str| packages.get(id).is_some_and(|p| p.name == MPI);

        // A workspace without a root package consists of all its members.
        let members: Vec<&str> = match &resolve.root {
            Some(root) => vec![root],
            None => metadata.workspace_members.iter().map(|m| &**m).collect(),
        };
        let linked = |id: &str| -> Vec<&str> {
            let own = members.contains(&id);
            let node = nodes.get(id).into_iter();
            let all = node.flat_map(|node| &node.deps);
            let linked = all.filter(|d| d.is_linked(own));
            linked.map(|d| &*d.pkg).collect()
        };
        // `reached` has all linked packages, without the packages that only `mpi` itself needs.
        // `users` maps each package to its dependents.
        let mut reached: BTreeSet<&str> = members.iter().copied().collect();
        let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut todo = members.clone();
        while let Some(id) = todo.pop() {
            for on in linked(id) {
                users.entry(on).or_default().push(id);
                if reached.insert(on) && !is_mpi(on) {
                    todo.push(on);
                }
            }
        }
        let mut ranks: BTreeSet<&str> = BTreeSet::new();
        let mut todo: Vec<&str> = reached.iter().copied().filter(|id| is_mpi(id)).collect();
        while let Some(id) = todo.pop() {
            for user in users.get(id).into_iter().flatten() {
                if ranks.insert(user) {
                    todo.push(user);
                }
            }
        }
        let own: BTreeSet<&str> = members
            .iter()
            .copied()
            .filter(|id| ranks.contains(id))
            .collect();
        if own.is_empty() {
            let names = members.iter().filter_map(|id| packages.get(id));
            return Err(NoRanks::WithoutMpi(names.map(|p| p.name.clone()).collect()));
        }
        let described = |wanted: &dyn Fn(&str) -> bool| -> Vec<&Described> {
            let all = metadata.packages.iter();
            let mut all: Vec<&Described> = all.filter(|p| wanted(&p.id)).collect();
            all.sort_by_key(|p| (&p.name, &p.version));
            all
        };
        let mut found = Project::default();
        for of_project in [true, false] {
            let wanted = |id: &str| match of_project {
                true => own.contains(id),
                false => ranks.contains(id) && !members.contains(&id),
            };
            let packages = described(&wanted).into_iter();
            found
                .packages
                .extend(packages.map(|p| p.package(of_project)));
        }
        let wanted = |id: &str| {
            reached.contains(id) && !ranks.contains(id) && !members.contains(&id) && !is_mpi(id)
        };
        let others = described(&wanted).into_iter().filter(|p| !p.is_macro());
        found.others = others
            .map(|p| format!("{} {}", p.name, p.version))
            .collect();
        Ok(found)
    }
}

impl Described {
    /// Returns whether the package is a procedural macro, which runs in the compiler.
    fn is_macro(&self) -> bool {
        let mut kinds = self.targets.iter().flat_map(|t| &t.kind);
        kinds.any(|kind| kind == "proc-macro")
    }

    fn package(&self, own: bool) -> Package {
        // A build script ends before there are ranks, but the code that it compiles runs with them.
        let is_script = |target: &&Target| target.kind.iter().any(|kind| kind == "custom-build");
        let build_script = self.targets.iter().find(is_script);
        let is_linked = |target: &&Target| {
            let mut kinds = target.kind.iter();
            match own {
                true => kinds.any(|kind| kind != "custom-build" && kind != "proc-macro"),
                false => kinds.any(|kind| kind.ends_with("lib")),
            }
        };
        let roots = self.targets.iter().filter(is_linked);
        let mut roots: Vec<PathBuf> = roots.map(|t| t.src_path.clone()).collect();
        roots.sort();
        roots.dedup();
        Package {
            name: self.name.clone(),
            version: self.version.clone(),
            own,
            roots,
            build_script: build_script.map(|target| target.src_path.clone()),
        }
    }
}
