//! Changes of a kind since its wiring was generated.

use crate::context::KindModel;
use crate::signature::{PortSignature, Signature};

/// Change of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The port with this index in the new kind was added.
    New(usize),
    /// This port was removed.
    Gone(PortSignature),
    /// The port with this index in the new kind was changed. The old port follows.
    Changed(usize, PortSignature),
}

impl Signature {
    /// Returns the differences between this signature and the current kind. Ports with the same
    /// name are compared by their word and Rust type. New and changed ports come first, in the
    /// order of the kind, and then the removed ports.
    pub(crate) fn changes(&self, now: &KindModel) -> Vec<Change> {
        let mut changes = Vec::new();
        for (i, port) in now.ports.iter().enumerate() {
            match self.ports.iter().find(|old| old.name == port.name) {
                None => changes.push(Change::New(i)),
                Some(old) if old.word != port.word || old.rust_type != port.rust_type => {
                    changes.push(Change::Changed(i, old.clone()));
                }
                Some(_) => {}
            }
        }
        let gone = |old: &&PortSignature| now.ports.iter().all(|port| port.name != old.name);
        changes.extend(self.ports.iter().filter(gone).cloned().map(Change::Gone));
        changes
    }
}
