//! Groups of ranks.

use graphmap_runtime::mpi as core;

use super::Rank;
use crate::abi::{MPI_Group, Members};
use crate::raw::AsRaw;

/// A group that there always is.
#[derive(Debug, Clone, Copy)]
pub struct SystemGroup(MPI_Group);

impl SystemGroup {
    /// That of no rank.
    pub fn empty() -> SystemGroup {
        SystemGroup(MPI_Group(std::ptr::null()))
    }
}

// SAFETY: null is that of no rank.
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
    /// A group that a rank of a communicator has made.
    pub(super) fn new(group: &core::Group, of: &core::Communicator) -> Self {
        let maker = Some((of.group().clone(), of.rank()));
        let group = group.clone();
        UserGroup(Box::new(Members { group, maker }))
    }
}

// SAFETY: what it points to lives as long as this.
unsafe impl AsRaw for UserGroup {
    type Raw = MPI_Group;

    fn as_raw(&self) -> MPI_Group {
        MPI_Group(&raw const *self.0)
    }
}

impl Group for UserGroup {}

/// What is behind the handle of a group; none: no rank is.
fn members<G: Group + ?Sized>(group: &G) -> Option<&Members> {
    // SAFETY: handles are valid as long as what has them.
    unsafe { group.as_raw().0.as_ref() }
}

/// The group behind a handle.
pub(super) fn group_of<G: Group + ?Sized>(group: &G) -> core::Group {
    members(group).map_or_else(|| core::Group::all(0), |members| members.group.clone())
}

/// One that is made of others, by whoever has made the first of them.
fn made(group: core::Group, of: [Option<&Members>; 2]) -> UserGroup {
    let mut makers = of.into_iter().flatten().filter_map(|one| one.maker.clone());
    let maker = makers.next();
    UserGroup(Box::new(Members { group, maker }))
}

/// A number of a rank as the runtime has it; what is less than 0 is that of no rank.
pub(crate) fn number(rank: Rank) -> usize {
    usize::try_from(rank).unwrap_or(usize::MAX)
}

/// A number of a rank as rsmpi has it.
pub(crate) fn rank(number: usize) -> Rank {
    Rank::try_from(number).expect("there are fewer ranks than 2^31")
}

/// A set of ranks in an order.
pub trait Group: AsRaw<Raw = MPI_Group> {
    /// The ranks of this one, then those of the other one that this one does not have.
    fn union<G: Group>(&self, other: &G) -> UserGroup
    where
        Self: Sized,
    {
        let group = group_of(self).union(&group_of(other));
        made(group, [members(self), members(other)])
    }

    /// The ranks of this one that the other one has, too.
    fn intersection<G: Group>(&self, other: &G) -> UserGroup
    where
        Self: Sized,
    {
        let group = group_of(self).intersection(&group_of(other));
        made(group, [members(self), members(other)])
    }

    /// The ranks of this one that the other one does not have.
    fn difference<G: Group>(&self, other: &G) -> UserGroup
    where
        Self: Sized,
    {
        let group = group_of(self).difference(&group_of(other));
        made(group, [members(self), members(other)])
    }

    /// These of its ranks, in this order.
    ///
    /// # Panics
    /// If it does not have one, or one is there twice.
    #[track_caller]
    fn include(&self, ranks: &[Rank]) -> UserGroup {
        let ranks: Vec<usize> = ranks.iter().map(|&rank| number(rank)).collect();
        let group = crate::done(group_of(self).include(&ranks));
        made(group, [members(self), None])
    }

    /// All of its ranks but these.
    ///
    /// # Panics
    /// As [`include`](Self::include).
    #[track_caller]
    fn exclude(&self, ranks: &[Rank]) -> UserGroup {
        let ranks: Vec<usize> = ranks.iter().map(|&rank| number(rank)).collect();
        let group = crate::done(group_of(self).exclude(&ranks));
        made(group, [members(self), None])
    }

    /// How many ranks it has.
    fn size(&self) -> Rank {
        rank(group_of(self).size())
    }

    /// Which of them calls this. Of [endpoints](crate::endpoint) it is the one of whose communicator the group was made.
    fn rank(&self) -> Option<Rank> {
        let find =
            |of: &core::Group, at: usize| of.translate(&[at], &group_of(self)).pop().flatten();
        let world = core::world().ok();
        let found = world.and_then(|world| find(world.group(), world.rank()));
        let maker = || members(self).and_then(|members| members.maker.as_ref());
        let found = found.or_else(|| maker().and_then(|(of, at)| find(of, *at)));
        found.map(rank)
    }

    /// The rank of another group that is the same process as one of this.
    fn translate_rank<G: Group>(&self, rank: Rank, other: &G) -> Option<Rank>
    where
        Self: Sized,
    {
        self.translate_ranks(&[rank], other)
            .into_iter()
            .next()
            .flatten()
    }

    /// The ranks of another group that are the same processes as some of this.
    fn translate_ranks<G: Group>(&self, ranks: &[Rank], other: &G) -> Vec<Option<Rank>>
    where
        Self: Sized,
    {
        let ranks: Vec<usize> = ranks.iter().map(|&rank| number(rank)).collect();
        let found = group_of(self).translate(&ranks, &group_of(other));
        found.into_iter().map(|found| found.map(rank)).collect()
    }

    /// How it compares with another.
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

/// How two groups compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupRelation {
    /// The same ranks in the same order.
    Identical,
    /// The same ranks in another order.
    Similar,
    /// Different ranks.
    Unequal,
}
