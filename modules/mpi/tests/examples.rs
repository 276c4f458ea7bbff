//! The examples of rsmpi 0.8.2, as published in the registry: checks which of them run at several
//! numbers of ranks.
//!
//! Each example becomes a module of one program, and a function calls its `main`. `mpi` is patched
//! to be this crate. The assertions of the examples decide whether they pass. If MPICH is
//! installed, the program has the link over MPI. A launcher then starts its OS processes on several
//! hosts, which are network namespaces (`graphmap_testing::Hosts`). Without a launcher, such a
//! program runs like one without the link.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use graphmap_testing::{Hosts, Need, build_cheaply, skip};

/// Examples that do not pass, with the reason.
const LEFT_OUT: [(&str, &str); 3] = [
    (
        "dyn_communicator",
        "it receives a `usize` into an `i32`, and so writes beyond it where that is not seen",
    ),
    ("spawn", "ranks cannot be spawned"),
    ("spawn_multiple", "ranks cannot be spawned"),
];

/// Page of the book about rsmpi.
const BOOK: &str = include_str!("../../../docs/src/rsmpi.md");

/// Numbers of ranks and environment variables of the runs.
const RUNS: [(usize, &[(&str, &str)]); 5] = [
    (2, &[]),
    (3, &[]),
    (5, &[]),
    (5, &[("GRAPHMAP_SCHEDULERS", "2")]),
    // Without `GRAPHMAP_LINK`, the OS processes would be threads.
    (
        5,
        &[("GRAPHMAP_LINK", "shm"), ("GRAPHMAP_OS_PROCESSES", "2")],
    ),
];

fn cargo(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO"));
    build_cheaply(&mut command)
        .current_dir(directory)
        .args(arguments)
        .env("MPICC", "mpicc.mpich");
    command.output().expect("cargo can be run")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file is in a directory")).unwrap();
    // Cargo does not rebuild a file that has not been written.
    if fs::read_to_string(path).is_ok_and(|before| before == text) {
        return;
    }
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Writes a crate with this manifest and the locked versions of graphmap or of `modules/link-mpi`.
/// Returns its folder.
fn package(name: &str, manifest: &str, versions: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let whole = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n{manifest}"
    );
    write(&directory.join("Cargo.toml"), &whole);
    let lock = directory.join("Cargo.lock");
    if !lock.exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        fs::copy(root.join(versions), &lock).unwrap();
    }
    directory
}

/// Returns the folder of rsmpi in cargo's registry.
fn rsmpi() -> PathBuf {
    let directory = package(
        "rsmpi-source",
        "[dependencies]\nmpi = { version = \"=0.8.2\", default-features = false }\n",
        "Cargo.lock",
    );
    write(&directory.join("src/lib.rs"), "");
    let told = cargo(
        &directory,
        &["metadata", "--format-version", "1", "--no-default-features"],
    );
    let text = String::from_utf8_lossy(&told.stdout);
    let mut paths = text.split("\"manifest_path\":\"").skip(1);
    let found = paths.find_map(|rest| {
        rest.split('"')
            .next()
            .filter(|path| path.contains("mpi-0.8.2/"))
    });
    let found = found.unwrap_or_else(|| {
        panic!(
            "cargo does not get rsmpi: {}",
            String::from_utf8_lossy(&told.stderr)
        )
    });
    Path::new(found)
        .parent()
        .expect("a manifest is in a directory")
        .to_path_buf()
}

/// Returns the texts of the examples by name.
fn examples() -> BTreeMap<String, String> {
    let directory = rsmpi().join("examples");
    let entries =
        fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let paths = entries.map(|entry| entry.unwrap().path());
    let sources = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let named = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(&path).unwrap())
    };
    sources.map(named).collect()
}

/// Returns the error of MPICH's compiler if it does not start.
fn mpich() -> Result<(), String> {
    let started = Command::new("mpicc.mpich").arg("--version").output();
    let why = |error| format!("mpicc.mpich does not start: {error}");
    started.map(|_| ()).map_err(why)
}

/// Returns the program of all examples, which the first call builds.
fn program(examples: &BTreeMap<String, String>) -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build(examples, mpich().is_ok()))
}

fn build(examples: &BTreeMap<String, String>, with_link: bool) -> PathBuf {
    let name = "rsmpi-examples";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (link, enter, versions) = match with_link {
        false => (String::new(), "mpi::main(", "Cargo.lock"),
        true => {
            let link = root.join("modules/link-mpi");
            let link = format!("graphmap-link-mpi = {{ path = {link:?} }}\n");
            let enter = "graphmap_link_mpi::main(move || mpi::network(";
            (link, enter, "modules/link-mpi/Cargo.lock")
        }
    };
    let manifest = format!(
        "[features]\ndefault = [\"user-operations\"]\nuser-operations = []\n\n\
         [dependencies]\nmpi = {{ version = \"0.8\", features = [\"derive\", \"complex\"] }}\nnum-complex = \"0.4\"\n{link}\n\
         [patch.crates-io]\nmpi = {{ path = {:?} }}\n\n\
         [lints.rust]\nunexpected_cfgs = {{ level = \"warn\", check-cfg = [\"cfg(msmpi)\"] }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    let directory = package(name, &manifest, versions);
    let (mut modules, mut arms) = (String::new(), String::new());
    for (name, text) in examples {
        let entered = format!(
            "{text}\npub(crate) fn enter_as_a_rank() -> impl std::process::Termination {{\n    main()\n}}\n"
        );
        write(&directory.join(format!("src/example_{name}.rs")), &entered);
        writeln!(modules, "mod example_{name};").unwrap();
        let close = &"))"[..enter.matches('(').count()];
        writeln!(
            arms,
            "        \"{name}\" => {enter}ranks, example_{name}::enter_as_a_rank{close},"
        )
        .unwrap();
    }
    let main = format!(
        "{modules}\nfn main() -> std::process::ExitCode {{\n    let mut arguments = std::env::args().skip(1);\n    \
         let name = arguments.next().unwrap();\n    let ranks = arguments.next().unwrap().parse().unwrap();\n    \
         match name.as_str() {{\n{arms}        _ => panic!(\"{{name}}\"),\n    }}\n}}\n"
    );
    write(&directory.join("src/main.rs"), &main);
    // The networks on hosts are built in the same folder, because they use the same link.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("networks-mpich");
    let into = target.display().to_string();
    let built = cargo(&directory, &["build", "--quiet", "--target-dir", &into]);
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    target.join("debug").join(name)
}

/// Returns a command that runs an example with a number of ranks.
fn command(program: &Path, name: &str, ranks: usize, on: &[(&str, &str)]) -> Command {
    let mut command = Command::new(program);
    command
        .args([name, &ranks.to_string()])
        .envs(on.iter().copied());
    command
}

/// Runs an example, and returns its standard error if it fails.
fn run(mut command: Command) -> Result<(), String> {
    command.env("RUST_BACKTRACE", "0").stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be run");
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        // Longer than an example takes on a loaded machine.
        if begun.elapsed() > Duration::from_secs(200) {
            child.kill().unwrap();
            return Err("it does not end".to_string());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let ended = child.wait_with_output().unwrap();
    match ended.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&ended.stderr).into_owned()),
    }
}

/// Runs all examples in several ways. Returns a line for each unexpected result: a failure, or a
/// success of an example in `LEFT_OUT`.
fn run_all(names: &BTreeMap<String, String>, ways: &[&dyn Fn(&str) -> Command]) -> String {
    let mut wrong = String::new();
    for name in names.keys() {
        let left_out = LEFT_OUT.iter().any(|left_out| left_out.0 == name);
        for (way, command) in ways.iter().enumerate() {
            match (run(command(name)), left_out) {
                (Ok(()), false) | (Err(_), true) => {}
                (Ok(()), true) => writeln!(wrong, "{name} passes in way {way}").unwrap(),
                (Err(why), false) => writeln!(wrong, "{name} in way {way}: {why}").unwrap(),
            }
        }
    }
    wrong
}

#[test]
fn examples_of_rsmpi_run() {
    let examples = examples();
    assert_eq!(examples.len(), 58);
    for name in examples.keys() {
        let told = BOOK.contains(&format!("`{name}`"));
        assert!(told, "docs/src/rsmpi.md says nothing of `{name}`");
    }
    let program = program(&examples);
    let ways = RUNS.map(|(ranks, on)| move |name: &str| command(program, name, ranks, on));
    let ways: Vec<&dyn Fn(&str) -> Command> = ways.iter().map(|way| way as _).collect();
    let wrong = run_all(&examples, &ways);
    assert!(wrong.is_empty(), "{wrong}");
}

/// Runs five ranks over TCP: two on each of two hosts and one on a third.
#[test]
fn examples_of_rsmpi_run_on_several_hosts() {
    if let Err(why) = mpich() {
        return skip(Need::Mpich, why);
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(hosts) = Hosts::new(folder.path(), 3) else {
        return;
    };
    let examples = examples();
    let program = program(&examples);
    let way = |name: &str| {
        let mut launcher = hosts.on_first("mpiexec.mpich");
        launcher.args(hosts.options("mpich")).env("UCX_TLS", "tcp");
        launcher.arg("-f").arg(hosts.folder.join("hosts"));
        launcher.args(["-n", "3"]).arg(program).args([name, "5"]);
        launcher
    };
    // Most of a start is waiting, so several examples run at once.
    let all: Vec<_> = examples.into_iter().collect();
    let wrong = std::thread::scope(|scope| {
        let parts = all.chunks(all.len().div_ceil(4));
        let parts = parts.map(|part| part.iter().cloned().collect());
        let started: Vec<_> = parts
            .map(|part: BTreeMap<_, _>| scope.spawn(move || run_all(&part, &[&way])))
            .collect();
        let ended = started.into_iter().map(|part| part.join().unwrap());
        ended.collect::<String>()
    });
    assert!(wrong.is_empty(), "{wrong}");
    // All three hosts have sent data over the network.
    let sent = hosts.sent_by_each();
    assert!(sent.iter().all(|&bytes| bytes > 100_000), "{sent:?}");
}
