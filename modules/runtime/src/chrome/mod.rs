//! Writes a trace as a file in Chrome's JSON format, which Perfetto reads ("Trace Event Format",
//! the Chromium authors, 2016).
//!
//! Each OS process is a group (`pid`), each process of the network a track (`tid`), and each poll a
//! slice. An arrow leads from the poll that wrote a token to the poll that read it.

mod arrows;
mod json;
mod missing;

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use crate::output_file;
use arrows::Arrows;
use graphmap_executor::error::RunError;
use graphmap_executor::exec::report::Directory;
use graphmap_executor::options::Options;
use graphmap_executor::trace::{Part, Trace};
use missing::Missing;

/// Name of the output in messages about its file.
pub(crate) const WHAT: &str = "the trace";

/// Checks before a run that its trace can be written (see [`output_file::check`]). Does nothing if
/// the run is not traced.
///
/// # Errors
/// Returns [`RunError::File`] if the file of the trace cannot be opened or created.
pub(crate) fn check(options: &Options) -> Result<(), RunError> {
    match &options.trace {
        Some(trace) => {
            output_file::check(trace.file()).map_err(|error| cannot_write(trace, &error))
        }
        None => Ok(()),
    }
}

fn cannot_write(trace: &Trace, error: &io::Error) -> RunError {
    RunError::cannot_write(WHAT, trace.file(), error)
}

/// Trace of a finished run that is not written yet.
pub(crate) struct Unwritten {
    trace: Trace,
    /// Maximum number of events that each scheduler kept.
    kept: usize,
    directory: Arc<dyn Directory>,
    os_processes: usize,
}

impl Unwritten {
    /// Returns the trace of a run of `os_processes` OS processes, or `None` if `options` ask for no
    /// trace.
    pub(crate) fn of(
        options: &Options,
        directory: &Arc<dyn Directory>,
        os_processes: usize,
    ) -> Option<Self> {
        let trace = options.recording()?;
        Some(Unwritten {
            kept: trace.events,
            trace,
            directory: Arc::clone(directory),
            os_processes,
        })
    }

    /// Writes the file of the trace, and notes in the trace which events are missing, if any are.
    /// This takes the events out of the trace, so a second call would write none.
    ///
    /// # Errors
    /// Returns [`RunError::File`] if the file cannot be written.
    pub(crate) fn write(&self) -> Result<(), RunError> {
        let missing = write(&self.trace, &*self.directory, self.os_processes)
            .map_err(|error| cannot_write(&self.trace, &error))?;
        if let Some(notice) = missing.notice(&self.trace, self.kept) {
            self.trace.note(notice);
        }
        Ok(())
    }

    /// Returns the trace that this writes.
    pub(crate) fn trace(&self) -> &Trace {
        &self.trace
    }
}

/// Takes the events out of the trace, writes them to its file, and returns the numbers of missing
/// events.
///
/// # Errors
/// Returns an error if the file cannot be written.
fn write(trace: &Trace, directory: &dyn Directory, os_processes: usize) -> io::Result<Missing> {
    let mut parts = trace.take();
    parts.sort_by_key(|part| part.scheduler);
    let here: BTreeSet<u32> = parts.iter().map(|part| part.os_process).collect();
    let shifts = shifts(&parts);
    let arrows = Arrows::new(&parts, &shifts);
    let missing = Missing {
        polls: parts.iter().map(|part| part.polls_dropped).sum(),
        messages: parts.iter().map(|part| part.messages_dropped).sum(),
        arrows: arrows.one_sided,
        backward: arrows.backward,
        os_processes: os_processes.saturating_sub(here.len()) as u64,
    };
    output_file::write(trace.file(), |out| {
        json::write(out, directory, &parts, &shifts, &arrows, &missing)
    })?;
    Ok(missing)
}

/// Returns, for each part, the offset in nanoseconds that moves its times to a common clock. On
/// this clock, time 0 is the earliest of the first events of all parts. Parts of one host get the
/// same offset. The offsets are relative to the host of the first part.
fn shifts(parts: &[Part]) -> Vec<i64> {
    let base = |part: &Part| {
        // OS processes of one host share its clock. Their values of `time_of_day_offset` differ
        // slightly, because each has read the time of day at another moment.
        let first = parts.iter().find(|other| other.host == part.host);
        first.map_or(0, |first| first.time_of_day_offset)
    };
    let first = parts.first().map_or(0, base);
    let mut shifts: Vec<i64> = parts.iter().map(|part| base(part) - first).collect();
    let starts = parts.iter().zip(&shifts).filter_map(|(part, shift)| {
        let start = part.events.iter().find_map(json::start)?;
        Some(start as i64 + shift)
    });
    let start = starts.min().unwrap_or(0);
    shifts.iter_mut().for_each(|shift| *shift -= start);
    shifts
}
