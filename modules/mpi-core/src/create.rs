//! Communicators of groups that all ranks of another communicator pass (`MPI_Comm_create`).
//!
//! Most programs pass few groups, each of them by many ranks. Each scheduler therefore sends a
//! group to the leader only once, and consecutive ranks with the same group form one part.
//! Otherwise a group of n ranks would be sent n times.

use std::collections::HashMap;
use std::panic::Location;
use std::rc::Rc;

use super::call::{Brought, Call, CallOutcome, Combine, Needs};
use super::communicator::Communicator;
use super::error::Error;
use super::group::{Group, Shown};
use super::instance::begin;
use super::recipe::Recipes;
use super::split::made;
use super::state::CommunicatorState;

const OUTSIDE: Error = Error::group("the group has a process that is not in the communicator");
const OTHERS: Error = Error::group("the ranks called with different groups");

impl Communicator {
    /// Creates communicators of groups of ranks of this one (`MPI_Comm_create`). A collective call:
    /// all ranks of this communicator call it, and the members of a group must all pass that group.
    /// Different groups must not overlap. A rank that is not in the group that it passes gets
    /// `None`.
    ///
    /// # Errors
    /// As for all collective calls, and [`Error::TooMany`] if no communicator number is left.
    /// [`Error::Group`] if a group has a process that this communicator does not have, if the
    /// members of a group pass different groups, or if groups overlap. Only ranks of these groups
    /// get this error.
    #[track_caller]
    pub fn create(
        &self,
        group: &Group,
    ) -> impl Future<Output = Result<Option<Communicator>, Error>> + use<> {
        let (call, at) = (Call::new::<Group>("create", None), Location::caller());
        let parent = Rc::clone(self.shared());
        let make = Creation(Rc::clone(&parent));
        let brought = Ok(Brought::Part(PassedGroup {
            ranks: 1,
            what: Ok(Shown(group.clone())),
        }));
        let calling = self.calling(call, at);
        let made = begin(calling, brought, Needs::All, make, made::<PassedGroup>);
        let group = group.clone();
        async move {
            let (recipes, rank) = made.await?;
            // The label of a communicator is its first rank. All its ranks have passed its group.
            let ranks = parent.group();
            let is_in = ranks.at(rank).is_some_and(|member| group.has(member));
            let first = group.at(0).filter(|_| is_in);
            let first = first.and_then(|member| ranks.rank_of(member));
            let name = || format!("{}.create({})", parent.name(), first.unwrap_or_default());
            recipes.communicator(&parent, rank, first, name, || Ok(group.clone()))
        }
    }
}

/// The contribution of consecutive ranks that pass the same group: the group, or the first rank
/// that passed it.
struct PassedGroup {
    ranks: u32,
    what: Result<Shown, u32>,
}

graphmap_executor::payload!(PassedGroup { ranks, what });

/// A list of groups without duplicates.
#[derive(Default)]
struct Distinct {
    groups: Vec<Group>,
    /// Indices of groups by size, first member and last member.
    alike: HashMap<(u32, Option<u32>, Option<u32>), Vec<usize>>,
    last: usize,
}

impl Distinct {
    /// Returns the index of a group, and true if the group is new. A new group is added at the end.
    fn add(&mut self, group: Group) -> (usize, bool) {
        let is_at = |at: usize| self.groups.get(at).is_some_and(|other| other.same(&group));
        // Consecutive ranks mostly pass the same group.
        if is_at(self.last) {
            return (self.last, false);
        }
        let (len, first) = (group.len(), group.at(0));
        let key = (len, first, group.at(len.saturating_sub(1)));
        let alike = self.alike.entry(key).or_default();
        let found = alike.iter().copied().find(|&at| is_at(at));
        let at = found.unwrap_or(self.groups.len());
        if found.is_none() {
            alike.push(at);
            self.groups.push(group);
        }
        self.last = at;
        (at, found.is_none())
    }
}

struct Creation(Rc<CommunicatorState>);

impl Combine<PassedGroup, Rc<Recipes>> for Creation {
    fn combine(&mut self, parts: Vec<(u32, PassedGroup)>) -> Vec<(u32, PassedGroup)> {
        let mut distinct = Distinct::default();
        // The first rank that passed each group.
        let mut first_of: Vec<u32> = Vec::new();
        let mut runs: Vec<(u32, PassedGroup)> = Vec::new();
        let mut before = None;
        for (rank, PassedGroup { ranks, what }) in parts {
            let Ok(Shown(group)) = what else { continue };
            let (at, is_new) = distinct.add(group);
            if is_new {
                first_of.push(rank);
            }
            match runs.last_mut() {
                Some((first, run)) if before == Some(at) && *first + run.ranks == rank => {
                    run.ranks += ranks;
                }
                _ => {
                    let what = match is_new {
                        true => Ok(Shown(distinct.groups[at].clone())),
                        false => Err(first_of[at]),
                    };
                    runs.push((rank, PassedGroup { ranks, what }));
                }
            }
            before = Some(at);
        }
        runs
    }

    fn make(self, all: Vec<PassedGroup>) -> CallOutcome<Rc<Recipes>> {
        let mut distinct = Distinct::default();
        let mut index_by_first_rank: HashMap<u32, usize> = HashMap::new();
        let mut which = Vec::new();
        for PassedGroup { ranks, what } in all {
            let first = which.len() as u32;
            let at = match what {
                Ok(Shown(group)) => {
                    let (at, _) = distinct.add(group);
                    index_by_first_rank.insert(first, at);
                    at
                }
                // That rank is before this one, so its group is known.
                Err(rank) => index_by_first_rank.get(&rank).copied().unwrap_or_default(),
            };
            which.resize(which.len() + ranks as usize, at as u32);
        }
        CallOutcome::all(Rc::new(created(&self.0, &distinct.groups, &which)))
    }
}

/// Returns the communicators to create, and the errors of ranks. `groups` are the different groups.
/// `which` is the index of the group that each rank passed, in the order of ranks.
fn created(this: &CommunicatorState, groups: &[Group], which: &[u32]) -> Recipes {
    let parent = this.group();
    // The group whose communicator each rank is in, and the first rank of each communicator.
    let mut gets: Vec<Option<u32>> = vec![None; which.len()];
    let (mut firsts, mut refused) = (Vec::new(), Vec::new());
    let mut made = vec![false; groups.len()];
    for (index, group) in (0..).zip(groups) {
        // A communicator is created if the first member of the group passed this group.
        let first = group.at(0).and_then(|member| parent.rank_of(member));
        let Some(first) = first.filter(|&first| which.get(first as usize) == Some(&index)) else {
            continue;
        };
        let ranks: Option<Vec<u32>> = group.members().map(|it| parent.rank_of(it)).collect();
        match ranks {
            Some(ranks) => {
                firsts.push(first);
                made[index as usize] = true;
                // If a rank is in several groups by mistake, the last one counts.
                ranks
                    .into_iter()
                    .for_each(|rank| gets[rank as usize] = Some(index));
            }
            None => refused.push(first),
        }
    }
    firsts.sort_unstable();
    let mut recipes = Recipes::of(&this.world, firsts.into_iter().map(|first| (first, None)));
    refused.sort_unstable();
    let mut refused = refused.into_iter().peekable();
    for (rank, &index) in (0..).zip(which) {
        let (is_made, gets) = (made[index as usize], gets[rank as usize]);
        // If the group was created and the rank has no communicator, it is not a member. This is
        // not an error.
        let is_asked = || {
            let member = parent.at(rank);
            member.is_some_and(|member| groups[index as usize].has(member))
        };
        if refused.next_if_eq(&rank).is_some() {
            recipes.refuse(rank, OUTSIDE);
        } else if match gets {
            Some(gets) => !is_made || gets != index,
            None => !is_made && is_asked(),
        } {
            recipes.refuse(rank, OTHERS);
        }
    }
    recipes
}
