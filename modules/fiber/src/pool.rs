//! A pool of the stacks of one thread.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::rc::Rc;

use crate::current::Extent;
use crate::error::StackError;
use crate::options::Options;
use crate::overflow;
use crate::slab::Slab;
use crate::system;

/// Number of stacks in a slab.
const STACKS: usize = 64;

/// Largest number of slabs that are kept while no stack is in use.
const KEPT: usize = 16;

/// Largest number of free stacks that keep their memory.
const WARM: usize = KEPT * STACKS;

/// Number of different offsets at which stacks begin in their uppermost page.
const COLOURS: usize = 32;

/// Size of a cache line in bytes.
const LINE: usize = 64;

/// Stacks for the fibers of one thread. A clone refers to the same stacks.
///
/// A stack is a part of a *slab*, a mapping of 64 stacks. If the kernel refuses this mapping, a
/// slab is a mapping of one stack. A slab is address space: memory is taken page by page as a body
/// uses the stack. A stack is reused when its fiber has ended. Up to 1,024 free stacks keep their
/// memory. If there are more, the memory of all free stacks is returned to the kernel. When no
/// stack is in use, the address space of all but 16 slabs is returned, too.
#[derive(Clone)]
pub struct Stacks(Rc<Pool>);

struct Pool {
    /// Size of a stack in bytes, guard included. A multiple of the page size.
    size: usize,
    /// Size of a guard in bytes. A multiple of the page size.
    guard: usize,
    markers: bool,
    held: RefCell<Held>,
}

/// Slabs, and the lowest addresses of their free stacks.
#[derive(Default)]
struct Held {
    slabs: Vec<Slab>,
    /// Stacks that keep the memory of their last use. The last one is taken first.
    warm: Vec<usize>,
    /// Stacks without memory, unless it is locked.
    cold: Vec<usize>,
    /// Number of stacks in use.
    live: usize,
}

/// Counters of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Number of stacks in use.
    pub live: usize,
    /// Address space of all stacks, used or free, in bytes.
    pub reserved: usize,
    /// Number of stacks, used or free, that `mprotect` guards. `MADV_GUARD_INSTALL` guards the
    /// others.
    pub protected: usize,
}

impl Stacks {
    /// Creates a pool of stacks with these options. The pool maps memory when the first stack is
    /// used. The size of a stack is rounded up to whole pages.
    pub fn new(options: Options) -> Stacks {
        let page = system::page_size();
        let guard = options.guard.next_multiple_of(page);
        Stacks(Rc::new(Pool {
            size: options.size.next_multiple_of(page) + guard,
            guard: guard.max(page),
            markers: options.markers,
            held: RefCell::default(),
        }))
    }

    /// Returns the counters of the stacks.
    pub fn counts(&self) -> Counts {
        let held = self.0.held.borrow();
        Counts {
            live: held.live,
            reserved: held.slabs.iter().map(Slab::bytes).sum(),
            protected: held.slabs.iter().map(Slab::protected).sum(),
        }
    }

    /// Returns the memory of all free stacks of this pool to the kernel. Their address space stays
    /// mapped.
    ///
    /// # Errors
    ///
    /// Returns the first error of `madvise`, for example for locked memory. The memory of the
    /// remaining free stacks is then not returned.
    pub fn trim(&self) -> io::Result<()> {
        self.0.trim(&mut self.0.held.borrow_mut())
    }

    /// Takes a free stack, or maps 64 new ones if none is free, or one if the kernel refuses 64.
    /// The stack returns to the pool when it is dropped. `name` is the name of the fiber in the
    /// error. Returns an error if stacks cannot be mapped or guarded, or if the overflow handler
    /// cannot be installed.
    pub(crate) fn take(&self, name: &str) -> Result<Stack, StackError> {
        let lowest = self.0.take().map_err(|error| StackError {
            name: name.into(),
            size: self.0.size,
            live: self.counts().live,
            error,
        })?;
        let pool = self.0.clone();
        Ok(Stack { pool, lowest })
    }
}

impl fmt::Debug for Stacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stacks").field(&self.counts()).finish()
    }
}

impl Pool {
    fn take(&self) -> io::Result<usize> {
        let held = &mut *self.held.borrow_mut();
        if held.warm.is_empty() && held.cold.is_empty() {
            overflow::watch()?;
            let slab = |count| Slab::new(self.size, self.guard, count, self.markers);
            // A single stack may still fit if a slab does not.
            let slab = slab(STACKS).or_else(|_| slab(1))?;
            held.cold.extend(slab.stacks().rev());
            held.slabs.push(slab);
        }
        let free = held.warm.pop().or_else(|| held.cold.pop());
        held.live += 1;
        Ok(free.expect("a slab was added if none was free"))
    }

    fn give_back(&self, lowest: usize) {
        let held = &mut *self.held.borrow_mut();
        held.live -= 1;
        if held.live == 0 && held.slabs.len() > KEPT {
            held.slabs.truncate(KEPT);
            held.cold.clear();
            held.warm.clear();
            held.warm.extend(held.slabs.iter().flat_map(Slab::stacks));
            return;
        }
        held.warm.push(lowest);
        if held.warm.len() > WARM {
            // This fails for locked memory, which stays resident.
            let _ = self.trim(held);
        }
    }

    /// Returns the memory of all free stacks to the kernel, up to the first error of `madvise`. All
    /// stacks then count as cold, even after an error.
    fn trim(&self, held: &mut Held) -> io::Result<()> {
        held.warm.sort_unstable();
        let mut runs = held.warm.chunk_by(|one, next| one + self.size == *next);
        let trimmed = runs.try_for_each(|run| {
            // A run is a range of adjacent stacks, without the guard of the first. The kernel keeps
            // the guards between them.
            let (first, len) = (run[0] + self.guard, run.len() * self.size - self.guard);
            // SAFETY: the stacks are parts of slabs of this pool, and no fiber uses them.
            unsafe { system::advise(first, len, libc::MADV_DONTNEED) }
        });
        held.cold.append(&mut held.warm);
        trimmed
    }
}

/// A stack in use.
pub(crate) struct Stack {
    pool: Rc<Pool>,
    lowest: usize,
}

impl Stack {
    /// Returns the position of the stack in memory, with the name of its fiber.
    pub(crate) fn extent(&self, name: String) -> Extent {
        Extent {
            name,
            lowest: self.lowest,
            guard: self.pool.guard,
            size: self.pool.size,
        }
    }
}

// SAFETY: the memory from `limit` to `base` belongs to this value while it lives, because the pool
// gives out a stack once and lives as long as the value. The slab has made the lowest pages a guard.
// Both addresses are multiples of 64.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> NonZeroUsize {
        // Adjacent stacks begin at different cache lines of their pages. Otherwise all stacks would
        // share a few sets of a cache. At least half of the uppermost page remains.
        let size = self.pool.size;
        let colour = self.lowest / size % COLOURS;
        NonZeroUsize::new(self.lowest + size - colour * LINE).expect("beyond address 0")
    }

    fn limit(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.lowest).expect("beyond address 0")
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.pool.give_back(self.lowest);
    }
}

thread_local! {
    /// Stacks of the fibers that are created without an explicit pool.
    static DEFAULT: OnceCell<Stacks> = const { OnceCell::new() };
}

/// Calls `f` with the default stacks of the thread, and returns its result. The first call creates
/// them with the options of the environment. In a thread that is ending, `f` gets a pool for this
/// call only.
///
/// # Panics
/// Panics if a pool is created and `GRAPHMAP_STACK` is not a valid size.
pub(crate) fn with_default<R>(f: impl FnOnce(&Stacks) -> R) -> R {
    let fresh = || match Options::from_env() {
        Ok(options) => Stacks::new(options),
        Err(error) => panic!("{error}"),
    };
    let stacks = DEFAULT.try_with(|stacks| stacks.get_or_init(fresh).clone());
    f(&stacks.unwrap_or_else(|_| fresh()))
}
