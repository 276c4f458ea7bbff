//! Builds the program of a network; what the compiler finds is told where the user can mend it.

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

/// How a project is built.
pub(crate) struct Build<'a> {
    /// The project, whose generated files are up to date.
    pub(crate) project: &'a Project,
    /// Whether with optimisation.
    pub(crate) release: bool,
    /// For an MPI: its compiler, and a folder of its own for what is built.
    pub(crate) mpi: Option<(&'a str, &'a Path)>,
    /// The folder for intermediate files [default: the target folder].
    pub(crate) build_folder: Option<&'a Path>,
    /// Whether cargo may say on standard error what it does.
    pub(crate) talk: bool,
    /// Where it may not, what is done with what is to be told of a build that takes a while.
    pub(crate) tells: fn(&str),
    /// What is told then of a project of which something has to be compiled.
    pub(crate) building: &'a str,
    /// Who sees to it that nothing outlives us.
    pub(crate) supervise: &'a dyn Supervise,
}

/// Why there is no program; what was found tells more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// This signal told us to end.
    Interrupted(i32),
    /// Cargo could not be run, or found something other than the code wrong.
    Cargo,
    /// The code does not compile.
    Code,
}

impl Build<'_> {
    /// Builds the program: what was found, and where it is. `doubts` are about functions that may not fit;
    /// texts that diagnostics point into are added to `sources`.
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
            tells: self.tells,
            building: self.building,
            supervise: self.supervise,
        });
        // Of what is generated nothing can be mended, and nobody is to blame but us.
        let is_users = |file: &Path| !project.is_generated(file) && !cargo::is_foreign(file);
        let mut all = Diagnostics::new();
        // The compiler knows what fits; what else is told is what it cannot know.
        let certain: Vec<Doubt> = doubts.extract_if(.., |doubt| doubt.certain).collect();
        if built.is_ok() && certain.is_empty() {
            // It is not there where nothing was in doubt.
            let _ = fs::remove_file(project.fitting());
        }
        all.extend(certain.into_iter().map(|doubt| doubt.finding));
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
                    // Where it stays in what is generated, it is told there: better than not at all.
                    compiler::out_of_macros(message, root, is_users);
                }
                compiler::at_functions(&mut messages, root, |file, at| {
                    function_at(project, file, at)
                });
                let mut wrong = BTreeSet::new();
                let explain = |diagnostic: Diagnostic, file: &Path, pointed: &Pointed<'_>| {
                    let told = explainer.explain(diagnostic, file, pointed);
                    // A type that is missing says nothing of the function that names it.
                    if told.code != graphmap_wiring::codes::TYPE_MISSING {
                        wrong.insert(file.to_owned());
                    }
                    told
                };
                let found = compiler::diagnose(messages, root, sources, is_users, explain);
                for doubt in doubts {
                    let file = std::path::absolute(&doubt.file);
                    if file.is_ok_and(|file| wrong.contains(&file)) {
                        all.push(doubt.finding);
                    }
                }
                all.append(found);
                Err(Failed::Code)
            }
        };
        (all, result)
    }
}

/// The function that a place in a project's wiring hands to the runtime, and where it is declared.
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
