//! Intercommunicators (MPI-5.0, section 7.6).

use std::ffi::{c_char, c_int};

use graphmap_runtime::mpi as core;

use crate::abi::{Comm, Errhandler, Group, Info};
use crate::arguments::put;
use crate::communicator::Communicators;
use crate::communicator::{Ranks, string_tag};
use crate::errhandler::Errhandlers;
use crate::errhandler::Kind;
use crate::error::{Done, fail};
use crate::group::Groups;
use crate::group::rank_in;
use crate::info::Infos;
use crate::rank::Part as _;
use crate::rank::Rank;
use crate::wait::wait;

/// Returns the rank of a leader in its group.
fn leader(rank: c_int, size: usize) -> Done<usize> {
    match usize::try_from(rank) {
        Ok(rank) if rank < size => Ok(rank),
        _ => fail!(
            Rank,
            "the leader {rank} does not exist: the group has {size} ranks"
        ),
    }
}

fn create(
    this: &Rank,
    local: Comm,
    local_leader: c_int,
    peer: Comm,
    remote_leader: c_int,
    tag: c_int,
) -> Done<Comm> {
    let parent = Communicators::of(this).get(local)?;
    let ranks = parent.intra()?;
    let local_leader = leader(local_leader, ranks.size())?;
    if tag < 0 {
        return fail!(Tag, "the tag {tag} is negative");
    }
    // The peer communicator and the remote leader are arguments of the leader only.
    let made = if ranks.rank() == local_leader {
        let peer = Communicators::of(this).get(peer)?;
        let remote_leader = leader(remote_leader, peer.peers())?;
        let (messages, offset) = peer.messages();
        ranks.intercommunicator(local_leader, messages, remote_leader + offset, tag)
    } else {
        ranks.intercommunicator(local_leader, ranks, 0, tag)
    };
    Communicators::of(this).derive(&parent, Ranks::Inter(wait(made)?))
}

/// Creates an intercommunicator of two groups. Returns `None` if the caller is in neither.
///
/// Each group creates a communicator of its own, and the two leaders another one as their peer.
fn create_from_groups(
    this: &Rank,
    local: (&core::Group, c_int),
    remote: (&core::Group, c_int),
    tag: &str,
) -> Done<Option<core::InterCommunicator>> {
    let (local, local_leader) = (local.0, leader(local.1, local.0.size())?);
    let (remote, remote_leader) = (remote.0, leader(remote.1, remote.0.size())?);
    if local.intersection(remote).size() > 0 {
        return fail!(Group, "the two groups have a process in common");
    }
    let Some(rank) = rank_in(this, local)? else {
        return Ok(None);
    };
    let own = wait(core::create_from_group(local, &format!("{tag} local")))?;
    let Some(own) = own else { return Ok(None) };
    let made = if rank == local_leader {
        let mut leaders = [
            local.include(&[local_leader])?,
            remote.include(&[remote_leader])?,
        ];
        leaders.sort_by_key(|leader| leader.members().next());
        let pair = leaders[0].union(&leaders[1]);
        let peer = wait(core::create_from_group(&pair, &format!("{tag} leaders")))?;
        let Some(peer) = peer else { return Ok(None) };
        own.intercommunicator(local_leader, &peer, 1 - peer.rank(), 0)
    } else {
        own.intercommunicator(local_leader, &own, 0, 0)
    };
    Ok(Some(wait(made)?))
}

export! {
    fn MPI_Comm_test_inter(comm: Comm, flag: *mut c_int) on comm => |this| {
        let by = Communicators::of(this).get(comm)?;
        put(flag, matches!(by.ranks, Ranks::Inter(_)).into())
    };
    fn MPI_Comm_remote_size(comm: Comm, size: *mut c_int) on comm => |this| {
        put(size, Communicators::of(this).get(comm)?.inter()?.remote_size() as c_int)
    };
    fn MPI_Comm_remote_group(comm: Comm, group: *mut Group) on comm => |this| {
        let by = Communicators::of(this).get(comm)?;
        put(group, Groups::of(this).add(by.inter()?.remote_group().clone())?)
    };
    fn MPI_Intercomm_create(
        local: Comm, local_leader: c_int, peer: Comm, remote_leader: c_int, tag: c_int,
        new: *mut Comm,
    ) on local => |this| {
        put(new, create(this, local, local_leader, peer, remote_leader, tag)?)
    };
    fn MPI_Intercomm_create_from_groups(
        local: Group, local_leader: c_int, remote: Group, remote_leader: c_int,
        tag: *const c_char, info: Info, errhandler: Errhandler, new: *mut Comm,
    ) on World => |this| {
        let (local, remote) = (Groups::of(this).get(local)?, Groups::of(this).get(remote)?);
        Infos::of(this).argument(info)?;
        let handler = Errhandlers::of(this).get(errhandler, Kind::Comm)?;
        let tag = string_tag(tag)?;
        let (local, remote) = ((&*local, local_leader), (&*remote, remote_leader));
        let Some(made) = create_from_groups(this, local, remote, &tag)? else {
            put(new, Comm::NULL)?;
            return Ok(());
        };
        let handle = Communicators::of(this).add(Ranks::Inter(made))?;
        Communicators::of(this).get(handle)?.handler.replace(handler);
        put(new, handle)
    };
    fn MPI_Intercomm_merge(comm: Comm, high: c_int, new: *mut Comm) on comm => |this| {
        let parent = Communicators::of(this).get(comm)?;
        let made = wait(parent.inter()?.merge(high != 0))?;
        put(new, Communicators::of(this).derive(&parent, Ranks::Intra(made))?)
    };
}
