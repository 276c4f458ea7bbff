//! The readers, each in its own OS process, and their costs.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use wait4::Wait4;

/// Reader of DOT.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// The whole front end of graphmap: from the bytes of a file to the declared network, with
    /// spans and diagnostics.
    Graphmap,
    /// Graphviz's `nop`, which also writes the graph (to `/dev/null`).
    Nop,
    /// Graphviz's `gc`, which reads the graph and counts its nodes and edges.
    Gc,
    /// The crate dot-parser, to its canonical graph.
    DotParser,
    /// A program that does nothing, to measure its memory.
    Nothing,
}

/// Cost of a run.
#[derive(Clone, Copy)]
pub struct Cost {
    /// Seconds from start to end.
    pub wall: f64,
    /// CPU seconds, user and system.
    pub cpu: f64,
    /// CPU seconds in the kernel.
    pub system: f64,
    /// Peak memory in bytes.
    pub peak: f64,
}

impl Cost {
    /// Runs a command and returns its cost, or `None` if the command fails or does not exist.
    pub fn of(mut command: Command) -> Option<Cost> {
        let quiet = || Stdio::null();
        command.stdin(quiet()).stdout(quiet()).stderr(quiet());
        let start = Instant::now();
        let used = command.spawn().ok()?.wait4().ok()?;
        let wall = start.elapsed().as_secs_f64();
        used.status.success().then(|| Cost {
            wall,
            cpu: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
            system: used.rusage.stime.as_secs_f64(),
            peak: used.rusage.maxrss as f64,
        })
    }
}

impl Reader {
    pub const ALL: [Reader; 4] = [Reader::Graphmap, Reader::Nop, Reader::Gc, Reader::DotParser];

    pub fn name(self) -> &'static str {
        match self {
            Reader::Graphmap => "graphmap",
            Reader::Nop => "nop",
            Reader::Gc => "gc",
            Reader::DotParser => "dot-parser",
            Reader::Nothing => "nothing",
        }
    }

    /// Reads a file in a separate OS process and returns its cost, or `None` if that fails, for
    /// example because the program does not exist.
    pub fn run(self, path: &Path) -> Option<Cost> {
        let mut command = match self {
            Reader::Nop | Reader::Gc => Command::new(self.name()),
            _ => Command::new(std::env::current_exe().expect("its own name")),
        };
        if !matches!(self, Reader::Nop | Reader::Gc) {
            command.args(["read", self.name()]);
        }
        command.arg(path);
        Cost::of(command)
    }

    /// Returns the reader with this name.
    pub fn of(name: &str) -> Reader {
        let all = Reader::ALL.into_iter().chain([Reader::Nothing]);
        let mut found = all.filter(|reader| reader.name() == name);
        found.next().expect("the name of a reader")
    }

    /// Reads a file in this OS process. The result is leaked instead of freed piece by piece,
    /// because the kernel frees all memory when the OS process ends.
    pub fn read(self, path: &str) {
        match self {
            Reader::Graphmap => {
                let bytes = std::fs::read(path).expect("the graph");
                let mut sources = graphmap_kpn::source::SourceMap::new();
                let mut diagnostics = graphmap_kpn::diagnostic::Diagnostics::new();
                let declared =
                    graphmap_dot::language::load(&mut sources, path, bytes, &mut diagnostics);
                let declared = declared.expect("a valid graph");
                assert!(!declared.channels.is_empty());
                assert!(!sources.text(declared.channels[0].span).is_empty());
                std::mem::forget((declared, sources));
            }
            Reader::DotParser => {
                let text = std::fs::read_to_string(path).expect("the graph");
                let graph = dot_parser::ast::Graph::try_from(text.as_str()).expect("a valid graph");
                let graph = dot_parser::canonical::Graph::from(graph);
                assert!(!graph.edges.set.is_empty());
                std::mem::forget(graph);
            }
            _ => {}
        }
    }
}
