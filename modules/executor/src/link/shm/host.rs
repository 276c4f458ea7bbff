//! Lanes among some OS processes of a run whose others are reached otherwise: those of one host in
//! a job on many.

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

use super::cma;
use super::control::{ControlPage, MOST};
use super::lanes::Lanes;
use super::memory::SharedMemory;
use crate::link::between::{Doorbell, Header, Link};
use crate::payload::received::ReceivedSlices;
use crate::payload::sliced::{SentValue, SlicedMessage};

/// The lanes of one OS process of a host to the others of a job there, and from them.
///
/// They are numbered on the host, from 0: the first [makes](HostLanes::create) the memory, the
/// others [join](HostLanes::join) it. Frames are those of `Link::send`, with the same promises; how
/// the run stands is no concern of these lanes but for [`HostLanes::over`]. They are used by one
/// thread.
pub struct HostLanes {
    lanes: Lanes,
    control: Arc<ControlPage>,
}

/// By which others of the host join lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invitation {
    /// The OS process that has made the memory.
    pub process: u32,
    /// The number by which it has it.
    pub file: u32,
    /// What is written there.
    pub key: u64,
}

impl HostLanes {
    /// Those of the first of OS processes that have these numbers in the run, and what the others
    /// join them by.
    ///
    /// # Errors
    /// There is no memory to be shared, or there are too many.
    pub fn create(numbers: Vec<usize>) -> io::Result<(HostLanes, Invitation)> {
        let count = numbers.len();
        if !(1..=MOST).contains(&count) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let memory = SharedMemory::new(ControlPage::size(count))?;
        let invitation = Invitation {
            process: process::id(),
            file: memory.fd().cast_unsigned(),
            // Not 0, which is what new memory has.
            key: RandomState::new().hash_one(process::id()) | 1,
        };
        let control = ControlPage::new(Arc::new(memory), 0, count, 1);
        control.begin(invitation.key, 0);
        Ok((HostLanes::new(control, numbers)?, invitation))
    }

    /// Those of the OS process with this number on the host, in the memory of the first.
    ///
    /// # Errors
    /// The memory cannot be had, is that of other lanes, or another has this number.
    pub fn join(invitation: Invitation, me: usize, numbers: Vec<usize>) -> io::Result<HostLanes> {
        let (Invitation { process, file, key }, count) = (invitation, numbers.len());
        let path = PathBuf::from(format!("/proc/{process}/fd/{file}"));
        let file = File::options().read(true).write(true).open(path)?;
        let memory = SharedMemory::inherit(file.as_raw_fd(), key)?;
        // It is the memory's.
        let _ = file.into_raw_fd();
        if me >= count || count > MOST || memory.len() != ControlPage::size(count) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let control = ControlPage::new(Arc::new(memory), me, count, 1);
        HostLanes::new(control, numbers)
    }

    fn new(mut control: ControlPage, numbers: Vec<usize>) -> io::Result<HostLanes> {
        control.of_run(numbers);
        control.unstir();
        if !control.claim() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        // As its options have it, of which those that cannot be are told elsewhere.
        let single_copy = match env::var("GRAPHMAP_SINGLE_COPY").as_deref() {
            Ok("0") => Some(false),
            Ok("1") => Some(true),
            _ => None,
        };
        if single_copy != Some(false) {
            // What has started this OS process has started the others.
            cma::permit(parent_id());
        }
        let control = Arc::new(control);
        // SAFETY: nobody else has claimed this place of the memory.
        let lanes = unsafe { Lanes::new(Arc::clone(&control), single_copy) };
        Ok(HostLanes { lanes, control })
    }

    /// How many OS processes there are on the host.
    pub fn count(&self) -> usize {
        self.control.count()
    }

    /// Says what this OS process has in common with those that it can run with. To be said before
    /// anything is sent.
    pub fn agree(&self, agreement: u64) {
        self.control.agree(agreement);
    }

    /// What another has said, if it has.
    pub fn agreement(&self, of: usize) -> u64 {
        self.control.agreement(of)
    }

    /// As `Link::send`.
    #[inline]
    pub fn send(&self, to: usize, header: Header, bytes: &[u8]) {
        self.lanes.send(to, header, bytes);
    }

    /// As `Job::send_owned`.
    #[inline]
    pub fn send_owned(&self, to: usize, header: Header, bytes: Vec<u8>) {
        self.lanes.send_now(to, header, bytes);
    }

    /// As `Job::try_send_pieces`.
    #[inline]
    pub fn try_send_pieces(&self, to: usize, header: Header, pieces: &[&[u8]]) -> bool {
        self.lanes.try_send_pieces(to, header, pieces)
    }

    /// As `Job::send_sliced`.
    pub fn send_sliced(&self, to: usize, header: Header, message: SlicedMessage) {
        self.lanes.send_sliced(to, header, message);
    }

    /// As `Job::take_sent`.
    pub fn take_sent(&self) -> Option<SentValue> {
        self.lanes.take_sent()
    }

    /// As `Job::keeps_values`.
    pub fn keeps_values(&self) -> bool {
        self.lanes.keeps_values()
    }

    /// As `Job::let_go`.
    pub fn let_go(&self) {
        self.lanes.let_go();
    }

    /// As `Job::take_slices`, of the frame that [`HostLanes::receive`] hands on.
    pub fn take_slices(&self) -> Option<ReceivedSlices> {
        self.lanes.take_slices()
    }

    /// As `Job::buffer`.
    pub fn buffer(&self) -> Vec<u8> {
        self.lanes.buffer()
    }

    /// As `Job::keep`.
    pub fn keep(&self, buffer: Vec<u8>) {
        self.lanes.keep(buffer);
    }

    /// As `Link::flush`.
    #[inline]
    pub fn flush(&self) -> bool {
        self.lanes.flush()
    }

    /// Whether something has come, what waits can be sent, or a value is to be given back, by
    /// [`HostLanes::take_sent`].
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.lanes.is_ready() || self.lanes.has_sent()
    }

    /// Hands on frames that are here as a whole, where they lie, at most so many of each: who has
    /// sent it, what it is, and what it carries. How many there were.
    ///
    /// # Errors
    /// What has come cannot be a frame.
    #[inline]
    pub fn receive(
        &self,
        most: usize,
        take: impl FnMut(usize, Header, &[u8]),
    ) -> Result<usize, String> {
        self.lanes.receive_with(most, take)
    }

    /// Waits a little, after [`HostLanes::flush`] has found no room.
    pub fn wait_for_room(&self) {
        self.lanes.wait_for_room();
    }

    /// Sleeps until another OS process of the host sends something, the doorbell is rung, or for a
    /// time. `stay` is asked whether there is something to do after all when no ring is lost any
    /// more.
    pub fn sleep(&self, stay: impl Fn() -> bool, at_most: Option<Duration>) {
        self.control.sleep(|| stay() || self.is_ready(), at_most);
    }

    /// Returns the bell that ends [`HostLanes::sleep`].
    pub fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::clone(&self.control) as Arc<dyn Doorbell>
    }

    /// The run is over, or fails: who finds that memory of this host can be read no more is to know
    /// why.
    pub fn over(&self, fails: bool) {
        match fails {
            true => self.control.fail(&[]),
            false => self.control.end(),
        }
    }

    /// Whether another can read the memory of this OS process, and would rather.
    pub fn has_access(&self, to: usize) -> bool {
        self.lanes.has_access(to)
    }

    /// Fills `to` with what is in the memory of another.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read_memory(
        &self,
        of: usize,
        address: u64,
        to: &mut [MaybeUninit<u8>],
    ) -> Result<(), String> {
        self.lanes.read_memory(of, address, to)
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
        let (first, invitation) = HostLanes::create(vec![3, 5]).unwrap();
        let second = HostLanes::join(invitation, 1, vec![3, 5]).unwrap();
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

    /// Two that answer each other, and sleep whenever they can: no ring is lost.
    #[test]
    fn a_frame_ends_the_sleep_of_its_receiver() {
        const TIMES: u32 = 20_000;
        let answer = |lanes: &HostLanes, to: usize, begins: bool| {
            let header = Header::default();
            let mut left = TIMES;
            if begins {
                lanes.send(to, header, &[]);
                assert!(lanes.flush());
            }
            while left > 0 {
                if lanes.receive(9, |_, _, _| ()).unwrap() == 0 {
                    lanes.sleep(|| false, None);
                    continue;
                }
                left -= 1;
                if left > 0 || !begins {
                    lanes.send(to, header, &[]);
                    assert!(lanes.flush());
                }
            }
        };
        let (lanes, invitation) = HostLanes::create(vec![0, 1]).unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let lanes = HostLanes::join(invitation, 1, vec![0, 1]).unwrap();
                answer(&lanes, 0, false);
            });
            answer(&lanes, 1, true);
        });
    }

    #[test]
    fn the_doorbell_ends_a_sleep() {
        let (lanes, _) = HostLanes::create(vec![0, 1]).unwrap();
        let rung = AtomicBool::new(false);
        let bell = lanes.doorbell();
        thread::scope(|scope| {
            scope.spawn(|| {
                rung.store(true, Ordering::SeqCst);
                bell.ring();
            });
            lanes.sleep(|| rung.load(Ordering::SeqCst), None);
        });
    }

    /// Who sleeps with one would keep it for as long as nothing comes, and what waits for its end,
    /// too.
    #[test]
    fn a_value_of_which_all_has_been_sent_is_to_be_given_back() {
        let (first, invitation) = HostLanes::create(vec![0, 1]).unwrap();
        let second = HostLanes::join(invitation, 1, vec![0, 1]).unwrap();
        let header = Header {
            kind: 1,
            number: 2,
            extra: 0,
        };
        // More than there is room for.
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
    fn a_place_is_taken_once_and_in_the_right_memory() {
        let (first, invitation) = HostLanes::create(vec![0, 1, 2]).unwrap();
        assert_eq!(first.count(), 3);
        let refused = |invitation, me, count| {
            let joined = HostLanes::join(invitation, me, (0..count).collect());
            joined.err().map(|error| error.kind())
        };
        let taken = Some(io::ErrorKind::AlreadyExists);
        assert_eq!(refused(invitation, 0, 3), taken);
        let second = HostLanes::join(invitation, 1, vec![0, 1, 2]).unwrap();
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
        assert!(HostLanes::create(vec![]).is_err());
        assert!(HostLanes::create(vec![0; MOST + 1]).is_err());
        drop((first, second));
    }
}
