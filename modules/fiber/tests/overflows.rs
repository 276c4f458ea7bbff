//! Tests of the report of a stack overflow. Each overflow happens in a second run of this program.
//! Not under Miri, which cannot start programs.

#![cfg(not(miri))]

use std::env;
use std::future::{Future, pending, poll_fn};
use std::os::unix::process::ExitStatusExt;
use std::pin::Pin;
use std::process::{Command, Output};
use std::task::{Context, Poll, Waker};

use graphmap_fiber::{Fiber, Options, Stacks, wait};

const SIGABRT: i32 = 6;
const SIGSEGV: i32 = 11;

/// Runs an ignored test of this file in a new OS process, with the case in a variable.
fn run(test: &str, case: &str) -> Output {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .args(["--test-threads", "1"])
        .env("CASE", case)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Recurses until the stack has grown to an address. With 0, it overflows.
#[inline(never)]
fn recurse(until: usize) -> u64 {
    let frame = std::hint::black_box([7_u64; 16]);
    match frame.as_ptr().addr() < until {
        true => frame[3],
        false => recurse(until).wrapping_add(frame[5]),
    }
}

/// Name of the fiber that overflows.
const NAME: &str = "rank 17 (worker)";

/// Overflows the stack of a fiber among waiting fibers.
fn overflow(options: Options, body: impl FnOnce() -> u64 + 'static) {
    let stacks = Stacks::new(options);
    let waits = || wait(pending::<()>());
    let mut others = Vec::new();
    for number in 0..4 {
        let name = format_args!("rank {number} (source)");
        let mut fiber = stacks.fiber(name, waits).unwrap();
        assert!(poll(&mut fiber).is_pending());
        others.push(fiber);
    }
    let mut fiber = stacks.fiber(NAME, body).unwrap();
    if poll(&mut fiber).is_pending() {
        let _ = poll(&mut fiber);
    }
    drop((fiber, others));
}

/// Overflows the third stack of a slab after the memory of the slab was given back.
fn trimmed(options: Options) {
    let stacks = Stacks::new(options);
    let fiber = || stacks.fiber(NAME, || recurse(0)).unwrap();
    let unused: Vec<_> = (0..5).map(|_| fiber()).collect();
    drop(unused);
    stacks.trim().unwrap();
    let mut fibers: Vec<_> = (0..5).map(|_| fiber()).collect();
    let _ = poll(&mut fibers[2]);
}

/// Returns a value from a frame of `SIZE` bytes, which is larger than a stack.
fn large_frame<const SIZE: usize>() -> u64 {
    let mut frame = std::mem::MaybeUninit::<[u8; SIZE]>::uninit();
    let lowest = std::hint::black_box(frame.as_mut_ptr()).cast::<u8>();
    // SAFETY: the byte is in the frame.
    unsafe {
        lowest.write_volatile(7);
        lowest.read_volatile().into()
    }
}

#[test]
#[ignore = "run by `an_overflow_is_reported_by_name`"]
fn overflows() {
    let old = Options::new().without_markers();
    match env::var("CASE").unwrap().as_str() {
        "marker" => overflow(Options::new(), || recurse(0)),
        "protection" => overflow(old, || recurse(0)),
        "at once" => overflow(old, large_frame::<80_000>),
        // The frame is larger than a stack and its neighbour.
        "large guard" => overflow(Options::new().guard(256 << 10), large_frame::<200_000>),
        "large protection" => overflow(old.guard(256 << 10), large_frame::<200_000>),
        "after a wait" => overflow(old, || {
            wait(once());
            recurse(0)
        }),
        // Giving memory back must keep all guards, including those between stacks.
        "trimmed" => trimmed(Options::new()),
        "trimmed protection" => trimmed(old),
        // The inner fibers have their own stacks. One has ended, the other waits.
        "around another" => overflow(old, || {
            assert!(poll(&mut Fiber::new(|| ())).is_ready());
            let mut inner = Fiber::new(|| wait(pending::<()>()));
            assert!(poll(&mut inner).is_pending());
            recurse(0)
        }),
        "within another" => {
            let mut outer = Fiber::named("outer", move || overflow(old, || recurse(0))).unwrap();
            let _ = poll(&mut outer);
        }
        // The destructor recurses when the fiber is dropped.
        "dropped" => {
            struct Deep;
            impl Drop for Deep {
                fn drop(&mut self) {
                    std::hint::black_box(recurse(0));
                }
            }
            overflow(old, || {
                let _deep = Deep;
                wait(pending::<u64>())
            });
        }
        case => panic!("{case}"),
    }
}

/// Returns a future that is pending once.
fn once() -> impl Future<Output = ()> {
    let mut polled = false;
    poll_fn(move |_| match std::mem::replace(&mut polled, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
}

const EXPECTED: &str = "the stack of rank 17 (worker) has overflowed: its usable size is 60 KiB\n\
                    help: use larger stacks, such as with GRAPHMAP_STACK=256k, allocate large arrays \
                    on the heap, or recurse less deeply\n";

#[test]
fn an_overflow_is_reported_by_name() {
    for case in [
        "marker",
        "protection",
        "trimmed",
        "trimmed protection",
        "at once",
        "large guard",
        "large protection",
        "after a wait",
        "around another",
        "within another",
        "dropped",
    ] {
        let output = run("overflows", case);
        let said = said(&output);
        let expected = match case.starts_with("large") {
            // These guards are not part of the size.
            true => EXPECTED.replace("60 KiB", "64 KiB"),
            false => EXPECTED.to_string(),
        };
        assert!(said.contains(&expected), "{case}: {said}");
        assert_eq!(output.status.signal(), Some(SIGSEGV), "{case}: {said}");
    }
}

#[test]
#[ignore = "run by `other_faults_are_left_to_other_handlers`"]
fn others() {
    // The first fiber of an OS process installs the handler of faults.
    let mut fiber = Fiber::new(|| ());
    assert!(poll(&mut fiber).is_ready());
    match env::var("CASE").unwrap().as_str() {
        // Rust reports overflows of its own threads.
        "thread" => {
            let thread = std::thread::Builder::new().name("deep".into());
            let recurses = || recurse(0);
            let _ = thread.stack_size(64 << 10).spawn(recurses).unwrap().join();
        }
        "null" => {
            let nowhere = std::hint::black_box(std::ptr::without_provenance::<u8>(8));
            // SAFETY: this is not sound. The read faults on purpose and ends the program.
            unsafe { nowhere.read_volatile() };
        }
        "null on a fiber" => {
            let mut fiber = Fiber::new(|| {
                let nowhere = std::hint::black_box(std::ptr::without_provenance::<u8>(8));
                // SAFETY: as above.
                unsafe { nowhere.read_volatile() };
            });
            let _ = poll(&mut fiber);
        }
        "sent" => {
            // Rust's handler returns from the first signal and lets the next one end the program.
            // This sends many, because signals that are pending together count once.
            for _ in 0..100 {
                let own = std::process::id().to_string();
                let _ = Command::new("kill").args(["-SEGV", &own]).status();
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
        case => panic!("{case}"),
    }
}

#[test]
fn other_faults_are_left_to_other_handlers() {
    for case in ["thread", "null", "null on a fiber", "sent"] {
        let output = run("others", case);
        let said = said(&output);
        assert!(!said.contains("the stack of"), "{case}: {said}");
        let by_rust = said.contains("thread 'deep'") && said.contains("has overflowed its stack");
        assert_eq!(by_rust, case == "thread", "{said}");
        let signal = if by_rust { SIGABRT } else { SIGSEGV };
        assert_eq!(output.status.signal(), Some(signal), "{case}: {said}");
    }
}

#[test]
#[ignore = "run by `exhausting_the_address_space_is_an_error`"]
fn too_many() {
    let stacks = Stacks::new(Options::new().size(16 << 20));
    let mut fibers = Vec::new();
    let error = loop {
        match stacks.fiber("rank 9", || 7) {
            Ok(fiber) => fibers.push(fiber),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory);
    let said = error.to_string();
    let expected = "cannot allocate a stack of 16384 KiB for the fiber of rank 9, with ";
    assert!(
        said.starts_with(expected) && said.contains("(`ulimit -v`)"),
        "{said}"
    );
    // Slabs become smaller as space runs out, so nearly all of the address space is used.
    assert!(fibers.len() > 100, "{}", fibers.len());
    for fiber in &mut fibers {
        assert_eq!(poll(fiber), Poll::Ready(7));
    }
}

#[test]
fn exhausting_the_address_space_is_an_error() {
    let own = env::current_exe().unwrap();
    let script = "ulimit -v 4000000; exec \"$0\" --exact too_many --ignored --nocapture";
    let output = Command::new("sh").args(["-c", script]).arg(own).output();
    let output = output.unwrap();
    let said = said(&output);
    assert!(output.status.success(), "{said}");
}

#[test]
#[ignore = "run by `an_overflow_is_reported_on_any_thread`"]
fn on_a_thread() {
    use std::ffi::{c_int, c_void};
    #[repr(C)]
    struct Stack {
        start: *mut c_void,
        flags: c_int,
        len: usize,
    }
    unsafe extern "C" {
        fn sigaltstack(new: *const Stack, old: *mut Stack) -> c_int;
    }
    const DISABLE: c_int = 2;
    let without = env::var("CASE").unwrap() == "without";
    let thread = std::thread::spawn(move || {
        if without {
            let (start, flags) = (std::ptr::null_mut(), DISABLE);
            let none = Stack {
                start,
                flags,
                len: 0,
            };
            // SAFETY: `Stack` has the layout of `stack_t` in `signal.h`, and no handler is running
            // on the alternate stack.
            let done = unsafe { sigaltstack(&none, std::ptr::null_mut()) };
            assert_eq!(done, 0);
        }
        overflow(Options::new().without_markers(), || recurse(0));
    });
    let _ = thread.join();
}

#[test]
fn an_overflow_is_reported_on_any_thread() {
    // Rust gives its own threads a stack for signal handlers. Other threads may not have one.
    for case in ["with", "without"] {
        let output = run("on_a_thread", case);
        let said = said(&output);
        let expected = match case.starts_with("large") {
            // These guards are not part of the size.
            true => EXPECTED.replace("60 KiB", "64 KiB"),
            false => EXPECTED.to_string(),
        };
        assert!(said.contains(&expected), "{case}: {said}");
        assert_eq!(output.status.signal(), Some(SIGSEGV), "{case}: {said}");
    }
}

#[test]
#[ignore = "run by `the_environment_sets_the_size_of_stacks`"]
fn sized_by_the_environment() {
    let mut fiber = Fiber::named("rank 3 (deep)", || {
        let local = 0_u8;
        let top = std::ptr::from_ref(&local).addr();
        recurse(top - (300 << 10))
    })
    .unwrap();
    assert!(poll(&mut fiber).is_ready());
}

#[test]
fn the_environment_sets_the_size_of_stacks() {
    let run = |size| {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "sized_by_the_environment", "--ignored"]);
        let output = command.arg("--nocapture").env("GRAPHMAP_STACK", size);
        output.output().unwrap()
    };
    let output = run("512k");
    assert!(output.status.success(), "{}", said(&output));
    let output = run("128k");
    let expected = "the stack of rank 3 (deep) has overflowed: its usable size is 124 KiB\n\
                help: use larger stacks, such as with GRAPHMAP_STACK=512k,";
    assert!(said(&output).contains(expected), "{}", said(&output));
    let output = run("a lot");
    let expected = "GRAPHMAP_STACK=a lot: expected a number of bytes from 16k to 1g, such as 64k";
    assert!(said(&output).contains(expected), "{}", said(&output));
    assert!(!output.status.success());
}
