//! Ranks in a deadlock are reported, with their calls and lines. A channel that
//! is too small for the tokens written before a message grows.

use graphmap_runtime::mpi::{self, ANY_SOURCE, ANY_TAG, Error};
use graphmap_runtime::{Block, Local, Options, RunError};

fn blocked(net: Local) -> Block {
    match net.run(&Options::new()) {
        Err(RunError::Blocked(block)) => block,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cycle_of_receives_is_reported_with_its_lines() {
    let mut net = Local::new();
    for _ in 0..3 {
        net.spawn(async {
            let world = mpi::world()?;
            let next = (world.rank() + 1) % 3;
            world.recv::<u8>(next, 5).await.map(drop)
        });
    }
    net.spawn(async {
        let world = mpi::world()?;
        world.ssend(1u8, 0, 4).await
    });
    net.spawn(async { mpi::world()?.probe(ANY_SOURCE, ANY_TAG).await.map(drop) });
    let block = blocked(net);
    assert_eq!(
        (block.processes, block.cycle_len, block.others_len),
        (5, 3, 2)
    );
    let told: Vec<String> = block
        .cycle
        .iter()
        .chain(&block.others)
        .map(ToString::to_string)
        .collect();
    let file = file!();
    for (line, rank) in told.iter().zip([0, 1, 2]) {
        let call = format!(
            "process {rank} (rank {rank}) waits in receive (world, from rank {}, tag 5): ",
            (rank + 1) % 3
        );
        assert!(line.starts_with(&call), "{line}");
        assert!(line.contains(file), "{line}");
    }
    assert!(
        told[3].contains("waits in send (world, to rank 0, tag 4): "),
        "{}",
        told[3]
    );
    assert!(
        told[4].contains("waits in probe (world, from any rank, any tag): "),
        "{}",
        told[4]
    );
    let place = block.cycle[0].waits[0].place.as_ref().unwrap();
    let mut lines = include_str!("mpi_blocks.rs").lines();
    let line = lines.position(|line| line.contains("world.recv::<u8>(next, 5)"));
    assert_eq!(place.line as usize, line.unwrap() + 1);
}

/// One process fills a channel before it sends the message that the reader of the channel waits
/// for.
#[test]
fn a_full_channel_before_a_message_grows() {
    for any in [false, true] {
        let mut net = Local::new();
        let (mut tx, mut rx) = net.channel::<u32>(1);
        net.spawn(async move {
            let world = mpi::world().unwrap();
            for n in 0..100 {
                tx.write(n).await.unwrap();
            }
            world.send(7u8, 1, 0).await.unwrap();
        });
        net.spawn(async move {
            let world = mpi::world().unwrap();
            let source = if any { ANY_SOURCE } else { 0.into() };
            world.recv::<u8>(source, 0).await.unwrap();
            for n in 0..100 {
                assert_eq!(rx.read().await, Some(n));
            }
        });
        let report = net.run(&Options::new()).unwrap();
        assert!(!report.growths.is_empty());
    }
}

#[test]
fn a_cycle_of_a_channel_and_a_message_is_reported() {
    let mut net = Local::new();
    let (tx, mut rx) = net.channel::<u32>(1);
    net.spawn(async move {
        let _kept = tx;
        mpi::world()?.recv::<u8>(1, 0).await.map(drop)
    });
    net.spawn(async move {
        mpi::world()?;
        rx.read().await;
        Ok::<(), Error>(())
    });
    let block = blocked(net);
    assert_eq!(block.processes, 2);
    let told = block.to_string();
    assert!(
        told.contains("waits in receive (world, from rank 1, tag 0)"),
        "{told}"
    );
    assert!(told.contains("waits to read"), "{told}");
}

/// A process that awaited one of several requests no longer waits for the others when it continues.
#[test]
fn finished_waits_are_not_reported() {
    let mut net = Local::new();
    net.spawn(async {
        let world = mpi::world()?;
        let mut both = [world.recv::<u8>(0, 1), world.recv::<u8>(0, 2)];
        world.send(1u8, 0, 2).await?;
        mpi::wait_any(&mut both).await;
        world.recv::<u8>(0, 3).await.map(drop)
    });
    let block = blocked(net);
    let waits = &block.cycle[0].waits;
    assert_eq!(waits.len(), 1, "{waits:?}");
    assert!(waits[0].call.as_ref().unwrap().contains("tag 3"));
}
