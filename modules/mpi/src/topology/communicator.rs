//! What all communicators can do.

use std::os::raw::c_int;

use graphmap_runtime::mpi as core;

use super::Rank;
use super::cartesian::CartesianCommunicator;
use super::group::{Group, UserGroup, group_of, rank};
use super::intercommunicator::InterCommunicator;
use super::process::{AnyProcess, Process};
use super::simple::SimpleCommunicator;
use crate::attribute::CommAttribute;
use crate::datatype::traits::{Buffer, BufferMut, Datatype};
use crate::fiber::wait;
use crate::place::{Place, packed};
use crate::shared::{AsHandle, CommunicatorHandle};
use crate::{Count, Tag, done};

/// Which part of a split a rank wants to be in.
#[derive(Debug, Clone, Copy)]
pub struct Color(Option<u32>);

impl Color {
    /// None.
    pub fn undefined() -> Color {
        Color(None)
    }

    /// That of all ranks with this colour.
    ///
    /// # Panics
    /// If it is less than 0.
    #[track_caller]
    pub fn with_value(value: c_int) -> Color {
        match u32::try_from(value) {
            Ok(value) => Color(Some(value)),
            Err(_) => panic!("Value of color must be non-negative."),
        }
    }
}

/// By what the ranks of a part of a split are put in order.
pub type Key = c_int;

/// A communicator that may have been made for the rank that asks.
fn made(of: &CommunicatorHandle, made: Option<core::Communicator>) -> Option<SimpleCommunicator> {
    made.map(|core| SimpleCommunicator::made(of.0.derived(core)))
}

/// Some ranks, one of which has this, and messages between them that no other communicator sees.
pub trait Communicator: AsHandle {
    /// How many ranks messages can be sent to.
    fn target_size(&self) -> Rank;

    /// How many ranks there are.
    fn size(&self) -> Rank {
        rank(self.as_handle().0.known().size())
    }

    /// Which of them has this.
    fn rank(&self) -> Rank {
        rank(self.as_handle().0.known().rank())
    }

    /// One of them.
    ///
    /// # Panics
    /// If there is none with this number.
    #[track_caller]
    fn process_at_rank(&self, r: Rank) -> Process<'_> {
        let size = self.target_size();
        assert!(
            0 <= r && r < size,
            "rank {r} does not exist: the communicator has {size} ranks"
        );
        Process::new(self, r)
    }

    /// Any of them.
    fn any_process(&self) -> AnyProcess<'_> {
        AnyProcess::new(self)
    }

    /// The one that has this.
    fn this_process(&self) -> Process<'_> {
        let rank = self.rank();
        Process::new(self, rank)
    }

    /// How it compares with another.
    fn compare(&self, other: &dyn Communicator) -> CommunicatorRelation {
        let (this, other) = (&self.as_handle().0, &other.as_handle().0);
        let local = this.known().compare(other.known());
        let remote = match (this.remote(), other.remote()) {
            (None, None) => core::Comparison::Identical,
            (Some(this), Some(other)) => this.compare(other),
            _ => core::Comparison::Unequal,
        };
        match (local, remote) {
            (core::Comparison::Unequal, _) | (_, core::Comparison::Unequal) => {
                CommunicatorRelation::Unequal
            }
            (core::Comparison::Similar, _) | (_, core::Comparison::Similar) => {
                CommunicatorRelation::Similar
            }
            // Each intercommunicator has a local communicator of its own.
            (core::Comparison::Identical, _) => CommunicatorRelation::Identical,
            (core::Comparison::Congruent, _) => CommunicatorRelation::Congruent,
        }
    }

    /// Another communicator of the same ranks. A collective call, as all that make communicators.
    ///
    /// # Panics
    /// If ranks have made different calls, as with all that follow.
    #[track_caller]
    fn duplicate(&self) -> SimpleCommunicator {
        let of = self.as_handle();
        let core = done(wait(of.core().dup()));
        let mut shared = of.0.derived(core);
        shared.attributes = of.0.attributes.duplicate(of.0.handle());
        shared.grid.clone_from(&of.0.grid);
        if let Some(graph) = &of.0.graph {
            // Anew, as what is sent in one of the two communicators must not come in the other.
            let (sources, destinations): (Vec<usize>, Vec<usize>) = (
                graph.sources().flatten().collect(),
                graph.destinations().flatten().collect(),
            );
            shared.graph = Some(done(wait(shared.core().graph(&sources, &destinations))));
        }
        SimpleCommunicator::made(shared)
    }

    /// The communicator of all ranks with the same colour.
    #[track_caller]
    fn split_by_color(&self, color: Color) -> Option<SimpleCommunicator> {
        self.split_by_color_with_key(color, Key::default())
    }

    /// As [`split_by_color`](Self::split_by_color), in the order of keys.
    #[track_caller]
    fn split_by_color_with_key(&self, color: Color, key: Key) -> Option<SimpleCommunicator> {
        let of = self.as_handle();
        made(of, done(wait(of.core().split(color.0, key.into()))))
    }

    /// Returns the communicator of all ranks that can share memory with the one that calls this
    /// (`MPI_Comm_split_type`, `MPI_COMM_TYPE_SHARED`), in the order of keys. These are the ranks
    /// of its OS process, not of its host, because
    /// [`create_shared_window`](crate::window::Windows::create_shared_window) is for one OS
    /// process.
    #[track_caller]
    fn split_shared(&self, key: c_int) -> SimpleCommunicator {
        let of = self.as_handle();
        let core = wait(of.core().split_type(core::SplitType::OsProcess, key.into()));
        SimpleCommunicator::made(of.0.derived(done(core)))
    }

    /// The communicator of a group, if the rank that calls this is in it. All ranks of this communicator have to call it, each with
    /// a group that has no rank in common with another, or is the same.
    #[track_caller]
    fn split_by_subgroup_collective(&self, group: &dyn Group) -> Option<SimpleCommunicator> {
        let of = self.as_handle();
        made(of, done(wait(of.core().create(&group_of(group)))))
    }

    /// As [`split_by_subgroup_collective`](Self::split_by_subgroup_collective), called by the ranks of the group only.
    #[track_caller]
    fn split_by_subgroup(&self, group: &dyn Group) -> Option<SimpleCommunicator> {
        self.split_by_subgroup_with_tag(group, Tag::default())
    }

    /// As [`split_by_subgroup`](Self::split_by_subgroup), told by a tag from others that are made at the same time.
    #[track_caller]
    fn split_by_subgroup_with_tag(
        &self,
        group: &dyn Group,
        tag: Tag,
    ) -> Option<SimpleCommunicator> {
        let of = self.as_handle();
        made(
            of,
            done(wait(of.core().create_group(&group_of(group), tag))),
        )
    }

    /// Its ranks.
    fn group(&self) -> UserGroup {
        let known = self.as_handle().0.known();
        UserGroup::new(known.group(), known)
    }

    /// Ends the run.
    ///
    /// # Panics
    /// Always: that is how.
    #[track_caller]
    fn abort(&self, errorcode: c_int) -> ! {
        panic!("rank {} aborted the run with code {errorcode}", self.rank())
    }

    /// Whether it is between two groups.
    fn test_inter(&self) -> bool {
        false
    }

    /// Gives it a name.
    fn set_name(&self, name: &str) {
        *self.as_handle().0.name.borrow_mut() = name.to_string();
    }

    /// Its name.
    fn get_name(&self) -> String {
        self.as_handle().0.name.borrow().clone()
    }

    /// The communicator of the first ranks of this one as a grid, if the rank that calls this is among them. They keep their order.
    ///
    /// # Panics
    /// If a dimension is less than 1, or there are more than ranks.
    #[track_caller]
    fn create_cartesian_communicator(
        &self,
        dims: &[Count],
        periods: &[bool],
        _reorder: bool,
    ) -> Option<CartesianCommunicator> {
        let of = self.as_handle();
        let cartesian = wait(of.core().cartesian(&grid(dims, periods)));
        done(cartesian).map(|cartesian| CartesianCommunicator::made(&of.0, cartesian))
    }

    /// Which rank the one that calls this would have in a grid, if any.
    ///
    /// # Panics
    /// If there is not a period for each dimension.
    #[track_caller]
    fn cartesian_map(&self, dims: &[Count], periods: &[bool]) -> Option<Rank> {
        assert_eq!(
            dims.len(),
            periods.len(),
            "dims and periods must be parallel, equal-sized arrays"
        );
        let ranks = dims
            .iter()
            .try_fold(1, |ranks: Rank, &dim| ranks.checked_mul(dim))?;
        let rank = self.rank();
        (rank < ranks).then_some(rank)
    }

    /// Returns how many bytes `incount` elements of a datatype have when packed; -32766 (`MPI_UNDEFINED`) if a `Count` cannot say it.
    fn pack_size<Dt: Datatype>(&self, incount: Count, datatype: &Dt) -> Count
    where
        Self: Sized,
    {
        let count = usize::try_from(incount).unwrap_or(0);
        let bytes = datatype.as_raw().0.size.checked_mul(count);
        let bytes = bytes.and_then(|bytes| Count::try_from(bytes).ok());
        bytes.unwrap_or(crate::abi::MPI_UNDEFINED)
    }

    /// The elements of a buffer, packed.
    fn pack<Buf: Buffer + ?Sized>(&self, inbuf: &Buf) -> Vec<u8>
    where
        Self: Sized,
    {
        packed(inbuf)
    }

    /// Packs the elements of a buffer into another from a position on: the position behind them.
    ///
    /// # Panics
    /// If there is no room for them.
    #[track_caller]
    fn pack_into<Buf: Buffer + ?Sized>(
        &self,
        inbuf: &Buf,
        outbuf: &mut [u8],
        position: Count,
    ) -> Count
    where
        Self: Sized,
    {
        let (bytes, room) = (packed(inbuf), outbuf.len());
        let from = usize::try_from(position).ok();
        let to = from.and_then(|from| from.checked_add(bytes.len()));
        let place = from.zip(to).and_then(|(from, to)| outbuf.get_mut(from..to));
        let place = place.unwrap_or_else(|| {
            panic!(
                "cannot pack {} bytes at position {position} of a buffer of {room}",
                bytes.len()
            )
        });
        place.copy_from_slice(&bytes);
        Count::try_from(to.unwrap_or(0)).expect("a position is less than 2^31")
    }

    /// Unpacks elements into a buffer from a position on: the position behind them.
    ///
    /// # Safety
    /// They have to be values of the type of the buffer.
    ///
    /// # Panics
    /// If there are not as many bytes.
    #[track_caller]
    unsafe fn unpack_into<Buf: BufferMut + ?Sized>(
        &self,
        inbuf: &[u8],
        outbuf: &mut Buf,
        position: Count,
    ) -> Count
    where
        Self: Sized,
    {
        let wanted = crate::place::layout(outbuf).packed(crate::place::count(outbuf));
        let from = usize::try_from(position).ok();
        let to = from.and_then(|from| from.checked_add(wanted));
        let bytes = from.zip(to).and_then(|(from, to)| inbuf.get(from..to));
        let bytes = bytes.unwrap_or_else(|| {
            panic!(
                "cannot unpack {wanted} bytes at position {position} of a buffer of {}",
                inbuf.len()
            )
        });
        // SAFETY: the buffer is borrowed.
        done(unsafe { Place::of(outbuf).fill_exactly(bytes) });
        Count::try_from(to.unwrap_or(0)).expect("a position is less than 2^31")
    }

    /// The ranks that have spawned this one: none have.
    fn parent(&self) -> Option<InterCommunicator> {
        None
    }
}

/// A grid.
#[track_caller]
fn grid(dims: &[Count], periods: &[bool]) -> core::Grid {
    assert_eq!(
        dims.len(),
        periods.len(),
        "dims and periods must be parallel, equal-sized arrays"
    );
    let dims: Vec<usize> = dims
        .iter()
        .map(|&dim| usize::try_from(dim).unwrap_or(0))
        .collect();
    done(core::Grid::new(&dims, periods))
}

/// The attributes of communicators.
pub trait AnyCommunicator: Communicator {
    /// The value of a type, if it has one.
    fn get_attr<A: CommAttribute>(&self) -> Option<&A>;

    /// Gives it a value.
    fn set_attr<A: CommAttribute>(&mut self, val: A);
}

impl<C: Communicator + ?Sized> AnyCommunicator for C {
    fn get_attr<A: CommAttribute>(&self) -> Option<&A> {
        let value = self.as_handle().0.attributes.get::<A>();
        // SAFETY: it lives as long as the communicator, of which this has a handle.
        value.map(|value| unsafe { &*value })
    }

    fn set_attr<A: CommAttribute>(&mut self, val: A) {
        self.as_handle().0.attributes.set(val);
    }
}

/// How two communicators compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommunicatorRelation {
    /// They are the same.
    Identical,
    /// They have the same ranks in the same order.
    Congruent,
    /// They have the same ranks in another order.
    Similar,
    /// They have different ranks.
    Unequal,
}

impl Communicator for SimpleCommunicator {
    fn target_size(&self) -> Rank {
        self.size()
    }
}

impl Communicator for CartesianCommunicator {
    fn target_size(&self) -> Rank {
        self.size()
    }
}

impl Communicator for InterCommunicator {
    fn target_size(&self) -> Rank {
        self.remote_size()
    }
}

impl Communicator for Process<'_> {
    fn target_size(&self) -> Rank {
        rank(self.as_handle().0.peers().size())
    }
}

impl Communicator for AnyProcess<'_> {
    fn target_size(&self) -> Rank {
        rank(self.as_handle().0.peers().size())
    }
}
