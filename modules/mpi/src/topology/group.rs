//! Groups of ranks.

use graphmap_runtime::mpi as core;

use super::Rank;
use crate::abi::{MPI_Group, Members};
use crate::raw::AsRaw;

/// A predefined group.
#[derive(Debug, Clone, Copy)]
pub struct SystemGroup(MPI_Group);

impl SystemGroup {
    /// Returns the group without ranks (`MPI_GROUP_EMPTY`).
    pub fn empty() -> SystemGroup {
        SystemGroup(MPI_Group(std::ptr::null()))
    }
}

// SAFETY: the null handle is valid. It is the handle of the empty group.
unsafe impl AsRaw for SystemGroup {
    type Raw = MPI_Group;

    fn as_raw(&self) -> MPI_Group {
        self.0
    }
}

impl Group for SystemGroup {}

/// A group that a program has made.
#[derive(Debug)]
pub struct UserGroup(Box<Members>);

impl UserGroup {
    /// Makes a handle of `group`, for the rank that owns the communicator `of`. That rank is
    /// recorded as the maker of the group.
    pub(super) fn new(group: &core::Group, of: &core::Communicator) -> Self {
        let maker = Some((of.group().clone(), of.rank()));
        let group = group.clone();
        UserGroup(Box::new(Members { group, maker }))
    }
}

// SAFETY: the handle points to the box, which lives as long as the group.
unsafe impl AsRaw for UserGroup {
    type Raw = MPI_Group;

    fn as_raw(&self) -> MPI_Group {
        MPI_Group(&raw const *self.0)
    }
}

impl Group for UserGroup {}

/// Returns the members of a group, or `None` for [`SystemGroup::empty`].
fn members<G: Group + ?Sized>(group: &G) -> Option<&Members> {
    // SAFETY: the handle is valid as long as the group lives, and may be null.
    unsafe { group.as_raw().0.as_ref() }
}

/// Returns the group of the runtime that a group here stands for.
pub(super) fn group_of<G: Group + ?Sized>(group: &G) -> core::Group {
    members(group).map_or_else(|| core::Group::all(0), |members| members.group.clone())
}

/// Creates a group that was derived from the groups `of`. Its maker is the maker of the first group
/// of `of` that has one.
fn made(group: core::Group, of: [Option<&Members>; 2]) -> UserGroup {
    let mut makers = of.into_iter().flatten().filter_map(|one| one.maker.clone());
    let maker = makers.next();
    UserGroup(Box::new(Members { group, maker }))
}

/// Converts a rank to a number of the runtime. Negative ranks become a number that no rank has.
pub(crate) fn number(rank: Rank) -> usize {
    usize::try_from(rank).unwrap_or(usize::MAX)
}

/// Converts a number of the runtime to a rank.
///
/// # Panics
/// If the number is 2^31 or more.
pub(crate) fn rank(number: usize) -> Rank {
    Rank::try_from(number).expect("there are fewer ranks than 2^31")
}

/// An ordered set of ranks.
pub trait Group: AsRaw<Raw = MPI_Group> {
    /// Returns the union: the ranks of this group, then the ranks that only the other group has, in
    /// their order there.
    fn union<G: Group>(&self, other: &G) -> UserGroup
    where
        Self: Sized,
    {
        let group = group_of(self).union(&group_of(other));
        made(group, [members(self), members(other)])
    }

    /// Returns the intersection: the ranks of this group that the other group has, too, in the
    /// order of this group.
    fn intersection<G: Group>(&self, other: &G) -> UserGroup
    where
        Self: Sized,
    {
        let group = group_of(self).intersection(&group_of(other));
        made(group, [members(self), members(other)])
    }

    /// Returns the difference: the ranks of this group that the other group does not have, in the
    /// order of this group.
    fn difference<G: Group>(&self, other: &G) -> UserGroup
    where
        Self: Sized,
    {
        let group = group_of(self).difference(&group_of(other));
        made(group, [members(self), members(other)])
    }

    /// Returns the group of these ranks, in this order.
    ///
    /// # Panics
    /// If a rank does not exist in this group, or occurs twice.
    #[track_caller]
    fn include(&self, ranks: &[Rank]) -> UserGroup {
        let ranks: Vec<usize> = ranks.iter().map(|&rank| number(rank)).collect();
        let group = crate::done(group_of(self).include(&ranks));
        made(group, [members(self), None])
    }

    /// Returns the group of all ranks of this group except these, in the order of this group.
    ///
    /// # Panics
    /// As [`include`](Self::include).
    #[track_caller]
    fn exclude(&self, ranks: &[Rank]) -> UserGroup {
        let ranks: Vec<usize> = ranks.iter().map(|&rank| number(rank)).collect();
        let group = crate::done(group_of(self).exclude(&ranks));
        made(group, [members(self), None])
    }

    /// Returns the number of ranks.
    fn size(&self) -> Rank {
        rank(group_of(self).size())
    }

    /// Returns the rank of the caller, or `None` if the group contains neither the calling rank nor
    /// its endpoint. For a group of [endpoints](crate::endpoint), this is the endpoint from whose
    /// communicator the group was made.
    fn rank(&self) -> Option<Rank> {
        let find =
            |of: &core::Group, at: usize| of.translate(&[at], &group_of(self)).pop().flatten();
        let world = core::world().ok();
        let found = world.and_then(|world| find(world.group(), world.rank()));
        let maker = || members(self).and_then(|members| members.maker.as_ref());
        let found = found.or_else(|| maker().and_then(|(of, at)| find(of, *at)));
        found.map(rank)
    }

    /// Returns the rank in another group of the process that has this rank here. Returns `None` if
    /// this group does not have the rank, or if the other group does not contain the process.
    fn translate_rank<G: Group>(&self, rank: Rank, other: &G) -> Option<Rank>
    where
        Self: Sized,
    {
        self.translate_ranks(&[rank], other)
            .into_iter()
            .next()
            .flatten()
    }

    /// Translates several ranks as [`translate_rank`](Self::translate_rank). Returns one item for
    /// each of them, in their order.
    fn translate_ranks<G: Group>(&self, ranks: &[Rank], other: &G) -> Vec<Option<Rank>>
    where
        Self: Sized,
    {
        let ranks: Vec<usize> = ranks.iter().map(|&rank| number(rank)).collect();
        let found = group_of(self).translate(&ranks, &group_of(other));
        found.into_iter().map(|found| found.map(rank)).collect()
    }

    /// Compares this group with another: `Identical` for the same ranks in the same order,
    /// `Similar` for the same ranks in another order, and otherwise `Unequal`.
    fn compare<G: Group>(&self, other: &G) -> GroupRelation
    where
        Self: Sized,
    {
        match group_of(self).compare(&group_of(other)) {
            core::Comparison::Identical | core::Comparison::Congruent => GroupRelation::Identical,
            core::Comparison::Similar => GroupRelation::Similar,
            core::Comparison::Unequal => GroupRelation::Unequal,
        }
    }
}

/// Result of a comparison of two groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupRelation {
    /// The same ranks in the same order.
    Identical,
    /// The same ranks in another order.
    Similar,
    /// Different ranks.
    Unequal,
}
