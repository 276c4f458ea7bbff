//! The random programs over rsmpi: a rank of the job that `mpiexec` starts.

// Some of it only those who compare use.
#[allow(dead_code)]
#[path = "../../random/mod.rs"]
mod random;

fn main() {
    random::job::rank();
}
