//! The command that starts a mapped network: a shell script and the files that it needs.

use crate::launch::{Launch, shell_quoted};
use crate::start::{self, Startup};
use crate::{codes, fgmpi, intel, mpich, openmpi, slurm};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::nearest::nearest;

/// Program that starts the OS processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// MPICH's `mpiexec`.
    Mpich,
    /// Open MPI's `mpiexec`, version 4 or 5.
    OpenMpi,
    /// Intel MPI's `mpiexec`.
    Intel,
    /// Slurm's `srun`.
    Slurm,
    /// FG-MPI's `mpiexec`.
    FgMpi,
}

impl Launcher {
    /// All launchers, with the names that users write.
    pub const ALL: [(&'static str, Launcher); 5] = [
        ("mpich", Launcher::Mpich),
        ("openmpi", Launcher::OpenMpi),
        ("intel", Launcher::Intel),
        ("slurm", Launcher::Slurm),
        ("fgmpi", Launcher::FgMpi),
    ];

    /// Returns the launcher with a name of [`Launcher::ALL`], in the same case.
    ///
    /// # Errors
    /// `G0437` for an unknown name. The diagnostic lists the known names, and suggests the nearest
    /// one if it is similar.
    pub fn from_name(name: &str) -> Result<Launcher, Box<Diagnostic>> {
        let found = Launcher::ALL.into_iter().find(|(n, _)| *n == name);
        found.map(|(_, launcher)| launcher).ok_or_else(|| {
            let names = Launcher::ALL.map(|(n, _)| n);
            let error =
                Diagnostic::error(codes::BAD_OPTION, format!("there is no launcher `{name}`"));
            let error = error.with_note(format!("the launchers are {}", names.join(", ")));
            Box::new(match nearest(name, names) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error,
            })
        })
    }
}

/// Files that start a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The script. It finds the other files in its own folder, and passes its arguments to the
    /// launcher. The variable `MPIEXEC` (for Slurm, `SRUN`) names another launcher.
    pub script: String,
    /// Names and contents of the other files.
    pub files: Vec<(&'static str, String)>,
}

/// Returns true if a file of [`Command::files`] must be executable. `name` is its name there. Of
/// these files, this is only the agent of MPICH.
pub fn is_executable(name: &str) -> bool {
    name == mpich::AGENT
}

/// Returns the script for a launcher, and its other files. Writes no files itself.
///
/// Adds warnings to `out` about properties of the launch that the files cannot contain: access to
/// hosts (`G0445`), cores with Slurm and FG-MPI (`G0432`), and the agent with Slurm (`G0437`). For
/// Open MPI, also warns of names of hosts (`G0439`). For FG-MPI, adds a note about OS processes
/// without processes (`G0438`).
///
/// # Errors
/// `G0430` if only some OS processes have a host. `G0441` if the line that starts the program is
/// too long for a variable, which FG-MPI does not need. `G0441` also if the sections for Open MPI
/// are too long for a command.
pub fn command(
    launch: &Launch,
    launcher: Launcher,
    out: &mut Diagnostics,
) -> Result<Command, Diagnostics> {
    // The sections for Open MPI name hosts, so that Open MPI ignores users and ports of its
    // hostfile.
    let access_facts = match launcher {
        Launcher::Mpich | Launcher::FgMpi => mpich::ACCESS_FACTS,
        Launcher::Intel => intel::ACCESS_FACTS,
        Launcher::OpenMpi | Launcher::Slurm => &[],
    };
    launch.check_facts("the files of this launcher", access_facts, out);
    let n = launch.os_processes.len();
    let placed = launch.hosts()?.is_some();
    let mut files = Vec::new();
    let mut set = String::new();
    let mut last = "";
    let startup = match launcher {
        Launcher::Mpich | Launcher::Intel => Some(Startup::HYDRA),
        Launcher::OpenMpi => Some(Startup::OPEN_MPI),
        Launcher::Slurm => Some(Startup::SLURM),
        // Sections of FG-MPI contain the number of processes of each OS process.
        Launcher::FgMpi => None,
    };
    if let Some(startup) = startup {
        let line = shell_quoted(&start::line(launch, startup)?);
        let variable = start::VARIABLE;
        set = format!("{variable}={line}\nexport {variable}\n");
    }
    let words = start::WORDS;
    let mut add = |name, text| {
        files.push((name, text));
        format!("\"$here/{name}\"")
    };
    let (program, line) = match launcher {
        Launcher::Mpich => {
            let mut line = String::new();
            if placed {
                line += &format!(" -f {}", add("hostfile", mpich::hostfile(launch)?));
            }
            if placed {
                add(mpich::AGENT, mpich::agent(launch));
                last = mpich::CALLS_AGENT;
            }
            (MPICH, format!("{line} -n {n} {words}"))
        }
        Launcher::OpenMpi => {
            openmpi::check_names(launch, out);
            let mut line = String::new();
            if placed {
                let hosts = add("openmpi-hostfile", openmpi::hostfile(launch)?);
                line += &format!(" --hostfile {hosts}");
            } else {
                set += OVERSUBSCRIBE;
            }
            let sections = openmpi::sections(launch, words)?;
            (OPEN_MPI, format!("{line} --bind-to none {sections}"))
        }
        Launcher::Intel => (MPIEXEC, format!(" {}", intel::sections(launch, words))),
        Launcher::Slurm => {
            let mut line = String::new();
            if placed {
                let hosts = add("slurm-hostfile", slurm::hostfile(launch)?);
                set += &format!("SLURM_HOSTFILE={hosts}\nexport SLURM_HOSTFILE\n");
                line += " --distribution=arbitrary";
            }
            cores_lost_by_slurm(launch, out);
            (SRUN, format!("{line} -n {n} {words}"))
        }
        Launcher::FgMpi => {
            let started = fgmpi::started(launch, out);
            let mut line = String::new();
            if placed {
                line += &format!(" -f {}", add("hostfile", mpich::hostfile(&started)?));
            }
            lost(launch, "FG-MPI's sections do not name cores", out);
            (MPIEXEC, format!("{line} {}", fgmpi::sections(launch)))
        }
    };
    let label = match launcher {
        _ if !launch.label => "",
        Launcher::Mpich | Launcher::Intel | Launcher::FgMpi => " -prepend-rank",
        // The option of version 4, which version 5 accepts as well.
        Launcher::OpenMpi => " --tag-output",
        Launcher::Slurm => " --label",
    };
    let (title, exports) = (launch.title(), launch.exports());
    set += &calls(launch, launcher, out);
    let script = format!(
        "#!/bin/sh\n# {title}\n# Arguments are passed to the launcher.\nhere=$(dirname -- \"$0\")\n{set}{exports}{last}exec {program} \"$@\"{label}{line}\n"
    );
    Ok(Command { script, files })
}

/// Returns the lines of a script that make the launcher call the agent of the launch. Without an
/// agent, the text is empty. For Slurm, the text is empty too, and a warning in `out` (`G0437`)
/// says that the agent has no effect.
fn calls(launch: &Launch, launcher: Launcher, out: &mut Diagnostics) -> String {
    let Some(agent) = &launch.agent else {
        return String::new();
    };
    // Each variable is for some versions of the launcher. The others ignore it.
    let variables: &[(&str, &str)] = match launcher {
        Launcher::Mpich | Launcher::FgMpi => {
            &[("HYDRA_LAUNCHER", "ssh"), ("HYDRA_LAUNCHER_EXEC", agent)]
        }
        Launcher::OpenMpi => &[
            ("OMPI_MCA_plm_rsh_agent", agent),
            ("PRTE_MCA_plm_ssh_agent", agent),
        ],
        Launcher::Intel => &[
            ("I_MPI_HYDRA_BOOTSTRAP", "ssh"),
            ("I_MPI_HYDRA_BOOTSTRAP_EXEC", agent),
        ],
        Launcher::Slurm => {
            let what = "`agent` has no effect with Slurm, which starts programs itself";
            out.push(Diagnostic::warning(codes::BAD_OPTION, what));
            &[]
        }
    };
    let line =
        |(name, value): &(&str, &str)| format!("{name}={}\nexport {name}\n", shell_quoted(value));
    variables.iter().map(line).collect()
}

// If both MPIs are installed, `mpiexec` may be either one. Names with a suffix are Debian's.
const MPICH: &str = "\"${MPIEXEC:-$(command -v mpiexec.mpich || echo mpiexec)}\"";
const OPEN_MPI: &str = "\"${MPIEXEC:-$(command -v mpiexec.openmpi || echo mpiexec)}\"";
// If there are no hosts, the user has chosen the number of OS processes on this host. Open MPI
// would refuse more OS processes than cores, but MPICH does not. A value that is already set is
// kept. The first variable is for version 4, the second for version 5.
const OVERSUBSCRIBE: &str = "\
OMPI_MCA_rmaps_base_oversubscribe=${OMPI_MCA_rmaps_base_oversubscribe-1}
PRTE_MCA_rmaps_default_mapping_policy=${PRTE_MCA_rmaps_default_mapping_policy-:oversubscribe}
export OMPI_MCA_rmaps_base_oversubscribe PRTE_MCA_rmaps_default_mapping_policy
";
const MPIEXEC: &str = "\"${MPIEXEC:-mpiexec}\"";
const SRUN: &str = "\"${SRUN:-srun}\"";

/// Warns (`G0432`) if an OS process is bound to cores, because Slurm's files do not contain them. A
/// note names the option of `srun` that binds, or says why none does.
pub(crate) fn cores_lost_by_slurm(launch: &Launch, out: &mut Diagnostics) {
    let why = match slurm::cpu_bind(launch) {
        Some(bind) => format!("if whole hosts are allocated, pass `{bind}` to the script"),
        None => "Slurm's `--cpu-bind` has one list of cores for all hosts".to_string(),
    };
    lost(launch, &why, out);
}

/// Warns (`G0432`) if an OS process is bound to cores, because the files do not contain them. `why`
/// is a note with the reason.
fn lost(launch: &Launch, why: &str, out: &mut Diagnostics) {
    if launch.unbound() {
        return;
    }
    out.push(
        Diagnostic::warning(
            codes::BINDING_LOST,
            "the binding to cores is not in these files",
        )
        .with_note(why)
        .with_note("the OS processes still run on their hosts; `mapping.json` contains the binding")
        .help("to bind to cores, use the launcher `mpich`, `openmpi` or `intel`"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os_process::OsProcess;

    #[test]
    fn launchers_label_lines() {
        let launch = Launch {
            label: true,
            program: "./p".into(),
            os_processes: vec![OsProcess::default(); 2],
            ..Launch::default()
        };
        for (launcher, option) in [
            (Launcher::Mpich, " -prepend-rank -n 2 "),
            (Launcher::OpenMpi, " --tag-output --bind-to none "),
            (Launcher::Intel, " -prepend-rank "),
            (Launcher::Slurm, " --label -n 2 "),
        ] {
            let script = |launch: &Launch| {
                let made = command(launch, launcher, &mut Diagnostics::new());
                made.unwrap().script
            };
            assert!(script(&launch).contains(option), "{launcher:?}");
            let launch = Launch {
                label: false,
                ..launch.clone()
            };
            assert!(!script(&launch).contains(option), "{launcher:?}");
        }
    }

    #[test]
    fn launchers_call_the_agent() {
        let launch = Launch {
            agent: Some("/opt/my ssh".into()),
            ..Launch::default()
        };
        for (launcher, line, warnings) in [
            (Launcher::Mpich, "HYDRA_LAUNCHER_EXEC='/opt/my ssh'", 0),
            (Launcher::OpenMpi, "OMPI_MCA_plm_rsh_agent='/opt/my ssh'", 0),
            (Launcher::OpenMpi, "PRTE_MCA_plm_ssh_agent='/opt/my ssh'", 0),
            (
                Launcher::Intel,
                "I_MPI_HYDRA_BOOTSTRAP_EXEC='/opt/my ssh'",
                0,
            ),
            (Launcher::Slurm, "", 1),
        ] {
            let mut found = Diagnostics::new();
            let lines = calls(&launch, launcher, &mut found);
            assert!(
                lines.lines().any(|l| l == line) != line.is_empty(),
                "{lines}"
            );
            assert_eq!(found.into_iter().count(), warnings, "{launcher:?}");
            assert_eq!(
                calls(&Launch::default(), launcher, &mut Diagnostics::new()),
                ""
            );
        }
    }
}
