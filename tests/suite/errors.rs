//! The error index: every code has a page, every page has a code, and every example has the stated
//! result.
//!
//! A block of a page tagged `dot,fails`, `json,fails` or `cpa,fails` must cause the page's code,
//! and no other. A block tagged `dot`, `json` or `cpa` must pass without it.
//!
//! A block tagged `console` is run line by line. `$ ` begins a command. After a command with an
//! exit code other than 0, `# ends with N` states the code. Commands other than `graphmap` are run
//! by the shell. A block tagged `console,unshare` is skipped if the user may not have a file system
//! of their own. Each page shows its diagnostic at least once.

use crate::common::Test;
use graphmap_testing::{Need, skip};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all pages: number to text.
fn pages() -> BTreeMap<u16, String> {
    let folder = root().join("docs/src/errors");
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    entries
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let number = name.strip_prefix('G').unwrap().parse().unwrap();
            (number, fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// Returns all `const NAME: Code = Code(N);` of the sources: number to name and file.
fn codes() -> BTreeMap<u16, String> {
    let mut found: BTreeMap<u16, String> = BTreeMap::new();
    let mut folders = vec![root().join("src"), root().join("modules")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // The sources that the command contains are links to other folders.
            let skipped = ["target", "copied"].map(|name| path.ends_with(name));
            if path.is_dir() && !skipped.contains(&true) {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                for line in text.lines() {
                    let Some((name, rest)) = line.split_once(": Code = Code(") else {
                        continue;
                    };
                    let number = rest.split(')').next().unwrap().parse().unwrap();
                    let name = name.rsplit(' ').next().unwrap();
                    let here = format!("{name} in {}", path.display());
                    if let Some(other) = found.insert(number, here.clone()) {
                        panic!("G{number:04} stands twice: {other}, {here}");
                    }
                }
            }
        }
    }
    found
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let (pages, codes) = (pages(), codes());
    let without_page: Vec<_> = codes
        .iter()
        .filter(|(number, _)| !pages.contains_key(number))
        .map(|(number, name)| format!("G{number:04} {name}"))
        .collect();
    let without_code: BTreeSet<_> = pages.keys().filter(|n| !codes.contains_key(n)).collect();
    assert!(
        without_page.is_empty() && without_code.is_empty(),
        "codes without a page: {without_page:#?}\npages without a code: {without_code:?}"
    );
}

#[test]
fn the_command_lists_every_page() {
    let listed = Test::new().args("explain").run().status(0);
    for number in pages().keys() {
        let code = format!("G{number:04}: ");
        assert!(
            listed.stdout().contains(&code),
            "src/error_pages.rs has no {code}"
        );
    }
}

#[test]
fn pages_have_the_same_shape() {
    for (number, page) in pages() {
        let start = format!("# G{number:04}: ");
        assert!(
            page.starts_with(&start),
            "G{number:04} starts with its title"
        );
        assert!(page.ends_with('\n') && !page.contains('\t'), "G{number:04}");
        for line in page.lines().filter(|line| !line.starts_with('$')) {
            assert!(line.chars().count() <= 110, "G{number:04}: {line}");
        }
    }
}

/// Returns the blocks of a page: tag and text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(tag) = line.strip_prefix("```") {
            let text = lines.by_ref().take_while(|line| *line != "```");
            let text: String = text.map(|line| format!("{line}\n")).collect();
            blocks.push((tag.to_owned(), text));
        }
    }
    blocks
}

#[test]
fn examples_do_what_they_say() {
    let mut wrong = Vec::new();
    for (number, page) in pages() {
        let code = format!("G{number:04}");
        let mut shown = false;
        for (tag, text) in blocks(&page) {
            let (language, how) = tag.split_once(',').unwrap_or((&tag, ""));
            // Blocks in other languages are tested where these languages are read.
            shown |= how == "fails";
            match (language, how) {
                ("dot" | "json" | "cpa", "" | "fails") => {
                    wrong.extend(graph(&code, language, &text, how == "fails"));
                }
                ("console", "unshare") if !unshare(&code) => shown = true,
                ("console", "" | "unshare") => wrong.extend(console(&code, &text, &mut shown)),
                _ => {}
            }
        }
        // A file of four gigabytes is too large for a test. The other codes need hosts or an MPI,
        // and have tests of their own.
        if !shown && ![118, 710, 711, 713, 714].contains(&number) {
            wrong.push(format!("{code}: no example shows it"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Checks a graph of a page. Returns a message if it is wrong.
fn graph(code: &str, language: &str, text: &str, fails: bool) -> Option<String> {
    let file = format!("example.{language}");
    let args = format!("check {file} --message-format json");
    let test = Test::new().file(&file, text).args(&args);
    let done = test.run();
    let found: BTreeSet<String> = done
        .stderr()
        .lines()
        .filter_map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).ok()?;
            Some(value["code"].as_str()?.to_owned())
        })
        .collect();
    let only = found.iter().all(|found| found == code);
    let right = if fails {
        found.contains(code) && only
    } else {
        !found.contains(code) && done.output.status.success()
    };
    let told = format!(
        "{code}: an example gives {found:?}:\n{text}{}",
        done.stderr()
    );
    (!right).then_some(told)
}

/// Returns whether an example may have a file system of its own. Reports a skipped test if not.
fn unshare(code: &str) -> bool {
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", "mount -t tmpfs none /mnt"]);
    let may = command.output().is_ok_and(|done| done.status.success());
    if !may {
        skip(
            Need::Namespaces,
            format!("an example of {code}: `unshare -m` is not allowed"),
        );
    }
    may
}

/// Runs the commands of a page, and returns the errors. Sets `shown` if a command shows the
/// diagnostic.
fn console(code: &str, text: &str, shown: &mut bool) -> Vec<String> {
    let test = Test::new();
    if text.contains(" --ranks ") {
        crate::c_programs::build();
    }
    let mut script = String::from("report() { echo \"$? $1\" >> ends; }\n: > ends\n");
    let mut wanted = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            script += &format!("{command}\n");
            if command.starts_with("graphmap ") || command.contains("&& graphmap ") {
                script += &format!("report {}\n", wanted.len());
                wanted.push((0, command));
            }
        } else if let Some(end) = line.strip_prefix("# ends with ") {
            wanted.last_mut().unwrap().0 = end.trim().parse().unwrap();
        }
    }
    // The command is in the same folder.
    let path = crate::cli_doctor_project::path_with_tool();
    let output = Command::new("sh")
        .args(["-c", &script])
        .env_remove("CARGO")
        .current_dir(test.folder())
        .env("GRAPHMAP_DATA", crate::common::data())
        .env("PATH", path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut wrong = Vec::new();
    let ends = test.read("ends");
    for ((end, command), line) in wanted.iter().zip(ends.lines()) {
        let got = line.split(' ').next().unwrap();
        if got != end.to_string() {
            wrong.push(format!(
                "{code}: `{command}` ends with {got}, not {end}\n{said}"
            ));
        }
    }
    if ends.lines().count() != wanted.len() {
        wrong.push(format!("{code}: not all commands ran\n{said}"));
    }
    *shown |= said.contains(code);
    wrong
}
