//! Properties of each strategy on networks that are too large for brute force.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use graphmap_partition::{
    Channel, Constraint, Error, Evaluation, Graph, Machine, Migration, Objective, Options, Problem,
    Solution, Strategy, Watch, evaluate, solve,
};

/// Number of networks on which a property is checked.
const SEEDS: u64 = 8;

/// Returns a layered network with weights that a seed determines.
fn layered(n: u32, seed: u64) -> Graph {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut dice = move |most: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % most
    };
    let width = (f64::from(n).sqrt() as u32).max(2);
    let load = (0..n).map(|_| 1 + dice(9)).collect();
    let mut channels = Vec::new();
    for to in width..n {
        for _ in 0..=dice(3) {
            let from = (to / width - 1) * width + dice(u64::from(width)) as u32;
            channels.push(Channel {
                from,
                to,
                traffic: 1 + dice(20),
            });
        }
    }
    Graph::new(load, &channels).unwrap()
}

fn run(problem: &Problem<'_>, strategy: &str) -> Solution {
    let options = Options {
        strategy: Strategy::named(strategy).unwrap(),
        steps: 100_000,
        ..Options::default()
    };
    solve(problem, &options).unwrap()
}

#[test]
fn auto_is_not_worse_than_source_order_on_a_long_chain() {
    let machine = Machine::regular(&[(8, 1), (8, 10)]).unwrap();
    let n = 50_000;
    let channels: Vec<Channel> = (1..n)
        .map(|to| Channel {
            from: to - 1,
            to,
            traffic: 1,
        })
        .collect();
    let graph = Graph::new(vec![1; n as usize], &channels).unwrap();
    let problem = Problem::new(&graph, &machine);
    let (found, stack) = (run(&problem, "auto"), run(&problem, "stack"));
    assert!(found.evaluation.feasible() && stack.evaluation.feasible());
    assert!(found.minimised <= stack.minimised);
}

#[test]
fn auto_is_never_worse_than_stack_and_round_robin_when_those_are_feasible() {
    let machine = Machine::regular(&[(4, 1), (2, 10)]).unwrap();
    for seed in 0..6 {
        let graph = layered(30 + 40 * seed as u32, seed);
        let problem = Problem {
            imbalance: 0.2,
            ..Problem::new(&graph, &machine)
        };
        let found = run(&problem, "auto");
        assert!(found.evaluation.feasible());
        assert!(found.lower_bound <= found.minimised);
        for name in ["stack", "round-robin", "metis"] {
            if name == "metis" && cfg!(not(feature = "metis")) {
                continue;
            }
            let other = run(&problem, name);
            assert!(
                !other.evaluation.feasible() || found.minimised <= other.minimised,
                "seed {seed}: {name}"
            );
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_mapping() {
    let machine = Machine::regular(&[(4, 1), (4, 10)]).unwrap();
    let graph = layered(150, 7);
    let problem = Problem::new(&graph, &machine);
    assert_eq!(
        run(&problem, "auto").block_of,
        run(&problem, "auto").block_of
    );
    assert_eq!(
        run(&problem, "fast").block_of,
        run(&problem, "fast").block_of
    );
}

#[test]
fn the_integer_program_and_the_search_agree_on_the_optimum() {
    let machine = Machine::regular(&[(2, 1), (2, 10)]).unwrap();
    for seed in 0..3 {
        let graph = layered(8, seed);
        let problem = Problem {
            imbalance: 0.1,
            ..Problem::new(&graph, &machine)
        };
        let (auto, ilp) = (run(&problem, "auto"), run(&problem, "ilp"));
        assert!(auto.proved && ilp.proved, "{:?}", ilp.log);
        assert_eq!(auto.minimised, ilp.minimised);
    }
}

#[test]
fn missing_or_unknown_solver_is_an_error() {
    let machine = Machine::regular(&[(2, 1)]).unwrap();
    let graph = layered(8, 1);
    let problem = Problem::new(&graph, &machine);
    let with = |solver: &str| Options {
        strategy: Strategy::named("ilp").unwrap(),
        solver: Some(solver.into()),
        time: Some(Duration::from_secs(1)),
        ..Options::default()
    };
    assert!(matches!(
        solve(&problem, &with("/bin/true")),
        Err(Error::Solver(_))
    ));
    assert!(matches!(
        solve(&problem, &with("/nowhere/cbc")),
        Err(Error::Solver(said)) if said.contains("cannot be started")
    ));
}

#[test]
fn pipelines_and_trees_beyond_search_are_proved_by_the_bound() {
    let machine = Machine::regular(&[(4, 1), (4, 10)]).unwrap();
    let channels: Vec<Channel> = (1..800)
        .map(|v| Channel {
            from: v - 1,
            to: v,
            traffic: 3,
        })
        .collect();
    let graph = Graph::new(vec![1; 800], &channels).unwrap();
    let found = run(&Problem::new(&graph, &machine), "auto");
    assert!(
        found.proved,
        "bound {} found {}",
        found.lower_bound, found.minimised
    );
    assert_eq!(found.minimised, 3 * (12 + 3 * 10));
}

#[test]
fn a_farm_of_many_identical_workers_is_proved() {
    let machine = Machine::regular(&[(2, 1), (2, 10)]).unwrap();
    let workers = 60;
    let mut channels = Vec::new();
    for worker in 2..2 + workers {
        channels.push(Channel {
            from: 0,
            to: worker,
            traffic: 5,
        });
        channels.push(Channel {
            from: worker,
            to: 1,
            traffic: 2,
        });
    }
    let mut load = vec![3; workers as usize + 2];
    (load[0], load[1]) = (10, 6);
    let graph = Graph::new(load, &channels).unwrap();
    let found = run(&Problem::new(&graph, &machine), "auto");
    assert!(
        found.proved,
        "bound {} found {}",
        found.lower_bound, found.minimised
    );
}

#[test]
fn leaving_an_old_mapping_is_weighed_against_what_it_gains() {
    let machine = Machine::regular(&[(2, 1), (2, 10)]).unwrap();
    let graph = layered(24, 3);
    let fresh = run(
        &Problem {
            imbalance: 0.3,
            ..Problem::new(&graph, &machine)
        },
        "auto",
    );
    let old: Vec<_> = fresh.block_of.iter().map(|b| Some((b + 1) % 4)).collect();
    let moved = |price: u64| {
        let cost = vec![price; 24];
        let migration = Some(Migration {
            block_of: &old,
            cost: &cost,
        });
        let problem = Problem {
            imbalance: 0.3,
            migration,
            ..Problem::new(&graph, &machine)
        };
        let found = run(&problem, "auto");
        assert!(found.evaluation.feasible());
        assert_eq!(
            found.minimised,
            found.evaluation.cost + found.evaluation.migration
        );
        (found.evaluation.moved, found.evaluation.cost)
    };
    let (free, costly) = (moved(0), moved(1_000_000));
    assert_eq!(costly.0, 0, "a price beyond all gain moves nothing");
    assert!(
        free.1 * 10 <= fresh.evaluation.cost * 11,
        "a price of nothing holds nothing back"
    );
}

#[test]
fn other_objectives_are_better_in_what_they_are_for() {
    let machine = Machine::regular(&[(4, 1), (3, 10)]).unwrap();
    for seed in 0..SEEDS {
        let graph = layered(80, seed);
        let found = |objective| {
            let problem = Problem {
                objective,
                imbalance: 0.3,
                ..Problem::new(&graph, &machine)
            };
            run(&problem, "auto").evaluation
        };
        let cost = found(Objective::Cost);
        let even = found(Objective::LargestLoad);
        assert!(even.balance < cost.balance, "seed {seed}");
        let link = found(Objective::Bottleneck);
        assert!(link.feasible(), "seed {seed}");
        assert!(link.bottleneck <= cost.bottleneck, "seed {seed}");
        let few = found(Objective::RemoteChannels);
        assert!(few.remote_channels <= cost.remote_channels, "seed {seed}");
    }
}

#[test]
fn unavoidable_is_set_only_if_the_raise_is_proved_necessary() {
    // The best division of 9, 9 and 1 is 10 and 9. The share 9.5 is rounded up to 10, so this is
    // within the bound.
    let machine = Machine::regular(&[(2, 1)]).unwrap();
    let graph = Graph::new(vec![9, 9, 1], &[]).unwrap();
    let found = run(&Problem::new(&graph, &machine), "auto");
    assert!(found.raised.is_none() && !found.unavoidable);
    let graph = Graph::new(vec![9, 9, 8], &[]).unwrap();
    let found = run(&Problem::new(&graph, &machine), "auto");
    assert!(found.raised.is_some() && found.unavoidable);
    // No vertex is heavier than the bound, but 6, 6 and 5 do not fit into two blocks with the bound
    // 9.
    let found = run(
        &Problem::new(&Graph::new(vec![6, 6, 5], &[]).unwrap(), &machine),
        "auto",
    );
    assert!(found.raised.is_some() && found.unavoidable && found.proved);
}

#[test]
fn bounds_do_not_depend_on_the_unit_of_the_loads() {
    let machine = Machine::regular(&[(2, 1)]).unwrap();
    for unit in [1, 6, 1000] {
        let graph = Graph::new(vec![unit; 5], &[]).unwrap();
        let problem = Problem::new(&graph, &machine);
        assert_eq!(problem.load_bounds(), [3 * unit * 103 / 100; 2]);
        assert!(run(&problem, "auto").raised.is_none());
    }
    let graph = Graph::new(vec![0; 5], &[]).unwrap();
    assert_eq!(Problem::new(&graph, &machine).load_bounds(), [0; 2]);
}

#[test]
fn proofs_for_other_objectives_are_correct() {
    // Four hosts with one OS process each, so that the busiest host does not follow from the cut.
    let machine = Machine::regular(&[(1, 1), (4, 10)]).unwrap();
    for objective in [Objective::LargestLoad, Objective::Bottleneck] {
        let mut proved = 0;
        for seed in 0..SEEDS {
            let graph = layered(8, seed);
            let problem = Problem {
                objective,
                imbalance: 0.5,
                ..Problem::new(&graph, &machine)
            };
            // The value of the objective, and the cost to compare mappings with equal values.
            let value = |e: &Evaluation| match objective {
                Objective::LargestLoad => (*e.loads.iter().max().unwrap(), e.cost),
                _ => (e.bottleneck, e.cost),
            };
            let found = run(&problem, "auto");
            let here = value(&found.evaluation);
            // If no mapping is within the balance bound, mappings with at most the imbalance of the
            // solution count.
            let counted = |e: &Evaluation| match objective {
                Objective::LargestLoad => true,
                _ if found.raised.is_some() => e.balance <= found.evaluation.balance,
                _ => e.feasible(),
            };
            let all = mappings_of(8, 4).map(|m| evaluate(&problem, &m).unwrap());
            let best = all.filter(counted).map(|e| value(&e)).min();
            assert!(best.is_some_and(|best| best <= here), "seed {seed}");
            if found.proved {
                assert_eq!(best, Some(here), "{objective:?}, seed {seed}");
                proved += 1;
            }
        }
        // Most solutions for the largest load are proved, but few for the bottleneck, whose bound
        // is weak.
        let few = objective == Objective::Bottleneck;
        assert!(few || 2 * proved > SEEDS, "{objective:?}: {proved}");
    }
    // Two pairs without a channel between them, so that no traffic leaves a host.
    let machine = Machine::regular(&[(2, 1), (2, 10)]).unwrap();
    let ends = [(0, 1), (2, 3)].map(|(from, to)| Channel {
        from,
        to,
        traffic: 5,
    });
    let graph = Graph::new(vec![1; 4], &ends).unwrap();
    for objective in [Objective::LargestLoad, Objective::Bottleneck] {
        let problem = Problem {
            objective,
            ..Problem::new(&graph, &machine)
        };
        assert!(run(&problem, "auto").proved, "{objective:?}");
    }
}

/// Checks that the bound on the cost holds for all mappings, not only for those with even loads.
/// Here the loads are even only if heavy channels are cut.
#[test]
fn no_mapping_costs_less_than_its_bound_where_loads_are_to_be_even() {
    let machine = Machine::regular(&[(2, 1)]).unwrap();
    let traffic = [100, 1, 100];
    let chain = (0..3).zip(traffic).map(|(from, traffic)| Channel {
        from,
        to: from + 1,
        traffic,
    });
    let graph = Graph::new(vec![4, 3, 3, 2], &chain.collect::<Vec<_>>()).unwrap();
    let problem = Problem {
        objective: Objective::LargestLoad,
        imbalance: 0.5,
        ..Problem::new(&graph, &machine)
    };
    let found = run(&problem, "stack");
    assert_eq!((found.minimised, found.evaluation.feasible()), (1, true));
    assert!(found.lower_bound <= 1 && !found.proved);
    // No mapping that is as even as this one costs less.
    let even = run(&problem, "auto");
    assert_eq!((even.minimised, even.lower_bound), (200, 200));
    assert!(even.proved);
}

/// Returns all mappings of n vertices onto k blocks.
fn mappings_of(n: u32, k: usize) -> impl Iterator<Item = Vec<u32>> {
    (0..k.pow(n)).map(move |mut code| {
        let digit = |_| {
            let block = code % k;
            code /= k;
            block as u32
        };
        (0..n).map(digit).collect()
    })
}

/// Searches until a watch has seen a mapping whose cost is at most `wanted`, without another limit.
fn watched(problem: &Problem<'_>, threads: usize, wanted: u64) -> (Solution, Arc<Watch>) {
    let cancelled = Arc::new(AtomicBool::new(false));
    let watch = Arc::new(Watch::new(Arc::clone(&cancelled)));
    let options = Options {
        time: Some(Duration::from_secs(3600)),
        threads: NonZeroUsize::new(threads).unwrap(),
        watch: Some(Arc::clone(&watch)),
        ..Options::default()
    };
    let seen = Arc::clone(&watch);
    let waiter = thread::spawn(move || {
        while seen.best().is_none_or(|best| best > wanted as f64) {
            thread::sleep(Duration::from_millis(1));
        }
        cancelled.store(true, Ordering::Relaxed);
    });
    let found = solve(problem, &options).unwrap();
    waiter.join().unwrap();
    (found, watch)
}

/// Checks that several threads start from the same mappings as one thread.
#[test]
fn threads_are_feasible_and_not_worse_than_the_first_initial_solution() {
    let machine = Machine::regular(&[(4, 1), (3, 10)]).unwrap();
    let graph = layered(300, 8);
    let problem = Problem::new(&graph, &machine);
    let first = Options {
        steps: 1,
        ..Options::default()
    };
    let first = solve(&problem, &first).unwrap();
    for threads in [1, 4] {
        let (found, _) = watched(&problem, threads, first.minimised);
        assert!(found.evaluation.feasible());
        assert!(found.lower_bound <= found.minimised);
        assert!(found.minimised <= first.minimised, "{threads} threads");
    }
}

#[test]
fn without_a_time_the_number_of_threads_changes_nothing() {
    let machine = Machine::regular(&[(4, 1), (3, 10)]).unwrap();
    let graph = layered(100, 9);
    let problem = Problem::new(&graph, &machine);
    let run = |threads| {
        let options = Options {
            steps: 200_000,
            threads: NonZeroUsize::new(threads).unwrap(),
            ..Options::default()
        };
        solve(&problem, &options).unwrap().block_of
    };
    assert_eq!(run(1), run(4));
}

#[test]
fn cancelled_watch_ends_all_threads() {
    let machine = Machine::regular(&[(4, 1), (3, 10)]).unwrap();
    let graph = layered(300, 8);
    // The search ends as soon as the watch has seen a mapping.
    let problem = Problem::new(&graph, &machine);
    let (found, watch) = watched(&problem, 3, u64::MAX);
    assert!(found.evaluation.feasible() && !found.warnings.is_empty());
    assert!(watch.best().unwrap() >= found.minimised as f64);
}

/// Checks that the error for a strategy that is not compiled in names its feature, and that the
/// strategy is not listed.
#[cfg(not(feature = "metis"))]
#[test]
fn strategy_that_is_not_compiled_in_names_its_feature() {
    for name in ["metis", "metis-kway", "metis-recursive"] {
        let error = Strategy::named(name).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the strategy `{name}` is not compiled in; it requires the feature `metis`")
        );
        assert!(graphmap_partition::strategies().all(|s| s.name != name));
    }
}

/// Creates a strategy that puts all vertices but the first into the block `target`.
fn own(target: u32) -> Strategy {
    Strategy::new("own", "all but one in one block", move |problem, limits| {
        assert_eq!(limits.seed, 7);
        let mut block_of = vec![target; problem.graph.vertices()];
        block_of[0] = 0;
        Ok(block_of)
    })
}

#[test]
fn user_strategy_is_evaluated_like_any_other() {
    let machine = Machine::regular(&[(2, 1), (2, 10)]).unwrap();
    let graph = layered(8, 0);
    let n = graph.vertices() as u32;
    let plain = Problem::new(&graph, &machine);
    let with = |strategy| Options {
        strategy,
        seed: 7,
        ..Options::default()
    };
    // The mapping is used unchanged, although it exceeds the balance bound.
    let found = solve(&plain, &with(own(1))).unwrap();
    let mut block_of = vec![1; n as usize];
    block_of[0] = 0;
    assert_eq!(found.block_of, block_of);
    assert_eq!(found.evaluation, evaluate(&plain, &block_of).unwrap());
    assert!(!found.evaluation.feasible() && found.warnings.is_empty() && !found.proved);
    // A mapping that breaks a rule is replaced, with a warning. This includes vertices that must be
    // together.
    let constraints = [
        Constraint::Together {
            vertices: vec![0, 1],
        },
        Constraint::Pin {
            vertex: 2,
            blocks: vec![2].into(),
        },
    ];
    let ruled = Problem {
        constraints: &constraints,
        ..plain
    };
    let found = solve(&ruled, &with(own(1))).unwrap();
    assert!(found.evaluation.allowed() && found.warnings.len() == 1);
    // A mapping that satisfies the rules is used unchanged.
    let ruled = Problem {
        constraints: &constraints[..1],
        ..plain
    };
    let found = solve(&ruled, &with(own(0))).unwrap();
    assert_eq!(found.block_of, vec![0; n as usize]);
    // Blocks that do not exist, too few blocks, and the strategy's own error are reported with its
    // name.
    let none = Strategy::new("none", "nothing", |_, _| Ok(Vec::new()));
    let fails = Strategy::new("fails", "", |_, _| Err(Error::Solver("lost".into())));
    for (strategy, expected) in [
        (own(9), "the strategy `own` failed: "),
        (none, "the strategy `none` failed: "),
        (fails, "the strategy `fails` failed: lost"),
    ] {
        let error = solve(&plain, &with(strategy)).unwrap_err();
        assert!(matches!(error, Error::Strategy { .. }), "{error:?}");
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}
