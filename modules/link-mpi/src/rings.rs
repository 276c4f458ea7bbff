//! Waking OS processes of the same host, to which something is sent. MPI wakes nobody there.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bell::{self, Bell};

/// Whoever got something so short a time ago still looks for more by itself: for longer than this (`EAGER` of `nap.rs`).
const AWAKE: Duration = Duration::from_micros(100);

/// What names the system, its network, in which names of bells are known, and its numbers of processes: no longer than this.
const PLACE: usize = 96;
/// What an OS process tells the others: both, with zeros behind each.
pub(crate) const TOLD: usize = PLACE + bell::NAME;

/// The bells of the OS processes of this host that can be rung, and that of this one, which does.
pub(crate) struct Rings {
    bell: Arc<Bell>,
    of: Vec<Option<SocketAddr>>,
}

/// What the others have to know to ring a bell.
pub(crate) fn told(bell: &Bell) -> Vec<u8> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = |name: &str| fs::read_link(format!("/proc/self/ns/{name}")).ok();
    let mut told = match (space("net"), space("pid")) {
        (Some(network), Some(processes)) if !boot.is_empty() => format!(
            "{} {} {}",
            boot.trim(),
            network.display(),
            processes.display()
        )
        .into_bytes(),
        // In no place that others are in, too.
        _ => Vec::new(),
    };
    told.resize(PLACE, 0);
    told.extend_from_slice(bell.name());
    told.resize(TOLD, 0);
    told
}

impl Rings {
    /// Of what each OS process has told.
    pub(crate) fn new(bell: &Arc<Bell>, told: &[u8], me: usize) -> Rings {
        let each = told.as_chunks::<TOLD>().0;
        let place = |told: &[u8; TOLD]| -> [u8; PLACE] { std::array::from_fn(|at| told[at]) };
        let here = place(&each[me]);
        let name = |(other, told): (usize, &[u8; TOLD])| {
            if other == me || here[0] == 0 || place(told) != here {
                return None;
            }
            let name = told[PLACE..].split(|&byte| byte == 0).next()?;
            SocketAddr::from_abstract_name(name).ok()
        };
        Rings {
            bell: Arc::clone(bell),
            of: each.iter().enumerate().map(name).collect(),
        }
    }

    /// Whether that OS process can be rung, and so rings this one.
    pub(crate) fn reach(&self, other: usize) -> bool {
        self.of.get(other).is_some_and(Option::is_some)
    }

    /// The name of its bell.
    pub(crate) fn name(&self, other: usize) -> Option<SocketAddr> {
        self.of.get(other)?.clone()
    }

    /// Something has been sent to an OS process now, and `last` something else before.
    pub(crate) fn ring(&self, other: usize, last: Option<Instant>, now: Instant) {
        if let Some(Some(name)) = self.of.get(other)
            && last.is_none_or(|last| now.saturating_duration_since(last) >= AWAKE)
        {
            self.bell.strike(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_in_the_same_place_is_rung_unless_awake() {
        let (one, other) = (Arc::new(Bell::new().unwrap()), Bell::new().unwrap());
        let mut elsewhere = told(&other);
        elsewhere[0] ^= 1;
        let unknown = vec![0; TOLD];
        let told = [told(&one), told(&other), elsewhere, unknown].concat();
        let rings = Rings::new(&one, &told, 0);
        let reach: Vec<bool> = (0..5).map(|other| rings.reach(other)).collect();
        assert_eq!(reach, [false, true, false, false, false]);
        assert!((0..4).all(|other| !Rings::new(&one, &told, 3).reach(other)));

        let is_rung = || other.wait(&[], Duration::ZERO).own;
        let now = Instant::now();
        for elsewhere in [0, 2, 3, 4] {
            rings.ring(elsewhere, None, now);
        }
        rings.ring(1, Some(now), now);
        assert!(!is_rung());
        rings.ring(1, None, now);
        assert!(is_rung());
        rings.ring(1, Some(now), now + AWAKE);
        assert!(is_rung());
    }
}
