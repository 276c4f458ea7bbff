//! What a port holds: one end of a channel, within a scheduler or between two.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::Context;

use super::channel::Channel;
use super::cross::Cross;
use super::far::FarOutput;
use super::meter::Meter;
use graphmap_executor::exec::current::waiting;
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::scheduler::Scheduler;
use graphmap_executor::exec::wait_points::Registry;
use graphmap_executor::link::spsc::Offered;
use graphmap_executor::link::waiter::{ARMED, HOOK, STOP};
use graphmap_executor::trace::Way;

/// A pointer to a channel of either make, in one word: the lowest bits say which. It may be one to a metered end, which has
/// the pointer, and that of an output one to what sends to another OS process.
/// An end that is joined to nothing has a mark too, so that one look finds the make that has to be fast.
/// What an end points to never changes while its port lives: futures have copies (`ports/borrowed.rs`).
///
/// A port is one of its very type. What is written to one that could be taken for one of shorter lives would be read as what lives
/// longer:
///
/// ```
/// # use graphmap_runtime as rt;
/// fn as_it_is(port: rt::Output<&'static str>) -> rt::Output<&'static str> { port }
/// ```
/// ```compile_fail
/// # use graphmap_runtime as rt;
/// fn for_less<'a>(port: rt::Output<&'static str>) -> rt::Output<&'a str> { port }
/// ```
pub(crate) struct End<T> {
    pointer: NonNull<u8>,
    /// Not `Send`, and invariant.
    _token: PhantomData<*mut T>,
}

/// An end with what has to be done for each token.
struct Metered<T> {
    end: End<T>,
    meter: Meter<T>,
}

pub(crate) enum Form<'a, T> {
    Here(&'a Channel<T>),
    Cross(&'a Cross<T>),
    Far(&'a FarOutput<T>),
    None,
}

const CROSS: usize = 1;
const METER: usize = 2;
const FAR: usize = 3;
/// The bits that say which.
const MARK: usize = 3;
/// Points to nothing: marked, and at no address that memory has.
const NOTHING: NonNull<u8> = NonNull::new(ptr::without_provenance_mut(CROSS)).unwrap();

fn way(side: Side) -> Way {
    match side {
        Side::Read => Way::Read,
        Side::Write => Way::Write,
    }
}

impl<T> Clone for End<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for End<T> {}

impl<T> End<T> {
    /// An end that is joined to nothing.
    pub(crate) const NONE: Self = End {
        pointer: NOTHING,
        _token: PhantomData,
    };

    /// Whether it is joined to something.
    pub(crate) fn is_some(&self) -> bool {
        self.pointer != NOTHING
    }

    /// # Safety
    /// `pointer` is not null.
    unsafe fn marked<U>(pointer: *mut U, mark: usize) -> Self {
        let pointer = pointer.map_addr(|address| address | mark).cast();
        End {
            // SAFETY: the caller's promise, and a mark takes nothing off.
            pointer: unsafe { NonNull::new_unchecked(pointer) },
            _token: PhantomData,
        }
    }

    /// What it points to, without the mark.
    fn unmarked<U>(&self) -> *mut U {
        let pointer: *mut u8 = self.pointer.as_ptr();
        pointer.map_addr(|address| address & !MARK).cast()
    }

    /// The two ends of a new channel within a scheduler: for the writer and for the reader.
    pub(crate) fn here(registry: &Registry, number: u32, capacity: u32) -> (Self, Self) {
        End::of(Channel::create(registry, number, capacity))
    }

    /// The two ends of a channel within a scheduler.
    pub(crate) fn of(channel: NonNull<Channel<T>>) -> (Self, Self) {
        let end = End {
            pointer: channel.cast(),
            _token: PhantomData,
        };
        (end, end)
    }

    /// The writing end of a channel whose reader is in another OS process.
    pub(crate) fn far(output: FarOutput<T>) -> Self {
        // SAFETY: of a Box.
        unsafe { End::marked(Box::into_raw(Box::new(output)), FAR) }
    }

    /// Frees what sends to another OS process.
    ///
    /// # Safety
    /// Once, and only for this make, which is not to be used afterwards.
    pub(crate) unsafe fn free_far(&self) {
        // SAFETY: `far` made the Box; the caller's promise.
        drop(unsafe { Box::from_raw(self.unmarked::<FarOutput<T>>()) });
    }

    #[inline(always)]
    fn mark(&self) -> usize {
        self.pointer.addr().get() & MARK
    }

    /// The two ends of a new channel between schedulers.
    pub(crate) fn cross(channel: Arc<Cross<T>>) -> (Self, Self) {
        // SAFETY: of an Arc.
        let end =
            |cross: Arc<Cross<T>>| unsafe { End::marked(Arc::into_raw(cross).cast_mut(), CROSS) };
        (end(Arc::clone(&channel)), end(channel))
    }

    /// The scheduler whose end this is takes it over.
    pub(crate) fn register(&self, registry: &Registry, side: Side)
    where
        T: Send + 'static,
    {
        let end = self.plain();
        if end.is_some() && end.mark() == CROSS {
            // The pointer that the Arc was turned into, not one to the channel alone: counts lie beside it.
            // SAFETY: the end has a count of its own, which the Arc made here does not use up.
            let channel = ManuallyDrop::new(unsafe { Arc::from_raw(end.unmarked::<Cross<T>>()) });
            channel.register(registry, side);
        }
    }

    pub(crate) fn into_raw(self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// # Safety
    /// `raw` came from [`End::into_raw`] of the same type, and this is the only use of it.
    pub(crate) unsafe fn from_raw(raw: *mut u8) -> Self {
        // SAFETY: the caller's promise: an end is never null.
        unsafe { End::marked(raw, 0) }
    }

    /// This end, with what has to be done for each token.
    pub(crate) fn metered(self, meter: Meter<T>) -> Self {
        let metered = Box::new(Metered { end: self, meter });
        // SAFETY: of a Box.
        unsafe { End::marked(Box::into_raw(metered), METER) }
    }

    #[inline(always)]
    fn as_metered(&self) -> Option<&Metered<T>> {
        if self.mark() != METER {
            return None;
        }
        // SAFETY: the mark says that it is a metered end, which the end owns.
        Some(unsafe { &*self.unmarked::<Metered<T>>() })
    }

    /// The meter, if this end has one.
    #[inline(always)]
    pub(crate) fn meter(&self) -> Option<&Meter<T>> {
        self.as_metered().map(|metered| &metered.meter)
    }

    /// The end itself, without a meter.
    #[inline(always)]
    fn plain(&self) -> Self {
        self.as_metered().map_or(*self, |metered| metered.end)
    }

    /// The end itself; its meter is freed.
    ///
    /// # Safety
    /// The end is not to be used afterwards, but for the one that is returned.
    pub(crate) unsafe fn without_meter(&self) -> Self {
        let plain = self.plain();
        if self.meter().is_some() {
            // SAFETY: `metered` made the Box; by the caller's promise it is freed once.
            drop(unsafe { Box::from_raw(self.unmarked::<Metered<T>>()) });
        }
        plain
    }

    #[inline(always)]
    pub(crate) fn form(&self) -> Form<'_, T> {
        let end = self.plain();
        match end.mark() {
            // SAFETY: an end keeps its channel alive; this kind of channel has no mark.
            0 => Form::Here(unsafe { end.pointer.cast().as_ref() }),
            _ if !end.is_some() => Form::None,
            // SAFETY: as above, with the mark taken off; a meter has no meter.
            CROSS | METER => Form::Cross(unsafe { &*end.unmarked::<Cross<T>>() }),
            // SAFETY: as above.
            _ => Form::Far(unsafe { &*end.unmarked::<FarOutput<T>>() }),
        }
    }

    /// The channel, if it is one within the scheduler and has no meter: the way that has to be fast.
    #[inline(always)]
    pub(crate) fn as_here(&self) -> Option<&Channel<T>> {
        // SAFETY: an end keeps its channel alive; this kind of channel has no mark.
        (self.mark() == 0).then(|| unsafe { self.pointer.cast().as_ref() })
    }

    /// The meter and the channel, if it is one within the scheduler that has a meter.
    #[inline(always)]
    pub(crate) fn as_metered_here(&self) -> Option<(&Meter<T>, &Channel<T>)> {
        let Metered { end, meter } = self.as_metered()?;
        Some((meter, end.as_here()?))
    }

    /// The channel, if it is one between schedulers and has no meter.
    #[inline(always)]
    pub(crate) fn between(&self) -> Option<&Cross<T>> {
        // SAFETY: as in `form`.
        (self.mark() == CROSS && self.is_some()).then(|| unsafe { &*self.unmarked() })
    }

    /// What sends to another OS process, if that is what this end does.
    #[inline(always)]
    pub(crate) fn far_output(&self) -> Option<&FarOutput<T>> {
        // SAFETY: as in `form`.
        (self.mark() == FAR).then(|| unsafe { &*self.unmarked() })
    }

    /// The channel of an end within a scheduler, which has no meter.
    pub(crate) fn channel(&self) -> NonNull<Channel<T>> {
        self.pointer.cast()
    }

    /// The [`Arc`] of a channel between schedulers.
    ///
    /// # Safety
    /// Once for each end, which is not to be used afterwards, and only for this make.
    pub(crate) unsafe fn into_cross(self) -> Arc<Cross<T>> {
        // SAFETY: the caller's promise.
        unsafe { Arc::from_raw(self.unmarked::<Cross<T>>()) }
    }

    /// Has the hook `id` woken when something changes at the other end; false: it has changed
    /// already.
    #[inline(always)]
    pub(crate) fn arm(&self, id: u32, side: Side) -> bool {
        if let Some(meter) = self.meter() {
            meter.waits(way(side));
        }
        match self.form() {
            Form::Here(channel) => {
                let waits = channel.is_unchanged(side);
                if waits {
                    channel.point().arm(side, ARMED | id);
                }
                waits
            }
            Form::Cross(channel) => waiting(|scheduler| channel.arm(scheduler, id, side)),
            Form::Far(output) => waiting(|scheduler| output.arm(scheduler, ARMED | id)),
            Form::None => false,
        }
    }

    /// Has whoever polls with `context` woken when something changes at the other end; false: it
    /// has changed already.
    pub(crate) fn wait_for_change(&self, context: &Context<'_>, side: Side) -> bool {
        if let Some(meter) = self.meter() {
            meter.waits(way(side));
        }
        waiting(|scheduler| match self.form() {
            Form::Here(channel) => {
                let point = channel.point();
                let id = scheduler.waiter(context, point.word(side), point.owner(side));
                // To clone a foreign waker is code of the user: the channel may have changed.
                let waits = channel.is_unchanged(side);
                channel.point().arm(side, ARMED | id);
                if !waits {
                    channel.point().disarm(side);
                }
                waits
            }
            Form::Cross(channel) => channel.wait_for_change(scheduler, context, side),
            Form::Far(output) => {
                scheduler.count_room_wait(output.channel());
                let id = scheduler.waiter(context, output.word(), output.owner());
                output.wait(scheduler, ARMED | id)
            }
            Form::None => false,
        })
    }

    /// Waits for the reader to leave, and for nothing else; false: it has left already.
    pub(crate) fn wait_for_stop(&self, context: &Context<'_>) -> bool {
        let word_of = |id: u32| match id & HOOK {
            0 => STOP | id,
            _ => ARMED | STOP | id,
        };
        if let Some(meter) = self.meter() {
            meter.waits(Way::Stop);
        }
        waiting(|scheduler| match self.form() {
            Form::Here(channel) => {
                let point = channel.point();
                let owner = point.owner(Side::Write);
                let id = scheduler.waiter(context, point.word(Side::Write), owner);
                let waits = !point.is_gone(Side::Read);
                point.arm(Side::Write, word_of(id));
                if !waits {
                    point.disarm(Side::Write);
                }
                waits
            }
            Form::Cross(channel) => {
                let id = scheduler.waiter(context, 0, channel.owner(Side::Write));
                !channel.arm_stop(scheduler, word_of(id))
            }
            Form::Far(output) => {
                let id = scheduler.waiter(context, output.word(), output.owner());
                output.wait(scheduler, word_of(id))
            }
            Form::None => false,
        })
    }

    /// What has become of the token that the writer left in the rendezvous slot.
    pub(crate) fn offered(&self) -> Offered {
        match self.form() {
            Form::Here(channel) if channel.refused() => Offered::Refused,
            Form::Here(channel) if channel.has_offer() => Offered::Waits,
            // SAFETY: an end stays on its thread, and the writer says that it left a token.
            Form::Cross(channel) => unsafe { channel.offered() },
            _ => Offered::Done,
        }
    }

    /// Takes the token that the writer left in the rendezvous slot back, unless the reader has it.
    pub(crate) fn take_back(&self) -> Option<T> {
        let token = match self.form() {
            Form::Here(channel) => channel.take_back(),
            // SAFETY: there is one output for a channel; it is not `Send`.
            Form::Cross(channel) => unsafe { channel.take_back() },
            Form::Far(_) | Form::None => None,
        };
        if let (Some(meter), Some(_)) = (self.meter(), &token) {
            meter.take_back();
        }
        token
    }

    /// Nobody waits at the end any more: a future was dropped.
    #[inline(always)]
    pub(crate) fn disarm(&self, side: Side) {
        match self.as_here() {
            Some(channel) => channel.point().disarm(side),
            None => self.disarm_slowly(side),
        }
    }

    #[inline(never)]
    fn disarm_slowly(&self, side: Side) {
        match self.form() {
            Form::Here(channel) => channel.point().disarm(side),
            // SAFETY: an end stays on its thread.
            Form::Cross(channel) => unsafe { channel.disarm(side) },
            Form::Far(output) => output.disarm(),
            Form::None => {}
        }
    }

    /// Whether the reader has left; `None` if the port is joined to nothing.
    pub(crate) fn is_stopped(&self) -> Option<bool> {
        match self.form() {
            Form::Here(channel) => Some(channel.point().is_gone(Side::Read)),
            Form::Cross(channel) => Some(channel.is_stopped()),
            Form::Far(output) => Some(output.is_stopped()),
            Form::None => None,
        }
    }

    /// The number of the channel, if it is one of the scheduler's run.
    pub(crate) fn number(&self, scheduler: &Scheduler) -> Option<u32> {
        match self.form() {
            Form::Here(channel) => scheduler.registry().number_of(channel.point()),
            Form::Cross(channel) => channel.number(scheduler.run()),
            Form::Far(output) => output.number(scheduler.run()),
            Form::None => None,
        }
    }
}
