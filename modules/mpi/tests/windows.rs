//! Windows: access to the memory of other ranks, with any placement of ranks.

#[path = "common/cases.rs"]
mod harness;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use harness::{Case, case};
use mpi::CallError;
use mpi::collective::SystemOperation;
use mpi::endpoint::{self, Endpoints};
use mpi::topology::{Color, InterCommunicator, SimpleCommunicator};
use mpi::traits::*;
use mpi::window::{Op, Windows};

const CASES: &[Case] = &[
    case("put, get and fence", 5, put_and_get),
    case("memory of different lengths", 4, lengths),
    case("accumulate", 5, accumulate),
    case("compare_and_swap", 4, compare_and_swap),
    case("flush", 3, flush),
    case("a target that waits", 3, passive),
    case("exclusive locks", 5, exclusive_locks),
    case("shared locks", 4, shared_locks),
    case("locks that are dropped", 4, dropped_locks),
    case("post, start, complete and wait", 4, some),
    case("own memory", 2, own_memory),
    case("elements", 3, elements),
    case("dynamic windows", 4, dynamic),
    case("shared windows", 4, shared),
    case("parts of the world", 5, parts),
    case("endpoints", 3, endpoints),
    case("errors", 3, errors),
    case("a window that is dropped", 3, dropped),
    case("different types", 2, types_differ),
    Case {
        told: &[
            "deadlock: ",
            "waits in lock (world.window, rank 0): ",
            "waits in barrier (world, ",
            "tests/windows.rs:",
        ],
        ..case("a standstill of locks", 2, |world| {
            let window = world.create_window(vec![0]);
            if world.rank() == 0 {
                let _lock = window.lock(0);
                world.barrier();
                world.barrier();
            } else {
                world.barrier();
                drop(window.lock(0));
                world.barrier();
            }
        })
    },
    Case {
        told: &[
            "deadlock: ",
            "waits in fence (world.window, ",
            "tests/windows.rs:",
        ],
        ..case("a standstill of fences", 2, |world| {
            let window = world.create_window(vec![0]);
            match world.rank() {
                0 => window.fence(),
                _ => world.barrier(),
            }
        })
    },
    Case {
        told: &[
            "deadlock: ",
            "waits in start (world.window, rank 1): ",
            "tests/windows.rs:",
        ],
        ..case("a standstill of epochs", 2, |world| {
            let window = world.create_window(vec![0]);
            match world.rank() {
                0 => window.start(&[1]),
                _ => world.barrier(),
            }
        })
    },
    Case {
        told: &["panicked: access to elements 1..3 of rank 1, which exposes 2 elements"],
        ..case("an access beyond the end", 2, |world| {
            let window = world.create_window(vec![0; 2]);
            window.put(&[1, 2], 1, 1);
            window.fence();
        })
    },
    Case {
        told: &["the call is not defined for an intercommunicator"],
        ..case("two groups", 2, |world| {
            let local = SimpleCommunicator::self_comm();
            let both = InterCommunicator::create(&local, 0, &world, 1 - world.rank(), 0);
            both.create_window(vec![0]);
        })
    },
];

fn all() -> impl Iterator<Item = &'static Case> {
    CASES.iter()
}

fn put_and_get(world: SimpleCommunicator) {
    let (me, size) = (world.rank(), world.size());
    let window = world.create_window(vec![-1; size as usize + 1]);
    assert_eq!((window.rank(), window.size()), (me, size));
    for round in 0..3 {
        for to in 0..size {
            window.put(&[100 * round + me], to, me as usize);
        }
        window.fence();
        let mine = window.with(|mine| mine.to_vec());
        let wanted: Vec<i32> = (0..size).map(|rank| 100 * round + rank).collect();
        assert_eq!(
            (&mine[..size as usize], mine[size as usize]),
            (&wanted[..], -1)
        );
        for of in 0..size {
            assert_eq!(window.get(of, 1..size as usize), wanted[1..]);
            assert_eq!(window.get(of, 2..2), []);
        }
        window.fence();
    }
    assert_eq!(window.free().len(), size as usize + 1);
}

/// Creates a window to which each rank contributes as many elements as its number.
fn lengths(world: SimpleCommunicator) {
    let me = world.rank();
    let window = world.create_window(vec![me as u8; me as usize]);
    for rank in 0..world.size() {
        assert_eq!(window.len_of(rank), Some(rank as usize));
        let all = window.get(rank, 0..rank as usize);
        assert_eq!(all, vec![rank as u8; rank as usize]);
    }
    assert_eq!(
        (window.len_of(world.size()), window.len_of(-1)),
        (None, None)
    );
    assert_eq!(window.free(), vec![me as u8; me as usize]);
}

fn accumulate(world: SimpleCommunicator) {
    let (me, size) = (world.rank(), world.size());
    let window = world.create_window(vec![0_i64, 0, 100, -100, 1]);
    let mine = i64::from(me) + 1;
    for _ in 0..10 {
        window.accumulate(&[mine, 2 * mine], 0, 0, Op::Sum);
    }
    window.accumulate(&[mine], 0, 2, Op::Min);
    window.accumulate(&[mine], 0, 3, Op::Max);
    window.accumulate(&[mine], 0, 4, Op::Product);
    window.fence();
    let (sum, product) = (
        (1..=i64::from(size)).sum::<i64>(),
        (1..=i64::from(size)).product(),
    );
    let wanted = [10 * sum, 20 * sum, 1, i64::from(size), product];
    assert_eq!(window.get(0, 0..5), wanted);
    window.fence();
    // Each rank gets a ticket of its own.
    let ticket = window.fetch_and_op(1, 1, 0, Op::Sum);
    let mut tickets = vec![0; size as usize];
    world.all_gather_into(&ticket, &mut tickets[..]);
    tickets.sort_unstable();
    assert_eq!(tickets, (0..i64::from(size)).collect::<Vec<_>>());
    let before = window.get_accumulate(&[7, 7], 1, 0, Op::Keep);
    assert_eq!(before, [i64::from(size), 0]);
    window.fence();
    if me == 0 {
        assert_eq!(window.get_accumulate(&[3, 4], 1, 0, Op::Replace), before);
        assert_eq!(window.get(1, 0..2), [3, 4]);
    }
    window.fence();
    let bits = world.create_window(vec![0_u32; 1]);
    bits.accumulate(&[1 << me], 0, 0, Op::Or);
    bits.fence();
    assert_eq!(bits.get(0, 0..1), [(1 << size) - 1]);
    bits.free();
    window.free();
}

/// Counts with loops of a read and a compare-and-swap.
fn compare_and_swap(world: SimpleCommunicator) {
    let window = world.create_window(vec![0_usize]);
    for _ in 0..20 {
        let mut known = window.get(1, 0..1)[0];
        loop {
            let found = window.compare_and_swap(known, known + 1, 1, 0);
            if found == known {
                break;
            }
            known = found;
        }
    }
    world.barrier();
    assert_eq!(window.get(1, 0..1), [20 * world.size() as usize]);
    // `free` waits for the other ranks, which may still read.
    window.free();
}

/// Puts more data than may be in flight at once.
fn flush(world: SimpleCommunicator) {
    let (me, size) = (world.rank(), world.size());
    const LENGTH: usize = 100_000;
    let window = world.create_window(vec![0_u64; LENGTH * size as usize]);
    let next = (me + 1) % size;
    for round in 0..5 {
        let values = vec![u64::from(me.unsigned_abs()) + round; LENGTH];
        window.put(&values, next, LENGTH * me as usize);
    }
    window.flush(next);
    world.barrier();
    let before = (me + size - 1) % size;
    let first = LENGTH * before as usize;
    let wanted = u64::from(before.unsigned_abs()) + 4;
    window.with(|mine| {
        let came = &mine[first..first + LENGTH];
        assert!(came.iter().all(|&value| value == wanted));
    });
    world.barrier();
    for to in 0..size {
        window.put(&[1_000], to, LENGTH * me as usize);
    }
    window.flush_all();
    world.barrier();
    window.with(|mine| {
        let firsts = mine.iter().step_by(LENGTH);
        assert!(firsts.copied().eq(vec![1_000; size as usize]));
    });
    // `free` waits for the other ranks, which may still read.
    window.free();
}

/// Blocks rank 0 in a receive while other ranks change its memory.
fn passive(world: SimpleCommunicator) {
    let window = world.create_window(vec![0; 3]);
    match world.rank() {
        0 => {
            let (count, _) = world.process_at_rank(2).receive::<i32>();
            assert_eq!(count, 6);
            window.with(|mine| assert_eq!(mine, [0, 1, 6]));
        }
        1 => {
            window.put(&[1], 0, 1);
            window.flush(0);
            world.process_at_rank(2).send(&5);
        }
        _ => {
            let (came, _) = world.process_at_rank(1).receive::<i32>();
            window.put(&[came + window.get(0, 1..2)[0]], 0, 2);
            window.flush(0);
            world.process_at_rank(0).send(&window.get(0, 2..3)[0]);
        }
    }
    window.free();
}

/// Increments counters by a read and a write, under an exclusive lock.
fn exclusive_locks(world: SimpleCommunicator) {
    let window = world.create_window(vec![0; 1]);
    for round in 0..10 {
        let target = round % world.size();
        let lock = window.lock(target);
        assert_eq!(lock.target(), target);
        let count = window.get(target, 0..1)[0];
        window.put(&[count + 1], target, 0);
        match round % 2 {
            0 => lock.unlock(),
            _ => drop(lock),
        }
    }
    world.barrier();
    let counts: Vec<i32> = (0..world.size())
        .map(|of| window.get(of, 0..1)[0])
        .collect();
    assert_eq!(counts.iter().sum::<i32>(), 10 * world.size());
    assert_eq!(window.free(), [counts[world.rank() as usize]]);
}

fn shared_locks(world: SimpleCommunicator) {
    let window = world.create_window(vec![world.rank(); 1]);
    // All ranks have the shared lock at once, so the barrier completes.
    let lock = window.lock_shared(0);
    world.barrier();
    assert_eq!(window.get(0, 0..1), [0]);
    lock.unlock();
    let locks = window.lock_all();
    world.barrier();
    for of in 0..world.size() {
        assert_eq!(window.get(of, 0..1), [of]);
    }
    locks.unlock();
    drop(window.lock_all());
    // An exclusive lock.
    let lock = window.lock(1);
    window.put(&[window.get(1, 0..1)[0] + 1], 1, 0);
    lock.unlock();
    world.barrier();
    assert_eq!(window.get(1, 0..1), [1 + world.size()]);
    window.free();
}

/// Drops a lock in a panic, which releases it.
fn dropped_locks(world: SimpleCommunicator) {
    let window = world.create_window(vec![0; 1]);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _lock = window.lock(0);
        let count = window.get(0, 0..1)[0];
        window.put(&[count + 1], 0, 0);
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(panicked.is_err());
    world.barrier();
    assert_eq!(window.get(0, 0..1), [world.size()]);
    window.free();
}

/// Exposes the memory of each even rank to the odd rank that follows.
fn some(world: SimpleCommunicator) {
    let me = world.rank();
    let window = world.create_window(vec![0; 4]);
    for round in 1..5 {
        if me % 2 == 0 {
            window.with(|mine| mine[0] = round);
            window.post(&[me + 1]);
            window.wait();
            window.with(|mine| assert_eq!(mine[1..], [round, 2 * round, 3 * round]));
        } else {
            window.start(&[me - 1]);
            assert_eq!(window.get(me - 1, 0..1), [round]);
            window.put(&[round, 2 * round, 3 * round], me - 1, 1);
            window.complete();
        }
    }
    // All other ranks access rank 0.
    if me == 0 {
        let others: Vec<i32> = (1..world.size()).collect();
        window.post(&others);
        window.wait();
        window.with(|mine| assert_eq!(mine[1..], [1, 2, 3]));
    } else {
        window.start(&[0]);
        window.put(&[me], 0, me as usize);
        window.complete();
    }
}

fn own_memory(world: SimpleCommunicator) {
    let window = world.create_window(vec![world.rank(); 3]);
    let told = window.with(|mine| {
        mine[1] = 7;
        // A function that has the memory cannot get it again.
        assert!(matches!(window.try_with(|_| ()), Err(CallError::Window(_))));
        // It cannot wait either, because another rank of the thread could then wait for the memory.
        let waits = catch_unwind(AssertUnwindSafe(|| world.barrier()));
        let reads = catch_unwind(AssertUnwindSafe(|| window.get(1 - world.rank(), 0..1)));
        (waits.is_err(), reads.is_err())
    });
    assert_eq!(told, (true, true));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        window.with(|mine| {
            mine[2] = 8;
            std::panic::resume_unwind(Box::new(()));
        });
    }));
    assert!(panicked.is_err());
    let mine = window.with(|mine| mine.to_vec());
    assert_eq!(mine, [world.rank(), 7, 8]);
    // The memory of a window that is not dynamic is one piece.
    assert!(window.try_attach(vec![1]).is_err() && window.try_detach(0).is_err());
}

fn elements(world: SimpleCommunicator) {
    let (me, next) = (world.rank(), (world.rank() + 1) % world.size());
    let pairs = world.create_window(vec![(0_u8, 0.0_f64); 2]);
    pairs.put(&[(me as u8, f64::from(me) / 2.0)], next, 1);
    let flags = world.create_window(vec![false; 2]);
    flags.accumulate(&[true], next, 0, Op::Or);
    let words = world.create_window(vec![['-'; 3]; 1]);
    words.put(&[['a', 'b', 'c']], next, 0);
    let nothing = world.create_window(vec![(); 5]);
    nothing.put(&[(), ()], next, 3);
    pairs.fence();
    flags.fence();
    words.fence();
    nothing.fence();
    let before = (me + world.size() - 1) % world.size();
    assert_eq!(
        pairs.free(),
        [(0, 0.0), (before as u8, f64::from(before) / 2.0)]
    );
    assert_eq!(flags.free(), [true, false]);
    assert_eq!(words.free(), [['a', 'b', 'c']]);
    assert_eq!(nothing.free().len(), 5);
}

fn dynamic(world: SimpleCommunicator) {
    let (me, size) = (world.rank(), world.size());
    let window = world.create_dynamic_window::<i32>();
    assert_eq!(window.len_of(me), None);
    let pieces: Vec<usize> = (0..=me).map(|at| window.attach(vec![at; 4])).collect();
    let last = *pieces.last().unwrap() as u64;
    let mut firsts = vec![0_u64; size as usize];
    world.all_gather_into(&last, &mut firsts[..]);
    let next = (me + 1) % size;
    let at = firsts[next as usize] as usize;
    window.put(&[10 * me, 20 * me], next, at + 2);
    window.fence();
    let before = (me + size - 1) % size;
    let wanted = [me, me, 10 * before, 20 * before];
    window.with_attached(pieces[me as usize], |piece| assert_eq!(piece, wanted));
    assert_eq!(window.get(next, at..at + 2), [next; 2]);
    window.fence();
    assert_eq!(window.detach(pieces[me as usize]), wanted);
    world.barrier();
    // The piece no longer exists. A read returns the error, and the flush returns the error of a
    // write.
    assert!(matches!(
        window.try_get(next, at..at + 1),
        Err(CallError::Window(_))
    ));
    let put = window
        .try_put(&[1], next, at)
        .and_then(|()| window.try_flush(next));
    assert!(matches!(put, Err(CallError::Window(_))));
    assert!(window.try_detach(pieces[me as usize]).is_err());
    assert!(
        window
            .try_with_attached(pieces[me as usize], |_| ())
            .is_err()
    );
    assert!(window.try_with(|_| ()).is_err());
    let rest: Vec<i32> = (0..me).flat_map(|at| [at; 4]).collect();
    assert_eq!(window.free(), rest);
}

/// Creates shared windows. If the ranks are in several OS processes, all of them get an error,
/// which names a call that returns ranks of one OS process.
fn shared(world: SimpleCommunicator) {
    let is_several = std::env::var_os("GRAPHMAP_OS_PROCESSES").is_some();
    match world.try_create_shared_window(vec![AtomicUsize::new(0)]) {
        Ok(_) => assert!(!is_several),
        Err(error) => {
            let told = error.to_string();
            assert!(is_several && told.contains("`split_shared(0)`"), "{told}");
        }
    }
    let here = world.split_shared(0);
    assert_eq!(here.size(), if is_several { 2 } else { 4 });
    let window = here.create_shared_window(vec![AtomicUsize::new(0), AtomicUsize::new(7)]);
    let (me, size) = (here.rank(), here.size());
    assert_eq!((window.rank(), window.size()), (me, size));
    assert!(window.of(size).is_none() && window.of(-1).is_none());
    for of in 0..size {
        window.of(of).unwrap()[0].fetch_add(me as usize, Ordering::Relaxed);
    }
    window.fence();
    let sum = (0..size as usize).sum();
    assert_eq!(window.own()[0].load(Ordering::Relaxed), sum);
    assert_eq!(window.of(0).unwrap()[1].load(Ordering::Relaxed), 7);
}

fn parts(world: SimpleCommunicator) {
    let color = Color::with_value(world.rank() % 2);
    let part = world.split_by_color(color).unwrap();
    let window = part.create_window(vec![world.rank()]);
    for of in 0..part.size() {
        assert_eq!(window.get(of, 0..1), [2 * of + world.rank() % 2]);
    }
    // A window has a communicator of its own, so its calls cannot take this message.
    let next = part.process_at_rank((part.rank() + 1) % part.size());
    next.send(&5);
    window.post(&[next.rank()]);
    window.start(&[(part.rank() + part.size() - 1) % part.size()]);
    window.complete();
    window.wait();
    assert_eq!(part.any_process().receive::<i32>().0, 5);
    // The communicator may be dropped before the window.
    drop(part);
    window.free();
}

/// Creates a window of endpoints, each with its own memory.
fn endpoints(world: SimpleCommunicator) {
    let sums = endpoint::each(world.endpoints(2), |mine| {
        let window = mine.create_window(vec![0; 1]);
        for to in 0..mine.size() {
            window.accumulate(&[mine.rank()], to, 0, Op::Sum);
        }
        window.fence();
        window.free()[0]
    });
    assert_eq!(sums, [15; 2]);
}

fn errors(world: SimpleCommunicator) {
    let window = world.create_window(vec![0_i32; 2]);
    for rank in [world.size(), -1] {
        assert!(matches!(
            window.try_put(&[1], rank, 0),
            Err(CallError::Rank { .. })
        ));
        assert!(matches!(
            window.try_get(rank, 0..1),
            Err(CallError::Rank { .. })
        ));
        assert!(matches!(
            window.try_flush(rank),
            Err(CallError::Rank { .. })
        ));
        assert!(matches!(
            window.try_lock(rank).err(),
            Some(CallError::Rank { .. })
        ));
        // The calls fail without effect on the epoch of valid ranks below.
        for called in [window.try_post(&[0, rank]), window.try_start(&[0, rank])] {
            assert!(matches!(called, Err(CallError::Rank { .. })));
        }
    }
    let beyond = Err(CallError::Window(
        "access to elements 1..3 of rank 2, which exposes 2 elements".into(),
    ));
    assert_eq!(window.try_put(&[1, 2], 2, 1), beyond);
    assert_eq!(window.try_get(2, 1..3).map(drop), beyond);
    assert_eq!(window.try_accumulate(&[1, 2], 2, 1, Op::Sum), beyond);
    assert!(window.try_fetch_and_op(1, 2, 2, Op::Sum).is_err());
    assert!(window.try_compare_and_swap(1, 1, 2, usize::MAX).is_err());
    assert!(window.try_get_accumulate(&[1], 2, 2, Op::Sum).is_err());
    let lock = window.lock_shared(1);
    assert!(matches!(
        window.try_lock(1).err(),
        Some(CallError::Window(_))
    ));
    assert!(window.try_lock_all().is_err());
    lock.unlock();
    window.post(&[0]);
    match world.rank() {
        0 => window.start(&[0, 1, 2]),
        _ => window.start(&[]),
    }
    window.complete();
    window.wait();
    let floats = world.create_window(vec![0.5_f32]);
    assert!(matches!(
        floats.try_accumulate(&[1.0], 0, 0, Op::Or),
        Err(CallError::Window(_))
    ));
    let flags = world.create_window(vec![true]);
    assert!(matches!(
        flags.try_accumulate(&[true], 0, 0, Op::Sum),
        Err(CallError::Window(_))
    ));
    // The failed calls had no effect.
    window.fence();
    assert_eq!(
        (window.free(), floats.free(), flags.free()),
        (vec![0; 2], vec![0.5], vec![true])
    );
}

fn dropped(world: SimpleCommunicator) {
    let window = world.create_window(vec![world.rank()]);
    let window = match world.rank() {
        1 => {
            drop(window);
            None
        }
        _ => Some(window),
    };
    world.barrier();
    if let Some(window) = window {
        let gone = "rank 1 has dropped its window";
        let told = window.try_get(1, 0..1);
        assert_eq!(told, Err(CallError::Window(gone.into())));
        let told = window.try_lock(1).err();
        assert_eq!(told, Some(CallError::Window(gone.into())));
        // The memory of other ranks is still available.
        assert_eq!(window.get(2, 0..1), [2]);
        world
            .split_by_color(Color::with_value(0))
            .unwrap()
            .barrier();
    } else {
        world.split_by_color(Color::undefined());
    }
}

fn types_differ(world: SimpleCommunicator) {
    let told = match world.rank() {
        0 => world.try_create_window(vec![0_u8]).map(drop),
        _ => world.try_create_window(vec![0_i8]).map(drop),
    };
    assert!(matches!(told, Err(CallError::Mismatch(_))), "{told:?}");
    let mut sum = 0;
    world.all_reduce_into(&1, &mut sum, SystemOperation::sum());
    assert_eq!(sum, 2);
}

#[test]
fn a_call_after_the_universe_was_dropped_panics() {
    mpi::run(2, || {
        let universe = mpi::initialize().unwrap();
        let world = universe.world();
        let window = world.create_window(vec![world.rank()]);
        let (first, second) = (world.create_window(vec![0]), world.create_window(vec![0]));
        let (lock, locks) = (first.lock_shared(0), second.lock_all());
        world.barrier();
        drop(universe);
        for told in [
            catch_unwind(AssertUnwindSafe(|| drop(window.get(0, 0..1)))),
            catch_unwind(AssertUnwindSafe(|| drop(lock.try_unlock()))),
            catch_unwind(AssertUnwindSafe(|| drop(locks.try_unlock()))),
        ] {
            let told = told.unwrap_err().downcast::<&str>().unwrap();
            assert!(told.contains("its `Universe` was dropped"), "{told}");
        }
        assert_eq!(window.with(|mine| mine[0]), window.rank());
    })
    .unwrap();
}
