//! A platform from the environment of a Slurm job.
//!
//! The library does not read the environment: the caller passes the variables as a map. Each
//! variable becomes a source text of its own, named `$SLURM_...`, so that a finding points into it.
//!
//! | variable | says |
//! |---|---|
//! | `SLURM_JOB_NODELIST` (else `SLURM_NODELIST`) | the hosts |
//! | `SLURM_TASKS_PER_NODE` (else `SLURM_STEP_TASKS_PER_NODE`) | slots of each host: `2(x3),1` |
//! | `SLURM_NTASKS_PER_NODE` | slots of every host, when the one above is missing |
//! | `SLURM_JOB_CPUS_PER_NODE` | slots of each host, when no tasks are given |
//! | `SLURM_CPUS_ON_NODE` | the same for the one host it is about: taken when there is only one |
//! | `SLURM_MEM_PER_NODE` | memory of each host in megabytes |

use crate::build::Build;
use crate::codes;
use crate::dialect::Dialect;
use crate::model::Platform;
use crate::nodelist;
use crate::report::Report;
use crate::text::{Word, print_repeated, repeated};
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::{Source, SourceMap};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whether variables are those of a Slurm job.
pub fn is_job(variables: &BTreeMap<String, String>) -> bool {
    NODELIST.iter().any(|name| variables.contains_key(*name))
}

const NODELIST: &[&str] = &["SLURM_JOB_NODELIST", "SLURM_NODELIST"];
const TASKS: &[&str] = &["SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE"];

/// Reads the platform of the Slurm job that variables of its environment describe.
///
/// `None` means that there was at least one error; all of them are in `out`.
pub fn read(
    variables: &BTreeMap<String, String>,
    sources: &mut SourceMap,
    out: &mut Diagnostics,
) -> Option<Platform> {
    let mut report = Report::default();
    let mut find = |names: &[&'static str]| -> Option<Variable> {
        let (name, value) = names
            .iter()
            .find_map(|name| Some((*name, variables.get(*name)?)))?;
        let source = sources.add(format!("${name}"), value.as_str()).ok()?;
        Some(Variable { name, source })
    };
    let Some(nodes) = find(NODELIST) else {
        let what = "the environment is not that of a Slurm job";
        report.push(
            Diagnostic::error(codes::ENVIRONMENT, what)
                .with_note("`SLURM_JOB_NODELIST` is not set")
                .help("run inside `salloc` or `sbatch`, or give a hostfile"),
        );
        return report.finish(None, out);
    };
    let (tasks, each) = (find(TASKS), find(&["SLURM_NTASKS_PER_NODE"]));
    let (cpus, here) = (
        find(&["SLURM_JOB_CPUS_PER_NODE"]),
        find(&["SLURM_CPUS_ON_NODE"]),
    );
    let memory = find(&["SLURM_MEM_PER_NODE"]);

    let names = nodelist::expand_all(nodes.word(), &mut report);
    let hosts = names.as_ref().map(Vec::len);
    if hosts == Some(0) {
        let what = format!("${} names no host", nodes.name);
        report.push(Diagnostic::error(codes::NO_HOST, what).at(nodes.word().span(), ""));
    }
    let tasks = tasks.map(|v| v.per_host(hosts, &mut report));
    let cpus = cpus.map(|v| v.per_host(hosts, &mut report));
    let each = each.map(|v| v.word().count("tasks", &mut report));
    let here = here.map(|v| v.word().count("CPUs", &mut report));
    let bytes = memory.map(|v| v.word().whole("megabytes", &mut report));
    let (Some(names), false) = (names, report.failed()) else {
        return report.finish(None, out);
    };
    let slots = tasks.flatten();
    let slots = slots.or_else(|| Some(vec![each??; names.len()]));
    let slots = slots.or_else(|| cpus?);
    let slots = slots.or_else(|| Some(vec![here??; 1]).filter(|_| names.len() == 1));
    let assumed = slots.is_none();
    let slots = slots.unwrap_or_else(|| vec![1; names.len()]);
    if assumed {
        let what = "the environment does not say how many tasks a node takes: one is assumed";
        report.push(
            Diagnostic::note(codes::ASSUMED_SLOTS, what)
                .at(nodes.word().span(), "")
                .help("set `SLURM_TASKS_PER_NODE`, for example by `--ntasks-per-node`"),
        );
    }
    let mut build = Build::new(Dialect::Slurm);
    build.report = report;
    for ((name, span), slots) in names.iter().zip(slots) {
        if let Some(host) = build.add(name, slots, *span) {
            // Megabytes of Slurm are of 1024 x 1024 bytes; 0 means all there is.
            let bytes = bytes.flatten().and_then(|m| m.checked_mul(1 << 20));
            build.hosts[host.index()].memory = bytes.filter(|b| *b > 0);
        }
    }
    build.finish(&nodes.source, out)
}

struct Variable {
    name: &'static str,
    source: Arc<Source>,
}

impl Variable {
    fn word(&self) -> Word<'_> {
        let all = Word::all(&self.source);
        all.to(all.text.trim_end().len())
    }

    /// One number a host.
    fn per_host(&self, hosts: Option<usize>, report: &mut Report) -> Option<Vec<u32>> {
        let word = self.word();
        let list = repeated(word, "tasks", report, |w, r| w.count("tasks", r))?;
        match hosts {
            Some(hosts) if hosts != list.len() => {
                let what = format!(
                    "${} is about {} hosts, and the job has {hosts}",
                    self.name,
                    list.len()
                );
                report.push(
                    Diagnostic::error(codes::ENVIRONMENT, what)
                        .at(word.span(), "")
                        .help(
                            "set both by one job: a job step and its job have lists of their own",
                        ),
                );
                None
            }
            _ => Some(list),
        }
    }
}

/// The variables by which a Slurm job would describe a platform: the reverse of [`read`].
pub fn print(platform: &Platform) -> BTreeMap<String, String> {
    let names = platform.hosts().iter().map(|h| h.name.as_str());
    let slots: Vec<u32> = platform.hosts().iter().map(|h| h.slots).collect();
    let set = |name: &str, value| (name.to_string(), value);
    BTreeMap::from([
        set("SLURM_JOB_NODELIST", nodelist::print(names)),
        // Slurm repeats even a list of one, and a single host says how often it is meant.
        set(
            "SLURM_TASKS_PER_NODE",
            match &slots[..] {
                [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|s| s == first) => {
                    format!("{first}(x{})", slots.len())
                }
                _ => print_repeated(&slots, u32::to_string),
            },
        ),
    ])
}
