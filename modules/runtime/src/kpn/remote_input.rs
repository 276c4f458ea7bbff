//! The reading end of a channel from a process of another OS process.
//!
//! It is a channel within its scheduler, into which tokens are put as they arrive. Credit bounds
//! their number, so it is never full. The writing end is in `remote_output.rs`.

use std::cell::RefCell;
use std::rc::Rc;

use super::channel::{Channel, Put};
use super::credits::Credits;
use super::end::End;
use super::ports::Output;
use graphmap_executor::exec::frames::{Remote, RemoteReader};
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::scheduler::Scheduler;
use graphmap_executor::link::waiter::REMOTE;
use graphmap_executor::payload::remote::{Fetched, RemoteMemory, RemoteSlice, Remotely};
use graphmap_executor::payload::{DecodeError, Decoder, Format};
use graphmap_executor::placement::SchedulerId;

/// Capacity of a channel that is bounded by credit instead.
const UNBOUNDED: u32 = u32::MAX / 4;

/// Receiver of tokens from a writer in another OS process. It puts them into the reader's channel.
struct RemoteInput<T> {
    output: RefCell<Output<T>>,
    format: Format<T>,
    number: u32,
}

impl<T> RemoteReader for RemoteInput<T> {
    fn number(&self) -> u32 {
        self.number
    }

    fn token(&self) -> &'static str {
        std::any::type_name::<T>()
    }

    fn deliver(&self, bytes: &[u8]) -> Result<(), String> {
        self.put(Decoder::of(bytes, self.format))
    }

    fn deliver_slices(&self, bytes: &[u8], memory: &dyn RemoteMemory) -> Result<(), String> {
        let fetched = Fetched::default();
        let told: Result<(Vec<RemoteSlice>, Vec<u8>), _> = Decoder::from_slice(bytes);
        match told {
            Ok((slices, bytes)) => {
                let remotely = Remotely {
                    slices: &slices,
                    memory,
                    fetched: &fetched,
                };
                self.put(Decoder::of_remote(&bytes, remotely, self.format))
            }
            Err(error) => self.put(Err(error)),
        }
    }
}

impl<T> RemoteInput<T> {
    #[inline]
    fn put(&self, token: Result<T, DecodeError>) -> Result<(), String> {
        let token = token.map_err(|error| format!("cannot be decoded: {error}"))?;
        let put = self.output.borrow_mut().put(token);
        match put {
            Put::Done | Put::Stopped(_) => Ok(()),
            Put::Full(_) => Err("exceeds the capacity of the channel".into()),
        }
    }
}

/// Creates the reading end of a channel whose writer is on scheduler `peer` in another OS process,
/// and its pending credit. Registers the end in `remote`, which then puts the arriving tokens in.
/// `number` is the number of the channel, and `capacity` bounds the tokens by credit.
pub(crate) fn input<T: 'static>(
    number: u32,
    peer: SchedulerId,
    capacity: u32,
    scheduler: &Scheduler,
    remote: &Rc<Remote>,
    format: Format<T>,
) -> (End<T>, Credits) {
    let channel = Channel::<T>::create(scheduler.registry(), number, UNBOUNDED);
    // SAFETY: the channel is new, and both its ends are here.
    let point = unsafe { channel.as_ref() }.point();
    point.arm(Side::Write, REMOTE);
    let (writer, reader) = End::of(channel);
    let output = RefCell::new(Output::new(writer));
    let input = RemoteInput {
        output,
        format,
        number,
    };
    let index = remote.add_reader(peer, Rc::new(input));
    (reader, Credits::new(peer, index, capacity, remote))
}
