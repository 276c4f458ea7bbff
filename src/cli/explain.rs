//! `graphmap explain`: explains a diagnostic code, or lists the codes with some words on their
//! pages.

use super::exit::Exit;
use super::page;
use super::session::{Outcome, Session};
use crate::codes;
use crate::error_pages::PAGES;
use crate::levels;
use graphmap_kpn::diagnostic::{Code, Diagnostic};

/// Explain a diagnostic: its meaning, an example, and the fix
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap explain G0305
  graphmap explain 305
  graphmap explain deadlock   list the codes with this word on their pages; several words: all of them
  graphmap explain            list all codes")]
pub(crate) struct ExplainArgs {
    /// Code of a diagnostic, or words to search the pages for
    #[arg(value_name = "CODE|WORD")]
    words: Vec<String>,
}

pub(crate) fn run(args: &ExplainArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let codes: Option<Vec<&str>> = args.words.iter().map(|word| code(word)).collect();
    match codes {
        Some(codes) if !codes.is_empty() => {
            for (position, code) in codes.into_iter().enumerate() {
                if position > 0 {
                    session.show("\n")?;
                }
                explain(code, session)?;
            }
            Ok(Exit::Ok)
        }
        _ => search(&args.words, session),
    }
}

/// Returns the code in a word, which may have the form of a message: `error[G0305]:`. A trailing
/// comma or colon is removed, and brackets around the code. Returns `None` if the rest is not `G`
/// or `g` and digits, or digits alone. Whether the code exists is not checked.
fn code(word: &str) -> Option<&str> {
    let inside = word
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let code = inside.map_or(word, |(code, _)| code);
    let code = code.trim_end_matches([',', ':']);
    let digits = code.trim_start_matches(['G', 'g']);
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(code)
}

/// Shows the page of a code.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if there is no such code, or if the page cannot be
/// written to standard output.
fn explain(wanted: &str, session: &mut Session<'_>) -> Outcome<Exit> {
    let digits = wanted.trim_start_matches(['G', 'g']);
    let page = digits.parse::<u16>().ok().and_then(|number| {
        let at = PAGES.binary_search_by_key(&number, |(n, _)| *n).ok()?;
        Some(PAGES[at].1)
    });
    match page {
        Some(page) => {
            session.show(&page::as_text(page))?;
            Ok(Exit::Ok)
        }
        None => {
            let mut diagnostic =
                Diagnostic::error(codes::USAGE, format!("unknown diagnostic code `{wanted}`"));
            let number = digits.parse::<u16>().unwrap_or(u16::MAX);
            let of_stage: Vec<String> = PAGES
                .iter()
                .filter(|(n, _)| n / 100 == number / 100)
                .map(|(n, _)| Code(*n).to_string())
                .collect();
            diagnostic = diagnostic.help(if let Some(new) = levels::replaced(number) {
                format!("it is now {new}")
            } else if of_stage.is_empty() {
                "`graphmap explain` lists all codes".to_owned()
            } else {
                format!("the codes near it are {}", of_stage.join(", "))
            });
            session.fail(Exit::Usage, diagnostic)
        }
    }
}

/// Lists the pages that contain all the words, first those with the words in the title. The case of
/// letters does not matter. A single page is shown itself. Without words, lists all pages.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if no page contains the words, or if standard
/// output cannot be written.
fn search(words: &[String], session: &mut Session<'_>) -> Outcome<Exit> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let title = |page: &'static str| page.lines().next().unwrap_or("").trim_start_matches("# ");
    let has_all = |text: &str| {
        let text = text.to_lowercase();
        words.iter().all(|word| text.contains(word.as_str()))
    };
    let pages = PAGES.iter().map(|(_, page)| *page);
    let mut found: Vec<&str> = pages.filter(|page| has_all(page)).collect();
    found.sort_by_key(|page| !has_all(title(page)));
    match found[..] {
        [] => {
            let message = format!("no page contains `{}`", words.join(" "));
            let diagnostic = Diagnostic::error(codes::USAGE, message)
                .help("try fewer or other words; `graphmap explain` lists all codes");
            session.fail(Exit::Usage, diagnostic)
        }
        [page] => {
            session.show(&page::as_text(page))?;
            Ok(Exit::Ok)
        }
        _ => {
            let lines = found.into_iter().map(|page| format!("{}\n", title(page)));
            session.show(&lines.collect::<String>())?;
            Ok(Exit::Ok)
        }
    }
}
