//! `mapping.json`: a mapping as a file, for graphmap and any other program.
//!
//! ```json
//! {
//!   "format": "graphmap-mapping",
//!   "version": 1,
//!   "network": {"name": "farm", "hash": "8d2f0c1b5a3e9f47"},
//!   "strategy": "auto",
//!   "os_processes": [
//!     {"host": "node1", "cores": [0]},
//!     {"host": null, "cores": []}
//!   ],
//!   "processes": [
//!     {"name": "manager", "os_process": 0},
//!     {"name": "worker1", "os_process": 1}
//!   ]
//! }
//! ```
//!
//! `os_processes` are in the order of the launcher's ranks. If `host` is `null`, the launcher
//! chooses the host. An empty list of cores means that the OS process is not bound. Cores have the
//! numbers of the operating system. An OS process whose processes have `program=` in the graph also
//! has a member `program`.
//!
//! `processes` are in rank order of the network. Their names relate the mapping to a network, so a
//! network with the same processes in another order still fits. The hash depends on names, kinds
//! and channels ([`network_hash`]). It detects a changed graph, but it is not cryptographic.
//!
//! A reader refuses another `format`, an unknown `version` ([`version`]), and unknown fields. The
//! schema is in `mapping.schema.json` ([`SCHEMA`]).

use crate::codes;
use crate::launch::{HOST_HELP, is_host};
use graphmap_kpn::arena::Id;
use graphmap_kpn::controls;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapping::{Binding, Mapped, Mapping, OsProcessId};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::network::{Network, ProcessId};
use graphmap_kpn::programs;
use graphmap_kpn::source::{Source, Span};
use graphmap_kpn::version;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::fmt::Write;

/// Version that is written, and the newest that can be read.
pub const VERSION: u32 = 1;
/// Value of `format`.
pub const FORMAT: &str = "graphmap-mapping";
/// JSON schema of the file (draft 2020-12).
pub const SCHEMA: &str = include_str!("../mapping.schema.json");

/// Returns a mapping as JSON in the format of this module, with a line for each OS process and each
/// process.
pub fn write(mapped: &Mapped) -> String {
    let (network, mapping) = (mapped.network(), mapped.mapping());
    let mut text = String::new();
    let mut put = |s: std::fmt::Arguments| text.write_fmt(s).expect("a String takes all");
    put(format_args!(
        "{{\n  \"format\": \"{FORMAT}\",\n  \"version\": {VERSION},\n"
    ));
    let (name, hash) = (quoted(&network.name), network_hash(network));
    put(format_args!(
        "  \"network\": {{\"name\": {name}, \"hash\": \"{hash}\"}},\n"
    ));
    put(format_args!(
        "  \"strategy\": {},\n  \"os_processes\": [",
        quoted(&mapping.strategy)
    ));
    // Emitters do not fail for a mapping with several programs in an OS process. Then the file has
    // no programs, and a launch reports the error.
    let programs = programs::of_mapped(mapped).unwrap_or_default();
    for (i, binding) in mapping.bindings.values().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let host = binding.host.as_deref().map_or("null".to_string(), quoted);
        let cores: Vec<String> = binding.cores.iter().map(u32::to_string).collect();
        let cores = cores.join(", ");
        let program = programs.get(i).copied().flatten();
        let program = program.map_or(String::new(), |p| format!(", \"program\": {}", quoted(p)));
        put(format_args!(
            "{comma}\n    {{\"host\": {host}, \"cores\": [{cores}]{program}}}"
        ));
    }
    put(format_args!("\n  ],\n  \"processes\": ["));
    for (rank, os_process) in mapping.os_process.iter().enumerate() {
        let comma = if rank == 0 { "" } else { "," };
        let name = quoted(network.process_name(ProcessId::from_index(rank)));
        put(format_args!(
            "{comma}\n    {{\"name\": {name}, \"os_process\": {os_process}}}"
        ));
    }
    put(format_args!("\n  ]\n}}\n"));
    controls::in_json(text)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the hash of a network: 64-bit FNV-1a, as 16 hexadecimal digits in lower case.
///
/// It depends on names and kinds of processes in rank order, and on the ends of channels (process
/// and port) in source order. Each text is followed by a zero byte. The name of the network, loads,
/// traffic and other values that measurement changes are not included.
pub fn network_hash(network: &Network) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |text: &str| {
        for byte in text.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for id in network.processes.ids() {
        add(network.process_name(id));
        add(network.kind_name(id));
    }
    for channel in network.channels.values() {
        for port in [channel.from, channel.to] {
            let port = &network.ports[port];
            add(network.process_name(port.process));
            add(network.name(port.name));
        }
    }
    format!("{hash:016x}")
}

#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    version: Option<u64>,
}

/// Contents of a `mapping.json`, before they are compared with a network.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    format: String,
    version: u64,
    /// The network for which the mapping was made.
    pub network: Made,
    /// Strategy that made the mapping.
    pub strategy: String,
    /// The OS processes, in the order of the launcher's ranks.
    pub os_processes: Vec<BindingJson>,
    /// The processes, in rank order of the network for which the mapping was made.
    pub processes: Vec<ProcessJson>,
}

/// The network for which a mapping was made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// Name of the network.
    pub name: String,
    /// Hash of the network, as [`network_hash`] returns it.
    pub hash: String,
}

/// Host and cores of an OS process.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingJson {
    /// Host. If it is `None`, the launcher chooses.
    pub host: Option<String>,
    /// Cores to which the OS process is bound. Empty if it is not bound.
    #[serde(default)]
    pub cores: Vec<u32>,
    /// Program that the graph named for it. `None` for the default program, and in older files.
    pub program: Option<String>,
}

/// The OS process of a process.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessJson {
    /// Name of the process.
    pub name: String,
    /// Number of its OS process.
    pub os_process: u32,
}

/// Reads a `mapping.json`. Returns `None` if it is invalid, and then adds at least one error to
/// `out`.
///
/// It is invalid (`G0434`) if it is not JSON of this format, if a process is in an OS process that
/// does not exist, if two processes have the same name, or if a host has a name that is not valid.
/// Of each of these defects, only the first is reported. A missing version, or one that this reader
/// does not know, is an error of [`version`].
pub fn read(source: &Source, out: &mut Diagnostics) -> Option<Document> {
    let text = source.text();
    let head: Head = match serde_json::from_str(text) {
        Ok(head) => head,
        Err(wrong) => return refuse(source, &wrong, out),
    };
    let start = Span::new(source.base(), source.base());
    if head.format.as_deref() != Some(FORMAT) {
        let what = match head.format {
            Some(other) => format!("this is a file of the format {other:?}, not a mapping"),
            None => "this is not a mapping: `format` is missing".to_string(),
        };
        let error = Diagnostic::error(codes::BAD_MAPPING, what).at(start, "");
        out.push(error.help(format!("use a file with `\"format\": \"{FORMAT}\"`")));
        return None;
    }
    if let Some(error) = version::refused("the mapping", "\"version\": ", head.version, VERSION) {
        out.push(error.at(start, ""));
        return None;
    }
    let document: Document = match serde_json::from_str(text) {
        Ok(document) => document,
        Err(wrong) => return refuse(source, &wrong, out),
    };
    let before = out.len();
    let count = document.os_processes.len();
    let beyond = document
        .processes
        .iter()
        .find(|p| p.os_process as usize >= count);
    if let Some(p) = beyond {
        let what = format!(
            "process `{}` is in OS process {}, which does not exist",
            p.name, p.os_process
        );
        let error = Diagnostic::error(codes::BAD_MAPPING, what).at(find(source, &p.name), "");
        out.push(error.help(match count.checked_sub(1) {
            Some(last) => format!("use a number from 0 to {last}"),
            None => "list the OS processes in `os_processes`".to_string(),
        }));
    }
    let hosts = document.os_processes.iter();
    let mut hosts = hosts.filter_map(|p| p.host.as_deref());
    if let Some(host) = hosts.find(|host| !is_host(host)) {
        let what = format!("{host:?} cannot be the name of a host");
        let error = Diagnostic::error(codes::BAD_MAPPING, what).at(find(source, host), "");
        out.push(error.help(HOST_HELP));
    }
    let mut seen = FxHashMap::default();
    if let Some(p) = document
        .processes
        .iter()
        .find(|p| seen.insert(&p.name, ()).is_some())
    {
        let what = format!("process `{}` occurs twice in this mapping", p.name);
        out.push(Diagnostic::error(codes::BAD_MAPPING, what).at(find(source, &p.name), ""));
    }
    (out.len() == before).then_some(document)
}

/// Returns the first position in the source at which a name stands in quotes, as in JSON. Returns
/// [`Span::NONE`] if there is none.
fn find(source: &Source, name: &str) -> Span {
    let quoted = quoted(name);
    source.text().find(&quoted).map_or(Span::NONE, |at| {
        let start = source.base() + at as u32;
        Span::new(start, start + quoted.len() as u32)
    })
}

fn refuse(source: &Source, wrong: &serde_json::Error, out: &mut Diagnostics) -> Option<Document> {
    let text = source.text();
    // Errors count lines from 1. Columns are bytes from 1, and 0 at the start of a line.
    let line = text
        .split_inclusive('\n')
        .take(wrong.line().saturating_sub(1));
    let line: usize = line.map(str::len).sum();
    let mut at = (line + wrong.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let next = text[at..].chars().next().map_or(0, char::len_utf8);
    let span = Span::new(
        source.base() + at as u32,
        source.base() + (at + next) as u32,
    );
    let mut reason = wrong.to_string();
    if let Some(end) = reason.rfind(" at line ") {
        reason.truncate(end);
    }
    let help = "write a mapping with `graphmap partition FILE -o DIR`";
    if !text.trim_start().starts_with('{') {
        let what = "this is not a mapping: it is not a JSON object";
        let error = Diagnostic::error(codes::BAD_MAPPING, what);
        out.push(
            error
                .at(Span::new(source.base(), source.base()), "")
                .help(help),
        );
        return None;
    }
    let what = "this is not a valid mapping";
    let error = Diagnostic::error(codes::BAD_MAPPING, what);
    out.push(error.at(span, reason).help(help));
    None
}

impl Document {
    /// Returns the OS process that each process of a network had, in rank order. Processes are
    /// matched by name. An entry is `None` if the mapping does not contain the process. An
    /// incremental mapping starts from this result.
    pub fn by_name(&self, network: &Network) -> Vec<Option<OsProcessId>> {
        let known: FxHashMap<&str, OsProcessId> = self
            .processes
            .iter()
            .map(|p| {
                (
                    p.name.as_str(),
                    OsProcessId::from_index(p.os_process as usize),
                )
            })
            .collect();
        let ids = network.processes.ids();
        ids.map(|id| known.get(network.process_name(id)).copied())
            .collect()
    }

    /// Warns (`G0436`) of the first OS process for which the graph names another program than the
    /// file. The program of the graph is used. Does nothing if an OS process has several programs,
    /// because a launch reports that.
    fn compare_programs(
        &self,
        network: &Network,
        mapping: &Mapping,
        source: &Source,
        out: &mut Diagnostics,
    ) {
        let Ok(programs) = programs::of_os_processes(network, mapping) else {
            return;
        };
        let mut both = self.os_processes.iter().zip(programs).enumerate();
        let differs = both.find(|(_, (there, here))| {
            let there = there.program.as_deref();
            there.is_some() && there != *here
        });
        let Some((o, (there, here))) = differs else {
            return;
        };
        let there = there.program.as_deref().unwrap_or_default();
        let what = format!(
            "OS process {o} runs `{there}` in this mapping, but {} in the graph",
            programs::shown(here)
        );
        out.push(
            Diagnostic::warning(codes::OTHER_NETWORK, what)
                .at(find(source, there), "")
                .with_note("the program of the graph is used")
                .help("map again with `graphmap partition`"),
        );
    }

    /// Returns the mapping for a network with the same processes, which are matched by name.
    /// `source` must be the source of this document. Diagnostics refer to positions in it. The
    /// strategy of the result is `file`.
    ///
    /// If the hash of the network differs, a warning (`G0436`) is added to `out`. This is the case
    /// if channels, kinds or the order of the processes have changed. If a process is missing or
    /// superfluous, an error (`G0436`) is added, and the result is `None`.
    pub fn fit(
        &self,
        network: &Network,
        source: &Source,
        out: &mut Diagnostics,
    ) -> Option<Mapping> {
        let found = self.by_name(network);
        let missing: Vec<&str> = (found.iter().zip(network.processes.ids()))
            .filter(|(os_process, _)| os_process.is_none())
            .map(|(_, id)| network.process_name(id))
            .collect();
        let there = found.len() - missing.len();
        let hash = network_hash(network);
        let other = |what: String| {
            let at = find(source, &self.network.hash);
            Diagnostic::error(codes::OTHER_NETWORK, what)
                .at(
                    at,
                    format!(
                        "made for `{}`, hash {}",
                        self.network.name, self.network.hash
                    ),
                )
                .with_note(format!("the network is `{}`, hash {hash}", network.name))
        };
        if missing.is_empty() && there == self.processes.len() {
            if hash != self.network.hash {
                let mut warning =
                    other("the network has changed since this mapping was made".into());
                warning.severity = graphmap_kpn::diagnostic::Severity::Warning;
                out.push(
                    warning
                        .with_note("the processes are the same, so the mapping is used")
                        .help("map again for a better mapping"),
                );
            }
            let binding = |p: &BindingJson| Binding {
                host: p.host.clone(),
                cores: p.cores.clone(),
            };
            let mapping = Mapping {
                os_process: found.into_iter().flatten().collect(),
                bindings: self.os_processes.iter().map(binding).collect(),
                strategy: "file".to_string(),
            };
            self.compare_programs(network, &mapping, source, out);
            return Some(mapping);
        }
        let mut error = other("this mapping is for another network".to_string());
        if let Some(first) = missing.first() {
            let (n, more) = (missing.len(), if missing.len() == 1 { "" } else { "es" });
            error = error.with_note(format!(
                "the mapping lacks {n} process{more} of the network, such as `{first}`"
            ));
            let names = self.processes.iter().map(|p| p.name.as_str());
            // Only a hint at a renamed process, which does not justify a search through a million
            // names.
            if let Some(near) = nearest(first, names.take(10_000)) {
                error = error.with_note(format!("the mapping has a process `{near}`"));
            }
        }
        if self.processes.len() > there {
            let more = self.processes.len() - there;
            let s = if more == 1 { "" } else { "es" };
            error = error.with_note(format!(
                "the mapping has {more} process{s} that the network lacks"
            ));
        }
        out.push(error.help("map again with `graphmap partition`"));
        None
    }
}
