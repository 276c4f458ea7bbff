//! Which way frames go: through memory that is shared, to who is on the same host, or by MPI.

use graphmap_runtime::Encoder;
use graphmap_runtime::between::{Header, HostLanes, Link};

use super::{MpiLink, differs};
use crate::messages::is_ours;
use crate::nap::UnderWay;
use crate::near::Near;

impl MpiLink {
    /// The lanes to an OS process of this host, and its number there.
    #[inline]
    pub(super) fn lanes_to(&self, to: usize) -> Option<(&HostLanes, usize)> {
        let near = self.near.as_ref()?;
        Some((near.lanes(), near.number(to)?))
    }

    /// Gets on its way what waits, as far as there is room: all, if there is nothing else to do (`idle`). Whether nothing is left.
    pub(super) fn push(&self, idle: bool) -> bool {
        let near = self.near.as_ref().is_none_or(|near| near.lanes().flush());
        self.messages.borrow_mut().push(idle) && near
    }

    /// Whether something of this host has come, what waits can be sent there, or a value that was is to be given back.
    #[inline]
    pub(super) fn is_near(&self) -> bool {
        (self.near.as_ref()).is_some_and(|near| near.lanes().is_ready())
    }

    /// Whether there is no other host, so that nothing comes by MPI.
    #[inline]
    pub(super) fn is_alone(&self) -> bool {
        self.near.as_ref().is_some_and(Near::is_all)
    }

    /// What MPI is doing, and how much has come from this host, too: who was woken for that was not woken for nothing.
    pub(super) fn under_way(&self) -> UnderWay {
        let under_way = self.messages.borrow().under_way();
        UnderWay {
            moved: under_way.moved + self.near_moved.get(),
            ..under_way
        }
    }

    /// Hands on what has come from this host; whether there were frames of the runtime.
    pub(super) fn receive_near(
        &self,
        take: &mut dyn FnMut(usize, Header, &[u8]),
    ) -> Result<bool, String> {
        let Some(near) = &self.near else {
            return Ok(false);
        };
        let agreement = self.messages.borrow().agreement();
        let mut tokens = 0;
        let moved = near.receive(
            agreement,
            |from, header, bytes| match is_ours(header) {
                true => self.see(from, header, bytes),
                false => {
                    tokens += 1;
                    take(from, header, bytes);
                }
            },
            |from, other| {
                let what = self.messages.borrow().difference(other);
                self.fail(&Encoder::to_vec(&differs(from, self.me, what)));
            },
        )?;
        self.near_moved.set(self.near_moved.get() + moved as u64);
        let received = &self.known.received;
        received.set(received.get() + tokens);
        Ok(tokens > 0)
    }
}
