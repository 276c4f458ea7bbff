//! The stages from declarations to a verified network, and the run of passes on it.

use crate::codes::ISOLATED_PROCESS;
use crate::declared::{Declared, EndDecl, NodeId};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::expand::expand;
use crate::hardware::Hardware;
use crate::infer::infer;
use crate::network::{Network, PortId, Verified};
use crate::pass::{Pass, PassContext};
use crate::resolve::resolve;
use crate::source::Span;
use crate::verify::verify;
use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

/// A pass produced an invalid network.
pub const PASS_BROKE_NETWORK: Code = Code(508);

/// Time that a step took.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timing {
    /// Name of the pass or of the stage: `expand`, `resolve`, `infer`, `verify`.
    pub name: String,
    /// Wall-clock time.
    pub duration: Duration,
}

/// Runs all stages on declarations: expansion, joining, inference and verification.
///
/// On success, returns the network with all warnings and notes. Each stage that runs adds an entry
/// to `timings`, also if it fails.
///
/// # Errors
/// Returns the diagnostics of the stage that failed and of the stages before it.
pub fn check(
    declared: Declared,
    timings: &mut Vec<Timing>,
) -> Result<(Verified, Diagnostics), Diagnostics> {
    let mut found = Diagnostics::new();
    let mut stages = Stages {
        timings,
        found: &mut found,
    };
    let open = channels_at_open_ports(&declared);
    let network = (|| {
        let declared = stages.stage("expand", || expand(declared))?;
        let network = stages.stage("resolve", || resolve(declared))?;
        let inferred = stages.stage("infer", || Ok((infer(network)?, Diagnostics::new())))?;
        stages.stage("verify", || verify(inferred))
    })();
    let Some(network) = network else {
        return Err(found);
    };
    if !open.is_empty() {
        let is_joined = |port: PortId| {
            !network.ports[port].is_closed() || open.contains(&network.port_span(port))
        };
        let alone = network.processes.iter();
        let alone = alone.filter(|(id, _)| !network.ports_of(*id).any(is_joined));
        let alone: HashSet<Span> = alone.map(|(_, process)| process.span).collect();
        found = found.filter_map(|one| {
            let span = one.primary.as_ref().map_or(Span::NONE, |label| label.span);
            (one.code != ISOLATED_PROCESS || alone.contains(&span)).then_some(one)
        });
    }
    Ok((network, found))
}

/// Returns the positions of the channels at module ports of the graph itself. Other graphs join
/// these ports, so a process at one of them is not without channels (`G0317`).
fn channels_at_open_ports(declared: &Declared) -> HashSet<Span> {
    let ports = declared.ports.iter().map(|port| port.node);
    let of_graph = |port: &NodeId| {
        let node = declared.nodes.get(*port);
        node.is_some_and(|node| node.module.is_none())
    };
    let ports: HashSet<NodeId> = ports.filter(of_graph).collect();
    let at_port = |end: EndDecl| end.node.is_some_and(|node| ports.contains(&node));
    let channels = declared.channels.iter();
    let channels = channels.filter(|c| !ports.is_empty() && (at_port(c.from) || at_port(c.to)));
    channels.map(|channel| channel.span).collect()
}

struct Stages<'a> {
    timings: &'a mut Vec<Timing>,
    found: &'a mut Diagnostics,
}

impl Stages<'_> {
    fn stage<T>(
        &mut self,
        name: &str,
        stage: impl FnOnce() -> Result<(T, Diagnostics), Diagnostics>,
    ) -> Option<T> {
        let start = Instant::now();
        let result = stage();
        self.timings.push(Timing {
            name: name.to_owned(),
            duration: start.elapsed(),
        });
        let (made, found) = match result {
            Ok((made, found)) => (Some(made), found),
            Err(found) => (None, found),
        };
        self.found.append(found);
        made
    }
}

/// Runs `passes` on a network in order, and verifies the result. On success, returns the network
/// with the diagnostics of the passes and of the final verification.
///
/// Builds with debug assertions verify the network after each pass, to identify the pass that made
/// it invalid. Without passes, the network is returned unchanged and not verified again.
///
/// `platform` is given to the passes. `known` contains the diagnostics that were reported before.
/// The final verification does not return diagnostics with the code and message of one of them.
/// Each step adds an entry to `timings`.
///
/// # Errors
/// Returns all diagnostics if a pass fails or produces an invalid network. In the second case,
/// [`PASS_BROKE_NETWORK`] names the pass, or all passes since the last verification.
pub fn run(
    passes: &[&dyn Pass],
    network: Verified,
    options: &BTreeMap<String, String>,
    platform: Option<&Hardware>,
    known: &Diagnostics,
    timings: &mut Vec<Timing>,
) -> Result<(Verified, Diagnostics), Diagnostics> {
    let mut run = Run {
        passes,
        options,
        platform,
        timings,
        diagnostics: Diagnostics::new(),
    };
    let Some(last) = passes.len().checked_sub(1) else {
        return Ok((network, run.diagnostics));
    };
    let mut network = network.into_network();
    for i in 0..last {
        run.step(i, &mut network)?;
        if cfg!(debug_assertions) {
            network = run.verify(i, network)?.0.into_network();
        }
    }
    run.step(last, &mut network)?;
    let (verified, found) = run.verify(last, network)?;
    let known: HashSet<_> = known.iter().map(|d| (d.code, &d.message)).collect();
    let new = found
        .into_iter()
        .filter(|d| !known.contains(&(d.code, &d.message)));
    run.diagnostics.extend(new);
    Ok((verified, run.diagnostics))
}

struct Run<'a> {
    passes: &'a [&'a dyn Pass],
    options: &'a BTreeMap<String, String>,
    platform: Option<&'a Hardware>,
    timings: &'a mut Vec<Timing>,
    diagnostics: Diagnostics,
}

impl Run<'_> {
    fn step(&mut self, i: usize, network: &mut Network) -> Result<(), Diagnostics> {
        let pass = self.passes[i];
        let start = Instant::now();
        let result = pass.run(&mut PassContext {
            network,
            options: self.options,
            platform: self.platform,
            diagnostics: &mut self.diagnostics,
        });
        self.note(pass.name(), start);
        result.map_err(|failed| self.failed(failed))
    }

    fn verify(
        &mut self,
        i: usize,
        network: Network,
    ) -> Result<(Verified, Diagnostics), Diagnostics> {
        let start = Instant::now();
        let inferred = infer(network);
        self.note("infer", start);
        let start = Instant::now();
        let result = inferred.and_then(verify);
        self.note("verify", start);
        result.map_err(|failed| {
            // Only builds with debug assertions verify after each pass.
            let first = if cfg!(debug_assertions) { i } else { 0 };
            let names: Vec<String> = self.passes[first..=i]
                .iter()
                .map(|p| format!("`{}`", p.name()))
                .collect();
            let blame = match names.as_slice() {
                [one] => format!("the pass {one}"),
                several => format!("one of the passes {}", several.join(", ")),
            };
            self.diagnostics.push(Diagnostic::error(
                PASS_BROKE_NETWORK,
                format!("{blame} produced an invalid network"),
            ));
            self.failed(failed)
        })
    }

    fn failed(&mut self, failed: Diagnostics) -> Diagnostics {
        let mut all = std::mem::take(&mut self.diagnostics);
        all.append(failed);
        all
    }

    fn note(&mut self, name: &str, start: Instant) {
        self.timings.push(Timing {
            name: name.to_owned(),
            duration: start.elapsed(),
        });
    }
}
