//! The table of a network: kinds of processes and classes of channels, in compact form.
//!
//! The size of the table does not depend on the number of processes, except for listed names.
//! Numbers are [`Sequence`]s, and names and positions are computed on demand.

use std::any::TypeId;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use super::column::Column;
use super::connect::{Ends, Ports};
use super::flow::{CONTROLS, Control};
use super::full_names::FullNames;
use super::maker::{Maker, TypedMaker, is_control};
use super::meter::Formats;
use super::names::NameTable;
use graphmap_executor::error::RunError;
use graphmap_executor::exec::future;
use graphmap_executor::exec::outcome::Outcome;
use graphmap_executor::exec::scheduler::MOST;
use graphmap_executor::exec::task::{self, TaskHeader};
use graphmap_executor::exec::wait_points;
use graphmap_executor::payload::Format;
use graphmap_executor::sequence::Sequence;

/// A kind of a [`Network`]: the result of [`Network::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kind(u32);

impl Kind {
    /// The first kind that was added.
    pub const FIRST: Kind = Kind(0);

    pub(super) fn of_number(number: usize) -> Kind {
        Kind(number as u32)
    }

    pub(super) fn number(self) -> usize {
        self.0 as usize
    }
}

/// The names of the processes of a kind.
#[derive(Debug, Clone, Copy)]
pub enum Names<'a> {
    /// A text and a number for each, from a sequence: `Numbered("inTask", "1+1*3")` is `inTask1`,
    /// `inTask2`, `inTask3`.
    Numbered(&'a str, &'a str),
    /// The names in the order of the members.
    Listed(&'a [&'a str]),
    /// Texts, each followed by a number from its sequence. An empty sequence adds no number:
    /// `Pattern(&[("cell", "0+0*3+1*2"), ("_", "0+1*3+0*2")])` is `cell0_0`, `cell0_1` ...
    Pattern(&'a [(&'a str, &'a str)]),
    /// One of several texts, by a sequence of indices from 0, and then a pattern:
    /// `Mixed(&["left", "right"], "0 1 0 1", &[("", "1 1 2 2")])` is `left1`, `right1`, `left2`,
    /// `right2`.
    Mixed(&'a [&'a str], &'a str, &'a [(&'a str, &'a str)]),
}

/// A class of channels: those from one port of a kind to one port of another kind.
///
/// The n-th channel goes from member `from_index[n]` of one kind to member `to_index[n]` of the
/// other. All `&str` are [`Sequence`]s. Some may be empty, as the fields say.
///
/// ```
/// use graphmap_runtime::{Channels, Kind};
/// # let (filter, sink) = (Kind::default(), Kind::default());
/// Channels { capacity: 16, line: "20+10*2", ..Channels::new((filter, 1), (sink, 0), "0+1*2", "0+0*2") };
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Channels<'a> {
    /// The kind that writes, and the index of its port.
    pub from: (Kind, usize),
    /// The kind that reads, and the index of its port.
    pub to: (Kind, usize),
    /// Number of tokens that a channel can hold, from 1 to 2^30 - 1. The runtime may double it
    /// during a run, to end a deadlock.
    pub capacity: u32,
    /// Index of the writing member of its kind.
    pub from_index: &'a str,
    /// Index of the reading member of its kind.
    pub to_index: &'a str,
    /// Index of the channel in the writer's bundle. If empty, channels are in the order of their
    /// numbers.
    pub from_slot: &'a str,
    /// Index of the channel in the reader's bundle. If empty, channels are in the order of their
    /// numbers.
    pub to_slot: &'a str,
    /// Line in the graph file, from 1. If empty, it is unknown.
    pub line: &'a str,
    /// Column in the graph file, from 1. If empty, it is unknown.
    pub column: &'a str,
}

impl<'a> Channels<'a> {
    /// Creates a class of channels of capacity 1 at unknown positions.
    pub const fn new(
        from: (Kind, usize),
        to: (Kind, usize),
        from_index: &'a str,
        to_index: &'a str,
    ) -> Self {
        Channels {
            from,
            to,
            capacity: 1,
            from_index,
            to_index,
            from_slot: "",
            to_slot: "",
            line: "",
            column: "",
        }
    }
}

/// A process network. Generated wiring code describes it, and [`run`](crate::run) runs it.
///
/// Errors in the description are collected, and `run` reports them together.
pub struct Network {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) kinds: Vec<KindTable>,
    pub(super) modules: Vec<ModuleTable>,
    pub(crate) classes: Vec<Class>,
    /// The full names, computed when they are first needed. By then, the tables are complete.
    pub(super) full_names: OnceLock<FullNames>,
    pub(crate) formats: Formats,
    pub(super) tokens: Vec<TokenType>,
    /// Sizes of the structure, if the network was read from tables.
    pub(super) sizes: Vec<(String, usize)>,
    pub(crate) after_run: Vec<fn()>,
    pub(crate) errors: Vec<String>,
    pub(crate) processes: u32,
    pub(crate) channels: u32,
}

pub(crate) type Spawn =
    dyn Fn(&mut Ends<'_>, u32, u32) -> NonNull<TaskHeader> + Send + Sync + 'static;

pub(crate) struct KindTable {
    pub(crate) name: String,
    pub(super) names: NameTable,
    pub(crate) ranks: Sequence,
    pub(crate) ports: Vec<String>,
    /// Number of the innermost module of each member. If empty, no member is in a module.
    pub(super) modules: Sequence,
    pub(super) line: Sequence,
    pub(super) column: Sequence,
    /// Values of each parameter.
    pub(super) arguments: Vec<(String, Column)>,
    pub(crate) spawn: Box<Spawn>,
}

/// Modules of a kind. All modules are numbered from 1, in the order in which they are added.
pub(super) struct ModuleTable {
    pub(super) kind: String,
    pub(super) names: NameTable,
    /// Number of the module that contains each module, or 0.
    pub(super) within: Sequence,
    /// Number of the first module of this table.
    pub(super) first: u32,
}

pub(crate) struct Class {
    pub(crate) from: (u32, u32),
    pub(crate) to: (u32, u32),
    pub(crate) capacity: u32,
    pub(crate) from_index: Sequence,
    pub(crate) to_index: Sequence,
    pub(crate) from_slot: Sequence,
    pub(crate) to_slot: Sequence,
    pub(super) line: Sequence,
    pub(super) column: Sequence,
    /// Number of the first channel.
    pub(crate) first: u32,
    pub(crate) token: TypeId,
    pub(crate) token_name: &'static str,
    pub(crate) size: usize,
    /// True if the tokens are control messages of flow-controlled channels.
    pub(crate) control: bool,
    /// MPI tag.
    pub(super) tag: Option<i32>,
    pub(crate) maker: Box<dyn Maker>,
}

/// Initial tokens and flow control of a class of channels.
pub(super) struct Way {
    pub(super) initial: u32,
    pub(super) is_flow: bool,
}

pub(super) type Add = dyn Fn(&mut Network, Channels<'_>, Way) -> Result<(), String> + Send + Sync;

/// A type of tokens, and how to add a class of channels that carry them.
pub(super) struct TokenType {
    pub(super) name: String,
    pub(super) add: Arc<Add>,
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("name", &self.name)
            .field("file", &self.file)
            .field("processes", &self.processes)
            .field("channels", &self.channels)
            .finish_non_exhaustive()
    }
}

impl Network {
    /// Creates an empty network. `file` is the graph file to which positions in reports refer.
    pub fn new(name: &str, file: &str) -> Self {
        Network {
            name: name.to_string(),
            file: file.to_string(),
            kinds: Vec::new(),
            modules: Vec::new(),
            classes: Vec::new(),
            full_names: OnceLock::new(),
            formats: Formats::default(),
            tokens: Vec::new(),
            sizes: Vec::new(),
            after_run: Vec::new(),
            errors: Vec::new(),
            processes: 0,
            channels: 0,
        }
    }

    /// Returns the name of the network.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of processes.
    pub fn processes(&self) -> usize {
        self.processes as usize
    }

    /// Returns the number of channels.
    pub fn channels_total(&self) -> usize {
        self.channels as usize
    }

    /// Parses a sequence. If `text` is invalid, records an error about `of`, and returns an empty
    /// sequence.
    pub(super) fn sequence(&mut self, of: impl Fn() -> String, text: &str) -> Sequence {
        text.parse().unwrap_or_else(|error| {
            self.errors
                .push(format!("{}: invalid sequence `{text}`: {error}", of()));
            Sequence::default()
        })
    }

    pub(super) fn names(&mut self, of: impl Fn() -> String, names: Names<'_>) -> NameTable {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.into()).collect();
        let mut pattern = |parts: &[(&str, &str)]| -> Vec<(String, Sequence)> {
            let parts = parts.iter();
            parts
                .map(|&(text, numbers)| (text.to_string(), self.sequence(&of, numbers)))
                .collect()
        };
        match names {
            Names::Listed(names) => NameTable::Listed(texts(names)),
            Names::Numbered(text, numbers) => NameTable::Pattern(pattern(&[(text, numbers)])),
            Names::Pattern(parts) => NameTable::Pattern(pattern(parts)),
            Names::Mixed(bases, which, parts) => {
                let parts = pattern(parts);
                NameTable::Mixed(texts(bases), self.sequence(of, which), parts)
            }
        }
    }

    /// Adds a kind of processes, and returns it. Returns [`Kind::FIRST`] if there are too many
    /// kinds, which is an error of the description. So are too many processes, an invalid or empty
    /// sequence of ranks, and a number of names that differs from the number of ranks.
    ///
    /// `name` is the name of the kind, and `names` are those of its members. `ranks` is a
    /// [`Sequence`] of the members' ranks. All kinds together must have each rank from 0 exactly
    /// once. `ports` are the names of the ports. Each member runs `function`. Its argument is
    /// connected to the ports by [`Ports::connect`], in the order of `ports`.
    pub fn kind<P, F, O, How>(
        &mut self,
        name: &str,
        names: Names<'_>,
        ranks: &str,
        ports: &[&str],
        function: F,
    ) -> Kind
    where
        P: Ports,
        F: Fn(P) -> O + Send + Sync + 'static,
        O: Future + 'static,
        O::Output: Outcome<How>,
    {
        let of = || format!("kind {name}");
        let ranks = self.sequence(of, ranks);
        let names = self.names(of, names);
        if ranks.is_empty() {
            self.errors.push(format!("kind {name}: no ranks"));
        }
        if self.kinds.len() >= task::MAX_KINDS as usize {
            self.errors.push("too many kinds".into());
            return Kind(0);
        }
        self.count_members(name, &names, &ranks);
        self.kinds.push(KindTable {
            name: name.to_string(),
            names,
            ranks,
            ports: ports.iter().map(|&port| port.into()).collect(),
            modules: Sequence::default(),
            line: Sequence::default(),
            column: Sequence::default(),
            arguments: Vec::new(),
            spawn: Box::new(move |ends, kind, index| {
                let ports = P::connect(ends);
                future::allocate(kind, index, function(ports))
            }),
        });
        Kind(self.kinds.len() as u32 - 1)
    }

    /// Adds the members of a kind to the number of processes. Records an error if there are too
    /// many, or if the number of names differs from the number of ranks.
    pub(super) fn count_members(&mut self, kind: &str, names: &NameTable, ranks: &Sequence) {
        if let Some(count) = names.len().filter(|&count| count != ranks.len()) {
            let ranks = ranks.len();
            self.errors
                .push(format!("kind {kind}: {count} names for {ranks} ranks"));
        }
        match u32::try_from(ranks.len())
            .ok()
            .and_then(|count| self.processes.checked_add(count))
            .filter(|&n| n < MOST)
        {
            Some(processes) => self.processes = processes,
            None => self
                .errors
                .push(format!("kind {kind}: more than {MOST} processes")),
        }
    }

    /// Sets the positions of the members of a kind in the graph file, as sequences of lines and
    /// columns, from 1. Members beyond the end of `line` have no known position. An invalid
    /// sequence is an error of the description. A kind of another network that has no counterpart
    /// here has no effect.
    pub fn place(&mut self, kind: Kind, line: &str, column: &str) {
        let line = self.sequence(|| "the lines of a kind".into(), line);
        let column = self.sequence(|| "the columns of a kind".into(), column);
        if let Some(table) = self.kinds.get_mut(kind.0 as usize) {
            (table.line, table.column) = (line, column);
        }
    }

    /// Adds a function that each OS process calls after the run, if [`main`](crate::main) runs the
    /// network. It is called also if the run fails.
    pub fn after_run(&mut self, function: fn()) {
        self.after_run.push(function);
    }

    /// Adds a class of channels that carry tokens of type `T`.
    ///
    /// The kinds must have been added before. If the description is inconsistent, the class is not
    /// added, and [`run`](crate::run) reports the errors.
    pub fn channels<T: Send + 'static>(&mut self, channels: Channels<'_>) {
        self.add::<T>(channels, TypedMaker::<T>::empty());
    }

    /// Adds a class of channels that each hold `initial` tokens at the start. `token(c, n)` makes
    /// token `n` of channel `c`, where `c` is the index of the channel in the class. Both count
    /// from 0. `token` is called when the run creates the channel, in the OS process of the writer.
    ///
    /// It is an error of the description if `initial` exceeds the capacity. If the description is
    /// inconsistent otherwise, the class is not added. [`run`](crate::run) reports the errors.
    pub fn channels_filled<T: Send + 'static>(
        &mut self,
        channels: Channels<'_>,
        initial: u32,
        token: impl Fn(usize, usize) -> T + Send + Sync + 'static,
    ) {
        if initial > channels.capacity {
            let capacity = channels.capacity;
            self.errors.push(format!(
                "{}: {initial} initial tokens in channels of capacity {capacity}",
                self.describe(&channels)
            ));
        }
        self.add::<T>(channels, TypedMaker::<T>::filled(initial, Box::new(token)));
    }

    /// Adds a class of flow-controlled channels that carry tokens of type `T`.
    ///
    /// Each consists of three channels: one for tokens, and one for control messages in each
    /// direction. Profiles and traces do not count the control messages. If the description is
    /// inconsistent, the class is not added, and [`run`](crate::run) reports the errors.
    pub fn flow_channels<T: Send + 'static>(&mut self, channels: Channels<'_>) {
        let errors = self.errors.len();
        self.channels::<T>(channels);
        if self.errors.len() > errors {
            return; // the other two classes would report the same errors again
        }
        self.payload(Some(Format::<Control>::new()));
        let forward = Channels {
            capacity: CONTROLS,
            ..channels
        };
        self.channels::<Control>(forward);
        self.channels::<Control>(Channels {
            from: channels.to,
            to: channels.from,
            from_index: channels.to_index,
            to_index: channels.from_index,
            from_slot: channels.to_slot,
            to_slot: channels.from_slot,
            ..forward
        });
    }

    /// Sets the MPI tag of the class of channels that was added last, which
    /// [`connections`](crate::connections) return. Channels do not use it. A negative tag is an
    /// error of the description, and so is a tag before the first class.
    ///
    /// ```
    /// # use graphmap_runtime::{Ends, Input, Output, Ports};
    /// # struct End(Input<u8>, Output<u8>);
    /// # impl Ports for End {
    /// #     fn connect(ends: &mut Ends<'_>) -> Self { End(ends.input(), ends.output()) }
    /// # }
    /// use graphmap_runtime::{Channels, Names, Network, Options, connections, run};
    /// let mut net = Network::new("pair", "pair.dot");
    /// let names = Names::Numbered("stage", "1+1*2");
    /// let stage = net.kind("stage", names, "0+1*2", &["in", "out"], |_: End| async {
    ///     assert_eq!(connections().next().unwrap().tag, Some(5));
    /// });
    /// net.channels::<u8>(Channels::new((stage, 1), (stage, 0), "0", "1"));
    /// net.tag(5);
    /// run(net, &Options::new()).unwrap();
    /// ```
    pub fn tag(&mut self, tag: i32) {
        if tag < 0 {
            self.errors
                .push(format!("invalid tag {tag}: expected 0 to 2^31 - 1"));
        }
        let last = self.classes.iter_mut().rev().find(|class| !class.control);
        match last {
            Some(class) => class.tag = Some(tag),
            None => self.errors.push(format!("tag {tag} without channels")),
        }
    }

    /// Sets how tokens of a type are encoded as bytes. `None` has no effect. Channels between OS
    /// processes need the format of their type: without it, the run fails with
    /// [`RunError::Wiring`]. A profile counts the encoded bytes on channels of that type. For other
    /// types, it counts the number of tokens times the size of the type, without the memory that a
    /// token owns.
    ///
    /// ```
    /// # let mut net = graphmap_runtime::Network::new("net", "net.dot");
    /// net.payload(graphmap_runtime::format_of!(Vec<f64>));
    /// ```
    pub fn payload<T: 'static>(&mut self, format: Option<Format<T>>) {
        if let Some(format) = format {
            self.formats.insert(format);
        }
    }

    /// Checks the description.
    ///
    /// # Errors
    /// Returns [`RunError::Wiring`] with the errors that were collected. If there are none, returns
    /// it for the first rank that is used twice or is too high.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        let mut errors = self.errors.clone();
        if errors.is_empty() {
            let mut seen = vec![false; self.processes as usize];
            let ranks = self
                .kinds
                .iter()
                .flat_map(|kind| kind.ranks.iter().map(move |r| (kind, r)));
            for (kind, rank) in ranks {
                let new = seen
                    .get_mut(rank as usize)
                    .map(|seen| !std::mem::replace(seen, true));
                let problem = match new {
                    Some(true) => continue,
                    Some(false) => "is used twice".to_string(),
                    None => format!("is too high: there are {} processes", self.processes),
                };
                errors.push(format!("kind {}: rank {rank} {problem}", kind.name));
                break;
            }
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(RunError::Wiring(errors))
        }
    }

    fn describe(&self, channels: &Channels<'_>) -> String {
        let port = |(kind, port): (Kind, usize)| match self.kinds.get(kind.0 as usize) {
            Some(table) => {
                let port = table.ports.get(port).map_or("?", String::as_str);
                format!("{}.{port}", table.name)
            }
            None => "?".into(),
        };
        format!("channels {} -> {}", port(channels.from), port(channels.to))
    }

    fn add<T: Send + 'static>(&mut self, channels: Channels<'_>, maker: TypedMaker<T>) {
        let name = self.describe(&channels);
        let errors = self.errors.len();
        let of = || name.clone();
        let from_index = self.sequence(of, channels.from_index);
        let to_index = self.sequence(of, channels.to_index);
        let count = from_index.len();
        let mut attribute = |what: &str, text: &str| {
            let sequence = self.sequence(of, text);
            if !sequence.is_empty() && sequence.len() != count {
                let len = sequence.len();
                self.errors.push(format!(
                    "{name}: {len} numbers in `{what}` for {count} channels"
                ));
            }
            sequence
        };
        let from_slot = attribute("from_slot", channels.from_slot);
        let to_slot = attribute("to_slot", channels.to_slot);
        let line = attribute("line", channels.line);
        let column = attribute("column", channels.column);
        if to_index.len() != count {
            let to = to_index.len();
            self.errors
                .push(format!("{name}: {count} writers and {to} readers"));
        }
        if channels.capacity == 0 || channels.capacity > u32::MAX / 4 {
            self.errors
                .push(format!("{name}: invalid capacity: expected 1 to 2^30 - 1"));
        }
        for ((kind, port), index) in [(channels.from, &from_index), (channels.to, &to_index)] {
            let Some(table) = self.kinds.get(kind.0 as usize) else {
                self.errors
                    .push(format!("{name}: the kind belongs to another network"));
                continue;
            };
            if port >= table.ports.len() {
                self.errors
                    .push(format!("{name}: kind {} has no port {port}", table.name));
            }
            let members = table.ranks.len();
            if let Some(index) = index.iter().find(|&index| index as usize >= members) {
                let kind = &table.name;
                self.errors
                    .push(format!("{name}: kind {kind} has no member {index}"));
            }
        }
        let first = self.channels;
        match self
            .channels
            .checked_add(count as u32)
            .filter(|&n| n < wait_points::MOST)
        {
            Some(channels) => self.channels = channels,
            None => self
                .errors
                .push(format!("{name}: more than 2^31 - 2 channels")),
        }
        if self.errors.len() > errors {
            return;
        }
        self.classes.push(Class {
            from: (channels.from.0.0, channels.from.1 as u32),
            to: (channels.to.0.0, channels.to.1 as u32),
            capacity: channels.capacity,
            from_index,
            to_index,
            from_slot,
            to_slot,
            line,
            column,
            first,
            token: TypeId::of::<T>(),
            token_name: std::any::type_name::<T>(),
            size: size_of::<T>(),
            control: is_control::<T>(),
            tag: None,
            maker: Box::new(maker),
        });
    }
}
