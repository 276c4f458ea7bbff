//! SELECT of many ranks at once.

use crate::error::Error;
use crate::map::{Form, RankMap};

impl RankMap {
    /// SELECT of many: each rank of the group becomes a world rank, in its place. An error if the group does not have one
    /// of them; then all stay what they were.
    ///
    /// Cost: that of SELECT for each, less what look-ups one by one repeat: on closed forms several are worked out by
    /// the same instructions, of gaps the memory that some need is waited for together. Source: Granlund and Montgomery
    /// 1994, for the divisions; in passes, own.
    ///
    /// ```
    /// use graphmap_rankmap::RankMap;
    ///
    /// let thirds = RankMap::range(1, 3, 1_000_000)?;
    /// let mut ranks = [0, 999_999, 5];
    /// thirds.select_many(&mut ranks)?;
    /// assert_eq!(ranks, [1, 2_999_998, 16]);
    /// assert!(thirds.select_many(&mut [7, 1_000_000]).is_err());
    /// # Ok::<(), graphmap_rankmap::Error>(())
    /// ```
    pub fn select_many(&self, ranks: &mut [u32]) -> Result<(), Error> {
        let len = self.len();
        let most = ranks.iter().copied().max().map(u64::from);
        if let Some(rank) = most.filter(|most| *most >= len) {
            return Err(Error::NoSuchRank { rank, len });
        }
        self.at_many(ranks);
        Ok(())
    }

    /// SELECT of ranks that there are, in their places.
    pub(crate) fn at_many(&self, ranks: &mut [u32]) {
        match &self.form {
            Form::Progression(progression) => {
                for rank in ranks {
                    *rank = progression.at(*rank);
                }
            }
            Form::Grid(grid) => grid.at_many(ranks),
            Form::EliasFano(gaps) => gaps.at_many(ranks),
            Form::List(list) => {
                for rank in ranks {
                    *rank = list.at(*rank);
                }
            }
            Form::Composition(both) => {
                both.inner.at_many(ranks);
                both.outer.at_many(ranks);
            }
            _ => {
                for rank in ranks {
                    *rank = self.at(*rank);
                }
            }
        }
    }
}
