//! Reads rules of the mapping from the command line and from files.

use super::exit::Exit;
use super::session::{Outcome, Session};
use crate::codes;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::input::Limit;
use graphmap_kpn::source::Span;
use graphmap_plan::{self as plan, Rule};
use std::path::{Path, PathBuf};

/// Options with rules of the mapping.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Mapping rules")]
pub(crate) struct RuleArgs {
    /// Where processes may run: `worker*=node1`, `kind:disk=node1,node2`, `manager=0` (an OS
    /// process), `module:farm_2=4-7`
    #[arg(long, value_name = "WHAT=WHERE")]
    pin: Vec<String>,
    /// Processes that must be in one OS process: `source,sink`
    #[arg(long, value_name = "WHAT")]
    together: Vec<String>,
    /// Processes that must be in different OS processes: `kind:worker`; or on different hosts:
    /// `replica*@*`
    #[arg(long, value_name = "WHAT[@WHERE]")]
    apart: Vec<String>,
    /// Number of these processes in each OS process: `kind:worker=1-4`, `*=-100` (at most 100),
    /// `disk*=1@0-3` (in each of OS processes 0 to 3), `gpu*=-2@node*` (on each of these hosts)
    #[arg(long, value_name = "WHAT=COUNT[@WHERE]")]
    hold: Vec<String>,
    /// Modules that must each be in one OS process: `farm*`
    #[arg(long, value_name = "MODULES")]
    whole: Vec<String>,
    /// Modules to keep together, as if channels with this traffic joined their processes
    #[arg(long, value_name = "MODULES=TRAFFIC")]
    prefer: Vec<String>,
    /// Memory of each of these hosts or OS processes, for all processes there: `node*=64G`
    #[arg(long, value_name = "WHERE=SIZE")]
    memory: Vec<String>,
    /// Cost of moving the processes WHAT to another OS process than in `--previous`, instead of
    /// `--migration`: `kind:table=1000`, or `*=mem` for the memory of each process
    #[arg(long = "move", value_name = "WHAT=PRICE", requires = "previous")]
    moving: Vec<String>,
    /// Processes of one kind, in the same modules, that exchange their places:
    /// `kind:worker=random:6`, `stride:3`, or a file with a number from 0 for each of them
    #[arg(long, value_name = "WHAT=ORDER")]
    permute: Vec<String>,
    /// What an OS process may hold: `node = worker[*], disk[1] / 10` (at most 10 processes); a
    /// container may contain others
    #[arg(long, value_name = "NAME=ITEMS")]
    container: Vec<String>,
    /// OS processes, each with the limits of a container: `first, node*6`, or
    /// `for i in 1..8 { node }`. They set the number of OS processes
    #[arg(long, value_name = "BOXES")]
    boxes: Vec<String>,
    /// File with a rule on each line. A rule is one of these options without `--`: `pin worker* =
    /// node1`
    #[arg(long, value_name = "PATH")]
    rules: Vec<PathBuf>,
}

impl RuleArgs {
    /// Returns the texts of options, each with the keyword of its rule.
    fn texts(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let lists = [
            &self.pin,
            &self.together,
            &self.apart,
            &self.hold,
            &self.whole,
            &self.prefer,
            &self.memory,
            &self.moving,
            &self.permute,
            &self.container,
            &self.boxes,
        ];
        let words = plan::RULES.into_iter().zip(lists);
        words.flat_map(|(word, list)| list.iter().map(move |text| (word, text)))
    }

    /// Returns the files of rules.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.rules.iter().map(PathBuf::as_path)
    }

    /// Returns the name of an option that contains a rule, without dashes, or `rules` if only files
    /// contain rules. Returns `None` if there are no rules.
    pub(crate) fn first(&self) -> Option<&'static str> {
        let file = self.rules.first().map(|_| "rules");
        self.texts().next().map(|(word, _)| word).or(file)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first().is_none()
    }
}

impl Session<'_> {
    /// Returns the whole numbers in a file, which white space separates.
    fn numbers(&mut self, path: &str, at: Span) -> Outcome<Vec<u32>> {
        let source = self.text_file(Path::new(path), Limit::NETWORK)?;
        let numbers = source.text().split_whitespace().map(str::parse);
        numbers.collect::<Result<_, _>>().or_else(|_| {
            let message = format!("`{path}` contains other text than whole numbers");
            let error = Diagnostic::error(plan::codes::BAD_PERMUTATION, message).at(at, "");
            self.fail(Exit::Graph, error)
        })
    }

    /// Returns all valid rules of the files and the command line, in this order. Reports invalid
    /// rules, and also returns the exit status if there are any: [`Exit::Graph`] for a rule in a
    /// file, and [`Exit::Usage`] for an option or a file that cannot be read. With several errors,
    /// it is the status of the last one.
    pub(crate) fn rules(&mut self, args: &RuleArgs) -> (Vec<Rule>, Option<Exit>) {
        let mut rules = Vec::new();
        let mut ends = None;
        for path in &args.rules {
            let mut found = Diagnostics::new();
            match self.text_file(path, Limit::SETTINGS) {
                Ok(source) => rules.extend(plan::read_rules(&source, &mut found)),
                Err(exit) => ends = Some(exit),
            }
            if found.has_errors() {
                ends = Some(Exit::Graph);
            }
            self.report_all(found);
        }
        for (word, text) in args.texts() {
            let source = self.sources.add(format!("--{word}"), text.as_str());
            let rule = source
                .map_err(|error| Box::new(Diagnostic::error(codes::TOO_LARGE, error.to_string())));
            match rule.and_then(|source| plan::rule(word, &source)) {
                Ok(rule) => rules.push(rule),
                Err(wrong) => {
                    self.report(*wrong);
                    ends = Some(Exit::Usage);
                }
            }
        }
        for rule in &mut rules {
            if let Err(exit) = rule.read_file(|path, at| self.numbers(path, at)) {
                ends = Some(exit);
            }
        }
        (rules, ends)
    }
}
