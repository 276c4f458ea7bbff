//! Builds the program of a network. Reports errors of the compiler at positions in the user's
//! files.

use super::cargo::{self, CargoBuild};
use super::compiler;
use super::supervise::Supervise;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::network::Verified;
use graphmap_kpn::source::SourceMap;
use graphmap_wiring::doubts::Doubt;
use graphmap_wiring::project::Project;
use graphmap_wiring::rustc::{self, Explainer, Pointed};
use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Description of a build.
pub(crate) struct Build<'a> {
    /// Project, whose generated files are up to date.
    pub(crate) project: &'a Project,
    /// Whether to build with optimization.
    pub(crate) release: bool,
    /// For a build with MPI: its compiler, and a separate target folder.
    pub(crate) mpi: Option<(&'a str, &'a Path)>,
    /// Folder for intermediate files [default: the target folder].
    pub(crate) build_folder: Option<&'a Path>,
    /// Whether cargo may print its progress on standard error.
    pub(crate) talk: bool,
    /// Receives messages about a build that takes long. It is called only if `talk` is false.
    pub(crate) progress: fn(&str),
    /// First of these messages, for when cargo starts to compile.
    pub(crate) building: &'a str,
    /// Supervision of the OS processes of the build.
    pub(crate) supervise: &'a dyn Supervise,
}

/// Why a build failed. The diagnostics contain the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// This signal interrupted the build.
    Interrupted(i32),
    /// Cargo could not be run, or failed for a reason other than the code.
    Cargo,
    /// The code does not compile.
    Code,
}

impl Build<'_> {
    /// Builds the program. Blocks until cargo ends. Returns the diagnostics, and the path of the
    /// program or why the build failed.
    ///
    /// `doubts` are about functions that may not fit the graph. The texts that diagnostics refer to
    /// are added to `sources`. If all functions fit, the file [`Project::fitting`] is deleted.
    pub(crate) fn run(
        &self,
        network: &Verified,
        mut doubts: Vec<Doubt>,
        sources: &mut SourceMap,
    ) -> (Diagnostics, Result<PathBuf, Failed>) {
        let project = self.project;
        let root = &*project.root;
        let built = cargo::build(&CargoBuild {
            project: root,
            name: &project.package,
            release: self.release,
            mpi: self.mpi,
            build_folder: self.build_folder,
            talk: self.talk,
            progress: self.progress,
            building: self.building,
            supervise: self.supervise,
        });
        // The user cannot fix generated code.
        let is_users = |file: &Path| !project.is_generated(file) && !cargo::is_foreign(file);
        let mut all = Diagnostics::new();
        // These are always reported, because the compiler cannot detect them. It decides about the
        // others.
        let certain: Vec<Doubt> = doubts.extract_if(.., |doubt| doubt.certain).collect();
        if built.is_ok() && certain.is_empty() {
            // Deletes the wiring that the functions last fitted. It is kept only while a function
            // may not fit.
            let _ = fs::remove_file(project.fitting());
        }
        all.extend(certain.into_iter().map(|doubt| doubt.if_rejected));
        let result = match built {
            Ok(built) => {
                if !built.warnings.is_empty() {
                    let warnings = compiler::in_files_of_user(built.warnings, root, is_users);
                    let explainer = Explainer::new(network);
                    let explain = |warning: Diagnostic, file: &Path, pointed: &Pointed<'_>| {
                        explainer.explain(warning, file, pointed)
                    };
                    let found = compiler::diagnose(warnings, root, sources, is_users, explain);
                    all.append(found);
                }
                Ok(built.program)
            }
            Err(cargo::Failed::Interrupted(signal)) => Err(Failed::Interrupted(signal)),
            Err(cargo::Failed::Cargo(diagnostic)) => {
                all.push(*diagnostic);
                Err(Failed::Cargo)
            }
            Err(cargo::Failed::Code(mut messages)) => {
                let explainer = Explainer::new(network);
                for message in &mut messages {
                    // A message without a position in the user's files keeps its position in
                    // generated code.
                    compiler::out_of_macros(message, root, is_users);
                }
                compiler::at_functions(&mut messages, root, |file, at| {
                    function_at(project, file, at)
                });
                let mut wrong = BTreeSet::new();
                let explain = |diagnostic: Diagnostic, file: &Path, pointed: &Pointed<'_>| {
                    let told = explainer.explain(diagnostic, file, pointed);
                    // A missing type is not an error of the function that names it.
                    if told.code != graphmap_wiring::codes::TYPE_MISSING {
                        wrong.insert(file.to_owned());
                    }
                    told
                };
                let found = compiler::diagnose(messages, root, sources, is_users, explain);
                for doubt in doubts {
                    let file = std::path::absolute(&doubt.file);
                    if file.is_ok_and(|file| wrong.contains(&file)) {
                        all.push(doubt.if_rejected);
                    }
                }
                all.append(found);
                Err(Failed::Code)
            }
        };
        (all, result)
    }
}

/// Returns the declaration, as file and byte range, of the function that a project's wiring passes
/// to the runtime at a position. `at` is a byte offset in `file`. Returns `None` if `file` is not
/// the wiring, if it passes no function there, or if the declaration is not found.
fn function_at(project: &Project, file: &Path, at: usize) -> Option<(PathBuf, Range<usize>)> {
    if !project.is_wiring(file) {
        return None;
    }
    let wiring = input::text(file, Limit::NETWORK).ok()?;
    let function = rustc::handed_function(&wiring, at)?;
    let file = std::path::absolute(project.function_file(function)).ok()?;
    let place = rustc::declaration(&input::text(&file, Limit::SOURCE).ok()?, function)?;
    Some((file, place))
}
