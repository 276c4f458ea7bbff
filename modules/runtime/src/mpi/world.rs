//! What the ranks of a scheduler share.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::Location;
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Context;

use super::communicator::Shared;
use super::entry::State;
use super::error::Error;
use super::group::Group;
use super::matching::{Lost, Matching};
use super::round::Rounds;
use crate::exec::current;
use crate::exec::floor::{self, Alone, Floor, Tell, Unreceived};
use crate::exec::guard;
use crate::exec::hooks::Owner;
use crate::link::waiter::{ARMED, ID};
use crate::place::Place;

/// The ranks of a run, which are all on one scheduler, and what is on its way between them.
pub(super) struct World {
    /// No other world of this OS process has it.
    id: u64,
    pub(super) matching: RefCell<Matching>,
    /// The number of the next communicator.
    next: Cell<u32>,
    /// Those that there are, by number.
    communicators: RefCell<BTreeMap<u32, Weak<Shared>>>,
    /// That of all ranks, until the run is over.
    all: RefCell<Option<Rc<Shared>>>,
    /// What nobody has received so far, and never will.
    unreceived: RefCell<Unreceived>,
}

impl World {
    fn new(ranks: u32) -> Rc<Self> {
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        let world = Rc::new(World {
            id: WORLDS.fetch_add(1, Ordering::Relaxed),
            matching: RefCell::new(Matching::new(ranks)),
            next: Cell::new(0),
            communicators: RefCell::default(),
            all: RefCell::default(),
            unreceived: RefCell::default(),
        });
        let all = world.communicator(Group::all(ranks), "world".into()).ok();
        world.all.replace(all);
        world
    }

    /// The communicator of all, and the rank of the process that asks.
    pub(super) fn current() -> Result<(Rc<Shared>, u32), Error> {
        let found = floor::alone(|scheduler, ranks, rank| {
            let world = scheduler.above.get(|| World::new(ranks));
            (world.and_then(|world| world.all.borrow().clone()), rank)
        });
        match found {
            Alone::Yes((Some(all), rank)) => Ok((all, rank)),
            Alone::Yes((None, _)) => Err(Error::Over),
            Alone::OfSeveral => Err(Error::NotCollocated),
            Alone::NoProcess => Err(Error::NoProcess),
        }
    }

    /// A new communicator.
    pub(super) fn communicator(
        self: &Rc<Self>,
        group: Group,
        name: String,
    ) -> Result<Rc<Shared>, Error> {
        let number = self.next.get();
        self.next.set(number.checked_add(1).ok_or(Error::TooMany)?);
        let shared = Rc::new(Shared::new(Rc::clone(self), number, group, name));
        self.communicators
            .borrow_mut()
            .insert(number, Rc::downgrade(&shared));
        Ok(shared)
    }

    /// A communicator goes, and with it the messages that nobody can receive any more.
    pub(super) fn forget(&self, gone: &Shared) {
        self.communicators.borrow_mut().remove(&gone.number());
        let lost = self
            .matching
            .borrow_mut()
            .purge(gone.number(), gone.group().members());
        self.count(&lost, Some(gone));
        // Code of the user, after all else. One that panics keeps the others from nothing.
        let dropped = lost
            .into_iter()
            .map(|lost| guard::caught(|| drop(lost.parcel)));
        let dropped: Vec<_> = dropped.filter_map(Result::err).collect();
        if let Some(text) = dropped.first()
            && !std::thread::panicking()
        {
            panic!("a message that nobody has received panicked when it was dropped: {text}");
        }
    }

    /// Counts messages that nobody has received, and keeps the first that was sent, in words.
    fn count(&self, lost: &[Lost], shared: Option<&Shared>) {
        let Some(first) = lost.iter().min_by_key(|lost| lost.order) else {
            return;
        };
        let mut unreceived = self.unreceived.borrow_mut();
        unreceived.0 += lost.len() as u64;
        if unreceived.1.is_none() {
            let to = shared.and_then(|shared| shared.group().rank_of(first.home));
            let to = to.map_or_else(
                || format!("rank {} of the world", first.home),
                |to| format!("rank {to}"),
            );
            let name = shared.map_or("a communicator that is gone", Shared::name);
            let (from, tag) = (first.envelope.source(), first.envelope.tag());
            unreceived.1 = Some(format!(
                "from rank {} to {to} ({name}, tag {}), sent at {}",
                from.unwrap_or(0),
                tag.unwrap_or(0),
                place(first.at)
            ));
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.matching.borrow().is_over
    }

    /// Looks at what is on its way, and changes it; who is to be woken then is.
    #[inline]
    pub(super) fn change<R>(&self, f: impl FnOnce(&mut Matching) -> R) -> R {
        let mut matching = self.matching.borrow_mut();
        let answer = f(&mut matching);
        if !matching.wakes.is_empty() {
            let wakes = std::mem::take(&mut matching.wakes);
            drop(matching);
            wakes.into_iter().for_each(wake);
        }
        answer
    }

    /// What the hook of a foreign waker knows the word of an entry by: no word of a channel is at an odd address.
    fn owner(&self, at: u32) -> Owner {
        (self.id << 33 | u64::from(at) << 1 | 1) as Owner
    }

    /// Has whoever polls with `context` woken when an entry changes, which is still in that state.
    pub(super) fn wait(&self, context: &Context<'_>, at: u32, state: State) -> bool {
        let word = self.matching.borrow().slab.entries[at as usize].word;
        let id = current::waiting(|scheduler| scheduler.waiter(context, word, self.owner(at)));
        // To clone a foreign waker is code of the user: the entry may have changed, but not gone.
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

    /// Nobody waits at an entry any more by the word that it had.
    pub(super) fn unhook(&self, at: u32, word: u32) {
        if word & ARMED != 0 {
            current::with_current(|scheduler| scheduler.unhook(word, self.owner(at)));
        }
    }

    /// A receive, a probe or a send that is not waited for any more.
    pub(super) fn give_up(&self, at: u32) {
        let (parcel, word) = self.change(|matching| matching.give_up(at));
        self.unhook(at, word);
        // Code of the user, after all else.
        drop(parcel);
    }
}

/// Wakes who waits by a word.
#[inline]
pub(super) fn wake(word: u32) {
    if word & ARMED != 0 {
        current::wake(word & ID);
    }
}

/// Wakes who waits by a word, to run next.
#[inline]
pub(super) fn wake_next(word: u32) {
    if word & ARMED != 0 {
        current::wake_next(word & ID);
    }
}

/// A place in the program.
pub(super) fn place(at: &Location<'_>) -> Place {
    Place {
        file: at.file().to_string(),
        line: at.line().into(),
        column: at.column().into(),
    }
}

impl Floor for World {
    fn calls(&self, tell: Tell<'_>) {
        let communicators = self.communicators.borrow();
        let of = |number: u32| communicators.get(&number).and_then(Weak::upgrade);
        for entry in &self.matching.borrow().slab.entries {
            if entry.word & ARMED == 0 {
                continue;
            }
            // Who waits may have let go of the communicator.
            let shared = of(entry.envelope.context);
            let group = shared.as_ref().map(|shared| shared.group());
            let (source, tag) = (entry.envelope.source(), entry.envelope.tag());
            let tag = tag.map_or_else(|| "any tag".to_string(), |tag| format!("tag {tag}"));
            let (peer, call, whom) = match entry.state {
                State::Held => {
                    let to = group.and_then(|group| group.rank_of(entry.home));
                    let whom = to.map_or_else(
                        || format!("to rank {} of the world", entry.home),
                        |to| format!("to rank {to}"),
                    );
                    (Some(entry.home), "send", Some(whom))
                }
                State::Posted | State::Probing => {
                    let peer = source
                        .zip(group)
                        .and_then(|(source, group)| group.at(source));
                    let call = if entry.state == State::Posted {
                        "receive"
                    } else {
                        "probe"
                    };
                    (
                        peer,
                        call,
                        source.map(|source| format!("from rank {source}")),
                    )
                }
                _ => continue,
            };
            let whom = whom.unwrap_or_else(|| "from any rank".to_string());
            let name = shared
                .as_ref()
                .map_or("a communicator that is gone", |shared| shared.name());
            let what = || (format!("{call} ({name}, {whom}, {tag})"), place(entry.at));
            tell(entry.word, peer, &what);
        }
        for shared in communicators.values().filter_map(Weak::upgrade) {
            Rounds::calls(&shared.rounds, &shared, tell);
        }
    }

    fn close(&self) -> Unreceived {
        let lost = self.matching.borrow_mut().close();
        let all = self.all.take();
        let first = lost.iter().min_by_key(|lost| lost.order);
        let first = first.map(|first| first.envelope.context);
        let shared = first.and_then(|number| self.communicators.borrow().get(&number)?.upgrade());
        self.count(&lost, shared.as_deref());
        drop(shared);
        for lost in lost {
            guard::quietly(|| drop(lost.parcel));
        }
        guard::quietly(|| drop(all));
        self.unreceived.take()
    }
}
