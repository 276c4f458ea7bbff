//! Compares solutions of small instances with all mappings: bound <= optimum <= found, and
//! feasibility.

use graphmap_partition::{
    Block, Constraint, Error, Machine, Objective, Options, Problem, Tree, evaluate, solve,
    strategies,
};
use oracle::{Case, mappings};
use proptest::prelude::*;

mod oracle;

fn machines() -> impl Strategy<Value = Tree> {
    let block = |(speed, memory, slots)| {
        Tree::Block(Block {
            speed,
            memory,
            slots,
        })
    };
    let same = (1_usize..4, 1_usize..3).prop_map(|(inner, outer)| {
        let core = Tree::Block(Block::default());
        let host = Tree::Group {
            distance: 1,
            members: vec![core; inner],
        };
        Tree::Group {
            distance: 7,
            members: vec![host; outer],
        }
    });
    let leaf = (
        1_u32..3,
        prop::option::of(3_u64..12),
        prop::option::of(1_u32..6),
    )
        .prop_map(block);
    let mixed = prop::collection::vec(prop::collection::vec(leaf, 1..3), 1..3).prop_map(|hosts| {
        let host = |members| Tree::Group {
            distance: 2,
            members,
        };
        Tree::Group {
            distance: 9,
            members: hosts.into_iter().map(host).collect(),
        }
    });
    prop_oneof![same, mixed]
}

fn constraint(n: u32, k: u32) -> impl Strategy<Value = Constraint> {
    let some = move || prop::collection::vec(0..n, 2..4);
    let blocks = move || prop::collection::vec(0..k, 1..3);
    // Blocks in up to three places, some blocks in none.
    let places = move || {
        prop::collection::vec(0_usize..4, k as usize).prop_map(|place| {
            let mut places = vec![Vec::new(); 3];
            for (b, p) in place.into_iter().enumerate().filter(|e| e.1 < 3) {
                places[p].push(b as u32);
            }
            places.retain(|p| !p.is_empty());
            places
        })
    };
    prop_oneof![
        (0..n, blocks()).prop_map(|(vertex, blocks)| Constraint::Pin {
            vertex,
            blocks: blocks.into(),
        }),
        some().prop_map(|vertices| Constraint::Together { vertices }),
        (some(), places()).prop_map(|(vertices, places)| Constraint::Apart { vertices, places }),
        (places(), 0_u64..12).prop_filter_map("a place", |(places, most)| Some(
            Constraint::Memory {
                blocks: places.into_iter().next()?,
                most
            }
        )),
        (some(), 0_u64..5).prop_map(|(vertices, weight)| Constraint::Prefer { vertices, weight }),
        (some(), places(), 0_u32..2, 1_u32..3).prop_map(|(vertices, places, least, most)| {
            Constraint::Count {
                vertices,
                places,
                least,
                most,
            }
        }),
    ]
}

fn cases() -> impl Strategy<Value = Case> {
    (machines(), 1_usize..8).prop_flat_map(|(tree, n)| {
        let k = Machine::new(&tree, 0).expect("sound").len() as u32;
        let channel = (0..n as u32, 0..n as u32, 0_u64..9);
        (
            prop::collection::vec(0_u64..5, n),
            prop::collection::vec(0_u64..5, n),
            prop::collection::vec(channel, 0..14),
            prop::collection::vec(constraint(n as u32, k), 0..3),
            prop::sample::select(vec![0.03, 0.2, 1.0]),
            Just(tree),
        )
            .prop_map(
                |(load, memory, channels, constraints, imbalance, tree)| Case {
                    load,
                    memory,
                    channels,
                    tree,
                    constraints,
                    imbalance,
                },
            )
    })
}

/// Returns the least cost plus preference of all feasible mappings, and whether any mapping
/// satisfies the hard rules.
fn optimum(problem: &Problem<'_>) -> (Option<u64>, bool) {
    let mut best: Option<u64> = None;
    let mut allowed = false;
    for mapping in mappings(problem.graph.vertices(), problem.machine.len()) {
        let judged = evaluate(problem, &mapping).expect("a mapping");
        allowed |= judged.allowed();
        if judged.feasible() {
            let cost = judged.cost + judged.preference;
            best = Some(best.map_or(cost, |b| b.min(cost)));
        }
    }
    (best, allowed)
}

fn without_limits(tree: &Tree) -> Tree {
    match tree {
        Tree::Block(block) => Tree::Block(Block {
            memory: None,
            slots: None,
            ..*block
        }),
        Tree::Group { distance, members } => Tree::Group {
            distance: *distance,
            members: members.iter().map(without_limits).collect(),
        },
    }
}

fn quick(strategy: &str) -> Options {
    Options {
        strategy: graphmap_partition::Strategy::named(strategy).unwrap(),
        steps: 20_000,
        ..Options::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
    ))]

    #[test]
    fn auto_finds_the_optimum_of_tiny_problems_or_proves_there_is_none(case in cases()) {
        let graph = case.graph();
        let machine = Machine::new(&case.tree, 0).unwrap();
        let problem = Problem {
            constraints: &case.constraints,
            imbalance: case.imbalance,
            ..Problem::new(&graph, &machine)
        };
        let (best, allowed) = optimum(&problem);
        match solve(&problem, &quick("auto")) {
            Ok(found) => {
                prop_assert!(allowed);
                prop_assert!(found.evaluation.allowed());
                let judged = evaluate(&problem, &found.block_of).unwrap();
                prop_assert_eq!(&judged, &found.evaluation);
                prop_assert_eq!(found.minimised, judged.cost + judged.preference);
                if let Some(best) = best {
                    prop_assert!(judged.feasible(), "a feasible mapping exists");
                    prop_assert_eq!(found.minimised, best);
                    prop_assert!(found.lower_bound <= best);
                    prop_assert!(found.proved);
                } else {
                    prop_assert!(found.raised.is_some());
                }
            }
            Err(Error::Infeasible(conflict)) => {
                prop_assert!(!allowed, "{:?}", conflict);
                prop_assert!(conflict.proved);
            }
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn the_constraints_in_a_conflict_are_in_conflict_alone(case in cases()) {
        let graph = case.graph();
        let machine = Machine::new(&case.tree, 0).unwrap();
        let problem = Problem { constraints: &case.constraints, ..Problem::new(&graph, &machine) };
        if let Err(Error::Infeasible(conflict)) = solve(&problem, &quick("auto")) {
            let kept: Vec<Constraint> = conflict
                .parts
                .iter()
                .filter_map(|part| match part {
                    graphmap_partition::Part::Constraint(i) => Some(case.constraints[*i].clone()),
                    _ => None,
                })
                .collect();
            // A conflict of constraints alone must also exist without capacities.
            let roomy = Machine::new(&without_limits(&case.tree), 0).unwrap();
            let capacity = conflict.parts.len() > kept.len();
            let machine = if capacity { &machine } else { &roomy };
            let problem = Problem { machine, ..problem };
            let alone = Problem { constraints: &kept, ..problem };
            prop_assert!(!optimum(&alone).1);
            // Capacities that take part may be too small even without constraints.
            for left_out in 0..if capacity { 0 } else { kept.len() } {
                let mut fewer = kept.clone();
                fewer.remove(left_out);
                let rest = Problem { constraints: &fewer, ..problem };
                prop_assert!(optimum(&rest).1, "{:?} is not needed", kept[left_out]);
            }
        }
    }

    #[test]
    fn every_strategy_keeps_the_hard_rules(case in cases()) {
        let graph = case.graph();
        let machine = Machine::new(&case.tree, 0).unwrap();
        let problem = Problem { constraints: &case.constraints, ..Problem::new(&graph, &machine) };
        let allowed = optimum(&problem).1;
        for strategy in strategies() {
            match solve(&problem, &quick(&strategy.name)) {
                Ok(found) => prop_assert!(found.evaluation.allowed(), "{}", strategy.name),
                Err(Error::Infeasible(_)) => prop_assert!(!allowed, "{}", strategy.name),
                Err(other) => prop_assert!(false, "{}: {}", strategy.name, other),
            }
        }
    }

    #[test]
    fn remote_channels_are_counted_and_minimised(case in cases()) {
        let graph = case.graph();
        let machine = Machine::new(&case.tree, 0).unwrap();
        let problem = Problem {
            objective: Objective::RemoteChannels,
            imbalance: case.imbalance,
            ..Problem::new(&graph, &machine)
        };
        let fewest = mappings(graph.vertices(), machine.len())
            .filter_map(|m| {
                let judged = evaluate(&problem, &m).unwrap();
                judged.feasible().then_some(judged.remote_channels)
            })
            .min();
        let allowed = optimum(&problem).1;
        match (fewest, solve(&problem, &quick("auto"))) {
            (Some(fewest), Ok(found)) => {
                prop_assert!(found.evaluation.feasible() && found.raised.is_none());
                prop_assert_eq!(found.evaluation.remote_channels, fewest);
            }
            (None, Ok(found)) => {
                prop_assert!(found.evaluation.allowed() && found.raised.is_some());
            }
            (_, Err(Error::Infeasible(_))) => prop_assert!(!allowed),
            (_, Err(other)) => prop_assert!(false, "{}", other),
        }
    }
}
