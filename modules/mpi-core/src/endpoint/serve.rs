//! How a scheduler serves the threads that are ranks of it: it makes their calls for them, between the turns of its processes.
//!
//! What is called, and its waits, are here: so a standstill sees them as it sees those of processes. A thread that waits in no call counts
//! as somebody outside of the run who may act, and what a thread waits for is told of the process that has handed the rank to it.

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
    /// Where threads ask.
    pub(super) fn line(&self) -> &Arc<Line> {
        let me = self.me();
        let line = self
            .desk
            .line
            .get_or_init(|| Line::new(&self.run, SchedulerId(me)));
        if self.desk.is_closed.get() {
            // Nothing can be asked for.
            drop(line.close());
        }
        line
    }

    /// The id of the process that hands a rank to a thread: of the one that runs, or in whose name a thread calls.
    pub(super) fn id_of_caller(&self) -> u32 {
        let polling = self.desk.polling.borrow();
        polling
            .as_ref()
            .map_or_else(current::running, |polling| polling.id)
    }

    /// A thread gets a seat, and may call from now on: the number of it.
    pub(super) fn sit(&self, seat: Seat) -> u32 {
        if self.desk.is_closed.get() {
            return u32::MAX;
        }
        self.line().may_act();
        self.desk.sit(seat)
    }

    /// Does what threads have asked for.
    pub(in super::super) fn serve(&self) {
        for ask in self.line().take() {
            match ask {
                // What it would send would be lost, and its thread hears that the run is over. Code of the user.
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

    /// Polls the call of a seat, if there is one.
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
        // Code of the user. What it panics with it catches itself; but what it has is dropped here.
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

    /// A thread is a rank no more.
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
        // Messages that nobody receives any more may go with it: code of the user, which keeps nothing from what others have asked for.
        let process = seat.process;
        if let Err(panic) = user_code::caught(|| drop(seat)) {
            fail(process, panic);
        }
    }

    /// Calls code of the user that makes what all ranks of a collective call wait for. A panic ends the run, because the program may
    /// catch it, and the others would wait for what is lost.
    pub(in super::super) fn make_for_all<R>(
        &self,
        what: impl FnOnce() -> String,
        make: impl FnOnce() -> R,
    ) -> R {
        let make = || uninterrupted(make);
        catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|panic| {
            let message = format!("{} panicked: {}", what(), user_code::text(&*panic));
            // A thread calls while no process runs, or one that has nothing to do with it.
            let is_thread = self.desk.polling.borrow().is_some();
            let process = (!is_thread).then(current::running_process).flatten();
            self.run.fail(process, message);
            resume_unwind(panic)
        })
    }

    /// The run is over: who waits is told so, and so is who calls later.
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

    /// Which waker waits by an entry, and in the name of which process, if that is asked for by the call of a thread.
    pub(in super::super) fn waker_of_thread(&self, context: &Context<'_>) -> Option<(Waker, u32)> {
        let polling = self.desk.polling.borrow();
        let polling = polling.as_ref()?;
        // One that stands between, such as that of a set of futures, is code of the user.
        let waker = match context.waker().will_wake(&polling.given) {
            true => polling.own.clone(),
            false => return None,
        };
        Some((waker, polling.id))
    }

    /// Tells of the threads that may still call, which are what their processes may be waiting for.
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
