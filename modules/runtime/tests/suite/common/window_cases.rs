//! Random accesses of ranks to each other's memory, checked against a model.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use graphmap_runtime::mpi::{Communicator, Error, Op, SharedWindow, SplitType, Window};
use graphmap_runtime::yield_now;

use super::Random;

const OPS: [Op; 9] = [
    Op::Sum,
    Op::Product,
    Op::Min,
    Op::Max,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::Replace,
    Op::Keep,
];

/// Returns the result of an operation on two numbers.
fn combined(op: Op, there: u32, comes: u32) -> u32 {
    match op {
        Op::Sum => there.wrapping_add(comes),
        Op::Product => there.wrapping_mul(comes),
        Op::Min => there.min(comes),
        Op::Max => there.max(comes),
        Op::And => there & comes,
        Op::Or => there | comes,
        Op::Xor => there ^ comes,
        Op::Replace => comes,
        _ => there,
    }
}

/// An access to elements that no other rank accesses at the same time.
#[derive(Debug, Clone)]
struct Access {
    origin: usize,
    target: usize,
    offset: usize,
    values: Vec<u32>,
    op: Op,
    way: u64,
}

/// Returns the accesses of a round. Each origin makes its own in this order. The elements of each
/// target are divided among the origins differently in each round.
fn plan(random: &mut Random, lengths: &[usize], each: u64) -> Vec<Access> {
    let ranks = lengths.len();
    let shift = random.below(ranks as u64) as usize;
    let mut all = Vec::new();
    for (target, &length) in lengths.iter().enumerate() {
        let part = length / ranks;
        for origin in 0..ranks {
            let first = (origin + shift) % ranks * part;
            for _ in 0..random.below(each) {
                let offset = first + random.below(part as u64 + 1) as usize;
                let count = random.below((first + part - offset) as u64 + 1) as usize;
                all.push(Access {
                    origin,
                    target,
                    offset,
                    values: (0..count).map(|_| random.below(1 << 40) as u32).collect(),
                    op: OPS[random.below(9) as usize],
                    way: random.below(5),
                });
            }
        }
    }
    all
}

/// Makes an access, checks its result, and updates the model.
async fn make(window: &Window<u32>, access: &Access, model: &mut [Vec<u32>]) -> Result<(), Error> {
    let Access {
        target,
        offset,
        op,
        way,
        ..
    } = *access;
    let values = access.values.clone();
    let count = values.len();
    let there = &mut model[target][offset..offset + count];
    let before = there.to_vec();
    let mut changed = before.clone();
    for (there, &comes) in changed.iter_mut().zip(&values) {
        *there = combined(op, *there, comes);
    }
    match way {
        0 => assert_eq!(window.get(target, offset..offset + count).await?, before),
        1 => {
            window.put(values.clone(), target, offset).await?;
            there.copy_from_slice(&values);
        }
        2 if count > 0 => {
            let expected = if op == Op::Sum {
                before[0]
            } else {
                values[0] ^ 1
            };
            let was = window
                .compare_and_swap(expected, values[0], target, offset)
                .await?;
            assert_eq!(was, before[0]);
            if was == expected {
                there[0] = values[0];
            }
        }
        3 => {
            assert_eq!(
                window.get_accumulate(values, target, offset, op).await?,
                before
            );
            there.copy_from_slice(&changed);
        }
        _ => {
            // Not awaited, because later accesses take effect later.
            drop(window.accumulate(values, target, offset, op));
            there.copy_from_slice(&changed);
        }
    }
    Ok(())
}

/// Applies an access of another rank to the model.
fn replay(access: &Access, model: &mut [Vec<u32>]) {
    let (offset, count) = (access.offset, access.values.len());
    let there = &mut model[access.target][offset..offset + count];
    match access.way {
        0 => {}
        1 => there.copy_from_slice(&access.values),
        2 if count > 0 => {
            let was = there[0];
            let expected = match access.op {
                Op::Sum => was,
                _ => access.values[0] ^ 1,
            };
            if was == expected {
                there[0] = access.values[0];
            }
        }
        2 => {}
        _ => {
            for (there, &comes) in there.iter_mut().zip(&access.values) {
                *there = combined(access.op, *there, comes);
            }
        }
    }
}

/// Makes `rounds` rounds of accesses of all kinds, with fences in between. Each rank knows the
/// expected contents of all memory.
pub async fn accesses(world: Communicator, seed: u64, rounds: u64, each: u64) -> Result<(), Error> {
    let mut random = Random(seed + 1);
    let (me, count) = (world.rank(), world.size());
    let lengths: Vec<usize> = (0..count).map(|_| random.below(40) as usize).collect();
    let mut model: Vec<Vec<u32>> = lengths.iter().map(|&length| vec![7; length]).collect();
    let window = world.window(model[me].clone()).await?;
    for round in 0..rounds {
        let all = plan(&mut random, &lengths, each);
        for access in &all {
            if access.origin == me {
                make(&window, access, &mut model).await?;
            } else {
                replay(access, &mut model);
            }
        }
        if round % 2 == 0 {
            window.fence().await?;
        } else {
            window.flush_all().await?;
            world.barrier().await?;
        }
        window.with(|mine| assert_eq!(*mine, model[me], "{all:?}"))?;
        window.fence().await?;
    }
    assert_eq!(window.free().await?, model[me]);
    Ok(())
}

/// A piece of attached memory: its first index, and its elements.
type Piece = (usize, Vec<u32>);

/// Returns `count` elements from `first` on, if they are in one piece.
fn found(pieces: &mut [Piece], first: usize, count: usize) -> Option<&mut [u32]> {
    pieces.iter_mut().find_map(|(begins, elements)| {
        let from = first.checked_sub(*begins)?;
        (from < elements.len() || count == 0).then_some(())?;
        elements.get_mut(from..from.checked_add(count)?)
    })
}

/// Attaches and detaches memory in `rounds` rounds, and accesses the memory of all ranks. Values
/// must be as in a plain model, and an access outside attached memory must return an error.
pub async fn pieces(world: Communicator, seed: u64, rounds: u64) -> Result<(), Error> {
    let (me, count) = (world.rank(), world.size());
    let mut random = Random(seed + 1);
    let mut own = Random(seed * 100 + me as u64 + 1);
    let window = world.dynamic_window::<u32>().await?;
    let mut mine: Vec<Piece> = Vec::new();
    for round in 0..rounds {
        if !mine.is_empty() && own.below(2) == 0 {
            let (begins, elements) = mine.swap_remove(own.below(mine.len() as u64) as usize);
            assert_eq!(window.detach(begins)?, elements);
            assert!(window.detach(begins).is_err());
        }
        for _ in 0..own.below(3) {
            let elements = vec![round as u32; own.below(30) as usize];
            mine.push((window.attach(elements.clone())?, elements));
        }
        let mut model = world.allgather(mine.clone()).await?.to_vec();
        let mut mistaken = vec![false; count];
        for access in 0..random.below(40) {
            // In each round, an element is accessed by one origin only.
            let (origin, target) = (random.below(count as u64), random.below(count as u64));
            let (origin, target) = (origin as usize, target as usize);
            let pieces = &mut model[target];
            let (begins, length) = match pieces.len() as u64 {
                0 => (0, 1),
                all => {
                    let piece = &pieces[random.below(all) as usize];
                    (piece.0, piece.1.len().max(1))
                }
            };
            let first = begins + random.below(length as u64) as usize;
            let first = first - first % count + origin;
            let value = (seed + access) as u32;
            let (op, way) = (OPS[random.below(9) as usize], random.below(3));
            let there = found(pieces, first, 1);
            let before = there.as_ref().map(|there| there[0]);
            if let Some(there) = there
                && way > 0
            {
                there[0] = combined(op, there[0], value);
            }
            if origin != me {
                continue;
            }
            let told = match way {
                0 => window.get(target, first..first + 1).await.map(|got| got[0]),
                1 => window.fetch_and_op(value, target, first, op).await,
                _ => {
                    let done = window.accumulate([value], target, first, op).await;
                    // If the target is remote, the error is known only later.
                    mistaken[target] |= before.is_none() && done.is_ok();
                    done.map(|()| before.unwrap_or_default())
                }
            };
            match before {
                Some(before) => assert_eq!(told, Ok(before)),
                None if way == 2 => {}
                None => {
                    let told = told.unwrap_err();
                    assert!(told.to_string().contains("of attached memory"), "{told}");
                }
            }
        }
        for (target, mistaken) in mistaken.into_iter().enumerate() {
            let flushed = window.flush(target).await;
            assert_eq!(flushed.is_err(), mistaken, "{flushed:?}");
        }
        window.fence().await?;
        for (begins, elements) in &model[me] {
            window.with_attached(*begins, |there| assert_eq!(*there, **elements))?;
        }
        mine.clone_from(&model[me]);
        window.fence().await?;
    }
    mine.sort();
    let all: Vec<u32> = mine.into_iter().flat_map(|piece| piece.1).collect();
    assert_eq!(window.free().await?, all);
    Ok(())
}

/// Counts in memory that the ranks of each OS process share, on any number of threads.
pub async fn shared(world: Communicator, times: u64) -> Result<(), Error> {
    let here = world.split_type(SplitType::OsProcess, 0).await?;
    let (me, size) = (here.rank(), here.size());
    let mine = (0..me + 1).map(|_| AtomicU64::new(0)).collect();
    let counts = here.shared_window(mine).await?;
    let texts = here.shared_window(vec![Mutex::new(String::new())]).await?;
    assert_eq!((counts.rank(), counts.size()), (me, size));
    assert!(counts.of(size).is_none());
    for _ in 0..times {
        for rank in 0..size {
            let there = counts.of(rank).unwrap();
            assert_eq!(there.len(), rank + 1);
            there[rank].fetch_add(1, Ordering::Relaxed);
        }
        let next = &texts.of((me + 1) % size).unwrap()[0];
        next.lock().unwrap().push('x');
        yield_now().await;
    }
    counts.fence().await?;
    let counted = counts.own()[me].load(Ordering::Relaxed);
    assert_eq!(counted, times * size as u64);
    assert_eq!(texts.own()[0].lock().unwrap().len() as u64, times);
    // Shared memory stays as long as a rank has a handle.
    let kept = (me == 0).then_some(counts);
    here.barrier().await?;
    let sum = |counts: &SharedWindow<AtomicU64>| {
        let all = (0..size).map(|rank| counts.of(rank).unwrap()[rank].load(Ordering::Relaxed));
        all.sum::<u64>()
    };
    assert!(kept.is_none_or(|counts| sum(&counts) == times * (size * size) as u64));
    // Ranks of several OS processes cannot share memory, and all of them get an error.
    let all = world.shared_window(vec![AtomicU64::new(1)]).await;
    match world.size() == size {
        true => assert_eq!(all?.own()[0].load(Ordering::Relaxed), 1),
        false => {
            let told = all.map(drop).unwrap_err();
            assert!(
                told.to_string().contains("must be in one OS process"),
                "{told}"
            );
        }
    }
    Ok(())
}
