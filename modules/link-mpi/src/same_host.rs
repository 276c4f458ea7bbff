//! OS processes of the same host, which share memory: tokens between them do not go by MPI.

use std::fs;

use graphmap_runtime::between::{Header, HostLanes, Invitation};

use crate::frames::long;
use crate::world::World;

/// Frames that are taken of each at a time: who sends without end keeps nobody else waiting.
const TAKEN: usize = 16;

/// Bytes of the name of a place (see [`place`]), with zeros behind it.
const PLACE: usize = 96;

/// Returns what OS processes that can share memory have in common: the system, its network, and its
/// numbers of processes. Only zeros: nothing.
fn place() -> Vec<u8> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = |name: &str| fs::read_link(format!("/proc/self/ns/{name}")).ok();
    let mut place = match (space("net"), space("pid")) {
        (Some(net), Some(pid)) if !boot.is_empty() => {
            format!("{} {} {}", boot.trim(), net.display(), pid.display())
        }
        _ => String::new(),
    }
    .into_bytes();
    place.resize(PLACE, 0);
    place
}

/// See the module.
pub(crate) struct SameHost {
    lanes: HostLanes,
    /// The number on this host of each OS process of the run that is here, but for this one.
    here: Vec<Option<usize>>,
    /// The number in the run of each on this host.
    of: Vec<usize>,
}

impl SameHost {
    /// Makes, or joins, the memory of this host, where there are several of `wanted`. All OS
    /// processes call it; none has any where one of its host cannot have it.
    pub(crate) fn new(world: &World, wanted: bool) -> Option<SameHost> {
        let (me, own) = (world.me(), place());
        let places = world.gather(&own);
        let is_here = |&other: &usize| {
            let place = &places[other * PLACE..][..PLACE];
            other == me || (place == own && own[0] != 0)
        };
        let of: Vec<usize> = (0..world.count()).filter(is_here).collect();
        let at = of.iter().position(|&other| other == me)?;
        let made = (wanted && of.len() > 1 && at == 0)
            .then(|| HostLanes::create(of.clone()).ok())
            .flatten();
        let (mut lanes, invitation) = match made {
            Some((lanes, invitation)) => (Some(lanes), Some(invitation)),
            None => (None, None),
        };
        let told = world.gather(&tell(invitation));
        let first = told.chunks_exact(TOLD).nth(of[0]).and_then(invited);
        if let (Some(invitation), true, true) = (first, wanted, at > 0) {
            lanes = HostLanes::join(invitation, at, of.clone()).ok();
        }
        let have = world.gather(&[u8::from(lanes.is_some())]);
        let all = of.iter().all(|&other| have.get(other) == Some(&1));
        let lanes = lanes.filter(|_| all)?;
        let mut here = vec![None; world.count()];
        for (number, &other) in of.iter().enumerate() {
            here[other] = (other != me).then_some(number);
        }
        Some(SameHost { lanes, here, of })
    }

    /// The number on this host of an OS process of the run, if it is here.
    #[inline]
    pub(crate) fn number(&self, of: usize) -> Option<usize> {
        self.here[of]
    }

    /// Whether all are here.
    pub(crate) fn is_all(&self) -> bool {
        self.of.len() == self.here.len()
    }

    pub(crate) fn lanes(&self) -> &HostLanes {
        &self.lanes
    }

    /// Hands on what has come, with who has sent it: its number in the run. How many frames there
    /// were. `differs`: one has another agreement than this OS process.
    pub(crate) fn receive(
        &self,
        agreement: u64,
        mut take: impl FnMut(usize, Header, &[u8]),
        mut differs: impl FnMut(usize, u64),
    ) -> Result<usize, String> {
        self.lanes.receive(TAKEN, |from, header, bytes| {
            let theirs = self.lanes.agreement(from);
            // Who fails before it knows what it is to agree with has said nothing.
            match theirs == agreement || theirs == 0 || agreement == 0 {
                true => take(self.of[from], header, bytes),
                false => differs(self.of[from], theirs),
            }
        })
    }
}

/// What the others of a host are told.
const TOLD: usize = 24;

fn tell(invitation: Option<Invitation>) -> Vec<u8> {
    let Some(Invitation { process, file, key }) = invitation else {
        return vec![0; TOLD];
    };
    [process.into(), file.into(), key]
        .map(u64::to_ne_bytes)
        .concat()
}

fn invited(told: &[u8]) -> Option<Invitation> {
    let number = |at| u32::try_from(long(told, at).ok()?).ok();
    Some(Invitation {
        process: number(0).filter(|&process| process > 0)?,
        file: number(8)?,
        key: long(told, 16).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invitations_are_read_as_they_are_told() {
        let invitation = Invitation {
            process: 5,
            file: 6,
            key: u64::MAX,
        };
        assert_eq!(invited(&tell(Some(invitation))), Some(invitation));
        assert_eq!(invited(&tell(None)), None);
        assert_eq!(invited(&[0xff; TOLD]), None);
        assert_eq!(invited(&[]), None);
    }
}
