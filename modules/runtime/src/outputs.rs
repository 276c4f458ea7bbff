//! The files that a run writes. Each is checked before the run and written after it, independently
//! of the others.

use std::io;
use std::path::Path;

use crate::chrome::{self, Unwritten};
use crate::output_file;
use crate::stats::Report;
use graphmap_executor::error::RunError;
use graphmap_executor::options::Options;
use graphmap_executor::say;
use graphmap_executor::trace::Trace;

const STATISTICS: &str = "the statistics";
const PROFILE: &str = "the profile";

/// Checks before the run that its files can be written and that their paths differ.
///
/// # Errors
/// Returns an error for the first file that is wrong: [`RunError::File`] if it cannot be written,
/// and [`RunError::Options`] if two variables name it. Several variables may name the same stream.
pub(crate) fn check(options: &Options) -> Result<(), RunError> {
    let outputs = [
        ("GRAPHMAP_STATS", STATISTICS, options.stats_file.as_deref()),
        ("GRAPHMAP_PROFILE", PROFILE, options.profile.as_deref()),
        (
            "GRAPHMAP_TRACE",
            chrome::WHAT,
            options.trace.as_ref().map(Trace::file),
        ),
    ];
    for (at, (variable, what, file)) in outputs.into_iter().enumerate() {
        let Some(file) = file else { continue };
        let same = outputs[..at].iter().find(|other| other.2 == Some(file));
        if let Some((other, ..)) = same.filter(|_| !output_file::is_stream(file)) {
            let file = RunError::shown(file);
            return Err(RunError::Options(format!(
                "{other} and {variable} name the same file: {}",
                file.display()
            )));
        }
        output_file::check(file).map_err(|error| {
            let file = RunError::shown(file);
            let file = file.display();
            RunError::File(format!("{variable}={file}: cannot write {what}: {error}"))
        })?;
    }
    Ok(())
}

/// Prints statistics on standard error. A closed pipe is not an error.
///
/// # Errors
/// Returns [`RunError::File`] if standard error cannot be written.
pub(crate) fn say(text: &str) -> Result<(), RunError> {
    let unwritten = say::try_say(text).err();
    match unwritten.filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
        Some(error) => Err(RunError::File(format!(
            "standard error: cannot write {STATISTICS}: {error}"
        ))),
        None => Ok(()),
    }
}

/// Writes the files of a run that has ended without an error. Returns the errors of all files that
/// cannot be written, each as [`RunError::File`], in the order of writing: statistics, profile,
/// trace. Streams come after the other files, because a write to a pipe may block forever.
pub(crate) fn write(
    report: &Report,
    options: &Options,
    trace: Option<&Unwritten>,
) -> Vec<RunError> {
    let text = |what: &'static str, file: &Path, text: String| {
        let written = output_file::write(file, |out| out.write_all(text.as_bytes()));
        written.map_err(|error| RunError::cannot_write(what, file, &error))
    };
    type Write<'a> = Box<dyn FnOnce() -> Result<(), RunError> + 'a>;
    let mut all: Vec<(&Path, Write<'_>)> = Vec::new();
    if let Some(file) = options.stats_file.as_deref() {
        let write = move || text(STATISTICS, file, report.json_lines());
        all.push((file, Box::new(write)));
    }
    if let Some((file, profile)) = options.profile.as_deref().zip(report.profile()) {
        all.push((file, Box::new(move || text(PROFILE, file, profile))));
    }
    if let Some(trace) = trace {
        all.push((trace.trace().file(), Box::new(|| trace.write())));
    }
    all.sort_by_key(|(file, _)| output_file::is_stream(file));
    let written = all.into_iter().map(|(_, write)| write());
    written.filter_map(Result::err).collect()
}
