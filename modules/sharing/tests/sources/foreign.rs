//! Code of other languages, and generated code.

use std::ffi::{c_char, c_int, c_uint, c_void};

unsafe extern "C" {
    fn srand(seed: c_uint); //~ G0804
    fn rand() -> c_int; //~ G0804
    safe fn chdir(path: *const c_char) -> c_int; //~ G0804
    fn strtok(text: *mut c_char, by: *const c_char) -> *mut c_char; //~ G0804
    fn exit(code: c_int) -> !; //~ G0804
    #[link_name = "getpid"]
    fn me() -> c_int; //~ G0804
    fn sleep(seconds: c_uint) -> c_uint; //~ G0809
    fn strlen(text: *const c_char) -> usize;
    static mut optind: c_int; //~ G0801
}

#[link(name = "solver")]
unsafe extern "C" { //~ G0811
    fn solve_(n: *const c_int, a: *mut f64);
    fn sqrt(of: f64) -> f64;
    fn residual_() -> f64;
}

extern "system" { //~ G0811
    fn Start();
}

unsafe extern "Rust" {
    fn rust();
}

#[cxx::bridge]
mod bridge {
    unsafe extern "C++" { //~ G0811
        fn step(of: &mut Grid);
    }
    extern "Rust" {
        fn back();
    }
}

extern "C" fn callback(of: *mut c_void) {}

fn calls() {
    libc::srand(7); //~ G0804
    let a = libc::rand(); //~ G0804
    let t = libc::localtime(&0); //~ G0804
    let t = libc::localtime_r(&0, &mut t);
    srand(1);
}

include!(concat!(env!("OUT_DIR"), "/bindings.rs")); //~ G0812

mod made {
    include!(env!("BINDINGS")); //~ G0812
}
