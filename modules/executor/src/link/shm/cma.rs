//! Reading the memory of another OS process, as the kernel permits it: "cross memory attach", one copy instead of those
//! into and out of shared memory.

use std::io;
use std::mem::MaybeUninit;

/// Lets `reader` and what it has started or will start, copies and programs of the user alike, read the memory of this OS process, where the kernel would
/// otherwise let only its own ancestors do so (Yama's `ptrace_scope` 1).
pub fn permit(reader: u32) {
    system::permit(reader);
}

/// Fills `to` with what is at an address of an OS process.
///
/// # Errors
/// The kernel does not permit it, or there is not so much at that address.
pub fn read(pid: u32, address: u64, to: &mut [MaybeUninit<u8>]) -> io::Result<()> {
    let mut done = 0;
    while done < to.len() {
        match system::read(pid, address.wrapping_add(done as u64), &mut to[done..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => done += more,
        }
    }
    Ok(())
}

#[cfg(not(miri))]
mod system {
    use std::io;
    use std::mem::MaybeUninit;
    use std::ptr;

    pub(super) fn permit(reader: u32) {
        // SAFETY: it takes numbers. A kernel without Yama refuses it, and does not need it.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::c_ulong::from(reader)) };
    }

    pub(super) fn read(pid: u32, address: u64, to: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        let local = libc::iovec {
            iov_base: to.as_mut_ptr().cast(),
            iov_len: to.len(),
        };
        let remote = libc::iovec {
            iov_base: ptr::without_provenance_mut(address as usize),
            iov_len: to.len(),
        };
        let pid = pid.cast_signed();
        // SAFETY: the kernel writes to `to` alone, which is borrowed for writing. It checks the
        // address in the other OS process.
        let read =
            unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    }
}

#[cfg(miri)]
mod system {
    use std::io;
    use std::mem::MaybeUninit;

    pub(super) fn permit(_reader: u32) {}

    pub(super) fn read(_pid: u32, _address: u64, _to: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read_and_what_is_not_is_an_error() {
        let there = [7u8; 100];
        let me = std::process::id();
        let mut to = [MaybeUninit::new(0u8); 100];
        match read(me, there.as_ptr().expose_provenance() as u64, &mut to) {
            // SAFETY: they were initialised from the start.
            Ok(()) => assert!(to.iter().all(|byte| unsafe { byte.assume_init() } == 7)),
            // A sandbox may forbid even this.
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
        }
        assert!(read(me, 64, &mut to).is_err());
        assert!(read(u32::MAX / 2, 64, &mut to).is_err());
        assert!(read(me, 64, &mut []).is_ok());
    }
}
