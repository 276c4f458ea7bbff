//! Types and constants of the standard ABI (MPI-5.0, appendix A.2). A test compares them with the
//! `mpi_abi.h` of another implementation.

use std::ffi::{c_int, c_void};

/// Address in bytes, or a difference of addresses.
pub(crate) type Aint = isize;
/// Large count.
pub(crate) type Count = i64;

/// Defines types of handles. A handle is a pointer in C, but only its value has a meaning.
macro_rules! handles {
    ($($(#[$meta:meta])* $name:ident { $($constant:ident = $value:expr),* $(,)? })*) => {$(
        $(#[$meta])*
        #[repr(transparent)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) struct $name(pub(crate) usize);

        impl $name {
            $(pub(crate) const $constant: $name = $name($value);)*
        }

        impl From<usize> for $name {
            fn from(value: usize) -> Self {
                $name(value)
            }
        }

        impl From<$name> for usize {
            fn from(handle: $name) -> Self {
                handle.0
            }
        }
    )*};
}

handles! {
    /// `MPI_Op`.
    Op {
        NULL = 0x20, SUM = 0x21, MIN = 0x22, MAX = 0x23, PROD = 0x24, BAND = 0x28, BOR = 0x29,
        BXOR = 0x2a, LAND = 0x30, LOR = 0x31, LXOR = 0x32, MINLOC = 0x38, MAXLOC = 0x39,
        REPLACE = 0x3c, NO_OP = 0x3d,
    }
    /// `MPI_Comm`.
    Comm { NULL = 0x100, WORLD = 0x101, SELF = 0x102 }
    /// `MPI_Group`.
    Group { NULL = 0x108, EMPTY = 0x109 }
    /// `MPI_Win`.
    Win {}
    /// `MPI_File`.
    File { NULL = 0x118 }
    /// `MPI_Session`.
    Session { NULL = 0x120 }
    /// `MPI_Message`.
    Message { NULL = 0x128, NO_PROC = 0x129 }
    /// `MPI_Info`.
    Info { NULL = 0x130, ENV = 0x131 }
    /// `MPI_Errhandler`.
    Errhandler { NULL = 0x140, FATAL = 0x141, ABORT = 0x142, RETURN = 0x143 }
    /// `MPI_Request`.
    Request { NULL = 0x180 }
    /// `MPI_Datatype`. `datatype/named.rs` lists the predefined ones.
    Datatype { NULL = 0x200, BYTE = 0x247 }
}

/// `MPI_Status`. The private fields are the number of bytes of the message, and whether the call
/// was cancelled.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) source: c_int,
    pub(crate) tag: c_int,
    pub(crate) error: c_int,
    bytes: [c_int; 2],
    cancelled: c_int,
    reserved: [c_int; 2],
}

impl Status {
    /// The empty status (MPI-5.0, section 3.7.3).
    pub(crate) const EMPTY: Status = Status {
        source: ANY_SOURCE,
        tag: ANY_TAG,
        error: 0,
        bytes: [0; 2],
        cancelled: 0,
        reserved: [0; 2],
    };

    /// Status of a message to or from `MPI_PROC_NULL`.
    pub(crate) const PROC_NULL: Status = Status {
        source: PROC_NULL,
        ..Status::EMPTY
    };

    /// Creates the status of a message of `bytes` bytes.
    pub(crate) fn new(source: c_int, tag: c_int, bytes: usize) -> Self {
        let mut status = Status {
            source,
            tag,
            ..Status::EMPTY
        };
        status.set_bytes(bytes as i64);
        status
    }

    /// Returns the number of bytes of the message.
    pub(crate) fn bytes(&self) -> i64 {
        let [low, high] = self.bytes;
        i64::from(low.cast_unsigned()) | i64::from(high) << 32
    }

    /// Sets the number of bytes of the message.
    pub(crate) fn set_bytes(&mut self, bytes: i64) {
        self.bytes = [bytes as c_int, (bytes >> 32) as c_int];
    }

    /// Returns true if the call was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled != 0
    }

    /// Sets whether the call was cancelled.
    pub(crate) fn set_cancelled(&mut self, cancelled: bool) {
        self.cancelled = cancelled.into();
    }
}

pub(crate) const ANY_SOURCE: c_int = -1;
pub(crate) const ANY_TAG: c_int = -2;
pub(crate) const PROC_NULL: c_int = -3;
pub(crate) const ROOT: c_int = -4;
pub(crate) const UNDEFINED: c_int = -32766;

/// Largest tag.
pub(crate) const TAG_UB: c_int = c_int::MAX;

pub(crate) const IN_PLACE: *const c_void = std::ptr::without_provenance(1);

pub(crate) const THREAD_FUNNELED: c_int = 1024;

pub(crate) const IDENT: c_int = 201;
pub(crate) const CONGRUENT: c_int = 202;
pub(crate) const SIMILAR: c_int = 203;
pub(crate) const UNEQUAL: c_int = 204;

pub(crate) const MAX_ERROR_STRING: usize = 512;
pub(crate) const MAX_OBJECT_NAME: usize = 128;
pub(crate) const MAX_PROCESSOR_NAME: usize = 256;
pub(crate) const MAX_LIBRARY_VERSION_STRING: usize = 8192;

pub(crate) const CART: c_int = 211;
pub(crate) const GRAPH: c_int = 212;
pub(crate) const DIST_GRAPH: c_int = 213;

/// `MPI_UNWEIGHTED`. `MPI_WEIGHTS_EMPTY` needs no test, because it stands for no weights.
pub(crate) const UNWEIGHTED: *const c_int = 10 as *const c_int;
