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
use super::super::parcel::Parcel;
use super::super::state::World;
use super::desk::{OUTSIDE, Polling, Seat};
use super::line::{Ask, Begin, CallWaker, CountedWaker, Line};
use graphmap_executor::exec::current;
use graphmap_executor::exec::upper_layer::TellWait;
use graphmap_executor::exec::user_code;
use graphmap_executor::exec::user_code::uninterrupted;
use graphmap_executor::link::waiter::ARMED;
use graphmap_executor::placement::SchedulerId;

impl World {
    /// Returns the queue of requests, which is closed after the run.
    pub(super) fn line(&self) -> &Arc<Line> {
        let me = self.me();
        let line = self
            .desk
            .line
            .get_or_init(|| Line::new(&self.run, SchedulerId(me)));
        if self.desk.is_closed.get() {
            // After the run, requests are rejected.
            drop(line.close());
        }
        line
    }

    /// Returns the id of the running process, or of the process in whose name a thread calls.
    pub(super) fn id_of_caller(&self) -> u32 {
        let polling = self.desk.polling.borrow();
        polling
            .as_ref()
            .map_or_else(current::running, |polling| polling.id)
    }

    /// Adds a thread that can make calls from now on, and returns its index.
    pub(super) fn sit(&self, seat: Seat) -> u32 {
        if self.desk.is_closed.get() {
            return u32::MAX;
        }
        self.line().may_act();
        self.desk.sit(seat)
    }

    /// Serves the requests of threads.
    pub(in super::super) fn serve(&self) {
        for ask in self.line().take() {
            match ask {
                // After the run, its messages would be lost. The drop runs user code, and the
                // thread gets `Error::Over`.
                Ask::Call(_, begin) if self.run.stopped() => user_code::quietly(|| drop(begin)),
                Ask::Call(seat, begin) => self.begin_call(seat, begin),
                Ask::Wake(seat) => self.poll_call(seat),
                Ask::Leave(seat, panic) => self.dismiss(seat, panic),
            }
        }
    }

    fn begin_call(&self, seat: u32, begin: Begin) {
        let guest = self.desk.with(seat, |seat| {
            seat.calls = true;
            Rc::clone(&seat.guest)
        });
        let Some(guest) = guest else { return };
        self.line().acts_no_more();
        let call = begin(&*guest);
        self.desk.with(seat, |seat| seat.call = Some(call));
        self.poll_call(seat);
    }

    /// Polls the call of a thread, if it has one.
    fn poll_call(&self, seat: u32) {
        let taken = self
            .desk
            .with(seat, |seat| Some((seat.call.take()?, seat.id)));
        let Some(Some((mut call, id))) = taken else {
            return;
        };
        let line = self.line();
        let counted = CountedWaker::new(line, seat);
        let given = Waker::from(Arc::clone(&counted));
        let own = Waker::from(Arc::new(CallWaker {
            line: Arc::clone(line),
            seat,
        }));
        let polling = Polling { given, own, id };
        let before = self.desk.polling.replace(Some(polling.clone()));
        let mut context = Context::from_waker(&polling.given);
        // The call runs user code. The future catches its own panics, but its drop can panic here.
        let polled = user_code::caught(|| {
            if call.as_mut().poll(&mut context).is_ready() {
                return drop(call);
            }
            self.desk.with(seat, |seat| seat.call = Some(call));
        });
        self.desk.polling.replace(before);
        drop(polling);
        if let Some(counted) = Arc::into_inner(counted) {
            counted.unused();
        }
        let over = self.desk.with(seat, |seat| {
            let over = seat.call.is_none();
            seat.calls = !over;
            over.then(|| seat.name.clone())
        });
        if let Some(Some(name)) = over {
            line.may_act();
            if let Err(panic) = polled {
                let message =
                    format!("a call of the thread of {name} panicked after it completed: {panic}");
                self.run.fail(None, message);
            }
        }
    }

    /// Removes a thread that no longer owns a rank, and reports its panic.
    fn dismiss(&self, seat: u32, panic: Option<String>) {
        let Some(seat) = self.desk.leave(seat) else {
            return;
        };
        if !seat.calls {
            self.line().acts_no_more();
        }
        let fail = |process: u32, message: String| {
            let (kind, index) = self.run.directory.of_rank(process);
            let process = self.run.directory.process(kind, index);
            self.run.fail(Some(process), message);
        };
        if let Some(panic) = panic {
            let message = format!(
                "the thread of {} ({}) panicked{panic}",
                seat.name,
                place(seat.at)
            );
            fail(seat.process, message);
        }
        if let Some(entry) = seat.attended {
            let unwanted = self.change(|matching| matching.answered(entry, Parcel::one(())));
            drop(unwanted);
        }
        // The drop can drop messages that no rank receives any more. This is user code, and a panic
        // must not prevent the requests of other threads.
        let process = seat.process;
        if let Err(panic) = user_code::caught(|| drop(seat)) {
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
            let is_thread = self.desk.polling.borrow().is_some();
            let process = (!is_thread).then(current::running_process).flatten();
            self.run.fail(process, message);
            resume_unwind(panic)
        })
    }

    /// Closes all threads at the end of the run. Calls that wait, and later calls, return
    /// `Error::Over`.
    pub(in super::super) fn dismiss_all(&self) {
        self.desk.is_closed.set(true);
        let Some(line) = self.desk.line.get() else {
            return;
        };
        let asked = line.close().into_iter();
        asked.for_each(|ask| user_code::quietly(|| drop(ask)));
        let seats = self.desk.seats.take().into_iter().flatten();
        for Seat { call, guest, .. } in seats {
            user_code::quietly(|| drop(call));
            user_code::quietly(|| drop(guest));
        }
    }

    /// Returns the waker to register with an entry, and the id of the process in whose name it
    /// waits, if `context` is of the call of a thread.
    pub(in super::super) fn waker_of_thread(&self, context: &Context<'_>) -> Option<(Waker, u32)> {
        let polling = self.desk.polling.borrow();
        let polling = polling.as_ref()?;
        // A waker of a layer in between, such as a set of futures, is user code.
        let waker = match context.waker().will_wake(&polling.given) {
            true => polling.own.clone(),
            false => return None,
        };
        Some((waker, polling.id))
    }

    /// Reports the threads that can still make calls, because their processes may wait for them.
    pub(in super::super) fn threads(&self, tell: TellWait<'_>) {
        for seat in self.desk.seats.borrow().iter().flatten() {
            if !seat.calls {
                let what = || {
                    let text = format!("a thread ({}, which can still make calls)", seat.name);
                    (text, place(seat.at))
                };
                tell(ARMED | seat.id, Some(OUTSIDE), &what);
            }
        }
    }
}
