//! Rank of an `mpiexec` job that runs the random programs with rsmpi.

// Some items are used only by the comparison.
#[allow(dead_code)]
#[path = "../../random/mod.rs"]
mod random;

fn main() {
    random::job::rank();
}
