//! Networks and machines of the suites.

use graphmap_partition::{Block, Machine, Tree};

/// One network on one machine.
pub struct Case {
    pub family: &'static str,
    pub size: usize,
    /// Arities, innermost first.
    pub hierarchy: Vec<usize>,
    pub distances: Vec<u32>,
    /// Hosts of an irregular machine, each with the speeds of its blocks. Distances are 1 within a
    /// host and 10 between hosts.
    pub hosts: &'static [&'static [u32]],
}

impl Case {
    pub fn name(&self) -> String {
        if !self.hosts.is_empty() {
            return format!("{}-{} on hosts {:?}", self.family, self.size, self.hosts);
        }
        let levels: Vec<String> = self.hierarchy.iter().map(ToString::to_string).collect();
        format!("{}-{} on {}", self.family, self.size, levels.join(":"))
    }

    pub fn machine(&self) -> Machine {
        let levels = self.hierarchy.iter().zip(&self.distances);
        let regular: Vec<(usize, u32)> = levels.map(|(&a, &d)| (a, d)).collect();
        let block = |&speed: &u32| {
            Tree::Block(Block {
                speed,
                ..Block::default()
            })
        };
        let host = |speeds: &&[u32]| Tree::Group {
            distance: 1,
            members: speeds.iter().map(block).collect(),
        };
        let machine = match self.hosts {
            [] => Machine::regular(&regular),
            hosts => Machine::new(
                &Tree::Group {
                    distance: 10,
                    members: hosts.iter().map(host).collect(),
                },
                0,
            ),
        };
        machine.expect("suites are sound")
    }
}

/// Returns every family with up to 20 processes, on regular and irregular machines of four blocks.
fn exact() -> Vec<Case> {
    let networks = [
        ("layered", 12),
        ("layered", 16),
        ("layered", 20),
        ("farm", 2),
        ("farm", 3),
        ("farm", 4),
        ("fft", 2),
        ("tree", 20),
        ("pipeline", 20),
        ("grid2", 4),
        ("grid3", 2),
        ("geometric", 20),
        ("power", 20),
    ];
    let irregular: [&'static [&'static [u32]]; 3] = [
        &[&[1, 1, 1], &[1]],
        &[&[1, 2], &[1, 1]],
        &[&[3], &[1], &[1, 1]],
    ];
    let mut cases = Vec::new();
    for (family, size) in networks {
        cases.push(case(family, size, &[2, 2]));
        cases.push(case(family, size, &[4]));
        cases.extend(irregular.map(|hosts| Case {
            hosts,
            ..case(family, size, &[])
        }));
    }
    cases
}

pub fn case(family: &'static str, size: usize, hierarchy: &[usize]) -> Case {
    let distances = [1, 10, 100][..hierarchy.len()].to_vec();
    Case {
        family,
        size,
        hierarchy: hierarchy.to_vec(),
        distances,
        hosts: &[],
    }
}

pub fn cases(suite: &str) -> Vec<Case> {
    match suite {
        // Up to a thousand processes and 64 blocks.
        "small" => vec![
            case("farm", 10, &[4, 2]),
            case("farm", 50, &[4, 4]),
            case("farm", 50, &[4, 2, 4]),
            case("farm", 200, &[4, 4, 4]),
            case("layered", 50, &[4, 2]),
            case("layered", 200, &[4, 4]),
            case("layered", 500, &[4, 2, 4]),
            case("layered", 1000, &[4, 4, 4]),
            case("fft", 5, &[4, 4]),
            case("fft", 7, &[4, 4, 4]),
            case("tree", 300, &[4, 2, 4]),
            case("tree", 1000, &[4, 4, 4]),
            case("pipeline", 500, &[4, 4, 2]),
            case("grid2", 16, &[4, 4]),
            case("grid2", 31, &[4, 4, 4]),
            case("grid3", 10, &[4, 4, 4]),
            case("geometric", 1000, &[4, 4, 4]),
            case("power", 1000, &[4, 4, 4]),
        ],
        "exact" => exact(),
        // About 100,000 processes.
        "large" => vec![
            case("grid2", 316, &[8, 2, 4]),
            case("grid3", 46, &[8, 2, 4]),
            case("geometric", 100_000, &[8, 2, 4]),
            case("farm", 20_000, &[8, 2, 4]),
            case("layered", 100_000, &[8, 2, 4]),
            case("power", 100_000, &[8, 2, 4]),
            case("grid2", 316, &[4, 8, 8]),
            case("geometric", 1 << 17, &[4, 8, 8]),
        ],
        // About a million.
        "huge" => vec![
            case("grid2", 1000, &[8, 2, 4]),
            case("geometric", 1_000_000, &[8, 2, 4]),
            case("farm", 200_000, &[8, 2, 4]),
            case("layered", 1_000_000, &[8, 2, 4]),
        ],
        // Growing sizes, and thousands of OS processes.
        "growth" => vec![
            case("grid2", 100, &[8, 2, 4]),
            case("grid2", 316, &[8, 2, 4]),
            case("grid2", 1000, &[8, 2, 4]),
            case("farm", 5_000, &[8, 2, 4]),
            case("farm", 50_000, &[8, 2, 4]),
            case("farm", 200_000, &[8, 2, 4]),
            // More OS processes than are mapped at once.
            case("grid2", 316, &[64, 2, 64]),
            case("grid2", 1000, &[64, 2, 128]),
        ],
        other => {
            eprintln!("no suite {other}");
            std::process::exit(2)
        }
    }
}
