//! Measurements of tokio's LocalSet, and floors: the least that hardware and kernel allow.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::mpsc::channel;
use tokio::task::{LocalSet, spawn_local};

fn local<F: Future>(f: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, f)
}

pub fn stream(capacity: usize, count: u64) -> String {
    local(async {
        let (tx, mut rx) = channel::<u64>(capacity);
        let start = Instant::now();
        spawn_local(async move {
            for n in 0..count {
                tx.send(n).await.unwrap();
            }
        });
        let reader = spawn_local(async move {
            let mut sum = 0u64;
            while let Some(n) = rx.recv().await {
                sum = sum.wrapping_add(n);
            }
            black_box(sum);
        });
        reader.await.unwrap();
        format!("ns {}", start.elapsed().as_nanos() as f64 / count as f64)
    })
}

fn back_and_forth<T: 'static>(count: u64, token: T, touch: fn(&mut T)) -> String {
    local(async {
        let (a_tx, mut a_rx) = channel::<T>(1);
        let (b_tx, mut b_rx) = channel::<T>(1);
        let start = Instant::now();
        let first = spawn_local(async move {
            let mut token = token;
            for _ in 0..count {
                touch(&mut token);
                a_tx.send(token).await.ok();
                token = b_rx.recv().await.unwrap();
            }
        });
        spawn_local(async move {
            while let Some(mut token) = a_rx.recv().await {
                touch(&mut token);
                b_tx.send(token).await.ok();
            }
        });
        first.await.unwrap();
        format!(
            "ns {}",
            start.elapsed().as_nanos() as f64 / (2 * count) as f64
        )
    })
}

pub fn pingpong(count: u64) -> String {
    back_and_forth(count, 0u64, |n| *n += 1)
}

pub fn pages(count: u64) -> String {
    let page = Box::new([0u8; 8192]);
    back_and_forth(count, page, |page| page[0] = page[0].wrapping_add(1))
}

pub fn sieve(capacity: usize, primes: u32) -> String {
    local(async {
        let start = Instant::now();
        let (tx, mut input) = channel::<u64>(capacity);
        spawn_local(async move {
            for n in 2.. {
                if tx.send(n).await.is_err() {
                    break;
                }
            }
        });
        for i in 1.. {
            let prime = input.recv().await.unwrap();
            if i == primes {
                black_box(prime);
                break;
            }
            let (tx, next) = channel::<u64>(capacity);
            spawn_local(async move {
                while let Some(n) = input.recv().await {
                    if n % prime != 0 && tx.send(n).await.is_err() {
                        break;
                    }
                }
            });
            input = next;
        }
        format!("s {}", start.elapsed().as_secs_f64())
    })
}

pub fn ring(processes: u32, rounds: u32) -> String {
    let before = bench_common::resident();
    local(async {
        let (first, mut input) = channel::<u64>(1);
        for _ in 1..processes {
            let (tx, next) = channel::<u64>(1);
            spawn_local(async move {
                while let Some(n) = input.recv().await {
                    if tx.send(n + 1).await.is_err() {
                        break;
                    }
                }
            });
            input = next;
        }
        tokio::task::yield_now().await;
        let after = bench_common::resident();
        let start = Instant::now();
        let mut n = 1;
        for _ in 0..rounds {
            first.send(n).await.unwrap();
            n = input.recv().await.unwrap() + 1;
        }
        let ns = start.elapsed().as_nanos() as f64 / (f64::from(processes) * f64::from(rounds));
        format!("bytes {} ns {ns}", (after - before) / f64::from(processes))
    })
}

pub fn copy(count: u64) -> String {
    let (mut a, mut b) = (Box::new([1u8; 8192]), Box::new([0u8; 8192]));
    let start = Instant::now();
    for _ in 0..count {
        b.copy_from_slice(black_box(&a[..]));
        std::mem::swap(&mut a, &mut b);
        black_box(&mut a);
    }
    format!("ns {}", start.elapsed().as_nanos() as f64 / count as f64)
}

pub fn deque(count: u64) -> String {
    let mut deque = VecDeque::with_capacity(4);
    let start = Instant::now();
    for n in 0..count {
        black_box(&mut deque).push_back(n);
        black_box(black_box(&mut deque).pop_front());
    }
    format!("ns {}", start.elapsed().as_nanos() as f64 / count as f64)
}

/// Measures a cache line that two spinning threads hand back and forth. Nothing can be faster.
/// Returns the time of one way.
pub fn line(count: u64) -> String {
    #[repr(align(128))]
    struct Line(AtomicU64);
    let (there, back) = (Line(AtomicU64::new(0)), Line(AtomicU64::new(0)));
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1..=count {
                while there.0.load(Ordering::Acquire) != n {
                    std::hint::spin_loop();
                }
                back.0.store(n, Ordering::Release);
            }
        });
        for n in 1..=count {
            there.0.store(n, Ordering::Release);
            while back.0.load(Ordering::Acquire) != n {
                std::hint::spin_loop();
            }
        }
    });
    format!(
        "ns {}",
        start.elapsed().as_nanos() as f64 / (2 * count) as f64
    )
}

/// Measures two pairs of threads, back and forth `count` times. Each thread sleeps until the other
/// wakes it, because `park` waits on a futex.
pub fn park(count: u64) -> String {
    let pair = || {
        let turn = AtomicU64::new(0);
        let wait = |n: u64| {
            while turn.load(Ordering::Acquire) < n {
                std::thread::park();
            }
        };
        let give = |n: u64, to: &std::thread::Thread| {
            turn.store(n, Ordering::Release);
            to.unpark();
        };
        let me = std::thread::current();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                for n in 1..=count {
                    wait(2 * n - 1);
                    give(2 * n, &me);
                }
            });
            let start = Instant::now();
            for n in 1..=count {
                give(2 * n - 1, other.thread());
                wait(2 * n);
            }
            start.elapsed().as_nanos() as f64 / (2 * count) as f64
        })
    };
    std::thread::scope(|scope| {
        scope.spawn(pair);
        format!("ns {}", pair())
    })
}

/// Does the same as [`ring_of_bytes`], but the kernel copies the bytes once, directly to their
/// destination.
pub fn read_by_the_kernel(size: usize, count: u64) -> String {
    #[repr(C)]
    struct Iovec(*const u8, usize);
    unsafe extern "C" {
        fn process_vm_readv(
            pid: i32,
            local: *const Iovec,
            locals: u64,
            remote: *const Iovec,
            remotes: u64,
            flags: u64,
        ) -> isize;
    }
    #[repr(align(128))]
    struct Line(AtomicU64);
    let (there, back) = (Line(AtomicU64::new(0)), Line(AtomicU64::new(0)));
    let (a, b) = (vec![1u8; size], vec![2u8; size]);
    let pid = std::process::id().cast_signed();
    let read = |from: usize, to: &mut [u8], line: &Line, n: u64| {
        while line.0.load(Ordering::Acquire) != n {
            std::hint::spin_loop();
        }
        let local = Iovec(to.as_mut_ptr(), size);
        let remote = Iovec(std::ptr::without_provenance(from), size);
        // SAFETY: `to` and the source are valid for `size` bytes while the call lasts. The kernel
        // writes only to `to`, which is borrowed mutably. No thread writes to the source.
        let done = unsafe { process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
        assert_eq!(done, size as isize, "process_vm_readv");
    };
    let (from_a, from_b) = (
        a.as_ptr().expose_provenance(),
        b.as_ptr().expose_provenance(),
    );
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut mine = vec![0; size];
            for n in 1..=count {
                read(from_a, &mut mine, &there, n);
                back.0.store(n, Ordering::Release);
            }
        });
        let mut mine = vec![0; size];
        for n in 1..=count {
            there.0.store(n, Ordering::Release);
            read(from_b, &mut mine, &back, n);
        }
    });
    format!(
        "ns {}",
        start.elapsed().as_nanos() as f64 / (2 * count) as f64
    )
}

/// Capacity of a byte ring of the runtime, so that the benchmark touches as much memory.
const RING: usize = 256 << 10;

/// Measures `size` bytes back and forth between two threads, copied into a shared ring and out of
/// it. Returns the time of one way.
///
/// A ring of one message would stay in the nearest cache, in which 8 KiB take two thirds of the
/// time. But then neither thread could be ahead of the other.
pub fn ring_of_bytes(size: usize, count: u64) -> String {
    #[repr(align(128))]
    struct Line(AtomicU64);
    struct Buffer(std::cell::UnsafeCell<Vec<u8>>);
    // SAFETY: the counters alternate, so only one thread accesses a buffer at a time.
    unsafe impl Sync for Buffer {}
    let slots = (RING / size).max(1);
    let buffer = || Buffer(std::cell::UnsafeCell::new(vec![1; size * slots]));
    let slot = |n: u64| (n as usize % slots) * size;
    let (there, back) = (Line(AtomicU64::new(0)), Line(AtomicU64::new(0)));
    let (out, home) = (buffer(), buffer());
    let send = |from: &[u8], to: &Buffer, line: &Line, n: u64| {
        // SAFETY: the other thread does not access the buffer before the counter is stored.
        unsafe { (&mut (*to.0.get()))[slot(n)..][..size].copy_from_slice(from) };
        line.0.store(n, Ordering::Release);
    };
    let receive = |from: &Buffer, to: &mut [u8], line: &Line, n: u64| {
        while line.0.load(Ordering::Acquire) != n {
            std::hint::spin_loop();
        }
        // SAFETY: the other thread has stored the counter after its write, and does not write to
        // the buffer before it has an answer.
        to.copy_from_slice(unsafe { &(&(*from.0.get()))[slot(n)..][..size] });
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut mine = vec![0; size];
            for n in 1..=count {
                receive(&out, &mut mine, &there, n);
                send(&mine, &home, &back, n);
            }
        });
        let mut mine = vec![0; size];
        for n in 1..=count {
            send(&mine, &out, &there, n);
            receive(&home, &mut mine, &back, n);
        }
    });
    format!(
        "ns {}",
        start.elapsed().as_nanos() as f64 / (2 * count) as f64
    )
}
