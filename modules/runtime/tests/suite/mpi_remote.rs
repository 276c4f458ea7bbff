//! Messages between ranks at each place: on one scheduler, on several threads, and in several OS
//! processes whose frames arrive late.

use crate::common::places::{Place, RANKS};
use crate::common::rank_cases::{Numbered, messages, persistent};
use crate::common::ranks::{everywhere, run_at};
use crate::common::{seeds, size};
use graphmap_runtime::mpi::{Error, Request};
use graphmap_runtime::{RunError, yield_now};

/// Sends messages of all modes and sizes. Each must arrive once, and in the order in which its
/// sender sent it.
#[test]
fn random_messages_come_once_and_in_order() {
    let each = size(60, 8);
    for seed in seeds(10, 2) {
        let count = 2 + seed as usize % 5;
        everywhere(count, seed, move |world| messages(world, seed, each));
    }
}

/// Starts persistent requests repeatedly.
#[test]
fn persistent_requests() {
    for count in [1, 2, 5] {
        everywhere(count, 3, |world| persistent(world, 8));
    }
}

/// Receives slices into slices. A message that does not fit and a wrong type are errors.
#[test]
fn slices_and_types() {
    everywhere(3, 11, |world| async move {
        let (me, next, before) = (world.rank(), (world.rank() + 1) % 3, (world.rank() + 2) % 3);
        let large: Vec<u32> = (0..50_000).map(|n| n * me as u32).collect();
        let sent = world.send_slice(&large, next, 1);
        let mut room = vec![0u32; 60_000];
        let status = world.recv_into(&mut room, before, 1).await?;
        assert_eq!((status.source, status.count), (before, 50_000));
        assert!((0..50_000).all(|n| room[n as usize] == n * before as u32));
        sent.await?;
        world.send_slice(&[1u16, 2, 3], next, 2).await?;
        let mut short = [0u16; 2];
        let truncated = Error::Truncated { sent: 3, room: 2 };
        assert_eq!(world.recv_into(&mut short, before, 2).await, Err(truncated));
        assert_eq!(short, [1, 2]);
        world.send(String::from("text"), next, 3).await?;
        let wrong = world.recv::<u64>(before, 3).await.unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "a message of type `alloc::string::String` was received as `u64`"
        );
        // The errors above leave the communicator usable.
        world.send((), next, 4).await?;
        world.recv::<()>(before, 4).await?;
        Ok(())
    });
}

/// Checks that a ready send fails unless a receive is already posted.
#[test]
fn ready_sends() {
    everywhere(4, 5, |world| async move {
        let partner = world.rank() ^ 1;
        assert_eq!(world.rsend(1u8, partner, 0).await, Err(Error::NotReady));
        let receive = world.recv::<Vec<u8>>(partner, 1);
        world.barrier().await?;
        world.rsend(vec![7u8; 100_000], partner, 1).await?;
        assert_eq!(receive.await?.0, vec![7u8; 100_000]);
        Ok(())
    });
}

/// Uses each new communicator at once. A message must wait until the receiver has created the
/// communicator too.
#[test]
fn new_communicators_are_used_at_once() {
    for seed in seeds(8, 2) {
        everywhere(6, seed, |world| async move {
            let me = world.rank();
            let mut all = world.dup().await?;
            for round in 0..5 {
                let half = all.split(Some(me as u32 % 2), -(me as i64)).await?.unwrap();
                let to = half.size() - 1 - half.rank();
                half.bsend((round, me), to, 9).await?;
                let ((of, from), _) = half.recv::<(i32, usize)>(to, 9).await?;
                assert_eq!((of, from % 2), (round, me % 2));
                let sum = half.allreduce(me, |a, b| a + b).await?;
                assert_eq!(sum, if me % 2 == 0 { 6 } else { 9 });
                all = all.dup().await?;
            }
            Ok(())
        });
    }
}

/// Sends more than the credit permits to a rank that starts to receive late.
#[test]
fn a_flood_of_messages() {
    let count = size(5000, 50);
    everywhere(2, 3, move |world| async move {
        if world.rank() == 0 {
            for n in 0..count {
                // Every second send is buffered, and completes without a receive.
                match n % 2 {
                    0 => world.bsend((n, vec![1u8; 1000]), 1, 0).await?,
                    _ => world.send((n, vec![1u8; 1000]), 1, 0).await?,
                }
            }
            return Ok(());
        }
        for _ in 0..20 {
            yield_now().await;
        }
        for n in 0..count {
            assert_eq!(world.recv::<Numbered>(0, 0).await?.0.0, n);
        }
        Ok(())
    });
}

/// Checks that a value is moved between threads, and not copied.
#[test]
fn values_are_moved_between_threads() {
    run_at(Place::Threads(2), 2, 1, |world| async move {
        if world.rank() == 0 {
            let text = vec![1u64; 100_000];
            let address = text.as_ptr().addr() as u64;
            world.send(text, 1, 3).await?;
            world.send(address, 1, 4).await
        } else {
            let (text, _) = world.recv::<Vec<u64>>(0, 3).await?;
            let (address, _) = world.recv::<u64>(0, 4).await?;
            assert_eq!(text.as_ptr().addr() as u64, address);
            Ok(())
        }
    })
    .unwrap();
}

/// Checks the report of a cycle: each call with its peer, tag and source line.
#[test]
fn cycles_are_reported_with_their_lines() {
    for place in RANKS {
        let blocked = run_at(place, 4, 1, |world| async move {
            let next = (world.rank() + 1) % world.size();
            match world.rank() {
                3 => world.recv::<u8>(next, 5).await.map(drop),
                _ => world.ssend(0u8, next, 7).await,
            }
        });
        let Err(RunError::Blocked(block)) = blocked else {
            panic!("{place:?}: {blocked:?}");
        };
        assert_eq!(
            (block.cycle_len, block.others_len),
            (4, 0),
            "{place:?}: {block}"
        );
        let told = block.to_string();
        assert!(
            told.contains("waits in send (world, to rank 1, tag 7): "),
            "{told}"
        );
        assert!(
            told.contains("waits in receive (world, from rank 0, tag 5): "),
            "{told}"
        );
        assert!(told.contains("mpi_remote.rs:"), "{told}");
    }
}

/// Counts unreceived messages, wherever they are when the run ends.
#[test]
fn unreceived_messages_are_counted() {
    for place in RANKS {
        let report = run_at(place, 3, 1, |world| async move {
            let next = (world.rank() + 1) % 3;
            world.bsend(7u8, next, 0).await?;
            // Above the eager limit, so the message is still at its sender when the run ends.
            world.bsend(vec![0u8; 100_000], next, 1).await?;
            drop(world.ssend(1u8, next, 2));
            Ok(())
        });
        let unreceived = report.unwrap().unreceived.unwrap();
        assert_eq!(unreceived.messages, 9, "{place:?}: {}", unreceived.first);
        assert!(
            unreceived.first.starts_with("from rank "),
            "{}",
            unreceived.first
        );
    }
}

/// Checks that a send to a remote rank cannot be cancelled, because a receive there may have
/// matched it.
#[test]
fn remote_sends_are_not_cancelled() {
    run_at(Place::Late(2), 2, 1, |world| async move {
        if world.rank() == 0 {
            assert!(!world.ssend(1u8, 1, 0).cancel());
            return world.send(2u8, 1, 0).await;
        }
        assert_eq!(world.recv::<u8>(0, 0).await?.0, 1);
        assert_eq!(world.recv::<u8>(0, 0).await?.0, 2);
        Ok(())
    })
    .unwrap();
}
