//! The random programs over rsmpi: a rank of the job that `mpiexec` starts.

#[path = "../../random/mod.rs"]
mod random;

fn main() {
    random::job::rank();
}
