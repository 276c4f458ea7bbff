//! TCP connections of this OS process, including those that libraries such as MPI opened.

use std::ffi::c_void;
use std::fs;
use std::io;
use std::net::{IpAddr, TcpStream};
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::Duration;

use rustix::net::sockopt;

unsafe extern "C" {
    fn getsockopt(fd: i32, level: i32, name: i32, value: *mut c_void, len: *mut u32) -> i32;
    fn fcntl(fd: i32, command: i32, ...) -> i32;
}

// Constants of Linux: `IPPROTO_TCP`, `TCP_INFO`, `F_DUPFD_CLOEXEC`.
const TCP: i32 = 6;
const INFO: i32 = 11;
const DUPLICATE: i32 = 1030;
/// Offsets in `struct tcp_info`. `tcpi_retransmits` and `tcpi_probes` are reset to 0 when an answer
/// comes. `tcpi_last_ack_recv` is in milliseconds.
const STATE: usize = 0;
const RETRANSMITS: usize = 2;
const PROBES: usize = 3;
const ESTABLISHED: u8 = 1;
const LAST_ACK: usize = 56;
/// Number of unanswered probes after which the kernel closes a connection. It is large, so that
/// `watch.rs` always detects an unreachable host first.
const UNANSWERED: u32 = 127;

/// A TCP connection.
pub(crate) struct Connection {
    socket: TcpStream,
    /// Address of the other side.
    pub(crate) to: IpAddr,
    /// Time since the other side last acknowledged data. It also grows if no data was sent.
    pub(crate) silence: Duration,
    /// Number of retransmissions and probes since then.
    pub(crate) unanswered: u32,
}

/// Returns the established TCP connections of this OS process. Each holds a duplicate of the file
/// descriptor. Without `/proc`, there are none.
pub(crate) fn all() -> impl Iterator<Item = Connection> {
    let numbers = fs::read_dir("/proc/self/fd").into_iter().flatten();
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    numbers.flatten().filter_map(number).filter_map(connection)
}

/// Returns the connection of a file descriptor, with a duplicate of the descriptor. Returns `None`
/// if it is not an established TCP connection or cannot be duplicated.
fn connection(fd: i32) -> Option<Connection> {
    let mut info = [0u8; LAST_ACK + 4];
    let mut len = info.len() as u32;
    // This check precedes the duplication, because closing the duplicate of another file would
    // release its locks.
    // SAFETY: there is room for `len` bytes.
    let error = unsafe { getsockopt(fd, TCP, INFO, info.as_mut_ptr().cast(), &raw mut len) };
    if error != 0 || (len as usize) < info.len() || info[STATE] != ESTABLISHED {
        return None;
    }
    // If another thread has closed the descriptor, the call fails. If it has been reused, the new
    // file is examined.
    // SAFETY: the command takes a number, and does not access memory.
    let copy = unsafe { fcntl(fd, DUPLICATE, 3) };
    if copy < 0 {
        return None;
    }
    // SAFETY: the descriptor is new, so nothing else owns it.
    let socket = TcpStream::from(unsafe { OwnedFd::from_raw_fd(copy) });
    let last = info[LAST_ACK..].try_into().map(u32::from_ne_bytes).ok()?;
    Some(Connection {
        to: socket.peer_addr().ok()?.ip(),
        silence: Duration::from_millis(last.into()),
        unanswered: u32::from(info[RETRANSMITS]) + u32::from(info[PROBES]),
        socket,
    })
}

impl Connection {
    /// Makes the kernel probe the other side of the connection from now on, when the connection was
    /// idle for the duration `every`, and then at this interval. The duration is at least one
    /// second.
    ///
    /// # Errors
    /// Returns an error if an option of the socket cannot be set.
    pub(crate) fn keep_alive(&self, every: Duration) -> io::Result<()> {
        let every = every.max(Duration::from_secs(1));
        sockopt::set_tcp_keepidle(&self.socket, every)?;
        sockopt::set_tcp_keepintvl(&self.socket, every)?;
        sockopt::set_tcp_keepcnt(&self.socket, UNANSWERED)?;
        sockopt::set_socket_keepalive(&self.socket, true)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixDatagram;

    #[test]
    fn connections_are_found_and_nothing_else() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (from, _) = listener.accept().unwrap();
        for stream in [&to, &from] {
            let found = connection(stream.as_raw_fd()).unwrap();
            assert_eq!(found.to, IpAddr::from([127, 0, 0, 1]));
            found.keep_alive(Duration::ZERO).unwrap();
        }
        let other = UnixDatagram::unbound().unwrap();
        for fd in [listener.as_raw_fd(), other.as_raw_fd(), -1] {
            assert!(connection(fd).is_none());
        }
        assert!(all().count() >= 2);
    }
}
