//! Collective calls: calls that all ranks of a communicator make together.

pub(crate) mod begin;
mod communicator;
mod operation;
mod root;

pub use communicator::CommunicatorCollectives;
pub use operation::UserOperation;
pub use operation::{
    Operation, SystemOperation, UnsafeUserFunction, UnsafeUserOperation, reduce_local_into,
};
pub use root::Root;

/// The traits of this module.
pub mod traits {
    pub use super::{CommunicatorCollectives, Operation, Root};
}
