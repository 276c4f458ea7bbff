//! Queries about the processes of a run: names, kinds, ranks, OS processes, modules, and the
//! channels that join them.
//!
//! The answers are computed for each query, from the sequences of the network and from the
//! placement. No table is kept, because a network may have millions of processes.

use super::current;
use super::report::{Directory, EndOf, modules_around, numbers_around};
use super::scheduler::Scheduler;
use super::shared::Shared;
use crate::pin;
use crate::place::Place;
use std::fmt;
use std::sync::Arc;

/// The running process, as [`me`] returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    /// Rank of the process, from 0, in order of first appearance in the graph.
    pub rank: usize,
    /// Name of the process in the graph.
    pub name: String,
    /// Name of its kind.
    pub kind: String,
    /// Index of the process in its kind, from 0.
    pub index: usize,
    /// Number of processes of its kind.
    pub members: usize,
    /// Scheduler of the process, from 0. Several schedulers may share a thread.
    pub scheduler: usize,
    /// Number of processes in the network.
    pub processes: usize,
    /// Number of schedulers in the run.
    pub schedulers: usize,
    /// OS process of the process, from 0.
    pub os_process: usize,
    /// Number of OS processes in the run.
    pub os_processes: usize,
    /// Core to which this thread is pinned. `None`: the thread is not pinned to a single core.
    pub core: Option<u32>,
}

/// Returns the running process.
///
/// # Panics
/// Panics if it is called outside of a process.
pub fn me() -> Me {
    current::with_current(|scheduler| {
        let (kind, index) = scheduler
            .running()
            .expect("me() was called outside a process of a run");
        let directory = scheduler.directory();
        let process = directory.process(kind, index);
        let (kind, members) = directory.kind(kind);
        let (os_process, os_processes) = scheduler.shared().os_process().unwrap_or((0, 1));
        Me {
            rank: process.rank as usize,
            name: process.name,
            kind,
            index: index as usize,
            members,
            scheduler: scheduler.shared().scheduler_of(process.rank),
            processes: directory.processes(),
            schedulers: scheduler.shared().schedulers(),
            os_process,
            os_processes,
            core: pin::core(),
        }
    })
    .expect("me() was called outside a process of a run")
}

/// Returns a future that lets the processes that are ready be polled before this one continues.
///
/// The future is pending once, and wakes the process at the same time. If the order is shuffled
/// ([`Options::shuffle`](crate::Options::shuffle)), this process may be the next one that is
/// polled.
///
/// ```
/// # let mut net = graphmap_runtime::Local::new();
/// net.spawn(async {
///     for _step in 0..3 {
///         // ... a long computation ...
///         graphmap_runtime::yield_now().await;
///     }
/// });
/// # net.run(&graphmap_runtime::Options::new()).unwrap();
/// ```
#[inline]
pub fn yield_now() -> impl Future<Output = ()> {
    let mut yielded = false;
    std::future::poll_fn(move |context| {
        if yielded {
            return std::task::Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
}

/// A process of the network: its identity, and where it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Rank of the process, from 0, in order of first appearance in the graph.
    pub rank: usize,
    /// Name of the process in the graph.
    pub name: String,
    /// Name of its kind.
    pub kind: String,
    /// Index of the process in its kind, from 0.
    pub index: usize,
    /// Scheduler of the process, from 0, numbered through all OS processes.
    pub scheduler: usize,
    /// OS process of the process, from 0.
    pub os_process: usize,
    /// Position of the process in the graph file, if it is known.
    pub place: Option<Place>,
}

/// A module of the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Name of the module in the graph. It is unique within the enclosing module.
    pub name: String,
    /// Name of its kind.
    pub kind: String,
}

/// The full name of a process: the kinds of the modules around it and its own kind, the outermost
/// first, separated by dots. Processes with the same full name are distinguished by an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullName {
    /// The name, such as `app.farm.worker`.
    pub name: String,
    /// Index of the process among those with this full name, from 0. They are in the order of their
    /// indices in the kind.
    pub index: usize,
    /// Number of processes with this full name.
    pub members: usize,
}

/// An OS process of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OsProcess {
    /// Number of the OS process, from 0.
    pub number: usize,
    /// Name of its host, if it is known.
    pub host: Option<String>,
}

/// Direction of a channel, from the point of view of a process that has a port on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The process reads from the channel.
    In,
    /// The process writes to the channel.
    Out,
}

/// A channel that joins the running process to another process, or to itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Direction of the channel: whether the process reads or writes.
    pub direction: Direction,
    /// Port of the running process.
    pub port: String,
    /// Index of the channel among the members of the port's bundle, from 0.
    pub member: usize,
    /// Process at the other end.
    pub peer: Process,
    /// Port of that process.
    pub peer_port: String,
    /// Capacity of the channel in tokens, as the graph states it. It does not include growths.
    pub capacity: usize,
    /// MPI tag of the channel, if the graph states one.
    pub tag: Option<i32>,
    /// Number of modules that contain both processes. It is the level of the innermost communicator
    /// of a module with both (`mpi::of_level`). Level 0 is the world.
    pub level: usize,
    /// Position of the channel in the graph file, if it is known.
    pub place: Option<Place>,
}

/// The network, and where its processes are: the data that the queries need.
#[derive(Clone)]
struct Run {
    directory: Arc<dyn Directory>,
    shared: Arc<Shared>,
}

impl Run {
    /// Returns the run of this thread.
    ///
    /// # Panics
    /// Panics if it is called outside of a run.
    #[track_caller]
    fn current() -> Self {
        with_scheduler(|scheduler| Run {
            directory: Arc::clone(&scheduler.directory),
            shared: Arc::clone(scheduler.shared()),
        })
    }

    fn os_process(&self, rank: u32) -> usize {
        self.shared.os_process_of_rank(rank)
    }

    fn process(&self, kind: u32, index: u32) -> Process {
        let process = self.directory.process(kind, index);
        Process {
            rank: process.rank as usize,
            name: process.name,
            kind: self.directory.kind(kind).0,
            index: index as usize,
            scheduler: self.shared.scheduler_of(process.rank),
            os_process: self.os_process(process.rank),
            place: process.place,
        }
    }

    fn full_name(&self, kind: u32, index: u32) -> FullName {
        let (number, at) = self.directory.full_name_of(kind, index);
        let (name, members) = self.directory.full_name(number).unwrap_or_default();
        FullName {
            name,
            index: at as usize,
            members: members as usize,
        }
    }

    fn of_rank(&self, rank: u32) -> Process {
        let (kind, index) = self.directory.of_rank(rank);
        self.process(kind, index)
    }
}

#[track_caller]
fn with_scheduler<R>(f: impl FnOnce(&Scheduler) -> R) -> R {
    match current::with_current(f) {
        Some(answer) => answer,
        None => panic!("this function was called outside a process of a run"),
    }
}

/// Returns kind and index of the running process.
///
/// # Panics
/// Panics if it is called outside of a process of a run.
#[track_caller]
fn running_process() -> (u32, u32) {
    match with_scheduler(Scheduler::running) {
        Some(who) => who,
        None => panic!("this function was called outside a process of a run"),
    }
}

/// Returns the process of this name, or `None` if no process has it.
///
/// If the names of a kind are a text followed by a number, the time does not depend on the number
/// of processes. Other names are compared one by one.
///
/// ```
/// use graphmap_runtime as rt;
/// # let mut net = rt::Local::new();
/// # net.spawn_named("sink", async {});
/// # net.spawn(async {
/// let sink = rt::process("sink").expect("the network has one");
/// if sink.os_process == rt::me().os_process {
///     // A reference costs nothing there.
/// }
/// assert_eq!(sink.rank, 0);
/// assert_eq!(rt::process("nobody"), None);
/// # });
/// # net.run(&rt::Options::new()).unwrap();
/// ```
///
/// # Panics
/// Panics if it is called outside of a run.
#[track_caller]
#[inline]
pub fn process(name: &str) -> Option<Process> {
    let run = Run::current();
    let (kind, index) = run.directory.find(name)?;
    Some(run.process(kind, index))
}

/// Returns the process of this rank, or `None` if the network has fewer processes.
///
/// # Panics
/// Panics if it is called outside of a run.
#[track_caller]
#[inline]
pub fn process_of_rank(rank: usize) -> Option<Process> {
    let run = Run::current();
    let rank = u32::try_from(rank).ok()?;
    ((rank as usize) < run.directory.processes()).then(|| run.of_rank(rank))
}

/// Returns an iterator over all processes, by rank. Each item is computed when it is requested.
///
/// # Panics
/// Panics if it is called outside of a run.
#[track_caller]
#[inline]
pub fn processes() -> Processes {
    let run = Run::current();
    let end = run.directory.processes() as u32;
    Processes {
        run,
        which: Which::All,
        next: 0,
        end,
    }
}

/// Returns an iterator over the processes of a kind, by index. It is empty if the kind does not
/// exist. `nth` takes the same time for every index.
///
/// ```
/// use graphmap_runtime as rt;
/// # let mut net = rt::Local::new();
/// # for _ in 0..5 { net.spawn(async {
/// let next = (rt::me().index + 1) % rt::me().members;
/// let neighbour = rt::of_kind(&rt::me().kind).nth(next).unwrap();
/// assert_eq!(neighbour.index, next);
/// # }); }
/// # net.run(&rt::Options::new()).unwrap();
/// ```
///
/// # Panics
/// Panics if it is called outside of a run.
#[track_caller]
#[inline]
pub fn of_kind(kind: &str) -> Processes {
    let run = Run::current();
    let mut kinds = 0..run.directory.kinds() as u32;
    let (which, end) = match kinds.find(|&at| run.directory.kind(at).0 == kind) {
        Some(at) => (Which::Kind(at), run.directory.kind(at).1 as u32),
        None => (Which::All, 0),
    };
    Processes {
        run,
        which,
        next: 0,
        end,
    }
}

/// Returns an iterator over the processes with a [full name](FullName), by index. It is empty if no
/// process has it. `nth` and `count` take the same time for every index.
///
/// The first look-up by full name in an OS process takes time linear in the size of the network.
///
/// ```
/// # use graphmap_runtime::{Ends, Names, Network, Options, Ports, run};
/// # struct None;
/// # impl Ports for None { fn connect(_: &mut Ends<'_>) -> Self { None } }
/// use graphmap_runtime as rt;
/// // Two farms of three workers each.
/// let mut net = Network::new("farms", "farms.dot");
/// let worker = net.kind("worker", Names::Numbered("w", "1+1*6"), "0+1*6", &[], |_: None| async {
///     let own = rt::full_name();
///     assert_eq!((&*own.name, own.index, own.members), ("app.farm.worker", rt::me().rank, 6));
///     assert_eq!(rt::of_full_name("app.farm.worker").nth(4).unwrap().name, "w5");
///     assert_eq!(rt::of_full_name("app.farm").count(), 0);
/// });
/// net.modules("app", Names::Listed(&["app"]), "0");
/// net.modules("farm", Names::Numbered("farm", "1 2"), "1 1");
/// net.inside(worker, "2+0*3+1*2");
/// run(net, &Options::new()).unwrap();
/// ```
///
/// # Panics
/// Panics if it is called outside of a run.
#[track_caller]
#[inline]
pub fn of_full_name(name: &str) -> Processes {
    let run = Run::current();
    let found = run.directory.find_full_name(name);
    let (which, end) =
        match found.and_then(|number| Some((number, run.directory.full_name(number)?))) {
            Some((number, (_, members))) => (Which::FullName(number), members),
            None => (Which::All, 0),
        };
    Processes {
        run,
        which,
        next: 0,
        end,
    }
}

/// Returns the full name and index of the running process.
///
/// # Panics
/// Panics if it is called outside of a process of a run.
#[track_caller]
#[inline]
pub fn full_name() -> FullName {
    let (kind, index) = running_process();
    Run::current().full_name(kind, index)
}

/// Returns the full name and index of the process of this rank, or `None` if the network has fewer
/// processes.
///
/// # Panics
/// Panics if it is called outside of a run.
#[track_caller]
#[inline]
pub fn full_name_of_rank(rank: usize) -> Option<FullName> {
    let run = Run::current();
    let rank = u32::try_from(rank).ok()?;
    if rank as usize >= run.directory.processes() {
        return None;
    }
    let (kind, index) = run.directory.of_rank(rank);
    Some(run.full_name(kind, index))
}

/// Returns an iterator over the processes in the OS process with a number, by rank. It is empty if
/// that OS process has no processes or does not exist.
///
/// # Panics
/// Panics if it is called outside of a run.
#[track_caller]
#[inline]
pub fn in_os_process(os_process: usize) -> Processes {
    let mut processes = processes();
    processes.which = Which::In(os_process);
    processes
}

/// Returns an iterator over the processes in this OS process, by rank. In a process, it includes
/// the process itself.
///
/// ```
/// use graphmap_runtime as rt;
/// # let mut net = rt::Local::new();
/// # for _ in 0..3 { net.spawn(async {
/// let workers = rt::collocated().filter(|process| process.kind == rt::me().kind);
/// assert_eq!(workers.count(), rt::me().members);
/// # }); }
/// # net.run(&rt::Options::new()).unwrap();
/// ```
///
/// # Panics
/// Panics if it is called outside of a run.
#[track_caller]
#[inline]
pub fn collocated() -> Processes {
    let here = Run::current().shared.os_process();
    in_os_process(here.map_or(0, |(me, _)| me))
}

/// Returns the modules that contain the running process, the outermost first. The result is empty
/// if no module contains it, and always in a `Local` network. `mpi::of_level` returns the
/// communicator of each.
///
/// # Panics
/// Panics if it is called outside of a process of a run.
#[track_caller]
#[inline]
pub fn modules() -> Vec<Module> {
    let (kind, index) = running_process();
    let directory = Run::current().directory;
    let inside_out = modules_around(&*directory, directory.module_of(kind, index));
    let modules = inside_out.into_iter().rev().map(|(_, module)| Module {
        name: module.name,
        kind: module.kind,
    });
    modules.collect()
}

/// Returns the OS processes of the run by number, with their hosts. If the run has only one OS
/// process, returns that one.
///
/// # Panics
/// Panics if it is called outside of a run.
#[track_caller]
#[inline]
pub fn os_processes() -> Vec<OsProcess> {
    let shared = Run::current().shared;
    let (_, count) = shared.os_process().unwrap_or((0, 1));
    let all = (0..count).map(|number| OsProcess {
        number,
        host: shared.host_of(number),
    });
    all.collect()
}

/// Returns an iterator over the channels of the running process, by port, and by member within a
/// bundle. A port that is joined to the environment has no channel. In a `Local` network the
/// iterator is empty. Each item is computed when it is requested.
///
/// ```
/// use graphmap_runtime as rt;
/// # struct End(rt::Input<u8>, rt::Output<u8>);
/// # impl rt::Ports for End {
/// #     fn connect(ends: &mut rt::Ends<'_>) -> Self { End(ends.input(), ends.output()) }
/// # }
/// async fn stage(p: End) {
/// #   let _p = p;
///     for connection in rt::connections() {
///         if connection.direction == rt::Direction::Out {
///             assert_eq!((&*connection.port, &*connection.peer.name), ("out", "stage2"));
///         }
///     }
/// }
/// let mut net = rt::Network::new("pair", "pair.dot");
/// let stages = net.kind("stage", rt::Names::Numbered("stage", "1+1*2"), "0+1*2", &["in", "out"], stage);
/// net.channels::<u8>(rt::Channels::new((stages, 1), (stages, 0), "0", "1"));
/// rt::run(net, &rt::Options::new()).unwrap();
/// ```
///
/// # Panics
/// Panics if it is called outside of a process of a run.
#[track_caller]
#[inline]
pub fn connections() -> Connections {
    let (kind, index) = running_process();
    let run = Run::current();
    let ends = run.directory.ends_of(kind, index).into_iter();
    let around = numbers_around(&*run.directory, kind, index);
    Connections { run, ends, around }
}

enum Which {
    All,
    Kind(u32),
    FullName(u32),
    In(usize),
}

/// Iterator over processes. It computes each item when it is requested.
pub struct Processes {
    run: Run,
    which: Which,
    /// Next rank, or next index in the kind or among the processes with the full name.
    next: u32,
    end: u32,
}

impl Processes {
    fn at(&self, at: u32) -> Option<Process> {
        Some(match self.which {
            Which::Kind(kind) => self.run.process(kind, at),
            Which::FullName(number) => {
                let (kind, index) = self.run.directory.with_full_name(number, at)?;
                self.run.process(kind, index)
            }
            Which::All | Which::In(_) => self.run.of_rank(at),
        })
    }
}

impl Iterator for Processes {
    type Item = Process;

    fn next(&mut self) -> Option<Process> {
        while self.next < self.end {
            let at = self.next;
            self.next += 1;
            if let Which::In(os_process) = self.which
                && self.run.os_process(at) != os_process
            {
                continue;
            }
            return self.at(at);
        }
        None
    }

    fn nth(&mut self, n: usize) -> Option<Process> {
        if let Which::In(os_process) = self.which {
            let mut ranks = self.next..self.end;
            let is_there = |rank: &u32| self.run.os_process(*rank) == os_process;
            let at = ranks.by_ref().filter(is_there).nth(n);
            self.next = ranks.start;
            return at.and_then(|at| self.at(at));
        }
        let skipped = u32::try_from(n).unwrap_or(u32::MAX);
        self.next = self.next.saturating_add(skipped).min(self.end);
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.end - self.next) as usize;
        match self.which {
            Which::In(_) => (0, Some(left)),
            Which::All | Which::Kind(_) | Which::FullName(_) => (left, Some(left)),
        }
    }

    fn count(self) -> usize {
        match self.which {
            Which::In(os_process) => {
                let ranks = self.next..self.end;
                ranks
                    .filter(|&rank| self.run.os_process(rank) == os_process)
                    .count()
            }
            Which::All | Which::Kind(_) | Which::FullName(_) => (self.end - self.next) as usize,
        }
    }
}

impl fmt::Debug for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Processes").finish_non_exhaustive()
    }
}

/// Iterator over the channels of a process. It computes each item when it is requested.
pub struct Connections {
    run: Run,
    ends: std::vec::IntoIter<EndOf>,
    /// Numbers of the modules around the process, the outermost first.
    around: Vec<u32>,
}

impl Connections {
    fn connection(&self, end: EndOf) -> Option<Connection> {
        let channel = self.run.directory.channel(end.number);
        let (direction, own, peer) = match end.writes {
            true => (Direction::Out, channel.from?, channel.to?),
            false => (Direction::In, channel.to?, channel.from?),
        };
        let directory = &*self.run.directory;
        let (kind, index) = directory.of_rank(peer.rank);
        let peer_around = numbers_around(directory, kind, index);
        let both = self.around.iter().zip(&peer_around);
        Some(Connection {
            direction,
            port: own.port,
            member: end.member as usize,
            peer: self.run.process(kind, index),
            peer_port: peer.port,
            capacity: directory.capacity(end.number) as usize,
            tag: directory.tag(end.number),
            level: both.take_while(|(own, peer)| own == peer).count(),
            place: channel.place,
        })
    }
}

impl Iterator for Connections {
    type Item = Connection;

    fn next(&mut self) -> Option<Connection> {
        let end = self.ends.next()?;
        self.connection(end)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ends.size_hint()
    }
}

impl ExactSizeIterator for Connections {}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").finish_non_exhaustive()
    }
}
