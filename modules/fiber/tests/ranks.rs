//! Fibers as processes of the runtime: plain functions that use messages and channels. Not under
//! Miri, which cannot switch stacks.

#![cfg(not(miri))]

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::rc::Rc;

use graphmap_fiber::{Fiber, WaitError, try_wait, uninterrupted, wait};
use graphmap_runtime::mpi::{self, ANY_SOURCE};
use graphmap_runtime::{Local, Options, RunError};

/// Adds a process that runs a plain function on its own stack.
fn spawn(net: &mut Local, body: impl FnOnce() -> Result<(), mpi::Error> + 'static) {
    net.spawn(Fiber::new(body));
}

/// Value that increments a counter when it is dropped.
struct Counts(Rc<Cell<usize>>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn a_ring_of_plain_functions() {
    fn rank() -> Result<(), mpi::Error> {
        let world = mpi::world()?;
        let next = (world.rank() + 1) % world.size();
        if world.rank() == 0 {
            wait(world.send(1_usize, next, 0))?;
            let (sum, _) = wait(world.recv::<usize>(ANY_SOURCE, 0))?;
            assert_eq!(sum, world.size());
        } else {
            let (sum, _) = wait(world.recv::<usize>(ANY_SOURCE, 0))?;
            wait(world.send(sum + 1, next, 0))?;
        }
        wait(world.barrier())
    }
    let mut net = Local::new();
    for _ in 0..2000 {
        spawn(&mut net, rank);
    }
    net.run(&Options::new()).unwrap();
}

#[test]
fn plain_functions_and_async_ones_in_one_network() {
    let mut net = Local::new();
    let (mut output, mut input) = net.channel::<u32>(2);
    spawn(&mut net, move || {
        for number in 0..1000 {
            wait(output.write(number)).expect("it is read");
        }
        drop(output);
        let sum = wait(mpi::world()?.allreduce(1, |a, b| a + b))?;
        assert_eq!(sum, 2);
        Ok(())
    });
    net.spawn(async move {
        let mut sum = 0;
        while let Some(number) = input.read().await {
            sum += number;
        }
        assert_eq!(sum, 499_500);
        let sum = mpi::world()?.allreduce(1, |a, b| a + b).await?;
        assert_eq!(sum, 2);
        Ok::<(), mpi::Error>(())
    });
    net.run(&Options::new()).unwrap();
}

#[test]
fn a_block_is_reported_with_lines_and_drops_values_on_stacks() {
    let dropped = Rc::new(Cell::new(0));
    let mut net = Local::new();
    for _ in 0..3 {
        let counts = Counts(dropped.clone());
        spawn(&mut net, move || {
            let _counts = counts;
            let world = mpi::world()?;
            let next = (world.rank() + 1) % 3;
            wait(world.recv::<u8>(next, 5)).map(drop)
        });
    }
    let Err(RunError::Blocked(block)) = net.run(&Options::new()) else {
        panic!("it blocks");
    };
    assert_eq!((block.processes, block.cycle_len), (3, 3));
    let told = block.cycle[0].to_string();
    let call = "process 0 (rank 0) waits in receive (world, from rank 1, tag 5): ";
    assert!(told.starts_with(call), "{told}");
    assert!(told.contains(file!()), "{told}");
    assert_eq!(dropped.get(), 3);
}

#[test]
fn a_rank_that_panics_drops_the_others() {
    /// Value whose destructor tries to receive a message that never arrives.
    struct Waits(Rc<Cell<usize>>);
    impl Drop for Waits {
        fn drop(&mut self) {
            let told = try_wait(mpi::world().unwrap().recv::<u8>(ANY_SOURCE, 1));
            assert!(matches!(told, Err(WaitError::Unwinding)));
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Rc::new(Cell::new(0));
    let waited = Rc::new(Cell::new(0));
    let mut net = Local::new();
    for _ in 0..5 {
        let counts = Counts(dropped.clone());
        spawn(&mut net, move || {
            let _counts = counts;
            wait(mpi::world()?.recv::<u8>(ANY_SOURCE, 0)).map(drop)
        });
    }
    let waits = Waits(waited.clone());
    spawn(&mut net, move || {
        let _waits = waits;
        wait(graphmap_runtime::yield_now());
        panic!("as it should");
    });
    let told = net.run(&Options::new());
    assert!(matches!(told, Err(RunError::Failed { .. })), "{told:?}");
    assert_eq!((dropped.get(), waited.get()), (5, 1));
    assert!(!std::thread::panicking());
}

#[test]
fn an_operation_that_is_uninterrupted_cannot_wait() {
    let mut net = Local::new();
    let told = Rc::new(Cell::new(0));
    for _ in 0..3 {
        let told = told.clone();
        spawn(&mut net, move || {
            let world = mpi::world()?;
            // The last rank to arrive calls the operation, in the middle of its own call.
            let operation = move |a: usize, b: usize| {
                let waited = || try_wait(mpi::world().unwrap().recv::<u8>(ANY_SOURCE, 3));
                let waited = uninterrupted(waited);
                assert!(matches!(waited, Err(WaitError::InPoll)));
                told.set(told.get() + 1);
                a + b
            };
            let sum = wait(world.allreduce(world.rank(), operation))?;
            assert_eq!(sum, 3);
            // After the operation, the fiber can wait again.
            wait(world.barrier())
        });
    }
    net.run(&Options::new()).unwrap();
    assert_eq!(told.get(), 2);
}

/// Tries to wait in a process of a nested run on a fiber. This is refused, because it would also
/// suspend the outer run.
#[test]
fn a_process_of_a_run_on_a_stack_does_not_wait() {
    let refused = Rc::new(Cell::new(0));
    let mut net = Local::new();
    let (mut output, mut input) = net.channel::<u8>(2);
    assert!(output.try_write(1).is_ok() && output.try_write(2).is_ok());
    let count = Rc::clone(&refused);
    spawn(&mut net, move || {
        let mut inner = Local::new();
        let counts = Rc::clone(&count);
        inner.spawn(async move {
            let refuses = |waited: Result<(), WaitError>| {
                assert_eq!(waited, Err(WaitError::InPoll));
                counts.set(counts.get() + 1);
            };
            refuses(try_wait(graphmap_runtime::yield_now()));
            refuses(try_wait(input.read()).map(drop));
            // The process may await the read, and a fiber that it creates may wait.
            assert_eq!(input.read().await, Some(1));
            let fiber = Fiber::new(move || wait(input.read()));
            assert_eq!(fiber.await, Some(2));
            refuses(try_wait(graphmap_runtime::yield_now()));
        });
        inner.run(&Options::new()).unwrap();
        // After the nested run, the outer fiber can wait again.
        wait(graphmap_runtime::yield_now());
        Ok(())
    });
    net.run(&Options::new()).unwrap();
    assert_eq!(refused.get(), 3);
}

/// Stack without a guard page.
struct Plain(Vec<u128>);

impl Plain {
    fn new() -> Self {
        Plain(vec![0; 1 << 16])
    }
}

// SAFETY: the vector owns its memory and never moves it, and `u128` is aligned to 16 bytes. There
// is no guard page, but the bodies in this file use much less than this 1 MiB.
unsafe impl corosensei::stack::Stack for Plain {
    fn base(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.0.as_ptr_range().end.expose_provenance()).unwrap()
    }

    fn limit(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.0.as_ptr().expose_provenance()).unwrap()
    }
}

/// Runs networks on two stacks of another library. A process of each network suspends its stack,
/// and the first run ends before the second.
#[test]
#[ignore = "run by `runs_that_end_out_of_order_abort`"]
fn runs_that_cross() {
    let stack = |times: usize| {
        corosensei::Coroutine::<(), (), (), Plain>::with_stack(Plain::new(), move |yielder, ()| {
            let yielder: *const corosensei::Yielder<(), ()> = yielder;
            let mut net = Local::new();
            net.spawn(async move {
                // SAFETY: the yielder outlives the run, which is on its stack.
                (0..times).for_each(|_| unsafe { (*yielder).suspend(()) });
            });
            net.run(&Options::new()).unwrap();
        })
    };
    let mut stacks = [stack(1), stack(2)];
    for _ in 0..3 {
        for stack in stacks.iter_mut().filter(|stack| !stack.done()) {
            stack.resume(());
        }
    }
}

/// Aborts if an outer run ends first, because the run that began later would return to it.
#[test]
fn runs_that_end_out_of_order_abort() {
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "runs_that_cross", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(
        said.contains("a run ended before a run that began later"),
        "{said}"
    );
    assert_eq!(run.status.signal(), Some(6));
}
