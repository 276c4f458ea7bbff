//! What else than a process can be woken through a channel: a member of a bundle, or the waker
//! of a foreign combinator.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::Waker;

use crate::link::waiter::{ARMED, HOOK, ID, INDEX, NOBODY};

/// The members of a bundle that may have something, in the order in which they got it.
pub(crate) struct Ready {
    list: RefCell<List>,
    /// Who waits for the bundle: a word as in a channel.
    pub(crate) waiter: Cell<u32>,
}

struct List {
    members: VecDeque<u32>,
    /// Whether a member is in the list: it is so at most once.
    listed: Vec<bool>,
}

impl Ready {
    /// All of `members`, in order.
    pub(crate) fn new(members: usize) -> Rc<Self> {
        let list = List {
            members: (0..members as u32).collect(),
            listed: vec![true; members],
        };
        Rc::new(Ready {
            list: RefCell::new(list),
            waiter: Cell::new(NOBODY),
        })
    }

    pub(crate) fn push(&self, member: u32) {
        let mut list = self.list.borrow_mut();
        let listed = list.listed.get_mut(member as usize);
        if listed.is_some_and(|listed| !std::mem::replace(listed, true)) {
            list.members.push_back(member);
        }
    }

    pub(crate) fn pop(&self) -> Option<u32> {
        let mut list = self.list.borrow_mut();
        let member = list.members.pop_front()?;
        list.listed[member as usize] = false;
        Some(member)
    }
}

enum Hook {
    Free,
    Foreign(Waker),
    Member(Rc<Ready>, u32),
}

/// The hooks of one scheduler, named by index.
#[derive(Default)]
pub(crate) struct Hooks {
    hooks: RefCell<Vec<Hook>>,
    free: RefCell<Vec<u32>>,
}

impl Hooks {
    fn add(&self, hook: Hook) -> u32 {
        let mut hooks = self.hooks.borrow_mut();
        if let Some(at) = self.free.borrow_mut().pop() {
            hooks[at as usize] = hook;
            return HOOK | at;
        }
        let at = u32::try_from(hooks.len()).ok().filter(|&at| at < INDEX);
        let at = at.expect("fewer than 2^29 bundle members in one scheduler");
        hooks.push(hook);
        HOOK | at
    }

    /// A hook for a foreign waker. `word` is that of the channel's end: if it is armed with a
    /// foreign hook already, that one is used again.
    pub(crate) fn foreign(&self, waker: &Waker, word: u32) -> u32 {
        let mut new = Hook::Foreign(waker.clone());
        if word & (ARMED | HOOK) == ARMED | HOOK {
            let at = (word & INDEX) as usize;
            if let Some(old @ Hook::Foreign(_)) = self.hooks.borrow_mut().get_mut(at) {
                std::mem::swap(old, &mut new);
                return word & ID;
            }
        }
        self.add(new)
    }

    pub(crate) fn member(&self, ready: &Rc<Ready>, member: u32) -> u32 {
        self.add(Hook::Member(Rc::clone(ready), member))
    }

    pub(crate) fn remove(&self, id: u32) {
        let at = id & INDEX;
        let old = match self.hooks.borrow_mut().get_mut(at as usize) {
            Some(hook) if !matches!(hook, Hook::Free) => std::mem::replace(hook, Hook::Free),
            _ => return,
        };
        self.free.borrow_mut().push(at);
        // Outside of the borrow: dropping a waker is foreign code, which may come back here.
        drop(old);
    }

    /// Removes a hook if it is that of a foreign waker.
    pub(crate) fn remove_foreign(&self, id: u32) {
        let at = (id & INDEX) as usize;
        let foreign = matches!(self.hooks.borrow().get(at), Some(Hook::Foreign(_)));
        if foreign {
            self.remove(id);
        }
    }

    /// Whom to wake for this hook: a waiting id, which may be a hook again.
    pub(crate) fn fire(&self, id: u32) -> Option<u32> {
        let at = id & INDEX;
        let waker = {
            let mut hooks = self.hooks.borrow_mut();
            match hooks.get_mut(at as usize)? {
                Hook::Free => return None,
                Hook::Member(ready, member) => {
                    ready.push(*member);
                    let word = ready.waiter.get();
                    ready.waiter.set(word & !ARMED);
                    return (word & ARMED != 0).then_some(word & ID);
                }
                hook @ Hook::Foreign(_) => {
                    self.free.borrow_mut().push(at);
                    std::mem::replace(hook, Hook::Free)
                }
            }
        };
        // Outside of the borrow: a waker is foreign code, which may come back here.
        if let Hook::Foreign(waker) = waker {
            waker.wake();
        }
        None
    }
}
