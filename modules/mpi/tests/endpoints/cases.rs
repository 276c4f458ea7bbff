//! Cases that succeed with any placement of ranks. Some are from the *Note for MPI Endpoints*.

use std::cell::RefCell;
use std::rc::Rc;

use mpi::collective::SystemOperation;
use mpi::endpoint::{self, Endpoint, Endpoints, JoinHandle};
use mpi::topology::{Color, CommunicatorRelation, Rank, SimpleCommunicator};
use mpi::traits::*;
use mpi::window::Windows;

use crate::harness::{Case, case};
use crate::threads;

pub(crate) const CASES: &[Case] = &[
    case("numbers of endpoints", 3, numbers),
    case("bcast and allreduce over twelve", 4, twelve),
    case("colours within an OS process", 3, colours),
    case("messages between endpoints of a rank", 2, within),
    case("messages across with labels", 4, across),
    case("collective calls", 3, collectives),
    case("a rank that is an endpoint itself", 3, itself),
    case("endpoints of endpoints", 3, of_endpoints),
    case("what endpoints of a rank share", 2, shared),
    case("joined by others", 2, joined_by_others),
    case("more than one at a time", 2, many),
    case("random kinds of ranks", 4, threads::random),
    case("threads", 3, threads::threads),
    case("threads and stacks", 2, threads::beside_stacks),
];

/// Returns the sum of the values of all ranks.
pub(crate) fn sum(of: &SimpleCommunicator, value: i32) -> i32 {
    let mut sum = 0;
    of.all_reduce_into(&value, &mut sum, SystemOperation::sum());
    sum
}

/// Creates endpoints in different numbers: the same for all ranks, none for some, and none at all.
fn numbers(world: SimpleCommunicator) {
    for counts in [[2, 2, 2], [0, 3, 1], [0, 0, 0], [5, 0, 0]] {
        let me = world.rank() as usize;
        let made = world.endpoints(counts[me]);
        let before: usize = counts[..me].iter().sum();
        let (first, all) = (before as Rank, counts.iter().sum::<usize>() as Rank);
        let wanted = (first..first + counts[me] as Rank).map(|rank| (rank, all));
        assert!(
            made.iter()
                .map(|one| (one.rank(), one.size()))
                .eq(wanted.clone())
        );
        let seen = endpoint::each(made, |mine| {
            assert_eq!(sum(&mine, 1), mine.size());
            (mine.rank(), mine.size())
        });
        assert!(seen.into_iter().eq(wanted));
    }
    // More endpoints than MPI can count are refused on all ranks, even if only one rank asks for
    // them.
    let asked = if world.rank() == 1 { 1 << 31 } else { 1 };
    let error = world.try_endpoints(asked).unwrap_err();
    assert!(
        error.to_string().contains("the limit is 2147483647"),
        "{error}"
    );
    assert_eq!(sum(&world, 1), 3);
}

/// Creates three endpoints for each of four processes. The root is the second endpoint of its
/// process.
fn twelve(world: SimpleCommunicator) {
    let first = 3 * world.rank();
    let got = endpoint::each(world.endpoints(3), |mine| {
        let mut given = if mine.rank() == 4 { 400 } else { 0 };
        mine.process_at_rank(4).broadcast_into(&mut given);
        (mine.rank(), mine.size(), given, sum(&mine, mine.rank()))
    });
    assert!(
        got.into_iter()
            .eq((first..first + 3).map(|rank| (rank, 12, 400, 66)))
    );
}

/// Splits the endpoints of each rank by several colours. Keys order the endpoints of all ranks.
fn colours(world: SimpleCommunicator) {
    const OF: [Option<i32>; 12] = {
        let (a, b, c) = (Some(0), Some(1), Some(2));
        [a, b, a, None, c, c, c, c, b, a, None, b]
    };
    let keys: [fn(Rank) -> Rank; 3] = [|rank| rank, |rank| -rank, |rank| rank * 7 % 5];
    endpoint::each(world.endpoints(4), move |mine| {
        let (me, colour) = (mine.rank(), OF[mine.rank() as usize]);
        for key in keys {
            let wanted = colour.map_or_else(Color::undefined, Color::with_value);
            let part = mine.split_by_color_with_key(wanted, key(me));
            let mut members: Vec<Rank> = (0..12).filter(|&it| OF[it as usize] == colour).collect();
            members.sort_by_key(|&rank| key(rank));
            let Some(part) = part else {
                assert_eq!(colour, None);
                continue;
            };
            assert_eq!(members[part.rank() as usize], me);
            let mut all = vec![0; part.size() as usize];
            part.all_gather_into(&me, &mut all[..]);
            assert_eq!(all, members);
            assert_eq!(part.compare(&mine), CommunicatorRelation::Unequal);
        }
        // Endpoints of one OS process share memory.
        let here = mine.split_shared(0);
        let is_several = std::env::var_os("GRAPHMAP_OS_PROCESSES").is_some();
        assert_eq!(here.size() < 12, is_several);
        assert_eq!(here.create_shared_window(vec![me]).own(), [me]);
    });
}

/// Exchanges synchronous messages between both endpoints of a rank. On one stack, they would
/// deadlock.
fn within(world: SimpleCommunicator) {
    let first = 2 * world.rank();
    let came = endpoint::each(world.endpoints(2), |mine| {
        let other = mine.process_at_rank(mine.rank() ^ 1);
        let mut came = Vec::new();
        for round in 0..10 {
            let value = mine.rank() * 100 + round;
            if mine.rank() % 2 == round % 2 {
                other.synchronous_send(&value);
                came.push(other.receive::<i32>().0);
            } else {
                came.push(other.receive::<i32>().0);
                other.synchronous_send(&value);
            }
        }
        came
    });
    for (at, came) in (0..).zip(came) {
        let other = first + 1 - at;
        assert!(
            came.into_iter()
                .eq((0..10).map(|round| other * 100 + round))
        );
    }
}

/// Sends small and large messages with tags from each endpoint to each, also by requests.
fn across(world: SimpleCommunicator) {
    endpoint::each(world.endpoints(3), |mine| {
        let (me, size) = (mine.rank(), mine.size());
        let large = |from: Rank| vec![from; 40_000];
        let mine_large = large(me);
        let values: Vec<[Rank; 2]> = (0..size).map(|to| [me, to]).collect();
        mpi::request::scope(|scope| {
            let sends = (0..size).map(|to| {
                let process = mine.process_at_rank(to);
                let value = &values[to as usize];
                process.immediate_synchronous_send_with_tag(scope, value, 7 + to)
            });
            let sends: Vec<_> = sends.collect();
            let after = mine.process_at_rank((me + 1) % size);
            let sent = after.immediate_send_with_tag(scope, &mine_large[..], 1);
            let mut heard: Vec<Rank> = (0..size)
                .map(|_| {
                    let (value, status) = mine.any_process().receive_vec_with_tag::<Rank>(7 + me);
                    assert_eq!((value[0], value[1]), (status.source_rank(), me));
                    value[0]
                })
                .collect();
            heard.sort_unstable();
            assert!(heard.into_iter().eq(0..size));
            let before = (me + size - 1) % size;
            let (came, _) = mine.process_at_rank(before).receive_vec_with_tag::<Rank>(1);
            assert_eq!(came, large(before));
            sent.wait();
            for send in sends {
                send.wait();
            }
        });
        // A matched probe, and a probe that finds no message.
        mine.process_at_rank((me + 5) % size)
            .buffered_send_with_tag(&me, 3);
        let (message, status) = mine.any_process().matched_probe_with_tag(3);
        assert_eq!((status.source_rank() + 5) % size, me);
        assert_eq!(message.matched_receive::<Rank>().0, status.source_rank());
        assert!(mine.any_process().immediate_probe_with_tag(3).is_none());
    });
}

/// Makes collective calls of all kinds, and creates communicators from the endpoints.
fn collectives(world: SimpleCommunicator) {
    endpoint::each(world.endpoints(2), |mine| {
        let (me, size) = (mine.rank(), mine.size());
        let all = || (0..size).collect::<Vec<Rank>>();
        let root = mine.process_at_rank(3);
        match me {
            3 => {
                let mut came = vec![0; size as usize];
                root.gather_into_root(&me, &mut came[..]);
                assert_eq!(came, all());
                let mut back = 0;
                root.scatter_into_root(&came[..], &mut back);
                assert_eq!(back, me);
            }
            _ => {
                root.gather_into(&me);
                let mut back = 0;
                root.scatter_into(&mut back);
                assert_eq!(back, me);
            }
        }
        let mut came = vec![0; size as usize];
        let out: Vec<Rank> = all().iter().map(|to| me * 100 + to).collect();
        mine.all_to_all_into(&out[..], &mut came[..]);
        assert!(came.into_iter().eq((0..size).map(|from| from * 100 + me)));
        let mut before = 0;
        mine.scan_into(&me, &mut before, SystemOperation::sum());
        assert_eq!(before, me * (me + 1) / 2);
        mine.barrier();
        let mut most = 0;
        mpi::request::scope(|scope| {
            let barrier = mine.immediate_barrier();
            let maximum = SystemOperation::max();
            let most = mine.immediate_all_reduce_into(scope, &me, &mut most, maximum);
            most.wait();
            barrier.wait();
        });
        assert_eq!(most, size - 1);
        let mut twice = mine.duplicate();
        assert_eq!(twice.compare(&mine), CommunicatorRelation::Congruent);
        twice.set_attr(Note(me));
        assert_eq!(twice.duplicate().get_attr(), Some(&Note(me)));
        let odd: Vec<Rank> = (0..size).filter(|rank| rank % 2 == 1).collect();
        let group = mine.group().include(&odd);
        // The rank in a group belongs to the endpoint that asks.
        let place = odd.iter().position(|&rank| rank == me);
        assert_eq!(group.rank(), place.map(|place| place as Rank));
        assert_eq!(mine.group().exclude(&[me]).rank(), None);
        assert_eq!(
            mine.group()
                .union(&SimpleCommunicator::world().group())
                .rank(),
            Some(size + me / 2)
        );
        let part = mine.split_by_subgroup_collective(&group);
        assert_eq!(part.is_some(), me % 2 == 1);
        if let Some(part) = part {
            assert_eq!(sum(&part, me), odd.iter().sum());
        }
        let grid = mine.create_cartesian_communicator(&[2, 3], &[false, true], false);
        let grid = grid.unwrap();
        assert_eq!(grid.rank_to_coordinates(me), [me / 3, me % 3]);
        assert_eq!(grid.subgroup(&[false, true]).size(), 3);
    });
}

#[derive(Debug, Clone, PartialEq)]
struct Note(Rank);

impl CommAttribute for Note {
    const CLONE_ON_DUP: bool = true;
}

/// Uses one of the endpoints on the stack that has created them.
fn itself(world: SimpleCommunicator) {
    let mut made = world.endpoints(3);
    let own = made.remove(1);
    let others: Vec<JoinHandle<i32>> = made
        .into_iter()
        .map(|endpoint| endpoint.start(|mine| sum(&mine, mine.rank())))
        .collect();
    let mine = own.into_communicator();
    assert_eq!((mine.rank(), mine.size()), (3 * world.rank() + 1, 9));
    assert_eq!(sum(&mine, mine.rank()), 36);
    for other in others {
        assert_eq!(other.join(), 36);
    }
}

/// Creates endpoints of endpoints, five levels deep. The outer endpoints remain usable.
fn of_endpoints(world: SimpleCommunicator) {
    fn down(mine: SimpleCommunicator, depth: i32) -> i32 {
        if depth == 0 {
            return sum(&mine, 1);
        }
        // Of three ranks, one creates no endpoints and one creates two.
        let made = mine.endpoints((mine.rank() + depth) as usize % 3);
        let below = endpoint::each(made, move |inner| down(inner, depth - 1));
        mine.barrier();
        i32::from(below.iter().all(|it| *it == below[0])) * below.first().copied().unwrap_or(0)
    }
    let sizes = endpoint::each(world.endpoints(2), |mine| down(mine, 4));
    assert_eq!(sizes.len(), 2);
}

/// Checks that endpoints share the state of the rank that has started them.
fn shared(mut world: SimpleCommunicator) {
    world.set_attr(Note(world.rank()));
    let log = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&log);
    let me = world.rank();
    endpoint::each(world.endpoints(2), move |mine| {
        assert!(mpi::is_initialized() && mpi::initialize().is_none());
        let world = SimpleCommunicator::world();
        assert_eq!((world.rank(), world.get_attr()), (me, Some(&Note(me))));
        assert_eq!(SimpleCommunicator::self_comm().size(), 1);
        kept.borrow_mut().push(mine.rank());
        mine.barrier();
        kept.borrow_mut().push(mine.rank());
        mine.barrier();
    });
    let (first, second) = (2 * me, 2 * me + 1);
    let mut log = log.take();
    log[..2].sort_unstable();
    log[2..].sort_unstable();
    assert_eq!(log, [first, second, first, second]);
    assert!(world.get_attr::<Note>().is_some());
}

/// Passes join handles to other stacks and to the rank. Some endpoints are never joined.
fn joined_by_others(world: SimpleCommunicator) {
    let mut made = world.endpoints(4);
    let (last, third) = (made.pop().unwrap(), made.pop().unwrap());
    let (second, first) = (made.pop().unwrap(), made.pop().unwrap());
    let rank = |mine: SimpleCommunicator| {
        mine.barrier();
        mine.rank()
    };
    let outer = first.start(move |mine| {
        let inner = second.start(rank);
        mine.barrier();
        inner
    });
    drop(third.start(rank));
    let last = last.start(rank);
    assert!(!last.is_finished());
    let waits = world.endpoints(1).remove(0).start(|_| last.join());
    let inner: JoinHandle<Rank> = outer.join();
    assert_eq!(inner.join(), 4 * world.rank() + 1);
    assert_eq!(waits.join(), 4 * world.rank() + 3);
}

/// Creates many endpoints, each of which waits for the one before it.
fn many(world: SimpleCommunicator) {
    let count = 100;
    let running: Vec<JoinHandle<i32>> = world
        .endpoints(count)
        .into_iter()
        .map(|endpoint: Endpoint| {
            endpoint.start(|mine| {
                let (me, size) = (mine.rank(), mine.size());
                let after = mine.process_at_rank((me + 1) % size);
                if me == 0 {
                    after.send(&1);
                    return mine.process_at_rank(size - 1).receive::<i32>().0;
                }
                let (came, _) = mine.process_at_rank(me - 1).receive::<i32>();
                after.send(&(came + 1));
                came
            })
        })
        .collect();
    let sum: i32 = running.into_iter().rev().map(JoinHandle::join).sum();
    let (first, second) = (count as i32 * (count as i32 - 1) / 2, count as i32);
    let wanted = match world.rank() {
        0 => first + 2 * second,
        _ => first + second * second,
    };
    assert_eq!(sum, wanted);
}
