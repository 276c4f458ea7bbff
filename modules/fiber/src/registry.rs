//! Where slabs are, for the handler of a fault: read without a lock, and nothing of it is ever freed.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::label::Label;
use crate::shape::Shape;

/// An entry, of a slab or for the next.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Whether it belongs to somebody.
    taken: AtomicBool,
    start: AtomicUsize,
    /// 0 while there is no slab.
    len: AtomicUsize,
    stride: AtomicUsize,
    guard: AtomicUsize,
    next: *const Entry,
}

// SAFETY: `next` is not changed any more when others see the entry, and entries live for ever.
unsafe impl Sync for Entry {}

static FIRST: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());

fn entries() -> impl Iterator<Item = &'static Entry> {
    // SAFETY: null, or an entry, which lives for ever.
    let entry = |entry: *const Entry| unsafe { entry.as_ref() };
    let first = entry(FIRST.load(Ordering::Acquire));
    std::iter::successors(first, move |e| entry(e.next))
}

/// Lists a slab, until it is [unlisted](Entry::unlist).
pub(crate) fn list(start: usize, len: usize, shape: Shape) -> &'static Entry {
    let free = entries().find(|e| !e.taken.swap(true, Ordering::Acquire));
    let entry = free.unwrap_or_else(add);
    entry.start.store(start, Ordering::Relaxed);
    entry.stride.store(shape.stride, Ordering::Relaxed);
    entry.guard.store(shape.guard, Ordering::Relaxed);
    entry.len.store(len, Ordering::Release);
    entry
}

/// One more entry, which is taken.
fn add() -> &'static Entry {
    let mut next = FIRST.load(Ordering::Acquire);
    let entry = Box::leak(Box::new(Entry {
        taken: AtomicBool::new(true),
        start: AtomicUsize::new(0),
        len: AtomicUsize::new(0),
        stride: AtomicUsize::new(0),
        guard: AtomicUsize::new(0),
        next,
    }));
    let own: *mut Entry = entry;
    loop {
        // SAFETY: nobody else knows of the entry yet.
        unsafe { (*own).next = next };
        match FIRST.compare_exchange(next, own, Ordering::Release, Ordering::Acquire) {
            // SAFETY: it is never freed, and from now on not changed but by atomic operations.
            Ok(_) => return unsafe { &*own },
            Err(other) => next = other,
        }
    }
}

impl Entry {
    /// The slab goes.
    pub(crate) fn unlist(&self) {
        self.len.store(0, Ordering::Release);
        self.taken.store(false, Ordering::Release);
    }
}

/// A stack whose guard was met.
pub(crate) struct Met {
    /// Its lowest byte, guard included.
    pub(crate) limit: usize,
    pub(crate) shape: Shape,
    pub(crate) label: Label,
}

/// Whose guard an address is in. May be called by a handler of signals.
pub(crate) fn met(address: usize) -> Option<Met> {
    entries().find_map(|entry| {
        let len = entry.len.load(Ordering::Acquire);
        let start = entry.start.load(Ordering::Relaxed);
        let at = address.checked_sub(start).filter(|at| *at < len)?;
        let shape = Shape {
            stride: entry.stride.load(Ordering::Relaxed),
            guard: entry.guard.load(Ordering::Relaxed),
        };
        let number = shape.guarded(at)?;
        let label: *const Label = ptr::with_exposed_provenance(start + shape.label(number));
        // SAFETY: stacks have a label at their top, which stays as it is while they are in use, and a label may be any bytes.
        // A stack whose guard is met is in use by the thread that has met it; if another thread unmaps the slab, it was a
        // stray pointer that led here, and the fault in the handler ends the program as that one would.
        let label = unsafe { label.read_volatile() };
        let limit = start + shape.limit(number);
        Some(Met {
            limit,
            shape,
            label,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label;

    const SHAPE: Shape = Shape {
        stride: 1024,
        guard: 128,
    };

    /// Memory for some stacks, aligned as labels need it, with a name for each.
    fn slab(names: &[&str]) -> Vec<Label> {
        let each = SHAPE.stride / label::BYTES;
        let none = Label::new(&"none");
        let mut slab = vec![none; names.len() * each];
        for (number, name) in names.iter().enumerate() {
            slab[(number + 1) * each - 1] = Label::new(name);
        }
        slab
    }

    fn list_it(slab: &[Label]) -> (usize, &'static Entry) {
        let start = slab.as_ptr().expose_provenance();
        (start, list(start, size_of_val(slab), SHAPE))
    }

    fn name(address: usize) -> Option<String> {
        let label = met(address)?.label;
        Some(String::from_utf8(label.bytes().to_vec()).unwrap())
    }

    #[test]
    fn who_is_met_is_found_by_the_guard() {
        let slab = slab(&["first", "second"]);
        let (start, entry) = list_it(&slab);
        assert_eq!(name(start).as_deref(), Some("first"));
        assert_eq!(name(start + 127).as_deref(), Some("first"));
        assert_eq!(name(start + 128), None);
        assert_eq!(name(start + 1023), None);
        assert_eq!(name(start + 1024).as_deref(), Some("second"));
        assert_eq!(met(start + 1100).unwrap().limit, start + 1024);
        for outside in [0, start - 1, start + 2048, usize::MAX] {
            assert_eq!(name(outside), None);
        }
        entry.unlist();
        assert_eq!(name(start), None);
    }

    #[test]
    fn threads_list_and_look_at_once() {
        let rounds = if cfg!(miri) { 10 } else { 1000 };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    let own = format!("of thread {thread}");
                    let slab = slab(&["other", &own]);
                    for _ in 0..rounds {
                        let (start, entry) = list_it(&slab);
                        assert_eq!(name(start + 1024 + 5).as_ref(), Some(&own));
                        entry.unlist();
                    }
                });
            }
        });
        // Entries are used again: no more than there were slabs at once, those of other tests too.
        assert!(entries().count() <= 64);
    }
}
