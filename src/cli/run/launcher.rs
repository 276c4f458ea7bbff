//! Checks that the launcher is installed, and belongs to the MPI that the program is built for.

use super::mpi::Mpi;
use crate::cli::exit::Exit;
use crate::cli::session::{Outcome, Session};
use crate::cli::supervisor::{self, Bound};
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Launchers that scripts call: the value of `--set launcher=`, the variable that names another
/// program, and names on PATH in order of preference.
const CALLED: [(&str, &str, &[&str]); 4] = [
    ("mpich", "MPIEXEC", &["mpiexec.mpich", "mpiexec"]),
    ("openmpi", "MPIEXEC", &["mpiexec.openmpi", "mpiexec"]),
    ("intel", "MPIEXEC", &["mpiexec"]),
    ("slurm", "SRUN", &["srun"]),
];

/// Words in the version text of a launcher, and the launcher of that MPI.
const WORDS: [(&str, &str); 4] = [
    ("Open MPI", "openmpi"),
    ("OpenRTE", "openmpi"),
    ("Intel(R) MPI", "intel"),
    ("HYDRA", "mpich"),
];

/// Variables that permit Open MPI 4 and 5 to start programs for root. Both must be 1.
const FOR_ROOT: [&str; 2] = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];

/// Checks that the script will find its launcher, and that the launcher starts programs for the
/// current user. Runs the launcher with `--version`, and blocks until it ends. `options` may set
/// variables for the launcher. Unknown launchers are not checked.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the launcher does not exist or belongs to
/// another MPI, or if it is of Open MPI and refuses to start programs for root.
pub(super) fn check(
    session: &mut Session<'_>,
    mpi: &Mpi,
    options: &BTreeMap<String, String>,
) -> Outcome<()> {
    let called = CALLED
        .iter()
        .find(|(launcher, ..)| *launcher == mpi.launcher);
    let Some((launcher, variable, names)) = called else {
        return Ok(());
    };
    let said = std::env::var_os(variable).filter(|value| !value.is_empty());
    let beside = mpi.mpiexec().filter(|_| *variable == "MPIEXEC");
    let (told, path) = match (&said, beside) {
        (Some(named), _) => {
            let told = format!("{variable}={}", named.display());
            (told, find_program(Path::new(named)))
        }
        (None, Some(path)) => (path.display().to_string(), Some(path)),
        (None, None) => {
            let found = names.iter().find_map(|name| find_program(Path::new(name)));
            let told = found.as_deref().and_then(Path::file_name);
            let told = told.map_or(names.join("` or `"), |name| name.display().to_string());
            (told, found)
        }
    };
    let Some(path) = path else {
        let why = match said {
            Some(_) => "names no program",
            None => "is not on PATH",
        };
        let what = format!("the program cannot be started: the launcher `{told}` {why}");
        let error = Diagnostic::error(codes::NO_MPI, what).help(format!(
            "install the launcher of the MPI of `{}`, or name it with {variable}=PROGRAM",
            mpi.compiler
        ));
        return session.fail(Exit::Usage, error);
    };
    match family(&path) {
        Some(family) if !goes_with(launcher, family) => {
            let what = format!("`{told}` is the launcher of another MPI");
            let error = Diagnostic::error(codes::NO_MPI, what)
                .with_note(format!(
                    "it belongs to `{family}`, but `{}` builds the program for `{launcher}`",
                    mpi.compiler
                ))
                .help(format!(
                    "build for this launcher with `--set launcher={family}`"
                ))
                .help(format!("or name another launcher with {variable}=PROGRAM"));
            session.fail(Exit::Usage, error)
        }
        Some("openmpi") => starts_for(session, &told, options),
        _ => Ok(()),
    }
}

/// Checks that Open MPI starts programs for the current user. `told` is the launcher for the
/// message.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] for root, unless both variables that permit it have
/// the value `1`. They are read from `options`, or otherwise from the environment.
fn starts_for(
    session: &mut Session<'_>,
    told: &str,
    options: &BTreeMap<String, String>,
) -> Outcome<()> {
    let is_one = |name: &&str| match options.get(&format!("env.{name}")) {
        Some(value) => value == "1",
        None => std::env::var_os(name).is_some_and(|value| value == "1"),
    };
    if is_root() && !FOR_ROOT.iter().all(is_one) {
        let what = format!("`{told}` of Open MPI does not start programs for root");
        let [one, other] = FOR_ROOT;
        let error = Diagnostic::error(codes::REFUSES_ROOT, what)
            .help("run as another user")
            .help(format!(
                "or set {one}=1 and {other}=1 in the environment, for example in a container"
            ));
        return session.fail(Exit::Usage, error);
    }
    Ok(())
}

/// Returns true if a launcher starts programs of the given MPI. Intel MPI is derived from MPICH.
fn goes_with(launcher: &str, family: &str) -> bool {
    launcher == family
        || [launcher, family]
            .iter()
            .all(|one| ["mpich", "intel"].contains(one))
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns the path of a program, as a shell would find it: on PATH for a single name, and
/// otherwise the file itself. Returns `None` if it does not exist.
fn find_program(name: &Path) -> Option<PathBuf> {
    match name.components().count() {
        1 => graphmap_plugin::find("", name.to_str()?),
        _ => name.is_file().then(|| name.to_owned()),
    }
}

/// Returns the MPI of a launcher, from its output with `--version`. Blocks until the launcher ends.
/// Returns `None` if that output names no MPI or the launcher cannot be run. A program with an
/// unusual name is not run, and the result is also `None`.
fn family(launcher: &Path) -> Option<&'static str> {
    let name = launcher.file_name()?.to_str()?;
    if !["mpiexec", "mpirun", "orterun", "prterun"]
        .iter()
        .any(|one| name.starts_with(one))
    {
        return None;
    }
    let command = supervisor::command(launcher.as_os_str(), Bound::Program);
    let mut command = command.ok()?;
    let output = command.arg("--version").stdin(Stdio::null()).output();
    let output = output.ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let found = WORDS.iter().find(|(word, _)| text.contains(word));
    found.map(|(_, family)| *family)
}
