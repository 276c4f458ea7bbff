//! Decides whether a value of a type can change while it is shared.

use crate::facts::{Definition, Shape};
use std::collections::{BTreeMap, BTreeSet};

/// Result of the decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mutability {
    /// Values do not change.
    Plain,
    /// Values are initialized at their first use, and do not change afterwards.
    MadeOnce,
    /// Not known. The text names a type of another package, or describes the type.
    Unknown(String),
    /// Values can change. The text names the part that changes.
    Changes(String),
}

impl Mutability {
    fn weight(&self) -> u8 {
        match self {
            Mutability::Plain => 0,
            Mutability::MadeOnce => 1,
            Mutability::Unknown(_) => 2,
            Mutability::Changes(_) => 3,
        }
    }

    /// Returns the mutability of a value with parts of both mutabilities. This is the last of the
    /// two in the order of the enum, with one exception: `MadeOnce` prevails over `Unknown`.
    fn with(self, other: Mutability) -> Mutability {
        match (&self, &other) {
            (Mutability::MadeOnce, Mutability::Unknown(_)) => self,
            (Mutability::Unknown(_), Mutability::MadeOnce) => other,
            _ if other.weight() > self.weight() => other,
            _ => self,
        }
    }
}

/// Types of Rust's libraries and of well-known crates whose values can change behind a shared
/// reference.
const CHANGES: &[&str] = &[
    "ArcSwap",
    "AtomicCell",
    "Barrier",
    "Cell",
    "Condvar",
    "DashMap",
    "FairMutex",
    "Mutex",
    "ReentrantLock",
    "ReentrantMutex",
    "Receiver",
    "RefCell",
    "RwLock",
    "Sender",
    "SyncSender",
    "SyncUnsafeCell",
    "ThreadLocal",
    "UnsafeCell",
];

/// Types whose values are initialized once.
const MADE_ONCE: &[&str] = &[
    "Lazy",
    "LazyCell",
    "LazyLock",
    "Once",
    "OnceBool",
    "OnceBox",
    "OnceCell",
    "OnceLock",
    "OnceNonZeroUsize",
    "OnceRef",
];

/// Types whose values change only if values of their type arguments do.
const PLAIN: &[&str] = &[
    "Alignment",
    "Arc",
    "BTreeMap",
    "BTreeSet",
    "BinaryHeap",
    "Box",
    "CStr",
    "CString",
    "Cow",
    "Duration",
    "HashMap",
    "HashSet",
    "Instant",
    "IpAddr",
    "Ipv4Addr",
    "Ipv6Addr",
    "Layout",
    "LinkedList",
    "Location",
    "ManuallyDrop",
    "NonZero",
    "Option",
    "Ordering",
    "OsStr",
    "OsString",
    "Path",
    "PathBuf",
    "Pin",
    "Range",
    "RangeInclusive",
    "Rc",
    "Result",
    "Reverse",
    "Saturating",
    "SocketAddr",
    "String",
    "SystemTime",
    "TypeId",
    "Vec",
    "VecDeque",
    "Weak",
    "Wrapping",
    "bool",
    "c_char",
    "c_double",
    "c_float",
    "c_int",
    "c_long",
    "c_uint",
    "c_ulong",
    "char",
    "f32",
    "f64",
    "i128",
    "i16",
    "i32",
    "i64",
    "i8",
    "isize",
    "str",
    "u128",
    "u16",
    "u32",
    "u64",
    "u8",
    "usize",
];

/// Types that a package defines, by name. If several have the same name, each may be meant.
pub(crate) struct Types<'a>(BTreeMap<&'a str, Vec<&'a Definition>>);

impl<'a> Types<'a> {
    pub(crate) fn of(definitions: impl Iterator<Item = &'a Definition>) -> Types<'a> {
        let mut types: BTreeMap<&str, Vec<&Definition>> = BTreeMap::new();
        for definition in definitions {
            types.entry(&definition.name).or_default().push(definition);
        }
        Types(types)
    }

    /// Returns the mutability of a type. A name of the package prevails over the same name of
    /// Rust's libraries. A type with an unknown name is `Unknown`. A name that a glob import may
    /// take from Rust's libraries is `Plain`, unless it is the name of a type there that changes or
    /// is initialized once.
    pub(crate) fn judge(&self, shape: &Shape) -> Mutability {
        self.judge_within(shape, &[], &mut BTreeSet::new())
    }

    fn judge_within<'b>(
        &'b self,
        shape: &'b Shape,
        parameters: &[String],
        seen: &mut BTreeSet<&'b str>,
    ) -> Mutability {
        let (name, arguments) = match shape {
            Shape::Pointer => return Mutability::Changes("a raw pointer".into()),
            Shape::Opaque(what) => return Mutability::Unknown((*what).into()),
            Shape::PerhapsRusts(name, _) if !is_shared(name) => return Mutability::Plain,
            Shape::Parts(parts) => return self.judge_all(parts, parameters, seen),
            Shape::Named(name, arguments)
            | Shape::Rusts(name, arguments)
            | Shape::PerhapsRusts(name, arguments) => (&**name, arguments),
        };
        let is_rusts = !matches!(shape, Shape::Named(..));
        let inner = self.judge_all(arguments, parameters, seen);
        if !is_rusts && parameters.iter().any(|parameter| parameter == name) {
            return inner;
        }
        if name == "Self" {
            // The definition is already being examined.
            return inner;
        }
        // Types of the package take precedence over others with the same name.
        let own = self.0.get(name).filter(|_| !is_rusts);
        if let Some(definitions) = own {
            if !seen.insert(name) {
                return inner;
            }
            return definitions.iter().fold(inner, |mutability, one| {
                mutability.with(self.judge_all(&one.parts, &one.parameters, seen))
            });
        }
        let own = match name {
            _ if CHANGES.contains(&name) || is_atomic(name) => {
                Mutability::Changes(format!("`{name}`"))
            }
            // It contains no value.
            "PhantomData" => return Mutability::Plain,
            "NonNull" => Mutability::Changes("a raw pointer".into()),
            _ if MADE_ONCE.contains(&name) => Mutability::MadeOnce,
            _ if PLAIN.contains(&name) || name.starts_with("NonZero") => Mutability::Plain,
            _ => Mutability::Unknown(format!("`{name}`")),
        };
        own.with(inner)
    }

    fn judge_all<'b>(
        &'b self,
        parts: &'b [Shape],
        parameters: &[String],
        seen: &mut BTreeSet<&'b str>,
    ) -> Mutability {
        let parts = parts
            .iter()
            .map(|part| self.judge_within(part, parameters, seen));
        parts.fold(Mutability::Plain, Mutability::with)
    }
}

/// Returns whether a type name of Rust's libraries stands for values that change or are initialized
/// once.
fn is_shared(name: &str) -> bool {
    CHANGES.contains(&name) || MADE_ONCE.contains(&name) || is_atomic(name)
}

/// Returns whether a name has the form of `AtomicUsize`: `Atomic` and then an ASCII capital letter.
fn is_atomic(name: &str) -> bool {
    name.strip_prefix("Atomic")
        .is_some_and(|of| of.starts_with(|c: char| c.is_ascii_uppercase()))
}
