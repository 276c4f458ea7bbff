//! Facts about one source file, without syntax trees: these are not `Send`, and they nest deeply.

use crate::holds::Waiter;
use crate::reach::Reach;
use std::collections::BTreeSet;
use std::ops::Range;

/// Byte range in a source.
pub(crate) type At = Range<usize>;

/// All facts of a file.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) statics: Vec<Static>,
    pub(crate) calls: Vec<Call>,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) modules: Vec<Module>,
    /// Macro calls whose expansion is unknown.
    pub(crate) unseen: Vec<(String, At)>,
    /// Locks that are held across waits.
    pub(crate) held: Vec<HeldLock>,
    /// Blocks of functions of another language, with the names of the functions.
    pub(crate) foreign: Vec<(Vec<String>, At)>,
    /// `include!` of generated files.
    pub(crate) generated: Vec<At>,
    /// Positions in a build script where it compiles or links code of another language.
    pub(crate) builds: Vec<At>,
    /// Types with blocking methods that the file mentions.
    pub(crate) waiters: BTreeSet<Waiter>,
    /// Macros whose calls define statics, and statics in a syntax that is not understood (`None`).
    pub(crate) makers: Vec<(Option<String>, At)>,
}

/// A static, a thread-local, or a lazy static.
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
    /// `static` in an `extern` block, defined in another language.
    Foreign,
    /// In `thread_local!`. `constant` is true if every thread initializes it with the same
    /// constant.
    ThreadLocal { constant: bool },
    /// In `lazy_static!`
    Lazy,
}

/// Structure of a type, as far as it matters for shared changes.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// A type of any crate: its last name, and its type arguments.
    Named(String, Vec<Shape>),
    /// A type of Rust's standard libraries. It is never looked up in the package.
    Rusts(String, Vec<Shape>),
    /// A type of Rust's standard libraries if they have one of this name, from a glob import.
    PerhapsRusts(String, Vec<Shape>),
    /// The parts of a tuple, an array, a reference or a function type.
    Parts(Vec<Shape>),
    /// A raw pointer.
    Pointer,
    /// A type that cannot be examined, with a description of it.
    Opaque(&'static str),
}

/// A type that the package defines.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    /// Names of its type parameters.
    pub(crate) parameters: Vec<String>,
    pub(crate) parts: Vec<Shape>,
}

/// A use of a function that affects the OS process or blocks the thread.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) path: String,
    pub(crate) reach: Reach,
    pub(crate) at: At,
    /// If set, the use counts only if the package mentions this type.
    pub(crate) of: Option<Waiter>,
}

impl Call {
    /// Returns true if the function blocks its thread for a given time.
    pub(crate) fn sleeps(&self) -> bool {
        let name = self.path.rsplit("::").next().unwrap_or(&self.path);
        self.reach == Reach::Thread && name.contains("sleep")
    }
}

/// A lock that is held across a wait.
#[derive(Debug)]
pub(crate) struct HeldLock {
    pub(crate) lock: At,
    pub(crate) wait: At,
    /// Name of the method that waits.
    pub(crate) method: String,
}

/// An inline module around a `mod` declaration.
#[derive(Clone, Debug)]
pub(crate) enum Around {
    /// Its files are in a folder with its name.
    Name(String),
    /// Its files are in the folder that `#[path]` names.
    Folder(String),
}

/// `mod name;`, or `include!("file")`.
#[derive(Debug)]
pub(crate) struct Module {
    /// Inline modules around the declaration, from the outside to the inside.
    pub(crate) around: Vec<Around>,
    pub(crate) name: String,
    /// Value of `#[path]`, or the included file.
    pub(crate) file: Option<String>,
    /// Whether it is `include!`d. An included file may be an expression instead of a module.
    pub(crate) included: bool,
    /// Whether it depends on a condition, so that the file may be missing.
    pub(crate) conditional: bool,
    pub(crate) at: At,
}
