//! Functions of the header that graphmap does not implement: windows, files and the tool interface.
//! Each fails with its own name, so that a program that needs one stops at the first call of it.

use std::ffi::{c_int, c_void};

use crate::abi::{Aint, Comm, Info, Win};
use crate::communicator::Communicators;
use crate::error::{Done, fail};
use crate::rank::Part as _;
use crate::rank::Rank;

/// Defines exported functions that fail whatever their arguments are. They are declared without
/// parameters, because a caller in C removes its arguments.
macro_rules! unsupported {
    ($names:ident, $on:expr, $error:expr, $($name:ident)*) => {
        const $names: &[&str] = &[$(stringify!($name)),*];
        export! { $(fn $name() on $on => |_| $error;)* }
    };
}

/// Defines exported functions of the tool interface, which return an error code and call no error
/// handler (MPI-5.0, section 15.3).
macro_rules! tools {
    ($code:expr, $($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> c_int {
                $code
            }

            const _: () = {
                #[unsafe(export_name = concat!("P", stringify!($name)))]
                extern "C" fn profiled() -> c_int {
                    $code
                }
            };
        )*
    };
}

/// `MPI_T_ERR_CANNOT_INIT`
const CANNOT_INIT: c_int = 1001;
/// `MPI_T_ERR_NOT_INITIALIZED`
const NOT_INITIALIZED: c_int = 1003;

/// Returns true if a function of MPI always fails.
pub(crate) fn is_unimplemented(name: &str) -> bool {
    let lists = [WINDOWS, FILES];
    name.starts_with("MPI_Win_create") && !name.contains("_key") && !name.contains("_err")
        || name.starts_with("MPI_Win_allocate")
        || name.starts_with("MPI_T_")
        || lists.iter().any(|list| list.contains(&name))
}

fn no_windows() -> Done {
    fail!(UnsupportedOperation, "windows are not supported")
}

/// Checks the communicator first.
fn no_windows_of(this: &Rank, comm: Comm) -> Done {
    Communicators::of(this).get(comm)?;
    no_windows()
}

fn no_files() -> Done {
    fail!(UnsupportedOperation, "files are not supported")
}

export! {
    fn MPI_Win_allocate(
        _size: Aint, _unit: c_int, _info: Info, comm: Comm, _base: *mut c_void, _new: *mut Win,
    ) on comm => |this| no_windows_of(this, comm);
    fn MPI_Win_allocate_c(
        _size: Aint, _unit: Aint, _info: Info, comm: Comm, _base: *mut c_void, _new: *mut Win,
    ) on comm => |this| no_windows_of(this, comm);
    fn MPI_Win_allocate_shared(
        _size: Aint, _unit: c_int, _info: Info, comm: Comm, _base: *mut c_void, _new: *mut Win,
    ) on comm => |this| no_windows_of(this, comm);
    fn MPI_Win_allocate_shared_c(
        _size: Aint, _unit: Aint, _info: Info, comm: Comm, _base: *mut c_void, _new: *mut Win,
    ) on comm => |this| no_windows_of(this, comm);
    fn MPI_Win_create(
        _base: *mut c_void, _size: Aint, _unit: c_int, _info: Info, comm: Comm, _new: *mut Win,
    ) on comm => |this| no_windows_of(this, comm);
    fn MPI_Win_create_c(
        _base: *mut c_void, _size: Aint, _unit: Aint, _info: Info, comm: Comm, _new: *mut Win,
    ) on comm => |this| no_windows_of(this, comm);
    fn MPI_Win_create_dynamic(
        _info: Info, comm: Comm, _new: *mut Win,
    ) on comm => |this| no_windows_of(this, comm);
}

unsupported! {
    WINDOWS, World, no_windows(),
    MPI_Accumulate
    MPI_Accumulate_c
    MPI_Compare_and_swap
    MPI_Fetch_and_op
    MPI_Get
    MPI_Get_accumulate
    MPI_Get_accumulate_c
    MPI_Get_c
    MPI_Put
    MPI_Put_c
    MPI_Raccumulate
    MPI_Raccumulate_c
    MPI_Rget
    MPI_Rget_accumulate
    MPI_Rget_accumulate_c
    MPI_Rget_c
    MPI_Rput
    MPI_Rput_c
    MPI_Win_attach
    MPI_Win_complete
    MPI_Win_detach
    MPI_Win_fence
    MPI_Win_flush
    MPI_Win_flush_all
    MPI_Win_flush_local
    MPI_Win_flush_local_all
    MPI_Win_free
    MPI_Win_get_group
    MPI_Win_get_info
    MPI_Win_get_name
    MPI_Win_lock
    MPI_Win_lock_all
    MPI_Win_post
    MPI_Win_set_info
    MPI_Win_set_name
    MPI_Win_shared_query
    MPI_Win_shared_query_c
    MPI_Win_start
    MPI_Win_sync
    MPI_Win_test
    MPI_Win_unlock
    MPI_Win_unlock_all
    MPI_Win_wait
}

unsupported! {
    FILES, Files, no_files(),
    MPI_File_close
    MPI_File_delete
    MPI_File_get_amode
    MPI_File_get_atomicity
    MPI_File_get_byte_offset
    MPI_File_get_group
    MPI_File_get_info
    MPI_File_get_position
    MPI_File_get_position_shared
    MPI_File_get_size
    MPI_File_get_type_extent
    MPI_File_get_type_extent_c
    MPI_File_get_view
    MPI_File_iread
    MPI_File_iread_all
    MPI_File_iread_all_c
    MPI_File_iread_at
    MPI_File_iread_at_all
    MPI_File_iread_at_all_c
    MPI_File_iread_at_c
    MPI_File_iread_c
    MPI_File_iread_shared
    MPI_File_iread_shared_c
    MPI_File_iwrite
    MPI_File_iwrite_all
    MPI_File_iwrite_all_c
    MPI_File_iwrite_at
    MPI_File_iwrite_at_all
    MPI_File_iwrite_at_all_c
    MPI_File_iwrite_at_c
    MPI_File_iwrite_c
    MPI_File_iwrite_shared
    MPI_File_iwrite_shared_c
    MPI_File_open
    MPI_File_preallocate
    MPI_File_read
    MPI_File_read_all
    MPI_File_read_all_begin
    MPI_File_read_all_begin_c
    MPI_File_read_all_c
    MPI_File_read_all_end
    MPI_File_read_at
    MPI_File_read_at_all
    MPI_File_read_at_all_begin
    MPI_File_read_at_all_begin_c
    MPI_File_read_at_all_c
    MPI_File_read_at_all_end
    MPI_File_read_at_c
    MPI_File_read_c
    MPI_File_read_ordered
    MPI_File_read_ordered_begin
    MPI_File_read_ordered_begin_c
    MPI_File_read_ordered_c
    MPI_File_read_ordered_end
    MPI_File_read_shared
    MPI_File_read_shared_c
    MPI_File_seek
    MPI_File_seek_shared
    MPI_File_set_atomicity
    MPI_File_set_info
    MPI_File_set_size
    MPI_File_set_view
    MPI_File_sync
    MPI_File_write
    MPI_File_write_all
    MPI_File_write_all_begin
    MPI_File_write_all_begin_c
    MPI_File_write_all_c
    MPI_File_write_all_end
    MPI_File_write_at
    MPI_File_write_at_all
    MPI_File_write_at_all_begin
    MPI_File_write_at_all_begin_c
    MPI_File_write_at_all_c
    MPI_File_write_at_all_end
    MPI_File_write_at_c
    MPI_File_write_c
    MPI_File_write_ordered
    MPI_File_write_ordered_begin
    MPI_File_write_ordered_begin_c
    MPI_File_write_ordered_c
    MPI_File_write_ordered_end
    MPI_File_write_shared
    MPI_File_write_shared_c
    MPI_Register_datarep
    MPI_Register_datarep_c
}

tools! {
    CANNOT_INIT,
    MPI_T_init_thread
}

tools! {
    NOT_INITIALIZED,
    MPI_T_category_changed
    MPI_T_category_get_categories
    MPI_T_category_get_cvars
    MPI_T_category_get_events
    MPI_T_category_get_index
    MPI_T_category_get_info
    MPI_T_category_get_num
    MPI_T_category_get_num_events
    MPI_T_category_get_pvars
    MPI_T_cvar_get_index
    MPI_T_cvar_get_info
    MPI_T_cvar_get_num
    MPI_T_cvar_handle_alloc
    MPI_T_cvar_handle_free
    MPI_T_cvar_read
    MPI_T_cvar_write
    MPI_T_enum_get_info
    MPI_T_enum_get_item
    MPI_T_event_callback_get_info
    MPI_T_event_callback_set_info
    MPI_T_event_copy
    MPI_T_event_get_index
    MPI_T_event_get_info
    MPI_T_event_get_num
    MPI_T_event_get_source
    MPI_T_event_get_timestamp
    MPI_T_event_handle_alloc
    MPI_T_event_handle_free
    MPI_T_event_handle_get_info
    MPI_T_event_handle_set_info
    MPI_T_event_read
    MPI_T_event_register_callback
    MPI_T_event_set_dropped_handler
    MPI_T_finalize
    MPI_T_pvar_get_index
    MPI_T_pvar_get_info
    MPI_T_pvar_get_num
    MPI_T_pvar_handle_alloc
    MPI_T_pvar_handle_free
    MPI_T_pvar_read
    MPI_T_pvar_readreset
    MPI_T_pvar_reset
    MPI_T_pvar_session_create
    MPI_T_pvar_session_free
    MPI_T_pvar_start
    MPI_T_pvar_stop
    MPI_T_pvar_write
    MPI_T_source_get_info
    MPI_T_source_get_num
    MPI_T_source_get_timestamp
}
