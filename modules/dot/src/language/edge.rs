//! Edges, which declare channels.

use super::drawn::Defaulted;
use super::explicit::List;
use super::kept::WithDefaults;
use super::keys::{Element, Key};
use super::reading::{Reading, node_id};
use super::value;
use crate::codes;
use crate::events::Attribute;
use crate::graph::{End, Preset};
use crate::recent::Recent;
use crate::token::{Id, Text};
use graphmap_kpn::declared::{
    At, BundleKind, ChannelDecl, ChannelExtra, EndDecl, Flow, ListedPairs,
};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::names::Symbol;
use graphmap_kpn::source::Span;
use std::num::NonZeroU32;

/// Attributes of a channel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EdgeDraft {
    pub(super) src: Option<(Symbol, Span)>,
    pub(super) dst: Option<(Symbol, Span)>,
    pub(super) ty: Option<Symbol>,
    pub(super) capacity: Option<NonZeroU32>,
    pub(super) initial: Option<u32>,
    pub(super) traffic: Option<f64>,
    pub(super) tag: Option<i32>,
    pub(super) flow: Option<Flow>,
    /// Keys that come from defaults, as a set of [`Key::bit`].
    defaulted: u64,
    /// Attributes that are kept and not interpreted.
    kept: WithDefaults,
    /// True if `extra` contains a position.
    has_position: bool,
    /// Index of the unusual attributes, added once for all edges of the statement.
    extra: Option<NonZeroU32>,
}

impl EdgeDraft {
    /// Adds one attribute of an edge to this draft or to `unusual`. Reports an invalid value, and
    /// `wrap=true` together with `beyond=NULL`.
    fn key(
        &mut self,
        reading: &mut Reading<'_>,
        unusual: &mut Unusual,
        key: Key,
        attribute: &Attribute,
    ) {
        let span = attribute.span();
        let named = |symbol: Option<Symbol>| symbol.map(|s| (s, span));
        match key {
            Key::Src => self.src = named(reading.symbol(attribute)).or(self.src),
            Key::Dst => self.dst = named(reading.symbol(attribute)).or(self.dst),
            Key::TailPort => unusual.tail = graphviz_port(reading, attribute),
            Key::HeadPort => unusual.head = graphviz_port(reading, attribute),
            Key::Bundle => unusual.bundle = reading.read_if_set(attribute, value::bundles),
            Key::At => unusual.at_attribute = Some(*attribute),
            Key::For => unusual.loops = Some(*attribute),
            Key::Step => unusual.step = reading.number_if_set(attribute, value::step),
            Key::Wrap => unusual.wrap = reading.read_if_set(attribute, value::truth),
            Key::Beyond => unusual.beyond = reading.read_if_set(attribute, value::beyond),
            Key::User(_) | Key::Drawn(_) => unusual.kept.push((key, *attribute)),
            _ => self.channel_key(reading, key, attribute),
        }
        match key {
            Key::Bundle | Key::At | Key::For | Key::Step | Key::Wrap | Key::Beyond => {
                unusual.span = span;
            }
            Key::Tag | Key::Flow if unusual.span.is_none() => unusual.span = span,
            _ => {}
        }
        if unusual.wrap == Some(true) && unusual.beyond == Some(true) {
            reading.report.push(
                Diagnostic::error(
                    codes::BAD_VALUE,
                    "`wrap=true` and `beyond=NULL` contradict each other",
                )
                .at(
                    span,
                    "a step past the last instance leads either to the first or to `NULL`",
                ),
            );
        }
    }

    /// Adds an attribute that the node of a bundle may also have, for its channels. Reports an
    /// invalid value. An invalid or empty value unsets an earlier one. In contrast, an empty
    /// `type=` is reported, and the earlier type stays. Other keys are ignored.
    pub(super) fn channel_key(
        &mut self,
        reading: &mut Reading<'_>,
        key: Key,
        attribute: &Attribute,
    ) {
        match key {
            Key::Type => {
                let ty = reading.symbol(attribute);
                if let Some(ty) = ty.filter(|_| ty != self.ty) {
                    let first = reading.out.types.entry(ty);
                    first.or_insert(attribute.value.span);
                }
                self.ty = ty.or(self.ty);
            }
            Key::Capacity => self.capacity = reading.number_if_set(attribute, value::capacity),
            Key::Initial => self.initial = reading.number_if_set(attribute, value::count),
            Key::Traffic => self.traffic = reading.number_if_set(attribute, value::bytes),
            Key::Tag => self.tag = reading.number_if_set(attribute, value::tag),
            Key::Flow => self.flow = reading.read_if_set(attribute, value::flow),
            _ => {}
        }
    }
}

/// Attributes that few channels have.
struct Unusual {
    /// Ports of `tailport=` and `headport=`.
    tail: Option<(Symbol, Span)>,
    head: Option<(Symbol, Span)>,
    bundle: Option<(BundleKind, Option<BundleKind>)>,
    /// `at=` and `for=`, read after all other attributes.
    at_attribute: Option<Attribute>,
    loops: Option<Attribute>,
    at: Option<(At, At)>,
    pairs: Option<ListedPairs>,
    step: Option<Vec<i32>>,
    wrap: Option<bool>,
    beyond: Option<bool>,
    /// Attributes that are kept and not interpreted.
    kept: List,
    span: Span,
}

impl Unusual {
    /// Reads `at=` and `for=`, which select the instances that are joined.
    fn select(&mut self, reading: &mut Reading<'_>) {
        let is_set = |a: &Attribute| !reading.text.value(a.value).is_empty();
        let loops = self.loops.filter(is_set);
        let Some(loops) = loops else {
            self.at = (self.at_attribute)
                .and_then(|attribute| reading.number_if_set(&attribute, value::at));
            return;
        };
        if self.step.is_some() || self.wrap == Some(true) {
            let message = "`for=` and `step=` or `wrap=` contradict each other";
            let error = Diagnostic::error(codes::BAD_LOOP, message);
            let error = error.at(loops.span(), "`at=` selects all instances");
            reading
                .report
                .push(error.help("write the step into `at=`: `at=\"i, i+1\"`"));
        }
        (self.step, self.wrap) = (None, None);
        self.pairs = reading.pairs(&loops, self.at_attribute.as_ref());
    }
}

/// Cache of the results of attribute lists, which often occur again.
#[derive(Default)]
pub(super) struct Before {
    /// Result of each list, with the number of the defaults under which it was read.
    lists: Recent<(u32, EdgeDraft)>,
    /// Defaults in force, and their number.
    defaults: Vec<Preset<Key>>,
    number: u32,
    /// Result of an empty list under these defaults.
    bare: Option<EdgeDraft>,
}

impl Before {
    /// Sets the defaults in force. If they differ from the last, cached results are no longer
    /// valid.
    #[inline]
    fn under(&mut self, defaults: &[Preset<Key>]) {
        if self.defaults != defaults {
            self.defaults.clear();
            self.defaults.extend_from_slice(defaults);
            self.number += 1;
            self.bare = None;
        }
    }

    /// Returns the cached result of a list with the same text. Spans that were inside the earlier
    /// list are moved to this list. Returns `None` if the cache does not contain such a list, or if
    /// it was read under other defaults.
    #[inline]
    fn find(&self, text: Text<'_>, list: Span) -> Option<EdgeDraft> {
        let (old, (number, mut draft)) = self.lists.get(text, list)?;
        for (_, span) in draft.src.iter_mut().chain(&mut draft.dst) {
            if old.to(*span) == old {
                *span = Span::new(
                    list.start + (span.start - old.start),
                    list.start + (span.end - old.start),
                );
            }
        }
        (number == self.number).then_some(draft)
    }
}

/// The edges of a file.
#[derive(Default)]
pub(super) struct Edges {
    /// Attributes of the current statement.
    now: EdgeDraft,
    /// Keys that edges have from defaults.
    pub(super) defaulted: Defaulted,
    /// Buffer for the attributes of one list, kept to avoid allocation.
    list: List,
    /// Cache of the results of attribute lists.
    before: Before,
    /// Ports written as `node:port`. `None` for compass points.
    ports: Recent<Option<Symbol>>,
}

impl Edges {
    /// Reads the attributes of a statement of edges, for the calls of [`Edges::channel`] that
    /// follow. `defaults` are those in force. Reports attributes that are not allowed, invalid
    /// values and contradictions.
    #[inline]
    pub(super) fn statement(
        &mut self,
        reading: &mut Reading<'_>,
        defaults: &[Preset<Key>],
        attributes: &[Attribute],
    ) {
        self.before.under(defaults);
        let list = match attributes {
            [] => None,
            [first, .., last] => Some(first.name.span.to(last.value.span)),
            [one] => Some(one.span()),
        };
        let known = match list {
            None => self.before.bare,
            // Lists with equal text have equal names and values.
            Some(list) => self.before.find(reading.text, list),
        };
        if let Some(draft) = known {
            self.now = draft;
            return;
        }
        let reported_count = reading.report.reported_count();
        let evaluated = reading.evaluated;
        self.now = self.draft(reading, defaults, attributes);
        // Not cached: attributes whose position is stored, errors, because they are reported at
        // each position, and expressions, because their values depend on the scope.
        if !self.now.has_position
            && reported_count == reading.report.reported_count()
            && evaluated == reading.evaluated
        {
            match list {
                None => self.before.bare = Some(self.now),
                Some(list) => {
                    let made = (self.before.number, self.now);
                    self.before.lists.put(reading.text, list, made);
                }
            }
        }
    }

    fn draft(
        &mut self,
        reading: &mut Reading<'_>,
        defaults: &[Preset<Key>],
        attributes: &[Attribute],
    ) -> EdgeDraft {
        let mut draft = EdgeDraft::default();
        let mut unusual = Unusual {
            tail: None,
            head: None,
            bundle: None,
            at_attribute: None,
            loops: None,
            at: None,
            pairs: None,
            step: None,
            wrap: None,
            beyond: None,
            kept: List::new(),
            span: Span::NONE,
        };
        for preset in defaults {
            draft.key(reading, &mut unusual, preset.key, &preset.attribute);
        }
        draft.kept.defaults = reading.kept_list(None, unusual.kept.iter().map(|(k, a)| (*k, a)));
        let mut list = std::mem::take(&mut self.list);
        for attribute in attributes {
            if let Some(key) = reading.key(Element::Edge, attribute)
                && reading.list(&mut list, key, attribute)
            {
                draft.key(reading, &mut unusual, key, attribute);
            }
        }
        unusual.select(reading);
        draft.src = draft.src.or(unusual.tail);
        draft.dst = draft.dst.or(unusual.head);
        let bits = |keys: &mut dyn Iterator<Item = Key>| {
            keys.filter_map(Key::bit).fold(0, |all, bit| all | bit)
        };
        if !defaults.is_empty() {
            let presets = bits(&mut defaults.iter().map(|preset| preset.key));
            draft.defaulted = presets & !bits(&mut list.iter().map(|(key, _)| *key));
        }
        list.clear();
        self.list = list;
        draft.kept.list = reading.kept_list(None, unusual.kept.iter().map(|(k, a)| (*k, a)));
        draft.has_position = !unusual.span.is_none();
        let states_initial = draft.initial == Some(0);
        let states_traffic = draft.traffic == Some(1.0);
        let states_default = states_initial || states_traffic;
        // Unusual attributes set the span. A tag or `flow` sets it only if no other attribute does.
        if draft.has_position || draft.kept.list.is_some() || states_default {
            let extra = ChannelExtra {
                tag: draft.tag,
                flow: draft.flow,
                bundle: unusual.bundle.map(|kinds| kinds.0),
                bundle_name: None,
                other_bundle: unusual.bundle.and_then(|kinds| kinds.1),
                attributes: draft.kept.list,
                pairs: unusual.pairs,
                from_at: unusual.at.map(|at| at.0),
                to_at: unusual.at.map(|at| at.1),
                step: unusual.step.unwrap_or_default(),
                wrap: unusual.wrap.unwrap_or(false),
                beyond: unusual.beyond.unwrap_or(false),
                lone: false,
                vacant: false,
                states_initial,
                states_traffic,
                span: unusual.span,
            };
            draft.extra = reading.out.add_extra(extra);
        }
        draft
    }

    /// Adds the channel of an edge of the current statement, from `tail` to `head`. An end without
    /// a port gets the port `out` or `in`. Reports an end with two different port names.
    #[inline]
    pub(super) fn channel(&mut self, reading: &mut Reading<'_>, tail: &End, head: &End) {
        let from = self.port(reading, tail, self.now.src, reading.known.out);
        let to = self.port(reading, head, self.now.dst, reading.known.into);
        let draft = &self.now;
        self.defaulted
            .push(reading.out.channels.len(), draft.defaulted, draft.kept);
        let channel = ChannelDecl {
            from,
            to,
            ty: draft.ty,
            capacity: draft.capacity,
            initial: draft.initial.unwrap_or(0),
            extra: draft.extra,
            traffic: draft.traffic.unwrap_or(1.0),
            within: reading.module,
            span: tail.span.to(head.span),
        };
        reading.out.channels.push(channel);
    }

    #[inline]
    fn port(
        &mut self,
        reading: &mut Reading<'_>,
        end: &End,
        explicit: Option<(Symbol, Span)>,
        usual: Symbol,
    ) -> EndDecl {
        let node = Some(node_id(end.node));
        let drawn = end
            .port
            .and_then(|port| Some((port, self.drawn_port(reading, port)?)));
        let Some((port, symbol)) = drawn else {
            let port = explicit.map_or(usual, |s| s.0);
            return EndDecl { node, port };
        };
        let port = match explicit {
            Some((other, span)) if other != symbol => {
                reading.report_port_twice((symbol, port.span), (other, span));
                other
            }
            _ => symbol,
        };
        EndDecl { node, port }
    }

    /// Returns the port of `node:port`, or `None` if it is a compass point.
    #[inline]
    fn drawn_port(&mut self, reading: &mut Reading<'_>, port: Id) -> Option<Symbol> {
        if let Some((_, symbol)) = self.ports.get(reading.text, port.span) {
            return symbol;
        }
        let name = reading.text.value(port);
        let symbol = (!is_compass(&name)).then(|| reading.out.names.intern(&name));
        self.ports.put(reading.text, port.span, symbol);
        symbol
    }
}

impl Reading<'_> {
    /// Reports two names of one port, each at its position.
    pub(super) fn report_port_twice(&mut self, one: (Symbol, Span), other: (Symbol, Span)) {
        let name = |symbol| self.out.names.name(symbol);
        let message = format!(
            "this end of the channel has two port names, `{}` and `{}`",
            name(one.0),
            name(other.0)
        );
        self.report.push(
            Diagnostic::error(codes::PORT_TWICE, message)
                .at(one.1, "one name")
                .also(other.1, "the other name")
                .help("remove one of the two names"),
        );
    }
}

/// Returns the port that Graphviz's `tailport=` or `headport=` names, without a compass point after
/// it, and the span of the attribute. Returns `None` if the value names no port: if it is empty or
/// only a compass point, or begins with a colon.
fn graphviz_port(reading: &mut Reading<'_>, attribute: &Attribute) -> Option<(Symbol, Span)> {
    let value = reading.text.value(attribute.value);
    let port = value.split_once(':').map_or(&*value, |(port, _)| port);
    let is_name = !port.is_empty() && !is_compass(port);
    is_name.then(|| (reading.out.names.intern(port), attribute.span()))
}

/// Returns true for a compass point in lower case, `c` or `_`, which only sets where the line ends
/// in a picture.
#[inline]
fn is_compass(port: &str) -> bool {
    matches!(
        port,
        "n" | "ne" | "e" | "se" | "s" | "sw" | "w" | "nw" | "c" | "_"
    )
}
