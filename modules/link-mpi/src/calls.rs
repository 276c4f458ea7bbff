//! The calls of MPI that this link makes, and of the system where one ends: the only file with `unsafe` in it.
//!
//! Buffers belong to the operations that use them, so safe code cannot touch one that MPI has. All is done on
//! the thread that began MPI: nothing here can go to another ([`World`] and [`Operation`] are not `Send`).
//! Errors of MPI end the job: see [`failed`].

use std::ffi::c_void;
use std::io::Write;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::net::{IpAddr, TcpStream};
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use graphmap_runtime::Exit;
use graphmap_runtime::between::{SliceMemory, SlicedMessage};

use mpi_sys as ffi;

use crate::printed::{self, FORWARDING};

/// Most bytes of a message: what a count of MPI has room for, and some way below.
pub(crate) const MOST: usize = 1 << 30;

/// The OS processes of a job, with a communicator that nobody else uses.
pub(crate) struct World {
    comm: ffi::MPI_Comm,
    me: usize,
    count: usize,
    begun: Option<Begun>,
}

/// That MPI has been begun: ends it when it goes.
struct Begun;

impl Begun {
    /// Begins MPI, for calls of one thread: and what it gives of that.
    fn new() -> Result<(Begun, i32), String> {
        let (mut before, mut given) = (0, 0);
        // SAFETY: numbers are written; there are no arguments to take any from.
        unsafe {
            ffi::MPI_Initialized(&raw mut before);
            if before != 0 {
                return Err("MPI has been begun before".into());
            }
            let none = std::ptr::null_mut();
            let code = ffi::MPI_Init_thread(none, none.cast(), funneled(), &raw mut given);
            if code != SUCCESS {
                return Err(format!("MPI cannot be begun: it says {code}"));
            }
        }
        Ok((Begun, given))
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        // SAFETY: MPI has been begun, on this thread ([`World`] does not leave it), and is ended once.
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
                "the MPI of this program cannot be used in a program with threads: {}",
                library()
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
        let mut name = host().into_bytes();
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

    /// Begins to receive the next message, if one has come: from whom, with which tag. `memory`: where so many bytes of a tag go.
    pub(crate) fn receive(
        &self,
        memory: impl FnOnce(i32, usize) -> Memory,
    ) -> Option<(usize, i32, Operation)> {
        let (mut found, mut len) = (0, 0);
        let mut message = MaybeUninit::uninit();
        let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
        // SAFETY: message and status are written where one is found, and read only then.
        let (mut message, status) = unsafe {
            let (any, tag) = (ffi::RSMPI_ANY_SOURCE, ffi::RSMPI_ANY_TAG);
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
        let memory = memory(status.MPI_TAG, len as usize);
        // SAFETY: there is room for the bytes that the message has, which belongs to the operation.
        let mut operation = Operation::begin(memory, |memory, request| unsafe {
            let at = memory.room(len as usize).as_mut_ptr().cast();
            ffi::MPI_Imrecv(at, len, ffi::RSMPI_UINT8_T, &raw mut message, request)
        });
        operation.comes = len as usize;
        Some((status.MPI_SOURCE as usize, status.MPI_TAG, operation))
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
        over();
        end_job(self.comm, code);
        std::process::exit(i32::from(code))
    }
}

/// How long the launcher has to end this OS process when it is told to end all.
const HEARD: Duration = Duration::from_secs(1);

/// Ends all OS processes with a code.
fn end_job(comm: ffi::MPI_Comm, code: u8) {
    // `MPI_Abort` of MPICH tells the other OS processes first, at which they exit, and the launcher then. If it sees one go
    // before it is told, it takes that for the failure, kills all, and ends with the 9 of those killed in its code.
    if let Some(fd) = launcher() {
        tell_launcher(fd, &format!("cmd=abort exitcode={code}\n"));
        std::thread::sleep(HEARD);
    }
    // SAFETY: it takes numbers.
    unsafe { ffi::MPI_Abort(comm, i32::from(code)) };
}

/// The socket at which the launcher of MPICH speaks PMI 1, where the library is MPICH.
pub(crate) fn launcher() -> Option<i32> {
    let fd = std::env::var("PMI_FD").ok()?.parse().ok()?;
    library().starts_with("MPICH").then_some(fd)
}

/// The run is over, or is being ended.
static OVER: AtomicBool = AtomicBool::new(false);
/// MPI is being called: if it ends this OS process, it is because another is gone, and the launcher tells of that.
static INSIDE: AtomicBool = AtomicBool::new(false);

/// Calls MPI, where that may end this OS process.
fn inside(call: impl FnOnce() -> i32) {
    INSIDE.store(true, Ordering::Relaxed);
    let code = call();
    INSIDE.store(false, Ordering::Relaxed);
    if code != SUCCESS {
        failed(code);
    }
}

/// Of the standard of MPI: `MPI_SUCCESS`.
const SUCCESS: i32 = 0;

/// A call of MPI has failed. As a rule another OS process is gone: its launcher knows why, tells that, and ends this one; MPI would
/// tell no more than that it cannot be reached, with a code that says nothing.
#[cold]
fn failed(code: i32) -> ! {
    std::thread::sleep(HEARD);
    over();
    let why = text(ffi::MPI_MAX_ERROR_STRING as i32, |at, len| {
        // SAFETY: there is room for the longest text.
        unsafe { ffi::MPI_Error_string(code, at, len) }
    });
    let _ = writeln!(
        std::io::stderr(),
        "error: MPI cannot go on on {}: {}",
        host(),
        why.split_whitespace().collect::<Vec<_>>().join(" ")
    );
    printed::wait_until_read(FORWARDING);
    // SAFETY: a constant; MPI has not been ended, as it was called.
    end_job(unsafe { ffi::RSMPI_COMM_WORLD }, Exit::Lost as u8);
    std::process::exit(Exit::Lost as i32)
}

unsafe extern "C" {
    fn atexit(f: extern "C" fn()) -> i32;
    fn write(fd: i32, bytes: *const c_void, len: usize) -> isize;
    fn read(fd: i32, bytes: *mut c_void, len: usize) -> isize;
    fn _exit(code: i32) -> !;
    fn kill(id: i32, signal: i32) -> i32;
    fn setsockopt(fd: i32, level: i32, name: i32, value: *const c_void, len: u32) -> i32;
    fn getsockopt(fd: i32, level: i32, name: i32, value: *mut c_void, len: *mut u32) -> i32;
}

// Of Linux: `SOL_SOCKET`, `SO_KEEPALIVE`; `IPPROTO_TCP`, `TCP_KEEPIDLE`, `TCP_KEEPINTVL`, `TCP_KEEPCNT`, `TCP_INFO`.
const SOCKET: (i32, i32) = (1, 9);
const TCP: i32 = 6;
const IDLE: i32 = 4;
const INTERVAL: i32 = 5;
const COUNT: i32 = 6;
const INFO: i32 = 11;
/// Where `struct tcp_info` has its `tcpi_state`, and its `tcpi_last_ack_recv`, in milliseconds.
const STATE: usize = 0;
const ESTABLISHED: u8 = 1;
const LAST_ACK: usize = 56;
/// Unanswered messages after which the kernel would close a connection: never before we have found it out.
const UNANSWERED: i32 = 127;

/// To whom a file of this OS process is connected by TCP, and how long nothing has been acknowledged there; none if it is no
/// connection, or one that is being closed, over which nothing comes any more.
pub(crate) fn acknowledged(fd: i32) -> Option<(IpAddr, Duration)> {
    let mut info = [0u8; LAST_ACK + 4];
    let mut len = info.len() as u32;
    // SAFETY: as many bytes are written as there is room for. The file may be closed, or another: then it is that of which is
    // told, or there is none.
    let (told, file) = unsafe {
        let told = getsockopt(fd, TCP, INFO, info.as_mut_ptr().cast(), &raw mut len);
        (told, BorrowedFd::borrow_raw(fd).try_clone_to_owned())
    };
    if told != 0 || (len as usize) < info.len() || info[STATE] != ESTABLISHED {
        return None;
    }
    let peer = TcpStream::from(file.ok()?).peer_addr().ok()?.ip();
    let last = info[LAST_ACK..].try_into().map(u32::from_ne_bytes).ok()?;
    Some((peer, Duration::from_millis(last.into())))
}

/// From now on the kernel asks the other side of a connection for an answer every so often.
pub(crate) fn keep_alive(fd: i32, every: Duration) {
    let every = i32::try_from(every.as_secs().max(1)).unwrap_or(i32::MAX);
    let set = |(level, name): (i32, i32), value: i32| {
        // SAFETY: a number is read, as long as is said.
        unsafe { setsockopt(fd, level, name, (&raw const value).cast(), 4) };
    };
    set((TCP, IDLE), every);
    set((TCP, INTERVAL), every);
    set((TCP, COUNT), UNANSWERED);
    set(SOCKET, 1);
}

/// From here on this OS process ends because the run does, in whatever way.
pub(crate) fn over() {
    OVER.store(true, Ordering::SeqCst);
}

/// Ends another process.
pub(crate) fn end_process(id: i32) {
    // SAFETY: it takes numbers.
    unsafe { kill(id, KILL) };
}

/// Of Linux: `SIGKILL`.
const KILL: i32 = 9;

/// From here on who ends this OS process in the middle of a run (`std::process::exit`) ends the job, and says so:
/// launchers take the code 0 for a good end, and end the others without a word.
pub(crate) fn watch_exit() {
    // SAFETY: the function is there as long as the program, and does not unwind.
    unsafe { atexit(exits) };
}

extern "C" fn exits() {
    if OVER.swap(true, Ordering::SeqCst) || INSIDE.load(Ordering::Relaxed) {
        return;
    }
    let _ = writeln!(
        std::io::stderr(),
        "error: an OS process on {} ended before the run did: something in it has called `exit`",
        host()
    );
    printed::wait_until_read(FORWARDING);
    // SAFETY: a constant; MPI has not been ended, as the run is not over.
    end_job(unsafe { ffi::RSMPI_COMM_WORLD }, Exit::Lost as u8);
}

/// Sends a line to the launcher over its socket.
fn tell_launcher(fd: i32, line: &str) {
    // SAFETY: the bytes are as many as is said.
    unsafe { write(fd, line.as_ptr().cast(), line.len()) };
}

/// Sends a line to the launcher over its socket, and waits for one.
pub(crate) fn ask_launcher(fd: i32, line: &str) {
    tell_launcher(fd, line);
    let mut answer = [0u8; 256];
    // SAFETY: the bytes are as many as is said.
    unsafe { read(fd, answer.as_mut_ptr().cast(), answer.len()) };
}

/// Ends this OS process without another word.
pub(crate) fn leave(code: u8) -> ! {
    // SAFETY: it takes a number.
    unsafe { _exit(i32::from(code)) }
}

/// The name and version of the MPI that this program is linked to, in one line.
pub(crate) fn library() -> String {
    // SAFETY: a constant.
    let room = unsafe { ffi::RSMPI_MAX_LIBRARY_VERSION_STRING };
    let told = text(room, |at, len| {
        // SAFETY: there is room for the longest text; this may be asked at any time.
        unsafe { ffi::MPI_Get_library_version(at, len) }
    });
    let line = told.lines().next().unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The name of this host.
pub(crate) fn host() -> String {
    let name = text(ffi::MPI_MAX_PROCESSOR_NAME as i32, |at, len| {
        // SAFETY: there is room for the longest name; MPI has been begun.
        unsafe { ffi::MPI_Get_processor_name(at, len) }
    });
    match name.is_empty() {
        true => "an unknown host".into(),
        false => name,
    }
}

/// A text that MPI writes, of so many bytes at most; an empty one where it cannot.
fn text(room: i32, write: impl FnOnce(*mut std::ffi::c_char, *mut i32) -> i32) -> String {
    let (mut bytes, mut len) = (vec![0_u8; room as usize], 0);
    if write(bytes.as_mut_ptr().cast(), &raw mut len) != SUCCESS {
        return String::new();
    }
    let told = bytes.get(..len as usize).unwrap_or_default();
    // Open MPI counts the NUL at the end.
    String::from_utf8_lossy(told).trim_end_matches('\0').into()
}

/// Bytes of a host's name that are told to others: as many as MPI has room for.
const NAME: usize = 256;

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
    fn room(&mut self, len: usize) -> &mut [MaybeUninit<u8>] {
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

/// Something that MPI is doing, and the bytes that it does it with.
pub(crate) struct Operation {
    request: ffi::MPI_Request,
    memory: Memory,
    /// How many of them MPI writes, into room that they have.
    comes: usize,
    done: bool,
    _not_send: PhantomData<Rc<()>>,
}

impl Operation {
    fn begin(
        mut memory: Memory,
        call: impl FnOnce(&mut Memory, *mut ffi::MPI_Request) -> i32,
    ) -> Operation {
        // SAFETY: a constant.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        inside(|| call(&mut memory, &raw mut request));
        Operation {
            request,
            memory,
            comes: 0,
            done: false,
            _not_send: PhantomData,
        }
    }

    /// Whether MPI has done it.
    pub(crate) fn is_done(&mut self) -> bool {
        if !self.done {
            let mut flag = 0;
            // SAFETY: a request that MPI has given, or none.
            inside(|| unsafe {
                let (request, status) = (&raw mut self.request, ffi::RSMPI_STATUS_IGNORE);
                ffi::MPI_Test(request, &raw mut flag, status)
            });
            self.done = flag != 0;
            if self.done && self.comes > 0 {
                // SAFETY: there was room for so many, and MPI has written them: they are the whole message.
                unsafe {
                    match &mut self.memory {
                        Memory::Bytes(bytes) => bytes.set_len(self.comes),
                        Memory::Room(memory) => memory.fill(self.comes),
                        Memory::Slice(..) => {}
                    }
                }
            }
        }
        self.done
    }

    /// Whether it sends a slice of a value.
    pub(crate) fn is_of_slice(&self) -> bool {
        self.memory.is_slice()
    }

    /// How many bytes it sends or receives.
    pub(crate) fn len(&self) -> usize {
        self.memory.len().max(self.comes)
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
