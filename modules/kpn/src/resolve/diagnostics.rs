//! Diagnostics about joining: each error once, and a limited number for each code.

use crate::codes;
use crate::declared::{BundleKind, Direction};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Label};
use crate::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// Number of diagnostics of one code that are reported singly. A generated graph may repeat an
/// error thousands of times.
const MOST_OF_A_CODE: usize = 10;

/// Diagnostics without duplicates that differ only in the instances of the declarations.
#[derive(Default)]
pub(super) struct JoinDiagnostics {
    all: Diagnostics,
    /// Codes and positions already reported. A declaration may have a million instances.
    reported: FxHashSet<(Code, Span, Span)>,
    /// Number of diagnostics of each code.
    counts: FxHashMap<Code, usize>,
    /// Last diagnostic that is reported, for each code that reaches the limit.
    last: FxHashMap<Code, Diagnostic>,
}

impl JoinDiagnostics {
    /// Adds a diagnostic, unless one with the same code and positions was added for other instances
    /// of the same declarations. A diagnostic without a position is always added. After
    /// [`MOST_OF_A_CODE`] of one code, further ones are only counted.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        let span_of = |label: Option<&Label>| label.map_or(Span::NONE, |l| l.span);
        let (here, there) = (
            span_of(diagnostic.primary.as_ref()),
            span_of(diagnostic.secondary.first()),
        );
        if !here.is_none() && !self.reported.insert((diagnostic.code, here, there)) {
            return;
        }
        let count = self.counts.entry(diagnostic.code).or_default();
        *count += 1;
        match *count {
            0..MOST_OF_A_CODE => self.all.push(diagnostic),
            MOST_OF_A_CODE => drop(self.last.insert(diagnostic.code, diagnostic)),
            _ => {}
        }
    }

    /// Returns the diagnostics, at most [`MOST_OF_A_CODE`] of each code. If some of a code were
    /// dropped, its last diagnostic has a note with their number.
    pub(super) fn finish(mut self) -> Diagnostics {
        for (code, diagnostic) in self.last {
            let more = self.counts.get(&code).map_or(0, |n| n - MOST_OF_A_CODE);
            self.all.push(match more {
                0 => diagnostic,
                more => diagnostic.with_note(format!("not shown: {more} more of this kind")),
            });
        }
        self.all
    }
}

/// Returns the diagnostic for a port that both reads and writes. `full` is its name. It has the
/// direction `direction` at the edge `span`, and the other direction at the edge `other`.
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

/// Returns the diagnostic, without a position, for an output with several channels and no
/// `bundle=`. `full` is the name of the port, and `count` the number of its channels.
///
/// `other_end` is a kind of bundle for inputs that one of the channels states.
pub(super) fn bundle_missing(
    full: &str,
    count: usize,
    other_end: Option<BundleKind>,
) -> Diagnostic {
    let message = format!(
        "{count} channels leave port `{full}`, but no `bundle=` says how they share its tokens"
    );
    let diagnostic = Diagnostic::error(codes::BUNDLE_MISSING, message)
        .help("set `bundle=broadcast` to give each reader a copy, or `bundle=scatter` to give each a part")
        .help(
            "or `bundle=switch` if the process names the reader of each token, or `bundle=share` \
             if any reader that is ready may take it",
        );
    match other_end {
        Some(stated) => diagnostic.with_note(format!(
            "`bundle={}` is for channels that enter one port; these channels leave one port",
            stated.name()
        )),
        None => diagnostic.help(
            "or set it for all edges of a DOT graph, in a line before them: `edge [bundle=broadcast];`",
        ),
    }
}
