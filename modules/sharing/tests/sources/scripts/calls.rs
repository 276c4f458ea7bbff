use std::process::Command;
fn main() {
    // A string literal, not a `String`.
    Command::new("gfortran").args(["-c", "solve.f90"]).status().unwrap();
}
