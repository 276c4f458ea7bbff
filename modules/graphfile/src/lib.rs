//! Graphs as METIS and Scotch write them, for [`graphmap_partition`], and partitions as they do.
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

/// A language that graphs without names are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// That of METIS (and KaHIP, and the tenth challenge of DIMACS): a line a vertex, counted from 1.
    Metis,
    /// That of Scotch: a stream of numbers, counted from a base that the file says.
    Scotch,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 2] = [Format::Metis, Format::Scotch];

    /// Its name, as in `--format NAME`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Metis => "metis",
            Format::Scotch => "scotch",
        }
    }

    /// The program that it comes from.
    fn title(self) -> &'static str {
        match self {
            Format::Metis => "METIS",
            Format::Scotch => "Scotch",
        }
    }

    /// The format of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.name() == name)
    }

    /// The format of files with this ending, in any case: `.graph` and `.metis` are METIS's, `.grf`
    /// Scotch's.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "graph" | "metis" => Some(Format::Metis),
            "grf" => Some(Format::Scotch),
            _ => None,
        }
    }
}

/// Reads a graph. Whatever the text is, the answer is a graph or at least one error, each with its
/// place; it takes time in proportion to the text, and memory, whatever its header claims.
///
/// `None` means that there was at least one error; all of them are in `out`.
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
        // The name says more than each number that is not understood.
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

/// Writes a graph so that [`read`] gives it back: weights only where one is not 1.
#[must_use]
pub fn print(graph: &Graph, format: Format) -> String {
    match format {
        Format::Metis => metis::print(graph),
        Format::Scotch => scotch::print(graph),
    }
}

/// A partition as METIS writes it into `FILE.part.N`: a line a vertex with its block, from 0 on.
#[must_use]
pub fn partition(block_of: &[u32]) -> String {
    let mut text = String::with_capacity(4 * block_of.len());
    for block in block_of {
        writeln!(text, "{block}").expect("a String takes all");
    }
    text
}

/// A partition as Scotch writes it into a mapping file (`.map`): how many vertices there are, and
/// a line for each with what the file calls it and its block.
#[must_use]
pub fn mapping(file: &GraphFile, block_of: &[u32]) -> String {
    let mut text = format!("{}\n", block_of.len());
    for (vertex, block) in block_of.iter().enumerate() {
        let name = file.name(vertex as u32);
        writeln!(text, "{name}\t{block}").expect("a String takes all");
    }
    text
}
