//! Calls that all communicators have.

use std::os::raw::c_int;

use graphmap_runtime::mpi as core;

use super::Rank;
use super::cartesian::CartesianCommunicator;
use super::group::{Group, UserGroup, group_of, rank};
use super::intercommunicator::InterCommunicator;
use super::process::{AnyProcess, Process};
use super::simple::SimpleCommunicator;
use crate::attribute::CommAttribute;
use crate::buffer_range::{BufferRange, packed};
use crate::datatype::traits::{Buffer, BufferMut, Datatype};
use crate::fiber::wait;
use crate::shared::{AsHandle, CommunicatorHandle};
use crate::{Count, Tag, done};

/// Part of a split that a rank requests.
#[derive(Debug, Clone, Copy)]
pub struct Color(Option<u32>);

impl Color {
    /// Returns the request for no part (`MPI_UNDEFINED`).
    pub fn undefined() -> Color {
        Color(None)
    }

    /// Returns the request for the part of all ranks with this colour.
    ///
    /// # Panics
    /// If the colour is negative.
    #[track_caller]
    pub fn with_value(value: c_int) -> Color {
        match u32::try_from(value) {
            Ok(value) => Color(Some(value)),
            Err(_) => panic!("Value of color must be non-negative."),
        }
    }
}

/// Key that orders the ranks of a part of a split.
pub type Key = c_int;

/// Wraps a communicator that was made from `of` for the calling rank. Returns `None` if there is
/// none.
fn made(of: &CommunicatorHandle, made: Option<core::Communicator>) -> Option<SimpleCommunicator> {
    made.map(|core| SimpleCommunicator::made(of.0.derived(core)))
}

/// An ordered set of ranks, as one of them sees it. Messages of a communicator are not visible to
/// other communicators.
pub trait Communicator: AsHandle {
    /// Returns the number of ranks that messages can be sent to. Of an intercommunicator, these are
    /// the ranks of the remote group.
    fn target_size(&self) -> Rank;

    /// Returns the number of ranks. Of an intercommunicator, these are the ranks of the local
    /// group.
    fn size(&self) -> Rank {
        rank(self.as_handle().0.known().size())
    }

    /// Returns the rank that owns this value, in its group.
    fn rank(&self) -> Rank {
        rank(self.as_handle().0.known().rank())
    }

    /// Returns a rank as a process that messages can be sent to. Of an intercommunicator, this is a
    /// rank of the remote group.
    ///
    /// # Panics
    /// If the rank does not exist.
    #[track_caller]
    fn process_at_rank(&self, r: Rank) -> Process<'_> {
        let size = self.target_size();
        assert!(
            0 <= r && r < size,
            "rank {r} does not exist: the communicator has {size} ranks"
        );
        Process::new(self, r)
    }

    /// Returns the source that stands for any rank.
    fn any_process(&self) -> AnyProcess<'_> {
        AnyProcess::new(self)
    }

    /// Returns the rank that owns this value, as a process. Of an intercommunicator, returns the
    /// process of the remote group with the same number, which need not exist.
    fn this_process(&self) -> Process<'_> {
        let rank = self.rank();
        Process::new(self, rank)
    }

    /// Compares this communicator with another. Intercommunicators are compared by both groups, and
    /// are unequal to communicators of one group. `Identical` means the same communicator,
    /// `Congruent` the same ranks in the same order, and `Similar` the same ranks in another order.
    /// Does not communicate.
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

    /// Makes another communicator of the same ranks (`MPI_Comm_dup`). Its virtual topology is the
    /// same. It has clones of the attributes whose type sets
    /// [`CLONE_ON_DUP`](CommAttribute::CLONE_ON_DUP), and no name. A collective call, as all calls
    /// that make communicators: it blocks until all ranks have made it.
    ///
    /// # Panics
    /// If ranks make different calls, if the rank was finalized, if the run ends, or if the caller
    /// is not on the stack of a rank. Also if the communicator is an intercommunicator, or if no
    /// communicator numbers are left. This applies to all calls below that make communicators. Also
    /// if an attribute panics when it is cloned.
    #[track_caller]
    fn duplicate(&self) -> SimpleCommunicator {
        let of = self.as_handle();
        let core = done(wait(of.core().dup()));
        let mut shared = of.0.derived(core);
        shared.attributes = of.0.attributes.duplicate(of.0.handle());
        shared.grid.clone_from(&of.0.grid);
        if let Some(graph) = &of.0.graph {
            // The graph is made again, because messages in one communicator must not arrive in the
            // other.
            let (sources, destinations): (Vec<usize>, Vec<usize>) = (
                graph.sources().flatten().collect(),
                graph.destinations().flatten().collect(),
            );
            shared.graph = Some(done(wait(shared.core().graph(&sources, &destinations))));
        }
        SimpleCommunicator::made(shared)
    }

    /// Returns the communicator of all ranks with the same colour, in the order of their ranks
    /// (`MPI_Comm_split`). Returns `None` for [`Color::undefined`]. A collective call.
    ///
    /// # Panics
    /// As [`duplicate`](Self::duplicate).
    #[track_caller]
    fn split_by_color(&self, color: Color) -> Option<SimpleCommunicator> {
        self.split_by_color_with_key(color, Key::default())
    }

    /// Splits as [`split_by_color`](Self::split_by_color), with the ranks in the order of their
    /// keys. Ranks with equal keys are in the order of their ranks here.
    ///
    /// # Panics
    /// As [`duplicate`](Self::duplicate).
    #[track_caller]
    fn split_by_color_with_key(&self, color: Color, key: Key) -> Option<SimpleCommunicator> {
        let of = self.as_handle();
        made(of, done(wait(of.core().split(color.0, key.into()))))
    }

    /// Returns the communicator of all ranks that can share memory with the calling rank, in the
    /// order of keys (`MPI_Comm_split_type`, `MPI_COMM_TYPE_SHARED`). These are the ranks of its OS
    /// process, not of its host, because
    /// [`create_shared_window`](crate::window::Windows::create_shared_window) is for one OS
    /// process. A collective call.
    ///
    /// # Panics
    /// As [`duplicate`](Self::duplicate).
    #[track_caller]
    fn split_shared(&self, key: c_int) -> SimpleCommunicator {
        let of = self.as_handle();
        let core = wait(of.core().split_type(core::SplitType::OsProcess, key.into()));
        SimpleCommunicator::made(of.0.derived(done(core)))
    }

    /// Returns the communicator of a group, or `None` if the calling rank is not in the group
    /// (`MPI_Comm_create`). All ranks of this communicator must call it. All ranks of a group must
    /// pass that group, and different groups must be disjoint.
    ///
    /// # Panics
    /// As [`duplicate`](Self::duplicate). Also if the group has a process that is not in this
    /// communicator, if ranks of a group pass different groups, or if groups overlap.
    #[track_caller]
    fn split_by_subgroup_collective(&self, group: &dyn Group) -> Option<SimpleCommunicator> {
        let of = self.as_handle();
        made(of, done(wait(of.core().create(&group_of(group)))))
    }

    /// Splits as [`split_by_subgroup_collective`](Self::split_by_subgroup_collective), but only the
    /// ranks of the group need to call it (`MPI_Comm_create_group`). Other ranks get `None` at
    /// once.
    ///
    /// # Panics
    /// As [`split_by_subgroup_with_tag`](Self::split_by_subgroup_with_tag).
    #[track_caller]
    fn split_by_subgroup(&self, group: &dyn Group) -> Option<SimpleCommunicator> {
        self.split_by_subgroup_with_tag(group, Tag::default())
    }

    /// Splits as [`split_by_subgroup`](Self::split_by_subgroup), with a tag. All ranks of the group
    /// must pass the same tag. Communicators that the same ranks make at the same time need
    /// different tags.
    ///
    /// # Panics
    /// As [`duplicate`](Self::duplicate). Also if the group has a process that is not in this
    /// communicator, if the tag is negative, or if communicators that are made at the same time
    /// have equal tags and this is detected.
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

    /// Returns the group of ranks. Of an intercommunicator, this is the local group.
    fn group(&self) -> UserGroup {
        let known = self.as_handle().0.known();
        UserGroup::new(known.group(), known)
    }

    /// Ends the run with a panic of the calling rank, whose message contains the code
    /// (`MPI_Abort`).
    ///
    /// # Panics
    /// Always.
    #[track_caller]
    fn abort(&self, errorcode: c_int) -> ! {
        panic!("rank {} aborted the run with code {errorcode}", self.rank())
    }

    /// Returns true if the communicator is an [`InterCommunicator`].
    fn test_inter(&self) -> bool {
        false
    }

    /// Sets the name of the communicator, for the calling rank only.
    fn set_name(&self, name: &str) {
        *self.as_handle().0.name.borrow_mut() = name.to_string();
    }

    /// Returns the name of the communicator. It is empty if the calling rank has not set it, except
    /// for `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
    fn get_name(&self) -> String {
        self.as_handle().0.name.borrow().clone()
    }

    /// Returns a communicator of the first ranks of this one, as a grid (`MPI_Cart_create`).
    /// Returns `None` if the grid does not contain the calling rank. `dims` has the number of ranks
    /// along each dimension, and `periods` is true for periodic dimensions. `_reorder` has no
    /// effect: the order of the ranks does not change. A collective call.
    ///
    /// # Panics
    /// As [`duplicate`](Self::duplicate). Also if a dimension is less than 1, if the grid has more
    /// ranks than this communicator, if `dims` and `periods` differ in length, or if ranks pass
    /// different grids.
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

    /// Returns the rank that the calling rank would have in a grid (`MPI_Cart_map`). Returns `None`
    /// if the grid would not contain the calling rank, or has too many ranks for a `Rank`. Does not
    /// communicate, and does not check that the dimensions are positive or that this communicator
    /// has enough ranks.
    ///
    /// # Panics
    /// If `dims` and `periods` differ in length.
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

    /// Returns the number of bytes of `incount` elements of a datatype when packed. Returns -32766
    /// (`MPI_UNDEFINED`) if a `Count` cannot represent this number. A negative `incount` counts as
    /// 0.
    fn pack_size<Dt: Datatype>(&self, incount: Count, datatype: &Dt) -> Count
    where
        Self: Sized,
    {
        let count = usize::try_from(incount).unwrap_or(0);
        let bytes = datatype.as_raw().0.size.checked_mul(count);
        let bytes = bytes.and_then(|bytes| Count::try_from(bytes).ok());
        bytes.unwrap_or(crate::abi::MPI_UNDEFINED)
    }

    /// Returns the elements of a buffer, packed (`MPI_Pack`).
    ///
    /// # Panics
    /// If there is not enough memory.
    fn pack<Buf: Buffer + ?Sized>(&self, inbuf: &Buf) -> Vec<u8>
    where
        Self: Sized,
    {
        packed(inbuf)
    }

    /// Packs the elements of a buffer into `outbuf`, from the byte at `position` on. Returns the
    /// position behind the packed elements.
    ///
    /// # Panics
    /// If `position` is negative, if there is not enough room in `outbuf`, or if the returned
    /// position would exceed 2^31 - 1.
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
        let part = from.zip(to).and_then(|(from, to)| outbuf.get_mut(from..to));
        let part = part.unwrap_or_else(|| {
            panic!(
                "cannot pack {} bytes at position {position} of a buffer of {room}",
                bytes.len()
            )
        });
        part.copy_from_slice(&bytes);
        Count::try_from(to.unwrap_or(0)).expect("a position is less than 2^31")
    }

    /// Fills a buffer with elements that it unpacks from `inbuf`, from the byte at `position` on.
    /// Returns the position behind the unpacked bytes (`MPI_Unpack`).
    ///
    /// # Safety
    /// The bytes must be packed values of the element type of the buffer.
    ///
    /// # Panics
    /// If `position` is negative, if there are not enough bytes, if a byte is not a valid `bool`,
    /// or if the returned position would exceed 2^31 - 1.
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
        let wanted = crate::buffer_range::layout(outbuf).packed(crate::buffer_range::count(outbuf));
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
        done(unsafe { BufferRange::of(outbuf).fill_exactly(bytes) });
        Count::try_from(to.unwrap_or(0)).expect("a position is less than 2^31")
    }

    /// Returns the intercommunicator to the ranks that spawned this one. Always `None`, because
    /// ranks are not spawned here.
    fn parent(&self) -> Option<InterCommunicator> {
        None
    }
}

/// Makes a grid from MPI's arguments.
///
/// # Panics
/// If `dims` and `periods` differ in length, or if the runtime rejects the dimensions.
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

/// Attributes of communicators.
pub trait AnyCommunicator: Communicator {
    /// Returns the attribute of type `A` that was set last, or `None` if the communicator has none.
    fn get_attr<A: CommAttribute>(&self) -> Option<&A>;

    /// Sets the attribute of type `A`. A previous value lives as long as the communicator.
    fn set_attr<A: CommAttribute>(&mut self, val: A);
}

impl<C: Communicator + ?Sized> AnyCommunicator for C {
    fn get_attr<A: CommAttribute>(&self) -> Option<&A> {
        let value = self.as_handle().0.attributes.get::<A>();
        // SAFETY: the attribute lives as long as the communicator, of which `self` has a handle.
        value.map(|value| unsafe { &*value })
    }

    fn set_attr<A: CommAttribute>(&mut self, val: A) {
        self.as_handle().0.attributes.set(val);
    }
}

/// Result of a comparison of two communicators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommunicatorRelation {
    /// They are the same communicator.
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

    fn test_inter(&self) -> bool {
        true
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
