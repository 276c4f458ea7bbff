//! Conversion of handles to and from integers of Fortran (MPI-5.0, section 19.3.4).

use std::ffi::c_int;

use crate::abi::{
    Comm, Datatype, Errhandler, File, Group, Info, Message, Op, Request, Session, Win,
};

/// Defines the two conversions of a type of handles. All handles fit an integer.
macro_rules! conversions {
    ($($handle:ident: $to:ident $from:ident $profiled_to:literal $profiled_from:literal;)*) => {$(
        const _: () = {
            #[unsafe(no_mangle)]
            extern "C" fn $to(handle: $handle) -> c_int {
                handle.0 as c_int
            }

            #[unsafe(no_mangle)]
            extern "C" fn $from(integer: c_int) -> $handle {
                $handle(integer as usize)
            }

            #[unsafe(export_name = $profiled_to)]
            extern "C" fn profiled_to(handle: $handle) -> c_int {
                $to(handle)
            }

            #[unsafe(export_name = $profiled_from)]
            extern "C" fn profiled_from(integer: c_int) -> $handle {
                $from(integer)
            }
        };
    )*};
}

conversions! {
    Comm: MPI_Comm_toint MPI_Comm_fromint "PMPI_Comm_toint" "PMPI_Comm_fromint";
    Errhandler: MPI_Errhandler_toint MPI_Errhandler_fromint
        "PMPI_Errhandler_toint" "PMPI_Errhandler_fromint";
    File: MPI_File_toint MPI_File_fromint "PMPI_File_toint" "PMPI_File_fromint";
    Group: MPI_Group_toint MPI_Group_fromint "PMPI_Group_toint" "PMPI_Group_fromint";
    Info: MPI_Info_toint MPI_Info_fromint "PMPI_Info_toint" "PMPI_Info_fromint";
    Message: MPI_Message_toint MPI_Message_fromint "PMPI_Message_toint" "PMPI_Message_fromint";
    Op: MPI_Op_toint MPI_Op_fromint "PMPI_Op_toint" "PMPI_Op_fromint";
    Request: MPI_Request_toint MPI_Request_fromint "PMPI_Request_toint" "PMPI_Request_fromint";
    Session: MPI_Session_toint MPI_Session_fromint "PMPI_Session_toint" "PMPI_Session_fromint";
    Datatype: MPI_Type_toint MPI_Type_fromint "PMPI_Type_toint" "PMPI_Type_fromint";
    Win: MPI_Win_toint MPI_Win_fromint "PMPI_Win_toint" "PMPI_Win_fromint";
}
