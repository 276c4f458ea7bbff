//! Sets of tasks. They compute the same as processes, and poll only tasks that were woken. Sets are
//! moved between processes, forgotten or dropped, and tasks panic.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Wake, Waker};

use crate::combinators::join_all;
use crate::common::{BOTH, Both, Random, blocked, forget, places, seeds, size};
use graphmap_runtime as rt;
use rt::{
    Channels, Input, Local, Names, Network, Options, Output, Stopped, TaskSet, mpi, yield_now,
};

type Boxed = Pin<Box<dyn Future<Output = ()>>>;

/// Waits for all tasks of a set.
async fn all(mut tasks: TaskSet<'_, ()>) {
    while tasks.join_next().await.is_some() {}
}

/// Counts the polls of a future.
async fn counted<F: Future>(polls: &Cell<u64>, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        polls.set(polls.get() + 1);
        future.as_mut().poll(context)
    })
    .await
}

/// Sends a token around a ring of tasks. A task is polled only when the token has arrived.
#[test]
fn only_woken_tasks_are_polled() {
    let (tasks, rounds) = (size(1000, 20), 3);
    let polls = Rc::new(Cell::new(0));
    let ours = Rc::clone(&polls);
    let mut net = Local::new();
    net.spawn(async move {
        let world = mpi::world().unwrap();
        let mut set = TaskSet::new();
        for task in 0..tasks as i32 {
            let (polls, world) = (&ours, &world);
            set.push(counted(polls, async move {
                let next = (task + 1) % tasks as i32;
                for round in 0..rounds {
                    if (task, round) != (0, 0) {
                        world.recv::<u8>(0, task).await.unwrap();
                    }
                    world.send(1u8, 0, next).await.unwrap();
                }
                if task == 0 {
                    world.recv::<u8>(0, 0).await.unwrap();
                }
            }));
        }
        assert_eq!(set.len() as u64, tasks);
        all(set).await;
    });
    net.run(&Options::new()).unwrap();
    assert!(polls.get() <= tasks * (rounds + 2), "{}", polls.get());
}

/// Runs a task that always wakes itself. The other tasks and processes must still be polled.
#[test]
fn one_that_wakes_itself() {
    let mut net = Local::new();
    let (mut output, mut input) = net.channel::<u64>(1);
    net.spawn(async move {
        for n in 0..100 {
            output.write(n).await?;
            yield_now().await;
        }
        Ok::<(), Stopped>(())
    });
    net.spawn(async move {
        let mut set = TaskSet::new();
        set.push(async {
            loop {
                yield_now().await;
            }
        });
        set.push(async move {
            let mut sum = 0;
            while let Some(n) = input.read().await {
                sum += n;
            }
            sum
        });
        assert_eq!(set.join_next().await, Some(4950));
    });
    net.run(&Options::new()).unwrap();
}

/// Processes the tokens of a lane, as one task.
async fn relay(mut input: Input<u64>, mut output: Output<u64>, yields: u64) {
    let mut at = 0;
    while let Some(token) = input.read().await {
        at += 1;
        if yields != 0 && at % yields == 0 {
            yield_now().await;
        }
        if output.write(token * 3 + 1).await.is_err() {
            return;
        }
    }
}

/// Puts tasks into one set. Some are put into nested sets, into a combinator of another library, or
/// into a combinator that contains a set.
async fn in_sets(mut tasks: Vec<Boxed>, random: &mut Random) {
    let mut set = TaskSet::new();
    while let Some(task) = tasks.pop() {
        let pair = [Some(task), tasks.pop()].into_iter().flatten();
        match random.below(4) {
            0 => set.push(Box::pin(all(pair.collect())) as Boxed),
            1 => set.push(Box::pin(join_all(pair))),
            2 => set.push(Box::pin(join_all(std::iter::once(all(pair.collect()))))),
            _ => set.extend(pair),
        }
        if random.below(3) == 0 {
            // Some tasks end before the others are added.
            if let Some(()) = poll_once(&mut set).await {
                yield_now().await;
            }
        }
    }
    all(set).await;
}

/// Polls a set once. Returns `Some` if a task has ended.
async fn poll_once(set: &mut TaskSet<'_, ()>) -> Option<()> {
    poll_fn(|context| match set.poll_join_next(context) {
        Poll::Ready(ended) => Poll::Ready(ended),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Sends tokens through lanes of tasks in random processes. The result must be the same as with one
/// process per task.
#[test]
fn random_lanes() {
    for seed in seeds(300, 4) {
        let mut random = Random(seed);
        let processes = 1 + random.below(4) as usize;
        let tokens = random.below(30);
        let mut of_process: Vec<Vec<Boxed>> = (0..processes).map(|_| Vec::new()).collect();
        let results = Rc::new(RefCell::new(Vec::new()));
        let mut expected = Vec::new();
        let mut net = Local::new();
        for lane in 0..1 + random.below(5) {
            let relays = random.below(6);
            let mut put = |random: &mut Random, task: Boxed| {
                of_process[random.below(processes as u64) as usize].push(task);
            };
            let (mut first, mut input) = net.channel::<u64>(1 + random.below(3) as u32);
            put(
                &mut random,
                Box::pin(async move {
                    for n in 0..tokens {
                        first.write(n).await.unwrap();
                    }
                }),
            );
            for _ in 0..relays {
                let (output, next) = net.channel::<u64>(1 + random.below(3) as u32);
                let before = std::mem::replace(&mut input, next);
                let yields = random.below(3);
                put(&mut random, Box::pin(relay(before, output, yields)));
            }
            let results = Rc::clone(&results);
            put(
                &mut random,
                Box::pin(async move {
                    let mut sum = 0;
                    while let Some(token) = input.read().await {
                        sum += token;
                    }
                    results.borrow_mut().push((lane, sum));
                }),
            );
            let through = |n| (0..relays).fold(n, |n: u64, _| n * 3 + 1);
            expected.push((lane, (0..tokens).map(through).sum::<u64>()));
        }
        for (process, tasks) in of_process.into_iter().enumerate() {
            net.spawn(async move {
                in_sets(tasks, &mut Random(seed * 10 + process as u64)).await;
            });
        }
        let options = match seed % 2 {
            0 => Options::new(),
            _ => Options::new().shuffle(seed),
        };
        if let Err(error) = net.run(&options) {
            panic!("seed {seed}: {error}");
        }
        let mut results = results.take();
        results.sort_unstable();
        assert_eq!(results, expected, "seed {seed}");
    }
}

/// Runs rings through all processes, with one task per ring in each process, also on several
/// schedulers and in shuffled order.
#[test]
fn rings_across_schedulers() {
    const RINGS: usize = 7;
    let make = || {
        let mut net = Network::new("rings", "rings.dot");
        let ring = |mut p: Both<u64>| async move {
            let first = rt::me().index == 0;
            let mut set = TaskSet::new();
            for (mut input, mut output) in p.ins.drain(..).zip(p.outs.drain(..)) {
                set.push(async move {
                    if first {
                        output.write(0).await.unwrap();
                    }
                    for _ in 0..20 {
                        let token = input.read().await.unwrap();
                        if output.write(token + 1).await.is_err() {
                            return token;
                        }
                    }
                    input.read().await.unwrap_or(u64::MAX)
                });
            }
            let mut ended = 0;
            while set.join_next().await.is_some() {
                ended += 1;
            }
            assert_eq!(ended, RINGS);
        };
        let kind = net.kind(
            "ring",
            Names::Numbered("ring", "0+1*5"),
            "0+1*5",
            BOTH,
            ring,
        );
        for _ in 0..RINGS {
            net.channels::<u64>(Channels::new((kind, 1), (kind, 0), "0+1*5", "1+1*4 0"));
        }
        net
    };
    places::each(make, |outcome| {
        outcome.unwrap();
    });
}

/// Waits for bundles, stops of readers, and messages, each in a task.
#[test]
fn tasks_wait_for_bundles_stops_and_messages() {
    let mut net = Local::new();
    let (outputs, inputs): (Vec<_>, Vec<_>) = (0..5).map(|_| net.channel::<u64>(1)).unzip();
    let (mut idle, left) = net.channel::<u64>(1);
    for (n, mut output) in outputs.into_iter().enumerate() {
        net.spawn(async move {
            for _ in 0..10 {
                output.write(n as u64).await?;
            }
            Ok::<(), Stopped>(())
        });
    }
    net.spawn(async move {
        let mut select = rt::Select::from(inputs);
        let sum = Cell::new(0);
        let mut set = TaskSet::new();
        set.push(Box::pin(async {
            while let Some((_, n)) = select.read().await {
                sum.set(sum.get() + n);
            }
        }) as Pin<Box<dyn Future<Output = ()>>>);
        set.push(Box::pin(async { idle.stopped().await }));
        set.push(Box::pin(async {
            let world = mpi::world().unwrap();
            world.send(1u8, world.rank(), 0).await.unwrap();
        }));
        set.push(Box::pin(async {
            let world = mpi::world().unwrap();
            world.recv::<u8>(world.rank(), 0).await.unwrap();
        }));
        all(set).await;
        assert_eq!(sum.get(), 100);
    });
    net.spawn(async move {
        for _ in 0..50 {
            yield_now().await;
        }
        drop(left);
    });
    net.run(&Options::new()).unwrap();
}

/// Checks that the report of a deadlock contains the waits of all tasks of a process.
#[test]
fn a_deadlock_is_reported_as_of_the_process() {
    for schedulers in [1, 2] {
        let make = |name: &'static str| {
            move |p: Both<u64>| async move {
                let mut set = TaskSet::new();
                for mut input in p.ins {
                    set.push(Box::pin(async move {
                        input.read().await;
                    }) as Boxed);
                }
                let set = TaskSet::from_iter([all(set)]);
                all(set).await;
                // The ports are dropped only after the set has ended.
                drop(p.outs);
                assert!(name.is_empty(), "{name} has got something");
            }
        };
        let mut net = Network::new("n", "n.dot");
        let a = net.kind("a", Names::Listed(&["a"]), "0", BOTH, make("a"));
        let b = net.kind("b", Names::Listed(&["b"]), "1", BOTH, make("b"));
        for (from, to) in [(a, b), (b, a), (b, a)] {
            net.channels::<u64>(Channels::new((from, 1), (to, 0), "0", "0"));
        }
        let options = Options::new().os_processes(schedulers).threads(schedulers);
        let block = blocked(rt::run(net, &options));
        let waits: usize = block.cycle.iter().map(|process| process.waits.len()).sum();
        assert_eq!((block.cycle.len(), waits), (2, 3), "{block}");
    }
}

/// Moves a set to another process while its tasks wait. Wake-ups must reach the new process.
#[test]
fn a_set_that_is_carried_to_another_process() {
    let mut net = Local::new();
    let (mut output, mut input) = net.channel::<u64>(1);
    let carried: Rc<RefCell<Option<TaskSet<'static, u64>>>> = Rc::default();
    let taken = Rc::clone(&carried);
    net.spawn(async move {
        let mut set = TaskSet::new();
        set.push(async move { input.read().await.unwrap() });
        set.push(pending());
        let polled = poll_fn(|context| Poll::Ready(set.poll_join_next(context).is_pending()));
        assert!(polled.await);
        *carried.borrow_mut() = Some(set);
        // A wake-up may still reach this process, and has no effect.
        for _ in 0..10 {
            yield_now().await;
        }
    });
    net.spawn(async move {
        let mut set = loop {
            match taken.take() {
                Some(set) => break set,
                None => yield_now().await,
            }
        };
        assert_eq!(set.join_next().await, Some(7));
    });
    net.spawn(async move {
        for _ in 0..20 {
            yield_now().await;
        }
        output.write(7).await
    });
    net.run(&Options::new()).unwrap();
}

thread_local! {
    static CARRIED: Cell<Option<TaskSet<'static, ()>>> = const { Cell::new(None) };
}

/// Moves a set after all processes were blocked once. The report must attribute the waits of its
/// tasks to the process that has it now.
#[test]
fn a_set_that_is_carried_after_a_deadlock() {
    let each = |mut p: Both<u64>| async move {
        match rt::me().index {
            0 => {
                let mut reads = p.ins.remove(0);
                let read = async move {
                    reads.read().await;
                };
                let mut set = TaskSet::from_iter([all(TaskSet::from_iter([read]))]);
                assert_eq!(poll_once(&mut set).await, None);
                // The first of these channels grows.
                for out in [0, 0, 1] {
                    p.outs[out].write(1).await.unwrap();
                }
                CARRIED.set(Some(set));
                p.outs[2].write(1).await.unwrap();
            }
            1 => {
                p.ins[0].read().await;
                all(CARRIED.take().unwrap()).await;
            }
            _ => {
                for input in [1, 0, 0, 2] {
                    p.ins[input].read().await;
                }
            }
        }
        drop(p);
    };
    let mut net = Network::new("n", "n.dot");
    let kind = net.kind("p", Names::Numbered("p", "0+1*3"), "0+1*3", BOTH, each);
    for (from, to) in [("2", "0"), ("0", "2"), ("0", "2"), ("0", "1"), ("1", "2")] {
        net.channels::<u64>(Channels {
            capacity: 1,
            ..Channels::new((kind, 1), (kind, 0), from, to)
        });
    }
    let block = blocked(rt::run(net, &Options::new()));
    assert_eq!(block.cycle.len(), 2, "{block}");
}

/// Moves a set that waits for a channel of one run into a nested run, and back.
#[test]
fn a_set_that_is_carried_between_runs() {
    let mut net = Local::new();
    let (mut output, mut input) = net.channel::<u64>(1);
    net.spawn(async move {
        let mut set = TaskSet::new();
        set.push(async move {
            let mut sum = 0;
            while let Some(n) = input.read().await {
                sum += n;
            }
            sum
        });
        for round in 0..3 {
            let polled = poll_fn(|context| Poll::Ready(set.poll_join_next(context).is_pending()));
            assert!(polled.await);
            let carried = Rc::new(RefCell::new(Some(set)));
            let inside = Rc::clone(&carried);
            let mut inner = Local::new();
            let written = output.try_write(round);
            inner.spawn(async move {
                let mut set = inside.take().unwrap();
                for _ in 0..3 {
                    let polled =
                        poll_fn(|context| Poll::Ready(set.poll_join_next(context).is_pending()));
                    assert!(polled.await);
                    yield_now().await;
                }
                *inside.borrow_mut() = Some(set);
            });
            inner.run(&Options::new()).unwrap();
            written.unwrap();
            set = carried.take().unwrap();
        }
        drop(output);
        assert_eq!(set.join_next().await, Some(3));
        assert_eq!(set.join_next().await, None);
    });
    net.run(&Options::new()).unwrap();
}

/// Keeps wakers of tasks after the tasks have ended, and wakes them from other threads.
#[test]
fn wakers_that_are_kept() {
    let kept: Arc<Mutex<Vec<Waker>>> = Arc::default();
    let mut net = Local::new();
    for _ in 0..3 {
        let kept = Arc::clone(&kept);
        net.spawn(async move {
            let mut set = TaskSet::new();
            for task in 0..5 {
                let kept = Arc::clone(&kept);
                let mut polls = 0;
                set.push(poll_fn(move |context| {
                    polls += 1;
                    if polls > 3 {
                        return Poll::Ready(());
                    }
                    let waker = context.waker().clone();
                    kept.lock().unwrap().push(waker.clone());
                    match task % 2 {
                        0 => drop(std::thread::spawn(move || waker.wake())),
                        _ => std::thread::scope(|scope| {
                            let waker = context.waker();
                            scope.spawn(move || waker.wake_by_ref());
                        }),
                    }
                    Poll::Pending
                }));
            }
            all(set).await;
            // New tasks reuse the waiters of the earlier ones.
            for _ in 0..20 {
                let mut set = TaskSet::new();
                (0..5).for_each(|_| set.push(yield_now()));
                kept.lock().unwrap().iter().for_each(Waker::wake_by_ref);
                all(set).await;
            }
        });
    }
    net.run(&Options::new()).unwrap();
    kept.lock().unwrap().drain(..).for_each(Waker::wake);
}

/// Runs a task that panics. The task is dropped, and the run fails with the name of the process,
/// unless the panic is caught.
#[test]
fn a_task_that_panics() {
    let run = |is_caught: bool| {
        let mut net = Local::new();
        net.spawn_named("bad", async move {
            let mut set = TaskSet::new();
            set.push(Box::pin(async { assert_eq!("a task", "") }) as Boxed);
            set.push(Box::pin(yield_now()));
            if is_caught {
                poll_fn(|context| {
                    let polled = catch_unwind(AssertUnwindSafe(|| set.poll_join_next(context)));
                    assert!(polled.is_err());
                    Poll::Ready(())
                })
                .await;
                assert_eq!(set.len(), 1);
            }
            all(set).await;
        });
        net.run(&Options::new())
    };
    run(true).unwrap();
    let error = run(false).unwrap_err().to_string();
    assert!(error.contains("bad") && error.contains("a task"), "{error}");
}

/// Drops or forgets sets while tasks wait. The objects for which they wait may be forgotten too.
#[test]
fn sets_that_are_left() {
    let mut net = Local::new();
    let (mut output, input) = net.channel::<u64>(1);
    net.spawn(async move {
        let input = Rc::new(RefCell::new(input));
        for round in 0..20 {
            let mut set = TaskSet::new();
            for _ in 0..3 {
                let input = Rc::clone(&input);
                set.push(poll_fn(move |context| {
                    input.borrow_mut().poll_read(context)
                }));
            }
            assert!(poll_fn(|context| Poll::Ready(set.poll_join_next(context).is_pending())).await);
            match round % 2 {
                0 => drop(set),
                _ => forget(set),
            }
        }
        let mut input = Rc::into_inner(input).map(RefCell::into_inner);
        // The forgotten sets still have references to the input.
        assert!(input.is_none());
        if let Some(input) = &mut input {
            input.read().await;
        }
    });
    net.spawn(async move {
        yield_now().await;
        output.write(1).await
    });
    net.run(&Options::new()).unwrap();
}

/// Polls a set outside of a run, where it behaves like other futures.
#[test]
fn without_a_run() {
    struct Nothing;
    impl Wake for Nothing {
        fn wake(self: Arc<Self>) {}
    }
    let waker = Waker::from(Arc::new(Nothing));
    let mut context = std::task::Context::from_waker(&waker);
    let mut set: TaskSet<'_, u64> = TaskSet::default();
    assert_eq!(set.poll_join_next(&mut context), Poll::Ready(None));
    set.push(std::future::ready(1));
    set.push(pending());
    assert_eq!(format!("{set:?}"), "TaskSet { len: 2 }");
    assert_eq!(set.poll_join_next(&mut context), Poll::Ready(Some(1)));
    assert_eq!(set.poll_join_next(&mut context), Poll::Pending);
    assert!(!set.is_empty());
}
