//! The examples of the thesis on (CM)2PI in one program: hello, the prime sieve, and the farms A, B
//! and C. The program runs in threads, in OS processes that share memory, and over MPI on two
//! hosts.

use crate::common::hosts::{built_for, is_there, on_first, prepare, said};
use graphmap_testing::{Hosts, Need, build_cheaply};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Functions of the processes. Workers return each job, because a job may also go directly to the
/// sink.
const FUNCTIONS: [(&str, &str); 7] = [
    (
        "hello_world",
        "println!(\"hello from {}\", rt::me().name);
        let all = rt::mpi::of_prefix(\"HW.HelloWorld\").unwrap().unwrap();
        let sum = all.allreduce(rt::full_name().index, |a, b| a + b).await.unwrap();
        println!(\"{} of {}: the sum is {sum}\", all.rank(), all.size());",
    ),
    (
        "prime_start",
        "for number in 2.. {
            if p.next.write(number).await.is_err() { return; }
        }",
    ),
    (
        "prime_element",
        "let Some(prime) = p.prev.read().await else { return };
        while let Some(number) = p.prev.read().await {
            if number % prime != 0 && p.next.write(number).await.is_err() { return; }
        }",
    ),
    (
        "prime_end",
        "println!(\"the last prime is {}\", p.prev.read().await.unwrap());
        let elements = rt::of_full_name(\"PrimeSieve.PrimeSieveChain.PrimeElement\");
        println!(\"the last of them is {}\", elements.last().unwrap().name);",
    ),
    (
        "source",
        "if p.input.is_connected() {
            while let Some(job) = p.input.read().await {
                if p.sendjobs.write(job).await.is_err() { return; }
            }
        } else {
            for job in 1..=10 {
                if p.sendjobs.write(job).await.is_err() { return; }
            }
        }",
    ),
    (
        "worker",
        "while let Some(job) = p.jobs.read().await {
            if p.result.write(job).await.is_err() { return; }
        }",
    ),
    (
        "sink",
        "let mut sum = 0;
        while let Some((_, result)) = p.getresults.read().await {
            sum += result;
            if p.output.is_connected() && p.output.write(result).await.is_err() { return; }
        }
        if !p.output.is_connected() { println!(\"{}: {sum}\", rt::me().name); }",
    ),
];

/// Functions that are called around the run and around each process.
const GLUE: &str = "
genv { LOUD = yes }
glue {
    gluemapping { maininit = { \"g.h\", \"start\" } maincleanup = { \"g.h\", \"stop\" } }
    gluemapping { genvcondition = { \"LOUD\", \"yes\" } getparams = { \"g.h\", \"before\" } }
    gluemapping { genvcondition = { \"LOUD\", \"no\" } freeparams = { \"g.h\", \"never\" } }
}
";
const GLUE_FUNCTIONS: &str = "
pub fn start() { println!(\"the glue starts\"); }
pub fn stop() { println!(\"the glue stops\"); }
pub fn before() {
    if graphmap_runtime::me().kind == \"PrimeEnd\" { println!(\"before the end\"); }
}
pub fn never() { panic!(\"the condition is false\"); }
";

/// Lines that each run prints.
const LINES: [&str; 11] = [
    "the glue starts",
    "before the end",
    "the glue stops",
    "hello from HW.HelloWorld1",
    "hello from HW.HelloWorld10",
    "9 of 10: the sum is 45",
    "the last prime is 179",
    "the last of them is PrimeSieve.PrimeSieveChain.PrimeElement40",
    "FarmAppA.FarmP.Sink: 55",
    "FarmAppB.FarmP.Sink2: 55",
    "FarmAppC.FarmP2.Sink: 55",
];

/// Project in a permanent folder, so that tests share builds.
struct Project {
    folder: PathBuf,
}

impl Project {
    /// Creates the project, for runs over an MPI if one is given.
    fn new(mpi: Option<&str>) -> Project {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = folder.join(format!("cpa-{}", mpi.unwrap_or("local")));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let listings = root.join("modules/cpa/tests/listings");
        let mut all = String::new();
        for name in [
            "hello.cpa",
            "hello.cpav",
            "prime.cpa",
            "prime.cpav",
            "farm.cpa",
        ] {
            let text = fs::read_to_string(listings.join(name)).unwrap();
            // Without containers, the network runs in any number of OS processes.
            let lines = text.lines().filter(|line| !line.starts_with("include"));
            let text: String = lines.flat_map(|line| [line, "\n"]).collect();
            fs::write(folder.join(name), text).unwrap();
            all.extend(["include ", name, "\n"]);
        }
        fs::write(folder.join("all.cpa"), all + GLUE).unwrap();
        let link = if mpi.is_some() { " --link mpi" } else { "" };
        let new = format!("new all --from all.cpa{link} --quiet --runtime");
        let mut command = crate::common::graphmap();
        command.current_dir(&folder).args(new.split(' '));
        let made = command.arg(root.join("modules/runtime")).output().unwrap();
        assert!(made.status.success(), "{}", said(&made));
        let project = folder.join("all");
        for (function, body) in FUNCTIONS {
            let words = function.split('_');
            let word = |word: &str| word[..1].to_uppercase() + &word[1..];
            let kind: String = words.map(word).collect();
            let text = format!(
                "use crate::wiring::{kind};\nuse graphmap_runtime as rt;\n\n\
                 #[allow(unused)]\npub async fn {function}(mut p: {kind}) {{\n    {body}\n}}\n"
            );
            let file = project.join(format!("src/processes/{function}.rs"));
            assert!(file.is_file(), "{file:?}");
            fs::write(file, text).unwrap();
        }
        let file = project.join("Cargo.toml");
        let manifest = fs::read_to_string(&file).unwrap();
        let with_mpi = manifest.replace("[\"derive\"]", "[\"derive\", \"mpi\"]");
        assert_ne!(manifest, with_mpi);
        fs::write(file, with_mpi).unwrap();
        let file = project.join("src/glue.rs");
        assert!(file.is_file());
        fs::write(file, GLUE_FUNCTIONS).unwrap();
        let lock = root.join("modules/link-mpi/Cargo.lock");
        fs::copy(lock, project.join("Cargo.lock")).unwrap();
        if let Some(mpi) = mpi {
            let built = project.join(format!("target/mpi-{mpi}"));
            fs::create_dir_all(built.parent().unwrap()).unwrap();
            let shared = built_for(mpi);
            fs::create_dir_all(&shared).unwrap();
            std::os::unix::fs::symlink(&shared, &built).unwrap();
        }
        Project { folder }
    }

    /// Runs `graphmap run`, or a command that runs it.
    fn run(&self, mut command: Command, args: &str) -> Output {
        build_cheaply(&mut command).current_dir(&self.folder);
        command.args(["run", "all.cpa", "-D", "numprimes=42", "--dev", "--quiet"]);
        command.args(args.split_whitespace());
        command.output().unwrap()
    }
}

fn check(output: &Output) {
    let text = said(output);
    assert!(output.status.success(), "{text}");
    for line in LINES {
        assert!(text.lines().any(|l| l == line), "no `{line}` in {text}");
    }
}

fn run_on_hosts(mpi: &'static str, need: Need) {
    if !is_there(mpi, need) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(hosts) = Hosts::new(folder.path(), 2) else {
        return;
    };
    let project = Project::new(Some(mpi));
    let launcher = format!("--set launcher={mpi}");
    // Builds outside of the hosts, because Cargo may not be able to get packages on a host.
    fs::write(project.folder.join("hostfile"), "h1\nh2\n").unwrap();
    let build = format!("--hosts hostfile --no-run {launcher}");
    let output = project.run(crate::common::graphmap(), &build);
    assert!(output.status.success(), "{}", said(&output));
    let agent = hosts.agent().display().to_string();
    let mut command = on_first(&hosts);
    prepare(&mut command);
    let before = hosts.sent();
    let args = format!("--hosts hostfile --set agent={agent} {launcher} --strategy round-robin");
    check(&project.run(command, &args));
    assert!(hosts.sent() > before, "nothing went over the wire");
}

#[test]
fn in_threads_and_over_shared_memory() {
    let project = Project::new(None);
    for args in ["-n 1", "-n 3", "-n 3 --link shm --strategy round-robin"] {
        check(&project.run(crate::common::graphmap(), args));
    }
    // An option replaces a variable of the file, so that the other glue function is called.
    let output = project.run(crate::common::graphmap(), "--set env.LOUD=no");
    assert!(said(&output).contains("the condition is false"));
    // The boxes are the OS processes.
    let all = project.folder.join("all.cpa");
    let text = fs::read_to_string(&all).unwrap();
    let boxes = "containers {
        containerspec all = < HelloWorld[5], PrimeStart[*], PrimeElement[*], PrimeEnd[*],
            Source[*], Worker[*], Sink[*] >
        boxes ( all[2] )
    }";
    fs::write(&all, text + boxes).unwrap();
    let output = project.run(crate::common::graphmap(), "--link shm --prefix");
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    for os_process in 0..2 {
        let prefix = format!("[{os_process}] hello from ");
        let greetings = text.lines().filter(|line| line.starts_with(&prefix));
        assert_eq!(greetings.count(), 5, "{text}");
    }
    let output = project.run(crate::common::graphmap(), "-n 3");
    assert!(said(&output).contains("error[G0466]"), "{}", said(&output));
}

#[test]
fn over_mpich() {
    run_on_hosts("mpich", Need::Mpich);
}

#[test]
fn over_open_mpi() {
    run_on_hosts("openmpi", Need::OpenMpi);
}
