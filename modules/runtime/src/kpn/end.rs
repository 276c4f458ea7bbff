//! One end of a channel, which a port holds. The channel is within a scheduler, between two
//! schedulers, or between two OS processes.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::Context;

use super::channel::Channel;
use super::cross::Cross;
use super::meter::Meter;
use super::remote_output::RemoteOutput;
use graphmap_executor::exec::current::waiting;
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::scheduler::Scheduler;
use graphmap_executor::exec::wait_points::Registry;
use graphmap_executor::link::spsc::Offered;
use graphmap_executor::link::waiter::{ARMED, HOOK, STOP};
use graphmap_executor::trace::Way;

/// Pointer to a channel of any kind, in one word. The lowest bits are a mark for the kind. A
/// channel within a scheduler has the mark 0, so that one comparison recognises the kind that must
/// be fast. An end without a channel therefore has another mark. The pointer may lead to a metered
/// end, which contains the pointer to the channel. An output may also point to a [`RemoteOutput`],
/// which sends to another OS process.
///
/// The target of an end never changes while its port exists, because futures have copies of the end
/// (`ports/borrowed.rs`).
///
/// The token type is invariant. If a port could be used as one of a shorter lifetime, a token of
/// that lifetime could be written, and read as one of the longer lifetime:
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
    /// Makes the end invariant, and not `Send`.
    _token: PhantomData<*mut T>,
}

/// End with a meter, which acts for each token.
struct Metered<T> {
    end: End<T>,
    meter: Meter<T>,
}

pub(crate) enum Form<'a, T> {
    Here(&'a Channel<T>),
    Cross(&'a Cross<T>),
    Remote(&'a RemoteOutput<T>),
    None,
}

const CROSS: usize = 1;
const METER: usize = 2;
const FAR: usize = 3;
/// Bits of the mark.
const MARK: usize = 3;
/// Pointer of an end without a channel: it has a mark, and no memory is at its address.
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
    /// End without a channel.
    pub(crate) const NONE: Self = End {
        pointer: NOTHING,
        _token: PhantomData,
    };

    /// Returns true if the end has a channel.
    pub(crate) fn is_some(&self) -> bool {
        self.pointer != NOTHING
    }

    /// Makes an end of a pointer, whose lowest bits it sets to the mark. With mark 0, the pointer
    /// is unchanged.
    ///
    /// # Safety
    /// `pointer` must not be null.
    unsafe fn marked<U>(pointer: *mut U, mark: usize) -> Self {
        let pointer = pointer.map_addr(|address| address | mark).cast();
        End {
            // SAFETY: `pointer` is not null, as the caller guarantees, and a mark only sets bits.
            pointer: unsafe { NonNull::new_unchecked(pointer) },
            _token: PhantomData,
        }
    }

    /// Returns the pointer without the mark.
    fn unmarked<U>(&self) -> *mut U {
        let pointer: *mut u8 = self.pointer.as_ptr();
        pointer.map_addr(|address| address & !MARK).cast()
    }

    /// Creates a channel within a scheduler. Returns its writing end and its reading end.
    pub(crate) fn here(registry: &Registry, number: u32, capacity: u32) -> (Self, Self) {
        End::of(Channel::create(registry, number, capacity))
    }

    /// Returns the writing end and the reading end of a channel within a scheduler. Both are the
    /// same pointer.
    pub(crate) fn of(channel: NonNull<Channel<T>>) -> (Self, Self) {
        let end = End {
            pointer: channel.cast(),
            _token: PhantomData,
        };
        (end, end)
    }

    /// Returns the writing end of a channel whose reader is in another OS process.
    pub(crate) fn remote(output: RemoteOutput<T>) -> Self {
        // SAFETY: the pointer comes from a Box, so it is not null.
        unsafe { End::marked(Box::into_raw(Box::new(output)), FAR) }
    }

    /// Frees the [`RemoteOutput`] of an end.
    ///
    /// # Safety
    /// The end must be of this kind. It must be freed only once, and not be used afterwards.
    pub(crate) unsafe fn free_remote(&self) {
        // SAFETY: `remote` made the Box, and the caller guarantees that it is freed only once.
        drop(unsafe { Box::from_raw(self.unmarked::<RemoteOutput<T>>()) });
    }

    #[inline(always)]
    fn mark(&self) -> usize {
        self.pointer.addr().get() & MARK
    }

    /// Returns the writing end and the reading end of a channel between schedulers.
    pub(crate) fn cross(channel: Arc<Cross<T>>) -> (Self, Self) {
        // SAFETY: the pointer comes from an Arc, so it is not null.
        let end =
            |cross: Arc<Cross<T>>| unsafe { End::marked(Arc::into_raw(cross).cast_mut(), CROSS) };
        (end(Arc::clone(&channel)), end(channel))
    }

    /// Adds an end between schedulers to the registry of its scheduler. Does nothing for an end of
    /// another kind.
    pub(crate) fn register(&self, registry: &Registry, side: Side)
    where
        T: Send + 'static,
    {
        let end = self.plain();
        if end.is_some() && end.mark() == CROSS {
            // The pointer must be the one from `Arc::into_raw`, because the counts are stored next
            // to the channel.
            // SAFETY: the end owns one count, which `ManuallyDrop` preserves.
            let channel = ManuallyDrop::new(unsafe { Arc::from_raw(end.unmarked::<Cross<T>>()) });
            channel.register(registry, side);
        }
    }

    pub(crate) fn into_raw(self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// Converts the result of [`End::into_raw`] back.
    ///
    /// # Safety
    /// `raw` must come from [`End::into_raw`] of the same type, and must not be used otherwise.
    pub(crate) unsafe fn from_raw(raw: *mut u8) -> Self {
        // SAFETY: an end is never null, and the caller guarantees that `raw` is one.
        unsafe { End::marked(raw, 0) }
    }

    /// Returns this end with a meter.
    pub(crate) fn metered(self, meter: Meter<T>) -> Self {
        let metered = Box::new(Metered { end: self, meter });
        // SAFETY: the pointer comes from a Box, so it is not null.
        unsafe { End::marked(Box::into_raw(metered), METER) }
    }

    #[inline(always)]
    fn as_metered(&self) -> Option<&Metered<T>> {
        if self.mark() != METER {
            return None;
        }
        // SAFETY: the mark says that it is a metered end, which this end owns.
        Some(unsafe { &*self.unmarked::<Metered<T>>() })
    }

    /// Returns the meter, if this end has one.
    #[inline(always)]
    pub(crate) fn meter(&self) -> Option<&Meter<T>> {
        self.as_metered().map(|metered| &metered.meter)
    }

    /// Returns the end itself, without a meter.
    #[inline(always)]
    fn plain(&self) -> Self {
        self.as_metered().map_or(*self, |metered| metered.end)
    }

    /// Frees the meter, if this end has one, and returns the end itself.
    ///
    /// # Safety
    /// Only the returned end may be used afterwards.
    pub(crate) unsafe fn without_meter(&self) -> Self {
        let plain = self.plain();
        if self.meter().is_some() {
            // SAFETY: `metered` made the Box, and the caller guarantees that it is freed only once.
            drop(unsafe { Box::from_raw(self.unmarked::<Metered<T>>()) });
        }
        plain
    }

    #[inline(always)]
    pub(crate) fn form(&self) -> Form<'_, T> {
        let end = self.plain();
        match end.mark() {
            // SAFETY: an end keeps its channel alive, and only a channel within a scheduler has no
            // mark.
            0 => Form::Here(unsafe { end.pointer.cast().as_ref() }),
            _ if !end.is_some() => Form::None,
            // SAFETY: as above, without the mark. `plain` never returns a metered end.
            CROSS | METER => Form::Cross(unsafe { &*end.unmarked::<Cross<T>>() }),
            // SAFETY: as above.
            _ => Form::Remote(unsafe { &*end.unmarked::<RemoteOutput<T>>() }),
        }
    }

    /// Returns the channel, if it is within the scheduler and has no meter. This case must be fast.
    #[inline(always)]
    pub(crate) fn as_here(&self) -> Option<&Channel<T>> {
        // SAFETY: an end keeps its channel alive, and only a channel within a scheduler has no
        // mark.
        (self.mark() == 0).then(|| unsafe { self.pointer.cast().as_ref() })
    }

    /// Returns the meter and the channel, if the channel is within the scheduler and has a meter.
    #[inline(always)]
    pub(crate) fn as_metered_here(&self) -> Option<(&Meter<T>, &Channel<T>)> {
        let Metered { end, meter } = self.as_metered()?;
        Some((meter, end.as_here()?))
    }

    /// Returns the channel, if it is between schedulers and has no meter.
    #[inline(always)]
    pub(crate) fn between(&self) -> Option<&Cross<T>> {
        // SAFETY: as in `form`.
        (self.mark() == CROSS && self.is_some()).then(|| unsafe { &*self.unmarked() })
    }

    /// Returns the sender to another OS process, if this end has one and no meter.
    #[inline(always)]
    pub(crate) fn remote_output(&self) -> Option<&RemoteOutput<T>> {
        // SAFETY: as in `form`.
        (self.mark() == FAR).then(|| unsafe { &*self.unmarked() })
    }

    /// Returns the channel of an end within a scheduler. The end must not have a meter.
    pub(crate) fn channel(&self) -> NonNull<Channel<T>> {
        self.pointer.cast()
    }

    /// Returns the [`Arc`] of a channel between schedulers.
    ///
    /// # Safety
    /// The end must be of this kind. It must be converted only once, and not be used afterwards.
    pub(crate) unsafe fn into_cross(self) -> Arc<Cross<T>> {
        // SAFETY: guaranteed by the caller.
        unsafe { Arc::from_raw(self.unmarked::<Cross<T>>()) }
    }

    /// Arms a wait of the hook `id` for a change at the other end. Returns false, without a wait,
    /// if the other end has changed already or if there is no channel.
    ///
    /// # Panics
    /// Panics if the other end is on another scheduler or in another OS process, and this is
    /// outside of a run or in a nested run.
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
            Form::Remote(output) => waiting(|scheduler| output.arm(scheduler, ARMED | id)),
            Form::None => false,
        }
    }

    /// Registers the waker of `context` for a change at the other end: tokens or space, or its
    /// departure. Returns false if the other end has changed already, or if there is no channel.
    ///
    /// # Panics
    /// Panics outside of a run, and in a nested run if the other end is on another scheduler of the
    /// outer run.
    pub(crate) fn wait_for_change(&self, context: &Context<'_>, side: Side) -> bool {
        if let Some(meter) = self.meter() {
            meter.waits(way(side));
        }
        waiting(|scheduler| match self.form() {
            Form::Here(channel) => {
                let point = channel.point();
                let id = scheduler.waiter(context, point.word(side), point.owner(side));
                // Cloning a foreign waker runs user code, so the channel may have changed.
                let waits = channel.is_unchanged(side);
                channel.point().arm(side, ARMED | id);
                if !waits {
                    channel.point().disarm(side);
                }
                waits
            }
            Form::Cross(channel) => channel.wait_for_change(scheduler, context, side),
            Form::Remote(output) => {
                scheduler.count_room_wait(output.channel());
                let id = scheduler.waiter(context, output.word(), output.owner());
                output.wait(scheduler, ARMED | id)
            }
            Form::None => false,
        })
    }

    /// Registers the waker of `context` for the departure of the reader only. Returns false if the
    /// reader has left already, or if there is no channel.
    ///
    /// # Panics
    /// Panics outside of a run, and in a nested run if the reader is on another scheduler of the
    /// outer run.
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
            Form::Remote(output) => {
                let id = scheduler.waiter(context, output.word(), output.owner());
                output.wait(scheduler, word_of(id))
            }
            Form::None => false,
        })
    }

    /// Returns the state of the token that the writer has left in the rendezvous slot. `Waits`: the
    /// token is in that slot. `Refused`: the reader has left without it. `Done`: it counts as
    /// written. A channel without such a slot always returns `Done`.
    pub(crate) fn offered(&self) -> Offered {
        match self.form() {
            Form::Here(channel) if channel.refused() => Offered::Refused,
            Form::Here(channel) if channel.has_offer() => Offered::Waits,
            // SAFETY: an end stays on its thread, and the writer calls this only after it has left
            // a token.
            Form::Cross(channel) => unsafe { channel.offered() },
            _ => Offered::Done,
        }
    }

    /// Takes the writer's token in the rendezvous slot back. Returns `None` if the reader has it,
    /// or if the channel has no such slot.
    pub(crate) fn take_back(&self) -> Option<T> {
        let token = match self.form() {
            Form::Here(channel) => channel.take_back(),
            // SAFETY: a channel has only one output, which is not `Send`.
            Form::Cross(channel) => unsafe { channel.take_back() },
            Form::Remote(_) | Form::None => None,
        };
        if let (Some(meter), Some(_)) = (self.meter(), &token) {
            meter.take_back();
        }
        token
    }

    /// Cancels the wait at the end, if there is one, because a future was dropped.
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
            Form::Remote(output) => output.disarm(),
            Form::None => {}
        }
    }

    /// Returns whether the reader has left, or `None` if the port has no channel.
    pub(crate) fn is_stopped(&self) -> Option<bool> {
        match self.form() {
            Form::Here(channel) => Some(channel.point().is_gone(Side::Read)),
            Form::Cross(channel) => Some(channel.is_stopped()),
            Form::Remote(output) => Some(output.is_stopped()),
            Form::None => None,
        }
    }

    /// Returns the number of the channel. Returns `None` if the channel does not belong to the
    /// scheduler's run, or if there is no channel.
    pub(crate) fn number(&self, scheduler: &Scheduler) -> Option<u32> {
        match self.form() {
            Form::Here(channel) => scheduler.registry().number_of(channel.point()),
            Form::Cross(channel) => channel.number(scheduler.run()),
            Form::Remote(output) => output.number(scheduler.run()),
            Form::None => None,
        }
    }
}
