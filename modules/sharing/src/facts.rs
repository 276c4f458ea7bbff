//! What a source says that ranks may share, without the parser's trees: those cannot leave their thread, and are deep.

use crate::holds::Waiter;
use crate::reach::Reach;
use std::collections::BTreeSet;
use std::ops::Range;

/// Bytes of a source.
pub(crate) type At = Range<usize>;

/// What is of interest in a file.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) statics: Vec<Static>,
    pub(crate) calls: Vec<Call>,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) modules: Vec<Module>,
    /// Calls of macros that may expand to anything.
    pub(crate) unseen: Vec<(String, At)>,
    /// Locks that are held across waits.
    pub(crate) held: Vec<HeldLock>,
    /// Blocks of functions of another language, with their names.
    pub(crate) foreign: Vec<(Vec<String>, At)>,
    /// `include!` of a file that a build script makes.
    pub(crate) generated: Vec<At>,
    /// Of a build script: where it compiles code of another language, or links it.
    pub(crate) builds: Vec<At>,
    /// What the file mentions of types whose methods hold up a thread.
    pub(crate) waiters: BTreeSet<Waiter>,
    /// Macros that make statics where they are called, and statics that are written in a way that is not understood.
    pub(crate) makers: Vec<(Option<String>, At)>,
}

/// A static, or something like one.
#[derive(Debug)]
pub(crate) struct Static {
    pub(crate) name: String,
    pub(crate) form: Form,
    pub(crate) of: Shape,
    pub(crate) at: At,
}

/// How a static is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `static`
    Static,
    /// `static mut`
    Mutable,
    /// `static` in an `extern` block: another language's.
    Foreign,
    /// In `thread_local!`, with a value that is the same for whoever makes it, or may be another.
    ThreadLocal { constant: bool },
    /// In `lazy_static!`
    Lazy,
}

/// What a type is made of.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// A type by its last name, with its arguments.
    Named(String, Vec<Shape>),
    /// One of Rust's own libraries, whatever the package calls its types.
    Rusts(String, Vec<Shape>),
    /// One of Rust's own libraries, if they have one of this name: all names of a path are used.
    PerhapsRusts(String, Vec<Shape>),
    /// A tuple, an array, a reference, a function: as its parts.
    Parts(Vec<Shape>),
    /// A raw pointer.
    Pointer,
    /// What cannot be looked into, and what that is.
    Opaque(&'static str),
}

/// A type of the package.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    /// Its parameters that are types.
    pub(crate) parameters: Vec<String>,
    pub(crate) parts: Vec<Shape>,
}

/// A mention of a function that concerns the OS process, or holds up the thread.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) path: String,
    pub(crate) reach: Reach,
    pub(crate) at: At,
    /// It is one only if the package mentions this.
    pub(crate) of: Option<Waiter>,
}

/// A lock that is held across a wait.
#[derive(Debug)]
pub(crate) struct HeldLock {
    pub(crate) lock: At,
    pub(crate) wait: At,
    /// The method that waits.
    pub(crate) method: String,
}

/// A module that others are written in.
#[derive(Clone, Debug)]
pub(crate) enum Around {
    /// Its files are in a folder of its name,
    Name(String),
    /// or in that which `#[path]` says.
    Folder(String),
}

/// `mod name;`, or `include!("file")`
#[derive(Debug)]
pub(crate) struct Module {
    /// The modules that it is written in.
    pub(crate) around: Vec<Around>,
    pub(crate) name: String,
    /// What `#[path]` says.
    pub(crate) file: Option<String>,
    /// Whether it is `include!`d, so that it need be no module.
    pub(crate) included: bool,
    /// Whether it is there under a condition.
    pub(crate) conditional: bool,
    pub(crate) at: At,
}
