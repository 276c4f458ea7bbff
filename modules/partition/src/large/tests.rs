use super::bisection_tree::{BisectionTree, Parts};
use super::coarsen::{Order, cluster};
use super::level::Level;
use super::mapping::Mapping;
use super::*;
use crate::feasibility::is_feasible;
use crate::graph::{Channel, Graph};
use crate::machine::{Block, Machine, Tree};
use crate::problem::Problem;
use proptest::prelude::*;
use std::num::NonZero;

mod rules;

/// A random network without order, with loads below 20 and traffic below 30.
fn network() -> impl Strategy<Value = Graph> {
    (2_u32..120).prop_flat_map(|n| {
        let loads = prop::collection::vec(0_u64..20, n as usize);
        let channels = prop::collection::vec((0..n, 0..n, 0_u64..30), 0..400);
        (loads, channels).prop_map(|(loads, channels)| {
            let one = |(from, to, traffic)| Channel { from, to, traffic };
            Graph::new(loads, &channels.into_iter().map(one).collect::<Vec<_>>()).unwrap()
        })
    })
}

fn mesh(side: u32) -> Graph {
    let mut channels = Vec::new();
    for v in 0..side * side {
        let mut join = |to| {
            channels.push(Channel {
                from: v,
                to,
                traffic: 1 + u64::from(v % 3),
            });
        };
        if v % side + 1 < side {
            join(v + 1);
        }
        if v / side + 1 < side {
            join(v + side);
        }
    }
    Graph::new(vec![1; (side * side) as usize], &channels).unwrap()
}

/// Three hosts of different sizes, one of them with a high speed.
fn irregular() -> Machine {
    let host = |cores, speed| Tree::Group {
        distance: 2,
        members: vec![
            Tree::Block(Block {
                speed,
                ..Block::default()
            });
            cores
        ],
    };
    let members = vec![host(3, 1), host(1, 4), host(6, 1)];
    let distance = 30;
    Machine::new(&Tree::Group { distance, members }, 1).unwrap()
}

fn edges(level: &Level) -> i64 {
    level.weights.iter().sum()
}

proptest! {
    #[test]
    fn contraction_keeps_loads_and_what_every_mapping_costs(
        graph in network(),
        seed in 0_u64..1000,
        heaviest in 1_i64..80,
        numbered in any::<bool>(),
    ) {
        let machine = irregular();
        let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
        let mut random = Random::new(seed);
        let fine = Level::of(&inst);
        let order = if numbered { Order::Numbered } else { Order::Random };
        let within: Vec<u32> = (0..fine.len()).map(|_| random.below(2) as u32).collect();
        let (map, clusters) = cluster(&fine, Some(&within), order, heaviest, None, &mut random);
        let coarse = fine.contract(&map, clusters);

        prop_assert_eq!(coarse.len(), clusters);
        prop_assert_eq!(coarse.total_load(), fine.total_load());
        let heavy = fine.load.iter().copied().max().unwrap_or(0).max(heaviest);
        prop_assert!(coarse.load.iter().all(|&l| l <= heavy));
        prop_assert!(edges(&coarse) <= edges(&fine));
        for v in 0..clusters as u32 {
            for (i, (u, weight)) in coarse.row(v).enumerate() {
                prop_assert!(u != v && weight > 0);
                prop_assert!(coarse.row(v).take(i).all(|other| other.0 != u));
                prop_assert!(coarse.row(u).any(|back| back == (v, weight)));
            }
        }
        for (v, &c) in map.iter().enumerate() {
            let first = map.iter().position(|&d| d == c).unwrap();
            prop_assert_eq!(within[v], within[first]);
        }
        let parts = Parts::blocks(&BisectionTree::new(&inst, 0.5));
        let mut block: Vec<u32> = (0..clusters).map(|_| random.below(10) as u32).collect();
        let mut below: Vec<u32> = map.iter().map(|&c| block[c as usize]).collect();
        let cost = inst.cost(&below);
        prop_assert_eq!(Mapping::new(&coarse, &parts, &mut block).cost(), cost);
        prop_assert_eq!(Mapping::new(&fine, &parts, &mut below).cost(), cost);
    }

    /// The instance shares the arrays of the network that it does not change. Its copy is
    /// contracted with one cluster for each vertex.
    #[test]
    fn a_shared_instance_is_the_same_as_one_of_its_own(graph in network(), seed in 0_u64..1000) {
        let machine = irregular();
        let (shared, same) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
        let each: Vec<u32> = (0..shared.len() as u32).collect();
        let own = shared.contract(&each, each.len());
        prop_assert!(same.is_empty());
        prop_assert!(std::sync::Arc::ptr_eq(&shared.size, graph.loads()));
        let silent = |v| graph.neighbours(v).any(|(_, traffic)| traffic == 0);
        if !each.iter().any(|&v| silent(v)) {
            let rows = graph.rows();
            prop_assert!(std::sync::Arc::ptr_eq(&shared.targets, &rows.targets));
            prop_assert!(!std::sync::Arc::ptr_eq(&own.targets, &rows.targets));
        }
        prop_assert_eq!(&shared.graph, &own.graph);
        prop_assert_eq!(&shared.size, &own.size);
        let budget = Budget::until(None);
        let map = |inst| map(inst, &FAST, (&budget, TimeUse::All(None)), &mut Random::new(seed));
        prop_assert_eq!(map(&shared), map(&own));
    }

    #[test]
    fn refinement_lowers_the_cost_by_what_it_says_and_overfills_nothing(
        graph in network(),
        seed in 0_u64..1000,
    ) {
        let machine = irregular();
        let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
        let mut random = Random::new(seed);
        let level = Level::of(&inst);
        let parts = Parts::blocks(&BisectionTree::new(&inst, 0.5));
        let mut block: Vec<u32> = (0..level.len()).map(|_| random.below(10) as u32).collect();
        let mut mapping = Mapping::new(&level, &parts, &mut block);
        let excess = mapping.excess();
        refine::unload(&mut mapping);
        prop_assert!(mapping.excess() <= excess);
        let (excess, cost) = (mapping.excess(), mapping.cost());
        refine::sweep(&mut mapping, 5, &mut random);
        prop_assert!(mapping.cost() <= cost && mapping.excess() <= excess);
        let cost = mapping.cost();
        let gained = refine::search(&mut mapping, 10, &mut random);
        prop_assert_eq!(mapping.cost(), cost - gained);
        prop_assert!(mapping.excess() <= excess);
        let (excess, cost) = (mapping.excess(), mapping.cost());
        pairs::refine(&mut mapping, 3, 3, &mut random);
        prop_assert!((mapping.excess(), mapping.cost()) <= (excess, cost));
        let load = mapping.load.clone();
        prop_assert_eq!(Mapping::new(&level, &parts, &mut block).load, load);
    }
}

#[test]
fn meshes_are_mapped_within_bounds_the_same_for_a_seed() {
    let graph = mesh(60);
    let budget = Budget::until(None);
    for machine in [
        Machine::regular(&[(4, 1), (2, 10), (3, 100)]).unwrap(),
        irregular(),
    ] {
        let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
        assert!(inst.k() <= BLOCKS);
        for effort in [&FAST, &GOOD] {
            let found = map(
                &inst,
                effort,
                (&budget, TimeUse::All(None)),
                &mut Random::new(3),
            )
            .unwrap();
            assert!(is_feasible(&inst, &found));
            assert_eq!(
                Some(&found),
                map(
                    &inst,
                    effort,
                    (&budget, TimeUse::All(None)),
                    &mut Random::new(3)
                )
                .as_ref()
            );
            // Strips of vertices in source order cost more.
            let k = inst.k() as u32;
            let strips: Vec<u32> = (0..3600).map(|v| v * k / 3600).collect();
            assert!(inst.cost(&found) < inst.cost(&strips));
        }
    }
}

/// A network with hubs: each new vertex gets channels to four randomly chosen ends of existing
/// channels.
fn hubs(count: u32) -> Graph {
    let mut random = Random::new(9);
    let mut channels = Vec::new();
    let mut ends = vec![0];
    for v in 1..count {
        for _ in 0..4 {
            let to = ends[random.below(ends.len())];
            if to != v {
                let (from, traffic) = (v, 1);
                channels.push(Channel { from, to, traffic });
                ends.extend([v, to]);
            }
        }
    }
    Graph::new(vec![1; count as usize], &channels).unwrap()
}

#[test]
fn hubs_are_mapped_uncontracted_and_meshes_are_not() {
    let machine = irregular();
    let hub_dominated = |graph: &Graph| {
        let (inst, _) = Instance::new(&Problem::new(graph, &machine)).unwrap();
        let fine = Level::of(&inst);
        let whole = BisectionTree::new(&inst, 0.5);
        let mut divided = Divided {
            parts: Parts::whole(&whole),
            part: vec![0; fine.len()],
        };
        let mut random = Random::new(3);
        let found = contracted(&fine, 500, Order::Random, &mut divided, &mut random);
        is_hub_dominated(&fine, &found.expect("a level").0)
    };
    assert!(hub_dominated(&hubs(20_000)));
    assert!(!hub_dominated(&mesh(140)));
}

#[test]
fn only_meshes_are_contracted_as_they_are_numbered() {
    let machine = irregular();
    let order = |graph: &Graph| {
        let (inst, _) = Instance::new(&Problem::new(graph, &machine)).unwrap();
        Order::of(&Level::of(&inst), &mut Random::new(5))
    };
    assert_eq!(order(&mesh(90)), Order::Numbered);
    let chain = (1..5000).map(|v| Channel {
        from: v - 1,
        to: v,
        traffic: 1 + u64::from(v * v % 7),
    });
    let chain = Graph::new(vec![1; 5000], &chain.collect::<Vec<_>>()).unwrap();
    assert_eq!(order(&chain), Order::Random);
}

#[test]
fn halves_follow_the_groups_and_share_out_all_room() {
    let machine = irregular();
    let graph = mesh(40);
    let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
    let tree = BisectionTree::new(&inst, 0.3);
    let mut parts = Parts::whole(&tree);
    while parts.divisible(&tree, 0) {
        parts = parts.halved(&tree, 0).0;
        let room: i64 = (0..parts.len() as u32).map(|p| parts.room(&tree, p)).sum();
        assert_eq!(room, (0..10).map(|b| inst.load_bound(b)).sum::<i64>());
        assert!(parts.bound.iter().sum::<i64>() >= 1600);
    }
    // The parts are in the order of the blocks.
    let blocks = (0..10).map(|p| parts.blocks_in(&tree, p));
    assert!(blocks.eq((0..10).map(|b| [b])));
}

#[test]
fn traffic_beyond_32_bits_is_searched_as_any_other() {
    let times = |factor: u64| {
        let mesh = mesh(60);
        let ends = |v: u32| mesh.neighbours(v).map(move |(u, t)| (v, u, t * factor));
        let once = (0..3600).flat_map(ends).filter(|e| e.0 < e.1);
        let channels = once.map(|(from, to, traffic)| Channel { from, to, traffic });
        let graph = Graph::new(vec![1; 3600], &channels.collect::<Vec<_>>()).unwrap();
        let machine = irregular();
        let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
        let budget = Budget::until(None);
        map(
            &inst,
            &FAST,
            (&budget, TimeUse::All(None)),
            &mut Random::new(1),
        )
    };
    assert_eq!(times(1), times(1 << 36));
}

/// A source and a sink, each with a channel to every worker.
fn farm(workers: u32) -> Graph {
    let join = |(from, to)| Channel {
        from,
        to,
        traffic: 1,
    };
    let ends = (0..workers).flat_map(|v| [(workers, v), (v, workers + 1)]);
    let channels: Vec<Channel> = ends.map(join).collect();
    Graph::new(vec![1; workers as usize + 2], &channels).unwrap()
}

#[test]
fn leaves_of_a_hub_are_contracted_with_each_other() {
    let (inst, _) = Instance::new(&Problem::new(&farm(30_000), &irregular())).unwrap();
    let fine = Level::of(&inst);
    let forever = Budget::until(None);
    let whole = Stage::new(&inst, FAST, Order::Random, &forever);
    let mut divided = Divided::whole(&whole.tree, fine.len());
    let mut random = Random::new(3);
    let mut levels = Levels::from(&fine);
    whole.contract(&mut levels, 2000, &mut divided, &mut random);
    assert!(!is_hub_dominated(&fine, &levels.coarser[0].0));
    let coarsest = levels.coarsest();
    assert!(coarsest.len() < 4000, "{} vertices", coarsest.len());
    assert_eq!(coarsest.total_load(), 30_002);
    assert!(coarsest.arcs() <= 4 * coarsest.len());
    let heaviest = coarsest.load.iter().copied().max();
    assert!(heaviest <= Some(3 * 30_002 / 2000), "{heaviest:?}");
}

/// The work grows with the channels, not with their square.
#[test]
fn a_hub_is_relieved_in_linear_time() {
    let machine = Machine::regular(&[(4, 1)]).unwrap();
    for workers in [10_000, 40_000] {
        let (inst, _) = Instance::new(&Problem::new(&farm(workers), &machine)).unwrap();
        let level = Level::of(&inst);
        let parts = Parts::blocks(&BisectionTree::new(&inst, 0.5));
        let mut block: Vec<u32> = (0..level.len()).map(|v| u32::from(v % 8 == 0)).collect();
        let mut mapping = Mapping::new(&level, &parts, &mut block);
        assert!(mapping.excess() > i64::from(workers) / 2);
        refine::unload(&mut mapping);
        assert_eq!(mapping.excess(), 0);
        let most = 40 * (level.len() + level.arcs());
        assert!(mapping.work < most, "{} of {most}", mapping.work);
    }
}

#[test]
fn map_without_time_gives_none_and_without_a_limit_gives_a_mapping() {
    let (mesh, farm) = (mesh(60), farm(3000));
    for graph in [&mesh, &farm] {
        let machine = irregular();
        let (inst, _) = Instance::new(&Problem::new(graph, &machine)).unwrap();
        let within = |time| Budget {
            start: std::time::Instant::now(),
            time,
            steps: 0,
            threads: NonZero::<usize>::MIN,
            deadline: None,
            watch: None,
        };
        let none = Some(std::time::Duration::ZERO);
        assert_eq!(
            map(
                &inst,
                &GOOD,
                (&within(none), TimeUse::All(None)),
                &mut Random::new(1)
            ),
            None
        );
        let found = map(
            &inst,
            &GOOD,
            (&within(None), TimeUse::All(None)),
            &mut Random::new(1),
        );
        assert!(found.is_some_and(|block| is_feasible(&inst, &block)));
        // After the deadline, no moves are tried, and the mapping is not changed.
        let level = Level::of(&inst);
        let parts = Parts::blocks(&BisectionTree::new(&inst, 0.5));
        let mut block: Vec<u32> = (0..level.len() as u32).map(|v| v % 10).collect();
        let before = block.clone();
        let over = within(none);
        let mut mapping = Mapping::new(&level, &parts, &mut block);
        mapping.budget = Some(&over);
        let mut random = Random::new(2);
        refine::unload(&mut mapping);
        refine::sweep(&mut mapping, 4, &mut random);
        pairs::refine(&mut mapping, 3, 3, &mut random);
        assert_eq!(refine::search(&mut mapping, 40, &mut random), 0);
        assert!(mapping.work < 1000 + 2 * level.arcs());
        drop(mapping);
        assert_eq!(block, before);
    }
}
