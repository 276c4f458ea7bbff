//! The pass `weights` replaces load and traffic of the graph by measured values.
//!
//! It reads the profile that `graphmap run --profile` writes. Processes and channels are matched by
//! name, so that a profile stays usable when the graph changes. Elements that are not in the
//! profile keep their values.

use crate::codes;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::network::{Channel, ChannelId, ProcessId};
use graphmap_kpn::pass::{Pass, PassContext};
use graphmap_kpn::version;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::path::Path;

/// Name of the option for the path of the profile.
pub(crate) const FILE: &str = "weights";
/// Name of the option for the unit of traffic: `bytes` or `messages`.
const UNIT: &str = "traffic";

pub(crate) struct Weights;

/// Newest version of the profile that can be read. A profile without a version has version 1.
const VERSION: u32 = 1;

#[derive(Deserialize)]
struct VersionOnly {
    graphmap: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Profile {
    processes: Vec<ProcessProfile>,
    channels: Vec<ChannelProfile>,
    /// Types whose tokens count as their size in memory, without the data that they own.
    #[serde(default)]
    unmeasured: Vec<String>,
}

#[derive(Deserialize)]
struct ProcessProfile {
    name: String,
    load: f64,
}

#[derive(Deserialize)]
struct ChannelProfile {
    from: String,
    src: String,
    to: String,
    dst: String,
    messages: u64,
    bytes: u64,
}

impl Pass for Weights {
    fn name(&self) -> &str {
        "weights"
    }

    fn about(&self) -> &str {
        "sets measured load and traffic, from a profile (--weights FILE)"
    }

    fn options(&self) -> Option<&[&str]> {
        Some(&[FILE, UNIT])
    }

    fn run(&self, context: &mut PassContext<'_>) -> Result<(), Diagnostics> {
        let Some(file) = context.options.get(FILE) else {
            let diagnostic =
                Diagnostic::error(codes::BAD_WEIGHTS, "the pass `weights` has no file");
            let help = "use `--weights FILE`, or in a program the option `weights` of the pass";
            return Err(Diagnostics::from(diagnostic.help(help)));
        };
        let bytes = match context.options.get(UNIT).map(String::as_str) {
            None | Some("bytes") => true,
            Some("messages") => false,
            Some(other) => {
                let message = format!("unknown unit of traffic `{other}`");
                let diagnostic = Diagnostic::error(codes::BAD_WEIGHTS, message);
                return Err(Diagnostics::from(
                    diagnostic.help("use `--set traffic=bytes` or `--set traffic=messages`"),
                ));
            }
        };
        let profile = read(Path::new(file)).map_err(Diagnostics::from)?;
        apply(&profile, bytes, file, context);
        Ok(())
    }
}

#[allow(clippy::result_large_err)] // Called once in a run.
fn read(file: &Path) -> Result<Profile, Diagnostic> {
    let text = input::text(file, Limit::NETWORK)
        .map_err(|why| codes::cannot_read(&file.display().to_string(), &why))?;
    let bad = |why: String| {
        let message = format!("`{}` contains no weights: {why}", file.display());
        Diagnostic::error(codes::BAD_WEIGHTS, message)
            .help("measure them with `graphmap run FILE --profile PATH`")
    };
    if let Some(error) = other_version(&file.display().to_string(), &text) {
        return Err(error);
    }
    let profile: Profile = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    match profile
        .processes
        .iter()
        .find(|p| !(p.load >= 0.0 && p.load.is_finite()))
    {
        Some(process) => Err(bad(format!(
            "the load of `{}` is {}",
            process.name, process.load
        ))),
        None => Ok(profile),
    }
}

/// Checks the version in the text of a profile; `file` is its name in messages. Returns an error if
/// this version cannot be read or is not a number, and if the text is JSON of another form than a
/// profile. Returns `None` if the version can be read or is missing, and if the text is not JSON.
pub(crate) fn other_version(file: &str, text: &str) -> Option<Diagnostic> {
    // The caller reports a text that is not a profile.
    let stated = match serde_json::from_str::<VersionOnly>(text) {
        Ok(only) => only.graphmap?,
        // For example, the version is in the text twice.
        Err(error) if error.is_data() => {
            let message = format!("`{file}` is not a profile: {error}");
            return Some(Diagnostic::error(codes::BAD_WEIGHTS, message));
        }
        Err(_) => return None,
    };
    let Some(number) = stated.as_u64() else {
        let message =
            format!("`graphmap` of the profile `{file}` is {stated}, which is not a version");
        let help = format!("use version {VERSION}: `\"graphmap\": {VERSION}`");
        return Some(Diagnostic::error(codes::BAD_WEIGHTS, message).help(help));
    };
    let file = format!("the profile `{file}`");
    version::refused(&file, "\"graphmap\": ", Some(number), VERSION)
}

fn apply(profile: &Profile, bytes: bool, file: &str, context: &mut PassContext<'_>) {
    if bytes && !profile.unmeasured.is_empty() {
        let types = profile.unmeasured.join("`, `");
        let message = format!(
            "`{file}`: the traffic of type `{types}` does not include data that a value owns, such as the elements of a `Vec`"
        );
        context.diagnostics.push(
            Diagnostic::note(codes::UNMEASURED, message)
                .help("add `#[derive(graphmap_runtime::Payload)]` to the type and measure again, or count messages: `--set traffic=messages`"),
        );
    }
    let network = &mut *context.network;
    let mut processes: FxHashMap<&str, f64> = FxHashMap::default();
    for process in &profile.processes {
        processes.insert(&process.name, process.load);
    }
    let mut channels: FxHashMap<[&str; 4], f64> = FxHashMap::default();
    for c in &profile.channels {
        let traffic = if bytes { c.bytes } else { c.messages };
        // Adds up parallel channels between the same ports, because they have the same key.
        *channels
            .entry([&c.from, &c.src, &c.to, &c.dst])
            .or_default() += traffic as f64;
    }
    let loads: Vec<(ProcessId, Option<f64>)> = network
        .processes
        .ids()
        .map(|id| (id, processes.get(network.process_name(id)).copied()))
        .collect();
    let key = |channel: &Channel| {
        let (from, to) = (&network.ports[channel.from], &network.ports[channel.to]);
        [
            network.process_name(from.process),
            network.name(from.name),
            network.process_name(to.process),
            network.name(to.name),
        ]
    };
    let mut parallel: FxHashMap<[&str; 4], f64> = FxHashMap::default();
    for channel in network.channels.values() {
        *parallel.entry(key(channel)).or_default() += 1.0;
    }
    let traffic: Vec<(ChannelId, Option<f64>)> = network
        .channels
        .iter()
        .map(|(id, channel)| {
            let key = key(channel);
            // Parallel channels get equal parts of their sum.
            (id, channels.get(&key).map(|sum| sum / parallel[&key]))
        })
        .collect();
    let unknown = loads.iter().filter(|(_, load)| load.is_none()).count()
        + traffic
            .iter()
            .filter(|(_, traffic)| traffic.is_none())
            .count();
    for (id, load) in loads {
        if let Some(load) = load {
            network.processes[id].load = load;
        }
    }
    for (id, traffic) in traffic {
        if let Some(traffic) = traffic {
            network.channels[id].traffic = traffic;
        }
    }
    if unknown > 0 {
        let all = network.processes.len() + network.channels.len();
        let message = format!(
            "`{file}` has no values for {unknown} of the {all} elements (processes and channels) of the graph"
        );
        context.diagnostics.push(
            Diagnostic::warning(codes::WEIGHTS_MISSING, message)
                .with_note(
                    "these keep the load and traffic of the graph, which may be in other units",
                )
                .help("measure again: `graphmap run FILE --profile PATH`"),
        );
    }
}
