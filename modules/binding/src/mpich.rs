//! MPICH: hostfile and configfile.
//!
//! The tests show how its launcher (hydra 4.0.2 and 5.0.2) behaves:
//!
//! * The order of the hostfile is rank order, and a host may occur several times. Sections of a
//!   configfile are used in order.
//! * `-host` in a section is **not** obeyed. The host of the first section gets all OS processes,
//!   so only the hostfile places OS processes.
//! * A configfile has no quotes.
//! * `-bind-to user:` has one list of cores for all lines of the hostfile, so the sections bind by
//!   `taskset`.
//!
//! A script has one section, in which each OS process looks up its cores by its rank (`start.rs`).

use crate::codes;
use crate::launch::{LONGEST_VALUE, Launch, on_cores, plain_variables, shell_quoted};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use std::fmt::Write;

/// Largest number of words in a configfile. With a few more, MPICH 4.0.2 writes beyond its memory.
const MOST_WORDS: usize = 900;

/// File name of the agent, which `mpiexec` calls instead of ssh. It is beside the script.
pub(crate) const AGENT: &str = "agent.sh";

/// Lines of a script that make `mpiexec` call [`AGENT`].
///
/// They replace only ssh, or an agent that the user has named. They do not replace the launcher in
/// a job of Slurm and similar systems. Options of the command line take precedence.
/// `HYDRA_LAUNCHER_EXEC` may name the agent of an enclosing launch, which would then call itself
/// without end. In that case, the agent that the enclosing one calls is used.
pub(crate) const CALLS_AGENT: &str = "\
case ${HYDRA_LAUNCHER:-ssh${SLURM_JOB_ID-}${PBS_JOBID-}${LSB_JOBID-}${PE_HOSTFILE-}${LOADL_STEP_ID-}${COBALT_JOBID-}} in ssh)
    case ${GRAPHMAP_AGENT:+${HYDRA_LAUNCHER_EXEC-}} in
    */agent.sh) ;;
    *) GRAPHMAP_AGENT=${HYDRA_LAUNCHER_EXEC:-ssh} ;;
    esac
    HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$here/agent.sh
    export GRAPHMAP_AGENT HYDRA_LAUNCHER HYDRA_LAUNCHER_EXEC
esac
";

/// Returns the text of [`AGENT`].
///
/// `mpiexec` (4.0.2) waits forever for a host that cannot be reached, and for one that lacks the
/// program. The agent reports the reason, and ends `mpiexec` after one second. Daemons on other
/// hosts need that second to start, so that they can be stopped.
///
/// The agent hides the exit status of the daemon, because nothing depends on it. A status other
/// than 0 comes from ssh, or from the checks that the agent adds to the command.
pub(crate) fn agent(launch: &Launch) -> String {
    // Only an absolute path is checked. The daemon itself looks up other names in its working
    // folder. Of several programs, a host may need only some. There each OS process checks its own.
    let programs = launch.programs();
    let program = programs[0];
    let look = match program.starts_with('/') && programs.len() == 1 {
        true => {
            let program = shell_quoted(program);
            format!("test -e {program} || exit 103; test -x {program} || exit 105; ")
        }
        false => String::new(),
    };
    let (title, program) = (launch.title(), shell_quoted(program));
    let look = shell_quoted(&look);
    // `format!` does not search the inserted texts for placeholders, unlike repeated `replace`.
    format!(
        "#!/bin/sh\n# {title}\n{AGENT_ABOUT}here=$(dirname -- \"$0\")\nprogram={program}\nlook={look}\n{AGENT_TEXT}"
    )
}

const AGENT_ABOUT: &str = "\
# mpiexec of MPICH calls this script instead of ssh, with options, a host and a command. If a host
# cannot be reached or lacks the program, mpiexec waits forever. This script reports the error and
# ends mpiexec.
";

const AGENT_TEXT: &str = r#"agent=${GRAPHMAP_AGENT:-ssh}
user=
flags=
# No message after an interrupt by the user.
trap 'exit 130' INT
# Options contain no spaces, because mpiexec splits HYDRA_LAUNCHER_EXTRA_ARGS at spaces.
set -f
while [ $# -gt 2 ]; do
    case $1 in
    -l) user=$2; shift 2 ;;
    # Options of ssh that take a value.
    -[BbcDEeFIiJLmOopPQRSWw]) flags="$flags $1 $2"; shift 2 ;;
    -*) flags="$flags $1"; shift ;;
    *) break ;;
    esac
done
host=$1
shift
case $1 in
*' '*) ;;
# csh has no `command` and prints an error.
*/*) look="${look}test -x $1 || exit 104; " ;;
*) look="${look}command -v $1 >/dev/null || exit 104; " ;;
esac
set -- "$host" "$look$*; true"
[ -z "$user" ] || set -- -l "$user" "$@"
"$agent" $flags "$@"
code=$?
case $code in
0) exit 0 ;;
103) why="does not have the program $program; \`graphmap run --copy\` copies it there" ;;
104) why="does not have hydra_pmi_proxy, the daemon of MPICH, at the same path as this host" ;;
105) why="has the program $program, but it is not executable; use \`chmod +x\` or \`graphmap run --copy\`" ;;
# Ended by a signal.
129 | 1[3-9]?) exit $code ;;
*) why="cannot be reached: \`$agent\` exited with status $code" ;;
esac
kill -0 "$PPID" 2>/dev/null || exit $code
name=$(printf '%s\n' "${host#*@}" | sed 's/[][\\.*^$]/\\&/g')
line=
# `graphmap run` removes its hostfile at the end, so its line number is of no use.
[ -n "${GRAPHMAP_RUNNING-}" ] || line=$(grep -n "^$name:" "$here/hostfile" 2>/dev/null | sed 's/:.*//;q')
printf '%s\n' "error: the host \`$host\`${line:+ (line $line of $here/hostfile)} $why" >&2
sleep 1
kill "$PPID" 2>/dev/null
exit $code
"#;

/// Facts about the access to hosts that a hostfile contains.
pub(crate) const ACCESS_FACTS: &[&str] = &["user", "binding"];

/// Returns the hostfile: runs of consecutive OS processes on one host as `host:n`, in rank order.
/// The known user and binding of the host follow (`user=`, `binding=`).
///
/// # Errors
/// `G0430` if an OS process has no host.
pub fn hostfile(launch: &Launch) -> Result<String, Diagnostics> {
    launch.needed_hosts("a hostfile")?;
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| p.host.as_deref().unwrap_or("")) {
        let (host, n) = (run.value, run.members.len());
        write!(text, "{host}:{n}").expect("a String takes all");
        if let Some(access) = launch.access(host) {
            let said = access.said();
            for (name, value) in said.iter().filter(|(name, _)| ACCESS_FACTS.contains(name)) {
                write!(text, " {name}={value}").expect("a String takes all");
            }
        }
        text.push('\n');
    }
    Ok(text)
}

/// Returns the variables in the form in which a section of a configfile sets them. Adds a warning
/// (`G0433`) to `out` for each variable whose value cannot be written, and omits this variable.
pub(crate) fn configfile_variables(launch: &Launch, out: &mut Diagnostics) -> String {
    let set = |name: &str, value: Option<&str>| {
        value.map_or(String::new(), |value| format!(" -env {name} {value}"))
    };
    plain_variables(&launch.environment, "a configfile", LONGEST_VALUE, set, out)
}

/// Returns the configfile, which has a section for each run of consecutive OS processes with the
/// same program, cores and number of processes. The variable `GRAPHMAP_PROCESSES` contains that
/// number. Sections with cores bind by `taskset`. The file names no hosts, because MPICH ignores
/// them there.
///
/// Adds a warning to `out` if there are more words than `mpiexec` 4.0.2 reads (`G0441`), and for
/// each variable whose value cannot be written (`G0433`).
///
/// # Errors
/// `G0433` if the program or an argument cannot be written.
pub fn configfile(launch: &Launch, out: &mut Diagnostics) -> Result<String, Diagnostics> {
    let set = configfile_variables(launch, out);
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| (launch.program_of(p), p.processes, p.cores.as_slice())) {
        let (n, (program, processes, cores)) = (run.members.len(), run.value);
        let words = on_cores(cores, &launch.plain_words(program, "a configfile")?);
        writeln!(
            text,
            "-n {n} -env GRAPHMAP_PROCESSES {processes}{set} {words}"
        )
        .expect("a String takes all");
    }
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let count = lines.map(|line| line.split(' ').count()).sum::<usize>();
    if count > MOST_WORDS {
        let what = format!(
            "the configfile has {count} words, but mpiexec of MPICH 4.0 crashes at more than {MOST_WORDS}"
        );
        out.push(
            Diagnostic::warning(codes::TOO_LONG, what)
                .with_note("MPICH 5 has no such limit")
                .help("write a script, which has no such limit: `--emit mpiexec=launch.sh`"),
        );
    }
    Ok(text)
}
