//! Time and memory of the whole command `graphmap check`, from the file to the last diagnostic, by
//! size. Shows whether the cost per edge grows with the graph.

use crate::readers::Cost;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Ways to write the edges of a ring of processes. Each process has two outputs and two inputs.
const SHAPES: [(&str, Edges); 2] = [("neighbours", neighbours), ("scattered", scattered)];

/// Function that appends the two edges with index `i` of a graph of `n` processes.
type Edges = fn(text: &mut String, i: usize, n: usize);

fn neighbours(text: &mut String, i: usize, n: usize) {
    edges(text, [(i, (i + 1) % n), (i, (i + 2) % n)]);
}

/// Appends edges between distant processes. The factors are coprime to ten, so each port of each
/// process occurs once.
fn scattered(text: &mut String, i: usize, n: usize) {
    let at = |factor: usize, offset: usize| (i * factor + offset) % n;
    edges(text, [(at(7, 0), at(11, 1)), (at(13, 5), at(17, 3))]);
}

fn edges(text: &mut String, [(a, b), (c, d)]: [(usize, usize); 2]) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  worker{a} -> worker{b} [src=a, dst=b];");
    let _ = writeln!(text, "  worker{c} -> worker{d} [src=c, dst=d];");
}

/// Measures the command `graphmap` and prints Markdown tables.
pub fn table(graphmap: &Path, sizes: &[usize]) {
    println!(
        "| edges | joins | CPU ns an edge | of it in the kernel | bytes an edge \
         | time of the smallest | without the kernel | memory |"
    );
    println!("|---:|---|---:|---:|---:|---:|---:|---:|");
    let path = std::env::temp_dir().join(format!("bench-check-{}.dot", std::process::id()));
    for (name, shape) in SHAPES {
        let mut smallest = None;
        for &edges in sizes {
            write(shape, edges, &path);
            let all: Vec<Cost> = (0..5).map(|_| check(graphmap, &path)).collect();
            let least = |of: fn(&Cost) -> f64| {
                let least = all.iter().map(of).fold(f64::MAX, f64::min);
                least / edges as f64
            };
            let ns = least(|c| c.cpu) * 1e9;
            let own = least(|c| c.cpu - c.system) * 1e9;
            let bytes = least(|c| c.peak);
            let first = *smallest.get_or_insert((ns, own, bytes));
            println!(
                "| {edges} | {name} | {ns:.0} | {:.0} | {bytes:.0} | {:.2} | {:.2} | {:.2} |",
                least(|c| c.system) * 1e9,
                ns / first.0,
                own / first.1,
                bytes / first.2,
            );
        }
    }
    std::fs::remove_file(&path).expect("the file written before");
    // Measured last, because the kernel counts the memory of this OS process as part of the peak of
    // its child processes.
    println!("\nWhat memory itself takes, by how much of it there is:\n");
    println!("| edges | table, MB | an access anywhere in it, ns | a new page, ns |");
    println!("|---:|---:|---:|---:|");
    for &edges in sizes {
        let (access, page) = (access(edges), page(edges));
        println!(
            "| {edges} | {} | {access:.1} | {page:.0} |",
            edges * 8 / 1_000_000
        );
    }
}

/// Returns the nanoseconds of a random access to a table of the ports at both ends of all edges.
/// Each access depends on the one before, so that the processor cannot overlap them.
fn access(edges: usize) -> f64 {
    let size = 2 * edges;
    // One cycle through all entries, because the step is coprime to ten.
    let table: Vec<u32> = (0..size).map(|i| ((i + 7_368_787) % size) as u32).collect();
    let rounds = 4_000_000;
    let start = Instant::now();
    let mut at = 0;
    for _ in 0..rounds {
        at = table[at as usize];
    }
    black_box(at);
    start.elapsed().as_secs_f64() * 1e9 / f64::from(rounds)
}

/// Returns the nanoseconds of the first access to a page. The number of pages is as for a check of
/// `edges` edges, at 200 bytes per edge.
fn page(edges: usize) -> f64 {
    const PAGE: usize = 4096;
    let pages = edges * 200 / PAGE;
    let start = Instant::now();
    let mut fresh = vec![0_u8; pages * PAGE];
    for page in fresh.chunks_mut(PAGE) {
        page[0] = 1;
    }
    black_box(&fresh);
    start.elapsed().as_secs_f64() * 1e9 / pages as f64
}

/// Writes a graph two edges at a time, so that the memory of this OS process stays small.
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
