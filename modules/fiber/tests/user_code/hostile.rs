//! Hostile user code and its state.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Waker};

use graphmap_fiber::{Fiber, try_wait, wait};
use graphmap_runtime as rt;
use rt::mpi::{self, Communicator};
use rt::{DecodeError, Decoder, Encoder, Input, Local, Output, Payload, yield_now};

/// Action of hostile code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Act {
    #[default]
    Nothing,
    /// Waits three times, if it can.
    Wait,
    /// Panics once, unless the thread is already panicking.
    Panic,
    /// Calls `Scene::again` once.
    Again,
    /// Drops `Scene::other`.
    Other,
}

/// State of hostile code, one for each thread.
#[derive(Default)]
pub(crate) struct Scene {
    pub(crate) act: Cell<Act>,
    pub(crate) calls: Cell<u32>,
    pub(crate) again: RefCell<Option<Box<dyn FnOnce()>>>,
    pub(crate) other: RefCell<Option<Box<dyn Any>>>,
    pub(crate) tokens: Cell<i64>,
}

thread_local! {
    // Never dropped, because the remains of a failed test would misbehave again.
    static SCENE: &'static Scene = Box::leak(Box::default());
}

pub(crate) fn scene<R>(f: impl FnOnce(&Scene) -> R) -> R {
    SCENE.with(|scene| f(scene))
}

/// Counts the call and performs the action of the scene.
pub(crate) fn misbehave() {
    let act = scene(|scene| {
        scene.calls.set(scene.calls.get() + 1);
        scene.act.get()
    });
    match act {
        Act::Nothing => {}
        Act::Wait => {
            for _ in 0..3 {
                let _ = try_wait(yield_now());
            }
        }
        Act::Panic if std::thread::panicking() => {}
        Act::Panic => {
            scene(|scene| scene.act.set(Act::Nothing));
            panic!("hostile");
        }
        Act::Again => {
            let again = scene(|scene| scene.again.take());
            again.into_iter().for_each(|again| again());
        }
        Act::Other => drop(scene(|scene| scene.other.take())),
    }
}

pub(crate) const DROP: u8 = 1;
pub(crate) const CLONE: u8 = 2;
pub(crate) const SIZE: u8 = 4;

/// Token that misbehaves in the operations that its bits select.
pub(crate) struct Token(u8, #[allow(dead_code)] Option<Box<Input<Token>>>);

impl Token {
    pub(crate) fn new(on: u8) -> Self {
        scene(|scene| scene.tokens.set(scene.tokens.get() + 1));
        Token(on, None)
    }

    pub(crate) fn with(on: u8, inner: Input<Token>) -> Self {
        let mut token = Token::new(on);
        token.1 = Some(Box::new(inner));
        token
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        scene(|scene| scene.tokens.set(scene.tokens.get() - 1));
        if self.0 & DROP != 0 {
            misbehave();
        }
    }
}

impl Clone for Token {
    fn clone(&self) -> Self {
        if self.0 & CLONE != 0 {
            misbehave();
        }
        Token::new(self.0)
    }
}

/// Value that ranks send: a token without a port.
pub(crate) struct Value(pub(crate) u8);

impl Value {
    pub(crate) fn new(on: u8) -> Self {
        scene(|scene| scene.tokens.set(scene.tokens.get() + 1));
        Value(on)
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        drop(Token(self.0, None));
    }
}

impl Clone for Value {
    fn clone(&self) -> Self {
        if self.0 & CLONE != 0 {
            misbehave();
        }
        Value::new(self.0)
    }
}

impl Payload for Value {
    fn size(&self) -> usize {
        if self.0 & SIZE != 0 {
            misbehave();
        }
        1
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        to.copy(&[self.0]);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let [on] = from.take()?;
        Ok(Value::new(on))
    }
}

/// Way to run a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As a future of the scheduler.
    Async,
    /// On a fiber that polls the future with a waker of another library. User code in the future
    /// may suspend the stack in the middle of any poll.
    Fiber,
    /// Like `Fiber`, but a hostile panic is caught, and the process ends.
    Catching,
}

pub(crate) type Process = Pin<Box<dyn Future<Output = ()>>>;

pub(crate) fn spawn(net: &mut Local, mode: Mode, process: impl Future<Output = ()> + 'static) {
    match mode {
        Mode::Async => net.spawn(process),
        Mode::Fiber => net.spawn(Fiber::new(move || drive(Box::pin(process)))),
        Mode::Catching => net.spawn(Fiber::new(move || {
            let driven = catch_unwind(AssertUnwindSafe(|| drive(Box::pin(process))));
            if let Err(payload) = driven
                && payload.downcast_ref() != Some(&"hostile")
            {
                std::panic::resume_unwind(payload);
            }
        })),
    };
}

/// Polls a future to its end on the stack of a fiber. Does not pass the future to `wait`.
pub(crate) fn drive(mut future: Process) {
    let context = &mut Context::from_waker(Waker::noop());
    for _ in 0..10_000 {
        if future.as_mut().poll(context).is_ready() {
            return;
        }
        wait(yield_now());
    }
    panic!("a process waits for ever");
}

/// Returns a full channel of hostile tokens.
pub(crate) fn full(net: &mut Local, tokens: u32) -> (Output<Token>, Input<Token>) {
    let (mut output, input) = net.channel(tokens);
    for _ in 0..tokens {
        assert!(output.try_write(Token::new(DROP)).is_ok());
    }
    (output, input)
}

pub(crate) fn set_other(other: impl Any) {
    scene(|scene| *scene.other.borrow_mut() = Some(Box::new(other)));
}

pub(crate) fn set_again(again: impl FnOnce() + 'static) {
    scene(|scene| *scene.again.borrow_mut() = Some(Box::new(again)));
}

/// Adds three ranks that run `rank`.
pub(crate) fn ranks<F: Future<Output = Result<(), mpi::Error>> + 'static>(
    net: &mut Local,
    mode: Mode,
    rank: impl Fn(Communicator) -> F + Copy + 'static,
) {
    for _ in 0..3 {
        spawn(net, mode, async move {
            rank(mpi::world().unwrap()).await.unwrap()
        });
    }
}
