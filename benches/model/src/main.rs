//! Time and memory of expansion, joining and verification, for graphs of growing size. If the time
//! per channel does not grow with the size, the cost is linear.
//!
//! Each measurement has its own OS process, whose peak memory the kernel reports. The time is the
//! best of three. Memory is counted above the memory of the empty program. It is measured with the
//! declarations alone, and at the peak, when both declarations and network exist.

use bench_common::{peak, resident};
use graphmap_kpn::declared::{
    BundleKind, ChannelDecl, ChannelExtra, Declared, EndDecl, ModuleDecl, NodeDecl, NodeId,
};
use graphmap_kpn::names::Symbol;
use graphmap_kpn::source::Span;
use std::process::Command;
use std::time::{Duration, Instant};

/// Function that returns a graph with about this number of channels.
type Shape = fn(usize) -> Declared;

const SHAPES: [(&str, Shape); 5] = [
    ("chain", chain),
    ("grid", grid),
    ("farm", farm),
    ("kinds", kinds),
    ("repeated", repeated),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [word, shape, channels] = &args[..]
        && word == "one"
    {
        one(shape, channels.parse().expect("a number of channels"));
        return;
    }
    let numbers = args.iter().map(|a| a.parse().expect("numbers of channels"));
    let mut sizes: Vec<usize> = numbers.collect();
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000, 1_000_000];
    }
    println!("| graph | channels | expand | resolve | verify | all | declared | peak |");
    println!("|---|---|---|---|---|---|---|---|");
    println!("| | | ns a channel | ns | ns | ns | bytes a channel | bytes |");
    for (shape, _) in SHAPES {
        for size in &sizes {
            let program = std::env::current_exe().expect("its own name");
            let mut child = Command::new(program);
            let output = child.args(["one", shape, &size.to_string()]).output();
            let output = output.expect("it starts itself");
            assert!(output.status.success(), "{shape} {size}: {output:?}");
            print!("{}", String::from_utf8_lossy(&output.stdout));
        }
    }
}

/// Measures one graph, and prints its line of the table.
fn one(name: &str, channels: usize) {
    let (_, shape) = SHAPES.iter().find(|(n, _)| *n == name).expect("a shape");
    let before = resident();
    let declared = shape(channels);
    let held = resident();
    let (mut best, count) = run(declared);
    let most = peak();
    for _ in 0..2 {
        let (times, _) = run(shape(channels));
        for (b, t) in best.iter_mut().zip(times) {
            *b = (*b).min(t);
        }
    }
    let ns = |t: Duration| t.as_nanos() as f64 / count as f64;
    let all: Duration = best.iter().sum();
    println!(
        "| {name} | {count} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} |",
        ns(best[0]),
        ns(best[1]),
        ns(best[2]),
        ns(all),
        (held - before).max(0.0) / count as f64,
        (most - before).max(0.0) / count as f64,
    );
}

fn run(declared: Declared) -> ([Duration; 3], usize) {
    let start = Instant::now();
    let (expanded, _) = graphmap_kpn::expand::expand(declared).expect("sound");
    let expanded_at = Instant::now();
    let (network, _) = graphmap_kpn::resolve::resolve(expanded).expect("sound");
    let resolved_at = Instant::now();
    let (verified, _) = graphmap_kpn::infer::infer(network)
        .and_then(graphmap_kpn::verify::verify)
        .expect("sound");
    let times = [
        expanded_at - start,
        resolved_at - expanded_at,
        resolved_at.elapsed(),
    ];
    (times, verified.channels.len())
}

/// Declarations under construction. Each node and channel has a different span.
#[derive(Default)]
struct Draft {
    declared: Declared,
    spans: u32,
}

impl Draft {
    fn span(&mut self) -> Span {
        self.spans += 1;
        Span::new(self.spans, self.spans + 1)
    }

    fn symbol(&mut self, name: &str) -> Symbol {
        self.declared.names.intern(name)
    }

    fn node(&mut self, name: &str, kind: &str) -> NodeId {
        let (name, kind, span) = (self.symbol(name), self.symbol(kind), self.span());
        self.declared.nodes.push(NodeDecl {
            name,
            process: None,
            port_prefix: None,
            kind,
            module: None,
            replicas: None,
            load: 1.0,
            mem: 0.0,
            span,
        })
    }

    /// Adds a channel. `None` is the environment.
    fn channel(&mut self, from: (Option<NodeId>, Symbol), to: (Option<NodeId>, Symbol)) {
        let end = |(node, port)| EndDecl { node, port };
        let span = self.span();
        self.declared.channels.push(ChannelDecl {
            from: end(from),
            to: end(to),
            ty: None,
            capacity: None,
            initial: 0,
            extra: None,
            traffic: 1.0,
            within: None,
            span,
        });
    }

    fn say(&mut self, extra: ChannelExtra) {
        let extra = self.declared.add_extra(extra);
        self.declared.channels.last_mut().expect("a channel").extra = extra;
    }
}

/// Returns a chain of stages.
fn chain(channels: usize) -> Declared {
    let mut d = Draft::default();
    let (out, into) = (d.symbol("out"), d.symbol("in"));
    let mut last = None;
    for i in 0..=channels {
        let stage = d.node(&format!("stage{i}"), "stage");
        d.channel((last, out), (Some(stage), into));
        last = Some(stage);
    }
    d.channel((last, out), (None, into));
    d.declared
}

/// Returns a torus of cells with four neighbours each.
fn grid(channels: usize) -> Declared {
    let mut d = Draft::default();
    let side = ((channels / 4) as f64).sqrt() as usize;
    let ports: Vec<_> = ["e", "w", "n", "s", "from_w", "from_e", "from_s", "from_n"]
        .map(|p| d.symbol(p))
        .into();
    let cells: Vec<NodeId> = (0..side * side)
        .map(|i| d.node(&format!("cell{}_{}", i / side, i % side), "cell"))
        .collect();
    for (i, &cell) in cells.iter().enumerate() {
        let (row, column) = (i / side, i % side);
        let neighbours = [
            row * side + (column + 1) % side,
            row * side + (column + side - 1) % side,
            ((row + side - 1) % side) * side + column,
            ((row + 1) % side) * side + column,
        ];
        for (way, there) in neighbours.into_iter().enumerate() {
            d.channel(
                (Some(cell), ports[way]),
                (Some(cells[there]), ports[way + 4]),
            );
        }
    }
    d.declared
}

/// Returns one source, many workers and one sink. The ports of source and sink have one channel for
/// each worker.
fn farm(channels: usize) -> Declared {
    let mut d = Draft::default();
    let (out, into) = (d.symbol("out"), d.symbol("in"));
    let (source, sink) = (d.node("source", "source"), d.node("sink", "sink"));
    for i in 0..channels / 2 {
        let worker = d.node(&format!("worker{i}"), "worker");
        d.channel((Some(source), out), (Some(worker), into));
        d.say(ChannelExtra {
            bundle: Some(BundleKind::Scatter),
            ..ChannelExtra::default()
        });
        d.channel((Some(worker), out), (Some(sink), into));
    }
    d.declared
}

/// Returns a chain in which every process has its own kind and its own ports.
fn kinds(channels: usize) -> Declared {
    let mut d = Draft::default();
    let mut last = None;
    for i in 0..=channels {
        let name = format!("p{i}x");
        let (out, into) = (d.symbol(&format!("to{i}")), d.symbol(&format!("from{i}")));
        let node = d.node(&name, &name);
        if let Some((last, port)) = last {
            d.channel((Some(last), port), (Some(node), into));
        }
        last = Some((node, out));
    }
    d.declared
}

/// Returns a torus that is declared as one cell.
fn repeated(channels: usize) -> Declared {
    let mut d = Draft::default();
    let side = ((channels / 2) as f64).sqrt() as u32;
    let (name, span) = (d.symbol("row"), d.span());
    let row = d.declared.modules.push(ModuleDecl {
        name,
        kind: name,
        parent: None,
        replicas: Some(side),
        closed: false,
        span,
    });
    let cell = d.node("cell", "cell");
    let decl = &mut d.declared.nodes[cell];
    (decl.module, decl.replicas) = (Some(row), Some(side));
    for (from, to, step) in [("e", "from_w", vec![0, 1]), ("s", "from_n", vec![1, 0])] {
        let (from, to) = (d.symbol(from), d.symbol(to));
        d.channel((Some(cell), from), (Some(cell), to));
        d.say(ChannelExtra {
            step,
            wrap: true,
            ..ChannelExtra::default()
        });
    }
    d.declared
}
