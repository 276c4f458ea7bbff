//! Requests of a rank.

use std::cell::RefCell;
use std::ffi::c_int;
use std::future::poll_fn;
use std::task::{Context, Poll};

use crate::abi::{Request, Status};
use crate::error::{Class, Done, Fail};
use crate::rank::{Rank, invalid};
use crate::table::Table;
use crate::wait::wait;

/// A call that was started. It is polled by the calls that complete it.
pub(crate) trait Started {
    /// Polls the call for its status. It is not polled again after that.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<Status>>;

    /// Returns true if the next poll returns the status.
    fn is_done(&self) -> bool;
}

/// All requests of a rank.
#[derive(Default)]
pub(crate) struct Requests {
    table: RefCell<Table<Box<dyn Started>>>,
}

impl Requests {
    /// Adds a started call, and returns its handle.
    pub(crate) fn add(&self, started: impl Started + 'static) -> Done<Request> {
        let handle = self.table.borrow_mut().add(Box::new(started));
        let none = || Fail::new(Class::NoMem, "too many requests");
        Ok(Request(handle.ok_or_else(none)?))
    }

    fn take(&self, handle: Request) -> Done<Box<dyn Started>> {
        match self.table.borrow_mut().remove(handle.0) {
            Some(started) => Ok(started),
            None => invalid(Class::Request, "request", handle.0),
        }
    }
}

/// Writes a status, unless the pointer is null.
///
/// # Safety
/// The pointer must be null or valid for writing.
pub(crate) unsafe fn write_status(to: *mut Status, status: Status) {
    if !to.is_null() {
        // SAFETY: the pointer is not null.
        unsafe { to.write(status) };
    }
}

fn complete(this: &Rank, request: &mut Request) -> Done<Status> {
    if *request == Request::NULL {
        return Ok(Status::EMPTY);
    }
    let mut started = this
        .requests
        .take(std::mem::replace(request, Request::NULL))?;
    wait(poll_fn(|context| started.poll(context)))
}

export! {
    fn MPI_Wait(request: *mut Request, status: *mut Status) on World => |this| {
        let result = complete(this, &mut *request)?;
        write_status(status, result);
        Ok(())
    };
    fn MPI_Waitall(count: c_int, requests: *mut Request, statuses: *mut Status) on World => |this| {
        for index in 0..count as usize {
            let result = complete(this, &mut *requests.add(index))?;
            if !statuses.is_null() {
                statuses.add(index).write(result);
            }
        }
        Ok(())
    };
}
