//! Assembles the contents of a picture: from the nodes of a graph, the kinds of a network, or its
//! processes.

use crate::drawing::Form;
use crate::edges::{Channel, DEFAULT_TRAFFIC, Draft, Edges, Elsewhere, Port};
use crate::family::{Closed, Families};
use crate::fold::{self, Shown, ShownBox, ShownFrame};
use crate::labels::{Texts, have_own_labels, in_one_line};
use crate::picture::{Group, Node, Picture, times};
use crate::scopes::{Line, Tree};
use crate::shown::number;
use crate::{MOST_PROCESSES, count};
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::{Declared, Direction, EndDecl};
use graphmap_kpn::network::{ChannelId, Joined, Network, PortId};

/// Maximum number of boxes of a picture of a network that is folded, unless that is impossible.
pub const MOST_FOLDED: usize = 50;

/// Elements in scopes, and the boxes and frames of the picture.
struct Scene {
    tree: Tree,
    families: Families,
    lines: Vec<Line>,
    shown: Shown,
}

impl Scene {
    /// `name` returns the name of an item.
    fn new<'n>(
        tree: Tree,
        lines: Vec<Line>,
        closed: &[Closed],
        most: usize,
        name: impl Fn(u32) -> &'n str,
    ) -> Scene {
        let families = Families::of(&tree, &lines, closed, name);
        let shown = fold::shown(&tree, &families, most);
        Scene {
            tree,
            families,
            lines,
            shown,
        }
    }

    /// Returns the groups. `module` returns the name, label, title and colour of a module, with the
    /// number of modules that it stands for.
    fn groups(
        &self,
        module: impl Fn(usize, usize) -> (String, String, String, Option<String>),
    ) -> Vec<Group> {
        let group = |frame: &ShownFrame| {
            let shown = frame.module.map(|item| {
                let (name, label, mut title, color) =
                    module(item as usize - self.tree.nodes, frame.count);
                if frame.total > 1 {
                    title = format!("{} modules{title}", frame.total);
                } else if let Some(first) = title.strip_prefix(", ") {
                    title = first.to_owned();
                }
                (name, label, title, color)
            });
            let framed = shown.is_some();
            let (name, label, title, color) = shown.unwrap_or_default();
            Group {
                name,
                label,
                parent: frame.parent,
                position: frame.position,
                framed,
                shape: frame.shape,
                title,
                color,
            }
        };
        self.shown.frames.iter().map(group).collect()
    }

    /// Returns the ports of the boxes at the ends of a line, or the box of the writer if the line
    /// is not shown: dots stand for both ends, in one box or in different modules of a frame.
    fn ports(&self, line: &Line) -> Result<[Port; 2], u32> {
        let [from, to] = line.nodes.map(|node| self.shown.box_of[node as usize]);
        let is_same = from == to || self.elsewhere(line).is_some();
        let is_dots = |shown: u32| self.shown.boxes[shown as usize].form == Form::Dots;
        match is_same && is_dots(from) && is_dots(to) {
            true => Err(from),
            false => Ok([Some((from, line.ports[0])), Some((to, line.ports[1]))]),
        }
    }

    /// Returns the module of the reader of a line, if one frame stands for it and for the module of
    /// the writer.
    fn elsewhere(&self, line: &Line) -> Option<Elsewhere> {
        let [from, to] = line.items;
        if from == to || self.tree.is_node(from) || self.tree.is_node(to) {
            return None;
        }
        let frame = |module: u32| self.shown.frame_of[module as usize - self.tree.nodes];
        let ranks = [from, to].map(|module| i64::from(self.families.ranks[module as usize]));
        (frame(from) == frame(to)).then(|| Elsewhere {
            kind: self.tree.kinds[from as usize],
            step: i8::try_from(ranks[1] - ranks[0])
                .ok()
                .filter(|step| step.abs() == 1),
        })
    }

    /// Returns the ports of a line between the environment and the box of a node.
    fn closed(&self, closed: &Closed) -> [Port; 2] {
        let port = Some((self.shown.box_of[closed.node as usize], closed.port));
        match closed.direction {
            Direction::Input => [None, port],
            Direction::Output => [port, None],
        }
    }

    /// Returns the number of channels in the label of an edge: those in one instance of the
    /// innermost frame around both ends, if all instances have equally many. Edges to dots between
    /// samples of one kind, and edges to other modules of a frame, show no number.
    fn times(&self, draft: &Draft) -> usize {
        let boxes = |port: Port| Some(&self.shown.boxes[port?.0 as usize]);
        let [a, b] = draft.ports.map(boxes);
        let kind =
            |shown: Option<&ShownBox>| Some((shown?.form, self.tree.kinds[shown?.first as usize]));
        let is_sampled = match (kind(a), kind(b)) {
            (Some((Form::Dots, a)), Some((_, b))) | (Some((_, a)), Some((Form::Dots, b))) => a == b,
            (Some((Form::Dots, _)), None) | (None, Some((Form::Dots, _))) => true,
            _ => false,
        };
        if is_sampled || draft.channels == 1 || draft.elsewhere.is_some() {
            return 1;
        }
        let frames = &self.shown.frames;
        let frame = |shown: Option<&ShownBox>| shown.map(|shown| shown.frame);
        let (mut x, mut y) = (
            frame(a).or(frame(b)).flatten(),
            frame(b).or(frame(a)).flatten(),
        );
        // The frame around a frame has a smaller index.
        while x != y {
            let outer = if x > y { &mut x } else { &mut y };
            *outer = outer.and_then(|frame| frames[frame].parent);
        }
        let instances = x.map_or(1, |frame| frames[frame].total);
        match draft.channels % instances {
            0 => draft.channels / instances,
            _ => draft.channels,
        }
    }
}

impl Picture {
    /// Returns the picture of the nodes of a graph. An abstract declaration is one node, with its
    /// number of replicas. A channel with the environment at both ends is omitted.
    ///
    /// # Panics
    /// Panics if an id or a symbol in the declarations is out of range.
    #[must_use]
    pub fn of_graph(declared: &Declared) -> Picture {
        let texts = Texts::of_graph(declared);
        let attributes = &declared.attributes;
        let tree = Tree::new(
            declared
                .nodes
                .values()
                .map(|node| (node.module.map(Id::index), node.kind)),
            declared
                .modules
                .values()
                .map(|module| (module.parent.map(Id::index), module.kind)),
        );
        let (mut lines, mut closed) = (Vec::new(), Vec::new());
        for channel in &declared.channels {
            let (from, to) = (channel.from, channel.to);
            let number = |end: EndDecl| Some(end.node?.index() as u32);
            let (node, port, direction) = match (number(from), number(to)) {
                (Some(a), Some(b)) => {
                    lines.push(tree.line([a, b], [from.port, to.port]));
                    continue;
                }
                (Some(node), None) => (node, from.port, Direction::Output),
                (None, Some(node)) => (node, to.port, Direction::Input),
                (None, None) => continue,
            };
            closed.push(Closed {
                node,
                port,
                direction,
            });
        }
        let nodes = tree.nodes;
        let scene = Scene::new(tree, lines, &closed, usize::MAX, |item| {
            let item = item as usize;
            texts.name(match item.checked_sub(nodes) {
                None => declared.nodes[Id::from_index(item)].name,
                Some(module) => declared.modules[Id::from_index(module)].name,
            })
        });
        let mut picture = texts.picture(attributes.graph);
        picture.groups = scene.groups(|module, _| {
            let (id, declared) = (Id::from_index(module), &declared.modules);
            let module = &declared[id];
            let list = attributes.modules.get(id);
            let replicas = module.replicas.map_or(1, |n| n as usize);
            let label = texts.label(list, texts.name(module.name));
            let kind = || times(texts.name(module.kind), replicas);
            (
                texts.name(module.name).to_owned(),
                label.map_or_else(kind, |label| in_one_line(&label)),
                texts.users(list),
                texts.color(list),
            )
        });
        let nodes = scene.shown.boxes.iter().zip(declared.nodes.iter());
        picture.nodes = nodes
            .map(|(shown, (id, node))| {
                let name = texts.name(node.name);
                let list = attributes.nodes.get(id);
                let processes = node.replicas.map_or(1, |n| n as usize);
                let mut title = format!("kind {}", texts.name(node.kind));
                if let Some(process) = node.process {
                    title += &format!(", node of process {}", texts.name(process));
                }
                title += &texts.users(list);
                let label = texts.label(list, name);
                let (color, outline) = texts.fill_and_outline(list);
                Node {
                    name: name.to_owned(),
                    label: label.unwrap_or_else(|| times(name, processes)),
                    kind: texts.name(node.kind).to_owned(),
                    group: shown.frame,
                    position: shown.position,
                    form: match node.replicas {
                        Some(_) => Form::Many,
                        None => Form::One,
                    },
                    processes,
                    title,
                    color,
                    outline,
                }
            })
            .collect();
        let (mut lines, mut closed) = (scene.lines.iter(), closed.iter());
        let mut edges = Edges::default();
        for channel in &declared.channels {
            let mut wraps = false;
            let ports = match (channel.from.node, channel.to.node) {
                (Some(_), Some(_)) => lines.next().and_then(|line| {
                    wraps = scene.families.wraps(&scene.tree, line);
                    scene.ports(line).ok()
                }),
                (None, None) => None,
                _ => closed.next().map(|closed| scene.closed(closed)),
            };
            let extra = declared.extra(channel);
            let channel = Channel {
                ty: channel.ty,
                flow: extra.and_then(|extra| extra.flow),
                attributes: extra.and_then(|extra| extra.attributes),
                traffic: channel.traffic,
                initial: channel.initial > 0,
                wraps,
                elsewhere: None,
            };
            if let Some(ports) = ports {
                edges.add(ports, channel);
            }
        }
        picture.edges = edges.finish(texts, |draft| draft.channels);
        picture
    }

    /// Returns the picture of all processes, with modules as groups.
    ///
    /// # Panics
    /// Panics if an id in the network is out of range.
    #[must_use]
    pub fn of_processes(network: &Network) -> Picture {
        Picture::folded(network, usize::MAX)
    }

    /// Returns the picture of all processes if there are at most [`MOST_PROCESSES`], and otherwise
    /// a picture with about [`MOST_FOLDED`] boxes.
    ///
    /// # Panics
    /// Panics if an id in the network is out of range.
    #[must_use]
    pub fn of_network(network: &Network) -> Picture {
        match network.processes.len() > MOST_PROCESSES {
            true => Picture::folded(network, MOST_FOLDED),
            false => Picture::of_processes(network),
        }
    }

    /// Returns the picture of a network with at most `most` boxes, if that is possible by showing
    /// repeated processes and modules by samples. Outer repetitions are folded first. Each process
    /// has a box, and each channel an edge, unless dots stand for both of its ends. Takes nearly
    /// linear time.
    ///
    /// # Panics
    /// Panics if an id in the network is out of range.
    #[must_use]
    pub fn folded(network: &Network, most: usize) -> Picture {
        let texts = Texts::of_network(network);
        let tree = Tree::new(
            network.processes.values().map(|process| {
                let kind = network.kinds[process.kind].name;
                (process.module.map(Id::index), kind)
            }),
            network
                .modules
                .values()
                .map(|module| (module.parent.map(Id::index), module.kind)),
        );
        let lines = network.channels.values().map(|channel| {
            let ends = [channel.from, channel.to].map(|port| &network.ports[port]);
            let nodes = ends.map(|port| port.process.index() as u32);
            tree.line(nodes, ends.map(|port| port.name))
        });
        let lines = lines.collect();
        let ids = (0..network.ports.len()).map(PortId::from_index);
        let ids: Vec<PortId> = ids.filter(|&id| network.ports[id].is_closed()).collect();
        let ends: Vec<Closed> = ids.iter().map(|&id| closed(network, id)).collect();
        let count = tree.nodes;
        let scene = Scene::new(tree, lines, &ends, most, |item| {
            let item = item as usize;
            match item.checked_sub(count) {
                None => network.process_name(Id::from_index(item)),
                Some(module) => texts.name(network.modules[Id::from_index(module)].name),
            }
        });
        let mut picture = texts.picture(network.attributes.graph);
        picture.groups = groups(network, texts, &scene);

        let folded = scene.shown.boxes.len() < network.processes.len();
        let joins: Box<dyn Iterator<Item = Joined>> = match folded {
            // Without regard to the order in the source, which takes more time.
            true => {
                let closed = ids.iter().map(|&id| Joined::Closed(id));
                Box::new(network.channels.ids().map(Joined::Channel).chain(closed))
            }
            false => Box::new(network.joins()),
        };
        let mut edges = Edges::default();
        // Number of channels of the writers in each box of dots that are not shown.
        let mut inner = vec![0; scene.shown.boxes.len()];
        for joined in joins {
            match joined {
                Joined::Channel(id) => {
                    let line = &scene.lines[id.index()];
                    match scene.ports(line) {
                        Err(dots) => inner[dots as usize] += 1,
                        Ok(ports) => {
                            let wraps = scene.families.wraps(&scene.tree, line);
                            let elsewhere = scene.elsewhere(line);
                            let shown = channel(network, id, wraps && elsewhere.is_none());
                            edges.add(ports, Channel { elsewhere, ..shown });
                        }
                    }
                }
                Joined::Closed(id) => {
                    let ports = scene.closed(&closed(network, id));
                    edges.add(ports, to_environment(network, id));
                }
            }
        }
        if folded {
            let (boxes, processes) = (inner.len(), network.processes.len());
            let note = format!("{boxes} boxes stand for {processes} processes.");
            picture.notes.push(note);
        }
        picture.edges = edges.finish(texts, |draft| match folded {
            true => scene.times(draft),
            false => draft.channels,
        });
        picture.nodes = nodes(network, texts, &scene, &inner);
        picture
    }

    /// Returns the picture with a node for each kind. It has no modules, and no ports joined to the
    /// environment.
    ///
    /// # Panics
    /// Panics if an id in the network is out of range.
    #[must_use]
    pub fn of_kinds(network: &Network) -> Picture {
        let texts = Texts::of_network(network);
        let mut picture = texts.picture(network.attributes.graph);
        let kinds = network.kinds.values().enumerate();
        picture.nodes = kinds
            .map(|(position, kind)| {
                let (name, processes) = (texts.name(kind.name), kind.members.len());
                let attributes = &network.attributes.processes;
                let first = kind.members.first();
                let list = first.and_then(|&first| attributes.get(first));
                let (color, outline) = texts.fill_and_outline(list);
                Node {
                    name: name.to_owned(),
                    label: times(name, processes),
                    kind: name.to_owned(),
                    group: None,
                    position,
                    form: match processes {
                        0 | 1 => Form::One,
                        _ => Form::Many,
                    },
                    processes,
                    title: count(processes, "process"),
                    color,
                    outline,
                }
            })
            .collect();
        let mut edges = Edges::default();
        for (id, channel) in network.channels.iter() {
            let port = |port: PortId| {
                let port = &network.ports[port];
                let kind = network.processes[port.process].kind;
                Some((kind.index() as u32, port.name))
            };
            let ports = [port(channel.from), port(channel.to)];
            edges.add(ports, self::channel(network, id, false));
        }
        picture.edges = edges.finish(texts, |draft| draft.channels);
        picture
    }
}

/// Returns the properties of a channel that its edge shows.
fn channel(network: &Network, id: ChannelId, wraps: bool) -> Channel {
    let (channel, terms) = (&network.channels[id], network.terms(id));
    Channel {
        ty: channel.ty,
        flow: terms.flow,
        attributes: network.attributes.channels.get(id),
        traffic: channel.traffic,
        initial: terms.initial > 0,
        wraps,
        elsewhere: None,
    }
}

/// Returns a port that is joined to the environment.
fn closed(network: &Network, id: PortId) -> Closed {
    let port = &network.ports[id];
    Closed {
        node: port.process.index() as u32,
        port: port.name,
        direction: port.direction,
    }
}

/// Returns the properties of a port joined to the environment that its edge shows.
fn to_environment(network: &Network, id: PortId) -> Channel {
    Channel {
        ty: None,
        flow: None,
        attributes: network.port_attributes(id),
        traffic: DEFAULT_TRAFFIC,
        initial: false,
        wraps: false,
        elsewhere: None,
    }
}

/// Returns the modules and families that are shown of a network.
fn groups(network: &Network, texts: Texts<'_>, scene: &Scene) -> Vec<Group> {
    let attributes = &network.attributes.modules;
    let modules = network.modules.iter();
    let own = modules.map(|(id, module)| (module.kind, attributes.get(id)));
    let own = have_own_labels(texts, own);
    scene.groups(|index, count| {
        let id = Id::from_index(index);
        let module = &network.modules[id];
        let (name, list) = (texts.name(module.name), attributes.get(id));
        let label = match count == 1 && own[index] {
            true => texts.label(list, name),
            false => None,
        };
        let kind = || times(texts.name(module.kind), count);
        let label = label.map_or_else(kind, |label| in_one_line(&label));
        (name.to_owned(), label, texts.users(list), texts.color(list))
    })
}

/// Returns the boxes that are shown of a network. `inner` has the number of channels of the writers
/// in each box of dots that are not shown.
fn nodes(network: &Network, texts: Texts<'_>, scene: &Scene, inner: &[usize]) -> Vec<Node> {
    let attributes = &network.attributes.processes;
    let processes = network.processes.iter();
    let kind = |kind| network.kinds[kind].name;
    let own = processes.map(|(id, process)| (kind(process.kind), attributes.get(id)));
    let own = have_own_labels(texts, own);
    let mut sums = vec![(0, 0.0); scene.shown.boxes.len()];
    for (process, &shown) in network.processes.values().zip(&scene.shown.box_of) {
        let (processes, load) = &mut sums[shown as usize];
        *processes += 1;
        *load += process.load;
    }
    let boxes = scene.shown.boxes.iter().zip(&sums).zip(inner);
    boxes
        .map(|((shown, &(processes, load)), &inner)| {
            let id = Id::from_index(shown.first as usize);
            let (name, kind) = (network.process_name(id), network.kind_name(id));
            let list = attributes.get(id);
            let label = match (shown.form, shown.count) {
                (Form::Dots, 1) => "⋯".to_owned(),
                (Form::Dots, many) => format!("⋯ {many} more"),
                (Form::Many, many) => times(kind, many),
                (Form::One | Form::Junction, _) => match own[shown.first as usize] {
                    true => texts.label(list, name).unwrap_or_default(),
                    false => name.to_owned(),
                },
            };
            let mut title = match processes {
                1 => format!("kind {kind}, load {load}"),
                many => format!(
                    "kind {kind}, {}, load {}",
                    count(many, "process"),
                    number(load)
                ),
            };
            if inner > 0 {
                let plural = if inner == 1 { "" } else { "s" };
                title += &format!(", {inner} channel{plural} not shown");
            }
            title += &texts.users(list);
            let (color, outline) = texts.fill_and_outline(list);
            Node {
                name: name.to_owned(),
                label,
                kind: kind.to_owned(),
                group: shown.frame,
                position: shown.position,
                form: shown.form,
                processes,
                title,
                color,
                outline,
            }
        })
        .collect()
}
