//! Whether two OS processes have the same network.

use super::network::{Class, Network};

impl Network {
    /// A number that differs for networks that differ: of kinds, processes, channels and their types
    /// (FNV-1a, 64 bits).
    pub(crate) fn digest(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut add = |text: String| {
            for byte in text.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        };
        add(format!(
            "{} {} {}",
            self.name, self.processes, self.channels
        ));
        for kind in &self.kinds {
            add(format!("{} {:?} {:?}", kind.name, kind.ranks, kind.ports));
        }
        for class in &self.classes {
            let Class {
                from,
                to,
                capacity,
                from_index,
                to_index,
                ..
            } = class;
            let (from_slot, to_slot, token) = (&class.from_slot, &class.to_slot, class.token_name);
            add(format!(
                "{from:?} {to:?} {capacity} {from_index:?} {to_index:?}"
            ));
            add(format!("{from_slot:?} {to_slot:?} {token}"));
        }
        hash
    }
}
