//! Shows a partition of a graph without a network, as text or as JSON.

use super::check::plural;
use super::shown_plan::{SHOWN, Table, more_time, number, percent, within};
use crate::visible;
use graphmap_graphfile::{Format, GraphFile};
use graphmap_partition::Objective;
use graphmap_plan::{BarePlan, Judged};
use serde_json::json;

/// Returns a partition as text. `named` is true if the blocks are on hosts, so that the cost
/// includes distances.
pub(crate) fn as_text(name: &str, file: &GraphFile, plan: &BarePlan, named: bool) -> String {
    let graph = &file.graph;
    let vertices = match graph.vertices() {
        1 => "1 vertex".to_owned(),
        n => format!("{n} vertices"),
    };
    let mut text = format!(
        "{}: {vertices} and {} in {}, strategy {}\n\n",
        visible::name(name),
        plural(graph.edges(), "edge"),
        plural(plan.bindings.len(), "block"),
        plan.own.strategy,
    );
    text += &of_blocks(plan, named);
    text += &compared(plan, named);
    text += &bound(plan, named);
    text
}

fn of_blocks(plan: &BarePlan, named: bool) -> String {
    let mut rows = match named {
        true => Table::new(&["block", "host", "vertices", "load", "share"]),
        false => Table::new(&["block", "vertices", "load", "share"]),
    };
    for (b, binding) in plan.bindings.iter().enumerate().take(SHOWN) {
        let mut row = vec![b.to_string()];
        row.extend(binding.host.clone());
        row.push(plan.vertices[b].to_string());
        row.push(plan.loads[b].to_string());
        row.push(percent(plan.shares[b]));
        rows.rows.push(row);
    }
    let mut text = match named {
        true => rows.text(&[1]),
        false => rows.text(&[]),
    };
    if plan.bindings.len() > SHOWN {
        text += &format!("  ... and {} more\n", plan.bindings.len() - SHOWN);
    }
    text + "\n"
}

/// Returns a table that compares the partition with the results of other strategies.
fn compared(plan: &BarePlan, named: bool) -> String {
    let all: Vec<&Judged> = std::iter::once(&plan.own).chain(&plan.others).collect();
    let mut rows = Table::new(&[""]);
    rows.head.extend(all.iter().map(|j| j.strategy.clone()));
    let mut row = |name: &str, of: &dyn Fn(&Judged) -> String| {
        let cells = all.iter().map(|j| of(j));
        rows.rows
            .push(std::iter::once(name.to_owned()).chain(cells).collect());
    };
    match named {
        true => {
            row("cost (weight times distance)", &|j| number(j.cost));
            row("largest weight that leaves a host", &|j| {
                j.bottleneck.to_string()
            });
        }
        false => row("cut (weight of edges between blocks)", &|j| number(j.cost)),
    }
    row("edges between blocks", &|j| j.edges_cut.to_string());
    row("largest load, relative to its share", &|j| {
        percent(j.balance)
    });
    row("within the balance limit", &|j| {
        within(j.feasible, plan.raised).to_owned()
    });
    rows.text(&[0])
}

fn bound(plan: &BarePlan, named: bool) -> String {
    let what = match plan.objective {
        Objective::Cost if named => "no partition costs less",
        Objective::Cost => "no partition cuts less",
        Objective::RemoteChannels => "no partition has fewer edges between blocks",
        Objective::Bottleneck if plan.proved => "no partition has less weight at its busiest host",
        Objective::LargestLoad if plan.proved => "no partition has a smaller largest load",
        // The objective was another quantity, but the bound is a bound on the cost.
        Objective::Bottleneck | Objective::LargestLoad => {
            return format!(
                "\nbound: no partition costs less than {}\n",
                number(plan.lower_bound)
            );
        }
    };
    let raised = match plan.raised {
        Some(_) => " within the raised balance limit",
        None => "",
    };
    match plan.proved {
        true => format!("\nbound: proved, {what}{raised}\n"),
        false => format!(
            "\nbound: {what} than {}{raised} (gap {:.1}%{})\n",
            number(plan.lower_bound),
            plan.gap * 100.0,
            more_time(plan.narrows)
        ),
    }
}

pub(crate) fn as_json(name: &str, format: Format, file: &GraphFile, plan: &BarePlan) -> String {
    let judged = |j: &Judged| {
        json!({
            "strategy": j.strategy, "cost": j.cost, "edges_cut": j.edges_cut, "balance": j.balance,
            "bottleneck": j.bottleneck, "feasible": j.feasible,
        })
    };
    let blocks = plan.bindings.iter().enumerate().map(|(b, binding)| {
        json!({
            "host": binding.host, "cores": binding.cores, "vertices": plan.vertices[b],
            "load": plan.loads[b], "share": plan.shares[b],
        })
    });
    let value = json!({
        "name": name,
        "format": format.name(),
        "vertices": file.graph.vertices(),
        "edges": file.graph.edges(),
        "blocks": blocks.collect::<Vec<_>>(),
        "own": judged(&plan.own),
        "others": plan.others.iter().map(judged).collect::<Vec<_>>(),
        "raised": plan.raised,
        "lower_bound": plan.lower_bound,
        "gap": plan.gap,
        "proved": plan.proved,
        "block_of": plan.block_of,
    });
    visible::json(&value, true) + "\n"
}
