//! Standard streams of C++ (`std::cout` and others), of which each rank has its own.
//!
//! The streams of a rank are constructed when its program is loaded, in the way of the GNU C++
//! library, but for the standard streams of C of this rank. They have no buffer, so that output of
//! C and of C++ keeps its order. A program that contains that library has its own streams already.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use super::variables::{Variable, Variables};
use crate::rank::{self, Part, Rank, Slot};

/// A stream of C++.
struct Kind {
    name: &'static [u8],
    /// The stream of C that it writes to or reads from.
    variable: Variable,
    is_wide: bool,
    /// Index of the stream that is flushed before each operation of this one, if any.
    tie: Option<usize>,
}

const COUNT: usize = 8;

const KINDS: [Kind; COUNT] = [
    kind(b"_ZSt4cout", Variable::Stdout, false, None),
    kind(b"_ZSt5wcout", Variable::Stdout, true, None),
    kind(b"_ZSt4cerr", Variable::Stderr, false, Some(0)),
    kind(b"_ZSt5wcerr", Variable::Stderr, true, Some(1)),
    kind(b"_ZSt4clog", Variable::Stderr, false, None),
    kind(b"_ZSt5wclog", Variable::Stderr, true, None),
    kind(b"_ZSt3cin", Variable::Stdin, false, Some(0)),
    kind(b"_ZSt4wcin", Variable::Stdin, true, Some(1)),
];

const fn kind(name: &'static [u8], variable: Variable, is_wide: bool, tie: Option<usize>) -> Kind {
    Kind {
        name,
        variable,
        is_wide,
        tie,
    }
}

/// Size of a `std::istream` in words. A `std::ostream` is smaller.
const WORDS_OF_STREAM: usize = 35;

/// Size of a `__gnu_cxx::stdio_sync_filebuf` in words.
const WORDS_OF_BUFFER: usize = 10;

/// Word of the buffer with its `FILE`.
const FILE_OF_BUFFER: usize = 8;

/// Offsets of `std::ios_base` in `std::ostream` and in `std::istream`.
const BASE_OF_OUTPUT: usize = 8;
const BASE_OF_INPUT: usize = 16;

/// Offsets of the format flags, and of the states that are thrown, in `std::ios_base`.
const FLAGS: usize = 24;
const THROWN: usize = 28;

/// `std::ios_base::unitbuf`.
const FLUSH_EACH: c_int = 1 << 13;

/// Streams of C++ of a rank.
#[derive(Default)]
pub(crate) struct Iostreams {
    /// Addresses of streams that are in the program, which has copied them, or 0.
    elsewhere: [Cell<usize>; COUNT],
    /// Addresses of streams that are constructed, and the functions that flush them, or 0.
    constructed: [Cell<(usize, usize)>; COUNT],
    /// Whether the rank has asked for streams that are independent of C.
    is_independent: Cell<bool>,
}

impl Part for Iostreams {
    const SLOT: Slot = Slot::Iostreams;
}

/// Returns true for the name of a stream.
pub(super) fn is_stream(name: &CStr) -> bool {
    index(name).is_some()
}

fn index(name: &CStr) -> Option<usize> {
    let name = name.to_bytes();
    KINDS.iter().position(|kind| kind.name == name)
}

/// Uses the memory of a variable of the program for the stream of this name, if it is one.
pub(super) fn place(rank: &Rank, name: &CStr, address: usize) {
    if let Some(index) = index(name) {
        Iostreams::of(rank).elsewhere[index].set(address);
    }
}

/// Returns the address of the stream of this name, if the rank has its own. The first call
/// constructs it with functions of the C++ library, which `symbol` finds.
///
/// # Safety
/// `symbol` must return addresses of functions of these names, or `None`. The memory that was
/// passed to [`place`] must have the size of a stream.
pub(super) unsafe fn find(rank: &Rank, name: &CStr, symbol: Symbol<'_>) -> Option<usize> {
    let index = index(name)?;
    // SAFETY: guaranteed by the caller.
    unsafe { Iostreams::of(rank).stream(rank, index, symbol) }
}

/// Functions of the C++ library for one type of characters, by their names.
struct Names {
    construct_buffer: &'static CStr,
    construct_output: &'static CStr,
    construct_input: &'static CStr,
    tie: &'static CStr,
    flush: &'static CStr,
}

const BYTES: Names = Names {
    construct_buffer: c"_ZN9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEC1EP8_IO_FILE",
    construct_output: c"_ZNSoC1EPSt15basic_streambufIcSt11char_traitsIcEE",
    construct_input: c"_ZNSiC1EPSt15basic_streambufIcSt11char_traitsIcEE",
    tie: c"_ZNSt9basic_iosIcSt11char_traitsIcEE3tieEPSo",
    flush: c"_ZNSo5flushEv",
};

const WIDE: Names = Names {
    construct_buffer: c"_ZN9__gnu_cxx18stdio_sync_filebufIwSt11char_traitsIwEEC1EP8_IO_FILE",
    construct_output: c"_ZNSt13basic_ostreamIwSt11char_traitsIwEEC1EPSt15basic_streambufIwS1_E",
    construct_input: c"_ZNSt13basic_istreamIwSt11char_traitsIwEEC1EPSt15basic_streambufIwS1_E",
    tie: c"_ZNSt9basic_iosIwSt11char_traitsIwEE3tieEPSt13basic_ostreamIwS1_E",
    flush: c"_ZNSt13basic_ostreamIwSt11char_traitsIwEE5flushEv",
};

/// A member function with one argument, or a constructor.
type Member = unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void;

/// Finds functions of the C++ library by their names.
type Symbol<'a> = &'a dyn Fn(&CStr) -> Option<usize>;

impl Iostreams {
    /// Returns the address of a stream, and constructs it in the first call.
    ///
    /// # Safety
    /// As for [`find`].
    unsafe fn stream(&self, rank: &Rank, index: usize, symbol: Symbol<'_>) -> Option<usize> {
        let (address, _) = self.constructed[index].get();
        if address != 0 {
            return Some(address);
        }
        let kind = &KINDS[index];
        let names = if kind.is_wide { &WIDE } else { &BYTES };
        let is_input = matches!(kind.variable, Variable::Stdin);
        let (construct, base) = match is_input {
            true => (names.construct_input, BASE_OF_INPUT),
            false => (names.construct_output, BASE_OF_OUTPUT),
        };
        // SAFETY: the functions of these names have this type.
        let member = |name| unsafe { Some(std::mem::transmute::<usize, Member>(symbol(name)?)) };
        let (construct, tie) = (member(construct)?, member(names.tie)?);
        let flush = symbol(names.flush)?;
        let tied = match kind.tie {
            // SAFETY: guaranteed by the caller.
            Some(other) => unsafe { self.stream(rank, other, symbol)? },
            None => 0,
        };
        let construct_buffer = member(names.construct_buffer)?;
        let variables = Variables::of(rank);
        // The program may use its streams as long as it is loaded, which is for ever.
        let buffer = Box::leak(Box::new([0_u64; WORDS_OF_BUFFER])).as_mut_ptr();
        let object = match self.elsewhere[index].get() {
            0 => Box::leak(Box::new([0_u64; WORDS_OF_STREAM])).as_mut_ptr() as usize,
            address => address,
        };
        // SAFETY: the constructors get memory for their objects. `std::ios_base` is at this offset.
        unsafe {
            construct_buffer(buffer.cast(), *variables.at(kind.variable));
            construct(object as *mut c_void, buffer.cast());
            let base = (object + base) as *mut u8;
            tie(base.cast(), tied as *mut c_void);
            if matches!(kind.variable, Variable::Stderr) && tied != 0 {
                *base.add(FLAGS).cast::<c_int>() |= FLUSH_EACH;
            }
        }
        if is_input {
            variables.follow_input(buffer.wrapping_add(FILE_OF_BUFFER).cast());
        }
        self.constructed[index].set((object, if is_input { 0 } else { flush }));
        Some(object)
    }
}

/// Flushes the streams of the calling rank, to which it may have given other buffers. It must have
/// no values to drop, because a buffer may end the rank.
pub(super) fn flush() {
    while let Some((address, flush)) = take_constructed() {
        // SAFETY: this is an object of `std::ostream` and its function. It throws nothing.
        unsafe {
            let thrown = (address + BASE_OF_OUTPUT + THROWN) as *mut c_int;
            thrown.write(0);
            let flush = std::mem::transmute::<usize, Member>(flush);
            flush(address as *mut c_void, ptr::null_mut());
        }
    }
}

/// Takes an output stream of the calling rank, and the function that flushes it.
fn take_constructed() -> Option<(usize, usize)> {
    let rank = rank::current()?;
    let mut streams = Iostreams::of(&rank).constructed.iter().map(Cell::take);
    streams.find(|&(_, flush)| flush != 0)
}

/// Returns the function that replaces a function, or `None` if it is not replaced.
pub(super) fn replacement(name: &[u8]) -> Option<*const ()> {
    match name {
        b"_ZNSt8ios_base15sync_with_stdioEb" => Some(sync_with_stdio as *const ()),
        _ => None,
    }
}

/// `std::ios_base::sync_with_stdio`. The streams of a rank do not change. Returns the last
/// argument.
extern "C" fn sync_with_stdio(is_synchronized: bool) -> bool {
    match rank::current() {
        Some(rank) => !Iostreams::of(&rank)
            .is_independent
            .replace(!is_synchronized),
        None => true,
    }
}
