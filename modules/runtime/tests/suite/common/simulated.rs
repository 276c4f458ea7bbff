//! Link between OS processes that are threads of the test. Frames arrive late, and only those of
//! one sender stay in order. Quiescence is detected by examining all OS processes at once.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use super::Random;
use graphmap_runtime as rt;
use rt::between::{Doorbell, Header, Job, Link, RunState};
use rt::{Network, Options, Report, RunError};

/// Limit of the number of receives that do not see a frame yet, exclusive.
const LATE: u64 = 4;

/// Function that may change a frame when it is sent.
pub type Forge = fn(&mut Random, &Header, &mut Vec<u8>);

/// State that all OS processes share.
struct World {
    all: Mutex<All>,
    forge: Forge,
    /// Wakes each OS process.
    woken: Vec<Condvar>,
}

/// Frames from one OS process to another, and the number of receives that each one will still miss.
type Queue = VecDeque<(Header, Vec<u8>, u64)>;

struct All {
    random: Random,
    /// Queues by receiver and sender.
    queues: Vec<Vec<Queue>>,
    /// Whether each OS process can be rung, and whether it counts as asleep.
    waits: Vec<bool>,
    asleep: Vec<bool>,
    has_activity: bool,
    detection: u32,
    state: RunState,
    cause: Option<Vec<u8>>,
}

impl All {
    /// Returns whether no OS process is awake, no frame is on its way, and something has run since
    /// the last detection.
    fn is_quiescent(&self) -> bool {
        let empty = |queues: &Vec<Queue>| queues.iter().all(VecDeque::is_empty);
        self.has_activity
            && self.state == RunState::Running
            && self.detection.is_multiple_of(2)
            && self.asleep.iter().all(|&asleep| asleep)
            && self.queues.iter().all(empty)
    }
}

impl World {
    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap()
    }

    fn ring_all(&self, all: &mut All) {
        (0..self.woken.len()).for_each(|who| self.ring(all, who));
    }

    /// Wakes an OS process if it can be rung. From then on, it does not count as asleep.
    fn ring(&self, all: &mut All, who: usize) {
        if std::mem::take(&mut all.waits[who]) {
            all.asleep[who] = false;
            self.woken[who].notify_all();
        }
    }
}

struct Bell(Arc<World>, usize);

impl Doorbell for Bell {
    fn ring(&self) {
        self.0.ring(&mut self.0.all(), self.1);
    }

    fn note_activity(&self) {
        self.0.all().has_activity = true;
    }
}

struct Simulated {
    world: Arc<World>,
    me: usize,
}

impl Link for Simulated {
    fn me(&self) -> usize {
        self.me
    }

    fn count(&self) -> usize {
        self.world.woken.len()
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::new(Bell(Arc::clone(&self.world), self.me))
    }

    fn send(&self, to: usize, header: Header, bytes: &[u8]) {
        let mut all = self.world.all();
        let late = all.random.below(LATE);
        let mut bytes = bytes.to_vec();
        (self.world.forge)(&mut all.random, &header, &mut bytes);
        all.queues[to][self.me].push_back((header, bytes, late));
        self.world.ring(&mut all, to);
    }

    fn flush(&self) -> bool {
        true
    }

    fn is_filled(&self) -> bool {
        let all = self.world.all();
        all.queues[self.me].iter().any(|queue| !queue.is_empty())
    }

    fn sleep(&self, stay: &dyn Fn() -> bool, at_most: Option<Duration>) {
        let end = at_most.map(|at_most| Instant::now() + at_most);
        self.world.all().waits[self.me] = true;
        let stays = stay();
        let mut all = self.world.all();
        let filled = all.queues[self.me].iter().any(|queue| !queue.is_empty());
        if stays || filled {
            all.waits[self.me] = false;
            return;
        }
        // Rung in the meantime, so it never counted as asleep.
        if !all.waits[self.me] {
            return;
        }
        all.asleep[self.me] = true;
        if all.is_quiescent() {
            all.detection += 1;
            self.world.ring_all(&mut all);
        }
        while all.waits[self.me] {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            let woken = &self.world.woken[self.me];
            all = match left {
                Some(left) => woken.wait_timeout(all, left).unwrap().0,
                None => woken.wait(all).unwrap(),
            };
        }
        all.waits[self.me] = false;
        all.asleep[self.me] = false;
    }

    fn detection(&self) -> Option<u32> {
        let detection = self.world.all().detection;
        (!detection.is_multiple_of(2)).then_some(detection)
    }

    fn clear_activity(&self) {
        self.world.all().has_activity = false;
    }

    fn end_detection(&self) {
        self.world.all().detection += 1;
    }

    fn state(&self) -> RunState {
        self.world.all().state
    }

    fn end(&self) {
        let mut all = self.world.all();
        if all.state == RunState::Running {
            all.state = RunState::Ended;
        }
        self.world.ring_all(&mut all);
    }

    fn fail(&self, cause: &[u8]) {
        let mut all = self.world.all();
        all.state = RunState::Failed;
        all.cause.get_or_insert_with(|| cause.to_vec());
        self.world.ring_all(&mut all);
    }

    fn cause(&self) -> Option<Vec<u8>> {
        self.world.all().cause.clone()
    }

    fn done(&self) {}
}

impl Simulated {
    /// Returns a frame that has arrived, or `None`.
    fn next(&self) -> Option<(usize, Header, Vec<u8>)> {
        let mut all = self.world.all();
        let count = self.count();
        let first = all.random.below(count as u64) as usize;
        for from in (0..count).map(|at| (first + at) % count) {
            let queue = &mut all.queues[self.me][from];
            match queue.front_mut() {
                Some((_, _, late)) if *late > 0 => *late -= 1,
                Some(_) => {
                    let (header, bytes, _) = queue.pop_front().unwrap();
                    return Some((from, header, bytes));
                }
                None => {}
            }
        }
        None
    }
}

impl Job for Simulated {
    fn send_owned(&self, to: usize, header: Header, bytes: Vec<u8>) {
        self.send(to, header, &bytes);
    }

    fn receive(&self, take: &mut dyn FnMut(usize, Header, &[u8])) -> Result<bool, String> {
        let next = self.next();
        if let Some((from, header, bytes)) = &next {
            take(*from, *header, bytes);
        }
        Ok(next.is_some())
    }

    fn messages(&self) -> u64 {
        0
    }

    fn begin(&self, _network: u64) {}

    fn finish(&self) {}

    fn wait_for_abort(&self, _at_most: Duration) -> bool {
        false
    }

    fn abort(&self, code: u8) -> ! {
        panic!("ends with {code}")
    }
}

/// Runs a network in a number of OS processes, each of which makes its own copy. Returns the result
/// of the first one. `seed` determines the delays of frames.
pub fn run_simulated(
    network: impl Fn() -> Network + Sync,
    options: &Options,
    os_processes: usize,
    seed: u64,
) -> Result<Report, RunError> {
    run_forged(network, options, os_processes, seed, |_, _, _| {})
}

/// As [`run_simulated`], with a function that may change each frame.
pub fn run_forged(
    network: impl Fn() -> Network + Sync,
    options: &Options,
    os_processes: usize,
    seed: u64,
    forge: Forge,
) -> Result<Report, RunError> {
    let queues = || (0..os_processes).map(|_| VecDeque::new()).collect();
    let world = Arc::new(World {
        all: Mutex::new(All {
            random: Random(seed | 1),
            queues: (0..os_processes).map(|_| queues()).collect(),
            waits: vec![false; os_processes],
            asleep: vec![false; os_processes],
            has_activity: true,
            detection: 0,
            state: RunState::Running,
            cause: None,
        }),
        forge,
        woken: (0..os_processes).map(|_| Condvar::new()).collect(),
    });
    let one = |me: usize| {
        let world = Arc::clone(&world);
        let job: Rc<dyn Job> = Rc::new(Simulated { world, me });
        rt::run_over(network(), options, &job)
    };
    thread::scope(|scope| {
        let one = &one;
        let others = (1..os_processes).map(|me| scope.spawn(move || drop(one(me))));
        let others: Vec<_> = others.collect();
        let first = one(0);
        for other in others {
            other.join().unwrap();
        }
        first
    })
}
