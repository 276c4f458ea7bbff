//! Random messages and collective calls of ranks, for tests in several files.

use std::cell::Cell;

use graphmap_runtime::mpi::{self, ANY_SOURCE, ANY_TAG, Communicator, Error, Request};
use graphmap_runtime::{DecodeError, Decoder, Encoder, Local, Options, Payload, yield_now};

use super::Random;

/// A message: its number among the messages of its sender, and bytes that the number determines.
pub type Numbered = (u64, Vec<u8>);

fn bytes_of(source: usize, number: u64) -> Vec<u8> {
    let long = number.is_multiple_of(23);
    // Some messages are above the eager limit, and are sent only when they are received.
    let len = (number * 7919 + source as u64) % if long { 200_000 } else { 300 };
    vec![(number + source as u64) as u8; len as usize]
}

/// Receives one message from any rank, in a random way.
async fn take(world: &Communicator, random: &mut Random) -> Result<(usize, i32, Numbered), Error> {
    let (value, status) = match random.below(6) {
        0 => {
            let message = world.mprobe(ANY_SOURCE, ANY_TAG).await?;
            let found = message.status();
            if random.below(2) == 0 {
                // The message returns to its position in the queue.
                drop(message);
                world.recv::<Numbered>(ANY_SOURCE, ANY_TAG).await?
            } else {
                let (value, status) = message.recv::<Numbered>()?;
                assert_eq!(status, found);
                (value, status)
            }
        }
        1 => {
            let found = world.probe(ANY_SOURCE, ANY_TAG).await?;
            let (value, status) = world.recv::<Numbered>(found.source, found.tag).await?;
            assert_eq!((status.source, status.tag), (found.source, found.tag));
            (value, status)
        }
        2 => loop {
            if let Some(message) = world.improbe(ANY_SOURCE, ANY_TAG).await? {
                break message.recv::<Numbered>()?;
            }
        },
        3 => {
            // The first receive may get a message. It then puts the message back.
            let first = world.recv::<Numbered>(ANY_SOURCE, ANY_TAG);
            for _ in 0..random.below(3) {
                yield_now().await;
            }
            drop(first);
            world.recv::<Numbered>(ANY_SOURCE, ANY_TAG).await?
        }
        _ => world.recv::<Numbered>(ANY_SOURCE, ANY_TAG).await?,
    };
    Ok((status.source, status.tag, value))
}

/// Sends `each` messages of all modes and sizes from each rank. Checks that each message arrives
/// once, and that the messages of one rank arrive in order.
pub async fn messages(world: Communicator, seed: u64, each: u64) -> Result<(), Error> {
    let (me, count) = (world.rank(), world.size());
    let mut random = Random(seed * 100 + me as u64);
    let mut sends = Vec::new();
    for number in 0..each {
        // The destinations are such that each rank knows how many messages it receives.
        let to = (me + number as usize) % count;
        let value: Numbered = (number, bytes_of(me, number));
        let tag = random.below(3) as i32;
        sends.push(match random.below(4) {
            0 => world.ssend(value, to, tag),
            1 => world.bsend(value, to, tag),
            _ => world.send(value, to, tag),
        });
    }
    let expected = (0..count)
        .map(|from| (0..each).filter(move |number| (from + *number as usize) % count == me))
        .map(Iterator::count)
        .sum::<usize>();
    let mut next = vec![0; count];
    for _ in 0..expected {
        let (source, _, (number, bytes)) = take(&world, &mut random).await?;
        assert!(
            number >= next[source],
            "{number} of {source} overtook {}",
            next[source]
        );
        assert_eq!(bytes, bytes_of(source, number));
        next[source] = number + 1;
    }
    for sent in mpi::wait_all(sends).await {
        sent?;
    }
    world.barrier().await?;
    assert_eq!(world.iprobe(ANY_SOURCE, ANY_TAG).await?, None);
    Ok(())
}

/// Joins two texts. The operation is not commutative, and its result shows the order of the
/// operands.
pub fn join(a: String, b: String) -> String {
    a + "," + &b
}

fn joined(ranks: impl Iterator<Item = usize>) -> String {
    ranks
        .map(|rank| rank.to_string())
        .collect::<Vec<_>>()
        .join(",")
}

/// Makes the collective call that `what` selects, and checks its result. `what` must be the same on
/// all ranks, and `seed` differs from call to call.
pub async fn call(comm: &Communicator, what: u64, seed: u64) -> Result<(), Error> {
    let (me, size) = (comm.rank(), comm.size());
    let root = seed as usize % size;
    let mine = me.to_string();
    match what {
        0 => comm.barrier().await?,
        1 => {
            let value = (me == root).then(|| vec![seed; 3]);
            assert_eq!(comm.bcast(value, root).await?, vec![seed; 3]);
        }
        2 => {
            let all = comm.gather(vec![me; me % 4], root).await?;
            let wanted: Vec<_> = (0..size).map(|rank| vec![rank; rank % 4]).collect();
            assert_eq!(all, (me == root).then_some(wanted));
        }
        3 => {
            let values = (me == root).then(|| (0..size as u64).map(|rank| rank * seed).collect());
            assert_eq!(comm.scatter(values, root).await?, me as u64 * seed);
        }
        4 => {
            let all = comm.allgather(mine).await?;
            assert!(
                all.iter()
                    .map(String::as_str)
                    .eq((0..size).map(|rank| rank.to_string()))
            );
        }
        5 => {
            let got = comm
                .alltoall((0..size).map(|to| (me, to)).collect())
                .await?;
            assert!(got.into_iter().eq((0..size).map(|from| (from, me))));
        }
        6 => {
            let all = comm.reduce(mine, join, root).await?;
            assert_eq!(all, (me == root).then(|| joined(0..size)));
        }
        7 => assert_eq!(comm.allreduce(mine, join).await?, joined(0..size)),
        12 => {
            let values = (0..size).map(|to| format!("{me}>{to}")).collect();
            let wanted: Vec<_> = (0..size).map(|from| format!("{from}>{me}")).collect();
            assert_eq!(comm.reduce_scatter(values, join).await?, wanted.join(","));
        }
        8 => assert_eq!(comm.scan(mine, join).await?, joined(0..me + 1)),
        _ => {
            let before = comm.exscan(mine, join).await?;
            assert_eq!(before, (me > 0).then(|| joined(0..me)));
        }
    }
    Ok(())
}

/// Makes random collective calls, some of them concurrently, on communicators that are split at
/// random.
pub async fn collectives(world: Communicator, seed: u64, calls: u64) -> Result<(), Error> {
    let mut alike = Random(1 + seed);
    let mut own = Random(1 + seed * 1000 + world.rank() as u64);
    let mut comms = vec![world.dup().await?, world];
    for _ in 0..calls {
        let (what, seed, at) = (alike.below(13), alike.below(1000), alike.below(2) as usize);
        let colour = |rank: usize| (rank as u64 * 7 + seed) % 3;
        if what == 10 {
            let world = comms.last().unwrap();
            let (me, size) = (world.rank(), world.size());
            let mine = colour(me);
            // The order of the ranks is reversed, and ranks of colour 0 get no communicator.
            let split = world
                .split((mine > 0).then_some(mine as u32), -(me as i64))
                .await?;
            assert_eq!(split.is_some(), mine > 0);
            let same: Vec<usize> = (0..size)
                .rev()
                .filter(|&rank| colour(rank) == mine)
                .collect();
            if let Some(split) = split {
                assert_eq!(split.size(), same.len());
                assert_eq!(same[split.rank()], me);
                call(&split, seed % 10, seed).await?;
                split.send(me, (split.rank() + 1) % split.size(), 0).await?;
                let (from, of) = split.recv::<usize>(mpi::ANY_SOURCE, 0).await?;
                assert_eq!(from, same[of.source]);
            }
        } else if what == 11 {
            let first = call(&comms[0], seed % 10, seed);
            let second = call(&comms[1], (seed / 10) % 10, seed);
            let (first, second) = graphmap_runtime::join(first, second).await;
            first.and(second)?;
        } else {
            call(&comms[at], what, seed).await?;
        }
        for _ in 0..own.below(3) {
            yield_now().await;
        }
    }
    comms.clear();
    Ok(())
}

/// Starts the same requests many times: messages in every mode of sending, and collective calls.
/// They are awaited in several ways.
pub async fn persistent(world: Communicator, rounds: u64) -> Result<(), Error> {
    let (me, size) = (world.rank(), world.size());
    let (next, last) = ((me + 1) % size, (me + size - 1) % size);
    let (round, long) = (
        Cell::new(0_u64),
        |round: u64| if round % 7 == 3 { 100_000 } else { 3 },
    );
    let value = || vec![round.get() + me as u64; long(round.get())];
    let mut receives: Vec<_> = (0..3)
        .map(|tag| mpi::persistent(move || world_recv(tag, last)))
        .collect();
    let mut send = mpi::persistent(|| world.send(value(), next, 0));
    let mut ssend = mpi::persistent(|| world.ssend(value(), next, 1));
    let mut bsend = mpi::persistent(|| world.bsend(value(), next, 2));
    let mut sum = mpi::persistent(|| world.allreduce(round.get(), |a, b| a + b));
    let mut barrier = mpi::persistent(|| world.barrier());
    assert_eq!((&mut send).await, Err(Error::Inactive));
    for n in 0..rounds {
        round.set(n);
        mpi::start_all(&mut receives)?;
        assert_eq!(receives[0].start(), Err(Error::Active));
        sum.start()?;
        send.start()?;
        ssend.start()?;
        bsend.start()?;
        for _ in 0..3 {
            let (tag, received) = mpi::wait_any(&mut receives).await.unwrap();
            let (values, status) = received?;
            assert_eq!((status.tag, status.source), (tag as i32, last));
            assert_eq!(values, vec![n + last as u64; long(n)]);
        }
        assert!(mpi::wait_any(&mut receives).await.is_none());
        while sum.test().await?.is_none() {}
        assert!(!sum.is_active());
        barrier.start()?;
        for sent in [(&mut send).await, (&mut ssend).await, (&mut bsend).await] {
            sent?;
        }
        (&mut barrier).await?;
    }
    // A receive that is started and then taken back leaves its message to others. It can be started
    // again.
    receives[0].start()?;
    let to_me = world.send(vec![7_u64], next, 0);
    world.barrier().await?;
    receives[0].take_back();
    let (came, _) = world.recv::<Vec<u64>>(ANY_SOURCE, ANY_TAG).await?;
    assert_eq!(came, [7]);
    to_me.await
}

fn world_recv(tag: i32, from: usize) -> mpi::Receiving<Vec<u64>> {
    mpi::world().unwrap().recv(from, tag)
}

/// A message that is slightly below the eager limit. Its decoder runs a network.
struct Running;

impl Payload for Running {
    fn size(&self) -> usize {
        60_000
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        to.copy(&[0; 60_000]);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let [..] = from.take::<60_000>()?;
        let mut inner = Local::new();
        inner.spawn(yield_now());
        let ran = inner.run(&Options::new());
        ran.map(|_| Running).map_err(|_| from.error("a run"))
    }
}

/// Sends messages to all other ranks, and receives theirs.
pub async fn runs_in_decoders(world: Communicator) -> Result<(), Error> {
    let others: Vec<usize> = (0..world.size()).filter(|&it| it != world.rank()).collect();
    for _ in 0..20 {
        let sends: Vec<_> = others
            .iter()
            .map(|&to| world.send(Running, to, 0))
            .collect();
        for &from in &others {
            world.recv::<Running>(from, 0).await?;
        }
        for send in sends {
            send.await?;
        }
    }
    Ok(())
}
