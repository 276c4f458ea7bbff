//! Flow-controlled ends that are used alone and then become members of a bundle. The bundle takes
//! over their state.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use crate::common::{Random, seeds};
use graphmap_runtime as rt;
use rt::{FlowInput, FlowOutput, FlowSelect, FlowShare, Local, Options, State, yield_now};

fn channels(count: usize, capacity: u32) -> (Local, Vec<FlowOutput<u32>>, Vec<FlowInput<u32>>) {
    let mut net = Local::new();
    let channels = (0..count).map(|_| net.flow_channel::<u32>(capacity));
    let (writers, readers) = channels.unzip();
    (net, writers, readers)
}

/// Polls a future once and drops it. Returns its output if it was ready.
async fn once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

async fn pause(turns: u64) {
    for _ in 0..turns {
        yield_now().await;
    }
}

#[test]
fn inputs_that_were_asked_for_their_state() {
    let (mut net, writers, mut readers) = channels(2, 2);
    for mut writer in writers {
        net.spawn(async move {
            assert_eq!(writer.open().await, State::Open);
            writer.write(1).await.unwrap();
        });
    }
    net.spawn(async move {
        pause(5).await;
        assert!(readers.iter_mut().all(|one| one.state() == State::New));
        let mut select = FlowSelect::from(readers);
        let mut tokens = 0;
        while select.read().await.is_some() {
            tokens += 1;
        }
        assert_eq!(tokens, 2);
    });
    net.run(&Options::new()).unwrap();
}

#[test]
fn outputs_that_were_asked_for_their_state() {
    let (mut net, mut writers, readers) = channels(2, 2);
    for mut reader in readers {
        net.spawn(async move {
            let mut tokens = 0;
            while reader.read().await.is_some() {
                tokens += 1;
            }
            assert!(tokens > 0);
        });
    }
    net.spawn(async move {
        pause(5).await;
        assert!(writers.iter_mut().all(|one| one.state() == State::New));
        let mut share = FlowShare::from(writers);
        for n in 0..10 {
            share.write(n).await.unwrap();
        }
    });
    net.run(&Options::new()).unwrap();
}

/// Two readers have asked for the end. One of them leaves, and the other one is the last.
#[test]
fn outputs_whose_readers_have_asked() {
    let (mut net, mut writers, readers) = channels(2, 2);
    for mut reader in readers {
        net.spawn(async move {
            assert_eq!(reader.read().await, Some(0));
            reader.close();
            while reader.read().await.is_some() {}
        });
    }
    net.spawn(async move {
        for writer in &mut writers {
            writer.write(0).await.unwrap();
            writer.closing().await;
            assert_eq!(writer.state(), State::Closing);
        }
        let mut share = FlowShare::from(writers);
        share.closing().await;
        assert_eq!((share.state(), share.open_members()), (State::Closing, 1));
    });
    net.run(&Options::new()).unwrap();
}

#[test]
fn inputs_that_have_asked() {
    let (mut net, writers, mut readers) = channels(2, 2);
    for mut writer in writers {
        net.spawn(async move {
            writer.write(0).await.unwrap();
            writer.closing().await;
            writer.write(1).await.unwrap();
        });
    }
    net.spawn(async move {
        for reader in &mut readers {
            assert_eq!(reader.read().await, Some(0));
            reader.close();
        }
        let mut select = FlowSelect::from(readers);
        assert_eq!(select.open().await, State::Closing);
        select.close(); // the writers have already been asked
        let mut tokens = 0;
        while select.read().await.is_some() {
            tokens += 1;
        }
        assert_eq!(tokens, 2);
    });
    net.run(&Options::new()).unwrap();
}

/// One of two inputs has asked for the end, and the other one has not.
#[test]
fn one_input_of_two_that_has_asked() {
    let (mut net, writers, mut readers) = channels(2, 2);
    for mut writer in writers {
        net.spawn(async move {
            writer.write(0).await.unwrap();
            writer.closing().await;
        });
    }
    net.spawn(async move {
        for reader in &mut readers {
            assert_eq!(reader.read().await, Some(0));
        }
        readers[0].close();
        let mut select = FlowSelect::from(readers);
        assert_eq!(select.open().await, State::Open);
        select.close();
        assert_eq!(select.state(), State::Closing);
        assert_eq!(select.read().await, None);
    });
    net.run(&Options::new()).unwrap();
}

/// The bundle asks for the end when an input has been opened and its writer has not. Another writer
/// drops its end without opening it.
#[test]
fn a_writer_that_opens_after_the_request_is_asked() {
    let (mut net, writers, mut readers) = channels(3, 1);
    let mut writers = writers.into_iter();
    let mut next = || writers.next().unwrap();
    let (mut first, mut late, gone) = (next(), next(), next());
    let (mut ask, mut asked) = net.channel::<()>(1);
    net.spawn(async move {
        first.write(1).await.unwrap();
        first.closing().await;
        first.close();
    });
    net.spawn(async move {
        asked.read().await.unwrap();
        drop(gone);
        late.closing().await;
        assert_eq!(late.state(), State::Closing);
        late.write(2).await.unwrap();
    });
    net.spawn(async move {
        for at in [1, 2] {
            assert_eq!(once(readers[at].open()).await, None);
        }
        let mut select = FlowSelect::from(readers);
        assert_eq!(select.read().await, Some((0, 1)));
        select.close();
        ask.write(()).await.unwrap();
        assert_eq!(select.read().await, Some((1, 2)));
        assert_eq!(select.read().await, None);
        assert_eq!(select.state(), State::Closed);
    });
    net.run(&Options::new()).unwrap();
}

/// Uses a writer in some way, and drops operations that are not ready at once.
async fn use_writer(writer: &mut FlowOutput<u32>, random: &mut Random, written: &Cell<u64>) {
    for _ in 0..random.below(5) {
        match random.below(5) {
            0 => drop(once(writer.open()).await),
            1 => drop(writer.state()),
            2 => writer.close(),
            3 => {
                let ok = once(writer.write(0))
                    .await
                    .is_some_and(|wrote| wrote.is_ok());
                written.set(written.get() + u64::from(ok));
            }
            _ => pause(random.below(6)).await,
        }
    }
}

/// Uses a reader in some way, and drops operations that are not ready at once.
async fn use_reader(reader: &mut FlowInput<u32>, random: &mut Random, read: &Cell<u64>) {
    for _ in 0..random.below(5) {
        match random.below(5) {
            0 => drop(once(reader.open()).await),
            1 => drop(reader.state()),
            2 => reader.close(),
            3 => {
                let token = once(reader.read()).await.flatten();
                read.set(read.get() + u64::from(token.is_some()));
            }
            _ => pause(random.below(6)).await,
        }
    }
}

#[test]
fn bundles_of_used_ends_lose_no_token() {
    for seed in seeds(900, 9) {
        for share in [false, true] {
            let random = || Random(seed * 2 + 1);
            let (count, capacity) = (1 + seed as usize % 3, 1 + seed as u32 / 3 % 3);
            let (mut net, mut writers, mut readers) = channels(count, capacity);
            let (written, read) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
            if share {
                let (mut random, written) = (random(), Rc::clone(&written));
                net.spawn(async move {
                    for writer in &mut writers {
                        use_writer(writer, &mut random, &written).await;
                    }
                    let mut share = FlowShare::from(writers);
                    if random.below(2) == 0 {
                        share = share.round_robin();
                    }
                    for n in 0..random.below(20) as u32 {
                        match share.write(n).await {
                            Ok(_) => written.set(written.get() + 1),
                            Err(rt::Stopped) => break,
                        }
                    }
                });
                for (at, mut reader) in readers.into_iter().enumerate() {
                    let read = Rc::clone(&read);
                    let mut random = Random(seed * 7 + at as u64);
                    net.spawn(async move {
                        use_reader(&mut reader, &mut random, &read).await;
                        loop {
                            while reader.read().await.is_some() {
                                read.set(read.get() + 1);
                                if random.below(5) == 0 {
                                    reader.close();
                                }
                            }
                            if reader.open().await == State::Closed {
                                break;
                            }
                        }
                    });
                }
            } else {
                let (mut random, read) = (random(), Rc::clone(&read));
                net.spawn(async move {
                    for reader in &mut readers {
                        use_reader(reader, &mut random, &read).await;
                    }
                    let mut select = FlowSelect::from(readers);
                    while select.read().await.is_some() {
                        read.set(read.get() + 1);
                        if random.below(5) == 0 {
                            select.close();
                        }
                    }
                });
                for (at, mut writer) in writers.into_iter().enumerate() {
                    let written = Rc::clone(&written);
                    let mut random = Random(seed * 7 + at as u64);
                    net.spawn(async move {
                        use_writer(&mut writer, &mut random, &written).await;
                        for n in 0..random.below(20) as u32 {
                            if random.below(4) == 0 {
                                writer.close();
                                pause(random.below(4)).await;
                            }
                            if writer.open().await == State::Closed {
                                break;
                            }
                            match writer.write(n).await {
                                Ok(()) => written.set(written.get() + 1),
                                Err(rt::Stopped) => break,
                            }
                        }
                    });
                }
            }
            let outcome = net.run(&Options::new().shuffle(seed));
            if let Err(error) = outcome {
                panic!("seed {seed}, share {share}: {error}");
            }
            assert_eq!(written.get(), read.get(), "seed {seed}, share {share}");
        }
    }
}
