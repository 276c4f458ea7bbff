//! The clock of a host: all OS processes of it read the same one.

use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) use system::now;

/// How many nanoseconds the time of day is ahead of [`now`]: what joins the clocks of several hosts, as well as these agree on
/// the time of day.
pub(crate) fn behind() -> i64 {
    let of_day = SystemTime::now().duration_since(UNIX_EPOCH);
    let of_day = of_day.map_or(0, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
    of_day - i64::try_from(now()).unwrap_or(i64::MAX)
}

#[cfg(not(miri))]
mod system {
    /// Nanoseconds since the host was started.
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

    /// Nanoseconds since this OS process was first asked.
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
