//! Destructors of tokens in hostile situations. They run on fibers that are forgotten, moved to
//! another run or polled by hand. They also run in thread-locals of a thread that ends, and in
//! nested runs. Not under Miri, which cannot switch stacks.

#![cfg(not(miri))]
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::mem::forget;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use graphmap_fiber::{Fiber, WaitError, try_wait};
use graphmap_runtime as rt;
use rt::{Input, Local, Options, Output, yield_now};

/// Token that counts its drop and then calls a function.
struct Token(Rc<Cell<u32>>, Option<Box<dyn FnOnce()>>);

impl Drop for Token {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        if let Some(then) = self.1.take() {
            then();
        }
    }
}

fn plain(dropped: &Rc<Cell<u32>>) -> Token {
    Token(Rc::clone(dropped), None)
}

fn then(dropped: &Rc<Cell<u32>>, then: impl FnOnce() + 'static) -> Token {
    Token(Rc::clone(dropped), Some(Box::new(then)))
}

/// Returns a channel that contains one token.
fn with(net: &mut Local, token: Token) -> (Output<Token>, Input<Token>) {
    let (mut output, input) = net.channel(1);
    assert!(output.try_write(token).is_ok());
    (output, input)
}

/// Returns a function that waits until a flag is set.
fn until(flag: &Rc<Cell<bool>>) -> impl FnOnce() + 'static {
    let flag = Rc::clone(flag);
    move || {
        while !flag.get() && try_wait(yield_now()).is_ok() {}
    }
}

/// Returns a port whose token drops another such port, and so on, with `length` tokens in total.
fn chain(net: &mut Local, dropped: &Rc<Cell<u32>>, length: u32) -> Input<Token> {
    let mut inner = with(net, plain(dropped)).1;
    for _ in 1..length {
        inner = with(net, then(dropped, move || drop(inner))).1;
    }
    inner
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns a future that is pending once, with any waker.
fn once() -> impl Future<Output = ()> {
    let mut polled = false;
    poll_fn(move |_| match std::mem::replace(&mut polled, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
}

/// Forgets fibers that wait in destructors. They keep their stacks, and do not delay other drops in
/// this run or a later one.
#[test]
fn fibers_that_are_forgotten_in_destructors() {
    let (dropped, waiting) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let mut net = Local::new();
    for _ in 0..40 {
        let waits = || _ = try_wait(pending::<()>());
        let (input, waiting) = (with(&mut net, then(&dropped, waits)).1, Rc::clone(&waiting));
        net.spawn(async move {
            let mut fiber = Fiber::new(move || drop(input));
            // At most 32 such drops wait in a run. The other tokens are dropped after the poll, so
            // their fibers end at once.
            waiting.set(waiting.get() + u32::from(poll(&mut fiber).is_pending()));
            forget(fiber);
        });
    }
    let last = chain(&mut net, &dropped, 100);
    let (mut output, input) = with(&mut net, plain(&dropped));
    net.spawn(async move {
        yield_now().await;
        drop((last, input));
    });
    net.spawn(async move { output.stopped().await });
    net.run(&Options::new()).unwrap();
    assert_eq!((dropped.get(), waiting.get()), (141, 32));
    let mut net = Local::new();
    let last = chain(&mut net, &dropped, 100);
    net.spawn(async move {
        drop(last);
    });
    net.run(&Options::new()).unwrap();
    assert_eq!(dropped.get(), 241);
}

/// Polls fibers by hand, outside of a run. A destructor of a token cannot wait there, because
/// nothing would drop the remaining tokens meanwhile.
#[test]
fn fibers_that_are_polled_by_hand() {
    let (dropped, refused) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let mut net = Local::new();
    for _ in 0..40 {
        let refuses = Rc::clone(&refused);
        let token = then(&dropped, move || {
            assert_eq!(try_wait(once()), Err(WaitError::InPoll));
            refuses.set(refuses.get() + 1);
        });
        let input = with(&mut net, token).1;
        let mut fiber = Fiber::new(move || drop(input));
        assert!(poll(&mut fiber).is_ready());
    }
    assert_eq!((dropped.get(), refused.get()), (40, 40));
    drop(chain(&mut net, &dropped, 1000));
    assert_eq!(dropped.get(), 1040);
}

/// Moves fibers that wait in a destructor to a second run after the first run has ended.
#[test]
fn a_fiber_that_is_carried_to_another_run() {
    let (dropped, flag) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
    let kept: Rc<RefCell<Vec<Fiber<()>>>> = Rc::default();
    let mut net = Local::new();
    for _ in 0..40 {
        let inner = chain(&mut net, &dropped, 10);
        let waits = until(&flag);
        let token = then(&dropped, move || {
            waits();
            drop(inner);
        });
        let (input, kept) = (with(&mut net, token).1, Rc::clone(&kept));
        net.spawn(async move {
            let mut fiber = Fiber::new(move || drop(input));
            let polled = poll_fn(|context| Poll::Ready(Pin::new(&mut fiber).poll(context))).await;
            if polled.is_pending() {
                kept.borrow_mut().push(fiber);
            }
        });
    }
    net.run(&Options::new()).unwrap();
    let fibers = kept.take();
    assert_eq!(fibers.len(), 32);
    let mut net = Local::new();
    for fiber in fibers {
        net.spawn(fiber);
    }
    let last = chain(&mut net, &dropped, 100);
    net.spawn(async move {
        yield_now().await;
        flag.set(true);
        drop(last);
    });
    net.run(&Options::new()).unwrap();
    assert_eq!(dropped.get(), 40 * 11 + 100);
}

/// Runs a network that blocks and one that fails, both in a destructor. The second drops ports of
/// the outer network.
#[test]
fn destructors_that_run_networks() {
    let dropped = Rc::new(Cell::new(0));
    let mut net = Local::new();
    let of_outer = chain(&mut net, &dropped, 100);
    let counts = Rc::clone(&dropped);
    let input = with(
        &mut net,
        then(&dropped, move || {
            let mut blocked = Local::new();
            let (output, mut never) = blocked.channel::<u8>(1);
            let rest = chain(&mut blocked, &counts, 50);
            blocked.spawn(async move {
                assert!(never.read().await.is_none());
                drop((output, rest));
            });
            let end = blocked.run(&Options::new());
            assert!(matches!(end, Err(rt::RunError::Blocked(_))), "{end:?}");
            let mut fails = Local::new();
            let rest = chain(&mut fails, &counts, 50);
            fails.spawn(async move {
                drop(rest);
                assert!(std::thread::panicking(), "within");
            });
            fails.spawn(Fiber::new(move || drop(of_outer)));
            let end = fails.run(&Options::new());
            assert!(matches!(end, Err(rt::RunError::Failed(_))), "{end:?}");
        }),
    )
    .1;
    net.spawn(Fiber::new(move || drop(input)));
    net.run(&Options::new()).unwrap();
    assert_eq!(dropped.get(), 201);
}

/// Drops a fiber that waits in a destructor, which drops another such fiber, and so on.
#[test]
fn fibers_within_destructors_within_fibers() {
    let dropped = Rc::new(Cell::new(0));
    let mut net = Local::new();
    let mut fiber: Option<Fiber<()>> = None;
    for _ in 0..100 {
        let inner = fiber.take();
        let token = then(&dropped, move || {
            let _ = try_wait(once());
            drop(inner);
        });
        let input = with(&mut net, token).1;
        let mut next = Fiber::new(move || drop(input));
        let _ = poll(&mut next);
        fiber = Some(next);
    }
    net.spawn(async move {
        yield_now().await;
        drop(fiber);
    });
    net.run(&Options::new()).unwrap();
    assert_eq!(dropped.get(), 100);
}

thread_local! {
    static LAST: RefCell<Option<Input<Token>>> = const { RefCell::new(None) };
}

/// Ends a thread that has a port in a thread-local. The token of the port runs a network.
#[test]
fn a_thread_that_ends_with_a_port() {
    let ended = std::thread::spawn(|| {
        LAST.set(None);
        let dropped = Rc::new(Cell::new(0));
        let mut net = Local::new();
        let inner = chain(&mut net, &dropped, 1000);
        let counts = Rc::clone(&dropped);
        let token = then(&dropped, move || {
            let mut net = Local::new();
            let last = chain(&mut net, &counts, 1000);
            net.spawn(async move { drop((inner, last)) });
            net.run(&Options::new()).unwrap();
            assert_eq!(counts.get(), 2001);
        });
        LAST.set(Some(with(&mut net, token).1));
    });
    ended.join().unwrap();
}
