//! Communicators between two groups of ranks.

use graphmap_runtime::mpi as core;

use super::Rank;
use super::group::{UserGroup, number, rank};
use super::simple::SimpleCommunicator;
use crate::abi::MPI_Comm;
use crate::fiber::wait;
use crate::raw::{AsRaw, FromRaw};
use crate::shared::{AsHandle, CommunicatorHandle, Groups};
use crate::{CallError, Tag, done};

/// A communicator between two groups of ranks. The local group is the group of the rank that has
/// it, the other is the remote group. Messages are sent to and received from the remote group.
///
/// rsmpi makes intercommunicators by spawning only. [`create`](Self::create),
/// [`this_root`](Self::this_root) and [`other_root`](Self::other_root) are graphmap's own.
///
/// | MPI | here |
/// |---|---|
/// | `MPI_Intercomm_create` | `create`; `try_create` returns errors |
/// | `MPI_Comm_remote_size`, `MPI_Comm_remote_group` | `remote_size`, `remote_group` |
/// | `MPI_Comm_size`, `_rank`, `_group` | `size`, `rank`, `group`, of the local group |
/// | messages | `process_at_rank` and `any_process` are processes of the remote group |
/// | collective calls | those of `CommunicatorCollectives`, but not scans |
/// | a root in the remote group | `process_at_rank(r)` |
/// | `MPI_ROOT` | `this_root()`, called by the root |
/// | `MPI_PROC_NULL` as the root | `other_root()`, called by the other ranks of the root's group |
/// | `MPI_Intercomm_merge` | `merge`; `try_merge` returns errors |
///
/// ```
/// use mpi::collective::SystemOperation;
/// use mpi::topology::{Color, InterCommunicator, MergeOrder};
/// use mpi::traits::*;
///
/// fn main() {
///     mpi::run(5, rank).unwrap();
/// }
///
/// fn rank() {
///     let universe = mpi::initialize().unwrap();
///     let world = universe.world();
///     // Even ranks in one group, odd ranks in the other; ranks 0 and 1 of the world lead.
///     let side = world.rank() % 2;
///     let local = world.split_by_color(Color::with_value(side)).unwrap();
///     let both = InterCommunicator::create(&local, 0, &world, 1 - side, 7);
///     assert_eq!((both.size(), both.remote_size()), if side == 0 { (3, 2) } else { (2, 3) });
///     // A message to the first rank of the remote group, from each of the local group.
///     both.process_at_rank(0).send(&world.rank());
///     if both.rank() == 0 {
///         for _ in 0..both.remote_size() {
///             let (came, status) = both.any_process().receive::<i32>();
///             assert_eq!(came, 2 * status.source_rank() + 1 - side);
///         }
///     }
///     // The sum of the remote group.
///     let mut sum = 0;
///     both.all_reduce_into(&world.rank(), &mut sum, SystemOperation::sum());
///     assert_eq!(sum, if side == 0 { 1 + 3 } else { 0 + 2 + 4 });
///     // From rank 1 of the odd ranks to all even ranks.
///     let mut word = if world.rank() == 3 { 42 } else { 0 };
///     match world.rank() {
///         3 => both.this_root().broadcast_into(&mut word),
///         1 => both.other_root().broadcast_into(&mut word),
///         _ => both.process_at_rank(1).broadcast_into(&mut word),
///     }
///     assert_eq!(word, if world.rank() == 1 { 0 } else { 42 });
///     let order = if side == 0 { MergeOrder::High } else { MergeOrder::Low };
///     let all = both.merge(order);
///     assert_eq!((all.size(), all.rank()), (5, [2, 0, 3, 1, 4][world.rank() as usize]));
/// }
/// ```
pub struct InterCommunicator(CommunicatorHandle);

impl InterCommunicator {
    /// Makes an intercommunicator of the ranks of `local` and the ranks of another communicator,
    /// which also call this (`MPI_Intercomm_create`). The leader of this group is the rank
    /// `local_leader` of `local`. Both leaders must be in the communicator `peer`, and
    /// `remote_leader` is the rank of the remote leader there. The other ranks pass any `peer`,
    /// `remote_leader` and `tag`. The tag separates intercommunicators that the same leaders make
    /// at the same time. A collective call of both groups, which blocks until all ranks have made
    /// it.
    ///
    /// # Panics
    /// On an error: see [`try_create`](Self::try_create).
    #[track_caller]
    pub fn create<L: AsHandle + ?Sized, P: AsHandle + ?Sized>(
        local: &L,
        local_leader: Rank,
        peer: &P,
        remote_leader: Rank,
        tag: Tag,
    ) -> InterCommunicator {
        let made = Self::try_create(local, local_leader, peer, remote_leader, tag);
        done(made)
    }

    /// Makes an intercommunicator as [`create`](Self::create), but returns errors.
    ///
    /// # Errors
    /// * [`CallError::Group`]: the groups have a rank in common, or intercommunicators that are
    ///   made at the same time have equal tags and this is detected.
    /// * [`CallError::Rank`]: a leader does not exist.
    /// * [`CallError::Tag`]: the tag is negative.
    /// * [`CallError::Mismatch`]: ranks of a group make different calls.
    /// * [`CallError::TooMany`]: no communicator numbers are left.
    /// * [`CallError::Over`]: the run has ended.
    ///
    /// After an error of a leader or of the tag, only the ranks of `local` get the error, and the
    /// other ranks continue to wait.
    ///
    /// # Panics
    /// If the rank was finalized, if `local` or `peer` is an intercommunicator, or if the caller is
    /// not on the stack of a rank.
    #[track_caller]
    pub fn try_create<L: AsHandle + ?Sized, P: AsHandle + ?Sized>(
        local: &L,
        local_leader: Rank,
        peer: &P,
        remote_leader: Rank,
        tag: Tag,
    ) -> Result<InterCommunicator, CallError> {
        let (of, peer) = (local.as_handle(), peer.as_handle().core());
        let (leader, remote_leader) = (number(local_leader), number(remote_leader));
        let call = of.core();
        let made = wait(call.intercommunicator(leader, peer, remote_leader, tag))?;
        let handle = CommunicatorHandle::new(of.0.derived(made));
        Ok(InterCommunicator(handle))
    }

    /// Returns the intercommunicator of a handle, or `None` if the handle is null or belongs to a
    /// communicator of one group.
    ///
    /// # Safety
    /// As for [`FromRaw`]. If the result is `None`, the handle still belongs to the caller.
    pub unsafe fn try_from_raw(raw: MPI_Comm) -> Option<Self> {
        if raw.0.is_null() {
            return None;
        }
        // SAFETY: guaranteed by the caller.
        let handle = unsafe { CommunicatorHandle::from_raw(raw) };
        if handle.0.remote().is_none() {
            // The handle still belongs to the caller.
            std::mem::forget(handle);
            return None;
        }
        Some(InterCommunicator(handle))
    }

    fn remote(&self) -> &core::Group {
        self.0.0.peers()
    }

    /// Returns the number of ranks of the remote group.
    pub fn remote_size(&self) -> Rank {
        rank(self.remote().size())
    }

    /// Returns the remote group.
    pub fn remote_group(&self) -> UserGroup {
        UserGroup::new(self.remote(), self.0.0.known())
    }

    /// Makes a communicator of both groups. The order within a group is kept. If both groups pass
    /// the same order, the group whose leader has the lower rank in the world comes first.
    /// Otherwise, the ranks of the group that passes `High` come after the ranks of the group that
    /// passes `Low`. A collective call of both groups, which blocks until all ranks have made it.
    ///
    /// # Panics
    /// If the ranks of a group do not all pass the same order, or on another error: see
    /// [`try_merge`](Self::try_merge).
    #[track_caller]
    pub fn merge(&self, merge_order: MergeOrder) -> SimpleCommunicator {
        done(self.try_merge(merge_order))
    }

    /// Merges the groups as [`merge`](Self::merge), but returns errors.
    ///
    /// # Errors
    /// [`CallError::Group`]: the ranks of a group do not all pass the same order.
    /// [`CallError::Mismatch`], [`CallError::TooMany`] and [`CallError::Over`] as for
    /// [`try_create`](Self::try_create).
    ///
    /// # Panics
    /// If the rank was finalized, or if the caller is not on the stack of a rank.
    #[track_caller]
    pub fn try_merge(&self, merge_order: MergeOrder) -> Result<SimpleCommunicator, CallError> {
        let merged = match self.0.groups() {
            Groups::Two(two) => wait(two.merge(merge_order == MergeOrder::High))?,
            // Only possible if `from_raw` was called with the handle of a communicator of one
            // group.
            Groups::One(_) => panic!("the communicator has one group"),
        };
        Ok(SimpleCommunicator::made(self.0.0.derived(merged)))
    }

    /// Returns the calling rank as the root of a collective call of both groups (`MPI_ROOT`).
    pub fn this_root(&self) -> LocalRoot<'_> {
        LocalRoot::This(self)
    }

    /// Returns another rank of the local group as the root of a collective call of both groups
    /// (`MPI_PROC_NULL`). It is not known which rank of the group is the root.
    pub fn other_root(&self) -> LocalRoot<'_> {
        LocalRoot::Other(self)
    }
}

/// Root of a collective call of two groups, for the ranks of its group. Not part of rsmpi.
#[derive(Clone, Copy)]
pub enum LocalRoot<'a> {
    /// The calling rank.
    This(&'a InterCommunicator),
    /// Another rank of its group.
    Other(&'a InterCommunicator),
}

// SAFETY: the raw handle is valid as long as `self.0` lives.
unsafe impl AsRaw for InterCommunicator {
    type Raw = MPI_Comm;

    fn as_raw(&self) -> MPI_Comm {
        self.0.as_raw()
    }
}

impl FromRaw for InterCommunicator {
    unsafe fn from_raw(handle: MPI_Comm) -> Self {
        // SAFETY: guaranteed by the caller.
        InterCommunicator(unsafe { CommunicatorHandle::from_raw(handle) })
    }
}

impl AsHandle for InterCommunicator {
    fn as_handle(&self) -> &CommunicatorHandle {
        &self.0
    }
}

/// Order of the groups in a merge. If both groups pass the same order, the group comes first whose
/// leader has the lower rank in the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeOrder {
    /// The local group comes first.
    Low,
    /// The remote group comes first.
    High,
}
