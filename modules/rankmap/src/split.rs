//! One group becomes several, by a colour for each member.

use std::collections::HashMap;

use crate::build::Builder;
use crate::error::Error;
use crate::map::RankMap;
use crate::progression::{Grouping, Progression};

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
    /// `O(n)`, and `O(n log n)` where keys change the order. While it lasts, the progressions of what comes of it are
    /// held; where these are as long as the members, or keys change the order, four bytes a member. Each group is
    /// stored relative to this one where that is smaller, so that `split` with one colour shares its set.
    ///
    /// ```
    /// use graphmap_rankmap::{Choice, RankMap, Representation};
    ///
    /// // The columns of a matrix, by an array of colours.
    /// let colours: Vec<u32> = (0..1_000_000).map(|rank| rank % 1000).collect();
    /// let world = RankMap::identity(1_000_000);
    /// let columns = world.split(|rank| Choice { colour: Some(colours[rank as usize]), key: 0 })?;
    /// assert_eq!(columns.len(), 1000);
    /// assert!(columns.iter().all(|(_, column)| column.representation() == Representation::Progression));
    /// # Ok::<(), graphmap_rankmap::Error>(())
    /// ```
    pub fn split(&self, choice: impl Fn(u32) -> Choice) -> Result<Vec<(u32, RankMap)>, Error> {
        let builder = Builder::new();
        let parts = match self.in_progressions(&choice) {
            Some(parts) => parts
                .into_iter()
                .map(|(colour, part)| Ok((colour, builder.progressions(&part)?)))
                .collect::<Result<Vec<_>, Error>>()?,
            None => self.in_arrays(&choice)?,
        };
        let compose = |(colour, part): (u32, RankMap)| Ok((colour, builder.compose(self, &part)?));
        parts.into_iter().map(compose).collect()
    }

    /// The group of one colour: what a process needs that is in no other group of the split. The choice is asked by rank in
    /// this group, more than once.
    ///
    /// `O(n)`; four bytes for each of its members while it lasts if keys change their order, else nothing but what comes of it.
    pub fn split_for(&self, colour: u32, choice: impl Fn(u32) -> Choice) -> Result<RankMap, Error> {
        let of_it = || {
            let ranks = (0..self.len()).map(|rank| rank as u32);
            ranks.filter(|rank| choice(*rank).colour == Some(colour))
        };
        let key = |rank: &u32| choice(*rank).key;
        let builder = Builder::new();
        let part = match of_it().is_sorted_by_key(|rank| key(&rank)) {
            true => builder.source(&|give| {
                of_it().for_each(|rank| give(Progression::valid(rank, 1, 1)));
            })?,
            false => {
                let mut members: Vec<u32> = of_it().collect();
                members.sort_by_cached_key(key);
                builder.slice(&members)?
            }
        };
        builder.compose(self, &part)
    }

    /// The progressions of each colour; `None` where these are longer than the members, or keys change the order.
    fn in_progressions(
        &self,
        choice: impl Fn(u32) -> Choice,
    ) -> Option<Vec<(u32, Vec<Progression>)>> {
        let mut parts: HashMap<u32, Part> = HashMap::new();
        let (mut pieces, mut members) = (0_usize, 0_usize);
        for rank in (0..self.len()).map(|rank| rank as u32) {
            let Choice { colour, key } = choice(rank);
            let Some(colour) = colour else {
                continue;
            };
            let part = parts.entry(colour).or_default();
            if part.key.replace(key).is_some_and(|before| before > key) {
                return None;
            }
            let Part {
                grouping,
                pieces: ended,
                ..
            } = part;
            grouping.push(Progression::valid(rank, 1, 1), &mut |piece| {
                ended.push(piece);
                pieces += 1;
            });
            members += 1;
            if members.is_multiple_of(4096) {
                let held =
                    parts.len() * size_of::<(u32, Part)>() + pieces * size_of::<Progression>();
                if held > 4 * members + HELD {
                    return None;
                }
            }
        }
        let ended = parts.into_iter().map(|(colour, mut part)| {
            part.grouping.finish(&mut |piece| part.pieces.push(piece));
            (colour, part.pieces)
        });
        let mut ended: Vec<_> = ended.collect();
        ended.sort_unstable_by_key(|(colour, _)| *colour);
        Some(ended)
    }

    /// The members of each colour, out of one array of all of them.
    fn in_arrays(&self, choice: impl Fn(u32) -> Choice) -> Result<Vec<(u32, RankMap)>, Error> {
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
            groups.push((colour, builder.slice(of_colour)?));
        }
        Ok(groups)
    }
}

/// What may be held beside four bytes a member, so that small splits need no second way.
const HELD: usize = 64 << 10;

/// What is known of a colour so far.
struct Part {
    pieces: Vec<Progression>,
    grouping: Grouping,
    /// Of the last member.
    key: Option<i64>,
}

impl Default for Part {
    fn default() -> Self {
        Part {
            pieces: Vec::new(),
            grouping: Grouping::new(),
            key: None,
        }
    }
}
