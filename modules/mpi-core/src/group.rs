//! Which processes a communicator has, and in what order: a rank map, in as few bytes as its structure needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graphmap_rankmap as rankmap;
use rankmap::{RankMap, Strategy};

use super::error::Error;
use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};

/// An ordered set of processes, each known by its rank in the world. [Endpoints](super::Communicator::endpoints) are in groups
/// as processes are, by numbers of their own behind those ranks.
///
/// It is kept as a rank map (`graphmap-rankmap`): the world, a row of a grid, all but a few take a few bytes each, and a part of a group
/// is kept relative to it where that is smaller. A clone shares what it has.
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
pub struct Group {
    map: RankMap,
    /// Of the endpoints that it may name.
    leases: Vec<Arc<Lease>>,
}

/// Keeps the numbers of endpoints that were made together from being given again: a scheduler that
/// has groups of them has them all hold one lease.
#[derive(Debug, Default)]
pub(super) struct Lease {
    /// Others may have groups of them that do not hold it.
    is_lasting: AtomicBool,
}

impl Lease {
    /// Makes it last as long as the run.
    pub(super) fn last(&self) {
        self.is_lasting.store(true, Ordering::Relaxed);
    }

    /// Returns whether no group holds it any more, and so none ever will.
    pub(super) fn is_over(this: &mut Arc<Lease>) -> bool {
        Arc::get_mut(this).is_some_and(|lease| !*lease.is_lasting.get_mut())
    }
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

const TWICE: Error = Error::group("a rank occurs twice in the group");
const OUTSIDE: Error = Error::group("a rank is not in the original group");

fn wrong(error: rankmap::Error) -> Error {
    match error {
        rankmap::Error::Duplicate(_) => TWICE,
        _ => OUTSIDE,
    }
}

/// Ranks as rank maps have them.
fn narrow(ranks: &[usize]) -> Result<Vec<u32>, Error> {
    let all = ranks.iter().map(|&rank| u32::try_from(rank));
    all.collect::<Result<_, _>>().or(Err(OUTSIDE))
}

impl Group {
    /// The first ranks of the world, in order.
    pub fn all(ranks: u32) -> Group {
        Group::plain(RankMap::identity(u64::from(ranks)))
    }

    /// A group of ranks in the world. Takes O(n log n) where they do not ascend.
    ///
    /// # Errors
    /// [`Error::Group`]: a rank is there twice.
    pub fn of(members: Vec<u32>) -> Result<Group, Error> {
        let map = RankMap::from_slice(&members);
        map.map(Group::plain).map_err(wrong)
    }

    /// Without endpoints, or with some of which the numbers are not given again.
    fn plain(map: RankMap) -> Group {
        let leases = Vec::new();
        Group { map, leases }
    }

    /// Endpoints that were made together, by the number of the first.
    pub(super) fn of_endpoints(first: u32, len: u32, lease: &Arc<Lease>) -> Result<Group, Error> {
        let map = RankMap::range(first, 1, u64::from(len)).map_err(wrong)?;
        let leases = vec![Arc::clone(lease)];
        Ok(Group { map, leases })
    }

    /// Some of its members.
    fn some(&self, map: Result<RankMap, rankmap::Error>) -> Result<Group, Error> {
        let leases = self.leases.clone();
        map.map(|map| Group { map, leases }).map_err(wrong)
    }

    /// Returns the same group in the form that a strategy chooses for it: the fewest bytes, the
    /// shortest look-ups, or a compromise. Without it, groups have the form of
    /// [`Strategy::default`], and so have groups that are made of this one. A communicator that is
    /// [created](super::Communicator::create) by the group has it in that form.
    ///
    /// Takes O(n), and O(n log n) where the members do not ascend.
    ///
    /// ```
    /// use graphmap_runtime::mpi::{Group, Strategy};
    /// let primes = (2..5000_u32).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d > 0));
    /// let group = Group::of(primes.collect()).unwrap();
    /// let (small, fast) = (group.kept_by(Strategy::Space), group.kept_by(Strategy::Time));
    /// assert!(small.bytes() < fast.bytes());
    /// assert!(small.members().eq(fast.members()));
    /// ```
    pub fn kept_by(&self, strategy: Strategy) -> Group {
        let builder = rankmap::Builder::new().strategy(strategy);
        // A map can be represented again.
        let map = builder.rebuild(&self.map);
        Group {
            map: map.unwrap_or_else(|_| self.map.clone()),
            leases: self.leases.clone(),
        }
    }

    /// How many it has.
    pub fn size(&self) -> usize {
        self.len() as usize
    }

    /// How many bytes it takes in memory.
    pub fn bytes(&self) -> usize {
        self.map.bytes()
    }

    /// Processes are fewer than 2^32.
    pub(super) fn len(&self) -> u32 {
        self.map.len() as u32
    }

    /// The rank in the world of a rank of the group.
    #[inline]
    pub(super) fn at(&self, rank: u32) -> Option<u32> {
        self.map.select(rank)
    }

    /// The rank in the group of a rank of the world. Takes O(log n) at most where the group is no closed form.
    #[inline]
    pub(super) fn rank_of(&self, member: u32) -> Option<u32> {
        self.map.rank(member)
    }

    /// The ranks in the world of its members, in order. The number of an endpoint is its own as
    /// long as a group has it: when there is none any more, another endpoint may get it.
    pub fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.map.iter()
    }

    /// Whether a process is in it, by its rank in the world.
    pub fn has(&self, member: u32) -> bool {
        self.map.contains(member)
    }

    /// The group of these of its ranks, in this order.
    ///
    /// # Errors
    /// [`Error::Group`]: it does not have a rank, or a rank is there twice.
    pub fn include(&self, ranks: &[usize]) -> Result<Group, Error> {
        self.some(self.map.include(&narrow(ranks)?))
    }

    /// Returns the group of the ranks of this one that are the members of `ranks`, in their order:
    /// this one if these are all, and relative to it where that is smaller.
    pub(super) fn compose(&self, ranks: &Group) -> Result<Group, Error> {
        self.some(self.map.compose(&ranks.map))
    }

    /// Splits `0..ranks` by a colour and a key for each: a group for each colour, ascending by
    /// colour.
    pub(super) fn split(
        ranks: u32,
        choice: impl Fn(u32) -> (Option<u32>, i64),
    ) -> Result<Vec<(u32, Group)>, Error> {
        let choice = |rank| {
            let (colour, key) = choice(rank);
            rankmap::Choice { colour, key }
        };
        let parts = RankMap::identity(ranks.into()).split(choice);
        let parts = parts.map_err(wrong)?.into_iter();
        Ok(parts
            .map(|(colour, part)| (colour, Group::plain(part)))
            .collect())
    }

    /// Returns the ranks of a grid with the coordinates that are given, whatever the others.
    pub(super) fn section(sides: &[u32], fixed: &[Option<u32>]) -> Result<Group, Error> {
        let grid = rankmap::Cartesian::new(sides);
        let section = grid.and_then(|grid| grid.section(fixed));
        section.map(Group::plain).map_err(wrong)
    }

    /// Returns the group with each member plus `by`; `None` if there are not such ranks.
    pub(super) fn moved(&self, by: i64) -> Option<Group> {
        self.map.moved(by).map(Group::plain)
    }

    /// Returns how far the members of another group are behind those of this one, if that is the
    /// same for all.
    pub(super) fn distance(&self, other: &Group) -> Option<i64> {
        let last = self.len().checked_sub(1)?;
        let far = |rank: u32| Some(i64::from(other.at(rank)?) - i64::from(self.at(rank)?));
        let by = far(0)?;
        let may_be =
            self.len() == other.len() && far(last) == Some(by) && far(last / 2) == Some(by);
        (may_be && self.moved(by)?.same(other)).then_some(by)
    }

    /// The group without these of its ranks.
    ///
    /// # Errors
    /// As [`Group::include`].
    pub fn exclude(&self, ranks: &[usize]) -> Result<Group, Error> {
        self.some(self.map.exclude(&narrow(ranks)?))
    }

    /// The group of its ranks from the first of each triple to the second, in steps of the third, which may be less than 0.
    ///
    /// # Errors
    /// As [`Group::include`]; or a step is 0.
    pub fn include_ranges(&self, ranges: &[(usize, usize, isize)]) -> Result<Group, Error> {
        let mut all = Vec::new();
        for &(first, last, step) in ranges {
            if step == 0 {
                return Err(Error::group("the step of a range of ranks must not be 0"));
            }
            let first = u32::try_from(first).or(Err(OUTSIDE))?;
            if first >= self.len() {
                return Err(OUTSIDE);
            }
            let (from, to, step) = (i128::from(first), last as i128, step as i128);
            // A range that goes away from its end has no ranks.
            if from != to && (from < to) != (step > 0) {
                continue;
            }
            let steps = (to - from) / step;
            let reached = u32::try_from(from + steps * step).or(Err(OUTSIDE))?;
            // Of one rank any step does.
            let step = i64::try_from(step).unwrap_or(1);
            all.push((first, reached, if steps == 0 { 1 } else { step }));
        }
        self.some(self.map.range_include(&all))
    }

    /// All of this one in its order, then those of the other that this one does not have.
    pub fn union(&self, other: &Group) -> Group {
        let map = self.map.union(&other.map);
        let leases = self.leases.clone();
        Group { map, leases }.holding(other)
    }

    /// The same group, which holds the leases of another one too.
    pub(super) fn holding(mut self, other: &Group) -> Group {
        for lease in &other.leases {
            if !self.leases.iter().any(|it| Arc::ptr_eq(it, lease)) {
                self.leases.push(Arc::clone(lease));
            }
        }
        self
    }

    /// Those of this one that the other one has too.
    pub fn intersection(&self, other: &Group) -> Group {
        let map = self.map.intersection(&other.map);
        let leases = self.leases.clone();
        Group { map, leases }.holding(other)
    }

    /// Those of this one that the other one does not have.
    pub fn difference(&self, other: &Group) -> Group {
        Group {
            map: self.map.difference(&other.map),
            leases: self.leases.clone(),
        }
    }

    /// Which ranks these of its ranks have in the other one; `None`: one that it does not have, or that this one does not.
    pub fn translate(&self, ranks: &[usize], other: &Group) -> Vec<Option<usize>> {
        let one = |&rank: &usize| {
            let member = self.at(u32::try_from(rank).ok()?)?;
            other.rank_of(member).map(|rank| rank as usize)
        };
        ranks.iter().map(one).collect()
    }

    /// Whether another has the same processes in the same order. In constant time where it is this one, or both are closed forms.
    pub(super) fn same(&self, other: &Group) -> bool {
        self.map.compare(&other.map) == rankmap::Comparison::Identical
    }

    /// How many bytes it is, for who sends it.
    pub(super) fn size_as_bytes(&self) -> usize {
        Payload::size(self)
    }

    /// Written down. What is relative to a group of many more ranks is written by itself, without these.
    fn to_bytes(&self) -> Vec<u8> {
        let alone = match self.bytes() > 8 * self.size() + 256 {
            true => RankMap::from_slice(&self.members().collect::<Vec<_>>()).ok(),
            false => None,
        };
        alone.as_ref().unwrap_or(&self.map).to_bytes()
    }

    /// How it compares with another.
    pub fn compare(&self, other: &Group) -> Comparison {
        match self.map.compare(&other.map) {
            rankmap::Comparison::Identical => Comparison::Identical,
            rankmap::Comparison::Similar => Comparison::Similar,
            rankmap::Comparison::Unequal => Comparison::Unequal,
        }
    }
}

/// A group that another scheduler looks at while a call lasts, and then lets go of: its leases need
/// not last.
pub(super) struct Shown(pub(super) Group);

impl Payload for Shown {
    fn size(&self) -> usize {
        self.0.size_as_bytes()
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        to.copy(&Encoder::to_vec(&self.0.to_bytes()));
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Group::decode(from).map(Shown)
    }
}

/// As rank maps are written down.
impl Payload for Group {
    fn size(&self) -> usize {
        Payload::size(&self.to_bytes())
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        // What is read has no leases.
        self.leases.iter().for_each(|lease| lease.last());
        to.copy(&Encoder::to_vec(&self.to_bytes()));
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let map = RankMap::from_bytes(&Vec::<u8>::decode(from)?);
        let processes = map.ok().filter(|map| map.len() <= u64::from(u32::MAX));
        match processes {
            Some(map) => Ok(Group::plain(map)),
            None => Err(from.error("a group of ranks")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part of a large group is written down in as many bytes as its own ranks need.
    #[test]
    #[cfg_attr(miri, ignore = "safe code, which takes minutes there")]
    fn small_parts_are_written_without_what_they_are_parts_of() {
        let mixed = |n: u32| n.wrapping_mul(0x9e37_79b1) >> 12;
        let mut members: Vec<u32> = (0..10_000).map(mixed).collect();
        members.sort_unstable();
        members.dedup();
        members.sort_by_key(|&member| member.wrapping_mul(0x85eb_ca6b));
        let all = Group::of(members.clone()).unwrap();
        let size = all.size_as_bytes();
        assert!(size > members.len());
        let every: Vec<usize> = (0..all.size()).step_by(100).collect();
        let ranks: Vec<u32> = every.iter().map(|&rank| rank as u32).collect();
        let ranks = Group::of(ranks).unwrap();
        for part in [all.include(&every).unwrap(), all.compose(&ranks).unwrap()] {
            let bytes = Encoder::to_vec(&part).clone();
            assert_eq!(bytes.len(), Payload::size(&part));
            assert!(bytes.len() < size / 10, "{} of {size}", bytes.len());
            let read: Group = Decoder::from_slice(&bytes).unwrap();
            assert!(read.same(&part));
        }
    }
}
