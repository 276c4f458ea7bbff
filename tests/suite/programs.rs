//! Several programs in one network (`program=`): mapping, launch files, and runs over MPI.

use crate::common::Test;
use crate::common::hosts::{is_there, said};
use graphmap_testing::{Need, prepare_launcher};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const FARM: &str = "digraph farm {
    manager [program=\"./boss\"];
    subgraph cluster_workers {
        program=\"./work\";
        worker [replicas=6];
    }
    manager -> worker [bundle=scatter];
    worker -> manager [bundle=gather];
}
";

fn farm() -> Test {
    Test::new().file("farm.dot", FARM)
}

/// Prints its rank and its name.
const PROGRAM: &str = "#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf(\"%d %s\\n\", rank, NAME);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
";

/// Returns a folder with the graph and its two programs, built for an MPI. Returns `None`, after a
/// message, if the MPI is missing.
fn built(mpi: &str, need: Need) -> Option<Test> {
    is_there(mpi, need).then(|| {
        let test = farm().file("program.c", PROGRAM);
        for name in ["boss", "work"] {
            let mut compiler = Command::new(format!("mpicc.{mpi}"));
            let define = format!("-DNAME=\"{name}\"");
            compiler.args([&define, "program.c", "-o", name]);
            let status = compiler.current_dir(test.folder()).status().unwrap();
            assert!(status.success());
        }
        test
    })
}

/// Returns the name that each rank has printed.
fn printed(text: &str) -> BTreeMap<usize, String> {
    let lines = text.lines().map(|line| line.split_once(' ').unwrap());
    lines
        .map(|(rank, name)| (rank.parse().unwrap(), name.to_owned()))
        .collect()
}

/// Returns the name of the program of each OS process in a `mapping.json`.
fn mapped(text: &str) -> BTreeMap<usize, String> {
    let mapping: serde_json::Value = serde_json::from_str(text).unwrap();
    let os_processes = mapping["os_processes"].as_array().unwrap().iter();
    let name = |o: &serde_json::Value| o["program"].as_str().unwrap()[2..].to_owned();
    os_processes.map(name).enumerate().collect()
}

/// Runs a command in a folder, and returns what it prints.
fn output(command: &mut Command, folder: &Path) -> BTreeMap<usize, String> {
    let output = prepare_launcher(command, folder)
        .current_dir(folder)
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    printed(&String::from_utf8_lossy(&output.stdout))
}

/// Writes launch files, starts the programs with a launcher and the options that name `file`, and
/// compares the output with the mapping. Then runs the programs by `graphmap run`.
fn obeys(mpi: &str, need: Need, file: &str, options: &[&str]) {
    let Some(mut test) = built(mpi, need) else {
        return;
    };
    for strategy in ["auto", "stack", "round-robin"] {
        test = test.args(&format!(
            "farm.dot -n 5 --strategy {strategy} --set launcher={mpi} {file} mapping.json launch.sh"
        ));
        test.run().status(0);
        let expected = mapped(&test.read("mapping.json"));
        assert_eq!(expected.len(), 5);
        assert_eq!(expected[&0], "boss");
        let mut by_file = Command::new(format!("mpiexec.{mpi}"));
        by_file.args(options).arg(file);
        assert_eq!(output(&mut by_file, test.folder()), expected, "{strategy}");
        let mut by_script = Command::new("sh");
        by_script.arg("launch.sh");
        assert_eq!(
            output(&mut by_script, test.folder()),
            expected,
            "{strategy}"
        );
    }
    let run = format!("run farm.dot --link mpi -n 4 --set launcher={mpi}");
    test = test.args(&run);
    let ran = output(&mut test.command(), test.folder());
    assert_eq!(
        ran,
        mapped(&test.read("target/graphmap/hosts/mapping.json"))
    );
    // Another path for a program of the graph.
    let path = test.folder().join("elsewhere");
    fs::rename(test.folder().join("work"), &path).unwrap();
    test = test.args(&format!("{run} --set program../work={}", path.display()));
    assert_eq!(output(&mut test.command(), test.folder()), ran);
}

#[test]
fn mpich_starts_the_programs_of_the_mapping() {
    obeys("mpich", Need::Mpich, "configfile", &["-configfile"]);
}

#[test]
fn open_mpi_starts_the_programs_of_the_mapping() {
    let options = ["--bind-to", "none", "--oversubscribe", "--app"];
    obeys("openmpi", Need::OpenMpi, "appfile", &options);
}

#[test]
fn each_launch_file_has_a_section_for_each_program() {
    for (emitter, text) in [
        (
            "configfile",
            "# farm on 3 OS processes, 2 programs, mapped by auto; written by graphmap\n\
             -n 1 -env GRAPHMAP_PROCESSES 1 ./boss\n\
             -n 2 -env GRAPHMAP_PROCESSES 3 ./work\n",
        ),
        (
            "appfile",
            "-np 1 -x GRAPHMAP_PROCESSES=1 ./boss\n-np 2 -x GRAPHMAP_PROCESSES=3 ./work\n",
        ),
        (
            "intel-configfile",
            "# farm on 3 OS processes, 2 programs, mapped by auto; written by graphmap\n\
             -n 1 -env GRAPHMAP_PROCESSES 1 ./boss\n\
             -n 2 -env GRAPHMAP_PROCESSES 3 ./work\n",
        ),
        (
            "multi-prog",
            "# farm on 3 OS processes, 2 programs, mapped by auto; written by graphmap\n\
             0 env GRAPHMAP_PROCESSES=1 ./boss\n\
             1-2 env GRAPHMAP_PROCESSES=3 ./work\n",
        ),
    ] {
        farm()
            .args(&format!("farm.dot -n 3 {emitter}=-"))
            .run()
            .status(0)
            .stdout_is(text);
    }
    let test = farm().args("farm.dot -n 3 --set launcher=fgmpi launch.sh");
    test.run().status(0);
    let sections = "-n 1 -nfg 1 ./boss : -n 2 -nfg 3 ./work";
    assert!(test.read("launch.sh").contains(sections));
    let function = test.read("fgmpi.c");
    for line in [
        "   0: ./boss\n   1: ./work\n*/\n#ifndef GRAPHMAP_PROGRAM\n",
        "#if GRAPHMAP_PROGRAM == 1\nint worker_process(int argc, char **argv);\n#else\n\
         #define worker_process NULL\n#endif\n",
    ] {
        assert!(function.contains(line), "{function}");
    }
}

#[test]
fn processes_without_a_program_run_in_that_of_the_launch() {
    let graph = "digraph net { a -> b -> c; b [program=\"./b\"]; }";
    Test::new()
        .file("net.dot", graph)
        .args("net.dot -n 2 --set program=./other --set program../b=/opt/b appfile=-")
        .run()
        .status(0)
        .stdout_is("-np 1 -x GRAPHMAP_PROCESSES=2 ./other\n-np 1 -x GRAPHMAP_PROCESSES=1 /opt/b\n");
    Test::new()
        .file("net.dot", graph)
        .args("net.dot -n 2 --set program../c=/opt/b appfile=-")
        .run()
        .status(5)
        .stderr_has("error[G0437]: `program../c=/opt/b`: no process has `program=./c`\n")
        .stderr_has("= help: did you mean `program../b`?");
}

#[test]
fn a_mapping_that_mixes_programs_is_an_error() {
    let test = farm().args("farm.dot -n 3 --strategy stack mapping.json");
    test.run().status(0);
    let text = test.read("mapping.json");
    let mixed = text.replace(
        "\"worker2\", \"os_process\": 1",
        "\"worker2\", \"os_process\": 0",
    );
    let test = test
        .file("mixed.json", mixed)
        .args("farm.dot --mapping mixed.json appfile=-");
    test.run().status(5).stdout_is("").stderr_has(
        "error[G0477]: OS process 0 has the processes `manager` and `worker2`, which run different \
         programs",
    );
    // A mapping of an older version has no programs, and one with others is reported.
    let older = text.replace(", \"program\": \"./boss\"", "");
    let test = test
        .file("older.json", older.replace(", \"program\": \"./work\"", ""))
        .args("farm.dot --mapping older.json appfile=-");
    test.run().status(0).stderr_lacks("warning");
    let test = test
        .file("other.json", text.replace("./boss", "./chief"))
        .args("farm.dot --mapping other.json appfile=-");
    test.run().status(0).stdout_has("./boss").stderr_has(
        "warning[G0436]: OS process 0 runs `./chief` in this mapping, but `./boss` in the graph",
    );
}

#[test]
fn a_plan_shows_the_programs() {
    farm()
        .args("partition farm.dot -n 3")
        .run()
        .status(0)
        .stdout_has("  program  kinds\n")
        .stdout_has("  ./boss   manager\n")
        .stdout_has("with these programs in these OS processes (gap 0.0%)");
    let done = farm()
        .args("partition farm.dot -n 3 --json")
        .run()
        .status(0);
    let plan: serde_json::Value = serde_json::from_str(&done.stdout()).unwrap();
    assert_eq!(plan["divided"], true);
    assert_eq!(plan["proved"], false);
    assert_eq!(plan["os_processes"][2]["program"], "./work");
}

#[test]
fn the_expanded_graph_and_the_json_have_the_programs() {
    let test = farm().args("expand farm.dot -o expanded.dot");
    test.run().status(0);
    let test = test.args("expand farm.dot -o expanded.json");
    test.run().status(0);
    for file in ["farm.dot", "expanded.dot", "expanded.json"] {
        let command = Test::new()
            .file(file, test.read(file))
            .args(&format!("{file} -n 2 appfile=-"));
        command.run().status(0).stdout_is(
            "-np 1 -x GRAPHMAP_PROCESSES=1 ./boss\n-np 1 -x GRAPHMAP_PROCESSES=6 ./work\n",
        );
    }
}

#[test]
fn a_run_without_a_launcher_or_with_other_processes_is_an_error() {
    farm().args("run farm.dot").run().status(1).stderr_is(
        "error[G0478]: `program=` needs a launcher, but this run has none\n \
         --> farm.dot:2:14\n  \
         |\n\
         2 |     manager [program=\"./boss\"];\n  \
         |              ^^^^^^^^^^^^^^^^\n  \
         |\n  \
         = help: use `--link mpi -n N` for this host, or `--hosts FILE`\n  \
         = help: or remove `program=`, to run all processes in the program of the project\n\n\
         graphmap: 1 error\n",
    );
    Test::new()
        .file("net.dot", "digraph net { a -> b; b [program=\"./b\"]; }")
        .args("run net.dot --link mpi -n 2")
        .run()
        .status(1)
        .stderr_has("error[G0478]: kind `a` has no `program=`, but other kinds have one\n");
}
