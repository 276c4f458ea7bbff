//! Chapters done as their reader would: every file written, every command run.
//!
//! A `dot`, `rust`, `toml`, `go` or `handlebars` block is the file that the text before it names last.
//! In a `console` block, `$ ` begins a command (one of another program is left out where that is not
//! there), `# ends with N` tells its exit code where that is not 0, `...` stands for
//! any lines, and each other line must be among those that the command writes.

mod common;

use common::Test;
use graphmap_testing::{Need, skip};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The file that a text names last.
fn named(text: &str) -> Option<&str> {
    let words = text.split('`').skip(1).step_by(2);
    let endings = [".dot", ".rs", ".toml", ".hbs", ".go"];
    words
        .filter(|word| endings.iter().any(|ending| word.ends_with(ending)))
        .last()
}

/// What a command of another program writes; nothing where the program is not there.
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

/// A command with the lines it is said to write, and its exit code.
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
fn the_chapter_on_skeletons_does_what_it_says() {
    follow("skeletons.md", 5);
}

/// Does what a chapter says; at least so many commands.
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
            "dot" | "rust" | "toml" | "go" | "handlebars" => {
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
