//! Other OS processes as this one's children.

use std::process::Command;

/// Has the kernel kill what the command starts when the thread that starts it ends. `me` is this OS
/// process.
pub(crate) fn bind(command: &mut Command, me: u32) {
    system::bind(command, me);
}

/// Waits until a child has ended, and leaves it to be asked how.
pub(crate) fn wait_for_end(child: u32) {
    system::wait_for_end(child);
}

/// The OS process that started this one.
pub(crate) fn parent() -> u32 {
    system::parent()
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::ffi::{c_int, c_uint, c_ulong};
    use std::io;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    unsafe extern "C" {
        fn prctl(option: c_int, argument: c_ulong) -> c_int;
        fn getppid() -> c_int;
        fn waitid(what: c_int, id: c_uint, about: *mut Siginfo, options: c_int) -> c_int;
    }

    const PR_SET_PDEATHSIG: c_int = 1;
    const SIGKILL: c_ulong = 9;
    const P_PID: c_int = 1;
    const WEXITED: c_int = 4;
    const WNOWAIT: c_int = 0x0100_0000;

    /// As large and aligned as the C library has it; what is in it is not looked at.
    #[repr(C, align(8))]
    struct Siginfo([u8; 128]);

    pub(super) fn bind(command: &mut Command, me: u32) {
        // SAFETY: what is called between `fork` and `exec` is two system calls, which is allowed there.
        unsafe { command.pre_exec(move || die_with_parent(me)) };
    }

    fn die_with_parent(of: u32) -> io::Result<()> {
        // SAFETY: it takes numbers.
        if unsafe { prctl(PR_SET_PDEATHSIG, SIGKILL) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // It may have ended before that.
        match parent() == of {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(3)),
        }
    }

    pub(super) fn parent() -> u32 {
        // SAFETY: it takes nothing.
        unsafe { getppid() }.unsigned_abs()
    }

    pub(super) fn wait_for_end(child: u32) {
        let mut about = Siginfo([0; 128]);
        loop {
            // SAFETY: there is room for what is told.
            let waited = unsafe { waitid(P_PID, child, &raw mut about, WEXITED | WNOWAIT) };
            if waited == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return;
            }
        }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    use std::process::Command;

    pub(super) fn bind(_command: &mut Command, _me: u32) {}

    pub(super) fn parent() -> u32 {
        0
    }

    pub(super) fn wait_for_end(_child: u32) {}
}
