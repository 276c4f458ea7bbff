//! Access to the memory of a rank: direct if the rank is on this scheduler, otherwise by a frame.

use std::any::Any;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::super::entry::NONE;
use super::super::erased::{Erased, Unopened};
use super::super::error::Error;
use super::super::frame::Frame;
use super::super::request::{Handle, Request};
use super::super::state::World;
use super::super::value::Value;
use super::Window;
use super::lock::Asker;
use super::memory::{Exposed, WindowMemory};
use super::number::{Op, arithmetic};
use super::operation::{Operation, OperationKind};

/// Number of bytes in flight to a rank of another scheduler above which a `put` waits until they
/// have arrived.
const UNDER_WAY: usize = 1 << 20;

/// A started access. Dropping it does not cancel the access.
#[must_use = "if the access is not awaited, its errors are lost"]
pub struct Accessing<T, R> {
    state: AccessState<T>,
    make: fn(Vec<T>) -> Result<R, Error>,
}

enum AccessState<T> {
    Done(Result<Vec<T>, Error>),
    /// Waits for the answer of this rank.
    Waiting(Handle, u32),
    Returned,
}

// The fields are not pinned.
impl<T, R> Unpin for Accessing<T, R> {}

/// Returns the first of the elements that were fetched. [`Error::Over`] if there is none.
pub(super) fn first<T: Copy>(values: Vec<T>) -> Result<T, Error> {
    values.first().copied().ok_or(Error::Over)
}

fn gone(target: u32) -> Error {
    Error::Window(format!("rank {target} has dropped its window").into())
}

/// Returns the error of an answer without elements: [`Error::Window`] with the message of the
/// target, or that `target` has dropped its window.
fn refused(answer: Erased, target: u32) -> Error {
    match answer.open::<String>() {
        Ok(what) => Error::Window(what.into()),
        Err(_) => gone(target),
    }
}

impl<T> Accessing<T, Vec<T>> {
    pub(super) fn done(values: Vec<T>) -> Self {
        Accessing {
            state: AccessState::Done(Ok(values)),
            make: Ok,
        }
    }

    /// Makes the access complete with the result of `make` for the elements of the answer. An error
    /// of the access itself stays its outcome.
    pub(super) fn map<R>(self, make: fn(Vec<T>) -> Result<R, Error>) -> Accessing<T, R> {
        Accessing {
            state: self.state,
            make,
        }
    }
}

impl<T, R> Accessing<T, R> {
    pub(super) fn failed(error: Error) -> Self {
        Accessing {
            state: AccessState::Done(Err(error)),
            make: |_| Err(Error::Inactive),
        }
    }
}

impl<T: Value + Copy, R> Future for Accessing<T, R> {
    type Output = Result<R, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let make = self.make;
        let answer = match &mut self.state {
            AccessState::Returned => Err(Error::Inactive),
            AccessState::Done(_) => match std::mem::replace(&mut self.state, AccessState::Returned)
            {
                AccessState::Done(values) => values,
                _ => Err(Error::Inactive),
            },
            AccessState::Waiting(handle, target) => {
                let target = *target;
                let Poll::Ready(taken) = handle.poll(context) else {
                    return Poll::Pending;
                };
                self.state = AccessState::Returned;
                taken.and_then(|taken| {
                    let value = taken.ok_or(Error::Over)?.value;
                    value.open::<Vec<T>>().map_err(|why| match why {
                        Unopened::Other(other) => refused(other, target),
                        Unopened::Unreadable(error) => Error::Unreadable(error.to_string()),
                    })
                })
            }
        };
        Poll::Ready(answer.and_then(make))
    }
}

impl<T: Value + Copy, R> Request for Accessing<T, R> {
    type Outcome = R;

    fn is_active(&self) -> bool {
        !matches!(self.state, AccessState::Returned)
    }

    fn is_done(&self) -> bool {
        match &self.state {
            AccessState::Waiting(handle, _) => handle.is_done(),
            AccessState::Done(_) | AccessState::Returned => true,
        }
    }

    fn cancel(self) -> bool {
        false
    }

    fn disarm(&mut self) {
        if let AccessState::Waiting(handle, _) = &mut self.state {
            handle.disarm();
        }
    }
}

impl<T: Value + Copy> Window<T> {
    /// Returns `target` as a rank of the window, or [`Error::Rank`] if it does not exist.
    pub(super) fn target(&self, target: usize) -> Result<u32, Error> {
        let size = self.size();
        let found = u32::try_from(target).ok().filter(|_| target < size);
        found.ok_or(Error::Rank { rank: target, size })
    }

    /// Returns `target` as a rank, if it exposes `count` elements from `offset` on. Otherwise
    /// returns [`Error::Rank`] or [`Error::Window`]. The elements of a dynamic window are not
    /// checked.
    fn within(&self, target: usize, offset: usize, count: usize) -> Result<u32, Error> {
        let found = self.target(target)?;
        if self.memory.is_dynamic() {
            // Only the target knows its attached memory.
            return Ok(found);
        }
        let length = self.lengths[target];
        let end = offset.checked_add(count);
        match end.is_some_and(|end| end as u64 <= length) {
            true => Ok(found),
            false => {
                let end = end.unwrap_or(usize::MAX);
                let what = format!(
                    "access to elements {offset}..{end} of rank {target}, which exposes {length} \
                     elements"
                );
                Err(Error::Window(what.into()))
            }
        }
    }

    /// Checks that `op` is defined for elements of this type, and returns [`Error::Window`]
    /// otherwise. Without values, every operation is allowed.
    fn allowed(op: Op, values: &[T]) -> Result<(), Error> {
        let fits = match (arithmetic::<T>(), values) {
            (Some(known), [value, ..]) => (known.combine)(*value, op, *value).is_some(),
            (_, []) => true,
            (None, _) => op.is_plain(),
        };
        fits.then_some(()).ok_or_else(|| {
            let name = std::any::type_name::<T>();
            Error::Window(format!("{op:?} is not defined for `{name}`").into())
        })
    }

    /// Combines `values` by `op` with the elements of `target` from `offset` on, without an answer.
    /// The returned request is complete, unless more than 1 MiB is in flight to a target on another
    /// scheduler. Then it waits until all operations on that target have completed. It completes
    /// with [`Error::Rank`] if the target does not exist. It completes with [`Error::Window`] if
    /// the operation is not defined for the type or the target does not expose the elements, and
    /// otherwise with the errors of [`Window::access`].
    pub(super) fn update(
        &self,
        values: Vec<T>,
        target: usize,
        offset: usize,
        op: Op,
        at: &'static Location<'static>,
    ) -> Accessing<T, ()> {
        let count = values.len();
        let checked = Self::allowed(op, &values);
        let target = match checked.and_then(|()| self.within(target, offset, count)) {
            Ok(target) => target,
            Err(error) => return Accessing::failed(error),
        };
        let operation = Operation {
            what: OperationKind::Update,
            op,
            origin: self.rank() as u32,
            offset: offset as u64,
            count: count as u64,
            values,
        };
        let done = self.access(target, operation, at).map(|_| Ok(()));
        let full = match self.under_way.borrow_mut().get_mut(&target) {
            Some(bytes) => {
                *bytes += count * size_of::<T>();
                *bytes > UNDER_WAY
            }
            None => false,
        };
        if full {
            self.flush_one(target, at)
        } else {
            done
        }
    }

    /// Combines `values` with `count` elements of `target` from `offset` on, and returns the
    /// elements from before. `what` is [`OperationKind::Fetch`], or
    /// [`OperationKind::CompareAndSwap`] with the new and the expected value as `values`. `values`
    /// is empty if the elements are only read. The errors are those of [`Window::update`], as the
    /// outcome of the returned request.
    pub(super) fn fetch(
        &self,
        (what, op): (OperationKind, Op),
        values: Vec<T>,
        count: usize,
        target: usize,
        offset: usize,
        at: &'static Location<'static>,
    ) -> Accessing<T, Vec<T>> {
        let checked = Self::allowed(op, &values);
        let target = match checked.and_then(|()| self.within(target, offset, count)) {
            Ok(target) => target,
            Err(error) => return Accessing::failed(error),
        };
        let operation = Operation {
            what,
            op,
            origin: self.rank() as u32,
            offset: offset as u64,
            count: count as u64,
            values,
        };
        self.access(target, operation, at)
    }

    /// Sends an operation to `target`, or performs it at once if the target is on this scheduler.
    /// The returned request waits only for locks, and for answers from another scheduler. An update
    /// on another scheduler is recorded as in flight, and is not waited for. The request completes
    /// with [`Error::Over`] if the run has ended, and with [`Error::Window`] if the target has
    /// dropped its window or cannot perform the operation.
    pub(super) fn access(
        &self,
        target: u32,
        operation: Operation<T>,
        at: &'static Location<'static>,
    ) -> Accessing<T, Vec<T>> {
        let world = &self.ranks.shared().world;
        if world.is_over() {
            return Accessing::failed(Error::Over);
        }
        let Some(member) = self.ranks.group().at(target) else {
            return Accessing::failed(Error::Over);
        };
        let is_remote = world.remote_scheduler(member).is_some();
        let what = operation.what;
        let waits = match what {
            OperationKind::Share | OperationKind::ShareToo | OperationKind::Exclude => true,
            OperationKind::Update => {
                if is_remote {
                    self.under_way.borrow_mut().entry(target).or_default();
                }
                false
            }
            _ => is_remote,
        };
        if !waits {
            return match self.ask(target, operation, NONE) {
                Ok(values) => Accessing::done(values),
                Err(error) => Accessing::failed(error),
            };
        }
        let context = self.ranks.shared().number();
        let entry =
            world.change(|matching| matching.access(member, (context, target), what.number(), at));
        let state = AccessState::Waiting(Handle::new(world, entry), target);
        match self.ask(target, operation, entry) {
            Ok(_) => Accessing { state, make: Ok },
            Err(error) => Accessing::failed(error),
        }
    }

    /// Performs an operation on the memory of a target on this scheduler, or sends it to the
    /// scheduler of the target. The answer goes to `entry`, and the result is empty. If `entry` is
    /// [`NONE`], an answer of this scheduler is returned, and one of another scheduler is dropped.
    /// Other requests that the operation grants a lock are answered as well. Returns
    /// [`Error::Over`] if the run has ended or the target does not exist. Returns [`Error::Window`]
    /// if a target on this scheduler has dropped its window or cannot perform the operation.
    pub(super) fn ask(
        &self,
        target: u32,
        operation: Operation<T>,
        entry: u32,
    ) -> Result<Vec<T>, Error> {
        let world = &self.ranks.shared().world;
        if world.is_over() {
            return Err(Error::Over);
        }
        let member = self.ranks.group().at(target).ok_or(Error::Over)?;
        let context = self.ranks.shared().number();
        if let (Some(to), Some(others)) = (world.remote_scheduler(member), &world.others) {
            let value = Erased::one(operation);
            let frame = Frame::Access {
                context,
                member,
                entry,
                value,
            };
            others.send(to, frame);
            return Ok(Vec::new());
        }
        let exposed = world.windows.borrow().get(&(context, member)).cloned();
        let exposed = exposed.ok_or_else(|| gone(target))? as Rc<dyn Any>;
        let memory = exposed
            .downcast::<WindowMemory<T>>()
            .map_err(|_| gone(target))?;
        let asker = world.asker(entry);
        let mut own = Vec::new();
        for (requester, values) in memory.perform(&operation, asker)? {
            match requester == asker && entry == NONE {
                true => own = values,
                false => world.answer(requester, Erased::one(values)),
            }
        }
        Ok(own)
    }
}

impl World {
    /// Returns the address for answers to an entry of this scheduler.
    fn asker(&self, entry: u32) -> Asker {
        Asker {
            scheduler: self.others.as_ref().map_or(0, |others| others.me()),
            entry,
        }
    }

    /// Performs an operation that another scheduler requests on memory that a rank here exposes,
    /// and sends the answers. `window` is the number of the communicator of the window and the
    /// member that exposes the memory. If the memory no longer exists, that is the answer. An error
    /// of [`Exposed::access`] fails the run.
    pub(in super::super) fn accessed(&self, window: (u32, u32), operation: Erased, asker: Asker) {
        let exposed: Option<Rc<dyn Exposed>> = self.windows.borrow().get(&window).cloned();
        let Some(exposed) = exposed else {
            self.guarded("dropped", || drop(operation));
            return self.answer_gone(asker);
        };
        let mut answers = Ok(Vec::new());
        self.guarded("read", || answers = exposed.access(operation, asker));
        match answers {
            Ok(answers) => {
                for (asker, value) in answers {
                    self.guarded("sent", || self.answer(asker, value));
                }
            }
            Err(why) => {
                if let Some(others) = &self.others {
                    others.fail(format!("access to the memory of a rank failed: {why}"));
                }
            }
        }
    }

    /// Sends an answer to the requesting entry, which may be on this scheduler. Drops the answer if
    /// no entry waits for it.
    pub(super) fn answer(&self, requester: Asker, value: Erased) {
        if requester.entry == NONE {
            return drop(value);
        }
        match &self.others {
            Some(others) if requester.scheduler != others.me() => {
                let entry = requester.entry;
                others.send(requester.scheduler, Frame::Accessed { entry, value });
            }
            _ => {
                let unwanted = self.change(|matching| matching.answered(requester.entry, value));
                drop(unwanted);
            }
        }
    }

    /// Answers that the memory no longer exists.
    pub(super) fn answer_gone(&self, requester: Asker) {
        self.answer(requester, Erased::one(()));
    }
}
