//! The plan on standard output: it contains only the plan, and states its rounding errors.

use crate::common::Test;
use serde_json::Value;
use std::fmt::Write;

/// Returns the plan of a graph as JSON. Standard output must not contain anything but the plan.
fn plan(drawing: &str, options: &str) -> Value {
    let test = Test::new().file("g.dot", drawing);
    let done = test.args(&format!("partition g.dot --json {options}"));
    let done = done.run().status(0);
    serde_json::from_str(&done.stdout()).expect("a plan and nothing else")
}

/// Checks that a message of METIS is suppressed. METIS prints it if a part of its recursion has no
/// vertices left, which heavy vertices cause.
#[cfg(feature = "metis")]
#[test]
fn messages_of_metis_are_suppressed() {
    let mut tree = "digraph tree {\n".to_owned();
    for v in 0..128 {
        let load = if v < 3 { 100_000 } else { 0 };
        let _ = writeln!(tree, "p{v} [kind=k{v}, load={load}];");
    }
    for v in 1..128 {
        let _ = writeln!(tree, "p{} -> p{v} [src=o{v}, dst=i];", v / 2);
    }
    tree.push('}');
    for strategy in ["metis", "metis-kway", "metis-recursive"] {
        let plan = plan(&tree, &format!("-n 16 --strategy {strategy}"));
        assert_eq!(plan["strategy"], strategy);
    }
}

#[test]
fn rounding_of_weights_is_reported() {
    let options = "--hosts hosts=2 --imbalance 200";
    // One third has more digits than the search can count beside a thousand million.
    let third = "digraph g { a -> b [traffic=0.3333333333333333]; b -> c [traffic=1000000000] }";
    let told = plan(third, options);
    let off = told["rounded"]["cost"].as_f64().unwrap();
    let cost = told["cost"].as_f64().unwrap();
    assert!(0.0 < off && off < cost * 1e-6, "{told}");
    assert_eq!(told["rounded"]["load"], 0.0);
    assert_eq!(told["proved"], false);
    let text = Test::new().file("g.dot", third);
    text.args(&format!("partition g.dot {options}"))
        .run()
        .status(0)
        .stdout_has("note: the search rounds traffic and distances");
    let loads = "digraph g { a [load=0.3333333333333333]; b [load=1000000000]; a -> b }";
    let told = plan(loads, options);
    assert!(told["rounded"]["load"].as_f64().unwrap() > 0.0, "{told}");
    assert_eq!(told["rounded"]["cost"], 0.0);
    // A value with few digits is exact.
    let exact = "digraph g { a -> b [traffic=0.1]; b -> c [traffic=1000000000] }";
    let told = plan(exact, options);
    assert_eq!(told["rounded"]["cost"], 0.0);
    assert_eq!(told["proved"], true);
}

/// Reproduces an error: the table said "no" for the plan, but no text said that its limit had been
/// raised.
#[test]
fn all_strategies_are_judged_by_the_raised_bound() {
    let heavy = "digraph { a -> b -> c -> d -> e -> f -> h; b [load=100] }";
    let pinned = "digraph { s -> w [bundle=share]; w [replicas=6]; w -> t [bundle=select] }";
    let cost = "-n 3";
    let load = "-n 3 --objective largest-load";
    let pins = "-n 3 --objective largest-load --pin w*=0";
    for (graph, options, raised, others) in [
        (heavy, cost, 100.0 / 37.0, true),
        (heavy, load, 100.0 / 37.0, false),
        (pinned, pins, 2.0, false),
    ] {
        let told = plan(graph, options);
        let off = told["raised"].as_f64().unwrap() - raised;
        assert!(off.abs() < 1e-9, "{told}");
        assert_eq!(told["unavoidable"], true, "{told}");
        assert_eq!(told["proved"], true, "{told}");
        for other in told["others"].as_array().unwrap() {
            assert_eq!(other["feasible"], others, "{other}");
        }
        let test = Test::new().file("g.dot", graph);
        let done = test.args(&format!("partition g.dot {options}")).run();
        done.status(0)
            .stdout_has(match others {
                true => "\n  within all limits                    raised  raised       raised\n",
                false => "\n  within all limits                    raised      no           no\n",
            })
            .stderr_has("warning[G0457]");
    }
    let strict = Test::new().file("g.dot", heavy);
    let strict = strict.args(&format!("partition g.dot {load} --strict-balance"));
    strict.run().status(4).stderr_has("error[G0456]");
}

/// Checks a plan above the limit. If the largest load is minimized, only heavy processes and rules
/// raise the limit.
#[test]
fn a_plan_that_exceeds_the_bound_is_not_said_to_keep_it() {
    let chain = "digraph { a -> b -> c [type=u64]; a [load=4]; b [load=5]; c [load=5]; }";
    let test = Test::new().file("chain.dot", chain);
    let test = test.args(
        "partition chain.dot --hosts hosts=2 --strategy round-robin --objective largest-load",
    );
    let done = test.run().status(0);
    done.stdout_has("has load 9; an even share is 7; loads cannot be split, so 9 is allowed")
        .stdout_has("\n  within all limits                             no ");
}

/// Checks that the lower bound includes preferences and moves, because the search minimizes them
/// together with the cost.
#[test]
fn the_bound_includes_preferences_and_the_price_of_moves() {
    let options = "--hosts hosts=2:cores=1 --apart * --prefer cluster_m=100";
    let graph = "digraph g { subgraph cluster_m { a -> b } }";
    let shown = plan(graph, options);
    let [cost, minimized, bound] =
        ["cost", "minimized", "lower_bound"].map(|name| shown[name].as_f64().unwrap());
    assert!(cost < bound && bound <= minimized, "{shown}");
    let stack = &shown["others"][0];
    assert!(stack["minimized"].as_f64() > stack["cost"].as_f64());
    let text = Test::new().file("g.dot", graph);
    text.args(&format!("partition g.dot {options}"))
        .run()
        .status(0)
        .stdout_has("\n  cost with preferences and moves ")
        .stdout_has("\nbound: proved, no mapping costs less with preferences and moves\n");
    let alone = plan(graph, "--hosts hosts=2:cores=1 --apart *");
    assert_eq!(alone["cost"], alone["minimized"]);
}
