//! Time and memory of reading DOT: graphmap's whole front end (from the bytes of a file to the
//! declared network with its spans) against Graphviz and the crate dot-parser. The graphs differ in
//! size and in the attributes of their edges.
//!
//! Each reading has its own OS process, and the readers take turns. The time that the same reader
//! takes for a graph of one edge is subtracted, because the start and end of an OS process are not
//! part of reading. Ratios are medians over the rounds. The output is a Markdown table, as in the
//! book.

use graphs::{VARIANTS, Variant};
use readers::{Cost, Reader};
use std::path::Path;

mod check;
mod graphs;
mod readers;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [verb, reader, path] if verb == "read" => return Reader::of(reader).read(path),
        // Writes a graph, for the function `write`, or to inspect or profile one.
        [verb, name, edges] if verb == "write" => {
            let variant = VARIANTS.iter().find(|v| v.name == name);
            let edges = edges.parse().expect("a number of edges");
            print!("{}", variant.expect("the name of a variant").graph(edges));
            return;
        }
        // Measures the whole command `graphmap check`.
        [verb, graphmap, edges @ ..] if verb == "check" => {
            return check::table(Path::new(graphmap), &numbers(edges));
        }
        _ => {}
    }
    let mut sizes = numbers(&args);
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000, 1_000_000];
    }
    println!(
        "| edges | written as | MB | graphmap, s | CPU s | bytes a channel \
         | `nop`, times slower | in CPU | `gc`, times slower | in CPU \
         | dot-parser, times slower | in CPU |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let mut worst = Worst::default();
    for edges in sizes {
        for variant in VARIANTS {
            row(variant, edges, &mut worst);
        }
    }
    println!();
    worst.print();
    for variant in VARIANTS {
        println!("- *{}*: {}.", variant.name, variant.about);
    }
}

fn numbers(args: &[String]) -> Vec<usize> {
    let numbers = args.iter().map(|a| a.parse().expect("numbers of edges"));
    numbers.collect()
}

/// Measures the readers on one graph, and prints a row of the table.
fn row(variant: &Variant, edges: usize, worst: &mut Worst) {
    let folder = std::env::temp_dir();
    let file = |edges| folder.join(format!("bench-dot-{}-{edges}.dot", std::process::id()));
    let (path, one) = (file(edges), file(1));
    for (path, edges) in [(&path, edges), (&one, 1)] {
        write(variant, edges, path);
    }
    let megabytes = std::fs::metadata(&path).expect("the graph").len() as f64 / 1e6;
    let nothing = Reader::Nothing.run(&one).expect("a program that runs");
    let mut costs: [Costs; 4] = Default::default();
    for turn in 0..turns_of(edges) {
        for (reader, costs) in Reader::ALL.into_iter().zip(&mut costs) {
            // These readers are slow, so they read large graphs only once.
            let slow = matches!(reader, Reader::Gc | Reader::DotParser) && edges > 100_000;
            if (turn == 0 || !slow)
                && let (Some(one), Some(all)) = (reader.run(&one), reader.run(&path))
            {
                costs.one.push(one);
                costs.all.push(all);
            }
        }
    }
    for path in [&path, &one] {
        std::fs::remove_file(path).expect("the file written before");
    }
    let [ours, others @ ..] = costs.map(|costs| costs.of_reading());
    let peak = ours.iter().map(|c| c.peak).fold(0.0, f64::max);
    let bytes = (peak - nothing.peak) / edges as f64;
    print!(
        "| {edges} | {} | {megabytes:.1} | {:.4} | {:.4} | {bytes:.0} |",
        variant.name,
        median(ours.iter().map(|c| c.wall)),
        median(ours.iter().map(|c| c.cpu)),
    );
    worst.bytes = worst.bytes.max(bytes);
    for (reader, costs) in Reader::ALL.into_iter().skip(1).zip(&others) {
        if costs.is_empty() {
            print!(" - | - |");
            continue;
        }
        let pairs = || costs.iter().zip(&ours);
        let wall = median(pairs().map(|(c, o)| c.wall / o.wall));
        let cpu = median(pairs().map(|(c, o)| c.cpu / o.cpu));
        print!(" {wall:.1} | {cpu:.1} |");
        worst.note(reader, wall.min(cpu));
    }
    println!();
}

/// Costs of a reader in each round.
#[derive(Default)]
struct Costs {
    /// For a graph of one edge: start and end of the OS process.
    one: Vec<Cost>,
    /// For the whole graph.
    all: Vec<Cost>,
}

impl Costs {
    /// Returns the costs without start and end.
    fn of_reading(&self) -> Vec<Cost> {
        let wall = median(self.one.iter().map(|c| c.wall));
        let cpu = median(self.one.iter().map(|c| c.cpu));
        let net = |c: &Cost| Cost {
            wall: (c.wall - wall).max(1e-6),
            cpu: (c.cpu - cpu).max(1e-6),
            ..*c
        };
        self.all.iter().map(net).collect()
    }
}

/// Writes a graph in a separate OS process, because the kernel includes the peak memory of this one
/// in the peak of each child process.
fn write(variant: &Variant, edges: usize, path: &Path) {
    let file = std::fs::File::create(path).expect("a writable temporary folder");
    let own = std::env::current_exe().expect("its own name");
    let mut command = std::process::Command::new(own);
    command
        .args(["write", variant.name, &edges.to_string()])
        .stdout(file);
    let status = command.status().expect("a program that runs");
    assert!(status.success(), "writing {} failed", path.display());
}

fn turns_of(edges: usize) -> usize {
    match edges {
        0..=10_000 => 9,
        10_001..=100_000 => 5,
        _ => 3,
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    bench_common::median(&values.collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

/// Worst values of the table, for a summary in one line.
#[derive(Default)]
struct Worst {
    bytes: f64,
    ratios: Vec<(Reader, f64)>,
}

impl Worst {
    fn note(&mut self, reader: Reader, ratio: f64) {
        match self.ratios.iter_mut().find(|(r, _)| *r == reader) {
            Some((_, least)) => *least = least.min(ratio),
            None => self.ratios.push((reader, ratio)),
        }
    }

    fn print(&self) {
        let ratios = self.ratios.iter();
        let ratios: Vec<String> = ratios
            .map(|(reader, least)| format!("{:.1} times faster than {}", least, reader.name()))
            .collect();
        println!(
            "Least of all rows, wall or CPU: {}; most memory {:.0} bytes a channel.\n",
            ratios.join(", "),
            self.bytes
        );
    }
}
