//! The name of this host.

use std::env;
use std::fs;

/// The name that the operating system has for this host, if it can be told.
pub(crate) fn name() -> Option<String> {
    let of_kernel = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = of_kernel.or_else(|| env::var("HOSTNAME").ok())?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_string())
}
