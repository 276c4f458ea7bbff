//! Which networks go onto which machines.

/// One network on one machine.
pub struct Case {
    pub family: &'static str,
    pub size: usize,
    /// Arities, innermost first.
    pub hierarchy: Vec<usize>,
    pub distances: Vec<u32>,
}

impl Case {
    pub fn name(&self) -> String {
        let levels: Vec<String> = self.hierarchy.iter().map(ToString::to_string).collect();
        format!("{}-{} on {}", self.family, self.size, levels.join(":"))
    }
}

fn case(family: &'static str, size: usize, hierarchy: &[usize]) -> Case {
    let distances = [1, 10, 100][..hierarchy.len()].to_vec();
    Case {
        family,
        size,
        hierarchy: hierarchy.to_vec(),
        distances,
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
        "exact" => vec![
            case("layered", 12, &[2, 2]),
            case("layered", 16, &[2, 2]),
            case("layered", 20, &[2, 2]),
            case("layered", 20, &[4]),
            case("farm", 3, &[2, 2]),
            case("farm", 4, &[2, 2]),
            case("tree", 20, &[2, 2]),
            case("grid2", 4, &[2, 2]),
            case("fft", 2, &[2, 2]),
            case("power", 20, &[2, 2]),
        ],
        "medium" => vec![
            case("farm", 500, &[4, 4, 4]),
            case("layered", 5000, &[4, 4, 4]),
            case("grid2", 100, &[4, 4, 4]),
            case("geometric", 10_000, &[4, 4, 4]),
            case("power", 5000, &[4, 4, 4]),
            case("fft", 10, &[4, 4, 4]),
        ],
        "large" => vec![
            case("grid2", 316, &[4, 8, 8]),
            case("grid3", 46, &[4, 8, 8]),
            case("geometric", 1 << 17, &[4, 8, 8]),
            case("farm", 20_000, &[4, 8, 8]),
            case("power", 50_000, &[4, 4, 4]),
        ],
        "huge" => vec![
            case("grid2", 1000, &[4, 8, 8]),
            case("geometric", 1 << 20, &[4, 8, 8]),
        ],
        other => {
            eprintln!("no suite {other}");
            std::process::exit(2)
        }
    }
}
