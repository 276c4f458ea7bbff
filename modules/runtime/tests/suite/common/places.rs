//! Places where the network of a test runs: one scheduler, several schedulers, OS processes that
//! are threads of the test and receive frames late, and OS processes that share memory.

use std::any::type_name;
use std::cell::RefCell;
use std::collections::HashMap;
use std::process::{Command, ExitCode, Output};
use std::sync::Arc;

use graphmap_runtime as rt;
use rt::{Exit, Network, Options, Report, RunError, Sequence};

use super::itself::variables;
use super::simulated::run_simulated;
use super::{Log, Random};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// One scheduler.
    One,
    /// One scheduler per thread, each with a block of the processes.
    Threads(usize),
    /// More schedulers than threads.
    Fewer(usize, usize),
    /// As `Threads`, with the processes distributed round-robin.
    InTurn(usize),
    /// As `Threads`, with a mapping that the seed determines.
    Drawn(usize),
    /// OS processes that are threads of the test. Frames between them arrive late.
    Late(usize),
    LateInTurn(usize),
    LateDrawn(usize),
    /// OS processes that share memory, and the number of schedulers in each.
    Shared(usize, usize),
}

/// Places in one memory, whose channels take tokens of any type. Miri takes a second for each.
pub const TOGETHER: &[Place] = if cfg!(miri) {
    &[Place::One, Place::Threads(2), Place::InTurn(3)]
} else {
    &[
        Place::One,
        Place::Threads(2),
        Place::Threads(5),
        Place::Fewer(5, 2),
        Place::InTurn(3),
    ]
};

/// Places of ranks within the test's own OS process.
pub const RANKS: [Place; 6] = [
    Place::One,
    Place::Threads(2),
    Place::InTurn(3),
    Place::Late(2),
    Place::LateInTurn(2),
    Place::LateInTurn(3),
];

/// Places of random programs.
pub const ALL: &[Place] = &[
    Place::One,
    Place::Threads(2),
    Place::Fewer(5, 2),
    Place::Drawn(3),
    Place::Late(2),
    Place::LateDrawn(3),
    Place::Shared(2, 2),
    Place::Shared(3, 1),
];

impl Place {
    /// Returns whether all processes are in one memory.
    pub fn is_together(self) -> bool {
        !self.is_late() && !self.is_shared()
    }

    pub fn is_late(self) -> bool {
        matches!(
            self,
            Place::Late(_) | Place::LateInTurn(_) | Place::LateDrawn(_)
        )
    }

    pub fn is_shared(self) -> bool {
        matches!(self, Place::Shared(..))
    }

    /// Returns the mapping of a number of processes, or `None` if they are mapped in blocks.
    fn mapping(self, processes: usize, seed: u64) -> Option<Sequence> {
        let mut random = Random(!seed);
        let mut part = |rank: usize| match self {
            Place::InTurn(parts) | Place::LateInTurn(parts) => Some(rank % parts),
            Place::Drawn(parts) | Place::LateDrawn(parts) => {
                Some(random.below(parts as u64) as usize)
            }
            _ => None,
        };
        let parts = (0..processes).map(|rank| Some(part(rank)?.to_string()));
        let parts: Vec<String> = parts.collect::<Option<_>>()?;
        Some(parts.join(" ").parse().unwrap())
    }

    /// Returns the options of a run of a number of processes here.
    fn options(self, processes: usize, seed: u64, options: &Options) -> Options {
        let mut options = options.clone();
        if let Some(mapping) = self.mapping(processes, seed) {
            options = options.mapping(mapping);
        }
        match self {
            Place::Threads(count) | Place::InTurn(count) | Place::Drawn(count) => {
                let threads = if cfg!(miri) { count.min(2) } else { count };
                options.os_processes(count).threads(threads)
            }
            Place::Fewer(count, threads) => options.os_processes(count).threads(threads),
            _ => options,
        }
    }

    /// Runs a network here. The seed determines mappings and delays.
    ///
    /// # Panics
    ///
    /// If the place is [`Place::Shared`], because only [`run_all`] can return lines from OS
    /// processes.
    pub fn run(
        self,
        seed: u64,
        options: &Options,
        make: impl Fn() -> Network + Sync,
    ) -> Result<Report, RunError> {
        assert!(!self.is_shared(), "OS processes return no report");
        let network = make();
        let options = self.options(network.processes(), seed, options);
        match self {
            Place::Late(count) | Place::LateInTurn(count) | Place::LateDrawn(count) => {
                run_simulated(make, &options, count, seed)
            }
            _ => rt::run(network, &options),
        }
    }
}

/// Runs a network at each place in one memory, and passes the result to `check`.
pub fn each(mut make: impl FnMut() -> Network, mut check: impl FnMut(Result<Report, RunError>)) {
    for place in TOGETHER {
        let network = make();
        let options = place.options(network.processes(), 0, &Options::new());
        check(rt::run(network, &options));
    }
}

/// Function that takes lines from the processes of a network, at any place.
pub type Record = Arc<dyn Fn(String) + Send + Sync>;

/// The outcome of a run at any place.
#[derive(Debug)]
pub struct Outcome {
    pub exit: Exit,
    /// The error, if there was one. For OS processes, their standard error.
    pub error: String,
    /// Lines that the processes have passed to [`Record`], sorted.
    pub lines: Vec<String>,
    /// Result of the run, or `None` for OS processes.
    pub ended: Option<Result<Report, RunError>>,
}

/// Runs a network at each of the places, and passes the outcome to `check`. `make` must be a
/// closure of the test, because the name of its type shows which test to start again for OS
/// processes.
pub fn run_all<M>(
    places: &[Place],
    seed: u64,
    options: &Options,
    make: M,
    check: impl FnMut(Place, Outcome),
) where
    M: Fn(Place, Record) -> Network + Sync,
{
    run_all_as(type_name::<M>(), places, seed, options, make, check);
}

/// As [`run_all`], for the test that has a closure with this type name.
pub fn run_all_as(
    closure: &'static str,
    places: &[Place],
    seed: u64,
    options: &Options,
    make: impl Fn(Place, Record) -> Network + Sync,
    mut check: impl FnMut(Place, Outcome),
) {
    for &place in places {
        if let Place::Shared(os_processes, schedulers) = place {
            // Miri cannot start other programs.
            if cfg!(miri) {
                continue;
            }
            let make = |record| make(place, record);
            if let Some(outcome) = run_shared(closure, os_processes, schedulers, make) {
                check(place, outcome);
            }
        } else if !is_within() && (!cfg!(miri) || place.is_together()) {
            let log = Log::new();
            let record: Record = Arc::new(log.adder());
            let ended = place.run(seed, options, || make(place, Arc::clone(&record)));
            let error = ended.as_ref().err();
            let outcome = Outcome {
                exit: error.map_or(Exit::Ok, RunError::exit),
                error: error.map(RunError::to_string).unwrap_or_default(),
                lines: log.sorted(),
                ended: Some(ended),
            };
            check(place, outcome);
        }
    }
}

/// Environment variable with the number of the run that this program executes. A test counts its
/// runs in OS processes.
const RUN: &str = "GRAPHMAP_TEST_RUN";

/// Returns whether this program was started by a test.
pub fn is_within() -> bool {
    std::env::var_os(RUN).is_some()
}

thread_local! {
    /// Number of runs in OS processes so far, by test.
    static RUNS: RefCell<HashMap<&'static str, usize>> = RefCell::default();
}

/// Starts this test again as a program that executes only this run. In that program, this run does
/// not return, and all others return `None`.
fn run_shared(
    closure: &'static str,
    os_processes: usize,
    schedulers: usize,
    make: impl FnOnce(Record) -> Network,
) -> Option<Outcome> {
    let (test, _) = closure
        .split_once("::{{closure}}")
        .unwrap_or_else(|| panic!("no closure of a test: {closure}"));
    let (_, test) = test.split_once("::").expect("a module of a crate");
    let number = RUNS.with_borrow_mut(|runs| {
        let number = runs.entry(test).or_default();
        *number += 1;
        number.to_string()
    });
    match std::env::var(RUN) {
        Ok(wanted) if wanted == number => be(make),
        Ok(_) => return None,
        Err(_) => {}
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .envs(variables(test, os_processes))
        .env("GRAPHMAP_SCHEDULERS", schedulers.to_string())
        .env("RUST_BACKTRACE", "0")
        .env(RUN, &number);
    let Output { stdout, stderr, .. } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, error) = (text(stdout), text(stderr));
    assert!(!error.contains("LeakSanitizer"), "{test}: {error}");
    // The first lines are from the test harness, which may not end them with a line break.
    let after = |line: &str, mark: &str| Some(line[line.find(mark)? + mark.len()..].to_string());
    let mut lines: Vec<String> = out.lines().filter_map(|line| after(line, LINE)).collect();
    lines.sort();
    let code = out.lines().find_map(|line| after(line, CODE));
    let code = code.unwrap_or_else(|| panic!("{test} has not ended: {out}{error}"));
    let exits = [
        Exit::Ok,
        Exit::Failed,
        Exit::Usage,
        Exit::Blocked,
        Exit::Lost,
        Exit::Memory,
    ];
    let exit = exits.into_iter().find(|&exit| code == shown(exit));
    Some(Outcome {
        exit: exit.unwrap_or_else(|| panic!("{test}: {code}")),
        error,
        lines,
        ended: None,
    })
}

const LINE: &str = "process tells: ";
const CODE: &str = "run ends: ";

fn shown(exit: Exit) -> String {
    format!("{:?}", ExitCode::from(exit))
}

/// Runs as one of the OS processes of a run, and exits.
#[allow(clippy::print_stdout)]
fn be(make: impl FnOnce(Record) -> Network) -> ! {
    let record: Record = Arc::new(|lines| println!("{LINE}{lines}"));
    let code = rt::main(|| make(record));
    println!("{CODE}{code:?}");
    std::process::exit(0)
}
