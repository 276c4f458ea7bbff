//! Communicators that are derived from others.

use std::any::Any;
use std::panic::Location;
use std::rc::Rc;

use super::call::{Brought, Call, CallOutcome, Combine, Data, Needs, Taker};
use super::communicator::Communicator;
use super::error::Error;
use super::group::Group;
use super::instance::begin;
use super::recipe::Recipes;
use super::runs::Rows;
use super::state::CommunicatorState;

/// Result of the call, and the rank of the caller.
pub(super) type Made = (Rc<Recipes>, u32);

pub(super) fn made<T: 'static>(data: &mut dyn Any, taker: Taker) -> Option<Made> {
    let recipes = data.downcast_mut::<Data<T, Rc<Recipes>>>()?.shared(taker)?;
    Some((recipes, taker.rank))
}

/// Number that encodes the absence of a colour.
const NO_COLOUR: i64 = -1;

/// Split of the ranks of a communicator. The numbers of a rank are its colour and its key.
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

/// # Derived communicators
///
/// These calls are collective, and begin when they are made. Each new communicator has its own
/// messages and collective calls. Each scheduler stores the common state of its ranks once.
/// [`alone`](Self::alone) is the exception: it is not collective.
impl Communicator {
    /// Creates a communicator of the same ranks (`MPI_Comm_dup`). Collective, and begins when it is
    /// called. Messages and collective calls of the two communicators are separate.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if ranks make different calls, [`Error::Over`] if the run ends first,
    /// and [`Error::Inactive`] if this rank is more than 65,535 collective calls ahead.
    /// [`Error::TooMany`] if no communicator number is left.
    #[track_caller]
    pub fn dup(&self) -> impl Future<Output = Result<Communicator, Error>> + use<> {
        self.copy("dup", Location::caller())
    }

    /// Creates a communicator of the same ranks. The collective call begins when this function is
    /// called. `what` is the name of the call in reports and part of the name of the new
    /// communicator, and `at` is its position. The errors are those of [`dup`](Self::dup).
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

    /// Creates a communicator for the ranks of each colour (`MPI_Comm_split`). The ranks of a new
    /// communicator are ordered by key, and by their rank in this communicator if keys are equal.
    /// Returns `None` if `colour` is `None`. Collective, and begins when it is called.
    ///
    /// Takes O(n log n). Schedulers exchange bytes in proportion to the runs of colours and keys,
    /// and to the rank maps of the new groups.
    ///
    /// # Errors
    /// As for [`dup`](Self::dup).
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

    /// Creates a communicator of this rank alone, in which its rank is 0. Not collective, and does
    /// not wait.
    ///
    /// # Errors
    /// [`Error::TooMany`] if no communicator number is left.
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
