//! `graphmap doctor PROJECT`: state that ranks of a program would share, and code that it cannot
//! check.

use crate::common::Test;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Stand-in for rsmpi, which the doctor does not check.
const MPI: &str = "[package]\nname = \"mpi\"\nversion = \"0.8.2\"\n";

fn manifest(name: &str, dependencies: &[&str]) -> String {
    let mut text = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.3.0\"\nedition = \"2024\"\n[dependencies]\n"
    );
    for dependency in dependencies {
        text += &format!("{dependency} = {{ path = \"../{dependency}\" }}\n");
    }
    text
}

/// Returns the folder of the tool `graphmap-doctor`. `cargo test --workspace` builds the tool in
/// the folder of the command. For `cargo test -p graphmap`, this function builds it.
pub(crate) fn tool() -> &'static Path {
    static TOOL: OnceLock<PathBuf> = OnceLock::new();
    TOOL.get_or_init(|| {
        let folder = Path::new(env!("CARGO_BIN_EXE_graphmap")).parent().unwrap();
        if !folder.join("graphmap-doctor").exists() {
            let mut cargo = Command::new(env!("CARGO"));
            cargo
                .args([
                    "build",
                    "--offline",
                    "--quiet",
                    "--package=graphmap-sharing",
                ])
                .arg("--target-dir")
                .arg(folder.parent().unwrap())
                .current_dir(env!("CARGO_MANIFEST_DIR"));
            assert!(cargo.status().unwrap().success());
        }
        folder.to_owned()
    })
}

/// Returns the value of PATH with the folder of the tool.
pub(crate) fn path_with_tool() -> String {
    format!("{}:{}", tool().display(), std::env::var("PATH").unwrap())
}

/// Returns a program of ranks that depends on a library of ranks and on a library without ranks.
fn halo() -> Test {
    let main = "\
mod tiles;
use std::sync::atomic::{AtomicUsize, Ordering};

static ROUNDS: usize = 3;
static SENT: AtomicUsize = AtomicUsize::new(0);

fn main() {
    if tiles::first() {
        std::process::exit(1);
    }
    SENT.fetch_add(ROUNDS, Ordering::Relaxed);
    exchange::start!();
}
";
    let tiles = "\
use std::cell::Cell;
thread_local! {
    static FIRST: Cell<bool> = const { Cell::new(true) };
}
pub fn first() -> bool {
    FIRST.replace(false)
}
";
    let exchange = "\
pub static TABLE: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(Vec::new);
#[cfg(test)]
static TESTED: std::sync::Mutex<u8> = std::sync::Mutex::new(0);
";
    Test::new()
        .file("mpi/Cargo.toml", MPI)
        .file(
            "mpi/src/lib.rs",
            "static OWN: std::sync::Mutex<u8> = std::sync::Mutex::new(0);",
        )
        .file("plain/Cargo.toml", manifest("plain", &[]))
        .file("plain/src/lib.rs", "static mut PLAIN: u8 = 0;")
        .file("exchange/Cargo.toml", manifest("exchange", &["mpi"]))
        .file("exchange/src/lib.rs", exchange)
        .file("halo/Cargo.toml", manifest("halo", &["exchange", "plain"]))
        .file("halo/src/main.rs", main)
        .file("halo/src/tiles.rs", tiles)
        .env("CARGO_NET_OFFLINE", "true")
        .env("PATH", &path_with_tool())
}

const NUMBERS: &str = "\
halo 0.3.0: 2 files checked
     1  mutable statics, shared by the ranks of an OS process (G0801)
     1  thread-locals, shared by the ranks of a thread (G0802)
     1  calls that affect the whole OS process (G0804)
     1  macro calls, not checked (G0807)
exchange 0.3.0 (a dependency): 1 file checked
     1  statics that one rank initializes for all (G0803)
";

#[test]
fn shared_state_is_reported_with_positions() {
    let told = "\
warning[G0801]: all ranks of an OS process share the mutable static `SENT`
 --> halo/src/main.rs:5:8
  |
5 | static SENT: AtomicUsize = AtomicUsize::new(0);
  |        ^^^^^^^^^^^^^^^^^ `AtomicUsize` can change behind a shared reference
  |
  = help: keep it in a value that each rank creates and passes on
  = help: or attach it to the world, which each rank has separately, here and over MPI: `impl CommAttribute for T`, `SimpleCommunicator::world().set_attr(value)`, `get_attr::<T>()`
  = help: if all ranks share it on purpose, such as a total count, keep it and use `--allow`

warning[G0804]: `std::process::exit` ends all ranks of the OS process
 --> halo/src/main.rs:9:9
  |
9 |         std::process::exit(1);
  |         ^^^^^^^^^^^^^^^^^^ an OS process has many ranks
  |
  = help: return from the rank, or use `panic!`, which ends the run with a message, or `world.abort(code)` as in MPI

note[G0807]: a macro call in `halo` is not checked: `start!`
  --> halo/src/main.rs:12:5
   |
12 |     exchange::start!();
   |     ^^^^^^^^^^^^^^^ here
   |
   = note: Rust code in the arguments is checked; statics in the expansion are not

warning[G0802]: all ranks of a thread share the thread-local `FIRST`
 --> halo/src/tiles.rs:3:12
  |
3 |     static FIRST: Cell<bool> = const { Cell::new(true) };
  |            ^^^^^^^^^^^^^^^^^ one value for each thread, not for each rank
  |
  = help: keep it in a value that each rank creates and passes on
  = help: or attach it to the world, which each rank has separately, here and over MPI: `impl CommAttribute for T`, `SimpleCommunicator::world().set_attr(value)`, `get_attr::<T>()`
  = help: if all ranks share it on purpose, such as a total count, keep it and use `--allow`

warning[G0803]: one rank initializes the static `TABLE` for all ranks of the OS process
 --> exchange/src/lib.rs:1:12
  |
1 | pub static TABLE: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(Vec::new);
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ initialized at its first use
  |
  = note: if all ranks would compute the same value, the result is the same as over MPI
  = help: if the value depends on the rank, keep it in a value that each rank creates and passes on
  = help: or attach it to the world, which each rank has separately, here and over MPI: `impl CommAttribute for T`, `SimpleCommunicator::world().set_attr(value)`, `get_attr::<T>()`

graphmap: 4 warnings
";
    let rest = "1 dependency without `mpi` not checked (`--dependencies` lists them)\n";
    let page = include_str!("../../docs/src/rsmpi.md");
    assert!(page.contains(&format!("$ graphmap doctor halo\n{NUMBERS}{rest}```")));
    for project in ["halo", "halo/Cargo.toml"] {
        let done = halo().words(&["doctor", project]).run();
        done.status(0)
            .stdout_is(&format!("{NUMBERS}{rest}"))
            .stderr_is(told);
    }
    let rest = "not checked, because they do not use `mpi`:\n  plain 0.3.0\n";
    let done = halo()
        .args("doctor halo --dependencies --allow warnings")
        .run();
    done.status(0).stdout_is(&format!("{NUMBERS}{rest}"));
    // From within the project, and as an error.
    let done = halo().within("halo").args("doctor . --deny G0804").run();
    done.status(1)
        .stdout_has("halo 0.3.0: 2 files")
        .stderr_has("error[G0804]")
        .stderr_has(" --> src/main.rs:9:9\n");
}

#[test]
fn json_has_the_same_diagnostics() {
    let done = halo()
        .args("doctor halo --json --message-format json")
        .run()
        .status(0);
    let value: serde_json::Value = serde_json::from_str(&done.stdout()).unwrap();
    assert_eq!(value["others"], serde_json::json!(["plain 0.3.0"]));
    let halo = &value["packages"][0];
    assert_eq!(
        (&halo["name"], &halo["own"]),
        (&"halo".into(), &true.into())
    );
    assert_eq!(halo["counts"]["statics"], 1);
    let exchange = &value["packages"][1];
    assert_eq!(
        (&exchange["name"], &exchange["own"]),
        (&"exchange".into(), &false.into())
    );
    assert_eq!(exchange["counts"]["made_once"], 1);
    let lines = done.stderr();
    let told = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let told: Vec<serde_json::Value> = told.collect();
    assert_eq!(told[0]["code"], "G0801");
    assert_eq!(told[0]["primary"]["file"], "halo/src/main.rs");
    assert_eq!(told[0]["primary"]["line"], 5);
    assert_eq!(told[5]["warnings"], 4);
}

#[test]
fn a_project_whose_ranks_are_a_feature_is_looked_into() {
    let manifest = manifest("halo", &[]) + "mpi = { path = \"../mpi\", optional = true }\n";
    let test = halo()
        .file("halo/Cargo.toml", manifest)
        .file("halo/src/main.rs", "static mut A: u8 = 0;\nfn main() {}");
    let done = test.args("doctor halo").run();
    done.status(0)
        .stdout_has("halo 0.3.0: 1 file checked")
        .stderr_has("warning[G0801]");
}

#[test]
fn a_project_without_ranks_is_an_error() {
    let none = || halo().file("empty/file", "");
    for (project, told) in [
        ("empty", "error[G0808]: `empty` contains no Cargo.toml"),
        ("nowhere", "error[G0808]: `nowhere` contains no Cargo.toml"),
        (
            "plain",
            "error[G0808]: `plain` has no ranks: no package of the project uses `mpi`: `plain`",
        ),
        (
            "mpi",
            "error[G0808]: `mpi` has no ranks: no package of the project uses `mpi`: `mpi`",
        ),
    ] {
        let done = none().words(&["doctor", project]).run();
        done.status(2).stdout_is("").stderr_has(told);
    }
    let done = none().args("doctor --dependencies").run();
    done.status(2).stderr_has("<PROJECT>").stdout_is("");
    let done = none()
        .file("bad/Cargo.toml", "[package")
        .args("doctor bad")
        .run();
    done.status(2)
        .stderr_has("error[G0704]: cargo cannot read the metadata of `bad/Cargo.toml`");
    let done = none()
        .file("bad/Cargo.toml", b"\xff")
        .args("doctor bad")
        .run();
    done.status(2)
        .stderr_has("error[G0002]: `bad/Cargo.toml` cannot be read: it is not UTF-8 text");
    let large = none().file("bad/Cargo.toml", "").args("doctor bad");
    let path = large.folder().join("bad/Cargo.toml");
    fs::File::create(&path).unwrap().set_len(50 << 20).unwrap();
    large
        .run()
        .status(2)
        .stderr_has("cannot be read: it is larger than 4 MiB");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    large
        .run()
        .status(2)
        .stderr_has("Too many levels of symbolic links");
    let done = none()
        .env("CARGO", "")
        .env("PATH", &tool().display().to_string())
        .args("doctor halo")
        .run();
    done.status(2)
        .stderr_has("error[G0702]: cargo cannot be run");
}

#[test]
fn unreadable_files_do_not_stop_the_check() {
    let test = halo().file("halo/src/tiles.rs", "pub fn first() -> bool { let = 1; }");
    let done = test.args("doctor halo").run();
    done.status(1)
        .stdout_has("1  files that could not be read (G0806)")
        .stderr_has("error[G0806]: cannot check `halo/src/tiles.rs`: it is not valid Rust: ")
        .stderr_has(" --> halo/src/tiles.rs:1:30\n")
        .stderr_has("warning[G0801]")
        .stderr_has("graphmap: 1 error and 3 warnings\n");
    let test = halo().args("doctor halo");
    fs::remove_file(test.folder().join("halo/src/tiles.rs")).unwrap();
    test.run()
        .status(1)
        .stderr_has("error[G0806]: cannot check `halo/src/tiles.rs`: No such file or directory")
        .stderr_has(" --> halo/src/main.rs:1:5\n");
}

#[test]
fn a_tool_that_cannot_be_used_is_reported() {
    let done = halo().env("PATH", "/nowhere").args("doctor halo").run();
    done.status(2)
        .stdout_is("")
        .stderr_has("error[G0813]: `graphmap doctor PROJECT` needs the tool `graphmap-doctor`")
        .stderr_has("= help: install it with `cargo install --path modules/sharing`");
    for (script, why) in [
        ("exit 3", "cannot be used: it failed (exit status: 3)\n"),
        (
            "echo no words >&2; exit 2",
            "= note: its output:\n          no words\n",
        ),
        (
            "echo '{}'",
            "its reply cannot be read: missing field `protocol`",
        ),
        (
            "echo '{\"protocol\": 2}'",
            "it uses version 2 of the protocol, and this command uses version 1\n",
        ),
    ] {
        let script = format!("#!/bin/sh\n{script}\n");
        let done = halo().executable("graphmap-doctor", &script);
        let done = done.args("doctor halo").run();
        done.status(2).stderr_has("error[G0813]").stderr_has(why);
    }
    for arguments in [&[][..], &["--bogus", "halo/Cargo.toml"]] {
        let output = Command::new(tool().join("graphmap-doctor"))
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("use `graphmap doctor PROJECT`"), "{said}");
    }
    // A diagnostic whose file no longer exists, or whose span is too long, is shown without its
    // lines.
    let reply = r#"{"protocol": 1, "text": "one\n", "diagnostics": [{"code": 801,
        "severity": "warning", "message": "shared", "help": [], "notes": [], "labels": [
            {"file": "halo/gone.rs", "start": 0, "end": 1, "text": ""},
            {"file": "halo/src/tiles.rs", "start": 0, "end": 1000000, "text": ""}]}]}"#;
    let test = halo().file("reply", reply);
    let test = test.executable("graphmap-doctor", "#!/bin/sh\ncat reply\n");
    let done = test.args("doctor halo").run();
    done.status(0)
        .stdout_is("one\n")
        .stderr_is("warning[G0801]: shared\n\ngraphmap: 1 warning\n");
}
