//! Attributes whose values are numbers.

/// Attributes whose values are whole numbers.
const WHOLE: [&str; 6] = [
    "capacity",
    "graphmap",
    "initial",
    "osprocess",
    "replicas",
    "tag",
];
/// Attributes whose values are other numbers.
const REAL: [&str; 4] = ["load", "mem", "prefer", "traffic"];

/// Returns true if the values of an attribute are whole numbers.
pub(crate) fn is_whole(name: &str) -> bool {
    WHOLE.contains(&name)
}

/// Returns true if the values of an attribute are numbers.
pub(crate) fn is_number(name: &str) -> bool {
    is_whole(name) || REAL.contains(&name)
}
