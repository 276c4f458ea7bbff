//! Random programs over flow-controlled channels. An auditor process compares the tokens that were
//! written and read, so that the check works at every place.

use std::pin::pin;
use std::task::Poll;

use super::{Random, forget};
use graphmap_runtime as rt;
use rt::{
    Channels, Ends, FlowInput, FlowOutput, FlowSelect, FlowShare, Names, Network, Output, Ports,
    Select, State, Stopped,
};

/// How writers and readers are joined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Joins {
    One,
    Share { in_turn: bool },
    Select,
}

/// A program as its seed determines it.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    seed: u64,
    pub joins: Joins,
    writers: u64,
    readers: u64,
    capacity: u32,
    /// Whether readers and writers may drop their ends without closing them.
    drops: bool,
}

/// Side (`WRITTEN` or `READ`), member of the bundle, tokens in order, and whether the end was
/// dropped so that tokens may be missing. The writer of a share reports on all members, and so does
/// the reader of a select.
type Account = (u8, u32, Vec<u64>, bool);

const WRITTEN: u8 = 0;
const READ: u8 = 1;

impl Program {
    /// Returns whether the number of tokens that are read is known.
    fn is_fixed(&self) -> bool {
        !self.drops && self.joins != Joins::Select
    }
}

pub fn program(seed: u64) -> Program {
    let mut random = Random(seed);
    let joins = match random.below(4) {
        0 => Joins::One,
        1 => Joins::Share { in_turn: false },
        2 => Joins::Share { in_turn: true },
        _ => Joins::Select,
    };
    let many = 1 + random.below(4);
    Program {
        seed,
        joins,
        writers: if joins == Joins::Select { many } else { 1 },
        readers: if matches!(joins, Joins::Share { .. }) {
            many
        } else {
            1
        },
        capacity: 1 + random.below(3) as u32,
        drops: random.below(2) == 0,
    }
}

pub struct Writer {
    flow: Vec<FlowOutput<u64>>,
    account: Output<Account>,
}

impl Ports for Writer {
    fn connect(ends: &mut Ends<'_>) -> Self {
        Writer {
            flow: ends.flow_outputs(),
            account: ends.output(),
        }
    }
}

pub struct Reader {
    flow: Vec<FlowInput<u64>>,
    account: Output<Account>,
}

impl Ports for Reader {
    fn connect(ends: &mut Ends<'_>) -> Self {
        Reader {
            flow: ends.flow_inputs(),
            account: ends.output(),
        }
    }
}

pub struct Auditor(Select<Account>);

impl Ports for Auditor {
    fn connect(ends: &mut Ends<'_>) -> Self {
        Auditor(ends.select())
    }
}

/// Polls a future once, and drops or forgets it if it is not ready.
async fn once<R>(future: impl Future<Output = R>, forgets: bool) -> Option<R> {
    if forgets {
        let mut future = Box::pin(future);
        let polled = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context)));
        let polled = polled.await;
        if polled.is_pending() {
            forget(future);
            return None;
        }
        return ready(polled);
    }
    let mut future = pin!(future);
    let polled = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context)));
    ready(polled.await)
}

fn ready<R>(polled: Poll<R>) -> Option<R> {
    match polled {
        Poll::Ready(ready) => Some(ready),
        Poll::Pending => None,
    }
}

/// State in which an end was last seen. It never changes once it is `Closed`.
struct Seen(State);

impl Seen {
    fn see(&mut self, state: State) -> State {
        assert!(
            self.0 != State::Closed || state == State::Closed,
            "{state:?} after the end"
        );
        self.0 = state;
        state
    }
}

/// A writing end: one channel, or a share.
enum Writes {
    One(FlowOutput<u64>),
    Share(Box<FlowShare<u64>>),
}

impl Writes {
    async fn open(&mut self) -> State {
        match self {
            Writes::One(end) => end.open().await,
            Writes::Share(end) => end.open().await,
        }
    }

    async fn write(&mut self, token: u64) -> Result<usize, Stopped> {
        match self {
            Writes::One(end) => end.write(token).await.map(|()| 0),
            Writes::Share(end) => end.write(token).await,
        }
    }

    fn state(&mut self) -> State {
        match self {
            Writes::One(end) => end.state(),
            Writes::Share(end) => end.state(),
        }
    }

    fn closing(&mut self) -> rt::Closing<'_, u64> {
        match self {
            Writes::One(end) => end.closing(),
            Writes::Share(end) => end.closing(),
        }
    }

    fn close(&mut self) {
        match self {
            Writes::One(end) => end.close(),
            Writes::Share(end) => end.close(),
        }
    }
}

/// A reading end: one channel, or a select.
enum Reads {
    One(FlowInput<u64>),
    Select(Box<FlowSelect<u64>>),
}

impl Reads {
    async fn open(&mut self) -> State {
        match self {
            Reads::One(end) => end.open().await,
            Reads::Select(end) => end.open().await,
        }
    }

    async fn read(&mut self) -> Option<(usize, u64)> {
        match self {
            Reads::One(end) => end.read().await.map(|token| (0, token)),
            Reads::Select(end) => end.read().await,
        }
    }

    fn state(&mut self) -> State {
        match self {
            Reads::One(end) => end.state(),
            Reads::Select(end) => end.state(),
        }
    }

    fn close(&mut self) {
        match self {
            Reads::One(end) => end.close(),
            Reads::Select(end) => end.close(),
        }
    }
}

/// Uses the ends of a bundle before the bundle is made of them. Returns the tokens that were
/// written, by member.
async fn use_writers(
    program: Program,
    ends: &mut [FlowOutput<u64>],
    next: &mut u64,
) -> Vec<Vec<u64>> {
    let mut random = Random(program.seed.wrapping_mul(0x2545_f491) | 1);
    let mut written = vec![Vec::new(); ends.len()];
    for _ in 0..random.below(6) {
        let at = random.below(ends.len() as u64) as usize;
        match random.below(4) {
            0 => drop(once(ends[at].open(), false).await),
            1 => drop(ends[at].state()),
            2 if program.drops => match random.below(2) {
                0 => ends[at].close(),
                _ => {
                    if let Some(Ok(())) = once(ends[at].write(*next), false).await {
                        written[at].push(*next);
                        *next += 1;
                    }
                }
            },
            _ => rt::yield_now().await,
        }
    }
    written
}

/// Uses the ends of a bundle before the bundle is made of them. Returns the tokens that were read,
/// by member.
async fn use_readers(program: Program, ends: &mut [FlowInput<u64>]) -> Vec<Vec<u64>> {
    let mut random = Random(program.seed.wrapping_mul(0x2545_f491) | 1);
    let mut read = vec![Vec::new(); ends.len()];
    for _ in 0..random.below(6) {
        let at = random.below(ends.len() as u64) as usize;
        match random.below(5) {
            0 => drop(once(ends[at].open(), false).await),
            1 => drop(ends[at].state()),
            2 => ends[at].close(),
            3 => {
                if let Some(Some(token)) = once(ends[at].read(), false).await {
                    read[at].push(token);
                }
            }
            _ => rt::yield_now().await,
        }
    }
    read
}

async fn write(program: Program, mut p: Writer) -> Result<(), Stopped> {
    let me = rt::me().index as u64;
    let mut random = Random(program.seed ^ (me + 1).wrapping_mul(0x9e37));
    let mut next = me << 32;
    let mut written = vec![Vec::new(); program.readers as usize];
    if program.joins != Joins::Select && program.joins != Joins::One {
        written = use_writers(program, &mut p.flow, &mut next).await;
    }
    let mut end = match program.joins {
        Joins::Share { in_turn: false } => Writes::Share(Box::new(p.flow.into())),
        Joins::Share { in_turn: true } => {
            Writes::Share(Box::new(FlowShare::from(p.flow).round_robin()))
        }
        _ => Writes::One(p.flow.remove(0)),
    };
    let mut seen = Seen(State::New);
    let mut was_open = false;
    let mut plan = Random(program.seed ^ me);
    let visits = match program.joins {
        Joins::Select => 1 + random.below(3),
        _ => 1,
    };
    'visits: for visit in 0..visits {
        if visit > 0 || random.below(2) == 0 {
            let opened = once(end.open(), false).await;
            let opened = match opened {
                Some(state) => state,
                None if random.below(4) == 0 && visit > 0 => {
                    // Closes the end while it opens, and opens it again.
                    end.close();
                    end.open().await
                }
                None => end.open().await,
            };
            if seen.see(opened) == State::Closed {
                break;
            }
            was_open = true;
        }
        for _ in 0..plan.below(20) {
            let member = loop {
                let tried = match random.below(4) {
                    0 => once(end.write(next), random.below(8) == 0).await,
                    _ => Some(end.write(next).await),
                };
                match tried {
                    Some(Ok(member)) => break member,
                    Some(Err(Stopped)) => break 'visits,
                    None => rt::yield_now().await,
                }
            };
            written[member].push(next);
            was_open = true;
            next += 1;
            match random.below(8) {
                0 => rt::yield_now().await,
                1 => {
                    let _ = once(end.closing(), random.below(8) == 0).await;
                }
                2 => {
                    let asked = seen.see(end.state()) == State::Closing;
                    if asked && !program.is_fixed() && random.below(2) == 0 {
                        break 'visits;
                    }
                }
                _ => {}
            }
        }
        if program.drops && random.below(4) == 0 {
            break;
        }
        end.close();
        if was_open {
            assert!(end.write(0).await.is_err(), "it was closed");
        }
        seen.see(end.state());
    }
    if random.below(2) == 0 {
        end.close();
    }
    drop(end);
    for (member, tokens) in (0..).zip(written) {
        let who = if program.joins == Joins::Select {
            me as u32
        } else {
            member
        };
        p.account.write((WRITTEN, who, tokens, false)).await?;
    }
    Ok(())
}

async fn read(program: Program, mut p: Reader) -> Result<(), Stopped> {
    let me = rt::me().index as u64;
    let mut random = Random(program.seed ^ (me + 1).wrapping_mul(0x79b9_7f4a));
    let mut read = vec![Vec::new(); program.writers as usize];
    if program.joins == Joins::Select {
        read = use_readers(program, &mut p.flow).await;
    }
    let mut end = match program.joins {
        Joins::Select => Reads::Select(Box::new(p.flow.into())),
        _ => Reads::One(p.flow.remove(0)),
    };
    let mut seen = Seen(State::New);
    let mut dropped = false;
    for visit in 0..1 + random.below(4) {
        if program.drops && random.below(8) == 0 {
            dropped = true;
            break;
        }
        if visit > 0 || random.below(2) == 0 {
            if once(end.open(), false).await.is_none() && random.below(4) == 0 {
                end.close(); // before it is open
            }
            if seen.see(end.open().await) == State::Closed {
                break;
            }
        }
        let wants = random.below(12);
        let mut count = 0;
        let left = loop {
            if count == wants {
                end.close();
            }
            let token = match random.below(4) {
                0 => match once(end.read(), random.below(8) == 0).await {
                    Some(token) => token,
                    None => {
                        rt::yield_now().await;
                        continue;
                    }
                },
                _ => end.read().await,
            };
            let Some((from, token)) = token else {
                break true;
            };
            read[from].push(token);
            count += 1;
            if program.drops && random.below(40) == 0 {
                break false;
            }
            if random.below(4) == 0 {
                seen.see(end.state());
            }
        };
        if !left {
            dropped = true;
            break;
        }
        assert_eq!(end.read().await, None, "it has left");
        // A reader of a share has left, but the others may still be open. Any other channel is
        // closed.
        let state = seen.see(end.state());
        assert!(state == State::Closed || state == State::New, "{state:?}");
        if !matches!(program.joins, Joins::Share { .. }) {
            assert_eq!(state, State::Closed);
            break;
        }
    }
    drop(end);
    for (member, tokens) in (0..).zip(read) {
        let who = if program.joins == Joins::Select {
            member
        } else {
            me as u32
        };
        p.account.write((READ, who, tokens, dropped)).await?;
    }
    Ok(())
}

/// Compares the tokens that were written and read, by member. Returns the number
/// of tokens that were read if it is known, and 0 otherwise.
async fn audit(program: Program, mut p: Auditor) -> u64 {
    let members = program.writers.max(program.readers) as usize;
    let mut accounts = [vec![None; members], vec![None; members]];
    while let Some((_, (side, who, tokens, dropped))) = p.0.read().await {
        let account = &mut accounts[side as usize][who as usize];
        assert!(account.replace((tokens, dropped)).is_none());
    }
    let mut total = 0;
    let [written, read] = accounts;
    for (written, read) in written.into_iter().zip(read) {
        let (written, _) = written.expect("the writer tells");
        let (read, dropped) = read.expect("the reader tells");
        assert!(written.is_sorted(), "{program:?}");
        if dropped {
            assert!(
                written.starts_with(&read),
                "{program:?}\n{written:?}\n{read:?}"
            );
        } else {
            assert_eq!(written, read, "{program:?}");
        }
        total += read.len() as u64;
    }
    if !program.is_fixed() {
        return 0;
    }
    assert_eq!(total, Random(program.seed).below(20), "{program:?}");
    total
}

/// Returns the network of a seed. Its auditor passes the number of tokens that were read to `log`.
pub fn network(seed: u64, log: impl Fn(u64) + Clone + Send + Sync + 'static) -> Network {
    let program = program(seed);
    let mut net = Network::new("flows", "flows.dot");
    let (writers, readers) = (program.writers, program.readers);
    let ranks = |first: u64, count: u64| format!("{first}+1*{count}");
    let w = net.kind(
        "w",
        Names::Numbered("w", &ranks(0, writers)),
        &ranks(0, writers),
        &["tokens", "account"],
        move |p: Writer| write(program, p),
    );
    let r = net.kind(
        "r",
        Names::Numbered("r", &ranks(0, readers)),
        &ranks(writers, readers),
        &["tokens", "account"],
        move |p: Reader| read(program, p),
    );
    let a = net.kind(
        "a",
        Names::Listed(&["a"]),
        &ranks(writers + readers, 1),
        &["accounts"],
        move |p: Auditor| {
            let log = log.clone();
            async move { log(audit(program, p).await) }
        },
    );
    net.payload(rt::format_of!(u64));
    net.payload(rt::format_of!(Account));
    let (from, to) = match program.joins {
        Joins::Select => (ranks(0, writers), format!("0+0*{writers}")),
        _ => (format!("0+0*{readers}"), ranks(0, readers)),
    };
    net.flow_channels::<u64>(Channels {
        capacity: program.capacity,
        ..Channels::new((w, 0), (r, 0), &from, &to)
    });
    let mut accounts = |kind, count| {
        let (from, to) = (ranks(0, count), format!("0+0*{count}"));
        net.channels::<Account>(Channels::new((kind, 1), (a, 0), &from, &to));
    };
    accounts(w, writers);
    accounts(r, readers);
    net
}
