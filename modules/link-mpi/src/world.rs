//! The OS processes of a job, and what goes between them.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use mpi_sys as ffi;

use crate::calls::{self, SUCCESS, inside};
use crate::operation::{MOST, Memory, Operation};

/// Bytes of a host's name that are told to others: as many as MPI has room for.
const NAME: usize = 256;

/// The OS processes of a job, with a communicator that nobody else uses.
pub(crate) struct World {
    comm: ffi::MPI_Comm,
    me: usize,
    count: usize,
    begun: Option<Begun>,
}

/// That MPI has been begun, on this thread: ends it when it goes.
struct Begun(PhantomData<Rc<()>>);

impl Begun {
    /// Begins MPI, for calls of one thread: and what it gives of that.
    fn new() -> Result<(Begun, i32), String> {
        /// Of two threads that ask MPI at once, both would hear that it has not been begun.
        static IS_BEGUN: AtomicBool = AtomicBool::new(false);
        const BEFORE: &str = "MPI is already initialized";
        if IS_BEGUN.swap(true, Ordering::Relaxed) {
            return Err(BEFORE.into());
        }
        let (mut before, mut given) = (0, 0);
        // SAFETY: numbers are written; there are no arguments to take any from.
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
        Ok((Begun(PhantomData), given))
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        // SAFETY: MPI has been begun, on this thread (it is not `Send`), and is ended once.
        unsafe { ffi::MPI_Finalize() };
    }
}

/// The level of threads of which one calls MPI; they are in ascending order.
fn funneled() -> i32 {
    // SAFETY: a constant.
    unsafe { ffi::RSMPI_THREAD_FUNNELED }
}

impl World {
    /// Begins MPI: once in an OS process.
    pub(crate) fn join() -> Result<World, String> {
        let (begun, threads) = Begun::new()?;
        if threads < funneled() {
            return Err(format!(
                "the MPI of this program does not support threads (MPI_THREAD_FUNNELED): {}",
                calls::library()
            ));
        }
        let mut comm = MaybeUninit::uninit();
        let (mut me, mut count) = (0, 0);
        // SAFETY: MPI is begun; the communicator is written before it is read, and inherits the handler of the world, which is
        // then as it was, for whoever else uses that.
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
            begun: Some(begun),
        })
    }

    pub(crate) fn me(&self) -> usize {
        self.me
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The name of the host of each OS process. All of them have to call it.
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

    /// As many bytes of each OS process. All of them have to call it.
    pub(crate) fn gather(&self, bytes: &[u8]) -> Vec<u8> {
        let len = i32::try_from(bytes.len()).expect("a few");
        let mut all = vec![0_u8; bytes.len() * self.count];
        let (from, to) = (bytes.as_ptr().cast(), all.as_mut_ptr().cast());
        let byte = || {
            // SAFETY: a constant.
            unsafe { ffi::RSMPI_UINT8_T }
        };
        // SAFETY: as many bytes are read, and written of each OS process, as there is room for.
        inside(|| unsafe { ffi::MPI_Allgather(from, len, byte(), to, len, byte(), self.comm) });
        all
    }

    /// Begins to send a message; `sync`: it is done when the receiver has matched it, else when the bytes are
    /// not needed any more.
    pub(crate) fn send(&self, to: usize, tag: i32, memory: Memory, sync: bool) -> Operation {
        assert!(memory.len() <= MOST && to < self.count);
        let call = match sync {
            true => ffi::MPI_Issend,
            false => ffi::MPI_Isend,
        };
        // SAFETY: the bytes belong to the operation, which keeps them until it is done; their place in memory is
        // not that of what holds them, which moves.
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

    /// Begins to receive a message with a tag from an OS process, of at most so many bytes, into memory that has room for them.
    pub(crate) fn receive(&self, from: usize, tag: i32, memory: Memory, most: usize) -> Operation {
        assert!(most <= MOST && from < self.count);
        // SAFETY: there is room for the bytes that MPI may write, which belongs to the operation.
        Operation::begin_to_receive(memory, most, |memory, request| unsafe {
            let at = memory.room(most).as_mut_ptr().cast();
            let (byte, len) = (ffi::RSMPI_UINT8_T, most as i32);
            ffi::MPI_Irecv(at, len, byte, from as i32, tag, self.comm, request)
        })
    }

    /// Begins to receive the next message with a tag, of whoever, if one has come: from whom. `memory`: where so many bytes go.
    pub(crate) fn find(
        &self,
        tag: i32,
        memory: impl FnOnce(usize) -> Memory,
    ) -> Option<(usize, Operation)> {
        let (mut found, mut len) = (0, 0);
        let mut message = MaybeUninit::uninit();
        let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
        // SAFETY: message and status are written where one is found, and read only then.
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
        // SAFETY: the status of a message that was found.
        unsafe { ffi::MPI_Get_count(&raw const status, ffi::RSMPI_UINT8_T, &raw mut len) };
        let (from, most) = (status.MPI_SOURCE as usize, len as usize);
        // SAFETY: there is room for the bytes that the message has, which belongs to the operation.
        let receive = Operation::begin_to_receive(memory(most), most, |memory, request| unsafe {
            let at = memory.room(most).as_mut_ptr().cast();
            ffi::MPI_Imrecv(at, len, ffi::RSMPI_UINT8_T, &raw mut message, request)
        });
        Some((from, receive))
    }

    /// Says that this OS process is there: done when all have said it.
    pub(crate) fn barrier(&self) -> Operation {
        // SAFETY: all OS processes call it, once.
        Operation::begin(Memory::Bytes(Vec::new()), |_, request| unsafe {
            ffi::MPI_Ibarrier(self.comm, request)
        })
    }

    /// Ends MPI: every OS process calls it.
    pub(crate) fn end(&mut self) {
        drop(self.begun.take());
    }

    /// Leaves MPI as it is: the launcher has been told that this OS process is through with it.
    pub(crate) fn leave_open(&mut self) {
        std::mem::forget(self.begun.take());
    }

    /// Ends all OS processes.
    pub(crate) fn abort(&self, code: u8) -> ! {
        calls::over();
        calls::end_job(self.comm, code);
        std::process::exit(i32::from(code))
    }
}
