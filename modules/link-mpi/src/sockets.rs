//! The TCP sockets of this OS process that others have opened in it, as MPI does: by their numbers, as nobody says which there are.

use std::ffi::c_void;
use std::fs;
use std::net::{IpAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

unsafe extern "C" {
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
/// Where `struct tcp_info` has its `tcpi_state`, its `tcpi_retransmits` and `tcpi_probes`, which are 0 again when an answer comes, and its
/// `tcpi_last_ack_recv`, in milliseconds.
const STATE: usize = 0;
const RETRANSMITS: usize = 2;
const PROBES: usize = 3;
const ESTABLISHED: u8 = 1;
const LISTEN: u8 = 10;
const LAST_ACK: usize = 56;
/// Unanswered messages after which the kernel would close a connection: never before we have found it out.
const UNANSWERED: i32 = 127;

/// What a TCP socket is.
pub(crate) enum Tcp {
    /// It waits for connections.
    Listening,
    Connected {
        /// To whom.
        to: IpAddr,
        /// How long nothing has been acknowledged there: for want of an answer, or of a question.
        silence: Duration,
        /// How often the kernel has asked there since, or sent again.
        unanswered: u32,
    },
}

/// The TCP sockets there are, each with its number: but those that are being closed, over which nothing comes any more.
pub(crate) fn all() -> impl Iterator<Item = (i32, Tcp)> {
    let numbers = fs::read_dir("/proc/self/fd").into_iter().flatten();
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let numbers = numbers.flatten().filter_map(number);
    numbers.filter_map(|fd| Some((fd, tcp(fd)?)))
}

/// What a file of this OS process is, if it is a TCP socket.
fn tcp(fd: i32) -> Option<Tcp> {
    let mut info = [0u8; LAST_ACK + 4];
    let mut len = info.len() as u32;
    // SAFETY: as many bytes are written as there is room for.
    let told = unsafe { getsockopt(fd, TCP, INFO, info.as_mut_ptr().cast(), &raw mut len) };
    if told != 0 || (len as usize) < info.len() {
        return None;
    }
    match info[STATE] {
        LISTEN => Some(Tcp::Listening),
        ESTABLISHED => {
            // SAFETY: it is open for no longer than this takes. It may be closed by now, or another: then it is that of which is
            // told, or there is none.
            let file = unsafe { BorrowedFd::borrow_raw(fd).try_clone_to_owned() };
            let last = info[LAST_ACK..].try_into().map(u32::from_ne_bytes).ok()?;
            Some(Tcp::Connected {
                to: TcpStream::from(file.ok()?).peer_addr().ok()?.ip(),
                silence: Duration::from_millis(last.into()),
                unanswered: u32::from(info[RETRANSMITS]) + u32::from(info[PROBES]),
            })
        }
        _ => None,
    }
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

/// So long is slept where the kernel cannot be asked to wait: nobody is heard meanwhile.
const NOT_HEARD: Duration = Duration::from_millis(1);

/// What ended a wait for something to read.
#[derive(Default)]
pub(crate) struct Readable {
    pub(crate) own: bool,
    /// One of the others.
    pub(crate) other: bool,
    /// One of the others is not what it was.
    pub(crate) changed: bool,
}

/// Waits until there is something to read in a file, or in others by their numbers, for a time at most.
pub(crate) fn wait(own: &impl AsFd, others: &[i32], at_most: Duration) -> Readable {
    let other = |&fd: &i32| {
        // SAFETY: it is polled, and nothing else. MPI closes a socket in its calls, of which there is none now, or in threads of its
        // own: whatever the number stands for then is what is waited for, or the kernel says that it is nothing.
        let file = unsafe { BorrowedFd::borrow_raw(fd) };
        PollFd::from_borrowed_fd(file, PollFlags::IN)
    };
    let mut files = vec![PollFd::new(own, PollFlags::IN)];
    files.extend(others.iter().map(other));
    let time = Timespec::try_from(at_most).ok();
    match poll(&mut files, time.as_ref()) {
        Ok(_) => {}
        // As well as woken.
        Err(Errno::INTR) => return Readable::default(),
        // More than there may be open, or no memory: who asks again and again would keep a core busy.
        Err(_) => {
            thread::sleep(at_most.min(NOT_HEARD));
            return Readable::default();
        }
    }
    let (own, others) = (files[0].revents(), &files[1..]);
    let gone = PollFlags::NVAL | PollFlags::HUP | PollFlags::ERR;
    Readable {
        own: !own.is_empty(),
        other: others.iter().any(|file| !file.revents().is_empty()),
        changed: others.iter().any(|file| file.revents().intersects(gone)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixDatagram;

    #[test]
    fn sockets_are_what_they_are() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (from, _) = listener.accept().unwrap();
        assert!(matches!(tcp(listener.as_raw_fd()), Some(Tcp::Listening)));
        for connection in [&to, &from] {
            let Some(Tcp::Connected { to, .. }) = tcp(connection.as_raw_fd()) else {
                panic!("a connection is one");
            };
            assert_eq!(to, IpAddr::from([127, 0, 0, 1]));
        }
        let own = UnixDatagram::unbound().unwrap();
        assert!(tcp(own.as_raw_fd()).is_none() && tcp(-1).is_none());
        let here: Vec<i32> = all().map(|(fd, _)| fd).collect();
        assert!(here.contains(&listener.as_raw_fd()) && here.contains(&to.as_raw_fd()));
        assert!(!here.contains(&own.as_raw_fd()));
    }

    #[test]
    fn what_can_be_read_ends_a_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut to = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (own, sender) = UnixDatagram::pair().unwrap();
        let (others, hour) = ([listener.as_raw_fd()], Duration::from_secs(3600));
        let readable = wait(&own, &others, hour);
        assert!(readable.other && !readable.own && !readable.changed);
        let (from, _) = listener.accept().unwrap();
        let others = [listener.as_raw_fd(), from.as_raw_fd()];
        let readable = wait(&own, &others, Duration::ZERO);
        assert!(!readable.other && !readable.own);
        sender.send(&[0]).unwrap();
        assert!(wait(&own, &others, hour).own);
        to.write_all(&[0]).unwrap();
        assert!(wait(&own, &others, hour).own);
        let readable = wait(&sender, &others, hour);
        assert!(readable.other && !readable.own && !readable.changed);
        drop(to);
        drop(sender);
        // A number that no file has.
        assert!(wait(&own, &[i32::MAX], hour).changed);
    }
}
