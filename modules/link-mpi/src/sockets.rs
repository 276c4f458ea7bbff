//! The TCP connections of this OS process that others have opened in it, as MPI does.

use std::ffi::c_void;
use std::fs;
use std::io;
use std::net::{IpAddr, TcpStream};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::net::sockopt;

unsafe extern "C" {
    fn getsockopt(fd: i32, level: i32, name: i32, value: *mut c_void, len: *mut u32) -> i32;
}

// Of Linux: `IPPROTO_TCP`, `TCP_INFO`.
const TCP: i32 = 6;
const INFO: i32 = 11;
/// Where `struct tcp_info` has its `tcpi_state`, its `tcpi_retransmits` and `tcpi_probes`, which
/// are 0 again when an answer comes, and its `tcpi_last_ack_recv`, in milliseconds.
const STATE: usize = 0;
const RETRANSMITS: usize = 2;
const PROBES: usize = 3;
const ESTABLISHED: u8 = 1;
const LAST_ACK: usize = 56;
/// Unanswered messages after which the kernel would close a connection: never before we have found
/// it out.
const UNANSWERED: u32 = 127;

/// A TCP connection.
pub(crate) struct Connection {
    socket: TcpStream,
    /// The address of the other side.
    pub(crate) to: IpAddr,
    /// How long nothing has been acknowledged there: for want of an answer, or of a question.
    pub(crate) silence: Duration,
    /// How often the kernel has asked there since, or sent again.
    pub(crate) unanswered: u32,
}

/// Returns the connections that are open.
pub(crate) fn all() -> impl Iterator<Item = Connection> {
    let numbers = fs::read_dir("/proc/self/fd").into_iter().flatten();
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    numbers.flatten().filter_map(number).filter_map(connection)
}

/// Returns the connection that this file of the OS process is, if it is one.
fn connection(fd: i32) -> Option<Connection> {
    let mut info = [0u8; LAST_ACK + 4];
    let mut len = info.len() as u32;
    // Before it is duplicated, because to close a duplicate of another file would release its
    // locks. SAFETY: there is room for `len` bytes.
    let error = unsafe { getsockopt(fd, TCP, INFO, info.as_mut_ptr().cast(), &raw mut len) };
    if error != 0 || (len as usize) < info.len() || info[STATE] != ESTABLISHED {
        return None;
    }
    // SAFETY: it is open for no longer than this takes. It may be closed by now, or another: then
    // it is that of which is reported, or there is none.
    let file = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned();
    let socket = TcpStream::from(file.ok()?);
    let last = info[LAST_ACK..].try_into().map(u32::from_ne_bytes).ok()?;
    Some(Connection {
        to: socket.peer_addr().ok()?.ip(),
        silence: Duration::from_millis(last.into()),
        unanswered: u32::from(info[RETRANSMITS]) + u32::from(info[PROBES]),
        socket,
    })
}

impl Connection {
    /// From now on the kernel asks the other side for an answer every so often.
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
