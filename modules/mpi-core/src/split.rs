//! Communicators that are made of others.

use std::any::Any;
use std::panic::Location;
use std::rc::Rc;

use super::call::{Brought, Call, CallOutcome, Combine, Data, Needs, Taker};
use super::communicator::Communicator;
use super::error::Error;
use super::group::Group;
use super::recipe::Recipes;
use super::round::begin;
use super::runs::Rows;
use super::state::CommunicatorState;

/// What came of the call, and the rank that asks.
pub(super) type Made = (Rc<Recipes>, u32);

pub(super) fn made<T: 'static>(data: &mut dyn Any, taker: Taker) -> Option<Made> {
    let recipes = data.downcast_mut::<Data<T, Rc<Recipes>>>()?.shared(taker)?;
    Some((recipes, taker.rank))
}

/// The colour of a rank that has none, among numbers.
const NO_COLOUR: i64 = -1;

/// A split of the ranks of a communicator. The numbers of each are its colour and its key.
struct Splitting(Rc<CommunicatorState>);

impl Combine<Rows, Rc<Recipes>> for Splitting {
    fn combine(&mut self, parts: Vec<(u32, Rows)>) -> Vec<(u32, Rows)> {
        Rows::together(parts, &[])
    }

    fn make(self, all: Vec<Rows>) -> CallOutcome<Rc<Recipes>> {
        let ranks = self.0.group().len();
        let (rows, _) = Rows::apart(all, ranks as usize, (NO_COLOUR, 0));
        let parts = Group::split(ranks, |rank| {
            let (colour, key) = rows[rank as usize];
            (u32::try_from(colour).ok(), key)
        });
        let recipes = match parts {
            Ok(parts) => {
                let parts = parts.into_iter().map(|(colour, part)| (colour, Some(part)));
                Recipes::of(&self.0.world, parts)
            }
            Err(error) => Recipes::wrong(error),
        };
        CallOutcome::all(Rc::new(recipes))
    }
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
        let make = move |_| CallOutcome::all(Rc::new(Recipes::one(&this.world, None)));
        let brought = Ok(Brought::<(), _>::Nothing);
        let calling = self.calling(call, at);
        let made = begin(calling, brought, Needs::All, make, made::<()>);
        async move {
            let (recipes, rank) = made.await?;
            let name = || format!("{}.{what}", parent.name());
            let group = || Ok(parent.group().clone());
            let copy = recipes.communicator(&parent, rank, Some(0), name, group)?;
            copy.ok_or(Error::Inactive)
        }
    }

    /// Communicators of the ranks with the same colour, in the order of their keys, and of their
    /// ranks where keys are equal. A rank without a colour is in none. Takes O(n log n); schedulers
    /// send each other bytes in proportion to the runs of colours and keys, and to the forms of the
    /// new groups.
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
        let parent = Rc::clone(self.shared());
        let make = Splitting(Rc::clone(&parent));
        let number = colour.map_or(NO_COLOUR, i64::from);
        let brought = Ok(Brought::Part(Rows::One(number, key)));
        let calling = self.calling(call, at);
        let made = begin(calling, brought, Needs::All, make, made::<Rows>);
        async move {
            let (recipes, rank) = made.await?;
            let name = || format!("{}.split({})", parent.name(), colour.unwrap_or_default());
            recipes.communicator(&parent, rank, colour, name, || Err(Error::Inactive))
        }
    }

    /// A communicator of this rank alone. No other takes part.
    ///
    /// # Errors
    /// [`Error::TooMany`].
    pub fn alone(&self) -> Result<Communicator, Error> {
        let this = self.shared();
        let group = this.group().include(&[self.rank()])?;
        let number = this.world.new_number()?;
        let name = format!("{}.alone", this.name());
        Ok(Communicator::new(
            this.world.join(number, group, name, None),
            0,
        ))
    }
}
