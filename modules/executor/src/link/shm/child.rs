//! Other OS processes as this one's children.

use std::io;
use std::process::Command;
use std::sync::Arc;

use super::control::ControlPage;

/// Has what the command starts be OS process `number` of the run, which inherits its memory, and the kernel kill it when
/// the thread that starts it ends.
pub fn bind(command: &mut Command, control: &Arc<ControlPage>, number: usize) {
    system::bind(command, Arc::clone(control), number);
}

/// Has the kernel kill this OS process when the one that started it ends, if that is still `parent`: a program to which
/// its file gives rights of its own has lost that when it was begun.
///
/// # Errors
/// It has ended already.
pub fn die_with(parent: u32) -> io::Result<()> {
    system::die_with(parent)
}

/// Who has inherited that the ends of children are of no interest could not wait for them.
pub fn can_be_waited_for() {
    system::can_be_waited_for();
}

/// Ends this OS process at once.
pub fn leave(code: u8) -> ! {
    system::leave(code)
}

/// Has `call` called when this OS process calls `exit`, before what was registered earlier.
pub fn at_exit(call: extern "C" fn()) {
    system::at_exit(call);
}

/// Waits until a child has ended, and leaves it to be asked how.
pub fn wait_for_end(child: u32) {
    system::wait_for_end(child);
}

/// The OS process that started this one.
pub fn parent() -> u32 {
    system::parent()
}

#[cfg(not(miri))]
mod system {
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::unix::process::CommandExt;
    use std::process::{self, Command};
    use std::sync::Arc;

    use super::super::control::ControlPage;
    use crate::os_signal;

    pub(super) fn bind(command: &mut Command, control: Arc<ControlPage>, number: usize) {
        let (me, fd) = (process::id(), control.memory().fd());
        let prepare = move || {
            control.has_started(number, process::id());
            // SAFETY: it takes numbers: the file is not closed by `exec`.
            match unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } {
                0 => die_with(me),
                _ => Err(io::Error::last_os_error()),
            }
        };
        // SAFETY: what is called between `fork` and `exec` is system calls, and a store to memory that is there in both:
        // all of that is allowed there.
        unsafe { command.pre_exec(prepare) };
    }

    pub(super) fn can_be_waited_for() {
        if os_signal::handler(libc::SIGCHLD) == Some(libc::SIG_IGN) {
            // SAFETY: numbers.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        }
    }

    pub(super) fn leave(code: u8) -> ! {
        // SAFETY: it takes a number.
        unsafe { libc::_exit(code.into()) }
    }

    pub(super) fn at_exit(call: extern "C" fn()) {
        // SAFETY: a function that can be called at any time, by any thread. Without room for it nothing is called.
        unsafe { libc::atexit(call) };
    }

    pub(super) fn die_with(of: u32) -> io::Result<()> {
        // SAFETY: it takes numbers.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // It may have ended before that.
        match parent() == of {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    }

    pub(super) fn parent() -> u32 {
        // SAFETY: it takes nothing.
        unsafe { libc::getppid() }.unsigned_abs()
    }

    pub(super) fn wait_for_end(child: u32) {
        let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
        let options = libc::WEXITED | libc::WNOWAIT;
        loop {
            // SAFETY: `info` may be written; it is not read.
            let waited = unsafe { libc::waitid(libc::P_PID, child, info.as_mut_ptr(), options) };
            if waited == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return;
            }
        }
    }
}

#[cfg(miri)]
mod system {
    use std::io;
    use std::process::Command;
    use std::sync::Arc;

    use super::super::control::ControlPage;

    pub(super) fn bind(_command: &mut Command, _control: Arc<ControlPage>, _number: usize) {}

    pub(super) fn die_with(_parent: u32) -> io::Result<()> {
        Ok(())
    }

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
