//! One run of the command: what was read, what was found, how long it took.

use super::args::{Colour, Common, GraphArgs, MessageFormat, is_standard};
use super::exit::Exit;
use super::identity::Identity;
use super::{graph_format, talk};
use crate::levels::Levels;
use crate::render;
use crate::{FrontEnd, Registry, codes, visible};
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics, Severity};
use graphmap_kpn::foreign;
use graphmap_kpn::input::Limit;
use graphmap_kpn::source::{SourceMap, Span};
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What a step of a verb gives, or how the command ends.
pub(crate) type Outcome<T> = Result<T, Exit>;

/// One run of the command.
pub(crate) struct Session<'t> {
    pub(crate) registry: &'t Registry,
    pub(crate) common: Common,
    pub(crate) sources: SourceMap,
    /// Whether notes are shown, too: what is true of every run of a sound graph is not worth
    /// saying each time.
    pub(crate) show_notes: bool,
    /// How findings are taken from now on.
    pub(crate) levels: Levels,
    /// Values that `graphmap.toml` gives options which are not typed, each with its place.
    pub(crate) presets: Vec<(String, Span)>,
    /// The files that were read, each by the first name that the user gave it. None is overwritten.
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
            common,
            sources: SourceMap::new(),
            show_notes: false,
            inputs: HashMap::new(),
            diagnostics: Diagnostics::new(),
            timings: Vec::new(),
        }
    }

    /// Adds a finding.
    pub(crate) fn find(&mut self, diagnostic: Diagnostic) {
        let placed = self.placed(diagnostic);
        self.diagnostics.extend(self.levels.apply(placed));
    }

    /// Gives a finding about a value of `graphmap.toml` its place there.
    fn placed(&self, finding: Diagnostic) -> Diagnostic {
        if finding.primary.is_some() {
            return finding;
        }
        let about = |value: &String| {
            // Itself, or a file in a folder that it names.
            let said = ["`", " "].map(|before| format!("{before}{value}"));
            let ends = |rest: &str| rest.starts_with(['`', ' ', '/']);
            said.iter().any(|said| {
                let mut places = finding.message.match_indices(said.as_str());
                places.any(|(at, _)| ends(&finding.message[at + said.len()..]))
            })
        };
        let mut presets = self.presets.iter();
        match presets.find(|(value, _)| about(value)) {
            Some((_, span)) => finding.at(*span, "set here"),
            None => finding,
        }
    }

    /// Adds findings.
    pub(crate) fn find_all(&mut self, diagnostics: Diagnostics) {
        let taken = diagnostics.filter_map(|one| self.levels.apply(self.placed(one)));
        self.diagnostics.append(taken);
    }

    /// Adds a finding that ends the command.
    pub(crate) fn fail<T>(&mut self, exit: Exit, diagnostic: Diagnostic) -> Outcome<T> {
        self.find(diagnostic);
        Err(exit)
    }

    /// The value of a step that came with findings, or the findings that ended it.
    pub(crate) fn take<T>(
        &mut self,
        exit: Exit,
        result: Result<(T, Diagnostics), Diagnostics>,
    ) -> Outcome<T> {
        match result {
            Ok((value, findings)) => {
                self.find_all(findings);
                Ok(value)
            }
            Err(findings) => {
                self.find_all(findings);
                Err(exit)
            }
        }
    }

    /// Does a step and notes how long it took.
    pub(crate) fn timed<T>(&mut self, name: &str, step: impl FnOnce(&mut Self) -> T) -> T {
        let start = Instant::now();
        let value = step(self);
        self.timings.push((name.to_owned(), start.elapsed()));
        value
    }

    /// Adds what steps took that were timed elsewhere.
    pub(crate) fn add_timings(&mut self, timings: Vec<graphmap_kpn::pipeline::Timing>) {
        let all = timings.into_iter().map(|t| (t.name, t.duration));
        self.timings.extend(all);
    }

    /// Ends a verb that all went well for where somebody wants one of the findings to be an error.
    pub(crate) fn unless_denied(&self) -> Outcome<()> {
        match self.errors() {
            0 => Ok(()),
            _ => Err(Exit::Graph),
        }
    }

    /// How many errors there are among what was not shown yet.
    pub(crate) fn errors(&self) -> usize {
        self.diagnostics.count(Severity::Error)
    }

    /// The options of the command line as passes and emitters read them; of equals the last holds.
    pub(crate) fn options(graph: &GraphArgs) -> BTreeMap<String, String> {
        let mut options: BTreeMap<String, String> = graph.passes.set.iter().cloned().collect();
        if let Some(file) = &graph.passes.weights {
            options.insert(crate::weights::FILE.to_owned(), file.clone());
        }
        options
    }

    /// Reads a graph file: what it declares.
    pub(crate) fn declared(&mut self, file: &Path, graph: &GraphArgs) -> Outcome<Declared> {
        self.declared_by(file, graph, |front_end, name, bytes, sources| {
            front_end.read(name, bytes, sources)
        })
    }

    /// The same for a picture of what is drawn, sound or not.
    pub(crate) fn drawn(&mut self, file: &Path, graph: &GraphArgs) -> Outcome<Declared> {
        self.declared_by(file, graph, |front_end, name, bytes, sources| {
            front_end.read_picture(name, bytes, sources)
        })
    }

    fn declared_by(
        &mut self,
        file: &Path,
        graph: &GraphArgs,
        read: impl FnOnce(
            &dyn FrontEnd,
            &str,
            Vec<u8>,
            &mut SourceMap,
        ) -> Result<(Declared, Diagnostics), Diagnostics>,
    ) -> Outcome<Declared> {
        let front_end = self.front_end(file, graph.format.as_deref())?;
        let bytes = self.timed("read file", |s| s.read_bytes(file, Limit::NETWORK))?;
        let name = Self::display(file);
        self.timed(front_end.name(), |s| {
            s.levels.drawing.clear();
            let result = read(front_end, &name, bytes, &mut s.sources);
            if let Ok((declared, _)) = &result {
                let unknown = s.levels.take_drawing(&declared.levels);
                s.find_all(unknown);
            }
            s.take(Exit::Graph, result)
        })
    }

    /// A graph file in its canonical layout.
    pub(crate) fn formatted(&mut self, file: &Path, format: Option<&str>) -> Outcome<Formatted> {
        let front_end = self.front_end(file, format)?;
        let bytes = self.read_bytes(file, Limit::NETWORK)?;
        self.forget(file);
        let name = Self::display(file);
        // A file can be looked at again; a large one is not held twice.
        let before = match is_standard(file) {
            true => bytes.clone(),
            false => Vec::new(),
        };
        match front_end.format(&name, bytes, &mut self.sources) {
            Some(Ok(after)) => Ok(Formatted { before, after }),
            Some(Err(findings)) => {
                self.find_all(findings);
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

    /// The front end of a graph file.
    fn front_end(&mut self, file: &Path, format: Option<&str>) -> Outcome<&'t dyn FrontEnd> {
        let registry = self.registry;
        let front_end = match format {
            Some(format) => registry.front_end_named(format),
            None if is_standard(file) => registry.front_ends().next(),
            None => registry.front_end_of(file),
        };
        if let Some(front_end) = front_end {
            return Ok(front_end);
        }
        // A file that is not there at all is the better thing to say.
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

    /// Shows all findings so far, and forgets them. Returns whether one was an error.
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
        let mut besides = render::Besides::default();
        for diagnostic in chosen {
            if json {
                let value = render::machine(diagnostic, &self.sources);
                talk::say(&(visible::json(&value, false) + "\n"));
            } else {
                let diagnostic = besides.once(diagnostic);
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

    /// Shows how long each step took.
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

    /// Whether programs that we run may say what they do: somebody watches.
    pub(crate) fn may_talk(&self) -> bool {
        talk::on_terminal() && self.may_tell()
    }

    /// Whether something may be said that is no finding: to people, not to programs, and not when
    /// asked to be quiet.
    pub(crate) fn may_tell(&self) -> bool {
        !self.common.quiet && self.common.message_format == MessageFormat::Human
    }

    /// Says something that is no finding.
    pub(crate) fn tell(&self, text: &str) {
        if self.may_tell() {
            talk::say(text);
        }
    }

    /// Writes text for people on standard output.
    pub(crate) fn show(&mut self, text: &str) -> Outcome<()> {
        self.written(talk::show(text))
    }

    /// Writes data on standard output.
    pub(crate) fn put(&mut self, data: &[u8]) -> Outcome<()> {
        self.written(talk::put(data))
    }

    /// What became of writing on standard output. A reader who has seen enough (`| head`) is no
    /// failure: the rest is dropped, and all is well.
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

/// A text before and after it was laid out.
pub(crate) struct Formatted {
    /// Of standard input alone.
    pub(crate) before: Vec<u8>,
    pub(crate) after: String,
}

/// `2 errors and 1 warning`; `None` when there is nothing to count.
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
