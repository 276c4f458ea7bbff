//! Started collective calls. The blocking, the nonblocking and the persistent version of a call
//! check the arguments and begin in the same way.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use graphmap_runtime::mpi as core;

use crate::abi::{Info, Request, Status};
use crate::error::Done;
use crate::rank::Rank;
use crate::request::Started;
use crate::wait::wait;

/// A call whose arguments were checked. It begins each time that the function is called.
pub(crate) type Begin = Box<dyn Fn() -> Running>;

/// A collective call in progress.
pub(crate) struct Running(Box<dyn Started>);

impl Started for Running {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<Status>> {
        self.0.poll(context)
    }

    fn is_done(&self) -> bool {
        self.0.is_done()
    }
}

/// A call of the layer below, and the function that stores its result.
struct Stored<R, F> {
    call: core::Collective<R>,
    store: Option<F>,
}

impl<R, F: FnOnce(R) -> Done> Started for Stored<R, F> {
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
}

/// Creates a call. `begin` begins it, and returns the function that stores its result.
pub(crate) fn prepared<R: 'static, F: FnOnce(R) -> Done + 'static>(
    begin: impl Fn() -> (core::Collective<R>, F) + 'static,
) -> Begin {
    Box::new(move || {
        let (call, store) = begin();
        let store = Some(store);
        Running(Box::new(Stored { call, store }))
    })
}

/// Makes a call and waits for its end.
pub(crate) fn blocking(begin: &Begin) -> Done {
    let mut running = begin();
    wait(poll_fn(|context| running.poll(context)))?;
    Ok(())
}

/// Begins a call and writes its request.
///
/// # Safety
/// `request` must be valid for writing.
pub(crate) unsafe fn nonblocking(this: &Rank, begin: &Begin, request: *mut Request) -> Done {
    let handle = this.requests.add(begin())?;
    // SAFETY: guaranteed by the caller.
    unsafe { request.write(handle) };
    Ok(())
}

/// Creates an inactive persistent request that makes the call when it is started.
///
/// # Safety
/// `request` must be valid for writing.
pub(crate) unsafe fn persistent(this: &Rank, info: Info, begin: Begin, request: *mut Request) -> Done {
    this.infos.argument(info)?;
    let _ = (begin, request);
    crate::error::fail!(Other, "not implemented")
}
