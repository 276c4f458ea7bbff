//! Communicators that are made of others.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::Location;
use std::rc::Rc;

use super::call::{Brought, Call, CallOutcome, Data, Needs, Taker};
use super::communicator::Communicator;
use super::error::Error;
use super::group::Group;
use super::recipe::Recipes;
use super::round::{Collective, begin};
use super::state::CommunicatorState;

/// What came of the call, and the rank that asks.
pub(super) type Made = (Rc<Recipes>, u32);

pub(super) fn made<T: 'static>(data: &mut dyn Any, taker: Taker) -> Option<Made> {
    let recipes = data.downcast_mut::<Data<T, Rc<Recipes>>>()?.shared(taker)?;
    Some((recipes, taker.rank))
}

/// What a rank makes of what it is told.
pub(super) async fn communicator(
    parent: Rc<CommunicatorState>,
    made: Collective<Made>,
) -> Result<Option<Communicator>, Error> {
    let (recipes, rank) = made.await?;
    recipes.communicator(&parent, rank, None)
}

/// # Communicators made of this one
///
/// These are collective calls. Each of the new communicators has messages and rounds of its own, and what all of its ranks
/// know of it is there once on each scheduler.
impl Communicator {
    /// A communicator of the same ranks.
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::TooMany`].
    #[track_caller]
    pub fn dup(&self) -> impl Future<Output = Result<Communicator, Error>> + use<> {
        self.copy("dup", Location::caller())
    }

    /// A communicator of the same ranks, for what is called so.
    pub(super) fn copy(
        &self,
        what: &'static str,
        at: &'static Location<'static>,
    ) -> impl Future<Output = Result<Communicator, Error>> + use<> {
        let call = Call::new::<()>(what, None);
        let this = Rc::clone(self.shared());
        let parent = Rc::clone(&this);
        let make = move |_| {
            let name = format!("{}.{what}", this.name());
            let recipes = Recipes::one(&this.world, this.group().clone(), name);
            CallOutcome::all(Rc::new(recipes))
        };
        let brought = Ok(Brought::<(), _>::Nothing);
        let calling = self.calling(call, at);
        let made = begin(calling, brought, Needs::All, make, made::<()>);
        async move { communicator(parent, made).await?.ok_or(Error::Inactive) }
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
        let this = Rc::clone(self.shared());
        let parent = Rc::clone(&this);
        let make = move |wishes: Vec<Wish>| {
            let mut colours: BTreeMap<u32, Vec<(i64, u32)>> = BTreeMap::new();
            for (rank, (colour, key)) in (0..).zip(&wishes) {
                if let Some(colour) = colour {
                    colours.entry(*colour).or_default().push((*key, rank));
                }
            }
            let mut recipes = Recipes::none(wishes.len());
            for (colour, mut ranks) in colours {
                ranks.sort_unstable();
                let ranks: Vec<u32> = ranks.into_iter().map(|(_, rank)| rank).collect();
                recipes.join(&this, &ranks, format!("{}.split({colour})", this.name()));
            }
            recipes.look_up();
            CallOutcome::all(Rc::new(recipes))
        };
        let brought = Ok(Brought::Part((colour, key)));
        let calling = self.calling(call, at);
        let made = begin(calling, brought, Needs::All, make, made::<Wish>);
        communicator(parent, made)
    }

    /// A communicator of this rank alone. No other takes part.
    ///
    /// # Errors
    /// [`Error::TooMany`].
    pub fn alone(&self) -> Result<Communicator, Error> {
        let this = self.shared();
        let group = Group::of(this.group().at(self.rank() as u32).into_iter().collect())?;
        let number = this.world.new_number()?;
        let name = format!("{}.alone", this.name());
        Ok(Communicator::new(
            this.world.join(number, group, name, None),
            0,
        ))
    }
}
