//! Graphs in the format of METIS (manual of version 5, section 4.1).
//!
//! ```text
//! % A triangle with weights of its edges.
//! 3 3 001
//! 2 5  3 1
//! 1 5  3 1
//! 1 1  2 1
//! ```
//!
//! The first line contains the numbers of vertices and edges. Two optional fields follow: three
//! digits for the kinds of weights (sizes of vertices, weights of vertices, weights of edges), and
//! the number of weights per vertex.
//!
//! Then there is a line for each vertex, counted from 1: its weights, and its neighbours, each with
//! the weight of the edge. Lines that begin with `%` are comments. An empty line is a vertex
//! without edges.

use crate::codes;
use crate::edges::{Rows, Sum};
use crate::file::{GraphFile, Names, counted, vertices, weighted};
use crate::scotch::GATHERED;
use crate::text::Word;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::Source;
use graphmap_partition::{Graph, LARGEST_TOTAL};
use std::fmt::Write;

/// Help for an invalid header.
const HELP: &str = "write the number of vertices and the number of edges in the first line, such as \
                      `4 5`; if there are weights, add three digits, such as `4 5 011`";

struct Header<'a> {
    vertices: Word<'a>,
    n: usize,
    edges: Word<'a>,
    m: u64,
    /// True if each vertex begins with a size.
    sizes: bool,
    /// Number of weights of each vertex.
    weights: usize,
    /// True if each edge has a weight.
    weighted: bool,
}

fn is_comment(line: &Word<'_>) -> bool {
    line.text.trim_start().starts_with('%')
}

pub(crate) fn read(source: &Source, out: &mut Diagnostics) -> Option<GraphFile> {
    let errors = count(out);
    let text = Word::all(source);
    let mut lines = text.lines().filter(|line| !is_comment(line));
    let header = header(lines.next().unwrap_or(text), text, out)?;
    let mut rows = Rows::default();
    // Memory is not allocated from the header, because its numbers may be too large.
    for _ in 0..header.n {
        let Some(line) = lines.next() else {
            missing(&header, rows.vertices(), text, out);
            return None;
        };
        row(line, &header, &mut rows, out);
    }
    extra(lines.filter(|line| !line.is_blank()), &header, out);
    // After an error some ends are missing, so their number is not checked.
    if count(out) > errors {
        return None;
    }
    if rows.ends() as u64 != 2 * header.m {
        let half = match rows.ends() % 2 {
            0 => "",
            _ => " and a half",
        };
        let message = format!(
            "the header gives {}, but the file has {}{half}",
            counted(header.m, "edge"),
            rows.ends() / 2
        );
        let diagnostic = Diagnostic::error(codes::COUNT, message).at(header.edges.span(), "");
        let note = format!(
            "the lines have {} in total, two per edge",
            counted(rows.ends() as u64, "neighbour")
        );
        out.push(diagnostic.with_note(note));
    }
    let graph = rows.graph(|v| u64::from(v) + 1, out)?;
    (count(out) == errors).then_some(GraphFile {
        graph,
        names: Names::From(1),
    })
}

fn count(out: &Diagnostics) -> usize {
    out.count(graphmap_kpn::diagnostic::Severity::Error)
}

fn header<'a>(line: Word<'a>, text: Word<'a>, out: &mut Diagnostics) -> Option<Header<'a>> {
    let words: Vec<Word<'a>> = line.words().take(5).collect();
    let wrong = |message: &str, word: Word<'_>, help: &str| {
        Diagnostic::error(codes::HEADER, message)
            .at(word.span(), "")
            .help(help)
    };
    let (vertices, edges) = match words[..] {
        [] if text.is_blank() => {
            let diagnostic = Diagnostic::error(codes::HEADER, "the file has no header");
            out.push(diagnostic.at(text.end(), "").help(HELP));
            return None;
        }
        [] => {
            out.push(wrong("the header line is empty", line, HELP));
            return None;
        }
        [only] => {
            let diagnostic = wrong("the header has only one number", only, HELP);
            out.push(match only.text {
                "0" => diagnostic.help("if it is a Scotch graph, use `--format scotch`"),
                "2" => diagnostic.help(GATHERED),
                _ => diagnostic,
            });
            return None;
        }
        [.., fifth] if words.len() > 4 => {
            out.push(wrong("the header has more than four numbers", fifth, HELP));
            return None;
        }
        [vertices, edges, ..] => (vertices, edges),
    };
    let most = u64::from(u32::MAX) - 1;
    let n = vertices.number("the number of vertices", 1, most, out);
    let m = edges.number("the number of edges", 0, (1 << 31) - 1, out);
    let [mut sizes, mut loads, mut weighted] = [false; 3];
    if let Some(fmt) = words.get(2) {
        if fmt.text.len() > 3 || fmt.text.bytes().any(|b| !matches!(b, b'0' | b'1')) {
            let message = format!("`{}` does not describe the weights", fmt.shown());
            let help = "write three digits, each 0 or 1, for sizes of vertices, weights of vertices, and \
                        weights of edges; `011` means the last two";
            out.push(wrong(&message, *fmt, help));
            return None;
        }
        let set = |from_the_right: usize| fmt.text.bytes().rev().nth(from_the_right) == Some(b'1');
        [weighted, loads, sizes] = [set(0), set(1), set(2)];
        if sizes {
            let message = "the sizes of vertices are not used";
            let diagnostic = Diagnostic::warning(codes::UNUSED, message).at(fmt.span(), "");
            let note = "METIS uses them for the communication volume; graphmap minimizes the cut";
            out.push(diagnostic.with_note(note));
        }
    }
    let mut weights = usize::from(loads);
    if let Some(many) = words.get(3) {
        let declared = many.number("the number of weights of a vertex", 0, u32::MAX.into(), out)?;
        if declared > 1 {
            let message = format!("vertices have {declared} weights, but only one can be balanced");
            let diagnostic = Diagnostic::error(codes::UNUSED, message).at(many.span(), "");
            out.push(diagnostic.help("keep the weight that matters most"));
            return None;
        }
        if declared == 1 && !loads {
            let message =
                "the header gives a number of weights per vertex, but says that vertices have none";
            let help = "write `010` as the third number if vertices have weights, or `011` if edges have weights too";
            out.push(wrong(message, *many, help));
            return None;
        }
        weights = usize::from(loads);
    }
    Some(Header {
        vertices,
        n: n? as usize,
        edges,
        m: m?,
        sizes,
        weights,
        weighted,
    })
}

fn row(line: Word<'_>, header: &Header<'_>, rows: &mut Rows, out: &mut Diagnostics) {
    let vertex = rows.vertices() + 1;
    let mut words = line.words();
    let own = usize::from(header.sizes) + header.weights;
    let mut load = 1;
    for i in 0..own {
        let (what, is_load) = match header.sizes && i == 0 {
            true => ("the size", false),
            false => ("the weight", true),
        };
        let Some(word) = words.next() else {
            let message = format!("{what} of vertex {vertex} is missing");
            let diagnostic = Diagnostic::error(codes::NUMBER, message).at(line.end(), "");
            out.push(diagnostic.help(format!(
                "begin the line with {what} of the vertex, as the header requires"
            )));
            break;
        };
        let what = format!("{what} of vertex {vertex}");
        if let Some(value) = word
            .number(&what, 0, LARGEST_TOTAL, out)
            .filter(|_| is_load)
        {
            load = value;
            rows.count(Sum::Loads, value, word, out);
        }
    }
    while let Some(word) = words.next() {
        let to = neighbour(word, header.n, out);
        let mut weight = 1;
        if header.weighted {
            let Some(next) = words.next() else {
                let message = format!("the weight of the edge to {} is missing", word.shown());
                let diagnostic = Diagnostic::error(codes::NUMBER, message).at(word.end(), "");
                out.push(diagnostic.help(
                    "write the weight of the edge after each neighbour, as the header requires",
                ));
                break;
            };
            match next.number("the weight of an edge", 1, LARGEST_TOTAL, out) {
                Some(declared) => weight = declared,
                None => continue,
            }
            rows.count(Sum::Edges, weight, next, out);
        }
        if let Some(to) = to {
            rows.end(to, weight, word);
        }
    }
    rows.close(load);
}

/// Parses the number of a vertex, which is counted from 1, and returns it counted from 0. `n` is
/// the number of vertices. Returns `None`, with an error in `out`, if `word` is not a number from 1
/// to `n`.
fn neighbour(word: Word<'_>, n: usize, out: &mut Diagnostics) -> Option<u32> {
    let value = word.number("a vertex", 0, u64::MAX, out)?;
    match value {
        0 => {
            let diagnostic =
                Diagnostic::error(codes::VERTEX, "there is no vertex 0").at(word.span(), "");
            out.push(diagnostic.help("count vertices from 1"));
            None
        }
        _ if value > n as u64 => {
            let message = format!("there is no vertex {value}");
            let diagnostic = Diagnostic::error(codes::VERTEX, message).at(word.span(), "");
            out.push(diagnostic.with_note(format!("the header gives {}", vertices(n as u64))));
            None
        }
        _ => Some((value - 1) as u32),
    }
}

/// Reports that the text ends before the line of the last vertex. `there` is the number of vertices
/// that have a line.
fn missing(header: &Header<'_>, there: usize, text: Word<'_>, out: &mut Diagnostics) {
    let message = format!(
        "the header gives {}, but the file has lines for {there}",
        vertices(header.n as u64)
    );
    let diagnostic = Diagnostic::error(codes::COUNT, message).at(header.vertices.span(), "");
    out.push(
        diagnostic
            .also(text.end(), "the file ends here")
            .help("write an empty line for a vertex without edges"),
    );
}

/// Reports `lines`, which are behind the line of the last vertex and not blank, by one error for
/// all. Reports nothing if there are no such lines.
fn extra<'a>(
    mut lines: impl Iterator<Item = Word<'a>>,
    header: &Header<'_>,
    out: &mut Diagnostics,
) {
    let Some(first) = lines.next() else { return };
    let more = 1 + lines.count();
    let declared = vertices(header.n as u64);
    let message = match more {
        1 => format!("the header gives {declared}, but the file has 1 more line"),
        _ => format!("the header gives {declared}, but the file has {more} more lines"),
    };
    let diagnostic = Diagnostic::error(codes::COUNT, message).at(first.span(), "");
    out.push(diagnostic.also(header.vertices.span(), ""));
}

pub(crate) fn print(graph: &Graph) -> String {
    let (loads, edges) = weighted(graph);
    let mut text = format!("{} {}", graph.vertices(), graph.edges());
    if loads || edges {
        let _ = write!(text, " 0{}{}", u8::from(loads), u8::from(edges));
    }
    text.push('\n');
    for v in 0..graph.vertices() as u32 {
        let load = loads.then(|| graph.load(v));
        let neighbours = graph.neighbours(v).flat_map(|(u, weight)| {
            [Some(u64::from(u) + 1), edges.then_some(weight)]
                .into_iter()
                .flatten()
        });
        let words: Vec<String> = load
            .into_iter()
            .chain(neighbours)
            .map(|n| n.to_string())
            .collect();
        text += &words.join(" ");
        text.push('\n');
    }
    text
}
