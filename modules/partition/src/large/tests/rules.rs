//! Constraints other than the load: if a planted mapping satisfies them, the result does too.

use super::*;
use crate::problem::Constraint;
use crate::solve::{Options, solve};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// A network, and constraints that some mapping onto ten blocks on three hosts satisfies with
/// little slack.
#[derive(Debug)]
struct Planted {
    graph: Graph,
    machine: Machine,
    constraints: Vec<Constraint>,
    imbalance: f64,
}

impl Planted {
    fn problem(&self) -> Problem<'_> {
        Problem {
            constraints: &self.constraints,
            imbalance: self.imbalance,
            ..Problem::new(&self.graph, &self.machine)
        }
    }
}

const HOSTS: [std::ops::Range<u32>; 3] = [0..3, 3..4, 4..10];

fn host_of(block: u32) -> usize {
    HOSTS.iter().position(|h| h.contains(&block)).unwrap()
}

/// Creates a network with planted constraints. Each bit of `which` selects one type of constraint.
fn planted(graph: &Graph, which: u32, seed: u64) -> Planted {
    let mut random = Random::new(seed);
    let n = graph.vertices() as u32;
    let block: Vec<u32> = (0..n).map(|_| random.below(10) as u32).collect();
    let needs: Vec<u64> = (0..n).map(|_| random.below(30) as u64).collect();
    let some = |random: &mut Random| -> Vec<u32> {
        let share = 1 + random.below(8);
        (0..n).filter(|_| random.below(share) == 0).collect()
    };
    let has = |rule: u32| which >> rule & 1 == 1;
    let sum = |what: &dyn Fn(u32) -> u64, b: u32| -> u64 {
        let there = (0..n).filter(|&v| block[v as usize] == b);
        there.map(what).sum()
    };
    let load = |v: u32| graph.load(v);
    let need = |v: u32| needs[v as usize];
    let mut constraints = Vec::new();
    if has(0) {
        for vertex in some(&mut random) {
            let here = block[vertex as usize];
            let blocks: Vec<u32> = match random.below(3) {
                0 => vec![here],
                1 => HOSTS[host_of(here)].clone().collect(),
                _ => vec![here, random.below(10) as u32],
            };
            let blocks = blocks.into();
            constraints.push(Constraint::Pin { vertex, blocks });
        }
    }
    if has(1) {
        for _ in 0..n / 8 {
            let mut vertices: Vec<u32> = Vec::new();
            for v in some(&mut random) {
                if vertices
                    .iter()
                    .all(|&u| block[u as usize] != block[v as usize])
                {
                    vertices.push(v);
                }
            }
            vertices.truncate(2 + random.below(3));
            let places = Vec::new();
            constraints.push(Constraint::Apart { vertices, places });
        }
    }
    if has(2) {
        let vertices = some(&mut random);
        let count = |b: u32| vertices.iter().filter(|&&v| block[v as usize] == b).count() as u32;
        let (least, most) = (0..10).fold((u32::MAX, 0), |(a, z), b| {
            (a.min(count(b)), z.max(count(b)))
        });
        constraints.push(Constraint::Count {
            vertices: vertices.clone(),
            places: (0..10).map(|b| vec![b]).collect(),
            least,
            most: most + 1,
        });
    }
    if has(3) {
        for blocks in HOSTS {
            let most = blocks.clone().map(|b| sum(&need, b)).sum::<u64>() * 11 / 10 + 30;
            let blocks = blocks.collect();
            constraints.push(Constraint::Memory { blocks, most });
        }
    }
    let memory = (0..10).map(|b| sum(&need, b)).max().unwrap() * 11 / 10 + 30;
    let block = |speed| {
        Tree::Block(Block {
            speed,
            memory: has(4).then_some(memory),
            slots: has(5).then_some(n / 10 + 12),
        })
    };
    let host = |cores, speed| Tree::Group {
        distance: 2,
        members: vec![block(speed); cores],
    };
    let members = vec![host(3, 1), host(1, 4), host(6, 1)];
    let distance = 30;
    // Sufficient for the fullest block of the planted mapping.
    let mean = graph.total_load().max(13) as f64 / 13.0;
    let imbalance = (0..10)
        .map(|b| sum(&load, b) as f64 / mean)
        .fold(0.5, f64::max)
        + 0.2;
    Planted {
        graph: graph.clone().with_memory(needs).unwrap(),
        machine: Machine::new(&Tree::Group { distance, members }, 1).unwrap(),
        constraints,
        imbalance,
    }
}

fn still() -> Budget<'static> {
    Budget::until(None)
}

fn sums(mapping: &Mapping<'_>) -> Vec<i64> {
    mapping.constraints.as_ref().unwrap().sum.clone()
}

/// The repair changes one vertex at a time and can fail, for example if separation or a lower limit
/// prevents the moves. The search then uses another method, so failures must be rare.
#[test]
fn nearly_all_mappings_are_feasible() {
    let mut runner = TestRunner::deterministic();
    let (mut kept, mut all) = (0, 0);
    for seed in 0..4 * 63 {
        let graph = network().new_tree(&mut runner).unwrap().current();
        let which = 1 + seed as u32 % 63;
        let planted = planted(&graph, which, seed);
        let (inst, _) = Instance::new(&planted.problem()).unwrap();
        for effort in [&FAST, &GOOD] {
            let found = map(
                &inst,
                effort,
                (&still(), TimeUse::All(None)),
                &mut Random::new(seed),
            )
            .unwrap();
            kept += u32::from(is_feasible(&inst, &found));
            all += 1;
        }
    }
    assert!(kept * 20 >= all * 19, "{kept} of {all}");
}

proptest! {
    #[test]
    fn pins_always_hold(
        graph in network(),
        which in 1_u32..64,
        seed in 0_u64..1000,
    ) {
        let planted = planted(&graph, which, seed);
        let Ok((inst, _)) = Instance::new(&planted.problem()) else {
            return Err(TestCaseError::fail("what was planted is no contradiction"));
        };
        for effort in [&FAST, &GOOD] {
            let found = map(&inst, effort, (&still(), TimeUse::All(None)), &mut Random::new(seed)).unwrap();
            prop_assert!((0..inst.len() as u32).all(|v| inst.is_allowed(v, found[v as usize])));
            prop_assert_eq!(&found, &map(&inst, effort, (&still(), TimeUse::All(None)), &mut Random::new(seed)).unwrap());
        }
    }

    #[test]
    fn contraction_preserves_violations(
        graph in network(),
        which in 1_u32..64,
        seed in 0_u64..1000,
        target in 1_usize..60,
    ) {
        let planted = planted(&graph, which, seed);
        let (inst, _) = Instance::new(&planted.problem()).unwrap();
        let fine = Level::of(&inst);
        let Some(held) = &fine.held else { return Ok(()) };
        let mut random = Random::new(seed);
        let joins = Joins::new(held, fine.len(), target, false);
        let alone = joins.count_single();
        let (map, clusters) = cluster(&fine, None, Order::Random, 100, Some(joins), &mut random);
        let coarse = fine.contract(&map, clusters);
        prop_assert!(alone <= clusters);
        for v in 0..fine.len() as u32 {
            for &(u, _) in held.apart(v) {
                prop_assert_ne!(map[v as usize], map[u as usize]);
            }
            let set = coarse.held.as_ref().unwrap().set(map[v as usize]);
            prop_assert!(held.set(v) == 0 || held.set(v) == set);
        }
        let tree = BisectionTree::new(&inst, 0.5);
        let mut parts = Parts::whole(&tree);
        loop {
            let k = parts.len();
            let mut above: Vec<u32> = (0..clusters).map(|_| random.below(k) as u32).collect();
            let mut below: Vec<u32> = map.iter().map(|&c| above[c as usize]).collect();
            let coarse = Mapping::new(&coarse, &parts, &mut above);
            let mut mapping = Mapping::new(&fine, &parts, &mut below);
            prop_assert_eq!(sums(&coarse), sums(&mapping));
            prop_assert_eq!(coarse.violation() == 0, mapping.violation() == 0);
            // The sums that are updated with each move equal those computed again.
            let before = mapping.excess();
            repair::repair(&mut mapping);
            refine::sweep(&mut mapping, 3, &mut random);
            pairs::refine(&mut mapping, 2, 3, &mut random);
            refine::search(&mut mapping, 10, &mut random);
            prop_assert!(before > 0 || mapping.excess() == 0);
            let kept = sums(&mapping);
            let anew = sums(&Mapping::new(&fine, &parts, &mut below));
            prop_assert_eq!(anew, kept);
            if !parts.divisible(&tree, 0) {
                break;
            }
            parts = parts.halved(&tree, 0).0;
        }
    }
}

/// The public entry point, which uses this engine: cost that a constraint adds on a mesh.
#[test]
fn a_rule_on_a_large_mesh_costs_little() {
    let side = 150;
    let graph = mesh(side);
    let machine = Machine::regular(&[(4, 1), (2, 10), (2, 100)]).unwrap();
    let options = Options {
        strategy: crate::Strategy::named("fast").unwrap(),
        ..Options::default()
    };
    let solved = |constraints: &[Constraint]| {
        let problem = Problem {
            constraints,
            ..Problem::new(&graph, &machine)
        };
        let found = solve(&problem, &options).unwrap();
        assert!(found.evaluation.feasible() && found.raised.is_none());
        found.evaluation.cost as f64
    };
    let free = solved(&[]);
    let pin = |vertex, host: u32| Constraint::Pin {
        vertex,
        blocks: (8 * host..8 * host + 8).collect(),
    };
    assert!(solved(&[pin(3, 1)]) < 1.1 * free);
    assert!(solved(&[pin(0, 1), pin(side * side - 1, 0)]) < 1.1 * free);
    let vertices = (0..8).collect();
    let places = Vec::new();
    assert!(solved(&[Constraint::Apart { vertices, places }]) < 1.2 * free);
    let count = Constraint::Count {
        vertices: (0..64).map(|i| 351 * i).collect(),
        places: (0..16).map(|b| vec![b]).collect(),
        least: 3,
        most: 5,
    };
    assert!(solved(&[count]) < 1.6 * free);
}
