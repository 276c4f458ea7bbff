//! The command line: verbs, and options without a verb.

use super::args::{Common, GraphArgs};
use super::exit::Exit;
use clap::{Parser, Subcommand};

#[derive(Parser, Debug)]
#[command(
    name = "graphmap",
    version,
    about = "Check, map, wire and run parallel programs drawn as graphs of processes and channels",
    subcommand_negates_reqs = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  graphmap check graphs/farm.dot                 report all errors of a graph
  graphmap run graphs/farm.dot                   build the program of a graph and run it
  graphmap farm.dot --emit wiring.rs             write the wiring code
  graphmap farm.dot wiring.c hostfile            the same without --emit, for two files
  graphmap farm.dot -n 4 --emit hostfile=hosts   write a hostfile for a launcher
  graphmap explain G0305                         explain an error",
    after_long_help = format!("{LONG}\n\n{}", Exit::TABLE)
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
    #[command(flatten)]
    pub(crate) emit: super::emit::EmitArgs,
}

const LONG: &str = "\
Examples:
  graphmap check graphs/farm.dot                 report all errors of a graph
  graphmap run graphs/farm.dot                   build the program of a graph and run it
  graphmap farm.dot --emit wiring.rs             write the wiring code
  graphmap farm.dot --emit json=-                write the network as JSON to standard output
  graphmap farm.dot --emit wiring.rs --check     check whether the file is up to date
  graphmap explain G0305                         explain an error";

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    Check(super::check::CheckArgs),
    Expand(super::expand::ExpandArgs),
    Fmt(super::fmt::FmtArgs),
    Emit(super::emit::EmitArgs),
    New(super::new::args::NewArgs),
    Setup(super::setup::SetupArgs),
    Partition(super::partition::args::PartitionArgs),
    Run(super::run::args::RunArgs),
    Cc(super::c_programs::compile::CcArgs),
    Cxx(super::c_programs::compile::CxxArgs),
    Mpiexec(super::c_programs::mpiexec::MpiexecArgs),
    View(super::view::ViewArgs),
    Passes(super::passes::PassesArgs),
    Explain(super::explain::ExplainArgs),
    Import(super::import::ImportArgs),
    Doctor(super::doctor::DoctorArgs),
    Completions(super::shell::CompletionsArgs),
    Man(super::shell::ManArgs),
}

impl Verb {
    /// Returns the arguments for the graph that the verb reads. Returns `None` for a verb without
    /// such arguments. Also returns `None` for `emit`, which checks the options of its emitters
    /// itself.
    pub(crate) fn graph(&self) -> Option<&GraphArgs> {
        match self {
            Verb::Check(args) => Some(&args.graph),
            Verb::Expand(args) => Some(&args.graph),
            Verb::New(args) => Some(&args.graph),
            Verb::Partition(args) => Some(&args.graph),
            Verb::Run(args) => Some(&args.graph),
            Verb::View(args) => Some(&args.graph),
            Verb::Emit(_)
            | Verb::Fmt(_)
            | Verb::Passes(_)
            | Verb::Explain(_)
            | Verb::Import(_)
            | Verb::Setup(_)
            | Verb::Doctor(_)
            | Verb::Cc(_)
            | Verb::Cxx(_)
            | Verb::Mpiexec(_)
            | Verb::Completions(_)
            | Verb::Man(_) => None,
        }
    }

    /// Returns the name of the strategy that the command line selects. Returns `None` for `emit`,
    /// as [`Verb::graph`] does.
    pub(crate) fn strategy(&self) -> Option<&str> {
        match self {
            Verb::Partition(args) => Some(&args.mapping.strategy),
            Verb::Run(args) => args.strategy.as_deref(),
            _ => None,
        }
    }
}
