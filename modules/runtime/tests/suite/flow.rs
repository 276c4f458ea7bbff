//! Flow-controlled channels: opening, leaving, coming back, closing, and the tokens meanwhile.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::blocked;
use graphmap_runtime as rt;
use rt::{FlowInput, FlowOutput, FlowSelect, FlowShare, Input, Local, Options, State, yield_now};

/// Events in order.
type Story = Rc<RefCell<Vec<String>>>;

fn note(story: &Story, what: impl Into<String>) {
    story.borrow_mut().push(what.into());
}

fn run(net: Local) {
    net.run(&Options::new()).unwrap();
}

/// Figure 3.20 of (CM)2PI: both ends open, tokens flow, and the sender closes. All tokens arrive
/// before the end.
#[test]
fn the_sender_closes() {
    let mut net = Local::new();
    let (mut tx, mut rx) = net.flow_channel::<u32>(8);
    net.spawn(async move {
        assert_eq!(tx.state(), State::New);
        assert_eq!(tx.open().await, State::Open);
        for n in 0..5 {
            tx.write(n).await.unwrap();
        }
        tx.close();
        assert_eq!(tx.state(), State::Closed);
        assert!(tx.write(5).await.is_err());
        assert_eq!(tx.open().await, State::Closed);
    });
    net.spawn(async move {
        assert_eq!(rx.state(), State::New);
        assert_eq!(rx.open().await, State::Open);
        for _ in 0..10 {
            yield_now().await;
        }
        for n in 0..5 {
            assert_eq!(rx.state(), State::Open, "there are tokens");
            assert_eq!(rx.read().await, Some(n));
        }
        assert_eq!(rx.read().await, None);
        assert_eq!(rx.state(), State::Closed);
        assert_eq!(rx.open().await, State::Closed);
        assert_eq!(rx.read().await, None);
    });
    run(net);
}

/// Figure 3.21: the receiver asks for the end, and tokens flow until the sender closes.
#[test]
fn the_receiver_asks() {
    let mut net = Local::new();
    let (mut tx, mut rx) = net.flow_channel::<u32>(2);
    net.spawn(async move {
        let mut n = 0;
        while tx.state() != State::Closing {
            tx.write(n).await.unwrap();
            n += 1;
        }
        tx.closing().await; // returns at once
        for more in 0..3 {
            tx.write(n + more).await.unwrap();
        }
        assert_eq!(tx.state(), State::Closing);
    });
    net.spawn(async move {
        for n in 0..4 {
            assert_eq!(rx.read().await, Some(n));
        }
        assert_eq!(rx.state(), State::Open);
        rx.close();
        assert_eq!(rx.state(), State::Closing);
        let mut rest = 0;
        while let Some(n) = rx.read().await {
            assert_eq!(n, 4 + rest);
            rest += 1;
        }
        assert!(rest >= 3);
        assert_eq!(rx.state(), State::Closed);
    });
    run(net);
}

#[test]
fn a_writer_that_waits_for_other_things_hears_the_request() {
    let mut net = Local::new();
    let (mut tx, mut rx) = net.flow_channel::<u32>(1);
    let (mut never, mut waits) = net.channel::<u32>(1);
    net.spawn(async move {
        assert_eq!(tx.open().await, State::Open);
        rt::select! {
            _ = waits => unreachable!(),
            () = tx.closing() => {}
            else => unreachable!(),
        }
        assert_eq!(tx.state(), State::Closing);
    });
    net.spawn(async move {
        rx.open().await;
        rx.close();
        assert_eq!(rx.read().await, None);
        never.try_write(1).unwrap_err(); // the other process has ended
    });
    run(net);
}

/// Readers leave and come back. The last open reader leaves only when another one has opened.
#[test]
fn readers_leave_and_come_back() {
    let story = Story::default();
    let mut net = Local::new();
    let (writers, readers): (Vec<_>, Vec<_>) = (0..2).map(|_| net.flow_channel::<u32>(4)).unzip();
    let [mut a, mut b] = <[FlowInput<u32>; 2]>::try_from(readers).unwrap();
    let (mut go, mut gone) = net.channel::<()>(1);
    let mut share = FlowShare::from(writers);
    let told = story.clone();
    net.spawn(async move {
        let mut n = 0;
        while share.state() != State::Closed {
            let open = [share.is_open(0), share.is_open(1)];
            if let Ok(member) = share.write(n).await {
                assert!(share.is_open(member));
                n += 1;
            }
            if n == 200 {
                assert_eq!(share.state(), State::Closing);
                assert_eq!(share.open_members(), 1);
                note(&told, format!("closes, {open:?}"));
                share.close();
            }
        }
        assert_eq!(share.state(), State::Closed);
    });
    let told = story.clone();
    net.spawn(async move {
        assert_eq!(a.open().await, State::Open);
        for _ in 0..3 {
            a.read().await.unwrap();
        }
        // The only open reader: it asks for the end, and continues until the other one is open.
        a.close();
        assert_eq!(a.state(), State::Closing);
        a.read().await.unwrap();
        go.write(()).await.unwrap();
        while a.read().await.is_some() {}
        assert_eq!(a.state(), State::New);
        note(&told, "a has left");
        assert_eq!(a.read().await, None, "until it opens anew");
        assert_ne!(a.open().await, State::Closed);
        note(&told, "a is back");
        a.close();
        while a.read().await.is_some() {}
        assert_eq!(a.state(), State::New);
        note(&told, "a has left again");
        for _ in 0..50 {
            yield_now().await;
        }
        while a.state() != State::Closed {
            yield_now().await;
        }
        assert_eq!(a.open().await, State::Closed);
    });
    let told = story.clone();
    net.spawn(async move {
        gone.read().await.unwrap();
        assert_ne!(b.open().await, State::Closed);
        for _ in 0..20 {
            b.read().await.unwrap();
        }
        b.close(); // leaves if `a` is open, and asks for the end otherwise
        while b.read().await.is_some() {}
        note(&told, format!("b: {:?}", b.state()));
    });
    run(net);
    let story = story.take();
    assert_eq!(&story[..3], ["a has left", "a is back", "a has left again"]);
    assert_eq!(story[3], "closes, [false, true]");
    assert_eq!(story[4], "b: Closed");
}

#[test]
fn readers_take_turns() {
    let mut net = Local::new();
    let (writers, readers): (Vec<_>, Vec<_>) = (0..3).map(|_| net.flow_channel::<u32>(4)).unzip();
    let mut share = FlowShare::from(writers).round_robin();
    net.spawn(async move {
        while share.open_members() < 3 {
            share.open().await;
            yield_now().await;
            share.state();
        }
        for n in 0..30 {
            assert_eq!(share.write(n).await, Ok(n as usize % 3));
        }
    });
    for (at, mut reader) in (0..).zip(readers) {
        net.spawn(async move {
            for n in 0..10 {
                for _ in 0..at * 3 {
                    yield_now().await; // the slowest reader holds up the others
                }
                assert_eq!(reader.read().await, Some(3 * n + at));
            }
            assert_eq!(reader.read().await, None);
        });
    }
    run(net);
}

/// The last open reader is dropped. This also closes channels that were never open.
#[test]
fn the_last_that_goes_closes() {
    let mut net = Local::new();
    let (writers, readers): (Vec<_>, Vec<_>) = (0..2).map(|_| net.flow_channel::<u32>(1)).unzip();
    let [mut a, mut b] = <[FlowInput<u32>; 2]>::try_from(readers).unwrap();
    let mut share = FlowShare::from(writers);
    let (mut go, mut gone) = net.channel::<()>(1);
    net.spawn(async move {
        let mut n = 0;
        while let Ok(member) = share.write(n).await {
            assert_eq!(member, 0);
            n += 1;
        }
        assert_eq!(share.state(), State::Closed);
        assert!(share.write(n).await.is_err());
        go.write(()).await.unwrap();
    });
    net.spawn(async move {
        assert_eq!(a.read().await, Some(0));
        drop(a);
    });
    net.spawn(async move {
        gone.read().await.unwrap();
        assert_eq!(b.state(), State::Closed);
        assert_eq!(b.open().await, State::Closed);
        assert_eq!(b.read().await, None);
    });
    run(net);
}

/// Writers close and come back. The stream ends when the last of them closes.
#[test]
fn writers_leave_and_come_back() {
    let mut net = Local::new();
    let (writers, readers): (Vec<_>, Vec<_>) = (0..2).map(|_| net.flow_channel::<u32>(2)).unzip();
    let [mut a, mut b] = <[FlowOutput<u32>; 2]>::try_from(writers).unwrap();
    let mut select = FlowSelect::from(readers);
    let (mut last, mut is_last) = net.channel::<()>(1);
    net.spawn(async move {
        assert_eq!(a.open().await, State::Open);
        for visit in 0..5 {
            assert_eq!(a.open().await, State::Open);
            a.write(visit).await.unwrap();
            a.close();
            assert_eq!(a.state(), State::New);
            assert!(a.write(9).await.is_err(), "until it opens anew");
        }
        last.write(()).await.unwrap();
        while a.state() != State::Closed {
            yield_now().await;
        }
        assert_eq!(a.open().await, State::Closed);
    });
    net.spawn(async move {
        assert_eq!(b.open().await, State::Open);
        is_last.read().await.unwrap();
        b.close();
        assert_eq!(b.open().await, State::Closed);
        assert_eq!(b.state(), State::Closed);
    });
    net.spawn(async move {
        assert_eq!(select.open().await, State::Open);
        for visit in 0..5 {
            assert_eq!(select.read().await, Some((0, visit)));
        }
        assert_eq!(select.read().await, None);
        assert_eq!(select.state(), State::Closed);
        assert!(!select.is_open(0) && select.open_members() == 0);
    });
    run(net);
}

/// A reader of several channels asks all writers, even if they open later.
#[test]
fn a_reader_of_many_asks_all() {
    let mut net = Local::new();
    let (writers, readers): (Vec<_>, Vec<_>) = (0..4).map(|_| net.flow_channel::<u32>(1)).unzip();
    let mut select = FlowSelect::from(readers);
    for (at, mut writer) in writers.into_iter().enumerate() {
        net.spawn(async move {
            for _ in 0..at * 10 {
                yield_now().await;
            }
            if writer.open().await == State::Closed {
                return;
            }
            while writer.state() != State::Closing {
                if writer.write(0).await.is_err() {
                    return;
                }
            }
        });
    }
    net.spawn(async move {
        let mut tokens = 0;
        while select.read().await.is_some() {
            tokens += 1;
            if tokens == 10 {
                select.close();
                assert_eq!(select.state(), State::Closing);
            }
        }
        assert!(tokens >= 10);
    });
    run(net);
}

#[test]
fn a_writer_that_opens_after_the_request_is_closing_at_once() {
    let mut net = Local::new();
    let (writers, readers): (Vec<_>, Vec<_>) = (0..2).map(|_| net.flow_channel::<u32>(1)).unzip();
    let [mut a, mut b] = <[FlowOutput<u32>; 2]>::try_from(writers).unwrap();
    let mut select = FlowSelect::from(readers);
    let (mut go, mut may_go) = net.channel::<()>(1);
    net.spawn(async move {
        a.write(1).await.unwrap();
        a.closing().await;
        go.write(()).await.unwrap();
        go.stopped().await; // until the other writer is gone
    });
    net.spawn(async move {
        may_go.read().await.unwrap();
        assert_eq!(b.open().await, State::Closing);
        b.write(2).await.unwrap();
        drop(b);
    });
    net.spawn(async move {
        assert_eq!(select.read().await, Some((0, 1)));
        select.close();
        assert_eq!(select.read().await, Some((1, 2)));
        assert_eq!(select.read().await, None);
    });
    run(net);
}

#[test]
fn ends_that_are_joined_to_nothing_are_closed() {
    let mut net = Local::new();
    net.spawn(async move {
        let mut input = FlowInput::<u8>::unconnected();
        let mut output = FlowOutput::<u8>::unconnected();
        let mut share = FlowShare::<u8>::from(vec![]);
        let mut select = FlowSelect::<u8>::from(vec![FlowInput::unconnected()]);
        assert!(!input.is_connected() && !output.is_connected());
        assert!(!share.is_connected() && !select.is_connected());
        assert_eq!(input.read().await, None);
        assert!(output.write(1).await.is_err());
        assert!(share.write(1).await.is_err());
        assert_eq!(select.read().await, None);
        assert_eq!(input.open().await, State::Closed);
        assert_eq!(output.open().await, State::Closed);
        assert_eq!(share.open().await, State::Closed);
        assert_eq!(select.open().await, State::Closed);
        output.closing().await;
        share.closing().await;
        input.close();
        output.close();
        share.close();
        select.close();
    });
    run(net);
}

/// Outside a run, the last known state is returned.
#[test]
fn states_can_be_asked_for_anywhere() {
    let mut net = Local::new();
    let (tx, rx) = net.flow_channel::<u8>(1);
    let (mut tx, mut rx) = (FlowShare::from(vec![tx]), FlowSelect::from(vec![rx]));
    assert_eq!((tx.state(), rx.state()), (State::New, State::New));
    tx.close();
    assert_eq!(tx.state(), State::Closed);
    rx.state();
}

/// If the other end never opens, the run is blocked, and reported as such.
#[test]
fn an_end_that_never_opens_is_reported() {
    let mut net = Local::new();
    let (mut tx, rx) = net.flow_channel::<u8>(1);
    net.spawn_named("writer", async move {
        tx.open().await;
    });
    net.spawn_named("reader", async move {
        std::future::pending::<()>().await;
        drop(rx);
    });
    let block = blocked(net.run(&Options::new())).to_string();
    let told = "writer (rank 0) waits";
    assert!(block.contains(told), "{block}");
}

/// The writer writes all tokens before it reads any. Only the channels of open readers grow.
#[test]
fn blocks_through_a_share_are_resolved() {
    for in_turn in [false, true] {
        let mut net = Local::new();
        let (writers, readers): (Vec<_>, Vec<_>) =
            (0..3).map(|_| net.flow_channel::<u32>(1)).unzip();
        let (results, result): (Vec<_>, Vec<_>) = (0..3).map(|_| net.channel::<u32>(1)).unzip();
        let (mut late, mut is_late) = net.channel::<()>(1);
        net.spawn(async move {
            let mut share = FlowShare::from(writers);
            if in_turn {
                share = share.round_robin();
            }
            for n in 0..100 {
                share.write(n).await.unwrap();
                assert!(!share.is_open(2));
            }
            late.write(()).await.unwrap();
            drop(share);
            let mut select = rt::Select::from(result);
            let mut sum = 0;
            while let Some((_, n)) = select.read().await {
                sum += n;
            }
            assert_eq!(sum, 4950);
        });
        for (at, (mut reader, mut result)) in readers.into_iter().zip(results).enumerate() {
            let mut late = (at == 2).then(|| std::mem::replace(&mut is_late, Input::unconnected()));
            net.spawn(async move {
                if let Some(late) = &mut late {
                    late.read().await.unwrap(); // in a cycle with the writer, and not open
                }
                while let Some(n) = reader.read().await {
                    result.write(n).await?;
                }
                Ok::<(), rt::Stopped>(())
            });
        }
        let report = net.run(&Options::new()).unwrap();
        assert!(!report.growths.is_empty() && report.growths.len() < 40);
    }
}
