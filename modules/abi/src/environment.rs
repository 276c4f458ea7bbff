//! Initialization, and questions about the environment.

use std::ffi::{c_char, c_double, c_int, c_void};
use std::panic::resume_unwind;
use std::ptr;
use std::sync::OnceLock;
use std::time::Instant;

use crate::abi::{
    Aint, Comm, Info, MAX_LIBRARY_VERSION_STRING, MAX_PROCESSOR_NAME, THREAD_FUNNELED,
};
use crate::arguments::{host, put, write_text};
use crate::attribute::Attributes;
use crate::communicator::Communicators;
use crate::error::{Done, fail};
use crate::info::Infos;
use crate::info::Pairs;
use crate::rank::Part as _;
use crate::rank::{Phase, Rank};

/// Version of the standard.
const VERSION: (c_int, c_int) = (5, 0);
/// Version of the ABI.
const ABI_VERSION: (c_int, c_int) = (1, 0);

fn initialize(this: &Rank) -> Done {
    if this.phase.get() != Phase::Before {
        return fail!(Other, "MPI_Init was called twice");
    }
    this.phase.set(Phase::Initialized);
    Communicators::of(this).initialize()
}

fn finalize(this: &Rank) -> Done {
    let world = Communicators::of(this).get(Comm::WORLD)?;
    for comm in [Comm::SELF, Comm::WORLD] {
        let by = Communicators::of(this).get(comm)?;
        Attributes::of(this).delete_comm(comm, &by.attributes)?;
    }
    crate::wait::wait(world.intra()?.barrier())?;
    this.phase.set(Phase::Finalized);
    Ok(())
}

export! {
    fn MPI_Init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) on Always => |this| {
        initialize(this)
    };
    fn MPI_Init_thread(
        _argc: *mut c_int, _argv: *mut *mut *mut c_char, _required: c_int, provided: *mut c_int,
    ) on Always => |this| {
        initialize(this)?;
        put(provided, THREAD_FUNNELED)
    };
    fn MPI_Finalize() on World => |this| finalize(this);
    fn MPI_Initialized(flag: *mut c_int) on Thread => |this| {
        put(flag, (this.phase.get() != Phase::Before).into())
    };
    fn MPI_Finalized(flag: *mut c_int) on Thread => |this| {
        put(flag, (this.phase.get() == Phase::Finalized).into())
    };
    fn MPI_Get_version(version: *mut c_int, subversion: *mut c_int) on Thread => |_| {
        put(version, VERSION.0)?;
        put(subversion, VERSION.1)
    };
    fn MPI_Get_library_version(version: *mut c_char, length: *mut c_int) on Thread => |_| {
        let text = concat!("graphmap ", env!("CARGO_PKG_VERSION"));
        write_text(text.as_bytes(), MAX_LIBRARY_VERSION_STRING, version, length);
        Ok(())
    };
    fn MPI_Get_processor_name(name: *mut c_char, length: *mut c_int) on World => |_| {
        write_text(&host(), MAX_PROCESSOR_NAME, name, length);
        Ok(())
    };
    fn MPI_Abort(comm: Comm, code: c_int) on Thread => |this| {
        crate::report::record_status(code);
        let name = Communicators::of(this).get(comm).map(|by| by.name()).unwrap_or_default();
        let name = String::from_utf8_lossy(&name);
        this.fail(format!("called MPI_Abort with code {code} on communicator \"{name}\""));
        // The rank has failed, so its entry into MPI ends it.
        resume_unwind(Box::new(()))
    };
    fn MPI_Query_thread(provided: *mut c_int) on Thread => |_| {
        put(provided, THREAD_FUNNELED)
    };
    fn MPI_Is_thread_main(flag: *mut c_int) on Thread => |this| {
        put(flag, (!this.is_thread()).into())
    };
    /// `MPI_Pcontrol`. The arguments after the level are ignored.
    fn MPI_Pcontrol(_level: c_int) on World => |_| Ok(());
    fn MPI_Alloc_mem(size: Aint, info: Info, base: *mut c_void) on World => |this| {
        let Ok(size) = usize::try_from(size) else {
            return fail!(Arg, "the size {size} is negative");
        };
        if base.is_null() {
            return fail!(Arg, "the argument for the address is null");
        }
        let alignment = Infos::of(this).argument(info)?;
        let alignment = alignment.get(b"mpi_minimum_memory_alignment");
        let alignment = alignment.and_then(|text| str::from_utf8(text).ok()?.parse().ok());
        let alignment = alignment.filter(|it: &usize| it.is_power_of_two()).unwrap_or(16).max(16);
        let mut memory = ptr::null_mut();
        if libc::posix_memalign(&mut memory, alignment, size) != 0 {
            return fail!(NoMem, "{size} bytes cannot be allocated");
        }
        base.cast::<*mut c_void>().write(memory);
        Ok(())
    };
    fn MPI_Free_mem(base: *mut c_void) on World => |_| {
        libc::free(base);
        Ok(())
    };
    fn MPI_Get_address(location: *const c_void, address: *mut Aint) on World => |_| {
        if address.is_null() {
            return fail!(Arg, "the argument for the address is null");
        }
        put(address, location as Aint)
    };
    fn MPI_Get_hw_resource_info(info: *mut Info) on Always => |this| {
        put(info, Infos::of(this).add(Pairs::default())?)
    };
    fn MPI_Abi_get_version(major: *mut c_int, minor: *mut c_int) on Always => |_| {
        put(major, ABI_VERSION.0)?;
        put(minor, ABI_VERSION.1)
    };
    fn MPI_Abi_get_info(info: *mut Info) on Always => |this| {
        let mut pairs = Pairs::default();
        for key in ["mpi_aint_size", "mpi_count_size", "mpi_offset_size"] {
            pairs.set(key.as_bytes(), b"8");
        }
        put(info, Infos::of(this).add(pairs)?)
    };
    fn MPI_Abi_get_fortran_info(info: *mut Info) on Always => |this| {
        put(info, Infos::of(this).add(fortran())?)
    };
    fn MPI_Abi_set_fortran_info(info: Info) on Always => |this| {
        Infos::of(this).argument(info)?;
        fail!(Abi, "the properties of Fortran are set already")
    };
    fn MPI_Abi_set_fortran_booleans(
        _size: c_int, _on_true: *const c_void, _on_false: *const c_void,
    ) on Always => |_| fail!(Abi, "the values of Fortran's logical constants are set already");
    fn MPI_Abi_get_fortran_booleans(
        size: c_int, to_true: *mut c_void, to_false: *mut c_void, is_set: *mut c_int,
    ) on Always => |_| {
        if size != LOGICAL_SIZE {
            return fail!(Abi, "a logical value has {LOGICAL_SIZE} bytes, not {size}");
        }
        to_true.cast::<c_int>().write(1);
        to_false.cast::<c_int>().write(0);
        put(is_set, 1)
    };
    fn MPI_Open_port(_info: Info, _name: *mut c_char) on World => |_| no_other_program();
    fn MPI_Close_port(_name: *const c_char) on World => |_| {
        fail!(Port, "the port does not exist: {OTHER}")
    };
    fn MPI_Publish_name(
        _service: *const c_char, _info: Info, _name: *const c_char,
    ) on World => |_| no_other_program();
    fn MPI_Unpublish_name(
        _service: *const c_char, _info: Info, _name: *const c_char,
    ) on World => |_| fail!(Service, "the service is not published: {OTHER}");
    fn MPI_Lookup_name(
        _service: *const c_char, _info: Info, _name: *mut c_char,
    ) on World => |_| fail!(Name, "the service is not published: {OTHER}");
    fn MPI_Comm_accept(
        _port: *const c_char, _info: Info, _root: c_int, comm: Comm, _new: *mut Comm,
    ) on comm => |this| {
        Communicators::of(this).get(comm)?;
        no_other_program()
    };
    fn MPI_Comm_connect(
        _port: *const c_char, _info: Info, _root: c_int, comm: Comm, _new: *mut Comm,
    ) on comm => |this| {
        Communicators::of(this).get(comm)?;
        no_other_program()
    };
    fn MPI_Comm_join(_socket: c_int, _new: *mut Comm) on World => |_| no_other_program();
    fn MPI_Comm_get_parent(parent: *mut Comm) on World => |_| {
        put(parent, Comm::NULL)
    };
    fn MPI_Comm_spawn(
        _command: *const c_char, _arguments: *mut *mut c_char, _count: c_int, _info: Info,
        _root: c_int, comm: Comm, _new: *mut Comm, _codes: *mut c_int,
    ) on comm => |this| {
        Communicators::of(this).get(comm)?;
        no_spawn()
    };
    fn MPI_Comm_spawn_multiple(
        _count: c_int, _commands: *mut *mut c_char, _arguments: *mut *mut *mut c_char,
        _counts: *const c_int, _infos: *const Info, _root: c_int, comm: Comm, _new: *mut Comm,
        _codes: *mut c_int,
    ) on comm => |this| {
        Communicators::of(this).get(comm)?;
        no_spawn()
    };
}

const OTHER: &str = "ranks of one OS process cannot connect to another program";

fn no_other_program() -> Done {
    fail!(UnsupportedOperation, "{OTHER}")
}

fn no_spawn() -> Done {
    fail!(
        Spawn,
        "the ranks of one OS process cannot be increased: start the program with more ranks"
    )
}

/// Size in bytes of a logical value of Fortran.
const LOGICAL_SIZE: c_int = 4;

/// Returns the properties of Fortran, as gfortran defines them.
fn fortran() -> Pairs {
    let mut pairs = Pairs::default();
    for (kind, size) in [
        ("logical", "4"),
        ("integer", "4"),
        ("real", "4"),
        ("double_precision", "8"),
    ] {
        pairs.set(format!("mpi_{kind}_size").as_bytes(), size.as_bytes());
    }
    for (kind, sizes) in [
        ("logical", &[1, 2, 4, 8, 16][..]),
        ("integer", &[1, 2, 4, 8, 16]),
        ("real", &[2, 4, 8, 16]),
        ("complex", &[4, 8, 16, 32]),
    ] {
        for size in sizes {
            pairs.set(format!("mpi_{kind}{size}_supported").as_bytes(), b"true");
        }
    }
    pairs.set(b"mpi_double_complex_supported", b"true");
    pairs
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

/// `MPI_Wtick`: the resolution of `MPI_Wtime` in seconds.
#[unsafe(no_mangle)]
extern "C" fn MPI_Wtick() -> c_double {
    1e-9
}

/// `PMPI_Wtick`.
#[unsafe(no_mangle)]
extern "C" fn PMPI_Wtick() -> c_double {
    MPI_Wtick()
}

/// `MPI_Aint_add`.
#[unsafe(no_mangle)]
extern "C" fn MPI_Aint_add(base: Aint, displacement: Aint) -> Aint {
    base.wrapping_add(displacement)
}

/// `PMPI_Aint_add`.
#[unsafe(no_mangle)]
extern "C" fn PMPI_Aint_add(base: Aint, displacement: Aint) -> Aint {
    MPI_Aint_add(base, displacement)
}

/// `MPI_Aint_diff`.
#[unsafe(no_mangle)]
extern "C" fn MPI_Aint_diff(left: Aint, right: Aint) -> Aint {
    left.wrapping_sub(right)
}

/// `PMPI_Aint_diff`.
#[unsafe(no_mangle)]
extern "C" fn PMPI_Aint_diff(left: Aint, right: Aint) -> Aint {
    MPI_Aint_diff(left, right)
}
