//! Stacks of one thread, recycled.

use std::cell::{OnceCell, RefCell};
use std::fmt::{self, Display};
use std::num::NonZeroUsize;
use std::ptr;
use std::rc::Rc;

use crate::canary::Canary;
use crate::error::StackError;
use crate::label::Label;
use crate::options::{Guard, Options};
use crate::overflow;
use crate::shape::Shape;
use crate::slab::Slab;
use crate::system;

/// How many stacks the first slab has; each has twice as many as the one before.
const FIRST: u32 = 64;

/// How many a slab has at most.
const MOST: u32 = 1024;

/// Stacks for the fibers of one thread. Clones are the same stacks.
///
/// A stack is a part of a *slab*, a mapping of many stacks (Bonwick, *The slab allocator*, 1994): address space, of which memory is
/// taken page by page as a body uses it. One that is over is used again, with the pages that it has. A slab of which nothing
/// is in use goes back to the kernel, but for one.
#[derive(Clone)]
pub struct Stacks(Rc<Pool>);

#[derive(Debug)]
struct Pool {
    options: Options,
    shape: Shape,
    slabs: RefCell<Slabs>,
}

#[derive(Debug, Default)]
struct Slabs {
    slabs: Vec<Option<Slab>>,
    /// Which of them are not full; the last is used first.
    roomy: Vec<usize>,
    /// Which are there no more.
    gone: Vec<usize>,
    /// How many stacks are in use, by what guards them.
    live: [usize; Guard::ALL.len()],
}

/// How many stacks there are, and what guards them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// How many stacks are in use.
    pub live: usize,
    /// How many of these are guarded by `MADV_GUARD_INSTALL`.
    pub markers: usize,
    /// How many are guarded by `mprotect`.
    pub protections: usize,
    /// How many have a canary only.
    pub canaries: usize,
    /// How many bytes of address space all take, those that are not in use too.
    pub reserved: usize,
}

impl Display for Counts {
    /// As in `3 stacks: 2 guarded by MADV_GUARD_INSTALL, 1 by canary`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} stacks", self.live)?;
        let counts = [self.markers, self.protections, self.canaries];
        let guards = Guard::ALL.into_iter().zip(counts);
        let guards = guards.filter(|(_, count)| *count > 0);
        for (number, (guard, count)) in guards.enumerate() {
            let before = if number == 0 { ":" } else { "," };
            let verb = if number == 0 { " guarded" } else { "" };
            write!(f, "{before} {count}{verb} by {guard}")?;
        }
        Ok(())
    }
}

impl Stacks {
    /// Stacks like that; memory is taken when there is one in use.
    pub fn new(options: Options) -> Stacks {
        let page = system::page_size();
        let shape = Shape {
            stride: options.size.next_multiple_of(page),
            guard: page,
        };
        Stacks(Rc::new(Pool {
            options,
            shape,
            slabs: RefCell::default(),
        }))
    }

    /// How many stacks there are, and what guards them.
    pub fn counts(&self) -> Counts {
        let slabs = self.0.slabs.borrow();
        let [markers, protections, canaries] = slabs.live;
        Counts {
            live: slabs.live.iter().sum(),
            markers,
            protections,
            canaries,
            reserved: slabs.slabs.iter().flatten().map(Slab::bytes).sum(),
        }
    }

    /// Gives the kernel back what memory the stacks hold that are not in use. Their address space stays.
    ///
    /// # Errors
    ///
    /// Of the kernel.
    pub fn trim(&self) -> std::io::Result<()> {
        let mut slabs = self.0.slabs.borrow_mut();
        slabs.slabs.iter_mut().flatten().try_for_each(Slab::trim)
    }

    /// A stack that nobody uses, with this name on it.
    pub(crate) fn take(&self, name: &dyn Display) -> Result<Stack, StackError> {
        let taken = self.0.take().map_err(|error| StackError {
            name: Label::new(name),
            size: self.0.shape.stride,
            live: self.counts().live,
            error,
        });
        let (place, start) = taken?;
        let (shape, number) = (self.0.shape, place.number as usize);
        let stack = Stack {
            pool: self.0.clone(),
            place,
            base: NonZeroUsize::new(start + shape.base(number)).expect("beyond address 0"),
        };
        // Of what is called here nothing holds the pool: it may be code of the user.
        let label = Label::new(name);
        let top: *mut Label = ptr::with_exposed_provenance_mut(start + shape.label(number));
        // SAFETY: the stack is ours, and its label lies above its base.
        unsafe { top.write(label) };
        Ok(stack)
    }
}

impl fmt::Debug for Stacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stacks").field(&self.counts()).finish()
    }
}

impl Pool {
    fn take(&self) -> std::io::Result<(Place, usize)> {
        let slabs = &mut *self.slabs.borrow_mut();
        let (index, number) = loop {
            let Some(index) = slabs.roomy.last().copied() else {
                overflow::watch()?;
                let most = FIRST.saturating_mul(1 << slabs.slabs.len().min(16));
                let slab = Slab::new(self.shape, most.min(MOST))?;
                slabs.add(slab);
                continue;
            };
            let slab = slabs.slabs[index].as_mut();
            let number = match slab {
                Some(slab) => slab.take(&self.options.guards)?,
                None => None,
            };
            match number {
                Some(number) => break (index, number),
                None => drop(slabs.roomy.pop()),
            }
        };
        let slab = slabs.slabs[index].as_ref().expect("a stack of it is taken");
        let guard = slab.guarded_by(number);
        slabs.live[guard as usize] += 1;
        if slab.is_full() {
            slabs.roomy.pop();
        }
        let place = Place {
            slab: index as u32,
            number,
            guard,
        };
        Ok((place, slab.start()))
    }

    fn give_back(&self, place: Place) {
        let slabs = &mut *self.slabs.borrow_mut();
        let index = place.slab as usize;
        slabs.live[place.guard as usize] -= 1;
        let Some(slab) = &mut slabs.slabs[index] else {
            return;
        };
        if slab.is_full() {
            slabs.roomy.push(index);
        }
        slab.give_back(place.number);
        if slab.is_empty() {
            slabs.keep_one_empty(index);
        }
    }
}

impl Slabs {
    fn add(&mut self, slab: Slab) {
        let index = self.gone.pop().unwrap_or_else(|| {
            self.slabs.push(None);
            self.slabs.len() - 1
        });
        self.slabs[index] = Some(slab);
        self.roomy.push(index);
    }

    /// A slab has become empty: if another is, it goes.
    fn keep_one_empty(&mut self, index: usize) {
        let empty = |i: &usize| *i != index && self.slabs[*i].as_ref().is_some_and(Slab::is_empty);
        if self.roomy.iter().any(empty) {
            self.slabs[index] = None;
            self.roomy.retain(|i| *i != index);
            self.gone.push(index);
        }
    }
}

/// Which stack of a pool it is, and what guards it.
#[derive(Clone, Copy, Debug)]
struct Place {
    slab: u32,
    number: u32,
    guard: Guard,
}

/// A stack that is in use.
#[derive(Debug)]
pub(crate) struct Stack {
    pool: Rc<Pool>,
    place: Place,
    base: NonZeroUsize,
}

impl Stack {
    fn lowest(&self) -> usize {
        let shape = &self.pool.shape;
        let number = self.place.number as usize;
        self.base.get() - (shape.base(number) - shape.limit(number))
    }

    /// What has to be looked at when the stack is suspended, if nothing else guards it.
    pub(crate) fn canary(&self) -> Option<Canary> {
        let shape = self.pool.shape;
        (self.place.guard == Guard::Canary).then(|| Canary::new(self.lowest(), shape))
    }
}

// SAFETY: the memory between both is ours while this lives, and aligned to lines and pages. At its lower end is a page
// that nobody may touch. Where the options allow a canary instead, an overflow is told when the stack is suspended, as they say.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> NonZeroUsize {
        self.base
    }

    fn limit(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.lowest()).expect("beyond address 0")
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.pool.give_back(self.place);
    }
}

thread_local! {
    /// The stacks of fibers that nobody has chosen others for.
    static DEFAULT: OnceCell<Stacks> = const { OnceCell::new() };
}

/// Calls `f` with them; a thread that ends has some for this once.
pub(crate) fn with_default<R>(f: impl FnOnce(&Stacks) -> R) -> R {
    let fresh = || match Options::from_env() {
        Ok(options) => Stacks::new(options),
        Err(error) => panic!("{error}"),
    };
    let stacks = DEFAULT.try_with(|stacks| stacks.get_or_init(fresh).clone());
    f(&stacks.unwrap_or_else(|_| fresh()))
}
