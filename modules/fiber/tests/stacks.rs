//! Tests of stacks through the public interface: slabs, guards, and reuse. Not under Miri, which
//! cannot switch stacks.

#![cfg(not(miri))]

use std::collections::HashSet;
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use graphmap_fiber::{Fiber, Options, Stacks, wait};

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns a fiber that waits forever, and an address on its stack.
fn waiting(stacks: &Stacks) -> (Fiber<()>, usize) {
    let place = Rc::new(std::cell::Cell::new(0));
    let inside = place.clone();
    let body = move || {
        let local = 0_u8;
        inside.set(std::ptr::from_ref(&local).addr());
        wait(pending::<()>());
    };
    let mut fiber = stacks.fiber("waiting", body).unwrap();
    assert!(poll(&mut fiber).is_pending());
    (fiber, place.get())
}

/// Returns options for the guards of this kernel and of a kernel before Linux 6.13.
fn kinds() -> [Options; 2] {
    [Options::new(), Options::new().without_markers()]
}

#[test]
fn stacks_are_counted() {
    for (options, old) in kinds().into_iter().zip([false, true]) {
        let stacks = Stacks::new(options);
        let counts = stacks.counts();
        assert_eq!((counts.live, counts.reserved, counts.protected), (0, 0, 0));
        let fibers: Vec<_> = (0..100).map(|_| waiting(&stacks)).collect();
        let counts = stacks.counts();
        assert_eq!((counts.live, counts.reserved), (100, 128 << 16));
        assert!(counts.protected == 128 || !old);
        assert!([0, 128].contains(&counts.protected));
        drop(fibers);
        assert_eq!(stacks.counts().live, 0);
    }
}

#[test]
fn stacks_do_not_meet_and_are_used_again() {
    for options in kinds() {
        let stacks = Stacks::new(options);
        let all: Vec<_> = (0..500).map(|_| waiting(&stacks)).collect();
        let mut places: Vec<_> = all.iter().map(|(_, place)| *place).collect();
        places.sort();
        // Colours move the tops of stacks by at most 2 KiB.
        assert!(places.windows(2).all(|two| two[1] - two[0] >= 62 << 10));
        let colours: HashSet<_> = places.iter().map(|place| place % 4096 / 64).collect();
        assert!(colours.len() >= 24, "{} lines for tops", colours.len());
        let reserved = stacks.counts().reserved;
        for _ in 0..3 {
            let (last, place) = waiting(&stacks);
            drop(last);
            let (again, same) = waiting(&stacks);
            assert_eq!(place, same);
            drop(again);
        }
        assert_eq!(stacks.counts().reserved, reserved);
    }
}

#[test]
fn at_most_1024_stacks_are_kept_while_none_is_in_use() {
    let stacks = Stacks::new(Options::new());
    for _ in 0..3 {
        let mut all: Vec<_> = (0..3000).map(|_| waiting(&stacks).0).collect();
        let reserved = stacks.counts().reserved;
        assert!(reserved >= 3000 << 16);
        all.reverse();
        let kept = all.split_off(1500);
        drop(kept);
        drop(all);
        let counts = stacks.counts();
        assert_eq!(counts.live, 0);
        assert!(
            counts.reserved <= 1024 << 16,
            "{} of {reserved}",
            counts.reserved
        );
    }
}

/// Recurses, and uses at most `bytes` bytes of the stack.
#[inline(never)]
fn use_up(bytes: usize) -> u8 {
    let frame = std::hint::black_box([1_u8; 512]);
    match bytes.checked_sub(2048) {
        // A call takes less than 2048 bytes, also in debug builds.
        Some(left) => frame[3].wrapping_add(use_up(left)),
        None => frame[5],
    }
}

#[test]
fn most_of_a_stack_can_be_used_whatever_guards_it() {
    for options in kinds() {
        for size in [64 << 10, 1 << 20] {
            let stacks = Stacks::new(options.clone().size(size));
            for _ in 0..3 {
                let body = move || {
                    let used = use_up(size / 2);
                    wait(poll_fn(|_| Poll::Ready(())));
                    used
                };
                let mut fiber = stacks.fiber("", body).unwrap();
                assert!(poll(&mut fiber).is_ready());
            }
        }
    }
}

#[test]
fn memory_that_is_not_in_use_can_be_given_back() {
    let stacks = Stacks::new(Options::new().size(1 << 20));
    for _ in 0..3 {
        let mut fibers: Vec<_> = (0..20)
            .map(|_| stacks.fiber("", || use_up(500 << 10)).unwrap())
            .collect();
        let (kept, _) = waiting(&stacks);
        for fiber in &mut fibers {
            assert!(poll(fiber).is_ready());
        }
        drop(fibers);
        let before = resident();
        stacks.trim().unwrap();
        let after = resident();
        // Each of the 20 fibers used at least about 120 KiB. The margin is for tests that run
        // concurrently.
        assert!(after + (1 << 20) < before, "{before} to {after}");
        drop(kept);
    }
}

/// Gives back the memory of free stacks beyond 1024, while other stacks are in use.
#[test]
fn a_burst_of_fibers_leaves_the_memory_of_1024_stacks() {
    let stacks = Stacks::new(Options::new());
    let (kept, _) = waiting(&stacks);
    let burst: Vec<_> = (0..20_000).map(|_| waiting(&stacks).0).collect();
    let before = resident();
    drop(burst);
    let after = resident();
    // Each stack had at least one page. The margin is for tests that run concurrently.
    assert!(after + (50 << 20) < before, "{before} to {after}");
    // The stacks whose memory was given back can be used again.
    let again: Vec<_> = (0..2000).map(|_| waiting(&stacks).0).collect();
    assert_eq!(stacks.counts().live, 2001);
    drop((again, kept));
}

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn fibers_outlive_the_stacks_they_were_made_from() {
    let stacks = Stacks::new(Options::new());
    let (mut fiber, _) = waiting(&stacks);
    drop(stacks);
    assert!(poll(&mut fiber).is_pending());
    drop(fiber);
}

#[test]
fn a_fiber_lives_as_long_as_its_thread() {
    use std::cell::RefCell;
    struct Says(std::sync::mpsc::Sender<bool>);
    impl Drop for Says {
        fn drop(&mut self) {
            // A fiber can still be created here. It is not polled, because the thread is unwinding.
            drop(Fiber::new(|| 7));
            let _ = self.0.send(true);
        }
    }
    thread_local!(static KEPT: RefCell<Option<Fiber<()>>> = const { RefCell::new(None) });
    let (says, said) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        KEPT.set(None);
        let mut fiber = Fiber::new(move || {
            let _says = Says(says);
            wait(pending::<()>());
        });
        assert!(poll(&mut fiber).is_pending());
        KEPT.set(Some(fiber));
    });
    thread.join().unwrap();
    assert_eq!(said.recv(), Ok(true));
}

#[test]
fn a_name_that_panics_takes_no_stack() {
    struct Evil;
    impl std::fmt::Display for Evil {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("no name")
        }
    }
    let stacks = Stacks::new(Options::new());
    let made = std::panic::AssertUnwindSafe(|| stacks.fiber(Evil, || ()));
    assert!(std::panic::catch_unwind(made).is_err());
    assert_eq!(stacks.counts().live, 0);
    drop(waiting(&stacks));
}

#[test]
fn threads_have_stacks_of_their_own() {
    let run = || {
        let stacks = Stacks::new(Options::new());
        let mut all: Vec<_> = (0..200).map(|_| waiting(&stacks).0).collect();
        for _ in 0..10 {
            assert!(all.iter_mut().all(|fiber| poll(fiber).is_pending()));
            all.truncate(all.len() - 10);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(run);
        }
    });
}
