//! Creates the channels of a class, as raw ends whose type only the class knows.

use std::any::TypeId;
use std::marker::PhantomData;
use std::mem;

use super::channel::Put;
use super::connect::Free;
use super::cross::Cross;
use super::end::End;
use super::flow::Control;
use super::meter::{Counts, Formats, Meter};
use super::ports::{Input, Output};
use super::remote_input;
use super::remote_output::RemoteOutput;
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::scheduler::Scheduler;
use graphmap_executor::exec::wait_points::Registry;
use graphmap_executor::finally::Finally;
use graphmap_executor::placement::{SchedulerId, SchedulerIndex};

/// Drops the input whose raw end is `raw`.
///
/// # Safety
/// `raw` must be the raw end of an input of `T`. It must not be used again.
unsafe fn free_input<T>(raw: *mut u8) {
    // SAFETY: by the contract of this function.
    drop(Input::new(unsafe { End::<T>::from_raw(raw) }));
}

/// Drops the output whose raw end is `raw`.
///
/// # Safety
/// `raw` must be the raw end of an output of `T`. It must not be used again.
unsafe fn free_output<T>(raw: *mut u8) {
    // SAFETY: by the contract of this function.
    drop(Output::new(unsafe { End::<T>::from_raw(raw) }));
}

/// Creates the channels of a class.
pub(crate) trait Maker: Send + Sync {
    fn frees(&self) -> (Free, Free);
    /// Creates a channel with its initial tokens, and returns the raw ends of the writer and of the
    /// reader. `schedulers` are the schedulers of the writer and of the reader, which may be the
    /// same. The reading end counts bytes if `formats` has the format of the token type, except for
    /// control messages. May call user code, which makes the initial tokens.
    fn make(
        &self,
        site: Site,
        schedulers: (SchedulerIndex, SchedulerIndex),
        scheduler: &Scheduler,
        formats: Option<&Formats>,
    ) -> (*mut u8, *mut u8);
    /// Creates a channel to or from another OS process, and returns its raw end here. A writing end
    /// gets the initial tokens. Returns `None` if the type has no format in `formats`, so that it
    /// is not a payload. Also returns `None` if `scheduler` has no link to other OS processes.
    fn make_remote(
        &self,
        site: Site,
        remote_side: RemoteSide,
        scheduler: &Scheduler,
        formats: &Formats,
    ) -> Option<*mut u8>;
    /// Adds an end of a channel between schedulers to `registry`, that of the scheduler which owns
    /// the end. Has no effect for other channels.
    ///
    /// # Safety
    /// `raw` must be a raw end of a channel of this class.
    unsafe fn register(&self, raw: *mut u8, side: Side, registry: &Registry);
}

/// A channel: its number in the network, its index in the class, and its capacity.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    pub(super) number: u32,
    pub(super) n: usize,
    pub(super) capacity: u32,
}

/// The side of a channel that is in this OS process, and the scheduler of the other side, which is
/// in another OS process.
#[derive(Clone, Copy)]
pub(crate) struct RemoteSide {
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

/// Returns true for control messages of flow-controlled channels, which are not counted.
pub(super) fn is_control<T: 'static>() -> bool {
    TypeId::of::<T>() == TypeId::of::<Control>()
}

impl<T: 'static> TypedMaker<T> {
    /// Adds a meter that counts tokens to the writing end, if the run is traced and the tokens are
    /// not control messages. Otherwise returns the end unchanged.
    fn traced(&self, writer: End<T>, number: u32, scheduler: &Scheduler) -> End<T> {
        if scheduler.recorder().is_none() || is_control::<T>() {
            return writer;
        }
        let counts = Counts::of_writer(self.initial, number, scheduler.run());
        writer.metered(Meter::new(None, Some(counts)))
    }

    /// Writes the initial tokens of the n-th channel of the class. Calls user code.
    fn put_initial(&self, writer: End<T>, n: usize) {
        let Some(fill) = &self.fill else { return };
        let mut output = mem::ManuallyDrop::new(Output::new(writer));
        for token in 0..self.initial as usize {
            // The capacity suffices, because `Network::channels_filled` has checked it.
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
        schedulers: (SchedulerIndex, SchedulerIndex),
        scheduler: &Scheduler,
        formats: Option<&Formats>,
    ) -> (*mut u8, *mut u8) {
        let (writer, reader) = if schedulers.0 == schedulers.1 {
            End::<T>::here(scheduler.registry(), number, capacity)
        } else {
            End::<T>::cross(Cross::create(
                number,
                capacity,
                schedulers,
                scheduler.shared(),
            ))
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

    fn make_remote(
        &self,
        Site {
            number,
            n,
            capacity,
        }: Site,
        remote_side: RemoteSide,
        scheduler: &Scheduler,
        formats: &Formats,
    ) -> Option<*mut u8> {
        let (format, remote) = (formats.get::<T>()?, scheduler.remote()?);
        let end = match remote_side.side {
            Side::Write => {
                let output = RemoteOutput::new(
                    number,
                    remote_side.peer,
                    capacity,
                    scheduler,
                    remote,
                    format,
                );
                let end = End::remote(output);
                let unfilled = Finally(|| drop(Output::new(end)));
                self.put_initial(end, n);
                mem::forget(unfilled);
                self.traced(end, number, scheduler)
            }
            Side::Read => {
                let (end, credits) = remote_input::input(
                    number,
                    remote_side.peer,
                    capacity,
                    scheduler,
                    remote,
                    format,
                );
                let (run, counted) = (scheduler.run(), !is_control::<T>());
                let traced = counted && scheduler.recorder().is_some();
                let profiled = counted && scheduler.statistics().borrow().profiled;
                let counts = Counts::of_reader(profiled.then_some(format), traced, number, run);
                end.metered(Meter::new(Some(credits), counts))
            }
        };
        Some(end.into_raw())
    }

    unsafe fn register(&self, raw: *mut u8, side: Side, registry: &Registry) {
        // SAFETY: by the contract of this function. `raw` stays usable, because `End` is
        // `Copy` and `register` frees nothing.
        unsafe { End::<T>::from_raw(raw) }.register(registry, side);
    }
}
