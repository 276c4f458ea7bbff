//! Windows (one-sided communication) at each place: random accesses compared with a simple model,
//! and errors.

use crate::common::places::{Place, RANKS};
use crate::common::ranks::{everywhere, run_at};
use crate::common::window_cases::{accesses, pieces, shared};
use crate::common::{Random, forget, seeds, size};
use graphmap_runtime as rt;
use rt::mpi::{self, Communicator, Error, Op, Request};
use rt::{DecodeError, Decoder, Encoder, Payload, RunError, yield_now};

#[test]
fn random_accesses_do_what_a_plain_model_does() {
    let (rounds, each) = (size(6, 2), size(8, 3));
    for seed in seeds(12, 2) {
        let count = 1 + seed as usize % 5;
        everywhere(count, seed, move |world| {
            accesses(world, seed, rounds, each)
        });
    }
}

/// Attaches and detaches memory at random. While memory is attached, its elements must be those of
/// a simple model.
#[test]
fn memory_is_attached_and_detached() {
    for seed in seeds(10, 2) {
        let (count, rounds) = (1 + seed as usize % 5, size(8, 3));
        everywhere(count, seed, move |world| pieces(world, seed, rounds));
    }
}

/// Accesses memory that is not attached, which must have no effect. A window with memory from the
/// start accepts no more.
#[test]
fn errors_with_pieces_are_reported() {
    everywhere(3, 1, |world| async move {
        let (me, next) = (world.rank(), (world.rank() + 1) % 3);
        let window = world.dynamic_window::<u64>().await?;
        let (first, second) = (
            window.attach(vec![me as u64; 4])?,
            window.attach(vec![9; 4])?,
        );
        assert_eq!((window.len_of(me), first == second), (None, false));
        world.barrier().await?;
        // From one piece of memory into the other, and beyond both.
        for (place, count) in [
            (first, 6),
            (first + 3, 3),
            (second + 4, 1),
            (usize::MAX, 1),
            (1 << 40, 0),
        ] {
            let there = window.get(next, place..place.saturating_add(count)).await;
            let put = window.put(vec![1; count], next, place).await;
            let flushed = window.flush(next).await;
            match there {
                // An access to no elements outside of all memory.
                Ok(there) => assert!(there.is_empty()),
                Err(told) => assert!(told.to_string().contains("not in one piece"), "{told}"),
            }
            assert!(put.is_err() || flushed.is_err(), "{place} {count}");
            window.flush(next).await?;
        }
        let lock = window.lock(next).await?;
        let put = window.put([1], next, second + 4).await;
        assert!(put.is_err() || lock.unlock().await.is_err());
        let told = window.with(|_| ()).unwrap_err();
        assert!(told.to_string().contains("with_attached"), "{told}");
        let told = window.with_attached(first + 1, |_| ()).unwrap_err();
        assert_eq!(
            told.to_string(),
            "no attached memory begins at this displacement"
        );
        let within = window.with_attached(first, |_| window.attach(Vec::new()))?;
        assert!(within.unwrap_err().to_string().contains("borrowed"));
        // Elements of size zero can be more than there are displacements.
        let units = world.dynamic_window::<()>().await?;
        let most = units.attach(vec![(); usize::MAX - 2])?;
        let told = units.attach(vec![(); 2]).unwrap_err();
        assert!(
            told.to_string().starts_with("no displacements are left"),
            "{told}"
        );
        assert_eq!(units.get(me, most..2).await?.len(), 2);
        window.fence().await?;
        window.with_attached(first, |there| assert_eq!(*there, [me as u64; 4]))?;
        assert_eq!(window.detach(first)?, [me as u64; 4]);
        let fixed = world.window(vec![0u8; 3]).await?;
        let told = fixed.attach(vec![1]).unwrap_err();
        assert!(told.to_string().contains("dynamic_window"), "{told}");
        assert!(fixed.detach(0).is_err());
        let told = match me {
            0 => world.window(vec![0u64]).await.map(drop),
            _ => world.dynamic_window::<u64>().await.map(drop),
        };
        assert!(matches!(told, Err(Error::Mismatch(_))), "{told:?}");
        Ok(())
    });
}

/// Shares memory between the ranks of one OS process, on any number of threads.
#[test]
fn memory_is_shared_within_an_os_process() {
    let times = size(100, 5);
    for seed in seeds(10, 1) {
        let count = 1 + seed as usize % 6;
        everywhere(count, seed, move |world| shared(world, times));
    }
    everywhere(4, 2, |world| async move {
        let here = world.split_type(mpi::SplitType::OsProcess, 0).await?;
        let told = match here.rank() {
            0 => here.shared_window(vec![1u8]).await.map(drop),
            _ => here.shared_window(vec![1u16]).await.map(drop),
        };
        let is_alone = here.size() == 1;
        assert_eq!(
            matches!(told, Err(Error::Mismatch(_))),
            !is_alone,
            "{told:?}"
        );
        here.barrier().await
    });
}

/// Updates one element from all ranks. No update may be lost, and each rank must see different
/// values.
#[test]
fn updates_of_one_element_are_atomic() {
    let times = size(50, 3);
    everywhere(5, 3, move |world| async move {
        let window = world.window(vec![0u64; 2]).await?;
        let mut seen = Vec::new();
        for _ in 0..times {
            seen.push(window.fetch_and_op(1, 2, 0, Op::Sum).await?);
            drop(window.accumulate([1], 2, 1, Op::Sum));
        }
        // Compares and swaps until it succeeds.
        loop {
            let there = window.get(2, 0..1).await?[0];
            if window.compare_and_swap(there, there + 1, 2, 0).await? == there {
                break;
            }
            yield_now().await;
        }
        assert!(seen.is_sorted_by(|a, b| a < b));
        let all = world.gather(seen, 0).await?;
        window.fence().await?;
        if let Some(all) = all {
            let mut all = all.concat();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len() as u64, 5 * times);
        }
        let mine = window.free().await?;
        if world.rank() == 2 {
            assert_eq!(mine, [5 * times + 5, 5 * times]);
        }
        Ok(())
    });
}

/// Checks that an exclusive lock excludes all other locks, and that elements do not change under a
/// shared lock.
#[test]
fn locks() {
    let times = size(12, 2);
    for seed in seeds(6, 1) {
        everywhere(4, seed, move |world| async move {
            let window = world.window(vec![0u64; 3]).await?;
            let mut random = Random(seed * 100 + world.rank() as u64 + 1);
            for round in 0..times {
                let target = random.below(4) as usize;
                match (random.below(4), round) {
                    (0, _) => {
                        let shared = window.lock_shared(target).await?;
                        let before = window.get(target, 0..2).await?;
                        yield_now().await;
                        assert_eq!(window.get(target, 0..2).await?, before);
                        assert_eq!(before[0], before[1]);
                        shared.unlock().await?;
                    }
                    (1, _) => {
                        let all = window.lock_all().await?;
                        let there = window.get(target, 0..2).await?;
                        assert_eq!(there[0], there[1]);
                        all.unlock().await?;
                    }
                    // Requests a lock and drops the request.
                    (2, _) => drop(window.lock(target)),
                    _ => {}
                }
                let target = round as usize % 4;
                let alone = window.lock(target).await?;
                let there = window.get(target, 0..1).await?[0];
                window.put([there + 1], target, 0).await?;
                yield_now().await;
                window.put([there + 1], target, 1).await?;
                match round % 2 {
                    0 => alone.unlock().await?,
                    _ => drop(alone),
                }
            }
            window.fence().await?;
            let sum = window.with(|mine| mine[0])?;
            let sum = world.allreduce(sum, |a, b| a + b).await?;
            assert_eq!(sum, 4 * times);
            Ok(())
        });
    }
}

/// Exposes memory to some ranks (`post`, `wait`), which access it in an epoch (`start`,
/// `complete`).
#[test]
fn some_open_their_memory_to_others() {
    everywhere(5, 7, |world| async move {
        let (me, count) = (world.rank(), world.size());
        let window = world.window(vec![0u32; count]).await?;
        let (next, last) = ((me + 1) % count, (me + count - 1) % count);
        for round in 1..4 {
            window.post(&[last, next]).await?;
            window.start(&[next, last]).await?;
            window.put([round], next, me).await?;
            window.put([round * 10], last, me).await?;
            window.complete().await?;
            window.wait().await?;
            let mine = window.get(me, 0..count).await?;
            assert_eq!((mine[last], mine[next]), (round, round * 10));
            world.barrier().await?;
        }
        Ok(())
    });
}

/// Calls `post` or `start` with an invalid rank. The next epochs must work as if the call had not
/// been made.
#[test]
fn post_and_start_with_a_wrong_rank_begin_nothing() {
    everywhere(2, 3, |world| async move {
        let window = world.window(vec![0]).await?;
        let wrong = Err(Error::Rank { rank: 99, size: 2 });
        if world.rank() == 0 {
            assert_eq!(window.post(&[1, 99]).await, wrong);
            for round in 1..4 {
                window.post(&[1]).await?;
                window.wait().await?;
                assert_eq!(window.with(|mine| mine[0])?, round);
            }
        } else {
            assert_eq!(window.start(&[0, 99]).await, wrong);
            for round in 1..4 {
                window.start(&[0]).await?;
                yield_now().await;
                window.put([round], 0, 0).await?;
                window.complete().await?;
            }
        }
        Ok(())
    });
}

/// Accesses memory that does not exist. The access fails at the origin, and `wait` returns at all
/// targets.
#[test]
fn complete_with_an_error_ends_the_epoch() {
    everywhere(3, 4, |world| async move {
        let window = world.dynamic_window::<u8>().await?;
        if world.rank() == 2 {
            window.start(&[0, 1]).await?;
            let put = window.put([1], 0, 5).await;
            assert!(put.is_err() || window.complete().await.is_err());
            // If the put failed at once, the epoch is still open.
            return window.complete().await;
        }
        window.post(&[2]).await?;
        window.wait().await
    });
}

/// Makes invalid accesses, which must have no effect, and checks the errors.
#[test]
fn errors_are_reported() {
    everywhere(3, 1, |world| async move {
        let me = world.rank();
        let window = world.window(vec![1.5f64; me + 2]).await?;
        assert_eq!(window.len_of(2), Some(4));
        assert_eq!(window.len_of(3), None);
        let beyond = window.put([0.0; 3], 1, 1).await.unwrap_err();
        assert_eq!(
            beyond.to_string(),
            "access to elements 1..4 of rank 1, which exposes 3 elements"
        );
        // Inverted ranges, whose begin is within the memory or beyond it.
        for (begin, end) in [(2, 1), (5, 1)] {
            let inverted = window.get(1, begin..end).await.unwrap_err();
            assert_eq!(
                inverted.to_string(),
                format!(
                    "access to elements {begin}..{end} of rank 1: the range ends before it \
                     begins"
                )
            );
        }
        let wraps = window.put([0.0; 3], 1, usize::MAX).await;
        assert!(matches!(wraps, Err(Error::Window(_))));
        let none = window.get(3, 0..1).await;
        assert_eq!(none, Err(Error::Rank { rank: 3, size: 3 }));
        let bits = window.accumulate([0.0], 1, 0, Op::And).await.unwrap_err();
        assert_eq!(bits.to_string(), "And is not defined for `f64`");
        let once = window.lock(1).await?;
        let twice = window.lock(1).await.unwrap_err();
        assert_eq!(
            twice.to_string(),
            "this rank has already locked the memory of that rank"
        );
        once.unlock().await?;
        let within = window.with(|mine| {
            mine[0] = 2.5;
            // The memory of this rank, which `with` has borrowed.
            window.with(|mine| mine.len())
        })?;
        assert_eq!(
            within.unwrap_err().to_string(),
            "the memory of this rank is borrowed by `with`"
        );
        window.fence().await?;
        assert_eq!(window.get((me + 1) % 3, 0..1).await?, [2.5]);
        let mut told = window.get(0, 0..1);
        (&mut told).await?;
        assert!(told.is_done() && !told.is_active());
        assert_eq!((&mut told).await, Err(Error::Inactive));
        window.free().await?;
        Ok(())
    });
}

/// Exposes elements of different types. All ranks get an error and can continue.
#[test]
fn different_types() {
    everywhere(3, 1, |world| async move {
        let error = match world.rank() {
            1 => world.window(vec![0u32; 3]).await.map(drop).unwrap_err(),
            _ => world.window(vec![0u64; 3]).await.map(drop).unwrap_err(),
        };
        assert!(matches!(error, Error::Mismatch(_)), "{error}");
        assert!(error.to_string().contains("window of `u32`"), "{error}");
        world.barrier().await
    });
}

/// Drops a window in one rank. Accesses by the other ranks must fail, also while they wait for a
/// lock of the window.
#[test]
fn dropped_windows_are_errors_on_other_ranks() {
    everywhere(4, 1, |world| async move {
        let me = world.rank();
        let window = world.window(vec![me as u64; 2]).await?;
        if me == 0 {
            let locked = window.lock(0).await?;
            world.barrier().await?;
            // The other ranks wait for the lock, or are about to wait.
            for _ in 0..20 {
                yield_now().await;
            }
            forget(locked);
            drop(window);
            world.barrier().await?;
            return Ok(());
        }
        world.barrier().await?;
        let error = window.lock(0).await.map(drop).unwrap_err();
        assert_eq!(error.to_string(), "rank 0 has dropped its window");
        world.barrier().await?;
        assert!(window.get(0, 0..1).await.is_err());
        // If the error is not known at once, `flush` returns it.
        let put = window.put([1], 0, 0).await;
        let flushed = window.flush(0).await;
        assert!(put.is_err() || flushed.is_err());
        assert_eq!(window.get(me, 0..1).await?, [me as u64]);
        Ok(())
    });
}

/// Forgets locks, which are released with the window, and drops or forgets requests.
#[test]
fn what_is_forgotten() {
    everywhere(3, 9, |world| async move {
        let me = world.rank();
        let window = world.window(vec![0u64; 1000]).await?;
        for target in 0..3 {
            drop(window.get(target, 0..1000));
            forget(window.get(target, 0..500));
            let mut polled = window.get(target, 0..10);
            drop(polled.test().await?);
            assert!(!polled.cancel());
        }
        let second = world.window(vec![0u8]).await?;
        if me == 1 {
            forget(second.lock(2).await?);
            forget(second.lock_shared(0));
            drop(second);
            world.barrier().await?;
        } else {
            world.barrier().await?;
            second.lock(2).await?.unlock().await?;
            drop(second.lock(0).await?);
        }
        window.fence().await?;
        drop(window);
        Ok(())
    });
}

/// Starts more accesses than may be in progress at once.
#[test]
fn a_flood_of_puts() {
    let count = size(300, 3) as usize;
    everywhere(2, 5, move |world| async move {
        let window = world.window(vec![0u64; 4096]).await?;
        for n in 0..count {
            let values = vec![n as u64; 2048];
            window.put(values, 1 - world.rank(), n % 2 * 2048).await?;
        }
        window.fence().await?;
        let (even, odd) = ((count - 1) / 2 * 2, (count - 2) / 2 * 2 + 1);
        window.with(|mine| {
            assert!(mine[..2048].iter().all(|&there| there == even as u64));
            assert!(mine[2048..].iter().all(|&there| there == odd as u64));
        })
    });
}

/// Waits for a lock that is never released. The run must report the call.
#[test]
fn locks_never_released_are_reported() {
    for place in RANKS {
        let blocked = run_at(place, 2, 1, |world| async move {
            let window = world.window(vec![0u8]).await?;
            if world.rank() == 0 {
                let locked = window.lock(1).await?;
                world.send((), 1, 0).await?;
                world.recv::<()>(1, 5).await?;
                return locked.unlock().await;
            }
            world.recv::<()>(0, 0).await?;
            window.lock(1).await?.unlock().await
        });
        let Err(RunError::Blocked(block)) = blocked else {
            panic!("{place:?}: {blocked:?}");
        };
        let told = block.to_string();
        assert!(
            told.contains("waits in lock (world.window, rank 1): ")
                && told.contains("tests/suite/mpi_windows.rs:"),
            "{told}"
        );
        assert!(
            told.contains("waits in receive (world, from rank 1, tag 5): "),
            "{told}"
        );
    }
}

/// Checks that the report of a deadlock names the call of the window and its source position.
#[test]
fn epochs_that_never_end_are_reported() {
    for place in RANKS {
        for (call, starts) in [("start", true), ("wait", false)] {
            let blocked = run_at(place, 2, 1, move |world| async move {
                let window = world.window(vec![0u8]).await?;
                if world.rank() == 1 {
                    return world.barrier().await;
                }
                match starts {
                    true => window.start(&[1]).await,
                    false => {
                        window.post(&[1]).await?;
                        window.wait().await
                    }
                }
            });
            let Err(RunError::Blocked(block)) = blocked else {
                panic!("{place:?}: {blocked:?}");
            };
            let told = block.to_string();
            let wanted = format!("waits in {call} (world.window, rank 1): ");
            let (_, at) = told.split_once(&wanted).unwrap_or_else(|| panic!("{told}"));
            let at = at.lines().next().unwrap_or_default();
            assert!(at.contains("tests/suite/mpi_windows.rs:"), "{told}");
        }
    }
}

/// An element with user code for its encoding, which panics or fails for some values.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Odd(u8);

impl Payload for Odd {
    fn size(&self) -> usize {
        1
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        assert_ne!(self.0, 1, "asked to encode");
        to.copy(&[self.0]);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let [kind] = from.take()?;
        assert_ne!(kind, 2, "asked to decode");
        match kind {
            3 => Err(from.error("an odd one")),
            kind => Ok(Odd(kind)),
        }
    }
}

async fn odd(world: Communicator, kind: u8) -> Result<(), Error> {
    let window = world.window(vec![Odd(0); 2]).await?;
    let next = (world.rank() + 1) % world.size();
    drop(window.put([Odd(kind)], next, 0));
    window.fence().await?;
    assert_eq!(window.get(next, 0..2).await?, [Odd(kind), Odd(0)]);
    window.free().await.map(drop)
}

/// Puts elements that cannot be encoded or decoded. If they leave their OS process, the run must
/// fail with the cause.
#[test]
fn elements_that_cannot_cross_end_the_run() {
    for place in RANKS {
        for (kind, why) in [
            (0, ""),
            (1, "asked to encode"),
            (2, "asked to decode"),
            (3, "an odd one"),
        ] {
            let end = run_at(place, 3, kind.into(), move |world| odd(world, kind));
            let crosses = matches!(place, Place::Late(_) | Place::LateInTurn(_));
            match end {
                Ok(_) => assert!(kind == 0 || !crosses, "{place:?} {kind}"),
                Err(RunError::Failed(failure)) => {
                    assert!(crosses && kind > 0, "{place:?} {kind}: {failure:?}");
                    assert!(failure.message.contains(why), "{place:?}: {failure:?}");
                }
                Err(error) => panic!("{place:?} {kind}: {error}"),
            }
        }
    }
}

/// Uses several windows of different communicators at the same time.
#[test]
fn windows_of_parts() {
    everywhere(6, 2, |world| async move {
        let me = world.rank();
        let half = world
            .split(Some(me as u32 % 2), 0)
            .await?
            .ok_or(Error::Inactive)?;
        let (first, second) = (
            half.window(vec![0usize; 3]).await?,
            world.window(vec![0usize; 6]).await?,
        );
        for target in 0..3 {
            drop(first.put([me + 1], target, half.rank()));
        }
        for target in 0..6 {
            drop(second.put([me + 1], target, me));
        }
        first.fence().await?;
        second.fence().await?;
        let mine = first.free().await?;
        assert_eq!(mine, [me % 2 + 1, me % 2 + 3, me % 2 + 5]);
        assert_eq!(second.free().await?, [1, 2, 3, 4, 5, 6]);
        let several: Vec<_> = {
            let third = half.window(vec![half.rank()]).await?;
            let gets: Vec<_> = (0..3).map(|target| third.get(target, 0..1)).collect();
            let several = mpi::wait_all(gets).await;
            third.fence().await?;
            several
        };
        for (rank, got) in several.into_iter().enumerate() {
            assert_eq!(got?, [rank]);
        }
        Ok(())
    });
}
