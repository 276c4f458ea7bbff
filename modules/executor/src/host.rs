//! The name of this host.

use std::env;
use std::fs;

/// Returns the name of this host from the kernel. If the kernel's name cannot be read, returns the
/// environment variable `HOSTNAME`. Returns `None` if neither can be read, or if the name is empty.
pub(crate) fn name() -> Option<String> {
    let of_kernel = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = of_kernel.or_else(|| env::var("HOSTNAME").ok())?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_string())
}
