//! Pending MPI operations and their buffers.
//!
//! An operation owns its buffer, so safe code cannot access a buffer that MPI uses. An
//! [`Operation`] is not `Send`, because all MPI calls are made on the thread that initialised MPI.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::time::{Duration, Instant};

use graphmap_runtime::between::{SliceMemory, SlicedMessage};

use mpi_sys as ffi;

use crate::calls::inside;

/// Largest size of a message in bytes. It is well below the range of an MPI count.
pub(crate) const MOST: usize = 1 << 30;

/// The buffer of an operation.
pub(crate) enum Memory {
    Bytes(Vec<u8>),
    /// A slice of a message that is sent.
    Slice(Rc<SlicedMessage>, usize),
    /// Memory of a slice that is received.
    Room(SliceMemory),
}

impl Memory {
    /// Returns the bytes to be sent. Memory of a slice that is received has none.
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

    /// Returns room for `len` bytes, which replaces the present contents.
    ///
    /// # Panics
    /// Panics if this is memory of a slice with less than `len` free bytes.
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

/// Largest number of operations that are tested in one call.
pub(crate) const ASKED: usize = 32;

/// An operation of MPI and its buffer.
pub(crate) struct Operation {
    request: ffi::MPI_Request,
    memory: Memory,
    kind: Kind,
    done: bool,
    _not_send: PhantomData<Rc<()>>,
}

#[derive(Clone, Copy)]
enum Kind {
    /// A send, or an operation without a message.
    Sends,
    /// A receive of at most `most` bytes, for which there is room.
    Receives { most: usize },
    /// A completed receive of `len` bytes.
    Received { len: usize },
    /// A cancelled receive.
    Cancelled,
}

impl Operation {
    /// Begins an operation: `call` passes the buffer to MPI, and returns its error code. An error
    /// ends the job.
    pub(crate) fn begin(
        memory: Memory,
        call: impl FnOnce(&mut Memory, *mut ffi::MPI_Request) -> i32,
    ) -> Operation {
        Operation::begin_as(Kind::Sends, memory, call)
    }

    /// Begins a receive of at most `most` bytes into a buffer with room for them: `call` passes the
    /// buffer to MPI, and returns its error code. An error ends the job.
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
        // SAFETY: reads a constant.
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

    /// Returns the index of an operation that has become done, or `None`. A single operation is
    /// also returned if it was done before. The search begins at index `first`, which must not
    /// exceed the number of operations, and wraps around.
    ///
    /// Tests all operations in one call, because each call takes the same time. Does not block. An
    /// error of MPI ends the job.
    ///
    /// # Panics
    /// Panics if there are more than [`ASKED`] operations.
    pub(crate) fn any_done(operations: &mut [Operation], first: usize) -> Option<usize> {
        // Open MPI makes progress after it has tested all operations, and reports a completion only
        // in the next call. For a single `MPI_Test` it reports it at once.
        if let [operation] = operations {
            return operation.is_done().then_some(0);
        }
        let count = operations.len();
        // SAFETY: reads a constant.
        let mut requests = [unsafe { ffi::RSMPI_REQUEST_NULL }; ASKED];
        let (behind, before) = operations.split_at(first.min(count));
        let ordered = before.iter().chain(behind);
        for (request, operation) in requests[..count].iter_mut().zip(ordered) {
            *request = operation.request;
        }
        let (mut at, mut flag) = (0, 0);
        let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
        // SAFETY: the first `count` requests are from MPI or null. An index and a status are
        // written if one of them is done.
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
        // If no request is active, the index is `MPI_UNDEFINED`, which is negative.
        let asked = usize::try_from(at).ok()?;
        let at = (first + asked) % count;
        operations[at].request = requests[asked];
        // SAFETY: MPI has written the status of this operation.
        operations[at].finish(unsafe { status.assume_init() });
        Some(at)
    }

    /// Tests the operation, and returns true if it is done. Does not block. An error of MPI ends
    /// the job.
    pub(crate) fn is_done(&mut self) -> bool {
        if !self.done {
            let mut flag = 0;
            let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
            // SAFETY: the request is from MPI or null. A status is written if it is done.
            inside(|| unsafe {
                ffi::MPI_Test(&raw mut self.request, &raw mut flag, status.as_mut_ptr())
            });
            if flag != 0 {
                // SAFETY: MPI has written the status.
                self.finish(unsafe { status.assume_init() });
            }
        }
        self.done
    }

    /// Marks the operation as done. For a receive, records the length of the message.
    fn finish(&mut self, status: ffi::MPI_Status) {
        self.done = true;
        if let Kind::Receives { most } = self.kind {
            self.received(most, status);
        }
    }

    /// Records the length of a received message, of which `most` bytes fit into the buffer. Panics
    /// if it is longer.
    fn received(&mut self, most: usize, status: ffi::MPI_Status) {
        let mut len = 0;
        // SAFETY: the status belongs to a received message.
        unsafe { ffi::MPI_Get_count(&raw const status, ffi::RSMPI_UINT8_T, &raw mut len) };
        let len = usize::try_from(len).expect("a number of bytes");
        assert!(len <= most);
        // SAFETY: the buffer had room for `most` bytes, and MPI has written the first `len` of
        // them.
        unsafe {
            match &mut self.memory {
                Memory::Bytes(bytes) => bytes.set_len(len),
                Memory::Room(memory) => memory.fill(len),
                Memory::Slice(..) => {}
            }
        }
        self.kind = Kind::Received { len };
    }

    /// Cancels a receive for which no message will come. Does nothing if it is done. Blocks until
    /// MPI has released its buffer, but at most for `at_most`. A buffer that was not released by
    /// then is leaked. An error of MPI ends the job.
    pub(crate) fn cancel(mut self, at_most: Duration) {
        if self.is_done() {
            return;
        }
        self.kind = Kind::Cancelled;
        // SAFETY: the request is from MPI and not done.
        inside(|| unsafe { ffi::MPI_Cancel(&raw mut self.request) });
        let start = Instant::now();
        while !self.is_done() && start.elapsed() < at_most {
            std::thread::yield_now();
        }
    }

    /// Returns true if the operation sends a slice of a value.
    pub(crate) fn is_of_slice(&self) -> bool {
        self.memory.is_slice()
    }

    /// Returns the number of bytes that the operation sends or receives. For a receive that is not
    /// done, it is the largest number of bytes that may come. For a cancelled one, it is 0.
    pub(crate) fn len(&self) -> usize {
        match self.kind {
            Kind::Sends => self.memory.len(),
            Kind::Receives { most } => most,
            Kind::Received { len } => len,
            Kind::Cancelled => 0,
        }
    }

    /// Returns the buffer of an operation that is done.
    ///
    /// # Panics
    /// Panics if the operation is not done.
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
            // MPI still uses the buffer, so it is leaked. Otherwise MPI would overwrite freed
            // memory.
            std::mem::forget(self.take());
        }
    }
}
