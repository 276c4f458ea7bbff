//! The XML of hwloc 2 and 3, as `lstopo --of xml` writes it for one host.
//!
//! The reader uses the name of the host, the packages (sockets), and the numbers of hardware
//! threads. Cores that share the outermost cache below their package are a cache group. The memory
//! of the host is the sum over its NUMA nodes, except the nodes of GPUs. `LinuxCapacity` gives the
//! speeds of kinds of cores.
//!
//! Hardware threads outside `allowed_cpuset` and NUMA nodes outside `allowed_nodeset` belong to
//! another cgroup, so they are ignored. The host has one slot per core. To describe several hosts,
//! read one file for each host and [join](Platform::join) the platforms.

use crate::codes;
use crate::model::{CacheGroup, Core, Host, MAX_CORES, Platform, Socket};
use crate::report::Report;
use crate::text::Word;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::{Source, Span};
use roxmltree::{Document, Node, ParsingOptions};
use std::fmt::Write;

/// Reads a topology of hwloc.
///
/// Returns `None` if there was at least one error. Adds the diagnostics to `out`: the first 50, and
/// a note with the number of the others. A result can come with warnings.
pub fn read(source: &Source, out: &mut Diagnostics) -> Option<Platform> {
    let mut report = Report::default();
    let text = Word::all(source);
    if let Some(error) = unsupported_xml(text) {
        report.push(error);
        return report.finish(None, out);
    }
    // hwloc names its DTD, so the parser must allow declarations. It fetches no DTD. A file of
    // hwloc has a few thousand nodes.
    let options = ParsingOptions {
        allow_dtd: true,
        nodes_limit: 8 * MAX_CORES as u32,
        ..ParsingOptions::default()
    };
    let made = match Document::parse_with_options(text.text, options) {
        Ok(document) => Reader::new(text, &mut report).host(&document),
        Err(wrong) => {
            report.push(not_xml(text, &wrong));
            None
        }
    };
    let made = made.and_then(|host| match Platform::new(vec![host]) {
        Ok(platform) => Some(platform),
        Err(wrong) => {
            report.push(Diagnostic::error(codes::TOPOLOGY, wrong.to_string()));
            None
        }
    });
    report.finish(made, out)
}

/// Returns an error for XML that hwloc never writes and that takes the parser a long time. Returns
/// `None` for all other texts.
///
/// This is the case for entities, and for tags with many attributes, because the parser compares
/// each attribute with all others.
fn unsupported_xml(text: Word) -> Option<Diagnostic> {
    let refuse = |at: Word, what: &str| {
        let found = Diagnostic::error(codes::TOPOLOGY, what).at(at.span(), "");
        Some(found.help("write the file again: `lstopo --of xml host.xml`"))
    };
    if let Some(at) = text.text.find("<!ENTITY") {
        return refuse(
            text.from(at).to(8),
            "the topology declares entities, which hwloc never does",
        );
    }
    let crowded = |tag: &Word| tag.text.bytes().filter(|b| *b == b'=').count() > 1000;
    let tag = text.pieces('<').find(crowded)?;
    refuse(tag.to(0), "a tag has more than 1000 attributes")
}

fn not_xml(text: Word, wrong: &roxmltree::Error) -> Diagnostic {
    let place = wrong.pos();
    let line = text
        .pieces('\n')
        .nth(place.row.saturating_sub(1) as usize)
        .unwrap_or(text);
    let column = line
        .text
        .char_indices()
        .nth(place.col.saturating_sub(1) as usize);
    let rest = line.from(column.map_or(line.text.len(), |(at, _)| at));
    let at = rest
        .to(rest.text.chars().next().map_or(0, char::len_utf8))
        .span();
    let what = "this is not well-formed XML";
    let mut reason = wrong.to_string();
    if let Some(end) = reason.rfind(" at ") {
        reason.truncate(end);
    }
    let error = Diagnostic::error(codes::XML, what).at(at, reason);
    error.help("write the file again: `lstopo --of xml host.xml`")
}

/// Indices of the objects that contain an object.
#[derive(Clone, Copy, Default)]
struct Inside {
    package: Option<u32>,
    cache: Option<u32>,
    core: Option<u32>,
}

/// Hardware threads and NUMA nodes that may be used. `None` allows all.
struct Allowed {
    cpus: Option<Vec<u32>>,
    nodes: Option<Vec<u32>>,
}

/// Returns true if a set contains a number. The set consists of words of 32 bits, lowest first.
/// `None` is the set of all numbers.
fn is_in(set: Option<&[u32]>, number: u64) -> bool {
    set.is_none_or(|words| {
        let word = usize::try_from(number / 32).ok().and_then(|i| words.get(i));
        word.is_some_and(|word| word >> (number % 32) & 1 == 1)
    })
}

struct Reader<'a, 'r> {
    text: Word<'a>,
    report: &'r mut Report,
    packages: u32,
    caches: u32,
    cores: u32,
    memory: u64,
    /// The allowed hardware threads, in document order.
    threads: Vec<(Inside, u32)>,
}

impl<'a, 'r> Reader<'a, 'r> {
    fn new(text: Word<'a>, report: &'r mut Report) -> Reader<'a, 'r> {
        Reader {
            text,
            report,
            packages: 0,
            caches: 0,
            cores: 0,
            memory: 0,
            threads: Vec::new(),
        }
    }

    fn span(&self, node: Node) -> Span {
        let range = node.range();
        // Only the tag, because the range of an element includes its children.
        let end = self.text.text[range.clone()]
            .find('>')
            .map_or(range.end, |at| range.start + at + 1);
        self.text.to(end).from(range.start).span()
    }

    fn not_a_topology(&mut self, at: Span, what: &str) -> Option<Host> {
        let error = Diagnostic::error(codes::TOPOLOGY, what).at(at, "");
        let help = "write it with hwloc 2 or newer: `lstopo --of xml host.xml`";
        let convert = "convert an older file with hwloc 2: `lstopo -i old.xml --of xml new.xml`";
        self.report.push(error.help(help).help(convert));
        None
    }

    fn host(mut self, document: &Document) -> Option<Host> {
        let root = document.root_element();
        let at = self.span(root);
        if root.tag_name().name() != "topology" {
            let what = format!(
                "the outermost tag is `{}`, not hwloc's `topology`",
                root.tag_name().name()
            );
            return self.not_a_topology(at, &what);
        }
        match root.attribute("version") {
            Some(version) if version.starts_with("2.") || version.starts_with("3.") => {}
            Some(version) => {
                let what = format!(
                    "this is the format of hwloc version `{version}`; only versions 2 and 3 are read"
                );
                return self.not_a_topology(at, &what);
            }
            None => {
                return self.not_a_topology(
                    at,
                    "this is the format of hwloc version 1; only versions 2 and 3 are read",
                );
            }
        }
        let object = |n: &Node| n.is_element() && n.tag_name().name() == "object";
        let Some(machine) = root.children().find(object) else {
            return self.not_a_topology(at, "the topology contains no machine");
        };
        let allowed = Allowed {
            cpus: self.mask(machine, "allowed_cpuset"),
            nodes: self.mask(machine, "allowed_nodeset"),
        };
        // An explicit stack, because deeply nested objects would overflow the call stack.
        let mut open = vec![(machine, Inside::default())];
        while let Some((node, inside)) = open.pop() {
            let inside = self.enter(node, inside, &allowed);
            let children = node.children().rev().filter(object);
            open.extend(children.map(|child| (child, inside)));
            if self.threads.len() > MAX_CORES {
                return self.not_a_topology(at, "the topology has too many hardware threads");
            }
        }
        if self.threads.is_empty() && !self.report.failed() {
            return self.not_a_topology(at, "the topology allows no hardware thread");
        }
        let info =
            |n: &Node| n.tag_name().name() == "info" && n.attribute("name") == Some("HostName");
        // Version 3 puts the host name into the topology, version 2 into the machine.
        let name = machine.children().chain(root.children()).find(info);
        let name = name.and_then(|n| n.attribute("value"));
        let name = name.unwrap_or_else(|| {
            let message = "the topology has no `HostName`; its host is assumed to be `localhost`";
            let warning = Diagnostic::warning(codes::NO_HOST_NAME, message)
                .at(self.span(machine), "")
                .help("if it is another host, run `lstopo host.xml` on that host");
            self.report.push(warning);
            "localhost"
        });
        let mut host = Host::new(name, 1);
        host.span = self.span(machine);
        host.memory = Some(self.memory).filter(|m| *m > 0);
        host.sockets = self.sockets();
        self.speeds(root, &mut host);
        host.slots = host.core_count().max(1) as u32;
        Some(host)
    }

    fn enter(&mut self, node: Node, mut inside: Inside, allowed: &Allowed) -> Inside {
        let kind = node.attribute("type").unwrap_or("");
        let next = |counter: &mut u32| {
            *counter += 1;
            Some(*counter - 1)
        };
        match kind {
            "Package" => (inside.package, inside.cache) = (next(&mut self.packages), None),
            "L2Cache" | "L3Cache" | "L4Cache" | "L5Cache" if inside.cache.is_none() => {
                inside.cache = next(&mut self.caches);
            }
            "Core" => inside.core = next(&mut self.cores),
            "NUMANode" => {
                let index = self.number(node, "os_index");
                let allowed = index.is_none_or(|index| is_in(allowed.nodes.as_deref(), index));
                // On some machines (Grace Hopper) the memory of a GPU is a NUMA node.
                if allowed && node.attribute("subtype") != Some("GPUMemory") {
                    let bytes = self.number(node, "local_memory").unwrap_or(0);
                    self.memory = self.memory.saturating_add(bytes);
                }
            }
            "PU" => {
                let Some(cpu) = self.number(node, "os_index") else {
                    let at = self.span(node);
                    self.not_a_topology(at, "a hardware thread has no `os_index`");
                    return inside;
                };
                if is_in(allowed.cpus.as_deref(), cpu)
                    && let Ok(cpu) = u32::try_from(cpu)
                {
                    // In a topology without cores (some virtual machines), each thread is a core.
                    let core = inside.core.or_else(|| next(&mut self.cores));
                    self.threads.push((Inside { core, ..inside }, cpu));
                }
            }
            _ => {}
        }
        inside
    }

    /// Sets the speeds of the cores of `host` relative to the fastest kind, if they are of at least
    /// two kinds. If the capacity of a kind is unknown, warns instead and leaves all speeds at 1.
    /// `root` is the topology.
    fn speeds(&mut self, root: Node, host: &mut Host) {
        let is = |name: &'static str| move |n: &Node| n.is_element() && n.tag_name().name() == name;
        let nodes: Vec<Node> = root.children().filter(is("cpukind")).collect();
        let mut kinds = Vec::new();
        for node in &nodes {
            let cpus = self.mask(*node, "cpuset");
            let info = |n: &Node| n.attribute("name") == Some("LinuxCapacity");
            let capacity = node.children().filter(is("info")).find(info);
            let capacity = capacity.and_then(|n| n.attribute("value")?.parse::<f64>().ok());
            let capacity = capacity.filter(|c| c.is_finite() && *c > 0.0);
            // A kind without an allowed core does not count.
            let has = |core: &Core| {
                core.cpus
                    .first()
                    .is_some_and(|cpu| is_in(cpus.as_deref(), u64::from(*cpu)))
            };
            if host.cores().any(|(_, _, core)| has(core)) {
                kinds.push((cpus, capacity));
            }
        }
        if kinds.len() < 2 {
            return;
        }
        let most = kinds.iter().filter_map(|(_, capacity)| *capacity);
        let most = most.fold(0.0, f64::max);
        if kinds.iter().any(|(_, capacity)| capacity.is_none()) {
            let what = format!(
                "the cores are of {} kinds; all are assumed equally fast",
                kinds.len()
            );
            let at = self.span(nodes[0]);
            self.report.push(
                Diagnostic::warning(codes::CORE_KINDS, what)
                    .at(at, "")
                    .with_note("the file does not contain the speed of each kind (`LinuxCapacity`)")
                    .help("omit the slower cores: `lstopo --restrict` with the set of the others"),
            );
            return;
        }
        let cores = host.sockets.iter_mut().flat_map(|s| &mut s.caches);
        for core in cores.flat_map(|group| &mut group.cores) {
            let of = |kind: &&(Option<Vec<u32>>, Option<f64>)| {
                let first = core.cpus.first();
                first.is_some_and(|cpu| is_in(kind.0.as_deref(), u64::from(*cpu)))
            };
            if let Some(capacity) = kinds.iter().find(of).and_then(|kind| kind.1) {
                core.speed = capacity / most;
            }
        }
    }

    fn number(&mut self, node: Node, attribute: &str) -> Option<u64> {
        let found = node.attribute_node(attribute)?;
        let range = found.range_value();
        self.text
            .to(range.end)
            .from(range.start)
            .whole(attribute, self.report)
    }

    /// Reads the set of numbers in an attribute in hwloc's format: words of 32 bits in hexadecimal,
    /// highest first. The result has the lowest word first.
    ///
    /// Returns `None` if all numbers are in the set, or if there is no such attribute. Also returns
    /// `None`, and reports an error, if the attribute is not a set.
    fn mask(&mut self, node: Node, attribute: &str) -> Option<Vec<u32>> {
        let found = node.attribute_node(attribute)?;
        let text = found.value();
        // `0xf...f` is the set of all numbers.
        if text.starts_with("0xf...f") {
            return None;
        }
        let word = |w: &str| match w.trim_start_matches("0x") {
            "" => Some(0),
            digits => u32::from_str_radix(digits, 16).ok(),
        };
        let words: Option<Vec<u32>> = text.split(',').rev().map(word).collect();
        if words.is_none() {
            let range = found.range_value();
            let what = format!("`{attribute}` is not a set of numbers in the format of hwloc");
            let at = self.text.to(range.end).from(range.start).span();
            self.report
                .push(Diagnostic::error(codes::NOT_A_NUMBER, what).at(at, ""));
        }
        words
    }

    fn sockets(&self) -> Vec<Socket> {
        let mut sockets: Vec<Socket> = Vec::new();
        let mut last: Option<Inside> = None;
        for (inside, cpu) in &self.threads {
            let same =
                |of: fn(&Inside) -> Option<u32>| last.as_ref().is_some_and(|l| of(l) == of(inside));
            let same_package = same(|i| i.package);
            if !same_package {
                sockets.push(Socket::default());
            }
            let socket = sockets.last_mut().expect("the first thread opens a socket");
            let same_core = same(|i| i.core) && same_package;
            // A core without a shared cache is a group of its own.
            let same_cache =
                same(|i| i.cache) && same_package && (inside.cache.is_some() || same_core);
            if !same_cache {
                socket.caches.push(CacheGroup::default());
            }
            let group = socket.caches.last_mut().expect("just seen to");
            match group.cores.last_mut().filter(|_| same_core && same_cache) {
                Some(core) => core.cpus.push(*cpu),
                None => group.cores.push(Core {
                    cpus: vec![*cpu],
                    speed: 1.0,
                }),
            }
            last = Some(*inside);
        }
        sockets
    }
}

/// Writes a host as XML that [`read`] and `lstopo -i FILE` accept.
///
/// The host must have sockets, and each core a hardware thread. Otherwise [`read`] refuses the
/// text, or omits the core. The name is written unchanged, so it must not need an escape in XML.
/// The slots, the access to the host and its own speed are not written.
pub fn print(host: &Host) -> String {
    let cpus = |cores: &mut dyn Iterator<Item = &Core>| -> String {
        let mut words = vec![0u32];
        for cpu in cores.flat_map(|c| &c.cpus) {
            let word = *cpu as usize / 32;
            words.resize(words.len().max(word + 1), 0);
            words[word] |= 1 << (cpu % 32);
        }
        let words: Vec<_> = words.iter().rev().map(|w| format!("0x{w:08x}")).collect();
        words.join(",")
    };
    let mut gp = 0;
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n\
         <topology version=\"2.0\">\n",
    );
    let mut object = |kind: &str, index: usize, set: &str, more: &str| -> String {
        gp += 1;
        format!(
            "<object type=\"{kind}\" os_index=\"{index}\" cpuset=\"{set}\" complete_cpuset=\"{set}\" \
             nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\" gp_index=\"{gp}\"{more}"
        )
    };
    let mut line = |s: String| writeln!(text, "{s}").expect("a String takes all");
    let all = cpus(&mut host.cores().map(|(_, _, core)| core));
    let allowed = format!(" allowed_cpuset=\"{all}\" allowed_nodeset=\"0x00000001\">");
    line(object("Machine", 0, &all, &allowed));
    line(format!("<info name=\"HostName\" value=\"{}\"/>", host.name));
    let memory = format!(" local_memory=\"{}\"/>", host.memory.unwrap_or(0));
    line(object("NUMANode", 0, &all, &memory));
    let (mut caches, mut cores) = (0, 0);
    for (i, socket) in host.sockets.iter().enumerate() {
        let of_socket = &mut socket.caches.iter().flat_map(|c| &c.cores);
        line(object("Package", i, &cpus(of_socket), ">"));
        for cache in &socket.caches {
            let more = " cache_size=\"0\" depth=\"3\" cache_linesize=\"64\" \
                        cache_associativity=\"0\" cache_type=\"0\">";
            line(object(
                "L3Cache",
                caches,
                &cpus(&mut cache.cores.iter()),
                more,
            ));
            caches += 1;
            for core in &cache.cores {
                line(object(
                    "Core",
                    cores,
                    &cpus(&mut std::iter::once(core)),
                    ">",
                ));
                cores += 1;
                for &cpu in &core.cpus {
                    let alone = Core {
                        cpus: vec![cpu],
                        speed: 1.0,
                    };
                    line(object(
                        "PU",
                        cpu as usize,
                        &cpus(&mut std::iter::once(&alone)),
                        "/>",
                    ));
                }
                line("</object>".to_string());
            }
            line("</object>".to_string());
        }
        line("</object>".to_string());
    }
    line("</object>".to_string());
    let all: Vec<&Core> = host.cores().map(|(_, _, core)| core).collect();
    let mut speeds: Vec<f64> = all.iter().map(|core| core.speed).collect();
    speeds.sort_by(f64::total_cmp);
    speeds.dedup();
    for speed in speeds.iter().filter(|_| speeds.len() > 1) {
        let mut of_kind = all.iter().copied().filter(|core| core.speed == *speed);
        let capacity = speed * 1024.0;
        line(format!(
            "<cpukind cpuset=\"{}\"><info name=\"LinuxCapacity\" value=\"{capacity}\"/></cpukind>",
            cpus(&mut of_kind)
        ));
    }
    text.push_str("</topology>\n");
    text
}
