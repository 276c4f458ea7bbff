//! Graphs in the format of Scotch (user's guide of version 7, section 5.1).
//!
//! ```text
//! 0
//! 3 6
//! 0 000
//! 2 1 2
//! 2 0 2
//! 2 0 1
//! ```
//!
//! The file is a stream of numbers, in which line ends have no meaning:
//!
//! * the version, 0,
//! * the number of vertices, and the number of ends of edges,
//! * the number of the first vertex, and three digits: labels of vertices, weights of edges,
//!   weights of vertices,
//! * for each vertex: its label and its weight if the file has them, the number of its neighbours,
//!   and its neighbours, each after the weight of the edge.

use crate::codes;
use crate::edges::{Rows, Sum};
use crate::file::{GraphFile, Names, vertices, weighted};
use crate::text::{Word, Words};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics, Severity};
use graphmap_kpn::source::{Source, Span};
use graphmap_partition::{Graph, LARGEST_TOTAL};
use std::fmt::Write;

/// Help for an invalid header.
const HELP: &str = "begin a Scotch graph with 0, the number of vertices, the number of edge ends (two per \
                      edge), the number of the first vertex, and three digits for labels and weights";

/// Help for a part of a distributed graph, which is of version 2.
pub(crate) const GATHERED: &str =
    "if it is a part of a distributed PT-Scotch graph, combine all parts with `dggath`";

struct Reader<'a, 'o> {
    /// True if the version is alone on its line, as Scotch writes it.
    alone: bool,
    words: Words<'a>,
    out: &'o mut Diagnostics,
}

struct Header<'a> {
    vertices: Word<'a>,
    n: u64,
    ends: Word<'a>,
    declared: u64,
    base: u64,
    labels: bool,
    weighted: bool,
    loads: bool,
}

pub(crate) fn read(source: &Source, out: &mut Diagnostics) -> Option<GraphFile> {
    let errors = out.count(Severity::Error);
    let mut reader = Reader {
        alone: Word::all(source)
            .lines()
            .find(|line| !line.is_blank())
            .is_some_and(|line| line.words().count() == 1),
        words: Word::all(source).words(),
        out,
    };
    let header = reader.header()?;
    let (rows, labels) = reader.rows(&header)?;
    if let Some(word) = reader.words.next() {
        let message = format!(
            "the header gives {}, but the file continues after them",
            vertices(header.n)
        );
        let diagnostic = Diagnostic::error(codes::COUNT, message).at(word.span(), "");
        reader.out.push(diagnostic.also(header.vertices.span(), ""));
    }
    let out = reader.out;
    if rows.ends() as u64 != header.declared {
        let there = rows.ends();
        let declared = match header.declared {
            1 => "1 edge end".to_owned(),
            n => format!("{n} edge ends"),
        };
        let message = format!("the header gives {declared}, but the file has {there}");
        let diagnostic = Diagnostic::error(codes::COUNT, message).at(header.ends.span(), "");
        out.push(match header.declared.checked_mul(2) == Some(there as u64) {
            true => diagnostic.help("count each edge twice, because it has two ends"),
            false => diagnostic,
        });
    }
    // Ends with unknown neighbours would cause more errors in the comparison.
    if out.count(Severity::Error) > errors {
        return None;
    }
    let names = match labels {
        Some(labels) => Names::Labels(labels),
        None => Names::From(header.base as u32),
    };
    let graph = rows.graph(|v| name(&names, v), out)?;
    Some(GraphFile { graph, names })
}

fn name(names: &Names, vertex: u32) -> u64 {
    match names {
        Names::From(base) => u64::from(*base) + u64::from(vertex),
        Names::Labels(labels) => u64::from(labels[vertex as usize]),
    }
}

impl<'a> Reader<'a, '_> {
    /// Returns the next word, and skips it. At the end of the text, reports an error and returns
    /// `None`. `what` names the expected word in the message.
    fn next(&mut self, what: &str) -> Option<Word<'a>> {
        if let Some(word) = self.words.next() {
            return Some(word);
        }
        let message = format!("the file ends where {what} is expected");
        let diagnostic = Diagnostic::error(codes::COUNT, message);
        self.out.push(diagnostic.at(self.words.here(), "").help(
            "compare the number of vertices in the header, and the number of neighbours of each \
             vertex, with the file",
        ));
        None
    }

    fn number(&mut self, what: &str, least: u64, most: u64) -> Option<(u64, Word<'a>)> {
        let word = self.next(what)?;
        Some((word.number(what, least, most, self.out)?, word))
    }

    fn header(&mut self) -> Option<Header<'a>> {
        let wrong = |message: String, word: Word<'_>| {
            Diagnostic::error(codes::HEADER, message)
                .at(word.span(), "")
                .help(HELP)
        };
        let Some(version) = self.words.next() else {
            let diagnostic = Diagnostic::error(codes::HEADER, "the file has no header");
            self.out
                .push(diagnostic.at(self.words.here(), "").help(HELP));
            return None;
        };
        if !version.text.trim_start_matches('0').is_empty() {
            let diagnostic = wrong(format!("unknown version `{}`", version.shown()), version);
            let metis = version.text == "%" || version.text.bytes().all(|b| b.is_ascii_digit());
            self.out.push(match metis {
                _ if self.alone && version.text == "2" => diagnostic.help(GATHERED),
                true => diagnostic.help("if it is a METIS graph, use `--format metis`"),
                false => diagnostic,
            });
            return None;
        }
        let largest = u64::from(u32::MAX) - 1;
        let (n, vertices) = self.number("the number of vertices", 1, largest)?;
        let (declared, ends) = self.number("the number of edge ends", 0, (1 << 32) - 2)?;
        let (base, _) = self.number("the number of the first vertex", 0, largest - n)?;
        let flags = self.next("the digits for labels and weights")?;
        if flags.text.len() > 3 || flags.text.bytes().any(|b| !matches!(b, b'0' | b'1')) {
            let message = format!("`{}` does not describe the weights", flags.shown());
            let diagnostic = Diagnostic::error(codes::HEADER, message).at(flags.span(), "");
            self.out.push(diagnostic.help(
                "write three digits, each 0 or 1, for labels of vertices, weights of edges, and weights \
                 of vertices; `011` means the last two",
            ));
            return None;
        }
        let set =
            |from_the_right: usize| flags.text.bytes().rev().nth(from_the_right) == Some(b'1');
        let [loads, weighted, labels] = [set(0), set(1), set(2)];
        Some(Header {
            vertices,
            n,
            ends,
            declared,
            base,
            labels,
            weighted,
            loads,
        })
    }

    /// Reads all vertices, and their labels if the file has any. Reports an error and returns
    /// `None` at the first word that is missing or not a number in its range, because the rest
    /// would be misread. Also reports neighbours and labels that do not exist, labels that occur
    /// twice, and sums of weights that are too large. These do not end the reading.
    fn rows(&mut self, header: &Header<'_>) -> Option<(Rows, Option<Vec<u32>>)> {
        let mut rows = Rows::default();
        let mut labels = Vec::new();
        for v in 0..header.n {
            if header.labels {
                let (label, word) = self.number("the label of a vertex", 0, u32::MAX.into())?;
                labels.push((label as u32, word.span()));
            }
            let mut load = 1;
            if header.loads {
                let (value, word) = self.number("the weight of a vertex", 0, LARGEST_TOTAL)?;
                load = value;
                rows.count(Sum::Loads, load, word, self.out);
            }
            let what = "the number of neighbours of a vertex";
            let (degree, _) = self.number(what, 0, u32::MAX.into())?;
            for _ in 0..degree {
                let mut weight = 1;
                if header.weighted {
                    let (value, word) = self.number("the weight of an edge", 1, LARGEST_TOTAL)?;
                    weight = value;
                    rows.count(Sum::Edges, weight, word, self.out);
                }
                let (to, word) = self.number("a neighbour", 0, u32::MAX.into())?;
                let known = header.labels || (header.base..header.base + header.n).contains(&to);
                let to = match (known, header.labels) {
                    (true, true) => to,
                    (true, false) => to - header.base,
                    (false, _) => {
                        self.no_vertex(to, word.span(), header);
                        // A placeholder, which is counted but not compared, because there is an
                        // error.
                        v
                    }
                };
                rows.end(to as u32, weight, word);
            }
            rows.close(load);
        }
        if !header.labels {
            return Some((rows, None));
        }
        let plain = labels.iter().map(|(label, _)| *label).collect();
        self.resolve(labels, &mut rows);
        Some((rows, Some(plain)))
    }

    fn no_vertex(&mut self, to: u64, span: Span, header: &Header<'_>) {
        let diagnostic = Diagnostic::error(codes::VERTEX, format!("there is no vertex {to}"));
        let last = header.base + header.n - 1;
        let note = format!("by the header, the vertices are {} to {last}", header.base);
        self.out.push(diagnostic.at(span, "").with_note(note));
    }

    /// Replaces the labels in `rows` by the numbers of vertices. `labels` has the label of each
    /// vertex and its position. Reports labels that two vertices have, and labels that no vertex
    /// has. The latter are kept.
    fn resolve(&mut self, labels: Vec<(u32, Span)>, rows: &mut Rows) {
        let mut order: Vec<u32> = (0..labels.len() as u32).collect();
        order.sort_by_key(|&v| labels[v as usize].0);
        for pair in order.windows(2) {
            let [(label, first), (again, second)] = [0, 1].map(|i: usize| labels[pair[i] as usize]);
            if label == again {
                let message = format!("two vertices have the label {label}");
                let diagnostic = Diagnostic::error(codes::VERTEX, message);
                let diagnostic = diagnostic.at(second, "").also(first, "the first one");
                self.out
                    .push(diagnostic.help("give each vertex its own label"));
            }
        }
        rows.relabel(|label, span| {
            let found = order.binary_search_by_key(&label, |&v| labels[v as usize].0);
            if found.is_err() {
                let message = format!("no vertex has the label {label}");
                self.out
                    .push(Diagnostic::error(codes::VERTEX, message).at(span, ""));
            }
            Some(order[found.ok()?])
        });
    }
}

pub(crate) fn print(graph: &Graph) -> String {
    let (loads, edges) = weighted(graph);
    let flags = format!("0{}{}", u8::from(edges), u8::from(loads));
    let mut text = format!("0\n{} {}\n0 {flags}\n", graph.vertices(), 2 * graph.edges());
    for v in 0..graph.vertices() as u32 {
        if loads {
            let _ = write!(text, "{} ", graph.load(v));
        }
        let _ = write!(text, "{}", graph.neighbours(v).count());
        for (u, weight) in graph.neighbours(v) {
            let _ = match edges {
                true => write!(text, " {weight} {u}"),
                false => write!(text, " {u}"),
            };
        }
        text.push('\n');
    }
    text
}
