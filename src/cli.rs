//! The command line, with one file for each verb.

mod args;
mod c_programs;
mod cargo;
mod check;
mod child;
mod config;
mod defaults;
mod doctor;
mod doctor_project;
mod emit;
mod exit;
mod expand;
mod explain;
mod fmt;
mod gitignore;
mod given;
mod graph_file;
mod graph_format;
mod identity;
mod import;
mod input;
mod load;
mod mapping;
mod misspelt;
mod new;
mod numbered;
mod opening;
mod output;
mod page;
mod partition;
mod passes;
mod paths;
mod plugins;
mod progress;
mod ranks;
mod ranks_graph;
mod rules;
mod run;
mod session;
mod settings;
mod setup;
mod shell;
mod shown_graph;
mod shown_plan;
mod signals;
mod skeletons;
mod summary;
mod supervised;
mod supervisor;
mod tables;
mod talk;
mod update;
mod vendor;
mod verbs;
mod view;

use crate::{Registry, codes, visible};
use args::{Common, MessageFormat};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use exit::Exit;
use graphmap_kpn::diagnostic::Diagnostic;
use misspelt::{misspelt, similar_verb, unknown_verb};
use session::{Outcome, Session};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use verbs::{Cli, Verb};

/// Usage that the command prints without arguments.
const BRIEF: &str = "\
Check, map, wire and run parallel programs drawn as graphs of processes and channels

  graphmap new hello                           make a project with a small graph
  graphmap run graphs/farm.dot                 build the program of a graph and run it
  graphmap check graphs/farm.dot               report all errors of a graph
  graphmap view farm.dot -o farm.svg           draw a graph
  graphmap partition farm.dot -n 4             map its processes onto OS processes
  graphmap farm.dot wiring.rs                  write files: wiring code, hostfiles, pictures
  graphmap explain G0305                       explain an error
  graphmap doctor                              check which tools are installed

`graphmap --help` lists all verbs and options; `graphmap help VERB` lists the options of a verb.
";

/// Runs the command line and returns the exit code. Blocks until the verb ends. `args` begin with
/// the name of the command. Without further arguments, prints a short usage and returns the code of
/// [`Exit::Usage`]. The code is not 0 if an error was reported. If a command of
/// [`supervisor::command`] started this OS process, runs that program instead.
pub(crate) fn main(registry: &Registry, args: Vec<OsString>) -> u8 {
    if let Some(ended) = supervisor::main(&args) {
        talk::say(&ended.message);
        return ended.code;
    }
    if args.len() < 2 {
        talk::say(BRIEF);
        return Exit::Usage.code();
    }
    let parsed = defaults::command(&args).try_get_matches_from(&args);
    let parsed = parsed.and_then(|m| Common::from_arg_matches(&m).map(|common| (m, common)));
    let (matches, common) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return usage(registry, &args, &pointing_at_emit(error)),
    };
    let mut session = Session::new(registry, common);
    let outcome = match misspelt(&args) {
        Some(wrong) if matches.subcommand().is_none() => session.fail(Exit::Usage, wrong),
        _ => defaults::complete(&matches, &args, &mut session)
            .and_then(|cli| dispatch(&cli, &mut session)),
    };
    let exit = match outcome.unwrap_or_else(|exit| exit) {
        // After a signal, graphmap has ended the plug-in itself, and the signal is the reason.
        Exit::Plugin => signals::interrupted().map_or(Exit::Plugin, Exit::signal),
        exit => exit,
    };
    let errors = session.flush();
    session.show_timings();
    talk::no_more();
    // If an error was shown, the status is never success.
    if errors && exit == Exit::Ok {
        return Exit::Graph.code();
    }
    exit.code()
}

fn dispatch(cli: &Cli, session: &mut Session<'_>) -> Outcome<Exit> {
    if let (Some(_), Some(file)) = (&cli.verb, &cli.emit.file) {
        let message = format!("the file `{}` is before the verb", file.display());
        let diagnostic = Diagnostic::error(codes::USAGE, message)
            .help("write `graphmap VERB FILE`, or `graphmap FILE --emit PATH` without a verb");
        return session.fail(Exit::Usage, diagnostic);
    }
    if let Some(verb) = &cli.verb
        && let Some(graph) = verb.graph()
    {
        settings::check(session, graph, verb.strategy(), None)?;
    }
    match &cli.verb {
        None => {
            no_verb_behind_file(&cli.emit, session)?;
            emit::run(&cli.emit, session)
        }
        Some(Verb::Check(args)) => check::run(args, session),
        Some(Verb::Expand(args)) => expand::run(args, session),
        Some(Verb::Fmt(args)) => fmt::run(args, session),
        Some(Verb::Emit(args)) => emit::run(args, session),
        Some(Verb::New(args)) => new::run(args, session),
        Some(Verb::Setup(args)) => setup::run(args, session),
        Some(Verb::Partition(args)) => partition::run(args, session),
        Some(Verb::Run(args)) if c_programs::is_run(args, session) => {
            c_programs::start::run(args, session)
        }
        Some(Verb::Run(args)) => run::run(args, session),
        Some(Verb::Cc(args)) => c_programs::compile::cc(args, session),
        Some(Verb::Cxx(args)) => c_programs::compile::cxx(args, session),
        Some(Verb::Mpiexec(args)) => c_programs::mpiexec::run(args, session),
        Some(Verb::View(args)) => view::run(args, session),
        Some(Verb::Passes(args)) => passes::run(args, session),
        Some(Verb::Explain(args)) => explain::run(args, session),
        Some(Verb::Import(args)) => import::run(args, session),
        Some(Verb::Doctor(args)) => doctor::run(args, session),
        Some(Verb::Completions(args)) => shell::completions(args, Cli::command(), session),
        Some(Verb::Man(args)) => shell::man(args, Cli::command(), unknown_verb, session),
    }
}

/// Checks that no output without `--emit` seems to be a misspelt verb after the graph file. The
/// name of a file that exists, and of one that an emitter writes, is not a misspelt verb.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] otherwise.
fn no_verb_behind_file(args: &emit::EmitArgs, session: &mut Session<'_>) -> Outcome<()> {
    let registry = session.registry;
    let Some(file) = &args.file else {
        return Ok(());
    };
    for text in &args.outputs {
        let path = Path::new(text);
        let is_output =
            registry.emitter_of(path).is_some() || registry.emitter_named(text).is_some();
        let Some(verb) = similar_verb(text).filter(|_| !is_output && !path.exists()) else {
            continue;
        };
        let message = format!("no emitter writes files such as `{text}`");
        let help = format!("did you mean `graphmap {verb} {}`?", paths::word(file));
        let diagnostic = Diagnostic::error(codes::UNKNOWN_EMITTER, message);
        return session.fail(Exit::Usage, diagnostic.help(help));
    }
    Ok(())
}

/// Replaces clap's suggestion if a verb without `--emit` gets that option. Clap would suggest the
/// most similar option, which does something else. Returns other errors unchanged.
fn pointing_at_emit(mut error: clap::Error) -> clap::Error {
    let is_emit = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(arg)) => matches!(arg.split('=').next(), Some("--emit" | "-e")),
        _ => false,
    };
    if !is_emit || error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    error.remove(ContextKind::SuggestedArg);
    let tip = "this verb has no `--emit`: use `graphmap emit FILE --emit KIND=PATH`";
    error.insert(
        ContextKind::Suggested,
        ContextValue::StyledStrs(vec![tip.into()]),
    );
    error
}

/// Prints the output of clap: help, the version, or an error in the command line. Returns the exit
/// code: [`Exit::Usage`] for an error, and 0 for help or the version unless printing fails.
fn usage(registry: &Registry, args: &[OsString], error: &clap::Error) -> u8 {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        // Clap formats it for the terminal.
        let shown = error.print().and_then(|()| std::io::stdout().flush());
        let mut session = Session::new(registry, Common::default_for_errors());
        let outcome = session.written(shown);
        session.flush();
        return outcome.err().unwrap_or(Exit::Ok).code();
    }
    let mut common = Common::default_for_errors();
    if wants_json(args) {
        common.message_format = MessageFormat::Json;
    }
    let json = common.message_format == MessageFormat::Json;
    let mut session = Session::new(registry, common);
    match misspelt(args) {
        Some(diagnostic) => session.report(diagnostic),
        None if json => session.report(of_clap(error)),
        // Clap formats it for the terminal, but does not escape the arguments.
        None if args.iter().all(is_plain) => {
            let _ = error.print();
        }
        None => talk::say(&error.to_string()),
    }
    session.flush();
    Exit::Usage.code()
}

/// Returns true if a command line that clap rejects has `--message-format=json`, or `json` after
/// its first `--message-format`. Arguments from `--` on do not count.
fn wants_json(args: &[OsString]) -> bool {
    let mut ours = args.iter().take_while(|arg| *arg != "--");
    let format = "--message-format";
    ours.clone()
        .any(|arg| arg.to_str() == Some(&format!("{format}=json")))
        || ours.any(|arg| arg == format) && ours.next().is_some_and(|value| value == "json")
}

/// Converts an error of clap to a diagnostic. Its tips become help, and its other paragraphs become
/// notes.
fn of_clap(error: &clap::Error) -> Diagnostic {
    let text = error.render().to_string();
    let mut parts = text
        .split("\n\n")
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let first = parts.next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(first);
    let mut diagnostic = Diagnostic::error(codes::USAGE, message);
    for part in parts {
        match part.strip_prefix("tip: ") {
            Some(tip) => diagnostic.help.push(tip.to_owned()),
            None => diagnostic.notes.push(part.to_owned()),
        }
    }
    diagnostic
}

fn is_plain(arg: &OsString) -> bool {
    let text = arg.to_string_lossy();
    visible::name(&text) == text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A negative number must be an invalid value of the option before it, not another option.
    #[test]
    fn options_of_numbers_take_what_begins_with_a_hyphen() {
        const NUMBERS: &[&str] = &["N", "PERCENT", "SECONDS", "SEED", "SIZE", "TIME", "TRAFFIC"];
        let command = defaults::command(&[]);
        let mut seen = std::collections::BTreeSet::new();
        for command in std::iter::once(&command).chain(command.get_subcommands()) {
            for arg in command.get_arguments() {
                let names = arg.get_value_names().unwrap_or_default();
                let number = names.iter().find(|name| NUMBERS.contains(&name.as_str()));
                let taken = arg.is_allow_negative_numbers_set() || arg.is_allow_hyphen_values_set();
                assert!(number.is_none() || taken, "{}: {arg}", command.get_name());
                seen.extend(number.map(ToString::to_string));
            }
        }
        assert_eq!(seen.len(), NUMBERS.len(), "{seen:?}");
    }
}
