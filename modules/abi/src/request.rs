//! Requests of a rank, and the calls that complete them (MPI-5.0, section 3.7).
//!
//! A call that completes requests polls them. The entry of a request keeps its outcome, if it is
//! known before the call returns it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::future::poll_fn;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::abi::{Request, Status, UNDEFINED};
use crate::error::{Class, Done, Fail, fail};
use crate::on::On;
use crate::rank::{Part, Rank, Slot, invalid};
use crate::table::Table;
use crate::wait::{wait, yield_now};

/// A call that was started. It is polled by the calls that complete it.
pub(crate) trait Started {
    /// Polls the call for its status. It is not polled again after that.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<Status>>;

    /// Removes the waker of the last poll. The default has no effect.
    fn disarm(&mut self) {}

    /// Cancels the call, if it is in time. The next poll then returns a status that is cancelled.
    /// It may call functions of the program. The default has no effect.
    fn cancel(&mut self) -> Done {
        Ok(())
    }

    /// Returns true if the call must be polled until it is done, even if its request was freed. The
    /// default returns true.
    fn continues(&self) -> bool {
        true
    }

    /// Returns the status to report if the call has failed.
    fn failed(&self) -> Status {
        Status::EMPTY
    }

    /// Returns the object whose error handler handles the errors of the call.
    fn on(&self) -> On {
        On::World
    }

    /// Returns the outcome to report for an outcome of [`Started::poll`]. It may call functions of
    /// the program. The default returns `outcome`.
    fn query(&mut self, outcome: Done<Status>) -> Done<Status> {
        outcome
    }

    /// Marks a call that the program makes itself as complete. Returns false for other calls, which
    /// is the default.
    fn mark_complete(&mut self) -> bool {
        false
    }

    /// Frees what the program has attached to the call. It may call functions of the program. The
    /// default has no effect.
    fn free(&mut self) -> Done {
        Ok(())
    }
}

/// A call that can be started several times: the base of persistent requests.
pub(crate) trait Again: Any {
    /// Starts the call.
    fn begin(&self, this: &Rc<Rank>) -> Done<Box<dyn Started>>;
}

impl<F: Fn(&Rc<Rank>) -> Done<Box<dyn Started>> + 'static> Again for F {
    fn begin(&self, this: &Rc<Rank>) -> Done<Box<dyn Started>> {
        self(this)
    }
}

/// A call that is complete.
pub(crate) struct Complete(pub(crate) Done<Status>);

impl Started for Complete {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<Done<Status>> {
        Poll::Ready(self.0.clone())
    }
}

/// A request: an active or inactive call.
#[derive(Default)]
struct Entry {
    /// The call. `None` if the request is inactive, or while a function uses the call.
    call: Option<Box<dyn Started>>,
    outcome: Option<Done<Status>>,
    /// The call to start again, if the request is persistent.
    again: Option<Rc<dyn Again>>,
}

/// State of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Null, or persistent and not started.
    Inactive,
    Pending,
    Complete,
}

/// The requests that a call completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    /// All, or none if one is pending.
    All,
    /// The first that is complete.
    Any,
    /// Those that are complete.
    Some,
}

/// Kind of a call on requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// Waits until there are enough complete ones, and completes them.
    Wait,
    /// Completes them if there are enough complete ones.
    Test,
    /// Only reports complete ones.
    Report,
}

/// Requests that a call has found.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    complete: usize,
    pending: usize,
    /// True if the condition of the call is met, so that it can return.
    is_enough: bool,
}

impl Found {
    /// Returns the number of complete requests, which is `MPI_UNDEFINED` if all are inactive.
    fn count(self) -> c_int {
        match self.complete + self.pending {
            0 => UNDEFINED,
            _ => self.complete as c_int,
        }
    }
}

/// All requests of a rank.
pub(crate) struct Requests {
    table: RefCell<Table<Entry>>,
    /// Calls whose requests were freed before they were complete.
    freed: RefCell<Vec<Box<dyn Started>>>,
    /// Object whose error handler handles the error of the request that a call completes.
    failing: Cell<On>,
    /// Number of the next channel of a partitioned send.
    channel: Cell<c_int>,
}

impl Part for Requests {
    const SLOT: Slot = Slot::Requests;
}

impl Default for Requests {
    fn default() -> Self {
        Requests {
            table: RefCell::default(),
            freed: RefCell::default(),
            failing: Cell::new(On::World),
            channel: Cell::new(0),
        }
    }
}

impl Requests {
    /// Adds a started call, and returns its handle.
    pub(crate) fn add(&self, started: impl Started + 'static) -> Done<Request> {
        self.add_boxed(Box::new(started))
    }

    /// Adds a started call, and returns its handle.
    pub(crate) fn add_boxed(&self, started: Box<dyn Started>) -> Done<Request> {
        self.add_entry(Entry {
            call: Some(started),
            ..Entry::default()
        })
    }

    /// Adds an inactive persistent request, and returns its handle. `MPI_Start` calls `again` each
    /// time.
    pub(crate) fn add_persistent(&self, again: impl Again) -> Done<Request> {
        self.add_entry(Entry {
            again: Some(Rc::new(again)),
            ..Entry::default()
        })
    }

    fn add_entry(&self, entry: Entry) -> Done<Request> {
        let handle = self.table.borrow_mut().add(entry);
        let none = || Fail::new(Class::NoMem, "too many requests");
        Ok(Request(handle.ok_or_else(none)?))
    }

    /// Calls `body` with the entry of a request. `body` must not call functions of the program.
    ///
    /// # Errors
    /// [`Class::Request`] if the handle is null or invalid, and the errors of `body`.
    fn with<R>(&self, handle: Request, body: impl FnOnce(&mut Entry) -> Done<R>) -> Done<R> {
        match self.table.borrow_mut().get_mut(handle.0) {
            Some(entry) => body(entry),
            None => invalid(Class::Request, "request", handle.0),
        }
    }

    /// Starts a persistent request.
    pub(crate) fn start(&self, this: &Rc<Rank>, handle: Request) -> Done {
        let again = self.with(handle, |entry| match &entry.again {
            None => fail!(Request, "request {:#x} is not persistent", handle.0),
            Some(_) if entry.call.is_some() => {
                fail!(Request, "request {:#x} is active", handle.0)
            }
            Some(again) => Ok(Rc::clone(again)),
        })?;
        let call = again.begin(this)?;
        self.with(handle, |entry| {
            entry.call = Some(call);
            Ok(())
        })
    }

    /// Returns the call of a persistent request, and true if the request is active.
    pub(crate) fn persistent(&self, handle: Request) -> Done<(Rc<dyn Again>, bool)> {
        self.with(handle, |entry| match &entry.again {
            Some(again) => Ok((Rc::clone(again), entry.call.is_some())),
            None => fail!(Request, "request {:#x} is not persistent", handle.0),
        })
    }

    /// Calls `body` with the active call of a request. `body` must not call functions of the
    /// program.
    pub(crate) fn active<R>(
        &self,
        handle: Request,
        body: impl FnOnce(&mut dyn Started) -> Done<R>,
    ) -> Done<R> {
        self.with(handle, |entry| match &mut entry.call {
            Some(call) => body(&mut **call),
            None => fail!(Request, "request {:#x} is not active", handle.0),
        })
    }

    /// Returns the object whose error handler handles the error of the last request that has
    /// failed, and forgets it.
    pub(crate) fn failing(&self) -> On {
        self.failing.replace(On::World)
    }

    /// Makes an object handle the error that the current call returns.
    pub(crate) fn set_failing(&self, on: On) {
        self.failing.set(on);
    }

    /// Returns a number for a channel from this rank. Numbers repeat after 2³¹ calls.
    pub(crate) fn new_channel(&self) -> c_int {
        let channel = self.channel.get();
        self.channel.set(channel.wrapping_add(1) & c_int::MAX);
        channel
    }

    /// Polls a request. If it is complete, its entry keeps the outcome.
    fn poll(&self, handle: Request, context: &mut Context<'_>) -> Done<State> {
        if handle == Request::NULL {
            return Ok(State::Inactive);
        }
        let call = self.with(handle, |entry| match (&entry.outcome, entry.call.take()) {
            (_, None) => Ok(Err(State::Inactive)),
            (Some(_), call) => {
                entry.call = call;
                Ok(Err(State::Complete))
            }
            (None, Some(call)) => Ok(Ok(call)),
        })?;
        let mut call = match call {
            Ok(call) => call,
            Err(state) => return Ok(state),
        };
        let polled = call.poll(context);
        self.with(handle, |entry| {
            entry.call = Some(call);
            let Poll::Ready(outcome) = polled else {
                return Ok(State::Pending);
            };
            entry.outcome = Some(outcome);
            Ok(State::Complete)
        })
    }

    /// Polls requests, until enough are complete if the call waits. Lets other ranks run if it does
    /// not wait and not enough are complete.
    fn find(&self, all: &[Request], which: Which, how: How) -> Done<Found> {
        let mut first = 0;
        let found = wait(poll_fn(|context| {
            let mut found = Found::default();
            for (at, &handle) in all.iter().enumerate().skip(first) {
                match self.poll(handle, context) {
                    Err(fail) => return Poll::Ready(Err(fail)),
                    Ok(State::Inactive) => {}
                    Ok(State::Complete) => found.complete += 1,
                    Ok(State::Pending) => found.pending += 1,
                }
                if which == Which::Any && found.complete > 0 {
                    break;
                }
                if which == Which::All && found.pending > 0 {
                    first = at;
                    break;
                }
            }
            found.is_enough = found.pending == 0 || which != Which::All && found.complete > 0;
            match found.is_enough || how != How::Wait {
                true => Poll::Ready(Ok(found)),
                false => Poll::Pending,
            }
        }))?;
        all.iter().for_each(|&handle| self.disarm(handle));
        if !found.is_enough {
            yield_now();
        }
        Ok(found)
    }

    /// Removes the waker of a request that was polled.
    fn disarm(&self, handle: Request) {
        if let Some(entry) = self.table.borrow_mut().get_mut(handle.0)
            && entry.outcome.is_none()
            && let Some(call) = &mut entry.call
        {
            call.disarm();
        }
    }

    /// Returns the outcome of a complete request, and the status to report. Completes it unless the
    /// call only reports. Returns `None` for other requests.
    fn take(&self, request: &mut Request, how: How) -> Done<Option<(Done<Status>, Status)>> {
        Ok(match (self.has_outcome(*request), how) {
            (false, _) => None,
            (true, How::Report) => Some(self.peek(*request)?),
            (true, _) => Some(self.complete(request)?),
        })
    }

    /// Returns the outcome of a complete request without completing it, and the status to report.
    fn peek(&self, handle: Request) -> Done<(Done<Status>, Status)> {
        let (mut call, outcome) = self.with(handle, |entry| {
            match (entry.call.take(), entry.outcome.clone()) {
                (Some(call), Some(outcome)) => Ok((call, outcome)),
                _ => fail!(Request, "request {:#x} is not complete", handle.0),
            }
        })?;
        let outcome = call.query(outcome);
        let status = self.status(&*call, &outcome);
        self.with(handle, |entry| {
            entry.call = Some(call);
            Ok(())
        })?;
        Ok((outcome, status))
    }

    /// Returns the status to report for an outcome, with the error code in it.
    fn status(&self, call: &dyn Started, outcome: &Done<Status>) -> Status {
        let mut status = match outcome {
            Ok(status) => *status,
            Err(_) => call.failed(),
        };
        status.error = 0;
        if let Err(fail) = outcome {
            self.set_failing(call.on());
            status.error = fail.code;
        }
        status
    }

    /// Completes a request that has an outcome. Sets the handle to null unless the request is
    /// persistent. Returns the outcome, and the status to report.
    fn complete(&self, handle: &mut Request) -> Done<(Done<Status>, Status)> {
        let (call, outcome, again) = self.with(*handle, |entry| {
            let (call, outcome) = (entry.call.take(), entry.outcome.take());
            Ok((call, outcome, entry.again.is_some()))
        })?;
        let (Some(mut call), Some(outcome)) = (call, outcome) else {
            return fail!(Request, "request {:#x} is not complete", handle.0);
        };
        if !again {
            self.table.borrow_mut().remove(handle.0);
            *handle = Request::NULL;
        }
        let outcome = call.query(outcome);
        let outcome = call.free().and(outcome);
        let status = self.status(&*call, &outcome);
        Ok((outcome, status))
    }

    /// Frees a request. An active call continues.
    fn free(&self, handle: Request) -> Done {
        if handle == Request::NULL {
            return invalid(Class::Request, "request", handle.0);
        }
        let found = self.find(&[handle], Which::Any, How::Report)?;
        let Some(entry) = self.table.borrow_mut().remove(handle.0) else {
            return Ok(());
        };
        match entry.call {
            Some(call) if found.pending > 0 && call.continues() => {
                self.freed.borrow_mut().push(call);
                Ok(())
            }
            Some(mut call) if found.complete > 0 => call.free(),
            _ => Ok(()),
        }
    }

    /// Polls the calls whose requests were freed.
    #[inline]
    pub(crate) fn progress_freed(&self) {
        if !self.freed.borrow().is_empty() {
            self.progress_all_freed();
        }
    }

    #[cold]
    fn progress_all_freed(&self) {
        let calls = self.freed.take();
        for mut call in calls {
            match wait(poll_fn(|context| Poll::Ready(call.poll(context)))) {
                // The request does not exist any longer, so the error cannot be reported.
                Poll::Ready(_) => drop(call.free()),
                Poll::Pending => {
                    call.disarm();
                    self.freed.borrow_mut().push(call);
                }
            }
        }
    }

    fn has_outcome(&self, handle: Request) -> bool {
        let table = self.table.borrow();
        table
            .get(handle.0)
            .is_some_and(|entry| entry.outcome.is_some())
    }
}

/// Writes a status, unless the pointer is null. The error in it keeps its value, because calls with
/// a single status do not change it (MPI-5.0, section 3.2.5).
///
/// # Safety
/// The pointer must be null or valid for writing.
pub(crate) unsafe fn write_status(to: *mut Status, status: Status) {
    if !to.is_null() {
        // SAFETY: the pointer is not null. The error may be uninitialized.
        unsafe {
            let error = (&raw mut (*to).error).cast::<MaybeUninit<c_int>>();
            let before = error.read();
            to.write(status);
            error.write(before);
        }
    }
}

/// Writes the empty status with its error, unless the pointer is null.
///
/// # Safety
/// The pointer must be null or valid for writing.
unsafe fn write_empty(to: *mut Status) {
    if !to.is_null() {
        // SAFETY: the pointer is not null.
        unsafe { to.write(Status::EMPTY) };
    }
}

/// Returns the requests of an array argument.
///
/// # Safety
/// The array must have `count` elements, and not be used otherwise.
unsafe fn array<'a>(count: c_int, requests: *mut Request) -> Done<&'a mut [Request]> {
    let Ok(count) = usize::try_from(count) else {
        return fail!(Count, "the count {count} is negative");
    };
    match count {
        0 => Ok(&mut []),
        _ if requests.is_null() => fail!(Arg, "the array of requests is null"),
        // SAFETY: guaranteed by the caller.
        _ => Ok(unsafe { std::slice::from_raw_parts_mut(requests, count) }),
    }
}

/// Statuses that a call with several requests writes.
struct Statuses {
    to: *mut Status,
    failed: usize,
    written: usize,
}

impl Statuses {
    /// # Safety
    /// `to` must be null, or have room for all statuses that are written.
    unsafe fn new(to: *mut Status) -> Self {
        Statuses {
            to,
            failed: 0,
            written: 0,
        }
    }

    /// Writes the next status. Its error is written only after a failure.
    fn push(&mut self, status: Status) {
        if !self.to.is_null() {
            // SAFETY: the caller of `new` guarantees that there is room for it.
            unsafe {
                let at = self.to.add(self.written);
                if status.error != 0 && self.failed == 0 {
                    // The statuses before it succeeded.
                    (0..self.written).for_each(|index| (*self.to.add(index)).error = 0);
                }
                match self.failed > 0 || status.error != 0 {
                    true => at.write(status),
                    false => write_status(at, status),
                }
            }
        }
        self.failed += usize::from(status.error != 0);
        self.written += 1;
    }

    /// Writes the empty status as the next one.
    fn push_empty(&mut self) {
        if !self.to.is_null() {
            // SAFETY: the caller of `new` guarantees that there is room for it.
            unsafe { self.to.add(self.written).write(Status::EMPTY) };
        }
        self.written += 1;
    }

    /// Returns the error of the call, if a request has failed.
    fn done(self) -> Done {
        match self.failed {
            0 => Ok(()),
            count => fail!(InStatus, "{count} of {} requests failed", self.written),
        }
    }
}

/// Implements the calls that complete the first complete request. Writes the flag of a call that
/// does not wait.
///
/// # Safety
/// The pointers must be valid for writing, except that `status` may be null.
unsafe fn any(
    this: &Rank,
    how: How,
    all: &mut [Request],
    (index, flag): (*mut c_int, *mut c_int),
    status: *mut Status,
) -> Done {
    let requests = Requests::of(this);
    let found = requests.find(all, Which::Any, how)?;
    // SAFETY: guaranteed by the caller.
    unsafe {
        flag.write(found.is_enough.into());
        index.write(UNDEFINED);
        if !found.is_enough {
            return Ok(());
        }
        for (at, request) in all.iter_mut().enumerate() {
            if let Some((outcome, result)) = requests.take(request, how)? {
                index.write(at as c_int);
                write_status(status, result);
                // A call that only reports has no error of its own.
                return match how {
                    How::Report => Ok(()),
                    _ => outcome.map(drop),
                };
            }
        }
        write_empty(status);
    }
    Ok(())
}

/// Implements the calls that complete one request, as [`any`].
///
/// # Safety
/// As for [`any`].
unsafe fn one(
    this: &Rank,
    how: How,
    request: &mut Request,
    flag: *mut c_int,
    status: *mut Status,
) -> Done {
    let mut index = 0;
    let request = std::slice::from_mut(request);
    // SAFETY: guaranteed by the caller.
    unsafe { any(this, how, request, (&mut index, flag), status) }
}

/// Implements the calls that complete all requests. Writes the flag of a call that does not wait.
///
/// # Safety
/// `flag` must be valid for writing. `statuses` must be null, or have room for a status of each
/// request.
unsafe fn all(
    this: &Rank,
    how: How,
    all: &mut [Request],
    flag: *mut c_int,
    statuses: *mut Status,
) -> Done {
    let requests = Requests::of(this);
    let found = requests.find(all, Which::All, how)?;
    // SAFETY: guaranteed by the caller.
    unsafe { flag.write(found.is_enough.into()) };
    if !found.is_enough {
        return Ok(());
    }
    // SAFETY: as above.
    let mut statuses = unsafe { Statuses::new(statuses) };
    for request in all {
        match requests.take(request, how)? {
            Some((_, status)) => statuses.push(status),
            None => statuses.push_empty(),
        }
    }
    statuses.done()
}

/// Implements the calls that complete all complete requests, and writes their number.
///
/// # Safety
/// `count` must be valid for writing. `indices` must have room for an index of each request.
/// `statuses` must be null, or have room for a status of each request.
unsafe fn some(
    this: &Rank,
    how: How,
    all: &mut [Request],
    (count, indices): (*mut c_int, *mut c_int),
    statuses: *mut Status,
) -> Done {
    let requests = Requests::of(this);
    let found = requests.find(all, Which::Some, how)?;
    // SAFETY: guaranteed by the caller.
    let mut statuses = unsafe {
        count.write(found.count());
        Statuses::new(statuses)
    };
    for (index, request) in all.iter_mut().enumerate() {
        if let Some((_, status)) = requests.take(request, how)? {
            // SAFETY: as above.
            unsafe { indices.add(statuses.written).write(index as c_int) };
            statuses.push(status);
        }
    }
    statuses.done()
}

export! {
    fn MPI_Wait(request: *mut Request, status: *mut Status) on Requests => |this| {
        one(this, How::Wait, &mut *request, &mut 0, status)
    };
    fn MPI_Waitall(
        count: c_int, requests: *mut Request, statuses: *mut Status,
    ) on Requests => |this| all(this, How::Wait, array(count, requests)?, &mut 0, statuses);
    fn MPI_Waitany(
        count: c_int, requests: *mut Request, index: *mut c_int, status: *mut Status,
    ) on Requests => |this| {
        any(this, How::Wait, array(count, requests)?, (index, &mut 0), status)
    };
    fn MPI_Waitsome(
        count: c_int, requests: *mut Request, found: *mut c_int, indices: *mut c_int,
        statuses: *mut Status,
    ) on Requests => |this| {
        some(this, How::Wait, array(count, requests)?, (found, indices), statuses)
    };
    fn MPI_Test(
        request: *mut Request, flag: *mut c_int, status: *mut Status,
    ) on Requests => |this| one(this, How::Test, &mut *request, flag, status);
    fn MPI_Testall(
        count: c_int, requests: *mut Request, flag: *mut c_int, statuses: *mut Status,
    ) on Requests => |this| all(this, How::Test, array(count, requests)?, flag, statuses);
    fn MPI_Testany(
        count: c_int, requests: *mut Request, index: *mut c_int, flag: *mut c_int,
        status: *mut Status,
    ) on Requests => |this| {
        any(this, How::Test, array(count, requests)?, (index, flag), status)
    };
    fn MPI_Testsome(
        count: c_int, requests: *mut Request, found: *mut c_int, indices: *mut c_int,
        statuses: *mut Status,
    ) on Requests => |this| {
        some(this, How::Test, array(count, requests)?, (found, indices), statuses)
    };
    fn MPI_Request_get_status(
        request: Request, flag: *mut c_int, status: *mut Status,
    ) on Requests => |this| one(this, How::Report, &mut { request }, flag, status);
    fn MPI_Request_get_status_all(
        count: c_int, requests: *const Request, flag: *mut c_int, statuses: *mut Status,
    ) on Requests => |this| {
        all(this, How::Report, array(count, requests.cast_mut())?, flag, statuses)
    };
    fn MPI_Request_get_status_any(
        count: c_int, requests: *const Request, index: *mut c_int, flag: *mut c_int,
        status: *mut Status,
    ) on Requests => |this| {
        any(this, How::Report, array(count, requests.cast_mut())?, (index, flag), status)
    };
    fn MPI_Request_get_status_some(
        count: c_int, requests: *const Request, found: *mut c_int, indices: *mut c_int,
        statuses: *mut Status,
    ) on Requests => |this| {
        some(this, How::Report, array(count, requests.cast_mut())?, (found, indices), statuses)
    };
    fn MPI_Request_free(request: *mut Request) on Requests => |this| {
        Requests::of(this).free(std::mem::replace(&mut *request, Request::NULL))
    };
    fn MPI_Cancel(request: *mut Request) on Requests => |this| {
        let handle = *request;
        let mut call = Requests::of(this).with(handle, |entry| match entry.call.take() {
            Some(call) => Ok(call),
            None => fail!(Request, "request {:#x} is not active", handle.0),
        })?;
        let done = match Requests::of(this).has_outcome(handle) {
            true => Ok(()),
            false => call.cancel(),
        };
        Requests::of(this).with(handle, |entry| {
            entry.call = Some(call);
            done
        })
    };
}
