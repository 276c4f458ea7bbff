//! What the picture of a mapping shows, without positions: frames of hosts, sockets and caches,
//! boxes of OS processes, and arcs between boxes.

use super::fold::{Groups, Kinds, kinds};
use super::place::{Class, Places};
use super::traffic::{Sum, Traffic};
use crate::Scene;
use crate::colour::styles;
use crate::count;
use crate::shown::{compact, number, ranges, total};
use graphmap_kpn::hardware::{self, Hardware};
use std::collections::{BTreeMap, BTreeSet};

/// Contents of the picture.
pub(crate) struct Contents {
    /// Frames of hosts.
    pub(crate) frames: Vec<Frame>,
    /// Boxes, in the order of their first OS processes.
    pub(crate) blocks: Vec<Block>,
    /// Arcs between different boxes, the largest traffic first, and of those the most distant.
    pub(crate) arcs: Vec<Arc>,
    /// Traffic between OS processes by class of distance.
    pub(crate) classes: BTreeMap<Class, Sum>,
    /// Traffic within OS processes.
    pub(crate) within: Sum,
    /// The rule for the OS processes of a box, as text. `None` if each has a box of its own.
    pub(crate) rule: Option<&'static str>,
    /// Number of hosts of the platform, if it is known and contains all hosts of the scene.
    pub(crate) hosts: Option<usize>,
}

/// Part of the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Cache,
    Socket,
    Host,
}

/// A frame: a host, a socket, or cores that share a cache.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) level: Level,
    /// Name of its host. Empty if the launcher chooses it.
    pub(crate) host: String,
    pub(crate) label: String,
    /// Second line of the label. Empty for none.
    pub(crate) note: String,
    /// Text that appears when the pointer is on it.
    pub(crate) title: String,
    /// Cores that no inner frame contains. Empty if they are unknown or too numerous.
    pub(crate) cores: Vec<Core>,
    /// Boxes that no inner frame contains.
    pub(crate) blocks: Vec<usize>,
    pub(crate) frames: Vec<Frame>,
}

/// A core of a frame.
#[derive(Clone, Debug)]
pub(crate) struct Core {
    /// Its number in the operating system.
    pub(crate) cpu: u32,
    /// OS processes that are bound to it.
    pub(crate) os_processes: Vec<usize>,
}

/// A box: an OS process, or several that are alike.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Numbers of the OS processes, ascending.
    pub(crate) os_processes: Vec<usize>,
    pub(crate) host: String,
    pub(crate) heading: String,
    /// Cores, or numbers of the OS processes if there are several.
    pub(crate) detail: String,
    /// Kinds: the number of the style ([`styles`]), and the text.
    pub(crate) kinds: Vec<(usize, String)>,
    pub(crate) processes: usize,
    /// Sum of the loads.
    pub(crate) load: f64,
    /// Load as a share of the fair load. `None` if there is no load.
    pub(crate) share: Option<f64>,
    /// Text of the load.
    pub(crate) load_text: String,
    pub(crate) read: Sum,
    pub(crate) written: Sum,
    /// Traffic between the OS processes of the box, by class.
    pub(crate) among: BTreeMap<Class, Sum>,
}

/// Channels from one box to another whose ends are in one class of distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Arc {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) class: Class,
    pub(crate) sum: Sum,
}

/// Maximum number of arcs that are drawn. More would not be readable; the matrix has all pairs.
pub(crate) const MOST_ARCS: usize = 64;
/// Maximum number of hosts that the title of a frame lists.
const MOST_NAMES: usize = 64;
/// Maximum number of cores that a frame shows one by one.
const MOST_CORES: usize = 32;

impl Contents {
    /// Returns the contents of the picture of a scene. Sockets, caches and cores are shown only if
    /// the hardware has them.
    ///
    /// # Panics
    /// Panics if an index in the scene is out of range.
    pub(crate) fn of(scene: &Scene, hardware: Option<&Hardware>, traffic: &Traffic) -> Contents {
        let places = Places::of(scene, hardware);
        let (names, kinds) = kinds(scene);
        let styles = styles(names.iter().copied());
        let groups = Groups::of(scene, &places, &kinds, traffic);
        let mut box_of = vec![0; scene.os_processes.len()];
        for (b, group) in groups.boxes.iter().enumerate() {
            group.iter().for_each(|&o| box_of[o] = b);
        }
        let load = total(scene.os_processes.iter().map(|o| o.load));
        let speed: f64 = places.of.iter().map(|p| p.speed).sum();
        let block = |b| {
            Block::of(
                scene,
                (&groups, b),
                &places,
                (&names, &styles, &kinds),
                load / speed,
            )
        };
        let mut blocks: Vec<Block> = (0..groups.boxes.len()).map(block).collect();
        let mut classes: BTreeMap<Class, Sum> = BTreeMap::new();
        let mut arcs: BTreeMap<(usize, usize, Class), Sum> = BTreeMap::new();
        for (&(from, to), &sum) in &traffic.between {
            let class = places.class(from, to);
            classes.entry(class).or_default().add(sum);
            let (a, b) = (box_of[from], box_of[to]);
            if a == b {
                blocks[a].among.entry(class).or_default().add(sum);
            } else {
                arcs.entry((a, b, class)).or_default().add(sum);
                blocks[a].written.add(sum);
                blocks[b].read.add(sum);
            }
        }
        let mut arcs: Vec<Arc> = arcs
            .into_iter()
            .map(|((from, to, class), sum)| Arc {
                from,
                to,
                class,
                sum,
            })
            .collect();
        let far = |arc: &Arc| std::cmp::Reverse(arc.class);
        arcs.sort_by(|a, b| {
            let largest = b.sum.traffic.total_cmp(&a.sum.traffic);
            largest.then_with(|| far(a).cmp(&far(b)))
        });
        let mut within = Sum::default();
        traffic.within.iter().for_each(|&sum| within.add(sum));
        let frame = |f: usize| match &groups.hosts[f][..] {
            &[host] if groups.rule.is_none() => unfolded(scene, &places, host),
            hosts => folded(scene, &places, &groups, f, hosts),
        };
        Contents {
            frames: (0..groups.hosts.len()).map(frame).collect(),
            blocks,
            arcs,
            classes,
            within,
            rule: groups.rule,
            hosts: hardware
                .map(|h| h.hosts.len())
                .filter(|_| places.hosts.iter().all(Option::is_some)),
        }
    }
}

impl Block {
    fn of(
        scene: &Scene,
        (groups, b): (&Groups, usize),
        places: &Places<'_>,
        (names, styles, kinds): (&[&str], &BTreeMap<&str, usize>, &[Kinds]),
        load_per_speed: f64,
    ) -> Block {
        let group = &groups.boxes[b];
        let all = || group.iter().map(|&o| &scene.os_processes[o]);
        let load = total(all().map(|o| o.load));
        let speed: f64 = group.iter().map(|&o| places.of[o].speed).sum();
        let fair = load_per_speed * speed;
        let share = (fair > 0.0 && fair.is_finite()).then(|| load / fair);
        let percent = share.map_or(String::new(), |s| format!(" \u{b7} {:.0}%", 100.0 * s));
        let (heading, detail, load_text) = match group[..] {
            [o] => {
                let cores = match &scene.os_processes[o].cores[..] {
                    [] => String::new(),
                    [core] => format!("core {core}"),
                    cores => format!("cores {}", ranges(&sorted(cores))),
                };
                let load = format!("load {}{percent}", compact(load));
                (format!("OS process {o}"), cores, load)
            }
            _ => {
                let numbers: Vec<u32> = group.iter().map(|&o| o as u32).collect();
                let heading = format!("OS processes \u{d7}{}", group.len());
                let least = all().map(|o| o.load).fold(f64::INFINITY, f64::min);
                let most = all().map(|o| o.load).fold(f64::NEG_INFINITY, f64::max);
                let (least, most) = (compact(least), compact(most));
                let load = match least == most {
                    true => format!("load {most} each{percent}"),
                    false => format!("loads {}{percent}", interval(&least, &most)),
                };
                (heading, ranges(&numbers), load)
            }
        };
        Block {
            os_processes: group.clone(),
            host: match groups.hosts[groups.frame[b]][..] {
                [host] => scene.hosts[host].name.clone(),
                _ => String::new(),
            },
            heading,
            detail,
            kinds: kind_texts(group, kinds)
                .into_iter()
                .map(|(kind, times)| (styles[names[kind]], format!("{}{times}", names[kind])))
                .collect(),
            processes: all().map(|o| o.processes).sum(),
            load,
            share,
            load_text,
            read: Sum::default(),
            written: Sum::default(),
            among: BTreeMap::new(),
        }
    }

    /// Returns the text that appears when the pointer is on the box.
    pub(crate) fn title(&self) -> String {
        let kinds = self.kinds.iter().map(|(_, text)| text.as_str());
        let mut title = format!(
            "{} {}: {}, load {}",
            self.heading,
            self.detail,
            count(self.processes, "process"),
            number(self.load)
        );
        if let Some(share) = self.share {
            title += &format!(", {:.0}% of the fair load", 100.0 * share);
        }
        title += &format!(
            ", reads {} from {}, writes {} to {}",
            number(self.read.traffic),
            channels(self.read.channels),
            number(self.written.traffic),
            channels(self.written.channels),
        );
        title + "\n" + &kinds.collect::<Vec<_>>().join("\n")
    }
}

/// Returns `1 channel` or `2 channels`.
pub(crate) fn channels(count: usize) -> String {
    format!("{count} channel{}", if count == 1 { "" } else { "s" })
}

fn sorted(cores: &[u32]) -> Vec<u32> {
    let mut cores = cores.to_vec();
    cores.sort_unstable();
    cores.dedup();
    cores
}

/// Returns `1–3`, or `1` if both are equal.
fn interval(least: &str, most: &str) -> String {
    if least == most {
        least.to_owned()
    } else {
        format!("{least}\u{2013}{most}")
    }
}

/// Returns the kinds of some OS processes with the number of processes in each OS process, as text.
/// A single process has no number.
fn kind_texts(group: &[usize], kinds: &[Kinds]) -> Vec<(usize, String)> {
    // OS processes that have the kind, and the least and the largest number there.
    let mut all: BTreeMap<usize, (usize, usize, usize)> = BTreeMap::new();
    for &(kind, count) in group.iter().flat_map(|&o| &kinds[o]) {
        let (homes, least, most) = all.entry(kind).or_insert((0, count, count));
        (*homes, *least, *most) = (*homes + 1, count.min(*least), count.max(*most));
    }
    let text = |(kind, (homes, least, most)): (usize, (usize, usize, usize))| {
        let least = if homes < group.len() { 0 } else { least };
        let times = match (least, most) {
            (1, 1) => String::new(),
            _ => format!(" \u{d7}{}", interval(&least.to_string(), &most.to_string())),
        };
        (kind, times)
    };
    all.into_iter().map(text).collect()
}

fn host_label(name: &str) -> String {
    match name {
        "" => "host chosen by the launcher".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns the frame of one host, with frames of its sockets and caches if it has several.
fn unfolded(scene: &Scene, places: &Places<'_>, host: usize) -> Frame {
    let Scene {
        hosts,
        os_processes,
        ..
    } = scene;
    let name = &hosts[host].name;
    let frame = |level, label: String| Frame {
        level,
        host: name.clone(),
        title: label.clone(),
        label,
        note: String::new(),
        cores: Vec::new(),
        blocks: Vec::new(),
        frames: Vec::new(),
    };
    let mut root = frame(Level::Host, host_label(name));
    let inside = &hosts[host].os_processes;
    let description = places.hosts[host].filter(|d| !d.cores.is_empty());
    let Some(description) = description else {
        root.blocks.clone_from(inside);
        return root;
    };
    let mut bound: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for &o in inside {
        for cpu in sorted(&os_processes[o].cores) {
            bound.entry(cpu).or_default().push(o);
        }
    }
    let all: Vec<&hardware::Core> = description.cores.iter().collect();
    root.title = format!("{}: {}", root.label, cores(all.len()));
    let place = |o: usize, level| match level {
        Level::Host => None,
        Level::Socket => places.of[o].socket,
        Level::Cache => places.of[o].cache,
    };
    let sockets = split(&all, |c| c.socket, &bound);
    if sockets.parts < 2 {
        fill(&mut root, &all, inside, &bound, &frame, &place);
        return root;
    }
    idle(&mut root, sockets.parts - sockets.used.len(), "socket");
    for (socket, cores) in sockets.used {
        let mut made = frame(Level::Socket, format!("socket {socket}"));
        made.title = format!(
            "{}, {}: {}",
            root.label,
            made.label,
            self::cores(cores.len())
        );
        let here: Vec<usize> = only(inside, |o| place(o, Level::Socket) == Some(socket));
        fill(&mut made, &cores, &here, &bound, &frame, &place);
        root.frames.push(made);
    }
    root.blocks = only(inside, |o| place(o, Level::Socket).is_none());
    root
}

fn cores(count: usize) -> String {
    format!("{count} core{}", if count == 1 { "" } else { "s" })
}

fn only(all: &[usize], holds: impl Fn(usize) -> bool) -> Vec<usize> {
    all.iter().copied().filter(|&o| holds(o)).collect()
}

fn idle(frame: &mut Frame, count: usize, noun: &str) {
    if count > 0 {
        let plural = if count == 1 { "" } else { "s" };
        frame.note = format!("and {count} {noun}{plural} without OS processes");
    }
}

/// Cores by the number of their socket or cache.
struct Split<'a> {
    /// Number of sockets or caches.
    parts: usize,
    /// Those with a core to which an OS process is bound.
    used: BTreeMap<u32, Vec<&'a hardware::Core>>,
}

fn split<'a>(
    cores: &[&'a hardware::Core],
    part: impl Fn(&hardware::Core) -> u32,
    bound: &BTreeMap<u32, Vec<usize>>,
) -> Split<'a> {
    let mut used: BTreeMap<u32, Vec<&hardware::Core>> = BTreeMap::new();
    for core in cores {
        used.entry(part(core)).or_default().push(core);
    }
    let parts = used.len();
    let busy = |c: &&hardware::Core| c.cpus.iter().any(|cpu| bound.contains_key(cpu));
    used.retain(|_, cores| cores.iter().any(busy));
    Split { parts, used }
}

/// Fills the frame of a socket, or of a host with one socket: frames of shared caches if there are
/// several, otherwise the cores.
fn fill(
    frame: &mut Frame,
    all: &[&hardware::Core],
    inside: &[usize],
    bound: &BTreeMap<u32, Vec<usize>>,
    make: &impl Fn(Level, String) -> Frame,
    place: &impl Fn(usize, Level) -> Option<u32>,
) {
    let caches = split(all, |c| c.cache, bound);
    if caches.parts < 2 || caches.parts == all.len() {
        frame.blocks = inside.to_vec();
        add_cores(frame, all, bound);
        return;
    }
    idle(frame, caches.parts - caches.used.len(), "cache");
    for (cache, cores) in caches.used {
        let mut made = make(Level::Cache, format!("shared cache {cache}"));
        made.title = format!(
            "{}, {}: {}",
            frame.title,
            made.label,
            self::cores(cores.len())
        );
        made.blocks = only(inside, |o| place(o, Level::Cache) == Some(cache));
        add_cores(&mut made, &cores, bound);
        frame.frames.push(made);
    }
    frame.blocks = only(inside, |o| place(o, Level::Cache).is_none());
}

fn add_cores(frame: &mut Frame, all: &[&hardware::Core], bound: &BTreeMap<u32, Vec<usize>>) {
    let core = |core: &&hardware::Core| {
        let users = core.cpus.iter().filter_map(|cpu| bound.get(cpu)).flatten();
        let users: BTreeSet<usize> = users.copied().collect();
        Core {
            cpu: core.cpus.first().copied().unwrap_or_default(),
            os_processes: users.into_iter().collect(),
        }
    };
    let made: Vec<Core> = all.iter().map(core).collect();
    if made.len() <= MOST_CORES {
        frame.cores = made;
        return;
    }
    let used = made.iter().filter(|c| !c.os_processes.is_empty()).count();
    frame.note = format!("{used} of {} used", cores(made.len()));
}

/// Returns the frame of hosts that are alike.
fn folded(
    scene: &Scene,
    places: &Places<'_>,
    groups: &Groups,
    frame: usize,
    hosts: &[usize],
) -> Frame {
    let name = |h: usize| host_label(&scene.hosts[h].name);
    let (host, label) = match hosts {
        [host] => (scene.hosts[*host].name.clone(), name(*host)),
        [first, .., last] => {
            let label = format!(
                "{} hosts: {} \u{2026} {}",
                hosts.len(),
                name(*first),
                name(*last)
            );
            (String::new(), label)
        }
        [] => (String::new(), String::new()),
    };
    let mut note = String::new();
    let names: Vec<String> = hosts.iter().map(|&h| name(h)).collect();
    let known = hosts.first().and_then(|&h| places.hosts[h]);
    let alike = hosts
        .iter()
        .all(|&h| places.hosts[h].map(|h| &h.cores) == known.map(|h| &h.cores));
    if let Some(known) = known.filter(|h| alike && !h.cores.is_empty()) {
        let sockets: BTreeSet<u32> = known.cores.iter().map(|c| c.socket).collect();
        let each = match sockets.len() {
            1 => String::new(),
            many => format!("{many} sockets, "),
        };
        note = format!("{each}{}", cores(known.cores.len()));
        if hosts.len() > 1 {
            note += " each";
        }
    }
    let title = match names.len() <= MOST_NAMES {
        true => names.join(", "),
        false => label.clone(),
    };
    let blocks = (0..groups.boxes.len()).filter(|&b| groups.frame[b] == frame);
    Frame {
        level: Level::Host,
        host,
        label,
        note,
        title,
        cores: Vec::new(),
        blocks: blocks.collect(),
        frames: Vec::new(),
    }
}
