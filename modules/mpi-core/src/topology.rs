//! Ranks with neighbours: distributed graphs and grids, and neighbourhood collectives (MPI
//! standard, version 4.1, sections 8.5.4 and 8.6).
//!
//! Each rank sends to its destinations and receives from its sources, by messages in a separate
//! communicator. So a rank waits only for its neighbours, and work is in proportion to the edges.

use std::panic::Location;
use std::rc::Rc;

use super::abandoned::{Abandoned, Receives};
use super::call::{Brought, Call, CallOutcome, Needs};
use super::cartesian::Cartesian;
use super::collective::{part, shared};
use super::communicator::Communicator;
use super::error::Error;
use super::instance::begin;
use super::request::Sending;
use super::value::Value;

const DIFFERENT: Error = Error::topology(
    "each edge of a graph must be listed by both of its ranks: as a destination of its source, and \
     as a source of its destination",
);

/// An edge of a rank: the other rank, and the tag of its messages. `None` beyond the border of a
/// grid.
type Edge = Option<(u32, i32)>;

/// A rank with its neighbours.
///
/// ```
/// use graphmap_runtime::{Local, Options, mpi};
///
/// async fn rank() -> Result<(), mpi::Error> {
///     let world = mpi::world()?;
///     let (me, count) = (world.rank(), world.size());
///     let (before, next) = ((me + count - 1) % count, (me + 1) % count);
///     // A ring in one direction.
///     let ring = world.graph(&[before], &[next]).await?;
///     assert_eq!(ring.allgather(me).await?, [Some(before)]);
///     Ok(())
/// }
///
/// let mut net = Local::new();
/// (0..5).for_each(|_| drop(net.spawn(rank())));
/// net.run(&Options::new()).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Neighbours {
    /// A communicator that only this topology uses.
    ranks: Communicator,
    sources: Rc<[Edge]>,
    destinations: Rc<[Edge]>,
    abandoned: Rc<Abandoned>,
}

fn ranks_of(edges: &[Edge]) -> impl Iterator<Item = Option<usize>> + '_ {
    edges.iter().map(|edge| edge.map(|(rank, _)| rank as usize))
}

impl Neighbours {
    fn new(ranks: Communicator, sources: Vec<Edge>, destinations: Vec<Edge>) -> Self {
        Neighbours {
            ranks,
            sources: sources.into(),
            destinations: destinations.into(),
            abandoned: Rc::default(),
        }
    }

    /// Returns the sources of this rank. They are in the order in which
    /// [`allgather`](Self::allgather) returns their values. An item is `None` beyond the border of
    /// a grid, where MPI has `MPI_PROC_NULL`.
    pub fn sources(&self) -> impl Iterator<Item = Option<usize>> + '_ {
        ranks_of(&self.sources)
    }

    /// Returns the destinations of this rank, as [`sources`](Self::sources).
    pub fn destinations(&self) -> impl Iterator<Item = Option<usize>> + '_ {
        ranks_of(&self.destinations)
    }

    /// Sends a value to all destinations. Returns the values of the sources, in the order of the
    /// sources, with `None` beyond the border of a grid (`MPI_Neighbor_allgather`). Values can have
    /// different lengths, as in `MPI_Neighbor_allgatherv`.
    ///
    /// The call starts at once. The future waits for the values of all sources, and then until the
    /// sends have completed. Dropping the future does not cancel the call, and the next call does
    /// not receive messages of this one.
    ///
    /// # Errors
    /// [`Error::Type`] if a source called with another type. [`Error::Unreadable`] if a value
    /// cannot be decoded. [`Error::Over`] if the run ends first.
    ///
    /// # Panics
    /// If this rank dropped the future of an earlier call before its end, a later call drops the
    /// values that arrived for it. If such a drop panics, the later call panics and is not made. It
    /// also panics if a clone of `value` panics.
    #[track_caller]
    pub fn allgather<T: Value + Clone>(
        &self,
        value: T,
    ) -> impl Future<Output = Result<Vec<Option<T>>, Error>> + use<T> {
        let count = self.destinations.iter().flatten().count();
        // Cloning runs user code, so it comes before the first send.
        let mut copies: Vec<T> = (1..count).map(|_| value.clone()).collect();
        copies.push(value);
        let mut copies = copies.into_iter();
        let values = self.destinations.iter().map(|edge| match edge {
            Some(_) => copies.next(),
            None => None,
        });
        let values = values.collect();
        self.exchange(values)
    }

    /// Sends the n-th value to the n-th destination, if that exists. Returns the values of the
    /// sources, like [`allgather`](Self::allgather) (`MPI_Neighbor_alltoall`,
    /// `MPI_Neighbor_alltoallv` and `MPI_Neighbor_alltoallw`).
    ///
    /// # Errors
    /// [`Error::Count`] if the number of values is not the number of destinations, in which those
    /// beyond the border of a grid count. Then this rank sends and receives nothing, so its
    /// neighbours continue to wait. Otherwise the errors of [`allgather`](Self::allgather).
    ///
    /// # Panics
    /// As for [`allgather`](Self::allgather).
    #[track_caller]
    pub fn alltoall<T: Value>(
        &self,
        values: Vec<T>,
    ) -> impl Future<Output = Result<Vec<Option<T>>, Error>> + use<T> {
        let (given, wanted) = (values.len(), self.destinations.len());
        let exchanged = match given == wanted {
            true => Ok(self.exchange(values.into_iter().map(Some).collect())),
            false => Err(Error::Count { given, wanted }),
        };
        async move { exchanged?.await }
    }

    /// Sends the n-th value to the n-th destination, and receives from the sources at once. The
    /// returned future waits for both. A value is dropped if its destination is beyond the border
    /// of a grid. Panics and errors are those of [`allgather`](Self::allgather).
    #[track_caller]
    fn exchange<T: Value>(
        &self,
        values: Vec<Option<T>>,
    ) -> impl Future<Output = Result<Vec<Option<T>>, Error>> + use<T> {
        self.abandoned.take_arrived(self.sources.len());
        let receives = self
            .sources
            .iter()
            .map(|edge| edge.map(|(source, tag)| self.ranks.recv::<T>(source as usize, tag)));
        let mut receives = Receives::new(receives.collect(), &self.abandoned);
        let mut sends: Vec<Sending> = Vec::new();
        for (edge, value) in self.destinations.iter().zip(values) {
            if let (Some((destination, tag)), Some(value)) = (*edge, value) {
                sends.push(self.ranks.send(value, destination as usize, tag));
            }
        }
        async move {
            let mut received = Vec::with_capacity(receives.all.len());
            for receive in &mut receives.all {
                received.push(match receive {
                    Some(receive) => Some(receive.await?.0),
                    None => None,
                });
            }
            for send in sends {
                send.await?;
            }
            Ok(received)
        }
    }
}

/// Returns `ranks`, or [`Error::Rank`] for the first one that is not below `size`.
fn checked(ranks: &[usize], size: usize) -> Result<Vec<u32>, Error> {
    let found = ranks.iter().map(|&rank| match rank < size {
        true => Ok(rank as u32),
        false => Err(Error::Rank { rank, size }),
    });
    found.collect()
}

/// Returns true if the source and the destination of each edge have listed it equally often. An
/// item of `all` is the sources and the destinations of one rank, in rank order.
fn is_whole(all: &[(Vec<u32>, Vec<u32>)]) -> bool {
    let of = |rank: u32, others: &[u32], out: bool| -> Vec<(u32, u32)> {
        let edge = |&other: &u32| if out { (rank, other) } else { (other, rank) };
        others.iter().map(edge).collect()
    };
    let mut into: Vec<(u32, u32)> = Vec::new();
    let mut out = Vec::new();
    for (rank, (sources, destinations)) in (0..).zip(all) {
        into.append(&mut of(rank, sources, false));
        out.append(&mut of(rank, destinations, true));
    }
    into.sort_unstable();
    out.sort_unstable();
    into == out
}

impl Communicator {
    /// Creates a graph in which this rank receives from `sources` and sends to `destinations`
    /// (`MPI_Dist_graph_create_adjacent`). Ranks are not reordered, because the mapping has placed
    /// them. A rank can occur several times, and can be its own neighbour. Collective.
    /// Takes O(e log e) for e edges.
    ///
    /// # Errors
    /// As for [`dup`](Self::dup). [`Error::Topology`] at all ranks if the two ends of an edge have
    /// not listed it equally often. [`Error::Rank`] at all ranks if a rank passes a neighbour that
    /// the communicator does not have.
    #[track_caller]
    pub fn graph(
        &self,
        sources: &[usize],
        destinations: &[usize],
    ) -> impl Future<Output = Result<Neighbours, Error>> + use<> {
        type Edges = (Vec<u32>, Vec<u32>);
        let (call, at) = (Call::new::<Edges>("graph", None), Location::caller());
        let size = self.size();
        let edges =
            checked(sources, size).and_then(|sources| Ok((sources, checked(destinations, size)?)));
        let make = move |all: Vec<Edges>| CallOutcome::all(is_whole(&all));
        let whole = begin(
            self.calling(call, at),
            edges.clone().map(Brought::Part),
            Needs::All,
            make,
            shared::<Edges, bool>,
        );
        let ranks = self.copy("graph", at);
        async move {
            let (whole, ranks) = (whole.await?, ranks.await?);
            let (sources, destinations) = edges?;
            let all = |ranks: Vec<u32>| ranks.into_iter().map(|rank| Some((rank, 0))).collect();
            match whole {
                true => Ok(Neighbours::new(ranks, all(sources), all(destinations))),
                false => Err(DIFFERENT),
            }
        }
    }
}

impl Communicator {
    /// Creates a graph as [`graph`](Self::graph), but each rank lists any edges of any ranks
    /// (`MPI_Dist_graph_create`). Each edge leads from the first rank of a pair to the second.
    ///
    /// The graph has each edge as often as it was listed. The neighbours of a rank are in the order
    /// of the ranks that listed them, and then in the order of their lists. Collective. Takes
    /// O(n + e) for n ranks and e edges.
    ///
    /// In MPI, edges also have weights for the reordering of ranks. Here the mapping has placed the
    /// ranks.
    ///
    /// ```
    /// # use graphmap_runtime::{Local, Options, mpi};
    /// # async fn rank() -> Result<(), mpi::Error> {
    /// let world = mpi::world()?;
    /// // Rank 0 lists all edges of a star.
    /// let edges: Vec<_> = (1..world.size()).map(|leaf| (leaf, 0)).collect();
    /// let said = if world.rank() == 0 { &edges[..] } else { &[] };
    /// let star = world.graph_of_edges(said).await?;
    /// assert_eq!(star.sources().count(), if world.rank() == 0 { 3 } else { 0 });
    /// # Ok(())
    /// # }
    /// # let mut net = Local::new();
    /// # (0..4).for_each(|_| drop(net.spawn(rank())));
    /// # net.run(&Options::new()).unwrap();
    /// ```
    ///
    /// # Errors
    /// As for [`dup`](Self::dup). [`Error::Rank`] at all ranks if a listed edge has a rank that the
    /// communicator does not have.
    #[track_caller]
    pub fn graph_of_edges(
        &self,
        edges: &[(usize, usize)],
    ) -> impl Future<Output = Result<Neighbours, Error>> + use<> {
        type Said = Vec<(u32, u32)>;
        type Own = (Vec<u32>, Vec<u32>);
        let (call, at) = (
            Call::new::<Said>("graph_of_edges", None),
            Location::caller(),
        );
        let size = self.size();
        let one = |&(from, to): &(usize, usize)| -> Result<(u32, u32), Error> {
            let ends = checked(&[from, to], size)?;
            Ok((ends[0], ends[1]))
        };
        let said: Result<Said, Error> = edges.iter().map(one).collect();
        let make = move |all: Vec<Said>| {
            let mut each: Vec<Own> = vec![Own::default(); size];
            for (from, to) in all.into_iter().flatten() {
                each[to as usize].0.push(from);
                each[from as usize].1.push(to);
            }
            CallOutcome::Each(each.into_iter().map(Some).collect())
        };
        let own = begin(
            self.calling(call, at),
            said.map(Brought::Part),
            Needs::All,
            make,
            part::<Said, Own>,
        );
        let ranks = self.copy("graph", at);
        async move {
            let (own, ranks) = (own.await, ranks.await?);
            let (sources, destinations) = own?;
            let all = |ranks: Vec<u32>| ranks.into_iter().map(|rank| Some((rank, 0))).collect();
            Ok(Neighbours::new(ranks, all(sources), all(destinations)))
        }
    }
}

impl Cartesian {
    /// Returns the neighbours in the grid. For each dimension, these are the previous and the next
    /// rank, in this order, as sources and as destinations. A message to the previous rank arrives
    /// there from its next rank, even if both are the same rank. Collective.
    ///
    /// # Errors
    /// The errors of [`Communicator::dup`].
    #[track_caller]
    pub fn neighbours(&self) -> impl Future<Output = Result<Neighbours, Error>> + use<> {
        let ranks = self.communicator().copy("neighbours", Location::caller());
        // The tag is the direction from which a message arrives.
        let mut sources = Vec::new();
        let mut destinations = Vec::new();
        for (dimension, tag) in (0..self.grid().dims().len()).zip((0..).step_by(2)) {
            let (before, behind) = self.shift(dimension, 1).unwrap_or((None, None));
            let edge = |rank: Option<usize>, tag: i32| rank.map(|rank| (rank as u32, tag));
            sources.extend([edge(before, tag), edge(behind, tag + 1)]);
            destinations.extend([edge(before, tag + 1), edge(behind, tag)]);
        }
        async move { Ok(Neighbours::new(ranks.await?, sources, destinations)) }
    }
}
