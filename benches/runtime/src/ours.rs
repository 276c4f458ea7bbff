//! Measurements of graphmap-runtime.

use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use graphmap_runtime as rt;
use rt::{Channels, Input, Local, Names, Network, Options, Output, Stopped};

use bench_common::resident;

type Page = Box<[u8; 8192]>;

pub fn stream(capacity: u32, count: u64) -> String {
    let mut net = Local::new();
    let (mut tx, mut rx) = net.channel::<u64>(capacity);
    net.spawn(async move {
        for n in 0..count {
            tx.write(n).await?;
        }
        Ok::<(), Stopped>(())
    });
    net.spawn(async move {
        let mut sum = 0u64;
        while let Some(n) = rx.read().await {
            sum = sum.wrapping_add(n);
        }
        black_box(sum);
    });
    let start = Instant::now();
    net.run(&Options::new()).unwrap();
    format!("ns {}", start.elapsed().as_nanos() as f64 / count as f64)
}

fn back_and_forth<T: 'static>(count: u64, token: T, touch: fn(&mut T)) -> String {
    let mut net = Local::new();
    let (mut a_tx, mut a_rx) = net.channel::<T>(1);
    let (mut b_tx, mut b_rx) = net.channel::<T>(1);
    net.spawn(async move {
        let mut token = token;
        for _ in 0..count {
            touch(&mut token);
            a_tx.write(token).await?;
            token = b_rx.read().await.ok_or(Stopped)?;
        }
        Ok::<(), Stopped>(())
    });
    net.spawn(async move {
        while let Some(mut token) = a_rx.read().await {
            touch(&mut token);
            b_tx.write(token).await?;
        }
        Ok::<(), Stopped>(())
    });
    let start = Instant::now();
    net.run(&Options::new()).unwrap();
    format!(
        "ns {}",
        start.elapsed().as_nanos() as f64 / (2 * count) as f64
    )
}

pub fn pingpong(count: u64) -> String {
    back_and_forth(count, 0u64, |n| *n += 1)
}

/// Measures the same work as [`pages`], a change of one byte in memory, but with tokens of eight
/// bytes.
pub fn boxed(count: u64) -> String {
    back_and_forth(count, Box::new([0u8; 8]), |word| {
        word[0] = word[0].wrapping_add(1)
    })
}

pub fn pages(count: u64) -> String {
    let page: Page = Box::new([0; 8192]);
    back_and_forth(count, page, |page| page[0] = page[0].wrapping_add(1))
}

struct Both {
    input: Input<u64>,
    output: Output<u64>,
}

impl rt::Ports for Both {
    fn connect(ends: &mut rt::Ends<'_>) -> Self {
        Both {
            input: ends.input(),
            output: ends.output(),
        }
    }
}

const PORTS: &[&str] = &["in", "out"];

async fn naturals(mut p: Both) -> Result<(), Stopped> {
    for n in 2.. {
        p.output.write(n).await?;
    }
    Ok(())
}

/// Time at which the last prime was found. The orderly stop after it, from filter to filter and up
/// to the source, is not part of the sieve: Go's program just exits.
static FOUND: Mutex<Option<Instant>> = Mutex::new(None);

async fn filter(mut p: Both) -> Result<(), Stopped> {
    let prime = p.input.read().await.ok_or(Stopped)?;
    if !p.output.is_connected() {
        black_box(prime);
        *FOUND.lock().unwrap() = Some(Instant::now());
        return Ok(());
    }
    while let Some(n) = p.input.read_for(&mut p.output).await {
        if n % prime != 0 {
            p.output.write(n).await?;
        }
    }
    Ok(())
}

/// Measures the prime sieve. A `split` of at most five is the number of schedulers, which have
/// equally many processes. A larger `split` is the number of processes on the first of two
/// schedulers.
pub fn sieve(capacity: u32, primes: u32, split: Option<u32>) -> String {
    let mut net = Network::new("sieve", "sieve.dot");
    let source = net.kind("source", Names::Listed(&["source"]), "0", PORTS, naturals);
    let ranks = format!("1+1*{primes}");
    let filters = net.kind(
        "filter",
        Names::Numbered("filter", &ranks),
        &ranks,
        PORTS,
        filter,
    );
    let first = Channels::new((source, 1), (filters, 0), "0", "0");
    net.channels::<u64>(Channels { capacity, ..first });
    let (from, to) = (format!("0+1*{}", primes - 1), format!("1+1*{}", primes - 1));
    let rest = Channels::new((filters, 1), (filters, 0), &from, &to);
    net.channels::<u64>(Channels { capacity, ..rest });
    let mut options = Options::new();
    if let Some(schedulers) = split.filter(|&split| split <= 5) {
        options = options.os_processes(schedulers as usize);
    } else if let Some(split) = split {
        let mapping = format!("0+0*{split} 1+0*{}", primes + 1 - split);
        options = options.os_processes(2).mapping(mapping.parse().unwrap());
    }
    let start = Instant::now();
    rt::run(net, &options).unwrap();
    let found = FOUND.lock().unwrap().take().unwrap();
    let (time, whole) = ((found - start).as_secs_f64(), start.elapsed().as_secs_f64());
    format!("s {time} whole {whole}")
}

pub fn ring(processes: u32, rounds: u32) -> String {
    let before = resident();
    let mut net = Network::new("ring", "ring.dot");
    let begin = Arc::new(Mutex::new(None));
    // The first process keeps the token until all others wait.
    let head = {
        let begin = Arc::clone(&begin);
        move |mut p: Both| {
            let begin = Arc::clone(&begin);
            async move {
                rt::yield_now().await;
                *begin.lock().unwrap() = Some((resident(), Instant::now()));
                let mut n = 1;
                for _ in 0..rounds {
                    p.output.write(n).await?;
                    n = p.input.read().await.ok_or(Stopped)? + 1;
                }
                Ok::<(), Stopped>(())
            }
        }
    };
    let heads = net.kind("head", Names::Listed(&["head"]), "0", PORTS, head);
    let rest = processes - 1;
    let ranks = format!("1+1*{rest}");
    let members = net.kind("p", Names::Numbered("p", &ranks), &ranks, PORTS, pass);
    let one = |from, to, a: &str, b: &str, net: &mut Network| {
        net.channels::<u64>(Channels::new((from, 1), (to, 0), a, b));
    };
    one(heads, members, "0", "0", &mut net);
    let (from, to) = (format!("0+1*{}", rest - 1), format!("1+1*{}", rest - 1));
    one(members, members, &from, &to, &mut net);
    one(members, heads, &(rest - 1).to_string(), "0", &mut net);
    rt::run(net, &Options::new()).unwrap();
    let (after, start) = begin.lock().unwrap().take().unwrap();
    let hops = f64::from(processes) * f64::from(rounds);
    let ns = start.elapsed().as_nanos() as f64 / hops;
    format!("bytes {} ns {ns}", (after - before) / f64::from(processes))
}

async fn pass(mut p: Both) -> Result<(), Stopped> {
    while let Some(n) = p.input.read().await {
        p.output.write(n + 1).await?;
    }
    Ok(())
}

pub fn many(processes: u32) -> String {
    // A pipeline: every process starts, reads the end of the stream, and finishes.
    let mut net = Network::new("many", "many.dot");
    let all = format!("0+1*{processes}");
    let kind = net.kind("p", Names::Numbered("p", &all), &all, PORTS, pass);
    let (from, to) = (
        format!("0+1*{}", processes - 1),
        format!("1+1*{}", processes - 1),
    );
    net.channels::<u64>(Channels::new((kind, 1), (kind, 0), &from, &to));
    let start = Instant::now();
    rt::run(net, &Options::new()).unwrap();
    format!("s {}", start.elapsed().as_secs_f64())
}

/// Measures one channel between two schedulers, or one in each direction.
pub fn apart(capacity: u32, count: u64, back: bool) -> String {
    let mut net = Network::new("apart", "apart.dot");
    let write = move |mut p: Both| async move {
        for n in 0..count {
            p.output.write(n).await?;
            if back {
                p.input.read().await.ok_or(Stopped)?;
            }
        }
        Ok::<(), Stopped>(())
    };
    let read = move |mut p: Both| async move {
        let mut sum = 0u64;
        while let Some(n) = p.input.read().await {
            sum = sum.wrapping_add(n);
            if back {
                p.output.write(n).await?;
            }
        }
        black_box(sum);
        Ok::<(), Stopped>(())
    };
    let w = net.kind("w", Names::Listed(&["w"]), "0", PORTS, write);
    let r = net.kind("r", Names::Listed(&["r"]), "1", PORTS, read);
    net.channels::<u64>(Channels {
        capacity,
        ..Channels::new((w, 1), (r, 0), "0", "0")
    });
    if back {
        net.channels::<u64>(Channels {
            capacity,
            ..Channels::new((r, 1), (w, 0), "0", "0")
        });
    }
    let start = Instant::now();
    rt::run(net, &Options::new().os_processes(2)).unwrap();
    let messages = count * if back { 2 } else { 1 };
    format!("ns {}", start.elapsed().as_nanos() as f64 / messages as f64)
}
