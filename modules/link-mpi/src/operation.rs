//! What MPI is doing, and the bytes that it does it with.
//!
//! Buffers belong to the operations that use them, so safe code cannot touch one that MPI has. All is done on the thread that began
//! MPI: an [`Operation`] is not `Send`.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::time::{Duration, Instant};

use graphmap_runtime::between::{SliceMemory, SlicedMessage};

use mpi_sys as ffi;

use crate::calls::inside;

/// Most bytes of a message: what a count of MPI has room for, and some way below.
pub(crate) const MOST: usize = 1 << 30;

/// The bytes that MPI does something with.
pub(crate) enum Memory {
    Bytes(Vec<u8>),
    /// One of the slices of a message.
    Slice(Rc<SlicedMessage>, usize),
    /// Where one is received.
    Room(SliceMemory),
}

impl Memory {
    /// What is sent.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Memory::Bytes(bytes) => bytes,
            Memory::Slice(message, at) => message.slice(*at).0,
            Memory::Room(_) => &[],
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes().len()
    }

    pub(crate) fn is_slice(&self) -> bool {
        matches!(self, Memory::Slice(..))
    }

    /// Room for so many bytes, in place of what is there.
    pub(crate) fn room(&mut self, len: usize) -> &mut [MaybeUninit<u8>] {
        if let Memory::Slice(..) = self {
            *self = Memory::Bytes(Vec::new());
        }
        let room = match self {
            Memory::Room(memory) => memory.free(),
            Memory::Bytes(bytes) => {
                bytes.clear();
                bytes.reserve_exact(len);
                bytes.spare_capacity_mut()
            }
            Memory::Slice(..) => &mut [],
        };
        &mut room[..len]
    }
}

/// Of so many operations it is asked at a time.
pub(crate) const ASKED: usize = 32;

/// Something that MPI is doing, and the bytes that it does it with.
pub(crate) struct Operation {
    request: ffi::MPI_Request,
    memory: Memory,
    kind: Kind,
    done: bool,
    _not_send: PhantomData<Rc<()>>,
}

#[derive(Clone, Copy)]
enum Kind {
    /// A message, or nothing.
    Sends,
    /// A message of at most so many bytes, for which there is room.
    Receives { most: usize },
    /// One of so many bytes.
    Received { len: usize },
    /// Nothing, as it was cancelled.
    Cancelled,
}

impl Operation {
    /// Begins what `call` has MPI begin, with these bytes.
    pub(crate) fn begin(
        memory: Memory,
        call: impl FnOnce(&mut Memory, *mut ffi::MPI_Request) -> i32,
    ) -> Operation {
        Operation::begin_as(Kind::Sends, memory, call)
    }

    /// As [`Operation::begin`], of a message of at most so many bytes, into memory that has room for them.
    pub(crate) fn begin_to_receive(
        memory: Memory,
        most: usize,
        call: impl FnOnce(&mut Memory, *mut ffi::MPI_Request) -> i32,
    ) -> Operation {
        Operation::begin_as(Kind::Receives { most }, memory, call)
    }

    fn begin_as(
        kind: Kind,
        mut memory: Memory,
        call: impl FnOnce(&mut Memory, *mut ffi::MPI_Request) -> i32,
    ) -> Operation {
        // SAFETY: a constant.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        inside(|| call(&mut memory, &raw mut request));
        Operation {
            request,
            memory,
            kind,
            done: false,
            _not_send: PhantomData,
        }
    }

    /// Which of these MPI has done, if one, and `first` before others. It is asked for all at once, as each question takes it as long. They
    /// are [`ASKED`] at most.
    pub(crate) fn any_done(operations: &mut [Operation], first: usize) -> Option<usize> {
        // Open MPI moves what comes when it has looked at all, and tells of it when it is asked next; of one it tells at once.
        if let [operation] = operations {
            return operation.is_done().then_some(0);
        }
        let count = operations.len();
        // SAFETY: a constant.
        let mut requests = [unsafe { ffi::RSMPI_REQUEST_NULL }; ASKED];
        let (behind, before) = operations.split_at(first.min(count));
        let ordered = before.iter().chain(behind);
        for (request, operation) in requests[..count].iter_mut().zip(ordered) {
            *request = operation.request;
        }
        let (mut at, mut flag) = (0, 0);
        let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
        // SAFETY: so many requests that MPI has given, or none; a number and a status are written where one is done.
        inside(|| unsafe {
            let all = requests.as_mut_ptr();
            ffi::MPI_Testany(
                count as i32,
                all,
                &raw mut at,
                &raw mut flag,
                status.as_mut_ptr(),
            )
        });
        if flag == 0 {
            return None;
        }
        // Where there is no request it is undefined, which is below 0.
        let asked = usize::try_from(at).ok()?;
        let at = (first + asked) % count;
        operations[at].request = requests[asked];
        // SAFETY: it was written, of this one.
        operations[at].finish(unsafe { status.assume_init() });
        Some(at)
    }

    /// Whether MPI has done it.
    pub(crate) fn is_done(&mut self) -> bool {
        if !self.done {
            let mut flag = 0;
            let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
            // SAFETY: a request that MPI has given, or none; a status is written where it is done.
            inside(|| unsafe {
                ffi::MPI_Test(&raw mut self.request, &raw mut flag, status.as_mut_ptr())
            });
            if flag != 0 {
                // SAFETY: it was written.
                self.finish(unsafe { status.assume_init() });
            }
        }
        self.done
    }

    /// MPI has done it, and says this.
    fn finish(&mut self, status: ffi::MPI_Status) {
        self.done = true;
        if let Kind::Receives { most } = self.kind {
            self.received(most, status);
        }
    }

    /// A message has been received, of which this is the status.
    fn received(&mut self, most: usize, status: ffi::MPI_Status) {
        let mut len = 0;
        // SAFETY: the status of a message.
        unsafe { ffi::MPI_Get_count(&raw const status, ffi::RSMPI_UINT8_T, &raw mut len) };
        let len = usize::try_from(len).expect("a number of bytes");
        assert!(len <= most);
        // SAFETY: there was room for so many, and MPI has written them: they are the whole message.
        unsafe {
            match &mut self.memory {
                Memory::Bytes(bytes) => bytes.set_len(len),
                Memory::Room(memory) => memory.fill(len),
                Memory::Slice(..) => {}
            }
        }
        self.kind = Kind::Received { len };
    }

    /// Cancels a receive for which nothing is sent any more, and waits until MPI has let go of its memory, at most so long.
    pub(crate) fn cancel(mut self, at_most: Duration) {
        if self.is_done() {
            return;
        }
        self.kind = Kind::Cancelled;
        // SAFETY: a request that MPI has given, and which is not done.
        inside(|| unsafe { ffi::MPI_Cancel(&raw mut self.request) });
        let start = Instant::now();
        while !self.is_done() && start.elapsed() < at_most {
            std::thread::yield_now();
        }
    }

    /// Whether it sends a slice of a value.
    pub(crate) fn is_of_slice(&self) -> bool {
        self.memory.is_slice()
    }

    /// How many bytes it sends or receives.
    pub(crate) fn len(&self) -> usize {
        match self.kind {
            Kind::Sends => self.memory.len(),
            Kind::Receives { most } => most,
            Kind::Received { len } => len,
            Kind::Cancelled => 0,
        }
    }

    /// The memory of what is done.
    pub(crate) fn into_memory(mut self) -> Memory {
        assert!(self.done);
        self.take()
    }

    fn take(&mut self) -> Memory {
        std::mem::replace(&mut self.memory, Memory::Bytes(Vec::new()))
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if !self.done {
            // MPI has them still: a leak is better than what it would write over.
            std::mem::forget(self.take());
        }
    }
}
