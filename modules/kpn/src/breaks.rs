//! Networks with one field changed at random, for tests.
//!
//! The tests of this crate use them, and with the feature `breaks` also the tests of crates that
//! consume [`Verified`] networks.

use crate::arena::{Arena, Id};
use crate::arguments::{Parameter, ParameterType, Value};
use crate::declared::{
    BundleKind, Constraint, ConstraintDecl, ConstraintTarget, Direction, Flow, ModuleId, NodeId,
};
use crate::diagnostic::Diagnostics;
use crate::infer::infer;
use crate::json::{self, Positions};
use crate::names::{Names, Symbol};
use crate::network::{
    Bundle, BundleId, Channel, ChannelId, Closed, Join, Kind, KindPort, Module, Network,
    NetworkAttributes, NetworkConstraint, Port, PortId, Process, ProcessId, Terms, Verified,
};
use crate::source::{SourceMap, Span};
use crate::verify::verify;
use crate::{expand, resolve};

/// A network with everything that a network can contain: bundles of all kinds, also at both ends of
/// one channel, ports joined to the environment, nested modules, initial tokens, constraints of all
/// kinds.
pub const ALL: &str = r#"{"graphmap": 1, "name": "all", "skeleton": "explicit",
    "modules": [{"name": "cluster_a"}, {"name": "cluster_b", "kind": "inner", "parent": 0}],
    "processes": [
        {"name": "source", "load": 2.5, "mem": 1024},
        {"name": "w1", "kind": "w", "module": 0}, {"name": "w2", "kind": "w", "module": 1},
        {"name": "sink", "module": 1}, {"name": "other"}],
    "channels": [
        {"from": ["source", "deal"], "to": "w1", "bundle": "scatter", "type": "Task"},
        {"from": ["source", "deal"], "to": "w2", "bundle": "scatter"},
        {"from": "w1", "to": ["sink", "all"], "bundle": "gather", "capacity": 4, "initial": 2},
        {"from": "w2", "to": ["sink", "all"], "traffic": 7.5, "tag": 3},
        {"from": ["w1", "log"], "to": ["other", "logs"], "bundle": "select", "bundle_name": "logs"},
        {"from": ["w2", "log"], "to": ["other", "logs"]},
        {"from": ["source", "tell"], "to": ["sink", "told"], "bundle": "broadcast"},
        {"from": ["source", "tell"], "to": ["other", "told"]},
        {"from": ["other", "x"], "to": ["sink", "sum"], "bundle": "reduce"},
        {"from": ["other", "x"], "to": ["source", "sum"], "bundle": "share"},
        {"from": ["source", "y"], "to": ["sink", "sum"]},
        {"from": ["sink", "again"], "to": ["sink", "again_in"], "initial": 1},
        {"from": null, "to": ["other", "never"], "type": "Word"},
        {"from": ["w1", "end"], "to": null}, {"from": ["w2", "end"], "to": null}],
    "constraints": [
        {"processes": ["w1", "sink"], "host": "h1"}, {"processes": ["w2"], "osprocess": 1},
        {"processes": ["w1", "w2"], "colocate": "g"}, {"processes": ["source"], "separate": "s"},
        {"processes": ["w1"], "hold": [1, 4]}, {"module": 1, "whole": true},
        {"module": 0, "prefer": 2.5}]}"#;

/// A network in which every channel has a bundle at both ends, and every bundle must be named.
pub const CROSSED: &str = r#"{"graphmap": 1,
    "processes": [{"name": "a1"}, {"name": "a2"}, {"name": "b1"}, {"name": "b2"}],
    "channels": [
        {"from": "a1", "to": "b1", "bundle": "scatter"}, {"from": "a1", "to": "b2", "bundle": "gather"},
        {"from": "a2", "to": "b1", "bundle": "gather"}, {"from": "a2", "to": "b2", "bundle": "scatter"}]}"#;

/// Reads, expands and verifies a network in JSON. Warnings are dropped.
///
/// # Errors
/// Returns the diagnostics of the first stage that fails.
///
/// # Panics
/// Panics if the text has 4 GiB or more.
pub fn read(text: &str) -> Result<Verified, Diagnostics> {
    let mut sources = SourceMap::new();
    let source = sources.add("net.json", text).expect("a short text");
    let declared = json::read(source.text(), &source, &sources, Positions::Here)?;
    let (network, _) = resolve::resolve(expand::expand(declared)?.0)?;
    Ok(verify(infer(network)?)?.0)
}

/// A generator of reproducible pseudorandom numbers (xorshift, Marsaglia 2003).
pub struct Dice(u64);

impl Dice {
    /// Creates a generator. The seed selects the sequence and must not be 0, because all numbers
    /// would then be 0.
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Returns the next pseudorandom number below `n`, or 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n.max(1)
    }

    /// Returns a clone of an element of a list, chosen at random.
    ///
    /// # Panics
    /// Panics if the list is empty.
    pub fn one_of<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    fn id<I: Id>(&mut self) -> I {
        match self.below(10) {
            0 => I::from_index(u32::MAX as usize - 1),
            _ => I::from_index(self.below(24)),
        }
    }

    fn maybe_id<I: Id>(&mut self) -> Option<I> {
        (self.below(3) > 0).then(|| self.id())
    }

    fn number(&mut self, number: &mut f64) {
        *number = self.one_of(&[f64::NAN, f64::INFINITY, -1.0, -0.0, 0.0, 1e300, 3.0]);
    }

    fn whole(&mut self) -> u32 {
        self.one_of(&[0, 1, 2, 5, 1000, u32::MAX])
    }

    fn span(&mut self, span: &mut Span) {
        let (start, end) = (self.whole(), self.whole());
        *span = self.one_of(&[Span::NONE, Span { start, end }, Span { start: 3, end: 4 }]);
    }

    fn direction(&mut self) -> Direction {
        self.one_of(&[Direction::Input, Direction::Output])
    }

    /// Changes a list at random: repeats an element at the end, removes one or all elements, or
    /// swaps two. The swap may have no effect. An empty list is not changed.
    pub fn rows<T: Clone>(&mut self, rows: &mut Vec<T>) {
        let (i, j) = (self.below(rows.len()), self.below(rows.len()));
        match self.below(5) {
            _ if rows.is_empty() => {}
            0 => rows.push(rows[i].clone()),
            1 => drop(rows.pop()),
            2 => rows.swap(i, j),
            3 => drop(rows.remove(i)),
            _ => rows.clear(),
        }
    }

    /// Changes one element of an arena at random by `change`, and returns the result of `change`.
    /// Otherwise, and if the arena is empty, changes the list of elements as [`Dice::rows`] does,
    /// and returns `rows`.
    fn arena<I: Id, T: Clone>(
        &mut self,
        arena: &mut Arena<I, T>,
        change: impl FnOnce(&mut Dice, &mut T) -> &'static str,
    ) -> &'static str {
        let n = arena.len();
        if n > 0 && self.below(4) > 0 {
            let i = self.below(n);
            return change(self, &mut arena[I::from_index(i)]);
        }
        let mut rows: Vec<T> = arena.values().cloned().collect();
        self.rows(&mut rows);
        *arena = rows.into_iter().collect();
        "rows"
    }
}

/// Changes one field of a network at random, and returns the names of the type and the field.
///
/// The name of the field is `rows` if the list of elements was changed. The new value may equal the
/// old one. The result may violate integrity.
///
/// The patterns name all fields, so that the compiler rejects a missing new field.
pub fn break_it(network: &mut Network, dice: &mut Dice) -> (&'static str, &'static str) {
    let Network {
        name,
        sources,
        names,
        kinds,
        modules,
        processes,
        ports,
        closed,
        channels,
        terms,
        bundles,
        members,
        constraints,
        // Names in boxes need not exist until the network is mapped.
        boxes: _,
        environment: _,
        glue: _,
        parameters,
        arguments,
        skeleton,
        types,
        attributes,
    } = network;
    match dice.below(18) {
        0 => {
            *name = dice.one_of(&["", "a\n\"b"]).to_owned();
            ("network", "name")
        }
        1 => {
            *sources = SourceMap::new();
            ("network", "sources")
        }
        2 => {
            let few = dice.below(2) == 0;
            *names = Names::new();
            for i in 0..if few { 3 } else { 200 } {
                names.intern(&dice.one_of(&["NULL", "", "x"]).repeat(i % 3));
                names.intern(&format!("name{i}"));
            }
            ("network", "names")
        }
        3 => ("kind", dice.arena(kinds, break_kind)),
        4 => ("module", dice.arena(modules, break_module)),
        5 => ("process", dice.arena(processes, break_process)),
        6 => ("port", dice.arena(ports, break_port)),
        7 => ("channel", dice.arena(channels, break_channel)),
        8 => ("bundle", dice.arena(bundles, break_bundle)),
        9 => {
            dice.rows(members);
            ("network", "members")
        }
        10 => {
            let i = dice.below(constraints.len());
            match constraints.get_mut(i) {
                Some(constraint) if dice.below(4) > 0 => {
                    ("constraint", break_constraint(dice, constraint))
                }
                _ => {
                    dice.rows(constraints);
                    ("constraint", "rows")
                }
            }
        }
        11 => ("closed", dice.arena(closed, break_closed)),
        12 => ("terms", dice.arena(terms, break_terms)),
        13 => {
            types.insert(dice.id(), Span { start: 7, end: 3 });
            types.values_mut().for_each(|span| dice.span(span));
            ("network", "types")
        }
        14 => {
            let list = dice.maybe_id();
            let NetworkAttributes {
                lists,
                graph,
                modules,
                processes,
                channels,
                closed,
            } = attributes;
            match dice.below(6) {
                0 => drop(lists.add(names, vec![(dice.id(), dice.id())])),
                1 => *graph = list,
                2 => modules.set(Id::from_index(dice.below(24)), list),
                3 => processes.set(Id::from_index(dice.below(24)), list),
                4 => channels.set(Id::from_index(dice.below(24)), list),
                _ => closed.set(Id::from_index(dice.below(24)), list),
            }
            ("network", "attributes")
        }
        16 => {
            let parameter = Parameter {
                name: "seed".to_owned(),
                ty: ParameterType::Bool,
            };
            parameters.insert(dice.id(), [parameter].into());
            ("network", "parameters")
        }
        17 => {
            let values = [Value::Bool(true), Value::Float(f64::NAN)];
            let value = dice.one_of(&[values[0].clone(), values[1].clone()]);
            arguments.insert(dice.id(), vec![value]);
            ("network", "arguments")
        }
        _ => {
            *skeleton = dice.one_of(&[None, Some((String::new(), Span { start: 9, end: 2 }))]);
            ("network", "skeleton")
        }
    }
}

fn break_kind(dice: &mut Dice, kind: &mut Kind) -> &'static str {
    let Kind {
        name,
        members,
        ports,
        span,
    } = kind;
    match dice.below(4) {
        0 => {
            *name = dice.id();
            "name"
        }
        1 => {
            match members.first_mut() {
                Some(first) if dice.below(2) == 0 => *first = dice.id(),
                _ => dice.rows(members),
            }
            "members"
        }
        2 => {
            let i = dice.below(ports.len());
            match ports.get_mut(i) {
                Some(port) if dice.below(2) == 0 => break_kind_port(dice, port),
                _ => dice.rows(ports),
            }
            "ports"
        }
        _ => {
            dice.span(span);
            "span"
        }
    }
}

fn break_kind_port(dice: &mut Dice, port: &mut KindPort) {
    let KindPort {
        name,
        direction,
        ty,
        bundle,
        flow,
        span,
    } = port;
    *name = dice.id();
    *direction = dice.direction();
    *ty = dice.maybe_id();
    *bundle = Some(dice.one_of(&BundleKind::ALL));
    *flow = Some(dice.one_of(&Flow::ALL));
    dice.span(span);
}

fn break_module(dice: &mut Dice, module: &mut Module) -> &'static str {
    let Module {
        name,
        kind,
        parent,
        span,
    } = module;
    match dice.below(4) {
        0 => {
            *name = dice.id();
            "name"
        }
        1 => {
            *kind = dice.id();
            "kind"
        }
        2 => {
            *parent = dice.maybe_id();
            "parent"
        }
        _ => {
            dice.span(span);
            "span"
        }
    }
}

fn break_process(dice: &mut Dice, process: &mut Process) -> &'static str {
    let Process {
        name,
        kind,
        module,
        load,
        mem,
        span,
        first_port,
    } = process;
    match dice.below(7) {
        0 => {
            *name = dice.id();
            "name"
        }
        1 => {
            *kind = dice.id();
            "kind"
        }
        2 => {
            *module = dice.maybe_id();
            "module"
        }
        3 => {
            dice.number(load);
            "load"
        }
        4 => {
            dice.number(mem);
            "mem"
        }
        5 => {
            dice.span(span);
            "span"
        }
        _ => {
            *first_port = dice.whole();
            "first_port"
        }
    }
}

fn break_port(dice: &mut Dice, port: &mut Port) -> &'static str {
    let Port {
        process,
        name,
        direction,
        join,
    } = port;
    match dice.below(4) {
        0 => {
            *process = dice.id::<ProcessId>();
            "process"
        }
        1 => {
            *name = dice.id::<Symbol>();
            "name"
        }
        2 => {
            *direction = dice.direction();
            "direction"
        }
        _ => {
            let (channel, bundle) = (dice.id::<ChannelId>(), dice.id::<BundleId>());
            let closed = dice.id();
            *join = dice.one_of(&[
                Join::Channel(channel),
                Join::Bundle(bundle),
                Join::Environment(closed),
            ]);
            "join"
        }
    }
}

fn break_closed(dice: &mut Dice, closed: &mut Closed) -> &'static str {
    let Closed { ty, bundle, span } = closed;
    match dice.below(3) {
        0 => {
            *ty = dice.maybe_id();
            "ty"
        }
        1 => {
            *bundle = Some(dice.one_of(&BundleKind::ALL));
            "bundle"
        }
        _ => {
            dice.span(span);
            "span"
        }
    }
}

fn break_terms(dice: &mut Dice, terms: &mut Terms) -> &'static str {
    let Terms {
        capacity,
        initial,
        tag,
        flow,
    } = terms;
    match dice.below(4) {
        0 => {
            *capacity = dice.whole();
            "capacity"
        }
        1 => {
            *initial = dice.whole();
            "initial"
        }
        2 => {
            *flow = dice.one_of(&[None, Some(Flow::Credits), Some(Flow::RoundRobin)]);
            "flow"
        }
        _ => {
            *tag = dice.one_of(&[None, Some(-1), Some(0), Some(i32::MIN)]);
            "tag"
        }
    }
}

fn break_channel(dice: &mut Dice, channel: &mut Channel) -> &'static str {
    let Channel {
        from,
        to,
        ty,
        terms,
        traffic,
        span,
    } = channel;
    match dice.below(7) {
        0 => {
            *from = dice.id::<PortId>();
            "from"
        }
        1 => {
            *to = dice.id::<PortId>();
            "to"
        }
        2 => {
            std::mem::swap(from, to);
            "from and to"
        }
        3 => {
            *ty = dice.maybe_id();
            "ty"
        }
        4 => {
            *terms = dice.id();
            "terms"
        }
        5 => {
            dice.number(traffic);
            "traffic"
        }
        _ => {
            dice.span(span);
            "span"
        }
    }
}

fn break_bundle(dice: &mut Dice, bundle: &mut Bundle) -> &'static str {
    let Bundle {
        kind,
        port,
        name,
        span,
        members,
    } = bundle;
    match dice.below(5) {
        0 => {
            *kind = dice.one_of(&BundleKind::ALL);
            "kind"
        }
        1 => {
            *port = dice.id::<PortId>();
            "port"
        }
        2 => {
            *name = dice.maybe_id();
            "name"
        }
        3 => {
            *members = dice.whole()..dice.whole();
            "members"
        }
        _ => {
            dice.span(span);
            "span"
        }
    }
}

fn break_constraint(dice: &mut Dice, constraint: &mut NetworkConstraint) -> &'static str {
    let NetworkConstraint {
        declared,
        processes,
    } = constraint;
    let ConstraintDecl {
        target,
        constraint,
        span,
    } = declared;
    match dice.below(4) {
        0 => {
            let (node, module) = (dice.id::<NodeId>(), dice.id::<ModuleId>());
            *target = dice.one_of(&[
                ConstraintTarget::Node(node),
                ConstraintTarget::Module(module),
            ]);
            "target"
        }
        1 => {
            let mut number = 0.0;
            dice.number(&mut number);
            let (least, most) = (dice.whole(), dice.whole());
            *constraint = dice.one_of(&[
                Constraint::Host(String::new()),
                Constraint::OsProcess(most),
                Constraint::Colocate("c".into()),
                Constraint::Separate("s".into()),
                Constraint::Program(String::new()),
                Constraint::Hold { least, most },
                Constraint::Whole,
                Constraint::Prefer(number),
            ]);
            "constraint"
        }
        2 => {
            match processes.first_mut() {
                Some(first) if dice.below(2) == 0 => *first = dice.id(),
                _ => dice.rows(processes),
            }
            "processes"
        }
        _ => {
            dice.span(span);
            "span"
        }
    }
}
