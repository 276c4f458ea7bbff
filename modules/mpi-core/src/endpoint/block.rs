//! Map from endpoints to their processes.
//!
//! Groups name processes by world rank. Endpoints have numbers above the world ranks, unique in a
//! run. One call allocates consecutive numbers, so a group of endpoints is an ordinary group. Each
//! scheduler allocates from a range of its own, without communication.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::entry::DONE;
use super::super::group::{Group, Lease};
use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};

/// Maximum number of ranks of a communicator: MPI counts ranks as `int`.
pub(super) const MOST: u32 = i32::MAX as u32;

const NO_ENDS: &Vec<u32> = &Vec::new();

/// Number of endpoints that each rank requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Counts {
    /// Each of `ranks` ranks requests `each` endpoints.
    Alike { ranks: u32, each: u32 },
    /// For each rank, the index after its last endpoint, counted from 0.
    Ends(Vec<u32>),
}

impl Payload for Counts {
    fn size(&self) -> usize {
        match self {
            Counts::Alike { .. } => 8 + NO_ENDS.size(),
            Counts::Ends(ends) => 8 + ends.size(),
        }
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        let (ranks, each, ends) = match self {
            Counts::Alike { ranks, each } => (ranks, each, NO_ENDS),
            Counts::Ends(ends) => (&0, &0, ends),
        };
        ranks.encode(to);
        each.encode(to);
        ends.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let (ranks, each, ends) = <(u32, u32, Vec<u32>)>::decode(from)?;
        let alike = u64::from(ranks) * u64::from(each) <= u64::from(MOST);
        match ends.last() {
            None if alike => Ok(Counts::Alike { ranks, each }),
            Some(&last) if last <= MOST && ends.is_sorted() => Ok(Counts::Ends(ends)),
            _ => Err(from.error("the number of endpoints of each rank")),
        }
    }
}

impl Counts {
    /// Creates counts from the number that each rank requests, in rank order. `Err` holds the total
    /// number if it is above [`MOST`].
    pub(super) fn of(counts: &[u32]) -> Result<Self, u64> {
        let all: u64 = counts.iter().copied().map(u64::from).sum();
        if all > u64::from(MOST) {
            return Err(all);
        }
        let each = counts.first().copied().unwrap_or_default();
        if counts.iter().all(|&count| count == each) {
            let ranks = counts.len() as u32;
            return Ok(Counts::Alike { ranks, each });
        }
        let mut end = 0;
        let ends = counts.iter().map(|count| {
            end += count;
            end
        });
        Ok(Counts::Ends(ends.collect()))
    }

    /// Returns the total number of endpoints.
    pub(super) fn all(&self) -> u32 {
        match self {
            Counts::Alike { ranks, each } => ranks * each,
            Counts::Ends(ends) => ends.last().copied().unwrap_or_default(),
        }
    }

    /// Returns the endpoints of a rank: the index of the first, and the index after the last. Both
    /// are equal if the rank has no endpoints or does not exist.
    pub(super) fn of_rank(&self, rank: u32) -> (u32, u32) {
        match self {
            Counts::Alike { ranks, each } => {
                (rank.min(*ranks) * each, (rank + 1).min(*ranks) * each)
            }
            Counts::Ends(ends) => {
                let before = rank.checked_sub(1).and_then(|rank| ends.get(rank as usize));
                let first = before.copied().unwrap_or_default();
                (first, ends.get(rank as usize).copied().unwrap_or(first))
            }
        }
    }

    /// Returns the rank that requested the endpoint at index `at`, which must exist.
    fn asked_by(&self, at: u32) -> u32 {
        match self {
            // `each` is not 0, because the endpoint exists.
            Counts::Alike { each, .. } => at / (*each).max(1),
            Counts::Ends(ends) => ends.partition_point(|&end| end <= at) as u32,
        }
    }
}

/// Endpoints that one call created, in the order of the requesting ranks.
#[derive(Debug, Clone)]
pub(in super::super) struct EndpointBlock {
    /// Number of the first endpoint.
    first: u32,
    /// Group of the requesting ranks. Some of them may be endpoints of earlier blocks.
    parent: Group,
    counts: Counts,
}

impl EndpointBlock {
    pub(super) fn new(first: u32, parent: Group, counts: Counts) -> Self {
        EndpointBlock {
            first,
            parent,
            counts,
        }
    }
}

impl Payload for EndpointBlock {
    fn size(&self) -> usize {
        self.first.size() + self.parent.size_as_bytes() + self.counts.size()
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        self.first.encode(to);
        self.parent.encode(to);
        self.counts.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let block = EndpointBlock {
            first: u32::decode(from)?,
            parent: Group::decode(from)?,
            counts: Counts::decode(from)?,
        };
        let end = block.first.checked_add(block.counts.all());
        match end.is_some_and(|end| end <= DONE) {
            true => Ok(block),
            false => Err(from.error("endpoints created by one call")),
        }
    }
}

/// Block whose numbers can be reused.
struct LeasedBlock {
    block: EndpointBlock,
    /// Lease that the groups on this scheduler share which name the block.
    lease: Arc<Lease>,
    /// Scheduler that allocated the numbers.
    leader: u32,
}

/// Endpoints that a scheduler knows, and the numbers that it can allocate.
///
/// The leader of a communicator allocates the numbers of its endpoints. They can be reused when no
/// group names them on any scheduler of the communicator. Each scheduler reports this to the leader
/// once, with its next call that creates endpoints and has the same leader. So a stale group never
/// names endpoints that were created later. Numbers that were sent elsewhere, as bytes or to the
/// schedulers of another group, are not reused.
pub(in super::super) struct Endpoints {
    /// Number of processes of the run.
    processes: u32,
    /// Blocks that are known until the run ends, by the number of the first endpoint.
    lasting: BTreeMap<u32, EndpointBlock>,
    /// Other blocks, by the number of the first endpoint. They are separate because each call that
    /// creates endpoints checks all of them.
    leased: BTreeMap<u32, LeasedBlock>,
    /// Free ranges: the first number of each, and the number after its last.
    free: BTreeMap<u32, u32>,
    /// Allocated blocks by first number: the length, and the number of schedulers that have not yet
    /// reported that none of their groups names the block.
    given: BTreeMap<u32, (u32, u32)>,
    /// Blocks that no group here names any more, and that are not reported yet: the leader and the
    /// first number.
    over: Vec<(u32, u32)>,
}

impl Endpoints {
    /// Creates the state for `scheduler`, one of `count` in a run with `processes` processes. The
    /// schedulers get equal ranges of the numbers above the world ranks.
    pub(in super::super) fn new(processes: u32, scheduler: u32, count: u32) -> Self {
        let each = DONE.saturating_sub(processes) / count.max(1);
        let first = processes.saturating_add(scheduler.saturating_mul(each));
        Endpoints {
            processes,
            lasting: BTreeMap::new(),
            leased: BTreeMap::new(),
            free: BTreeMap::from([(first, first.saturating_add(each))]),
            given: BTreeMap::new(),
            over: Vec::new(),
        }
    }

    /// Reserves `count` consecutive numbers for a block that `schedulers` schedulers will know.
    /// Returns the first, or `None` if no free range is long enough. If `count` is 0, returns the
    /// number of processes and reserves no numbers.
    pub(super) fn reserve(&mut self, count: u32, schedulers: u32) -> Option<u32> {
        if count == 0 {
            return Some(self.processes);
        }
        let fits = |&(first, end): &(&u32, &u32)| end - first >= count;
        let (&first, &end) = self.free.iter().find(fits)?;
        self.free.remove(&first);
        if end - first > count {
            self.free.insert(first + count, end);
        }
        self.given.insert(first, (count, schedulers));
        Some(first)
    }

    /// Records the report of one scheduler that none of its groups names the block that begins at
    /// `first`. After the last report, the numbers are free. A number that is not the first of an
    /// allocated block is ignored.
    pub(super) fn is_over(&mut self, first: u32) {
        let Some((count, schedulers)) = self.given.get_mut(&first) else {
            return;
        };
        *schedulers = schedulers.saturating_sub(1);
        if *schedulers > 0 {
            return;
        }
        let (mut first, mut end) = (first, first + *count);
        self.given.remove(&first);
        if let Some(after) = self.free.remove(&end) {
            end = after;
        }
        let before = self.free.range(..first).next_back();
        if let Some((&before, _)) = before.filter(|before| *before.1 == first) {
            first = before;
        }
        self.free.insert(first, end);
    }

    /// Removes the blocks that no group of this scheduler names any more. Returns the first numbers
    /// of those to report to `leader`. The others are kept until they are reported.
    pub(super) fn take_over(&mut self, leader: u32) -> Vec<u32> {
        let over = &mut self.over;
        // Dropping a block can release its parent, which may belong to another block.
        loop {
            let before = over.len();
            self.leased.retain(|&first, known| {
                let is_over = Lease::is_over(&mut known.lease);
                if is_over {
                    over.push((known.leader, first));
                }
                !is_over
            });
            if over.len() == before {
                break;
            }
        }
        let is_for_it = |it: &mut (u32, u32)| it.0 == leader;
        over.extract_if(.., is_for_it).map(|it| it.1).collect()
    }

    /// Records a block that other schedulers name. It is known until the run ends, because groups
    /// from other schedulers hold no lease. An empty block is ignored.
    pub(in super::super) fn learn(&mut self, block: EndpointBlock) {
        if block.counts.all() > 0 {
            self.leased.remove(&block.first);
            self.lasting.entry(block.first).or_insert(block);
        }
    }

    /// Records a block that is known while a group of this scheduler holds the lease. `leader` has
    /// allocated its numbers. A block that is empty or already known is ignored.
    pub(super) fn know(&mut self, block: EndpointBlock, lease: &Arc<Lease>, leader: u32) {
        if block.counts.all() > 0 && !self.lasting.contains_key(&block.first) {
            let lease = Arc::clone(lease);
            let known = self.leased.entry(block.first);
            known.or_insert(LeasedBlock {
                block,
                lease,
                leader,
            });
        }
    }

    fn block_of(&self, member: u32) -> Option<&EndpointBlock> {
        let lasting = self.lasting.range(..=member).next_back().map(|it| it.1);
        let leased = self.leased.range(..=member).next_back();
        let leased = leased.map(|(_, known)| &known.block);
        let mut blocks = lasting.into_iter().chain(leased);
        blocks.find(|block| member - block.first < block.counts.all())
    }

    /// Returns the world rank of the process of `member`, which is a process or an endpoint.
    /// Returns `None` if its block, or the block of an endpoint that requested it, is not known
    /// here.
    pub(in super::super) fn process_of(&self, member: u32) -> Option<u32> {
        let mut member = member;
        // Each step from an endpoint to its parent uses another block. The bound stops cycles in
        // blocks that another OS process sent.
        for _ in 0..=self.lasting.len() + self.leased.len() {
            if member < self.processes {
                return Some(member);
            }
            let block = self.block_of(member)?;
            let rank = block.counts.asked_by(member - block.first);
            member = block.parent.at(rank)?;
        }
        None
    }

    /// Returns the blocks that another scheduler needs to find the processes of `group`, as far as
    /// they are known here. The numbers of these endpoints are not reused.
    pub(in super::super) fn needed_for(&self, group: &Group) -> Vec<EndpointBlock> {
        let mut needed: BTreeSet<u32> = BTreeSet::new();
        let mut todo: Vec<Group> = vec![group.clone()];
        while let Some(group) = todo.pop() {
            let mut last: Option<&EndpointBlock> = None;
            for member in group.members().filter(|&member| member >= self.processes) {
                let is_in_last =
                    last.is_some_and(|last| member.wrapping_sub(last.first) < last.counts.all());
                if is_in_last {
                    continue;
                }
                last = self.block_of(member);
                if let Some(block) = last
                    && needed.insert(block.first)
                {
                    todo.push(block.parent.clone());
                }
            }
        }
        let needed = needed.iter().filter_map(|first| {
            if let Some(known) = self.leased.get(first) {
                known.lease.last();
                return Some(&known.block);
            }
            self.lasting.get(first)
        });
        needed.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with lists.
    #[test]
    fn counts_match_lists() {
        for counts in [
            vec![],
            vec![0, 0],
            vec![3, 3, 3],
            vec![0, 2, 0, 0, 5, 1, 0],
            vec![1, 0],
        ] {
            let of = Counts::of(&counts).unwrap();
            let asked = (0..).zip(&counts);
            let list: Vec<u32> = asked
                .flat_map(|(rank, &count)| vec![rank; count as usize])
                .collect();
            assert_eq!(of.all() as usize, list.len());
            assert!((0..).zip(&list).all(|(at, &rank)| of.asked_by(at) == rank));
            for rank in 0..counts.len() as u32 {
                let (first, end) = of.of_rank(rank);
                assert_eq!(end - first, counts[rank as usize]);
                assert!(
                    list[first as usize..end as usize]
                        .iter()
                        .all(|&it| it == rank)
                );
            }
            let bytes = Encoder::to_vec(&of).clone();
            assert_eq!(Decoder::from_slice::<Counts>(&bytes), Ok(of));
        }
    }

    #[test]
    fn counts_above_i32_max_are_errors() {
        assert_eq!(Counts::of(&[MOST]).unwrap().all(), MOST);
        assert_eq!(Counts::of(&[MOST, 1]), Err(1 << 31));
        let half = 1 << 30;
        assert_eq!(Counts::of(&[half, half]), Err(1 << 31));
    }

    /// Endpoints of endpoints belong to the process at the end of the chain. The blocks of the
    /// chain are sent with the group.
    #[test]
    fn endpoints_of_endpoints() {
        let mut here = Endpoints::new(4, 1, 2);
        let first = here.reserve(6, 1).unwrap();
        let parent = Group::of(vec![3, 1, 2]).unwrap();
        here.learn(EndpointBlock::new(
            first,
            parent,
            Counts::of(&[1, 3, 2]).unwrap(),
        ));
        let second = here.reserve(2, 1).unwrap();
        assert_eq!(second, first + 6);
        let parent = Group::of(vec![first + 5, 0, first + 1]).unwrap();
        here.learn(EndpointBlock::new(
            second,
            parent,
            Counts::of(&[1, 0, 1]).unwrap(),
        ));
        let whose = |endpoints: &Endpoints, member| endpoints.process_of(member);
        let list = [3, 1, 1, 1, 2, 2, 2, 1].map(Some);
        assert!(
            (first..)
                .zip(list)
                .all(|(member, of)| whose(&here, member) == of)
        );
        assert_eq!((whose(&here, 3), whose(&here, second + 2)), (Some(3), None));

        let group = Group::of(vec![second + 1]).unwrap();
        let needed = here.needed_for(&group);
        assert_eq!(needed.len(), 2);
        let mut there = Endpoints::new(4, 0, 2);
        assert_eq!(whose(&there, second + 1), None);
        for block in needed {
            let bytes = Encoder::to_vec(&block).clone();
            assert_eq!(bytes.len(), Payload::size(&block));
            there.learn(Decoder::from_slice(&bytes).unwrap());
        }
        assert_eq!(whose(&there, second + 1), Some(1));
        assert!(here.needed_for(&Group::all(4)).is_empty());
    }

    /// Invalid bytes are rejected, and endpoints whose parents form a cycle have no process.
    #[test]
    fn forged_blocks_are_refused() {
        let counts = || Counts::of(&[1, 1]).unwrap();
        let around = EndpointBlock::new(7, Group::of(vec![8, 7]).unwrap(), counts());
        let mut endpoints = Endpoints::new(4, 0, 1);
        endpoints.learn(around);
        assert_eq!(endpoints.process_of(7), None);
        assert_eq!(endpoints.needed_for(&Group::of(vec![8]).unwrap()).len(), 1);
        let beyond = EndpointBlock::new(DONE - 1, Group::all(2), counts());
        let back = EndpointBlock::new(7, Group::all(2), Counts::Ends(vec![2, 1]));
        let many = Counts::Alike {
            ranks: MOST,
            each: 3,
        };
        let many = EndpointBlock::new(7, Group::all(2), many);
        for block in [beyond, back, many] {
            let bytes = Encoder::to_vec(&block).clone();
            assert!(Decoder::from_slice::<EndpointBlock>(&bytes).is_err());
        }
    }

    /// The ranges of schedulers are disjoint, and end before the reserved numbers.
    #[test]
    fn numbers_of_schedulers_are_disjoint() {
        let mut all = [0, 1, 2].map(|scheduler| Endpoints::new(10, scheduler, 3));
        let each = (DONE - 10) / 3;
        let firsts = all.each_mut().map(|of| of.reserve(each, 3).unwrap());
        assert_eq!(firsts, [10, 10 + each, 10 + 2 * each]);
        assert!(firsts[2] + each <= DONE);
        assert!(all.iter_mut().all(|of| of.reserve(1, 3).is_none()));
        assert!(all.iter_mut().all(|of| of.reserve(0, 3).is_some()));
    }

    /// Numbers are reused when all schedulers have reported them. Adjacent blocks merge.
    #[test]
    fn numbers_are_reused_after_all_reports() {
        let mut endpoints = Endpoints::new(DONE - 100, 0, 1);
        let first = DONE - 100;
        let firsts: Vec<u32> = (0..10).map(|_| endpoints.reserve(10, 2).unwrap()).collect();
        assert!(firsts.iter().copied().eq((first..DONE).step_by(10)));
        assert_eq!(endpoints.reserve(1, 1), None);
        for at in [3, 5, 4] {
            endpoints.is_over(firsts[at]);
            assert_eq!(endpoints.reserve(1, 1), None);
        }
        endpoints.is_over(firsts[5]);
        endpoints.is_over(firsts[3]);
        // A number that is not allocated is not freed.
        endpoints.is_over(firsts[3]);
        endpoints.is_over(firsts[4] + 1);
        assert_eq!(endpoints.reserve(11, 1), None);
        endpoints.is_over(firsts[4]);
        assert_eq!(endpoints.reserve(31, 1), None);
        assert_eq!(endpoints.reserve(30, 1), Some(firsts[3]));
        assert_eq!(endpoints.reserve(1, 1), None);
    }

    /// A block is not reported while a group has one of its endpoints or endpoints of these, or if
    /// another scheduler knows the block.
    #[test]
    fn groups_keep_numbers() {
        let mut endpoints = Endpoints::new(4, 0, 1);
        let make = |endpoints: &mut Endpoints, parent: &Group| {
            let counts = Counts::of(&vec![1; parent.size()]).unwrap();
            let first = endpoints.reserve(counts.all(), 1).unwrap();
            let lease = Arc::default();
            let group = Group::of_endpoints(first, counts.all(), &lease).unwrap();
            let block = EndpointBlock::new(first, parent.clone(), counts);
            endpoints.know(block, &lease, 7);
            (first, group)
        };
        let (first, outer) = make(&mut endpoints, &Group::all(3));
        let (second, inner) = make(&mut endpoints, &outer.include(&[2]).unwrap());
        drop(outer);
        assert!(endpoints.take_over(7).is_empty());
        let kept = Group::all(1).union(&inner).exclude(&[0]).unwrap();
        drop(inner);
        assert!(endpoints.take_over(7).is_empty());
        assert_eq!(endpoints.process_of(second), Some(2));
        drop(kept);
        assert!(endpoints.take_over(0).is_empty());
        let mut over = endpoints.take_over(7);
        over.sort_unstable();
        assert_eq!(over, [first, second]);
        assert!(endpoints.take_over(7).is_empty());
        assert_eq!(endpoints.process_of(second), None);

        let (_, written) = make(&mut endpoints, &Group::all(3));
        drop(Encoder::to_vec(&written));
        let (_, needed) = make(&mut endpoints, &Group::all(2));
        assert_eq!(endpoints.needed_for(&needed).len(), 1);
        drop((written, needed));
        assert!(endpoints.take_over(7).is_empty());
    }
}
