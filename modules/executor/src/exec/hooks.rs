//! Hooks: ids of waits in the name of a process. A member of a bundle, a task of a set, and a waker
//! of another library each have a hook, and are woken through a channel as processes are.
//!
//! No user code runs while a hook fires or is freed. The wakers concerned stay with the scheduler,
//! which wakes or drops them between polls ([`Hooks::take_released`]).

use crate::finally::Finally;
use crate::link::waiter::{ARMED, HOOK, ID, INDEX, NO_ID, STOP};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem;
use std::rc::Rc;
use std::task::Waker;

/// Side of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Read = 0,
    Write = 1,
}

impl Side {
    #[inline]
    pub fn other(self) -> Side {
        match self {
            Side::Read => Side::Write,
            Side::Write => Side::Read,
        }
    }
}

/// Queue of members by number. It contains each at most once.
#[derive(Default)]
pub(super) struct ReadyList(RefCell<List>);

#[derive(Default)]
struct List {
    members: VecDeque<u32>,
    /// For each member, true if it is in the list.
    listed: Vec<bool>,
}

impl ReadyList {
    /// Creates a list of the members from 0 to `members - 1`, in order. All of them are in the
    /// list.
    #[inline]
    pub(super) fn all(members: usize) -> Self {
        ReadyList(RefCell::new(List {
            members: (0..members as u32).collect(),
            listed: vec![true; members],
        }))
    }

    /// Increases the number of members to `members`. The new ones are not in the list. Has no
    /// effect if there are as many already.
    #[inline]
    pub(super) fn grow(&self, members: usize) {
        let mut list = self.0.borrow_mut();
        if list.listed.len() < members {
            list.listed.resize(members, false);
        }
    }

    /// Appends a member unless it is in the list. Ignores numbers that are too large.
    #[inline]
    pub(super) fn push(&self, member: u32) {
        let mut list = self.0.borrow_mut();
        let listed = list.listed.get_mut(member as usize);
        if listed.is_some_and(|listed| !std::mem::replace(listed, true)) {
            list.members.push_back(member);
        }
    }

    /// Removes and returns the first member, or returns `None` if the list is empty.
    #[inline]
    pub(super) fn pop(&self) -> Option<u32> {
        let mut list = self.0.borrow_mut();
        let member = list.members.pop_front()?;
        list.listed[member as usize] = false;
        Some(member)
    }

    /// Returns the number of members in the list.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.0.borrow().members.len()
    }
}

/// Tasks of a set that were woken.
#[derive(Default)]
pub(super) struct Woken {
    pub(super) list: ReadyList,
    /// Waiter that polls the set, as a state word of a channel. It is not armed if the waiter has
    /// been woken, or if the set is polled with a foreign waker.
    waiter: Cell<u32>,
    /// Process that polls the set.
    process: Cell<u32>,
}

impl Woken {
    /// Records that a process polls the set. From now on `id` is woken when a task is to be polled:
    /// the process, or the hook of the task that contains the set. Returns true if the process that
    /// last polled the set was the same.
    #[inline]
    pub(super) fn set_poller(&self, process: u32, id: u32) -> bool {
        self.waiter.set(ARMED | id);
        self.process.replace(process) == process
    }

    /// Records that the set is polled with a foreign waker. The channels for which the tasks wait
    /// wake that waker directly.
    #[inline]
    pub(super) fn clear_poller(&self) {
        self.waiter.set(NO_ID);
    }

    /// Lists a task to be polled. Returns the id of the waiter that polls the set, to be woken.
    /// Returns `None` if it has been woken already, or if the set is polled with a foreign waker.
    #[inline]
    pub(super) fn wake(&self, task: u32) -> Option<u32> {
        self.list.push(task);
        let word = self.waiter.get();
        self.waiter.set(word & !ARMED);
        (word & ARMED != 0).then_some(word & ID)
    }

    #[inline]
    pub(super) fn process(&self) -> u32 {
        self.process.get()
    }
}

/// Number of a member whose channel does not belong to the run, or has ended.
pub const NO_NUMBER: u32 = u32::MAX;

/// Members of a bundle that may have a token or space, in the order in which they got it.
pub struct Ready {
    list: ReadyList,
    /// Waiter of the bundle, as a state word of a channel.
    waiter: Cell<u32>,
    side: Side,
    /// The only member that is waited for. `None`: any member.
    only: Cell<Option<u32>>,
    /// Channel numbers of the members.
    numbers: RefCell<Vec<u32>>,
    /// True if the waiter has changed since waits were last collected. Then the bundle is in
    /// `Hooks::touched`.
    touched: Cell<bool>,
    /// Channels for which a wait was reported.
    reported: RefCell<Vec<u32>>,
}

impl Ready {
    /// Creates a list of all members of a bundle, in order. All of them are in the list, and no
    /// process waits.
    #[inline]
    pub fn new(members: usize, side: Side) -> Rc<Self> {
        Rc::new(Ready {
            list: ReadyList::all(members),
            waiter: Cell::new(NO_ID),
            side,
            only: Cell::new(None),
            numbers: RefCell::default(),
            touched: Cell::new(false),
            reported: RefCell::default(),
        })
    }

    /// Appends a member to the list unless it is already there. Wakes no process. Ignores numbers
    /// that are too large.
    #[inline]
    pub fn push(&self, member: u32) {
        self.list.push(member);
    }

    /// Removes and returns the first member of the list, or returns `None` if the list is empty.
    #[inline]
    pub fn pop(&self) -> Option<u32> {
        self.list.pop()
    }

    /// Calls `f`, which reads or writes a token of a member that was removed from the list, and
    /// returns its result. The member is put back if `f` panics, because `f` may be user code.
    #[inline(always)]
    pub fn about<R>(&self, member: u32, f: impl FnOnce() -> R) -> R {
        let back = Finally(|| self.push(member));
        let result = f();
        mem::forget(back);
        result
    }

    /// Lists all members, and sets the numbers of their channels: `numbers` has one entry for each
    /// member. Members that are in the list already keep their position.
    #[inline]
    pub fn renew(&self, numbers: Vec<u32>) {
        (0..numbers.len() as u32).for_each(|member| self.push(member));
        self.numbers.replace(numbers);
    }

    /// Lists a member, and sets the number of its channel, so that a wait for it is reported. Does
    /// not list a member that does not exist.
    #[inline]
    pub fn enter(&self, member: u32, number: u32) {
        if let Some(of) = self.numbers.borrow_mut().get_mut(member as usize) {
            *of = number;
        }
        self.push(member);
    }

    /// Removes the number of a member's channel, so that no wait for it is reported until it
    /// [enters](Self::enter) again. The list is not changed.
    #[inline]
    pub fn leave(&self, member: u32) {
        if let Some(number) = self.numbers.borrow_mut().get_mut(member as usize) {
            *number = NO_NUMBER;
        }
    }

    /// Returns the state word of the waiter of the bundle.
    #[inline]
    pub fn word(&self) -> u32 {
        self.waiter.get()
    }

    /// Returns the identity of the state word, for the hook of a foreign waker.
    #[inline]
    pub fn owner(this: &Rc<Self>) -> Owner {
        (&raw const this.waiter).addr()
    }

    /// Returns true if the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.len() == 0
    }

    /// Returns true if a process waits for the bundle, or for one member of it.
    #[inline]
    pub fn is_waited_for(&self) -> bool {
        self.waiter.get() & ARMED != 0
    }

    /// Returns true if the last [`Ready::collect`] reported a wait for the bundle.
    #[inline]
    pub fn is_reported(&self) -> bool {
        !self.reported.borrow().is_empty()
    }

    /// Reports the channels for which the waiter no longer waits, and those for which it waits.
    /// Must be called when the waits are collected. The arguments of `report` are the number of the
    /// channel, the side, and the state word of the waiter, or `None` for a wait that has ended.
    pub fn collect(&self, mut report: impl FnMut(u32, Side, Option<u32>)) {
        self.touched.set(false);
        let mut reported = self.reported.borrow_mut();
        for number in reported.drain(..) {
            report(number, self.side, None);
        }
        let word = self.waiter.get();
        if word & ARMED == 0 {
            return;
        }
        let numbers = self.numbers.borrow();
        match self.only.get() {
            Some(member) => reported.extend(numbers.get(member as usize)),
            None => reported.extend_from_slice(&numbers),
        }
        reported.retain(|&number| number != NO_NUMBER);
        for &number in &*reported {
            report(number, self.side, Some(word));
        }
    }
}

/// Identity of the state word that names the hook of a foreign waker: its address, which is never
/// dereferenced.
pub type Owner = usize;

enum Hook {
    Free,
    /// Foreign waker, the process during whose poll it came, and the state word that names the
    /// hook. The identity of the word is checked, because a word that was moved here from another
    /// run may name the same hook.
    Foreign(Waker, u32, Owner),
    Member(Rc<Ready>, u32),
    Task(Rc<Woken>, u32),
}

impl Hook {
    fn is_foreign_of(&self, owner: Owner) -> bool {
        matches!(self, Hook::Foreign(_, _, of) if *of == owner)
    }
}

/// Waker that has left its hook, to be woken or dropped.
pub enum ReleasedWaker {
    Wake(Waker),
    Drop(Waker),
}

/// Waiter of a hook.
pub enum HookWaiter {
    /// Process during whose poll a foreign waker came, or to which a task belongs.
    Process(u32),
    /// A bundle, which is collected separately. True if a wait for it was reported.
    Bundle(bool),
}

/// Hooks of one scheduler, by index.
pub struct Hooks {
    /// First index. The hooks of a run around this one have lower indices.
    base: u32,
    hooks: RefCell<Vec<Hook>>,
    free: RefCell<Vec<u32>>,
    released: RefCell<Vec<ReleasedWaker>>,
    touched: RefCell<Vec<Rc<Ready>>>,
}

impl Hooks {
    /// Creates an empty table. `base` is the first index.
    #[inline]
    pub fn new(base: u32) -> Self {
        Hooks {
            base,
            hooks: RefCell::default(),
            free: RefCell::default(),
            released: RefCell::default(),
            touched: RefCell::default(),
        }
    }

    /// Returns the index after the last hook.
    #[inline]
    pub fn end(&self) -> u32 {
        self.base + self.hooks.borrow().len() as u32
    }

    /// Returns true if the id or state word has the index of a hook of this scheduler, which may be
    /// free. Whether it names a hook at all is not checked.
    #[inline]
    pub fn has(&self, id: u32) -> bool {
        (self.base..self.end()).contains(&(id & INDEX))
    }

    fn at(&self, id: u32) -> usize {
        (id & INDEX).wrapping_sub(self.base) as usize
    }

    fn add(&self, hook: Hook) -> u32 {
        let mut hooks = self.hooks.borrow_mut();
        if let Some(at) = self.free.borrow_mut().pop() {
            hooks[at as usize] = hook;
            return HOOK | (self.base + at);
        }
        let at = u32::try_from(hooks.len()).ok();
        let at = at.and_then(|at| at.checked_add(self.base));
        let at = at.filter(|&at| at < INDEX);
        let at = at.expect("fewer than 2^28 bundle members in one scheduler");
        hooks.push(hook);
        HOOK | at
    }

    /// Returns the id of a hook for a foreign waker, in a poll of `process`. `word` is the state
    /// word of the end of the channel. If it is armed with a foreign hook of the same owner, that
    /// hook is used again, and its previous waker is dropped later. May call user code, because it
    /// clones the waker.
    ///
    /// # Panics
    /// Panics if all 2^28 - 1 indices are in use.
    #[inline]
    pub fn foreign(&self, waker: &Waker, word: u32, process: u32, owner: Owner) -> u32 {
        let mut new = Hook::Foreign(waker.clone(), process, owner);
        if word & (ARMED | HOOK) == ARMED | HOOK {
            let mut hooks = self.hooks.borrow_mut();
            if let Some(old) = hooks.get_mut(self.at(word))
                && old.is_foreign_of(owner)
            {
                mem::swap(old, &mut new);
                self.release(new);
                return word & ID;
            }
        }
        self.add(new)
    }

    /// Returns the id of a new hook for a member of a bundle.
    ///
    /// # Panics
    /// Panics if all 2^28 - 1 indices are in use.
    #[inline]
    pub fn member(&self, ready: &Rc<Ready>, member: u32) -> u32 {
        self.add(Hook::Member(Rc::clone(ready), member))
    }

    /// Returns the id of a new hook for a task of a set.
    ///
    /// # Panics
    /// Panics if all 2^28 - 1 indices are in use.
    #[inline]
    pub(super) fn task(&self, woken: &Rc<Woken>, task: u32) -> u32 {
        self.add(Hook::Task(Rc::clone(woken), task))
    }

    /// Begins a wait for a bundle: `id` is woken when the hook of a member fires. If `only` is
    /// given, only the hook of this member counts.
    #[inline]
    pub fn wait(&self, ready: &Rc<Ready>, only: Option<u32>, id: u32) {
        ready.only.set(only);
        ready.waiter.set(ARMED | id);
        self.touch(ready);
    }

    /// Ends the wait for the bundle, if there is one. Returns the state word of the waiter from
    /// before.
    #[inline]
    pub fn turn_away(&self, ready: &Rc<Ready>) -> u32 {
        let word = ready.waiter.get();
        if word & ARMED != 0 {
            ready.waiter.set(word & !ARMED);
            self.touch(ready);
        }
        word
    }

    #[inline]
    fn touch(&self, ready: &Rc<Ready>) {
        if !ready.touched.replace(true) {
            let mut touched = self.touched.borrow_mut();
            if touched.len() == touched.capacity() {
                // Before the list grows, remove bundles that no longer exist and whose waits were
                // not reported. Otherwise they could accumulate without bound in a network that
                // never becomes quiescent.
                touched.retain(|ready| Rc::strong_count(ready) > 1 || ready.is_reported());
                let len = touched.len();
                touched.reserve(len + 1);
            }
            touched.push(Rc::clone(ready));
        }
    }

    /// Removes and returns the bundles whose waiters have changed since the last call. Bundles that
    /// no longer exist and whose waits were not reported may be missing.
    #[inline]
    pub fn take_touched(&self) -> Vec<Rc<Ready>> {
        self.touched.take()
    }

    /// Keeps the waker of a freed hook, to be dropped later. Has no effect if the hook has no
    /// foreign waker.
    fn release(&self, hook: Hook) {
        if let Hook::Foreign(waker, ..) = hook {
            self.released.borrow_mut().push(ReleasedWaker::Drop(waker));
        }
    }

    /// Frees a hook. Its waker is dropped later. Has no effect if the hook is free or does not
    /// exist.
    #[inline]
    pub fn remove(&self, id: u32) {
        let at = self.at(id);
        let old = match self.hooks.borrow_mut().get_mut(at) {
            Some(hook) if !matches!(hook, Hook::Free) => mem::replace(hook, Hook::Free),
            _ => return,
        };
        self.free.borrow_mut().push(at as u32);
        self.release(old);
    }

    /// Frees a hook if it belongs to a foreign waker and to this state word. The waker is dropped
    /// later. Otherwise has no effect.
    #[inline]
    pub fn remove_foreign(&self, id: u32, owner: Owner) {
        let hook = self.hooks.borrow();
        let foreign = hook
            .get(self.at(id))
            .is_some_and(|hook| hook.is_foreign_of(owner));
        drop(hook);
        if foreign {
            self.remove(id);
        }
    }

    /// Returns the waiter of a hook, or `None` if the hook is free or does not exist.
    #[inline]
    pub fn waiter_of(&self, id: u32) -> Option<HookWaiter> {
        match self.hooks.borrow().get(self.at(id))? {
            Hook::Free => None,
            Hook::Foreign(_, process, _) => Some(HookWaiter::Process(*process)),
            Hook::Member(ready, _) => Some(HookWaiter::Bundle(ready.is_reported())),
            Hook::Task(woken, _) => Some(HookWaiter::Process(woken.process())),
        }
    }

    /// Returns the process that waits by a state word: directly, or through a waker, a bundle or a
    /// task. Returns `None` if a hook on the way is free or does not exist, or if no process waits
    /// for the bundle or for this member of it.
    pub fn process(&self, word: u32) -> Option<u32> {
        let hooks = self.hooks.borrow();
        let mut word = word;
        while word & HOOK != 0 {
            match hooks.get(self.at(word))? {
                Hook::Free => return None,
                Hook::Foreign(_, process, _) => return Some(*process),
                Hook::Task(woken, _) => return Some(woken.process()),
                Hook::Member(ready, member) => {
                    word = ready.waiter.get();
                    let other = ready.only.get().is_some_and(|only| only != *member);
                    if word & ARMED == 0 || other {
                        return None;
                    }
                }
            }
        }
        Some(word & ID)
    }

    /// Fires a hook: puts its member or task on its list, or releases its foreign waker to be
    /// woken. Returns the id to wake, which may be a hook again. Returns `None` if the hook is free
    /// or does not exist, or if its waiter does not wait. Also returns `None` for a foreign waker,
    /// which [`Hooks::take_released`] returns. The hook of a foreign waker is freed.
    pub fn fire(&self, id: u32) -> Option<u32> {
        let at = self.at(id);
        let mut hooks = self.hooks.borrow_mut();
        match hooks.get_mut(at)? {
            Hook::Free => None,
            Hook::Member(ready, member) => {
                ready.push(*member);
                let word = ready.waiter.get();
                if word & ARMED == 0 || ready.only.get().is_some_and(|only| only != *member) {
                    return None;
                }
                ready.waiter.set(word & !(ARMED | STOP));
                self.touch(ready);
                Some(word & ID)
            }
            Hook::Task(woken, task) => woken.wake(*task),
            hook @ Hook::Foreign(..) => {
                let hook = mem::replace(hook, Hook::Free);
                self.free.borrow_mut().push(at as u32);
                if let Hook::Foreign(waker, ..) = hook {
                    self.released.borrow_mut().push(ReleasedWaker::Wake(waker));
                }
                None
            }
        }
    }

    /// Returns true if there are wakers to wake or drop.
    #[inline]
    pub fn has_released(&self) -> bool {
        !self.released.borrow().is_empty()
    }

    /// Removes and returns the wakers to wake or drop. Both are user code, which may panic.
    #[inline]
    pub fn take_released(&self) -> Vec<ReleasedWaker> {
        self.released.take()
    }

    /// Frees all hooks, and forgets the bundles that [`Hooks::take_touched`] would return.
    /// [`Hooks::take_released`] returns the wakers, to be dropped.
    #[inline]
    pub fn clear(&self) {
        drop(self.touched.take());
        let hooks = self.hooks.take();
        self.free.borrow_mut().clear();
        hooks.into_iter().for_each(|hook| self.release(hook));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_bundles_are_removed() {
        let hooks = Hooks::new(0);
        let kept: Vec<_> = (0..100).map(|_| Ready::new(1, Side::Read)).collect();
        kept.iter().for_each(|ready| hooks.wait(ready, None, 0));
        for _ in 0..if cfg!(miri) { 1500 } else { 10_000 } {
            let ready = Ready::new(1, Side::Read);
            hooks.wait(&ready, None, 0);
            hooks.turn_away(&ready);
        }
        assert!(hooks.touched.borrow().len() < 1000);
        let there = hooks.take_touched();
        let known = |ready: &Rc<Ready>| there.iter().any(|one| Rc::ptr_eq(one, ready));
        assert!(kept.iter().all(known));
    }
}
