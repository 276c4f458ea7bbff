//! Decides how large slices reach another OS process: through shared memory, with two copies, or
//! read by the kernel in place, with one.
//!
//! One copy is less work, but the kernel looks up every page first. On some machines that costs
//! more than the second copy (on an AMD EPYC under a hypervisor, one copy of 64 KiB took 10 us, and
//! two copies 5). So some slices go either way at first. The reader measures both, and decides how
//! the following ones are sent.

use std::cell::Cell;
use std::time::Duration;

/// Number of slices or messages that go each way before the decision. The shortest time of each way
/// counts, because a longer one may contain a wait.
pub(super) const TRIALS: u32 = 8;

/// The measurements of one way.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    count: u32,
    /// Shortest time for a byte, in picoseconds.
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

/// The times of large messages from one other scheduler, until it is known which way takes less.
#[derive(Debug, Default)]
pub(super) struct Rates {
    copied: Cell<Seen>,
    read: Cell<Seen>,
    decided: Cell<bool>,
}

impl Rates {
    /// Returns true if no more measurements are needed.
    pub(super) fn is_decided(&self) -> bool {
        self.decided.get()
    }

    /// Ends the measurements, without a decision of its own.
    pub(super) fn decide(&self) {
        self.decided.set(true);
    }

    /// Records a message of `bytes` bytes that has arrived with two copies, in parts of `part`
    /// bytes. `came` is the time from the arrival of the first part to the last, and `decoded` the
    /// time to decode the message. Encoding took about as long as decoding, but cannot be measured
    /// here, and neither can the time to write the first part.
    pub(super) fn copied(&self, bytes: usize, part: usize, (came, decoded): (Duration, Duration)) {
        let written = came.mul_f64(part.min(bytes) as f64 / bytes.max(1) as f64);
        let time = came + written + 2 * decoded;
        self.copied.set(self.copied.get().with(bytes, time));
    }

    /// Records that the kernel has read `bytes` bytes in `time`. Ends the measurements after 8 such
    /// reads, if a message has also been measured with two copies. In that case returns
    /// `Some(true)` if slices should continue to be read in this way, and `Some(false)` if not.
    /// Otherwise, or if the measurements have already ended, returns `None`. Two copies are worth
    /// the work of another core only if reading takes more than a quarter longer.
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

    /// Returns the decision after each read, for messages of 64 KiB and times in microseconds.
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
    fn the_shortest_time_of_each_method_decides_once() {
        // 4 until it was received, 2 to write the first part, and twice 1 to code it: 8.
        let copied = [24, 8, 900];
        let slow = said(&copied, &[30, 12, 18, 11, 40, 40, 40, 40, 1]);
        assert_eq!(slow[TRIALS as usize - 1..], [Some(false), None]);
        let quick = said(&copied, &[30, 12, 18, 10, 40, 40, 40, 40, 90]);
        assert_eq!(quick[TRIALS as usize - 1..], [Some(true), None]);
        assert_eq!(slow[..TRIALS as usize - 1], quick[..TRIALS as usize - 1]);
        // Without messages to compare with.
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
