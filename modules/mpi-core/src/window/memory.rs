//! The memory that a rank exposes. Only its scheduler accesses it, so all operations on an element
//! are serialized.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;

use super::super::entry::NONE;
use super::super::erased::{Erased, Unopened};
use super::super::error::Error;
use super::super::value::Value;
use super::lock::{Asker, Lock, LockMode};
use super::number::{Arithmetic, Op, arithmetic};
use super::operation::{Operation, OperationKind};
use super::regions::Regions;
use graphmap_executor::exec::user_code::uninterrupted;

/// Exposed memory, independent of its type.
pub(in super::super) trait Exposed: Any {
    /// Performs the operation of a rank. Returns the requests to answer, with their answers.
    ///
    /// # Errors
    /// A description, if the operation is invalid. Dynamic memory does not return the errors of an
    /// access, but answers with the first one or keeps it for a later answer.
    fn access(&self, operation: Erased, asker: Asker) -> Result<Vec<(Asker, Erased)>, String>;

    /// Withdraws and returns the requests that still wait for the lock, because the exposure ends.
    /// The caller must remove the memory from the windows.
    fn close(&self) -> Vec<Asker>;
}

/// The memory of a rank.
pub(super) struct WindowMemory<T> {
    elements: RefCell<Regions<T>>,
    /// Pieces are attached and detached, so other ranks cannot know the bounds.
    is_dynamic: bool,
    /// For each rank of another scheduler, its first error that is not reported yet.
    errors: RefCell<BTreeMap<u32, String>>,
    lock: RefCell<Lock>,
    arithmetic: Option<Arithmetic<T>>,
}

pub(super) const IN_USE: Error = Error::window("the memory of this rank is borrowed by `with`");
const FIXED: Error = Error::window(
    "memory can be attached only to a dynamic window (`Communicator::dynamic_window`)",
);
const DYNAMIC: Error =
    Error::window("a dynamic window has several pieces of memory: use `Window::with_attached`");
const NOWHERE: Error = Error::window("no attached memory begins at this displacement");
const FULL: Error = Error::window("no displacements are left for the elements");
const BEYOND: Error = Error::window("access to elements that the rank does not expose");
const NOT_FOR_IT: Error = Error::window("the operation is not defined for this type");

impl<T: Value + Copy> WindowMemory<T> {
    pub(super) fn new(elements: Vec<T>) -> Self {
        WindowMemory::of(Regions::one(elements), false)
    }

    /// Creates memory without elements, to which pieces can be attached (dynamic memory).
    pub(super) fn dynamic() -> Self {
        WindowMemory::of(Regions::none(), true)
    }

    fn of(elements: Regions<T>, is_dynamic: bool) -> Self {
        WindowMemory {
            elements: RefCell::new(elements),
            is_dynamic,
            errors: RefCell::default(),
            lock: RefCell::default(),
            arithmetic: arithmetic(),
        }
    }

    pub(super) fn is_dynamic(&self) -> bool {
        self.is_dynamic
    }

    /// Calls `f` with the elements. [`Error::Window`] for dynamic memory, or if the elements are
    /// borrowed.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut [T]) -> R) -> Result<R, Error> {
        match self.is_dynamic {
            true => Err(DYNAMIC),
            false => self.with_piece(0, f),
        }
    }

    /// Calls `f` with the piece that begins at displacement `first`. [`Error::Window`] if no piece
    /// begins there, or if the elements are borrowed.
    pub(super) fn with_piece<R>(
        &self,
        first: usize,
        f: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R, Error> {
        let mut elements = self.elements.try_borrow_mut().map_err(|_| IN_USE)?;
        let elements = elements.at(first).ok_or(NOWHERE)?;
        // `f` must not block, because accesses by other ranks cannot wait for the memory.
        Ok(uninterrupted(|| f(elements)))
    }

    /// Adds a piece, and returns the displacement of its first element. [`Error::Window`], after
    /// dropping the piece, if the elements are borrowed, the memory is not dynamic, or no
    /// displacements are left.
    pub(super) fn attach(&self, elements: Vec<T>) -> Result<usize, Error> {
        let mut all = self.elements.try_borrow_mut().map_err(|_| IN_USE)?;
        match self.is_dynamic {
            true => all.attach(elements).ok_or(FULL),
            false => Err(FIXED),
        }
    }

    /// Removes a piece, and returns its elements. [`Error::Window`] if the elements are borrowed,
    /// the memory is not dynamic, or no piece begins at `first`.
    pub(super) fn detach(&self, first: usize) -> Result<Vec<T>, Error> {
        let mut all = self.elements.try_borrow_mut().map_err(|_| IN_USE)?;
        match self.is_dynamic {
            true => all.detach(first).ok_or(NOWHERE),
            false => Err(FIXED),
        }
    }

    /// Removes and returns all elements, in order of displacement. If they are borrowed, none is
    /// removed and the result is empty.
    pub(super) fn take(&self) -> Vec<T> {
        let elements = self.elements.try_borrow_mut();
        elements.map_or_else(|_| Vec::new(), |mut elements| elements.take())
    }

    /// Combines the values of an operation with elements. Returns the elements from before, or an
    /// empty vector for an update. A compare-and-swap needs one element, and has the new and the
    /// expected value as values. [`Op::Keep`] leaves the elements unchanged. [`Error::Window`] if
    /// the elements are borrowed or not exposed, if the number of values is wrong, or if the
    /// operation is not defined for the type.
    pub(super) fn apply(&self, operation: &Operation<T>) -> Result<Vec<T>, Error> {
        let Operation { what, op, .. } = *operation;
        let first = usize::try_from(operation.offset).map_err(|_| BEYOND)?;
        let count = usize::try_from(operation.count).map_err(|_| BEYOND)?;
        let last = first.checked_add(count).ok_or(BEYOND)?;
        let mut elements = self.elements.try_borrow_mut().map_err(|_| IN_USE)?;
        let elements = match (elements.within(first, last), self.is_dynamic) {
            (Some(elements), _) => elements,
            (None, false) => return Err(BEYOND),
            (None, true) => {
                let what = format!(
                    "access to elements {first}..{last} of a rank, which are not in one piece of \
                     attached memory"
                );
                return Err(Error::Window(what.into()));
            }
        };
        let before = match what {
            OperationKind::Update => Vec::new(),
            _ => elements.to_vec(),
        };
        let values = &operation.values;
        match (what, op) {
            (OperationKind::CompareAndSwap, _) => {
                let ([element], &[value, wanted]) = (elements, values.as_slice()) else {
                    return Err(BEYOND);
                };
                let known = self.arithmetic.ok_or(NOT_FOR_IT)?;
                if (known.equal)(element, &wanted) {
                    *element = value;
                }
            }
            (_, Op::Keep) => {}
            _ if values.len() != count => return Err(BEYOND),
            (_, Op::Replace) => elements.copy_from_slice(values),
            _ => {
                let known = self.arithmetic.ok_or(NOT_FOR_IT)?;
                for (element, &value) in elements.iter_mut().zip(values) {
                    *element = (known.combine)(*element, op, value).ok_or(NOT_FOR_IT)?;
                }
            }
        }
        Ok(before)
    }

    /// Performs an operation. Returns the requests to answer, with the elements from before if the
    /// operation fetches them, and otherwise with an empty vector. An update has no answer, and a
    /// lock request has one only when it is granted. Releasing a lock also answers the requests
    /// that are granted. The errors are those of [`WindowMemory::apply`].
    pub(super) fn perform(
        &self,
        operation: &Operation<T>,
        asker: Asker,
    ) -> Result<Vec<(Asker, Vec<T>)>, Error> {
        let mut lock = self.lock.borrow_mut();
        let none = |askers: Vec<Asker>| askers.into_iter().map(|asker| (asker, Vec::new()));
        Ok(match operation.what {
            OperationKind::Update => {
                self.apply(operation)?;
                Vec::new()
            }
            OperationKind::Fetch | OperationKind::CompareAndSwap => {
                vec![(asker, self.apply(operation)?)]
            }
            OperationKind::Flush => vec![(asker, Vec::new())],
            OperationKind::Share | OperationKind::ShareToo | OperationKind::Exclude => {
                let how = match operation.what {
                    OperationKind::Share => LockMode::Shared,
                    OperationKind::ShareToo => LockMode::SharedToo,
                    _ => LockMode::Exclusive,
                };
                let granted = lock.want(operation.origin, how, asker);
                none(granted.then_some(asker).into_iter().collect()).collect()
            }
            OperationKind::Unlock => {
                let granted = lock.release(operation.origin);
                none(granted.into_iter().chain([asker]).collect()).collect()
            }
        })
    }
}

impl<T: Value + Copy> Exposed for WindowMemory<T> {
    fn access(&self, operation: Erased, asker: Asker) -> Result<Vec<(Asker, Erased)>, String> {
        let operation = operation.open::<Operation<T>>().map_err(|why| match why {
            Unopened::Other(_) => "it has another type".to_string(),
            Unopened::Unreadable(error) => error.to_string(),
        })?;
        // An origin without an answer receives its error with the next answer.
        let pending_error = match operation.what {
            OperationKind::Flush | OperationKind::Unlock if asker.entry != NONE => {
                self.errors.borrow_mut().remove(&operation.origin)
            }
            _ => None,
        };
        match (self.perform(&operation, asker), pending_error) {
            (Ok(answers), pending_error) => {
                let mut pending_error = pending_error;
                let answer =
                    |(requester, values)| match pending_error.take_if(|_| requester == asker) {
                        Some(pending_error) => (requester, Erased::one(pending_error)),
                        None => (requester, Erased::one::<Vec<T>>(values)),
                    };
                Ok(answers.into_iter().map(answer).collect())
            }
            (Err(error), _) if !self.is_dynamic => Err(error.to_string()),
            (Err(error), _) if asker.entry == NONE => {
                let mut errors = self.errors.borrow_mut();
                let first_error = errors.entry(operation.origin);
                first_error.or_insert_with(|| error.to_string());
                Ok(Vec::new())
            }
            (Err(error), _) => Ok(vec![(asker, Erased::one(error.to_string()))]),
        }
    }

    fn close(&self) -> Vec<Asker> {
        self.lock.borrow_mut().close()
    }
}
