//! Collective calls compared with their definitions, for random numbers of ranks and elements.

mod common;

use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};

use common::ranks_on;
use mpi::collective::{SystemOperation, UnsafeUserOperation, UserOperation, reduce_local_into};
use mpi::datatype::{Partition, PartitionMut};
use mpi::topology::{Color, CommunicatorRelation, GroupRelation, SimpleCommunicator, SystemGroup};
use mpi::traits::*;
use mpi::{CallError, Count};
use proptest::prelude::*;

fn ranks(count: usize, rank: impl Fn(SimpleCommunicator) + Send + Sync + 'static) {
    ranks_on(1, count, rank);
}

/// Returns the offsets of parts of these lengths, with a gap of one element before each, and the
/// total length.
fn displaced(counts: &[Count]) -> (Vec<Count>, usize) {
    let mut at = 0;
    let places = counts.iter().map(|count| {
        at += 1 + count;
        at - count
    });
    let places = places.collect();
    (places, at as usize)
}

/// Returns the elements that rank `from` sends to rank `to`.
fn part(from: usize, to: usize, count: Count) -> Vec<i64> {
    (0..i64::from(count))
        .map(|at| (from * 10_000 + to * 100) as i64 + at)
        .collect()
}

/// Concatenates parts, with a gap before each.
fn laid_out(parts: &[Vec<i64>]) -> Vec<i64> {
    parts
        .iter()
        .flat_map(|part| [&[-1][..], part].concat())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn parts_of_different_lengths_match_the_model(
        counts in (1..5_usize).prop_flat_map(|n| prop::collection::vec(prop::collection::vec(0..4_i32, n), n)),
        immediate: bool,
        root in 0..5_usize,
        schedulers in 1..4_usize,
    ) {
        let n = counts.len();
        let root = root % n;
        ranks_on(schedulers.min(n), n, move |world| {
            let me = world.rank() as usize;
            // All to all.
            let sent: Vec<Vec<i64>> = (0..n).map(|to| part(me, to, counts[me][to])).collect();
            let received: Vec<Vec<i64>> = (0..n).map(|from| part(from, me, counts[from][me])).collect();
            let to: Vec<Count> = counts[me].clone();
            let from: Vec<Count> = counts.iter().map(|row| row[me]).collect();
            let ((to_at, _), (from_at, room)) = (displaced(&to), displaced(&from));
            let out = laid_out(&sent);
            let mut gaps = vec![-1_i64; room];
            {
                let send = Partition::new(&out[..], to, to_at);
                let mut receive = PartitionMut::new(&mut gaps[..], &from[..], &from_at[..]);
                match immediate {
                    false => world.all_to_all_varcount_into(&send, &mut receive),
                    true => mpi::request::scope(|scope| {
                        world.immediate_all_to_all_varcount_into(scope, &send, &mut receive).wait();
                    }),
                }
            }
            assert_eq!(gaps, laid_out(&received));
            // All to one, all to all, and one to all, with the counts of the first column.
            let column: Vec<Count> = counts.iter().map(|row| row[0]).collect();
            let gathered: Vec<Vec<i64>> = (0..n).map(|from| part(from, 0, column[from])).collect();
            let (places, room) = displaced(&column);
            let mut gaps = vec![-1_i64; room];
            {
                let mut receive = PartitionMut::new(&mut gaps[..], &column[..], &places[..]);
                world.all_gather_varcount_into(&gathered[me][..], &mut receive);
            }
            assert_eq!(gaps, laid_out(&gathered));
            let process = world.process_at_rank(root as i32);
            let mut mine = vec![0_i64; gathered[me].len()];
            if process.is_self() {
                gaps.fill(-1);
                {
                    let mut receive = PartitionMut::new(&mut gaps[..], &column[..], &places[..]);
                    process.gather_varcount_into_root(&gathered[me][..], &mut receive);
                }
                assert_eq!(gaps, laid_out(&gathered));
                let send = Partition::new(&gaps[..], &column[..], &places[..]);
                process.scatter_varcount_into_root(&send, &mut mine[..]);
            } else {
                process.gather_varcount_into(&gathered[me][..]);
                process.scatter_varcount_into(&mut mine[..]);
            }
            assert_eq!(mine, gathered[me]);
        });
    }

    #[test]
    fn reductions_keep_the_order_of_ranks(n in 1..6_usize, length in 0..4_usize, root in 0..6_usize, immediate: bool, schedulers in 1..4_usize) {
        let root = (root % n) as i32;
        ranks_on(schedulers.min(n), n, move |world| {
            // Functions x -> a x + b modulo 2^32, which do not commute. Each is one element, with
            // `a` in the upper half. The operation treats elements independently, because MPI may
            // call it for a part of a message.
            let of = |rank: usize| -> Vec<u64> {
                (0..length).map(|at| (2 + rank as u64) << 32 | (rank * 7 + at) as u64).collect()
            };
            let after = |first: u64, second: u64| {
                let [a, b, c, d] = [first >> 32, first, second >> 32, second].map(|half| half as u32);
                u64::from(a.wrapping_mul(c)) << 32 | u64::from(b.wrapping_mul(c).wrapping_add(d))
            };
            let fold = |upto: usize| -> Vec<u64> {
                (0..length).map(|at| (0..upto).map(|rank| of(rank)[at]).reduce(after).unwrap()).collect()
            };
            let seen = std::sync::atomic::AtomicUsize::new(0);
            // The operation borrows a variable that ends with the rank.
            let operation = UserOperation::associative(|left, right| {
                seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let left: &[u64] = left.downcast().unwrap();
                let right: &mut [u64] = right.downcast().unwrap();
                for (left, right) in left.iter().zip(right) {
                    *right = after(*left, *right);
                }
            });
            let me = world.rank() as usize;
            let mine = of(me);
            let room = || vec![0_u64; mine.len()];
            let (mut all, mut scanned, mut before) = (room(), room(), room());
            if immediate {
                mpi::request::scope(|scope| {
                    let first = world.immediate_all_reduce_into(scope, &mine[..], &mut all[..], &operation);
                    let second = world.immediate_scan_into(scope, &mine[..], &mut scanned[..], &operation);
                    let third = world.immediate_exclusive_scan_into(scope, &mine[..], &mut before[..], &operation);
                    for request in [third, first, second] {
                        request.wait();
                    }
                });
            } else {
                world.all_reduce_into(&mine[..], &mut all[..], &operation);
                world.scan_into(&mine[..], &mut scanned[..], &operation);
                world.exclusive_scan_into(&mine[..], &mut before[..], &operation);
            }
            assert_eq!(all, fold(n));
            assert_eq!(scanned, fold(me + 1));
            if me > 0 {
                assert_eq!(before, fold(me));
            }
            let process = world.process_at_rank(root);
            if process.is_self() {
                let mut result = room();
                process.reduce_into_root(&mine[..], &mut result[..], &operation);
                assert_eq!(result, fold(n));
            } else {
                process.reduce_into(&mine[..], &operation);
            }
        });
    }
}

#[test]
fn predefined_operations_are_defined_for_their_types_only() {
    ranks(2, |world| {
        let rank = world.rank();
        let mut sum = 0.0_f64;
        world.all_reduce_into(&(f64::from(rank) + 0.5), &mut sum, SystemOperation::sum());
        assert!((sum - 2.0).abs() < 1e-12);
        let mut any = false;
        world.all_reduce_into(&(rank == 1), &mut any, SystemOperation::logical_or());
        assert!(any);
        let mut wrapped = 0_u8;
        world.all_reduce_into(&200_u8, &mut wrapped, SystemOperation::sum());
        assert_eq!(wrapped, 144);
        let undefined = world.try_all_reduce_into(&true, &mut any, SystemOperation::sum());
        assert!(matches!(undefined, Err(CallError::Unreadable(_))));
        let undefined = world.try_all_reduce_into(&1.0, &mut sum, SystemOperation::bitwise_and());
        assert!(matches!(undefined, Err(CallError::Unreadable(_))));
        let mut most = [3_i16, -4];
        reduce_local_into(&[2_i16, -1], &mut most, SystemOperation::max());
        assert_eq!(most, [3, -1]);
        assert!(!Operation::is_commutative(&&UserOperation::associative(
            |_, _| ()
        )));
        assert!(SystemOperation::min().is_commutative());
    });
}

#[test]
fn operations_of_functions() {
    /// Stores the left operand as the result, which makes the order visible.
    unsafe extern "C" fn first(
        left: *mut std::os::raw::c_void,
        right: *mut std::os::raw::c_void,
        count: *mut i32,
        _datatype: *mut mpi::ffi::MPI_Datatype,
    ) {
        // SAFETY: both pointers refer to `*count` elements of `i32`, which do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(left.cast::<i32>(), right.cast(), *count as usize) };
    }
    ranks(4, |world| {
        // SAFETY: `first` is associative, and is used for `i32` only.
        let operation = unsafe { UnsafeUserOperation::associative(first) };
        let mut result = [0; 2];
        world.all_reduce_into(&[world.rank() + 5; 2], &mut result, &operation);
        assert_eq!(result, [5; 2]);
    });
}

#[test]
fn mismatched_calls_fail_on_all_ranks() {
    ranks(3, |world| {
        let mut room = [0; 3];
        let different = match world.rank() {
            1 => world.try_barrier(),
            rank => world.try_all_gather_into(&rank, &mut room),
        };
        assert!(matches!(different, Err(CallError::Mismatch(_))));
    });
    ranks(2, |world| {
        let mut room = [0; 3];
        let short = world.try_all_gather_into(&[1; 2], &mut room);
        assert!(short.is_err());
        let (mut long, mut counts) = (0_i32, [0_i32; 2]);
        let truncated = world.try_all_reduce_into(&1_u64, &mut long, SystemOperation::sum());
        assert!(matches!(truncated, Err(CallError::Truncated { .. })));
        world.all_gather_into(&world.rank(), &mut counts);
        assert_eq!(counts, [0, 1]);
    });
}

#[test]
fn communicators_of_every_kind() {
    ranks(5, |world| {
        let (rank, size) = (world.rank(), world.size());
        let itself = SimpleCommunicator::self_comm();
        assert_eq!((itself.size(), itself.rank()), (1, 0));
        let mut echo = 0;
        itself.this_process().broadcast_into(&mut echo);
        assert_eq!(itself.get_name(), "MPI_COMM_SELF");
        let again = SimpleCommunicator::world();
        assert_eq!(world.compare(&again), CommunicatorRelation::Identical);
        let copy = world.duplicate();
        assert_eq!(world.compare(&copy), CommunicatorRelation::Congruent);
        let reversed = world
            .split_by_color_with_key(Color::with_value(0), -rank)
            .unwrap();
        assert_eq!(reversed.rank(), size - 1 - rank);
        assert_eq!(world.compare(&reversed), CommunicatorRelation::Similar);
        assert_eq!(world.compare(&itself), CommunicatorRelation::Unequal);
        assert_eq!(world.split_shared(0).size(), size);
        assert!(world.split_by_color(Color::undefined()).is_none());
        assert!(
            world
                .split_by_subgroup_collective(&SystemGroup::empty())
                .is_none()
        );
        let pair = world.group().include(&[3, 1]);
        assert_eq!(pair.translate_rank(0, &world.group()), Some(3));
        assert_eq!(
            world.group().translate_ranks(&[1, 2], &pair),
            [Some(1), None]
        );
        assert_eq!(
            world.group().exclude(&[0, 2, 4]).compare(&pair),
            GroupRelation::Similar
        );
        assert_eq!(pair.union(&world.group().include(&[0])).size(), 3);
        assert_eq!(pair.intersection(&SystemGroup::empty()).size(), 0);
        if let Some(number) = pair.rank() {
            let made = world.split_by_subgroup_with_tag(&pair, 7).unwrap();
            assert_eq!((made.rank(), made.size()), (number, 2));
            // A communicator does not receive messages of another.
            let other = 1 - made.rank();
            made.process_at_rank(other).send(&1_u8);
            assert!(world.any_process().immediate_probe().is_none());
            assert_eq!(made.any_process().receive::<u8>().0, 1);
        }
        world.barrier();
        let mut named = copy;
        named.set_name("mine");
        assert_eq!(named.get_name(), "mine");
        attributes(&mut named);
    });
}

#[derive(Clone, PartialEq, Debug)]
struct Mark(i32);

impl CommAttribute for Mark {
    const CLONE_ON_DUP: bool = true;
}

fn attributes(of: &mut SimpleCommunicator) {
    assert!(of.get_attr::<Mark>().is_none());
    of.set_attr(Mark(1));
    of.set_attr(Mark(2));
    assert_eq!(of.get_attr::<Mark>(), Some(&Mark(2)));
    assert_eq!(of.duplicate().get_attr::<Mark>(), Some(&Mark(2)));
}

#[test]
fn replaced_attribute_stays_borrowed() {
    ranks(1, |world| {
        let mut other = SimpleCommunicator::world();
        other.set_attr(Mark(1));
        let borrowed = world.get_attr::<Mark>().unwrap();
        other.set_attr(Mark(2));
        assert_eq!(
            (borrowed, other.get_attr::<Mark>()),
            (&Mark(1), Some(&Mark(2)))
        );
    });
}

/// Attribute that panics when it is cloned, or when it is dropped.
struct Odd(&'static str);

impl Clone for Odd {
    fn clone(&self) -> Self {
        panic!("{} cannot be cloned", self.0)
    }
}

impl Drop for Odd {
    fn drop(&mut self) {
        if self.0 != "that" {
            panic!("{} cannot be dropped", self.0)
        }
    }
}

impl CommAttribute for Odd {
    const CLONE_ON_DUP: bool = true;
}

/// Panics in an attribute, which used to abort the OS process with all its ranks.
#[test]
fn panic_of_an_attribute_fails_its_rank() {
    type OfRank = fn(SimpleCommunicator);
    let told = |rank: OfRank| {
        let ended = mpi::run(3, move || {
            let universe = mpi::initialize().unwrap();
            // The rank uses a communicator of its own, because `duplicate` is collective.
            if universe.world().rank() == 1 {
                rank(SimpleCommunicator::self_comm());
            }
        });
        ended.unwrap_err().to_string()
    };
    let cases: [(OfRank, &str); 4] = [
        (
            |mut own| own.set_attr(Odd("this")),
            "this cannot be dropped",
        ),
        (
            |mut own| {
                own.set_attr(Odd("it"));
                own.set_attr(Odd("this"));
                panic!("before");
            },
            "before",
        ),
        (
            |mut own| {
                own.set_attr(Odd("that"));
                drop(own.duplicate());
            },
            "that cannot be cloned",
        ),
        (
            |mut own| {
                own.set_attr(Mark(1));
                own.set_attr(Odd("it"));
                drop(own.duplicate());
            },
            "it cannot be cloned",
        ),
    ];
    for (rank, what) in cases {
        let told = told(rank);
        assert!(told.contains("(rank 1)") && told.contains(what), "{told}");
    }
}

#[test]
fn grids() {
    ranks(6, |world| {
        let grid = world
            .create_cartesian_communicator(&[2, 3], &[true, false], false)
            .unwrap();
        let layout = grid.get_layout();
        assert_eq!(
            (layout.dims, layout.periods),
            (vec![2, 3], vec![true, false])
        );
        assert_eq!(grid.rank_to_coordinates(grid.rank()), layout.coords);
        assert_eq!(grid.coordinates_to_rank(&layout.coords), grid.rank());
        // A coordinate may be 0, and wraps around in a periodic dimension.
        assert_eq!(
            (
                grid.coordinates_to_rank(&[0, 0]),
                grid.coordinates_to_rank(&[-1, 2])
            ),
            (0, 5)
        );
        let (left, right) = grid.shift(1, 1);
        assert_eq!(left.is_none(), layout.coords[1] == 0);
        assert_eq!(right.is_none(), layout.coords[1] == 2);
        let row = grid.subgroup(&[false, true]);
        assert_eq!(
            (row.num_dimensions(), row.size(), row.rank()),
            (1, 3, layout.coords[1])
        );
        let small = world.create_cartesian_communicator(&[2], &[false], true);
        assert_eq!(small.is_some(), world.rank() < 2);
        assert_eq!(
            world.cartesian_map(&[2, 2], &[false; 2]).is_some(),
            world.rank() < 4
        );
    });
}

/// Waits in an operation. This is an error, because the rank that owns the operation could end
/// first.
#[test]
fn operation_that_waits_is_an_error() {
    let ended = mpi::run(3, || {
        let universe = mpi::initialize().unwrap();
        let operation = UserOperation::commutative(|_, _| SimpleCommunicator::world().barrier());
        let mut sum = 0;
        universe.world().all_reduce_into(&1, &mut sum, &operation);
    });
    let told = ended.unwrap_err().to_string();
    assert!(told.contains("cannot wait inside"), "{told}");
}

/// Forgets a reduction that borrows its operation. On several schedulers, the last rank to arrive
/// computes the result with the operation of an earlier rank, which may no longer exist.
#[test]
fn forgotten_reduction_ends_its_loan_with_the_scope() {
    for shrinks in [false, true] {
        let options = mpi::Options::new().os_processes(2).threads(2);
        let ended = mpi::run_with(&options, 2, move || {
            let universe = mpi::initialize().unwrap();
            let world = universe.world();
            let other = world.process_at_rank(1 - world.rank());
            let mut sum = 0;
            if world.rank() == 1 {
                other.receive::<i32>();
                let operation = UserOperation::commutative(|_, _| {});
                world.all_reduce_into(&1, &mut sum, &operation);
                return;
            }
            let forgotten = catch_unwind(AssertUnwindSafe(|| {
                let text = ["borrowed".to_string()];
                let operation = UserOperation::commutative(|_, _| assert_eq!(text[0], "borrowed"));
                mpi::request::scope(|outer| {
                    mpi::request::scope(|inner| {
                        let begun =
                            world.immediate_all_reduce_into(inner, &1, &mut sum, &operation);
                        match shrinks {
                            true => forget(begun.shrink_scope_to(outer)),
                            false => forget(begun),
                        }
                    });
                });
            }));
            assert!(forgotten.is_err());
            other.send(&0);
            other.receive::<i32>();
        });
        let told = ended.unwrap_err().to_string();
        assert!(told.contains("the operation no longer exists"), "{told}");
    }
}
