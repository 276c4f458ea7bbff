//! Hooks: ids of waits in the name of a process. A member of a bundle, a task of a set and a
//! waker of another library each have one, and are woken through a channel as processes are.
//!
//! No code of the user runs while a hook fires or is freed: the wakers concerned are left with the
//! scheduler, which wakes or drops them between polls ([`Hooks::take_loose`]).

use crate::finally::Finally;
use crate::link::waiter::{ARMED, HOOK, ID, INDEX, NOBODY, STOP};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem;
use std::rc::Rc;
use std::task::Waker;

/// The two sides of a point.
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

/// Members by number, each at most once.
#[derive(Default)]
pub(super) struct ReadyList(RefCell<List>);

#[derive(Default)]
struct List {
    members: VecDeque<u32>,
    /// Whether a member is in the list.
    listed: Vec<bool>,
}

impl ReadyList {
    /// All of so many members, in order.
    #[inline]
    pub(super) fn all(members: usize) -> Self {
        ReadyList(RefCell::new(List {
            members: (0..members as u32).collect(),
            listed: vec![true; members],
        }))
    }

    /// There are so many members from now on, if there were fewer: those that are new are not in
    /// the list.
    #[inline]
    pub(super) fn grow(&self, members: usize) {
        let mut list = self.0.borrow_mut();
        if list.listed.len() < members {
            list.listed.resize(members, false);
        }
    }

    /// Puts a member last, unless it is there. Of one that there is not nothing becomes.
    #[inline]
    pub(super) fn push(&self, member: u32) {
        let mut list = self.0.borrow_mut();
        let listed = list.listed.get_mut(member as usize);
        if listed.is_some_and(|listed| !std::mem::replace(listed, true)) {
            list.members.push_back(member);
        }
    }

    /// Takes the first out.
    #[inline]
    pub(super) fn pop(&self) -> Option<u32> {
        let mut list = self.0.borrow_mut();
        let member = list.members.pop_front()?;
        list.listed[member as usize] = false;
        Some(member)
    }

    /// How many are in the list.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.0.borrow().members.len()
    }
}

/// The tasks of a set that were woken.
#[derive(Default)]
pub(super) struct Woken {
    pub(super) list: ReadyList,
    /// Who polls the set, as a word of a channel; not armed: it was woken, or polls by a foreign
    /// waker.
    waiter: Cell<u32>,
    /// The process that polls it.
    process: Cell<u32>,
}

impl Woken {
    /// The set is polled by a process: whom to wake from now on, it or the hook of its task in
    /// which the set is. Whether it was the same process before.
    #[inline]
    pub(super) fn set_poller(&self, process: u32, id: u32) -> bool {
        self.waiter.set(ARMED | id);
        self.process.replace(process) == process
    }

    /// The set is polled by a foreign waker, which is woken by whatever the tasks wait for.
    #[inline]
    pub(super) fn clear_poller(&self) {
        self.waiter.set(NOBODY);
    }

    /// A task is to be polled: whom to wake for that, unless that was done.
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

/// The number of a member whose channel is none of the run's, or has ended.
pub const NO_NUMBER: u32 = u32::MAX;

/// The members of a bundle that may have something, in the order in which they got it.
pub struct Ready {
    list: ReadyList,
    /// Who waits for the bundle: a word as in a channel.
    waiter: Cell<u32>,
    side: Side,
    /// The one member that is waited for; `None`: any.
    only: Cell<Option<u32>>,
    /// The numbers of the members' channels.
    numbers: RefCell<Vec<u32>>,
    /// The waiter has changed since the waits were collected, and the hooks know.
    touched: Cell<bool>,
    /// The members for which somebody was told to wait.
    told: RefCell<Vec<u32>>,
}

impl Ready {
    /// All of `members`, in order.
    #[inline]
    pub fn new(members: usize, side: Side) -> Rc<Self> {
        Rc::new(Ready {
            list: ReadyList::all(members),
            waiter: Cell::new(NOBODY),
            side,
            only: Cell::new(None),
            numbers: RefCell::default(),
            touched: Cell::new(false),
            told: RefCell::default(),
        })
    }

    #[inline]
    pub fn push(&self, member: u32) {
        self.list.push(member);
    }

    #[inline]
    pub fn pop(&self) -> Option<u32> {
        self.list.pop()
    }

    /// Takes a token from, or gives one to, a member that was taken off the list. That may be code
    /// of the user: if it panics, the member is on the list again.
    #[inline(always)]
    pub fn about<R>(&self, member: u32, f: impl FnOnce() -> R) -> R {
        let back = Finally(|| self.push(member));
        let result = f();
        mem::forget(back);
        result
    }

    /// Puts every member on the list, and tells the numbers of their channels.
    #[inline]
    pub fn renew(&self, numbers: Vec<u32>) {
        (0..numbers.len() as u32).for_each(|member| self.push(member));
        self.numbers.replace(numbers);
    }

    /// A member is waited for, whose channel has this number.
    #[inline]
    pub fn enter(&self, member: u32, number: u32) {
        if let Some(of) = self.numbers.borrow_mut().get_mut(member as usize) {
            *of = number;
        }
        self.push(member);
    }

    /// A member is not waited for any more, unless it [enters](Self::enter) again.
    #[inline]
    pub fn leave(&self, member: u32) {
        if let Some(number) = self.numbers.borrow_mut().get_mut(member as usize) {
            *number = NO_NUMBER;
        }
    }

    #[inline]
    pub fn word(&self) -> u32 {
        self.waiter.get()
    }

    /// What the hook of a foreign waker knows its word by.
    #[inline]
    pub fn owner(this: &Rc<Self>) -> Owner {
        (&raw const this.waiter).addr()
    }

    /// Whether the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.len() == 0
    }

    #[inline]
    pub fn is_waited_for(&self) -> bool {
        self.waiter.get() & ARMED != 0
    }

    /// Whether a wait for the bundle was told.
    #[inline]
    pub fn is_told(&self) -> bool {
        !self.told.borrow().is_empty()
    }

    /// Tells which channels the waiter waits for no more, and for which it does: to be called when
    /// the waits are collected.
    pub fn collect(&self, mut tell: impl FnMut(u32, Side, Option<u32>)) {
        self.touched.set(false);
        let mut told = self.told.borrow_mut();
        for number in told.drain(..) {
            tell(number, self.side, None);
        }
        let word = self.waiter.get();
        if word & ARMED == 0 {
            return;
        }
        let numbers = self.numbers.borrow();
        match self.only.get() {
            Some(member) => told.extend(numbers.get(member as usize)),
            None => told.extend_from_slice(&numbers),
        }
        told.retain(|&number| number != NO_NUMBER);
        for &number in &*told {
            tell(number, self.side, Some(word));
        }
    }
}

/// Which word names a hook of a foreign waker: where it is in memory, which is never looked at.
pub type Owner = usize;

enum Hook {
    Free,
    /// A waker that is none of ours, the process in whose turn it came, and whose word names the
    /// hook: a word that was carried here from another run may name it as well.
    Foreign(Waker, u32, Owner),
    Member(Rc<Ready>, u32),
    Task(Rc<Woken>, u32),
}

impl Hook {
    fn is_foreign_of(&self, owner: Owner) -> bool {
        matches!(self, Hook::Foreign(_, _, of) if *of == owner)
    }
}

/// Wakers that are not needed any more.
pub enum Loose {
    Wake(Waker),
    Drop(Waker),
}

/// Who waits behind a hook.
pub enum Behind {
    /// The process in whose turn a foreign waker came, or whose task it is.
    Process(u32),
    /// A bundle, which is collected by itself; whether a wait for it was told.
    Bundle(bool),
}

/// The hooks of one scheduler, named by index.
pub struct Hooks {
    /// The first index: those of a run around this one come before.
    base: u32,
    hooks: RefCell<Vec<Hook>>,
    free: RefCell<Vec<u32>>,
    loose: RefCell<Vec<Loose>>,
    touched: RefCell<Vec<Rc<Ready>>>,
}

impl Hooks {
    #[inline]
    pub fn new(base: u32) -> Self {
        Hooks {
            base,
            hooks: RefCell::default(),
            free: RefCell::default(),
            loose: RefCell::default(),
            touched: RefCell::default(),
        }
    }

    /// The index behind the last.
    #[inline]
    pub fn end(&self) -> u32 {
        self.base + self.hooks.borrow().len() as u32
    }

    /// Whether a hook is one of these.
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

    /// A hook for a foreign waker, in the turn of `process`. `word` is that of the channel's end:
    /// if it is armed with a foreign hook already, that one is used again.
    #[inline]
    pub fn foreign(&self, waker: &Waker, word: u32, process: u32, owner: Owner) -> u32 {
        let mut new = Hook::Foreign(waker.clone(), process, owner);
        if word & (ARMED | HOOK) == ARMED | HOOK {
            let mut hooks = self.hooks.borrow_mut();
            if let Some(old) = hooks.get_mut(self.at(word))
                && old.is_foreign_of(owner)
            {
                mem::swap(old, &mut new);
                self.let_go(new);
                return word & ID;
            }
        }
        self.add(new)
    }

    #[inline]
    pub fn member(&self, ready: &Rc<Ready>, member: u32) -> u32 {
        self.add(Hook::Member(Rc::clone(ready), member))
    }

    /// A hook for a task of a set.
    #[inline]
    pub(super) fn task(&self, woken: &Rc<Woken>, task: u32) -> u32 {
        self.add(Hook::Task(Rc::clone(woken), task))
    }

    /// Has a word woken when a member of a bundle, or the one member, is put on its list.
    #[inline]
    pub fn wait(&self, ready: &Rc<Ready>, only: Option<u32>, id: u32) {
        ready.only.set(only);
        ready.waiter.set(ARMED | id);
        self.touch(ready);
    }

    /// Nobody waits for the bundle any more. Its word, if somebody did.
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
                // Before it gets longer: bundles that have gone and were not told need not be. A
                // network that never stands still may make ever more of them.
                touched.retain(|ready| Rc::strong_count(ready) > 1 || ready.is_told());
                let len = touched.len();
                touched.reserve(len + 1);
            }
            touched.push(Rc::clone(ready));
        }
    }

    /// The bundles whose waiters have changed since this was last called.
    #[inline]
    pub fn take_touched(&self) -> Vec<Rc<Ready>> {
        self.touched.take()
    }

    /// The waker of a hook that is free now is dropped later.
    fn let_go(&self, hook: Hook) {
        if let Hook::Foreign(waker, ..) = hook {
            self.loose.borrow_mut().push(Loose::Drop(waker));
        }
    }

    /// Frees a hook.
    #[inline]
    pub fn remove(&self, id: u32) {
        let at = self.at(id);
        let old = match self.hooks.borrow_mut().get_mut(at) {
            Some(hook) if !matches!(hook, Hook::Free) => mem::replace(hook, Hook::Free),
            _ => return,
        };
        self.free.borrow_mut().push(at as u32);
        self.let_go(old);
    }

    /// Removes a hook if it is that of a foreign waker, and of this word.
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

    /// Who waits behind a hook, if anybody does.
    #[inline]
    pub fn behind(&self, id: u32) -> Option<Behind> {
        match self.hooks.borrow().get(self.at(id))? {
            Hook::Free => None,
            Hook::Foreign(_, process, _) => Some(Behind::Process(*process)),
            Hook::Member(ready, _) => Some(Behind::Bundle(ready.is_told())),
            Hook::Task(woken, _) => Some(Behind::Process(woken.process())),
        }
    }

    /// The process that waits by a word, directly, by a waker, by a bundle or by a task.
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

    /// Whom to wake for this hook: a waiting id, which may be a hook again.
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
                    self.loose.borrow_mut().push(Loose::Wake(waker));
                }
                None
            }
        }
    }

    /// Whether there are wakers to be woken or dropped.
    #[inline]
    pub fn has_loose(&self) -> bool {
        !self.loose.borrow().is_empty()
    }

    /// The wakers that are to be woken or dropped: code of the user, to be called with care.
    #[inline]
    pub fn take_loose(&self) -> Vec<Loose> {
        self.loose.take()
    }

    /// Lets go of every hook.
    #[inline]
    pub fn clear(&self) {
        drop(self.touched.take());
        let hooks = self.hooks.take();
        self.free.borrow_mut().clear();
        hooks.into_iter().for_each(|hook| self.let_go(hook));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bundles that came and went since the waits were last collected are not kept.
    #[test]
    fn bundles_that_have_gone_are_forgotten() {
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
