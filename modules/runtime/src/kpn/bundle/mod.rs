//! Bundles: channels that share an end.
//!
//! | bundle | joins | a call |
//! |---|---|---|
//! | [`Select`] | many writers, one reader | reads one token from any member that has one |
//! | [`Gather`] | many writers, one reader | reads one token from each member |
//! | [`Reduce`] | many writers, one reader | reads one token from each member and folds them |
//! | [`Share`] | one writer, many readers | writes one token to one member that has space |
//! | [`Broadcast`] | one writer, many readers | writes a clone to each member |
//! | [`Scatter`] | one writer, many readers | writes a different token to each member |
//! | [`Switch`] | one writer, many readers | writes one token to the member that it names |
//!
//! Select and share make a network non-deterministic. The others do not.

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

use graphmap_executor::exec::current::{self, waiting};
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::hooks::{NO_NUMBER, Ready};
use graphmap_executor::exec::scheduler::Scheduler;

/// Ready list of a bundle, and the hooks of its members, which put members on the list.
pub(super) struct Hooked {
    pub(super) ready: Rc<Ready>,
    pub(super) hooks: Vec<u32>,
    /// Run to which the hooks belong, or 0 before the first run.
    run: u64,
}

impl Hooked {
    pub(super) fn new(members: usize, side: Side) -> Self {
        Hooked {
            ready: Ready::new(members, side),
            hooks: Vec::new(),
            run: 0,
        }
    }

    /// Replaces the hooks and puts every member on the list, if the hooks belong to another run or
    /// to none yet. A bundle may be moved from one run to another. `number` returns the number of a
    /// member's channel, or `None` if waits do not include it.
    ///
    /// # Panics
    /// Panics outside of a run.
    #[inline]
    pub(super) fn enter_run(
        &mut self,
        members: usize,
        number: impl Fn(&Scheduler, usize) -> Option<u32>,
    ) {
        waiting(|scheduler| {
            if self.run != scheduler.run() {
                self.enter_run_now(scheduler, members, number);
            }
        });
    }

    #[cold]
    fn enter_run_now(
        &mut self,
        scheduler: &Scheduler,
        members: usize,
        number: impl Fn(&Scheduler, usize) -> Option<u32>,
    ) {
        self.remove();
        self.run = scheduler.run();
        let hook = |member| scheduler.hooks().member(&self.ready, member);
        self.hooks = (0..members as u32).map(hook).collect();
        let numbers = (0..members).map(|member| number(scheduler, member).unwrap_or(NO_NUMBER));
        self.ready.renew(numbers.collect());
    }

    /// Registers the waker of `context`, which is woken when a member is put on the list. Does not
    /// block. If `only` is given, that member alone counts. Cloning a foreign waker runs user code,
    /// so the list may be non-empty afterwards.
    ///
    /// # Panics
    /// Panics outside of a run.
    pub(super) fn wait(&self, context: &Context<'_>, only: Option<u32>) {
        waiting(|scheduler| scheduler.wait_for_bundle(context, &self.ready, only));
    }

    /// Cancels the wait for the bundle, if there is one.
    #[inline]
    pub(super) fn turn_away(&self) {
        if self.ready.is_waited_for() {
            self.turn_away_now();
        }
    }

    /// Puts a member on the list, and includes its channel with this number in waits from now on.
    /// Without a number, the member is put on the list only.
    pub(super) fn enter(&self, member: u32, number: Option<u32>) {
        self.ready.enter(member, number.unwrap_or(NO_NUMBER));
    }

    #[cold]
    fn turn_away_now(&self) {
        current::with_run(self.run, |scheduler| {
            let word = scheduler.hooks().turn_away(&self.ready);
            scheduler.unhook(word, Ready::owner(&self.ready));
        });
    }

    fn remove(&mut self) {
        self.turn_away();
        current::with_run(self.run, |scheduler| {
            for &hook in &self.hooks {
                scheduler.hooks().remove(hook);
            }
        });
    }
}

impl Drop for Hooked {
    fn drop(&mut self) {
        self.remove();
    }
}
