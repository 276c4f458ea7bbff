//! What threads that watch have found: why the run cannot go on.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use graphmap_runtime::Exit;
use graphmap_runtime::between::Doorbell;

use crate::bell::Bell;
use crate::printed::{self, FORWARDING};
use crate::{calls, launchers};

/// Who is found busy for so long after that is ended by the thread that looks.
const GRACE: Duration = Duration::from_secs(1);

/// Something that the run needs is gone.
pub(crate) struct Loss {
    pub(crate) why: String,
    pub(crate) of: Gone,
}

/// What is gone.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Gone {
    /// A host: launchers would wait for it.
    Host,
    /// What has started this OS process: nobody is there to be told.
    Launcher,
}

/// Where it is left for the thread that calls MPI.
#[derive(Clone)]
pub(crate) struct Finding(Arc<Left>);

struct Left {
    /// Not in the lock, as it is asked for at each look.
    is_there: AtomicBool,
    loss: Mutex<Option<Loss>>,
    bell: Arc<Bell>,
}

impl Finding {
    pub(crate) fn new(bell: &Arc<Bell>) -> Finding {
        Finding(Arc::new(Left {
            is_there: AtomicBool::new(false),
            loss: Mutex::new(None),
            bell: Arc::clone(bell),
        }))
    }

    /// Why the run cannot go on, if that has been found; once.
    pub(crate) fn take(&self) -> Option<Loss> {
        if !self.0.is_there.load(Ordering::SeqCst) {
            return None;
        }
        let mut loss = self.0.loss.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.is_there.store(false, Ordering::SeqCst);
        loss.take()
    }

    /// Leaves it there, and ends this OS process if nobody takes it. What was found before holds.
    pub(crate) fn tell(&self, loss: Loss) {
        let mut left = self.0.loss.lock().unwrap_or_else(PoisonError::into_inner);
        left.get_or_insert(loss);
        self.0.is_there.store(true, Ordering::SeqCst);
        drop(left);
        self.0.bell.ring();
        thread::sleep(GRACE);
        if let Some(loss) = self.take() {
            give_up(&loss);
        }
    }
}

/// Ends this OS process, whatever its other threads do, and with it the job.
fn give_up(loss: &Loss) -> ! {
    calls::over();
    let _ = writeln!(std::io::stderr(), "error: {}", loss.why);
    printed::wait_until_read(FORWARDING);
    if loss.of == Gone::Host {
        launchers::end();
    }
    calls::leave(Exit::Lost as u8)
}
