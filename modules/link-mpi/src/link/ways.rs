//! The path of frames: shared memory to OS processes of the same host, MPI to the others.

use graphmap_runtime::Encoder;
use graphmap_runtime::between::{Header, HostRings, Link};

use super::{MpiLink, differs};
use crate::messages::is_ours;
use crate::same_host::SameHost;

impl MpiLink {
    /// Returns the byte rings of this host and the index of `to` there, if OS process `to` shares
    /// memory with this one. Otherwise returns `None`, also for this OS process. Panics if `to`
    /// does not exist and there is shared memory.
    #[inline]
    pub(super) fn rings_to(&self, to: usize) -> Option<(&HostRings, usize)> {
        let same_host = self.same_host.as_ref()?;
        Some((same_host.rings(), same_host.number(to)?))
    }

    /// Sends waiting frames over shared memory and MPI as far as there is room. If `idle`, frames
    /// do not wait for others to share their message. Returns true if no frame is left.
    pub(super) fn push(&self, idle: bool) -> bool {
        let flushed = self
            .same_host
            .as_ref()
            .is_none_or(|same_host| same_host.rings().flush());
        self.messages.borrow_mut().push(idle) && flushed
    }

    /// Returns true if a frame of this host has come, a waiting frame can be sent there, or a sent
    /// value is to be given back. Returns false without shared memory.
    #[inline]
    pub(super) fn same_host_is_ready(&self) -> bool {
        (self.same_host.as_ref()).is_some_and(|same_host| same_host.rings().is_ready())
    }

    /// Returns true if no message can come over MPI, because all OS processes share memory or there
    /// is only one.
    #[inline]
    pub(super) fn is_alone(&self) -> bool {
        self.count == 1 || self.same_host.as_ref().is_some_and(SameHost::is_all)
    }

    /// Delivers frames that have come from this host: those of the link itself to the link, and the
    /// others to `take` with the number of their sender. A limited number of frames is taken from
    /// each sender.
    ///
    /// Returns true if `take` was called, and false without shared memory. If a sender has another
    /// program or network, the run fails.
    ///
    /// # Errors
    /// Returns an error if the bytes that came are not a valid frame.
    pub(super) fn receive_same_host(
        &self,
        take: &mut dyn FnMut(usize, Header, &[u8]),
    ) -> Result<bool, String> {
        let Some(same_host) = &self.same_host else {
            return Ok(false);
        };
        let agreement = self.messages.borrow().agreement();
        let mut tokens = 0;
        same_host.receive(
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
        let received = &self.known.received;
        received.set(received.get() + tokens);
        Ok(tokens > 0)
    }
}
