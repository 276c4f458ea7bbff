//! Groups as plain arrays, which replace `modules/mpi-core/src/group.rs` to be measured beside rank
//! maps. A group has its members, and for look-ups their ranks in ascending order of members. The
//! group of the world has only its size.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::Error;
use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};

/// An ordered set of processes, each known by its rank in the world.
#[derive(Clone, Debug)]
pub struct Group(Form);

/// A placeholder: groups of arrays never release the numbers of endpoints.
#[derive(Debug, Default)]
pub(super) struct Lease;

impl Lease {
    pub(super) fn last(&self) {}

    pub(super) fn is_over(_: &mut Arc<Lease>) -> bool {
        false
    }
}

#[derive(Clone, Debug)]
enum Form {
    All(u32),
    Listed(Arc<Listed>),
}

#[derive(Debug, PartialEq, Eq)]
struct Listed {
    members: Box<[u32]>,
    by_member: Box<[u32]>,
}

/// Result of a comparison of two groups or communicators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Same processes in the same order. For communicators: the same communicator.
    Identical,
    /// For communicators only.
    Congruent,
    /// Same processes in a different order.
    Similar,
    /// Different processes.
    Unequal,
}

const TWICE: Error = Error::group("a group has each of its ranks once");
const OUTSIDE: Error = Error::group("a group has only ranks of the one that it is made from");

impl Group {
    /// Returns the group of the first `ranks` ranks of the world, in order.
    pub fn all(ranks: u32) -> Group {
        Group(Form::All(ranks))
    }

    /// Returns the group of these ranks of the world.
    ///
    /// # Errors
    /// [`Error::Group`] if a rank occurs twice.
    pub fn of(members: Vec<u32>) -> Result<Group, Error> {
        let mut by_member: Vec<u32> = (0..members.len() as u32).collect();
        let member = |at: u32| members[at as usize];
        by_member.sort_unstable_by_key(|&at| member(at));
        let twice = |two: &[u32]| member(two[0]) == member(two[1]);
        if by_member.windows(2).any(twice) {
            return Err(TWICE);
        }
        Ok(Group(Form::Listed(Arc::new(Listed {
            members: members.into(),
            by_member: by_member.into(),
        }))))
    }

    /// Returns the number of members.
    pub fn size(&self) -> usize {
        self.len() as usize
    }

    /// Returns the bytes of the group in memory.
    pub fn bytes(&self) -> usize {
        8 * self.size()
    }

    pub(super) fn len(&self) -> u32 {
        match &self.0 {
            Form::All(ranks) => *ranks,
            Form::Listed(listed) => listed.members.len() as u32,
        }
    }

    #[inline]
    pub(super) fn at(&self, rank: u32) -> Option<u32> {
        match &self.0 {
            Form::All(ranks) => Some(rank).filter(|rank| rank < ranks),
            Form::Listed(listed) => listed.members.get(rank as usize).copied(),
        }
    }

    pub(super) fn rank_of(&self, member: u32) -> Option<u32> {
        match &self.0 {
            Form::All(ranks) => Some(member).filter(|rank| rank < ranks),
            Form::Listed(listed) => {
                let by = |&at: &u32| listed.members[at as usize];
                let at = listed.by_member.binary_search_by_key(&member, by).ok()?;
                Some(listed.by_member[at])
            }
        }
    }

    /// Returns the world ranks of the members, in order.
    pub fn members(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).filter_map(|rank| self.at(rank))
    }

    /// Returns true if the process with this world rank is a member.
    pub fn has(&self, member: u32) -> bool {
        self.rank_of(member).is_some()
    }

    /// Returns the group of these ranks of this group, in this order.
    ///
    /// # Errors
    /// [`Error::Group`] if a rank does not exist or occurs twice.
    pub fn include(&self, ranks: &[usize]) -> Result<Group, Error> {
        let member = |&rank: &usize| u32::try_from(rank).ok().and_then(|rank| self.at(rank));
        let members: Option<Vec<u32>> = ranks.iter().map(member).collect();
        Group::of(members.ok_or(OUTSIDE)?)
    }

    pub(super) fn compose(&self, ranks: &Group) -> Result<Group, Error> {
        let members: Option<Vec<u32>> = ranks.members().map(|rank| self.at(rank)).collect();
        Group::of(members.ok_or(OUTSIDE)?)
    }

    pub(super) fn split(
        ranks: u32,
        choice: impl Fn(u32) -> (Option<u32>, i64),
    ) -> Result<Vec<(u32, Group)>, Error> {
        let mut parts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for rank in 0..ranks {
            if let Some(colour) = choice(rank).0 {
                parts.entry(colour).or_default().push(rank);
            }
        }
        let parts = parts.into_iter().map(|(colour, mut part)| {
            part.sort_by_key(|&rank| choice(rank).1);
            Ok((colour, Group::of(part)?))
        });
        parts.collect()
    }

    pub(super) fn section(sides: &[u32], fixed: &[Option<u32>]) -> Result<Group, Error> {
        let is_in = |rank: &u32| {
            let mut rest = *rank;
            sides.iter().zip(fixed).rev().all(|(side, fixed)| {
                let at = rest % side;
                rest /= side;
                fixed.is_none_or(|fixed| fixed == at)
            })
        };
        let all: u32 = sides.iter().product();
        Group::of((0..all).filter(is_in).collect())
    }

    /// Returns `None`, because arrays are not sent as families.
    pub(super) fn distance(&self, _: &Group) -> Option<i64> {
        None
    }

    pub(super) fn moved(&self, by: i64) -> Option<Group> {
        (by == 0).then(|| self.clone())
    }

    pub(super) fn of_endpoints(first: u32, len: u32, _: &Arc<Lease>) -> Result<Group, Error> {
        Group::of((first..first + len).collect())
    }

    pub(super) fn holding(self, _: &Group) -> Group {
        self
    }

    /// Returns the group without these of its ranks.
    ///
    /// # Errors
    /// As [`Group::include`].
    pub fn exclude(&self, ranks: &[usize]) -> Result<Group, Error> {
        Ok(self.difference(&self.include(ranks)?))
    }

    /// Returns the group of the ranks from the first to the second of each triple, in steps of the
    /// third.
    ///
    /// # Errors
    /// As [`Group::include`], and if a step is 0.
    pub fn include_ranges(&self, ranges: &[(usize, usize, isize)]) -> Result<Group, Error> {
        let mut ranks = Vec::new();
        for &(first, last, step) in ranges {
            let is_before = |rank: usize| if step > 0 { rank <= last } else { rank >= last };
            let mut next = Some(first);
            while let Some(rank) = next.filter(|&rank| is_before(rank)) {
                if step == 0 || rank >= self.size() {
                    return Err(OUTSIDE);
                }
                ranks.push(rank);
                next = rank.checked_add_signed(step);
            }
        }
        self.include(&ranks)
    }

    /// Returns all members of this group in its order, then the members of the other that are not
    /// in this one.
    pub fn union(&self, other: &Group) -> Group {
        let more = other.members().filter(|&member| !self.has(member));
        self.made_of(self.members().chain(more))
    }

    /// Returns the members of this group that are also in the other.
    pub fn intersection(&self, other: &Group) -> Group {
        self.made_of(self.members().filter(|&member| other.has(member)))
    }

    /// Returns the members of this group that are not in the other.
    pub fn difference(&self, other: &Group) -> Group {
        self.made_of(self.members().filter(|&member| !other.has(member)))
    }

    fn made_of(&self, members: impl Iterator<Item = u32>) -> Group {
        Group::of(members.collect()).unwrap_or_else(|_| Group::all(0))
    }

    /// Returns the ranks in the other group of these ranks of this group.
    pub fn translate(&self, ranks: &[usize], other: &Group) -> Vec<Option<usize>> {
        let one = |&rank: &usize| {
            let member = self.at(u32::try_from(rank).ok()?)?;
            other.rank_of(member).map(|rank| rank as usize)
        };
        ranks.iter().map(one).collect()
    }

    pub(super) fn same(&self, other: &Group) -> bool {
        match (&self.0, &other.0) {
            (Form::All(one), Form::All(other)) => one == other,
            (Form::Listed(one), Form::Listed(other)) => {
                Arc::ptr_eq(one, other) || one.members == other.members
            }
            _ => self.len() == other.len() && self.members().eq(other.members()),
        }
    }

    pub(super) fn size_as_bytes(&self) -> usize {
        Payload::size(self)
    }

    /// Compares this group with another.
    pub fn compare(&self, other: &Group) -> Comparison {
        if self.same(other) {
            Comparison::Identical
        } else if self.len() == other.len() && self.members().all(|member| other.has(member)) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    fn to_bytes(&self) -> Result<u32, Box<[u32]>> {
        match &self.0 {
            Form::All(ranks) => Ok(*ranks),
            Form::Listed(listed) => Err(listed.members.clone()),
        }
    }
}

pub(super) struct Shown(pub(super) Group);

impl Payload for Shown {
    fn size(&self) -> usize {
        self.0.size()
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        self.0.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Group::decode(from).map(Shown)
    }
}

impl Payload for Group {
    fn size(&self) -> usize {
        Payload::size(&self.to_bytes())
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        to.copy(&Encoder::to_vec(&self.to_bytes()));
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        match Result::<u32, Box<[u32]>>::decode(from)? {
            Ok(ranks) => Ok(Group::all(ranks)),
            Err(members) => Group::of(members.into()).map_err(|_| from.error("a group of ranks")),
        }
    }
}
