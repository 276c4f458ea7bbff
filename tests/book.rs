//! The examples of the book and of README: every graph in them is one, and links lead somewhere.
//!
//! A block tagged `dot` passes `graphmap check` without an error or a warning; one tagged
//! `dot,fails` does not. The error index has tests of its own in `errors.rs`.

mod common;

use common::Test;
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
    // The first page that anybody reads.
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = fs::read_to_string(&readme).unwrap();
    found.push((readme, text));
    found.sort();
    found
}

/// Blocks of a chapter: line, tag, text.
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
        for (line, tag, graph) in blocks(&text) {
            let fails = match tag.as_str() {
                "dot" => false,
                "dot,fails" => true,
                _ => continue,
            };
            graphs += 1;
            let test = Test::new()
                .file("example.dot", &graph)
                .args("check example.dot");
            let done = test.run();
            let told = done.stderr();
            let clean = !told.contains("error[") && !told.contains("warning[");
            if clean == fails || done.output.status.success() == fails {
                wrong.push(format!("{}:{line}\n{graph}{told}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(graphs > 10, "only {graphs} graphs found");
}

/// The anchors of a chapter's headings, as mdBook makes them.
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

#[test]
fn links_and_pictures_lead_somewhere() {
    let mut wrong = Vec::new();
    for (path, text) in chapters() {
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
