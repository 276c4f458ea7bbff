//! Attributes: values that a program attaches to a communicator, at most one of each type.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::mem::{self, ManuallyDrop};
use std::os::raw::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use crate::abi::{MPI_Comm, MPI_SUCCESS};
use crate::raw::AsRaw;

/// The traits of this module.
pub mod traits {
    pub use super::CommAttribute;
}

/// Code that an attribute function returns if it has failed.
const FAILED: c_int = 1;

thread_local! {
    /// The payload of a panic of user code in an attribute function. Attribute functions must not
    /// unwind, because they have the C ABI. The payload is never dropped with the thread, because
    /// its destructor may panic. Without a destructor, the variable is valid as long as its thread.
    static PANICKED: Cell<Option<ManuallyDrop<Payload>>> = const { Cell::new(None) };
}

type Payload = Box<dyn Any + Send>;

/// Calls user code in an attribute function, and returns its result. On a panic, stores the payload
/// for [`PanicPayload::take`] on this thread, and returns `None`.
fn caught<T>(f: impl FnOnce() -> T) -> Option<T> {
    let keep = |payload| PANICKED.set(Some(ManuallyDrop::new(payload)));
    catch_unwind(AssertUnwindSafe(f)).map_err(keep).ok()
}

/// The payload of the first panic of user code, if any.
#[must_use]
pub(crate) struct PanicPayload(Option<Payload>);

impl PanicPayload {
    pub(crate) const NO: PanicPayload = PanicPayload(None);

    /// Takes the payload that the last attribute function on this thread stored. Returns
    /// [`PanicPayload::NO`] if there is none.
    fn take() -> PanicPayload {
        PanicPayload(PANICKED.take().map(ManuallyDrop::into_inner))
    }

    /// Returns the first of two payloads, and discards the second if both exist.
    pub(crate) fn or(self, other: PanicPayload) -> PanicPayload {
        match self.0 {
            None => other,
            Some(_) => {
                other.discard();
                self
            }
        }
    }

    /// Drops the payload, and ignores a panic of its destructor.
    fn discard(self) {
        if let Err(worse) = catch_unwind(AssertUnwindSafe(|| drop(self.0))) {
            // The destructor of this payload may panic too, so it does not run.
            mem::forget(worse);
        }
    }

    /// Resumes the panic, if there is a payload. If the stack is unwinding already, drops the
    /// payload instead, because a second panic would end the OS process with all its ranks.
    pub(crate) fn resume(self) {
        match self.0 {
            Some(payload) if !thread::panicking() => resume_unwind(payload),
            _ => self.discard(),
        }
    }
}

/// A type whose values can be attached to a communicator.
pub trait CommAttribute
where
    Self: 'static + Sized + Clone,
{
    /// If true, a duplicate of a communicator gets a clone of the value.
    const CLONE_ON_DUP: bool = false;

    /// Drops a value. Returns [`MPI_SUCCESS`], or another code if its destructor panicked.
    ///
    /// # Safety
    /// `val` must point to a value of this type that was allocated by a `Box`. Its ownership passes
    /// to this function.
    unsafe extern "C" fn comm_delete_attr_fn(
        _comm: MPI_Comm,
        _key: c_int,
        val: *mut c_void,
        _extra_state: *mut c_void,
    ) -> c_int {
        // SAFETY: by the contract of this function, the pointer is an owned box of this type.
        let value = unsafe { Box::from_raw(val.cast::<Self>()) };
        match caught(|| drop(value)) {
            Some(()) => MPI_SUCCESS,
            None => FAILED,
        }
    }

    /// Writes [`CLONE_ON_DUP`](Self::CLONE_ON_DUP) to `flag`. If it is true, also clones a value
    /// for a duplicate, and writes the pointer of a `Box` of the clone to `val_out`. Returns
    /// [`MPI_SUCCESS`], or another code if the clone panicked. Then nothing is written.
    ///
    /// # Safety
    /// `val_in` must point to a value of this type. `val_out` must be valid for writing a pointer,
    /// and `flag` for writing a `c_int`.
    unsafe extern "C" fn comm_copy_attr_fn(
        _old_comm: MPI_Comm,
        _key: c_int,
        _extra_state: *mut c_void,
        val_in: *mut c_void,
        val_out: *mut c_void,
        flag: *mut c_int,
    ) -> c_int {
        if Self::CLONE_ON_DUP {
            // SAFETY: by the contract of this function, `val_in` points to a value of this type.
            let value = unsafe { &*val_in.cast::<Self>() };
            let Some(copy) = caught(|| Box::new(value.clone())) else {
                return FAILED;
            };
            // SAFETY: by the contract of this function, `val_out` is valid for writing a pointer.
            unsafe { *val_out.cast::<*mut Self>() = Box::into_raw(copy) };
        }
        // SAFETY: by the contract of this function, `flag` is writable.
        unsafe { *flag = c_int::from(Self::CLONE_ON_DUP) };
        MPI_SUCCESS
    }

    /// Returns the key of this type, which no other type has. It is the same in all ranks of an OS
    /// process.
    fn get_key() -> AttributeKey {
        static KEYS: OnceLock<Mutex<HashMap<TypeId, c_int>>> = OnceLock::new();
        let keys = KEYS.get_or_init(Mutex::default).lock();
        let mut keys = keys.unwrap_or_else(PoisonError::into_inner);
        let next = c_int::try_from(keys.len()).unwrap_or(c_int::MAX);
        AttributeKey(*keys.entry(TypeId::of::<Self>()).or_insert(next))
    }
}

/// Key of a type of attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_copy_implementations)]
pub struct AttributeKey(c_int);

impl AttributeKey {
    /// Creates a key from its number.
    ///
    /// # Safety
    /// `k` must be the number of the key of the type that the key is used for.
    pub unsafe fn new_unchecked(k: i32) -> Self {
        AttributeKey(k)
    }
}

// SAFETY: the handle is a plain number, which is always valid.
unsafe impl AsRaw for AttributeKey {
    type Raw = c_int;

    fn as_raw(&self) -> c_int {
        self.0
    }
}

/// The attributes of a communicator. Replaced values are kept until the communicator is dropped,
/// because they may still be borrowed.
#[derive(Default)]
pub(crate) struct Attributes(RefCell<Vec<Attribute>>);

type Delete = unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int;
type Copy = unsafe extern "C" fn(
    MPI_Comm,
    c_int,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_int,
) -> c_int;

struct Attribute {
    key: c_int,
    of: TypeId,
    value: *mut c_void,
    delete: Delete,
    copy: Copy,
    replaced: bool,
}

impl Attributes {
    /// Returns a pointer to the value of type `A` that was set last, or `None` if there is none. It
    /// is valid until [`clear`](Self::clear) is called.
    pub(crate) fn get<A: CommAttribute>(&self) -> Option<*const A> {
        let (key, of) = (A::get_key().0, TypeId::of::<A>());
        let attributes = self.0.borrow();
        let found = attributes
            .iter()
            .rfind(|one| (one.key, one.of) == (key, of));
        found.map(|one| one.value.cast::<A>().cast_const())
    }

    /// Sets the value of a type, and marks the previous one as replaced. The previous value lives
    /// on until [`clear`](Self::clear).
    pub(crate) fn set<A: CommAttribute>(&self, value: A) {
        let value = Attribute {
            key: A::get_key().0,
            of: TypeId::of::<A>(),
            value: Box::into_raw(Box::new(value)).cast(),
            delete: A::comm_delete_attr_fn,
            copy: A::comm_copy_attr_fn,
            replaced: false,
        };
        let mut attributes = self.0.borrow_mut();
        for one in attributes
            .iter_mut()
            .filter(|one| (one.key, one.of) == (value.key, value.of))
        {
            one.replaced = true;
        }
        attributes.push(value);
    }

    /// Returns the attributes for a duplicate of a communicator `of`: clones of all values that are
    /// not replaced and whose type permits it.
    ///
    /// # Panics
    /// If a clone panics: with the payload of the first panic, after the other values were cloned
    /// and the clones dropped. If the stack is unwinding already, returns no attributes instead of
    /// panicking.
    pub(crate) fn duplicate(&self, of: MPI_Comm) -> Attributes {
        let (mut copies, mut panicked) = (Vec::new(), PanicPayload::NO);
        // No borrow is held during the copies, because they run user code, which may access
        // attributes.
        let count = self.0.borrow().len();
        for at in 0..count {
            let (key, of_type, value, delete, copy) = match self.0.borrow().get(at) {
                Some(one) if !one.replaced => (one.key, one.of, one.value, one.delete, one.copy),
                _ => continue,
            };
            let (mut copied, mut flag) = (std::ptr::null_mut::<c_void>(), 0);
            let to = std::ptr::from_mut(&mut copied).cast();
            // SAFETY: the value has the type of these functions, and is freed only with the
            // communicator. The other pointers refer to local variables.
            unsafe { copy(of, key, std::ptr::null_mut(), value, to, &raw mut flag) };
            panicked = panicked.or(PanicPayload::take());
            if flag != 0 {
                copies.push(Attribute {
                    key,
                    of: of_type,
                    value: copied,
                    delete,
                    copy,
                    replaced: false,
                });
            }
        }
        let copies = Attributes(RefCell::new(copies));
        if panicked.0.is_some() {
            panicked.or(copies.clear(of)).resume();
        }
        copies
    }

    /// Drops all values, also replaced ones. None of them may be borrowed. If a destructor panics,
    /// the others still run. Returns the payload of the first panic, or [`PanicPayload::NO`]. No
    /// attributes are left.
    pub(crate) fn clear(&self, of: MPI_Comm) -> PanicPayload {
        let mut panicked = PanicPayload::NO;
        let attributes = self.0.take();
        for one in attributes {
            // SAFETY: the value has the type of this function, and is owned, because it was taken
            // from the list.
            unsafe { (one.delete)(of, one.key, one.value, std::ptr::null_mut()) };
            panicked = panicked.or(PanicPayload::take());
        }
        panicked
    }
}
