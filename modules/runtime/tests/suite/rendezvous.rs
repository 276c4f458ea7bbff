//! Tokens in the rendezvous slot, which a writer that waits for space leaves in the channel beyond
//! its capacity. The result must not depend on whether both ends are on one scheduler or on two.
#![forbid(unsafe_code)]

use std::future::poll_fn;
use std::task::Poll;

use crate::common::{BOTH, Both, Log, places};
use graphmap_runtime::{Channels, Names, Network, Stopped, Write};

/// Returns a network of a writer with two outputs and a reader with two inputs, with capacity 1.
fn two<W, R>(
    writer: impl Fn(Both<u64>) -> W + Send + Sync + 'static,
    reader: impl Fn(Both<u64>) -> R + Send + Sync + 'static,
) -> Network
where
    W: Future<Output = Result<(), Stopped>> + 'static,
    R: Future<Output = ()> + 'static,
{
    let mut net = Network::new("two", "two.dot");
    let from = net.kind("writer", Names::Listed(&["writer"]), "0", BOTH, writer);
    let to = net.kind("reader", Names::Listed(&["reader"]), "1", BOTH, reader);
    for _ in 0..2 {
        net.channels::<u64>(Channels::new((from, 1), (to, 0), "0", "0"));
    }
    net
}

fn ends<T>(mut all: Vec<T>) -> (T, T) {
    let (second, first) = (all.pop().unwrap(), all.pop().unwrap());
    (first, second)
}

/// Polls a write once, which must wait.
async fn leave_in_slot(write: &mut Write<'_, u64>) {
    let waits = poll_fn(|context| {
        let write = std::pin::Pin::new(&mut *write);
        Poll::Ready(write.poll(context).is_pending())
    });
    assert!(waits.await, "there is no room");
}

/// Returns the tokens that the reader reads in each run, after the writer gave up the write of 2.
fn seen(give_up: fn(Write<'_, u64>)) -> Vec<Vec<u64>> {
    let mut all = Vec::new();
    let log = Log::new();
    let network = || {
        let log = log.clone();
        let writer = move |p: Both<u64>| async move {
            let (mut numbers, mut go) = ends(p.outs);
            numbers.write(1).await?;
            let mut write = numbers.write(2);
            leave_in_slot(&mut write).await;
            give_up(write);
            go.write(0).await?;
            for n in 3..20 {
                numbers.write(n).await?;
            }
            Ok(())
        };
        let reader = move |p: Both<u64>| {
            let log = log.clone();
            async move {
                let (mut numbers, mut go) = ends(p.ins);
                go.read().await;
                while let Some(n) = numbers.read().await {
                    log.add(n);
                }
            }
        };
        two(writer, reader)
    };
    places::each(network, |outcome| {
        outcome.unwrap();
        all.push(log.take());
    });
    all
}

#[test]
fn a_dropped_write_withdraws_its_token() {
    let expected: Vec<u64> = (1..20).filter(|&n| n != 2).collect();
    for seen in seen(|write| drop(write)) {
        assert_eq!(seen, expected);
    }
}

#[test]
fn forgotten_tokens_in_the_slot_are_read() {
    let expected: Vec<u64> = (1..20).collect();
    for seen in seen(|write| std::mem::forget(write)) {
        assert_eq!(seen, expected);
    }
}

/// Returns whether a write in the rendezvous slot succeeds when the reader reads `read` tokens and
/// leaves, for each run.
fn write_results(read: usize) -> Vec<bool> {
    let mut all = Vec::new();
    let log = Log::new();
    let network = || {
        let log = log.clone();
        let writer = move |p: Both<u64>| {
            let log = log.clone();
            async move {
                let (mut numbers, mut go) = ends(p.outs);
                numbers.write(1).await?;
                let mut write = numbers.write(2);
                leave_in_slot(&mut write).await;
                go.write(0).await?;
                log.add(write.await.is_ok());
                // The reader leaves only after it has read.
                numbers.stopped().await;
                assert_eq!(numbers.write(3).await, Err(Stopped));
                Ok(())
            }
        };
        let reader = move |p: Both<u64>| async move {
            let (mut numbers, mut go) = ends(p.ins);
            go.read().await;
            for n in 1..=read {
                assert_eq!(numbers.read().await, Some(n as u64));
            }
        };
        two(writer, reader)
    };
    let mut runs = 0;
    places::each(network, |outcome| {
        outcome.unwrap();
        all.append(&mut log.take());
        runs += 1;
    });
    assert_eq!(all.len(), runs);
    all
}

#[test]
fn a_write_fails_if_the_reader_leaves_the_token() {
    assert!(write_results(0).iter().all(|&read| !read));
}

#[test]
fn a_write_succeeds_if_the_reader_has_read_the_token() {
    assert!(write_results(2).iter().all(|&read| read));
}
