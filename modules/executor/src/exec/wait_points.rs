//! Points at which processes of one scheduler wait for each other, and the registry of all points
//! of a run.
//!
//! A *point* has two sides, and a state word for each side that names the process that waits there
//! (`link/waiter.rs`). Each channel begins with a point. Deadlock detection reads the waits from
//! these words. Thus a wait costs only the word that it needs in any case, and one check of a mark.
//! `wait.rs` implements the begin and the end of waits.
//!
//! The registry contains the points of a run by number, for deadlock detection and for the growth
//! of channels. It belongs to one thread, as its points do. It contains pointers to live points
//! only, because a point is removed before it is freed ([`remove_point`]). Then another run may
//! be active, or none. Therefore the registries of a thread are linked to each other.

use super::hooks::Owner;
use super::hooks::Side;
use crate::link::waiter::ARMED;
use crate::link::waiter::GONE;
use crate::link::waiter::ID;
use crate::link::waiter::NO_ID;
use crate::link::waiter::STOP;
use std::cell::Cell;
use std::cell::RefCell;
use std::collections::HashMap;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr;
use std::ptr::NonNull;
use std::sync::Arc;

/// In `slot`: the words have changed since they were last collected, and the registry knows it.
const TOUCHED: u32 = 1 << 31;
/// Maximum number of points of a registry.
pub const MOST: u32 = TOUCHED - 1;

/// The part of a channel that does not depend on the type of its tokens.
#[repr(C)]
pub struct Point {
    reader: Cell<u32>,
    writer: Cell<u32>,
    /// Index in the registry for which it was made, and the mark TOUCHED.
    slot: Cell<u32>,
    /// Maximum number of tokens. It is 0 once the reader has left.
    pub capacity: Cell<u32>,
}

impl Point {
    /// Creates a point at which no process waits. `slot` is the result of [`Registry::next`], and
    /// `capacity` is in tokens.
    #[inline]
    pub fn new(slot: u32, capacity: u32) -> Self {
        Point {
            reader: Cell::new(NO_ID),
            writer: Cell::new(NO_ID),
            // The registry collects new points without a call of `touch`.
            slot: Cell::new(slot | TOUCHED),
            capacity: Cell::new(capacity),
        }
    }

    /// Returns the index of the point in its registry.
    #[inline]
    pub fn slot(&self) -> u32 {
        self.slot.get() & !TOUCHED
    }

    /// Returns the state word of a side.
    #[inline(always)]
    pub fn word(&self, side: Side) -> u32 {
        self.cell(side).get()
    }

    /// Returns the key by which the hook of a foreign waker identifies the word of a side. The key
    /// is the address of the word.
    #[inline]
    pub fn owner(&self, side: Side) -> Owner {
        (&raw const *self.cell(side)).addr()
    }

    #[inline(always)]
    fn cell(&self, side: Side) -> &Cell<u32> {
        match side {
            Side::Read => &self.reader,
            Side::Write => &self.writer,
        }
    }

    /// Returns true if a side has left.
    #[inline(always)]
    pub fn is_gone(&self, side: Side) -> bool {
        self.word(side) & GONE != 0
    }

    /// Sets the word of a side. The caller must call [`Point::mark`] afterwards.
    #[inline(always)]
    pub(super) fn set(&self, side: Side, word: u32) {
        self.cell(side).set(word);
    }

    /// Ends the wait of an armed waiter at a side, and returns its id. Returns `None` if no process
    /// waits there, or one that waits only for the other side to leave. After an id was returned,
    /// the caller must call [`Point::mark`], as after [`Point::set`].
    #[inline(always)]
    pub(super) fn release(&self, side: Side) -> Option<u32> {
        let word = self.word(side);
        (word & ARMED != 0).then(|| {
            self.set(side, word & !(ARMED | STOP));
            word & ID
        })
    }

    /// Marks that words have changed. Returns true if the mark was not set before.
    #[inline(always)]
    pub(super) fn mark(&self) -> bool {
        let slot = self.slot.get();
        if slot & TOUCHED == 0 {
            self.slot.set(slot | TOUCHED);
        }
        slot & TOUCHED == 0
    }

    /// Clears the mark that words have changed, before the words are collected.
    #[inline]
    pub(super) fn untouch(&self) {
        self.slot.set(self.slot());
    }
}

/// One end of a channel between two schedulers, as seen from its scheduler.
pub trait CrossEnd: Send + Sync {
    /// Returns the state word of this end, as in `link/waiter.rs`. `side` must be the side of this
    /// end.
    fn word(&self, side: Side) -> u32;
    /// Returns the maximum number of tokens.
    fn capacity(&self) -> u32;
    /// Sets the capacity to `capacity` if that is greater. Ends the wait of a writer that waits for
    /// space, and returns its id, so that it can be woken. Returns `None` if no writer waits. Must
    /// be called on the thread of the writer.
    fn grow(&self, capacity: u32) -> Option<u32>;
}

struct Cross {
    number: u32,
    side: Side,
    touched: bool,
    end: Option<Arc<dyn CrossEnd>>,
}

/// The state of one side of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SideState {
    pub number: u32,
    pub side: Side,
    /// State word of the side, or 0 if the channel has been dropped.
    pub word: u32,
    pub capacity: u32,
    /// State word of the other side, or 0 if not known. It may still name the last waiter there.
    pub other: u32,
    /// Slot of the end in the registry, if the channel is between schedulers.
    pub cross: Option<u32>,
}

/// An entry for a point. It is empty after the point has been dropped.
type Entry = Cell<Option<NonNull<Point>>>;

/// The points of a scheduler, and its ends of channels between schedulers.
#[derive(Default)]
pub struct Registry {
    points: RefCell<Vec<Entry>>,
    /// Number of the channel of each point. Empty if it equals the slot.
    numbers: RefCell<Vec<u32>>,
    /// Slots of the points whose words have changed since they were last collected.
    touched: RefCell<Vec<u32>>,
    /// Number of points that have been collected. The points after them are new and not in
    /// `touched`.
    collected: Cell<usize>,
    crosses: RefCell<Vec<Cross>>,
    touched_crosses: RefCell<Vec<u32>>,
    /// For each process, the ends of channels between schedulers whose waits were reported for it.
    /// Another thread wakes such a process and cannot mark the end as touched. So the end is marked
    /// when the process is polled.
    reported: RefCell<HashMap<u32, Vec<u32>>>,
    /// The registries of this thread that were created before and after this one.
    older: Cell<*const Registry>,
    newer: Cell<*const Registry>,
    _pinned: PhantomPinned,
}

thread_local! {
    /// The registry of this thread that was created last.
    static NEWEST: Cell<*const Registry> = const { Cell::new(ptr::null()) };
}

/// Calls `f` with the registry that contains a point, and with the entry of the point. Returns the
/// result of `f`, or `None` if no registry of this thread contains the point. Panics if a point is
/// being added meanwhile.
#[inline(always)]
fn with_registry<R>(point: &Point, f: impl FnOnce(&Registry, &Entry) -> R) -> Option<R> {
    let mut registry = NEWEST.get();
    // SAFETY: the list contains registries of this thread. Each removes itself from the list when
    // it is dropped. `f`, which is defined in this file, drops no registry.
    while let Some(this) = unsafe { registry.as_ref() } {
        // SAFETY: the table is neither written nor resized during this borrow, because `f`, which
        // is defined in this file, adds no point. The borrow is not counted, because this function
        // is called for each channel that is dropped, and counting would take longer than the rest.
        let points = unsafe { this.points.try_borrow_unguarded() };
        let points = points.expect("no point is added just now");
        let entry = points.get(point.slot() as usize);
        if let Some(entry) = entry
            && is_at(entry, point)
        {
            return Some(f(this, entry));
        }
        registry = this.older.get();
    }
    None
}

/// Returns true if `entry` refers to `point`.
fn is_at(entry: &Entry, point: &Point) -> bool {
    entry
        .get()
        .is_some_and(|known| ptr::eq(known.as_ptr(), point))
}

/// Adds a point to the list of those whose words have changed, in its registry. Has no effect if no
/// registry of this thread contains the point.
#[cold]
#[inline(never)]
pub fn touch(point: &Point) {
    with_registry(point, |registry, _| {
        registry.touched.borrow_mut().push(point.slot());
    });
}

/// Removes a point that is going to be freed from its registry. Returns the number of its channel,
/// or `None` if no registry of this thread contains the point.
#[inline(always)]
pub fn remove_point(point: &Point) -> Option<u32> {
    with_registry(point, |registry, entry| {
        entry.set(None);
        registry.number(point.slot())
    })
}

impl Registry {
    #[inline]
    /// Creates an empty registry and links it to the other registries of this thread.
    pub fn new() -> Pin<Box<Self>> {
        let registry = Box::pin(Registry::default());
        let this: *const Registry = &raw const *registry;
        let older = NEWEST.replace(this);
        registry.older.set(older);
        // SAFETY: as in `with_registry`.
        if let Some(older) = unsafe { older.as_ref() } {
            older.newer.set(this);
        }
        registry
    }

    /// Returns the slot of the next point that is added.
    ///
    /// # Panics
    /// Panics if 2^31 - 1 points have been added, including those that have been removed.
    #[inline]
    pub fn next(&self) -> u32 {
        let next = self.points.borrow().len();
        assert!(
            next < MOST as usize,
            "a scheduler has at most {MOST} channels"
        );
        next as u32
    }

    /// Adds a point that was created with the slot of [`Registry::next`], and the number of its
    /// channel. The numbers must ascend.
    ///
    /// # Safety
    /// `point` must be valid and pinned. It must be freed on this thread, and [`remove_point`] must
    /// be called just before.
    #[inline]
    pub unsafe fn add(&self, point: NonNull<Point>, number: u32) {
        let mut points = self.points.borrow_mut();
        let slot = points.len() as u32;
        points.push(Cell::new(Some(point)));
        let mut numbers = self.numbers.borrow_mut();
        if number != slot && numbers.is_empty() {
            numbers.extend(0..slot);
        }
        if number != slot || !numbers.is_empty() {
            numbers.push(number);
        }
    }

    /// Adds an end of the channel `number` between schedulers, and returns its slot. The numbers
    /// must ascend.
    #[inline]
    pub fn add_cross(&self, number: u32, side: Side, end: Arc<dyn CrossEnd>) -> u32 {
        let mut crosses = self.crosses.borrow_mut();
        let end = Some(end);
        crosses.push(Cross {
            number,
            side,
            touched: false,
            end,
        });
        crosses.len() as u32 - 1
    }

    /// Marks that a wait at an end of a channel between schedulers has begun or ended. `slot` is
    /// the result of [`Registry::add_cross`]. An unknown slot has no effect.
    #[inline]
    pub fn touch_cross(&self, slot: u32) {
        if let Some(cross) = self.crosses.borrow_mut().get_mut(slot as usize)
            && !std::mem::replace(&mut cross.touched, true)
        {
            self.touched_crosses.borrow_mut().push(slot);
        }
    }

    /// Records that the wait of process `id` at an end of a channel between schedulers was
    /// reported. `slot` is the slot of that end.
    #[inline]
    pub fn set_reported(&self, id: u32, slot: u32) {
        self.reported.borrow_mut().entry(id).or_default().push(slot);
    }

    /// Marks the ends whose waits were reported for process `id` as touched, and forgets these
    /// reports. Called because the process is polled or its waker was woken. Has no effect if there
    /// are none.
    #[inline]
    pub fn take_reported(&self, id: u32) {
        for slot in self.reported.borrow_mut().remove(&id).unwrap_or_default() {
            self.touch_cross(slot);
        }
    }

    /// Removes an end of a channel between schedulers, and marks its wait as changed. May drop the
    /// channel and its tokens, which runs user code. An unknown slot has no effect.
    #[inline]
    pub fn remove_cross(&self, slot: u32) {
        self.touch_cross(slot);
        let end = match self.crosses.borrow_mut().get_mut(slot as usize) {
            Some(cross) => cross.end.take(),
            None => None,
        };
        // Dropped after the borrow has ended, because it may own the channel and its tokens.
        drop(end);
    }

    /// Returns the number of the channel of a point, or `None` if the point is not in this
    /// registry.
    #[inline]
    pub fn number_of(&self, point: &Point) -> Option<u32> {
        let points = self.points.borrow();
        let entry = points.get(point.slot() as usize)?;
        is_at(entry, point).then(|| self.number(point.slot()))
    }

    fn number(&self, slot: u32) -> u32 {
        *self.numbers.borrow().get(slot as usize).unwrap_or(&slot)
    }

    fn slot(&self, number: u32) -> Option<u32> {
        let numbers = self.numbers.borrow();
        if numbers.is_empty() {
            return Some(number);
        }
        // Channels are created in the order of their numbers.
        numbers.binary_search(&number).ok().map(|slot| slot as u32)
    }

    fn with_point<R>(&self, slot: u32, f: impl FnOnce(&Point) -> R) -> Option<R> {
        let point = self.points.borrow().get(slot as usize)?.get()?;
        // SAFETY: the points in the list have not been freed. `f`, which is defined in this crate,
        // frees no point.
        Some(f(unsafe { point.as_ref() }))
    }

    fn cross_of(&self, number: u32, side: Side) -> Option<Arc<dyn CrossEnd>> {
        let crosses = self.crosses.borrow();
        // Ends are added in the order of their channels' numbers.
        let first = crosses.partition_point(|cross| cross.number < number);
        let same = crosses[first..]
            .iter()
            .take_while(|cross| cross.number == number);
        same.filter(|cross| cross.side == side)
            .find_map(|cross| cross.end.clone())
    }

    fn side_state_of(&self, number: u32, side: Side, point: Option<&Point>) -> SideState {
        let known = |f: &dyn Fn(&Point) -> u32| point.map_or(0, f);
        SideState {
            number,
            side,
            word: known(&|point| point.word(side)),
            capacity: known(&|point| point.capacity.get()),
            other: known(&|point| point.word(side.other())),
            cross: None,
        }
    }

    /// Returns the state of one side of the channel with a number. The words and the capacity are 0
    /// if this scheduler has no such channel or end, or if it has been dropped. For a channel
    /// between schedulers, the word of the other side is 0.
    pub fn side_state(&self, number: u32, side: Side) -> SideState {
        if let Some(cross) = self.cross_of(number, side) {
            let (word, capacity) = (cross.word(side), cross.capacity());
            return SideState {
                number,
                side,
                word,
                capacity,
                other: 0,
                cross: None,
            };
        }
        let found = self.slot(number).and_then(|slot| {
            self.with_point(slot, |point| self.side_state_of(number, side, Some(point)))
        });
        found.unwrap_or_else(|| self.side_state_of(number, side, None))
    }

    /// Passes each side whose word may have changed since the last call to the callback. Both sides
    /// of channels that are new since then are included, unless they have been dropped. For another
    /// dropped channel, the words and the capacity are 0. The sides are in no particular order.
    pub fn collect(&self, mut report: impl FnMut(SideState)) {
        let both = |slot| {
            let number = self.number(slot);
            self.with_point(slot, |point| {
                point.untouch();
                [Side::Read, Side::Write].map(|side| self.side_state_of(number, side, Some(point)))
            })
        };
        let mut touched = self.touched.take();
        for slot in touched.drain(..) {
            let number = self.number(slot);
            let gone =
                || [Side::Read, Side::Write].map(|side| self.side_state_of(number, side, None));
            both(slot)
                .unwrap_or_else(gone)
                .into_iter()
                .for_each(&mut report);
        }
        self.touched.replace(touched);
        let points = self.points.borrow().len();
        let new = self.collected.replace(points)..points;
        new.filter_map(|slot| both(slot as u32))
            .flatten()
            .for_each(&mut report);
        let mut touched = self.touched_crosses.take();
        for slot in touched.drain(..) {
            let mut crosses = self.crosses.borrow_mut();
            let cross = &mut crosses[slot as usize];
            cross.touched = false;
            let (number, side) = (cross.number, cross.side);
            let (word, capacity) = match &cross.end {
                Some(end) => (end.word(side), end.capacity()),
                None => (0, 0),
            };
            drop(crosses);
            report(SideState {
                number,
                side,
                word,
                capacity,
                other: 0,
                cross: Some(slot),
            });
        }
        self.touched_crosses.replace(touched);
    }

    /// Passes each side of each channel that is within this scheduler to the callback, and the side
    /// of each of its ends of channels between schedulers. Channels that have been dropped are left
    /// out. Does not change the record of what has been collected.
    pub fn each(&self, mut report: impl FnMut(SideState)) {
        for slot in 0..self.points.borrow().len() as u32 {
            let number = self.number(slot);
            let sides = self.with_point(slot, |point| {
                [Side::Read, Side::Write].map(|side| self.side_state_of(number, side, Some(point)))
            });
            sides.into_iter().flatten().for_each(&mut report);
        }
        for cross in &*self.crosses.borrow() {
            if let Some(end) = &cross.end {
                report(SideState {
                    number: cross.number,
                    side: cross.side,
                    word: end.word(cross.side),
                    capacity: end.capacity(),
                    other: 0,
                    cross: None,
                });
            }
        }
    }

    /// Increases the capacity of a channel, if its writer is on this scheduler. Returns false if
    /// the writer is not on this scheduler, or if the channel has been dropped. A smaller
    /// `capacity` does not change that of the channel. A channel within this scheduler does not
    /// change either if one of its ends has left. Otherwise ends the wait of a writer that waits
    /// for space, and calls `wake` with its id. `wake` must not poll the process.
    pub fn grow(&self, number: u32, capacity: u32, wake: impl Fn(u32)) -> bool {
        if let Some(cross) = self.cross_of(number, Side::Write) {
            cross.grow(capacity).into_iter().for_each(wake);
            return true;
        }
        let grown = self.slot(number).and_then(|slot| {
            self.with_point(slot, |point| {
                if !point.is_gone(Side::Read) && !point.is_gone(Side::Write) {
                    point.capacity.set(capacity.max(point.capacity.get()));
                    if let Some(id) = point.release(Side::Write) {
                        if point.mark() {
                            self.touched.borrow_mut().push(slot);
                        }
                        wake(id);
                    }
                }
            })
        });
        grown.is_some()
    }

    /// Drops all ends of channels between schedulers. This may drop the channels and their tokens,
    /// which runs user code.
    #[inline]
    pub fn clear(&self) {
        drop(self.crosses.take());
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let (older, newer) = (self.older.get(), self.newer.get());
        // SAFETY: as in `with_registry`.
        match unsafe { newer.as_ref() } {
            Some(newer) => newer.older.set(older),
            None => NEWEST.set(older),
        }
        // SAFETY: as above.
        if let Some(older) = unsafe { older.as_ref() } {
            older.newer.set(newer);
        }
    }
}
