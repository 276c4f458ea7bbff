//! Communicators that are made from others, checked against lists of ranks, and large
//! communicators.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use crate::common::communicator_cases::communicators;
use crate::common::places::Place;
use crate::common::ranks::{everywhere, run_at};
use crate::common::{Random, seeds, size};
use graphmap_runtime::mpi::{ANY_SOURCE, ANY_TAG, Comparison, Error, Grid, Group, Strategy};

/// Communicators are duplicated, split, created, merged, and cut from grids, one from the other, at
/// all places.
#[test]
fn random_communicators_are_as_lists_say() {
    let steps = size(30, 8);
    for seed in seeds(10, 1) {
        let size = 1 + seed as usize % 8;
        everywhere(size, seed, move |world| communicators(world, seed, steps));
    }
}

/// The work of n ranks is proportional to n. If it were quadratic, this test would not end.
#[test]
fn large_communicators() {
    let (many, few) = (size(12_000, 50) as usize, size(1_000, 50) as usize);
    for (place, count) in [
        (Place::One, few),
        (Place::Late(2), many),
        (Place::LateInTurn(3), few),
    ] {
        let run = run_at(place, count, 1, move |world| async move {
            let (me, size) = (world.rank(), world.size());
            let same = world.create(world.group()).await?.unwrap();
            assert_eq!(same.compare(&world), Comparison::Congruent);
            // An order that only an array can represent.
            let mixed = (me as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let permuted = world.split(Some(0), mixed as i64).await?.unwrap();
            let again = world.create(permuted.group()).await?.unwrap();
            assert_eq!(again.compare(&permuted), Comparison::Congruent);
            let alone = world.create_group(permuted.group(), 0).await?.unwrap();
            assert_eq!(alone.rank(), again.rank());
            let half = alone.rank() % 2;
            let local = alone.split(Some(half as u32), 0).await?.unwrap();
            let both = local.intercommunicator(0, &alone, 1 - half, 0).await?;
            let merged = both.merge(half == 1).await?;
            assert_eq!(merged.size(), size);
            // A receive from any rank gets the source.
            let to = (merged.rank() + 1) % size;
            let sent = merged.send(me, to, 5);
            let (_, status) = merged.recv::<usize>(ANY_SOURCE, ANY_TAG).await?;
            assert_eq!((status.source + 1) % size, merged.rank());
            sent.await?;
            // Each rank waits in a call, and drops its handle.
            let mut barrier = merged.barrier();
            poll_fn(|context| Poll::Ready(Pin::new(&mut barrier).poll(context).is_ready())).await;
            drop(barrier);
            merged.barrier().await
        });
        if let Err(error) = run {
            panic!("{place:?}: {error}");
        }
    }
}

/// A rank that has dropped a communicator takes no further part in it. The others continue, even if
/// there are messages that no rank receives.
#[test]
fn communicators_are_let_go_of_at_different_times() {
    everywhere(5, 3, |world| async move {
        let me = world.rank();
        for round in 0..30 {
            let comm = world.dup().await?;
            let next = (me + 1) % 5;
            if (me + round) % 5 == 0 {
                // A message is on its way, and a call has begun.
                comm.bsend(vec![me; 10], next, 0).await?;
                drop(comm.barrier());
                drop(comm.gather(me, next));
                continue;
            }
            drop(comm.barrier());
            let all = comm.gather(me, (round + 1) % 5);
            if me == (round + 1) % 5 {
                drop(all.await);
            }
        }
        Ok::<(), Error>(())
    });
}

/// Returns the colour and the key of a rank, in one of several ways.
fn wish(way: u64, rank: usize, size: usize, seed: u64) -> (Option<u32>, i64) {
    let drawn = Random(seed + 1 + rank as u64).next();
    let (side, of_rank) = (1 + size.isqrt(), rank as i64);
    match way {
        0 => (Some((rank / side) as u32), 0),
        1 => (Some((rank % side) as u32), -of_rank),
        2 => (Some(u32::MAX - (rank / side) as u32), drawn as i64),
        3 => (Some((rank / side % 3 * 1000) as u32), of_rank % 5 - 2),
        4 => (
            (!rank.is_multiple_of(3)).then_some(7),
            i64::MAX - of_rank % 2,
        ),
        5 => (
            Some(drawn as u32 % 5).filter(|&colour| colour > 1),
            drawn as i64 >> 62,
        ),
        6 => (None, 0),
        _ => (Some(rank as u32), i64::MIN),
    }
}

/// Colours and keys of all kinds, in runs or without any order, checked against sorted lists.
#[test]
fn splits_are_as_lists_say() {
    for seed in seeds(6, 1) {
        let mut random = Random(seed + 1);
        let most = [3, 40, size(300, 40)][seed as usize % 3];
        let count = 1 + random.below(most) as usize;
        everywhere(count, seed, move |world| async move {
            let (me, size) = (world.rank(), world.size());
            for way in 0..8 {
                let (colour, key) = wish(way, me, size, seed);
                let Some(part) = world.split(colour, key).await? else {
                    assert_eq!(colour, None);
                    continue;
                };
                let mut members: Vec<usize> = (0..size)
                    .filter(|&it| wish(way, it, size, seed).0 == colour)
                    .collect();
                members.sort_by_key(|&it| wish(way, it, size, seed).1);
                let found = part.group().members().map(|member| member as usize);
                assert!(found.eq(members.iter().copied()), "{way}");
                assert_eq!(members[part.rank()], me);
                let name = format!("world.split({})", colour.unwrap());
                assert_eq!(part.name(), name);
                // The communicator has messages of its own.
                let next = (part.rank() + 1) % part.size();
                let sent = part.send((way, colour, me), next, 0);
                let ((of, same, from), _) = part
                    .recv::<(u64, Option<u32>, usize)>(ANY_SOURCE, 0)
                    .await?;
                assert_eq!(
                    (
                        of,
                        same,
                        members[(members.len() + part.rank() - 1) % members.len()]
                    ),
                    (way, colour, from)
                );
                sent.await?;
                // Splits a split communicator, whose order differs from that of the world.
                let half = part
                    .split(Some((part.rank() % 2) as u32), 0)
                    .await?
                    .unwrap();
                assert_eq!(half.size(), (part.size() + 1 - part.rank() % 2) / 2);
                assert_eq!(half.rank(), part.rank() / 2);
            }
            Ok(())
        });
    }
}

/// If ranks ask for different grids, or for different parts of one, all calls are refused, at all
/// places.
#[test]
fn ranks_agree_on_grids() {
    everywhere(12, 1, |world| async move {
        let me = world.rank();
        let is_refused = |error: Option<Error>| matches!(error, Some(Error::Topology(_)));
        for odd in [0, 5, 11] {
            let dims = if me == odd { [4, 3] } else { [3, 4] };
            let grid = Grid::new(&dims, &[true, false])?;
            assert!(is_refused(world.cartesian(&grid).await.err()));
            let grid = Grid::new(&[3, 4], &[true, me == odd])?;
            assert!(is_refused(world.cartesian(&grid).await.err()));
        }
        let large = Grid::new(&[13], &[false])?;
        assert!(is_refused(world.cartesian(&large).await.err()));
        let grid = world
            .cartesian(&Grid::new(&[3, 4], &[true, false])?)
            .await?
            .unwrap();
        for odd in [0, 5, 11] {
            let error = grid.part(&[me == odd, true]).await.unwrap_err();
            let wanted = "the ranks of a grid requested different parts";
            assert!(error.to_string().contains(wanted), "{error}");
            let error = grid
                .part(if me == odd { &[] } else { &[true, false] })
                .await
                .err();
            assert!(is_refused(error));
        }
        assert!(is_refused(grid.part(&[true]).await.err()));
        let error = match me {
            3 => grid.part(&[true, false]).await.err(),
            _ => grid.communicator().split(Some(0), 0).await.err(),
        };
        assert!(matches!(error, Some(Error::Mismatch(_))));
        let row = grid.part(&[false, true]).await?;
        assert_eq!(
            row.communicator().name(),
            format!("world.cartesian.part({})", me / 4)
        );
        assert_eq!(
            *row.communicator().allgather(me).await?,
            [0, 1, 2, 3].map(|at| me / 4 * 4 + at)
        );
        Ok(())
    });
}

/// A program chooses the form in which groups are kept, and communicators use that form.
#[test]
fn groups_are_kept_by_a_strategy() {
    let count = size(120, 60) as usize;
    everywhere(count, 1, move |world| async move {
        // Members without a pattern, some of them in another order.
        let is_in = |&rank: &u32| rank.wrapping_mul(0x9e37_79b1) >> 30 != 1;
        let mut members: Vec<u32> = (0..count as u32).filter(is_in).collect();
        let end = members.len();
        members[end / 2..].sort_by_key(|rank| rank.wrapping_mul(0x85eb_ca6b));
        let group = Group::of(members.clone())?;
        let space = group.kept_by(Strategy::Space);
        let time = group.kept_by(Strategy::Time);
        assert!(space.bytes() <= group.bytes() && space.bytes() < time.bytes());
        for (strategy, like) in [
            (Strategy::Space, &space),
            (Strategy::Time, &time),
            (Strategy::Hybrid { alpha: 0.0 }, &space),
            (Strategy::Hybrid { alpha: 1.0 }, &time),
            (Strategy::default(), &group),
        ] {
            let kept = group.kept_by(strategy);
            assert_eq!(kept.bytes(), like.bytes(), "{strategy:?}");
            assert!(kept.members().eq(members.iter().copied()));
            assert_eq!(kept.compare(&group), Comparison::Identical);
            let Some(made) = world.create(&kept).await? else {
                assert!(!group.has(world.rank() as u32));
                continue;
            };
            assert_eq!(made.group().bytes(), like.bytes(), "{strategy:?}");
            let again = made
                .create(&made.group().kept_by(Strategy::Time))
                .await?
                .unwrap();
            assert_eq!(again.group().bytes(), time.bytes());
            let next = (again.rank() + 1) % again.size();
            let sent = again.send(again.rank(), next, 0);
            let (from, status) = again.recv::<usize>(ANY_SOURCE, 0).await?;
            assert_eq!(
                (from, (from + 1) % again.size()),
                (status.source, again.rank())
            );
            sent.await?;
        }
        Ok(())
    });
}
