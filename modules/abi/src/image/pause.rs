//! Functions of the C library that wait for a time, or yield. They suspend the calling rank, and
//! other ranks of its thread run meanwhile.

use std::ffi::{c_int, c_uint};
use std::mem;
use std::panic::catch_unwind;
use std::time::Duration;

use graphmap_fiber::try_wait;
use libc::{clockid_t, fd_set, nfds_t, pollfd, timespec, timeval};

use crate::leave::leave;
use crate::rank;

/// Returns the function that replaces a function, or `None` if it is not replaced.
pub(super) fn replacement(name: &[u8]) -> Option<*const ()> {
    Some(match name {
        b"sched_yield" | b"pthread_yield" | b"thrd_yield" => sched_yield as *const (),
        b"sleep" => sleep as *const (),
        b"usleep" => usleep as *const (),
        b"nanosleep" | b"thrd_sleep" => nanosleep as *const (),
        b"clock_nanosleep" => clock_nanosleep as *const (),
        b"poll" => poll as *const (),
        b"select" => select as *const (),
        _ => return None,
    })
}

/// Suspends the calling rank for a time. Returns false without a wait if the caller is not a rank,
/// or cannot be suspended, as in an operation of a reduction.
fn suspend(time: Duration) -> bool {
    let waited = catch_unwind(|| match time.is_zero() {
        true => try_wait(graphmap_runtime::yield_now()),
        false => try_wait(graphmap_runtime::sleep(time)),
    });
    match waited {
        Ok(result) => result.is_ok(),
        // The run has ended.
        Err(_) => leave(rank::current_or_thread()),
    }
}

extern "C" fn sched_yield() -> c_int {
    suspend(Duration::ZERO);
    0
}

extern "C" fn sleep(seconds: c_uint) -> c_uint {
    match suspend(Duration::from_secs(seconds.into())) {
        true => 0,
        // SAFETY: the function has no preconditions.
        false => unsafe { libc::sleep(seconds) },
    }
}

extern "C" fn usleep(microseconds: c_uint) -> c_int {
    match suspend(Duration::from_micros(microseconds.into())) {
        true => 0,
        // SAFETY: the function has no preconditions.
        false => unsafe { libc::usleep(microseconds) },
    }
}

/// Returns a time as a duration, or `None` if it is null or invalid.
///
/// # Safety
/// The pointer must be null or valid.
unsafe fn duration(time: *const timespec) -> Option<Duration> {
    // SAFETY: guaranteed by the caller.
    let time = unsafe { time.as_ref() }?;
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanoseconds = u32::try_from(time.tv_nsec).ok()?;
    (nanoseconds < 1_000_000_000).then(|| Duration::new(seconds, nanoseconds))
}

unsafe extern "C" fn nanosleep(time: *const timespec, rest: *mut timespec) -> c_int {
    // SAFETY: guaranteed by the caller. The C library reports invalid times.
    unsafe {
        match duration(time) {
            Some(time) if suspend(time) => 0,
            _ => libc::nanosleep(time, rest),
        }
    }
}

unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    rest: *mut timespec,
) -> c_int {
    let is_known = clock == libc::CLOCK_REALTIME || clock == libc::CLOCK_MONOTONIC;
    // SAFETY: guaranteed by the caller. The C library reports invalid times. Zero is a time.
    unsafe {
        let mut now: timespec = mem::zeroed();
        if flags & libc::TIMER_ABSTIME != 0 {
            libc::clock_gettime(clock, &mut now);
        }
        let time_left = duration(time).zip(duration(&now));
        match time_left.map(|(time, now)| time.saturating_sub(now)) {
            Some(time) if is_known && suspend(time) => 0,
            _ => libc::clock_nanosleep(clock, flags, time, rest),
        }
    }
}

/// `poll`. Without descriptors, it waits for a time.
unsafe extern "C" fn poll(files: *mut pollfd, count: nfds_t, milliseconds: c_int) -> c_int {
    if count == 0
        && let Ok(time) = u64::try_from(milliseconds)
        && suspend(Duration::from_millis(time))
    {
        return 0;
    }
    // SAFETY: guaranteed by the caller.
    unsafe { libc::poll(files, count, milliseconds) }
}

/// `select`. Without descriptors, it waits for a time.
unsafe extern "C" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *mut timeval,
) -> c_int {
    let is_wait = [read, write, except].iter().all(|set| set.is_null());
    // SAFETY: guaranteed by the caller. The C library reports invalid times.
    unsafe {
        if is_wait
            && let Some(left) = time.as_mut()
            && let Ok(seconds) = u64::try_from(left.tv_sec)
            && let Ok(microseconds) = u64::try_from(left.tv_usec)
            && suspend(Duration::from_secs(seconds) + Duration::from_micros(microseconds))
        {
            *left = mem::zeroed();
            return 0;
        }
        libc::select(count, read, write, except, time)
    }
}
