//! Intercommunicators: messages and collective calls between two groups, with any placement of
//! ranks.

#[path = "common/cases.rs"]
mod harness;

use std::panic::{AssertUnwindSafe, catch_unwind};

use harness::{Case, case};
use mpi::CallError;
use mpi::collective::{SystemOperation, UserOperation};
use mpi::endpoint::{self, Endpoints};
use mpi::point_to_point as p2p;
use mpi::topology::{
    Color, CommunicatorRelation, GroupRelation, InterCommunicator, MergeOrder, SimpleCommunicator,
};
use mpi::traits::*;

const CASES: &[Case] = &[
    case("groups and handles", 5, groups),
    case("messages", 5, messages),
    case("messages of ffi", 4, messages_of_ffi),
    case("collective calls", 5, collectives),
    case("collective calls with a root", 5, rooted),
    case("reduce_scatter_block", 6, reduce_scatter),
    case("merge", 5, merge),
    case("endpoints of the same ranks", 3, endpoints),
    case("errors", 4, errors),
    Case {
        told: &["the call is not defined for an intercommunicator: `merge` makes"],
        ..case("scan", 4, |world| {
            let both = halves(&world, 0);
            both.scan_into(&1, &mut 0, SystemOperation::sum());
        })
    },
    Case {
        told: &["the call is not defined for an intercommunicator: `merge` makes"],
        ..case("duplicate", 4, |world| {
            drop(halves(&world, 0).duplicate());
        })
    },
    Case {
        told: &["called the function of the other ranks"],
        ..case("a root that calls as another rank", 4, |world| {
            let both = halves(&world, 0);
            match world.rank() {
                0 => both.this_root().gather_into(&0),
                2 => both.other_root().gather_into(&0),
                _ => both.process_at_rank(0).gather_into(&0),
            }
        })
    },
    Case {
        told: &["deadlock: ", "waits in receive (", "tests/inter.rs:"],
        ..case("a standstill", 4, |world| {
            let both = halves(&world, 0);
            both.process_at_rank(0).receive::<i32>();
        })
    },
];

fn all() -> impl Iterator<Item = &'static Case> {
    CASES.iter()
}

/// Returns an intercommunicator of the even and the odd ranks of the world. Ranks 0 and 1 of the
/// world are the leaders.
fn halves(world: &SimpleCommunicator, tag: i32) -> InterCommunicator {
    let side = world.rank() % 2;
    let local = world.split_by_color(Color::with_value(side)).unwrap();
    InterCommunicator::create(&local, 0, world, 1 - side, tag)
}

/// Returns the world ranks of the remote group.
fn remote(world: &SimpleCommunicator) -> Vec<i32> {
    let side = world.rank() % 2;
    (0..world.size()).filter(|rank| rank % 2 != side).collect()
}

fn groups(world: SimpleCommunicator) {
    let remote = remote(&world);
    let mut both = halves(&world, 3);
    assert_eq!(both.rank(), world.rank() / 2);
    assert_eq!(both.size() + both.remote_size(), world.size());
    assert_eq!(both.target_size() as usize, remote.len());
    let group = both.remote_group();
    assert_eq!((group.size(), group.rank()), (both.remote_size(), None));
    let of_world = world.group().include(&remote);
    assert_eq!(group.compare(&of_world), GroupRelation::Identical);
    let local = both.group();
    assert_eq!(
        (local.size(), local.rank()),
        (both.size(), Some(both.rank()))
    );
    assert!(!both.process_at_rank(0).is_self());
    assert!(catch_unwind(AssertUnwindSafe(|| both.process_at_rank(both.remote_size()))).is_err());
    let other = halves(&world, 3);
    assert_eq!(both.compare(&both), CommunicatorRelation::Identical);
    assert_eq!(both.compare(&other), CommunicatorRelation::Congruent);
    assert_eq!(both.compare(&world), CommunicatorRelation::Unequal);
    assert!(both.test_inter() && !world.test_inter());
    both.set_name("halves");
    assert_eq!(both.get_name(), "halves");
    both.set_attr(Seven(7));
    assert_eq!(both.get_attr::<Seven>().map(|seven| seven.0), Some(7));
    assert!(both.parent().is_none());
    let raw = both.as_raw();
    std::mem::forget(both);
    // SAFETY: the handle is from a communicator that was forgotten, so it has one owner.
    let both = unsafe { InterCommunicator::try_from_raw(raw) }.unwrap();
    assert_eq!(both.get_name(), "halves");
    // SAFETY: `world` keeps the handle, because it is not an intercommunicator and the call returns
    // `None`.
    assert!(unsafe { InterCommunicator::try_from_raw(world.as_raw()) }.is_none());
    both.barrier();
}

#[derive(Clone)]
struct Seven(i32);

impl CommAttribute for Seven {}

fn messages(world: SimpleCommunicator) {
    let remote = remote(&world);
    let both = halves(&world, 0);
    let me = world.rank();
    // Each way to send, to the whole remote group, and each way to receive.
    for to in 0..both.remote_size() {
        let to = both.process_at_rank(to);
        to.send_with_tag(&me, 1);
        to.buffered_send_with_tag(&[me; 3], 2);
        to.buffered_send_with_tag(&me, 3);
        to.buffered_send_with_tag(&me, 4);
    }
    for (from, &who) in remote.iter().enumerate() {
        let from = both.process_at_rank(from as i32);
        assert_eq!(from.probe_with_tag(1).source_rank(), from.rank());
        let (came, status) = from.receive_with_tag::<i32>(1);
        assert_eq!((came, status.source_rank()), (who, from.rank()));
        let mut room = [0; 4];
        let status = from.receive_into_with_tag(&mut room, 2);
        assert_eq!(
            (room, status.source_rank()),
            ([who, who, who, 0], from.rank())
        );
    }
    let mut seen = Vec::new();
    for _ in &remote {
        let (came, status) = both.any_process().receive_vec_with_tag::<i32>(3);
        assert_eq!(came, [remote[status.source_rank() as usize]]);
        let future = both.any_process().immediate_receive_with_tag::<i32>(4);
        let (came, status) = future.get();
        assert_eq!(came, remote[status.source_rank() as usize]);
        seen.push(came);
    }
    seen.sort_unstable();
    assert_eq!(seen, remote);
    assert!(both.any_process().immediate_probe_with_tag(8).is_none());
    assert!(
        both.any_process()
            .immediate_matched_probe_with_tag(8)
            .is_none()
    );
    // Both directions at once, between equal ranks of the two groups.
    if both.rank() >= both.remote_size() {
        return;
    }
    let peer = both.process_at_rank(both.rank());
    let other = remote[peer.rank() as usize];
    let (came, status): (i32, _) = p2p::send_receive(&me, &peer, &peer);
    assert_eq!((came, status.source_rank()), (other, peer.rank()));
    let mut came = [0; 2];
    mpi::request::scope(|scope| {
        let receive = peer.immediate_receive_into_with_tag(scope, &mut came, 5);
        let sent = [me; 2];
        mpi::request::scope(|scope| {
            let send = peer.immediate_synchronous_send_with_tag(scope, &sent, 5);
            assert_eq!(receive.wait().source_rank(), peer.rank());
            send.wait();
        });
    });
    assert_eq!(came, [other; 2]);
    peer.send(&me);
    let (message, status) = loop {
        if let Some(found) = peer.immediate_matched_probe() {
            break found;
        }
    };
    assert_eq!(status.source_rank(), peer.rank());
    let mut came = 0;
    let status = message.matched_receive_into(&mut came);
    assert_eq!((came, status.source_rank()), (other, peer.rank()));
}

fn messages_of_ffi(world: SimpleCommunicator) {
    use mpi::ffi::{MPI_Barrier, MPI_Irecv, MPI_Isend, MPI_Wait};
    let (remote, both) = (remote(&world), halves(&world, 0));
    let (me, peer) = (world.rank(), both.rank());
    let mut came = -1;
    let mut request = mpi::ffi::RSMPI_REQUEST_NULL;
    let mut send = mpi::ffi::RSMPI_REQUEST_NULL;
    let int = i32::equivalent_datatype().as_raw();
    // SAFETY: the communicator exists, and the variables outlive the requests, which are completed
    // here.
    unsafe {
        let (to, from) = (&raw const me, &raw mut came);
        MPI_Irecv(from.cast(), 1, int, peer, 9, both.as_raw(), &mut request);
        MPI_Isend(to.cast(), 1, int, peer, 9, both.as_raw(), &mut send);
        let mut status = std::mem::zeroed();
        MPI_Wait(&mut request, &mut status);
        assert_eq!((status.MPI_SOURCE, status.MPI_TAG), (peer, 9));
        MPI_Wait(&mut send, mpi::ffi::RSMPI_STATUS_IGNORE);
        MPI_Barrier(both.as_raw());
    }
    assert_eq!(came, remote[peer as usize]);
}

fn collectives(world: SimpleCommunicator) {
    let remote = remote(&world);
    let both = halves(&world, 0);
    let me = world.rank();
    let (here, there) = (both.size() as usize, remote.len());
    for round in 0..3 {
        both.barrier();
        both.immediate_barrier().wait();
        let mut all = vec![0; there];
        both.all_gather_into(&(me + round), &mut all[..]);
        let wanted: Vec<i32> = remote.iter().map(|rank| rank + round).collect();
        assert_eq!(all, wanted);
        // Each rank sends as many elements as its rank in the world.
        let counts: Vec<i32> = remote.clone();
        let displs: Vec<i32> = counts
            .iter()
            .scan(0, |next, count| {
                Some(std::mem::replace(next, *next + count))
            })
            .collect();
        let mut all = vec![-1; counts.iter().sum::<i32>() as usize];
        let mut parts = mpi::datatype::PartitionMut::new(&mut all[..], counts.clone(), &displs[..]);
        both.all_gather_varcount_into(&vec![me; me as usize][..], &mut parts);
        let wanted: Vec<i32> = remote
            .iter()
            .flat_map(|&rank| vec![rank; rank as usize])
            .collect();
        assert_eq!(all, wanted);
        let sent: Vec<i32> = (0..there as i32).map(|to| me * 10 + to).collect();
        let mut came = vec![0; there];
        both.all_to_all_into(&sent[..], &mut came[..]);
        let mine = both.rank();
        let wanted: Vec<i32> = remote.iter().map(|rank| rank * 10 + mine).collect();
        assert_eq!(came, wanted);
        let mut sum = 0;
        both.all_reduce_into(&me, &mut sum, SystemOperation::sum());
        assert_eq!(sum, remote.iter().sum());
        // The operation does not commute: it concatenates the digits of the remote group in the
        // order of ranks.
        let digits = UserOperation::associative(|left, right| {
            let (left, right) = (
                left.downcast::<u64>().unwrap(),
                right.downcast::<u64>().unwrap(),
            );
            for (left, right) in left.iter().zip(right) {
                let shift = 10_u64.pow(right.checked_ilog10().map_or(1, |digits| digits + 1));
                *right += *left * shift;
            }
        });
        let (digit, mut number) = (me as u64 + 1, 0_u64);
        mpi::request::scope(|scope| {
            both.immediate_all_reduce_into(scope, &digit, &mut number, &digits)
                .wait();
        });
        let wanted = remote
            .iter()
            .fold(0, |number, rank| number * 10 + *rank as u64 + 1);
        assert_eq!(number, wanted);
    }
    assert_eq!(here + there, world.size() as usize);
}

fn rooted(world: SimpleCommunicator) {
    let remote = remote(&world);
    let both = halves(&world, 0);
    let me = world.rank();
    // Each rank of the world is the root once.
    for root in 0..world.size() {
        let is_here = root % 2 == me % 2;
        let there = both.remote_size() as usize;
        let mut word = if me == root { 1000 + root } else { -1 };
        let mut all = vec![-1; there];
        let mut part = [-1; 2];
        let mut sum = -1;
        if me == root {
            let this = both.this_root();
            this.broadcast_into(&mut word);
            this.gather_into_root(&0, &mut all[..]);
            let parts: Vec<i32> = (0..2 * there as i32).collect();
            this.scatter_into_root(&parts[..], &mut [0_i32; 0]);
            this.reduce_into_root(&0, &mut sum, SystemOperation::sum());
            let (mut least, min) = (-1, min());
            this.reduce_into_root(&0, &mut least, &min);
            assert_eq!(all, remote);
            assert_eq!(sum, remote.iter().sum());
            assert_eq!(least, remote[0]);
        } else if is_here {
            let other = both.other_root();
            other.broadcast_into(&mut word);
            other.gather_into(&me);
            other.scatter_into(&mut part);
            other.reduce_into(&me, SystemOperation::sum());
            other.reduce_into(&me, &min());
            assert_eq!((word, part), (-1, [-1; 2]));
        } else {
            let process = both.process_at_rank(root / 2);
            process.try_broadcast_into(&mut word).unwrap();
            process.gather_into(&me);
            process.scatter_into(&mut part);
            process.reduce_into(&me, SystemOperation::sum());
            process.reduce_into(&me, &min());
            assert_eq!(word, 1000 + root);
            assert_eq!(part, [2 * both.rank(), 2 * both.rank() + 1]);
        }
    }
}

/// Returns a minimum as a user-defined operation.
fn min() -> UserOperation<'static> {
    UserOperation::commutative(|left, right| {
        let (left, right) = (
            left.downcast::<i32>().unwrap(),
            right.downcast::<i32>().unwrap(),
        );
        for (left, right) in left.iter().zip(right) {
            *right = (*left).min(*right);
        }
    })
}

/// Scatters a reduction between groups of two and of four ranks. A rank of the first group gets as
/// many elements as two ranks of the second.
fn reduce_scatter(world: SimpleCommunicator) {
    let side = i32::from(world.rank() >= 2);
    let local = world.split_by_color(Color::with_value(side)).unwrap();
    let both = InterCommunicator::create(&local, 0, &world, if side == 0 { 2 } else { 0 }, 0);
    let sent: Vec<i32> = (0..4).map(|at| 10 * world.rank() + at).collect();
    let mut came = vec![0; 4 / both.size() as usize];
    both.reduce_scatter_block_into(&sent[..], &mut came[..], SystemOperation::sum());
    let first = both.rank() * came.len() as i32;
    // The sum and number of the remote ranks, which are 0 and 1 or 2 to 5.
    let (sum, count) = if side == 0 { (14, 4) } else { (1, 2) };
    let wanted: Vec<i32> = (first..)
        .take(came.len())
        .map(|at| 10 * sum + count * at)
        .collect();
    assert_eq!(came, wanted);
    // Two elements cannot be divided among four ranks. All ranks get the error.
    let sent = vec![1; both.size() as usize];
    let told = both.try_reduce_scatter_block_into(&sent[..], &mut 0, SystemOperation::sum());
    assert!(matches!(told, Err(CallError::Count { .. })), "{told:?}");
    both.barrier();
}

fn merge(world: SimpleCommunicator) {
    let both = halves(&world, 0);
    let side = world.rank() % 2;
    for first in 0..2 {
        let order = if side == first {
            MergeOrder::Low
        } else {
            MergeOrder::High
        };
        let all = both.merge(order);
        assert_eq!(all.size(), world.size());
        let before = if side == first { 0 } else { both.remote_size() };
        assert_eq!(all.rank(), before + both.rank());
        let mut ranks = vec![0; all.size() as usize];
        all.all_gather_into(&world.rank(), &mut ranks[..]);
        assert_eq!(ranks[all.rank() as usize], world.rank());
    }
    // Both groups pass the same order, so the group whose leader has the lower world rank comes
    // first.
    let all = both.merge(MergeOrder::High);
    assert_eq!(all.rank(), side * (world.size() + 1) / 2 + both.rank());
}

/// Puts one endpoint of each rank into each group.
fn endpoints(world: SimpleCommunicator) {
    let came = endpoint::each(world.endpoints(2), |mine| {
        let side = mine.rank() % 2;
        let local = mine.split_by_color(Color::with_value(side)).unwrap();
        let both = InterCommunicator::create(&local, 0, &mine, 1 - side, 0);
        assert_eq!(both.remote_size(), both.size());
        let peer = both.process_at_rank(both.rank());
        let (came, status): (i32, _) = p2p::send_receive(&mine.rank(), &peer, &peer);
        assert_eq!(status.source_rank(), both.rank());
        let mut sum = 0;
        both.all_reduce_into(&mine.rank(), &mut sum, SystemOperation::sum());
        assert_eq!(sum, if side == 0 { 1 + 3 + 5 } else { 2 + 4 });
        let order = match side {
            0 => MergeOrder::High,
            _ => MergeOrder::Low,
        };
        assert_eq!(both.merge(order).rank(), (1 - side) * 3 + both.rank());
        came
    });
    assert_eq!(came, [2 * world.rank() + 1, 2 * world.rank()]);
}

fn errors(world: SimpleCommunicator) {
    let side = world.rank() % 2;
    let local = world.split_by_color(Color::with_value(side)).unwrap();
    // Leaders that do not exist, in this group or in the other.
    let told = InterCommunicator::try_create(&local, 9, &world, 1 - side, 0);
    assert!(matches!(told, Err(CallError::Rank { .. })));
    let told = InterCommunicator::try_create(&local, 0, &world, -1, 0);
    assert!(matches!(told, Err(CallError::Rank { .. })));
    let told = InterCommunicator::try_create(&local, 0, &world, 1 - side, -1);
    assert!(matches!(told, Err(CallError::Tag(-1))));
    // A group with itself.
    let told = InterCommunicator::try_create(&world, 0, &world, 0, 0);
    assert!(matches!(told, Err(CallError::Group(_))));
    let both = halves(&world, 0);
    // Ranks of a group that pass different orders.
    let order = if world.rank() < 2 {
        MergeOrder::Low
    } else {
        MergeOrder::High
    };
    let told = both.try_merge(order);
    assert!(matches!(told, Err(CallError::Group(_))));
    // Two roots.
    let told = both.this_root().try_broadcast_into(&mut 0);
    assert!(matches!(told, Err(CallError::Group(_))));
    // The own rank as a destination, which the smaller remote group may not have.
    let color = match world.rank() {
        0 => Color::undefined(),
        _ => Color::with_value(1),
    };
    let local = world.split_by_color(color);
    let local = local.unwrap_or_else(SimpleCommunicator::self_comm);
    let leader = i32::from(world.rank() == 0);
    let both = InterCommunicator::create(&local, 0, &world, leader, 1);
    let told = both.this_process().try_send_with_tag(&0, 0);
    match both.rank() {
        0 => told.unwrap(),
        _ => assert!(matches!(told, Err(CallError::Rank { .. }))),
    }
    if world.rank() < 2 {
        both.process_at_rank(0).receive::<i32>();
    }
    both.barrier();
}
