//! Runs a program in C or C++ with many ranks in this OS process. All work is done by the library,
//! which the program is linked with: there must be only one copy of it.

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

type Main = unsafe extern "C" fn(c_int, *const *const c_char) -> c_int;

fn main() -> ExitCode {
    match start() {
        Ok(code) => code,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// Loads the library from the folder of this program, and calls it.
fn start() -> Result<ExitCode, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let library = program.with_file_name("libmpi_abi.so.1");
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|error| error.to_string());
    let path = text(library.as_os_str().as_bytes())?;
    let arguments = std::env::args_os().map(|argument| text(argument.as_bytes()));
    let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
    let pointers: Vec<*const c_char> = arguments.iter().map(|text| text.as_ptr()).collect();
    // SAFETY: the library is graphmap's, and the function has this type. The arguments are strings.
    unsafe {
        // The program expects the default action, which Rust changes.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        // Its symbols are not global, so that a library which a program links before it comes
        // first.
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        if handle.is_null() {
            let error = CStr::from_ptr(libc::dlerror());
            return Err(error.to_string_lossy().into_owned());
        }
        let main = libc::dlsym(handle, c"graphmap_mpi_main".as_ptr());
        if main.is_null() {
            return Err(format!("{}: another library", library.display()));
        }
        let main = std::mem::transmute::<*mut libc::c_void, Main>(main);
        let code = main(pointers.len() as c_int, pointers.as_ptr());
        Ok(ExitCode::from(code as u8))
    }
}
