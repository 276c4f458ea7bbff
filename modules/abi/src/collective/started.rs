//! Started collective calls. The blocking, the nonblocking and the persistent version of a call
//! check the arguments and begin in the same way.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use graphmap_runtime::mpi as core;

use crate::abi::{Comm, Info, Request, Status};
use crate::error::Done;
use crate::info::Infos;
use crate::on::On;
use crate::rank::Part as _;
use crate::rank::Rank;
use crate::request::Requests;
use crate::request::Started;
use crate::wait::wait;

/// A call whose arguments were checked. It can begin several times.
pub(crate) struct Prepared {
    by: core::Communicator,
    begin: Box<Begin>,
}

/// Begins a call on a communicator. The object is that whose error handler handles the errors.
type Begin = dyn Fn(&core::Communicator, On) -> Box<dyn Started>;

/// A call of the layer below, and the function that stores its result.
struct Stored<R, F> {
    call: core::Collective<R>,
    store: Option<F>,
    on: On,
}

impl<R: 'static, F: FnOnce(R) -> Done + 'static> Started for Stored<R, F> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<Status>> {
        Pin::new(&mut self.call).poll(context).map(|result| {
            let result = result?;
            if let Some(store) = self.store.take() {
                store(result)?;
            }
            Ok(Status::EMPTY)
        })
    }

    fn disarm(&mut self) {
        core::Request::disarm(&mut self.call);
    }

    fn on(&self) -> On {
        self.on
    }
}

/// Creates a call on a communicator. `begin` begins it, and returns the function that stores its
/// result.
pub(crate) fn prepared<R: 'static, F: FnOnce(R) -> Done + 'static>(
    by: core::Communicator,
    begin: impl Fn(&core::Communicator) -> (core::Collective<R>, F) + 'static,
) -> Prepared {
    let begin = move |by: &core::Communicator, on| -> Box<dyn Started> {
        let (call, store) = begin(by);
        let store = Some(store);
        Box::new(Stored { call, store, on })
    };
    let begin = Box::new(begin);
    Prepared { by, begin }
}

/// Makes a call and waits for its end.
pub(crate) fn blocking(call: &Prepared) -> Done {
    let mut call = (call.begin)(&call.by, On::World);
    wait(poll_fn(|context| call.poll(context)))?;
    Ok(())
}

/// Begins a call and writes its request.
///
/// # Safety
/// `request` must be valid for writing.
pub(crate) unsafe fn nonblocking(
    this: &Rank,
    comm: Comm,
    call: &Prepared,
    request: *mut Request,
) -> Done {
    let started = (call.begin)(&call.by, comm.into());
    let handle = Requests::of(this).add_boxed(started)?;
    // SAFETY: guaranteed by the caller.
    unsafe { request.write(handle) };
    Ok(())
}

/// Creates an inactive persistent request, and writes it. The call begins each time that the
/// request is started. Ranks may start their requests in different orders, so each request has a
/// communicator of its own (MPI-5.0, section 6.13).
///
/// # Safety
/// `request` must be valid for writing.
pub(crate) unsafe fn persistent(
    this: &Rank,
    comm: Comm,
    info: Info,
    call: Prepared,
    request: *mut Request,
) -> Done {
    Infos::of(this).argument(info)?;
    let own = wait(call.by.dup())?;
    let again = move |_: &Rc<Rank>| Ok((call.begin)(&own, comm.into()));
    let handle = Requests::of(this).add_persistent(again)?;
    // SAFETY: guaranteed by the caller.
    unsafe { request.write(handle) };
    Ok(())
}
