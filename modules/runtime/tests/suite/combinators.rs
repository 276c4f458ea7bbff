//! Wakers and combinators of other libraries. Blocks are detected in spite of them, and they do not
//! keep a run from ending.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use crate::common::{BOTH, Both, blocked, forget, size, ways};
use graphmap_runtime as rt;
use rt::{Channels, Local, Names, Network, Options, RunError, Select, Stopped, run};

/// A combinator as in other libraries. Each child has a waker of its own, and only children that
/// were woken are polled again.
pub(crate) struct JoinAll<'a> {
    children: Vec<(Option<Boxed<'a>>, Arc<Child>)>,
}

pub(crate) type Boxed<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

struct Child {
    woken: AtomicBool,
    parent: Mutex<Option<Waker>>,
}

impl Wake for Child {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        let parent = self.parent.lock().unwrap().clone();
        if let Some(parent) = parent {
            parent.wake();
        }
    }
}

pub(crate) fn join_all<'a>(
    futures: impl Iterator<Item = impl Future<Output = ()> + 'a>,
) -> JoinAll<'a> {
    let child = || {
        Arc::new(Child {
            woken: AtomicBool::new(true),
            parent: Mutex::new(None),
        })
    };
    let boxed = |future| Some(Box::pin(future) as Boxed<'a>);
    JoinAll {
        children: futures.map(|future| (boxed(future), child())).collect(),
    }
}

impl Future for JoinAll<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut pending = false;
        for (future, child) in &mut self.children {
            let Some(running) = future else { continue };
            *child.parent.lock().unwrap() = Some(context.waker().clone());
            if child.woken.swap(false, Ordering::SeqCst) {
                let waker = Waker::from(Arc::clone(child));
                if running
                    .as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_ready()
                {
                    *future = None;
                    continue;
                }
            }
            pending = true;
        }
        if pending {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

#[test]
fn the_run_ends_although_wakers_are_kept() {
    static WAKERS: Mutex<Vec<Waker>> = Mutex::new(Vec::new());
    for schedulers in [1, 2] {
        let mut net = Network::new("n", "n.dot");
        net.kind(
            "p",
            Names::Numbered("p", "0+1*4"),
            "0+1*4",
            &[],
            |_: ()| async {
                poll_fn(|context| {
                    WAKERS.lock().unwrap().push(context.waker().clone());
                    Poll::Ready(())
                })
                .await;
            },
        );
        run(net, &Options::new().os_processes(schedulers)).unwrap();
        for waker in WAKERS.lock().unwrap().drain(..) {
            waker.wake_by_ref();
            waker.wake();
        }
    }
}

/// Returns a network that writes two tokens to each of `n` channels, concurrently. The reader reads
/// when all are written.
fn written_at_once(n: usize) -> Local {
    let mut net = Local::new();
    let (mut outs, mut ins): (Vec<_>, Vec<_>) = (0..n).map(|_| net.channel::<usize>(1)).unzip();
    let (mut done, mut all_written) = net.channel::<()>(1);
    net.spawn_named("writer", async move {
        let both = outs.iter_mut().map(|out| async move {
            out.write(1).await.unwrap();
            out.write(2).await.unwrap();
        });
        join_all(both).await;
        done.write(()).await.unwrap();
    });
    net.spawn_named("reader", async move {
        all_written.read().await;
        for input in &mut ins {
            assert_eq!([input.read().await, input.read().await], [Some(1), Some(2)]);
        }
    });
    net
}

#[test]
fn artificial_blocks_are_resolved_under_combinators() {
    for n in [1, 4, 40] {
        let report = written_at_once(n).run(&Options::new()).unwrap();
        assert_eq!(report.growths.len(), n);
    }
}

#[test]
fn a_block_under_a_combinator_is_reported_by_name() {
    let told: Arc<Mutex<Vec<rt::Block>>> = Arc::default();
    let list = Arc::clone(&told);
    let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
    let mut net = Local::new();
    let (outs, mut ins): (Vec<_>, Vec<_>) = (0..3).map(|_| net.channel::<u64>(1)).unzip();
    net.spawn_named("reader", async move {
        join_all(
            ins.iter_mut()
                .map(|input| async move { assert_eq!(input.read().await, None) }),
        )
        .await;
    });
    net.spawn_named("idle", async move {
        pending::<()>().await;
        drop(outs);
    });
    let kept = Arc::clone(&waker);
    // This process has to end the run. Otherwise, the run would never end, because a foreign waker
    // may still wake a process.
    net.spawn_named(
        "timer",
        poll_fn(move |context| {
            let first = kept
                .lock()
                .unwrap()
                .replace(context.waker().clone())
                .is_none();
            if first {
                Poll::Pending
            } else {
                Poll::Ready(Err("it is late".to_string()))
            }
        }),
    );
    let options = Options::new().on_quiet(move |block| {
        let mut list = list.lock().unwrap();
        list.push(block.clone());
        // The block is reported again if nothing changes.
        if list.len() == 2 {
            let waker = waker.lock().unwrap().clone();
            waker.unwrap().wake();
        }
    });
    let Err(RunError::Failed(failure)) = net.run(&options) else {
        panic!("it did not fail");
    };
    assert_eq!(failure.process, "timer");
    let told = told.lock().unwrap();
    let names: Vec<_> = told[0]
        .others
        .iter()
        .map(|process| process.name.as_str())
        .collect();
    assert_eq!(
        (told.len(), names),
        (2, vec!["idle", "timer", "reader"]),
        "{told:?}"
    );
    assert!(told[0].waits_for_foreign());
    assert_eq!(told[0].others[2].waits.len(), 3, "{:?}", told[0]);
}

#[test]
fn a_kept_waker_hides_no_artificial_block() {
    for forgotten in [true, false] {
        let mut net = Local::new();
        let (mut a, mut a_in) = net.channel::<u64>(1);
        let (mut b, mut b_in) = net.channel::<u64>(1);
        let kept = Rc::new(RefCell::new(None));
        let keep = Rc::clone(&kept);
        net.spawn(async move {
            poll_fn(|context| {
                let waker = context.waker().clone();
                match forgotten && !cfg!(miri) {
                    true => forget(waker),
                    false => drop(keep.replace(Some(waker))),
                }
                Poll::Ready(())
            })
            .await;
            a.write(1).await?;
            a.write(2).await?;
            b.write(1).await
        });
        net.spawn(async move {
            b_in.read().await;
            assert_eq!([a_in.read().await, a_in.read().await], [Some(1), Some(2)]);
        });
        assert_eq!(net.run(&Options::new()).unwrap().growths.len(), 1);
    }
}

/// Many full channels lead to a reader whose waits are not known. All grow at once, and a block
/// that growth cannot resolve is reported.
#[test]
fn many_full_channels_to_an_unknown_reader() {
    let n = size(4000, 10) as usize;
    let mut net = Local::new();
    let (outs, ins): (Vec<_>, Vec<_>) = (0..n).map(|_| net.channel::<u64>(1)).unzip();
    for mut out in outs {
        net.spawn(async move {
            for token in 0..3 {
                out.write(token).await?;
            }
            Ok::<(), Stopped>(())
        });
    }
    net.spawn(async move {
        pending::<()>().await;
        drop(ins);
    });
    let block = blocked(net.run(&Options::new()));
    assert_eq!((block.processes, block.others.len()), (1, 1));
    assert!(block.waits_for_foreign());
}

/// A waker of its own that wakes a process.
struct Relay(Waker);

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

/// A wake-up may be on its way to a bundle that is dropped. The next process that waits by a
/// foreign waker may get the number of the bundle's member. The wake-up is then spurious, and the
/// process must wait again.
#[test]
fn a_wake_up_for_a_bundle_that_has_gone() {
    let [waits, written, again] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
    let play = move |mut p: Both<u64>| {
        let [waits, written, again] = [&waits, &written, &again].map(Arc::clone);
        async move {
            match rt::me().rank {
                0 => {
                    while !waits.load(Ordering::SeqCst) {
                        rt::yield_now().await;
                    }
                    p.outs[0].write_or_discard(1).await;
                    rt::yield_now().await;
                    written.store(true, Ordering::SeqCst);
                    while !again.load(Ordering::SeqCst) {
                        rt::yield_now().await;
                    }
                    p.outs[1].write(2).await.unwrap();
                }
                1 => {
                    let mut select = Select::from(p.ins);
                    assert!(ways::glance(select.read()).await.is_none());
                    waits.store(true, Ordering::SeqCst);
                    // Blocks the scheduler, so that it sees the token only when the bundle is gone.
                    while !written.load(Ordering::SeqCst) {
                        std::thread::yield_now();
                    }
                }
                _ => {
                    let mut read = Box::pin(p.ins[0].read());
                    let mut looks = 0;
                    let token = poll_fn(|context| {
                        looks += 1;
                        again.store(looks >= 2, Ordering::SeqCst);
                        let relay = Waker::from(Arc::new(Relay(context.waker().clone())));
                        read.as_mut().poll(&mut Context::from_waker(&relay))
                    });
                    assert_eq!(token.await, Some(2));
                }
            }
        }
    };
    let mut net = Network::new("gone", "gone.dot");
    let kind = net.kind("p", Names::Numbered("p", "0+1*3"), "0+1*3", BOTH, play);
    net.channels::<u64>(Channels::new((kind, 1), (kind, 0), "0+0*2", "1 2"));
    let options = Options::new().os_processes(2).threads(2);
    run(net, &options.mapping("0 1 1".parse().unwrap())).unwrap();
}
