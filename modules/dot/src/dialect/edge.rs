//! Edges: channels.

use super::keys::{Element, Key};
use super::{Dialect, node_id, value};
use crate::codes;
use crate::events::Attribute;
use crate::graph::{End, Preset};
use crate::repeated::moved;
use graphmap_kpn::declared::{At, BundleKind, ChannelDecl, ChannelExtra, EndDecl};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::names::Symbol;
use graphmap_kpn::source::Span;
use std::num::NonZeroU32;

/// What the attributes of a channel say.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) src: Option<(Symbol, Span)>,
    pub(super) dst: Option<(Symbol, Span)>,
    pub(super) ty: Option<Symbol>,
    pub(super) capacity: Option<NonZeroU32>,
    pub(super) initial: Option<u32>,
    pub(super) traffic: Option<f64>,
    pub(super) tag: Option<i32>,
    bundle: Option<BundleKind>,
    at: Option<(At, At)>,
    step: Option<Vec<i32>>,
    wrap: Option<bool>,
    beyond: Option<bool>,
    span: Span,
    /// Index of what is unusual, made once for all edges of the statement.
    extra: Option<NonZeroU32>,
}

impl Default for Draft {
    fn default() -> Draft {
        Draft {
            src: None,
            dst: None,
            ty: None,
            capacity: None,
            initial: None,
            traffic: None,
            tag: None,
            bundle: None,
            at: None,
            step: None,
            wrap: None,
            beyond: None,
            span: Span::NONE,
            extra: None,
        }
    }
}

/// What the defaults in force and a text of attributes came to.
#[derive(Default)]
pub(super) struct Read {
    defaults: Vec<Preset<Key>>,
    draft: Draft,
}

impl Dialect<'_> {
    pub(super) fn edge_statement(&mut self, defaults: &[Preset<Key>], attributes: &[Attribute]) {
        let (Some(first), Some(last)) = (attributes.first(), attributes.last()) else {
            self.edge = self.edge_draft(defaults, attributes);
            return;
        };
        // The names and values are the same where the text from the first to the last is.
        let base = self.text.base();
        let place = first.name.span.start - base..last.value.span.end - base;
        let bytes = self.text.as_str().as_bytes();
        if let Some((old, read)) = self.edges.same(bytes, place.clone())
            && read.defaults == defaults
        {
            self.edge = read.draft.clone();
            let by = place.start.wrapping_sub(old.start);
            let old = Span::new(base + old.start, base + old.end);
            for (_, span) in self.edge.src.iter_mut().chain(&mut self.edge.dst) {
                if old.to(*span) == old {
                    *span = moved(*span, by);
                }
            }
            return;
        }
        let told = self.report.told();
        self.edge = self.edge_draft(defaults, attributes);
        // What is unusual knows its place, and what is wrong is to be told of every place.
        if self.edge.extra.is_none()
            && told == self.report.told()
            && let Some(read) = self.edges.keep(place)
        {
            read.defaults.clear();
            read.defaults.extend_from_slice(defaults);
            read.draft = self.edge.clone();
        }
    }

    fn edge_draft(&mut self, defaults: &[Preset<Key>], attributes: &[Attribute]) -> Draft {
        let mut draft = Draft::default();
        for preset in defaults {
            self.edge_key(&mut draft, preset.key, &preset.attribute);
        }
        for attribute in attributes {
            if let Some(key) = self.key(Element::Edge, attribute) {
                self.edge_key(&mut draft, key, attribute);
            }
        }
        let unusual = draft.tag.is_some()
            || draft.bundle.is_some()
            || draft.at.is_some()
            || draft.step.is_some()
            || draft.wrap.is_some()
            || draft.beyond.is_some();
        if unusual {
            let extra = ChannelExtra {
                tag: draft.tag,
                bundle: draft.bundle,
                bundle_name: None,
                from_at: draft.at.map(|at| at.0),
                to_at: draft.at.map(|at| at.1),
                step: draft.step.take().unwrap_or_default(),
                wrap: draft.wrap.unwrap_or(false),
                beyond: draft.beyond.unwrap_or(false),
                span: draft.span,
            };
            draft.extra = self.out.add_extra(extra);
        }
        draft
    }

    fn edge_key(&mut self, draft: &mut Draft, key: Key, attribute: &Attribute) {
        let named = |symbol: Option<Symbol>| symbol.map(|s| (s, attribute.span()));
        match key {
            Key::Src => draft.src = named(self.symbol(attribute)).or(draft.src),
            Key::Dst => draft.dst = named(self.symbol(attribute)).or(draft.dst),
            Key::Bundle => draft.bundle = self.read(attribute, value::bundle),
            Key::At => draft.at = self.read(attribute, value::at),
            Key::Step => draft.step = self.read(attribute, value::step),
            Key::Wrap => draft.wrap = self.read(attribute, value::truth),
            Key::Beyond => draft.beyond = self.read(attribute, value::beyond),
            _ => self.channel_key(draft, key, attribute),
        }
        if matches!(
            key,
            Key::Bundle | Key::At | Key::Step | Key::Wrap | Key::Beyond
        ) {
            draft.span = attribute.span();
        }
        if draft.wrap == Some(true) && draft.beyond == Some(true) {
            self.report.push(
                Diagnostic::error(
                    codes::BAD_VALUE,
                    "steps past the last instance lead to the first or to `NULL`, not to both",
                )
                .at(attribute.span(), "`wrap=true` and `beyond=NULL` contradict"),
            );
        }
    }

    /// The attributes that the channels of a bundle's node take too.
    pub(super) fn channel_key(&mut self, draft: &mut Draft, key: Key, attribute: &Attribute) {
        match key {
            Key::Type => draft.ty = self.symbol(attribute).or(draft.ty),
            Key::Capacity => draft.capacity = self.read(attribute, value::capacity),
            Key::Initial => draft.initial = self.read(attribute, value::count),
            Key::Traffic => draft.traffic = self.read(attribute, value::bytes),
            Key::Tag => {
                draft.tag = self.read(attribute, value::tag);
                if draft.span.is_none() {
                    draft.span = attribute.span();
                }
            }
            _ => {}
        }
    }

    pub(super) fn channel(&mut self, tail: &End, head: &End) {
        let from = self.port(tail, self.edge.src, self.known.out);
        let to = self.port(head, self.edge.dst, self.known.into);
        let draft = &self.edge;
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

    fn port(&mut self, end: &End, said: Option<(Symbol, Span)>, usual: Symbol) -> EndDecl {
        let node = Some(node_id(end.node));
        let Some(port) = end.port else {
            let port = said.map_or(usual, |s| s.0);
            return EndDecl { node, port };
        };
        let name = self.text.value(port);
        if is_compass(&name) {
            let port = said.map_or(usual, |s| s.0);
            return EndDecl { node, port };
        }
        let symbol = self.out.names.intern(&name);
        let port = match said {
            Some((other, place)) if other != symbol => {
                let other_name = self.out.names.name(other).to_owned();
                self.report.push(
                    Diagnostic::error(
                        codes::PORT_TWICE,
                        format!("this end has two ports, `{name}` and `{other_name}`"),
                    )
                    .at(port.span, "one name of the port")
                    .also(place, "another")
                    .help("name the port once; `node:port` may stay if it is the same name"),
                );
                other
            }
            _ => symbol,
        };
        EndDecl { node, port }
    }
}

/// Whether a port only says where the line ends in the drawing.
fn is_compass(port: &str) -> bool {
    matches!(
        port,
        "n" | "ne" | "e" | "se" | "s" | "sw" | "w" | "nw" | "c" | "_"
    )
}
