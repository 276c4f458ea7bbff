//! What a process can ask about itself.

use super::current;
use crate::pin;

/// The process that asks, as [`me`] sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    /// Its rank: the order of first appearance in the graph, from 0.
    pub rank: usize,
    /// Its name in the graph.
    pub name: String,
    /// The name of its kind.
    pub kind: String,
    /// Which one of its kind it is, from 0.
    pub index: usize,
    /// How many there are of its kind.
    pub members: usize,
    /// The scheduler it runs on, from 0. Several may share a thread.
    pub scheduler: usize,
    /// How many processes the network has.
    pub processes: usize,
    /// How many schedulers the run has.
    pub schedulers: usize,
    /// The OS process it is in, from 0.
    pub os_process: usize,
    /// How many OS processes the run has.
    pub os_processes: usize,
    /// The core that this thread is pinned to, if it is to one.
    pub core: Option<u32>,
}

/// Who the running process is.
///
/// # Panics
/// When called outside of a process.
pub fn me() -> Me {
    current::with_current(|scheduler| {
        let (kind, index) = scheduler.running().expect("me() is for processes of a run");
        let directory = scheduler.directory();
        let process = directory.process(kind, index);
        let (kind, members) = directory.kind(kind);
        let (os_process, os_processes) = scheduler.shared().os_process().unwrap_or((0, 1));
        Me {
            rank: process.rank as usize,
            name: process.name,
            kind,
            index: index as usize,
            members,
            scheduler: scheduler.shared().scheduler_of(process.rank),
            processes: directory.processes(),
            schedulers: scheduler.shared().schedulers(),
            os_process,
            os_processes,
            core: pin::core(),
        }
    })
    .expect("me() is for processes of a run")
}

/// Lets every other process that can run have a turn first.
///
/// ```
/// # let mut net = graphmap_runtime::Local::new();
/// net.spawn(async {
///     for _step in 0..3 {
///         // ... a long computation ...
///         graphmap_runtime::yield_now().await;
///     }
/// });
/// # net.run(&graphmap_runtime::Options::new()).unwrap();
/// ```
pub fn yield_now() -> impl Future<Output = ()> {
    let mut yielded = false;
    std::future::poll_fn(move |context| {
        if yielded {
            return std::task::Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
}
