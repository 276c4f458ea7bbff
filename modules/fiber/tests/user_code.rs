//! User code at each place where the runtime calls it. The code misbehaves: it waits on the stack
//! of a fiber, panics, calls the same API again, or drops the other end. Each run must end without
//! a deadlock, drop each token once, and leave no state on its thread.
//!
//! `USER-CODE.md` of the runtime lists the places. Not under Miri, which cannot switch stacks.

#![cfg(not(miri))]
#![forbid(unsafe_code)]

#[path = "user_code/hostile.rs"]
mod hostile;
#[path = "user_code/places.rs"]
mod places;

use graphmap_fiber::on_fiber;
use graphmap_runtime as rt;
use rt::{Local, Options};

use hostile::{Act, Mode, Token, ranks, scene};
use places::{PLACES, Place};

/// Checks that the thread has its initial state. A long chain of ports is dropped in a run and
/// outside of one, and ranks make a collective call.
fn is_as_before(what: &str) {
    assert_eq!(rt::uninterrupted_depth(), 0, "{what}");
    assert!(!on_fiber(), "{what}");
    let chain = |net: &mut Local| {
        let mut inner = None;
        for _ in 0..300 {
            let (mut output, input) = net.channel(1);
            let token = inner
                .take()
                .map_or(Token::new(0), |inner| Token::with(0, inner));
            assert!(output.try_write(token).is_ok());
            inner = Some(input);
        }
        inner
    };
    let mut net = Local::new();
    drop(chain(&mut net));
    assert_eq!(
        scene(|scene| scene.tokens.get()),
        0,
        "{what}: outside of a run"
    );
    let (inner, (output, input)) = (chain(&mut net), net.channel(1));
    net.spawn(async move {
        let mut output = output;
        assert!(output.try_write(inner).is_ok());
        output.stopped().await;
    });
    net.spawn(async move { drop(input) });
    let run = net.run(&Options::new());
    assert!(run.is_ok(), "{what}: {run:?}");
    assert_eq!(scene(|scene| scene.tokens.get()), 0, "{what}: in a run");
    let mut net = Local::new();
    ranks(&mut net, Mode::Fiber, |world| async move {
        assert_eq!(world.allreduce(1, |a, b| a + b).await?, 3);
        Ok(())
    });
    let run = net.run(&Options::new());
    assert!(run.is_ok(), "{what}: {run:?}");
}

fn attempt((name, place): Place, act: Act, mode: Mode) {
    let what = format!("{name}, {act:?}, {mode:?}");
    scene(|scene| {
        scene.calls.set(0);
        scene.tokens.set(0);
    });
    let mut net = Local::new();
    place(&mut net, mode);
    scene(|scene| scene.act.set(act));
    let result = net.run(&Options::new().profile(true));
    scene(|scene| scene.act.set(Act::Nothing));
    if let Err(error) = result {
        let message = error.to_string();
        let failed = matches!(error, rt::RunError::Failed(_));
        assert!(
            failed && (message.contains("hostile") || message.contains("(no message)")),
            "{what}: {message}"
        );
    }
    assert!(
        scene(|scene| scene.calls.get()) > 0,
        "{what}: no code of the user was called"
    );
    drop(scene(|scene| (scene.again.take(), scene.other.take())));
    assert_eq!(
        scene(|scene| scene.tokens.get()),
        0,
        "{what}: tokens are left"
    );
    is_as_before(&what);
}

fn attempt_all(act: Act) {
    for &place in PLACES {
        for mode in [Mode::Async, Mode::Fiber, Mode::Catching] {
            attempt(place, act, mode);
        }
    }
}

#[test]
fn user_code_that_does_nothing() {
    attempt_all(Act::Nothing);
}

#[test]
fn user_code_that_waits() {
    attempt_all(Act::Wait);
}

#[test]
fn user_code_that_panics() {
    attempt_all(Act::Panic);
}

#[test]
fn user_code_that_calls_again() {
    attempt_all(Act::Again);
}

#[test]
fn user_code_that_drops_the_other_end() {
    attempt_all(Act::Other);
}
