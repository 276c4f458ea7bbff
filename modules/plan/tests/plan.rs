//! Maps networks onto hosts, and checks the plans and the diagnostics.

use graphmap_dot::language::load;
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Code, Diagnostics};
use graphmap_kpn::mapping::OsProcessId;
use graphmap_kpn::network::Verified;
use graphmap_kpn::source::{SourceMap, Span};
use graphmap_kpn::{expand::expand, infer::infer, resolve::resolve, verify::verify};
use graphmap_plan::{Modules, Plan, Previous, Request, codes, plan};
use graphmap_platform::{Class, Distances, Host, Platform};

fn network(text: &str) -> Verified {
    let mut found = Diagnostics::new();
    let declared = load(
        &mut SourceMap::new(),
        "g.dot",
        text.as_bytes().to_vec(),
        &mut found,
    );
    let declared = declared.unwrap_or_else(|| panic!("{found:#?}"));
    let network = resolve(expand(declared).unwrap_or_else(|d| panic!("{d:#?}")).0);
    infer(network.unwrap_or_else(|d| panic!("{d:#?}")).0)
        .and_then(verify)
        .unwrap_or_else(|d| panic!("{d:#?}"))
        .0
}

/// Returns hosts of two slots each, with integer distances.
fn hosts(names: &[&str]) -> Platform {
    let hosts = names.iter().map(|name| Host::new(*name, 2)).collect();
    let distances = Distances::new([0.0, 1.0, 1.0, 1.0, 10.0, 10.0]).unwrap();
    Platform::new(hosts).unwrap().with_distances(distances)
}

fn planned(text: &str, platform: &Platform, request: &Request<'_>) -> (Plan, Vec<Code>) {
    let (plan, found) =
        plan(&network(text), platform, request).unwrap_or_else(|d| panic!("{d:#?}"));
    (plan, found.iter().map(|d| d.code).collect())
}

fn refused(text: &str, platform: &Platform, request: &Request<'_>) -> Diagnostics {
    plan(&network(text), platform, request)
        .map(|(plan, _)| plan.cost)
        .unwrap_err()
}

/// Returns a request for a short search, because these networks are tiny.
fn quick() -> Request<'static> {
    let mut request = Request::default();
    request.options.steps = 50_000;
    request
}

const PIPELINE: &str = "digraph { a -> b [traffic=9]; b -> c [traffic=1]; c -> d [traffic=9] }";

#[test]
fn a_pipeline_is_cut_where_little_flows() {
    let (plan, found) = planned(PIPELINE, &hosts(&["x", "y"]), &quick());
    // One process per slot: `a` and `b` are on one host, `c` and `d` on the other.
    assert_eq!(plan.cost, 9.0 + 10.0 + 9.0);
    let remote: f64 = plan
        .traffic
        .iter()
        .filter(|(c, _)| *c >= Class::Group)
        .map(|(_, t)| t)
        .sum();
    assert_eq!(remote, 1.0);
    assert_eq!(plan.loads, [1.0; 4]);
    assert_eq!(plan.hosts, ["x", "y"]);
    assert!(plan.lower_bound <= plan.cost);
    assert!(found.is_empty(), "{found:?}");
    let names: Vec<_> = plan.others.iter().map(|o| &*o.strategy).collect();
    assert_eq!(names, ["stack", "round-robin"]);
    assert!(plan.others.iter().all(|o| o.cost >= plan.cost));
}

#[test]
fn constraints_of_the_graph_are_kept() {
    let text = "digraph { a -> b -> c -> d; a [host=y]; d [osprocess=0]; b [colocate=g]; c [colocate=g]; }";
    let request = Request {
        imbalance: 1.0,
        ..quick()
    };
    let (plan, _) = planned(text, &hosts(&["x", "y"]), &request);
    let mapping = plan.mapped.mapping();
    assert_eq!(
        mapping.bindings[mapping.os_process[0]].host.as_deref(),
        Some("y")
    );
    assert_eq!(mapping.os_process[1], mapping.os_process[2]);
    assert_eq!(mapping.os_process[3].index(), 0);
}

#[test]
fn modules_may_stay_whole() {
    let text = "digraph { subgraph cluster_m { replicas=3; a -> b [traffic=0]; b -> a [step=1, wrap=true, traffic=50, src=next, dst=last]; } }";
    let request = Request {
        os_processes: Some(3),
        modules: Modules::Atom,
        ..quick()
    };
    let (plan, _) = planned(text, &hosts(&["x", "y"]), &request);
    let o = &plan.mapped.mapping().os_process;
    assert!(o[0] == o[1] && o[2] == o[3] && o[4] == o[5], "{o:?}");
}

#[test]
fn contradictions_are_shown_where_they_are_written() {
    let text = "digraph { a -> b; a [osprocess=0, colocate=g]; b [osprocess=1, colocate=g]; }";
    let found = refused(text, &hosts(&["x"]), &quick());
    let diagnostic = found.iter().next().unwrap();
    assert_eq!((found.len(), diagnostic.code), (1, codes::INFEASIBLE));
    let mut spans = vec![diagnostic.primary.as_ref().unwrap().span];
    spans.extend(diagnostic.secondary.iter().map(|l| l.span));
    let shown = |word: &str| {
        let (start, end) = (
            text.find(word).unwrap(),
            text.find(word).unwrap() + word.len(),
        );
        spans
            .iter()
            .any(|s: &Span| (s.start as usize) < end && (s.end as usize) > start)
    };
    assert!(
        shown("osprocess=0") && shown("osprocess=1"),
        "{diagnostic:#?}"
    );
    // The message uses terms of the graph, not of the engine.
    let said = &diagnostic.message;
    assert!(
        said.contains("process `") && !said.contains("vert"),
        "{said}"
    );
}

#[test]
fn unknown_names_get_a_suggestion() {
    let request = quick();
    let text = "digraph { a -> b; a [host=nodee1]; b [osprocess=7]; }";
    let found = refused(text, &hosts(&["node1"]), &request);
    let mut reported: Vec<_> = found.iter().map(|d| (d.code, d.help[0].clone())).collect();
    reported.sort();
    assert_eq!(
        reported[0],
        (codes::UNKNOWN_HOST, "did you mean `node1`?".to_owned())
    );
    assert_eq!(reported[1].0, codes::NO_OS_PROCESS);

    let found = graphmap_plan::strategy("atuo", &[]).unwrap_err();
    assert_eq!(found.help, ["did you mean `auto`?"]);
}

#[test]
fn unusual_requests_get_a_warning() {
    let request = Request {
        os_processes: Some(9),
        ..quick()
    };
    let (plan, found) = planned(PIPELINE, &hosts(&["x"]), &request);
    assert_eq!(found, [codes::FEWER_PROCESSES, codes::OVERCOMMITTED]);
    assert_eq!(plan.loads.len(), 4);

    let heavy = "digraph { a -> b; a [load=9]; }";
    assert_eq!(
        planned(heavy, &hosts(&["x"]), &quick()).1,
        [codes::IMBALANCE]
    );

    let request = Request {
        named_hosts: false,
        ..quick()
    };
    let pinned = "digraph { a -> b; a [host=x]; }";
    assert_eq!(
        planned(pinned, &hosts(&["x"]), &request).1,
        [codes::HOST_IGNORED]
    );
}

fn numbered(number: Option<usize>) -> Option<OsProcessId> {
    number.map(OsProcessId::from_index)
}

#[test]
fn a_previous_mapping_is_kept_where_moving_costs_more_than_it_gains() {
    let platform = hosts(&["x", "y"]);
    let mut request = quick();
    request.options.strategy = graphmap_plan::strategy("round-robin", &[]).unwrap();
    let (dealt, _) = planned(PIPELINE, &platform, &request);
    // Two processes are exchanged, so this mapping is worse than the best.
    let mut previous = dealt.mapped.mapping().clone();
    previous.os_process.swap(1, 2);
    let yesterday = |migration| Previous {
        os_process: previous.os_process.iter().map(|&o| Some(o)).collect(),
        bindings: previous.bindings.clone(),
        migration,
    };
    let (dear, free) = (yesterday(1e6), yesterday(0.0));
    let request = |previous| Request {
        previous: Some(previous),
        ..quick()
    };
    let (kept, _) = planned(PIPELINE, &platform, &request(&dear));
    let since = kept.since.unwrap();
    assert_eq!(kept.mapped.mapping().os_process, previous.os_process);
    assert!(since.moves.is_empty() && since.placed.is_empty());
    assert_eq!(
        (since.staying, since.now, since.price),
        (kept.cost, kept.cost, 0.0)
    );
    let (best, _) = planned(PIPELINE, &platform, &request(&free));
    let since = best.since.unwrap();
    assert_eq!(
        (best.cost, since.staying, since.now),
        (28.0, kept.cost, 28.0)
    );
    assert!(!since.moves.is_empty());

    // One host is new, one is gone, and the order of the others differs. One process is new.
    let today = hosts(&["z", "y"]);
    let grown = PIPELINE.replace("c -> d", "c -> e");
    let half = Previous {
        os_process: [Some(0), Some(2), Some(3), None].map(numbered).into(),
        ..yesterday(1e6)
    };
    let (plan_today, _) = planned(&grown, &today, &request(&half));
    let since = plan_today.since.unwrap();
    let name = |p: &graphmap_kpn::network::ProcessId| {
        plan_today.mapped.network().process_name(*p).to_owned()
    };
    // `a` was on `x`, which is gone. `b` and `c` stay on `y`, whose OS processes have the same
    // numbers.
    assert_eq!(
        since.placed.iter().map(name).collect::<Vec<_>>(),
        ["a", "e"]
    );
    assert!(since.moves.is_empty());
    let numbers: Vec<u32> = plan_today.mapped.mapping().numbers().collect();
    assert_eq!(numbers[1..3], [2, 3]);

    let other = network("digraph { a -> b }");
    let found = plan(&other, &platform, &request(&dear))
        .map(|(p, _)| p.cost)
        .unwrap_err();
    assert_eq!(found.iter().next().unwrap().code, codes::PREVIOUS);
}

fn ruled(
    text: &str,
    request: &Request<'_>,
    said: &str,
) -> Result<Plan, (Vec<String>, Diagnostics)> {
    let mut map = SourceMap::new();
    // Spans of rules come after those of the graph.
    map.add("g.dot", text).unwrap();
    let source = map.add("rules", said).unwrap();
    let mut found = Diagnostics::new();
    let rules = graphmap_plan::read_rules(&source, &mut found);
    assert!(!found.has_errors(), "{found:#?}");
    let request = Request {
        rules: &rules,
        ..request.clone()
    };
    let done = plan(&network(text), &hosts(&["x", "y"]), &request);
    done.map(|(plan, _)| plan).map_err(|found| {
        let labels = found
            .iter()
            .flat_map(|d| d.primary.iter().chain(&d.secondary));
        let shown = labels.map(|l| map.text(l.span).to_owned()).collect();
        (shown, found)
    })
}

/// Returns the number of matching processes in each OS process.
fn held(plan: &Plan, processes: impl Fn(&str) -> bool) -> Vec<usize> {
    let (network, mapping) = (plan.mapped.network(), plan.mapped.mapping());
    let mut held = vec![0; mapping.bindings.len()];
    for id in network.processes.ids() {
        held[mapping.of(id).index()] += usize::from(processes(network.process_name(id)));
    }
    held
}

const FARM: &str = "digraph { source -> worker [bundle=scatter]; worker -> sink [bundle=gather];
    worker [replicas=6]; subgraph cluster_log { replicas=2; p -> q; } }";

#[test]
fn rules_are_kept() {
    let request = Request {
        imbalance: 2.0,
        ..quick()
    };
    let of = |rules| ruled(FARM, &request, rules).unwrap_or_else(|e| panic!("{rules}: {e:#?}"));
    let worker = |name: &str| name.starts_with("worker");

    let plan = of("pin worker* = y");
    assert_eq!(held(&plan, worker)[..2], [0, 0]);
    let plan = of("pin kind:worker, source = 1-2 \n pin sink = 3");
    let held_all = held(&plan, |n| worker(n) || n == "source");
    assert_eq!((held_all[0], held_all[3]), (0, 0));
    assert_eq!(held(&plan, |n| n == "sink"), [0, 0, 0, 1]);
    let plan = of("together source, sink");
    assert!(held(&plan, |n| n == "source" || n == "sink").contains(&2));
    let plan = of("apart worker1, worker2, worker3, sink");
    let four = ["worker1", "worker2", "worker3", "sink"];
    assert_eq!(held(&plan, |n| four.contains(&n)), [1, 1, 1, 1]);
    let plan = of("hold kind:worker = 1-2");
    assert!(held(&plan, worker).iter().all(|n| (1..=2).contains(n)));
    // Host `x` has OS processes 0 and 1.
    let plan = of("hold kind:worker = 3 @ 2, 3\nhold kind:worker = 0 @ x");
    assert_eq!(held(&plan, worker), [0, 0, 3, 3]);
}

#[test]
fn hold_and_whole_of_a_graph_are_satisfied() {
    let text = "digraph { source -> worker [bundle=scatter]; worker [replicas=8, hold=\"1-2\"];
        subgraph cluster_log { replicas=3; whole=true; p -> q } }";
    let request = Request {
        imbalance: 1.0,
        ..quick()
    };
    let (plan, _) = planned(text, &hosts(&["x", "y"]), &request);
    assert_eq!(held(&plan, |n| n.starts_with("worker")), [2; 4]);
    let o = &plan.mapped.mapping().os_process;
    assert!(o[9] == o[10] && o[11] == o[12] && o[13] == o[14], "{o:?}");
    let found = refused(&text.replace("1-2", "-1"), &hosts(&["x", "y"]), &request);
    let diagnostic = found.iter().next().unwrap();
    assert_eq!(
        diagnostic.message,
        "there is no feasible mapping: 8 processes are too many for at most 1 in each of 4 OS processes"
    );
}

#[test]
fn modules_are_kept_whole_by_name_or_kind() {
    let request = Request {
        imbalance: 2.0,
        ..quick()
    };
    for rule in [
        "whole log",
        "whole cluster_log*",
        "together module:cluster_log1\nwhole log",
    ] {
        let plan = ruled(FARM, &request, rule).unwrap();
        let network = plan.mapped.network();
        let of = |name: &str| {
            let mut ids = network.processes.ids();
            let id = ids.find(|p| network.process_name(*p) == name);
            plan.mapped
                .mapping()
                .of(id.unwrap_or_else(|| panic!("{name}")))
        };
        assert!(of("p1") == of("q1") && of("p2") == of("q2"), "{rule}");
    }
    // A strong preference does not lower the cost.
    let dear = ruled(FARM, &request, "prefer log = 1000").unwrap();
    let none = ruled(FARM, &request, "prefer log = 0").unwrap();
    assert!(dear.cost >= none.cost);
}

#[test]
fn the_rules_in_conflict_are_shown_and_no_others() {
    let shown = |rules| ruled(FARM, &quick(), rules).unwrap_err().0;
    let rules = "pin worker* = 0\npin sink = 1\ntogether sink, worker2\npin p1 = 0\napart p1, q1";
    let mut lines: Vec<_> = shown(rules);
    lines.sort();
    assert_eq!(
        lines,
        ["pin sink = 1", "pin worker* = 0", "together sink, worker2"]
    );
    assert_eq!(
        shown("apart kind:worker\npin sink = 1"),
        ["apart kind:worker"]
    );
    assert_eq!(shown("hold * = -2\npin sink = 1"), ["hold * = -2"]);
    let (_, found) = ruled(FARM, &quick(), "pin wrker1 = x").unwrap_err();
    assert_eq!(
        found.iter().next().unwrap().help,
        ["did you mean `worker1`?"]
    );
    let (_, found) = ruled(FARM, &quick(), "pin workers* = x").unwrap_err();
    let first = found.iter().next().unwrap();
    assert_eq!(first.message, "no process matches `workers*`");
    assert_eq!(first.help, ["did you mean `worker*`, as in `worker1`?"]);
    let (_, found) = ruled(FARM, &quick(), "pin worker[12] = x").unwrap_err();
    let first = found.iter().next().unwrap();
    assert_eq!(first.message, "there is no process `worker[12]`");
    assert_eq!(
        first.help,
        [
            "use `*` for any characters and `?` for one; other characters match themselves",
            "did you mean `worker*`, as in `worker1`?"
        ]
    );
    let (_, found) = ruled(FARM, &quick(), "pin log = z\npin module:log = 4").unwrap_err();
    let codes: Vec<_> = found.iter().map(|d| d.code).collect();
    assert_eq!(
        codes,
        [codes::NOBODY, codes::UNKNOWN_HOST, codes::NO_OS_PROCESS]
    );
    assert_eq!(
        found.iter().next().unwrap().help,
        ["for the module of this name, write `module:log`"]
    );
}

#[test]
fn os_processes_share_the_memory_of_their_host() {
    let text = "digraph { a [mem=6]; b [mem=6]; a -> b; }";
    // Two OS processes on `x` share its memory.
    let both = ruled(text, &quick(), "memory x = 12").unwrap();
    assert_eq!(both.mapped.mapping().os_process.len(), 2);
    let (_, found) = ruled(text, &quick(), "memory * = 11").unwrap_err();
    assert_eq!(found.iter().next().unwrap().code, codes::INFEASIBLE);
    // A single OS process on `x` can use all its memory.
    let alone = Request {
        os_processes: Some(1),
        ..quick()
    };
    ruled(text, &alone, "memory x = 12").unwrap();
    ruled(text, &quick(), "memory 0 = 0\nmemory 1 = 12").unwrap();
}

#[test]
fn fractions_are_counted_exactly() {
    // The largest and the smallest traffic differ by a factor of 10^10.
    let text = "digraph { a -> b [traffic=1000000000]; b -> c [traffic=0.1]; c -> d [traffic=1000000000] }";
    let mut request = quick();
    request.os_processes = Some(2);
    request.imbalance = 0.0;
    let hosts = hosts(&["x", "y"]);
    let (plan, found) = planned(text, &hosts, &request);
    assert!(found.is_empty(), "{found:?}");
    assert!(plan.proved && plan.rounded.cost == 0.0);
    // Both OS processes are on the first host.
    assert_eq!((plan.cost, plan.lower_bound), (0.1, 0.1));
    // Loads are exact too: 0.1 and 0.2 are 0.3.
    let text = "digraph { a [load=0.1]; b [load=0.2]; c [load=0.3]; a -> c; b -> c }";
    let (plan, found) = planned(text, &hosts, &request);
    assert!(found.is_empty() && plan.rounded.load == 0.0, "{found:?}");
    assert_eq!(plan.cost, 2.0);
}

#[test]
fn rounded_weights_are_reported_and_not_proved() {
    let third = 1.0 / 3.0;
    let text = format!(
        "digraph {{ a -> b [traffic={third}]; b -> c [traffic=1000000000]; c -> d [traffic={third}] }}"
    );
    let (plan, _) = planned(&text, &hosts(&["x", "y"]), &quick());
    assert!(plan.rounded.cost > 0.0 && !plan.proved);
    assert!(
        plan.lower_bound <= plan.cost && plan.cost <= plan.lower_bound + 2.0 * plan.rounded.cost
    );
    let distance = |c: Class| if c >= Class::Group { 10.0 } else { 1.0 };
    let costs = plan.traffic.iter().map(|(c, t)| match c {
        Class::Collocated => 0.0,
        _ => t * distance(*c),
    });
    assert_eq!(plan.cost, costs.sum::<f64>());
}

#[test]
fn a_previous_mapping_with_fractions_of_a_price_is_exact() {
    let network = network("digraph { a -> b [traffic=2]; c -> d [traffic=2] }");
    let hosts = hosts(&["x", "y"]);
    let previous = Previous {
        os_process: [0, 1, 0, 1].map(|o| numbered(Some(o))).into(),
        bindings: hosts
            .slots_for(2)
            .iter()
            .map(|_| Default::default())
            .collect(),
        migration: 0.25,
    };
    let mut request = quick();
    request.os_processes = Some(2);
    request.previous = Some(&previous);
    let (plan, _) = plan(&network, &hosts, &request).unwrap();
    // Two processes change places, so that no traffic leaves an OS process.
    let since = plan.since.unwrap();
    assert_eq!((since.price, plan.cost), (0.5, 0.0));
}

#[test]
fn round_robin_follows_the_order_in_which_hosts_are_listed() {
    // In the hostfile `x y x y`, the slots of a host are not consecutive.
    let mut found = Diagnostics::new();
    let source = SourceMap::new().add("hosts", "x\ny\nx\ny\n").unwrap();
    let platform = graphmap_platform::read(&source, None, &mut found).unwrap();
    let mut request = quick();
    request.options.strategy = graphmap_plan::strategy("round-robin", &[]).unwrap();
    let (plan, _) = planned("digraph { a -> b -> c -> d -> e }", &platform, &request);
    let mapping = plan.mapped.mapping();
    assert!(mapping.numbers().eq([0, 1, 2, 3, 0]));
    let on = mapping
        .bindings
        .values()
        .map(|b| b.host.as_deref().unwrap());
    assert!(on.eq(["x", "y", "x", "y"]));
}

#[test]
fn equal_workers_lie_in_runs() {
    let text = "digraph { s -> w [bundle=scatter]; w [replicas=1000]; w -> e [bundle=gather]; }";
    let mut request = quick();
    request.os_processes = Some(16);
    let (plan, _) = planned(
        text,
        &hosts(&["a", "b", "c", "d", "e", "f", "g", "h"]),
        &request,
    );
    let runs = plan
        .mapped
        .mapping()
        .os_process
        .chunk_by(|a, b| a == b)
        .count();
    assert!(runs <= 3 * 16, "{runs} runs");
}

const PROGRAMS: &str = "digraph { boss [program=b]; worker [program=w, replicas=6];
    log [program=l, load=0]; boss -> worker [bundle=scatter]; worker -> log [bundle=gather] }";

/// Returns the processes of each OS process by the first letter of their names, without duplicates.
fn letters(plan: &Plan) -> Vec<String> {
    let (network, mapping) = (plan.mapped.network(), plan.mapped.mapping());
    let mut letters = vec![String::new(); mapping.bindings.len()];
    for process in network.processes.ids() {
        let here = &mut letters[mapping.of(process).index()];
        let letter = network.process_name(process).chars().next().unwrap();
        if !here.contains(letter) {
            here.push(letter);
        }
    }
    letters
}

#[test]
fn every_strategy_keeps_programs_apart() {
    let platform = Platform::new(vec![Host::new("x", 8)]).unwrap();
    for strategy in graphmap_partition::strategies() {
        if strategy.kind == graphmap_partition::Kind::Program {
            continue;
        }
        for n in 3..=8 {
            let mut request = quick();
            request.os_processes = Some(n);
            request.options.strategy = strategy.clone();
            let (plan, _) = planned(PROGRAMS, &platform, &request);
            let letters = letters(&plan);
            assert!(
                letters.iter().all(|here| here.len() <= 1),
                "{} {n}: {letters:?}",
                strategy.name
            );
            assert!(plan.divided && !plan.proved);
        }
    }
    let mut request = quick();
    request.os_processes = Some(6);
    let (plan, _) = planned(PROGRAMS, &platform, &request);
    assert_eq!(letters(&plan), ["b", "w", "w", "w", "w", "l"]);
}

#[test]
fn programs_get_the_places_of_their_processes() {
    let at = |more: &str| PROGRAMS.replace("load=0", more);
    let platform = hosts(&["x", "y", "z"]);
    let of = |text: &str| letters(&planned(text, &platform, &quick()).0);
    assert_eq!(of(&at("host=x"))[..2], ["l", "b"]);
    assert_eq!(of(&at("osprocess=4"))[4], "l");
    let text = at("osprocess=1").replace("program=b", "program=b, host=x");
    assert_eq!(of(&text)[..2], ["b", "l"]);
    // `hold=` counts in the OS processes of the program only.
    let text = PROGRAMS.replace("replicas=6", "replicas=6, hold=\"2-2\"");
    assert_eq!(of(&text).iter().filter(|here| *here == "w").count(), 3);
}

#[test]
fn programs_that_must_share_an_os_process_are_an_error() {
    let platform = hosts(&["x", "y"]);
    let message = |text: &str, request: &Request<'_>| {
        let found = refused(text, &platform, request);
        let error = found.iter().next().unwrap();
        assert_eq!(error.code, Code(477));
        assert!(error.primary.is_some() && !error.help.is_empty());
        error.message.clone()
    };
    let mut two = quick();
    two.os_processes = Some(2);
    assert_eq!(
        message(PROGRAMS, &two),
        "2 OS processes cannot run 3 programs"
    );
    let text = PROGRAMS
        .replace("load=0", "colocate=g")
        .replace("program=b", "program=b, colocate=g");
    assert_eq!(
        message(&text, &quick()),
        "`boss` and `log` must be in one OS process, but run different programs"
    );
    let text = PROGRAMS
        .replace("load=0", "osprocess=1")
        .replace("program=b", "program=b, osprocess=1");
    assert_eq!(
        message(&text, &quick()),
        "OS process 1 must run `l` and `b`"
    );
    // Three programs on a host of two OS processes.
    let text = PROGRAMS.replace("program=", "host=x, program=");
    assert_eq!(
        message(&text, &quick()),
        "one of its OS processes must run `l` and `w`"
    );
}
