//! Edges that `strict` merges.
//!
//! In a `strict` graph Graphviz keeps one of several edges between two nodes in one direction, even
//! if their ports differ. Many programs write the word for graphs without such edges, in which it
//! has no effect.

use super::reading::Reading;
use crate::codes;
use graphmap_kpn::declared::NodeId;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::source::Span;
use hashbrown::HashMap;

impl Reading<'_> {
    /// Reports each edge between nodes that an earlier edge already joins in the same direction.
    /// `strict` is the position of the word.
    ///
    /// Must be called before bundles are joined, while all nodes and edges are as drawn.
    pub(super) fn report_merged_edges(&mut self, strict: Span) {
        let mut first: HashMap<[Option<NodeId>; 2], Span> = HashMap::new();
        for channel in &self.out.channels {
            let ends = [channel.from.node, channel.to.node];
            let Err(known) = first.try_insert(ends, channel.span) else {
                continue;
            };
            let earlier = *known.entry.get();
            self.report.push(
                Diagnostic::error(
                    codes::STRICT,
                    "`strict` merges this edge with an earlier one between the same nodes",
                )
                .at(channel.span, "a separate channel without `strict`")
                .also(earlier, "the earlier edge")
                .also(strict, "`strict` is set here")
                .help("remove `strict`, or remove one of the edges if there is only one channel"),
            );
        }
    }
}
