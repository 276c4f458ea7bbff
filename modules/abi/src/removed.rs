//! Names that MPI-3.0 removed. Older programs still use them, and other libraries with the standard
//! ABI export them, too.

use std::ffi::{c_int, c_void};

use crate::abi::{Aint, Comm, Datatype, Errhandler};
use crate::errhandler::Plain;

/// Defines functions that have another name now.
macro_rules! renamed {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) => $now:ident;)*) => {$(
        const _: () = {
            unsafe extern "C" {
                fn $now($($arg: $ty),*) -> c_int;
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> c_int {
                // SAFETY: the caller passes arguments as the standard demands, and both functions
                // have the same.
                unsafe { $now($($arg),*) }
            }

            const _: () = {
                #[unsafe(export_name = concat!("P", stringify!($name)))]
                unsafe extern "C" fn profiled($($arg: $ty),*) -> c_int {
                    // SAFETY: as above.
                    unsafe { $now($($arg),*) }
                }
            };
        };
    )*};
}

renamed! {
    fn MPI_Address(location: *const c_void, address: *mut Aint) => PMPI_Get_address;
    fn MPI_Errhandler_create(
        function: Option<Plain>, errhandler: *mut Errhandler,
    ) => PMPI_Comm_create_errhandler;
    fn MPI_Errhandler_get(comm: Comm, errhandler: *mut Errhandler) => PMPI_Comm_get_errhandler;
    fn MPI_Errhandler_set(comm: Comm, errhandler: Errhandler) => PMPI_Comm_set_errhandler;
    fn MPI_Type_hindexed(
        number: c_int, lengths: *const c_int, displacements: *const Aint, old: Datatype,
        new: *mut Datatype,
    ) => PMPI_Type_create_hindexed;
    fn MPI_Type_hvector(
        number: c_int, blocklength: c_int, stride: Aint, old: Datatype, new: *mut Datatype,
    ) => PMPI_Type_create_hvector;
    fn MPI_Type_struct(
        number: c_int, lengths: *const c_int, displacements: *const Aint, old: *const Datatype,
        new: *mut Datatype,
    ) => PMPI_Type_create_struct;
}
