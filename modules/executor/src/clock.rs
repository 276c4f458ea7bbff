//! The clock of a host. All OS processes of a host read the same clock.

use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) use system::now;

/// Returns the nanoseconds by which the time of day, counted from 1970, is ahead of [`now`]. It is
/// negative if the time of day is behind. This offset aligns the clocks of several hosts, as
/// precisely as their times of day agree.
pub(crate) fn time_of_day_offset() -> i64 {
    let of_day = SystemTime::now().duration_since(UNIX_EPOCH);
    let of_day = of_day.map_or(0, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
    of_day - i64::try_from(now()).unwrap_or(i64::MAX)
}

#[cfg(not(miri))]
mod system {
    /// Returns the nanoseconds since the host was started, without the time for which it was
    /// suspended.
    #[inline]
    pub(crate) fn now() -> u64 {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `time` is a `timespec` that the call may write.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

#[cfg(miri)]
mod system {
    use std::sync::OnceLock;
    use std::time::Instant;

    /// Returns the nanoseconds since the first call in this OS process.
    pub(crate) fn now() -> u64 {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_goes_forward() {
        let before = super::now();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(super::now() >= before + 1_000_000);
    }
}
