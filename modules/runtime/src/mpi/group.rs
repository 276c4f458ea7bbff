//! Which processes a communicator has, and in what order.
//!
//! Two forms: a progression of ranks of the world in a few bytes, and a list with a second one, by rank, in which they
//! are looked up. (Many more forms, for many more groups, are in `graphmap-rankmap`, which is a crate of its own: the
//! runtime's source is copied into projects, and depends on nothing.)

use std::rc::Rc;

use super::error::Error;
use crate::payload::{DecodeError, Decoder, Encoder, Payload};

/// An ordered set of processes, each known by its rank in the world.
///
/// ```
/// use graphmap_runtime::mpi::Group;
/// let all = Group::all(10);
/// let even = all.include_ranges(&[(0, 8, 2)]).unwrap();
/// assert_eq!(even.size(), 5);
/// assert_eq!(even.translate(&[1, 2], &all), [Some(2), Some(4)]);
/// assert_eq!(all.difference(&even).members().collect::<Vec<_>>(), [1, 3, 5, 7, 9]);
/// ```
#[derive(Clone, Debug)]
pub struct Group(Form);

#[derive(Clone, Debug)]
enum Form {
    /// `first`, `first + step` and so on; `step` is not 0.
    Progression {
        first: u32,
        step: i64,
        len: u32,
    },
    Listed(Rc<Listed>),
}

#[derive(Debug)]
struct Listed {
    members: Box<[u32]>,
    /// Ranks in the group, by what rank in the world they are.
    by_member: Box<[u32]>,
}

/// How two groups compare, or two communicators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The same processes in the same order; of communicators: they are one.
    Identical,
    /// Of communicators only: the same processes in the same order, but messages of one are none of the other.
    Congruent,
    /// The same processes in another order.
    Similar,
    /// Other processes.
    Unequal,
}

const TWICE: Error = Error::group("a group has each of its ranks once");
const OUTSIDE: Error = Error::group("a group has only ranks of the one that it is made from");

impl Group {
    /// The first ranks of the world, in order.
    pub fn all(ranks: u32) -> Group {
        Group(Form::Progression {
            first: 0,
            step: 1,
            len: ranks,
        })
    }

    /// A group of ranks in the world. Takes O(n log n).
    ///
    /// # Errors
    /// [`Error::Group`]: a rank is there twice.
    pub fn of(members: Vec<u32>) -> Result<Group, Error> {
        if let Some(progression) = progression(&members) {
            return Ok(progression);
        }
        let mut by_member: Vec<u32> = (0..members.len() as u32).collect();
        let member = |at: u32| members[at as usize];
        by_member.sort_unstable_by_key(|&at| member(at));
        if by_member
            .windows(2)
            .any(|two| member(two[0]) == member(two[1]))
        {
            return Err(TWICE);
        }
        Ok(Group(Form::Listed(Rc::new(Listed {
            members: members.into(),
            by_member: by_member.into(),
        }))))
    }

    /// How many it has.
    pub fn size(&self) -> usize {
        self.len() as usize
    }

    pub(super) fn len(&self) -> u32 {
        match &self.0 {
            Form::Progression { len, .. } => *len,
            Form::Listed(listed) => listed.members.len() as u32,
        }
    }

    /// The rank in the world of a rank of the group.
    #[inline]
    pub(super) fn at(&self, rank: u32) -> Option<u32> {
        match &self.0 {
            Form::Progression { first, step, len } => {
                (rank < *len).then(|| (i64::from(*first) + step * i64::from(rank)) as u32)
            }
            Form::Listed(listed) => listed.members.get(rank as usize).copied(),
        }
    }

    /// The rank in the group of a rank of the world. Takes O(log n) where the group is no progression.
    pub(super) fn rank_of(&self, member: u32) -> Option<u32> {
        match &self.0 {
            Form::Progression { first, step, len } => {
                let far = i64::from(member) - i64::from(*first);
                (far % step == 0 && (0..i64::from(*len)).contains(&(far / step)))
                    .then(|| (far / step) as u32)
            }
            Form::Listed(listed) => {
                let by = |&at: &u32| listed.members[at as usize];
                let at = listed.by_member.binary_search_by_key(&member, by).ok()?;
                Some(listed.by_member[at])
            }
        }
    }

    /// The ranks in the world of its members, in order.
    pub fn members(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).filter_map(|rank| self.at(rank))
    }

    /// Whether a process is in it, by its rank in the world.
    pub fn has(&self, member: u32) -> bool {
        self.rank_of(member).is_some()
    }

    /// The group of these of its ranks, in this order.
    ///
    /// # Errors
    /// [`Error::Group`]: it does not have a rank, or a rank is there twice.
    pub fn include(&self, ranks: &[usize]) -> Result<Group, Error> {
        let member = |&rank: &usize| u32::try_from(rank).ok().and_then(|rank| self.at(rank));
        let members: Option<Vec<u32>> = ranks.iter().map(member).collect();
        Group::of(members.ok_or(OUTSIDE)?)
    }

    /// The group without these of its ranks.
    ///
    /// # Errors
    /// As [`Group::include`].
    pub fn exclude(&self, ranks: &[usize]) -> Result<Group, Error> {
        Ok(self.difference(&self.include(ranks)?))
    }

    /// The group of its ranks from the first of each triple to the second, in steps of the third, which may be less than 0.
    ///
    /// # Errors
    /// As [`Group::include`]; or a step is 0.
    pub fn include_ranges(&self, ranges: &[(usize, usize, isize)]) -> Result<Group, Error> {
        let mut ranks = Vec::new();
        for &(first, last, step) in ranges {
            if step == 0 {
                return Err(Error::group("ranks of a range are in steps other than 0"));
            }
            if first >= self.size() {
                return Err(OUTSIDE);
            }
            let is_before = |rank: usize| if step > 0 { rank <= last } else { rank >= last };
            let mut next = Some(first);
            while let Some(rank) = next.filter(|&rank| is_before(rank)) {
                if rank >= self.size() {
                    return Err(OUTSIDE);
                }
                ranks.push(rank);
                next = rank.checked_add_signed(step);
            }
        }
        self.include(&ranks)
    }

    /// All of this one in its order, then those of the other that this one does not have.
    pub fn union(&self, other: &Group) -> Group {
        let more = other.members().filter(|&member| !self.has(member));
        self.made_of(self.members().chain(more))
    }

    /// Those of this one that the other one has too.
    pub fn intersection(&self, other: &Group) -> Group {
        self.made_of(self.members().filter(|&member| other.has(member)))
    }

    /// Those of this one that the other one does not have.
    pub fn difference(&self, other: &Group) -> Group {
        self.made_of(self.members().filter(|&member| !other.has(member)))
    }

    /// A group of members of which none is there twice.
    fn made_of(&self, members: impl Iterator<Item = u32>) -> Group {
        Group::of(members.collect()).unwrap_or_else(|_| Group::all(0))
    }

    /// Which ranks these of its ranks have in the other one; `None`: one that it does not have, or that this one does not.
    pub fn translate(&self, ranks: &[usize], other: &Group) -> Vec<Option<usize>> {
        let one = |&rank: &usize| {
            let member = self.at(u32::try_from(rank).ok()?)?;
            other.rank_of(member).map(|rank| rank as usize)
        };
        ranks.iter().map(one).collect()
    }

    /// Whether another has the same processes in the same order. In constant time where it is this one, or both are progressions.
    pub(super) fn same(&self, other: &Group) -> bool {
        match (&self.0, &other.0) {
            (Form::Listed(one), Form::Listed(other)) => {
                Rc::ptr_eq(one, other) || one.members == other.members
            }
            _ => self.len() == other.len() && self.members().eq(other.members()),
        }
    }

    /// How many bytes it is, for who sends it.
    pub(super) fn size_as_bytes(&self) -> usize {
        Payload::size(self)
    }

    /// How it compares with another.
    pub fn compare(&self, other: &Group) -> Comparison {
        if self.same(other) {
            Comparison::Identical
        } else if self.len() == other.len() && self.members().all(|member| other.has(member)) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }
}

/// The members as a progression, if they are one.
fn progression(members: &[u32]) -> Option<Group> {
    let first = members.first().copied().unwrap_or(0);
    let step = members
        .get(1)
        .map_or(1, |&second| i64::from(second) - i64::from(first));
    let is_next = |two: &[u32]| i64::from(two[1]) - i64::from(two[0]) == step;
    let progression = Group(Form::Progression {
        first,
        step,
        len: members.len() as u32,
    });
    (step != 0 && members.windows(2).all(is_next)).then_some(progression)
}

/// A progression as its three numbers, or all members.
type Bytes = Result<(u32, i64, u32), Box<[u32]>>;

impl Group {
    fn to_bytes(&self) -> Bytes {
        match &self.0 {
            Form::Progression { first, step, len } => Ok((*first, *step, *len)),
            Form::Listed(listed) => Err(listed.members.clone()),
        }
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
        match Bytes::decode(from)? {
            Ok((first, step, len)) => {
                let last = i64::from(len)
                    .checked_sub(1)
                    .and_then(|n| n.checked_mul(step));
                let last = last.and_then(|far| far.checked_add(i64::from(first)));
                let ends = last.is_some_and(|last| len == 0 || u32::try_from(last).is_ok());
                match ends && step != 0 {
                    true => Ok(Group(Form::Progression { first, step, len })),
                    false => Err(from.error("a group of ranks")),
                }
            }
            Err(members) => Group::of(members.into()).map_err(|_| from.error("a group of ranks")),
        }
    }
}
