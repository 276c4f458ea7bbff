//! State of the C library of which each rank has its own: random numbers, tokens and destructors of
//! thread-local objects.

use std::cell::{Cell, OnceCell, RefCell, UnsafeCell};
use std::ffi::{c_char, c_double, c_int, c_long, c_uint, c_ushort, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use crate::rank::{self, Part, Slot};

/// State of the C library that belongs to a rank.
#[derive(Default)]
pub(super) struct Library {
    /// Position of `strtok`.
    token: Cell<*mut c_char>,
    random: OnceCell<Box<Random>>,
    drand: UnsafeCell<Drand>,
    /// Destructors of thread-local objects with their arguments, in the order of construction.
    pub(super) destructors: RefCell<Vec<(Destructor, *mut c_void)>>,
    /// Functions of `on_exit` with their arguments.
    pub(super) on_exit: RefCell<Vec<(OnExit, *mut c_void)>>,
    /// Functions of `at_quick_exit`.
    pub(super) at_quick_exit: RefCell<Vec<Destructor>>,
}

impl Part for Library {
    const SLOT: Slot = Slot::Library;
}

pub(super) type Destructor = unsafe extern "C" fn(*mut c_void);
pub(super) type OnExit = unsafe extern "C" fn(c_int, *mut c_void);

/// `struct random_data` of the C library, and the table that a program has at its start.
struct Random {
    data: UnsafeCell<[u64; 6]>,
    table: UnsafeCell<[u8; 128]>,
}

/// `struct drand48_data` of the C library. Zero is the state at the start of a program.
#[derive(Default)]
#[repr(C, align(8))]
struct Drand {
    x: [c_ushort; 3],
    old: [c_ushort; 3],
    others: [c_ushort; 2],
    a: u64,
}

unsafe extern "C" {
    fn strtok_r(text: *mut c_char, ends: *const c_char, at: *mut *mut c_char) -> *mut c_char;
    fn initstate_r(seed: c_uint, table: *mut c_char, size: usize, data: *mut u64) -> c_int;
    fn setstate_r(table: *mut c_char, data: *mut u64) -> c_int;
    fn srandom_r(seed: c_uint, data: *mut u64) -> c_int;
    fn random_r(data: *mut u64, result: *mut i32) -> c_int;
    fn erand48_r(x: *mut c_ushort, data: *mut Drand, result: *mut c_double) -> c_int;
    fn nrand48_r(x: *mut c_ushort, data: *mut Drand, result: *mut c_long) -> c_int;
    fn jrand48_r(x: *mut c_ushort, data: *mut Drand, result: *mut c_long) -> c_int;
    fn srand48_r(seed: c_long, data: *mut Drand) -> c_int;
    fn seed48_r(seed: *mut c_ushort, data: *mut Drand) -> c_int;
    fn lcong48_r(parameters: *mut c_ushort, data: *mut Drand) -> c_int;
}

/// Calls `f` with the state of the calling rank.
fn with<R>(f: impl FnOnce(&Library) -> R) -> R {
    f(Library::of(&rank::current_or_thread()))
}

/// Calls `f` with the random numbers of the calling rank.
fn random_with<R>(f: impl FnOnce(*mut u64) -> R) -> R {
    with(|library| {
        let random = library.random.get_or_init(|| {
            let random = Box::new(Random {
                data: UnsafeCell::new([0; 6]),
                table: UnsafeCell::new([0; 128]),
            });
            // SAFETY: the state is zero, and the table has 128 bytes and is not moved.
            unsafe { initstate_r(1, random.table.get().cast(), 128, random.data.get().cast()) };
            random
        });
        f(random.data.get().cast())
    })
}

/// Returns the address of the function that replaces a function, or `None` if it is not replaced.
pub(super) fn replacement(name: &[u8]) -> Option<*const ()> {
    Some(match name {
        b"strtok" => strtok as *const (),
        b"rand" => rand as *const (),
        b"random" => random as *const (),
        b"srand" | b"srandom" => srandom as *const (),
        b"initstate" => initstate as *const (),
        b"setstate" => setstate as *const (),
        b"drand48" => drand48 as *const (),
        b"erand48" => erand48 as *const (),
        b"lrand48" => lrand48 as *const (),
        b"nrand48" => nrand48 as *const (),
        b"mrand48" => mrand48 as *const (),
        b"jrand48" => jrand48 as *const (),
        b"srand48" => srand48 as *const (),
        b"seed48" => seed48 as *const (),
        b"lcong48" => lcong48 as *const (),
        _ => return None,
    })
}

unsafe extern "C" fn strtok(text: *mut c_char, ends: *const c_char) -> *mut c_char {
    with(|library| {
        if text.is_null() && library.token.get().is_null() {
            return ptr::null_mut();
        }
        // SAFETY: the caller passes strings, or continues with the last one.
        unsafe { strtok_r(text, ends, library.token.as_ptr()) }
    })
}

extern "C" fn random() -> c_long {
    if rank::current().is_none() {
        // All other threads share one sequence.
        // SAFETY: the function has no preconditions.
        return unsafe { libc::rand().into() };
    }
    let mut result = 0;
    // SAFETY: the state is initialized.
    random_with(|data| unsafe { random_r(data, &mut result) });
    result.into()
}

extern "C" fn rand() -> c_int {
    random() as c_int
}

extern "C" fn srandom(seed: c_uint) {
    if rank::current().is_none() {
        // SAFETY: the function has no preconditions.
        return unsafe { libc::srand(seed) };
    }
    // SAFETY: the state is initialized.
    random_with(|data| unsafe { srandom_r(seed, data) });
}

unsafe extern "C" fn initstate(seed: c_uint, table: *mut c_char, size: usize) -> *mut c_char {
    random_with(|data| {
        let before = table_of(data);
        // SAFETY: the caller passes a table of this size.
        match unsafe { initstate_r(seed, table, size, data) } {
            0 => before,
            _ => ptr::null_mut(),
        }
    })
}

unsafe extern "C" fn setstate(table: *mut c_char) -> *mut c_char {
    random_with(|data| {
        let before = table_of(data);
        // SAFETY: the caller passes a table of `initstate`.
        match unsafe { setstate_r(table, data) } {
            0 => before,
            _ => ptr::null_mut(),
        }
    })
}

/// Returns the table of random numbers, which begins one `int` before the third pointer.
fn table_of(data: *mut u64) -> *mut c_char {
    // SAFETY: the state has six words.
    (unsafe { *data.add(2) } as usize - size_of::<c_int>()) as *mut c_char
}

/// Defines a function that calls `$inner` with the state of the rank, and returns its result.
macro_rules! drand {
    ($($name:ident = $inner:ident ($($argument:ident)?) $type:ty;)*) => {$(
        unsafe extern "C" fn $name($($argument: *mut c_ushort)?) -> $type {
            with(|library| {
                let mut result: MaybeUninit<$type> = MaybeUninit::zeroed();
                let data = library.drand.get();
                // SAFETY: without an argument, the numbers of the rank are used.
                let x = unsafe { &raw mut (*data).x }.cast::<c_ushort>();
                $(let x = { let _ = x; $argument };)?
                // SAFETY: the state is valid, and the caller passes three numbers. Zero is a
                // result.
                unsafe {
                    $inner(x, data, result.as_mut_ptr());
                    result.assume_init()
                }
            })
        }
    )*};
}

drand! {
    drand48 = erand48_r() c_double;
    erand48 = erand48_r(x) c_double;
    lrand48 = nrand48_r() c_long;
    nrand48 = nrand48_r(x) c_long;
    mrand48 = jrand48_r() c_long;
    jrand48 = jrand48_r(x) c_long;
}

extern "C" fn srand48(seed: c_long) {
    // SAFETY: the state is valid.
    with(|library| unsafe { srand48_r(seed, library.drand.get()) });
}

unsafe extern "C" fn seed48(seed: *mut c_ushort) -> *mut c_ushort {
    with(|library| {
        let data = library.drand.get();
        // SAFETY: the caller passes three numbers. The state of the rank stays.
        unsafe {
            seed48_r(seed, data);
            (&raw mut (*data).old).cast()
        }
    })
}

unsafe extern "C" fn lcong48(parameters: *mut c_ushort) {
    // SAFETY: the caller passes seven numbers.
    with(|library| unsafe { lcong48_r(parameters, library.drand.get()) });
}
