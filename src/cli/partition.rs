//! `graphmap partition`: where each process is to run.

use super::args::{File, GraphArgs};
use super::check::plural;
use super::exit::Exit;
use super::mapping::MappingArgs;
use super::output;
use super::session::{Outcome, Session};
use crate::codes;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::{EmitContext, Files};
use graphmap_kpn::network::KindId;
use graphmap_partition::plan::Plan;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Map processes onto OS processes and hosts, and show the plan
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  graphmap partition farm.dot -n 4
  graphmap partition farm.dot --hosts hostfile --time 100ms -o plan
  graphmap partition farm.dot --hosts hosts=4:sockets=2:cores=8 --strategy metis
  graphmap partition farm.dot --hosts hostfile --pin 'manager=node1' --hold 'kind:worker=1-4'
  graphmap partition farm.dot -n 4 --pin 'worker*=1-3' --together source,sink --rules farm.rules
  graphmap run farm.dot --mapping plan/mapping.json

With -o the mapping is written as mapping.json, as a picture (mapped.svg, mapped.dot), and, where the
hosts have names, as a script that starts it (mpiexec.sh; `--set launcher=openmpi` for another one).
Ends with 4 when no mapping meets all constraints.")]
pub(crate) struct PartitionArgs {
    /// Graph file; `-` is standard input
    #[arg(value_name = "FILE")]
    file: File,
    /// Write the plan as JSON instead of text
    #[arg(long)]
    json: bool,
    /// Write the mapping in this folder
    #[arg(short, long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    #[command(flatten)]
    mapping: MappingArgs,
    #[command(flatten)]
    graph: GraphArgs,
}

pub(crate) fn run(args: &PartitionArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    if args.mapping.mapping.is_some() {
        let what = "`partition` looks for a mapping, and `--mapping` says that there is one";
        let error = Diagnostic::error(codes::USAGE, what);
        let error = error.help("to keep near to it: `--previous`; to write files from it: `emit`");
        return session.fail(Exit::Usage, error);
    }
    let network = session.verified(&args.file, &args.graph)?;
    let plan = session.plan(&network, &args.mapping)?;
    let shown = if args.json {
        as_json(&plan)
    } else {
        as_text(&plan)
    };
    if let Some(folder) = &args.output_dir {
        let mut names = vec![
            ("mapping", "mapping.json"),
            ("mapped", "mapped.dot"),
            ("svg", "mapped.svg"),
        ];
        if args.mapping.hosts.is_some() {
            names.push(("mpiexec", "mpiexec.sh"));
        }
        let options = Session::options(&args.graph);
        let mut files = Files::new();
        let mut found = Diagnostics::new();
        for (name, file) in names {
            let Some(emitter) = session.tool.emitters().find(|e| e.name() == name) else {
                continue;
            };
            let mut context = EmitContext {
                path: &folder.join(file),
                options: &options,
                diagnostics: &mut found,
            };
            if let Err(failed) = emitter.emit(&plan.mapped, &mut context, &mut files) {
                session.find_all(found);
                session.find_all(failed);
                return Err(Exit::Plugin);
            }
        }
        session.find_all(found);
        output::write(session, &files)?;
    }
    session.put(shown.as_bytes())?;
    Ok(Exit::Ok)
}

/// What runs in each OS process: its kinds in the order of the network, with how many of each.
fn kinds(plan: &Plan) -> Vec<BTreeMap<KindId, usize>> {
    let mapping = plan.mapped.mapping();
    let mut kinds = vec![BTreeMap::new(); mapping.places.len()];
    for (id, process) in plan.mapped.network().processes.iter() {
        *kinds[mapping.of(id) as usize]
            .entry(process.kind)
            .or_insert(0) += 1;
    }
    kinds
}

/// How many OS processes are shown one by one.
const SHOWN: usize = 64;

fn as_text(plan: &Plan) -> String {
    let (network, mapping) = (plan.mapped.network(), plan.mapped.mapping());
    let mut text = format!(
        "{}: {} in {}, strategy {}\n\n",
        network.name,
        plural(network.processes.len(), "process"),
        plural(mapping.places.len(), "OS process"),
        mapping.strategy,
    );
    text += &format!("{:>4}  {:<16} {:>10}  kinds\n", "OS", "host", "load");
    let all = mapping.places.iter().zip(&plan.loads).zip(kinds(plan));
    for (i, ((place, load), kinds)) in all.enumerate().take(SHOWN) {
        let kinds = kinds.iter().map(|(kind, n)| {
            let name = network.name(network.kinds[*kind].name);
            if *n == 1 {
                name.to_owned()
            } else {
                format!("{name} x {n}")
            }
        });
        let kinds: Vec<String> = kinds.collect();
        let mut host = place.host.clone().unwrap_or_else(|| "-".to_owned());
        if !place.cores.is_empty() {
            let cores: Vec<String> = place.cores.iter().map(u32::to_string).collect();
            host += &format!(":{}", cores.join(","));
        }
        text += &format!(
            "{i:>4}  {host:<16} {:>10}  {}\n",
            number(*load),
            kinds.join(", ")
        );
    }
    if mapping.places.len() > SHOWN {
        text += &format!("      ... and {} more\n", mapping.places.len() - SHOWN);
    }
    text += &format!(
        "\nlargest load     {:.1}% of its share\n",
        plan.balance * 100.0
    );
    for (class, traffic) in &plan.traffic {
        text += &format!("traffic          {} {}\n", number(*traffic), class.about());
    }
    text += &format!("remote channels  {}\n", plan.remote_channels);
    text += &format!(
        "cost             {} (traffic times distance)\n",
        number(plan.cost)
    );
    text += &match plan.proved {
        true => "bound            proved: no mapping costs less\n".to_owned(),
        false => format!(
            "bound            no mapping costs less than {} (gap {:.1}%)\n",
            number(plan.lower_bound),
            plan.gap * 100.0
        ),
    };
    for (name, cost, balanced) in &plan.others {
        let note = if *balanced { "" } else { ", out of balance" };
        text += &format!("{name:<16} would cost {}{note}\n", number(*cost));
    }
    text
}

/// A number with as many digits as somebody reads.
fn number(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        format!("{value}")
    } else if value.abs() >= 0.01 && value.abs() < 1e15 {
        format!("{value:.2}")
    } else {
        format!("{value:.3e}")
    }
}

fn as_json(plan: &Plan) -> String {
    let (network, mapping) = (plan.mapped.network(), plan.mapped.mapping());
    let places = mapping.places.iter().zip(&plan.loads).zip(kinds(plan));
    let places = places.map(|((place, load), kinds)| {
        let kinds = kinds.iter();
        let kinds = kinds.map(|(kind, n)| (network.name(network.kinds[*kind].name), *n));
        json!({
            "host": place.host,
            "cores": place.cores,
            "load": load,
            "kinds": kinds.collect::<BTreeMap<_, _>>(),
        })
    });
    let traffic = plan.traffic.iter();
    let others = plan.others.iter();
    let value = json!({
        "name": network.name,
        "strategy": mapping.strategy,
        "processes": network.processes.len(),
        "os_processes": places.collect::<Vec<_>>(),
        "balance": plan.balance,
        "traffic": traffic
            .map(|(class, t)| json!({"level": class.about(), "traffic": t}))
            .collect::<Vec<_>>(),
        "remote_channels": plan.remote_channels,
        "bottleneck": plan.bottleneck,
        "cost": plan.cost,
        "lower_bound": plan.lower_bound,
        "gap": plan.gap,
        "proved": plan.proved,
        "others": others
            .map(|(name, cost, ok)| json!({"strategy": name, "cost": cost, "balanced": ok}))
            .collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}
