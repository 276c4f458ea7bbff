//! The graphs to read. Edges can be written in many ways, and a reader that is fast on one of them
//! is not necessarily fast on the others.

use std::fmt::Write;

/// A way to write edges: name, description, and a function that appends one edge. `half` is half
/// the number of edges, which is about the number of nodes.
pub struct Variant {
    pub name: &'static str,
    pub about: &'static str,
    edge: fn(&mut String, i: usize, half: usize),
}

pub const VARIANTS: &[Variant] = &[
    Variant {
        name: "plain",
        about: "nothing but `worker1 -> worker2;`",
        edge: |text, i, _| {
            let (a, b) = (i / 2, i / 2 + 1);
            let _ = writeln!(text, "  worker{a} -> worker{b};");
        },
    },
    Variant {
        name: "few lists",
        about: "four attributes on each edge, but only two different lists of them",
        edge: |text, i, _| {
            let (a, b) = (i / 2, i / 2 + 1);
            let port = if i % 2 == 0 { "task" } else { "result" };
            let _ = writeln!(
                text,
                "  worker{a} -> worker{b} [src={port}, dst={port}, type=Task, capacity=16];"
            );
        },
    },
    Variant {
        name: "own lists",
        about: "four attributes on each edge, no two lists the same: a label and traffic of its own",
        edge: |text, i, _| {
            let (a, b) = (i / 2, i / 2 + 1);
            let (port, traffic) = (if i % 2 == 0 { "task" } else { "result" }, i * 7 + 1);
            let _ = writeln!(
                text,
                "  worker{a} -> worker{b} [src={port}, dst={port}, label=\"channel {i}\", traffic={traffic}];"
            );
        },
    },
    Variant {
        name: "ports",
        about: "ports written with colons, `worker1:task -> worker2:task`",
        edge: |text, i, _| {
            let (a, b) = (i / 2, i / 2 + 1);
            let port = if i % 2 == 0 { "task" } else { "result" };
            let _ = writeln!(text, "  worker{a}:{port} -> worker{b}:{port};");
        },
    },
    Variant {
        name: "scattered",
        about: "as plain, but each edge joins two nodes from anywhere in the graph",
        edge: |text, i, half| {
            // The factors are coprime to the sizes, so every node occurs, in an order unlike that
            // in memory.
            let (a, b) = (i * 7_368_787 % half, (i * 4_256_233 + 1) % half);
            let _ = writeln!(text, "  worker{a} -> worker{b};");
        },
    },
];

impl Variant {
    /// Returns the text of a graph with this number of edges.
    pub fn graph(&self, edges: usize) -> String {
        let mut text = String::from("digraph bench {\n");
        for i in 0..edges {
            (self.edge)(&mut text, i, (edges / 2).max(1));
        }
        text.push_str("}\n");
        text
    }
}
