//! What has changed about a kind since its wiring code was generated.

use crate::context::KindModel;
use crate::signature::{PortSignature, Signature};

/// What changed about one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The port of that index in the new kind was not there before.
    New(usize),
    /// A port that is not there any more.
    Gone(PortSignature),
    /// The port of that index in the new kind was different before.
    Changed(usize, PortSignature),
}

impl Signature {
    /// What is different in a kind of now.
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
