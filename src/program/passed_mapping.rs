//! Passes a mapping to the program of a network.

use super::temporary_file::TemporaryFile;
use graphmap_kpn::mapping::{Binding, Mapping};
use std::io;
use std::process::Command;

/// Mapping in the form that the runtime reads.
pub(crate) struct PassedMapping {
    file: TemporaryFile,
    /// Cores of each OS process.
    cores: Option<String>,
}

impl PassedMapping {
    /// Writes the mapping to a temporary file, which is deleted on drop.
    ///
    /// # Errors
    /// Returns the error of the operating system if the file cannot be written.
    pub(crate) fn new(mapping: &Mapping) -> io::Result<PassedMapping> {
        let numbers: Vec<u32> = mapping.numbers().collect();
        let text = graphmap_wiring::sequence::encode(&numbers);
        let cores = cores(mapping.bindings.values().as_slice());
        TemporaryFile::new("mapping", &text).map(|file| PassedMapping { file, cores })
    }

    /// Sets the environment variables by which the runtime of a program finds the mapping:
    /// `GRAPHMAP_MAPPING`, and `GRAPHMAP_CORES` if all OS processes have cores on one host. Removes
    /// `GRAPHMAP_PLACEMENT` and `GRAPHMAP_PLACED`, which are for another form of mapping.
    pub(crate) fn set_environment(&self, command: &mut Command) {
        command.env("GRAPHMAP_MAPPING", self.file.path());
        if let Some(cores) = &self.cores {
            command.env("GRAPHMAP_CORES", cores);
        }
        command.env_remove("GRAPHMAP_PLACEMENT");
        command.env_remove("GRAPHMAP_PLACED");
    }
}

/// Returns the cores of each OS process, such as `0,1 2,3`. Returns `None` unless all have cores
/// and are on the same host.
fn cores(bindings: &[Binding]) -> Option<String> {
    let first = bindings.first()?;
    let named = |binding: &Binding| !binding.cores.is_empty() && binding.host == first.host;
    let list = |binding: &Binding| {
        let cores: Vec<String> = binding.cores.iter().map(u32::to_string).collect();
        cores.join(",")
    };
    let all: Vec<String> = bindings.iter().map(list).collect();
    bindings.iter().all(named).then(|| all.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_passed_if_all_are_on_one_host() {
        let bound = |host: Option<&str>, cores: &[u32]| Binding {
            host: host.map(str::to_string),
            cores: cores.to_vec(),
        };
        let here = [bound(None, &[2]), bound(None, &[0, 1])];
        assert_eq!(cores(&here).as_deref(), Some("2 0,1"));
        let one = [bound(Some("a"), &[0]), bound(Some("a"), &[1])];
        assert_eq!(cores(&one).as_deref(), Some("0 1"));
        let two = [bound(Some("a"), &[0]), bound(Some("b"), &[0])];
        assert_eq!(cores(&two), None);
        assert_eq!(cores(&[bound(None, &[0]), bound(None, &[])]), None);
        assert_eq!(cores(&[]), None);
    }
}
