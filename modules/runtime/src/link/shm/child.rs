//! Other OS processes as this one's children.

use std::process::Command;

/// Has the kernel kill what the command starts when the thread that starts it ends. `me` is this OS
/// process, `fd` the file that the child inherits.
pub(crate) fn bind(command: &mut Command, me: u32, fd: i32) {
    system::bind(command, me, fd);
}

/// Who has inherited that the ends of children are of no interest could not wait for them.
pub(crate) fn can_be_waited_for() {
    system::can_be_waited_for();
}

/// Ends this OS process at once.
pub(crate) fn leave(code: u8) -> ! {
    system::leave(code)
}

/// Has `call` called when this OS process calls `exit`, before what was registered earlier.
pub(crate) fn at_exit(call: extern "C" fn()) {
    system::at_exit(call);
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
        fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
        fn signal(signal: c_int, handler: usize) -> usize;
        fn atexit(call: extern "C" fn()) -> c_int;
        fn _exit(code: c_int) -> !;
        fn waitid(what: c_int, id: c_uint, about: *mut Siginfo, options: c_int) -> c_int;
    }

    const PR_SET_PDEATHSIG: c_int = 1;
    const SIGKILL: c_ulong = 9;
    const SIGCHLD: c_int = 17;
    const SIG_DFL: usize = 0;
    const SIG_IGN: usize = 1;
    const F_SETFD: c_int = 2;
    const P_PID: c_int = 1;
    const WEXITED: c_int = 4;
    const WNOWAIT: c_int = 0x0100_0000;

    /// As large and aligned as the C library has it; what is in it is not looked at.
    #[repr(C, align(8))]
    struct Siginfo([u8; 128]);

    pub(super) fn bind(command: &mut Command, me: u32, fd: i32) {
        let prepare = move || {
            // SAFETY: it takes numbers: the file is not closed by `exec`.
            match unsafe { fcntl(fd, F_SETFD, 0) } {
                0 => die_with_parent(me),
                _ => Err(io::Error::last_os_error()),
            }
        };
        // SAFETY: what is called between `fork` and `exec` is system calls, which is allowed there.
        unsafe { command.pre_exec(prepare) };
    }

    pub(super) fn can_be_waited_for() {
        // SAFETY: numbers; a handler that somebody has set is set again.
        unsafe {
            let was = signal(SIGCHLD, SIG_DFL);
            if was != SIG_IGN {
                signal(SIGCHLD, was);
            }
        }
    }

    pub(super) fn leave(code: u8) -> ! {
        // SAFETY: it takes a number.
        unsafe { _exit(c_int::from(code)) }
    }

    pub(super) fn at_exit(call: extern "C" fn()) {
        // SAFETY: a function that can be called at any time, by any thread. Without room for it nothing is called.
        unsafe { atexit(call) };
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

    pub(super) fn bind(_command: &mut Command, _me: u32, _fd: i32) {}

    pub(super) fn can_be_waited_for() {}

    pub(super) fn leave(code: u8) -> ! {
        std::process::exit(code.into())
    }

    pub(super) fn at_exit(_call: extern "C" fn()) {}

    pub(super) fn parent() -> u32 {
        0
    }

    pub(super) fn wait_for_end(_child: u32) {}
}
