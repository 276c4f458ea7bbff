//! Channels of a bundle that are written as two edges: into the bundle's node and out of it.
//!
//! Each edge may have attributes of the channel. An attribute on both must have the same value. An
//! explicit attribute of one edge overrides a default of the other.

use super::kept::WithDefaults;
use super::keys::Key;
use super::reading::Reading;
use graphmap_kpn::declared::{BundleKind, ChannelDecl, ChannelExtra};
use graphmap_kpn::source::Span;

/// An edge at a bundle.
#[derive(Clone)]
pub(super) struct DrawnEdge {
    pub(super) channel: ChannelDecl,
    /// Keys that the edge has from defaults, as a set of [`Key::bit`].
    pub(super) defaulted: u64,
    /// Attributes that are kept and not interpreted.
    pub(super) kept: WithDefaults,
}

/// The attributes that each edge has from defaults. Consecutive edges with the same attributes
/// share an entry.
#[derive(Default)]
pub(super) struct Defaulted {
    /// First edge, keys and attributes that are kept, of each run of edges.
    rows: Vec<(u32, u64, WithDefaults)>,
}

impl Defaulted {
    /// Records the keys of the next edge, as a set of [`Key::bit`]. `edge` is its number, which
    /// must ascend from call to call. `kept` are the attributes of the edge that are kept.
    #[inline]
    pub(super) fn push(&mut self, edge: usize, keys: u64, kept: WithDefaults) {
        let last = self.rows.last();
        let last = last.map_or((0, WithDefaults::default()), |row| (row.1, row.2));
        if last != (keys, kept) {
            self.rows.push((edge as u32, keys, kept));
        }
    }

    /// Returns the keys that an edge has from defaults, as a set of [`Key::bit`], which is 0 if
    /// there are none. Also returns the attributes of the edge that are kept.
    pub(super) fn of(&self, edge: usize) -> (u64, WithDefaults) {
        let row = self.rows.partition_point(|row| row.0 as usize <= edge);
        row.checked_sub(1)
            .map_or_else(Default::default, |row| (self.rows[row].1, self.rows[row].2))
    }
}

/// Two edges of one channel, and the attributes in which they contradict each other.
struct Pair<'a> {
    edges: [&'a DrawnEdge; 2],
    wrong: Vec<String>,
}

impl Pair<'_> {
    fn one_of<T: PartialEq>(
        &mut self,
        key: Key,
        name: &'static str,
        [a, b]: [Option<T>; 2],
    ) -> Option<T> {
        let defaulted = |edge: &DrawnEdge| key.bit().is_some_and(|bit| edge.defaulted & bit != 0);
        match (a, b) {
            (Some(a), Some(b)) if a != b => {
                let [by_default, other] = self.edges.map(defaulted);
                if !by_default && !other {
                    self.wrong.push(name.to_owned());
                }
                Some(if by_default { b } else { a })
            }
            (a, b) => a.or(b),
        }
    }
}

impl Reading<'_> {
    /// Combines the attributes of the one or two edges of one channel, and returns the declaration
    /// of the channel and its unusual attributes.
    ///
    /// The ends and the position are those of the first edge that is given. `kind` is the kind of
    /// the bundle and its position. Returns `None` if no edge is given. Reports contradictions, and
    /// still returns the channel.
    pub(super) fn both_edges(
        &mut self,
        [a, b]: [Option<&DrawnEdge>; 2],
        kind: (BundleKind, Span),
    ) -> Option<(ChannelDecl, ChannelExtra)> {
        let (first, second) = match (a, b) {
            (Some(a), b) => (a, b),
            (None, b) => (b?, None),
        };
        let extra = |edge: &DrawnEdge| self.out.extra(&edge.channel).cloned().unwrap_or_default();
        let mut wrong = Vec::new();
        for edge in [Some(first), second].into_iter().flatten() {
            if extra(edge)
                .bundle
                .is_some_and(|explicit| explicit != kind.0)
                && Key::Bundle
                    .bit()
                    .is_some_and(|bit| edge.defaulted & bit == 0)
            {
                wrong.push(("`bundle=`".to_owned(), kind.1, edge.channel.span));
            }
        }
        let (mut channel, mut more) = (first.channel.clone(), extra(first));
        if let Some(second) = second {
            let (x, y) = (extra(first), extra(second));
            let (a, b) = (&first.channel, &second.channel);
            let mut pair = Pair {
                edges: [first, second],
                wrong: Vec::new(),
            };
            channel.ty = pair.one_of(Key::Type, "`type=`", [a.ty, b.ty]);
            channel.capacity = pair.one_of(Key::Capacity, "`capacity=`", [a.capacity, b.capacity]);
            let initial = [a, b].map(|c| Some(c.initial).filter(|n| *n > 0));
            channel.initial = pair
                .one_of(Key::Initial, "`initial=`", initial)
                .unwrap_or(0);
            let traffic = [a, b].map(|c| Some(c.traffic).filter(|t| *t != 1.0));
            channel.traffic = pair
                .one_of(Key::Traffic, "`traffic=`", traffic)
                .unwrap_or(1.0);
            more.tag = pair.one_of(Key::Tag, "`tag=`", [x.tag, y.tag]);
            more.flow = pair.one_of(Key::Flow, "`flow=`", [x.flow, y.flow]);
            more.from_at = pair.one_of(Key::At, "`at=`", [x.from_at, y.from_at]);
            more.to_at = pair.one_of(Key::At, "`at=`", [x.to_at, y.to_at]);
            let steps = [x.step, y.step].map(|s| Some(s).filter(|s| !s.is_empty()));
            more.step = pair.one_of(Key::Step, "`step=`", steps).unwrap_or_default();
            (more.wrap, more.beyond) = (x.wrap || y.wrap, x.beyond || y.beyond);
            more.states_initial = x.states_initial || y.states_initial;
            more.states_traffic = x.states_traffic || y.states_traffic;
            if more.wrap && more.beyond {
                pair.wrong.push("`wrap=` or `beyond=`".to_owned());
            }
            if x.span == ChannelExtra::default().span {
                more.span = y.span;
            }
            let (list, differs) = self.kept_union(first.kept, second.kept);
            more.attributes = list;
            let name = |name| format!("`{}=`", self.out.names.name(name));
            pair.wrong.extend(differs.map(name));
            let (sooner, later) = (a.span.min(b.span), a.span.max(b.span));
            wrong.extend(pair.wrong.into_iter().map(|what| (what, sooner, later)));
        }
        more.bundle = Some(kind.0);
        for (what, first, again) in wrong {
            let message = format!("two edges of one channel have different {what}");
            self.contradict(message, first, again);
        }
        Some((channel, more))
    }
}
