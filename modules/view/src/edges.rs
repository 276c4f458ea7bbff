//! Edges of a picture: channels between the same two ports are one edge.

use crate::labels::{Texts, in_one_line};
use crate::picture::{Edge, End};
use crate::shown::number;
use graphmap_kpn::attributes::AttributesId;
use graphmap_kpn::declared::Flow;
use graphmap_kpn::names::Symbol;
use rustc_hash::FxHashMap;

/// Maximum number of different channels in the title of an edge.
const MOST_NAMED: usize = 8;

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
    /// Different channels: their type, flow control and attributes.
    different: Vec<(Option<Symbol>, Option<Flow>, Option<AttributesId>)>,
}

/// Edges under construction.
#[derive(Default)]
pub(crate) struct Edges {
    known: FxHashMap<[Port; 2], usize>,
    list: Vec<Draft>,
}

impl Edges {
    /// Adds a channel between two ports.
    pub(crate) fn add(&mut self, ports: [Port; 2], channel: Channel) {
        let made = self.list.len();
        let at = *self.known.entry(ports).or_insert(made);
        if at == made {
            self.list.push(Draft {
                ports,
                channels: 0,
                traffic: 0.0,
                states_traffic: false,
                controlled: false,
                initial: false,
                wraps: false,
                different: Vec::new(),
            });
        }
        let draft = &mut self.list[at];
        draft.channels += 1;
        draft.traffic = (draft.traffic + channel.traffic).min(f64::MAX);
        draft.states_traffic |= channel.traffic != DEFAULT_TRAFFIC;
        draft.controlled |= channel.flow.is_some();
        draft.initial |= channel.initial;
        draft.wraps |= channel.wraps;
        let shown = (channel.ty, channel.flow, channel.attributes);
        if draft.different.len() < MOST_NAMED && !draft.different.contains(&shown) {
            draft.different.push(shown);
        }
    }

    /// Returns the edges. `times` returns the number of channels in the label of an edge.
    pub(crate) fn finish(self, texts: Texts<'_>, times: impl Fn(&Draft) -> usize) -> Vec<Edge> {
        let traffic = self.list.iter().map(Draft::mean_traffic);
        let width = widths(traffic.filter(|traffic| *traffic > 0.0));
        let edge = |draft: &Draft| {
            let (ty, _, attributes) = draft.different[0];
            let ty = ty.map_or("", |ty| texts.name(ty));
            let mut given = draft.different.iter();
            let label = given.find_map(|(_, _, list)| texts.label(*list, ""));
            let label = label.map_or_else(|| ty.to_owned(), |label| in_one_line(&label));
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
                two_way: false,
                width: width(draft.mean_traffic()),
                color: texts.color(attributes),
            }
        };
        self.list.iter().map(edge).collect()
    }
}

impl Draft {
    fn mean_traffic(&self) -> f64 {
        self.traffic / self.channels as f64
    }

    fn title(&self, texts: Texts<'_>) -> String {
        let name = |port: Port| port.map_or(ENVIRONMENT, |(_, port)| texts.name(port));
        let mut title = match self.channels {
            1 => String::new(),
            many => format!("{many} channels: "),
        };
        for (i, (ty, flow, attributes)) in self.different.iter().enumerate() {
            title += if i > 0 { "; " } else { "" };
            title += &format!("{} to {}", name(self.ports[0]), name(self.ports[1]));
            if let Some(ty) = ty {
                title += &format!(": {}", texts.name(*ty));
            }
            if let Some(flow) = flow {
                title += &format!(", flow={}", flow.name());
            }
            title += &texts.users(*attributes);
        }
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
