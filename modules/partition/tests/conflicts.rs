//! Checks conflicts against all mappings: no mapping exists, and the named rules are the cause.

use graphmap_partition::{
    Block, Channel, Constraint, Error, Graph, Machine, Options, Part, Problem, Tree, evaluate,
    solve,
};
use proptest::prelude::*;

fn machine(memory: &[Option<u64>], slots: &[Option<u32>]) -> Machine {
    let blocks = memory.iter().zip(slots).map(|(&memory, &slots)| {
        Tree::Block(Block {
            speed: 1,
            memory,
            slots,
        })
    });
    let members = blocks.collect();
    Machine::new(
        &Tree::Group {
            distance: 1,
            members,
        },
        0,
    )
    .unwrap()
}

/// Returns true if any mapping satisfies all hard rules.
fn possible(problem: &Problem<'_>) -> bool {
    let (n, k) = (problem.graph.vertices(), problem.machine.len());
    (0..k.pow(n as u32)).any(|code| {
        let block = (0..n).map(|v| (code / k.pow(v as u32) % k) as u32);
        let block: Vec<u32> = block.collect();
        evaluate(problem, &block).unwrap().allowed()
    })
}

/// Returns true if any mapping satisfies these parts.
fn part_possible(problem: &Problem<'_>, parts: &[Part]) -> bool {
    let constraints: Vec<Constraint> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Constraint(i) => Some(problem.constraints[*i].clone()),
            _ => None,
        })
        .collect();
    let blocks = problem.machine.blocks().iter().enumerate();
    let blocks = blocks.map(|(b, block)| {
        let b = b as u32;
        let memory = block.memory.filter(|_| parts.contains(&Part::Memory(b)));
        let slots = block.slots.filter(|_| parts.contains(&Part::Slots(b)));
        (memory, slots)
    });
    let (memory, slots): (Vec<_>, Vec<_>) = blocks.unzip();
    possible(&Problem {
        machine: &machine(&memory, &slots),
        constraints: &constraints,
        ..*problem
    })
}

fn constraint(n: u32, k: u32) -> impl Strategy<Value = Constraint> {
    let some = |of: u32, least: usize| prop::collection::vec(0..of, least..=3);
    // Blocks in up to two places, some blocks in none.
    let places = || {
        prop::collection::vec(0_usize..3, k as usize).prop_map(|place| {
            let mut places = vec![Vec::new(); 2];
            for (b, p) in place.into_iter().enumerate().filter(|e| e.1 < 2) {
                places[p].push(b as u32);
            }
            places.retain(|p| !p.is_empty());
            places
        })
    };
    prop_oneof![
        (0..n, some(k, 1)).prop_map(|(vertex, blocks)| Constraint::Pin {
            vertex,
            blocks: blocks.into(),
        }),
        some(n, 2).prop_map(|vertices| Constraint::Together { vertices }),
        (some(n, 2), places())
            .prop_map(|(vertices, places)| Constraint::Apart { vertices, places }),
        (places(), 0_u64..12).prop_filter_map("a place", |(places, most)| Some(
            Constraint::Memory {
                blocks: places.into_iter().next()?,
                most
            }
        )),
        (some(n, 1), places(), 0_u32..2, 0_u32..3).prop_map(|(vertices, places, least, more)| {
            Constraint::Count {
                vertices,
                places,
                least,
                most: least + more,
            }
        }),
    ]
}

const K: usize = 3;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn conflicts_are_real_and_minimal(
        memory in prop::collection::vec(0_u64..8, 5),
        room in prop::collection::vec(prop::option::of(3_u64..12), K),
        slots in prop::collection::vec(prop::option::weighted(0.3, 1_u32..4), K),
        constraints in prop::collection::vec(constraint(5, K as u32), 0..7),
    ) {
        let channel = Channel { from: 0, to: 1, traffic: 1 };
        let graph = Graph::new(vec![1; 5], &[channel]).unwrap().with_memory(memory).unwrap();
        let machine = machine(&room, &slots);
        let problem = Problem { constraints: &constraints, ..Problem::new(&graph, &machine) };
        let options = Options { steps: 20_000, ..Options::default() };
        match solve(&problem, &options) {
            Ok(found) => prop_assert!(found.evaluation.allowed()),
            Err(Error::Infeasible(conflict)) => {
                prop_assert!(conflict.proved, "{conflict:?}");
                prop_assert!(!possible(&problem), "{conflict:?}");
                let parts: Vec<Part> = conflict
                    .parts
                    .iter()
                    .copied()
                    .filter(|part| !matches!(part, Part::Vertex(_)))
                    .collect();
                prop_assert!(!part_possible(&problem, &parts), "{conflict:?}");
                for left_out in 0..if conflict.minimal { parts.len() } else { 0 } {
                    let mut fewer = parts.clone();
                    fewer.remove(left_out);
                    prop_assert!(part_possible(&problem, &fewer), "{conflict:?} without {left_out}");
                }
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}

#[test]
fn counts_of_equal_sizes_are_settled_without_trying_them_one_by_one() {
    // The total is 6,700, or 335 for each of 20 blocks. No sum of the two sizes is 335, but 334 and
    // 336 are sums.
    let load: Vec<u64> = (0..350).map(|v| if v < 200 { 17 } else { 22 }).collect();
    let graph = Graph::new(load, &[]).unwrap();
    let machine = machine(&[None; 20], &[None; 20]);
    let problem = Problem {
        imbalance: 0.0,
        ..Problem::new(&graph, &machine)
    };
    let strict = Options {
        strict_balance: true,
        ..Options::default()
    };
    let Err(Error::Infeasible(conflict)) = solve(&problem, &strict) else {
        panic!("nothing keeps this bound");
    };
    assert!(conflict.proved, "{conflict:?}");
    assert_eq!(
        conflict.parts,
        (0..20).map(Part::Balance).collect::<Vec<_>>()
    );
    let raised = solve(&problem, &Options::default()).unwrap();
    assert!(raised.unavoidable);
    assert_eq!(raised.evaluation.loads.iter().max(), Some(&336));
}
