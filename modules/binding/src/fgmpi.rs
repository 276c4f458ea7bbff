//! FG-MPI: `-nfg` sections, and the mapping function in C.
//!
//! FG-MPI numbers its ranks through the sections: first the processes of OS process 0, then those
//! of OS process 1, and so on. The rank of FG-MPI and the rank of the network are equal only if the
//! OS processes contain the processes in rank order. This does not hold for the strategy `stack` if
//! a host occurs again later, so the C file contains both ranks. FG-MPI calls a function
//! (`FG_MapPtr_t`) to look up the function of each rank. Its table has one line for each run of
//! ranks.

use crate::codes;
use crate::launch::{Launch, shell_quoted};
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::identifier::kinds_in_c;
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::network::{KindId, ProcessId};
use std::fmt::Write;

/// Returns the part of a launch that FG-MPI can start: a copy with only the OS processes that run
/// processes.
///
/// Adds a note (`G0438`) to `out` if this omits OS processes. A section with `-nfg 0` would be
/// invalid.
pub fn started(launch: &Launch, out: &mut Diagnostics) -> Launch {
    let mut started = launch.clone();
    started.os_processes.retain(|p| p.processes > 0);
    let empty = launch.os_processes.len() - started.os_processes.len();
    if empty > 0 {
        let what = match empty {
            1 => "1 OS process has no processes; FG-MPI cannot start it".to_owned(),
            _ => format!("{empty} OS processes have no processes; FG-MPI cannot start them"),
        };
        out.push(
            Diagnostic::note(codes::EMPTY_OS_PROCESS, what).help("map onto fewer OS processes"),
        );
    }
    started
}

/// Returns the sections of the command: `-n 2 -nfg 4 ./farm : -n 1 -nfg 3 ./farm`. There is one for
/// each run of consecutive OS processes with the same number of processes. Omits OS processes
/// without processes, so the text may be empty. Program and arguments are quoted for a shell.
pub fn sections(launch: &Launch) -> String {
    let words = launch.shell_words();
    let runs = launch
        .runs(|p| p.processes)
        .into_iter()
        .filter(|run| run.value > 0);
    let section =
        |run: crate::Run<u32>| format!("-n {} -nfg {} {words}", run.members.len(), run.value);
    runs.map(section).collect::<Vec<_>>().join(" : ")
}

/// Returns the command line: `mpiexec`, then `-f` with the hostfile, then [`sections`]. `hostfile`
/// is the path of the hostfile, which is quoted for a shell. If it is `None`, there is no `-f`.
///
/// # Errors
/// `G0430` if only some OS processes have a host, also if `hostfile` is `None`.
pub fn command_line(launch: &Launch, hostfile: Option<&str>) -> Result<String, Diagnostics> {
    launch.hosts()?;
    let hosts = hostfile.map_or(String::new(), |h| format!("-f {} ", shell_quoted(h)));
    Ok(format!("mpiexec {hosts}{}", sections(launch)))
}

/// Consecutive ranks of FG-MPI that are consecutive in the network as well, and of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    first: usize,
    rank: usize,
    kind: KindId,
}

/// Returns a C file with the mapping function. Its `main` is compiled unless `GRAPHMAP_NO_MAIN` is
/// defined.
///
/// Each kind is a function `int KIND_process(int argc, char **argv)`, so that its name differs from
/// functions of the C library. `KIND` is the name of the kind in wiring in C. If that is not the
/// original name, a comment contains the latter. `graphmap_network_rank` in the file returns the
/// rank in the network of a rank of FG-MPI.
pub fn mapping_function(mapped: &Mapped) -> String {
    let (network, mapping) = (mapped.network(), mapped.mapping());
    let mut by_os_process: Vec<Vec<usize>> = vec![Vec::new(); mapping.bindings.len()];
    for (rank, number) in mapping.numbers().enumerate() {
        by_os_process[number as usize].push(rank);
    }
    let mut stretches: Vec<Stretch> = Vec::new();
    for (first, rank) in by_os_process.into_iter().flatten().enumerate() {
        let kind = network.processes[ProcessId::from_index(rank)].kind;
        let follows =
            |s: &Stretch| s.kind == kind && rank.checked_sub(s.rank) == Some(first - s.first);
        if !stretches.last().is_some_and(follows) {
            stretches.push(Stretch { first, rank, kind });
        }
    }
    let kinds: Vec<&str> = network
        .kinds
        .values()
        .map(|k| network.name(k.name))
        .collect();
    let names = kinds_in_c(kinds.iter().copied());
    let names: Vec<String> = names.iter().map(|name| format!("{name}_process")).collect();
    render(&kinds, &names, &stretches, mapping.os_process.len())
}

fn render(kinds: &[&str], names: &[String], stretches: &[Stretch], processes: usize) -> String {
    let mut text = String::from(
        "/* Function of each rank of FG-MPI; written by graphmap. */\n\n\
         #include <stddef.h>\n#include <mpi.h>\n#include <fgmpi.h>\n\n",
    );
    let mut line = |s: String| writeln!(text, "{s}").expect("a String takes all");
    for (kind, name) in kinds.iter().zip(names) {
        let comment = match name.strip_suffix("_process") == Some(kind) {
            true => String::new(),
            false => format!(
                " /* {} */",
                kind.replace("*/", "* /")
                    .replace("/*", "/ *")
                    .replace(char::is_control, " ")
            ),
        };
        line(format!("int {name}(int argc, char **argv);{comment}"));
    }
    line("\n/* For the ranks from `first`: rank in the network, and function. */".to_string());
    line("static const struct {\n    int first;\n    int rank;\n    int (*function)(int argc, char **argv);\n} graphmap_runs[] = {".to_string());
    for s in stretches {
        line(format!(
            "    {{{}, {}, {}}},",
            s.first,
            s.rank,
            names[s.kind.index()]
        ));
    }
    if stretches.is_empty() {
        line("    {0, 0, NULL},".to_string());
    }
    text.push_str("};\n");
    write!(
        text,
        "{}",
        C_FUNCTIONS.replace("PROCESSES", &processes.to_string())
    )
    .expect("a String takes all");
    text
}

const C_FUNCTIONS: &str = r#"
enum { graphmap_processes = PROCESSES };

/* Returns the run that contains a rank, or -1. */
static int graphmap_run(int rank)
{
    int low = 0, high = (int)(sizeof graphmap_runs / sizeof graphmap_runs[0]);
    if (rank < 0 || rank >= graphmap_processes)
        return -1;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (graphmap_runs[middle].first <= rank)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Returns the rank in the network of a rank of FG-MPI, or -1. */
int graphmap_network_rank(int rank)
{
    int run = graphmap_run(rank);
    return run < 0 ? -1 : graphmap_runs[run].rank + (rank - graphmap_runs[run].first);
}

/* FG-MPI also passes numbers below the first rank and above the last rank. */
FG_ProcessPtr_t graphmap_function(int argc, char **argv, int rank)
{
    int run = graphmap_run(rank);
    (void)argc;
    (void)argv;
    return run < 0 ? NULL : graphmap_runs[run].function;
}

FG_MapPtr_t graphmap_lookup(int argc, char **argv, char *name)
{
    (void)argc;
    (void)argv;
    (void)name;
    return &graphmap_function;
}

#ifndef GRAPHMAP_NO_MAIN
int main(int argc, char *argv[])
{
    FGmpiexec(&argc, &argv, &graphmap_lookup);
    return 0;
}
#endif
"#;
