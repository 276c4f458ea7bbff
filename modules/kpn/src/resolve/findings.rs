//! What is wrong with the joining of ends, each mistake once, and not thousands of its kind.

use crate::codes;
use crate::declared::{BundleKind, Direction};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Label};
use crate::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// Findings of one code that are told one by one: a mistake in a generated graph is made thousands
/// of times.
const MOST_OF_A_CODE: usize = 10;

/// Findings, without those that other instances of the same declarations have told.
#[derive(Default)]
pub(super) struct Findings {
    all: Diagnostics,
    /// Codes and places already told: a declaration may be repeated a million times.
    told: FxHashSet<(Code, Span, Span)>,
    /// How many there are of each code.
    counts: FxHashMap<Code, usize>,
    /// Of codes with many: the last that is told.
    last: FxHashMap<Code, Diagnostic>,
}

impl Findings {
    /// Adds a finding, unless the same was told of other instances of the same declarations.
    pub(super) fn push(&mut self, finding: Diagnostic) {
        let place = |label: Option<&Label>| label.map_or(Span::NONE, |l| l.span);
        let (here, there) = (
            place(finding.primary.as_ref()),
            place(finding.secondary.first()),
        );
        if !here.is_none() && !self.told.insert((finding.code, here, there)) {
            return;
        }
        let count = self.counts.entry(finding.code).or_default();
        *count += 1;
        match *count {
            0..MOST_OF_A_CODE => self.all.push(finding),
            MOST_OF_A_CODE => drop(self.last.insert(finding.code, finding)),
            _ => {}
        }
    }

    /// Returns the findings; the last of a code that has many says how many more there are.
    pub(super) fn finish(mut self) -> Diagnostics {
        for (code, finding) in self.last {
            let more = self.counts.get(&code).map_or(0, |n| n - MOST_OF_A_CODE);
            self.all.push(match more {
                0 => finding,
                more => finding.with_note(format!("not shown: {more} more of this kind")),
            });
        }
        self.all
    }
}

/// That a port reads at one place and writes at another.
pub(super) fn both_directions(
    full: &str,
    direction: Direction,
    span: Span,
    other: Span,
) -> Diagnostic {
    let (does, also) = match direction {
        Direction::Input => ("reads", "writes"),
        Direction::Output => ("writes", "reads"),
    };
    Diagnostic::error(
        codes::BOTH_DIRECTIONS,
        format!("port `{full}` both {does} and {also}"),
    )
    .at(other, format!("it {also} here"))
    .also(span, format!("it {does} here"))
    .help("use another port at one of the two edges, with `src=` or `dst=`")
}

/// Reports that several channels leave a port, and nothing says how they share its tokens. `other_end` is a
/// kind of bundle that one of the channels says, which is not for outputs.
pub(super) fn bundle_missing(
    full: &str,
    count: usize,
    other_end: Option<BundleKind>,
) -> Diagnostic {
    let message = format!(
        "{count} channels leave port `{full}`, but no `bundle=` says how they share its tokens"
    );
    let finding = Diagnostic::error(codes::BUNDLE_MISSING, message)
        .help("set `bundle=broadcast` to give each reader a copy, or `bundle=scatter` to give each a part")
        .help(
            "or `bundle=switch` if the process names the reader of each token, or `bundle=share` \
             if any reader that is ready may take it",
        );
    match other_end {
        Some(said) => finding.with_note(format!(
            "`bundle={}` is for channels that enter one port; these channels leave one port",
            said.name()
        )),
        None => finding.help(
            "or set it for all edges of a DOT graph, in a line before them: `edge [bundle=broadcast];`",
        ),
    }
}
