//! Costs of growth: uninvolved processes and unused memory cost nothing.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use crate::common::{BOTH, Both, places, size};
use graphmap_runtime as rt;
use rt::{Channels, Local, Names, Network, Options, Stopped};

/// A process that was found waiting once is not examined again at the next quiescence.
#[test]
fn bystanders_cost_nothing_when_channels_grow() {
    const ROUNDS: usize = 20;
    let run = |bystanders: usize| {
        let mut net = Local::new();
        let mut kept = Vec::new();
        for _ in 0..bystanders {
            let (output, mut input) = net.channel::<u8>(1);
            kept.push(output);
            net.spawn(async move { assert_eq!(input.read().await, None) });
        }
        let (mut full, mut last) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            full.push(net.channel::<u8>(1));
            last.push(net.channel::<u8>(1));
        }
        let (full_out, full_in): (Vec<_>, Vec<_>) = full.into_iter().unzip();
        let (last_out, last_in): (Vec<_>, Vec<_>) = last.into_iter().unzip();
        net.spawn(async move {
            for (mut full, mut last) in full_out.into_iter().zip(last_out) {
                full.write(1).await?;
                full.write(2).await?;
                last.write(3).await?;
            }
            Ok::<(), Stopped>(())
        });
        net.spawn(async move {
            for (mut full, mut last) in full_in.into_iter().zip(last_in) {
                assert_eq!(last.read().await, Some(3));
                assert_eq!([full.read().await, full.read().await], [Some(1), Some(2)]);
            }
            drop(kept);
        });
        let report = net.run(&Options::new()).unwrap();
        assert_eq!(report.growths.len(), ROUNDS);
        let one = &report.schedulers[0];
        (one.standstills, one.waits_told)
    };
    let (few, many) = (10, size(10_000, 50));
    let ((times, told), (same, more)) = (run(few as usize), run(many as usize));
    assert_eq!(times, same);
    assert_eq!(more - told, 2 * (many - few), "both ends once");
}

/// Full channels lead to a reader whose waits are not known. All of them grow at the same
/// quiescence, even if there are many.
#[test]
fn channels_to_an_unknown_reader_grow_at_once() {
    let run = |writers: usize| {
        let mut net = Local::new();
        let (outs, ins): (Vec<_>, Vec<_>) = (0..writers).map(|_| net.channel::<u64>(1)).unzip();
        let ended = Rc::new(Cell::new(0));
        let waker = Rc::new(Cell::new(None::<Waker>));
        for mut out in outs {
            let (ended, waker) = (Rc::clone(&ended), Rc::clone(&waker));
            net.spawn(async move {
                for token in 0..3 {
                    out.write(token).await?;
                }
                ended.set(ended.get() + 1);
                if let Some(waker) = waker.take() {
                    waker.wake();
                }
                Ok::<(), Stopped>(())
            });
        }
        net.spawn(async move {
            let all = poll_fn(|context| {
                if ended.get() == writers {
                    return Poll::Ready(());
                }
                waker.set(Some(context.waker().clone()));
                Poll::Pending
            });
            all.await;
            for mut input in ins {
                assert_eq!(input.read().await, Some(0));
                assert_eq!([input.read().await, input.read().await], [Some(1), Some(2)]);
            }
        });
        let report = net.run(&Options::new()).unwrap();
        assert_eq!(report.growths.len(), 2 * writers, "to 2 and to 4 each");
        report.schedulers[0].standstills
    };
    let few = run(10);
    assert!(few > 0);
    assert_eq!(few, run(size(4000, 20) as usize));
}

/// A channel takes memory for the tokens that it holds, and not for its capacity.
#[test]
fn a_large_capacity_takes_no_memory() {
    places::each(
        || {
            let mut net = Network::new("large", "large.dot");
            let write = |mut p: Both<[u64; 64]>| async move {
                for n in 0..10 {
                    p.outs[0].write([n; 64]).await?;
                }
                Ok::<(), Stopped>(())
            };
            let read = |mut p: Both<[u64; 64]>| async move {
                for n in 0..10 {
                    assert_eq!(p.ins[0].read().await, Some([n; 64]));
                }
            };
            let writer = net.kind("writer", Names::Listed(&["w"]), "0", BOTH, write);
            let reader = net.kind("reader", Names::Listed(&["r"]), "1", BOTH, read);
            // The capacity corresponds to half a terabyte.
            net.channels::<[u64; 64]>(Channels {
                capacity: (1 << 30) - 1,
                ..Channels::new((writer, 1), (reader, 0), "0", "0")
            });
            net
        },
        |outcome| assert!(outcome.unwrap().growths.is_empty()),
    );
}
