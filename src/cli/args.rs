//! Command-line arguments that several verbs share.

use crate::levels::{self, Lint, LintLevels};
use clap::{Args, ValueEnum};
use graphmap_kpn::arguments::{self, GivenArgument};
use graphmap_kpn::level::Level;
use graphmap_kpn::sizes;
use std::path::PathBuf;

/// Options of every verb.
#[derive(Args, Clone, Debug)]
pub(crate) struct Common {
    /// Format of the diagnostics on standard error
    #[arg(long, global = true, value_enum, default_value_t = MessageFormat::Human, value_name = "FORMAT", hide_possible_values = false, help_heading = "Output")]
    pub(crate) message_format: MessageFormat,
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t = Colour::Auto,
        value_name = "WHEN",
        help_heading = "Output"
    )]
    pub(crate) color: Colour,
    /// Largest number of diagnostics to show; the others are counted
    #[arg(
        long,
        global = true,
        default_value_t = 20,
        value_name = "N",
        value_parser = count,
        allow_negative_numbers = true,
        help_heading = "Output"
    )]
    pub(crate) limit: usize,
    /// Print the duration of each step
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) timings: bool,
    /// Print nothing except diagnostics
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Time limit of an external pass, emitter or front end, in seconds
    #[arg(
        long,
        global = true,
        default_value_t = 60.0,
        value_name = "SECONDS",
        value_parser = seconds,
        allow_negative_numbers = true,
        help_heading = "Passes"
    )]
    pub(crate) plugin_timeout: f64,
    /// Do not show warnings and notes with this code, or all warnings (`warnings`). Errors, and
    /// codes of --deny, are still shown. Separate several codes with commas
    #[arg(long, global = true, value_name = "CODE", value_delimiter = ',', value_parser = levels::lint, help_heading = "Diagnostics")]
    pub(crate) allow: Vec<Lint>,
    /// Report diagnostics with this code as warnings. `warnings` cancels the levels
    /// of `warnings` in the graph and in graphmap.toml
    #[arg(long, global = true, value_name = "CODE", value_delimiter = ',', value_parser = levels::lint, help_heading = "Diagnostics")]
    pub(crate) warn: Vec<Lint>,
    /// Report diagnostics with this code, or all `warnings`, as errors
    #[arg(long, global = true, value_name = "CODE", value_delimiter = ',', value_parser = levels::lint, help_heading = "Diagnostics")]
    pub(crate) deny: Vec<Lint>,
}

impl Common {
    /// Returns the levels of diagnostics that the command line sets, in the order `--allow`,
    /// `--warn`, `--deny`.
    pub(crate) fn levels(&self) -> LintLevels {
        let lists = [&self.allow, &self.warn, &self.deny];
        let lists = Level::ALL.into_iter().zip(lists);
        lists
            .flat_map(|(level, list)| list.iter().map(move |lint| (level, *lint)))
            .collect()
    }

    /// Returns the default options, for errors in a command line that cannot be parsed.
    pub(crate) fn default_for_errors() -> Common {
        Common {
            message_format: MessageFormat::Human,
            color: Colour::Auto,
            limit: 20,
            timings: false,
            quiet: false,
            plugin_timeout: 60.0,
            allow: Vec::new(),
            warn: Vec::new(),
            deny: Vec::new(),
        }
    }
}

fn count(text: &str) -> Result<usize, String> {
    let wanted = |_| "expected a whole number of at least 0".to_owned();
    text.parse().map_err(wanted)
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1e9 => Ok(value),
        _ => Err("expected a number of seconds above 0".into()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MessageFormat {
    /// Text with source snippets
    Human,
    /// One JSON object per line
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Options of a verb that reads a graph.
#[derive(Args, Clone, Debug)]
pub(crate) struct GraphArgs {
    /// Format of the graph file (see `graphmap import`), or NAME of an executable
    /// `graphmap-read-NAME` on PATH [default: by file extension; dot for `-`]
    #[arg(long, value_name = "FORMAT", help_heading = "Input")]
    pub(crate) format: Option<String>,
    /// Set a size of the graph for this run, such as `n=50`; `list.n=50` is the size `n` of the graph
    /// that the node `list` includes
    #[arg(
        short = 'D',
        long = "size",
        value_name = "NAME=VALUE",
        value_parser = sizes::given,
        help_heading = "Input"
    )]
    pub(crate) sizes: Vec<(String, i64)>,
    /// Replace an argument of a process, or of all processes of a kind, for this run, such as
    /// `worker.seed=7`
    #[arg(
        short = 'A',
        long = "argument",
        value_name = "NAME.PARAMETER=VALUE",
        value_parser = arguments::given,
        help_heading = "Input"
    )]
    pub(crate) arguments: Vec<GivenArgument>,
    /// Search included files in this folder, after the folder of the file that includes them
    #[arg(
        short = 'I',
        long = "include",
        value_name = "DIR",
        help_heading = "Input"
    )]
    pub(crate) include: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) passes: PassArgs,
}

/// Options of passes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PassArgs {
    /// Run this pass on the network; repeat the option to run several, in this order
    #[arg(long = "pass", value_name = "NAME", help_heading = "Passes")]
    pub(crate) pass: Vec<String>,
    /// Replace the load and traffic of the graph by measured values: a file that `run --profile`
    /// wrote. Runs the pass `weights` before all others
    #[arg(long, value_name = "PATH", help_heading = "Passes")]
    pub(crate) weights: Option<String>,
    /// Set an option of the passes and emitters that know it, such as `launcher=openmpi`
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting, help_heading = "Passes")]
    pub(crate) set: Vec<(String, String)>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".into()),
    }
}

/// Path that means standard input or output.
pub(crate) const STANDARD: &str = "-";

/// Returns true if a path is `-`, which means standard input or output.
pub(crate) fn is_standard(path: &std::path::Path) -> bool {
    path.as_os_str() == STANDARD
}

/// Path of a `FILE` argument.
pub(crate) type File = PathBuf;
