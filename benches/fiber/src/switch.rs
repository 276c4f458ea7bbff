//! Cost of a poll that ends pending, and of a wait for a ready future.

use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use graphmap_fiber::{Fiber, wait};

use crate::measure;

/// Returns a future that is pending on its first poll and ready on its second.
fn once() -> impl Future<Output = ()> {
    let mut asked = false;
    poll_fn(move |_| match std::mem::replace(&mut asked, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
}

async fn endless() {
    loop {
        once().await;
    }
}

fn endless_fiber() {
    loop {
        wait(once());
    }
}

fn endless_bare(yielder: &Yielder<(), ()>, (): ()) {
    loop {
        yielder.suspend(());
    }
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>, context: &mut Context<'_>) {
    assert!(black_box(future).poll(context).is_pending());
}

pub(crate) fn report(rounds: usize) {
    for live in [1, 1000, 10_000, 100_000] {
        println!("one poll that ends pending, of {live} in turn; and to the first:");
        let polls = 2_000_000_usize.next_multiple_of(live);
        let turns = polls / live;
        let mut context = Context::from_waker(Waker::noop());

        let mut futures: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
        futures.resize_with(live, || Box::pin(endless()));
        let bare = || {
            let stack = DefaultStack::new(60 << 10).unwrap();
            Coroutine::with_stack(stack, endless_bare)
        };
        // Each stack takes two mappings, so 100,000 of them would exceed the limit of the kernel.
        let mut bare: Vec<Coroutine<(), (), ()>> = match live {
            100_000 => Vec::new(),
            live => (0..live).map(|_| bare()).collect(),
        };
        let fiber = || Box::pin(Fiber::new(endless_fiber)) as Pin<Box<dyn Future<Output = ()>>>;
        let mut fibers: Vec<_> = (0..live).map(|_| fiber()).collect();

        let mut plain = || {
            for _ in 0..turns {
                for future in &mut futures {
                    poll(future.as_mut(), &mut context);
                }
            }
        };
        let mut context = Context::from_waker(Waker::noop());
        let mut run_fibers = || {
            for _ in 0..turns {
                for fiber in &mut fibers {
                    poll(fiber.as_mut(), &mut context);
                }
            }
        };
        let mut run_bare = || {
            for _ in 0..turns {
                for coroutine in &mut bare {
                    black_box(coroutine).resume(());
                }
            }
        };
        // Warm-up, because the first round differs from the others.
        plain();
        run_bare();
        run_fibers();
        let all: &mut [(&str, &mut dyn FnMut())] = &mut [
            ("async fn", &mut plain),
            ("fiber", &mut run_fibers),
            ("bare corosensei, a mapping each", &mut run_bare),
        ];
        let all = if live == 100_000 { &mut all[..2] } else { all };
        measure(rounds, polls, all);
    }
    // A wait in a running fiber, for a future that is ready.
    println!("one wait for what is ready:");
    const COUNT: usize = 4_000_000;
    let mut context = Context::from_waker(Waker::noop());
    let mut plain = || {
        let future = async {
            for _ in 0..COUNT {
                black_box(std::future::ready(1)).await;
            }
        };
        assert!(pin!(future).poll(&mut context).is_ready());
    };
    let mut context = Context::from_waker(Waker::noop());
    let mut fiber = || {
        let body = || {
            for _ in 0..COUNT {
                wait(black_box(std::future::ready(1)));
            }
        };
        let fiber = pin!(Fiber::new(body));
        assert!(fiber.poll(&mut context).is_ready());
    };
    measure(
        rounds,
        COUNT,
        &mut [("async fn", &mut plain), ("fiber", &mut fiber)],
    );
}
