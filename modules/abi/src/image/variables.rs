//! Variables of the C library of which each rank has its own.
//!
//! A program refers to them by their addresses, so each copy of it gets other addresses.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::CStr;

use libc::FILE;

use crate::rank::{Part, Slot};

/// Names of the variables.
#[derive(Debug, Clone, Copy)]
pub(super) enum Variable {
    Stdin,
    Stdout,
    Stderr,
    Optarg,
    Optind,
    Opterr,
    Optopt,
}

const COUNT: usize = Variable::Optopt as usize + 1;

const NAMES: [&[u8]; COUNT] = [
    b"stdin", b"stdout", b"stderr", b"optarg", b"optind", b"opterr", b"optopt",
];

/// Variables of a rank. Each is a pointer or an `int`.
pub(crate) struct Variables {
    own: [UnsafeCell<u64>; COUNT],
    /// Addresses of variables that are in the program instead, or 0.
    elsewhere: [Cell<usize>; COUNT],
    /// Further pointers to the standard input.
    inputs: RefCell<Vec<*mut *mut FILE>>,
}

impl Default for Variables {
    fn default() -> Self {
        Variables {
            own: std::array::from_fn(|_| UnsafeCell::new(0)),
            elsewhere: Default::default(),
            inputs: RefCell::default(),
        }
    }
}

impl Part for Variables {
    const SLOT: Slot = Slot::Variables;
}

impl Variables {
    /// Returns the address of a variable. `T` must be the type of the variable.
    pub(super) fn at<T>(&self, variable: Variable) -> *mut T {
        match self.elsewhere[variable as usize].get() {
            0 => self.own[variable as usize].get().cast(),
            address => address as *mut T,
        }
    }

    /// Makes a pointer follow the standard input when the rank opens another file as such. It must
    /// be valid as long as the program is loaded.
    pub(super) fn follow_input(&self, input: *mut *mut FILE) {
        self.inputs.borrow_mut().push(input);
    }

    /// Sets the standard input.
    pub(super) fn set_input(&self, file: *mut FILE) {
        let first = self.at(Variable::Stdin);
        for input in self.inputs.borrow().iter().copied().chain([first]) {
            // SAFETY: the pointers are valid, and the rank is not using them.
            unsafe { input.write(file) };
        }
    }

    /// Returns the address of the variable of this name, if the rank has its own.
    pub(crate) fn find(&self, name: &CStr) -> Option<usize> {
        let index = NAMES.iter().position(|other| *other == name.to_bytes())?;
        let own = self.own[index].get() as usize;
        let elsewhere = self.elsewhere[index].get();
        Some(if elsewhere == 0 { own } else { elsewhere })
    }

    /// Uses a variable of the program as the variable of this name, and copies the value there.
    ///
    /// # Safety
    /// If a variable has this name, `size` bytes of the program that nothing else uses meanwhile
    /// must be at the address.
    pub(crate) unsafe fn place(&self, name: &CStr, address: usize, size: usize) {
        let index = NAMES.iter().position(|other| *other == name.to_bytes());
        let Some(index) = index else { return };
        self.elsewhere[index].set(address);
        let own = self.own[index].get().cast::<u8>();
        // SAFETY: guaranteed by the caller. The own variable has 8 bytes.
        unsafe { own.copy_to(address as *mut u8, size.min(size_of::<u64>())) };
    }
}
