//! Tests with very many fibers. Not under Miri, which cannot switch stacks.

#![cfg(not(miri))]

use std::cell::Cell;
use std::fs;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use graphmap_fiber::{Fiber, Options, Stacks, wait};

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps")
        .unwrap()
        .lines()
        .count()
}

/// Returns fibers that wait and that count their drops.
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

/// Runs both cases in one test, because they count the mappings of the OS process.
#[test]
fn very_many_stacks() {
    two_hundred_thousand_with_markers();
    as_many_as_mappings_allow();
}

/// Allocates 200,000 stacks with guard markers. Does nothing on a kernel without markers.
fn two_hundred_thousand_with_markers() {
    const COUNT: usize = 200_000;
    let probe = Stacks::new(Options::new());
    drop(probe.fiber("", || ()));
    if probe.counts().protected > 0 {
        return;
    }
    let before = mappings();
    let stacks = Stacks::new(Options::new());
    let dropped = Rc::new(Cell::new(0));
    let mut fibers = waiting(&stacks, COUNT, &dropped);
    let counts = stacks.counts();
    assert_eq!(counts.live, COUNT);
    assert_eq!(counts.protected, 0);
    let mappings = mappings() - before;
    assert!(mappings < 500, "{mappings} mappings");
    assert!(counts.reserved >= COUNT * Options::SIZE);
    assert!(fibers.iter_mut().all(|fiber| poll(fiber).is_pending()));
    // Half of the fibers end, and the others are dropped.
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
}

/// Allocates stacks with `mprotect` guards, which take two mappings each, until an error names the
/// limit. Some mappings stay free.
fn as_many_as_mappings_allow() {
    let before = mappings();
    let limit = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    let most = limit / 16 * 7;
    if most > 100_000 {
        // This test may not use enough memory for such a limit.
        return;
    }
    let dropped = Rc::new(Cell::new(0));
    let stacks = Stacks::new(Options::new().without_markers());
    let mut fibers = waiting(&stacks, most, &dropped);
    assert_eq!(stacks.counts().protected, most);
    for _ in 0..2 {
        let error = stacks.fiber("rank 9", || ()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
        let begins = format!(
            "cannot allocate a stack of 64 KiB for the fiber of rank 9, with {most} stacks in use: "
        );
        let help = format!(
            "two of {limit} mappings; raise the limit, for example with `sysctl \
             vm.max_map_count={}`",
            4 * limit
        );
        let said = error.to_string();
        assert!(said.starts_with(&begins) && said.contains(&help), "{said}");
    }
    // An eighth of the mappings stays free for threads and allocators.
    let held = mappings();
    assert!(held <= limit - limit / 9, "{held} of {limit}");
    let thread = std::thread::spawn(|| vec![7_u8; 1 << 24]);
    assert_eq!(thread.join().unwrap()[5], 7);
    // The existing fibers continue. After one is dropped, another can be created.
    assert!(fibers.iter_mut().all(|fiber| poll(fiber).is_pending()));
    drop(fibers.pop());
    fibers.extend(waiting(&stacks, 1, &dropped));
    drop(fibers);
    drop(stacks);
    assert!(mappings() < before + 100);
    assert_eq!(dropped.get(), most + 1);

    // The guards of dropped stacks are available again.
    let stacks = Stacks::new(Options::new().without_markers());
    let fibers = waiting(&stacks, 1000, &dropped);
    assert_eq!(stacks.counts().protected, 1024);
    drop(fibers);
}
