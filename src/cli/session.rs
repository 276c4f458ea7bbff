//! State of one run of the command: inputs, diagnostics and timings.

use super::args::{Colour, Common, GraphArgs, MessageFormat, is_standard};
use super::exit::Exit;
use super::identity::Identity;
use super::plugins::Reader;
use super::{graph_format, talk};
use crate::include;
use crate::levels::Levels;
use crate::render;
use crate::search::ReadOptions;
use crate::{FrontEnd, Registry, codes, visible};
use graphmap_kpn::codes::UNUSED_SIZE;
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics, Severity};
use graphmap_kpn::foreign;
use graphmap_kpn::input::Limit;
use graphmap_kpn::source::{SourceMap, Span};
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Result of a step of a verb. The error is the exit status of the command.
pub(crate) type Outcome<T> = Result<T, Exit>;

/// State of one run of the command.
pub(crate) struct Session<'t> {
    pub(crate) registry: &'t Registry,
    pub(crate) common: Common,
    pub(crate) sources: SourceMap,
    /// Whether notes are shown. Most verbs do not show them, because they would repeat the same
    /// notes in every run.
    pub(crate) show_notes: bool,
    /// Levels that apply to the diagnostics that are added from now on.
    pub(crate) levels: Levels,
    /// Values that `graphmap.toml` sets and the command line does not, with their positions.
    pub(crate) presets: Vec<(String, Span)>,
    /// Number of OS processes of the run, if it is known before the graph is read.
    pub(crate) os_processes: Option<u32>,
    /// True if the hosts are read after the graph, and the graph then possibly again.
    pub(crate) hosts_follow: bool,
    /// True if the number of OS processes determines the size of the network.
    pub(crate) fitted: bool,
    /// Sizes that `graphmap.toml` sets, with their positions.
    pub(crate) sizes: Vec<(String, i64, Span)>,
    /// Files that were read, each with the path that the user gave first. They are not overwritten.
    pub(super) inputs: HashMap<Identity, PathBuf>,
    diagnostics: Diagnostics,
    timings: Vec<(String, Duration)>,
}

impl<'t> Session<'t> {
    pub(crate) fn new(registry: &'t Registry, common: Common) -> Session<'t> {
        Session {
            registry,
            levels: Levels {
                command_line: common.levels(),
                ..Levels::default()
            },
            presets: Vec::new(),
            os_processes: None,
            hosts_follow: false,
            fitted: false,
            sizes: Vec::new(),
            common,
            sources: SourceMap::new(),
            show_notes: false,
            inputs: HashMap::new(),
            diagnostics: Diagnostics::new(),
            timings: Vec::new(),
        }
    }

    /// Adds a diagnostic with the position and the severity that the session's settings give it. A
    /// level can also drop it.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        let placed = self.placed(diagnostic);
        self.diagnostics.extend(self.levels.apply(placed));
    }

    /// Adds the position in `graphmap.toml` to a diagnostic whose message names a value that was
    /// set there. Returns the diagnostic unchanged if it has a position, or names no such value.
    fn placed(&self, diagnostic: Diagnostic) -> Diagnostic {
        if diagnostic.primary.is_some() {
            return diagnostic;
        }
        let about = |value: &String| {
            // The message names the value, or a file in a folder that the value names.
            let said = ["`", " "].map(|before| format!("{before}{value}"));
            let ends = |rest: &str| rest.starts_with(['`', ' ', '/']);
            said.iter().any(|said| {
                let mut places = diagnostic.message.match_indices(said.as_str());
                places.any(|(at, _)| ends(&diagnostic.message[at + said.len()..]))
            })
        };
        let mut presets = self.presets.iter();
        match presets.find(|(value, _)| about(value)) {
            Some((_, span)) => diagnostic.at(*span, "set here"),
            None => diagnostic,
        }
    }

    /// Adds diagnostics, each as [`Session::report`] does.
    pub(crate) fn report_all(&mut self, diagnostics: Diagnostics) {
        let taken = diagnostics.filter_map(|one| self.levels.apply(self.placed(one)));
        self.diagnostics.append(taken);
    }

    /// Runs a step, and drops the warnings and notes that it adds.
    pub(crate) fn only_errors<T>(&mut self, step: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::take(&mut self.diagnostics);
        let value = step(self);
        let added = std::mem::replace(&mut self.diagnostics, before);
        let is_error = |one: &Diagnostic| one.severity == Severity::Error;
        self.diagnostics
            .append(added.filter_map(|one| is_error(&one).then_some(one)));
        value
    }

    /// Adds a diagnostic that ends the command with `exit`. Always returns `exit` as an error.
    pub(crate) fn fail<T>(&mut self, exit: Exit, diagnostic: Diagnostic) -> Outcome<T> {
        self.report(diagnostic);
        Err(exit)
    }

    /// Adds the diagnostics of a step and returns its value, or `exit` if the step failed.
    pub(crate) fn take<T>(
        &mut self,
        exit: Exit,
        result: Result<(T, Diagnostics), Diagnostics>,
    ) -> Outcome<T> {
        match result {
            Ok((value, diagnostics)) => {
                self.report_all(diagnostics);
                Ok(value)
            }
            Err(diagnostics) => {
                self.report_all(diagnostics);
                Err(exit)
            }
        }
    }

    /// Runs a step and records its duration.
    pub(crate) fn timed<T>(&mut self, name: &str, step: impl FnOnce(&mut Self) -> T) -> T {
        let start = Instant::now();
        let value = step(self);
        self.timings.push((name.to_owned(), start.elapsed()));
        value
    }

    /// Adds the durations of steps that were measured elsewhere.
    pub(crate) fn add_timings(&mut self, timings: Vec<graphmap_kpn::pipeline::Timing>) {
        let all = timings.into_iter().map(|t| (t.name, t.duration));
        self.timings.extend(all);
    }

    /// Checks that no error was reported, because a level can make a diagnostic of a successful
    /// verb an error.
    ///
    /// # Errors
    /// Returns [`Exit::Graph`] if there are errors that were not shown yet.
    pub(crate) fn unless_denied(&self) -> Outcome<()> {
        match self.errors() {
            0 => Ok(()),
            _ => Err(Exit::Graph),
        }
    }

    /// Returns the number of errors that were not shown yet.
    pub(crate) fn errors(&self) -> usize {
        self.diagnostics.count(Severity::Error)
    }

    /// Returns the options of the command line for passes and emitters. The last value of an option
    /// is used. `--weights` takes precedence over `--set weights=`.
    pub(crate) fn options(graph: &GraphArgs) -> BTreeMap<String, String> {
        let mut options: BTreeMap<String, String> = graph.passes.set.iter().cloned().collect();
        if let Some(file) = &graph.passes.weights {
            options.insert(crate::weights::FILE.to_owned(), file.clone());
        }
        options
    }

    /// Reads a graph file and returns its declarations. Sets the levels of the graph.
    ///
    /// # Errors
    /// Reports the diagnostics and returns [`Exit::Graph`] if the graph has errors, or
    /// [`Exit::Usage`] if the file cannot be read or its format is unknown.
    pub(crate) fn declared(&mut self, file: &Path, graph: &GraphArgs) -> Outcome<Declared> {
        self.declared_by(file, graph, false)
    }

    /// Reads a graph file for a picture and returns its declarations. The network may have errors.
    /// Sets the levels of the graph.
    ///
    /// # Errors
    /// As for [`Session::declared`], but [`Exit::Graph`] only for errors that prevent a picture.
    pub(crate) fn declared_for_picture(
        &mut self,
        file: &Path,
        graph: &GraphArgs,
    ) -> Outcome<Declared> {
        self.declared_by(file, graph, true)
    }

    /// Reads the text of `declared` again, for the number of OS processes of the session. `file` is
    /// its file.
    ///
    /// # Errors
    /// As for [`Session::declared`].
    pub(crate) fn declared_again(
        &mut self,
        file: &Path,
        graph: &GraphArgs,
        declared: &Declared,
    ) -> Outcome<Declared> {
        let name = Self::display(file);
        let mut texts = declared.sources.sources();
        let text = texts.find(|source| source.name() == name);
        let bytes = text.map_or_else(Vec::new, |source| source.text().as_bytes().to_vec());
        self.declared_in(file, graph, bytes, false)
    }

    fn declared_by(&mut self, file: &Path, graph: &GraphArgs, picture: bool) -> Outcome<Declared> {
        // An unknown format is reported before the file is read.
        self.front_end(file, graph.format.as_deref(), Self::options(graph))?;
        let bytes = self.timed("read file", |s| s.read_bytes(file, Limit::NETWORK))?;
        self.declared_in(file, graph, bytes, picture)
    }

    fn declared_in(
        &mut self,
        file: &Path,
        graph: &GraphArgs,
        bytes: Vec<u8>,
        picture: bool,
    ) -> Outcome<Declared> {
        let found = self.front_end(file, graph.format.as_deref(), Self::options(graph))?;
        let front_end = found.as_front_end();
        let name = Self::display(file);
        let options = self.read_options(graph);
        self.timed(front_end.name(), |s| {
            s.levels.graph.clear();
            let text = include::Text {
                front_end,
                name: &name,
                bytes,
            };
            let result = include::read(s.registry, text, &options, &mut s.sources, picture);
            let result = result.map(|(mut declared, found)| {
                declared.given.clone_from(&graph.arguments);
                (declared, found)
            });
            if let Ok((declared, _)) = &result {
                let unknown = s.levels.set_graph_levels(&declared.levels);
                s.report_all(unknown);
                // Names of texts that are not files do not exist.
                let names = declared.sources.sources().map(|source| source.name());
                names.for_each(|name| s.remember(Path::new(name)));
                s.report_unused_sizes(declared);
                if !s.hosts_follow {
                    let mut notes = Diagnostics::new();
                    include::note_least(declared, &options, &mut notes);
                    s.report_all(notes);
                }
                s.fitted = !declared.fitted.is_empty() && options.os_processes.is_some();
            }
            // Other errors of an executable are its own failures.
            let of_graph = [
                graphmap_plugin::codes::REPORTED,
                codes::NOT_TEXT,
                codes::TOO_LARGE,
                UNUSED_SIZE,
            ];
            let failed =
                |one: &Diagnostic| one.severity == Severity::Error && !of_graph.contains(&one.code);
            let exit = match (&found, &result) {
                (FoundFrontEnd::External(_), Err(all)) if all.iter().any(failed) => Exit::Plugin,
                _ => Exit::Graph,
            };
            s.take(exit, result)
        })
    }

    /// Returns the sizes of the command line and of `graphmap.toml`, and the folders of included
    /// files.
    fn read_options(&self, graph: &GraphArgs) -> ReadOptions {
        let defaults = self.sizes.iter();
        ReadOptions {
            sizes: graph.sizes.iter().cloned().collect(),
            default_sizes: defaults.map(|(name, value, _)| (name, *value)).collect(),
            folders: graph.include.clone(),
            os_processes: self.os_processes,
        }
    }

    /// Warns of sizes in `graphmap.toml` that the graph does not have.
    fn report_unused_sizes(&mut self, declared: &Declared) {
        let is_unused = |name: &String| !declared.sizes.contains(name);
        let unused = self.sizes.iter().filter(|(name, ..)| is_unused(name));
        let warnings: Vec<Diagnostic> = unused
            .map(|(name, _, span)| {
                let message = format!("the graph `{}` has no size `{name}`", declared.name);
                Diagnostic::warning(UNUSED_SIZE, message).at(*span, "")
            })
            .collect();
        warnings.into_iter().for_each(|one| self.report(one));
    }

    /// Returns a graph file in its canonical layout. Removes the file from the inputs, because it
    /// is to be written again.
    ///
    /// # Errors
    /// Reports the diagnostics and returns [`Exit::Graph`] if the text has errors, or
    /// [`Exit::Usage`] if the file cannot be read or its language has no canonical layout.
    pub(crate) fn formatted(&mut self, file: &Path, format: Option<&str>) -> Outcome<Formatted> {
        let found = self.front_end(file, format, BTreeMap::new())?;
        let front_end = found.as_front_end();
        let bytes = self.read_bytes(file, Limit::NETWORK)?;
        self.forget(file);
        let name = Self::display(file);
        // A file can be read again, so a large one is not kept in memory twice.
        let before = match is_standard(file) {
            true => bytes.clone(),
            false => Vec::new(),
        };
        match front_end.format(&name, bytes, &mut self.sources) {
            Some(Ok(after)) => Ok(Formatted { before, after }),
            Some(Err(diagnostics)) => {
                self.report_all(diagnostics);
                Err(Exit::Graph)
            }
            None => {
                let language = front_end.name();
                let message =
                    format!("`{name}` cannot be formatted: `fmt` does not support {language}");
                self.fail(Exit::Usage, Diagnostic::error(codes::USAGE, message))
            }
        }
    }

    /// Returns the front end that reads a graph file. `format` names it, and otherwise the file
    /// name selects it. For standard input without `format`, returns the first front end.
    ///
    /// Only `format` can select an executable, which receives `options`. A built-in front end of
    /// the same name takes precedence.
    ///
    /// # Errors
    /// Reports an error and returns [`Exit::Usage`] if there is no such front end, or if a file of
    /// unknown format cannot be read.
    fn front_end(
        &mut self,
        file: &Path,
        format: Option<&str>,
        options: BTreeMap<String, String>,
    ) -> Outcome<FoundFrontEnd<'t>> {
        let registry = self.registry;
        let front_end = match format {
            Some(format) => registry.front_end_named(format),
            None if is_standard(file) => registry.front_ends().next(),
            None => registry.front_end_of(file),
        };
        if let Some(front_end) = front_end {
            return Ok(FoundFrontEnd::Internal(front_end));
        }
        let external = format.and_then(|name| self.external_front_end(name, options));
        if let Some(external) = external {
            return Ok(FoundFrontEnd::External(external));
        }
        // A missing file is reported as missing, not as a file of unknown format.
        let bytes = match format {
            Some(_) => Vec::new(),
            None => self.read_bytes(file, Limit::NETWORK)?,
        };
        let beginning = &bytes[..bytes.len().min(1 << 16)];
        let foreign = foreign::recognise(&String::from_utf8_lossy(beginning));
        let message = match format {
            Some(format) => format!("unknown graph format `{format}`"),
            None => match foreign {
                Some(foreign) => format!("`{}` is {}", file.display(), foreign.name),
                None => format!("unknown format of the graph file `{}`", file.display()),
            },
        };
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_FORMAT, message);
        let name = Self::display(file);
        let help = graph_format::help(registry, file, &name, format);
        diagnostic.help.extend(help);
        let diagnostic = match foreign {
            Some(foreign) => diagnostic.help(foreign.help),
            None => diagnostic.help(graph_format::known(registry)),
        };
        self.fail(Exit::Usage, diagnostic)
    }

    /// Shows all diagnostics so far and removes them. Shows at most `--limit` of them, but at least
    /// one, and all as JSON. Notes are shown only with `show_notes` or as JSON. Returns true if one
    /// was an error, also if it was not shown.
    pub(crate) fn flush(&mut self) -> bool {
        let all = std::mem::take(&mut self.diagnostics);
        let json = self.common.message_format == MessageFormat::Json;
        let notes = json || self.show_notes;
        let shown = all.filter_map(|d| (notes || d.severity > Severity::Note).then_some(d));
        let errors = shown.has_errors();
        let limit = if json {
            usize::MAX
        } else {
            self.common.limit.max(1)
        };
        let (chosen, left_out) = render::choose(&shown, limit);
        let style = self.style();
        let mut texts = render::ShownTexts::default();
        for diagnostic in chosen {
            if json {
                let value = render::machine(diagnostic, &self.sources);
                talk::say(&(visible::json(&value, false) + "\n"));
            } else {
                let diagnostic = texts.without_repeated(diagnostic);
                talk::say_coloured(&render::human(&diagnostic, &self.sources, style));
            }
        }
        if json {
            let count = |severity| shown.count(severity);
            let value = json!({
                "type": "summary",
                "errors": count(Severity::Error),
                "warnings": count(Severity::Warning),
                "notes": count(Severity::Note),
            });
            if !shown.is_empty() {
                talk::say(&(visible::json(&value, false) + "\n"));
            }
        } else if let Some(summary) = summary(&shown) {
            let more = match left_out {
                0 => String::new(),
                n => format!(" ({n} more not shown; see --limit)"),
            };
            talk::say(&format!("graphmap: {summary}{more}\n"));
        }
        errors
    }

    fn style(&self) -> render::Style {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let colour = match self.common.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => talk::on_terminal() && !no_color,
        };
        let width = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
        render::Style {
            colour,
            width: width.unwrap_or(100).clamp(60, 200),
        }
    }

    /// Shows the duration of each step, if `--timings` is set.
    pub(crate) fn show_timings(&self) {
        if !self.common.timings {
            return;
        }
        let total: Duration = self.timings.iter().map(|(_, d)| *d).sum();
        let all = self.timings.iter().map(|(name, d)| (name.as_str(), *d));
        for (name, duration) in all.chain([("total", total)]) {
            let seconds = duration.as_secs_f64();
            match self.common.message_format {
                MessageFormat::Human => talk::say(&format!("{seconds:>10.6} s  {name}\n")),
                MessageFormat::Json => {
                    let value = json!({"type": "timing", "name": name, "seconds": seconds});
                    talk::say(&(visible::json(&value, false) + "\n"));
                }
            }
        }
    }

    /// Returns true if child processes may print their progress: standard error is a terminal, and
    /// messages are printed.
    pub(crate) fn may_talk(&self) -> bool {
        talk::on_terminal() && self.prints_messages()
    }

    /// Returns true if messages that are not diagnostics are printed: for people, and without
    /// `--quiet`.
    pub(crate) fn prints_messages(&self) -> bool {
        !self.common.quiet && self.common.message_format == MessageFormat::Human
    }

    /// Prints a message that is not a diagnostic, if messages are printed.
    pub(crate) fn print(&self, text: &str) {
        if self.prints_messages() {
            talk::say(text);
        }
    }

    /// Writes text for people to standard output, with control characters escaped.
    ///
    /// # Errors
    /// As for [`Session::written`].
    pub(crate) fn show(&mut self, text: &str) -> Outcome<()> {
        self.written(talk::show(text))
    }

    /// Writes data to standard output.
    ///
    /// # Errors
    /// As for [`Session::written`].
    pub(crate) fn put(&mut self, data: &[u8]) -> Outcome<()> {
        self.written(talk::put(data))
    }

    /// Reports an error of writing to standard output. A closed pipe (`| head`) is not an error,
    /// and the rest of the output is dropped.
    ///
    /// # Errors
    /// Returns [`Exit::Usage`] for all other errors in `result`.
    pub(crate) fn written(&mut self, result: std::io::Result<()>) -> Outcome<()> {
        match result {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => {
                let message = format!("standard output cannot be written: {error}");
                self.fail(Exit::Usage, Diagnostic::error(codes::CANNOT_WRITE, message))
            }
        }
    }
}

/// A front end that is built in, or one found on PATH.
enum FoundFrontEnd<'t> {
    Internal(&'t dyn FrontEnd),
    External(Reader),
}

impl FoundFrontEnd<'_> {
    fn as_front_end(&self) -> &dyn FrontEnd {
        match self {
            FoundFrontEnd::Internal(front_end) => *front_end,
            FoundFrontEnd::External(front_end) => front_end,
        }
    }
}

/// Text before and after formatting.
pub(crate) struct Formatted {
    /// Empty unless the text is from standard input.
    pub(crate) before: Vec<u8>,
    pub(crate) after: String,
}

/// Returns a text such as `2 errors and 1 warning`, or `None` if both counts are 0.
fn summary(all: &Diagnostics) -> Option<String> {
    let count = |severity, one: &str| match all.count(severity) {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {one}s")),
    };
    let parts: Vec<String> = [(Severity::Error, "error"), (Severity::Warning, "warning")]
        .into_iter()
        .filter_map(|(severity, one)| count(severity, one))
        .collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}
