//! The experiments of chapter 6 of S. M. Mir Taheri's thesis on communicators (2011), over ranks
//! that are coroutines in several OS processes (`benches/runtime/run communicators`). For each of
//! its fourteen communicators, they measure the time to create it, to send 10,000 messages between
//! random members, and to gather ten times. They also measure its bytes in all OS processes.
//!
//! `communicators ROUNDS WORLD OS_PROCESSES [ARRAYS]` prints Markdown. `ARRAYS` is this program
//! with groups that are plain arrays. The two take turns, and the table has medians.
#![allow(clippy::print_stdout)]

#[path = "../communicators/members.rs"]
mod members;

use std::alloc::System;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::rc::Rc;
use std::time::Instant;

use bench_common::{Random, median, processor};
use graphmap_runtime as rt;
use members::{NAMES, members};
use rt::mpi::{ANY_SOURCE, Communicator, Error, Group};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// Allocator that counts the bytes on the heap.
#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const MESSAGES: usize = 10_000;
const GATHERS: usize = 10;
/// Values measured of a communicator, in the order of the table.
const MEASURED: [&str; 5] = ["members", "creation", "messages", "gathers", "bytes"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments[at].parse::<usize>().expect("a number");
    if arguments.first().is_some_and(|first| first == "one") {
        let size = number(1);
        return rt::main(move || bench_runtime::ranks(size, rank));
    }
    let (rounds, world, os_processes) = (number(0), number(1), number(2));
    let here = std::env::current_exe().expect("a path");
    let programs = [Some(here.as_path()), arguments.get(3).map(Path::new)];
    let mut found: [HashMap<(usize, String), Vec<f64>>; 2] = Default::default();
    for _ in 0..rounds {
        for (found, program) in found.iter_mut().zip(programs) {
            for (key, value) in program
                .into_iter()
                .flat_map(|it| run(it, world, os_processes))
            {
                found.entry(key).or_default().push(value);
            }
        }
    }
    println!(
        "{}, a world of {world} ranks in {os_processes} OS processes, medians of {rounds}; ms and bytes, of rank maps and of arrays\n",
        processor()
    );
    println!(
        "| communicator | members | creation | arrays | messages | arrays | gathers | arrays | bytes | arrays |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    for (which, name) in NAMES.iter().enumerate() {
        let of =
            |program: usize, what: &str| median(found[program].get(&(which, what.to_string()))?);
        let mut row = format!("| {name}");
        for (program, what) in [0].into_iter().zip(MEASURED).chain(
            MEASURED[1..]
                .iter()
                .flat_map(|what| [(0, *what), (1, *what)]),
        ) {
            let text = match (of(program, what), what) {
                (None, _) => String::new(),
                (Some(value), "members" | "bytes") => format!("{value:.0}"),
                (Some(value), _) => format!("{value:.1}"),
            };
            row += &format!(" | {text}");
        }
        println!("{row} |");
    }
    ExitCode::SUCCESS
}

/// Runs a world and returns the values measured of each communicator.
fn run(program: &Path, world: usize, os_processes: usize) -> Vec<((usize, String), f64)> {
    let mut command = Command::new(program);
    command.args(["one", &world.to_string()]);
    if os_processes > 1 {
        command.env("GRAPHMAP_LINK", "shm");
    }
    command.env("GRAPHMAP_OS_PROCESSES", os_processes.to_string());
    let output = command.output().expect("it can be run");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    let value = |line: &str| {
        let mut words = line.strip_prefix("of ")?.split(' ');
        let which = words.next()?.parse().ok()?;
        let what = words.next()?.to_string();
        Some(((which, what), words.next()?.parse().ok()?))
    };
    text.lines().filter_map(value).collect()
}

async fn rank(world: Communicator) -> Result<(), Error> {
    let speaks = speaks();
    for which in 0..NAMES.len() {
        measure(&world, which, speaks).await?;
    }
    Ok(())
}

/// State that the ranks of a scheduler share while a communicator is measured.
struct Plan {
    members: Vec<u32>,
    group: RefCell<Option<Group>>,
    /// Destinations of the messages of each rank, and number of messages that each rank receives.
    sent: HashMap<usize, Vec<usize>>,
    received: HashMap<usize, usize>,
}

thread_local! {
    static PLAN: RefCell<Option<(usize, Rc<Plan>)>> = const { RefCell::new(None) };
    static SPEAKS: RefCell<bool> = const { RefCell::new(true) };
}

/// Returns true for the first rank of its scheduler, which reports the bytes on the heap.
fn speaks() -> bool {
    SPEAKS.replace(false)
}

/// Returns the plan of a communicator. The first call on a scheduler makes it.
fn plan(which: usize, world: usize) -> Rc<Plan> {
    let known = PLAN.with_borrow(|plan| plan.clone());
    if let Some((_, plan)) = known.filter(|(of, _)| *of == which) {
        return plan;
    }
    let members = members(which, world as u32);
    let mut random = Random(which as u64);
    let mut rank = || random.below(members.len() as u64) as usize;
    let (mut sent, mut received) = (HashMap::<_, Vec<_>>::new(), HashMap::new());
    for _ in 0..MESSAGES {
        let (from, to) = (rank(), rank());
        sent.entry(from).or_default().push(to);
        *received.entry(to).or_default() += 1;
    }
    let plan = Rc::new(Plan {
        members,
        group: RefCell::default(),
        sent,
        received,
    });
    PLAN.set(Some((which, Rc::clone(&plan))));
    plan
}

/// Returns the group of a plan. It is made once on each scheduler from the array of its members, as
/// in a program that has the array already.
fn group(plan: &Plan) -> Group {
    let of = || Group::of(plan.members.clone()).expect("each is there once");
    plan.group.borrow_mut().get_or_insert_with(of).clone()
}

/// Returns the bytes on the heap.
fn heap() -> u64 {
    let stats = HEAP.stats();
    (stats.bytes_allocated - stats.bytes_deallocated) as u64
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_nanos() as f64 / 1e6
}

/// Returns the bytes on the heap while all other ranks of this scheduler wait, or 0 for the other
/// ranks.
async fn quiet_heap(world: &Communicator, speaks: bool) -> Result<u64, Error> {
    world.barrier().await?;
    let mut bytes = 0;
    if speaks {
        // Lets the others reach the next barrier.
        for _ in 0..3 {
            rt::yield_now().await;
        }
        bytes = heap();
    }
    world.barrier().await?;
    Ok(bytes)
}

/// Measures a communicator. All ranks of the world call this.
async fn measure(world: &Communicator, which: usize, speaks: bool) -> Result<(), Error> {
    let report = |what: &str, value: f64| println!("of {which} {what} {value}");
    let plan = plan(which, world.size());
    let create = async || match which {
        0 => world.dup().await.map(Some),
        _ => world.create(&group(&plan)).await,
    };
    world.barrier().await?;
    let start = Instant::now();
    let made = create().await?;
    world.barrier().await?;
    if world.rank() == 0 {
        report("creation", milliseconds(start));
        report("members", plan.members.len() as f64);
    }
    if let Some(made) = &made {
        let rank = made.rank();
        let (sent, received) = (plan.sent.get(&rank), plan.received.get(&rank));
        made.barrier().await?;
        let start = Instant::now();
        let receives: Vec<_> = (0..received.copied().unwrap_or(0))
            .map(|_| made.recv::<u64>(ANY_SOURCE, 0))
            .collect();
        let sends = sent.into_iter().flatten();
        let sends: Vec<_> = sends.map(|&to| made.send(rank as u64, to, 0)).collect();
        for receive in receives {
            receive.await?;
        }
        for send in sends {
            send.await?;
        }
        made.barrier().await?;
        if rank == 0 {
            report("messages", milliseconds(start));
        }
        let start = Instant::now();
        for _ in 0..GATHERS {
            if let Some(all) = made.gather(rank as u64, 0).await? {
                assert!(all.iter().copied().eq(0..made.size() as u64));
            }
        }
        made.barrier().await?;
        if rank == 0 {
            report("gathers", milliseconds(start));
        }
    }
    // Creates it a second time, because the first time also allocates memory that is kept.
    drop(made);
    plan.group.take();
    let before = quiet_heap(world, speaks).await?;
    let made = create().await?;
    if let Some(made) = &made {
        made.barrier().await?;
    }
    let more = quiet_heap(world, speaks).await? as i64 - before as i64;
    let more = world.reduce(more, |a, b| a + b, 0).await?;
    if let Some(bytes) = more {
        report("bytes", bytes as f64);
    }
    Ok(())
}
