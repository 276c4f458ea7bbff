//! Collective calls on intercommunicators.
