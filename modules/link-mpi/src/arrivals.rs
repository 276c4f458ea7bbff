//! What wakes the thread that calls MPI when a message arrives. MPI wakes nobody; but between hosts it may use TCP, whose sockets the
//! kernel watches, and OS processes of the same host ring ([`rings`](crate::rings)).
//!
//! Whether a message comes by one of these ways is not known before it has come: so it is looked at MPI all the same, rarely, and who was
//! woken for nothing too often, or found too often what had woken nobody, does for some time as if there were no such ways.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::bell::Bell;
use crate::rings::Rings;
use crate::sockets::{self, Tcp};

/// The sockets are sought again after this, if something has come meanwhile: it takes some ten microseconds.
const SOUGHT: Duration = Duration::from_millis(100);
/// And not before so many times what it took: some ten milliseconds where ten thousand files are open, and a message may come meanwhile.
const TAKEN: u32 = 1000;
/// What a message tells that had woken nobody: so many times what one does that had, or a wake-up for nothing.
const MISSED: u32 = 8;
/// From here on there is doubt whether messages wake.
const DOUBT: u32 = 64;
/// For how long, the first time; each further time twice as long.
const DOUBTED: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Default)]
pub(crate) struct Arrivals {
    /// All others are of this host, and ring, or of another: then TCP is looked for.
    may_wake: bool,
    /// The addresses of other hosts.
    elsewhere: Vec<IpAddr>,
    sockets: Vec<i32>,
    /// There is nobody elsewhere, or sockets at which messages arrive from there.
    listens: bool,
    /// When they may be sought again; `None`: at once.
    again: Option<Instant>,
    /// How much had come when they were sought.
    moved: u64,
    /// The last wait relied on that messages wake, and nothing did.
    soundly: bool,
    /// How much had come when it was woken last.
    woken: Option<u64>,
    doubt: u32,
    doubts: u32,
    until: Option<Instant>,
}

impl Arrivals {
    /// Of OS processes whose bells are known, and hosts with these addresses: `None` for who is on a host of which none is known that leads
    /// only there.
    pub(crate) fn new(rings: &Rings, addresses: &[Option<Vec<IpAddr>>], me: usize) -> Arrivals {
        let mut others = (addresses.iter().enumerate()).filter(|&(other, _)| other != me);
        let elsewhere = others.clone().filter(|&(other, _)| !rings.reach(other));
        let mut elsewhere: Vec<IpAddr> = elsewhere
            .filter_map(|(_, addresses)| addresses.as_ref())
            .flatten()
            .copied()
            .collect();
        elsewhere.sort();
        elsewhere.dedup();
        Arrivals {
            may_wake: others.all(|(other, addresses)| rings.reach(other) || addresses.is_some()),
            elsewhere,
            ..Arrivals::default()
        }
    }

    /// Whether messages wake, as far as it is known: asked before a wait, after so many have come.
    pub(crate) fn wake(&mut self, now: Instant, moved: u64) -> bool {
        if !self.may_wake || self.until.is_some_and(|until| now < until) {
            return false;
        }
        if self
            .again
            .is_none_or(|again| self.moved != moved && again <= now)
        {
            let start = Instant::now();
            self.seek();
            let pause = SOUGHT.max(start.elapsed().saturating_mul(TAKEN));
            (self.again, self.moved) = (now.checked_add(pause), moved);
        }
        self.listens
    }

    /// Looks for sockets at which messages arrive: new connections at those that wait for them.
    fn seek(&mut self) {
        self.sockets.clear();
        self.listens = self.elsewhere.is_empty();
        if self.listens {
            return;
        }
        for (fd, socket) in sockets::all() {
            match socket {
                Tcp::Listening => self.listens = true,
                Tcp::Connected { to, .. } if self.elsewhere.binary_search(&to).is_ok() => {}
                Tcp::Connected { .. } => continue,
            }
            self.sockets.push(fd);
        }
    }

    /// Waits until something arrives, or the bell is rung, for a time at most, after so many have come. `relied`: for longer than if
    /// nothing woke. Whether something woke.
    pub(crate) fn wait(
        &mut self,
        bell: &Bell,
        at_most: Duration,
        relied: bool,
        moved: u64,
    ) -> bool {
        match self.woken {
            Some(before) if before != moved => {
                self.doubt = self.doubt.saturating_sub(1);
                if self.doubt == 0 {
                    self.doubts = 0;
                }
                self.woken = None;
            }
            // Not before: what has begun to arrive may take some looks, and answers of the other side, until a message is there.
            Some(_) if relied => self.doubt(1),
            _ => {}
        }
        let start = Instant::now();
        let sockets = if relied { &self.sockets[..] } else { &[] };
        let woken = bell.wait(sockets, at_most);
        if woken.changed {
            self.again = None;
        }
        let is_woken = woken.own || woken.other;
        // Short ones tell nothing: who has just looked for messages has found some for which it was rung, too.
        if relied {
            self.woken = is_woken.then_some(moved);
        }
        self.soundly = relied && !is_woken && start.elapsed() >= at_most;
        is_woken
    }

    /// After a wait, and a look at MPI: whether something had come.
    pub(crate) fn judge(&mut self, had_come: bool) {
        if std::mem::take(&mut self.soundly) && had_come {
            // It may have come at a new socket.
            self.again = None;
            self.doubt(MISSED);
        }
    }

    /// Messages do not wake as it was thought.
    fn doubt(&mut self, much: u32) {
        self.doubt += much;
        if self.doubt >= DOUBT {
            self.doubt = DOUBT / 2;
            self.until = Instant::now().checked_add(DOUBTED.saturating_mul(1 << self.doubts));
            self.doubts = (self.doubts + 1).min(16);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    use std::sync::Arc;

    const HOUR: Duration = Duration::from_secs(3600);
    const LOOPBACK: [u8; 4] = [127, 0, 0, 1];

    /// Of three OS processes, of which the first is this one and the second of the same host.
    fn arrivals(bell: &Arc<Bell>, third: Option<Vec<IpAddr>>) -> Arrivals {
        use crate::rings::{TOLD, told};
        let other = Bell::new().unwrap();
        let told = [told(bell), told(&other), vec![0; TOLD]].concat();
        let rings = Rings::new(bell, &told, 0);
        Arrivals::new(&rings, &[None, None, third], 0)
    }

    #[test]
    fn messages_wake_where_all_others_are_known() {
        let bell = Arc::new(Bell::new().unwrap());
        let now = Instant::now();
        assert!(!arrivals(&bell, None).wake(now, 0));
        assert!(!Arrivals::default().wake(now, 0));
        // There is a socket for new connections, as long as the test runs.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut arrivals = arrivals(&bell, Some(vec![LOOPBACK.into()]));
        assert!(arrivals.wake(now, 0));
        drop(listener);
    }

    #[test]
    fn what_comes_over_tcp_wakes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut to = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_from, _) = listener.accept().unwrap();
        let bell = Arc::new(Bell::new().unwrap());
        let mut arrivals = arrivals(&bell, Some(vec![LOOPBACK.into()]));
        assert!(arrivals.wake(Instant::now(), 0));
        to.write_all(&[0]).unwrap();
        assert!(arrivals.wait(&bell, HOUR, true, 0));
        arrivals.judge(true);
        assert_eq!(arrivals.doubt, 0);
    }

    #[test]
    fn what_wakes_nobody_may_have_come_over_a_new_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let bell = Arc::new(Bell::new().unwrap());
        let mut arrivals = arrivals(&bell, Some(vec![LOOPBACK.into()]));
        let now = Instant::now();
        assert!(arrivals.wake(now, 0));
        let mut to = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (from, _) = listener.accept().unwrap();
        to.write_all(&[0]).unwrap();
        // Numbers of files of other tests may be those of these by now.
        arrivals.sockets.clear();
        assert!(arrivals.wake(now, 1) && arrivals.sockets.is_empty());
        arrivals.soundly = true;
        arrivals.judge(true);
        assert!(arrivals.wake(now, 1) && arrivals.sockets.contains(&from.as_raw_fd()));
        assert!(arrivals.wait(&bell, HOUR, true, 1));
    }

    #[test]
    fn what_wakes_may_be_there_some_looks_later() {
        let bell = Arc::new(Bell::new().unwrap());
        let mut arrivals = arrivals(&bell, Some(Vec::new()));
        for moved in 0..u64::from(2 * DOUBT) {
            assert!(arrivals.wake(Instant::now(), moved));
            strike(&bell);
            assert!(arrivals.wait(&bell, HOUR, true, moved));
            arrivals.judge(false);
        }
        assert!(arrivals.doubt <= 1);
    }

    #[test]
    fn strokes_for_what_was_found_by_who_looked_are_no_reason_for_doubt() {
        let bell = Arc::new(Bell::new().unwrap());
        let mut arrivals = arrivals(&bell, Some(Vec::new()));
        for _ in 0..2 * DOUBT {
            strike(&bell);
            assert!(arrivals.wait(&bell, HOUR, false, 0));
            arrivals.judge(false);
        }
        assert_eq!(arrivals.doubt, 0);
    }

    #[test]
    fn who_does_not_rely_on_it_has_no_further_doubt() {
        let bell = Arc::new(Bell::new().unwrap());
        let mut arrivals = arrivals(&bell, Some(Vec::new()));
        arrivals.doubt(DOUBT);
        let until = arrivals.until;
        for _ in 0..2 * DOUBT {
            let relied = arrivals.wake(Instant::now(), 0);
            strike(&bell);
            arrivals.wait(&bell, HOUR, relied, 0);
            arrivals.judge(false);
        }
        assert_eq!(arrivals.until, until);
    }

    /// A stroke of another OS process.
    fn strike(bell: &Bell) {
        let name = SocketAddr::from_abstract_name(bell.name()).unwrap();
        Bell::new().unwrap().strike(&name);
    }

    #[test]
    fn what_is_told_wrongly_too_often_is_not_relied_on() {
        let bell = Arc::new(Bell::new().unwrap());
        let mut arrivals = Arrivals {
            may_wake: true,
            ..Arrivals::default()
        };
        let start = Instant::now();
        assert!(arrivals.wake(start, 0));
        let mut times = 0;
        // Nobody rings.
        while arrivals.wake(start, 0) {
            assert!(!arrivals.wait(&bell, Duration::from_millis(1), true, 0));
            arrivals.judge(true);
            times += 1;
        }
        assert_eq!(times, DOUBT / MISSED);
        assert!(arrivals.wake(start + HOUR, 0));
        // Who is woken for what has come makes up for it.
        for moved in 0..=u64::from(DOUBT / 2) {
            strike(&bell);
            assert!(arrivals.wait(&bell, HOUR, true, moved));
        }
        assert_eq!(arrivals.doubt, 0);
        // Nor where somebody rings for nothing.
        for _ in 0..=DOUBT {
            assert!(arrivals.wake(start + HOUR, 0));
            strike(&bell);
            assert!(arrivals.wait(&bell, HOUR, true, u64::MAX));
        }
        assert!(!arrivals.wake(start, 0));
    }
}
