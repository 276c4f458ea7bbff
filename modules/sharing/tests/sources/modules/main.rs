//! Files are found by their modules.

mod beside;
mod inner;
#[path = "else/where.rs"]
mod elsewhere;
#[cfg(windows)]
mod absent;
mod around {
    mod below;
}

// Both paths are read.
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "other.rs")]
mod system;
#[path = "folder"]
mod called {
    mod below;
    #[path = "said.rs"]
    mod elsewhere;
}
cfg_if::cfg_if! {
    if #[cfg(unix)] {
        mod branch;
    } else {
        mod nowhere;
    }
}
#[cfg(windows)]
mod windows {
    mod nowhere;
}
const TABLE: [u8; 2] = include!("table.in");
include!("items.in");

fn main() {}
