//! Communicators that the ranks of a group make without the others.

use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::rc::Rc;

use super::communicator::{Communicator, Shared};
use super::envelope::{Envelope, Mixer};
use super::error::Error;
use super::group::Group;
use super::matching::{Mode, Sent};
use super::parcel::Parcel;
use super::request::Receiving;
use super::world::{World, wake, wake_next};

/// The context of the messages that say which number a communicator has. No communicator has it.
const MAKING: u32 = u32::MAX;

/// What is said: the number of the communicator, that of its parent, and the tag.
type Word = (u32, u32, i32);

/// What tells the words apart that one rank says to another: a number that is made of parent and tag.
fn told_by(parent: u32, tag: i32) -> i32 {
    let mut mixer = Mixer::default();
    (parent, tag).hash(&mut mixer);
    (mixer.finish() & 0x7fff_ffff) as i32
}

const OUTSIDE: Error = Error::group("a group has a process that the communicator does not have");
const CROSSED: Error = Error::group(
    "communicators that are made at the same time have tags that cannot be told apart",
);

impl Communicator {
    /// A communicator of a group of ranks of this one, which these alone call, all with that group and tag
    /// (`MPI_Comm_create_group`). Who is not in it gets none, at once. Those that the same ranks make at the same time are told
    /// apart by their tags.
    ///
    /// # Errors
    /// [`Error::Group`]: the group has a process that this communicator does not have; [`Error::Tag`], [`Error::TooMany`].
    #[track_caller]
    pub fn create_group(
        &self,
        group: &Group,
        tag: i32,
    ) -> impl Future<Output = Result<Option<Communicator>, Error>> + use<> {
        let at = Location::caller();
        let begun = self.begin_group(group, tag, at);
        let parent = Rc::clone(self.shared());
        let (home, group) = (self.home(), group.clone());
        async move {
            let Some(rank) = group.rank_of(home) else {
                return begun.map(|_| None);
            };
            let number = match begun? {
                Begun::Made(number) => number,
                Begun::Told(receiving) => {
                    let ((number, of, as_tag), _) = receiving.await?;
                    if (of, as_tag) != (parent.number(), tag) {
                        return Err(CROSSED);
                    }
                    number
                }
            };
            let name = format!("{}.create_group({tag})", parent.name());
            let shared = match parent.world.find_communicator(number) {
                Some(shared) => shared,
                None => parent.world.join(number, group, name),
            };
            let made = Communicator::new(shared, rank);
            // Until all have it, so that it is there once on each scheduler.
            made.barrier().await?;
            Ok(Some(made))
        }
    }

    fn begin_group(
        &self,
        group: &Group,
        tag: i32,
        at: &'static Location<'static>,
    ) -> Result<Begun, Error> {
        let parent: &Rc<Shared> = self.shared();
        let world = &parent.world;
        if tag < 0 {
            return Err(Error::Tag(tag));
        }
        if group
            .members()
            .any(|member| parent.group().rank_of(member).is_none())
        {
            return Err(OUTSIDE);
        }
        let Some(first) = group.at(0).filter(|_| group.has(self.home())) else {
            return Ok(Begun::Made(MAKING));
        };
        let envelope = Envelope::new(MAKING, Some(first), Some(told_by(parent.number(), tag)));
        if first != self.home() {
            let (entry, word) = world.change(|matching| match matching.is_over {
                true => (matching.failed(Error::Over, at), 0),
                false => matching.receive(self.home(), envelope, at),
            });
            wake(word);
            return Ok(Begun::Told(Receiving::new(world, entry)));
        }
        let number = world.new_number()?;
        let word: Word = (number, parent.number(), tag);
        for member in group.members().skip(1) {
            say(world, member, envelope, word, at);
        }
        Ok(Begun::Made(number))
    }
}

/// How far a rank is.
enum Begun {
    /// It has made the number.
    Made(u32),
    /// It will be told.
    Told(Receiving<Word>),
}

/// Sends a word, and does not wait.
fn say(world: &Rc<World>, to: u32, envelope: Envelope, word: Word, at: &'static Location<'static>) {
    let parcel = Parcel::one(word);
    let sent = match world.elsewhere(to) {
        Some(scheduler) => {
            world.send_elsewhere(scheduler, to, envelope, parcel, Mode::Buffered, at)
        }
        None => world.change(|matching| matching.send(to, envelope, parcel, Mode::Buffered, at)),
    };
    if let Sent::Taken(word) = sent {
        wake_next(word);
    }
}
