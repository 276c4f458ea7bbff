//! Attributes: keys with functions that copy and delete values (MPI-5.0, section 7.7).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

use crate::abi::{Comm, Datatype};
use crate::error::{Class, Done, Fail, fail};
use crate::rank::{Part, Slot};
use crate::table::Table;

/// `MPI_KEYVAL_INVALID`.
const INVALID: c_int = 0;

/// Predefined attributes of `MPI_COMM_WORLD`, and of all communicators.
pub(crate) const PREDEFINED: std::ops::RangeInclusive<c_int> = 501..=507;
pub(crate) const KEY_TAG_UB: c_int = 501;
pub(crate) const KEY_IO: c_int = 502;
pub(crate) const KEY_HOST: c_int = 503;
pub(crate) const KEY_WTIME_IS_GLOBAL: c_int = 504;
pub(crate) const KEY_APPNUM: c_int = 505;
pub(crate) const KEY_LASTUSEDCODE: c_int = 506;
pub(crate) const KEY_UNIVERSE_SIZE: c_int = 507;

/// Kind of object that a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Comm,
    Type,
    Win,
}

type Copy =
    unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
pub(crate) type Delete = unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void) -> c_int;

/// Copy function of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Copying {
    /// Values are not copied (`MPI_COMM_NULL_COPY_FN`).
    Never,
    /// The pointer is copied (`MPI_COMM_DUP_FN`).
    Pointer,
    User(Copy),
}

impl Copying {
    /// Creates the function from the argument of the program.
    ///
    /// # Safety
    /// `function` must be a constant of the ABI or a valid function.
    pub(crate) unsafe fn new(function: usize) -> Self {
        match function {
            0 => Copying::Never,
            1 => Copying::Pointer,
            // SAFETY: guaranteed by the caller.
            _ => Copying::User(unsafe { std::mem::transmute::<usize, Copy>(function) }),
        }
    }
}

/// A key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    kind: Kind,
    copy: Copying,
    delete: Option<Delete>,
    state: *mut c_void,
    /// True if the program has freed the key.
    is_freed: bool,
    /// Number of objects that have a value with this key. A freed key is removed when it is 0.
    uses: usize,
}

/// Values of an object, in the order in which they were set.
#[derive(Debug, Default)]
pub(crate) struct Values(RefCell<Vec<(c_int, *mut c_void)>>);

impl Values {
    /// Moves the values of `from` to this object, which has none.
    pub(crate) fn take(&self, from: &Values) {
        self.0.swap(&from.0);
    }

    pub(crate) fn get(&self, key: c_int) -> Option<*mut c_void> {
        let values = self.0.borrow();
        let found = values.iter().find(|&&(other, _)| other == key);
        found.map(|&(_, value)| value)
    }

    fn remove(&self, key: c_int) -> bool {
        let mut values = self.0.borrow_mut();
        let found = values.iter().position(|&(other, _)| other == key);
        found.map(|index| values.remove(index)).is_some()
    }
}

/// Keys of a rank, and the values of its datatypes.
#[derive(Default)]
pub(crate) struct Attributes {
    keys: RefCell<Table<Key>>,
    /// Values of datatypes by handle. Ranks share predefined datatypes, but not their attributes.
    pub(crate) types: RefCell<HashMap<Datatype, Rc<Values>>>,
    /// Values of predefined attributes. Programs get their addresses.
    pub(crate) predefined: [Cell<c_int>; 7],
}

impl Part for Attributes {
    const SLOT: Slot = Slot::Attributes;
}

impl Attributes {
    pub(crate) fn create(
        &self,
        kind: Kind,
        copy: Copying,
        delete: Option<Delete>,
        state: *mut c_void,
    ) -> Done<c_int> {
        let key = Key {
            kind,
            copy,
            delete,
            state,
            is_freed: false,
            uses: 0,
        };
        let handle = self.keys.borrow_mut().add(key);
        let handle = handle.ok_or_else(|| Fail::new(Class::NoMem, "too many attribute keys"))?;
        Ok(handle as c_int)
    }

    /// Frees a key. It stays valid while objects have values with it.
    pub(crate) fn free(&self, kind: Kind, key: &mut c_int) -> Done {
        self.key(kind, *key)?;
        self.change(*key, |key| key.is_freed = true);
        *key = INVALID;
        Ok(())
    }

    pub(crate) fn key(&self, kind: Kind, key: c_int) -> Done<Key> {
        if key == INVALID {
            return fail!(Keyval, "the attribute key is MPI_KEYVAL_INVALID");
        }
        if PREDEFINED.contains(&key) || (601..=605).contains(&key) {
            return fail!(Keyval, "the attribute key {key} is predefined");
        }
        match self.keys.borrow().get(key as usize) {
            Some(&found) if found.kind == kind => Ok(found),
            Some(found) => fail!(
                Keyval,
                "the attribute key {key} is for objects of kind {:?}",
                found.kind
            ),
            None => fail!(Keyval, "the attribute key {key} does not exist"),
        }
    }

    /// Changes a key, and removes it if it is freed and not used.
    fn change(&self, key: c_int, change: impl FnOnce(&mut Key)) {
        let mut keys = self.keys.borrow_mut();
        if let Some(found) = keys.get_mut(key as usize) {
            change(found);
            if found.is_freed && found.uses == 0 {
                keys.remove(key as usize);
            }
        }
    }

    /// Sets a value of an object. Deletes the value that the object has.
    pub(crate) fn set(
        &self,
        kind: Kind,
        object: usize,
        of: &Values,
        key: c_int,
        value: *mut c_void,
    ) -> Done {
        let function = self.key(kind, key)?;
        if let Some(before) = of.get(key) {
            call_delete(&function, object, key, before)?;
        }
        self.put(of, key, value);
        Ok(())
    }

    fn put(&self, of: &Values, key: c_int, value: *mut c_void) {
        let mut values = of.0.borrow_mut();
        match values.iter_mut().find(|(other, _)| *other == key) {
            Some((_, before)) => *before = value,
            None => {
                values.push((key, value));
                self.change(key, |key| key.uses += 1);
            }
        }
    }

    /// Deletes a value of an object. Does nothing if the object has none, as other implementations.
    pub(crate) fn delete(&self, kind: Kind, object: usize, of: &Values, key: c_int) -> Done {
        let function = self.key(kind, key)?;
        let Some(value) = of.get(key) else {
            return Ok(());
        };
        call_delete(&function, object, key, value)?;
        if of.remove(key) {
            self.change(key, |key| key.uses -= 1);
        }
        Ok(())
    }

    /// Copies values to an object that has none. If a function fails, the object stays without
    /// values.
    fn copy_all(&self, kind: Kind, object: usize, from: &Values, to: &Values) -> Done {
        let values = from.0.borrow().clone();
        for (key, value) in values {
            match self.copy(kind, object, key, value) {
                Ok(Some(copy)) => self.put(to, key, copy),
                Ok(None) => {}
                Err(fail) => {
                    for (key, _) in to.0.take() {
                        self.change(key, |key| key.uses -= 1);
                    }
                    return Err(fail);
                }
            }
        }
        Ok(())
    }

    /// Returns the copy of a value, or `None` if it is not copied.
    fn copy(
        &self,
        kind: Kind,
        object: usize,
        key: c_int,
        value: *mut c_void,
    ) -> Done<Option<*mut c_void>> {
        let function = self.key(kind, key)?;
        let copy = match function.copy {
            Copying::Never => return Ok(None),
            Copying::Pointer => return Ok(Some(value)),
            Copying::User(copy) => copy,
        };
        let (mut copied, mut flag) = (std::ptr::null_mut::<c_void>(), 0);
        let out = (&raw mut copied).cast();
        // SAFETY: the program has passed a function of this type.
        let code = unsafe { copy(object, key, function.state, value, out, &mut flag) };
        match code {
            0 => Ok((flag != 0).then_some(copied)),
            _ => Err(Fail::of_code(code)),
        }
    }

    /// Deletes all values of an object, the last one first.
    fn delete_all(&self, kind: Kind, object: usize, of: &Values) -> Done {
        loop {
            let last = of.0.borrow().last().copied();
            let Some((key, _)) = last else {
                return Ok(());
            };
            self.delete(kind, object, of, key)?;
        }
    }

    /// Copies the attributes of a communicator to a duplicate.
    pub(crate) fn copy_comm(&self, from: Comm, values: &Values, to: &Values) -> Done {
        self.copy_all(Kind::Comm, from.0, values, to)
    }

    /// Deletes the attributes of a communicator.
    pub(crate) fn delete_comm(&self, comm: Comm, values: &Values) -> Done {
        self.delete_all(Kind::Comm, comm.0, values)
    }

    /// Copies the attributes of a datatype to a duplicate.
    pub(crate) fn copy_type(&self, from: Datatype, to: Datatype) -> Done {
        let Some(values) = self.values_of_type(from) else {
            return Ok(());
        };
        let copies = Values::default();
        self.copy_all(Kind::Type, from.0, &values, &copies)?;
        self.types.borrow_mut().insert(to, Rc::new(copies));
        Ok(())
    }

    /// Deletes the attributes of a datatype that is freed.
    pub(crate) fn delete_type(&self, datatype: Datatype) -> Done {
        if let Some(values) = self.values_of_type(datatype) {
            self.delete_all(Kind::Type, datatype.0, &values)?;
            self.types.borrow_mut().remove(&datatype);
        }
        Ok(())
    }

    pub(crate) fn values_of_type(&self, datatype: Datatype) -> Option<Rc<Values>> {
        self.types.borrow().get(&datatype).cloned()
    }
}

fn call_delete(key: &Key, object: usize, handle: c_int, value: *mut c_void) -> Done {
    if let Some(delete) = key.delete {
        // SAFETY: the program has passed a function of this type.
        let code = unsafe { delete(object, handle, value, key.state) };
        if code != 0 {
            return Err(Fail::of_code(code));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_key_is_valid_while_it_is_used() {
        let attributes = Attributes::default();
        let state = std::ptr::null_mut();
        let created = attributes.create(Kind::Comm, Copying::Pointer, None, state);
        let key = created.unwrap();
        let (values, copies) = (Values::default(), Values::default());
        attributes.set(Kind::Comm, 1, &values, key, state).unwrap();
        assert!(attributes.set(Kind::Type, 1, &values, key, state).is_err());
        let mut freed = key;
        attributes.free(Kind::Comm, &mut freed).unwrap();
        assert_eq!(freed, INVALID);
        attributes
            .copy_all(Kind::Comm, 1, &values, &copies)
            .unwrap();
        attributes.delete_all(Kind::Comm, 1, &values).unwrap();
        assert!(attributes.key(Kind::Comm, key).is_ok());
        attributes.delete(Kind::Comm, 2, &copies, key).unwrap();
        assert!(attributes.key(Kind::Comm, key).is_err());
    }
}
