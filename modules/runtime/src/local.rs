//! Networks that a program builds step by step, on one scheduler.

use std::fmt;
use std::panic::{catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::kpn::end::End;
use crate::kpn::flow::{CONTROLS, FlowInput, FlowOutput};
use crate::kpn::ports::{Input, Output};
use crate::run;
use crate::stats::Report;
use graphmap_executor::error::RunError;
use graphmap_executor::exec::future;
use graphmap_executor::exec::outcome::Outcome;
use graphmap_executor::exec::report::{
    ChannelInfo, ClassInfo, Directory, EndOf, ModuleInfo, ProcessInfo,
};
use graphmap_executor::exec::scheduler::MOST;
use graphmap_executor::exec::task::{self, TaskHeader};
use graphmap_executor::exec::user_code;
use graphmap_executor::exec::wait_points::Registry;
use graphmap_executor::options::Options;

/// A network without a table. Channels and processes are created one by one, and all processes run
/// on the scheduler of the thread that calls [`Local::run`]. For tests, measurements and small
/// programs.
///
/// Tokens need not be `Send`, and may be ports. Therefore the owner of an end is known only after
/// it has waited there. If a process waits for an end with an unknown owner, full channels grow,
/// because the owner may be waiting for space in them. [`Options::memory`] limits the growth.
///
/// ```
/// use graphmap_runtime::{Local, Options};
///
/// let mut net = Local::new();
/// let (mut tx, mut rx) = net.channel::<u64>(1);
/// net.spawn(async move {
///     for n in 0..10 {
///         tx.write(n).await?;
///     }
///     Ok::<(), graphmap_runtime::Stopped>(())
/// });
/// net.spawn(async move {
///     let mut sum = 0;
///     while let Some(n) = rx.read().await {
///         sum += n;
///     }
///     assert_eq!(sum, 45);
/// });
/// net.run(&Options::new()).unwrap();
/// ```
pub struct Local {
    tasks: Vec<NonNull<TaskHeader>>,
    names: Names,
    registry: Pin<Box<Registry>>,
}

impl Default for Local {
    fn default() -> Self {
        Local {
            tasks: Vec::new(),
            names: Names::default(),
            registry: Registry::new(),
        }
    }
}

/// Name of the only kind.
const KIND: &str = "process";

/// The given names of processes, by rank, and the sizes of tokens.
#[derive(Default, Clone)]
struct Names {
    given: Vec<(u32, String)>,
    /// Sizes of tokens: the number of the first channel that has a size, and the size in bytes.
    sizes: Vec<(u32, usize)>,
    processes: u32,
    channels: u32,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("processes", &self.tasks.len())
            .finish_non_exhaustive()
    }
}

impl Local {
    /// Creates an empty network.
    pub fn new() -> Self {
        Local::default()
    }

    /// Creates a channel and returns its two ends. A capacity of 0 is changed to 1, and one above
    /// 2^30 - 1 to 2^30 - 1.
    ///
    /// # Panics
    /// Panics if there are already 2^31 - 1 channels.
    pub fn channel<T: 'static>(&mut self, capacity: u32) -> (Output<T>, Input<T>) {
        let number = self.registry.next();
        self.names.channels = number + 1;
        let sizes = &mut self.names.sizes;
        if sizes.last().is_none_or(|last| last.1 != size_of::<T>()) {
            sizes.push((number, size_of::<T>()));
        }
        let (writer, reader) = End::here(&self.registry, number, capacity.clamp(1, u32::MAX / 4));
        (Output::new(writer), Input::new(reader))
    }

    /// Creates a flow-controlled channel and returns its two ends. A capacity of 0 is changed to 1,
    /// and one above 2^30 - 1 to 2^30 - 1.
    ///
    /// A [`FlowShare`](crate::FlowShare) is created from several writing ends, and a
    /// [`FlowSelect`](crate::FlowSelect) from several reading ends. A channel cannot belong to
    /// both.
    ///
    /// # Panics
    /// Panics if there are already 2^31 - 3 channels or more, because this creates three channels.
    pub fn flow_channel<T: 'static>(&mut self, capacity: u32) -> (FlowOutput<T>, FlowInput<T>) {
        let (output, input) = self.channel(capacity);
        let (to_reader, from_writer) = self.channel(CONTROLS);
        let (to_writer, from_reader) = self.channel(CONTROLS);
        (
            FlowOutput::new(output, to_reader, from_reader),
            FlowInput::new(input, to_writer, from_writer),
        )
    }

    /// Adds a process and returns its rank. Its name is `process` and the rank.
    ///
    /// # Panics
    /// Panics if there are already 2^28 - 3 processes.
    pub fn spawn<F, How>(&mut self, process: F) -> usize
    where
        F: Future + 'static,
        F::Output: Outcome<How>,
    {
        assert!(
            self.names.processes < MOST,
            "a network has at most {MOST} processes"
        );
        let rank = self.names.processes;
        self.names.processes += 1;
        self.tasks.push(future::allocate(0, rank, process));
        rank as usize
    }

    /// Adds a process with a name and returns its rank.
    ///
    /// # Panics
    /// Panics if there are already 2^28 - 3 processes.
    pub fn spawn_named<F, How>(&mut self, name: &str, process: F) -> usize
    where
        F: Future + 'static,
        F::Output: Outcome<How>,
    {
        let rank = self.spawn(process);
        self.names.given.push((rank as u32, name.to_string()));
        rank
    }

    /// Runs the processes on the calling thread until all have ended, and returns the report of the
    /// run. Blocks the calling thread until then.
    ///
    /// Options for several schedulers or OS processes have no effect. If the run fails, all
    /// processes are dropped.
    ///
    /// # Errors
    /// Returns a [`RunError`] if a process fails, the network is blocked, channels exceed the
    /// memory limit, there are more processes than the thread can run, or the trace cannot be
    /// written.
    pub fn run(mut self, options: &Options) -> Result<Report, RunError> {
        let directory: Arc<dyn Directory> = Arc::new(std::mem::take(&mut self.names));
        let registry = std::mem::replace(&mut self.registry, Registry::new());
        run::local(
            &directory,
            std::mem::take(&mut self.tasks),
            registry,
            options,
        )
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let mut panicked = None;
        for &header in &self.tasks {
            // SAFETY: the task has not been run. It is discarded a second time only if the first
            // call panicked, and then the task has not ended.
            let discard = || unsafe { task::discard(header) };
            if let Err(payload) = catch_unwind(discard) {
                // Its destructor panicked. The second call frees the memory, and the loop continues
                // with the other tasks.
                discard();
                match &panicked {
                    None => panicked = Some(payload),
                    // Dropping the payload is user code and may panic.
                    Some(_) => user_code::discard(payload),
                }
            }
        }
        match panicked {
            Some(payload) if !std::thread::panicking() => resume_unwind(payload),
            Some(payload) => user_code::discard(payload),
            None => {}
        }
    }
}

impl Directory for Names {
    fn processes(&self) -> usize {
        self.processes as usize
    }

    fn channels(&self) -> u32 {
        self.channels
    }

    fn kinds(&self) -> usize {
        1
    }

    fn kind(&self, _kind: u32) -> (String, usize) {
        (KIND.into(), self.processes as usize)
    }

    fn process(&self, _kind: u32, index: u32) -> ProcessInfo {
        let given = self.given.binary_search_by_key(&index, |given| given.0);
        let name = match given {
            Ok(at) => self.given[at].1.clone(),
            Err(_) => format!("process {index}"),
        };
        ProcessInfo {
            rank: index,
            name,
            place: None,
        }
    }

    fn rank(&self, _kind: u32, index: u32) -> u32 {
        index
    }

    fn of_rank(&self, rank: u32) -> (u32, u32) {
        (0, rank)
    }

    fn find(&self, name: &str) -> Option<(u32, u32)> {
        let given = self.given.iter().find(|given| given.1 == name);
        let rank = given.map(|given| given.0).or_else(|| {
            let rank = name.strip_prefix("process ")?.parse().ok()?;
            (rank < self.processes && self.process(0, rank).name == name).then_some(rank)
        });
        rank.map(|rank| (0, rank))
    }

    fn ends_of(&self, _kind: u32, _index: u32) -> Vec<EndOf> {
        Vec::new()
    }

    fn modules(&self) -> u32 {
        0
    }

    fn module_of(&self, _kind: u32, _index: u32) -> Option<u32> {
        None
    }

    fn module(&self, _number: u32) -> Option<ModuleInfo> {
        None
    }

    fn enclosing(&self, _module: u32) -> Option<u32> {
        None
    }

    fn in_module(&self, _number: u32) -> Vec<u32> {
        Vec::new()
    }

    fn full_name_of(&self, _kind: u32, index: u32) -> (u32, u32) {
        (0, index)
    }

    fn full_name(&self, number: u32) -> Option<(String, u32)> {
        (number == 0).then(|| (KIND.into(), self.processes))
    }

    fn find_full_name(&self, text: &str) -> Option<u32> {
        (text == KIND).then_some(0)
    }

    fn with_full_name(&self, number: u32, index: u32) -> Option<(u32, u32)> {
        (number == 0 && index < self.processes).then_some((0, index))
    }

    fn is_under(&self, number: u32, outer: u32) -> bool {
        number == outer
    }

    fn under_full_name(&self, number: u32) -> Vec<u32> {
        match number {
            0 => (0..self.processes).collect(),
            _ => Vec::new(),
        }
    }

    fn tag(&self, _number: u32) -> Option<i32> {
        None
    }

    fn capacity(&self, _number: u32) -> u32 {
        0
    }

    fn channel(&self, _number: u32) -> ChannelInfo {
        ChannelInfo {
            from: None,
            to: None,
            place: None,
            control: false,
        }
    }

    fn peers(&self, _number: u32) -> (Option<u32>, Option<u32>) {
        (None, None)
    }

    fn token_size(&self, number: u32) -> usize {
        let behind = self.sizes.partition_point(|&(first, _)| first <= number);
        let of = behind.checked_sub(1).and_then(|at| self.sizes.get(at));
        of.map_or(0, |&(_, size)| size)
    }

    fn class_of(&self, _number: u32) -> usize {
        0
    }

    fn class(&self, _class: usize) -> Option<ClassInfo<'_>> {
        None
    }
}
