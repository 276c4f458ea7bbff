//! The emitters of this crate, by the names that users write.

use crate::command::{self, Launcher};
use crate::launch::{LABEL, Launch, single};
use crate::ranks::{FIRST_RANK, MAIN, PROGRAM_PREFIX};
use crate::{codes, facts, fgmpi, intel, mapping_json, mpich, openmpi, ranks, slurm};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::mapping::Mapped;
use std::path::Path;

/// An emitter: a row of [`ALL`].
struct Row {
    name: &'static str,
    about: &'static str,
    /// File names that select the emitter, alone or after a dot: `hostfile`, `farm.hostfile`.
    files: &'static [&'static str],
    /// Facts about the access to hosts that the file contains. `None` if it names no hosts, or if
    /// its emitter checks them itself.
    access_facts: Option<&'static [&'static str]>,
    write: Write,
}

/// Output of an emitter.
enum Write {
    /// A text about the launch.
    Launch(fn(&Launch, &mut Diagnostics) -> Result<String, Diagnostics>),
    /// A text about the whole mapping.
    Mapping(fn(&Mapped, &mut Diagnostics) -> String),
    /// A script, with other files.
    Script,
}

const ALL: &[Row] = &[
    Row {
        name: "hostfile",
        about: "MPICH hostfile: hosts in the order of ranks",
        files: &["hostfile"],
        access_facts: Some(mpich::ACCESS_FACTS),
        write: Write::Launch(|launch, _| mpich::hostfile(launch)),
    },
    Row {
        name: "configfile",
        about: "MPICH configfile: sections for mpiexec, with their cores",
        files: &["configfile"],
        access_facts: None,
        write: Write::Launch(mpich::configfile),
    },
    Row {
        name: "openmpi-hostfile",
        about: "Open MPI hostfile: hosts with their slots",
        files: &["openmpi-hostfile"],
        access_facts: Some(openmpi::ACCESS_FACTS),
        write: Write::Launch(|launch, out| {
            openmpi::check_names(launch, out);
            openmpi::hostfile(launch)
        }),
    },
    Row {
        name: "rankfile",
        about: "Open MPI rankfile: host and cores of each rank",
        files: &["rankfile"],
        access_facts: Some(&[]),
        write: Write::Launch(|launch, out| {
            openmpi::check_names(launch, out);
            openmpi::rankfile(launch, out)
        }),
    },
    Row {
        name: "appfile",
        about: "Open MPI appfile: sections with their hosts and cores",
        files: &["appfile"],
        access_facts: Some(&[]),
        write: Write::Launch(|launch, out| {
            openmpi::check_names(launch, out);
            openmpi::appfile(launch, out)
        }),
    },
    Row {
        name: "machinefile",
        about: "Intel MPI machinefile: hosts in the order of ranks",
        files: &["machinefile"],
        access_facts: Some(intel::ACCESS_FACTS),
        write: Write::Launch(|launch, _| intel::machinefile(launch)),
    },
    Row {
        name: "intel-configfile",
        about: "Intel MPI configfile: sections with their hosts and cores",
        files: &["intel-configfile"],
        access_facts: Some(intel::ACCESS_FACTS),
        write: Write::Launch(intel::configfile),
    },
    Row {
        name: "multi-prog",
        about: "Slurm program file for srun --multi-prog",
        files: &["multi-prog"],
        access_facts: None,
        write: Write::Launch(|launch, out| {
            command::cores_lost_by_slurm(launch, out);
            slurm::multi_prog(launch, out)
        }),
    },
    Row {
        name: "slurm-hostfile",
        about: "Slurm SLURM_HOSTFILE: a host for each rank, for srun -m arbitrary",
        files: &["slurm-hostfile"],
        access_facts: Some(&[]),
        write: Write::Launch(|launch, _| slurm::hostfile(launch)),
    },
    Row {
        name: "fgmpi",
        about: "FG-MPI mapping function in C; for its sections, use `mpiexec` with launcher=fgmpi",
        files: &["fgmpi.c"],
        access_facts: None,
        write: Write::Mapping(fgmpi_c),
    },
    Row {
        name: "mapping",
        about: "mapping.json: the mapping, for graphmap and other programs",
        files: &["mapping.json"],
        access_facts: Some(&[]),
        write: Write::Mapping(|mapped, _| mapping_json::write(mapped)),
    },
    Row {
        name: "mpiexec",
        about: "script that starts the launcher (option launcher=), and the files that it needs",
        files: &["mpiexec.sh", "launch.sh"],
        access_facts: None,
        write: Write::Script,
    },
];

/// Options of emitters that describe a launch. Each accepts all of them, even if only another file
/// of the same launch uses an option.
const OPTIONS: &[&str] = &[
    "program",
    PROGRAM_PREFIX,
    "args",
    "env.",
    "agent",
    FIRST_RANK,
    MAIN,
];
/// Options of the emitter that writes the script.
const SCRIPT_OPTIONS: &[&str] = &[
    "program",
    PROGRAM_PREFIX,
    "args",
    "env.",
    "agent",
    FIRST_RANK,
    MAIN,
    LABEL,
    "launcher",
    MAPPING_FUNCTION,
];
/// Option that names the file with FG-MPI's mapping function. If it is set, the script does not
/// write that file.
pub const MAPPING_FUNCTION: &str = "fgmpi";

impl Emitter for &'static Row {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn options(&self) -> Option<&[&str]> {
        match self.write {
            Write::Launch(_) => Some(OPTIONS),
            Write::Mapping(_) => Some(&[]),
            Write::Script => Some(SCRIPT_OPTIONS),
        }
    }

    fn accepts(&self, path: &Path) -> bool {
        let called = path.file_name().unwrap_or_default().to_string_lossy();
        let is = |file: &&str| {
            let stem = called.strip_suffix(file);
            stem.is_some_and(|stem| stem.is_empty() || stem.ends_with('.'))
        };
        self.files.iter().any(is)
    }

    fn usual_file(&self) -> Option<&str> {
        self.files.first().copied()
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let text = match self.write {
            Write::Launch(write) => {
                let launch = launch(mapped, context)?;
                let text = write(&launch, context.diagnostics)?;
                if let Some(access_facts) = self.access_facts {
                    let file = format!("the output of `{}`", self.name);
                    launch.check_facts(&file, access_facts, context.diagnostics);
                }
                text
            }
            Write::Mapping(write) => {
                if let Some(access_facts) = self.access_facts {
                    let bindings = mapped.mapping().bindings.values();
                    let hosts = bindings.filter_map(|binding| binding.host.as_deref());
                    let facts = facts::of(context.platform);
                    facts::check(
                        hosts,
                        &facts,
                        "mapping.json",
                        access_facts,
                        context.diagnostics,
                    );
                }
                write(mapped, context.diagnostics)
            }
            Write::Script => return script(mapped, context, files),
        };
        files.generated(context.path, text);
        Ok(())
    }
}

/// Returns the launch of a mapped network.
///
/// Warns (`G0440`) of hosts on which more OS processes start than their `max_slots`. If
/// `first_rank` sets a rank, also warns of hosts on which more OS processes start than they have
/// slots.
///
/// # Errors
/// Errors of [`Launch::of`].
fn launch(mapped: &Mapped, context: &mut EmitContext<'_>) -> Result<Launch, Diagnostics> {
    let launch = Launch::of(mapped, context.options, context.platform)?;
    facts::check_limits(&launch.os_processes, &launch.facts, context.diagnostics);
    if ranks::first_rank(context.options)?.is_some() {
        ranks::check_slots(&launch.os_processes, context.platform, context.diagnostics);
    }
    Ok(launch)
}

/// Adds the script that starts the launcher, and its other files, to `files`. All are in the folder
/// of the script. For FG-MPI, they include `fgmpi.c`, unless the option `fgmpi` is set. The default
/// launcher is `mpich`. Warnings are those of [`launch`] and [`command::command`].
///
/// # Errors
/// Errors of [`Launch::of`] and [`command::command`]. `G0437` for an unknown launcher, and for a
/// rank in `first_rank` with FG-MPI.
fn script(
    mapped: &Mapped,
    context: &mut EmitContext<'_>,
    files: &mut Files,
) -> Result<(), Diagnostics> {
    let launch = launch(mapped, context)?;
    let name = context.options.get("launcher");
    let name = name.map_or("mpich", String::as_str);
    let launcher = Launcher::from_name(name).map_err(|d| single(*d))?;
    if launcher == Launcher::FgMpi && ranks::first_rank(context.options)?.is_some() {
        let what =
            "`first_rank=` cannot be used with FG-MPI, which gives each process its own rank";
        let error = Diagnostic::error(codes::BAD_OPTION, what);
        let help = "omit `first_rank=`; `fgmpi.c` contains the function of each rank";
        return Err(single(error.help(help)));
    }
    let made = command::command(&launch, launcher, context.diagnostics)?;
    for (name, text) in made.files {
        let path = context.path.with_file_name(name);
        match command::is_executable(name) {
            true => files.executable(path, text),
            false => files.generated(path, text),
        }
    }
    if launcher == Launcher::FgMpi && !context.options.contains_key(MAPPING_FUNCTION) {
        let path = context.path.with_file_name("fgmpi.c");
        files.generated(path, fgmpi_c(mapped, context.diagnostics));
    }
    files.executable(context.path, made.script);
    Ok(())
}

/// Returns FG-MPI's mapping function, and warns of glue functions, which it does not call.
fn fgmpi_c(mapped: &Mapped, out: &mut Diagnostics) -> String {
    fgmpi::warn_of_glue(mapped.network(), out);
    fgmpi::mapping_function(mapped)
}

/// Returns all emitters of this crate.
pub fn emitters() -> Vec<Box<dyn Emitter + Send + Sync>> {
    ALL.iter().map(|row| Box::new(row) as _).collect()
}

/// Returns true if the named emitter describes a launch, so that it reads the options of
/// [`Launch::of`]. Returns false for a name that is not an emitter of this crate.
pub fn describes_launch(name: &str) -> bool {
    let row = ALL.iter().find(|row| row.name == name);
    row.is_some_and(|row| !matches!(row.write, Write::Mapping(_)))
}
