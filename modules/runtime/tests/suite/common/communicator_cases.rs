//! Random communicators, made from others in every way, and checked against lists of ranks.

use graphmap_runtime::mpi::{self, ANY_SOURCE, Communicator, Error, Grid, Group};

use super::Random;
use super::rank_cases::call;

/// The members of a communicator as world ranks, which all ranks know, and the communicator itself
/// on its members.
struct Known {
    members: Vec<usize>,
    have: Option<Communicator>,
}

fn shuffle(random: &mut Random, ranks: &mut [usize]) {
    for at in (1..ranks.len()).rev() {
        ranks.swap(at, random.below(at as u64 + 1) as usize);
    }
}

/// Returns the group of these ranks of `all`, made in the way that `way` selects.
fn group_of(all: &Group, ranks: &[usize], way: u64) -> Result<Group, Error> {
    let size = all.size();
    match way {
        0 => all.include(ranks),
        1 => {
            let members = all.members().collect::<Vec<u32>>();
            Group::of(ranks.iter().map(|&rank| members[rank]).collect())
        }
        // One range per rank. Some ranges have a negative step, and some steps go beyond the end.
        2 => {
            let range = |&rank: &usize| match rank {
                0 => (0, 0, -3),
                rank if rank + 1 == size => (rank, rank + 1, 5),
                rank => (rank, rank - 1, -(size as isize)),
            };
            all.include_ranges(&ranks.iter().map(range).collect::<Vec<_>>())
        }
        _ => {
            let rest: Vec<usize> = (0..size).filter(|rank| !ranks.contains(rank)).collect();
            let set = all.exclude(&rest)?;
            let first = all.include(&ranks[..1.min(ranks.len())])?;
            // The union has the ranks of `first` in its order, and then those of `set` in the order
            // of `all`.
            let union = first.union(&set);
            let order: Vec<usize> = ranks
                .iter()
                .map(|&rank| {
                    let at = union.translate(&(0..union.size()).collect::<Vec<_>>(), all);
                    at.iter().position(|&found| found == Some(rank)).unwrap()
                })
                .collect();
            union.include(&order)
        }
    }
}

/// Checks that the members of a communicator are as listed, and that messages reach them.
async fn check(known: &Known, world: usize, what: u64, seed: u64) -> Result<(), Error> {
    let Some(comm) = &known.have else {
        assert!(!known.members.contains(&world));
        return Ok(());
    };
    let (me, size) = (comm.rank(), comm.size());
    assert_eq!((size, known.members[me]), (known.members.len(), world));
    let found = comm.group().members().map(|member| member as usize);
    assert!(
        found.eq(known.members.iter().copied()),
        "{:?}",
        known.members
    );
    // Ranks outside the communicator cannot be translated, and messages to them are errors.
    let all = mpi::world()?;
    let asked = [size, 0, usize::MAX, 1 << 32];
    let named = comm.group().translate(&asked, all.group());
    assert_eq!(named, [None, Some(known.members[0]), None, None]);
    assert_eq!(all.group().translate(&[world], comm.group()), [Some(me)]);
    for rank in [size, usize::MAX, 1 << 32] {
        let wrong = Err(Error::Rank { rank, size });
        assert_eq!(comm.send(1_u8, rank, 0).await, wrong);
        assert_eq!(comm.recv::<u8>(rank, 0).await.map(drop), wrong);
    }
    call(comm, what, seed).await?;
    let to = (me + seed as usize) % size;
    // The tag differs from check to check, because other ranks may already be at the next one.
    let tag = seed as i32;
    let sent = comm.ssend((known.members[me], seed), to, tag);
    let (value, status) = comm.recv::<(usize, u64)>(ANY_SOURCE, tag).await?;
    assert_eq!(value, (known.members[status.source], seed));
    assert_eq!((status.source + seed as usize) % size, me);
    sent.await
}

/// Makes `steps` random steps. All ranks draw the same ones.
pub async fn communicators(world: Communicator, seed: u64, steps: u64) -> Result<(), Error> {
    let mut random = Random(1 + seed);
    let me = world.rank();
    let mut all = vec![Known {
        members: (0..world.size()).collect(),
        have: Some(world.clone()),
    }];
    for step in 0..steps {
        let at = random.below(all.len() as u64) as usize;
        let members = all[at].members.clone();
        let size = members.len();
        let comm = all[at].have.clone();
        let (what, draw) = (random.below(9), random.below(1 << 30));
        let mut ranks: Vec<usize> = (0..size).collect();
        shuffle(&mut random, &mut ranks);
        let mut own = Random(draw + me as u64);
        let of = |ranks: &[usize]| -> Vec<usize> { ranks.iter().map(|&it| members[it]).collect() };
        let mut made: Vec<Known> = Vec::new();
        match what {
            0 => {
                let have = match &comm {
                    Some(comm) => Some(comm.dup().await?),
                    None => None,
                };
                made.push(Known {
                    members: members.clone(),
                    have,
                });
            }
            1 => {
                // Each rank has one of three colours or none, and one of three keys.
                let wish = |rank: usize| {
                    let drawn = Random(draw + 1 + rank as u64).below(1 << 20);
                    let colour = Some(drawn % 4).filter(|&colour| colour > 0);
                    (
                        colour.map(|colour| colour as u32),
                        (drawn / 4 % 3) as i64 - 1,
                    )
                };
                let mut have = match &comm {
                    Some(comm) => {
                        let (colour, key) = wish(comm.rank());
                        comm.split(colour, key).await?.map(|it| (colour, it))
                    }
                    None => None,
                };
                for colour in 1..4 {
                    let mut ranks: Vec<usize> = (0..size).collect();
                    ranks.retain(|&rank| wish(rank).0 == Some(colour));
                    ranks.sort_by_key(|&rank| wish(rank).1);
                    if !ranks.is_empty() {
                        let have = have.take_if(|have| have.0 == Some(colour));
                        made.push(Known {
                            members: of(&ranks),
                            have: have.map(|have| have.1),
                        });
                    }
                }
                assert!(have.is_none());
            }
            2 => {
                // Two disjoint groups. A rank that is in neither passes one of them or an empty
                // one.
                let cut = random.below(size as u64 + 1) as usize;
                let end = cut + random.below((size - cut) as u64 + 1) as usize;
                let parts = [&ranks[..cut], &ranks[cut..end]];
                let mut have = None;
                if let Some(comm) = &comm {
                    let mine = parts.iter().position(|part| part.contains(&comm.rank()));
                    let said = match mine {
                        Some(part) => parts[part],
                        None => [parts[0], parts[1], &[]][own.below(3) as usize],
                    };
                    let group = group_of(comm.group(), said, own.below(4))?;
                    have = comm.create(&group).await?.map(|it| (mine.unwrap(), it));
                }
                for (number, part) in parts.into_iter().enumerate() {
                    if !part.is_empty() {
                        let have = have.take_if(|have| have.0 == number);
                        made.push(Known {
                            members: of(part),
                            have: have.map(|have| have.1),
                        });
                    }
                }
                assert!(have.is_none());
            }
            3 => {
                let part = &ranks[..1 + random.below(size as u64) as usize];
                let mut have = None;
                if let Some(comm) = &comm
                    && part.contains(&comm.rank())
                {
                    let group = group_of(comm.group(), part, own.below(4))?;
                    have = comm.create_group(&group, step as i32).await?;
                }
                made.push(Known {
                    members: of(part),
                    have,
                });
            }
            4 if size > 1 => {
                let cut = 1 + random.below(size as u64 - 1) as usize;
                let mut sides = [ranks[..cut].to_vec(), ranks[cut..].to_vec()];
                sides.iter_mut().for_each(|side| side.sort_unstable());
                let leaders = [0, 1].map(|it| random.below(sides[it].len() as u64) as usize);
                let high = [random.below(2) == 1, random.below(2) == 1];
                let mut have = None;
                if let Some(comm) = &comm {
                    let side = usize::from(!sides[0].contains(&comm.rank()));
                    let local = comm.split(Some(side as u32), 0).await?.unwrap();
                    let remote = sides[1 - side][leaders[1 - side]];
                    let both = local.intercommunicator(leaders[side], comm, remote, 3);
                    let both = both.await?;
                    let others = both.remote_group().members().map(|it| it as usize);
                    assert!(others.eq(of(&sides[1 - side])));
                    // Rank 0 of each side receives a message from every rank of the other side.
                    both.send(me, 0, 0).await?;
                    if both.rank() == 0 {
                        for _ in 0..both.remote_size() {
                            let (from, status) = both.recv::<usize>(ANY_SOURCE, 0).await?;
                            assert_eq!(from, members[sides[1 - side][status.source]]);
                        }
                    }
                    have = Some(both.merge(high[side]).await?);
                }
                let leader = |side: usize| members[sides[side][leaders[side]]];
                let first = match high {
                    [false, true] => 0,
                    [true, false] => 1,
                    _ => usize::from(leader(1) < leader(0)),
                };
                let order = [&sides[first][..], &sides[1 - first][..]].concat();
                made.push(Known {
                    members: of(&order),
                    have,
                });
            }
            5 => {
                let rows = 1 + random.below(size as u64) as usize;
                let columns = size / rows;
                let keep = [random.below(2) == 1, random.below(2) == 1];
                let mut have = None;
                if let Some(comm) = &comm {
                    let grid = Grid::new(&[rows, columns], &[true, false])?;
                    if let Some(grid) = comm.cartesian(&grid).await? {
                        have = Some(grid.part(&keep).await?.communicator().clone());
                    }
                }
                // Ranks with the same coordinates in all dimensions that are cut are in the same
                // part.
                let coordinates = |rank: usize| [rank / columns, rank % columns];
                let cut = |rank: usize| {
                    let at = coordinates(rank);
                    [0, 1].map(|it| if keep[it] { 0 } else { at[it] })
                };
                let mut parts: Vec<Vec<usize>> = Vec::new();
                for rank in 0..rows * columns {
                    match parts.iter_mut().find(|part| cut(part[0]) == cut(rank)) {
                        Some(part) => part.push(rank),
                        None => parts.push(vec![rank]),
                    }
                }
                for part in parts {
                    let members = of(&part);
                    let have = have.take_if(|_| members.contains(&me));
                    made.push(Known { members, have });
                }
            }
            // Ranks drop the communicator at different times.
            6 if at > 0 => drop(all.swap_remove(at)),
            _ => {}
        }
        drop(comm);
        for known in &made {
            check(known, me, random.below(13), draw).await?;
        }
        all.append(&mut made);
        while all.len() > 8 {
            let at = 1 + random.below(all.len() as u64 - 1) as usize;
            drop(all.swap_remove(at));
        }
        let at = random.below(all.len() as u64) as usize;
        check(&all[at], me, random.below(13), draw / 3).await?;
    }
    Ok(())
}
