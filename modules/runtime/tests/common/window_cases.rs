//! Random accesses of ranks to each other's memory, and what that is to be then.

use graphmap_runtime::mpi::{Communicator, Error, Op, Window};

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

/// What an operation makes of two numbers.
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

/// An access to elements that nobody else has access to at the time.
#[derive(Debug, Clone)]
struct Access {
    origin: usize,
    target: usize,
    offset: usize,
    values: Vec<u32>,
    op: Op,
    way: u64,
}

/// All accesses of a round, in an order that each origin keeps. The elements of each rank are shared out anew each time.
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

/// Makes an access, and looks at what it tells.
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
            // Not waited for: what comes later is done later.
            drop(window.accumulate(values, target, offset, op));
            there.copy_from_slice(&changed);
        }
    }
    Ok(())
}

/// What the access of another rank does.
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

/// So many rounds of accesses of all kinds, with a fence between: each rank knows what all memory is to be.
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
