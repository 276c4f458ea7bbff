//! Measurements of graphmap-runtime between OS processes on one host.
//!
//! The process that measures prints: the writer if tokens go back and forth, the reader if they go
//! one way.

use std::hint::black_box;
use std::time::Instant;

use graphmap_runtime as rt;
use rt::{Channels, Input, Names, Network, Output, Reduce, Stopped};

struct Both<T> {
    input: Input<T>,
    output: Output<T>,
}

impl<T: 'static> rt::Ports for Both<T> {
    fn connect(ends: &mut rt::Ends<'_>) -> Self {
        Both {
            input: ends.input(),
            output: ends.output(),
        }
    }
}

/// A token with many numbers, of a user-defined type.
pub struct Row {
    step: u64,
    values: Vec<f64>,
}

rt::payload!(Row { step, values });

fn run(network: impl FnOnce() -> Network) {
    if rt::main(network) != std::process::ExitCode::SUCCESS {
        std::process::exit(1);
    }
}

/// Measures tokens back and forth, `count` times.
fn back<T: Send + 'static>(
    count: u64,
    format: Option<rt::Format<T>>,
    first: impl Fn() -> T + Copy + Send + Sync + 'static,
    touch: fn(&mut T),
) {
    run(|| {
        let mut net = Network::new("back", "back.dot");
        net.payload(format);
        let here = move |mut p: Both<T>| async move {
            let mut token = first();
            // Warm-up, for everything that is created on first use.
            for _ in 0..100 {
                p.output.write(token).await?;
                token = p.input.read().await.ok_or(Stopped)?;
            }
            let start = Instant::now();
            for _ in 0..count {
                touch(&mut token);
                p.output.write(token).await?;
                token = p.input.read().await.ok_or(Stopped)?;
            }
            black_box(&token);
            println!(
                "ns {}",
                start.elapsed().as_nanos() as f64 / (2 * count) as f64
            );
            Ok::<(), Stopped>(())
        };
        let there = |mut p: Both<T>| async move {
            while let Some(token) = p.input.read().await {
                p.output.write(token).await?;
            }
            Ok::<(), Stopped>(())
        };
        let ports = &["in", "out"];
        let a = net.kind("a", Names::Listed(&["a"]), "0", ports, here);
        let b = net.kind("b", Names::Listed(&["b"]), "1", ports, there);
        for (from, to) in [(a, b), (b, a)] {
            net.channels::<T>(Channels {
                capacity: 1,
                ..Channels::new((from, 1), (to, 0), "0", "0")
            });
        }
        net
    });
}

/// Measures two pairs of processes back and forth, `count` times. Each of the four processes has
/// its own OS process.
pub fn pairs(count: u64) {
    const ALL: &str = "0+1*4";
    run(|| {
        let mut net = Network::new("pairs", "pairs.dot");
        net.payload(rt::format_of!(u64));
        let pass = move |mut p: Both<u64>| async move {
            let me = rt::me().rank;
            if me % 2 == 1 {
                while let Some(token) = p.input.read().await {
                    p.output.write(token + 1).await?;
                }
                return Ok(());
            }
            let mut token = 0;
            // Warm-up, for everything that is created on first use.
            for _ in 0..100 {
                p.output.write(token).await?;
                token = p.input.read().await.ok_or(Stopped)?;
            }
            let start = Instant::now();
            for _ in 0..count {
                p.output.write(token).await?;
                token = p.input.read().await.ok_or(Stopped)?;
            }
            assert_eq!(token, 100 + count);
            if me == 0 {
                println!(
                    "ns {}",
                    start.elapsed().as_nanos() as f64 / (2 * count) as f64
                );
            }
            Ok::<(), Stopped>(())
        };
        let all = net.kind("p", Names::Numbered("p", ALL), ALL, &["in", "out"], pass);
        net.channels::<u64>(Channels {
            capacity: 1,
            ..Channels::new((all, 1), (all, 0), ALL, "1 0 3 2")
        });
        net
    });
}

pub fn words(count: u64) {
    back(count, rt::format_of!(u64), || 0, |n| *n += 1);
}

/// Measures vectors of `size` bytes back and forth.
pub fn bytes(size: u64, count: u64) {
    let first = move || vec![1u8; size as usize];
    back(count, rt::format_of!(Vec<u8>), first, |b| b[0] += 0);
}

pub fn rows(count: u64) {
    let first = || Row {
        step: 0,
        values: vec![1.0; 131_072],
    };
    let touch = |row: &mut Row| {
        row.step += 1;
        row.values[0] += 1.0;
    };
    back(count, rt::format_of!(Row), first, touch);
}

struct Many {
    inputs: Reduce<u64>,
}

impl rt::Ports for Many {
    fn connect(ends: &mut rt::Ends<'_>) -> Self {
        Many {
            inputs: ends.reduce(),
        }
    }
}

struct One {
    output: Output<u64>,
}

impl rt::Ports for One {
    fn connect(ends: &mut rt::Ends<'_>) -> Self {
        One {
            output: ends.output(),
        }
    }
}

/// Measures `count` tokens in all, in one direction over many channels. Each channel has its own
/// writer, and all have the same reader.
pub fn stream(channels: u32, capacity: u32, count: u64) {
    run(|| {
        let mut net = Network::new("stream", "stream.dot");
        net.payload(rt::format_of!(u64));
        let each = count / u64::from(channels);
        let write = move |mut p: One| async move {
            for n in 0..each {
                p.output.write(n).await?;
            }
            Ok::<(), Stopped>(())
        };
        let read = move |mut p: Many| async move {
            p.inputs.read(u64::wrapping_add).await;
            let start = Instant::now();
            let mut sum = 0u64;
            while let Some(all) = p.inputs.read(u64::wrapping_add).await {
                sum = sum.wrapping_add(all);
            }
            black_box(sum);
            let read = (each - 1) * u64::from(channels);
            println!("ns {}", start.elapsed().as_nanos() as f64 / read as f64);
        };
        let ranks = format!("0+1*{channels}");
        let w = net.kind("w", Names::Numbered("w", &ranks), &ranks, &["out"], write);
        let last = channels.to_string();
        let r = net.kind("r", Names::Listed(&["r"]), &last, &["in"], read);
        net.channels::<u64>(Channels {
            capacity,
            to_slot: &ranks,
            ..Channels::new((w, 0), (r, 0), &ranks, &format!("0+0*{channels}"))
        });
        net
    });
}
