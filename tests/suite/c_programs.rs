//! Programs in C: compilation, runs, refusals, and the files of a run.

use crate::common::{Started, Test, gone};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// Folder with `mpicc`, `mpicxx` and `mpiexec` of the library that all tests use. It is built once.
static SCRIPTS: LazyLock<String> = LazyLock::new(|| {
    let done = Test::new().args("cc -show-bin").run().status(0);
    done.stdout().trim().to_owned()
});

/// Builds the library, so that tests which run at the same time use one build.
pub(crate) fn build() {
    LazyLock::force(&SCRIPTS);
}

/// Each rank passes values around a ring of all ranks.
const RING: &str = "\
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, size, sum = 0, rounds = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0, value = rank; round < rounds; round++) {
        MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % size, 0,
                             (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += value;
    }
    printf(\"%d of %d: %d\\n\", rank, size, sum);
    MPI_Finalize();
    return 0;
}
";

/// Returns a test whose folder has a program `ring`, which `graphmap cc` has compiled.
fn compiled(source: &str) -> Test {
    build();
    let test = Test::new().file("ring.c", source);
    let test = test.args("cc -g ring.c -o ring");
    test.run().status(0).stdout_is("").stderr_is("");
    test
}

/// Returns a test whose folder has a program `ring`, which `cc` has compiled with these arguments.
fn foreign(source: &str, arguments: &str) -> Test {
    build();
    let test = Test::new().file("ring.c", source);
    let arguments = arguments.split_whitespace();
    let mut command = Command::new("cc");
    command.args(arguments).current_dir(test.folder());
    assert!(command.status().unwrap().success(), "{command:?}");
    test
}

/// Returns the sorted lines that a run of the ring prints.
fn lines(ranks: i64, rounds: i64) -> String {
    let line = |rank: i64| {
        let values = (1..=rounds).map(|round| (rank - round).rem_euclid(ranks));
        format!("{rank} of {ranks}: {}\n", values.sum::<i64>())
    };
    sorted(&(0..ranks).map(line).collect::<String>())
}

fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.sort_unstable();
    lines.concat()
}

#[test]
fn ranks_of_several_schedulers_exchange_messages() {
    let mut test = compiled(RING);
    for options in ["", "--schedulers 4", "--schedulers 4 --shuffle 7"] {
        test = test.args(&format!("run ./ring --ranks 12 {options} -- 50"));
        let done = test.run().status(0).stderr_is("");
        assert_eq!(sorted(&done.stdout()), lines(12, 50), "{options}");
    }
    let test = test.args("run ./ring --ranks 2 --prefix -- 1");
    let done = test.run().status(0);
    assert_eq!(sorted(&done.stdout()), "[0] 0 of 2: 1\n[1] 1 of 2: 0\n");
    let test = test.args("run ./ring --ranks 5 --stats -- 1");
    let done = test.run().status(0);
    assert!(done.stderr().starts_with("ring: statistics\n"));
    done.stderr_has("main                 5 ");
}

#[test]
fn a_run_is_mapped_by_what_ranks_have_sent_each_other() {
    let test = compiled(RING);
    let test = test.args("run ./ring --ranks 6 --profile profile.json --trace trace.json");
    let done = test.run().status(0).stderr_is("");
    assert_eq!(sorted(&done.stdout()), lines(6, 100));
    let trace: serde_json::Value = serde_json::from_str(&test.read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let name = "main5 (rank 5, main)";
    assert!(
        events.iter().any(|event| event["args"]["name"] == name),
        "{trace}"
    );
    let polls = events.iter().filter(|event| event["ph"] == "X");
    let ranks: BTreeSet<_> = polls.map(|event| event["tid"].as_u64()).collect();
    assert_eq!(ranks.len(), 6, "{trace}");

    let test = test.args("import profile.json --load equal --traffic messages -o ranks.dot");
    test.run().status(0).stdout_is("");
    let drawing = test.read("ranks.dot");
    let edges = drawing.matches("label=\"100 messages, ").count();
    assert_eq!(edges, 6, "{drawing}");
    let test = test.args("partition ranks.dot -n 2 -o plan --quiet");
    test.run().status(0);
    let test = test.args("run ./ring --ranks 6 --mapping plan/mapping.json --stats");
    let done = test.run().status(0);
    assert_eq!(sorted(&done.stdout()), lines(6, 100));
    // Two schedulers with three ranks each.
    done.stderr_has("\n0                    3 ")
        .stderr_has("\n1                    3 ");
    let test = test.args("run ./ring --ranks 5 --mapping plan/mapping.json");
    test.run()
        .status(1)
        .stdout_is("")
        .stderr_has("error[G0436]");
}

#[test]
fn programs_that_cannot_run_are_refused() {
    const EMPTY: &str = "int main(void) { return 0; }\n";
    const LOCAL: &str = "_Thread_local int rank; int main(void) { return rank; }\n";
    let recompile = "  = help: compile and link it with `graphmap cc` or `graphmap cxx`\n";
    let cases = [
        (
            foreign(EMPTY, "-static ring.c -o ring"),
            "error[G0721]: `ring` is linked statically\n  \
             = help: link it dynamically, without `-static`\n"
                .to_owned(),
        ),
        (
            foreign(EMPTY, "-no-pie ring.c -o ring"),
            format!("error[G0722]: `ring` is not position-independent\n{recompile}"),
        ),
        (
            foreign(LOCAL, "ring.c -o ring"),
            format!(
                "error[G0723]: the thread-local variables of `ring` cannot be made private\n\
                 {recompile}"
            ),
        ),
        (
            foreign(EMPTY, "-fsanitize=address ring.c -o ring"),
            "error[G0727]: `ring` was compiled with `-fsanitize=address`, whose library cannot be \
             loaded for a rank\n  = help: compile it without `-fsanitize=address`\n  \
             = help: or start the program directly, as the only rank\n"
                .to_owned(),
        ),
        (
            foreign(EMPTY, "-c ring.c -o ring"),
            "error[G0720]: `ring` is not a program that can run here: it is an object file\n  \
             = help: name a program that `graphmap cc` has compiled\n"
                .to_owned(),
        ),
        (
            foreign(EMPTY, "-shared -fPIC ring.c -o ring"),
            "error[G0720]: `ring` is not a program that can run here: it has no entry point\n  \
             = help: name a program that `graphmap cc` has compiled\n"
                .to_owned(),
        ),
    ];
    for (mut test, expected) in cases {
        for line in ["run ring --ranks 4", "mpiexec -n 4 ring", "doctor ring"] {
            test = test.args(line);
            test.run().status(2).stdout_is("").stderr_is(&expected);
        }
    }
}

#[test]
fn files_of_other_kinds_are_refused_with_their_reason() {
    build();
    let test = Test::new().file("script", "#!/bin/sh\n");
    let test = test.args("run script --ranks 4");
    test.run().status(2).stdout_is("").stderr_is(
        "error[G0720]: `script` is not a program that can run here: it is not an ELF file\n  \
         = help: name a program that `graphmap cc` has compiled\n",
    );
    let test = test.args("run nowhere --ranks 4");
    test.run().status(2).stdout_is("").stderr_is(
        "error[G0720]: `nowhere` cannot be read: No such file or directory (os error 2)\n",
    );
}

#[test]
fn too_many_ranks_are_refused_before_one_runs() {
    let test = compiled(
        "#include <stdio.h>\n__attribute__((constructor)) static void start(void) { puts(\"runs\"); }\n\
         int main(void) { return 0; }\n",
    );
    let test = test.args("run ring --ranks 100000000");
    let done = test.run().status(2).stdout_is("");
    let error = done.stderr();
    assert!(
        error.starts_with("error[G0725]: 100000000 ranks of `ring` need about 5"),
        "{error}"
    );
    let (_, rest) = error.split_once("help: start at most ").unwrap();
    let (most, _) = rest.split_once(' ').unwrap();
    // The same number as in the report, up to mappings of the OS process itself.
    let test = test.args("doctor ring");
    let report = test.run().status(0).stderr_is("").stdout();
    let (_, fit) = report.split_once("ranks that fit: about ").unwrap();
    let (most, fit): (i64, i64) = (most.parse().unwrap(), fit.trim().parse().unwrap());
    assert!((most - fit).abs() < 100, "{most} {fit}");
}

#[test]
fn options_that_do_not_apply_are_refused() {
    let mut test = compiled(RING);
    for (options, option) in [
        ("-n 2", "-n"),
        ("--memory 1G", "--memory"),
        ("--no-pin", "--no-pin"),
        ("--hosts h", "--hosts"),
        ("--set launcher=mpich", "--set"),
        ("-D n=4", "--size"),
    ] {
        test = test.args(&format!("run ./ring --ranks 2 {options}"));
        let message =
            format!("error[G0011]: `{option}` does not apply to `./ring`, which is a compiled");
        test.run().status(2).stdout_is("").stderr_has(&message);
    }
    let test = test.args("run ./ring");
    test.run()
        .status(2)
        .stderr_has("error[G0011]: the number of ranks of `./ring` is missing");
    // Settings of graphs are not settings of programs.
    let test = test.file("graphmap.toml", "os-processes = 4\n");
    let test = test.args("run ./ring --ranks 3");
    let done = test.run().status(0).stderr_is("");
    assert_eq!(sorted(&done.stdout()), lines(3, 100));
}

#[test]
fn a_rank_that_fails_is_reported_with_the_call() {
    let test = compiled(
        "#include <mpi.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n\
         int main(int argc, char **argv) {\n\
         int rank; MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
         if (rank == 1 && !strcmp(argv[1], \"fork\")) fork();\n\
         if (rank == 1 && !strcmp(argv[1], \"crash\")) *(volatile int *)8 = 1;\n\
         if (rank == 1 && !strcmp(argv[1], \"exit\")) exit(3);\n\
         MPI_Recv(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);\n\
         }\n",
    );
    let test = test.args("run ring --ranks 2 -- fork");
    test.run().status(1).stdout_is("").stderr_is(
        "error: process main1 (rank 1) failed: called fork, which ranks of one OS process cannot \
         do (G0726)\n",
    );
    let test = test.args("run ring --ranks 2 -- exit");
    test.run()
        .status(3)
        .stdout_is("")
        .stderr_is("error: process main1 (rank 1) failed: exited with status 3\n");
    let test = test.args("run ring --ranks 2 --quiet -- crash");
    test.run().status(139).stdout_is("").stderr_has(
        "error: rank 1 received SIGSEGV in main (ring.c:8)\n\
         error[G0705]: signal 11 (SIGSEGV) ended the program\n",
    );
    let test = test.args("run ring --ranks 2 -- wait");
    test.run().status(6).stdout_is("").stderr_is(
        "error: deadlock: 2 processes remain, and all of them wait\n\
         each process in this cycle waits for the next:\n  \
         main1 (rank 1) waits in MPI_Recv: receive (world, from rank 1, tag 0): ring.c:10\n\
         other processes that wait:\n  \
         main0 (rank 0) waits in MPI_Recv: receive (world, from rank 1, tag 0): ring.c:10\n",
    );
    let test = test.args("doctor ring");
    test.run()
        .status(0)
        .stdout_has("functions that end a rank that calls them (G0726): fork\n");
}

#[test]
fn signals_end_a_run_and_all_of_it() {
    let test = compiled(
        "#include <mpi.h>\n#include <stdio.h>\n#include <unistd.h>\n\
         int main(int argc, char **argv) {\n\
         int rank; MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n\
         if (rank == 1) {\n\
         FILE *file = fopen(\"new\", \"w\"); fprintf(file, \"%d\", (int)getpid()); fclose(file);\n\
         rename(\"new\", \"pid\"); for (;;) pause(); }\n\
         MPI_Barrier(MPI_COMM_WORLD);\n\
         }\n",
    );
    let test = test.args("run ring --ranks 3 --schedulers 2");
    let pid = test.folder().join("pid");
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let mut run: Started = test.start();
        run.wait_for(&pid);
        let host = fs::read_to_string(&pid).unwrap();
        fs::remove_file(&pid).unwrap();
        assert_eq!(run.end_by(signal).code(), Some(128 + number), "{signal}");
        assert!(gone(&host), "{signal}");
    }
}

#[test]
fn launchers_options_and_scripts_are_those_of_other_mpis() {
    let mut test = compiled(RING);
    for options in ["-n 3", "-np 3", "-host localhost -np 3", "-genv A B -n 3"] {
        test = test.args(&format!("mpiexec {options} ./ring 20"));
        let done = test.run().status(0).stderr_is("");
        assert_eq!(sorted(&done.stdout()), lines(3, 20), "{options}");
    }
    let test = test.args("mpiexec -machinefile hosts -n 2 ./ring");
    test.run()
        .status(2)
        .stdout_is("")
        .stderr_has("error[G0011]: `-machinefile` does not apply to ranks of one OS process");
    let test = test.args("mpiexec -n 1 ./ring : -n 1 ./ring");
    test.run()
        .status(2)
        .stdout_is("")
        .stderr_has("error[G0011]: `:` starts several programs, and a run has only one");

    let test = test.args("mpiexec -wdir /missing -n 2 ./ring");
    test.run()
        .status(2)
        .stdout_is("")
        .stderr_has("error[G0011]: the folder `/missing` does not exist");

    // The scripts find the command without PATH.
    let script = |name: &str, arguments: &[&str]| {
        let mut command = Command::new(Path::new(&*SCRIPTS).join(name));
        command.args(arguments).current_dir(test.folder());
        let output = command.env("PATH", "/usr/bin:/bin").output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{name} {arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    };
    fs::write(test.folder().join("words"), "-c ring.c\n-o 'a b.o'").unwrap();
    script("mpicc", &["@words"]);
    script("mpicc", &["a b.o", "-o", "other"]);
    script("mpicc", &["-x", "c", "ring.c", "-o", "third"]);
    assert_eq!(
        sorted(&script("mpiexec", &["-n", "2", "./other", "9"])),
        lines(2, 9)
    );
    let version = script("mpicc", &["--version"]);
    assert!(!version.is_empty() && !version.contains("mpi"), "{version}");
    assert!(script("mpicc", &["-E", "ring.c"]).contains("MPI_Init"));
    assert!(script("mpicc", &["-show"]).contains(" -lmpi_abi"));
    script("mpicc", &["-shared", "ring.c", "-o", "libring.so"]);
    assert!(!test.folder().join("a.out").exists());
}
