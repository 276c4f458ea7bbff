//! Very many fibers. Miri switches no stacks.

#![cfg(not(miri))]

use std::cell::Cell;
use std::fs;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use graphmap_fiber::{Fiber, Guard, Options, Stacks, wait};

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps")
        .unwrap()
        .lines()
        .count()
}

/// Fibers that wait, and count when they are dropped.
fn waiting(stacks: &Stacks, count: usize, dropped: &Rc<Cell<usize>>) -> Vec<Fiber<usize>> {
    struct Counts(Rc<Cell<usize>>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let fiber = |number: usize| {
        let counts = Counts(dropped.clone());
        let body = move || {
            let _counts = counts;
            let mut polls = 0;
            wait(poll_fn(|_| {
                polls += 1;
                match polls {
                    3 => Poll::Ready(number),
                    _ => Poll::Pending,
                }
            }))
        };
        let name = format_args!("rank {number}");
        let mut fiber = stacks.fiber(name, body).unwrap();
        assert!(poll(&mut fiber).is_pending());
        fiber
    };
    (0..count).map(fiber).collect()
}

/// All is in one test, as it asks for the mappings of the OS process.
#[test]
fn two_hundred_thousand_stacks() {
    const COUNT: usize = 200_000;
    let before = mappings();
    let stacks = Stacks::new(Options::new());
    let dropped = Rc::new(Cell::new(0));
    let mut fibers = waiting(&stacks, COUNT, &dropped);
    let counts = stacks.counts();
    assert_eq!(counts.live, COUNT);
    if counts.markers > 0 {
        assert_eq!(counts.markers, COUNT, "{counts}");
        let mappings = mappings() - before;
        assert!(mappings < 500, "{mappings} mappings");
    }
    assert!(counts.reserved >= COUNT * Options::SIZE);
    assert!(fibers.iter_mut().all(|fiber| poll(fiber).is_pending()));
    // A half comes to its end, the others are dropped.
    for (number, fiber) in fibers.iter_mut().enumerate().step_by(2) {
        assert_eq!(poll(fiber), Poll::Ready(number));
    }
    assert_eq!(dropped.get(), COUNT / 2);
    drop(fibers);
    assert_eq!(dropped.get(), COUNT);
    let counts = stacks.counts();
    assert_eq!(counts.live, 0);
    assert!(counts.reserved <= 64 << 20, "{}", counts.reserved);
    drop(stacks);

    // Where there are no such guards, mappings are used up to a budget, and canaries beyond that.
    let before = mappings();
    let limit = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    let guards = [Guard::Protection, Guard::Canary];
    let stacks = Stacks::new(Options::new().guards(&guards));
    let count = (limit / 2 + 1000).min(100_000);
    let fibers = waiting(&stacks, count, &dropped);
    let counts = stacks.counts();
    assert_eq!(counts.protections + counts.canaries, count);
    let held = mappings();
    assert!(
        counts.protections >= limit / 3 || counts.canaries == 0,
        "{counts}"
    );
    assert!(held <= limit - limit / 9, "{held} of {limit}");
    // So another slab, or a thread, has what it needs.
    let thread = std::thread::spawn(|| 7);
    assert_eq!(thread.join().unwrap(), 7);
    drop(fibers);
    drop(stacks);
    assert!(mappings() < before + 100);

    // What was used is there again.
    let stacks = Stacks::new(Options::new().guards(&guards));
    let fibers = waiting(&stacks, 1000, &dropped);
    assert_eq!(stacks.counts().protections, 1000);
    drop(fibers);
    assert_eq!(dropped.get(), COUNT + count + 1000);
}
