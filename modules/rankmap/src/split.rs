//! Splits a group into several groups, by a colour for each member.

mod gaps;
mod order;

use std::collections::HashMap;

use crate::build::Builder;
use crate::error::Error;
use crate::map::RankMap;
use crate::progression::{Grouping, Progression};
use crate::split::gaps::Gaps;
use crate::split::order::ordered;

/// Arguments of one member in a split: its new group, and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Group of the member: members of the same colour form a group. `None` for a member of no
    /// group (`MPI_UNDEFINED`).
    pub colour: Option<u32>,
    /// Sort key in the new group. Members with equal keys keep their order.
    pub key: i64,
}

impl RankMap {
    /// Returns each colour that a member has and the group of its members, in ascending order of
    /// colour (`MPI_Comm_split`). A group has its members in ascending order of key. Members
    /// without a colour are in no group.
    ///
    /// `choice` is called with each rank of this group (from 0 to `len() - 1`), usually several
    /// times. It must always return the same value for the same rank.
    ///
    /// During the split, the progressions of each colour are stored. If these take as much space as
    /// the members, the gaps between the members of each colour are stored instead, in one or two
    /// bytes a member. Keys are evaluated in order if they are few, or if they ascend or descend in
    /// few runs. Otherwise the members of each colour are sorted in turn, with four bytes a member.
    ///
    /// Each group is stored relative to this one if that is smaller. A `split` with one colour, for
    /// example, shares the set of this group.
    ///
    /// Cost: `O(n)`, or `O(n log n)` if keys change the order. Source: MPI 4.1 (7.4.2).
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
    ///
    /// # Errors
    ///
    /// An error is possible only if `choice` returns different values for the same rank. Even then,
    /// an error is not guaranteed: the groups may be wrong instead.
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

    /// Returns, in ascending order of colour: each colour, its ranks as ascending progressions, and
    /// true if no key is smaller than the key before it. Returns `None` if the progressions and the
    /// table of the colours take more space than two bytes a member plus [`HELD`]. That is checked
    /// only after every 4096 members.
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

/// Number of bytes that may be stored beyond two bytes a member, so that small splits never start
/// again.
const HELD: usize = 64 << 10;

/// State of a colour during the walk.
struct Part {
    pieces: Vec<Progression>,
    grouping: Grouping,
    /// Key of the last member.
    key: Option<i64>,
    /// True if a key was smaller than the key before it.
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
