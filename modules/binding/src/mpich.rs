//! MPICH: hostfile and configfile.
//!
//! What its launcher (hydra 4.0.2 and 5.0.2) does, as the tests show: the hostfile's order is rank
//! order and a host may come up again; sections of a configfile are taken in order; `-host` in a
//! section is **not** obeyed (the host of the first section takes all), so placement is the hostfile's
//! alone. A configfile knows no quotes. `-bind-to user:` has one list of cores for all lines of the
//! hostfile, so the sections bind by `taskset`. A script has one section, whose OS processes choose by
//! rank (`start.rs`).

use crate::codes;
use crate::launch::{LONGEST_VALUE, Launch, on_cores, plain_variables, shell_quoted};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use std::fmt::Write;

/// Most words of a configfile: MPICH 4.0.2 writes beyond its memory at some more.
const MOST_WORDS: usize = 900;

/// What the script has `mpiexec` call instead of ssh, beside the script.
pub(crate) const AGENT: &str = "agent.sh";

/// The lines of a script that have `mpiexec` call [`AGENT`]: where it is ssh that it would call, or what somebody has named
/// instead, and not what starts programs in a job of Slurm and others. Options of the command line hold. What has been named may be
/// the agent of a launch around this one, which would call itself without end: then it is what that one calls.
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

/// The text of [`AGENT`]. `mpiexec` (4.0.2) waits for ever for a host that cannot be reached, and for one that lacks the
/// program: this tells which it is, and ends `mpiexec`, after a second in which daemons on other hosts come up and can be told.
/// Of what the daemon ends with nothing follows, so it is hidden: what is not 0 is the agent's own, or asked for here.
pub(crate) fn agent(launch: &Launch) -> String {
    // What is not said by a whole path is looked for by the daemon, where it has been told to be.
    let look = match launch.program.starts_with('/') {
        true => {
            let program = shell_quoted(&launch.program);
            format!("test -e {program} || exit 103; test -x {program} || exit 105; ")
        }
        false => String::new(),
    };
    let (title, program) = (launch.title(), shell_quoted(&launch.program));
    let look = shell_quoted(&look);
    // What one of them has is not looked at again.
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

/// What of the access to hosts a hostfile says.
pub(crate) const SAYS: &[&str] = &["user", "binding"];

/// The hostfile: runs of OS processes on one host as `host:n`, in rank order.
///
/// # Errors
/// `G0430` when hosts are missing.
pub fn hostfile(launch: &Launch) -> Result<String, Diagnostics> {
    launch.needed_hosts("a hostfile")?;
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| p.host.as_deref().unwrap_or("")) {
        let (host, n) = (run.value, run.members.len());
        write!(text, "{host}:{n}").expect("a String takes all");
        if let Some(access) = launch.access(host) {
            let said = access.said();
            for (name, value) in said.iter().filter(|(name, _)| SAYS.contains(name)) {
                write!(text, " {name}={value}").expect("a String takes all");
            }
        }
        text.push('\n');
    }
    Ok(text)
}

/// Returns the variables as a section of a configfile sets them.
pub(crate) fn configfile_variables(launch: &Launch, out: &mut Diagnostics) -> String {
    let set = |name: &str, value: Option<&str>| {
        value.map_or(String::new(), |value| format!(" -env {name} {value}"))
    };
    plain_variables(&launch.environment, "a configfile", LONGEST_VALUE, set, out)
}

/// The configfile: a section for each run of OS processes that have the same cores and hold equally
/// many processes, a number they find in the variable `GRAPHMAP_PROCESSES`.
///
/// More words than `mpiexec` 4.0.2 reads are a warning (`G0441`) in `out`, and so is a variable whose
/// value it cannot say (`G0433`).
///
/// # Errors
/// `G0433` when the program or an argument cannot be written.
pub fn configfile(launch: &Launch, out: &mut Diagnostics) -> Result<String, Diagnostics> {
    let words = launch.plain_words("a configfile")?;
    let set = configfile_variables(launch, out);
    let mut text = format!("# {}\n", launch.title());
    for run in launch.runs(|p| (p.processes, p.cores.as_slice())) {
        let (n, (processes, cores)) = (run.members.len(), run.value);
        let words = on_cores(cores, &words);
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
