//! The handles and constants of MPI's C interface that programs name. There is no C behind them. Each handle is declared beside
//! what it stands for.

pub use crate::abi::{
    MPI_Aint, MPI_Comm, MPI_Group, MPI_Message, MPI_SUCCESS, MPI_Status, MPI_UNDEFINED,
    RSMPI_ANY_SOURCE, RSMPI_ANY_TAG, RSMPI_PROC_NULL,
};
pub use crate::datatype::layout::MPI_Datatype;
pub use crate::operation::MPI_Op;
pub use crate::request::MPI_Request;
