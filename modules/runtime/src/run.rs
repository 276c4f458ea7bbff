//! Runs a network from start to end.

use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use crate::child_processes;
use crate::chrome::{self, Unwritten};
use crate::kpn::network::Network;
use crate::kpn::wire::{self, Exchange};
use crate::panics;
use crate::stats::{self, Report};
use graphmap_executor::error::RunError;
use graphmap_executor::exec::current;
use graphmap_executor::exec::frames::Remote;
use graphmap_executor::exec::report::Directory;
use graphmap_executor::exec::scheduler::Scheduler;
use graphmap_executor::exec::shared::{Among, Shared};
use graphmap_executor::exec::statistics::Statistics;
use graphmap_executor::exec::task::{self, TaskHeader};
use graphmap_executor::exec::wait_points::Registry;
use graphmap_executor::link::any::AnyLink;
use graphmap_executor::link::between::{Doorbell, RunState};
use graphmap_executor::link::job::Job;
use graphmap_executor::link::shm::byte_rings::ByteRings;
use graphmap_executor::link::shm::control::ControlPage;
use graphmap_executor::options::Options;
use graphmap_executor::pin::{self, Pins};
use graphmap_executor::placement::{Placement, SchedulerIndex};

/// Stack size of a scheduler's thread, in bytes. It is that of a main thread, because processes may
/// run on either.
const STACK: usize = 8 << 20;

/// Runs a network until all its processes have ended, and returns the report of the run. Blocks the
/// calling thread until then.
///
/// Takes a [`Network`], or an `Arc<Network>` to run it several times. All schedulers run in this OS
/// process, even if the options ask for several OS processes. If they share one thread, this is the
/// calling thread. Otherwise each thread is a new one.
///
/// # Errors
/// Returns a [`RunError`]: `Failed` if a process fails, `Blocked` if the network is blocked, and
/// `Memory` if channels exceed the memory limit. `Wiring` means that the description of the network
/// is inconsistent, or contradicts the ports of the processes. `Options` means that an option
/// cannot be used, that a thread cannot be started, or that the calling thread cannot run that many
/// processes. `File` means that the trace cannot be written.
pub fn run(network: impl Into<Arc<Network>>, options: &Options) -> Result<Report, RunError> {
    run_to_end(network.into(), options)?.finish()
}

/// Connects the scheduler to the layer above it, which handles messages between ranks (feature
/// `mpi`). Does nothing without that feature.
fn set_upper_layer(scheduler: &Scheduler) {
    #[cfg(feature = "mpi")]
    scheduler.upper_layer.set(graphmap_mpi_core::upper_layer);
    #[cfg(not(feature = "mpi"))]
    let _ = scheduler;
}

/// Result of a run that has ended, and the trace that is still to be written.
pub(crate) struct EndedRun {
    pub(crate) result: Result<Report, RunError>,
    /// Trace to write. Only the first OS process can have one.
    pub(crate) trace: Option<Unwritten>,
}

impl EndedRun {
    /// Writes the trace, also after a failed run, and returns the report.
    ///
    /// # Errors
    /// Returns the error of the run. If the run succeeded and the trace cannot be written, returns
    /// [`RunError::File`].
    fn finish(self) -> Result<Report, RunError> {
        let written = self.trace.map_or(Ok(()), |trace| trace.write());
        let report = self.result?;
        written.map(|()| report)
    }
}

/// Runs a network like [`run`], but leaves the trace to the caller.
///
/// # Errors
/// Returns [`RunError::File`] before the run if the trace cannot be written. Errors of the run are
/// in [`EndedRun::result`].
pub(crate) fn run_to_end(network: Arc<Network>, options: &Options) -> Result<EndedRun, RunError> {
    chrome::check(options)?;
    let directory: Arc<dyn Directory> = network.clone();
    Ok(EndedRun {
        result: run_here(&network, options),
        trace: Unwritten::of(options, &directory, 1),
    })
}

/// Runs a network in this OS process alone. Blocks until the run has ended. Does not write the
/// trace.
///
/// # Errors
/// Returns the error of the run, as [`run`] does, but none of the trace. This is also an invalid
/// description of the network, and more processes than this thread can run.
fn run_here(network: &Arc<Network>, options: &Options) -> Result<Report, RunError> {
    let start = Instant::now();
    network.check()?;
    let placement = options.placement(network.processes())?;
    if placement.threads() == 1 {
        has_room(network.processes())?;
    }
    let part = Part::new(network, &placement, options, placement.threads(), None);
    let run = |index| part.run_scheduler(index, None, |_, statistics| statistics);
    let all_statistics = if placement.threads() == 1 {
        vec![run(0)]
    } else {
        thread::scope(|scope| {
            let run = &run;
            let mut threads = Vec::new();
            for index in 0..placement.threads() {
                match spawn(scope, index, move || run(index)) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        part.shared.end(error);
                        break;
                    }
                }
            }
            threads.into_iter().map(join).collect()
        })
    };
    let growths = part.shared.outcome()?;
    let asked = placement.schedulers();
    Ok(stats::report(
        &part.directory,
        all_statistics,
        growths,
        asked,
        start.elapsed(),
    ))
}

/// Part of a network that runs in this OS process, shared by its schedulers.
struct Part<'a> {
    network: &'a Arc<Network>,
    directory: Arc<dyn Directory>,
    placement: &'a Placement,
    options: &'a Options,
    shared: Arc<Shared>,
    exchange: Exchange,
}

impl<'a> Part<'a> {
    fn new(
        network: &'a Arc<Network>,
        placement: &'a Placement,
        options: &'a Options,
        schedulers: usize,
        among: Option<Among>,
    ) -> Self {
        let directory: Arc<dyn Directory> = network.clone();
        let all = Some(placement.clone());
        let shared = Shared::new(schedulers, Arc::clone(&directory), all, options, among);
        Part {
            network,
            directory,
            placement,
            options,
            shared,
            exchange: Exchange::default(),
        }
    }

    /// Builds the processes of a scheduler on this thread and runs them until the whole run ends.
    /// If they cannot be built, the run ends with [`RunError::Wiring`]. In any case, calls `end`
    /// with the scheduler and its statistics, and returns the result. `index` counts the schedulers
    /// of this OS process.
    fn run_scheduler<R>(
        &self,
        index: usize,
        remote: Option<Rc<Remote>>,
        end: impl FnOnce(&Scheduler, Statistics) -> R,
    ) -> R {
        let number = self.shared.number(SchedulerIndex(index as u32));
        let residents = wire::residents(self.network, self.placement, number);
        // Each scheduler has its own seed. Otherwise all would shuffle in the same way.
        let shuffle = self.options.shuffle;
        let shuffle = shuffle.map(|seed| seed.wrapping_add(u64::from(number.0)));
        let mut statistics = Statistics::new(&self.directory, residents.len(), self.options);
        statistics.core = remote.as_ref().and_then(|_| pin::core());
        let mut scheduler = Scheduler::new(
            &self.shared,
            index,
            residents.len(),
            shuffle,
            statistics,
            Registry::new(),
            current::first_ids(),
        );
        scheduler.connect(remote);
        set_upper_layer(&scheduler);
        let statistics = scheduler.live(|| {
            let (network, placement) = (self.network, self.placement);
            let built = wire::build(network, placement, &self.exchange, &scheduler, residents);
            if let Err(errors) = built {
                self.shared.end(RunError::Wiring(errors));
            }
        });
        end(&scheduler, statistics)
    }
}

/// Transport between this OS process and the others of a run.
pub(crate) enum Transport {
    /// Shared memory: the control page, as seen by the first scheduler of this OS process.
    SharedMemory(Arc<ControlPage>),
    /// A job. Each OS process then has one scheduler.
    Job(Rc<dyn Job>),
}

impl Transport {
    /// Returns the index of this OS process, and the number of all OS processes.
    fn index_and_count(&self) -> (usize, usize) {
        match self {
            Transport::SharedMemory(control) => {
                (control.os_process(), control.count() / control.each())
            }
            Transport::Job(job) => (job.me(), job.count()),
        }
    }

    /// Returns the control pages of the schedulers of this OS process, and the link of the first
    /// scheduler. For a job, there are no control pages. With shared memory, permits the other OS
    /// processes to read the memory of this one, unless the options exclude single copies.
    ///
    /// # Safety
    /// With shared memory, this must be called at most once in an OS process, with the control page
    /// that this OS process has joined.
    unsafe fn connect(&self, options: &Options) -> (Vec<Arc<ControlPage>>, AnyLink) {
        match self {
            Transport::SharedMemory(control) => {
                let controls = control.schedulers();
                if options.single_copy != Some(false) {
                    child_processes::permit_to_read(control.os_process() == 0);
                }
                // SAFETY: by the contract of this function. This is the only call for the first
                // scheduler.
                let rings =
                    unsafe { ByteRings::new(Arc::clone(&controls[0]), options.single_copy) };
                (controls, AnyLink::ByteRings(rings))
            }
            Transport::Job(job) => (Vec::new(), AnyLink::Other(Rc::clone(job))),
        }
    }

    /// Returns the data about the other OS processes that the schedulers need. `controls` is the
    /// result of [`Transport::connect`]. `apart` is true if no two schedulers of the run share a
    /// core.
    fn among(&self, controls: &[Arc<ControlPage>], apart: bool) -> Among {
        let (me, count) = self.index_and_count();
        let doorbell = |control: &Arc<ControlPage>| Arc::clone(control) as Arc<dyn Doorbell>;
        let (bells, hosts) = match self {
            Transport::SharedMemory(_) => (controls.iter().map(doorbell).collect(), None),
            Transport::Job(job) => (vec![job.doorbell()], Some(job.hosts())),
        };
        Among {
            me,
            count,
            bells,
            apart,
            hosts,
        }
    }
}

/// Runs the part of a network that belongs to this OS process. `job` is the transport to the other
/// OS processes. For crates of links, and for tests.
///
/// Blocks until the whole run has ended. The first OS process returns the report on all of them,
/// and writes the trace. The reports of the others contain no statistics.
///
/// # Errors
/// Returns the errors of [`run`], also if another OS process fails or is lost: a process fails, the
/// network is blocked, channels exceed the memory limit, the description of the network or an
/// option is invalid, or the trace cannot be written. If several OS processes fail, returns the
/// first error.
pub fn run_over(
    network: impl Into<Arc<Network>>,
    options: &Options,
    job: &Rc<dyn Job>,
) -> Result<Report, RunError> {
    let transport = Transport::Job(Rc::clone(job));
    // SAFETY: the contract is about shared memory, which a job does not use.
    unsafe { run_among(network.into(), options, &transport) }.finish()
}

/// Runs the part of a network that belongs to this OS process, and blocks until the whole run has
/// ended. The first OS process returns the report on all of them, and the trace that is still to be
/// written. If several OS processes fail, all return the first error.
///
/// # Safety
/// With shared memory, this must be called at most once in an OS process, and `transport` must be
/// the control page that this OS process has joined.
pub(crate) unsafe fn run_among(
    network: Arc<Network>,
    options: &Options,
    transport: &Transport,
) -> EndedRun {
    let directory: Arc<dyn Directory> = network.clone();
    // SAFETY: by the contract of this function.
    let result = unsafe { run_part(network, options, transport) };
    child_processes::processes_have_ended();
    let trace = match transport.index_and_count() {
        (0, count) => Unwritten::of(options, &directory, count),
        _ => None,
    };
    EndedRun { result, trace }
}

/// Runs the part of a network that belongs to this OS process, as [`run_among`] does, without the
/// trace. Blocks until the whole run has ended.
///
/// # Errors
/// Returns the error of the run, which is the first one of all OS processes.
///
/// # Safety
/// With shared memory, this must be called at most once in an OS process, with the control page
/// that this OS process has joined.
unsafe fn run_part(
    network: Arc<Network>,
    options: &Options,
    transport: &Transport,
) -> Result<Report, RunError> {
    let start = Instant::now();
    let (os_process, count) = transport.index_and_count();
    // SAFETY: by the contract of this function.
    let (controls, link) = unsafe { transport.connect(options) };
    let remote = Rc::new(Remote::new(link));
    let link = remote.link();
    let each = controls.len().max(1);
    let placement = place_schedulers(&network, options, count, each);
    let placement = placement.inspect_err(|error| link.fail(&error.to_cause()))?;
    let pins = match controls.is_empty() || options.unpinned {
        true => Pins::default(),
        false => Pins::choose(os_process, count, each, options.cores.as_deref()),
    };
    let among = transport.among(&controls, pins.apart);
    let part = Part::new(&network, &placement, options, each, Some(among));
    // Number of schedulers of this OS process that have not finished their processes.
    let working = AtomicUsize::new(each);
    let run = |index: usize, remote: &Rc<Remote>| {
        pins.pin(index);
        part.run_scheduler(index, Some(Rc::clone(remote)), |scheduler, statistics| {
            if working.fetch_sub(1, Ordering::SeqCst) == 1 {
                child_processes::processes_have_ended();
            }
            // The first OS process reports its own failed prints at the end.
            if os_process > 0
                && let Some(why) = panics::unwritten()
            {
                remote.link().fail(&panics::cannot_print(&why).to_cause());
            }
            scheduler.gather(remote, statistics, &part.directory)
        })
    };
    let all_statistics = thread::scope(|scope| {
        let (run, shared) = (&run, &part.shared);
        let mut threads = Vec::new();
        for (index, control) in controls.iter().enumerate().skip(1) {
            let run_on_thread = move || {
                // SAFETY: by the contract of this function. This is the only call for this
                // scheduler.
                let rings = unsafe { ByteRings::new(Arc::clone(control), options.single_copy) };
                run(index, &Rc::new(Remote::new(AnyLink::ByteRings(rings))))
            };
            match spawn(scope, index, run_on_thread) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    shared.end(error);
                    break;
                }
            }
        }
        let all_statistics = run(0, &remote);
        threads.into_iter().for_each(|thread| drop(join(thread)));
        all_statistics
    });
    let lost = || child_processes::cause(link.cause());
    let growths = part.shared.outcome();
    if link.state() == RunState::Failed {
        return Err(lost());
    }
    let growths = growths?;
    let all_statistics = all_statistics.ok_or_else(lost)?;
    link.done();
    let (asked, elapsed) = (count * each, start.elapsed());
    Ok(stats::report(
        &part.directory,
        all_statistics,
        growths,
        asked,
        elapsed,
    ))
}

/// Returns the placement of a network on `count` OS processes with `each` schedulers.
///
/// # Errors
/// Returns [`RunError::Wiring`] if the description of the network is inconsistent, and
/// [`RunError::Options`] if the placement is invalid.
fn place_schedulers(
    network: &Network,
    options: &Options,
    count: usize,
    each: usize,
) -> Result<Placement, RunError> {
    network.check()?;
    let options = options.clone().os_processes(count).schedulers(each);
    options.threads(count * each).placement(network.processes())
}

/// Spawns the thread of a scheduler.
///
/// # Errors
/// Returns [`RunError::Options`] if the thread cannot be started.
fn spawn<'scope, R: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    scheduler: usize,
    run: impl FnOnce() -> R + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, R>, RunError> {
    let builder = thread::Builder::new().name(format!("graphmap {scheduler}"));
    let spawned = builder.stack_size(STACK).spawn_scoped(scope, run);
    spawned.map_err(|error| RunError::Options(format!("cannot start thread {scheduler}: {error}")))
}

/// Joins the thread of a scheduler, and returns its result. Blocks until the thread has ended.
///
/// # Panics
/// Panics if the thread has panicked. A scheduler catches panics of its processes, so such a panic
/// is its own.
fn join<R>(thread: ScopedJoinHandle<'_, R>) -> R {
    let joined = thread.join();
    joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Checks that this thread has enough free process numbers. A run inside a process of another run
/// shares the numbers of that run.
///
/// # Errors
/// Returns [`RunError::Options`] if fewer than `processes` numbers are free.
fn has_room(processes: usize) -> Result<(), RunError> {
    let room = current::room();
    if processes <= room {
        return Ok(());
    }
    Err(RunError::Options(format!(
        "{processes} processes: this thread can run at most {room} more"
    )))
}

/// Runs existing processes on this thread, with the registry of their channels. Blocks until the
/// run has ended. If the run cannot begin, drops the processes.
///
/// # Errors
/// Returns the error of the run, as [`Local::run`](crate::Local::run) does: also if the trace
/// cannot be written, or if this thread cannot run that many processes.
pub(crate) fn local(
    directory: &Arc<dyn Directory>,
    tasks: Vec<NonNull<TaskHeader>>,
    registry: Pin<Box<Registry>>,
    options: &Options,
) -> Result<Report, RunError> {
    let start = Instant::now();
    if let Err(error) = chrome::check(options).and_then(|()| has_room(tasks.len())) {
        for task in tasks {
            // SAFETY: the task has not been run, and is discarded once.
            unsafe { task::discard(task) };
        }
        return Err(error);
    }
    let shared = Shared::new(1, Arc::clone(directory), None, options, None);
    let statistics = Statistics::new(directory, tasks.len(), options);
    let scheduler = Scheduler::new(
        &shared,
        0,
        tasks.len(),
        options.shuffle,
        statistics,
        registry,
        current::first_ids(),
    );
    set_upper_layer(&scheduler);
    let statistics = scheduler.live(|| {
        for (id, task) in tasks.into_iter().enumerate() {
            scheduler.put(id, task);
        }
    });
    let report = shared
        .outcome()
        .map(|growths| stats::report(directory, vec![statistics], growths, 1, start.elapsed()));
    let over = EndedRun {
        result: report,
        trace: Unwritten::of(options, directory, 1),
    };
    over.finish()
}
