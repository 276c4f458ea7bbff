//! A platform from the environment of a Slurm job.
//!
//! The library does not read the environment: the caller passes the variables as a map. Each
//! variable becomes a source text with the name `$SLURM_...`, so that a diagnostic can refer to a
//! position in it.
//!
//! | variable | content |
//! |---|---|
//! | `SLURM_JOB_NODELIST` (or `SLURM_NODELIST`) | the hosts |
//! | `SLURM_TASKS_PER_NODE` (or `SLURM_STEP_TASKS_PER_NODE`) | slots of each host: `2(x3),1` |
//! | `SLURM_NTASKS_PER_NODE` | slots of every host, if the previous variable is missing |
//! | `SLURM_JOB_CPUS_PER_NODE` | slots of each host, if no tasks are given |
//! | `SLURM_CPUS_ON_NODE` | slots of the host, if there is only one and no tasks are given |
//! | `SLURM_MEM_PER_NODE` | memory of each host in units of 1024 x 1024 bytes |
//!
//! A heterogeneous job (`SLURM_HET_SIZE`) has these variables for each component, with the suffix
//! `_HET_GROUP_0`, `_HET_GROUP_1` and so on. All components are read.

use crate::build::Build;
use crate::codes;
use crate::hosts_format::HostsFormat;
use crate::model::Platform;
use crate::nodelist;
use crate::report::Report;
use crate::text::{Word, print_repeated, repeated};
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::{Source, SourceMap, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns true if one of the variables contains the hosts of a Slurm job, or of the first
/// component of a heterogeneous job.
pub fn is_job(variables: &BTreeMap<String, String>) -> bool {
    let first = |infix: &&str| format!("{}_{infix}_0", NODELIST[0]);
    let groups = GROUPS.iter().map(|(_, infix)| infix);
    NODELIST.iter().any(|name| variables.contains_key(*name))
        || groups.map(first).any(|name| variables.contains_key(&name))
}

const NODELIST: &[&str] = &["SLURM_JOB_NODELIST", "SLURM_NODELIST"];
const TASKS: &[&str] = &["SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE"];
/// Variable with the number of components of a heterogeneous job, and infix of the names of their
/// variables: now, and before Slurm 20.02.
const GROUPS: [(&str, &str); 2] = [
    ("SLURM_HET_SIZE", "HET_GROUP"),
    ("SLURM_PACK_SIZE", "PACK_GROUP"),
];
/// Maximum number of components that are read. Slurm allows 128.
const MOST_COMPONENTS: u32 = 1024;

/// Reads the platform of a Slurm job from its environment variables. Adds each variable that it
/// reads to `sources`, as far as there is space.
///
/// Returns `None` if there was at least one error. Adds the diagnostics to `out`: the first 50, and
/// a note with the number of the others. A result can come with warnings.
pub fn read(
    variables: &BTreeMap<String, String>,
    sources: &mut SourceMap,
    out: &mut Diagnostics,
) -> Option<Platform> {
    let mut report = Report::default();
    let suffixes = components(variables, sources, &mut report);
    let mut parts = Vec::new();
    for suffix in &suffixes {
        parts.extend(component(variables, suffix, sources, &mut report));
    }
    let [first, ..] = &parts[..] else {
        return report.finish(None, out);
    };
    if report.failed() {
        return report.finish(None, out);
    }
    if parts.len() > 1 {
        let what = format!(
            "the job is heterogeneous: it has {} components",
            parts.len()
        );
        report.push(
            Diagnostic::warning(codes::HET_JOB, what)
                .with_note("by default, `srun` starts programs only on the first component")
                .help("let the launcher use ssh: set `HYDRA_LAUNCHER=ssh`, `OMPI_MCA_plm=rsh` or `PRTE_MCA_plm=ssh`"),
        );
    }
    let mut build = Build::new(HostsFormat::Slurm);
    build.report = report;
    for part in &parts {
        for ((name, span), slots) in part.hosts.iter().zip(&part.slots) {
            if let Some(host) = build.add(name, *slots, *span) {
                // Two components can share a host.
                let memory = &mut build.hosts[host.index()].memory;
                let sum = |bytes: u64| bytes.saturating_add(memory.unwrap_or(0));
                *memory = part.memory.map(sum).or(*memory);
            }
        }
    }
    build.finish(&first.nodes, out)
}

/// Returns the suffix of the variables of each component. If the job is not heterogeneous, the only
/// suffix is the empty text. Adds the variable with the number of components to `sources`. Reports
/// an error if that number is invalid, or if variables are missing for some components.
fn components(
    variables: &BTreeMap<String, String>,
    sources: &mut SourceMap,
    report: &mut Report,
) -> Vec<String> {
    for (size, infix) in GROUPS {
        let suffix = |group: u32| format!("_{infix}_{group}");
        let is_there = |group: &u32| {
            let name = |list: &&str| format!("{list}{}", suffix(*group));
            NODELIST
                .iter()
                .map(name)
                .any(|name| variables.contains_key(&name))
        };
        let there = (0..MOST_COMPONENTS).take_while(is_there).count() as u32;
        let given = variables.get(size).and_then(|value| {
            let source = sources.add(format!("${size}"), value.as_str()).ok()?;
            let word = Word::all(&source);
            let count = word
                .to(word.text.trim_end().len())
                .count("components", report)?;
            if count > there && (count > 1 || there > 0) {
                let what =
                    format!("the job has {count} components, but variables name only {there}");
                let missing = format!("`{}{}` is not set", NODELIST[0], suffix(there));
                report.push(
                    Diagnostic::error(codes::ENVIRONMENT, what)
                        .at(word.span(), "")
                        .with_note(missing)
                        .help("run inside `salloc` or `sbatch` of the whole job"),
                );
            }
            Some(count)
        });
        let count = given.unwrap_or(there).min(there);
        if count > 0 {
            return (0..count).map(suffix).collect();
        }
    }
    vec![String::new()]
}

/// Content of the variables of one component.
struct Component {
    nodes: Arc<Source>,
    hosts: Vec<(String, Span)>,
    slots: Vec<u32>,
    /// Memory of each host in bytes.
    memory: Option<u64>,
}

/// Reads the component whose variables have the given suffix, and adds these variables to
/// `sources`. Returns `None` if `report` then contains an error, also an earlier one.
fn component(
    variables: &BTreeMap<String, String>,
    suffix: &str,
    sources: &mut SourceMap,
    report: &mut Report,
) -> Option<Component> {
    let mut find = |names: &[&'static str]| -> Option<Variable> {
        let names = names.iter().map(|name| format!("{name}{suffix}"));
        let (name, value) = names
            .into_iter()
            .find_map(|name| Some((name.clone(), variables.get(&name)?)))?;
        let source = sources.add(format!("${name}"), value.as_str()).ok()?;
        Some(Variable { name, source })
    };
    let Some(nodes) = find(NODELIST) else {
        let what = "the environment is not that of a Slurm job";
        report.push(
            Diagnostic::error(codes::ENVIRONMENT, what)
                .with_note(format!("`{}{suffix}` is not set", NODELIST[0]))
                .help("run inside `salloc` or `sbatch`, or give a hostfile"),
        );
        return None;
    };
    let (tasks, each) = (find(TASKS), find(&["SLURM_NTASKS_PER_NODE"]));
    let (cpus, here) = (
        find(&["SLURM_JOB_CPUS_PER_NODE"]),
        find(&["SLURM_CPUS_ON_NODE"]),
    );
    let memory = find(&["SLURM_MEM_PER_NODE"]);

    let names = nodelist::expand_all(nodes.word(), report);
    let hosts = names.as_ref().map(Vec::len);
    if hosts == Some(0) {
        let what = format!("${} names no host", nodes.name);
        report.push(Diagnostic::error(codes::NO_HOST, what).at(nodes.word().span(), ""));
    }
    let tasks = tasks.map(|v| v.per_host(hosts, report));
    let cpus = cpus.map(|v| v.per_host(hosts, report));
    let each = each.map(|v| v.word().count("tasks", report));
    let here = here.map(|v| v.word().count("CPUs", report));
    let bytes = memory.map(|v| v.word().whole("number of megabytes", report));
    let names = names.filter(|_| !report.failed())?;
    let slots = tasks.flatten();
    let slots = slots.or_else(|| Some(vec![each??; names.len()]));
    let slots = slots.or_else(|| cpus?);
    let slots = slots.or_else(|| Some(vec![here??; 1]).filter(|_| names.len() == 1));
    let assumed = slots.is_none();
    let slots = slots.unwrap_or_else(|| vec![1; names.len()]);
    if assumed {
        let what = "the environment does not give the number of tasks per node; one is assumed";
        report.push(
            Diagnostic::warning(codes::ASSUMED_SLOTS, what)
                .at(nodes.word().span(), "")
                .help(format!(
                    "set `SLURM_TASKS_PER_NODE{suffix}`, for example with `--ntasks-per-node`"
                )),
        );
    }
    // Slurm's megabytes are 1024 x 1024 bytes. 0 means all memory of the host.
    let memory = bytes.flatten().and_then(|m| m.checked_mul(1 << 20));
    Some(Component {
        nodes: nodes.source,
        hosts: names,
        slots,
        memory: memory.filter(|b| *b > 0),
    })
}

struct Variable {
    name: String,
    source: Arc<Source>,
}

impl Variable {
    fn word(&self) -> Word<'_> {
        let all = Word::all(&self.source);
        all.to(all.text.trim_end().len())
    }

    /// Returns one number per host. `hosts` is the number of hosts, if known. Reports an error and
    /// returns `None` if the value is not a list of counts, or does not have `hosts` counts.
    fn per_host(&self, hosts: Option<usize>, report: &mut Report) -> Option<Vec<u32>> {
        let word = self.word();
        let list = repeated(word, "tasks", report, |w, r| w.count("tasks", r))?;
        match hosts {
            Some(hosts) if hosts != list.len() => {
                let what = format!(
                    "${} describes {} hosts, but the job has {hosts}",
                    self.name,
                    list.len()
                );
                report.push(
                    Diagnostic::error(codes::ENVIRONMENT, what)
                        .at(word.span(), "")
                        .help("take all variables from the same job or the same job step"),
                );
                None
            }
            _ => Some(list),
        }
    }
}

/// Returns variables with which a Slurm job would describe the platform. They contain only the
/// names and the slots of the hosts, in the order of their first mention. From these, [`read`]
/// gives a platform with the same hosts and slots.
pub fn print(platform: &Platform) -> BTreeMap<String, String> {
    let names = platform.hosts().iter().map(|h| h.name.as_str());
    let slots: Vec<u32> = platform.hosts().iter().map(|h| h.slots).collect();
    let set = |name: &str, value| (name.to_string(), value);
    BTreeMap::from([
        set("SLURM_JOB_NODELIST", nodelist::print(names)),
        // Slurm writes the repetition even if all hosts have the same number of slots: `4(x2)`.
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
