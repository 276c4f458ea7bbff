//! Functions for the standard streams, which are private to each rank.
//!
//! The variables `stdin`, `stdout` and `stderr` belong to the rank. At first, `stdout` and `stderr`
//! are streams that all ranks share, and whose output has a destination for each rank. Only rank 0
//! reads the standard input of the OS process, as launchers of MPI provide it. The input of all
//! other ranks is empty.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use libc::{EOF, FILE};

use super::variables::{Variable, Variables};
use crate::output::{Destination, Lines, Output};
use crate::rank::{self, Part as _, Rank};

unsafe extern "C" {
    #[link_name = "stdin"]
    static mut SHARED_INPUT: *mut FILE;
    fn vfprintf(stream: *mut FILE, format: *const c_char, arguments: *mut c_void) -> c_int;
    fn __vfprintf_chk(
        stream: *mut FILE,
        flag: c_int,
        format: *const c_char,
        arguments: *mut c_void,
    ) -> c_int;
    fn vfscanf(stream: *mut FILE, format: *const c_char, arguments: *mut c_void) -> c_int;
    fn __isoc99_vfscanf(stream: *mut FILE, format: *const c_char, arguments: *mut c_void) -> c_int;
}

/// Returns the function that replaces a function, or `None` if it is not replaced.
pub(super) fn replacement(name: &[u8]) -> Option<*const ()> {
    Some(match name {
        b"printf" => graphmap_printf as *const (),
        b"__printf_chk" => graphmap_printf_chk as *const (),
        b"vprintf" => vprintf as *const (),
        b"__vprintf_chk" => vprintf_chk as *const (),
        b"puts" => puts as *const (),
        b"putchar" | b"putchar_unlocked" => putchar as *const (),
        b"perror" => perror as *const (),
        b"scanf" => graphmap_scanf as *const (),
        b"__isoc99_scanf" | b"__isoc23_scanf" => graphmap_isoc99_scanf as *const (),
        b"vscanf" => vscanf as *const (),
        b"__isoc99_vscanf" | b"__isoc23_vscanf" => isoc99_vscanf as *const (),
        b"getchar" | b"getchar_unlocked" => getchar as *const (),
        b"setvbuf" => setvbuf as *const (),
        b"setbuf" => setbuf as *const (),
        b"setbuffer" => setbuffer as *const (),
        b"setlinebuf" => setlinebuf as *const (),
        b"freopen" | b"freopen64" => freopen as *const (),
        b"fclose" => fclose as *const (),
        b"fflush" | b"fflush_unlocked" => fflush as *const (),
        b"fileno" | b"fileno_unlocked" => fileno as *const (),
        _ => return None,
    })
}

/// Sets the standard streams of a rank that begins.
pub(crate) fn begin(rank: &Rank) {
    let variables = Variables::of(rank);
    let input = match rank.number() {
        0 => shared_input(),
        _ => empty_input(),
    };
    let streams = [
        (Variable::Stdin, input),
        (Variable::Stdout, Output::Standard.stream()),
        (Variable::Stderr, Output::Error.stream()),
    ];
    for (variable, stream) in streams {
        // SAFETY: the variable is a pointer, and the program does not run yet.
        unsafe { variables.at::<*mut FILE>(variable).write(stream) };
    }
}

fn shared_input() -> *mut FILE {
    // SAFETY: the variable is not assigned in this OS process.
    unsafe { SHARED_INPUT }
}

/// Returns a stream without bytes, which all ranks share.
fn empty_input() -> *mut FILE {
    static EMPTY: OnceLock<usize> = OnceLock::new();
    // SAFETY: the arguments are strings.
    let open = || unsafe { libc::fopen(c"/dev/null".as_ptr(), c"re".as_ptr()) as usize };
    match *EMPTY.get_or_init(open) {
        0 => shared_input(),
        stream => stream as *mut FILE,
    }
}

/// Returns a standard stream of the calling rank. A thread that is not a rank has those of the C
/// library.
pub(super) fn stream(variable: Variable) -> *mut FILE {
    match rank::current() {
        // SAFETY: the variable is a pointer.
        Some(rank) => unsafe { *Variables::of(&rank).at(variable) },
        None => match variable {
            Variable::Stdin => shared_input(),
            Variable::Stderr => Output::Error.stream(),
            _ => Output::Standard.stream(),
        },
    }
}

/// Writes bytes to the standard error of the calling rank.
pub(super) fn report(bytes: &[u8]) {
    // SAFETY: the variable is a stream. Errors of this stream cannot be reported.
    unsafe {
        libc::fwrite(
            bytes.as_ptr().cast(),
            1,
            bytes.len(),
            stream(Variable::Stderr),
        )
    };
}

// Functions with a list of arguments, in assembly: they pass the list to the next function, behind
// the fixed arguments.
unsafe extern "C" {
    fn graphmap_printf();
    fn graphmap_printf_chk();
    fn graphmap_scanf();
    fn graphmap_isoc99_scanf();
}

/// Defines a function that passes its arguments behind the first `$fixed` as a `va_list` to
/// `$target`. `$list` is the register of the list.
macro_rules! with_list {
    ($name:literal, $fixed:literal, $list:literal, $target:path) => {
        #[cfg(target_arch = "x86_64")]
        std::arch::global_asm!(
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            ".cfi_startproc",
            "sub rsp, 216",
            ".cfi_adjust_cfa_offset 216",
            // The list is at 8, and the registers are at 32.
            "mov [rsp + 32], rdi",
            "mov [rsp + 40], rsi",
            "mov [rsp + 48], rdx",
            "mov [rsp + 56], rcx",
            "mov [rsp + 64], r8",
            "mov [rsp + 72], r9",
            "test al, al",
            "je 2f",
            "movaps [rsp + 80], xmm0",
            "movaps [rsp + 96], xmm1",
            "movaps [rsp + 112], xmm2",
            "movaps [rsp + 128], xmm3",
            "movaps [rsp + 144], xmm4",
            "movaps [rsp + 160], xmm5",
            "movaps [rsp + 176], xmm6",
            "movaps [rsp + 192], xmm7",
            "2:",
            concat!("mov dword ptr [rsp + 8], 8 * ", $fixed),
            "mov dword ptr [rsp + 12], 48",
            "lea rax, [rsp + 224]",
            "mov [rsp + 16], rax",
            "lea rax, [rsp + 32]",
            "mov [rsp + 24], rax",
            concat!("lea ", $list, ", [rsp + 8]"),
            "call {target}",
            "add rsp, 216",
            ".cfi_adjust_cfa_offset -216",
            "ret",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            target = sym $target,
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::global_asm!(
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", %function"),
            concat!($name, ":"),
            ".cfi_startproc",
            "stp x29, x30, [sp, #-240]!",
            ".cfi_def_cfa_offset 240",
            ".cfi_offset 29, -240",
            ".cfi_offset 30, -232",
            "mov x29, sp",
            // General registers are at 16, vector registers at 80, and the list is at 208.
            "stp x0, x1, [sp, #16]",
            "stp x2, x3, [sp, #32]",
            "stp x4, x5, [sp, #48]",
            "stp x6, x7, [sp, #64]",
            "stp q0, q1, [sp, #80]",
            "stp q2, q3, [sp, #112]",
            "stp q4, q5, [sp, #144]",
            "stp q6, q7, [sp, #176]",
            "add x9, sp, #240",
            "str x9, [sp, #208]",
            "add x9, sp, #80",
            "str x9, [sp, #216]",
            "add x9, sp, #208",
            "str x9, [sp, #224]",
            concat!("mov w9, #-(64 - 8 * ", $fixed, ")"),
            "str w9, [sp, #232]",
            "mov w9, #-128",
            "str w9, [sp, #236]",
            concat!("add x", $fixed, ", sp, #208"),
            "bl {target}",
            "ldp x29, x30, [sp], #240",
            ".cfi_def_cfa_offset 0",
            "ret",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            target = sym $target,
        );
    };
}

pub(super) use with_list;

with_list!("graphmap_printf", "1", "rsi", vprintf);
with_list!("graphmap_printf_chk", "2", "rdx", vprintf_chk);
with_list!("graphmap_scanf", "1", "rsi", vscanf);
with_list!("graphmap_isoc99_scanf", "1", "rsi", isoc99_vscanf);

unsafe extern "C" fn vprintf(format: *const c_char, arguments: *mut c_void) -> c_int {
    // SAFETY: the caller passes arguments that fit the format.
    unsafe { vfprintf(stream(Variable::Stdout), format, arguments) }
}

unsafe extern "C" fn vprintf_chk(
    flag: c_int,
    format: *const c_char,
    arguments: *mut c_void,
) -> c_int {
    // SAFETY: the caller passes arguments that fit the format.
    unsafe { __vfprintf_chk(stream(Variable::Stdout), flag, format, arguments) }
}

unsafe extern "C" fn vscanf(format: *const c_char, arguments: *mut c_void) -> c_int {
    // SAFETY: the caller passes arguments that fit the format.
    unsafe { vfscanf(stream(Variable::Stdin), format, arguments) }
}

unsafe extern "C" fn isoc99_vscanf(format: *const c_char, arguments: *mut c_void) -> c_int {
    // SAFETY: the caller passes arguments that fit the format.
    unsafe { __isoc99_vfscanf(stream(Variable::Stdin), format, arguments) }
}

unsafe extern "C" fn puts(text: *const c_char) -> c_int {
    let stream = stream(Variable::Stdout);
    // SAFETY: the caller passes a string.
    unsafe {
        match libc::fputs(text, stream) {
            EOF => EOF,
            _ => libc::fputc(b'\n'.into(), stream),
        }
    }
}

extern "C" fn putchar(character: c_int) -> c_int {
    // SAFETY: the variable is a stream.
    unsafe { libc::fputc(character, stream(Variable::Stdout)) }
}

unsafe extern "C" fn perror(text: *const c_char) {
    // SAFETY: the caller passes a string or null.
    unsafe {
        let why = libc::strerror(*libc::__errno_location());
        let mut line = Vec::new();
        if !text.is_null() && *text != 0 {
            line.extend_from_slice(std::ffi::CStr::from_ptr(text).to_bytes());
            line.extend_from_slice(b": ");
        }
        line.extend_from_slice(std::ffi::CStr::from_ptr(why).to_bytes());
        line.push(b'\n');
        report(&line);
    }
}

extern "C" fn getchar() -> c_int {
    // SAFETY: the variable is a stream.
    unsafe { libc::fgetc(stream(Variable::Stdin)) }
}

/// Returns the stream to which operations on a stream apply, for the calling rank: the destination
/// of a shared stream. Returns `None` if the stream is shared by all ranks.
fn own(stream: *mut FILE) -> Option<*mut FILE> {
    if stream == empty_input() {
        return None;
    }
    let Some(output) = Output::of(stream) else {
        return Some(stream);
    };
    let rank = rank::current()?;
    match Lines::of(&rank).destination(output) {
        Destination::File(file) => Some(file),
        Destination::Shared | Destination::Closed => None,
    }
}

/// Returns the stream of the C library to which operations on a stream apply, for the calling rank.
/// Returns `None` if the stream is output that all ranks share.
pub(super) fn file(stream: *mut FILE) -> Option<*mut FILE> {
    match own(stream) {
        None if Output::of(stream).is_some() => None,
        None => Some(stream),
        own => own,
    }
}

/// `setvbuf`. The buffer of a stream that ranks share stays, because output is collected for each
/// rank.
unsafe extern "C" fn setvbuf(
    stream: *mut FILE,
    buffer: *mut c_char,
    mode: c_int,
    size: usize,
) -> c_int {
    match own(stream) {
        // SAFETY: guaranteed by the caller.
        Some(stream) => unsafe { libc::setvbuf(stream, buffer, mode, size) },
        None => 0,
    }
}

unsafe extern "C" fn setbuf(stream: *mut FILE, buffer: *mut c_char) {
    // SAFETY: guaranteed by the caller.
    unsafe { setbuffer(stream, buffer, libc::BUFSIZ as usize) }
}

unsafe extern "C" fn setbuffer(stream: *mut FILE, buffer: *mut c_char, size: usize) {
    let mode = if buffer.is_null() {
        libc::_IONBF
    } else {
        libc::_IOFBF
    };
    // SAFETY: guaranteed by the caller.
    unsafe { setvbuf(stream, buffer, mode, size) };
}

unsafe extern "C" fn setlinebuf(stream: *mut FILE) {
    // SAFETY: guaranteed by the caller.
    unsafe { setvbuf(stream, ptr::null_mut(), libc::_IOLBF, 0) };
}

/// `freopen`. A standard stream that ranks share keeps its address, and gets another destination.
unsafe extern "C" fn freopen(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut FILE,
) -> *mut FILE {
    let output = Output::of(stream);
    let current = rank::current();
    let (Some(rank), true) = (current, output.is_some() || stream == empty_input()) else {
        // SAFETY: guaranteed by the caller.
        return unsafe { libc::freopen(path, mode, stream) };
    };
    if path.is_null() {
        // Only the mode changes, and these streams have all modes.
        return stream;
    }
    // SAFETY: the caller passes strings.
    let file = unsafe { libc::fopen(path, mode) };
    let Some(output) = output else {
        if !file.is_null() {
            Variables::of(&rank).set_input(file);
        }
        return file;
    };
    let _ = close(&rank, output);
    if file.is_null() {
        return ptr::null_mut();
    }
    if output == Output::Error {
        // SAFETY: the stream was just opened.
        unsafe { libc::setvbuf(file, ptr::null_mut(), libc::_IONBF, 0) };
    }
    Lines::of(&rank).direct(output, Destination::File(file));
    stream
}

/// Closes a standard stream of a rank. Returns the result of `fclose`.
fn close(rank: &Rank, output: Output) -> c_int {
    let lines = Lines::of(rank);
    let before = lines.destination(output);
    lines.direct(output, Destination::Closed);
    match before {
        // SAFETY: the destination is an open file, which only the rank uses.
        Destination::File(file) => unsafe { libc::fclose(file) },
        Destination::Shared if output == Output::Standard => {
            lines.flush(rank.number());
            0
        }
        Destination::Shared => 0,
        Destination::Closed => EOF,
    }
}

unsafe extern "C" fn fclose(stream: *mut FILE) -> c_int {
    match (Output::of(stream), rank::current()) {
        (Some(output), Some(rank)) => close(&rank, output),
        (Some(_), None) => 0,
        // Other ranks use these streams.
        (None, _) if stream == empty_input() || stream == shared_input() => 0,
        // SAFETY: guaranteed by the caller.
        (None, _) => unsafe { libc::fclose(stream) },
    }
}

unsafe extern "C" fn fflush(stream: *mut FILE) -> c_int {
    match own(stream) {
        // SAFETY: guaranteed by the caller.
        Some(stream) => unsafe { libc::fflush(stream) },
        None => 0,
    }
}

unsafe extern "C" fn fileno(stream: *mut FILE) -> c_int {
    match (own(stream), Output::of(stream)) {
        (None, Some(output)) => output.descriptor(),
        (None, None) => libc::STDIN_FILENO,
        // SAFETY: guaranteed by the caller.
        (Some(stream), _) => unsafe { libc::fileno(stream) },
    }
}
