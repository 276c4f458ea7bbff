//! What `graphmap check` costs as a whole, from the file to the last finding, by size: whether an edge of a large
//! graph costs more than one of a small graph.

use crate::readers::Cost;
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;

/// How the edges of a ring of processes are written; each process has two outputs and two inputs.
const SHAPES: [(&str, Edges); 2] = [("neighbours", neighbours), ("scattered", scattered)];

/// The two edges that stand at place `i` of a graph of `n` processes.
type Edges = fn(text: &mut String, i: usize, n: usize);

fn neighbours(text: &mut String, i: usize, n: usize) {
    edges(text, [(i, (i + 1) % n), (i, (i + 2) % n)]);
}

/// Each edge joins two from anywhere: the factors divide no power of ten, so everybody comes up once.
fn scattered(text: &mut String, i: usize, n: usize) {
    let at = |factor: usize, offset: usize| (i * factor + offset) % n;
    edges(text, [(at(7, 0), at(11, 1)), (at(13, 5), at(17, 3))]);
}

fn edges(text: &mut String, [(a, b), (c, d)]: [(usize, usize); 2]) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  worker{a} -> worker{b} [src=a, dst=b];");
    let _ = writeln!(text, "  worker{c} -> worker{d} [src=c, dst=d];");
}

/// Prints a table; `graphmap` is the command that is measured.
pub fn table(graphmap: &Path, sizes: &[usize]) {
    println!(
        "| edges | joins | CPU s | CPU ns an edge | bytes an edge | time of the smallest | memory |"
    );
    println!("|---:|---|---:|---:|---:|---:|---:|");
    let path = std::env::temp_dir().join(format!("bench-check-{}.dot", std::process::id()));
    for (name, shape) in SHAPES {
        let mut smallest = None;
        for &edges in sizes {
            write(shape, edges, &path);
            let all: Vec<Cost> = (0..3).map(|_| check(graphmap, &path)).collect();
            let least = |of: fn(&Cost) -> f64| all.iter().map(of).fold(f64::MAX, f64::min);
            let (cpu, peak) = (least(|c| c.cpu), least(|c| c.peak));
            let (ns, bytes) = (cpu * 1e9 / edges as f64, peak / edges as f64);
            let (first_ns, first_bytes) = *smallest.get_or_insert((ns, bytes));
            println!(
                "| {edges} | {name} | {cpu:.2} | {ns:.0} | {bytes:.0} | {:.2} | {:.2} |",
                ns / first_ns,
                bytes / first_bytes,
            );
        }
    }
    std::fs::remove_file(&path).expect("the file written before");
}

/// Piece by piece: what this process holds counts for those that it starts.
fn write(shape: Edges, edges: usize, path: &Path) {
    let file = std::fs::File::create(path).expect("a writable temporary folder");
    let mut file = BufWriter::new(file);
    let mut text = "digraph g {\n".to_owned();
    for i in 0..edges / 2 {
        shape(&mut text, i, edges / 2);
        file.write_all(text.as_bytes()).expect("room for the graph");
        text.clear();
    }
    file.write_all(b"}\n").expect("room for the graph");
    file.flush().expect("room for the graph");
}

fn check(graphmap: &Path, path: &Path) -> Cost {
    let mut command = Command::new(graphmap);
    command.arg("check").arg(path);
    Cost::of(command).expect("a graph that nothing is wrong with")
}
