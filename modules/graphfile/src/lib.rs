//! Reads and writes graphs in the formats of METIS and Scotch, for [`graphmap_partition`], and
//! writes partitions in their formats.
//!
//! ```
//! use graphmap_graphfile::{Format, partition, read};
//! use graphmap_kpn::{diagnostic::Diagnostics, source::SourceMap};
//! use graphmap_partition::{Machine, Options, Problem, solve};
//!
//! // A path of four vertices.
//! let (mut sources, mut found) = (SourceMap::new(), Diagnostics::new());
//! let source = sources.add("path.graph", "4 3\n2\n1 3\n2 4\n3\n")?;
//! let file = read(&source, Format::Metis, &mut found).expect("nothing is wrong with it");
//! let machine = Machine::regular(&[(2, 1)])?;
//! let solution = solve(&Problem::new(&file.graph, &machine), &Options::default())?;
//! assert_eq!(solution.evaluation.cost, 1);
//! assert_eq!(partition(&solution.block_of).lines().count(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod codes;
mod edges;
mod file;
mod foreign;
mod metis;
mod scotch;
mod text;

pub use file::GraphFile;

use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::Source;
use graphmap_partition::Graph;
use std::fmt::Write;
use std::path::Path;
use text::Word;

/// A format of graphs without names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Format of METIS (and KaHIP, and the tenth challenge of DIMACS): a line per vertex, counted
    /// from 1.
    Metis,
    /// Format of Scotch: a stream of numbers, with vertices counted from a base that the file
    /// states.
    Scotch,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 2] = [Format::Metis, Format::Scotch];

    /// Returns the name of the format, as in `--format NAME`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Metis => "metis",
            Format::Scotch => "scotch",
        }
    }

    /// Returns the name of the program that defines the format.
    fn title(self) -> &'static str {
        match self {
            Format::Metis => "METIS",
            Format::Scotch => "Scotch",
        }
    }

    /// Returns the format with this [name](Self::name), or `None` if there is none. Case matters.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.name() == name)
    }

    /// Returns the format for the extension of a path: METIS for `.graph` and `.metis`, Scotch for
    /// `.grf`. Upper and lower case are equivalent. Returns `None` for any other extension, or
    /// without one.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "graph" | "metis" => Some(Format::Metis),
            "grf" => Some(Format::Scotch),
            _ => None,
        }
    }
}

/// Reads a graph from the text of `source`, and adds diagnostics to `out`.
///
/// Returns `None` if there was at least one error. A result can come with warnings. Each error has
/// a position. If the text cannot be read but is in another known format, the only diagnostic says
/// so.
///
/// Time and memory do not depend on the numbers in the header, if the text is shorter than these
/// say. They are proportional to the length of the text, apart from sorting the neighbours of each
/// vertex.
pub fn read(source: &Source, format: Format, out: &mut Diagnostics) -> Option<GraphFile> {
    let mut found = Diagnostics::new();
    let file = match format {
        Format::Metis => metis::read(source, &mut found),
        Format::Scotch => scotch::read(source, &mut found),
    };
    let text = Word::all(source);
    if file.is_none()
        && let Some(other) = foreign::recognise(text)
    {
        // The name of the format is more helpful than errors about each word.
        let first = text.words().next().map_or(text.end(), Word::span);
        let message = format!("this is {}, not a {} graph", other.name, format.title());
        out.push(
            Diagnostic::error(codes::HEADER, message)
                .at(first, "")
                .help(other.help),
        );
        return None;
    }
    out.append(found);
    file
}

/// Returns the text of a graph in a format, from which [`read`] gives a graph with the same
/// vertices and edges.
///
/// Weights of vertices are written only if one of them is not 1. The same applies to weights of
/// edges. Memory sizes and numbers of parallel channels are not written. [`read`] refuses the text
/// if the graph has no vertices, or an edge of weight 0.
#[must_use]
pub fn print(graph: &Graph, format: Format) -> String {
    match format {
        Format::Metis => metis::print(graph),
        Format::Scotch => scotch::print(graph),
    }
}

/// Returns a partition in the format of METIS's `FILE.part.N`: a line per vertex with its block,
/// counted from 0. `block_of` contains the block of each vertex, in order.
#[must_use]
pub fn partition(block_of: &[u32]) -> String {
    let mut text = String::with_capacity(4 * block_of.len());
    for block in block_of {
        writeln!(text, "{block}").expect("a String takes all");
    }
    text
}

/// Returns a partition in the format of Scotch's mapping files (`.map`): the number of vertices,
/// and a line per vertex with its name in the file, a tab and its block. `block_of` contains the
/// block of each vertex, in the order of the file.
///
/// # Panics
/// Panics if `block_of` has more entries than the graph has vertices.
#[must_use]
pub fn mapping(file: &GraphFile, block_of: &[u32]) -> String {
    let mut text = format!("{}\n", block_of.len());
    for (vertex, block) in block_of.iter().enumerate() {
        let name = file.name(vertex as u32);
        writeln!(text, "{name}\t{block}").expect("a String takes all");
    }
    text
}
