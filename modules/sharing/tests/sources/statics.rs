//! Statics of all forms.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, LazyLock, Mutex, Mutex as Lock, Once, OnceLock, RwLock, mpsc};

// Plain data is equivalent to a constant.
const NEVER: AtomicUsize = AtomicUsize::new(0);
static COUNT: usize = 3;
static NAME: &str = "ring";
static NAMES: &'static [&'static str] = &["a", "b"];
static TABLE: [[f64; 3]; 3] = [[0.0; 3]; 3];
static PAIR: (u8, Option<char>) = (1, None);
static FUNCTION: fn(u8) -> u8 = next;
static LONG: core::time::Duration = core::time::Duration::ZERO;
static NONE: Option<&HashMap<String, Vec<u8>>> = None;

// Types that can change behind a shared reference.
static mut SLOPPY: usize = 0; //~ G0801
static CALLS: AtomicUsize = AtomicUsize::new(0); //~ G0801
pub static LISTS: Mutex<Vec<u8>> = Mutex::new(Vec::new()); //~ G0801
static RENAMED: Lock<u8> = Lock::new(0); //~ G0801
static MANY: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)]; //~ G0801
static WHOLE: std::sync::RwLock<()> = RwLock::new(()); //~ G0801
static SHARED: LazyLock<Mutex<u8>> = LazyLock::new(Mutex::default); //~ G0801
static WITHIN: Option<Arc<Mutex<u8>>> = None; //~ G0801
static r#type: AtomicUsize = AtomicUsize::new(0); //~ G0801

// Types that are initialized once.
static CONFIGURATION: OnceLock<String> = OnceLock::new(); //~ G0803
static PATTERN: LazyLock<Regex> = LazyLock::new(|| Regex::new("a").unwrap()); //~ G0803
static START: Once = Once::new(); //~ G0803

// Types of this package are examined.
struct Plain {
    name: &'static str,
    next: Option<Box<Plain>>,
}
struct Counter {
    name: &'static str,
    calls: Cell<usize>,
}
struct Pointing(*const u8);
enum Choice {
    One(u8),
    Other { counter: Counter },
}
struct Holder<T> {
    held: T,
}
type Total = AtomicUsize;
type Text = &'static str;
static OWN: Plain = Plain { name: "a", next: None };
static COUNTER: Counter = Counter { name: "a", calls: Cell::new(0) }; //~ G0801
static POINTING: Pointing = Pointing(std::ptr::null()); //~ G0801
static CHOICE: Choice = Choice::One(1); //~ G0801
static HELD: Holder<u8> = Holder { held: 1 };
static HELD_CELL: Holder<RefCell<u8>> = Holder { held: RefCell::new(1) }; //~ G0801
static TOTAL: Total = Total::new(0); //~ G0801
static TEXT: Text = "a";

// Types of other packages are not examined.
static FOREIGN: other::Thing = other::Thing::new(); //~ G0805
static THINGS: &[other::Thing] = &[]; //~ G0805
static DYNAMIC: &(dyn Fn() -> u8 + Sync) = &|| 1; //~ G0805

extern "C" {
    static mut errno: i32; //~ G0801
    static version: i32; //~ G0805
}

// Statics in functions and modules.
fn next(n: u8) -> u8 {
    static NEXT: AtomicUsize = AtomicUsize::new(0); //~ G0801
    static STEP: u8 = 1;
    let closure = || {
        static INNER: Mutex<u8> = Mutex::new(0); //~ G0801
    };
    n + STEP
}

impl Plain {
    fn number() -> usize {
        static NUMBER: AtomicUsize = AtomicUsize::new(0); //~ G0801
        NUMBER.load(Relaxed)
    }
}

mod inner {
    pub(crate) static INNER: super::RefCell<u8> = super::RefCell::new(0); //~ G0801
}

#[cfg(test)]
mod tests {
    static TESTED: super::AtomicUsize = super::AtomicUsize::new(0); //~ G0801
}

// Names are resolved by module and block.
mod grid {
    pub struct Mutex(u8);
    pub struct Cell {
        alive: bool,
    }
    static OWN: Mutex = Mutex(0);
    static RUSTS: std::sync::Mutex<u8> = std::sync::Mutex::new(0); //~ G0801

    fn counts() {
        use core::cell::Cell as C;
        static COUNTS: C<u8> = C::new(0); //~ G0801
    }

    fn cells() {
        use crate::grid::Cell as C;
        static CELLS: C = C { alive: true };
    }

    mod all {
        use std::sync::*;
        static BY_GLOB: Mutex<u8> = Mutex::new(0); //~ G0801
    }
}
// `Mutex` of `std`, not of `grid`.
static AS_USED: Mutex<u8> = Mutex::new(0); //~ G0801

struct Chain {
    next: Option<&'static Self>,
}
static CHAIN: Chain = Chain { next: None };
struct Tagged(std::marker::PhantomData<*const std::cell::Cell<u8>>);
static TAGGED: Tagged = Tagged(std::marker::PhantomData);
static ASSOCIATED: <u8 as Trait>::Type = 1; //~ G0805

// Statics in constants, types and traits.
const CLOSURE: fn() = || {
    static IN_CONSTANT: Mutex<u8> = Mutex::new(0); //~ G0801
};
type Array = [u8; {
    static IN_TYPE: Mutex<u8> = Mutex::new(0); //~ G0801
    3
}];
trait Trait {
    fn given() {
        static IN_TRAIT: Mutex<u8> = Mutex::new(0); //~ G0801
    }
}

unsafe extern "C" {
    pub safe static stdin_lines: i32; //~ G0805
    pub safe static mut environ: *mut u8; //~ G0801
    safe fn abs(of: i32) -> i32;
}
