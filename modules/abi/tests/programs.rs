//! Programs in C and C++, compiled and run with many ranks.

use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use graphmap_testing::{Need, skip};

/// Folder with the host program and the library under the name that programs look for.
static INSTALLED: LazyLock<PathBuf> = LazyLock::new(|| {
    let built = Path::new(env!("CARGO_BIN_EXE_graphmap-mpi"))
        .parent()
        .unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mpi-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(built.join("graphmap-mpi"), folder.join("graphmap-mpi")).unwrap();
    std::fs::copy(built.join("libmpi_abi.so"), folder.join("libmpi_abi.so.1")).unwrap();
    symlink("libmpi_abi.so.1", folder.join("libmpi_abi.so")).unwrap();
    std::fs::create_dir(folder.join("include")).unwrap();
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mpi.h");
    std::fs::copy(header, folder.join("include/mpi.h")).unwrap();
    folder
});

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name)
}

fn run(command: &mut Command) -> Output {
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// How a program is linked.
#[derive(Clone, Copy, PartialEq)]
enum Linked {
    /// As `graphmap cc` does.
    Loadable,
    /// As an ordinary executable.
    Executable,
}

/// Compiles a program, and returns its path. `name` must be unique among the tests.
fn compile(name: &str, file: &str, linked: Linked, more: &[&str]) -> PathBuf {
    let compiler = if file.ends_with(".cpp") { "c++" } else { "cc" };
    let program = INSTALLED.join(name);
    let mut command = Command::new(compiler);
    command
        .args(["-g", "-O1", "-I"])
        .arg(INSTALLED.join("include"));
    if linked == Linked::Loadable {
        let start = run(Command::new(compiler).arg("-print-file-name=Scrt1.o")).stdout;
        let start = String::from_utf8(start).unwrap();
        command.args([
            "-fPIC",
            "-ftls-model=global-dynamic",
            "-shared",
            start.trim(),
        ]);
        command.args([
            "-Wl,-e,_start",
            "-Wl,-Bsymbolic",
            "-Wl,-z,defs",
            "-Wl,-z,now",
        ]);
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        command.arg(manifest.join("src/interpreter.S"));
    }
    command.arg(source(file)).args(more).arg("-o").arg(&program);
    let folder = INSTALLED.display();
    command.args([
        format!("-L{folder}"),
        format!("-Wl,-rpath,{folder}"),
        "-lmpi_abi".into(),
    ]);
    let output = run(&mut command);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

/// Returns the host program with a number of ranks.
fn host(ranks: usize, program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(INSTALLED.join("graphmap-mpi"));
    command.arg(ranks.to_string()).arg(program).args(arguments);
    command
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn globals_are_private_and_the_status_is_that_of_the_rank() {
    let ring = compile("ring", "ring.c", Linked::Loadable, &[]);
    for ranks in [1, 2, 300] {
        let output = run(&mut host(ranks, &ring, &[]));
        let expected = format!("{} from {}\nbye 0\n", ranks + 6, ranks - 1);
        assert_eq!(said(&output), (expected, String::new()), "{ranks} ranks");
        assert_eq!(output.status.code(), Some(0));
    }
    let output = run(&mut host(3, &ring, &["5"]));
    assert_eq!(output.status.code(), Some(5));
    let text = said(&output).1;
    assert!(
        text.contains("rank 1) failed: exited with status 5"),
        "{text}"
    );
    let output = run(host(3, &ring, &[]).env("GRAPHMAP_SCHEDULERS", "2"));
    assert_eq!(said(&output).0, "9 from 2\nbye 0\n");
    let output = run(host(2, &ring, &[]).env("GRAPHMAP_PREFIX", "1"));
    assert_eq!(said(&output).0, "[0] 8 from 1\n[0] bye 0\n");
    // Started directly, the program is the only rank.
    let output = run(&mut Command::new(&ring));
    assert_eq!(said(&output).0, "7 from 0\nbye 0\n");
}

#[test]
fn the_end_of_a_rank_is_reported() {
    let ends = compile("ends", "ends.c", Linked::Loadable, &[]);
    let cases = [
        ("abort", 1, "rank 2) failed: called abort"),
        ("exit", 7, "rank 2) failed: exited with status 7"),
        ("fork", 1, "rank 2) failed: called fork"),
        ("mpi", 9, "rank 2) failed: called MPI_Abort with code 9"),
        (
            "window",
            1,
            "rank 2) failed: MPI_Win_create: windows are not supported",
        ),
        ("freed", 1, "rank 2) failed: MPI_Comm_rank: communicator"),
        (
            "wait",
            6,
            "main2 (rank 2) waits in MPI_Recv: receive (world, from rank 0, tag 0)",
        ),
    ];
    for (how, status, text) in cases {
        let output = run(&mut host(4, &ends, &[how]));
        let error = said(&output).1;
        assert!(error.contains(text), "{how}: {error}");
        assert_eq!(output.status.code(), Some(status), "{how}");
    }
    let crashes = [
        ("crash", "error: rank 2 received SIGSEGV"),
        ("overflow", "rank 2 has overflowed"),
    ];
    for (how, text) in crashes {
        let output = run(&mut host(4, &ends, &[how]));
        let error = said(&output).1;
        assert!(error.contains(text), "{how}: {error}");
        assert_eq!(output.status.signal(), Some(11), "{how}");
    }
}

#[test]
fn exceptions_and_statics_of_cpp_are_private() {
    let program = compile(
        "exceptions",
        "exceptions.cpp",
        Linked::Loadable,
        &["-std=c++17"],
    );
    let output = run(&mut host(5, &program, &[]));
    let (text, error) = said(&output);
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let expected: Vec<String> = (7..12).map(|value| format!("destroyed {value}")).collect();
    lines.sort_by_key(|line| line.len());
    assert_eq!(lines, expected, "{error}");
}

#[test]
fn libraries_are_shared_unless_they_are_private() {
    let library = INSTALLED.join("libbump.so.1");
    let output = run(Command::new("cc")
        .args(["-shared", "-fPIC", "-Wl,-soname,libbump.so.1"])
        .arg(source("library.c"))
        .arg("-o")
        .arg(&library));
    assert!(output.status.success());
    let output = run(&mut host(2, &library, &[]));
    assert!(
        said(&output).1.contains("it has no entry point"),
        "{:?}",
        said(&output)
    );
    let library = library.to_str().unwrap();
    for linked in [Linked::Loadable, Linked::Executable] {
        let name = format!("user-{}", linked == Linked::Executable);
        let user = compile(&name, "user.c", linked, &[library]);
        let output = run(host(3, &user, &[]).env("GRAPHMAP_PRIVATE", "libbump.so.1"));
        assert_eq!(said(&output), ("private\n".repeat(3), String::new()));
        let output = run(&mut host(3, &user, &[]));
        assert!(said(&output).0.contains("shared"));
        let output = run(host(3, &user, &[]).env("GRAPHMAP_PRIVATE", "libother.so"));
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn programs_that_cannot_be_loaded_are_refused() {
    let executable = compile("locals", "ring.c", Linked::Executable, &[]);
    let output = run(&mut host(3, &executable, &[]));
    let error = said(&output).1;
    assert!(error.contains("thread-local variables"), "{error}");
    assert!(
        error.contains("help: compile and link it with `graphmap cc`"),
        "{error}"
    );
    assert_eq!(output.status.code(), Some(2));
    let output = run(&mut host(3, Path::new("/nowhere"), &[]));
    assert_eq!(output.status.code(), Some(2));
    let output = run(&mut host(3, &source("ring.c"), &[]));
    assert!(said(&output).1.contains("not an ELF program"));
    let ends = compile("many", "ends.c", Linked::Loadable, &[]);
    let output = run(&mut host(100_000, &ends, &[]));
    let error = said(&output).1;
    assert!(error.contains("memory mappings"), "{error}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_program_is_examined_without_a_run() {
    let ends = compile("examined", "ends.c", Linked::Loadable, &[]);
    let output = run(Command::new(INSTALLED.join("graphmap-mpi"))
        .arg("--examine")
        .arg(ends));
    let text = said(&output).0;
    assert!(
        text.contains("calls of MPI that are not supported: MPI_Win_create\n"),
        "{text}"
    );
    assert!(
        text.contains("thread-locals of a rank: 0 bytes, private\n"),
        "{text}"
    );
}

#[test]
fn errors_of_functions_of_the_program_keep_their_codes() {
    let errors = compile("errors", "errors.c", Linked::Loadable, &[]);
    let output = run(&mut host(1, &errors, &[]));
    let expected = "dup: code\ncancel: code\nget status: class 0\n1 6\nwait: code\nwait: class 19\n\
                    status: class 0\nsource -1\nstatus: class 0\nsource 5\nstatus: code\nsource 5\n\
                    truncated: class 19\nstatus: class 15\nstatus: class 0\nstatus: class 15\n\
                    attach: class 0\nno room: class 1\nroom: class 0\nflush: class 0\n\
                    detach: class 0\n1 8\nflush: class 0\nno buffer: class 1\n";
    assert_eq!(said(&output), (expected.to_string(), String::new()));
}

/// Random programs that run by default: number of ranks, first seed, number of seeds.
/// `GRAPHMAP_RANDOM_PROGRAMS` has other ones, as three numbers.
const RANDOM: [[usize; 3]; 3] = [[2, 0, 60], [3, 1000, 40], [4, 2000, 40]];
/// Number of random programs of a run of `mpiexec`.
const PART: usize = 20;

#[test]
fn ranks_of_random_programs_see_the_same_as_on_mpich() {
    let Some(mpiexec) = std::env::var_os("MPICH_MPIEXEC") else {
        return skip(Need::LaterMpich, "MPICH_MPIEXEC is not set");
    };
    let library = Path::new(&mpiexec).ancestors().nth(2).unwrap().join("lib");
    let random = compile("random", "random.c", Linked::Executable, &[]);
    let logs = INSTALLED.join("logs");
    std::fs::create_dir(&logs).unwrap();
    let asked = std::env::var("GRAPHMAP_RANDOM_PROGRAMS").map(|text| {
        let numbers: Vec<usize> = text.split(' ').map(|word| word.parse().unwrap()).collect();
        vec![numbers.try_into().expect("three numbers")]
    });
    for [ranks, first, count] in asked.unwrap_or(RANDOM.to_vec()) {
        for part in (first..first + count).step_by(PART) {
            let count = PART.min(first + count - part);
            let see = |command: &mut Command| {
                command.arg(&random).arg(&logs);
                let output = run(command.args([part, count].map(|number| number.to_string())));
                assert!(output.status.success(), "{command:?}: {:?}", said(&output));
                let log = |rank| std::fs::read_to_string(logs.join(format!("{rank}.log"))).unwrap();
                (0..ranks).map(log).collect::<Vec<String>>()
            };
            let mut mpich = Command::new(&mpiexec);
            mpich.args(["-n", &ranks.to_string()]);
            let expected = see(mpich.env("LD_LIBRARY_PATH", &library));
            for [variable, value] in [
                ["GRAPHMAP_SCHEDULERS", "1"],
                ["GRAPHMAP_SCHEDULERS", "2"],
                ["GRAPHMAP_SHUFFLE", "1"],
            ] {
                let mut ours = Command::new(INSTALLED.join("graphmap-mpi"));
                let seen = see(ours.arg(ranks.to_string()).env(variable, value));
                for (rank, (seen, expected)) in seen.iter().zip(&expected).enumerate() {
                    let mut program = "";
                    for (seen, expected) in seen.lines().zip(expected.lines()) {
                        program = seen.strip_prefix("program ").unwrap_or(program);
                        assert_eq!(
                            seen, expected,
                            "rank {rank} of {ranks} in program {program}, {variable}={value}"
                        );
                    }
                    assert_eq!(seen.lines().count(), expected.lines().count());
                }
            }
        }
    }
}
