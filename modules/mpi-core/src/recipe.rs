//! Descriptions of the communicators that a collective call creates. Each scheduler receives one,
//! and creates a communicator when the first of its ranks asks for it.
//!
//! A rank knows which communicator it requested, by its colour or by its group. So only a *label*
//! is sent for each communicator, without a table of ranks. Members are sent only if the ranks
//! cannot compute them. Communicators whose labels and members have constant steps, such as
//! the rows of a grid, are sent as one *family*.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::communicator::Communicator;
use super::error::Error;
use super::group::Group;
use super::state::{CommunicatorState, World};
use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};

/// Communicators with labels in constant steps. The members of each are the members of the first,
/// shifted.
struct Family {
    label: u32,
    /// Difference between consecutive labels.
    step: u32,
    count: u32,
    /// Number of communicators in earlier families.
    index: u32,
    /// Ranks of the first communicator in the parent. `None` if the ranks compute them.
    ranks: Option<Group>,
    /// Difference between ranks of consecutive communicators.
    by: i64,
}

graphmap_executor::payload!(Family {
    label,
    step,
    count,
    index,
    ranks,
    by
});

impl Family {
    /// Adds a communicator, whose label must be larger than all labels of the family, and returns
    /// true. Returns false, and adds nothing, if its label and ranks do not continue the constant
    /// steps of the family. The second communicator of a family defines the steps.
    fn take(&mut self, label: u32, ranks: Option<&Group>) -> bool {
        let far = match (&self.ranks, ranks) {
            (None, None) => Some(0),
            (Some(first), Some(next)) => first.distance(next),
            _ => None,
        };
        let Some(far) = far else { return false };
        let (step, count) = (label - self.label, self.count);
        if count == 1 {
            (self.step, self.by) = (step, far);
        } else if self.step.checked_mul(count) != Some(step) || self.by * i64::from(count) != far {
            return false;
        }
        self.count += 1;
        true
    }

    /// Returns the parent ranks of the communicator at index `at` in the family. `None` if the
    /// ranks compute them, or if a rank would be invalid.
    fn ranks(&self, at: u32) -> Option<Group> {
        self.ranks.as_ref()?.moved(self.by.checked_mul(at.into())?)
    }
}

/// Groups communicators into families, in order. The labels must be distinct and ascend. A group is
/// `None` if the ranks compute it.
fn families(labelled: impl IntoIterator<Item = (u32, Option<Group>)>) -> Vec<Family> {
    let (mut families, mut index): (Vec<Family>, u32) = (Vec::new(), 0);
    for (label, ranks) in labelled {
        let last = families.last_mut();
        if !last.is_some_and(|last| last.take(label, ranks.as_ref())) {
            families.push(Family {
                label,
                step: 0,
                count: 1,
                index,
                ranks,
                by: 0,
            });
        }
        index += 1;
    }
    families
}

/// Returns the family that contains `label`, and the index in this family of the communicator with
/// that label. `None` if no family contains the label. The families must be in ascending order of
/// labels.
fn find(families: &[Family], label: u32) -> Option<(&Family, u32)> {
    let before = families.partition_point(|it| it.label <= label);
    let family = &families[before.checked_sub(1)?];
    let far = label - family.label;
    let at = match far {
        0 => Some(0),
        _ if family.step > 0 && far.is_multiple_of(family.step) => Some(far / family.step),
        _ => None,
    };
    Some((family, at.filter(|&at| at < family.count)?))
}

/// Result of a call that creates communicators.
#[derive(Default)]
pub(super) struct Recipes {
    /// Number of the first communicator. The others have the next numbers of this scheduler.
    first: u32,
    /// Families in ascending order of labels.
    families: Vec<Family>,
    /// Errors of single ranks, in rank order.
    wrong: Vec<(u32, Error)>,
    /// Error of the whole call.
    all_wrong: Option<Error>,
    /// Communicators that ranks here have requested. They are kept until all ranks here have
    /// theirs.
    made: RefCell<HashMap<u32, Rc<CommunicatorState>>>,
}

impl Payload for Recipes {
    fn size(&self) -> usize {
        let outcome = (self.first.size(), self.families.size());
        outcome.0 + outcome.1 + self.wrong.size() + self.all_wrong.size()
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        self.first.encode(to);
        self.families.encode(to);
        self.wrong.encode(to);
        self.all_wrong.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Recipes {
            first: u32::decode(from)?,
            families: Vec::decode(from)?,
            wrong: Vec::decode(from)?,
            all_wrong: Option::decode(from)?,
            made: RefCell::default(),
        })
    }
}

impl Recipes {
    /// Creates the result with one communicator for each label, and allocates the numbers. If too
    /// few numbers are left, the result is that of a call that failed with [`Error::TooMany`]. The
    /// labels must be distinct and ascend. A group contains ranks of the parent, or is `None` if
    /// the ranks compute it.
    pub(super) fn of(
        world: &World,
        labelled: impl IntoIterator<Item = (u32, Option<Group>)>,
    ) -> Self {
        let families = families(labelled);
        let last = families.last();
        match world.new_numbers(last.map_or(0, |last| last.index + last.count)) {
            Ok(first) => Recipes {
                first,
                families,
                ..Recipes::default()
            },
            Err(error) => Recipes::wrong(error),
        }
    }

    /// Creates the result with one communicator, whose label is 0, as [`Recipes::of`]. `ranks` are
    /// its ranks of the parent, or `None` if the ranks compute them.
    pub(super) fn one(world: &World, ranks: Option<Group>) -> Self {
        Recipes::of(world, [(0, ranks)])
    }

    /// Creates the result of a call that failed at all ranks with `error`.
    pub(super) fn wrong(error: Error) -> Self {
        Recipes {
            all_wrong: Some(error),
            ..Recipes::default()
        }
    }

    /// Rejects the call of `rank`, which gets `error`. Ranks must be rejected in ascending order.
    pub(super) fn refuse(&mut self, rank: u32, error: Error) {
        self.wrong.push((rank, error));
    }

    /// Returns the handle of `rank` for the communicator with `label`, or `None` if the rank is not
    /// a member, or if the label is `None` or does not exist. The first call for a label on this
    /// scheduler creates the communicator with `name`. `group` returns the members if they were not
    /// sent.
    ///
    /// Returns the error of the whole call or of this rank, if it has one. Otherwise the error of
    /// `group`, or [`Error::Inactive`] or [`Error::Group`] if the ranks that were sent are invalid.
    pub(super) fn communicator(
        &self,
        parent: &CommunicatorState,
        rank: u32,
        label: Option<u32>,
        name: impl FnOnce() -> String,
        group: impl FnOnce() -> Result<Group, Error>,
    ) -> Result<Option<Communicator>, Error> {
        let wrong = self.wrong.binary_search_by_key(&rank, |wrong| wrong.0);
        let wrong = wrong.ok().map(|at| &self.wrong[at].1);
        if let Some(error) = self.all_wrong.as_ref().or(wrong) {
            return Err(error.clone());
        }
        let found = label.and_then(|label| find(&self.families, label));
        let Some(((family, at), member)) = found.zip(parent.group().at(rank)) else {
            return Ok(None);
        };
        let index = family.index.wrapping_add(at);
        let made = self.made.borrow().get(&index).cloned();
        let shared = match made {
            Some(shared) => shared,
            None => {
                let group = match family.ranks {
                    Some(_) => {
                        let ranks = family.ranks(at).ok_or(Error::Inactive)?;
                        parent.group().compose(&ranks)?
                    }
                    None => group()?,
                };
                let world = &parent.world;
                let number = world.number_after(self.first, index);
                let shared = world.join(number, group, name(), Some(parent));
                self.made.borrow_mut().insert(index, Rc::clone(&shared));
                shared
            }
        };
        let own = shared.group().rank_of(member);
        Ok(own.map(|own| Communicator::new(shared, own)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits ranks, and compares the recipe with lists of members. Returns the number of families
    /// and of encoded bytes.
    fn check(ranks: u32, choice: impl Fn(u32) -> (Option<u32>, i64)) -> (usize, usize) {
        let parts = Group::split(ranks, &choice).unwrap();
        let families = families(parts.into_iter().map(|(label, part)| (label, Some(part))));
        let bytes = Encoder::to_vec(&families).clone();
        assert_eq!(bytes.len(), families.size());
        let families: Vec<Family> = Decoder::from_slice(&bytes).unwrap();
        let mut of: HashMap<u32, Vec<(i64, u32)>> = HashMap::new();
        for rank in 0..ranks {
            let (colour, key) = choice(rank);
            if let Some(colour) = colour {
                of.entry(colour).or_default().push((key, rank));
            }
        }
        let mut colours: Vec<u32> = of.keys().copied().collect();
        colours.sort_unstable();
        for (index, colour) in (0..).zip(colours) {
            let mut wanted = of.remove(&colour).unwrap();
            wanted.sort_unstable();
            let (family, at) = find(&families, colour).unwrap();
            assert_eq!(family.index + at, index);
            let found = family.ranks(at).unwrap();
            let wanted = wanted.into_iter().map(|(_, rank)| rank);
            assert!(found.members().eq(wanted), "{colour}: {found:?}");
        }
        let all: u32 = families.iter().map(|family| family.count).sum();
        let mut labels = 0..2 * ranks.max(8);
        assert!(labels.all(|it| find(&families, it).is_none() || choice_has(ranks, &choice, it)));
        assert!(find(&families, u32::MAX).is_none() || choice_has(ranks, &choice, u32::MAX));
        assert!(all <= ranks);
        (families.len(), bytes.len())
    }

    fn choice_has(ranks: u32, choice: impl Fn(u32) -> (Option<u32>, i64), label: u32) -> bool {
        (0..ranks).any(|rank| choice(rank).0 == Some(label))
    }

    #[test]
    #[cfg_attr(miri, ignore = "safe code, which takes minutes there")]
    fn regular_groups_are_families() {
        let (rows, bytes) = check(2000, |rank| (Some(rank / 50), 0));
        assert!(rows == 1 && bytes < 50, "{rows} {bytes}");
        assert_eq!(check(2000, |rank| (Some(rank % 40), 0)).0, 1);
        assert_eq!(
            check(2000, |rank| (Some(7 * (rank / 50) + 3), rank.into())).0,
            1
        );
        assert_eq!(
            check(2000, |rank| (Some(39 - rank / 50), -i64::from(rank))).0,
            1
        );
        // Planes of a cube in the middle dimension.
        assert_eq!(check(1728, |rank| (Some(rank / 12 % 12), 0)).0, 1);
        // The last row is shorter, and the remaining ranks have no colour.
        assert_eq!(
            check(2011, |rank| (Some(rank / 50).filter(|&row| row < 41), 0)).0,
            2
        );
        assert_eq!(check(2000, |rank| (Some(u32::MAX - rank / 1000), 0)).0, 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "safe code, which takes minutes there")]
    fn groups_match_lists() {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15);
            state.rotate_left(15) >> 8
        };
        for ranks in [0, 1, 2, 3, 5, 16, 100, 333] {
            for colours in [1, 2, 7, 50, 1000] {
                let keys = [1, 3, 1000][next() as usize % 3];
                let drawn: Vec<(Option<u32>, i64)> = (0..ranks)
                    .map(|_| {
                        let key = i64::from(next() % keys) - i64::from(keys / 2);
                        let key = if next() % 50 == 0 { i64::MIN } else { key };
                        (Some(next() % colours).filter(|_| next() % 5 > 0), key)
                    })
                    .collect();
                check(ranks, |rank| drawn[rank as usize]);
            }
        }
    }
}
