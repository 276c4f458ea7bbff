//! Detects misspelt verbs.

use super::verbs::Cli;
use crate::codes;
use clap::{Arg, CommandFactory};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::nearest::nearest;
use std::ffi::OsString;
use std::path::Path;

fn verbs() -> Vec<String> {
    let command = Cli::command();
    let verbs = command.get_subcommands().map(|c| c.get_name().to_owned());
    // Clap adds this verb when it parses.
    verbs.chain(["help".to_owned()]).collect()
}

pub(crate) fn unknown_verb(word: &str) -> Diagnostic {
    let verbs = verbs();
    let diagnostic = Diagnostic::error(codes::USAGE, format!("unknown verb `{word}`"));
    match nearest(word, verbs.iter().map(String::as_str)) {
        Some(near) => diagnostic.help(format!("did you mean `graphmap {near}`?")),
        None => diagnostic.help(format!("the verbs are {}", verbs.join(", "))),
    }
}

/// Returns the verb that a word of letters, digits, `-` and `_` resembles, if there is one.
pub(crate) fn similar_verb(word: &str) -> Option<String> {
    let verbs = verbs();
    let near = nearest(word, verbs.iter().map(String::as_str)).filter(|_| !is_odd(word))?;
    Some(near.to_owned())
}

/// Returns true if a word has characters that no verb has, or begins like an option.
fn is_odd(word: &str) -> bool {
    let odd = |c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_';
    word.is_empty() || word.starts_with('-') || word.contains(odd)
}

/// Returns the first word that is neither an option nor the value of one. It is the verb, or the
/// graph file if there is no verb. `args` begin with the name of the command. Returns `None` if
/// there is no such word before `--`, or if a word up to it is not UTF-8.
fn first_word(args: &[OsString]) -> Option<&str> {
    let command = Cli::command();
    let takes_value = |is: &dyn Fn(&Arg) -> bool| {
        let mut options = command.get_arguments();
        options.any(|arg| is(arg) && arg.get_action().takes_values())
    };
    // Returns true if the next word is the value of this option.
    let wants_more = |option: &str| match option.strip_prefix("--") {
        Some(long) => takes_value(&|arg| arg.get_long() == Some(long)),
        None => {
            let mut letters = option.chars().skip(1);
            let first = letters.find(|c| takes_value(&|arg| arg.get_short() == Some(*c)));
            first.is_some() && letters.next().is_none()
        }
    };
    let mut args = args.iter().skip(1);
    while let Some(arg) = args.next() {
        let text = arg.to_str()?;
        if text == "--" {
            return None;
        }
        if !text.starts_with('-') {
            return Some(text);
        }
        if wants_more(text) {
            args.next();
        }
    }
    None
}

/// Returns an error if the first word seems to be a misspelt verb: it has only letters, digits, `-`
/// and `_`, is not a verb, and is not an existing file. Otherwise returns `None`. Without a verb
/// the first word is a graph file, so that `graphmap chekc` would only report a missing file.
pub(crate) fn misspelt(args: &[OsString]) -> Option<Diagnostic> {
    let word = first_word(args)?;
    if is_odd(word) || Path::new(word).exists() {
        return None;
    }
    let verbs = verbs();
    if verbs.iter().any(|verb| verb == word) {
        return None;
    }
    Some(unknown_verb(word).with_note(format!("a file named `{word}` does not exist either")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_found_behind_options() {
        for (line, word) in [
            ("chekc farm.dot", Some("chekc")),
            ("--message-format=json chekc", Some("chekc")),
            ("--message-format json -q chekc", Some("chekc")),
            ("-n 4 farm.dot", Some("farm.dot")),
            ("-n4 farm.dot", Some("farm.dot")),
            ("-qn 4 farm.dot", Some("farm.dot")),
            ("-qn4 farm.dot", Some("farm.dot")),
            ("-q farm.dot", Some("farm.dot")),
            ("--limit", None),
            ("-- chekc", None),
            ("", None),
        ] {
            let args: Vec<OsString> = std::iter::once("graphmap")
                .chain(line.split_whitespace())
                .map(OsString::from)
                .collect();
            assert_eq!(first_word(&args), word, "{line}");
        }
    }
}
