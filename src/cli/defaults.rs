//! Defaults that are not typed: the graph file, and options from `graphmap.toml`.

use super::args::is_standard;
use super::c_programs;
use super::config::{self, Config, Preset};
use super::exit::Exit;
use super::paths;
use super::session::{Outcome, Session};
use super::verbs::Cli;
use crate::codes;
use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, Id};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_wiring::family;
use graphmap_wiring::project::Project;
use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Verbs that take a graph, each with the argument that names it. The first is the default action.
const OF_GRAPHS: &[(&str, &str)] = &[
    (NONE, "file"),
    ("emit", "file"),
    ("check", "files"),
    ("expand", "file"),
    ("fmt", "files"),
    (NEW, "from"),
    ("partition", "file"),
    (RUN, "file"),
    ("view", "file"),
];
/// Name of the default action in [`OF_GRAPHS`].
const NONE: &str = "";
/// Verb that can do without a graph.
const NEW: &str = "new";
/// Verb that runs programs.
const RUN: &str = "run";

/// Options of verbs that `graphmap.toml` does not set. Its `hosts` are the hosts to map onto, but
/// `run --hosts` starts the program under a launcher.
const TYPED_ONLY: &[(&str, &str)] = &[("run", "hosts")];

/// Verb that is also the name of an emitter. Behind a graph file, it names that emitter.
const MPIEXEC: &str = "mpiexec";

/// Returns the parser of the command line `args`, without the values from `graphmap.toml`.
pub(crate) fn command(args: &[OsString]) -> Command {
    // `partition` shows the table of a mapping, also on other hosts.
    let shown = |arg: Arg| {
        let arg = arg.conflicts_with(Resettable::<Id>::Reset);
        arg.conflicts_with("previous")
            .help("Show the table of the mapping in this mapping.json instead of searching for one")
    };
    let command = Cli::command().mut_subcommand("partition", |verb| verb.mut_arg("mapping", shown));
    let mut before = args.iter().skip(1).take_while(|word| *word != MPIEXEC);
    match before.any(|word| !word.as_encoded_bytes().starts_with(b"-") && word != "help") {
        // Clap finds verbs at any place, but none with this name.
        true => command.mut_subcommand(MPIEXEC, |verb| verb.name("-mpiexec").hide(true)),
        false => command,
    }
}

/// Parses the command line `args` again, with the values from `graphmap.toml` and the graph file as
/// defaults. `matches` is the result of the first parse. Sets the levels and the presets of the
/// session, and prints which graph file is used by default.
///
/// # Errors
/// Reports the diagnostics and returns [`Exit::Graph`] if `graphmap.toml` has errors. Returns
/// [`Exit::Usage`] if it cannot be read, if the verb needs a graph file and there is no single
/// default, or if the arguments are not valid with these defaults.
pub(crate) fn complete(
    matches: &ArgMatches,
    args: &[OsString],
    session: &mut Session<'_>,
) -> Outcome<Cli> {
    let (verb, of_verb) = matches.subcommand().unwrap_or((NONE, matches));
    let mut command = command(args);
    // `graphmap.toml` is about graphs, and not about compiled programs.
    let is_of_graph = |file: &str| {
        let mut files = of_verb.get_many::<PathBuf>(file).into_iter().flatten();
        verb != RUN || !files.any(|file| c_programs::is_program(file))
    };
    let of_graphs = OF_GRAPHS.iter().find(|(name, _)| *name == verb);
    if let Some((_, file)) = of_graphs.filter(|(_, file)| is_of_graph(file)) {
        let typed = of_verb.value_source(file) == Some(ValueSource::CommandLine);
        let named = of_verb.get_many::<PathBuf>(file).filter(|_| typed);
        let first = named.and_then(|mut files| files.next());
        let errors = session.errors();
        let config = config_of(session, first)?;
        let presets = config.iter().flat_map(|config| &config.options);
        let named = of_verb.get_many::<PathBuf>(file).filter(|_| typed);
        let mut named = named.into_iter().flatten();
        let of_config = config.as_ref().and_then(|config| config.file.as_deref());
        // The format is that of one file. Other files must not be read with it.
        let is_of_config = named.all(|path| of_config.is_some_and(|file| is_same(path, file)));
        let applies = |preset: &&Preset| {
            let is_typed_only = TYPED_ONLY.contains(&(verb, preset.option));
            !is_typed_only && (preset.option != config::FORMAT || is_of_config)
        };
        for preset in presets.filter(applies) {
            command = with_preset(session, command, verb, preset);
            let id = preset.option.replace('-', "_");
            let typed = of_verb.try_contains_id(&id).unwrap_or(false)
                && of_verb.value_source(&id) == Some(ValueSource::CommandLine);
            if !typed {
                let values = preset.values.iter();
                let values = values.map(|value| (value.clone(), preset.span));
                session.presets.extend(values);
            }
        }
        if session.errors() > errors {
            return Err(Exit::Graph);
        }
        if let Some(config) = &config {
            session.levels.config.clone_from(&config.levels);
            session.sizes.clone_from(&config.sizes);
        }
        if !typed && let Some(path) = default_graph(session, verb, of_verb, config.as_ref())? {
            let path = path.into_os_string();
            command = change(command, verb, |command| {
                command.mut_arg(file, |arg| arg.default_value(path))
            });
        }
    }
    let parsed = command.try_get_matches_from(args);
    parsed
        .and_then(|m| Cli::from_arg_matches(&m))
        .or_else(|error| {
            // Clap has accepted these arguments before.
            let message = error.to_string();
            session.fail(Exit::Usage, Diagnostic::error(codes::USAGE, message))
        })
}

/// Returns the `graphmap.toml` for a graph file, or for the current folder. Returns `None` if there
/// is none in the folder or above it.
///
/// # Errors
/// As for [`config::read`].
fn config_of(session: &mut Session<'_>, file: Option<&PathBuf>) -> Outcome<Option<Config>> {
    let folder = file
        .filter(|file| !is_standard(file))
        .and_then(|file| file.parent())
        .filter(|folder| *folder != Path::new(""))
        .unwrap_or(Path::new("."));
    match config::find(folder) {
        Some(path) => config::read(session, &path).map(Some),
        None => Ok(None),
    }
}

/// Returns true if both paths lead to one file, which exists.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    !is_standard(one) && real(one).is_some_and(|path| real(other) == Some(path))
}

fn change(command: Command, verb: &str, how: impl FnOnce(Command) -> Command) -> Command {
    match verb {
        NONE => how(command),
        verb => command.mut_subcommand(verb, how),
    }
}

fn of_verb<'c>(command: &'c Command, verb: &str) -> &'c Command {
    command.find_subcommand(verb).unwrap_or(command)
}

/// Returns the command with a value of `graphmap.toml` as the default of an option. Returns the
/// command unchanged if the verb does not have that option, or if the option does not accept the
/// value, which is then reported.
fn with_preset(
    session: &mut Session<'_>,
    command: Command,
    verb: &str,
    preset: &Preset,
) -> Command {
    // A hidden option only reports that the verb does not support it.
    let is_it = |arg: &&Arg| arg.get_long() == Some(preset.option) && !arg.is_hide_set();
    let Some(arg) = of_verb(&command, verb).get_arguments().find(is_it) else {
        return command;
    };
    if let Err(wrong) = try_values(arg, preset) {
        session.report(Diagnostic::error(codes::CONFIG, wrong).at(preset.span, ""));
        return command;
    }
    let id = arg.get_id().to_string();
    let values: Vec<OsString> = preset.values.iter().map(OsString::from).collect();
    change(command, verb, |command| {
        command.mut_arg(id, |arg| arg.default_values(values))
    })
}

/// Checks that the option `arg` accepts the values of `preset`. It is parsed alone, because
/// defaults must not fail. An option without values accepts any.
///
/// # Errors
/// Returns a message if a value is not accepted.
fn try_values(arg: &Arg, preset: &Preset) -> Result<(), String> {
    if !arg.get_action().takes_values() {
        return Ok(());
    }
    let option = preset.option;
    let alone = Arg::new(option)
        .long(option)
        .value_parser(arg.get_value_parser().clone())
        .action(arg.get_action().clone());
    let words = preset
        .values
        .iter()
        .map(|value| format!("--{option}={value}"));
    let words = std::iter::once(String::new()).chain(words);
    let tried = Command::new(option).arg(alone).try_get_matches_from(words);
    let Err(error) = tried else {
        return Ok(());
    };
    let mut message = format!("invalid value of `{option}`");
    if let Some(source) = error.source() {
        message += &format!(": {source}");
    }
    if let Some(ContextValue::Strings(known)) = error.get(ContextKind::ValidValue) {
        message += &format!(": expected one of {}", known.join(", "));
    }
    Err(message)
}

/// Returns the graph file if none is typed, and prints its name: `file` in `graphmap.toml`, or the
/// only graph file here. For `run` in a project of ranks see [`of_ranks`].
///
/// Returns `None` if the command has no action, or if `new` does not need a graph. With no or
/// several graph files here, `new` uses the one with the name of its folder, or none.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if there is no graph file, or if there are several,
/// except for `new`.
fn default_graph(
    session: &mut Session<'_>,
    verb: &str,
    of_verb: &ArgMatches,
    config: Option<&Config>,
) -> Outcome<Option<PathBuf>> {
    // Without `--emit` there is no action, and that error must be reported first.
    if verb == NONE && !of_verb.contains_id("emit") {
        return Ok(None);
    }
    if verb == NEW {
        let family = of_verb.get_one::<String>("family").map(String::as_str);
        // A project of ranks has no graph, and an update uses the graph of the project.
        let updates = of_verb.get_flag("update") && matches!(family, None | Some(family::RUST));
        if updates || family == Some(family::MPI) {
            return Ok(None);
        }
    }
    if let Some(config) = config
        && let Some(file) = &config.file
    {
        let (file, path) = (file.clone(), config.path.display());
        session.presets.extend(
            config
                .file_at
                .map(|span| (file.display().to_string(), span)),
        );
        session.print(&format!(
            "graphmap: using {}, from {path}\n",
            paths::shown(&file)
        ));
        return Ok(Some(file));
    }
    if verb == RUN
        && let Ok(Some(project)) = Project::open(Path::new("."))
        && project.ranks
    {
        return Ok(Some(of_ranks(session, &project)));
    }
    let all = graph_files(session);
    if let [only] = &all[..] {
        session.print(&format!(
            "graphmap: using {}, the only graph file here\n",
            paths::shown(only)
        ));
        return Ok(Some(only.clone()));
    }
    if verb == NEW {
        let folder = of_verb.get_one::<PathBuf>("folder");
        let name = folder.and_then(|folder| folder.file_name());
        if let Some(same) = all.iter().find(|graph| graph.file_stem() == name) {
            session.print(&format!("graphmap: using {}\n", paths::shown(same)));
            return Ok(Some(same.clone()));
        }
        // The new project gets a small sample graph.
        return Ok(None);
    }
    let names = all.iter().map(|path| format!("`{}`", path.display()));
    let names: Vec<String> = names.take(MOST_NAMED).collect();
    let more = match all.len().saturating_sub(names.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let diagnostic = Diagnostic::error(codes::USAGE, "no graph file is named");
    let diagnostic = diagnostic.help(match names.is_empty() {
        true => "this folder has no graph file: name one".to_owned(),
        false => format!("name one of {}{more}", names.join(", ")),
    });
    let diagnostic = diagnostic.help(format!("or write `file = \"PATH\"` to {}", config::NAME));
    session.fail(Exit::Usage, diagnostic)
}

/// Returns the argument that runs the project of ranks here: its graph file if that exists,
/// otherwise `.` for ranks without a graph.
fn of_ranks(session: &Session<'_>, project: &Project) -> PathBuf {
    let graph = paths::plain(&project.graph);
    let graph = graph
        .strip_prefix(".")
        .map_or(graph.clone(), Path::to_owned);
    match graph.is_file() {
        true => {
            session.print(&format!(
                "graphmap: using {}, the graph of the ranks here; `graphmap run .` runs any number of ranks\n",
                paths::shown(&graph)
            ));
            graph
        }
        false => PathBuf::from("."),
    }
}

/// Maximum number of graph files that a message names.
const MOST_NAMED: usize = 8;

/// Returns the files of the current folder that the first front end accepts, in order of name,
/// without hidden files. The result is empty if the folder cannot be read.
fn graph_files(session: &Session<'_>) -> Vec<PathBuf> {
    let Some(language) = session.registry.front_ends().next() else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(".").into_iter().flatten().flatten();
    let names = entries.map(|entry| PathBuf::from(entry.file_name()));
    let hidden = |path: &PathBuf| path.as_os_str().as_encoded_bytes().starts_with(b".");
    let mut graph_files: Vec<PathBuf> = names
        .filter(|path| language.accepts(path) && !hidden(path) && path.is_file())
        .collect();
    graph_files.sort();
    graph_files
}
