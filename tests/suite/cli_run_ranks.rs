//! `graphmap run` of a project of ranks without a graph file: files for launchers, and refusals. No
//! MPI needs to be installed.

use crate::common::Test;
use graphmap_wiring::sequence::encode;

const SCRIPT: &str = "ring/target/graphmap/hosts/mpiexec.sh";
const HOSTS: &str = "ring/target/graphmap/hosts/hostfile";

/// Returns a new project that is made with these additional arguments.
fn ring(more: &str) -> Test {
    let test = Test::new().args(&format!("new ring --family mpi {more}"));
    test.run().status(0);
    // The default compiler.
    test.executable("mpicc.mpich", "#!/bin/sh\n")
}

/// Returns a file without its comments.
fn lines(test: &Test, file: &str) -> String {
    let text = test.read(file);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn ranks_are_in_blocks_by_slots() {
    for (args, hosts, placement) in [
        (
            "--hosts hostfile -- 8",
            "h1:2\nh2:1\n",
            &[0, 0, 0, 1, 1, 2, 2, 2][..],
        ),
        // Without a number, there is a rank for each slot, as in MPI.
        ("--hosts hostfile", "h1:2\nh2:1\n", &[0, 1, 2]),
        ("--hosts hostfile -n 2 -- 5 x", "h1:2\n", &[0, 0, 0, 1, 1]),
        (
            "--hosts hostfile --strategy round-robin -- 6",
            "h1:2\nh2:1\n",
            &[0, 1, 2, 0, 1, 2],
        ),
        ("--link mpi -n 4", "", &[0, 1, 2, 3]),
    ] {
        let test = ring("--link mpi").file("hostfile", "h1 slots=2\nh2\n");
        let test = test.args(&format!("run ring --no-build --dry-run {args}"));
        test.run()
            .status(0)
            .stdout_is(&format!("sh {SCRIPT}\n"))
            .stderr_has("the program ring/target/mpi-mpich/release/ring is not built yet\n");
        if !hosts.is_empty() {
            assert_eq!(lines(&test, HOSTS), hosts, "{args}");
        }
        let script = test.read(SCRIPT);
        let placed = format!("GRAPHMAP_PLACEMENT='{}'\n", encode(placement));
        assert!(script.contains(&placed), "{args}: {script}");
        let word = format!("/release/ring {}", placement.len());
        assert!(script.contains(&word), "{args}: {script}");
    }
}

/// Checks the number of ranks with and without a graph file, also by `partition`, and for any names
/// of kinds.
#[test]
fn launch_files_say_how_many_ranks_there_are() {
    let drawing = "digraph ranks { allow=\"G0317\"; main0 [kind=a]; main1 [kind=b]; main2 [kind=c]; main0 -> main2; }";
    let test = ring("--link mpi").file("ring/ranks.dot", drawing);
    let placed = |test: &Test, file: &str| {
        let text = test.read(file);
        let line = text.lines().find(|l| l.starts_with("GRAPHMAP_PLACED="));
        line.unwrap().to_owned()
    };
    let test = test.args("run ring --no-build --hosts names=h1,h2 -- 3");
    test.run().status(0);
    let undrawn = placed(&test, SCRIPT);
    let test = test.args("run ring/ranks.dot --no-build --hosts names=h1,h2");
    test.run().status(0);
    assert!(lines(&test, SCRIPT).contains("/release/ring 3"));
    assert_eq!(placed(&test, SCRIPT), undrawn);
    let test = test.args("partition ring/ranks.dot --hosts names=h1,h2 -o plan --quiet");
    test.run().status(0).stderr_is("");
    assert!(lines(&test, "plan/mpiexec.sh").contains("/release/ring 3"));
    assert_eq!(placed(&test, "plan/mpiexec.sh"), undrawn);
}

#[test]
fn a_project_without_the_link_is_reported_with_what_to_add() {
    let test = ring("").args("run ring --hosts names=h1,h2 -- 8");
    test.run()
        .status(2)
        .stdout_is("")
        .stderr_has("error[G0708]: the project ring has no MPI link")
        .stderr_has("add it with `graphmap new ring --update --link mpi`")
        .stderr_has("or add `graphmap-link-mpi = { path = \".graphmap/graphmap-link-mpi\" }` to the dependencies");
    // Follows the help.
    let test = test.args("new ring --update --link mpi");
    test.run()
        .status(0)
        .stdout_is("")
        .stderr_is("graphmap: updated ring/Cargo.toml\ngraphmap: updated ring/src/main.rs\n");
    let manifest = test.read("ring/Cargo.toml");
    let test = test.args("run ring --hosts names=h1,h2 --no-build -- 8");
    test.run().status(0).stderr_is("");
    let test = test.args("new ring --update --link mpi");
    test.run().status(0).stderr_is("");
    assert_eq!(test.read("ring/Cargo.toml"), manifest);
    // The project replaces `mpi-sys`, through which the link calls MPI.
    let patched = format!("{manifest}\n[patch.crates-io.mpi-sys]\npath = \"mpi-sys\"\n");
    let test = test.file("ring/Cargo.toml", patched);
    let test = test.args("run ring --hosts names=h1,h2 -- 8");
    test.run()
        .status(2)
        .stdout_is("")
        .stderr_has("error[G0708]: the MPI link of the project ring cannot reach MPI")
        .stderr_has("remove `mpi-sys` from that section");
}

#[test]
fn a_project_without_ranks_is_an_error() {
    let manifest = "[package]\nname = \"own\"\n\n[dependencies]\nmpi = \"0.8\"\n";
    let test = Test::new().file("own/Cargo.toml", manifest);
    for named in ["own", "own/Cargo.toml"] {
        let test = Test::new().file("own/Cargo.toml", manifest);
        let test = test.args(&format!("run {named} -- 8"));
        test.run()
            .status(2)
            .stdout_is("")
            .stderr_has(&format!(
                "error[G0712]: `{named}` is not marked as a project of ranks"
            ))
            .stderr_has(
                "`[package.metadata.graphmap]` of own/Cargo.toml has neither `family` nor `graph`",
            )
            .stderr_has("add `family = \"mpi\"` to that section");
    }
    // With this section, the package is a project of ranks, wherever graph files are.
    let said = format!("{manifest}\n[package.metadata.graphmap]\nfamily = \"mpi\"\n");
    let test = test.file("own/Cargo.toml", said);
    let test = test.args("run own --no-build -- 8");
    test.run().status(0).stdout_is("").stderr_is("");

    let test = Test::new().file("net.dot", "digraph net { a -> b }");
    let test = test.args("new net --from net.dot --quiet");
    test.run().status(0);
    let test = test.args("run net");
    test.run()
        .status(2)
        .stderr_has("error[G0712]: `net` is the project of a graph")
        .stderr_has("name the graph: `graphmap run net.dot`");
    let test = Test::new().file("nothing/x", "").args("run nothing");
    test.run()
        .status(2)
        .stderr_has("error[G0001]: `nothing` is a folder, not a file");
}

#[test]
fn the_first_argument_is_the_number_of_ranks() {
    for (asked, told) in [
        (
            "-- eight",
            "error[G0011]: \"eight\" is not a number of ranks",
        ),
        ("-- 0", "error[G0011]: \"0\" is not a number of ranks"),
        ("-- 4000000000", "a number from 1 to 268435456"),
    ] {
        let test = ring("--link mpi").args(&format!("run ring --hosts names=h1,h2 {asked}"));
        test.run().status(2).stdout_is("").stderr_has(told);
    }
    let drawing = "digraph ranks { allow=\"G0317\"; main0; main1; }";
    let test = ring("--link mpi").file("ring/ranks.dot", drawing);
    let test = test.args("run ring/ranks.dot --hosts names=h1,h2 -- 8");
    test.run()
        .status(2)
        .stdout_is("")
        .stderr_has("error[G0011]: 8 ranks are requested, but ring/ranks.dot has 2")
        .stderr_has("or run any number of ranks, in consecutive blocks: `graphmap run ring`");
    // A mapping for another network is reported as for any project.
    let test = test.args("partition ring/ranks.dot -n 2 -o plan --quiet");
    test.run().status(0);
    let test = test.args("run ring --mapping plan/mapping.json --link mpi --no-build -- 3");
    test.run()
        .status(1)
        .stderr_has("error[G0436]: this mapping is for another network");
    let test = test.args("run ring --mapping plan/mapping.json --link mpi --no-build");
    test.run().status(0).stderr_is("");
}

/// Checks several programs in both orders, because the one that Cargo reports last depends on
/// previous builds.
#[test]
fn the_program_of_several_is_that_with_the_name_of_the_package() {
    let says = |name: &str| {
        let artifact = serde_json::json!({
            "reason": "compiler-artifact",
            "target": {"name": name},
            "executable": format!("bin/{name}"),
        });
        format!("echo '{artifact}'\n")
    };
    for order in [["ring", "other"], ["other", "ring"]] {
        let said: String = order.map(says).concat();
        let test = ring("")
            .executable("cargo", &format!("#!/bin/sh\n{said}"))
            .executable("ring", "#!/bin/sh\necho ring \"$@\"\n")
            .executable("other", "#!/bin/sh\necho other \"$@\"\n")
            .env("CARGO", "bin/cargo");
        let test = test.args("run ring -- 3");
        test.run().status(0).stdout_is("ring 3\n");
    }
}

#[test]
fn too_long_launcher_lines_are_reported_before_the_build() {
    let test = ring("--link mpi")
        .executable("cargo", "#!/bin/sh\ntouch built\nexit 1\n")
        .executable("mpiexec.mpich", "#!/bin/sh\necho HYDRA\n")
        .env("CARGO", "bin/cargo");
    let run = "run ring --set agent=none --set launcher=mpich --hosts names=h1,h2 -- 3";
    let long = "x".repeat(130_000);
    let mut words: Vec<&str> = run.split(' ').collect();
    words.push(&long);
    let test = test.words(&words);
    test.run()
        .status(5)
        .stderr_has("error[G0441]: the line that starts the program has 130");
    assert!(!test.folder().join("built").exists());
}

/// Checks that the program receives the arguments as typed, for any characters in paths and
/// arguments.
#[test]
fn folders_and_arguments_may_have_any_characters() {
    let test = ring("--link mpi").executable("mpiexec.mpich", "#!/bin/sh\necho HYDRA\n");
    std::fs::rename(
        test.folder().join("ring"),
        test.folder().join("it's a ring"),
    )
    .unwrap();
    let run = [
        "run",
        "it's a ring",
        "--link",
        "mpi",
        "--no-build",
        "--",
        "3",
        "a  b",
        "",
        "-x",
        "it's",
        ":",
    ];
    let test = test.words(&run);
    test.run().status(0);
    let shows = "#!/bin/sh\nfor word; do echo \"<$word>\"; done\n";
    let program = test
        .folder()
        .join("it's a ring/target/mpi-mpich/release/ring");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::write(&program, shows).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, executable).unwrap();
    // Stand-in for `mpiexec`: skips its own options and starts the remaining words.
    let script = test
        .folder()
        .join("it's a ring/target/graphmap/hosts/mpiexec.sh");
    let mut launcher = std::process::Command::new("sh");
    launcher.arg(script).env("PMI_RANK", "0");
    let test = test.executable("starts", "#!/bin/sh\nshift 2\nexec \"$@\"\n");
    let output = launcher
        .env("MPIEXEC", test.folder().join("bin/starts"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "<3>\n<a  b>\n<>\n<-x>\n<it's>\n<:>\n", "{output:?}");
}
