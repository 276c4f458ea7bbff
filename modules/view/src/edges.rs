//! Edges of a picture: channels between the same two ports are one edge. If there are many edges
//! between the same two boxes, they are one edge, too.

use crate::labels::{Texts, in_one_line};
use crate::picture::{Edge, End};
use crate::shown::number;
use graphmap_kpn::attributes::AttributesId;
use graphmap_kpn::declared::Flow;
use graphmap_kpn::names::Symbol;
use rustc_hash::FxHashMap;

/// Maximum number of different channels in the title of an edge.
const MOST_NAMED: usize = 8;

/// Maximum number of edges between two boxes in one direction. If there are more, they are one.
const MOST_PARALLEL: usize = 8;

/// Name of the other end of a port that is joined to the environment.
const ENVIRONMENT: &str = "the environment";

/// Traffic of a channel that does not state it.
pub(crate) const DEFAULT_TRAFFIC: f64 = 1.0;

/// Width of all lines if their traffic is equal, and otherwise the smallest and largest widths.
const WIDTH: f64 = 1.2;
const WIDTHS: (f64, f64) = (1.0, 4.0);
/// Ratio of the largest to the smallest traffic from which on the largest width is used.
const LARGE_RATIO: f64 = 8.0;

/// Properties of a channel that its edge shows.
#[derive(Clone, Copy)]
pub(crate) struct Channel {
    pub(crate) ty: Option<Symbol>,
    pub(crate) flow: Option<Flow>,
    pub(crate) attributes: Option<AttributesId>,
    pub(crate) traffic: f64,
    pub(crate) initial: bool,
    pub(crate) wraps: bool,
    pub(crate) elsewhere: Option<Elsewhere>,
}

/// The module of the reader of a channel, seen from the module of the writer, if one frame stands
/// for both.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Elsewhere {
    /// Kind of the modules.
    pub(crate) kind: Symbol,
    /// How far the module of the reader is behind that of the writer: 1 for the next module, -1 for
    /// the previous one, `None` for any other.
    pub(crate) step: Option<i8>,
}

impl Elsewhere {
    /// Returns the description of the module of the reader, and of that of the writer.
    fn texts(self, texts: Texts<'_>) -> [String; 2] {
        let words = match self.step {
            Some(1) => ["next", "previous"],
            Some(-1) => ["previous", "next"],
            _ => ["another", "another"],
        };
        words.map(|word| format!("{word} {}", texts.name(self.kind)))
    }
}

/// A node and its port, or `None` for the environment.
pub(crate) type Port = Option<(u32, Symbol)>;

/// An edge under construction.
pub(crate) struct Draft {
    pub(crate) ports: [Port; 2],
    pub(crate) channels: usize,
    /// Sum of the traffic of the channels.
    traffic: f64,
    /// True if any traffic is not the default.
    states_traffic: bool,
    controlled: bool,
    initial: bool,
    wraps: bool,
    pub(crate) elsewhere: Option<Elsewhere>,
    /// Different channels.
    different: Vec<Different>,
    /// True if there are more different channels.
    has_more: bool,
    /// True if it has several labels or types, so that it shows none.
    is_mixed: bool,
}

/// What the title of an edge says about a channel.
#[derive(Clone, Copy, PartialEq)]
struct Different {
    ports: [Port; 2],
    ty: Option<Symbol>,
    flow: Option<Flow>,
    attributes: Option<AttributesId>,
}

/// Edges under construction.
#[derive(Default)]
pub(crate) struct Edges {
    known: FxHashMap<([Port; 2], Option<Elsewhere>), usize>,
    list: Vec<Draft>,
}

impl Edges {
    /// Adds a channel between two ports.
    pub(crate) fn add(&mut self, ports: [Port; 2], channel: Channel) {
        let made = self.list.len();
        let key = (ports, channel.elsewhere);
        let at = *self.known.entry(key).or_insert(made);
        if at == made {
            self.list.push(Draft {
                ports,
                channels: 0,
                traffic: 0.0,
                states_traffic: false,
                controlled: false,
                initial: false,
                wraps: false,
                elsewhere: channel.elsewhere,
                different: Vec::new(),
                has_more: false,
                is_mixed: false,
            });
        }
        let draft = &mut self.list[at];
        draft.channels += 1;
        draft.traffic = (draft.traffic + channel.traffic).min(f64::MAX);
        draft.states_traffic |= channel.traffic != DEFAULT_TRAFFIC;
        draft.controlled |= channel.flow.is_some();
        draft.initial |= channel.initial;
        draft.wraps |= channel.wraps;
        draft.name(Different {
            ports,
            ty: channel.ty,
            flow: channel.flow,
            attributes: channel.attributes,
        });
    }

    /// Returns the edges. `times` returns the number of channels in the label of an edge.
    pub(crate) fn finish(self, texts: Texts<'_>, times: impl Fn(&Draft) -> usize) -> Vec<Edge> {
        let list = bundled(self.list, texts);
        let traffic = list.iter().map(Draft::mean_traffic);
        let width = widths(traffic.filter(|traffic| *traffic > 0.0));
        let edge = |draft: &Draft| {
            let Different { ty, attributes, .. } = draft.different[0];
            let ty = ty.map_or("", |ty| texts.name(ty));
            let label = match draft.is_mixed {
                true => String::new(),
                false => draft.label(texts),
            };
            let label = match times(draft) {
                1 => label,
                many => format!("{label} ×{many}").trim_start().to_owned(),
            };
            let end = |port: Port| End {
                node: port.map(|(node, _)| node as usize),
                port: port.map_or_else(String::new, |(_, port)| texts.name(port).to_owned()),
            };
            Edge {
                from: end(draft.ports[0]),
                to: end(draft.ports[1]),
                label,
                ty: ty.to_owned(),
                channels: draft.channels,
                title: draft.title(texts),
                controlled: draft.controlled,
                initial: draft.initial,
                wraps: draft.wraps,
                elsewhere: draft.elsewhere.map(|elsewhere| elsewhere.texts(texts)),
                two_way: false,
                width: width(draft.mean_traffic()),
                color: texts.color(attributes),
            }
        };
        list.iter().map(edge).collect()
    }
}

/// Joins the edges between two boxes in one direction that look alike, if there are many.
fn bundled(list: Vec<Draft>, texts: Texts<'_>) -> Vec<Draft> {
    let look = |draft: &Draft| {
        let boxes = draft.ports.map(|port| port.map(|(shown, _)| shown));
        let color = texts.color(draft.different[0].attributes);
        (boxes, draft.controlled, draft.wraps, draft.elsewhere, color)
    };
    let mut counts: FxHashMap<_, usize> = FxHashMap::default();
    for draft in &list {
        *counts.entry(look(draft)).or_default() += 1;
    }
    let mut joined: Vec<Draft> = Vec::with_capacity(list.len());
    let mut known = FxHashMap::default();
    for draft in list {
        let look = look(&draft);
        if counts[&look] <= MOST_PARALLEL {
            joined.push(draft);
            continue;
        }
        match known.get(&look) {
            Some(&at) => Draft::join(&mut joined[at], draft, texts),
            None => {
                known.insert(look, joined.len());
                joined.push(draft);
            }
        }
    }
    joined
}

impl Draft {
    /// Notes what the title says about a channel.
    fn name(&mut self, channel: Different) {
        if self.different.contains(&channel) {
            return;
        }
        match self.different.len() < MOST_NAMED {
            true => self.different.push(channel),
            false => self.has_more = true,
        }
    }

    /// Adds the channels of another edge.
    fn join(&mut self, other: Draft, texts: Texts<'_>) {
        self.is_mixed |= other.is_mixed || self.label(texts) != other.label(texts);
        self.channels += other.channels;
        self.traffic = (self.traffic + other.traffic).min(f64::MAX);
        self.states_traffic |= other.states_traffic;
        self.initial |= other.initial;
        self.has_more |= other.has_more;
        for channel in other.different {
            self.name(channel);
        }
    }

    /// Returns the label that the user gave to one of the channels, or the type of the first.
    fn label(&self, texts: Texts<'_>) -> String {
        let mut given = self.different.iter();
        let label = given.find_map(|channel| texts.label(channel.attributes, ""));
        let ty = || {
            let ty = self.different[0].ty;
            ty.map_or_else(String::new, |ty| texts.name(ty).to_owned())
        };
        label.map_or_else(ty, |label| in_one_line(&label))
    }

    fn mean_traffic(&self) -> f64 {
        self.traffic / self.channels as f64
    }

    fn title(&self, texts: Texts<'_>) -> String {
        let name = |port: Port| port.map_or(ENVIRONMENT, |(_, port)| texts.name(port));
        let mut title = match self.channels {
            1 => String::new(),
            many => format!("{many} channels: "),
        };
        for (i, channel) in self.different.iter().enumerate() {
            title += if i > 0 { "; " } else { "" };
            title += &format!("{} to {}", name(channel.ports[0]), name(channel.ports[1]));
            if let Some(ty) = channel.ty {
                title += &format!(": {}", texts.name(ty));
            }
            if let Some(flow) = channel.flow {
                title += &format!(", flow={}", flow.name());
            }
            title += &texts.users(channel.attributes);
        }
        title += if self.has_more { "; and others" } else { "" };
        if self.states_traffic {
            title += &format!(", traffic {}", number(self.traffic));
        }
        title
    }
}

/// Returns the width of a line by its traffic. `all` has the traffic of all lines that have any.
fn widths(all: impl Iterator<Item = f64>) -> impl Fn(f64) -> f64 {
    let range = |(least, most): (f64, f64), traffic: f64| (least.min(traffic), most.max(traffic));
    let (least, most) = all.fold((f64::INFINITY, 0.0), range);
    let span = (most.ln() - least.ln()).max(LARGE_RATIO.ln());
    move |traffic| match traffic {
        _ if least >= most => WIDTH,
        traffic if traffic <= 0.0 => WIDTHS.0,
        traffic => {
            let part = ((traffic.ln() - least.ln()) / span).clamp(0.0, 1.0);
            WIDTHS.0 + (WIDTHS.1 - WIDTHS.0) * part
        }
    }
}
