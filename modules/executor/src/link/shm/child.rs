//! Other OS processes as child processes of this one.

use std::io;
use std::process::Command;
use std::sync::Arc;

use super::control::ControlPage;

/// Prepares a command, which the caller starts, to be OS process `number` of the run. The child
/// process inherits the shared memory, and its process id is recorded there. The kernel kills it
/// when the thread that starts it ends. If the child process cannot be prepared in this way,
/// starting the command fails. Has no effect under Miri.
pub fn bind(command: &mut Command, control: &Arc<ControlPage>, number: usize) {
    system::bind(command, Arc::clone(control), number);
}

/// Makes the kernel kill this OS process by SIGKILL when its parent ends, or the thread of the
/// parent that started it. The parent must still be the OS process with the id `parent`. A program
/// whose file gives it privileges loses this setting when it is executed, so it calls this again.
/// Has no effect under Miri.
///
/// # Errors
/// The parent has already ended, or the kernel refuses the setting.
pub fn die_with(parent: u32) -> io::Result<()> {
    system::die_with(parent)
}

/// Restores the default action of SIGCHLD if it is ignored. A process that inherits the ignored
/// signal could not wait for its child processes.
pub fn can_be_waited_for() {
    system::can_be_waited_for();
}

/// Ends this OS process immediately with the exit status `code`, without destructors and without
/// the functions of [`at_exit`].
pub fn leave(code: u8) -> ! {
    system::leave(code)
}

/// Registers `call` to be called when this OS process calls `exit`, before functions that were
/// registered earlier. `call` is not called if no space is left to register it.
pub fn at_exit(call: extern "C" fn()) {
    system::at_exit(call);
}

/// Blocks until the child process with this process id has ended. Its status can still be queried
/// afterwards. Returns at once if this OS process has no such child process.
pub fn wait_for_end(child: u32) {
    system::wait_for_end(child);
}

/// Returns the process id of the parent.
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
            // SAFETY: the call takes only numbers. `exec` does not close the file.
            match unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } {
                0 => die_with(me),
                _ => Err(io::Error::last_os_error()),
            }
        };
        // SAFETY: between `fork` and `exec` the closure makes only system calls, and a store to
        // memory that both OS processes have. All of that is permitted there.
        unsafe { command.pre_exec(prepare) };
    }

    pub(super) fn can_be_waited_for() {
        if os_signal::handler(libc::SIGCHLD) == Some(libc::SIG_IGN) {
            // SAFETY: the call takes only numbers.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        }
    }

    pub(super) fn leave(code: u8) -> ! {
        // SAFETY: the call takes only a number.
        unsafe { libc::_exit(code.into()) }
    }

    pub(super) fn at_exit(call: extern "C" fn()) {
        // SAFETY: any thread may call this function at any time. If no space is left to register
        // it, it is not called.
        unsafe { libc::atexit(call) };
    }

    pub(super) fn die_with(of: u32) -> io::Result<()> {
        // SAFETY: the call takes only numbers.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // The parent may have ended before the call.
        match parent() == of {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    }

    pub(super) fn parent() -> u32 {
        // SAFETY: the call takes no argument.
        unsafe { libc::getppid() }.unsigned_abs()
    }

    pub(super) fn wait_for_end(child: u32) {
        let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
        let options = libc::WEXITED | libc::WNOWAIT;
        loop {
            // SAFETY: `info` may be written, and is not read.
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
