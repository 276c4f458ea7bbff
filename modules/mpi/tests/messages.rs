//! Messages that no example of rsmpi covers: tags, modes, probes, requests of several kinds, and
//! errors.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use graphmap_runtime::RunError;
use mpi::CallError;
use mpi::collective::UserOperation;
use mpi::point_to_point as p2p;
use mpi::request::{CancelGuard, WaitGuard};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

/// Runs ranks, and initializes them.
fn ranks(count: usize, rank: impl Fn(SimpleCommunicator) + Send + Sync + 'static) {
    let ended = mpi::run(count, move || {
        let universe = mpi::initialize().unwrap();
        rank(universe.world());
    });
    if let Err(error) = ended {
        panic!("{error}");
    }
}

fn failure(ended: Result<graphmap_runtime::Report, RunError>) -> String {
    match ended {
        Err(error) => error.to_string(),
        Ok(_) => panic!("the run has not failed"),
    }
}

#[test]
fn a_receive_takes_the_message_with_its_tag() {
    ranks(2, |world| {
        let other = world.process_at_rank(1 - world.rank());
        if world.rank() == 0 {
            for tag in 1..=4 {
                other.send_with_tag(&[tag; 3], tag);
            }
            other.synchronous_send_with_tag(&5_i32, 5);
            other.buffered_send_with_tag(&6_i32, 6);
            other.synchronous_send(&7_i32);
            return;
        }
        let mut room = [0; 8];
        let status = other.receive_into_with_tag(&mut room, 3);
        assert_eq!(&room[..4], [3, 3, 3, 0]);
        assert_eq!((status.tag(), status.source_rank()), (3, 0));
        assert_eq!(status.count(i32::equivalent_datatype()), 3);
        assert_eq!(status.count(u8::equivalent_datatype()), 12);
        // The message is not a whole number of `u64`.
        assert!(status.count(u64::equivalent_datatype()) < 0);
        assert_eq!(other.receive_vec_with_tag::<i32>(4).0, [4; 3]);
        let (message, status) = other.matched_probe_with_tag(2);
        assert_eq!(status.tag(), 2);
        assert_eq!(message.matched_receive_into(&mut room[5..]).tag(), 2);
        assert_eq!(room[5..], [2; 3]);
        assert_eq!(other.probe().tag(), 1);
        assert_eq!(other.probe_with_tag(1).tag(), 1);
        assert_eq!(other.receive_vec::<i32>().0, [1; 3]);
        assert_eq!(world.any_process().receive_with_tag::<i32>(5).0, 5);
        assert_eq!(other.receive_with_tag::<i32>(6).0, 6);
        let (message, _) = other.matched_probe();
        assert!(!message.is_no_proc());
        assert_eq!(message.matched_receive::<i32>().0, 7);
    });
}

#[test]
fn requests_with_tags_and_of_every_mode() {
    ranks(2, |world| {
        let other = world.process_at_rank(1 - world.rank());
        let mine = [world.rank() * 10, world.rank() * 10 + 1];
        let (mut first, mut second, mut third) = ([0; 2], [0; 2], [0; 2]);
        mpi::request::scope(|scope| {
            let receives = [
                other.immediate_receive_into_with_tag(scope, &mut first, 1),
                other.immediate_receive_into_with_tag(scope, &mut second, 2),
                other.immediate_receive_into_with_tag(scope, &mut third, 3),
            ];
            world.barrier();
            drop(WaitGuard::from(
                other.immediate_buffered_send_with_tag(scope, &mine, 3),
            ));
            let synchronous = other.immediate_synchronous_send_with_tag(scope, &mine, 1);
            // SAFETY: the other rank has begun its receives, because the barrier is complete.
            let ready = unsafe { other.immediate_ready_send_with_tag(scope, &mine, 2) };
            assert_eq!(*ready.wait_for_data(), mine);
            for (receive, tag) in receives.into_iter().zip(1..) {
                let status = receive.wait();
                assert_eq!((status.tag(), status.source_rank()), (tag, other.rank()));
            }
            synchronous.wait_without_status();
        });
        let theirs = [other.rank() * 10, other.rank() * 10 + 1];
        assert_eq!([first, second, third], [theirs; 3]);
        let future = other.immediate_receive_with_tag::<u8>(9);
        other.send_with_tag(&1_u8, 9);
        assert_eq!(future.get().1.tag(), 9);
        assert!(other.immediate_probe_with_tag(4).is_none());
        assert!(other.immediate_matched_probe_with_tag(4).is_none());
    });
}

#[test]
fn sending_and_receiving_in_one_call() {
    ranks(3, |world| {
        let (rank, size) = (world.rank(), world.size());
        let next = world.process_at_rank((rank + 1) % size);
        let before = world.process_at_rank((rank + size - 1) % size);
        let (value, status): (i32, _) = p2p::send_receive_with_tags(&rank, &next, 4, &before, 4);
        assert_eq!((value, status.tag()), (before.rank(), 4));
        let mut room = [0; 2];
        p2p::send_receive_into_with_tags(&[rank; 2], &next, 5, &mut room, &before, 5);
        assert_eq!(room, [before.rank(); 2]);
        p2p::send_receive_replace_into_with_tags(&mut room, &next, 6, &before, 6);
        assert_eq!(room, [(rank + size - 2) % size; 2]);
    });
}

#[test]
fn try_calls_return_errors() {
    ranks(2, |world| {
        let other = world.process_at_rank(1 - world.rank());
        other.send(&[1_u8, 2, 3]);
        let mut room = [0_u8; 2];
        let truncated = other.try_receive_into_with_tag(&mut room, 0);
        assert_eq!(
            truncated.err(),
            Some(CallError::Truncated { sent: 3, room: 2 })
        );
        assert_eq!(room, [1, 2]);
        other.send(&1_u8);
        let short = other.try_receive_with_tag::<u32>(0);
        assert!(matches!(short, Err(CallError::Count { .. })));
        other.send(&2_u8);
        let no_bool = other.try_receive_with_tag::<bool>(0);
        assert!(matches!(no_bool, Err(CallError::Unreadable(_))));
        assert_eq!(other.try_send_with_tag(&1_u8, -7), Err(CallError::Tag(-7)));
        assert_eq!(
            other.try_ready_send_with_tag(&1_u8, 3),
            Err(CallError::NotReady)
        );
        world.barrier();
        // The same as a request.
        other.send(&[1_u8, 2, 3]);
        mpi::request::scope(|scope| {
            let request = other.immediate_receive_into(scope, &mut room);
            assert!(matches!(
                request.try_wait(),
                Err(CallError::Truncated { .. })
            ));
        });
        // The error does not affect the next message.
        other.send(&9_u8);
        assert_eq!(other.receive::<u8>().0, 9);
    });
}

/// Sends slices of increasing length to a rank with room for `ROOM` elements. Either the receive or
/// the message waits for the other. The elements that fit arrive, the rest of the buffer does not
/// change, and a longer message is an error.
fn fill<T>(world: &SimpleCommunicator, of: impl Fn(usize) -> T, rest: T)
where
    T: Equivalence + Copy + PartialEq + std::fmt::Debug,
{
    const ROOM: usize = 12;
    const READY: i32 = 1;
    let other = world.process_at_rank(1 - world.rank());
    for (length, receive_waits) in
        (0..=ROOM + 3).flat_map(|length| [(length, true), (length, false)])
    {
        let sent: Vec<T> = (0..length).map(&of).collect();
        if world.rank() == 0 {
            if receive_waits {
                // The other rank begins its receive before this rank is polled again.
                other.receive_with_tag::<u8>(READY);
            }
            other.send(&sent[..]);
            if !receive_waits {
                other.send_with_tag(&0_u8, READY);
            }
            continue;
        }
        match receive_waits {
            true => other.send_with_tag(&0_u8, READY),
            false => drop(other.receive_with_tag::<u8>(READY)),
        }
        let mut room = [rest; ROOM];
        let received = other.try_receive_into_with_tag(&mut room[..], 0);
        let there = length.min(ROOM);
        assert_eq!(room[..there], sent[..there]);
        assert!(room[there..].iter().all(|&left| left == rest));
        match received {
            Ok(status) => {
                // The count of elements without bytes is 0.
                let counted = if size_of::<T>() == 0 { 0 } else { length };
                assert_eq!(status.count(T::equivalent_datatype()), counted as i32);
            }
            Err(error) => {
                let (sent, room) = (length, ROOM);
                assert_eq!(error, CallError::Truncated { sent, room });
            }
        }
    }
}

#[test]
fn buffer_is_filled_by_sender_or_receiver() {
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Unit;
    // SAFETY: `Unit` has no bytes, and neither has its datatype.
    unsafe impl Equivalence for Unit {
        type Out = mpi::datatype::UserDatatype;
        fn equivalent_datatype() -> Self::Out {
            mpi::datatype::UserDatatype::contiguous(0, &u8::equivalent_datatype())
        }
    }
    ranks(2, |world| {
        fill(&world, |at| at as u8 + 1, 0);
        fill(&world, |at| at as u64 + 1, 0);
        // Not every byte is a valid `bool`.
        fill(&world, |at| at % 2 == 0, true);
        fill(&world, |_| Unit, Unit);
    });
}

/// Drops a stack that waits for a message. The message remains available, even if it is already in
/// the buffer of the stack.
#[test]
fn a_stack_that_is_dropped_leaves_its_message_to_others() {
    const READY: i32 = 1;
    ranks(2, |world| {
        let other = world.process_at_rank(1 - world.rank());
        if world.rank() == 0 {
            other.receive_with_tag::<u8>(READY);
            other.send_with_tag(&42_u64, 7);
            other.send_with_tag(&0_u8, READY);
            return;
        }
        let mut fiber = graphmap_fiber::Fiber::new(|| {
            let mut room = 0_u64;
            let world = SimpleCommunicator::world();
            world.process_at_rank(0).receive_into_with_tag(&mut room, 7);
        });
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut fiber).poll(&mut context).is_pending());
        other.send_with_tag(&0_u8, READY);
        other.receive_with_tag::<u8>(READY);
        drop(fiber);
        assert_eq!(other.receive_with_tag::<u64>(7).0, 42);
    });
}

#[test]
fn a_cancelled_receive_leaves_its_message_to_others() {
    ranks(2, |world| {
        let other = world.process_at_rank(1 - world.rank());
        let (mut lost, mut found) = (0_u8, 0_u8);
        mpi::request::scope(|scope| {
            let request = other.immediate_receive_into(scope, &mut lost);
            other.send(&7_u8);
            world.barrier();
            request.cancel();
            request.wait();
            drop(CancelGuard::from(
                other.immediate_receive_into_with_tag(scope, &mut found, 8),
            ));
        });
        assert_eq!((lost, other.receive::<u8>().0), (0, 7));
    });
}

#[test]
fn dropped_request_panics_and_leaves_the_buffer() {
    ranks(1, |world| {
        let itself = world.this_process();
        let mut room = 0_u8;
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            mpi::request::scope(|scope| {
                let _request = itself.immediate_receive_into(scope, &mut room);
            });
        }));
        assert!(dropped.is_err());
        let forgotten = catch_unwind(AssertUnwindSafe(|| {
            mpi::request::scope(|scope| {
                std::mem::forget(itself.immediate_receive_into_with_tag(scope, &mut room, 5));
            });
        }));
        assert!(forgotten.is_err());
        let collected = catch_unwind(AssertUnwindSafe(|| {
            mpi::request::multiple_scope(1, |scope, requests| {
                requests.add(itself.immediate_receive_into_with_tag(scope, &mut room, 6));
            });
        }));
        assert!(collected.is_err());
        itself.send_with_tag(&1_u8, 6);
        assert_eq!((room, itself.receive_with_tag::<u8>(6).0), (0, 1));
    });
}

#[test]
fn a_collection_whose_requests_are_complete_has_no_more() {
    ranks(1, |world| {
        let itself = world.this_process();
        let sent = [1, 2, 3];
        let mut room = [0; 3];
        mpi::request::multiple_scope(4, |scope, requests| {
            for value in &sent {
                requests.add(itself.immediate_send(scope, value));
            }
            for value in &mut room {
                requests.add(itself.immediate_receive_into(scope, value));
            }
            let mut done = Vec::new();
            requests.wait_some(&mut done);
            assert!(!done.is_empty());
            requests.wait_all(&mut done);
            assert_eq!(requests.incomplete(), 0);
            assert!(requests.wait_any().is_none());
            assert!(requests.test_any().is_none());
            assert!(requests.test_all(&mut done) && done.is_empty());
            requests.test_some(&mut done);
            requests.wait_some(&mut done);
            assert!(done.is_empty());
        });
        assert_eq!(room, sent);
    });
}

#[test]
fn a_rank_that_panics_ends_the_run_and_guards_do_not_wait() {
    let ended = mpi::run(3, || {
        let universe = mpi::initialize().unwrap();
        let world = universe.world();
        let mut room = 0_u8;
        mpi::request::scope(|scope| {
            let other = world.process_at_rank((world.rank() + 1) % 3);
            let _guard = WaitGuard::from(other.immediate_receive_into(scope, &mut room));
            assert!(world.rank() != 1, "this one fails");
            world.barrier();
        });
    });
    let told = failure(ended);
    assert!(
        told.contains("rank 1") && told.contains("this one fails"),
        "{told}"
    );
}

#[test]
fn ranks_run_while_others_sleep() {
    ranks(4, |world| {
        let start = std::time::Instant::now();
        let time = Duration::from_millis(20);
        mpi::sleep(time * world.rank() as u32);
        assert!(start.elapsed() >= time * world.rank() as u32);
        // All others wait for a rank that sleeps.
        world.barrier();
        let in_thread = std::thread::spawn(move || mpi::sleep(Duration::from_millis(1)));
        mpi::sleep(Duration::from_millis(1));
        in_thread.join().unwrap();
    });
    let ended = mpi::run(2, || {
        let universe = mpi::initialize().unwrap();
        let world = universe.world();
        mpi::sleep(Duration::from_millis(5));
        world.process_at_rank(1 - world.rank()).receive::<u8>();
    });
    assert!(failure(ended).contains("deadlock"));
}

#[test]
fn a_rank_does_not_sleep_in_an_operation() {
    let ended = mpi::run(2, || {
        let universe = mpi::initialize().unwrap();
        let mut sum = 0;
        let operation = UserOperation::commutative(|_, _| mpi::sleep(Duration::from_millis(1)));
        universe
            .world()
            .all_reduce_into(&1_i32, &mut sum, &operation);
    });
    let told = failure(ended);
    assert!(told.contains("cannot wait inside"), "{told}");
}

#[test]
fn deadlock_report_has_the_lines_of_the_calls() {
    let line = line!() + 5;
    let ended = mpi::run(2, || {
        let universe = mpi::initialize().unwrap();
        let world = universe.world();
        let other = world.process_at_rank(1 - world.rank());
        other.receive::<u8>();
    });
    let told = failure(ended);
    for rank in [0, 1] {
        let call = format!(
            "waits in receive (world, from rank {}, any tag): ",
            1 - rank
        );
        assert!(told.contains(&call), "{told}");
    }
    assert!(told.contains(&format!("{}:{line}:", file!())), "{told}");
}

#[test]
fn failed_test_yields_to_other_ranks() {
    ranks(2, |world| {
        let other = world.process_at_rank(1 - world.rank());
        if world.rank() == 0 {
            let mut room = 0_u8;
            mpi::request::scope(|scope| {
                let mut request = other.immediate_receive_into(scope, &mut room);
                loop {
                    match request.test_with_data() {
                        Ok((status, data)) => {
                            assert_eq!((status.source_rank(), *data), (1, 5));
                            break;
                        }
                        Err(again) => request = again,
                    }
                }
            });
        } else {
            while other.immediate_probe().is_none() {
                if !mpi::is_finalized() {
                    other.send(&5_u8);
                    break;
                }
            }
        }
    });
}

#[test]
fn calls_at_the_wrong_time_are_reported() {
    let early = mpi::run(1, || drop(SimpleCommunicator::world()));
    assert!(failure(early).contains("call `mpi::initialize` first"));
    let late = mpi::run(1, || {
        let world = mpi::initialize().unwrap().world();
        world.barrier();
    });
    assert!(failure(late).contains("after the rank was finalized"));
    let twice = mpi::run(1, || {
        assert!(!mpi::is_initialized());
        let universe = mpi::initialize().unwrap();
        assert!(mpi::initialize().is_none() && mpi::is_initialized());
        drop(universe);
        assert!(mpi::is_finalized() && mpi::initialize().is_none());
    });
    assert!(twice.is_ok());
    let nobody = catch_unwind(|| drop(mpi::initialize()));
    let told = nobody.unwrap_err();
    let told = told.downcast_ref::<String>().cloned();
    let told = told.or_else(|| Some("".to_string())).unwrap();
    assert!(told.is_empty() || told.contains("mpi::run"), "{told}");
    let aborted = mpi::run(2, || {
        let universe = mpi::initialize().unwrap();
        if universe.world().rank() == 1 {
            universe.world().abort(3);
        }
        universe.world().barrier();
    });
    assert!(failure(aborted).contains("aborted the run with code 3"));
}

#[test]
fn messages_above_the_eager_limit_arrive() {
    ranks(2, |world| {
        let other = world.process_at_rank(1 - world.rank());
        let long: Vec<u64> = (0..1 << 17).collect();
        if world.rank() == 0 {
            other.send(&long);
            return;
        }
        assert_eq!(other.probe().count(u64::equivalent_datatype()), 1 << 17);
        assert!(other.receive_vec::<u64>().0 == long);
    });
}
