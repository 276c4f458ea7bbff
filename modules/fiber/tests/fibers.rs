//! Tests of fibers through the public interface: waits, panics, drops, and hostile code. Not under
//! Miri, which cannot switch stacks.

#![cfg(not(miri))]

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::future::{Future, pending, poll_fn, ready};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use graphmap_fiber::{Fiber, WaitError, on_fiber, try_wait, uninterrupted, wait};

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns a future that is pending once and wakes itself.
fn once() -> impl Future<Output = ()> {
    let mut asked = false;
    poll_fn(move |context| match std::mem::replace(&mut asked, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
}

fn finish<F: Future + Unpin>(mut future: F) -> F::Output {
    loop {
        if let Poll::Ready(output) = poll(&mut future) {
            return output;
        }
    }
}

/// Value that increments a counter when it is dropped.
struct Counts(Rc<Cell<u32>>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

fn counter() -> (Rc<Cell<u32>>, Counts) {
    let count = Rc::new(Cell::new(0));
    (count.clone(), Counts(count))
}

/// Value that calls a function when it is dropped.
struct Then<F: FnMut()>(F);

impl<F: FnMut()> Drop for Then<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn a_body_runs_from_wait_to_wait() {
    let log = Rc::new(RefCell::new(Vec::new()));
    let inside = log.clone();
    let mut fiber = Fiber::new(move || {
        inside.borrow_mut().push(1);
        wait(once());
        inside.borrow_mut().push(2);
        assert_eq!(wait(async { 7 }), 7);
        wait(once());
        inside.borrow_mut().push(3);
        "over"
    });
    assert!(log.borrow().is_empty());
    assert_eq!(poll(&mut fiber), Poll::Pending);
    assert_eq!(*log.borrow(), [1]);
    assert_eq!(poll(&mut fiber), Poll::Pending);
    assert_eq!(*log.borrow(), [1, 2]);
    assert_eq!(poll(&mut fiber), Poll::Ready("over"));
    assert_eq!(*log.borrow(), [1, 2, 3]);
}

#[test]
fn fibers_are_polled_in_any_order() {
    let log = Rc::new(RefCell::new(Vec::new()));
    let fiber = |number: usize| {
        let log = log.clone();
        Fiber::new(move || {
            for round in 0..3 {
                log.borrow_mut().push((round, number));
                wait(once());
            }
            number
        })
    };
    let mut fibers: Vec<_> = (0..5).map(fiber).collect();
    for round in 0..3 {
        for (number, fiber) in fibers.iter_mut().enumerate().rev() {
            assert_eq!(poll(fiber), Poll::Pending);
            assert_eq!(log.borrow_mut().pop(), Some((round, number)));
        }
    }
    for (number, fiber) in fibers.iter_mut().enumerate() {
        assert_eq!(poll(fiber), Poll::Ready(number));
    }
}

struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_waker_is_that_of_the_last_poll_and_may_be_kept() {
    let kept: Rc<RefCell<Vec<Waker>>> = Rc::default();
    let inside = kept.clone();
    let mut fiber = Fiber::new(move || {
        wait(poll_fn(|context| {
            inside.borrow_mut().push(context.waker().clone());
            match inside.borrow().len() {
                3 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        }));
    });
    let counts: Vec<_> = (0..3).map(|_| Arc::new(Wakes(0.into()))).collect();
    for count in &counts {
        let waker = Waker::from(count.clone());
        let _ = Pin::new(&mut fiber).poll(&mut Context::from_waker(&waker));
    }
    drop(fiber);
    for waker in kept.take() {
        waker.wake();
    }
    assert!(counts.iter().all(|c| c.0.load(Ordering::Relaxed) == 1));
}

#[test]
fn waiting_outside_a_fiber_is_an_error() {
    assert!(!on_fiber());
    assert_eq!(try_wait(ready(1)), Err(WaitError::NoFiber));
    let result = catch_unwind(|| wait(ready(1))).unwrap_err();
    assert!(
        result
            .downcast_ref::<String>()
            .unwrap()
            .contains("the body of a fiber")
    );
    let inside = Fiber::new(|| {
        let thread = std::thread::spawn(|| (on_fiber(), try_wait(ready(1))));
        (on_fiber(), thread.join().unwrap())
    });
    assert_eq!(finish(inside), (true, (false, Err(WaitError::NoFiber))));
    assert!(!on_fiber());
}

#[test]
fn waiting_within_a_poll_is_an_error() {
    let fiber = Fiber::new(|| {
        let result = wait(async { try_wait(ready(1)) });
        // A panic in a poll does not prevent later waits.
        let panicked = catch_unwind(|| wait(async { wait(ready(1)) }));
        assert!(panicked.is_err());
        wait(once());
        result
    });
    assert_eq!(finish(fiber), Err(WaitError::InPoll));
}

#[test]
fn waiting_in_uninterrupted_code_is_an_error() {
    assert_eq!(
        uninterrupted(|| try_wait(ready(1))),
        Err(WaitError::NoFiber)
    );
    let fiber = Fiber::new(|| {
        let result = uninterrupted(|| {
            let inner = uninterrupted(|| try_wait(ready(1)));
            assert_eq!(inner, Err(WaitError::InPoll));
            // Another fiber has its own stack, so it may wait.
            assert_eq!(finish(Fiber::new(|| wait(async { 7 }))), 7);
            try_wait(ready(1))
        });
        // A panic ends the uninterrupted section, too.
        assert!(catch_unwind(|| uninterrupted(|| panic_any(1))).is_err());
        wait(once());
        result
    });
    assert_eq!(finish(fiber), Err(WaitError::InPoll));
}

#[test]
fn a_fiber_waits_for_a_fiber() {
    fn depth(levels: u32) -> u32 {
        wait(once());
        match levels {
            0 => 0,
            _ => 1 + wait(Fiber::new(move || depth(levels - 1))),
        }
    }
    assert_eq!(finish(Fiber::new(|| depth(20))), 20);
}

#[test]
fn a_fiber_polls_another_beside_its_own_work() {
    let fiber = Fiber::new(|| {
        let mut inner = Fiber::new(|| {
            wait(once());
            wait(once());
            5
        });
        let mut polls = 0;
        loop {
            polls += 1;
            if let Poll::Ready(output) = poll(&mut inner) {
                return (output, polls);
            }
            wait(once());
        }
    });
    assert_eq!(finish(fiber), (5, 3));
}

#[test]
fn a_fiber_may_not_poll_itself() {
    let own: Rc<RefCell<Option<Fiber<()>>>> = Rc::default();
    let inside = own.clone();
    let body = move || assert!(inside.try_borrow_mut().is_err());
    *own.borrow_mut() = Some(Fiber::new(body));
    assert_eq!(poll(own.borrow_mut().as_mut().unwrap()), Poll::Ready(()));
}

#[test]
fn a_panic_comes_out_of_the_poll() {
    for waits in [false, true] {
        let (count, counts) = counter();
        let mut fiber = Fiber::new(move || {
            let _counts = counts;
            if waits {
                wait(once());
            }
            panic_any(17_u8);
        });
        if waits {
            assert_eq!(poll(&mut fiber), Poll::Pending);
        }
        let panicked = catch_unwind(AssertUnwindSafe(|| poll(&mut fiber)));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&17_u8));
        assert_eq!(count.get(), 1);
        assert!(!std::thread::panicking());
        let again = catch_unwind(AssertUnwindSafe(|| poll(&mut fiber)));
        let again = *again.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(again, "a fiber was polled after it ended");
    }
}

#[test]
fn a_panic_in_a_poll_is_one_of_the_body() {
    let fiber = Fiber::new(|| {
        let caught = catch_unwind(|| wait(async { panic_any(3) }));
        wait(once());
        *caught.unwrap_err().downcast::<i32>().unwrap()
    });
    assert_eq!(finish(fiber), 3);
}

#[test]
fn polling_an_ended_fiber_panics() {
    let mut fiber = Fiber::new(|| ());
    assert_eq!(poll(&mut fiber), Poll::Ready(()));
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut fiber))).is_err());
}

#[test]
fn a_dropped_fiber_drops_the_values_on_its_stack() {
    let (count, counts) = counter();
    let mut fiber = Fiber::new(move || {
        let _counts = counts;
        let inner = Rc::new(Counts(_counts.0.clone()));
        wait(async move {
            let _inner = inner;
            pending::<()>().await;
        });
    });
    assert_eq!(poll(&mut fiber), Poll::Pending);
    assert_eq!(count.get(), 0);
    drop(fiber);
    assert_eq!(count.get(), 2);
    assert!(!std::thread::panicking());
}

#[test]
fn an_unstarted_fiber_drops_its_body() {
    let (count, counts) = counter();
    drop(Fiber::new(move || drop(counts)));
    assert_eq!(count.get(), 1);

    let then = Then(|| panic_any(4));
    let (count, counts) = counter();
    let fiber = Fiber::new(move || drop((then, counts)));
    let panicked = catch_unwind(AssertUnwindSafe(|| drop(fiber)));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&4));
    assert_eq!(count.get(), 1);
}

#[test]
fn an_unstarted_fiber_is_dropped_on_the_current_stack() {
    // The destructor runs on the outer fiber, so it can wait.
    let fiber = Fiber::new(|| {
        let waited = Rc::new(Cell::new(false));
        let inside = waited.clone();
        let then = Then(move || {
            wait(once());
            inside.set(true);
        });
        drop(Fiber::new(move || drop(then)));
        waited.get()
    });
    assert!(finish(fiber));
}

#[test]
fn a_destructor_may_try_to_wait() {
    let result = Rc::new(RefCell::new(Vec::new()));
    let inside = result.clone();
    let mut fiber = Fiber::new(move || {
        let _then = Then(move || {
            let result = (try_wait(ready(())), try_wait(once()));
            inside.borrow_mut().push(result);
        });
        wait(once());
        panic_any(2);
    });
    assert_eq!(poll(&mut fiber), Poll::Pending);
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut fiber))).is_err());
    // The same holds if the fiber is dropped.
    let inside = result.clone();
    let mut fiber = Fiber::new(move || {
        let _then = Then(move || {
            let result = (try_wait(ready(())), try_wait(once()));
            inside.borrow_mut().push(result);
        });
        wait(once());
    });
    assert_eq!(poll(&mut fiber), Poll::Pending);
    drop(fiber);
    let expected = (Ok(()), Err(WaitError::Unwinding));
    assert_eq!(*result.borrow(), [expected, expected]);
}

#[test]
fn no_other_fiber_sees_one_unwind() {
    // One fiber panics with a destructor that tries to wait. Another fiber holds a lock meanwhile.
    let lock = Arc::new(Mutex::new(0));
    let other = lock.clone();
    let mut holder = Fiber::new(move || {
        let held = other.lock().unwrap();
        wait(once());
        assert!(!std::thread::panicking());
        drop(held);
    });
    let mut unwinds = Fiber::new(|| {
        let _then = Then(|| assert_eq!(try_wait(once()), Err(WaitError::Unwinding)));
        panic_any(1);
    });
    assert_eq!(poll(&mut holder), Poll::Pending);
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut unwinds))).is_err());
    assert_eq!(poll(&mut holder), Poll::Ready(()));
    assert!(!lock.is_poisoned());
}

#[test]
fn a_body_may_catch_that_it_is_dropped() {
    let (count, counts) = counter();
    let ends = Rc::new(Cell::new(0));
    let inside = ends.clone();
    let mut fiber = Fiber::new(move || {
        let caught = catch_unwind(|| wait(pending::<()>()));
        assert!(caught.is_err());
        // The next wait unwinds again and does not poll its future.
        let caught = catch_unwind(|| wait(async { inside_of_a_poll() }));
        assert!(caught.is_err());
        inside.set(inside.get() + 1);
        counts
    });
    fn inside_of_a_poll() {
        unreachable!()
    }
    assert!(poll(&mut fiber).is_pending());
    drop(fiber);
    // The body continued to its end, and its return value was dropped.
    assert_eq!((ends.get(), count.get()), (1, 1));
}

#[test]
fn a_body_that_always_catches_is_leaked() {
    let (count, counts) = counter();
    let mut fiber = Fiber::new(move || {
        let _counts = counts;
        loop {
            let _ = catch_unwind(|| wait(once()));
        }
    });
    assert!(poll::<Fiber<()>>(&mut fiber).is_pending());
    drop(fiber);
    assert_eq!(count.get(), 0);
    assert!(!on_fiber() && !std::thread::panicking());
}

#[test]
fn a_panic_of_a_dropped_body_is_resumed() {
    let body = || {
        let _ = catch_unwind(|| wait(pending::<()>()));
        panic_any(8);
    };
    let mut fiber: Fiber<()> = Fiber::new(body);
    assert!(poll(&mut fiber).is_pending());
    let panicked = catch_unwind(AssertUnwindSafe(|| drop(fiber)));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&8));

    // If the thread is already panicking, the first panic is reported.
    let mut fiber: Fiber<()> = Fiber::new(body);
    assert!(poll(&mut fiber).is_pending());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _fiber = fiber;
        panic_any(9);
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&9));
}

#[test]
fn fibers_are_dropped_by_a_panic_too() {
    let (count, counts) = counter();
    let mut fiber = Fiber::new(move || {
        let _counts = counts;
        wait(pending::<()>());
    });
    assert!(poll(&mut fiber).is_pending());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _fiber = fiber;
        panic_any(9);
    }));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&9));
    assert_eq!(count.get(), 1);
    assert!(!std::thread::panicking());
}

#[test]
fn polling_a_fiber_in_unwinding_panics() {
    let ran = Rc::new(Cell::new(false));
    let inside = ran.clone();
    let result = Rc::new(Cell::new(false));
    let says = result.clone();
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        let mut fiber = Fiber::new(move || inside.set(true));
        let _then = Then(move || {
            let polled = catch_unwind(AssertUnwindSafe(|| poll(&mut fiber)));
            says.set(polled.is_err());
        });
        panic_any(9);
    }));
    assert!(panicked.is_err());
    assert_eq!((result.get(), ran.get()), (true, false));
}

#[test]
fn a_payload_may_panic_as_it_is_dropped() {
    struct Evil;
    impl Drop for Evil {
        fn drop(&mut self) {
            panic_any(6);
        }
    }
    let mut fiber: Fiber<()> = Fiber::new(|| {
        let _ = catch_unwind(|| wait(pending::<()>()));
        panic_any(Evil);
    });
    assert!(poll(&mut fiber).is_pending());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _fiber = fiber;
        panic_any(9);
    }));
    // `Evil` was dropped while the thread was unwinding, and its panic was discarded.
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&9));
}

#[test]
fn the_payload_of_a_dropped_fiber_can_be_resumed_in_another() {
    let payload = Rc::new(RefCell::new(None));
    let inside = payload.clone();
    let mut fiber = Fiber::new(move || {
        *inside.borrow_mut() = catch_unwind(|| wait(pending::<()>())).err();
    });
    assert!(poll(&mut fiber).is_pending());
    drop(fiber);
    let payload = payload.take().unwrap();
    let mut other: Fiber<()> = Fiber::new(move || resume_unwind(payload));
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut other))).is_err());
}

#[test]
fn a_forgotten_fiber_does_no_harm() {
    let (count, counts) = counter();
    let mut fiber = Fiber::new(move || {
        let _counts = counts;
        wait(pending::<()>());
    });
    assert!(poll(&mut fiber).is_pending());
    std::mem::forget(fiber);
    for _ in 0..10 {
        assert_eq!(finish(Fiber::new(|| wait(async { 1 }))), 1);
    }
    assert_eq!(count.get(), 0);
}

#[test]
fn a_fiber_holds_its_own_waker_and_wakes_itself() {
    let mut fiber = Fiber::new(|| {
        let waker = wait(poll_fn(|context| Poll::Ready(context.waker().clone())));
        waker.wake_by_ref();
        wait(once());
        drop(waker);
    });
    let count = Arc::new(Wakes(0.into()));
    let waker = Waker::from(count.clone());
    let mut context = Context::from_waker(&waker);
    assert!(Pin::new(&mut fiber).poll(&mut context).is_pending());
    assert_eq!(count.0.load(Ordering::Relaxed), 2);
    drop(fiber);
    drop(waker);
    assert_eq!(Arc::strong_count(&count), 1);
}

#[test]
fn a_large_body_and_a_large_output_pass() {
    let input = [7_u8; 5000];
    let fiber = Fiber::new(move || {
        wait(once());
        let mut output = [0_u64; 200];
        output[199] = input.iter().map(|b| u64::from(*b)).sum();
        output
    });
    assert_eq!(finish(fiber)[199], 35_000);
}

#[test]
fn captured_values_keep_their_alignment() {
    #[repr(align(256))]
    struct Aligned(u8);
    let value = Aligned(3);
    let fiber = Fiber::new(move || {
        let address = std::ptr::from_ref(&value).addr();
        wait(once());
        (address % 256, value.0)
    });
    assert_eq!(finish(fiber), (0, 3));
}

/// Sorts with C's `qsort` and a comparison function that waits.
fn sort_in_c(numbers: &mut [i32]) {
    extern "C" fn compare(one: *const c_void, other: *const c_void) -> c_int {
        wait(once());
        // SAFETY: `qsort` passes pointers to two of the elements.
        let (one, other) = unsafe { (*one.cast::<i32>(), *other.cast::<i32>()) };
        one.cmp(&other) as c_int
    }
    let (first, count) = (numbers.as_mut_ptr().cast(), numbers.len());
    // SAFETY: the slice has `count` elements of this size, and `compare` is a total order.
    unsafe { libc::qsort(first, count, size_of::<i32>(), Some(compare)) };
}

#[test]
fn a_callback_of_c_code_may_wait() {
    let fiber = Fiber::new(|| {
        let mut numbers = [3, 1, 2];
        sort_in_c(&mut numbers);
        numbers
    });
    assert_eq!(finish(fiber), [1, 2, 3]);
}

#[test]
#[ignore = "run by `a_fiber_that_is_dropped_within_c_code_ends_the_program`"]
fn dropped_within_c_code() {
    // The harness captures the output of `eprintln!`, so this opens the file itself.
    let say = |text| {
        let stderr = std::fs::File::options().append(true).open("/dev/stderr");
        writeln!(stderr.unwrap(), "{text}").unwrap();
    };
    let fiber = || {
        let mut fiber = Fiber::new(move || {
            let _says = Then(|| say("unwound"));
            sort_in_c(&mut [3, 1, 2]);
        });
        assert!(poll(&mut fiber).is_pending());
        fiber
    };
    std::mem::forget(fiber());
    say("kept");
    drop(fiber());
    say("over");
}

#[test]
fn a_fiber_that_is_dropped_within_c_code_ends_the_program() {
    let run = run_ignored("dropped_within_c_code");
    assert_eq!(run.status.signal(), Some(6), "{run:?}");
    let said = String::from_utf8_lossy(&run.stderr);
    let after = said
        .split_once("kept\n")
        .unwrap_or_else(|| panic!("{said}"))
        .1;
    assert!(after.contains("cannot unwind"), "{said}");
    assert!(
        !after.contains("unwound\n") && !after.contains("over\n"),
        "{said}"
    );
}

/// Exits the program on the stack of a fiber that a thread-local owns.
#[test]
#[ignore = "run by `a_fiber_may_end_the_program`"]
fn ends_the_program() {
    thread_local!(static KEPT: RefCell<Option<Fiber<()>>> = const { RefCell::new(None) });
    KEPT.with_borrow_mut(|kept| {
        let fiber = kept.insert(Fiber::new(|| {
            wait(once());
            std::process::exit(7);
        }));
        while poll(fiber).is_pending() {}
    });
}

/// Runs an ignored test of this file in a new OS process.
fn run_ignored(test: &str) -> std::process::Output {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            test,
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .output()
        .unwrap()
}

/// Drops a running fiber, because the exit drops the thread-locals of its thread.
#[test]
fn a_fiber_may_end_the_program() {
    let run = run_ignored("ends_the_program");
    assert_eq!(run.status.code(), Some(7), "{run:?}");
}
