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

fn main() {}
