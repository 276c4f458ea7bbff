//! The stages as functions: [`read`], [`check`], [`map`], [`emit`], [`write()`].

use crate::builder::Builder;
use crate::codes;
use crate::front_end::FrontEnd;
use crate::include::{self, Text};
use crate::levels::Levels;
use crate::registry::Registry;
use crate::report::{Diagnosed, Error, Report};
use crate::search::ReadOptions;
use crate::write::{self, Fate};
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::foreign;
use graphmap_kpn::hardware::Hardware;
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::mapping::{Mapped, Mapping};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::network::Verified;
use graphmap_kpn::pipeline;
use graphmap_kpn::source::SourceMap;
use graphmap_plan::{Plan, Request, Rule};
use graphmap_platform::Platform;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Options of passes and emitters, from name to value. `--set NAME=VALUE` adds one for the command.
pub type Options = BTreeMap<String, String>;

impl Registry {
    /// Reads a graph file and returns its declarations. Its path selects the front end. Included
    /// graphs are read, too.
    ///
    /// # Errors
    /// Returns all errors in the file, including warnings and notes that the graph makes errors
    /// (`deny=`). Also returns an error if the file cannot be read or its format is unknown.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Diagnosed<Declared>, Error> {
        self.read_with(path, &ReadOptions::default())
    }

    /// Reads a graph file like [`read`](Self::read), with other sizes, or with folders in which
    /// included files are searched.
    ///
    /// # Errors
    /// As for [`read`](Self::read), and an error for a size that the graph does not have.
    pub fn read_with(
        &self,
        path: impl AsRef<Path>,
        options: &ReadOptions,
    ) -> Result<Diagnosed<Declared>, Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let Some(front_end) = self.front_end_of(path) else {
            return Err(Error::without_text(self.unknown_language(path, &name)));
        };
        let bytes = input::bytes(path, Limit::NETWORK)
            .map_err(|why| Error::without_text(codes::cannot_read(&name, &why)))?;
        self.declared(front_end, &name, bytes, options)
    }

    /// Returns the error that no front end reads files with such a path. It names the format of the
    /// file if that is recognised.
    fn unknown_language(&self, path: &Path, name: &str) -> Diagnostic {
        // The format of a file that cannot be read is unknown.
        let bytes = input::bytes(path, Limit::NETWORK).unwrap_or_default();
        let beginning = &bytes[..bytes.len().min(1 << 16)];
        if let Some(other) = foreign::recognise(&String::from_utf8_lossy(beginning)) {
            let message = format!("`{name}` is {}", other.name);
            return Diagnostic::error(codes::UNKNOWN_FORMAT, message).help(other.help);
        }
        let message = format!("unknown format of the graph file `{name}`");
        let known = names(self.front_ends().map(|f| f.name()));
        Diagnostic::error(codes::UNKNOWN_FORMAT, message).help(format!(
            "call `read_text` with one of the front ends {known}"
        ))
    }

    /// Reads a text with the named front end. Diagnostics call the text `name`.
    ///
    /// # Errors
    /// Returns all errors in the text, including warnings and notes that the graph makes errors
    /// (`deny=`). Also returns an error if no front end has that name.
    pub fn read_text(
        &self,
        front_end: &str,
        name: &str,
        text: impl Into<Vec<u8>>,
    ) -> Result<Diagnosed<Declared>, Error> {
        self.read_text_with(front_end, name, text, &ReadOptions::default())
    }

    /// Reads a text like [`read_text`](Self::read_text), with other sizes, or with folders in which
    /// included files are searched. The folder of `name` is the first of them.
    ///
    /// # Errors
    /// As for [`read_text`](Self::read_text), and an error for a size that the graph does not have.
    pub fn read_text_with(
        &self,
        front_end: &str,
        name: &str,
        text: impl Into<Vec<u8>>,
        options: &ReadOptions,
    ) -> Result<Diagnosed<Declared>, Error> {
        let found = self.front_end_named(front_end).ok_or_else(|| {
            let message = format!("unknown graph format `{front_end}`");
            let all = self.front_ends().map(|f| f.name());
            unknown(
                Diagnostic::error(codes::UNKNOWN_FORMAT, message),
                front_end,
                all,
            )
        })?;
        self.declared(found, name, text.into(), options)
    }

    fn declared(
        &self,
        front_end: &dyn FrontEnd,
        name: &str,
        bytes: Vec<u8>,
        options: &ReadOptions,
    ) -> Result<Diagnosed<Declared>, Error> {
        let mut sources = SourceMap::new();
        let mut levels = Levels::default();
        let text = Text {
            front_end,
            name,
            bytes,
        };
        let result = include::read(self, text, options, &mut sources, false);
        let result = result.map(|(declared, mut found)| {
            found.append(levels.set_graph_levels(&declared.levels));
            include::note_least(&declared, options, &mut found);
            (declared, found)
        });
        Diagnosed::of(taken(result, &levels), &sources, Report::default())
    }

    /// Runs a pass on a network and verifies the result. Returns the earlier diagnostics together
    /// with those of the pass.
    ///
    /// # Errors
    /// Returns an error if no pass has that name, if the pass fails, or if its result is not a
    /// valid network.
    pub fn transform(
        &self,
        network: impl Into<Diagnosed<Verified>>,
        pass: &str,
        options: &Options,
    ) -> Result<Diagnosed<Verified>, Error> {
        let found = self.pass_named(pass).ok_or_else(|| {
            let message = format!("unknown pass `{pass}`");
            let all = self.passes().map(|p| p.name());
            unknown(Diagnostic::error(codes::UNKNOWN_PASS, message), pass, all)
        })?;
        let Diagnosed { value, report } = network.into();
        let sources = value.sources.clone();
        let known = report.diagnostics();
        let result = pipeline::run(&[found], value, options, None, known, &mut Vec::new());
        Diagnosed::of(result, &sources, report)
    }

    /// Returns the files that the emitter for such a path makes, without options and without
    /// hardware. It does not write them: see [`write()`].
    ///
    /// # Errors
    /// Returns an error if no emitter writes such files, and all errors that the emitter reports.
    pub fn emit(&self, mapped: &Mapped, path: impl AsRef<Path>) -> Result<Diagnosed<Files>, Error> {
        let path = path.as_ref();
        let emitter = self.emitter_of(path).ok_or_else(|| {
            let shown = path.display();
            let message = format!("no emitter writes files such as `{shown}`");
            let known = names(self.emitters().map(|e| e.name()));
            let diagnostic = Diagnostic::error(codes::UNKNOWN_EMITTER, message);
            Error::without_text(
                diagnostic.help(format!("call `emit_as` with one of the emitters {known}")),
            )
        })?;
        emitted(emitter, mapped, path, &Options::new(), None)
    }

    /// Returns the files that the named emitter makes for a path.
    ///
    /// `options` are options of the emitter. `platform` is the hardware to run on
    /// ([`Platform::hardware`]). Launch files need it, because users, ports and other data for
    /// reaching a host are not part of a mapping.
    ///
    /// # Errors
    /// Returns an error if no emitter has that name, and all errors that the emitter reports.
    pub fn emit_as(
        &self,
        emitter: &str,
        mapped: &Mapped,
        path: impl AsRef<Path>,
        options: &Options,
        platform: Option<&Hardware>,
    ) -> Result<Diagnosed<Files>, Error> {
        let found = self.emitter_named(emitter).ok_or_else(|| {
            let message = format!("unknown emitter `{emitter}`");
            let all = self.emitters().map(|e| e.name());
            unknown(
                Diagnostic::error(codes::UNKNOWN_EMITTER, message),
                emitter,
                all,
            )
        })?;
        emitted(found, mapped, path.as_ref(), options, platform)
    }
}

/// Reads a graph file in DOT, JSON or GraphML with the built-in front ends. See [`Registry::read`].
///
/// # Errors
/// As for [`Registry::read`].
pub fn read(path: impl AsRef<Path>) -> Result<Diagnosed<Declared>, Error> {
    Registry::new().read(path)
}

/// Expands abstract declarations, connects the ends of channels, infers kinds and types, and
/// verifies the network.
///
/// Returns the diagnostics of [`read`] together with those found here. The levels in the graph
/// apply to both (`deny="G0314"`).
///
/// # Errors
/// Returns the errors of the first stage that fails, including warnings and notes that the graph
/// makes errors (`deny=`).
pub fn check(declared: impl Into<Diagnosed<Declared>>) -> Result<Diagnosed<Verified>, Error> {
    let Diagnosed { value, report } = declared.into();
    let sources = value.sources.clone();
    let mut levels = Levels::default();
    // The reader of the graph has already reported unknown codes.
    levels.set_graph_levels(&value.levels);
    let result = pipeline::check(value, &mut Vec::new());
    Diagnosed::of(taken(result, &levels), &sources, report)
}

/// Reads a description of the hosts to run on: a text such as `hosts=2:cores=4`, or the text of a
/// hostfile.
///
/// # Errors
/// Returns all errors in the text.
pub fn platform(text: &str) -> Result<Diagnosed<Platform>, Error> {
    described("platform", text)
}

/// Reads a description of the hosts to run on from a file: a hostfile of any supported format, or a
/// description.
///
/// # Errors
/// Returns all errors in the file, or an error if it cannot be read.
pub fn read_platform(path: impl AsRef<Path>) -> Result<Diagnosed<Platform>, Error> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let text = input::text(path, Limit::SETTINGS)
        .map_err(|why| Error::without_text(codes::cannot_read(&name, &why)))?;
    described(&name, &text)
}

fn described(name: &str, text: &str) -> Result<Diagnosed<Platform>, Error> {
    let mut sources = SourceMap::new();
    let source = sources
        .add(name, text)
        .map_err(|why| too_large(name, &why.to_string()))?;
    let mut found = Diagnostics::new();
    match graphmap_platform::read(&source, None, &mut found) {
        Some(platform) => Diagnosed::of(Ok((platform, found)), &sources, Report::default()),
        None => Err(Error::new(found, &sources)),
    }
}

/// Searches for a mapping of a network onto a platform. Blocks until the search ends.
///
/// [`Request::default`] requests one OS process for each slot and minimizes traffic times distance.
///
/// # Errors
/// Returns all errors in the request, or an error if the network cannot be mapped.
pub fn map(
    network: &Verified,
    platform: &Platform,
    request: &Request<'_>,
) -> Result<Diagnosed<Plan>, Error> {
    let found = graphmap_plan::plan(network, platform, request);
    let sources = request.texts.unwrap_or(&network.sources);
    Diagnosed::of(found, sources, Report::default())
}

/// Reads rules for a mapping, one in each line, as `graphmap partition --rules` does. Diagnostics
/// call the text `name`.
///
/// The rules are for a [`Request`]. It shows errors at their positions if it has the texts:
///
/// ```
/// # fn main() -> Result<(), graphmap::Error> {
/// let drawing = graphmap::Registry::new().read_text("dot", "two.dot", "digraph { a -> b [type=u8]; }")?;
/// let network = graphmap::check(drawing)?;
/// let rules = graphmap::rules(&network, "two.rules", "together a,b\npin c=0")?;
/// let request = graphmap::Request {
///     rules: &rules,
///     texts: Some(rules.report.sources()),
///     ..Default::default()
/// };
/// let error = graphmap::map(&network, &*graphmap::platform("hosts=1:cores=2")?, &request).unwrap_err();
/// assert!(error.to_string().contains("two.rules:2:5"), "{error}");
/// # Ok(())
/// # }
/// ```
///
/// Processes that do not exist are errors of [`map`], not of this function.
///
/// # Errors
/// Returns an error for each rule that has the wrong syntax, or an error if the text is too large.
pub fn rules(network: &Verified, name: &str, text: &str) -> Result<Diagnosed<Vec<Rule>>, Error> {
    let mut sources = network.sources.clone();
    let source = sources
        .add(name, text)
        .map_err(|why| too_large(name, &why.to_string()))?;
    let mut found = Diagnostics::new();
    let rules = graphmap_plan::read_rules(&source, &mut found);
    Diagnosed::of(Ok((rules, found)), &sources, Report::default())
}

/// Returns the mapping of all processes onto one OS process.
#[must_use]
pub fn collocate(network: impl Into<Verified>) -> Mapped {
    let network = network.into();
    let mapping = Mapping::stack(network.processes.len(), 1);
    Mapped::new(network, mapping).expect("a place for each process")
}

/// Returns the files that the built-in emitter for such a path makes, such as `wiring.rs` or
/// `mapping.json`. See [`Registry::emit`].
///
/// # Errors
/// Returns an error if no emitter writes such files, and all errors that the emitter reports.
pub fn emit(mapped: &Mapped, path: impl AsRef<Path>) -> Result<Diagnosed<Files>, Error> {
    Registry::new().emit(mapped, path)
}

/// Writes a set of files, and returns the outcome for each, in the order of the set.
///
/// Files that are up to date are not touched, and existing files that are to be created once are
/// kept. Devices and pipes are written first, in place, which may block. All other files are
/// replaced by renames. If one of these cannot be written, none of them is changed.
///
/// # Errors
/// Returns an error for the first file that cannot be written, or if two paths with different
/// content refer to the same file.
pub fn write(files: &Files) -> Result<Vec<(PathBuf, Fate)>, Error> {
    let written = write::plan(files.iter()).and_then(|plan| {
        plan.write_special()?;
        plan.replace()?;
        Ok(plan)
    });
    let plan = written.map_err(|failed| Error::without_text(failed.diagnostic()))?;
    Ok(plan
        .fates()
        .map(|(path, fate)| (path.to_owned(), fate))
        .collect())
}

impl From<Builder> for Diagnosed<Declared> {
    fn from(built: Builder) -> Diagnosed<Declared> {
        Declared::from(built).into()
    }
}

impl From<Diagnosed<Declared>> for Declared {
    fn from(read: Diagnosed<Declared>) -> Declared {
        read.value
    }
}

impl From<Diagnosed<Verified>> for Verified {
    fn from(checked: Diagnosed<Verified>) -> Verified {
        checked.value
    }
}

/// Applies the levels in the graph to the diagnostics of a stage, also if the stage failed.
fn taken<T>(
    result: Result<(T, Diagnostics), Diagnostics>,
    levels: &Levels,
) -> Result<(T, Diagnostics), Diagnostics> {
    let taken = |found: Diagnostics| found.filter_map(|one| levels.apply(one));
    match result {
        Ok((value, found)) => Ok((value, taken(found))),
        Err(found) => Err(taken(found)),
    }
}

fn emitted(
    emitter: &dyn Emitter,
    mapped: &Mapped,
    path: &Path,
    options: &Options,
    platform: Option<&Hardware>,
) -> Result<Diagnosed<Files>, Error> {
    let (mut files, mut found) = (Files::new(), Diagnostics::new());
    let mut context = EmitContext::new(path, options, &mut found);
    context.platform = platform;
    let result = emitter.emit(mapped, &mut context, &mut files);
    let result = match result {
        Ok(()) => Ok((files, found)),
        Err(failed) => {
            found.append(failed);
            Err(found)
        }
    };
    Diagnosed::of(result, &mapped.network().sources, Report::default())
}

fn unknown<'n>(diagnostic: Diagnostic, name: &str, all: impl Iterator<Item = &'n str>) -> Error {
    let all: Vec<&str> = all.collect();
    let near = nearest(name, all.iter().copied());
    let near = near.map(|near| format!("did you mean `{near}`?"));
    let help = format!("the known names are {}", names(all.iter().copied()));
    Error::without_text(match near {
        Some(near) => diagnostic.help(near).help(help),
        None => diagnostic.help(help),
    })
}

fn names<'n>(all: impl Iterator<Item = &'n str>) -> String {
    let all: Vec<String> = all.map(|name| format!("`{name}`")).collect();
    match all.is_empty() {
        true => "none".to_owned(),
        false => all.join(", "),
    }
}

fn too_large(name: &str, why: &str) -> Error {
    let message = format!("`{name}` is too large: {why}");
    Error::without_text(Diagnostic::error(codes::TOO_LARGE, message))
}
