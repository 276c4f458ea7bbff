//! What travels over the channels.

/// A number of rounds that are to be computed.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Task {
    pub rounds: u64,
}

/// "I have nothing to do."
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Request;

/// What came out of a task.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Strip {
    pub value: f64,
}

/// Floating point operations that cannot be left out: as many as `rounds` says.
pub fn compute(rounds: u64) -> f64 {
    let mut value = 1.0;
    for _ in 0..rounds {
        value = std::hint::black_box(value) * 0.999 + 0.001;
    }
    value
}
