//! FG-MPI: `-nfg` sections, and the mapping function in C.
//!
//! FG-MPI numbers its ranks through the sections: first the processes of OS process 0, then those
//! of OS process 1, and so on. The rank of FG-MPI and the rank of the network are equal only if the
//! OS processes contain the processes in rank order. This does not hold for the strategy `stack` if
//! a host occurs again later, so the C file contains both ranks. FG-MPI calls a function
//! (`FG_MapPtr_t`) to look up the function of each rank. Its table has nested loops of ranks, so
//! the repeated modules of a network take one line for each kind in them.
//!
//! FG-MPI passes the arguments of the program to all its ranks, and a rank cannot ask for its
//! number before it calls `MPI_Init`. Therefore each list of arguments in the network has a
//! function of its own, which calls the function of the kind with that list.

use crate::codes;
use crate::launch::{Launch, shell_quoted};
use crate::loops::{self, Iteration, Table};
use graphmap_kpn::arena::Id;
use graphmap_kpn::c_text;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::identifier::{Case, Language, identifier, kinds_in_c};
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::network::{Kind, Network, ProcessId};
use graphmap_kpn::programs;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
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

/// A kind in C.
struct KindInC<'n> {
    /// Its name in the network.
    name: &'n str,
    /// Its function.
    function: String,
    /// The header that declares the function.
    header: Option<&'n str>,
    /// Its program.
    program: Option<&'n str>,
    /// The distinct lists of arguments of its processes. Empty if it has no parameters.
    lists: Vec<Vec<String>>,
}

/// Function of a process: of a kind, with one of its lists of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Start {
    kind: usize,
    list: Option<usize>,
}

/// Returns a C file with the mapping function. Its `main` is compiled unless `GRAPHMAP_NO_MAIN` is
/// defined.
///
/// Each kind is a function `int KIND_process(int argc, char **argv)`, so that its name differs from
/// functions of the C library. `KIND` is the name of the kind in wiring in C. If that is not the
/// original name, a comment contains the latter. If all processes of a kind have the same attribute
/// `function`, that is the name of the function, and their attribute `header` is included.
/// `graphmap_network_rank` in the file returns the
/// rank in the network of a rank of FG-MPI. If the network has several programs, the file is
/// compiled for each, with the number of the program in `GRAPHMAP_PROGRAM`.
///
/// The function of a kind with parameters gets the original name of the kind as `argv[0]`, and the
/// arguments of the process after it. Other functions get the arguments of the program.
pub fn mapping_function(mapped: &Mapped) -> String {
    let (network, mapping) = (mapped.network(), mapped.mapping());
    let (kinds, starts) = kinds_and_starts(network);
    let mut by_os_process: Vec<Vec<(Start, u32)>> = vec![Vec::new(); mapping.bindings.len()];
    for ((rank, number), start) in (0..).zip(mapping.numbers()).zip(starts) {
        by_os_process[number as usize].push((start, rank));
    }
    let ranks = by_os_process.concat();
    render(&kinds, &loops::table(&ranks), ranks.len())
}

/// Warns (`G0449`) of the glue functions of a network, which [`mapping_function`] does not call.
pub fn warn_of_glue(network: &Network, out: &mut Diagnostics) {
    let Some(glue) = network.glue.first() else {
        return;
    };
    let message = format!(
        "`fgmpi.c` does not call glue functions, such as `{}`",
        glue.function
    );
    out.push(
        Diagnostic::warning(codes::GLUE_LOST, message)
            .help("call them in a `main` of your own, and define GRAPHMAP_NO_MAIN"),
    );
}

/// Returns the kinds of a network, and the function of each process in rank order.
fn kinds_and_starts(network: &Network) -> (Vec<KindInC<'_>>, Vec<Start>) {
    let names = network.kinds.values().map(|kind| network.name(kind.name));
    let functions = kinds_in_c(names.clone()).into_iter();
    let programs = programs::of_processes(network);
    let kinds = network.kinds.values().zip(names).zip(functions);
    let kinds = kinds.map(|((kind, name), function)| KindInC {
        name,
        function: attribute(network, kind, "function")
            .filter(|name| identifier(name, Case::Kept, Language::C) == *name && *name != "main")
            .map_or_else(|| format!("{function}_process"), str::to_owned),
        header: attribute(network, kind, "header").filter(|header| {
            !header.is_empty() && !header.contains(|c: char| c.is_control() || "\"\\".contains(c))
        }),
        program: kind
            .members
            .first()
            .and_then(|first| programs[first.index()].name),
        lists: Vec::new(),
    });
    let mut kinds: Vec<KindInC<'_>> = kinds.collect();
    let mut known: Vec<FxHashMap<Vec<String>, usize>> = vec![FxHashMap::default(); kinds.len()];
    let start = |id: ProcessId| {
        let kind = network.processes[id].kind;
        let parameters = network.parameters.get(&kind);
        let kind = kind.index();
        let has_parameters = parameters.is_some_and(|parameters| !parameters.is_empty());
        let list = has_parameters.then(|| {
            // Verification has checked that each process has all arguments.
            let values = network.arguments[&id].iter().map(|value| value.plain());
            let lists = &mut kinds[kind].lists;
            *known[kind]
                .entry(values.collect())
                .or_insert_with_key(|list| {
                    lists.push(list.clone());
                    lists.len() - 1
                })
        });
        Start { kind, list }
    };
    let starts = network.processes.ids().map(start).collect();
    (kinds, starts)
}

/// Returns the value of an attribute that all processes of a kind have with the same value.
fn attribute<'n>(network: &'n Network, kind: &Kind, name: &str) -> Option<&'n str> {
    let of = |process: &ProcessId| {
        let list = network.attributes.processes.get(*process);
        let mut all = network.attribute_texts(list);
        all.find(|(own, _)| *own == name).map(|(_, value)| value)
    };
    let (first, others) = kind.members.split_first()?;
    let value = of(first)?;
    others
        .iter()
        .all(|other| of(other) == Some(value))
        .then_some(value)
}

fn render(kinds: &[KindInC<'_>], table: &Table<Start>, processes: usize) -> String {
    let mut text = String::from("/* Function of each rank of FG-MPI; written by graphmap. */\n\n");
    let mut several: Vec<Option<&str>> = Vec::new();
    for kind in kinds {
        if !several.contains(&kind.program) {
            several.push(kind.program);
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
    let have_arguments = kinds.iter().any(|kind| !kind.lists.is_empty());
    if have_arguments {
        line("#include <stddef.h>\n#include <stdio.h>\n#include <stdlib.h>".to_owned());
        line("#include <string.h>\n#include <mpi.h>\n#include <fgmpi.h>".to_owned());
        line(CALL.to_owned());
    } else {
        line("#include <stddef.h>\n#include <mpi.h>\n#include <fgmpi.h>\n".to_owned());
    }
    let headers: BTreeSet<&str> = kinds.iter().filter_map(|kind| kind.header).collect();
    for header in headers {
        line(format!("#include \"{header}\""));
    }
    for (number, kind) in kinds.iter().enumerate() {
        let KindInC { name, function, .. } = kind;
        let comment = match function.strip_suffix("_process") == Some(*name) {
            true => String::new(),
            false => format!(" /* {} */", in_comment(name)),
        };
        let mut declared = format!("int {function}(int argc, char **argv);{comment}");
        let mut used = vec![function.clone()];
        if !kind.lists.is_empty() {
            used = (0..kind.lists.len())
                .map(|list| start_name(number, list))
                .collect();
        }
        for (start, list) in used.iter().zip(&kind.lists) {
            let words = list
                .iter()
                .map(|word| format!(", {}", c_text::literal(word)));
            let words: String = words.collect();
            let name = c_text::literal(name);
            declared.push_str(&format!(
                "\nstatic int {start}(int argc, char **argv)\n{{\n    \
                 static const char *const words[] = {{{name}{words}, NULL}};\n    \
                 (void)argc;\n    (void)argv;\n    \
                 return graphmap_call({function}, words);\n}}"
            ));
        }
        match several.iter().position(|p| *p == kind.program) {
            Some(number) if several.len() > 1 => {
                let absent = used.iter().map(|name| format!("#define {name} NULL\n"));
                let absent: String = absent.collect();
                line(format!(
                    "#if GRAPHMAP_PROGRAM == {number}\n{declared}\n#else\n{absent}#endif"
                ));
            }
            _ => line(declared),
        }
    }
    line(TABLE.to_owned());
    for row in &table.rows {
        let (rows, function) = match &row.iteration {
            Iteration::Rows(rows) => (rows.clone(), "NULL".to_owned()),
            Iteration::Item(Start { kind, list }) => {
                let named = list.map(|list| start_name(*kind, list));
                (0..0, named.unwrap_or_else(|| kinds[*kind].function.clone()))
            }
        };
        line(format!(
            "    {{{}, {}, {}, {}, {}, {}, {function}}},",
            row.first, row.number, row.length, row.step, rows.start, rows.end
        ));
    }
    if table.rows.is_empty() {
        line("    {0, 0, 1, 0, 0, 0, NULL},".to_string());
    }
    text.push_str("};\n");
    let functions = C_FUNCTIONS.replace("PROCESSES", &processes.to_string());
    text + &functions.replace("OUTERMOST", &table.outermost.to_string())
}

/// Returns the name of the function that calls a kind with one of its lists of arguments.
fn start_name(kind: usize, list: usize) -> String {
    format!("graphmap_start_{kind}_{list}")
}

/// Returns a text without the ends of a comment in C and without control characters.
fn in_comment(text: &str) -> String {
    let text = text.replace("*/", "* /").replace("/*", "/ *");
    text.replace(char::is_control, " ")
}

const EACH_PROGRAM: &str = "\
/* There are several programs. Compile this file for each of them, with its number, such as
   -DGRAPHMAP_PROGRAM=1. A program needs the functions of its own kinds only.";

/// Not static, because a program may have no kind with parameters.
const CALL: &str = r#"
/* Calls a function with a copy of the words, which it may change. NULL follows the last word. */
int graphmap_call(FG_ProcessPtr_t function, const char *const *words)
{
    int argc, code;
    size_t bytes = sizeof(char *);
    char **argv, *text;
    for (argc = 0; words[argc]; argc++)
        bytes += sizeof(char *) + strlen(words[argc]) + 1;
    argv = malloc(bytes);
    if (!argv) {
        fputs("out of memory\n", stderr);
        exit(2);
    }
    argv[argc] = NULL;
    text = (char *)(argv + argc + 1);
    for (argc = 0; words[argc]; argc++) {
        argv[argc] = strcpy(text, words[argc]);
        text += strlen(text) + 1;
    }
    code = function(argc, argv);
    free(argv);
    return code;
}
"#;

const TABLE: &str = "
/* Loops over ranks of FG-MPI. An iteration of a row has `length` ranks, and each iteration adds
   `step` to their ranks in the network. It is one rank with `function` if `end` is 0, and otherwise
   consists of the rows from `begin` to `end`. `first` and `rank`, of FG-MPI and in the network, are
   relative to the iteration that contains the row. */
static const struct {
    int first, rank, length, step, begin, end;
    int (*function)(int argc, char **argv);
} graphmap_rows[] = {";

const C_FUNCTIONS: &str = r#"
enum { graphmap_processes = PROCESSES, graphmap_outermost = OUTERMOST };

/* Returns the row of a rank, or -1. Its rank in the network is stored in `network`. */
static int graphmap_row(int rank, int *network)
{
    int begin = 0, end = graphmap_outermost;
    *network = -1;
    if (rank < 0 || rank >= graphmap_processes)
        return -1;
    *network = 0;
    for (;;) {
        int low = begin, high = end;
        while (high - low > 1) {
            int middle = low + (high - low) / 2;
            if (graphmap_rows[middle].first <= rank)
                low = middle;
            else
                high = middle;
        }
        rank -= graphmap_rows[low].first;
        *network += graphmap_rows[low].rank;
        *network += rank / graphmap_rows[low].length * graphmap_rows[low].step;
        rank %= graphmap_rows[low].length;
        begin = graphmap_rows[low].begin;
        end = graphmap_rows[low].end;
        if (!end)
            return low;
    }
}

/* Returns the rank in the network of a rank of FG-MPI, or -1. */
int graphmap_network_rank(int rank)
{
    int network;
    (void)graphmap_row(rank, &network);
    return network;
}

/* FG-MPI also passes numbers below the first rank and above the last rank. */
FG_ProcessPtr_t graphmap_function(int argc, char **argv, int rank)
{
    int network, row = graphmap_row(rank, &network);
    (void)argc;
    (void)argv;
    return row < 0 ? NULL : graphmap_rows[row].function;
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
