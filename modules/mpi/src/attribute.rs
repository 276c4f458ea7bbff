//! Attributes: what a program keeps with a communicator, by type.

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

/// What a function of attributes returns that has not done it.
const FAILED: c_int = 1;

thread_local! {
    /// What code of the user has panicked with in a function of attributes, which C could call: it may not unwind itself. Never
    /// dropped here, as to drop it may panic; so it has no destructor, and is there as long as its thread.
    static PANICKED: Cell<Option<ManuallyDrop<Payload>>> = const { Cell::new(None) };
}

type Payload = Box<dyn Any + Send>;

/// Calls code of the user in such a function.
fn caught<T>(f: impl FnOnce() -> T) -> Option<T> {
    let keep = |payload| PANICKED.set(Some(ManuallyDrop::new(payload)));
    catch_unwind(AssertUnwindSafe(f)).map_err(keep).ok()
}

/// What code of the user has panicked with, the first of it.
#[must_use]
pub(crate) struct Panicked(Option<Payload>);

impl Panicked {
    pub(crate) const NO: Panicked = Panicked(None);

    /// What the last function of attributes has caught.
    fn take() -> Panicked {
        Panicked(PANICKED.take().map(ManuallyDrop::into_inner))
    }

    pub(crate) fn or(self, other: Panicked) -> Panicked {
        match self.0 {
            None => other,
            Some(_) => {
                other.discard();
                self
            }
        }
    }

    fn discard(self) {
        if let Err(worse) = catch_unwind(AssertUnwindSafe(|| drop(self.0))) {
            // Whoever panics when dropped is not dropped a second time.
            mem::forget(worse);
        }
    }

    /// Goes on with it, but where the stack is unwound already: a second one would end the OS process, with all its ranks.
    pub(crate) fn go_on(self) {
        match self.0 {
            Some(payload) if !thread::panicking() => resume_unwind(payload),
            _ => self.discard(),
        }
    }
}

/// A type of which a communicator can have a value.
pub trait CommAttribute
where
    Self: 'static + Sized + Clone,
{
    /// Whether a duplicate of a communicator gets a clone of the value.
    const CLONE_ON_DUP: bool = false;

    /// Drops a value.
    ///
    /// # Safety
    /// It has to be one of this type, of a box that nobody else has.
    unsafe extern "C" fn comm_delete_attr_fn(
        _comm: MPI_Comm,
        _key: c_int,
        val: *mut c_void,
        _extra_state: *mut c_void,
    ) -> c_int {
        // SAFETY: as the caller says.
        let value = unsafe { Box::from_raw(val.cast::<Self>()) };
        match caught(|| drop(value)) {
            Some(()) => MPI_SUCCESS,
            None => FAILED,
        }
    }

    /// Clones a value for a duplicate, if that is wanted, which `flag` says.
    ///
    /// # Safety
    /// `val_in` has to be a value of this type, `val_out` room for a pointer, `flag` for a number.
    unsafe extern "C" fn comm_copy_attr_fn(
        _old_comm: MPI_Comm,
        _key: c_int,
        _extra_state: *mut c_void,
        val_in: *mut c_void,
        val_out: *mut c_void,
        flag: *mut c_int,
    ) -> c_int {
        if Self::CLONE_ON_DUP {
            // SAFETY: as the caller says.
            let value = unsafe { &*val_in.cast::<Self>() };
            let Some(copy) = caught(|| Box::new(value.clone())) else {
                return FAILED;
            };
            // SAFETY: as the caller says.
            unsafe { *val_out.cast::<*mut Self>() = Box::into_raw(copy) };
        }
        // SAFETY: as the caller says.
        unsafe { *flag = c_int::from(Self::CLONE_ON_DUP) };
        MPI_SUCCESS
    }

    /// What the values of this type are found by.
    fn get_key() -> AttributeKey {
        static KEYS: OnceLock<Mutex<HashMap<TypeId, c_int>>> = OnceLock::new();
        let keys = KEYS.get_or_init(Mutex::default).lock();
        let mut keys = keys.unwrap_or_else(PoisonError::into_inner);
        let next = c_int::try_from(keys.len()).unwrap_or(c_int::MAX);
        AttributeKey(*keys.entry(TypeId::of::<Self>()).or_insert(next))
    }
}

/// What values of a type are found by.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_copy_implementations)]
pub struct AttributeKey(c_int);

impl AttributeKey {
    /// A key with this number.
    ///
    /// # Safety
    /// It has to be that of the type that it is used for.
    pub unsafe fn new_unchecked(k: i32) -> Self {
        AttributeKey(k)
    }
}

// SAFETY: a number.
unsafe impl AsRaw for AttributeKey {
    type Raw = c_int;

    fn as_raw(&self) -> c_int {
        self.0
    }
}

/// The attributes of a communicator. Values that were replaced are kept, as they may be borrowed still.
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
    /// The value of a type.
    pub(crate) fn get<A: CommAttribute>(&self) -> Option<*const A> {
        let (key, of) = (A::get_key().0, TypeId::of::<A>());
        let attributes = self.0.borrow();
        let found = attributes
            .iter()
            .rfind(|one| (one.key, one.of) == (key, of));
        found.map(|one| one.value.cast::<A>().cast_const())
    }

    /// Gives a value.
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

    /// Those for a duplicate of a communicator.
    pub(crate) fn duplicate(&self, of: MPI_Comm) -> Attributes {
        let (mut copies, mut panicked) = (Vec::new(), Panicked::NO);
        // Code of the user, which may look at attributes.
        let count = self.0.borrow().len();
        for at in 0..count {
            let (key, of_type, value, delete, copy) = match self.0.borrow().get(at) {
                Some(one) if !one.replaced => (one.key, one.of, one.value, one.delete, one.copy),
                _ => continue,
            };
            let (mut copied, mut flag) = (std::ptr::null_mut::<c_void>(), 0);
            let to = std::ptr::from_mut(&mut copied).cast();
            // SAFETY: the value is of the type that these functions are of, and is freed only when the communicator is.
            unsafe { copy(of, key, std::ptr::null_mut(), value, to, &raw mut flag) };
            panicked = panicked.or(Panicked::take());
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
            panicked.or(copies.clear(of)).go_on();
        }
        copies
    }

    /// Drops all. Nobody may have borrowed any. To drop one may panic, which keeps the others from nothing.
    pub(crate) fn clear(&self, of: MPI_Comm) -> Panicked {
        let mut panicked = Panicked::NO;
        let attributes = self.0.take();
        for one in attributes {
            // SAFETY: the value is of the type that this function is of, and nobody else has it.
            unsafe { (one.delete)(of, one.key, one.value, std::ptr::null_mut()) };
            panicked = panicked.or(Panicked::take());
        }
        panicked
    }
}
