//! The C mapping function, compiled against a header that declares FG-MPI's part of the API, asked
//! for every rank. Where there is no C compiler the test says so and passes.
mod common;
use common::mapped;
use graphmap_binding::fgmpi;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::Command;

/// Says why a test leaves something out. The harness holds back what `eprintln!` prints, not this.
macro_rules! say {
    ($($text:tt)*) => { drop(writeln!(std::io::stderr(), $($text)*)) };
}

/// The names of FG-MPI that the generated file uses, as its manual gives them.
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
    let compiler = "cc";
    if let Err(wrong) = Command::new(compiler).arg("--version").output() {
        say!("skipped: {compiler} does not start: {wrong}");
        return;
    }
    // Ranks of the network: manager, w1, w2, w3, w4, the sink. FG-MPI numbers them through the OS
    // processes, of which one is empty.
    let os_process = [1, 0, 0, 3, 1, 0];
    let farm = mapped(FARM, &os_process, &[(None, &[] as &[u32]); 4]);
    let text = fgmpi::mapping_function(&farm);
    let order = [1, 2, 5, 0, 4, 3];
    let names: Vec<&str> = (farm.network().processes.ids())
        .map(|id| farm.network().process_name(id))
        .collect();
    assert_eq!(names, ["manager", "w1", "w2", "w3", "w4", "the sink"]);

    let folder = std::env::temp_dir().join(format!("graphmap-fgmpi-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("fgmpi.h"), HEADER).unwrap();
    fs::write(folder.join("mpi.h"), "").unwrap();
    fs::write(folder.join("map.c"), &text).unwrap();
    let mut user = String::from(
        "#include <stdio.h>\n#include \"fgmpi.h\"\nint graphmap_network_rank(int rank);\n",
    );
    for kind in ["manager", "w", "the_sink"] {
        writeln!(
            user,
            "int {kind}(int c, char **v) {{ (void)c; (void)v; puts(\"{kind}\"); return 0; }}"
        )
        .unwrap();
    }
    user.push_str(
        "int FGmpiexec(int *argc, char ***argv, FG_MapPtr_t (*lookup)(int, char **, char *)) {
            for (int rank = -2; rank < 8; rank++) {
                FG_ProcessPtr_t f = lookup(*argc, *argv, NULL)(*argc, *argv, rank);
                printf(\"%d %d \", rank, graphmap_network_rank(rank));
                if (f) f(*argc, *argv); else puts(\"-\");
            }
            return 0;
        }\n",
    );
    fs::write(folder.join("user.c"), user).unwrap();
    let strict = [
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-I.",
        "-o",
        "map",
        "map.c",
        "user.c",
    ];
    let built = Command::new(compiler)
        .args(strict)
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}\n{text}",
        String::from_utf8_lossy(&built.stderr)
    );
    let ran = Command::new(folder.join("map")).output().unwrap();
    let kinds = ["manager", "w", "w", "w", "w", "the_sink"];
    let mut expected = String::new();
    for rank in -2..8i32 {
        let network = usize::try_from(rank).ok().and_then(|r| order.get(r));
        match network {
            Some(&n) => writeln!(expected, "{rank} {n} {}", kinds[n]).unwrap(),
            None => writeln!(expected, "{rank} -1 -").unwrap(),
        }
    }
    assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{text}");
    fs::remove_dir_all(folder).unwrap();
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
    // p1 and p2000 come first: two lines, and a line for each OS process that goes on.
    assert!(text.matches("    {").count() < 10, "{text}");
}
