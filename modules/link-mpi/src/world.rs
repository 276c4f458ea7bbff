//! The OS processes of an MPI job, and the communication between them.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use mpi_sys as ffi;

use crate::calls::{self, SUCCESS, inside};
use crate::operation::{MOST, Memory, Operation};

/// Size in bytes of a host name that is exchanged: the maximum of MPI.
const NAME: usize = 256;

/// The OS processes of a job, with a communicator for this link only.
pub(crate) struct World {
    comm: ffi::MPI_Comm,
    me: usize,
    count: usize,
    initialized: Option<Initialized>,
}

/// Proof that this thread has initialised MPI. Finalizes MPI when it is dropped.
struct Initialized(PhantomData<Rc<()>>);

impl Initialized {
    /// Initialises MPI for calls by one thread. Returns the thread level that MPI provides.
    ///
    /// # Errors
    /// Returns an error if MPI is already initialised or cannot be initialised.
    fn new() -> Result<(Initialized, i32), String> {
        /// Guards against two threads that both find MPI uninitialised.
        static IS_INITIALIZED: AtomicBool = AtomicBool::new(false);
        const BEFORE: &str = "MPI is already initialized";
        if IS_INITIALIZED.swap(true, Ordering::Relaxed) {
            return Err(BEFORE.into());
        }
        let (mut before, mut given) = (0, 0);
        // SAFETY: the calls write numbers. There are no arguments of the program to read.
        unsafe {
            ffi::MPI_Initialized(&raw mut before);
            if before != 0 {
                return Err(BEFORE.into());
            }
            let none = std::ptr::null_mut();
            let code = ffi::MPI_Init_thread(none, none.cast(), funneled(), &raw mut given);
            if code != SUCCESS {
                return Err(format!("cannot initialize MPI: error {code}"));
            }
        }
        Ok((Initialized(PhantomData), given))
    }
}

impl Drop for Initialized {
    fn drop(&mut self) {
        calls::over();
        // SAFETY: this thread has initialised MPI (the type is not `Send`), and MPI is finalized
        // only once.
        unsafe { ffi::MPI_Finalize() };
    }
}

/// Returns the thread level at which one thread calls MPI. Levels are in ascending order.
fn funneled() -> i32 {
    // SAFETY: reads a constant.
    unsafe { ffi::RSMPI_THREAD_FUNNELED }
}

impl World {
    /// Initialises MPI. This is possible only once in an OS process. All OS processes must call it,
    /// and it blocks until they do. An error of MPI after the initialisation ends the job.
    ///
    /// # Errors
    /// Returns an error if MPI is already initialised, cannot be initialised, or does not support
    /// threads. In the last case, MPI is finalized.
    pub(crate) fn join() -> Result<World, String> {
        let (initialized, threads) = Initialized::new()?;
        if threads < funneled() {
            return Err(format!(
                "the MPI of this program does not support threads (MPI_THREAD_FUNNELED): {}",
                calls::library()
            ));
        }
        let mut comm = MaybeUninit::uninit();
        let (mut me, mut count) = (0, 0);
        // SAFETY: MPI is initialised. `comm` is written before it is read. It inherits the error
        // handler of the world communicator, whose default handler is then restored for other
        // users.
        let comm = unsafe {
            let world = ffi::RSMPI_COMM_WORLD;
            ffi::MPI_Comm_set_errhandler(world, ffi::RSMPI_ERRORS_RETURN);
            inside(|| ffi::MPI_Comm_dup(world, comm.as_mut_ptr()));
            ffi::MPI_Comm_set_errhandler(world, ffi::RSMPI_ERRORS_ARE_FATAL);
            let comm = comm.assume_init();
            ffi::MPI_Comm_rank(comm, &raw mut me);
            ffi::MPI_Comm_size(comm, &raw mut count);
            comm
        };
        Ok(World {
            comm,
            me: me as usize,
            count: count as usize,
            initialized: Some(initialized),
        })
    }

    pub(crate) fn me(&self) -> usize {
        self.me
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the host name of each OS process, in the order of their numbers. All OS processes
    /// must call it. Blocks until they do. An error of MPI ends the job.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let mut name = calls::host().into_bytes();
        name.resize(NAME, 0);
        let names = self.gather(&name);
        let text = |name: &[u8]| {
            let len = name.iter().take_while(|&&byte| byte != 0).count();
            String::from_utf8_lossy(&name[..len]).into_owned()
        };
        names.chunks_exact(NAME).map(text).collect()
    }

    /// Returns the `bytes` of all OS processes, concatenated in the order of their numbers. All
    /// must call it, with the same length. Blocks until they do. An error of MPI ends the job.
    ///
    /// # Panics
    /// Panics if `bytes` has 2^31 bytes or more.
    pub(crate) fn gather(&self, bytes: &[u8]) -> Vec<u8> {
        let len = i32::try_from(bytes.len()).expect("a few");
        let mut all = vec![0_u8; bytes.len() * self.count];
        let (from, to) = (bytes.as_ptr().cast(), all.as_mut_ptr().cast());
        let byte = || {
            // SAFETY: reads a constant.
            unsafe { ffi::RSMPI_UINT8_T }
        };
        // SAFETY: `from` has `len` bytes, and `to` has room for `len` bytes of each OS process.
        inside(|| unsafe { ffi::MPI_Allgather(from, len, byte(), to, len, byte(), self.comm) });
        all
    }

    /// Begins to send a message. With `sync` the operation is done when the receiver has matched
    /// the message. Otherwise it is done when the buffer is not needed any more. Does not block. An
    /// error of MPI ends the job.
    ///
    /// # Panics
    /// Panics if the message has more than [`MOST`] bytes, or if `to` does not exist.
    pub(crate) fn send(&self, to: usize, tag: i32, memory: Memory, sync: bool) -> Operation {
        assert!(memory.len() <= MOST && to < self.count);
        let call = match sync {
            true => ffi::MPI_Issend,
            false => ffi::MPI_Isend,
        };
        // SAFETY: the operation owns the buffer and keeps it until it is done. Moving the owner
        // does not move the bytes.
        Operation::begin(memory, |memory, request| unsafe {
            let bytes = memory.bytes();
            let (at, len) = (bytes.as_ptr(), bytes.len() as i32);
            call(
                at.cast(),
                len,
                ffi::RSMPI_UINT8_T,
                to as i32,
                tag,
                self.comm,
                request,
            )
        })
    }

    /// Begins to receive a message of at most `most` bytes from an OS process. Does not block. An
    /// error of MPI, such as a longer message, ends the job.
    ///
    /// # Panics
    /// Panics if `most` is more than [`MOST`], if `from` does not exist, or if `memory` is memory
    /// of a slice with less than `most` free bytes.
    pub(crate) fn receive(&self, from: usize, tag: i32, memory: Memory, most: usize) -> Operation {
        assert!(most <= MOST && from < self.count);
        // SAFETY: the buffer has room for `most` bytes and belongs to the operation.
        Operation::begin_to_receive(memory, most, |memory, request| unsafe {
            let at = memory.room(most).as_mut_ptr().cast();
            let (byte, len) = (ffi::RSMPI_UINT8_T, most as i32);
            ffi::MPI_Irecv(at, len, byte, from as i32, tag, self.comm, request)
        })
    }

    /// Begins to receive the next message with a tag from any OS process, if one has come. Returns
    /// its sender and the operation, or `None`. Does not block. An error of MPI ends the job.
    ///
    /// `memory` is called with the number of bytes of the message, and returns a buffer. Panics if
    /// that is memory of a slice with less free bytes.
    pub(crate) fn find(
        &self,
        tag: i32,
        memory: impl FnOnce(usize) -> Memory,
    ) -> Option<(usize, Operation)> {
        let (mut found, mut len) = (0, 0);
        let mut message = MaybeUninit::uninit();
        let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
        // SAFETY: message and status are written if a message is found, and are read only then.
        let (mut message, status) = unsafe {
            let any = ffi::RSMPI_ANY_SOURCE;
            let (to_message, to_status) = (message.as_mut_ptr(), status.as_mut_ptr());
            let to_found = &raw mut found;
            inside(|| ffi::MPI_Improbe(any, tag, self.comm, to_found, to_message, to_status));
            if found == 0 {
                return None;
            }
            (message.assume_init(), status.assume_init())
        };
        // SAFETY: the status is that of a message that was found.
        unsafe { ffi::MPI_Get_count(&raw const status, ffi::RSMPI_UINT8_T, &raw mut len) };
        let (from, most) = (status.MPI_SOURCE as usize, len as usize);
        // SAFETY: the buffer has room for the bytes of the message and belongs to the operation.
        let receive = Operation::begin_to_receive(memory(most), most, |memory, request| unsafe {
            let at = memory.room(most).as_mut_ptr().cast();
            ffi::MPI_Imrecv(at, len, ffi::RSMPI_UINT8_T, &raw mut message, request)
        });
        Some((from, receive))
    }

    /// Begins a barrier, without blocking. All OS processes must begin it. The operation is done
    /// when they have. An error of MPI ends the job.
    pub(crate) fn barrier(&self) -> Operation {
        // SAFETY: all OS processes call it, once.
        Operation::begin(Memory::Bytes(Vec::new()), |_, request| unsafe {
            ffi::MPI_Ibarrier(self.comm, request)
        })
    }

    /// Finalizes MPI, unless that was done before or MPI was left open. Every OS process must call
    /// it. May block until they do.
    pub(crate) fn end(&mut self) {
        drop(self.initialized.take());
    }

    /// Leaves MPI initialised, after the launcher was notified that this OS process has finished.
    /// [`World::end`] then has no effect.
    pub(crate) fn leave_open(&mut self) {
        std::mem::forget(self.initialized.take());
    }

    /// Ends all OS processes with this exit code, and does not return. May block for a second, to
    /// notify the launcher.
    pub(crate) fn abort(&self, code: u8) -> ! {
        calls::over();
        calls::end_job(self.comm, code);
        std::process::exit(i32::from(code))
    }
}
