//! The name of this host.

use std::env;
use std::fs;

/// Returns the name of this host from the kernel, without white space around it. If the file of the
/// kernel cannot be read, returns the environment variable `HOSTNAME` instead. Returns `None` if
/// neither can be read, or if the name that was read is empty.
pub(crate) fn name() -> Option<String> {
    let of_kernel = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = of_kernel.or_else(|| env::var("HOSTNAME").ok())?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_string())
}
