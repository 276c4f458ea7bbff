//! Random problems with different networks, machines, rules and bounds. The benchmark uses them
//! too.

use graphmap_partition::{
    Block, Channel, Constraint, Error, Graph, Machine, Migration, Objective, Options, Problem,
    Solution, Strategy, Tree, solve,
};

/// Random numbers from a seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// Owned data of a problem.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) graph: Graph,
    pub(crate) machine: Machine,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) objective: Objective,
    pub(crate) imbalance: f64,
    pub(crate) old: Option<(Vec<Option<u32>>, Vec<u64>)>,
}

/// Returns the channels of a pipeline, a ring, a mesh, a farm or a random network.
fn channels(dice: &mut Dice, n: u32) -> Vec<Channel> {
    let even = dice.one_in(2);
    let traffic = |dice: &mut Dice| if even { 1 } else { dice.below(30) };
    let family = dice.below(5);
    let width = (f64::from(n).sqrt() as u32).max(1);
    let mut pairs = Vec::new();
    for v in 1..n {
        match family {
            0 => pairs.push((v - 1, v)),
            1 => pairs.extend([(v - 1, v), (v, (v + 7) % n)]),
            2 => {
                pairs.extend((v % width > 0).then_some((v - 1, v)));
                pairs.extend((v >= width).then(|| (v - width, v)));
            }
            3 => pairs.extend([(0, v), (v, n - 1)]),
            _ => {
                let mut any = || dice.below(n.into()) as u32;
                pairs.extend([(any(), v), (v, any())]);
            }
        }
    }
    let channel = |(from, to)| Channel {
        from,
        to,
        traffic: traffic(dice),
    };
    pairs.into_iter().map(channel).collect()
}

fn machine(dice: &mut Dice, memory: Option<u64>, slots: Option<u32>) -> Machine {
    let uneven = dice.one_in(4);
    let hosts = 1 + dice.below(3);
    let mut members = Vec::new();
    for h in 0..hosts {
        let cores = 1 + dice.below(3) + u64::from(hosts == 1) + if uneven { h } else { 0 };
        let speed = 1 + if uneven { dice.below(3) as u32 } else { 0 };
        let block = Block {
            speed,
            memory,
            slots,
        };
        members.push(Tree::Group {
            distance: 1,
            members: vec![Tree::Block(block); cores as usize],
        });
    }
    let tree = Tree::Group {
        distance: 10,
        members,
    };
    Machine::new(&tree, dice.below(2) as u32).unwrap()
}

/// Creates the problem of a seed.
pub(crate) fn case(seed: u64) -> Case {
    let dice = &mut Dice(seed);
    let n = 2 + dice.below(70) as u32;
    sized(dice, n)
}

/// Creates a problem with `n` processes.
pub(crate) fn sized(dice: &mut Dice, n: u32) -> Case {
    let alike = [1, 10][dice.below(2) as usize];
    let loads = match dice.below(3) {
        0 => vec![alike; n as usize],
        1 => (0..n).map(|_| 6 * (1 + dice.below(2))).collect(),
        _ => (0..n).map(|_| dice.below(20)).collect(),
    };
    let channels = channels(dice, n);
    let mut graph = Graph::new(loads, &channels).unwrap();
    let mut memory = None;
    let tight = dice.one_in(3);
    if tight {
        let needs: Vec<u64> = (0..n).map(|_| 1 + dice.below(50)).collect();
        memory = Some(needs.iter().sum::<u64>());
        graph = graph.with_memory(needs).unwrap();
    }
    let slots = dice.one_in(4).then_some(1 + n / 2);
    // The memory depends on the number of blocks, so the machine is created twice from the same
    // random numbers.
    let again = Dice(dice.0);
    let blocks = machine(dice, None, None).len() as u64;
    let memory = memory.map(|m| m / blocks + 1 + m / blocks / (5 + dice.below(60)));
    let machine = machine(&mut Dice(again.0), memory, slots);
    let k = machine.len() as u32;
    let mut constraints = Vec::new();
    let some = |dice: &mut Dice| -> Vec<u32> {
        let first = dice.below(n.into()) as u32;
        let count = 1 + dice.below(6) as u32;
        (first..n.min(first + count)).collect()
    };
    for _ in 0..dice.below(4) {
        let vertices = some(dice);
        let block = dice.below(k.into()) as u32;
        constraints.push(match dice.below(6) {
            0 => Constraint::Pin {
                vertex: vertices[0],
                blocks: vec![block, (block + 1) % k].into(),
            },
            1 => Constraint::Together { vertices },
            2 => Constraint::Apart {
                vertices: vertices.into_iter().take(k as usize).collect(),
                places: Vec::new(),
            },
            3 => Constraint::Prefer {
                vertices,
                weight: dice.below(20),
            },
            // A limit for one place that is far below its share of all vertices.
            4 => Constraint::Count {
                vertices: (0..n).collect(),
                places: vec![vec![block]],
                least: 0,
                most: n / k / 4 + 1,
            },
            _ => Constraint::Count {
                vertices,
                places: (0..k).map(|b| vec![b]).collect(),
                least: 0,
                most: 3,
            },
        });
    }
    let objective = match dice.below(6) {
        0 => Objective::RemoteChannels,
        _ => Objective::Cost,
    };
    let old = dice.one_in(4).then(|| {
        let block = (0..n).map(|_| Some(dice.below(k.into()) as u32)).collect();
        let price = 1 + dice.below(50);
        (block, vec![price; n as usize])
    });
    Case {
        graph,
        machine,
        constraints,
        objective,
        imbalance: [0.0, 0.03, 0.1, 0.9][dice.below(4) as usize],
        old,
    }
}

/// Returns the solution of a strategy, or `None` if no mapping exists.
pub(crate) fn run(case: &Case, strategy: &str, steps: u64, seed: u64) -> Option<Solution> {
    let problem = problem(case);
    let options = Options {
        strategy: Strategy::named(strategy).unwrap(),
        steps,
        seed,
        ..Options::default()
    };
    match solve(&problem, &options) {
        Ok(found) => Some(found),
        Err(Error::Infeasible(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Returns the problem that borrows a case.
pub(crate) fn problem(case: &Case) -> Problem<'_> {
    Problem {
        constraints: &case.constraints,
        objective: case.objective,
        imbalance: case.imbalance,
        migration: case
            .old
            .as_ref()
            .map(|(block_of, cost)| Migration { block_of, cost }),
        ..Problem::new(&case.graph, &case.machine)
    }
}

/// Returns true if a mapping is within the bounds of another solution, which may be raised.
pub(crate) fn within(case: &Case, found: &Solution, bounds_of: &Solution) -> bool {
    bounds_of.limits.keeps(&case.graph, &found.block_of) || found.evaluation.feasible()
}
