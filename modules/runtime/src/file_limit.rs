//! A file that grows beyond what is allowed (`ulimit -f`): an error of who writes it, instead of the end of the program.

/// From now on, unless somebody has said what is to happen then.
pub(crate) fn is_an_error() {
    system::is_an_error();
}

#[cfg(not(miri))]
mod system {
    use std::ffi::c_int;

    use graphmap_executor::os_signal::{Action, action};

    unsafe extern "C" {
        fn signal(signal: c_int, handler: usize) -> usize;
    }

    const SIGXFSZ: c_int = 25;

    /// Unlike a signal that is ignored, one that is caught is as it was in what a process starts.
    extern "C" fn nothing(_signal: c_int) {}

    pub(super) fn is_an_error() {
        if action(SIGXFSZ as u32) == Some(Action::Default) {
            // SAFETY: the handler does nothing.
            unsafe { signal(SIGXFSZ, nothing as *const () as usize) };
        }
    }
}

#[cfg(miri)]
mod system {
    pub(super) fn is_an_error() {}
}
