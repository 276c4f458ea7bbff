//! Persistent requests of point-to-point calls (MPI-5.0, section 3.9).

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use crate::abi::{Comm, Datatype, Request};
use crate::error::fail;
use crate::message::{Outgoing, Side};
use crate::point_to_point::{Incoming, Mode, READY, STANDARD, SYNCHRONOUS};
use crate::rank::Part as _;
use crate::rank::Rank;
use crate::request::Requests;

/// Defines the persistent send of a mode.
macro_rules! sends {
    ($($name:ident $name_c:ident $mode:expr;)*) => { export! {$(
        fn $name, $name_c<C>(
            buf: *const c_void, count: C, datatype: Datatype, dest: c_int, tag: c_int, comm: Comm,
            request: *mut Request,
        ) on comm => |this| {
            let side = Side::new(this, buf, count.get(), datatype, comm)?;
            let message = Outgoing::new(side, dest, tag)?;
            // SAFETY: the elements are readable while the request is active.
            let again = Requests::of(this).add_persistent(move |this: &Rc<Rank>| unsafe {
                message.start(this, $mode)
            });
            request.write(again?);
            Ok(())
        };
    )*}};
}

sends! {
    MPI_Send_init MPI_Send_init_c STANDARD;
    MPI_Ssend_init MPI_Ssend_init_c SYNCHRONOUS;
    MPI_Rsend_init MPI_Rsend_init_c READY;
    MPI_Bsend_init MPI_Bsend_init_c Mode::Buffered;
}

export! {
    fn MPI_Recv_init, MPI_Recv_init_c<C>(
        buf: *mut c_void, count: C, datatype: Datatype, source: c_int, tag: c_int, comm: Comm,
        request: *mut Request,
    ) on comm => |this| {
        let side = Side::new(this, buf, count.get(), datatype, comm)?;
        let message = Incoming::new(side, source, tag)?;
        // SAFETY: the elements are writable while the request is active.
        let again = Requests::of(this).add_persistent(move |_: &Rc<Rank>| unsafe {
            Ok(message.clone().start())
        });
        request.write(again?);
        Ok(())
    };
    fn MPI_Start(request: *mut Request) on Requests => |this| Requests::of(this).start(this, *request);
    fn MPI_Startall(count: c_int, requests: *mut Request) on Requests => |this| {
        if count < 0 {
            return fail!(Count, "the count {count} is negative");
        }
        (0..count as usize).try_for_each(|index| Requests::of(this).start(this, *requests.add(index)))
    };
}
