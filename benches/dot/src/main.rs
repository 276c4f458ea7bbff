//! What reading DOT costs: graphmap's whole load (text, parsing, declarations) against Graphviz's
//! `nop` and the crate `dot-parser`, on graphs of growing size with attributes on every edge.
//!
//! Each measurement has an OS process of its own; the time is that of the whole process, the best
//! of three, the readers taking turns; memory is the peak that the kernel tells. Bytes a channel
//! are the peak less that of the empty program. dot-parser is left out above 100,000 edges unless
//! `--all` is given: it takes 20 s and gigabytes for a million.

use std::fmt::Write;
use std::process::{Command, Stdio};

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if let [reader, path] = &args[..]
        && reader.starts_with("one-")
    {
        one(reader, path);
        return;
    }
    let all = args.iter().any(|a| a == "--all");
    args.retain(|a| a != "--all");
    let mut sizes: Vec<usize> = args
        .iter()
        .map(|a| a.parse().expect("numbers of edges"))
        .collect();
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000, 1_000_000];
    }
    println!("| edges | MB | reader | s | ns an edge | peak MB | bytes a channel | times slower |");
    println!("|---|---|---|---|---|---|---|---|");
    for size in sizes {
        let path =
            std::env::temp_dir().join(format!("bench-dot-{}-{size}.dot", std::process::id()));
        let text = graph(size);
        let megabytes = text.len() as f64 / 1e6;
        std::fs::write(&path, text).expect("a writable temporary folder");
        let path = path.to_str().expect("a path in UTF-8").to_owned();
        let mut readers = vec!["one-graphmap", "nop"];
        if all || size <= 100_000 {
            readers.push("one-dot-parser");
        }
        let mut best = vec![(f64::INFINITY, 0.0); readers.len()];
        for _ in 0..if size > 100_000 { 2 } else { 3 } {
            for (reader, best) in readers.iter().zip(&mut best) {
                if let Some((seconds, peak)) = run(reader, &path) {
                    *best = (best.0.min(seconds), peak);
                }
            }
        }
        let empty = run("one-nothing", &path).map_or(0.0, |r| r.1);
        let ours = best[0].0;
        for (reader, (seconds, peak)) in readers.iter().zip(best) {
            let name = reader.trim_start_matches("one-");
            println!(
                "| {size} | {megabytes:.1} | {name} | {seconds:.3} | {:.0} | {:.1} | {:.0} | {:.1} |",
                seconds * 1e9 / size as f64,
                peak / 1e6,
                (peak - empty) / size as f64,
                seconds / ours,
            );
        }
        std::fs::remove_file(path).expect("the file written before");
    }
}

/// Chains of farm workers: half as many nodes as edges, four attributes on each.
fn graph(edges: usize) -> String {
    let mut text = String::from("digraph bench {\n");
    for i in 0..edges {
        let (a, b) = (i / 2, i / 2 + 1);
        let port = if i % 2 == 0 { "task" } else { "result" };
        let _ = writeln!(
            text,
            "  worker{a} -> worker{b} [src={port}, dst={port}, type=Task, capacity=16];"
        );
    }
    text.push_str("}\n");
    text
}

/// Seconds and peak bytes of a reader in a process of its own; nothing if it cannot be run.
fn run(reader: &str, path: &str) -> Option<(f64, f64)> {
    let own = std::env::current_exe().expect("its own name");
    let mut command = Command::new("/usr/bin/env");
    if reader.starts_with("one-") {
        command.arg(own).args([reader, path]);
    } else {
        command.args([reader, path]);
    }
    let mut timed = Command::new("python3");
    timed
        .args(["-c", WATCH])
        .arg(command.get_program())
        .args(command.get_args());
    let output = timed.stderr(Stdio::piped()).output().ok()?;
    if !output.status.success() {
        return None;
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let mut numbers = said
        .split_whitespace()
        .map(|n| n.parse::<f64>().expect("a number"));
    Some((numbers.next()?, numbers.next()? * 1024.0))
}

/// Runs a command and prints its seconds and its peak in KiB.
const WATCH: &str = "
import resource, subprocess, sys, time
t = time.monotonic()
r = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(time.monotonic() - t, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(r.returncode)
";

fn one(reader: &str, path: &str) {
    match reader {
        "one-nothing" => {}
        "one-graphmap" => {
            let bytes = std::fs::read(path).expect("the graph");
            let mut sources = graphmap_kpn::source::SourceMap::new();
            let mut findings = graphmap_kpn::diagnostic::Diagnostics::new();
            let declared = graphmap_dot::dialect::load(&mut sources, path, bytes, &mut findings);
            let declared = declared.expect("a valid graph");
            assert!(!declared.channels.is_empty());
            std::mem::forget(declared);
        }
        _ => {
            let text = std::fs::read_to_string(path).expect("the graph");
            let graph = dot_parser::ast::Graph::try_from(text.as_str()).expect("a valid graph");
            let graph = dot_parser::canonical::Graph::from(graph);
            assert!(!graph.edges.set.is_empty());
            std::mem::forget(graph);
        }
    }
}
