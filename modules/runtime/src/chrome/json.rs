//! Writes the events of a trace in Chrome's JSON format.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io::{self, Write};

use super::arrows::{Arrow, Arrows, Poll};
use super::missing::Missing;
use graphmap_executor::exec::report::Directory;
use graphmap_executor::quote::quote;
use graphmap_executor::trace::{After, Event, Part, Way};

/// Returns the time at which an event began, in nanoseconds on the clock of its host. Returns
/// `None` for a message, which has no time.
pub(super) fn start(event: &Event) -> Option<u64> {
    match *event {
        Event::Poll { start, .. } => Some(start),
        Event::Ready { at, .. } => Some(at),
        Event::Message { .. } => None,
    }
}

/// Nanoseconds, displayed as microseconds.
struct Micros(i64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // By the clock of another host, an event may precede the trace. It is put at the start.
        let time = self.0.max(0);
        write!(f, "{}.{:03}", time / 1000, time % 1000)
    }
}

/// Track of a network's process in an OS process. Numbers begin at 1, because some readers take 0
/// for the kernel.
struct Track {
    pid: u32,
    tid: u32,
}

impl fmt::Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"pid\":{},\"tid\":{}", self.pid, self.tid)
    }
}

/// Output of a trace, and the data for it.
struct Writer<'a> {
    out: &'a mut dyn Write,
    directory: &'a dyn Directory,
    parts: &'a [Part],
    /// Names of slices, by class of the channel and direction of the wait.
    waits: HashMap<(usize, Way), String>,
    first: bool,
}

pub(super) fn write(
    out: &mut dyn Write,
    directory: &dyn Directory,
    parts: &[Part],
    shifts: &[i64],
    arrows: &Arrows,
    missing: &Missing,
) -> io::Result<()> {
    let Missing {
        polls,
        messages,
        arrows: one_sided,
        backward,
        os_processes,
    } = missing;
    write!(
        out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"program\":\"graphmap\",\"left_out\":{{\"turns\":{polls},\
         \"messages\":{messages},\"one_sided\":{one_sided},\"backward\":{backward},\"os_processes\":{os_processes}}}}},\n\
         \"traceEvents\":["
    )?;
    let mut writer = Writer {
        out,
        directory,
        parts,
        waits: HashMap::new(),
        first: true,
    };
    writer.groups()?;
    for (part, shift) in parts.iter().zip(shifts) {
        writer.part(part, *shift)?;
    }
    for (id, arrow) in arrows.arrows.iter().enumerate() {
        writer.arrow(id, arrow)?;
    }
    write!(writer.out, "\n]}}\n")
}

impl Writer<'_> {
    fn event(&mut self, event: fmt::Arguments<'_>) -> io::Result<()> {
        let before = if self.first { "\n" } else { ",\n" };
        self.first = false;
        write!(self.out, "{before}{{{event}}}")
    }

    fn track(&self, part: &Part, kind: u32, index: u32) -> Track {
        Track {
            pid: part.os_process + 1,
            tid: self.directory.rank(kind, index) + 1,
        }
    }

    /// Writes the names and the order of the OS processes, and of the network's processes that were
    /// polled.
    ///
    /// # Errors
    /// Returns the error of the output.
    fn groups(&mut self) -> io::Result<()> {
        let mut named = BTreeSet::new();
        let (parts, directory) = (self.parts, self.directory);
        for part in parts {
            let mut processes = BTreeSet::new();
            for event in &part.events {
                if let Event::Poll { kind, index, .. } = *event {
                    processes.insert((kind, index));
                }
            }
            let pid = part.os_process + 1;
            if named.insert(pid) {
                let host = part.host.as_deref().map(|host| format!(" on {host}"));
                let number = part.pid;
                let name = format!(
                    "OS process {}{} ({number})",
                    part.os_process,
                    host.unwrap_or_default()
                );
                let name = quote(&name);
                self.event(format_args!(
                    "\"ph\":\"M\",\"pid\":{pid},\"name\":\"process_name\",\"args\":{{\"name\":{name}}}"
                ))?;
                self.event(format_args!(
                    "\"ph\":\"M\",\"pid\":{pid},\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{pid}}}"
                ))?;
            }
            let scheduler = match parts.len() {
                1 => String::new(),
                _ => format!(", scheduler {}", part.scheduler),
            };
            for (kind, index) in processes {
                let track = self.track(part, kind, index);
                let process = directory.process(kind, index);
                let of = directory.kind(kind).0;
                let name = format!("{} (rank {}, {of}{scheduler})", process.name, process.rank);
                let name = quote(&name);
                self.event(format_args!(
                    "\"ph\":\"M\",{track},\"name\":\"thread_name\",\"args\":{{\"name\":{name}}}"
                ))?;
                let order = process.rank;
                self.event(format_args!(
                    "\"ph\":\"M\",{track},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{order}}}"
                ))?;
            }
        }
        Ok(())
    }

    fn part(&mut self, part: &Part, shift: i64) -> io::Result<()> {
        let (mut read, mut written) = (0, 0);
        for event in &part.events {
            match *event {
                Event::Message { way, .. } => match way {
                    Way::Read => read += 1,
                    _ => written += 1,
                },
                Event::Poll {
                    kind,
                    index,
                    start,
                    end,
                    after,
                } => {
                    let track = self.track(part, kind, index);
                    let (at, took) = (Micros(start as i64 + shift), Micros((end - start) as i64));
                    let name = self.name(after);
                    self.event(format_args!(
                        "\"ph\":\"X\",{track},\"ts\":{at},\"dur\":{took},\"name\":{name},\"args\":{{\"read\":{read},\"written\":{written}}}"
                    ))?;
                    (read, written) = (0, 0);
                }
                Event::Ready { count, at } => {
                    let pid = part.os_process + 1;
                    let (scheduler, at) = (part.scheduler, Micros(at as i64 + shift));
                    self.event(format_args!(
                        "\"ph\":\"C\",\"pid\":{pid},\"ts\":{at},\"name\":\"ready on scheduler {scheduler}\",\"args\":{{\"processes\":{count}}}"
                    ))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the name of a poll's slice, as a quoted JSON string. It says how the poll ended, and
    /// after a wait for a channel the port. The names of waits are stored for later calls.
    fn name(&mut self, after: After) -> String {
        match after {
            After::Ended => "\"ends\"".into(),
            After::Ready => "\"yields\"".into(),
            After::Waits(None) => "\"waits\"".into(),
            After::Waits(Some((channel, way))) => {
                let directory = self.directory;
                let class = directory.class_of(channel);
                let named = || {
                    let channel = directory.channel(channel);
                    let end = match way {
                        Way::Read => channel.to,
                        Way::Write | Way::Stop => channel.from,
                    };
                    let port = end.map_or_else(String::new, |end| end.port);
                    quote(&match way {
                        Way::Read => format!("waits to read {port}"),
                        Way::Write => format!("waits to write {port}"),
                        Way::Stop => format!("waits for the reader of {port} to leave"),
                    })
                };
                self.waits.entry((class, way)).or_insert_with(named).clone()
            }
        }
    }

    fn arrow(&mut self, id: usize, arrow: &Arrow) -> io::Result<()> {
        let channel = self.directory.channel(arrow.channel);
        let name = match (channel.from, channel.to) {
            (Some(from), Some(to)) => format!(
                "{} {} to {} {}",
                from.process, from.port, to.process, to.port
            ),
            _ => format!("channel {}", arrow.channel),
        };
        let name = quote(&name);
        let of = |poll: &Poll| &self.parts[poll.part as usize];
        let from = self.track(of(&arrow.from), arrow.from.kind, arrow.from.index);
        let to = self.track(of(&arrow.to), arrow.to.kind, arrow.to.index);
        let (written_at, read_at) = (Micros(arrow.written_at), Micros(arrow.read_at));
        let (number, token) = (arrow.channel, arrow.ordinal);
        self.event(format_args!(
            "\"ph\":\"s\",{from},\"ts\":{written_at},\"cat\":\"message\",\"name\":{name},\"id\":{id},\"args\":{{\"channel\":{number},\"token\":{token}}}"
        ))?;
        self.event(format_args!(
            "\"ph\":\"f\",\"bp\":\"e\",{to},\"ts\":{read_at},\"cat\":\"message\",\"name\":{name},\"id\":{id}"
        ))
    }
}
