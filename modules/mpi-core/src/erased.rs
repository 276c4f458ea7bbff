//! Type-erased value in transit. The receiver names the type that it expects.
//!
//! A value of at most three words is stored inline, so a small message costs no allocation. The
//! same holds for a vector, whose elements are not moved. Larger values are boxed. A value from
//! another OS process stays as bytes until it is opened. This file and `receive_buffer.rs` contain
//! the `unsafe` code of this crate, except the call of `ReceiveBuffer::new` in `vectors.rs`.

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

/// Storage of an erased value: the value, or a pointer to its box.
type Room = MaybeUninit<[u64; 3]>;

/// Operations of a type.
struct Kind {
    id: fn() -> TypeId,
    name: fn() -> &'static str,
    /// Returns the number of elements of the value.
    ///
    /// # Safety
    /// The room must hold a value of the type.
    count: unsafe fn(&Room) -> usize,
    /// Returns the number of bytes of the encoded value.
    ///
    /// # Safety
    /// The same as for `count`.
    size: unsafe fn(&Room) -> usize,
    /// Appends the encoded value to the bytes.
    ///
    /// # Safety
    /// The same as for `count`.
    encode: unsafe fn(&Room, Vec<u8>) -> Vec<u8>,
    /// Decodes a value, if it has the given number of elements.
    read: fn(&[u8], usize) -> Option<Erased>,
    /// Drops the value.
    ///
    /// # Safety
    /// The same as for `count`. The value must not be used afterwards.
    drop: unsafe fn(&mut Room),
}

/// A value of some type.
pub(super) struct Erased {
    room: Room,
    kind: &'static Kind,
    /// Makes the type `!Sync`, because methods of the value can modify it, for example a `Cell` in
    /// it.
    _not_shared: PhantomData<Cell<()>>,
}

// SAFETY: every erased value is `Send`. `one` and `many` require it, `Error` is `Send`, and
// the other values are integers and bytes. `Kind` is constant.
unsafe impl Send for Erased {}

/// Returns true if values of the type are stored inline.
#[inline(always)]
const fn fits<T>() -> bool {
    size_of::<T>() <= size_of::<Room>() && align_of::<T>() <= align_of::<Room>()
}

/// Returns a pointer to the value in `room`.
///
/// # Safety
/// `room` must hold a value of type `T`.
unsafe fn value<T>(room: &Room) -> *const T {
    if fits::<T>() {
        room.as_ptr().cast()
    } else {
        // SAFETY: `room` holds a `T` that does not fit, so `wrap` has stored the pointer of a box.
        unsafe { room.as_ptr().cast::<*const T>().read() }
    }
}

/// Moves the value out of `room`.
///
/// # Safety
/// `room` must hold a value of type `T`. The value must not be used afterwards.
#[inline(always)]
unsafe fn unwrap<T>(room: &Room) -> T {
    if fits::<T>() {
        // SAFETY: `room` holds a `T`, which is read once.
        unsafe { room.as_ptr().cast::<T>().read() }
    } else {
        // SAFETY: `room` holds a `T` that does not fit, so `wrap` has stored the pointer of a box.
        // It is converted back once.
        *unsafe { Box::from_raw(room.as_ptr().cast::<*mut T>().read()) }
    }
}

/// Moves a value into a room: directly if it fits, otherwise in a box.
#[inline(always)]
fn wrap<T>(value: T) -> Room {
    let mut room = Room::uninit();
    if fits::<T>() {
        // SAFETY: size and alignment of the value fit.
        unsafe { room.as_mut_ptr().cast::<T>().write(value) };
    } else {
        let pointer: *mut T = Box::into_raw(Box::new(value));
        // SAFETY: size and alignment of a pointer fit.
        unsafe { room.as_mut_ptr().cast::<*mut T>().write(pointer) };
    }
    room
}

/// Returns the number of a type. It is the same in all OS processes of a run, which run the same
/// program. [`Packed`] has the number of `Vec<u8>`, because both have the same encoding and either
/// can be received as the other.
fn number_of(id: TypeId) -> u64 {
    let id = match id == TypeId::of::<Packed>() {
        true => TypeId::of::<Vec<u8>>(),
        false => id,
    };
    let mut mixer = Mixer::default();
    id.hash(&mut mixer);
    mixer.finish()
}

/// Returns the number of `T`, as [`number_of`].
pub(super) fn number<T: 'static>() -> u64 {
    number_of(TypeId::of::<T>())
}

/// Returns the name of a type, by its public path.
pub(super) fn name<T: 'static>() -> &'static str {
    match TypeId::of::<T>() == TypeId::of::<Packed>() {
        true => "graphmap_runtime::mpi::Packed",
        false => type_name::<T>(),
    }
}

/// Returns the number of elements of a value: the number of bytes of a [`Packed`], otherwise one.
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
        // SAFETY: by the contract of `Kind::count`, the room holds a `T`. It is not modified
        // meanwhile.
        count: |room| elements(unsafe { &*value::<T>(room) }),
        // SAFETY: by the contract of `Kind::size`, the room holds a `T`. It is not modified
        // meanwhile.
        size: |room| unsafe { (*value::<T>(room)).size() },
        // SAFETY: by the contract of `Kind::encode`, the room holds a `T`. It is not modified
        // meanwhile.
        encode: |room, bytes| Encoder::behind(bytes, unsafe { &*value::<T>(room) }),
        read: |bytes, count| {
            let value: T = Decoder::from_slice(bytes).ok()?;
            (count == elements(&value)).then(|| Erased::one(value))
        },
        // SAFETY: by the contract of `Kind::drop`, the room holds a `T` that is not used
        // afterwards.
        drop: |room| drop(unsafe { unwrap::<T>(room) }),
    };

    /// Kind of a vector, which has one element per item.
    const MANY: &'static Kind = &Kind {
        // SAFETY: by the contract of `Kind::count`, the room holds a vector. It is not modified
        // meanwhile.
        count: |room| unsafe { (*value::<Vec<T>>(room)).len() },
        read: |bytes, count| {
            let values: Vec<T> = Decoder::from_slice(bytes).ok()?;
            (values.len() == count).then(|| Erased::many(values))
        },
        ..*Of::<Vec<T>>::ONE
    };
}

/// Kind of an error instead of a value. It is never sent.
static ERROR: Kind = Kind {
    id: TypeId::of::<Error>,
    name: type_name::<Error>,
    count: |_| 0,
    size: |_| 0,
    encode: |_, bytes| bytes,
    read: |_, _| None,
    // SAFETY: by the contract of `Kind::drop`, the room holds an `Error` that is not used
    // afterwards.
    drop: |room| drop(unsafe { unwrap::<Error>(room) }),
};

/// Kind of an encoded value: the number of its type, the number of elements, and its bytes.
static WIRE: Kind = Kind {
    id: TypeId::of::<Wire>,
    name: type_name::<Wire>,
    // SAFETY: by the contract of `Kind::count`, the room holds a `Wire`.
    count: |room| unsafe { (*value::<Wire>(room)).count() },
    // SAFETY: by the contract of `Kind::size`, the room holds a `Wire`.
    size: |room| unsafe { (*value::<Wire>(room)).0.len() },
    encode: |_, bytes| bytes,
    read: |_, _| None,
    // SAFETY: by the contract of `Kind::drop`, the room holds a `Wire` that is not used afterwards.
    drop: |room| drop(unsafe { unwrap::<Wire>(room) }),
};

/// Kind of a value that is still with its sender.
static REMOTE: Kind = Kind {
    id: TypeId::of::<RemoteValue>,
    name: type_name::<RemoteValue>,
    // SAFETY: by the contract of `Kind::count`, the room holds a `RemoteValue`.
    count: |room| unsafe { (*value::<RemoteValue>(room)).count as usize },
    size: |_| 0,
    encode: |_, bytes| bytes,
    read: |_, _| None,
    drop: |_| (),
};

/// Kind of a value whose bytes are in the buffer of the receive.
static PLACED: Kind = Kind {
    id: TypeId::of::<Placed>,
    name: type_name::<Placed>,
    // SAFETY: by the contract of `Kind::count`, the room holds a `Placed`.
    count: |room| unsafe { (*value::<Placed>(room)).0 },
    size: |_| 0,
    encode: |_, bytes| bytes,
    read: |_, _| None,
    drop: |_| (),
};

/// Number of bytes in the buffer of the receive.
struct Placed(usize);

struct Wire(Vec<u8>);

/// Number of bytes before an encoded value.
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

/// Type that a receive expects. With it, an arriving value is decoded directly from the frame,
/// instead of being copied first.
#[derive(Clone, Copy)]
pub(super) struct Wanted(&'static Kind);

impl Wanted {
    /// Expects one `T`.
    #[inline(always)]
    pub(super) fn one<T: Payload + Send + 'static>() -> Self {
        Wanted(Of::<T>::ONE)
    }

    /// Expects a vector.
    #[inline(always)]
    pub(super) fn many<T: Payload + Send + 'static>() -> Self {
        Wanted(Of::<T>::MANY)
    }
}

/// Location of a value that its sender keeps until it is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RemoteValue {
    /// Scheduler of the sender.
    pub(super) scheduler: u32,
    /// Entry on that scheduler.
    pub(super) entry: u32,
    /// Number of elements.
    pub(super) count: u64,
    /// Whether the value has been requested.
    pub(super) asked: bool,
}

/// Reason why an erased value was not opened.
pub(super) enum Unopened {
    /// The value has another type.
    Other(Erased),
    /// The bytes do not encode a value of the type.
    Unreadable(DecodeError),
}

impl Erased {
    /// Creates an erased value. `room` must hold a value of the type of `kind`.
    #[inline(always)]
    fn of(room: Room, kind: &'static Kind) -> Self {
        Erased {
            room,
            kind,
            _not_shared: PhantomData,
        }
    }

    /// Creates an erased value of one value.
    #[inline(always)]
    pub(super) fn one<T: Payload + Send + 'static>(value: T) -> Self {
        Erased::of(wrap(value), Of::<T>::ONE)
    }

    /// Creates an erased value of a vector, with one element per item.
    pub(super) fn many<T: Payload + Send + 'static>(values: Vec<T>) -> Self {
        Erased::of(wrap(values), Of::<T>::MANY)
    }

    /// Creates an erased value of an error.
    pub(super) fn error(error: Error) -> Self {
        Erased::of(wrap(error), &ERROR)
    }

    /// Creates an erased value from the encoding of [`Erased::to_bytes`]. Returns `None` if there
    /// are fewer than [`HEAD`] bytes.
    pub(super) fn wire(bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() >= HEAD).then(|| Erased::of(wrap(Wire(bytes)), &WIRE))
    }

    /// Does the same as [`Erased::wire`] for borrowed bytes. Decodes the value at once if its type
    /// is `wanted`, which runs user code. If this fails or panics, the bytes are copied. Returns
    /// `None` if there are fewer than [`HEAD`] bytes.
    pub(super) fn from_frame(bytes: &[u8], wanted: Option<Wanted>) -> Option<Self> {
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
                // An error is reported when the receiver opens the erased value.
                user_code::quietly(|| opened = (kind.read)(value, word(8) as usize));
            }
            if opened.is_some() {
                return opened;
            }
        }
        Erased::wire(bytes.to_vec())
    }

    /// Creates an erased value of a value that is still with its sender.
    pub(super) fn remote(remote: RemoteValue) -> Self {
        Erased::of(wrap(remote), &REMOTE)
    }

    /// Creates an erased value of `count` bytes that are in the buffer of the receive.
    #[inline(always)]
    pub(super) fn placed(count: usize) -> Self {
        Erased::of(wrap(Placed(count)), &PLACED)
    }

    /// Returns true if this stands for bytes that are in the buffer of the receive.
    #[inline]
    pub(super) fn is_placed(&self) -> bool {
        self.is_of(&PLACED)
    }

    /// Converts a `Vec<u8>` to [`Packed`] if that is `wanted`, and a `Packed` to a vector if
    /// `Vec<u8>` is wanted. If `Packed` is wanted, bytes that are in the buffer of the receive
    /// become an empty `Packed`. Other values stay the same.
    fn into_wanted(self, wanted: TypeId) -> Erased {
        if wanted == TypeId::of::<Vec<u8>>() {
            let packed = self.exactly::<Packed>();
            packed.map_or_else(|other| other, |packed| Erased::many(Vec::from(packed)))
        } else if wanted != TypeId::of::<Packed>() {
            self
        } else if self.is_placed() {
            Erased::one(Packed::default())
        } else {
            let bytes = self.exactly::<Vec<u8>>();
            bytes.map_or_else(|other| other, |bytes| Erased::one(Packed::from(bytes)))
        }
    }

    /// Returns the value, if its type is exactly `T`. Otherwise returns the erased value.
    fn exactly<T: 'static>(self) -> Result<T, Erased> {
        if (self.kind.id)() != TypeId::of::<T>() {
            return Err(self);
        }
        // SAFETY: the room holds a value of the type whose id `kind` has. The wrapper is forgotten,
        // so the value is not used again.
        let value = unsafe { unwrap(&self.room) };
        mem::forget(self);
        Ok(value)
    }

    /// Returns true if the erased value is of `kind`, which must be a static.
    fn is_of(&self, kind: &'static Kind) -> bool {
        // A static has one address. A constant can have several.
        std::ptr::eq(self.kind, kind)
    }

    /// Returns the location of the value, if it is still with its sender.
    #[inline]
    pub(super) fn as_remote(&self) -> Option<RemoteValue> {
        // SAFETY: only `remote` creates erased values of this kind, with a `RemoteValue`.
        self.is_of(&REMOTE)
            .then(|| unsafe { *value::<RemoteValue>(&self.room) })
    }

    /// Returns the error that [`Erased::error`] stored. Drops any other value and returns `None`.
    pub(super) fn into_error(self) -> Option<Error> {
        if !self.is_of(&ERROR) {
            return None;
        }
        // SAFETY: only `error` creates erased values of this kind, with an `Error`. The wrapper is
        // forgotten.
        let error = unsafe { unwrap(&self.room) };
        mem::forget(self);
        Some(error)
    }

    /// Returns the value, if its type is `T`. Decodes the value if it is encoded, which is user
    /// code. `Vec<u8>` and [`Packed`] are converted to each other.
    ///
    /// Returns [`Unopened::Other`] with the erased value if the type differs. Returns
    /// [`Unopened::Unreadable`], and drops the bytes, if they cannot be decoded.
    pub(super) fn open<T: Payload + 'static>(self) -> Result<T, Unopened> {
        if self.is_of(&WIRE) {
            // SAFETY: only `wire` creates erased values of this kind, with a `Wire`.
            let wire = unsafe { &*value::<Wire>(&self.room) };
            if wire.number() != number::<T>() {
                return Err(Unopened::Other(self));
            }
            return Decoder::from_slice(&wire.0[HEAD..]).map_err(Unopened::Unreadable);
        }
        let wanted = self.into_wanted(TypeId::of::<T>());
        wanted.exactly().map_err(Unopened::Other)
    }

    /// Takes a value of type `T` out of `slot` without moving the wrapper. Also returns its number
    /// of elements. Returns `None` and leaves the slot unchanged if the slot is empty or the type
    /// is not exactly `T`.
    pub(super) fn open_at<T: Payload + Send + 'static>(
        slot: &mut Option<Erased>,
    ) -> Option<(T, usize)> {
        let erased = slot.as_ref()?;
        if (erased.kind.id)() != TypeId::of::<T>() {
            return None;
        }
        let count = erased.count();
        // SAFETY: the room holds a value of the type whose id `kind` has. The wrapper is forgotten
        // below.
        let value = unsafe { unwrap(&erased.room) };
        mem::forget(slot.take());
        Some((value, count))
    }

    /// Does the same as [`Erased::open_at`] for one value, but only compares the addresses of
    /// kinds. So it may return `None` although the type is `T`, which is rare. If `T` is
    /// [`Packed`], also opens bytes that are in the buffer of the receive: see
    /// [`Erased::open_placed`].
    ///
    /// Kinds of different types have different addresses, because they contain different type ids.
    /// The kind of one type can have several addresses.
    #[inline(always)]
    pub(super) fn open_here<T: Payload + Send + 'static>(
        slot: &mut Option<Erased>,
    ) -> Option<(T, usize)> {
        let erased = slot.as_ref()?;
        if !std::ptr::eq(erased.kind, Of::<T>::ONE) {
            return Erased::open_placed(slot);
        }
        // SAFETY: `kind` is that of `T`, so the room holds a `T`. The wrapper is forgotten below.
        let value: T = unsafe { unwrap(&erased.room) };
        mem::forget(slot.take());
        let count = elements(&value);
        Some((value, count))
    }

    /// Takes bytes that are in the buffer of the receive out of `slot`, if `T` is [`Packed`]. The
    /// returned value is empty, and the number is the number of bytes in the buffer. Returns `None`
    /// and leaves the slot unchanged if the slot has no such bytes or `T` is another type.
    #[inline(always)]
    fn open_placed<T: 'static>(slot: &mut Option<Erased>) -> Option<(T, usize)> {
        let placed = slot.as_ref().filter(|erased| erased.is_placed());
        let count = placed?.count();
        let none: &mut dyn Any = &mut Some(Packed::default());
        let none = none.downcast_mut::<Option<T>>()?.take()?;
        *slot = None;
        Some((none, count))
    }

    /// Returns the number of elements, as stated by the sender if the value is encoded or remote.
    /// An error has 0 elements.
    pub(super) fn count(&self) -> usize {
        // SAFETY: all constructors store a value of the type of `kind`.
        unsafe { (self.kind.count)(&self.room) }
    }

    /// Returns the number of bytes of the encoded value, without its head of [`HEAD`] bytes. Calls
    /// user code. For a value that arrived as bytes, returns the number of all these bytes. For
    /// errors, remote values and placed bytes, returns 0.
    pub(super) fn size(&self) -> usize {
        // SAFETY: all constructors store a value of the type of `kind`.
        unsafe { (self.kind.size)(&self.room) }
    }

    /// Returns the number of the type, as in [`Erased::to_bytes`]. For a value that arrived as
    /// bytes, this is not the number of its own type.
    pub(super) fn number(&self) -> u64 {
        number_of((self.kind.id)())
    }

    /// Appends the encoding of the erased value to `bytes`, and returns them: the number of its
    /// type, the number of elements, and the encoded value. Calls user code. The value must not be
    /// remote, and must not have arrived as bytes.
    pub(super) fn to_bytes(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.extend_from_slice(&self.number().to_ne_bytes());
        bytes.extend_from_slice(&(self.count() as u64).to_ne_bytes());
        // SAFETY: all constructors store a value of the type of `kind`.
        unsafe { (self.kind.encode)(&self.room, bytes) }
    }

    /// Returns the name of the type. If the value arrived as bytes, `Err` contains the number of
    /// the type instead.
    pub(super) fn type_name(&self) -> Result<&'static str, u64> {
        match self.is_of(&WIRE) {
            // SAFETY: only `wire` creates erased values of this kind, with a `Wire`.
            true => Err(unsafe { &*value::<Wire>(&self.room) }.number()),
            false => Ok((self.kind.name)()),
        }
    }
}

impl Drop for Erased {
    fn drop(&mut self) {
        // SAFETY: the room holds a value, because functions that move the value out forget the
        // wrapper.
        unsafe { (self.kind.drop)(&mut self.room) };
    }
}

impl fmt::Debug for Erased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Parcel").field(&self.type_name()).finish()
    }
}

#[cfg(test)]
mod tests;
