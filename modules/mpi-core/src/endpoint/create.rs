//! Creation of endpoints: new ranks for each rank that requests them.

use std::cell::{Cell, OnceCell};
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use super::super::call::{Brought, Call, CallOutcome, Combine, Needs};
use super::super::collective::shared;
use super::super::communicator::Communicator;
use super::super::error::Error;
use super::super::group::{Group, Lease};
use super::super::instance::begin;
use super::super::runs::Rows;
use super::super::state::CommunicatorState;
use super::block::{Counts, EndpointBlock, MOST};
use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};

/// Endpoints to create, as sent to each scheduler.
struct Planned {
    /// Numbers of the communicator and of the first endpoint, or the reason why they cannot be
    /// created.
    made: Result<(u32, u32), Error>,
    counts: Counts,
    /// Communicator, from the first request on this scheduler.
    joined: OnceCell<Rc<CommunicatorState>>,
    /// Held until all ranks of this scheduler have their endpoints.
    lease: Arc<Lease>,
    is_known: Cell<bool>,
}

impl Payload for Planned {
    fn size(&self) -> usize {
        self.made.size() + self.counts.size()
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        self.made.encode(to);
        self.counts.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Planned {
            made: Result::decode(from)?,
            counts: Counts::decode(from)?,
            joined: OnceCell::new(),
            lease: Arc::default(),
            is_known: Cell::new(false),
        })
    }
}

fn too_many(ranks: u64) -> Error {
    Error::TooManyRanks { ranks }
}

/// Collective call that creates endpoints for the ranks of a communicator. The row of each rank is
/// the number that it requests, and 0. Rows without a rank are blocks that a scheduler no longer
/// names.
struct Making(Rc<CommunicatorState>);

impl Making {
    /// Returns the scheduler that allocates the numbers, and the number of schedulers that have
    /// ranks of the communicator.
    fn leader(&self) -> (u32, u32) {
        match &self.0.distribution {
            Some(there) => (there.leader, there.others.len() as u32 + 1),
            None => (self.0.world.me(), 1),
        }
    }

    fn take_over(&self) -> Vec<u32> {
        let mut endpoints = self.0.world.endpoints.borrow_mut();
        endpoints.take_over(self.leader().0)
    }
}

impl Combine<Rows, Rc<Planned>> for Making {
    fn combine(&mut self, parts: Vec<(u32, Rows)>) -> Vec<(u32, Rows)> {
        let over: Vec<i64> = self.take_over().into_iter().map(i64::from).collect();
        Rows::together(parts, &over)
    }

    fn make(self, all: Vec<Rows>) -> CallOutcome<Rc<Planned>> {
        let here = self.take_over();
        let world = &self.0.world;
        let (rows, over) = Rows::apart(all, self.0.group().size(), (0, 0));
        let over = over
            .into_iter()
            .filter_map(|first| u32::try_from(first).ok());
        for first in over.chain(here) {
            world.endpoints.borrow_mut().is_over(first);
        }
        let number = |&(count, _): &(i64, i64)| u32::try_from(count).unwrap_or_default();
        let asked: Vec<u32> = rows.iter().map(number).collect();
        let none = Counts::Alike { ranks: 0, each: 0 };
        let (made, counts) = match Counts::of(&asked) {
            Err(ranks) => (Err(too_many(ranks)), none),
            Ok(counts) => {
                let schedulers = self.leader().1;
                let first = world
                    .endpoints
                    .borrow_mut()
                    .reserve(counts.all(), schedulers);
                let numbers = first.ok_or(Error::TooMany);
                let made = numbers.and_then(|first| Ok((world.new_number()?, first)));
                (made, counts)
            }
        };
        CallOutcome::all(Rc::new(Planned {
            made,
            counts,
            joined: OnceCell::new(),
            lease: Arc::default(),
            is_known: Cell::new(false),
        }))
    }
}

impl Planned {
    /// Returns the handles of the endpoints of a rank, in order. The first call on this scheduler
    /// records the endpoints. The errors are the ones of [`Communicator::endpoints`], without the
    /// errors of collective calls.
    fn handles(
        &self,
        parent: &Rc<CommunicatorState>,
        rank: u32,
    ) -> Result<Vec<Communicator>, Error> {
        let (number, first) = self.made.clone()?;
        let world = &parent.world;
        // This is also needed if no rank here has endpoints, because each scheduler must report
        // when it no longer names the block.
        if !self.is_known.replace(true) {
            let block = EndpointBlock::new(first, parent.group().clone(), self.counts.clone());
            let (leader, _) = Making(Rc::clone(parent)).leader();
            let mut endpoints = world.endpoints.borrow_mut();
            endpoints.know(block, &self.lease, leader);
        }
        let (from, to) = self.counts.of_rank(rank);
        let mut handles = Vec::new();
        let room = handles.try_reserve_exact((to - from) as usize);
        room.map_err(|_| too_many(u64::from(to - from)))?;
        if from == to {
            return Ok(handles);
        }
        let group = Group::of_endpoints(first, self.counts.all(), &self.lease)?;
        let shared = self.joined.get_or_init(|| {
            let name = format!("{}.endpoints", parent.name());
            world.join(number, group, name, None)
        });
        handles.extend((from..to).map(|own| Communicator::new(Rc::clone(shared), own)));
        Ok(handles)
    }
}

impl Communicator {
    /// Creates `count` endpoints for this rank: new ranks in a new communicator
    /// (`MPI_Comm_create_endpoints` of Dinan and others, 2013, which is not in the MPI standard).
    /// Each rank chooses its own `count`, which can be 0. Collective over this communicator.
    ///
    /// The new ranks are ordered by the ranks that requested them. Returns the handles of this
    /// rank's endpoints, in order. Each endpoint sends, receives and takes part in collective calls
    /// as a rank of its own. Tasks of the process can use it, or a thread can own it
    /// ([`into_thread`](Self::into_thread)).
    ///
    /// ```
    /// use graphmap_runtime::{Local, Options, join, mpi};
    ///
    /// async fn rank() -> Result<(), mpi::Error> {
    ///     let world = mpi::world()?;
    ///     // Two for each process: 0 and 1 of the first, 2 and 3 of the second.
    ///     let both = world.endpoints(2).await?;
    ///     assert_eq!((both[1].rank(), both[1].size()), (2 * world.rank() + 1, 2 * world.size()));
    ///     let sums = join(both[0].allreduce(1, |a, b| a + b), both[1].allreduce(1, |a, b| a + b));
    ///     assert_eq!(sums.await, (Ok(6), Ok(6)));
    ///     Ok(())
    /// }
    ///
    /// let mut net = Local::new();
    /// (0..3).for_each(|_| drop(net.spawn(rank())));
    /// net.run(&Options::new()).unwrap();
    /// ```
    ///
    /// # Errors
    /// * [`Error::TooManyRanks`] if the ranks request more than `i32::MAX` endpoints together, or
    ///   if memory is not sufficient for the handles of this rank.
    /// * The errors of all collective calls.
    /// * [`Error::TooMany`] if no communicator number is left, or if a scheduler has too few
    ///   endpoint numbers left. The schedulers of a run share the numbers from the number of its
    ///   processes to 2^32.
    ///
    /// The numbers of endpoints are reused when no communicator and no
    /// [`Group`](super::super::Group) has them any more. Two cases are excluded: a call that failed
    /// for some ranks, and a call whose future all ranks of a scheduler dropped.
    #[track_caller]
    pub fn endpoints(
        &self,
        count: usize,
    ) -> impl Future<Output = Result<Vec<Communicator>, Error>> + use<> {
        let (call, at) = (Call::new::<u32>("endpoints", None), Location::caller());
        let parent = Rc::clone(self.shared());
        let rank = self.rank() as u32;
        let make = Making(Rc::clone(&parent));
        let counted = i64::try_from(count)
            .ok()
            .filter(|&count| count <= MOST.into());
        let brought = counted.map(|count| Brought::Part(Rows::One(count, 0)));
        let brought = brought.ok_or_else(|| too_many(count as u64));
        let calling = self.calling(call, at);
        let planned = begin(
            calling,
            brought,
            Needs::All,
            make,
            shared::<Rows, Rc<Planned>>,
        );
        async move { planned.await?.handles(&parent, rank) }
    }
}
