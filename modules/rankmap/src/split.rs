//! One group becomes several, by a colour for each member.

mod gaps;
mod order;

use std::collections::HashMap;

use crate::build::Builder;
use crate::error::Error;
use crate::map::RankMap;
use crate::progression::{Grouping, Progression};
use crate::split::gaps::Gaps;
use crate::split::order::ordered;

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
    /// While it lasts, the progressions of what comes of it are
    /// held; where these are as long as the members, the gaps between the members of each colour, a byte or two a member.
    /// Keys that change the order in few runs, or are few, are followed as they come; where they are neither, the members of one colour after the other
    /// are sorted, four bytes each. Each group is stored relative to this one where that is smaller, so that `split` with one
    /// colour shares its set. The choice has to be the same each time.
    ///
    /// Cost: `O(n)`, and `O(n log n)` where keys change the order. Source: MPI 4.1, 7.4.2.
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
        let made = |part: RankMap, ascends: bool| {
            let part = match ascends {
                true => part,
                false => ordered(&builder, &part, &|rank| choice(rank).key)?,
            };
            builder.compose(self, &part)
        };
        if let Some(parts) = self.in_progressions(&choice) {
            let parts = parts.into_iter().map(|(colour, part, ascends)| {
                Ok((colour, made(builder.progressions(&part)?, ascends)?))
            });
            return parts.collect();
        }
        let gaps = Gaps::collect(|take| {
            for rank in (0..self.len()).map(|rank| rank as u32) {
                let Choice { colour, key } = choice(rank);
                if let Some(colour) = colour {
                    take(rank, colour, key);
                }
            }
        });
        let parts = gaps.each().map(|(colour, members, ascends)| {
            let part = builder.source(&|give| members.give(give))?;
            Ok((colour, made(part, ascends)?))
        });
        parts.collect()
    }

    /// The progressions of each colour, and whether its keys ascend; `None` where these are longer than the members.
    fn in_progressions(
        &self,
        choice: impl Fn(u32) -> Choice,
    ) -> Option<Vec<(u32, Vec<Progression>, bool)>> {
        let mut parts: HashMap<u32, Part> = HashMap::new();
        let (mut pieces, mut members) = (0_usize, 0_usize);
        for rank in (0..self.len()).map(|rank| rank as u32) {
            let Choice { colour, key } = choice(rank);
            let Some(colour) = colour else {
                continue;
            };
            let part = parts.entry(colour).or_default();
            part.descends |= part.key.replace(key).is_some_and(|before| before > key);
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
                if held > 2 * members + HELD {
                    return None;
                }
            }
        }
        let ended = parts.into_iter().map(|(colour, mut part)| {
            part.grouping.finish(&mut |piece| part.pieces.push(piece));
            (colour, part.pieces, !part.descends)
        });
        let mut ended: Vec<_> = ended.collect();
        ended.sort_unstable_by_key(|(colour, ..)| *colour);
        Some(ended)
    }
}

/// What may be held beside two bytes a member, so that small splits need no second way.
const HELD: usize = 64 << 10;

/// What is known of a colour so far.
struct Part {
    pieces: Vec<Progression>,
    grouping: Grouping,
    /// Of the last member.
    key: Option<i64>,
    /// Whether a key was smaller than the one before.
    descends: bool,
}

impl Default for Part {
    fn default() -> Self {
        Part {
            pieces: Vec::new(),
            grouping: Grouping::new(),
            key: None,
            descends: false,
        }
    }
}
