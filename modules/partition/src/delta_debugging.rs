//! Reduces a failing list to a minimal one (delta debugging, Zeller and Hildebrandt 2002).

/// Removes elements from `kept` that the conflict does not need: halves, then quarters, then single
/// ones.
///
/// `conflict` must return true if the given elements cannot all be satisfied. If `conflict` returns
/// true for the given list, it also returns true for the result. If `conflict` returns true for
/// every list that contains a conflict, the result is minimal: `conflict` then returns false for
/// the result without any one of its elements.
pub(crate) fn reduce<T: Copy>(kept: &mut Vec<T>, mut conflict: impl FnMut(&[T]) -> bool) {
    let mut size = kept.len().div_ceil(2);
    while !kept.is_empty() {
        let mut at = 0;
        while at < kept.len() {
            let end = (at + size).min(kept.len());
            let mut fewer = kept[..at].to_vec();
            fewer.extend(&kept[end..]);
            if conflict(&fewer) {
                *kept = fewer;
            } else {
                at = end;
            }
        }
        if size <= 1 {
            return;
        }
        size = size.div_ceil(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn result_is_a_minimal_conflict(
            n in 1_u32..40,
            conflicts in prop::collection::vec(prop::collection::btree_set(0_u32..40, 1..5), 1..5),
        ) {
            let within = |items: &[u32]| {
                conflicts.iter().any(|c| c.iter().all(|i| items.contains(i)))
            };
            let mut kept: Vec<u32> = (0..n).collect();
            prop_assume!(within(&kept));
            reduce(&mut kept, within);
            prop_assert!(within(&kept));
            for left_out in 0..kept.len() {
                let mut fewer = kept.clone();
                fewer.remove(left_out);
                prop_assert!(!within(&fewer));
            }
        }
    }
}
