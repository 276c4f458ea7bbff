//! Which members of something may have something, in the order in which they got it.

use std::cell::RefCell;
use std::collections::VecDeque;

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
    pub(super) fn all(members: usize) -> Self {
        ReadyList(RefCell::new(List {
            members: (0..members as u32).collect(),
            listed: vec![true; members],
        }))
    }

    /// There are so many members from now on, if there were fewer: those that are new are not in the list.
    pub(super) fn grow(&self, members: usize) {
        let mut list = self.0.borrow_mut();
        if list.listed.len() < members {
            list.listed.resize(members, false);
        }
    }

    /// Puts a member last, unless it is there. Of one that there is not nothing becomes.
    pub(super) fn push(&self, member: u32) {
        let mut list = self.0.borrow_mut();
        let listed = list.listed.get_mut(member as usize);
        if listed.is_some_and(|listed| !std::mem::replace(listed, true)) {
            list.members.push_back(member);
        }
    }

    /// Takes the first out.
    pub(super) fn pop(&self) -> Option<u32> {
        let mut list = self.0.borrow_mut();
        let member = list.members.pop_front()?;
        list.listed[member as usize] = false;
        Some(member)
    }

    /// How many are in the list.
    pub(super) fn len(&self) -> usize {
        self.0.borrow().members.len()
    }
}
