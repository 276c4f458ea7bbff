//! Endpoints are made: new ranks for each that asks for some.

use std::cell::OnceCell;
use std::panic::Location;
use std::rc::Rc;

use super::super::call::{Brought, Call, CallOutcome, Needs};
use super::super::collective::shared;
use super::super::communicator::Communicator;
use super::super::error::Error;
use super::super::group::Group;
use super::super::round::begin;
use super::super::state::{CommunicatorState, World};
use super::block::{Counts, EndpointBlock, MOST};
use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};

/// Endpoints that are to be: what each scheduler is told of them.
struct Planned {
    /// The number of the communicator, and of the first endpoint; or why there are none.
    made: Result<(u32, u32), Error>,
    counts: Counts,
    /// When somebody here has asked.
    joined: OnceCell<Rc<CommunicatorState>>,
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
        })
    }
}

fn too_many(ranks: u64) -> Error {
    Error::TooManyRanks { ranks }
}

impl Planned {
    fn new(world: &World, asked: &[u32]) -> Self {
        let none = Counts::Alike { ranks: 0, each: 0 };
        let (made, counts) = match Counts::of(asked) {
            Err(ranks) => (Err(too_many(ranks)), none),
            Ok(counts) => {
                let first = world.endpoints.borrow_mut().reserve(counts.all());
                let numbers = first.ok_or(Error::TooMany);
                let made = numbers.and_then(|first| Ok((world.new_number()?, first)));
                (made, counts)
            }
        };
        Planned {
            made,
            counts,
            joined: OnceCell::new(),
        }
    }

    /// The handles of a rank.
    fn handles(&self, parent: &CommunicatorState, rank: u32) -> Result<Vec<Communicator>, Error> {
        let (number, first) = self.made.clone()?;
        let (from, to) = self.counts.of_rank(rank);
        let mut handles = Vec::new();
        let room = handles.try_reserve_exact((to - from) as usize);
        room.map_err(|_| too_many(u64::from(to - from)))?;
        if from == to {
            return Ok(handles);
        }
        let group = Group::range(first, self.counts.all())?;
        let shared = self.joined.get_or_init(|| {
            let world = &parent.world;
            let block = EndpointBlock::new(first, parent.group().clone(), self.counts.clone());
            world.endpoints.borrow_mut().learn(block);
            let name = format!("{}.endpoints", parent.name());
            world.join(number, group, name, None)
        });
        handles.extend((from..to).map(|own| Communicator::new(Rc::clone(shared), own)));
        Ok(handles)
    }
}

impl Communicator {
    /// Makes so many new ranks for this one, as many as each likes, also none: *endpoints* (`MPI_Comm_create_endpoints` of
    /// Dinan and others, 2013; the MPI standard has no such call). They are the ranks of a new communicator, ordered by the
    /// ranks that asked for them; what is returned has each of this one's, in order. Each is a rank like another: it has
    /// messages and a part in collective calls of its own. It may be used by tasks of the process that take turns, or be
    /// handed to a thread, which is that rank then ([`into_thread`](Self::into_thread)). A collective call of this communicator.
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
    /// [`Error::TooManyRanks`]: more than `i32::MAX` together; [`Error::Mismatch`]; [`Error::TooMany`], also where a scheduler
    /// has made all endpoints that it has numbers for: those of a run share what 2^32 are more than its processes.
    #[track_caller]
    pub fn endpoints(
        &self,
        count: usize,
    ) -> impl Future<Output = Result<Vec<Communicator>, Error>> + use<> {
        let (call, at) = (Call::new::<u32>("endpoints", None), Location::caller());
        let this = Rc::clone(self.shared());
        let parent = Rc::clone(&this);
        let rank = self.rank() as u32;
        let make =
            move |asked: Vec<u32>| CallOutcome::all(Rc::new(Planned::new(&this.world, &asked)));
        let counted = u32::try_from(count).ok().filter(|&count| count <= MOST);
        let brought = counted.map(Brought::Part);
        let brought = brought.ok_or_else(|| too_many(count as u64));
        let calling = self.calling(call, at);
        let planned = begin(
            calling,
            brought,
            Needs::All,
            make,
            shared::<u32, Rc<Planned>>,
        );
        async move { planned.await?.handles(&parent, rank) }
    }
}
