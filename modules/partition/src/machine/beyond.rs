//! Distances in the numbers that searches reckon with.

use std::sync::{Arc, OnceLock};

/// Distances less the collocated one, row by row: made when they are first asked for, and shared by clones, as an
/// instance is made for each strategy that is compared. They follow from the distances, so all are equal.
#[derive(Clone, Debug, Default)]
pub(super) struct Beyond(Arc<OnceLock<Arc<Vec<i64>>>>);

impl PartialEq for Beyond {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Beyond {}

impl Beyond {
    /// What was made, or is made now of distances and the collocated one.
    pub(super) fn of(&self, distances: &[u32], collocated: u32) -> Arc<Vec<i64>> {
        let base = i64::from(collocated);
        let fill = || distances.iter().map(|&d| i64::from(d) - base).collect();
        Arc::clone(self.0.get_or_init(|| Arc::new(fill())))
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::Machine;

    #[test]
    fn what_was_asked_for_makes_no_difference() {
        let machine = || Machine::regular(&[(2, 1), (2, 9)]).unwrap();
        let asked = machine();
        assert_eq!(asked.beyond()[..4], [0, 1, 9, 9]);
        assert_eq!(asked, machine());
    }
}
