//! Chapters, done as a reader would: every file is written, and every command is run.
//!
//! A `dot`, `rust`, `toml`, `go` or `handlebars` block is the content of the last file that the
//! text before it names. In a `console` block, `$ ` begins a command. A command of another program
//! is skipped if the program is not installed. `# ends with N` states an exit code other than 0,
//! and `...` stands for any lines. The command must print each other line.

use crate::common::Test;
use graphmap_testing::{Need, skip};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns the last file that a text names.
fn named(text: &str) -> Option<&str> {
    let words = text.split('`').skip(1).step_by(2);
    let endings = [".dot", ".rs", ".toml", ".hbs", ".go"];
    words
        .filter(|word| endings.iter().any(|ending| word.ends_with(ending)))
        .last()
}

/// Returns the output of a command of another program, or `None` if the program is not installed.
fn other(command: &str, folder: &Path) -> Option<String> {
    let program = command.rsplit("&& ").next()?.split(' ').next()?;
    assert_eq!(program, "go", "say here what `{command}` needs");
    if let Err(error) = Command::new(program).arg("version").output() {
        skip(
            Need::Go,
            format!("{program} does not start ({error}): {command}"),
        );
        return None;
    }
    let mut shell = Command::new("sh");
    let done = shell.args(["-c", command]).current_dir(folder).output();
    let done = done.unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "$ {command}\n{errors}");
    Some(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Returns the commands of a block, each with the lines that it must print and its exit code.
fn commands(block: &str) -> Vec<(String, Vec<String>, i32)> {
    let mut commands: Vec<(String, Vec<String>, i32)> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push((command.to_owned(), Vec::new(), 0));
        } else if let Some(last) = commands.last_mut() {
            match line.strip_prefix("# ends with ") {
                Some(code) => last.2 = code.parse().unwrap(),
                None if line == "..." => {}
                None => last.1.push(line.to_owned()),
            }
        }
    }
    commands
}

#[test]
fn the_tutorial_does_what_it_says() {
    follow("tutorial.md", 10);
}

#[test]
fn the_chapter_on_reuse_does_what_it_says() {
    follow("reuse.md", 5);
}

#[test]
fn the_chapter_on_skeletons_does_what_it_says() {
    follow("skeletons.md", 5);
}

#[test]
fn readme_shows_the_error_of_its_graph() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("README.md")).unwrap();
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    let block = |start: &str| {
        let found = blocks.iter().find_map(|block| block.strip_prefix(start));
        found.unwrap_or_else(|| panic!("no block `{start}`"))
    };
    // The error shows its line. The graph with this line must cause the error.
    let graph = block("dot\n");
    let error = block("text\nerror");
    let (number, wrong) = error
        .lines()
        .find_map(|line| line.split_once(" | "))
        .expect("a line of the graph");
    let number: usize = number.parse().unwrap();
    let mut lines: Vec<&str> = graph.lines().collect();
    lines[number - 1] = wrong;
    let test = Test::new()
        .file("farm.dot", lines.join("\n"))
        .args("check farm.dot");
    shows(&test.run().status(1).stderr(), &format!("error{error}"));
}

/// Checks that an output begins with the lines of a text. `...` stands for any lines.
#[track_caller]
fn shows(output: &str, text: &str) {
    let mut said = output.lines();
    let mut any = false;
    for line in text.lines() {
        if line == "..." {
            any = true;
            continue;
        }
        let there = match any {
            true => said.any(|s| s == line),
            false => said.next() == Some(line),
        };
        assert!(there, "not `{line}` in\n{output}");
        any = false;
    }
}

/// Follows a chapter, which must have at least `least` commands.
fn follow(chapter: &str, least: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src");
    let text = fs::read_to_string(path.join(chapter)).unwrap();
    let mut test = Test::new();
    let mut done = 0;
    let mut before = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(tag) = line.strip_prefix("```") else {
            before += line;
            before.push('\n');
            continue;
        };
        let inside = lines.by_ref().take_while(|line| *line != "```");
        let block: String = inside.map(|line| format!("{line}\n")).collect();
        match tag {
            "dot" | "dot,warns" | "dot,includes" | "rust" | "toml" | "go" | "handlebars" => {
                let name = named(&before).expect("the text names the file");
                test = test.file(name, &block);
            }
            "console" => {
                for (command, expected, code) in commands(&block) {
                    let said = if let Some(args) = command.strip_prefix("graphmap ") {
                        test = test.args(args);
                        let run = test.run().status(code);
                        run.stdout() + &run.stderr()
                    } else if let Some(said) = other(&command, test.folder()) {
                        said
                    } else {
                        continue;
                    };
                    for line in expected {
                        let there = said.lines().any(|s| s.trim_end() == line);
                        assert!(there, "$ {command}\nno line `{line}` in\n{said}");
                    }
                    done += 1;
                }
            }
            _ => {}
        }
        before.clear();
    }
    assert!(done > least, "only {done} commands");
}
