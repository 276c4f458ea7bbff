//! Time to emit and to compile wiring, for ten processes and for a hundred thousand.
//! `benches/wiring/run` prints a table.
//!
//! The compile time is measured for `cargo build` in a new project after its `wiring.rs` was
//! touched, with the runtime already built. It is the minimum over several rounds, in which the
//! projects take turns.

#[path = "../../../src/skeletons.rs"]
mod built_in;
#[path = "../../../modules/wiring/src/testing.rs"]
mod testing;

use built_in::BUILT_IN;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::network::Network;
use graphmap_wiring::emitters::render;
use graphmap_wiring::project::{NewProject, Runtime, create};
use graphmap_wiring::skeleton::Skeletons;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use testing::{Graph, chain, farm, grid, random};

const ROUNDS: usize = 5;

struct Row {
    name: &'static str,
    processes: usize,
    channels: usize,
    bytes: usize,
    emit: Duration,
    compile: Duration,
    root: PathBuf,
}

fn main() {
    let work = std::env::temp_dir().join(format!("graphmap-bench-wiring-{}", std::process::id()));
    let graphs: [(&str, Graph); 8] = [
        ("chain-small", chain(8)),
        ("chain", chain(99_998)),
        ("farm-small", farm(2)),
        ("farm", farm(20_000)),
        ("grid-small", grid(2, 5)),
        ("grid", grid(250, 400)),
        ("random-small", random(10, 30)),
        ("random", random(100_000, 300_000)),
    ];
    let mut rows: Vec<Row> = graphs
        .into_iter()
        .map(|(name, graph)| emit(&work, name, graph))
        .collect();
    // The first build of each project also builds the runtime and is not counted.
    for round in 0..=ROUNDS {
        for row in &mut rows {
            let time = build(&work, &row.root);
            if round > 0 {
                row.compile = row.compile.min(time);
            }
        }
    }
    println!(
        "| network | processes | channels | wiring.rs, bytes | emitted in, s | compiled in, s | against ten |"
    );
    println!("|---|---|---|---|---|---|---|");
    for pair in rows.chunks(2) {
        for row in pair {
            println!(
                "| {} | {} | {} | {} | {:.3} | {:.3} | {:.2} |",
                row.name,
                row.processes,
                row.channels,
                row.bytes,
                row.emit.as_secs_f64(),
                row.compile.as_secs_f64(),
                row.compile.as_secs_f64() / pair[0].compile.as_secs_f64(),
            );
        }
    }
    let _ = std::fs::remove_dir_all(&work);
}

/// Emits the wiring of a network and creates a project with it.
fn emit(work: &Path, name: &'static str, graph: Graph) -> Row {
    let network = graph.network();
    let network: &Network = &network;
    let skeletons = Skeletons::built_in(&BUILT_IN);
    let mut notes = Diagnostics::new();
    let mut emit = Duration::MAX;
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let (code, _) = render(network, &skeletons, "rust", &mut notes).unwrap();
        emit = emit.min(start.elapsed());
        bytes = code.len();
    }
    let new = NewProject {
        name,
        graph_path: "graph.dot",
        graph_text: None,
        runtime: Runtime::Copied,
        mpi: false,
        skeletons: None,
        alone: true,
    };
    let root = work.join(name);
    let files = create(network, &skeletons, &new, &mut notes).unwrap();
    for (path, file) in files.iter() {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &file.content).unwrap();
    }
    Row {
        name,
        processes: network.processes.len(),
        channels: network.channels.len(),
        bytes,
        emit,
        compile: Duration::MAX,
        root,
    }
}

fn build(work: &Path, root: &Path) -> Duration {
    let wiring = root.join("src/wiring.rs");
    let code = std::fs::read(&wiring).unwrap();
    std::fs::write(&wiring, code).unwrap();
    let start = Instant::now();
    let output = Command::new("cargo")
        .args(["build", "--offline", "--quiet"])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", work.join("target"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    start.elapsed()
}
