//! Who reads, each in an OS process of its own, and what that costs.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use wait4::Wait4;

/// A contestant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// Graphmap's whole front end: bytes of a file to the declared network, spans, findings and all.
    Graphmap,
    /// Graphviz, which also writes the graph out again (to `/dev/null`).
    Nop,
    /// Graphviz's `gc`, which reads the graph and counts its nodes and edges.
    Gc,
    /// The crate dot-parser, to its canonical graph.
    DotParser,
    /// A program that does nothing, for its memory.
    Nothing,
}

/// What a run cost.
#[derive(Clone, Copy)]
pub struct Cost {
    /// Seconds from start to end.
    pub wall: f64,
    /// Seconds of processors, user and system.
    pub cpu: f64,
    /// Of these, those in the kernel.
    pub system: f64,
    /// Most bytes of memory at once.
    pub peak: f64,
}

impl Cost {
    /// Runs a command; `None` where it fails, or is not there.
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

    /// Reads a file in an OS process of its own; `None` where that fails, be it that the program
    /// is not there.
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

    /// The reader of a name.
    pub fn of(name: &str) -> Reader {
        let all = Reader::ALL.into_iter().chain([Reader::Nothing]);
        let mut found = all.filter(|reader| reader.name() == name);
        found.next().expect("the name of a reader")
    }

    /// Reads a file in this very process. What was read is not given back piece by piece: the
    /// process ends, and the kernel takes it all at once.
    pub fn read(self, path: &str) {
        match self {
            Reader::Graphmap => {
                let bytes = std::fs::read(path).expect("the graph");
                let mut sources = graphmap_kpn::source::SourceMap::new();
                let mut findings = graphmap_kpn::diagnostic::Diagnostics::new();
                let declared =
                    graphmap_dot::dialect::load(&mut sources, path, bytes, &mut findings);
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
