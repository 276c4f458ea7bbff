//! Running a network from beginning to end.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use crate::error::RunError;
use crate::exec::directory::Directory;
use crate::exec::outside::Outside;
use crate::exec::registry::Registry;
use crate::exec::scheduler::Scheduler;
use crate::exec::shared::Shared;
use crate::exec::tally::Tally;
use crate::exec::task::{self, Header};
use crate::kpn::network::Network;
use crate::kpn::wire::{self, Exchange};
use crate::link::between::{AnyLink, State};
use crate::options::Options;
use crate::payload::Encoder;
use crate::pin;
use crate::relatives;
use crate::stats::{self, Report};

/// Stack of a scheduler's thread: as much as a main thread has, as processes may run on either.
const STACK: usize = 8 << 20;

/// Runs a network until all its processes have ended. Takes a [`Network`], or an
/// `Arc<Network>` if it is to be run again.
///
/// One scheduler runs on the calling thread, several on threads of their own.
///
/// # Errors
/// [`RunError`]: a process failed, the network is blocked, or something does not fit.
pub fn run(network: impl Into<Arc<Network>>, options: &Options) -> Result<Report, RunError> {
    let start = Instant::now();
    let network = network.into();
    network.check()?;
    let placement = options.placement(network.processes())?;
    if placement.threads() == 1 {
        has_room(network.processes())?;
    }
    let directory: Arc<dyn Directory> = network.clone();
    let shared = Shared::new(
        placement.threads(),
        Arc::clone(&directory),
        Some(placement.clone()),
        options,
        None,
    );
    let exchange = Exchange::default();
    let one = |me: usize| {
        let residents = wire::residents(&network, &placement, me as u32);
        // Seeds of their own: a shuffled run must not shuffle all schedulers alike.
        let shuffle = options.shuffle.map(|seed| seed.wrapping_add(me as u64));
        let tally = Tally::new(&directory, residents.len(), options);
        let registry = Registry::new();
        let scheduler = Scheduler::new(&shared, me, residents.len(), shuffle, tally, registry);
        scheduler.live(|| {
            let built = wire::build(&network, &placement, &exchange, &scheduler, residents);
            if let Err(mistakes) = built {
                shared.end(RunError::Wiring(mistakes));
            }
        })
    };
    let tallies = if placement.threads() == 1 {
        vec![one(0)]
    } else {
        thread::scope(|scope| {
            let one = &one;
            let mut threads = Vec::new();
            for me in 0..placement.threads() {
                let builder = thread::Builder::new().name(format!("graphmap {me}"));
                match builder
                    .stack_size(STACK)
                    .spawn_scoped(scope, move || one(me))
                {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        let message = format!("cannot start thread {me}: {error}");
                        shared.end(RunError::Options(message));
                        break;
                    }
                }
            }
            // A scheduler catches the panics of its processes; one of its own is passed on.
            let join = |thread: thread::ScopedJoinHandle<'_, Tally>| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        })
    };
    let growths = shared.outcome()?;
    let asked = placement.schedulers();
    Ok(stats::report(
        &directory,
        tallies,
        growths,
        asked,
        start.elapsed(),
    ))
}

/// Runs what lives in this OS process of a network that several share. The first reports on all.
///
/// # Errors
/// As for [`run`]; of what happened in several OS processes, the first.
pub(crate) fn run_among(
    network: Arc<Network>,
    options: &Options,
    link: AnyLink,
) -> Result<Report, RunError> {
    let start = Instant::now();
    let outside = Rc::new(Outside::new(link));
    let link = outside.link();
    let (me, count) = (link.me(), link.count());
    let begun = network.check().and_then(|()| {
        let options = options.clone().os_processes(count).threads(count);
        options.placement(network.processes())
    });
    let placement = begun.inspect_err(|error| link.fail(&Encoder::to_vec(error)))?;
    let directory: Arc<dyn Directory> = network.clone();
    let shared = Shared::new(
        1,
        Arc::clone(&directory),
        Some(placement.clone()),
        options,
        Some(link),
    );
    let residents = wire::residents(&network, &placement, me as u32);
    let shuffle = options.shuffle.map(|seed| seed.wrapping_add(me as u64));
    let mut tally = Tally::new(&directory, residents.len(), options);
    tally.core = pin::core();
    let registry = Registry::new();
    let mut scheduler = Scheduler::new(&shared, 0, residents.len(), shuffle, tally, registry);
    scheduler.connect(Some(Rc::clone(&outside)));
    let exchange = Exchange::default();
    let tally = scheduler.live(|| {
        let built = wire::build(&network, &placement, &exchange, &scheduler, residents);
        if let Err(mistakes) = built {
            shared.end(RunError::Wiring(mistakes));
        }
    });
    let lost = || relatives::cause(link.cause());
    let growths = shared.outcome();
    if link.state() == State::Failed {
        return Err(lost());
    }
    let growths = growths?;
    let mut tallies = BTreeMap::new();
    if me > 0 {
        scheduler.send_tally(&outside, &tally);
    } else {
        tallies.insert(0, tally);
        while tallies.len() < count {
            let (of, tally) = scheduler
                .next_tally(&outside, &directory)
                .ok_or_else(lost)?;
            tallies.insert(of, tally);
        }
    }
    let tallies = tallies.into_values().collect();
    link.done();
    let elapsed = start.elapsed();
    Ok(stats::report(&directory, tallies, growths, count, elapsed))
}

/// A run within a process of another shares its numbers.
fn has_room(processes: usize) -> Result<(), RunError> {
    let room = Scheduler::room();
    if processes <= room {
        return Ok(());
    }
    Err(RunError::Options(format!(
        "{processes} processes: there may be {room} more on this thread"
    )))
}

/// Runs processes that are there already, on this thread, with the registry of their channels.
pub(crate) fn local(
    directory: &Arc<dyn Directory>,
    tasks: Vec<NonNull<Header>>,
    registry: Pin<Box<Registry>>,
    options: &Options,
) -> Result<Report, RunError> {
    let start = Instant::now();
    if let Err(error) = has_room(tasks.len()) {
        for task in tasks {
            // SAFETY: it has not been run, and is dropped once.
            unsafe { task::discard(task) };
        }
        return Err(error);
    }
    let shared = Shared::new(1, Arc::clone(directory), None, options, None);
    let tally = Tally::new(directory, tasks.len(), options);
    let scheduler = Scheduler::new(&shared, 0, tasks.len(), options.shuffle, tally, registry);
    let tally = scheduler.live(|| {
        for (id, task) in tasks.into_iter().enumerate() {
            scheduler.put(id, task);
        }
    });
    let growths = shared.outcome()?;
    Ok(stats::report(
        directory,
        vec![tally],
        growths,
        1,
        start.elapsed(),
    ))
}
