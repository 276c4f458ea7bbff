//! Reads the memory of another OS process if the kernel permits it ("cross memory attach"). This
//! takes one copy instead of two, into and out of shared memory.

use std::io;
use std::mem::MaybeUninit;

/// Permits `reader` and all its descendants to read the memory of this OS process. This includes
/// other programs that the user starts there. Without it, the kernel permits only ancestors to do
/// so (Yama's `ptrace_scope` 1). A refusal of the kernel is ignored. A later call replaces the
/// permission of an earlier one.
pub fn permit(reader: u32) {
    system::permit(reader);
}

/// Fills `to` with the bytes at an address of the OS process with the id `pid`. Does nothing if
/// `to` is empty.
///
/// # Errors
/// The kernel does not permit it, there is no such OS process, or fewer bytes are readable at that
/// address. A part of `to` may be filled then.
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
        // SAFETY: the call takes only numbers. A kernel without Yama refuses it, and does not need
        // it.
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
        // SAFETY: the kernel writes only to `to`, which is borrowed mutably. It checks the address
        // in the other OS process.
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
    fn mapped_memory_is_read_and_other_memory_is_an_error() {
        let there = [7u8; 100];
        let me = std::process::id();
        let mut to = [MaybeUninit::new(0u8); 100];
        match read(me, there.as_ptr().expose_provenance() as u64, &mut to) {
            // SAFETY: all bytes were initialised at the start.
            Ok(()) => assert!(to.iter().all(|byte| unsafe { byte.assume_init() } == 7)),
            // A sandbox may forbid even this.
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}"),
        }
        assert!(read(me, 64, &mut to).is_err());
        assert!(read(u32::MAX / 2, 64, &mut to).is_err());
        assert!(read(me, 64, &mut []).is_ok());
    }
}
