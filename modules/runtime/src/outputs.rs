//! The files that come of a run: looked at before it, and written after it, each whatever becomes of the others.

use std::io;

use crate::chrome::{self, Unwritten};
use crate::stats::Report;
use graphmap_executor::error::RunError;
use graphmap_executor::options::Options;
use graphmap_executor::output_file::OutputFile;
use graphmap_executor::say;
use graphmap_executor::trace::Trace;

const STATISTICS: &str = "the statistics";
const PROFILE: &str = "the profile";

/// Checks before the run that what comes of it can be written, each to a file of its own.
///
/// # Errors
/// The first that cannot, or shares its file.
pub(crate) fn check(options: &Options) -> Result<(), RunError> {
    let outputs = [
        ("GRAPHMAP_STATS", STATISTICS, options.stats_file.as_ref()),
        ("GRAPHMAP_PROFILE", PROFILE, options.profile.as_ref()),
        (
            "GRAPHMAP_TRACE",
            chrome::WHAT,
            options.trace.as_ref().map(Trace::file),
        ),
    ];
    let mut before: Vec<(&str, &OutputFile)> = Vec::new();
    for (name, what, file) in outputs {
        let Some(file) = file else { continue };
        file.probe().map_err(|error| {
            let file = file.path().display();
            RunError::File(format!("{name}={file}: {what} cannot be written: {error}"))
        })?;
        let same = before.iter().find(|(_, other)| file.is_same(other));
        if let Some((other, _)) = same {
            let file = file.path().display();
            return Err(RunError::Options(format!(
                "{other} and {name} name one file: {file}"
            )));
        }
        before.push((name, file));
    }
    Ok(())
}

/// Says what was asked for on standard error. That nobody reads it is no error.
pub(crate) fn say(text: &str) -> Result<(), RunError> {
    let unwritten = say::try_say(text).err();
    match unwritten.filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
        Some(error) => Err(RunError::File(format!(
            "standard error: {STATISTICS} cannot be written: {error}"
        ))),
        None => Ok(()),
    }
}

/// Writes what comes of a run that has ended well. What somebody has to read comes last: he may let it wait.
///
/// Returns why what cannot be written is not.
pub(crate) fn write(
    report: &Report,
    options: &Options,
    trace: Option<&Unwritten>,
) -> Vec<RunError> {
    let text = |what: &'static str, file: &OutputFile, text: String| {
        let written = file.write(|out| out.write_all(text.as_bytes()));
        written.map_err(|error| RunError::cannot_write(what, file.path(), &error))
    };
    type Write<'a> = Box<dyn FnOnce() -> Result<(), RunError> + 'a>;
    let mut all: Vec<(&OutputFile, Write<'_>)> = Vec::new();
    if let Some(file) = &options.stats_file {
        let write = move || text(STATISTICS, file, report.json_lines());
        all.push((file, Box::new(write)));
    }
    if let Some((file, profile)) = options.profile.as_ref().zip(report.profile()) {
        all.push((file, Box::new(move || text(PROFILE, file, profile))));
    }
    if let Some(trace) = trace {
        all.push((trace.trace().file(), Box::new(|| trace.write())));
    }
    all.sort_by_key(|(file, _)| !file.is_put_in_place());
    let written = all.into_iter().map(|(_, write)| write());
    written.filter_map(Result::err).collect()
}
