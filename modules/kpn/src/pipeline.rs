//! From what is declared to a verified network, and through passes, which must leave a sound one.

use crate::declared::Declared;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::expand::expand;
use crate::hardware::Hardware;
use crate::infer::infer;
use crate::network::{Network, Verified};
use crate::pass::{Pass, PassContext};
use crate::resolve::resolve;
use crate::verify::verify;
use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

/// A pass left a network behind that is not sound.
pub const PASS_BROKE_NETWORK: Code = Code(508);

/// How long a step took.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timing {
    /// Name of the pass or of the stage: `expand`, `resolve`, `infer`, `verify`.
    pub name: String,
    /// Wall-clock time.
    pub duration: Duration,
}

/// Takes what is declared through all stages: what is repeated is written out, ends become ports, kinds and
/// types are found out, and all of it is verified. Each stage adds to `timings`.
///
/// # Errors
/// All findings of the stage that failed, and of those before it.
pub fn check(
    declared: Declared,
    timings: &mut Vec<Timing>,
) -> Result<(Verified, Diagnostics), Diagnostics> {
    let mut found = Diagnostics::new();
    let mut stages = Stages {
        timings,
        found: &mut found,
    };
    let network = (|| {
        let declared = stages.stage("expand", || expand(declared))?;
        let network = stages.stage("resolve", || resolve(declared))?;
        let inferred = stages.stage("infer", || Ok((infer(network)?, Diagnostics::new())))?;
        stages.stage("verify", || verify(inferred))
    })();
    match network {
        Some(network) => Ok((network, found)),
        None => Err(found),
    }
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

/// Runs `passes` on a network, one after the other, and verifies what comes out; builds with debug
/// assertions verify after each pass, so that the one to blame is found. No passes cost nothing.
///
/// `platform` is what the network is to run on, where that is known; `known` is what is already known of the network: only what the passes add to it comes back.
/// Each step adds to `timings`.
///
/// # Errors
/// All findings, when a pass fails or leaves a network behind that is not sound.
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
        findings: Diagnostics::new(),
    };
    let Some(last) = passes.len().checked_sub(1) else {
        return Ok((network, run.findings));
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
    run.findings.extend(new);
    Ok((verified, run.findings))
}

struct Run<'a> {
    passes: &'a [&'a dyn Pass],
    options: &'a BTreeMap<String, String>,
    platform: Option<&'a Hardware>,
    timings: &'a mut Vec<Timing>,
    findings: Diagnostics,
}

impl Run<'_> {
    fn step(&mut self, i: usize, network: &mut Network) -> Result<(), Diagnostics> {
        let pass = self.passes[i];
        let start = Instant::now();
        let result = pass.run(&mut PassContext {
            network,
            options: self.options,
            platform: self.platform,
            diagnostics: &mut self.findings,
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
            // Only a build with debug assertions has looked after each.
            let first = if cfg!(debug_assertions) { i } else { 0 };
            let names: Vec<String> = self.passes[first..=i]
                .iter()
                .map(|p| format!("`{}`", p.name()))
                .collect();
            let blame = match names.as_slice() {
                [one] => format!("the pass {one}"),
                several => format!("one of the passes {}", several.join(", ")),
            };
            self.findings.push(Diagnostic::error(
                PASS_BROKE_NETWORK,
                format!("{blame} produced an invalid network"),
            ));
            self.failed(failed)
        })
    }

    fn failed(&mut self, failed: Diagnostics) -> Diagnostics {
        let mut all = std::mem::take(&mut self.findings);
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
