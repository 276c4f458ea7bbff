//! Ranks that are threads together with ranks that are tasks of processes.

use graphmap_runtime::mpi::{ANY_SOURCE, ANY_TAG, Communicator, Error, OnThread, Op, ThreadRank};

use super::endpoint_cases::each;

/// Waits for threads, one after the other. Returns their results in order, or the first error.
pub async fn ended<R>(threads: Vec<OnThread<Result<R, Error>>>) -> Result<Vec<R>, Error> {
    let mut all = Vec::new();
    for thread in threads {
        all.push(thread.await??);
    }
    Ok(all)
}

/// Starts a thread for each rank.
pub fn start<R: Send + 'static>(
    ranks: impl IntoIterator<Item = Communicator>,
    does: impl Fn(&ThreadRank) -> Result<R, Error> + Clone + Send + 'static,
) -> Result<Vec<OnThread<Result<R, Error>>>, Error> {
    let threads = ranks.into_iter().map(|rank| {
        let does = does.clone();
        rank.on_thread(move |rank| does(rank))
    });
    threads.collect()
}

/// Makes calls of all sorts with all other ranks. Tasks and threads make the same ones. Returns the
/// largest `round` of all ranks.
async fn all_sorts(rank: Communicator, round: u64) -> Result<u64, Error> {
    let (me, size) = (rank.rank(), rank.size());
    let to = (me + round as usize) % size;
    let sent = rank.ssend((me, vec![round; 9000]), to, 1);
    let ((from, values), status) = rank.recv::<(usize, Vec<u64>)>(ANY_SOURCE, ANY_TAG).await?;
    assert_eq!((from, values.len()), (status.source, 9000));
    sent.await?;
    while rank.iprobe(me, 9).await?.is_some() {}
    assert!(rank.allgather(me).await?.iter().copied().eq(0..size));
    let part = rank
        .split(Some(me as u32 % 2), -(me as i64))
        .await?
        .unwrap();
    let sum = part.allreduce(me, |a, b| a + b).await?;
    assert_eq!(sum, (0..size).filter(|it| it % 2 == me % 2).sum::<usize>());
    let window = part.window(vec![0u64; 1]).await?;
    window.accumulate([1], 0, 0, Op::Sum).await?;
    let mine = window.free().await?[0];
    assert_eq!(
        mine,
        if part.rank() == 0 {
            part.size() as u64
        } else {
            0
        }
    );
    rank.allreduce(round, u64::max).await
}

/// Runs `rounds` rounds in a communicator in which some ranks are threads and some are tasks.
/// Threads also use a communicator that they have duplicated themselves.
pub async fn threads_and_tasks(world: Communicator, seed: u64, rounds: u64) -> Result<(), Error> {
    let count = 1 + (world.rank() + seed as usize) % 3;
    let mut ranks = world.endpoints(count).await?;
    let tasks = ranks.split_off(ranks.len() / 2);
    let threads = start(ranks, move |rank| {
        for round in 0..rounds {
            let most = rank.call(move |rank| all_sorts(rank, round))?;
            assert_eq!(most, round);
        }
        let again = rank.call(|rank| async move { Ok(rank.dup().await?.into_thread()) })?;
        again.barrier()?;
        Ok(again.rank())
    })?;
    each(&tasks, |rank| async move {
        for round in 0..rounds {
            assert_eq!(all_sorts(rank.clone(), round).await?, round);
        }
        rank.dup().await?.barrier().await
    })
    .await?;
    ended(threads).await.map(drop)
}

/// Sends questions from a thread of the first of two processes to the second one, and polls for
/// each answer. Meanwhile, its process is never asleep.
pub async fn polling_for_answers(world: Communicator, questions: u32) -> Result<(), Error> {
    let rank = world.endpoints(1).await?.remove(0);
    if rank.rank() == 1 {
        for n in 0..questions {
            assert_eq!(rank.recv::<u32>(0, 0).await?.0, n);
            rank.send(n, 0, 1).await?;
        }
        return Ok(());
    }
    let asks = rank.on_thread(move |rank| {
        for n in 0..questions {
            // By now, all schedulers may be asleep or about to sleep.
            (0..n * 7919 % 4000).for_each(|_| std::hint::spin_loop());
            let answer = rank.call(move |rank| async move {
                rank.send(n, 1, 0).await?;
                while rank.iprobe(1, 1).await?.is_none() {}
                rank.recv::<u32>(1, 1).await
            })?;
            assert_eq!(answer.0, n);
        }
        Ok(())
    })?;
    asks.await?
}
