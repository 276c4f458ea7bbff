//! Macros with known and with unknown expansions.

use std::cell::{Cell, RefCell};

thread_local! {
    /// How deep it is.
    static DEPTH: Cell<usize> = const { Cell::new(0) }; //~ G0802
    pub(crate) static BUFFER: RefCell<Vec<u8>> = RefCell::new(Vec::new()); //~ G0802
    static NUMBER: u32 = number(); //~ G0802
    static PLAIN: u32 = 3;
    static CONSTANT: u32 = const { 1 + 2 }
}

std::thread_local!(static ALONE: Cell<u8> = Cell::new(0)); //~ G0802

lazy_static! {
    static ref LIST: Vec<u8> = vec![1]; //~ G0803
    pub static ref LOCKED: std::sync::Mutex<u8> = std::sync::Mutex::new(0); //~ G0801
}

lazy_static::lazy_static!(static ref TEXT: String = String::new();); //~ G0803

macro_rules! counter {
    ($name:ident) => {
        static $name: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0); //~ G0805
    };
}

macro_rules! text {
    ($name:ident) => {
        const $name: &'static str = "";
    };
}

counter!(ONE); //~ G0807

static MADE: type_of!(1) = 1; //~ G0805

cfg_if::cfg_if! {
    if #[cfg(unix)] {
        static UNIX: Cell<u8> = Cell::new(0); //~ G0801
    } else if #[cfg(windows)] {
        static WINDOWS: u8 = 0;
    } else {
    }
}

// The macro may remove the module, so the file may be missing.
maybe! {
    mod nowhere;
}

fn known() {
    println!("{}", std::process::id()); //~ G0804
    assert_eq!(1, 1, "{}", {
        static CALLS: Cell<u8> = Cell::new(0); //~ G0801
        1
    });
    let a = vec![std::process::id(); 3]; //~ G0804
    let b = matches!(std::process::id(), 1 | 2); //~ G0804
    let c = include_str!("macros.rs");
}

fn unknown() {
    within! {
        static HERE: Cell<u8> = Cell::new(0); //~ G0801
        std::process::exit(1); //~ G0804
    }
    html!(<a href="b">c</a>);
}
