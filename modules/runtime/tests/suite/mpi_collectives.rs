//! Collective calls, checked against vectors, and calls that do not match.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::places::{Place, RANKS};
use crate::common::rank_cases::collectives;
use crate::common::ranks::{everywhere, run_at};
use crate::common::{seeds, size};
use graphmap_runtime::RunError;
use graphmap_runtime::mpi::{self, Comparison, Error, Group, SplitType};

/// Random calls, some of them concurrent, on communicators that are split at random.
#[test]
fn random_calls_give_what_vectors_say() {
    let calls = size(60, 15);
    for seed in seeds(18, 1) {
        let size = 1 + seed as usize % 9;
        everywhere(size, seed, move |world| collectives(world, seed, calls));
    }
}

/// A root that needs no other rank continues, but only for a limited number of calls.
#[test]
fn a_root_is_not_far_ahead() {
    for place in RANKS {
        let far = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&far);
        run_at(place, 3, 7, move |world| {
            let far = Arc::clone(&seen);
            async move {
                for n in 0..100u32 {
                    let value = (world.rank() == 0).then_some(n);
                    assert_eq!(world.bcast(value, 0).await?, n);
                    let far_ahead = far.load(Ordering::SeqCst);
                    match world.rank() {
                        0 => far.store(n, Ordering::SeqCst),
                        2 => assert!(far_ahead <= n + 8, "{place:?}: {far_ahead} {n}"),
                        _ => {}
                    }
                }
                Ok(())
            }
        })
        .unwrap();
        assert_eq!(far.load(Ordering::SeqCst), 99);
    }
}

/// A call that has begun continues if it is not awaited, and calls may be awaited in another order.
#[test]
fn calls_begin_when_they_are_made() {
    everywhere(4, 1, |world| async move {
        drop(world.barrier());
        let first = world.allreduce(1u32, |a, b| a + b);
        let second = world.allgather(world.rank());
        assert_eq!(*second.await?, [0, 1, 2, 3]);
        assert!(first.is_done());
        let mut first = first;
        assert_eq!((&mut first).await?, 4);
        assert_eq!(first.await, Err(Error::Inactive));
        Ok(())
    });
}

#[test]
fn mismatched_calls_are_errors_on_all_ranks() {
    for shuffle in 0..10 {
        everywhere(4, shuffle, |world| async move {
            let me = world.rank();
            let is_mismatch = |error: Option<Error>| matches!(error, Some(Error::Mismatch(_)));
            let error = match me {
                2 => world.allreduce(1u8, |a, _| a).await.err(),
                _ => world.barrier().await.err(),
            };
            assert!(is_mismatch(error));
            // The root, and ranks that have its value, may have continued before.
            let error = world.bcast(Some(me), me.min(2)).await.err();
            assert!(error.is_none() || is_mismatch(error));
            world.barrier().await?;
            let error = match me {
                1 => world.allgather(1u8).await.err(),
                _ => world.allgather(1u16).await.err(),
            };
            let text = error.unwrap().to_string();
            assert!(
                text.contains("allgather of `u8`") && text.contains(file!()),
                "{text}"
            );
            let values = if me == 3 { vec![0; 5] } else { vec![0; 4] };
            let (given, wanted) = (5, 4);
            assert_eq!(
                world.alltoall(values).await,
                Err(Error::Count { given, wanted })
            );
            let (rank, size) = (9, 4);
            assert_eq!(world.gather(0u8, 9).await, Err(Error::Rank { rank, size }));
            let (given, wanted) = (0, 1);
            assert_eq!(
                world.bcast(None::<u8>, 0).await,
                Err(Error::Count { given, wanted })
            );
            // Later calls are not affected.
            assert_eq!(world.allreduce(1u8, |a, b| a + b).await?, 4);
            Ok(())
        });
    }
}

#[test]
fn missing_ranks_are_reported() {
    for place in RANKS {
        let blocked = run_at(place, 3, 3, |world| async move {
            match world.rank() {
                1 => world.recv::<u8>(0, 0).await.map(drop),
                _ => world.barrier().await,
            }
        });
        let Err(RunError::Blocked(block)) = blocked else {
            panic!("{place:?}: {blocked:?}");
        };
        let told = block.to_string();
        let (wanted, all) = match place {
            Place::One => ("(world, 2 of 3 ranks have called): ", (2, 1)),
            // Of two parts, the one with rank 0 also has rank 2 (round-robin) or rank 1 (blocks).
            Place::InTurn(2) | Place::LateInTurn(2) => {
                ("(world, 2 of 2 ranks here have called): ", (0, 3))
            }
            Place::InTurn(_) | Place::LateInTurn(_) => {
                ("(world, 1 of 1 ranks here have called): ", (0, 3))
            }
            _ => ("(world, 1 of 2 ranks here have called): ", (2, 1)),
        };
        assert!(told.contains(wanted), "{place:?}: {told}");
        assert_eq!(
            (block.cycle_len, block.others_len),
            all,
            "{place:?}: {told}"
        );
    }
}

#[test]
fn groups_become_communicators() {
    everywhere(6, 5, |world| async move {
        let me = world.rank();
        let all = world.group().clone();
        let even = all.include(&[4, 0, 2])?;
        let odd = all.exclude(&[0, 2, 4])?;
        let mine = if me % 2 == 0 { &even } else { &odd };
        let half = world.create(mine).await?.unwrap();
        assert_eq!(half.group().compare(mine), Comparison::Identical);
        assert_eq!(
            *half.allgather(me).await?,
            if me % 2 == 0 { [4, 0, 2] } else { [1, 3, 5] }
        );
        let none = world.create(&Group::all(0)).await?;
        assert!(none.is_none());
        let alone = world.alone()?;
        assert_eq!(
            (alone.size(), alone.allreduce(me, |a, b| a + b).await?),
            (1, me)
        );
        let wrong = if me == 5 { &odd } else { &all };
        let made = world.create(wrong).await;
        assert_eq!(made.is_err(), me == 5, "{made:?}");
        let error = half.create(&all).await.err();
        assert!(matches!(error, Some(Error::Group(_))), "{error:?}");
        // A message in one communicator is not visible in another.
        let copy = world.dup().await?;
        world.send(1u8, me, 0).await?;
        copy.send(2u8, me, 0).await?;
        assert_eq!(copy.recv::<u8>(mpi::ANY_SOURCE, mpi::ANY_TAG).await?.0, 2);
        assert_eq!(world.recv::<u8>(mpi::ANY_SOURCE, mpi::ANY_TAG).await?.0, 1);
        Ok(())
    });
}

#[test]
fn operations_on_groups() {
    let all = Group::all(10);
    let members = |group: &Group| group.members().collect::<Vec<_>>();
    let a = Group::of(vec![7, 1, 4]).unwrap();
    let b = all.include_ranges(&[(1, 5, 2), (8, 7, -1)]).unwrap();
    assert_eq!(members(&b), [1, 3, 5, 8, 7]);
    assert_eq!(members(&a.union(&b)), [7, 1, 4, 3, 5, 8]);
    assert_eq!(members(&a.intersection(&b)), [7, 1]);
    assert_eq!(members(&b.difference(&a)), [3, 5, 8]);
    assert_eq!(
        a.translate(&[0, 1, 2, 3], &b),
        [Some(4), Some(0), None, None]
    );
    assert_eq!(
        a.compare(&Group::of(vec![4, 1, 7]).unwrap()),
        Comparison::Similar
    );
    assert_eq!(a.compare(&b), Comparison::Unequal);
    assert!(matches!(Group::of(vec![3, 1, 3]), Err(Error::Group(_))));
    assert!(matches!(all.include(&[10]), Err(Error::Group(_))));
    assert!(matches!(
        all.include_ranges(&[(0, 9, 0)]),
        Err(Error::Group(_))
    ));
    assert!(matches!(
        all.include_ranges(&[(0, 10, 1)]),
        Err(Error::Group(_))
    ));
    assert_eq!(
        members(&all.include_ranges(&[(9, 0, -4)]).unwrap()),
        [9, 5, 1]
    );
    // Only the members that a step reaches count, even if the end and the step are large.
    let far = |range| all.include_ranges(&[range]);
    assert!(matches!(
        far((0, usize::MAX, isize::MAX)),
        Err(Error::Group(_))
    ));
    assert!(matches!(far((1, usize::MAX, 2)), Err(Error::Group(_))));
    assert_eq!(members(&far((4, 8, isize::MAX)).unwrap()), [4]);
    assert_eq!(members(&far((4, 0, isize::MIN)).unwrap()), [4]);
}

/// Communicators of the ranks in one OS process, scheduler, kind or host.
#[test]
fn communicators_of_a_place() {
    for (place, apart) in [
        (Place::One, 1),
        (Place::InTurn(3), 1),
        (Place::Late(2), 2),
        (Place::LateInTurn(3), 3),
    ] {
        run_at(place, 7, 1, move |world| async move {
            let me = graphmap_runtime::me();
            let here = world.split_type(SplitType::OsProcess, 0).await?;
            let all = here.allgather(me.os_process).await?;
            assert!(all.iter().all(|&of| of == me.os_process));
            let firsts = world.split((here.rank() == 0).then_some(0), 0).await?;
            assert_eq!(
                firsts.map(|all| all.size()),
                (here.rank() == 0).then_some(apart)
            );
            let scheduler = world
                .split_type(SplitType::Scheduler, -(me.rank as i64))
                .await?;
            let all = scheduler.allgather((me.scheduler, me.rank)).await?;
            assert!(all.iter().all(|of| of.0 == me.scheduler));
            assert!(all.is_sorted_by(|one, other| one.1 > other.1));
            assert_eq!(world.split_type(SplitType::Kind, 0).await?.size(), 7);
            // The simulated link does not know its hosts, so each OS process counts as a host.
            let host = world.split_type(SplitType::Host, 0).await?;
            assert_eq!(host.size(), here.size());
            Ok(())
        })
        .unwrap();
    }
}
