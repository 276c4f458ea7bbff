//! Byte rings among some OS processes of a run, which reach the others by another link. These are
//! the OS processes of one host, in a job with several hosts.

use std::collections::hash_map::RandomState;
use std::env;
use std::fs::File;
use std::hash::BuildHasher;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use super::byte_rings::ByteRings;
use super::cma;
use super::control::{ControlPage, MAX_SCHEDULERS};
use super::memory::SharedMemory;
use crate::link::between::{Doorbell, Header, Link};
use crate::payload::received::ReceivedSlices;
use crate::payload::sliced::{SentValue, SlicedMessage};

/// The byte rings of one OS process to and from the others of a job on this host.
///
/// The OS processes are numbered from 0 on the host. The first one [creates](HostRings::create) the
/// memory, and the others [join](HostRings::join) it. Frames have the same guarantees as with
/// `Link::send`. The byte rings do not record the state of the run, apart from [`HostRings::over`].
/// Only one thread uses them.
pub struct HostRings {
    rings: ByteRings,
    control: Arc<ControlPage>,
}

/// The data that other OS processes of the host need to join the byte rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invitation {
    /// Process id of the OS process that has created the memory.
    pub process: u32,
    /// Its file descriptor for the memory.
    pub file: u32,
    /// The key that is written at the start of the memory.
    pub key: u64,
}

impl HostRings {
    /// Creates the byte rings of the first OS process of a host, and the invitation for the others.
    /// `numbers` contains the numbers of all these OS processes in the run. Unless
    /// `GRAPHMAP_SINGLE_COPY` is 0, permits the parent of this OS process and its descendants to
    /// read the memory of this one.
    ///
    /// # Errors
    /// No shared memory is available, or `numbers` is empty or has more than 1,024 entries.
    pub fn create(numbers: Vec<usize>) -> io::Result<(HostRings, Invitation)> {
        let count = numbers.len();
        if !(1..=MAX_SCHEDULERS).contains(&count) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let memory = SharedMemory::new(ControlPage::size(count))?;
        let invitation = Invitation {
            process: process::id(),
            file: memory.fd().cast_unsigned(),
            // Not 0, because new memory is filled with zeros.
            key: RandomState::new().hash_one(process::id()) | 1,
        };
        let control = ControlPage::new(Arc::new(memory), 0, count, 1);
        control.begin(invitation.key, 0);
        Ok((HostRings::new(control, numbers)?, invitation))
    }

    /// Joins the byte rings in the memory of the first OS process. `me` is the number of this OS
    /// process on the host. `numbers` must be the same as for [`HostRings::create`], and the
    /// permission to read memory is given in the same way.
    ///
    /// # Errors
    /// The memory cannot be opened, or belongs to other byte rings. `me` is not an index into
    /// `numbers`, or the length of `numbers` differs from that in the first OS process. Another OS
    /// process has the same number.
    pub fn join(invitation: Invitation, me: usize, numbers: Vec<usize>) -> io::Result<HostRings> {
        let (Invitation { process, file, key }, count) = (invitation, numbers.len());
        let path = PathBuf::from(format!("/proc/{process}/fd/{file}"));
        let file = File::options().read(true).write(true).open(path)?;
        let memory = SharedMemory::inherit(file.as_raw_fd(), key)?;
        // The memory owns the descriptor now.
        let _ = file.into_raw_fd();
        if me >= count || count > MAX_SCHEDULERS || memory.len() != ControlPage::size(count) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let control = ControlPage::new(Arc::new(memory), me, count, 1);
        HostRings::new(control, numbers)
    }

    fn new(mut control: ControlPage, numbers: Vec<usize>) -> io::Result<HostRings> {
        control.set_numbers(numbers);
        control.clear_activity();
        if !control.claim() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        // Invalid values of this variable are reported where the options are read.
        let single_copy = match env::var("GRAPHMAP_SINGLE_COPY").as_deref() {
            Ok("0") => Some(false),
            Ok("1") => Some(true),
            _ => None,
        };
        if single_copy != Some(false) {
            // The parent of this OS process has also started the others.
            cma::permit(parent_id());
        }
        let control = Arc::new(control);
        // SAFETY: this call has claimed the entry, so no other byte rings exist for this OS
        // process.
        let rings = unsafe { ByteRings::new(Arc::clone(&control), single_copy) };
        Ok(HostRings { rings, control })
    }

    /// Returns the number of OS processes on the host.
    pub fn count(&self) -> usize {
        self.control.count()
    }

    /// Sets the value that [`HostRings::agreement`] returns to the others. It must be equal for all
    /// OS processes that can run together, and must be set before anything is sent.
    pub fn agree(&self, agreement: u64) {
        self.control.agree(agreement);
    }

    /// Returns the value that OS process `of` of the host has set by [`HostRings::agree`], or 0 if
    /// it has not set one.
    ///
    /// # Panics
    /// Panics if `of` is not below 1,024.
    pub fn agreement(&self, of: usize) -> u64 {
        self.control.agreement(of)
    }

    /// Sends a frame to OS process `to` of the host now, or later when there is space or the byte
    /// rings are flushed. Frames to the same OS process arrive in the order in which they were
    /// sent. Has no effect if `to` is this OS process.
    #[inline]
    pub fn send(&self, to: usize, header: Header, bytes: &[u8]) {
        self.rings.send(to, header, bytes);
    }

    /// Sends a frame as [`HostRings::send`] does, from bytes that need not be copied. If there is
    /// space, the frame is sent at once.
    #[inline]
    pub fn send_owned(&self, to: usize, header: Header, bytes: Vec<u8>) {
        self.rings.send_now(to, header, bytes);
    }

    /// Sends a frame at once, whose payload is the concatenation of `pieces`. Returns false,
    /// without sending, if it does not fit into one frame of a byte ring, other messages wait
    /// before it, or there is no space now. Returns true without sending if `to` is this OS
    /// process.
    #[inline]
    pub fn try_send_pieces(&self, to: usize, header: Header, pieces: &[&[u8]]) -> bool {
        self.rings.try_send_pieces(to, header, pieces)
    }

    /// Sends a message to OS process `to` of the host, or queues it until there is space. Its
    /// slices are not copied. The value is kept until they are sent, and [`HostRings::take_sent`]
    /// then returns it. Drops the message if `to` is this OS process.
    pub fn send_sliced(&self, to: usize, header: Header, message: SlicedMessage) {
        self.rings.send_sliced(to, header, message);
    }

    /// Removes and returns a value of which all slices have been sent or copied. Returns `None` if
    /// there is none.
    pub fn take_sent(&self) -> Option<SentValue> {
        self.rings.take_sent()
    }

    /// Returns true if there are values that [`HostRings::take_sent`] has not returned, as
    /// `Job::keeps_values` does.
    pub fn keeps_values(&self) -> bool {
        self.rings.keeps_values()
    }

    /// Copies the messages whose slices are not completely sent. [`HostRings::take_sent`] then
    /// returns their values.
    pub fn release_values(&self) {
        self.rings.release_values();
    }

    /// Removes and returns the slices of the message that [`HostRings::receive`] passes on. Returns
    /// `None` if the message has no slices, if they have been taken, or outside of its callback.
    pub fn take_slices(&self) -> Option<ReceivedSlices> {
        self.rings.take_slices()
    }

    /// Returns a buffer for the bytes of a frame that is sent by [`HostRings::send_owned`]. The
    /// caller must clear it, because it may have contents.
    pub fn buffer(&self) -> Vec<u8> {
        self.rings.buffer()
    }

    /// Stores a buffer for reuse by [`HostRings::buffer`], in place of one that is stored. Drops it
    /// if its capacity is more than 8 MiB.
    pub fn keep(&self, buffer: Vec<u8>) {
        self.rings.keep(buffer);
    }

    /// Publishes withheld frames and sends waiting ones as far as there is space, and wakes their
    /// receivers. Returns true if none is left, and false if some wait for space.
    #[inline]
    pub fn flush(&self) -> bool {
        self.rings.flush()
    }

    /// Returns true if a frame has arrived, a waiting frame can be sent, or
    /// [`HostRings::take_sent`] has a value to return.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.rings.is_ready() || self.rings.has_sent()
    }

    /// Calls `take` with frames that have arrived completely: the number of the sender on the host,
    /// the header, and the bytes in place. A message of several frames is passed once. At most
    /// `most` frames of each sender are received. Returns the number of frames, including the parts
    /// of messages and frames of the byte rings themselves. Returns 0 if it is called from `take`.
    ///
    /// # Errors
    /// The bytes that arrived are not a valid frame or message.
    #[inline]
    pub fn receive(
        &self,
        most: usize,
        take: impl FnMut(usize, Header, &[u8]),
    ) -> Result<usize, String> {
        self.rings.receive(most, take)
    }

    /// Blocks for a short time, after [`HostRings::flush`] has found no space. Returns earlier if a
    /// frame has arrived or a waiting frame can be sent.
    pub fn wait_for_room(&self) {
        self.rings.wait_for_room();
    }

    /// Sleeps until another OS process of the host sends a frame, the doorbell is rung, the run is
    /// over, or the timeout expires. May return early if `at_most` is given. Calls `stay` when no
    /// ring can be lost any more. Does not sleep if `stay` returns true, or if
    /// [`HostRings::is_ready`] does.
    pub fn sleep(&self, stay: impl Fn() -> bool, at_most: Option<Duration>) {
        self.control.sleep(|| stay() || self.is_ready(), at_most);
    }

    /// Returns the doorbell that ends [`HostRings::sleep`].
    pub fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::clone(&self.control) as Arc<dyn Doorbell>
    }

    /// Records that the run has ended, or that it fails if `fails` is true. An OS process that can
    /// no longer read the memory of another then knows why.
    pub fn over(&self, fails: bool) {
        match fails {
            true => self.control.fail(&[]),
            false => self.control.end(),
        }
    }

    /// Returns true if OS process `to` of the host can read the memory of this one, and prefers to.
    /// The first call requests its answer and returns false. While the faster way is being
    /// measured, the first 8 calls return false. Always returns false for this OS process itself,
    /// and if `GRAPHMAP_SINGLE_COPY` is 0.
    pub fn has_access(&self, to: usize) -> bool {
        self.rings.has_access(to)
    }

    /// Fills `to` with the bytes from `address` on in the memory of OS process `of` of the host. If
    /// that fails, blocks for up to 1 s until the run fails, because the other OS process may have
    /// been lost.
    ///
    /// # Errors
    /// The memory cannot be read, or the run is over.
    pub fn read_memory(
        &self,
        of: usize,
        address: u64,
        to: &mut [MaybeUninit<u8>],
    ) -> Result<(), String> {
        self.rings.read_memory(of, address, to)
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::payload::Format;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn frames_go_each_way() {
        let (first, invitation) = HostRings::create(vec![3, 5]).unwrap();
        let second = HostRings::join(invitation, 1, vec![3, 5]).unwrap();
        first.agree(5);
        second.agree(6);
        assert_eq!((first.agreement(1), second.agreement(0)), (6, 5));
        let header = Header {
            kind: 7,
            number: 8,
            extra: 9,
        };
        for byte in 1..4 {
            first.send(1, header, &[byte]);
        }
        assert!(first.flush() && second.is_ready());
        let mut come = Vec::new();
        let count = second.receive(9, |from, header, bytes| {
            come.push((from, header, bytes.to_vec()));
        });
        assert_eq!(count.unwrap(), come.len());
        assert_eq!(come, [1, 2, 3].map(|byte| (0, header, vec![byte])));
        second.send(0, header, &[]);
        assert!(second.flush() && first.is_ready());
    }

    /// Two OS processes answer each other, and sleep whenever they can. No ring is lost.
    #[test]
    fn a_frame_ends_the_sleep_of_its_receiver() {
        const TIMES: u32 = 20_000;
        let answer = |rings: &HostRings, to: usize, begins: bool| {
            let header = Header::default();
            let mut left = TIMES;
            if begins {
                rings.send(to, header, &[]);
                assert!(rings.flush());
            }
            while left > 0 {
                if rings.receive(9, |_, _, _| ()).unwrap() == 0 {
                    rings.sleep(|| false, None);
                    continue;
                }
                left -= 1;
                if left > 0 || !begins {
                    rings.send(to, header, &[]);
                    assert!(rings.flush());
                }
            }
        };
        let (rings, invitation) = HostRings::create(vec![0, 1]).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let rings = HostRings::join(invitation, 1, vec![0, 1]).unwrap();
                answer(&rings, 0, false);
            });
            answer(&rings, 1, true);
        });
    }

    #[test]
    fn the_doorbell_ends_a_sleep() {
        let (rings, _) = HostRings::create(vec![0, 1]).unwrap();
        let rung = AtomicBool::new(false);
        let bell = rings.doorbell();
        thread::scope(|scope| {
            scope.spawn(|| {
                rung.store(true, Ordering::SeqCst);
                bell.ring();
            });
            rings.sleep(|| rung.load(Ordering::SeqCst), None);
        });
    }

    /// A scheduler that sleeps with such a value would keep it until a frame arrives. A process
    /// that waits for the end of the value would wait as long.
    #[test]
    fn a_value_is_returned_after_it_has_been_sent() {
        let (first, invitation) = HostRings::create(vec![0, 1]).unwrap();
        let second = HostRings::join(invitation, 1, vec![0, 1]).unwrap();
        let header = Header {
            kind: 1,
            number: 2,
            extra: 0,
        };
        // Larger than the byte ring.
        let value = vec![7u8; 1 << 20];
        let message = SlicedMessage::new(value, Format::new(), 5, usize::MAX).unwrap();
        first.send_sliced(1, header, message);
        let mut come = 0;
        while !first.flush() {
            assert!(first.keeps_values() && first.take_sent().is_none());
            come += second.receive(9, |_, _, _| ()).unwrap();
        }
        assert!(come > 0 && first.keeps_values() && first.is_ready());
        assert_eq!(first.take_sent().map(|(channel, _)| channel), Some(5));
        assert!(!(first.keeps_values() || first.is_ready()));
    }

    #[test]
    fn an_index_is_claimed_once_and_in_the_right_memory() {
        let (first, invitation) = HostRings::create(vec![0, 1, 2]).unwrap();
        assert_eq!(first.count(), 3);
        let refused = |invitation, me, count| {
            let joined = HostRings::join(invitation, me, (0..count).collect());
            joined.err().map(|error| error.kind())
        };
        let taken = Some(io::ErrorKind::AlreadyExists);
        assert_eq!(refused(invitation, 0, 3), taken);
        let second = HostRings::join(invitation, 1, vec![0, 1, 2]).unwrap();
        assert_eq!(refused(invitation, 1, 3), taken);
        let invalid = Some(io::ErrorKind::InvalidInput);
        assert_eq!(refused(invitation, 2, 2), invalid);
        assert_eq!(refused(invitation, 3, 3), invalid);
        let other = Invitation {
            key: invitation.key ^ 2,
            ..invitation
        };
        assert!(refused(other, 2, 3).is_some());
        let gone = Invitation {
            file: 60_000,
            ..invitation
        };
        assert!(refused(gone, 2, 3).is_some());
        assert!(HostRings::create(vec![]).is_err());
        assert!(HostRings::create(vec![0; MAX_SCHEDULERS + 1]).is_err());
        drop((first, second));
    }
}
