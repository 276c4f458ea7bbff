//! Calls of threads that own ranks, which their scheduler makes for them between polls of
//! processes.
//!
//! The calls and their waits are on the scheduler, so deadlock detection sees them like the waits
//! of processes. A thread outside a call counts as a foreign waker, because it can still act. The
//! waits of a thread are reported under the process that gave it the rank.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};

use super::super::call::place;
use super::super::erased::Erased;
use super::super::state::World;
use super::request_queue::{Begin, CallWaker, CountedWaker, RequestQueue, ThreadRequest};
use super::thread_table::{NOT_A_PROCESS, Polling, ThreadState};
use graphmap_executor::exec::current;
use graphmap_executor::exec::upper_layer::ReportWait;
use graphmap_executor::exec::user_code;
use graphmap_executor::exec::user_code::uninterrupted;
use graphmap_executor::link::waiter::ARMED;
use graphmap_executor::placement::SchedulerId;

impl World {
    /// Returns the queue of requests, which is created at the first call. After the run, the queue
    /// is closed and its requests are dropped.
    pub(super) fn queue(&self) -> &Arc<RequestQueue> {
        let me = self.me();
        let queue = self
            .threads
            .queue
            .get_or_init(|| RequestQueue::new(&self.run, SchedulerId(me)));
        if self.threads.is_closed.get() {
            // After the run, requests are rejected.
            drop(queue.close());
        }
        queue
    }

    /// Returns the id of the running process, or of the process in whose name a thread calls.
    /// Returns `NO_ID` if no process runs.
    pub(super) fn id_of_caller(&self) -> u32 {
        let polling = self.threads.polling.borrow();
        polling
            .as_ref()
            .map_or_else(current::running, |polling| polling.id)
    }

    /// Adds a thread that can make calls from now on, and returns its index. After the run, adds
    /// nothing and returns `u32::MAX`.
    pub(super) fn add_thread(&self, thread: ThreadState) -> u32 {
        if self.threads.is_closed.get() {
            return u32::MAX;
        }
        self.queue().may_act();
        self.threads.add_thread(thread)
    }

    /// Serves the queued requests of threads in order: begins or polls calls, and removes threads
    /// that gave up their ranks. After the run has stopped, new calls are dropped.
    pub(in super::super) fn serve(&self) {
        for request in self.queue().take() {
            match request {
                // After the run, its messages would be lost. The drop runs user code, and the
                // thread gets `Error::Over`.
                ThreadRequest::Call(_, begin) if self.run.stopped() => {
                    user_code::quietly(|| drop(begin))
                }
                ThreadRequest::Call(thread, begin) => self.begin_call(thread, begin),
                ThreadRequest::Wake(thread) => self.poll_call(thread),
                ThreadRequest::Leave(thread, panic) => self.dismiss(thread, panic),
            }
        }
    }

    fn begin_call(&self, thread: u32, begin: Begin) {
        let communicator = self.threads.with(thread, |thread| {
            thread.is_calling = true;
            Rc::clone(&thread.communicator)
        });
        let Some(communicator) = communicator else {
            return;
        };
        self.queue().undo_may_act();
        let call = begin(&*communicator);
        self.threads.with(thread, |thread| thread.call = Some(call));
        self.poll_call(thread);
    }

    /// Polls the call of a thread, if it has one that is not being polled. Removes the call when it
    /// has completed. A panic of the drop of a completed call fails the run.
    fn poll_call(&self, thread: u32) {
        let taken = self
            .threads
            .with(thread, |thread| Some((thread.call.take()?, thread.id)));
        let Some(Some((mut call, id))) = taken else {
            return;
        };
        let queue = self.queue();
        let counted = CountedWaker::new(queue, thread);
        let given = Waker::from(Arc::clone(&counted));
        let own = Waker::from(Arc::new(CallWaker {
            queue: Arc::clone(queue),
            thread,
        }));
        let polling = Polling { given, own, id };
        let before = self.threads.polling.replace(Some(polling.clone()));
        let mut context = Context::from_waker(&polling.given);
        // The call runs user code. The future catches its own panics, but its drop can panic here.
        let polled = user_code::caught(|| {
            if call.as_mut().poll(&mut context).is_ready() {
                return drop(call);
            }
            self.threads.with(thread, |thread| thread.call = Some(call));
        });
        self.threads.polling.replace(before);
        drop(polling);
        if let Some(counted) = Arc::into_inner(counted) {
            counted.unused();
        }
        let over = self.threads.with(thread, |thread| {
            let over = thread.call.is_none();
            thread.is_calling = !over;
            over.then(|| thread.name.clone())
        });
        if let Some(Some(name)) = over {
            queue.may_act();
            if let Err(panic) = polled {
                let message =
                    format!("a call of the thread of {name} panicked after it completed: {panic}");
                self.run.fail(None, message);
            }
        }
    }

    /// Removes a thread that no longer owns a rank, and answers the process that waits for its end.
    /// Has no effect if the thread is unknown. `panic` is the message of its panic, which fails the
    /// run. A panic of user code that is dropped here also fails the run.
    fn dismiss(&self, thread: u32, panic: Option<String>) {
        let Some(thread) = self.threads.remove(thread) else {
            return;
        };
        if !thread.is_calling {
            self.queue().undo_may_act();
        }
        let fail = |process: u32, message: String| {
            let (kind, index) = self.run.directory.of_rank(process);
            let process = self.run.directory.process(kind, index);
            self.run.fail(Some(process), message);
        };
        if let Some(panic) = panic {
            let message = format!(
                "the thread of {} ({}) panicked{panic}",
                thread.name,
                place(thread.at)
            );
            fail(thread.process, message);
        }
        if let Some(entry) = thread.end_entry {
            let unwanted = self.change(|matching| matching.answered(entry, Erased::one(())));
            drop(unwanted);
        }
        // The drop can drop messages that no rank receives any more. This is user code, and a panic
        // must not prevent the requests of other threads.
        let process = thread.process;
        if let Err(panic) = user_code::caught(|| drop(thread)) {
            fail(process, panic);
        }
    }

    /// Calls user code that produces the value that all ranks of a collective call wait for. A
    /// panic in `make` fails the run and is then resumed. The run must fail because the program may
    /// catch the panic, and the other ranks would wait for a lost value.
    pub(in super::super) fn make_for_all<R>(
        &self,
        what: impl FnOnce() -> String,
        make: impl FnOnce() -> R,
    ) -> R {
        let make = || uninterrupted(make);
        catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|panic| {
            let message = format!("{} panicked: {}", what(), user_code::text(&*panic));
            // A call of a thread is polled while no process runs, or while an unrelated one runs.
            let is_thread = self.threads.polling.borrow().is_some();
            let process = (!is_thread).then(current::running_process).flatten();
            self.run.fail(process, message);
            resume_unwind(panic)
        })
    }

    /// Closes all threads at the end of the run. Calls that wait, and later calls, return
    /// `Error::Over`.
    pub(in super::super) fn dismiss_all(&self) {
        self.threads.is_closed.set(true);
        let Some(queue) = self.threads.queue.get() else {
            return;
        };
        let requests = queue.close().into_iter();
        requests.for_each(|request| user_code::quietly(|| drop(request)));
        let states = self.threads.states.take().into_iter().flatten();
        for ThreadState {
            call, communicator, ..
        } in states
        {
            user_code::quietly(|| drop(call));
            user_code::quietly(|| drop(communicator));
        }
    }

    /// Returns the waker to register with an entry, and the id of the process in whose name it
    /// waits, if `context` is of the call of a thread. Otherwise returns `None`, also for a context
    /// that other code has put around it.
    pub(in super::super) fn waker_of_thread(&self, context: &Context<'_>) -> Option<(Waker, u32)> {
        let polling = self.threads.polling.borrow();
        let polling = polling.as_ref()?;
        // A waker of a layer in between, such as a set of futures, is user code.
        let waker = match context.waker().will_wake(&polling.given) {
            true => polling.own.clone(),
            false => return None,
        };
        Some((waker, polling.id))
    }

    /// Reports the threads that can still make calls, because their processes may wait for them.
    pub(in super::super) fn report_threads(&self, report: ReportWait<'_>) {
        for thread in self.threads.states.borrow().iter().flatten() {
            if !thread.is_calling {
                let what = || {
                    let text = format!("a thread ({}, which can still make calls)", thread.name);
                    (text, place(thread.at))
                };
                report(ARMED | thread.id, Some(NOT_A_PROCESS), &what);
            }
        }
    }
}
