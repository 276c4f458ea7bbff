//! Points at which processes of one scheduler wait for each other, and the registry of all of a
//! run.
//!
//! A *point* has two sides, and a state word for each that names the process that waits there
//! (`link/waiter.rs`). A channel begins with one. Deadlock detection reads the waits from these
//! words, so a wait costs nothing but the word that it needs anyway, and one check of a mark.
//! `wait.rs` has how processes begin and cease to wait.
//!
//! The registry has the points of a run by number, for deadlock detection and for the growth of
//! channels. It belongs to one thread, as its points do. It holds pointers to live points only: a
//! point is removed from the list before it is freed ([`strike`]), whichever run is on at that
//! time, or none. Therefore the registries of a thread know each other.

use super::hooks::Owner;
use super::hooks::Side;
use crate::link::waiter::ARMED;
use crate::link::waiter::GONE;
use crate::link::waiter::ID;
use crate::link::waiter::NOBODY;
use crate::link::waiter::STOP;
use std::cell::Cell;
use std::cell::RefCell;
use std::collections::HashMap;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::ptr;
use std::ptr::NonNull;
use std::sync::Arc;

/// In `slot`: the words have changed since they were last collected, and the registry knows.
const TOUCHED: u32 = 1 << 31;
/// Most points of a registry.
pub const MOST: u32 = TOUCHED - 1;

/// The part of a channel that does not depend on the type of its tokens.
#[repr(C)]
pub struct Point {
    reader: Cell<u32>,
    writer: Cell<u32>,
    /// Its place in the registry it was made for, and the mark TOUCHED.
    slot: Cell<u32>,
    /// How many tokens there may be: 0 once the reader has left.
    pub capacity: Cell<u32>,
}

impl Point {
    #[inline]
    pub fn new(slot: u32, capacity: u32) -> Self {
        Point {
            reader: Cell::new(NOBODY),
            writer: Cell::new(NOBODY),
            // As it is new, the registry knows that it has to be looked at.
            slot: Cell::new(slot | TOUCHED),
            capacity: Cell::new(capacity),
        }
    }

    #[inline]
    pub fn slot(&self) -> u32 {
        self.slot.get() & !TOUCHED
    }

    #[inline(always)]
    pub fn word(&self, side: Side) -> u32 {
        self.cell(side).get()
    }

    /// What the hook of a foreign waker knows the word of a side by.
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

    #[inline(always)]
    pub fn is_gone(&self, side: Side) -> bool {
        self.word(side) & GONE != 0
    }

    /// Sets the word of a side, which is to be told of ([`Point::mark`]).
    #[inline(always)]
    pub(super) fn set(&self, side: Side, word: u32) {
        self.cell(side).set(word);
    }

    /// Takes out who waits on a side, by id, as [`Point::set`] does.
    #[inline(always)]
    pub(super) fn release(&self, side: Side) -> Option<u32> {
        let word = self.word(side);
        (word & ARMED != 0).then(|| {
            self.set(side, word & !(ARMED | STOP));
            word & ID
        })
    }

    /// Marks that words have changed; whether they were not marked.
    #[inline(always)]
    pub(super) fn mark(&self) -> bool {
        let slot = self.slot.get();
        if slot & TOUCHED == 0 {
            self.slot.set(slot | TOUCHED);
        }
        slot & TOUCHED == 0
    }

    /// The words are going to be collected: takes the mark off.
    #[inline]
    pub(super) fn untouch(&self) {
        self.slot.set(self.slot());
    }
}

/// One end of a channel between two schedulers, as its scheduler sees it.
pub trait CrossEnd: Send + Sync {
    /// Who waits at the end: a word as in `link/waiter.rs`.
    fn word(&self, side: Side) -> u32;
    /// How many tokens there may be.
    fn capacity(&self) -> u32;
    /// Lets the channel hold more: for its writer's thread alone. Whom to wake.
    fn grow(&self, capacity: u32) -> Option<u32>;
}

struct Cross {
    number: u32,
    side: Side,
    touched: bool,
    end: Option<Arc<dyn CrossEnd>>,
}

/// What is said of one side of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub number: u32,
    pub side: Side,
    /// Who waits there; 0 if the channel is gone.
    pub word: u32,
    pub capacity: u32,
    /// The word of the other side, which may still name who waited there last; 0 if it is not
    /// known.
    pub other: u32,
    /// The slot of an end of a channel between schedulers.
    pub cross: Option<u32>,
}

/// A place for a point: empty once that is gone.
type Place = Cell<Option<NonNull<Point>>>;

/// The points and the ends of channels between schedulers that a scheduler has.
#[derive(Default)]
pub struct Registry {
    points: RefCell<Vec<Place>>,
    /// The number of each point; empty if it is the slot.
    numbers: RefCell<Vec<u32>>,
    /// The slots of those whose words have changed since they were last collected.
    touched: RefCell<Vec<u32>>,
    /// How many points have been collected: those behind are new, and not among the touched.
    collected: Cell<usize>,
    crosses: RefCell<Vec<Cross>>,
    touched_crosses: RefCell<Vec<u32>>,
    /// Who was told to wait at which ends of channels between schedulers. What wakes them is
    /// another thread, which cannot touch the end; so it is looked at again when they have had a
    /// turn.
    told: RefCell<HashMap<u32, Vec<u32>>>,
    /// The registries of this thread that were made before and after this one.
    older: Cell<*const Registry>,
    newer: Cell<*const Registry>,
    _pinned: PhantomPinned,
}

thread_local! {
    /// The registry of this thread that was made last.
    static NEWEST: Cell<*const Registry> = const { Cell::new(ptr::null()) };
}

/// Calls `f` with the registry that has this point, if that is still there, and the point's place
/// in it.
#[inline(always)]
fn with_home<R>(point: &Point, f: impl FnOnce(&Registry, &Place) -> R) -> Option<R> {
    let mut registry = NEWEST.get();
    // SAFETY: the list is of registries of this thread, each of which leaves it before it goes, and
    // `f`, which is of this file, lets none go.
    while let Some(this) = unsafe { registry.as_ref() } {
        // SAFETY: the table is not written, and stays as long as it is, while this is borrowed:
        // `f`, which is of this file, adds no point. Each channel that goes comes here, and to
        // count such borrows would take longer than all the rest.
        let points = unsafe { this.points.try_borrow_unguarded() };
        let points = points.expect("no point is added just now");
        let place = points.get(point.slot() as usize);
        if let Some(place) = place
            && is_at(place, point)
        {
            return Some(f(this, place));
        }
        registry = this.older.get();
    }
    None
}

/// Whether this is the place of a point.
fn is_at(place: &Place, point: &Point) -> bool {
    place
        .get()
        .is_some_and(|known| ptr::eq(known.as_ptr(), point))
}

/// The words of a point have changed.
#[cold]
#[inline(never)]
pub fn touch(point: &Point) {
    with_home(point, |home, _| {
        home.touched.borrow_mut().push(point.slot());
    });
}

/// A point is going to be freed. Returns its number, if its registry is still there.
#[inline(always)]
pub fn strike(point: &Point) -> Option<u32> {
    with_home(point, |home, place| {
        place.set(None);
        home.number(point.slot())
    })
}

impl Registry {
    #[inline]
    pub fn new() -> Pin<Box<Self>> {
        let registry = Box::pin(Registry::default());
        let this: *const Registry = &raw const *registry;
        let older = NEWEST.replace(this);
        registry.older.set(older);
        // SAFETY: as in `with_home`.
        if let Some(older) = unsafe { older.as_ref() } {
            older.newer.set(this);
        }
        registry
    }

    /// The slot of the next point that is added.
    ///
    /// # Panics
    /// If there are 2^31 - 1.
    #[inline]
    pub fn next(&self) -> u32 {
        let next = self.points.borrow().len();
        assert!(
            next < MOST as usize,
            "a scheduler has at most {MOST} channels"
        );
        next as u32
    }

    /// Adds a point that was made with the slot of [`Registry::next`], and what number it has.
    ///
    /// # Safety
    /// The point is to be freed on this thread, and [`strike`] is called just before.
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

    /// Adds an end of a channel between schedulers: its slot.
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

    /// Somebody waits at an end of a channel between schedulers, or does no more.
    #[inline]
    pub fn touch_cross(&self, slot: u32) {
        if let Some(cross) = self.crosses.borrow_mut().get_mut(slot as usize)
            && !std::mem::replace(&mut cross.touched, true)
        {
            self.touched_crosses.borrow_mut().push(slot);
        }
    }

    /// A process was told to wait at an end of a channel between schedulers.
    #[inline]
    pub fn set_told(&self, id: u32, slot: u32) {
        self.told.borrow_mut().entry(id).or_default().push(slot);
    }

    /// Such a process has a turn, or the waker that it waited by was woken.
    #[inline]
    pub fn take_told(&self, id: u32) {
        for slot in self.told.borrow_mut().remove(&id).unwrap_or_default() {
            self.touch_cross(slot);
        }
    }

    /// An end of a channel between schedulers leaves.
    #[inline]
    pub fn remove_cross(&self, slot: u32) {
        self.touch_cross(slot);
        let end = match self.crosses.borrow_mut().get_mut(slot as usize) {
            Some(cross) => cross.end.take(),
            None => None,
        };
        // Outside of the borrow: it may be the last to hold the channel and its tokens.
        drop(end);
    }

    /// The number of a channel whose point this is, if the point is of this registry.
    #[inline]
    pub fn number_of(&self, point: &Point) -> Option<u32> {
        let points = self.points.borrow();
        let place = points.get(point.slot() as usize)?;
        is_at(place, point).then(|| self.number(point.slot()))
    }

    fn number(&self, slot: u32) -> u32 {
        *self.numbers.borrow().get(slot as usize).unwrap_or(&slot)
    }

    fn slot(&self, number: u32) -> Option<u32> {
        let numbers = self.numbers.borrow();
        if numbers.is_empty() {
            return Some(number);
        }
        // Channels are made in the order of their numbers.
        numbers.binary_search(&number).ok().map(|slot| slot as u32)
    }

    fn with_point<R>(&self, slot: u32, f: impl FnOnce(&Point) -> R) -> Option<R> {
        let point = self.points.borrow().get(slot as usize)?.get()?;
        // SAFETY: what is in the list has not been freed, and `f`, which is of this crate, frees
        // nothing.
        Some(f(unsafe { point.as_ref() }))
    }

    fn cross_of(&self, number: u32, side: Side) -> Option<Arc<dyn CrossEnd>> {
        let crosses = self.crosses.borrow();
        // Ends are taken over in the order of the channels' numbers.
        let first = crosses.partition_point(|cross| cross.number < number);
        let same = crosses[first..]
            .iter()
            .take_while(|cross| cross.number == number);
        same.filter(|cross| cross.side == side)
            .find_map(|cross| cross.end.clone())
    }

    fn look_at(&self, number: u32, side: Side, point: Option<&Point>) -> Look {
        let known = |f: &dyn Fn(&Point) -> u32| point.map_or(0, f);
        Look {
            number,
            side,
            word: known(&|point| point.word(side)),
            capacity: known(&|point| point.capacity.get()),
            other: known(&|point| point.word(side.other())),
            cross: None,
        }
    }

    /// One side of the channel of this number.
    pub fn look(&self, number: u32, side: Side) -> Look {
        if let Some(cross) = self.cross_of(number, side) {
            let (word, capacity) = (cross.word(side), cross.capacity());
            return Look {
                number,
                side,
                word,
                capacity,
                other: 0,
                cross: None,
            };
        }
        let found = self.slot(number).and_then(|slot| {
            self.with_point(slot, |point| self.look_at(number, side, Some(point)))
        });
        found.unwrap_or_else(|| self.look_at(number, side, None))
    }

    /// Tells of every side whose word has changed since this was last called.
    pub fn collect(&self, mut tell: impl FnMut(Look)) {
        let both = |slot| {
            let number = self.number(slot);
            self.with_point(slot, |point| {
                point.untouch();
                [Side::Read, Side::Write].map(|side| self.look_at(number, side, Some(point)))
            })
        };
        let mut touched = self.touched.take();
        for slot in touched.drain(..) {
            let number = self.number(slot);
            let gone = || [Side::Read, Side::Write].map(|side| self.look_at(number, side, None));
            both(slot)
                .unwrap_or_else(gone)
                .into_iter()
                .for_each(&mut tell);
        }
        self.touched.replace(touched);
        let points = self.points.borrow().len();
        let new = self.collected.replace(points)..points;
        new.filter_map(|slot| both(slot as u32))
            .flatten()
            .for_each(&mut tell);
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
            tell(Look {
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

    /// Tells of every side of every channel here.
    pub fn each(&self, mut tell: impl FnMut(Look)) {
        for slot in 0..self.points.borrow().len() as u32 {
            let number = self.number(slot);
            let sides = self.with_point(slot, |point| {
                [Side::Read, Side::Write].map(|side| self.look_at(number, side, Some(point)))
            });
            sides.into_iter().flatten().for_each(&mut tell);
        }
        for cross in &*self.crosses.borrow() {
            if let Some(end) = &cross.end {
                tell(Look {
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

    /// Lets a channel hold more, if its writer is here; false: it is not. `wake` is told whom to
    /// wake, who must not be woken at once.
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

    /// Lets go of the channels between schedulers.
    #[inline]
    pub fn clear(&self) {
        drop(self.crosses.take());
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let (older, newer) = (self.older.get(), self.newer.get());
        // SAFETY: as in `with_home`.
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
