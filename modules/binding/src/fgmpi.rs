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
use graphmap_kpn::programs;
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
/// each run of consecutive OS processes with the same program and the same number of processes.
/// Omits OS processes without processes, so the text may be empty. Program and arguments are quoted
/// for a shell.
pub fn sections(launch: &Launch) -> String {
    let runs = launch
        .runs(|p| (launch.program_of(p), p.processes))
        .into_iter()
        .filter(|run| run.value.1 > 0);
    let section = |run: crate::Run<(&str, u32)>| {
        let (program, processes) = run.value;
        let words = launch.shell_words(program);
        format!("-n {} -nfg {processes} {words}", run.members.len())
    };
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
/// rank in the network of a rank of FG-MPI. If the network has several programs, the file is
/// compiled for each, with the number of the program in `GRAPHMAP_PROGRAM`.
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
    let programs = programs::of_processes(network);
    let of_kind = network.kinds.values().map(|kind| {
        let first = kind.members.first()?;
        programs[first.index()].name
    });
    let of_kind: Vec<Option<&str>> = of_kind.collect();
    let processes = mapping.os_process.len();
    render(&kinds, &names, &of_kind, &stretches, processes)
}

/// `programs` contains the program of each kind.
fn render(
    kinds: &[&str],
    names: &[String],
    programs: &[Option<&str>],
    stretches: &[Stretch],
    processes: usize,
) -> String {
    let mut text = String::from("/* Function of each rank of FG-MPI; written by graphmap. */\n\n");
    let mut several: Vec<Option<&str>> = Vec::new();
    for program in programs {
        if !several.contains(program) {
            several.push(*program);
        }
    }
    let mut line = |s: String| writeln!(text, "{s}").expect("a String takes all");
    if several.len() > 1 {
        line(EACH_PROGRAM.to_owned());
        for (number, program) in several.iter().enumerate() {
            let name = program.map_or("the default program".to_owned(), in_comment);
            line(format!("   {number}: {name}"));
        }
        line("*/".to_owned());
        line("#ifndef GRAPHMAP_PROGRAM".to_owned());
        line("#error \"define GRAPHMAP_PROGRAM as the number of the program\"".to_owned());
        line("#endif\n".to_owned());
    }
    line("#include <stddef.h>\n#include <mpi.h>\n#include <fgmpi.h>\n".to_owned());
    for ((kind, name), program) in kinds.iter().zip(names).zip(programs) {
        let comment = match name.strip_suffix("_process") == Some(kind) {
            true => String::new(),
            false => format!(" /* {} */", in_comment(kind)),
        };
        let declared = format!("int {name}(int argc, char **argv);{comment}");
        match several.iter().position(|p| p == program) {
            Some(number) if several.len() > 1 => line(format!(
                "#if GRAPHMAP_PROGRAM == {number}\n{declared}\n#else\n#define {name} NULL\n#endif"
            )),
            _ => line(declared),
        }
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

/// Returns a text without the ends of a comment in C and without control characters.
fn in_comment(text: &str) -> String {
    let text = text.replace("*/", "* /").replace("/*", "/ *");
    text.replace(char::is_control, " ")
}

const EACH_PROGRAM: &str = "\
/* There are several programs. Compile this file for each of them, with its number, such as
   -DGRAPHMAP_PROGRAM=1. A program needs the functions of its own kinds only.";

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
