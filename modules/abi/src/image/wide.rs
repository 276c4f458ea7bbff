//! Wide characters on the standard streams.
//!
//! The streams that all ranks share accept bytes only: the C library has no wide functions for
//! streams of `fopencookie`, and crashes. Text for them is converted here, as the locale says.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;
use std::slice;

use libc::{FILE, wchar_t};

use super::streams::{file, stream, with_list};
use super::variables::Variable;

/// `wint_t` of the C library.
type Wide = c_uint;

/// `WEOF`.
const END: Wide = Wide::MAX;

/// Functions of the C library.
mod c {
    use super::*;

    unsafe extern "C" {
        pub(super) fn fputwc(character: wchar_t, stream: *mut FILE) -> Wide;
        pub(super) fn fgetwc(stream: *mut FILE) -> Wide;
        pub(super) fn fputws(text: *const wchar_t, stream: *mut FILE) -> c_int;
        pub(super) fn fwide(stream: *mut FILE, mode: c_int) -> c_int;
        pub(super) fn wcslen(text: *const wchar_t) -> usize;
        pub(super) fn wcrtomb(bytes: *mut c_char, character: wchar_t, state: *mut u64) -> usize;
        pub(super) fn open_wmemstream(text: *mut *mut wchar_t, length: *mut usize) -> *mut FILE;
        pub(super) fn __vfwprintf_chk(
            stream: *mut FILE,
            flag: c_int,
            format: *const wchar_t,
            arguments: *mut c_void,
        ) -> c_int;
        pub(super) fn vfwscanf(
            stream: *mut FILE,
            format: *const wchar_t,
            arguments: *mut c_void,
        ) -> c_int;
        pub(super) fn __isoc99_vfwscanf(
            stream: *mut FILE,
            format: *const wchar_t,
            arguments: *mut c_void,
        ) -> c_int;
    }
}

/// Returns the function that replaces a function, or `None` if it is not replaced.
pub(super) fn replacement(name: &[u8]) -> Option<*const ()> {
    Some(match name {
        b"putwchar" | b"putwchar_unlocked" => putwchar as *const (),
        b"putwc" | b"putwc_unlocked" | b"fputwc" | b"fputwc_unlocked" => fputwc as *const (),
        b"fputws" | b"fputws_unlocked" => fputws as *const (),
        b"wprintf" => graphmap_wprintf as *const (),
        b"__wprintf_chk" => graphmap_wprintf_chk as *const (),
        b"vwprintf" => vwprintf as *const (),
        b"__vwprintf_chk" => vwprintf_chk as *const (),
        b"fwprintf" => graphmap_fwprintf as *const (),
        b"__fwprintf_chk" => graphmap_fwprintf_chk as *const (),
        b"vfwprintf" => vfwprintf as *const (),
        b"__vfwprintf_chk" => vfwprintf_chk as *const (),
        b"fwide" => fwide as *const (),
        b"getwchar" | b"getwchar_unlocked" => getwchar as *const (),
        b"wscanf" => graphmap_wscanf as *const (),
        b"__isoc99_wscanf" | b"__isoc23_wscanf" => graphmap_isoc99_wscanf as *const (),
        b"vwscanf" => vwscanf as *const (),
        b"__isoc99_vwscanf" | b"__isoc23_vwscanf" => isoc99_vwscanf as *const (),
        _ => return None,
    })
}

/// Writes wide characters to a stream. Returns the number of characters before the first one that
/// cannot be written.
///
/// # Safety
/// The stream must be open.
unsafe fn put(stream: *mut FILE, text: &[wchar_t]) -> usize {
    if let Some(file) = file(stream) {
        // SAFETY: guaranteed by the caller.
        let is_put = |&&character: &&wchar_t| unsafe { c::fputwc(character, file) } != END;
        return text.iter().take_while(is_put).count();
    }
    /// `MB_LEN_MAX` of the C library.
    const LONGEST: usize = 16;
    let (mut bytes, mut count, mut state) = (Vec::new(), 0, 0);
    for &character in text {
        let mut one = [0_u8; LONGEST];
        // SAFETY: the array has room for each character, and `mbstate_t` has 8 bytes.
        let length = unsafe { c::wcrtomb(one.as_mut_ptr().cast(), character, &mut state) };
        let Some(one) = one.get(..length) else { break };
        bytes.extend_from_slice(one);
        count += 1;
    }
    // SAFETY: guaranteed by the caller.
    let written = unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), stream) };
    match written == bytes.len() {
        true => count,
        false => 0,
    }
}

unsafe extern "C" fn fputwc(character: wchar_t, stream: *mut FILE) -> Wide {
    // SAFETY: guaranteed by the caller.
    match unsafe { put(stream, &[character]) } {
        1 => character as Wide,
        _ => END,
    }
}

extern "C" fn putwchar(character: wchar_t) -> Wide {
    // SAFETY: the variable is a stream.
    unsafe { fputwc(character, stream(Variable::Stdout)) }
}

unsafe extern "C" fn fputws(text: *const wchar_t, stream: *mut FILE) -> c_int {
    // SAFETY: the caller passes a string and a stream.
    unsafe {
        if let Some(file) = file(stream) {
            return c::fputws(text, file);
        }
        let text = slice::from_raw_parts(text, c::wcslen(text));
        match put(stream, text) == text.len() {
            true => 1,
            false => libc::EOF,
        }
    }
}

/// `fwide`. A stream that ranks share accepts both kinds of characters.
unsafe extern "C" fn fwide(stream: *mut FILE, mode: c_int) -> c_int {
    match file(stream) {
        // SAFETY: guaranteed by the caller.
        Some(file) => unsafe { c::fwide(file, mode) },
        None => mode,
    }
}

// Functions with a list of arguments.
unsafe extern "C" {
    fn graphmap_wprintf();
    fn graphmap_wprintf_chk();
    fn graphmap_fwprintf();
    fn graphmap_fwprintf_chk();
    fn graphmap_wscanf();
    fn graphmap_isoc99_wscanf();
}

with_list!("graphmap_wprintf", "1", "rsi", vwprintf);
with_list!("graphmap_wprintf_chk", "2", "rdx", vwprintf_chk);
with_list!("graphmap_fwprintf", "2", "rdx", vfwprintf);
with_list!("graphmap_fwprintf_chk", "3", "rcx", vfwprintf_chk);
with_list!("graphmap_wscanf", "1", "rsi", vwscanf);
with_list!("graphmap_isoc99_wscanf", "1", "rsi", isoc99_vwscanf);

unsafe extern "C" fn vwprintf(format: *const wchar_t, arguments: *mut c_void) -> c_int {
    // SAFETY: the caller passes arguments that fit the format.
    unsafe { vfwprintf_chk(stream(Variable::Stdout), 0, format, arguments) }
}

unsafe extern "C" fn vwprintf_chk(
    flag: c_int,
    format: *const wchar_t,
    arguments: *mut c_void,
) -> c_int {
    // SAFETY: the caller passes arguments that fit the format.
    unsafe { vfwprintf_chk(stream(Variable::Stdout), flag, format, arguments) }
}

unsafe extern "C" fn vfwprintf(
    stream: *mut FILE,
    format: *const wchar_t,
    arguments: *mut c_void,
) -> c_int {
    // SAFETY: the caller passes arguments that fit the format.
    unsafe { vfwprintf_chk(stream, 0, format, arguments) }
}

unsafe extern "C" fn vfwprintf_chk(
    stream: *mut FILE,
    flag: c_int,
    format: *const wchar_t,
    arguments: *mut c_void,
) -> c_int {
    // SAFETY: the caller passes arguments that fit the format. The text is valid until it is freed.
    unsafe {
        if let Some(file) = file(stream) {
            return c::__vfwprintf_chk(file, flag, format, arguments);
        }
        let (mut text, mut length) = (ptr::null_mut(), 0);
        let memory = c::open_wmemstream(&mut text, &mut length);
        if memory.is_null() {
            return -1;
        }
        let count = c::__vfwprintf_chk(memory, flag, format, arguments);
        if libc::fclose(memory) != 0 || text.is_null() {
            return -1;
        }
        let written = put(stream, slice::from_raw_parts(text, length));
        libc::free(text.cast());
        match written == length {
            true => count,
            false => -1,
        }
    }
}

extern "C" fn getwchar() -> Wide {
    // SAFETY: the variable is a stream.
    unsafe { c::fgetwc(stream(Variable::Stdin)) }
}

unsafe extern "C" fn vwscanf(format: *const wchar_t, arguments: *mut c_void) -> c_int {
    // SAFETY: the caller passes arguments that fit the format.
    unsafe { c::vfwscanf(stream(Variable::Stdin), format, arguments) }
}

unsafe extern "C" fn isoc99_vwscanf(format: *const wchar_t, arguments: *mut c_void) -> c_int {
    // SAFETY: the caller passes arguments that fit the format.
    unsafe { c::__isoc99_vfwscanf(stream(Variable::Stdin), format, arguments) }
}
