//! Errors of calls: their class, and a text for people.

use std::borrow::Cow;
use std::ffi::c_int;

use graphmap_runtime::mpi as core;

/// Defines the error classes (MPI-5.0, section 9.4), with the texts of `MPI_Error_string`.
macro_rules! classes {
    ($($name:ident = $value:literal $text:literal)*) => {
        /// Class of an error. Its number is also the code of the errors that are found here.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(i32)]
        #[allow(dead_code)]
        pub(crate) enum Class { $($name = $value),* }

        /// Returns the text of a class, or `None` if `class` is not one.
        pub(crate) fn text(class: c_int) -> Option<&'static str> {
            match class {
                0 => Some("no error"),
                $($value => Some($text),)*
                _ => None,
            }
        }
    };
}

classes! {
    Buffer = 1 "invalid buffer"
    Count = 2 "invalid count"
    Type = 3 "invalid datatype"
    Tag = 4 "invalid tag"
    Comm = 5 "invalid communicator"
    Rank = 6 "invalid rank"
    Request = 7 "invalid request"
    Root = 8 "invalid root"
    Group = 9 "invalid group"
    Op = 10 "invalid operation"
    Topology = 11 "invalid topology"
    Dims = 12 "invalid dimensions"
    Arg = 13 "invalid argument"
    Unknown = 14 "unknown error"
    Truncate = 15 "message truncated on receive"
    Other = 16 "other error"
    Intern = 17 "internal error"
    Pending = 18 "pending request"
    InStatus = 19 "the error is in the status"
    Access = 20 "permission denied"
    Amode = 21 "invalid access mode"
    Assert = 22 "invalid assertion"
    BadFile = 23 "invalid file name"
    Base = 24 "invalid base address"
    Conversion = 25 "error in a data conversion function"
    Disp = 26 "invalid displacement"
    DupDatarep = 27 "the data representation is defined already"
    FileExists = 28 "the file exists"
    FileInUse = 29 "the file is in use"
    File = 30 "invalid file"
    InfoKey = 31 "invalid key of an info object"
    InfoNokey = 32 "the info object does not have this key"
    InfoValue = 33 "invalid value of an info object"
    Info = 34 "invalid info object"
    Io = 35 "input or output error"
    Keyval = 36 "invalid attribute key"
    Locktype = 37 "invalid type of lock"
    Name = 38 "unknown service name"
    NoMem = 39 "out of memory"
    NotSame = 40 "the arguments of the ranks differ"
    NoSpace = 41 "no space on the device"
    NoSuchFile = 42 "the file does not exist"
    Port = 43 "invalid port name"
    Quota = 44 "quota exceeded"
    ReadOnly = 45 "read-only file or file system"
    RmaAttach = 46 "the memory cannot be attached"
    RmaConflict = 47 "conflicting accesses to a window"
    RmaRange = 48 "the target memory is not part of the window"
    RmaShared = 49 "the memory cannot be shared"
    RmaSync = 50 "wrong synchronization of a window"
    Service = 51 "invalid service name"
    Size = 52 "invalid size"
    Spawn = 53 "processes cannot be spawned"
    UnsupportedDatarep = 54 "unsupported data representation"
    UnsupportedOperation = 55 "unsupported operation"
    Win = 56 "invalid window"
    RmaFlavor = 57 "wrong flavor of window"
    ProcAborted = 58 "a rank has aborted"
    ValueTooLarge = 59 "the value does not fit the type of the argument"
    Session = 60 "invalid session"
    Errhandler = 61 "invalid error handler"
    Abi = 62 "invalid ABI"
}

/// Error of a call.
#[derive(Debug, Clone)]
pub(crate) struct Fail {
    /// Error code: a class, or a code of the program.
    pub(crate) code: c_int,
    /// Description for the report of a fatal error.
    pub(crate) text: Cow<'static, str>,
}

/// Result of a call.
pub(crate) type Done<T = ()> = Result<T, Fail>;

impl Fail {
    pub(crate) fn new(class: Class, text: impl Into<Cow<'static, str>>) -> Self {
        let (code, text) = (class as c_int, text.into());
        Fail { code, text }
    }

    /// Creates the error for a code that a function of the program has returned.
    pub(crate) fn of_code(code: c_int) -> Self {
        let text = format!("a function of the program returned the error {code}").into();
        Fail { code, text }
    }
}

/// Returns an error of the class with a formatted text.
macro_rules! fail {
    ($class:ident, $($text:tt)*) => {
        Err($crate::error::Fail::new($crate::error::Class::$class, format!($($text)*)))
    };
}
pub(crate) use fail;

impl From<core::Error> for Fail {
    fn from(error: core::Error) -> Self {
        use core::Error as E;
        let class = match &error {
            E::Rank { .. } => Class::Rank,
            E::Tag(_) => Class::Tag,
            E::Type { .. } | E::Unreadable(_) => Class::Type,
            E::Truncated { .. } => Class::Truncate,
            E::Inactive | E::Active => Class::Request,
            E::Mismatch(_) => Class::NotSame,
            E::Count { .. } => Class::Count,
            E::Group(_) => Class::Group,
            E::Topology(_) => Class::Topology,
            E::Window(_) => Class::Win,
            E::NotReady | E::NoProcess | E::Over | E::Thread(_) => Class::Other,
            E::TooMany | E::TooManyRanks { .. } => Class::NoMem,
            _ => Class::Other,
        };
        match error {
            E::Mismatch(mismatch) => Fail::new(class, mismatch_text(&mismatch)),
            error => Fail::new(class, error.to_string()),
        }
    }
}

/// Describes two collective calls that do not match, without types and positions of this library.
fn mismatch_text(mismatch: &core::Mismatch) -> String {
    let of = |(rank, call, _): &(usize, String, _)| {
        let (name, rest) = call.split_once(" of `").unwrap_or((call, ""));
        let root = rest.rfind("` with").map_or("", |at| &rest[at + 1..]);
        format!("rank {rank} called {name}{root}")
    };
    let (first, second) = (of(&mismatch.first), of(&mismatch.second));
    format!("collective calls do not match: {first}, and {second}")
}
