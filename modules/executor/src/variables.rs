//! The options of a run from the variables `GRAPHMAP_*`.
//!
//! Every variable is checked whatever the run uses of it: a value that is wrong is reported at the start, in every mode.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::RunError;
use crate::options::{Link, Options};
use crate::output_file::OutputFile;
use crate::over_mpi::OverMpi;
use crate::pin;
use crate::placement::MOST;
use crate::trace::MOST_EVENTS;

/// Most bytes of a mapping, and of one that comes from a pipe or a device: as `graphmap` has it for what grows with a drawing.
const MOST_IN_FILE: u64 = 4 << 30;
const MOST_IN_STREAM: u64 = 256 << 20;

/// Sizes of a stack: the same as `graphmap_fiber::Options` allows.
const STACK: RangeInclusive<u64> = 16 << 10..=1 << 30;

/// Most characters of a value that an error repeats.
const SHOWN: usize = 60;

impl Options {
    /// The options in the environment; see the table above.
    ///
    /// # Errors
    /// [`RunError::Options`] for a value that means nothing, [`RunError::File`] for a mapping
    /// file that cannot be read.
    pub fn from_env() -> Result<Self, RunError> {
        Self::from_variables(|name| env::var_os(name))
    }

    fn from_variables(get: impl Fn(&str) -> Option<OsString>) -> Result<Self, RunError> {
        let variables = Variables(&get);
        let count = |name| variables.integer(name, 1..=MOST as u64);
        let count = |name| Ok(count(name)?.map(|count| count as usize));
        let mut options = Options {
            os_processes: count("GRAPHMAP_OS_PROCESSES")?,
            schedulers: count("GRAPHMAP_SCHEDULERS")?,
            threads: count("GRAPHMAP_THREADS")?,
            shuffle: variables.integer("GRAPHMAP_SHUFFLE", 0..=u64::MAX)?,
            memory: variables.parsed(
                "GRAPHMAP_MEMORY",
                "a number of bytes such as 4096, 512MiB or 2G",
                bytes,
            )?,
            link: variables
                .parsed("GRAPHMAP_LINK", "threads, shm or mpi", link)?
                .unwrap_or_default(),
            prefix: variables.flag("GRAPHMAP_PREFIX")?.unwrap_or(false),
            unpinned: !variables.flag("GRAPHMAP_PIN")?.unwrap_or(true),
            single_copy: variables.flag("GRAPHMAP_SINGLE_COPY")?,
            cores: variables.parsed(
                "GRAPHMAP_CORES",
                "the cores of each OS process, such as `0 2 4,5`",
                pin::parse,
            )?,
            over_mpi: variables.over_mpi()?,
            ..Options::default()
        };
        variables.statistics(&mut options)?;
        options.profile = variables.get("GRAPHMAP_PROFILE").map(OutputFile::new);
        options.profiled = options.profile.is_some();
        if let Some(file) = variables.get("GRAPHMAP_TRACE") {
            options = options.trace(PathBuf::from(file));
        }
        let events = variables.integer("GRAPHMAP_TRACE_EVENTS", 1..=MOST_EVENTS as u64)?;
        options.trace_events = events.map(|count| count as usize);
        variables.mapping(&mut options)?;
        // Stacks are made by another crate, which reads the size again.
        let stack = |text: &str| bytes(text).filter(|size| STACK.contains(size));
        let expected = "a number of bytes from 16k to 1g, such as 64k";
        variables.parsed("GRAPHMAP_STACK", expected, stack)?;
        Ok(options)
    }
}

/// The environment. An empty variable is as if it were not set.
struct Variables<'a>(&'a dyn Fn(&str) -> Option<OsString>);

impl Variables<'_> {
    fn get(&self, name: &str) -> Option<OsString> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// The value of a variable as `parse` reads it.
    fn parsed<T>(
        &self,
        name: &str,
        expected: impl Display,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, RunError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match value.to_str().and_then(|text| parse(text.trim())) {
            Some(parsed) => Ok(Some(parsed)),
            None => Err(wrong(name, &value, expected)),
        }
    }

    fn integer(&self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, RunError> {
        let expected = format!("an integer from {} to {}", range.start(), range.end());
        self.parsed(name, expected, |text| {
            text.parse().ok().filter(|number| range.contains(number))
        })
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, RunError> {
        self.parsed(name, "0 or 1", |text| match text {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }

    fn over_mpi(&self) -> Result<OverMpi, RunError> {
        let default = OverMpi::default();
        let seconds = |text: &str| text.parse().ok().filter(|n| matches!(n, 0 | 2..=86_400));
        let expected = "a number of seconds from 2 to 86400, or 0 to wait for ever";
        let seconds: Option<u64> = self.parsed("GRAPHMAP_UNREACHABLE", expected, seconds)?;
        Ok(OverMpi {
            unreachable: match seconds {
                None => default.unreachable,
                Some(0) => None,
                Some(seconds) => Some(Duration::from_secs(seconds)),
            },
            shared_memory: self
                .flag("GRAPHMAP_SHARED_MEMORY")?
                .unwrap_or(default.shared_memory),
        })
    }

    fn statistics(&self, options: &mut Options) -> Result<(), RunError> {
        const NAME: &str = "GRAPHMAP_STATS";
        let Some(value) = self.get(NAME) else {
            return Ok(());
        };
        match value.as_encoded_bytes() {
            b"0" => {}
            b"1" => options.stats = true,
            _ => {
                let file = after(&value, "json:").filter(|file| !file.is_empty());
                let file = file.ok_or_else(|| wrong(NAME, &value, "0, 1 or json:FILE"))?;
                options.stats = true;
                options.stats_file = Some(OutputFile::new(file));
            }
        }
        Ok(())
    }

    /// Where processes are, by a file or by a text.
    fn mapping(&self, options: &mut Options) -> Result<(), RunError> {
        if let Some(file) = self.get("GRAPHMAP_MAPPING").map(PathBuf::from) {
            options.mapping = Some(read_mapping(&file)?);
        }
        if let Some(value) = self.get("GRAPHMAP_PLACEMENT") {
            if options.mapping.is_some() {
                let both = "GRAPHMAP_MAPPING and GRAPHMAP_PLACEMENT: there can be one of them";
                return Err(RunError::Options(both.into()));
            }
            let sequence = value.to_string_lossy().parse().map_err(|error| {
                let expected = "the OS process of each rank, such as `0 0 1`";
                wrong("GRAPHMAP_PLACEMENT", &value, format!("{expected}: {error}"))
            })?;
            options.mapping = Some(sequence);
        }
        let expected = "a hash of at most 16 hexadecimal digits";
        let hash = |text: &str| {
            let is_hash = text.bytes().all(|digit| digit.is_ascii_hexdigit());
            u64::from_str_radix(text, 16).ok().filter(|_| is_hash)
        };
        let placed = self.parsed("GRAPHMAP_PLACED", expected, hash)?;
        // Without a mapping it says nothing.
        options.placed = placed.filter(|_| options.mapping.is_some());
        Ok(())
    }
}

/// What follows a prefix, which need not be Unicode.
fn after(value: &OsStr, prefix: &str) -> Option<OsString> {
    use std::os::unix::ffi::OsStrExt;
    let rest = value.as_bytes().strip_prefix(prefix.as_bytes())?;
    Some(OsStr::from_bytes(rest).to_owned())
}

fn wrong(name: &str, value: &OsStr, expected: impl Display) -> RunError {
    let value = value.to_string_lossy();
    let cut = value.chars().nth(SHOWN).is_some();
    let more = if cut { "..." } else { "" };
    // In one line.
    let start = value.chars().take(SHOWN).map(|c| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    });
    let start: String = start.collect();
    RunError::Options(format!("{name}={start}{more}: expected {expected}"))
}

fn link(text: &str) -> Option<Link> {
    match text {
        "threads" => Some(Link::Threads),
        "shm" => Some(Link::SharedMemory),
        "mpi" => Some(Link::Mpi),
        _ => None,
    }
}

/// A number of bytes: `K` or `KiB` to `T` or `TiB` are powers of 1024, `kB` to `TB` of 1000. The case of letters does not matter.
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

fn read_mapping(file: &Path) -> Result<crate::Sequence, RunError> {
    let shown = format!("GRAPHMAP_MAPPING={}", file.display());
    let text = read_text(file)
        .map_err(|error| RunError::File(format!("{shown}: cannot read the mapping: {error}")))?;
    if text.trim_start().starts_with('{') {
        return Err(RunError::Options(format!(
            "{shown}: this looks like a mapping.json, which `graphmap run --mapping` takes; expected the \
             numbers of the OS processes by rank, such as `0 0 1`"
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
        expected.stats_file = Some(OutputFile::new("a b"));
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
        assert_eq!(file.path().as_os_str().as_encoded_bytes(), b"\xff");
    }

    #[test]
    fn a_long_value_is_cut() {
        let error = parse(&[("GRAPHMAP_SHUFFLE", &"é".repeat(100_000))]).unwrap_err();
        let told = format!("GRAPHMAP_SHUFFLE={}...: expected", "é".repeat(60));
        assert!(error.to_string().starts_with(&told), "{error}");
    }

    #[test]
    fn a_value_of_several_lines_is_shown_in_one() {
        let error = parse(&[("GRAPHMAP_LINK", "shm\nthreads")]).unwrap_err();
        let told = "GRAPHMAP_LINK=shm\\nthreads: expected threads, shm or mpi";
        assert_eq!(error.to_string(), told);
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
    fn a_mapping_without_end() {
        let error = parse(&[("GRAPHMAP_MAPPING", "/dev/zero")]).unwrap_err();
        let told = "GRAPHMAP_MAPPING=/dev/zero: cannot read the mapping: it has more than 256 MiB";
        assert_eq!(error, RunError::File(told.into()));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri keeps files away")]
    fn a_mapping_json_is_told_where_to_go() {
        let name = format!("graphmap-options-{}.json", std::process::id());
        let file = env::temp_dir().join(name);
        std::fs::write(&file, "\n{\"graphmap_mapping\": 1}").unwrap();
        let error = read_mapping(&file).unwrap_err();
        std::fs::remove_file(&file).unwrap();
        let said = error.to_string();
        assert!(said.contains("`graphmap run --mapping` takes"), "{said}");
    }
}
