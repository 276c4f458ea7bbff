//! State that the ranks of one scheduler share.
//!
//! Each scheduler of a run has its own world, which holds the waits of its ranks. Messages to ranks
//! of other schedulers go through [`Others`](super::others::Others). `arrivals.rs` handles messages
//! that arrive.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Context;

use super::call::place;
use super::endpoint::{Endpoints, NOT_A_PROCESS, RequestsQueued, TASK, THREAD, ThreadTable};
use super::entry::{EntryState, NONE};
use super::envelope::NUMBERS;
use super::error::Error;
use super::frame::Frame;
use super::group::Group;
use super::matching::{Action, Lost, Matching};
use super::numbering::Known;
use super::others::Others;
use super::state::{CommunicatorState, Instances, World};
use super::window::{NAMES, RECEIVERS};
use graphmap_executor::exec::current;
use graphmap_executor::exec::frames::Remote;
use graphmap_executor::exec::hooks::Owner;
use graphmap_executor::exec::report::UnreceivedMessages;
use graphmap_executor::exec::shared::Shared as Run;
use graphmap_executor::exec::statistics::RankTraffic;
use graphmap_executor::exec::upper_layer::{ReportWait, UpperLayer};
use graphmap_executor::exec::user_code;
use graphmap_executor::link::between::Header;
use graphmap_executor::link::inbox::SchedulerRequest;
use graphmap_executor::link::waiter::{ARMED, ID};
use graphmap_executor::placement::SchedulerId;

/// Creates the world of the ranks of `scheduler`. `remote` is the link to other OS processes. It is
/// `None` if the run has a single OS process.
pub fn upper_layer(
    run: &Arc<Run>,
    scheduler: SchedulerId,
    remote: Option<&Rc<Remote>>,
) -> Rc<dyn UpperLayer> {
    World::new(Arc::clone(run), Others::of(run, scheduler, remote))
}

impl World {
    fn new(run: Arc<Run>, others: Option<Others>) -> Rc<Self> {
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        let ranks = run.directory.processes() as u32;
        // Each scheduler numbers its communicators itself. No two schedulers share a number.
        let first = Known::end(&run) + others.as_ref().map_or(0, Others::me);
        let all_here = others.is_none().then_some(ranks);
        let (me, count) = others
            .as_ref()
            .map_or((0, 1), |them| (them.me(), them.count()));
        let profiled = run.profiled;
        let world = Rc::new(World {
            id: WORLDS.fetch_add(1, Ordering::Relaxed),
            run,
            ranks,
            matching: RefCell::new(Matching::new(all_here, profiled)),
            others,
            next: Cell::new(first),
            communicators: RefCell::default(),
            all: RefCell::default(),
            known: RefCell::default(),
            endpoints: RefCell::new(Endpoints::new(ranks, me, count)),
            threads: ThreadTable::default(),
            traffic: profiled.then(RefCell::default),
            unreceived: RefCell::default(),
            early: RefCell::default(),
            windows: RefCell::default(),
            within: RefCell::default(),
            busy: RefCell::default(),
        });
        let all = world.join(0, Group::all(ranks), "world".into(), None);
        world.all.replace(Some(all));
        world
    }

    /// Returns the run of this world.
    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the world rank of the process of `member`, which is a process or an endpoint.
    /// Returns `None` if this scheduler does not know the process.
    #[inline]
    pub(super) fn process_of(&self, member: u32) -> Option<u32> {
        match member < self.ranks {
            true => Some(member),
            false => self.endpoints.borrow().process_of(member),
        }
    }

    /// Returns the process that member `waiter` waits for when it waits for member `target`.
    /// `waiter` is `None` if it does not matter. Returns `None` if `target` is `None`, which means
    /// any of several members, or if the process of `target` is not known. It is also `None`
    /// between members of one process of which at least one is an endpoint, because the other waits
    /// of that process may end this wait.
    pub(super) fn awaited(&self, waiter: Option<u32>, target: Option<u32>) -> Option<u32> {
        let process = self.process_of(target?)?;
        let is_process = |member: Option<u32>| member.is_none_or(|member| member < self.ranks);
        let own = waiter.and_then(|waiter| self.process_of(waiter));
        (is_process(waiter) && is_process(target) || own != Some(process)).then_some(process)
    }

    /// Describes a member whose communicator no longer exists, by its world rank or by that of the
    /// process of an endpoint. An endpoint whose process is not known is described as a rank with
    /// its number.
    fn named(&self, member: u32) -> String {
        match (member < self.ranks, self.process_of(member)) {
            (true, _) | (_, None) => format!("rank {member} of the world"),
            (false, Some(process)) => format!("an endpoint of rank {process} of the world"),
        }
    }

    /// Returns the world communicator, and the world rank of the calling process.
    /// [`Error::NoProcess`] if no process of a run calls, and [`Error::Over`] if the run has ended.
    pub(super) fn current() -> Result<(Rc<CommunicatorState>, u32), Error> {
        let (world, rank) = current::upper_layer::<World>().ok_or(Error::NoProcess)?;
        let all = world.all.borrow().clone().ok_or(Error::Over)?;
        Ok((all, rank))
    }

    /// Allocates and returns the number of a new communicator. [`Error::TooMany`] if no number is
    /// left.
    pub(super) fn new_number(&self) -> Result<u32, Error> {
        self.new_numbers(1)
    }

    /// Allocates the numbers of `count` new communicators and returns the first. The others are
    /// [`number_after`](Self::number_after) the first. [`Error::TooMany`] if too few numbers are
    /// left. Then no number is allocated.
    pub(super) fn new_numbers(&self, count: u32) -> Result<u32, Error> {
        let number = self.next.get();
        let all = count.checked_mul(self.step()).ok_or(Error::TooMany)?;
        self.next.set(
            number
                .checked_add(all)
                .filter(|&end| end <= NUMBERS)
                .ok_or(Error::TooMany)?,
        );
        Ok(number)
    }

    /// Returns the number of the communicator `index` positions after the one with number `first`,
    /// if one call of [`new_numbers`](Self::new_numbers) allocated both. This is not checked.
    pub(super) fn number_after(&self, first: u32, index: u32) -> u32 {
        first.wrapping_add(index.wrapping_mul(self.step()))
    }

    /// Returns the number of this scheduler. It is 0 if the run has only one.
    pub(super) fn me(&self) -> u32 {
        self.others.as_ref().map_or(0, Others::me)
    }

    /// Returns the distance between two numbers of this scheduler: the number of schedulers. So no
    /// two schedulers allocate the same number.
    fn step(&self) -> u32 {
        self.others.as_ref().map_or(1, Others::count)
    }

    /// Creates the state of a communicator on this scheduler, and handles frames that arrived early
    /// for it. Must be called only once for each number while the state exists. The new
    /// communicator holds the endpoint leases of `like`. If `like` has the same group, both share
    /// the distribution of the ranks. An early frame that is invalid fails the run.
    pub(super) fn join(
        self: &Rc<Self>,
        number: u32,
        group: Group,
        name: String,
        like: Option<&CommunicatorState>,
    ) -> Rc<CommunicatorState> {
        // A group that was built from numbers holds no lease of its own.
        let group = match like {
            Some(like) => group.holding(like.group()),
            None => group,
        };
        let distribution = match like.filter(|like| like.group().same(&group)) {
            Some(like) => like.distribution.clone(),
            None => {
                let process_of = |member| self.process_of(member);
                let others = self.others.as_ref();
                let found = others.and_then(|others| others.distribution(&group, process_of));
                found.map(Rc::new)
            }
        };
        let shared = Rc::new(CommunicatorState {
            world: Rc::clone(self),
            number,
            size: group.len(),
            group,
            name,
            instances: RefCell::default(),
            distribution,
        });
        let weak = Rc::downgrade(&shared);
        self.communicators.borrow_mut().insert(number, weak);
        self.take_early(&shared);
        shared
    }

    /// Returns the communicator with `number`, or `None` if its state does not exist on this
    /// scheduler. The state exists while a rank here has a handle of it or it has an active
    /// collective call. The state of a predefined communicator that a rank here has requested
    /// exists until the run ends.
    pub(super) fn find_communicator(&self, number: u32) -> Option<Rc<CommunicatorState>> {
        self.communicators.borrow().get(&number)?.upgrade()
    }

    /// Removes a communicator. Counts and drops its messages that no rank can receive any more. The
    /// drops are user code. A message whose sender waits stays.
    ///
    /// # Panics
    /// If the drop of a message panics, unless the thread is panicking already.
    pub(super) fn forget(&self, gone: &CommunicatorState) {
        self.communicators.borrow_mut().remove(&gone.number());
        self.within.take();
        if let Some(traffic) = &self.traffic {
            traffic.borrow_mut().forget(gone.number());
        }
        let lost = self
            .matching
            .borrow_mut()
            .purge(gone.number(), gone.group().members());
        self.count(&lost, Some(gone));
        // Dropping a value runs user code, so it comes last. A panic in one drop does not prevent
        // the others.
        let dropped = lost
            .into_iter()
            .map(|lost| user_code::caught(|| drop(lost.value)));
        let dropped: Vec<_> = dropped.filter_map(Result::err).collect();
        if let Some(text) = dropped.first()
            && !std::thread::panicking()
        {
            panic!("a message that was never received panicked when it was dropped: {text}");
        }
    }

    /// Counts messages that no rank received. At the first call with messages, keeps a description
    /// of the one among them with the lowest `order`. `shared` is their communicator, if it is
    /// known.
    fn count(&self, lost: &[Lost], shared: Option<&CommunicatorState>) {
        let Some(first) = lost.iter().min_by_key(|lost| lost.order) else {
            return;
        };
        let mut unreceived = self.unreceived.borrow_mut();
        unreceived.0 += lost.len() as u64;
        if unreceived.1.is_none() {
            let reserved_name = || self.reserved_name(first.envelope.number(), first.member);
            let (name, to) = match shared {
                Some(shared) => {
                    let to = shared.group().rank_of(first.member);
                    (shared.name().to_string(), to)
                }
                None => reserved_name().unwrap_or_else(|| ("a dropped communicator".into(), None)),
            };
            let to = to.map_or_else(|| self.named(first.member), |to| format!("rank {to}"));
            let (from, tag) = (first.envelope.source(), first.envelope.tag());
            let others = self.others.as_ref().filter(|_| first.from != NONE);
            let sent = match others {
                Some(others) => format!("in {}", others.name(first.from)),
                None => format!("at {}", place(first.at)),
            };
            unreceived.1 = Some(format!(
                "from rank {} to {to} ({name}, tag {}), sent {sent}",
                from.unwrap_or(0),
                tag.unwrap_or(0),
            ));
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.matching.borrow().is_over
    }

    /// Applies `f` to the matching state, then wakes the waiters and sends the replies that result.
    /// Returns the result of `f`, which must not use the matching state of the world otherwise.
    #[inline]
    pub(super) fn change<R>(&self, f: impl FnOnce(&mut Matching) -> R) -> R {
        let mut matching = self.matching.borrow_mut();
        let answer = f(&mut matching);
        if !matching.actions.is_empty() {
            let actions = std::mem::take(&mut matching.actions);
            drop(matching);
            self.act(actions);
        }
        answer
    }

    /// Performs the actions that follow from a change of the matching state, in order: wakes
    /// waiters, and sends frames to other schedulers.
    #[inline(never)]
    fn act(&self, actions: Vec<Action>) {
        for action in actions {
            match (action, &self.others) {
                (Action::Wake(word), _) => wake(word),
                (Action::Credit(of, bytes), Some(others)) => others.free_credit(of, bytes),
                (Action::ClearToSend(whose, entry), Some(others)) => {
                    others.send(whose, Frame::ClearToSend { entry });
                }
                (_, None) => {}
            }
        }
    }

    /// Returns the name of the type with `number`, or "a type of another OS process" if no other
    /// scheduler has sent the name.
    pub(super) fn type_name(&self, number: u64) -> String {
        let name = self
            .others
            .as_ref()
            .and_then(|others| others.type_name(number));
        name.unwrap_or_else(|| "a type of another OS process".to_string())
    }

    /// Returns the key under which a foreign waker is registered for the entry at `at`. The key is
    /// odd. State words of channels have even addresses, so they cannot collide with it.
    fn owner(&self, at: u32) -> Owner {
        (self.id << 33 | u64::from(at) << 1 | 1) as Owner
    }

    /// Registers the waker of `context` with the entry at `at`, which must exist, and returns true.
    /// Returns false, and removes the registration again, if the entry is no longer in `state`,
    /// because cloning a foreign waker has run user code.
    pub(super) fn wait(&self, context: &Context<'_>, at: u32, state: EntryState) -> bool {
        let word = self.matching.borrow().slab.entries[at as usize].word;
        let owner = self.owner(at);
        let of_thread = self.waker_of_thread(context);
        let id = current::waiting(|scheduler| match &of_thread {
            Some((waker, of)) => scheduler.foreign_waiter(waker, *of, word, owner),
            None => scheduler.waiter(context, word, owner),
        });
        // Cloning a foreign waker runs user code. The entry may have changed since, but it still
        // exists.
        let mut matching = self.matching.borrow_mut();
        let entry = &mut matching.slab.entries[at as usize];
        let waits = entry.state == state;
        entry.word = ARMED | id;
        drop(matching);
        if !waits {
            self.unhook(at, ARMED | id);
            self.matching.borrow_mut().slab.entries[at as usize].word = 0;
        }
        waits
    }

    /// Removes the waiter `word` of the entry at `at` from the scheduler. No effect if `word` has
    /// no waiter. Does not change the entry.
    pub(super) fn unhook(&self, at: u32, word: u32) {
        if word & ARMED != 0 {
            current::with_current(|scheduler| scheduler.unhook(word, self.owner(at)));
        }
    }

    /// Ends a request that is no longer awaited. A receive or probe is cancelled. A message that a
    /// receive has taken goes to another receive or back to the queue. A message that was sent is
    /// still delivered. An access still takes effect, and its answer is dropped.
    pub(super) fn withdraw(&self, at: u32) {
        let (value, word) = self.change(|matching| matching.withdraw(at));
        self.unhook(at, word);
        // This drop runs user code, so it comes last.
        drop(value);
    }
}

/// Wakes the waiter of a state word, if it has one.
#[inline]
pub(super) fn wake(word: u32) {
    if word & ARMED != 0 {
        current::wake(word & ID);
    }
}

/// Wakes the waiter of a state word, if it has one, to run next.
#[inline]
pub(super) fn wake_next(word: u32) {
    if word & ARMED != 0 {
        current::wake_next(word & ID);
    }
}

impl UpperLayer for World {
    fn calls(&self, report: ReportWait<'_>) {
        let communicators = self.communicators.borrow();
        let of = |number: u32| communicators.get(&number).and_then(Weak::upgrade);
        let windows = self.windows.borrow();
        for entry in &self.matching.borrow().slab.entries {
            if entry.word & ARMED == 0 {
                continue;
            }
            // The waiting process may have dropped the communicator.
            let shared = of(entry.envelope.number());
            let group = shared.as_ref().map(|shared| shared.group());
            let (source, tag) = (entry.envelope.source(), entry.envelope.tag());
            // In the communicator of a window, only calls of the window receive messages.
            let window = (entry.envelope.context, entry.member);
            let is_receive = entry.state == EntryState::Posted && windows.contains_key(&window);
            let of_window = tag.filter(|_| is_receive);
            let of_window = of_window.and_then(|tag| RECEIVERS.get(tag as usize).copied());
            let (peer, call, peer_name) = match entry.state {
                EntryState::Held => {
                    let to = group.and_then(|group| group.rank_of(entry.member));
                    let peer_name = to.map_or_else(
                        || format!("to {}", self.named(entry.member)),
                        |to| format!("to rank {to}"),
                    );
                    let from = source
                        .zip(group)
                        .and_then(|(source, group)| group.at(source));
                    (
                        self.awaited(from, Some(entry.member)),
                        "send",
                        Some(peer_name),
                    )
                }
                EntryState::Posted | EntryState::Probing => {
                    let peer = source
                        .zip(group)
                        .and_then(|(source, group)| group.at(source));
                    let peer = self.awaited(Some(entry.member), peer);
                    let call = match (of_window, entry.state) {
                        (Some(call), _) => call,
                        (None, EntryState::Posted) => "receive",
                        (None, _) => "probe",
                    };
                    let from = if of_window.is_some() { "" } else { "from " };
                    let peer_name = source.map(|source| format!("{from}rank {source}"));
                    (peer, call, peer_name)
                }
                EntryState::Accessing => {
                    let call = tag.and_then(|what| NAMES.get(what as usize));
                    let (peer, call) = match (tag, call.copied().unwrap_or("access")) {
                        (Some(THREAD), _) => (Some(NOT_A_PROCESS), "thread join"),
                        // The task reports the peer in its own waits.
                        (Some(TASK), _) => (None, "join"),
                        // Only the scheduler of the target knows the holder of a lock.
                        (_, "lock") => (None, "lock"),
                        (_, call) => (self.awaited(None, Some(entry.member)), call),
                    };
                    (peer, call, source.map(|rank| format!("rank {rank}")))
                }
                _ => continue,
            };
            let peer_name = peer_name.unwrap_or_else(|| "from any rank".to_string());
            let name = shared
                .as_ref()
                .map_or("a dropped communicator", |shared| shared.name());
            let tag = match (entry.state, tag) {
                (EntryState::Accessing, _) => String::new(),
                (_, Some(_)) if of_window.is_some() => String::new(),
                (_, None) => ", any tag".to_string(),
                (_, Some(tag)) => format!(", tag {tag}"),
            };
            let what = || {
                (
                    format!("{call} ({name}, {peer_name}{tag})"),
                    place(entry.at),
                )
            };
            report(entry.word, peer, &what);
        }
        for shared in communicators.values().filter_map(Weak::upgrade) {
            Instances::calls(&shared.instances, &shared, report);
        }
        self.report_threads(report);
    }

    fn close(&self) -> UnreceivedMessages {
        self.dismiss_all();
        let lost = self.matching.borrow_mut().close();
        let all = self.all.take();
        let known = self.known.take();
        let (early, busy) = (self.early.take(), self.busy.take());
        drop(self.windows.take());
        let first = lost.iter().min_by_key(|lost| lost.order);
        let first = first.map(|first| first.envelope.number());
        let shared = first.and_then(|number| self.communicators.borrow().get(&number)?.upgrade());
        self.count(&lost, shared.as_deref());
        drop(shared);
        for lost in lost {
            user_code::quietly(|| drop(lost.value));
        }
        user_code::quietly(|| drop((all, early)));
        let kept = known.into_values().chain(busy.into_values());
        kept.for_each(|shared| user_code::quietly(|| drop(shared)));
        self.unreceived.take()
    }

    fn traffic(&self) -> RankTraffic {
        let counted = self.traffic.as_ref();
        counted.map_or_else(RankTraffic::default, |counted| counted.borrow_mut().take())
    }

    fn handle_request(&self, (from, frame): SchedulerRequest) {
        match frame.downcast::<Frame>() {
            // Frames from this OS process need no validation.
            Ok(frame) => drop(self.arrive(from, *frame)),
            Err(other) if other.is::<RequestsQueued>() => self.serve(),
            Err(_) => {}
        }
    }

    fn frame(&self, from: u32, header: Header, bytes: &[u8]) -> Result<(), String> {
        let wanted = self
            .matching
            .borrow()
            .wanted(from, Frame::value_destination(header, bytes));
        let frame = Frame::from_bytes(header, bytes, wanted);
        let arrived = frame.and_then(|frame| self.arrive(from, frame));
        arrived.ok_or_else(|| {
            let from = self.others.as_ref().map(|others| others.name(from));
            let from = from.unwrap_or_default();
            format!("invalid message between ranks from {from}")
        })
    }
}
