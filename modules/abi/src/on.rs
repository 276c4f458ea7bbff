//! Object whose error handler handles the errors of a call.

use crate::abi::{Comm, Session};

/// Object whose error handler handles the errors of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum On {
    /// A communicator.
    Of(Comm),
    /// No object: `MPI_COMM_SELF`, and `MPI_COMM_WORLD` if that has the default handler (MPI-5.0,
    /// section 9.3).
    World,
    /// The object of the request that the call has completed, or no object.
    Requests,
    /// A session.
    In(Session),
    /// `MPI_FILE_NULL`, whose error handler handles the errors of files that do not exist.
    Files,
    /// No object, for functions that may be called before `MPI_Init` and after `MPI_Finalize`.
    Always,
    /// As [`On::Always`], for functions that any thread may call.
    Thread,
}

impl From<Comm> for On {
    fn from(comm: Comm) -> Self {
        On::Of(comm)
    }
}

impl From<Session> for On {
    fn from(session: Session) -> Self {
        On::In(session)
    }
}
