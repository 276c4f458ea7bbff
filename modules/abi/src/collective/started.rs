//! Started collective calls. The blocking, the nonblocking and the persistent version of a call
//! check the arguments and begin in the same way.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use graphmap_runtime::mpi as core;

use crate::abi::{Comm, Info, Request, Status};
use crate::call::On;
use crate::error::Done;
use crate::rank::Rank;
use crate::request::Started;
use crate::wait::wait;

/// A call whose arguments were checked. It begins each time that the function is called with the
/// object whose error handler handles its errors.
pub(crate) type Begin = Box<dyn Fn(On) -> Box<dyn Started>>;

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

    fn is_done(&self) -> bool {
        self.call.is_done()
    }

    fn disarm(&mut self) {
        core::Request::disarm(&mut self.call);
    }

    fn on(&self) -> On {
        self.on
    }
}

/// Creates a call. `begin` begins it, and returns the function that stores its result.
pub(crate) fn prepared<R: 'static, F: FnOnce(R) -> Done + 'static>(
    begin: impl Fn() -> (core::Collective<R>, F) + 'static,
) -> Begin {
    Box::new(move |on| {
        let (call, store) = begin();
        let store = Some(store);
        Box::new(Stored { call, store, on })
    })
}

/// Makes a call and waits for its end.
pub(crate) fn blocking(begin: &Begin) -> Done {
    let mut call = begin(On::World);
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
    begin: &Begin,
    request: *mut Request,
) -> Done {
    let handle = this.requests.add_boxed(begin(comm.into()))?;
    // SAFETY: guaranteed by the caller.
    unsafe { request.write(handle) };
    Ok(())
}

/// Creates an inactive persistent request, and writes it. The call begins each time that the request
/// is started.
///
/// # Safety
/// `request` must be valid for writing.
pub(crate) unsafe fn persistent(
    this: &Rank,
    comm: Comm,
    info: Info,
    begin: Begin,
    request: *mut Request,
) -> Done {
    this.infos.argument(info)?;
    let again = move |_: &Rc<Rank>| Ok(begin(comm.into()));
    let handle = this.requests.add_persistent(again)?;
    // SAFETY: guaranteed by the caller.
    unsafe { request.write(handle) };
    Ok(())
}
