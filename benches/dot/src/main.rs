//! What reading DOT costs: graphmap's whole front end (bytes of a file to the declared network with
//! its spans) against Graphviz and the crate dot-parser, by size and by what stands on the edges.
//!
//! Each reading has an OS process of its own, and the readers take turns. Of the time of each, what
//! the same reader takes for a graph of one edge is taken off: to start and to end a process is not
//! to read, and weighs most where all is fast. Ratios are the medians of those of each turn. The
//! table is Markdown, as it stands in the book.

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
        // For those who want to look at a graph, or to profile the reading of one.
        [verb, name, edges] if verb == "write" => {
            let variant = VARIANTS.iter().find(|v| v.name == name);
            let edges = edges.parse().expect("a number of edges");
            print!("{}", variant.expect("the name of a variant").graph(edges));
            return;
        }
        // The whole command, where the script says which.
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
    worst.tell();
    for variant in VARIANTS {
        println!("- *{}*: {}.", variant.name, variant.about);
    }
}

fn numbers(args: &[String]) -> Vec<usize> {
    let numbers = args.iter().map(|a| a.parse().expect("numbers of edges"));
    numbers.collect()
}

/// Measures a graph and prints what came out.
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
            // A million edges take these so long that once must do.
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

/// What a reader took, each turn.
#[derive(Default)]
struct Costs {
    /// For a graph of one edge: to start and to end.
    one: Vec<Cost>,
    /// For the whole graph.
    all: Vec<Cost>,
}

impl Costs {
    /// What it took less what it takes to start and to end.
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

/// Writes a graph in an OS process of its own: the kernel counts the peak of this one as a part of
/// that of those it starts.
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

/// The worst of the table, for those who read one line.
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

    fn tell(&self) {
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
