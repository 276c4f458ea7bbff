//! Concatenations of ascending maps, stored as a set and the merges that produce it, without an
//! array of members.

use std::sync::Arc;

use crate::build::Builder;
use crate::choose::estimates;
use crate::form::wavelet::Wavelet;
use crate::map::{Composition, Form, RankMap};
use crate::progression::Progression;
use crate::representation::Representation;
use crate::survey::Survey;

/// Calls back with the members of disjoint ascending maps in ascending order, together with the
/// index of their map.
fn each_ascending(sets: &[RankMap], mut give: impl FnMut(usize, u32)) {
    let mut members: Vec<_> = sets.iter().map(|set| set.iter().peekable()).collect();
    loop {
        let all = members.iter_mut().enumerate();
        let least = all.filter_map(|(at, set)| Some((*set.peek()?, at))).min();
        let Some((rank, at)) = least else {
            return;
        };
        members[at].next();
        give(at, rank);
    }
}

/// Gives the members of disjoint ascending maps in ascending order.
pub(crate) fn merge_ascending(sets: &[RankMap], give: &mut dyn FnMut(Progression)) {
    each_ascending(sets, |_, rank| give(Progression::valid(rank, 1, 1)));
}

impl Builder {
    /// Returns the concatenation of disjoint ascending maps as their union and a wavelet tree on
    /// runs, or `None` if that weighs more than `most` or the concatenation ascends.
    ///
    /// The cost is `O(n k log k)` for `k` maps. Only the result is stored.
    pub(crate) fn merged(&self, parts: &[RankMap], most: f64) -> Option<RankMap> {
        let survey = Survey::of(|give| parts.iter().for_each(|part| part.all(give)));
        let foreseen = estimates(&survey, None)
            .into_iter()
            .find(|estimate| estimate.representation == Representation::Wavelet)?;
        if self.weigh(&foreseen) > most {
            return None;
        }
        // A map that begins after the end of the previous map continues its sequence.
        let (mut sequences, mut first): (Vec<usize>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut len = 0;
        for (at, part) in parts.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| parts[before].last());
            if before.is_none_or(|before| part.first().is_some_and(|first| first < before)) {
                sequences.push(at);
                first.push(u32::try_from(len).ok()?);
            }
            len += part.len();
        }
        sequences.push(parts.len());
        let set = self.source(&|give| merge_ascending(parts, give)).ok()?;
        let tree = Wavelet::of_merges(first, len, |left, right, from_right| {
            let [begin, middle, end] = [left.start, right.start, right.end].map(|k| sequences[k]);
            each_ascending(&parts[begin..end], |at, _| from_right(begin + at >= middle));
        });
        let permutation = RankMap::of(Form::Wavelet(Arc::new(tree)));
        let made = match set.is_identity() {
            true => permutation,
            false => RankMap::of(Form::Composition(Arc::new(Composition {
                outer: set,
                inner: permutation,
            }))),
        };
        (self.weigh(&made.cost()) <= most).then_some(made)
    }
}
