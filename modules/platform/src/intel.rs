//! The machinefile of Intel MPI.
//!
//! The form of MPICH's hostfile, from which Intel's launcher stems, with `ifhn=NAME` (the
//! interface to use) as a further key after a host. A file without that key looks like one of MPICH:
//! name the dialect. The launcher of 2021.18 takes `bob@node1:2`, ignores `user=`, and refuses
//! `ifhn=` and `binding=`, which older ones take.

use crate::dialect::Dialect;
use crate::model::Platform;
use crate::mpich;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::Source;

/// Keys that may follow a host.
const KEYS: &[&str] = &["ifhn", "user", "binding"];

/// Reads an Intel MPI machinefile.
///
/// `None` means that there was at least one error; all of them are in `out`.
pub fn read(source: &Source, out: &mut Diagnostics) -> Option<Platform> {
    mpich::read_colon(source, Dialect::Intel, KEYS, out)
}

/// Writes an Intel MPI machinefile: the slots in rank order, runs of one host as `name:count`.
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
