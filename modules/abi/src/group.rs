//! Groups (MPI-5.0, section 7.3).

use std::cell::RefCell;
use std::ffi::c_int;
use std::rc::Rc;

use graphmap_runtime::mpi as core;
use graphmap_runtime::mpi::Comparison;

use crate::abi::{Group, IDENT, PROC_NULL, SIMILAR, UNDEFINED, UNEQUAL};
use crate::arguments::{get, put};
use crate::error::{Class, Done, Fail, fail};
use crate::rank::{Part, Rank, Slot, invalid};
use crate::table::Table;

/// All groups that a rank has created.
#[derive(Default)]
pub(crate) struct Groups {
    table: RefCell<Table<Rc<core::Group>>>,
}

impl Part for Groups {
    const SLOT: Slot = Slot::Groups;
}

impl Groups {
    /// Adds a group, and returns its handle.
    pub(crate) fn add(&self, group: core::Group) -> Done<Group> {
        if group.size() == 0 {
            return Ok(Group::EMPTY);
        }
        let handle = self.table.borrow_mut().add(Rc::new(group));
        let none = || Fail::new(Class::NoMem, "too many groups");
        Ok(Group(handle.ok_or_else(none)?))
    }

    /// Returns the group of a handle.
    ///
    /// # Errors
    /// [`Class::Group`] if the handle is null or invalid.
    pub(crate) fn get(&self, handle: Group) -> Done<Rc<core::Group>> {
        if handle == Group::EMPTY {
            return Ok(Rc::new(core::Group::all(0)));
        }
        match self.table.borrow().get(handle.0) {
            Some(group) => Ok(Rc::clone(group)),
            None => invalid(Class::Group, "group", handle.0),
        }
    }

    fn free(&self, handle: Group) -> Done {
        if handle != Group::EMPTY && self.table.borrow_mut().remove(handle.0).is_none() {
            return invalid(Class::Group, "group", handle.0);
        }
        Ok(())
    }
}

/// Returns the rank of the caller in a group, or `None` if it is not a member.
pub(crate) fn rank_in(this: &Rank, group: &core::Group) -> Done<Option<usize>> {
    let me = core::Group::of(vec![this.number() as u32])?;
    Ok(me.translate(&[0], group)[0])
}

/// Returns the list of an argument, which may be null if it is empty.
///
/// # Safety
/// `list` must be valid for reading `count` values, unless that is 0 or negative.
unsafe fn list<'a, T>(list: *const T, count: c_int) -> Done<&'a [T]> {
    match usize::try_from(count) {
        Ok(0) => Ok(&[]),
        Ok(_) if list.is_null() => fail!(Arg, "the list of ranks is null"),
        // SAFETY: guaranteed by the caller.
        Ok(count) => Ok(unsafe { std::slice::from_raw_parts(list, count) }),
        Err(_) => fail!(Arg, "the number of ranks {count} is negative"),
    }
}

/// Checks that a group has these ranks, each at most once.
fn checked(group: &core::Group, ranks: &[c_int]) -> Done<Vec<usize>> {
    let size = group.size();
    let mut seen = vec![false; size];
    let check = |&rank: &c_int| match usize::try_from(rank) {
        Ok(rank) if rank < size => match std::mem::replace(&mut seen[rank], true) {
            false => Ok(rank),
            true => fail!(Rank, "the rank {rank} occurs twice"),
        },
        _ => fail!(
            Rank,
            "rank {rank} does not exist: the group has {size} ranks"
        ),
    };
    ranks.iter().map(check).collect()
}

/// Returns the group of the ranks in ranges, each with its first and last rank and its step.
fn in_ranges(group: &core::Group, ranges: &[[c_int; 3]]) -> Done<core::Group> {
    let size = group.size();
    let exists = |rank: c_int| usize::try_from(rank).ok().filter(|&rank| rank < size);
    let check = |&[first, last, step]: &[c_int; 3]| {
        let (Some(from), Some(to)) = (exists(first), exists(last)) else {
            return fail!(
                Arg,
                "the group of {size} ranks does not have {first} and {last}"
            );
        };
        if step == 0 || (from != to && (from < to) != (step > 0)) {
            return fail!(Arg, "the step {step} does not lead from {first} to {last}");
        }
        Ok((from, to, step as isize))
    };
    let ranges: Vec<_> = ranges.iter().map(check).collect::<Done<_>>()?;
    let included = group.include_ranges(&ranges);
    included.map_err(|error| Fail::new(Class::Arg, error.to_string()))
}

fn binary(
    this: &Rank,
    groups: [Group; 2],
    f: impl FnOnce(&core::Group, &core::Group) -> core::Group,
) -> Done<Group> {
    let [left, right] = groups;
    let made = f(
        &*Groups::of(this).get(left)?,
        &*Groups::of(this).get(right)?,
    );
    Groups::of(this).add(made)
}

export! {
    fn MPI_Group_size(group: Group, size: *mut c_int) on World => |this| {
        put(size, Groups::of(this).get(group)?.size() as c_int)
    };
    fn MPI_Group_rank(group: Group, rank: *mut c_int) on World => |this| {
        let group = Groups::of(this).get(group)?;
        put(rank, rank_in(this, &group)?.map_or(UNDEFINED, |rank| rank as c_int))
    };
    fn MPI_Group_translate_ranks(
        group: Group, count: c_int, ranks: *const c_int, other: Group, to: *mut c_int,
    ) on World => |this| {
        let (group, other) = (Groups::of(this).get(group)?, Groups::of(this).get(other)?);
        let size = group.size();
        let ranks = list(ranks, count)?;
        let mut known = Vec::with_capacity(ranks.len());
        for &rank in ranks {
            match usize::try_from(rank) {
                Ok(rank) if rank < size => known.push(rank),
                _ if rank == PROC_NULL => known.push(usize::MAX),
                _ => return fail!(Rank, "rank {rank} does not exist: the group has {size} ranks"),
            }
        }
        if to.is_null() && !known.is_empty() {
            return fail!(Arg, "the list of ranks is null");
        }
        let translated = group.translate(&known, &other).into_iter().zip(known);
        for (index, (found, rank)) in translated.enumerate() {
            to.add(index).write(match found {
                Some(rank) => rank as c_int,
                None if rank == usize::MAX => PROC_NULL,
                None => UNDEFINED,
            });
        }
        Ok(())
    };
    fn MPI_Group_compare(left: Group, right: Group, result: *mut c_int) on World => |this| {
        let compared = Groups::of(this).get(left)?.compare(&*Groups::of(this).get(right)?);
        put(result, match compared {
            Comparison::Identical => IDENT,
            Comparison::Similar => SIMILAR,
            _ => UNEQUAL,
        })
    };
    fn MPI_Group_union(left: Group, right: Group, new: *mut Group) on World => |this| {
        put(new, binary(this, [left, right], core::Group::union)?)
    };
    fn MPI_Group_intersection(left: Group, right: Group, new: *mut Group) on World => |this| {
        put(new, binary(this, [left, right], core::Group::intersection)?)
    };
    fn MPI_Group_difference(left: Group, right: Group, new: *mut Group) on World => |this| {
        put(new, binary(this, [left, right], core::Group::difference)?)
    };
    fn MPI_Group_incl(
        group: Group, count: c_int, ranks: *const c_int, new: *mut Group,
    ) on World => |this| {
        let group = Groups::of(this).get(group)?;
        let ranks = checked(&group, list(ranks, count)?)?;
        put(new, Groups::of(this).add(group.include(&ranks)?)?)
    };
    fn MPI_Group_excl(
        group: Group, count: c_int, ranks: *const c_int, new: *mut Group,
    ) on World => |this| {
        let group = Groups::of(this).get(group)?;
        let ranks = checked(&group, list(ranks, count)?)?;
        put(new, Groups::of(this).add(group.exclude(&ranks)?)?)
    };
    fn MPI_Group_range_incl(
        group: Group, count: c_int, ranges: *const [c_int; 3], new: *mut Group,
    ) on World => |this| {
        let group = Groups::of(this).get(group)?;
        put(new, Groups::of(this).add(in_ranges(&group, list(ranges, count)?)?)?)
    };
    fn MPI_Group_range_excl(
        group: Group, count: c_int, ranges: *const [c_int; 3], new: *mut Group,
    ) on World => |this| {
        let group = Groups::of(this).get(group)?;
        let excluded = in_ranges(&group, list(ranges, count)?)?;
        put(new, Groups::of(this).add(group.difference(&excluded))?)
    };
    fn MPI_Group_free(group: *mut Group) on World => |this| {
        Groups::of(this).free(get(group)?)?;
        put(group, Group::NULL)
    };
}
