//! The MPI that a program is built for: its compiler and its launcher.

use crate::cli::exit::Exit;
use crate::cli::session::{Outcome, Session};
use crate::codes;
use graphmap_binding::command::Launcher;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_wiring::project::Project;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compiler and launcher of an MPI.
pub(super) struct Mpi {
    /// Value of `--set launcher=`.
    pub(super) launcher: String,
    /// Name of the compiler, as passed to Cargo.
    pub(super) compiler: String,
    /// Path of the compiler, if the environment names it.
    named: Option<PathBuf>,
}

/// Launchers and compilers to look for, in order of preference. If both MPIs are installed, `mpicc`
/// may be either. The names of Debian are unambiguous.
const NAMED: [(&str, &str); 2] = [("mpich", "mpicc.mpich"), ("openmpi", "mpicc.openmpi")];
/// Compiler to look for after [`NAMED`]. Its header shows the MPI.
const PLAIN: &str = "mpicc";

/// Macros in the header of an MPI, and its launcher. The header of Intel MPI also defines the macro
/// of MPICH.
const MACROS: [(&str, &str); 3] = [
    ("I_MPI_VERSION", "intel"),
    ("OMPI_MAJOR_VERSION", "openmpi"),
    ("MPICH_VERSION", "mpich"),
];

impl Mpi {
    /// Chooses the MPI of the requested launcher, or of the compiler that the environment names
    /// (`MPICC`), or an installed one. A requested launcher takes precedence over `MPICC`.
    ///
    /// # Errors
    /// Reports an error and returns [`Exit::Usage`] if the launcher is unknown, if no MPI for it is
    /// installed, or if the MPI of `MPICC` is unknown.
    pub(super) fn choose(session: &mut Session<'_>, asked: Option<&str>) -> Outcome<Mpi> {
        if let Some(Err(error)) = asked.map(Launcher::from_name) {
            return session.fail(Exit::Usage, *error);
        }
        let variable = std::env::var("MPICC").ok();
        if let Some(compiler) = variable.filter(|name| asked.is_none() && !name.is_empty()) {
            return Mpi::of_variable(session, compiler);
        }
        let there = |(_, compiler): &(&str, &str)| graphmap_plugin::find("", compiler).is_some();
        let fits = |(launcher, _): &(&str, &str)| asked.is_none_or(|asked| asked == *launcher);
        if let Some((launcher, compiler)) = NAMED.iter().find(|mpi| fits(mpi) && there(mpi)) {
            return Ok(Mpi::new(launcher, compiler));
        }
        if let Some(path) = graphmap_plugin::find("", PLAIN) {
            let own = launcher_of(&path).ok();
            return Mpi::of_plain(session, own, asked);
        }
        let what = match asked {
            Some(asked) => {
                format!("no MPI is installed that builds programs for the launcher `{asked}`")
            }
            None => "no MPI is installed to build the program".to_owned(),
        };
        let error = Diagnostic::error(codes::NO_MPI, what)
            .with_note("graphmap looked for mpicc.mpich, mpicc.openmpi and mpicc")
            .help("install an MPI and libclang, on Debian `libmpich-dev libclang-dev` or `libopenmpi-dev libclang-dev`");
        session.fail(Exit::Usage, error)
    }

    /// Returns the MPI of [`PLAIN`], which may belong to any MPI. `own` is the launcher that its
    /// header shows, and `asked` the requested one. Without `own`, the requested launcher is
    /// assumed, or that of MPICH.
    ///
    /// # Errors
    /// Reports an error and returns [`Exit::Usage`] if the compiler builds for another MPI than the
    /// requested one.
    fn of_plain(
        session: &mut Session<'_>,
        own: Option<&'static str>,
        asked: Option<&str>,
    ) -> Outcome<Mpi> {
        let launchers = MACROS.map(|(_, launcher)| launcher);
        let launcher = match (asked, own) {
            (Some(asked), Some(own)) if asked != own && launchers.contains(&asked) => {
                // The launcher of Intel MPI starts programs for MPICH.
                if !(asked == "intel" && own == "mpich") {
                    let what = format!(
                        "no MPI is installed that builds programs for the launcher `{asked}`: `{PLAIN}` belongs to `{own}`"
                    );
                    let error = Diagnostic::error(codes::NO_MPI, what).help(format!(
                        "use that MPI with `--set launcher={own}`, or name the other compiler with MPICC=PROGRAM"
                    ));
                    return session.fail(Exit::Usage, error);
                }
                asked
            }
            // Slurm and others start programs of any MPI.
            (Some(asked), _) => asked,
            (None, own) => own.unwrap_or("mpich"),
        };
        Ok(Mpi::new(launcher, PLAIN))
    }

    /// Returns the MPI of the compiler that the environment names. Its header shows the MPI,
    /// because its name may be any.
    ///
    /// # Errors
    /// Reports an error and returns [`Exit::Usage`] if the compiler is not on PATH or cannot be
    /// run, or if its header is of an unknown MPI.
    fn of_variable(session: &mut Session<'_>, compiler: String) -> Outcome<Mpi> {
        let path = match compiler.contains(std::path::is_separator) {
            true => Some(PathBuf::from(&compiler)),
            false => graphmap_plugin::find("", &compiler),
        };
        let why = match path.as_deref().map(launcher_of) {
            Some(Ok(launcher)) => {
                return Ok(Mpi {
                    named: path,
                    ..Mpi::new(launcher, &compiler)
                });
            }
            Some(Err(why)) => why,
            None => "it is not on PATH".to_owned(),
        };
        let message = format!("the MPI of `MPICC={compiler}` is unknown");
        let error = Diagnostic::error(codes::NO_MPI, message)
            .with_note(why)
            .help("set MPICC to the compiler of an MPI, such as `mpicc.openmpi` or its path")
            .help("or unset it; `--set launcher=openmpi` uses the compiler of that MPI and ignores MPICC");
        session.fail(Exit::Usage, error)
    }

    fn new(launcher: &str, compiler: &str) -> Mpi {
        Mpi {
            launcher: launcher.to_owned(),
            compiler: compiler.to_owned(),
            named: None,
        }
    }

    /// Returns the MPI with the usual compiler of a launcher. Does not check that it is installed.
    pub(super) fn of_launcher(launcher: &str) -> Mpi {
        let mpi = NAMED.iter().find(|(of, _)| *of == launcher);
        Mpi::new(launcher, mpi.map_or(PLAIN, |(_, compiler)| compiler))
    }

    /// Returns the target folder of builds for this MPI, in the folder of the project. Cargo does
    /// not notice another MPI, and several MPIs may have one launcher. The name therefore contains
    /// the launcher, and the compiler if the environment names an unusual one.
    pub(super) fn target(&self, project: &Project) -> PathBuf {
        let mut name = format!("target/mpi-{}", self.launcher);
        let mpi = (&*self.launcher, &*self.compiler);
        let usual = NAMED.contains(&mpi) || mpi == ("mpich", PLAIN);
        if self.named.is_some() && !usual {
            let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
            name.extend(["-"]);
            name.extend(self.compiler.trim_start_matches('/').chars().map(plain));
        }
        project.root.join(name)
    }

    /// Returns the path of the program that is built for this MPI. The program need not exist.
    /// `release` means with optimisation.
    pub(super) fn program(&self, project: &Project, release: bool) -> PathBuf {
        let profile = if release { "release" } else { "debug" };
        self.target(project).join(profile).join(&project.package)
    }

    /// Returns the launcher beside the compiler that the environment names, because the first one
    /// on PATH may have another version. Returns `None` if the environment names no compiler or
    /// also names a launcher (`MPIEXEC`), or if there is no launcher beside the compiler.
    pub(super) fn mpiexec(&self) -> Option<PathBuf> {
        if std::env::var_os("MPIEXEC").is_some() {
            return None;
        }
        let compiler = self.named.as_deref()?;
        let name = compiler.file_name()?.to_str()?;
        let mpiexec = compiler.with_file_name(format!("mpiexec{}", name.strip_prefix("mpicc")?));
        let mpiexec = std::path::absolute(mpiexec).ok()?;
        mpiexec.is_file().then_some(mpiexec)
    }
}

/// Returns the launcher of the MPI whose header a compiler includes. Blocks until the compiler
/// ends.
///
/// # Errors
/// Returns the reason if the compiler cannot be run, or if it fails or its header is of an unknown
/// MPI.
fn launcher_of(compiler: &Path) -> Result<&'static str, String> {
    let mut command = Command::new(compiler);
    command.args(["-E", "-dM", "-include", "mpi.h", "-x", "c", "/dev/null"]);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("it cannot be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let defines = |name: &str| {
        let mut lines = text
            .lines()
            .filter_map(|line| line.strip_prefix("#define "));
        lines.any(|line| line.split(' ').next() == Some(name))
    };
    let found = MACROS.iter().find(|(name, _)| defines(name));
    found.map(|(_, launcher)| *launcher).ok_or_else(|| {
        let names = MACROS.map(|(name, _)| name).join(", ");
        format!("its mpi.h defines none of {names}")
    })
}
