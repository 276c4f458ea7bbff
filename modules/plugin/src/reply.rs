//! The reply of an executable.

use crate::codes::{BAD_REPLY, FILE_OUTSIDE, NO_NETWORK, REPORTED};
use crate::external::{External, PROTOCOL};
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics, Severity};
use graphmap_kpn::json::{self, Positions};
use graphmap_kpn::mapper::{Assignment, Place, Proposal};
use graphmap_kpn::network::Network;
use graphmap_kpn::source::{Source, SourceMap, Span};
use graphmap_kpn::{expand, resolve, version};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;
use std::path::{Component, Path, PathBuf};

#[derive(Deserialize)]
struct ProtocolOnly {
    protocol: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyJson<'a> {
    #[serde(rename = "protocol")]
    _protocol: u64,
    #[serde(borrow)]
    network: Option<&'a RawValue>,
    mapping: Option<MappingJson>,
    #[serde(default)]
    files: Vec<FileJson>,
    #[serde(default)]
    diagnostics: Vec<DiagnosticJson>,
}

/// A mapping of a reply.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MappingJson {
    /// Number of the OS process of each process, in the order of ranks.
    os_process: Option<Vec<u32>>,
    #[serde(default)]
    processes: Entries,
    #[serde(default)]
    modules: Entries,
    #[serde(default)]
    bindings: Vec<PlaceJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaceJson {
    host: String,
    #[serde(default)]
    cores: Vec<u32>,
}

/// The members of an object in their order. A name that occurs twice is kept twice, so that it can
/// be reported.
#[derive(Default)]
struct Entries(Vec<(String, u32)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of names and numbers of OS processes")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    all.push(entry);
                }
                Ok(Entries(all))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// A file of a reply.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileJson {
    /// Relative to the folder of the output. Empty for the output itself.
    #[serde(default)]
    pub(crate) path: String,
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) executable: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DiagnosticJson {
    severity: SeverityJson,
    message: String,
    span: Option<(u32, u32, u32)>,
    #[serde(default)]
    label: String,
    #[serde(default)]
    help: Vec<String>,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum SeverityJson {
    Note,
    Warning,
    Error,
}

/// The contents of a reply.
pub(crate) struct Reply {
    pub(crate) network: Option<Network>,
    pub(crate) mapping: Option<Proposal>,
    pub(crate) files: Vec<FileJson>,
    /// Diagnostics without errors.
    pub(crate) diagnostics: Diagnostics,
}

/// Parses the reply `text` of an executable. `known` contains the texts to which its spans refer.
/// The span of a diagnostic is ignored if it is not in these texts.
///
/// # Errors
/// Returns the error if the reply does not conform to the protocol, or its version is unsupported.
/// Returns the diagnostics in the reply if one of them is an error. Otherwise returns the errors of
/// its network.
pub(crate) fn read(plugin: &External, text: &str, known: &SourceMap) -> Result<Reply, Diagnostics> {
    let (reply, diagnostics) = parse(plugin, text, known)?;
    let network = match reply.network {
        Some(raw) => Some(network(plugin, raw, known)?),
        None => None,
    };
    let mapping = reply.mapping.map(|mapping| proposal(plugin, mapping));
    Ok(Reply {
        network,
        mapping: mapping.transpose()?,
        files: reply.files,
        diagnostics,
    })
}

/// Parses the reply `text` of a front end. `known` contains only the text of the graph file.
///
/// # Errors
/// As for [`read`], and an error if the reply contains no network.
pub(crate) fn read_declared(
    plugin: &External,
    text: &str,
    known: &SourceMap,
) -> Result<(Declared, Diagnostics), Diagnostics> {
    let (reply, diagnostics) = parse(plugin, text, known)?;
    let Some(raw) = reply.network else {
        let who = plugin.path.display();
        let message = format!("the reply of `{who}` contains no network");
        let error = Diagnostic::error(NO_NETWORK, message);
        let help = "add `network`, or report an error in `diagnostics`";
        return Err(error.help(help).into());
    };
    Ok((declared(plugin, raw, known)?, diagnostics))
}

/// Parses a reply. Returns it without the diagnostics in it, and these.
fn parse<'t>(
    plugin: &External,
    text: &'t str,
    known: &SourceMap,
) -> Result<(ReplyJson<'t>, Diagnostics), Diagnostics> {
    let protocol: ProtocolOnly =
        serde_json::from_str(text).map_err(|error| malformed(plugin, text, &error))?;
    let file = format!("the reply of `{}`", plugin.path.display());
    let stated = protocol.protocol;
    if let Some(error) = version::refused(&file, "\"protocol\": ", stated, PROTOCOL) {
        return Err(error.into());
    }
    let mut reply: ReplyJson<'_> =
        serde_json::from_str(text).map_err(|error| malformed(plugin, text, &error))?;
    let mut diagnostics = Diagnostics::new();
    for entry in std::mem::take(&mut reply.diagnostics) {
        diagnostics.push(reported(plugin, entry, known));
    }
    match diagnostics.has_errors() {
        true => Err(diagnostics),
        false => Ok((reply, diagnostics)),
    }
}

fn proposal(plugin: &External, mapping: MappingJson) -> Result<Proposal, Diagnostics> {
    let (processes, modules) = (mapping.processes.0, mapping.modules.0);
    let assignment = match mapping.os_process {
        None => Assignment::Names { processes, modules },
        Some(numbers) if processes.is_empty() && modules.is_empty() => Assignment::Ranks(numbers),
        Some(_) => {
            let why = "its mapping has `os_process` besides `processes` or `modules`";
            return Err(bad(plugin, why).into());
        }
    };
    let bindings = mapping.bindings.into_iter().map(|place| Place {
        host: place.host,
        cores: place.cores,
    });
    Ok(Proposal {
        assignment,
        bindings: bindings.collect(),
    })
}

fn reported(plugin: &External, entry: DiagnosticJson, known: &SourceMap) -> Diagnostic {
    let message = format!("{}: {}", plugin.name, entry.message);
    let mut diagnostic = match entry.severity {
        SeverityJson::Note => Diagnostic::note(REPORTED, message),
        SeverityJson::Warning => Diagnostic::warning(REPORTED, message),
        SeverityJson::Error => Diagnostic::error(REPORTED, message),
    };
    let fits = |s: &&Source, start: u32, end: u32| start <= end && end as usize <= s.text().len();
    if let Some((source, start, end)) = entry.span
        && let Some(s) = known
            .sources()
            .nth(source as usize)
            .filter(|s| fits(s, start, end))
    {
        let span = Span::new(s.base() + start, s.base() + end);
        diagnostic = diagnostic.at(span, entry.label);
    }
    diagnostic.help = entry.help;
    diagnostic.notes = entry.notes;
    debug_assert!(diagnostic.severity <= Severity::Error);
    diagnostic
}

fn network(plugin: &External, raw: &RawValue, known: &SourceMap) -> Result<Network, Diagnostics> {
    let (declared, _) = expand::expand(declared(plugin, raw, known)?)?;
    // Diagnostics of `resolve` are not repeated, because verification reports the important ones
    // later.
    let (network, _) = resolve::resolve(declared)?;
    Ok(network)
}

fn declared(plugin: &External, raw: &RawValue, known: &SourceMap) -> Result<Declared, Diagnostics> {
    // An error points to the position in the graph file that the element contains, or has no
    // position. It cannot point into the reply, because the reply is not a file that the user can
    // open.
    let invalid = |found: Diagnostics| {
        let mut all = Diagnostics::from(bad(plugin, "its network is invalid"));
        all.extend(found);
        all
    };
    let mut here = SourceMap::new();
    let source = here
        .add("reply", raw.get())
        .map_err(|error| bad(plugin, &error.to_string()))?;
    json::read(source.text(), &source, known, Positions::Given).map_err(invalid)
}

/// Returns the path of a file of a reply, which is relative to the folder of `output`. An empty
/// `file` is the path `output` itself.
///
/// # Errors
/// Returns an error if `file` is absolute or contains `.` at its start or `..`, or if the output is
/// standard output (`-`), which has no folder. An empty `file` is never an error.
pub(crate) fn output_path(
    plugin: &External,
    output: &Path,
    file: &str,
) -> Result<PathBuf, Diagnostics> {
    if file.is_empty() {
        return Ok(output.to_owned());
    }
    let relative = Path::new(file);
    let inside = relative
        .components()
        .all(|c| matches!(c, Component::Normal(_)));
    if !inside || output.as_os_str() == "-" {
        let who = plugin.path.display();
        let message = if inside {
            format!("`{who}` writes the file `{file}`, but the output goes to standard output")
        } else {
            format!("`{who}` writes the file `{file}` outside the folder of the output")
        };
        let help = "use paths relative to the folder of the output, without `..`";
        return Err(Diagnostic::error(FILE_OUTSIDE, message).help(help).into());
    }
    Ok(match output.parent() {
        Some(folder) => folder.join(relative),
        None => relative.to_owned(),
    })
}

/// Returns the error for an invalid reply. `why` says in which way it is invalid.
pub(crate) fn bad(plugin: &External, why: &str) -> Diagnostic {
    let who = plugin.path.display();
    Diagnostic::error(BAD_REPLY, format!("the reply of `{who}` is invalid: {why}"))
        .help("write only the reply to standard output, and everything else to standard error")
}

fn malformed(plugin: &External, text: &str, error: &serde_json::Error) -> Diagnostic {
    let beginning: String = text.chars().take(120).collect();
    let beginning = beginning.trim();
    if beginning.is_empty() {
        return bad(plugin, "it is empty");
    }
    bad(plugin, &error.to_string()).with_note(format!("it begins with: {beginning}"))
}
