//! The tutorial, done as its reader would: every file written, every command run.
//!
//! A `dot` or `rust` block is the file that the text before it names last. In a `console` block,
//! `$ ` begins a command, `# ends with N` tells its exit code where that is not 0, `...` stands for
//! any lines, and each other line must be among those that the command writes.

mod common;

use common::Test;
use std::fs;
use std::path::Path;

/// The file that a text names last.
fn named(text: &str) -> Option<&str> {
    let words = text.split('`').skip(1).step_by(2);
    words
        .filter(|w| w.ends_with(".dot") || w.ends_with(".rs"))
        .last()
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/tutorial.md");
    let text = fs::read_to_string(path).unwrap();
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
            "dot" | "rust" => {
                let name = named(&before).expect("the text names the file");
                test = test.file(name, &block);
            }
            "console" => {
                for (command, expected, code) in commands(&block) {
                    let args = command.strip_prefix("graphmap ").expect("our command");
                    test = test.args(args);
                    let run = test.run().status(code);
                    let said = run.stdout() + &run.stderr();
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
    assert!(done > 10, "only {done} commands");
}
