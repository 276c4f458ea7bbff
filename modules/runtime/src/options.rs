//! What can be chosen for a run.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::block::Block;
use crate::error::RunError;
use crate::output_file::OutputFile;
use crate::pin;
use crate::running::Running;
use crate::sequence::Sequence;
use crate::trace::{EVENTS, MOST_EVENTS, Trace};

/// Most bytes of a mapping, and of one that comes from a pipe or a device: as `graphmap` has it for what grows with a drawing.
const MOST_IN_FILE: u64 = 4 << 30;
const MOST_IN_STREAM: u64 = 256 << 20;

/// The options of a run. [`main`](crate::main) reads them from the environment:
///
/// | variable | meaning |
/// |---|---|
/// | `GRAPHMAP_OS_PROCESSES=N` | OS processes; default 1, or as many as the mapping names |
/// | `GRAPHMAP_SCHEDULERS=N` | schedulers in each of them; default 1 |
/// | `GRAPHMAP_LINK=threads` | the OS processes are in truth threads of this one; the default |
/// | `GRAPHMAP_LINK=shm` | they are OS processes of their own on this host, joined by shared memory |
/// | `GRAPHMAP_LINK=mpi` | they are what `mpiexec` has started, of a program with the MPI link; the default where it has |
/// | `GRAPHMAP_THREADS=N` | threads that all schedulers of `GRAPHMAP_LINK=threads` share; default as many as there are cores, and no more than schedulers |
/// | `GRAPHMAP_SHUFFLE=SEED` | run the processes in a random order that the seed decides; with one scheduler the run is reproducible |
/// | `GRAPHMAP_MEMORY=SIZE` | most bytes that channels may grow by, such as `512MiB` or `2G`; default: no bound |
/// | `GRAPHMAP_PREFIX=1` | each line on standard output and standard error begins with the number of its OS process, `[0] ` |
/// | `GRAPHMAP_PIN=0` | OS processes are not pinned to cores of their own |
/// | `GRAPHMAP_CORES=LIST` | the cores of each OS process, as `0 2 4,5`; default: one for each, if there are enough |
/// | `GRAPHMAP_SINGLE_COPY=1` | OS processes read large tokens in each other's memory, where the kernel permits it; `0`: they go through shared memory; default: what takes less time |
/// | `GRAPHMAP_STATS=1` | after the run, a table on standard error of what each kind did |
/// | `GRAPHMAP_STATS=json:FILE` | the same as lines of JSON in a file |
/// | `GRAPHMAP_PROFILE=FILE` | measured load of each process and traffic of each channel, as JSON |
/// | `GRAPHMAP_TRACE=FILE` | what each process did when, as a trace for Perfetto |
/// | `GRAPHMAP_TRACE_EVENTS=N` | how many events of it each scheduler keeps: the last; default 65536 |
/// | `GRAPHMAP_PLACEMENT=SEQUENCE` | the OS process of each rank, as a [`Sequence`], where no file can be had by all |
/// | `GRAPHMAP_PLACED=HASH` | of the processes that it was made for: a run of others does not begin |
/// | `GRAPHMAP_MAPPING=FILE` | the OS process of each rank, as a [`Sequence`]; default: blocks of consecutive ranks |
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    pub(crate) os_processes: Option<usize>,
    pub(crate) schedulers: Option<usize>,
    pub(crate) link: Link,
    pub(crate) threads: Option<usize>,
    pub(crate) shuffle: Option<u64>,
    pub(crate) memory: Option<u64>,
    pub(crate) stats: bool,
    pub(crate) stats_file: Option<OutputFile>,
    pub(crate) profile: Option<OutputFile>,
    pub(crate) profiled: bool,
    pub(crate) mapping: Option<Sequence>,
    /// The processes that the mapping was made for.
    pub(crate) placed: Option<u64>,
    pub(crate) notice: Option<Notice>,
    /// Lines of output begin with the number of the OS process.
    pub(crate) prefix: bool,
    /// OS processes are left on whatever cores they are.
    pub(crate) unpinned: bool,
    /// Large tokens are read where they are, or take the way through shared memory like all others; or what takes less time.
    pub(crate) single_copy: Option<bool>,
    /// The cores of each OS process.
    pub(crate) cores: Option<Vec<Vec<u32>>>,
    /// What it does is recorded.
    pub(crate) trace: Option<Trace>,
    pub(crate) trace_events: Option<usize>,
    /// Where the run says that it is on.
    pub(crate) running: Option<Running>,
}

/// What joins the OS processes of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Link {
    /// They are threads of one.
    #[default]
    Threads,
    /// They share memory.
    SharedMemory,
    /// A launcher of MPI has started them.
    Mpi,
}

/// What is told of a standstill that something outside of the network may end.
#[derive(Clone)]
pub(crate) struct Notice(Arc<dyn Fn(&Block) + Send + Sync>);

impl Notice {
    /// Tells it: code of the user.
    pub(crate) fn give(&self, block: &Block) {
        (self.0)(block);
    }
}

impl PartialEq for Notice {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Notice {}

impl fmt::Debug for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notice").finish_non_exhaustive()
    }
}

impl Options {
    /// One scheduler, first in first out, nothing measured.
    pub fn new() -> Self {
        Options::default()
    }

    /// How many OS processes there are: at least 1. [`run`](crate::run) runs them as threads of one.
    pub fn os_processes(mut self, count: usize) -> Self {
        self.os_processes = Some(count);
        self
    }

    /// How many schedulers each OS process has: at least 1. They share its processes in blocks of consecutive ranks.
    pub fn schedulers(mut self, count: usize) -> Self {
        self.schedulers = Some(count);
        self
    }

    /// How many threads the schedulers share: at least 1. Without this there are as many as cores at
    /// most: two schedulers on one core would give it to each other by the kernel for each token that
    /// they pass on, and on one thread they pass it on themselves. A process that holds up its thread
    /// (it sleeps, or waits for a file) holds up all that share it.
    pub fn threads(mut self, count: usize) -> Self {
        self.threads = Some(count);
        self
    }

    /// Runs processes in a random order that the seed decides. A deterministic network gives the
    /// same results in any order.
    pub fn shuffle(mut self, seed: u64) -> Self {
        self.shuffle = Some(seed);
        self
    }

    /// How many bytes channels may grow by, all together, to resolve blocks: of each that grows, what it may hold
    /// more times what a token takes as a value (not what that owns elsewhere), at least one byte. A run that would need more ends
    /// with [`RunError::Memory`]. Without this there is no bound.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Measures what [`Report::kinds`](crate::Report::kinds) tells. It makes a run slower.
    pub fn stats(mut self, on: bool) -> Self {
        self.stats = on;
        self
    }

    /// Measures each process and channel for [`Report::profile`](crate::Report::profile).
    pub fn profile(mut self, on: bool) -> Self {
        self.profiled = on;
        self
    }

    /// Writes what each process did when, and who read what of whom, to a file in the JSON format of Chrome's traces, which
    /// [Perfetto](https://ui.perfetto.dev) shows: at the end of the run, whether it ends well or not. Each scheduler keeps its last
    /// [`Options::trace_events`]. Of a [`Local`](crate::Local) network there are turns and no messages. It makes a run slower.
    pub fn trace(mut self, file: impl AsRef<Path>) -> Self {
        self.trace = Some(Trace::new(file.as_ref()));
        self
    }

    /// How many events each scheduler keeps for [`Options::trace`]: turns of processes, tokens written and tokens read. At least 1 and
    /// at most 2^24; 65,536 if not said. An event takes 40 bytes during the run and some 150 in the file.
    pub fn trace_events(mut self, count: usize) -> Self {
        self.trace_events = Some(count.clamp(1, MOST_EVENTS));
        self
    }

    /// Where a scheduler is to record what it does.
    pub(crate) fn recording(&self) -> Option<Trace> {
        let events = self.trace_events.unwrap_or(EVENTS);
        self.trace.as_ref().map(|trace| trace.keeping(events))
    }

    /// The OS process of each rank. Without [`Options::os_processes`] there are as many as it
    /// names.
    pub fn mapping(mut self, mapping: Sequence) -> Self {
        self.mapping = Some(mapping);
        self
    }

    /// Calls a function when all processes have waited for two seconds while something outside of
    /// the network may still wake one (a timer, a socket of another library), and ever more rarely
    /// after that: with who waits for what. The run goes on, and waits meanwhile; so the function
    /// should be short. [`main`](crate::main) prints it.
    pub fn on_quiet(mut self, tell: impl Fn(&Block) + Send + Sync + 'static) -> Self {
        self.notice = Some(Notice(Arc::new(tell)));
        self
    }

    /// The options in the environment; see the table above.
    ///
    /// # Errors
    /// [`RunError::Options`] for a value that means nothing, [`RunError::File`] for a mapping
    /// file that cannot be read.
    pub fn from_env() -> Result<Self, RunError> {
        Self::from_variables(|name| env::var_os(name))
    }

    fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, RunError> {
        let get = |name: &str| get(name).filter(|value| !value.is_empty());
        let number = |name: &str| match get(name) {
            None => Ok(None),
            Some(value) => value
                .to_str()
                .and_then(|v| v.trim().parse::<u64>().ok())
                .map(Some)
                .ok_or_else(|| {
                    RunError::Options(format!("{name}={}: not a number", value.to_string_lossy()))
                }),
        };
        let mut options = Options {
            os_processes: number("GRAPHMAP_OS_PROCESSES")?
                .map(|count| usize::try_from(count).unwrap_or(usize::MAX)),
            schedulers: number("GRAPHMAP_SCHEDULERS")?
                .map(|count| usize::try_from(count).unwrap_or(usize::MAX)),
            threads: number("GRAPHMAP_THREADS")?
                .map(|count| usize::try_from(count).unwrap_or(usize::MAX)),
            shuffle: number("GRAPHMAP_SHUFFLE")?,
            profile: get("GRAPHMAP_PROFILE").map(OutputFile::new),
            ..Options::default()
        };
        if let Some(value) = get("GRAPHMAP_MEMORY") {
            let text = value.to_string_lossy();
            let bytes = bytes(text.trim()).ok_or_else(|| {
                let wanted = "a number of bytes such as 4096, 512MiB or 2G is wanted";
                RunError::Options(format!("GRAPHMAP_MEMORY={text}: {wanted}"))
            })?;
            options.memory = Some(bytes);
        }
        options.link = match get("GRAPHMAP_LINK") {
            None => Link::Threads,
            Some(value) if value == "threads" => Link::Threads,
            Some(value) if value == "shm" => Link::SharedMemory,
            Some(value) if value == "mpi" => Link::Mpi,
            Some(value) => {
                return Err(RunError::Options(format!(
                    "GRAPHMAP_LINK={}: it can be threads, shm or mpi",
                    value.to_string_lossy()
                )));
            }
        };
        let flag = |name: &str| match get(name).map(|value| value.to_string_lossy().into_owned()) {
            None => Ok(None),
            Some(value) if value == "0" => Ok(Some(false)),
            Some(value) if value == "1" => Ok(Some(true)),
            Some(value) => Err(RunError::Options(format!(
                "{name}={value}: it can be 0 or 1"
            ))),
        };
        options.prefix = flag("GRAPHMAP_PREFIX")?.unwrap_or(false);
        options.unpinned = !flag("GRAPHMAP_PIN")?.unwrap_or(true);
        options.single_copy = flag("GRAPHMAP_SINGLE_COPY")?;
        if let Some(value) = get("GRAPHMAP_CORES") {
            let text = value.to_string_lossy();
            let wanted = "the cores of each OS process are wanted, such as `0 2 4,5`";
            let cores = pin::parse(&text);
            let cores = cores
                .ok_or_else(|| RunError::Options(format!("GRAPHMAP_CORES={text}: {wanted}")))?;
            options.cores = Some(cores);
        }
        if let Some(file) = get("GRAPHMAP_TRACE") {
            options = options.trace(PathBuf::from(file));
        }
        if let Some(count) = number("GRAPHMAP_TRACE_EVENTS")? {
            if count == 0 || count > MOST_EVENTS as u64 {
                return Err(RunError::Options(format!(
                    "GRAPHMAP_TRACE_EVENTS={count}: it has to be 1 to {MOST_EVENTS}"
                )));
            }
            options = options.trace_events(count as usize);
        }
        options.profiled = options.profile.is_some();
        if let Some(value) = get("GRAPHMAP_STATS") {
            let text = value.to_string_lossy();
            match (&*text, text.strip_prefix("json:")) {
                ("0", _) => {}
                ("1", _) => options.stats = true,
                (_, Some(file)) if !file.is_empty() => {
                    options.stats = true;
                    options.stats_file = Some(OutputFile::new(file));
                }
                _ => {
                    return Err(RunError::Options(format!(
                        "GRAPHMAP_STATS={text}: it can be 1 or json:FILE"
                    )));
                }
            }
        }
        if let Some(file) = get("GRAPHMAP_MAPPING").map(PathBuf::from) {
            options.mapping = Some(read_mapping(&file)?);
        }
        if let Some(value) = get("GRAPHMAP_PLACEMENT") {
            if options.mapping.is_some() {
                let both = "GRAPHMAP_MAPPING and GRAPHMAP_PLACEMENT: there can be one of them";
                return Err(RunError::Options(both.into()));
            }
            let text = value.to_string_lossy();
            let sequence = text.parse().map_err(|error| {
                let start: String = text.chars().take(60).collect();
                RunError::Options(format!("GRAPHMAP_PLACEMENT={start}: {error}"))
            })?;
            options.mapping = Some(sequence);
        }
        if let Some(value) = get("GRAPHMAP_PLACED").filter(|_| options.mapping.is_some()) {
            let text = value.to_string_lossy();
            let hash = u64::from_str_radix(&text, 16).map_err(|_| {
                RunError::Options(format!(
                    "GRAPHMAP_PLACED={text}: it has to be a hash in hexadecimal digits"
                ))
            })?;
            options.placed = Some(hash);
        }
        Ok(options)
    }

    /// The options of a run in so many OS processes that a launcher has started.
    pub(crate) fn started(mut self, count: usize) -> Result<Self, RunError> {
        if let Some(asked) = self.os_processes
            && asked != count
        {
            return Err(RunError::Options(format!(
                "GRAPHMAP_OS_PROCESSES={asked}, and a launcher has started {count}: leave it out, or \
                 start as many"
            )));
        }
        if self.link == Link::SharedMemory {
            return Err(RunError::Options(format!(
                "GRAPHMAP_LINK=shm, and a launcher has started {count} OS processes, which MPI joins: leave \
                 it out, or start the program without the launcher"
            )));
        }
        if let Some(asked) = self.schedulers
            && asked != 1
        {
            return Err(RunError::Options(format!(
                "GRAPHMAP_SCHEDULERS={asked}, and MPI joins the OS processes: each has one scheduler then"
            )));
        }
        self.os_processes = Some(count);
        self.link = Link::Mpi;
        Ok(self)
    }
}

/// A number of bytes: in `K`, `M`, `G`, `T` and `KiB` to `TiB` powers of 1024 are counted, in `kB` to `TB` of 1000.
fn bytes(text: &str) -> Option<u64> {
    let (stem, base): (&str, u64) = match (text.strip_suffix("iB"), text.strip_suffix('B')) {
        (Some(stem), _) => (stem, 1024),
        (None, Some(stem)) => (stem, 1000),
        (None, None) => (text, 1024),
    };
    let unit = stem.chars().next_back()?.to_ascii_uppercase();
    let (number, unit) = match "KMGT".find(unit) {
        Some(power) => (
            stem[..stem.len() - 1].trim_end(),
            base.pow(power as u32 + 1),
        ),
        None => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// Reads a text, which may come from something that has no end.
fn read_text(file: &Path) -> io::Result<String> {
    let file = File::open(file)?;
    let most = match file.metadata()?.is_file() {
        true => MOST_IN_FILE,
        false => MOST_IN_STREAM,
    };
    let mut text = String::new();
    if file.take(most + 1).read_to_string(&mut text)? as u64 > most {
        let most = most >> 20;
        return Err(io::Error::other(format!("it has more than {most} MiB")));
    }
    Ok(text)
}

fn read_mapping(file: &Path) -> Result<Sequence, RunError> {
    let shown = file.display();
    let text = read_text(file)
        .map_err(|error| RunError::File(format!("{shown}: cannot read the mapping: {error}")))?;
    if text.trim_start().starts_with('{') {
        return Err(RunError::Options(format!(
            "{shown}: this looks like a mapping.json, which `graphmap run --mapping` takes; here the \
             numbers of the OS processes are wanted, by rank, such as `0 0 1`"
        )));
    }
    text.parse().map_err(|error: crate::SequenceError| {
        let before = &text.as_bytes()[..error.at.min(text.len())];
        let line = before.iter().filter(|&&c| c == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|&&c| c != b'\n').count() + 1;
        RunError::Options(format!("{shown}:{line}:{column}: {}", error.message))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(variables: &[(&str, &str)]) -> Result<Options, RunError> {
        Options::from_variables(|name| {
            variables
                .iter()
                .find(|v| v.0 == name)
                .map(|v| OsString::from(v.1))
        })
    }

    #[test]
    fn the_environment() {
        assert_eq!(parse(&[]).unwrap(), Options::new());
        let options = parse(&[
            ("GRAPHMAP_OS_PROCESSES", "3"),
            ("GRAPHMAP_SHUFFLE", "7"),
            ("GRAPHMAP_STATS", "json:a b"),
        ]);
        let mut expected = Options::new().os_processes(3).shuffle(7).stats(true);
        expected.stats_file = Some(OutputFile::new("a b"));
        assert_eq!(options.unwrap(), expected);
        for wrong in [
            ("GRAPHMAP_OS_PROCESSES", "two"),
            ("GRAPHMAP_THREADS", "many"),
            ("GRAPHMAP_SCHEDULERS", "some"),
            ("GRAPHMAP_SHUFFLE", "-1"),
            ("GRAPHMAP_STATS", "yes"),
            ("GRAPHMAP_LINK", "wire"),
            ("GRAPHMAP_STATS", "json:"),
            ("GRAPHMAP_PREFIX", "yes"),
            ("GRAPHMAP_PIN", "2"),
            ("GRAPHMAP_CORES", "0 -1"),
            ("GRAPHMAP_TRACE_EVENTS", "0"),
            ("GRAPHMAP_TRACE_EVENTS", "16777217"),
            ("GRAPHMAP_MEMORY", "much"),
            ("GRAPHMAP_MEMORY", "99999999T"),
            ("GRAPHMAP_MEMORY", "-1"),
            ("GRAPHMAP_MEMORY", "1.5G"),
            ("GRAPHMAP_PLACEMENT", "0 one"),
        ] {
            let error = parse(&[wrong]).unwrap_err();
            assert!(
                matches!(&error, RunError::Options(text) if text.contains(wrong.1)),
                "{error}"
            );
        }
    }

    #[test]
    fn what_was_placed() {
        let with = |hash| [("GRAPHMAP_PLACEMENT", "0 1"), ("GRAPHMAP_PLACED", hash)];
        assert_eq!(parse(&with("00ff")).unwrap().placed, Some(255));
        assert!(parse(&with("more")).is_err());
        // It says something of a mapping, and there is none.
        assert_eq!(parse(&with("00ff")[1..]).unwrap().placed, None);
    }

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("0", Some(0)),
            ("4096", Some(4096)),
            ("512MiB", Some(512 << 20)),
            ("2G", Some(2 << 30)),
            ("64 kB", Some(64_000)),
            ("1k", Some(1024)),
            ("3T", Some(3 << 40)),
            ("7B", None),
            ("G", None),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri keeps files away")]
    fn a_mapping_that_is_not_there() {
        let error = parse(&[("GRAPHMAP_MAPPING", "/nowhere/at all")]).unwrap_err();
        assert!(matches!(error, RunError::File(_)));
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "Miri keeps files away")]
    fn a_mapping_without_end() {
        let error = parse(&[("GRAPHMAP_MAPPING", "/dev/zero")]).unwrap_err();
        let told = "/dev/zero: cannot read the mapping: it has more than 256 MiB";
        assert_eq!(error, RunError::File(told.into()));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri keeps files away")]
    fn a_mapping_json_is_told_where_to_go() {
        let name = format!("graphmap-options-{}.json", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, "\n{\"graphmap_mapping\": 1}").unwrap();
        let error = read_mapping(&file).unwrap_err();
        std::fs::remove_file(&file).unwrap();
        let said = error.to_string();
        assert!(said.contains("`graphmap run --mapping` takes"), "{said}");
    }
}
