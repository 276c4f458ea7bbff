//! Unusual ways to await a future. The waker may be from another library and wake from another
//! thread. The future may be a task of a set. It may be dropped after a few polls, or as soon as it
//! has been woken.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use graphmap_runtime::TaskSet;

use super::Random;

type Task<'a, T> = Pin<Box<dyn Future<Output = Option<T>> + 'a>>;

/// Number of wakers that the other thread has received and not woken yet.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// Number of wakers that the other thread has woken.
static WOKEN: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of wake-ups by the other thread, or `None` if one is still to come.
pub fn wake_ups() -> Option<usize> {
    let woken = WOKEN.load(Ordering::SeqCst);
    (UNDER_WAY.load(Ordering::SeqCst) == 0).then_some(woken)
}

/// Has another thread wake a waker.
fn wake_on_other_thread(waker: Waker) {
    static OTHER: OnceLock<Sender<Waker>> = OnceLock::new();
    if cfg!(miri) {
        // Under Miri, threads may not outlive the program.
        waker.wake();
        return;
    }
    UNDER_WAY.fetch_add(1, Ordering::SeqCst);
    let other = OTHER.get_or_init(|| {
        let (sender, wakers) = channel::<Waker>();
        thread::spawn(move || {
            for (n, waker) in wakers.into_iter().enumerate() {
                if n % 3 == 0 {
                    thread::yield_now();
                }
                waker.wake();
                WOKEN.fetch_add(1, Ordering::SeqCst);
                UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
            }
        });
        sender
    });
    other.send(waker).expect("the other thread does not end");
}

/// Waits until another thread has woken the process.
pub async fn nap() {
    let mut asked = false;
    poll_fn(|context| {
        if std::mem::replace(&mut asked, true) {
            // Any wake-up ends the wait. If it was another one, the wake-up of the thread has no
            // effect.
            return Poll::Ready(());
        }
        wake_on_other_thread(context.waker().clone());
        Poll::Pending
    })
    .await;
}

/// A waker that is not the runtime's own, and wakes one that is.
struct Relay {
    to: Waker,
    on_other_thread: bool,
}

impl Wake for Relay {
    fn wake(self: Arc<Self>) {
        match self.on_other_thread {
            true => wake_on_other_thread(self.to.clone()),
            false => self.to.wake_by_ref(),
        }
    }
}

/// Time at which a future that is not ready is dropped.
#[derive(Clone, Copy, PartialEq)]
enum Leave {
    Never,
    AfterPolls(u64),
    /// After it has been woken, without another poll.
    WhenWoken,
}

/// Awaits a future in some way. Returns `None` if it was dropped before it was ready, which happens
/// only with `may_leave`.
pub async fn attempt<F: Future>(
    future: F,
    random: &mut Random,
    may_leave: bool,
) -> Option<F::Output> {
    let mut leave = match random.below(4) {
        0 if may_leave => Leave::AfterPolls(1 + random.below(3)),
        1 if may_leave => Leave::WhenWoken,
        _ => Leave::Never,
    };
    let (style, mut pending) = (random.below(6), false);
    let mut future: Pin<Box<dyn Future<Output = F::Output> + '_>> = match random.below(6) {
        0 => Box::pin(in_a_set(future, random.below(3))),
        1 => Box::pin(in_a_set(in_a_set(future, random.below(2)), random.below(2))),
        _ => Box::pin(future),
    };
    poll_fn(|context| {
        if pending && leave == Leave::WhenWoken {
            return Poll::Ready(None);
        }
        let relayed = match style {
            0 => true,
            // The waker differs from poll to poll. The last one counts.
            1 => random.below(2) == 0,
            _ => false,
        };
        let pinned = future.as_mut();
        let polled = match relayed {
            true => {
                let to = context.waker().clone();
                let on_other_thread = random.below(2) == 0;
                let waker = Waker::from(Arc::new(Relay {
                    to,
                    on_other_thread,
                }));
                pinned.poll(&mut Context::from_waker(&waker))
            }
            false => pinned.poll(context),
        };
        if let Poll::Ready(output) = polled {
            return Poll::Ready(Some(output));
        }
        pending = true;
        if let Leave::AfterPolls(left) = &mut leave {
            *left -= 1;
            if *left == 0 {
                return Poll::Ready(None);
            }
            context.waker().wake_by_ref();
        }
        Poll::Pending
    })
    .await
}

/// Awaits a future as a task of a set, with `others` other tasks.
async fn in_a_set<F: Future>(future: F, others: u64) -> F::Output {
    let mut set = TaskSet::from_iter([Box::pin(async { Some(future.await) }) as Task<'_, _>]);
    for _ in 0..others {
        set.push(Box::pin(async {
            nap().await;
            None
        }));
    }
    loop {
        if let Some(output) = set.join_next().await.expect("one has not ended") {
            return output;
        }
    }
}

/// Polls a future once and drops it. Returns its output if it was ready.
pub async fn glance<F: Future>(future: F) -> Option<F::Output> {
    let mut future = Box::pin(future);
    poll_fn(|context| {
        Poll::Ready(match future.as_mut().poll(context) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}
