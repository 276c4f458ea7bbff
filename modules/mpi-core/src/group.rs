//! Groups: the processes of a communicator and their order, stored as a rank map. The size of the
//! map depends on the structure of the group.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graphmap_rankmap as rankmap;
use rankmap::{RankMap, Strategy};

use super::error::Error;
use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};

/// An ordered set of processes, each identified by its rank in the world. A group may also contain
/// [endpoints](super::Communicator::endpoints). The numbers of endpoints follow the ranks of the
/// world.
///
/// A group is stored as a rank map (`graphmap-rankmap`). The world, a row of a grid, or all ranks
/// except a few take a few bytes each. A part of a group is stored relative to that group if this
/// is smaller. Clones share their data.
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
    /// Leases of the endpoints that the group may contain.
    leases: Vec<Arc<Lease>>,
}

/// Prevents the numbers of endpoints from being reused. Endpoints that were made together share one
/// lease, and each group of them on this scheduler holds it.
#[derive(Debug, Default)]
pub(super) struct Lease {
    /// True if groups that do not hold the lease may contain the endpoints.
    is_lasting: AtomicBool,
}

impl Lease {
    /// Makes the lease last until the end of the run.
    pub(super) fn last(&self) {
        self.is_lasting.store(true, Ordering::Relaxed);
    }

    /// Returns true if `this` is the last reference to the lease, and the lease does not last until
    /// the end of the run. Then no group holds the lease, and none will hold it again.
    pub(super) fn is_over(this: &mut Arc<Lease>) -> bool {
        Arc::get_mut(this).is_some_and(|lease| !*lease.is_lasting.get_mut())
    }
}

/// Result of comparing two groups or two communicators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The same processes in the same order. Of communicators: the same communicator.
    Identical,
    /// Of communicators only: the same processes in the same order, but messages are separate.
    Congruent,
    /// The same processes in another order.
    Similar,
    /// Different processes.
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

/// Converts ranks to the type that rank maps use. Returns [`Error::Group`] if a rank is 2^32 or
/// more.
fn narrow(ranks: &[usize]) -> Result<Vec<u32>, Error> {
    let all = ranks.iter().map(|&rank| u32::try_from(rank));
    all.collect::<Result<_, _>>().or(Err(OUTSIDE))
}

impl Group {
    /// Returns the group of the world ranks from 0 to `ranks` - 1, in order. The group is empty if
    /// `ranks` is 0. The function does not check that the world has these ranks.
    pub fn all(ranks: u32) -> Group {
        Group::plain(RankMap::identity(u64::from(ranks)))
    }

    /// Returns a group of world ranks in the given order. Takes O(n log n) if the ranks do not
    /// ascend. The function does not check that the world has these ranks.
    ///
    /// # Errors
    /// [`Error::Group`] if a rank occurs twice.
    pub fn of(members: Vec<u32>) -> Result<Group, Error> {
        let map = RankMap::from_slice(&members);
        map.map(Group::plain).map_err(wrong)
    }

    /// Creates a group without leases. It must not contain endpoints whose numbers can be reused.
    fn plain(map: RankMap) -> Group {
        let leases = Vec::new();
        Group { map, leases }
    }

    /// Returns the group of `len` endpoints that were made together, numbered from `first`. It
    /// holds their lease. [`Error::Group`] if a number exceeds 2^32 - 1.
    pub(super) fn of_endpoints(first: u32, len: u32, lease: &Arc<Lease>) -> Result<Group, Error> {
        let map = RankMap::range(first, 1, u64::from(len)).map_err(wrong)?;
        let leases = vec![Arc::clone(lease)];
        Ok(Group { map, leases })
    }

    /// Creates a group of members of this one, which keeps its leases. An error in `map` becomes
    /// [`Error::Group`].
    fn some(&self, map: Result<RankMap, rankmap::Error>) -> Result<Group, Error> {
        let leases = self.leases.clone();
        map.map(|map| Group { map, leases }).map_err(wrong)
    }

    /// Returns the same group in the form that `strategy` chooses: the fewest bytes, the shortest
    /// look-ups, or a compromise. All other groups have the form of [`Strategy::default`], and this
    /// includes groups that are derived from the returned one. A communicator that is
    /// [created](super::Communicator::create) from the returned group keeps its form.
    ///
    /// Takes O(n), or O(n log n) if the members do not ascend.
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
        // A valid map can always be rebuilt, so the fallback is not used.
        let map = builder.rebuild(&self.map);
        Group {
            map: map.unwrap_or_else(|_| self.map.clone()),
            leases: self.leases.clone(),
        }
    }

    /// Returns the number of members.
    pub fn size(&self) -> usize {
        self.len() as usize
    }

    /// Returns the size in memory, in bytes. Data that this group shares with other groups are
    /// included.
    pub fn bytes(&self) -> usize {
        self.map.bytes()
    }

    /// Returns the number of members, modulo 2^32. Only a group of all 2^32 numbers, which no world
    /// has, reaches that: the result is then 0.
    pub(super) fn len(&self) -> u32 {
        self.map.len() as u32
    }

    /// Returns the world rank of a rank of the group, or the number of the endpoint. `None` if the
    /// group does not have this rank.
    #[inline]
    pub(super) fn at(&self, rank: u32) -> Option<u32> {
        self.map.select(rank)
    }

    /// Returns the rank in the group of a world rank or endpoint. `None` if it is not a member.
    /// Takes at most O(log n) if the group has no closed form.
    #[inline]
    pub(super) fn rank_of(&self, member: u32) -> Option<u32> {
        self.map.rank(member)
    }

    /// Iterates over the world ranks of the members and the numbers of endpoints, in the order of
    /// the group. The number of an endpoint is unique while a group contains the endpoint. After
    /// that, the number may be given to another endpoint.
    pub fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.map.iter()
    }

    /// Returns true if the group contains the process with this world rank, or the endpoint with
    /// this number.
    pub fn has(&self, member: u32) -> bool {
        self.map.contains(member)
    }

    /// Returns the group of these ranks of the group, in the given order (`MPI_Group_incl`).
    ///
    /// # Errors
    /// [`Error::Group`] if the group does not have a rank, or if a rank occurs twice.
    pub fn include(&self, ranks: &[usize]) -> Result<Group, Error> {
        self.some(self.map.include(&narrow(ranks)?))
    }

    /// Returns the group of the ranks of this one that are the members of `ranks`, in the order of
    /// `ranks`. [`Error::Group`] if this group does not have one of these ranks. The result is this
    /// group if `ranks` contains all ranks in order. Otherwise it is stored relative to this group
    /// if that is smaller.
    pub(super) fn compose(&self, ranks: &Group) -> Result<Group, Error> {
        self.some(self.map.compose(&ranks.map))
    }

    /// Splits `0..ranks` by the colour and the key that `choice` returns for each rank. Returns one
    /// group per colour, ascending by colour. A group is ordered by key, and by rank if keys are
    /// equal. Ranks without a colour are in no group. An error is possible only if `choice` returns
    /// different values for the same rank.
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

    /// Returns the ranks of a row-major grid with the dimensions `sides` whose coordinates equal
    /// the given ones in `fixed`. Dimensions with `None` are not restricted. [`Error::Group`] if
    /// `sides` is not a valid grid, or if `fixed` does not fit it.
    pub(super) fn section(sides: &[u32], fixed: &[Option<u32>]) -> Result<Group, Error> {
        let grid = rankmap::Cartesian::new(sides);
        let section = grid.and_then(|grid| grid.section(fixed));
        section.map(Group::plain).map_err(wrong)
    }

    /// Returns the group with `by` added to each member. The result holds no leases. `None` if a
    /// sum is not a valid rank.
    pub(super) fn moved(&self, by: i64) -> Option<Group> {
        self.map.moved(by).map(Group::plain)
    }

    /// Returns the difference between each member of `other` and the member of this group with the
    /// same rank (`other` minus this). `None` if the difference is not the same for all ranks, the
    /// sizes differ, or this group is empty.
    pub(super) fn distance(&self, other: &Group) -> Option<i64> {
        let last = self.len().checked_sub(1)?;
        let far = |rank: u32| Some(i64::from(other.at(rank)?) - i64::from(self.at(rank)?));
        let by = far(0)?;
        let may_be =
            self.len() == other.len() && far(last) == Some(by) && far(last / 2) == Some(by);
        (may_be && self.moved(by)?.same(other)).then_some(by)
    }

    /// Returns the group without these of its ranks, in the order of this group (`MPI_Group_excl`).
    ///
    /// # Errors
    /// As for [`Group::include`].
    pub fn exclude(&self, ranks: &[usize]) -> Result<Group, Error> {
        self.some(self.map.exclude(&narrow(ranks)?))
    }

    /// Returns the group of the ranks in these ranges, range by range (`MPI_Group_range_incl`).
    /// Each triple is the first rank, a bound for the last rank, and the step, which may be
    /// negative. The bound belongs to the range if a whole number of steps leads to it. A range
    /// whose step leads away from the bound is empty.
    ///
    /// # Errors
    /// As for [`Group::include`]. [`Error::Group`] if a step is 0, or if the group does not have
    /// the first rank of a range, even if the range is empty.
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
            // A range whose step leads away from its end is empty.
            if from != to && (from < to) != (step > 0) {
                continue;
            }
            let steps = (to - from) / step;
            let reached = u32::try_from(from + steps * step).or(Err(OUTSIDE))?;
            // For a range of one rank, the step has no effect.
            let step = i64::try_from(step).unwrap_or(1);
            all.push((first, reached, if steps == 0 { 1 } else { step }));
        }
        self.some(self.map.range_include(&all))
    }

    /// Returns all members of this group in its order, followed by the members of `other` that this
    /// group does not have, in the order of `other` (`MPI_Group_union`).
    pub fn union(&self, other: &Group) -> Group {
        let map = self.map.union(&other.map);
        let leases = self.leases.clone();
        Group { map, leases }.holding(other)
    }

    /// Returns the same group, which holds the leases of `other` as well.
    pub(super) fn holding(mut self, other: &Group) -> Group {
        for lease in &other.leases {
            if !self.leases.iter().any(|it| Arc::ptr_eq(it, lease)) {
                self.leases.push(Arc::clone(lease));
            }
        }
        self
    }

    /// Returns the members of this group that `other` has too, in the order of this group
    /// (`MPI_Group_intersection`).
    pub fn intersection(&self, other: &Group) -> Group {
        let map = self.map.intersection(&other.map);
        let leases = self.leases.clone();
        Group { map, leases }.holding(other)
    }

    /// Returns the members of this group that `other` does not have, in the order of this group
    /// (`MPI_Group_difference`).
    pub fn difference(&self, other: &Group) -> Group {
        Group {
            map: self.map.difference(&other.map),
            leases: self.leases.clone(),
        }
    }

    /// Returns the ranks in `other` of the given ranks of this group. An item is `None` if this
    /// group does not have the rank, or if `other` does not have the process
    /// (`MPI_Group_translate_ranks`).
    pub fn translate(&self, ranks: &[usize], other: &Group) -> Vec<Option<usize>> {
        let one = |&rank: &usize| {
            let member = self.at(u32::try_from(rank).ok()?)?;
            other.rank_of(member).map(|rank| rank as usize)
        };
        ranks.iter().map(one).collect()
    }

    /// Returns true if both groups have the same processes in the same order. Takes constant time
    /// if the two share their data or are the same closed form.
    pub(super) fn same(&self, other: &Group) -> bool {
        self.map.compare(&other.map) == rankmap::Comparison::Identical
    }

    /// Returns the encoded size, in bytes.
    pub(super) fn size_as_bytes(&self) -> usize {
        Payload::size(self)
    }

    /// Encodes the group. A group that is stored relative to a much larger one is encoded
    /// independently of it, because the larger group would take more bytes.
    fn to_bytes(&self) -> Vec<u8> {
        let alone = match self.bytes() > 8 * self.size() + 256 {
            true => RankMap::from_slice(&self.members().collect::<Vec<_>>()).ok(),
            false => None,
        };
        alone.as_ref().unwrap_or(&self.map).to_bytes()
    }

    /// Compares two groups (`MPI_Group_compare`). The result is never [`Comparison::Congruent`].
    pub fn compare(&self, other: &Group) -> Comparison {
        match self.map.compare(&other.map) {
            rankmap::Comparison::Identical => Comparison::Identical,
            rankmap::Comparison::Similar => Comparison::Similar,
            rankmap::Comparison::Unequal => Comparison::Unequal,
        }
    }
}

/// A group that another scheduler needs only for the duration of a call. The leases need not last,
/// because the other scheduler drops the group afterwards.
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

/// The encoding is the encoding of the rank map.
impl Payload for Group {
    fn size(&self) -> usize {
        Payload::size(&self.to_bytes())
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        // The decoded group has no leases, so the leases must last until the end of the run.
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

    /// Encodes parts of a large group, and checks that they take only the bytes that their ranks
    /// need.
    #[test]
    #[cfg_attr(miri, ignore = "safe code, which takes minutes there")]
    fn small_parts_are_encoded_without_the_larger_group() {
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
