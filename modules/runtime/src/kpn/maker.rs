//! Making the channels of a class: ends of which only the class knows the type.

use std::any::TypeId;
use std::marker::PhantomData;
use std::mem;

use super::channel::Put;
use super::connect::Free;
use super::cross::Cross;
use super::end::End;
use super::far::FarOutput;
use super::far_input;
use super::flow::Control;
use super::meter::{Counts, Formats, Meter};
use super::ports::{Input, Output};
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::scheduler::Scheduler;
use graphmap_executor::exec::wait_points::Registry;
use graphmap_executor::finally::Finally;
use graphmap_executor::placement::{SchedulerId, SchedulerIndex};

/// # Safety
/// `raw` is the one raw end of an input of this type, and is not used again.
unsafe fn free_input<T>(raw: *mut u8) {
    // SAFETY: the caller has the one raw end, of an input of this type.
    drop(Input::new(unsafe { End::<T>::from_raw(raw) }));
}

/// # Safety
/// As [`free_input`], of an output.
unsafe fn free_output<T>(raw: *mut u8) {
    // SAFETY: as above, of an output.
    drop(Output::new(unsafe { End::<T>::from_raw(raw) }));
}

/// Makes the channels of a class.
pub(crate) trait Maker: Send + Sync {
    fn frees(&self) -> (Free, Free);
    /// The raw ends of a new channel, for the writer and for the reader. `homes` are their
    /// schedulers, and with `formats` bytes are counted.
    fn make(
        &self,
        site: Site,
        homes: (SchedulerIndex, SchedulerIndex),
        scheduler: &Scheduler,
        formats: Option<&Formats>,
    ) -> (*mut u8, *mut u8);
    /// Returns the raw end of a new channel to or from another OS process. `None` if the type is
    /// not a payload.
    fn make_far(
        &self,
        site: Site,
        far: FarSide,
        scheduler: &Scheduler,
        formats: &Formats,
    ) -> Option<*mut u8>;
    /// An end of a channel between schedulers is taken over by its own.
    ///
    /// # Safety
    /// `raw` is a raw end of a channel of this class.
    unsafe fn register(&self, raw: *mut u8, side: Side, registry: &Registry);
}

/// A channel of a class: its number in the network, its position in the class, and its capacity.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    pub(super) number: u32,
    pub(super) n: usize,
    pub(super) capacity: u32,
}

/// Which end of a channel is here, and which scheduler of another OS process has the other one.
#[derive(Clone, Copy)]
pub(crate) struct FarSide {
    pub(super) side: Side,
    pub(super) peer: SchedulerId,
}

type Fill<T> = Box<dyn Fn(usize, usize) -> T + Send + Sync>;

pub(crate) struct TypedMaker<T> {
    initial: u32,
    fill: Option<Fill<T>>,
    _token: PhantomData<fn() -> T>,
}

impl<T> TypedMaker<T> {
    pub(crate) fn empty() -> Self {
        TypedMaker {
            initial: 0,
            fill: None,
            _token: PhantomData,
        }
    }

    pub(crate) fn filled(initial: u32, fill: Fill<T>) -> Self {
        TypedMaker {
            initial,
            fill: Some(fill),
            _token: PhantomData,
        }
    }
}

/// Whether a type is what the ends of flow-controlled channels tell each other, which is not counted.
pub(super) fn is_control<T: 'static>() -> bool {
    TypeId::of::<T>() == TypeId::of::<Control>()
}

impl<T: 'static> TypedMaker<T> {
    /// The writing end, which counts what is written where the run is traced.
    fn traced(&self, writer: End<T>, number: u32, scheduler: &Scheduler) -> End<T> {
        if scheduler.recorder().is_none() || is_control::<T>() {
            return writer;
        }
        let counts = Counts::of_writer(self.initial, number, scheduler.run());
        writer.metered(Meter::new(None, Some(counts)))
    }

    /// Puts in what the n-th channel of the class holds at the start: code of the user.
    fn put_initial(&self, writer: End<T>, n: usize) {
        let Some(fill) = &self.fill else { return };
        let mut output = mem::ManuallyDrop::new(Output::new(writer));
        for token in 0..self.initial as usize {
            // The capacity is enough: `Network::channels_filled` has seen to that.
            if let Put::Full(_) | Put::Stopped(_) = output.put(fill(n, token)) {
                break;
            }
        }
    }
}

impl<T: Send + 'static> Maker for TypedMaker<T> {
    fn frees(&self) -> (Free, Free) {
        (free_output::<T>, free_input::<T>)
    }

    fn make(
        &self,
        Site {
            number,
            n,
            capacity,
        }: Site,
        homes: (SchedulerIndex, SchedulerIndex),
        scheduler: &Scheduler,
        formats: Option<&Formats>,
    ) -> (*mut u8, *mut u8) {
        let (writer, reader) = if homes.0 == homes.1 {
            End::<T>::here(scheduler.registry(), number, capacity)
        } else {
            End::<T>::cross(Cross::create(number, capacity, homes, scheduler.shared()))
        };
        let unfilled = Finally(|| drop((Output::new(writer), Input::new(reader))));
        self.put_initial(writer, n);
        mem::forget(unfilled);
        let (run, counted) = (scheduler.run(), !is_control::<T>());
        let traced = counted && scheduler.recorder().is_some();
        let format = formats.filter(|_| counted).and_then(Formats::get::<T>);
        let reader = match Counts::of_reader(format, traced, number, run) {
            None => reader,
            counts => reader.metered(Meter::new(None, counts)),
        };
        let writer = self.traced(writer, number, scheduler);
        (writer.into_raw(), reader.into_raw())
    }

    fn make_far(
        &self,
        Site {
            number,
            n,
            capacity,
        }: Site,
        far: FarSide,
        scheduler: &Scheduler,
        formats: &Formats,
    ) -> Option<*mut u8> {
        let (format, outside) = (formats.get::<T>()?, scheduler.outside()?);
        let end = match far.side {
            Side::Write => {
                let output = FarOutput::new(number, far.peer, capacity, scheduler, outside, format);
                let end = End::far(output);
                let unfilled = Finally(|| drop(Output::new(end)));
                self.put_initial(end, n);
                mem::forget(unfilled);
                self.traced(end, number, scheduler)
            }
            Side::Read => {
                let (end, credits) =
                    far_input::input(number, far.peer, capacity, scheduler, outside, format);
                let (run, counted) = (scheduler.run(), !is_control::<T>());
                let traced = counted && scheduler.recorder().is_some();
                let profiled = counted && scheduler.tally().borrow().profiled;
                let counts = Counts::of_reader(profiled.then_some(format), traced, number, run);
                end.metered(Meter::new(Some(credits), counts))
            }
        };
        Some(end.into_raw())
    }

    unsafe fn register(&self, raw: *mut u8, side: Side, registry: &Registry) {
        // SAFETY: the caller's promise; the end goes on being what `raw` is.
        unsafe { End::<T>::from_raw(raw) }.register(registry, side);
    }
}
