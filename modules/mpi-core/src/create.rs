//! Communicators of groups that all ranks of another one say (`MPI_Comm_create`).
//!
//! Most programs say few groups, each by many ranks. So groups go to the leader once for each scheduler that has said
//! them, and ranks in a row that have said the same are one part, or a group of n ranks would travel n times.

use std::collections::HashMap;
use std::panic::Location;
use std::rc::Rc;

use super::call::{Brought, Call, CallOutcome, Combine, Needs};
use super::communicator::Communicator;
use super::error::Error;
use super::group::{Group, Shown};
use super::recipe::Recipes;
use super::round::begin;
use super::split::made;
use super::state::CommunicatorState;

const OUTSIDE: Error = Error::group("the group has a process that is not in the communicator");
const OTHERS: Error = Error::group("the ranks called with different groups");

impl Communicator {
    /// Communicators of groups of ranks of this one; all ranks of this one call it, and those of a group with that group.
    /// Groups of different ranks must not overlap. A rank that is not in its group is in no communicator.
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::TooMany`]; [`Error::Group`]: a group has a process that this communicator does not
    /// have, or ranks of one have called it with different ones.
    #[track_caller]
    pub fn create(
        &self,
        group: &Group,
    ) -> impl Future<Output = Result<Option<Communicator>, Error>> + use<> {
        let (call, at) = (Call::new::<Group>("create", None), Location::caller());
        let parent = Rc::clone(self.shared());
        let make = Creation(Rc::clone(&parent));
        let brought = Ok(Brought::Part(Said {
            ranks: 1,
            what: Ok(Shown(group.clone())),
        }));
        let calling = self.calling(call, at);
        let made = begin(calling, brought, Needs::All, make, made::<Said>);
        let group = group.clone();
        async move {
            let (recipes, rank) = made.await?;
            // A communicator has the label of its first rank. All of its ranks have said its group.
            let ranks = parent.group();
            let is_in = ranks.at(rank).is_some_and(|member| group.has(member));
            let first = group.at(0).filter(|_| is_in);
            let first = first.and_then(|member| ranks.rank_of(member));
            let name = || format!("{}.create({})", parent.name(), first.unwrap_or_default());
            recipes.communicator(&parent, rank, first, name, || Ok(group.clone()))
        }
    }
}

/// What so many ranks in a row have said: a group, or the rank that has said it before them.
struct Said {
    ranks: u32,
    what: Result<Shown, u32>,
}

graphmap_executor::payload!(Said { ranks, what });

/// Groups, each of them once.
#[derive(Default)]
struct Distinct {
    groups: Vec<Group>,
    /// Where those are that have this size, and these first and last members.
    alike: HashMap<(u32, Option<u32>, Option<u32>), Vec<usize>>,
    last: usize,
}

impl Distinct {
    /// Where a group is; `true`: it is new.
    fn place(&mut self, group: Group) -> (usize, bool) {
        let is_at = |at: usize| self.groups.get(at).is_some_and(|other| other.same(&group));
        // Ranks in a row mostly say the same.
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

impl Combine<Said, Rc<Recipes>> for Creation {
    fn combine(&mut self, parts: Vec<(u32, Said)>) -> Vec<(u32, Said)> {
        let mut distinct = Distinct::default();
        // Who has said each of them first.
        let mut first_of: Vec<u32> = Vec::new();
        let mut runs: Vec<(u32, Said)> = Vec::new();
        let mut before = None;
        for (rank, Said { ranks, what }) in parts {
            let Ok(Shown(group)) = what else { continue };
            let (at, is_new) = distinct.place(group);
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
                    runs.push((rank, Said { ranks, what }));
                }
            }
            before = Some(at);
        }
        runs
    }

    fn make(self, all: Vec<Said>) -> CallOutcome<Rc<Recipes>> {
        let mut distinct = Distinct::default();
        let mut said_by: HashMap<u32, usize> = HashMap::new();
        let mut which = Vec::new();
        for Said { ranks, what } in all {
            let first = which.len() as u32;
            let at = match what {
                Ok(Shown(group)) => {
                    let (at, _) = distinct.place(group);
                    said_by.insert(first, at);
                    at
                }
                // That rank is before this one.
                Err(rank) => said_by.get(&rank).copied().unwrap_or_default(),
            };
            which.resize(which.len() + ranks as usize, at as u32);
        }
        CallOutcome::all(Rc::new(created(&self.0, &distinct.groups, &which)))
    }
}

/// Communicators of the groups that ranks have asked for: `which` of them each has.
fn created(this: &CommunicatorState, groups: &[Group], which: &[u32]) -> Recipes {
    let parent = this.group();
    // The group of the communicator that each rank is in, and the first ranks of all of these.
    let mut gets: Vec<Option<u32>> = vec![None; which.len()];
    let (mut firsts, mut refused) = (Vec::new(), Vec::new());
    let mut made = vec![false; groups.len()];
    for (place, group) in (0..).zip(groups) {
        // The first of a group makes its communicator.
        let first = group.at(0).and_then(|member| parent.rank_of(member));
        let Some(first) = first.filter(|&first| which.get(first as usize) == Some(&place)) else {
            continue;
        };
        let ranks: Option<Vec<u32>> = group.members().map(|it| parent.rank_of(it)).collect();
        match ranks {
            Some(ranks) => {
                firsts.push(first);
                made[place as usize] = true;
                // Of several that a rank is in by mistake, it is in the last.
                ranks
                    .into_iter()
                    .for_each(|rank| gets[rank as usize] = Some(place));
            }
            None => refused.push(first),
        }
    }
    firsts.sort_unstable();
    let mut recipes = Recipes::of(&this.world, firsts.into_iter().map(|first| (first, None)));
    refused.sort_unstable();
    let mut refused = refused.into_iter().peekable();
    for (rank, &place) in (0..).zip(which) {
        let (is_made, gets) = (made[place as usize], gets[rank as usize]);
        // Of a group that has become a communicator, those that it has not given to are no members.
        let is_asked = || {
            let member = parent.at(rank);
            member.is_some_and(|member| groups[place as usize].has(member))
        };
        if refused.next_if_eq(&rank).is_some() {
            recipes.refuse(rank, OUTSIDE);
        } else if match gets {
            Some(gets) => !is_made || gets != place,
            None => !is_made && is_asked(),
        } {
            recipes.refuse(rank, OTHERS);
        }
    }
    recipes
}
