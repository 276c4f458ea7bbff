//! From a drawn network and hosts to a plan, and what is said when there is none.

use graphmap_dot::dialect::load;
use graphmap_kpn::diagnostic::{Code, Diagnostics};
use graphmap_kpn::network::Verified;
use graphmap_kpn::source::{SourceMap, Span};
use graphmap_kpn::{expand::expand, resolve::resolve, verify::verify};
use graphmap_partition::plan::{Modules, Plan, Request, codes, plan};
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
    verify(network.unwrap_or_else(|d| panic!("{d:#?}")).0)
        .unwrap_or_else(|d| panic!("{d:#?}"))
        .0
}

/// Hosts of two slots each, with whole distances.
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

/// A short search: these networks are tiny.
fn quick() -> Request<'static> {
    let mut request = Request::default();
    request.options.steps = 50_000;
    request
}

const PIPELINE: &str = "digraph { a -> b [traffic=9]; b -> c [traffic=1]; c -> d [traffic=9] }";

#[test]
fn a_pipeline_is_cut_where_little_flows() {
    let (plan, found) = planned(PIPELINE, &hosts(&["x", "y"]), &quick());
    // One process for each slot: a b on one host, c d on the other.
    assert_eq!(plan.cost, 9.0 + 10.0 + 9.0);
    let far: f64 = plan
        .traffic
        .iter()
        .filter(|(c, _)| *c >= Class::Group)
        .map(|(_, t)| t)
        .sum();
    assert_eq!(far, 1.0);
    assert_eq!(plan.loads, [1.0; 4]);
    assert_eq!(plan.hosts, ["x", "y"]);
    assert!(plan.lower_bound <= plan.cost);
    assert!(found.is_empty(), "{found:?}");
    let names: Vec<_> = plan.others.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, ["stack", "round-robin"]);
    assert!(plan.others.iter().all(|(_, cost, _)| *cost >= plan.cost));
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
        mapping.places[mapping.os_process[0] as usize]
            .host
            .as_deref(),
        Some("y")
    );
    assert_eq!(mapping.os_process[1], mapping.os_process[2]);
    assert_eq!(mapping.os_process[3], 0);
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
    let finding = found.iter().next().unwrap();
    assert_eq!((found.len(), finding.code), (1, codes::INFEASIBLE));
    let mut spans = vec![finding.primary.as_ref().unwrap().span];
    spans.extend(finding.secondary.iter().map(|l| l.span));
    let shown = |word: &str| {
        let (start, end) = (
            text.find(word).unwrap(),
            text.find(word).unwrap() + word.len(),
        );
        spans
            .iter()
            .any(|s: &Span| (s.start as usize) < end && (s.end as usize) > start)
    };
    assert!(shown("osprocess=0") && shown("osprocess=1"), "{finding:#?}");
    // In the words of the graph, not of the engine.
    let said = &finding.message;
    assert!(
        said.contains("process `") && !said.contains("vert"),
        "{said}"
    );
}

#[test]
fn what_does_not_exist_is_told_with_the_nearest_that_does() {
    let request = quick();
    let text = "digraph { a -> b; a [host=nodee1]; b [osprocess=7]; }";
    let found = refused(text, &hosts(&["node1"]), &request);
    let mut told: Vec<_> = found.iter().map(|d| (d.code, d.help[0].clone())).collect();
    told.sort();
    assert_eq!(
        told[0],
        (codes::UNKNOWN_HOST, "did you mean `node1`?".to_owned())
    );
    assert_eq!(told[1].0, codes::NO_OS_PROCESS);

    let mut request = quick();
    request.options.strategy = "atuo".into();
    let found = refused(PIPELINE, &hosts(&["x"]), &request);
    assert_eq!(found.iter().next().unwrap().help, ["did you mean `auto`?"]);
}

#[test]
fn odd_requests_are_met_with_a_warning() {
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

#[test]
fn a_previous_mapping_is_kept_where_moving_costs_more_than_it_gains() {
    let platform = hosts(&["x", "y"]);
    let mut request = quick();
    request.options.strategy = "round-robin".into();
    let (dealt, _) = planned(PIPELINE, &platform, &request);
    // Two and two exchanged: worse than the best.
    let mut previous = dealt.mapped.mapping().clone();
    previous.os_process.swap(1, 2);
    let dear = Request {
        previous: Some((&previous, 1e6)),
        ..quick()
    };
    let (kept, _) = planned(PIPELINE, &platform, &dear);
    assert_eq!(
        (kept.moved, &kept.mapped.mapping().os_process),
        (0, &previous.os_process)
    );
    let free = Request {
        previous: Some((&previous, 0.0)),
        ..quick()
    };
    assert_eq!(planned(PIPELINE, &platform, &free).0.cost, 28.0);

    let other = network("digraph { a -> b }");
    let found = plan(&other, &platform, &dear)
        .map(|(p, _)| p.cost)
        .unwrap_err();
    assert_eq!(found.iter().next().unwrap().code, codes::PREVIOUS);
}
