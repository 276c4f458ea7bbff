//! A signal that asks what a run is doing: `SIGUSR1`.
//!
//! What is told without being asked for is looked for by the same thread.
//!
//! The handler counts in a word, which may be shared by several OS processes, and wakes who sleeps on it: in each of them a
//! thread that tells. So the signal may go to any of them.

use std::sync::atomic::AtomicU32;
use std::thread;
use std::time::Duration;

use graphmap_executor::link::shm::memory;

/// From now on the signal is caught, unless it is ignored or somebody else has caught it: then nobody can ask.
pub(crate) fn catch() {
    system::catch();
}

/// The word of a program that is one OS process.
pub(crate) fn own_word() -> &'static AtomicU32 {
    &system::OWN
}

/// How often the thread that listens looks for other things that are to be told.
const LOOK: Duration = Duration::from_secs(2);

/// Has a thread call `tell` whenever the word was counted up, by a signal to this OS process or another, and `look` every now and then.
pub(crate) fn listen(
    word: &'static AtomicU32,
    tell: impl Fn() + Send + 'static,
    look: impl Fn() + Send + 'static,
) {
    let counts = system::count_in(word);
    let listen = move || {
        let mut seen = 0;
        loop {
            match counts {
                true => memory::wait(word, seen, Some(LOOK)),
                false => thread::sleep(LOOK),
            }
            let now = word.load(std::sync::atomic::Ordering::SeqCst);
            if now != seen {
                seen = now;
                tell();
            }
            look();
        }
    };
    let builder = thread::Builder::new().name("state".into());
    // Without it the run goes on all the same, and tells nothing.
    drop(builder.stack_size(256 << 10).spawn(listen));
}

#[cfg(not(miri))]
mod system {
    use std::ffi::c_int;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

    use graphmap_executor::link::shm::memory;
    use graphmap_executor::os_signal::{Action, action};

    unsafe extern "C" {
        fn signal(signal: c_int, handler: usize) -> usize;
    }

    const SIGUSR1: c_int = 10;

    pub(super) static OWN: AtomicU32 = AtomicU32::new(0);
    /// The word that is counted in: one that is never freed.
    static WORD: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());
    static CAUGHT: AtomicBool = AtomicBool::new(false);

    /// What runs in the handler is atomic operations and a system call that does not fail.
    extern "C" fn count(_signal: c_int) {
        let word = WORD.load(Ordering::SeqCst);
        // SAFETY: null, or a word that lives as long as the program: `count_in`.
        if let Some(word) = unsafe { word.as_ref() } {
            word.fetch_add(1, Ordering::SeqCst);
            memory::wake(word);
        }
    }

    pub(super) fn catch() {
        if action(SIGUSR1 as u32) != Some(Action::Default) {
            return;
        }
        count_own();
        // SAFETY: the handler does what a handler may do.
        unsafe { signal(SIGUSR1, count as *const () as usize) };
        CAUGHT.store(true, Ordering::SeqCst);
    }

    fn count_own() {
        WORD.store(ptr::from_ref(&OWN).cast_mut(), Ordering::SeqCst);
    }

    pub(super) fn count_in(word: &'static AtomicU32) -> bool {
        let caught = CAUGHT.load(Ordering::SeqCst);
        if caught {
            WORD.store(ptr::from_ref(word).cast_mut(), Ordering::SeqCst);
        }
        caught
    }
}

#[cfg(miri)]
mod system {
    use std::sync::atomic::AtomicU32;

    pub(super) static OWN: AtomicU32 = AtomicU32::new(0);

    pub(super) fn catch() {}

    pub(super) fn count_in(_word: &'static AtomicU32) -> bool {
        false
    }
}
