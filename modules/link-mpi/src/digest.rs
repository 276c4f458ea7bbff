//! Hashes that show whether OS processes run the same program and network.

use std::env;
use std::fs::File;
use std::io::{self, Read};

/// Returns a hash of the file of this program: a variant of FNV-1a over words of eight bytes.
///
/// # Errors
/// Returns an error if the file cannot be found or read.
pub(crate) fn program() -> io::Result<u64> {
    let mut file = File::open(env::current_exe()?)?;
    let mut buffer = vec![0; 1 << 18];
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    loop {
        let mut len = 0;
        while len < buffer.len() {
            match file.read(&mut buffer[len..])? {
                0 => break,
                more => len += more,
            }
        }
        if len == 0 {
            return Ok(hash);
        }
        for word in buffer[..len].chunks(8) {
            let mut eight = [0; 8];
            eight[..word.len()].copy_from_slice(word);
            hash = (hash ^ u64::from_ne_bytes(eight)).wrapping_mul(0x0000_0100_0000_01b3);
            hash ^= hash >> 29;
        }
    }
}

/// Returns the agreement of this OS process: a number that must be equal in all OS processes of a
/// run. It is made from hashes of the network and of the program.
///
/// The upper half identifies the network, the lower half the program. It is never 0.
pub(crate) fn agreement(network: u64, program: u64) -> u64 {
    let fold = |hash: u64| u64::from((hash ^ (hash >> 32)) as u32 | 1);
    fold(network) << 32 | fold(program)
}

/// Returns which part of two different agreements differs: `network` if the programs are equal, and
/// `program` otherwise, even if the networks also differ.
pub(crate) fn difference(one: u64, other: u64) -> &'static str {
    match one as u32 == other as u32 {
        true => "network",
        false => "program",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named() {
        let one = agreement(1 << 40, 2 << 40);
        assert_eq!(difference(one, agreement(3 << 40, 2 << 40)), "network");
        assert_eq!(difference(one, agreement(1 << 40, 5 << 40)), "program");
        assert_ne!(agreement(0, 0), 0);
    }

    #[test]
    fn a_program_is_itself() {
        assert_eq!(program().unwrap(), program().unwrap());
    }
}
