//! Frames between OS processes, on a link that is part of the test: their number, and the errors of
//! truncated frames.
#![forbid(unsafe_code)]
#![cfg(not(miri))]

use crate::common::places::Place;
use crate::common::simulated::run_forged;
use crate::common::{BOTH, Both, seeds};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Options, Stopped};

const ROUNDS: u64 = 100;

/// Returns a network of two processes that send each other a number in round.
fn back_and_forth() -> Network {
    let mut net = Network::new("back", "back.dot");
    net.payload(rt::format_of!(u64));
    let first = |mut p: Both<u64>| async move {
        for round in 0..ROUNDS {
            p.outs[0].write(round).await?;
            assert_eq!(p.ins[0].read().await, Some(round + 1));
        }
        Ok::<(), Stopped>(())
    };
    let second = |mut p: Both<u64>| async move {
        while let Some(number) = p.ins[0].read().await {
            p.outs[0].write(number + 1).await?;
        }
        Ok::<(), Stopped>(())
    };
    let a = net.kind("a", Names::Listed(&["a"]), "0", BOTH, first);
    let b = net.kind("b", Names::Listed(&["b"]), "1", BOTH, second);
    for (from, to) in [(a, b), (b, a)] {
        net.channels::<u64>(Channels {
            capacity: 1,
            ..Channels::new((from, 1), (to, 0), "0", "0")
        });
    }
    net
}

/// The token of an answer and the credit for the question are sent in one frame.
#[test]
fn an_answer_is_one_frame() {
    let report = Place::Late(2)
        .run(1, &Options::new(), back_and_forth)
        .unwrap();
    for scheduler in &report.schedulers {
        let frames = scheduler.frames.unwrap();
        // The number of other frames, such as those about ends, does not depend on the tokens.
        assert!((ROUNDS..ROUNDS + 20).contains(&frames), "{frames}");
    }
}

/// Truncated frames of tokens, with credit and without it, lead to an error, and no process hangs.
#[test]
fn tokens_that_are_cut_short_end_the_run() {
    let (mut whole, mut cut) = (0, 0);
    for seed in seeds(120, 0) {
        let forged = run_forged(
            back_and_forth,
            &Options::new(),
            2,
            seed,
            |random, header, bytes| {
                if matches!(header.kind, 1 | 11) && random.below(100) == 0 {
                    bytes.truncate(random.below(bytes.len() as u64) as usize);
                }
            },
        );
        match forged {
            Ok(_) => whole += 1,
            Err(error) => {
                let error = error.to_string();
                assert!(
                    error.contains("cannot be decoded")
                        || error.contains("ends before its piggybacked credit"),
                    "{error}"
                );
                cut += 1;
            }
        }
    }
    assert!(seeds(120, 0).count() < 120 || (whole > 0 && cut > 40));
}
