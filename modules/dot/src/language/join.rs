//! Channels of bundles: their writers and readers, from attributes of the bundle's node and from
//! edges.

use super::bundle::{BundleDraft, Bundles, Member};
use super::drawn::{Defaulted, DrawnEdge};
use super::kept::WithDefaults;
use super::keys::{Element, Key};
use super::reading::{BUNDLE, ENVIRONMENT, Reading, node_id};
use crate::codes;
use crate::events::Attribute;
use graphmap_kpn::arena::Id as _;
use graphmap_kpn::declared::{
    BundleKind, ChannelDecl, ChannelExtra, Direction, EndDecl, ModuleId, NodeId, kind_of_name,
};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::Span;
use hashbrown::{HashMap, HashSet};

/// The end of a channel of a bundle, from an attribute or an edge.
struct BundleEnd {
    end: EndDecl,
    span: Span,
    /// The edge, if the end comes from one.
    edge: Option<DrawnEdge>,
}

/// Writers and readers of a bundle.
type DrawnEnds = (Vec<BundleEnd>, Vec<BundleEnd>);

impl Reading<'_> {
    /// Adds the channels of all bundles. If there are bundles, all channels are then sorted by
    /// position. Reports bundles that cannot be joined. Such a bundle becomes a node again, with
    /// its edges as channels.
    ///
    /// Also reports attributes that only bundles may have, on nodes that are not bundles.
    /// `defaulted` contains the keys that each edge has from defaults.
    pub(super) fn join_bundles(&mut self, bundles: Bundles, defaulted: &Defaulted) {
        let mut bundles: Vec<(u32, BundleDraft)> = bundles.drafts.into_iter().collect();
        bundles.sort_unstable_by_key(|(number, _)| *number);
        let is_bundle = |reading: &Reading<'_>, n: u32| reading.flags[n as usize] & BUNDLE != 0;
        for (number, draft) in &bundles {
            if !is_bundle(self, *number) {
                for (key, attribute) in &draft.only_bundles {
                    let name = self.text.value(attribute.name);
                    self.report.misplaced(Element::Node, *key, &name, attribute);
                }
            }
        }
        bundles.retain(|(number, _)| is_bundle(self, *number));
        if bundles.is_empty() {
            return;
        }
        let (mut drawn, tangled) = self.drawn(defaulted);
        let by_name = self.nodes_by_name();
        let mut unjoined = Vec::new();
        for (number, draft) in bundles {
            let (writers, readers) = drawn.remove(&number).unwrap_or_default();
            let mut ends = [writers, readers];
            if tangled.contains(&number) || !self.join(number, &draft, &mut ends, &by_name) {
                unjoined.push(number);
                let edges = ends.into_iter().flatten().filter_map(|end| end.edge);
                self.out.channels.extend(edges.map(|edge| edge.channel));
            }
        }
        // In a picture these stay as they are drawn: a node with its edges.
        for number in unjoined {
            self.flags[number as usize] &= !BUNDLE;
        }
        self.out.channels.sort_by_key(|c| c.span.start);
    }

    /// Adds the channels of the bundle `number`. `ends` are the writers and the readers that edges
    /// give. The members of the bundle are added to them. `by_name` is the result of
    /// [`Reading::nodes_by_name`].
    ///
    /// Returns false, after a diagnostic, if a member is repeated in another statement, if a member
    /// is wrong, or if the writers and readers do not fit the kind. No channels are added then.
    fn join(
        &mut self,
        number: u32,
        draft: &BundleDraft,
        ends: &mut [Vec<BundleEnd>; 2],
        by_name: &[Option<NodeId>],
    ) -> bool {
        if draft.twice.is_some() {
            self.report_twice(number, draft);
            return false;
        }
        let mut members: Vec<&Member> = draft.members.iter().collect();
        members.sort_by_key(|m| m.number);
        let mut complete = true;
        for member in members {
            match self.member_end(number, member, by_name) {
                Some(end) => ends[usize::from(member.reads)].push(end),
                None => complete = false,
            }
        }
        let [writers, readers] = ends;
        complete && self.join_bundle(number, draft, writers, readers)
    }

    /// Adds the user's attributes of a bundle to those of one of its channels. `edges` are the
    /// edges of the channel. Reports a contradiction.
    fn attributes_of_bundle(
        &mut self,
        number: u32,
        extra: &mut ChannelExtra,
        edges: [Option<&DrawnEdge>; 2],
        bundle: Span,
    ) {
        let Some(of_bundle) = self.kept.of_bundle(number) else {
            return;
        };
        let mut of_edges = WithDefaults {
            list: extra.attributes,
            defaults: None,
        };
        for edge in edges.into_iter().flatten() {
            let (defaults, own) = (of_edges.defaults, edge.kept.defaults);
            let lists = &mut self.out.attributes.lists;
            of_edges.defaults = lists.union(&self.out.names, defaults, own).0;
        }
        let of_bundle = WithDefaults {
            list: Some(of_bundle),
            defaults: None,
        };
        let (list, differs) = self.kept_union(of_edges, of_bundle);
        extra.attributes = list;
        let lists = &self.out.attributes.lists;
        let has = |edge: &&DrawnEdge, name| {
            let mut list = lists.list(edge.kept.list).iter();
            list.any(|(known, _)| *known == name)
        };
        let edge = |name| edges.into_iter().flatten().find(|edge| has(edge, name));
        if let Some((name, edge)) = differs.and_then(|name| Some((name, edge(name)?))) {
            let name = self.out.names.name(name);
            let message =
                format!("a bundle and one of its edges have different values of `{name}`");
            self.contradict(message, bundle, edge.channel.span);
        }
    }

    /// Removes the edges at bundles from the channels, and returns the writers and readers of each
    /// bundle, by the number of its node.
    ///
    /// The second result contains bundles that are joined to each other. The edges between them are
    /// reported, and stay channels. These bundles get no more diagnostics.
    fn drawn(&mut self, defaulted: &Defaulted) -> (HashMap<u32, DrawnEnds>, HashSet<u32>) {
        let mut drawn: HashMap<u32, DrawnEnds> = HashMap::new();
        let mut tangled = HashSet::new();
        let flags = &self.flags;
        let bundle = |end: &EndDecl| {
            let node = end.node?.index();
            (flags[node] & BUNDLE != 0).then_some(node as u32)
        };
        let report = &mut self.report;
        let mut edges = 0..;
        self.out.channels.retain(|channel| {
            let number = edges.next().unwrap_or_default();
            let (from, to) = (bundle(&channel.from), bundle(&channel.to));
            let end = |end| BundleEnd {
                end,
                span: channel.span,
                edge: Some(DrawnEdge {
                    channel: channel.clone(),
                    defaulted: defaulted.of(number).0,
                    kept: defaulted.of(number).1,
                }),
            };
            match (from, to) {
                (None, None) => return true,
                (None, Some(to)) => drawn.entry(to).or_default().0.push(end(channel.from)),
                (Some(from), None) => drawn.entry(from).or_default().1.push(end(channel.to)),
                (Some(from), Some(to)) => {
                    tangled.extend([from, to]);
                    report.push(
                        Diagnostic::error(codes::BUNDLE_TO_BUNDLE, "an edge joins two bundles")
                            .at(channel.span, "no process at either end")
                            .help("put a process between the two bundles"),
                    );
                    return true;
                }
            }
            false
        });
        (drawn, tangled)
    }

    /// Returns a list with the node of each symbol, by its index. An entry is `None` if the symbol
    /// is not the name of a node.
    fn nodes_by_name(&self) -> Vec<Option<NodeId>> {
        let mut by_name = vec![None; self.out.names.len()];
        for (id, node) in self.out.nodes.iter() {
            by_name[node.name.index()] = Some(id);
        }
        by_name
    }

    /// Returns the end of a member of the bundle `bundle`. Returns `None`, after a report, if the
    /// member has no process, or if its process does not exist or is a bundle. Also reports two
    /// different names of its port, of which the one in the member's value wins.
    fn member_end(
        &mut self,
        bundle: u32,
        member: &Member,
        by_name: &[Option<NodeId>],
    ) -> Option<BundleEnd> {
        let Some(process) = &member.process else {
            let port = member.port?;
            let name = self.text.value(port.name);
            let side = if member.reads { "dst" } else { "src" };
            let n = member.number;
            self.report.push(
                Diagnostic::error(
                    codes::PORT_WITHOUT_MEMBER,
                    format!("`{name}` names a port of a member that does not exist"),
                )
                .at(port.span(), format!("member {n} has no process"))
                .help(format!(
                    "name the process and its port: `{side}{n}=\"process:port\"`"
                )),
            );
            return None;
        };
        let value = self.text.value(process.value);
        let lookup = |name: &str| {
            let symbol = self.out.names.get(name)?;
            *by_name.get(symbol.index())?
        };
        let (node, port) = match (lookup(&value), value.rsplit_once(':')) {
            (Some(node), _) => (Some(node), None),
            (None, Some((name, port))) => (lookup(name), Some(port)),
            (None, None) => (None, None),
        };
        let Some(node) = node.filter(|n| self.flags[n.index()] & BUNDLE == 0) else {
            let name = value.rsplit_once(':').map_or(&*value, |(name, _)| name);
            self.report_unknown_member(bundle, name, process);
            return None;
        };
        let explicit = member.port.and_then(|port| self.symbol(&port));
        let usual = if member.reads {
            self.known.into
        } else {
            self.known.out
        };
        let port = match (port.filter(|port| !port.is_empty()), explicit) {
            (None, explicit) => explicit.unwrap_or(usual),
            (Some(port), explicit) => {
                let port = self.out.names.intern(port);
                if let (Some(explicit), Some(attribute)) = (explicit, member.port)
                    && explicit != port
                {
                    self.report_port_twice(
                        (port, process.value.span),
                        (explicit, attribute.span()),
                    );
                }
                port
            }
        };
        Some(BundleEnd {
            end: EndDecl {
                node: Some(node),
                port,
            },
            span: process.span(),
            edge: None,
        })
    }

    fn report_unknown_member(&mut self, bundle: u32, name: &str, process: &Attribute) {
        let names = &self.out.names;
        let bundle_name = names.name(self.out.nodes[node_id(bundle)].name);
        let candidates = self.out.nodes.iter().zip(&self.flags);
        let candidates = candidates
            .filter(|(_, flags)| **flags & BUNDLE == 0)
            .map(|((_, node), _)| names.name(node.name));
        let near = nearest(name, candidates);
        let nodes = self.out.nodes.iter().map(|(_, node)| node);
        let parts: Vec<String> = nodes
            .filter(|n| n.process.is_some_and(|p| names.name(p) == name))
            .map(|n| format!("`{}`", names.name(n.name)))
            .collect();
        if !parts.is_empty() {
            let shown = parts[..parts.len().min(8)].join(", ");
            let more = if parts.len() > 8 { ", .." } else { "" };
            self.report.push(
                Diagnostic::error(
                    codes::UNKNOWN_MEMBER,
                    format!(
                        "bundle `{bundle_name}` names `{name}`, a split process, instead of one of its nodes"
                    ),
                )
                .at(process.value.span, "not the name of a node")
                .help(format!("name the node that has the port: {shown}{more}")),
            );
            return;
        }
        let diagnostic = Diagnostic::error(
            codes::UNKNOWN_MEMBER,
            format!("bundle `{bundle_name}` names `{name}`, which is not a process of the graph"),
        )
        .at(process.value.span, "unknown process");
        self.report.push(match near {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic,
        });
    }

    /// Returns the module in which a channel of the bundle `number` is declared: around the edge at
    /// the environment, if there is one, or else around any edge. Without edges, the module of the
    /// bundle.
    fn module_of_channel(&self, ends: [&BundleEnd; 2], number: u32) -> Option<ModuleId> {
        let is_environment = |end: &&BundleEnd| {
            let node = end.end.node;
            node.is_some_and(|node| self.flags[node.index()] & ENVIRONMENT != 0)
        };
        let of_environment = ends.into_iter().find(is_environment);
        let mut edges = ends.into_iter().filter_map(|end| end.edge.as_ref());
        let edge = match of_environment {
            Some(end) => end.edge.as_ref(),
            None => edges.next(),
        };
        match edge {
            Some(edge) => edge.channel.within,
            None => self.out.nodes[node_id(number)].module,
        }
    }

    fn report_twice(&mut self, number: u32, draft: &BundleDraft) {
        let Some((again, module)) = draft.twice else {
            return;
        };
        let names = &self.out.names;
        let name = names.name(self.out.nodes[node_id(number)].name);
        let base = kind_of_name(name);
        // Inside `cluster_3`, the number 3 is suggested first.
        let of_module = module.and_then(|m| {
            let module = names.name(self.out.modules[m].name);
            module[kind_of_name(module).len()..].parse::<u32>().ok()
        });
        let free = of_module
            .into_iter()
            .chain(1..)
            .map(|n| format!("{base}{n}"))
            .find(|candidate| names.get(candidate).is_none())
            .unwrap_or_default();
        let position = module.map_or(Span::NONE, |m| self.out.modules[m].span);
        let first = draft.declared.map_or(Span::NONE, |s| s.1);
        self.report.push(
            Diagnostic::error(
                codes::BUNDLE_TWICE,
                format!("the bundle `{name}` is declared twice"),
            )
            .at(again, "second declaration, with other members")
            .also(first, "first declaration")
            .also(position, "the cluster of the second declaration")
            .help(format!("rename the second bundle, for example to `{free}`"))
            .with_note(
                "a name is one node in the whole file; Graphviz draws one node, with the members \
                 of the second declaration",
            ),
        );
    }

    /// Adds the channels between the writers and readers of a bundle.
    ///
    /// Returns false, after a report, if there are no writers or no readers, or more than the kind
    /// permits. Also returns false if no kind is set for one writer and several readers. The
    /// default for all other cases is `select`.
    fn join_bundle(
        &mut self,
        number: u32,
        draft: &BundleDraft,
        writers: &[BundleEnd],
        readers: &[BundleEnd],
    ) -> bool {
        let symbol = self.out.nodes[node_id(number)].name;
        let span = draft
            .declared
            .map_or(self.out.nodes[node_id(number)].span, |s| s.1);
        let name = self.out.names.name(symbol).to_owned();
        let (w, r) = (writers.len(), readers.len());
        let kind = match (draft.kind, w, r) {
            (Some((kind, _)), _, _) => kind,
            (None, 1, 2..) => {
                self.report.push(
                    Diagnostic::error(
                        codes::BUNDLE_KIND_MISSING,
                        format!("bundle `{name}` has one writer and {r} readers, but no `bundle=`"),
                    )
                    .at(span, "this bundle")
                    .help("set `bundle=broadcast` to give each reader a copy")
                    .help("or `bundle=scatter` to give each reader a part")
                    .help("or `bundle=switch` to let the writer name the reader of each token")
                    .help("or `bundle=share` to give each token to a reader that is ready"),
                );
                return false;
            }
            (None, _, _) => BundleKind::Select,
        };
        let wrong = match kind.direction() {
            _ if w == 0 => Some("has no writer".to_owned()),
            _ if r == 0 => Some("has no reader".to_owned()),
            Direction::Input if r > 1 => Some(format!(
                "is a {} with {r} readers instead of one",
                kind.name()
            )),
            Direction::Output if w > 1 => Some(format!(
                "is a {} with {w} writers instead of one",
                kind.name()
            )),
            _ => None,
        };
        if let Some(wrong) = wrong {
            let position = draft.kind.map_or(Span::NONE, |k| k.1);
            self.report.push(
                Diagnostic::error(codes::BUNDLE_SHAPE, format!("bundle `{name}` {wrong}"))
                    .at(span, "this bundle")
                    .also(position, "kind of the bundle")
                    .help(
                        "use another kind of bundle, or correct its members: `src1=`, `src2=`.. are the \
                         writers, `dst1=`, `dst2=`.. the readers",
                    )
                    .with_note(
                        "select, gather and reduce have one reader; broadcast, scatter, switch \
                         and share have one writer",
                    ),
            );
            return false;
        }
        let (one, many) = match kind.direction() {
            Direction::Input => (&readers[0], writers),
            Direction::Output => (&writers[0], readers),
        };
        for other in many {
            let (from, to) = match kind.direction() {
                Direction::Input => (other.end, one.end),
                Direction::Output => (one.end, other.end),
            };
            let kind = (kind, draft.kind.map_or(span, |k| k.1));
            let edges = [other.edge.as_ref(), one.edge.as_ref()];
            let plain = || {
                let extra = ChannelExtra {
                    bundle: Some(kind.0),
                    span,
                    ..ChannelExtra::default()
                };
                (None, extra)
            };
            let drawn = self.both_edges(edges, kind);
            let (drawn, mut extra) = drawn.map_or_else(plain, |(c, extra)| (Some(c), extra));
            let drawn = drawn.as_ref();
            let ty = drawn.and_then(|c| c.ty);
            if let (Some(drawn), Some(ty), Some(explicit)) = (drawn, ty, draft.channel.ty)
                && ty != explicit
            {
                let of_node = draft.only_bundles.iter().find(|(key, _)| *key == Key::Type);
                let first = of_node.map_or(span, |(_, attribute)| attribute.span());
                let message = format!("bundle `{name}` and one of its edges have different types");
                self.contradict(message, first, drawn.span);
            }
            if extra.span == ChannelExtra::default().span {
                extra.span = span;
            }
            extra.bundle_name = Some(symbol);
            self.attributes_of_bundle(number, &mut extra, edges, span);
            extra.tag = extra.tag.or(draft.channel.tag);
            extra.flow = extra.flow.or(draft.channel.flow);
            extra.states_initial |= draft.channel.initial == Some(0);
            extra.states_traffic |= draft.channel.traffic == Some(1.0);
            let extra = self.out.add_extra(extra);
            let initial = drawn.map(|c| c.initial).filter(|n| *n > 0);
            let traffic = drawn.map(|c| c.traffic).filter(|t| *t != 1.0);
            self.out.channels.push(ChannelDecl {
                from,
                to,
                ty: ty.or(draft.channel.ty),
                capacity: drawn.and_then(|c| c.capacity).or(draft.channel.capacity),
                initial: initial.or(draft.channel.initial).unwrap_or(0),
                extra,
                traffic: traffic.or(draft.channel.traffic).unwrap_or(1.0),
                within: self.module_of_channel([other, one], number),
                span: other.span,
            });
        }
        true
    }
}
