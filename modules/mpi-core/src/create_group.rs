//! Communicators that the ranks of a group create without the other ranks.

use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::rc::Rc;

use super::communicator::Communicator;
use super::envelope::{Envelope, Mixer};
use super::erased::Erased;
use super::error::Error;
use super::group::Group;
use super::matching::{SendMode, Sent};
use super::request::Receiving;
use super::state::CommunicatorState;
use super::state::World;
use super::world::{wake, wake_next};

/// Context of the messages that announce the number of a communicator. No communicator has this
/// number.
const MAKING: u32 = u32::MAX;

/// Identifies a communicator before it has a number: the number of the parent, and a tag.
pub(super) type Key = (u32, i32);

/// An announcement: the number of the new communicator, the number of its parent, and the tag.
type Announcement = (u32, u32, i32);

/// Returns the tag of the announcement, which is not negative: a hash of the key, because a rank
/// may send several announcements.
fn announcement_tag(key: Key) -> i32 {
    let mut mixer = Mixer::default();
    key.hash(&mut mixer);
    (mixer.finish() & 0x7fff_ffff) as i32
}

const OUTSIDE: Error = Error::group("the group has a process that is not in the communicator");
const CROSSED: Error =
    Error::group("communicators that are created at the same time have equal tags");

impl Communicator {
    /// Creates a communicator of a group of ranks of this one (`MPI_Comm_create_group`). Only the
    /// members of `group` call it, all with the same group and tag. The future waits until all
    /// members have called. A caller that is not a member gets `None` at once. Creations by the
    /// same ranks at the same time must have different tags.
    ///
    /// # Errors
    /// [`Error::Group`] if the group has a process that this communicator does not have, or if
    /// creations at the same time have equal tags and this is detected. [`Error::Tag`] if the tag
    /// is negative. [`Error::Over`] if the run ends first. [`Error::TooMany`] at the first member
    /// of the group if no communicator number is left. The other members then wait until the run
    /// ends.
    #[track_caller]
    pub fn create_group(
        &self,
        group: &Group,
        tag: i32,
    ) -> impl Future<Output = Result<Option<Communicator>, Error>> + use<> {
        let what = format!("{}.create_group({tag})", self.name());
        let key = match tag {
            0.. => Ok((self.shared().number(), tag)),
            _ => Err(Error::Tag(tag)),
        };
        self.create_known(group, key, what, Location::caller())
    }

    /// Creates a communicator like [`Communicator::create_group`], with a key that no other
    /// creation has at the same time. `name` is the name of the communicator. An error in `key` is
    /// returned.
    pub(super) fn create_known(
        &self,
        group: &Group,
        key: Result<Key, Error>,
        name: String,
        at: &'static Location<'static>,
    ) -> impl Future<Output = Result<Option<Communicator>, Error>> + use<> {
        let parent = self.shared();
        let is_within = parent.world.is_within(parent, group);
        let key = key.and_then(|key| is_within.then_some(key).ok_or(OUTSIDE));
        let like = Some(Rc::clone(parent));
        create_of(&parent.world, like, (group, self.member()), key, name, at)
    }
}

/// Creates a communicator of a group without a parent (`MPI_Comm_create_from_group`). Only the
/// members of `group` call it, all with the same group and tag. A caller that is not a member gets
/// `None` at once. Creations by the same ranks at the same time must have different tags.
///
/// # Errors
/// [`Error::NoProcess`] outside of a process of a run. Otherwise as for
/// [`Communicator::create_group`].
#[track_caller]
pub fn create_from_group(
    group: &Group,
    tag: &str,
) -> impl Future<Output = Result<Option<Communicator>, Error>> + use<> {
    let at = Location::caller();
    let mut mixer = Mixer::default();
    tag.hash(&mut mixer);
    let hash = (mixer.finish() & 0x7fff_ffff) as i32;
    let made = super::communicator::world().map(|world| {
        let name = format!("create_from_group({tag})");
        world.create_known(group, Ok((MAKING, hash)), name, at)
    });
    async move { made?.await }
}

/// Creates a communicator of a group for `member`, or returns `None` if this is not a member. All
/// members call this with the same group and key. If `like` has the same ranks, the new
/// communicator shares their location. The errors are as in [`Communicator::create_group`].
pub(super) fn create_of(
    world: &Rc<World>,
    like: Option<Rc<CommunicatorState>>,
    (group, member): (&Group, u32),
    key: Result<Key, Error>,
    name: String,
    at: &'static Location<'static>,
) -> impl Future<Output = Result<Option<Communicator>, Error>> + use<> {
    let started = key.and_then(|key| Ok((key, begin_group(world, (group, member), key, at)?)));
    let (world, group) = (Rc::clone(world), group.clone());
    async move {
        let (key, started) = started?;
        let Some(rank) = group.rank_of(member) else {
            return Ok(None);
        };
        let number = match started {
            Progress::Made(number) => number,
            Progress::Awaiting(receiving) => {
                let ((number, of, as_tag), _) = receiving.await?;
                if (of, as_tag) != key {
                    return Err(CROSSED);
                }
                number
            }
        };
        let shared = match world.find_communicator(number) {
            Some(shared) => shared,
            None => world.join(number, group, name, like.as_deref()),
        };
        let made = Communicator::new(shared, rank);
        // Keeps the communicator alive until all ranks have it, so that each scheduler creates it
        // only once.
        made.barrier_at(at).await?;
        Ok(Some(made))
    }
}

/// Starts the creation for member `me`: the first member allocates the number and sends it to the
/// others, which receive it. Does not wait. For a rank that is not a member, the result has no
/// meaning.
///
/// Returns [`Error::TooMany`] at the first member if no communicator number is left. Errors of a
/// receive come later, from its request.
fn begin_group(
    world: &Rc<World>,
    (group, me): (&Group, u32),
    key: Key,
    at: &'static Location<'static>,
) -> Result<Progress, Error> {
    let Some(first) = group.at(0).filter(|_| group.has(me)) else {
        return Ok(Progress::Made(MAKING));
    };
    let envelope = Envelope::new(MAKING, Some(first), Some(announcement_tag(key)));
    if first != me {
        let (entry, word) = world.change(|matching| match matching.is_over {
            true => (matching.failed(Error::Over, at), 0),
            false => matching.receive(me, envelope, at),
        });
        wake(word);
        return Ok(Progress::Awaiting(Receiving::new(world, entry)));
    }
    let number = world.new_number()?;
    let word: Announcement = (number, key.0, key.1);
    for member in group.members().skip(1) {
        announce(world, member, envelope, word, at);
    }
    Ok(Progress::Made(number))
}

impl World {
    /// Returns true if `parent` has all members of `group`.
    ///
    /// The last group for which this was true is cached, because the members of a group call this
    /// one after the other. Otherwise n members would take n steps each.
    fn is_within(&self, parent: &CommunicatorState, group: &Group) -> bool {
        let mut last = self.within.borrow_mut();
        let is_last =
            |(number, last): &(u32, Group)| *number == parent.number() && last.same(group);
        if last.as_ref().is_some_and(is_last) {
            return true;
        }
        let is_within = group.members().all(|member| parent.group().has(member));
        if is_within {
            *last = Some((parent.number(), group.clone()));
        }
        is_within
    }
}

/// Progress of a rank in the creation.
enum Progress {
    /// The rank has chosen the number.
    Made(u32),
    /// The rank waits for the announcement of the number.
    Awaiting(Receiving<Announcement>),
}

/// Sends the announcement `word` to member `to`, and does not wait.
fn announce(
    world: &Rc<World>,
    to: u32,
    envelope: Envelope,
    word: Announcement,
    at: &'static Location<'static>,
) {
    let value = Erased::one(word);
    let sent = match world.remote_scheduler(to) {
        Some(scheduler) => {
            world.send_remote(scheduler, to, envelope, value, SendMode::Buffered, at)
        }
        None => world.change(|matching| matching.send(to, envelope, value, SendMode::Buffered, at)),
    };
    if let Sent::Taken(word) = sent {
        wake_next(word);
    }
}
