//! Edges: channels.

use super::keys::{Element, Key};
use super::{Dialect, node_id, value};
use crate::codes;
use crate::events::Attribute;
use crate::graph::{End, Preset};
use crate::recent::Recent;
use crate::token::{Id, Text};
use graphmap_kpn::declared::{At, BundleKind, ChannelDecl, ChannelExtra, EndDecl, Flow};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::names::Symbol;
use graphmap_kpn::source::Span;
use std::num::NonZeroU32;

/// What the attributes of a channel say.
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
    /// The keys that come from defaults, by [`Key::bit`].
    defaulted: u32,
    /// Index of what is unusual, made once for all edges of the statement.
    extra: Option<NonZeroU32>,
}

/// What only few channels say.
struct Unusual {
    bundle: Option<BundleKind>,
    at: Option<(At, At)>,
    step: Option<Vec<i32>>,
    wrap: Option<bool>,
    beyond: Option<bool>,
    span: Span,
}

/// What the attributes of edges came to before, for when they come again.
#[derive(Default)]
pub(super) struct Before {
    /// Lists of attributes, each under the defaults of this number.
    lists: Recent<(u32, EdgeDraft)>,
    /// The defaults in force, and how many there were before them.
    defaults: Vec<Preset<Key>>,
    number: u32,
    /// What they came to alone.
    bare: Option<EdgeDraft>,
}

impl Before {
    /// Notes the defaults in force.
    #[inline]
    fn under(&mut self, defaults: &[Preset<Key>]) {
        if self.defaults != defaults {
            self.defaults.clear();
            self.defaults.extend_from_slice(defaults);
            self.number += 1;
            self.bare = None;
        }
    }

    /// What a list came to, moved to where it stands now.
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

impl Dialect<'_> {
    #[inline]
    pub(super) fn edge_statement(&mut self, defaults: &[Preset<Key>], attributes: &[Attribute]) {
        self.edges.under(defaults);
        let list = match attributes {
            [] => None,
            [first, .., last] => Some(first.name.span.to(last.value.span)),
            [one] => Some(one.span()),
        };
        let known = match list {
            None => self.edges.bare,
            // The names and values are the same where the text from the first to the last is.
            Some(list) => self.edges.find(self.text, list),
        };
        if let Some(draft) = known {
            self.edge = draft;
            return;
        }
        let told = self.report.told();
        self.edge = self.edge_draft(defaults, attributes);
        // What is unusual knows its place, and what is wrong is to be told of every place.
        if self.edge.extra.is_none() && told == self.report.told() {
            match list {
                None => self.edges.bare = Some(self.edge),
                Some(list) => {
                    let made = (self.edges.number, self.edge);
                    self.edges.lists.put(self.text, list, made);
                }
            }
        }
    }

    fn edge_draft(&mut self, defaults: &[Preset<Key>], attributes: &[Attribute]) -> EdgeDraft {
        let mut draft = EdgeDraft::default();
        let mut unusual = Unusual {
            bundle: None,
            at: None,
            step: None,
            wrap: None,
            beyond: None,
            span: Span::NONE,
        };
        for preset in defaults {
            self.edge_key(&mut draft, &mut unusual, preset.key, &preset.attribute);
        }
        let mut list = std::mem::take(&mut self.list);
        for attribute in attributes {
            if let Some(key) = self.key(Element::Edge, attribute)
                && self.list(&mut list, key, attribute)
            {
                self.edge_key(&mut draft, &mut unusual, key, attribute);
            }
        }
        let bits = |keys: &mut dyn Iterator<Item = Key>| {
            keys.filter_map(Key::bit).fold(0, |all, bit| all | bit)
        };
        if !defaults.is_empty() {
            let presets = bits(&mut defaults.iter().map(|preset| preset.key));
            draft.defaulted = presets & !bits(&mut list.iter().map(|(key, _)| *key));
        }
        list.clear();
        self.list = list;
        // Each of these says where; a tag or `flow` says so only if none of the others does.
        if !unusual.span.is_none() {
            let extra = ChannelExtra {
                tag: draft.tag,
                flow: draft.flow,
                bundle: unusual.bundle,
                bundle_name: None,
                from_at: unusual.at.map(|at| at.0),
                to_at: unusual.at.map(|at| at.1),
                step: unusual.step.unwrap_or_default(),
                wrap: unusual.wrap.unwrap_or(false),
                beyond: unusual.beyond.unwrap_or(false),
                lone: false,
                span: unusual.span,
            };
            draft.extra = self.out.add_extra(extra);
        }
        draft
    }

    fn edge_key(
        &mut self,
        draft: &mut EdgeDraft,
        unusual: &mut Unusual,
        key: Key,
        attribute: &Attribute,
    ) {
        let place = attribute.span();
        let named = |symbol: Option<Symbol>| symbol.map(|s| (s, place));
        match key {
            Key::Src => draft.src = named(self.symbol(attribute)).or(draft.src),
            Key::Dst => draft.dst = named(self.symbol(attribute)).or(draft.dst),
            Key::Bundle => unusual.bundle = self.read(attribute, value::bundle),
            Key::At => unusual.at = self.read(attribute, value::at),
            Key::Step => unusual.step = self.read(attribute, value::step),
            Key::Wrap => unusual.wrap = self.read(attribute, value::truth),
            Key::Beyond => unusual.beyond = self.read(attribute, value::beyond),
            _ => self.channel_key(draft, key, attribute),
        }
        match key {
            Key::Bundle | Key::At | Key::Step | Key::Wrap | Key::Beyond => unusual.span = place,
            Key::Tag | Key::Flow if unusual.span.is_none() => unusual.span = place,
            _ => {}
        }
        if unusual.wrap == Some(true) && unusual.beyond == Some(true) {
            self.report.push(
                Diagnostic::error(
                    codes::BAD_VALUE,
                    "steps past the last instance lead to the first or to `NULL`, not to both",
                )
                .at(place, "`wrap=true` and `beyond=NULL` contradict"),
            );
        }
    }

    /// The attributes that the channels of a bundle's node take too.
    pub(super) fn channel_key(&mut self, draft: &mut EdgeDraft, key: Key, attribute: &Attribute) {
        match key {
            Key::Type => {
                let ty = self.symbol(attribute);
                if let Some(ty) = ty.filter(|_| ty != draft.ty) {
                    let first = self.out.types.entry(ty);
                    first.or_insert(attribute.value.span);
                }
                draft.ty = ty.or(draft.ty);
            }
            Key::Capacity => draft.capacity = self.read(attribute, value::capacity),
            Key::Initial => draft.initial = self.read(attribute, value::count),
            Key::Traffic => draft.traffic = self.read(attribute, value::bytes),
            Key::Tag => draft.tag = self.read(attribute, value::tag),
            Key::Flow => draft.flow = self.read(attribute, value::flow),
            _ => {}
        }
    }

    #[inline]
    pub(super) fn channel(&mut self, tail: &End, head: &End) {
        let from = self.port(tail, self.edge.src, self.known.out);
        let to = self.port(head, self.edge.dst, self.known.into);
        let draft = &self.edge;
        self.defaulted
            .push(self.out.channels.len(), draft.defaulted);
        let channel = ChannelDecl {
            from,
            to,
            ty: draft.ty,
            capacity: draft.capacity,
            initial: draft.initial.unwrap_or(0),
            extra: draft.extra,
            traffic: draft.traffic.unwrap_or(1.0),
            span: tail.span.to(head.span),
        };
        self.out.channels.push(channel);
    }

    #[inline]
    fn port(&mut self, end: &End, said: Option<(Symbol, Span)>, usual: Symbol) -> EndDecl {
        let node = Some(node_id(end.node));
        let drawn = end
            .port
            .and_then(|port| Some((port, self.drawn_port(port)?)));
        let Some((port, symbol)) = drawn else {
            let port = said.map_or(usual, |s| s.0);
            return EndDecl { node, port };
        };
        let port = match said {
            Some((other, place)) if other != symbol => {
                self.report_port_twice((symbol, port.span), (other, place));
                other
            }
            _ => symbol,
        };
        EndDecl { node, port }
    }
}

impl Dialect<'_> {
    /// Reports two names of one port, each with its place.
    pub(super) fn report_port_twice(&mut self, one: (Symbol, Span), other: (Symbol, Span)) {
        let name = |symbol| self.out.names.name(symbol);
        let message = format!(
            "this end has two ports, `{}` and `{}`",
            name(one.0),
            name(other.0)
        );
        self.report.push(
            Diagnostic::error(codes::PORT_TWICE, message)
                .at(one.1, "one name of the port")
                .also(other.1, "another")
                .help("name the port once; `node:port` may stay if it is the same name"),
        );
    }

    /// The name of a port written `node:port`; `None` for a compass point.
    #[inline]
    fn drawn_port(&mut self, port: Id) -> Option<Symbol> {
        if let Some((_, symbol)) = self.ports.get(self.text, port.span) {
            return symbol;
        }
        let name = self.text.value(port);
        let symbol = (!is_compass(&name)).then(|| self.out.names.intern(&name));
        self.ports.put(self.text, port.span, symbol);
        symbol
    }
}

/// Whether a port only says where the line ends in the drawing.
#[inline]
fn is_compass(port: &str) -> bool {
    matches!(
        port,
        "n" | "ne" | "e" | "se" | "s" | "sw" | "w" | "nw" | "c" | "_"
    )
}
