//! Networks by name, for programs that run in several OS processes.
#![allow(clippy::print_stdout)]

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use super::communicator_cases::communicators;
use super::endpoint_cases::endpoints;
use super::thread_cases::{ended, polling_for_answers, start, threads_and_tasks};
use super::window_cases::{accesses, pieces, shared};
use super::{
    BOTH, Both, accounted, exposed, flows, known_cases, large, program, rank_cases, ranks,
    together, waited_for,
};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Stopped};

/// Returns the network of a case. Most cases have a number as their parameter.
pub fn network(name: &str, number: u64) -> Network {
    match name {
        "random" => {
            let program = Arc::new(program::program(number));
            accounted::network(&program, |(rank, state)| {
                println!("end {rank} {state:016x}")
            })
        }
        "flows" => flows::network(number, |total| println!("end {total}")),
        "messages" => ranks::network(7, move |world| rank_cases::messages(world, number, 100)),
        "collectives" => {
            ranks::network(7, move |world| rank_cases::collectives(world, number, 100))
        }
        "persistent" => ranks::network(5, move |world| rank_cases::persistent(world, number)),
        "communicators" => ranks::network(7, move |world| communicators(world, number, 40)),
        "known" => known_cases::network(number, 40),
        "endpoints" => ranks::network(5, move |world| endpoints(world, number, 20)),
        "threads" => ranks::network(5, move |world| threads_and_tasks(world, number, 10)),
        "polling" => ranks::network(2, |world| polling_for_answers(world, 500)),
        "threads in a cycle" => ranks::network(3, |world| async move {
            let threads = start(world.endpoints(1).await?, |rank| {
                let next = (rank.rank() + 1) % rank.size();
                rank.recv::<u8>(next, 5).map(drop)
            })?;
            ended(threads).await.map(drop)
        }),
        "a thread that panics" => ranks::network(3, |world| async move {
            let rank = world.endpoints(1).await?.remove(0);
            if rank.rank() == 2 {
                let thread = rank.on_thread(|_| panic!("in the middle of its work"))?;
                return thread.await;
            }
            rank.barrier().await
        }),
        "pieces" => ranks::network(5, move |world| pieces(world, number, 20)),
        "shared memory" => ranks::network(6, move |world| shared(world, number)),
        "accesses" => ranks::network(5, move |world| accesses(world, number, 20, 12)),
        "ranks in a cycle" => ranks::network(3, |world| async move {
            let next = (world.rank() + 1) % 3;
            world.recv::<u8>(next, 5).await.map(drop)
        }),
        "ranks that do not go together" => ranks::network(4, |world| async move {
            match world.rank() {
                3 => world.allreduce(1u8, |a, b| a + b).await.map(drop),
                _ => world.barrier().await,
            }
        }),
        "a rank that panics" => ranks::network(4, |world| async move {
            if world.rank() == 3 {
                world.recv::<u8>(0, 0).await?;
                panic!("in the middle of a collective call");
            }
            if world.rank() == 0 {
                world.send(1u8, 3, 0).await?;
            }
            world.barrier().await
        }),
        "artificial" => ring(number, 8, 8),
        "deadlock" => ring(number, 0, 1),
        "sleepers" => sleepers(number),
        "never asleep" => never_asleep(),
        "error" => pair(|_| async { Err("it is broken".into()) }, idle),
        "panic" => pair(idle, |_| async { panic!("no more") }),
        "fails before its reader" => fails_before_its_reader(number == 1),
        "fails beside another" => fails_beside_another(number & 1 > 0, number & 2 > 0),
        "abort" => pair(idle, |_| async { std::process::abort() }),
        "exit" => pair(idle, |_| async { std::process::exit(0) }),
        "exit first" => pair(|_| async { std::process::exit(0) }, idle),
        // The process in OS process 0 never yields, and it may hold a lock that is needed to print
        // the error. OS process 1 aborts.
        "busy" => pair(|_| async { compute() }, |_| async { std::process::abort() }),
        "busy with errors" => pair(
            |_| async {
                // The lock is held, but nothing is written to the stream.
                let _lock = (std::io::stderr)().lock();
                compute()
            },
            |_| async { std::process::abort() },
        ),
        "busy with output" => pair(
            |_| async {
                let _lock = std::io::stdout().lock();
                compute()
            },
            |_| async { std::process::abort() },
        ),
        "long panic" => pair(idle, move |_| async move {
            panic!("{}", "x".repeat(number as usize))
        }),
        "garbled" | "unreadable" => unreadable(name == "garbled"),
        "stop" => pair(source, |mut p| async move {
            for n in 0..5 {
                assert_eq!(p.ins[0].read().await, Some(vec![n]));
            }
            println!("read five");
            Ok(())
        }),
        "lines" => pair(
            move |_| async move {
                print_lines(number);
                Ok(())
            },
            move |_| async move {
                print_lines(number);
                Ok(())
            },
        ),
        "before" => waited_for::before(),
        "around" => waited_for::around(),
        "full rings" => waited_for::full_rings(),
        "runs in decoders" => ranks::network(6, rank_cases::runs_in_decoders),
        "held up" => waited_for::held_up(),
        "large" => pair(large, |mut p| async move {
            let mut bytes = 0;
            while let Some(token) = p.ins[0].read().await {
                assert!(token.iter().all(|&byte| byte == token.len() as u8));
                bytes += token.len();
            }
            println!("read {bytes} bytes");
            Ok(())
        }),
        "thread" => pair(
            |mut p| async move {
                sleep(Duration::from_millis(100)).await;
                p.outs[0].write(vec![1]).await?;
                Ok(())
            },
            |mut p| async move {
                println!("read {:?}", p.ins[0].read().await);
                Ok(())
            },
        ),
        "forever" => pair(
            |_| async {
                println!("pid {}", std::process::id());
                let () = std::future::pending().await;
                Ok(())
            },
            |_| async {
                println!("pid {}", std::process::id());
                sleep(Duration::from_secs(100)).await;
                Ok(())
            },
        ),
        "where" => {
            let mut net = Network::new("where", "where.dot");
            let all = "0+1*12";
            net.kind("p", Names::Numbered("p", all), all, &[], |()| async {
                let me = rt::me();
                let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
                let host = host.unwrap_or_default();
                println!(
                    "rank {} is in {} of {}: {} on {}",
                    me.rank,
                    me.os_process,
                    me.os_processes,
                    std::process::id(),
                    host.trim()
                );
                let found = rt::os_processes().into_iter();
                let found: Vec<_> = found.map(|one| one.host.expect("a name")).collect();
                assert_eq!(found[me.os_process], host.trim());
                println!("rank {} knows {}", me.rank, found.join(" "));
            });
            net
        }
        // One process in each of three OS processes.
        "where_forever" => {
            let mut net = Network::new("forever", "forever.dot");
            net.kind(
                "p",
                Names::Numbered("p", "0+1*3"),
                "0+1*3",
                &[],
                |()| async {
                    println!("pid {}", std::process::id());
                    sleep(Duration::from_secs(100)).await;
                },
            );
            net
        }
        "long" => {
            let mut net = Network::new("long", "long.dot");
            let computing = |()| async {
                let start = Instant::now();
                while start.elapsed() < Duration::from_secs(5) {
                    std::hint::spin_loop();
                }
                println!("computed");
            };
            net.kind("p", Names::Numbered("p", "0+1*3"), "0+1*3", &[], computing);
            net
        }
        "together" => together::network(),
        "exposed" => exposed::network(),
        "unread" => exposed::unread(),
        "fragile" => exposed::fragile(),
        "bundles" => bundles(),
        "opaque" => opaque(),
        "inconstant"
        | "ends"
        | "ends in a nested run"
        | "dropped"
        | "late"
        | "cut"
        | "of all shapes" => large::network(name, number),
        "differs" => {
            let mut net = pair(idle, idle);
            net.place(rt::Kind::FIRST, "1", "1");
            net.kind(
                &format!("k{}", std::process::id()),
                Names::Listed(&["x"]),
                "2",
                &[],
                |()| async {},
            );
            net
        }
        other => panic!("no case {other}"),
    }
}

/// Prints lines of many lengths. Each line contains its length and ends with a full stop.
fn print_lines(count: u64) {
    for number in 0..count {
        let len = (number * 37 % 400) as usize;
        println!("line {number} {len} {}.", "x".repeat(len));
    }
}

/// Returns a network in which the process in OS process 1 fails in the middle of its work. The ends
/// of its channels would make the process in OS process 0 fail, too.
fn fails_before_its_reader(panics: bool) -> Network {
    let mut net = Network::new("pair", "pair.dot");
    let process = move |mut p: Ports| async move {
        for n in 0..100u8 {
            if rt::me().rank == 1 && n == 50 {
                assert!(!panics, "it is broken");
                return Err("it is broken".into());
            }
            p.outs[0].write(vec![n]).await?;
            p.ins[0].read().await.expect("what comes before the end");
        }
        Outcome::Ok(())
    };
    let both = net.kind("p", Names::Numbered("p", "0+1*2"), "0+1*2", BOTH, process);
    net.payload(rt::format_of!(Vec<u8>));
    for (from, to) in [("0", "1"), ("1", "0")] {
        net.channels::<Vec<u8>>(Channels {
            capacity: 2,
            ..Channels::new((both, 1), (both, 0), from, to)
        });
    }
    net
}

/// Returns a network in which rank 0 drops its ports and then fails. Rank 1 in the same OS process
/// continues to write. The process at the other end, which never sleeps, reports the end of the
/// channel as an error of its own.
fn fails_beside_another(reads: bool, panics: bool) -> Network {
    static FAILS: AtomicBool = AtomicBool::new(false);
    let mut net = Network::new("two pairs", "pairs.dot");
    let process = move |mut p: Ports| async move {
        for _ in 0..50 {
            rt::yield_now().await;
        }
        if rt::me().rank == 0 {
            FAILS.store(true, Ordering::SeqCst);
            drop(p);
            assert!(!panics, "it is broken");
            return Outcome::Err("it is broken".into());
        }
        loop {
            for output in &mut p.outs {
                let written = output.try_write(vec![0]);
                if matches!(written, Err(rt::TryWriteError::Stopped(_))) {
                    return Err("nobody reads it".into());
                }
            }
            for input in &mut p.ins {
                if input.try_read() == Ok(None) {
                    return Err("it ended early".into());
                }
            }
            if rt::me().rank == 1 && FAILS.swap(false, Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(20));
            }
            rt::yield_now().await;
        }
    };
    let all = net.kind("p", Names::Numbered("p", "0+1*4"), "0+1*4", BOTH, process);
    net.payload(rt::format_of!(Vec<u8>));
    let (from, to) = if reads {
        ("2 1", "0 3")
    } else {
        ("0 1", "2 3")
    };
    net.channels::<Vec<u8>>(Channels {
        capacity: 1000,
        ..Channels::new((all, 1), (all, 0), from, to)
    });
    net
}

/// Keeps its scheduler busy. It sleeps in a loop, because computing would slow down other tests.
fn compute() -> ! {
    loop {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Returns a network whose tokens can be encoded, but not decoded.
fn unreadable(garbled: bool) -> Network {
    struct Token(bool);
    impl rt::Payload for Token {
        fn size(&self) -> usize {
            1
        }

        fn encode<'a>(&'a self, to: &mut rt::Encoder<'a>) {
            to.copy(&[self.0.into()]);
        }

        fn decode(from: &mut rt::Decoder<'_>) -> Result<Self, rt::DecodeError> {
            match from.take()? {
                [0] => panic!("not again"),
                [_] => Err(from.error("a better token")),
            }
        }
    }
    let mut net = Network::new("unreadable", "unreadable.dot");
    let from = net.kind(
        "a",
        Names::Listed(&["a"]),
        "0",
        BOTH,
        move |mut p: Both<Token>| async move {
            p.outs[0].write(Token(garbled)).await?;
            Ok::<(), Stopped>(())
        },
    );
    let to = net.kind(
        "b",
        Names::Listed(&["b"]),
        "1",
        BOTH,
        |mut p: Both<Token>| async move { while p.ins[0].read().await.is_some() {} },
    );
    net.place(to, "2", "1");
    net.payload(rt::format_of!(Token));
    net.channels::<Token>(Channels {
        line: "3",
        column: "5",
        ..Channels::new((from, 1), (to, 0), "0", "0")
    });
    net
}

pub(super) type Outcome = Result<(), Box<dyn std::error::Error>>;
pub(super) type Ports = Both<Vec<u8>>;

async fn idle(mut p: Ports) -> Outcome {
    for input in &mut p.ins {
        while input.read().await.is_some() {}
    }
    Ok(())
}

async fn source(mut p: Ports) -> Outcome {
    for n in 0.. {
        if p.outs[0].write(vec![n]).await.is_err() {
            println!("stopped");
            return Ok(());
        }
    }
    Ok(())
}

async fn large(mut p: Ports) -> Outcome {
    for size in [0, 1, 65_519, 65_520, 65_521, 300_000, 3_000_000, 7] {
        p.outs[0].write(vec![size as u8; size]).await?;
    }
    Ok(())
}

/// Returns a network of a writer in OS process 0, a reader in OS process 1, and a channel of
/// capacity 2.
pub(super) fn pair<A, B>(
    a: impl Fn(Ports) -> A + Send + Sync + 'static,
    b: impl Fn(Ports) -> B + Send + Sync + 'static,
) -> Network
where
    A: Future<Output = Outcome> + 'static,
    B: Future<Output = Outcome> + 'static,
{
    let mut net = Network::new("pair", "pair.dot");
    let a = net.kind("writer", Names::Listed(&["alice"]), "0", BOTH, a);
    let b = net.kind("reader", Names::Listed(&["bob"]), "1", BOTH, b);
    net.place(b, "4", "2");
    net.payload(rt::format_of!(Vec<u8>));
    net.channels::<Vec<u8>>(Channels {
        capacity: 2,
        line: "7",
        column: "3",
        ..Channels::new((a, 1), (b, 0), "0", "0")
    });
    net
}

/// Returns a ring of processes. Each writes `writes` tokens to the next one, and then reads `reads`
/// tokens.
fn ring(members: u64, writes: u64, reads: u64) -> Network {
    let mut net = Network::new("ring", "ring.dot");
    let all = format!("0+1*{members}");
    let member = move |mut p: Both<u64>| async move {
        for n in 0..writes {
            p.outs[0].write(n).await?;
        }
        for _ in 0..reads {
            p.ins[0].read().await;
        }
        Ok::<(), Stopped>(())
    };
    let kind = net.kind("member", Names::Numbered("m", &all), &all, BOTH, member);
    net.payload(rt::format_of!(u64));
    let next = format!("1+1*{} 0", members - 1);
    net.channels::<u64>(Channels::new((kind, 1), (kind, 0), &all, &next));
    net
}

/// Returns a ring of three processes in which one token circulates until each process has passed it
/// on `rounds` times. A process sleeps before it passes the token on, while the others wait. Then
/// the first process sleeps and waits for a token that is never sent, as the others do.
fn sleepers(rounds: u64) -> Network {
    let mut net = Network::new("sleepers", "sleepers.dot");
    let all = "0+1*3";
    let member = move |mut p: Both<u64>| async move {
        let first = rt::me().rank == 0;
        for round in 0..rounds {
            if !first || round > 0 {
                p.ins[0].read().await;
            }
            rt::select! {
                token = p.ins[0] => panic!("{token}"),
                () = rt::sleep(Duration::from_millis(15)) => {},
                else => panic!("the ring is open"),
            }
            p.outs[0].write(round).await?;
        }
        println!("rank {} has passed on {rounds}", rt::me().rank);
        if first {
            p.ins[0].read().await;
            rt::sleep(Duration::from_millis(15)).await;
        }
        p.ins[0].read().await;
        Ok::<(), Stopped>(())
    };
    let kind = net.kind("member", Names::Numbered("m", all), all, BOTH, member);
    net.payload(rt::format_of!(u64));
    net.channels::<u64>(Channels::new((kind, 1), (kind, 0), all, "1+1*2 0"));
    net
}

/// Returns a network whose reader reads three tokens from a channel of capacity 8, and then waits
/// at a second channel. The writer needs the room of these three tokens before it writes to the
/// second channel. A third process is busy until the reader has read all tokens.
fn never_asleep() -> Network {
    static DONE: AtomicBool = AtomicBool::new(false);
    let mut net = Network::new("never asleep", "never.dot");
    let writer = |mut p: Both<u64>| async move {
        for n in 0..11 {
            p.outs[0].write(n).await?;
        }
        p.outs[1].write(11).await?;
        Ok::<(), Stopped>(())
    };
    let reader = |mut p: Both<u64>| async move {
        for n in 0..3 {
            assert_eq!(p.ins[0].read().await, Some(n));
        }
        assert_eq!(p.ins[1].read().await, Some(11));
        while p.ins[0].read().await.is_some() {}
        println!("read all");
        DONE.store(true, Ordering::Relaxed);
    };
    let busy = |_: Both<u64>| async {
        while !DONE.load(Ordering::Relaxed) {
            rt::yield_now().await;
        }
    };
    let w = net.kind("writer", Names::Listed(&["w"]), "0", BOTH, writer);
    let r = net.kind("reader", Names::Listed(&["r"]), "1", BOTH, reader);
    net.kind("busy", Names::Listed(&["b"]), "2", BOTH, busy);
    net.payload(rt::format_of!(u64));
    for _ in 0..2 {
        net.channels::<u64>(Channels {
            capacity: 8,
            ..Channels::new((w, 1), (r, 0), "0", "0")
        });
    }
    net
}

/// Returns a network of a source that shares tokens among workers, and a sink that selects their
/// results. Each process has an OS process of its own.
fn bundles() -> Network {
    let mut net = Network::new("bundles", "bundles.dot");
    let source = net.kind(
        "source",
        Names::Listed(&["s"]),
        "0",
        BOTH,
        |p: Both<u64>| async move {
            let mut share = rt::Share::from(p.outs);
            for n in 1..=1000 {
                share.write(n).await?;
            }
            Ok::<(), Stopped>(())
        },
    );
    let worker = |mut p: Both<u64>| async move {
        while let Some(n) = p.ins[0].read().await {
            p.outs[0].write(2 * n).await?;
        }
        Ok::<(), Stopped>(())
    };
    let workers = net.kind(
        "worker",
        Names::Numbered("w", "1+1*4"),
        "1+1*4",
        BOTH,
        worker,
    );
    let sink = net.kind(
        "sink",
        Names::Listed(&["t"]),
        "5",
        BOTH,
        |p: Both<u64>| async move {
            let mut select = rt::Select::from(p.ins);
            let mut sum = 0;
            while let Some((_, n)) = select.read().await {
                sum += n;
            }
            println!("sum {sum}");
        },
    );
    net.payload(rt::format_of!(u64));
    net.channels::<u64>(Channels::new((source, 1), (workers, 0), "0+0*4", "0+1*4"));
    net.channels::<u64>(Channels::new((workers, 1), (sink, 0), "0+1*4", "0+0*4"));
    net
}

struct Opaque;

fn opaque() -> Network {
    let mut net = Network::new("opaque", "opaque.dot");
    let write = |mut p: Both<Opaque>| async move { p.outs[0].write(Opaque).await };
    let read = |mut p: Both<Opaque>| async move {
        assert!(p.ins[0].read().await.is_some());
    };
    let a = net.kind("a", Names::Listed(&["a"]), "0", BOTH, write);
    let b = net.kind("b", Names::Listed(&["b"]), "1", BOTH, read);
    net.payload(rt::format_of!(Opaque));
    let class = Channels::new((a, 1), (b, 0), "0", "0");
    net.channels::<Opaque>(Channels {
        line: "3",
        column: "5",
        ..class
    });
    net
}

/// Waits for a time. Another thread wakes the process, as timers of other libraries do.
async fn sleep(time: Duration) {
    let end = Instant::now() + time;
    let mut started = false;
    poll_fn(move |context| {
        if Instant::now() >= end {
            return Poll::Ready(());
        }
        if !std::mem::replace(&mut started, true) {
            let waker = context.waker().clone();
            thread::spawn(move || {
                thread::sleep(end.saturating_duration_since(Instant::now()));
                waker.wake();
            });
        }
        Poll::Pending
    })
    .await;
}
