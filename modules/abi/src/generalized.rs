//! Generalized requests (MPI-5.0, section 13.2).

use std::ffi::{c_int, c_void};
use std::task::{Context, Poll};

use crate::abi::{Request, Status};
use crate::error::{Done, Fail, fail};
use crate::rank::Part as _;
use crate::request::Requests;
use crate::request::Started;

/// Writes the status of a complete call.
type Query = unsafe extern "C" fn(state: *mut c_void, status: *mut Status) -> c_int;
/// Frees the state of a call.
type Free = unsafe extern "C" fn(state: *mut c_void) -> c_int;
/// Reports that a call was cancelled, and whether it is complete.
type Cancel = unsafe extern "C" fn(state: *mut c_void, complete: c_int) -> c_int;

/// A call that the program makes itself.
struct Generalized {
    query: Query,
    free: Free,
    cancel: Cancel,
    state: *mut c_void,
    is_complete: bool,
    /// Status that `query` has written.
    status: Status,
}

/// Returns the error that a function of the program has returned.
fn check(code: c_int) -> Done {
    match code {
        0 => Ok(()),
        code => Err(Fail::of_code(code)),
    }
}

impl Started for Generalized {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<Done<Status>> {
        match self.is_complete {
            true => Poll::Ready(Ok(Status::EMPTY)),
            false => Poll::Pending,
        }
    }

    fn query(&mut self, outcome: Done<Status>) -> Done<Status> {
        self.status = outcome?;
        // SAFETY: the program has passed this function for this state.
        check(unsafe { (self.query)(self.state, &mut self.status) })?;
        Ok(self.status)
    }

    fn failed(&self) -> Status {
        self.status
    }

    fn mark_complete(&mut self) -> bool {
        self.is_complete = true;
        true
    }

    fn free(&mut self) -> Done {
        // SAFETY: the program has passed this function for this state.
        check(unsafe { (self.free)(self.state) })
    }

    fn cancel(&mut self) -> Done {
        // SAFETY: the program has passed this function for this state.
        check(unsafe { (self.cancel)(self.state, self.is_complete.into()) })
    }
}

export! {
    fn MPI_Grequest_start(
        query: Option<Query>, free: Option<Free>, cancel: Option<Cancel>, state: *mut c_void,
        request: *mut Request,
    ) on World => |this| {
        let (Some(query), Some(free), Some(cancel)) = (query, free, cancel) else {
            return fail!(Arg, "a function is null");
        };
        let (is_complete, status) = (false, Status::EMPTY);
        let call = Generalized { query, free, cancel, state, is_complete, status };
        request.write(Requests::of(this).add(call)?);
        Ok(())
    };
    fn MPI_Grequest_complete(request: Request) on World => |this| {
        Requests::of(this).active(request, |call| match call.mark_complete() {
            true => Ok(()),
            false => fail!(Request, "the request is not a generalized request"),
        })
    };
}
