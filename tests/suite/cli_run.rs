//! Projects and runs: `new`, `run`, `partition`. Each test covers much, because it compiles a
//! project.

use crate::common::{LONGEST, Started, Test};
use graphmap_testing::{Need, skip};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const GRAPH: &str = "\
digraph squares {
    numbers;
    worker [replicas=3];
    sum;
    numbers -> worker [type=u64 bundle=share];
    worker -> sum [type=u64 bundle=select];
}
";

const NUMBERS: &str = "\
use crate::wiring::Numbers;
pub async fn numbers(mut ports: Numbers) {
    let last = std::env::args().nth(1).map_or(10, |a| a.parse().unwrap());
    let mut line = String::new();
    if last == 0 {
        std::io::stdin().read_line(&mut line).unwrap();
    }
    let last = if last == 0 { line.trim().parse().unwrap() } else { last };
    for i in 1..=last {
        ports.out.write(i).await.unwrap();
    }
}
";

const WORKER: &str = "\
use crate::wiring::Worker;
pub async fn worker(mut ports: Worker) {
    while let Some(n) = ports.in_.read().await {
        ports.out.write(n * n).await.unwrap();
    }
}
";

const SUM: &str = "\
use crate::wiring::Sum;
pub async fn sum(mut ports: Sum) -> Result<(), String> {
    let mut sum = 0;
    while let Some((_, n)) = ports.in_.read().await {
        sum += n;
    }
    println!(\"{sum}\");
    if sum == 1 { Err(\"that is not much\".into()) } else { Ok(()) }
}
";

/// Returns the project of [`GRAPH`] with its functions.
fn squares() -> Test {
    let test = Test::new()
        .file("squares.dot", GRAPH)
        .args("new squares --from squares.dot");
    test.run()
        .status(0)
        .stderr_has("graphmap: made the project squares\n");
    test.file("squares/src/processes/numbers.rs", NUMBERS)
        .file("squares/src/processes/worker.rs", WORKER)
        .file("squares/src/processes/sum.rs", SUM)
}

#[test]
fn a_project_is_built_run_and_updated() {
    let mut test = squares();
    let mut run = |args: &str| {
        let old = std::mem::replace(&mut test, Test::new());
        test = old.args(&format!("run squares.dot --dev {args}"));
        test.run()
    };
    // The first build is announced, because it takes a while. At a terminal, Cargo's own progress
    // is shown instead.
    run("")
        .status(0)
        .stdout_is("385\n")
        .stderr_is("graphmap: building squares\n");
    run("").status(0).stdout_is("385\n").stderr_is("");
    // Arguments after `--` belong to the program. Its standard input and exit code are those of the
    // command.
    run("-- 100").status(0).stdout_is("338350\n");
    run("-n 2 --shuffle 7 -- 100")
        .status(0)
        .stdout_is("338350\n");
    run("-n 2 --strategy stack").status(0).stdout_is("385\n");
    run("--prefix").status(0).stdout_is("[0] 385\n");
    run("-n 2 --link shm --prefix")
        .status(0)
        .stdout_is("[1] 385\n");
    run("-- 1")
        .status(1)
        .stdout_is("1\n")
        .stderr_has("that is not much")
        .stderr_has("squares.dot");
    run("--stats")
        .status(0)
        .stdout_is("385\n")
        .stderr_has("worker ");
    run("--profile profile.json").status(0);
    run("--weights profile.json --no-run")
        .status(0)
        .stderr_is("");
    run("--no-run").status(0).stdout_is("").stderr_is("");

    let panicking = WORKER.replace(
        "while let",
        "assert!(ports.in_.is_connected() && false, \"oh\");\n    while let",
    );
    let test = test
        .file("squares/src/processes/worker.rs", panicking)
        .args("run squares.dot --dev");
    test.run()
        .status(1)
        .stderr_has(" panicked at src/processes/worker.rs:3:5:\noh\n")
        .stderr_has("squares.dot:3:5");
    let test = test.file("squares/src/processes/worker.rs", WORKER);
    test.run().status(0);

    under_launchers(&test.folder().join("squares/target/debug/squares"));

    // Warnings of the compiler are shown in each run, and do not prevent it.
    let forgotten = WORKER.replace("write(n * n).await.unwrap()", "write(n * n)");
    let test = test
        .file("squares/src/processes/worker.rs", forgotten)
        .args("run squares.dot --dev");
    for _ in 0..2 {
        test.run()
            .status(0)
            .stdout_is("0\n")
            .stderr_has("warning[G0706]: unused")
            .stderr_has("(unused_must_use)\n")
            .stderr_has("--> squares/src/processes/worker.rs:4:9")
            .stderr_has("::: squares.dot:6:5")
            .stderr_has("graphmap: 1 warning\n");
    }
    // `--deny` prevents the run, and `--allow` hides the warning.
    let test = test.args("run squares.dot --dev --deny G0706");
    test.run()
        .status(1)
        .stdout_is("")
        .stderr_has("error[G0706]");
    let test = test.args("run squares.dot --dev --allow G0706");
    test.run().status(0).stdout_is("0\n").stderr_is("");
    let test = test.file("squares/src/processes/worker.rs", WORKER);

    let test = test.args("partition squares.dot -n 2 -o plan --strategy round-robin");
    test.run()
        .status(0)
        .stdout_has("squares: 5 processes in 2 OS processes, strategy round-robin")
        .stderr_has("graphmap: wrote plan/mapping.json");
    let test = test.args("run squares.dot --dev --mapping plan/mapping.json --stats");
    // The mapping has two schedulers.
    test.run().status(0).stdout_is("385\n").stderr_has("\n1  ");
    let test = test.args("run squares.dot --dev -- 0").stdin("3\n");
    test.run().status(0).stdout_is("14\n");

    // The graph changes: generated files are updated. The user's files stay, and are reported.
    let changed = GRAPH.replace("worker -> sum [type=u64", "worker -> sum [type=f64");
    let test = test
        .file("squares.dot", &changed)
        .args("run squares.dot --dev");
    test.run()
        .status(1)
        .stdout_is("")
        .stderr_has("graphmap: updated squares/src/wiring.rs")
        .stderr_has("warning[G0607]: the function `worker` does not match its kind")
        .stderr_has("error[G0703]")
        .stderr_has("--> squares/src/processes/worker.rs:4:")
        .stderr_has("::: squares.dot:6:5");
    assert_eq!(test.read("squares/src/processes/worker.rs"), WORKER);

    // A missing function is reported where its kind is declared and where it is called.
    let renamed = WORKER.replace("fn worker", "fn werker");
    let test = test
        .file("squares.dot", GRAPH)
        .file("squares/src/processes/worker.rs", renamed);
    test.run()
        .status(1)
        .stderr_has("error[G0609]: the function of the kind `worker` is missing")
        .stderr_has("--> squares.dot:3:5")
        .stderr_has("::: squares/src/wiring.rs:");

    // A mapping for another network.
    let other = GRAPH.replace("replicas=3", "replicas=2");
    let test = test.file("squares.dot", other);
    let test = test.args("run squares.dot --dev --mapping plan/mapping.json");
    test.run()
        .status(1)
        .stderr_has("this mapping is for another network");
}

/// Checks that a program that a launcher starts several times reports this once and ends. Started
/// once, it runs.
fn under_launchers(program: &Path) {
    let mut launchers = vec![
        (Need::Mpich, "mpiexec.mpich".to_owned()),
        (Need::OpenMpi, "mpiexec.openmpi".to_owned()),
    ];
    for (need, variable) in [
        (Need::LaterMpich, "MPICH_MPIEXEC"),
        (Need::LaterOpenMpi, "OPENMPI_MPIEXEC"),
        (Need::IntelMpi, "INTEL_MPIEXEC"),
    ] {
        match std::env::var(variable) {
            Ok(launcher) => launchers.push((need, launcher)),
            Err(_) => skip(need, format!("{variable} names no mpiexec")),
        }
    }
    for (need, launcher) in launchers {
        let start = |copies: &str| {
            let mut command = Command::new(&launcher);
            command
                .args(["-n", copies])
                .arg(program)
                .stdin(Stdio::null());
            for name in [
                "OMPI_ALLOW_RUN_AS_ROOT",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                "PRTE_ALLOW_RUN_AS_ROOT",
                "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
                "OMPI_MCA_rmaps_base_oversubscribe",
            ] {
                command.env(name, "1");
            }
            // The same for Open MPI 5: permits more copies than cores.
            command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
            command.output()
        };
        let done = match start("3") {
            Ok(done) => done,
            Err(error) => {
                skip(need, format!("{launcher} does not start: {error}"));
                continue;
            }
        };
        let stderr = String::from_utf8_lossy(&done.stderr);
        let told = "error: a launcher has started this program 3 times";
        assert_eq!(stderr.matches(told).count(), 1, "{launcher}: {stderr}");
        assert_eq!(done.status.code(), Some(2), "{launcher}: {stderr}");
        assert!(!String::from_utf8_lossy(&done.stdout).contains("385"));
        let done = start("1").unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(0), "{launcher}: {stderr}");
        assert_eq!(String::from_utf8_lossy(&done.stdout), "385\n", "{launcher}");
    }
    // Variables of Slurm, in a step of several tasks and in a batch script.
    let run = |variables: &[(&str, &str)]| {
        let mut command = Command::new(program);
        command.envs(variables.iter().copied()).output().unwrap()
    };
    let step = [("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_PROCID", "3")];
    let done = run(&step);
    assert_eq!((done.status.code(), done.stderr.len()), (Some(2), 0));
    let done = run(&[("SLURM_NTASKS", "4"), ("SLURM_PROCID", "0")]);
    assert_eq!(done.status.code(), Some(0));
}

#[test]
fn a_network_that_blocks_and_one_that_is_interrupted() {
    let graph = "digraph ring { a -> b; b -> a; }";
    let test = Test::new()
        .file("ring.dot", graph)
        .args("new ring --from ring.dot --quiet");
    test.run().status(0).stderr_is("");
    let a = "use crate::wiring::A;
pub async fn a(mut ports: A) {
    if std::env::args().count() > 1 {
        println!(\"here\");
        std::thread::sleep(std::time::Duration::from_secs(1000));
    }
    let n = ports.in_.read().await;
    ports.out.write(n.unwrap()).await.unwrap();
}
";
    let b = a
        .replace("A)", "B)")
        .replace("::A", "::B")
        .replace("fn a", "fn b")
        .replace("> 1", "> 9");
    let test = test
        .file("ring/src/processes/a.rs", a)
        .file("ring/src/processes/b.rs", b)
        .args("run ring.dot --dev");
    test.run()
        .status(6)
        .stderr_has("ring.dot:1")
        .stderr_has("deadlock: 2 processes remain");

    let test = test.args("run ring.dot --dev --memory much");
    test.run()
        .status(2)
        .stderr_has("expected a number of bytes such as 4096, 512MiB or 2G");
    let test = test.args("run ring.dot --dev --memory 2MiB");
    test.run().status(6);

    // A signal that ends the command also ends its program.
    let mut child = Started::of(
        crate::common::graphmap()
            .args(["run", "ring.dot", "--dev", "--", "sleep"])
            .current_dir(test.folder())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
    );
    let mut stdout = child.stdout.take().unwrap();
    let mut here = [0; 5];
    stdout.read_exact(&mut here).unwrap();
    // The command passes SIGUSR1 to its program.
    child.signal("USR1");
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let told = "ring: scheduler 0: long poll of a (rank 0, ring.dot:1:16)";
    assert!(lines.any(|line| line.unwrap().contains(told)));
    child.signal("TERM");
    let start = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    // The program holds the other end of the pipe until it ends.
    assert_eq!(stdout.read(&mut here).unwrap(), 0);
    assert!(start.elapsed() < LONGEST);
}

#[test]
fn a_project_of_its_own_graph() {
    let test = Test::new().args("new hello");
    test.run()
        .status(0)
        .stderr_has("run it with    graphmap run hello/hello.dot");
    let test = test.args("check hello/hello.dot");
    test.run()
        .status(0)
        .stderr_has("6 processes of 3 kinds, 8 channels");
    let test = test.args("new hello");
    test.run()
        .status(2)
        .stderr_has("`hello` already contains a project");
    let test = test.args("run hello/hello.dot --dev --quiet");
    test.run()
        .status(0)
        .stdout_is("the sum of the squares from 1 to 1000 is 333833500\n")
        .stderr_is("");
    let test = test.file("used/notes.txt", "").args("new used");
    test.run()
        .status(2)
        .stderr_has("error[G0011]: `used` is not empty: it contains `notes.txt`\n")
        .stderr_has("name a folder that does not exist or is empty");
    // Stubs are reported in each run until they are written.
    let graph = test.read("hello/hello.dot");
    let test = Test::new()
        .file("hello.dot", graph)
        .args("new hello --from hello.dot");
    test.run().status(0);
    let test = test.args("run hello.dot --no-build");
    for _ in 0..2 {
        test.run()
            .status(0)
            .stderr_has("warning[G0614]: the functions of the kinds `numbers`, `worker` and `sum` are stubs")
            .stderr_has(" --> hello.dot:3:5")
            .stderr_has("graphmap: 1 warning\n");
    }
    let test = test.args("run hello.dot --deny warnings");
    test.run()
        .status(1)
        .stdout_is("")
        .stderr_has("error[G0614]");
    assert!(!test.folder().join("hello/target").exists());
    let own = "pub async fn sum(_: crate::wiring::Sum) {}\n";
    let test = test
        .file("hello/src/processes/sum.rs", own)
        .file("hello/src/processes/summ.rs", own)
        .file("hello/src/processes/old.rs", own)
        .args("run hello.dot --no-build");
    for _ in 0..2 {
        test.run()
            .status(0)
            .stderr_has("the functions of the kinds `numbers` and `worker` are stubs")
            .stderr_has("warning[G0608]: hello/src/processes/old.rs and hello/src/processes/summ.rs are not")
            .stderr_has("did you rename `summ` to `sum`?")
            .stderr_has("graphmap: 2 warnings\n");
    }
    // One function is missing, and one is new.
    let test = test.file(
        "hello/src/processes/numbers.rs",
        "pub async fn numbers(_: crate::wiring::Numbers) {}\n",
    );
    for gone in ["old", "summ"] {
        fs::remove_file(test.folder().join(format!("hello/src/processes/{gone}.rs"))).unwrap();
    }
    let path = |name: &str| test.folder().join(format!("hello/src/processes/{name}.rs"));
    fs::rename(path("worker"), path("worked")).unwrap();
    test.run().status(0).stderr_has(
        "if the kind was renamed to `worker`, move the file to hello/src/processes/worker.rs, replacing the stub, and rename its function to",
    );
    // A copy of a graph from another folder.
    let test = test.args("new deep/copy --from hello.dot");
    test.run().status(0);
    assert_eq!(test.read("deep/copy/hello.dot"), test.read("hello.dot"));
    assert!(
        test.read("deep/copy/Cargo.toml")
            .contains("graph = \"hello.dot\"")
    );
    let test = test.args("new x --from -");
    test.run()
        .status(2)
        .stderr_has("a project needs a graph file, not standard input");
    let test = test
        .file("bad.dot", "digraph { a -> ")
        .args("new bad --from bad.dot");
    test.run().status(1);
    assert!(!test.folder().join("bad").exists());
    let test = test.args("run bad.dot");
    test.run().status(1).stderr_lacks("G0701");
    let test = test.file("good.dot", GRAPH).args("run good.dot");
    test.run()
        .status(2)
        .stderr_has("error[G0701]")
        .stderr_has("graphmap new good --from good.dot");
    // The folder with the name of the graph contains the project of another graph.
    let test = test.args("new good --from hello.dot --quiet");
    test.run().status(0);
    test.args("run good.dot")
        .run()
        .status(2)
        .stderr_has("`good/Cargo.toml` is the project of another graph, `good/hello.dot`\n")
        .stderr_has("= help: run that graph with `graphmap run good/hello.dot`, or rename this graph to give it a project of its own");
}

/// Checks that a long rebuild at a terminal mentions the faster option.
#[test]
fn a_long_build_prints_how_to_shorten_it() {
    const HINT: &str = "graphmap: `--dev` builds faster, but the program runs slower\n";
    // The stub of Cargo only takes longer than a build without a hint.
    let project = || {
        let test = Test::new().args("new hello");
        test.run().status(0);
        test.executable("cargo", "#!/bin/sh\nsleep 5\nexit 1\n")
            .env("CARGO", "cargo")
    };
    let again = || project().file("hello/target/release/hello", "");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let test = again().args("run hello/hello.dot");
            test.run_at_terminal().status(2).stderr_has(HINT);
        });
        for args in ["--release", "--dev", "--quiet"] {
            scope.spawn(move || {
                let test = again().args(&format!("run hello/hello.dot {args}"));
                test.run_at_terminal().status(2).stderr_lacks("--dev");
            });
        }
        // Without a terminal, or in the first build, there is no hint.
        scope.spawn(|| {
            let test = again().args("run hello/hello.dot");
            test.run().status(2).stderr_lacks("--dev");
        });
        scope.spawn(|| {
            let test = project().args("run hello/hello.dot");
            test.run_at_terminal().status(2).stderr_lacks("--dev");
        });
    });
}

#[test]
fn partition_prints_and_writes_plans() {
    let test = || Test::new().file("g.dot", GRAPH);
    let done = test()
        .args("partition g.dot -n 2 --time 20ms --json")
        .run()
        .status(0);
    let plan: serde_json::Value = serde_json::from_str(&done.stdout()).unwrap();
    assert_eq!(plan["os_processes"].as_array().unwrap().len(), 2);
    assert!(plan["cost"].as_f64().unwrap() >= plan["lower_bound"].as_f64().unwrap());
    test()
        .args("partition g.dot --hosts hosts=2:cores=2 --time 20ms -o out")
        .run()
        .status(0)
        .stdout_has("host1 core 0")
        .stderr_has("wrote out/mpiexec.sh")
        .stderr_has("wrote out/mapped.svg");
    test()
        .args("partition g.dot -n 2 --strategy atuo")
        .run()
        .status(2)
        .stderr_has("error[G0450]");
    test()
        .args("partition g.dot --hosts nowhere")
        .run()
        .status(2)
        .stderr_has("error[G0001]");
    test()
        .args("partition g.dot -n 2 --time never")
        .run()
        .status(2);
    let hosts = test()
        .file("hosts", "a:2\na:x\n")
        .args("partition g.dot --hosts hosts");
    hosts.run().status(1).stderr_has(" --> hosts:2:");
    let pinned = GRAPH
        .replace(
            "numbers;",
            "numbers [colocate=x]; sum [colocate=x separate=y];",
        )
        .replace("[replicas=3]", "[replicas=3 separate=y colocate=x]");
    let test = Test::new()
        .file("g.dot", pinned)
        .args("partition g.dot -n 2 --time 20ms");
    test.run().status(4).stderr_has("error[G0456]");
    assert!(fs::read_dir(test.folder()).unwrap().count() == 1);
}
