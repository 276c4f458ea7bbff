//! Communicators that are made of others.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::Location;
use std::rc::Rc;

use super::communicator::{Communicator, Shared};
use super::error::Error;
use super::group::Group;
use super::round::{Brought, Call, Collective, Data, Needs, Outcome, begin};

/// A communicator that was made, and the rank that somebody has in it.
pub(super) type Made = Result<Option<(Rc<Shared>, u32)>, Error>;

pub(super) fn part<T: 'static>(data: &mut dyn Any, rank: u32) -> Option<Made> {
    data.downcast_mut::<Data<T, Made>>()?.part(rank)
}

fn copy(data: &mut dyn Any, rank: u32) -> Option<Made> {
    let made = data
        .downcast_mut::<Data<(), Result<Rc<Shared>, Error>>>()?
        .shared()?;
    Some(made.map(|shared| Some((shared, rank))))
}

/// What a rank makes of what it is told.
pub(super) async fn communicator(made: Collective<Made>) -> Result<Option<Communicator>, Error> {
    let made = made.await??;
    Ok(made.map(|(shared, rank)| Communicator::new(shared, rank)))
}

/// # Communicators made of this one
///
/// These are collective calls. Each of the new communicators has messages and rounds of its own, and what all of its ranks
/// know of it is there once.
impl Communicator {
    /// A communicator of the same ranks.
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::TooMany`].
    #[track_caller]
    pub fn dup(&self) -> impl Future<Output = Result<Communicator, Error>> + use<> {
        let (call, at, size) = (
            Call::new::<()>("dup", None),
            Location::caller(),
            self.size() as u32,
        );
        let this = self.shared();
        let make = |_| {
            let name = format!("{}.dup", this.name());
            Outcome::Shared(this.world.communicator(this.group().clone(), name), size)
        };
        let brought = Ok(Brought::<(), _>::Nothing);
        let made = begin(self.calling(call, at), brought, Needs::All, make, copy);
        async move { communicator(made).await?.ok_or(Error::Inactive) }
    }

    /// Communicators of the ranks with the same colour, in the order of their keys, and of their ranks where keys are equal.
    /// A rank without a colour is in none. Takes O(n log n).
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::TooMany`].
    #[track_caller]
    pub fn split(
        &self,
        colour: Option<u32>,
        key: i64,
    ) -> impl Future<Output = Result<Option<Communicator>, Error>> + use<> {
        type Wish = (Option<u32>, i64);
        let (call, at) = (Call::new::<Wish>("split", None), Location::caller());
        let this = self.shared();
        let make = |wishes: Vec<Wish>| {
            let mut colours: BTreeMap<u32, Vec<(i64, u32)>> = BTreeMap::new();
            for (rank, (colour, key)) in (0..).zip(&wishes) {
                if let Some(colour) = colour {
                    colours.entry(*colour).or_default().push((*key, rank));
                }
            }
            let mut each: Vec<Option<Made>> = wishes.iter().map(|_| Some(Ok(None))).collect();
            for (colour, mut ranks) in colours {
                ranks.sort_unstable();
                let ranks = ranks.into_iter().map(|(_, rank)| rank).collect();
                join(
                    this,
                    ranks,
                    &format!("{}.split({colour})", this.name()),
                    &mut each,
                );
            }
            Outcome::Each(each)
        };
        let brought = Ok(Brought::Part((colour, key)));
        communicator(begin(
            self.calling(call, at),
            brought,
            Needs::All,
            make,
            part::<Wish>,
        ))
    }

    /// Communicators of groups of ranks of this one; all ranks of this one call it, and those of a group with that group.
    /// Groups of different ranks must not overlap. A rank that is not in its group is in no communicator.
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::TooMany`]; [`Error::Group`]: a group has a process that this communicator does not
    /// have, or ranks of one have called it with different ones (their sizes and own ranks are compared).
    #[track_caller]
    pub fn create(
        &self,
        group: &Group,
    ) -> impl Future<Output = Result<Option<Communicator>, Error>> + use<> {
        let (call, at) = (Call::new::<Group>("create", None), Location::caller());
        let this = self.shared();
        let make = |groups: Vec<Group>| {
            let mut each: Vec<Option<Made>> = groups.iter().map(|_| Some(Ok(None))).collect();
            for (rank, group) in (0..).zip(&groups) {
                // The first of a group makes its communicator.
                if this.group().at(rank).is_some() && group.at(0) == this.group().at(rank) {
                    let ranks: Option<Vec<u32>> = group
                        .members()
                        .map(|member| this.group().rank_of(member))
                        .collect();
                    let name = format!("{}.create({rank})", this.name());
                    match ranks {
                        Some(ranks) => join(this, ranks, &name, &mut each),
                        None => each[rank as usize] = Some(Err(OUTSIDE)),
                    }
                }
            }
            for (rank, group) in (0..).zip(&groups) {
                let own = this
                    .group()
                    .at(rank)
                    .and_then(|member| group.rank_of(member));
                let made = &mut each[rank as usize];
                let fits = match made {
                    Some(Ok(Some((shared, rank)))) => {
                        own == Some(*rank) && shared.group().len() == group.len()
                    }
                    Some(Ok(None)) => own.is_none(),
                    _ => true,
                };
                if !fits {
                    *made = Some(Err(OTHERS));
                }
            }
            Outcome::Each(each)
        };
        let brought = Ok(Brought::Part(group.clone()));
        communicator(begin(
            self.calling(call, at),
            brought,
            Needs::All,
            make,
            part::<Group>,
        ))
    }

    /// A communicator of this rank alone. No other takes part.
    ///
    /// # Errors
    /// [`Error::TooMany`].
    pub fn alone(&self) -> Result<Communicator, Error> {
        let this = self.shared();
        let group = Group::of(this.group().at(self.rank() as u32).into_iter().collect())?;
        let shared = this
            .world
            .communicator(group, format!("{}.alone", this.name()))?;
        Ok(Communicator::new(shared, 0))
    }
}

const OUTSIDE: Error = Error::Group("a group has a process that the communicator does not have");
const OTHERS: Error =
    Error::Group("the ranks of a communicator that is made have different groups");

/// Joins some ranks of a communicator.
pub(super) fn join(this: &Rc<Shared>, ranks: Vec<u32>, name: &str, each: &mut [Option<Made>]) {
    let members = ranks
        .iter()
        .filter_map(|&rank| this.group().at(rank))
        .collect();
    let made =
        Group::of(members).and_then(|group| this.world.communicator(group, name.to_string()));
    for (own, rank) in (0..).zip(ranks) {
        let made = made.clone();
        each[rank as usize] = Some(made.map(|shared| Some((shared, own))));
    }
}
