//! The emitters: each of this crate's files under the name a user says.

use crate::command::{self, Launcher};
use crate::launch::{Launch, alone};
use crate::{fgmpi, intel, mapping_json, mpich, openmpi, slurm};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::mapping::Mapped;
use std::path::Path;

type Write = fn(&Launch, &mut Diagnostics) -> Result<String, Diagnostics>;

/// An emitter of one text.
struct Text {
    name: &'static str,
    about: &'static str,
    write: Write,
}

const TEXTS: &[Text] = &[
    Text {
        name: "hostfile",
        about: "MPICH hostfile: hosts in the order of ranks",
        write: |launch, _| mpich::hostfile(launch),
    },
    Text {
        name: "configfile",
        about: "MPICH configfile: sections for mpiexec",
        write: |launch, _| mpich::configfile(launch),
    },
    Text {
        name: "openmpi-hostfile",
        about: "Open MPI hostfile: hosts with their slots",
        write: |launch, _| openmpi::hostfile(launch),
    },
    Text {
        name: "rankfile",
        about: "Open MPI rankfile: host and cores of each rank",
        write: openmpi::rankfile,
    },
    Text {
        name: "appfile",
        about: "Open MPI appfile: sections with their hosts",
        write: |launch, _| openmpi::appfile(launch),
    },
    Text {
        name: "machinefile",
        about: "Intel MPI machinefile: hosts in the order of ranks",
        write: |launch, _| intel::machinefile(launch),
    },
    Text {
        name: "intel-configfile",
        about: "Intel MPI configfile: sections with their hosts and cores",
        write: |launch, _| intel::configfile(launch),
    },
    Text {
        name: "multi-prog",
        about: "Slurm program file for srun --multi-prog",
        write: |launch, _| slurm::multi_prog(launch),
    },
    Text {
        name: "slurm-hostfile",
        about: "Slurm SLURM_HOSTFILE: a host for each rank, for srun -m arbitrary",
        write: |launch, _| slurm::hostfile(launch),
    },
];

impl Emitter for Text {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn accepts(&self, path: &Path) -> bool {
        is_called(path, self.name)
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let launch = Launch::of(mapped, context.options)?;
        let text = (self.write)(&launch, context.diagnostics)?;
        files.generated(context.path, text);
        Ok(())
    }
}

/// `hostfile` itself, or a file with it as its extension: `farm.hostfile`.
fn is_called(path: &Path, name: &str) -> bool {
    path.file_name().is_some_and(|f| f == name) || path.extension().is_some_and(|e| e == name)
}

/// `mapping.json`.
struct MappingJson;

impl Emitter for MappingJson {
    fn name(&self) -> &str {
        "mapping"
    }

    fn about(&self) -> &str {
        "mapping.json: the mapping, for graphmap and any other program"
    }

    fn accepts(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|f| f.to_str()).unwrap_or("");
        name == "mapping.json" || name.ends_with(".mapping.json")
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        files.generated(context.path, mapping_json::write(mapped));
        Ok(())
    }
}

/// The mapping function of FG-MPI.
struct FgMpi;

impl Emitter for FgMpi {
    fn name(&self) -> &str {
        "fgmpi"
    }

    fn about(&self) -> &str {
        "FG-MPI's mapping function in C; the sections are `mpiexec` with launcher=fgmpi"
    }

    fn accepts(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|f| f.to_str()).unwrap_or("");
        name == "fgmpi.c" || name.ends_with(".fgmpi.c")
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        files.generated(context.path, fgmpi::mapping_function(mapped));
        Ok(())
    }
}

/// The script that starts the launcher.
struct Mpiexec;

impl Emitter for Mpiexec {
    fn name(&self) -> &str {
        "mpiexec"
    }

    fn about(&self) -> &str {
        "script that starts the launcher (option launcher=), with its files beside it"
    }

    fn accepts(&self, path: &Path) -> bool {
        path.file_name()
            .is_some_and(|f| f == "mpiexec.sh" || f == "launch.sh")
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let launch = Launch::of(mapped, context.options)?;
        let name = context
            .options
            .get("launcher")
            .map_or("mpich", String::as_str);
        let launcher = Launcher::from_name(name).map_err(|d| alone(*d))?;
        let made = command::command(&launch, launcher, context.diagnostics)?;
        for (name, text) in made.files {
            files.generated(context.path.with_file_name(name), text);
        }
        if launcher == Launcher::FgMpi {
            let path = context.path.with_file_name("fgmpi.c");
            files.generated(path, fgmpi::mapping_function(mapped));
        }
        files.executable(context.path, made.script);
        Ok(())
    }
}

/// All emitters of this crate.
pub fn emitters() -> Vec<Box<dyn Emitter + Send + Sync>> {
    let mut all: Vec<Box<dyn Emitter + Send + Sync>> = Vec::new();
    for &Text { name, about, write } in TEXTS {
        all.push(Box::new(Text { name, about, write }));
    }
    all.push(Box::new(FgMpi));
    all.push(Box::new(MappingJson));
    all.push(Box::new(Mpiexec));
    all
}
