//! Compiles the C mapping function against a header with FG-MPI's part of the API, and calls it for
//! every rank. If there is no C compiler, the test is skipped with a message.
mod common;
use common::mapped;
use graphmap_binding::{fgmpi, mapping_json};
use graphmap_kpn::arena::Id;
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::network::ProcessId;
use graphmap_testing::{Need, skip};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

/// FG-MPI's types and functions in the generated file, as its manual declares them.
const HEADER: &str = "
typedef int (*FG_ProcessPtr_t)(int argc, char **argv);
typedef FG_ProcessPtr_t (*FG_MapPtr_t)(int argc, char **argv, int rank);
int FGmpiexec(int *argc, char ***argv, FG_MapPtr_t (*lookup)(int argc, char **argv, char *name));
";

const FARM: &str = "digraph farm {
    manager -> w1 [src=a]; manager -> w2 [src=b]; manager -> w3 [src=c]; manager -> w4 [src=d];
    w1 -> \"the sink\" [dst=a]; w2 -> \"the sink\" [dst=b]; w3 -> \"the sink\" [dst=c]; w4 -> \"the sink\" [dst=d];
}";

#[test]
fn every_rank_finds_its_function() {
    if let Err(wrong) = Command::new("cc").arg("--version").output() {
        skip(Need::C, format!("cc does not start: {wrong}"));
        return;
    }
    let anywhere = [(None, &[] as &[u32]); 4];
    // Computed by hand. Ranks of the network are manager, w1, w2, w3, w4, the sink. FG-MPI numbers
    // them through the OS processes, one of which is empty.
    let farm = mapped(FARM, &[1, 0, 0, 3, 1, 0], &anywhere);
    assert_eq!(order(&farm), [1, 2, 5, 0, 4, 3]);
    compiled_agrees(&farm);
    // Distributed in turn, in blocks, all in one OS process, and mixed.
    let mut chain = String::from("digraph chain { NULL -> MPI_part1; read60 -> NULL;");
    for i in 1..60 {
        write!(
            chain,
            "{}{i} -> {}{};",
            KINDS[i % 8],
            KINDS[(i + 1) % 8],
            i + 1
        )
        .unwrap();
    }
    chain.push('}');
    let deals: [fn(u32) -> u32; 4] = [|r| r % 4, |r| r / 15, |_| 2, |r| r * r % 4];
    for deal in deals {
        let os_process: Vec<u32> = (0..60).map(deal).collect();
        compiled_agrees(&mapped(&chain, &os_process, &anywhere));
    }
}

/// Kinds with names that C, its library, POSIX, MPI or the generated file uses.
const KINDS: [&str; 8] = [
    "int",
    "MPI_part",
    "strlen",
    "main",
    "read",
    "errno",
    "graphmap_run",
    "p",
];

/// Returns the ranks of the network in the order of FG-MPI's ranks, computed from `mapping.json`.
fn order(mapped: &Mapped) -> Vec<usize> {
    let json: serde_json::Value = serde_json::from_str(&mapping_json::write(mapped)).unwrap();
    let processes = json["processes"].as_array().unwrap();
    let os_process = |rank: &usize| processes[*rank]["os_process"].as_u64();
    let mut order: Vec<usize> = (0..processes.len()).collect();
    order.sort_by_key(os_process);
    order
}

/// Compiles the mapping function, and checks its result for every rank and for numbers out of
/// range.
fn compiled_agrees(mapped: &Mapped) {
    let network = mapped.network();
    let text = fgmpi::mapping_function(mapped);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("fgmpi.h"), HEADER).unwrap();
    fs::write(folder.join("mpi.h"), "").unwrap();
    fs::write(folder.join("map.c"), &text).unwrap();
    let mut user = String::from(
        "#include <errno.h>\n#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n#include \"fgmpi.h\"\nint graphmap_network_rank(int rank);\n",
    );
    // The declared name of each kind. If C does not accept the original name, a comment contains
    // it.
    let mut kinds = BTreeMap::new();
    for line in text.lines().filter_map(|l| l.strip_prefix("int ")) {
        let Some((function, rest)) = line.split_once("(int argc, char **argv);") else {
            continue;
        };
        let comment = rest
            .trim()
            .strip_prefix("/* ")
            .and_then(|c| c.strip_suffix(" */"));
        let own = function.strip_suffix("_process").expect("a suffix");
        kinds.insert(comment.unwrap_or(own).to_string(), function.to_string());
        writeln!(
            user,
            "int {function}(int c, char **v) {{ (void)c; (void)v; puts(\"{function}\"); return 0; }}"
        )
        .unwrap();
    }
    let last = mapped.mapping().os_process.len() as i32 + 2;
    user.push_str(&ASK.replace("LAST", &last.to_string()));
    fs::write(folder.join("user.c"), user).unwrap();
    let built = Command::new("cc")
        .args("-std=c99 -Wall -Wextra -Wpedantic -Werror -I. -o map map.c user.c".split(' '))
        .current_dir(folder)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{errors}\n{text}");
    let ran = Command::new(folder.join("map")).output().unwrap();
    let order = order(mapped);
    let mut expected = String::new();
    for rank in -2..last {
        let found = usize::try_from(rank).ok().and_then(|r| order.get(r));
        match found {
            Some(&n) => {
                let kind = network.kind_name(ProcessId::from_index(n));
                writeln!(expected, "{rank} {n} {}", kinds[kind]).unwrap();
            }
            None => writeln!(expected, "{rank} -1 -").unwrap(),
        }
    }
    assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{text}");
}

/// Replacement for FG-MPI's start, which calls the mapping function for each rank, and then the
/// result.
const ASK: &str =
    "int FGmpiexec(int *argc, char ***argv, FG_MapPtr_t (*lookup)(int, char **, char *)) {
    for (int rank = -2; rank < LAST; rank++) {
        FG_ProcessPtr_t f = lookup(*argc, *argv, NULL)(*argc, *argv, rank);
        printf(\"%d %d \", rank, graphmap_network_rank(rank));
        if (f) f(*argc, *argv); else puts(\"-\");
    }
    return 0;
}
";

/// Kinds with and without parameters, in three programs. Two workers have the same arguments.
const ARGUMENTS: &str = r#"digraph g {
    master [program="./boss"];
    node [params="n: i64, big: u128, rate: f64, on: bool, text: String"];
    "a worker1" [args="-9223372036854775808, 170141183460469231731687303715884105727, 0.1, true, 'it''s \"??/ \ é
%d'"];
    node [args="1, 2, 5e-324, false, ''"];
    "a worker2"; "a worker3";
    log [params="line: String", args="'%d'", program="./log"];
    master -> "a worker1" [src=a]; master -> "a worker2" [src=b]; master -> "a worker3" [src=c];
    master -> log [src=d];
}"#;

/// The functions of the kinds print their words in hexadecimal digits, then change them. Others
/// must not see the changes.
const PRINT: &str = r#"
#include <stdio.h>
#include <string.h>
#include "fgmpi.h"
static int print_words(const char *kind, int argc, char **argv)
{
    printf("%s", kind);
    for (int i = 0; i < argc; i++) {
        printf(" ");
        for (char *at = argv[i]; *at; at++)
            printf("%02x", (unsigned char)*at);
    }
    puts(argv[argc] ? " more" : "");
    if (argc > 1) {
        memset(argv[1], 'x', strlen(argv[1]));
        argv[1] = argv[0];
    }
    return 0;
}
int master_process(int argc, char **argv) { return print_words("master", argc, argv); }
int a_worker_process(int argc, char **argv) { return print_words("a_worker", argc, argv); }
int log_process(int argc, char **argv) { return print_words("log", argc, argv); }
int FGmpiexec(int *argc, char ***argv, FG_MapPtr_t (*lookup)(int, char **, char *))
{
    for (int rank = 0; rank < 5; rank++) {
        FG_ProcessPtr_t f = lookup(*argc, *argv, NULL)(*argc, *argv, rank);
        if (f)
            f(*argc, *argv);
    }
    return 0;
}
"#;

#[test]
fn functions_get_the_arguments_of_their_processes() {
    if let Err(wrong) = Command::new("cc").arg("--version").output() {
        skip(Need::C, format!("cc does not start: {wrong}"));
        return;
    }
    let mapped = mapped(ARGUMENTS, &[1, 0, 0, 0, 1], &[(None, &[] as &[u32]); 2]);
    let text = fgmpi::mapping_function(&mapped);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("fgmpi.h"), HEADER).unwrap();
    fs::write(folder.join("mpi.h"), "").unwrap();
    fs::write(folder.join("map.c"), &text).unwrap();
    fs::write(folder.join("user.c"), PRINT).unwrap();
    let line = |kind: &str, words: &[&str]| -> String {
        let hex = |word: &&str| -> String { word.bytes().map(|b| format!("{b:02x}")).collect() };
        let words: Vec<String> = words.iter().map(hex).collect();
        format!("{kind} {}\n", words.join(" "))
    };
    let first = [
        "a worker",
        "-9223372036854775808",
        "170141183460469231731687303715884105727",
        "0.1",
        "true",
        "it's \"??/ \\ é\n%d",
    ];
    let others = line("a_worker", &["a worker", "1", "2", "5e-324", "false", ""]);
    for (program, expected) in [
        (0, line("master", &["./map", "-v"])),
        (1, line("a_worker", &first) + &others.repeat(2)),
        (2, line("log", &["log", "%d"])),
    ] {
        let built = Command::new("cc")
            .args("-std=c99 -Wall -Wextra -Wpedantic -Werror -I. -o map map.c user.c".split(' '))
            .arg(format!("-DGRAPHMAP_PROGRAM={program}"))
            .current_dir(folder)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{errors}\n{text}");
        let ran = Command::new("./map").arg("-v").current_dir(folder).output();
        let ran = ran.unwrap();
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{text}");
    }
    // Workers with the same arguments have the same function.
    let starts = text.matches("static int graphmap_start_").count();
    assert_eq!(starts, 3, "{text}");
}

/// Returns a farm of modules with five kinds each.
fn farm_of_modules(count: u32) -> String {
    format!(
        "digraph farm {{
            source -> a [bundle=share];
            subgraph cluster_stage {{ replicas={count}; a -> b -> c -> d -> e; }}
            e -> source [dst=back, bundle=select];
        }}"
    )
}

#[test]
fn every_rank_of_repeated_modules_finds_its_function() {
    if let Err(wrong) = Command::new("cc").arg("--version").output() {
        skip(Need::C, format!("cc does not start: {wrong}"));
        return;
    }
    let farm = farm_of_modules(40);
    // In blocks, in turn, and mixed.
    let deals: [fn(u32) -> u32; 3] = [|r| r / 67, |r| r % 3, |r| r / 5 * r % 3];
    for deal in deals {
        let os_process: Vec<u32> = (0..201).map(deal).collect();
        compiled_agrees(&mapped(&farm, &os_process, &[(None, &[] as &[u32]); 4]));
    }
}

#[test]
fn repeated_modules_are_a_line_for_each_kind() {
    let count = |os_process: &[u32]| {
        let mapped = mapped(
            &farm_of_modules(2_000),
            os_process,
            &[(None, &[] as &[u32]); 16],
        );
        let text = fgmpi::mapping_function(&mapped);
        let (_, table) = text.split_once("graphmap_rows[] = {").unwrap();
        let (table, _) = table.split_once("};").unwrap();
        table.matches("    {").count()
    };
    // The source, the loop of the modules, and the five kinds.
    let stack: Vec<u32> = (0..10_001).map(|rank| rank / 626).collect();
    assert_eq!(count(&stack), 7);
    let dealt: Vec<u32> = (0..10_001).map(|rank| rank % 16).collect();
    assert!(count(&dealt) < 120, "{}", count(&dealt));
}

#[test]
fn the_table_grows_with_stretches_not_with_ranks() {
    let mut chain = String::from("digraph chain { NULL -> p1; p2000 -> NULL;");
    for i in 1..2000 {
        write!(chain, "p{i} -> p{};", i + 1).unwrap();
    }
    chain.push('}');
    let stack: Vec<u32> = (0..2000).map(|rank| rank / 500).collect();
    let text = fgmpi::mapping_function(&mapped(&chain, &stack, &[(None, &[] as &[u32]); 4]));
    // p1 and p2000 come first, in two lines. Each OS process adds one line.
    assert!(text.matches("    {").count() < 10, "{text}");
}
