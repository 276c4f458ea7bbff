//! Recognises files of other formats, for better diagnostics.

use crate::text::Word;
use graphmap_kpn::foreign::{self, Foreign};

/// Returns the format of a text that could not be read, with a help for the user. Returns `None` if
/// the format is not known.
pub(crate) fn recognise(text: Word<'_>) -> Option<Foreign> {
    foreign::recognise(text.text)
        .or_else(|| dot(text))
        .or_else(|| hypergraph(text))
}

fn dot(text: Word<'_>) -> Option<Foreign> {
    // Comments are possible before the keyword.
    let comment = |line: &Word<'_>| line.text.trim_start().starts_with(['#', '/', '*']);
    let line = text
        .lines()
        .find(|line| !line.is_blank() && !comment(line))?;
    let keywords = ["digraph", "graph", "strict"];
    let word = line
        .words()
        .next()?
        .text
        .trim_end_matches('{')
        .to_ascii_lowercase();
    (keywords.contains(&word.as_str()) && text.text.contains('{')).then_some(Foreign {
        name: "DOT",
        help: "omit `--format`, or use `--format dot`",
    })
}

/// Recognises a hypergraph of hMETIS. Returns `None` if the text does not follow the format, or
/// could be a graph.
///
/// Its header contains the number of hyperedges, the number of vertices, and the kinds of weights.
/// A line for each hyperedge lists its vertices. If vertices have weights, a line for each vertex
/// follows. Unlike in a METIS graph, the first number is the number of lines, and the vertices on
/// them go up to the second number.
fn hypergraph(text: Word<'_>) -> Option<Foreign> {
    let mut lines = text
        .lines()
        .filter(|line| !line.is_blank() && !line.text.trim_start().starts_with('%'));
    let header = numbers(lines.next()?)?;
    let (&[edges, vertices], kind) = match header.len() {
        2 => (header.first_chunk::<2>()?, 0),
        3 => (header.first_chunk::<2>()?, header[2]),
        _ => return None,
    };
    if edges == 0 || ![0, 1, 10, 11].contains(&kind) {
        return None;
    }
    let weighted = kind % 10;
    let mut largest = 0;
    for _ in 0..edges {
        let line = numbers(lines.next()?)?;
        let pins = line.get(weighted as usize..)?;
        if pins.is_empty() || pins.iter().any(|pin| !(1..=vertices).contains(pin)) {
            return None;
        }
        largest = largest.max(pins.iter().copied().max().unwrap_or(0));
    }
    let weights = if kind >= 10 { vertices } else { 0 };
    // A graph with these lines could not have such a vertex.
    (largest > edges && lines.count() as u64 == weights).then_some(Foreign {
        name: "a hypergraph of hMETIS",
        help: "convert it to a METIS graph, whose edges have two ends",
    })
}

fn numbers(line: Word<'_>) -> Option<Vec<u64>> {
    line.words().map(|word| word.text.parse().ok()).collect()
}
