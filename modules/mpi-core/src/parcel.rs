//! A value on its way, of whatever type: the receiver says which it wants.
//!
//! Values of at most three words lie in the parcel itself, so a small message costs no allocation, and neither does a
//! vector, whose elements stay where they are. Larger ones are in a box. What has come from another OS process is there as
//! bytes, until it is opened. The `unsafe` code of the floor is here and in `receive_buffer.rs`, but for who promises what that asks for.

use std::any::{Any, TypeId, type_name};
use std::cell::Cell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};

use super::envelope::Mixer;
use super::error::Error;
use super::packed::Packed;
use graphmap_executor::exec::user_code;
use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};

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
    /// How many bytes the value in a room is.
    ///
    /// # Safety
    /// As for `count`.
    size: unsafe fn(&Room) -> usize,
    /// Puts the bytes of the value in a room behind others.
    ///
    /// # Safety
    /// As for `count`.
    encode: unsafe fn(&Room, Vec<u8>) -> Vec<u8>,
    /// The value of such bytes, if it is so many elements.
    read: fn(&[u8], usize) -> Option<Parcel>,
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
    /// One thread at a time: what its value says of itself may change it, as of one with a `Cell`.
    _not_shared: PhantomData<Cell<()>>,
}

// SAFETY: every value that is put in may go to another thread: `one`, `many` and `error` ask for that, and the others
// are numbers and bytes. What is known of its type is constant.
unsafe impl Send for Parcel {}

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

/// The number of a type, the same in all OS processes of a run, which run the same program. What was packed has that of a vector of bytes: its
/// bytes are the same, and so it may be received as one.
fn number_of(id: TypeId) -> u64 {
    let id = match id == TypeId::of::<Packed>() {
        true => TypeId::of::<Vec<u8>>(),
        false => id,
    };
    let mut mixer = Mixer::default();
    id.hash(&mut mixer);
    mixer.finish()
}

/// As [`number_of`], of a type.
pub(super) fn number<T: 'static>() -> u64 {
    number_of(TypeId::of::<T>())
}

/// The name of a type, as programs know it.
pub(super) fn name<T: 'static>() -> &'static str {
    match TypeId::of::<T>() == TypeId::of::<Packed>() {
        true => "graphmap_runtime::mpi::Packed",
        false => type_name::<T>(),
    }
}

/// How many elements a value is said to be: one, but what was packed is as many as it has bytes.
#[inline(always)]
fn elements<T: 'static>(value: &T) -> usize {
    let packed = (value as &dyn Any).downcast_ref::<Packed>();
    packed.map_or(1, |packed| packed.len())
}

struct Of<T>(T);

impl<T: Payload + Send + 'static> Of<T> {
    const ONE: &'static Kind = &Kind {
        id: TypeId::of::<T>,
        name: name::<T>,
        // SAFETY: what `Kind::count` asks for: a value is there, which nobody changes.
        count: |room| elements(unsafe { &*value::<T>(room) }),
        // SAFETY: what `Kind::size` asks for: a value is there, which nobody changes.
        size: |room| unsafe { (*value::<T>(room)).size() },
        // SAFETY: what `Kind::encode` asks for.
        encode: |room, bytes| Encoder::behind(bytes, unsafe { &*value::<T>(room) }),
        read: |bytes, count| {
            let value: T = Decoder::from_slice(bytes).ok()?;
            (count == elements(&value)).then(|| Parcel::one(value))
        },
        // SAFETY: what `Kind::drop` asks for.
        drop: |room| drop(unsafe { unwrap::<T>(room) }),
    };

    /// Of a vector of them: as many as there are.
    const MANY: &'static Kind = &Kind {
        // SAFETY: what `Kind::count` asks for: a vector is there, which nobody changes.
        count: |room| unsafe { (*value::<Vec<T>>(room)).len() },
        read: |bytes, count| {
            let values: Vec<T> = Decoder::from_slice(bytes).ok()?;
            (values.len() == count).then(|| Parcel::many(values))
        },
        ..*Of::<Vec<T>>::ONE
    };
}

/// An error in place of a value: it goes nowhere.
static ERROR: Kind = Kind {
    id: TypeId::of::<Error>,
    name: type_name::<Error>,
    count: |_| 0,
    size: |_| 0,
    encode: |_, bytes| bytes,
    read: |_, _| None,
    // SAFETY: what `Kind::drop` asks for.
    drop: |room| drop(unsafe { unwrap::<Error>(room) }),
};

/// The bytes of a value: the number of its type, how many elements it is, the value.
static WIRE: Kind = Kind {
    id: TypeId::of::<Wire>,
    name: type_name::<Wire>,
    // SAFETY: what `Kind::count` asks for.
    count: |room| unsafe { (*value::<Wire>(room)).count() },
    // SAFETY: what `Kind::size` asks for.
    size: |room| unsafe { (*value::<Wire>(room)).0.len() },
    encode: |_, bytes| bytes,
    read: |_, _| None,
    // SAFETY: what `Kind::drop` asks for.
    drop: |room| drop(unsafe { unwrap::<Wire>(room) }),
};

/// A value that is still with its sender.
static FAR: Kind = Kind {
    id: TypeId::of::<Far>,
    name: type_name::<Far>,
    // SAFETY: what `Kind::count` asks for.
    count: |room| unsafe { (*value::<Far>(room)).count as usize },
    size: |_| 0,
    encode: |_, bytes| bytes,
    read: |_, _| None,
    drop: |_| (),
};

/// How many bytes have been put in the buffer of the receive that has the parcel.
static PLACED: Kind = Kind {
    id: TypeId::of::<Placed>,
    name: type_name::<Placed>,
    // SAFETY: what `Kind::count` asks for.
    count: |room| unsafe { (*value::<Placed>(room)).0 },
    size: |_| 0,
    encode: |_, bytes| bytes,
    read: |_, _| None,
    drop: |_| (),
};

struct Placed(usize);

struct Wire(Vec<u8>);

/// How many bytes come before a value.
pub(super) const HEAD: usize = 16;

impl Wire {
    fn word(&self, at: usize) -> u64 {
        let word = self.0.get(at..).and_then(|rest| rest.first_chunk());
        word.map_or(0, |&word| u64::from_ne_bytes(word))
    }

    fn number(&self) -> u64 {
        self.word(0)
    }

    fn count(&self) -> usize {
        self.word(8) as usize
    }
}

/// What a receive waits for: so what comes as bytes is read where it lies, instead of being copied for when it is opened.
#[derive(Clone, Copy)]
pub(super) struct Wanted(&'static Kind);

impl Wanted {
    /// A value.
    #[inline(always)]
    pub(super) fn one<T: Payload + Send + 'static>() -> Self {
        Wanted(Of::<T>::ONE)
    }

    /// Many.
    #[inline(always)]
    pub(super) fn many<T: Payload + Send + 'static>() -> Self {
        Wanted(Of::<T>::MANY)
    }
}

/// Where a value is that its sender keeps until it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Far {
    /// The sender's scheduler.
    pub(super) scheduler: u32,
    /// Its entry there.
    pub(super) entry: u32,
    /// How many elements it is.
    pub(super) count: u64,
    /// It has been asked for.
    pub(super) asked: bool,
}

/// Why a parcel has not been opened.
pub(super) enum Unopened {
    /// The value is of another type.
    Other(Parcel),
    /// Its bytes are not those of a value.
    Unreadable(DecodeError),
}

impl Parcel {
    /// What is in the room is a value of that kind.
    #[inline(always)]
    fn of(room: Room, kind: &'static Kind) -> Self {
        Parcel {
            room,
            kind,
            _not_shared: PhantomData,
        }
    }

    /// One value.
    #[inline(always)]
    pub(super) fn one<T: Payload + Send + 'static>(value: T) -> Self {
        Parcel::of(wrap(value), Of::<T>::ONE)
    }

    /// As many values as the vector has.
    pub(super) fn many<T: Payload + Send + 'static>(values: Vec<T>) -> Self {
        Parcel::of(wrap(values), Of::<T>::MANY)
    }

    /// An error.
    pub(super) fn error(error: Error) -> Self {
        Parcel::of(wrap(error), &ERROR)
    }

    /// A value that has come as bytes, as [`Parcel::to_bytes`] gives them; `None`: there are too few.
    pub(super) fn wire(bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() >= HEAD).then(|| Parcel::of(wrap(Wire(bytes)), &WIRE))
    }

    /// As [`Parcel::wire`], of bytes that are elsewhere. If it is wanted, it is opened already: code of the user.
    pub(super) fn come(bytes: &[u8], wanted: Option<Wanted>) -> Option<Self> {
        if let (Some(Wanted(kind)), Some((head, value))) =
            (wanted, bytes.split_first_chunk::<HEAD>())
        {
            let word = |at: usize| {
                head[at..]
                    .first_chunk()
                    .map_or(0, |&word| u64::from_ne_bytes(word))
            };
            let mut opened = None;
            if word(0) == number_of((kind.id)()) {
                // Whoever receives it is to see what is wrong.
                user_code::quietly(|| opened = (kind.read)(value, word(8) as usize));
            }
            if opened.is_some() {
                return opened;
            }
        }
        Parcel::wire(bytes.to_vec())
    }

    /// A value that is still with its sender.
    pub(super) fn far(far: Far) -> Self {
        Parcel::of(wrap(far), &FAR)
    }

    /// So many bytes, which are in the buffer of the receive that has this.
    #[inline]
    pub(super) fn placed(count: usize) -> Self {
        Parcel::of(wrap(Placed(count)), &PLACED)
    }

    /// Whether its bytes are in the buffer of the receive that has this.
    #[inline]
    pub(super) fn is_placed(&self) -> bool {
        self.is_of(&PLACED)
    }

    /// The same in the type that is wanted, where bytes have two: a vector of them, or what was packed.
    fn into_wanted(self, wanted: TypeId) -> Parcel {
        if wanted == TypeId::of::<Vec<u8>>() {
            let packed = self.exactly::<Packed>();
            packed.map_or_else(|other| other, |packed| Parcel::many(Vec::from(packed)))
        } else if wanted != TypeId::of::<Packed>() {
            self
        } else if self.is_placed() {
            Parcel::one(Packed::default())
        } else {
            let bytes = self.exactly::<Vec<u8>>();
            bytes.map_or_else(|other| other, |bytes| Parcel::one(Packed::from(bytes)))
        }
    }

    /// The value, if it is of this very type.
    fn exactly<T: 'static>(self) -> Result<T, Parcel> {
        if (self.kind.id)() != TypeId::of::<T>() {
            return Err(self);
        }
        // SAFETY: the room holds a value of the type whose id the kind has, and is forgotten.
        let value = unsafe { unwrap(&self.room) };
        mem::forget(self);
        Ok(value)
    }

    /// Whether it is of this kind, which is a static.
    fn is_of(&self, kind: &'static Kind) -> bool {
        // A static is in one place, which a constant need not be.
        std::ptr::eq(self.kind, kind)
    }

    /// Where its value is, if that is still with its sender.
    #[inline]
    pub(super) fn as_far(&self) -> Option<Far> {
        // SAFETY: only `far` makes parcels of this kind, with such a value.
        self.is_of(&FAR)
            .then(|| unsafe { *value::<Far>(&self.room) })
    }

    /// The error, if it is one.
    pub(super) fn into_error(self) -> Option<Error> {
        if !self.is_of(&ERROR) {
            return None;
        }
        // SAFETY: only `error` makes parcels of this kind, with an error; it is forgotten.
        let error = unsafe { unwrap(&self.room) };
        mem::forget(self);
        Some(error)
    }

    /// The value, if it is of this type.
    pub(super) fn open<T: Payload + 'static>(self) -> Result<T, Unopened> {
        if self.is_of(&WIRE) {
            // SAFETY: only `wire` makes parcels of this kind, with bytes.
            let wire = unsafe { &*value::<Wire>(&self.room) };
            if wire.number() != number::<T>() {
                return Err(Unopened::Other(self));
            }
            return Decoder::from_slice(&wire.0[HEAD..]).map_err(Unopened::Unreadable);
        }
        let wanted = self.into_wanted(TypeId::of::<T>());
        wanted.exactly().map_err(Unopened::Other)
    }

    /// Takes a value of this type out of where its parcel is, which need not be moved for it; and how many elements it is.
    pub(super) fn open_at<T: Payload + Send + 'static>(
        place: &mut Option<Parcel>,
    ) -> Option<(T, usize)> {
        let parcel = place.as_ref()?;
        if (parcel.kind.id)() != TypeId::of::<T>() {
            return None;
        }
        let count = parcel.count();
        // SAFETY: the room holds a value of the type, whose id the kind has; the parcel is forgotten below.
        let value = unsafe { unwrap(&parcel.room) };
        mem::forget(place.take());
        Some((value, count))
    }

    /// The same of one value, where that is known without a call of anything: nearly always. What is told of one type is never
    /// told of another, as the ids of types are in it; but the same may be told twice.
    #[inline(always)]
    pub(super) fn open_here<T: Payload + Send + 'static>(
        place: &mut Option<Parcel>,
    ) -> Option<(T, usize)> {
        let parcel = place.as_ref()?;
        if !std::ptr::eq(parcel.kind, Of::<T>::ONE) {
            return Parcel::open_placed(place);
        }
        // SAFETY: the room holds a value of the type, as its kind says; the parcel is forgotten below.
        let value: T = unsafe { unwrap(&parcel.room) };
        mem::forget(place.take());
        let count = elements(&value);
        Some((value, count))
    }

    /// The same of bytes that are in the buffer of their receive, which wants what was packed: it gets none.
    #[inline(always)]
    fn open_placed<T: 'static>(place: &mut Option<Parcel>) -> Option<(T, usize)> {
        let placed = place.as_ref().filter(|parcel| parcel.is_placed());
        let count = placed?.count();
        let none: &mut dyn Any = &mut Some(Packed::default());
        let none = none.downcast_mut::<Option<T>>()?.take()?;
        *place = None;
        Some((none, count))
    }

    /// How many elements it is.
    pub(super) fn count(&self) -> usize {
        // SAFETY: what makes parcels puts a value of the kind's type there.
        unsafe { (self.kind.count)(&self.room) }
    }

    /// How many bytes it is.
    pub(super) fn size(&self) -> usize {
        // SAFETY: as above.
        unsafe { (self.kind.size)(&self.room) }
    }

    /// The number of the type, for [`Parcel::to_bytes`].
    pub(super) fn number(&self) -> u64 {
        number_of((self.kind.id)())
    }

    /// Puts it behind other bytes.
    pub(super) fn to_bytes(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.extend_from_slice(&self.number().to_ne_bytes());
        bytes.extend_from_slice(&(self.count() as u64).to_ne_bytes());
        // SAFETY: as above.
        unsafe { (self.kind.encode)(&self.room, bytes) }
    }

    /// The name of the type; of what has come as bytes, the number of it.
    pub(super) fn type_name(&self) -> Result<&'static str, u64> {
        match self.is_of(&WIRE) {
            // SAFETY: only `wire` makes parcels of this kind, with bytes.
            true => Err(unsafe { &*value::<Wire>(&self.room) }.number()),
            false => Ok((self.kind.name)()),
        }
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
mod tests;
