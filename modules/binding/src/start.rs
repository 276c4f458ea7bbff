//! The shell line by which each OS process of a launcher becomes the program.
//!
//! Files of launchers have no quotes, and their lengths are limited. `mpiexec` of MPICH 4.0.2
//! crashes at about 900 words of a configfile. Lines of an appfile end at 8 KiB (Open MPI 4) or 1
//! KiB (Open MPI 5). Therefore a script starts the same few words in each OS process, [`WORDS`].
//! They evaluate the variable [`VARIABLE`], which contains a line for a shell. This line looks up
//! the values for its rank, binds itself to cores, and executes the program.

use crate::codes;
use crate::launch::{Launch, ranges, shell_quoted, single};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use std::fmt::Write;

/// Variable that contains the line.
pub(crate) const VARIABLE: &str = "GRAPHMAP_START";
/// Words of a script that make each OS process evaluate the line.
pub(crate) const WORDS: &str = r#"sh -c 'eval "$GRAPHMAP_START"'"#;
/// Largest length of the line in bytes. Linux limits a variable with its name to 128 KiB.
const MOST: usize = 130_000;

/// Differences between launchers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Startup {
    /// The rank, as a shell expression.
    pub(crate) rank: &'static str,
    /// True if the line binds OS processes to cores.
    pub(crate) binds: bool,
    /// Shell commands that end the job. Empty if the launcher ends it when an OS process fails.
    pub(crate) ends: &'static str,
}

impl Startup {
    /// MPICH and launchers derived from it.
    ///
    /// `mpiexec` waits forever for an OS process that ends before `MPI_Init`, so that process asks
    /// PMI 1 to abort the job. Some versions of `sh` cannot write to a descriptor above 9, so
    /// `bash` is tried as well. Without a PMI socket, it kills the daemon that started it. It
    /// sleeps first, because a daemon that aborts no longer forwards the stderr of its processes.
    pub(crate) const HYDRA: Startup = Startup {
        rank: "${PMI_RANK:-$PMI_ID}",
        binds: true,
        ends: r#"sleep 1; for sh in sh bash; do $sh -c "printf 'cmd=abort exitcode=2\n' >&$PMI_FD" 2>/dev/null && exit 2; done; [ -z "$rank" ] || kill -KILL $PPID; "#,
    };
    /// Open MPI.
    pub(crate) const OPEN_MPI: Startup = Startup {
        rank: "$OMPI_COMM_WORLD_RANK",
        binds: true,
        ends: "",
    };
    /// Slurm, which binds OS processes itself.
    pub(crate) const SLURM: Startup = Startup {
        rank: "$SLURM_PROCID",
        binds: false,
        ends: "",
    };
}

/// Returns shell commands that check whether a program exists, and execute it.
fn starts(launch: &Launch, program: &str) -> String {
    let quoted = shell_quoted(program);
    let is_there = match program.contains('/') {
        true => format!("[ -x {quoted} ]"),
        false => format!("command -v {quoted} >/dev/null"),
    };
    let missing = shell_quoted(&format!("cannot find the executable {program}"));
    let words = launch.shell_words(program);
    format!("{is_there} || fail {missing}; exec {words}")
}

/// Returns the shell line by which each OS process of a launch becomes the program.
///
/// The line sets `GRAPHMAP_PROCESSES`, binds the OS process to its cores if it has any and
/// [`Startup::binds`] is true, and executes the program. If it cannot bind, or if the program is
/// not found or not executable, it prints an error, ends the job as [`Startup::ends`] says, and
/// exits with status 2. Only OS process 0 keeps the variable `GRAPHMAP_RUNNING`, if it is set. That
/// variable names a file to which the program reports that it runs.
///
/// # Errors
/// `G0441` if the line is too long for a variable.
pub(crate) fn line(launch: &Launch, startup: Startup) -> Result<String, Diagnostics> {
    let cores = |cores| {
        if startup.binds {
            ranges(cores)
        } else {
            String::new()
        }
    };
    let programs = launch.programs();
    let number = |p| {
        programs
            .iter()
            .position(|known| *known == launch.program_of(p))
    };
    let mut runs = String::new();
    // The last rank, the number of processes and the cores of each run, and the number of its
    // program if there are several.
    for run in launch.runs(|p| (p.processes, cores(&p.cores), number(p))) {
        let last = run.first + run.members.len() - 1;
        let (processes, cores, program) = run.value;
        write!(runs, " {last}:{processes}:{cores}").expect("a String takes all");
        if let Some(program) = program.filter(|_| programs.len() > 1) {
            write!(runs, ":{program}").expect("a String takes all");
        }
    }
    let starts = match &programs[..] {
        [program] => starts(launch, program),
        several => {
            let cases = several.iter().enumerate();
            let cases = cases.map(|(i, program)| format!("{i}) {};; ", starts(launch, program)));
            format!("case $program in {}esac", cases.collect::<String>())
        }
    };
    let takes_program = match programs.len() {
        1 => "",
        _ => "program=${cores#*:}; cores=${cores%%:*}; ",
    };
    let line = format!(
        "rank={}; for run in{runs}; do [ \"$rank\" -gt \"${{run%%:*}}\" ] || break; done; \
         run=${{run#*:}}; cores=${{run#*:}}; {takes_program}export GRAPHMAP_PROCESSES=\"${{run%%:*}}\"; unset {VARIABLE}; \
         [ \"$rank\" = 0 ] || unset GRAPHMAP_RUNNING; \
         fail() {{ printf '%s\\n' \"error: OS process $rank on $(uname -n) $1\" >&2; {}exit 2; }}; \
         [ -z \"$cores\" ] || why=$(taskset -cp \"$cores\" $$ 2>&1) || fail \"cannot be bound to cores $cores: $why\"; \
         {starts}",
        startup.rank, startup.ends,
    );
    if line.len() <= MOST {
        return Ok(line);
    }
    let what = format!(
        "the line that starts the program has {} bytes, but a variable can have {MOST}",
        line.len()
    );
    let help = "pass long arguments in a file, or bind fewer OS processes to their own cores";
    Err(single(
        Diagnostic::error(codes::TOO_LONG, what)
            .with_note(
                "the line contains the program, its arguments, and the cores of each OS process",
            )
            .help(help),
    ))
}
