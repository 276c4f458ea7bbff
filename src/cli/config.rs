//! `graphmap.toml`: options that a project fixes, so that they need not be typed each time.

use super::exit::Exit;
use super::paths;
use super::session::{Outcome, Session};
use crate::codes;
use crate::levels::{self, LintLevels};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::input::Limit;
use graphmap_kpn::level::Level;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::{Source, Span};
use graphmap_kpn::version;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Name of the file.
pub(crate) const NAME: &str = "graphmap.toml";

/// Key that states the version of the format.
const VERSION_KEY: &str = "graphmap";
/// Newest version that can be read. A file without this key has version 1.
const VERSION: u32 = 1;

/// Table with the levels of diagnostics.
const LINTS: &str = "lints";

/// Table with values for sizes of the graph.
const SIZES: &str = "sizes";

/// Type of the value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    Number,
    /// A number, with or without a unit.
    Quantity,
    /// Path relative to the folder of `graphmap.toml`.
    Path,
    Paths,
    /// A path, or another value of `--hosts`.
    Hosts,
    /// `true` or `false`.
    Flag,
}

impl Kind {
    fn wanted(self) -> &'static str {
        match self {
            Kind::Word => "a string",
            Kind::Number => "a number",
            Kind::Quantity => "a number or a string",
            Kind::Path => "a path, as a string",
            Kind::Paths => "a path or a list of paths",
            Kind::Hosts => "a string: a file, or another value of `--hosts`",
            Kind::Flag => "`true` or `false`",
        }
    }
}

/// Key that names the graph file.
const FILE: &str = "file";

/// Key of the format of the graph file that [`FILE`] names.
pub(crate) const FORMAT: &str = "format";

/// Key of the format of the host description. The second line is its old name.
const HOSTS_FORMAT: &str = "hosts-format";
const OLD_HOSTS_FORMAT: &str = "dialect";

/// All keys except [`LINTS`], [`SIZES`] and [`VERSION_KEY`]. All but [`FILE`] are options of the
/// same name.
const KEYS: &[(&str, Kind)] = &[
    (FILE, Kind::Path),
    (FORMAT, Kind::Word),
    ("hosts", Kind::Hosts),
    (HOSTS_FORMAT, Kind::Word),
    ("os-processes", Kind::Number),
    ("strategy", Kind::Word),
    ("objective", Kind::Word),
    ("time", Kind::Quantity),
    ("seed", Kind::Number),
    ("imbalance", Kind::Quantity),
    ("modules", Kind::Word),
    ("rules", Kind::Paths),
    ("weights", Kind::Path),
    ("include", Kind::Paths),
    ("skeletons", Kind::Path),
    ("dev", Kind::Flag),
];

/// Contents of a `graphmap.toml`.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// Path, as messages show it.
    pub(crate) path: PathBuf,
    /// Graph file, if the command line names none.
    pub(crate) file: Option<PathBuf>,
    /// Position of the key `file`.
    pub(crate) file_at: Option<Span>,
    /// Values of options that the command line does not set.
    pub(crate) options: Vec<Preset>,
    /// Levels of diagnostics.
    pub(crate) levels: LintLevels,
    /// Sizes of the graph, with their positions.
    pub(crate) sizes: Vec<(String, i64, Span)>,
}

/// Values of an option.
#[derive(Debug)]
pub(crate) struct Preset {
    /// Name of the option, without dashes.
    pub(crate) option: &'static str,
    pub(crate) values: Vec<String>,
    /// Position of the values.
    pub(crate) span: Span,
}

/// Returns the path of `graphmap.toml` in a folder, or in the nearest folder above it. Returns
/// `None` if there is none, or if `folder` cannot be made absolute. A folder or a dangling link of
/// that name counts, too.
pub(crate) fn find(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok()?;
    let mut paths = folder.ancestors().map(|folder| folder.join(NAME));
    // A folder or a dangling link counts, too. Reading it reports the error.
    paths.find(|path| path.symlink_metadata().is_ok())
}

/// Reads the `graphmap.toml` in the folder of `path`. Reports its errors, and returns the valid
/// part, which is empty after a syntax error and for an unsupported version.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the file cannot be read or is not a regular
/// file.
pub(crate) fn read(session: &mut Session<'_>, path: &Path) -> Outcome<Config> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let folder = paths::way(Path::new("."), parent);
    let path = folder.join(NAME);
    // The user did not name this file. Reading a pipe would block without an apparent reason.
    if path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        let message = format!(
            "`{}` cannot be read: it is not a regular file",
            path.display()
        );
        return session.fail(
            Exit::Usage,
            Diagnostic::error(codes::CANNOT_READ, message)
                .help("graphmap reads the first file of this name in the folder of the graph file or above it"),
        );
    }
    let source = session.text_file(&path, Limit::SOURCE)?;
    let mut reader = Reader {
        source: &source,
        folder: &folder,
        found: Diagnostics::new(),
        config: Config {
            path,
            ..Config::default()
        },
    };
    reader.read();
    let Reader { found, config, .. } = reader;
    session.report_all(found);
    Ok(config)
}

/// Returns the current name of a key: the new name for an old one, and `name` itself otherwise.
fn current(name: &str) -> &str {
    match name {
        OLD_HOSTS_FORMAT => HOSTS_FORMAT,
        name => name,
    }
}

struct Reader<'a> {
    source: &'a Source,
    folder: &'a Path,
    found: Diagnostics,
    config: Config,
}

impl Reader<'_> {
    fn span(&self, range: Range<usize>) -> Span {
        // A source is shorter than 4 GiB, so that positions fit in 32 bits.
        let base = self.source.base();
        Span::new(base + range.start as u32, base + range.end as u32)
    }

    fn wrong(&mut self, message: impl Into<String>, at: Range<usize>, label: &str, help: &str) {
        let diagnostic = Diagnostic::error(codes::CONFIG, message).at(self.span(at), label);
        self.found.push(diagnostic.help(help));
    }

    fn read(&mut self) {
        let (table, errors) = DeTable::parse_recoverable(self.source.text());
        for error in errors {
            let message = format!("{NAME} is not TOML: {}", error.message());
            let at = error.span().unwrap_or(0..0);
            let diagnostic = Diagnostic::error(codes::CONFIG, message).at(self.span(at), "");
            self.found.push(diagnostic);
        }
        if !self.found.is_empty() {
            // After a syntax error, further errors would only confuse.
            return;
        }
        let table = table.get_ref();
        let stated = table.iter().find(|(key, _)| key.get_ref() == VERSION_KEY);
        if stated.is_some_and(|(_, value)| self.is_refused(value)) {
            return;
        }
        for (key, value) in table {
            let name: &str = key.get_ref();
            if name == VERSION_KEY {
                // Checked first, above.
            } else if name == LINTS {
                self.lints(value);
            } else if name == SIZES {
                self.sizes(value);
            } else if name == OLD_HOSTS_FORMAT && table.contains_key(HOSTS_FORMAT) {
                let message = format!("`{name}` and `{HOSTS_FORMAT}` are the same key");
                let help = format!("remove `{name}`, its old name");
                self.wrong(message, key.span(), "", &help);
            } else if let Some((name, kind)) =
                KEYS.iter().find(|(known, _)| *known == current(name))
            {
                self.option(name, *kind, value);
            } else {
                self.unknown(name, key.span());
            }
        }
        let mut options = self.config.options.iter();
        if let Some(format) = options.find(|preset| preset.option == FORMAT)
            && self.config.file.is_none()
        {
            let message = format!("`{FORMAT}` is given without `{FILE}`");
            let error = Diagnostic::error(codes::CONFIG, message).at(format.span, "");
            let help = format!("add `{FILE}`: the path of the graph file in this format");
            self.found.push(error.help(help));
        }
    }

    /// Checks the value of the key for the version. Returns true and adds an error if it is not a
    /// version, or if this version of the format cannot be read. The rest of the file must not be
    /// read then.
    fn is_refused(&mut self, value: &Spanned<DeValue<'_>>) -> bool {
        let at = self.span(value.span());
        let number = value.get_ref().as_integer();
        let number = number.and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
        let error = match number {
            Some(stated) => version::refused(NAME, "graphmap = ", Some(stated), VERSION),
            None => {
                let message = format!("invalid value of `{VERSION_KEY}`");
                let error = Diagnostic::error(codes::CONFIG, message);
                self.found
                    .push(error.at(at, "expected a version, such as 1"));
                return true;
            }
        };
        let is_refused = error.is_some();
        self.found.extend(error.map(|error| error.at(at, "")));
        is_refused
    }

    fn unknown(&mut self, name: &str, at: Range<usize>) {
        let names = KEYS.iter().map(|(name, _)| *name);
        let names = || names.clone().chain([LINTS, SIZES, VERSION_KEY]);
        let level = Level::ALL.iter().any(|level| level.name() == name);
        let help = match nearest(name, names()) {
            _ if levels::lint(name).is_ok() => {
                format!("write codes in a table: `[{LINTS}]`, then `{name} = \"allow\"`")
            }
            Some(near) => format!("did you mean `{near}`?"),
            None if name == "n" => "did you mean `os-processes`?".to_owned(),
            None if level => {
                format!("write levels in a table: `[{LINTS}]`, then `G0314 = \"{name}\"`")
            }
            None => format!("the keys are {}", names().collect::<Vec<_>>().join(", ")),
        };
        self.wrong(format!("{NAME} has no key `{name}`"), at, "", &help);
    }

    fn option(&mut self, name: &'static str, kind: Kind, value: &Spanned<DeValue<'_>>) {
        let path = |text: &str| {
            let path = paths::way(Path::new("."), &self.folder.join(text));
            match path.as_os_str().is_empty() {
                true => ".".to_owned(),
                false => path.display().to_string(),
            }
        };
        let values = match (kind, value.get_ref()) {
            (_, DeValue::String(text)) if text.is_empty() => None,
            (Kind::Word | Kind::Quantity, DeValue::String(text)) => Some(vec![text.to_string()]),
            (Kind::Number | Kind::Quantity, DeValue::Integer(number)) if number.radix() == 10 => {
                Some(vec![number.as_str().to_owned()])
            }
            (Kind::Number | Kind::Quantity, DeValue::Float(number)) => {
                Some(vec![number.as_str().to_owned()])
            }
            (Kind::Path | Kind::Paths, DeValue::String(text)) => Some(vec![path(text)]),
            (Kind::Paths, DeValue::Array(list)) => {
                let texts = list.iter().map(|item| item.get_ref().as_str());
                texts.map(|text| text.map(path)).collect()
            }
            (Kind::Hosts, DeValue::String(text)) => {
                let words = text.contains('=') || matches!(&**text, "local" | "slurm");
                let is_file = self.folder.join(&**text).is_file();
                let told = if words && !is_file {
                    text.to_string()
                } else {
                    path(text)
                };
                Some(vec![told])
            }
            (Kind::Flag, DeValue::Boolean(true)) => Some(vec!["true".to_owned()]),
            (Kind::Flag, DeValue::Boolean(false)) => Some(Vec::new()),
            _ => None,
        };
        let Some(values) = values else {
            let message = format!("invalid value of `{name}`");
            let label = format!("expected {}", kind.wanted());
            let diagnostic = Diagnostic::error(codes::CONFIG, message);
            self.found
                .push(diagnostic.at(self.span(value.span()), label));
            return;
        };
        if name == FILE {
            self.config.file = values.first().map(PathBuf::from);
            self.config.file_at = Some(self.span(value.span()));
        } else if !values.is_empty() {
            let span = self.span(value.span());
            self.config.options.push(Preset {
                option: name,
                values,
                span,
            });
        }
    }

    fn sizes(&mut self, value: &Spanned<DeValue<'_>>) {
        let DeValue::Table(table) = value.get_ref() else {
            let help = "write `[sizes]` on a line of its own, then lines such as `n = 8`";
            self.wrong("`sizes` must be a table", value.span(), "", help);
            return;
        };
        // The key `low.workers` is a table `low` in TOML. `"low.workers"` is the same size.
        let mut tables = vec![(String::new(), table)];
        let mut names = BTreeSet::new();
        while let Some((prefix, table)) = tables.pop() {
            for (key, value) in table {
                let name = format!("{prefix}{}", key.get_ref());
                if let DeValue::Table(inner) = value.get_ref() {
                    tables.push((format!("{name}."), inner));
                    continue;
                }
                let number = value.get_ref().as_integer();
                let number = number.and_then(|n| i64::from_str_radix(n.as_str(), n.radix()).ok());
                let Some(number) = number else {
                    let message = format!("invalid value of the size `{name}`");
                    let help = "use a whole number of 64 bits";
                    self.wrong(message, value.span(), "expected a whole number", help);
                    continue;
                };
                if !names.insert(name.clone()) {
                    let message = format!("the size `{name}` is set twice");
                    self.wrong(message, key.span(), "", "remove one of the two lines");
                    continue;
                }
                let span = self.span(key.span());
                self.config.sizes.push((name, number, span));
            }
        }
    }

    fn lints(&mut self, value: &Spanned<DeValue<'_>>) {
        let DeValue::Table(table) = value.get_ref() else {
            let help =
                "write `[lints]` on a line of its own, then lines such as `G0314 = \"allow\"`";
            self.wrong("`lints` must be a table", value.span(), "", help);
            return;
        };
        for (code, level) in table {
            let lint = match levels::lint(code.get_ref()) {
                Ok(lint) => lint,
                Err(wrong) => {
                    let span = self.span(code.span());
                    self.found
                        .push(Diagnostic::error(codes::CONFIG, wrong).at(span, ""));
                    continue;
                }
            };
            let word = level.get_ref().as_str().unwrap_or("");
            match Level::ALL.into_iter().find(|level| level.name() == word) {
                Some(level) => self.config.levels.push((level, lint)),
                None => {
                    let near = nearest(word, Level::ALL.map(Level::name));
                    let help = near.map_or_else(
                        || "the levels are `\"allow\"`, `\"warn\"` and `\"deny\"`".to_owned(),
                        |near| format!("did you mean `\"{near}\"`?"),
                    );
                    let message = format!("unknown level of `{}`", code.get_ref());
                    self.wrong(message, level.span(), "", &help);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphmap_kpn::source::SourceMap;

    /// Reads a text as if it were in the folder `project`.
    fn read(text: &str) -> (Config, Diagnostics) {
        let mut sources = SourceMap::new();
        let source = sources.add(NAME, text).unwrap();
        let mut reader = Reader {
            source: &source,
            folder: Path::new("project"),
            found: Diagnostics::new(),
            config: Config::default(),
        };
        reader.read();
        (reader.config, reader.found)
    }

    /// `tests/formats` contains files in released formats, which must not change.
    #[test]
    fn a_file_of_today_sets_the_options_of_today() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/formats/graphmap-1.toml");
        let text = std::fs::read_to_string(path).unwrap();
        let unversioned = text.replace("graphmap = 1\n", "");
        assert_ne!(text, unversioned);
        for text in [text, unversioned] {
            let (config, found) = read(&text);
            assert!(found.is_empty(), "{found:?}");
            let file = Path::new("project/drawing-1.dot");
            assert_eq!(config.file.as_deref(), Some(file));
            let options = config.options.iter();
            let mut options: Vec<String> = options
                .map(|preset| format!("{} {}", preset.option, preset.values.join(" ")))
                .collect();
            options.sort();
            assert_eq!(
                options,
                [
                    "dev true",
                    "hosts project/platform-1.txt",
                    "hosts-format synthetic",
                    "imbalance 0.25",
                    "modules atom",
                    "objective bottleneck",
                    "os-processes 3",
                    "rules project/rules-1 project/rules-2",
                    "seed 7",
                    "skeletons project/skeletons",
                    "strategy auto",
                    "time 2s",
                    "weights project/profile-1.json",
                ]
            );
            let levels = config.levels.iter();
            let mut levels: Vec<String> = levels
                .map(|(level, lint)| format!("{lint:?} {}", level.name()))
                .collect();
            levels.sort();
            let expected = ["Code(G0314) allow", "Code(G0620) warn", "Warnings deny"];
            assert_eq!(levels, expected);
        }
    }

    /// `dialect` is the old name of `hosts-format`.
    #[test]
    fn both_names_of_hosts_format_set_the_option() {
        let path = "/tests/formats/graphmap-1-hosts-format.toml";
        let path = format!("{}{path}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let old = text.replace("hosts-format =", "dialect =");
        assert_ne!(text, old);
        for text in [text, old] {
            let (config, found) = read(&text);
            assert!(found.is_empty(), "{found:?}");
            let mut options = config.options.iter();
            let format = options.find(|preset| preset.option == "hosts-format");
            assert_eq!(format.unwrap().values, ["synthetic"]);
        }
    }
}
