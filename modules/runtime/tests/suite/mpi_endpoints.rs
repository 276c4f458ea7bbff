//! Endpoints of processes at each place: fixed cases, and random operations compared with plain
//! lists.

use crate::common::endpoint_cases::{each, endpoints, together};
use crate::common::places::RANKS;
use crate::common::ranks::{everywhere, run_at};
use crate::common::{Random, forget, seeds, size};
use graphmap_runtime as rt;
use rt::mpi::{self, ANY_SOURCE, Communicator, Error, InterCommunicator, Op, Request, SplitType};
use rt::{RunError, yield_now};

#[test]
fn random_endpoints_are_as_lists_say() {
    let steps = size(20, 5);
    for seed in seeds(10, 1) {
        let count = 1 + seed as usize % 5;
        everywhere(count, seed, move |world| endpoints(world, seed, steps));
    }
}

/// Uses three endpoints in each of four processes. The root is the second endpoint of its process.
#[test]
fn bcast_and_allreduce_over_twelve() {
    everywhere(4, 1, |world| async move {
        let three = world.endpoints(3).await?;
        assert_eq!(three[0].name(), "world.endpoints");
        let got = each(&three, |rank| async move {
            let value = (rank.rank() == 4).then_some(rank.rank() * 100);
            let given = rank.bcast(value, 4).await?;
            let sum = rank.allreduce(rank.rank(), |a, b| a + b).await?;
            Ok((rank.rank(), rank.size(), given, sum))
        });
        let first = 3 * world.rank();
        let wanted = (first..first + 3).map(|rank| (rank, 12, 400, 66));
        assert!(got.await?.into_iter().eq(wanted));
        Ok(())
    });
}

/// Splits so that the endpoints of one process have several colours. Keys order the ranks across
/// all processes, as the MPI standard requires.
#[test]
fn split_into_several_colours_within_a_process() {
    everywhere(3, 2, |world| async move {
        let four = world.endpoints(4).await?;
        let colours = [
            [Some(0), Some(1), Some(0), None],
            [Some(2); 4],
            [Some(1), Some(0), None, Some(1)],
        ];
        let colours: &[Option<u32>] = &colours.concat();
        for key in [
            |rank: usize| rank as i64,
            |rank| -(rank as i64),
            |rank| (rank * 7 % 5) as i64,
        ] {
            each(&four, |rank| async move {
                let me = rank.rank();
                let part = rank.split(colours[me], key(me)).await?;
                let mut members: Vec<usize> =
                    (0..12).filter(|&it| colours[it] == colours[me]).collect();
                members.sort_by_key(|&rank| key(rank));
                let Some(part) = part else {
                    assert_eq!(colours[me], None);
                    return Ok(());
                };
                assert_eq!((members[part.rank()], part.size()), (me, members.len()));
                assert_eq!(&part.allgather(me).await?[..], &members[..]);
                Ok(())
            })
            .await?;
        }
        // Endpoints belong to the kind, scheduler, OS process and host of their process.
        let ours = each(&four, |rank| async move {
            let kind = rank.split_type(SplitType::Kind, 0).await?;
            let together = rank.split_type(SplitType::Scheduler, 0).await?;
            let here = rank.split_type(SplitType::OsProcess, 0).await?;
            Ok((kind.size(), together.size(), here.size()))
        });
        let like = world.split_type(SplitType::OsProcess, 0).await?.size();
        let with = world.split_type(SplitType::Scheduler, 0).await?.size();
        assert_eq!(ours.await?, [(12, 4 * with, 4 * like); 4]);
        Ok(())
    });
}

/// Two groups of the twelve endpoints of four processes, by rank, and the index of the leader in
/// each.
struct Sides {
    members: [&'static [usize]; 2],
    leaders: [usize; 2],
}

/// Pairs of groups. Process 1 has ranks 3, 4 and 5.
const SIDES: [Sides; 6] = [
    // No process has endpoints in both groups. The leaders are ranks 4 and 9 of the communicator
    // that contains both.
    Sides {
        members: [&[1, 3, 4, 5], &[6, 7, 8, 9, 11]],
        leaders: [2, 3],
    },
    // One process has endpoints in both groups, and neither leader is one of them.
    Sides {
        members: [&[0, 1, 2, 3], &[4, 5, 6, 9]],
        leaders: [0, 3],
    },
    // One leader belongs to a process that has endpoints in both groups.
    Sides {
        members: [&[0, 1, 2, 3], &[4, 5, 6, 9]],
        leaders: [3, 2],
    },
    // Both leaders belong to such a process. Both groups also have other processes.
    Sides {
        members: [&[0, 1, 3], &[4, 5, 6, 7, 8]],
        leaders: [2, 0],
    },
    // Only the second group has other processes.
    Sides {
        members: [&[3], &[5, 4, 6, 10]],
        leaders: [0, 1],
    },
    // Neither group has other processes.
    Sides {
        members: [&[4], &[5, 3]],
        leaders: [0, 1],
    },
];

/// Returns the side of a rank and its intercommunicator, or `None` if the rank is on neither side.
async fn across(
    rank: &Communicator,
    sides: &Sides,
) -> Result<Option<(usize, InterCommunicator)>, Error> {
    let side = sides
        .members
        .iter()
        .position(|side| side.contains(&rank.rank()));
    let key = side.and_then(|side| sides.members[side].iter().position(|&it| it == rank.rank()));
    let local = rank
        .split(side.map(|side| side as u32), key.unwrap_or(0) as i64)
        .await?;
    let Some((local, side)) = local.zip(side) else {
        return Ok(None);
    };
    let remote = sides.members[1 - side][sides.leaders[1 - side]];
    let both = local
        .intercommunicator(sides.leaders[side], rank, remote, 5)
        .await?;
    Ok(Some((side, both)))
}

/// Joins two groups by an intercommunicator. Endpoints are ranks, so both groups may have endpoints
/// of the same process, and any of them may lead.
#[test]
fn two_groups_that_may_share_processes() {
    for sides in &SIDES {
        everywhere(4, 3, move |world| async move {
            let three = world.endpoints(3).await?;
            each(&three, |rank| async move {
                let Some((side, both)) = across(&rank, sides).await? else {
                    return Ok(());
                };
                let (mine, theirs) = (sides.members[side], sides.members[1 - side]);
                assert_eq!(
                    (both.size(), both.remote_size()),
                    (mine.len(), theirs.len())
                );
                assert_eq!(mine[both.rank()], rank.rank());
                assert_eq!(&both.allgather(rank.rank()).await?[..], theirs);
                // Every rank sends to every remote rank, within a process and between two.
                let sends: Vec<_> = (0..theirs.len())
                    .map(|to| both.ssend((rank.rank(), theirs[to]), to, 7 + to as i32))
                    .collect();
                let mut heard = Vec::new();
                for _ in theirs {
                    let tag = 7 + both.rank() as i32;
                    let ((from, to), status) = both.recv::<(usize, usize)>(ANY_SOURCE, tag).await?;
                    assert_eq!((to, theirs[status.source]), (rank.rank(), from));
                    heard.push(from);
                }
                heard.sort_unstable();
                let mut wanted = theirs.to_vec();
                wanted.sort_unstable();
                assert_eq!(heard, wanted);
                for sent in mpi::wait_all(sends).await {
                    sent?;
                }
                Ok(())
            })
            .await
            .map(drop)
        });
    }
}

/// Merges two groups. The group that passes `high == false` comes first. If both pass the same
/// value, the group whose leader has the lower rank comes first. The standard requires equal values
/// within a group; otherwise, all ranks get an error.
#[test]
fn two_groups_become_one() {
    for sides in &SIDES {
        everywhere(4, 4, move |world| async move {
            let three = world.endpoints(3).await?;
            each(&three, |rank| async move {
                let Some((side, both)) = across(&rank, sides).await? else {
                    return Ok(());
                };
                let leader = |side: usize| sides.members[side][sides.leaders[side]];
                for high in [[false, true], [true, false], [false, false], [true, true]] {
                    let all = both.merge(high[side]).await?;
                    let first = match high {
                        [false, true] => 0,
                        [true, false] => 1,
                        _ => usize::from(leader(1) < leader(0)),
                    };
                    let order = [sides.members[first], sides.members[1 - first]].concat();
                    assert_eq!(&all.allgather(rank.rank()).await?[..], &order[..]);
                }
                let (largest, size) = match sides.members[0].len() < sides.members[1].len() {
                    true => (1, sides.members[1].len()),
                    false => (0, sides.members[0].len()),
                };
                let odd = side == largest && both.rank() + 1 == size;
                let mixed = both.merge(odd).await.unwrap_err();
                assert_eq!(
                    mixed.to_string(),
                    "ranks of one group called `merge` with different values of `high`"
                );
                both.merge(side == 0).await.map(drop)
            })
            .await
            .map(drop)
        });
    }
}

/// Accesses the window of a server with one endpoint. The clients have 0, 1, 2 and 3 endpoints.
#[test]
fn accesses_to_the_window_of_a_server() {
    everywhere(5, 5, |world| async move {
        let count = match world.rank() {
            0 => 1,
            client => client - 1,
        };
        let ranks = world.endpoints(count).await?;
        each(&ranks, |rank| async move {
            let (me, size) = (rank.rank(), rank.size());
            assert_eq!(size, 1 + 1 + 2 + 3);
            let elements = if me == 0 { size + 2 } else { 0 };
            let window = rank.window(vec![0u64; elements]).await?;
            if me > 0 {
                window.put([me as u64 * 11], 0, me).await?;
                let _ = window.fetch_and_op(1, 0, 0, Op::Sum).await?;
                window.accumulate([me as u64], 0, size, Op::Max).await?;
                assert_eq!(window.get(0, me..me + 1).await?, [me as u64 * 11]);
                loop {
                    let there = window.get(0, size + 1..size + 2).await?[0];
                    let swapped = window
                        .compare_and_swap(there, there + 1, 0, size + 1)
                        .await?;
                    if swapped == there {
                        break;
                    }
                    yield_now().await;
                }
                // The other clients expose no elements.
                assert!(matches!(
                    window.put([1], me, 0).await,
                    Err(Error::Window(_))
                ));
            }
            window.fence().await?;
            if me == 0 {
                let clients = (1..size as u64).map(|client| client * 11);
                let all: Vec<u64> = [6].into_iter().chain(clients).chain([6, 6]).collect();
                assert_eq!(window.with(|mine| mine.to_vec())?, all);
            }
            window.free().await.map(drop)
        })
        .await
        .map(drop)
    });
}

/// Creates no endpoints in any process, and then endpoints in only one process.
#[test]
fn none() {
    everywhere(3, 1, |world| async move {
        assert!(world.endpoints(0).await?.is_empty());
        let count = usize::from(world.rank() == 1) * 2;
        let two = world.endpoints(count).await?;
        assert_eq!(two.len(), count);
        each(&two, |rank| async move { rank.barrier().await }).await?;
        world.barrier().await
    });
}

/// Requests more ranks than MPI can count. Every process must get the error, and no endpoints are
/// created.
#[test]
fn more_than_mpi_can_count() {
    everywhere(3, 1, |world| async move {
        let me = world.rank();
        let refused = |ranks| Err(Error::TooManyRanks { ranks });
        let asks = if me == 1 { 1 << 31 } else { 1 };
        assert_eq!(world.endpoints(asks).await.map(drop), refused(1 << 31));
        assert_eq!(world.endpoints(1 << 30).await.map(drop), refused(3 << 30));
        let error = world.endpoints(usize::MAX).await.unwrap_err();
        assert!(
            error.to_string().contains("the limit is 2147483647"),
            "{error}"
        );
        let one = world.endpoints(1).await?;
        assert_eq!(one[0].allreduce(1, |a, b| a + b).await?, 3);
        Ok(())
    });
}

/// Creates endpoints of endpoints several levels deep. Endpoints of one process may be made from
/// different endpoints of that process.
#[test]
fn endpoints_of_endpoints() {
    everywhere(3, 6, |world| async move {
        let mut ranks = world.endpoints(2).await?;
        for depth in 0..5 {
            let before = ranks.clone();
            let made = each(&ranks, |rank| async move {
                // Of three ranks, one gets no endpoints and one gets two.
                rank.endpoints((rank.rank() + depth) % 3).await
            });
            ranks = made.await?.concat();
            let sizes = each(&ranks, |rank| async move {
                rank.allreduce(1, |a, b| a + b).await
            });
            assert!(
                sizes
                    .await?
                    .iter()
                    .zip(&ranks)
                    .all(|(size, rank)| *size == rank.size())
            );
            // The parent endpoints still work.
            each(&before, |rank| async move { rank.barrier().await }).await?;
        }
        Ok(())
    });
}

/// Joins two groups of endpoints that were each created in a communicator without the other group.
#[test]
fn groups_that_have_never_heard_of_each_other() {
    everywhere(6, 7, |world| async move {
        let side = world.rank() % 2;
        let own = world.split(Some(side as u32), 0).await?.unwrap();
        let inner = own.endpoints(2).await?;
        let inner = each(&inner, |rank| async move { rank.endpoints(1 + side).await });
        let inner = inner.await?.concat();
        // The leaders are the first endpoints of world ranks 0 and 1, because the world contains
        // both.
        let world = &world;
        let merged = each(&inner, |rank| async move {
            let both = rank.intercommunicator(0, world, 1 - side, 9).await?;
            assert_eq!(both.remote_size(), if side == 0 { 12 } else { 6 });
            let to = both.rank() % both.remote_size();
            let sent = both.send((side, rank.rank()), to, 1);
            let come = both.remote_size().div_ceil(both.size()) * usize::from(side == 0)
                + usize::from(side == 1 && both.rank() < both.remote_size());
            for _ in 0..come {
                let ((from, of), status) = both.recv::<(usize, usize)>(ANY_SOURCE, 1).await?;
                assert_eq!((from, of), (1 - side, status.source));
            }
            sent.await?;
            both.merge(side == 1).await
        });
        let merged = merged.await?;
        let sums = each(
            &merged,
            |rank| async move { rank.allgather(rank.rank()).await },
        );
        assert!(sums.await?.iter().all(|all| all.iter().copied().eq(0..18)));
        // Creates endpoints of the merged ranks, although no process knows how all of them were
        // created.
        let more = each(&merged, |rank| async move { rank.endpoints(1).await });
        let more = more.await?.concat();
        let sums = each(&more, |rank| async move {
            rank.allreduce(1, |a, b| a + b).await
        });
        assert!(sums.await?.iter().all(|&sum| sum == 18));
        Ok(())
    });
}

/// Drops or forgets handles in any order while messages and calls are in progress. The other
/// endpoints continue.
#[test]
fn handles_are_let_go_of_in_any_order() {
    for seed in seeds(8, 1) {
        everywhere(4, seed, move |world| async move {
            let mut random = Random(seed * 10 + world.rank() as u64);
            for round in 0..6 {
                let mut ranks = world.endpoints(1 + random.below(4) as usize).await?;
                let size = ranks[0].size();
                for rank in &ranks {
                    drop(rank.barrier());
                    drop(rank.bsend(vec![rank.rank(); 5000], (rank.rank() + 1) % size, 0));
                    drop(rank.recv::<u8>(ANY_SOURCE, 1));
                }
                random.shuffle(&mut ranks);
                while let Some(rank) = ranks.pop() {
                    match random.below(4) {
                        0 => forget(rank),
                        1 => {
                            let before = (rank.rank() + size - 1) % size;
                            let (from, _) = rank.recv::<Vec<usize>>(before, 0).await?;
                            assert_eq!(from, vec![before; 5000]);
                        }
                        _ => drop(rank),
                    }
                    if random.below(2) == 0 {
                        yield_now().await;
                    }
                }
                assert_eq!(world.allreduce(round, |a, _| a).await?, round);
            }
            Ok(())
        });
    }
}

/// Sends to endpoints as soon as they are created. The receiving process may not have created them
/// yet.
#[test]
fn messages_to_endpoints_that_have_just_been_made() {
    for seed in seeds(10, 2) {
        everywhere(5, seed, |world| async move {
            for round in 0..5 {
                let two = world.endpoints(2).await?;
                each(&two, |rank| async move {
                    let (me, size) = (rank.rank(), rank.size());
                    for to in 0..size {
                        drop(rank.bsend((round, me), to, 0));
                    }
                    for from in 0..size {
                        assert_eq!(rank.recv::<(i32, usize)>(from, 0).await?.0, (round, from));
                    }
                    Ok(())
                })
                .await?;
            }
            Ok(())
        });
    }
}

/// Checks that the report of a deadlock includes endpoints. A process with another task that will
/// send is not deadlocked.
#[test]
fn deadlocks_are_reported() {
    for place in RANKS {
        let blocked = run_at(place, 2, 1, |world| async move {
            let two = world.endpoints(2).await?;
            let next = |rank: &Communicator| (rank.rank() + 1) % 4;
            // All ranks except the last send.
            let receives = together(two.iter().map(|rank| async {
                match rank.rank() {
                    3 => rank.recv::<u8>(2, 1).await.map(drop),
                    _ => rank.ssend(1u8, next(rank), 0).await,
                }
            }));
            receives.await.into_iter().collect()
        });
        let Err(RunError::Blocked(block)) = blocked else {
            panic!("{place:?}: {blocked:?}");
        };
        let told = block.to_string();
        assert!(
            told.contains("send (world.endpoints, to rank 1, tag 0): "),
            "{told}"
        );
        assert!(
            told.contains("receive (world.endpoints, from rank 2, tag 1): "),
            "{told}"
        );
        assert!(told.contains("tests/suite/mpi_endpoints.rs:"), "{told}");
        assert_eq!(block.processes, 2, "{told}");
    }
}

/// Makes calls that do not match. All endpoints must get the error.
#[test]
fn errors_are_reported() {
    everywhere(2, 1, |world| async move {
        let two = world.endpoints(2).await?;
        each(&two, |rank| async move {
            let error = match rank.rank() {
                3 => rank.barrier().await.unwrap_err(),
                _ => rank.allreduce(1u8, |a, b| a + b).await.unwrap_err(),
            };
            assert!(matches!(error, Error::Mismatch(_)), "{error}");
            assert_eq!(
                rank.send(1u8, 4, 0).await,
                Err(Error::Rank { rank: 4, size: 4 })
            );
            Ok(())
        })
        .await?;
        let error = match world.rank() {
            0 => world.endpoints(1).await.map(drop).unwrap_err(),
            _ => world.barrier().await.unwrap_err(),
        };
        assert!(error.to_string().contains("endpoints of `u32`"), "{error}");
        assert!(world.recv::<u8>(0, 9).cancel());
        Ok(())
    });
}

/// Returns the endpoint numbers of the members of a group.
fn numbers(group: &mpi::Group) -> Vec<u32> {
    group.members().collect()
}

/// Creates endpoints in each of many steps, and checks that their numbers are reused.
#[test]
fn endpoints_in_each_of_many_steps() {
    let steps = size(600, 20);
    everywhere(3, 1, move |world| async move {
        let mut seen = std::collections::BTreeSet::new();
        for step in 0..steps {
            // Some processes create none, and in every hundredth step all create none.
            let count = (step as usize + world.rank()) % 3 * usize::from(step % 100 > 0);
            let made = world.endpoints(count).await?;
            seen.extend(made.iter().flat_map(|rank| numbers(rank.group())));
            if step % 100 == 1 {
                // The numbers of nested endpoints, and of those in derived communicators, are
                // reused too.
                let inner = each(&made, |rank| async move { rank.endpoints(1).await });
                let inner = inner.await?.concat();
                seen.extend(inner.iter().flat_map(|rank| numbers(rank.group())));
                let sums = each(&inner, |rank| async move {
                    let part = rank.split(Some(0), -(rank.rank() as i64)).await?.unwrap();
                    part.dup().await?.allreduce(1, |a, b| a + b).await
                });
                assert!(sums.await?.iter().all(|&sum| sum == 3));
            }
            if step % 50 == 1 {
                let backwards = made.first().map(|rank| rank.group().include(&[2, 0]));
                let backwards = &backwards.transpose()?;
                let created = each(&made, |rank| async move {
                    let Some(group) = backwards else {
                        return Ok(None);
                    };
                    rank.create(group).await
                });
                let sizes = created.await?.into_iter().flatten().map(|made| made.size());
                assert!(sizes.eq(made.iter().filter(|rank| rank.rank() != 1).map(|_| 2)));
            }
        }
        // At most the endpoints of this step, those of the step before, and their nested endpoints.
        assert!(seen.len() <= 12, "{seen:?}");
        Ok(())
    });
}

/// Keeps a group after its communicator was dropped. The group must not name endpoints that were
/// created later, and no call fails meanwhile.
#[test]
fn a_stale_group_names_no_other_endpoints() {
    everywhere(3, 1, |world| async move {
        let me = world.rank();
        let first = world.endpoints(2).await?;
        // One rank keeps a part of the group, in another order.
        let kept = (me == 1)
            .then(|| first[0].group().include(&[5, 2]))
            .transpose()?;
        let of_first = numbers(first[0].group());
        drop(first);
        for _ in 0..20 {
            let next = world.endpoints(2).await?;
            let group = next[0].group();
            assert!(!group.members().any(|member| of_first.contains(&member)));
            if let Some(kept) = &kept {
                assert_eq!(kept.intersection(group).size(), 0);
                assert_eq!(kept.translate(&[0, 1], group), [None, None]);
            }
            // `create_group` rejects the old group in the new communicator.
            let wrong = match &kept {
                Some(kept) => next[1].create_group(kept, 0).await.err(),
                None => None,
            };
            assert_eq!(matches!(wrong, Some(Error::Group(_))), kept.is_some());
        }
        drop(kept);
        // After the group is dropped, the numbers are reused.
        let mut again = false;
        for _ in 0..3 {
            let next = world.endpoints(2).await?;
            again |= next[0]
                .group()
                .members()
                .any(|member| of_first.contains(&member));
        }
        assert!(again);
        Ok(())
    });
}

/// Creates communicators from groups that were built from numbers. They keep their endpoints alive.
#[test]
fn communicators_of_numbers_keep_them() {
    everywhere(3, 1, |world| async move {
        let first = world.endpoints(2).await?;
        let all = numbers(first[0].group());
        let created = each(&first, |rank| {
            let all = all.clone();
            async move {
                let backwards = mpi::Group::of(all.iter().rev().copied().collect())?;
                let one = rank.create(&backwards).await?.unwrap();
                let other = rank.create_group(&backwards, 0).await?.unwrap();
                Ok([one, other])
            }
        });
        let created = created.await?.concat();
        drop(first);
        for _ in 0..10 {
            let next = world.endpoints(2).await?;
            assert!(
                !next[0]
                    .group()
                    .members()
                    .any(|member| all.contains(&member))
            );
            let sums = each(&created, |rank| async move {
                let to = (rank.rank() + 1) % rank.size();
                let from = (rank.rank() + rank.size() - 1) % rank.size();
                rank.send(rank.rank(), to, 0).await?;
                assert_eq!(rank.recv::<usize>(from, 0).await?.0, from);
                rank.allreduce(1, |a, b| a + b).await
            });
            assert_eq!(sums.await?, [6; 4]);
        }
        Ok(())
    });
}

/// Merges two groups. The merged communicator keeps the endpoints of both alive after all other
/// handles are dropped.
#[test]
fn merged_groups_keep_their_endpoints() {
    everywhere(4, 1, |world| async move {
        let side = world.rank() % 2;
        let own = world.split(Some(side as u32), 0).await?.unwrap();
        let inner = own.endpoints(2).await?;
        let merged = each(&inner, |rank| {
            let world = world.clone();
            async move {
                let both = rank.intercommunicator(0, &world, 1 - side, 0).await?;
                both.merge(side == 1).await
            }
        });
        let merged = merged.await?;
        drop(inner);
        for _ in 0..5 {
            // Creating endpoints reports the numbers that are no longer in use.
            drop((world.endpoints(1).await?, own.endpoints(1).await?));
            let sums = each(&merged, |rank| async move {
                let half = rank
                    .split(Some((rank.rank() / 4) as u32), 0)
                    .await?
                    .unwrap();
                half.allreduce(1, |a, b| a + b).await
            });
            assert_eq!(sums.await?, [4; 2]);
        }
        Ok(())
    });
}

/// Sends a group to another process, which may keep it forever. The numbers of its members must not
/// be reused.
#[test]
fn a_group_that_was_sent_names_no_other_endpoints() {
    everywhere(4, 1, |world| async move {
        let me = world.rank();
        let first = world.endpoints(1).await?;
        let to = (me + 1) % 4;
        let sent = world.send(first[0].group().clone(), to, 0);
        let (came, _) = world.recv::<mpi::Group>(ANY_SOURCE, 0).await?;
        sent.await?;
        drop(first);
        for _ in 0..10 {
            let next = world.endpoints(1).await?;
            assert_eq!(came.intersection(next[0].group()).size(), 0);
        }
        Ok(())
    });
}

/// Leaves messages unreceived. Later endpoints with the same numbers must not receive them.
#[test]
fn later_endpoints_do_not_receive_old_messages() {
    for seed in seeds(10, 1) {
        everywhere(5, seed, |world| async move {
            for step in 0..30_u64 {
                // In each step, other processes have the endpoints.
                let count = usize::from((world.rank() as u64 + step) % 5 < 2);
                let made = world.endpoints(count).await?;
                each(&made, |rank| async move {
                    for to in 0..rank.size() {
                        drop(rank.bsend(u64::MAX, to, 1));
                        drop(rank.bsend(step, to, 0));
                    }
                    for from in 0..rank.size() {
                        assert_eq!(rank.recv::<u64>(from, 0).await?.0, step);
                    }
                    Ok(())
                })
                .await?;
            }
            Ok(())
        });
    }
}
