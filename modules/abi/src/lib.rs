//! MPI library with the standard ABI (MPI-5.0, chapter 20), whose ranks are coroutines of one OS
//! process.
//!
//! A program in C or C++ is loaded once for each rank, so that each rank has its own globals. Its
//! `main` runs on a fiber. Calls of MPI wait on that fiber while other ranks run.
//!
//! The data flow: `host` starts the ranks, `image` loads the program for each, `rank` is the state
//! of a rank, and the files with functions of MPI change that state and call `graphmap_mpi_core`.

#![warn(unsafe_op_in_unsafe_fn)]
// Functions of MPI have the names of the standard, and its contracts on pointers.
#![allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

#[macro_use]
mod export;

mod abi;
mod arguments;
mod attribute;
mod attribute_calls;
mod buffer;
mod buffered;
mod call;
mod collective;
mod communicator;
mod convert;
mod crash;
mod datatype;
mod environment;
mod errhandler;
mod errhandler_calls;
mod error;
mod generalized;
mod group;
mod host;
mod image;
mod info;
mod intercollective;
mod intercommunicator;
mod leave;
mod message;
mod neighbourhood;
mod on;
mod operation;
mod output;
mod pack;
mod partitioned;
mod persistent;
mod point_to_point;
mod probe;
mod process;
mod rank;
mod removed;
mod report;
mod request;
mod session;
mod singleton;
mod status;
mod table;
mod topology;
mod unimplemented;
mod wait;
