//! Processes that fail, and descriptions with errors.

use std::cell::RefCell;
use std::error::Error;

use crate::common::{BOTH, Both, places};
use graphmap_runtime as rt;
use rt::{Channels, Exit, Names, Network, Options, RunError, Stopped, run};

/// Panics when it is dropped, unless that would abort the program.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("boom");
        }
    }
}

fn pair<F, O>(writer: F) -> Network
where
    F: Fn(Both<u32>) -> O + Send + Sync + 'static,
    O: Future + 'static,
    O::Output: rt::Outcome,
{
    let mut net = Network::new("pair", "pair.dot");
    let w = net.kind("w", Names::Listed(&["writer"]), "0", BOTH, writer);
    net.place(w, "3", "5");
    let r = net.kind(
        "r",
        Names::Listed(&["reader"]),
        "1",
        BOTH,
        |mut p: Both<u32>| async move { while p.ins[0].read().await.is_some() {} },
    );
    net.channels::<u32>(Channels::new((w, 1), (r, 0), "0", "0"));
    net
}

fn failure(outcome: Result<rt::Report, RunError>, message: &str) {
    let error = outcome.unwrap_err();
    assert_eq!(error.exit(), Exit::Failed);
    let expected = format!("process writer (rank 0, pair.dot:3:5) failed: {message}");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn an_error_ends_the_run_in_the_name_of_its_process() {
    places::each(
        || {
            pair(|mut p| async move {
                p.outs[0].write(1).await?;
                Err::<(), Box<dyn Error>>("no more paper".into())
            })
        },
        |outcome| failure(outcome, "no more paper"),
    );
    places::each(
        || pair(|_| async { Err("bad") }),
        |outcome| failure(outcome, "bad"),
    );
}

#[test]
fn a_row_of_another_length_reports_both_lengths() {
    places::each(
        || {
            pair(|p| async move {
                let mut scatter = rt::Scatter::from(p.outs);
                scatter.write(vec![1]).await?;
                scatter.write(vec![2, 3]).await
            })
        },
        |outcome| {
            failure(
                outcome,
                "panicked: scatter: 2 tokens for 1 members: expected one for each, see \
                 `.members()`",
            );
        },
    );
}

#[test]
fn a_panic_ends_the_run_in_the_name_of_its_process() {
    places::each(
        || {
            pair(|mut p| async move {
                p.outs[0].write(1).await.unwrap();
                if !p.outs.is_empty() {
                    panic!("number {}", 5);
                }
            })
        },
        |outcome| failure(outcome, "panicked: number 5"),
    );
}

#[test]
fn a_panic_in_a_destructor_is_one_too() {
    places::each(
        || {
            pair(|mut p| async move {
                let _bomb = Bomb;
                p.outs[0].write(1).await
            })
        },
        |outcome| failure(outcome, "panicked: boom"),
    );
    // In a process that is dropped because another one failed, the panic has no effect.
    let mut net = rt::Local::new();
    net.spawn(async {
        let _bomb = Bomb;
        std::future::pending::<()>().await;
    });
    net.spawn_named("b", async { Err::<(), _>("first") });
    assert!(
        net.run(&Options::new())
            .unwrap_err()
            .to_string()
            .contains("process b (rank 1) failed: first")
    );
}

/// Causes of an error are printed, but only a limited number of them.
#[test]
fn an_error_that_is_its_own_cause() {
    #[derive(Debug)]
    struct Round;
    impl std::fmt::Display for Round {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("round")
        }
    }
    impl std::error::Error for Round {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(self)
        }
    }
    let mut net = rt::Local::new();
    net.spawn(async { Err::<(), Round>(Round) });
    let error = net.run(&Options::new()).unwrap_err().to_string();
    assert!(error.contains("round: round: round"), "{error}");
    assert!(error.len() < 1000, "{error}");
}

#[test]
fn a_panic_before_the_first_await() {
    let spawn = |p: Both<u32>| {
        if p.ins.is_empty() && !p.outs.is_empty() {
            panic!("early");
        }
        async {}
    };
    places::each(
        || pair(spawn),
        |outcome| {
            let error = outcome.unwrap_err();
            assert!(
                error.to_string().ends_with("failed: panicked: early"),
                "{error}"
            );
        },
    );
}

#[test]
fn stopped_is_a_normal_end_in_any_dress() {
    places::each(
        || pair(|_| async { Err::<(), Stopped>(Stopped) }),
        |outcome| {
            outcome.unwrap();
        },
    );
    places::each(
        || pair(|_| async { Err::<(), Box<dyn Error>>(Box::new(Stopped)) }),
        |outcome| {
            outcome.unwrap();
        },
    );
}

#[test]
fn wiring_that_contradicts_itself() {
    type Make = fn(&mut Network);
    fn kind(net: &mut Network, names: Names<'_>, ranks: &str) {
        net.kind("k", names, ranks, &[], |_: ()| async {});
    }
    let cases: &[(Make, &str)] = &[
        (
            |net| kind(net, Names::Listed(&["k"]), "x"),
            "invalid sequence `x`: at byte 0",
        ),
        (|net| kind(net, Names::Listed(&["k"]), ""), "no ranks"),
        (
            |net| kind(net, Names::Listed(&["a", "b"]), "0"),
            "2 names for 1 ranks",
        ),
        (
            |net| kind(net, Names::Numbered("a", "0+1*2"), "0 0"),
            "rank 0 is used twice",
        ),
        (
            |net| kind(net, Names::Numbered("a", "0+1*2"), "0 7"),
            "rank 7 is too high",
        ),
        (
            |net| {
                with(
                    net,
                    Channels {
                        capacity: 0,
                        ..BASE
                    },
                )
            },
            "capacity",
        ),
        (
            |net| {
                with(
                    net,
                    Channels {
                        from_index: "0 1",
                        ..BASE
                    },
                )
            },
            "2 writers and 1 readers",
        ),
        (
            |net| {
                with(
                    net,
                    Channels {
                        to_index: "9",
                        ..BASE
                    },
                )
            },
            "kind k has no member 9",
        ),
        (
            |net| {
                with(
                    net,
                    Channels {
                        line: "1 2",
                        ..BASE
                    },
                )
            },
            "2 numbers in `line` for 1 channels",
        ),
        (
            |net| {
                with(
                    net,
                    Channels {
                        from_index: "0 0",
                        to_index: "1 1",
                        from_slot: "3 3",
                        ..BASE
                    },
                )
            },
            "two channels in slot 3",
        ),
    ];
    const BASE: Channels<'static> = Channels::new(KIND_OUT, KIND_IN, "0", "1");
    const KIND_OUT: (rt::Kind, usize) = (rt::Kind::FIRST, 1);
    const KIND_IN: (rt::Kind, usize) = (rt::Kind::FIRST, 0);
    fn with(net: &mut Network, channels: Channels<'_>) {
        net.kind(
            "k",
            Names::Numbered("k", "0+1*2"),
            "0+1*2",
            BOTH,
            |_: Both<u8>| async {},
        );
        net.channels::<u8>(channels);
    }
    for (make, expected) in cases {
        let mut net = Network::new("wrong", "wrong.dot");
        make(&mut net);
        let error = run(net, &Options::new()).unwrap_err();
        assert!(matches!(error, RunError::Wiring(_)), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn structs_that_do_not_fit_the_table() {
    struct One(#[allow(dead_code)] rt::Input<u8>);
    impl rt::Ports for One {
        fn connect(ends: &mut rt::Ends<'_>) -> Self {
            One(ends.input())
        }
    }
    struct Two(
        #[allow(dead_code)] rt::Input<u8>,
        #[allow(dead_code)] rt::Output<u16>,
    );
    impl rt::Ports for Two {
        fn connect(ends: &mut rt::Ends<'_>) -> Self {
            Two(ends.input(), ends.output())
        }
    }
    struct Three(
        #[allow(dead_code)] rt::Input<u8>,
        #[allow(dead_code)] rt::Share<u8>,
    );
    impl rt::Ports for Three {
        fn connect(ends: &mut rt::Ends<'_>) -> Self {
            Three(ends.input(), ends.share())
        }
    }
    fn check<P: rt::Ports>(count: usize, expected: &str) {
        let mut net = Network::new("wrong", "wrong.dot");
        let k = net.kind(
            "k",
            Names::Numbered("k", "0+1*2"),
            "0+1*2",
            BOTH,
            |_: P| async {},
        );
        let all = format!("0+0*{count}");
        net.channels::<u8>(Channels::new((k, 1), (k, 0), &all, &format!("1+0*{count}")));
        for schedulers in [1, 2] {
            let mut net = Network::new("wrong", "wrong.dot");
            let k = net.kind(
                "k",
                Names::Numbered("k", "0+1*2"),
                "0+1*2",
                BOTH,
                |_: P| async {},
            );
            net.channels::<u8>(Channels::new((k, 1), (k, 0), &all, &format!("1+0*{count}")));
            let error = run(net, &Options::new().os_processes(schedulers)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
    check::<One>(
        1,
        "kind k: the struct of its ports connects 1 ports, but the graph has 2",
    );
    check::<Two>(
        1,
        "port `out` is an output of u8 in the graph, but an output of u16 in the struct",
    );
    check::<Three>(2, "port `in` has 2 channels, but it is not a bundle");
}

/// Returns a network of two processes, one of which fails. It leaves its channels first, and then
/// takes long to drop the rest. Its neighbour, on another thread, returns the end of the channel as
/// an error of its own.
fn fails_slowly(reads: bool, fail: fn() -> Result<(), Box<dyn Error>>) -> Network {
    struct Slow;
    impl Drop for Slow {
        fn drop(&mut self) {
            let milliseconds = if cfg!(miri) { 1 } else { 20 };
            std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        }
    }
    let mut net = Network::new("pair", "pair.dot");
    let names = Names::Listed(&["first", "second"]);
    let process = move |p: Both<Vec<u8>>| async move {
        // The first variable is dropped last.
        let _slow = (rt::me().rank == 0).then_some(Slow);
        let mut p = p;
        for n in 0..9 {
            if rt::me().rank == 0 && n == 5 {
                return fail();
            }
            if (rt::me().rank == 0) == reads {
                p.ins[0].read().await.ok_or("it ended early")?;
            } else {
                p.outs[0]
                    .write(vec![n])
                    .await
                    .map_err(|_| "nobody reads it")?;
            }
        }
        Ok(())
    };
    let k = net.kind("k", names, "0 1", BOTH, process);
    let (from, to) = if reads { ("1", "0") } else { ("0", "1") };
    net.channels::<Vec<u8>>(Channels::new((k, 1), (k, 0), from, to));
    net
}

#[test]
fn the_first_failure_is_reported_and_not_its_consequence() {
    for reads in [false, true] {
        for (fail, message) in [
            (
                (|| Err("it is broken".into())) as fn() -> Result<(), Box<dyn Error>>,
                "it is broken",
            ),
            (|| panic!("it is broken"), "panicked: it is broken"),
        ] {
            places::each(
                || fails_slowly(reads, fail),
                |outcome| {
                    let error = outcome.unwrap_err().to_string();
                    let expected = format!("process first (rank 0) failed: {message}");
                    assert_eq!(error, expected, "reads: {reads}");
                },
            );
        }
    }
}

#[test]
fn a_panic_in_the_drop_of_an_unread_token_names_the_reader() {
    places::each(
        || {
            let mut net = Network::new("pair", "pair.dot");
            let names = Names::Listed(&["reader", "writer"]);
            let process = |mut p: Both<Option<Bomb>>| async move {
                if rt::me().rank == 1 {
                    for (channel, token) in [(0, Some(Bomb)), (1, None)] {
                        p.outs[channel].write(token).await.unwrap();
                    }
                } else {
                    p.ins[1].read().await;
                }
            };
            let k = net.kind("k", names, "0 1", BOTH, process);
            net.channels::<Option<Bomb>>(Channels::new((k, 1), (k, 0), "1 1", "0 0"));
            net
        },
        |outcome| {
            let error = outcome.unwrap_err().to_string();
            assert!(
                error.ends_with("failed: panicked: boom") && error.contains("process reader"),
                "{error}"
            );
        },
    );
}

#[test]
fn a_panic_in_the_drop_of_a_token_names_the_process_that_left_it() {
    enum Token {
        Plain,
        Holds,
        Bomb,
    }
    thread_local! {
        static HELD: RefCell<Option<rt::Input<Token>>> = const { RefCell::new(None) };
    }
    impl Drop for Token {
        fn drop(&mut self) {
            match self {
                Token::Plain => {}
                Token::Holds => drop(HELD.take()),
                Token::Bomb if std::thread::panicking() => {}
                Token::Bomb => panic!("boom"),
            }
        }
    }
    places::each(
        || {
            let mut net = Network::new("pair", "pair.dot");
            let names = Names::Listed(&["reader", "writer"]);
            let process = |mut p: Both<Token>| async move {
                if rt::me().rank == 1 {
                    for (channel, token) in [Token::Bomb, Token::Holds, Token::Plain]
                        .into_iter()
                        .enumerate()
                    {
                        p.outs[channel].write(token).await.unwrap();
                    }
                } else {
                    p.ins[2].read().await;
                    HELD.set(Some(p.ins.remove(0)));
                }
            };
            let k = net.kind("k", names, "0 1", BOTH, process);
            net.channels::<Token>(Channels::new((k, 1), (k, 0), "1 1 1", "0 0 0"));
            net
        },
        |outcome| {
            let error = outcome.unwrap_err().to_string();
            let expected = "process reader (rank 0) failed: panicked: boom";
            assert_eq!(error, expected);
        },
    );
}

#[test]
fn a_failure_before_the_first_poll_is_reported() {
    struct Slow;
    impl Drop for Slow {
        fn drop(&mut self) {
            let milliseconds = if cfg!(miri) { 1 } else { 20 };
            std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        }
    }
    places::each(
        || {
            let mut net = Network::new("pair", "pair.dot");
            let names = Names::Listed(&["reader"]);
            let reader = |p: Both<u32>| {
                // The first variable is dropped last.
                let _slow = Slow;
                let p = p;
                assert!(p.ins.is_empty(), "it is broken");
                async move { drop(p) }
            };
            let r = net.kind("r", names, "0", BOTH, reader);
            let names = Names::Listed(&["writer"]);
            let writer = |mut p: Both<u32>| async move {
                while p.outs[0].write(1).await.is_ok() {}
                Err::<(), _>("nobody reads it")
            };
            let w = net.kind("w", names, "1", BOTH, writer);
            net.channels::<u32>(Channels::new((w, 1), (r, 0), "0", "0"));
            net
        },
        |outcome| {
            let error = outcome.unwrap_err().to_string();
            let expected = "process reader (rank 0) failed: panicked: it is broken";
            assert_eq!(error, expected);
        },
    );
}
