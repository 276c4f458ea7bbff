//! Values that have a communicator: communicators and processes.

use super::cartesian::CartesianCommunicator;
use super::communicator::Communicator;
use super::intercommunicator::{InterCommunicator, LocalRoot};
use super::process::{AnyProcess, Process};
use super::simple::SimpleCommunicator;

/// A value that has a communicator.
pub trait AsCommunicator {
    /// Type of the communicator.
    type Out: Communicator;

    /// Returns the communicator.
    fn as_communicator(&self) -> &Self::Out;
}

impl AsCommunicator for SimpleCommunicator {
    type Out = SimpleCommunicator;

    fn as_communicator(&self) -> &Self::Out {
        self
    }
}

impl AsCommunicator for CartesianCommunicator {
    type Out = CartesianCommunicator;

    fn as_communicator(&self) -> &Self::Out {
        self
    }
}

impl AsCommunicator for InterCommunicator {
    type Out = InterCommunicator;

    fn as_communicator(&self) -> &Self::Out {
        self
    }
}

impl<'a> AsCommunicator for Process<'a> {
    type Out = AnyProcess<'a>;

    fn as_communicator(&self) -> &Self::Out {
        &self.comm
    }
}

impl AsCommunicator for LocalRoot<'_> {
    type Out = InterCommunicator;

    fn as_communicator(&self) -> &Self::Out {
        match self {
            LocalRoot::This(of) | LocalRoot::Other(of) => of,
        }
    }
}

impl<'a> AsCommunicator for AnyProcess<'a> {
    type Out = AnyProcess<'a>;

    fn as_communicator(&self) -> &Self::Out {
        self
    }
}
