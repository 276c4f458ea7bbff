//! Other engines, run through `peers.py` in their virtual environment.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use graphmap_partition::Graph;

use crate::suite::Case;

pub const FOR_SMALL: &[&str] = &[
    "metis-k",
    "metis-r",
    "scotch",
    "kahip-eco",
    "kahip-strong",
    "mtkahypar",
    "mtkahypar-q",
    "kaminpar",
    "sharedmap-e",
    "sharedmap-s",
];
/// All engines use one thread, except `scotch-threads`, which uses Scotch's default number.
pub const FOR_LARGE: &[&str] = &[
    "gpmetis",
    "gpmetis-r",
    "scotch",
    "scotch-threads",
    "kahip-eco",
    "kaminpar",
];

const LONGEST: &str = "300";

/// Runs a peer even if an earlier result exists.
pub fn run_afresh(
    engine: &str,
    case: &Case,
    graph: &Graph,
    seed: u64,
    work: &Path,
) -> Result<(Vec<u32>, f64), String> {
    let _ = std::fs::remove_file(output(engine, case, seed, work).with_extension("seconds"));
    run(engine, case, graph, seed, work)
}

fn output(engine: &str, case: &Case, seed: u64, work: &Path) -> std::path::PathBuf {
    let levels: Vec<String> = case.hierarchy.iter().map(ToString::to_string).collect();
    let stem = format!("{}-{}-{seed}", case.family, case.size);
    work.join(format!("{stem}-{}-{engine}.map", levels.join("x")))
}

/// Runs a peer, or reads its earlier result. Returns the block of each vertex, and the CPU seconds.
pub fn run(
    engine: &str,
    case: &Case,
    graph: &Graph,
    seed: u64,
    work: &Path,
) -> Result<(Vec<u32>, f64), String> {
    std::fs::create_dir_all(work).map_err(|e| e.to_string())?;
    let join = |numbers: Vec<String>| numbers.join(":");
    let levels = join(case.hierarchy.iter().map(ToString::to_string).collect());
    let lengths = join(case.distances.iter().map(ToString::to_string).collect());
    let stem = format!("{}-{}-{seed}", case.family, case.size);
    let out = output(engine, case, seed, work);
    let time = out.with_extension("seconds");
    if !time.exists() {
        let network = work.join(format!("{stem}.graph"));
        if !network.exists() {
            std::fs::write(&network, metis_file(graph)).map_err(|e| e.to_string())?;
        }
        let home = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = std::env::var_os("PEERS_PYTHON")
            .unwrap_or_else(|| home.join("../target/peers/bin/python").into());
        let done = Command::new("timeout")
            .arg(LONGEST)
            .arg(python)
            .arg(home.join("peers.py"))
            .args([engine])
            .arg(&network)
            .args([&levels, &lengths, &seed.to_string()])
            .arg(&out)
            .env("OMP_NUM_THREADS", "1")
            .output()
            .map_err(|e| format!("cannot start it: {e}"))?;
        let said = String::from_utf8_lossy(&done.stdout);
        let seconds = said.lines().find_map(|l| l.strip_prefix("SECONDS "));
        let Some(seconds) = seconds.filter(|_| done.status.success()) else {
            let error = String::from_utf8_lossy(&done.stderr);
            return Err(error.lines().last().unwrap_or("no output").to_owned());
        };
        std::fs::write(&time, seconds).map_err(|e| e.to_string())?;
    }
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|e| e.to_string());
    let blocks = read(&out)?
        .lines()
        .map(|l| l.trim().parse())
        .collect::<Result<Vec<u32>, _>>();
    let seconds = read(&time)?
        .trim()
        .parse()
        .map_err(|_| "unreadable time".to_owned())?;
    Ok((blocks.map_err(|e| e.to_string())?, seconds))
}

fn metis_file(graph: &Graph) -> String {
    let mut text = format!("{} {} 11\n", graph.vertices(), graph.edges());
    for v in 0..graph.vertices() as u32 {
        let _ = write!(text, "{}", graph.load(v));
        for (u, traffic) in graph.neighbours(v) {
            let _ = write!(text, " {} {traffic}", u + 1);
        }
        text.push('\n');
    }
    text
}
