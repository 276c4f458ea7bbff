//! Codes of the diagnostics about programs of ranks. Each has a page in `docs/src/errors/`.

use graphmap_kpn::diagnostic::Code;

/// A mutable static, which the ranks of an OS process share.
pub const SHARED_STATIC: Code = Code(801);
/// A thread-local, which the ranks of a thread share.
pub const SHARED_THREAD_LOCAL: Code = Code(802);
/// A static that one rank initializes for all.
pub const MADE_ONCE: Code = Code(803);
/// A call that affects the whole OS process.
pub const PROCESS_WIDE: Code = Code(804);
/// A static that may be mutable.
pub const NOT_JUDGED: Code = Code(805);
/// A source that cannot be read, or is not valid Rust.
pub const NO_SOURCE: Code = Code(806);
/// Macro calls that may expand to shared state (a note).
pub const UNSEEN_MACROS: Code = Code(807);
/// A call that blocks all ranks of a thread.
pub const HOLDS_THREAD: Code = Code(809);
/// A lock that a rank holds while it waits for a message.
pub const LOCK_ACROSS_WAIT: Code = Code(810);
/// Code of another language, whose statics are not checked.
pub const OTHER_LANGUAGE: Code = Code(811);
/// Generated code that is not checked.
pub const GENERATED: Code = Code(812);
