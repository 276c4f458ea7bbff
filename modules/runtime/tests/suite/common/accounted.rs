//! Random programs that cannot block, and in which every token is accounted for. A cancelled read
//! or write is tried again, and every wait is for a process that writes, reads or ends later.
//!
//! The final state of a process depends only on the tokens that it has read. It depends neither on
//! how futures are awaited (`ways`) nor on the number of schedulers.

use std::cell::RefCell;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::program::{Plan, Program};
use super::token::{DROPPED, Token};
use super::ways::{glance, nap};
use super::{BOTH, Both, Random, mix};
use graphmap_runtime as rt;
use rt::{
    Channels, Gather, Input, Local, Names, Network, Options, Output, RunError, Scatter, Select,
    Share, Stopped, Switch,
};

impl Program {
    /// Returns the role of a process with its ports.
    fn role(self: &Arc<Self>, rank: u64, ports: Both<Token>) -> Role {
        let ins = self.edges(|edge| edge.to == rank).zip(ports.ins);
        let outs = self.edges(|edge| edge.from == rank).zip(ports.outs);
        Role {
            program: Arc::clone(self),
            rank,
            state: mix(self.seed, rank),
            what: Random(mix(self.seed + 1, rank)),
            how: Random(mix(self.seed + 2, rank)),
            left: 2 * self.steps,
            ins: ins
                .map(|(channel, input)| In {
                    channel,
                    input,
                    next: 0,
                    seen: 0,
                })
                .collect(),
            outs: outs
                .map(|(channel, output)| {
                    let next = u64::from(self.edges[channel].initial);
                    Out {
                        channel,
                        output,
                        next,
                    }
                })
                .collect(),
        }
    }
}

/// A reading end, the number of its next token, and a digest of all tokens that it has read.
struct In {
    channel: usize,
    input: Input<Token>,
    next: u64,
    seen: u64,
}

/// A writing end, and the number of its next token.
struct Out {
    channel: usize,
    output: Output<Token>,
    next: u64,
}

/// State and ports of a process. It can be sent to another process, which continues it.
struct Role {
    program: Arc<Program>,
    rank: u64,
    state: u64,
    /// Decides what the process does. This must not depend on the order of events.
    what: Random,
    /// Decides how the process does it. This may depend on the order of events.
    how: Random,
    /// Number of steps that remain under [`Plan::Free`].
    left: u64,
    ins: Vec<In>,
    outs: Vec<Out>,
}

/// Number of attempts that may be cancelled before the process waits.
const TRIES: u64 = 4;

impl In {
    /// Checks a token that was read, or the end of the channel. Returns the value of the token.
    fn take(&mut self, program: &Program, token: Option<Token>) -> Option<u64> {
        let Some(token) = token else {
            let written = program
                .books
                .as_ref()
                .map(|books| &books.written[self.channel]);
            if let Some(written) = written {
                let initial = u64::from(program.edges[self.channel].initial);
                let written = initial + written.load(Ordering::SeqCst);
                assert_eq!(
                    self.next, written,
                    "lost at the end of channel {}",
                    self.channel
                );
            }
            return None;
        };
        let (number, value) = token.open();
        if program.plan != Plan::Farm {
            assert_eq!(
                number, self.next,
                "lost or doubled in channel {}",
                self.channel
            );
        }
        self.next += 1;
        self.seen = mix(self.seen, value);
        Some(value)
    }

    async fn read(&mut self, program: &Program, how: &mut Random) -> Option<u64> {
        for attempts in 0.. {
            let read = match how.below(16) {
                0 if !cfg!(miri) && !program.plain => poll_nested(&mut self.input, program.alone),
                _ => {
                    program
                        .attempt(self.input.read(), how, attempts < TRIES)
                        .await
                }
            };
            if let Some(token) = read {
                return self.take(program, token);
            }
        }
        unreachable!("it does not leave for ever")
    }
}

/// Polls a port once in a process of a nested run. It is polled as if to wait only if there is one
/// scheduler.
fn poll_nested(input: &mut Input<Token>, alone: bool) -> Option<Option<Token>> {
    let mut port = mem::replace(input, Input::unconnected());
    let back = Rc::new(RefCell::new(None));
    let mut inner = Local::new();
    let given = Rc::clone(&back);
    inner.spawn(async move {
        let seen = match alone {
            true => glance(port.read()).await,
            false => port.try_read().ok(),
        };
        *given.borrow_mut() = Some((port, seen));
    });
    inner.run(&Options::new()).unwrap();
    let (port, seen) = back.take().expect("it has ended");
    *input = port;
    seen
}

/// Writes a token with `write`, and tries again if the write is cancelled.
macro_rules! write_until_done {
    ($program:expr, $how:expr, $number:expr, $value:expr, |$token:ident| $write:expr) => {{
        let mut attempts = 0;
        loop {
            let $token = $program.token($number, $value);
            let fate = Arc::clone(&$token.fate);
            let done = $program.attempt($write, $how, attempts < TRIES).await;
            attempts += 1;
            match done {
                Some(done) => break done.is_ok(),
                // The write was cancelled, but the reader has the token.
                None if fate.load(Ordering::SeqCst) != DROPPED => break true,
                None => {}
            }
        }
    }};
}

impl Out {
    /// Records a write. If no process reads the channel any more, the process continues as if the
    /// token had been read.
    fn wrote(&mut self, program: &Program, read: bool) {
        if read && let Some(books) = &program.books {
            books.written[self.channel].fetch_add(1, Ordering::SeqCst);
        }
        self.next += 1;
    }

    async fn write(&mut self, program: &Program, how: &mut Random, value: u64) {
        let (output, number) = (&mut self.output, self.next);
        let done = write_until_done!(program, how, number, value, |token| output.write(token));
        self.wrote(program, done);
    }
}

impl Role {
    fn read_in(&mut self, value: Option<u64>) {
        self.state = mix(self.state, value.unwrap_or(7));
    }

    async fn read(&mut self, at: usize) -> Option<u64> {
        let value = self.ins[at].read(&self.program, &mut self.how).await;
        self.read_in(value);
        value
    }

    async fn write(&mut self, at: usize) {
        let out = &mut self.outs[at];
        out.write(&self.program, &mut self.how, self.state).await;
    }

    /// Does something that does not change the final state of the process.
    async fn pause(&mut self) {
        if self.program.plain {
            return;
        }
        match self.how.below(6) {
            0 => rt::yield_now().await,
            1 => nap().await,
            2 => {
                for out in &mut self.outs {
                    glance(out.output.stopped()).await;
                }
            }
            3 if !cfg!(miri) => {
                let mut inner = Local::new();
                let (mut output, mut input) = inner.channel::<u64>(1);
                inner.spawn(async move {
                    for n in 0..3 {
                        output.write(n).await?;
                    }
                    Ok::<(), Stopped>(())
                });
                inner.spawn(async move {
                    for n in 0..3 {
                        assert_eq!(input.read().await, Some(n));
                    }
                    assert_eq!(input.read().await, None);
                });
                inner.run(&Options::new()).unwrap();
            }
            _ => {}
        }
        let Some(books) = self
            .program
            .books
            .as_ref()
            .filter(|_| self.program.spurious)
        else {
            return;
        };
        let mine = std::future::poll_fn(|context| context.waker().clone().into()).await;
        let other = {
            let mut wakers = books.wakers.lock().unwrap();
            wakers.push(mine);
            let at = self.how.below(wakers.len() as u64) as usize;
            (self.how.below(3) > 0).then(|| wakers.swap_remove(at))
        };
        match other {
            Some(waker) if self.how.below(4) > 0 => waker.wake(),
            other => drop(other),
        }
    }

    async fn go(mut self, log: impl Fn((usize, u64)), handed: Option<Output<Role>>) {
        match self.program.plan {
            Plan::Free => return self.freely(log, handed).await,
            Plan::Rounds => self.in_rounds().await,
            Plan::Farm if self.rank == 0 => self.share().await,
            Plan::Farm if self.rank + 1 == self.program.processes => self.collect().await,
            Plan::Farm => return self.work().await,
        }
        log((self.rank as usize, self.state));
    }

    async fn in_rounds(&mut self) {
        let ins = self.ins.len();
        let mut order: Vec<usize> = (0..ins + self.outs.len()).collect();
        for _ in 0..self.program.steps {
            self.what.shuffle(&mut order);
            for &port in &order {
                match port.checked_sub(ins) {
                    None => assert!(self.read(port).await.is_some(), "written once a round"),
                    Some(port) => self.write(port).await,
                }
            }
            self.pause().await;
        }
    }

    async fn freely(mut self, log: impl Fn((usize, u64)), mut handed: Option<Output<Role>>) {
        while self.left > 0 {
            if self.left == self.program.steps
                && let Some(mut handed) = handed.take()
            {
                // The other process has all the ports now, and continues.
                let taken = handed.write(self).await;
                assert!(taken.is_ok(), "the other one waits for it");
                return;
            }
            self.left -= 1;
            let (ins, outs) = (self.ins.len() as u64, self.outs.len() as u64);
            match self.what.below(11) {
                0..=3 if ins > 0 => {
                    let at = self.what.below(ins) as usize;
                    self.read(at).await;
                }
                4..=7 if outs > 0 => {
                    let at = self.what.below(outs) as usize;
                    self.write(at).await;
                }
                8 if ins > 0 && outs > 0 => {
                    let at = self.what.below(ins) as usize;
                    let to = self.what.below(outs) as usize;
                    let (mut one, mut other) = (Random(self.how.next()), Random(self.how.next()));
                    let (input, out) = (&mut self.ins[at], &mut self.outs[to]);
                    let write = out.write(&self.program, &mut one, self.state);
                    let read = input.read(&self.program, &mut other);
                    let ((), value) = rt::join(write, read).await;
                    self.read_in(value);
                }
                9 if self.what.below(6) == 0 && ins > 1 => drop(self.ins.pop()),
                9 if self.what.below(6) == 0 && outs > 1 => drop(self.outs.pop()),
                _ => self.pause().await,
            }
        }
        self.ending().await;
        log((self.rank as usize, self.state));
    }

    async fn ending(&mut self) {
        if self.what.below(2) == 0 && !self.outs.is_empty() {
            self.write_as_bundle().await;
        }
        match self.what.below(5) {
            0 => {}
            1 => {
                for at in 0..self.ins.len() {
                    while self.read(at).await.is_some() {}
                }
            }
            2 => {
                let mut gather = Vec::new();
                for each in &mut self.ins {
                    gather.push(mem::replace(&mut each.input, Input::unconnected()));
                }
                let mut gather = Gather::from(gather);
                let mut attempts = 0;
                while !self.ins.is_empty() {
                    attempts += 1;
                    let row = self
                        .program
                        .attempt(gather.read(), &mut self.how, attempts % 4 != 0)
                        .await;
                    let Some(row) = row else { continue };
                    let Some(row) = row else { break };
                    for (each, token) in self.ins.iter_mut().zip(row) {
                        each.take(&self.program, Some(token));
                    }
                }
                self.digest();
            }
            _ => self.select().await,
        }
    }

    /// Mixes the tokens of all inputs into the state, independently of their order.
    fn digest(&mut self) {
        for each in &self.ins {
            self.state = mix(self.state, each.seen ^ each.next);
        }
    }

    /// Reads all inputs to their ends.
    async fn select(&mut self) {
        let inputs = self.ins.iter_mut();
        let inputs = inputs.map(|each| mem::replace(&mut each.input, Input::unconnected()));
        let mut select = Select::from(inputs.collect::<Vec<_>>());
        let (mut attempts, mut ended) = (0, 0);
        loop {
            attempts += 1;
            let read = self
                .program
                .attempt(select.read_or_end(), &mut self.how, attempts % 4 != 0)
                .await;
            match read {
                None => {}
                Some(None) => break,
                Some(Some((member, token))) => {
                    ended += usize::from(token.is_none());
                    self.ins[member].take(&self.program, token);
                }
            }
        }
        assert_eq!(ended, self.ins.len(), "each end is told once");
        self.digest();
    }

    async fn write_as_bundle(&mut self) {
        let outputs = self.outs.iter_mut();
        let outputs = outputs.map(|each| mem::replace(&mut each.output, Output::unconnected()));
        let outputs: Vec<_> = outputs.collect();
        let rows = 1 + self.what.below(5);
        if self.what.below(2) == 0 {
            let mut scatter = Scatter::from(outputs);
            for _ in 0..rows {
                let numbers = self.outs.iter().map(|out| out.next);
                let row: Vec<_> = numbers
                    .map(|number| self.program.token(number, self.state))
                    .collect();
                let fates: Vec<_> = row.iter().map(|token| Arc::clone(&token.fate)).collect();
                // The write is never cancelled. A cancelled row may have been sent to some members
                // only, and the process could not continue from there.
                let _: Option<Result<(), Stopped>> = self
                    .program
                    .attempt(scatter.write(row), &mut self.how, false)
                    .await;
                for (out, fate) in self.outs.iter_mut().zip(fates) {
                    out.wrote(&self.program, fate.load(Ordering::SeqCst) != DROPPED);
                }
            }
            return;
        }
        let mut switch = Switch::from(outputs);
        for _ in 0..rows * switch.members() as u64 {
            let to = self.what.below(switch.members() as u64) as usize;
            let (program, how, number) = (&self.program, &mut self.how, self.outs[to].next);
            let done = write_until_done!(program, how, number, self.state, |token| switch
                .write_to(to, token));
            self.outs[to].wrote(&self.program, done);
        }
    }

    /// Writes the tasks of a farm to the workers that have room.
    async fn share(&mut self) {
        let outputs = self.outs.drain(..).map(|out| out.output);
        let mut share = Share::from(outputs.collect::<Vec<_>>());
        for task in 0..self.program.steps {
            let (program, how, value) = (&self.program, &mut self.how, mix(self.state, task));
            let done = write_until_done!(program, how, task, value, |token| share.write(token));
            assert!(done, "workers do not leave");
            self.pause().await;
        }
    }

    async fn work(mut self) {
        loop {
            let (input, how) = (&mut self.ins[0].input, &mut self.how);
            let mut attempts = 0;
            let token = loop {
                attempts += 1;
                if let Some(token) = self
                    .program
                    .attempt(input.read(), how, attempts % 4 != 0)
                    .await
                {
                    break token;
                }
            };
            let Some(token) = token else { return };
            let (number, value) = token.open();
            let output = &mut self.outs[0].output;
            let done = write_until_done!(self.program, how, number, value, |token| output
                .write(token));
            assert!(done, "who collects does not leave");
            self.pause().await;
        }
    }

    /// Reads the results of a farm, and checks that each task has come once.
    async fn collect(&mut self) {
        let inputs = self.ins.drain(..).map(|each| each.input);
        let mut select = Select::from(inputs.collect::<Vec<_>>());
        let mut seen = vec![None; self.program.steps as usize];
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self
                .program
                .attempt(select.read(), &mut self.how, attempts % 4 != 0)
                .await
            {
                None => {}
                Some(None) => break,
                Some(Some((_, token))) => {
                    let (number, value) = token.open();
                    let before = seen[number as usize].replace(value);
                    assert_eq!(before, None, "task {number} came twice");
                }
            }
        }
        for (number, value) in seen.into_iter().enumerate() {
            let value = value.unwrap_or_else(|| panic!("task {number} was lost"));
            self.state = mix(self.state, value);
        }
    }
}

/// Runs a program on one scheduler, as a network without generated wiring. With `hand_over`, ports
/// move from one process to another.
pub fn run_local(
    program: Program,
    options: &Options,
    hand_over: bool,
    log: impl Fn((usize, u64)) + Clone + 'static,
) -> Result<(), RunError> {
    let mut program = program.accounted();
    program.alone = true;
    let program = Arc::new(program);
    let mut net = Local::new();
    let mut ports: Vec<Both<Token>> = Vec::new();
    ports.resize_with(program.processes as usize, || Both {
        ins: Vec::new(),
        outs: Vec::new(),
    });
    for (channel, edge) in program.edges.iter().enumerate() {
        let (mut output, input) = net.channel(edge.capacity);
        for number in 0..u64::from(edge.initial) {
            let token = program.token(number, program.initial(channel, number));
            assert!(
                output.try_write(token).is_ok(),
                "there is room for what is there first"
            );
        }
        ports[edge.from as usize].outs.push(output);
        ports[edge.to as usize].ins.push(input);
    }
    for (rank, ports) in ports.into_iter().enumerate() {
        let role = program.role(rank as u64, ports);
        if hand_over && program.plan == Plan::Free {
            let (output, mut input) = net.channel::<Role>(1);
            net.spawn(role.go(log.clone(), Some(output)));
            let log = log.clone();
            net.spawn(async move {
                let role = input.read().await.expect("it hands itself over");
                role.go(log, None).await;
            });
        } else {
            net.spawn(role.go(log.clone(), None));
        }
    }
    net.run(options)?;
    program.close();
    Ok(())
}

/// Returns the network of a program. Each process passes its rank and final state to `log`.
pub fn network(
    program: &Arc<Program>,
    log: impl Fn((usize, u64)) + Clone + Send + Sync + 'static,
) -> Network {
    let mut net = Network::new("accounted", "accounted.dot");
    let all = format!("0+1*{}", program.processes);
    let ours = Arc::clone(program);
    let play = move |ports: Both<Token>| {
        let (program, log) = (Arc::clone(&ours), log.clone());
        async move {
            let rank = rt::me().rank as u64;
            program.role(rank, ports).go(log, None).await;
        }
    };
    let kind = net.kind("p", Names::Numbered("p", &all), &all, BOTH, play);
    net.payload(rt::format_of!(Token));
    for (channel, edge) in program.edges.iter().enumerate() {
        let (from, to) = (edge.from.to_string(), edge.to.to_string());
        let class = Channels {
            capacity: edge.capacity,
            ..Channels::new((kind, 1), (kind, 0), &from, &to)
        };
        let program = Arc::clone(program);
        net.channels_filled(class, edge.initial, move |_, number| {
            let number = number as u64;
            program.token(number, program.initial(channel, number))
        });
    }
    net
}
