//! Bundles: channels that share an end.
//!
//! | bundle | joins | a call |
//! |---|---|---|
//! | [`Select`] | many writers, one reader | reads one token, from whichever member has one |
//! | [`Gather`] | many writers, one reader | reads one token of each member |
//! | [`Reduce`] | many writers, one reader | reads one token of each and folds them |
//! | [`Share`] | one writer, many readers | writes one token to one member that has room |
//! | [`Broadcast`] | one writer, many readers | writes a clone to each member |
//! | [`Scatter`] | one writer, many readers | writes a token of its own to each member |
//! | [`Switch`] | one writer, many readers | writes one token to the member that is named |
//!
//! Select and share make a network non-deterministic; the others do not.

mod broadcast;
mod gather;
mod scatter;
mod selecting;
mod shared;
mod switch;

pub use broadcast::Broadcast;
pub use gather::{Gather, Reduce};
pub use scatter::Scatter;
pub use selecting::{ReadOrEnd, Select};
pub use shared::Share;
pub use switch::Switch;

use std::rc::Rc;
use std::task::Context;

use crate::exec::hooks::Ready;
use crate::exec::scheduler::{self, Scheduler, waiting};
use crate::link::waiter::ARMED;

/// The ready list of a bundle and its members' hooks, which put them on it.
struct Hooked {
    ready: Rc<Ready>,
    hooks: Vec<u32>,
    /// The run the hooks are of: 0 before the first.
    run: u64,
}

impl Hooked {
    fn new(members: usize) -> Self {
        Hooked {
            ready: Ready::new(members),
            hooks: Vec::new(),
            run: 0,
        }
    }

    /// The hook of a member, in this run.
    fn hook(&mut self, scheduler: &Scheduler, member: usize, members: usize) -> u32 {
        if self.run != scheduler.run() {
            self.run = scheduler.run();
            let hook = |member| scheduler.hooks().member(&self.ready, member);
            self.hooks = (0..members as u32).map(hook).collect();
        }
        self.hooks[member]
    }

    /// Has whoever polls with `context` woken when a member is put on the list.
    fn wait(&self, scheduler: &Scheduler, context: &Context<'_>) {
        let waiter = scheduler.waiter(context, self.ready.waiter.get());
        self.ready.waiter.set(ARMED | waiter);
    }
}

impl Drop for Hooked {
    fn drop(&mut self) {
        scheduler::with_current(|scheduler| {
            if self.run == scheduler.run() {
                self.hooks
                    .iter()
                    .for_each(|&hook| scheduler.hooks().remove(hook));
                scheduler.unhook(self.ready.waiter.get());
            }
        });
    }
}
