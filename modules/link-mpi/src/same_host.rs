//! Shared memory between OS processes of the same host. Tokens between them do not use MPI.

use std::fs;

use graphmap_runtime::between::{Header, HostRings, Invitation};

use crate::frames::long;
use crate::world::World;

/// Largest number of frames that are taken from each OS process at a time, so that one sender does
/// not delay the others.
const TAKEN: usize = 16;

/// Size in bytes of the identifier of [`sharing_key`], padded with zeros.
const SHARING_KEY: usize = 96;

/// Returns an identifier that is equal for OS processes that can share memory. It consists of the
/// boot id, the network namespace and the pid namespace. If it cannot be determined, all bytes are
/// zero.
fn sharing_key() -> Vec<u8> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = |name: &str| fs::read_link(format!("/proc/self/ns/{name}")).ok();
    let mut sharing_key = match (space("net"), space("pid")) {
        (Some(net), Some(pid)) if !boot.is_empty() => {
            format!("{} {} {}", boot.trim(), net.display(), pid.display())
        }
        _ => String::new(),
    }
    .into_bytes();
    sharing_key.resize(SHARING_KEY, 0);
    sharing_key
}

/// Shared memory with the other OS processes of this host.
pub(crate) struct SameHost {
    rings: HostRings,
    /// Index on this host of each OS process of the run. `None` for this OS process and those on
    /// other hosts.
    here: Vec<Option<usize>>,
    /// Number in the run of each OS process on this host.
    of: Vec<usize>,
}

impl SameHost {
    /// Creates or joins the shared memory of this host. All OS processes must call this function,
    /// and it blocks until they do.
    ///
    /// Returns `None` if `wanted` is false, if no other OS process is known to be on this host, or
    /// if one of those on this host cannot create or join the shared memory.
    pub(crate) fn new(world: &World, wanted: bool) -> Option<SameHost> {
        let (me, own) = (world.me(), sharing_key());
        let sharing_keys = world.gather(&own);
        let is_here = |&other: &usize| {
            let sharing_key = &sharing_keys[other * SHARING_KEY..][..SHARING_KEY];
            other == me || (sharing_key == own && own[0] != 0)
        };
        let of: Vec<usize> = (0..world.count()).filter(is_here).collect();
        let at = of.iter().position(|&other| other == me)?;
        let made = (wanted && of.len() > 1 && at == 0)
            .then(|| HostRings::create(of.clone()).ok())
            .flatten();
        let (mut rings, invitation) = match made {
            Some((rings, invitation)) => (Some(rings), Some(invitation)),
            None => (None, None),
        };
        let encoded = world.gather(&encode(invitation));
        let first = encoded.chunks_exact(ENCODED).nth(of[0]).and_then(decode);
        if let (Some(invitation), true, true) = (first, wanted, at > 0) {
            rings = HostRings::join(invitation, at, of.clone()).ok();
        }
        let have = world.gather(&[u8::from(rings.is_some())]);
        let all = of.iter().all(|&other| have.get(other) == Some(&1));
        let rings = rings.filter(|_| all)?;
        let mut here = vec![None; world.count()];
        for (number, &other) in of.iter().enumerate() {
            here[other] = (other != me).then_some(number);
        }
        Some(SameHost { rings, here, of })
    }

    /// Returns the index on this host of OS process `of`. Returns `None` if `of` is this OS process
    /// or is on another host.
    ///
    /// # Panics
    /// Panics if `of` does not exist.
    #[inline]
    pub(crate) fn number(&self, of: usize) -> Option<usize> {
        self.here[of]
    }

    /// Returns true if all OS processes of the run are on this host.
    pub(crate) fn is_all(&self) -> bool {
        self.of.len() == self.here.len()
    }

    pub(crate) fn rings(&self) -> &HostRings {
        &self.rings
    }

    /// Delivers frames that have come, with the number of their sender in the run, at most
    /// [`TAKEN`] of each sender. Returns the number of frames. Calls `differs` instead, with the
    /// sender and its agreement, for a frame whose sender has another agreement. An agreement of 0
    /// fits any other. `agreement` belongs to this OS process.
    ///
    /// # Errors
    /// Returns an error if the bytes that came are not a valid frame.
    pub(crate) fn receive(
        &self,
        agreement: u64,
        mut take: impl FnMut(usize, Header, &[u8]),
        mut differs: impl FnMut(usize, u64),
    ) -> Result<usize, String> {
        self.rings.receive(TAKEN, |from, header, bytes| {
            let theirs = self.rings.agreement(from);
            // An OS process that fails before it knows its agreement has the agreement 0.
            match theirs == agreement || theirs == 0 || agreement == 0 {
                true => take(self.of[from], header, bytes),
                false => differs(self.of[from], theirs),
            }
        })
    }
}

/// Size in bytes of an encoded invitation.
const ENCODED: usize = 24;

fn encode(invitation: Option<Invitation>) -> Vec<u8> {
    let Some(Invitation { process, file, key }) = invitation else {
        return vec![0; ENCODED];
    };
    [process.into(), file.into(), key]
        .map(u64::to_ne_bytes)
        .concat()
}

fn decode(encoded: &[u8]) -> Option<Invitation> {
    let number = |at| u32::try_from(long(encoded, at).ok()?).ok();
    Some(Invitation {
        process: number(0).filter(|&process| process > 0)?,
        file: number(8)?,
        key: long(encoded, 16).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_invitations_are_decoded() {
        let invitation = Invitation {
            process: 5,
            file: 6,
            key: u64::MAX,
        };
        assert_eq!(decode(&encode(Some(invitation))), Some(invitation));
        assert_eq!(decode(&encode(None)), None);
        assert_eq!(decode(&[0xff; ENCODED]), None);
        assert_eq!(decode(&[]), None);
    }
}
