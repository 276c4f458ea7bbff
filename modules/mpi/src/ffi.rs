//! Names of MPI's C interface that programs use: handles, constants, and functions that rsmpi does
//! not offer.
//!
//! There is no C code behind them. The functions are implemented here, with the names and
//! parameters of C, so that libraries that call them need no change. Each handle is defined beside
//! its data.

pub use crate::abi::{
    MPI_Aint, MPI_Comm, MPI_Fint, MPI_Group, MPI_Info, MPI_Message, MPI_SUCCESS, MPI_Status,
    MPI_UNDEFINED, RSMPI_ANY_SOURCE, RSMPI_ANY_TAG, RSMPI_COMM_NULL, RSMPI_INFO_NULL,
    RSMPI_PROC_NULL, RSMPI_STATUS_IGNORE,
};
pub use crate::calls::{
    MPI_Barrier, MPI_Dist_graph_create_adjacent, MPI_Dist_graph_neighbors_count,
    MPI_Neighbor_alltoall, MPI_Neighbor_alltoallv, MPI_Wtime, RSMPI_Comm_c2f, RSMPI_Comm_f2c,
    RSMPI_UNWEIGHTED,
};
pub use crate::datatype::layout::{
    MPI_Datatype, RSMPI_C_BOOL, RSMPI_DOUBLE, RSMPI_FLOAT, RSMPI_INT8_T, RSMPI_INT16_T,
    RSMPI_INT32_T, RSMPI_INT64_T, RSMPI_UINT8_T, RSMPI_UINT16_T, RSMPI_UINT32_T, RSMPI_UINT64_T,
};
pub use crate::nonblocking::{
    MPI_Allreduce, MPI_Iallreduce, MPI_Irecv, MPI_Isend, MPI_Test, MPI_Wait,
};
pub use crate::operation::{
    MPI_Op, RSMPI_BAND, RSMPI_BOR, RSMPI_BXOR, RSMPI_LAND, RSMPI_LOR, RSMPI_LXOR, RSMPI_MAX,
    RSMPI_MIN, RSMPI_PROD, RSMPI_SUM,
};
pub use crate::request::{MPI_Request, RSMPI_REQUEST_NULL};
