//! `graphmap explain`: what an error means.

use super::exit::Exit;
use super::page::{self, PAGES};
use super::session::{Outcome, Session};
use crate::codes;
use graphmap_kpn::diagnostic::{Code, Diagnostic};

/// Explain an error: what it means, an example, and what to do
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap explain G0305
  graphmap explain 305
  graphmap explain            list all codes")]
pub(crate) struct ExplainArgs {
    /// The code, as it stands in the message
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

pub(crate) fn run(args: &ExplainArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let Some(wanted) = &args.code else {
        let title = |page: &str| page.lines().next().unwrap_or("").to_owned();
        let lines = PAGES.iter().map(|(_, page)| title(page));
        let list: String = lines
            .map(|l| format!("{}\n", l.trim_start_matches("# ")))
            .collect();
        session.show(&list)?;
        return Ok(Exit::Ok);
    };
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
            let mut diagnostic = Diagnostic::error(
                codes::USAGE,
                format!("graphmap has no diagnostic `{wanted}`"),
            );
            let number = digits.parse::<u16>().unwrap_or(u16::MAX);
            let of_stage: Vec<String> = PAGES
                .iter()
                .filter(|(n, _)| n / 100 == number / 100)
                .map(|(n, _)| Code(*n).to_string())
                .collect();
            diagnostic = diagnostic.help(if of_stage.is_empty() {
                "`graphmap explain` lists all codes".to_owned()
            } else {
                format!("the codes near it are {}", of_stage.join(", "))
            });
            session.fail(Exit::Usage, diagnostic)
        }
    }
}
