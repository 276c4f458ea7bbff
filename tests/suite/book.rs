//! The examples of the book and of the README: each graph is checked, and each link has a target.
//!
//! A block tagged `dot` or `cpa` passes `graphmap check` without an error or a warning. A block
//! tagged `dot,fails` does not. A block tagged `dot,includes` includes the graph of the last block
//! before it that has another tag. `errors.rs` tests the error index.

use crate::common::Test;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn chapters() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = fs::read_to_string(&readme).unwrap();
    found.push((readme, text));
    found.sort();
    found
}

/// Returns the code blocks of a chapter: line number, tag and text.
fn blocks(chapter: &str) -> Vec<(usize, String, String)> {
    let mut blocks = Vec::new();
    let mut lines = chapter.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(tag) = line.strip_prefix("```") {
            let inside = lines.by_ref().take_while(|(_, line)| *line != "```");
            let text = inside.map(|(_, line)| format!("{line}\n")).collect();
            blocks.push((number + 2, tag.to_owned(), text));
        }
    }
    blocks
}

#[test]
fn every_graph_of_the_book_is_checked() {
    let mut wrong = Vec::new();
    let mut graphs = 0;
    for (path, text) in chapters() {
        if path.parent().is_some_and(|p| p.ends_with("errors")) {
            continue;
        }
        let mut previous = String::new();
        for (line, tag, graph) in blocks(&text) {
            let (fails, warns) = match tag.as_str() {
                "dot" | "cpa" => (false, false),
                "dot,warns" => (false, true),
                "dot,fails" => (true, true),
                "dot,includes" => (false, false),
                _ => continue,
            };
            graphs += 1;
            let file = format!("example.{}", tag.split(',').next().unwrap());
            let mut test = Test::new().file(&file, &graph);
            let includes = tag == "dot,includes";
            if includes {
                let (_, rest) = graph.split_once("use=\"").expect("a file");
                let name = rest.split('"').next().expect("its name");
                test = test.file(name, &previous);
            }
            let done = test.args(&format!("check {file}")).run();
            let told = done.stderr();
            let clean = !told.contains("error[") && !told.contains("warning[");
            if clean == warns || done.output.status.success() == fails {
                wrong.push(format!("{}:{line}\n{graph}{told}", path.display()));
            }
            if !includes {
                previous = graph;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(graphs > 10, "only {graphs} graphs found");
}

/// Checks that the examples of the blocking API's extensions are parts of documentation tests.
#[test]
fn examples_of_two_groups_and_of_windows_are_tested() {
    let page = include_str!("../../docs/src/rsmpi.md");
    for (heading, source) in [
        ("## Two groups", "topology/intercommunicator.rs"),
        ("## Windows", "window/mod.rs"),
    ] {
        let (_, section) = page.split_once(&format!("\n{heading}\n")).unwrap();
        let (_, _, example) = blocks(section).swap_remove(0);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("modules/mpi/src");
        let source = fs::read_to_string(folder.join(source)).unwrap();
        let comments = source.lines().filter_map(|line| {
            let line = line.trim_start().strip_prefix("//")?;
            Some(line.trim_start_matches(['/', '!']).trim())
        });
        let mut comments = comments.filter(|line| !line.is_empty());
        for line in example.lines().filter(|line| !line.is_empty()) {
            assert!(
                comments.any(|tested| tested == line),
                "the example of `{heading}` is not tested from this line on: {line}"
            );
        }
    }
}

#[test]
fn the_diagnostic_shown_in_the_book_is_current() {
    let page = include_str!("../../docs/src/diagnostics.md");
    let block = |tag: &str| {
        let mut blocks = blocks(page).into_iter();
        blocks.find(|(_, found, _)| found == tag).unwrap().2
    };
    let test = Test::new().file("farm.dot", block("dot,fails"));
    let checked = test.args("check farm.dot").run();
    checked.status(1).stderr_is(&block("text"));
}

/// Returns the anchors of a chapter's headings, as mdBook generates them.
fn anchors(chapter: &str) -> Vec<String> {
    let mut inside = false;
    let headings = chapter.lines().filter(|line| {
        inside ^= line.starts_with("```");
        !inside && line.starts_with('#')
    });
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == ' ';
    let anchor = |heading: &str| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept: String = text.chars().filter(|c| part(*c)).collect();
        kept.replace(' ', "-")
    };
    headings.map(anchor).collect()
}

/// Returns the documents for developers: path and text.
fn documents_for_developers() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let decisions = fs::read_dir(root.join("docs/decisions")).unwrap();
    let mut paths: Vec<PathBuf> = decisions.map(|entry| entry.unwrap().path()).collect();
    paths
        .extend(["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root.join(name)));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn links_and_pictures_lead_somewhere() {
    let mut wrong = Vec::new();
    for (path, text) in chapters().into_iter().chain(documents_for_developers()) {
        let mut inside = false;
        for (number, line) in text.lines().enumerate() {
            inside ^= line.starts_with("```");
            let targets = line.split("](").skip(1).filter(|_| !inside);
            for target in targets.filter_map(|rest| rest.split(')').next()) {
                if target.starts_with("http") {
                    continue;
                }
                let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
                let file = match file {
                    "" => path.clone(),
                    file => path.with_file_name("").join(file),
                };
                let there = file.exists()
                    && (anchor.is_empty()
                        || fs::read_to_string(&file)
                            .is_ok_and(|text| anchors(&text).iter().any(|a| a == anchor)));
                if !there {
                    wrong.push(format!("{}:{}: {target}", path.display(), number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_chapter_is_in_the_summary() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src");
    let summary = fs::read_to_string(folder.join("SUMMARY.md")).unwrap();
    let missing: Vec<String> = chapters()
        .iter()
        .filter_map(|(path, _)| path.strip_prefix(&folder).ok())
        .map(|path| path.display().to_string())
        .filter(|name| name != "SUMMARY.md" && !summary.contains(&format!("({name})")))
        .collect();
    assert!(
        missing.is_empty(),
        "SUMMARY.md lacks these, each a line `  - [title](file)` under its part: {missing:#?}"
    );
}

/// Returns the sections of a chapter, without code blocks: number of the first line, and text. A
/// section ends at the next heading.
fn sections(chapter: &str) -> Vec<(usize, String)> {
    let mut sections = vec![(1, String::new())];
    let mut inside = false;
    for (number, line) in chapter.lines().enumerate() {
        inside ^= line.starts_with("```");
        if inside || line.starts_with("```") {
            continue;
        }
        if line.starts_with('#') {
            sections.push((number + 1, String::new()));
        }
        let last = &mut sections.last_mut().unwrap().1;
        last.push_str(line);
        last.push('\n');
    }
    sections
}

/// Returns a measured figure in the text, if any: a time or a size, or a row of a table of numbers.
fn figure(section: &str) -> Option<String> {
    // Limits are written in KiB and MiB. Measurements never are.
    const UNITS: [&str; 11] = [
        "ns", "µs", "us", "ms", "s", "B", "bytes", "KB", "MB", "GB", "GiB",
    ];
    // Numbers in code, such as an option or a file name, are not figures.
    let prose: Vec<&str> = section.split('`').step_by(2).collect();
    let prose = prose.join("`");
    let words: Vec<&str> = prose.split_whitespace().collect();
    let number = |word: &str| {
        let digits = word
            .trim_start_matches(['(', '+', '-', '!'])
            .replace(',', "");
        digits.trim_end_matches(['%', ')']).parse::<f64>().is_ok()
    };
    let unit = |word: &str| UNITS.contains(&word.trim_end_matches([',', '.', ')', ';', ':']));
    let pair = words.windows(2).find(|w| number(w[0]) && unit(w[1]));
    let row = || {
        let cells = |line: &&str| line.split('|').filter(|cell| number(cell.trim())).count() > 2;
        section.lines().find(cells).map(str::to_owned)
    };
    pair.map(|words| words.join(" ")).or_else(row)
}

/// Returns the benchmarks that a section names: the words of each command, from the path on.
fn commands(section: &str) -> Vec<Vec<&str>> {
    let code = section.split('`').skip(1).step_by(2);
    let command = code.map(|code| {
        let words = code.split_whitespace();
        words.skip_while(|word| !word.starts_with("benches/"))
    });
    let commands = command.map(Iterator::collect::<Vec<&str>>);
    let is_command = |words: &Vec<&str>| words.first().is_some_and(|path| path.ends_with("/run"));
    commands.filter(is_command).collect()
}

/// Returns the rows of the table of benchmarks: the words of the command, and the link to its
/// results.
fn benchmarks(readme: &str) -> Vec<(Vec<&str>, &str)> {
    let rows = readme
        .lines()
        .filter(|line| line.starts_with("| `benches/"));
    let row = |line| {
        let command = commands(line).swap_remove(0);
        let (_, link) = str::split_once(line, "](").unwrap();
        (command, link.split(')').next().unwrap())
    };
    rows.map(row).collect()
}

#[test]
fn every_benchmark_has_a_row_that_leads_to_its_table() {
    use std::os::unix::fs::PermissionsExt;
    let benches = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let readme = fs::read_to_string(benches.join("README.md")).unwrap();
    let rows = benchmarks(&readme);
    let mut wrong = Vec::new();
    for (command, link) in &rows {
        let (file, anchor) = link.split_once('#').unwrap();
        let page = fs::read_to_string(benches.join(file)).unwrap();
        let sections = sections(&page);
        let section = sections.iter().find(|(_, section)| {
            let heading = section.lines().next().unwrap_or_default();
            anchors(heading).iter().any(|a| a == anchor)
        });
        let named = section.is_some_and(|(_, section)| {
            let mut commands = commands(section).into_iter();
            commands.any(|named| named.starts_with(command))
        });
        if !benches.join("..").join(command[0]).is_file() || !named {
            wrong.push(format!("{link} does not name `{}`", command.join(" ")));
        }
    }
    for (path, text) in chapters() {
        for (line, section) in sections(&text) {
            for named in commands(&section) {
                let mut rows = rows.iter();
                if !rows.any(|(row, _)| named.starts_with(row) || row.starts_with(&named)) {
                    wrong.push(format!("{}:{line}: {}", path.display(), named.join(" ")));
                }
            }
        }
    }
    for folder in fs::read_dir(&benches).unwrap() {
        let folder = folder.unwrap();
        let run = format!("benches/{}/run", folder.file_name().display());
        if let Ok(file) = fs::metadata(folder.path().join("run")) {
            let is_executable = file.permissions().mode() & 0o100 != 0;
            if !is_executable || !rows.iter().any(|(row, _)| row[0] == run) {
                wrong.push(format!("{run} is not executable, or not in the table"));
            }
        }
    }
    assert!(wrong.is_empty(), "benches/README.md:\n{}", wrong.join("\n"));
    assert!(rows.len() > 30, "only {} rows", rows.len());
}

#[test]
fn every_figure_stands_by_the_command_that_makes_it() {
    let (mut wrong, mut figures) = (Vec::new(), 0);
    for (path, text) in chapters() {
        // Sizes and times on error pages are limits.
        if path.parent().is_some_and(|p| p.ends_with("errors")) {
            continue;
        }
        for (line, section) in sections(&text) {
            if let Some(figure) = figure(&section) {
                figures += 1;
                if commands(&section).is_empty() {
                    wrong.push(format!("{}:{line}: {figure}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "by which command?\n{}", wrong.join("\n"));
    assert!(figures > 5, "only {figures} sections with figures");
}

/// Adds the names of the tests in a folder.
fn add_tests(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            add_tests(&path, names);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let parts = text.split("#[test]").skip(1);
            let named = parts.filter_map(|part| {
                let (_, rest) = part.split_once("fn ")?;
                Some(rest.split('(').next()?.to_owned())
            });
            names.extend(named);
        }
    }
}

#[test]
fn tests_in_the_table_of_the_thesis_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests = BTreeSet::new();
    add_tests(&root.join("modules"), &mut tests);
    add_tests(&root.join("tests"), &mut tests);
    let page = fs::read_to_string(root.join("docs/src/graph-map-tool.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let mut named = 0;
    for row in rows {
        let last = row.trim_end_matches(" |").rsplit("| ").next().unwrap();
        for name in last.split('`').skip(1).step_by(2) {
            let is_test =
                name.contains('_') && name.chars().all(|c| c == '_' || c.is_ascii_lowercase());
            if is_test {
                assert!(tests.contains(name), "no test `{name}`");
                named += 1;
            }
        }
    }
    assert!(named > 35, "{named}");
}
