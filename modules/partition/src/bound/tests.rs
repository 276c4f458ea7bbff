//! Random small instances, and all their mappings.

use super::*;
use crate::instance::Instance;
use crate::random::Random;
use crate::{Block, Channel, Graph, Machine, Problem, Tree};

fn machine(random: &mut Random) -> Machine {
    let mut host = |distance| Tree::Group {
        distance,
        members: (0..1 + random.below(3))
            .map(|_| {
                Tree::Block(Block {
                    speed: 1 + random.below(2) as u32,
                    ..Block::default()
                })
            })
            .collect(),
    };
    let members = vec![host(1), host(2)];
    let tree = Tree::Group {
        distance: 7,
        members,
    };
    Machine::new(&tree, random.below(2) as u32).unwrap()
}

/// Returns an instance of up to seven vertices and one to six blocks on irregular hosts.
pub(crate) fn instance(random: &mut Random) -> Instance {
    let n = 2 + random.below(6);
    let heavy = [3, 40, 5_000][random.below(3)];
    let load = (0..n).map(|_| random.below(heavy) as u64).collect();
    let (costly, times) = [(4, 1), (1 << 20, 1 << 20)][random.below(2)];
    let mut channels = Vec::new();
    for to in 0..n as u32 {
        for from in 0..to {
            if random.below(3) > 0 {
                channels.push(Channel {
                    from,
                    to,
                    traffic: random.below(costly) as u64 * times,
                });
            }
        }
    }
    let graph = Graph::new(load, &channels).unwrap();
    let machine = machine(random);
    let problem = Problem {
        imbalance: [0.03, 0.3, 2.0][random.below(3)],
        ..Problem::new(&graph, &machine)
    };
    Instance::new(&problem).unwrap().0
}

/// Returns all mappings within the load bounds.
pub(crate) fn mappings(inst: &Instance) -> Vec<Vec<u32>> {
    let mut list = vec![(Vec::new(), vec![0; inst.k()])];
    for v in 0..inst.len() as u32 {
        let longer = list.iter().flat_map(|(blocks, held)| {
            (0..inst.k()).filter_map(move |b| {
                let (mut blocks, mut held) = (blocks.clone(), held.clone());
                blocks.push(b as u32);
                held[b] += inst.load(v);
                (held[b] <= inst.load_bound(b)).then_some((blocks, held))
            })
        });
        list = longer.collect();
    }
    list.into_iter().map(|m| m.0).collect()
}

/// With a deadline that has already passed, no long computation is started.
#[test]
fn skipped_bounds_never_raise_the_result() {
    let n = 160;
    let pairs = (0..n).flat_map(|v| (0..v).map(move |u| (u, v)));
    let channels = pairs.map(|(from, to)| Channel {
        from,
        to,
        traffic: 1,
    });
    let graph = Graph::new(vec![1; 160], &channels.collect::<Vec<_>>()).unwrap();
    let machine = Machine::regular(&[(2, 1), (2, 10)]).unwrap();
    let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
    assert!(inst.arcs() > PROMPT);
    let bound = |stop_at| lower_bound(&inst, i64::MAX, Effort { work: 0, stop_at });
    let (late, whole) = (bound(Some(Instant::now())), bound(None));
    let block: Vec<u32> = (0..n).map(|v| v / 40).collect();
    assert!(0 < late && late <= whole && whole <= inst.cost(&block));
}
