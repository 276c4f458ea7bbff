//! Programs in C and C++, compiled and run with many ranks.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
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
    // The system keeps the low byte of a status.
    for argument in ["256", "thread"] {
        let output = run(&mut host(3, &ring, &[argument]));
        let expected = ("9 from 2\nbye 0\n".to_string(), String::new());
        assert_eq!(said(&output), expected, "{argument}");
        assert_eq!(output.status.code(), Some(0), "{argument}");
    }
    let output = run(host(3, &ring, &[]).env("GRAPHMAP_SCHEDULERS", "2"));
    assert_eq!(said(&output).0, "9 from 2\nbye 0\n");
    let output = run(host(2, &ring, &[]).env("GRAPHMAP_PREFIX", "1"));
    assert_eq!(said(&output).0, "[0] 8 from 1\n[0] bye 0\n");
    let output = run(host(2, &ring, &["missing"]).env("GRAPHMAP_PREFIX", "1"));
    assert!(said(&output).1.starts_with("[1] missing: "), "{output:?}");
    // Started directly, the program is the only rank.
    let output = run(&mut Command::new(&ring));
    assert_eq!(said(&output).0, "7 from 0\nbye 0\n");
    // Another launcher would start programs that do not know each other.
    for mut command in [Command::new(&ring), host(2, &ring, &[])] {
        let output = run(command.env("PMI_SIZE", "2").env("PMI_RANK", "0"));
        let (text, error) = said(&output);
        assert!(
            text.is_empty() && error.contains("(PMI_SIZE=2)"),
            "{text}{error}"
        );
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn the_end_of_a_rank_is_reported() {
    let ends = compile("ends", "ends.c", Linked::Loadable, &[]);
    let cases = [
        (
            "abort",
            1,
            "rank 2) failed: called abort in main (tests/programs/ends.c:",
        ),
        ("exit", 7, "rank 2) failed: exited with status 7"),
        ("quick", 7, "rank 2) failed: exited with status 7"),
        ("on", 7, "rank 2) failed: exited with status 7"),
        ("op-abort", 9, " failed: called MPI_Abort with code 9"),
        (
            "op-wait",
            1,
            " failed: MPI_Barrier cannot wait in a function that MPI has called",
        ),
        ("fork", 1, "rank 2) failed: called fork"),
        ("execlp", 1, "rank 2) failed: called execlp, which ranks"),
        ("daemon", 1, "rank 2) failed: called daemon, which ranks"),
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
        let (shown, error) = said(&output);
        assert!(error.contains(text), "{how}: {error}");
        assert_eq!(output.status.code(), Some(status), "{how}");
        let expected = match how {
            "quick" => "at_quick_exit\nincomplete",
            "on" => "on_exit 7\nincomplete",
            _ if how.starts_with("op-") => &shown,
            _ => "incomplete",
        };
        assert_eq!(shown, expected, "{how}");
    }
    let output = run(&mut host(4, &ends, &["mpi", "256"]));
    assert_eq!(output.status.code(), Some(1));
    // The reader of the output leaves.
    let mut child = host(4, &ends, &["pipe"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 6];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGPIPE));
    // Without lines, a report has the address of the call.
    let without = compile("without", "ends.c", Linked::Loadable, &["-g0"]);
    let error = said(&run(&mut host(4, &without, &["wait"]))).1;
    let place = format!("tag 0): {}+0x", without.display());
    let line = error.lines().find(|line| line.contains(&place));
    let address = line.and_then(|line| line.rsplit_once("+0x"));
    let is_address = |text: &str| u64::from_str_radix(text, 16).is_ok();
    assert!(address.is_some_and(|(_, text)| is_address(text)), "{error}");
    for how in ["overflow", "large"] {
        let output = run(&mut host(4, &ends, &[how]));
        let error = said(&output).1;
        assert!(error.contains("rank 2 has overflowed"), "{how}: {error}");
        assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{how}");
    }
}

/// Returns the position of the line of a source that ends with a comment.
fn position(file: &str, comment: &str) -> String {
    let text = std::fs::read_to_string(source(file)).unwrap();
    let end = format!("// {comment}");
    let line = text.lines().position(|line| line.ends_with(&end)).unwrap();
    format!("tests/programs/{file}:{}", line + 1)
}

#[test]
fn crashes_name_the_rank_and_the_source_line() {
    let file = "crashes.cpp";
    let crashes = compile("crashes", file, Linked::Loadable, &[]);
    let cases = [
        ("SIGSEGV", libc::SIGSEGV, "received SIGSEGV in"),
        ("thread", libc::SIGSEGV, "received SIGSEGV in"),
        ("SIGFPE", libc::SIGFPE, "received SIGFPE in"),
        (
            "null",
            libc::SIGSEGV,
            "received SIGSEGV at 0x0, called from",
        ),
        (
            "SIGTRAP",
            libc::SIGTRAP,
            "received SIGTRAP in libc.so.6, called from",
        ),
        (
            "assert",
            libc::SIGABRT,
            "received SIGABRT in libc.so.6, called from",
        ),
        (
            "throw",
            libc::SIGABRT,
            "received SIGABRT in libc.so.6, called from",
        ),
        (
            "free",
            libc::SIGABRT,
            "received SIGABRT in libc.so.6, called from",
        ),
    ];
    for (how, signal, text) in cases {
        for schedulers in ["1", "2"] {
            let output = run(host(3, &crashes, &[how]).env("GRAPHMAP_SCHEDULERS", schedulers));
            let error = said(&output).1;
            // The compiler may inline the function.
            let start = match how {
                "thread" => format!("error: a thread of rank 2 {text} "),
                _ => format!("error: rank 2 {text} "),
            };
            let line = error.lines().find(|line| line.starts_with(&start));
            let place = format!("({})", position(file, how));
            assert!(line.is_some_and(|line| line.ends_with(&place)), "{error}");
            assert_eq!(output.status.signal(), Some(signal), "{how}");
            if how == "assert" {
                // The C library begins its message with the name of the program.
                assert!(error.starts_with("crashes: "), "{error}");
            }
        }
    }
    // The signal that asks a thread which computes for long. The report of the crash comes later.
    let output = run(&mut host(3, &crashes, &["ask"]));
    let error = said(&output).1;
    assert!(
        error.starts_with("warning: rank 2 has computed for 0 s in libc.so.6, called from ")
            && error.contains(&format!(
                "({}), and no other rank of its thread can run meanwhile\n  = help: MPI_Test",
                position(file, "ask")
            )),
        "{error}"
    );
    let output = run(&mut host(3, &crashes, &["differ"]));
    assert!(
        said(&output).1.contains(
            "collective calls do not match: rank 0 called barrier, and rank 2 called bcast with \
             root 0\n"
        ),
        "{:?}",
        said(&output)
    );
    // Started directly, the program has no positions of the library, either.
    let output = run(Command::new(&crashes).arg("wait"));
    let expected = format!("tag 0): {}\n", position(file, "wait"));
    assert!(said(&output).1.ends_with(&expected), "{:?}", said(&output));
    assert_eq!(output.status.code(), Some(6));
}

#[test]
fn exceptions_and_statics_of_cpp_are_private() {
    let cases = [
        (Linked::Loadable, "-lstdc++", ""),
        (Linked::Executable, "-lstdc++", ""),
        // Each rank has its own runtime of C++.
        (Linked::Loadable, "-lstdc++", "libstdc++.so.6"),
        (Linked::Executable, "-lstdc++", "libstdc++.so.6"),
        (Linked::Loadable, "-static-libstdc++", ""),
    ];
    for (index, (linked, option, private)) in cases.into_iter().enumerate() {
        let name = format!("exceptions-{index}");
        let program = compile(&name, "exceptions.cpp", linked, &["-std=c++17", option]);
        for schedulers in ["1", "2"] {
            let mut command = host(5, &program, &[]);
            command.env("GRAPHMAP_PRIVATE", private);
            let output = run(command.env("GRAPHMAP_SCHEDULERS", schedulers));
            let (text, error) = said(&output);
            let mut lines: Vec<&str> = text.lines().collect();
            lines.sort_unstable();
            let expected: Vec<String> = (7..12).map(|value| format!("destroyed {value}")).collect();
            lines.sort_by_key(|line| line.len());
            assert_eq!(lines, expected, "{name}: {error}");
        }
    }
}

/// Returns a new folder for the files of a program.
fn folder(name: &str) -> PathBuf {
    let folder = INSTALLED.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn standard_streams_are_private() {
    let first = |rank: usize| format!("a 1 2.5 b 3 4 5 6 of {rank}\n");
    let rest = "puts\np stdout\n";
    let all = |rank| first(rank) + rest;
    let nothing = |_| String::new();
    type Text<'a> = &'a dyn Fn(usize) -> String;
    let cases: [(&str, Text<'_>, Text<'_>); 6] = [
        ("setvbuf", &all, &nothing),
        ("freopen", &nothing, &all),
        ("assign", &|rank| format!("first {rank}\n"), &all),
        ("close", &nothing, &|_| "opened again\n".to_string()),
        ("files", &all, &|rank| format!("left open by {rank}\n")),
        (
            "stdin",
            &|rank| {
                let read = if rank == 0 { "1 42 10" } else { "-1 -1 -1" };
                all(rank) + &format!("{rank}: {read}\n")
            },
            &nothing,
        ),
    ];
    for linked in [Linked::Loadable, Linked::Executable] {
        let name = format!("streams-{}", linked == Linked::Executable);
        let streams = compile(&name, "streams.c", linked, &[]);
        let folder = folder(&format!("of-{name}"));
        let input = folder.join("input");
        std::fs::write(&input, "42\n").unwrap();
        for (how, shown, kept) in cases {
            for schedulers in ["1", "2"] {
                let arguments = [folder.to_str().unwrap(), how];
                let mut command = host(3, &streams, &arguments);
                command.stdin(std::fs::File::open(&input).unwrap());
                let output = run(command.env("GRAPHMAP_SCHEDULERS", schedulers));
                let (text, error) = said(&output);
                let mut expected: String = (0..3).map(shown).collect();
                if how == "files" {
                    expected += "popen\n";
                }
                assert_eq!(lines(&text), lines(&expected), "{how}: {error}");
                assert_eq!(
                    (error, output.status.code()),
                    (String::new(), Some(0)),
                    "{how}"
                );
                for rank in 0..3 {
                    let file = folder.join(format!("{how}-{rank}"));
                    let text = std::fs::read_to_string(&file).unwrap_or_default();
                    assert_eq!(text, kept(rank), "{how} of rank {rank}");
                    let error = file.with_extension("err");
                    let error = std::fs::read_to_string(error).unwrap_or_default();
                    assert_eq!(error.starts_with("perror: "), how == "freopen", "{error}");
                }
            }
        }
    }
}

/// Returns the lines that a rank of `iostreams.cpp` writes, in any order.
fn lines_of_iostreams(rank: usize) -> String {
    let (format, redirected, good) = match rank {
        1 => ("0xff 3.1 *0x9", "kept redirected", ""),
        _ => ("255 3.14159    9", "redirected", "good\n"),
    };
    let read = if rank == 0 { "420" } else { "-11" };
    format!(
        "format {format}\n{redirected}\n{good}independent 10 in order\ntied 11\nread {read}\n\
         word first\nwords f irst second\nwide é {rank}\né 1 2.5 3 4 5 6 7 {rank}\n\
         list 8 {rank}\npé fputws\nfwprintf\nbytes\n"
    )
}

#[test]
fn streams_of_cpp_are_private() {
    let cases: [(_, &[&str], _); 4] = [
        (Linked::Loadable, &[], ""),
        (Linked::Executable, &["-O2", "-D_FORTIFY_SOURCE=2"], ""),
        (Linked::Loadable, &[], "libstdc++.so.6"),
        (Linked::Executable, &[], "libstdc++.so.6"),
    ];
    for (index, (linked, more, private)) in cases.into_iter().enumerate() {
        let name = format!("iostreams-{index}");
        let program = compile(&name, "iostreams.cpp", linked, more);
        let folder = folder(&format!("of-{name}"));
        let input = folder.join("input");
        std::fs::write(&input, "42\n").unwrap();
        std::fs::write(folder.join("words"), "first second\n").unwrap();
        for (ranks, schedulers) in [(2, "1"), (2, "2"), (300, "1"), (300, "2")] {
            let mut command = host(ranks, &program, &[folder.to_str().unwrap()]);
            command.stdin(std::fs::File::open(&input).unwrap());
            command.env("GRAPHMAP_PRIVATE", private);
            let output = run(command.env("GRAPHMAP_SCHEDULERS", schedulers));
            let (text, error) = said(&output);
            let expected: String = (0..ranks).map(lines_of_iostreams).collect();
            assert_eq!(lines(&text), lines(&expected), "{name}: {error}");
            let expected = "error é\n\ncerr\nclog\n".repeat(ranks);
            assert_eq!(lines(&error), lines(&expected), "{name}");
            for rank in 0..ranks {
                let read = |name: String| std::fs::read_to_string(folder.join(name)).unwrap();
                assert_eq!(read(rank.to_string()), format!("wide é{rank}"), "{name}");
                assert_eq!(read(format!("{rank}.log")), format!("log {rank}"), "{name}");
            }
        }
    }
}

#[test]
fn shared_libraries_write_to_the_streams_of_ranks() {
    let library = INSTALLED.join("libshared.so");
    let library = library.to_str().unwrap();
    let mut command = Command::new("c++");
    command
        .args([
            "-shared",
            "-fPIC",
            "-Wl,-soname,libshared.so",
            "-o",
            library,
        ])
        .arg(source("shared.cpp"));
    assert!(run(&mut command).status.success());
    for linked in [Linked::Loadable, Linked::Executable] {
        let name = format!("shared-{}", linked == Linked::Executable);
        let program = compile(&name, "shared.cpp", linked, &["-DPROGRAM", library]);
        for schedulers in ["1", "2"] {
            let output = run(host(20, &program, &[]).env("GRAPHMAP_SCHEDULERS", schedulers));
            let (text, error) = said(&output);
            let line = |rank| format!("wide {rank}, puts, {rank}, bytes {rank}\n");
            let expected: String = (0..20).map(line).collect();
            assert_eq!(lines(&text), lines(&expected), "{error}");
        }
    }
}

#[test]
fn state_of_the_c_library_is_private() {
    for linked in [Linked::Loadable, Linked::Executable] {
        let name = format!("libc-{}", linked == Linked::Executable);
        let program = compile(&name, "libc.c", linked, &[]);
        let alone = run(&mut Command::new(&program));
        assert_eq!(alone.status.code(), Some(0));
        for schedulers in ["1", "2"] {
            let output = run(host(20, &program, &[]).env("GRAPHMAP_SCHEDULERS", schedulers));
            let (text, error) = said(&output);
            let lines = lines(&text);
            assert_eq!((lines.len(), &*error), (20, ""), "{text}");
            // Started directly, the program uses the C library itself.
            assert!(lines.contains(&said(&alone).0.trim_end()), "{text}");
            // The first number does not depend on the rank, and all others do.
            let column = |column| lines.iter().map(move |line| line.split(' ').nth(column));
            let distinct = |values: Vec<_>| values.into_iter().collect::<BTreeSet<_>>().len();
            assert_eq!(distinct(column(1).collect()), 1, "{text}");
            assert_eq!(distinct(column(2).collect()), 20, "{text}");
            assert_eq!(distinct(column(4).collect()), 20, "{text}");
        }
    }
}

#[test]
fn a_rank_that_pauses_lets_others_run() {
    let pauses = compile("pauses", "pauses.c", Linked::Loadable, &[]);
    let output = run(host(3, &pauses, &[]).env("GRAPHMAP_SCHEDULERS", "1"));
    assert_eq!(said(&output), ("3 -1\n".to_string(), String::new()));
}

#[test]
fn destructors_of_thread_locals_run_at_the_end_of_a_rank() {
    let program = compile(
        "locals-cpp",
        "locals.cpp",
        Linked::Loadable,
        &["-std=c++17"],
    );
    let folder = folder("of-locals");
    for schedulers in ["1", "2"] {
        let mut command = host(2, &program, &[folder.to_str().unwrap()]);
        let output = run(command.env("GRAPHMAP_SCHEDULERS", schedulers));
        let (text, error) = said(&output);
        for rank in 0..2 {
            let of_rank = text
                .lines()
                .filter(|line| line.ends_with(&format!(" {rank}")));
            let of_rank: Vec<&str> = of_rank.filter_map(|line| line.split(' ').next()).collect();
            assert_eq!(
                of_rank,
                ["inner", "thread-local", "static"],
                "{text}{error}"
            );
            let file = std::fs::read(folder.join(format!("cpp-{rank}"))).unwrap();
            assert_eq!(file, b"left open");
        }
    }
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
    let nameless = INSTALLED.join("libnameless.so");
    let output = run(Command::new("cc")
        .args(["-shared", "-fPIC", "-DNEEDS"])
        .arg(source("library.c"))
        .arg("-o")
        .arg(&nameless));
    assert!(output.status.success());
    let folder = format!("-L{}", INSTALLED.display());
    let user = compile(
        "nameless",
        "user.c",
        Linked::Loadable,
        &[&folder, "-lnameless"],
    );
    let output = run(host(3, &user, &[]).env("GRAPHMAP_PRIVATE", "libnameless.so"));
    let error = said(&output).1;
    let expected = "error[G0011]: libnameless.so cannot be private, because it does not state";
    assert!(error.starts_with(expected), "{error}");
    let error = said(&run(&mut host(3, &user, &[]))).1;
    assert!(
        error.starts_with("warning: libnameless.so uses `needed` of the program, "),
        "{error}"
    );
    let above = INSTALLED.join("libabove.so.1");
    let output = run(Command::new("cc")
        .args(["-shared", "-fPIC", "-Wl,-soname,libabove.so.1"])
        .arg(source("above.c"))
        .args([library, "-o"])
        .arg(&above));
    assert!(output.status.success());
    let above = above.to_str().unwrap();
    let user = compile(
        "above",
        "user.c",
        Linked::Loadable,
        &["-DABOVE", above, library],
    );
    let output = run(host(3, &user, &[]).env("GRAPHMAP_PRIVATE", "libbump.so.1"));
    let error = said(&output).1;
    let expected = "warning: libabove.so.1 uses `bump` of libbump.so.1, but all ranks share ";
    assert!(error.starts_with(expected), "{error}");
    let both = "libbump.so.1:libabove.so.1";
    let output = run(host(3, &user, &[]).env("GRAPHMAP_PRIVATE", both));
    assert_eq!(said(&output), ("private\n".repeat(3), String::new()));
    for linked in [Linked::Loadable, Linked::Executable] {
        let name = format!("user-{}", linked == Linked::Executable);
        let user = compile(&name, "user.c", linked, &[library]);
        let output = run(host(3, &user, &[]).env("GRAPHMAP_PRIVATE", "libbump.so.1"));
        assert_eq!(said(&output), ("private\n".repeat(3), String::new()));
        let output = run(&mut host(3, &user, &[]));
        assert!(said(&output).0.contains("shared"));
        for other in ["libother.so", "libc.so.6"] {
            let output = run(host(3, &user, &[]).env("GRAPHMAP_PRIVATE", other));
            let error = said(&output).1;
            assert!(error.starts_with("error[G0011]: "), "{error}");
            assert_eq!(output.status.code(), Some(2));
        }
    }
}

#[test]
fn libraries_that_a_program_opens_may_be_private() {
    let plugin = INSTALLED.join("plugin.so");
    let output = run(Command::new("cc")
        .args(["-shared", "-fPIC"])
        .arg(source("plugin.c"))
        .arg("-o")
        .arg(&plugin));
    assert!(output.status.success());
    for linked in [Linked::Loadable, Linked::Executable] {
        let name = format!("opens-{}", linked == Linked::Executable);
        let opens = compile(&name, "opens.c", linked, &["-rdynamic"]);
        for schedulers in ["1", "2"] {
            for path in [plugin.to_str().unwrap(), "./plugin.so"] {
                let mut command = host(3, &opens, &[path]);
                command.current_dir(&*INSTALLED);
                command.env("GRAPHMAP_PRIVATE", "plugin.so");
                let output = run(command.env("GRAPHMAP_SCHEDULERS", schedulers));
                assert_eq!(said(&output), ("private\n".repeat(3), String::new()));
            }
        }
        let output = run(&mut host(2, &opens, &["/nowhere.so"]));
        let text = said(&output).0;
        assert_eq!(
            text.matches("/nowhere.so: cannot open").count(),
            2,
            "{text}"
        );
        assert_eq!(text.lines().count(), 2, "{text}");
        let output = run(host(2, &opens, &["/plugin.so"]).env("GRAPHMAP_PRIVATE", "plugin.so"));
        let text = said(&output).0;
        assert_eq!(
            text.matches("/plugin.so: No such file").count(),
            2,
            "{text}"
        );
    }
}

/// Returns true if all ranks had their own globals of each kind, and prints those that are shared.
fn are_private(output: &Output, ranks: usize, kinds: usize) -> bool {
    let (text, error) = said(output);
    let expected = format!(": {ranks}");
    let shared: Vec<&str> = text
        .lines()
        .filter(|line| !line.ends_with(&expected))
        .collect();
    println!("{} kinds, shared: {shared:?} {error}", text.lines().count());
    shared.is_empty() && text.lines().count() == kinds
}

#[test]
fn globals_of_all_kinds_are_private() {
    for linked in [Linked::Loadable, Linked::Executable] {
        let name = format!("kinds-{}", linked == Linked::Executable);
        let objects = |suffix: &str, more: &[&str]| {
            let object = |file: &str| {
                let compiler = if file.ends_with(".cpp") { "c++" } else { "cc" };
                let object = INSTALLED.join(format!("{name}-{suffix}-{file}.o"));
                let mut command = Command::new(compiler);
                command
                    .args(["-O1", "-fPIC", "-ftls-model=global-dynamic", "-c"])
                    .args(more);
                let output = run(command.arg(source(file)).arg("-o").arg(&object));
                assert!(output.status.success(), "{:?}", said(&output));
                object.to_str().unwrap().to_string()
            };
            ["globals.c", "globals.cpp"].map(object)
        };
        // The thread-local variables of an ordinary executable are at fixed offsets.
        let (more, kinds): (&[&str], _) = match linked {
            Linked::Loadable => (&[], 32),
            Linked::Executable => (&["-DWITHOUT_THREAD_LOCALS"], 28),
        };
        let [one, other] = objects("program", more);
        let program = compile(&name, "kinds.c", linked, &[&one, &other, "-lstdc++"]);
        let [one, other] = objects("library", &[]);
        let library = INSTALLED.join(format!("lib{name}.so"));
        let library = library.to_str().unwrap();
        let soname = format!("-Wl,-soname,lib{name}.so");
        let mut command = Command::new("c++");
        command.args(["-shared", &one, &other, &soname, "-o", library]);
        assert!(run(&mut command).status.success());
        let user = compile(&format!("{name}-user"), "kinds.c", linked, &[library]);
        for ranks in [2, 1000] {
            let output = run(&mut host(ranks, &program, &[]));
            assert!(
                are_private(&output, ranks, kinds),
                "in a program, {ranks} ranks"
            );
            let mut command = host(ranks, &user, &[]);
            let output = run(command.env("GRAPHMAP_PRIVATE", format!("lib{name}.so")));
            assert!(
                are_private(&output, ranks, 32),
                "in a library, {ranks} ranks"
            );
        }
    }
}

#[test]
fn rounding_and_its_flags_are_private() {
    let program = compile("rounding", "rounding.c", Linked::Loadable, &["-lm"]);
    for schedulers in ["1", "2"] {
        let output = run(host(8, &program, &[]).env("GRAPHMAP_SCHEDULERS", schedulers));
        let text = said(&output).0;
        let up = text.matches("0.33333333333333338\n").count();
        let down = text.matches("0.33333333333333331\n").count();
        assert_eq!((up, down, text.lines().count()), (2, 6, 8), "{text}");
    }
}

#[test]
fn programs_that_cannot_be_loaded_are_refused() {
    let executable = compile("locals", "ring.c", Linked::Executable, &[]);
    let output = run(&mut host(3, &executable, &[]));
    let error = said(&output).1;
    assert!(
        error.starts_with("error[G0723]: the thread-local variables"),
        "{error}"
    );
    assert!(
        error.contains("help: compile and link it with `graphmap cc`"),
        "{error}"
    );
    assert_eq!(output.status.code(), Some(2));
    let output = run(&mut host(3, Path::new("/nowhere"), &[]));
    assert_eq!(output.status.code(), Some(2));
    let output = run(&mut host(3, &source("ring.c"), &[]));
    assert!(said(&output).1.contains("it is not an ELF file"));
    let ends = compile("many", "ends.c", Linked::Loadable, &[]);
    let output = run(&mut host(100_000, &ends, &[]));
    let error = said(&output).1;
    assert!(
        error.starts_with("error[G0725]: 100000 ranks of"),
        "{error}"
    );
    assert_eq!(output.status.code(), Some(2));
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
