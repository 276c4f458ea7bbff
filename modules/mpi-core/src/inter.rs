//! Intercommunicators: two groups of ranks that send messages to each other (MPI 4.1, section 7.6).
//!
//! An intercommunicator contains a communicator of both groups, with the second group after the
//! first. Ranks are translated on each call.

use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::call::{Brought, Call, CallOutcome, Needs};
use super::communicator::Communicator;
use super::create_group::create_of;
use super::endpoint::EndpointBlock;
use super::envelope::{Source, Status, TagOf};
use super::error::Error;
use super::group::{Comparison, Group};
use super::instance::begin;
use super::probe::Message;
use super::recipe::Recipes;
use super::request::{Receiving, Request, Sending};
use super::split::made;
use super::value::Value;

const OVERLAP: Error =
    Error::group("the two groups of an intercommunicator have a process in common");

const DIFFER: Error =
    Error::group("ranks of one group called `merge` with different values of `high`");

/// Tag for creating the bridge. Calls of users do not have it, because it is negative.
const BRIDGE: i32 = -1;

/// Two groups, as seen by a rank of one of them. The group of this rank is the local group, and the
/// other one is the remote group. Messages are sent to and received from ranks of the remote group.
///
/// ```
/// use graphmap_runtime::{Local, Options, mpi};
///
/// async fn rank() -> Result<(), mpi::Error> {
///     let world = mpi::world()?;
///     // Even ranks form one group and odd ranks the other. World ranks 0 and 1 are the leaders.
///     let side = world.rank() % 2;
///     let local = world.split(Some(side as u32), 0).await?.ok_or(mpi::Error::Inactive)?;
///     let both = local.intercommunicator(0, &world, 1 - side, 7).await?;
///     assert_eq!((both.size(), both.remote_size()), (3, 3));
///     // Send to the rank with the same number in the remote group.
///     both.send(world.rank(), both.rank(), 0).await?;
///     let (came, status) = both.recv::<usize>(mpi::ANY_SOURCE, 0).await?;
///     assert_eq!((came, status.source), (world.rank() ^ 1, both.rank()));
///     let all = both.merge(side == 1).await?;
///     assert_eq!(all.size(), 6);
///     Ok(())
/// }
///
/// let mut net = Local::new();
/// (0..6).for_each(|_| drop(net.spawn(rank())));
/// net.run(&Options::new()).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct InterCommunicator {
    /// Communicator of the local group, for calls that the group makes on its own.
    local: Communicator,
    remote: Group,
    /// Communicators of both groups: `bridge` for messages, `inside` for collective calls.
    bridge: Communicator,
    inside: Communicator,
    /// Rank in the bridge of the first rank of the remote group.
    offset: usize,
}

impl Communicator {
    /// Creates an intercommunicator of the ranks of this communicator and of another one, whose
    /// ranks must call this as well (`MPI_Intercomm_create`). `leader` is a rank of this
    /// communicator, and all its ranks pass the same one. The leader is also a member of `peer`,
    /// where the leader of the other communicator has the rank `remote_leader`. The arguments
    /// `peer`, `remote_leader` and `tag` of all other ranks are ignored. Creations by the same
    /// leaders at the same time must have different tags.
    ///
    /// # Errors
    /// As for all collective calls, and [`Error::TooMany`] if no communicator number is left.
    /// [`Error::Group`] if the groups have a process in common, or if creations at the same time
    /// have equal tags and this is detected. [`Error::Rank`] if `leader` or `remote_leader` does
    /// not exist. [`Error::Tag`] if the tag of the leader is negative. After the last two, only the
    /// ranks of this communicator get the error, and the others continue to wait.
    #[track_caller]
    pub fn intercommunicator(
        &self,
        leader: usize,
        peer: &Communicator,
        remote_leader: usize,
        tag: i32,
    ) -> impl Future<Output = Result<InterCommunicator, Error>> + use<> {
        let at = Location::caller();
        let local = self.copy("intercommunicator", at);
        let leads = self.rank() == leader;
        let met = leads.then(|| exchange_groups(self, peer, remote_leader, tag, at));
        async move {
            let local = local.await?;
            let met = match met {
                Some(met) => Some(met.await),
                None => None,
            };
            // The result is broadcast even if it is an error, so that all ranks of the group return
            // it.
            let met = local.bcast_at(met, leader, at).await??;
            let GroupExchange {
                number,
                mine_first,
                remote,
                both,
                endpoints,
            } = met;
            let world = &local.shared().world;
            for block in endpoints {
                world.endpoints.borrow_mut().learn(block);
            }
            // A group that was received holds no leases.
            let both = both.holding(local.group());
            let like = world.all.borrow().clone();
            let (name, me) = (local.name().to_string(), local.member());
            let made = create_of(world, like, (&both, me), Ok((number, BRIDGE)), name, at);
            let bridge = made.await?.ok_or(Error::Inactive)?;
            let inside = bridge.copy("inside", at).await?;
            let offset = match mine_first {
                true => local.size(),
                false => 0,
            };
            Ok(InterCommunicator {
                local,
                remote,
                bridge,
                inside,
                offset,
            })
        }
    }
}

/// The information that a leader gets about the other group, and the groups derived from it. The
/// leader computes them once for its n ranks, because otherwise each rank would build a group of n
/// members.
#[derive(Clone)]
struct GroupExchange {
    /// Number that both leaders know.
    number: u32,
    mine_first: bool,
    remote: Group,
    /// The members of the first group, followed by those of the second.
    both: Group,
    /// Endpoints of the remote group.
    endpoints: Vec<EndpointBlock>,
}

graphmap_executor::payload!(GroupExchange {
    number,
    mine_first,
    remote,
    both,
    endpoints
});

/// Exchanges the groups of the two leaders, in a communicator of these two alone. `remote` is the
/// rank of the other leader in `peer`.
///
/// [`Error::Rank`] if `remote` does not exist, [`Error::Tag`] if `tag` is negative, and
/// [`Error::Group`] if the groups overlap or `remote` is this rank. Also the other errors of
/// [`Communicator::create_group`] and of messages.
fn exchange_groups(
    local: &Communicator,
    peer: &Communicator,
    remote: usize,
    tag: i32,
    at: &'static Location<'static>,
) -> impl Future<Output = Result<GroupExchange, Error>> + use<> {
    let mine = local.group().clone();
    let world = &local.shared().world;
    // On a single scheduler, the groups keep their leases when they are exchanged.
    let needed = match world.others {
        Some(_) => world.endpoints.borrow().needed_for(&mine),
        None => Vec::new(),
    };
    let me = peer.member();
    let found = u32::try_from(remote)
        .ok()
        .and_then(|rank| peer.group().at(rank));
    let size = peer.size();
    let made = found.filter(|&other| other != me).map(|other| {
        let ranks = match me < other {
            true => [peer.rank(), remote],
            false => [remote, peer.rank()],
        };
        let pair = peer.group().include(&ranks);
        let key = match tag {
            0.. => Ok((peer.shared().number(), tag)),
            _ => Err(Error::Tag(tag)),
        };
        let name = format!("{}.leaders({tag})", peer.name());
        pair.map(|pair| (peer.create_known(&pair, key, name, at), me < other))
    });
    async move {
        let (made, mine_first) = match (found, made) {
            (None, _) => return Err(Error::Rank { rank: remote, size }),
            (Some(_), None) => return Err(OVERLAP),
            (Some(_), Some(made)) => made?,
        };
        let pair = made.await?.ok_or(Error::Inactive)?;
        let other = 1 - pair.rank();
        type Side = (Group, Vec<EndpointBlock>);
        let ((remote, endpoints), _) = pair
            .sendrecv::<Side, Side>((mine.clone(), needed), other, 0, other, 0)
            .await?;
        if mine.intersection(&remote).size() > 0 {
            return Err(OVERLAP);
        }
        let both = match mine_first {
            true => mine.union(&remote),
            false => remote.union(&mine),
        };
        Ok(GroupExchange {
            number: pair.shared().number(),
            mine_first,
            remote,
            both,
            endpoints,
        })
    }
}

/// A receive or probe whose status contains the rank of the sender in the remote group. It also
/// holds the error if the source is not a rank of the remote group.
#[must_use = "if the receive is not awaited, it takes no message"]
pub struct FromRemote<R> {
    request: Result<R, Option<Error>>,
    offset: usize,
}

/// Results that contain the rank of the sender.
pub trait Sourced {
    /// Subtracts `offset` from the rank of the sender.
    #[doc(hidden)]
    fn behind(self, offset: usize) -> Self;
}

impl Sourced for Status {
    fn behind(self, offset: usize) -> Self {
        Status {
            source: self.source.wrapping_sub(offset),
            ..self
        }
    }
}

impl<T> Sourced for (T, Status) {
    fn behind(self, offset: usize) -> Self {
        (self.0, self.1.behind(offset))
    }
}

impl Sourced for Message {
    fn behind(self, offset: usize) -> Self {
        self.with_source_behind(offset)
    }
}

impl<R: Request> Future for FromRemote<R>
where
    R::Outcome: Sourced,
{
    type Output = Result<R::Outcome, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let offset = self.offset;
        match &mut self.request {
            Ok(request) => {
                let outcome = Pin::new(request).poll(context);
                outcome.map(|outcome| outcome.map(|outcome| outcome.behind(offset)))
            }
            Err(error) => Poll::Ready(Err(error.take().unwrap_or(Error::Inactive))),
        }
    }
}

impl<R: Request> Request for FromRemote<R>
where
    R::Outcome: Sourced,
{
    type Outcome = R::Outcome;

    fn is_active(&self) -> bool {
        match &self.request {
            Ok(request) => request.is_active(),
            Err(error) => error.is_some(),
        }
    }

    fn is_done(&self) -> bool {
        self.request.as_ref().map_or(true, Request::is_done)
    }

    fn cancel(self) -> bool {
        self.request.is_ok_and(Request::cancel)
    }

    fn disarm(&mut self) {
        if let Ok(request) = &mut self.request {
            request.disarm();
        }
    }
}

impl InterCommunicator {
    /// Returns the rank of the caller in the local group.
    pub fn rank(&self) -> usize {
        self.local.rank()
    }

    /// Returns the number of ranks of the local group.
    pub fn size(&self) -> usize {
        self.local.size()
    }

    /// Returns the number of ranks of the remote group (`MPI_Comm_remote_size`).
    pub fn remote_size(&self) -> usize {
        self.remote.size()
    }

    /// Returns the local group.
    pub fn group(&self) -> &Group {
        self.local.group()
    }

    /// Returns the remote group (`MPI_Comm_remote_group`).
    pub fn remote_group(&self) -> &Group {
        &self.remote
    }

    /// Returns the communicator of the local group alone. It is separate from the communicator from
    /// which the intercommunicator was created.
    pub fn local(&self) -> &Communicator {
        &self.local
    }

    /// Returns the communicator of both groups that carries the messages, and the rank in it of the
    /// first rank of the remote group. For the blocking API, whose messages are packed.
    #[doc(hidden)]
    pub fn bridge(&self) -> (&Communicator, usize) {
        (&self.bridge, self.offset)
    }

    /// Returns the communicator of both groups for collective calls.
    pub(super) fn inside(&self) -> &Communicator {
        &self.inside
    }

    /// Returns the rank in [`InterCommunicator::inside`] of the first rank of the remote group.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// Checks that the remote group has this rank. Returns [`Error::Rank`] otherwise.
    pub(super) fn check(&self, rank: usize) -> Result<(), Error> {
        let size = self.remote_size();
        match rank < size {
            true => Ok(()),
            false => Err(Error::Rank { rank, size }),
        }
    }

    /// Translates the source of a receive from a rank of the remote group to a rank of the bridge.
    /// Returns [`Error::Rank`] if the remote group does not have the rank.
    fn source(&self, source: Source) -> Result<Source, Option<Error>> {
        match source {
            Source::Any => Ok(Source::Any),
            Source::Rank(rank) => {
                self.check(rank).map_err(Some)?;
                Ok(Source::Rank(rank + self.offset))
            }
        }
    }

    /// Sends a value to a rank of the remote group, like [`Communicator::send`].
    ///
    /// # Errors
    /// As for [`Communicator::send`].
    #[track_caller]
    pub fn send<T: Value>(&self, value: T, dest: usize, tag: i32) -> Sending {
        match self.check(dest) {
            Ok(()) => self.bridge.send(value, dest + self.offset, tag),
            Err(error) => self.bridge.refuse(error),
        }
    }

    /// Sends a value to a rank of the remote group, like [`Communicator::ssend`].
    ///
    /// # Errors
    /// As for [`Communicator::ssend`].
    #[track_caller]
    pub fn ssend<T: Value>(&self, value: T, dest: usize, tag: i32) -> Sending {
        match self.check(dest) {
            Ok(()) => self.bridge.ssend(value, dest + self.offset, tag),
            Err(error) => self.bridge.refuse(error),
        }
    }

    /// Sends a value to a rank of the remote group, like [`Communicator::bsend`].
    ///
    /// # Errors
    /// As for [`Communicator::bsend`].
    #[track_caller]
    pub fn bsend<T: Value>(&self, value: T, dest: usize, tag: i32) -> Sending {
        match self.check(dest) {
            Ok(()) => self.bridge.bsend(value, dest + self.offset, tag),
            Err(error) => self.bridge.refuse(error),
        }
    }

    /// Sends a value to a rank of the remote group, like [`Communicator::rsend`].
    ///
    /// # Errors
    /// As for [`Communicator::rsend`].
    #[track_caller]
    pub fn rsend<T: Value>(&self, value: T, dest: usize, tag: i32) -> Sending {
        match self.check(dest) {
            Ok(()) => self.bridge.rsend(value, dest + self.offset, tag),
            Err(error) => self.bridge.refuse(error),
        }
    }

    /// Receives a value from a rank of the remote group, like [`Communicator::recv`].
    ///
    /// # Errors
    /// As for [`Communicator::recv`].
    #[track_caller]
    pub fn recv<T: Value>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagOf>,
    ) -> FromRemote<Receiving<T>> {
        let request = match self.source(source.into()) {
            Ok(source) => Ok(self.bridge.recv(source, tag)),
            Err(error) => Err(error),
        };
        FromRemote {
            request,
            offset: self.offset,
        }
    }

    /// Waits for a message from the remote group and removes it from the queue, like
    /// [`Communicator::mprobe`].
    ///
    /// # Errors
    /// As for [`Communicator::mprobe`].
    #[track_caller]
    pub fn mprobe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagOf>,
    ) -> FromRemote<super::request::ReceivingMessage> {
        let request = match self.source(source.into()) {
            Ok(source) => Ok(self.bridge.mprobe(source, tag)),
            Err(error) => Err(error),
        };
        FromRemote {
            request,
            offset: self.offset,
        }
    }

    /// Checks for a message from the remote group, like [`Communicator::iprobe`]. The source is a
    /// rank of the remote group, in the argument and in the status.
    ///
    /// # Errors
    /// As for [`Communicator::iprobe`].
    pub async fn iprobe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagOf>,
    ) -> Result<Option<Status>, Error> {
        let source = self.source(source.into());
        let source = source.map_err(|error| error.unwrap_or(Error::Inactive))?;
        let found = self.bridge.iprobe(source, tag).await?;
        Ok(found.map(|status| status.behind(self.offset)))
    }

    /// Compares the local and the remote groups of two intercommunicators (`MPI_Comm_compare`).
    pub fn compare(&self, other: &InterCommunicator) -> Comparison {
        if self.bridge.compare(&other.bridge) == Comparison::Identical {
            return Comparison::Identical;
        }
        let local = self.local.compare(&other.local);
        match (local, self.remote.compare(&other.remote)) {
            (Comparison::Unequal, _) | (_, Comparison::Unequal) => Comparison::Unequal,
            (Comparison::Congruent, Comparison::Identical) => Comparison::Congruent,
            _ => Comparison::Similar,
        }
    }

    /// Creates an intercommunicator of the same groups (`MPI_Comm_dup`). A collective call, which
    /// begins when it is called.
    ///
    /// # Errors
    /// As for [`Communicator::dup`].
    #[track_caller]
    pub fn dup(&self) -> impl Future<Output = Result<InterCommunicator, Error>> + use<> {
        let (at, this) = (Location::caller(), self.clone());
        let local = self.local.copy("dup", at);
        let (bridge, inside) = (self.inside.copy("dup", at), self.inside.copy("dup", at));
        async move {
            Ok(InterCommunicator {
                local: local.await?,
                bridge: bridge.await?,
                inside: inside.await?,
                ..this
            })
        }
    }

    /// Splits both groups (`MPI_Comm_split`). The ranks of both groups with the same colour form an
    /// intercommunicator, ordered by key in each group, and by rank if keys are equal. A rank
    /// without a colour gets `None`, and so does a rank whose colour no rank of the remote group
    /// has. A collective call, which begins when it is called.
    ///
    /// # Errors
    /// As for [`Communicator::split`].
    #[track_caller]
    pub fn split(
        &self,
        colour: Option<u32>,
        key: i64,
    ) -> impl Future<Output = Result<Option<InterCommunicator>, Error>> + use<> {
        let is_first = self.offset > 0;
        // In communicators of both groups, the first group stays before the second. Keys of MPI
        // have 32 bits.
        let side = if is_first { -1 << 40 } else { 1 << 40 };
        let local = self.local.split(colour, key);
        let bridge = self.inside.split(colour, key + side);
        let inside = self.inside.split(colour, key + side);
        async move {
            let (local, bridge) = (local.await?, bridge.await?);
            let (Some(local), Some(bridge), Some(inside)) = (local, bridge, inside.await?) else {
                return Ok(None);
            };
            let remote = bridge.group().difference(local.group());
            if remote.size() == 0 {
                return Ok(None);
            }
            let offset = if is_first { local.size() } else { 0 };
            Ok(Some(InterCommunicator {
                local,
                remote,
                bridge,
                inside,
                offset,
            }))
        }
    }

    /// Merges both groups into one communicator (`MPI_Intercomm_merge`). A collective call. A group
    /// that passes `high` as true comes after a group that passes false. If both pass the same
    /// value, the group whose leader has the lower world rank comes first. The order within a group
    /// is kept. Endpoints count as higher than all processes.
    ///
    /// # Errors
    /// As for all collective calls, and [`Error::TooMany`] if no communicator number is left.
    /// [`Error::Group`] at all ranks if ranks of one group pass different values.
    #[track_caller]
    pub fn merge(&self, high: bool) -> impl Future<Output = Result<Communicator, Error>> + use<> {
        let (call, at) = (Call::new::<bool>("merge", None), Location::caller());
        let this = Rc::clone(self.inside.shared());
        let parent = Rc::clone(&this);
        // Number of ranks of the group that comes first in `inside`.
        let cut = match self.offset {
            0 => self.remote_size(),
            mine => mine,
        };
        let make = move |high: Vec<bool>| {
            let sides = high.split_at(cut.min(high.len()));
            let differ = |side: &[bool]| side.iter().any(|high| *high != side[0]);
            let mut ranks: Vec<u32> = (0..high.len() as u32).collect();
            ranks.sort_by_key(|&rank| high[rank as usize]);
            let recipes = match Group::of(ranks) {
                Ok(ranks) if !differ(sides.0) && !differ(sides.1) => {
                    Recipes::one(&this.world, Some(ranks))
                }
                _ => Recipes::wrong(DIFFER),
            };
            CallOutcome::all(Rc::new(recipes))
        };
        let brought = Ok(Brought::Part(high));
        let calling = self.inside.calling(call, at);
        let made = begin(calling, brought, Needs::All, make, made::<bool>);
        async move {
            let (recipes, rank) = made.await?;
            let name = || format!("{}.merge", parent.name());
            let group = || Err(Error::Inactive);
            let merged = recipes.communicator(&parent, rank, Some(0), name, group)?;
            merged.ok_or(Error::Inactive)
        }
    }

    /// Waits until all ranks of both groups have called it (`MPI_Barrier`).
    ///
    /// # Errors
    /// As for [`Communicator::barrier`].
    #[track_caller]
    pub fn barrier(&self) -> impl Future<Output = Result<(), Error>> + use<> {
        self.inside.barrier()
    }

    /// Returns the values of the remote group at all ranks, in the order of ranks in the remote
    /// group (`MPI_Allgather`).
    ///
    /// # Errors
    /// As for [`Communicator::allgather`].
    #[track_caller]
    pub fn allgather<T: Value + Clone>(
        &self,
        value: T,
    ) -> impl Future<Output = Result<Rc<[T]>, Error>> + use<T> {
        let gathered = self.inside.allgather(value);
        let there = self.offset..self.offset + self.remote_size();
        async move { Ok(gathered.await?[there].into()) }
    }

    /// Combines the values of the remote group with `op`, in the order of ranks there, and returns
    /// the result at all ranks (`MPI_Allreduce`).
    ///
    /// # Errors
    /// As for [`Communicator::allreduce`].
    #[track_caller]
    pub fn allreduce<T: Value + Clone, Op: FnMut(T, T) -> T + 'static>(
        &self,
        value: T,
        op: Op,
    ) -> impl Future<Output = Result<T, Error>> + use<T, Op> {
        let is_first = self.offset > 0;
        let value = match is_first {
            true => (Some(value), None),
            false => (None, Some(value)),
        };
        let mut op = op;
        // The ranks of a group are consecutive, so each side is combined in the order of its ranks.
        let mut one = move |a: Option<T>, b: Option<T>| match (a, b) {
            (Some(a), Some(b)) => Some(op(a, b)),
            (a, b) => a.or(b),
        };
        let reduced = self
            .inside
            .allreduce(value, move |a, b| (one(a.0, b.0), one(a.1, b.1)));
        async move {
            let (first, second) = reduced.await?;
            let there = if is_first { second } else { first };
            there.ok_or(Error::Inactive)
        }
    }

    /// Exchanges values with all ranks of the remote group (`MPI_Alltoall`). The n-th value is sent
    /// to rank n there, and the n-th value of the result is from rank n there.
    ///
    /// # Errors
    /// As for all collective calls. [`Error::Count`] if this rank does not have one value for each
    /// remote rank, or gets no value from a remote rank that has too few. If a rank has too many
    /// values, only this rank gets the error.
    #[track_caller]
    pub fn alltoall<T: Value>(
        &self,
        values: Vec<T>,
    ) -> impl Future<Output = Result<Vec<T>, Error>> + use<T> {
        let (given, wanted, here) = (values.len(), self.remote_size(), self.size());
        // The ranks of the local group get no value.
        let mut all: Vec<Option<T>> = Vec::with_capacity(here + wanted);
        let before = self.offset;
        all.resize_with(before, || None);
        all.extend(values.into_iter().take(wanted).map(Some));
        all.resize_with(here + wanted, || None);
        let exchanged = self.inside.alltoall(all);
        async move {
            let came: Vec<T> = exchanged.await?.into_iter().flatten().collect();
            // If a remote rank has too few values, the ranks that get none from it also return an
            // error.
            let given = if given == wanted { came.len() } else { given };
            match given == wanted {
                true => Ok(came),
                false => Err(Error::Count { given, wanted }),
            }
        }
    }
}
