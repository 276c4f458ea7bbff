//! A value on its way, of whatever type: the receiver says which it wants.
//!
//! Values of at most three words lie in the parcel itself, so a small message costs no allocation, and neither does a
//! vector, whose elements stay where they are. Larger ones are in a box. This is the one file of the floor with
//! `unsafe` code.

use std::any::{TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};

/// What lies in a parcel: the value, or a pointer to the box that has it.
type Room = MaybeUninit<[u64; 3]>;

/// What is known of a type.
struct Kind {
    id: fn() -> TypeId,
    name: fn() -> &'static str,
    /// How many elements the value in a room is.
    ///
    /// # Safety
    /// The room holds a value of the type.
    count: unsafe fn(&Room) -> usize,
    /// Drops the value in a room.
    ///
    /// # Safety
    /// As for `count`; the value is not used again.
    drop: unsafe fn(&mut Room),
}

/// A value of some type.
pub(super) struct Parcel {
    room: Room,
    kind: &'static Kind,
    /// The value may be none that other threads may have.
    _value: PhantomData<*const ()>,
}

/// Whether values of a type lie in the room itself.
#[inline(always)]
const fn fits<T>() -> bool {
    size_of::<T>() <= size_of::<Room>() && align_of::<T>() <= align_of::<Room>()
}

/// # Safety
/// The room holds a value of the type.
unsafe fn value<T>(room: &Room) -> *const T {
    if fits::<T>() {
        room.as_ptr().cast()
    } else {
        // SAFETY: by the caller's promise `wrap` has put the pointer of a box there.
        unsafe { room.as_ptr().cast::<*const T>().read() }
    }
}

/// # Safety
/// The room holds a value of the type, which is not used again.
#[inline(always)]
unsafe fn unwrap<T>(room: &Room) -> T {
    if fits::<T>() {
        // SAFETY: the caller's promise.
        unsafe { room.as_ptr().cast::<T>().read() }
    } else {
        // SAFETY: by the caller's promise `wrap` has put the pointer of a box there, which is given back once.
        *unsafe { Box::from_raw(room.as_ptr().cast::<*mut T>().read()) }
    }
}

#[inline(always)]
fn wrap<T>(value: T) -> Room {
    let mut room = Room::uninit();
    if fits::<T>() {
        // SAFETY: the value fits in size and alignment.
        unsafe { room.as_mut_ptr().cast::<T>().write(value) };
    } else {
        let pointer: *mut T = Box::into_raw(Box::new(value));
        // SAFETY: a pointer fits.
        unsafe { room.as_mut_ptr().cast::<*mut T>().write(pointer) };
    }
    room
}

struct Of<T>(T);

impl<T: 'static> Of<T> {
    const ONE: &'static Kind = &Kind {
        id: TypeId::of::<T>,
        name: type_name::<T>,
        count: |_| 1,
        // SAFETY: what `Kind::drop` asks for.
        drop: |room| drop(unsafe { unwrap::<T>(room) }),
    };

    /// Of a vector of them: as many as there are.
    const MANY: &'static Kind = &Kind {
        id: TypeId::of::<Vec<T>>,
        name: type_name::<Vec<T>>,
        // SAFETY: what `Kind::count` asks for: a vector is there, which nobody changes.
        count: |room| unsafe { (*value::<Vec<T>>(room)).len() },
        // SAFETY: what `Kind::drop` asks for.
        drop: |room| drop(unsafe { unwrap::<Vec<T>>(room) }),
    };
}

impl Parcel {
    /// One value.
    #[inline(always)]
    pub(super) fn one<T: 'static>(value: T) -> Self {
        Parcel {
            room: wrap(value),
            kind: Of::<T>::ONE,
            _value: PhantomData,
        }
    }

    /// As many values as the vector has.
    pub(super) fn many<T: 'static>(values: Vec<T>) -> Self {
        Parcel {
            room: wrap(values),
            kind: Of::<T>::MANY,
            _value: PhantomData,
        }
    }

    /// The value, if it is of this type.
    pub(super) fn open<T: 'static>(self) -> Result<T, Parcel> {
        if (self.kind.id)() != TypeId::of::<T>() {
            return Err(self);
        }
        // SAFETY: the room holds a value of the type whose id the kind has, and is forgotten.
        let value = unsafe { unwrap(&self.room) };
        mem::forget(self);
        Ok(value)
    }

    /// Takes a value of this type out of where its parcel is, which need not be moved for it; and how many elements it is.
    #[inline(always)]
    pub(super) fn open_at<T: 'static>(place: &mut Option<Parcel>) -> Option<(T, usize)> {
        let parcel = place.as_ref()?;
        // Nearly always the same: what is told of one type is never told of another, as the ids of types are in it.
        let count = match std::ptr::eq(parcel.kind, Of::<T>::ONE) {
            true => 1,
            false if (parcel.kind.id)() == TypeId::of::<T>() => parcel.count(),
            false => return None,
        };
        // SAFETY: the room holds a value of the type, whose id the kind has; the parcel is forgotten below.
        let value = unsafe { unwrap(&parcel.room) };
        mem::forget(place.take());
        Some((value, count))
    }

    /// How many elements it is.
    pub(super) fn count(&self) -> usize {
        // SAFETY: `one` and `many` have put a value of the kind's type there.
        unsafe { (self.kind.count)(&self.room) }
    }

    /// The name of the type.
    pub(super) fn type_name(&self) -> &'static str {
        (self.kind.name)()
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        // SAFETY: the value is there, as `open` forgets the parcel that it takes it out of.
        unsafe { (self.kind.drop)(&mut self.room) };
    }
}

impl fmt::Debug for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Parcel").field(&self.type_name()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    /// What is put in comes out, whatever its size and alignment, and is dropped once.
    #[test]
    fn values_of_all_sizes() {
        #[repr(align(64))]
        #[derive(Debug, PartialEq)]
        struct Wide(u8);
        let counted = Rc::new(());
        assert_eq!(Parcel::one(7u8).open::<u8>().unwrap(), 7);
        assert_eq!(Parcel::one([1u64; 3]).open::<[u64; 3]>().unwrap(), [1; 3]);
        assert_eq!(Parcel::one([1u64; 9]).open::<[u64; 9]>().unwrap(), [1; 9]);
        assert_eq!(Parcel::one(Wide(3)).open::<Wide>().unwrap(), Wide(3));
        Parcel::one(()).open::<()>().unwrap();
        drop(Parcel::one((Rc::clone(&counted), [0u64; 4])));
        drop(Parcel::many(vec![Rc::clone(&counted); 5]));
        let kept = Parcel::one(Rc::clone(&counted)).open::<Rc<()>>().unwrap();
        assert_eq!(Rc::strong_count(&counted), 2);
        drop(kept);
    }

    #[test]
    fn another_type_is_refused_and_nothing_lost() {
        let parcel = Parcel::many(vec![1u16, 2, 3]);
        assert_eq!(
            (parcel.count(), parcel.type_name()),
            (3, "alloc::vec::Vec<u16>")
        );
        let parcel = parcel.open::<Vec<i16>>().unwrap_err();
        assert_eq!(parcel.open::<Vec<u16>>().unwrap(), [1, 2, 3]);
    }
}
