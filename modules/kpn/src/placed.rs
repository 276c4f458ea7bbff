//! Identification of the processes for which a placement by rank was made.

use crate::arena::Id;
use crate::network::Network;

/// Returns a hash of the names, kinds and ranks of all processes, in hexadecimal.
///
/// Programs compute the same hash for `GRAPHMAP_PLACED`, because a placement by rank is valid only
/// for the processes for which it was made. The hash is the sum (modulo 2^64) of a hash of each
/// process: FNV-1a of 64 bits over its name, its kind and its rank, each followed by a zero byte.
///
/// # Panics
/// Panics if a process has a name or a kind that does not exist.
pub fn processes_hash(network: &Network) -> String {
    let mut sum = 0u64;
    for id in network.processes.ids() {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let (name, kind) = (network.process_name(id), network.kind_name(id));
        for text in [name, kind, &id.index().to_string()] {
            for byte in text.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
        sum = sum.wrapping_add(hash);
    }
    format!("{sum:016x}")
}
