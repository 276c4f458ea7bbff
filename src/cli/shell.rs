//! `graphmap completions` and `graphmap man`: completion scripts and manual pages.

use super::exit::Exit;
use super::session::{Outcome, Session};
use clap::Command;
use clap_complete::Shell;
use graphmap_kpn::diagnostic::Diagnostic;

/// Write a completion script for a shell
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap completions bash > ~/.local/share/bash-completion/completions/graphmap
  graphmap completions zsh > ~/.zfunc/_graphmap")]
pub(crate) struct CompletionsArgs {
    /// Shell to write the script for
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn completions(
    args: &CompletionsArgs,
    mut command: Command,
    session: &mut Session<'_>,
) -> Outcome<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "graphmap", &mut script);
    session.put(&script)?;
    Ok(Exit::Ok)
}

/// Write a manual page
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap man | man -l -
  graphmap man run | man -l -")]
pub(crate) struct ManArgs {
    /// Verb to describe [default: graphmap as a whole]
    #[arg(value_name = "VERB")]
    verb: Option<String>,
}

/// Writes the manual page of a verb, or of the whole command, to standard output. `unknown` makes
/// the error for an unknown verb.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the verb is unknown or the page cannot be
/// written.
pub(crate) fn man(
    args: &ManArgs,
    mut command: Command,
    unknown: impl FnOnce(&str) -> Diagnostic,
    session: &mut Session<'_>,
) -> Outcome<Exit> {
    command.build();
    let command = match &args.verb {
        None => command,
        Some(verb) => match command.find_subcommand(verb) {
            Some(found) => found.clone(),
            None => {
                return session.fail(Exit::Usage, unknown(verb));
            }
        },
    };
    let mut page = Vec::new();
    // Writing to memory does not fail.
    let _ = clap_mangen::Man::new(command).render(&mut page);
    session.put(&page)?;
    Ok(Exit::Ok)
}
