//! Which way large slices take to another OS process: through shared memory, in two copies, or read by the kernel where they
//! are, in one.
//!
//! One copy is less work, but the kernel looks up every page first, which on some machines costs more than the second copy
//! (on an AMD EPYC under a hypervisor 64 KiB took it 10 us, and two copies 5). So some go either way at first, and the reader,
//! who sees both, says which is to be taken from then on.

use std::cell::Cell;
use std::time::Duration;

/// So many slices or messages go either way before it is decided. The least time of each counts: whoever was kept waiting in
/// one of them says nothing of the way.
pub(super) const TRIALS: u32 = 8;

/// What has been seen of one way.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    count: u32,
    /// Least time a byte, in picoseconds.
    least: u64,
}

impl Seen {
    fn with(self, bytes: usize, time: Duration) -> Self {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let each = time.saturating_mul(1000) / (bytes as u64).max(1);
        Seen {
            count: self.count + 1,
            least: match self.count {
                0 => each,
                _ => self.least.min(each),
            },
        }
    }
}

/// How long large messages from one other scheduler take, until it is known which way takes less.
#[derive(Debug, Default)]
pub(super) struct Rates {
    copied: Cell<Seen>,
    read: Cell<Seen>,
    decided: Cell<bool>,
}

impl Rates {
    /// Nothing is to be measured any more.
    pub(super) fn is_decided(&self) -> bool {
        self.decided.get()
    }

    /// Nothing is to be measured.
    pub(super) fn decide(&self) {
        self.decided.set(true);
    }

    /// A message of so many bytes has come in two copies, in parts of so many: how long it took from when the first was here
    /// until all were, and then to be decoded. Nobody here could see how long it took to encode it, about as long as that, and
    /// to write the first part.
    pub(super) fn copied(&self, bytes: usize, part: usize, (came, decoded): (Duration, Duration)) {
        let written = came.mul_f64(part.min(bytes) as f64 / bytes.max(1) as f64);
        let time = came + written + 2 * decoded;
        self.copied.set(self.copied.get().with(bytes, time));
    }

    /// So many bytes were read by the kernel; whether that is to go on, if it is known now. To read has to take a quarter
    /// longer before two copies are worth the work of another core.
    pub(super) fn read(&self, bytes: usize, time: Duration) -> Option<bool> {
        self.read.set(self.read.get().with(bytes, time));
        let (copied, read) = (self.copied.get(), self.read.get());
        if self.is_decided() || read.count < TRIALS || copied.count == 0 {
            return None;
        }
        self.decide();
        Some(read.least <= copied.least.saturating_mul(5) / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of 64 KiB, in microseconds: what is said after each that was read.
    fn said(copied: &[u64], read: &[u64]) -> Vec<Option<bool>> {
        let rates = Rates::default();
        for &time in copied {
            let came = Duration::from_micros(time / 2);
            rates.copied(65_536, 32_768, (came, Duration::from_micros(time / 8)));
        }
        let read = read.iter().map(|&time| Duration::from_micros(time));
        read.map(|time| rates.read(65_536, time)).collect()
    }

    #[test]
    fn the_least_of_each_way_decides_once() {
        // 4 until it was here, 2 before that, and twice 1: 8.
        let copied = [24, 8, 900];
        let slow = said(&copied, &[30, 12, 18, 11, 40, 40, 40, 40, 1]);
        assert_eq!(slow[TRIALS as usize - 1..], [Some(false), None]);
        let quick = said(&copied, &[30, 12, 18, 10, 40, 40, 40, 40, 90]);
        assert_eq!(quick[TRIALS as usize - 1..], [Some(true), None]);
        assert_eq!(slow[..TRIALS as usize - 1], quick[..TRIALS as usize - 1]);
        // Nothing to compare with.
        assert_eq!(said(&[], &[30; 10]), [None; 10]);
    }

    #[test]
    fn messages_of_any_size_and_time() {
        let rates = Rates::default();
        let long = Duration::from_secs(1 << 40);
        rates.copied(0, 1, (long, long));
        for _ in 0..TRIALS {
            let _ = rates.read(0, Duration::ZERO);
        }
        assert!(rates.is_decided());
        assert_eq!(rates.read(usize::MAX, Duration::MAX), None);
    }
}
