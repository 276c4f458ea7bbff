//! Options of a run from the environment variables `GRAPHMAP_*`.
//!
//! Every variable is checked at the start in every mode, even if the run does not use it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::RunError;
use crate::options::{Link, Options};
use crate::pin;
use crate::placement::MOST;
use crate::sequence::Sequence;
use crate::trace::{MOST_EVENTS, Trace};

/// Largest size in bytes of a mapping in a regular file, and from a pipe or device. `graphmap` has
/// the same limits for input that grows with a graph.
const MOST_IN_FILE: u64 = 4 << 30;
const MOST_IN_STREAM: u64 = 256 << 20;

/// First word of tables.
const TABLES: &str = "graphmap-tables ";

/// Valid sizes of a stack. The same as in `graphmap_fiber::Options`.
const STACK: RangeInclusive<u64> = 16 << 10..=1 << 30;

/// Largest number of characters of a value that an error message repeats.
const SHOWN: usize = 60;

/// An environment variable.
struct Variable {
    name: &'static str,
    /// Expected values, for error messages.
    expected: &'static str,
    /// Stores a value. Returns `None` if the value is not expected.
    store: fn(&mut Options, &OsStr) -> Option<()>,
}

const fn variable(
    name: &'static str,
    expected: &'static str,
    store: fn(&mut Options, &OsStr) -> Option<()>,
) -> Variable {
    Variable {
        name,
        expected,
        store,
    }
}

const COUNT: &str = "an integer from 1 to 4096";
const FLAG: &str = "0 or 1";
const _: () = assert!(MOST == 4096 && MOST_EVENTS == 16_777_216);

/// Variables that need no other file. `variables.md` documents them.
const VARIABLES: &[Variable] = &[
    variable("GRAPHMAP_OS_PROCESSES", COUNT, |options, value| {
        options.os_processes = Some(count(value)?);
        Some(())
    }),
    variable("GRAPHMAP_SCHEDULERS", COUNT, |options, value| {
        options.schedulers = Some(count(value)?);
        Some(())
    }),
    variable("GRAPHMAP_THREADS", COUNT, |options, value| {
        options.threads = Some(count(value)?);
        Some(())
    }),
    variable("GRAPHMAP_LINK", "threads, shm or mpi", |options, value| {
        options.link = link(value)?;
        Some(())
    }),
    variable(
        "GRAPHMAP_SHUFFLE",
        "an integer from 0 to 18446744073709551615",
        |options, value| {
            options.shuffle = Some(integer(value, 0..=u64::MAX)?);
            Some(())
        },
    ),
    variable(
        "GRAPHMAP_MEMORY",
        "a number of bytes such as 4096, 512MiB or 2G",
        |options, value| {
            options.memory = Some(bytes(text(value)?)?);
            Some(())
        },
    ),
    variable(
        "GRAPHMAP_STREAMS",
        "two files for each OS process after the first",
        |options, value| {
            let files: Vec<PathBuf> = text(value)?.split(' ').map(absolute).collect();
            let (streams, rest) = files.as_chunks();
            options.streams = streams.to_vec();
            rest.is_empty().then_some(())
        },
    ),
    variable("GRAPHMAP_PIN", FLAG, |options, value| {
        options.unpinned = !flag(value)?;
        Some(())
    }),
    variable(
        "GRAPHMAP_CORES",
        "the cores of each OS process, such as `0 2 4,5`",
        |options, value| {
            options.cores = Some(pin::parse(text(value)?)?);
            Some(())
        },
    ),
    variable("GRAPHMAP_SINGLE_COPY", FLAG, |options, value| {
        options.single_copy = Some(flag(value)?);
        Some(())
    }),
    variable("GRAPHMAP_STATS", "0, 1 or json:FILE", |options, value| {
        options.stats = value != "0";
        if let Some(file) = after(value, "json:") {
            options.stats_file = Some(absolute(file));
            return (!file.is_empty()).then_some(());
        }
        flag(value).map(drop)
    }),
    variable("GRAPHMAP_PROFILE", "a file", |options, value| {
        options.profile = Some(absolute(value));
        options.profiled = true;
        Some(())
    }),
    variable("GRAPHMAP_TRACE", "a file", |options, value| {
        options.trace = Some(Trace::new(Path::new(value)));
        Some(())
    }),
    variable(
        "GRAPHMAP_TRACE_EVENTS",
        "an integer from 1 to 16777216",
        |options, value| {
            options.trace_events = Some(integer(value, 1..=MOST_EVENTS as u64)? as usize);
            Some(())
        },
    ),
    variable(
        "GRAPHMAP_PLACED",
        "a hash of at most 16 hexadecimal digits",
        |options, value| {
            let text = text(value)?;
            let is_hash = text.bytes().all(|digit| digit.is_ascii_hexdigit());
            options.placed = Some(u64::from_str_radix(text, 16).ok().filter(|_| is_hash)?);
            Some(())
        },
    ),
    variable(
        "GRAPHMAP_STACK",
        "a number of bytes from 16k to 1g, such as 64k",
        // The crate that creates stacks reads the size again.
        |_, value| STACK.contains(&bytes(text(value)?)?).then_some(()),
    ),
    variable(
        "GRAPHMAP_UNREACHABLE",
        "a number of seconds from 2 to 86400, or 0 for no limit",
        |options, value| {
            let seconds = integer(value, 0..=86_400).filter(|&seconds| seconds != 1)?;
            let limit = (seconds > 0).then(|| Duration::from_secs(seconds));
            options.over_mpi.unreachable = limit;
            Some(())
        },
    ),
    variable("GRAPHMAP_SHARED_MEMORY", FLAG, |options, value| {
        options.over_mpi.shared_memory = flag(value)?;
        Some(())
    }),
];

impl Options {
    /// Reads the options from the environment. The documentation of [`Options`] lists the
    /// variables.
    ///
    /// # Errors
    /// Returns [`RunError::Options`] for a value that is not expected, if `GRAPHMAP_MAPPING` and
    /// `GRAPHMAP_PLACEMENT` are both set, or if the mapping file is not a valid sequence. Returns
    /// [`RunError::File`] if the file of the mapping or of the tables cannot be read, is too large,
    /// or is not UTF-8. The text of the tables is not checked.
    pub fn from_env() -> Result<Self, RunError> {
        Self::from_variables(|name| env::var_os(name))
    }

    fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, RunError> {
        // An empty variable counts as unset.
        let get = |name: &str| get(name).filter(|value| !value.is_empty());
        let mut options = Options::default();
        for variable in VARIABLES {
            let Some(value) = get(variable.name) else {
                continue;
            };
            (variable.store)(&mut options, &value)
                .ok_or_else(|| wrong(variable.name, &value, variable.expected))?;
        }
        options.mapping = mapping(get("GRAPHMAP_MAPPING"), get("GRAPHMAP_PLACEMENT"))?;
        options.tables = get("GRAPHMAP_TABLES").map(tables).transpose()?;
        // Without a mapping, there is nothing to compare the hash with.
        options.placed = options.placed.filter(|_| options.mapping.is_some());
        Ok(options)
    }
}

/// Reads the OS process of each rank from the file with the name `file`, or from the text
/// `placement`. Returns `Ok(None)` if neither is given.
///
/// # Errors
/// Returns [`RunError::Options`] if both are given, or if the mapping is not a valid sequence.
/// Returns [`RunError::File`] if the file cannot be read, is too large, or is not UTF-8.
fn mapping(
    file: Option<OsString>,
    placement: Option<OsString>,
) -> Result<Option<Sequence>, RunError> {
    match (file, placement) {
        (None, None) => Ok(None),
        (Some(file), None) => read_mapping(Path::new(&file)).map(Some),
        (None, Some(value)) => {
            let sequence = value.to_string_lossy().parse().map_err(|error| {
                let expected = "the OS process of each rank, such as `0 0 1`";
                wrong("GRAPHMAP_PLACEMENT", &value, format!("{expected}: {error}"))
            });
            sequence.map(Some)
        }
        (Some(_), Some(_)) => Err(RunError::Options(
            "GRAPHMAP_MAPPING and GRAPHMAP_PLACEMENT cannot be used together".into(),
        )),
    }
}

fn text(value: &OsStr) -> Option<&str> {
    value.to_str().map(str::trim)
}

fn integer(value: &OsStr, range: RangeInclusive<u64>) -> Option<u64> {
    let number = text(value)?.parse().ok()?;
    range.contains(&number).then_some(number)
}

fn count(value: &OsStr) -> Option<usize> {
    integer(value, 1..=MOST as u64).map(|count| count as usize)
}

fn flag(value: &OsStr) -> Option<bool> {
    match text(value)? {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// Returns `file` as an absolute path, because a process may change the working directory later.
/// Does not access the file. Returns `file` itself if the path cannot be determined.
fn absolute(file: impl AsRef<Path>) -> PathBuf {
    let file = file.as_ref();
    std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf())
}

/// Returns the part of `value` after a prefix. That part need not be Unicode. Returns `None` if
/// `value` does not begin with the prefix.
fn after<'a>(value: &'a OsStr, prefix: &str) -> Option<&'a OsStr> {
    use std::os::unix::ffi::OsStrExt;
    let rest = value.as_bytes().strip_prefix(prefix.as_bytes())?;
    Some(OsStr::from_bytes(rest))
}

fn wrong(name: &str, value: &OsStr, expected: impl Display) -> RunError {
    let value = value.to_string_lossy();
    let cut = value.chars().nth(SHOWN).is_some();
    let more = if cut { "..." } else { "" };
    // Control characters are escaped to keep the message in one line.
    let start = value.chars().take(SHOWN).map(|c| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    });
    let start: String = start.collect();
    RunError::Options(format!("{name}={start}{more}: expected {expected}"))
}

fn link(value: &OsStr) -> Option<Link> {
    match text(value)? {
        "threads" => Some(Link::Threads),
        "shm" => Some(Link::SharedMemory),
        "mpi" => Some(Link::Mpi),
        _ => None,
    }
}

/// Parses a number of bytes. The units `K` or `KiB` to `T` or `TiB` are powers of 1024, and `kB` to
/// `TB` are powers of 1000, both without regard to case. A number without a unit, or with `B`, is
/// in bytes. White space may precede or follow the unit, but may not precede the number.
///
/// Returns `None` if the text does not begin with a digit, if the unit is unknown, or if the number
/// of bytes is 2^64 or more.
pub fn bytes(text: &str) -> Option<u64> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let (power, base) = match unit.strip_suffix('b') {
        Some(stem) if stem.ends_with('i') => (&stem[..stem.len() - 1], 1024),
        Some(stem) => (stem, 1000),
        None => (&*unit, 1024),
    };
    let power = match power {
        "" if !unit.contains('i') => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    let unit = u64::pow(base, power);
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// Reads a text of limited size, because the source may be endless: at most 4 GiB from a regular
/// file, and 256 MiB from another source.
///
/// # Errors
/// Returns an error if the file cannot be read, is not UTF-8, or is larger than the limit.
fn read_text(file: &Path) -> io::Result<String> {
    let file = File::open(file)?;
    let most = match file.metadata()?.is_file() {
        true => MOST_IN_FILE,
        false => MOST_IN_STREAM,
    };
    let mut text = String::new();
    if file.take(most + 1).read_to_string(&mut text)? as u64 > most {
        let most = most >> 20;
        return Err(io::Error::other(format!(
            "the file is larger than {most} MiB"
        )));
    }
    Ok(text)
}

/// Returns the text of tables: `value` itself, or the text of the file that it names.
///
/// # Errors
/// Returns [`RunError::File`] if the file cannot be read, is too large, or is not UTF-8.
fn tables(value: OsString) -> Result<Arc<str>, RunError> {
    if let Some(text) = value.to_str().filter(|text| text.starts_with(TABLES)) {
        return Ok(text.into());
    }
    let text = read_text(Path::new(&value)).map_err(|error| {
        let file = value.display();
        RunError::File(format!(
            "GRAPHMAP_TABLES={file}: cannot read the tables: {error}"
        ))
    })?;
    Ok(text.into())
}

fn read_mapping(file: &Path) -> Result<Sequence, RunError> {
    let shown = format!("GRAPHMAP_MAPPING={}", file.display());
    let text = read_text(file)
        .map_err(|error| RunError::File(format!("{shown}: cannot read the mapping: {error}")))?;
    if text.trim_start().starts_with('{') {
        return Err(RunError::Options(format!(
            "{shown}: this is a mapping.json, which only `graphmap run --mapping` reads; expected \
             the number of the OS process of each rank, such as `0 0 1`"
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
    use crate::over_mpi::OverMpi;

    fn parse(variables: &[(&str, &str)]) -> Result<Options, RunError> {
        Options::from_variables(|name| {
            variables
                .iter()
                .find(|v| v.0 == name)
                .map(|v| OsString::from(v.1))
        })
    }

    #[test]
    fn variables_are_read() {
        assert_eq!(parse(&[]).unwrap(), Options::new());
        let options = parse(&[
            ("GRAPHMAP_OS_PROCESSES", "3"),
            ("GRAPHMAP_SHUFFLE", "7"),
            ("GRAPHMAP_STATS", "json:a b"),
            ("GRAPHMAP_UNREACHABLE", "0"),
            ("GRAPHMAP_SHARED_MEMORY", "0"),
            ("GRAPHMAP_STACK", "64k"),
        ]);
        let mut expected = Options::new().os_processes(3).shuffle(7).stats(true);
        expected.stats_file = Some(absolute("a b"));
        expected.over_mpi = OverMpi {
            unreachable: None,
            shared_memory: false,
        };
        assert_eq!(options.unwrap(), expected);
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        let options = Options::from_variables(|_| Some(OsString::new()));
        assert_eq!(options.unwrap(), Options::new());
    }

    #[test]
    fn a_file_name_need_not_be_unicode() {
        use std::os::unix::ffi::OsStringExt;
        let value = OsString::from_vec(b"json:\xff".to_vec());
        let get = |name: &str| (name == "GRAPHMAP_STATS").then(|| value.clone());
        let file = Options::from_variables(get).unwrap().stats_file.unwrap();
        assert_eq!(file.file_name().unwrap().as_encoded_bytes(), b"\xff");
    }

    #[test]
    fn a_long_value_is_cut() {
        let error = parse(&[("GRAPHMAP_SHUFFLE", &"é".repeat(100_000))]).unwrap_err();
        let text = format!("GRAPHMAP_SHUFFLE={}...: expected", "é".repeat(60));
        assert!(error.to_string().starts_with(&text), "{error}");
    }

    #[test]
    fn a_value_of_several_lines_is_shown_in_one() {
        let error = parse(&[("GRAPHMAP_LINK", "shm\nthreads")]).unwrap_err();
        let text = "GRAPHMAP_LINK=shm\\nthreads: expected threads, shm or mpi";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn a_hash_without_a_mapping_is_checked_and_not_used() {
        let with = |hash| [("GRAPHMAP_PLACEMENT", "0 1"), ("GRAPHMAP_PLACED", hash)];
        assert_eq!(parse(&with("00ff")).unwrap().placed, Some(255));
        assert!(parse(&with("more")).is_err());
        assert_eq!(parse(&with("00ff")[1..]).unwrap().placed, None);
        assert!(parse(&with("more")[1..]).is_err());
    }

    #[test]
    fn sizes_are_read() {
        for (text, expected) in [
            ("0", Some(0)),
            ("4096", Some(4096)),
            ("512MiB", Some(512 << 20)),
            ("512mib", Some(512 << 20)),
            ("2G", Some(2 << 30)),
            ("64 kB", Some(64_000)),
            ("64KB", Some(64_000)),
            ("1k", Some(1024)),
            ("3T", Some(3 << 40)),
            ("7B", Some(7)),
            ("7iB", None),
            ("7 k k", None),
            ("G", None),
            ("1.5G", None),
            ("+1", None),
            ("", None),
            ("é", None),
            ("1é", None),
            ("16777216T", None),
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
    #[cfg_attr(miri, ignore = "Miri keeps files away")]
    fn tables_are_a_file_or_the_text_itself() {
        let text = "graphmap-tables 1;";
        let of = |value| parse(&[("GRAPHMAP_TABLES", value)]);
        assert_eq!(of(text).unwrap().tables.as_deref(), Some(text));
        let name = format!("graphmap-options-{}.tables", std::process::id());
        let file = env::temp_dir().join(name);
        std::fs::write(&file, text).unwrap();
        let read = of(file.to_str().unwrap());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(read.unwrap().tables.as_deref(), Some(text));
        let error = of("/nowhere/at all").unwrap_err();
        assert!(matches!(error, RunError::File(_)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri keeps files away")]
    fn a_mapping_without_end() {
        let error = parse(&[("GRAPHMAP_MAPPING", "/dev/zero")]).unwrap_err();
        let text = "GRAPHMAP_MAPPING=/dev/zero: cannot read the mapping: the file is larger than \
                    256 MiB";
        assert_eq!(error, RunError::File(text.into()));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri keeps files away")]
    fn a_mapping_json_is_refused_with_help() {
        let name = format!("graphmap-options-{}.json", std::process::id());
        let file = env::temp_dir().join(name);
        std::fs::write(&file, "\n{\"graphmap_mapping\": 1}").unwrap();
        let error = read_mapping(&file).unwrap_err();
        std::fs::remove_file(&file).unwrap();
        let said = error.to_string();
        assert!(said.contains("`graphmap run --mapping` reads"), "{said}");
    }
}
