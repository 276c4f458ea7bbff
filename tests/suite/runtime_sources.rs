//! The sources of the runtime in the data folder, and how projects get them.

use crate::common::{Started, Test, data, graphmap};
use graphmap_testing::build_cheaply;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const GRAPH: &str = "digraph net { a -> b [type=u64]; }\n";

fn test() -> Test {
    Test::new().file("net.dot", GRAPH)
}

/// Returns the only entry of a folder.
fn only(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap();
    let first = entries.next().expect("an entry").unwrap().path();
    assert!(entries.next().is_none(), "{folder:?} has two entries");
    first
}

fn new(test: &Test, folder: &Path) -> Command {
    let mut command = graphmap();
    command
        .args(["new", "net", "--from", "net.dot", "--quiet"])
        .current_dir(test.folder())
        .env("GRAPHMAP_DATA", folder);
    command
}

/// Runs Cargo in a folder, without network and with the target folder that these tests share.
fn cargo(folder: &Path, args: &[&str]) -> Output {
    build_cheaply(&mut Command::new(env!("CARGO")))
        .args(args)
        .current_dir(folder)
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_TARGET_DIR", data().join("target"))
        .output()
        .unwrap()
}

#[track_caller]
fn stdout(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_data_folder_is_in_the_home_folder_by_default() {
    for (variable, expected) in [
        ("HOME", "there/.local/share/graphmap/runtime"),
        ("XDG_DATA_HOME", "there/graphmap/runtime"),
    ] {
        let test = test();
        let there = test.folder().join("there");
        let mut command = new(&test, &there);
        command.env_remove("GRAPHMAP_DATA").env_remove("HOME");
        command.env_remove("XDG_DATA_HOME").env(variable, &there);
        // Cargo is not started, so it needs no home.
        stdout(&command.output().unwrap());
        let sources = only(&test.folder().join(expected));
        assert_eq!(
            fs::read_link(test.folder().join("net/.graphmap")).unwrap(),
            sources
        );
        assert!(sources.join("graphmap-runtime/src/lib.rs").is_file());
        assert!(fs::metadata(sources).unwrap().permissions().readonly());
    }
}

#[test]
fn no_project_is_made_if_the_sources_cannot_be_unpacked() {
    let test = test().file("file", "");
    let mut full = Command::new("bash");
    // A limit on the size of files stands in for a full disk.
    full.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "bash"])
        .arg(env!("CARGO_BIN_EXE_graphmap"))
        .args(["new", "net", "--from", "net.dot"])
        .current_dir(test.folder())
        .env("GRAPHMAP_DATA", test.folder().join("full"));
    for mut command in [new(&test, &test.folder().join("file/data")), full] {
        let done = command.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(
            said.contains("error[G0715]: the sources of the runtime cannot be written to"),
            "{said}"
        );
        assert!(
            said.contains("set GRAPHMAP_DATA to a writable folder"),
            "{said}"
        );
        assert!(!test.folder().join("net").exists());
    }
    let left = fs::read_dir(test.folder().join("full/runtime")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn concurrent_commands_unpack_the_sources_once() {
    let tests: Vec<Test> = (0..8).map(|_| test()).collect();
    let folder = tests[0].folder().join("data");
    let children: Vec<_> = tests
        .iter()
        .map(|test| Started::of(&mut new(test, &folder)))
        .collect();
    for (mut child, test) in children.into_iter().zip(&tests) {
        assert!(child.wait().unwrap().success());
        assert!(test.folder().join("net/.graphmap/mpi/Cargo.toml").is_file());
    }
    only(&folder.join("runtime"));
}

#[test]
fn changed_or_deleted_sources_are_unpacked_again() {
    let test = test();
    let folder = test.folder().join("data");
    stdout(&new(&test, &folder).output().unwrap());
    let sources = only(&folder.join("runtime"));
    let file = sources.join("graphmap-runtime/src/lib.rs");
    let contents = fs::read(&file).unwrap();
    let test = test
        .env("GRAPHMAP_DATA", folder.to_str().unwrap())
        .args("setup net");
    let said = "graphmap: net is linked to the sources of the runtime\n";
    fs::remove_file(&file).unwrap();
    fs::write(&file, "// Mine.\n").unwrap();
    let changed = format!("{}.changed-", sources.display());
    let again = |number| {
        format!(
            "graphmap: the sources of the runtime were changed, and are unpacked again; the \
             changed sources are in {changed}{number}\n{said}"
        )
    };
    test.run().status(0).stdout_is("").stderr_is(&again(1));
    assert_eq!(fs::read(&file).unwrap(), contents);
    // The changed file is not lost.
    let entries = fs::read_dir(folder.join("runtime")).unwrap();
    let aside = entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| *path != sources)
        .unwrap();
    assert_eq!(
        fs::read(aside.join("graphmap-runtime/src/lib.rs")).unwrap(),
        b"// Mine.\n"
    );
    assert!(aside.to_str().unwrap().ends_with(".changed-1"));
    // An added file is a change, too: Cargo would use it as a build script.
    fs::write(sources.join("graphmap-runtime/build.rs"), "").unwrap();
    test.run().status(0).stderr_is(&again(2));
    assert!(!sources.join("graphmap-runtime/build.rs").exists());
    fs::rename(&folder, test.folder().join("gone")).unwrap();
    test.run().status(0).stderr_is(said);
    assert_eq!(fs::read(&file).unwrap(), contents);
}

/// Checks a fresh clone, which has no link: Cargo names the missing folder, and `setup` creates the
/// link.
#[test]
fn a_clone_is_built_by_cargo_once_it_is_set_up() {
    let test = test().args("new net --from net.dot --quiet");
    test.run().status(0);
    let net = test.folder().join("net");
    assert_eq!(test.read("net/.gitignore"), "/target\n/.graphmap\n");
    for file in test.files() {
        let text = test.read(&file);
        assert!(
            !text.contains(test.folder().to_str().unwrap())
                && !text.contains(data().to_str().unwrap()),
            "{file}"
        );
    }
    fs::remove_file(net.join(".graphmap")).unwrap();
    let failed = cargo(&net, &["check", "--quiet"]);
    assert!(!failed.status.success());
    assert!(String::from_utf8_lossy(&failed.stderr).contains(".graphmap/graphmap-runtime"));
    let test = test.args("setup net");
    test.run().status(0).stderr_is(
        "graphmap: linked net/.graphmap\ngraphmap: net is linked to the sources of the runtime\n",
    );
    // From another folder, and from the project's.
    let manifest = net.join("Cargo.toml");
    stdout(&cargo(
        test.folder(),
        &[
            "check",
            "--quiet",
            "--manifest-path",
            manifest.to_str().unwrap(),
        ],
    ));
    stdout(&cargo(&net, &["check", "--quiet"]));
    let listed = stdout(&cargo(&net, &["package", "--list", "--allow-dirty"]));
    assert!(
        listed.contains("src/wiring.rs") && !listed.contains("graphmap-runtime"),
        "{listed}"
    );
    let test = test.within("net").args("setup");
    test.run()
        .status(0)
        .stderr_is("graphmap: . is linked to the sources of the runtime\n");
    let test = test.within("").args("setup .");
    test.run()
        .status(2)
        .stderr_has("error[G0011]: `.` is not the folder of a project");
}

/// Checks that the lock file has the packages that the runtime depends on, which Cargo has
/// downloaded.
#[test]
fn a_project_is_resolved_without_network() {
    let test = test().args("new net --from net.dot --quiet");
    test.run().status(0);
    let net = test.folder().join("net");
    let is_resolved = || {
        let mut metadata = Command::new(env!("CARGO"));
        metadata.args(["metadata", "--format-version=1", "--quiet"]);
        metadata.current_dir(&net).env_remove("CARGO_NET_OFFLINE");
        // Each attempt to use the network fails.
        metadata.env("CARGO_HTTP_PROXY", "http://127.0.0.1:9");
        let output = metadata.env("CARGO_NET_RETRY", "0").output().unwrap();
        output.status.success()
    };
    assert!(is_resolved());
    let entry = |lock: &str| {
        let mut entries = lock.split("\n\n");
        let found = entries.find(|entry| entry.contains("name = \"libc\""));
        found.unwrap().trim_end().to_owned()
    };
    let complete = test.read("net/Cargo.lock");
    let own = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock")).unwrap();
    assert_eq!(entry(&complete), entry(&own));
    // Projects of earlier versions have no entry for libc, and a clone may have no lock file.
    let earlier = complete.replace(&format!("{}\n\n", entry(&complete)), "");
    let earlier = earlier.replace(" \"libc\",\n", "");
    let earlier = earlier.replace("dependencies = [\n]\n", "");
    let test = test.file("net/Cargo.lock", &earlier).args("setup net");
    assert!(!earlier.contains("libc") && !is_resolved());
    let said = |word| {
        format!(
            "graphmap: {word} net/Cargo.lock\n\
             graphmap: net is linked to the sources of the runtime\n"
        )
    };
    test.run().status(0).stderr_is(&said("updated"));
    assert!(is_resolved());
    assert_eq!(test.read("net/Cargo.lock"), complete);
    fs::remove_file(net.join("Cargo.lock")).unwrap();
    test.run().status(0).stderr_is(&said("wrote"));
    assert!(is_resolved());
}

/// Checks that folders and links of the user are neither used as the sources nor lost.
#[test]
fn folders_and_links_of_the_user_stay() {
    let test = test().args("new net --from net.dot --quiet");
    test.run().status(0);
    let link = test.folder().join("net/.graphmap");
    fs::remove_file(&link).unwrap();
    let test = test.file("net/.graphmap/mine", "").args("setup net");
    test.run()
        .status(2)
        .stderr_has("error[G0715]: `net/.graphmap` is not a link that graphmap made");
    fs::rename(&link, test.folder().join("mine")).unwrap();
    std::os::unix::fs::symlink("../mine", &link).unwrap();
    test.run().status(2).stderr_has(
        "error[G0715]: the link `net/.graphmap` does not lead to the sources of the runtime",
    );
    let test = test.file("mine/graphmap-runtime/Cargo.toml", "");
    test.run().status(0);
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("../mine"));
}

/// Checks that a link replaces the copy in a project, by each command that makes a link, and that
/// git ignores it.
#[test]
fn git_ignores_a_link_that_takes_the_place_of_a_copy() {
    let test = test().args("new net --from net.dot --vendor --quiet");
    test.run().status(0);
    fs::remove_file(
        test.folder()
            .join("net/.graphmap/graphmap-runtime/src/lib.rs"),
    )
    .unwrap();
    let test = test.args("setup net");
    test.run().status(0).stderr_is(
        "graphmap: copied the sources of the runtime to net/.graphmap\n\
         graphmap: net contains the sources of the runtime\n",
    );
    assert_eq!(test.read("net/.gitignore"), "/target\n");
    fs::remove_dir_all(test.folder().join("net/.graphmap")).unwrap();
    test.run().status(0).stderr_is(
        "graphmap: linked net/.graphmap\n\
         graphmap: updated net/.gitignore\n\
         graphmap: net is linked to the sources of the runtime\n",
    );
    assert_eq!(test.read("net/.gitignore"), "/target\n/.graphmap\n");
}

#[test]
fn settings_that_a_workspace_lacks_for_a_member_are_reported() {
    let test = test().file("w/Cargo.toml", "[workspace]\nmembers = [\"a*\"]\n");
    let test = test.args("new w/x --member");
    test.run().status(0).stderr_has(
        "graphmap: all members of the workspace share the link w/.graphmap\n  \
         w/Cargo.toml: add \"x\" to `members` of [workspace]\n  \
         w/Cargo.toml: add \".graphmap\" to `exclude` of [workspace]\n  \
         w/.gitignore: add /.graphmap\n",
    );
    let manifest = "[workspace]\nmembers = [\"a*\"]\nexclude = [\".graphmap\"]\n";
    let test = test
        .file("w/Cargo.toml", manifest)
        .file("w/.gitignore", "/.graphmap")
        .args("new w/ab --member");
    test.run().status(0).stderr_has(
        "graphmap: all members of the workspace share the link w/.graphmap\ngraphmap: made",
    );
}

#[test]
fn settings_of_cargo_are_not_written_over() {
    let test = Test::new().args("new ring --family mpi --quiet");
    test.run().status(0);
    let mine = "[build]\njobs = 1\n";
    let test = test
        .file("ring/.cargo/config.toml", mine)
        .args("new ring --update --vendor");
    test.run()
        .status(2)
        .stderr_has("error[G0011]: `ring/.cargo/config.toml` exists, and would be overwritten");
    assert_eq!(test.read("ring/.cargo/config.toml"), mine);
    assert!(test.folder().join("ring/.graphmap").is_symlink());
}

#[test]
fn members_of_a_workspace_have_one_link() {
    let manifest =
        "[workspace]\nresolver = \"3\"\nmembers = [\"a\", \"b/c\"]\nexclude = [\".graphmap\"]\n";
    let test = Test::new()
        .file("Cargo.toml", manifest)
        .file("g.dot", GRAPH);
    let test = test.args("new a --from g.dot --member --quiet");
    test.run().status(0);
    let test = test.args("new b/c --from g.dot --member --quiet");
    test.run().status(0);
    assert!(test.folder().join(".graphmap").is_symlink());
    assert!(
        test.read("b/c/Cargo.toml")
            .contains("path = \"../../.graphmap/graphmap-runtime\"")
    );
    let metadata = stdout(&cargo(test.folder(), &["metadata", "--format-version=1"]));
    assert_eq!(
        metadata
            .matches("\"name\":\"graphmap-runtime\",\"version\"")
            .count(),
        1
    );
    fs::remove_file(test.folder().join(".graphmap")).unwrap();
    let test = test.args("setup b/c");
    test.run().status(0);
    stdout(&cargo(test.folder(), &["check", "--quiet", "--workspace"]));
    // The member may inherit the dependency from the workspace.
    let member = test.read("a/Cargo.toml");
    let line = member
        .lines()
        .find(|line| line.starts_with("graphmap-runtime ="));
    let line = line.unwrap();
    let inherited = member.replace(line, "graphmap-runtime.workspace = true");
    fs::write(test.folder().join("a/Cargo.toml"), inherited).unwrap();
    let line = line.replace("../", "");
    let manifest = format!("{manifest}[workspace.dependencies]\n{line}\n");
    fs::write(test.folder().join("Cargo.toml"), manifest).unwrap();
    fs::remove_file(test.folder().join(".graphmap")).unwrap();
    let test = test.args("setup a");
    test.run().status(0);
    assert!(test.folder().join(".graphmap").is_symlink());
    stdout(&cargo(
        test.folder(),
        &["check", "--quiet", "--offline", "--workspace"],
    ));
    // A copy would be of use to one member only.
    let test = test.args("new a --update --vendor");
    test.run().status(2).stderr_has("omit `--vendor`");
    let lone = self::test().args("new net --from net.dot --member");
    lone.run()
        .status(2)
        .stderr_has("has a readable Cargo.toml with a section [workspace]");
}

/// Checks two projects of one name, which are built in one folder: each runs its own program. No
/// other test has a project of this name, because a folder that another command builds in is not
/// shared.
#[test]
fn projects_of_one_name_are_not_confused() {
    let sum = |test: &Test, value: &str| {
        let file = test.folder().join("twin/src/processes/a.rs");
        let body =
            format!("pub async fn a(_: crate::wiring::A) {{\n    println!(\"{value}\");\n}}\n");
        fs::write(file, body).unwrap();
    };
    let (one, other) = (
        test().args("new twin --from net.dot --quiet"),
        test().args("new twin --from net.dot --quiet"),
    );
    one.run().status(0);
    other.run().status(0);
    sum(&one, "one");
    sum(&other, "other");
    let (one, other) = (
        one.args("run twin/net.dot --dev --quiet"),
        other.args("run twin/net.dot --dev --quiet"),
    );
    for _ in 0..2 {
        one.run().status(0).stdout_is("one\n");
        other.run().status(0).stdout_is("other\n");
    }
    // Another project at the same path, with files older than the last build.
    let twins = [&one, &other].map(|test| test.folder().join("twin"));
    let third = one.folder().join("third");
    fs::rename(&twins[0], &third).unwrap();
    fs::rename(&twins[1], &twins[0]).unwrap();
    fs::rename(&third, &twins[1]).unwrap();
    one.run().status(0).stdout_is("other\n");
    other.run().status(0).stdout_is("one\n");
    // Compiled units are in the data folder, and the program is in the project's.
    assert!(!one.folder().join("twin/target/debug/deps").exists());
    assert!(one.folder().join("twin/target/debug/twin").exists());
}

#[test]
fn a_project_with_the_sources_builds_without_anything_else() {
    let test = test().args("new net --from net.dot --vendor --quiet");
    test.run().status(0).stderr_is("");
    let net = test.folder().join("net");
    assert!(net.join(".graphmap/graphmap-runtime/src/lib.rs").is_file());
    assert!(!net.join(".graphmap").is_symlink() && !net.join(".graphmap/mpi").exists());
    assert_eq!(test.read("net/.gitignore"), "/target\n");
    let mut build = Command::new(env!("CARGO"));
    build_cheaply(&mut build)
        .args(["check", "--quiet", "--offline"])
        .current_dir(&net)
        .env("CARGO_HOME", test.folder().join("home"))
        .env("CARGO_TARGET_DIR", data().join("target"));
    stdout(&build.output().unwrap());
    // `run` keeps the copy up to date.
    fs::write(net.join(".graphmap/graphmap-runtime/src/lib.rs"), "").unwrap();
    let test = test.args("run net.dot --no-build");
    let _ = test.run();
    assert!(
        !test
            .read("net/.graphmap/graphmap-runtime/src/lib.rs")
            .is_empty()
    );
    // A copy can replace a link.
    let other = self::test().args("new net --from net.dot --quiet");
    other.run().status(0);
    let other = other.args("new net --update --vendor");
    other.run().status(0).stderr_is(
        "graphmap: copied the sources of the runtime to net/.graphmap\n\
         graphmap: wrote net/.cargo/config.toml\n\
         graphmap: updated net/.gitignore\n",
    );
    assert!(!other.folder().join("net/.graphmap").is_symlink());
}

#[test]
fn a_project_of_another_version_is_refused_and_updated() {
    let test = test().args("new net --from net.dot --quiet");
    test.run().status(0);
    let manifest = test.read("net/Cargo.toml");
    let other = manifest.replace("version = \"0.1\",", "version = \"0.0.9\",");
    let test = test.file("net/Cargo.toml", &other).args("run net.dot");
    test.run()
        .status(2)
        .stderr_has("error[G0716]: the project `net` requires version 0.0.9 of the runtime, but this is version 0.1.0")
        .stderr_has("update it with `graphmap new net --update`");
    let test = test.within("net").args("new . --update");
    test.run()
        .status(0)
        .stderr_is("graphmap: updated ./Cargo.toml\n");
    assert_eq!(test.read("net/Cargo.toml"), manifest);
}

/// Checks projects of earlier versions, which contain the sources, in `vendor/`.
#[test]
fn a_project_of_an_earlier_version_is_converted() {
    let test = test().args("new net --from net.dot --quiet");
    test.run().status(0);
    let manifest = test.read("net/Cargo.toml");
    let old = manifest
        .replace(
            "\".graphmap/graphmap-runtime\", version = \"0.1\"",
            "\"vendor/graphmap-runtime\"",
        )
        .replace("exclude = [\".graphmap\"]", "exclude = [\"vendor\"]");
    let mine = "// Mine.\n";
    let test = test
        .file("net/Cargo.toml", &old)
        .file("net/.gitignore", "/target")
        .file("net/vendor/graphmap-runtime/Cargo.toml", "")
        .file("net/vendor/own/src/lib.rs", mine)
        .args("run net.dot");
    // The program has another name.
    let (main, renamed) = ("net/src/main.rs", "net/src/bin/other.rs");
    fs::create_dir(test.folder().join("net/src/bin")).unwrap();
    fs::rename(test.folder().join(main), test.folder().join(renamed)).unwrap();
    fs::remove_file(test.folder().join("net/.graphmap")).unwrap();
    test.run()
        .status(2)
        .stderr_has("error[G0716]: the project `net` has a copy of an older runtime, in `vendor/`")
        .stderr_has("update it with `graphmap new net --update`");
    let test = test.args("new net --update");
    test.run().status(0).stderr_is(
        "graphmap: updated net/.gitignore\n\
         graphmap: updated net/Cargo.toml\n\
         graphmap: linked net/.graphmap\n\
         graphmap: no longer used: rm -r net/vendor/graphmap-runtime\n",
    );
    let expected = manifest.replace("[\".graphmap\"]", "[\".graphmap\", \"vendor\"]");
    assert_eq!(test.read("net/Cargo.toml"), expected);
    assert_eq!(test.read("net/.gitignore"), "/target\n/.graphmap\n");
    assert_eq!(test.read("net/vendor/own/src/lib.rs"), mine);
    assert!(!test.folder().join(main).exists());
    test.run().status(0).stderr_is("");
}

#[test]
fn the_link_over_mpi_is_added_to_a_project() {
    let test = test().args("new net --from net.dot --quiet");
    test.run().status(0);
    let test = test.args("new net --update --link mpi");
    test.run()
        .status(0)
        .stderr_is("graphmap: updated net/Cargo.toml\ngraphmap: updated net/src/main.rs\n");
    let made = self::test().args("new net --from net.dot --link mpi --quiet");
    made.run().status(0);
    for file in ["net/Cargo.toml", "net/src/main.rs"] {
        assert_eq!(test.read(file), made.read(file), "{file}");
    }
    // Text that the user has changed is left, and the change by hand is printed.
    let other = self::test().args("new net --from net.dot --quiet");
    other.run().status(0);
    let other = other
        .file("net/src/main.rs", "fn main() {}\n")
        .args("new net --update --link mpi");
    other
        .run()
        .status(2)
        .stderr_has("error[G0708]: the MPI link cannot be added to `net`: its files are not as graphmap wrote them")
        .stderr_has("call `graphmap_link_mpi::main` in src/main.rs instead of `graphmap_runtime::main`");
    assert_eq!(other.read("net/src/main.rs"), "fn main() {}\n");
    assert!(!other.read("net/Cargo.toml").contains("link-mpi"));
}
