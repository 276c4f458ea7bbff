//! One group becomes several, by a colour for each member.

use std::collections::HashMap;

use crate::build::Builder;
use crate::error::Error;
use crate::map::RankMap;

/// What a member says when a group is split: where it goes, and before whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Members of the same colour form a group; those without one go nowhere (`MPI_UNDEFINED`).
    pub colour: Option<u32>,
    /// The order in the new group; of equal keys that in the old one.
    pub key: i64,
}

impl RankMap {
    /// A group for each colour, ascending by colour: `MPI_Comm_split`. The choice is asked by rank in this
    /// group, more than once.
    ///
    /// `O(n)`, and `O(n log n)` where keys change the order; four bytes a member while it lasts. Each group is
    /// stored relative to this one where that is smaller, so that `split` with one colour shares its set.
    pub fn split(&self, choice: impl Fn(u32) -> Choice) -> Result<Vec<(u32, RankMap)>, Error> {
        let ranks = || (0..self.len()).map(|rank| rank as u32);
        let mut sizes: HashMap<u32, usize> = HashMap::new();
        for colour in ranks().filter_map(|rank| choice(rank).colour) {
            *sizes.entry(colour).or_default() += 1;
        }
        let mut colours: Vec<u32> = sizes.keys().copied().collect();
        colours.sort_unstable();
        // Where the members of each colour begin; counted up while they are filled in.
        let mut next = HashMap::with_capacity(colours.len());
        let mut all = 0;
        for colour in &colours {
            next.insert(*colour, all);
            all += sizes[colour];
        }
        let mut members = vec![0; all];
        for rank in ranks() {
            if let Some(place) = choice(rank).colour.and_then(|colour| next.get_mut(&colour)) {
                members[*place] = rank;
                *place += 1;
            }
        }
        let builder = Builder::new();
        let mut groups = Vec::with_capacity(colours.len());
        let mut rest = &mut members[..];
        for colour in colours {
            let (of_colour, others) = rest.split_at_mut(sizes[&colour]);
            rest = others;
            if !of_colour.is_sorted_by_key(|rank| choice(*rank).key) {
                // Stable: equal keys stay in the order they were in.
                of_colour.sort_by_cached_key(|rank| choice(*rank).key);
            }
            groups.push((colour, builder.compose(self, &builder.slice(of_colour)?)?));
        }
        Ok(groups)
    }
}
