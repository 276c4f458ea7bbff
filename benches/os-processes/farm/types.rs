//! Types of the tokens on the channels.

/// A number of rounds to compute.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Task {
    pub rounds: u64,
}

/// A request for a task.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Request;

/// The result of a task.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Strip {
    pub value: f64,
}

/// Computes `rounds` rounds of floating-point operations that the compiler cannot remove.
pub fn compute(rounds: u64) -> f64 {
    let mut value = 1.0;
    for _ in 0..rounds {
        value = std::hint::black_box(value) * 0.999 + 0.001;
    }
    value
}
