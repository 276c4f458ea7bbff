//! Endpoints that are threads.

use mpi::endpoint::{Endpoints, JoinHandle, ThreadRank};
use mpi::topology::{Rank, SimpleCommunicator};
use mpi::traits::*;

use crate::cases::sum;

/// Exchanges messages and makes collective calls with all other ranks, of any kind. Returns
/// `round`.
fn all_sorts(mine: &SimpleCommunicator, round: i32) -> i32 {
    let (me, size) = (mine.rank(), mine.size());
    let to = mine.process_at_rank((me + round) % size);
    let values = vec![me; 9000];
    mpi::request::scope(|scope| {
        let sent = to.immediate_synchronous_send_with_tag(scope, &values[..], 1);
        let (came, status) = mine.any_process().receive_vec_with_tag::<Rank>(1);
        assert_eq!(came, vec![status.source_rank(); 9000]);
        assert_eq!((status.source_rank() + round) % size, me);
        sent.wait();
    });
    assert!(mine.any_process().immediate_probe_with_tag(9).is_none());
    let colour = mpi::topology::Color::with_value(me % 2);
    let part = mine.split_by_color_with_key(colour, -me).unwrap();
    assert_eq!(
        sum(&part, me),
        (0..size).filter(|it| it % 2 == me % 2).sum()
    );
    sum(mine, round) / size
}

/// Runs endpoints as threads. They make MPI calls as their ranks, several in one `call` or in one
/// after the other.
pub(crate) fn threads(world: SimpleCommunicator) {
    let first = 2 * world.rank();
    let threads = world.endpoints(2).into_iter().map(|endpoint| {
        endpoint.on_thread(|rank| {
            assert_eq!(rank.size(), 6);
            for round in 0..3 {
                assert_eq!(rank.call(move |mine| all_sorts(mine, round)), round);
            }
            // The name persists between calls.
            let number = rank.rank();
            rank.call(|mine| mine.set_name("of a thread"));
            assert_eq!(rank.call(|mine| mine.get_name()), "of a thread");
            // The thread itself is not part of the run. Its calls are made by its rank.
            assert!(!mpi::is_initialized());
            assert_eq!(rank.call(|mine| mine.group().rank()), Some(number));
            let me = rank.call(|_| (SimpleCommunicator::world().rank(), mpi::is_initialized()));
            assert_eq!(me, (number / 2, true));
            // A call may create a rank that the thread does not know.
            rank.call(|mine| {
                let one = mine.endpoints(1).remove(0).into_communicator();
                assert_eq!(sum(&one, 1), 6);
                assert_eq!(SimpleCommunicator::self_comm().size(), 1);
            });
            number
        })
    });
    let threads: Vec<JoinHandle<Rank>> = threads.collect();
    let ended: Vec<Rank> = threads.into_iter().map(JoinHandle::join).collect();
    assert_eq!(ended, [first, first + 1]);
}

/// Exchanges messages between a thread and a stack of the same rank.
pub(crate) fn beside_stacks(world: SimpleCommunicator) {
    let mut two = world.endpoints(2);
    let thread = two.remove(1).on_thread(|rank: &ThreadRank<'_>| {
        let mut came = Vec::new();
        for round in 0..20 {
            came.push(rank.call(move |mine| {
                let other = mine.process_at_rank(mine.rank() - 1);
                other.synchronous_send(&round);
                other.receive::<i32>().0
            }));
        }
        came
    });
    let stack = two.remove(0).start(|mine| {
        let other = mine.process_at_rank(mine.rank() + 1);
        for _ in 0..20 {
            let (round, _) = other.receive::<i32>();
            other.synchronous_send(&(round * 2));
        }
    });
    assert!(thread.join().into_iter().eq((0..20).map(|round| round * 2)));
    stack.join();
}

/// Runs a communicator whose ranks are threads, new stacks, and the stacks of the ranks that
/// created it.
pub(crate) fn random(world: SimpleCommunicator) {
    for seed in 0..8 {
        let count = 1 + (world.rank() as usize + seed) % 3;
        let made = world.endpoints(count);
        let mut own = None;
        let mut running = Vec::new();
        for (at, endpoint) in made.into_iter().enumerate() {
            match (at + seed * 5 + world.rank() as usize) % 3 {
                0 if own.is_none() => own = Some(endpoint.into_communicator()),
                1 => running.push(endpoint.on_thread(|rank| {
                    let ended = rank.call(|mine| all_sorts(mine, 0));
                    ended + rank.call(|mine| all_sorts(mine, 1))
                })),
                _ => running.push(endpoint.start(|mine| all_sorts(&mine, 0) + all_sorts(&mine, 1))),
            }
        }
        if let Some(mine) = own {
            assert_eq!(all_sorts(&mine, 0) + all_sorts(&mine, 1), 1);
        }
        assert!(running.into_iter().all(|running| running.join() == 1));
    }
}
