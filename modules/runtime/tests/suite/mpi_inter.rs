//! Intercommunicators: messages and collective calls between two groups of ranks, at each place.

use crate::common::places::RANKS;
use crate::common::ranks::{everywhere, run_at};
use crate::common::{Random, seeds, size};
use graphmap_runtime as rt;
use rt::RunError;
use rt::mpi::{
    self, ANY_SOURCE, ANY_TAG, Communicator, Comparison, Error, InterCommunicator, InterRoot,
    Request,
};

/// Divides the ranks of a world at random into two sides with random orders, and joins them by an
/// intercommunicator. The last rank of each side leads.
///
/// Returns the world ranks of both sides, the side of this rank, and the intercommunicator.
async fn two_sides(
    world: &Communicator,
    random: &mut Random,
) -> Result<(Vec<Vec<usize>>, usize, InterCommunicator), Error> {
    let count = world.size();
    let mut sides: Vec<usize> = (0..count).map(|_| random.below(2) as usize).collect();
    (sides[0], sides[count - 1]) = (0, 1);
    let keys: Vec<u64> = (0..count).map(|_| random.below(100)).collect();
    let members = |side: usize| {
        let mut members: Vec<usize> = (0..count).filter(|&rank| sides[rank] == side).collect();
        members.sort_by_key(|&rank| (keys[rank], rank));
        members
    };
    let members = vec![members(0), members(1)];
    let side = sides[world.rank()];
    let local = world
        .split(Some(side as u32), keys[world.rank()] as i64)
        .await?;
    let local = local.ok_or(Error::Inactive)?;
    let leader = local.size() - 1;
    let other = *members[1 - side].last().unwrap();
    let both = local.intercommunicator(leader, world, other, 3).await?;
    Ok((members, side, both))
}

/// Sends messages and makes collective calls across the sides. Results follow the rank order of the
/// remote side.
#[test]
fn what_crosses_comes_from_the_other_side() {
    for seed in seeds(10, 2) {
        let count = 2 + seed as usize % 6;
        everywhere(count, seed, move |world| async move {
            let mut random = Random(seed + 1);
            let (members, side, both) = two_sides(&world, &mut random).await?;
            let (mine, theirs) = (&members[side], &members[1 - side]);
            assert_eq!(
                (both.size(), both.remote_size()),
                (mine.len(), theirs.len())
            );
            assert_eq!(mine[both.rank()], world.rank());
            let remote = both
                .remote_group()
                .translate(&(0..theirs.len()).collect::<Vec<_>>(), world.group());
            assert!(remote.into_iter().eq(theirs.iter().copied().map(Some)));
            for round in 0..size(4, 1) as i32 {
                for to in 0..theirs.len() {
                    let value = (world.rank(), vec![round; to * 9000]);
                    drop(both.bsend(value, to, round));
                }
                let mut from = vec![false; theirs.len()];
                for _ in 0..theirs.len() {
                    let request = both.recv::<(usize, Vec<i32>)>(ANY_SOURCE, round);
                    let ((who, values), status) = match round % 2 {
                        0 => request.await?,
                        _ => mpi::wait_any(&mut [request]).await.unwrap().1?,
                    };
                    assert_eq!((theirs[status.source], status.tag), (who, round));
                    assert_eq!(values.len(), both.rank() * 9000);
                    assert!(!std::mem::replace(&mut from[status.source], true));
                }
                let all = both.allgather(world.rank()).await?;
                assert_eq!(&all[..], &theirs[..]);
                let text = both
                    .allreduce(world.rank().to_string(), |a, b| a + &b)
                    .await?;
                assert_eq!(
                    text,
                    theirs.iter().map(usize::to_string).collect::<String>()
                );
                let each = (0..theirs.len()).map(|to| (world.rank(), to)).collect();
                let each = both.alltoall(each).await?;
                assert!(
                    each.into_iter()
                        .eq(theirs.iter().map(|&rank| (rank, both.rank())))
                );
                let text = (0..theirs.len()).map(|to| format!("{}-{to} ", world.rank()));
                let text = both.reduce_scatter(text.collect(), |a, b| a + &b).await?;
                let wanted = theirs.iter().map(|rank| format!("{rank}-{} ", both.rank()));
                assert_eq!(text, wanted.collect::<String>());
                // The root is a rank of side 1, then one of side 0.
                for of in [1, 0] {
                    let root = random.below(members[of].len() as u64) as usize;
                    let says = match (side == of, both.rank() == root) {
                        (true, true) => InterRoot::This,
                        (true, false) => InterRoot::Beside,
                        (false, _) => InterRoot::Remote(root),
                    };
                    rooted(&both, says, theirs, members[of][root], world.rank()).await?;
                }
                both.barrier().await?;
            }
            Ok(())
        });
    }
}

/// Makes all rooted collective calls with one root. `theirs`, `root` and `me` are world ranks.
async fn rooted(
    both: &InterCommunicator,
    says: InterRoot,
    theirs: &[usize],
    root: usize,
    me: usize,
) -> Result<(), Error> {
    let (is_root, is_remote) = (
        says == InterRoot::This,
        matches!(says, InterRoot::Remote(_)),
    );
    // The value of a rank that contributes nothing to the call is dropped.
    let value = (is_root || me.is_multiple_of(2)).then(|| format!("of {me}"));
    let given = both.bcast(value, says).await?;
    assert_eq!(given, is_remote.then(|| format!("of {root}")));
    let bring = || (is_remote || me.is_multiple_of(2)).then(|| vec![me; me % 3]);
    let all = both.gather(bring(), says).await?;
    let wanted = || theirs.iter().map(|&rank| vec![rank; rank % 3]);
    assert_eq!(all, is_root.then(|| wanted().collect()));
    let join = |mut a: Vec<usize>, mut b: Vec<usize>| {
        a.append(&mut b);
        a
    };
    let all = both.reduce(bring(), join, says).await?;
    assert_eq!(all, is_root.then(|| wanted().flatten().collect()));
    let values = is_root.then(|| (0..theirs.len()).map(|to| (me, to)).collect());
    let own = both.scatter(values, says).await?;
    assert_eq!(own, is_remote.then_some((root, both.rank())));
    Ok(())
}

/// Makes ranks disagree on the root, or omit a value. All ranks must get an error, and can then
/// continue.
#[test]
fn root_errors_are_reported_to_all_ranks() {
    everywhere(5, 3, |world| async move {
        let (me, side) = (world.rank(), world.rank() % 2);
        let local = world
            .split(Some(side as u32), 0)
            .await?
            .ok_or(Error::Inactive)?;
        let both = local.intercommunicator(0, &world, 1 - side, 0).await?;
        let (this, beside, remote) = (InterRoot::This, InterRoot::Beside, InterRoot::Remote);
        let differ = |told: Result<Option<usize>, Error>| {
            let told = told.unwrap_err();
            assert!(told.to_string().contains("disagree on the root"), "{told}");
        };
        // No root, two roots, a root in each group, and a root other than the named one. Then a
        // rank of the root's group names a remote root, and ranks name different roots.
        let all = [
            [beside, beside, beside, beside, beside],
            [this, remote(0), this, remote(0), beside],
            [this, this, beside, beside, beside],
            [this, remote(1), beside, remote(1), beside],
            [this, remote(0), remote(0), remote(0), beside],
            [this, remote(0), beside, remote(1), beside],
        ];
        for said in all {
            differ(both.bcast(Some(me), said[me]).await);
            differ(both.reduce(Some(me), |a, b| a + b, said[me]).await);
            let values = vec![me; both.remote_size()];
            differ(both.scatter(Some(values), said[me]).await);
            let told = both.gather(Some(me), said[me]).await;
            differ(told.map(|all| all.map(|all| all[0])));
        }
        let right = [this, remote(0), beside, remote(0), beside][me];
        let nothing = Err(Error::Count {
            given: 0,
            wanted: 1,
        });
        let value = (me != 3).then_some(me);
        assert_eq!(both.reduce(value, |a, b| a + b, right).await, nothing);
        let value = (me != 0).then_some(me);
        assert_eq!(both.bcast(value, right).await, nothing);
        let few = both.scatter(Some(vec![me; 3]), right).await;
        let wanted = Error::Count {
            given: 3,
            wanted: 2,
        };
        assert_eq!(few, Err(wanted));
        let there = match me {
            3 => InterRoot::Remote(3),
            _ => right,
        };
        let told = both.reduce(Some(me), |a, b| a + b, there).await;
        assert_eq!(told, Err(Error::Rank { rank: 3, size: 3 }));
        let sum = both.reduce(Some(me), |a, b| a + b, right).await?;
        assert_eq!(sum, (me == 0).then_some(4));
        Ok(())
    });
}

/// Merges the two groups. The group that passes `high == false` comes first. If both pass the same
/// value, the group whose leader has the lower rank comes first.
#[test]
fn two_become_one() {
    for seed in seeds(8, 2) {
        let count = 2 + seed as usize % 5;
        everywhere(count, seed, move |world| async move {
            let mut random = Random(seed + 1);
            let (members, side, both) = two_sides(&world, &mut random).await?;
            for (zero, one) in [(false, true), (true, false), (false, false), (true, true)] {
                let all = both.merge([zero, one][side]).await?;
                let first = match (zero, one) {
                    (false, true) => 0,
                    (true, false) => 1,
                    _ => usize::from(members[1].last() < members[0].last()),
                };
                let order = [&members[first][..], &members[1 - first]].concat();
                assert_eq!(order[all.rank()], world.rank());
                let sum = all.allreduce(1, |a, b| a + b).await?;
                assert_eq!(sum, count);
            }
            Ok(())
        });
    }
}

/// Probes messages. A probed message can be received, given back or left in the queue.
#[test]
fn probes() {
    everywhere(4, 3, |world| async move {
        let (_, _, both) = two_sides(&world, &mut Random(7)).await?;
        let there = both.remote_size();
        for to in 0..there {
            drop(both.send(both.rank(), to, 5));
        }
        for from in 0..there {
            let message = both.mprobe(from, ANY_TAG).await?;
            assert_eq!((message.status().source, message.status().tag), (from, 5));
            if from % 2 == 0 {
                drop(message);
                let found = both.iprobe(from, 5).await?.unwrap();
                assert_eq!(found.source, from);
                assert_eq!(both.recv::<usize>(from, 5).await?.0, from);
            } else {
                assert_eq!(message.recv::<usize>()?.0, from);
            }
        }
        assert!(both.recv::<usize>(0, 9).cancel());
        both.barrier().await
    });
}

#[test]
fn errors_are_reported() {
    everywhere(4, 1, |world| async move {
        let me = world.rank();
        let side = me / 2;
        let local = world
            .split(Some(side as u32), 0)
            .await?
            .ok_or(Error::Inactive)?;
        let both = local
            .intercommunicator(0, &world, (1 - side) * 2, 0)
            .await?;
        let none = Error::Rank { rank: 2, size: 2 };
        assert_eq!(both.send(1, 2, 0).await, Err(none.clone()));
        assert_eq!(both.recv::<i32>(2, 0).await, Err(none.clone()));
        assert_eq!(both.send(1, 0, -1).await, Err(Error::Tag(-1)));
        let count = Error::Count {
            given: 1,
            wanted: 2,
        };
        assert_eq!(both.alltoall(vec![1]).await, Err(count));
        // A group with itself, a leader that does not exist, and an invalid tag.
        let itself = world.intercommunicator(0, &world, 0, 0).await.unwrap_err();
        assert_eq!(
            itself.to_string(),
            "the two groups of an intercommunicator have a process in common"
        );
        let nobody = local.intercommunicator(0, &world, 4, 0).await.unwrap_err();
        assert_eq!(nobody, Error::Rank { rank: 4, size: 4 });
        let tag = local.intercommunicator(0, &world, (1 - side) * 2, -3).await;
        assert_eq!(tag.unwrap_err(), Error::Tag(-3));
        // Groups that overlap, and have different leaders.
        let first = world
            .create_group(&world.group().include_ranges(&[(0, 2, 1)])?, 0)
            .await?;
        let second = world
            .create_group(&world.group().include_ranges(&[(1, 3, 1)])?, 1)
            .await?;
        world.barrier().await?;
        let made = match me {
            0 => Some(first.unwrap().intercommunicator(0, &world, 3, 5).await),
            3 => Some(second.unwrap().intercommunicator(2, &world, 0, 5).await),
            _ => {
                let first = first.unwrap().intercommunicator(0, &world, 3, 5);
                let second = second.unwrap().intercommunicator(2, &world, 0, 5).await;
                assert!(first.await.is_err());
                Some(second)
            }
        };
        assert!(matches!(made, Some(Err(Error::Group(_)))));
        world.barrier().await
    });
}

/// Creates two intercommunicators with the same leaders at the same time, distinguished by tags.
#[test]
fn several_at_a_time() {
    everywhere(4, 2, |world| async move {
        let side = world.rank() % 2;
        let local = world
            .split(Some(side as u32), 0)
            .await?
            .ok_or(Error::Inactive)?;
        let of = |tag| local.intercommunicator(0, &world, 1 - side, tag);
        let (first, second) = match side {
            0 => (of(1), of(2)),
            _ => {
                let second = of(2);
                (of(1), second)
            }
        };
        let (first, second) = (first.await?, second.await?);
        first.send(1u8, 0, 0).await?;
        second.send(2u8, 0, 0).await?;
        if first.rank() == 0 {
            for _ in 0..2 {
                assert_eq!(second.recv::<u8>(ANY_SOURCE, 0).await?.0, 2);
                assert_eq!(first.recv::<u8>(ANY_SOURCE, 0).await?.0, 1);
            }
        }
        Ok(())
    });
}

/// Checks that the report of a deadlock includes receives from the remote group.
#[test]
fn deadlocks_are_reported() {
    for place in RANKS {
        let blocked = run_at(place, 2, 1, |world| async move {
            let me = world.rank();
            let local = world
                .split(Some(me as u32), 0)
                .await?
                .ok_or(Error::Inactive)?;
            let both = local.intercommunicator(0, &world, 1 - me, 0).await?;
            both.recv::<u8>(0, me as i32).await.map(drop)
        });
        let Err(RunError::Blocked(block)) = blocked else {
            panic!("{place:?}: {blocked:?}");
        };
        assert_eq!(
            (block.cycle_len, block.others_len),
            (2, 0),
            "{place:?}: {block}"
        );
        assert!(
            block.to_string().contains("tests/suite/mpi_inter.rs:"),
            "{block}"
        );
    }
}

/// Duplicates and splits an intercommunicator, and compares the results with it.
#[test]
fn duplicates_and_parts_keep_the_order_of_both_sides() {
    for seed in seeds(10, 2) {
        let count = 2 + seed as usize % 6;
        everywhere(count, seed, move |world| async move {
            let mut random = Random(seed + 1);
            let (members, side, both) = two_sides(&world, &mut random).await?;
            let copy = both.dup().await?;
            assert_eq!(copy.compare(&copy.clone()), Comparison::Identical);
            assert_eq!(copy.compare(&both), Comparison::Congruent);
            drop(copy.bsend((), 0, 1));
            assert_eq!(both.iprobe(ANY_SOURCE, 1).await?, None);
            drop(both.bsend((), 0, 2));
            for _ in 0..if copy.rank() == 0 {
                copy.remote_size()
            } else {
                0
            } {
                copy.recv::<()>(ANY_SOURCE, 1).await?;
                both.recv::<()>(ANY_SOURCE, 2).await?;
            }
            let colours: Vec<u32> = (0..count).map(|_| random.below(3) as u32).collect();
            let keys: Vec<i64> = (0..count).map(|_| random.below(5) as i64 - 2).collect();
            let colour = Some(colours[world.rank()]).filter(|&colour| colour < 2);
            let part = copy.split(colour, keys[world.rank()]).await?;
            let with = |side: usize| {
                let members = members[side].iter().copied();
                let same = members.filter(|&rank| Some(colours[rank]) == colour);
                let mut same: Vec<usize> = same.collect();
                same.sort_by_key(|&rank| keys[rank]);
                same
            };
            let (mine, theirs) = (with(side), with(1 - side));
            assert_eq!(part.is_some(), !mine.is_empty() && !theirs.is_empty());
            if let Some(part) = part {
                assert_eq!(mine[part.rank()], world.rank());
                assert_eq!(&part.allgather(world.rank()).await?[..], &theirs[..]);
                let expected = match mine.len() + theirs.len() == count {
                    true => Comparison::Similar,
                    false => Comparison::Unequal,
                };
                let compared = part.compare(&copy);
                assert!(compared == expected || compared == Comparison::Congruent);
            }
            Ok(())
        });
    }
}

/// Creates communicators of a group without a parent. Other ranks take no part.
#[test]
fn a_group_creates_communicators_by_tags() {
    everywhere(5, 1, |world| async move {
        let group = world.group().include(&[3, 0, 4])?;
        if group.has(world.rank() as u32) {
            let tags = ["first", "second"].map(|tag| mpi::create_from_group(&group, tag));
            for made in tags {
                let made = made.await?.ok_or(Error::Inactive)?;
                assert_eq!(&made.allgather(world.rank()).await?[..], &[3, 0, 4]);
            }
        } else {
            assert!(mpi::create_from_group(&group, "first").await?.is_none());
        }
        Ok(())
    });
}
