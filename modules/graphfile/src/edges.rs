//! Edges, which both formats list at both ends, and the check that the two lists agree.

use crate::codes;
use crate::text::Word;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::Span;
use graphmap_partition::{Channel, Graph, LARGEST_TOTAL};

/// One end of an edge, listed at the other end.
#[derive(Clone, Copy, Debug)]
struct End {
    to: u32,
    /// Range of bytes of its number in the source map.
    at: u32,
    length: u8,
    weight: u64,
}

impl End {
    fn span(self) -> Span {
        Span::new(self.at, self.at + u32::from(self.length))
    }
}

/// Ends of edges for each vertex, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    loads: Vec<u64>,
    ends: Vec<End>,
    /// End of the row of each vertex in `ends`.
    stops: Vec<usize>,
    /// Sum of the loads, and of the weights of all ends.
    totals: [u64; 2],
}

/// Limits of the two sums. Each edge has two ends, so the second is doubled.
const LARGEST: [u64; 2] = [LARGEST_TOTAL, 2 * LARGEST_TOTAL];

impl Rows {
    /// Returns the number of complete rows.
    pub(crate) fn vertices(&self) -> usize {
        self.stops.len()
    }

    /// Returns the number of ends of edges in all rows, including the open one.
    pub(crate) fn ends(&self) -> usize {
        self.ends.len()
    }

    /// Adds an end of an edge of this weight to the open row. `to` is the number or label of the
    /// other vertex, which `word` contains. The recorded position has at most the first 255 bytes
    /// of `word`.
    pub(crate) fn end(&mut self, to: u32, weight: u64, word: Word<'_>) {
        // Leading zeros can make a number this long.
        let length = word.text.len().min(usize::from(u8::MAX)) as u8;
        let at = word.start;
        self.ends.push(End {
            to,
            at,
            length,
            weight,
        });
    }

    /// Completes the open row, which belongs to the next vertex, and sets the load of that vertex.
    /// The following ends go to a new row.
    pub(crate) fn close(&mut self, load: u64) {
        self.loads.push(load);
        self.stops.push(self.ends.len());
    }

    /// Replaces labels by the numbers of vertices, which `index` returns for a label and its
    /// position. Keeps a label for which `index` returns `None`.
    pub(crate) fn relabel(&mut self, mut index: impl FnMut(u32, Span) -> Option<u32>) {
        for end in &mut self.ends {
            if let Some(to) = index(end.to, end.span()) {
                end.to = to;
            }
        }
    }

    /// Adds a weight, which `word` contains, to the sum of the loads or of the weights of all ends.
    /// Reports an error when the sum exceeds its limit for the first time: 2^52 for loads, and
    /// twice as much for ends.
    pub(crate) fn count(&mut self, of: Sum, weight: u64, word: Word<'_>, out: &mut Diagnostics) {
        let (total, most) = (&mut self.totals[of as usize], LARGEST[of as usize]);
        let before = *total;
        *total = total.saturating_add(weight);
        if before <= most && *total > most {
            let what = ["vertices", "edges"][of as usize];
            let message = format!("the sum of the weights of all {what} is too large");
            let diagnostic = Diagnostic::error(codes::NUMBER, message);
            let diagnostic = diagnostic.at(word.span(), "the sum exceeds 2^52 here");
            out.push(diagnostic.help("divide all weights by the same number"));
        }
    }

    fn row(&self, vertex: usize) -> std::ops::Range<usize> {
        let start = vertex.checked_sub(1).map_or(0, |before| self.stops[before]);
        start..self.stops[vertex]
    }

    /// Returns the graph of these edges. Returns `None`, with errors in `out`, if an edge has only
    /// one end, has different weights at its ends, leads to its own vertex, or is listed twice. The
    /// same applies if [`Graph::of`] refuses the graph.
    ///
    /// `name` returns the name of a vertex in the file. Each end must lead to an existing vertex.
    pub(crate) fn graph(
        mut self,
        name: impl Fn(u32) -> u64,
        out: &mut Diagnostics,
    ) -> Option<Graph> {
        let errors = out.len();
        let n = self.vertices();
        for v in 0..n {
            let row = self.row(v);
            // Stable, so that the second of two equal ends in the file is reported.
            self.ends[row].sort_by_key(|end| end.to);
        }
        self.check_rows(&name, out);
        if out.len() == errors {
            self.check_symmetry(&name, out);
        }
        if out.len() > errors {
            return None;
        }
        let rows = &self;
        let edges = (0..n).flat_map(|v| {
            let ends = rows.ends[rows.row(v)].iter();
            ends.filter(move |end| end.to as usize > v)
                .map(move |end| Channel {
                    from: v as u32,
                    to: end.to,
                    traffic: end.weight,
                })
        });
        let graph = Graph::of(rows.loads.clone(), edges);
        let refused = |error: graphmap_partition::Error| {
            let what = format!("the graph cannot be used: {error}");
            out.push(Diagnostic::error(codes::NUMBER, what));
        };
        graph.map_err(refused).ok()
    }

    /// Reports the first edge of each vertex to itself, and other edges that are listed twice at
    /// one vertex. The ends of each row must be sorted by their vertices.
    fn check_rows(&self, name: &impl Fn(u32) -> u64, out: &mut Diagnostics) {
        for v in 0..self.vertices() {
            let row = &self.ends[self.row(v)];
            let own = row.partition_point(|end| (end.to as usize) < v);
            if let Some(own) = row.get(own).filter(|end| end.to as usize == v) {
                let message = format!("vertex {} has an edge to itself", name(v as u32));
                let diagnostic = Diagnostic::error(codes::VERTEX, message).at(own.span(), "");
                out.push(diagnostic.help("remove it; it is never cut"));
            }
            for pair in row
                .windows(2)
                .filter(|p| p[0].to == p[1].to && p[0].to as usize != v)
            {
                let (one, other) = (name(v as u32), name(pair[0].to));
                let message = format!("vertex {one} has two edges to {other}");
                let diagnostic = Diagnostic::error(codes::VERTEX, message)
                    .at(pair[1].span(), "")
                    .also(pair[0].span(), "the first edge is here")
                    .help("replace both by one edge with the sum of their weights");
                out.push(diagnostic);
            }
        }
    }

    /// Reports ends without an opposite end, and edges with different weights. Each pair of weights
    /// is reported once.
    ///
    /// Rows must be sorted by their vertices, without duplicates. So vertices in increasing order
    /// need the ends of each row in its own order, and one pass over all rows compares all pairs.
    fn check_symmetry(&self, name: &impl Fn(u32) -> u64, out: &mut Diagnostics) {
        let n = self.vertices();
        // Next end in each row that leads to the current vertex or a later one.
        let mut next: Vec<usize> = (0..n).map(|v| self.row(v).start).collect();
        for v in 0..n {
            for end in &self.ends[self.row(v)] {
                let there = end.to as usize;
                let stop = self.stops[there];
                let mut at = next[there];
                // Skipped ends lead to vertices without the opposite end. They are reported in
                // their own row.
                while at < stop && (self.ends[at].to as usize) < v {
                    at += 1;
                }
                match self.ends.get(at).filter(|_| at < stop) {
                    Some(back) if back.to as usize == v => {
                        at += 1;
                        if back.weight != end.weight && v < there {
                            let message = format!(
                                "the edge between {} and {} has two weights, {} and {}",
                                name(v as u32),
                                name(end.to),
                                end.weight,
                                back.weight
                            );
                            let diagnostic = Diagnostic::error(codes::ONE_SIDED, message)
                                .at(back.span(), "")
                                .also(end.span(), "the other end");
                            out.push(diagnostic.help("give both ends the same weight"));
                        }
                    }
                    _ => one_sided(name, v as u32, *end, out),
                }
                next[there] = at;
            }
        }
    }
}

/// The sum to which a weight is added.
#[derive(Clone, Copy)]
pub(crate) enum Sum {
    Loads,
    Edges,
}

fn one_sided(name: &impl Fn(u32) -> u64, from: u32, end: End, out: &mut Diagnostics) {
    let (one, other) = (name(from), name(end.to));
    let message = format!("vertex {one} has an edge to {other}, but {other} has none to {one}");
    let diagnostic = Diagnostic::error(codes::ONE_SIDED, message).at(end.span(), "");
    out.push(diagnostic.help(format!(
        "list the edge at both ends: add {one} to the neighbours of {other}, or remove {other} from \
         those of {one}"
    )));
}
