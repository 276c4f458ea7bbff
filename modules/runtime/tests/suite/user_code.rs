//! User code that panics in a read, a write or the creation of a network, and whose panic is
//! caught. Nothing else may be lost.
//!
//! User code that waits, makes nested calls or drops the other end is tested in
//! `modules/fiber/tests/user_code.rs`.
#![forbid(unsafe_code)]

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Poll;

use crate::common::places::Place;
use crate::common::{BOTH, Both};
use graphmap_runtime as rt;
use rt::{Channels, Kind, Names, Network, Options, RunError, Select, Share, run};

/// Polls a future, and catches its panics. Returns `None` if it panicked.
async fn caught<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        polled.map_or(Poll::Ready(None), |polled| polled.map(Some))
    })
    .await
}

/// A payload that panics when its size is determined or when it is encoded, if `.0` is set.
struct Bad(bool);

impl rt::Payload for Bad {
    fn size(&self) -> usize {
        assert!(!self.0, "no size");
        1
    }

    fn encode<'a>(&'a self, to: &mut rt::Encoder<'a>) {
        assert!(!self.0, "no bytes");
        to.copy(&[0]);
    }

    fn decode(from: &mut rt::Decoder<'_>) -> Result<Self, rt::DecodeError> {
        let [_] = from.take()?;
        Ok(Bad(false))
    }
}

/// Returns a network of two processes that run `write` and `read`, joined by two channels.
fn two<W, R>(
    write: impl Fn(Both<Bad>) -> W + Send + Sync + 'static,
    read: impl Fn(Both<Bad>) -> R + Send + Sync + 'static,
) -> Network
where
    W: Future<Output = ()> + 'static,
    R: Future<Output = ()> + 'static,
{
    let mut net = Network::new("net", "net.dot");
    let w: Kind = net.kind("w", Names::Listed(&["w"]), "0", BOTH, write);
    let r: Kind = net.kind("r", Names::Listed(&["r"]), "1", BOTH, read);
    for slot in ["0", "1"] {
        net.channels::<Bad>(Channels {
            from_slot: slot,
            to_slot: slot,
            capacity: 3,
            ..Channels::new((w, 1), (r, 0), "0", "0")
        });
    }
    net.payload(rt::format_of!(Bad));
    net
}

/// Selects from a member with a token whose size cannot be determined. Only this token is lost.
#[test]
fn a_select_goes_on_after_a_token_that_panics() {
    let net = || {
        two(
            |mut p| async move {
                for member in 0..2 {
                    for n in 0..3 {
                        assert!(p.outs[member].write(Bad(n == 1)).await.is_ok());
                    }
                }
            },
            |p| async move {
                let mut select = Select::from(p.ins);
                let (mut read, mut lost) = (0, 0);
                loop {
                    match caught(select.read()).await {
                        Some(Some(_)) => read += 1,
                        Some(None) => break,
                        None => lost += 1,
                    }
                }
                assert_eq!((read, lost), (4, 2));
            },
        )
    };
    run(net(), &Options::new().profile(true)).unwrap();
    run(
        net(),
        &Options::new().profile(true).schedulers(2).threads(2),
    )
    .unwrap();
}

/// Writes a token that cannot be encoded to a share. Only this token is lost, and the selected
/// member gets other tokens.
#[test]
fn a_share_goes_on_after_a_token_that_panics() {
    let net = || {
        two(
            |p| async move {
                let mut share = Share::from(p.outs);
                let (mut lost, mut of) = (0, [0; 2]);
                for n in 0..6 {
                    match caught(share.write(Bad(n < 2))).await {
                        Some(member) => of[member.unwrap()] += 1,
                        None => lost += 1,
                    }
                }
                // The writer receives no credit before it waits, so it needs both channels of
                // capacity 3 for four tokens.
                assert_eq!((lost, of[0] + of[1]), (2, 4));
                assert!(of.iter().all(|&of| of > 0), "{of:?}");
            },
            |mut p| async move {
                for member in 0..2 {
                    while p.ins[member].read().await.is_some() {}
                }
            },
        )
    };
    Place::Late(2).run(1, &Options::new(), net).unwrap();
}

/// Panics while the initial tokens of a channel are created. The tokens that exist are dropped, and
/// the run fails with the panic.
#[test]
fn tokens_at_the_start_that_panic() {
    struct Held(Arc<AtomicU32>);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    for schedulers in [1, 2] {
        let alive = Arc::new(AtomicU32::new(0));
        let has_run = Arc::new(AtomicBool::new(false));
        let (of_net, runs) = (Arc::clone(&alive), Arc::clone(&has_run));
        let mut net = Network::new("net", "net.dot");
        let process = move |_: Both<Held>| {
            runs.store(true, Ordering::SeqCst);
            async {}
        };
        let kind = net.kind("k", Names::Listed(&["a", "b"]), "0 1", BOTH, process);
        let channels = Channels {
            capacity: 4,
            ..Channels::new((kind, 1), (kind, 0), "0", "1")
        };
        net.channels_filled::<Held>(channels, 4, move |_, token| {
            assert!(token < 2, "no token");
            of_net.fetch_add(1, Ordering::SeqCst);
            Held(Arc::clone(&of_net))
        });
        let error = run(
            net,
            &Options::new().schedulers(schedulers).threads(schedulers),
        );
        let error = error.unwrap_err();
        assert!(
            matches!(&error, RunError::Failed(failure) if failure.message.contains("no token")),
            "{error}"
        );
        assert_eq!(alive.load(Ordering::SeqCst), 0, "{schedulers} schedulers");
    }
}

/// Panics while a process is connected, or before its future exists. The run names the process, and
/// drops the tokens in its channels.
#[test]
fn processes_that_panic_before_their_first_poll() {
    struct Fragile(#[expect(dead_code, reason = "held")] Both<Arc<()>>);
    impl rt::Ports for Fragile {
        fn connect(ends: &mut rt::Ends<'_>) -> Self {
            let ports = Both::connect(ends);
            assert!(!CONNECTING_PANICS.load(Ordering::SeqCst), "no ports");
            Fragile(ports)
        }
    }
    static CONNECTING_PANICS: AtomicBool = AtomicBool::new(false);
    for schedulers in [1, 2] {
        for (connecting, message) in [(true, "no ports"), (false, "no future")] {
            CONNECTING_PANICS.store(connecting, Ordering::SeqCst);
            let token = Arc::new(());
            let of_net = Arc::clone(&token);
            let mut net = Network::new("net", "net.dot");
            let well = net.kind(
                "well",
                Names::Listed(&["a"]),
                "0",
                BOTH,
                |ports: Both<Arc<()>>| async {
                    drop(ports);
                },
            );
            let fragile = net.kind(
                "fragile",
                Names::Listed(&["b"]),
                "1",
                BOTH,
                move |ports: Fragile| {
                    assert!(connecting, "no future");
                    async { drop(ports) }
                },
            );
            let channels = Channels {
                capacity: 4,
                ..Channels::new((well, 1), (fragile, 0), "0", "0")
            };
            net.channels_filled::<Arc<()>>(channels, 4, move |_, _| Arc::clone(&of_net));
            let options = Options::new().schedulers(schedulers).threads(schedulers);
            let error = run(net, &options).unwrap_err();
            let RunError::Failed(failure) = &error else {
                panic!("{error}");
            };
            assert_eq!((&*failure.process, failure.rank), ("b", 1));
            assert_eq!(failure.message, format!("panicked: {message}"));
            assert_eq!(Arc::strong_count(&token), 1, "{schedulers} schedulers");
        }
    }
}
