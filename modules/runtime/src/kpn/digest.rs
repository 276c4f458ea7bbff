//! Digests that show whether two OS processes have the same network, and whether a mapping was made
//! for it.

use super::network::{Class, Network};

impl Network {
    /// Returns a digest of the network (FNV-1a, 64 bits): its name, the names, ranks and ports of
    /// its kinds, its modules, and its channels with their types and tags. Networks that differ in
    /// these have different digests, except for collisions. The names of processes and modules,
    /// positions and initial tokens are not part of the digest.
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
            add(format!("{:?}", kind.modules));
        }
        for module in &self.modules {
            add(format!("{} {:?}", module.kind, module.within));
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
            if let Some(tag) = class.tag {
                add(format!("tag {tag}"));
            }
        }
        hash
    }

    /// Returns a digest of which process has which rank, on which a mapping depends. It is the sum
    /// (modulo 2^64) of one hash for each process, so that no sort is needed. The hash is FNV-1a
    /// (64 bits) of the name of the process, its kind and its rank (in decimal), each followed by a
    /// zero byte. `graphmap` computes the same digest from a graph file.
    pub(crate) fn processes_digest(&self) -> u64 {
        let mut sum = 0u64;
        for kind in &self.kinds {
            for (index, rank) in kind.ranks.iter().enumerate() {
                let mut hash = 0xcbf2_9ce4_8422_2325u64;
                for text in [&*kind.names.get(index), &*kind.name, &*rank.to_string()] {
                    for byte in text.bytes().chain([0]) {
                        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
                    }
                }
                sum = sum.wrapping_add(hash);
            }
        }
        sum
    }
}
