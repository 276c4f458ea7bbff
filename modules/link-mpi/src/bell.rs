//! How others reach the thread that calls MPI while it sleeps: other threads of this OS process, and other OS processes of this host.

use std::fmt::Write;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use graphmap_runtime::between::Doorbell;

use crate::sockets::{self, Readable};

/// Names of bells are no longer than this.
pub(crate) const NAME: usize = 48;
/// So many names are tried: each has the time in it.
const TRIED: u32 = 16;
/// Most strokes that are taken at a time: whoever sends more is heard once more.
const STROKES: usize = 64;

/// The bell of an OS process.
pub(crate) struct Bell {
    rung: AtomicBool,
    /// Its thread sleeps, or is about to.
    asleep: AtomicBool,
    stirred: AtomicBool,
    /// Where a stroke is a byte.
    socket: UnixDatagram,
    name: Vec<u8>,
    own: SocketAddr,
}

impl Doorbell for Bell {
    fn ring(&self) {
        // Before it is asked whether anybody sleeps, as who does has asked for it after having said so.
        self.rung.store(true, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) && self.asleep.swap(false, Ordering::SeqCst) {
            self.strike(&self.own);
        }
    }

    fn stir(&self) {
        self.stirred.store(true, Ordering::SeqCst);
    }
}

impl Bell {
    /// A bell whose name nobody else on this host has, as far as it has the same network.
    pub(crate) fn new() -> io::Result<Bell> {
        let mut tried = 0;
        loop {
            let time = SystemTime::now().duration_since(UNIX_EPOCH);
            let mut name = String::new();
            let _ = write!(
                name,
                "graphmap-{}-{:x}",
                process::id(),
                time.unwrap_or_default().as_nanos()
            );
            let own = SocketAddr::from_abstract_name(&name)?;
            match UnixDatagram::bind_addr(&own) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && tried < TRIED => {
                    tried += 1;
                }
                bound => {
                    let socket = bound?;
                    socket.set_nonblocking(true)?;
                    return Ok(Bell {
                        rung: AtomicBool::new(false),
                        asleep: AtomicBool::new(false),
                        stirred: AtomicBool::new(false),
                        socket,
                        name: name.into_bytes(),
                        own,
                    });
                }
            }
        }
    }

    /// By which others find it.
    pub(crate) fn name(&self) -> &[u8] {
        &self.name
    }

    /// Rings a bell, of another OS process or this one. Where there is no room for a stroke, there are others.
    pub(crate) fn strike(&self, bell: &SocketAddr) {
        let _ = self.socket.send_to_addr(&[0], bell);
    }

    /// Whether it was rung in this OS process since it was last asked.
    pub(crate) fn take(&self) -> bool {
        self.rung.load(Ordering::SeqCst) && self.rung.swap(false, Ordering::SeqCst)
    }

    /// Waits until it is rung, or there is something to read in one of these sockets, for a time at most. What has ended the wait: nothing
    /// of it, if that was another thread of this OS process.
    pub(crate) fn wait(&self, sockets: &[i32], at_most: Duration) -> Readable {
        self.asleep.store(true, Ordering::SeqCst);
        if self.rung.load(Ordering::SeqCst) {
            self.asleep.store(false, Ordering::SeqCst);
            return Readable::default();
        }
        let mut readable = sockets::wait(&self.socket, sockets, at_most);
        self.asleep.store(false, Ordering::SeqCst);
        if readable.own {
            let mut stroke = [0];
            for _ in 0..STROKES {
                if self.socket.recv(&mut stroke).is_err() {
                    break;
                }
            }
            readable.own = !self.rung.load(Ordering::SeqCst);
        }
        readable
    }

    /// Whether something has run since it was last set.
    pub(crate) fn stirred(&self) -> bool {
        self.stirred.load(Ordering::SeqCst)
    }

    pub(crate) fn unstir(&self) {
        self.stirred.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn threads_are_heard_whenever_they_ring() {
        let bell = Bell::new().unwrap();
        for _ in 0..1000 {
            thread::scope(|scope| {
                scope.spawn(|| bell.ring());
                // The stroke of the time before may come late, and ends this wait.
                while !bell.take() {
                    bell.wait(&[], HOUR);
                }
            });
        }
    }

    #[test]
    fn others_are_heard_by_name() {
        let (one, other) = (Bell::new().unwrap(), Bell::new().unwrap());
        assert!(one.name() != other.name() && one.name().len() <= NAME);
        let name = SocketAddr::from_abstract_name(one.name()).unwrap();
        // More than there is room for.
        for _ in 0..1000 {
            other.strike(&name);
        }
        assert!(one.wait(&[], HOUR).own && !one.take());
        while one.wait(&[], Duration::ZERO).own {}
        thread::scope(|scope| {
            scope.spawn(|| other.strike(&name));
            assert!(one.wait(&[], HOUR).own);
        });
        // To nobody.
        drop(one);
        other.strike(&name);
    }
}
