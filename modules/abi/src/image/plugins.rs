//! `dlopen` and its companions, so that a program finds its own symbols and its own copies of
//! libraries.

use std::cell::RefCell;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use super::load::{Arguments, Image};
use super::own::OwnImage;
use crate::rank::{self, Part as _};

thread_local! {
    /// Error that the next call of `dlerror` returns, and the one that it has returned.
    static ERROR: RefCell<(Option<CString>, CString)> = RefCell::default();
}

/// Returns the function that replaces a function, or `None` if it is not replaced.
pub(super) fn replacement(name: &[u8]) -> Option<*const ()> {
    Some(match name {
        b"dlopen" => graphmap_dlopen as *const (),
        b"dlsym" => dlsym as *const (),
        b"dlclose" => dlclose as *const (),
        b"dlerror" => dlerror as *const (),
        _ => return None,
    })
}

fn own_image() -> Option<&'static Image> {
    OwnImage::of(&*rank::current()?).0.get()
}

unsafe extern "C" {
    fn graphmap_dlopen();
}

// `dlopen` of the C library searches for the libraries that its caller needs. Therefore it is
// called with the return address of the program.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl graphmap_dlopen",
    ".hidden graphmap_dlopen",
    ".type graphmap_dlopen, @function",
    "graphmap_dlopen:",
    ".cfi_startproc",
    "push rdi",
    ".cfi_adjust_cfa_offset 8",
    "push rsi",
    ".cfi_adjust_cfa_offset 8",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "call {open}",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "pop rsi",
    ".cfi_adjust_cfa_offset -8",
    "pop rdi",
    ".cfi_adjust_cfa_offset -8",
    "cmp rax, -1",
    "je 2f",
    "ret",
    "2:",
    "jmp {dlopen}@PLT",
    ".cfi_endproc",
    ".size graphmap_dlopen, . - graphmap_dlopen",
    open = sym open,
    dlopen = sym libc::dlopen,
);
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".globl graphmap_dlopen",
    ".hidden graphmap_dlopen",
    ".type graphmap_dlopen, %function",
    "graphmap_dlopen:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-32]!",
    ".cfi_def_cfa_offset 32",
    ".cfi_offset 29, -32",
    ".cfi_offset 30, -24",
    "mov x29, sp",
    "stp x0, x1, [sp, #16]",
    "bl {open}",
    "mov x9, x0",
    "ldp x0, x1, [sp, #16]",
    "ldp x29, x30, [sp], #32",
    ".cfi_def_cfa_offset 0",
    "cmn x9, #1",
    "b.eq 2f",
    "mov x0, x9",
    "ret",
    "2:",
    "b {dlopen}",
    ".cfi_endproc",
    ".size graphmap_dlopen, . - graphmap_dlopen",
    open = sym open,
    dlopen = sym libc::dlopen,
);

/// Result of [`open`] if `dlopen` of the C library must be called.
const SHARED: *mut c_void = usize::MAX as *mut c_void;

/// Opens the program, or a private library.
unsafe extern "C" fn open(path: *const c_char, _flags: c_int) -> *mut c_void {
    let Some(image) = own_image() else {
        return SHARED;
    };
    if path.is_null() {
        return image.handle();
    }
    // SAFETY: the caller passes a string.
    let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
    let (handle, plugin) = match opened(image, Path::new(OsStr::from_bytes(bytes))) {
        None => return SHARED,
        Some(opened) => opened,
    };
    if let Some(plugin) = plugin {
        let arguments: Arguments = (0, [ptr::null_mut()].as_ptr(), [ptr::null_mut()].as_ptr());
        // SAFETY: the caller is the program of this rank. The values here have no destructors.
        unsafe { plugin.construct(arguments) };
    }
    handle
}

/// Returns the handle of a private library, and the library if its constructors must run. Returns
/// `None` if the library is not private. Stores the error if it cannot be loaded.
fn opened(image: &Image, path: &Path) -> Option<(*mut c_void, Option<super::load::Plugin>)> {
    let rank = rank::current()?;
    match image.open_plugin(&rank, path) {
        Ok(opened) => opened,
        Err(why) => {
            let text = format!("{}: {why}", path.display());
            ERROR.with_borrow_mut(|error| error.0 = Some(CString::new(text).unwrap_or_default()));
            Some((ptr::null_mut(), None))
        }
    }
}

/// `dlsym`. The default search begins with the program, whose symbols are private.
unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    let (Some(image), Some(rank)) = (own_image(), rank::current()) else {
        // SAFETY: guaranteed by the caller.
        return unsafe { libc::dlsym(handle, name) };
    };
    // SAFETY: the caller passes a string, and a handle that is valid.
    unsafe {
        let is_special = handle == libc::RTLD_DEFAULT || handle == libc::RTLD_NEXT;
        let own = match handle == libc::RTLD_DEFAULT || handle == image.handle() {
            true => image.symbol(name),
            false => ptr::null_mut(),
        };
        if !own.is_null() {
            return own;
        }
        match image.find(&rank, CStr::from_ptr(name), image.handle()) {
            Some(address) => address as *mut c_void,
            // The program is not searched, so the next object after it is the first one.
            None if is_special => libc::dlsym(libc::RTLD_DEFAULT, name),
            None => libc::dlsym(handle, name),
        }
    }
}

/// `dlclose`. A private library stays open until the rank ends.
unsafe extern "C" fn dlclose(handle: *mut c_void) -> c_int {
    let is_own =
        own_image().is_some_and(|image| handle == image.handle() || image.is_plugin(handle));
    match is_own {
        true => 0,
        // SAFETY: guaranteed by the caller.
        false => unsafe { libc::dlclose(handle) },
    }
}

/// `dlerror`.
extern "C" fn dlerror() -> *mut c_char {
    ERROR.with_borrow_mut(|(next, last)| match next.take() {
        Some(error) => {
            *last = error;
            last.as_ptr().cast_mut()
        }
        // SAFETY: the function has no preconditions.
        None => unsafe { libc::dlerror() },
    })
}
