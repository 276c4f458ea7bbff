//! Random communicators of endpoints (several ranks of one process), checked against lists.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use graphmap_runtime::mpi::{ANY_SOURCE, ANY_TAG, Communicator, Error, Op};

use super::Random;

/// Polls all futures until all are ready. Returns their outputs in order.
pub async fn together<T, F: Future<Output = T>>(all: impl IntoIterator<Item = F>) -> Vec<T> {
    type Slot<F, T> = (Option<Pin<Box<F>>>, Option<T>);
    let mut slots: Vec<Slot<F, T>> = all
        .into_iter()
        .map(|it| (Some(Box::pin(it)), None))
        .collect();
    poll_fn(|context| {
        for (future, outcome) in &mut slots {
            if let Some(waits) = future
                && let Poll::Ready(done) = waits.as_mut().poll(context)
            {
                (*future, *outcome) = (None, Some(done));
            }
        }
        match slots.iter().all(|slot| slot.0.is_none()) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    slots.into_iter().map(|slot| slot.1.unwrap()).collect()
}

/// Calls `does` for each rank, and awaits all futures concurrently. Returns their results in order,
/// or the first error.
pub fn each<T, F: Future<Output = Result<T, Error>>, Does: Fn(Communicator) -> F>(
    ranks: &[Communicator],
    does: Does,
) -> impl Future<Output = Result<Vec<T>, Error>> + use<T, F, Does> {
    let all: Vec<F> = ranks.iter().map(|rank| does(rank.clone())).collect();
    async move { together(all).await.into_iter().collect() }
}

/// A communicator: the unique name and the process of each rank, which all processes know, and the
/// handles of this process by name.
struct Known {
    ranks: Vec<(u64, usize)>,
    have: BTreeMap<u64, Communicator>,
}

impl Known {
    fn handles(&self) -> Vec<Communicator> {
        self.have.values().cloned().collect()
    }

    /// Returns a communicator of these ranks, in this order. `made` has an entry for each handle of
    /// this process, in the order of names.
    fn part(&self, ranks: &[usize], made: Vec<Option<Communicator>>) -> Known {
        let ranks: Vec<(u64, usize)> = ranks.iter().map(|&rank| self.ranks[rank]).collect();
        let names = self.have.keys().copied();
        let have = names
            .zip(made)
            .filter(|it| ranks.iter().any(|rank| rank.0 == it.0));
        Known {
            have: have.map(|(name, made)| (name, made.unwrap())).collect(),
            ranks,
        }
    }
}

fn drawn(draw: u64, name: u64, below: u64) -> u64 {
    Random(draw ^ name.wrapping_mul(0x9e37_79b9)).below(below)
}

/// Checks that messages and collective calls reach the ranks in the list.
async fn check(known: &Known, draw: u64) -> Result<(), Error> {
    let names: Vec<u64> = known.ranks.iter().map(|rank| rank.0).collect();
    let size = names.len();
    for (name, rank) in &known.have {
        assert_eq!((rank.size(), names[rank.rank()]), (size, *name));
    }
    let (names, shift) = (&names, draw as usize % size.max(1));
    let root = draw as usize / 7 % size.max(1);
    each(&known.handles(), |rank| async move {
        let (me, name) = (rank.rank(), names[rank.rank()]);
        assert_eq!(&rank.allgather(name).await?[..], &names[..]);
        let given = (me == root).then_some(name);
        assert_eq!(rank.bcast(given, root).await?, names[root]);
        let sum = rank.allreduce(name, u64::wrapping_add).await?;
        assert_eq!(sum, names.iter().sum::<u64>());
        let text = rank.reduce(name.to_string(), |a, b| a + &b, root).await?;
        let whole = || names.iter().map(u64::to_string).collect::<String>();
        assert_eq!(text, (me == root).then(whole));
        let to_each = (0..size).map(|to| (name, names[to])).collect();
        let came = rank.alltoall(to_each).await?;
        assert!(came.into_iter().eq(names.iter().map(|&from| (from, name))));
        // A message of up to 80,000 bytes, and then a small one. They arrive in order.
        let to = (me + shift) % size;
        let sent = rank.ssend((name, vec![7u8; draw as usize % 3 * 40_000]), to, 1);
        let last = rank.bsend(name, to, 2);
        let ((from, bytes), status) = rank.recv::<(u64, Vec<u8>)>(ANY_SOURCE, 1).await?;
        assert_eq!(
            (from, bytes.len()),
            (names[status.source], draw as usize % 3 * 40_000)
        );
        assert_eq!((status.source + shift) % size, me);
        let (from, status) = rank.recv::<u64>(status.source, ANY_TAG).await?;
        assert_eq!((from, status.tag), (names[status.source], 2));
        sent.await?;
        last.await
    })
    .await?;
    Ok(())
}

/// Puts the name of each rank into the window of another rank, and adds 1 to another element there.
async fn put(known: &Known, shift: usize) -> Result<(), Error> {
    let names: &Vec<u64> = &known.ranks.iter().map(|rank| rank.0).collect();
    let size = names.len();
    each(&known.handles(), |rank| async move {
        let me = rank.rank();
        // The windows have different lengths.
        let window = rank.window(vec![0u64; 2 * size + me % 3]).await?;
        let (to, name) = ((me + shift) % size, names[me]);
        window.put([name], to, me).await?;
        window
            .accumulate([1], to, size + (me + 1) % size, Op::Sum)
            .await?;
        window.fence().await?;
        let mine = window.free().await?;
        let from = (me + size - shift % size) % size;
        assert_eq!(
            (mine[from], mine[size + (from + 1) % size]),
            (names[from], 1)
        );
        assert_eq!(mine.iter().sum::<u64>(), names[from] + 1);
        Ok(())
    })
    .await?;
    Ok(())
}

/// Makes `steps` random steps. All ranks draw the same ones.
pub async fn endpoints(world: Communicator, seed: u64, steps: u64) -> Result<(), Error> {
    let mut random = Random(3 + seed);
    let (me, processes) = (world.rank(), world.size());
    let mut next_name = processes as u64;
    let mut all = vec![Known {
        ranks: (0..processes).map(|rank| (rank as u64, rank)).collect(),
        have: BTreeMap::from([(me as u64, world.clone())]),
    }];
    for step in 0..steps {
        let at = random.below(all.len() as u64) as usize;
        let known = &all[at];
        let (what, draw) = (random.below(8), random.below(1 << 30));
        let size = known.ranks.len();
        let mut shuffled: Vec<usize> = (0..size).collect();
        random.shuffle(&mut shuffled);
        let made = match what {
            // Each rank asks for some endpoints or none. If `what` is 0, all ask for the same
            // number.
            0..=2 => {
                let most = if size > 40 { 2 } else { 4 };
                let asks = |name: u64| match what {
                    0 => drawn(draw, 1, most),
                    _ => drawn(draw, name, most),
                };
                let handles = known.handles();
                let counts: Vec<u64> = known.have.keys().map(|&name| asks(name)).collect();
                let made = handles.iter().zip(&counts);
                let made = together(made.map(|(rank, &count)| rank.endpoints(count as usize)));
                let made: Result<Vec<_>, _> = made.await.into_iter().collect();
                let mut new = Known {
                    ranks: Vec::new(),
                    have: BTreeMap::new(),
                };
                let own = known.have.keys().copied().zip(made?);
                let mut own: BTreeMap<u64, Vec<Communicator>> = own.collect();
                for &(name, process) in &known.ranks {
                    let handles = own.remove(&name).unwrap_or_default();
                    assert!(process != me || handles.len() as u64 == asks(name));
                    for handle in 0..asks(name) {
                        new.ranks.push((next_name + handle, process));
                    }
                    new.have.extend((next_name..).zip(handles));
                    next_name += asks(name);
                }
                Some(new)
            }
            3 => {
                let colour = |name: u64| drawn(draw, name, 3) as u32;
                let key = |name: u64| drawn(draw / 3, name, 4) as i64;
                let names: &Vec<u64> = &known.ranks.iter().map(|rank| rank.0).collect();
                let split = each(&known.handles(), |rank| async move {
                    let name = names[rank.rank()];
                    let colour = Some(colour(name)).filter(|&colour| colour > 0);
                    rank.split(colour, key(name)).await
                });
                let made = split.await?;
                let mut parts = Vec::new();
                for of in [1, 2] {
                    let mut ranks: Vec<usize> = (0..size).collect();
                    ranks.retain(|&rank| colour(names[rank]) == of);
                    ranks.sort_by_key(|&rank| key(names[rank]));
                    parts.push(known.part(&ranks, made.clone()));
                }
                check(&parts[0], draw).await?;
                parts.pop()
            }
            4 => {
                let ranks = &shuffled[..1 + random.below(size as u64) as usize];
                let group = &known
                    .handles()
                    .first()
                    .map(|rank| rank.group().include(ranks));
                let created = each(&known.handles(), |rank| async move {
                    match group {
                        Some(group) => rank.create(&group.clone()?).await,
                        None => Ok(None),
                    }
                });
                Some(known.part(ranks, created.await?))
            }
            5 if size > 1 => {
                let cut = 1 + random.below(size as u64 - 1) as usize;
                let sides = [&shuffled[..cut], &shuffled[cut..]];
                let high = random.below(2) == 1;
                let leaders = [0, 1].map(|it: usize| random.below(sides[it].len() as u64) as usize);
                let (sides, leaders) = (&sides, &leaders);
                let merged = each(&known.handles(), |rank| async move {
                    let side = usize::from(!sides[0].contains(&rank.rank()));
                    let place = sides[side].iter().position(|&it| it == rank.rank());
                    let local = rank.split(Some(side as u32), place.unwrap() as i64).await?;
                    let (local, other) = (local.unwrap(), 1 - side);
                    let remote = sides[other][leaders[other]];
                    let both = local
                        .intercommunicator(leaders[side], &rank, remote, 3)
                        .await?;
                    assert_eq!(both.remote_size(), sides[other].len());
                    let sent = both.send(rank.rank(), 0, 0);
                    if both.rank() == 0 {
                        for _ in 0..both.remote_size() {
                            let (from, status) = both.recv::<usize>(ANY_SOURCE, 0).await?;
                            assert_eq!(from, sides[other][status.source]);
                        }
                    }
                    sent.await?;
                    both.merge(high == (side == 0)).await.map(Some)
                });
                let order = [sides[usize::from(high)], sides[usize::from(!high)]].concat();
                Some(known.part(&order, merged.await?))
            }
            6 if size > 0 => {
                put(known, draw as usize % size).await?;
                None
            }
            // Processes drop the communicator at different times.
            7 if at > 0 => {
                drop(all.swap_remove(at));
                None
            }
            _ => None,
        };
        if let Some(made) = made.filter(|made| !made.ranks.is_empty()) {
            check(&made, draw + step).await?;
            all.push(made);
        }
        while all.len() > 6 {
            let at = 1 + random.below(all.len() as u64 - 1) as usize;
            drop(all.swap_remove(at));
        }
    }
    Ok(())
}
