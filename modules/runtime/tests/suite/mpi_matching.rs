//! Compares random messages and receives with a simple model of MPI's matching rules.
//!
//! A call takes effect when it is made. The order of the calls therefore determines which message
//! matches which receive. The ranks log their calls, and the model replays them on two lists per
//! rank.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::Random;
use graphmap_runtime::mpi::{
    self, Communicator, Error, Receiving, Request, Sending, Source, TagOf,
};
use graphmap_runtime::{Local, Options, yield_now};

#[derive(Debug, Clone, Copy)]
enum Step {
    Send {
        message: u32,
        comm: u32,
        from: usize,
        to: usize,
        tag: i32,
    },
    Receive {
        receive: u32,
        comm: u32,
        at: usize,
        source: Source,
        tag: TagOf,
    },
    GiveUp {
        receive: u32,
        at: usize,
    },
    Unsend {
        message: u32,
        to: usize,
        done: bool,
    },
}

#[derive(Clone, Copy)]
struct Sent {
    message: u32,
    comm: u32,
    from: usize,
    tag: i32,
}

#[derive(Clone, Copy)]
struct Wanted {
    receive: u32,
    comm: u32,
    source: Source,
    tag: TagOf,
}

impl Wanted {
    fn takes(&self, sent: &Sent) -> bool {
        self.comm == sent.comm
            && (self.source == Source::Any || self.source == Source::Rank(sent.from))
            && (self.tag == TagOf::Any || self.tag == TagOf::Tag(sent.tag))
    }
}

/// State of one rank in the model.
#[derive(Default)]
struct Rank {
    wanted: Vec<Wanted>,
    waiting: Vec<Sent>,
    /// Pairs of receive number and message.
    matched: Vec<(u32, Sent)>,
}

impl Rank {
    /// Delivers a message that was sent or given back. Messages are numbered in the order in which
    /// they were sent.
    fn comes(&mut self, sent: Sent) {
        match self.wanted.iter().position(|wanted| wanted.takes(&sent)) {
            Some(at) => {
                let wanted = self.wanted.remove(at);
                self.matched.push((wanted.receive, sent));
            }
            None => {
                let at = self
                    .waiting
                    .partition_point(|other| other.message < sent.message);
                self.waiting.insert(at, sent);
            }
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Send {
                message,
                comm,
                from,
                tag,
                ..
            } => self.comes(Sent {
                message,
                comm,
                from,
                tag,
            }),
            Step::Receive {
                receive,
                comm,
                source,
                tag,
                ..
            } => {
                let wanted = Wanted {
                    receive,
                    comm,
                    source,
                    tag,
                };
                match self.waiting.iter().position(|sent| wanted.takes(sent)) {
                    Some(at) => self.matched.push((receive, self.waiting.remove(at))),
                    None => self.wanted.push(wanted),
                }
            }
            Step::GiveUp { receive, .. } => {
                self.wanted.retain(|wanted| wanted.receive != receive);
                if let Some(at) = self.matched.iter().position(|matched| matched.0 == receive) {
                    let (_, sent) = self.matched.remove(at);
                    self.comes(sent);
                }
            }
            Step::Unsend { message, done, .. } => {
                let before = self.waiting.len();
                if done {
                    self.waiting.retain(|sent| sent.message != message);
                    assert_eq!(
                        self.waiting.len() + 1,
                        before,
                        "what was taken back had not been matched"
                    );
                }
            }
        }
    }

    fn got(&self, receive: u32) -> Option<Sent> {
        self.matched
            .iter()
            .find(|matched| matched.0 == receive)
            .map(|matched| matched.1)
    }
}

#[derive(Default)]
struct Log {
    steps: Vec<Step>,
    messages: u32,
    receives: u32,
    finished: usize,
    compared: usize,
}

/// Number of a message, and a vector on the heap with two copies of it.
type Value = (u32, Vec<u32>);

/// Makes random calls, and compares the result with the model. With `many`, the lists become long
/// enough to be indexed.
async fn rank(
    world: Communicator,
    seed: u64,
    many: bool,
    log: Rc<RefCell<Log>>,
) -> Result<(), Error> {
    let other = world.dup().await?;
    let comms = [&world, &other];
    let (me, size) = (world.rank(), world.size());
    let mut random = Random(1 + seed * 100 + me as u64);
    let mut receives: Vec<(u32, Receiving<Value>)> = Vec::new();
    let mut sends: Vec<(u32, usize, Sending)> = Vec::new();
    let (steps, tags) = if cfg!(miri) { (60, 3) } else { (400, 3) };
    // Some ranks send more than they receive, and others the reverse.
    let bias = if many { random.below(2) * 4 } else { 2 };
    for _ in 0..steps {
        let (comm, tag) = (random.below(2) as usize, random.below(tags) as i32);
        match random.below(12) {
            what if what < 3 + bias => {
                let to = random.below(size as u64) as usize;
                let message = {
                    let mut log = log.borrow_mut();
                    let message = log.messages;
                    log.messages += 1;
                    log.steps.push(Step::Send {
                        message,
                        comm: comm as u32,
                        from: me,
                        to,
                        tag,
                    });
                    message
                };
                let value = (message, vec![message; 2]);
                let sent = match random.below(3) {
                    0 => comms[comm].send(value, to, tag),
                    1 => comms[comm].bsend(value, to, tag),
                    _ => comms[comm].ssend(value, to, tag),
                };
                // The other requests are dropped, and their sends continue.
                if random.below(2) == 0 {
                    sends.push((message, to, sent));
                }
            }
            what if what < 9 => {
                let source = match random.below(2) {
                    0 => Source::Any,
                    _ => Source::Rank(random.below(size as u64) as usize),
                };
                let wanted = if random.below(3) == 0 {
                    TagOf::Any
                } else {
                    TagOf::Tag(tag)
                };
                let receive = {
                    let mut log = log.borrow_mut();
                    let receive = log.receives;
                    log.receives += 1;
                    log.steps.push(Step::Receive {
                        receive,
                        comm: comm as u32,
                        at: me,
                        source,
                        tag: wanted,
                    });
                    receive
                };
                receives.push((receive, comms[comm].recv(source, wanted)));
            }
            9 if !receives.is_empty() => {
                let at = random.below(receives.len() as u64) as usize;
                let (receive, request) = receives.swap_remove(at);
                log.borrow_mut()
                    .steps
                    .push(Step::GiveUp { receive, at: me });
                drop(request);
            }
            10 if !sends.is_empty() => {
                let at = random.below(sends.len() as u64) as usize;
                let (message, to, sent) = sends.swap_remove(at);
                let done = sent.cancel();
                log.borrow_mut()
                    .steps
                    .push(Step::Unsend { message, to, done });
            }
            _ => yield_now().await,
        }
    }
    log.borrow_mut().finished += 1;
    while log.borrow().finished < size {
        yield_now().await;
    }
    let mut model = Rank::default();
    for &step in &log.borrow().steps {
        let at = match step {
            Step::Send { to, .. } | Step::Unsend { to, .. } => to,
            Step::Receive { at, .. } | Step::GiveUp { at, .. } => at,
        };
        if at == me {
            model.step(step);
        }
    }
    for (receive, request) in &mut receives {
        let wanted = model.got(*receive);
        assert_eq!(request.is_done(), wanted.is_some());
        if let Some(sent) = wanted {
            let ((message, copy), status) = request.await?;
            assert_eq!((message, copy), (sent.message, vec![sent.message; 2]));
            assert_eq!((status.source, status.tag), (sent.from, sent.tag));
        }
    }
    // Waits until all ranks have compared, because dropping the requests gives messages back.
    log.borrow_mut().compared += 1;
    while log.borrow().compared < size {
        yield_now().await;
    }
    Ok(())
}

fn run(seeds: std::ops::Range<u64>, many: bool) {
    for seed in seeds {
        let mut net = Local::new();
        let log = Rc::new(RefCell::new(Log::default()));
        let size = if many { 2 } else { 1 + seed % 5 };
        for _ in 0..size {
            let log = Rc::clone(&log);
            net.spawn(async move { rank(mpi::world()?, seed, many, log).await });
        }
        net.run(&Options::new().shuffle(seed)).unwrap();
    }
}

#[test]
fn random_messages_are_matched_as_the_model_says() {
    run(if cfg!(miri) { 0..3 } else { 0..150 }, false);
}

#[test]
fn random_messages_in_long_lists_are_matched_as_the_model_says() {
    run(if cfg!(miri) { 0..3 } else { 0..150 }, true);
}
