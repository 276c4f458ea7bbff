//! Communicators that are made of others, against lists of ranks; and large ones.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use crate::common::communicator_cases::communicators;
use crate::common::ranks::{Where, everywhere, run_at};
use crate::common::{seeds, size};
use graphmap_runtime::mpi::{ANY_SOURCE, ANY_TAG, Comparison, Error};

/// Duplicated, split, created, put together, cut from grids, one of the other, wherever ranks are.
#[test]
fn random_communicators_are_as_lists_say() {
    let steps = size(30, 8);
    for seed in seeds(30, 1) {
        let size = 1 + seed as usize % 8;
        everywhere(size, seed, move |world| communicators(world, seed, steps));
    }
}

/// What n ranks do together takes steps in proportion to n: with their square, this would not end.
#[test]
fn large_communicators() {
    let count = size(20_000, 50) as usize;
    for place in [Where::Together, Where::Apart(2), Where::ApartInTurn(3)] {
        let run = run_at(place, count, 1, move |world| async move {
            let (me, size) = (world.rank(), world.size());
            let same = world.create(world.group()).await?.unwrap();
            assert_eq!(same.compare(&world), Comparison::Congruent);
            // An order that no form but an array has.
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
            // Who waits for anybody hears who sends.
            let to = (merged.rank() + 1) % size;
            let sent = merged.send(me, to, 5);
            let (_, status) = merged.recv::<usize>(ANY_SOURCE, ANY_TAG).await?;
            assert_eq!((status.source + 1) % size, merged.rank());
            sent.await?;
            // Each waits in a call, and lets go of it.
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

/// Who has let go of a communicator has no more to do with it; the others go on, also with messages that nobody receives.
#[test]
fn communicators_are_let_go_of_at_different_times() {
    everywhere(5, 3, |world| async move {
        let me = world.rank();
        for round in 0..30 {
            let comm = world.dup().await?;
            let next = (me + 1) % 5;
            if (me + round) % 5 == 0 {
                // A message of it is on its way, and a call of it has begun.
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
