//! The graphmap command.
fn main() {}
