use std::process::Command;
fn main() {
    // Of a string that is made, as of one that is not.
    Command::new("gfortran").args(["-c", "solve.f90"]).status().unwrap();
}
