//! Costs of creating, running and dropping fibers.

use std::future::{Future, pending};
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Waker};

use bench_common::median;
use corosensei::Coroutine;
use corosensei::stack::DefaultStack;
use graphmap_fiber::{Fiber, Options, Stacks, wait};

use crate::measure;

const COUNT: usize = 20_000;

/// Number of fresh stacks. Smaller than [`COUNT`], because the mappings of all contestants exist at
/// the same time.
const FRESH: usize = 5_000;

fn poll<F: Future + Unpin>(future: &mut F) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    Pin::new(black_box(future)).poll(&mut context).is_ready()
}

pub(crate) fn report(rounds: usize) {
    println!("made, run to its end, dropped, one after the other; and to the first:");
    let mut boxed = || {
        for _ in 0..COUNT {
            assert!(poll(&mut Box::pin(async { black_box(1) })));
        }
    };
    let mut fibers = || {
        for _ in 0..COUNT {
            assert!(poll(&mut Fiber::new(|| black_box(1))));
        }
    };
    let mut named = || {
        for number in 0..COUNT {
            let name = format_args!("rank {number} (worker)");
            assert!(poll(&mut Fiber::named(name, || black_box(1)).unwrap()));
        }
    };
    let mut bare = || {
        for _ in 0..COUNT {
            let stack = DefaultStack::new(60 << 10).unwrap();
            let run = |_: &corosensei::Yielder<(), ()>, ()| black_box(1);
            let mut coroutine: Coroutine<(), (), i32> = Coroutine::with_stack(stack, run);
            assert!(black_box(&mut coroutine).resume(()).as_return().is_some());
        }
    };
    let mut threads = || {
        for _ in 0..COUNT / 20 {
            let thread = std::thread::Builder::new().stack_size(64 << 10);
            thread.spawn(|| black_box(1)).unwrap().join().unwrap();
        }
    };
    let contestants: &mut [(&str, &mut dyn FnMut())] = &mut [
        ("async block in a Box", &mut boxed),
        ("fiber, a stack that was used", &mut fibers),
        ("fiber with a name", &mut named),
        ("bare corosensei, a mapping each", &mut bare),
    ];
    measure(rounds, COUNT, contestants);
    measure(
        rounds,
        COUNT / 20,
        &mut [("thread of the kernel", &mut threads)],
    );

    println!("first use of a stack, with its page, and its unwinding; of {FRESH}, all suspended:");
    let fresh = |options: Options| {
        let mut kept = Vec::new();
        move || {
            let stacks = Stacks::new(options.clone());
            kept.clear();
            for _ in 0..FRESH {
                let mut fiber = stacks.fiber("", || wait(pending::<()>())).unwrap();
                poll(&mut fiber);
                kept.push(fiber);
            }
            // The next round drops them.
        }
    };
    let mut marker = fresh(Options::new());
    let mut protection = fresh(Options::new().without_markers());
    let mut kept = Vec::new();
    let mut bare = || {
        kept.clear();
        for _ in 0..FRESH {
            let stack = DefaultStack::new(60 << 10).unwrap();
            let run = |yielder: &corosensei::Yielder<(), ()>, ()| yielder.suspend(());
            let mut coroutine: Coroutine<(), (), ()> = Coroutine::with_stack(stack, run);
            black_box(&mut coroutine).resume(());
            kept.push(coroutine);
        }
    };
    measure(
        rounds,
        FRESH,
        &mut [
            ("MADV_GUARD_INSTALL", &mut marker),
            ("mprotect", &mut protection),
            ("bare corosensei, a mapping each", &mut bare),
        ],
    );

    println!("dropped while it is suspended:");
    let mut futures: Vec<Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
    let mut fibers = Vec::new();
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        for _ in 0..COUNT {
            let mut future: Pin<Box<dyn Future<Output = ()>>> = Box::pin(pending());
            poll(&mut future);
            futures.push(future);
            let mut fiber = Fiber::new(|| wait(pending::<()>()));
            poll(&mut fiber);
            fibers.push(fiber);
        }
        let start = std::time::Instant::now();
        futures.clear();
        times[0].push(start.elapsed().as_nanos() as f64 / COUNT as f64);
        let start = std::time::Instant::now();
        fibers.clear();
        times[1].push(start.elapsed().as_nanos() as f64 / COUNT as f64);
    }
    for (name, times) in ["future in a Box", "fiber, unwound"].iter().zip(times) {
        let median = median(&times).expect("a round");
        println!("  {name:<44} {median:>9.1} ns");
    }
}
