//! The machinefile of Intel MPI.
//!
//! Intel's launcher is derived from MPICH's and reads the same format. One more key may follow a
//! host: `ifhn=NAME`, the network interface to use. A file without that key cannot be distinguished
//! from an MPICH hostfile, so the caller must name the format. The launcher of 2021.18 accepts
//! `bob@node1:2`, ignores `user=`, and rejects `ifhn=` and `binding=`, which older versions accept.

use crate::hosts_format::HostsFormat;
use crate::model::Platform;
use crate::mpich;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::Source;

/// Keys that may follow a host.
const KEYS: &[&str] = &["ifhn", "user", "binding"];

/// Reads an Intel MPI machinefile.
///
/// Returns `None` if there was at least one error. Adds the diagnostics to `out`: the first 50, and
/// a note with the number of the others. A result can come with warnings.
pub fn read(source: &Source, out: &mut Diagnostics) -> Option<Platform> {
    mpich::read_colon(source, HostsFormat::Intel, KEYS, out)
}

/// Writes an Intel MPI machinefile: the slots in the order of OS processes, each run of one host as
/// `name:count`. The user, the binding and the interface (`ifhn=`) of the host follow. The format
/// has no ports, speeds, memory and cores.
pub fn print(platform: &Platform) -> String {
    mpich::print_colon(platform, |host| {
        let said = host.access.said().into_iter().filter_map(|(key, value)| {
            let key = match key {
                "interface" => "ifhn",
                "user" | "binding" => key,
                _ => return None,
            };
            Some(format!(" {key}={value}"))
        });
        said.collect()
    })
}
