//! Which packages run as ranks: a project, and those of its dependencies that use `mpi`.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

/// The package that programs of ranks use: rsmpi, or what takes its place.
const MPI: &str = "mpi";

/// What of a Cargo project runs as ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Project {
    /// Its own packages, and after them those of its dependencies that use `mpi`.
    pub packages: Vec<Package>,
    /// Its dependencies that do not: name and version, sorted.
    pub others: Vec<String>,
}

/// A package that runs as ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it is the project's own, not a dependency.
    pub own: bool,
    /// The first file of each of its crates.
    pub roots: Vec<PathBuf>,
    /// Its build script, if it has one.
    pub build_script: Option<PathBuf>,
}

/// Why a project has no ranks to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRanks {
    /// What Cargo told cannot be read.
    Unreadable(String),
    /// No package of it uses `mpi`; these are its packages.
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
    /// Whether it is linked into what is run; of a project's own packages tests are run, too.
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
    /// The project of which this is what `cargo metadata --format-version 1` prints.
    ///
    /// # Errors
    /// When it is something else, or no package of the project uses `mpi`.
    pub fn from_metadata(json: &[u8]) -> Result<Project, NoRanks> {
        let unreadable = |why: &dyn fmt::Display| NoRanks::Unreadable(why.to_string());
        let metadata: Metadata = serde_json::from_slice(json).map_err(|why| unreadable(&why))?;
        let no_graph = || unreadable(&"the dependency graph is missing");
        let resolve = metadata.resolve.ok_or_else(no_graph)?;
        let packages: BTreeMap<&str, &Described> =
            metadata.packages.iter().map(|p| (&*p.id, p)).collect();
        let nodes: BTreeMap<&str, &Node> = resolve.nodes.iter().map(|n| (&*n.id, n)).collect();
        let is_mpi = |id: &str| packages.get(id).is_some_and(|p| p.name == MPI);

        // A workspace without a package of its own is all of its members.
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
        // All that is linked but for what only `mpi` itself needs, and who needs whom.
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
    /// Whether it is code of the compiler's.
    fn is_macro(&self) -> bool {
        let mut kinds = self.targets.iter().flat_map(|t| &t.kind);
        kinds.any(|kind| kind == "proc-macro")
    }

    fn package(&self, own: bool) -> Package {
        // What a build script does is over before there are ranks; what it compiles is not.
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
