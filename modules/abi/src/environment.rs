//! Initialization, and questions about the environment.

use std::ffi::{c_char, c_double, c_int};
use std::ptr;
use std::sync::OnceLock;
use std::time::Instant;

use crate::abi::{Comm, MAX_LIBRARY_VERSION_STRING, MAX_PROCESSOR_NAME, THREAD_FUNNELED};
use crate::error::{Done, fail, text};
use crate::rank::{Phase, Rank};

/// Version of the standard.
const VERSION: (c_int, c_int) = (5, 0);

fn initialize(this: &Rank) -> Done {
    if this.phase.get() != Phase::Before {
        return fail!(Other, "MPI_Init was called twice");
    }
    this.phase.set(Phase::Initialized);
    this.communicators.initialize()
}

fn finalize(this: &Rank) -> Done {
    let world = this.communicators.get(Comm::WORLD)?;
    crate::wait::wait(world.intra()?.barrier())?;
    this.phase.set(Phase::Finalized);
    Ok(())
}

/// Writes a string and its length. The buffer has `size` bytes.
///
/// # Safety
/// The buffer must have `size` bytes, and `length` must be null or valid for writing.
pub(crate) unsafe fn write_text(value: &[u8], size: usize, to: *mut c_char, length: *mut c_int) {
    let value = &value[..value.len().min(size - 1)];
    // SAFETY: the text and its end fit the buffer.
    unsafe {
        ptr::copy_nonoverlapping(value.as_ptr(), to.cast(), value.len());
        to.add(value.len()).write(0);
        if !length.is_null() {
            length.write(value.len() as c_int);
        }
    }
}

/// Returns the name of the host.
fn host() -> Vec<u8> {
    let mut name = vec![0u8; MAX_PROCESSOR_NAME];
    // SAFETY: the buffer has this size.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|&byte| byte == 0);
    name.truncate(end.unwrap_or(0));
    name
}

export! {
    fn MPI_Init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) on Always => |this| {
        initialize(this)
    };
    fn MPI_Init_thread(
        _argc: *mut c_int, _argv: *mut *mut *mut c_char, _required: c_int, provided: *mut c_int,
    ) on Always => |this| {
        initialize(this)?;
        provided.write(THREAD_FUNNELED);
        Ok(())
    };
    fn MPI_Finalize() on World => |this| finalize(this);
    fn MPI_Initialized(flag: *mut c_int) on Always => |this| {
        flag.write((this.phase.get() != Phase::Before).into());
        Ok(())
    };
    fn MPI_Finalized(flag: *mut c_int) on Always => |this| {
        flag.write((this.phase.get() == Phase::Finalized).into());
        Ok(())
    };
    fn MPI_Get_version(version: *mut c_int, subversion: *mut c_int) on Always => |_| {
        version.write(VERSION.0);
        subversion.write(VERSION.1);
        Ok(())
    };
    fn MPI_Get_library_version(version: *mut c_char, length: *mut c_int) on Always => |_| {
        let text = concat!("graphmap ", env!("CARGO_PKG_VERSION"));
        write_text(text.as_bytes(), MAX_LIBRARY_VERSION_STRING, version, length);
        Ok(())
    };
    fn MPI_Get_processor_name(name: *mut c_char, length: *mut c_int) on World => |_| {
        write_text(&host(), MAX_PROCESSOR_NAME, name, length);
        Ok(())
    };
    fn MPI_Abort(_comm: Comm, code: c_int) on World => |this| {
        crate::report::record_status(code);
        this.fail(format!("called MPI_Abort with code {code}"));
        fail!(Other, "aborted with code {code}")
    };
    fn MPI_Error_string(code: c_int, to: *mut c_char, length: *mut c_int) on Always => |_| {
        let Some(text) = text(code) else {
            return fail!(Arg, "{code} is not an error code");
        };
        write_text(text.as_bytes(), crate::abi::MAX_ERROR_STRING, to, length);
        Ok(())
    };
}

/// `MPI_Wtime`: seconds since the first call in this OS process.
#[unsafe(no_mangle)]
extern "C" fn MPI_Wtime() -> c_double {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// `PMPI_Wtime`.
#[unsafe(no_mangle)]
extern "C" fn PMPI_Wtime() -> c_double {
    MPI_Wtime()
}
