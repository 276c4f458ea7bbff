//! Shows a plan as text or as JSON.

use super::check::plural;
use super::numbered::numbered;
use crate::visible;
use graphmap_kpn::arena::Id;
use graphmap_kpn::network::{KindId, ProcessId};
use graphmap_kpn::programs;
use graphmap_partition::Objective;
use graphmap_plan::{Level, MOST_IMBALANCE, Plan, Since};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Maximum number of OS processes, hosts and moves that are shown one by one.
pub(super) const SHOWN: usize = 64;

/// Returns the kinds in each OS process, by its number, with the number of processes of each kind.
/// The kinds are in the order of the network.
fn kinds(plan: &Plan) -> Vec<BTreeMap<KindId, usize>> {
    let mapping = plan.mapped.mapping();
    let mut kinds = vec![BTreeMap::new(); mapping.bindings.len()];
    for (id, process) in plan.mapped.network().processes.iter() {
        *kinds[mapping.of(id).index()]
            .entry(process.kind)
            .or_insert(0) += 1;
    }
    kinds
}

/// Maximum width of the list of kinds. The JSON contains all of them.
const KINDS: usize = 60;

/// Returns the processes of each of the first [`SHOWN`] OS processes, by its number.
fn members(plan: &Plan) -> Vec<Vec<ProcessId>> {
    let mapping = plan.mapped.mapping();
    let mut members = vec![Vec::new(); mapping.bindings.len().min(SHOWN)];
    for id in plan.mapped.network().processes.ids() {
        if let Some(members) = members.get_mut(mapping.of(id).index()) {
            members.push(id);
        }
    }
    members
}

/// Returns the kinds as a list, such as `manager, worker x 3`, cut to about [`KINDS`] columns. The
/// first kind is always listed, and the others that do not fit are counted. Returns `(nothing)`
/// without kinds. If the network has one kind only, returns the numbers of the processes, such as
/// `main 0-7, 40-47`.
fn listed(plan: &Plan, members: &[ProcessId], kinds: &BTreeMap<KindId, usize>) -> String {
    let network = plan.mapped.network();
    if network.kinds.len() == 1
        && let Some(numbers) = numbered(network, members, KINDS)
    {
        return numbers;
    }
    let kinds = kinds.iter().map(|(kind, n)| {
        let name = network.name(network.kinds[*kind].name);
        match n {
            1 => name.to_owned(),
            n => format!("{name} x {n}"),
        }
    });
    let mut kinds: Vec<String> = kinds.collect();
    let mut width = 0;
    let fit = |kind: &&String| {
        width += kind.chars().count() + 2;
        width <= KINDS
    };
    let shown = kinds.iter().take_while(fit).count().max(1);
    let more = kinds.len().saturating_sub(shown);
    kinds.truncate(shown);
    match (kinds.join(", "), more) {
        (none, _) if none.is_empty() => "(nothing)".to_owned(),
        (list, 0) => list,
        (list, more) => format!("{list} and {more} more"),
    }
}

/// Returns each named host with its OS processes, in the order of the first OS process.
fn hosts(plan: &Plan) -> Vec<(&str, Vec<usize>)> {
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    let mut hosts: Vec<(&str, Vec<usize>)> = Vec::new();
    for (o, binding) in plan.mapped.mapping().bindings.values().enumerate() {
        let Some(host) = binding.host.as_deref() else {
            continue;
        };
        let at = *index.entry(host).or_insert(hosts.len());
        if at == hosts.len() {
            hosts.push((host, Vec::new()));
        }
        hosts[at].1.push(o);
    }
    hosts
}

/// Returns the traffic of some OS processes with OS processes on other hosts.
fn leaving(plan: &Plan, os_processes: &[usize]) -> f64 {
    let leaves_host = |class: graphmap_platform::Class| class >= graphmap_platform::Class::Group;
    let columns = || plan.traffic.iter().map(|(class, _)| leaves_host(*class));
    let of = |o: &usize| {
        let row = plan.traffic_of[*o].iter().zip(columns());
        row.filter(|(_, leaves_host)| *leaves_host)
            .map(|(t, _)| *t)
            .sum::<f64>()
    };
    // Adding 0 avoids -0, the sum of an empty iterator.
    os_processes.iter().map(of).sum::<f64>() + 0.0
}

pub(crate) fn as_text(plan: &Plan) -> String {
    let (network, mapping) = (plan.mapped.network(), plan.mapped.mapping());
    let hosts = hosts(plan);
    let on = match hosts.len() {
        0 => String::new(),
        n => format!(" on {}", plural(n, "host")),
    };
    let of = match &plan.given {
        Some(name) => format!("mapping {}", visible::name(name)),
        None => format!("strategy {}", mapping.strategy),
    };
    let mut text = format!(
        "{}: {} in {}{on}, {of}\n\n",
        visible::name(&network.name),
        plural(network.processes.len(), "process"),
        plural(mapping.bindings.len(), "OS process"),
    );
    text += &of_os_processes(plan);
    text += &notes(plan);
    if hosts.len() > 1 {
        text += &of_hosts(plan, &hosts);
    }
    text += &compared(plan);
    text += &bound(plan);
    if let Some(since) = &plan.since {
        text += &moved(plan, since);
    }
    text
}

/// Returns the program of each OS process. Returns an empty list if no process has `program=`.
fn programs(plan: &Plan) -> Vec<Option<&str>> {
    match programs::has_any(plan.mapped.network()) {
        true => programs::of_mapped(&plan.mapped).unwrap_or_default(),
        false => Vec::new(),
    }
}

fn of_os_processes(plan: &Plan) -> String {
    let mapping = plan.mapped.mapping();
    let mut rows = Table::new(&["OS", "host", "load", "share"]);
    for (class, _) in &plan.traffic {
        rows.head.push(class.about().to_owned());
    }
    let programs = programs(plan);
    if !programs.is_empty() {
        rows.head.push("program".to_owned());
    }
    rows.head.push("kinds".to_owned());
    let members = members(plan);
    let bound = mapping.bindings.values().zip(kinds(plan)).zip(&members);
    for (i, ((binding, kinds), members)) in bound.enumerate() {
        let mut host = binding.host.clone().unwrap_or_else(|| "-".to_owned());
        if !binding.cores.is_empty() {
            let cores: Vec<String> = binding.cores.iter().map(u32::to_string).collect();
            let word = if cores.len() == 1 { "core" } else { "cores" };
            host += &format!(" {word} {}", cores.join(","));
        }
        let mut row = vec![i.to_string(), host, number(plan.loads[i])];
        row.push(percent(plan.shares[i]));
        row.extend(plan.traffic_of[i].iter().map(|t| number(*t)));
        if let Some(program) = programs.get(i) {
            row.push(visible::name(program.unwrap_or("-")).into_owned());
        }
        row.push(listed(plan, members, &kinds));
        rows.rows.push(row);
    }
    let last = rows.head.len() - 1;
    let mut text = match programs.is_empty() {
        true => rows.text(&[1, last]),
        false => rows.text(&[1, last - 1, last]),
    };
    if mapping.bindings.len() > SHOWN {
        text += &format!("  ... and {} more\n", mapping.bindings.len() - SHOWN);
    }
    text + "\n"
}

/// Returns notes that explain empty OS processes, unexpected loads and rounding. The text is empty
/// if there are none.
fn notes(plan: &Plan) -> String {
    let mut text = String::new();
    let mut used = vec![false; plan.loads.len()];
    for (id, _) in plan.mapped.network().processes.iter() {
        used[plan.mapped.mapping().of(id).index()] = true;
    }
    let empty: Vec<usize> = (0..used.len()).filter(|&o| !used[o]).collect();
    let named: Vec<String> = empty.iter().take(SHOWN / 8).map(usize::to_string).collect();
    let more = match empty.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if let Some(last) = named.last() {
        let who = match empty.len() {
            1 => format!("OS process {last} is"),
            _ => format!("OS processes {}{more} are", named.join(", ")),
        };
        let why = match plan.fillable {
            _ if plan.given.is_some() => "the mapping puts nothing there",
            _ if plan.proposed => "the strategy puts nothing there",
            true => "this mapping costs less; `--hold '*=1-'` puts a process into each",
            false => "no mapping was found that obeys the rules and puts a process into each",
        };
        let _ = writeln!(text, "note: {who} empty: {why}");
    }
    let fullest = (0..plan.shares.len()).rev();
    let fullest = fullest.max_by(|&a, &b| plan.shares[a].total_cmp(&plan.shares[b]));
    if let Some(o) = fullest
        && plan.raised.is_none()
        && plan.shares[o] > 1.0 + MUCH
    {
        let load = plan.loads[o];
        // Rounds off the error of the division.
        let share = (load / plan.shares[o] * 1e9).round() / 1e9;
        let most = number(plan.allowed[o]);
        let why = match plan.allowed[o] {
            allowed if load > allowed * (1.0 + 1e-9) && plan.given.is_some() => {
                format!("the limit is {most}, but the mapping exceeds it")
            }
            allowed if load > allowed * (1.0 + 1e-9) => {
                let strategy = &plan.mapped.mapping().strategy;
                format!("the limit is {most}, but the strategy {strategy} ignores it")
            }
            _ if plan.imbalance >= MOST_IMBALANCE => "loads are not limited".to_owned(),
            _ if load <= share * (1.0 + plan.imbalance) * (1.0 + 1e-9) => {
                format!("`--imbalance` allows {most}")
            }
            _ => format!("loads cannot be split, so {most} is allowed"),
        };
        let (load, share) = (number(load), number(share));
        let _ = writeln!(
            text,
            "note: OS process {o} has load {load}; an even share is {share}; {why}"
        );
    }
    if plan.rounded.cost > 0.0 {
        let _ = writeln!(
            text,
            "note: the search rounds traffic and distances: the cost and the bound are off by at most {}",
            number(plan.rounded.cost)
        );
    }
    if plan.rounded.load > 0.0 {
        let _ = writeln!(
            text,
            "note: the search rounds loads; their sum is off by {}",
            number(plan.rounded.load)
        );
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Load above the even share, relative to it, from which a note is shown. The note states the
/// cause: the strategy, `--imbalance`, or loads that cannot be split.
const MUCH: f64 = 0.1;

fn of_hosts(plan: &Plan, hosts: &[(&str, Vec<usize>)]) -> String {
    let mut rows = Table::new(&["host", "OS processes", "load", "traffic with other hosts"]);
    for (name, os_processes) in hosts.iter().take(SHOWN) {
        let load: f64 = os_processes.iter().map(|&o| plan.loads[o]).sum();
        rows.rows.push(vec![
            (*name).to_owned(),
            os_processes.len().to_string(),
            number(load),
            number(leaving(plan, os_processes)),
        ]);
    }
    let mut text = rows.text(&[0]);
    if hosts.len() > SHOWN {
        text += &format!("  ... and {} more\n", hosts.len() - SHOWN);
    }
    text + "\n"
}

/// Returns a table that compares the plan with the results of other strategies and mappings. If it
/// has a mapping that was known before, it also shows the cost of each level of the machine.
fn compared(plan: &Plan) -> String {
    let own = plan.mapped.mapping().strategy.as_str();
    let others = plan.others.iter();
    let others: Vec<_> = others.filter(|o| o.given || o.strategy != own).collect();
    let mut rows = Table::new(&["", plan.given.as_deref().unwrap_or(own)]);
    rows.head
        .extend(others.iter().map(|o| o.strategy.clone().into_owned()));
    let mut row = |name: &str, own: String, others: Vec<String>| {
        let mut row = vec![name.to_owned(), own];
        row.extend(others);
        rows.rows.push(row);
    };
    let each = |of: &dyn Fn(&graphmap_plan::Other) -> String| {
        others.iter().map(|o| of(o)).collect::<Vec<_>>()
    };
    row(
        "cost (traffic times distance)",
        number(plan.cost),
        each(&|o| number(o.cost)),
    );
    if plan.given.is_some() || others.iter().any(|o| o.given) {
        let all = others.iter().flat_map(|o| &o.levels).chain(&plan.levels);
        let used: BTreeMap<_, f64> = all.map(|level| (level.class, level.distance)).collect();
        for (class, distance) in used {
            let cost = |levels: &[Level]| {
                let level = levels.iter().find(|level| level.class == class);
                number(level.map_or(0.0, |level| level.cost))
            };
            row(
                &format!("  {} (distance {})", class.about(), number(distance)),
                cost(&plan.levels),
                each(&|o| cost(&o.levels)),
            );
        }
    }
    if plan.preferences && plan.objective != Objective::RemoteChannels {
        row(
            "cost with preferences and moves",
            number(plan.minimized),
            each(&|o| number(o.minimized)),
        );
    }
    row(
        "largest load, relative to its share",
        percent(plan.balance),
        each(&|o| percent(o.balance)),
    );
    row(
        "largest traffic of a host",
        number(plan.bottleneck),
        each(&|o| number(o.bottleneck)),
    );
    row(
        "channels between OS processes",
        plan.remote_channels.to_string(),
        each(&|o| o.remote_channels.to_string()),
    );
    let kept = |feasible| within(feasible, plan.raised).to_owned();
    let own = kept(plan.feasible);
    row("within all limits", own, each(&|o| kept(o.feasible)));
    rows.text(&[0])
}

/// Returns whether a mapping is within the limits: `no`, `yes`, or `raised` if the limit had to be
/// raised.
pub(super) fn within(feasible: bool, raised: Option<f64>) -> &'static str {
    match (feasible, raised) {
        (false, _) => "no",
        (true, None) => "yes",
        (true, Some(_)) => "raised",
    }
}

fn bound(plan: &Plan) -> String {
    let more = plan.preferences;
    let what = match plan.objective {
        Objective::Cost if more => "no mapping costs less with preferences and moves",
        Objective::Cost => "no mapping costs less",
        Objective::RemoteChannels if more => {
            "no mapping has a smaller sum of channels between OS processes, preferences and moves"
        }
        Objective::RemoteChannels => "no mapping has fewer channels between OS processes",
        Objective::Bottleneck if plan.proved => "no mapping has less traffic at its busiest host",
        Objective::LargestLoad if plan.proved => "no mapping has a smaller largest load",
        // The objective was another quantity, but the bound is a bound on the cost.
        Objective::Bottleneck | Objective::LargestLoad => {
            let with = match more {
                true => " with preferences and moves",
                false => "",
            };
            return format!(
                "\nbound: {} costs less{with} than {}{}\n",
                no_mapping(plan),
                number(plan.lower_bound),
                divided(plan)
            );
        }
    };
    let what = what.replacen("no mapping", no_mapping(plan), 1);
    let raised = match plan.raised {
        Some(_) => " within the raised balance limit",
        None => "",
    };
    let divided = divided(plan);
    match plan.proved {
        true => format!("\nbound: proved, {what}{raised}\n"),
        // A mapping outside the limits may cost less than all that are within them.
        false if plan.minimized < plan.lower_bound => format!(
            "\nbound: {what} than {}{raised}\n",
            number(plan.lower_bound)
        ),
        false => format!(
            "\nbound: {what} than {}{raised}{divided} (gap {:.1}%{})\n",
            number(plan.lower_bound),
            plan.gap * 100.0,
            more_time(plan.narrows)
        ),
    }
}

/// Returns the beginning of a text about a bound, which holds for mappings within all limits.
fn no_mapping(plan: &Plan) -> &'static str {
    match plan.feasible {
        true => "no mapping",
        false => "no mapping within all limits",
    }
}

/// Returns words for a bound that holds only for the division of the OS processes among programs.
/// Otherwise the text is empty.
fn divided(plan: &Plan) -> &'static str {
    match plan.divided {
        true => " with these programs in these OS processes",
        false => "",
    }
}

/// Returns advice to give the search more time, if that may narrow the gap (`narrows`). Otherwise
/// the text is empty.
pub(super) fn more_time(narrows: bool) -> &'static str {
    if narrows {
        "; a longer `--time` may narrow it"
    } else {
        ""
    }
}

/// Returns a comparison with the previous mapping.
fn moved(plan: &Plan, since: &Since) -> String {
    let network = plan.mapped.network();
    let stay = network.processes.len() - since.moves.len() - since.placed.len();
    let mut text = format!(
        "\nsince the previous mapping: {} moved, {stay} stay, {} new\n",
        since.moves.len(),
        since.placed.len()
    );
    let gain = since.staying - since.now;
    let _ = writeln!(
        text,
        "  gain   {} (without moves the cost is {}, and the largest load {} of its share; now the cost is {})",
        number(gain),
        number(since.staying),
        percent(since.staying_balance),
        number(since.now)
    );
    let _ = writeln!(text, "  price  {} for the moves", number(since.price));
    let width = since.moves.iter().take(SHOWN);
    let width = width.map(|m| {
        visible::name(network.process_name(m.process))
            .chars()
            .count()
    });
    let width = width.max().unwrap_or(0);
    for m in since.moves.iter().take(SHOWN) {
        let name = visible::name(network.process_name(m.process));
        let _ = writeln!(text, "  {name:<width$}  OS process {} -> {}", m.from, m.to);
    }
    if since.moves.len() > SHOWN {
        let _ = writeln!(text, "  ... and {} more", since.moves.len() - SHOWN);
    }
    text
}

/// Table with columns as wide as their contents.
pub(super) struct Table {
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(head: &[&str]) -> Table {
        Table {
            head: head.iter().map(|&h| h.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Returns the table as text, with the head as its first line. Columns in `words` are aligned
    /// left, all others right. Each row must have as many cells as the head, otherwise this panics.
    pub(super) fn text(&self, words: &[usize]) -> String {
        let cells = |line: &Vec<String>| -> Vec<String> {
            line.iter()
                .map(|cell| visible::name(cell).into_owned())
                .collect()
        };
        let shown: Vec<Vec<String>> = std::iter::once(&self.head)
            .chain(&self.rows)
            .map(cells)
            .collect();
        let lines = || shown.iter();
        let width = |c: usize| lines().map(|l| l[c].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let mut text = String::new();
        for line in lines() {
            let mut shown = String::new();
            for (c, cell) in line.iter().enumerate() {
                let width = widths[c];
                shown += &match words.contains(&c) {
                    true => format!("  {cell:<width$}"),
                    false => format!("  {cell:>width$}"),
                };
            }
            text += shown.trim_end();
            text.push('\n');
        }
        text
    }
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.1}%", part * 100.0)
}

/// Formats a number with two decimals. Integers below 10^15 have no decimals. Larger numbers, and
/// those closer to 0 than 0.01, have an exponent and four significant digits.
pub(super) fn number(value: f64) -> String {
    // Avoids -0.
    let value = value + 0.0;
    if value == value.trunc() && value.abs() < 1e15 {
        format!("{value}")
    } else if value.abs() >= 0.01 && value.abs() < 1e15 {
        format!("{value:.2}")
    } else {
        format!("{value:.3e}")
    }
}

pub(crate) fn as_json(plan: &Plan) -> String {
    let (network, mapping) = (plan.mapped.network(), plan.mapped.mapping());
    let classes = || plan.traffic.iter().map(|(class, _)| class.about());
    let levels = |traffic: &[f64]| -> Vec<Value> {
        let pairs = classes().zip(traffic);
        pairs
            .map(|(class, t)| json!({"level": class, "traffic": t}))
            .collect()
    };
    let costs = |levels: &[Level]| -> Vec<Value> {
        let levels = levels.iter();
        let value = |level: &Level| {
            let (name, cost) = (level.class.about(), level.cost);
            json!({"level": name, "distance": level.distance, "traffic": level.traffic, "cost": cost})
        };
        levels.map(value).collect()
    };
    let bound = mapping.bindings.values().zip(kinds(plan)).enumerate();
    let programs = programs(plan);
    let os_processes = bound.map(|(o, (binding, kinds))| {
        let kinds = kinds.iter();
        let kinds = kinds.map(|(kind, n)| (network.name(network.kinds[*kind].name), *n));
        let mut row = json!({
            "host": binding.host,
            "cores": binding.cores,
            "load": plan.loads[o],
            "share": plan.shares[o],
            "allowed": plan.allowed[o],
            "traffic": levels(&plan.traffic_of[o]),
            "kinds": kinds.collect::<BTreeMap<_, _>>(),
        });
        if let Some(program) = programs.get(o) {
            row["program"] = json!(program);
        }
        row
    });
    let hosts = hosts(plan).into_iter().map(|(host, os_processes)| {
        let load: f64 = os_processes.iter().map(|&o| plan.loads[o]).sum();
        let leaving = leaving(plan, &os_processes);
        json!({"host": host, "os_processes": os_processes, "load": load, "leaving": leaving})
    });
    let others = plan.others.iter().map(|o| {
        json!({
            "strategy": o.strategy, "cost": o.cost, "feasible": o.feasible, "balance": o.balance,
            "bottleneck": o.bottleneck, "remote_channels": o.remote_channels,
            "minimized": o.minimized, "levels": costs(&o.levels),
        })
    });
    let totals: Vec<f64> = plan.traffic.iter().map(|(_, t)| *t).collect();
    let mut value = json!({
        "name": network.name,
        "strategy": mapping.strategy,
        "processes": network.processes.len(),
        "os_processes": os_processes.collect::<Vec<_>>(),
        "hosts": hosts.collect::<Vec<_>>(),
        "balance": plan.balance,
        "raised": plan.raised,
        "unavoidable": plan.unavoidable,
        "traffic": levels(&totals),
        "levels": costs(&plan.levels),
        "remote_channels": plan.remote_channels,
        "bottleneck": plan.bottleneck,
        "cost": plan.cost,
        "minimized": plan.minimized,
        "lower_bound": plan.lower_bound,
        "gap": plan.gap,
        "proved": plan.proved,
        "rounded": {"cost": plan.rounded.cost, "load": plan.rounded.load},
        "others": others.collect::<Vec<_>>(),
        "since": plan.since.as_ref().map(|since| since_json(plan, since)),
    });
    if plan.divided {
        value["divided"] = json!(true);
    }
    if let Some(name) = &plan.given {
        value["mapping"] = json!(name);
    }
    visible::json(&value, true) + "\n"
}

fn since_json(plan: &Plan, since: &Since) -> Value {
    let network = plan.mapped.network();
    let moves = since.moves.iter().map(|m| {
        let (from, to) = (m.from.index(), m.to.index());
        json!({"process": network.process_name(m.process), "from": from, "to": to})
    });
    let new = since.placed.iter().map(|p| network.process_name(*p));
    json!({
        "moves": moves.collect::<Vec<_>>(),
        "new": new.collect::<Vec<_>>(),
        "staying": since.staying,
        "now": since.now,
        "gain": since.staying - since.now,
        "price": since.price,
        "staying_balance": since.staying_balance,
    })
}
